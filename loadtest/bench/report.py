"""The output of a run: a table on standard output, a JSON file, the page ``docs/performance.md`` and its plot.

Knows figures and how people read them; measures nothing.
"""

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

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
"""Between these lines of the page everything is written by `publish`."""

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


def kept(path: Path) -> list[Group]:
    """Return the groups in the file."""
    return [
        Group(name, read["at"], read["machine"], [Figure.from_json(figure) for figure in read["figures"]])
        for name, read in json.loads(path.read_text()).items()
    ]


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


def markdown_table(group: Group) -> str:
    """Return a group as a table for the page."""
    busy = group.machine.get("load average", "")
    where = [group.at, group.machine.get("processor", ""), f"load average {busy}" if busy else ""]
    lines = [f"### {group.name}", "", f"Measured {', '.join(filter(None, where))}.", ""]
    lines += ["| what | median | rounds | unit | bar | |", "|---|---:|---:|---|---|---|"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows(shown(group))]
    return "\n".join(lines)


# --- the page --------------------------------------------------------------------------------------------------------


def publish(groups: Sequence[Group], page: Path) -> None:
    """Write the figures into the page between its marks, and the plot beside it. Groups of the page that were not
    measured again stay as they are. Raises ValueError without marks."""
    text = page.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    written, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no lines {BEGIN} and {END}")
    facts, *sections = re.split(r"^(?=### )", written, flags=re.MULTILINE)
    tables = {section.split("\n", 1)[0].removeprefix("### "): section.strip() for section in sections}
    tables |= {group.name: markdown_table(group) for group in groups}
    if len(groups) >= len(tables) / 2:  # else the page is about another run, whose machine it names
        facts = "\n".join(f"- {name}: {value}" for name, value in groups[-1].machine.items())
    # The figures of a compiled build come after those of the sources.
    first = {name.partition(",")[0]: at for at, name in reversed(list(enumerate(tables)))}
    ordered = sorted(tables, key=lambda name: first[name.partition(",")[0]])
    parts = "\n\n".join([facts.strip(), *(tables[name] for name in ordered)])
    page.write_text(f"{before}{BEGIN}\n\n{parts}\n\n{END}{after}", "utf-8")
    plot(groups, page.with_suffix(".svg"))


def plot(groups: Sequence[Group], path: Path) -> bool:
    """Plot the cost against the fleet size; return whether there was anything to draw."""
    points = sorted(
        (figure.size, figure)
        for group in groups
        if group.name == "scale"
        for figure in group.figures
        if figure.size is not None and figure.unit.startswith("µs")
    )
    if not points:
        return False
    import matplotlib  # noqa: PLC0415 - only a page needs it

    matplotlib.use("svg")
    from matplotlib import pyplot  # noqa: PLC0415

    matplotlib.rcParams["svg.hashsalt"] = "answerd"
    sizes = [size for size, _ in points]
    values = [figure.value for _, figure in points]
    drawing, axes = pyplot.subplots(figsize=(7, 3.6))
    below = [value.median - value.low for value in values]
    above = [value.high - value.median for value in values]
    axes.errorbar(sizes, [value.median for value in values], yerr=[below, above], marker="o", capsize=4)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("machines in the answer set")
    axes.set_ylabel("µs of CPU a request")
    axes.set_title("A templated answer to a 3 KB POST: median, lowest and highest round")
    axes.grid(visible=True, alpha=0.3)
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})
    pyplot.close(drawing)
    return True
