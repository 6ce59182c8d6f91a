"""A machine is its hardware: random lives of a site with boards, cards, rows and people, against what is physically
true (`tests.support.hardware_world`). With the real program: tests/http/test_hardware_walk.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.hardware_site import InProcess
from tests.support.hardware_world import Found, Step, shortest, violation, walk
from tests.support.thorough import examples

WALKS, LENGTH = 12, 120


def in_process(steps: list[Step]) -> Found | None:
    return violation(InProcess(), steps)


def by_members(steps: list[Step]) -> Found | None:
    return violation(InProcess(by_members=True), steps, by_members=True)


@pytest.mark.parametrize("seed", range(WALKS))
def test_an_installed_board_is_never_given_the_installer_and_an_order_lets_a_new_one_in(seed: int) -> None:
    found = in_process(walk(seed, LENGTH))
    assert found is None, str(shortest(found, in_process))


@pytest.mark.parametrize("happen", [in_process, by_members])
def test_many_walks(happen: Callable[[list[Step]], Found | None]) -> None:
    for seed in range(1000, 1000 + examples(40)):
        found = happen(walk(seed, LENGTH))
        assert found is None, f"{seed}: {shortest(found, happen)}"
