"""The facts of a request that an inventory has a row for: what the operator wrote comes before what the machine said.

Rules: docs/inventory.md#the-row-of-a-request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from answerd.facts import STATE, Facts
from answerd.inventory.rows import Row


class RowFacts(Facts):
    """The facts of a request, with the values of its row in place of the request's own and the row's identities too.

    Shares with the facts that it is made of whatever they have worked out.
    """

    def __init__(self, facts: Facts, row: Row) -> None:
        self.__dict__.update(facts.__dict__)
        self.row = self._row = row
        self._said = facts
        self._written = row.values()
        self._of_row = row.identities()
        self._identities = None
        self._firsts = {}
        self._values = {}
        self._forms = {}
        self._for_user_data = None
        self.found = None if facts.found is None else {}

    def values(self, label: str) -> Sequence[str]:
        """Return the values of a case-folded label: the row's, where it has any, else the request's."""
        if label == STATE:  # the row's identities find the machine's install too
            return super().values(label)
        written = self._written.get(label)
        return self._said.values(label) if written is None else written

    def first(self, label: str) -> str | None:
        """Return the first of the `values`."""
        if label == STATE:
            return super().first(label)
        written = self._written.get(label)
        return self._said.first(label) if written is None else written[0]

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """Every label that has a value, case-folded, with its values."""
        return {**self._said.labels, **self._written}

    def prepare(self) -> None:
        """Work out beforehand what takes long for a large request."""
        self._said.prepare()
        self.identities  # noqa: B018 - kept

    @property
    def identities(self) -> Mapping[str, str]:
        """Each identity of the request and of its row, with the text that gave it; the request's come first."""
        if self._identities is None:
            said = self._said.identities
            self._identities = {**said, **{one: text for one, text in self._of_row.items() if one not in said}}
        return self._identities

    def identities_in(self, among: Callable[[Collection[str]], set[str]]) -> list[str]:
        """Return the `identities` that an index holds; ``among`` gives those of its keys that are in a collection."""
        found = self._said.identities_in(among)
        of_row = among(self._of_row.keys())
        if not of_row:
            return found
        return [*found, *(one for one in self._of_row if one in of_row and one not in found)]

    def _made_for_user_data(self) -> Facts:
        return RowFacts(self._said.asking_for_user_data(), self._row)
