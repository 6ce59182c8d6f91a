"""The file store: a directory tree of documents, in the layout of docs/formats.md, checked for changes regularly.

Knows names, sizes, times and bytes. No path is ever built from what a request contains: only what a listing found is
opened. Where the kernel reports changes (`notification`), a scan is at those files only, and at everything once a
minute and on request. Not safe for use by two greenlets at a time; its loader is its only user.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from pathlib import Path

from answerd.documents import Key, RawDocument
from answerd.identity import Kind, printable
from answerd.store import (
    NOBODY,
    WRITER_WAIT_SECONDS,
    Author,
    Changes,
    DocumentEntry,
    HistoryEntry,
    HistoryFilter,
    StoredDocument,
    StoreError,
    Transaction,
    Version,
    WritableStore,
    WriteResult,
)
from answerd.store.layout import flat_name, is_groups, is_inventories
from answerd.store.mounts import Mounts, read_table
from answerd.store.notification import Hints, Watch, device_and_inode
from answerd.store.reading import Boundary, Signature, is_settled, read_document, unopened
from answerd.store.scan import Attached, Before, DirectoryState, KnownFile, Scan
from answerd.store.writing import write_atomically

FULL_LOOK_SECONDS = 60.0
"""The most time between two scans at everything, whatever the kernel reports: it does not report all there is."""


_TOKEN_DIGITS = 16


class FileStore(WritableStore):
    """Documents in a directory, which others edit. `changes` takes one scan at it and reads what has settled."""

    poll_seconds = 0.25
    """A change is in force after two scans, within a second."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._files: dict[str, KnownFile] = {}
        self._missing_once: set[str] = set()
        self._unsettled: set[str] = set()
        self._listed_before: dict[str, DirectoryState] = {}
        self._attached: dict[str, Attached] = {}
        self._unlisted: tuple[str, ...] = ()
        self._faults: tuple[str, ...] = ()
        self._looked_before = False
        self._looks = 0
        self._watch: Watch | None = None
        self._root: tuple[int, int] | None = None  # device and inode of the directory that the documents came from
        self._boundary = Boundary("", -1, frozenset())
        self._is_asked_for_everything = False
        self._full_look_due = 0.0
        self._watch_due = 0.0

    @property
    def described(self) -> str:
        """For the log."""
        return f"files:{printable(str(self.directory))}"

    def warnings(self) -> list[str]:
        """Return why the directory cannot be read, where that is so, and the effect on the service."""
        fault = self.fault()
        return [f"{fault}: every request gets 404 until that changes"] if fault else []

    def fault(self) -> str | None:
        """Return why the directory cannot be read; None where it can."""
        directory = f"the answers directory {printable(str(self.directory))}"
        try:
            os.listdir(self.directory)
        except FileNotFoundError:
            return f"{directory} does not exist"
        except NotADirectoryError:
            return f"{directory} is not a directory"
        except OSError as error:
            return f"{directory} cannot be read ({error.strerror})"
        return None

    def force_full_poll(self) -> None:
        """Have the next scan be at everything, whatever the kernel reports. May be called from any thread."""
        self._is_asked_for_everything = True

    def changes(self) -> Changes | None:
        """Look for changes. A changed or removed file takes effect when two scans in a row agree about it.

        Costs microseconds where the kernel says that nothing happened. Raises `StoreError` when the directory itself
        cannot be listed, is no longer there, or is another directory and empty.
        """
        scan = self._scan()
        if scan is None:
            return None
        added: list[RawDocument] = []
        removed: list[RawDocument] = []
        while scan.seen:
            # Taken out one by one, because the interpreter frees 100,000 at once without giving way to a request.
            source, (key, signature) = scan.seen.popitem()
            file = self._files.setdefault(source, KnownFile(key, scan.number))
            before = file.document
            self._update(source, file, signature)
            # Where the kernel reports changes, what was read too soon is read again at the next full scan.
            if file.pending is None and not (file.read_too_soon and self._watch is None):
                self._unsettled.discard(source)
            else:
                self._unsettled.add(source)
            if file.document is not before:
                removed += [before] if before else []
                added += [file.document] if file.document else []
        removed += self._vanished(scan)
        unlisted, faults = self._unlisted, self._faults
        if scan.listed:  # directories were listed: a scan at known files reads no directory
            unknown = scan.unknown
            unlisted = tuple(
                sorted(reason for name, reason in unknown.items() if is_groups(name) or is_inventories(name))
            )
            faults = tuple(sorted(reason for name, reason in scan.failed.items() if name not in unknown))
            self._attached = scan.attached
            failing = dict.fromkeys(scan.failed.keys() - unknown.keys())
            self._listed_before = {**failing, **scan.listed}
        is_same = (unlisted, faults) == (self._unlisted, self._faults)
        if self._looked_before and is_same and not (added or removed):
            return None
        self._looked_before, self._unlisted, self._faults = True, unlisted, faults
        return Changes(tuple(added), tuple(removed), unlisted, faults)

    def _scan(self) -> Scan | None:
        """Look at the files that may have changed; at everything where that is not known. None when nothing changed."""
        watch = self._watch
        hints = watch.hints(self.directory) if watch else Hints(everything=True)
        for name in hints.names & self._files.keys():
            self._files[name].signature = None  # it changed, even where neither its size nor its times show it
        if hints.everything or self._is_asked_for_everything or watch is None:
            return self._full_scan(None if hints.everything else watch)
        if time.monotonic() >= self._full_look_due:
            return self._periodic_scan(watch)
        names = hints.names | self._unsettled | self._missing_once
        if not names:
            return None
        scan = self._begin_scan(watch)
        scan.run_only(names)
        self._rely_on(watch, scan)
        if scan.has_new_links:  # a file that was known before may have got its second name without a report
            self._is_asked_for_everything = True
        return scan

    def _full_scan(self, watch: Watch | None) -> Scan | None:
        """Look at everything, with ``watch`` or a new one. None when the directory was replaced meanwhile. Raises
        `StoreError` where the former content is gone.
        """
        now = time.monotonic()
        if self._is_asked_for_everything:
            self._is_asked_for_everything, self._watch_due = False, 0.0
        if self._watch and self._watch is not watch:
            self._watch.close()
        self._watch = None  # until this scan has gone well
        if watch is None and now >= self._watch_due:
            watch = Watch.begin(self.directory)
        mounts = Mounts.of(read_table())
        self._boundary = Boundary.of(self.directory, mounts)
        root = device_and_inode(self.directory)
        scan = self._begin_scan(watch, mounts)
        try:
            scan.run()
            self._refuse_vanished(root, scan)
        except BaseException:
            if watch:
                watch.close()
            raise
        self._rely_on(watch, scan)
        if self._looked_before and device_and_inode(self.directory) != root:
            self._drop_watch()
            return None
        self._root = root
        self._full_look_due = now + FULL_LOOK_SECONDS
        self._watch_due = now if self._watch else now + FULL_LOOK_SECONDS
        return scan

    def _periodic_scan(self, watch: Watch) -> Scan | None:
        """Look at the state of all that is known; list directories only if the kernel has missed a change of one."""
        scan = self._begin_scan(watch)
        if not scan.run_known():
            return self._full_scan(watch)
        self._rely_on(watch, scan)
        self._full_look_due = time.monotonic() + FULL_LOOK_SECONDS
        return scan

    def _begin_scan(self, watch: Watch | None, mounts: Mounts | None = None) -> Scan:
        self._looks += 1
        before = Before(self._files, self._listed_before, self._attached)
        below = mounts.below(str(self.directory)) if mounts else ()
        return Scan(self._looks, self.directory, before, self._boundary, watch, below)

    def _refuse_vanished(self, root: tuple[int, int] | None, scan: Scan) -> None:
        """Raise `StoreError` where the answers directory cannot be listed, is gone, or is the empty place of a mount.

        An unmounted disk must not turn a rack's answers into 404. A directory that was emptied is another matter: it is
        the same directory as before.
        """
        directory = f"the answers directory {printable(str(self.directory))}"
        if "" in scan.failed:
            raise StoreError(scan.failed[""])
        if "" not in scan.listed and "" in self._listed_before:
            state = "is not a directory" if self.directory.exists() else "does not exist"
            raise StoreError(f"{directory} {state} any more: mount it, or put it back")
        is_empty = not scan.documents and not scan.failed
        if is_empty and self._files and root != self._root:
            raise StoreError(
                f"{directory} is empty and is not the one that was there before: is its file system mounted? "
                "(if it is to be empty, restart answerd)"
            )

    def _rely_on(self, watch: Watch | None, scan: Scan) -> None:
        """Keep a watch only if it would report everything: the target of a link changes without an event."""
        self._watch = watch
        if watch and (scan.failed or scan.has_links or not watch.is_whole):
            self._drop_watch()

    def _drop_watch(self) -> None:
        if self._watch:
            self._watch.close()
        self._watch = None

    def _update(self, source: str, file: KnownFile, seen: Signature | str) -> None:
        """Bring one file up to date with the result of a scan: its signature, or why it cannot be opened."""
        if seen == file.signature:
            file.pending = None
            if not file.read_too_soon or not is_settled(file.signature):
                return
        elif self._looked_before and seen != file.pending:
            file.pending = seen
            return
        read: Signature | None = None
        if isinstance(seen, str):
            document = unopened(file.key, source, seen)
        else:
            read, document = read_document(f"{self.directory}/{source}", source, file.key, self._boundary)
            if read is not None and read != seen and self._looked_before:
                file.pending = None
                return  # it changed while it was read: two more scans
        # A file that cannot be opened stays pending, so that every scan tries again.
        file.signature, file.pending = read, seen if read is None else None
        file.read_too_soon = read is not None and not is_settled(read)
        if not file.document or (file.document.text, file.document.fault) != (document.text, document.fault):
            file.document = document

    def _vanished(self, scan: Scan) -> list[RawDocument]:
        """Drop files that two scans in a row did not find: an editor may move a file away and write it anew."""
        looked_for = self._files if scan.only is None else scan.only & self._files.keys()
        missing = {name for name in looked_for if self._files[name].scanned_in != scan.number}
        gone = missing & self._missing_once
        self._missing_once = missing - gone
        self._unsettled -= gone
        return [document for source in gone if (document := self._files.pop(source).document)]

    # --- for the console and the admin API, which read only -----------------------------------------------------------

    def find(self, key: Key) -> StoredDocument | None:
        found = [raw for raw in self._documents() if raw.key.name == key.name]
        exactly = [raw for raw in found if raw.key == key]
        return next(map(_stored, exactly + found), None)

    def keys(self, kind: Kind | None = None) -> list[Key]:
        return sorted(raw.key for raw in self._documents() if kind in (None, raw.key.kind))

    def entries(self, kind: Kind, after: str = "", limit: int | None = None) -> list[DocumentEntry]:
        """Return the documents of a kind (`WritableStore.entries`); when they changed is not known."""
        wanted = sorted(
            (raw for raw in self._documents() if raw.key.kind is kind and raw.key.identifier > after),
            key=lambda raw: raw.key,
        )
        if limit is not None and len(wanted) > limit:
            last = wanted[limit - 1].key.identifier
            wanted = [raw for number, raw in enumerate(wanted) if number < limit or raw.key.identifier == last]
        return [DocumentEntry(raw.key, len(raw.text.encode()), "", 0, _hash(raw)) for raw in wanted]

    def all(self) -> list[StoredDocument]:
        return sorted(map(_stored, self._documents()), key=lambda stored: stored.key)

    def version(self) -> Version:
        """Return a hash of all texts in place of a revision."""
        together = hashlib.sha256()
        for raw in sorted(self._documents(), key=lambda raw: (raw.key, raw.source)):
            together.update(f"{raw.key}\0{raw.text}\0".encode("utf-8", "surrogatepass"))
        return Version(0, together.hexdigest()[:_TOKEN_DIGITS])

    def history(self, wanted: HistoryFilter) -> list[HistoryEntry]:  # noqa: ARG002 - the protocol's
        """Return nothing: files have no history here."""
        return []

    def prune_history(self, before: str) -> int:  # noqa: ARG002 - the protocol's
        return 0

    def backup(self, path: str) -> None:  # noqa: ARG002 - the protocol's
        raise StoreError("documents of this service are files: copy the answers directory")

    def begin(
        self,
        author: Author = NOBODY,  # noqa: ARG002 - the protocol's
        wait: float = WRITER_WAIT_SECONDS,  # noqa: ARG002
        within: float = math.inf,  # noqa: ARG002
    ) -> Transaction:
        raise StoreError("documents of this service are files: change them in the answers directory")

    def difference(self, written: WriteResult) -> Changes:  # noqa: ARG002 - the protocol's
        return Changes()

    def adopt(self, changes: Changes, version: Version) -> None:
        """Nothing was written."""

    def put(self, key: Key, text: str) -> None:
        """Write a document to its current file, else as a flat file. Raises `StoreError`."""
        source = min((name for name, file in self._files.items() if file.key == key), default=flat_name(key))
        try:
            write_atomically(self.directory / source, text.encode())
        except OSError as error:
            raise StoreError(f"{source} cannot be written: {error.strerror}") from None

    def _documents(self) -> list[RawDocument]:
        """Return the documents in force. From any thread: the table is copied in one step."""
        return [file.document for file in tuple(self._files.values()) if file.document]


def _stored(raw: RawDocument) -> StoredDocument:
    return StoredDocument(raw.key, raw.text.encode(), 0, _hash(raw))


def _hash(raw: RawDocument) -> str:
    """Return the tag of a document: a hash of its text."""
    return hashlib.sha256(raw.text.encode()).hexdigest()[:_TOKEN_DIGITS]
