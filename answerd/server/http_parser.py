"""HTTP requests: bytes in, a request out.

Knows how one request is read from a connection that carries exactly one: where its header ends, what must be refused
(docs/http.md), how its body is framed, and the limits of each part. llhttp (through httptools) judges the header lines
and the chunked coding; the request line is read here, because llhttp knows a closed list of methods and the apps answer
405 to any. Must not know sockets, greenlets, the clock, WSGI or what a path means.

The answer never depends on how the bytes were cut into packets: every rule below fires at a position in the stream,
and the earliest position wins. A header block is judged as a whole when its last byte is there; a request line, a
bare line feed and a part over its limit as soon as they are seen.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import unquote_to_bytes

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

MAX_REQUEST_LINE = 8_192  # bytes without its line end (docs/http.md#limits: 414 above)
MAX_HEADER_BLOCK = 65_536  # bytes of all header lines with their line ends (docs/http.md#limits: 431 above)
# A chunked body may be cut into chunks of one byte (six bytes on the wire for one of the body); what exceeds that is
# extensions and trailers, which are read past and must end some time.
CHUNK_OVERHEAD_PER_BYTE = 5
CHUNK_OVERHEAD_ALLOWED = 65_536
CHUNK_OVERHEAD_CHECKED_EVERY = 16_384

# The request line that llhttp is shown in place of the real one, so that no method and no target switches it to
# another protocol (CONNECT, PRI) or another rule.
_PLACEHOLDER_LINE = b"POST / HTTP/1.1\r\n"
# The header that llhttp is shown before a chunked body: what comes after such a body is then never parsed.
_CHUNKED_HEAD = _PLACEHOLDER_LINE + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~\x80-\xff]+) HTTP/1\.([01])")
_EMPTY_LINES = re.compile(rb"\A(?:\r\n)+")
_ABSOLUTE_TARGET = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\]+([^#]*)")
_NOT_IN_HOST = re.compile(r'[\s/\\?#@"<>]')
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]+)[;\r]")
_SIZE_LINE_KEPT = 256  # bytes; more leading zeros than that before a size make its chunk wait like any other
_OVERLONG_LENGTH = re.compile(rb"(?i)(\r\ncontent-length:[ \t]*)[0-9]{19,}([ \t]*\r\n)")


class BadRequest(Exception):
    """A request that is refused before any app sees it: the status (400, 414 or 431) and a one-line reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Progress(Enum):
    """What a connection needs next to complete its request."""

    MORE = "more bytes"
    CONTINUE = "more bytes, and the client waits for `100 Continue` before it sends them"
    COMPLETE = "nothing: the request is there"


Headers = Sequence[tuple[str, str]]
"""(name in lower case, value without surrounding blanks) in order of arrival. Latin-1 of the bytes on the wire."""


@dataclass(slots=True)
class HeaderBlock:
    """A header block that was judged good, and what follows from it alone. It serves many requests: nobody changes it.

    ``length`` is what it claims of its body, 0 where it says nothing. ``environ`` are the keys that an app sees, put
    there once by `answerd.server.wsgi`.
    """

    lines: Headers
    length: int = 0
    is_chunked: bool = False
    expects_continue: bool = False  # for `100 Continue`
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Request:
    """One request. Text is latin-1 of the bytes on the wire, nothing is percent-decoded.

    ``target`` is in origin form (``/path?query``) whatever form was sent, but for ``*`` and a CONNECT's
    ``host:port``. ``body`` is empty where ``body_too_large``: it was not read, or not to its end; and where nobody
    wants it (`WantsBody`).
    """

    method: str
    target: str
    path: str
    query: str
    minor_version: int  # of HTTP/1
    header: HeaderBlock
    body: bytes = b""
    body_too_large: bool = False

    @property
    def headers(self) -> Headers:
        """All header lines."""
        return self.header.lines

    def decoded_path(self) -> str:
        """The path percent-decoded, as WSGI's ``PATH_INFO``: latin-1 of the decoded bytes."""
        return unquote_to_bytes(self.path.encode("latin-1")).decode("latin-1") if "%" in self.path else self.path


WantsBody = Callable[[Request], bool]
"""Whether the body of a request is worth reading, judged from its header: a request that is refused whatever its body
holds must not fill the memory."""


class RequestReader:
    """Reads one request from the pieces that `receive` is given, in order.

    ``request`` is None until its header is complete. ``sent_more`` tells whether the client has sent, or may still be
    sending, more than was read: bytes after the request, or a body nobody wants.
    """

    __slots__ = (
        "_body",
        "_buffer",
        "_chunks",
        "_line",
        "_max_body",
        "_missing",
        "_start",
        "_wants_body",
        "request",
        "sent_more",
    )

    def __init__(self, max_body: int, wants_body: WantsBody = lambda _: True) -> None:
        """``max_body``: bytes of a body that is still read; a longer one makes ``request.body_too_large``.
        ``wants_body`` is asked before a body is waited for, and before one in chunks is read."""
        self._max_body = max_body
        self._wants_body = wants_body
        self._buffer: bytes | bytearray = b""
        self._line: tuple[str, str, int] | None = None  # method, target, minor version
        self._start = 0  # of the header lines in the buffer
        self._missing = 0  # bytes of an identity body still to come
        self._body: bytearray | None = None
        self._chunks: _ChunkedBody | None = None
        self.request: Request | None = None
        self.sent_more = True

    def receive(self, data: bytes) -> Progress:
        """Takes the next bytes of the stream. Raises `BadRequest`; not to be called again after that or COMPLETE."""
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
            return Progress.MORE
        return self._read_header_block(max(seen, self._start))

    def end(self) -> None:
        """Told that the client sends nothing more. Raises `BadRequest` where it had begun to."""
        if self.request is not None:
            raise BadRequest(400, "the body ended before it was complete")
        if self._buffer:
            raise BadRequest(400, "the request ended before its header was complete")

    @property
    def begun(self) -> bool:
        """Whether anything of a request has arrived."""
        return bool(self._buffer) or self.request is not None

    @property
    def held(self) -> int:
        """Bytes of an incomplete body that are kept."""
        if self._body is not None:
            return len(self._body)
        return len(self._chunks.chunks.body) if self._chunks is not None else 0

    def drop_body(self) -> None:
        """Forgets what has arrived of the body; nothing more is to be received."""
        self._body = self._chunks = None
        self.sent_more = True
        if self.request is not None:
            self.request.body = b""

    @property
    def line(self) -> tuple[str, str]:
        """Method and target as they were sent, for the log; ``-`` for both as long as they are not known."""
        return self._line[:2] if self._line is not None else ("-", "-")

    def _read_request_line(self, seen: int) -> bool:
        if self._buffer.startswith(b"\r\n"):  # empty lines before a request are read past (RFC 9112, 2.2)
            self._buffer = _EMPTY_LINES.sub(b"", self._buffer, 1)
            seen = 0
        buffer = self._buffer
        line_feed = buffer.find(b"\n", seen)
        length = (line_feed if line_feed >= 0 else len(buffer)) - 1
        if length > MAX_REQUEST_LINE:
            raise BadRequest(414, f"the request line is longer than {MAX_REQUEST_LINE} bytes")
        if line_feed < 0:
            return False
        if not buffer.endswith(b"\r", 0, line_feed):
            raise BadRequest(400, "malformed request: a line ends in a bare line feed")
        match = _REQUEST_LINE.fullmatch(buffer, 0, length)
        if match is None:
            raise BadRequest(400, "malformed request line: wanted METHOD TARGET HTTP/1.1")
        method, target, minor_version = match.groups()
        self._line = (method.decode("ascii"), target.decode("latin-1"), int(minor_version))
        self._start = line_feed + 1
        return True

    def _read_header_block(self, seen: int) -> Progress:
        """Judges the header lines once they are all there; ``seen``: what of the buffer was looked at before."""
        buffer, start = self._buffer, self._start
        # From the line feed of the request line on, so that a block without any line has its end too.
        end = buffer.find(b"\r\n\r\n", max(start - 2, seen - 3), start + MAX_HEADER_BLOCK + 2)
        method, target, minor_version = self._line or ("", "", 0)
        block = bytes(buffer[start : end + 4]) if end >= 0 else b""
        header = _judged_blocks.get((minor_version, block))
        if header is None:
            looked_at = end if end >= 0 else min(len(buffer), start + MAX_HEADER_BLOCK)
            first = max(start, seen - 1)
            if buffer.count(b"\n", first, looked_at) != buffer.count(b"\r\n", max(start, first - 1), looked_at):
                raise BadRequest(400, "malformed header: a line ends in a bare line feed")
            if end < 0:
                if len(buffer) >= start + MAX_HEADER_BLOCK + 2:
                    raise BadRequest(431, f"the header is longer than {MAX_HEADER_BLOCK} bytes")
                return Progress.MORE
        if not target.startswith("/") or "#" in target:
            target = _origin_form(method, target)
        if header is None:
            header = _validated_header(minor_version, block)
        path, _, query = target.partition("?")
        self.request = Request(method, target, path, query, minor_version, header)
        self._buffer = b""
        return self._begin_body(self.request, bytes(buffer[end + 4 :]))

    def _begin_body(self, request: Request, rest: bytes) -> Progress:
        header = request.header
        length = header.length
        if not length and not header.is_chunked:
            self.sent_more = bool(rest)
            return Progress.COMPLETE
        if length > self._max_body:
            request.body_too_large = True
            return Progress.COMPLETE
        if (header.is_chunked or length > len(rest)) and not self._wants_body(request):
            return Progress.COMPLETE
        if header.is_chunked:
            self._chunks = _ChunkedBody(self._max_body)
        self._missing = length
        progress = self._receive_body(request, rest) if rest else Progress.MORE
        if progress is Progress.MORE and header.expects_continue:
            return Progress.CONTINUE
        return progress

    def _receive_body(self, request: Request, data: bytes) -> Progress:
        if self._chunks is not None:
            return self._receive_chunks(request, self._chunks, data)
        missing = self._missing
        if len(data) < missing:
            if self._body is None:
                self._body = bytearray()
            self._body += data
            self._missing = missing - len(data)
            return Progress.MORE
        self.sent_more = len(data) > missing
        if self.sent_more:
            data = data[:missing]
        if self._body:
            self._body += data
            data = bytes(self._body)
            self._body = None
        request.body = data
        return Progress.COMPLETE

    def _receive_chunks(self, request: Request, body: "_ChunkedBody", data: bytes) -> Progress:
        body.receive(data)
        chunks = body.chunks
        if chunks.too_large:
            request.body_too_large = True
        elif not chunks.complete:
            return Progress.MORE
        else:
            request.body = bytes(chunks.body)
            self.sent_more = body.sent_more
        self._chunks = None
        return Progress.COMPLETE


class _HeaderLines:
    """llhttp's callbacks for a header block."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.lines: list[tuple[bytes, bytes]] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.lines.append((name, value))


class _Chunks:
    """llhttp's callbacks for a chunked body. They do not know the parser that calls them: it would be a cycle.

    ``size``: bytes of the body so far. ``before_chunk``: those before the chunk that is being read, None between
    chunks. ``opened``: whether a chunk's size line has been read since this was last set to False.
    """

    __slots__ = ("_max_body", "before_chunk", "body", "complete", "opened", "size", "too_large")

    def __init__(self, max_body: int) -> None:
        self._max_body = max_body
        self.size = 0
        self.before_chunk: int | None = None
        self.opened = False
        self.body = bytearray()
        self.complete = False
        self.too_large = False

    def on_chunk_header(self) -> None:
        self.before_chunk = self.size
        self.opened = True

    def on_chunk_complete(self) -> None:
        self.before_chunk = None

    def on_body(self, piece: bytes) -> None:
        self.size += len(piece)
        self.too_large = self.too_large or self.size > self._max_body
        if not self.too_large:
            self.body += piece

    def on_message_complete(self) -> None:
        self.complete = True


class _ChunkedBody:
    """A chunked body as it arrives."""

    __slots__ = ("_line", "_max_body", "_parser", "_received", "chunks", "sent_more")

    def __init__(self, max_body: int) -> None:
        self.chunks = _Chunks(max_body)
        self._max_body = max_body
        self._line = b""  # how the size line begins that has not been read to its end
        self.sent_more = False
        self._received = 0
        self._parser = HttpRequestParser(self.chunks)
        self._parser.feed_data(_CHUNKED_HEAD)

    def receive(self, data: bytes) -> None:
        chunks = self.chunks
        position = 0
        while position < len(data) and not chunks.complete and not chunks.too_large:
            # To the next multiple in the stream, so that it does not matter how the stream was cut.
            size = CHUNK_OVERHEAD_CHECKED_EVERY - self._received % CHUNK_OVERHEAD_CHECKED_EVERY
            piece = data[position : position + size]
            position += len(piece)
            self._received += len(piece)
            self._feed(piece)
            if self._received % CHUNK_OVERHEAD_CHECKED_EVERY == 0 and not chunks.complete:
                overhead = self._received - chunks.size
                chunks.too_large |= overhead > CHUNK_OVERHEAD_ALLOWED + CHUNK_OVERHEAD_PER_BYTE * chunks.size
        self.sent_more = self.sent_more or position < len(data)
        if chunks.too_large:
            chunks.body.clear()

    def _feed(self, piece: bytes) -> None:
        chunks = self.chunks
        chunks.opened = False
        try:
            self._parser.feed_data(piece)
        except HttpParserError as error:
            if chunks.complete:  # what follows the body is not ours
                self.sent_more = True
            elif not chunks.too_large:  # it was too large before it was malformed
                raise BadRequest(400, f"malformed chunked body: {_reason(error)}") from None
        else:
            self._judge_open_chunk(piece)

    def _judge_open_chunk(self, piece: bytes) -> None:
        """Whether the chunk that is still being read claims more than the limit. llhttp does not tell its size.

        Only the last size line of a piece can be that of an open chunk: its data are the end of the piece.
        """
        chunks, text = self.chunks, self._line + piece
        if chunks.before_chunk is None:
            self._line = text[text.rfind(b"\n") + 1 :][:_SIZE_LINE_KEPT]
        elif chunks.opened:
            line = text[: len(text) - (chunks.size - chunks.before_chunk)]
            line = line if line.endswith(b"\r\n") else line[:-1]  # the CR behind the chunk's data has been read
            claimed = _CHUNK_SIZE.match(line, line.rfind(b"\n", 0, -1) + 1)
            chunks.too_large |= claimed is not None and chunks.before_chunk + int(claimed[1], 16) > self._max_body
            self._line = b""


def _header_lines(block: bytes | bytearray) -> list[tuple[str, str]]:
    """The header lines of a complete block (its empty line included) as (lower-case name, value)."""
    read = _HeaderLines()
    try:
        HttpRequestParser(read).feed_data(_PLACEHOLDER_LINE + block)
    except HttpParserUpgrade:  # an upgrade is offered, never taken
        pass
    except HttpParserError as error:
        if "overflow" in str(error):
            # Digits beyond 64 bits are a valid length that claims too much, not a malformed one.
            clamped = _OVERLONG_LENGTH.sub(rb"\g<1>999999999999999999\2", b"\r\n" + block)
            if len(clamped) < len(block) + 2:
                return _header_lines(clamped[2:])
        raise BadRequest(400, f"malformed header: {_reason(error)}") from None
    return [(_name(name), value.decode("latin-1").strip(" \t")) for name, value in read.lines]


_known_names: dict[bytes, str] = {}
_KNOWN_NAMES = 512  # spellings remembered; installers use a few dozen, a hostile client any number
_LONGEST_KNOWN_NAME = 64


def _name(name: bytes) -> str:
    lowered = _known_names.get(name)
    if lowered is None:
        lowered = name.decode("ascii").lower()
        if len(name) <= _LONGEST_KNOWN_NAME:
            if len(_known_names) >= _KNOWN_NAMES:
                _known_names.clear()
            _known_names[name] = lowered
    return lowered


_judged_blocks: dict[tuple[int, bytes], HeaderBlock] = {}
"""Blocks that were judged good, with the minor version they were judged for: installers of one kind send the same lines
for every machine, and to read them again costs half of what a request costs here."""

_CACHED_HEADERS = 512
_LONGEST_CACHED_HEADER = 1_024
_MOST_CACHED_LINES = 32
"""Bounds of what is remembered, in blocks and in bytes and lines of each: 5 MB at most whatever clients send."""


def _validated_header(minor_version: int, block: bytes) -> HeaderBlock:
    """The header block of these bytes. Raises `BadRequest` for what llhttp refuses, and for what it lets through."""
    header = HeaderBlock(tuple(_header_lines(block)))
    hosts = 0
    for name, value in header.lines:
        if name == "host":
            hosts += 1
            if _NOT_IN_HOST.search(value):
                raise BadRequest(400, "malformed header: Host is not a host name")
        elif name == "transfer-encoding":
            if value.lower() != "chunked" or not minor_version:
                raise BadRequest(400, "Transfer-Encoding must be exactly chunked, in HTTP/1.1")
            header.is_chunked = True
        elif name == "content-length":
            header.length = int(value.lstrip("0") or "0")  # int() counts leading zeros against its limit of digits
        elif name == "expect":
            header.expects_continue = value.lower() == "100-continue" and minor_version > 0
    if hosts != 1 and (minor_version or hosts):
        raise BadRequest(400, "malformed header: Host is given twice" if hosts else "malformed header: Host is missing")
    if len(block) <= _LONGEST_CACHED_HEADER and len(header.lines) <= _MOST_CACHED_LINES:
        if len(_judged_blocks) >= _CACHED_HEADERS:
            _judged_blocks.clear()
        _judged_blocks[minor_version, block] = header
    return header


def _origin_form(method: str, target: str) -> str:
    """``/path?query`` of any form of target; a fragment, which no client should send, is dropped."""
    if target.startswith("/"):
        return target.partition("#")[0] if "#" in target else target
    if target == "*" or method == "CONNECT":
        return target
    match = _ABSOLUTE_TARGET.match(target)
    if match is None:
        raise BadRequest(400, "malformed request line: the target is neither a path nor an http URL")
    rest = match[1]
    return rest if rest.startswith("/") else "/" + rest


def _reason(error: HttpParserError) -> str:
    """llhttp's words for what is wrong, fit for a plain-text line."""
    reason = str(error)
    return reason[:1].lower() + reason[1:].replace("`", "") if reason else "it cannot be parsed"
