"""Texts of a JSON body that are more than texts: a number as it was spelled, and a key that its map has twice.

A module of its own because classes that extend a builtin cannot be compiled (docs/performance.md#the-compiled-build).
"""

from __future__ import annotations


class NumberText(str):
    """A JSON number as the request spelled it."""

    __slots__ = ()


class RepeatedKey(str):
    """A key of a map that has it twice: equal only to itself, so that a dict keeps both values."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other
