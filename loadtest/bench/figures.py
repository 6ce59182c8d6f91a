"""Figures: the median of the rounds, their spread, the bar that the median has to meet, and the table of a run."""

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
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Bar:
    """The bound that a figure's median must reach, or stay below."""

    at_least: float | None = None
    at_most: float | None = None

    def is_cleared_by(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def __str__(self) -> str:
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


def table(name: str, figures: Sequence[Figure]) -> str:
    """Return the figures of a group as a table for a terminal."""
    rows = [("what", "median", "rounds", "unit", "bar", "")]
    for figure in figures:
        low, high = _number(figure.value.low), _number(figure.value.high)
        spread = "" if low == high else f"{low} to {high}"
        median = _number(figure.value.median)
        rows.append((figure.what, median, spread, figure.unit, str(figure.bar or ""), figure.verdict))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"== {name}"]
    for row in rows:
        cells = [
            cell.rjust(width) if at in (1, 2) else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _number(value: float) -> str:
    """Return three significant digits, thousands separated."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
