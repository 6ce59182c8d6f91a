"""The interface that every family of formats has, and what passes between a family and the rest.

A family can read, merge and write one kind of tree. It knows nothing of machines, groups, requests or where a text came
from. A new format needs a module of this shape and a line in the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NewType, Protocol, TypeVar

from answerd.errors import CannotFill
from answerd.formats.filters import LARGEST_ANSWER, Lookup, too_large
from answerd.formats.template import LONGEST_REMEMBERED, Placeholder, Template, TemplateReader
from answerd.memo import remembered
from answerd.short_texts import brief

Tree = NewType("Tree", object)
"""A document of some family, for code that only passes it back to its family. Never modified: layers share parts."""

Parsed = TypeVar("Parsed")
"""The parsed form of a text: the family's tree, or a value that still contains the control keys."""

T = TypeVar("T")
"""A family's own tree."""


DEEPEST: Final = 100
"""Levels of nesting that are read. The deepest key of a real answer is at level 8; recursion fails near 900."""


class ParseError(ValueError):
    """A text that is not of its format. ``str()`` is one line, with line and column (from 1) where known."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        place = position(line, column)
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason, self.line, self.column = reason, line, column


class MergeError(ValueError):
    """Two layers that cannot be merged. ``str()`` is one line that names the place."""


def position(line: int | None, column: int | None = None) -> str:
    """Return ``line 3, column 5``, or as much of it as is known."""
    if line is None:
        return ""
    return f"line {line}" if column is None else f"line {line}, column {column}"


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the line and column of an offset in a text; both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


@dataclass(frozen=True, slots=True)
class RawValue:
    """The value of a control key as a document spells it: text, bool, list or map of texts; and its place.

    A value of another type (a number in TOML) stays as it is, for the reader to refuse.
    """

    value: Any
    place: str = ""


@dataclass(frozen=True, slots=True)
class ControlFault:
    """A fault of the control key ``key`` that is found before its value is read.

    ``key`` is empty where the text is no control key. ``hides_claims``: it may be a misspelled ``members`` or
    ``match``, so it is not known what the document claims.
    """

    key: str
    reason: str
    hides_claims: bool = False


@dataclass(frozen=True, slots=True)
class RawControl:
    """The control keys of one document, as spelled: ``answerd.formats.control`` gives them their meaning."""

    values: Mapping[str, RawValue] = field(default_factory=dict)
    faults: tuple[ControlFault, ...] = ()
    is_there: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the document has none: then the tree is the whole text. ``is_there``: a spelling that names no key is
        present and has to be removed."""
        return not (self.values or self.faults or self.is_there)


Path = tuple[str, ...]
"""The keys from the root to a value, as ``unset`` names them."""

Branches = dict[str, "Branches | None"]
"""Paths as a tree: each first step with what follows it, None where a path ends."""

NO_BRANCHES: Final[Branches] = {}
"""No paths. Do not modify."""


def branches(paths: Iterable[Path]) -> Branches:
    """Return paths as a tree. A path below the end of another path is not in it: the other path includes it."""
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


class Once(StrEnum):
    """How often an answer may install a machine.

    ``OFF`` cancels the value of a lower layer. ``ON`` is ``true``, ``ARMED`` requires an operator's order before each
    attempt, ``LOADER`` is ``ON`` for the document of the boot loader.
    """

    OFF = "off"
    ON = "on"
    ARMED = "armed"
    LOADER = "loader"

    @classmethod
    def of(cls, value: bool | str) -> Once | None:
        """Return the meaning of ``true``, ``false``, ``"armed"`` or ``"loader"``; None for any other text."""
        if isinstance(value, bool):
            return cls.ON if value else cls.OFF
        return {"armed": cls.ARMED, "loader": cls.LOADER}.get(value)


class Slot:
    """A place in a prepared answer that each request fills: a template, and how its text is written there.

    ``write`` gets the filled text and returns the text for the document, escaped so that it can never change the
    document's structure. ``weight`` is about how many characters its placeholders hold. Compared by object identity.
    """

    __slots__ = ("_only", "template", "weight", "write")

    is_program = False
    """Whether it does not tell all its labels beforehand."""

    is_long = False
    """Whether filling it alone may take some milliseconds."""

    def __init__(self, template: Template, write: Callable[[str], str]) -> None:
        self.template = template
        self.write = write
        first = template.parts[0] if len(template.parts) == 1 else ""
        self._only = None if isinstance(first, str) else first
        self.weight = sum([len(part) if isinstance(part, str) else 1 + part.size() for part in template.parts])

    def __repr__(self) -> str:
        return f"Slot({self.template!r}, {self.write!r})"

    def fill(self, lookup: Lookup) -> str:
        """Return the text for a request. Raises `answerd.errors.CannotFill`."""
        only = self._only
        return self.write(self.template.fill(lookup) if only is None else only.value(lookup))

    def as_written(self, lookup: Lookup) -> str:
        """Return the text for a request; a placeholder without a value stays as it is written, escaped like any value.
        Raises `answerd.errors.CannotFill` for a value that cannot be used."""
        try:
            return self.fill(lookup)
        except CannotFill as error:
            if not error.missing:
                raise
        parts = self.template.parts
        return self.write("".join(part if isinstance(part, str) else _or_written(part, lookup) for part in parts))

    def hiding(self, lookup: Lookup, is_hidden: Callable[[str], bool], mask: Callable[[str], str]) -> str:
        """Return the text for a request, with the values masked whose label is hidden."""
        parts = self.template.parts
        if not any(is_hidden(part.label) for part in parts if not isinstance(part, str)):
            return self.fill(lookup)
        shown = []
        for part in parts:
            value = part if isinstance(part, str) else part.value(lookup)
            shown.append(value if isinstance(part, str) or not is_hidden(part.label) else mask(value))
        return self.write("".join(shown))

    def hidden_values(self, lookup: Lookup, is_hidden: Callable[[str], bool], mask: Callable[[str], str]) -> set[str]:  # noqa: ARG002 - as in other kinds of slots
        """Return the values of the labels that are hidden, as they are and as filters make them. Those that cannot be
        filled are left out."""
        found: set[str] = set()
        for part in self.template.parts:
            if not isinstance(part, str) and is_hidden(part.label):
                with suppress(CannotFill):
                    found.update(lookup.values(part.label), part.values(lookup))
        return found


def _or_written(placeholder: Placeholder, lookup: Lookup) -> str:
    try:
        return placeholder.value(lookup)
    except CannotFill as error:
        if not error.missing:
            raise
        return str(placeholder)


class TypedSlot(Slot):
    """A slot whose placeholder becomes a number, a boolean or a list of strings.

    All families with these types write them in the same way: ``42``, ``true``, ``["a", "b"]``. ``write`` makes the
    string of a text, including quotes; a text that is shown in place of the value is a string too.
    """

    __slots__ = ()

    def fill(self, lookup: Lookup) -> str:
        """Return the value in its type."""
        placeholder = self.template.typed
        if placeholder is None or placeholder.type != "list":
            return self.template.fill(lookup)
        return f"[{', '.join(map(self.write, placeholder.values(lookup)))}]"


class KeyText(str):
    """A key with placeholders. It is equal to the key as it is written, so layers pair by that."""

    template: Template

    @classmethod
    def of(cls, written: str, reader: TemplateReader) -> str:
        """Return a key with its placeholders read; the same text where it has none."""
        read = reader(written)
        if read == written:
            return written
        key = cls(written)
        key.template = Template((read,)) if isinstance(read, str) else read
        return key


LONGEST_KEY: Final = 1_000
"""Characters of a filled key. YAML's limit for a key before its colon is 1,024, and parsers count differently."""


class KeySlot(Slot):
    """A slot that is a whole key. The first one of a map has all ``templates`` of its keys, and the ``constants``: no
    two of them may become one key."""

    __slots__ = ("_constants", "_templates")

    def __init__(
        self,
        template: Template,
        write: Callable[[str], str],
        templates: Collection[Template],
        constants: Collection[str],
    ) -> None:
        super().__init__(template, write)
        self._templates, self._constants = templates, constants
        self.weight += sum(map(len, constants))

    def fill(self, lookup: Lookup) -> str:
        """Return the key for a request. Raises `answerd.errors.CannotFill`, also where two keys become one."""
        if self._templates:
            seen = set(self._constants)
            for template in self._templates:
                key = template.fill(lookup)
                if key in seen:
                    label = next((part.label for part in template.parts if not isinstance(part, str)), "")
                    reason = f"two keys of one map become one where {brief(label)!r} is filled in"
                    raise CannotFill(reason, label, missing=False)
                seen.add(key)
        written = super().fill(lookup)
        if len(written) > LONGEST_KEY:
            label = next((part.label for part in self.template.parts if not isinstance(part, str)), "")
            reason = f"a key has more than {LONGEST_KEY} characters where {brief(label)!r} is filled in"
            raise CannotFill(reason, label, missing=False)
        return written


def key_slots(keys: Iterable[str], write: Callable[[str], str]) -> dict[str, KeySlot]:
    """Return the slots of those keys of one map that have placeholders."""
    templated = [key for key in keys if isinstance(key, KeyText)]
    if not templated:
        return {}
    templates = [key.template for key in templated]
    constants = frozenset(key for key in keys if not isinstance(key, KeyText))
    return {
        key: KeySlot(key.template, write, () if at else templates, () if at else constants)
        for at, key in enumerate(templated)
    }


def fragments(text: str | Template, write: Callable[[str], str]) -> list[str | Slot]:
    """Return a text as ``write`` writes it in a document, cut at its placeholders."""
    if isinstance(text, str):
        return [write(text)]
    found: list[str | Slot] = []
    for part in text.parts:
        found.append(write(part) if isinstance(part, str) else slot_of(part, write))
    return found


@remembered(1_024, Placeholder.size, LONGEST_REMEMBERED)
def slot_of(placeholder: Placeholder, write: Callable[[str], str]) -> Slot:
    """Return the slot of a placeholder. The answers of a fleet share their slots."""
    return Slot(Template((placeholder,)), write)


@remembered(1_024, Placeholder.size, LONGEST_REMEMBERED)
def typed_slot_of(placeholder: Placeholder, write: Callable[[str], str]) -> TypedSlot:
    """Return the slot of a placeholder that becomes another type than a string; ``write`` makes a whole string."""
    return TypedSlot(Template((placeholder,)), write)


_LONGEST_SHARED: Final = 1_000
"""Characters in the placeholders of an answer up to which its layout is shared with answers that have the same."""


def is_blank(answer: bytes) -> bool:
    """Return whether an answer is only white space, including Unicode's."""
    # For almost all answers the first byte shows that they are not blank, and nothing is decoded.
    begins_blank = answer[:1] <= b" " or answer[:1] >= b"\x80"
    return begins_blank and not answer.decode().strip()


class Prepared:
    """An answer cut at its placeholders: constant parts are bytes, parts that a request fills are a `Slot` each.

    The bytes are a range of a block that several answers may share (`pack`): there may be a million answers.
    """

    __slots__ = ("_begin", "_block", "_lengths", "is_blank", "is_long", "once", "slots")

    def __init__(self, fragments: list[str | Slot]) -> None:
        """``once`` is set by who prepares: the value in the highest layer that has the control key, else None.

        ``is_long``: filling it may take some milliseconds. ``is_blank``: there are no slots, and only white space.
        """
        self.once: Once | None = None
        constant: list[bytes] = []
        slots: list[Slot] = []
        begin = 0
        for at, fragment in enumerate(fragments):
            if isinstance(fragment, Slot):
                constant.append("".join(fragments[begin:at]).encode())  # type: ignore[arg-type]
                slots.append(fragment)
                begin = at + 1
        constant.append("".join(fragments[begin:]).encode())  # type: ignore[arg-type]
        self._block = b"".join(constant)
        self._begin = 0
        lengths = tuple(map(len, constant))
        self.slots, self._lengths, self.is_long = _same_layout(tuple(slots), lengths)
        self.is_blank = not slots and is_blank(self._block)

    @property
    def static(self) -> bytes | None:
        """The whole answer, where there are no slots."""
        if self.slots:
            return None
        return self._block[self._begin : self._begin + self._lengths[0]]

    @property
    def parts(self) -> tuple[bytes | Slot, ...]:
        """Bytes and slots in their order; no bytes between adjoining slots."""
        parts: list[bytes | Slot] = []
        at = self._begin
        for length, slot in zip(self._lengths, (*self.slots, None), strict=True):
            parts += [self._block[at : at + length]] if length else []
            parts += [slot] if slot else []
            at += length
        return tuple(parts)

    def fill(self, lookup: Lookup) -> bytes:
        """Return the answer for a request. Raises `answerd.errors.CannotFill` with the label that fails, and
        `answerd.errors.AnswerTooLarge`."""
        slots = self.slots
        if not slots:
            return self._constant
        lengths, block, at = self._lengths, self._block, self._begin
        pairs: Iterable[tuple[int, Slot]] = zip(lengths, slots, strict=False)  # bytes follow the last slot
        filled: list[bytes] = []
        room = LARGEST_ANSWER
        for length, slot in pairs:
            value = slot.fill(lookup).encode()
            room -= len(value)
            if room < 0:  # checked early: a value may be long, and repeated
                raise too_large()
            filled += (block[at : at + length], value)
            at += length
        filled.append(block[at : at + lengths[-1]])
        return b"".join(filled)

    def labels(self) -> set[str]:
        """Return the labels, case-folded, that a request has to fill."""
        parts = (part for slot in self.slots for part in slot.template.parts)
        return {label for part in parts if not isinstance(part, str) for label in part.labels}

    @property
    def _constant(self) -> bytes:
        return self._block[self._begin : self._begin + sum(self._lengths)]

    @staticmethod
    def pack(answers: Iterable[Prepared]) -> None:
        """Put the bytes of some answers into one block, except those that are in a block already.

        The interpreter stores the reference count of an object beside its bytes. After a fork, a block of many answers
        stays shared, where thousands of single objects would be copied one by one as they are requested.
        """
        alone = [
            answer for answer in answers if len(answer._block) <= _PACKED and len(answer._block) == sum(answer._lengths)
        ]
        block = b"".join([answer._block for answer in alone])
        at = 0
        for answer in alone:
            answer._block, answer._begin = block, at
            at += sum(answer._lengths)


MANY_SLOTS: Final = 2_000
"""Slots of an answer that take some milliseconds to fill."""

MUCH_WORK: Final = 1_000
"""What the filters of an answer count for when they take some milliseconds (`answerd.formats.template.MOST_WORK`)."""

_PACKED: Final = 65_536
"""Bytes of an answer up to which it is put into a block with others; a larger answer is a block by itself."""


def _is_long(slots: tuple[Slot, ...]) -> bool:
    """Return whether filling slots may take some milliseconds."""
    if len(slots) > MANY_SLOTS or any(slot.is_long for slot in slots):
        return True
    parts = (part for slot in slots for part in slot.template.parts)
    return sum([part.work for part in parts if not isinstance(part, str)]) > MUCH_WORK


def _weight(slots: tuple[Slot, ...]) -> int:
    """Return about how many characters the placeholders of an answer hold."""
    return sum([slot.weight for slot in slots])


@remembered(4_096, _weight, _LONGEST_SHARED)
def _same_layout(slots: tuple[Slot, ...], lengths: tuple[int, ...]) -> tuple[tuple[Slot, ...], tuple[int, ...], bool]:
    """Return the same pair of objects for all answers with the same layout, and whether it takes long to fill."""
    return slots, lengths, _is_long(slots)


class Family(Protocol[Parsed, T]):
    """The functions of a family. All trees are immutable values: a merge shares parts, it never modifies them."""

    @property
    def name(self) -> str:
        """The name of the family in the log."""

    @property
    def templates_off(self) -> str:
        """How a document of the family says that its double braces are text."""

    def parse(self, text: str, /) -> Parsed:
        """Return the tree of a text (no byte order mark). Raises `ParseError`."""

    def spells_overlay(self, text: str, /) -> bool:
        """Return whether a text that cannot be parsed spells the control key ``overlay`` as this family does: it may be
        an overlay."""

    def control(self, tree: Parsed, /) -> tuple[RawControl, T]:
        """Return the control keys as written, and the tree without them."""

    def placeholders(self, tree: T, reader: Any, /) -> T:
        """Return the tree with each string value that has placeholders replaced by its `Template`, and each such key of
        a map by a `KeyText`.

        ``reader`` is a `TemplateReader`, or for the text family a `answerd.formats.jinja.JinjaReader`. ``reader(text)``
        returns the template, or the plain text where it has none; it collects problems itself.
        """

    def unset(self, tree: T, paths: Collection[Path], /) -> T:
        """Return the tree without the values at ``paths``, all in one pass; the same tree where there are none."""

    def not_arrays(self, tree: T, paths: Collection[Path], /) -> Collection[Path]:
        """Return the ``paths`` at which the tree has no array: a document cannot append it."""

    def merge(self, lower: T, upper: T, append: Collection[Path] = (), /) -> T:
        """Merge ``upper`` over ``lower``. An array of ``upper`` at a path in ``append`` is appended to the array below
        it; where there is none, it is an array like any other. Raises `MergeError` where the two cannot be merged."""

    def prepare(self, tree: T, /) -> Prepared:
        """Return the text of the tree, cut at its placeholders."""


AnyFamily = Family[Any, Any]
"""Some family: outside of it, its trees are `Tree`."""
