"""The ring of requests in shared memory: lines in order, a lap that is counted, and a process that dies."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.server.request_feed import MOST_LINE_BYTES, RING_BYTES, RequestFeed


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


def test_no_token_of_a_report_is_kept() -> None:
    feed = RequestFeed(1)
    feed.add("192.0.2.1:1", "GET", "/report/secret-token/installed", 200, "-")
    assert "secret-token" not in targets(feed)[0]


def test_requests_of_a_second_are_counted_once_it_is_over() -> None:
    feed = RequestFeed(1)
    assert feed.rate() == [0] * 60


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text(st.characters(codec=None), max_size=3_000), min_size=1, max_size=40))
def test_any_text_is_one_line(texts: list[str]) -> None:
    feed = RequestFeed(1)
    for text in texts:
        feed.add("192.0.2.1:1", "GET", text, 404, text)

    assert len(feed.last(100)) == len(texts)
    assert all(len(line.target.encode()) <= MOST_LINE_BYTES for line in feed.last(100))
