"""Bodies of requests as they arrive, and the memory that all connections together may hold."""

from __future__ import annotations

import mmap
import re
import tempfile
from typing import IO, TYPE_CHECKING, Final

from httptools import HttpParserError, HttpRequestParser

from answerd.server.admission import SHARE, Admission

if TYPE_CHECKING:
    from answerd.server.http.handler import Handler

SPOOL_ABOVE: Final = 1_048_576
"""Bytes of a body that are kept in memory; a larger body goes to a file, which the kernel may keep in its page
cache."""

Content = bytes | mmap.mmap
"""A whole body."""


class Spool:
    """A body that may be large: kept in memory while it is small, then in a file that has no name.

    Used as a bytearray is. ``len`` is the number of bytes in memory.
    """

    __slots__ = ("_file", "_memory")

    def __init__(self) -> None:
        self._memory = bytearray()
        self._file: IO[bytes] | None = None

    def extend(self, data: bytes) -> None:
        """Add bytes that have arrived."""
        if self._file is not None:
            self._file.write(data)
            return
        self._memory += data
        if len(self._memory) > SPOOL_ABOVE:
            self._file = tempfile.TemporaryFile(prefix="answerd-")  # noqa: SIM115 - it is closed with this object
            self._file.write(self._memory)
            self._memory = bytearray()

    def __len__(self) -> int:
        return len(self._memory)

    def clear(self) -> None:
        """Drop all bytes that have arrived."""
        self._memory.clear()
        self._file = None

    def content(self) -> Content:
        """Return the whole body. Nothing is to be added any more."""
        if self._file is None:
            return bytes(self._memory)
        self._file.flush()
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)


# --- chunks (RFC 9112, 7.1) -------------------------------------------------------------------------------------------

PLACEHOLDER_LINE: Final = b"POST / HTTP/1.1\r\n"
"""The request line that llhttp is shown in place of the real one, so that no method and no target switches it to
another protocol (CONNECT, PRI) or another rule."""

# A chunked body may be cut into chunks of one byte (six bytes on the wire for one of the body); what exceeds that is
# extensions and trailers, which are read past and must end some time.
_OVERHEAD_PER_BYTE = 5
OVERHEAD_ALLOWED = 65_536
_OVERHEAD_CHECKED_EVERY = 16_384

# The header that llhttp is shown before a chunked body: bytes after such a body are then never parsed.
_CHUNKED_HEAD = PLACEHOLDER_LINE + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"

_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]+)[;\r]")  # chunk-size = 1*HEXDIG, then an extension or the line end
_SIZE_LINE_KEPT = 256  # bytes; more leading zeros than that before a size make its chunk wait like any other


class MalformedChunks(Exception):
    """A chunked body that breaks the coding. The words are llhttp's."""


class _Chunks:
    """llhttp's callbacks for a chunked body. They have no reference to the parser that calls them: it would be a cycle.

    ``size``: bytes of the body so far. ``before_chunk``: those before the chunk that is being read, None between
    chunks. ``opened``: whether a chunk's size line has been read since this was last set to False.
    """

    __slots__ = ("_limit", "before_chunk", "body", "complete", "opened", "size", "too_large")

    def __init__(self, limit: int, body: bytearray | Spool) -> None:
        self._limit = limit
        self.size = 0
        self.before_chunk: int | None = None
        self.opened = False
        self.body = body
        self.complete = False
        self.too_large = False

    def on_chunk_header(self) -> None:
        self.before_chunk = self.size
        self.opened = True

    def on_chunk_complete(self) -> None:
        self.before_chunk = None

    def on_body(self, piece: bytes) -> None:
        self.size += len(piece)
        self.too_large = self.too_large or self.size > self._limit
        if not self.too_large:
            self.body.extend(piece)

    def on_message_complete(self) -> None:
        self.complete = True


class ChunkedBody:
    """A chunked body as it arrives. ``chunks`` has the state of the parser; ``sent_more``: whether the client has
    sent bytes after the body."""

    __slots__ = ("_limit", "_line", "_parser", "_received", "chunks", "sent_more")

    def __init__(self, limit: int, body: bytearray | Spool) -> None:
        """``limit``: bytes that the body may have; ``body`` collects it."""
        self.chunks = _Chunks(limit, body)
        self._limit = limit
        self._line = b""  # the beginning of a size line that is not complete
        self.sent_more = False
        self._received = 0
        self._parser = HttpRequestParser(self.chunks)
        self._parser.feed_data(_CHUNKED_HEAD)

    def receive(self, data: bytes) -> None:
        """Take the next bytes of the body. Raises `MalformedChunks`."""
        chunks = self.chunks
        position = 0
        while position < len(data) and not chunks.complete and not chunks.too_large:
            # Up to the next multiple in the stream, so that the result does not depend on how the stream was cut.
            size = _OVERHEAD_CHECKED_EVERY - self._received % _OVERHEAD_CHECKED_EVERY
            piece = data[position : position + size]
            position += len(piece)
            self._received += len(piece)
            self._feed(piece)
            if self._received % _OVERHEAD_CHECKED_EVERY == 0 and not chunks.complete:
                overhead = self._received - chunks.size
                chunks.too_large |= overhead > OVERHEAD_ALLOWED + _OVERHEAD_PER_BYTE * chunks.size
        self.sent_more = self.sent_more or position < len(data)
        if chunks.too_large:
            chunks.body.clear()

    def _feed(self, piece: bytes) -> None:
        chunks = self.chunks
        chunks.opened = False
        try:
            self._parser.feed_data(piece)
        except HttpParserError as error:
            if chunks.complete:  # what follows the body does not belong to it
                self.sent_more = True
            elif not chunks.too_large:  # it was too large before it was malformed
                raise MalformedChunks(parser_reason(error)) from None
        else:
            self._check_open_chunk(piece)

    def _check_open_chunk(self, piece: bytes) -> None:
        """Check whether the chunk that is still being read is larger than the limit. llhttp does not report its size.

        Only the last size line of a piece can be that of an open chunk: its data are the end of the piece.
        """
        chunks, text = self.chunks, self._line + piece
        if chunks.before_chunk is None:
            self._line = text[text.rfind(b"\n") + 1 :][:_SIZE_LINE_KEPT]
        elif chunks.opened:
            line = text[: len(text) - (chunks.size - chunks.before_chunk)]
            line = line if line.endswith(b"\r\n") else line[:-1]  # the CR behind the chunk's data has been read
            claimed = _CHUNK_SIZE.match(line, line.rfind(b"\n", 0, -1) + 1)
            chunks.too_large |= claimed is not None and chunks.before_chunk + int(claimed[1], 16) > self._limit
            self._line = b""


def parser_reason(error: HttpParserError) -> str:
    """Return llhttp's words for an error, fit for a plain-text line."""
    reason = str(error)
    return reason[:1].lower() + reason[1:].replace("`", "") if reason else "it cannot be parsed"


# --- memory -----------------------------------------------------------------------------------------------------------


class ConnectionMemory:
    """The memory of one server's connections (bodies that arrive, answers that wait to be read), counted in its
    `Admission` with that of the other workers."""

    def __init__(self, admission: Admission) -> None:
        self._bodies = admission.bodies
        self._answers = admission.answers
        self._large: dict[Handler, None] = {}  # incomplete bodies above their share, the last that grew at the end
        self._waiting: dict[int, int] = {}  # how many connections wait to send the same bytes, by their id

    def hold_body(self, connection: Handler, size: int) -> bool:
        """Count an incomplete body of ``size`` bytes; return False if its connection must be refused.

        Above the limit, a body larger than its share is refused. A body within its share is not: a larger one is
        refused instead.
        """
        self.keep_body(connection, size)
        if size > SHARE:
            self._large[connection] = None
            return not self._bodies.exceeded
        if self._bodies.exceeded:
            self.refuse_large_bodies()
        return True

    def keep_body(self, connection: Handler, size: int) -> None:
        """Count a complete body of ``size`` bytes, which is not refused any more."""
        self._bodies.add(size - connection.body_held)
        connection.body_held = size
        self._large.pop(connection, None)

    def release_body(self, connection: Handler) -> None:
        """Stop counting the body of a connection."""
        self.keep_body(connection, 0)

    def refuse_large_bodies(self) -> None:
        """Refuse bodies larger than their share until the limit holds, or none of them is left in this process."""
        while self._large and self._bodies.exceeded:
            next(reversed(self._large)).refuse_body()

    def has_room_for(self, answer: bytes) -> bool:
        """Return whether an answer may wait to be read, in case its client is slow.

        An answer that already waits for another client costs nothing more. A single answer may be of any size.
        """
        held = self._answers.total
        return id(answer) in self._waiting or not held or held + len(answer) <= self._answers.limit

    def hold_answer(self, connection: Handler, answer: bytes) -> None:
        """Count an answer that waits to be read; the same bytes once for all clients."""
        connection.answer_held = answer
        users = self._waiting.get(id(answer), 0)
        self._waiting[id(answer)] = users + 1
        if not users:
            self._answers.add(len(answer))

    def release_answer(self, connection: Handler) -> None:
        """Stop counting the answer of a connection."""
        answer = connection.answer_held
        if answer is None:
            return
        connection.answer_held = None
        self._waiting[id(answer)] -= 1
        if not self._waiting[id(answer)]:
            del self._waiting[id(answer)]
            self._answers.add(-len(answer))
