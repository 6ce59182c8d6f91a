"""A chunked body as it arrives: llhttp reads the framing, the limits are kept here.

Knows the chunked coding (RFC 9112, 7.1) and how much framing a body may have. Must not know the header of the request
nor where its bytes come from.
"""

from __future__ import annotations

import re

from httptools import HttpParserError, HttpRequestParser

from answerd.server.header_block import PLACEHOLDER_LINE, BadRequest, parser_reason
from answerd.server.spool import Spool
from answerd.server.statuses import BAD_REQUEST

# A chunked body may be cut into chunks of one byte (six bytes on the wire for one of the body); what exceeds that is
# extensions and trailers, which are read past and must end some time.
CHUNK_OVERHEAD_PER_BYTE = 5
CHUNK_OVERHEAD_ALLOWED = 65_536
CHUNK_OVERHEAD_CHECKED_EVERY = 16_384

# The header that llhttp is shown before a chunked body: bytes after such a body are then never parsed.
_CHUNKED_HEAD = PLACEHOLDER_LINE + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"

# chunk-size = 1*HEXDIG, then an extension or the line end (RFC 9112, 7.1).
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]+)[;\r]")
_SIZE_LINE_KEPT = 256  # bytes; more leading zeros than that before a size make its chunk wait like any other


class _Chunks:
    """llhttp's callbacks for a chunked body. They have no reference to the parser that calls them: it would be a cycle.

    ``size``: bytes of the body so far. ``before_chunk``: those before the chunk that is being read, None between
    chunks. ``opened``: whether a chunk's size line has been read since this was last set to False.
    """

    __slots__ = ("_max_body", "before_chunk", "body", "complete", "opened", "size", "too_large")

    def __init__(self, max_body: int, body: Spool | None) -> None:
        self._max_body = max_body
        self.size = 0
        self.before_chunk: int | None = None
        self.opened = False
        self.body: bytearray | Spool = bytearray() if body is None else body
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
            self.body.extend(piece)

    def on_message_complete(self) -> None:
        self.complete = True


class ChunkedBody:
    """A chunked body as it arrives. ``chunks`` has the state of the parser; ``sent_more``: whether the client has
    sent bytes after the body."""

    __slots__ = ("_line", "_max_body", "_parser", "_received", "chunks", "sent_more")

    def __init__(self, max_body: int, body: Spool | None = None) -> None:
        """``body`` collects it, where that is not memory."""
        self.chunks = _Chunks(max_body, body)
        self._max_body = max_body
        self._line = b""  # the beginning of a size line that is not complete
        self.sent_more = False
        self._received = 0
        self._parser = HttpRequestParser(self.chunks)
        self._parser.feed_data(_CHUNKED_HEAD)

    def receive(self, data: bytes) -> None:
        """Take the next bytes of the body. Raises `BadRequest`."""
        chunks = self.chunks
        position = 0
        while position < len(data) and not chunks.complete and not chunks.too_large:
            # Up to the next multiple in the stream, so that the result does not depend on how the stream was cut.
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
            if chunks.complete:  # what follows the body does not belong to it
                self.sent_more = True
            elif not chunks.too_large:  # it was too large before it was malformed
                raise BadRequest(BAD_REQUEST, f"malformed chunked body: {parser_reason(error)}") from None
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
            chunks.too_large |= claimed is not None and chunks.before_chunk + int(claimed[1], 16) > self._max_body
            self._line = b""
