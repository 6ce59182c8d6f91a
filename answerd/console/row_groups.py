"""The groups that claim rows of inventories by ``match``, found once for all rows that are alike to these groups."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from answerd.answers.cases import groups_matching
from answerd.answers.catalogue import Catalogue
from answerd.answers.gates import IPXE
from answerd.documents import Key
from answerd.errors import AnswerError
from answerd.inventory.rows import Row

_MOST_KEPT = 10_000
"""Kinds of rows whose groups are kept."""


class RowGroups:
    """The groups of rows of one answer set. Finding those of a row takes 30 µs; there are rarely many kinds of rows."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._labels = sorted({criterion.label for _, match in catalogue.selectors.items() for criterion in match})
        self._known: dict[tuple[str, ...], Sequence[Key]] = {}

    def of(self, row: Row, cells: Sequence[str]) -> Sequence[Key]:
        """Return the keys of the groups that claim a row, those of loaders last. ``cells`` are the row's."""
        if not self._labels:
            return ()
        places = row.layout.labels
        kind = tuple([cells[places[label]] if label in places else "" for label in self._labels])
        found = self._known.get(kind)
        if found is None:
            try:
                groups = groups_matching(self._catalogue, row)
            except AnswerError:
                return ()
            found = sorted((document.key for document in groups), key=_order)
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[kind] = found
        return found


def may_claim_otherwise(catalogue: Catalogue, before: Catalogue, most: int) -> bool:
    """Return whether the groups of rows may be others in a set than in the set before. Of more than ``most`` groups
    that have a ``match``, they may be."""
    if catalogue.selectors is before.selectors:
        return False
    if len(catalogue.selectors) != len(before.selectors) or len(catalogue.selectors) > most:
        return True
    return _matches(catalogue) != _matches(before)


def _matches(catalogue: Catalogue) -> set[object]:
    return {
        (claim.document.key, *((criterion.label, *map(_text_of, criterion.patterns)) for criterion in match))
        for claim, match in catalogue.selectors.items()
    }


_text_of = attrgetter("text")


def _order(key: Key) -> tuple[bool, str, str]:
    return key.format == IPXE, key.identifier, key.format
