"""Names: valid identifiers, and identities (when two names are the same machine).

Pure rules of docs/formats.md#identifiers and docs/selection.md#what-a-request-says-facts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from answerd.mac_search import INFINIBAND_LENGTH, INFINIBAND_SHAPES, MAC_LINES, SHAPE_OF, find_macs, macs_in


class Kind(StrEnum):
    """The kind of a document. The order is the order in which documents are listed."""

    DEFAULT = "default"
    GROUP = "group"
    INVENTORY = "inventory"
    MACHINE = "machine"


IDENTIFIER_LENGTH: Final = 200
"""Characters an identifier may have at most (docs/formats.md#identifiers)."""

LONGEST_VALUE: Final = 1_024
"""Characters of the longest text that is a value of a label, or an identity, of a request."""

RESERVED_MACHINES: Final = frozenset({"groups", "default", "inventory"})
"""Names that a machine cannot have, in any letter case: the file layout uses them."""

_IDENTIFIER: Final = re.compile(r"(?!\.)[A-Za-z0-9._:-]+\Z")
_TO_LOWER: Final = bytes(ord(chr(code).lower()) if code < 128 else code for code in range(256))  # noqa: PLR2004 - ASCII
_PUNCTUATION_IN_LINE: Final = bytes(code for code in range(128) if not chr(code).isalnum())
_PUNCTUATION: Final = _PUNCTUATION_IN_LINE.replace(b"\n", b"")
_FOUR_OCTETS: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}\Z")
_EIGHT_OCTETS: Final = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7}\Z")
_MAC: Final = re.compile(
    r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5}"
    r"|[0-9A-Fa-f]{12}|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}"
)

_EUI_64: Final = re.compile(
    r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7}|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){7}"
    r"|[0-9A-Fa-f]{16}|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){3}"
)
_INFINIBAND: Final = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){19}|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){19}")
INFINIBAND_DIGITS: Final = 40
"""Hex digits of InfiniBand's 20 bytes."""
_UUID_DIGITS: Final = 32
_PORT_DIGITS: Final = 16
"""The last 8 of InfiniBand's 20 bytes are the port's own; those before are a queue pair's and the network's."""


def identifier_fault(kind: Kind, identifier: str) -> str | None:
    """Return the fault of ``identifier`` as the name of a document of ``kind``; None when there is none."""
    if not identifier:
        return "an identifier cannot be empty"
    if len(identifier) > IDENTIFIER_LENGTH:
        return f"an identifier has at most {IDENTIFIER_LENGTH} characters, this one has {len(identifier)}"
    if identifier.startswith("."):
        return "an identifier cannot begin with a dot"
    if not _IDENTIFIER.match(identifier):
        return "an identifier holds only ASCII letters, digits, '-', '_', '.' and ':'"
    if not identifier.strip("-_.:"):
        return "an identifier needs at least one letter or digit"
    if kind is Kind.MACHINE and identifier.lower() in RESERVED_MACHINES:
        return f"the name is reserved: {identifier.lower()!r} cannot be a machine"
    return None


def identity_of(text: str) -> str:
    """Return the form in which two spellings of one name are equal: case-folded letters and digits, nothing else.

    An IP address is its own identity in canonical form, dots and colons included, because 192.168.1.11 is not
    192.168.11.1; a text form of another address is never equal to it. IPv4 mapped into IPv6 is the IPv4 address.
    InfiniBand's 20 bytes are the last 8, those of the port.
    """
    if len(text) == INFINIBAND_LENGTH and _INFINIBAND.fullmatch(text):
        return normalize(text)[-_PORT_DIGITS:]
    if ":" in text or "." in text:
        address = _address(text)
        if address is not None:
            return str(address)
    return normalize(text)


record_identity = lru_cache(1_024)(identity_of)
"""`identity_of` the name of an install's record, which is needed a dozen times for one answer."""


def identities_of(texts: Sequence[str]) -> list[str]:
    """Return the identity of each text, empty for a text of more than `LONGEST_VALUE` characters."""
    return identified(texts)[0]


def identified(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the `identities_of` some texts, and the MAC addresses in them (`find_macs`), of which those may be left
    out that are a text of their own.

    Many at once cost a tenth: one translation of all, where all are plain ASCII.
    """
    # An empty line after each text, because the pattern of a line that is a MAC address has the line ends around it.
    data = "\n\n".join(["", *texts, ""]).encode("utf-8", "replace")
    if data.isascii() and data.count(b"\n") == 2 * len(texts) + 2 and not _has_long_line(data):
        found = data.translate(_TO_LOWER, _PUNCTUATION).decode().split("\n\n")[1:-1]
        # Most MAC addresses of a body are a line, and to look at what is around each takes 3 µs.
        shape = data.translate(SHAPE_OF)
        for line, blank in MAC_LINES:
            shape = shape.replace(line, blank)
        if _may_have_addresses(data, shape):
            _put_addresses(texts, found)
        if INFINIBAND_SHAPES[0] in shape or INFINIBAND_SHAPES[1] in shape:
            _put_ports(texts, found)
        return found, macs_in(data, shape)
    return [identity_of(text) if len(text) <= LONGEST_VALUE else "" for text in texts], find_macs(data)


_INNER_OCTET: Final = re.compile(rb"\.[0-9]{1,3}\.")
_COLONS_OF_A_MAC: Final = 5


def _may_have_addresses(data: bytes, shape: bytes) -> bool:
    """Return whether any line may be an IP address. ``shape``: that of the lines, without those that are MAC
    addresses."""
    colons = shape.count(b":")
    if colons > 1 and (colons > _COLONS_OF_A_MAC or b"::" in shape):
        return True
    return _INNER_OCTET.search(data, data.find(b"."), data.rfind(b".") + 1) is not None


def _put_addresses(texts: Sequence[str], found: list[str]) -> None:
    """Replace the normal forms in ``found`` that are of IP addresses by their identities."""
    for at, text in enumerate(texts):
        if "." in text or "::" in text or text.count(":") > _COLONS_OF_A_MAC:
            address = _address(text)
            if address is not None:
                found[at] = str(address)


def _put_ports(texts: Sequence[str], found: list[str]) -> None:
    """Replace the normal forms in ``found`` that are of InfiniBand addresses by their identities."""
    for at, text in enumerate(texts):
        if len(text) == INFINIBAND_LENGTH:
            found[at] = identity_of(text)


def _has_long_line(text: bytes) -> bool:
    """Return whether a line has more than `LONGEST_VALUE` characters. Looks for a line end once for each so many."""
    at = 0
    while len(text) - at > LONGEST_VALUE:
        end = text.rfind(b"\n", at, at + LONGEST_VALUE + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def normalize(text: str) -> str:
    """Return ``text`` case-folded, with everything but (Unicode) letters and digits removed."""
    if text.isascii():
        return text.encode().translate(_TO_LOWER, _PUNCTUATION_IN_LINE).decode()
    # A Mac's files spell an umlaut as a letter and a mark, which is no letter.
    return "".join(filter(str.isalnum, _composed(text).casefold()))


_LABEL: Final = re.compile(r"[\w$@][\w$@.:-]*")


def is_label(name: str) -> bool:
    """Return whether a label may have this name: letters, digits, ``_``, ``$``, ``@``, and after the first character
    ``.``, ``:`` and ``-``."""
    return _LABEL.fullmatch(name) is not None


def folded(label: str) -> str:
    """Return the form in which two spellings of a label are equal."""
    return label.casefold() if label.isascii() else _composed(label).casefold()


def _composed(text: str) -> str:
    """Return a text in Unicode's form NFC; a long one as it is. The time for a run of marks grows with its square: 2
    seconds for 32,000."""
    return unicodedata.normalize("NFC", text) if len(text) <= LONGEST_VALUE else text


def address_of(text: str) -> tuple[int, int] | None:
    """Return the number of bits of an IP address and the address as a number; None for a text that is none. IPv4 mapped
    into IPv6 is the IPv4 address."""
    address = _address(text)
    return None if address is None else (address.max_prefixlen, int(address))


def _address(text: str) -> IPv4Address | IPv6Address | None:
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
        return address.ipv4_mapped
    return address


def mac_digits(text: str) -> str | None:
    """Return the twelve lower-case hex digits of a MAC address in any of its spellings; None when it is none."""
    return text.lower().replace(":", "").replace("-", "").replace(".", "") if _MAC.fullmatch(text) else None


def address_digits(text: str) -> str | None:
    """Return the lower-case hex digits of a hardware address: a MAC address of 48 bits, an EUI-64, or InfiniBand's 20
    bytes. None when it is none. Where nothing says that a text is one, 16 or 40 digits may be anything else."""
    if _MAC.fullmatch(text) or _EUI_64.fullmatch(text) or _INFINIBAND.fullmatch(text):
        return normalize(text)
    return text.lower() if len(text) == INFINIBAND_DIGITS and _HEX_DIGITS.fullmatch(text) else None


def address_identity(text: str) -> str | None:
    """Return the identity of a hardware address: its digits, of InfiniBand's those of the port. None when it is
    none."""
    digits = address_digits(text)
    return digits if digits is None else port_of(digits)


def port_of(digits: str) -> str:
    """Return the digits by which a hardware address identifies its machine, given all of them."""
    return digits[-_PORT_DIGITS:] if len(digits) == INFINIBAND_DIGITS else digits


def uuid_in_other_byte_order(identity: str) -> str | None:
    """Return a UUID, in identity form, with the bytes of its first three fields reversed: firmware, loaders and tools
    disagree about their order. None for what is no UUID, and for one that stays the same."""
    if len(identity) != _UUID_DIGITS or not _HEX_DIGITS.fullmatch(identity):
        return None
    octets = bytes.fromhex(identity)
    swapped = (octets[3::-1] + octets[5:3:-1] + octets[7:5:-1] + octets[8:]).hex()
    return swapped if swapped != identity else None


def spelled_address(text: str) -> str:
    """Return InfiniBand's 20 bytes with colons where they come without, so that the text is the address everywhere: 40
    hex digits may also be a checksum. Any other text is returned as it is."""
    if len(text) != INFINIBAND_DIGITS or address_digits(text) is None:
        return text
    return ":".join(text[at : at + 2] for at in range(0, INFINIBAND_DIGITS, 2))


def is_mac(text: str) -> bool:
    """Return whether a text is a MAC address in any of its spellings."""
    return _MAC.fullmatch(text) is not None


def without_pxelinux_prefix(text: str) -> str | None:
    """Return ``text`` without PXELINUX's ``01-`` (ARP type Ethernet) before a MAC address; None where there is none."""
    if text.startswith("01-") and _MAC.fullmatch(text, 3):
        return text[3:]
    return None


_HEX_DIGITS: Final = re.compile(r"[0-9A-Fa-f]+")
