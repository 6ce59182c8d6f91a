"""The origin of each value of an answer: the document and its line (``answerd render --explain``).

Merges the layers again with the family's own functions, with every value marked; nothing here knows the rules of a
merge. Pure: needs an answer and its layers and nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from answerd.answers.compose import Layers, prepared_answer
from answerd.answers.inventory_index import Inventory
from answerd.answers.resolve import Answer
from answerd.documents import Document
from answerd.errors import BrokenDocument
from answerd.formats import text as text_family
from answerd.formats.family import ParseError, Path, Tree
from answerd.formats.filters import Lookup
from answerd.formats.origins import MARKINGS, Leaf, lines_of
from answerd.memo import remembered
from answerd.short_texts import brief

LONGEST_MARKED = 65_536  # characters of a layer whose marked tree is kept for all its answers
_TAG = re.compile(r"\{[{%]([^{}]*)")
_NAME = re.compile(r"[\w$@][\w$@.:-]*")
_PLACEHOLDER_LABEL = re.compile(r"\{\{[ \t]*([\w$@][\w$@.:-]*)")
LONGEST_PLACE = 200
"""Characters of a document's name that are shown; a file may be called anything."""

WIDEST_PLACE = 60
"""Columns for the places beside an answer. A line whose values come from several documents takes more, alone."""

MOST_EXPLAINED = 8 * 1024 * 1024
"""Characters of the keys of all values together, written for each value, up to which an answer is explained."""


@dataclass(frozen=True, slots=True)
class Place:
    """The document and the line in it, from 1; ``groups/base.toml:12``. ``line`` is None where it is not known."""

    document: Document
    line: int | None

    def __str__(self) -> str:
        return source_of(self.document) if self.line is None else f"{source_of(self.document)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Origin:
    """A value of an answer: its path, where it came from, and the line of the answer it begins on.

    ``place`` is None where a merge left no mark: a map that is empty because all of it was unset. ``row`` is the place
    of the inventory's row that filled a placeholder of the value, None where none did.
    """

    path: Path
    place: Place | None
    answer_line: int | None
    row: str | None = None

    @property
    def where(self) -> str:
        """The place of the value, and that of the row, for a person."""
        place = brief(str(self.place), LONGEST_PLACE)
        return f"{place}, {brief(self.row, LONGEST_PLACE)}" if self.row else place

    @property
    def key(self) -> str:
        """The path as a person writes it: ``global.keyboard``, ``network.interfaces.0``."""
        return ".".join(self.path)


def source_of(document: Document) -> str:
    """Return where a document is stored: its file below the answers directory, or its key in a database."""
    key = document.key
    named = f"{key.kind} {key.identifier} ({key.format})" if key.identifier else f"{key.kind} ({key.format})"
    return document.raw.source or named


def origins(answer: Answer, inventory: Inventory | None = None, *, with_lines: bool = True) -> tuple[Origin, ...]:
    """Return every value of an answer. Empty for a file that was made up for cloud-init: no document has it.

    ``inventory`` is that of the answer's catalogue. ``with_lines``: whether to find ``answer_line`` too, which costs as
    much as the rest.
    """
    return tuple(_origins(answer, inventory, with_lines=with_lines))


def _origins(answer: Answer, inventory: Inventory | None, *, with_lines: bool = True) -> Iterator[Origin]:
    if answer.side_file:
        return
    layers = answer.selection.layers
    family = layers[-1].family.name
    if answer.values is not None and any(layer.control.is_jinja for layer in layers) and not answer.refusal:
        yield from _origins_by_lines(answer, inventory, answer.values)
        return
    lines: Mapping[Path, int] = {}
    with suppress(ParseError):  # an answer that does not parse is for validators to judge
        if with_lines:
            lines = _lines_of_text(answer) if family == "text" else lines_of(family, answer.body.decode())
    places = _Places(layers)
    of_row = inventory.place(answer.row) if inventory and answer.row else None
    labels = frozenset(answer.row.values() if answer.row else ())
    for leaf in merged_leaves(layers):
        is_filled = of_row and _is_template(layers, leaf) and not labels.isdisjoint(_labels_in(leaf.text))
        yield Origin(leaf.path, places.of(leaf), lines.get(leaf.path), of_row if is_filled else None)


def _origins_by_lines(answer: Answer, inventory: Inventory | None, values: Lookup) -> Iterator[Origin]:
    """Yield the lines of an answer of which Jinja fills a part: it is made anew, because a loop writes a line of its
    document many times."""
    layers = answer.selection.layers
    texts = [layer.text for layer in layers]
    of_row = inventory.place(answer.row) if inventory and answer.row else None
    labels = frozenset(answer.row.values() if answer.row else ())
    names = [[_names_in(layer, line) for line in layer.text.split("\n")] for layer in layers]
    tree = tuple(part for layer in layers for part in cast(text_family.Layers, layer.tree))
    for number, (at, line) in enumerate(text_family.origins(tree, texts, values), 1):
        row = of_row if of_row and not labels.isdisjoint(names[at][line - 1]) else None
        yield Origin((str(number),), Place(layers[at], line), number, row)


def _names_in(layer: Document, line: str) -> Collection[str]:
    """Return the names of labels in a line of a document, case-folded."""
    if not layer.control.is_jinja:
        return list(_labels_in(line)) if layer.control.template else ()
    return [name.casefold() for tag in _TAG.findall(line) for name in _NAME.findall(tag)]


def _lines_of_text(answer: Answer) -> dict[Path, int]:
    """Return the line of the answer for each line of its layers: a secret that fills a placeholder may have several
    lines. What is constant in the layers is found in the answer, part by part."""
    body, at, line, answer_line = answer.body, 0, 1, 1
    found: dict[Path, int] = {("1",): 1}
    for part in prepared_answer(answer.selection.layers, may_be_blank=True).parts:
        if not isinstance(part, bytes):
            continue
        begins = body.find(part, at)
        if begins < 0:  # never of an answer that was filled
            return found
        answer_line += body.count(b"\n", at, begins)
        for _ in range(part.count(b"\n")):
            line, answer_line = line + 1, answer_line + 1
            found[(str(line),)] = answer_line
        at = begins + len(part)
    return found


def _is_template(layers: Layers, leaf: Leaf) -> bool:
    return leaf.layer is not None and layers[leaf.layer].control.template


def _labels_in(text: str) -> Iterator[str]:
    """Yield the labels of the placeholders in a value, case-folded."""
    return (label.casefold() for label in _PLACEHOLDER_LABEL.findall(text))


def merged_leaves(layers: Layers) -> Iterator[Leaf]:
    """Yield the leaves of a stack, generated step by step: freeing many objects together takes long."""
    family = layers[-1].family
    marking = MARKINGS[family.name]
    tree = _marked(layers[0].text, family.name, 0)
    for height, layer in enumerate(layers[1:], 1):
        if layer.control.unset:
            tree = family.unset(tree, layer.control.unset)
        tree = family.merge(tree, _marked(layer.text, family.name, height), layer.control.append)
    return marking.leaves(tree)


@remembered(64, len, LONGEST_MARKED)
def _marked(text: str, family: str, layer: int) -> Tree:
    """Return a marked layer. A few are kept: many machines extend the same groups, and trees are never modified."""
    return Tree(MARKINGS[family].mark(text, layer))


class _Places:
    """The origins of the leaves of a stack of layers."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._paths: dict[int, set[Path]] = {}

    def of(self, leaf: Leaf) -> Place | None:
        """Return the place of a leaf. A map that was merged and is now empty has no mark: the highest layer with it
        counts."""
        if leaf.layer is not None:
            return Place(self._layers[leaf.layer], leaf.line)
        for height in range(len(self._layers) - 1, -1, -1):
            if leaf.path in self._paths_of(height):
                return Place(self._layers[height], None)
        return None

    def _paths_of(self, height: int) -> set[Path]:
        """Return the paths of everything in a layer, found on first use."""
        paths = self._paths.get(height)
        if paths is None:
            layer = self._layers[height]
            marking = MARKINGS[layer.family.name]
            leaves = marking.leaves(_marked(layer.text, layer.family.name, height))
            paths = self._paths[height] = {
                leaf.path[:length] for leaf in leaves for length in range(len(leaf.path) + 1)
            }
        return paths


def needing(layers: Layers, label: str) -> tuple[Place, ...]:
    """Return where the placeholders of a label are that the answer of a stack of layers still has."""
    wanted = re.compile(rf"\{{\{{[ \t]*{re.escape(label)}(?![\w$@.:-])", re.IGNORECASE)
    places = _Places(layers)

    def needs(leaf: Leaf) -> bool:
        if leaf.layer is not None and layers[leaf.layer].control.is_jinja:
            return label.casefold() in _names_in(layers[leaf.layer], leaf.text)
        return wanted.search(leaf.text) is not None

    found = (places.of(leaf) for leaf in merged_leaves(layers) if needs(leaf))
    return tuple(place for place in found if place)


def naming(layers: Layers, labels: Collection[str]) -> Iterator[tuple[Leaf, Place | None]]:
    """Yield the values of a stack's answer with a placeholder that names one of some labels, case-folded, or a filter
    that is called like one; each with where it is."""
    places = _Places(layers)
    for leaf in merged_leaves(layers):
        names = {name.casefold() for tag in _TAG.findall(leaf.text) for name in _NAME.findall(tag)}
        if not names.isdisjoint(labels):
            yield leaf, places.of(leaf)


class Placing:
    """The origins of an answer, indexed so that each of many findings is placed by a look-up."""

    def __init__(self, answer: Answer, found: Sequence[Origin]) -> None:
        """``found`` are the `origins` of the answer."""
        self._layers = answer.selection.layers
        self._by_steps: dict[tuple[str, ...], Origin] = {}
        by_line: dict[int, Origin] = {}
        for origin in found:
            steps = tuple(step for element in origin.path for step in _steps(element))
            for length in range(len(steps) + 1):
                self._by_steps.setdefault(steps[:length], origin)
            if origin.answer_line is not None:
                by_line.setdefault(origin.answer_line, origin)
        self._lines = sorted(by_line)
        self._by_line = by_line

    def placed(self, message: str, key: str, line: int | None) -> str:
        """Return a validator's finding about a key or a line of the answer, with the document and line that it came
        from.

        For a key that no layer has, the finding says so.
        """
        origin, wanted = self._origin(key, line), _steps(key)
        if origin is None and wanted and self._by_steps:
            layers = ", ".join(brief(source_of(layer)) for layer in self._layers)
            return f"{message} (in none of its layers: {layers})"
        return f"{message} ({origin.where})" if origin and origin.place else _with_line(message, line)

    def place(self, key: str, line: int | None) -> Place | None:
        """Return the document and line of a finding about a key or a line of the answer, where it has one."""
        origin = self._origin(key, line)
        return origin.place if origin is not None else None

    def _origin(self, key: str, line: int | None) -> Origin | None:
        wanted = _steps(key)
        origin = self._by_steps.get(tuple(wanted)) or self._by_steps.get(_older_spelling(wanted)) if wanted else None
        if origin is None and (
            line is not None or not wanted
        ):  # a preseed question is not a key of a layer, but has a line
            origin = self._value_on(line)
        return origin

    def _value_on(self, line: int | None) -> Origin | None:
        """Return the first value that begins on a line of the answer; where none does, on the nearest line above it."""
        at = 0 if line is None else bisect_right(self._lines, line)
        return self._by_line[self._lines[at - 1]] if at else None


def _older_spelling(steps: Sequence[str]) -> tuple[str, ...]:
    """Return the path of a key of Proxmox's as 8.2 and 8.3 wrote it: the rules know it by its newer name."""
    return (*steps[:-1], steps[-1].replace("-", "_"))


def _with_line(message: str, line: int | None) -> str:
    return message if line is None else f"line {line}: {message}"


def _steps(key: str) -> list[str]:
    """Return ``network.interfaces[0].name`` as the steps of a path."""
    return [step for step in re.split(r"[.\[\]/]+", key) if step]


def explanation(answer: Answer, inventory: Inventory | None = None, shown: str | None = None) -> dict[str, Any]:
    """Return the answer and the origin of every value, as JSON shows it (``docs/explain.md`` has the schema).

    ``shown`` is the text to show in place of the answer's, with the same lines. Raises `BrokenDocument` where the keys
    of its values, written for each of them, take too much memory.
    """
    return {
        "composition": answer.composition,
        "format": answer.format.extension,
        "layers": [
            {"kind": str(layer.key.kind), "identifier": layer.key.identifier, "source": source_of(layer)}
            for layer in answer.selection.layers
        ],
        "values": list(map(_explained_value, _bounded_origins(answer, inventory))),
        "answer": answer.body.decode() if shown is None else shown,
    }


def _explained_value(origin: Origin) -> dict[str, Any]:
    return {
        "key": origin.key,
        "path": list(origin.path),
        "source": source_of(origin.place.document) if origin.place else None,
        "line": origin.place.line if origin.place else None,
        "answer_line": origin.answer_line,
        "row": origin.row,
    }


def _bounded_origins(answer: Answer, inventory: Inventory | None) -> Iterator[Origin]:
    room = MOST_EXPLAINED
    for origin in _origins(answer, inventory):
        room -= sum(map(len, origin.path))
        if room < 0:
            raise BrokenDocument(
                f"the keys of all values take more than {MOST_EXPLAINED} characters: ask without explain"
            )
        yield origin


def explained(answer: Answer, inventory: Inventory | None = None, shown: str | None = None) -> str:
    """Return the answer for a person to read: on the left where the values on a line came from, on the right the line.

    ``shown`` is the text to show in place of the answer's, with the same lines.
    """
    text = answer.body.decode() if shown is None else shown
    beside = _beside(origins(answer, inventory))
    if not beside:
        return text
    width = min(max(map(len, beside.values())), WIDEST_PLACE)
    lines = text.removesuffix("\n").split("\n")
    return "".join(f"{beside.get(number, ''):{width}} | {line}\n" for number, line in enumerate(lines, 1))


def _beside(found: Iterable[Origin]) -> dict[int, str]:
    """Return, for each line of the answer on which a value begins, where its values came from."""
    by_line: dict[int, list[Origin]] = {}
    for origin in found:
        if origin.answer_line is not None and origin.place is not None:
            by_line.setdefault(origin.answer_line, []).append(origin)
    return {line: _places_of_line(together) for line, together in by_line.items()}


def _places_of_line(together: Sequence[Origin]) -> str:
    """Return the only place of a line's values; with their names where they came from several documents."""
    first = together[0].place
    rows = {element.row for element in together}
    if len(rows) == 1 and all(
        element.place and first and element.place.document is first.document for element in together
    ):
        return together[0].where
    return ", ".join(f"{brief(element.path[-1])}: {element.where}" for element in together)
