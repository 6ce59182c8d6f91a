"""The answer set, indexed: a request needs look-ups only, however many documents there are.

Rules: docs/selection.md#which-documents-answer.

A catalogue is never modified: `Catalogue.changed` makes a new catalogue, which shares every document that did not
change, parsed or not. Machine documents are parsed when first needed; groups at once, because only their content says
what they claim.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from answerd.answers.copy_on_write import CopyOnWriteMap
from answerd.answers.inventory_index import Inventory, inventory_after
from answerd.answers.selectors import SelectorIndex
from answerd.documents import Document, DocumentName, Key, NameInKind, RawDocument
from answerd.errors import BrokenDocument
from answerd.facts import Facts
from answerd.formats.patterns import Criterion
from answerd.identity import Kind, identifier_fault, identity_of
from answerd.inventory.meaning import AS_WRITTEN, Meaning
from answerd.shared_values import BUILT_IN, SharedValues
from answerd.short_texts import printable

_K = TypeVar("_K")
_V = TypeVar("_V", bound="Document | GroupClaim")

Claimed = tuple[tuple[str, ...], tuple[Criterion, ...], int | None]
"""The ``members``, ``match`` and ``overlay`` of a group."""

MOST_GROUPS: Final = 100
"""The most groups that an answer may have: the group that is named and the groups that it extends, directly or not. In
a longer chain each group would keep its merge with all groups below it, and all of these together need too much
memory."""
_MOST_DUPLICATES: Final = 4
"""Documents with the same name that a sentence lists."""

_LONGEST_CYCLE: Final = 400
"""Characters of the names in a cycle of groups that a sentence lists."""

_FEWEST_IN_CYCLE: Final = 2
"""Groups of a cycle that a sentence lists even where their names are long."""

_MOST_GONE: Final = 100
"""Removed groups whose last claims are kept: a file that is moved may be missing for a few looks."""

_MOST_GONE_MEMBERS: Final = 100_000
"""The most members that those claims may have together."""


@dataclass(frozen=True, eq=False, slots=True)
class GroupClaim:
    """The claims of a group. ``document`` is the current version of the group, readable or not."""

    document: Document
    members: tuple[str, ...]
    match: tuple[Criterion, ...]
    overlay: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """All documents of one moment. Its mappings are read-only; see `changed`.

    ``unreadable`` are the groups that have not been readable since the start, which might claim anything. ``faults``
    are problems of the store itself (`answerd.store.Changes`). ``gone`` has what removed groups claimed, for the
    case that a group returns and cannot be read. ``inventory`` has the rows of all inventories, None where there is
    none. ``has_states``: whether the service keeps states of installs. ``overlay_members`` and ``overlay_selectors``
    are ``members`` and ``selectors`` for overlays.
    """

    documents: CopyOnWriteMap[RawDocument, Document] = field(default_factory=CopyOnWriteMap)
    machines: CopyOnWriteMap[str, tuple[Document, ...]] = field(default_factory=CopyOnWriteMap)
    groups: CopyOnWriteMap[NameInKind, tuple[Document, ...]] = field(default_factory=CopyOnWriteMap)
    defaults: CopyOnWriteMap[str, tuple[Document, ...]] = field(default_factory=CopyOnWriteMap)
    claims: CopyOnWriteMap[Document, GroupClaim] = field(default_factory=CopyOnWriteMap)
    members: CopyOnWriteMap[str, tuple[GroupClaim, ...]] = field(default_factory=CopyOnWriteMap)
    selectors: SelectorIndex[GroupClaim] = field(default_factory=SelectorIndex)
    overlay_members: CopyOnWriteMap[str, tuple[GroupClaim, ...]] = field(default_factory=CopyOnWriteMap)
    overlay_selectors: SelectorIndex[GroupClaim] = field(default_factory=SelectorIndex)
    has_overlays: bool = False
    unreadable: tuple[Document, ...] = ()
    gone: Mapping[NameInKind, Claimed] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    inventory: Inventory | None = None
    has_states: bool = False
    # The results of `extended_by` and `chain`: hundreds of machines extend the same group.
    _extended: dict[NameInKind, Document] = field(default_factory=dict)
    _chains: dict[Document, tuple[Document, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> Mapping[str, str]:
        """The labels of inventories' columns with other names (`Inventory.labels_of_columns`)."""
        return self.inventory.labels_of_columns() if self.inventory is not None else {}

    @property
    def shared(self) -> SharedValues:
        """The values that many machines have: the known ones, and those that the set names."""
        return self.inventory.named if self.inventory is not None else BUILT_IN

    def meaning_of(self, name: str) -> Meaning:
        """Return what the columns of an inventory mean, given its name."""
        return self.inventory.meaning_of(name) if self.inventory is not None else AS_WRITTEN

    @property
    def size(self) -> int:
        """The number of documents, including inventories."""
        return len(self.documents) + (self.inventory.size if self.inventory else 0)

    def documents_of(self, raws: Iterable[RawDocument]) -> Iterator[Document]:
        """Yield the documents that have these texts. Inventories are none."""
        for raw in raws:
            document = self.documents.get(raw)
            if document is not None:
                yield document

    def raws(self) -> Iterator[RawDocument]:
        """Yield every document, inventories too, as a store holds it."""
        yield from self.documents
        if self.inventory is not None:
            yield from self.inventory.documents

    def raw_of(self, name: DocumentName) -> RawDocument | None:
        """Return the document of a name as a store holds it; None where there is none."""
        return next(iter(self.raws_of(name)), None)

    def raws_of(self, name: DocumentName) -> list[RawDocument]:
        """Return the documents of a name as a store holds them; a directory may have several."""
        kind, identity, extension = name
        if kind is Kind.INVENTORY:
            documents = () if self.inventory is None else self.inventory.documents
            return [raw for raw in documents if raw.key.name == name]
        if kind is Kind.MACHINE:
            found = self.machines.get(identity, ())
        else:
            found = (
                self.groups.get((identity, extension), ()) if kind is Kind.GROUP else self.defaults.get(extension, ())
            )
        return [document.raw for document in found if document.key.format == extension]

    def facts(self, facts: Facts) -> Facts:
        """Return the facts of a request with those of its row. Raises `BrokenDocument`, as `Inventory.facts` does."""
        inventory = self.inventory
        if inventory is None:
            return facts
        found = inventory.facts(facts)
        if inventory.nobody and found.row is None:
            for known in (self.machines, self.members):
                if facts.identities_held_in(known.intersection):
                    return found
            inventory.refuse_nobody(facts)
        return found

    def changed(
        self,
        added: Iterable[RawDocument],
        removed: Iterable[RawDocument] = (),
        *,
        faults: tuple[str, ...] = (),
        seen: Callable[[Document], object] | None = None,
    ) -> Catalogue:
        """Return a catalogue without ``removed`` and with ``added``. The cost grows with the change only.

        ``seen`` is called with each document that was added, before the next is; what it raises ends the change.
        """
        return _Change(self).made(added, removed, faults, seen)

    def group(self, name: str, extension: str) -> Document:
        """Return the group that ``extends`` names. Raises `BrokenDocument` when there is none, or two."""
        found = self.groups.get((identity_of(name), extension), ())
        if not found:
            raise BrokenDocument(f"{unknown_group(name)} ({extension})")
        self.refuse_duplicates(found)
        return found[0]

    def extended_by(self, document: Document) -> Document | None:
        """Return the group that a document extends by name; None when it names none. Raises `BrokenDocument`."""
        name = document.control.extends
        if name is None:
            return None
        extension = document.key.format
        group = self._extended.get((name, extension))
        if group is None:
            if (identity_of(name), extension) not in self.groups:
                raise BrokenDocument(unknown_group_problem(document))
            group = self.group(name, extension)
            if group.content.readable and group.control.overlay is not None:
                raise BrokenDocument(extended_overlay_problem(document, group))
            self._extended[name, extension] = group
        return group

    def chain(self, group: Document) -> tuple[Document, ...]:
        """Return a group and the groups that it extends, lowest first.

        Raises `BrokenDocument`, which names the document at fault: it is broken, missing, or in a cycle.
        """
        known = self._chains.get(group)
        if known is None:
            known = self._chains[group] = tuple(reversed(self._climbed(group)))
        return known

    def _climbed(self, group: Document) -> list[Document]:
        """Return a group and the groups that it extends, highest first."""
        chain, passed = [group], {group}
        while True:
            refuse_broken(group)
            parent = self.extended_by(group)
            if parent is None:
                return chain
            if parent in passed:
                raise BrokenDocument(cycle_problem(chain[chain.index(parent) :]))
            if len(chain) == MOST_GROUPS:
                raise BrokenDocument(height_problem(chain[0]))
            group = parent
            chain.append(group)
            passed.add(group)

    def refuse_duplicates(self, documents: Iterable[Document]) -> None:
        """Raise `BrokenDocument` when ``documents``, which have one identity, contain two of one format."""
        for duplicates in duplicates_of(documents):
            raise BrokenDocument(duplicate_problem(duplicates))

    def check_unique(self, document: Document) -> None:
        """Raise `BrokenDocument` when another document has the same identity and format."""
        same_name = self._same_name(document)
        if len(same_name) > 1:
            self.refuse_duplicates(namesake for namesake in same_name if namesake.key.format == document.key.format)

    def _same_name(self, document: Document) -> tuple[Document, ...]:
        if document.key.kind is Kind.MACHINE:
            return self.machines.get(document.identity, ())
        if document.key.kind is Kind.GROUP:
            return self.groups.get((document.identity, document.key.format), ())
        return self.defaults.get(document.key.format, ())


def refuse_broken(document: Document) -> None:
    """Raise `BrokenDocument` with the first problem of the document itself."""
    for problem in document.problems:
        raise BrokenDocument(f"{document.key}: {problem}")


class _Change:
    """Builds the next catalogue from copies of the indexes of this one."""

    def __init__(self, before: Catalogue) -> None:
        self.before = before
        self.documents = before.documents.copy()
        self.machines = before.machines.copy()
        self.groups = before.groups.copy()
        self.defaults = before.defaults.copy()
        self.claims = before.claims.copy()
        self.members = before.members.copy()
        self.overlay_members = before.overlay_members.copy()
        self.selectors = before.selectors
        self.overlay_selectors = before.overlay_selectors
        self.unreadable = dict.fromkeys(before.unreadable)
        self.lapsed: dict[NameInKind, dict[str, Claimed]] = {}  # by source

    def made(
        self,
        added: Iterable[RawDocument],
        removed: Iterable[RawDocument],
        faults: tuple[str, ...],
        seen: Callable[[Document], object] | None,
    ) -> Catalogue:
        inventory = self.before.inventory
        tables_added: list[RawDocument] = []
        tables_removed: list[RawDocument] = []
        for raw in removed:
            if raw.key.kind is Kind.INVENTORY:
                tables_removed.append(raw)
                continue
            self._remove(raw)
        for raw in added:
            if raw.key.kind is Kind.INVENTORY:
                tables_added.append(raw)
                continue
            document = self._add(raw)
            if seen is not None:
                seen(document)
        if tables_added or tables_removed:
            inventory = inventory_after(inventory, tables_added, tables_removed)
        return Catalogue(
            documents=self.documents,
            machines=self.machines,
            groups=self.groups,
            defaults=self.defaults,
            claims=self.claims,
            members=self.members,
            selectors=self.selectors,
            overlay_members=self.overlay_members,
            overlay_selectors=self.overlay_selectors,
            has_overlays=not self.overlay_members.is_empty or len(self.overlay_selectors) > 0,
            unreadable=tuple(sorted(self.unreadable, key=_order)),
            gone=self._gone(),
            faults=faults,
            inventory=inventory,
            has_states=self.before.has_states,
        )

    def _remove(self, raw: RawDocument) -> None:
        document = self.documents.pop(raw, None)
        if document is None:
            return
        kind = raw.key.kind
        if kind is Kind.MACHINE:
            _drop(self.machines, document.identity, document)
        elif kind is Kind.GROUP:
            _drop(self.groups, (document.identity, raw.key.format), document)
            self.unreadable.pop(document, None)
            claim = self.claims.pop(document, None)
            if claim:
                of_name = self.lapsed.setdefault((document.identity, raw.key.format), {})
                of_name[raw.source] = claim.members, claim.match, claim.overlay
                self._withdraw(claim)
        else:
            _drop(self.defaults, raw.key.format, document)

    def _add(self, raw: RawDocument) -> Document:
        document = Document(raw, has_states=self.before.has_states)
        self.documents[raw] = document
        kind = raw.key.kind
        if kind is Kind.MACHINE:
            if document.identity:
                _append(self.machines, document.identity, document)
        elif kind is Kind.GROUP:
            _append(self.groups, (document.identity, raw.key.format), document)
            claim = self._claim(document)
            if claim:
                self.claims[document] = claim
                self._enter(claim)
            else:
                self.unreadable[document] = None
        else:
            _append(self.defaults, raw.key.format, document)
        return document

    def _enter(self, claim: GroupClaim) -> None:
        members = self.members if claim.overlay is None else self.overlay_members
        for member in claim.members:
            _append(members, member, claim)
        if _rests_on_match(claim):
            self._own_selectors(claim).add(claim, claim.match)

    def _withdraw(self, claim: GroupClaim) -> None:
        members = self.members if claim.overlay is None else self.overlay_members
        for member in claim.members:
            _drop(members, member, claim)
        if _rests_on_match(claim):
            self._own_selectors(claim).discard(claim)

    def _own_selectors(self, claim: GroupClaim) -> SelectorIndex[GroupClaim]:
        """Return the index of selectors that has a claim, for modification."""
        if claim.overlay is None:
            if self.selectors is self.before.selectors:
                self.selectors = self.before.selectors.copy()
            return self.selectors
        if self.overlay_selectors is self.before.overlay_selectors:
            self.overlay_selectors = self.before.overlay_selectors.copy()
        return self.overlay_selectors

    def _claim(self, document: Document) -> GroupClaim | None:
        """Return the claims of a group; when it cannot be read, those of its last readable version, if there was one.

        The last version is found by the group's name, because its file may have moved or be spelled in another way.
        When two files have the name, the version from the same file counts; otherwise it is not known.
        """
        if document.content.readable:
            control = document.control
            return GroupClaim(document, control.members, control.match, control.overlay)
        name = document.identity, document.key.format
        before = self.before.gone.get(name)
        lapsed = self.lapsed.get(name) or ({"": before} if before else {})
        claimed = lapsed.get(document.raw.source) or (next(iter(lapsed.values())) if len(lapsed) == 1 else None)
        return GroupClaim(document, *claimed) if claimed else None

    def _gone(self) -> Mapping[NameInKind, Claimed]:
        """Return the last claims of removed groups, the newest first to be kept, up to the limit."""
        gone = dict(self.before.gone)
        for name, of_name in self.lapsed.items():
            if len(of_name) == 1:
                gone.pop(name, None)  # makes it the newest
                gone[name] = next(iter(of_name.values()))
        kept: dict[NameInKind, Claimed] = {}
        members = 0
        for name, claimed in reversed(gone.items()):
            members += len(claimed[0])
            if len(kept) == _MOST_GONE or members > _MOST_GONE_MEMBERS:
                break
            if name not in self.groups:
                kept[name] = claimed
        return dict(reversed(kept.items()))


def _rests_on_match(claim: GroupClaim) -> bool:
    """Return whether ``match`` alone claims; with ``members`` it narrows."""
    return bool(claim.match) and not claim.members


def _append(index: CopyOnWriteMap[_K, tuple[_V, ...]], key: _K, value: _V) -> None:
    """File a document, or a claim, among others of the same name. Sorted, so that the order of arrival does not
    matter."""
    namesakes = index.get(key)
    if namesakes:
        at = bisect_left(namesakes, _order(value), key=_order)
        index[key] = (*namesakes[:at], value, *namesakes[at:])
    else:
        index[key] = (value,)


def _order(filed: Document | GroupClaim) -> tuple[Key, str]:
    document = filed.document if isinstance(filed, GroupClaim) else filed
    return document.key, document.raw.source


def _drop(index: CopyOnWriteMap[_K, tuple[_V, ...]], key: _K, value: _V) -> None:
    rest = index.get(key, ())
    if value in rest:
        at = rest.index(value)
        rest = (*rest[:at], *rest[at + 1 :])
    if rest:
        index[key] = rest
    else:
        index.pop(key, None)


def extended_name(document: Document) -> NameInKind | None:
    """Return the name of the group that a document extends; None where it extends none."""
    extended = document.control.extends
    return None if extended is None else (identity_of(extended), document.key.format)


# Why documents cannot be used together.


def duplicates_of(documents: Iterable[Document]) -> Iterator[tuple[Document, ...]]:
    """Yield the documents that share a format, from documents of one kind and identity."""
    by_format: dict[str, list[Document]] = {}
    for document in documents:
        by_format.setdefault(document.key.format, []).append(document)
    for duplicates in by_format.values():
        if len(duplicates) > 1:
            yield tuple(sorted(duplicates, key=lambda same: (same.key.identifier, same.raw.source)))


def duplicate_problem(duplicates: tuple[Document, ...]) -> str:
    """Return why documents with the same key or identity cannot be used: the sentence names both."""
    first = duplicates[0].key
    names = [
        printable(duplicate.raw.source) or f'"{printable(duplicate.key.identifier)}"'
        for duplicate in duplicates[: _MOST_DUPLICATES + 1]
    ]
    more = len(duplicates) - _MOST_DUPLICATES
    if more > 1:
        names[_MOST_DUPLICATES:] = [f"{more:,} more"]
    same = "one key" if len({duplicate.key for duplicate in duplicates}) == 1 else "one identity and format"
    return f"{first}: {len(duplicates)} documents for {same}: {' and '.join(names)}"


def unknown_group_problem(document: Document) -> str:
    """Return why a document cannot extend the group that it names."""
    return f"{document.key}: extends {unknown_group(document.control.extends or '')}"


def unknown_group(name: str) -> str:
    """Return the unknown group for a sentence, without its text where that is no valid name: it may be a secret."""
    if identifier_fault(Kind.GROUP, name):
        return "unknown group, by a text that is no group's name"
    return f'unknown group "{name}"'


def extended_overlay_problem(document: Document, overlay: Document) -> str:
    """Return why a document cannot extend the group that it names, where that is an overlay."""
    return f"{document.key}: extends {overlay.key}, which is an overlay: it is laid over answers, nothing extends it"


def height_problem(group: Document) -> str:
    """Return why a group that extends too many others cannot be used."""
    return f"{group.key}: extends more groups than an answer may have, which is {MOST_GROUPS} with itself"


def cycle_problem(cycle: Sequence[Document]) -> str:
    """Return why groups that extend one another in a cycle cannot be used. The list begins with the name that sorts
    first, and is cut where the sentence would be too long."""
    first = min(range(len(cycle)), key=lambda at: cycle[at].key)
    turned = [printable(document.key.identifier) for document in (*cycle[first:], *cycle[:first])]
    listed = length = 0
    while listed < len(turned) and (listed < _FEWEST_IN_CYCLE or length + len(turned[listed]) <= _LONGEST_CYCLE):
        length += len(turned[listed]) + len(" -> ")
        listed += 1
    names = turned[:listed] + ([f"and {len(turned) - listed:,} more"] if listed < len(turned) else [])
    return f"{cycle[first].key}: is in a cycle of extends: {' -> '.join([*names, turned[0]])}"
