"""Where each value of an answer came from: the document and its line (``answerd render --explain``).

The layers are laid over one another once more, by the family's own functions, with every value marked; nothing here
knows what a merge does. Pure: an answer and its layers are all it takes.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answerd.answers.compose import Layers
from answerd.answers.ranking import shortened
from answerd.answers.resolve import Answer
from answerd.answers.rows import Inventory
from answerd.documents import Document
from answerd.errors import BrokenDocument
from answerd.formats.family import ParseError, Path, Tree
from answerd.formats.positions import MARKINGS, TRAILING_COMMENT, Leaf, Marking
from answerd.memo import remembered

LONGEST_MARKED = 65_536  # characters of a layer that is marked once for all answers that it is part of
_PLACEHOLDER_LABEL = re.compile(r"\{\{[ \t]*([\w$@][\w$@.:-]*)")
LONGEST_PLACE = 200
"""Characters of a document's name in a comment; a file may be called anything."""

MOST_EXPLAINED = 8 * 1024 * 1024
"""Characters of the keys of all values together, each written out, that an explanation has room for."""

MOST_TRIES = 200
"""Times that an answer is parsed to find the lines that bear a comment; what needs more is told in a column."""

COMMENT_COLUMN = 56
"""The furthest column to which comments are moved so that they stand below one another."""


@dataclass(frozen=True, slots=True)
class Place:
    """A document and the line in it, from 1; ``groups/base.toml:12``. ``line`` is None where nothing tells it."""

    document: Document
    line: int | None

    def __str__(self) -> str:
        return source_of(self.document) if self.line is None else f"{source_of(self.document)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Origin:
    """One value of an answer: its path, where it came from, and the line of the answer it begins on.

    ``place`` is None where a merge left nothing to tell it by: a map that is empty because all of it was unset. ``row``
    is the place of the inventory's row that filled one of its placeholders, None where none did.
    """

    path: Path
    place: Place | None
    answer_line: int | None
    row: str | None = None

    @property
    def where(self) -> str:
        """Its place, and that of the row, for a person."""
        place = shortened(str(self.place), LONGEST_PLACE)
        return f"{place}, {shortened(self.row, LONGEST_PLACE)}" if self.row else place

    @property
    def key(self) -> str:
        """The path as a person writes it: ``global.keyboard``, ``network.interfaces.0``."""
        return ".".join(self.path)


def source_of(document: Document) -> str:
    """Where a document stands: its file below the answers directory, or its key in a database."""
    key = document.key
    named = f"{key.kind} {key.identifier} ({key.format})" if key.identifier else f"{key.kind} ({key.format})"
    return document.raw.source or named


def provenance(layers: Layers) -> tuple[tuple[Path, Place | None], ...]:
    """The leaves of a stack of layers, lowest first, in the order of the answer."""
    places = _Places(layers)
    return tuple((leaf.path, places.of(leaf)) for leaf in _merged_leaves(layers))


def origins(answer: Answer, inventory: Inventory | None = None, *, standing: bool = True) -> tuple[Origin, ...]:
    """Every value of an answer. Empty for a file that was made up for cloud-init: no document holds it.

    ``inventory`` is that of the catalogue which the answer is of. ``standing``: whether ``answer_line`` is looked for
    too, which costs as much as the rest.
    """
    return tuple(_origins(answer, inventory, standing=standing))


def _origins(answer: Answer, inventory: Inventory | None, *, standing: bool = True) -> Iterator[Origin]:
    if answer.side_file:
        return
    layers = answer.selection.layers
    marking = MARKINGS[layers[-1].family.name]
    try:
        lines = marking.standing(answer.body.decode()) if standing else {}
    except ParseError:  # what filling made of it is for validators to judge
        lines = {}
    places = _Places(layers)
    of_row = inventory.place(answer.row) if inventory and answer.row else None
    labels = frozenset(answer.row.values() if answer.row else ())
    for leaf in _merged_leaves(layers):
        is_filled = of_row and _is_template(layers, leaf) and not labels.isdisjoint(_labels_in(leaf.text))
        yield Origin(leaf.path, places.of(leaf), lines.get(leaf.path), of_row if is_filled else None)


def _is_template(layers: Layers, leaf: Leaf) -> bool:
    return leaf.layer is not None and layers[leaf.layer].control.template


def _labels_in(text: str) -> Iterator[str]:
    """The labels of the placeholders in a value, case-folded."""
    return (label.casefold() for label in _PLACEHOLDER_LABEL.findall(text))


def _merged_leaves(layers: Layers) -> Iterator[Leaf]:
    """The leaves of a stack. One after the other: to free many objects at once takes long."""
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
    """A marked layer. A few are kept: many machines stand on the same groups, and nobody edits a tree."""
    return Tree(MARKINGS[family].mark(text, layer))


class _Places:
    """Where the leaves of a stack of layers came from."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._paths: dict[int, set[Path]] = {}

    def of(self, leaf: Leaf) -> Place | None:
        """The place of a leaf. A map that merged and was emptied has no mark: the highest layer that has it is told."""
        if leaf.layer is not None:
            return Place(self._layers[leaf.layer], leaf.line)
        for height in range(len(self._layers) - 1, -1, -1):
            if leaf.path in self._paths_of(height):
                return Place(self._layers[height], None)
        return None

    def _paths_of(self, height: int) -> set[Path]:
        """The paths of all that stands in a layer, found when they are first asked for."""
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
    """Where the placeholders of a label stand that are left in the answer of a stack of layers."""
    wanted = re.compile(rf"\{{\{{[ \t]*{re.escape(label)}(?![\w$@.:-])", re.IGNORECASE)
    places = _Places(layers)
    found = (places.of(leaf) for leaf in _merged_leaves(layers) if wanted.search(leaf.text))
    return tuple(place for place in found if place)


class Placing:
    """The origins of an answer, filed so that each of many findings is placed by a look-up."""

    def __init__(self, answer: Answer, found: Sequence[Origin]) -> None:
        """``found`` are the `origins` of the answer."""
        self._layers = answer.selection.layers
        self._by_steps: dict[tuple[str, ...], Origin] = {}
        by_line: dict[int, Origin] = {}
        for origin in found:
            steps = tuple(step for one in origin.path for step in _steps(one))
            for length in range(len(steps) + 1):
                self._by_steps.setdefault(steps[:length], origin)
            if origin.answer_line is not None:
                by_line.setdefault(origin.answer_line, origin)
        self._lines = sorted(by_line)
        self._by_line = by_line

    def placed(self, message: str, key: str, line: int | None) -> str:
        """What a validator finds at a key or a line of the answer, with the document and line that it came from.

        A key that no layer has is said to be in none of them.
        """
        wanted = _steps(key)
        origin = self._by_steps.get(tuple(wanted)) if wanted else None
        if origin is None and (
            line is not None or not wanted
        ):  # a preseed question is no key of a layer, but has a line
            origin = self._standing_on(line)
        if origin is None and wanted and self._by_steps:
            layers = ", ".join(shortened(source_of(layer)) for layer in self._layers)
            return f"{message} (in none of its layers: {layers})"
        return f"{message} ({origin.where})" if origin and origin.place else _with_line(message, line)

    def _standing_on(self, line: int | None) -> Origin | None:
        """The first of the values that begin on a line of the answer or, where none does, on the next one before it."""
        at = 0 if line is None else bisect_right(self._lines, line)
        return self._by_line[self._lines[at - 1]] if at else None


def _with_line(message: str, line: int | None) -> str:
    return message if line is None else f"line {line}: {message}"


def _steps(key: str) -> list[str]:
    """``network.interfaces[0].name`` as the steps of a path."""
    return [step for step in re.split(r"[.\[\]/]+", key) if step]


def explanation(answer: Answer, inventory: Inventory | None = None) -> dict[str, Any]:
    """The answer and the origin of every value, as JSON shows it (``docs/explain.md`` has the schema).

    Raises `BrokenDocument` where the keys of its values, written for each of them, take too much.
    """
    return _explanation(answer, list(map(_explained_value, _bounded_origins(answer, inventory))))


def explanation_text(answer: Answer, inventory: Inventory | None = None) -> str:
    """The `explanation` as JSON text. Value by value: to make one text of all of them in one go is a single step of
    compiled code, and of a large answer too long a step. Raises `BrokenDocument`."""
    around = json.dumps(_explanation(answer, None), ensure_ascii=False)
    before, _, after = around.partition('"values": null')  # no text holds it: its quotes would be escaped
    values = [
        json.dumps(_explained_value(origin), ensure_ascii=False) for origin in _bounded_origins(answer, inventory)
    ]
    return f'{before}"values": [{", ".join(values)}]{after}'


def _explanation(answer: Answer, values: object) -> dict[str, Any]:
    return {
        "composition": answer.composition,
        "format": answer.format.extension,
        "layers": [
            {"kind": str(layer.key.kind), "identifier": layer.key.identifier, "source": source_of(layer)}
            for layer in answer.selection.layers
        ],
        "values": values,
        "answer": answer.body.decode(),
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


def explained(answer: Answer, inventory: Inventory | None = None) -> str:
    """The answer for a person to read, with the origin of every value: in comments where its format has them at the
    end of a line, else in a column beside it."""
    text = answer.body.decode()
    comments = _comments(origins(answer, inventory))
    opens = TRAILING_COMMENT.get(answer.format.extension)
    commented = _commented(text, comments, opens, MARKINGS[answer.format.family.name]) if opens else None
    return _beside(text, comments) if commented is None else commented


def _comments(found: Iterable[Origin]) -> dict[int, str]:
    """For each line of the answer on which a value begins, where its values came from."""
    by_line: dict[int, list[Origin]] = {}
    for origin in found:
        if origin.answer_line is not None and origin.place is not None:
            by_line.setdefault(origin.answer_line, []).append(origin)
    return {line: _comment(together) for line, together in by_line.items()}


def _comment(together: Sequence[Origin]) -> str:
    """The one place of a line's values; with their names where they came from several documents."""
    first = together[0].place
    rows = {one.row for one in together}
    if len(rows) == 1 and all(one.place and first and one.place.document is first.document for one in together):
        return together[0].where
    return ", ".join(f"{shortened(one.path[-1])}: {one.where}" for one in together)


def _beside(text: str, comments: Mapping[int, str]) -> str:
    """A table of two columns: where the values on a line came from, and the line."""
    width = max((len(comment) for comment in comments.values()), default=0)
    lines = text.removesuffix("\n").split("\n")
    return "".join(f"{comments.get(number, ''):{width}} | {line}\n" for number, line in enumerate(lines, 1))


def _commented(text: str, comments: Mapping[int, str], opens: str, marking: Marking) -> str | None:
    """The text with a comment at the end of each line that has one; None where it does not say the same any more.

    Whether a line bears a comment (it may be in the middle of a string) is found by parsing the text with it. What a
    line does not bear stands above it.
    """
    lines = text.split("\n")
    column = min(COMMENT_COLUMN, max((len(lines[number - 1]) for number in comments), default=0))

    def with_comments(at_end: Iterable[int], above: Iterable[int]) -> str:
        new = list(lines)
        for number in at_end:
            line = new[number - 1]
            end = "\r" if line.endswith("\r") else ""
            new[number - 1] = f"{line.removesuffix(end):{column}}  {opens} {comments[number]}{end}"
        for number in above:
            new[number - 1] = f"{opens} {comments[number]}:\n{new[number - 1]}"
        return "\n".join(new)

    try:
        said = marking.says(text)
    except ParseError:
        return None

    tries = 0

    def bears(candidate: str) -> bool:
        nonlocal tries
        tries += 1
        if tries > MOST_TRIES:
            raise _TooManyTriesError
        try:
            return marking.says(candidate) == said
        except ParseError:
            return False

    try:
        at_end = _most(sorted(comments), lambda numbers: bears(with_comments(numbers, ())))
        rest = sorted(comments.keys() - set(at_end))
        above = _most(rest, lambda numbers: bears(with_comments(at_end, numbers)))
    except _TooManyTriesError:
        return None
    return with_comments(at_end, above) if len(above) == len(rest) else None


class _TooManyTriesError(Exception):
    """Too few lines of an answer bear a comment."""


def _most(numbers: Sequence[int], is_borne: Callable[[Sequence[int]], bool]) -> list[int]:
    """Those of the lines that bear their comments, found by halves."""
    if not numbers or is_borne(numbers):
        return list(numbers)
    if len(numbers) == 1:
        return []
    half = len(numbers) // 2
    return [*_most(numbers[:half], is_borne), *_most(numbers[half:], is_borne)]
