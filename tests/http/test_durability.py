"""Durability in its short form: ``scripts/torture durability`` is the long one."""

from __future__ import annotations

from pathlib import Path

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
