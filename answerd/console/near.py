"""Rows and machines that are one letter or digit off: that one may have been meant.

Rules: docs/console.md#many-rows where rows are to be added; docs/console.md#the-verdict for a machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.one_digit_off import is_named, may_be_mistyped, rows_one_off, spelled
from answerd.console.backend import names_sent
from answerd.console.places import row_address
from answerd.console.rendering import machine_link
from answerd.identity import identity_of
from answerd.installs.contacts import Contact
from answerd.installs.shown import UnknownMachine
from answerd.suggestion import one_edit_from

MOST_NEAR = 3
"""Rows that one value is near to. One that is near to more is of a series that is numbered, and no typing error."""


class NearRow(NamedTuple):
    """A row that has a value which is one digit off. Its value is in three parts: ``digit`` is where it differs."""

    name: str
    place: str
    address: str
    before: str
    digit: str
    after: str

    def __str__(self) -> str:
        return f"{self.place} ({self.name}) has {self.before}{self.digit}{self.after}"


class NearMachine(NamedTuple):
    """A machine that is one digit off: ``own`` is what this machine has or sent, ``other`` what that one did. ``at`` is
    when it asked last, None where it never did; ``address`` leads to it, or to the row that is to be mended."""

    own: str
    other: str
    name: str
    address: str
    at: float | None = None


def near_rows(catalogue: Catalogue, identities: Iterable[str]) -> Mapping[str, Sequence[NearRow]]:
    """Return `rows_one_off` as pages show them."""
    inventory = catalogue.inventory
    if inventory is None:
        return {}
    return {
        own: [
            NearRow(row.name, inventory.place(row), row_address(catalogue, row), *_parts(text, own))
            for row, text in rows
        ]
        for own, rows in rows_one_off(catalogue, identities).items()
        if len(rows) <= MOST_NEAR
    }


def _parts(text: str, own: str) -> tuple[str, str, str]:
    """Return a text in three parts: before, at, and after the letters in which it differs from another one."""
    places = [at for at, letter in enumerate(text) if identity_of(letter)]
    other = identity_of(text)
    if len(places) != len(other):  # it is not written letter by letter
        return text, "", ""
    least = min(len(other), len(own))
    same = next((at for at in range(least) if other[at] != own[at]), least)
    tail = next((at for at in range(least - same) if other[-1 - at] != own[-1 - at]), least - same)
    begin = min(same, len(other) - 1)
    end = max(len(other) - tail, begin + 1)
    return text[: places[begin]], text[places[begin] : places[end - 1] + 1], text[places[end - 1] + 1 :]


def near_askers(
    catalogue: Catalogue, identities: Iterable[str], sightings: Iterable[UnknownMachine], contacts: Iterable[Contact]
) -> Iterator[NearMachine]:
    """Yield the machines that ask, that nothing names, and whose address or serial is one of ``identities`` but for one
    letter."""
    texts = {one: one for one in identities}
    inventory = catalogue.inventory
    for row in [row for one in texts for row in inventory.rows_of(one)] if inventory is not None else ():
        texts |= row.identities()
    edits = {other: own for own in texts if may_be_mistyped(own) for other in one_edit_from(own)}
    asked = [(one.machine, one.last, one.facts) for one in sightings]
    for contact in contacts:
        is_near = not edits.keys().isdisjoint(contact.identities)
        if is_near and not any(is_named(catalogue, one) for one in contact.identities):
            asked.append((contact.machine, contact.at, contact.labels))
    for name, at, facts in asked:
        sent = {identity_of(one): one for one in reversed(names_sent(facts))}
        found = next((one for one in sent if one in edits), None)
        if found is not None:
            yield NearMachine(spelled(edits[found], texts), spelled(found, sent), name, machine_link(name), at)
