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
from typing import Any, TypeVar, cast

from gevent import get_hub
from gevent.lock import RLock
from gevent.threadpool import ThreadPool

from answerd.answers.catalogue import Catalogue
from answerd.inventory.records import no_pause
from answerd.server import gc_tuning
from answerd.store import Changes, StoreError
from answerd.store.loader import Loader

_T = TypeVar("_T")


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


def in_thread(function: Callable[..., _T], *arguments: Any) -> _T:
    """Run a function that waits for a disk in a native thread of gevent's pool, so that the hub goes on answering.
    Raises what ``function`` raises.
    """
    return in_pool(get_hub().threadpool, function, *arguments)


def in_pool(pool: ThreadPool, function: Callable[..., _T], *arguments: Any) -> _T:
    """Run a function in a thread of a pool. Raises what it raises.

    The exception is passed as a value: otherwise gevent would print a traceback four times a second while the store is
    unreadable.
    """

    def run() -> tuple[_T | None, Exception | None]:
        try:
            return function(*arguments), None
        except Exception as error:
            return None, error

    result, error = pool.apply(run)
    if error is not None:
        try:
            raise error
        finally:
            del error  # or it and this frame would refer to each other: a cycle
    return cast(_T, result)


def release_gradually(objects: list[Any], pause: Callable[[], None]) -> None:
    """Empty a list, object by object: where it has the last references, that takes milliseconds for 10,000
    documents."""
    while objects:
        objects.pop()
        pause()


class LiveAnswerSet:
    """The answer set of one process, kept up to date: the only place where its loader looks and takes.

    Made in the worker, after forking. ``lock`` is held while the set changes; readers never take it.
    """

    def __init__(
        self,
        loader: Loader,
        generation: WriteCounter,
        pause: Callable[[], None] = no_pause,
        run: Callable[..., Any] = in_thread,
    ) -> None:
        """``pause`` is called between slices of a longer load, so that requests are answered in between; ``run`` runs
        functions that wait for the store."""
        self.loader = loader
        self._run = run
        self.lock = RLock()
        self._generation = generation
        self._pause = pause
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
                changes: Changes | None = self._run(self.loader.poll)
            if changes is not None:
                self.loader.apply(changes, self._pause)
            self._seen = seen
            return changes is not None

    def replace(self, catalogue: Catalogue) -> None:
        """Put a set in force that this process has written to the store itself, and announce it to the others.

        Called with ``lock`` held, after the commit and without yielding in between.
        """
        self.loader.catalogue = catalogue
        self._seen = self._generation.bump()
