"""Settings of the garbage collector: documents are not garbage, and there are many.

A pass over the objects of 100,000 documents takes a second in which no request is answered. So nothing is collected
during a load, and its objects are frozen afterwards. Reference counting frees them all the same. Only cycles would
stay, so neither requests nor documents nor looks at a store may leave any: `tests/unit/test_no_cycles.py` tests that.
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


@contextmanager
def gc_paused(*, makes_many: bool = False) -> Iterator[None]:
    """Disable garbage collection inside the block, then freeze what was allocated if it was a lot, or ``makes_many``
    says so: the collector counts too few where old objects die meanwhile.

    For work that makes many objects at a time, and calls no other code meanwhile. Several threads may do such work: the
    collector is enabled when the last of them is done.
    """
    with _holding.lock:
        _holding.count += 1
        _holding.makes_many |= makes_many
        if _holding.count == 1:
            _holding.before = gc.get_count()[0]
            gc.disable()
    try:
        yield
    finally:
        with _holding.lock:
            _holding.count -= 1
            if not _holding.count:
                if _holding.makes_many or gc.get_count()[0] - _holding.before > _PORTION:
                    gc.freeze()
                _holding.makes_many = False
                gc.enable()


class _Holding:
    """The number of blocks that disable the collector at the moment, and the number of new objects when the first
    began."""

    def __init__(self) -> None:
        self.lock: AbstractContextManager[Any] = get_original("_thread", "allocate_lock")()
        self.count = self.before = 0
        self.makes_many = False


_holding = _Holding()
