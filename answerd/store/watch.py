"""What to look at in a directory tree: what the kernel (inotify) reports to have changed, or everything.

A hint that avoids looking at 100,000 files four times a second; its user reads the files, and decides whether a change
has settled. Where the kernel cannot be relied on (a network file system, a mount below the root, links, no watches
left) everything is looked at each time, and once a minute in any case.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from ctypes import CDLL
from pathlib import Path

import inotify_simple
from inotify_simple import INotify, flags, parse_events

# Left to itself inotify_simple finds the C library with a subprocess, at its first use; a thread under gevent, where
# the store is looked at, can start none. This program has the C library loaded already.
inotify_simple._libc = CDLL(None, use_errno=True)

FULL_LOOK_SECONDS = 60.0
"""The most time between two looks at everything, and until the kernel is tried again where it could not be relied
on."""

WRITING_SECONDS = 10.0
"""How long a file that is open for writing is left alone: a writer that never closes it must not keep it out for
ever."""

_LOCAL_FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "ramfs"})
"""File systems on which every change passes through this kernel. On others (NFS, CIFS, 9p, FUSE, and overlay, whose
lower layers can be written to directly) a file may change without an inotify event."""

_OCTAL = re.compile(rb"\\([0-7]{3})")

_WATCHED = (
    flags.CREATE
    | flags.DELETE
    | flags.MODIFY
    | flags.ATTRIB
    | flags.CLOSE_WRITE
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.DELETE_SELF
    | flags.MOVE_SELF
    | flags.ONLYDIR
)
_READ_SIZE = 65_536
_WRITTEN = flags.CLOSE_WRITE | flags.MOVED_TO | flags.MOVED_FROM | flags.DELETE
_STRUCTURE = flags.ISDIR | flags.DELETE_SELF | flags.MOVE_SELF | flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT


class Watch:
    """The changes below one root. A look at everything is between `begin_look` and `end_look`; it gives `add` each
    directory before it lists it, so that no change falls between the two, and takes ``is_whole`` away where a change
    would not be reported.

    ``overdue`` are files that have been open for writing for longer than `WRITING_SECONDS`."""

    def __init__(self, directory: Path) -> None:
        self.is_whole = False
        self._directory = directory
        self._inotify: INotify | None = None
        self._process = 0
        self._root: tuple[int, int] | None = None
        self._table = b""
        self._directories: dict[int, str] = {}
        self._watched: set[str] = set()
        self._full_look_due = 0.0
        self._begin_due = 0.0
        self._is_asked_for_everything = False
        self._writing: dict[str, float] = {}  # since when, for each file that somebody has written to and not closed
        self.overdue: set[str] = set()

    def ask_for_everything(self) -> None:
        """Have the next look be at everything, whatever the kernel reports. May be called from any thread."""
        self._is_asked_for_everything = True

    @property
    def is_full_look_due(self) -> bool:
        """Whether everything is to be looked at now, whatever the kernel reports."""
        return self._inotify is None or self._is_asked_for_everything or time.monotonic() >= self._full_look_due

    def moved(self) -> set[str]:
        """Return the names of the files that have changed since the last call, as far as the kernel has reported any.
        Waits for nothing.

        Everything is to be looked at where a directory has come, gone or moved, where another one has taken the root's
        place, where anything was mounted, and after a fork, when the parent would get half of the events. A file that
        is being written (`is_held`) is named when it is closed, or overdue.
        """
        if self._inotify is None:
            return set()
        is_another = self._process != os.getpid() or device_and_inode(self._directory) != self._root
        names = None if is_another or mount_table() != self._table else self._reported()
        if names is None:
            self.close()
            names = set()
        now = time.monotonic()
        late = {name for name, since in self._writing.items() if now - since > WRITING_SECONDS} - self.overdue
        self.overdue |= late
        return {name for name in names if not self.is_held(name)} | late

    def is_held(self, name: str) -> bool:
        """Return whether a file is half written, as far as the kernel has reported: somebody has written to it and has
        not closed it."""
        return name in self._writing and name not in self.overdue

    def begin_look(self) -> None:
        """Begin a look at everything."""
        if self._is_asked_for_everything:
            self._is_asked_for_everything, self._begin_due = False, 0.0
        now = time.monotonic()
        if self._inotify is None and now >= self._begin_due:
            self._open()
            self._begin_due = now + FULL_LOOK_SECONDS
        self._full_look_due = now + FULL_LOOK_SECONDS
        self.is_whole = self._inotify is not None
        if not self.is_whole:
            self._forget_writing()

    def end_look(self) -> None:
        """End a look: the kernel is relied on only if it reports every change."""
        if not self.is_whole:
            self._end()
            self._forget_writing()

    def add(self, name: str) -> None:
        """Watch another directory, by its name below the root (empty: the root)."""
        # A directory that is watched already was not replaced: that would be an event about everything.
        if self._inotify is None or name in self._watched:
            return
        try:
            self._directories[self._inotify.add_watch(f"{self._directory}/{name}", _WATCHED)] = name
        except OSError:  # gone again, not readable, or there are too many
            self.is_whole = False
        else:
            self._watched.add(name)

    def close(self) -> None:
        """Stop watching, until the next look at everything."""
        self._end()
        self._begin_due = 0.0

    def _end(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
        self._inotify = None
        self._directories, self._watched = {}, set()

    def _forget_writing(self) -> None:
        """Hold no file any more: nobody would report that it is closed."""
        self._writing.clear()
        self.overdue.clear()

    def _open(self) -> None:
        root, table = device_and_inode(self._directory), mount_table()
        is_local = _file_system_of(self._directory, table) in _LOCAL_FILE_SYSTEMS
        if root is None or not is_local or mounts_below(self._directory):
            return
        try:
            self._inotify = INotify(nonblocking=True)
        except OSError:
            return
        self._root, self._table, self._process = root, table, os.getpid()

    def _reported(self) -> set[str] | None:
        """Return the names of files that were reported; None where everything is to be looked at."""
        names: set[str] = set()
        is_any = False
        for event in self._events():
            directory = self._directories.get(event.wd)
            # A name with two dots is how a Kubernetes volume swaps all its files at once.
            if directory is None or event.mask & _STRUCTURE or event.name.startswith(".."):
                is_any = True
            elif event.name:
                name = f"{directory}/{event.name}" if directory else event.name
                names.add(name)
                self._note_writing(name, event.mask)
        return None if is_any else names

    def _note_writing(self, name: str, mask: int) -> None:
        # A new file is open where it is empty; one that has content may be a link, which nobody closes.
        if mask & flags.MODIFY or (mask & flags.CREATE and _is_empty(f"{self._directory}/{name}")):
            self._writing.setdefault(name, time.monotonic())
        elif mask & _WRITTEN:
            self._writing.pop(name, None)
            self.overdue.discard(name)

    def _events(self) -> Iterator[inotify_simple.Event]:
        # Read by hand: INotify.read uses poll, which gevent has monkey-patched.
        while self._inotify is not None:
            try:
                data = os.read(self._inotify.fileno(), _READ_SIZE)
            except BlockingIOError:
                return
            yield from parse_events(data)


def _is_empty(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and not status.st_size


def device_and_inode(directory: Path) -> tuple[int, int] | None:
    """Return the device and inode of a directory, links followed; None where it cannot be reached."""
    try:
        status = directory.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def mount_table() -> bytes:
    """Return the table of mounts as the kernel writes it, in a microsecond; empty where there is none."""
    try:
        with open("/proc/self/mountinfo", "rb") as table:
            return table.read()
    except OSError:
        return b""


def mounts_below(directory: Path) -> set[str]:
    """Return the mount points below a directory, as names relative to it."""
    root = os.path.realpath(directory).rstrip("/") + "/"
    return {point.removeprefix(root) for point, _ in _mounts(mount_table()) if point.startswith(root)} - {""}


def _file_system_of(directory: Path, table: bytes) -> str:
    """Return the type of the file system of a directory; empty where that is not known."""
    target, longest, found = os.path.realpath(directory) + "/", 0, ""
    for point, kind in _mounts(table):
        # Of two mounts on one point the later one covers the earlier.
        if target.startswith(point.rstrip("/") + "/") and len(point) >= longest:
            longest, found = len(point), kind
    return found


def _mounts(table: bytes) -> Iterator[tuple[str, str]]:
    """Yield the mount points, and the type of the file system of each (proc(5))."""
    for line in table.splitlines():
        before, _, after = line.partition(b" - ")
        # Blanks, tabs, line ends and backslashes are octal numbers; all else is the bytes of the name.
        point = _OCTAL.sub(lambda octal: bytes([int(octal[1], 8)]), before.split()[4])
        yield os.fsdecode(point), after.split()[0].decode("ascii", "replace")
