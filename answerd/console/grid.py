"""The grid of a rack and the progress of an install: machines by the value of a column, one square each.

Rules: docs/console.md#progress. Pictures are SVG and text made here. A square has the colour and the sign of its state,
so that neither colour nor scripts are needed to read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import chain, groupby
from types import MappingProxyType
from typing import Final

import bottle

from answerd.console.backend import CurrentStates
from answerd.console.machine_lines import UNKNOWN, natural
from answerd.console.rendering import ago, link, machine_link, on_page
from answerd.console.table import GROUP, INVENTORY, STATES, USUAL, MachinesView, Placed, Table
from answerd.installs.states import SILENT, State
from answerd.inventory.row import IDENTITY_COLUMNS

SQUARES_ON_A_PAGE: Final = 1_000
"""Machines of one page of the grid: some 100 bytes each."""

SQUARES_ON_THE_FIRST_PAGE: Final = 400
"""Machines up to which the first page has a square for each."""

SECTIONS_ON_THE_FIRST_PAGE: Final = 12

SIGNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        State.INSTALLED.value: "✓",
        State.COPIED.value: "½",
        State.INSTALLING.value: "▸",
        State.ARMED.value: "○",
        State.NEW.value: "·",
        SILENT: "?",
        State.FAILED.value: "✕",
        State.EXHAUSTED.value: "∅",
        State.CONFLICT.value: "≠",
        UNKNOWN: "+",
    }
)
"""The sign of each state, in the order in which a bar has them."""

_CURVE_WIDTH, _CURVE_HEIGHT = 300, 60
_MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class Section:
    """The machines with one value. ``where`` leads to them, empty where no filter finds them. ``machines`` are those of
    this page, ``counts`` how many there are in each state. ``done`` are the times at which those that are installed
    became so, in order, in seconds since 1970."""

    value: str
    where: str
    counts: Mapping[str, int]
    machines: Sequence[Placed] = ()
    done: Sequence[float] = ()

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def sentence(self) -> str:
        """``18 of 30 installed, 2 failed``."""
        done = self.counts.get(State.INSTALLED.value, 0)
        others = [f"{self.counts[word]:,} {word}" for word in STATES if word in _TOLD and self.counts.get(word)]
        return ", ".join([f"{done:,} of {self.total:,} installed", *others])


_TOLD: Final = frozenset(SIGNS) - {State.INSTALLED.value, State.NEW.value}


@dataclass(frozen=True, slots=True)
class Grid:
    """Machines by a column. ``choices`` are what they can be grouped by. ``whole`` is of all machines, ``now`` the
    present time in seconds since 1970. ``values`` is how many sections there are in all."""

    by: str
    choices: Sequence[str]
    sections: Sequence[Section]
    whole: Section
    now: float = 0.0
    pages: int = 1
    page: int = 1
    values: int = 0


def choices_of(table: Table) -> list[str]:
    """Return what machines can be grouped by: what people look at first comes first."""
    columns = [label for label in table.columns if label not in (*IDENTITY_COLUMNS, "asset_tag")]
    usual = [label for label in USUAL if label in columns]
    return [*usual, GROUP, INVENTORY, *(label for label in columns if label not in usual and label != INVENTORY)]


def first_grid(table: Table, by: str, states: CurrentStates | None) -> Grid:
    """Return all machines by a column for the first page: the first sections, with squares where there are few
    machines."""
    choices = choices_of(table)
    by = by if by in choices else choices[0]
    tally, done = table.tally(states, by)
    if sum(tally.values()) <= SQUARES_ON_THE_FIRST_PAGE:
        grid = grid_of(table, MachinesView(by=by), states)
        return replace(grid, sections=grid.sections[:SECTIONS_ON_THE_FIRST_PAGE])
    counts: dict[str, Counter[str]] = {}
    whole: Counter[str] = Counter()
    for (value, state), number in tally.items():
        counts.setdefault(value, Counter())[state] += number
        whole[state] += number
    first = nsmallest(SECTIONS_ON_THE_FIRST_PAGE, counts, key=lambda value: (not value, natural(value)))
    sections = [Section(value, _where(by, value), counts[value], (), sorted(done.get(value, ()))) for value in first]
    now = states.now if states is not None else 0.0
    of_all = Section("", "", whole, (), sorted(chain.from_iterable(done.values())))
    return Grid(by, choices, sections, of_all, now, values=len(counts))


def grid_of(table: Table, view: MachinesView, states: CurrentStates | None) -> Grid:
    """Return the machines of a view by a column, in sections."""
    choices = choices_of(table)
    by = view.by if view.by in choices else choices[0]
    placed = table.placed(view, states, by)
    counts: dict[str, Counter[str]] = {}
    done: dict[str, list[float]] = {}
    for machine in placed:
        counts.setdefault(machine.value, Counter())[machine.state] += 1
        if machine.state == State.INSTALLED.value and machine.since is not None:
            done.setdefault(machine.value, []).append(machine.since)
    pages, page = on_page(len(placed), view.page, SQUARES_ON_A_PAGE)
    shown = placed[(page - 1) * SQUARES_ON_A_PAGE : page * SQUARES_ON_A_PAGE]
    sections = [
        Section(value, _where(by, value), counts[value], [*machines], sorted(done.get(value, ())))
        for value, machines in groupby(shown, key=lambda machine: machine.value)
    ]
    every_time = sorted(chain.from_iterable(done.values()))
    whole = Section("", "", Counter(one.state for one in placed), (), every_time)
    return Grid(by, choices, sections, whole, states.now if states is not None else 0.0, pages, page, len(counts))


def _where(by: str, value: str) -> str:
    if not value or {*value} & {*'"*?'}:
        return ""
    word = f"{by}:{value}" if not {*value} & {*" \t:="} else f'{by}:"{value}"'
    return link("/console/machines", q=word, view="grid", by=by)


def squares(section: Section) -> str:
    """Return the squares of a section as HTML: links with the sign of the state, and its word for those who hear it."""
    return "".join(map(_square, section.machines))


def _square(machine: Placed) -> str:
    percent = f" {machine.percent:.0f} %" if machine.percent is not None and machine.state == "installing" else ""
    words = bottle.html_escape(f"{machine.name}: {machine.state}{percent}")
    where = bottle.html_escape(machine_link(machine.name))
    sign = SIGNS.get(machine.state, "·")
    return f'<a class="square {machine.state}" href="{where}" title="{words}" aria-label="{words}">{sign}</a>'


def bar(section: Section) -> str:
    """Return how far the machines of a section are as SVG, as wide as its place; the sentence says the same."""
    at, total, parts = 0.0, section.total or 1, []
    for word in SIGNS:
        width = 100 * section.counts.get(word, 0) / total
        if width:
            parts.append(f'<rect class="{word}" x="{at:.2f}" y="0" width="{width:.2f}" height="10"/>')
        at += width
    return (
        f'<svg class="bar-of" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'
    )


def curve(grid: Grid, section: Section) -> str:
    """Return how many machines of a section were installed at which time as SVG, empty for fewer than two. All curves
    of a grid have the same times from left to right: from the first install of all to the present."""
    done, total = section.done, section.total
    if len(done) < 2 or not total:  # noqa: PLR2004 - a curve has two ends
        return ""
    first = grid.whole.done[0]
    width = max(grid.now - first, 1.0)
    step = max(1, -(-len(done) // _MOST_POINTS))
    places = [0.0, *((when - first) / width for when in done[::step]), (done[-1] - first) / width, 1.0]
    heights = [0, *(at + 1 for at in range(0, len(done), step)), len(done), len(done)]
    points: list[str] = []
    for place, height in zip(places, heights, strict=True):
        x, y = min(place, 1.0) * _CURVE_WIDTH, _CURVE_HEIGHT - 2 - height / total * (_CURVE_HEIGHT - 4)
        points += [f"{x:.1f},{points[-1].partition(',')[2]}"] if points else []
        points.append(f"{x:.1f},{y:.1f}")
    return (
        f'<svg class="curve" viewBox="0 0 {_CURVE_WIDTH} {_CURVE_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{bottle.html_escape(curve_sentence(section))}">'
        f'<path d="M0 2H{_CURVE_WIDTH}M0 {_CURVE_HEIGHT - 2}H{_CURVE_WIDTH}" class="grid-line" fill="none" '
        'stroke="currentColor" vector-effect="non-scaling-stroke"/>'
        f'<polyline points="{" ".join(points)}" fill="none" stroke="currentColor" stroke-width="2" '
        'vector-effect="non-scaling-stroke"/></svg>'
    )


def curve_sentence(section: Section) -> str:
    """Return the curve in words: ``r1, 31 of 50 installed: the first 2 h ago, half of them 40 min ago, the last
    3 min ago``."""
    done, of = section.done, f"{section.value}, " if section.value else ""
    if not done:
        return f"{of}none of {section.total:,} installed"
    times = f"the first {ago(done[0])}, half of them {ago(done[len(done) // 2])}, the last {ago(done[-1])}"
    return f"{of}{len(done):,} of {section.total:,} installed: {times}"
