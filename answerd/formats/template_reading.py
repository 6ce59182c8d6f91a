"""Read placeholders: ``{{ label | filter }}`` in a document's text, once for all requests.

Rules: docs/templates.md.

Knows the placeholder's grammar and its faults; what a placeholder does with a value is in `answerd.formats.template`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from answerd.errors import MOST_PROBLEMS
from answerd.formats import filters
from answerd.formats.filters import Filter
from answerd.formats.template import LONGEST_REMEMBERED, SECRETS, Placeholder, Template
from answerd.identity import folded
from answerd.memo import remembered

_STRING: Final = r'"[^"\r\n]*"|\'[^\'\r\n]*\''
_LABEL: Final = "[\\w$@][\\w\u0300-\u036f$@.:-]*"
"""With the marks that follow letters in decomposed text: labels are compared as composed text."""
_FILTER: Final = rf"[A-Za-z_]\w*(?:[ \t]*\([ \t]*(?:{_STRING})(?:[ \t]*,[ \t]*(?:{_STRING}))*[ \t]*\))?"
_PLACEHOLDER: Final = re.compile(
    rf"\{{\{{[ \t]*(?P<subject>{_STRING}|{_LABEL})(?P<filters>(?:[ \t]*\|[ \t]*{_FILTER})*)[ \t]*\}}\}}"
)
_ONE_FILTER: Final = re.compile(rf"\|[ \t]*(?P<name>[A-Za-z_]\w*)(?:[ \t]*\((?P<texts>(?:{_STRING}|[ \t,])*)\))?")
_ONE_TEXT: Final = re.compile(_STRING)
_LINE_END: Final = re.compile(r"[\r\n]")
_SECRET_NAME: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
_LONGEST_SPELLING: Final = 200
"""Characters of a faulty placeholder with which it is searched for in its document."""
_SPELLINGS: Final[tuple[tuple[str, str], ...]] = (("", ""), ('"', '\\"'), ("'", "''"), ('"', "&quot;"))
"""How a document may spell the quotes in a value: (character, replacement)."""

MOST_FILTERS: Final = 32
"""The most filters of a placeholder. Each processes the whole value, so many filters would multiply the cost of a
request."""


class TemplateReader:
    """Reads the placeholders of a document and collects their faults.

    ``problems`` holds the first sentences, ``unlisted`` counts the others. A sentence has the line and the column in
    ``source``, the document's text, where they can be found there. It never quotes the text between the braces: that
    may be a password. ``found``: whether any placeholder, including literal braces, was seen; ``labels`` are those of
    the placeholders.
    """

    def __init__(self, source: str = "") -> None:
        self.source = source
        self.problems: list[str] = []
        self.unlisted = 0
        self.found = False
        self.labels: set[str] = set()
        self._looked_at: dict[str, int] = {}

    def __call__(self, text: str, *, open_is_text: bool = False, has_types: bool = False) -> str | Template:
        """Return ``text`` as a template, or as plain text when no part of it depends on the request.

        ``open_is_text``: whether an unclosed ``{{`` is text, as in the text family, or a problem. ``has_types``:
        whether a placeholder that is the whole text may become a number, a boolean or a list.
        """
        if "{{" not in text:
            return text
        if len(text) <= LONGEST_REMEMBERED:
            known = _read_before(text, open_is_text, has_types)
            if known is not None:
                template, labels = known
                self.found = True
                self.labels |= labels
                return template
        return self._cut(text, open_is_text, has_types)

    def _cut(self, text: str, open_is_text: bool, has_types: bool) -> str | Template:
        """Return a text with ``{{`` as `__call__` does, and note what is found in it."""
        start = text.find("{{")
        parts: list[str | Placeholder] = []
        closings: _Closings | None = None
        done = 0
        while start >= 0:
            found = _PLACEHOLDER.match(text, start)
            if found:
                self.found = True
                done_before, done = done, found.end()
                next_from = done
                is_whole = has_types and not start and done == len(text)
                parts += [text[done_before:start], self._placeholder(found, text, is_whole=is_whole)]
            else:
                closings = closings or _Closings(text)
                self._note_fault(text, start, closings.after(start), open_is_text)
                next_from = start + 2
            start = text.find("{{", next_from)
        parts.append(text[done:])
        return _joined(parts)

    def _note_fault(self, text: str, start: int, end: int | None, open_is_text: bool) -> None:
        """Record the fault of the ``{{`` at ``start``, whose ``}}`` ends at ``end``, None where it has none."""
        if end is None and open_is_text:
            return
        self._note(
            text,
            start,
            f"{'is no placeholder' if end is not None else 'opens a placeholder that its line does not close'}: "
            'write {{ "{{" }} for literal braces, or switch this document\'s templates off',
            closed=end is not None,
        )

    def _placeholder(self, found: re.Match[str], text: str, *, is_whole: bool) -> str | Placeholder:
        placeholder, problem = _read(found[0])
        if isinstance(placeholder, Placeholder) and placeholder.type and not is_whole:
            problem = (
                f"has the filter {placeholder.type}, for which it must be the whole text of a TOML, YAML or JSON value"
            )
            placeholder = ""
        if problem:
            self._note(text, found.start(), problem)
        elif isinstance(placeholder, Placeholder):
            self.labels.add(placeholder.label)
        return placeholder

    def refuse(self, text: str, problem: str) -> None:
        """Record why the first placeholder of a text cannot be where it is."""
        self._note(text, text.find("{{"), problem)

    def _note(self, text: str, start: int, problem: str, *, closed: bool = True) -> None:
        if len(self.problems) == MOST_PROBLEMS:
            self.unlisted += 1
            return
        self.problems.append(f"{'{{ … }}' if closed else '{{'}{self._place(text, start)} {problem}")

    def _place(self, text: str, start: int) -> str:
        """Return where in the document the placeholder is that begins at ``start`` of a value; empty where it is not
        found as it is spelled."""
        spelled = re.split(r"[\r\n]|(?<=\}\})", text[start : start + _LONGEST_SPELLING], maxsplit=1)[0]
        for old, new in _SPELLINGS:
            spelling = spelled.replace(old, new) if old else spelled
            at = self.source.find(spelling, self._looked_at.get(spelling, 0))
            if at >= 0:
                self._looked_at[spelling] = at + 1
                line, column = self.source.count("\n", 0, at) + 1, at - self.source.rfind("\n", 0, at)
                return f" at line {line}, column {column}"
        return ""


@remembered(1_024, len, LONGEST_REMEMBERED)
def _read_before(text: str, open_is_text: bool, has_types: bool) -> tuple[str | Template, frozenset[str]] | None:
    """Return a text as a `TemplateReader` returns it, and the labels in it; None where it has a fault or no
    placeholder. The documents of a fleet share many of these texts."""
    reader = TemplateReader()
    template = reader._cut(text, open_is_text, has_types)
    return (template, frozenset(reader.labels)) if reader.found and not reader.problems else None


class _Closings:
    """The ``}}`` that close the ``{{`` of a text on their lines. Queried in order: no part of the text is searched
    twice."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._closing = self._line_end = -1

    def after(self, start: int) -> int | None:
        """Return the end of the ``}}`` that closes the ``{{`` at ``start``; None where its line has none."""
        if self._closing < start:
            closing = self._text.find("}}", start)
            self._closing = len(self._text) if closing < 0 else closing
        if self._line_end < start:
            line_end = _LINE_END.search(self._text, start)
            self._line_end = line_end.start() if line_end else len(self._text)
        return self._closing + 2 if self._closing < self._line_end else None


@remembered(1_024, len, LONGEST_REMEMBERED)
def _read(written: str) -> tuple[str | Placeholder, str]:
    """Return the placeholder between the braces, and its fault. The documents of a fleet share a few placeholders."""
    found = _PLACEHOLDER.fullmatch(written)
    assert found is not None  # noqa: S101 - the caller matched it
    subject, written_filters = found["subject"], found["filters"]
    read: list[Filter] = []
    for found in _ONE_FILTER.finditer(written_filters):
        texts = tuple(text[0][1:-1] for text in _ONE_TEXT.finditer(found["texts"] or ""))
        problem = filters.fault(found["name"], texts)
        if problem:
            return "", problem
        read.append((found["name"], texts))
    if len(read) > MOST_FILTERS:
        return "", f"{subject}: {len(read)} filters are too many, a placeholder has at most {MOST_FILTERS}"
    if any(name in filters.TYPES for name, _ in read[:-1]):
        return "", f"has a filter that is not the last one: {', '.join(sorted(filters.TYPES))} can only be the last"
    if subject[0] not in "\"'":
        return _of_label(subject, tuple(read))
    try:
        return _filtered(subject[1:-1], read), ""
    except ValueError as error:
        return "", f"has a text that {error}"


def _of_label(subject: str, read: tuple[Filter, ...]) -> tuple[str | Placeholder, str]:
    label = folded(subject)
    gathers = any(name in filters.GATHERING for name, _ in read)
    if not label.startswith(SECRETS):
        return Placeholder(label, read, subject, gathers=gathers), ""
    name = subject[len(SECRETS) :]
    if not _SECRET_NAME.match(name):
        return "", "names no secret: its name is ASCII letters, digits, - and _"
    return Placeholder(SECRETS + name, read, subject, is_secret=True, gathers=gathers), ""


def _filtered(literal: str, read: list[Filter]) -> str:
    """Return a literal after its filters, among which ``default`` has no effect. Raises ValueError where a filter
    refuses it."""
    values: Sequence[str] = [literal]
    for name, texts in read:
        if name in filters.TYPES:
            raise ValueError(f"needs no filter {name}: write the value itself")
        values = filters.apply_to_all(name, texts, values)
    if not values:
        raise ValueError("has nothing left after its filters")
    return values[0]


def _joined(parts: list[str | Placeholder]) -> str | Template:
    """Return the parts with adjoining texts joined; plain text when there is no placeholder among them."""
    joined: list[str | Placeholder] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        joined += [text, part] if (text := "".join(texts)) else [part]
        texts.clear()
    text = "".join(texts)
    if not joined:
        return text
    return Template((*joined, text) if text else tuple(joined))
