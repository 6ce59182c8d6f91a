"""The installs' data that all processes of the service share, made once, before forking. Rules:
docs/install-once.md#where-states-are-kept. Knows the clock, the revisions by which processes announce their commits to
each other, and the notes that a killed service has left.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Sequence

from answerd.config import Config
from answerd.store import StoreError
from answerd.store.given_notes import GivenNotes
from answerd.store.install_batch import PendingEvent
from answerd.store.installs import InstallStore
from answerd.store.opening import install_rules

MOST_AT_ONCE = 2_000
"""Events of one batch: a transaction of about 50 ms."""


class Commits:
    """A number for each process of the service, in memory that they share: the last revision that it committed.

    Made once, before forking. Each process writes its own number only, so that none can overwrite another's.
    """

    def __init__(self, processes: int) -> None:
        self.cells = memoryview(mmap.mmap(-1, 8 * max(1, processes)))
        """All numbers, to be compared with the result of `all`: every request does that."""
        self._numbers = self.cells.cast("q")
        self._own = 0

    def attach(self, process: int) -> None:
        """Write the number of this process from now on."""
        self._own = process

    @property
    def own(self) -> int:
        """The number of this process."""
        return self._numbers[self._own]

    def announce(self, revision: int) -> None:
        """Publish that a revision is committed."""
        self._numbers[self._own] = revision

    def all(self) -> bytearray:
        """Return all numbers as they are now."""
        return bytearray(self.cells)

    def copy_own(self, numbers: bytearray) -> None:
        """Copy the number of this process into the result of `all`."""
        at = 8 * self._own
        numbers[at : at + 8] = self.cells[at : at + 8]


class SharedInstalls:
    """The installs' data that all processes of the service share; made once, before forking."""

    def __init__(self, store: InstallStore, config: Config) -> None:
        self.store = store
        self.rules = install_rules(config)
        # One each for the workers, the process of the admin API, and the interim worker; the replicator gives nothing.
        processes = config.workers + 2
        self.commits = Commits(processes + 1)
        self.notes = GivenNotes(store.path, processes, store.mark)
        left = self.notes.left()
        self.url = config.url
        self.own_url = config.own_url
        self.scheme = "http" if config.tls_cert is None else "https"
        # A clock that no other program sets: time never goes back, and never jumps while the service runs.
        newest = max((store.newest, *(entry.event.at for entry in left)))
        self._clock_offset = max(time.time(), newest) - _running()
        self._write_left(left)

    def now(self) -> float:
        """Return the time, in seconds since 1970."""
        return self._clock_offset + time.clock_gettime(time.CLOCK_BOOTTIME)

    def _write_left(self, left: Sequence[PendingEvent]) -> None:
        """Write the events that a killed service has noted and not written."""
        try:
            for start in range(0, len(left), MOST_AT_ONCE):
                self.store.write(left[start : start + MOST_AT_ONCE], self.rules)
        except StoreError:
            return  # each process takes over its own part
        self.notes.clear()


def _running() -> float:
    """Return a monotonic time that is the same in all processes of this machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
