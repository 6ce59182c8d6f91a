"""The search for MAC addresses in the bytes of a request (docs/selection.md#what-a-request-says-facts)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

SHORTEST_MAC: Final = 12
"""Characters of a MAC address without separators."""

INFINIBAND_LENGTH: Final = 59
"""Characters of InfiniBand's 20 bytes with separators."""

# A text is drawn as a map of its characters, so that bytes.find (a memmem) can look for a shape: a regular
# expression over 3 KB costs 60 microseconds, the map and four searches cost 5.
_HEX: Final = ord("h")
_DRAWN: Final = dict.fromkeys(b"0123456789abcdefABCDEF", _HEX) | {code: code for code in b":-.\n"}
SHAPE_OF: Final = bytes(_DRAWN.get(code, 0) for code in range(256))


class _Spelling(NamedTuple):
    """How a MAC address may be written: groups of ``width`` hex digits with ``separator`` between them.

    ``length`` counts characters. ``run`` finds how far groups of that kind go on, ``most`` how many a run may have
    more than an address.
    """

    length: int
    width: int
    separator: bytes
    run: re.Pattern[bytes]
    most: int


_SPELLINGS: Final[tuple[tuple[bytes, _Spelling], ...]] = (
    (b"hh:hh:hh:hh:hh:hh", _Spelling(17, 2, b":", re.compile(rb"hh(?::hh(?!h))*"), 2)),
    (b"hh-hh-hh-hh-hh-hh", _Spelling(17, 2, b"-", re.compile(rb"hh(?:-hh(?!h))*"), 2)),
    (b"hhhhhhhhhhhh", _Spelling(12, 1, b"", re.compile(rb"h+"), 0)),
    (b"hhhh.hhhh.hhhh", _Spelling(14, 4, b".", re.compile(rb"hhhh(?:\.hhhh(?!h))*"), 2)),
)
"""Each spelling with the map of an address in it."""

INFINIBAND_SHAPES: Final = (b":".join([b"hh"] * 20), b"-".join([b"hh"] * 20))
_PORT_AT: Final = 36
"""Where the port's 8 bytes begin in an InfiniBand address."""
_PXELINUX_INFINIBAND: Final = b"20-"
"""What PXELINUX puts before an InfiniBand address: its ARP type."""

MAC_LINES: Final = ((b"\nhh:hh:hh:hh:hh:hh\n", bytes(19)), (b"\nhh-hh-hh-hh-hh-hh\n", bytes(19)))
"""The shape of a line that is a MAC address, with what replaces it."""

_UUID_BEFORE: Final = b"-hhhh-"
"""What is before the last group of a UUID, which is looked at most often and is part of something longer."""
_SEPARATORS: Final = b":.-"
_HEX_RUN: Final = re.compile(rb"h*")
_WINDOW: Final = 64
"""Bytes before an address that are looked at first; a word is seldom longer."""
_LONGEST_UTF_8: Final = 4
_OCTET: Final = 2
_LONG_GROUP: Final = 4
"""Hex digits of a group that cannot stand beside an address: a UUID's groups have at least so many."""
_NO_HEX_DIGITS: Final = bytes(code for code in range(256) if SHAPE_OF[code] != _HEX)
_SHORT: Final = 1_024
"""Bytes of a text that is worth counting its digits first: most paths and queries have too few for an address."""


def find_macs(data: bytes) -> list[str]:
    """Return every MAC address in ``data``, as it is spelled there (docs/selection.md).

    Six octets with one separator throughout, or none, or in Cisco's three groups; with no further hex digit
    adjoining, no further two-digit group beside it with the same separator and no group of four or more hex digits
    beside it (the tail of a UUID is none). A group is a whole word of hex digits: the ``ac`` of ``mac-98-fa-…`` is
    none. Of InfiniBand's twenty octets the last eight, those of the port, are one.
    """
    if len(data) <= _SHORT and len(data.translate(None, _NO_HEX_DIGITS)) < SHORTEST_MAC:
        return []
    return macs_in(data, data.translate(SHAPE_OF))


def macs_in(data: bytes, shape: bytes) -> list[str]:
    """Return what `find_macs` does. ``shape``: that of the data."""
    found: list[str] = []
    for wanted, spelling in _SPELLINGS:
        start = shape.find(wanted)
        while start >= 0:
            end = start + 1
            if not start or shape[start - 1] != _HEX:
                # A longer run of groups holds no address, so all of it is stepped over: 1 MB of hex digits is one step.
                run = spelling.run.match(shape, start)
                end = run.end() if run else end
                if not shape.startswith(_UUID_BEFORE, max(0, start - len(_UUID_BEFORE))):
                    for at in _addresses_in_run(data, shape, start, end, spelling):
                        found.append(data[at : at + spelling.length].decode("ascii"))
                    if end - start >= INFINIBAND_LENGTH and spelling.width == _OCTET:
                        for at in _infiniband_in_run(data, shape, start, end, spelling):
                            found.append(data[at + _PORT_AT : at + INFINIBAND_LENGTH].decode("ascii"))
            start = shape.find(wanted, end)
    return found


def _addresses_in_run(data: bytes, shape: bytes, start: int, end: int, spelling: _Spelling) -> tuple[int, ...]:
    """Return where addresses begin in a run of groups, which may have a group more at its beginning and at its end.

    Such a group is no hex group where other letters or digits adjoin it.
    """
    separator = spelling.separator
    step = spelling.width + len(separator)
    surplus, rest = divmod(end - start - spelling.length, step)
    if rest or not 0 <= surplus <= spelling.most:
        return ()
    if surplus == 0:
        free = not _is_group_before(data, shape, start, separator) and not _is_group_after(data, shape, end, separator)
        return (start,) if free else ()
    word_before = start > 0 and _is_in_word(data[max(0, start - _LONGEST_UTF_8) : start], -1)
    word_after = end < len(data) and _is_in_word(data[end : end + _LONGEST_UTF_8], 0)
    second = start + step
    if surplus == spelling.most:
        return (second,) if word_before and word_after else ()
    found = (start,) if word_after and not _is_group_before(data, shape, start, separator) else ()
    return (*found, second) if word_before and not _is_group_after(data, shape, end, separator) else found


def _infiniband_in_run(data: bytes, shape: bytes, start: int, end: int, spelling: _Spelling) -> tuple[int, ...]:
    """Return where InfiniBand addresses begin in a run of octets, as `_addresses_in_run` does."""
    found = _addresses_in_run(data, shape, start, end, spelling._replace(length=INFINIBAND_LENGTH))
    bare = start + len(_PXELINUX_INFINIBAND)
    if bare in found or end - bare != INFINIBAND_LENGTH or not data.startswith(_PXELINUX_INFINIBAND, start):
        return found
    free = not _is_group_before(data, shape, start, b"-") and not _is_group_after(data, shape, end, b"-")
    return (*found, bare) if free else found


def _is_group_before(data: bytes, shape: bytes, start: int, separator: bytes) -> bool:
    """Return whether a hex group before ``start`` shows that what begins there is a part of something longer."""
    if start == 0 or data[start - 1] not in _SEPARATORS:
        return False
    end = start - 1
    window = _WINDOW
    while True:
        begin = max(0, end - window)
        digits = end - begin - len(shape[begin:end].rstrip(b"h"))
        if digits < end - begin or begin == 0:
            break
        window *= 2
    begin = end - digits
    if begin and _is_in_word(data[max(0, begin - _LONGEST_UTF_8) : begin], -1):
        return False
    return digits >= _LONG_GROUP or (digits == _OCTET and data[end : end + 1] == separator)


def _is_group_after(data: bytes, shape: bytes, end: int, separator: bytes) -> bool:
    """Return whether a hex group after ``end`` shows the same."""
    if end == len(data) or data[end] not in _SEPARATORS:
        return False
    found = _HEX_RUN.match(shape, end + 1)
    after = found.end() if found else end + 1
    if after < len(data) and _is_in_word(data[after : after + _LONGEST_UTF_8], 0):
        return False
    digits = after - end - 1
    return digits >= _LONG_GROUP or (digits == _OCTET and data[end : end + 1] == separator)


def _is_in_word(text: bytes, at: int) -> bool:
    """Return whether the first (0) or last (-1) character of a few bytes of UTF-8 is a letter or a digit."""
    return text.decode("utf-8", "replace")[at].isalnum()
