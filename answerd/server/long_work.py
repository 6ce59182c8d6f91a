"""Long work beside the loop: reading a large document, merging a large answer.

The interpreter switches between threads every half millisecond (`answerd.server.service.SWITCH_SECONDS`), so Python
code in a thread delays a request by no more than that, however long it takes. There is one thread, so that only one
piece of such work competes with the loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar, cast

from gevent.lock import BoundedSemaphore
from gevent.monkey import get_original
from gevent.threadpool import ThreadPool

from answerd.server import gc_tuning
from answerd.server.http.responses import Client

waiting_client: ContextVar[Client | None] = ContextVar("waiting_client", default=None)
"""The client that waits for the work of the current greenlet. None: the work is never dropped."""

_T = TypeVar("_T")
_thread_now: Callable[[], int] = get_original("_thread", "get_ident")  # gevent's version identifies greenlets


class TooLate(Exception):
    """The thread was not free before the client's deadline: the work was dropped."""


class LongWork:
    """Runs work in a thread of its own while the caller's greenlet waits, once `begin` was called in this process.

    Before that, and for a caller in another thread than the loop, the work is done in the caller's thread.
    """

    def __init__(self) -> None:
        self._pool: ThreadPool | None = None
        self._loop_thread = 0

    def begin(self) -> None:
        """Use the thread from now on: this process has a loop. Called after forking."""
        self._loop_thread = _thread_now()
        self._pool = ThreadPool(1)
        self._turn = BoundedSemaphore(1)

    def __call__(self, work: Callable[[], _T]) -> _T:
        """Return what ``work`` returns, or raise what it raises.

        Raises `TooLate` where other work occupies the thread until the client no longer waits.
        """
        if self._pool is None or _thread_now() != self._loop_thread:
            return work()

        def run() -> tuple[_T | None, Exception | None]:
            try:
                with gc_tuning.gc_paused():
                    return work(), None
            except Exception as error:  # passed as a value: gevent prints whatever leaves a thread
                return None, error

        client = waiting_client.get()
        timeout = None if client is None else max(0.0, client.respond_by - time.monotonic())
        if not self._turn.acquire(timeout=timeout):
            raise TooLate
        try:
            result, error = self._pool.apply(run)
        finally:
            self._turn.release()
        if error is not None:
            try:
                raise error
            finally:
                del error  # or it and this frame would refer to each other: a cycle
        return cast(_T, result)
