"""Proofs about connections by the thousand: idle ones, slow ones, and all at once."""

from __future__ import annotations

import select
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from answerd.server.admission import raise_file_limit
from tests.load.torture.crowds import SOURCES, ask_all
from tests.load.torture.figures import Figure, exactly, measured, under
from tests.load.torture.footprint import Peak
from tests.support.probe import Probes
from tests.support.processes import private_bytes
from tests.support.service import Service, write_tree

FILES_FOR_OTHERS = 100  # that the torturer needs beside its connections
SLOW_REQUEST = b"GET /ipxe HTTP/1.1\r\nHost: s\r\nX-Slow: " + b"a" * 1_000
WHOLE_REQUEST = b"GET /ipxe HTTP/1.1\r\nHost: s\r\n\r\n"
TICK = 0.05  # seconds: the bytes of a second are spread over as many ticks as fit
SWEPT_LATE = 1.0  # seconds after its deadline at which a connection must be gone
BYTES_SILENT = 3_000  # that a connection may take which has sent nothing
BYTES_BEGUN = (
    16_384  # and one with a part of its header: 9 KB for its greenlet, the header, and what a small crowd blurs
)
P99_MILLISECONDS = 50.0
SETTLED_BYTES = 1_000_000  # that further rounds of the same may add: with three of them, 33 bytes a connection


@contextmanager
def serving(scratch: Path, **settings: object) -> Iterator[Service]:
    """The service with one document, asked once in each way before anything is measured."""
    write_tree(scratch / "answers", {"default.ipxe": "#!ipxe\necho hello\n"})
    with Service(SERVICE_ANSWERS_DIR=scratch / "answers", **settings) as service:
        assert service.address
        with Probes(service.address, interval=0.0):
            time.sleep(0.5)
        yield service


class Crowd:
    """Many open connections, and how many the service has closed."""

    def __init__(self, address: tuple[str, int], count: int) -> None:
        raise_file_limit()
        self.open: dict[int, socket.socket] = {}
        self._poll = select.epoll()
        for number in range(count):
            client = socket.create_connection(address, 10, (f"127.0.0.{2 + number % SOURCES}", 0))
            client.setblocking(False)
            self.open[client.fileno()] = client
            self._poll.register(client, select.EPOLLIN | select.EPOLLRDHUP)
        self.opened = time.monotonic()

    def notice(self, seconds: float) -> None:
        """Wait so long, and give up the connections that the service has closed meanwhile."""
        until = time.monotonic() + seconds
        while True:
            for descriptor, _ in self._poll.poll(max(0.0, until - time.monotonic()), 1_000):
                self._poll.unregister(descriptor)
                self.open.pop(descriptor).close()
            if time.monotonic() >= until:
                return

    def close(self) -> None:
        """Leave."""
        for client in self.open.values():
            client.close()
        self.open.clear()
        self._poll.close()


def _wait(crowd: Crowd, timeout: float) -> None:
    """Send nothing until no connection is left, or far too long."""
    while crowd.open and time.monotonic() - crowd.opened < timeout * 3:
        crowd.notice(TICK)


def _trickle(crowd: Crowd, timeout: float) -> None:
    """A byte a second on each connection, not all in the same moment."""
    clients = list(crowd.open.values())
    ticks = int(1 / TICK)
    tick = 0
    while crowd.open and time.monotonic() - crowd.opened < timeout * 3:
        second, share = divmod(tick, ticks)
        byte = SLOW_REQUEST[second : second + 1]
        for client in clients[share::ticks]:
            try:
                client.send(byte)
            except OSError:  # closed, by the service or because of that
                continue
        tick += 1
        crowd.notice(max(0.0, crowd.opened + tick * TICK - time.monotonic()))


@dataclass(frozen=True)
class Rounds:
    """How often the same crowd comes: some times to warm up, then the times whose gain of memory is measured.

    A crowd leaves nothing in use. But a single block in use keeps the interpreter from returning an arena of 1 MB, and
    each crowd spreads a little differently over the arenas that are kept: for a few rounds it touches pages that no
    crowd has touched before. That ends when all pages of these arenas have been touched.
    """

    warm_up: int = 4
    measured: int = 3


ROUNDS = Rounds()


def _held(
    scratch: Path,
    proof: str,
    behave: Callable[[Crowd, float], None],
    count: int,
    timeout: int,
    rounds: Rounds,
    bytes_each: int,
) -> list[Figure]:
    with serving(scratch, SERVICE_MAX_CONNECTIONS=count + 500, SERVICE_TIMEOUT_SECS=timeout) as service:
        assert service.address
        pids = service.pids
        before = private_bytes(*pids)
        left, late, after = 0, 0.0, []
        with Probes(service.address) as probes, Peak(lambda: private_bytes(*pids)) as peak:
            for _ in range(rounds.warm_up + rounds.measured):
                crowd = Crowd(service.address, count)
                behave(crowd, timeout)
                late = max(late, time.monotonic() - crowd.opened - timeout)
                left += len(crowd.open)
                crowd.close()
                after.append(private_bytes(*pids))
    return [
        exactly(proof, "requests of others that failed", probes.results.failures, 0),
        measured(proof, "requests of others", probes.results.outcomes.total()),
        measured(proof, "p50 of others", probes.results.percentile(50), "ms"),
        under(proof, "p99 of others", probes.results.percentile(99), P99_MILLISECONDS, "ms"),
        under(proof, "memory a connection at the peak", (peak.peak - before) // count, bytes_each, "bytes"),
        measured(proof, "memory gained by the rounds of warm-up", after[rounds.warm_up - 1] - before, "bytes"),
        under(
            proof,
            f"memory gained by {rounds.measured} more rounds",
            after[-1] - after[rounds.warm_up - 1],
            SETTLED_BYTES,
            "bytes",
        ),
        exactly(proof, "connections left over", left, 0),
        under(proof, "last one gone after its deadline", late, SWEPT_LATE, "s"),
    ]


def idle(scratch: Path, *, count: int = 10_000, timeout: int = 15, rounds: Rounds = ROUNDS) -> list[Figure]:
    """Connections that are opened and left."""
    proof = f"{_times(rounds)} {count:,} idle connections"
    return _held(scratch, proof, _wait, count, timeout, rounds, BYTES_SILENT)


def trickle(scratch: Path, *, count: int = 10_000, timeout: int = 15, rounds: Rounds = ROUNDS) -> list[Figure]:
    """Connections that send a byte a second."""
    proof = f"{_times(rounds)} {count:,} that send a byte a second"
    return _held(scratch, proof, _trickle, count, timeout, rounds, BYTES_BEGUN)


def _times(rounds: Rounds) -> str:
    return f"{rounds.warm_up + rounds.measured} times"


def stampede(scratch: Path, *, count: int = 19_900, limit: int = 500, rounds: Rounds = ROUNDS) -> list[Figure]:
    """As many clients as the file limit allows, all at once, against a limit far below."""
    count = min(count, raise_file_limit() - FILES_FOR_OTHERS)
    times = rounds.warm_up + rounds.measured
    settled, outcomes, seconds = [], Counter[str](), []
    with serving(scratch, SERVICE_MAX_CONNECTIONS=limit, SERVICE_LOG="problems") as service:
        assert service.address
        before = private_bytes(*service.pids)
        with Peak(lambda: private_bytes(*service.pids)) as peak:
            for _ in range(times):
                began = time.monotonic()
                outcomes.update(ask_all(service.address, [WHOLE_REQUEST] * count, at_a_time=count))
                seconds.append(time.monotonic() - began)
                time.sleep(3)  # beyond the time that a connection lingers
                settled.append(private_bytes(*service.pids))
        lines = len([line for line in service.log if "503" in line])
    proof = f"{times} stampedes of {count:,}, limit {limit}"
    return [
        measured(proof, "answered 200", outcomes["200"]),
        measured(proof, "answered 503", outcomes["503"]),
        exactly(proof, "neither (resets, silence, other)", times * count - outcomes["200"] - outcomes["503"], 0),
        measured(proof, "slowest stampede", max(seconds), "s"),
        under(proof, "memory a connection at the peak", (peak.peak - before) // count, BYTES_SILENT, "bytes"),
        under(
            proof,
            f"memory gained by the last {rounds.measured}",
            settled[-1] - settled[rounds.warm_up - 1],
            SETTLED_BYTES,
            "bytes",
        ),
        under(proof, "log lines for all 503s", lines, 3 * int(sum(seconds) + 3 * times)),
    ]
