"""The file store: a directory tree of documents, in the layout of SPEC 3, watched by looking at it.

Knows names, sizes, times and bytes. No path is ever built from what a request says: only what a listing found is
opened. Where the kernel tells what changes (`notification`), a look is at those files only. Not safe for use by two
greenlets at a time; its loader is its one user.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from answerd.documents import Key, RawDocument
from answerd.formats import ALL_EXTENSIONS, split_extension
from answerd.identity import Kind, identifier_fault, shown
from answerd.store import Changes, StoreError
from answerd.store.notification import Hints, Notifier, is_local

Signature = tuple[int, int, int, int]
"""Size in bytes, times of the last change of content and of inode in nanoseconds, inode: equal means that a file is
unchanged. The inode's time cannot be set by a program, so ``cp -p`` over a file shows."""

_CLOCK_TICK_NANOSECONDS = 2_000_000_000
"""The coarsest time stamp of a file system in use (FAT): a file read sooner after its last change may have changed
again under the same stamp, so it is read once more."""

_READ_AT_ONCE = 1_048_576


@dataclass(slots=True)
class _File:
    """A file as it was last looked at, and the document that was read from it.

    ``looked_at`` is the number of the last look that found it. ``signature`` is None while the file cannot be opened,
    and once the kernel has told of a change. ``pending`` is what was seen once and differs from what is in force: it
    takes effect when it is seen twice.
    """

    key: Key
    looked_at: int
    document: RawDocument | None = None
    signature: Signature | None = None
    pending: Signature | str | None = None
    read_too_soon: bool = False

    def rests(self, seen: Signature | str) -> bool:
        """Whether there is nothing to do about what a look saw of it."""
        return seen == self.signature and self.pending is None and not self.read_too_soon


class FileStore:
    """Documents in a directory. `changes` takes one look at the directory and reads what has settled."""

    look_seconds = 0.25
    """A change is in force after two looks, within the second that SPEC 3 gives it."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._files: dict[str, _File] = {}
        self._missing_once: set[str] = set()
        self._unsettled: set[str] = set()
        self._listed_before: set[str] = set()
        self._unlisted: tuple[str, ...] = ()
        self._looked_before = False
        self._looks = 0
        self._watch: _Watch | None = None

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

        Costs microseconds where the kernel says that nothing happened. Raises `StoreError` when the directory itself is
        there but cannot be listed.
        """
        look = self._look()
        if look is None:
            return None
        added: list[RawDocument] = []
        removed: list[RawDocument] = []
        while look.seen:
            # Taken out one by one, because the interpreter frees 100,000 at once without giving way to a request.
            source, (key, signature) = look.seen.popitem()
            file = self._files.setdefault(source, _File(key, look.number))
            before = file.document
            self._update(source, file, signature)
            if file.pending is None and not file.read_too_soon:
                self._unsettled.discard(source)
            else:
                self._unsettled.add(source)
            if file.document is not before:
                removed += [before] if before else []
                added += [file.document] if file.document else []
        removed += self._vanished(look)
        self._listed_before |= look.listed
        if look.only is None:
            unlisted = tuple(sorted(reason for name, reason in look.unknown.items() if _is_groups(name)))
        else:
            unlisted = self._unlisted
        if not (added or removed or not self._looked_before or unlisted != self._unlisted):
            return None
        self._looked_before, self._unlisted = True, unlisted
        return Changes(tuple(added), tuple(removed), unlisted)

    def _look(self) -> _Look | None:
        """A look at what may have changed; at everything where nobody can tell. None when nothing did."""
        watch = self._watch
        hints = watch.hints(self.directory) if watch else Hints(everything=True)
        if not hints.everything:
            names = hints.names | self._unsettled | self._missing_once
            if not names:
                return None
            for name in hints.names & self._files.keys():
                self._files[name].signature = None  # it changed, even where neither its size nor its times tell
            look = self._begin_look(None)
            look.take_only(names)
            self._rely_on(watch, look)
            return look
        if watch:
            watch.close()
        begun = _Watch.begin(self.directory)
        look = self._begin_look(begun)
        try:
            look.take()
        finally:
            self._rely_on(begun, look)
        return look

    def _begin_look(self, watch: _Watch | None) -> _Look:
        self._looks += 1
        return _Look(self._looks, self.directory, self._files, self._listed_before, watch)

    def _rely_on(self, watch: _Watch | None, look: _Look) -> None:
        """Keep a watch only if it would tell of everything: what a link leads to changes without a word."""
        if watch and (look.failed or look.has_links or not watch.is_whole):
            watch.close()
            watch = None
        self._watch = watch

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
            read, document = _read(f"{self.directory}/{source}", source, file.key)
            if read is not None and read != seen and self._looked_before:
                file.pending = None
                return  # it changed while it was read: two more looks
        # What cannot be opened stays pending, so that every look tries again.
        file.signature, file.pending = read, seen if read is None else None
        # The kernel tells of a change whatever its time stamp says.
        file.read_too_soon = self._watch is None and read is not None and not _is_settled(read)
        if not file.document or (file.document.text, file.document.fault) != (document.text, document.fault):
            file.document = document

    def _vanished(self, look: _Look) -> list[RawDocument]:
        """Drop what two looks in a row did not find: an editor may move a file away and write it anew.

        What stands in a directory that cannot be listed has not been looked for.
        """
        looked_for = self._files if look.only is None else look.only & self._files.keys()
        missing = {
            name for name in looked_for if self._files[name].looked_at != look.number and not look.failed_above(name)
        }
        gone = missing & self._missing_once
        self._missing_once = missing - gone
        self._unsettled -= gone
        return [document for source in gone if (document := self._files.pop(source).document)]

    def put(self, key: Key, text: str) -> None:
        """Write a document where it stands already, else as a flat file. Raises `StoreError`."""
        source = min((name for name, file in self._files.items() if file.key == key), default=flat_name(key))
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

    ``known`` are the files of looks before; each that is found gets this look's ``number``. ``listed_before`` are
    directories that could be listed once: what they held is known, and stays in force while they cannot be listed. One
    that never could may hold anything.

    ``seen`` maps a file's name below the root to its key and its signature, or why it has none; known files that rest
    are not in it. ``only`` are the names that were looked for, None for all. ``has_links``: a symbolic link is among
    them. ``listed`` are the directories that could be listed, ``failed`` those that could not and why, by name below
    the root.
    """

    def __init__(
        self,
        number: int,
        root: Path,
        known: Mapping[str, _File],
        listed_before: Collection[str],
        watch: _Watch | None,
    ) -> None:
        """``watch`` is told of every directory before it is listed, so that no change falls between the two."""
        self.number = number
        self.root = root
        self.known = known
        self.listed_before = listed_before
        self.watch = watch
        self.only: Set[str] | None = None
        self.has_links = False
        self.seen: dict[str, tuple[Key, Signature | str]] = {}
        self.listed: set[str] = set()
        self.failed: dict[str, str] = {}

    def take(self) -> None:
        """Fill the fields. Raises `StoreError` when the root is there but cannot be listed."""
        for entry in self._entries(self.root, ""):
            name = entry.name
            if not _is_directory(entry):
                self._see(entry, name)
            elif _is_groups(name):
                self._take_groups(Path(entry.path), name)
            else:
                self._take_owner(Path(entry.path), name)
        if "" in self.failed:
            raise StoreError(self.failed[""])

    def take_only(self, names: Set[str]) -> None:
        """Look at these files alone."""
        self.only = names
        for name in sorted(names):
            path = self.root / name
            if os.path.lexists(path):
                self.has_links = self.has_links or path.is_symlink()
                self._see(path, name)

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
                self._take_owner(Path(entry.path), f"{name}/{entry.name}")
            else:
                self._see(entry, f"{name}/{entry.name}")

    def _take_owner(self, directory: Path, name: str) -> None:
        """A directory that is named like its owner: each file in it is one of the owner's formats.

        While nobody knows what it holds, it is taken to hold a document of each format, and none of them to open.
        """
        for entry in self._entries(directory, name):
            if not _is_directory(entry):
                self._see(entry, f"{name}/{entry.name}")
        if name in self.unknown:
            for extension in ALL_EXTENSIONS:
                key = _key_of(f"{name}/*.{extension}")
                # A name that no document can have (lost+found) holds none.
                if key and not (key.identifier and identifier_fault(key.kind, key.identifier)):
                    self._note(f"{name}/*.{extension}", key, self.failed[name])

    def _see(self, entry: os.DirEntry[str] | Path, name: str) -> None:
        known = self.known.get(name)
        key = known.key if known else _key_of(name)
        if key is not None:
            self._note(name, key, _signature(entry))

    def _note(self, name: str, key: Key, seen: Signature | str) -> None:
        known = self.known.get(name)
        if known:
            known.looked_at = self.number
        if not (known and known.rests(seen)):
            self.seen[name] = key, seen

    def _entries(self, directory: Path, name: str) -> Iterator[os.DirEntry[str]]:
        """What may count in a directory, in the order in which its file system lists, which nothing depends on."""
        if self.watch:
            self.watch.add(name)
        try:
            with os.scandir(directory) as found:
                for entry in found:
                    if _counts(entry.name):
                        self.has_links = self.has_links or entry.is_symlink()
                        yield entry
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.failed[name] = f"directory {shown(name) or directory} cannot be listed: {error.strerror}"
            return
        self.listed.add(name)


class _Watch:
    """The kernel's word on what changes below one directory, in one process. ``is_whole``: of all directories in it."""

    def __init__(self, notifier: Notifier, root: tuple[int, int]) -> None:
        self.notifier = notifier
        self.root = root
        self.process = os.getpid()
        self.is_whole = True

    @classmethod
    def begin(cls, directory: Path) -> _Watch | None:
        """A watch that is to be told of every directory; None where the kernel would not tell all."""
        root = _device_and_inode(directory)
        if root is None or not is_local(directory):
            return None
        try:
            return cls(Notifier(directory), root)
        except OSError:
            return None

    def add(self, name: str) -> None:
        """Watch one more directory, by its name below the root."""
        try:
            self.notifier.watch([name])
        except OSError:  # gone again, or there are too many
            self.is_whole = False

    def hints(self, directory: Path) -> Hints:
        """What may have changed. Everything: where another directory has taken the root's place, and after a fork, when
        the parent would hear half of it."""
        if self.process != os.getpid() or _device_and_inode(directory) != self.root:
            return Hints(everything=True)
        return self.notifier.hints()

    def close(self) -> None:
        """Watch nothing any more."""
        self.notifier.close()


def _device_and_inode(directory: Path) -> tuple[int, int] | None:
    try:
        status = directory.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _counts(name: str) -> bool:
    """Whether a file or directory of this name may be a document's at all."""
    return not name.startswith(".") and not name.endswith("~")


def _key_of(name: str) -> Key | None:
    """The key of a document by its file's name below the root; None for what is no document's."""
    *above, file = name.split("/")
    stem, extension = split_extension(file)
    if extension is None or not all(map(_counts, (*above, file))):
        return None
    if not above:
        is_default = stem.lower() == "default"
        return Key(Kind.DEFAULT, "", extension) if is_default else Key(Kind.MACHINE, stem, extension)
    owner = above[-1]
    if _is_groups(above[0]):
        return Key(Kind.GROUP, stem if len(above) == 1 else owner, extension)
    return Key(Kind.DEFAULT, "", extension) if owner.lower() == "default" else Key(Kind.MACHINE, owner, extension)


def _is_groups(name: str) -> bool:
    """Whether a directory below the root holds the groups."""
    return name.lower() == "groups"


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _signature(entry: os.DirEntry[str] | Path) -> Signature | str:
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


def _read(path: str, source: str, key: Key) -> tuple[Signature | None, RawDocument]:
    """A file's document and its signature at that moment; no signature when it could not be opened."""
    try:
        # Non-blocking, so that a file which has just become a pipe cannot hold the service up.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            opened = _signature_of(os.fstat(file))
            content = b"" if isinstance(opened, str) else _whole(file, opened[0])
            read = _signature_of(os.fstat(file))  # after the reading: a write meanwhile shows
        finally:
            os.close(file)
    except OSError as error:
        return None, _unopened(key, source, error.strerror or str(error))
    if isinstance(read, str):
        return None, _unopened(key, source, read)
    try:
        return read, RawDocument(key, content.decode("utf-8"), source)
    except UnicodeDecodeError as error:
        byte, place = content[error.start], shown(source)
        return read, RawDocument(key, "", source, f"is not UTF-8: byte 0x{byte:02x} at offset {error.start} ({place})")


def _whole(file: int, size: int) -> bytes:
    """What is in a file from here on, about ``size`` bytes."""
    content = os.read(file, size + 1)
    while more := os.read(file, _READ_AT_ONCE):
        content += more
    return content


def _unopened(key: Key, source: str, reason: str) -> RawDocument:
    return RawDocument(key, "", source, f"cannot be opened: {reason} ({shown(source)})")
