"""Make a write by one worker visible to the next request of every worker.

Rules: docs/admin-api.md#what-a-write-guarantees.

Knows one number in memory that forked processes share, and the loader of its own process. Must not know requests, nor
the content of a write.

With polling alone, a worker could answer for a quarter of a second from the state before an acknowledged write. So the
process that commits a write raises the `WriteCounter`, and every request compares it (80 ns) with the number that its
process has loaded: only where they differ does it wait for the store.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

from gevent.lock import RLock

from answerd.answers.catalogue import Catalogue
from answerd.server import gc_tuning
from answerd.server.threads import in_thread
from answerd.store import StoreError
from answerd.store.loader import Loader


class WriteCounter:
    """A counter shared by the processes of one service. Made once, before forking; raised by one process only."""

    def __init__(self) -> None:
        self._cell = memoryview(mmap.mmap(-1, 8)).cast("q")

    @property
    def value(self) -> int:
        """The number of writes announced so far."""
        return self._cell[0]

    def bump(self) -> int:
        """Announce a write that is committed; return the new value. Called in one process only: that of the admin
        listener."""
        self._cell[0] += 1
        return self._cell[0]


class LiveAnswerSet:
    """The answer set of one process, kept up to date: the only place where its loader looks and takes.

    Made in the worker, after forking. ``lock`` is held while the set changes; readers never take it.
    """

    def __init__(
        self,
        loader: Loader,
        generation: WriteCounter,
        run: Callable[..., Any] = in_thread,
    ) -> None:
        """``run`` runs what waits for the store, and what builds the next set, beside the loop."""
        self.loader = loader
        self._run = run
        self.lock = RLock()
        self._generation = generation
        self._seen = -1  # nothing: the set that was loaded before forking may be older than a write since

    def current(self) -> Catalogue:
        """Return the answer set for a request: it includes every write that was acknowledged before.

        When the store cannot be read at that moment, the loaded set stays in force; `refresh`, which the service calls
        regularly, reports the reason.
        """
        if self._seen != self._generation.value:
            try:
                self.refresh()
            except StoreError:
                self._seen = self._generation.value
        return self.loader.catalogue

    def refresh(self) -> bool:
        """Bring the set up to date with the store; return whether anything changed. Raises
        `answerd.store.StoreError`."""
        with self.lock:
            seen = self._generation.value
            with gc_tuning.gc_paused():
                has_changed: bool = self._run(self.loader.refresh)
            self._seen = seen
            return has_changed

    def replace(self, catalogue: Catalogue) -> None:
        """Put a set in force that this process has written to the store itself, and announce it to the others.

        Called with ``lock`` held, after the commit and without yielding in between.
        """
        self.loader.catalogue = catalogue
        self._seen = self._generation.bump()
