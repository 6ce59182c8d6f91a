"""Handlers of ``/metrics`` (docs/metrics.md), ``/events`` (docs/admin-api.md#events) and ``/nodes``
(docs/many-nodes.md#the-list-of-nodes)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import bottle

from answerd.server.admin.requests import environ
from answerd.server.admin.responses import error_response, json_response, note_outcome
from answerd.server.admin.routes import Route
from answerd.server.event_streams import MOST_STREAMS, EventStreams
from answerd.server.exposition import CONTENT_TYPE
from answerd.server.http.responses import exchange_of
from answerd.server.statuses import OK, SERVICE_UNAVAILABLE
from answerd.server.threads import in_thread
from answerd.store.nodes import Node

EVENT_STREAM = "text/event-stream"
RETRY_SECONDS = 5
"""Seconds after which a refused client may try again."""


class ObservationHandlers:
    """Hands out the metrics, the events and the list of nodes."""

    def __init__(
        self,
        exposition: Callable[[], bytes],
        events: EventStreams | None = None,
        nodes: Callable[[], Sequence[Node]] = tuple,
    ) -> None:
        self._nodes = nodes
        self._exposition = exposition
        self._events = events or EventStreams()

    def routes(self) -> Iterable[Route]:
        """Return the requests that this group answers."""
        yield Route("GET", "/metrics", self.metrics)
        yield Route("GET", "/events", self.events)
        yield Route("GET", "/nodes", self.nodes)

    def metrics(self) -> bottle.HTTPResponse:
        """Return the metrics in Prometheus' text format."""
        note_outcome("metrics")
        return bottle.HTTPResponse(self._exposition(), OK, {"Content-Type": CONTENT_TYPE})

    def nodes(self) -> bottle.HTTPResponse:
        """Return the nodes that share a database."""
        nodes = in_thread(self._nodes)
        note_outcome(f"{len(nodes)} nodes")
        return json_response(OK, {"nodes": [node.as_json() for node in nodes]})

    def events(self) -> bottle.HTTPResponse:
        """Send events to the client until it goes away."""
        if self._events.is_full:
            reason = f"{MOST_STREAMS} clients listen to the events, which is the most"
            return error_response(SERVICE_UNAVAILABLE, reason, headers={"Retry-After": RETRY_SECONDS})
        exchange = exchange_of(environ())
        note_outcome("events")
        if exchange.request.method == "GET":
            last = environ().get("HTTP_LAST_EVENT_ID", "").strip()
            exchange.takeover = partial(self._events.begin, last_identifier=last, is_allowed=exchange.is_allowed)
        return bottle.HTTPResponse(b"", OK, {"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"})
