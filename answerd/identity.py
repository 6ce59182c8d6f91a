"""Names: what may be one, when two are the same machine, and where MAC addresses stand in a text.

Pure rules of SPEC 3 and 6. Knows nothing of documents, requests or stores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from ipaddress import IPv6Address, ip_address


class Kind(StrEnum):
    """What a document belongs to. The order is the order in which documents are listed."""

    DEFAULT = "default"
    GROUP = "group"
    MACHINE = "machine"


IDENTIFIER_LENGTH = 200
"""Characters an identifier may have at most (SPEC 3)."""

SHORTEST_MAC = 12
"""Characters of a MAC address without separators."""

RESERVED_MACHINES = frozenset({"groups", "default", "inventory"})
"""Names that a machine cannot have, in any letter case: the file layout uses them."""

_IDENTIFIER = re.compile(r"(?!\.)[A-Za-z0-9._:-]+\Z")
_TO_LOWER = bytes(ord(chr(code).lower()) if code < 128 else code for code in range(256))  # noqa: PLR2004 - ASCII
_PUNCTUATION_IN_LINE = bytes(code for code in range(128) if not chr(code).isalnum())
_PUNCTUATION = _PUNCTUATION_IN_LINE.replace(b"\n", b"")
_FOUR_OCTETS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}\Z")
_EIGHT_OCTETS = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7}\Z")
_MAC = re.compile(
    r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5}"
    r"|[0-9A-Fa-f]{12}|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}"
)


def identifier_fault(kind: Kind, identifier: str) -> str | None:
    """What is wrong with ``identifier`` as the name of a document of ``kind``; None when nothing is."""
    if not identifier:
        return "an identifier cannot be empty"
    if len(identifier) > IDENTIFIER_LENGTH:
        return f"an identifier has at most {IDENTIFIER_LENGTH} characters, this one has {len(identifier)}"
    if identifier.startswith("."):
        return "an identifier cannot begin with a dot"
    if not _IDENTIFIER.match(identifier):
        return "an identifier holds only ASCII letters, digits, '-', '_', '.' and ':'"
    if not match_form(identifier):
        return "an identifier needs at least one letter or digit"
    if kind is Kind.MACHINE and identifier.lower() in RESERVED_MACHINES:
        return f"the name is reserved: {identifier.lower()!r} cannot be a machine"
    return None


def identity(text: str) -> str:
    """The form in which two spellings of one name are equal: case-folded letters and digits, nothing else.

    An IP address is its own identity in canonical form, dots and colons included, because 192.168.1.11 is not
    192.168.11.1; a text form of another address is never equal to it. IPv4 mapped into IPv6 is the IPv4 address.
    """
    if ":" in text or "." in text:
        address = _canonical_address(text)
        if address is not None:
            return address
    return match_form(text if text.isascii() else text.casefold())


_ALL_BUT_SEPARATORS = bytes(code for code in range(256) if chr(code) not in ":.\n")


def identities_of(texts: Sequence[str]) -> list[str]:
    """`identity` of each text. Many at once cost a tenth: one translation of all, where all are plain ASCII."""
    joined = "\n".join(texts)
    if not joined.isascii() or joined.count("\n") != len(texts) - 1:
        return [identity(text) for text in texts]
    lines = joined.encode()
    found = lines.translate(_TO_LOWER, _PUNCTUATION).decode().split("\n")
    separators = lines.translate(None, _ALL_BUT_SEPARATORS)
    # Only a text with the dots or colons of an IP address may be one; the five colons of a MAC address are not enough.
    for wanted in (b"...", b":::::::"):
        at, counted = 0, 0
        place = separators.find(wanted)
        while place >= 0:
            at += separators.count(b"\n", counted, place)
            counted, end = place, place + len(wanted)
            if separators[place - 1 : place] in (b"", b"\n") and separators[end : end + 1] in (b"", b"\n"):
                address = _canonical_address(texts[at])
                found[at] = found[at] if address is None else address
            place = separators.find(wanted, end)
    if b"::" in lines:
        for at, text in enumerate(texts):
            if "::" in text:
                found[at] = identity(text)
    return found


def match_form(text: str) -> str:
    """``text`` lower-cased, with everything but (Unicode) letters and digits removed: what patterns compare."""
    if text.isascii():
        return text.encode().translate(_TO_LOWER, _PUNCTUATION_IN_LINE).decode()
    return "".join(filter(str.isalnum, text.lower()))


def shown(text: str) -> str:
    """``text`` fit for a sentence: what a terminal would obey, or no encoder takes, is written as an escape."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


def _canonical_address(text: str) -> str | None:
    # Asking ipaddress costs microseconds and an exception; most values are plainly no address.
    colons = text.count(":")
    if colons == 0:
        if not _FOUR_OCTETS.match(text.strip()):
            return None
    elif colons < 2 or not ("::" in text or colons == 7 or (colons == 6 and "." in text)):  # noqa: PLR2004
        return None
    elif _EIGHT_OCTETS.match(text.strip()):
        return None  # an EUI-64 or InfiniBand GUID: nobody writes an IPv6 address as eight pairs of digits
    try:
        address = ip_address(text.strip().partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(address)


def mac_digits(text: str) -> str | None:
    """The twelve lower-case hex digits of a MAC address in any of its spellings, or None when it is none."""
    return match_form(text) if _MAC.fullmatch(text) else None


def without_pxelinux_prefix(text: str) -> str | None:
    """``text`` without PXELINUX's ``01-`` (ARP type Ethernet) before a MAC address; None where there is none."""
    if text.startswith("01-") and _MAC.match(text, 3):
        return text[3:]
    return None


# A text is drawn as a map of its characters, so that bytes.find (a memmem) can look for a shape: a regular
# expression over a 3 KB body costs 60 microseconds, the map and four searches cost 5.
_SHAPE_OF = bytes(
    ord("h") if chr(code) in "0123456789abcdefABCDEF" else code if chr(code) in ':-."' else 0 for code in range(256)
)
_MAC_SHAPES = tuple(
    (shape, re.compile(run), shape[at : at + 1] if at else b"")
    for shape, run, at in (
        (b"hh:hh:hh:hh:hh:hh", rb"hh(?::hh(?!h))*", 2),
        (b"hh-hh-hh-hh-hh-hh", rb"hh(?:-hh(?!h))*", 2),
        (b"hhhhhhhhhhhh", rb"h+", 0),
        (b"hhhh.hhhh.hhhh", rb"hhhh(?:\.hhhh(?!h))*", 4),
    )
)
"""Each spelling: its shape, the run of such groups that it may be a part of, and the separator of its groups."""
_SEPARATORS = (b":", b".", b"-")
_WORD_BEFORE = re.compile(rb"([0-9A-Za-z]+)([:.-])\Z")
_WORD_AFTER = re.compile(rb"([:.-])([0-9A-Za-z]+)")
_LONGEST_WORD = 64
_NO_HEX_DIGITS = bytes(code for code in range(256) if _SHAPE_OF[code] != ord("h"))
_SHORT = 1_024
"""Bytes of a text that is worth counting its digits first: most paths and queries have too few for an address."""


def find_macs(data: bytes, *, but_quoted: bool = False) -> Iterator[str]:
    """Every MAC address that stands in ``data``, as it is spelled there (SPEC 6).

    Six octets with one separator throughout, or none, or in Cisco's three groups; with no further hex digit
    adjoining, no further two-digit group beside it with the same separator (an InfiniBand address is none) and no
    group of four or more hex digits beside it (the tail of a UUID is none). ``but_quoted``: without those that are a
    quoted text by themselves, which who has read the JSON around them has found already.
    """
    if len(data) <= _SHORT and len(data.translate(None, _NO_HEX_DIGITS)) < SHORTEST_MAC:
        return
    shape = data.translate(_SHAPE_OF)
    for wanted, groups, separator in _MAC_SHAPES:
        start = shape.find(wanted)
        if start >= 0 and but_quoted:
            shape = shape.replace(b'"' + wanted + b'"', bytes(len(wanted) + 2))
            start = shape.find(wanted, start)
        while start >= 0:
            end = start + 1
            if not shape.startswith(b"h", start - 1 if start else len(shape)):
                # A longer run of groups holds no address, so all of it is stepped over: 1 MB of hex digits is one step.
                run = groups.match(shape, start)
                end = run.end() if run else end
                if end - start == len(wanted) and _stands_alone(data, shape, start, end, separator):
                    yield data[start:end].decode("ascii")
            start = shape.find(wanted, end)


def _stands_alone(data: bytes, shape: bytes, start: int, end: int, separator: bytes) -> bool:
    """Whether nothing after a run of groups, and no word beside it, shows that it is a part of something longer."""
    if shape.startswith(b"h", end) or shape.startswith(b"-hhhh-", max(0, start - 6)):  # the tail of a UUID, mostly
        return False
    if start and data[start - 1] in b":.-":
        before = _WORD_BEFORE.search(data[max(0, start - _LONGEST_WORD) : start])
        if before and _extends_it(before[1], before[2], separator):
            return False
    after = _WORD_AFTER.match(data, end, end + _LONGEST_WORD) if data[end : end + 1] in _SEPARATORS else None
    return not (after and _extends_it(after[2], after[1], separator))


def _extends_it(word: bytes, beside: bytes, separator: bytes) -> bool:
    """Whether ``word``, next to an address across ``beside``, shows that the address is a part of something longer."""
    if word.translate(_SHAPE_OF).strip(b"h"):
        return False
    return len(word) >= 4 or (len(word) == 2 and beside == separator)  # noqa: PLR2004 - a UUID's group, an octet
