"""Faults of the states of installs: logged once, and told to a client in time.

Must not know where states are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import gevent
from gevent.event import AsyncResult

from answerd.server.http.responses import Client
from answerd.server.request_log import RequestLog
from answerd.store import StoreError

_NOT_MADE = "the order waited until its time was up, and was not made"
_UNKNOWN = (
    "the states of installs were not written in time: the order may have been stored; the machine's state shows "
    "whether it was"
)


class FaultLog:
    """Logs that something does not work, and that it works again, once each."""

    def __init__(self, log: RequestLog, done: str, meanwhile: str = "") -> None:
        """``done``: read, or written. ``meanwhile``: what holds until it works again."""
        self._log = log
        self._done = done
        self._meanwhile = meanwhile
        self._fault: str | None = None

    def note(self, fault: str | None) -> None:
        """Note the outcome of a try: None where it worked."""
        if fault == self._fault:
            return
        self._fault = fault
        if fault is None:
            self._log.service(f"the states of installs can be {self._done} again")
        else:
            self._log.service(f"warning: the states of installs cannot be {self._done}{self._meanwhile}: {fault}")


def wait_in_time(
    results: Sequence[AsyncResult[Any]],
    client: Client,
    withdraw: Callable[[Sequence[AsyncResult[Any]]], bool],
    late: type[StoreError],
) -> None:
    """Wait until all results are there. Raise ``late`` when ``client`` must have its response.

    ``withdraw`` takes the events of results back; it returns whether no write of any of them has begun.
    """
    gevent.wait(results, timeout=min(max(0.0, client.respond_by - monotonic()), 1e6))
    missing = [result for result in results if not result.ready()]
    if missing:
        raise late(_NOT_MADE if withdraw(missing) else _UNKNOWN)
