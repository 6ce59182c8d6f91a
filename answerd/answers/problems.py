"""The problems of an answer set, found before any request (docs/check.md).

Sorted, stable sentences, each with kind, identifier and format. A problem that depends on a request is not reported
here.

Beside its sentence a problem has an identity: what is wrong with which document, name or row. In two sets it is the
same problem while its identity is the same, whatever its sentence lists.

Each document is judged once, when it comes. What groups are to each other (cycles, chains that are too long, groups
that are missing) is found anew when a group came, went or changed: milliseconds for thousands of groups.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from answerd.answers.catalogue import (
    MOST_GROUPS,
    Catalogue,
    cycle_problem,
    duplicate_problem,
    duplicates_of,
    extended_name,
    extended_overlay_problem,
    height_problem,
    unknown_group_problem,
)
from answerd.documents import Document, DocumentName, NameInKind, RawDocument
from answerd.errors import BrokenDocument
from answerd.identity import Kind


def load_problems(catalogue: Catalogue) -> list[str]:
    """Return every problem of the set, sorted and each once. Parses what is not parsed yet."""
    return ProblemIndex.of(catalogue).listed()


@dataclass(frozen=True, slots=True)
class ProblemIndex:
    """The problems of one catalogue. Never modified: `after` makes the index of the next catalogue.

    ``of_extends`` are those of documents that extend what they cannot, ``of_groups`` cycles and chains that are too
    long, by their identities.
    """

    catalogue: Catalogue
    of_documents: Mapping[Document, tuple[str, ...]]
    of_names: Mapping[DocumentName, tuple[str, ...]]
    of_extends: Mapping[Document, str]
    of_groups: Mapping[Hashable, str]

    @classmethod
    def of(cls, catalogue: Catalogue) -> ProblemIndex:
        """Return the index of a catalogue from scratch: check every document, and parse it where it was not yet
        parsed."""
        return cls(Catalogue(), {}, {}, {}, {}).after(catalogue)

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
        gone = [before.documents[raw] for raw in removed if raw.key.kind is not Kind.INVENTORY]
        new = [catalogue.documents[raw] for raw in added if raw.key.kind is not Kind.INVENTORY]
        of_documents, of_names, of_extends = dict(self.of_documents), dict(self.of_names), dict(self.of_extends)
        for document in gone:
            of_documents.pop(document, None)
            of_extends.pop(document, None)
        for document in new:
            if document.problems:
                of_documents[document] = tuple(f"{document.key}: {problem}" for problem in document.problems)
        for name in {document.key.name: None for document in (*gone, *new)}:
            of_names.pop(name, None)
            if sentences := tuple(_of_duplicates(catalogue, name)):
                of_names[name] = sentences
        groups = {(document.identity, document.key.format) for document in (*gone, *new) if document.is_group}
        may_extend_otherwise = any(_standing(before, group) != _standing(catalogue, group) for group in groups)
        for document in catalogue.documents.values() if may_extend_otherwise else new:
            of_extends.pop(document, None)
            if sentence := _of_extends(catalogue, document):
                of_extends[document] = sentence
        of_groups = dict(_of_groups(catalogue)) if groups else self.of_groups
        return ProblemIndex(catalogue, of_documents, of_names, of_extends, of_groups)

    def sentences(self) -> frozenset[str]:
        """Return every problem, each once."""
        found = {*self._of_the_documents().values()}
        if self.catalogue.inventory is not None:
            found.update(self.catalogue.inventory.problems())
        return frozenset(found)

    def introduced_after(self, before: ProblemIndex) -> list[str]:
        """Return the problems that the set ``before`` did not have, sorted. One that was there is not new because its
        sentence is: a row moved to another line, or one of three rows with one identity is gone."""
        known = before._of_the_documents()
        found = {sentence for about, sentence in self._of_the_documents().items() if about not in known}
        if self.catalogue.inventory is not None:
            found.update(self.catalogue.inventory.problems_since(before.catalogue.inventory))
        return sorted(found)

    def _of_the_documents(self) -> dict[Hashable, str]:
        """Return the problems but for those of inventories, by their identities."""
        found: dict[Hashable, str] = {reason: reason for reason in self.catalogue.faults}
        for document, sentences in self.of_documents.items():
            found |= {("document", document.key, sentence): sentence for sentence in sentences}
        for name, sentences in self.of_names.items():
            found |= {("name", name, at): sentence for at, sentence in enumerate(sentences)}
        for document, sentence in self.of_extends.items():
            found["extends", document.key, extended_name(document)] = sentence
        found |= self.of_groups
        return found

    def listed(self) -> list[str]:
        """Return every problem, each once and sorted."""
        return sorted(self.sentences())


def _standing(catalogue: Catalogue, group: NameInKind) -> object:
    """Return what a group's name is to documents that extend it."""
    return [
        document.content.readable and document.control.overlay is not None
        for document in catalogue.groups.get(group, ())
    ][:1]


def _of_extends(catalogue: Catalogue, document: Document) -> str | None:
    extended = extended_name(document)
    if extended is None:
        return None
    groups = catalogue.groups.get(extended, ())
    if not groups:
        return unknown_group_problem(document)
    is_overlay = groups[0].content.readable and groups[0].control.overlay is not None
    return extended_overlay_problem(document, groups[0]) if is_overlay else None


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


def _of_groups(catalogue: Catalogue) -> Iterator[tuple[Hashable, str]]:
    """Yield the identity and the sentence of each problem of groups that extend one another in a cycle, or that extend
    too many others. Each group is visited once."""
    heights: dict[NameInKind, int] = {}  # 0 where a group leads into a cycle, or to a name that no single group has
    for group in catalogue.groups:
        trail: dict[NameInKind, Document] = {}
        name: NameInKind | None = group
        while name is not None and name not in heights and name not in trail:
            document = _only(catalogue, name)
            if document is None:
                heights[name] = 0
                break
            trail[name] = document
            name = extended_name(document)
        leads_on = name is None or bool(heights.get(name))
        if name in trail:
            cycle = list(trail.values())[list(trail).index(name) :]
            yield ("cycle", frozenset(cycled.key for cycled in cycle)), cycle_problem(cycle)
        height = 0 if name is None else heights.get(name, 0)
        for below, document in reversed(trail.items()):
            height = heights[below] = height + 1 if leads_on else 0
            if height > MOST_GROUPS:
                yield ("height", document.key), height_problem(document)


def _only(catalogue: Catalogue, name: NameInKind) -> Document | None:
    """Return the only group with a name; None where there is none, or two."""
    try:
        return catalogue.group(*name)
    except BrokenDocument:
        return None
