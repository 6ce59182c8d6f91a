"""The filters of placeholders and their effect on a value (docs/templates.md#filters). A filter that cannot use a value
raises ValueError, which names the expected kind of value and never quotes the value: it may be a secret.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol
from urllib.parse import quote

from answerd.errors import AnswerTooLarge
from answerd.identity import address_digits, folded
from answerd.suggestion import nearest

Filter = tuple[str, tuple[str, ...]]
"""A filter as a placeholder has it: its name and the texts in its parentheses."""

LONGEST_FILTERED: Final = 65_536
"""The most characters that ``replace``, ``join``, ``base64`` and ``urlencode`` make, as many as a secret has. Repeated
filters could double a value each time."""

MOST_REPLACED: Final = 8_388_608
"""The most characters that ``replace`` makes of all values of a label together, as many as an answer has."""

COST: Final = dict.fromkeys((
    "host", "prefix", "netmask", "network", "broadcast", "replace", "base64", "urlencode",
), 16)  # fmt: skip
"""The cost of a filter for each value, as a multiple of the usual cost. Filters that are not here cost 1."""

COST_OF_ALL_VALUES: Final = 32
"""How many times as much a filter counts that is applied to all values of a label. A label has up to a thousand, but
most have one."""

COST_OF_GROWN_VALUES: Final = 64
"""How many times as much a filter counts after a ``replace`` that makes a value longer: from 1,024 characters, as many
as a request's value has, to `LONGEST_FILTERED`."""

MOST_PIECES: Final = 1_000
"""The most values that ``split`` and ``lines`` make, as many as a label has."""

_NO_SLUG: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_SLUG: Final = 63
"""Characters of a DNS label (RFC 1035)."""
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?\Z")
_PREFIXED: Final = re.compile(r"[0-9A-Fa-f:.]+/(?:0|[1-9][0-9]{0,2})\Z")
_TRUTHS: Final = dict.fromkeys(("true", "yes", "on", "1"), "true") | dict.fromkeys(("false", "no", "off", "0"), "false")

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_LENGTH: Final = re.compile(r"[1-9][0-9]{0,4}\Z")
_ESCAPES: Final = (("\\n", "\n"), ("\\t", "\t"))
"""What ``split`` and ``join`` understand in their text."""

_Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _separated_by(separator: str) -> Callable[[str], str]:
    def spell(value: str) -> str:
        digits = address_digits(value)
        if digits is None:
            raise ValueError("is not a MAC address")
        return bytes.fromhex(digits).hex(separator) if separator else digits

    return spell


def _slug(value: str) -> str:
    slug = _NO_SLUG.sub("-", value.lower()).strip("-")[:_LONGEST_SLUG].rstrip("-")
    if not slug:
        raise ValueError("has no ASCII letter or digit")
    return slug


def _interface(value: str) -> _Interface:
    if _PREFIXED.match(value):
        try:
            return ipaddress.ip_interface(value)
        except ValueError:
            pass
    raise ValueError("is not an address with a prefix, like 192.0.2.7/24")


def _of_interface(part: Callable[[_Interface], object]) -> Callable[[str], str]:
    return lambda value: str(part(_interface(value)))


def _of_ipv4(part: Callable[[ipaddress.IPv4Interface], object]) -> Callable[[str], str]:
    def ipv4_part(value: str) -> str:
        interface = _interface(value)
        if not isinstance(interface, ipaddress.IPv4Interface):
            raise ValueError("is an IPv6 address, which has none")
        return str(part(interface))

    return ipv4_part


def _number(value: str) -> str:
    if not _NUMBER.match(value):
        raise ValueError("is not an integer or a decimal number without leading zeros and exponent")
    return value


def _bool(value: str) -> str:
    truth = _TRUTHS.get(value.lower())
    if truth is None:
        raise ValueError("is none of true, false, yes, no, on, off, 1 and 0")
    return truth


def _base64(value: str) -> str:
    return _bounded(base64.b64encode(value.encode()).decode())


def _urlencode(value: str) -> str:
    return _bounded(quote(value, safe=""))


def _bounded(made: str) -> str:
    if len(made) > LONGEST_FILTERED:
        raise ValueError(f"would have more than {LONGEST_FILTERED} characters")
    return made


FILTERS: Final[dict[str, Callable[[str], str]]] = {
    "bare": _separated_by(""),
    "colons": _separated_by(":"),
    "dashes": _separated_by("-"),
    "lower": str.lower,
    "upper": str.upper,
    "slug": _slug,
    "host": _of_interface(lambda interface: interface.ip),
    "prefix": _of_interface(lambda interface: interface.network.prefixlen),
    "netmask": _of_ipv4(lambda interface: interface.netmask),
    "network": _of_interface(lambda interface: interface.network.network_address),
    "broadcast": _of_ipv4(lambda interface: interface.network.broadcast_address),
    "base64": _base64,
    "urlencode": _urlencode,
    "number": _number,
    "bool": _bool,
}
"""The filters without arguments that change a text."""

ARGUMENTS: Final = {"default": 1, "replace": 2, "split": 1, "join": 1, "truncate": 1}
"""The filters with arguments, and how many."""

OF_VALUES: Final = frozenset({"list", "first", "last", "lines"})
"""The filters without arguments that change how many values there are."""

FALLBACK: Final = "default of"
"""The name under which ``default(label)`` is kept: its argument is the label of another fact."""

TYPES: Final = frozenset({"number", "bool", "list"})
"""The filters that replace the string of a structured document by another type. Each is the last of its placeholder."""

GATHERING: Final = frozenset({"join", "list", "first", "last"})
"""The filters that use all values of a label. Without these, a placeholder uses the first value."""

_WITH_ARGUMENTS: Final = (
    'default("text")',
    "default(label)",
    'replace("a", "b")',
    'split(",")',
    'join(" ")',
    "truncate(15)",
)
KNOWN: Final = ", ".join(sorted([*FILTERS, *OF_VALUES, *_WITH_ARGUMENTS], key=str.lower))
"""Every filter, as a sentence lists them."""

_NO_FALLBACK: Final = re.compile(r"secret\.|report\Z")
"""The labels that no ``default(label)`` takes: what they hold is never replaced, and replaces nothing."""


class UnknownFilter(ValueError):
    """There is no filter of the name that it has."""


def unknown(name: str) -> str:
    """Return what is wrong with a filter of a name that there is not, with the nearest one. A name that is like none
    may be a password, and is not quoted. It takes ten times as long as to read a placeholder."""
    near = nearest(name, (*FILTERS, *OF_VALUES, *ARGUMENTS))
    if near is None:
        return f"has an unknown filter; the filters are {KNOWN}"
    return f"has an unknown filter {name!r}; did you mean {near!r}?"


def read(name: str, written: Sequence[str]) -> Filter:
    """Return a filter of its name and its arguments as they are written, texts with their quotes. Raises ValueError,
    which says what is wrong with it, and `UnknownFilter`."""
    if name not in FILTERS and name not in ARGUMENTS and name not in OF_VALUES:
        raise UnknownFilter(name)
    wanted = ARGUMENTS.get(name, 0)
    if len(written) != wanted:
        how_many = {0: "no text", 1: "one text", 2: "two texts"}[wanted]
        raise ValueError(f"has a filter with the wrong number of texts: {name} takes {how_many}")
    if name == "truncate":
        if not _LENGTH.match(written[0]):
            raise ValueError("has the filter truncate without a number of characters: truncate(15)")
        return name, (written[0],)
    if name == "default" and written[0][0] not in "\"'":
        label = folded(written[0])
        if label.isdecimal():
            raise ValueError("has a default that is not in quotes")
        if _NO_FALLBACK.match(label):
            raise ValueError("has a default that takes a secret or the URL of reports, which replace nothing")
        return FALLBACK, (label,)
    if any(text[0] not in "\"'" for text in written):
        raise ValueError(f"has a filter with a text that is not in quotes: {name}")
    texts = tuple(text[1:-1] for text in written)
    if name in ("split", "join"):
        for escape, character in _ESCAPES:
            texts = tuple(text.replace(escape, character) for text in texts)
    if name in ("split", "replace") and not texts[0]:
        raise ValueError(f"has an empty text to {name} at")
    return name, texts


def spelled(name: str, texts: Sequence[str]) -> str:
    """Return a filter as a document may write it."""
    if name == FALLBACK:
        return f"default({texts[0]})"
    if name == "truncate":
        return f"truncate({texts[0]})"
    if name in ("split", "join"):
        for escape, character in _ESCAPES:
            texts = tuple(text.replace(character, escape) for text in texts)
    quoted = [f"'{text}'" if '"' in text else f'"{text}"' for text in texts]
    return f"{name}({', '.join(quoted)})" if texts else name


def apply_filter(name: str, texts: tuple[str, ...], value: str | None) -> str | None:
    """Apply a filter to one value, None for a missing value. Raises ValueError."""
    if name == "default":
        return texts[0] if value is None else value
    if value is None or name in GATHERING:
        return value
    if name == "replace":
        return _replaced(value, *texts)
    if name in CUTTING:
        return next(iter(CUTTING[name](value, *texts)), None)
    if name == "truncate":
        return value[: int(texts[0])]
    return FILTERS[name](value)


def apply_to_all(name: str, texts: tuple[str, ...], values: Sequence[str]) -> Sequence[str]:
    """Apply a filter to all values of a label. Raises ValueError."""
    if name == "default":
        return values or texts
    if name == "join":
        return [_joined(texts[0], values)] if values else values
    if name == "list":
        return values
    if name == "first":
        return values[:1]
    if name == "last":
        return values[-1:]
    if name in CUTTING:
        pieces = [piece for value in values for piece in CUTTING[name](value, *texts)]
        if len(pieces) > MOST_PIECES:
            raise ValueError(f"has more than {MOST_PIECES} pieces")
        return pieces
    if name == "replace" and sum(map(len, values)) * max(1, len(texts[1])) > MOST_REPLACED:
        return _all_replaced(values, *texts)
    return [made for value in values if (made := apply_filter(name, texts, value)) is not None]


def _pieces(value: str, separator: str) -> Iterable[str]:
    if value.count(separator) >= MOST_PIECES:
        raise ValueError(f"has more than {MOST_PIECES} pieces")
    return filter(None, value.split(separator))


def _lines(value: str) -> Iterable[str]:
    lines = [line for line in _LINE_END.split(value) if line]
    if len(lines) > MOST_PIECES:
        raise ValueError(f"has more than {MOST_PIECES} lines")
    return lines


CUTTING: Final[dict[str, Callable[..., Iterable[str]]]] = {"split": _pieces, "lines": _lines}
"""The filters that make several values of one."""


def _replaced(value: str, old: str, new: str) -> str:
    if len(new) > len(old) and len(value) + value.count(old) * (len(new) - len(old)) > LONGEST_FILTERED:
        raise ValueError(f"would have more than {LONGEST_FILTERED} characters")
    return value.replace(old, new)


def _all_replaced(values: Sequence[str], old: str, new: str) -> list[str]:
    made: list[str] = []
    room = MOST_REPLACED
    for value in values:
        made.append(_replaced(value, old, new))
        room -= len(made[-1])
        if room < 0:
            raise ValueError(f"would have more than {MOST_REPLACED} characters in all")
    return made


def _joined(separator: str, values: Sequence[str]) -> str:
    if sum(map(len, values)) + len(separator) * (len(values) - 1) > LONGEST_FILTERED:
        raise ValueError(f"would have more than {LONGEST_FILTERED} characters")
    return separator.join(values)


# --- what an answer is filled with ------------------------------------------------------------------------------------

LARGEST_ANSWER: Final = 8_388_608
"""Bytes. A real answer has some thousands; the answer of a client that reads slowly is kept in memory."""


def too_large() -> AnswerTooLarge:
    """Return the error of an answer that placeholders make larger than it may be."""
    return AnswerTooLarge(f"the filled answer has more than {LARGEST_ANSWER} bytes")


class Lookup(Protocol):
    """The values of labels (case-folded, except for the name of a secret) while an answer is filled."""

    def first(self, label: str) -> str | None:
        """Return the first value of a label, None where there is none. Raises `CannotFill`."""

    def values(self, label: str) -> Sequence[str]:
        """Return all values of a label."""
