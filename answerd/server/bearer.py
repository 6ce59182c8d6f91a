"""Bearer tokens: whether a request presents the right one, and who has guessed wrong too often (SPEC 10, 11).

Knows the ``Authorization`` header and counts failures per address. Must not know HTTP statuses, what a token protects,
or the time: the clock is given.
"""

from __future__ import annotations

import hmac
import math
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

FAILURES = 5
"""Failures within `FAILURE_SECONDS` that block an address."""

FAILURE_SECONDS = 60.0
FIRST_BLOCK_SECONDS = 60
LONGEST_BLOCK_SECONDS = 900
TRACKED_ADDRESSES = 4_096
"""Addresses remembered at most: some 2 MB, whoever asks."""


def is_bearer(authorization: str | None, token: str) -> bool:
    """Whether an ``Authorization`` header (as WSGI gives it, latin-1 of the bytes) presents ``token``.

    The scheme counts in any letter case. Compared as bytes and in constant time; the token may hold any characters,
    which a client sends as UTF-8.
    """
    scheme, _, presented = (authorization or "").strip(" \t").partition(" ")
    if scheme.lower() != "bearer":
        return False
    sent = presented.strip(" \t").encode("latin-1", "replace")
    return hmac.compare_digest(sent, token.encode("utf-8", "surrogateescape"))


@dataclass(slots=True)
class _Record:
    """What is remembered of one address: when it failed, how often it was blocked, until when it is."""

    failures: deque[float] = field(default_factory=lambda: deque(maxlen=FAILURES))
    blocks: int = 0
    blocked_until: float = -math.inf


class FailureBlock:
    """Blocks an address after five failures within 60 s: 60 s, doubling with each further block up to 900 s.

    Records stand in order of their last failure. Whatever has run out is therefore met before what has not, and the
    first record that is not blocked is the one that makes room. Where all are blocked there is no room: an address more
    is not tracked until a block ends, because nobody may free himself by crowding the table.
    """

    def __init__(self, clock: Callable[[], float], capacity: int = TRACKED_ADDRESSES) -> None:
        """``clock``: seconds that never run backwards (``time.monotonic``)."""
        self._clock = clock
        self._capacity = capacity
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def __len__(self) -> int:
        """Addresses tracked."""
        return len(self._records)

    def seconds_left(self, address: str) -> int:
        """Whole seconds, rounded up, for which the address stays blocked; 0 when it is not."""
        record, now = self._records.get(address), self._clock()
        return math.ceil(record.blocked_until - now) if record and record.blocked_until > now else 0

    def failed(self, address: str) -> int:
        """Counts a failure. The seconds for which it blocks the address, 0 when it does not yet."""
        now = self._clock()
        record = self._records.get(address)
        if record is None:
            if len(self._records) >= self._capacity and not self._make_room(now):
                return 0
            record = self._records[address] = _Record()
        self._records.move_to_end(address)
        record.failures.append(now)
        if len(record.failures) < FAILURES or now - record.failures[0] > FAILURE_SECONDS:
            return 0
        seconds = min(FIRST_BLOCK_SECONDS << min(record.blocks, 10), LONGEST_BLOCK_SECONDS)
        record.failures.clear()
        record.blocks += 1
        record.blocked_until = now + seconds
        return seconds

    def succeeded(self, address: str) -> None:
        """Clears the run of failures, not a block, nor how long the next one will be."""
        record = self._records.get(address)
        if record is None:
            return
        record.failures.clear()
        if record.blocks == 0:
            del self._records[address]
        elif record.blocked_until <= self._clock():
            self._records.move_to_end(address, last=False)

    def _make_room(self, now: float) -> bool:
        """Forgets the oldest record that is not blocked; False when all are."""
        for address, record in self._records.items():
            if record.blocked_until <= now:
                del self._records[address]
                return True
        return False
