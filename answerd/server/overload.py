"""Connections that a listener could not serve, summed up: thousands of refused clients make one line of the log in a
second.

Knows counts and the log. Must not know why a client was refused.
"""

from __future__ import annotations

from answerd.server.request_log import RequestLog

REPORT_SECONDS = 1.0  # a storm of 503s or failed accepts is one line in that time


class Overload:
    """Counts of shed clients and failed accepts since the last line about them."""

    def __init__(self, log: RequestLog) -> None:
        self._log = log
        self._shed: dict[str, int] = {}  # by what was at its limit
        self._failed: dict[str, int] = {}  # by reason
        self._report_at = 0.0

    def shed(self, what: str, limit: int) -> None:
        """Count a client that got a 503 because ``what`` is at its limit."""
        key = f"{what}, limit {limit}"
        self._shed[key] = self._shed.get(key, 0) + 1

    def accept_failed(self, reason: str) -> None:
        """Count an accept that failed."""
        self._failed[reason] = self._failed.get(reason, 0) + 1

    @property
    def is_pending(self) -> bool:
        """Whether something has not been logged yet."""
        return bool(self._shed or self._failed)

    def report(self, now: float) -> None:
        """Log what was counted, unless that was done less than a second ago. ``now``: on the monotonic clock."""
        if now < self._report_at or not self.is_pending:
            return
        self._report_at = now + REPORT_SECONDS
        for what, count in self._shed.items():
            self._log.service(f"503 shed {count} {what}")
        for reason, count in self._failed.items():
            self._log.service(f"accept failed: {reason} ({count} times)")
        self._shed.clear()
        self._failed.clear()
