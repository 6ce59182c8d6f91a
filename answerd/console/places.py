"""The places that a sentence names, as links: documents with their line, and rows of inventories.

Problems, refusals and origins are sentences for a person at any screen. On a page each place in them leads there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.causes import Cause
from answerd.answers.inventory_index import inventory_file
from answerd.console.rendering import Piece, link
from answerd.documents import Document, Key
from answerd.identity import Kind, identity_of
from answerd.inventory.row import Row
from answerd.short_texts import printable

_PLACE = re.compile(
    r'\b(?P<kind>machine|group|default)(?: "(?P<name>[^"\n]+)")? \((?P<format>\w+)\)'
    r"|\b(?P<bare_kind>machine|group|default)(?: (?P<bare>[^\s\"()]+))? \((?P<bare_format>\w+)\):(?P<bare_line>\d+)"
    r"|(?P<file>[^\s\"'(),;]+\.\w+):(?P<line>\d{1,9})"
)
_LINE = re.compile(r"\bline (\d{1,9})\b")


class Places:
    """The places of one set of documents."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def linked(self, sentences: Iterable[str]) -> list[list[Piece]]:
        """Return sentences in pieces, each place that the set has with its address. Costs one look at every document
        where a sentence names a file."""
        texts = [*sentences]
        found = [[*_PLACE.finditer(text)] for text in texts]
        files = self._files({match["file"] for matches in found for match in matches if match["file"]})
        return [self._pieces(text, matches, files) for text, matches in zip(texts, found, strict=True)]

    def _pieces(self, text: str, matches: Sequence[re.Match[str]], files: Mapping[str, Key]) -> list[Piece]:
        pieces: list[Piece] = []
        at = 0
        for number, match in enumerate(matches):
            end = matches[number + 1].start() if number + 1 < len(matches) else len(text)
            address = self._address(match, text[match.end() : end], files)
            if address:
                if match.start() > at:
                    pieces.append(Piece(text[at : match.start()]))
                pieces.append(Piece(match[0], address))
                at = match.end()
        return [*pieces, Piece(text[at:])] if at < len(text) else pieces

    def _address(self, match: re.Match[str], rest: str, files: Mapping[str, Key]) -> str:
        if match["file"]:
            key = files.get(match["file"])
            return place_address(key, int(match["line"])) if key is not None else ""
        kind = match["kind"] or match["bare_kind"]
        document = self._document(kind, match["name"] or match["bare"] or "", match["format"] or match["bare_format"])
        if document is None:
            return ""
        line = match["bare_line"] or next((found[1] for found in _LINE.finditer(rest)), None)
        return place_address(document.key, int(line) if line else document.raw.fault_line if document.raw.fault else 0)

    def _document(self, kind: str, name: str, extension: str) -> Document | None:
        catalogue, identity = self._catalogue, identity_of(name)
        documents: Iterable[Document] = catalogue.machines.get(identity, ())
        if kind == Kind.GROUP:
            documents = catalogue.groups.get((identity, extension), ())
        elif kind == Kind.DEFAULT:
            documents = catalogue.defaults.get(extension, ())
        return next((document for document in documents if document.key.format == extension), None)

    def _files(self, wanted: set[str]) -> Mapping[str, Key]:
        if not wanted:
            return {}
        return {name: key for name, key in self._sources() if name in wanted}

    def _sources(self) -> Iterator[tuple[str, Key]]:
        inventory = self._catalogue.inventory
        for raw in (*inventory.tables, *inventory.unreadable) if inventory is not None else ():
            yield printable(inventory_file(raw)), raw.key
        for raw in self._catalogue.documents:
            if raw.source:
                yield printable(raw.source), raw.key


def place_address(key: Key, line: int, edit: str = "") -> str:
    """Return the address of a line of a document, or of a row, whose fields are for the identity to ``edit``; of the
    whole where the line is 0."""
    if key.kind is Kind.INVENTORY:
        address = link("/console/inventory", name=key.identifier, line=line or "", edit=edit)
        return address + (f"#r{line}" if line else "")
    return link("/console/document", kind=str(key.kind), name=key.identifier, format=key.format, line=line or "")


def row_address(catalogue: Catalogue, row: Row, *, edits: bool = False) -> str:
    """Return the address of a row of an inventory, or of its fields where somebody ``edits`` it; empty where it is in
    no inventory any more."""
    for raw, table in catalogue.inventory.tables.items() if catalogue.inventory is not None else ():
        if table.layout is row.layout:
            return place_address(raw.key, table.line_of(row) or 0, next(iter(row.identities()), "") if edits else "")
    return ""


MOST_ALIKE = 50
"""Sentences of one cause that a page shows."""


class ShownCause(NamedTuple):
    """A cause in pieces. ``alike`` are the other sentences that it stands for, the first of them; ``more`` is how many
    there are in all. ``machines``: how many are affected, where that is known."""

    pieces: Sequence[Piece]
    alike: Sequence[Sequence[Piece]]
    more: int
    machines: int


def shown_causes(catalogue: Catalogue, found: Sequence[Cause]) -> list[ShownCause]:
    """Return causes for a page, each place with its address."""
    places = Places(catalogue)
    firsts = places.linked(cause.alike[0] for cause in found)
    others = iter(places.linked(one for cause in found for one in cause.alike[1 : MOST_ALIKE + 1]))
    return [
        ShownCause(
            first, [*islice(others, min(MOST_ALIKE, len(cause.alike) - 1))], len(cause.alike) - 1, len(cause.machines)
        )
        for first, cause in zip(firsts, found, strict=True)
    ]
