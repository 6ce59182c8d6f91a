"""Where each value of an answer came from: the document and its line (``answerd render --explain``).

The layers are laid over one another once more, by the family's own functions, with every value marked; nothing here
knows what a merge does. Pure: an answer and its layers are all it takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answerd.answers.compose import Layers
from answerd.answers.criteria import shortened
from answerd.answers.resolve import Answer
from answerd.documents import Document
from answerd.formats.family import ParseError, Path, Tree
from answerd.formats.places import MARKINGS, TRAILING_COMMENT, Leaf, Marking
from answerd.memo import remembered

LONGEST_MARKED = 65_536  # characters of a layer that is marked once for all answers that it is part of
LONGEST_PLACE = 200
"""Characters of a document's name in a comment; a file may be called anything."""

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

    ``place`` is None where a merge left nothing to tell it by: a map that is empty because all of it was unset.
    """

    path: Path
    place: Place | None
    answer_line: int | None

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
    return tuple((leaf.path, _place(leaf, layers)) for leaf in _merged_leaves(layers))


def origins(answer: Answer, *, standing: bool = True) -> tuple[Origin, ...]:
    """Every value of an answer. Empty for a file that was made up for cloud-init: no document holds it.

    ``standing``: whether ``answer_line`` is looked for too, which costs as much as the rest.
    """
    if answer.side_file:
        return ()
    layers = answer.selection.layers
    marking = MARKINGS[layers[-1].family.name]
    try:
        lines = marking.standing(answer.body.decode()) if standing else {}
    except ParseError:  # what filling made of it is for validators to judge
        lines = {}
    return tuple(Origin(leaf.path, _place(leaf, layers), lines.get(leaf.path)) for leaf in _merged_leaves(layers))


def _merged_leaves(layers: Layers) -> list[Leaf]:
    family = layers[-1].family
    marking = MARKINGS[family.name]
    tree = _marked(layers[0].text, family.name, 0)
    for height, layer in enumerate(layers[1:], 1):
        if layer.control.unset:
            tree = family.unset(tree, layer.control.unset)
        tree = family.merge(tree, _marked(layer.text, family.name, height))
    return list(marking.leaves(tree))


@remembered(64, len, LONGEST_MARKED)
def _marked(text: str, family: str, layer: int) -> Tree:
    """A marked layer. A few are kept: many machines stand on the same groups, and nobody edits a tree."""
    return MARKINGS[family].mark(text, layer)


def _place(leaf: Leaf, layers: Layers) -> Place | None:
    """Where a leaf came from. A map that merged and was emptied has no mark: the highest layer that has it is told."""
    if leaf.layer is not None:
        return Place(layers[leaf.layer], leaf.line)
    marking = MARKINGS[layers[-1].family.name]
    for layer in reversed(layers):
        if any(one.path[: len(leaf.path)] == leaf.path for one in marking.leaves(marking.mark(layer.text, 0))):
            return Place(layer, None)
    return None


def needing(layers: Layers, label: str) -> tuple[Place, ...]:
    """Where the placeholders of a label stand that are left in the answer of a stack of layers."""
    wanted = re.compile(rf"\{{\{{[ \t]*{re.escape(label)}(?![\w$@.:-])", re.IGNORECASE)
    places = (_place(leaf, layers) for leaf in _merged_leaves(layers) if wanted.search(leaf.text))
    return tuple(place for place in places if place)


def placed(message: str, key: str, line: int | None, answer: Answer, found: Sequence[Origin]) -> str:
    """What a validator finds at a key or a line of an answer, with the document and line that it came from.

    ``found`` are the `origins` of the answer. A key that no layer has is said to be in none of them.
    """
    wanted = _steps(key)
    if wanted:
        origin = next((one for one in found if _same_steps(one.path, wanted)), None)
        if origin is None and found:
            layers = ", ".join(shortened(source_of(layer)) for layer in answer.selection.layers)
            return f"{message} (in none of its layers: {layers})"
    else:
        origin = _standing_on(line, found)
    place = origin.place if origin else None
    return f"{message} ({shortened(str(place), LONGEST_PLACE)})" if place else _with_line(message, line)


def _with_line(message: str, line: int | None) -> str:
    return message if line is None else f"line {line}: {message}"


def _standing_on(line: int | None, found: Sequence[Origin]) -> Origin | None:
    """The last value that begins on a line of the answer or before it."""
    if line is None:
        return None
    before = [one for one in found if one.answer_line is not None and one.answer_line <= line]
    return max(before, key=lambda one: one.answer_line or 0, default=None)


def _steps(key: str) -> list[str]:
    """``network.interfaces[0].name`` as the steps of a path."""
    return [step for step in re.split(r"[.\[\]/]+", key) if step]


def _same_steps(path: Path, steps: list[str]) -> bool:
    return [step for one in path for step in _steps(one)][: len(steps)] == steps


def explanation(answer: Answer) -> dict[str, Any]:
    """The answer and the origin of every value, as JSON shows it (``docs/explain.md`` has the schema)."""
    return {
        "composition": answer.composition,
        "format": answer.format.extension,
        "layers": [
            {"kind": str(layer.key.kind), "identifier": layer.key.identifier, "source": source_of(layer)}
            for layer in answer.selection.layers
        ],
        "values": [
            {
                "key": origin.key,
                "path": list(origin.path),
                "source": source_of(origin.place.document) if origin.place else None,
                "line": origin.place.line if origin.place else None,
                "answer_line": origin.answer_line,
            }
            for origin in origins(answer)
        ],
        "answer": answer.body.decode(),
    }


def explained(answer: Answer) -> str:
    """The answer for a person to read, with the origin of every value: in comments where its format has them at the
    end of a line, else in a column beside it."""
    text = answer.body.decode()
    comments = _comments(origins(answer))
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
    if all(one.place and first and one.place.document is first.document for one in together):
        return shortened(str(first), LONGEST_PLACE)
    return ", ".join(f"{shortened(one.path[-1])}: {shortened(str(one.place), LONGEST_PLACE)}" for one in together)


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

    def bears(candidate: str) -> bool:
        try:
            return marking.says(candidate) == said
        except ParseError:
            return False

    at_end = _most(sorted(comments), lambda numbers: bears(with_comments(numbers, ())))
    rest = sorted(comments.keys() - set(at_end))
    above = _most(rest, lambda numbers: bears(with_comments(at_end, numbers)))
    return with_comments(at_end, above) if len(above) == len(rest) else None


def _most(numbers: Sequence[int], is_borne: Callable[[Sequence[int]], bool]) -> list[int]:
    """Those of the lines that bear their comments, found by halves."""
    if not numbers or is_borne(numbers):
        return list(numbers)
    if len(numbers) == 1:
        return []
    half = len(numbers) // 2
    return [*_most(numbers[:half], is_borne), *_most(numbers[half:], is_borne)]
