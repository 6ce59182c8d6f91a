"""The file store: a directory tree of documents, in the layout of SPEC 3, watched by looking at it.

Knows names, sizes, times and bytes. No path is ever built from what a request says: only what a listing found is
opened. Not safe for use by two greenlets at a time; its loader is its one user.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from answerd.documents import Key, RawDocument
from answerd.formats import ALL_EXTENSIONS, split_extension
from answerd.identity import Kind, identifier_fault, shown
from answerd.store import Changes, StoreError

Signature = tuple[int, int, int, int]
"""Size in bytes, times of the last change of content and of inode in nanoseconds, inode: equal means that a file is
unchanged. The inode's time cannot be set by a program, so ``cp -p`` over a file shows."""

_CLOCK_TICK_NANOSECONDS = 2_000_000_000
"""The coarsest time stamp of a file system in use (FAT): a file read sooner after its last change may have changed
again under the same stamp, so it is read once more."""


@dataclass(slots=True)
class _File:
    """A file as it was last looked at, and the document that was read from it.

    ``signature`` is None while the file cannot be opened. ``pending`` is what was seen once and differs from what is in
    force: it takes effect when it is seen twice.
    """

    key: Key
    document: RawDocument | None = None
    signature: Signature | None = None
    pending: Signature | str | None = None
    read_too_soon: bool = False


class FileStore:
    """Documents in a directory. `changes` takes one look at the directory and reads what has settled."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._files: dict[str, _File] = {}
        self._missing_once: set[str] = set()
        self._listed_before: set[str] = set()
        self._unlisted: tuple[str, ...] = ()
        self._looked_before = False

    @property
    def described(self) -> str:
        """For the log."""
        return f"files:{self.directory}"

    def warnings(self) -> list[str]:
        """What keeps the directory from being read, if anything."""
        directory = f"the answers directory {self.directory}"
        try:
            os.listdir(self.directory)
        except FileNotFoundError:
            return [f"{directory} does not exist: every request gets 404 until it does"]
        except NotADirectoryError:
            return [f"{directory} is not a directory: every request gets 404 until it is"]
        except OSError as error:
            return [f"{directory} cannot be read ({error.strerror}): every request gets 404 until it can"]
        return []

    def changes(self) -> Changes | None:
        """One look. A changed or vanished file takes effect when two looks in a row agree about it (SPEC 3).

        Raises `StoreError` when the directory itself is there but cannot be listed.
        """
        look = _Look(self.directory, self._listed_before)
        look.take()
        added: list[RawDocument] = []
        removed: list[RawDocument] = []
        for source, (key, signature) in look.seen.items():
            file = self._files.setdefault(source, _File(key))
            before = file.document
            self._update(source, file, signature)
            if file.document is not before:
                removed += [before] if before else []
                added += [file.document] if file.document else []
        removed += self._vanished(look)
        self._listed_before |= look.listed
        unlisted = tuple(reason for name, reason in look.unknown.items() if _is_groups(name))
        if not (added or removed or not self._looked_before or unlisted != self._unlisted):
            return None
        self._looked_before, self._unlisted = True, unlisted
        return Changes(tuple(added), tuple(removed), unlisted)

    def _update(self, source: str, file: _File, seen: Signature | str) -> None:
        """Bring one file up to date with what a look saw of it: its signature, or why it cannot be opened."""
        if seen == file.signature:
            file.pending = None
            if not file.read_too_soon or not _is_settled(file.signature):
                return
        elif self._looked_before and seen != file.pending:
            file.pending = seen
            return
        read: Signature | None = None
        if isinstance(seen, str):
            document = _unopened(file.key, source, seen)
        else:
            read, document = _read(self.directory / source, source, file.key)
            if read is not None and read != seen and self._looked_before:
                file.pending = None
                return  # it changed while it was read: two more looks
        # What cannot be opened stays pending, so that every look tries again.
        file.signature, file.pending = read, seen if read is None else None
        file.read_too_soon = read is not None and not _is_settled(read)
        if not file.document or (file.document.text, file.document.fault) != (document.text, document.fault):
            file.document = document

    def _vanished(self, look: _Look) -> list[RawDocument]:
        """Drop what two looks in a row did not find: an editor may move a file away and write it anew.

        What stands in a directory that cannot be listed has not been looked for.
        """
        missing = {name for name in self._files.keys() - look.seen.keys() if not look.failed_above(name)}
        gone = missing & self._missing_once
        self._missing_once = missing - gone
        return [document for source in gone if (document := self._files.pop(source).document)]

    def put(self, key: Key, text: str) -> None:
        """Write a document where it stands already, else as a flat file. Raises `StoreError`."""
        source = next((name for name, file in self._files.items() if file.key == key), None) or flat_name(key)
        try:
            write_atomically(self.directory / source, text.encode())
        except OSError as error:
            raise StoreError(f"{source} cannot be written: {error.strerror}") from None

    def delete(self, key: Key) -> None:
        """Remove a document's file. Raises KeyError when there is none, `StoreError`."""
        sources = [name for name, file in self._files.items() if file.key == key]
        if not sources:
            raise KeyError(key)
        try:
            for source in sources:
                (self.directory / source).unlink()
                _sync_directory((self.directory / source).parent)
        except OSError as error:
            raise StoreError(f"{sources[0]} cannot be removed: {error.strerror}") from None


def flat_name(key: Key) -> str:
    """Where a document stands in the flat layout: ``groups/rack-a.toml``, ``98fa9b50d810.toml``, ``default.toml``."""
    if key.kind is Kind.DEFAULT:
        return f"default.{key.format}"
    folder = "groups/" if key.kind is Kind.GROUP else ""
    return f"{folder}{key.identifier}.{key.format}"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash, meets the old content or the new and nothing else. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The name begins with a dot: a half-written file is never a document.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class _Look:
    """One look at the whole directory: every file that counts as a document, without opening any.

    ``listed_before`` are directories that could be listed once: what they held is known, and stays in force while they
    cannot be listed. One that never could may hold anything.

    ``seen`` maps a file's name below the root to its key and its signature, or why it has none. ``listed`` are the
    directories that could be listed, ``failed`` those that could not and why, by name below the root. Entries are taken
    sorted by name, so that nothing depends on the order in which a file system lists.
    """

    def __init__(self, root: Path, listed_before: Collection[str] = ()) -> None:
        self.root = root
        self.listed_before = listed_before
        self.seen: dict[str, tuple[Key, Signature | str]] = {}
        self.listed: set[str] = set()
        self.failed: dict[str, str] = {}

    def take(self) -> None:
        """Fill the fields. Raises `StoreError` when the root is there but cannot be listed."""
        entries = self._entries(self.root, "")
        if self.failed:
            raise StoreError(self.failed[""])
        for entry in entries:
            name = entry.name
            if not _is_directory(entry):
                stem, extension = split_extension(name)
                default = stem.lower() == "default"
                self._see(entry, name, Kind.DEFAULT if default else Kind.MACHINE, "" if default else stem, extension)
            elif _is_groups(name):
                self._take_groups(Path(entry.path), name)
            elif name.lower() == "default":
                self._take_owner(Path(entry.path), name, Kind.DEFAULT, "")
            else:
                self._take_owner(Path(entry.path), name, Kind.MACHINE, name)

    @property
    def unknown(self) -> dict[str, str]:
        """The directories that have never been listed, and why."""
        return {name: reason for name, reason in self.failed.items() if name not in self.listed_before}

    def failed_above(self, name: str) -> bool:
        """Whether a file was not looked for, because its directory could not be listed."""
        return bool(self.failed) and any(name.startswith(f"{directory}/") for directory in self.failed)

    def _take_groups(self, directory: Path, name: str) -> None:
        for entry in self._entries(directory, name):
            if _is_directory(entry):
                self._take_owner(Path(entry.path), f"{name}/{entry.name}", Kind.GROUP, entry.name)
            else:
                stem, extension = split_extension(entry.name)
                self._see(entry, f"{name}/{entry.name}", Kind.GROUP, stem, extension)

    def _take_owner(self, directory: Path, name: str, kind: Kind, identifier: str) -> None:
        """A directory that is named like its owner: each file in it is one of the owner's formats.

        While nobody knows what it holds, it is taken to hold a document of each format, and none of them to open.
        """
        for entry in self._entries(directory, name):
            if not _is_directory(entry):
                _, extension = split_extension(entry.name)
                self._see(entry, f"{name}/{entry.name}", kind, identifier, extension)
        # A name that no document can have (lost+found) holds none.
        if name in self.unknown and not (identifier and identifier_fault(kind, identifier)):
            for extension in ALL_EXTENSIONS:
                self.seen[f"{name}/*.{extension}"] = Key(kind, identifier, extension), self.failed[name]

    def _see(self, entry: os.DirEntry[str], name: str, kind: Kind, identifier: str, extension: str | None) -> None:
        if extension:
            self.seen[name] = Key(kind, identifier, extension), _signature(entry)

    def _entries(self, directory: Path, name: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(directory) as found:
                entries = [entry for entry in found if not entry.name.startswith(".") and not entry.name.endswith("~")]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.failed[name] = f"directory {shown(name) or directory} cannot be listed: {error.strerror}"
            return []
        self.listed.add(name)
        return sorted(entries, key=lambda entry: entry.name)


def _is_groups(name: str) -> bool:
    """Whether a directory below the root holds the groups."""
    return name.lower() == "groups"


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _signature(entry: os.DirEntry[str]) -> Signature | str:
    """A file's signature, or why it cannot be opened."""
    try:
        status = entry.stat()
    except OSError as error:
        return error.strerror or str(error)
    return _signature_of(status)


def _signature_of(status: os.stat_result) -> Signature | str:
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _is_settled(signature: Signature) -> bool:
    """Whether a file's last change lies so far back that another one would show."""
    # In either direction: another machine's clock may be ahead, and a change from now on would not have its time.
    return abs(time.time_ns() - max(signature[1:3])) > _CLOCK_TICK_NANOSECONDS


def _read(path: Path, source: str, key: Key) -> tuple[Signature | None, RawDocument]:
    """A file's document and its signature at that moment; no signature when it could not be opened."""
    try:
        # Non-blocking, so that a file which has just become a pipe cannot hold the service up.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            opened = _signature_of(os.fstat(file.fileno()))
            content = b"" if isinstance(opened, str) else file.read()
            read = _signature_of(os.fstat(file.fileno()))  # after the reading: a write meanwhile shows
    except OSError as error:
        return None, _unopened(key, source, error.strerror or str(error))
    if isinstance(read, str):
        return None, _unopened(key, source, read)
    try:
        return read, RawDocument(key, content.decode("utf-8"), source)
    except UnicodeDecodeError as error:
        byte, place = content[error.start], shown(source)
        return read, RawDocument(key, "", source, f"is not UTF-8: byte 0x{byte:02x} at offset {error.start} ({place})")


def _unopened(key: Key, source: str, reason: str) -> RawDocument:
    return RawDocument(key, "", source, f"cannot be opened: {reason} ({shown(source)})")
