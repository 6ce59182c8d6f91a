"""The last requests of all workers, for the console and the event stream: a ring for each process, in shared memory.

Each process writes its own ring and never waits; a reader copies its content. Lines are overwritten even when no reader
has read them, so a slow reader costs the workers nothing; it gets the number of lines that it missed.
"""

from __future__ import annotations

import mmap
import struct
import time
from collections.abc import Iterator
from operator import attrgetter
from typing import Final, NamedTuple

import orjson

from answerd.server.request_log import MAX_JSON_OUTCOME, MAX_JSON_TARGET, escape

SECONDS: Final = 60
"""Seconds for which requests are counted."""

RING_BYTES: Final = 262_144
"""Bytes of one process's ring: some 1,200 lines of a usual length."""

MOST_LINE_BYTES: Final = 8_192
"""Bytes of one line; the target and the outcome of a longer one are cut."""

MOST_CUT: Final = 160
"""Characters that are left of a target and of an outcome whose line is too long."""

_STATUS = struct.Struct("qqq")  # lines written; where the last one begins; bytes ever taken of the ring
_LINE = struct.Struct("qqdq")  # its number; where the line before it begins; when; its bytes
_COUNT = struct.Struct("qq")  # a second, and the requests in it
_BUCKETS = SECONDS + 4
_RING_AT = _STATUS.size + _BUCKETS * _COUNT.size
_REGION_BYTES = _RING_AT + RING_BYTES


class FedLine(NamedTuple):
    """One request at its end. ``at`` is in seconds since 1970; ``status`` is 0 where no response got through; ``body``
    and ``sent`` are bytes of the request's and of the response's body."""

    at: float
    peer: str
    method: str
    target: str
    status: int
    outcome: str
    body: int = 0
    sent: int = 0


class RequestFeed:
    """The rings of all processes: 260 KB for each. Made once, before forking."""

    def __init__(self, regions: int) -> None:
        """The calling process writes region 0 until `attach`."""
        self._memory = mmap.mmap(-1, regions * _REGION_BYTES)
        self._regions = regions
        self.attach(0)

    def attach(self, region: int) -> None:
        """Write this region from now on, and go on where its last process stopped."""
        self._start = region * _REGION_BYTES
        self._number, self._last, self._taken = _STATUS.unpack_from(self._memory, self._start)

    def add(
        self, peer: str, method: str, target: str, status: int | None, outcome: str, *, body: int = 0, sent: int = 0
    ) -> None:
        """Note a request at its end: 4 µs. ``target`` is as it is to be shown; ``status`` is None where no response got
        through."""
        memory, start, now = self._memory, self._start, time.time()
        second = int(now)
        bucket = start + _STATUS.size + second % _BUCKETS * _COUNT.size
        counted, count = _COUNT.unpack_from(memory, bucket)
        _COUNT.pack_into(memory, bucket, second, count + 1 if counted == second else 1)
        target, outcome = escape(target)[:MAX_JSON_TARGET], escape(outcome)[:MAX_JSON_OUTCOME]
        line = (peer[:80], escape(method)[:40], target, status or 0, outcome, body, sent)
        text = orjson.dumps(line)
        if len(text) > MOST_LINE_BYTES:
            text = orjson.dumps((*line[:2], target[:MOST_CUT], line[3], outcome[:MOST_CUT], body, sent))
        begin = self._taken
        size = _LINE.size + len(text)
        room = RING_BYTES - begin % RING_BYTES
        if room < size:  # a line does not go round the end
            begin += room
        # Taken before it is written: a reader that finds its line in here afterwards knows that it may be torn.
        _STATUS.pack_into(memory, start, self._number, self._last, begin + size)
        at = start + _RING_AT + begin % RING_BYTES
        _LINE.pack_into(memory, at, self._number + 1, self._last, now, len(text))
        memory[at + _LINE.size : at + size] = text
        self._number, self._last, self._taken = self._number + 1, begin, begin + size
        _STATUS.pack_into(memory, start, self._number, begin, begin + size)

    def numbers(self) -> list[int]:
        """Return how many lines each process has written."""
        return [_STATUS.unpack_from(self._memory, region * _REGION_BYTES)[0] for region in range(self._regions)]

    def since(self, seen: list[int], most: int) -> tuple[list[FedLine], list[int], int]:
        """Return the requests after those that were ``seen`` (of `numbers`), in order of their time, at most ``most``
        of each process; the numbers to ask with next; and how many are lost."""
        found: list[FedLine] = []
        numbers, lost = list(seen), 0
        for region, known in enumerate(seen):
            new = list(self._latest(region, known, most))
            number = new[0][0] if new else known
            numbers[region] = number
            lost += max(0, number - known - len(new))
            found += [line for _, line in new]
        found.sort(key=attrgetter("at"))
        return found, numbers, lost

    def last(self, most: int) -> list[FedLine]:
        """Return the last requests of all processes, the latest first."""
        found = [line for region in range(self._regions) for _, line in self._latest(region, 0, most)]
        found.sort(key=attrgetter("at"), reverse=True)
        return found[:most]

    def rate(self) -> list[int]:
        """Return how many requests ended in each of the last seconds, oldest first, the present one left out."""
        now = int(time.time())
        counts = [0] * SECONDS
        for region in range(self._regions):
            for bucket in range(_BUCKETS):
                at = region * _REGION_BYTES + _STATUS.size + bucket * _COUNT.size
                second, count = _COUNT.unpack_from(self._memory, at)
                age = now - second
                if 0 < age <= SECONDS:
                    counts[SECONDS - age] += count
        return counts

    def _latest(self, region: int, known: int, most: int) -> Iterator[tuple[int, FedLine]]:
        """Yield the lines of a process above a number, the latest first, with their numbers."""
        start = region * _REGION_BYTES
        number, begin, _ = _STATUS.unpack_from(self._memory, start)
        for expected in range(number, max(known, number - most), -1):
            at = start + _RING_AT + begin % RING_BYTES
            found, before, when, length = _LINE.unpack_from(self._memory, at)
            text = self._memory[at + _LINE.size : at + _LINE.size + max(0, min(length, MOST_LINE_BYTES))]
            taken = _STATUS.unpack_from(self._memory, start)[2]
            if found != expected or begin < taken - RING_BYTES:  # overwritten by now
                return
            try:
                yield found, FedLine(when, *orjson.loads(text))
            except (orjson.JSONDecodeError, TypeError):
                return
            begin = before
