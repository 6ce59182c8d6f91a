"""``/health`` and ``/ready``: whether the process is there, and whether it has a set to answer from.

Both listeners answer them, without a token and to every address (docs/http.md#requests).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from answerd.server.http.parser import HttpRequest
from answerd.server.statuses import OK, SERVICE_UNAVAILABLE

HEALTH: Final = "/health"
READY: Final = "/ready"
PROBES: Final[tuple[str, ...]] = (HEALTH, READY)
METHODS: Final[tuple[str, ...]] = ("GET", "HEAD")

Readiness = Callable[[], str]
"""Why there is no set to answer from; empty where there is one."""


class Probe(NamedTuple):
    """The response to a probe: a status, a line of text, and the words for the log."""

    status: int
    body: bytes
    outcome: str


_HEALTHY: Final = Probe(OK, b"OK\n", "health")
_READY: Final = Probe(OK, b"OK\n", "ready")


def is_probe(request: HttpRequest) -> bool:
    """Return whether a request is answered by `probe`."""
    return request.path in PROBES and request.method in METHODS


def probe(path: str, readiness: Readiness) -> Probe:
    """Answer ``/health`` or ``/ready``. Never waits."""
    if path == HEALTH:
        return _HEALTHY
    reason = readiness()
    if not reason:
        return _READY
    return Probe(SERVICE_UNAVAILABLE, f"{reason}\n".encode("utf-8", "replace"), reason)
