"""Sessions of the console: how many there are, whose the oldest is, and what of them outlives a restart."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerd.console.session import MOST_OF_ONE_TOKEN, MOST_SESSIONS, Sessions
from answerd.server.roles import AdminTokens, Role, new_token
from tests.support.disks import fill, mounted

TOKENS = [new_token(f"token-{number}", Role.READ) for number in range(MOST_SESSIONS // MOST_OF_ONE_TOKEN + 2)]


class Restarting:
    """The sessions of a service that is started again and again with the same file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.log: list[str] = []
        self.sessions = self._started()

    def _started(self) -> Sessions:
        tokens = AdminTokens((), [named for _, named in TOKENS])
        return Sessions(lambda: 1_000.0, tokens, self.path, self.log.append)

    def restart(self) -> None:
        self.sessions = self._started()

    def begin(self, token: int) -> str:
        session = self.sessions.begin(TOKENS[token][0])
        assert session is not None
        return session.identifier

    def lasts(self, identifier: str) -> bool:
        return self.sessions.find(identifier) is not None


@pytest.mark.parametrize("restarts", [False, True], ids=["", "after a restart"])
def test_a_token_ends_its_own_oldest_sessions_and_no_others(tmp_path: Path, restarts: bool) -> None:
    console = Restarting(tmp_path / "sessions")
    other = console.begin(0)
    own = [console.begin(1) for _ in range(MOST_OF_ONE_TOKEN)]
    if restarts:
        console.restart()
    own += [console.begin(1) for _ in range(3)]
    assert console.lasts(other)
    assert [console.lasts(session) for session in own] == [False] * 3 + [True] * MOST_OF_ONE_TOKEN


def test_the_oldest_of_all_ends_where_there_are_too_many() -> None:
    console = Restarting(None)
    begun = [console.begin(number // MOST_OF_ONE_TOKEN) for number in range(MOST_SESSIONS + 5)]
    assert len(console.sessions) == MOST_SESSIONS
    assert [console.lasts(session) for session in begun] == [False] * 5 + [True] * MOST_SESSIONS


# --- a full disk ------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk") as place:
        yield place


def test_a_log_out_counts_on_a_full_disk_too(disk: Path) -> None:
    console = Restarting(disk / "sessions")
    first, second = console.begin(0), console.begin(0)
    fill(disk)
    console.sessions.end(first)
    assert console.log == []
    console.restart()
    assert (console.lasts(first), console.lasts(second), console.log) == (False, True, [])


def test_a_log_in_on_a_full_disk_takes_nothing_of_the_file(disk: Path) -> None:
    console = Restarting(disk / "sessions")
    before = [console.begin(0) for _ in range(10)]
    fill(disk)
    new = [console.begin(0) for _ in range(40)]
    assert console.log
    assert all(line.endswith("sessions that began since it was written end with the service") for line in console.log)
    console.restart()
    assert all(map(console.lasts, before))
    assert not console.lasts(new[-1])


def test_a_log_out_that_cannot_be_written_ends_all_sessions_with_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Restarting(tmp_path / "sessions")
    first, second = console.begin(0), console.begin(0)

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", refuse)
    console.sessions.end(first)
    monkeypatch.undo()
    assert [line.partition(": it was removed, ")[2] for line in console.log] == [
        "so after a restart everybody has to log in again"
    ]
    assert console.lasts(second)
    console.restart()
    assert not console.lasts(first)
    assert not console.lasts(second)
