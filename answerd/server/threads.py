"""Threads beside the loop: for what waits for a disk, and for long work.

The interpreter switches between threads every half millisecond (`answerd.server.os_support`), so Python code in a
thread delays a request by a few of these, however long it takes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import gevent
from gevent.lock import RLock
from gevent.monkey import get_original
from gevent.threadpool import ThreadPool

from answerd.server.http.responses import Client
from answerd.server.os_support import gc_paused

waiting_client: ContextVar[Client | None] = ContextVar("waiting_client", default=None)
"""The client that waits for the work of the current greenlet. None: the work is never dropped."""

_T = TypeVar("_T")
_Tried = tuple[_T | None, Exception | None]
_thread_now: Callable[[], int] = get_original("_thread", "get_ident")  # gevent's version identifies greenlets
native_lock: Callable[[], Any] = get_original("_thread", "allocate_lock")
"""A lock for threads. The loop must not wait for it."""


class Lock(RLock):
    """A lock for greenlets.

    On an overloaded machine gevent (26.9) was seen to wake a waiter while another one had the lock: an
    `AssertionError` in the waiter, which leaves the lock as it is. The waiter waits again.
    """

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        while True:
            try:
                return bool(super().acquire(blocking, timeout))
            except AssertionError:
                pass


def in_thread(function: Callable[..., _T], *arguments: Any) -> _T:
    """Run a function in a thread of gevent's pool, so that the loop goes on. Raises what ``function`` raises."""
    return in_pool(gevent.get_hub().threadpool, function, *arguments)


def in_pool(pool: ThreadPool, function: Callable[..., _T], *arguments: Any) -> _T:
    """Run a function in a thread of a pool. Raises what it raises.

    The exception is passed as a value: otherwise gevent would print a traceback four times a second while the store is
    unreadable.
    """
    return _result(*cast(_Tried[_T], pool.apply(_tried, (function, *arguments))))


def _tried(function: Callable[..., _T], *arguments: Any) -> _Tried[_T]:
    try:
        return function(*arguments), None
    except Exception as error:
        return None, error


def _result(result: _T | None, error: Exception | None) -> _T:
    if error is not None:
        try:
            raise error
        finally:
            del error  # or it and this frame would refer to each other: a cycle
    return cast(_T, result)


def on_loop(hub: Any, function: Callable[..., _T], *arguments: Any) -> _T:
    """Run a function in a greenlet of a hub, called in another thread, which waits. Raises what ``function`` raises."""
    if _thread_now() == hub.thread_ident:
        return function(*arguments)
    results: list[_Tried[_T]] = []
    done = native_lock()
    done.acquire()

    def run() -> None:
        try:
            results.append(_tried(function, *arguments))
        finally:
            done.release()

    hub.loop.run_callback_threadsafe(gevent.spawn, run)
    done.acquire()
    return _result(*results.pop())


def release_gradually(objects: list[Any]) -> None:
    """Empty a list, object by object. In a thread: where it has the last references, one step would take milliseconds
    for 10,000 documents, in which no other thread runs."""
    while objects:
        objects.pop()


class TooLate(Exception):
    """The thread was not free before the client's deadline: the work was dropped."""


class OneThread:
    """A thread beside the loop, which does one piece of work after the other, in the order in which it was asked."""

    def __init__(self) -> None:
        """After forking."""
        self._pool = ThreadPool(1)
        self._turn = Lock()

    def __call__(self, until: float, work: Callable[..., _T], *arguments: Any) -> _T:
        """Return what ``work`` returns, or raise what it raises. Raises `TooLate` where it could not begin ``until``
        a moment of the monotonic clock, before which it waits for other work."""
        if not self._turn.acquire(timeout=None if until == math.inf else max(0.0, until - time.monotonic())):
            raise TooLate
        try:
            result: _T = in_pool(self._pool, work, *arguments)
            return result
        finally:
            self._turn.release()


_A_TURN = 1e-6
"""Seconds. With 0 gevent would come back up to 50 times before it looks at any socket
(docs/traps.md#gevent-pywsgi-bottle)."""


class LongWork:
    """Does work on one large document, answer or request in a thread of its own, while the caller's greenlet waits.

    There is one thread, so that only one piece of such work competes with the loop. For a caller in another thread
    than the loop, the work is done in the caller's thread.
    """

    def __init__(self) -> None:
        """In the thread of the loop, after forking."""
        self._loop_thread = _thread_now()
        self._thread = OneThread()

    def give_way(self) -> None:
        """Let other greenlets go on, and the loop look at its sockets. In another thread nothing has to be done."""
        if _thread_now() == self._loop_thread:
            gevent.sleep(_A_TURN)

    def __call__(self, work: Callable[[], _T]) -> _T:
        """Return what ``work`` returns, or raise what it raises.

        Raises `TooLate` where other work occupies the thread until the client no longer waits.
        """
        if _thread_now() != self._loop_thread:
            return work()
        client = waiting_client.get()
        result: _T = self._thread(math.inf if client is None else client.respond_by, _uncollected, work)
        return result


def _uncollected(work: Callable[[], Any]) -> Any:
    with gc_paused():
        return work()
