"""What a run of all tests by hand leaves out (`tests.support.thorough`)."""

from __future__ import annotations

import pytest

from tests.support.thorough import DRAW, LONG_SHARE, SHORT, is_left_out

TESTS = [f"tests/unit/test_made.py::test_{number}" for number in range(200)]


def test_each_long_test_is_taken_by_some_run_and_most_runs_take_about_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHORT, "1")
    taken: dict[str, int] = dict.fromkeys(TESTS, 0)
    for draw in range(60):
        monkeypatch.setenv(DRAW, str(draw))
        of_run = [test for test in TESTS if not is_left_out(test)]
        assert len(TESTS) // (2 * LONG_SHARE) < len(of_run) < 2 * len(TESTS) // LONG_SHARE
        for test in of_run:
            taken[test] += 1
    assert min(taken.values()) > 0


def test_any_other_run_leaves_out_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SHORT, raising=False)
    assert [test for test in TESTS if is_left_out(test)] == []
