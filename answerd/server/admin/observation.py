"""Handlers of ``/metrics``: what the service counts (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import bottle

from answerd.server.admin.responses import note_outcome
from answerd.server.admin.routes import Route
from answerd.server.exposition import CONTENT_TYPE
from answerd.server.statuses import OK


class Observation:
    """Hands out the metrics."""

    def __init__(self, exposition: Callable[[], bytes]) -> None:
        self._exposition = exposition

    def routes(self) -> Iterable[Route]:
        """Return the requests that this group answers."""
        yield Route("GET", "/metrics", self.metrics)

    def metrics(self) -> bottle.HTTPResponse:
        """Return the metrics in Prometheus' text format."""
        note_outcome("metrics")
        return bottle.HTTPResponse(self._exposition(), OK, {"Content-Type": CONTENT_TYPE})
