"""Whose answers a change of an answer set can touch.

An answer depends on the documents of its name, on the groups that claim it and those that they extend, and on its row.
Where none of these differs between two sets, no answer is made to find out that it is the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from answerd.answers.catalogue import Catalogue
from answerd.answers.rows import Inventory
from answerd.documents import Document, NameInKind, RawDocument
from answerd.facts import STATE
from answerd.formats.control import Criterion
from answerd.identity import Kind, identity_of, normalize
from answerd.inventory.rows import Row


class Affected:
    """The identities whose answers may differ between two sets. ``identities`` is None where all may.

    An identity is that of a machine document, a member or a row; that of a default is empty.
    """

    def __init__(self, before: Catalogue, after: Catalogue) -> None:
        self.identities: set[str] | None = None
        if (
            before.unlisted != after.unlisted
            or before.has_states != after.has_states
            or {*_contents(before.unreadable)} != {*_contents(after.unreadable)}
            or _unknown_rows(before.inventory) != _unknown_rows(after.inventory)
        ):
            return  # what is not known might claim anything
        found: set[str] = set()
        groups: set[NameInKind] = set()
        for document in _changed(before, after):
            if document.is_shared:
                groups.add((document.identity, document.key.format))
            else:
                found.add(document.identity)
        for row in _changed_rows(before.inventory, after.inventory):
            found.update(row.names)
        if groups:
            groups = _with_extending(groups, (before, after))
            for catalogue in (before, after):
                if not _add_touched_by_groups(catalogue, groups, found):
                    return
        if "" in found:  # a default, which overlays may be laid over for members that nothing else claims
            for catalogue in (before, after):
                for claim in catalogue.claims.values():
                    found.update(claim.members if claim.overlay is not None else ())
        self.identities = found

    def __contains__(self, identity: str) -> bool:
        return self.identities is None or identity in self.identities

    def has_any(self, identities: Iterable[str]) -> bool:
        """Return whether the answers of a machine with these identities may differ."""
        return self.identities is None or not self.identities.isdisjoint(identities)


def _contents(documents: Iterable[Document]) -> Iterator[tuple[object, ...]]:
    return ((document.key, document.raw.text, document.raw.fault) for document in documents)


def _changed(before: Catalogue, after: Catalogue) -> Iterator[Document]:
    """Yield the documents that only one of two sets has, by their content: a set that was loaded anew has other
    objects."""
    removed = [before.documents[raw] for raw in _only_in(before, after)]
    added = [after.documents[raw] for raw in _only_in(after, before)]
    was, is_now = Counter(_contents(removed)), Counter(_contents(added))
    for documents, others in ((removed, is_now), (added, was)):
        for document, content in zip(documents, _contents(documents), strict=True):
            if others[content]:
                others[content] -= 1
            else:
                yield document


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


def _with_extending(groups: set[NameInKind], catalogues: Iterable[Catalogue]) -> set[NameInKind]:
    """Return groups and all that extend them, directly or not, in any of some sets."""
    extending: dict[NameInKind, set[NameInKind]] = defaultdict(set)
    for catalogue in catalogues:
        for documents in catalogue.groups.values():
            for document in documents:
                if (extended := _extended(document)) is not None:
                    extending[extended].add((document.identity, document.key.format))
    found, left = set(groups), list(groups)
    while left:
        new = extending[left.pop()] - found
        found |= new
        left += new
    return found


def _extended(document: Document) -> NameInKind | None:
    name = document.control.extends
    return None if name is None else (identity_of(name), document.key.format)


def _add_touched_by_groups(catalogue: Catalogue, groups: set[NameInKind], found: set[str]) -> bool:
    """Add the identities whose answers groups of a set may be part of: of machines and defaults that extend them, of
    members, and of rows that they select. False where a group may select machines without a row too."""
    for document in catalogue.documents.values():
        if not document.is_shared and _extended(document) in groups:
            found.add(document.identity)
    selecting = []
    for claim in catalogue.claims.values():
        if (claim.document.identity, claim.document.key.format) in groups:
            found.update(claim.members)
            if claim.match and not claim.members:
                selecting.append(claim.match)
    if not selecting:
        return True
    if any({criterion.label for criterion in match} == {STATE} for match in selecting):
        return False
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        if any(_may_select(match, row) for match in selecting):
            found.update(row.names)
    return True


def _may_select(match: Iterable[Criterion], row: Row) -> bool:
    """Return whether a ``match`` may hold for a machine that sends nothing but the identities of its row."""
    values: dict[str, list[str]] = {}
    for criterion in match:
        if criterion.label == STATE:
            continue
        if criterion.label not in row.layout.labels:
            return False
        values = values or row.values()
        of_row = map(normalize, values.get(criterion.label, ()))
        if not any(pattern.matches(form) for form in of_row for pattern in criterion.patterns):
            return False
    return True
