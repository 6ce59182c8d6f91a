"""The file store: a directory tree of documents, in the layout of docs/formats.md, checked for changes regularly.

No path is ever built from what a request contains: only what a listing found is opened. Where the kernel reports
changes (`answerd.store.watch`), a scan is of those files only, and of everything once a minute and on request. Not safe
for use by two greenlets at a time; its loader is its only user.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from answerd.documents import Key, RawDocument
from answerd.formats import ALL_EXTENSIONS
from answerd.identity import Kind, identifier_fault, printable
from answerd.store import (
    Changes,
    DocumentEntry,
    HistoryEntry,
    HistoryFilter,
    ReadOnlyStore,
    StoredDocument,
    StoreError,
    Version,
    WriteResult,
)
from answerd.store.file_io import Signature, State, link_fault, read_document, state_of, unopened, write_atomically
from answerd.store.layout import counts, flat_name, ignored_reason, is_groups, is_inventories, key_of, may_own_documents
from answerd.store.looks import Looks
from answerd.store.watch import WRITING_SECONDS, Watch, device_and_inode, mounts_below

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
        self._listed_before: set[str] = set()
        self._attached: dict[str, tuple[tuple[int, int], bool]] = {}
        self._unlisted: tuple[str, ...] = ()
        self._faults: tuple[str, ...] = ()
        self._closed_directories: tuple[str, ...] = ()
        self._watch = Watch(self.directory)
        self.ignored: Mapping[str, str] = {}
        """The files and directories that hold no documents, and why, as the last look at everything has seen them."""
        self.closed: Sequence[str] = ()
        """Why directories could not be listed then."""
        self._root: tuple[int, int] | None = None  # device and inode of the directory that the documents came from

    @property
    def described(self) -> str:
        return f"files:{printable(str(self.directory))}"

    def warnings(self) -> list[str]:
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
        before = self._unlisted, self._faults
        if scan.only is None:
            self._take_directories(scan)
        self._faults = (*self._closed_directories, *self._overdue())
        has_changed = is_first or added or removed or before != (self._unlisted, self._faults)
        return Changes(tuple(added), tuple(removed), self._unlisted, self._faults) if has_changed else None

    def _take_directories(self, scan: _Scan) -> None:
        """Take what a look at everything has found out about directories."""
        never_listed = {name: why for name, why in scan.failed.items() if scan.was_never_listed(name)}
        self._unlisted = tuple(sorted(why for name, why in never_listed.items() if _is_shared(name)))
        self._closed_directories = tuple(sorted(why for name, why in scan.failed.items() if name not in never_listed))
        self.closed = [why for name, why in sorted(scan.failed.items()) if name not in scan.refused]
        self.ignored, self._attached = scan.ignored, scan.attached
        self._listed_before = (scan.failed.keys() - never_listed.keys()) | scan.listed

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
        self._watch.settle()
        return scan

    def _full_scan(self) -> _Scan | None:
        """Look at everything. None when the directory was replaced meanwhile. Raises `StoreError` where the former
        content is gone."""
        root = device_and_inode(self.directory)
        self._watch.begin()
        try:
            scan = _Scan(self)
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

    def _refuse_vanished(self, root: tuple[int, int] | None, scan: _Scan) -> None:
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
        is_empty = not (scan.seen or scan.kept or scan.failed)
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
    that were not known. ``kept`` are the known files that did not change, and those whose documents stay in force
    because their directory cannot be listed. ``only`` are the names that were looked for, None for all. ``ignored`` are
    files and directories that hold no documents, and why. ``listed`` are the directories that could be listed,
    ``failed`` those that could not, and why; of these ``refused`` are never entered. ``attached`` are directories with
    documents that are mount points or reached by a link, and may become others at any moment: the device and inode of
    each, and whether it is a mount point. All are names below the root.
    """

    def __init__(self, store: FileStore) -> None:
        self._root = store.directory
        self._follows_links = store.follows_links
        self._files = store._files
        self._watch = store._watch
        self._listed_before = store._listed_before
        self._attached_before = store._attached
        self._mounts: Set[str] = frozenset()
        self._kept_directories: set[str] = set()
        self._lost: set[str] = set()
        self.only: Set[str] | None = None
        self.seen: dict[str, State] = {}
        self.keys: dict[str, Key] = {}
        self.kept: set[str] = set()
        self.listed: set[str] = set()
        self.failed: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.ignored: dict[str, str] = {}
        self.attached: dict[str, tuple[tuple[int, int], bool]] = {}

    def run(self) -> None:
        """Look at everything."""
        self._mounts = mounts_below(self._root)
        for entry in self._entries(str(self._root), ""):
            self._take_entry(entry, entry.name, self._take_groups if is_groups(entry.name) else self._take_owner)
        for name, (_, was_mount) in self._attached_before.items():
            if was_mount and name not in self.attached and not os.path.lexists(self._root / name):
                # The mount point was removed together with its mount.
                self._keep(name, "it is gone: is its file system mounted?")
        if self.failed:
            self._check_failed()

    def run_only(self, names: Set[str]) -> None:
        """Look at these files alone."""
        self.only = names
        for name in sorted(names):
            path = self._root / name
            if os.path.lexists(path):
                self._watch.is_whole = self._watch.is_whole and not path.is_symlink()
                self._record(path, name)

    def was_never_listed(self, directory: str) -> bool:
        """Return whether a directory may hold anything."""
        return directory not in self._listed_before or directory in self._lost

    def _take_entry(self, entry: os.DirEntry[str], name: str, enter: Callable[[str, str], None]) -> None:
        """Look at a file, or ``enter`` a directory by its path and name."""
        is_mount, is_attached = name in self._mounts, entry.is_symlink() or name in self._mounts
        if not _is_directory(entry):
            was_attached = name in self._attached_before
            if is_attached and not os.path.exists(entry) and (was_attached or _is_shared(name)):
                if was_attached:
                    self._keep(name, "the link leads nowhere")
                else:  # where it leads now was never listed, whatever was here before
                    self._fail(name, "the link leads nowhere")
                    self._lost.add(name)
            else:
                self._record(entry, name)
            return
        before = len(self.seen) + len(self.kept)
        refusal = self._link_fault(entry) if is_attached else None
        if refusal:
            self.refused[name] = refusal
            self._fail(name, refusal)
        else:
            enter(entry.path, name)
        if name in self.failed and not _is_shared(name):
            self._assume_every_format(name)
        if is_attached or name in self._attached_before:
            has_documents = len(self.seen) + len(self.kept) > before
            self._judge_attached(Path(entry.path), name, has_documents=has_documents, is_mount=is_mount)

    def _judge_attached(self, path: Path, name: str, *, has_documents: bool, is_mount: bool) -> None:
        """Distinguish a directory that was emptied from one whose file system is gone: that keeps its documents in
        force."""
        directory, before = device_and_inode(path), self._attached_before.get(name)
        if name in self.failed:
            if before:
                self.attached[name] = before
        elif has_documents and directory:
            self.attached[name] = directory, is_mount
        elif before and directory != before[0]:
            self._keep(name, "it is empty and was not before: is its file system mounted?")

    def _keep(self, name: str, reason: str) -> None:
        """Keep the documents of a directory that had some in force, as they were last read."""
        self._fail(name, reason)
        self._kept_directories.add(name)
        self.attached[name] = self._attached_before[name]

    def _check_failed(self) -> None:
        """Look at the known files of directories that cannot be listed, by their names.

        Whether one can still be opened is a question to the file; nothing is taken to be gone because it is not listed.
        """
        for name in self._files.names - self.seen.keys() - self.kept:
            directory = next((folder for folder in self.failed if name.startswith(f"{folder}/")), None)
            if directory is None:
                continue
            if directory in self._kept_directories:
                self.kept.add(name)
            elif directory in self.refused:
                self.seen[name] = self.refused[directory]
            else:
                self._record(self._root / name, name)

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

    def _assume_every_format(self, name: str) -> None:
        """Take an owner's directory that was never listed to hold a document of each format that cannot be opened."""
        if name in self._listed_before:
            return
        for extension in ALL_EXTENSIONS:
            key = key_of(f"{name}/*.{extension}")
            if key and not (key.identifier and identifier_fault(key.kind, key.identifier)):
                self.seen[f"{name}/*.{extension}"] = self.failed[name]

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
            if may_own_documents(name) or name in self._listed_before:  # lost+found is rarely readable, and holds none
                self._fail(name, error.strerror or str(error))
            return
        self.listed.add(name)

    def _fail(self, name: str, reason: str) -> None:
        self._watch.is_whole = False
        self.failed[name] = f"directory {printable(name) or printable(str(self._root))} cannot be listed: {reason}"


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_shared(name: str) -> bool:
    """Return whether the documents in a directory below the root are about more than one machine."""
    return is_groups(name) or is_inventories(name)


def _is_same(one: RawDocument, other: RawDocument) -> bool:
    return (one.text, one.fault) == (other.text, other.fault)


def _stored(raw: RawDocument) -> StoredDocument:
    return StoredDocument(raw.key, raw.text.encode(), 0, _hash(raw))


def _hash(raw: RawDocument) -> str:
    """Return the tag of a document: a hash of its text."""
    return hashlib.sha256(raw.text.encode()).hexdigest()[:_TOKEN_DIGITS]
