"""How much a run of the tests tries: a part of it each time, or everything with ``--thorough``."""

from __future__ import annotations

import os

VARIABLE = "ANSWERD_TEST_THOROUGH"
"""Set by ``tests/conftest.py`` for the processes of one run."""

ORDINARY_SHARE = 3
"""An ordinary run draws one of so many examples: each run by hand draws others."""

FEW = 25
"""Examples of which an ordinary run leaves out none."""


def is_thorough() -> bool:
    """Return whether this run tries everything."""
    return VARIABLE in os.environ


def examples(number: int) -> int:
    """Return how many examples of a property test are drawn; ``number`` in a thorough run."""
    return number if is_thorough() else max(number // ORDINARY_SHARE, min(number, FEW))
