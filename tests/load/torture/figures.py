"""Figures of the long proofs, and the table that is printed at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One number that a proof found. ``bar`` says what it must be, empty where it is only reported; ``holds`` whether
    it is."""

    proof: str
    measure: str
    value: str
    bar: str = ""
    holds: bool = True


def under(proof: str, measure: str, value: float, limit: float, unit: str = "") -> Figure:
    """A figure that must stay under a limit."""
    return Figure(proof, measure, _shown(value, unit), f"< {_shown(limit, unit)}", value < limit)


def exactly(proof: str, measure: str, value: int, wanted: int) -> Figure:
    """A figure that must be one number."""
    return Figure(proof, measure, f"{value:,}", f"= {wanted:,}", value == wanted)


def measured(proof: str, measure: str, value: float, unit: str = "") -> Figure:
    """A figure without a bar."""
    return Figure(proof, measure, _shown(value, unit))


def table(figures: Sequence[Figure]) -> str:
    """All figures as a Markdown table; what does not hold says so."""
    rows = [("proof", "measure", "value", "bar", "")]
    rows += [(f.proof, f.measure, f.value, f.bar, ("ok" if f.holds else "FAILED") if f.bar else "") for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [f"| {' | '.join(text.ljust(width) for text, width in zip(row, widths, strict=True))} |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _shown(value: float, unit: str) -> str:
    number = f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
    return f"{number} {unit}".rstrip()
