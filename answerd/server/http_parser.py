"""HTTP requests: bytes in, a request out.

Knows how one request is read from a connection that carries exactly one: where its header ends, what must be refused
(docs/http.md), how its body is framed, and the limits of each part. llhttp validates the header lines
(`answerd.server.header_block`) and the chunked coding (`answerd.server.chunked_body`); the request line is read here,
because llhttp knows a closed list of methods and the apps answer 405 to any. Must not know sockets, greenlets, the
clock, or what a path means.

The answer never depends on how the bytes were cut into packets: every rule below fires at a position in the stream,
and the earliest position wins. A header block is validated as a whole when its last byte is there; a request line, a
bare line feed and a part over its limit as soon as they are seen.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable
from enum import Enum
from typing import Final
from urllib.parse import unquote_to_bytes

from answerd.server.chunked_body import ChunkedBody
from answerd.server.header_block import BadRequest, HeaderBlock, Headers, known_block, validated_block
from answerd.server.spool import Spool
from answerd.server.statuses import BAD_REQUEST, HEADER_TOO_LARGE, URI_TOO_LONG

MAX_REQUEST_LINE: Final = 8_192  # bytes without its line end (docs/http.md#limits: 414 above)
MAX_HEADER_BLOCK: Final = 65_536  # bytes of all header lines with their line ends (docs/http.md#limits: 431 above)

# request-line = method SP request-target SP HTTP-version (RFC 9112, 3). The method is a token (RFC 9110, 5.6.2); the
# target may hold bytes beyond ASCII, which no RFC allows and some installers send.
_REQUEST_LINE: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~\x80-\xff]+) HTTP/1\.([01])")

# Empty lines before a request are skipped (RFC 9112, 2.2).
_EMPTY_LINES: Final = re.compile(rb"\A(?:\r\n)+")

# absolute-form (RFC 9112, 3.2.2) without its fragment; the group is path and query.
_ABSOLUTE_TARGET: Final = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\]+([^#]*)")


class Progress(Enum):
    """The bytes that a connection needs next to complete its request."""

    MORE = "more bytes"
    CONTINUE = "more bytes, and the client waits for `100 Continue` before it sends them"
    COMPLETE = "nothing: the request is there"


# Python 3.11 takes 0.1 µs to find a member of an enumeration, and a request needs three.
MORE: Final = Progress.MORE
COMPLETE: Final = Progress.COMPLETE


class HttpRequest:
    """One request. Text is latin-1 of the bytes on the wire, nothing is percent-decoded.

    ``target`` is in origin form (``/path?query``) whatever form was sent, but for ``*`` and a CONNECT's ``host:port``.
    ``body`` is empty where ``body_too_large``: it was not read, or not to its end; and where it is not wanted
    (`WantsBody`). A body that was allowed to be larger (`LargerBody`), and is, is ``spooled`` instead.
    """

    __slots__ = ("body", "body_too_large", "header", "method", "minor_version", "path", "query", "spooled", "target")

    # Not a dataclass: that would be given an `__init__` that is not compiled.
    def __init__(
        self,
        method: str,
        target: str,
        path: str,
        query: str,
        minor_version: int,
        header: HeaderBlock,
        body: bytes = b"",
        body_too_large: bool = False,
    ) -> None:
        """``minor_version``: of HTTP/1."""
        self.method = method
        self.target = target
        self.path = path
        self.query = query
        self.minor_version = minor_version
        self.header = header
        self.body = body
        self.body_too_large = body_too_large
        self.spooled: mmap.mmap | None = None

    @property
    def headers(self) -> Headers:
        """All header lines."""
        return self.header.lines

    def decoded_path(self) -> str:
        """The path percent-decoded, as WSGI's ``PATH_INFO``: latin-1 of the decoded bytes."""
        return unquote_to_bytes(self.path.encode("latin-1")).decode("latin-1") if "%" in self.path else self.path


WantsBody = Callable[[HttpRequest], bool]
"""Whether the body of a request is worth reading, judged from its header: a request that is refused whatever its body
holds must not fill the memory."""


LargerBody = Callable[[HttpRequest], int]
"""Bytes that the body of a request may have, judged from its header."""


class RequestReader:
    """Reads one request from the pieces that `receive` is given, in order.

    ``request`` is None until its header is complete. ``sent_more``: whether the client has sent, or may still be
    sending, more than was read: bytes after the request, or a body that is not wanted.
    """

    __slots__ = (
        "_body",
        "_buffer",
        "_chunks",
        "_larger_body",
        "_line",
        "_max_body",
        "_missing",
        "_start",
        "_wants_body",
        "request",
        "sent_more",
    )

    def __init__(
        self, max_body: int, wants_body: WantsBody = lambda _: True, larger_body: LargerBody | None = None
    ) -> None:
        """``max_body``: bytes of a body that is still read; a longer one makes ``request.body_too_large``.
        ``larger_body`` may allow more for some requests, whose bodies are spooled. ``wants_body`` is
        asked before a body is waited for, and before one in chunks is read."""
        self._max_body = max_body
        self._wants_body = wants_body
        self._larger_body = larger_body
        self._buffer: bytes | bytearray = b""
        self._line: tuple[str, str, int] | None = None  # method, target, minor version
        self._start = 0  # of the header lines in the buffer
        self._missing = 0  # bytes of an identity body still to come
        self._body: bytearray | Spool | None = None
        self._chunks: ChunkedBody | None = None
        self.request: HttpRequest | None = None
        self.sent_more = True

    def receive(self, data: bytes) -> Progress:
        """Take the next bytes of the stream. Raises `BadRequest`; not to be called again after that or COMPLETE."""
        if self.request is not None:
            return self._receive_body(self.request, data)
        if self._buffer:
            if isinstance(self._buffer, bytes):
                self._buffer = bytearray(self._buffer)
            seen = len(self._buffer)
            self._buffer += data
        else:
            seen = 0
            self._buffer = data
        if self._line is None and not self._read_request_line(seen):
            return MORE
        return self._read_header_block(max(seen, self._start))

    def end(self) -> None:
        """Note that the client sends nothing more. Raises `BadRequest` where its request is incomplete."""
        if self.request is not None:
            raise BadRequest(BAD_REQUEST, "the body ended before it was complete")
        if self._buffer:
            raise BadRequest(BAD_REQUEST, "the request ended before its header was complete")

    @property
    def held(self) -> int:
        """Bytes of an incomplete body that are kept."""
        if self._body is not None:
            return len(self._body)
        return len(self._chunks.chunks.body) if self._chunks is not None else 0

    def drop_body(self) -> None:
        """Drop the part of the body that has arrived; nothing more is received."""
        self._body = self._chunks = None
        self.sent_more = True
        if self.request is not None:
            self.request.body, self.request.spooled = b"", None

    @property
    def line(self) -> tuple[str, str]:
        """Method and target for the log; ``-`` for both as long as they are not known."""
        if self.request is not None:
            return self.request.method, self.request.target
        return self._line[:2] if self._line is not None else ("-", "-")

    def _read_request_line(self, seen: int) -> bool:
        if self._buffer.startswith(b"\r\n"):
            self._buffer = _EMPTY_LINES.sub(b"", self._buffer, 1)
            seen = 0
        buffer = self._buffer
        line_feed = buffer.find(b"\n", seen)
        length = (line_feed if line_feed >= 0 else len(buffer)) - 1
        if length > MAX_REQUEST_LINE:
            raise BadRequest(URI_TOO_LONG, f"the request line is longer than {MAX_REQUEST_LINE} bytes")
        if line_feed < 0:
            return False
        if not buffer.endswith(b"\r", 0, line_feed):
            raise BadRequest(BAD_REQUEST, "malformed request: a line ends in a bare line feed")
        match = _REQUEST_LINE.fullmatch(buffer[:length].decode("latin-1"))
        if match is None:
            raise BadRequest(BAD_REQUEST, "malformed request line: wanted METHOD TARGET HTTP/1.1")
        method, target, minor_version = match.groups()
        self._line = (method, target, 1 if minor_version == "1" else 0)
        self._start = line_feed + 1
        return True

    def _read_header_block(self, seen: int) -> Progress:
        """Validate the header lines once they are all there; ``seen``: the bytes of the buffer that were checked
        before."""
        buffer, start = self._buffer, self._start
        # From the line feed of the request line on, so that a block without any line has its end too.
        end = buffer.find(b"\r\n\r\n", max(start - 2, seen - 3), start + MAX_HEADER_BLOCK + 2)
        method, target, minor_version = self._line or ("", "", 0)
        block = bytes(buffer[start : end + 4]) if end >= 0 else b""
        header = known_block(minor_version, block)
        if header is None:
            looked_at = end if end >= 0 else min(len(buffer), start + MAX_HEADER_BLOCK)
            first = max(start, seen - 1)
            if buffer.count(b"\n", first, looked_at) != buffer.count(b"\r\n", max(start, first - 1), looked_at):
                raise BadRequest(BAD_REQUEST, "malformed header: a line ends in a bare line feed")
            if end < 0:
                if len(buffer) >= start + MAX_HEADER_BLOCK + 2:
                    raise BadRequest(HEADER_TOO_LARGE, f"the header is longer than {MAX_HEADER_BLOCK} bytes")
                return MORE
        if not target.startswith("/") or "#" in target:
            target = _origin_form(method, target)
        if header is None:
            header = validated_block(minor_version, block)
        path, _, query = target.partition("?")
        self.request = HttpRequest(method, target, path, query, minor_version, header)
        self._buffer = b""
        return self._begin_body(self.request, bytes(buffer[end + 4 :]))

    def _begin_body(self, request: HttpRequest, rest: bytes) -> Progress:
        header = request.header
        length = header.length
        if not length and not header.is_chunked:
            self.sent_more = bool(rest)
            return COMPLETE
        max_body, body = self._max_body, None
        if self._larger_body is not None and (header.is_chunked or length > max_body):
            max_body = self._larger_body(request)
            body = Spool() if max_body > self._max_body else None
        if length > max_body:
            request.body_too_large = True
            return COMPLETE
        if (header.is_chunked or length > len(rest)) and not self._wants_body(request):
            return COMPLETE
        if header.is_chunked:
            self._chunks = ChunkedBody(max_body, body)
        self._body = body
        self._missing = length
        progress = self._receive_body(request, rest) if rest else Progress.MORE
        if progress is MORE and header.expects_continue:
            return Progress.CONTINUE
        return progress

    def _receive_body(self, request: HttpRequest, data: bytes) -> Progress:
        if self._chunks is not None:
            return self._receive_chunks(request, self._chunks, data)
        missing = self._missing
        if len(data) < missing:
            if self._body is None:
                self._body = bytearray()
            self._body.extend(data)
            self._missing = missing - len(data)
            return MORE
        self.sent_more = len(data) > missing
        if self.sent_more:
            data = data[:missing]
        if self._body is not None:
            self._body.extend(data)
            _finish(request, self._body)
            self._body = None
        else:
            request.body = data
        return COMPLETE

    def _receive_chunks(self, request: HttpRequest, body: ChunkedBody, data: bytes) -> Progress:
        body.receive(data)
        chunks = body.chunks
        if chunks.too_large:
            request.body_too_large = True
        elif not chunks.complete:
            return MORE
        else:
            _finish(request, chunks.body)
            self.sent_more = body.sent_more
        self._chunks = None
        return COMPLETE


def _finish(request: HttpRequest, body: bytearray | Spool) -> None:
    content = body.content() if isinstance(body, Spool) else bytes(body)
    if isinstance(content, bytes):
        request.body = content
    else:
        request.spooled = content


def _origin_form(method: str, target: str) -> str:
    """Return ``/path?query`` for any form of target; a fragment, which no client should send, is dropped."""
    if target.startswith("/"):
        return target.partition("#")[0] if "#" in target else target
    if target == "*" or method == "CONNECT":
        return target
    match = _ABSOLUTE_TARGET.match(target)
    if match is None:
        raise BadRequest(BAD_REQUEST, "malformed request line: the target is neither a path nor an http URL")
    rest = match[1]
    return rest if rest.startswith("/") else "/" + rest
