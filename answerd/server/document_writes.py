"""Writes of documents by the service: each is one function of the write guard in the one thread that writes.

Requests wait for their turn in the order in which they came, until their response is due. A write whose client has gone
meanwhile is made all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

from answerd.answers.last_words import WordsKnown, no_words
from answerd.answers.problems import ProblemIndex
from answerd.server.answer_set import SetFollower
from answerd.server.os_support import gc_paused
from answerd.server.threads import Lock, OneThread, TooLate
from answerd.store import StoreAway
from answerd.write_guard import NOT_BEGUN, Times, WriteGuard

_T = TypeVar("_T")

InThread = Callable[..., Any]
"""As `OneThread`."""


class DocumentWrites:
    """The write guard of a service. One object in the process with the admin listener, made after forking."""

    def __init__(
        self,
        follower: SetFollower,
        thread: InThread | None = None,
        words: WordsKnown = no_words,
        log: Callable[[str], object] = print,
    ) -> None:
        """``follower`` follows the store that is written. ``thread`` is another one than the writes' own. ``words`` and
        ``log`` are as for `WriteGuard`."""
        self.store = follower.loader.store
        self.follower = follower
        self.guard = WriteGuard(self.store, follower, lambda makes_many: gc_paused(makes_many=makes_many), words, log)
        self._thread = thread or OneThread()
        self._one_dry_run = Lock()

    def make(self, times: Times, write: Callable[..., _T], *arguments: Any) -> _T:
        """Call a function with some arguments and ``times`` when it is its turn. Raises what it raises, and
        `answerd.store.StoreError` where the turn did not come in time."""
        try:
            made: _T = self._thread(times.begin_by, write, *arguments, times)
        except TooLate:
            raise self.guard.late_error(NOT_BEGUN) from None
        return made

    def warm_up(self, problems: ProblemIndex | None) -> None:
        """See `WriteGuard.warm_up`."""
        self._thread(math.inf, self.guard.warm_up, problems)

    @contextmanager
    def dry_run(self, until: float) -> Iterator[None]:
        """Wait for the dry runs before this one: each may take much memory. Raises `StoreAway` where they take
        ``until`` a moment of the monotonic clock."""
        if not self._one_dry_run.acquire(timeout=None if until == math.inf else max(0.0, until - monotonic())):
            raise StoreAway("the dry runs before this one took until its time was up")
        try:
            yield
        finally:
            self._one_dry_run.release()
