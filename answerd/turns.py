"""Turns of threads in long work (docs/performance.md#the-compiled-build).

Never compiled. The interpreter passes its lock on, to a thread that has waited for 5 ms, wherever a function begins or
a loop goes round; compiled code passes it on nowhere. So long work in compiled modules calls `let_others_run` every
few thousand steps, or takes its items from `in_turns`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 262_144
"""Characters of a text that a pattern looks at without a turn for others: about 3 ms."""


def let_others_run() -> None:
    """Let other threads that wait have a turn, then return."""


def in_turns(items: Iterable[T]) -> Iterator[T]:
    """Yield the items; other threads may have a turn before each."""
    for item in items:  # noqa: UP028 - `yield from` gives no turn
        yield item


def found_in_turns(pattern: re.Pattern[str], text: str, longest: int = 1) -> bool:
    """Return whether a text holds a match of a pattern, whose matches have at most ``longest`` characters and do not
    depend on what follows them; other threads may have turns meanwhile."""
    return any(pattern.search(text, at, at + AT_ONCE + longest - 1) for at in range(0, len(text), AT_ONCE))


def replaced_in_turns(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str) -> str:
    """Return a text with the matches of a pattern, each a single character, replaced; other threads may have turns
    meanwhile."""
    if len(text) <= AT_ONCE:
        return pattern.sub(replace, text)
    return "".join([pattern.sub(replace, text[at : at + AT_ONCE]) for at in range(0, len(text), AT_ONCE)])


def parts_of_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, many in each part: the parts joined by line ends are the text. Other threads may have
    turns meanwhile."""
    start = 0
    while (end := text.find("\n", start + AT_ONCE)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]
