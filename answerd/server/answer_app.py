"""The answer endpoint: a request becomes facts, facts an answer, the answer a response (docs/http.md).

The listener has parsed the request, read its body and refused what is malformed; nothing here parses a document or
touches a file. Statuses come from one table.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from time import monotonic
from typing import Any

import bottle
from gevent.lock import BoundedSemaphore
from gevent.threadpool import ThreadPool

from answerd.answers.catalogue import Catalogue
from answerd.answers.near_misses import with_hints
from answerd.answers.resolve import resolve
from answerd.answers.select import question_of, select
from answerd.errors import AnswerError, AnswerTooLarge, BrokenDocument, CannotFill, EmptyAnswer, NotClaimed
from answerd.facts import LARGE, Facts, Request
from answerd.server.bearer import is_bearer
from answerd.server.bottle_locals import hold_in_context
from answerd.server.capture import Recorder
from answerd.server.client import Client
from answerd.server.http_parser import Request as HttpRequest
from answerd.server.wsgi import PLAIN_TEXT, keys_of, reason_line

STATUSES: dict[type[AnswerError], int] = {
    NotClaimed: 404,
    BrokenDocument: 500,
    CannotFill: 500,
    EmptyAnswer: 500,
    AnswerTooLarge: 500,
}
"""The status of each reason for not answering."""

METHODS = ("GET", "POST")
HEALTH = "/health"
HEALTH_METHODS = ("GET", "HEAD")

_readers: list[ThreadPool] = []
"""The one thread of this process that reads large bodies: 1 MB of JSON can take 50 MB while it is read, and a second
thread would take the interpreter from the event loop. Made when first needed, after the fork."""

_large_bodies = BoundedSemaphore(1)
"""Held while a large body is read; the others wait, at most until their deadline is near."""

Environ = dict[str, Any]


def make_answer_app(
    catalogue: Callable[[], Catalogue], token: str | None, recorder: Recorder | None = None
) -> bottle.Bottle:
    """The application.

    ``catalogue`` gives the answer set in force. ``token``, when set, guards all but ``/health``. ``recorder``, when
    set, captures each request but ``/health``, with its outcome.
    """
    hold_in_context()
    app = bottle.Bottle()
    app.catchall = False  # what fails unexpectedly is the listener's to answer, in one line
    app.uninstall(bottle.JSONPlugin)

    def answer() -> bytes:
        environ = bottle.request.environ
        refusal = _judged(environ, token)
        body = refusal if refusal is not None else _answer(environ, catalogue)  # NoCloud's side files may be empty
        if recorder is not None:
            _record(environ, recorder)
        return body

    routes = bottle.Route(app, HEALTH, "GET", _health), bottle.Route(app, "/", "ANY", answer)

    def match(environ: Environ) -> tuple[bottle.Route, dict[str, str]]:
        return routes[0 if _asks_for_health(environ) else 1], {}

    # Bottle's router has no rule for every path: one with a newline in it would be 404.
    app.router.match = match
    return app


def make_gate(token: str | None) -> Callable[[HttpRequest, str], bool]:
    """Whether the body of a request is worth reading, from its header: not where `make_answer_app` refuses it anyway,
    and not for ``/health``."""

    def wants_body(request: HttpRequest, _peer: str) -> bool:
        if request.path == HEALTH and request.method in HEALTH_METHODS:
            return False
        return _fault(request.method, keys_of(request.header).get("HTTP_AUTHORIZATION"), token) is None

    return wants_body


def _fault(method: str, authorization: str | None, token: str | None) -> int | None:
    """The status that a request's header alone gets; None lets it in. The order is that of `docs/selection.md`."""
    if method not in METHODS:
        return 405
    if token is not None and not is_bearer(authorization, token):
        return 401
    return None


def _judged(environ: Environ, token: str | None) -> bytes | None:
    """The refusal of a request by its header; None lets it in."""
    fault = _fault(environ["REQUEST_METHOD"], environ.get("HTTP_AUTHORIZATION"), token)
    if fault is None:
        return None
    if fault == HTTPStatus.METHOD_NOT_ALLOWED:
        return _not_allowed(environ)
    bottle.response.set_header("WWW-Authenticate", "Bearer")
    return _refuse(environ, 401, "this endpoint needs its bearer token")


def _answer(environ: Environ, catalogue: Callable[[], Catalogue]) -> bytes:
    if environ["answerd.body_too_large"]:
        return _refuse(environ, 413, "the body is larger than 1048576 bytes")
    request = _request(environ)
    if len(request.body) <= LARGE:
        return _resolved(environ, catalogue, Facts(request))
    client: Client = environ["answerd.client"]
    if not _large_bodies.acquire(timeout=max(0.0, client.respond_by - monotonic())):
        bottle.response.set_header("Retry-After", "2")
        return _refuse(environ, 503, "the service is busy with large bodies, try again in 2 seconds")
    try:
        if not _readers:
            _readers.append(ThreadPool(1))
        facts: Facts = _readers[0].apply(_read, (request, catalogue()))
        return _resolved(environ, catalogue, facts)
    finally:
        _large_bodies.release()


def _resolved(environ: Environ, catalogue: Callable[[], Catalogue], facts: Facts) -> bytes:
    try:
        found = resolve(catalogue(), facts)
    except AnswerError as error:
        # Telling what a request has instead means reading all of it, which a large body is not worth.
        large = len(environ["answerd.body"]) > LARGE
        return _refuse(environ, STATUSES[type(error)], error.reason if large else with_hints(error, facts))
    environ["answerd.outcome"] = found.composition
    bottle.response.content_type = found.format.content_type
    return found.body


def _record(environ: Environ, recorder: Recorder) -> None:
    recorder.record(
        environ["answerd.peer"],
        f"{environ['REQUEST_METHOD']} {environ['answerd.target']} {environ['SERVER_PROTOCOL']}",
        environ["answerd.headers"],
        environ["answerd.body"],
        f"{bottle.response.status_code} {environ['answerd.outcome']}",
    )


def _asks_for_health(environ: Environ) -> bool:
    return environ["answerd.path"] == HEALTH and environ["REQUEST_METHOD"] in HEALTH_METHODS


def _health() -> bytes:
    bottle.response.content_type = PLAIN_TEXT
    bottle.request.environ["answerd.outcome"] = "health"
    return b"OK\n"


def _request(environ: Environ) -> Request:
    return Request(
        environ["answerd.path"],
        environ["QUERY_STRING"],
        environ["answerd.headers"],
        environ["answerd.body"],
        environ["answerd.peer"],
    )


def _read(request: Request, catalogue: Catalogue) -> Facts:
    """The facts of a large request, with all that takes long worked out. Runs in a thread: it reads and never edits."""
    facts = Facts(request)
    for asked in (facts, facts.asking_for_user_data()) if facts.side_file else (facts,):
        asked.prepare()
        with suppress(AnswerError):
            select(catalogue, question_of(asked, asked.extensions))
    return facts


def _not_allowed(environ: Environ) -> bytes:
    bottle.response.set_header("Allow", ", ".join(METHODS))
    return _refuse(environ, 405, f"only {' and '.join(METHODS)} are answered here")


def _refuse(environ: Environ, status: int, reason: str) -> bytes:
    """An error: one plain line for the installer's console, the same words for the log."""
    line = reason_line(reason)
    environ["answerd.outcome"] = line
    bottle.response.status = status
    bottle.response.content_type = PLAIN_TEXT
    return f"{line}\n".encode()
