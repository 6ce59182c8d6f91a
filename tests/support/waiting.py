"""Waiting for a condition that no event announces, and the seconds that tests wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

POLL_SECONDS = 0.01
PATIENCE = 90.0
"""Seconds that a test waits for what happens at once on an idle machine; a busy one may need many."""
PROGRAM_SECONDS = 400.0
"""Seconds for a program that a test runs to its end: less than the test has (`timeout` in pyproject.toml)."""
BUILD_SECONDS = 1_200.0
"""Seconds for a program that builds or installs packages."""


def again_for(seconds: float) -> Iterator[None]:
    """Again and again until so many seconds have passed, and at least once: on a slow machine they may have passed
    before the first time."""
    until = time.monotonic() + seconds
    while True:
        yield
        if time.monotonic() >= until:
            return


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> float:
    """Wait until ``condition`` holds; return the seconds that took. Raise `AssertionError` when time is up."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"the condition did not hold within {seconds} seconds"
        time.sleep(POLL_SECONDS)
    return time.monotonic() - began
