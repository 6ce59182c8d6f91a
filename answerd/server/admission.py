"""Admission: how many connections are in flight over all workers, how much memory they hold, and the limits of both.

Knows shared counters of each worker and the limits on their sums. Must not know what a connection is or which process
forks.
"""

from __future__ import annotations

import math
import mmap
import resource
from dataclasses import dataclass
from typing import Final

_REGION_BYTES: Final = 8
SHARE: Final = 65_536
"""Bytes of bodies for each connection of the limit, and the same of answers. A body of that size is never refused for
lack of memory."""

LEAST_FOR_BODIES: Final = 1_048_576
LEAST_FOR_ANSWERS: Final = 8_388_608
"""One body and one answer of the largest size always fit, however low the limit of connections is."""

_UNLIMITED_FILES: Final = 1_048_576  # requested where the hard limit is "unlimited": the kernel's usual fs.nr_open

FILES_BESIDE_CONNECTIONS: Final = 64
"""File descriptors reserved for the store, the log, libraries and the event loop."""

LINGERING: Final = 16_384
"""Connections of a listener that have been answered and still send."""

LINGERING_SHARE_OF_FILES: Final = 4
"""Where few files may be open, one in this many is reserved for those."""

ADMIN_CONNECTIONS: Final = 256
"""Connections in flight that the admin API admits, beside those of the answer endpoint: for tools, not for machines."""

LEAST_ADMIN_CONNECTIONS: Final = 8
ADMIN_SHARE_OF_FILES: Final = 16
"""Where few files may be open, the admin API admits one connection for this many of them."""


@dataclass(frozen=True)
class Descriptors:
    """The division of a process's file descriptors, so that each kind of client has its own share.

    ``answers``: connections to the answer endpoint, over all workers. ``lingering``: those of one worker that have been
    answered and still send. ``admin``: connections to the admin API; as many may linger. ``warning``: empty, or why
    fewer answers are admitted than configured.
    """

    answers: int
    lingering: int
    admin: int
    warning: str


def divide(files: int, max_connections: int, workers: int) -> Descriptors:
    """``files``: descriptors that a process may open; ``max_connections``: what is configured for all workers."""
    admin = min(ADMIN_CONNECTIONS, max(LEAST_ADMIN_CONNECTIONS, files // ADMIN_SHARE_OF_FILES))
    left = max(2, files - FILES_BESIDE_CONNECTIONS)
    possible = (left - left // LINGERING_SHARE_OF_FILES) * workers
    answers = min(max_connections, possible)
    lingering = max(1, min(LINGERING, left - math.ceil(answers / workers)))
    warning = (
        f"SERVICE_MAX_CONNECTIONS={max_connections} is more than the limit of open files ({files}) allows: "
        f"{answers} are admitted"
    )
    return Descriptors(answers, lingering, admin, warning if answers < max_connections else "")


class SharedBytes:
    """Bytes that the connections of all workers hold, with a limit. Shared as the counts of `Admission` are."""

    def __init__(self, limit: int, workers: int) -> None:
        self.limit = limit
        self._regions = memoryview(mmap.mmap(-1, workers * _REGION_BYTES)).cast("q")
        self._worker = 0

    def attach(self, worker: int) -> None:
        """Count in this worker's region from now on."""
        self._worker = worker
        self._regions[worker] = 0

    def reset(self, worker: int) -> None:
        """Clear the count of a dead worker."""
        self._regions[worker] = 0

    def add(self, size: int) -> None:
        """Add to the count; negative to subtract."""
        self._regions[self._worker] += size

    @property
    def total(self) -> int:
        """Bytes held over all workers."""
        return sum(self._regions)

    @property
    def exceeded(self) -> bool:
        """Whether the limit is exceeded."""
        return sum(self._regions) > self.limit


class Admission:
    """Connections in flight with a limit, counted in memory that forked workers share.

    Made once, before forking. Each worker counts in a region of its own (no lock, no torn write) and reads all of them,
    which takes 0.3 µs. Two workers that read at the same instant can both take the last permit, so the sum can exceed
    the limit by at most the number of workers less one.
    """

    def __init__(self, limit: int, workers: int = 1) -> None:
        """``limit``: connections over all workers. The calling process counts as worker 0 until `attach`."""
        self.limit = limit
        self._regions = memoryview(mmap.mmap(-1, workers * _REGION_BYTES)).cast("q")
        self._worker = 0
        self.bodies = SharedBytes(max(limit * SHARE, LEAST_FOR_BODIES), workers)
        self.answers = SharedBytes(max(limit * SHARE, LEAST_FOR_ANSWERS), workers)

    def attach(self, worker: int) -> None:
        """Count in this worker's region from now on; called in the worker, which has no connection yet."""
        self._worker = worker
        self._regions[worker] = 0
        self.bodies.attach(worker)
        self.answers.attach(worker)

    def admit(self) -> bool:
        """Take a permit if there is one; return whether there was."""
        regions = self._regions
        if sum(regions) >= self.limit:
            return False
        regions[self._worker] += 1
        return True

    def readmit(self) -> None:
        """Take a permit in any case: for a connection that released its own too early."""
        self._regions[self._worker] += 1

    def release(self) -> None:
        """Release a permit."""
        self._regions[self._worker] -= 1

    def in_flight(self) -> int:
        """Connections in flight over all workers."""
        return sum(self._regions)

    def reset(self, worker: int) -> None:
        """Clear the count of a dead worker; called by the process that reaps it, before it is replaced."""
        self._regions[worker] = 0
        self.bodies.reset(worker)
        self.answers.reset(worker)


def raise_file_limit() -> int:
    """Raise the soft limit of open files to the hard one. Return the soft limit that is now in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _UNLIMITED_FILES if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):  # a container may forbid it: the current limit stays
            return soft
        return wanted
    return wanted if soft == resource.RLIM_INFINITY else soft
