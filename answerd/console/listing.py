"""The documents of one answer set in the order of the console's list, and which document extends which; found once for
each set."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from answerd.answers.catalogue import Catalogue
from answerd.console.named import MOST_FOLLOWED, is_small
from answerd.documents import Document, Key, NameInKind, RawDocument
from answerd.identity import Kind, identity_of
from answerd.long_work import run_long
from answerd.sorting import sorted_in_steps


@dataclass(frozen=True, slots=True)
class Listing:
    """The documents, by kind, identifier and format. ``names`` are the texts that a search looks in: ``shared[i]`` has
    ``shared_names[i]``. ``extending`` has the identifiers of the documents that extend a group, by the group's name."""

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
        self._kept: tuple[Catalogue | None, Listing] = None, Listing()
        self.is_prepared_elsewhere = False
        """Whether `prepare` is called after each change: a page then does not wait for it, but shows the listing from
        before."""

    @property
    def catalogue(self) -> Catalogue | None:
        """The set that the listing is of."""
        return self._kept[0]

    def of(self, catalogue: Catalogue) -> Listing:
        """Return the listing. Costs what has changed; after a change of thousands of documents a look at all of them,
        unless that is prepared elsewhere: then it is the listing from before, and at first an empty one, of no
        ``catalogue``."""
        if not self._followed(catalogue):
            run_long(lambda: self.prepare(catalogue))
        return self._kept[1]

    def update(self, catalogue: Catalogue) -> None:
        """Bring the listing to this set, as `of` does."""
        if not self._followed(catalogue):
            self.prepare(catalogue)

    def prepare(self, catalogue: Catalogue) -> None:
        """Make the listing of a set anew. From any thread."""
        self._kept = catalogue, listing_of(catalogue)

    def forget(self) -> None:
        """Drop the listing, until a page needs it."""
        self._kept = None, Listing()

    def _followed(self, catalogue: Catalogue) -> bool:
        """Follow a set where that costs little; return False where the listing has to be made anew here and now."""
        before, listing = self._kept
        if before is catalogue:
            return True
        changed = _changed(before, catalogue)
        if before is None or changed is None:
            return self.is_prepared_elsewhere and not is_small(catalogue)
        self._kept = catalogue, _listing_after(listing, before, catalogue, changed)
        return True


def listing_of(catalogue: Catalogue) -> Listing:
    """Return the documents of a set, sorted."""
    extending: dict[NameInKind, list[str]] = {}
    shared: list[Document] = []
    machines: list[Document] = []
    for document in list(catalogue.documents.values()):
        (machines if document.key.kind is Kind.MACHINE else shared).append(document)
        if extended := _extended(document):
            extending.setdefault(extended, []).append(document.key.identifier or "default")
    shared, machines = sorted_in_steps(shared, _by_key), sorted_in_steps(machines, _by_key)
    return Listing(shared, [*map(_searched, shared)], machines, [*map(_searched, machines)], extending)


def _changed(before: Catalogue | None, catalogue: Catalogue) -> set[RawDocument] | None:
    """Return the documents that only one of two sets has; None where they are too many to look at one by one."""
    if before is None:
        return None
    changed = catalogue.documents.keys_that_differ(before.documents)
    return None if changed is None or len(changed) > MOST_FOLLOWED else changed


def _listing_after(
    listing: Listing, before: Catalogue, catalogue: Catalogue, changed: Iterable[RawDocument]
) -> Listing:
    """Return the listing of a set in which few documents have changed. The one before stays as it is."""
    shared, machines = [*listing.shared], [*listing.machines]
    shared_names, machine_names = [*listing.shared_names], [*listing.machine_names]
    extending = dict(listing.extending)
    for raw in changed:
        of_machines = raw.key.kind is Kind.MACHINE
        documents, names = (machines, machine_names) if of_machines else (shared, shared_names)
        gone, new = before.documents.get(raw), catalogue.documents.get(raw)
        if gone is not None:
            at = bisect_left(documents, gone.key, key=_by_key)
            while documents[at] is not gone:
                at += 1
            del documents[at], names[at]
            if extended := _extended(gone):
                left = [*extending.pop(extended)]
                left.remove(raw.key.identifier or "default")
                extending |= {extended: left} if left else {}
        if new is not None:
            at = bisect_left(documents, new.key, key=_by_key)
            documents.insert(at, new)
            names.insert(at, _searched(new))
            if extended := _extended(new):
                extending[extended] = [*extending.get(extended, ()), raw.key.identifier or "default"]
    return Listing(shared, shared_names, machines, machine_names, extending)


def _extended(document: Document) -> NameInKind | None:
    """Return the name of the group that a document extends."""
    extends = document.control.extends
    return (identity_of(extends), document.key.format) if extends else None


def document_at(catalogue: Catalogue, key: Key) -> RawDocument | None:
    """Return the document of a key, by its exact identifier or its identity; None where there is none."""
    identity = identity_of(key.identifier)
    if key.kind is Kind.MACHINE:
        found = catalogue.machines.get(identity, ())
    elif key.kind is Kind.GROUP:
        found = catalogue.groups.get((identity, key.format), ())
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
    """Return the problems of a document by itself."""
    raw = document_at(catalogue, key)
    if raw is None:
        return ()
    if key.kind is not Kind.INVENTORY:
        document = catalogue.documents.get(raw)
        return document.problems if document is not None else ()
    inventory = catalogue.inventory
    return (
        [problem for problem in inventory.problems() if problem.startswith("inventory")]
        if inventory is not None
        else ()
    )


def _by_key(document: Document) -> Key:
    return document.key


def _searched(document: Document) -> str:
    return document.key.identifier.casefold()
