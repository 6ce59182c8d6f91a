"""Placeholders and texts that hold them: filled for each request.

Rules: docs/templates.md.

Knows the values and the filters. Knows neither how a document spells a placeholder, which is in
`answerd.formats.template_reading`, nor how a family writes the filled text: escaping is the family's, in its `Slot`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from answerd.errors import CannotFill
from answerd.formats import filters
from answerd.formats.filters import FILTERS, Filter, apply_filter
from answerd.formats.meter import LARGEST_ANSWER, Lookup, Metered, too_large
from answerd.identity import brief

_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # Unicode category Cc, all of it
_NOT_IN_A_SECRET: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # the same without line ends and tabs
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
LONGEST_REMEMBERED: Final = 200
"""Characters of a placeholder up to which it is read once for all documents that have it."""

SECRETS: Final = "secret."
"""The prefix of the labels of secrets; what follows is compared exactly."""


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
        return "{{ " + " | ".join([self.label, *(_spelled(name, texts) for name, texts in self.filters)]) + " }}"

    def value(self, lookup: Lookup) -> str:
        """Return the value for a request. Raises `CannotFill` when it has no such fact or the fact cannot be used."""
        if self.gathers:
            return self.values(lookup)[0]
        value = lookup.first(self.label)
        if value is not None and not value.isprintable():
            self._refuse_unusable(value)
        if self.filters:
            meter = lookup if isinstance(lookup, Metered) else None
            for name, texts in self.filters:
                try:
                    if meter is not None and value is not None:
                        meter.spend(name, len(value), 1)
                    value = apply_filter(name, texts, value) if texts or value is None else FILTERS[name](value)
                except ValueError as error:
                    raise self._refused_by(name, error) from None
            if value is not None and not value.isprintable():  # the text of a default
                self._refuse_unusable(value)
        if value is None:
            raise self._missing()
        return value

    def values(self, lookup: Lookup) -> Sequence[str]:
        """Return all values for a request, at least one. Raises `CannotFill` as `value` does."""
        if not isinstance(lookup, Metered):
            return self._values(lookup.values(self.label), None)
        made = lookup.made.get(id(self))
        if made is None:
            made = lookup.made[id(self)] = self._values(lookup.values(self.label), lookup)
        return made

    def _values(self, values: Sequence[str], meter: Metered | None) -> Sequence[str]:
        name = self.filters[0][0] if self.filters else ""
        try:
            _count(meter, "", values)
            for value in values:
                if not value.isprintable():
                    self._refuse_unusable(value)
            for name, texts in self.filters:
                _count(meter, name, values)
                values = filters.apply_to_all(name, texts, values)
            _count(meter, "", values)
        except ValueError as error:
            raise self._refused_by(name, error) from None
        for value in values:
            if not value.isprintable():
                self._refuse_unusable(value)
        if not values:
            raise self._missing()
        return values

    def _missing(self) -> CannotFill:
        reason = f"the request has no fact {self._shown!r}, which the answer needs"
        return CannotFill(reason, self._shown, missing=True)

    def _refused_by(self, name: str, error: ValueError) -> CannotFill:
        reason = f"{{{{ {self._shown} | {name} }}}}: the value {error}"
        return CannotFill(reason, self._shown, missing=False)

    def _refuse_unusable(self, value: str) -> None:
        """Raise `CannotFill` for a value that no answer may contain. Called before any filter, which could hide it."""
        if (_NOT_IN_A_SECRET if self.is_secret else _CONTROL_CHARACTER).search(value):
            reason = f"the value of {self._shown!r} holds a control character, which no answer may take"
            raise CannotFill(reason, self._shown, missing=False)
        if _LONE_SURROGATE.search(value):
            reason = f"the value of {self._shown!r} is not valid Unicode, which no answer may take"
            raise CannotFill(reason, self._shown, missing=False)

    @property
    def type(self) -> str | None:
        """``number``, ``bool`` or ``list``: the type that replaces the placeholder's string; None for a string."""
        last = self.filters[-1][0] if self.filters else None
        return last if last in filters.TYPES else None

    def size(self) -> int:
        """The number of its characters."""
        return len(self.label) + sum([len(text) for _, texts in self.filters for text in texts])

    @property
    def _shown(self) -> str:
        return brief(self.written or self.label)


def _count(meter: Metered | None, name: str, values: Sequence[str]) -> None:
    """Count the work on all values of a label. Raises ValueError when it is too much."""
    if meter is not None:
        meter.spend(name, sum(map(len, values)), len(values))


def _spelled(name: str, texts: tuple[str, ...]) -> str:
    quoted = [f"'{text}'" if '"' in text else f'"{text}"' for text in texts]
    return f"{name}({', '.join(quoted)})" if texts else name


class Template:
    """A text with placeholders: constant parts and `Placeholder` in their order. Never modified."""

    # No dataclass: the methods of one are not compiled, and a fleet has some of these for each machine.
    __slots__ = ("parts",)

    def __init__(self, parts: tuple[str | Placeholder, ...]) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"Template({self.parts!r})"

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
