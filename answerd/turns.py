"""Turns of threads in long work (docs/performance.md#the-compiled-build).

Never compiled. The interpreter passes its lock on, to a thread that has waited for 5 ms, wherever a function begins or
a loop goes round; compiled code passes it on nowhere. So long work in compiled modules calls `let_others_run` every
few thousand steps, or takes its items from `in_turns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def let_others_run() -> None:
    """Let other threads that wait have a turn, then return."""


def in_turns(items: Iterable[T]) -> Iterator[T]:
    """Yield the items; other threads may have a turn before each."""
    for item in items:  # noqa: UP028 - `yield from` gives no turn
        yield item
