"""Waiting for a condition that no event announces."""

from __future__ import annotations

import time
from collections.abc import Callable

POLL_SECONDS = 0.01
PATIENCE = 90.0
"""Seconds that a test waits for what happens at once on an idle machine; a busy one may need many."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> float:
    """Wait until ``condition`` holds; return the seconds that took. Raise `AssertionError` when time is up."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"the condition did not hold within {seconds} seconds"
        time.sleep(POLL_SECONDS)
    return time.monotonic() - began
