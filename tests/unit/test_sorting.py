"""Sorting in steps gives what the interpreter's own sort gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd import sorting
from answerd.sorting import first_in_steps, sorted_in_steps

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 99)), max_size=60)


def first(pair: tuple[int, int]) -> int:
    return pair[0]


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_SORTED_AT_ONCE", 4)
    monkeypatch.setattr(sorting, "MOST_KEPT", 10)


@settings(deadline=None, max_examples=60)
@given(PAIRS, st.integers(0, 12), st.booleans())
def test_the_first_are_those_of_a_stable_sort(pairs: list[tuple[int, int]], most: int, reverse: bool) -> None:
    sorted_pairs = sorted(pairs, key=first, reverse=reverse)
    assert sorted_in_steps(pairs, first, reverse=reverse) == sorted_pairs
    assert first_in_steps(iter(pairs), first, most, reverse=reverse) == sorted_pairs[:most]


@settings(deadline=None, max_examples=60)
@given(PAIRS, st.integers(0, 60), st.integers(0, 70), st.booleans())
def test_a_stretch_is_that_of_a_stable_sort(pairs: list[tuple[int, int]], start: int, end: int, reverse: bool) -> None:
    expected = sorted(pairs, key=first, reverse=reverse)[start:end]
    assert [*sorting.stretch(pairs, first, start, end, reverse=reverse)] == expected


def test_a_list_is_emptied_in_steps() -> None:
    items = [*range(12_345)]
    sorting.free_in_steps(items, down_to=10)
    assert items == [*range(10)]
    sorting.free_in_steps(items)
    assert items == []
