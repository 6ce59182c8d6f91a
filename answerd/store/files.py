"""The file store: a directory tree of documents, in the layout of docs/formats.md, checked for changes regularly.

No path is ever built from what a request contains: only what a listing found is opened. Where the kernel reports
changes (`answerd.store.watch`), a scan is of those files only, and of everything once a minute and on request. Not safe
for use by two greenlets at a time; its loader is its only user.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path

from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.short_texts import printable
from answerd.store import (
    Changes,
    DocumentEntry,
    HistoryEntry,
    HistoryFilter,
    NoSetYet,
    ReadOnlyStore,
    StoredDocument,
    StoreError,
    Version,
    WriteResult,
)
from answerd.store.file_io import Signature, State, link_fault, read_document, state_of, unopened, write_atomically
from answerd.store.layout import counts, flat_name, ignored_reason, is_groups, is_inventories, key_of, may_own_documents
from answerd.store.looks import Looks
from answerd.store.watch import WRITING_SECONDS, Watch, device_and_inode

_TOKEN_DIGITS = 16


class FileStore(ReadOnlyStore):
    """Documents in a directory, which others edit. `changes` takes one scan at it and reads what has settled."""

    poll_seconds = 0.25
    """A change is in force after two scans, within a second."""

    def __init__(self, directory: str | Path, *, follows_links: bool = True) -> None:
        """``follows_links``: links that lead out of the directory are followed; else they are documents, or
        directories, that cannot be read."""
        self.directory = Path(directory)
        self.follows_links = follows_links
        self._files: Looks[RawDocument] = Looks(self._read, _is_same)
        self._keys: dict[str, Key] = {}
        self._listed: set[str] = set()  # the directories that the last look at everything has listed
        self._faults: tuple[str, ...] = ()
        self._watch = Watch(self.directory)
        self.ignored: Mapping[str, str] = {}
        """The files and directories that hold no documents, and why, as the last look at everything has seen them."""
        self._root: tuple[int, int] | None = None  # device and inode of the directory that the documents came from

    @property
    def described(self) -> str:
        return f"files:{printable(str(self.directory))}"

    def warnings(self) -> list[str]:
        fault = self.fault()
        status = 503 if self.directory.is_dir() else 404
        return [f"{fault}: every request gets {status} until that changes"] if fault else []

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
        if "" not in self._listed:
            return self.fault() or "the documents are being read"
        return "the documents are being read" if self._files.has_unread else ""

    def force_full_poll(self) -> None:
        self._watch.ask_for_everything()

    def changes(self) -> Changes | None:
        """Look for changes. A changed or removed file takes effect when two scans in a row agree about it.

        Costs microseconds where the kernel says that nothing happened. Raises `StoreError`, and changes nothing, when
        the directory or a part of it cannot be listed, is no longer there, or is another directory and empty;
        `NoSetYet` where a part could not be listed since the start.
        """
        is_first = not self._files.looked_before
        scan = self._scan()
        if scan is None:
            return None
        self._keys = scan.keys
        added, removed = self._files.look(scan.seen, scan.only, scan.kept)
        added.sort(key=lambda raw: raw.source)  # a file system lists in an order of its own; on tmpfs, the latest first
        if scan.only is None:
            self.ignored, self._listed = scan.ignored, scan.listed
        before, self._faults = self._faults, tuple(self._overdue())
        has_changed = is_first or added or removed or before != self._faults
        return Changes(tuple(added), tuple(removed), self._faults) if has_changed else None

    def _overdue(self) -> Iterator[str]:
        for name in sorted(self._watch.overdue & self._files.names):
            yield (
                f"{printable(name)} has been open for writing for {WRITING_SECONDS:.0f} s and is read as it is: "
                "write beside it and rename"
            )

    def _read(self, name: str, seen: State) -> tuple[Signature | None, RawDocument]:
        key = self._keys.pop(name, None) or key_of(name)
        assert key is not None  # noqa: S101 - a scan sees documents only
        if isinstance(seen, str):
            return None, unopened(key, name, seen)
        within = None if self.follows_links else str(self.directory)
        return read_document(f"{self.directory}/{name}", name, key, within)

    def _scan(self) -> _Scan | None:
        """Look at the files that may have changed; at everything where that is not known, and once a minute. None when
        nothing changed. Raises `StoreError`."""
        moved = self._watch.moved()
        self._files.distrust(moved)
        if self._watch.is_full_look_due:
            return self._full_scan()
        names = moved | self._files.unsettled
        if not names:
            return None
        scan = _Scan(self)
        scan.run_only(names)
        self._watch.end_look()
        return scan

    def _full_scan(self) -> _Scan | None:
        """Look at everything. None when the directory was replaced meanwhile. Raises `StoreError` where the former
        content is gone."""
        root = device_and_inode(self.directory)
        self._watch.begin_look()
        try:
            scan = _Scan(self)
            scan.run()
            self._refuse_vanished(root, scan)
        except BaseException:
            self._watch.close()
            raise
        self._watch.end_look()
        if self._files.looked_before and device_and_inode(self.directory) != root:
            self._watch.close()
            return None
        self._root = root
        return scan

    def _refuse_vanished(self, root: tuple[int, int] | None, scan: _Scan) -> None:
        """Raise `StoreError` where the answers directory is gone, or is the empty place of a mount.

        An unmounted disk must not turn a rack's answers into 404. A directory that was emptied is another matter: it is
        the same directory as before.
        """
        directory = f"the answers directory {printable(str(self.directory))}"
        if "" not in scan.listed and "" in self._listed:
            state = "is not a directory" if self.directory.exists() else "does not exist"
            raise StoreError(f"{directory} {state} any more: mount it, or put it back")
        is_empty = not (scan.seen or scan.kept)
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

    def entries(self, kind: Kind, after: str = "", limit: int | None = None) -> list[DocumentEntry]:
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
        return []

    def read_only(self) -> StoreError:
        return StoreError("documents of this service are files: change and copy them in the answers directory")

    def difference(self, written: WriteResult) -> Changes:  # noqa: ARG002 - the protocol's
        return Changes()

    def adopt(self, changes: Changes, version: Version) -> None:
        pass

    def put(self, key: Key, text: str) -> None:
        """Write a document to its current file, else as a flat file. Raises `StoreError`."""
        source = min((name for name, raw in self._files.contents() if raw.key == key), default=flat_name(key))
        try:
            write_atomically(self.directory / source, text.encode())
        except OSError as error:
            raise StoreError(f"{source} cannot be written: {error.strerror}") from None

    def _documents(self) -> list[RawDocument]:
        return [raw for _, raw in self._files.contents()]


class _Scan:
    """One scan of all files, or of some of them. Lists directories and asks for the state of files; opens no file.

    ``seen`` maps the name of each file that counts to its signature, or why it has none; ``keys`` has the keys of those
    that were not known. ``kept`` are the known files that did not change. ``only`` are the names that were looked for,
    None for all. ``ignored`` are files and directories that hold no documents, and why. ``listed`` are the directories
    that were listed. All are names below the root.
    """

    def __init__(self, store: FileStore) -> None:
        self._root = store.directory
        self._follows_links = store.follows_links
        self._files = store._files
        self._watch = store._watch
        self._listed_before = store._listed
        self.only: Set[str] | None = None
        self.seen: dict[str, State] = {}
        self.keys: dict[str, Key] = {}
        self.kept: set[str] = set()
        self.listed: set[str] = set()
        self.ignored: dict[str, str] = {}

    def run(self) -> None:
        """Look at everything. Raises `StoreError` where a part cannot be listed: nobody knows what it holds."""
        for entry in self._entries(str(self._root), ""):
            self._take_entry(entry, entry.name, self._take_groups if is_groups(entry.name) else self._take_owner)

    def run_only(self, names: Set[str]) -> None:
        """Look at these files alone."""
        self.only = names
        for name in sorted(names):
            path = self._root / name
            if os.path.lexists(path):
                self._watch.is_whole = self._watch.is_whole and not path.is_symlink()
                self._record(path, name)

    def _take_entry(self, entry: os.DirEntry[str], name: str, enter: Callable[[str, str], None]) -> None:
        """Look at a file, or ``enter`` a directory by its path and name."""
        if _is_directory(entry):
            fault = self._link_fault(entry) if entry.is_symlink() else None
            if fault and may_own_documents(name):
                raise self._unlisted(name, fault)
            if not fault:
                enter(entry.path, name)
        elif self._was_directory(name) and entry.is_symlink() and not os.path.exists(entry):
            raise self._unlisted(name, "the link leads nowhere")
        else:
            self._record(entry, name)

    def _was_directory(self, name: str) -> bool:
        """Return whether a link of this name that leads nowhere has led to documents, or may have."""
        return name in self._listed_before or is_groups(name) or is_inventories(name)

    def _unlisted(self, name: str, reason: str) -> StoreError:
        """Return the error of a directory that cannot be listed."""
        shown = f"directory {printable(name)}" if name else f"the answers directory {printable(str(self._root))}"
        error = StoreError if self._files.looked_before else NoSetYet
        return error(f"{shown} cannot be listed: {reason}")

    def _take_groups(self, directory: str, name: str) -> None:
        for entry in self._entries(directory, name):
            self._take_entry(entry, f"{name}/{entry.name}", self._take_owner)

    def _take_owner(self, directory: str, name: str) -> None:
        """Look at a directory that is named like its owner: each file in it is one of the owner's formats."""
        for entry in self._entries(directory, name):
            if _is_directory(entry):
                self.ignored[f"{name}/{entry.name}"] = "a directory here holds no documents"
            else:
                self._record(entry, f"{name}/{entry.name}")

    def _record(self, entry: os.DirEntry[str] | Path, name: str) -> None:
        if name not in self._files.names:
            key = key_of(name)
            if key is None:
                self.ignored[name] = ignored_reason(name)
                return
            self.keys[name] = key
        if self._watch.is_held(name):  # half written: the version before stays in force
            self.kept |= {name} & self._files.names
            return
        state = self._state(entry)
        if state is None:
            return
        if self._files.is_at_rest(name, state):
            self.kept.add(name)
        else:
            self.seen[name] = state

    def _state(self, entry: os.DirEntry[str] | Path) -> State | None:
        """Return a file's signature, or why it is not opened; None where there is no such file, or a directory."""
        try:
            if entry.is_symlink() and (fault := self._link_fault(entry)):
                return fault
            status = entry.stat()
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.lexists(entry)
            return None if is_gone else error.strerror or str(error)
        if stat.S_ISDIR(status.st_mode):
            return None
        if status.st_nlink > 1:
            self._watch.is_whole = False  # a write through its other name is reported there
        return state_of(status)

    def _link_fault(self, entry: os.DirEntry[str] | Path) -> str | None:
        return link_fault(os.fspath(entry), str(self._root), follows_links=self._follows_links)

    def _entries(self, directory: str, name: str) -> Iterator[os.DirEntry[str]]:
        """Yield the entries of a directory that may count, in the order of its file system; nothing depends on the
        order."""
        self._watch.add(name)
        try:
            with os.scandir(directory) as found:
                for entry in found:
                    if counts(entry.name):
                        if entry.is_symlink():
                            self._watch.is_whole = False  # what it leads to changes without a report
                        yield entry
                    elif not entry.name.startswith("."):
                        self.ignored[f"{name}/{entry.name}".lstrip("/")] = ignored_reason(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            if may_own_documents(name):  # lost+found is rarely readable, and holds none
                raise self._unlisted(name, error.strerror or str(error)) from None
            return
        self.listed.add(name)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_same(one: RawDocument, other: RawDocument) -> bool:
    return (one.text, one.fault) == (other.text, other.fault)


def _stored(raw: RawDocument) -> StoredDocument:
    return StoredDocument(raw.key, raw.text.encode(), 0, _hash(raw))


def _hash(raw: RawDocument) -> str:
    """Return the tag of a document: a hash of its text."""
    return hashlib.sha256(raw.text.encode()).hexdigest()[:_TOKEN_DIGITS]
