"""The facts of a request that has a row in an inventory: the operator's values come before the machine's.

Rules: docs/inventory.md#the-row-of-a-request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from answerd.facts import STATE, Facts
from answerd.identity import normalize
from answerd.inventory.row import Row, identities_of_sound, name_in
from answerd.shared_values import SERIAL, UUID, kind_of


class RowFacts(Facts):
    """The facts of a request, with the values of its row in place of the request's own, and the identities of both.

    The request's part is read from the facts that this object wraps.
    """

    def __init__(self, facts: Facts, row: Row, nobody: Collection[str] = ()) -> None:
        """``nobody``: identities that rows show to be those of many machines, so that they are no facts."""
        # Attribute by attribute: reading the __dict__ of an object makes it slower for good, by 30 µs a request.
        self.request = facts.request
        self.path, self.extensions = facts.path, facts.extensions
        self.parameters = facts.parameters
        self.row = self._row = row
        self._said = facts
        self._nobody = nobody
        self._cells = row.cells()
        self._layout = row.layout
        self.shared = facts.shared
        self._identities = None
        self._values = {}
        self._forms = {}
        self._for_user_data = self._knowing = None
        self.found = None if facts.found is None else {}

    @property
    def row_id(self) -> str:
        """The ``id`` of the row as written; empty where it has none."""
        return name_in(self._layout, self._cells)

    def values(self, label: str) -> Sequence[str]:
        """Return the values of a case-folded label: the row's, where it has any, else the request's."""
        if label in self._layout.labels and (found := self._unshared(label, self._layout.values(label, self._cells))):
            return found
        if label == STATE:  # the row's identities find the machine's install too
            return super().values(label)
        return self._unshared(label, self._said.values(label))

    def _unshared(self, label: str, values: Sequence[str]) -> Sequence[str]:
        if not self._nobody or kind_of(label) not in (SERIAL, UUID):
            return values
        return [value for value in values if normalize(value) not in self._nobody]

    @property
    def cells_of_row(self) -> Sequence[str]:
        return self._cells

    @property
    def said(self) -> Facts:
        """The facts of the request alone, without those of its row."""
        return self._said

    def first(self, label: str) -> str | None:
        layout = self._layout
        if label == "id":
            return self.row_id or self._said.first(label)
        if label == STATE or label in layout.several or kind_of(label):
            return next(iter(self.values(label)), None)
        at = layout.labels.get(label)
        if at is not None and (cell := self._cells[at]):
            return cell
        return self._said.first(label)

    def values_before_json(self, label: str) -> list[str]:
        """Return the values of a case-folded label that the request has outside of a JSON body."""
        return self._said.values_before_json(label)

    def system_values(self, label: str) -> Sequence[str]:
        """Return what a JSON body says of the machine itself: see `JsonBody.system_values`."""
        return self._said.system_values(label)

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """Every label that has a value, case-folded, with its values."""
        found = {**self._said.labels, **self._row.values()}
        return {label: kept for label, values in found.items() if (kept := self._unshared(label, values))}

    def prepare(self) -> None:
        """Compute beforehand the results that take long for a large request."""
        self._said.prepare()
        self.identities  # noqa: B018 - kept

    @property
    def identities(self) -> Mapping[str, str]:
        """Each identity of the request and of its row, with the text that gave it; the request's come first."""
        if self._identities is None:
            said = self._said.identities
            of_row = identities_of_sound(self._row.layout, self._cells)
            if self._nobody:
                of_row = {value: text for value, text in of_row.items() if value not in self._nobody}
            self._identities = {**said, **{value: text for value, text in of_row.items() if value not in said}}
        return self._identities

    def identities_in(self, intersection: Callable[[Collection[str]], set[str]]) -> list[str]:
        """Return the `identities` that an index has. ``intersection`` returns those of the index's keys that are in a
        collection."""
        found = self._said.identities_in(intersection)
        of_row = intersection(self._row.names)
        if not of_row:
            return found
        return [*found, *[value for value in self._row.names if value in of_row and value not in found]]

    def identities_held_in(self, intersection: Callable[[Collection[str]], set[str]]) -> set[str]:
        """Return the `identities` that an index has, in no order."""
        return self._said.identities_held_in(intersection) | intersection(self._row.names)

    def _made_for_user_data(self) -> Facts:
        return RowFacts(self._said.asking_for_user_data(), self._row, self._nobody)
