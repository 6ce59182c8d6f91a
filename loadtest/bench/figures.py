"""Figures: the median of the rounds, their spread, and the bar that the median has to meet."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """A median with the lowest and the highest round."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of some values, one for each round."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Bar:
    """The bound that a figure's median must reach, or stay below."""

    at_least: float | None = None
    at_most: float | None = None

    def is_cleared_by(self, value: float) -> bool:
        """Return whether a median meets the bar."""
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def __str__(self) -> str:
        """Return the bar as the table shows it."""
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"


@dataclass(frozen=True)
class Figure:
    """One line of the table. ``unit`` is ``x`` for a ratio."""

    what: str
    value: Spread
    unit: str
    bar: Bar | None = None

    @property
    def verdict(self) -> str:
        """``met``, ``MISSED``, or nothing where there is no bar."""
        if self.bar is None:
            return ""
        return "met" if self.bar.is_cleared_by(self.value.median) else "MISSED"


@dataclass(frozen=True)
class Effort:
    """How much is measured: rounds of each contestant, seconds of a round, and sizes of fleets."""

    rounds: int
    seconds: float
    storms: tuple[int, ...]
    sizes: tuple[int, ...]
    load: int
    groups: tuple[int, int]
    changes: int
    applied: int


FULL = Effort(
    rounds=7,
    seconds=2.0,
    storms=(2_000, 20_000),
    sizes=(10, 1_000, 100_000),
    load=100_000,
    groups=(10, 1_000),
    changes=9,
    applied=10_000,
)
QUICK = Effort(
    rounds=2,
    seconds=1.0,
    storms=(500,),
    sizes=(10, 1_000),
    load=2_000,
    groups=(10, 1_000),
    changes=3,
    applied=500,
)
