"""Bodies of requests as they arrive, and the memory that all connections together may hold."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from httptools import HttpParserError, HttpRequestParser

from answerd.server.admission import SHARE, Admission

# --- bodies of which the middle is left out ---------------------------------------------------------------------------


class Ends(NamedTuple):
    """The limit of a body of which only the ends are kept. All are bytes."""

    limit: int
    first: int
    last: int


class EndsOfBody:
    """Collects the ends of a body as it arrives: takes the place of a bytearray."""

    __slots__ = ("_first", "_last", "_rule", "size")

    def __init__(self, rule: Ends) -> None:
        self._rule = rule
        self.clear()

    def extend(self, piece: bytes) -> None:
        self.size += len(piece)
        wanted = self._rule.first - len(self._first)
        self._first.extend(piece[:wanted])
        self._last.extend(piece[wanted:])
        del self._last[: -self._rule.last]

    def clear(self) -> None:
        self._first = bytearray()
        self._last = bytearray()
        self.size = 0

    def __len__(self) -> int:
        return len(self._first) + len(self._last)

    def parts(self) -> tuple[bytes, int, bytes]:
        """Return the first bytes, how many are left out, and the last bytes; all of it as the first where none is."""
        left_out = self.size - len(self)
        first, last = bytes(self._first), bytes(self._last)
        return (first, left_out, last) if left_out else (first + last, 0, b"")


# --- chunks (RFC 9112, 7.1) -------------------------------------------------------------------------------------------

PLACEHOLDER_LINE: Final = b"POST / HTTP/1.1\r\n"
"""The request line that llhttp is shown in place of the real one, so that no method and no target switches it to
another protocol (CONNECT, PRI) or another rule."""

# A chunked body may be cut into chunks of one byte, each six bytes on the wire; extensions and trailers, which are read
# past, have to end some time.
_ON_THE_WIRE_PER_BYTE: Final = 6
OVERHEAD_ALLOWED: Final = 65_536

# The header that llhttp is shown before a chunked body: bytes after such a body are then never parsed.
_CHUNKED_HEAD: Final = PLACEHOLDER_LINE + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"


class MalformedChunks(Exception):
    """A chunked body that breaks the coding. The words are llhttp's."""


class _Chunks:
    """llhttp's callbacks for a chunked body. They have no reference to the parser that calls them: it would be a
    cycle."""

    __slots__ = ("body", "complete", "limit", "size", "too_large")

    def __init__(self, limit: int, body: bytearray | EndsOfBody) -> None:
        self.limit = limit
        self.size = 0
        self.body = body
        self.complete = False
        self.too_large = False

    def on_body(self, piece: bytes) -> None:
        self.size += len(piece)
        self.too_large = self.too_large or self.size > self.limit
        if not self.too_large:
            self.body.extend(piece)

    def on_message_complete(self) -> None:
        self.complete = True


class ChunkedBody:
    """A chunked body as it arrives. ``received``: bytes on the wire; ``sent_more``: whether the client has sent bytes
    after the body."""

    __slots__ = ("_chunks", "_most", "_parser", "received", "sent_more", "since_body")

    def __init__(self, limit: int, body: bytearray | EndsOfBody) -> None:
        """``limit``: bytes that the body may have; ``body`` collects it."""
        self._chunks = _Chunks(limit, body)
        self._most = _ON_THE_WIRE_PER_BYTE * limit + OVERHEAD_ALLOWED
        self.received = 0
        self.since_body = 0  # bytes on the wire since the body last grew: the parser keeps a trailer
        self.sent_more = False
        self._parser = HttpRequestParser(self._chunks)
        self._parser.feed_data(_CHUNKED_HEAD)

    @property
    def too_large(self) -> bool:
        """Whether the body is larger than its limit, or ends too late."""
        return self._chunks.too_large

    def receive(self, data: bytes) -> bool:
        """Take the next bytes; return whether no more are wanted. Raises `MalformedChunks`."""
        chunks = self._chunks
        taken = data[: self._most - self.received]
        self.received += len(taken)
        size = chunks.size
        try:
            self._parser.feed_data(taken)
        except HttpParserError as error:
            if not chunks.complete and not chunks.too_large:  # it was too large before it was malformed
                raise MalformedChunks(parser_reason(error)) from None
            self.sent_more = chunks.complete  # what follows the body does not belong to it
        self.since_body = self.since_body + len(taken) if chunks.size == size else 0
        self.sent_more = self.sent_more or len(taken) < len(data)
        chunks.too_large = chunks.too_large or (self.received == self._most and not chunks.complete)
        if chunks.too_large:
            chunks.body.clear()
        return chunks.complete or chunks.too_large


def parser_reason(error: HttpParserError) -> str:
    """Return llhttp's words for an error, fit for a plain-text line."""
    reason = str(error)
    return reason[:1].lower() + reason[1:].replace("`", "") if reason else "it cannot be parsed"


# --- memory -----------------------------------------------------------------------------------------------------------


class Holder(Protocol):
    """A connection: the bytes of its body, and the answer, that are counted for it."""

    body_held: int
    answer_held: bytes | None


class ConnectionMemory:
    """The memory of one server's connections (bodies that arrive, answers that wait to be read), counted in its
    `Admission` with that of the other workers."""

    def __init__(self, admission: Admission) -> None:
        self._bodies = admission.bodies
        self._answers = admission.answers
        self._waiting: dict[int, int] = {}  # how many connections wait to send the same bytes, by their id

    def hold_body(self, connection: Holder, size: int) -> bool:
        """Count ``size`` bytes of a body, 0 where it is gone; return False if its connection must be refused: above the
        limit, a body larger than its share."""
        self._bodies.add(size - connection.body_held)
        connection.body_held = size
        return size <= SHARE or not self._bodies.exceeded

    def has_room_for(self, answer: bytes) -> bool:
        """Return whether an answer may wait to be read, in case its client is slow.

        An answer that already waits for another client costs nothing more. A single answer may be of any size.
        """
        held = self._answers.total
        return id(answer) in self._waiting or not held or held + len(answer) <= self._answers.limit

    def hold_answer(self, connection: Holder, answer: bytes) -> None:
        """Count an answer that waits to be read; the same bytes once for all clients."""
        connection.answer_held = answer
        users = self._waiting.get(id(answer), 0)
        self._waiting[id(answer)] = users + 1
        if not users:
            self._answers.add(len(answer))

    def release_answer(self, connection: Holder) -> None:
        """Stop counting the answer of a connection."""
        answer = connection.answer_held
        if answer is None:
            return
        connection.answer_held = None
        self._waiting[id(answer)] -= 1
        if not self._waiting[id(answer)]:
            del self._waiting[id(answer)]
            self._answers.add(-len(answer))
