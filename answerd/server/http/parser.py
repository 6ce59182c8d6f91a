"""One HTTP request: bytes in, a request out. llhttp (through httptools) parses, and what it lets through that two
programs could read in two ways is refused here (docs/http.md#malformed-requests).

The result never depends on how the bytes were cut into packets: each rule fires at a position in the stream, and the
earliest position wins. A header block is judged as a whole when its last byte is there; a request line, a bare line
feed and a part over its limit as soon as they are seen. The request line is read here and not by llhttp, which knows a
closed list of methods: the apps answer 405 to any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from answerd.server.http.bodies import (
    PLACEHOLDER_LINE,
    ChunkedBody,
    Ends,
    EndsOfBody,
    MalformedChunks,
    parser_reason,
)
from answerd.server.statuses import BAD_REQUEST, HEADER_TOO_LARGE, URI_TOO_LONG

MAX_REQUEST_LINE: Final = 8_192  # bytes without its line end (docs/http.md#limits: 414 above)
MAX_HEADER_BLOCK: Final = 65_536  # bytes of all header lines with their line ends (docs/http.md#limits: 431 above)

# request-line = method SP request-target SP HTTP-version (RFC 9112, 3). The method is a token (RFC 9110, 5.6.2); the
# target may hold bytes beyond ASCII, which no RFC allows and some installers send.
_REQUEST_LINE: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~\x80-\xff]+) HTTP/1\.([01])")

# The same with any target, for the reason why it is none.
_ANY_TARGET: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+ (.+) HTTP/1\.[01]", re.DOTALL)
_NOT_IN_TARGET: Final = re.compile(r"[^!-~\x80-\xff]")

# The first bytes of a TLS ClientHello: a handshake record (RFC 8446, 5.1) of version 3.x.
_CLIENT_HELLO: Final = tuple(bytes((0x16, 3, minor)) for minor in range(5))

# Empty lines before a request are skipped (RFC 9112, 2.2).
_EMPTY_LINES: Final = re.compile(rb"\A(?:\r\n)+")

# absolute-form (RFC 9112, 3.2.2) without its fragment; the group is path and query.
_ABSOLUTE_TARGET: Final = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\]+([^#]*)")

# Characters that no host and no port can have (RFC 9110, 7.2, and RFC 3986, 3.2.2). An empty Host is allowed.
_NOT_IN_HOST: Final = re.compile(r'[\s/\\?#@"<>]')


class BadRequest(Exception):
    """A request that is refused before any app sees it, with 400, 414 or 431."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


Headers = Sequence[tuple[str, str]]
"""(name in lower case, value without surrounding blanks) in order of arrival. Latin-1 of the bytes on the wire."""


class HeaderBlock:
    """A validated header block, not to be changed: many requests share it.

    ``length``: the bytes that it claims for its body, 0 where it claims none. ``expects_continue``: whether the client
    waits for ``100 Continue``.
    """

    __slots__ = ("expects_continue", "is_chunked", "keys", "length", "lines")

    def __init__(
        self, lines: Headers, length: int = 0, *, is_chunked: bool = False, expects_continue: bool = False
    ) -> None:
        self.lines = lines
        self.length = length
        self.is_chunked = is_chunked
        self.expects_continue = expects_continue
        self.keys = _environ_keys(lines)
        """The lines as keys of a WSGI environ."""


# The body has been read: CONTENT_LENGTH is its size.
_NOT_FOR_APPS: Final = frozenset({"content-length", "transfer-encoding"})


def _environ_keys(lines: Headers) -> dict[str, str]:
    keys: dict[str, str] = {}
    for name, value in lines:
        # ``X_A`` would arrive as the same key as ``X-A`` and shadow it.
        if "_" in name or name in _NOT_FOR_APPS:
            continue
        key = "CONTENT_TYPE" if name == "content-type" else "HTTP_" + name.upper().replace("-", "_")
        if key in keys:
            keys[key] += ("; " if key == "HTTP_COOKIE" else ", ") + value
        else:
            keys[key] = value
    return keys


_validated_blocks: Final[dict[tuple[int, bytes], HeaderBlock]] = {}
"""Blocks that are valid, with the minor version for which they are. Installers of one kind send the same lines for
every machine, and to parse them again costs half of what a request costs here."""

_KEPT_BLOCKS: Final = 512
_LONGEST_KEPT_BLOCK: Final = 1_024
_MOST_KEPT_LINES: Final = 32
"""Bounds of what is kept, in blocks and in bytes and lines of each: 5 MB at most whatever clients send."""


def _validated_block(minor_version: int, block: bytes) -> HeaderBlock:
    """Return the header block of these bytes, which end with the empty line.

    Raises `BadRequest` for a malformed block, including those that llhttp accepts.
    """
    lines = tuple(_header_lines(block))
    hosts = length = 0
    is_chunked = expects_continue = False
    for name, value in lines:
        if name == "host":
            hosts += 1
            if _NOT_IN_HOST.search(value):
                raise BadRequest(BAD_REQUEST, "malformed header: Host is not a host name")
        elif name == "transfer-encoding":
            if value.lower() != "chunked" or not minor_version:
                raise BadRequest(BAD_REQUEST, "Transfer-Encoding must be exactly chunked, in HTTP/1.1")
            is_chunked = True
        elif name == "content-length":
            length = int(value.lstrip("0") or "0")  # int() counts leading zeros against its limit of digits
        elif name == "expect":
            expects_continue = value.lower() == "100-continue" and minor_version > 0
    if hosts != 1 and (minor_version or hosts):
        reason = "Host is given twice" if hosts else "Host is missing"
        raise BadRequest(BAD_REQUEST, f"malformed header: {reason}")
    header = HeaderBlock(lines, length, is_chunked=is_chunked, expects_continue=expects_continue)
    if len(block) <= _LONGEST_KEPT_BLOCK and len(lines) <= _MOST_KEPT_LINES:
        if len(_validated_blocks) >= _KEPT_BLOCKS:
            _validated_blocks.clear()
        _validated_blocks[minor_version, block] = header
    return header


class _HeaderLines:
    """llhttp's callback for a header block."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.lines.append((name.decode("ascii").lower(), value.decode("latin-1").strip(" \t")))


def _header_lines(block: bytes) -> list[tuple[str, str]]:
    """Return the lines of a complete block as (lower-case name, value)."""
    read = _HeaderLines()
    try:
        HttpRequestParser(read).feed_data(PLACEHOLDER_LINE + block)
    except HttpParserUpgrade:  # an upgrade is offered, never taken
        pass
    except HttpParserError as error:
        raise BadRequest(BAD_REQUEST, f"malformed header: {parser_reason(error)}") from None
    return read.lines


@dataclass(slots=True, eq=False, repr=False)
class HttpRequest:
    """One request. Text is latin-1 of the bytes on the wire, nothing is percent-decoded.

    ``minor_version`` is that of HTTP/1, ``query`` what follows the first ``?``. ``target`` is in origin form
    (``/path?query``) whatever form was sent, but for ``*`` and a CONNECT's ``host:port``. ``body`` is empty where
    ``body_too_large`` (it was not read, or not to its end) and where it is not wanted (`BodyLimit`). Of a long one with
    `Ends`, ``body`` is its beginning and ``body_end`` its end; ``left_out`` bytes are between them.
    ``body_size`` counts them too, and stays when the body is dropped.
    """

    method: str
    target: str
    path: str
    query: str
    minor_version: int
    header: HeaderBlock
    body: bytes = b""
    body_too_large: bool = False
    left_out: int = 0
    body_size: int = 0
    body_end: bytes = b""

    @property
    def headers(self) -> Headers:
        return self.header.lines

    def decoded_path(self) -> str:
        """The path percent-decoded, as WSGI's ``PATH_INFO``: latin-1 of the decoded bytes."""
        return unquote_to_bytes(self.path.encode("latin-1")).decode("latin-1") if "%" in self.path else self.path


BodyLimit = Callable[[HttpRequest], int | Ends]
"""Bytes that the body of a request may have, judged from its header; 0 where it is not worth reading: a request that is
refused whatever its body holds must not fill the memory. `Ends` where a long one is kept without its middle."""


class RequestReader:
    """Reads one request from the pieces that `receive` is given, in order: the connection carries no other.

    ``request`` is None until its header is complete. ``sent_more``: whether the client has sent, or may still be
    sending, more than was read: bytes after the request, or a body that is not wanted. ``awaits_continue``: whether the
    client waits for ``100 Continue`` before it sends its body; whoever sends that sets it to False.
    """

    __slots__ = (
        "_body", "_body_limit", "_buffer", "_chunks", "_line", "_missing", "_start", "awaits_continue", "request",
        "sent_more",
    )  # fmt: skip

    def __init__(self, body_limit: BodyLimit) -> None:
        """``body_limit`` is asked before a body is waited for, and before one in chunks is read."""
        self._body_limit = body_limit
        self._buffer: bytes | bytearray = b""
        self._line: tuple[str, str, int] | None = None  # method, target, minor version
        self._start = 0  # of the header lines in the buffer
        self._missing = 0  # bytes of an identity body still to come
        self._body: bytearray | EndsOfBody | None = None
        self._chunks: ChunkedBody | None = None
        self.request: HttpRequest | None = None
        self.sent_more = True
        self.awaits_continue = False

    def receive(self, data: bytes) -> bool:
        """Take the next bytes of the stream; return whether the request is complete. Raises `BadRequest`. Not to be
        called again after either."""
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
            return False
        return self._read_header_block(max(seen, self._start))

    def end(self) -> None:
        """Note that the client sends nothing more. Raises `BadRequest` where its request is incomplete."""
        if self.request is not None:
            raise BadRequest(BAD_REQUEST, "the body ended before it was complete")
        if self._buffer:
            raise BadRequest(BAD_REQUEST, "the request ended before its header was complete")

    @property
    def held(self) -> int:
        """Bytes of an incomplete body that are kept, at most: the parser keeps a trailer of a chunked one."""
        if self._chunks is not None and not isinstance(self._body, EndsOfBody):
            return self._chunks.received
        if self._chunks is not None and self._body is not None:
            return len(self._body) + self._chunks.since_body
        return len(self._body) if self._body is not None else 0

    def drop_body(self) -> None:
        """Drop the part of the body that has arrived; nothing more is received."""
        self._body = self._chunks = None
        self.sent_more = True
        if self.request is not None:
            self.request.body = self.request.body_end = b""

    @property
    def line(self) -> tuple[str, str]:
        """Method and target for the log; ``-`` for both as long as they are not known."""
        if self.request is not None:
            return self.request.method, self.request.target
        return self._line[:2] if self._line is not None else ("-", "-")

    @property
    def path(self) -> str | None:
        """The path of the request line; None as long as that is not there, empty for a target without a path."""
        if self._line is None:
            return None
        try:
            return _origin_form(*self._line[:2]).partition("?")[0]
        except BadRequest:
            return ""

    def _read_request_line(self, seen: int) -> bool:
        if self._buffer.startswith(b"\r\n"):
            self._buffer = _EMPTY_LINES.sub(b"", self._buffer, 1)
            seen = 0
        buffer = self._buffer
        if buffer.startswith(_CLIENT_HELLO):
            raise BadRequest(
                BAD_REQUEST, "a TLS handshake on a port that speaks plain HTTP: the URL must begin with http://"
            )
        line_feed = buffer.find(b"\n", seen)
        length = (line_feed if line_feed >= 0 else len(buffer)) - 1
        if length > MAX_REQUEST_LINE:
            raise BadRequest(URI_TOO_LONG, f"the request line is longer than {MAX_REQUEST_LINE} bytes")
        if line_feed < 0:
            return False
        if not buffer.endswith(b"\r", 0, line_feed):
            raise BadRequest(BAD_REQUEST, "malformed request: a line ends in a bare line feed")
        line = buffer[:length].decode("latin-1")
        match = _REQUEST_LINE.fullmatch(line)
        if match is None:
            raise BadRequest(BAD_REQUEST, f"malformed request line: {_line_fault(line)}")
        method, target, minor_version = match.groups()
        self._line = (method, target, 1 if minor_version == "1" else 0)
        self._start = line_feed + 1
        return True

    def _read_header_block(self, seen: int) -> bool:
        """Validate the header lines once they are all there; ``seen``: the bytes of the buffer that were checked
        before."""
        buffer, start = self._buffer, self._start
        # From the line feed of the request line on, so that a block without any line has its end too.
        end = buffer.find(b"\r\n\r\n", max(start - 2, seen - 3), start + MAX_HEADER_BLOCK + 2)
        method, target, minor_version = self._line or ("", "", 0)
        block = bytes(buffer[start : end + 4]) if end >= 0 else b""
        header = _validated_blocks.get((minor_version, block))
        if header is None:
            looked_at = end if end >= 0 else min(len(buffer), start + MAX_HEADER_BLOCK)
            first = max(start, seen - 1)
            if buffer.count(b"\n", first, looked_at) != buffer.count(b"\r\n", max(start, first - 1), looked_at):
                raise BadRequest(BAD_REQUEST, "malformed header: a line ends in a bare line feed")
            if end < 0:
                if len(buffer) >= start + MAX_HEADER_BLOCK + 2:
                    raise BadRequest(HEADER_TOO_LARGE, f"the header is longer than {MAX_HEADER_BLOCK} bytes")
                return False
        if not target.startswith("/") or "#" in target:
            target = _origin_form(method, target)
        if header is None:
            header = _validated_block(minor_version, block)
        path, _, query = target.partition("?")
        self.request = HttpRequest(method, target, path, query, minor_version, header)
        self._buffer = b""
        return self._begin_body(self.request, bytes(buffer[end + 4 :]))

    def _begin_body(self, request: HttpRequest, rest: bytes) -> bool:
        header = request.header
        length = header.length
        if length <= len(rest) and not header.is_chunked:
            self.sent_more = len(rest) > length
            request.body = rest[:length]
            request.body_size = length
            return True
        rule = self._body_limit(request)
        limit = rule.limit if isinstance(rule, Ends) else rule
        request.body_too_large = length > limit > 0
        if length > limit or not limit:
            return True
        body = EndsOfBody(rule) if isinstance(rule, Ends) else bytearray()
        if header.is_chunked:
            self._chunks = ChunkedBody(limit, body)
        self._body = body
        self._missing = length
        is_complete = bool(rest) and self._receive_body(request, rest)
        self.awaits_continue = header.expects_continue and not is_complete
        return is_complete

    def _receive_body(self, request: HttpRequest, data: bytes) -> bool:
        body = self._body
        if body is None:  # it was dropped
            return True
        if self._chunks is not None:
            try:
                if not self._chunks.receive(data):
                    return False
            except MalformedChunks as error:
                raise BadRequest(BAD_REQUEST, f"malformed chunked body: {error}") from None
            request.body_too_large = self._chunks.too_large
            if request.body_too_large:
                return True
            self.sent_more = self._chunks.sent_more
        else:
            body.extend(data[: self._missing])
            self._missing -= len(data)
            if self._missing > 0:
                return False
            self.sent_more = self._missing < 0
        self._body = self._chunks = None
        if isinstance(body, EndsOfBody):
            request.body, request.left_out, request.body_end = body.parts()
            request.body_size = body.size
        else:
            request.body = bytes(body)
            request.body_size = len(body)
        return True


def _line_fault(line: str) -> str:
    """Return why a text is no request line."""
    match = _ANY_TARGET.fullmatch(line)
    found = _NOT_IN_TARGET.search(match[1]) if match is not None else None
    if found is None:
        return "wanted METHOD TARGET HTTP/1.1"
    what = "a blank" if found[0] == " " else "a control character"
    return f"the URL has {what}: write it as %{ord(found[0]):02X} (in iPXE, ${{serial:uristring}} does so)"


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
