"""Patterns of a ``match`` that no request can satisfy, because of what its label is (docs/check.md#oversights).

Under a label that clients send, any text may come, so there only what is surely meant otherwise is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from answerd.documents import Document
from answerd.facts import RESERVED_LABELS, STATE
from answerd.formats.patterns import Pattern, has_bits_beyond_prefix
from answerd.formats.template import SECRETS
from answerd.installs.states import State
from answerd.short_texts import brief

_IN_AN_ADDRESS: Final = frozenset("0123456789abcdef.:%*?")
_HEX_DIGITS: Final = frozenset("0123456789abcdef")
_LENGTHS_OF_MACS: Final = (12, 16, 40)
"""Hexadecimal digits of a MAC address, an EUI-64 and InfiniBand's address."""


class NeverHolds(NamedTuple):
    """Why a pattern holds for no request. ``is_certain``: whatever a client sends."""

    sentence: str
    is_certain: bool


def never_holding(document: Document, columns: Collection[str]) -> Iterator[NeverHolds]:
    """Yield a sentence for each pattern of a document that can never hold. ``columns`` are the labels of tables."""
    for criterion in document.control.match:
        label = criterion.label
        for at, pattern in enumerate(criterion.patterns, 1):
            why, is_certain = _why_never(label, pattern), True
            if not why and label not in columns:
                why, is_certain = _why_hardly(label, pattern), False
            if why:
                which = f", pattern {at}" if len(criterion.patterns) > 1 else ""
                yield NeverHolds(f"{document.key}: match {brief(label)}{which} can never hold: {why}", is_certain)


def _why_never(label: str, pattern: Pattern) -> str:
    """Return why a pattern holds for no value that its label can have; empty where it may."""
    form = pattern.form
    if label == STATE:
        return "" if any(map(pattern.matches, State)) else f"it is none of the states {', '.join(State)}"
    if label in RESERVED_LABELS or label.startswith(SECRETS):
        return "no request has this label, the service sets it after the documents are chosen"
    if label == "peer":
        return _why_no_peer(pattern)
    if label == "path" and (form.startswith("/") or form.endswith("/")):
        return "the path is compared without slashes at its ends"
    if label in ("file", "segment") and "/" in form:
        return "one segment of the path has no slash; match path has the whole path"
    return ""


def _why_no_peer(pattern: Pattern) -> str:
    form = pattern.form
    if pattern.network is not None:
        return ""
    if has_bits_beyond_prefix(form):
        return "it has bits beyond its prefix: write the first address of the network before the /"
    if "/" in form:
        return "it is no network: write one as 192.0.2.0/24 or 2001:db8::/32, without * and ?"
    if pattern.exact is not None or not set(form) <= _IN_AN_ADDRESS:
        return "it is no IP address, and peer is the address that the request came from"
    return ""


def _why_hardly(label: str, pattern: Pattern) -> str:
    """Return why a pattern holds for nothing that clients are known to send under a label."""
    form = pattern.form
    if (label == "mac" or label.endswith(".mac")) and not set(form) <= _HEX_DIGITS | {"*", "?"}:
        return "a MAC address has no other letters than a to f"
    if (label == "mac" or label.endswith(".mac")) and pattern.exact and len(form) not in _LENGTHS_OF_MACS:
        return f"a MAC address has 12 hexadecimal digits and not {len(form)}; for a part of one write *"
    if has_bits_beyond_prefix(form):
        return (
            "it has bits beyond its prefix, so it is compared as a text: for a network write its first address before "
            "the /"
        )
    return ""
