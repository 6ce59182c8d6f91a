"""The output of a run: a table on standard output and a JSON file."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from loadtest.bench.figures import Figure
from loadtest.bench.load import generator_name
from loadtest.bench.processes import ARE_SHARED, GENERATOR_CORE, SERVICE_CORE

_MEASURED_WITH = ("answerd", "gevent", "bottle", "httptools", "orjson")


@dataclass(frozen=True)
class Group:
    """The figures of one sub-command, and where and when they were measured."""

    name: str
    at: str
    machine: Mapping[str, str]
    figures: Sequence[Figure]

    def as_json(self) -> dict[str, Any]:
        """Return the group as an object of the JSON file."""
        return {"at": self.at, "machine": dict(self.machine), "figures": [figure.as_json() for figure in self.figures]}


def measured(name: str, figures: Sequence[Figure]) -> Group:
    """Return a group of figures of this machine and this moment."""
    return Group(name, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), machine(), figures)


def machine() -> dict[str, str]:
    """Return the properties of the machine on which the figures depend."""
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    releases = [f"{package} {version(package)}" for package in _MEASURED_WITH]
    cores = f"service on core {SERVICE_CORE}, generator on core {GENERATOR_CORE}"
    return {
        "processor": f"{found[1] if found else platform.machine()}, {os.cpu_count()} cores",
        "cores": f"{cores}: THE SAME ONE, so nothing here holds" if ARE_SHARED else cores,
        "generator": generator_name(),
        "system": f"{platform.system()} {platform.release()}",
        "software": ", ".join([f"Python {platform.python_version()}", *releases]),
        "load average": f"{os.getloadavg()[0]:.2f} at the end",
    }


# --- the JSON file ---------------------------------------------------------------------------------------------------


def keep(group: Group, path: Path) -> None:
    """Put one group's figures into the file, in place of its former ones."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept[group.name] = group.as_json()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(kept, indent=2) + "\n")
    temporary.replace(path)


# --- tables ----------------------------------------------------------------------------------------------------------


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


def shown(group: Group) -> list[Figure]:
    """Return the figures that are not details."""
    return [figure for figure in group.figures if not figure.detail]


def plain_table(group: Group) -> str:
    """Return a group as a table for a terminal."""
    table = [_HEADINGS, *rows(shown(group))]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEADINGS))]
    lines = [f"== {group.name}, {group.at}"]
    for row in table:
        what, median, spread, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        cells = [what, median.strip().rjust(widths[1]), spread.strip().rjust(widths[2]), *rest]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
