"""The admin API: read, write and try documents over HTTP (docs/admin-api.md).

Which clients may ask, the statuses of errors, and the groups of handlers. The write guard decides whether a write may
be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import bottle

from answerd.answers.answer_secrets import redacted_install
from answerd.answers.assumed import assumed_gates
from answerd.answers.sources import NO_SOURCES, Sources
from answerd.errors import StatesUnknown
from answerd.server.admin import requests
from answerd.server.admin.adoption import AdoptionHandlers, Adoptions
from answerd.server.admin.changes import ChangeHandlers
from answerd.server.admin.documents import DocumentHandlers
from answerd.server.admin.installs import InstallHandlers, no_metrics
from answerd.server.admin.observe import ObserveHandlers
from answerd.server.admin.requests import (
    JSON,
    CannotRender,
    Forbidden,
    InvalidRequest,
    NotThere,
    Route,
    error_response,
    json_bytes,
    json_response,
)
from answerd.server.bearer import FAILURES, FailureBlock, is_guess
from answerd.server.bottle_locals import use_context_variables
from answerd.server.document_writes import DocumentWrites
from answerd.server.event_streams import EventStreams
from answerd.server.http.handler import LATE
from answerd.server.http.parser import HttpRequest
from answerd.server.http.responses import Response, reason_line
from answerd.server.http.responses import error_response as listener_error
from answerd.server.http.server import PeerBodyLimit
from answerd.server.live_states import LiveStates
from answerd.server.probes import Readiness, is_probe
from answerd.server.request_feed import RequestFeed
from answerd.server.roles import AdminTokens, may
from answerd.server.statuses import (
    BAD_REQUEST,
    CONFLICT,
    CONTENT_TOO_LARGE,
    FORBIDDEN,
    INTERNAL_ERROR,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    SERVICE_UNAVAILABLE,
    TOO_MANY_REQUESTS,
    UNAUTHORIZED,
)
from answerd.store import CannotBeStored, NoSetYet, PartlyForgotten, StoreAway, StoreError
from answerd.write_guard import (
    BreaksTheSet,
    ChangedSince,
    ConditionFailed,
    InvalidDocument,
    NoSuchDocument,
    WriteRefused,
)

METHODS_WITH_BODY = ("PUT", "PATCH", "POST")

ROUTE = "answerd"
"""The key of a `Route` in Bottle's configuration of its own route."""

STATUSES: dict[type[Exception], int] = {
    InvalidRequest: BAD_REQUEST,
    InvalidDocument: BAD_REQUEST,
    NotThere: NOT_FOUND,
    NoSuchDocument: NOT_FOUND,
    BreaksTheSet: CONFLICT,
    ChangedSince: CONFLICT,
    PartlyForgotten: CONFLICT,
    CannotRender: CONFLICT,
    ConditionFailed: PRECONDITION_FAILED,
    Forbidden: FORBIDDEN,
    StoreError: INTERNAL_ERROR,
    CannotBeStored: BAD_REQUEST,
    StatesUnknown: INTERNAL_ERROR,
    StoreAway: SERVICE_UNAVAILABLE,
    NoSetYet: SERVICE_UNAVAILABLE,
}
"""The status of each reason for refusing a request: that of the nearest class."""

RETRY_SECONDS = 5
"""Seconds after which a client may try again while the database of many nodes is away."""


def make_admin_app(
    writes: DocumentWrites,
    tokens: AdminTokens,
    block: FailureBlock,
    log: Callable[[str], None],
    *,
    readiness: Readiness = lambda: "",
    sources: Sources = NO_SOURCES,
    installs: LiveStates | None = None,
    exposition: Callable[[], bytes] = bytes,
    feed: RequestFeed | None = None,
) -> bottle.Bottle:
    """Return the application. ``log`` takes a line about the service; ``sources`` fill answers beside the facts.
    ``installs`` are the states of installs, None where there is no place for them; ``feed`` has the last requests."""
    use_context_variables()
    app = bottle.Bottle()
    app.catchall = False
    app.add_hook("before_request", _route_on_the_raw_path)
    app.add_hook("before_request", _token_check(tokens, block, log))
    app.default_error_handler = _router_error
    if installs is not None:  # what is tried here is given to no machine: every machine counts as armed
        sources = replace(sources, gates=assumed_gates(installs.at_fork.own_url, now=installs.now()))
    states = installs.store if installs is not None else None
    nodes = states.nodes if states is not None else tuple
    events = EventStreams(feed, installs, lambda record: redacted_install(record, writes.follower.current(), sources))
    operating = InstallHandlers(installs, writes.follower.current, sources) if installs is not None else None
    tallied = operating.metrics if operating is not None else no_metrics
    routes = [
        *ObserveHandlers(writes.follower, sources, readiness, exposition, events, nodes, tallied, states).routes(),
        *DocumentHandlers(writes, sources).routes(),
        *ChangeHandlers(writes, sources, installs).routes(),
        *(operating.routes() if operating is not None else ()),
        *(AdoptionHandlers(Adoptions(writes, installs)).routes() if installs is not None else ()),
    ]
    for route in routes:
        app.route(route.path, route.method, _errors_as_responses(route, log), **{ROUTE: route})
    return app


def make_body_limit(app: bottle.Bottle, tokens: AdminTokens, block: FailureBlock) -> PeerBodyLimit:
    """Return the limit of the bodies of requests: a body is read where ``app`` (of `make_admin_app`) lets the request
    in and has a place for it. Counts no failure: the app does."""

    def body_limit(request: HttpRequest, peer: str) -> int:
        if request.method not in METHODS_WITH_BODY or block.seconds_left(peer):
            return 0
        caller = tokens.find(request.header.keys.get("HTTP_AUTHORIZATION"))
        try:
            found, _ = app.router.match({"REQUEST_METHOD": request.method, "PATH_INFO": _routed_path(request.path)})
        except bottle.HTTPError:
            return 0
        route: Route = found.config[ROUTE]
        return route.limit_for(caller.role) if caller is not None and may(caller.role, route.name) else 0

    return body_limit


def json_error(status: int, reason: str, headers: Iterable[tuple[str, str]] = ()) -> Response:
    """Return an error that the listener writes by itself, as the app writes its own."""
    return listener_error(status, JSON, json_bytes({"error": reason_line(reason)}), headers)


def late_for_shared_database() -> Response:
    """Return the response at the deadline of a request that waits for a database which may be away for a moment."""
    retry = ("Retry-After", str(RETRY_SECONDS))
    return json_error(SERVICE_UNAVAILABLE, f"{LATE}; a write may have been stored", [retry])


def _token_check(tokens: AdminTokens, block: FailureBlock, log: Callable[[str], None]) -> Callable[[], None]:
    """Return what checks a client's token, before path and method are checked (docs/http.md#order-of-statuses)."""

    def judge() -> None:
        exchange = requests.exchange()
        peer = exchange.peer
        if is_probe(exchange.request):
            return
        if seconds := block.seconds_left(peer):
            reason = {"error": f"too many wrong tokens, try again in {seconds} s"}
            raise json_response(TOO_MANY_REQUESTS, reason, {"Retry-After": seconds})
        if exchange.caller is not None:  # the console knows it by its session
            return
        authorization = bottle.request.environ.get("HTTP_AUTHORIZATION")
        caller = tokens.find(authorization)
        if caller is not None:
            exchange.caller = caller
            exchange.is_allowed = lambda: tokens.find(authorization) is not None
            block.succeeded(peer)
            return
        if is_guess(authorization):
            log(f"admin: {peer} failed authentication")
            if blocked := block.failed(peer):
                log(f"admin: {peer} failed authentication {FAILURES} times, blocked for {blocked}s")
        reason = {"error": "the admin API needs its bearer token"}
        raise json_response(UNAUTHORIZED, reason, {"WWW-Authenticate": "Bearer"})

    return judge


def _route_on_the_raw_path() -> None:
    """Let Bottle's router see the path as it was sent: ``%2F`` is no slash, and no byte is lost on the way.

    Bottle decodes the path as UTF-8 and drops other bytes, so that ``/machines/a%FF`` would be the machine ``a``.
    """
    environ = bottle.request.environ
    environ["PATH_INFO"] = _routed_path(requests.exchange().request.path)


def _routed_path(path: str) -> str:
    return quote(path.encode("latin-1"), safe="/%:~!$&'()*+,;=@")


def _errors_as_responses(route: Route, log: Callable[[str], None]) -> Callable[..., Any]:
    """Return a route's handler with its limit of a body, and with errors by `STATUSES`."""

    def answer(*arguments: Any, **named: Any) -> Any:
        exchange = requests.exchange()
        request = exchange.request
        try:
            requests.require(route.name)
            limit = route.limit_for(requests.role())
            if request.body_too_large or len(request.body) > limit:
                return error_response(CONTENT_TOO_LARGE, f"{route.what} has at most {limit} bytes")
            response = route.handler(*arguments, **named)
            if (caller := requests.caller()) is not None and caller.name:
                exchange.outcome += f" by {caller.name}"
            return response
        except tuple(STATUSES) as error:
            status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
            problems = error.problems if isinstance(error, WriteRefused) else ()
            headers = {"Retry-After": RETRY_SECONDS} if isinstance(error, StoreAway) else None
            return error_response(status, str(error), problems, headers)
        except bottle.HTTPResponse:
            raise
        except Exception as error:
            log(f"admin: {request.method} {request.path} failed: {error!r}")
            return error_response(INTERNAL_ERROR, "the request failed unexpectedly, the log has the reason")

    return answer


def _router_error(error: bottle.HTTPError) -> bytes:
    error.__traceback__ = None  # or it and Bottle's frame would refer to each other
    environ = bottle.request.environ
    reason = f"there is nothing at {environ['PATH_INFO']}"
    if error.status_code == METHOD_NOT_ALLOWED:
        methods = ", ".join(sorted({"HEAD", *error.get_header("Allow").split(",")}))  # every path can be read
        bottle.response.set_header("Allow", methods)
        reason = f"{environ['REQUEST_METHOD']} is not possible on {environ['PATH_INFO']}, only {methods}"
    bottle.response.content_type = JSON
    body: bytes = error_response(error.status_code, reason).body
    return body
