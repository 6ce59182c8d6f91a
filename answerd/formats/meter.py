"""The work that the filters of one answer may take (docs/limits.md#documents).

A document may have hundreds of thousands of placeholders, each with 32 filters, and a label a thousand values. Neither
alone takes long, but all of them together take minutes. Answers with few filters are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from answerd.errors import AnswerTooLarge
from answerd.formats import filters

LARGEST_ANSWER: Final = 8_388_608
"""Bytes. A real answer has some thousands; the answer of a client that reads slowly is kept in memory."""

MOST_WORK: Final = 33_554_432
"""Characters that the filters of one answer process together: 0.1 seconds of work, 0.4 of those on addresses."""

FOR_EACH_VALUE: Final = 32
"""Characters that each value counts in addition to its own, whenever a filter is applied to it."""


def too_large() -> AnswerTooLarge:
    """Return the error of an answer that placeholders make larger than it may be."""
    return AnswerTooLarge(f"the filled answer has more than {LARGEST_ANSWER} bytes")


class Lookup(Protocol):
    """The values of labels (case-folded, except for the name of a secret) while an answer is filled."""

    def first(self, label: str) -> str | None:
        """Return the first value of a label, None where there is none. Raises `CannotFill`."""

    def values(self, label: str) -> Sequence[str]:
        """Return all values of a label."""


class Metered:
    """A lookup for one answer that counts the work of filters, and remembers what they made of all values of a label.

    ``made`` has these values by the ``id`` of their placeholder, which the answer keeps while it is filled. They are
    counted, so their number is bounded.
    """

    __slots__ = ("_left", "_lookup", "made")

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._left = MOST_WORK
        self.made: dict[int, Sequence[str]] = {}

    def first(self, label: str) -> str | None:
        """Return the first value of a label. Raises `CannotFill`."""
        return self._lookup.first(label)

    def values(self, label: str) -> Sequence[str]:
        """Return all values of a label. Raises `CannotFill`."""
        return self._lookup.values(label)

    def spend(self, name: str, characters: int, values: int) -> None:
        """Count what a filter is about to process, or what was made. Raises ValueError when it is too much."""
        self._left -= characters + values * FOR_EACH_VALUE * filters.COST.get(name, 1)
        if self._left < 0:
            raise ValueError(f"brings the work of this answer's filters over {MOST_WORK:,} characters")
