"""Turns of threads in long work (docs/performance.md#the-compiled-build).

Never compiled. The interpreter passes its lock on, to a thread that has waited for 5 ms, wherever a function begins or
a loop goes round; compiled code passes it on nowhere. So long work in compiled modules calls `let_others_run` every
few thousand steps, or takes its items from `in_turns`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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


def slices(text: str, after: str = "") -> Iterator[str]:
    """Yield a text in slices of about `AT_ONCE` characters; other threads may have turns before each.

    A slice ends after the character ``after``, if that is given, and is longer where it does not have it.
    """
    at = 0
    while at < len(text):
        end = at + AT_ONCE
        if after:
            end = text.find(after, end - 1) + 1 or len(text)
        yield text[at:end]
        at = end


def found_in_turns(pattern: re.Pattern[str], text: str, longest: int = 1) -> bool:
    """Return whether a text holds a match of a pattern, whose matches have at most ``longest`` characters and do not
    depend on what follows them; other threads may have turns meanwhile."""
    return any(pattern.search(text, at, at + AT_ONCE + longest - 1) for at in range(0, len(text), AT_ONCE))


def replaced_in_turns(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str) -> str:
    """Return a text with the matches of a pattern, each a single character, replaced; other threads may have turns
    meanwhile."""
    if len(text) <= AT_ONCE:
        return pattern.sub(replace, text)
    return "".join([pattern.sub(replace, part) for part in slices(text)])


def translated_in_turns(text: str, table: Mapping[int, str]) -> str:
    """Return a text after ``str.translate``; other threads may have turns meanwhile."""
    if len(text) <= AT_ONCE:
        return text.translate(table)
    return "".join([part.translate(table) for part in slices(text)])


def encoded_in_turns(text: str) -> bytes:
    """Return a text as UTF-8; other threads may have turns meanwhile."""
    if len(text) <= AT_ONCE:
        return text.encode()
    return b"".join([part.encode() for part in slices(text)])


def counted_in_turns(text: str, part: str, end: int | None = None) -> int:
    """Return how often a text has a part, which cannot overlap itself, before ``end``; other threads may have turns
    meanwhile."""
    end = len(text) if end is None else end
    if end <= AT_ONCE:
        return text.count(part, 0, end)
    overlap = len(part) - 1
    return sum([text.count(part, at, min(at + AT_ONCE + overlap, end)) for at in range(0, end, AT_ONCE)])


def is_only(text: str, characters: str) -> bool:
    """Return whether a text has no other than these characters; other threads may have turns meanwhile."""
    if len(text) <= AT_ONCE:
        return not text.strip(characters)
    return not any(part.strip(characters) for part in slices(text))


def parts_of_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, many in each part: the parts joined by line ends are the text. Other threads may have
    turns meanwhile."""
    start = 0
    while (end := text.find("\n", start + AT_ONCE)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]
