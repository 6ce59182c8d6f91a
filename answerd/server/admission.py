"""Admission: how many connections are in flight over all workers, how much memory they hold, and the limits of both."""

from __future__ import annotations

import math
import resource
from dataclasses import dataclass
from typing import Final

from answerd.server.cells import Cell, Cells

SHARE: Final = 65_536
"""Bytes of bodies for each connection of the limit, and the same of answers. A body of that size is never refused for
lack of memory."""

LEAST_FOR_BODIES: Final = 1_048_576
LEAST_FOR_ANSWERS: Final = 8_388_608
"""One body and one answer of the largest size always fit, however low the limit of connections is."""

RESERVED: Final = 64
"""Places for reports where the limit of connections is reached, over all workers."""

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


ADMISSION: Final[tuple[Cell, ...]] = (("connections",), ("reserved",), ("bodies",), ("answers",))
"""What `Admission` counts in memory that the processes share."""


class SharedCount:
    """A number that each worker has a part of, with a limit on the sum.

    A worker reads all parts, which takes 0.3 µs. Two workers that read at the same instant can both take the last
    place, so the sum can exceed the limit by at most the number of workers less one.
    """

    def __init__(self, limit: int, cells: Cells, name: Cell) -> None:
        self.limit = limit
        self._cells = cells
        self._at = cells.index[name]
        self._parts = cells.everywhere(*name)

    def add(self, number: int) -> None:
        """Add to this worker's part, whatever the limit is; negative to subtract."""
        self._cells.own[self._at] += number

    def take(self) -> bool:
        """Add one unless the limit is reached; return whether that was done."""
        if sum(self._parts) >= self.limit:
            return False
        self._cells.own[self._at] += 1
        return True

    @property
    def total(self) -> int:
        """The sum over all workers."""
        return sum(self._parts)

    @property
    def exceeded(self) -> bool:
        """Whether the limit is exceeded."""
        return sum(self._parts) > self.limit


class Admission:
    """What the connections of one listener may take, over all workers: places, and memory in bytes.

    ``connections``: places of connections in flight. ``reserved``: further places, for requests that are never shed.
    ``bodies``, ``answers``: bytes of bodies that arrive, and of answers that wait to be read.
    """

    def __init__(self, limit: int, cells: Cells | None = None, *, bodies: int = LEAST_FOR_BODIES) -> None:
        """``limit``: connections in flight over all workers. ``cells``: where they are counted, which has `ADMISSION`;
        None for a listener of one process. ``bodies``: bytes that bodies may hold, however low the limit is."""
        cells = Cells(ADMISSION) if cells is None else cells
        limits = (limit, RESERVED, max(limit * SHARE, bodies), max(limit * SHARE, LEAST_FOR_ANSWERS))
        self.connections, self.reserved, self.bodies, self.answers = (
            SharedCount(most, cells, name) for most, name in zip(limits, ADMISSION, strict=True)
        )

    def in_flight(self) -> int:
        """Connections in flight over all workers."""
        return self.connections.total + self.reserved.total


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
