"""The short form of the proof that a change is all or nothing."""

from __future__ import annotations

from pathlib import Path

from tests.load.apply_kills import read_while_refusing, survive_kills_while_applying


def test_a_change_is_all_or_nothing_when_the_service_is_killed(tmp_path: Path) -> None:
    found = survive_kills_while_applying(tmp_path / "a.db", 2, 40)

    assert found.faults == []
    assert found.kept + found.undone == 2


def test_nothing_of_a_refused_change_is_ever_seen(tmp_path: Path) -> None:
    found = read_while_refusing(tmp_path / "a.db", 3, 40)

    assert found.faults == []
    assert found.reads > 0
