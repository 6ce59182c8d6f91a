"""Find the documents that claim the machine of a row, before that machine asks.

``answerd check`` tries the answers of rows, ``answerd inventory`` lists what claims them, ``answerd diff`` compares
them. A default claims no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import Question, overlays_holding, select
from answerd.documents import Document
from answerd.errors import AnswerError, BrokenDocument
from answerd.facts import Facts, facts_of
from answerd.formats import ALL_EXTENSIONS
from answerd.identity import Kind
from answerd.installs.states import State
from answerd.inventory.rows import Row

_MOST_KINDS: Final = 10_000
"""Kinds of rows whose groups are kept."""


@dataclass(frozen=True, slots=True)
class RowClaims:
    """The documents that claim a row: machine documents by their identity, groups by ``members`` or by ``match``; and
    the overlays that hold for it, lowest first, of whatever format."""

    machines: tuple[Document, ...]
    groups: tuple[Document, ...]
    overlays: tuple[Document, ...] = ()

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats in which a document claims the row, in format order."""
        found = {document.key.format for document in (*self.machines, *self.groups)}
        return tuple(extension for extension in ALL_EXTENSIONS if extension in found)


def facts_of_row(row: Row) -> Facts:
    """Return the facts of a machine that sends only the identities of its row."""
    return facts_of(row.identities().values())


def claims_of(catalogue: Catalogue, row: Row) -> RowClaims:
    """Return the documents that claim a row, whose machine counts as armed. Raises `AnswerError` where the row gets no
    answer in any format."""
    facts = _known(catalogue, row)
    question = Question(facts, ALL_EXTENSIONS)
    machines = [
        document
        for identity in facts.identities_in(catalogue.machines.intersection)
        for document in catalogue.machines[identity]
        if not document.is_named_like_an_alias
        and (not document.content.readable or question.holds_for(document, document.control.match))
    ]
    groups = [
        claim.document
        for identity in facts.identities_in(catalogue.members.intersection)
        for claim in catalogue.members[identity]
        if question.holds_for(claim.document, claim.match)
    ]
    groups += [claim.document for claim in catalogue.selectors.holding(facts)]
    overlays = tuple(claim.document for claim in overlays_holding(catalogue, question, ALL_EXTENSIONS))
    return RowClaims(tuple(machines), tuple(dict.fromkeys(groups)), overlays)


class ClaimsOfRows:
    """`claims_of` for many rows of one set. Finding what selects a row takes 30 µs; rows that are alike in the columns
    which any group asks for are selected by the same groups, and there are rarely many kinds of them."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        selectors = (*catalogue.selectors.items(), *catalogue.overlay_selectors.items())
        self._labels = sorted({criterion.label for _, match in selectors for criterion in match})
        self._selecting: dict[tuple[str, ...], tuple[list[Document], tuple[Document, ...]]] = {}

    def of(self, row: Row) -> RowClaims:
        """Return `claims_of` a row."""
        catalogue = self._catalogue
        inventory = catalogue.inventory
        machines = [document for name in row.names for document in catalogue.machines.get(name, ())]
        members = [claim for name in row.names for claim in catalogue.members.get(name, ())]
        if (
            inventory is None
            or inventory.unreadable
            or any(inventory.index.get(name) is not row for name in row.names)
            or any(document.content.readable and document.control.match for document in machines)
            or any(claim.match for claim in members)
            or not catalogue.overlay_members.is_empty
            or "01-" in row.text  # perhaps PXELINUX's prefix, without which a value is a name too
        ):
            return claims_of(catalogue, row)
        fault = inventory.fault_of(row)
        if fault is not None:
            raise BrokenDocument(fault)
        groups = [claim.document for claim in members]
        overlays: tuple[Document, ...] = ()
        if self._labels:
            cells, places = row.cells(), row.layout.labels
            kind = tuple([cells[places[label]] if label in places else "" for label in self._labels])
            selecting = self._selecting.get(kind)
            if selecting is None:
                if len(self._selecting) >= _MOST_KINDS:
                    self._selecting.clear()
                known = claims_of(catalogue, row).overlays if catalogue.has_overlays else ()
                selecting = self._selecting[kind] = groups_matching(catalogue, row), known
            groups += selecting[0]
            overlays = selecting[1]
        named = (document for document in machines if not document.is_named_like_an_alias)
        return RowClaims(tuple(named), tuple(dict.fromkeys(groups)), overlays)


def groups_matching(catalogue: Catalogue, row: Row) -> list[Document]:
    """Return the groups that claim a row by ``match`` alone. They depend on the row's cells in the columns that these
    groups ask for, and on nothing else of it. Raises `AnswerError` as `claims_of` does."""
    return [claim.document for claim in catalogue.selectors.holding(_known(catalogue, row))]


def winners(catalogue: Catalogue, row: Row) -> list[Document]:
    """Return for each format the machine document, the group and the overlays that answer a row; where these cannot
    answer, all documents that claim it. Sorted by kind, name and format order. Raises `AnswerError` as `claims_of`
    does."""
    claims = claims_of(catalogue, row)
    facts = _known(catalogue, row)
    found: dict[Document, None] = {}
    for extension in claims.formats:
        try:
            selection = select(catalogue, Question(facts, (extension,), without_default=True))
            chosen: Sequence[Document | None] = (selection.machine, selection.group, *selection.overlays)
        except AnswerError:
            chosen = [document for document in (*claims.machines, *claims.groups) if document.key.format == extension]
        found.update(dict.fromkeys(document for document in chosen if document))
    return sorted(found, key=_order)


def _known(catalogue: Catalogue, row: Row) -> Facts:
    facts = catalogue.facts(facts_of_row(row))
    if catalogue.has_states:
        facts.state_source = lambda _: State.ARMED.value
    return facts


def _order(document: Document) -> tuple[bool, str, int]:
    key = document.key
    return key.kind is not Kind.MACHINE, key.identifier, ALL_EXTENSIONS.index(key.format)
