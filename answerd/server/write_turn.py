"""How long one write waits: for its locks, and only while a client waits for its outcome.

Rules: docs/admin-api.md#what-a-write-guarantees. Knows clocks and one client. Must not know what is written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from gevent.lock import RLock

from answerd.server.http.responses import Client
from answerd.store import StoreError

HALF_CLOSED_SECONDS = 0.5
"""How long a write waits before a client that has finished sending counts as gone. A client may close its sending side
right after its request and still wait for the response."""


class Turn:
    """The wait of one write: for its locks, and only while a client waits for its outcome."""

    def __init__(self, client: Client, late: type[StoreError]) -> None:
        """``late`` is raised when the time is up."""
        self._client = client
        self._late = late
        self._began = monotonic()

    def seconds_left(self) -> float:
        """Return the seconds for which the write may still wait. Raises `StoreError` when there are none, or no client
        waits for it."""
        self.check()
        return self._client.respond_by - monotonic()

    @contextmanager
    def of(self, lock: RLock, what: str) -> Iterator[None]:
        """Hold a lock. Raises `StoreError` where it is not free in time."""
        if not lock.acquire(blocking=False):
            seconds = self.seconds_left()
            if not lock.acquire(timeout=None if seconds == math.inf else seconds):
                raise self._late(f"the write waited for {what} until its time was up, and was not begun")
        try:
            yield
        finally:
            lock.release()

    def check(self) -> None:
        """Raise `StoreError` if the write must not begin any more."""
        now = monotonic()
        if now >= self._client.respond_by:
            raise self._late("the write waited until its time was up, and was not begun")
        if now - self._began > HALF_CLOSED_SECONDS and self._client.is_gone():
            raise StoreError("the client closed its connection while the write waited, which was not begun")

    def check_deadline(self) -> None:
        """Raise `StoreError` if the connection has been closed by now, so that the outcome cannot be reported."""
        if monotonic() >= self._client.deadline:
            raise self._late("the write took until the connection was closed, and was undone")
