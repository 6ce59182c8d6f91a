"""One scan at the answers directory: the files that count as documents, their signatures, and the directories that
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
from answerd.store.layout import counts, is_groups, is_inventories, key_of, may_own_documents
from answerd.store.looks import Looks, State
from answerd.store.notification import Watch, device_and_inode
from answerd.store.reading import Boundary, signature_of


@dataclass(frozen=True, slots=True)
class Attached:
    """A directory with documents that is a mount point or reached by a link: it may become another one at any moment.

    ``directory`` is its device and inode.
    """

    directory: tuple[int, int]
    is_mount: bool


@dataclass(frozen=True, slots=True)
class Before:
    """The results of earlier scans. ``files``: the files that were documents. ``listed``: the directories that could be
    listed; one that never could may hold anything. ``attached``: by name below the root.
    """

    files: Looks[RawDocument]
    listed: Set[str]
    attached: Mapping[str, Attached]


@dataclass(slots=True)
class Scan:
    """One scan at all files, or at some of them.

    ``watch`` is given every directory before it is listed, so that no change falls between the two. ``mounts`` are the
    mount points below the root, by their names below it.

    Filled by `run` and `run_only`: ``seen`` maps the name of each file that counts to its signature, or why it has
    none; ``keys`` has the keys of those that were not known. ``kept`` are the known files that did not change, and
    those whose documents stay in force because their directory cannot be listed. ``only`` are the names that were
    looked for, None for all. ``has_links``: a symbolic link is among the entries; ``has_new_links``: a file of several
    names that was not watched before. ``listed`` are the directories that could be listed, ``failed`` those that could
    not, and why. All are names below the root.
    """

    root: Path
    before: Before
    boundary: Boundary
    watch: Watch | None = None
    mounts: Collection[str] = ()
    only: Set[str] | None = None
    has_links: bool = False
    has_new_links: bool = False
    seen: dict[str, State] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
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
                self.has_links = self.has_links or path.is_symlink()
                self._record(path, name)

    @property
    def count(self) -> int:
        """How many files count as documents."""
        return len(self.seen) + len(self.kept)

    @property
    def unknown(self) -> dict[str, str]:
        """The directories that have never been listed, and why."""
        before = self.before.listed - self._lost
        return {name: reason for name, reason in self.failed.items() if name not in before}

    def _take_entry(self, entry: os.DirEntry[str], name: str, enter: Callable[[str, str], None]) -> None:
        """Look at a file, or ``enter`` a directory by its path and name."""
        is_attached = entry.is_symlink() or name in self.mounts
        if not _is_directory(entry):
            if is_attached and self._was_directory(entry, name):
                self._fail(name, "the link leads nowhere")
                if name in self.before.attached:
                    self._kept_directories.add(name)
                    self.attached[name] = self.before.attached[name]
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
        if is_attached or name in self.before.attached:
            self._judge_attached(Path(entry.path), name, has_documents=self.count > before)

    def _was_directory(self, link: os.DirEntry[str], name: str) -> bool:
        """Return whether a link that leads nowhere now is one to a directory all the same."""
        is_shared = is_groups(name) or is_inventories(name)
        return not os.path.exists(link) and (name in self.before.attached or is_shared)

    def _refusal(self, directory: str) -> str | None:
        """Return why a directory is not entered; None where it is."""
        try:
            return self.boundary.link_fault(directory) or self.boundary.device_fault(os.stat(directory).st_dev)
        except OSError:
            return None  # listing it says why

    def _judge_attached(self, path: Path, name: str, *, has_documents: bool) -> None:
        """Distinguish a directory that was emptied from one whose file system is gone: that keeps its documents in
        force."""
        directory, before = device_and_inode(path), self.before.attached.get(name)
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
        for name, before in self.before.attached.items():
            if before.is_mount and name not in self.attached and not os.path.lexists(self.root / name):
                self._fail(name, "it is gone: is its file system mounted?")
                self._kept_directories.add(name)
                self.attached[name] = before

    def _check_failed(self) -> None:
        """Look at the known files of directories that cannot be listed, by their names.

        Whether one can still be opened is a question to the file; nothing is taken to be gone because it is not listed.
        """
        for name in self.before.files.names - self.seen.keys() - self.kept:
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
            if not _is_directory(entry):
                self._record(entry, f"{name}/{entry.name}")

    def _assume_every_format(self, name: str) -> None:
        """Take an owner's directory that was never listed to hold a document of each format that cannot be opened."""
        if name in self.before.listed:
            return
        for extension in ALL_EXTENSIONS:
            key = key_of(f"{name}/*.{extension}")
            if key and not (key.identifier and identifier_fault(key.kind, key.identifier)):
                self.seen[f"{name}/*.{extension}"] = self.failed[name]

    def _record(self, entry: os.DirEntry[str] | Path, name: str) -> None:
        if name not in self.before.files.names:
            key = key_of(name)
            if key is None:
                return
            self.keys[name] = key
        state = self._state(entry, name)
        if state is None:
            return
        if self.before.files.is_at_rest(name, state):
            self.kept.add(name)
        else:
            self.seen[name] = state

    def _state(self, entry: os.DirEntry[str] | Path, name: str) -> State | None:
        """Return a file's signature, or why it is not opened; None where there is no such file, or a directory."""
        try:
            if entry.is_symlink() and (fault := self.boundary.link_fault(os.fspath(entry))):
                return fault
            status = entry.stat()
            if status.st_nlink > 1 and self.watch:
                self.has_new_links = self.watch.add_file(name) or self.has_new_links
                status = os.stat(entry)  # a write between the two scans would not be reported
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.lexists(entry)
            return None if is_gone else error.strerror or str(error)
        if stat.S_ISDIR(status.st_mode):
            return None
        if status.st_dev != self.boundary.root_device and (fault := self.boundary.device_fault(status.st_dev)):
            return fault
        return signature_of(status)

    def _entries(self, directory: str, name: str) -> Iterator[os.DirEntry[str]]:
        """Yield the entries of a directory that may count, in the order of its file system; nothing depends on the
        order."""
        is_watched = self.watch is None or self.watch.add(name)
        try:
            with os.scandir(directory) as found:
                for entry in found:
                    if counts(entry.name):
                        self.has_links = self.has_links or entry.is_symlink()
                        yield entry
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            if may_own_documents(name) or name in self.before.listed:  # lost+found is rarely readable, and holds none
                self._fail(name, error.strerror or str(error))
            return
        self.listed.add(name)
        if self.watch and not is_watched:
            self.watch.is_whole = False

    def _fail(self, name: str, reason: str) -> None:
        self.failed[name] = f"directory {printable(name) or printable(str(self.root))} cannot be listed: {reason}"


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
