"""Placeholders: ``{{ label | filter }}`` in a document's text, read once for all requests and filled for each.

Rules: docs/templates.md. A `TemplateReader` knows the grammar and its faults; a `Template` is a text cut at its
placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from answerd.errors import MOST_PROBLEMS, CannotFill
from answerd.formats import filters
from answerd.formats.filters import (
    CUTTING,
    FALLBACK,
    FILTERS,
    LARGEST_ANSWER,
    Filter,
    Lookup,
    UnknownFilter,
    apply_filter,
    too_large,
)
from answerd.identity import folded
from answerd.memo import remembered
from answerd.short_texts import brief

_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # Unicode category Cc, all of it
_NOT_IN_A_SECRET: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # the same without line ends and tabs
LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
LONGEST_REMEMBERED: Final = 200
"""Characters of a placeholder up to which it is read once for all documents that have it."""

SECRETS: Final = "secret."
"""The prefix of the labels of secrets; what follows is compared exactly."""

SECRET_NAME: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
"""The names that a secret may have."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A label and the filters that its value goes through.

    ``label`` is case-folded, except for the name of a secret; ``written`` is how the document spells it. ``is_secret``:
    its value comes from the service's secrets, and may contain line ends and tabs; no default replaces a missing value.
    ``gathers``: a filter needs all values of the label; otherwise the first value is used.
    """

    label: str
    filters: tuple[Filter, ...] = ()
    written: str = ""
    is_secret: bool = False
    gathers: bool = False

    def __hash__(self) -> int:
        # Half the time of hashing all fields. Without the filters, all placeholders of one label would collide.
        return hash((self.label, self.filters))

    def __str__(self) -> str:
        """Return it as a document may write it."""
        return "{{ " + " | ".join([self.label, *(filters.spelled(name, texts) for name, texts in self.filters)]) + " }}"

    def value(self, lookup: Lookup) -> str:
        """Return the value for a request. Raises `CannotFill` when it has no such fact or the fact cannot be used."""
        if self.gathers:
            return self.values(lookup)[0]
        value = lookup.first(self.label)
        if value is not None and not value.isprintable() and not self._cuts_first:
            self._refuse_unusable(value)
        if self.filters:
            for name, texts in self.filters:
                if name == FALLBACK:
                    value = self._fallback(texts[0], lookup) if value is None else value
                    continue
                try:
                    plain = FILTERS.get(name) if value is not None else None
                    value = apply_filter(name, texts, value) if plain is None or value is None else plain(value)
                except ValueError as error:
                    raise self._refused_by(name, error) from None
                if value is not None and name in CUTTING and not value.isprintable():
                    self._refuse_unusable(value)
            if value is not None and not value.isprintable():  # the text of a default
                self._refuse_unusable(value, _NOT_IN_A_SECRET)
        if value is None:
            raise self._missing()
        return value

    def values(self, lookup: Lookup) -> Sequence[str]:
        """Return all values for a request, at least one. Raises `CannotFill` as `value` does."""
        values = lookup.values(self.label)
        if not self._cuts_first:
            self._refuse_any_unusable(values)
        for name, texts in self.filters:
            if name == FALLBACK:
                if not values:
                    values = lookup.values(texts[0])
                    self._refuse_any_unusable(values)
                continue
            try:
                values = filters.apply_to_all(name, texts, values)
            except ValueError as error:
                raise self._refused_by(name, error) from None
            if name in CUTTING:
                self._refuse_any_unusable(values)
        self._refuse_any_unusable(values, _NOT_IN_A_SECRET)
        if not values:
            raise self._missing()
        return values

    def _fallback(self, label: str, lookup: Lookup) -> str | None:
        """Return the first value of the fact that ``default(label)`` names."""
        value = lookup.first(label)
        if value is not None and not value.isprintable():
            self._refuse_unusable(value)
        return value

    def _missing(self) -> CannotFill:
        reason = f"the request has no fact {self._shown!r}, which the answer needs"
        return CannotFill(reason, self._shown, missing=True)

    def _refused_by(self, name: str, error: ValueError) -> CannotFill:
        reason = f"{{{{ {self._shown} | {name} }}}}: the value {error}"
        return CannotFill(reason, self._shown, missing=False)

    @property
    def _cuts_first(self) -> bool:
        """Whether the first filter cuts values at line ends or tabs, so that its pieces are looked at."""
        name, texts = self.filters[0] if self.filters else ("", ())
        return name == "lines" or (name == "split" and not texts[0].isprintable())

    def _refuse_any_unusable(self, values: Sequence[str], unusable: re.Pattern[str] = _CONTROL_CHARACTER) -> None:
        for value in values:
            if not value.isprintable():
                self._refuse_unusable(value, unusable)

    def _refuse_unusable(self, value: str, unusable: re.Pattern[str] = _CONTROL_CHARACTER) -> None:
        """Raise `CannotFill` for a value that no answer may contain. Called before any filter, which could hide it; and
        after them, when line ends and tabs are those of the document's ``join``."""
        _refuse(value, self._shown, _NOT_IN_A_SECRET if self.is_secret else unusable)

    @property
    def labels(self) -> tuple[str, ...]:
        """Its label, and those of its ``default(label)``."""
        return (self.label, *(texts[0] for name, texts in self.filters if name == FALLBACK))

    @property
    def type(self) -> str | None:
        """``number``, ``bool`` or ``list``: the type that replaces the placeholder's string; None for a string."""
        last = self.filters[-1][0] if self.filters else None
        return last if last in filters.TYPES else None

    @property
    def work(self) -> int:
        """What its filters count for in its document (docs/limits.md#documents)."""
        cost, times = 0, 1
        for name, texts in self.filters:
            cost += filters.COST.get(name, 1) * times
            if name == "replace" and len(texts[1]) > len(texts[0]):
                times = filters.COST_OF_GROWN_VALUES
        return cost * filters.COST_OF_ALL_VALUES if self.gathers else cost

    def size(self) -> int:
        """The number of its characters."""
        return len(self.label) + sum([len(text) for _, texts in self.filters for text in texts])

    @property
    def _shown(self) -> str:
        return brief(self.written or self.label)


def refuse_unusable(value: str, label: str, *, is_secret: bool) -> None:
    """Raise `CannotFill` for a value of a label that no answer may contain."""
    _refuse(value, brief(label), _NOT_IN_A_SECRET if is_secret else _CONTROL_CHARACTER)


def _refuse(value: str, shown: str, unusable: re.Pattern[str]) -> None:
    if unusable.search(value):
        reason = f"the value of {shown!r} holds a control character, which no answer may take"
        raise CannotFill(reason, shown, missing=False)
    if LONE_SURROGATE.search(value):
        reason = f"the value of {shown!r} is not valid Unicode, which no answer may take"
        raise CannotFill(reason, shown, missing=False)


@dataclass(frozen=True, slots=True)
class Template:
    """A text with placeholders: constant parts and `Placeholder` in their order."""

    parts: tuple[str | Placeholder, ...]

    def fill(self, lookup: Lookup) -> str:
        """Return the text for a request. Raises `CannotFill`, and `AnswerTooLarge` before it makes more than an answer
        may have: a single text may have any number of placeholders."""
        parts = self.parts
        if len(parts) == 1 and not isinstance(parts[0], str):
            return parts[0].value(lookup)
        room = LARGEST_ANSWER
        filled: list[str] = []
        for part in parts:
            text = part if isinstance(part, str) else part.value(lookup)
            filled.append(text)
            room -= len(text)
            if room < 0:
                raise too_large()
        return "".join(filled)

    @property
    def typed(self) -> Placeholder | None:
        """The placeholder of a template that becomes another type than a string; None for any other template."""
        part = self.parts[0]
        return part if len(self.parts) == 1 and not isinstance(part, str) and part.type else None


# --- reading ----------------------------------------------------------------------------------------------------------

_STRING: Final = r'"[^"\r\n]*"|\'[^\'\r\n]*\''
_LABEL: Final = "[\\w$@][\\w\u0300-\u036f$@.:-]*"
"""With the marks that follow letters in decomposed text: labels are compared as composed text."""
_ARGUMENT: Final = f"(?:{_STRING}|{_LABEL})"
_FILTER: Final = rf"[A-Za-z_]\w*(?:[ \t]*\([ \t]*{_ARGUMENT}(?:[ \t]*,[ \t]*{_ARGUMENT})*[ \t]*\))?"
_PLACEHOLDER: Final = re.compile(
    rf"\{{\{{[ \t]*(?P<subject>{_STRING}|{_LABEL})(?P<filters>(?:[ \t]*\|[ \t]*{_FILTER})*)[ \t]*\}}\}}"
)
_ONE_FILTER: Final = re.compile(rf"\|[ \t]*(?P<name>[A-Za-z_]\w*)(?:[ \t]*\((?P<texts>(?:{_STRING}|[^\"'()|]++)*)\))?")
_ONE_ARGUMENT: Final = re.compile(_ARGUMENT)
_LINE_END: Final = re.compile(r"[\r\n]")
_LONGEST_SPELLING: Final = 200
"""Characters of a faulty placeholder with which it is searched for in its document."""
_SPELLINGS: Final = (("", ""), ('"', '\\"'), ("'", "''"), ('"', "&quot;"))
"""How a document may spell the quotes in a value: (character, replacement)."""

MOST_FILTERS: Final = 32
"""The most filters of a placeholder. Each processes the whole value, so many filters would multiply the cost of a
request."""

MOST_WORK: Final = 32_768
"""What the filters of a document count for at most: a filter 1, more where it costs more (`Placeholder.work`). So many
take 30 ms on values of 1,024 characters, and at most a second where each label has a thousand values."""


LONGEST_LITERAL: Final = 1_024
"""Characters that filters make of a literal text at most, or `MOST_TIMES_LONGER` times as many as are written."""

MOST_TIMES_LONGER: Final = 12
"""How much longer than it is written a literal text may become: ``urlencode`` writes 12 characters for an emoji."""


class TemplateReader:
    """Reads the placeholders of a document and collects their faults.

    ``problems`` holds the first sentences, ``unlisted`` counts the others. A sentence has the line and the column in
    ``source``, the document's text, where they can be found there. It never quotes the text between the braces: that
    may be a password. It ends with how to write double braces that are another language's: ``templates_off`` is the
    family's. ``found``: whether any placeholder, including literal braces, was seen; ``labels`` are those of the
    placeholders, ``work`` is what their filters count for.
    """

    def __init__(self, source: str = "", templates_off: str = "template: false") -> None:
        self.source = source
        self.templates_off = templates_off
        self.problems: list[str] = []
        self.unlisted = 0
        self.found = False
        self.labels: set[str] = set()
        self.work = 0
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
                template, labels, work = known
                self.found = True
                self.labels |= labels
                self.work += work
                return template
        return self._cut(text, open_is_text, has_types)

    def _cut(self, text: str, open_is_text: bool, has_types: bool) -> str | Template:
        """Return a text with ``{{`` as `__call__` does, and note what is found in it."""
        start = text.find("{{")
        parts: list[str | Placeholder] = []
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
                # The rest of the line is not looked at: a line of nothing but braces would take long.
                line_end = _LINE_END.search(text, start)
                next_from = line_end.start() if line_end else len(text)
                closed = text.find("}}", start, next_from) >= 0
                if closed or not open_is_text:
                    what = "is no placeholder" if closed else "opens a placeholder that its line does not close"
                    self._note(text, start, f'{what}: write {{{{ "{{{{" }}}} for literal braces', closed=closed)
            start = text.find("{{", next_from)
        parts.append(text[done:])
        return _joined(parts)

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
            self.labels.update(placeholder.labels)
            self.work += placeholder.work
        return placeholder

    def refuse(self, text: str, problem: str) -> None:
        """Record why the first placeholder of a text cannot be where it is."""
        self._note(text, text.find("{{"), problem)

    def _note(self, text: str, start: int, problem: str | Callable[[], str], *, closed: bool = True) -> None:
        if len(self.problems) == MOST_PROBLEMS:
            self.unlisted += 1
            return
        if not isinstance(problem, str):
            problem = problem()
        opening = "{{ … }}" if closed else "{{"
        self.problems.append(
            f"{opening}{self._place(text, start)} {problem}; for braces of another language write {self.templates_off}"
        )

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
def _read_before(text: str, open_is_text: bool, has_types: bool) -> tuple[str | Template, frozenset[str], int] | None:
    """Return a text as a `TemplateReader` returns it, the labels in it, and what its filters count for; None where it
    has a fault or no placeholder. The documents of a fleet share many of these texts."""
    reader = TemplateReader()
    template = reader._cut(text, open_is_text, has_types)
    return (template, frozenset(reader.labels), reader.work) if reader.found and not reader.problems else None


@remembered(1_024, len, LONGEST_REMEMBERED)
def _read(written: str) -> tuple[str | Placeholder, str | Callable[[], str]]:
    """Return the placeholder between the braces, and its fault, or what tells it. The documents of a fleet share a few
    placeholders."""
    found = _PLACEHOLDER.fullmatch(written)
    assert found is not None  # noqa: S101 - the caller matched it
    subject, written_filters = found["subject"], found["filters"]
    read: list[Filter] = []
    for found in _ONE_FILTER.finditer(written_filters):
        try:
            read.append(filters.read(found["name"], _ONE_ARGUMENT.findall(found["texts"] or "")))
        except UnknownFilter as error:
            return "", partial(filters.unknown, *error.args)
        except ValueError as error:
            return "", str(error)
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
    if not SECRET_NAME.match(name):
        return "", "names no secret: its name is ASCII letters, digits, - and _"
    return Placeholder(SECRETS + name, read, subject, is_secret=True, gathers=gathers), ""


def _filtered(literal: str, read: list[Filter]) -> str:
    """Return a literal after its filters, among which ``default`` has no effect. Raises ValueError where a filter
    refuses it, and where they make it long: a document may have any number of literals."""
    values: Sequence[str] = [literal]
    for name, texts in read:
        if name == FALLBACK:
            continue
        if name in filters.TYPES:
            raise ValueError(f"needs no filter {name}: write the value itself")
        values = filters.apply_to_all(name, texts, values)
        if sum(map(len, values)) > max(LONGEST_LITERAL, MOST_TIMES_LONGER * len(literal)):
            most = f"{LONGEST_LITERAL:,} characters, and {MOST_TIMES_LONGER} times as many as it has without filters"
            raise ValueError(f"would have more than {most}")
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
