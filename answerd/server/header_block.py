"""A header block: its validated lines, and the framing of the body that they announce.

Knows the rules for header lines (docs/http.md#malformed-requests): llhttp (through httptools) parses them, and
malformed lines that it accepts are refused here. Must not know where a block begins or ends, the body itself, or WSGI.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from answerd.server.statuses import BAD_REQUEST

# The request line that llhttp is shown in place of the real one, so that no method and no target switches it to
# another protocol (CONNECT, PRI) or another rule.
PLACEHOLDER_LINE: Final = b"POST / HTTP/1.1\r\n"

# Characters that no host and no port can have (RFC 9110, 7.2, and RFC 3986, 3.2.2). An empty Host is allowed.
_NOT_IN_HOST: Final = re.compile(r'[\s/\\?#@"<>]')

# A Content-Length (RFC 9110, 8.6: 1*DIGIT) that may exceed the 64 bits that llhttp counts with.
_OVERLONG_LENGTH: Final = re.compile(rb"(?i)(\r\ncontent-length:[ \t]*)[0-9]{19,}([ \t]*\r\n)")


class BadRequest(Exception):
    """A request that is refused before any app sees it: the status (400, 414 or 431) and a one-line reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


Headers = Sequence[tuple[str, str]]
"""(name in lower case, value without surrounding blanks) in order of arrival. Latin-1 of the bytes on the wire."""


@dataclass(frozen=True, slots=True, eq=False)
class HeaderBlock:
    """A validated header block. Immutable, and compared by identity: many requests share it.

    ``length`` is the size in bytes that it claims for its body, 0 where it claims none. ``is_kept``: whether later
    requests with the same bytes get this object.
    """

    lines: Headers
    length: int = 0
    is_chunked: bool = False
    expects_continue: bool = False  # for `100 Continue`
    is_kept: bool = False


_validated_blocks: Final[dict[tuple[int, bytes], HeaderBlock]] = {}
"""Blocks that are valid, with the minor version for which they are. Installers of one kind send the same lines for
every machine, and to parse them again costs half of what a request costs here."""

_KEPT_BLOCKS: Final = 512
_LONGEST_KEPT_BLOCK: Final = 1_024
_MOST_KEPT_LINES: Final = 32
"""Bounds of what is kept, in blocks and in bytes and lines of each: 5 MB at most whatever clients send."""


def known_block(minor_version: int, block: bytes) -> HeaderBlock | None:
    """Return the header block of these bytes if it was validated before and is kept."""
    return _validated_blocks.get((minor_version, block))


def validated_block(minor_version: int, block: bytes) -> HeaderBlock:
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
    is_kept = len(block) <= _LONGEST_KEPT_BLOCK and len(lines) <= _MOST_KEPT_LINES
    header = HeaderBlock(lines, length, is_chunked, expects_continue, is_kept)
    if is_kept:
        if len(_validated_blocks) >= _KEPT_BLOCKS:
            _validated_blocks.clear()
        _validated_blocks[minor_version, block] = header
    return header


class _HeaderLines:
    """llhttp's callbacks for a header block."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.lines: list[tuple[bytes, bytes]] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.lines.append((name, value))


def _header_lines(block: bytes) -> list[tuple[str, str]]:
    """Return the lines of a complete block as (lower-case name, value)."""
    read = _HeaderLines()
    try:
        HttpRequestParser(read).feed_data(PLACEHOLDER_LINE + block)
    except HttpParserUpgrade:  # an upgrade is offered, never taken
        pass
    except HttpParserError as error:
        if "overflow" in str(error):
            # Digits beyond 64 bits are a valid length that claims too much, not a malformed one.
            clamped = _OVERLONG_LENGTH.sub(rb"\g<1>999999999999999999\2", b"\r\n" + block)
            if len(clamped) < len(block) + 2:
                return _header_lines(clamped[2:])
        raise BadRequest(BAD_REQUEST, f"malformed header: {parser_reason(error)}") from None
    return [(_name(name), value.decode("latin-1").strip(" \t")) for name, value in read.lines]


_known_names: Final[dict[bytes, str]] = {}
_KNOWN_NAMES: Final = 512  # spellings remembered; installers use a few dozen, a hostile client any number
_LONGEST_KNOWN_NAME: Final = 64


def _name(name: bytes) -> str:
    lowered = _known_names.get(name)
    if lowered is None:
        lowered = name.decode("ascii").lower()
        if len(name) <= _LONGEST_KNOWN_NAME:
            if len(_known_names) >= _KNOWN_NAMES:
                _known_names.clear()
            _known_names[name] = lowered
    return lowered


def parser_reason(error: HttpParserError) -> str:
    """Return llhttp's words for an error, fit for a plain-text line."""
    reason = str(error)
    return reason[:1].lower() + reason[1:].replace("`", "") if reason else "it cannot be parsed"
