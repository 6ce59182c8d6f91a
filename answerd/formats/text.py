"""The text family: layers are concatenated; ``# answer:`` lines are the control keys (kickstart, preseed, iPXE, cfg).

A tree is the layers of a text, lowest first. Only directives are removed, and nothing is escaped: the formats of this
family have only lines in common.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from answerd.formats.control import Language, overlay_number
from answerd.formats.family import (
    ControlFault,
    MergeError,
    Path,
    Prepared,
    RawControl,
    RawValue,
    Slot,
    fragments,
)
from answerd.formats.filters import Lookup
from answerd.formats.template import Template, TemplateReader
from answerd.short_texts import with_lines
from answerd.suggestion import did_you_mean

if TYPE_CHECKING:
    from answerd.formats.jinja import Jinja, JinjaReader  # Jinja2 is imported where a document is filled by it

name = "text"
templates_off = "# answer: template off"

_OPENS = "answer:"
_DIRECTIVE = re.compile(rf"[ \t]*(?:#|//)[ \t]*{_OPENS}[ \t]*(?P<rest>[^\r\n]*)(?:\r\n|\r|\n|\Z)")
_OR_REWORD = "; if the comment is to steer nothing, word it otherwise: without 'answer:' at its beginning"
_INTERPRETER = re.compile(r"#![^\n]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Layer:
    """The text of a document without its directives; its first line is separate where it begins with ``#!``."""

    interpreter: str | Template | Jinja
    body: str | Template | Jinja


Layers = tuple[Layer, ...]
"""The tree of this family: the layers of a text, lowest first."""


def spells_overlay(text: str) -> bool:
    return any(found["rest"].split(None, 1)[:1] == ["overlay"] for found in _directives(text))


def parse(text: str) -> str:
    """Return the text itself: every text is valid in this family."""
    return text


def control(tree: str) -> tuple[RawControl, Layers]:
    """Return the directives and the layer without their lines."""
    text = tree
    reading = _Directives()
    kept: list[str] = []
    done = 0
    for line, found in with_lines(text, _directives(text)):
        reading.read(found["rest"].strip(), line)
        kept.append(text[done : found.start()])
        done = found.end()
    kept.append(text[done:])
    rest = "".join(kept)
    interpreter = _INTERPRETER.match(rest)
    opening = interpreter[0] if interpreter else ""
    return reading.written(), (Layer(opening, rest[len(opening) :]),)


def _directives(text: str) -> Iterator[re.Match[str]]:
    """Yield the lines of a text that are directives, in their order."""
    # Searched for by a word: a regular expression would look at every character of the text.
    at = text.find(_OPENS)
    while at >= 0:
        found = _DIRECTIVE.match(text, text.rfind("\n", 0, at) + 1)
        if found:
            yield found
        next_line = text.find("\n", at) + 1
        at = text.find(_OPENS, next_line) if next_line else -1


class _Directives:
    """The directives of a text, collected into control keys."""

    def __init__(self) -> None:
        self.values: dict[str, RawValue] = {}
        self.faults: list[ControlFault] = []

    def read(self, directive: str, line: int) -> None:
        """Read a directive, the text after ``answer:``. An error in it becomes a fault with its line."""
        verb, rest = (*directive.split(None, 1), "", "")[:2]
        key = _KEY_OF_VERB.get(verb)
        if key is None:
            known = [verb for verb in _KEY_OF_VERB if verb not in _NOT_LISTED]
            hint = did_you_mean(verb, known)
            reason = f"unknown directive after 'answer:' (line {line}); there are {', '.join(known)}{hint}{_OR_REWORD}"
            self.faults.append(ControlFault("", reason, hides_claims=True))
            return
        try:
            _TAKE[key](self, rest, f"line {line}")
        except ValueError as error:
            self.faults.append(ControlFault(key, f"{error} (line {line}){_OR_REWORD}"))

    def written(self) -> RawControl:
        """Return the collected control keys."""
        return RawControl(self.values, tuple(self.faults))

    def take_extends(self, rest: str, place: str) -> None:
        """Read ``extends base``: one group, at most once."""
        if "extends" in self.values:
            raise ValueError("a document extends one group only, this is the second")
        names = shell_words(rest)
        if len(names) != 1:
            raise ValueError("must name one group, in one word")
        self.values["extends"] = RawValue(names[0], place)

    def take_members(self, rest: str, place: str) -> None:
        """Read ``member A, B``: words as a shell splits them, also at commas; several lines add up."""
        if not rest.strip(" ,\t"):
            raise ValueError("is empty: name a machine, or leave the line out")
        self.values.setdefault("members", RawValue([], place)).value.extend(shell_words(rest, _MEMBER_PIECE))

    def take_match(self, rest: str, place: str) -> None:
        """Read ``match label=pattern …`` with shell quoting; several lines add up, a repeated label means any of its
        patterns."""
        if not rest:
            raise ValueError("is empty: name a label and a pattern, or leave the line out")
        criteria: list[tuple[str, str]] = []
        for criterion in shell_words(rest):
            label, equals, pattern = criterion.partition("=")
            if not equals:
                raise ValueError("a criterion is not label=pattern")
            criteria.append((label, pattern))
        together = self.values.setdefault("match", RawValue({}, place)).value
        for label, pattern in criteria:
            together.setdefault(label, []).append(pattern)

    def take_template(self, rest: str, place: str) -> None:
        """Read ``template off``, ``template jinja`` or ``template on``."""
        if rest not in _TEMPLATE:
            raise ValueError("is 'off', 'on' or 'jinja'")
        self.values["template"] = RawValue(_TEMPLATE[rest], place)

    def take_once(self, rest: str, place: str) -> None:
        """Read ``once``, ``once armed``, ``once loader`` or ``once off``; at most one line."""
        if rest not in _ONCE:
            raise ValueError("is 'once', 'once armed', 'once loader' or 'once off'")
        if "once" in self.values:
            raise ValueError("is said once in a document, this is the second line")
        self.values["once"] = RawValue(_ONCE[rest], place)

    def take_overlay(self, rest: str, place: str) -> None:
        """Read ``overlay 20``; at most one line."""
        if "overlay" in self.values:
            raise ValueError("is said once in a document, this is the second line")
        self.values["overlay"] = RawValue(overlay_number(rest), place)

    def refuse(self, _rest: str, _place: str) -> None:
        """Refuse a directive: nothing can be removed from concatenated text, and it has no arrays."""
        raise ValueError("has no meaning in a text document")


def _pieces(blank: str) -> re.Pattern[str]:
    """Return the pattern of a piece of a shell's words, which are separated by the characters in ``blank``."""
    return re.compile(
        rf"""(?P<blank>[{blank}]+)|(?P<bare>[^{blank}"'\\]+)|\\(?P<escaped>.)"""
        r"""|'(?P<single>[^']*)'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)\"""",
        re.DOTALL,
    )


_SHELL_PIECE = _pieces(r" \t\r\n")
_MEMBER_PIECE = _pieces(r"\s,")
_ESCAPED_IN_QUOTES = re.compile(r"""\\(["\\])""")


def shell_words(text: str, piece: re.Pattern[str] = _SHELL_PIECE) -> list[str]:
    """Split a text by a shell's rules, like ``shlex.split``, whose time grows with the square of a word's length.

    Raises ValueError for a quotation that does not end.
    """
    words: list[str] = []
    pieces: list[str] | None = None
    at = 0
    while at < len(text):
        found = piece.match(text, at)
        if not found:
            raise ValueError("No escaped character" if text.endswith("\\") else "No closing quotation")
        at = found.end()
        if found["blank"] is None:
            pieces = [] if pieces is None else pieces
            double = found["double"]
            inside = found[found.lastgroup or 0] if double is None else _ESCAPED_IN_QUOTES.sub(r"\1", double)
            pieces.append(inside)
        elif pieces is not None:
            words.append("".join(pieces))
            pieces = None
    return words if pieces is None else [*words, "".join(pieces)]


_ONCE: dict[str, bool | str] = {"": True, "armed": "armed", "loader": "loader", "off": False}
_TEMPLATE: dict[str, bool | Language] = {"off": False, "on": True, "jinja": Language.JINJA}
_KEY_OF_VERB = {
    "extends": "extends",
    "member": "members",
    "members": "members",
    "match": "match",
    "once": "once",
    "overlay": "overlay",
    "template": "template",
    "append": "append",
    "unset": "unset",
}
_NOT_LISTED = ("members", "append", "unset")
"""Directives that a list in a sentence leaves out: alternative spellings, and those without a meaning in a text."""

_TAKE: dict[str, Callable[[_Directives, str, str], None]] = {
    "extends": _Directives.take_extends,
    "members": _Directives.take_members,
    "match": _Directives.take_match,
    "once": _Directives.take_once,
    "overlay": _Directives.take_overlay,
    "template": _Directives.take_template,
    "append": _Directives.refuse,
    "unset": _Directives.refuse,
}


def placeholders(tree: Layers, reader: TemplateReader | JinjaReader) -> Layers:
    return tuple(Layer(_read(layer.interpreter, reader), _read(layer.body, reader)) for layer in tree)


def _read(text: str | Template | Jinja, reader: TemplateReader | JinjaReader) -> str | Template | Jinja:
    return reader(text, open_is_text=True) if isinstance(text, str) else text


class Taken(NamedTuple):
    """The lines of a text, from 1, that the body of its layer does not have: control comments and the ``#!`` line,
    which is ``interpreter``, 0 where there is none."""

    lines: tuple[int, ...] = ()
    interpreter: int = 0


def lines_taken(text: str) -> Taken:
    found = [line for line, _ in with_lines(text, _directives(text))]
    if not control(text)[1][0].interpreter:
        return Taken(tuple(found))
    known = set(found)
    interpreter = next(line for line in count(1) if line not in known)
    return Taken(tuple(sorted([*found, interpreter])), interpreter)


def line_in_document(line: int, taken: Sequence[int]) -> int:
    """Return the line of a document of a line of its body, from which the lines ``taken`` were taken out, in their
    order."""
    return line + bisect_right(range(len(taken)), line, key=lambda at: taken[at] - at)


def origins(tree: Layers, texts: Sequence[str], lookup: Lookup) -> Iterator[tuple[int, int]]:
    """Yield the layer and its line of each line of an answer. ``tree`` has a layer for each of the ``texts``."""
    taken = [lines_taken(text) for text in texts]
    yield from [(at, each.interpreter) for at, each in enumerate(taken) if each.interpreter][-1:]
    for at, layer in enumerate(tree):
        if not layer.body:
            continue
        if not isinstance(layer.body, str | Template):
            yield from ((at, line) for line in layer.body.lines(lookup))
            continue
        parts = (layer.body,) if isinstance(layer.body, str) else layer.body.parts
        line, begins = 1, True
        for part in parts:
            for piece in LINE.findall(part if isinstance(part, str) else part.value(lookup)):
                if begins:
                    yield at, line_in_document(line, taken[at].lines)
                begins = piece.endswith("\n")
                line += begins and isinstance(part, str)


LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""A line of what an answer is made of, with its line end where it has one."""


def unset(tree: Layers, _paths: Collection[Path]) -> Layers:
    """Return the same text: `control` has refused the directive already."""
    return tree


def not_arrays(_tree: Layers, _paths: Collection[Path]) -> Collection[Path]:
    """Return nothing: `control` has refused the directive already."""
    return ()


def merge(lower: Layers, upper: Layers, _append: Collection[Path] = ()) -> Layers:
    """Return the layers of both. Raises `MergeError` where the last line of the lower text goes on in the next one."""
    last = next((layer.body for layer in reversed(lower) if layer.body), "")
    if _goes_on(last) and any(layer.body for layer in upper):
        raise MergeError(
            "the last line of the lower text ends in a backslash, so the first line of the upper one would be part of "
            "it: take the backslash away, or end the lower text with an empty line"
        )
    return lower + upper


def _goes_on(text: str | Template | Jinja) -> bool:
    """Return whether the last line of a text ends in a backslash: to a shell, debconf and iPXE the next is part of
    it."""
    last = text if isinstance(text, str) else text.parts[-1] if isinstance(text, Template) else text.source
    return isinstance(last, str) and re.search(r"\\\r?\n?\Z", last[-3:]) is not None


def prepare(tree: Layers) -> Prepared:
    """Return the highest ``#!`` line, then the layers; a newline between two where the lower one does not end in a
    newline."""
    texts = _texts(tree)
    answer: list[str | Slot] = []
    for at, text in enumerate(texts, 1):
        if answer and not _ends_line(answer[-1]):
            answer.append("\n")
        if isinstance(text, str | Template):
            answer += fragments(text, str)
        else:
            answer.append(text.slot(ends_line=at < len(texts)))
    return Prepared(answer)


def _texts(tree: Layers) -> list[str | Template | Jinja]:
    interpreters = [layer.interpreter for layer in tree if layer.interpreter]
    return [*interpreters[-1:], *(layer.body for layer in tree if layer.body)]


def _ends_line(fragment: str | Slot) -> bool:
    """Return whether a fragment ends its line. A filled value never does: control characters are refused. A whole text
    does."""
    return fragment.endswith("\n") if isinstance(fragment, str) else fragment.is_program
