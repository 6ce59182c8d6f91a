"""The documents of one answer set in the order of their list, and what extends what: found once for each set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from answerd.answers.catalogue import Catalogue
from answerd.documents import Document, Key, NameInKind, RawDocument
from answerd.identity import Kind, identity


@dataclass(frozen=True, slots=True)
class Listing:
    """The documents, by kind, identifier and format. ``names`` are what a search looks in: ``shared[i]`` is called
    ``shared_names[i]``. ``extending`` has the identifiers of what extends a group, by its name."""

    shared: Sequence[Document] = ()
    shared_names: Sequence[str] = ()
    machines: Sequence[Document] = ()
    machine_names: Sequence[str] = ()
    extending: Mapping[NameInKind, Sequence[str]] = field(default_factory=dict)

    def found(self, kind: str, search: str) -> Iterator[Document]:
        """Yield the documents of a kind whose names hold the search; without a kind, machines only for a search."""
        wanted = search.casefold()
        if kind != Kind.MACHINE.value:
            for document, name in zip(self.shared, self.shared_names, strict=True):
                if wanted in name and kind in ("", document.key.kind.value):
                    yield document
        if kind == Kind.MACHINE.value or (search and not kind):
            for document, name in zip(self.machines, self.machine_names, strict=True):
                if wanted in name:
                    yield document


class Listings:
    """The listing of the set in force. Kept for as long as that set is."""

    def __init__(self) -> None:
        self._catalogue: Catalogue | None = None
        self._listing = Listing()

    def of(self, catalogue: Catalogue) -> Listing:
        """Return the listing. Costs a look at every document where the set has changed."""
        if self._catalogue is not catalogue:
            self._listing = catalogue.elsewhere(lambda: listing_of(catalogue))
            self._catalogue = catalogue
        return self._listing


def listing_of(catalogue: Catalogue) -> Listing:
    """Return the documents of a set, sorted."""
    extending: dict[NameInKind, list[str]] = {}
    shared: list[Document] = []
    machines: list[Document] = []
    for document in list(catalogue.documents.values()):
        key, extends = document.key, document.control.extends
        (machines if key.kind is Kind.MACHINE else shared).append(document)
        if extends:
            extending.setdefault((identity(extends), key.format), []).append(key.identifier or "default")
    for documents in (shared, machines):
        documents.sort(key=_by_key)
    return Listing(shared, [*map(_searched, shared)], machines, [*map(_searched, machines)], extending)


def document_at(catalogue: Catalogue, key: Key) -> RawDocument | None:
    """Return the document of a key, by its exact identifier or its identity; None where there is none."""
    one = identity(key.identifier)
    if key.kind is Kind.MACHINE:
        found = catalogue.machines.get(one, ())
    elif key.kind is Kind.GROUP:
        found = catalogue.groups.get((one, key.format), ())
    elif key.kind is Kind.DEFAULT:
        found = catalogue.defaults.get(key.format, ())
    else:
        inventories = inventories_of(catalogue)
        return next((raw for raw in inventories if raw.key.name == key.name), None)
    alike = [document for document in found if document.key.format == key.format]
    exact = [document for document in alike if document.key.identifier == key.identifier]
    return next((document.raw for document in (*exact, *alike)), None)


def inventories_of(catalogue: Catalogue) -> list[RawDocument]:
    """Return the inventories of a set, sorted."""
    inventory = catalogue.inventory
    if inventory is None:
        return []
    return sorted(inventory.tables.keys() | inventory.unreadable.keys(), key=lambda raw: raw.key)


def problems_of(catalogue: Catalogue, key: Key) -> Sequence[str]:
    """Return what is wrong with a document by itself."""
    raw = document_at(catalogue, key)
    if raw is None:
        return ()
    if key.kind is not Kind.INVENTORY:
        document = catalogue.documents.get(raw)
        return document.problems if document is not None else ()
    inventory = catalogue.inventory
    return [one for one in inventory.problems() if one.startswith("inventory")] if inventory is not None else ()


def _by_key(document: Document) -> Key:
    return document.key


def _searched(document: Document) -> str:
    return document.key.identifier.casefold()
