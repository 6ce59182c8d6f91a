"""Event streams in one process: the events of each client, clients that come back, and clients that do not read."""

from __future__ import annotations

import json

from answerd.server.event_streams import KEPT, MOST_STREAMS, EventStreams
from answerd.server.request_feed import RequestFeed


class Listener:
    """A client of a stream."""

    def __init__(self, *, reads: bool = True) -> None:
        self.closed = False
        self.reads = reads
        self.text = ""

    def push(self, data: bytes) -> bool:
        if not self.reads:
            self.closed = True
        self.text += data.decode()
        return not self.closed

    def close(self) -> None:
        self.closed = True

    @property
    def events(self) -> list[tuple[str, str, dict[str, object]]]:
        """Name, identifier and data of each event."""
        found = []
        for block in self.text.split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if "event" in fields:
                found.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))
        return found


def tell(streams: EventStreams) -> None:
    streams._send_new()  # what its greenlet does ten times a second


def note(feed: RequestFeed, target: str) -> None:
    feed.add("192.0.2.1:1", "GET", target, 404, "nothing claims it", body=1, sent=2)


def test_who_comes_back_is_told_what_it_missed_once() -> None:
    feed = RequestFeed(1)
    streams = EventStreams(feed)
    first = Listener()
    streams.begin(first, "")
    for target in ("/1", "/2"):
        note(feed, target)
    tell(streams)
    first.close()
    note(feed, "/3")
    again = Listener()
    streams.begin(again, first.events[0][1])
    note(feed, "/4")
    tell(streams)

    assert [data["target"] for _, _, data in again.events] == ["/2", "/3", "/4"]
    identifiers = [identifier for _, identifier, _ in again.events]
    assert len(set(identifiers)) == len(identifiers)


def test_who_comes_too_late_or_to_another_process_is_told_that_something_is_lost() -> None:
    feed = RequestFeed(1)
    streams = EventStreams(feed)
    first = Listener()
    streams.begin(first, "")
    for number in range(KEPT + 100):
        note(feed, f"/{number}")
        if number % 100 == 0:
            tell(streams)
    tell(streams)
    late, stranger, odd = Listener(), Listener(), Listener()
    streams.begin(late, first.events[0][1])
    streams.begin(stranger, "00000000-5")
    streams.begin(odd, first.events[0][1].partition("-")[0] + "-²")

    assert late.events[0][::2] == ("lost", {"events": 99})
    assert len(late.events) == KEPT + 1
    assert [event[0] for event in stranger.events] == ["lost"]
    assert [event[0] for event in odd.events] == ["lost"]


def test_what_comes_faster_than_it_is_sent_is_counted() -> None:
    streams = EventStreams()
    listener = Listener()
    streams.begin(listener, "")
    for number in range(KEPT + 3):
        streams._add("state", {"number": number})
    tell(streams)

    assert len(listener.events) == KEPT + 1
    assert listener.events[-1] == ("lost", "", {"events": 3})


def test_who_does_not_read_is_forgotten_and_there_is_a_most() -> None:
    feed = RequestFeed(1)
    streams = EventStreams(feed)
    listeners = [Listener() for _ in range(MOST_STREAMS)]
    for listener in listeners:
        streams.begin(listener, "")
    assert not streams.has_place_for("")
    beyond = Listener()
    streams.begin(beyond, "")
    assert beyond.closed
    listeners[0].reads = False
    note(feed, "/ks")
    tell(streams)
    assert streams.has_place_for("")
    assert listeners[1].events


def test_a_token_with_more_than_its_share_gives_up_its_oldest_stream() -> None:
    streams = EventStreams()
    greedy = [Listener() for _ in range(MOST_STREAMS)]
    for listener in greedy:
        streams.begin(listener, "", owner="greedy")
    others: dict[str, list[Listener]] = {"a": [], "b": []}
    for _ in range(MOST_STREAMS):
        for owner, listeners in others.items():
            listeners.append(Listener())
            streams.begin(listeners[-1], "", owner=owner)

    share = MOST_STREAMS // 3
    left = [sum(not listener.closed for listener in listeners) for listeners in (greedy, *others.values())]
    assert (sum(left), min(left)) == (MOST_STREAMS, share)
    assert [listener.closed for listener in greedy] == sorted((listener.closed for listener in greedy), reverse=True)
    assert not any(streams.has_place_for(owner) for owner in ("greedy", "a", "b"))
    assert streams.has_place_for("a newcomer")
