"""The problems of an answer set, found before any request (docs/check.md).

Sorted, stable sentences, each with kind, identifier and format. A problem that depends on a request is not reported
here.

Problems are filed by what causes them: a document by itself, a name that two documents have, a cycle of groups. So the
problems of a changed set follow from those of the set before, and only what the change affects is checked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from answerd.answers.catalogue import Catalogue
from answerd.answers.copy_on_write import CopyOnWriteMap
from answerd.answers.problem_sentences import (
    MOST_GROUPS,
    cycle_problem,
    duplicate_problem,
    duplicates_of,
    height_problem,
    unknown_group_problem,
)
from answerd.documents import Document, DocumentName, NameInKind, RawDocument
from answerd.errors import BrokenDocument
from answerd.identity import Kind, identity_of

_Cause = TypeVar("_Cause")

"""Kind, identity and format: at most one document may have all three."""


def load_problems(catalogue: Catalogue) -> list[str]:
    """Return every problem of the set, sorted and each once. Parses what is not parsed yet."""
    return ProblemIndex.of(catalogue).listed()


@dataclass(frozen=True, slots=True)
class _Cycle:
    """Groups that extend one another in a cycle, and the sentence that says so."""

    groups: tuple[NameInKind, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class ProblemIndex:
    """The problems of one catalogue. Never modified: `after` makes the index of the next catalogue.

    ``too_high`` are the groups that extend too many others. ``extending`` has the documents with ``extends`` by the
    group that they name, because adding or removing that group changes their problems.
    """

    catalogue: Catalogue
    of_documents: Mapping[Document, tuple[str, ...]]
    of_names: Mapping[DocumentName, tuple[str, ...]]
    cycles: Mapping[NameInKind, _Cycle]
    too_high: Mapping[NameInKind, str]
    extending: Mapping[NameInKind, CopyOnWriteMap[Document, None]]

    @classmethod
    def of(cls, catalogue: Catalogue) -> ProblemIndex:
        """Return the index of a catalogue from scratch: check every document, and parse it where it was not yet
        parsed."""
        return cls(Catalogue(), {}, {}, {}, {}, {}).after(catalogue)

    def after(
        self,
        catalogue: Catalogue,
        added: Iterable[RawDocument] | None = None,
        removed: Iterable[RawDocument] = (),
    ) -> ProblemIndex:
        """Return the index of a catalogue that was made from this one's.

        ``added`` and ``removed`` are the difference that `Catalogue.changed` was given; where ``added`` is None, both
        are found by comparison.
        """
        before = self.catalogue
        if added is None:
            added = catalogue.documents.keys_not_in(before.documents)
            removed = before.documents.keys_not_in(catalogue.documents)
        update = _Update(self, catalogue)
        update.remove(before.documents[raw] for raw in removed if raw.key.kind is not Kind.INVENTORY)
        update.add(catalogue.documents[raw] for raw in added if raw.key.kind is not Kind.INVENTORY)
        return update.made()

    def sentences(self) -> frozenset[str]:
        """Return every problem, each once."""
        found = self._of_the_documents()
        if self.catalogue.inventory is not None:
            found.update(self.catalogue.inventory.problems())
        return frozenset(found)

    def introduced_after(self, before: ProblemIndex) -> list[str]:
        """Return the problems that the set ``before`` did not have, sorted. The problem of a row that only moved to
        another line is not new."""
        found = self._of_the_documents() - before._of_the_documents()
        if self.catalogue.inventory is not None:
            found.update(self.catalogue.inventory.problems_since(before.catalogue.inventory))
        return sorted(found)

    def _of_the_documents(self) -> set[str]:
        found = {*self.catalogue.unlisted, *self.catalogue.faults}
        for filed in (self.of_documents, self.of_names):
            for sentences in filed.values():
                found.update(sentences)
        found.update(cycle.sentence for cycle in self.cycles.values())
        found.update(self.too_high.values())
        return found

    def listed(self) -> list[str]:
        """Return every problem, each once and sorted."""
        return sorted(self.sentences())


class _Update:
    """Builds the next index from copies of this one's tables.

    Documents are looked up in the new catalogue, which is complete: the order does not matter.
    """

    def __init__(self, before: ProblemIndex, catalogue: Catalogue) -> None:
        self.before = before
        self.catalogue = catalogue
        self.of_documents = dict(before.of_documents)
        self.of_names = dict(before.of_names)
        self.cycles = dict(before.cycles)
        self.too_high = dict(before.too_high)
        self.extending = dict(before.extending)
        self.own: dict[
            NameInKind, CopyOnWriteMap[Document, None]
        ] = {}  # the tables of ``extending`` that are copies already
        self.groups: dict[NameInKind, None] = {}
        self.names: dict[DocumentName, None] = {}

    def remove(self, documents: Iterable[Document]) -> None:
        for document in documents:
            self.of_documents.pop(document, None)
            self._check_name(document)
            if extended := _extended(document):
                self._own_extending(extended).pop(document, None)

    def add(self, documents: Iterable[Document]) -> None:
        for document in documents:
            self._check(document)
            self._check_name(document)
            if extended := _extended(document):
                self._own_extending(extended)[document] = None

    def made(self) -> ProblemIndex:
        for name in self.names:
            _put(self.of_names, name, tuple(_of_duplicates(self.catalogue, name)))
        for group in self.groups:
            # The problems of documents that extend a group which exists before and after do not change.
            if (group in self.catalogue.groups) != (group in self.before.catalogue.groups):
                self._check_again(self.before.extending.get(group, ()))
        self._update_cycles()
        for extended, file in self.own.items():
            if not file:
                self.extending.pop(extended)
        self._update_heights()
        return ProblemIndex(
            self.catalogue, self.of_documents, self.of_names, self.cycles, self.too_high, self.extending
        )

    def _check_again(self, documents: Iterable[Document]) -> None:
        for document in documents:
            if document.raw in self.catalogue.documents:
                self._check(document)

    def _check(self, document: Document) -> None:
        _put(self.of_documents, document, tuple(_of_document(self.catalogue, document)))

    def _check_name(self, document: Document) -> None:
        kind, identity, extension = name = _full_name(document)
        if kind is Kind.GROUP:
            self.groups[identity, extension] = None
        self.names[name] = None

    def _own_extending(self, extended: NameInKind) -> CopyOnWriteMap[Document, None]:
        """Return the documents that extend a group, for modification."""
        file = self.own.get(extended)
        if file is None:
            before = self.extending.get(extended)
            file = self.own[extended] = before.copy() if before else CopyOnWriteMap()
            self.extending[extended] = file
        return file

    def _update_cycles(self) -> None:
        """Find the cycles again: a new or removed cycle contains a group that changed."""
        for group in self.groups:
            cycle = self.cycles.get(group)
            for name in cycle.groups if cycle else ():
                del self.cycles[name]
        passed: set[NameInKind] = set()
        for group in self.groups:
            found = _cycle_above(self.catalogue, group, passed)
            for name in found.groups if found else ():
                self.cycles[name] = found  # type: ignore[assignment]

    def _update_heights(self) -> None:
        """Measure the heights again: of the groups that changed, and of those that extend a group whose height
        changed."""
        heights = _Heights(self.catalogue)
        before = _Heights(self.before.catalogue)
        measured = list(self.groups)
        seen = set(measured)
        for group in measured:  # grows during the iteration
            height = heights.of(group)
            if height > MOST_GROUPS and (document := _only(self.catalogue, group)):
                self.too_high[group] = height_problem(document)
            else:
                self.too_high.pop(group, None)
            if height != before.of(group):
                for name in self._extending(group):
                    if name not in seen:
                        seen.add(name)
                        measured.append(name)

    def _extending(self, group: NameInKind) -> Iterator[NameInKind]:
        """Yield the groups that extend a group directly."""
        for document in self.extending.get(group, ()):
            if document.is_shared:
                yield document.identity, document.key.format


def _put(sentences_by_cause: dict[_Cause, tuple[str, ...]], cause: _Cause, sentences: tuple[str, ...]) -> None:
    if sentences:
        sentences_by_cause[cause] = sentences
    else:
        sentences_by_cause.pop(cause, None)


def _full_name(document: Document) -> DocumentName:
    return document.key.kind, document.identity, document.key.format


def _extended(document: Document) -> NameInKind | None:
    """Return the name of the group that a document extends."""
    extended = document.control.extends
    return None if extended is None else (identity_of(extended), document.key.format)


def _of_document(catalogue: Catalogue, document: Document) -> Iterator[str]:
    for problem in document.problems:
        yield f"{document.key}: {problem}"
    extended = _extended(document)
    if extended is not None and extended not in catalogue.groups:
        yield unknown_group_problem(document)


def _of_duplicates(catalogue: Catalogue, name: DocumentName) -> Iterator[str]:
    kind, identity, extension = name
    if kind is Kind.MACHINE:
        namesakes = catalogue.machines.get(identity, ())
    elif kind is Kind.GROUP:
        namesakes = catalogue.groups.get((identity, extension), ())
    else:
        namesakes = catalogue.defaults.get(extension, ())
    if len(namesakes) > 1:
        for duplicates in duplicates_of(document for document in namesakes if document.key.format == extension):
            yield duplicate_problem(duplicates)


def _cycle_above(catalogue: Catalogue, start: NameInKind, passed: set[NameInKind]) -> _Cycle | None:
    """Return the cycle that a group leads into, beginning with the name that sorts first.

    ``passed`` are the groups that were visited before, which are not visited again: a cycle that contains them has been
    found. The groups of this visit are added.
    """
    trail: dict[NameInKind, Document] = {}
    name: NameInKind | None = start
    while name is not None and name not in trail:
        group = None if name in passed else _only(catalogue, name)
        if group is None:
            passed.update(trail)
            return None
        trail[name] = group
        name = _extended(group)
    passed.update(trail)
    if name is None:
        return None
    names = list(trail)
    cycle = names[names.index(name) :]
    return _Cycle(tuple(cycle), cycle_problem([trail[group] for group in cycle]))


class _Heights:
    """The height of each group of a catalogue: how many groups it extends, itself included. Each is visited once.

    0 for a group that leads into a cycle, or to a name that no group or several have. That is a problem of its own.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known: dict[NameInKind, int] = {}

    def of(self, group: NameInKind) -> int:
        """Return the height of a group."""
        trail: dict[NameInKind, None] = {}
        name: NameInKind | None = group
        height = 0
        leads_on = True
        while name is not None:
            known = self._known.get(name)
            document = _only(self._catalogue, name) if known is None and name not in trail else None
            if document is None:
                height, leads_on = known or 0, bool(known)
                break
            trail[name] = None
            name = _extended(document)
        for below in reversed(trail):
            height = height + 1 if leads_on else 0
            self._known[below] = height
        return self._known.get(group, 0)


def _only(catalogue: Catalogue, name: NameInKind) -> Document | None:
    """Return the only group with a name; None where there is none, or two."""
    try:
        return catalogue.group(*name)
    except BrokenDocument:
        return None
