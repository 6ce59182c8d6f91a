"""The sentences about problems of several documents together: duplicates, unknown groups, chains and cycles of groups.

Rules: docs/check.md. Knows documents. Must not know the catalogue, which finds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from answerd.documents import Document
from answerd.identity import Kind, identifier_fault, printable

MOST_GROUPS = 100
"""The most groups that an answer may have: the group that is named and the groups that it extends, directly or not. In
a longer chain each group would keep its merge with all groups below it, and all of these together need too much
memory."""
_MOST_DUPLICATES = 4
"""Documents with the same name that a sentence lists."""

_LONGEST_CYCLE = 400
"""Characters of the names in a cycle of groups that a sentence lists."""

_FEWEST_IN_CYCLE = 2
"""Groups of a cycle that a sentence lists even where their names are long."""


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
