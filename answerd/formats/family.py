"""The one shape that every family of formats has, and what passes between a family and the rest.

A family knows how to read, merge and write one kind of tree. It knows nothing of machines, groups, requests or
where a text came from. Adding a format is one module of this shape and one line in the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from answerd.formats.template import Placeholder, Template, TemplateReader

Tree = Any
"""A family's own parsed form. Opaque to everyone else, and never changed once it is made: layers share parts."""


DEEPEST = 100
"""Levels of nesting that are read. The deepest key of a real answer stands at 8; recursion ends near 900."""


class ParseError(ValueError):
    """A text that is not of its format. ``str()`` is one line, with line and column (from 1) where known."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        place = position(line, column)
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason, self.line, self.column = reason, line, column


class MergeError(ValueError):
    """Two layers that cannot be laid over one another. ``str()`` is one line naming the place."""


def position(line: int | None, column: int | None = None) -> str:
    """``line 3, column 5``, or as much of it as is known."""
    if line is None:
        return ""
    return f"line {line}" if column is None else f"line {line}, column {column}"


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Where in a text an offset is; both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


@dataclass(frozen=True, slots=True)
class Written:
    """The value of one control key as a document spells it: text, bool, list or map of texts; and its place.

    A value that the family's spelling cannot mean (a number in TOML) stays as it is, for the reader to refuse.
    """

    value: object
    place: str = ""


@dataclass(frozen=True, slots=True)
class ControlFault:
    """What is wrong with the control key ``key`` before its value is even looked at."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class WrittenControl:
    """The control keys of one document, as spelled: ``answerd.formats.control`` gives them their meaning."""

    values: Mapping[str, Written] = field(default_factory=dict)
    faults: tuple[ControlFault, ...] = ()


Path = tuple[str, ...]
"""The keys from the root to a value, as ``unset`` names them."""

Lookup = Callable[[str], str | None]
"""The first value of a label (case-folded), or None where the request has none."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A place in a prepared answer that each request fills: a template, and how its text is written there.

    ``write`` gets the filled text and returns what stands in the document, escaped so that it can never change the
    document's structure.
    """

    template: Template
    write: Callable[[str], str]


def fragments(text: str | Template, write: Callable[[str], str]) -> Iterator[str | Hole]:
    """A text as it stands in a document by ``write``, cut at its placeholders."""
    for part in (text,) if isinstance(text, str) else text.parts:
        yield write(part) if isinstance(part, str) else hole(part, write)


@lru_cache(maxsize=1_024)
def hole(placeholder: Placeholder, write: Callable[[str], str]) -> Hole:
    """The hole of one placeholder. The answers of a fleet share theirs."""
    return Hole(Template((placeholder,)), write)


class Prepared:
    """An answer cut at its placeholders: what is constant is bytes, what a request fills is a `Hole`."""

    __slots__ = ("pieces", "static")

    def __init__(self, fragments: list[str | Hole]) -> None:
        pieces: list[bytes | Hole] = []
        begin = 0
        for at, fragment in enumerate(fragments):
            if isinstance(fragment, Hole):
                if begin < at:
                    pieces.append("".join(fragments[begin:at]).encode())  # type: ignore[arg-type]
                pieces.append(fragment)
                begin = at + 1
        pieces.append("".join(fragments[begin:]).encode())  # type: ignore[arg-type]
        self.pieces: tuple[bytes | Hole, ...] = tuple(pieces)
        self.static: bytes | None = pieces[0] if len(pieces) == 1 and isinstance(pieces[0], bytes) else None

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The holes, in the order in which they stand in the answer."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Hole))

    def fill(self, lookup: Lookup) -> bytes:
        """The answer for one request. Raises `answerd.errors.CannotFill` naming the label that fails."""
        if self.static is not None:
            return self.static
        return b"".join(
            [
                piece if isinstance(piece, bytes) else piece.write(piece.template.fill(lookup)).encode()
                for piece in self.pieces
            ]
        )


class Family(Protocol):
    """What the core asks of a family. All trees are immutable values: a merge shares parts, it never edits."""

    @property
    def name(self) -> str:
        """What the log calls the family."""

    def parse(self, text: str) -> Tree:
        """The tree of a text (no byte order mark). Raises `ParseError`."""

    def control(self, tree: Tree) -> tuple[WrittenControl, Tree]:
        """The control keys as written, and the tree without them."""

    def placeholders(self, tree: Tree, reader: TemplateReader) -> Tree:
        """The tree with each string value that holds placeholders replaced by its `Template`.

        ``reader(text)`` gives the template, or the plain text where it holds none; it collects problems itself.
        Map keys are never templates.
        """

    def unset(self, tree: Tree, path: Path) -> Tree:
        """The tree without what ``path`` names; the same tree where it names nothing."""

    def merge(self, lower: Tree, upper: Tree) -> Tree:
        """``upper`` laid over ``lower``. Raises `MergeError` where the two cannot be one document."""

    def prepare(self, tree: Tree) -> Prepared:
        """The text of the tree, cut at its placeholders."""
