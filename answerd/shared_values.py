"""Values of firmware that was never filled in: many machines have them, so they denote nobody.

Rules: docs/selection.md#values-that-many-machines-share. GLPI's and OCS' inventories, fleet tools and public reports
list them. Only values under `mac`, `serial`, `uuid`, `asset_tag`, and labels that end in them, are compared, as
identities: without case and without punctuation. No list is complete: an answer set names more (`SharedValues`), and
what it shows to be shared is in `answerd.answers.inventory_index` and in `answerd.installs.hardware`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from answerd.identity import LONGEST_VALUE, normalize

MAC: Final = "mac"
SERIAL: Final = "serial"
UUID: Final = "uuid"
ASSET_TAG: Final = "asset_tag"

LONGEST_SHARED: Final = 128
"""Characters of a shared value: firmware keeps at most 64."""

HARDWARE: Final = (MAC, SERIAL, UUID)
"""The labels of which every machine has values of its own; the first is looked at first."""

KINDS: Final = (*HARDWARE, ASSET_TAG)
"""The labels whose values identify hardware. A label that ends in one of them is like it."""

_KIND_OF_ENDING: Final = {**{kind: kind for kind in KINDS}, "asset-tag": ASSET_TAG}
_ENDINGS: Final = tuple(_KIND_OF_ENDING)


def _identities(*texts: str) -> frozenset[str]:
    return frozenset(map(normalize, texts))


# fmt: off
SHARED_SERIALS: Final = _identities(
    "To Be Filled By O.E.M.", "To Be Filled By OEM", "To Be Filled By More String",
    "To Be Filled By O.E.M. by More String", "Default string", "System Serial Number", "Chassis Serial Number",
    "Base Board Serial Number", "Serial Number xxxxxx", "Not Applicable", "Not Available", "Not Specified", "N/A", "NA",
    "None", "Null", "(null string)", "Unknown", "Unknow", "INVALID", "OEM", "O.E.M.", "OEM_Serial", "Standard", "EVAL",
    "IATPASS", "Tulip Computers", "DELL", "System Manufacturer", "System Product Name", "Product Name", "System Name",
    "empty", "0123456789", "0123456789ABCDEF", "123456789000", "12345678901234567", "SN-12345", "SN12345678",
    "SN-1234567890", "SYS-1234567890", "SYS-9876543210", "MB-1234567890", "SN-123456fvgv3i0b8o5n6n7k",
)
SHARED_UUIDS: Final = _identities(
    "03000200-0400-0500-0006-000700080009", "00020003-0004-0005-0006-000700080009",
    "00010203-0405-0607-0809-0A0B0C0D0E0F", "12345678-1234-5678-90AB-CDDEEFAABBCC",
    "12345678-1234-1234-1234-123456789012", "DEADBEEF-DEAD-BEEF-DEAD-BEEFDEADBEEF",
    "6AB5B300-538D-1014-9FB5-B0684D007B53", "03D40274-0435-05DC-8506-010700080009",
)
SHARED_MACS: Final = _identities(
    "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "44:45:53:54:00:00", "44:45:53:54:00:01", "44:45:53:54:61:6F",
    "50:50:54:50:30:30", "33:50:6F:45:30:30", "20:41:53:59:4E:FF", "00:53:45:00:00:00", "10:11:11:11:11:11",
    "02:80:37:EC:02:00", "7A:79:00:00:00:00", "be:3a:f2:b6:05:9f",
)
"""The last one is the USB network port of many servers' management controllers."""
SHARED_ASSET_TAGS: Final = _identities(
    "No Asset Tag", "Asset-1234567890", "Chassis Asset Tag", "No Asset Information",
)
# fmt: on

_RUNS: Final = re.compile(r"0+|(.)\1{4,}|[01]{5,}")
"""``0`` in any length, other runs of one character of five or more, runs of 0 and 1 of five or more."""

_ASCENDING: Final = frozenset("1234567890"[:length] for length in range(5, 11))
_ONE_BYTE: Final = re.compile(r"([0-9a-f]{2})\1{15}")
_LISTED: Final = SHARED_SERIALS | SHARED_UUIDS | SHARED_MACS | SHARED_ASSET_TAGS | _ASCENDING


def kind_of(label: str) -> str:
    """Return which of `KINDS` a case-folded label is or ends in; empty where it is none."""
    if label.endswith(_ENDINGS):  # which few labels do
        if label in KINDS:
            return label
        return next(kind for ending, kind in _KIND_OF_ENDING.items() if label.endswith(ending))
    return ""


def is_shared(kind: str, identity: str) -> bool:
    """Return whether many machines have a value, given as an identity: letters and digits, in lower case. ``kind`` is
    one of `KINDS`. A value without a letter or digit (``-``, ``.``, ``$``) is none that one machine has."""
    if not identity:
        return True
    if kind == MAC:
        return identity in SHARED_MACS
    if identity in SHARED_SERIALS or (kind == ASSET_TAG and identity in SHARED_ASSET_TAGS):
        return True
    if kind == UUID:
        return identity in SHARED_UUIDS or _ONE_BYTE.fullmatch(identity) is not None
    if identity[0] != identity[1:2] and not identity.isdecimal():  # half of what the rest takes
        return False
    return identity in _ASCENDING or _RUNS.fullmatch(identity) is not None


class SharedValues:
    """The values that many machines have: those of the tables above, and those that an answer set names.

    ``named`` are the latter as identities, where ``*`` stands for any characters and ``?`` for one. ``holds`` returns
    whether many machines have a value (`is_shared`); its kind is empty for what is no hardware's.
    """

    __slots__ = ("_exact", "_pattern", "holds", "named")

    def __init__(self, named: Iterable[str] = ()) -> None:
        self.named: Sequence[str] = tuple(sorted({*named}))
        patterns = [one for one in self.named if "*" in one or "?" in one]
        self._exact = frozenset(self.named).difference(patterns)
        # A run of stars is one: each star of a run would try every place anew.
        forms = [re.escape(re.sub(r"\*+", "*", one)).replace(r"\*", ".*").replace(r"\?", ".") for one in patterns]
        self._pattern = re.compile("|".join(forms)) if forms else None
        self.holds: Callable[[str, str], bool] = self._holds if self.named else is_shared  # every request asks often

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedValues) and self.named == other.named

    def __hash__(self) -> int:
        return hash(self.named)

    def _holds(self, kind: str, identity: str) -> bool:
        return is_shared(kind, identity) or (bool(kind) and self.names(identity))

    def hides(self, label: str, text: str) -> bool:
        """Return whether many machines have a text, as it was sent, under a case-folded label."""
        return label.endswith(_ENDINGS) and self.holds(kind_of(label), normalize(text))

    def names(self, identity: str) -> bool:
        """Return whether the set names a value."""
        if self._pattern is None or len(identity) > LONGEST_SHARED:
            return identity in self._exact
        return identity in self._exact or self._pattern.fullmatch(identity) is not None

    def empty_in(self, identities: list[str], texts: Sequence[str], places: Sequence[tuple[str, int]]) -> set[str]:
        """Empty those of some identities that many machines have, and return the texts that gave them. ``places``: the
        kind and the index of each that may be one."""
        hidden: set[str] = set()
        for kind, at in places:
            one = identities[at]
            if len(texts[at]) > LONGEST_VALUE:  # gives no identity, and may have a megabyte
                continue
            # Most have none of these signs, which take a fifth of what `holds` takes. The identity of what is written
            # like an IP address has dots or colons, and may be spelled in another way than the text.
            may_be = one in _LISTED or one[:2] == one[2:4] or one.isdecimal() or not one.isalnum() or self.named
            if may_be and self.holds(kind, normalize(texts[at])):
                identities[at] = ""
                hidden.add(texts[at])
        return hidden

    def may_hold_macs_in(self, identities: Sequence[str]) -> bool:
        """Return whether any of some identities may be a MAC address that many machines have."""
        return bool(self.named) or not SHARED_MACS.isdisjoint(identities)


BUILT_IN: Final = SharedValues()
"""Those of the tables above only."""
