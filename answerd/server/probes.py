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
PROBES: Final = (HEALTH, READY)
METHODS: Final = ("GET", "HEAD")

Readiness = Callable[[], str]
"""Why there is no set to answer from; empty where there is one."""


class Probe(NamedTuple):
    """The response to a probe: a status, a line of text, and the words for the log."""

    status: int
    body: bytes
    outcome: str


NOT_READY: Final = "not ready, as before"

_HEALTHY: Final = Probe(OK, b"OK\n", "health")
_READY: Final = Probe(OK, b"OK\n", "ready")


def is_probe(request: HttpRequest) -> bool:
    """Return whether a request is answered by `Probes`."""
    return request.path in PROBES and request.method in METHODS


class Probes:
    """Answers ``/health`` and ``/ready`` of one listener. A load balancer asks every second, so the log has a reason
    only when it changes."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness
        self._logged = ""

    def response(self, path: str) -> Probe:
        """Return the response to a probe. Never waits."""
        if path == HEALTH:
            return _HEALTHY
        reason, logged = self._readiness(), self._logged
        self._logged = reason
        if not reason:
            return _READY
        outcome = reason if reason != logged else NOT_READY
        return Probe(SERVICE_UNAVAILABLE, f"{reason}\n".encode("utf-8", "replace"), outcome)
