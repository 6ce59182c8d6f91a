"""The one shape that every family of formats has, and what passes between a family and the rest.

A family knows how to read, merge and write one kind of tree. It knows nothing of machines, groups, requests or
where a text came from. Adding a format is one module of this shape and one line in the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NewType, Protocol, TypeVar

from answerd.errors import AnswerTooLarge
from answerd.formats.filters import GROWING
from answerd.formats.once import Once
from answerd.formats.template import LONGEST_REMEMBERED, Lookup, Placeholder, Template, TemplateReader
from answerd.memo import remembered

Tree = NewType("Tree", object)
"""A document of some family, for code that only hands it back to its family. Never changed once it is made: layers
share parts."""

Parsed = TypeVar("Parsed")
"""What a family makes of a text: its tree, or something that still holds the control keys."""

T = TypeVar("T")
"""A family's own tree."""


LARGEST_ANSWER = 8_388_608
"""Bytes. A real answer has some thousands; a client that reads slowly keeps its answer in memory."""

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

    value: Any
    place: str = ""


@dataclass(frozen=True, slots=True)
class ControlFault:
    """What is wrong with the control key ``key`` before its value is even looked at.

    ``key`` is empty where what is written is no control key. ``hides_claims``: it may be a misspelled ``members`` or
    ``match``, so nobody can say what the document claims.
    """

    key: str
    reason: str
    hides_claims: bool = False


@dataclass(frozen=True, slots=True)
class RawControl:
    """The control keys of one document, as spelled: ``answerd.formats.control`` gives them their meaning."""

    values: Mapping[str, Written] = field(default_factory=dict)
    faults: tuple[ControlFault, ...] = ()
    is_there: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the document is written without any: then the tree is the whole text. ``is_there`` is for a spelling
        that names no key and has to be removed all the same."""
        return not (self.values or self.faults or self.is_there)


Path = tuple[str, ...]
"""The keys from the root to a value, as ``unset`` names them."""

Branches = dict[str, "Branches | None"]
"""Paths as a tree: each first step with what follows it, None where a path ends."""

NO_BRANCHES: Branches = {}
"""No paths. Nobody fills it."""


def branches(paths: Iterable[Path]) -> Branches:
    """Paths as a tree. What stands below the end of another path is not in it: all of that goes with the other."""
    root: Branches = {}
    for path in paths:
        node = root
        for step in path[:-1]:
            below = node.setdefault(step, {})
            if below is None:
                break
            node = below
        else:
            node[path[-1]] = None
    return root


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A place in a prepared answer that each request fills: a template, and how its text is written there.

    ``write`` gets the filled text and returns what stands in the document, escaped so that it can never change the
    document's structure.
    """

    template: Template
    write: Callable[[str], str]

    def fill(self, lookup: Lookup) -> str:
        """What stands in the document for one request. Raises `answerd.errors.CannotFill`."""
        return self.write(self.template.fill(lookup))


class TypedSlot(Slot):
    """A place of a placeholder that becomes a number, a boolean or a list of strings.

    All families that have these types write them alike: ``42``, ``true``, ``["a", "b"]``. ``write`` makes the string
    of a text, quotes included; a text that is shown in place of the value is one too.
    """

    __slots__ = ()

    def fill(self, lookup: Lookup) -> str:
        """The value in its type."""
        placeholder = self.template.typed
        if placeholder is None or placeholder.type != "list":
            return self.template.fill(lookup)
        return f"[{', '.join(map(self.write, placeholder.values(lookup)))}]"


def fragments(text: str | Template, write: Callable[[str], str]) -> Iterator[str | Slot]:
    """A text as it stands in a document by ``write``, cut at its placeholders."""
    for part in (text,) if isinstance(text, str) else text.parts:
        yield write(part) if isinstance(part, str) else hole(part, write)


@remembered(1_024, Placeholder.size, LONGEST_REMEMBERED)
def hole(placeholder: Placeholder, write: Callable[[str], str]) -> Slot:
    """The hole of one placeholder. The answers of a fleet share theirs."""
    return Slot(Template((placeholder,)), write)


@remembered(1_024, Placeholder.size, LONGEST_REMEMBERED)
def typed_hole(placeholder: Placeholder, write: Callable[[str], str]) -> TypedSlot:
    """The place of one placeholder that becomes another type than a string; ``write`` makes a whole string."""
    return TypedSlot(Template((placeholder,)), write)


_LONGEST_ALIKE = 1_000
"""Characters in the placeholders of an answer up to which its cuts are shared with others that are cut alike."""


class Prepared:
    """An answer cut at its placeholders: what is constant is bytes, what a request fills is a `Slot`.

    The bytes stand in a run of a block that several answers may share (`pack`): there may be a million of these.
    """

    __slots__ = ("_begin", "_block", "_cuts", "holes", "once", "takes_long")

    def __init__(self, fragments: list[str | Slot], once: Once | None = None) -> None:
        """``once`` is what the highest layer that has the control key says; None where none has it.

        ``takes_long`` then tells whether to fill it takes some milliseconds.
        """
        self.once = once
        constant: list[bytes] = []
        holes: list[Slot] = []
        begin = 0
        for at, fragment in enumerate(fragments):
            if isinstance(fragment, Slot):
                constant.append("".join(fragments[begin:at]).encode())  # type: ignore[arg-type]
                holes.append(fragment)
                begin = at + 1
        constant.append("".join(fragments[begin:]).encode())  # type: ignore[arg-type]
        self._block = b"".join(constant)
        self._begin = 0
        cuts = tuple(map(len, constant))
        self.holes, self._cuts = _alike(tuple(holes), cuts)
        self.takes_long = len(holes) > MANY_HOLES or sum(map(_grows, holes)) > MANY_GROWING_HOLES

    @property
    def static(self) -> bytes | None:
        """The whole answer, where there are no holes."""
        return None if self.holes else self._constant

    @property
    def pieces(self) -> tuple[bytes | Slot, ...]:
        """Bytes and holes in their order; no bytes where two holes adjoin."""
        pieces: list[bytes | Slot] = []
        at = self._begin
        for length, hole in zip(self._cuts, (*self.holes, None), strict=True):
            pieces += [self._block[at : at + length]] if length else []
            pieces += [hole] if hole else []
            at += length
        return tuple(pieces)

    def fill(self, lookup: Lookup) -> bytes:
        """The answer for one request. Raises `answerd.errors.CannotFill` naming the label that fails, and
        `answerd.errors.AnswerTooLarge`."""
        holes = self.holes
        if not holes:
            return self._constant
        cuts, block, at = self._cuts, self._block, self._begin
        filled: list[bytes] = []
        room = LARGEST_ANSWER
        for length, hole in zip(cuts, holes, strict=False):  # behind the last hole there are bytes again
            value = hole.fill(lookup).encode()
            room -= len(value)
            if room < 0:  # before the rest is made: a value may be long, and repeated
                raise AnswerTooLarge(f"the filled answer has more than {LARGEST_ANSWER} bytes")
            filled += (block[at : at + length], value)
            at += length
        filled.append(block[at : at + cuts[-1]])
        return b"".join(filled)

    @property
    def _constant(self) -> bytes:
        return self._block[self._begin : self._begin + sum(self._cuts)]

    @staticmethod
    def pack(answers: Iterable[Prepared]) -> None:
        """Put the bytes of some answers into one block, but of those that are in one already.

        The interpreter counts the users of an object beside its bytes. After a fork, a block of many answers stays
        shared where thousands of single ones would be copied, one by one, as they are asked for.
        """
        alone = [one for one in answers if len(one._block) <= _PACKED and len(one._block) == sum(one._cuts)]
        block = b"".join([one._block for one in alone])
        at = 0
        for one in alone:
            one._block, one._begin = block, at
            at += sum(one._cuts)


MANY_HOLES = 2_000
"""Holes of an answer that take some milliseconds to be filled."""

MANY_GROWING_HOLES = 16
"""Holes with filters that grow their values that do: 32 filters of 64 KB take up to a millisecond."""

_PACKED = 65_536
"""Bytes of an answer up to which it is put into a block with others; a larger one is a block by itself."""


def _grows(slot: Slot) -> bool:
    """Return whether a filter may make a long text of a short value in this place."""
    return any(
        name in GROWING for part in slot.template.parts if isinstance(part, Placeholder) for name, _ in part.filters
    )


def _weight(holes: tuple[Slot, ...]) -> int:
    """Return about how many characters the placeholders of an answer hold."""
    parts = [part for hole in holes for part in hole.template.parts]
    return sum([len(part) if isinstance(part, str) else 1 + part.size() for part in parts])


@remembered(4_096, _weight, _LONGEST_ALIKE)
def _alike(holes: tuple[Slot, ...], cuts: tuple[int, ...]) -> tuple[tuple[Slot, ...], tuple[int, ...]]:
    """The one pair of objects for all answers that are cut alike."""
    return holes, cuts


class Family(Protocol[Parsed, T]):
    """What the core asks of a family. All trees are immutable values: a merge shares parts, it never edits."""

    @property
    def name(self) -> str:
        """What the log calls the family."""

    def parse(self, text: str, /) -> Parsed:
        """The tree of a text (no byte order mark). Raises `ParseError`."""

    def control(self, tree: Parsed, /) -> tuple[RawControl, T]:
        """The control keys as written, and the tree without them."""

    def placeholders(self, tree: T, reader: TemplateReader, /) -> T:
        """The tree with each string value that holds placeholders replaced by its `Template`.

        ``reader(text)`` gives the template, or the plain text where it holds none; it collects problems itself.
        Map keys are never templates.
        """

    def unset(self, tree: T, paths: Collection[Path], /) -> T:
        """The tree without what ``paths`` name in it, all in one pass; the same tree where they name nothing."""

    def not_arrays(self, tree: T, paths: Collection[Path], /) -> Collection[Path]:
        """Those of ``paths`` at which the tree has no array: a document cannot append it."""

    def merge(self, lower: T, upper: T, append: Collection[Path] = (), /) -> T:
        """``upper`` laid over ``lower``. An array of ``upper`` that ``append`` names follows the one below it; where
        there is none, it is an array like any other. Raises `MergeError` where the two cannot be one document."""

    def prepare(self, tree: T, /) -> Prepared:
        """The text of the tree, cut at its placeholders."""


AnyFamily = Family[Any, Any]
"""Some family: its trees are `Tree` to whoever has one."""
