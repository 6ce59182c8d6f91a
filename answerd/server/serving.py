"""The settings that all connections of one listener share: the application, the limits, and the form of errors.

Values only. Must not know sockets or how many connections there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from wsgiref.types import WSGIApplication

from answerd.addresses import Network
from answerd.server.admission import LINGERING
from answerd.server.http_parser import HttpRequest, LargerBody
from answerd.server.request_feed import RequestFeed
from answerd.server.request_log import RequestLog
from answerd.server.statuses import INTERNAL_ERROR, SERVICE_UNAVAILABLE
from answerd.server.wsgi import Response

ACCEPT_AT_ONCE: Final = 2_000  # connections accepted before others get a turn; with 500 a stampede overflowed the queue
LATE: Final = "the service had no answer before the deadline"
_RETRY: Final = (("Retry-After", "2"),)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one connection. Sizes in bytes, times in seconds.

    ``timeout``: from accept to close. ``linger``, ``linger_bytes``: how long, and for how much, a client that still
    sends after its response is listened to; within ``timeout``. ``max_lingering``: connections that do so at a time.
    ``accept_at_once``: connections accepted before those that are there are read from. ``idle_give_way``: at the limit
    of connections, the oldest one without a whole header makes room for a new one. ``larger_body``: bytes above
    ``max_body`` that the body of some requests may have; those bodies are spooled.
    """

    max_body: int = 1_048_576
    larger_body: LargerBody | None = None
    timeout: float = 10.0
    linger: float = 2.0
    linger_bytes: int = 8_388_608
    max_lingering: int = LINGERING
    accept_at_once: int = ACCEPT_AT_ONCE
    idle_give_way: bool = False


Gate = Callable[[HttpRequest, str], bool]
"""Whether the body of a request from this address is worth reading; false where it is refused whatever the body is."""


class ErrorForm(Protocol):
    """The form of a listener's own errors."""

    def __call__(self, status: int, reason: str, headers: Iterable[tuple[str, str]] = ()) -> Response:
        """Return the response with this reason."""


class Counts(Protocol):
    """Counts the connections of a listener for the metrics."""

    def answered(self, status: int, extension: str, outcome: str, seconds: float, /) -> None:
        """Count a response, and the time from the accept of its connection."""

    def aborted(self) -> None:
        """Count a connection that ended without a whole response."""

    def shed(self, limit: str, /) -> None:
        """Count a client that got 503 at once: ``connections``, ``bodies`` or ``answers`` are at their limit."""


class NoCounts:
    """Counts nothing."""

    def answered(self, _status: int, _extension: str, _outcome: str, _seconds: float) -> None:
        """Do nothing."""

    def aborted(self) -> None:
        """Do nothing."""

    def shed(self, _limit: str) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Serving:
    """The values that each connection of a listener gets. ``environ``: the keys that are the same in the environ of
    every request. ``busy``, ``out_of_memory``: the responses of a listener that is at its limit of connections, or of
    memory. ``feed``: where requests are noted for the console and the events. ``is_shared``: requests wait for a
    database that may be away for a moment. ``late``: the response of an app that is not ready at the deadline.
    """

    application: WSGIApplication
    environ: dict[str, Any]
    limits: Limits
    log: RequestLog
    trusted_proxies: tuple[Network, ...]
    wants_body: Gate
    error: ErrorForm
    counts: Counts
    feed: RequestFeed | None = None
    is_shared: bool = False
    late: Response = field(init=False)
    busy: Response = field(init=False)
    out_of_memory: Response = field(init=False)

    def __post_init__(self) -> None:
        for name, what in (("busy", "connections"), ("out_of_memory", "memory")):
            reason = f"the service is at its limit of {what}, try again in 2 seconds"
            object.__setattr__(self, name, self.error(SERVICE_UNAVAILABLE, reason, _RETRY))
        late = self.error(INTERNAL_ERROR, LATE)
        if self.is_shared:
            late = self.error(SERVICE_UNAVAILABLE, LATE + "; a write may have been stored", (("Retry-After", "5"),))
        object.__setattr__(self, "late", late)
