"""How much memory the service has before, during and after a load, and the figures that this makes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tests.load.torture.figures import Figure, measured, under
from tests.support.processes import proportional_bytes
from tests.support.waiting import again_for

MB = 1_048_576
POLL_SECONDS = 0.1
STEADY_BYTES = MB
SETTLE_SECONDS = 20.0
"""How long the service may take to give memory back: its deadline, the time it lingers, and some for the machine."""

RUNAWAY = 3
"""The load ends when memory is so many times above its bound: a proof that fails must not take the machine with it."""


class Peak:
    """The most memory that was measured while this context lasts."""

    def __init__(self, measure: Callable[[], int]) -> None:
        self._measure = measure
        self.peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self.peak = max(self.peak, self._measure())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()


class Footprint(Peak):
    """The memory of the service (Pss of all its processes) while this context lasts.

    ``bound``: bytes that the load may add to the level before it. ``returned``: bytes that may be left of that once the
    load is over.
    """

    def __init__(self, pid: int, *, bound: int, returned: int) -> None:
        super().__init__(lambda: proportional_bytes(pid))
        self.pid = pid
        self.bound = bound
        self.returned = returned
        self.before = self.peak = self.after = steady_bytes(pid)

    @property
    def runs_away(self) -> bool:
        """Whether the load has to be ended early."""
        return self.peak - self.before > RUNAWAY * self.bound

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        super().__exit__(kind, error, traceback)
        if kind is None:
            self.after = _bytes_once_below(self.pid, self.before + self.returned)

    def figures(self, proof: str) -> list[Figure]:
        """What it was before, at the peak and after."""
        return [
            measured(proof, "memory before", self.before / MB, "MB"),
            under(proof, "memory added at the peak", (self.peak - self.before) / MB, self.bound / MB, "MB"),
            under(proof, "memory left over", (self.after - self.before) / MB, self.returned / MB, "MB"),
        ]


def steady_bytes(pid: int) -> int:
    """The memory of the service once it does not change any more."""
    last = proportional_bytes(pid)
    for _ in again_for(SETTLE_SECONDS):
        time.sleep(5 * POLL_SECONDS)
        now = proportional_bytes(pid)
        if abs(now - last) < STEADY_BYTES:
            return now
        last = now
    return last


def _bytes_once_below(pid: int, level: int) -> int:
    """The memory of the service as soon as it is below a level, or when that has taken too long."""
    until = time.monotonic() + SETTLE_SECONDS
    while (now := proportional_bytes(pid)) >= level and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    return now
