"""Durability in its short form: ``scripts/torture durability`` is the long one."""

from __future__ import annotations

from pathlib import Path

from tests.load.apply_kills import read_while_refusing, survive_kills_while_applying
from tests.load.durability import survive_full_disk, survive_kills


def test_nothing_acknowledged_is_lost_when_the_service_is_killed(tmp_path: Path) -> None:
    outcome = survive_kills(tmp_path / "answers.db", kills=4)

    assert outcome.faults == ()
    assert outcome.acknowledged >= 4  # a life ends after its first acknowledged write


def test_a_full_disk_refuses_writes_with_a_reason_and_stops_no_answer(tmp_path: Path) -> None:
    outcome = survive_full_disk(tmp_path / "answers.db", times=2)

    assert outcome.faults == ()
    assert outcome.answered >= 2
    assert outcome.refused
    assert all("cannot be written: " in reason and "\n" not in reason for reason in outcome.refused)


def test_a_change_is_all_or_nothing_when_the_service_is_killed(tmp_path: Path) -> None:
    found = survive_kills_while_applying(tmp_path / "a.db", 2, 40)

    assert found.faults == []
    assert found.kept + found.undone == 2


def test_nothing_of_a_refused_change_is_ever_seen(tmp_path: Path) -> None:
    found = read_while_refusing(tmp_path / "a.db", 3, 40)

    assert found.faults == []
    assert found.reads > 0
