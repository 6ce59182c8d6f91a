"""A machine is its hardware: random lives of a site with boards, cards, rows and people, against what is physically
true (`tests.support.hardware_world`)."""

from __future__ import annotations

import pytest

from tests.support.hardware_site import InProcess
from tests.support.hardware_world import Step, Violation, World, walk
from tests.support.thorough import examples

WALKS, LENGTH = 12, 120


def violation(steps: list[Step], *, has_table: bool = True) -> tuple[int, str, World] | None:
    """The step that goes wrong, and why; None where none does."""
    site = InProcess()
    world = World(site, has_table)
    for at, step in enumerate(steps):
        site.passes(0.01)
        try:
            world.do(step)
        except Violation as error:
            return at, str(error), world
    return None


def shortest(steps: list[Step], found: tuple[int, str, World]) -> tuple[int, str, World]:
    """The same violation in as few steps as there need be."""
    steps = steps[: found[0] + 1]
    at = len(steps) - 1
    while at >= 0:
        fewer = steps[:at] + steps[at + 1 :]
        again = violation(fewer)
        if again is not None:
            steps, found, at = fewer[: again[0] + 1], again, min(at, again[0] + 1)
        at -= 1
    return found


@pytest.mark.parametrize("seed", range(WALKS))
def test_an_installed_board_is_never_given_the_installer_and_an_order_lets_a_new_one_in(seed: int) -> None:
    steps = walk(seed, LENGTH)
    found = violation(steps)
    if found is not None:
        _, why, world = shortest(steps, found)
        pytest.fail("\n".join([why, *world.story]))


def test_many_walks() -> None:
    for seed in range(1000, 1000 + examples(60)):
        assert violation(walk(seed, LENGTH)) is None, seed
