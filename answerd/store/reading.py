"""Read one file: its signature, the limit of its size, and the files that are never opened."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from answerd.documents import LARGEST_DOCUMENT, LARGEST_INVENTORY, Key, NotText, RawDocument, decoded
from answerd.identity import Kind, printable
from answerd.store.mounts import KERNEL_DIRECTORIES, Mounts

Signature = tuple[int, int, int, int]
"""Size in bytes, times of the last change of content and of inode in nanoseconds, inode: equal means that a file is
unchanged. The inode's time cannot be set by a program, so ``cp -p`` over a file shows."""

_CLOCK_TICK_NANOSECONDS = 2_000_000_000
"""The coarsest time stamp of a file system in use (FAT): a file read sooner after its last change may have changed
again under the same stamp, so it is read once more."""

_READ_AT_ONCE = 65_536
"""Bytes that are asked for where a file should have ended. A block from 256 KB on would be mapped separately, in new
pages, for each of 100,000 files."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The places from which no document is read: ``/proc``, ``/sys`` and ``/dev``, by path and by device number. A file
    below the answers directory itself is never refused by its path: an operator may have named ``/dev/shm/answers``.
    """

    root: str
    root_device: int
    kernel_devices: frozenset[int]

    @classmethod
    def of(cls, root: Path, mounts: Mounts) -> Self:
        """Return the boundary of documents below ``root`` with these mounts."""
        try:
            device = root.stat().st_dev
        except OSError:
            device = -1
        return cls(os.path.realpath(root), device, mounts.kernel_devices())

    def link_fault(self, path: str) -> str | None:
        """Return why the target of a symbolic link is not read; None where it is."""
        target = os.path.realpath(path)
        if target.startswith(f"{self.root}/"):
            return None
        for directory in KERNEL_DIRECTORIES:
            if target == directory or target.startswith(f"{directory}/"):
                return f"it is a link into {directory}, from which nothing is read"
        return None

    def device_fault(self, device: int) -> str | None:
        """Return why a file or directory on this device (``st_dev``) is not read; None where it is."""
        if device != self.root_device and device in self.kernel_devices:
            return f"it is on a file system of {', '.join(KERNEL_DIRECTORIES)}, from which nothing is read"
        return None


def signature_of(status: os.stat_result) -> Signature | str:
    """Return a file's signature, or why it is never opened."""
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def is_settled(signature: Signature) -> bool:
    """Return whether a file's last change is so long ago that another change would show."""
    # In either direction: another machine's clock may be ahead, and a change from now on would not have its time.
    return abs(time.time_ns() - max(signature[1:3])) > _CLOCK_TICK_NANOSECONDS


def read_document(path: str, source: str, key: Key, boundary: Boundary) -> tuple[Signature | None, RawDocument]:
    """Read a file: its signature at that moment and its document; no signature when it could not be opened."""
    try:
        # Non-blocking, so that a file which has just been replaced by a pipe cannot hold the service up.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            status = os.fstat(file)
            opened = boundary.device_fault(status.st_dev) or signature_of(status)
            content = None if isinstance(opened, str) else _bounded(file, opened[0], largest(key))
            read = opened if isinstance(opened, str) else signature_of(os.fstat(file))  # after it: a write shows
        finally:
            os.close(file)
    except OSError as error:
        return None, unopened(key, source, error.strerror or str(error))
    if isinstance(read, str):
        return None, unopened(key, source, read)
    if content is None:
        return read, RawDocument(key, "", source, f"is larger than {largest(key):,} bytes ({printable(source)})")
    try:
        return read, RawDocument(key, decoded(key.kind, content), source)
    except NotText as error:
        return read, RawDocument(key, "", source, f"{error} ({printable(source)})", error.line)


def unopened(key: Key, source: str, reason: str) -> RawDocument:
    """Return the document of a file that cannot be opened."""
    return RawDocument(key, "", source, f"cannot be opened: {reason} ({printable(source)})")


def largest(key: Key) -> int:
    """Return how many bytes a document under this key may have, in any store."""
    return LARGEST_INVENTORY if key.kind is Kind.INVENTORY else LARGEST_DOCUMENT


def _bounded(file: int, size: int, most: int) -> bytes | None:
    """Return the content of a file of about ``size`` bytes; None when that is more than ``most``, then or by now."""
    if size > most:
        return None
    pieces = [os.read(file, size + 1)]
    if len(pieces[0]) == size:
        return pieces[0]
    left = most + 1 - len(pieces[0])
    while left > 0 and (piece := os.read(file, min(left, _READ_AT_ONCE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left > 0 else None
