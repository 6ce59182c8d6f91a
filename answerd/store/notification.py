"""Find the files of a directory tree that may have changed, according to the kernel (inotify).

A hint that avoids looking at 100,000 files four times a second; its user reads the files, and decides whether a change
has settled. Where the kernel cannot be relied on (a network file system, a mount below the root, symbolic links, no
watches left) there is no `Watch`, and the user looks at everything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from ctypes import CDLL
from pathlib import Path
from typing import Self

import inotify_simple
from inotify_simple import INotify, flags, parse_events

from answerd.store.mounts import Mounts, read_table

# Left to itself inotify_simple finds the C library with a subprocess, at its first use; a thread under gevent, where
# the store is looked at, can start none. This program has the C library loaded already.
inotify_simple._libc = CDLL(None, use_errno=True)

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
_WATCHED_OF_A_FILE = flags.MODIFY | flags.ATTRIB | flags.CLOSE_WRITE | flags.DONT_FOLLOW
_READ_SIZE = 65_536
_STRUCTURE = flags.ISDIR | flags.DELETE_SELF | flags.MOVE_SELF | flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT


class Watch:
    """An inotify watch on the directories of one root, and on single files in them. Valid only in the process that made
    it.

    ``is_whole``: every directory, and every file of several names, that it was asked to watch is watched.
    """

    def __init__(self, directory: Path, root: tuple[int, int], table: bytes) -> None:
        """``root`` is the device and inode of the directory, ``table`` the mount table with which this began. Raises
        OSError when the kernel gives no inotify."""
        self.is_whole = True
        self._directory = directory
        self._root = root
        self._table = table
        self._process = os.getpid()
        self._inotify = INotify(nonblocking=True)
        self._directories: dict[int, str] = {}
        self._watched: set[str] = set()
        self._files: dict[int, set[str]] = {}

    @classmethod
    def begin(cls, directory: Path) -> Self | None:
        """Return a watch that still has to be given every directory; None where the kernel would not report all."""
        root, table = device_and_inode(directory), read_table()
        mounts = Mounts.of(table)
        if root is None or not mounts.is_local(str(directory)) or mounts.below(str(directory)):
            return None
        try:
            return cls(directory, root, table)
        except OSError:
            return None

    def add(self, name: str) -> bool:
        """Watch another directory, by its name below the root (empty: the root); return whether that worked."""
        # A directory that is watched already was not replaced: that would be an event about everything.
        if name not in self._watched:
            try:
                self._directories[self._inotify.add_watch(f"{self._directory}/{name}", _WATCHED)] = name
            except OSError:  # gone again, not readable, or there are too many
                return False
            self._watched.add(name)
        return True

    def add_file(self, name: str) -> bool:
        """Watch a file of several names (hard links): a write through a name elsewhere shows only here. Return whether
        none of its names was watched yet."""
        try:
            number = self._inotify.add_watch(f"{self._directory}/{name}", _WATCHED_OF_A_FILE)
        except OSError:
            self.is_whole = False
            return False
        is_new = number not in self._files
        self._files.setdefault(number, set()).add(name)
        return is_new

    def moved(self) -> set[str] | None:
        """Return the names of the files that may have changed since the last call, None where that may be any. Waits
        for nothing.

        Any: where another directory has taken the root's place, where something was mounted below it, and after a fork,
        when the parent would get half of the events.
        """
        if self._process != os.getpid() or device_and_inode(self._directory) != self._root or self._is_mounted_on():
            return None
        return self._reported()

    def _reported(self) -> set[str] | None:
        names: set[str] = set()
        is_any = False
        for event in self._events():
            files = self._files.get(event.wd)
            if files is not None and not event.mask & flags.Q_OVERFLOW:
                names |= files
                if event.mask & flags.IGNORED:  # the file is gone, and the kernel may use the number again
                    del self._files[event.wd]
                continue
            directory = self._directories.get(event.wd)
            # A name with two dots is how a Kubernetes volume swaps all its files at once.
            if directory is None or event.mask & _STRUCTURE or event.name.startswith(".."):
                is_any = True
            elif event.name:
                names.add(f"{directory}/{event.name}" if directory else event.name)
        return None if is_any else names

    def _events(self) -> Iterator[inotify_simple.Event]:
        # Read by hand: INotify.read uses poll, which gevent has monkey-patched.
        while True:
            try:
                data = os.read(self._inotify.fileno(), _READ_SIZE)
            except BlockingIOError:
                return
            yield from parse_events(data)

    def _is_mounted_on(self) -> bool:
        """Return whether anything is mounted below the root by now. The kernel writes a mount in a microsecond."""
        table = read_table()
        if table == self._table:
            return False
        self._table = table
        return bool(Mounts.of(table).below(str(self._directory)))

    def close(self) -> None:
        """Stop watching."""
        self._inotify.close()


def device_and_inode(directory: Path) -> tuple[int, int] | None:
    """Return the device and inode of a directory, links followed; None where it cannot be reached."""
    try:
        status = directory.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
