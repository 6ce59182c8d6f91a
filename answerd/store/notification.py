"""Which files of a directory tree may have changed, as the kernel tells it (inotify).

A hint that saves looking at 100,000 files four times a second; what a file holds, and whether it has settled, its user
finds out. Where the kernel cannot be relied on (a network file system, symbolic links, no watches left) there is no
`Notifier`, and the user looks at everything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from ctypes import CDLL
from dataclasses import dataclass, field
from pathlib import Path

import inotify_simple
from inotify_simple import INotify, flags, parse_events

# Left to itself inotify_simple finds the C library with a subprocess, at its first use; a thread under gevent, where
# the store is looked at, can start none. This program has the C library loaded already.
inotify_simple._libc = CDLL(None, use_errno=True)

LOCAL_FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "ramfs", "overlay"})
"""Where every change passes through this kernel. On others (NFS, CIFS, 9p, FUSE) another machine may write unseen."""

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
_STRUCTURE = flags.ISDIR | flags.DELETE_SELF | flags.MOVE_SELF | flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT


@dataclass(slots=True)
class Hints:
    """What may have changed: the files in ``names``, relative to the root, or ``everything``."""

    names: set[str] = field(default_factory=set)
    everything: bool = False


class Notifier:
    """Watches directories below one root."""

    def __init__(self, root: Path) -> None:
        """Raises OSError when the kernel gives no inotify."""
        self.root = root
        self._inotify = INotify(nonblocking=True)
        self._watched: dict[int, str] = {}

    def watch(self, names: Iterable[str]) -> None:
        """Watch directories, by names below the root (empty: the root). Raises OSError where there are too many."""
        for name in names:
            self._watched[self._inotify.add_watch(self.root / name, _WATCHED)] = name

    def hints(self) -> Hints:
        """What may have changed since the last call; waits for nothing."""
        hints = Hints()
        for event in self._events():
            directory = self._watched.get(event.wd)
            # A name with two dots is how a Kubernetes volume swaps all its files at once.
            if directory is None or event.mask & _STRUCTURE or event.name.startswith(".."):
                hints.everything = True
            elif event.name:
                hints.names.add(f"{directory}/{event.name}" if directory else event.name)
        return hints

    def _events(self) -> Iterator[inotify_simple.Event]:
        # Read by hand: INotify.read waits with poll, which gevent has put its own in the place of.
        while True:
            try:
                data = os.read(self._inotify.fileno(), _READ_SIZE)
            except BlockingIOError:
                return
            yield from parse_events(data)

    def close(self) -> None:
        """Watch nothing any more."""
        self._inotify.close()


def is_local(directory: Path) -> bool:
    """Whether every change below ``directory`` passes through this kernel, as far as the mount table tells."""
    try:
        target = os.path.realpath(directory)
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
            mounts = [_mount(line) for line in table]
    except OSError:
        return False
    holding = [one for one in mounts if target == one[0] or target.startswith(one[0].rstrip("/") + "/")]
    return bool(holding) and max(holding, key=lambda one: len(one[0]))[1] in LOCAL_FILE_SYSTEMS


def _mount(line: str) -> tuple[str, str]:
    """Mount point and file system type of a line of ``/proc/self/mountinfo`` (proc(5))."""
    before, _, after = line.partition(" - ")
    return before.split()[4].encode().decode("unicode_escape"), after.split()[0]
