"""The list of documents: found, sorted and cut as the address of the page says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from answerd.answers.catalogue import Catalogue
from answerd.console.listing import Listing, inventories_of
from answerd.console.rendering import counted
from answerd.documents import Document, RawDocument
from answerd.identity import Kind
from answerd.sorting import free_in_steps, stretch

DOCUMENTS_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the list."""

    kind: str
    identifier: str
    format: str
    extends: str
    claims: str
    extended_by: int
    problems: int


@dataclass(frozen=True, slots=True)
class DocumentsView:
    """The view that the page's URL describes. Without a ``sort``, inventories come first, then documents by kind and
    name."""

    search: str = ""
    kind: str = ""
    sort: str = ""
    descending: bool = False


@dataclass(frozen=True, slots=True)
class DocumentsPage:
    """The first lines of a view, and how many more there are."""

    documents: Sequence[Listed]
    more: int


def documents_page(catalogue: Catalogue, listing: Listing, view: DocumentsView) -> DocumentsPage:
    """Return what a view shows: inventories and documents whose names hold the search."""
    inventories = [
        _listed_inventory(catalogue, raw)
        for raw in inventories_of(catalogue)
        if view.kind in ("", Kind.INVENTORY.value) and view.search.casefold() in raw.key.identifier.casefold()
    ]
    found = [*listing.found(view.kind, view.search)]
    key = SORTS.get(view.sort)
    if key is None:
        lines = [*inventories, *(_listed(document, listing) for document in found[:DOCUMENTS_SHOWN])]
    else:
        first = stretch(found, lambda document: key(document, listing), 0, DOCUMENTS_SHOWN, reverse=view.descending)
        lines = [*inventories, *(_listed(document, listing) for document in first)]
        lines.sort(key=attrgetter(view.sort), reverse=view.descending)
    more = max(0, len(found) - DOCUMENTS_SHOWN)
    free_in_steps(found)
    return DocumentsPage(lines, more)


def _extended_by(document: Document, listing: Listing) -> int:
    key = document.key
    return len(listing.extending.get(key.name[1:], ())) if key.kind is Kind.GROUP else 0


SORTS: Mapping[str, Callable[[Document, Listing], Any]] = {
    "identifier": lambda document, _: document.key.identifier,
    "kind": lambda document, _: document.key.kind.value,
    "format": lambda document, _: document.key.format,
    "extends": lambda document, _: document.control.extends or "",
    "extended_by": _extended_by,
    "problems": lambda document, _: len(document.problems),
}
"""The columns that the list can be sorted by, called as the fields of `Listed`."""


def _listed_inventory(catalogue: Catalogue, raw: RawDocument) -> Listed:
    inventory = catalogue.inventory
    table = inventory.tables.get(raw) if inventory is not None else None
    faults = sum(row.layout is table.layout for row in inventory.faulty) if inventory is not None and table else 0
    is_broken = inventory is not None and raw in inventory.unreadable
    claims = counted(len(table.rows), "row") if table else ""
    return Listed(raw.key.kind.value, raw.key.identifier, raw.key.format, "", claims, 0, faults + is_broken)


def _listed(document: Document, listing: Listing) -> Listed:
    key, control = document.key, document.content.control
    claims = [f"overlay {control.overlay}"] if control.overlay is not None else []
    claims += [counted(len(control.members), "member")] if control.members else []
    claims += [f"match {', '.join(criterion.label for criterion in control.match)}"] if control.match else []
    return Listed(
        key.kind.value,
        key.identifier,
        key.format,
        control.extends or "",
        " and ".join(claims),
        _extended_by(document, listing),
        len(document.problems),
    )
