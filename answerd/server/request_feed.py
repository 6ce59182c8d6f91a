"""The last requests of all workers, for the console: a ring of lines for each process, in memory that they share.

Each process writes its own ring and never waits; a reader copies what is there. Lines that nobody reads are
overwritten, so a slow browser costs the workers nothing. Must not know who reads.
"""

from __future__ import annotations

import mmap
import struct
import time
from typing import NamedTuple

import orjson

from answerd.server.request_log import escape, without_token

LINES = 64
"""Lines of one process that are kept."""

SECONDS = 60
"""Seconds for which requests are counted."""

MOST_TEXT = 160
"""Characters of a target and of an outcome that are kept: what a line of a page can show."""

_LINE_BYTES = 1_536
_HEAD = struct.Struct("qdH")  # the line's number, or 0 while it is written; when; its bytes
_COUNT = struct.Struct("qq")  # a second, and the requests in it
_BUCKETS = SECONDS + 4
_SLOT_BYTES = 8 + _BUCKETS * _COUNT.size + LINES * _LINE_BYTES


class FedLine(NamedTuple):
    """One request at its end. ``at`` is in seconds since 1970; ``status`` is 0 where no response got through."""

    at: float
    peer: str
    method: str
    target: str
    status: int
    outcome: str


class RequestFeed:
    """The rings of all processes: some 100 KB for each. Made once, before forking."""

    def __init__(self, slots: int) -> None:
        """The calling process writes slot 0 until `attach`."""
        self._memory = mmap.mmap(-1, slots * _SLOT_BYTES)
        self._slots = slots
        self.attach(0)

    def attach(self, slot: int) -> None:
        """Write this slot from now on, and go on where its last process stopped."""
        self._start = slot * _SLOT_BYTES
        (self._number,) = struct.unpack_from("q", self._memory, self._start)

    def add(self, peer: str, method: str, target: str, status: int | None, outcome: str) -> None:
        """Note a request: 3 µs."""
        memory, now = self._memory, time.time()
        second = int(now)
        bucket = self._start + 8 + second % _BUCKETS * _COUNT.size
        counted, count = _COUNT.unpack_from(memory, bucket)
        _COUNT.pack_into(memory, bucket, second, count + 1 if counted == second else 1)
        self._number = number = self._number + 1
        target = escape(without_token(target))[:MOST_TEXT]
        text = orjson.dumps((peer[:80], escape(method)[:40], target, status or 0, escape(outcome)[:MOST_TEXT]))
        at = _line_at(self._start, number)
        _HEAD.pack_into(memory, at, 0, now, 0)
        memory[at + _HEAD.size : at + _HEAD.size + len(text)] = text
        _HEAD.pack_into(memory, at, number, now, len(text))
        struct.pack_into("q", memory, self._start, number)

    def last(self, most: int) -> list[FedLine]:
        """Return the last requests of all processes, the latest first."""
        found: list[FedLine] = []
        for slot in range(self._slots):
            start = slot * _SLOT_BYTES
            (number,) = struct.unpack_from("q", self._memory, start)
            for one in range(number, max(0, number - min(most, LINES - 1)), -1):
                line = self._line(start, one)
                if line is not None:
                    found.append(line)
        found.sort(key=lambda line: -line.at)
        return found[:most]

    def rate(self) -> list[int]:
        """Return how many requests ended in each of the last seconds, oldest first, the present one left out."""
        now = int(time.time())
        counts = [0] * SECONDS
        for slot in range(self._slots):
            for bucket in range(_BUCKETS):
                at = slot * _SLOT_BYTES + 8 + bucket * _COUNT.size
                second, count = _COUNT.unpack_from(self._memory, at)
                age = now - second
                if 0 < age <= SECONDS:
                    counts[SECONDS - age] += count
        return counts

    def _line(self, start: int, number: int) -> FedLine | None:
        """The line of this number; None where it is being overwritten."""
        at = _line_at(start, number)
        before, when, length = _HEAD.unpack_from(self._memory, at)
        text = self._memory[at + _HEAD.size : at + _HEAD.size + length]
        if before != number or _HEAD.unpack_from(self._memory, at)[0] != number:
            return None
        try:
            return FedLine(when, *orjson.loads(text))
        except (orjson.JSONDecodeError, TypeError):
            return None


def _line_at(start: int, number: int) -> int:
    return start + 8 + _BUCKETS * _COUNT.size + number % LINES * _LINE_BYTES
