"""Texts as sentences, lists and log lines show them: printable, and not too long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final


def printable(text: str) -> str:
    """Return ``text`` fit for a sentence: control characters, and characters that no encoder takes, become escapes."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


LONGEST_SHOWN: Final = 60
"""Characters of a name that a sentence shows; a key may be as long as its document."""


def brief(text: str, most: int = LONGEST_SHOWN) -> str:
    """Return ``text`` as `printable` does, cut off after ``most`` characters: for names of keys, labels and elements,
    and for values that a request sent; never for values of documents."""
    return printable(cut(text, most))


def cut(text: str, most: int, mark: str = "…") -> str:
    """Return ``text``, cut off after ``most`` characters, with a mark that it was."""
    return text if len(text) <= most else text[:most] + mark


def join_limited(texts: Sequence[str], most: int, joint: str = ", ") -> str:
    """Return ``a, b, c and 4 more``."""
    return _and_more(joint.join(texts[:most]), len(texts) - most)


def join_brief(texts: Sequence[str], most: int = 3, unlisted: int = 0) -> str:
    """Return the same of texts that are cut off where they are long. ``unlisted``: how many there are beside them."""
    return _and_more(", ".join(map(brief, texts[:most])), max(0, len(texts) - most) + unlisted)


def _and_more(listed: str, more: int) -> str:
    return f"{listed} and {more:,} more" if more > 0 else listed


def with_lines(text: str, matches: Iterable[re.Match[str]]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield each match of a text, in their order, after the line, from 1, that it begins on: to count each from the
    beginning would take time with the square of the text."""
    line, counted = 1, 0
    for match in matches:
        line += text.count("\n", counted, match.start())
        counted = match.start()
        yield line, match
