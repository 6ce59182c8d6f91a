"""WSGI: a request as an app sees it (environ and exchange), and an app's response as bytes (PEP 3333,
docs/http.md#response-headers). In pywsgi this is `get_environ`, `start_response` and `finalize_headers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import Any, Final, Protocol
from wsgiref.types import WSGIApplication

from answerd.server.http.parser import HttpRequest
from answerd.server.request_log import escape
from answerd.server.statuses import FIRST_PROBLEM

KEY: Final = "answerd.exchange"
"""The key of the `Exchange` in an environ, the only one that is not WSGI's."""

PLAIN_TEXT: Final = "text/plain; charset=utf-8"
MAX_REASON: Final = 800  # characters of an error's plain-text line, its line end included: it is read on a console
_LINE_END: Final = re.compile(r"[ \t]*[\r\n]+[ \t]*")
_ELLIPSIS: Final = "..."
_LONGEST_WORD: Final = 60  # characters; a longer one is cut in its middle
# On every response. An answer holds what no cache may keep, and no browser may take it for anything but its type.
_ON_EVERY_RESPONSE: Final[tuple[tuple[str, str], ...]] = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
)
# Headers that the listener decides: every answer has a length and closes its connection.
_DECIDED_HERE: Final = frozenset({"content-length", "connection", "keep-alive", "transfer-encoding", "date", "server"})


# --- the request ------------------------------------------------------------------------------------------------------


class Client(Protocol):
    """The client that waits for a response, as an app that writes sees it. Times are on the monotonic clock."""

    @property
    def respond_by(self) -> float:
        """When waiting must end, so that a response still arrives."""

    @property
    def deadline(self) -> float:
        """When the connection is closed."""


class Sink(Protocol):
    """A connection that an app has taken over, to go on sending after its response's head."""

    @property
    def closed(self) -> bool:
        """Whether it has ended."""

    def push(self, data: bytes, /) -> bool:
        """Send more, and return at once; False where the connection has ended. A client that does not read is cut
        off."""

    def close(self) -> None:
        """End the connection."""


def _always() -> bool:
    return True


@dataclass(slots=True, eq=False, repr=False)
class Exchange:
    """A request and its surroundings. An app reads all of it, and writes what follows ``client``.

    ``request`` holds the request as it was sent: its headers include those that no ``HTTP_`` key can hold; its body is
    empty where the app did not want it. ``peer`` is the address the request came from
    (docs/http.md#behind-a-proxy), without port. ``outcome``: the words for the log line, ``describe``
    makes them where the line is written, in place of ``outcome``; it must not keep the request. ``extension`` and
    ``kind``: the format of the answer and what answered, for the metrics (docs/metrics.md).
    ``caller``: who asks, as the app knows it, None where it does not. ``is_allowed``: whether that holds now, for a
    response that goes on.
    ``takeover``: what an app sets that goes on sending after its response: it is called with the connection once the
    head is sent, whose body it is to send; the connection has no deadline from then on. ``awaited``: what an app sets
    that has something written before the response is sent, together with that of other requests: it is called in a
    greenlet, and returns why it could not be written, empty where it was.
    """

    request: HttpRequest
    peer: str
    client: Client
    outcome: str = ""
    describe: Callable[[], str] | None = None
    extension: str = ""
    kind: str = ""
    caller: Any = None
    is_allowed: Callable[[], bool] = _always
    takeover: Callable[[Sink], object] | None = None
    awaited: Callable[[], str] | None = None

    @property
    def words(self) -> str:
        """The words for the log line."""
        return self.outcome if self.describe is None else self.describe()


def exchange_of(environ: Mapping[str, Any]) -> Exchange:
    """Return the exchange in an environ, which an app answers."""
    exchange: Exchange = environ[KEY]
    return exchange


def environ_of(exchange: Exchange, base: dict[str, Any], port: int) -> dict[str, Any]:
    """Return the environ of a request: ``base`` (that of the server), PEP 3333's keys and `KEY`. ``port`` is the
    client's."""
    request = exchange.request
    environ = base | request.header.keys
    environ["REQUEST_METHOD"] = request.method
    environ["PATH_INFO"] = request.decoded_path()
    environ["QUERY_STRING"] = request.query
    environ["SERVER_PROTOCOL"] = "HTTP/1.1" if request.minor_version else "HTTP/1.0"
    environ["REMOTE_ADDR"] = exchange.peer
    environ["REMOTE_PORT"] = str(port)
    environ["CONTENT_LENGTH"] = str(len(request.body))
    environ["wsgi.input"] = BytesIO(request.body)
    environ[KEY] = exchange
    return environ


# --- the response -----------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False, repr=False)
class Response:
    """An answer ready to be sent. ``body`` is empty for HEAD, ``head`` still has its length."""

    status: int
    head: bytes
    body: bytes

    @property
    def reason(self) -> str:
        """The words for the log where an app gave none: the body of an error is its reason."""
        if self.status < FIRST_PROBLEM:
            return "-"
        return self.body.decode("utf-8", "replace").strip().partition("\n")[0] or "-"


def respond(application: WSGIApplication, environ: dict[str, Any]) -> Response:
    """Call the application and collect its answer. Raises what it raises, and ValueError for a header that cannot be
    sent: the caller answers these."""
    status = ""
    headers: list[tuple[str, str]] = []
    written: list[bytes] = []

    def start_response(new: str, given: list[tuple[str, str]], _: object = None) -> Callable[[bytes], None]:
        nonlocal status, headers
        status, headers = new, given  # the last call counts
        return written.append

    result = application(environ, start_response)
    try:
        body = b"".join(result)
    finally:
        if hasattr(result, "close"):
            result.close()
    if not status:
        raise ValueError("the application did not call start_response")
    if written:
        body = b"".join(written) + body
    head_only = environ["REQUEST_METHOD"] == "HEAD"
    head = _head(status, headers, len(body), head_only)
    return Response(int(status[:3]), head, b"" if head_only else body)


def without_length(response: Response) -> Response:
    """Return the head of a response whose body an app goes on sending until the connection ends."""
    head = response.head[: response.head.rindex(b"Content-Length: ")] + b"Connection: close\r\n\r\n"
    return Response(response.status, head, b"")


def reason_line(reason: str) -> str:
    """Return the line that says why there is no answer: lines joined, control characters escaped, and cut, so that it
    has at most `MAX_REASON` characters with its line end (not included here)."""
    line = escape(_LINE_END.sub(" ", reason.strip()))
    if len(line) < MAX_REASON:
        return line
    kept = line[: MAX_REASON - 1 - len(_ELLIPSIS)]
    cut = kept.rfind(" ", MAX_REASON - _LONGEST_WORD)  # not within a word, nor within an escape
    return (kept[:cut] if cut > 0 else kept) + _ELLIPSIS


def plain_text(status: int, reason: str, headers: Iterable[tuple[str, str]] = ()) -> Response:
    """Return a response of one plain-text line, for an error without the app."""
    body = f"{reason_line(reason)}\n".encode("utf-8", "backslashreplace")
    return error_response(status, PLAIN_TEXT, body, headers)


def error_response(status: int, content_type: str, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> Response:
    """Return a response for an error without the app."""
    all_headers = [("Content-Type", content_type), *headers]
    head = _head_without_length(f"{status} {HTTPStatus(status).phrase}", all_headers)
    return Response(status, b"%b%d\r\nConnection: close\r\n\r\n" % (head, len(body)), body)


_known_heads: Final[dict[tuple[str, tuple[tuple[str, str], ...]], bytes]] = {}
_KNOWN_HEADS: Final = 256
"""Heads without their length that are kept: an app has a few dozen, except for those with an ETag."""


def _head(status: str, headers: list[tuple[str, str]], length: int, head_only: bool) -> bytes:
    """Return the status line and the headers, each on a single line whatever the app put into them."""
    if head_only and not length:
        length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    telling = tuple([header for header in headers if header[0] != "Content-Length"])
    known = _known_heads.get((status, telling))
    if known is None:
        known = _head_without_length(status, telling)
        if len(_known_heads) >= _KNOWN_HEADS:
            _known_heads.clear()
        _known_heads[status, telling] = known
    return b"%b%d\r\nConnection: close\r\n\r\n" % (known, length)


def _head_without_length(status: str, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status}"]
    given = set()
    for name, value in headers:
        lowered = name.lower()
        if lowered in _DECIDED_HERE:
            continue
        given.add(lowered)
        lines.append(f"{name}: {value}")
    for name, value in (("Content-Type", PLAIN_TEXT), *_ON_EVERY_RESPONSE):
        if name.lower() not in given:
            lines.append(f"{name}: {value}")
    text = "\r\n".join(lines)
    if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
        raise ValueError("a header of the application holds a line end")
    return (text + "\r\nContent-Length: ").encode("latin-1")
