"""Deadlines: which connections are open, and when each must be closed.

All timeouts are equal, so the connections in order of arrival are in the order of their deadlines, and a sweep looks at
the oldest only. Must not know how a connection was accepted or answered.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from answerd.server.connection import Connection
from answerd.server.serving import Limits

SWEEP_SECONDS: Final = 0.1
CUT_AT_ONCE: Final = 500  # connections closed in one sweep, about 5 ms
SILENT_SECONDS: Final = 1.0  # that a connection without a byte is still waited for while draining


class Deadlines:
    """The open connections of one listener: those in flight, those that linger after their response, and streams."""

    def __init__(self, loop: Any, limits: Limits, housekeep: Callable[[float], bool]) -> None:
        """``housekeep`` is called with the time in every sweep; sweeps go on as long as it returns True."""
        self._loop = loop
        self._limits = limits
        self._housekeep = housekeep
        self._sweeper: Any = None
        self.in_flight: dict[Connection, None] = {}  # in order of their deadlines
        self.lingering: dict[Connection, None] = {}
        self.streams: dict[Connection, None] = {}  # without a deadline
        self.is_draining = False

    def watch(self) -> None:
        """Sweep while any connection is open."""
        if self._sweeper is None:
            self._sweeper = self._loop.timer(SWEEP_SECONDS, SWEEP_SECONDS)
            self._sweeper.start(self._sweep)

    def stop(self) -> None:
        """Stop sweeping."""
        if self._sweeper is not None:
            self._sweeper.stop()
            self._sweeper.close()
            self._sweeper = None

    def linger(self, connection: Connection) -> None:
        """Move a connection that has been answered to those that linger."""
        self.remove(connection)
        connection.deadline = min(connection.deadline, monotonic() + self._limits.linger)
        if len(self.lingering) >= self._limits.max_lingering:
            self.close_oldest_lingering()
        self.lingering[connection] = None

    def stream(self, connection: Connection) -> None:
        """Move a connection to those without a deadline; while draining, close it."""
        self.remove(connection)
        if self.is_draining:
            connection.close()
        else:
            self.streams[connection] = None

    def end_streams(self) -> None:
        """Close the connections without a deadline: their clients connect again, to the process that answers then."""
        for connection in list(self.streams):
            connection.close()

    def close_oldest_lingering(self) -> bool:
        """Close the oldest connection that lingers; return False where there is none."""
        oldest = next(iter(self.lingering), None)
        if oldest is not None:
            oldest.close()
        return oldest is not None

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is being closed."""
        for connections in (self.in_flight, self.lingering, self.streams):
            if connection in connections:
                del connections[connection]
                return

    def cut_all(self, reason: str) -> int:
        """Close every connection; return how many there were."""
        left = [*self.in_flight, *self.lingering]
        for connection in left:
            connection.cut(reason)
        return len(left)

    @property
    def is_empty(self) -> bool:
        """Whether no connection is open."""
        return not self.in_flight and not self.lingering

    def _sweep(self) -> None:
        """Close the connections that are overdue; continue while any is open."""
        now = monotonic()
        overdue = self._overdue(now)
        for connection in overdue[:CUT_AT_ONCE]:
            connection.overdue()
        if len(overdue) > CUT_AT_ONCE:
            self._loop.run_callback(self._sweep)
        if not self._housekeep(now) and self.is_empty and not self.is_draining:
            self.stop()

    def _overdue(self, now: float) -> list[Connection]:
        overdue = [connection for connection in self.lingering if connection.deadline <= now]
        silent_since = now - SILENT_SECONDS + self._limits.timeout  # the deadline of one accepted so long ago
        for connection in self.in_flight:
            if connection.deadline > now:
                break
            overdue.append(connection)
        if self.is_draining:
            overdue += [
                connection
                for connection in self.in_flight
                if now < connection.deadline <= silent_since and connection.waits_for_first_byte
            ]
        return overdue
