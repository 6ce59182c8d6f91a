"""Return freed memory to the system.

glibc keeps memory that is freed between two blocks in use, and an arena for each thread. After thousands of bodies at a
time, or documents of megabytes, that is most of the memory they took, and it is kept until the process ends. So large
blocks are mapped separately, all threads share one arena (the interpreter's lock lets only one of them run anyway), and
``malloc_trim`` returns the rest from time to time.

Knows how much memory this process has. Must not know its use. Without glibc it does nothing.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable

MOVED_BYTES = 16_777_216
"""A trim is worth its time once memory has changed by this much since the last trim."""

STEADY_BYTES = 1_048_576
"""Memory that has changed by no more than this since the last poll is steady: it is not needed again immediately."""

POLL_SECONDS = 1.0

AGAIN_POLLS = 12
"""Polls after a trim, by which the connections of that moment have ended (SERVICE_TIMEOUT_SECS is 10 by default)."""

_SETTINGS = {
    -8: 1,  # M_ARENA_MAX
    -3: 262_144,  # M_MMAP_THRESHOLD: bytes from which a block is mapped separately. By default it grows up to 32 MB
    -1: 16_777_216,  # M_TRIM_THRESHOLD: free bytes at the heap's end that are kept for the next requests
}
"""Options for ``mallopt``: the numbers are those of glibc's ``malloc.h``."""

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Return the resident memory of this process, including shared pages."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE_BYTES


def configure() -> None:
    """Set up the allocator. To be called before the first thread is started."""
    _call_all("mallopt", _SETTINGS.items())


def trim() -> None:
    """Return free memory to the system. Takes some 10 ms for 100 MB, in which other threads may have to wait."""
    _call_all("malloc_trim", [(0,)])


def _call_all(name: str, calls: Iterable[tuple[int, ...]]) -> None:
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        for arguments in calls:
            function(*arguments)


class Trimmer:
    """Decides when to trim. To be called about once in `POLL_SECONDS`.

    Memory that is freed inside of the heap does not show: after a trim at the height of a load, the process looks as
    large as then for ever. So it is trimmed once more, `AGAIN_POLLS` later, where it is still larger than it was; what
    is left by that is in use.
    """

    def __init__(self, trim: Callable[[], None] = trim, resident: Callable[[], int] = resident_bytes) -> None:
        self._trim = trim
        self._resident = resident
        self._trimmed_at = self._last = self._in_use = resident()
        self._polls = 0

    def poll(self) -> bool:
        """Trim where memory has changed much since the last trim and is steady now, or may have been freed since;
        return whether it did."""
        now, last = self._resident(), self._last
        self._last = now
        self._polls += 1
        has_moved = abs(now - self._trimmed_at) >= MOVED_BYTES
        is_due = self._polls > AGAIN_POLLS and now - self._in_use >= MOVED_BYTES
        if abs(now - last) > STEADY_BYTES or not (has_moved or is_due):
            return False
        self._trim()
        self._polls = 0
        after = self._trimmed_at = self._last = self._resident()
        is_all_in_use = is_due and now - after < MOVED_BYTES
        self._in_use = after if is_all_in_use else min(self._in_use, after)
        return True
