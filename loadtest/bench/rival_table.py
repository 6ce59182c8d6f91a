"""The table of the rivals in docs/performance.md: a line for each contestant, where the group's own table has eight."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loadtest.bench.figures import Figure
from loadtest.bench.report import Group, number

BEGIN, END = "<!-- rivals: begin -->", "<!-- rivals: end -->"
"""Between these lines of the page everything is written by `published`."""

AT_ONCE, WRONG = "99 % have their answer after", "refused, reset or wrong"
MEMORY, START = "memory of all processes", "from its start until its first answer"
"""How the figures of a contestant are named, after its label."""

_MACHINES = r", ([\d,]+) machines at once: "
_COLUMNS = (
    ("requests/s", "---:"),
    ("µs of CPU a request", "---:"),
    ("answerd / it", "---:"),
    ("machines at once", "---:"),
    ("99 % answered after", "---:"),
    ("refused, reset or wrong", "---:"),
    ("memory", "---:"),
    ("start", "---:"),
)


def published(groups: Sequence[Group], text: str) -> str:
    """Return the page with the tables of those groups that are about rivals, in place of its former ones; as it is
    without the marks. A build that was not measured again keeps its table."""
    before, begin, rest = text.partition(BEGIN)
    written, end, after = rest.partition(END)
    if not (begin and end):
        return text
    sections = re.split(r"^(?=\*\*)", written, flags=re.MULTILINE)[1:]
    tables = {section.split(",", 1)[0]: section.strip() for section in sections}
    for group in groups:
        if is_about_rivals(group):
            build = "**Compiled" if group.name.endswith("compiled") else "**Interpreted"
            tables[build] = _section(build, group)
    parts = "\n\n".join(tables.values())
    return f"{before}{BEGIN}\n\n{parts}\n\n{END}{after}"


def is_about_rivals(group: Group) -> bool:
    """Return whether a group has a table of this form."""
    return group.name.partition(",")[0] == "rivals"


def _section(build: str, group: Group) -> str:
    machine = group.machine
    about = f"{machine.get('processor', '')}, load average {machine.get('load average', '')}"
    judged = [
        f"{figure.what}: {number(figure.value.median)} (bar {figure.bar}, {figure.verdict})."
        for figure in group.figures
        if figure.bar
    ]
    return "\n\n".join([f"{build}, {group.at}**, {about}:", table(group.figures), *judged])


def table(figures: Sequence[Figure]) -> str:
    """Return a line for each contestant, in Markdown."""
    lines = [
        f"| contestant | {' | '.join(name for name, _ in _COLUMNS)} |",
        f"|---|{'|'.join(form for _, form in _COLUMNS)}|",
    ]
    lines += [f"| {label} | {' | '.join(cells(label, figures))} |" for label in labels(figures)]
    return "\n".join(lines)


def labels(figures: Sequence[Figure]) -> list[str]:
    """Return the contestants: what has a cost."""
    return [figure.what for figure in figures if figure.unit == "µs of CPU a request" and not figure.detail]


def cells(label: str, figures: Sequence[Figure]) -> list[str]:
    """Return the cells of a contestant, in the order of the columns; empty where there is no such figure."""
    machines = ""
    found: dict[str, str] = {}
    for figure in figures:
        value = number(figure.value.median)
        if figure.what == label:
            found[figure.unit] = value
        elif figure.what.endswith(f" / {label}"):
            found["answerd / it"] = f"{value} x"
        elif figure.what.startswith(label):
            rest = figure.what.removeprefix(label)
            if at_once := re.match(_MACHINES, rest):
                machines = at_once[1]
            name = rest.rpartition(": ")[2]
            found[name] = f"{figure.value.median:,.0f}" if name == WRONG else f"{value} {figure.unit}"
    names = ("requests/s", "µs of CPU a request", "answerd / it", "", AT_ONCE, WRONG, MEMORY, START)
    return [found.get(name, "") if name else machines for name in names]
