"""Progress by a column: the counts, and a curve of installs for each value, to one scale of time.

Rules: docs/console.md#progress.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from html import unescape

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import remembered_machines
from answerd.console import grid
from answerd.console.backend import CurrentStates
from answerd.console.grid import Grid, Section, bar, curve, first_grid, grid_of
from answerd.console.table import MachinesView, Table
from answerd.documents import Key, RawDocument
from answerd.identity import Kind, identity_of
from answerd.installs.states import Rules, State
from tests.support.installs import known, memory_of

NOW = 1_795_000_000.0

INSTALLED: dict[str, Sequence[float]] = {"r1": (3_600, 1_800, 60), "r2": (7_200, 7_000), "r3": (600,), "r4": ()}
"""Racks, and how many seconds ago their machines became installed; each has four."""


def table_of(racks: Iterable[str], size: int = 4) -> Table:
    lines = [f"{rack}-{at},{rack}" for rack in racks for at in range(size)]
    return Table(
        Catalogue().changed([RawDocument(Key(Kind.INVENTORY, "default", "csv"), "\n".join(["id,rack", *lines, ""]))])
    )


def states_now() -> CurrentStates:
    memory = memory_of(
        *(
            known(f"{rack}-{at}", State.INSTALLED, NOW - seconds)
            for rack, times in INSTALLED.items()
            for at, seconds in enumerate(times)
        ),
        known("r4-0", State.FAILED, NOW - 30),
        rules=Rules(),
    )
    machines = {identity_of(one.record.name): one for one in remembered_machines(Catalogue(), memory)}
    return CurrentStates(memory, (), NOW, Rules(), lambda _: "", machines)


def ends(drawn: str) -> tuple[float, float]:
    """Where a curve leaves the ground, from left (0) to right (1), and how high it ends, from 0 to 1."""
    points = re.search(r'<polyline points="([^"]+)"', drawn)
    assert points
    pairs = [tuple(map(float, pair.split(","))) for pair in points[1].split()]
    ground = pairs[0][1]
    left = max(x for x, y in pairs if y == ground)
    return round(left / 300, 2), round((58 - pairs[-1][1]) / 56, 2)


def by_rack(whole: Grid) -> dict[str, Section]:
    return {section.value: section for section in whole.sections}


@pytest.mark.parametrize("squares", [grid.SQUARES_ON_THE_FIRST_PAGE, 3], ids=["with squares", "without squares"])
def test_each_value_has_the_times_of_its_own_machines(monkeypatch: pytest.MonkeyPatch, squares: int) -> None:
    monkeypatch.setattr(grid, "SQUARES_ON_THE_FIRST_PAGE", squares)
    made = first_grid(table_of(INSTALLED), "rack", states_now())
    found = {value: [round(NOW - at) for at in section.done] for value, section in by_rack(made).items()}
    assert found == {value: [*times] for value, times in INSTALLED.items()}
    assert [round(NOW - at) for at in made.whole.done] == [7_200, 7_000, 3_600, 1_800, 600, 60]
    assert bool(by_rack(made)["r1"].machines) is (squares > 3)


def test_a_view_has_the_times_of_its_machines_only() -> None:
    made = grid_of(table_of(INSTALLED), MachinesView("rack:r1", by="rack"), states_now())
    assert [round(NOW - at) for at in made.whole.done] == [3_600, 1_800, 60]
    assert [*by_rack(made)] == ["r1"]


def test_curves_have_one_scale_of_time_and_each_its_own_height() -> None:
    made = grid_of(table_of(INSTALLED), MachinesView(by="rack"), states_now())
    racks = by_rack(made)
    assert ends(curve(made, made.whole)) == (0.0, round(6 / 16, 2))
    assert ends(curve(made, racks["r1"])) == (0.5, 0.75)
    assert ends(curve(made, racks["r2"])) == (0.0, 0.5)
    assert curve(made, racks["r3"]) == curve(made, racks["r4"]) == "", "one install is no curve"


def test_a_curve_says_in_words_what_it_shows_for_which_value() -> None:
    lab, now = table_of(['<rack "1">']), time.time() - 5  # sentences go by the clock
    memory = memory_of(*(known(f'<rack "1">-{at}', State.INSTALLED, now - 120 * (at + 1)) for at in range(3)))
    machines = {identity_of(one.record.name): one for one in remembered_machines(Catalogue(), memory)}
    made = grid_of(lab, MachinesView(by="rack"), CurrentStates(memory, (), now, Rules(), lambda _: "", machines))
    label = re.search(r'role="img" aria-label="([^"]*)"', curve(made, made.sections[0]))
    assert label
    expected = "3 of 4 installed: the first 6 min ago, half of them 4 min ago, the last 2 min ago"
    assert unescape(label[1]) == f'<rack "1">, {expected}'
    assert "<rack" not in curve(made, made.sections[0])
    whole = re.search(r'role="img" aria-label="([^"]*)"', curve(made, made.whole))
    assert whole
    assert whole[1] == expected


def test_a_curve_of_thousands_has_a_bounded_number_of_points() -> None:
    section = Section("", "", {"installed": 5_000}, (), [NOW - 5_000 + at for at in range(5_000)])
    drawn = curve(Grid("rack", (), (section,), section, NOW), section)
    assert len(drawn) < 10_000
    assert ends(drawn)[1] == 1.0
    assert 'width="100.00"' in bar(section)
