"""Draining: the end of a listener. Nothing new is accepted, and connections in flight are finished. Knows the order of
these steps. Must not know why the service ends.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from gevent.event import Event

from answerd.server.accepting import Acceptor
from answerd.server.deadlines import Deadlines

HANDSHAKE_SECONDS = 0.05  # for handshakes in progress, before the listening socket is closed


class Draining:
    """Drains one listener."""

    def __init__(self, loop: Any, acceptor: Acceptor, deadlines: Deadlines) -> None:
        self._loop = loop
        self._acceptor = acceptor
        self._deadlines = deadlines
        self._ended = Event()
        self.has_begun = False

    def run(self, until: float) -> int:
        """Wait until nothing is in flight, at most ``until`` (monotonic clock); return how many had to be closed.

        Called once, from a greenlet. Connections that the kernel has accepted are still served. A connection that has
        not sent a byte is waited for `answerd.server.deadlines.SILENT_SECONDS`.
        """
        self.has_begun = self._deadlines.is_draining = True
        self._deadlines.end_streams()
        self._acceptor.end()
        last = self._loop.timer(HANDSHAKE_SECONDS)
        last.start(self._take_last)
        self._ended.wait(max(0.0, until - monotonic()))
        last.stop()
        last.close()
        left = self._deadlines.cut_all("the service ends")
        self._acceptor.close()
        self._deadlines.stop()
        return left

    def check(self) -> None:
        """End the wait once nothing is left; called whenever a connection is closed."""
        if self.has_begun and self._acceptor.closed and self._deadlines.is_empty:
            self._ended.set()

    def _take_last(self) -> None:
        self._acceptor.take_last()
        self._deadlines.watch()
        self.check()
