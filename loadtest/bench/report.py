"""The table of a run, on standard output."""

from __future__ import annotations

from collections.abc import Sequence

from loadtest.bench.figures import Figure


def number(value: float) -> str:
    """Three significant digits, thousands separated."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def rows(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """Return the rows of the table: name, median, lowest to highest, unit, bar, verdict."""
    return [
        (
            figure.what,
            number(figure.value.median),
            _range(figure),
            figure.unit,
            str(figure.bar or ""),
            figure.verdict,
        )
        for figure in figures
    ]


def _range(figure: Figure) -> str:
    low, high = figure.value.low, figure.value.high
    return "" if low == high else f"{number(low)} to {number(high)}"


_HEADINGS = ("what", "median", "rounds", "unit", "bar", "")


def plain_table(name: str, figures: Sequence[Figure]) -> str:
    """Return the figures of a group as a table for a terminal."""
    table = [_HEADINGS, *rows(figures)]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEADINGS))]
    lines = [f"== {name}"]
    for row in table:
        what, median, spread, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        cells = [what, median.strip().rjust(widths[1]), spread.strip().rjust(widths[2]), *rest]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
