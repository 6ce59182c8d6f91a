"""Rows that are one letter or digit off: where a row is to be added, one that is there may have been meant.

Rules: docs/console.md#many-rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.secret_names import redacted_cell
from answerd.console.places import row_address
from answerd.identity import folded, identity_of
from answerd.inventory.row import Row, hardware_in
from answerd.suggestion import differs_by_one

COMPARED = ("mac", "serial")
"""The columns in which people mistype a digit."""

MOST_NEAR = 3
"""Rows that one value is near to. One that is near to more is of a series that is numbered, and no typing error."""

_SHORTEST = 6
"""Letters and digits of a value that is compared: shorter ones are near to many."""


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


def near_rows(catalogue: Catalogue, identities: Iterable[str]) -> Mapping[str, Sequence[NearRow]]:
    """Return the rows that differ in one letter or digit from each of some MAC addresses and serial numbers in identity
    form that no row has. Costs a look at every row where there is one to look for: some 20 µs each."""
    inventory = catalogue.inventory
    if inventory is None:
        return {}
    wanted: dict[str, list[str]] = {}
    for identity in dict.fromkeys(identities):
        if len(identity) >= _SHORTEST and not inventory.rows_of(identity):
            for part in _without_one(identity):
                wanted.setdefault(part, []).append(identity)
    if not wanted:
        return {}
    found: dict[str, list[NearRow]] = {}
    for row in inventory.rows():
        for identity, text in _compared(row, catalogue.columns):
            own = {one for part in _without_one(identity) if part in wanted for one in wanted[part]}
            for one in own:
                if differs_by_one(one, identity):
                    place = inventory.place(row)
                    near = NearRow(row.name, place, row_address(catalogue, row), *_parts(text, one))
                    found.setdefault(one, []).append(near)
    return {own: near for own, near in found.items() if len(near) <= MOST_NEAR}


def _compared(row: Row, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield identity and text of a row's MAC addresses and serial numbers, but for what is named like a secret."""
    hidden = {
        key
        for key, column in zip(row.layout.keys, row.layout.columns, strict=True)
        if redacted_cell(column, "x" * _SHORTEST, labels.get(folded(column), "")) != "x" * _SHORTEST
    }
    for column, identity, text in hardware_in(row.layout, row.cells()):
        if column in COMPARED and column not in hidden:
            yield identity, text


def _without_one(identity: str) -> list[str]:
    """Return what two texts have in common that differ in one letter: the text, and the text without each letter."""
    return [identity, *(identity[:at] + identity[at + 1 :] for at in range(len(identity)))]


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
