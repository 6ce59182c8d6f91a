"""MAC addresses and serial numbers that are others but for one letter or digit: most are typing errors.

`nearly_known` finds them by look-ups, some thousand for each identity of one request; `rows_one_off` by a look at every
row, however many identities are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from answerd.answers.catalogue import Catalogue
from answerd.answers.secret_names import is_secret_column
from answerd.facts import Facts
from answerd.identity import identity_of, is_mac, mac_digits
from answerd.inventory.row import Layout, Row, hardware_in
from answerd.shared_values import MAC, SERIAL
from answerd.short_texts import brief
from answerd.suggestion import differs_by_one, one_edit_from

_SHORTEST, _LONGEST = 6, 64
"""Letters and digits of a text that may be mistyped: shorter ones are near to many, and firmware keeps no longer
serial numbers."""

MOST_MACS_COMPARED, MOST_SERIALS_COMPARED = 16, 4
"""MAC addresses and serial numbers of a request that are compared with known ones; a body may have thousands."""


def may_be_mistyped(identity: str) -> bool:
    """Return whether an identity that differs from this one in one letter is taken for a typing error."""
    return _SHORTEST <= len(identity) <= _LONGEST


def nearly_known(catalogue: Catalogue, facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield each MAC address and serial number of a request that nothing names, with each identity that a document, a
    member or a row has and that is the same but for one letter."""
    for own in _unknown_hardware(catalogue, facts):
        for other in sorted(one_edit_from(own)):
            if is_named(catalogue, other):
                yield own, other


def _unknown_hardware(catalogue: Catalogue, facts: Facts) -> Iterator[str]:
    macs = filter(is_mac, facts.identities)
    said = (*facts.values_before_json(SERIAL), *facts.system_values(SERIAL))
    serials = (one for one in dict.fromkeys(map(identity_of, said)) if not is_mac(one) and may_be_mistyped(one))
    own = (one for one in serials if not facts.shared.holds(SERIAL, one))
    for identity in (*islice(macs, MOST_MACS_COMPARED), *islice(own, MOST_SERIALS_COMPARED)):
        if not is_named(catalogue, identity):
            yield identity


def is_named(catalogue: Catalogue, identity: str) -> bool:
    """Return whether a machine's document, a member or a row names an identity."""
    inventory = catalogue.inventory
    return bool(
        catalogue.machines.get(identity)
        or catalogue.members.get(identity)
        or (inventory is not None and inventory.rows_of(identity))
    )


def rows_one_off(catalogue: Catalogue, identities: Iterable[str]) -> Mapping[str, Sequence[tuple[Row, str]]]:
    """Return for MAC addresses and serial numbers in identity form that no row has the rows with one that is the same
    but for one letter, and its text there. Where there is one to look for, every row costs some 20 µs."""
    inventory = catalogue.inventory
    if inventory is None:
        return {}
    wanted: dict[str, list[str]] = {}
    for identity in dict.fromkeys(identities):
        if may_be_mistyped(identity) and not inventory.rows_of(identity):
            for part in _without_one(identity):
                wanted.setdefault(part, []).append(identity)
    if not wanted:
        return {}
    found: dict[str, list[tuple[Row, str]]] = {}
    for row in inventory.rows():
        for other, text in _shown_hardware(row, catalogue.columns):
            if len(other) > _LONGEST + 1:  # a cell may have a megabyte, and each letter costs its length
                continue
            for own in {one for part in _without_one(other) if part in wanted for one in wanted[part]}:
                if differs_by_one(own, other):
                    found.setdefault(own, []).append((row, text))
    return found


def rows_near_to_asker(catalogue: Catalogue, facts: Facts) -> Iterator[tuple[str, str, Row]]:
    """Yield each address and serial that a machine sent, the one of a row that is one digit off, and the row."""
    inventory = catalogue.inventory
    for own, other in nearly_known(catalogue, facts) if inventory is not None else ():
        for row in inventory.rows_of(other) if inventory is not None else ():
            yield spelled(own, facts.identities), spelled(other, row.identities()), row


def spelled(identity: str, texts: Mapping[str, str]) -> str:
    """Return an identity as it was written, on one line and not too long; a MAC address with colons."""
    digits = mac_digits(identity)
    if digits is None:
        return brief(texts.get(identity, identity))
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def mistyped_in(layout: Layout, cells: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield column, identity and text of each MAC address and serial number of a row: what people mistype."""
    return (one for one in hardware_in(layout, cells) if one[0] in (MAC, SERIAL))


def _shown_hardware(row: Row, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield identity and text of a row's MAC addresses and serial numbers, but for what is named like a secret."""
    hidden = {
        key for key, column in zip(row.layout.keys, row.layout.columns, strict=True) if is_secret_column(column, labels)
    }
    for column, identity, text in mistyped_in(row.layout, row.cells()):
        if column not in hidden:
            yield identity, text


def _without_one(identity: str) -> list[str]:
    """Return what two texts have in common that differ in one letter: the text, and the text without each letter."""
    return [identity, *(identity[:at] + identity[at + 1 :] for at in range(len(identity)))]
