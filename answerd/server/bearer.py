"""Bearer tokens: what a request presents, and which addresses have guessed wrong too often.

Rules: docs/http.md#bearer-token, docs/admin-api.md#wrong-tokens.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network

FAILURES = 5
"""Failures within `FAILURE_SECONDS` that block an address."""

FAILURE_SECONDS = 60.0
FIRST_BLOCK_SECONDS = 60
LONGEST_BLOCK_SECONDS = 900
TRACKED_ADDRESSES = 4_096
"""The most addresses that are tracked: some 2 MB."""


def is_guess(authorization: str | None) -> bool:
    """Return whether an ``Authorization`` header presents any bearer token.

    A header without a token, or with another scheme, is never right, so it is no guess. A page in a browser can make
    the browser send such a request (also with ``Basic``), but none with a bearer token.
    """
    return bool(presented_token(authorization))


def presented_token(authorization: str | None) -> bytes | None:
    """Return the bearer token in an ``Authorization`` header (as WSGI has it, latin-1 of the bytes); None where the
    header is missing or has another scheme. The scheme may be in any letter case."""
    scheme, _, presented = (authorization or "").strip(" \t").partition(" ")
    if scheme.lower() != "bearer":
        return None
    return presented.strip(" \t").encode("latin-1", "replace")


@dataclass(slots=True)
class _Record:
    failures: deque[float] = field(default_factory=lambda: deque(maxlen=FAILURES))
    blocks: int = 0
    blocked_until: float = -math.inf


class FailureBlock:
    """Blocks an address after five failures within 60 s: 60 s, doubling with each further block up to 900 s.

    IPv6 addresses count by /64: one client has a whole network of that size.

    Records are in the order of their last failure. So those that have run out come before those that have not, and the
    first record that is not blocked is the one to evict. A blocked record is never evicted, or an attacker could end a
    block by flooding the table. When all are blocked, each failure of an untracked address blocks it at once. There is
    no record to keep that in, so it is kept in one of `TRACKED_ADDRESSES` buckets that untracked addresses share.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        capacity: int = TRACKED_ADDRESSES,
        buckets: int = TRACKED_ADDRESSES,
        count: Callable[[], object] = bool,
    ) -> None:
        """``clock``: seconds that never go back (``time.monotonic``). ``count`` is called at each failure."""
        self._count = count
        self._clock = clock
        self._capacity = capacity
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._buckets = buckets
        self._blocked_buckets: dict[int, float] = {}  # the ends of the blocks

    def __len__(self) -> int:
        return len(self._records)

    def seconds_left(self, address: str) -> int:
        """Return the seconds, rounded up, for which the address stays blocked; 0 when it is not blocked."""
        client, now = _client(address), self._clock()
        record = self._records.get(client)
        until = record.blocked_until if record else self._blocked_buckets.get(self._bucket(client), -math.inf)
        return math.ceil(until - now) if until > now else 0

    def failed(self, address: str) -> int:
        """Count a failure. Return the seconds for which it blocks the address, 0 when it does not yet."""
        self._count()
        client, now = _client(address), self._clock()
        record = self._records.get(client)
        if record is None:
            if len(self._records) >= self._capacity and not self._make_room(now):
                self._blocked_buckets[self._bucket(client)] = now + FIRST_BLOCK_SECONDS
                return FIRST_BLOCK_SECONDS
            record = self._records[client] = _Record()
        self._records.move_to_end(client)
        record.failures.append(now)
        if len(record.failures) < FAILURES or now - record.failures[0] > FAILURE_SECONDS:
            return 0
        seconds = min(FIRST_BLOCK_SECONDS << min(record.blocks, 10), LONGEST_BLOCK_SECONDS)
        record.failures.clear()
        record.blocks += 1
        record.blocked_until = now + seconds
        return seconds

    def succeeded(self, address: str) -> None:
        """Clear the run of failures, but neither a block nor the length of the next one."""
        client = _client(address)
        record = self._records.get(client)
        if record is None:
            return
        record.failures.clear()
        if record.blocks == 0:
            del self._records[client]
        elif record.blocked_until <= self._clock():
            self._records.move_to_end(client, last=False)

    def _make_room(self, now: float) -> bool:
        """Evict the oldest record that is not blocked. Return False when all are blocked."""
        for client, record in self._records.items():
            if record.blocked_until <= now:
                del self._records[client]
                return True
        return False

    def _bucket(self, client: str) -> int:
        """Return the bucket of an address. Hashes of text are salted in each process, so no client can choose its
        bucket."""
        return hash(client) % self._buckets


def _client(address: str) -> str:
    """Return the key under which an address is counted: itself, or the /64 network of an IPv6 address."""
    if ":" not in address:
        return address
    try:
        return str(IPv6Network((int(IPv6Address(address)) >> 64 << 64, 64)))
    except ValueError:
        return address
