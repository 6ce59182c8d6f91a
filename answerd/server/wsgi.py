"""WSGI without a server: the environ of a request, and the bytes of an app's response. Knows PEP 3333, and the headers
of every response (docs/http.md#response-headers). Must not know sockets, deadlines or apps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from io import BytesIO
from typing import Any, Final, Protocol
from wsgiref.types import WSGIApplication

from answerd.server.exchange import KEY, Exchange
from answerd.server.header_block import HeaderBlock
from answerd.server.request_log import escape
from answerd.server.statuses import FIRST_PROBLEM

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
# The body has been read: CONTENT_LENGTH is its size.
_NOT_FOR_APPS: Final = frozenset({"content-length", "transfer-encoding"})


class Response:
    """An answer ready to be sent. ``body`` is empty for HEAD, ``head`` still has its length."""

    __slots__ = ("body", "head", "status")

    def __init__(self, status: int, head: bytes, body: bytes) -> None:
        self.status = status
        self.head = head
        self.body = body

    @property
    def reason(self) -> str:
        """The words for the log where an app gave none: the body of an error is its reason."""
        if self.status < FIRST_PROBLEM:
            return "-"
        return self.body.decode("utf-8", "replace").strip().partition("\n")[0] or "-"


class _Log(Protocol):
    def service(self, text: str) -> None: ...


class ErrorLines:
    """``wsgi.errors``: each write of an app becomes one line of the log."""

    def __init__(self, log: _Log) -> None:
        self._log = log

    def write(self, text: str) -> int:
        """Log ``text`` as one line; nothing where it is blank."""
        line = " | ".join(part for part in text.splitlines() if part.strip())
        if line:
            self._log.service(line)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Log these texts as one line."""
        self.write("".join(lines))

    def flush(self) -> None:
        """Do nothing: each write is logged at once."""


BASE_ENVIRON: Final[Mapping[str, Any]] = {
    "GATEWAY_INTERFACE": "CGI/1.1",
    "SCRIPT_NAME": "",
    "wsgi.version": (1, 0),
    "wsgi.multithread": False,
    "wsgi.multiprocess": False,
    "wsgi.run_once": False,
    "wsgi.input_terminated": True,
}
"""The keys that are the same in every environ of every listener."""


def base_environ(address: tuple[Any, ...], scheme: str, log: _Log) -> dict[str, Any]:
    """Return the keys that are the same in every environ of a listener. ``address``: its socket's; ``scheme``: that of
    URLs."""
    return {
        **BASE_ENVIRON,
        "SERVER_NAME": str(address[0]),
        "SERVER_PORT": str(address[1]),
        "wsgi.url_scheme": scheme,
        "wsgi.errors": ErrorLines(log),
    }


def environ_of(exchange: Exchange, base: dict[str, Any], port: int) -> dict[str, Any]:
    """Return the environ of a request: ``base`` (of `base_environ`), PEP 3333's keys and `answerd.server.exchange.KEY`.

    ``port`` is the client's.
    """
    request = exchange.request
    environ = base | keys_of(request.header)
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


_keys_of_blocks: Final[dict[HeaderBlock, dict[str, str]]] = {}
_KEPT_KEYS: Final = 512
"""Header blocks whose keys are remembered: as many as `answerd.server.header_block` keeps, and only those."""


def keys_of(header: HeaderBlock) -> dict[str, str]:
    """Return the keys of a header block in an environ. Do not modify: requests with the same header share them."""
    keys = _keys_of_blocks.get(header)
    if keys is None:
        keys = _header_keys(header)
        if header.is_kept:
            if len(_keys_of_blocks) >= _KEPT_KEYS:
                _keys_of_blocks.clear()
            _keys_of_blocks[header] = keys
    return keys


def _header_keys(header: HeaderBlock) -> dict[str, str]:
    keys: dict[str, str] = {}
    for name, value in header.lines:
        # ``X_A`` would arrive as the same key as ``X-A`` and shadow it.
        if "_" in name or name in _NOT_FOR_APPS:
            continue
        key = "CONTENT_TYPE" if name == "content-type" else "HTTP_" + name.upper().replace("-", "_")
        if key in keys:
            keys[key] += ("; " if key == "HTTP_COOKIE" else ", ") + value
        else:
            keys[key] = value
    return keys


class _StartResponse:
    """PEP 3333's ``start_response`` of one call; the last call of an app counts."""

    __slots__ = ("headers", "status", "written")

    def __init__(self) -> None:
        self.status = ""
        self.headers: list[tuple[str, str]] = []
        self.written: list[bytes] = []

    def __call__(self, status: str, headers: list[tuple[str, str]], _: object = None) -> Callable[[bytes], None]:
        self.status = status
        self.headers = headers
        return self.written.append


def respond(application: WSGIApplication, environ: dict[str, Any]) -> Response:
    """Call the application and collect its answer. Raises what it raises, and ValueError for a header that cannot be
    sent: the caller answers these."""
    started = _StartResponse()
    result = application(environ, started)
    try:
        body = b"".join(result)
    finally:
        if hasattr(result, "close"):
            result.close()
    if not started.status:
        raise ValueError("the application did not call start_response")
    if started.written:
        body = b"".join(started.written) + body
    head_only = environ["REQUEST_METHOD"] == "HEAD"
    head = _head(started.status, started.headers, len(body), head_only)
    return Response(int(started.status[:3]), head, b"" if head_only else body)


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
