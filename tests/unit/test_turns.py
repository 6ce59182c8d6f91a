"""Work on a long text in parts finds and replaces what the same work on all of it does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd import turns
from answerd.turns import (
    counted_in_turns,
    encoded_in_turns,
    found_in_turns,
    is_only,
    parts_of_lines,
    replaced_in_turns,
    slices,
    translated_in_turns,
)

TEXTS = st.text("0x1 \n", max_size=30)


@pytest.fixture(autouse=True, scope="module")
def _small_parts() -> object:
    patch = pytest.MonkeyPatch()
    patch.setattr(turns, "AT_ONCE", 4)
    yield
    patch.undo()


@given(TEXTS)
def test_a_match_is_found_where_parts_meet(text: str) -> None:
    pattern = re.compile(r"(?<!1)0x1{3}")
    assert found_in_turns(pattern, text, 5) == (pattern.search(text) is not None)


@given(TEXTS)
def test_replacing_in_parts_is_replacing_in_all(text: str) -> None:
    pattern = re.compile("[x\n]")
    assert replaced_in_turns(pattern, lambda found: f"<{found[0]}>", text) == pattern.sub(r"<\g<0>>", text)


def test_a_match_over_the_end_of_a_part_is_found() -> None:
    assert found_in_turns(re.compile("0x111"), "aa0x111", 5)


@given(TEXTS)
def test_parts_end_where_lines_end(text: str) -> None:
    parts = list(parts_of_lines(text))
    assert "\n".join(parts) == text
    assert all("\n" not in part[turns.AT_ONCE :] for part in parts)


@given(TEXTS)
def test_slices_are_the_text_and_short(text: str) -> None:
    parts = list(slices(text))
    assert "".join(parts) == text
    assert all(0 < len(part) <= turns.AT_ONCE for part in parts)


@given(TEXTS)
def test_a_slice_ends_after_the_character_that_is_asked_for(text: str) -> None:
    parts = list(slices(text, " "))
    assert "".join(parts) == text
    assert all(part.endswith(" ") and " " not in part[turns.AT_ONCE - 1 : -1] for part in parts[:-1])


@given(st.text("a1é€😀\n ", max_size=30))
def test_work_on_slices_is_work_on_the_whole(text: str) -> None:
    table = {ord("a"): "&amp;", ord("é"): "e"}
    assert translated_in_turns(text, table) == text.translate(table)
    assert encoded_in_turns(text) == text.encode()
    assert is_only(text, " \n") == (not text.strip(" \n"))


@given(TEXTS, st.integers(0, 30))
def test_counting_in_turns_is_counting_in_all(text: str, end: int) -> None:
    assert counted_in_turns(text, "\n") == text.count("\n")
    assert counted_in_turns(text, "\n0x", end) == text.count("\n0x", 0, end)
