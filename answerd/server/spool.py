"""A request's body that may be large: kept in memory while it is small, then in a file that has no name.

Knows how to collect bytes and hand them out once. Must not know HTTP, nor how large a body may be.
"""

from __future__ import annotations

import mmap
import tempfile
from typing import IO

SPOOL_ABOVE = 1_048_576
"""Bytes of a body that are kept in memory; a larger body goes to a file, which the kernel may keep in its page
cache."""

Content = bytes | mmap.mmap
"""A whole body."""


class Spool:
    """A body as it arrives: add to it with `extend`, as to a bytearray. ``len`` is the number of bytes in memory."""

    __slots__ = ("_file", "_memory")

    def __init__(self) -> None:
        self._memory = bytearray()
        self._file: IO[bytes] | None = None

    def extend(self, data: bytes) -> None:
        """Add bytes that have arrived."""
        if self._file is not None:
            self._file.write(data)
            return
        self._memory += data
        if len(self._memory) > SPOOL_ABOVE:
            self._file = tempfile.TemporaryFile(prefix="answerd-")  # noqa: SIM115 - it is closed with this object
            self._file.write(self._memory)
            self._memory = bytearray()

    def __len__(self) -> int:
        return len(self._memory)

    def clear(self) -> None:
        """Drop all bytes that have arrived."""
        self._memory.clear()
        self._file = None

    def content(self) -> Content:
        """Return the whole body. Nothing is to be added any more."""
        if self._file is None:
            return bytes(self._memory)
        self._file.flush()
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
