"""The ring of requests in shared memory: lines in order, a lap that is counted, and a process that dies."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.server import request_feed
from answerd.server.request_feed import MOST_LINE_BYTES, RING_BYTES, SECONDS, RequestFeed
from answerd.server.request_log import MAX_JSON_OUTCOME


class Clock:
    now = 1_000_000.0

    def time(self) -> float:
        return self.now


def targets(feed: RequestFeed, most: int = 10_000) -> list[str]:
    return [line.target for line in feed.last(most)]


def test_lines_are_read_latest_first_from_every_process() -> None:
    feed = RequestFeed(2)
    feed.add("192.0.2.1:1", "GET", "/a", 200, "format=ks default", body=3, sent=7)
    feed.attach(1)
    feed.add("192.0.2.2:2", "POST", "/b\n", None, "the client went away")

    assert targets(feed) == ["/b\\x0a", "/a"]
    first = feed.last(2)[1]
    assert first[1:] == ("192.0.2.1:1", "GET", "/a", 200, "format=ks default", 3, 7)
    assert feed.last(1)[0].status == 0


def test_a_reader_that_is_lapped_learns_how_many_it_missed() -> None:
    feed = RequestFeed(1)
    seen = feed.numbers()
    count = 3 * RING_BYTES // 500
    for number in range(count):
        feed.add("192.0.2.1:1", "GET", f"/{number}/" + "x" * 400, 200, "-")
    lines, seen, lost = feed.since(seen, count)

    assert seen == [count]
    assert lost == count - len(lines) > 0
    assert [int(line.target.split("/")[1]) for line in lines] == list(range(lost, count))
    assert feed.since(seen, count) == ([], [count], 0)


def test_a_successor_goes_on_where_its_predecessor_died() -> None:
    feed = RequestFeed(1)
    child = os.fork()
    if not child:
        feed.add("192.0.2.1:1", "GET", "/before", 200, "-")
        os._exit(0)
    os.waitpid(child, 0)
    feed.attach(0)
    feed.add("192.0.2.1:1", "GET", "/after", 200, "-")

    assert targets(feed) == ["/after", "/before"]
    assert feed.since([0], 10)[1:] == ([2], 0)


def test_requests_are_counted_by_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(request_feed, "time", clock)
    feed = RequestFeed(2)
    for region in (0, 1, 1):
        feed.attach(region)
        feed.add("192.0.2.1:1", "GET", "/", 200, "-")
    assert sum(feed.rate()) == 0  # the present second is not over
    clock.now += 1
    assert feed.rate()[-1] == 3
    clock.now += SECONDS - 1
    assert feed.rate() == [3] + [0] * (SECONDS - 1)
    clock.now += 1
    assert sum(feed.rate()) == 0


@pytest.mark.parametrize("text", ["\ud800", '"' * 5_000, "\U0001f600" * 5_000, "\x00\n\x1b[31m" * 1_000])
def test_whatever_a_client_sends_fits_and_stays_on_its_line(text: str) -> None:
    feed = RequestFeed(1)
    for _ in range(3 * RING_BYTES // 5_000):
        feed.add("192.0.2.1:1", text, text, None, text)
    line = feed.last(10)[9]
    assert line.outcome.isprintable()
    assert len(line.outcome) <= MAX_JSON_OUTCOME


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text(st.characters(codec=None), max_size=3_000), min_size=1, max_size=40))
def test_any_text_is_one_line(texts: list[str]) -> None:
    feed = RequestFeed(1)
    for text in texts:
        feed.add("192.0.2.1:1", "GET", text, 404, text)

    assert len(feed.last(100)) == len(texts)
    assert all(len(line.target.encode()) <= MOST_LINE_BYTES for line in feed.last(100))
