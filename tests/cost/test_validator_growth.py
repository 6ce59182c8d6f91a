"""A validator takes time in proportion to the answer, whatever is wrong in it.

Compared at one size and at four times of it, in processor time, again where it seems to grow too fast: a rule that
compares all with all takes 16 times as long.
"""

from __future__ import annotations

import gc
import time

import pytest

from answerd.validators import Tools, validate
from tests.cost.worst_answers import ANSWERS

SIZE = 6_144
TIMES = 4
BAR = 8.0
"""Times as long: as far from 4, of a linear rule, as from 16."""

WORTH_MEASURING = 0.02
"""Seconds that the larger answer has to take for its growth to be told."""

MOST_LOOKS = 8


def taken(extension: str, text: str) -> float:
    gc.collect()
    began = time.thread_time()
    validate(text, extension, tools=Tools.none())
    return time.thread_time() - began


@pytest.mark.parametrize("name", ANSWERS)
def test_a_validator_takes_time_in_proportion_to_the_answer(name: str) -> None:
    extension, shape = ANSWERS[name]
    smaller, larger = shape(SIZE), shape(SIZE * TIMES)
    taken(extension, shape(100))  # what is read once, such as the time zones
    ratios = []
    for _ in range(MOST_LOOKS):
        short, long = taken(extension, smaller), taken(extension, larger)
        if long < WORTH_MEASURING or long <= BAR * short:
            return
        ratios.append(f"{long / short:.1f}")
    pytest.fail(f"{', '.join(ratios)} times as long for {TIMES} times the size")
