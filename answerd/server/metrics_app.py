"""The listener of the metrics: ``/metrics``, ``/health`` and ``/ready``, without a token (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from answerd.server.exposition import CONTENT_TYPE
from answerd.server.http.responses import PLAIN_TEXT, exchange_of
from answerd.server.probes import METHODS, Readiness, is_probe, probe
from answerd.server.statuses import METHOD_NOT_ALLOWED, NOT_FOUND, OK

PATH = "/metrics"


def make_metrics_app(exposition: Callable[[], bytes], readiness: Readiness) -> WSGIApplication:
    """Return the application: plain WSGI, as it has three paths."""

    def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        exchange = exchange_of(environ)
        request = exchange.request
        headers = [("Content-Type", PLAIN_TEXT)]
        if is_probe(request):
            status, body, exchange.outcome = probe(request.path, readiness)
        elif request.path != PATH:
            status, body, exchange.outcome = NOT_FOUND, b"only /metrics, /health and /ready are here\n", "no such path"
        elif request.method not in METHODS:
            headers.append(("Allow", ", ".join(METHODS)))
            status, body, exchange.outcome = METHOD_NOT_ALLOWED, b"only GET is answered here\n", "only GET"
        else:
            headers = [("Content-Type", CONTENT_TYPE)]
            status, body, exchange.outcome = OK, exposition(), "metrics"
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [body]

    return application
