"""The cases of ``answerd check`` and ``answerd diff``: every answer that can be tried without a request.

There is a case for each machine, each member of a group, each row of an inventory, and each default by its name.
``answerd check`` judges these answers, ``answerd diff`` compares those that a change can touch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from answerd.answers.catalogue import Catalogue, extended_name
from answerd.answers.claims import RowClaims, claims_of, facts_of_row, tried_formats
from answerd.answers.inventory_index import Inventory
from answerd.answers.last_words import NO_WORDS, LastWords, Told
from answerd.answers.selectors import holds
from answerd.documents import Document, NameInKind, RawDocument
from answerd.errors import AnswerError
from answerd.facts import STATE, Facts, facts_of
from answerd.formats.patterns import Criterion
from answerd.identity import Kind, identity_of
from answerd.inventory.row import Row


@dataclass(frozen=True, slots=True)
class CheckCase:
    """An answer to try: the name it is asked by (empty for a default), the format that is asked for, and the document
    whose ``match`` is taken to hold.

    The case of a row has no such document, because a row has the values that a ``match`` compares. It is asked by all
    ``identities`` of the row, any other case by its name. ``told`` is what its machine last said.
    """

    label: str
    identifier: str
    extension: str
    document: Document | None = None
    identities: tuple[str, ...] = ()
    told: Told = ()

    @property
    def facts(self) -> Facts:
        """The facts of such a machine: its names, and what it last said."""
        return facts_of(self.identities or filter(None, (self.identifier,)), self.told)

    @property
    def extensions(self) -> tuple[str, ...]:
        """The format that may answer."""
        return (self.extension,)

    @property
    def assumed(self) -> tuple[Document, ...]:
        """The document whose ``match`` is taken to hold."""
        return (self.document,) if self.document else ()


@dataclass(frozen=True, slots=True)
class RowCase:
    """A row with what claims it, and its cases. ``formats`` are those in which it is tried, or its machine's document
    is."""

    row: Row
    claims: RowClaims
    cases: tuple[CheckCase, ...]
    formats: tuple[str, ...]

    @property
    def claimed(self) -> bool:
        """Whether anything other than a default claims it."""
        return bool(self.claims.machines or self.claims.groups)

    @property
    def groups(self) -> tuple[Document, ...]:
        """The groups that its answers are made of, overlays too."""
        return *self.claims.groups, *(group for group in self.claims.overlays if group.key.format in self.formats)


def check_cases(
    catalogue: Catalogue, affected: Affected | None = None, words: LastWords = NO_WORDS
) -> Iterator[CheckCase]:
    """Yield every case of the documents, of those ``affected`` where that is given. A document that cannot be read has
    no known claims, and is reported already.

    A member whose row is tried in this format has no case of its own.
    """
    for document in catalogue.documents.values():
        if document.is_group or document.is_named_like_an_alias:
            continue
        if (affected is None or document.identity in affected) and document.content.readable:
            name = document.key.identifier
            told = words.told(name) if name else ()
            yield CheckCase(str(document.key), name, document.key.format, document, told=told)
    for member, document in _members_without_other_cases(catalogue):
        if affected is None or member in affected:
            label, extension = f'{document.key} for member "{member}"', document.key.format
            yield CheckCase(label, member, extension, document, told=words.told(member))


def unaffected_names(
    catalogue: Catalogue, affected: Affected, at_each: Callable[[], object], words: LastWords = NO_WORDS
) -> set[NameInKind]:
    """Return the names of the answers of a set that are not ``affected``. ``at_each`` is called for each row, and may
    end this by an exception."""
    names = {
        (document.identity, document.key.format)
        for document in catalogue.documents.values()
        if not (document.is_group or document.identity in affected or document.is_named_like_an_alias)
    }
    for member, document in _members_without_other_cases(catalogue):
        if member not in affected:
            names.add((member, document.key.format))
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        if row.names and not affected.has_any(row.names):
            at_each()
            try:
                claims = claims_of(catalogue, row, words.told(row.name, row.identities().values()))
            except AnswerError:
                continue
            own = {machine.key.format for machine in claims.machines}
            name = identity_of(row.name)
            names.update((name, extension) for extension in tried_formats(catalogue, claims) if extension not in own)
    return names


def row_cases(catalogue: Catalogue, affected: Affected | None = None, words: LastWords = NO_WORDS) -> Iterator[RowCase]:
    """Yield the cases of each row that can get an answer, of those ``affected`` where that is given: one for each
    format in which a document other than a default claims it, or overlays hold for it and a default answers. A
    machine document of the row has a case of its own
    (`check_cases`)."""
    inventory = catalogue.inventory
    if inventory is None:
        return
    for row in inventory.rows():
        if not row.names or not (affected is None or affected.has_any(row.names)):
            continue
        identities = tuple(row.identities().values())
        told = words.told(row.name, identities)
        try:
            claims = claims_of(catalogue, row, told)
        except AnswerError:
            continue  # a fault of the row itself, which is reported already
        own = {machine.key.format for machine in claims.machines}
        name = row.name
        formats = tried_formats(catalogue, claims)
        cases = [
            CheckCase(f"{inventory.place(row)}, {name} ({extension})", name, extension, None, identities, told)
            for extension in formats
            if extension not in own
        ]
        yield RowCase(row, claims, tuple(cases), formats)


def _members_without_other_cases(catalogue: Catalogue) -> Iterator[tuple[str, Document]]:
    """Yield each member, with its group, that is tried neither by a document of its own nor by its row."""
    index = catalogue.inventory.index if catalogue.inventory is not None else {}
    for document in catalogue.documents.values():
        if not document.is_group or not document.content.readable:
            continue
        extension = document.key.format
        for member in document.control.members:
            if any(machine.key.format == extension for machine in catalogue.machines.get(member, ())):
                continue
            if document.control.overlay is not None and any(
                claim.document.key.format == extension for claim in catalogue.members.get(member, ())
            ):
                continue
            row = index.get(member)
            try:
                is_tried = isinstance(row, Row) and extension in tried_formats(catalogue, claims_of(catalogue, row))
            except AnswerError:
                is_tried = False
            if not is_tried:
                yield member, document


def machines_told(cases: Iterable[CheckCase]) -> list[str]:
    """Return the names of the machines of some cases that are tried with what they last said, sorted."""
    names = {}
    for case in cases:
        if case.told:
            group = case.document if case.document is not None and case.document.is_group else None
            written = case.identifier if group is None else group.control.spelled(case.identifier)
            names[identity_of(case.identifier)] = written
    return sorted(names.values())


# Whose answers a change of an answer set can touch. An answer depends on the documents of its name, on the groups that
# claim it and those that they extend, and on its row. Where none of these differs between two sets, none is made.


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
