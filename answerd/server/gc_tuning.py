"""What the garbage collector is told: documents are no garbage, and there are many.

A pass over the objects of 100,000 documents takes a second in which nobody is answered. So those that a load has made
are put where the collector does not look, in portions small enough that it never meets many of them. Counting
references frees them all the same. What stays are cycles alone, so neither requests nor documents nor looks at a
store may leave any: `tests/unit/test_no_cycles.py` holds them to that. A library that a check of the set calls
(pykickstart) leaves many. So before objects are put away, all that are not put away yet are looked at, not the
youngest alone: a cycle that an earlier pass took for older would otherwise stay for ever.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from gevent.monkey import get_original

THRESHOLDS = (20_000, 20, 50)
"""A request makes some hundred objects that die with it; to look for cycles every 700 of them costs a tenth of it."""

_PORTION = 5_000
"""Objects: a pass over them takes half a millisecond."""


def freeze_new() -> None:
    """Once there is a portion of new objects, drop the cycles among them and look at the rest no more.

    To be called often while much is made.
    """
    if gc.get_count()[0] > _PORTION and not _holding.count:
        gc.collect()
        gc.freeze()


@contextmanager
def gc_paused() -> Iterator[None]:
    """No pass while this lasts. What is left of it, if it is much, is not looked at afterwards either.

    For work that makes many objects at once, and calls nobody meanwhile. Several threads may do such work: passes come
    back when the last one is done.
    """
    with _holding.lock:
        _holding.count += 1
        if _holding.count == 1:
            _holding.before = gc.get_count()[0]
            gc.disable()
    try:
        yield
    finally:
        with _holding.lock:
            _holding.count -= 1
            if not _holding.count:
                if gc.get_count()[0] - _holding.before > _PORTION:
                    gc.freeze()
                gc.enable()


class _Holding:
    """How many hold the collector back at the moment, and how many objects were new when the first began."""

    def __init__(self) -> None:
        self.lock: AbstractContextManager[Any] = get_original("_thread", "allocate_lock")()
        self.count = self.before = 0


_holding = _Holding()
