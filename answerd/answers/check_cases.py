"""The cases of ``answerd check`` and ``answerd diff``: every answer that can be tried without a request.

There is a case for each machine, each member of a group, each row of an inventory, and each default by its name.
``answerd check`` judges these answers, ``answerd diff`` compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from answerd.answers.catalogue import Catalogue
from answerd.answers.row_claims import claims_of
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.facts import Facts, facts_of
from answerd.inventory.records import no_pause
from answerd.inventory.rows import Row


@dataclass(frozen=True, slots=True)
class CheckCase:
    """An answer to try: the name it is asked by (empty for a default), the format that is asked for, and the document
    whose ``match`` is taken to hold.

    The case of a row has no such document, because a row has the values that a ``match`` compares. It is asked by all
    ``identities`` of the row, any other case by its name.
    """

    label: str
    identifier: str
    extension: str
    document: Document | None = None
    identities: tuple[str, ...] = ()

    @property
    def facts(self) -> Facts:
        """The facts of such a machine: its names and nothing else."""
        return facts_of(self.identities or filter(None, (self.identifier,)))

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
    """A row with the groups that claim it and its cases. ``claimed``: whether anything other than a default claims
    it."""

    row: Row
    claimed: bool
    groups: tuple[Document, ...]
    cases: tuple[CheckCase, ...]


def check_cases(catalogue: Catalogue) -> Iterator[CheckCase]:
    """Yield every case of the documents. A document that cannot be read has no known claims, and is reported already.

    A member whose row is tried in this format has no case of its own.
    """
    for document in catalogue.documents.values():
        if not document.content.readable or document.is_named_like_an_alias:
            continue
        extension = document.key.format
        if not document.is_shared:
            yield CheckCase(str(document.key), document.key.identifier, extension, document)
            continue
        for member in document.control.members:
            documents = catalogue.machines.get(member, ())
            has_own = any(machine.key.format == extension for machine in documents)
            if not has_own and not _is_tried_as_row(catalogue, member, extension):
                yield CheckCase(f'{document.key} for member "{member}"', member, extension, document)


def row_cases(catalogue: Catalogue, pause: Callable[[], None] = no_pause) -> Iterator[RowCase]:
    """Yield the cases of each row that can get an answer: one for each format in which a document other than a default
    claims it. A machine document of the row has a case of its own (`check_cases`)."""
    inventory = catalogue.inventory
    if inventory is None:
        return
    for row in inventory.rows():
        pause()
        identities = tuple(row.identities().values())
        if not identities:
            continue
        try:
            claims = claims_of(catalogue, row)
        except AnswerError:
            continue  # a fault of the row itself, which is reported already
        own = {machine.key.format for machine in claims.machines}
        name = row.name
        cases = [
            CheckCase(f"{inventory.place(row)}, {name} ({extension})", name, extension, identities=identities)
            for extension in claims.formats
            if extension not in own
        ]
        yield RowCase(row, bool(claims.machines or claims.groups), claims.groups, tuple(cases))


def _is_tried_as_row(catalogue: Catalogue, member: str, extension: str) -> bool:
    inventory = catalogue.inventory
    row = inventory.index.get(member) if inventory else None
    if not isinstance(row, Row):
        return False
    try:
        return extension in claims_of(catalogue, row).formats
    except AnswerError:
        return False
