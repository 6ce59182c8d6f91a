"""Nodes that are cut off from each other and joined again: random lives, against what was acknowledged
(`tests.support.node_world`)."""

from __future__ import annotations

import pytest

from tests.support.node_world import shortest, violation, walk
from tests.support.thorough import examples

LENGTH = 120


WRONG = pytest.mark.xfail(reason="a walk over three nodes still ends otherwise than it must", strict=False)


@pytest.mark.parametrize("nodes", [2, pytest.param(3, marks=WRONG)])
def test_nothing_acknowledged_is_lost_and_nobody_is_installed_by_a_joining(nodes: int) -> None:
    for seed in range(examples(24)):
        steps = walk(seed, LENGTH)
        found = violation(steps, nodes)
        if found is not None:
            least = shortest(steps, nodes) or found
            pytest.fail("\n".join([f"seed {seed}: {least[1]}", *least[2].story]))
