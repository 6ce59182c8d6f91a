"""The last requests of all processes, in memory that they share (docs/console.md#pages)."""

from __future__ import annotations

import os

import pytest

from answerd.server import request_feed
from answerd.server.request_feed import LINES, MOST_TEXT, SECONDS, RequestFeed


class Clock:
    now = 1_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(request_feed, "time", clock)
    return clock


def note(feed: RequestFeed, target: str, status: int | None = 200, outcome: str = "") -> None:
    feed.add("192.0.2.1:1", "GET", target, status, outcome)


def targets(feed: RequestFeed, most: int = 1_000) -> list[str]:
    return [line.target for line in feed.last(most)]


def test_the_last_requests_of_all_slots_come_first(clock: Clock) -> None:
    feed = RequestFeed(2)
    for number in range(4):
        feed.attach(number % 2)
        clock.now += 1
        note(feed, f"/{number}")
    assert targets(feed) == ["/3", "/2", "/1", "/0"]
    assert targets(feed, 2) == ["/3", "/2"]
    assert feed.last(1)[0] == (clock.now, "192.0.2.1:1", "GET", "/3", 200, "")


def test_what_nobody_reads_is_overwritten(clock: Clock) -> None:
    feed = RequestFeed(1)
    for number in range(3 * LINES):
        clock.now += 1
        note(feed, f"/{number}")
    assert targets(feed) == [f"/{number}" for number in range(3 * LINES - 1, 2 * LINES, -1)]


def test_another_process_reads_it_and_its_successor_goes_on(clock: Clock) -> None:
    feed = RequestFeed(2)
    if not os.fork():
        feed.attach(1)
        note(feed, "/child")
        os._exit(0)
    os.wait()
    assert targets(feed) == ["/child"]
    clock.now += 1
    feed.attach(1)
    note(feed, "/successor")
    assert targets(feed) == ["/successor", "/child"]


@pytest.mark.parametrize(
    "text", ["\ud800", '"' * 5_000, "\U0001f600" * 5_000, "\x00\n\x1b[31m" * 1_000, "\\" * 5_000, ""]
)
def test_whatever_a_client_sends_fits_and_stays_on_its_line(text: str) -> None:
    feed = RequestFeed(1)
    for _ in range(2 * LINES):
        feed.add("192.0.2.1:1", text, text, None, text)
    lines = feed.last(LINES)
    assert len(lines) == LINES - 1
    assert len(lines[0].outcome) <= MOST_TEXT
    assert lines[0].outcome.isprintable()
    assert lines[0].status == 0


def test_a_reports_token_is_not_kept() -> None:
    feed = RequestFeed(1)
    note(feed, "/report/a-token-that-nobody-may-see/installed")
    assert "nobody-may-see" not in targets(feed)[0]


def test_requests_are_counted_by_the_second(clock: Clock) -> None:
    feed = RequestFeed(2)
    for slot in (0, 1, 1):
        feed.attach(slot)
        note(feed, "/")
    assert sum(feed.rate()) == 0  # the present second is not over
    clock.now += 1
    assert feed.rate()[-1] == 3
    clock.now += SECONDS - 1
    assert feed.rate() == [3] + [0] * (SECONDS - 1)
    clock.now += 1
    assert sum(feed.rate()) == 0
    clock.now += 10 * SECONDS
    note(feed, "/")
    assert sum(feed.rate()) == 0
