"""Whose answers a change of an answer set can touch.

An answer depends on the documents of its name, on the groups that claim it and those that they extend, and on its row.
Where none of these differs between two sets, none is made.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from answerd.answers.catalogue import Catalogue, extended_name
from answerd.answers.claims import facts_of_row
from answerd.answers.inventory_index import Inventory
from answerd.answers.last_words import NO_WORDS, LastWords
from answerd.answers.selectors import holds
from answerd.documents import Document, NameInKind, RawDocument
from answerd.errors import AnswerError
from answerd.facts import STATE
from answerd.formats.patterns import Criterion
from answerd.identity import Kind
from answerd.inventory.row import Row


class Affected:
    """The identities whose answers may differ between two sets. ``identities`` is None where all may.

    An identity is that of a machine document, a member or a row; that of a default is empty.
    """

    def __init__(self, before: Catalogue, after: Catalogue, words: LastWords = NO_WORDS) -> None:
        """``words`` are what machines last said: a group may select them by that."""
        self.identities: set[str] | None = None
        if (
            before.has_states != after.has_states
            or {*_contents(before.unreadable)} != {*_contents(after.unreadable)}
            or _unknown_rows(before.inventory) != _unknown_rows(after.inventory)
        ):
            return  # what is not known might claim anything
        found: set[str] = set()
        groups: set[NameInKind] = set()
        for document in chain(*changed_documents(before, after)):
            if document.is_group:
                groups.add((document.identity, document.key.format))
            else:
                found.add(document.identity)
        for row in _changed_rows(before.inventory, after.inventory):
            found.update(row.names)
        if groups:
            groups = with_extending(groups, (before, after))
            for catalogue in (before, after):
                if not _add_touched_by_groups(catalogue, groups, found, words):
                    return
        if "" in found:  # a default, which overlays may be laid over for machines that nothing else claims
            for catalogue in (before, after):
                overlays = [claim for claim in catalogue.claims.values() if claim.overlay is not None]
                found.update(member for overlay in overlays for member in overlay.members)
                for row in _rows_selected(catalogue, [claim.match for claim in overlays if claim.match], words):
                    found.update(row.names)
        self.identities = found

    def __bool__(self) -> bool:
        return self.identities is None or bool(self.identities)

    def __contains__(self, identity: str) -> bool:
        return self.identities is None or identity in self.identities

    def has_any(self, identities: Iterable[str]) -> bool:
        """Return whether the answers of a machine with these identities may differ."""
        return self.identities is None or not self.identities.isdisjoint(identities)


def _contents(documents: Iterable[Document]) -> Iterator[tuple[object, ...]]:
    return ((document.key, document.raw.text, document.raw.fault) for document in documents)


def changed_documents(before: Catalogue, after: Catalogue) -> tuple[list[Document], list[Document]]:
    """Return the documents that only the first of two sets has, and those that only the second has, by their content: a
    set that was loaded anew has other objects."""
    removed = [before.documents[raw] for raw in _only_in(before, after)]
    added = [after.documents[raw] for raw in _only_in(after, before)]
    was, is_now = Counter(_contents(removed)), Counter(_contents(added))
    return _without(removed, is_now), _without(added, was)


def _without(documents: list[Document], others: Counter[tuple[object, ...]]) -> list[Document]:
    left = []
    for document, content in zip(documents, _contents(documents), strict=True):
        if others[content]:
            others[content] -= 1
        else:
            left.append(document)
    return left


def _only_in(catalogue: Catalogue, other: Catalogue) -> Iterator[RawDocument]:
    keys = catalogue.documents.keys_not_in(other.documents)
    return (raw for raw in keys if raw.key.kind is not Kind.INVENTORY)


def _unknown_rows(inventory: Inventory | None) -> set[tuple[object, ...]]:
    """Return the inventories that cannot be read."""
    documents = inventory.unreadable if inventory is not None else ()
    return {(document.key, document.text, document.fault) for document in documents}


def _changed_rows(before: Inventory | None, after: Inventory | None) -> Iterator[Row]:
    """Yield the rows that only one of two sets has, or that have a fault in one of them."""
    if before is after:
        return
    for inventory, other in ((before, after), (after, before)):
        if inventory is None:
            continue
        for row in inventory.rows():
            if other is None or not all(_has_like(other, identity, row) for identity in row.names):
                yield row
        yield from inventory.faulty
        for layout in inventory.doubled:
            yield from inventory.by_layout[layout].rows


def _has_like(inventory: Inventory, identity: str, row: Row) -> bool:
    """Return whether the only row of an identity has the same values as a row."""
    other = inventory.index.get(identity)
    return other is row or (isinstance(other, Row) and other.values() == row.values())


def with_extending(groups: set[NameInKind], catalogues: Iterable[Catalogue]) -> set[NameInKind]:
    """Return groups and all that extend them, directly or not, in any of some sets."""
    extending: dict[NameInKind, set[NameInKind]] = defaultdict(set)
    for catalogue in catalogues:
        for documents in catalogue.groups.values():
            for document in documents:
                if (extended := extended_name(document)) is not None:
                    extending[extended].add((document.identity, document.key.format))
    found, left = set(groups), list(groups)
    while left:
        new = extending[left.pop()] - found
        found |= new
        left += new
    return found


def _add_touched_by_groups(catalogue: Catalogue, groups: set[NameInKind], found: set[str], words: LastWords) -> bool:
    """Add the identities whose answers groups of a set may be part of: of machines and defaults that extend them, of
    members, and of rows that they select. False where a group may select machines without a row too."""
    for document in catalogue.documents.values():
        if not document.is_group and extended_name(document) in groups:
            found.add(document.identity)
    selecting = []
    for claim in catalogue.claims.values():
        if (claim.document.identity, claim.document.key.format) in groups:
            found.update(claim.members)
            if claim.match and not claim.members:
                selecting.append([criterion for criterion in claim.match if criterion.label != STATE])
    if not selecting:
        return True
    if not all(selecting):
        return False
    for row in _rows_selected(catalogue, selecting, words):
        found.update(row.names)
    return True


def _rows_selected(catalogue: Catalogue, selecting: Sequence[Sequence[Criterion]], words: LastWords) -> Iterator[Row]:
    """Yield the rows for which one of several ``match`` holds."""
    if not selecting or catalogue.inventory is None:
        return
    for row in catalogue.inventory.rows():
        with suppress(AnswerError):  # a row that gets no answer is not affected by a group
            told = words.told(row.name, row.identities().values())
            facts = facts_of_row(catalogue, row, told)
            if any(holds(match, facts) for match in selecting):
                yield row
