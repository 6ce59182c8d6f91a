"""A validator takes time in proportion to the answer, whatever is wrong in it, up to the largest answer.

Compared at one size and at four times of it, in processor time, again where it seems to grow too fast: a rule that
compares all with all takes 16 times as long. Then four times as large, as long as that takes little time: most rules
are measured up to `LARGEST`, and those that run pykickstart's parser for each line to a part of it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest

from answerd.validators import Tools, validate
from tests.cost.worst_answers import ANSWERS
from tests.support.thorough import drawn, is_thorough

SIZE = 4_096
"""Bytes of the smallest answer."""

LARGEST = 1_048_576
TIMES = 4
BAR = 8.0
"""Times as long: as far from 4, of a linear rule, as from 16."""

WORTH_MEASURING = 0.02
"""Seconds that the larger answer has to take for its growth to be told."""

CHEAP = 0.4 if is_thorough() else 0.04
"""Seconds that an answer may take for one of four times its size to be measured as well."""

MOST_LOOKS = 8


@pytest.fixture(autouse=True, scope="module")
def only_new_objects() -> Iterator[None]:
    """Have the collector look at what is made from here on: all modules and tests take it 0.1 seconds each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def taken(extension: str, text: str) -> float:
    """Seconds that a validator takes. Without the collector: how often it looks at all objects depends on them all."""
    gc.collect()
    gc.disable()
    try:
        began = time.thread_time()
        validate(text, extension, tools=Tools.none())
        return time.thread_time() - began
    finally:
        gc.enable()


def too_fast(extension: str, smaller: str, larger: str) -> tuple[list[str], float]:
    """How many times as long the larger answer takes, each time it was measured, where that is always too long; and the
    seconds that it took last."""
    ratios: list[str] = []
    long = 0.0
    for _ in range(MOST_LOOKS):
        short, long = taken(extension, smaller), taken(extension, larger)
        if long < WORTH_MEASURING or long <= BAR * short:
            return [], long
        ratios.append(f"{long / short:.1f}")
    return ratios, long


@pytest.mark.parametrize("name", drawn(ANSWERS))
def test_a_validator_takes_time_in_proportion_to_the_answer(name: str) -> None:
    extension, shape = ANSWERS[name]
    taken(extension, shape(100))  # what is read once, such as the time zones
    size, seconds = SIZE * TIMES, 0.0
    while size <= LARGEST and seconds < CHEAP:
        ratios, seconds = too_fast(extension, shape(size // TIMES), shape(size))
        assert not ratios, f"{', '.join(ratios)} times as long for {TIMES} times the size, {size:,} bytes"
        size *= TIMES
