"""The admin API: documents are read, written and tried over HTTP (docs/admin-api.md).

Knows paths, statuses and JSON. Who may ask is judged here first; whether a write may be made is the write guard's. Must
not know sockets (the listener has read the request, its body too) nor how documents are stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes

import bottle
from gevent.lock import RLock

from answerd.answers.catalogue import Catalogue
from answerd.answers.provenance import explanation_text
from answerd.answers.resolve import Answer, resolve
from answerd.check import check
from answerd.documents import Key
from answerd.errors import AnswerError, NotClaimed
from answerd.facts import Facts, Request, facts_of
from answerd.formats import FORMATS
from answerd.identity import Kind, identifier_fault
from answerd.server.answer_set import CooperativeYield
from answerd.server.bearer import FAILURES, FailureBlock, is_bearer, is_guess
from answerd.server.bottle_locals import hold_in_context
from answerd.server.etags import Conditions, etag
from answerd.server.exchange import exchange_of
from answerd.server.http_parser import HttpRequest
from answerd.server.openapi import DOCUMENT_LIMIT, description
from answerd.server.statuses import (
    BAD_REQUEST,
    CONFLICT,
    CONTENT_TOO_LARGE,
    INTERNAL_ERROR,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    NOT_MODIFIED,
    OK,
    PRECONDITION_FAILED,
    TOO_MANY_REQUESTS,
    UNAUTHORIZED,
)
from answerd.server.write_guard import (
    BreaksTheSet,
    ConditionFailed,
    InvalidDocument,
    NoSuchDocument,
    WriteGuard,
    WriteRefused,
    Written,
)
from answerd.server.wsgi import PLAIN_TEXT, Response, error_response, keys_of, reason_line
from answerd.store import StoreError

DEFAULT_FORMAT = "toml"
HEALTH = "/health"
JSON = "application/json"
EXPLAIN = "explain=1"

METHODS_WITH_BODY = ("PUT",)

KINDS = {"machines": Kind.MACHINE, "groups": Kind.GROUP}
"""The collections in a path."""

Environ = dict[str, Any]


class InvalidRequest(Exception):
    """What was asked cannot be meant."""


class NotThere(Exception):
    """What was asked for does not exist."""


class CannotRender(Exception):
    """An answer that a document claims, and that cannot be given."""


STATUSES: dict[type[Exception], int] = {
    InvalidRequest: BAD_REQUEST,
    InvalidDocument: BAD_REQUEST,
    NotThere: NOT_FOUND,
    NoSuchDocument: NOT_FOUND,
    BreaksTheSet: CONFLICT,
    CannotRender: CONFLICT,
    ConditionFailed: PRECONDITION_FAILED,
    StoreError: INTERNAL_ERROR,
}
"""The status of each reason for not doing what was asked."""


def make_admin_app(
    guard: WriteGuard,
    token: str,
    block: FailureBlock,
    log: Callable[[str], None],
) -> bottle.Bottle:
    """The application. ``log`` takes a line about the service."""
    hold_in_context()
    app = bottle.Bottle()
    app.catchall = False
    gate = _Gate(token, block, log)
    api = _Api(guard)
    app.add_hook("before_request", _route_on_the_raw_path)
    app.add_hook("before_request", gate.judge)
    app.install(_errors_as_responses(log))
    app.default_error_handler = _router_error
    for method, path, handler in (
        ("GET", HEALTH, api.health),
        ("GET", "/openapi.json", api.openapi),
        ("GET", "/check", api.check),
        ("GET", "/resolve", api.resolve),
        ("GET", "/resolve/<name>", api.resolve),
        ("GET", "/<collection:re:machines|groups>", api.list),
        ("GET", "/<collection:re:machines|groups>/<name>", api.get),
        ("PUT", "/<collection:re:machines|groups>/<name>", api.put),
        ("DELETE", "/<collection:re:machines|groups>/<name>", api.delete),
        ("GET", "/default", api.get),
        ("PUT", "/default", api.put),
        ("DELETE", "/default", api.delete),
    ):
        app.route(path, method, handler)
    return app


def make_gate(app: bottle.Bottle, token: str, block: FailureBlock) -> Callable[[HttpRequest, str], bool]:
    """Whether the body of a request is worth reading, from its header: only where ``app`` (of `make_admin_app`) lets
    the request in and has a place for its body. Counts no failure: the app does."""

    def wants_body(request: HttpRequest, peer: str) -> bool:
        if request.method not in METHODS_WITH_BODY or block.seconds_left(peer):
            return False
        if not is_bearer(keys_of(request.header).get("HTTP_AUTHORIZATION"), token):
            return False
        try:
            app.router.match({"REQUEST_METHOD": request.method, "PATH_INFO": _routed_path(request.path)})
        except bottle.HTTPError:
            return False
        return True

    return wants_body


def json_error(status: int, reason: str, headers: Iterable[tuple[str, str]] = ()) -> Response:
    """An error that the listener writes by itself, as the app writes its own."""
    body = json.dumps({"error": reason_line(reason)}, ensure_ascii=False).encode("utf-8", "replace")
    return error_response(status, JSON, body, headers)


@dataclass(frozen=True, slots=True)
class _Gate:
    """Who gets in: judged before path and method are (docs/http.md#order-of-statuses)."""

    token: str
    block: FailureBlock
    log: Callable[[str], None]

    def judge(self) -> None:
        """Ends a request that has no business here."""
        environ = bottle.request.environ
        if environ["PATH_INFO"] == HEALTH and environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return
        peer = exchange_of(environ).peer
        seconds = self.block.seconds_left(peer)
        if seconds:
            raise _response(
                TOO_MANY_REQUESTS,
                {"error": f"too many wrong tokens, try again in {seconds} s"},
                {"Retry-After": seconds},
            )
        authorization = environ.get("HTTP_AUTHORIZATION")
        if is_bearer(authorization, self.token):
            self.block.succeeded(peer)
            return
        if is_guess(authorization):
            self._count_failure(peer)
        raise _response(UNAUTHORIZED, {"error": "the admin API needs its bearer token"}, {"WWW-Authenticate": "Bearer"})

    def _count_failure(self, peer: str) -> None:
        self.log(f"admin: {peer} failed authentication")
        blocked = self.block.failed(peer)
        if blocked:
            self.log(f"admin: {peer} failed authentication {FAILURES} times, blocked for {blocked}s")


class _Api:
    """The handlers, one for each row of docs/admin-api.md."""

    def __init__(self, guard: WriteGuard) -> None:
        self.guard = guard
        self.store = guard.store
        self._checking = RLock()
        self._checked: tuple[Catalogue, list[str]] | None = None

    def health(self) -> bottle.HTTPResponse:
        """That the process is there."""
        _note("health")
        return bottle.HTTPResponse(b"OK\n", OK, {"Content-Type": PLAIN_TEXT})

    def openapi(self) -> bottle.HTTPResponse:
        """What can be asked here."""
        _note("description")
        return _response(OK, description())

    def list(self, collection: str) -> bottle.HTTPResponse:
        """The identifiers of a kind, each once per format."""
        kind = KINDS[collection]
        identifiers = sorted(key.identifier for key in self.guard.run(self.store.keys, kind))
        _note(f"{len(identifiers)} {collection}")
        return _response(OK, {kind.value: identifiers})

    def get(self, collection: str = "", name: str = "") -> bottle.HTTPResponse:
        """A document exactly as it was written."""
        key = _key(collection, name)
        stored = self.guard.run(self.store.find, key)
        if stored is None:
            raise NotThere(f"there is no {key}")
        _note(str(stored.key))
        tag, conditions = etag(stored.revision), _conditions()
        if conditions.if_match is not None and (fault := Conditions(conditions.if_match).fault(tag)):
            raise ConditionFailed(fault)
        if conditions.is_not_modified(tag):
            return bottle.HTTPResponse(b"", NOT_MODIFIED, {"ETag": tag})
        return bottle.HTTPResponse(stored.body, OK, {"Content-Type": FORMATS[key.format].content_type, "ETag": tag})

    def put(self, collection: str = "", name: str = "") -> bottle.HTTPResponse:
        """Stores a document, unless that would break the set."""
        key = _key(collection, name)
        exchange = exchange_of(bottle.request.environ)
        try:
            text = exchange.request.body.decode("utf-8")
        except UnicodeDecodeError as error:
            wrong = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
            raise InvalidRequest(f"{key}: the body is not UTF-8: {wrong}") from None
        written = self.guard.put(key, text, exchange.peer, _conditions(), exchange.client)
        return _written("stored", written, {"ETag": written.etag})

    def delete(self, collection: str = "", name: str = "") -> bottle.HTTPResponse:
        """Removes a document, unless that would break the set."""
        key = _key(collection, name)
        exchange = exchange_of(bottle.request.environ)
        deleted = self.guard.delete(key, exchange.peer, _conditions(), exchange.client)
        return _written("deleted", deleted)

    def resolve(self, name: str | None = None) -> bottle.HTTPResponse:
        """The answer that a machine of this identity, or a request with these facts, would get."""
        identifier = None if name is None else _identifier(Kind.MACHINE, name)
        query, explains = _without_explain(bottle.request.environ["QUERY_STRING"])
        facts = _facts_of_query(query) if query else facts_of([identifier] if identifier else [])
        catalogue = self.guard.follower.current()

        def look() -> tuple[Answer, bytes | None]:
            answer = resolve(catalogue, facts)
            return answer, explanation_text(answer).encode("utf-8", "replace") if explains else None

        try:
            answer, told = catalogue.elsewhere(look)
        except NotClaimed as error:
            overridden = (
                f'; the query string overrides the identifier "{identifier}" in the path' if query and name else ""
            )
            raise NotThere(error.reason + overridden) from None
        except AnswerError as error:
            raise CannotRender(error.reason) from None
        _note(answer.composition)
        if told is not None:
            return bottle.HTTPResponse(told, OK, {"Content-Type": JSON, "X-Answer-Source": answer.composition})
        headers = {"Content-Type": answer.format.content_type, "X-Answer-Source": answer.composition}
        return bottle.HTTPResponse(answer.body, OK, headers)

    def check(self) -> bottle.HTTPResponse:
        """Every problem of the set, as ``answerd check`` finds them. Looked for once for each state of the set."""
        with self._checking:
            catalogue = self.guard.follower.current()
            if self._checked is None or self._checked[0] is not catalogue:
                self._checked = catalogue, [*check(catalogue, pause=CooperativeYield()).problems]
            problems = self._checked[1]
        _note(f"{len(problems)} problems")
        return _response(OK, {"problems": problems})


def _route_on_the_raw_path() -> None:
    """Lets Bottle's router see the path as it was sent: ``%2F`` is no slash, and no byte is lost on the way.

    Bottle decodes the path as UTF-8 and drops what is none, so that ``/machines/a%FF`` would be the machine ``a``.
    """
    environ = bottle.request.environ
    environ["PATH_INFO"] = _routed_path(exchange_of(environ).request.path)


def _routed_path(path: str) -> str:
    return quote(path.encode("latin-1"), safe="/%:~!$&'()*+,;=@")


def _errors_as_responses(log: Callable[[str], None]) -> Callable[..., Any]:
    """The plugin around every handler but health's: limits that hold for all, and errors by `STATUSES`."""

    def around(handler: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*arguments: Any, **named: Any) -> Any:
            request = exchange_of(bottle.request.environ).request
            try:
                if request.body_too_large or len(request.body) > DOCUMENT_LIMIT:
                    return _error(CONTENT_TOO_LARGE, f"a document has at most {DOCUMENT_LIMIT} bytes")
                return handler(*arguments, **named)
            except WriteRefused as error:
                return _error(STATUSES[type(error)], error.reason, error.problems)
            except tuple(STATUSES) as error:
                return _error(STATUSES[type(error)], str(error))
            except bottle.HTTPResponse:
                raise
            except Exception as error:
                log(f"admin: {request.method} {request.path} failed: {error!r}")
                return _error(INTERNAL_ERROR, "the request failed unexpectedly, the log has the reason")

        return answer

    return around


def _router_error(error: bottle.HTTPError) -> bytes:
    """What the router found wrong with path or method, as JSON."""
    error.__traceback__ = None  # or it and Bottle's frame would refer to each other
    environ = bottle.request.environ
    reason = f"there is nothing at {environ['PATH_INFO']}"
    if error.status_code == METHOD_NOT_ALLOWED:
        methods = ", ".join(sorted({"HEAD", *error.get_header("Allow").split(",")}))  # every path can be read
        bottle.response.set_header("Allow", methods)
        reason = f"{environ['REQUEST_METHOD']} is not possible on {environ['PATH_INFO']}, only {methods}"
    bottle.response.content_type = JSON
    body: bytes = _error(error.status_code, reason).body
    return body


def _note(outcome: str) -> None:
    """The words for the request's line in the log."""
    exchange_of(bottle.request.environ).outcome = outcome


class _Response(bottle.HTTPResponse):  # type: ignore[misc]
    """A response that leaves no reference cycle when it is raised: Bottle's frame and it would refer to each other."""

    def apply(self, other: Any) -> None:
        """Bottle calls this once it has caught the response."""
        self.__traceback__ = None
        super().apply(other)


def _response(status: int, value: dict[str, Any], headers: dict[str, Any] | None = None) -> bottle.HTTPResponse:
    """A JSON response. Of an error, its line is what the log tells too."""
    if "error" in value:
        _note(value["error"])
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return _Response(body, status, {"Content-Type": JSON, **(headers or {})})


def _error(status: int, reason: str, problems: tuple[str, ...] = ()) -> bottle.HTTPResponse:
    value: dict[str, Any] = {"error": reason_line(reason)}
    if problems:
        value["problems"] = list(problems)
    return _response(status, value)


def _written(status: str, written: Written, headers: dict[str, Any] | None = None) -> bottle.HTTPResponse:
    _note(f"{status} {written.key}")
    return _response(OK, {"status": status, "problems": list(written.problems)}, headers)


def _conditions() -> Conditions:
    environ = bottle.request.environ
    return Conditions(environ.get("HTTP_IF_MATCH"), environ.get("HTTP_IF_NONE_MATCH"))


def _key(collection: str, name: str) -> Key:
    """The document that a path and its ``format`` name. Raises `InvalidRequest`."""
    extension = _format(bottle.request.environ["QUERY_STRING"])
    if not collection:
        return Key(Kind.DEFAULT, "", extension)
    kind = KINDS[collection]
    return Key(kind, _identifier(kind, name), extension)


def _format(query: str) -> str:
    """The format that a query string asks for. Raises `InvalidRequest`."""
    given = [value for label, value in parse_qsl(query, keep_blank_values=True) if label == "format"]
    if len(given) > 1:
        raise InvalidRequest("format is given more than once")
    extension = given[0].lower() if given else DEFAULT_FORMAT
    if extension not in FORMATS:
        raise InvalidRequest(f'unknown format "{given[0]}": it is one of {", ".join(FORMATS)}')
    return extension


def _identifier(kind: Kind, name: str) -> str:
    """An identifier from a path's segment, percent-decoded. Raises `InvalidRequest`."""
    try:
        identifier = unquote_to_bytes(name).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest(f"the identifier {name} is not UTF-8") from None
    fault = identifier_fault(kind, identifier)
    if fault:
        raise InvalidRequest(f'"{identifier}": {fault}')
    return identifier


def _without_explain(query: str) -> tuple[str, bool]:
    """A query string without ``explain=1``, and whether it was there: it is no fact of a machine."""
    pieces = query.split("&")
    rest = [piece for piece in pieces if piece != EXPLAIN]
    return "&".join(rest), len(rest) < len(pieces)


def _facts_of_query(query: str) -> Facts:
    """The facts of a request with this query string, and with the path that its ``path=`` names."""
    path, rest = "/", []
    for piece in query.split("&"):
        [(label, value)] = parse_qsl(piece, keep_blank_values=True, encoding="latin-1") or [("", "")]
        if label.casefold() == "path":
            path = value
        elif piece:
            rest.append(piece)
    return Facts(Request(path=path, query="&".join(rest)))
