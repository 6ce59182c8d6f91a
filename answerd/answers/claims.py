"""What claims the machine of a row, before that machine asks. A default claims no row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerd.answers.catalogue import Catalogue
from answerd.answers.last_words import Told
from answerd.answers.select import SelectionRequest, overlays_holding, select
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.facts import Facts, facts_of
from answerd.formats import ALL_EXTENSIONS
from answerd.identity import Kind
from answerd.installs.states import State
from answerd.inventory.row import Row


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


def tried_formats(catalogue: Catalogue, claims: RowClaims) -> tuple[str, ...]:
    """Return the formats in which the answer to a row is its own: a document other than a default claims it, or
    overlays hold for it and a default answers. In format order."""
    claimed = claims.formats
    over_default = {overlay.key.format for overlay in claims.overlays if overlay.key.format in catalogue.defaults}
    if not over_default.difference(claimed):
        return claimed
    return tuple(extension for extension in ALL_EXTENSIONS if extension in over_default or extension in claimed)


def claims_of(catalogue: Catalogue, row: Row, told: Told = ()) -> RowClaims:
    """Return the documents that claim a row, whose machine counts as armed; ``told`` is what it last said. Raises
    `AnswerError` where the row gets no answer in any format."""
    facts = facts_of_row(catalogue, row, told)
    request = SelectionRequest(facts, ALL_EXTENSIONS)
    machines = [
        document
        for identity in facts.identities_in(catalogue.machines.intersection)
        for document in catalogue.machines[identity]
        if not document.is_named_like_an_alias
        and (not document.content.readable or request.holds_for(document, document.control.match))
    ]
    groups = [
        claim.document
        for identity in facts.identities_in(catalogue.members.intersection)
        for claim in catalogue.members[identity]
        if request.holds_for(claim.document, claim.match)
    ]
    groups += [claim.document for claim in catalogue.selectors.holding(facts)]
    overlays = tuple(claim.document for claim in overlays_holding(catalogue, request, ALL_EXTENSIONS))
    return RowClaims(tuple(machines), tuple(dict.fromkeys(groups)), overlays)


def groups_matching(catalogue: Catalogue, row: Row) -> list[Document]:
    """Return the groups that claim a row by ``match`` alone. They depend on the row's cells in the columns that these
    groups ask for, and on nothing else of it. Raises `AnswerError` as `claims_of` does."""
    return [claim.document for claim in catalogue.selectors.holding(facts_of_row(catalogue, row))]


def winners(catalogue: Catalogue, row: Row) -> list[Document]:
    """Return for each format the machine document, the group and the overlays that answer a row; where these cannot
    answer, all documents that claim it. Sorted by kind, name and format order. Raises `AnswerError` as `claims_of`
    does."""
    claims = claims_of(catalogue, row)
    facts = facts_of_row(catalogue, row)
    found: dict[Document, None] = {}
    for extension in claims.formats:
        try:
            selection = select(catalogue, SelectionRequest(facts, (extension,), without_default=True))
            chosen: Sequence[Document | None] = (selection.machine, selection.group, *selection.overlays)
        except AnswerError:
            chosen = [document for document in (*claims.machines, *claims.groups) if document.key.format == extension]
        found.update(dict.fromkeys(document for document in chosen if document))
    return sorted(found, key=_order)


def facts_of_row(catalogue: Catalogue, row: Row, told: Told = ()) -> Facts:
    """Return what is known of the machine of a row, which counts as armed. Raises `AnswerError`."""
    facts = catalogue.facts(facts_of(row.identities().values(), told))
    if catalogue.has_states:
        facts.state_source = lambda _: State.ARMED.value
    return facts


def _order(document: Document) -> tuple[bool, str, int]:
    key = document.key
    return key.kind is not Kind.MACHINE, key.identifier, ALL_EXTENSIONS.index(key.format)
