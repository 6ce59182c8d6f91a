"""The text family: layers are concatenated; ``# answer:`` lines are the control keys (kickstart, preseed, iPXE, cfg).

A tree is the layers of a text, lowest first. Nothing but directives is ever removed, and nothing is escaped: the
formats of this family share no syntax beyond the line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from answerd.formats.family import (
    ControlFault,
    Hole,
    Path,
    Prepared,
    Tree,
    Written,
    WrittenControl,
    fragments,
)
from answerd.formats.template import Template, TemplateReader

name = "text"

_DIRECTIVE = re.compile(r"^[ \t]*(?:#|//)[ \t]*answer:[ \t]*(?P<rest>[^\r\n]*)(?:\r\n|\r|\n|\Z)", re.MULTILINE)
_LONGEST_VERB = 12
"""Characters of an unknown verb that is compared with the known ones."""
_INTERPRETER = re.compile(r"#![^\n]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Layer:
    """One document's text without its directives; the ``#!`` line that opened it stands apart."""

    interpreter: str | Template
    body: str | Template


def parse(text: str) -> Tree:
    """The text itself: any text is of this family."""
    return text


def control(tree: Tree) -> tuple[WrittenControl, Tree]:
    """The directives and the layer without their lines."""
    text = tree
    reading = _Directives()
    kept: list[str] = []
    done = 0
    for found in _DIRECTIVE.finditer(text):
        reading.read(found["rest"].strip(), text.count("\n", 0, found.start()) + 1)
        kept.append(text[done : found.start()])
        done = found.end()
    kept.append(text[done:])
    rest = "".join(kept)
    interpreter = _INTERPRETER.match(rest)
    opening = interpreter[0] if interpreter else ""
    return reading.written(), (Layer(opening, rest[len(opening) :]),)


class _Directives:
    """The directives of one text, collected into control keys."""

    def __init__(self) -> None:
        self.values: dict[str, Written] = {}
        self.faults: list[ControlFault] = []

    def read(self, directive: str, line: int) -> None:
        """Take one directive, the text after ``answer:``. What is wrong with it becomes a fault with its line."""
        verb, rest = (*directive.split(None, 1), "", "")[:2]
        key = _KEY_OF_VERB.get(verb)
        if key is None:
            verbs = [known for known in _KEY_OF_VERB if known != "unset"]
            near = get_close_matches(verb.lower(), verbs, n=1) if len(verb) <= _LONGEST_VERB else []
            hint = f"; was {near[0]!r} meant?" if near else ""
            reason = f"unknown directive after 'answer:' (line {line}); there are {', '.join(verbs)}{hint}"
            self.faults.append(ControlFault("", reason))
            return
        try:
            _TAKE[key](self, rest, f"line {line}")
        except ValueError as error:
            self.faults.append(ControlFault(key, f"{error} (line {line})"))

    def written(self) -> WrittenControl:
        """What was collected."""
        return WrittenControl(self.values, tuple(self.faults))

    def take_extends(self, rest: str, place: str) -> None:
        """``extends base``: one group, once."""
        if "extends" in self.values:
            raise ValueError("a document extends one group only, this is the second")
        names = shlex.split(rest)
        if len(names) != 1:
            raise ValueError("must name one group, in one word")
        self.values["extends"] = Written(names[0], place)

    def take_members(self, rest: str, place: str) -> None:
        """``member A, B``: with commas or blanks between; several lines add up."""
        if not rest.strip(" ,\t"):
            raise ValueError("is empty: name a machine, or leave the line out")
        before = self.values.get("members")
        members = [*(before.value if before and isinstance(before.value, list) else [])]
        members += [member for member in re.split(r"[\s,]+", rest) if member]
        self.values["members"] = Written(members, before.place if before else place)

    def take_match(self, rest: str, place: str) -> None:
        """``match label=pattern …`` with shell quoting; several lines add up, a label twice means any of them."""
        if not rest:
            raise ValueError("is empty: name a label and a pattern, or leave the line out")
        before = self.values.get("match")
        criteria: dict[str, list[str]] = dict(before.value) if before and isinstance(before.value, dict) else {}
        for criterion in shlex.split(rest):
            label, equals, pattern = criterion.partition("=")
            if not equals:
                raise ValueError("a criterion is not label=pattern")
            criteria[label] = [*criteria.get(label, []), pattern]
        self.values["match"] = Written(criteria, before.place if before else place)

    def take_template(self, rest: str, place: str) -> None:
        """``template off`` (or ``on``)."""
        if rest not in ("off", "on"):
            raise ValueError("is 'off' or 'on'")
        self.values["template"] = Written(rest == "on", place)

    def refuse_unset(self, _rest: str, _place: str) -> None:
        """Nothing can be taken out of concatenated text."""
        raise ValueError("has no meaning in a text document")


_KEY_OF_VERB = {"extends": "extends", "member": "members", "match": "match", "template": "template", "unset": "unset"}
_TAKE: dict[str, Callable[[_Directives, str, str], None]] = {
    "extends": _Directives.take_extends,
    "members": _Directives.take_members,
    "match": _Directives.take_match,
    "template": _Directives.take_template,
    "unset": _Directives.refuse_unset,
}


def placeholders(tree: Tree, reader: TemplateReader) -> Tree:
    """Templates anywhere in the text."""
    return tuple(
        Layer(reader(layer.interpreter, open_is_text=True), reader(layer.body, open_is_text=True)) for layer in tree
    )


def unset(tree: Tree, _path: Path) -> Tree:
    """The same text: `control` has refused the directive already."""
    return tree


def merge(lower: Tree, upper: Tree) -> Tree:
    """The layers of both, in order."""
    return lower + upper


def prepare(tree: Tree) -> Prepared:
    """The highest ``#!`` line, then the layers; a newline between two where the lower one does not end in one."""
    interpreters = [layer.interpreter for layer in tree if layer.interpreter]
    answer: list[str | Hole] = []
    for text in filter(None, [*interpreters[-1:], *(layer.body for layer in tree)]):
        if answer and not _ends_line(answer[-1]):
            answer.append("\n")
        answer += fragments(text, _as_it_is)
    return Prepared(answer)


def _ends_line(fragment: str | Hole) -> bool:
    """A filled value never ends a line: control characters are refused."""
    return isinstance(fragment, str) and fragment.endswith("\n")


def _as_it_is(text: str) -> str:
    return text
