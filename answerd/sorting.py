"""Sorting in steps: none of them keeps other threads from running for long, however many items there are.

The interpreter sorts a list in one step, in which nothing else runs: 0.2 s for a million names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import merge
from itertools import islice
from typing import Any, TypeVar

_SORTED_AT_ONCE = 2_000
"""Items that are sorted in one step: 1 ms."""

_FREED_AT_ONCE = 5_000

MOST_KEPT = 20_000
"""Items that `first_in_steps` keeps sorted while it looks at the others; for more it sorts all."""

_T = TypeVar("_T")


def sorted_in_steps(items: Iterable[_T], key: Callable[[_T], Any], *, reverse: bool = False) -> list[_T]:
    """Return items sorted, as ``sorted`` does."""
    rest = iter(items)
    parts = []
    while part := sorted(islice(rest, _SORTED_AT_ONCE), key=key, reverse=reverse):
        parts.append(part)
    merged = merge(*parts, key=key, reverse=reverse)
    found: list[_T] = []
    while some := [*islice(merged, _SORTED_AT_ONCE)]:
        found += some
    return found


def first_in_steps(items: Iterable[_T], key: Callable[[_T], Any], most: int, *, reverse: bool = False) -> list[_T]:
    """Return the first items of the sorted ones, ``most`` at most, without sorting all."""
    if most > MOST_KEPT:
        found = sorted_in_steps(items, key, reverse=reverse)
        free_in_steps(found, down_to=most)
        return found
    if most <= 0:
        return []
    kept: list[_T] = []
    new: list[_T] = []
    last: Any = None
    rest = iter(items)
    while some := [*islice(rest, _SORTED_AT_ONCE)]:
        if len(kept) == most:  # most items come after these: a comprehension drops them in half the time of a loop
            some = (
                [item for item in some if last < key(item)] if reverse else [item for item in some if key(item) < last]
            )
        new += some
        if len(new) >= _SORTED_AT_ONCE:
            kept = sorted(kept + new, key=key, reverse=reverse)[:most]
            new = []
            last = key(kept[-1])
    return sorted(kept + new, key=key, reverse=reverse)[:most]


def stretch(
    items: Sequence[_T], key: Callable[[_T], Any], first: int, last: int, *, reverse: bool = False
) -> Sequence[_T]:
    """Return ``sorted(items, key=key, reverse=reverse)[first:last]``, looked for from the nearer end."""
    count = len(items)
    last = min(last, count)
    if first + last <= count:
        return first_in_steps(items, key, last, reverse=reverse)[first:last]
    from_the_end = first_in_steps(reversed(items), key, count - first, reverse=not reverse)
    return from_the_end[count - last : count - first][::-1]


def free_in_steps(items: list[Any], down_to: int = 0) -> None:
    """Remove the last items of a list. To forget a million items in one step takes 50 ms: each has to be fetched."""
    while len(items) > down_to:
        del items[max(down_to, len(items) - _FREED_AT_ONCE) :]
