"""Placeholders: ``{{ label | filter }}`` in a document's text, read once and filled for each request (SPEC 9).

Knows the placeholder's grammar and filters. Knows nothing of how a family writes the filled text: escaping is the
family's, in its `Hole`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from answerd.errors import CannotFill
from answerd.identity import mac_digits, shown

_STRING = r'"[^"\r\n]*"|\'[^\'\r\n]*\''
_LABEL = r"[\w$@][\w$@.:-]*"
_FILTER = rf"[A-Za-z_]\w*(?:[ \t]*\([ \t]*(?:{_STRING})[ \t]*\))?"
_PLACEHOLDER = re.compile(
    rf"\{{\{{[ \t]*(?P<subject>{_STRING}|{_LABEL})(?P<filters>(?:[ \t]*\|[ \t]*{_FILTER})*)[ \t]*\}}\}}"
)
_ONE_FILTER = re.compile(rf"\|[ \t]*(?P<name>[A-Za-z_]\w*)(?:[ \t]*\([ \t]*(?P<argument>{_STRING})[ \t]*\))?")
_CLOSED_ON_ITS_LINE = re.compile(r"[^\r\n]*?\}\}")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # Unicode category Cc, all of it
_OCTETS = range(0, 12, 2)
_SHOWN = 60
"""Characters of a faulty placeholder that a problem quotes."""


def _separated_by(separator: str) -> Callable[[str], str]:
    def spell(value: str) -> str:
        digits = mac_digits(value)
        if digits is None:
            raise ValueError("is not a MAC address")
        return separator.join([digits[at : at + 2] for at in _OCTETS])

    return spell


_NO_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST_SLUG = 63
"""Characters of a DNS label (RFC 1035)."""


def _slug(value: str) -> str:
    slug = _NO_SLUG.sub("-", value.lower()).strip("-")[:_LONGEST_SLUG].rstrip("-")
    if not slug:
        raise ValueError("has no ASCII letter or digit")
    return slug


FILTERS: dict[str, Callable[[str], str]] = {
    "bare": _separated_by(""),
    "colons": _separated_by(":"),
    "dashes": _separated_by("-"),
    "lower": str.lower,
    "upper": str.upper,
    "slug": _slug,
}
"""The filters that take no argument. ``default("text")`` is the one that does; it acts on what is missing."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One label and the filters its value goes through. A filter is its name and, for ``default``, its text.

    ``label`` is case-folded, ``written`` is how the document spells it.
    """

    label: str
    filters: tuple[tuple[str, str | None], ...] = ()
    written: str = ""

    def value(self, lookup: Callable[[str], str | None]) -> str:
        """What the request puts here. Raises `CannotFill` when it has no such fact or the fact cannot be used."""
        value = lookup(self.label)
        if self.filters:
            value = self._filtered(value)
        if value is None:
            reason = f"the request has no fact {self._shown!r}, which the answer needs"
            raise CannotFill(reason, self._shown, missing=True)
        if not value.isprintable() and _CONTROL_CHARACTER.search(value):
            reason = f"the value of {self._shown!r} holds a control character, which no answer may take"
            raise CannotFill(reason, self._shown, missing=False)
        return value

    def _filtered(self, value: str | None) -> str | None:
        for name, argument in self.filters:
            if argument is not None:
                value = argument if value is None else value
            elif value is not None:
                try:
                    value = FILTERS[name](value)
                except ValueError as error:
                    reason = f"{{{{ {self._shown} | {name} }}}}: {value[:_SHOWN]!r} {error}"
                    raise CannotFill(reason, self._shown, missing=False) from None
        return value

    @property
    def _shown(self) -> str:
        return self.written or self.label


@dataclass(frozen=True, slots=True)
class Template:
    """A text with placeholders: constant parts and `Placeholder` in their order."""

    parts: tuple[str | Placeholder, ...]

    def fill(self, lookup: Callable[[str], str | None]) -> str:
        """The text for one request. Raises `CannotFill`."""
        parts = self.parts
        if len(parts) == 1 and not isinstance(parts[0], str):
            return parts[0].value(lookup)
        return "".join([part if isinstance(part, str) else part.value(lookup) for part in parts])


class TemplateReader:
    """Reads the placeholders of one document and collects what is wrong with them in ``problems``.

    ``found`` tells whether any placeholder, a literal one included, was seen.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.found = False

    def __call__(self, text: str, *, open_is_text: bool = False) -> str | Template:
        """``text`` as a template, or as the text that it stands for when no part of it depends on the request.

        ``open_is_text``: whether ``{{`` that its line never closes is text, as in the text family, or a problem.
        """
        start = text.find("{{")
        if start < 0:
            return text
        parts: list[str | Placeholder] = []
        done = 0
        while start >= 0:
            found = _PLACEHOLDER.match(text, start)
            if found:
                self.found = True
                parts += [text[done:start], self._placeholder(found)]
                done = next_from = found.end()
            else:
                self._note_fault(text, start, open_is_text)
                next_from = start + 2
            start = text.find("{{", next_from)
        parts.append(text[done:])
        return _joined(parts)

    def _note_fault(self, text: str, start: int, open_is_text: bool) -> None:
        closed = _CLOSED_ON_ITS_LINE.match(text, start)
        if closed is None and open_is_text:
            return
        line = re.split(r"[\r\n]", text[start : start + _SHOWN], maxsplit=1)[0]
        quoted = shown(closed[0] if closed and len(closed[0]) <= _SHOWN else line)
        what = "is no placeholder" if closed else "opens a placeholder that its line does not close"
        self.problems.append(
            f'{quoted} {what}: write {{{{ "{{{{" }}}} for literal braces, or switch this document\'s templates off'
        )

    def _placeholder(self, found: re.Match[str]) -> str | Placeholder:
        read = _read_known if len(found[0]) <= _LONGEST_KNOWN else _read
        placeholder, problem = read(found[0], found["subject"], found["filters"])
        if problem:
            self.problems.append(problem)
        return placeholder


def _read(written: str, subject: str, filters: str) -> tuple[str | Placeholder, str]:
    """What stands between the braces, and what is wrong with it."""
    read: list[tuple[str, str | None]] = []
    for one in _ONE_FILTER.finditer(filters):
        name, argument = one["name"], one["argument"]
        if (name == "default") != (argument is not None) or (name != "default" and name not in FILTERS):
            known = ", ".join(sorted([*FILTERS, 'default("text")']))
            return "", f"{written}: unknown filter {one[0][1:].strip()!r}; the filters are {known}"
        read.append((name, argument[1:-1] if argument is not None else None))
    if subject[0] not in "\"'":
        return Placeholder(subject.casefold(), tuple(read), subject), ""
    try:
        return _filtered(subject[1:-1], read), ""
    except ValueError as error:
        return "", f"{written}: {subject[1:-1]!r} {error}"


_read_known = lru_cache(maxsize=1_024)(_read)
_LONGEST_KNOWN = 200
"""Characters of a placeholder that is kept. A fleet's documents share few; one with a long ``default`` is not kept."""


def _filtered(literal: str, filters: list[tuple[str, str | None]]) -> str:
    """A literal after its filters, among which ``default`` never acts. Raises ValueError where it is no MAC address."""
    for name, argument in filters:
        literal = literal if argument is not None else FILTERS[name](literal)
    return literal


def _joined(parts: list[str | Placeholder]) -> str | Template:
    """The parts with neighbouring texts made one; plain text when there is no placeholder among them."""
    joined: list[str | Placeholder] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    if all(isinstance(part, str) for part in joined):
        return "".join(part for part in joined if isinstance(part, str))
    return Template(tuple(joined))
