"""The cases of ``answerd check`` and ``answerd diff``: every answer that can be tried without a request.

There is a case for each machine, each member of a group, each row of an inventory, and each default by its name.
``answerd check`` judges these answers, ``answerd diff`` compares those that a change can touch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from answerd.answers.affected import Affected
from answerd.answers.catalogue import Catalogue
from answerd.answers.claims import RowClaims, claims_of, tried_formats
from answerd.answers.last_words import NO_WORDS, LastWords, Told
from answerd.documents import Document, NameInKind
from answerd.errors import AnswerError
from answerd.facts import Facts, facts_of
from answerd.identity import identity_of
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
