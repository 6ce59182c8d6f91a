"""Event streams: changes of states and answered requests, sent at once to the clients that listen
(docs/admin-api.md#events).

In the process of the admin API. States come from `answerd.server.live_states.LiveStates`, requests from the ring that
the workers write (`answerd.server.request_feed`); neither ever waits for a listener. The last events are kept, for a
client that comes back.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import gevent
import orjson

from answerd.installs.records import Remembered
from answerd.installs.shown import record_as_json, timestamp
from answerd.server.http.responses import Sink
from answerd.server.live_states import LiveStates
from answerd.server.request_feed import FedLine, RequestFeed
from answerd.server.threads import in_thread

MOST_STREAMS: Final = 32
"""Streams at a time. Where all are taken, a token with more than its share gives one up to a client of another token;
where none has more, one more client gets 503."""

KEPT: Final = 2_000
"""Events that are kept for clients that come back."""

POLL_SECONDS: Final = 0.1
"""How often the requests of the workers are read."""

MOST_AT_ONCE: Final = 500
"""Requests of one worker that are sent at a time; the others are counted as lost."""

HEARTBEAT_SECONDS: Final = 15.0
"""How often a quiet stream sends a heartbeat."""

STREAM_SECONDS: Final = 3_600.0
"""Seconds after which a stream ends. Its client connects again by itself and presents its token or session again."""

JUDGED_SECONDS: Final = 1.0
"""How often the token or session of each stream is looked at."""

_BEGIN: Final = b"retry: 2000\n: answerd\n\n"
_HEARTBEAT: Final = b": answerd\n\n"


@dataclass(frozen=True, slots=True)
class _Stream:
    """``until``: when it ends; ``is_allowed``: whether its client may still listen; ``owner``: the name of its client's
    token."""

    until: float
    is_allowed: Callable[[], bool]
    owner: str


class EventStreams:
    """All streams of one process, and the last events."""

    def __init__(
        self,
        feed: RequestFeed | None = None,
        installs: LiveStates | None = None,
        without_secrets: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
    ) -> None:
        """``feed``: the requests, None where they are not noted; ``installs``: None where there are no states.
        ``without_secrets`` returns a record without the secrets in its message; it runs in a thread."""
        self._feed = feed
        self._installs = installs
        self._without_secrets = without_secrets
        self._changed: deque[dict[str, Any]] = deque(maxlen=KEPT)  # records that are not events yet
        self._hiding: gevent.Greenlet[[], None] | None = None
        self._seen = feed.numbers() if feed is not None else []
        self._run = secrets.token_hex(4)  # in an identifier: numbers begin anew with each process
        self._number = 0
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=KEPT)
        self._streams: dict[Sink, _Stream] = {}
        self._judged = 0.0
        self._pending: list[bytes] = []  # not sent yet
        self._overflowed = 0
        self._is_sending = False
        self._last_sent = 0.0
        if installs is not None:
            installs.on_change.append(self._state_changed)

    def has_place_for(self, owner: str) -> bool:
        """Return whether a token of this name may have one more stream: one is free, or another's is given up."""
        return len(self._streams) < MOST_STREAMS or self._given_up_for(owner) is not None

    def _given_up_for(self, owner: str) -> Sink | None:
        """Return the oldest stream of the token that has the most, where that is more than its share of all, and
        ``owner`` would have no more than its own."""
        counts = Counter(stream.owner for stream in self._streams.values())
        share = MOST_STREAMS // len(counts.keys() | {owner})
        largest, most = max(counts.items(), key=lambda item: item[1])
        if most <= share or counts[owner] >= share:
            return None
        return next(sink for sink, stream in self._streams.items() if stream.owner == largest)

    def begin(
        self,
        sink: Sink,
        last_identifier: str,
        is_allowed: Callable[[], bool] = lambda: True,
        owner: str = "",
    ) -> None:
        """Send a client the events that it missed, and all events from now on. ``last_identifier``: that of the last
        event that it has, empty for a client that connects for the first time. ``is_allowed``: whether its token or
        session is still valid; the stream ends with it. ``owner``: the name of its token."""
        if not self.has_place_for(owner):
            sink.close()
            return
        if len(self._streams) >= MOST_STREAMS and (given_up := self._given_up_for(owner)) is not None:
            del self._streams[given_up]
            given_up.close()
        self._send_new()
        if sink.push(_BEGIN + self._missed(last_identifier)):
            self._streams[sink] = _Stream(time.monotonic() + STREAM_SECONDS, is_allowed, owner)
        if not self._is_sending:
            self._is_sending = True
            gevent.spawn(self._send_while_connected)

    def _missed(self, last_identifier: str) -> bytes:
        if not last_identifier:
            return b""
        run, _, number = last_identifier.partition("-")
        oldest = self._kept[0][0] if self._kept else self._number + 1
        if run != self._run or not (number.isascii() and number.isdigit() and len(number) < 20):  # noqa: PLR2004
            return _event("lost", None, {"events": None})
        lost = max(0, oldest - 1 - int(number))
        missed = _event("lost", None, {"events": lost}) if lost else b""
        return missed + b"".join(event for kept_number, event in self._kept if kept_number > int(number))

    def _send_while_connected(self) -> None:
        try:
            while self._streams:
                self._send_new()
                gevent.sleep(POLL_SECONDS)
        finally:
            self._is_sending = False

    def _send_new(self) -> None:
        self._read_requests()
        now = time.monotonic()
        if self._overflowed:
            self._pending.append(_event("lost", None, {"events": self._overflowed}))
            self._overflowed = 0
        text, self._pending = b"".join(self._pending), []
        if not text and now - self._last_sent >= HEARTBEAT_SECONDS:
            text = _HEARTBEAT
        if text:
            self._last_sent = now
        judges = now - self._judged >= JUDGED_SECONDS
        if judges:
            self._judged = now
        for sink, stream in list(self._streams.items()):
            if now >= stream.until or (judges and not stream.is_allowed()):
                del self._streams[sink]
                sink.close()
            elif sink.closed or (text and not sink.push(text)):
                del self._streams[sink]

    def _read_requests(self) -> None:
        if self._feed is None:
            return
        lines, self._seen, lost = self._feed.since(self._seen, MOST_AT_ONCE)
        if lost:
            self._add("lost", {"requests": lost})
        second, time_text = -1, ""
        for line in lines:  # in order of time: many share a second, and writing its time takes longer than the rest
            if int(line.at) != second:
                second, time_text = int(line.at), timestamp(line.at)
            self._add("request", _request_as_json(line, time_text))

    def _state_changed(self, remembered: Remembered) -> None:
        if self._installs is None:
            return
        record = record_as_json(remembered, self._installs.now(), self._installs.rules)
        is_hiding = self._hiding is not None and not self._hiding.dead
        if not (record["message"] or is_hiding or self._changed):
            self._add("state", record)
            return
        if len(self._changed) == KEPT:
            self._overflowed += 1
        self._changed.append(record)
        if not is_hiding:
            self._hiding = gevent.spawn(self._hide_messages)

    def _hide_messages(self) -> None:
        while self._changed:
            self._add("state", in_thread(self._without_secrets, self._changed.popleft()))

    def _add(self, name: str, value: dict[str, Any]) -> None:
        self._number += 1
        event = _event(name, f"{self._run}-{self._number}", value)
        self._kept.append((self._number, event))
        if not self._streams:  # it is kept for those who come back
            return
        if len(self._pending) < KEPT:
            self._pending.append(event)
        else:
            self._overflowed += 1


def _event(name: str, identifier: str | None, value: dict[str, Any]) -> bytes:
    line = f"id: {identifier}\n" if identifier is not None else ""
    return f"event: {name}\n{line}data: ".encode() + orjson.dumps(value) + b"\n\n"


def _request_as_json(line: FedLine, time_told: str) -> dict[str, Any]:
    """Return a request as the log has it in JSON (docs/running.md#the-log)."""
    return {
        "time": time_told,
        "peer": line.peer,
        "method": line.method,
        "target": line.target,
        "body": line.body,
        "status": line.status or None,
        "outcome": line.outcome,
        "bytes": line.sent,
    }
