"""How much a run of the tests tries: a part of it each time, or everything with ``--thorough``."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import TypeVar
from zlib import crc32

VARIABLE = "ANSWERD_TEST_THOROUGH"
"""Set by ``tests/conftest.py`` for the processes of one run."""

DRAW = "ANSWERD_TEST_DRAW"
"""What decides which cases a run draws: the same in all processes of the run. A run that fails prints it."""

ORDINARY_SHARE = 3
"""An ordinary run draws one of so many examples: each run by hand draws others."""

LONG_SHARE = 5
"""A run of all tests by hand takes one of so many tests that take long: each run others."""

SHORT = "ANSWERD_TEST_SHORT"
"""Set by ``tests/conftest.py`` for the processes of a run that takes some of the tests that take long only."""

_T = TypeVar("_T")

FEW = 25
"""Examples of which an ordinary run leaves out none."""


def is_thorough() -> bool:
    """Return whether this run tries everything."""
    return VARIABLE in os.environ


def examples(number: int) -> int:
    """Return how many examples of a property test are drawn; ``number`` in a thorough run."""
    return number if is_thorough() else max(number // ORDINARY_SHARE, min(number, FEW))


def is_left_out(test: str) -> bool:
    """Return whether this run leaves out a test that takes long. ``test``: its node id."""
    return SHORT in os.environ and crc32(f"{os.environ[DRAW]} {test}".encode()) % LONG_SHARE > 0


def drawn(cases: Iterable[_T], share: int = ORDINARY_SHARE) -> list[_T]:
    """Return the cases of a table that this run tries: one of ``share``, in their order, others in each run; all in a
    thorough run and in continuous integration. For cases that take long."""
    known = list(cases)
    if is_thorough() or os.environ.get("CI"):
        return known
    chosen = random.Random(os.environ.get(DRAW)).sample(range(len(known)), max(1, len(known) // share))
    return [known[at] for at in sorted(chosen)]
