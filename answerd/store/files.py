"""The file store: a directory tree of documents, in the layout of docs/formats.md, checked for changes regularly.

No path is ever built from what a request contains: only what a listing found is opened. Where the kernel reports
changes (`answerd.store.watch`), a scan is of those files only, and of everything once a minute and on request. Not safe
for use by two greenlets at a time; its loader is its only user.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Mapping, Sequence
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
    Store,
    StoredDocument,
    StoreError,
    Transaction,
    Version,
    WriteResult,
)
from answerd.store.file_io import Boundary, Signature, State, read_document, unopened, write_atomically
from answerd.store.layout import flat_name, is_groups, is_inventories, key_of
from answerd.store.looks import Looks
from answerd.store.mounts import Mounts, read_table
from answerd.store.tree import Attached, Scan
from answerd.store.watch import Watch, device_and_inode

_TOKEN_DIGITS = 16


class FileStore(Store):
    """Documents in a directory, which others edit. `changes` takes one scan at it and reads what has settled."""

    poll_seconds = 0.25
    """A change is in force after two scans, within a second."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._files: Looks[RawDocument] = Looks(self._read, _is_same)
        self._keys: dict[str, Key] = {}
        self._listed_before: set[str] = set()
        self._attached: dict[str, Attached] = {}
        self._unlisted: tuple[str, ...] = ()
        self._faults: tuple[str, ...] = ()
        self._watch = Watch(self.directory)
        self.ignored: Mapping[str, str] = {}
        """The files and directories that hold no documents, and why, as the last look at everything has seen them."""
        self.closed: Sequence[str] = ()
        """Why directories could not be listed then."""
        self._root: tuple[int, int] | None = None  # device and inode of the directory that the documents came from
        self._boundary = Boundary("", -1, frozenset())

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

    def absence(self) -> str:
        """Return why the documents of the directory are not in force yet, as the last scan has seen it; empty where
        they are."""
        if "" not in self._listed_before:
            return self.fault() or "the documents are being read"
        return "the documents are being read" if self._files.has_unread else ""

    def force_full_poll(self) -> None:
        """Have the next scan be at everything, whatever the kernel reports. May be called from any thread."""
        self._watch.ask_for_everything()

    def changes(self) -> Changes | None:
        """Look for changes. A changed or removed file takes effect when two scans in a row agree about it.

        Costs microseconds where the kernel says that nothing happened. Raises `StoreError` when the directory itself
        cannot be listed, is no longer there, or is another directory and empty.
        """
        is_first = not self._files.looked_before
        scan = self._scan()
        if scan is None:
            return None
        self._keys = scan.keys
        added, removed = self._files.look(scan.seen, scan.only, scan.kept)
        unlisted, faults = self._unlisted, self._faults
        if scan.only is None:
            unknown = scan.unknown
            unlisted = tuple(
                sorted(reason for name, reason in unknown.items() if is_groups(name) or is_inventories(name))
            )
            faults = tuple(sorted(reason for name, reason in scan.failed.items() if name not in unknown))
            self._attached = scan.attached
            self.ignored, self.closed = scan.ignored, scan.closed
            self._listed_before = (scan.failed.keys() - unknown.keys()) | scan.listed
        is_same = (unlisted, faults) == (self._unlisted, self._faults)
        if not (is_first or added or removed) and is_same:
            return None
        self._unlisted, self._faults = unlisted, faults
        return Changes(tuple(added), tuple(removed), unlisted, faults)

    def _read(self, name: str, seen: State) -> tuple[Signature | None, RawDocument]:
        key = self._keys.pop(name, None) or key_of(name)
        assert key is not None  # noqa: S101 - a scan sees documents only
        if isinstance(seen, str):
            return None, unopened(key, name, seen)
        return read_document(f"{self.directory}/{name}", name, key, self._boundary)

    def _scan(self) -> Scan | None:
        """Look at the files that may have changed; at everything where that is not known, and once a minute. None when
        nothing changed. Raises `StoreError`."""
        moved = self._watch.moved()
        self._files.distrust(moved)
        if self._watch.is_full_look_due:
            return self._full_scan()
        names = moved | self._files.unsettled
        if not names:
            return None
        scan = self._new_scan()
        scan.run_only(names)
        self._watch.settle()
        return scan

    def _full_scan(self) -> Scan | None:
        """Look at everything. None when the directory was replaced meanwhile. Raises `StoreError` where the former
        content is gone."""
        mounts = Mounts.of(read_table())
        self._boundary = Boundary.of(self.directory, mounts)
        root = device_and_inode(self.directory)
        self._watch.begin()
        try:
            scan = self._new_scan(mounts.below(str(self.directory)))
            scan.run()
            self._refuse_vanished(root, scan)
        except BaseException:
            self._watch.close()
            raise
        self._watch.settle()
        if self._files.looked_before and device_and_inode(self.directory) != root:
            self._watch.close()
            return None
        self._root = root
        return scan

    def _new_scan(self, mounts: Collection[str] = ()) -> Scan:
        return Scan(
            self.directory, self._files, self._listed_before, self._attached, self._boundary, self._watch, mounts
        )

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
        is_empty = not scan.count and not scan.failed
        if is_empty and self._files.names and root != self._root:
            raise StoreError(
                f"{directory} is empty and is not the one that was there before: is its file system mounted? "
                "(if it is to be empty, restart answerd)"
            )

    # --- for the console and the admin API, which read only -----------------------------------------------------------

    def find(self, key: Key) -> StoredDocument | None:
        found = [raw for raw in self._documents() if raw.key.name == key.name]
        exactly = [raw for raw in found if raw.key == key]
        return next(map(_stored, exactly + found), None)

    def keys(self, kind: Kind | None = None) -> list[Key]:
        return sorted(raw.key for raw in self._documents() if kind in (None, raw.key.kind))

    def entries(self, kind: Kind, after: str = "", limit: int | None = None) -> list[DocumentEntry]:  # noqa: ARG002
        raise StoreError("documents of this service are files: list the answers directory")

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
        source = min((name for name, raw in self._files.contents() if raw.key == key), default=flat_name(key))
        try:
            write_atomically(self.directory / source, text.encode())
        except OSError as error:
            raise StoreError(f"{source} cannot be written: {error.strerror}") from None

    def _documents(self) -> list[RawDocument]:
        return [raw for _, raw in self._files.contents()]


def _is_same(one: RawDocument, other: RawDocument) -> bool:
    return (one.text, one.fault) == (other.text, other.fault)


def _stored(raw: RawDocument) -> StoredDocument:
    return StoredDocument(raw.key, raw.text.encode(), 0, _hash(raw))


def _hash(raw: RawDocument) -> str:
    """Return the tag of a document: a hash of its text."""
    return hashlib.sha256(raw.text.encode()).hexdigest()[:_TOKEN_DIGITS]
