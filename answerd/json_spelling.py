"""Two kinds of text of a JSON body: a number as it was spelled, and a key that its map has twice.

A module of its own because classes that extend a builtin cannot be compiled (docs/performance.md#the-compiled-build),
and because json calls the functions for each number and map: as they are interpreted, other threads get turns.
"""

from __future__ import annotations

from typing import Any


class SpelledNumber(str):
    """A JSON number as the request spelled it."""

    __slots__ = ()


class RepeatedKey(str):
    """A key of a map that has it twice: equal only to itself, so that a dict keeps both values."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def number(text: str) -> SpelledNumber:
    """Return a number as it is spelled. A function, not the type: between two calls another thread may run."""
    return SpelledNumber(text)


def with_each_pair(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a map of all pairs, also those of a key that occurs twice."""
    read = dict(pairs)
    return read if len(read) == len(pairs) else {RepeatedKey(key): value for key, value in pairs}
