"""Settings of the garbage collector: documents are not garbage, and there are many.

A pass over the objects of 100,000 documents takes a second in which no request is answered. So the objects of a load
are frozen, in portions small enough that the collector never meets many of them. Reference counting frees them all the
same. Only cycles would stay, so neither requests nor documents nor looks at a store may leave any:
`tests/unit/test_no_cycles.py` tests that. A library that a check of the set calls (pykickstart) leaves many. So before
objects are frozen, all objects that are not frozen yet are collected, not only the youngest: a cycle in an older
generation would stay for ever.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from gevent.monkey import get_original

THRESHOLDS = (20_000, 20, 50)
"""A request makes some hundred objects that die with it; a collection every 700 of them costs a tenth of it."""

_PORTION = 5_000
"""Objects: a pass over them takes half a millisecond."""


def freeze_new() -> None:
    """When there is a portion of new objects, collect the cycles among them and freeze the rest.

    Call it often while many objects are made.
    """
    if gc.get_count()[0] > _PORTION and not _holding.count:
        gc.collect()
        gc.freeze()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disable garbage collection inside the block, then freeze what was allocated if it was a lot.

    For work that makes many objects at a time, and calls no other code meanwhile. Several threads may do such work: the
    collector is enabled when the last of them is done.
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
    """How many blocks disable the collector at the moment, and how many objects were new when the first began."""

    def __init__(self) -> None:
        self.lock: AbstractContextManager[Any] = get_original("_thread", "allocate_lock")()
        self.count = self.before = 0


_holding = _Holding()
