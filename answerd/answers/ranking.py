"""Compare claims, and describe the criteria of a ``match`` and the values of a request in words.

`Criterion.holds` alone decides whether a criterion holds; this module only describes the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerd.answers.secret_names import redacted_cell
from answerd.documents import Key
from answerd.facts import Facts
from answerd.formats.control import Criterion

LONGEST_VALUE: Final = 60
"""Characters of a value from a request that a sentence quotes, so that console lines stay readable."""

MOST_VALUES: Final = 3
"""Values of one label that a sentence quotes."""


Rank = tuple[int, str, int]
"""The sort key of a claim; the smallest wins: minus the number of criteria, the name, the position in the format
order."""


def rank(key: Key, match: Sequence[Criterion], extensions: Sequence[str]) -> Rank:
    """Return the rank of a claim: more criteria win; ties by name, then by the order of ``extensions``."""
    return -len(match), key.identifier, extensions.index(key.format)


def shortened(text: str, length: int = LONGEST_VALUE) -> str:
    """Return a text of a request for use in a sentence, quoted or not: on one line, and not too long."""
    shown = "".join(sign if sign.isprintable() else "?" for sign in text[: length + 1])
    return shown if len(text) <= length else f"{shown[:length]}…"


def join_shortened(texts: Sequence[str], most: int = MOST_VALUES) -> str:
    """Return ``a, b, c and 4 more``."""
    shown = ", ".join(shortened(text) for text in texts[:most])
    return f"{shown} and {len(texts) - most} more" if len(texts) > most else shown


def failing(match: Sequence[Criterion], facts: Facts) -> Criterion | None:
    """Return the first criterion of a ``match`` that does not hold for a request; None when all do."""
    return next((criterion for criterion in match if not criterion.holds(facts.forms(criterion.label))), None)


def asks_for(criterion: Criterion) -> str:
    """Return a criterion by its label: ``serial``. A pattern is a value of a document, which no sentence quotes."""
    return shortened(criterion.label)


def request_has(label: str, facts: Facts) -> str:
    """Return the values that a request has for a label, as words: ``serial is "X1"``, or that there are none."""
    values = facts.values(label)
    if not values:
        return f"the request has no {shortened(label)}"
    shown = [repr(shortened(redacted_cell(label, value))) for value in values]
    return f"the request's {shortened(label)} is {join_shortened(shown)}"
