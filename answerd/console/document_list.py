"""The list of an answer set's documents: searched, sorted and paged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.console.machine_lines import natural
from answerd.console.rendering import counted, on_page
from answerd.documents import Document, Key, RawDocument
from answerd.identity import Kind, identity_of
from answerd.inventory import FORMAT

ON_A_PAGE = 100
"""Documents that one page shows."""

DOCUMENT_SORTS = {
    "identifier": "place",
    "kind": "kind",
    "format": "format",
    "extends": "extends",
    "extended_by": "extended_by",
    "problems": "problems",
}


@dataclass(frozen=True, slots=True)
class DocumentsView:
    """The documents that an address asks for. Without a ``kind``, those of machines only where something is
    searched."""

    search: str = ""
    kind: str = ""
    sort: str = ""
    descending: bool = False
    page: int = 1


class Listed(NamedTuple):
    """One line of the list of documents. ``place`` is what its identifier is sorted by."""

    kind: str
    identifier: str
    format: str
    extends: str
    claims: str
    extended_by: int
    problems: int
    place: str


@dataclass(frozen=True, slots=True)
class DocumentsFound:
    """One page of documents, and how many the view has in all."""

    documents: Sequence[Listed]
    found: int
    pages: int
    page: int


class DocumentList:
    """The documents of one set. From any thread."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._listed = [*_listed(catalogue)]

    def page(self, view: DocumentsView) -> DocumentsFound:
        """Return the page of a view. Without a ``sort``, inventories come first, then documents by kind and name."""
        text = view.search.casefold()
        found = [
            line
            for line in self._listed
            if (line.kind == view.kind if view.kind else text or line.kind != "machine")
            and text in line.identifier.casefold()
        ]
        if view.sort in DOCUMENT_SORTS:
            found.sort(key=attrgetter("place"))
            found.sort(key=attrgetter(DOCUMENT_SORTS[view.sort]), reverse=view.descending)
        else:
            found.sort(key=lambda line: (line.kind != "inventory", line.kind, line.place))
        pages, page = on_page(len(found), view.page, ON_A_PAGE)
        return DocumentsFound(found[(page - 1) * ON_A_PAGE : page * ON_A_PAGE], len(found), pages, page)

    def extending(self, key: Key) -> list[str]:
        """Return the identifiers of the documents that extend a group."""
        identity = identity_of(key.identifier)
        found = [line for line in self._listed if line.format == key.format and identity_of(line.extends) == identity]
        return [line.identifier or "default" for line in sorted(found, key=attrgetter("place"))]


def _listed(catalogue: Catalogue) -> Iterator[Listed]:
    """Yield the line of each document and inventory."""
    inventory = catalogue.inventory
    for raw in sorted(inventory.documents, key=lambda raw: raw.key) if inventory is not None else ():
        claims, problems = _of_inventory(catalogue, raw)
        name = raw.key.identifier
        yield Listed(raw.key.kind.value, name, raw.key.format, "", claims, 0, problems, natural(name))
    documents = list(catalogue.documents.values())
    extended = Counter((identity_of(one.control.extends or ""), one.key.format) for one in documents)
    for document in documents:
        key, extends = document.key, document.control.extends or ""
        extended_by = extended[document.identity, key.format] if key.kind is Kind.GROUP else 0
        claims, place = _claims(document), natural(key.identifier)
        yield Listed(
            key.kind.value, key.identifier, key.format, extends, claims, extended_by, len(document.problems), place
        )


def inventories_of(catalogue: Catalogue) -> list[RawDocument]:
    """Return the inventories of a set, sorted."""
    inventory = catalogue.inventory
    if inventory is None:
        return []
    return sorted((raw for raw in inventory.documents if raw.key.format == FORMAT), key=lambda raw: raw.key)


def _of_inventory(catalogue: Catalogue, raw: RawDocument) -> tuple[str, int]:
    """Return what an inventory claims, and how many problems it has."""
    inventory = catalogue.inventory
    table = inventory.tables.get(raw) if inventory is not None else None
    if inventory is not None and raw in inventory.columns:
        return counted(len(inventory.columns[raw].labels), "column"), int(raw in inventory.unreadable)
    if inventory is None or table is None:
        return "", 1
    faults = sum(row.layout is table.layout for row in inventory.faulty)
    return counted(len(table.rows), "row"), faults + (raw in inventory.unreadable)


def _claims(document: Document) -> str:
    control = document.control
    claims = [f"overlay {control.overlay}"] if control.overlay is not None else []
    claims += [counted(len(control.members), "member")] if control.members else []
    claims += [f"match {', '.join(criterion.label for criterion in control.match)}"] if control.match else []
    return " and ".join(claims)
