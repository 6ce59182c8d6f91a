"""Figures: the median of the rounds, their spread, and the bar that the median has to meet. Knows no server and no
clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


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
    """One line of the table. ``unit`` is ``x`` for a ratio.

    ``size`` is that of the fleet, where the figure depends on it. A ``detail`` shows whether a round is reliable: it is
    kept in the JSON file and not in the table.
    """

    what: str
    value: Spread
    unit: str
    bar: Bar | None = None
    size: int | None = None
    detail: bool = False

    @property
    def verdict(self) -> str:
        """``met``, ``MISSED``, or nothing where there is no bar."""
        if self.bar is None:
            return ""
        return "met" if self.bar.is_cleared_by(self.value.median) else "MISSED"

    def as_json(self) -> dict[str, Any]:
        """Return the figure as an object of the JSON file."""
        bar = {name: value for name, value in (vars(self.bar) if self.bar else {}).items() if value is not None}
        return {
            "what": self.what,
            "median": self.value.median,
            "low": self.value.low,
            "high": self.value.high,
            "unit": self.unit,
            "bar": bar or None,
            "met": None if self.bar is None else self.verdict == "met",
            "size": self.size,
            "detail": self.detail,
        }

    @classmethod
    def from_json(cls, read: dict[str, Any]) -> Figure:
        """Return the figure of an object that `as_json` made."""
        value = Spread(read["median"], read["low"], read["high"])
        bar = Bar(**read["bar"]) if read["bar"] else None
        return cls(read["what"], value, read["unit"], bar, read["size"], read["detail"])


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
    writes: int
    written_sets: tuple[int, int]
    applied: int


FULL = Effort(
    rounds=7,
    seconds=2.0,
    storms=(2_000, 20_000),
    sizes=(10, 1_000, 100_000),
    load=100_000,
    groups=(10, 1_000),
    changes=9,
    writes=25,
    written_sets=(10, 10_000),
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
    writes=10,
    written_sets=(10, 500),
    applied=500,
)
