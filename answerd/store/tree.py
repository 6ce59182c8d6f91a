"""One scan of the answers directory: the files that count as documents, their signatures, and the directories that
could not be listed.

Lists directories and asks for the state of files; opens no file. `answerd.store.files` acts on the result.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from answerd.documents import Key, RawDocument
from answerd.formats import ALL_EXTENSIONS
from answerd.identity import identifier_fault, printable
from answerd.store.file_io import Boundary, State, state_of
from answerd.store.layout import counts, ignored_reason, is_groups, is_inventories, key_of, may_own_documents
from answerd.store.looks import Looks
from answerd.store.watch import Watch, device_and_inode


@dataclass(frozen=True, slots=True)
class Attached:
    """A directory with documents that is a mount point or reached by a link: it may become another one at any moment.

    ``directory`` is its device and inode.
    """

    directory: tuple[int, int]
    is_mount: bool


@dataclass(slots=True)
class Scan:
    """One scan of all files, or of some of them.

    What earlier scans have found: ``files`` are those that were documents; ``listed_before`` the directories that
    could be listed, of which one that never could may hold anything; ``attached_before`` by name below the root.
    ``watch`` is given every directory before it is listed. ``mounts`` are the mount points below the root, by their
    names below it.

    Filled by `run` and `run_only`: ``seen`` maps the name of each file that counts to its signature, or why it has
    none; ``keys`` has the keys of those that were not known. ``kept`` are the known files that did not change, and
    those whose documents stay in force because their directory cannot be listed. ``only`` are the names that were
    looked for, None for all. ``ignored`` are files and directories that hold no documents, and why. ``listed`` are the
    directories that could be listed, ``failed`` those that could not, and why. All are names below the root.
    """

    root: Path
    files: Looks[RawDocument]
    listed_before: Set[str]
    attached_before: Mapping[str, Attached]
    boundary: Boundary
    watch: Watch
    mounts: Collection[str] = ()
    only: Set[str] | None = None
    seen: dict[str, State] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    ignored: dict[str, str] = field(default_factory=dict)
    attached: dict[str, Attached] = field(default_factory=dict)
    _kept_directories: set[str] = field(default_factory=set)
    _refused: dict[str, str] = field(default_factory=dict)
    _lost: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Look at everything."""
        for entry in self._entries(str(self.root), ""):
            self._take_entry(entry, entry.name, self._take_groups if is_groups(entry.name) else self._take_owner)
        self._keep_what_was_unmounted()
        if self.failed:
            self._check_failed()

    def run_only(self, names: Set[str]) -> None:
        """Look at these files alone."""
        self.only = names
        for name in sorted(names):
            path = self.root / name
            if os.path.lexists(path):
                self.watch.is_whole = self.watch.is_whole and not path.is_symlink()
                self._record(path, name)

    @property
    def count(self) -> int:
        """How many files count as documents."""
        return len(self.seen) + len(self.kept)

    @property
    def unknown(self) -> dict[str, str]:
        """The directories that have never been listed, and why."""
        return {name: why for name, why in self.failed.items() if name not in self.listed_before or name in self._lost}

    @property
    def closed(self) -> list[str]:
        """Why directories could not be listed, besides those that are never entered."""
        return [reason for name, reason in sorted(self.failed.items()) if name not in self._refused]

    def _take_entry(self, entry: os.DirEntry[str], name: str, enter: Callable[[str, str], None]) -> None:
        """Look at a file, or ``enter`` a directory by its path and name."""
        is_attached = entry.is_symlink() or name in self.mounts
        if not _is_directory(entry):
            if is_attached and self._was_directory(entry, name):
                self._fail(name, "the link leads nowhere")
                if name in self.attached_before:
                    self._kept_directories.add(name)
                    self.attached[name] = self.attached_before[name]
                else:  # where it leads now was never listed, whatever was here before
                    self._lost.add(name)
            else:
                self._record(entry, name)
            return
        before = self.count
        refusal = self._refusal(entry.path) if is_attached else None
        if refusal:
            self._refused[name] = refusal
            self._fail(name, refusal)
        else:
            enter(entry.path, name)
        if self.failed and name in self.failed and not (is_groups(name) or is_inventories(name)):
            self._assume_every_format(name)
        if is_attached or name in self.attached_before:
            self._judge_attached(Path(entry.path), name, has_documents=self.count > before)

    def _was_directory(self, link: os.DirEntry[str], name: str) -> bool:
        """Return whether a link that leads nowhere now is one to a directory all the same."""
        is_shared = is_groups(name) or is_inventories(name)
        return not os.path.exists(link) and (name in self.attached_before or is_shared)

    def _refusal(self, directory: str) -> str | None:
        """Return why a directory is not entered; None where it is."""
        try:
            return self.boundary.link_fault(directory) or self.boundary.device_fault(os.stat(directory).st_dev)
        except OSError:
            return None  # listing it says why

    def _judge_attached(self, path: Path, name: str, *, has_documents: bool) -> None:
        """Distinguish a directory that was emptied from one whose file system is gone: that keeps its documents in
        force."""
        directory, before = device_and_inode(path), self.attached_before.get(name)
        if name in self.failed:
            if before:
                self.attached[name] = before
        elif has_documents and directory:
            self.attached[name] = Attached(directory, name in self.mounts)
        elif before and directory != before.directory:
            self._fail(name, "it is empty and was not before: is its file system mounted?")
            self._kept_directories.add(name)
            self.attached[name] = before

    def _keep_what_was_unmounted(self) -> None:
        """Keep the documents of a mount point that was removed together with its mount."""
        for name, before in self.attached_before.items():
            if before.is_mount and name not in self.attached and not os.path.lexists(self.root / name):
                self._fail(name, "it is gone: is its file system mounted?")
                self._kept_directories.add(name)
                self.attached[name] = before

    def _check_failed(self) -> None:
        """Look at the known files of directories that cannot be listed, by their names.

        Whether one can still be opened is a question to the file; nothing is taken to be gone because it is not listed.
        """
        for name in self.files.names - self.seen.keys() - self.kept:
            directory = next((folder for folder in self.failed if name.startswith(f"{folder}/")), None)
            if directory is None:
                continue
            if directory in self._kept_directories:
                self.kept.add(name)
            elif directory in self._refused:
                self.seen[name] = self._refused[directory]
            else:
                self._record(self.root / name, name)

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
        if name in self.listed_before:
            return
        for extension in ALL_EXTENSIONS:
            key = key_of(f"{name}/*.{extension}")
            if key and not (key.identifier and identifier_fault(key.kind, key.identifier)):
                self.seen[f"{name}/*.{extension}"] = self.failed[name]

    def _record(self, entry: os.DirEntry[str] | Path, name: str) -> None:
        if name not in self.files.names:
            key = key_of(name)
            if key is None:
                self.ignored[name] = ignored_reason(name)
                return
            self.keys[name] = key
        state = self._state(entry)
        if state is None:
            return
        if self.files.is_at_rest(name, state):
            self.kept.add(name)
        else:
            self.seen[name] = state

    def _state(self, entry: os.DirEntry[str] | Path) -> State | None:
        """Return a file's signature, or why it is not opened; None where there is no such file, or a directory."""
        try:
            if entry.is_symlink() and (fault := self.boundary.link_fault(os.fspath(entry))):
                return fault
            status = entry.stat()
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.lexists(entry)
            return None if is_gone else error.strerror or str(error)
        if stat.S_ISDIR(status.st_mode):
            return None
        if status.st_nlink > 1:
            self.watch.is_whole = False  # a write through its other name is reported there
        return state_of(status, self.boundary)

    def _entries(self, directory: str, name: str) -> Iterator[os.DirEntry[str]]:
        """Yield the entries of a directory that may count, in the order of its file system; nothing depends on the
        order."""
        self.watch.add(name)
        try:
            with os.scandir(directory) as found:
                for entry in found:
                    if counts(entry.name):
                        if entry.is_symlink():
                            self.watch.is_whole = False  # what it leads to changes without a report
                        yield entry
                    elif not entry.name.startswith("."):
                        self.ignored[f"{name}/{entry.name}".lstrip("/")] = ignored_reason(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            if may_own_documents(name) or name in self.listed_before:  # lost+found is rarely readable, and holds none
                self._fail(name, error.strerror or str(error))
            return
        self.listed.add(name)

    def _fail(self, name: str, reason: str) -> None:
        self.watch.is_whole = False
        self.failed[name] = f"directory {printable(name) or printable(str(self.root))} cannot be listed: {reason}"


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
