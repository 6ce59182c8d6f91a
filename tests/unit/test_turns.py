"""Work on a long text in parts finds and replaces what the same work on all of it does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd import turns
from answerd.turns import found_in_turns, parts_of_lines, replaced_in_turns

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
