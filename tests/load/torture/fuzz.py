"""Proofs by the million: byte streams that are nearly requests, against the reader and against the real program."""

from __future__ import annotations

import os
import random
import signal
import socket
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from tests.http.fuzz_listener import BODIES, HEADERS, ODDITIES, REQUEST_LINES, judge
from tests.load.torture.figures import Figure, exactly, measured, under
from tests.load.torture.listener import serving
from tests.support.processes import private_bytes

HANG_SECONDS = 10  # for a batch that takes a tenth of a second
BATCH = 1_000
BODY_LIMIT = 16  # so small that streams get over it
GROWTH_BYTES = 2_000_000
KNOWN_STATUSES = frozenset({"200", "400", "404", "405", "413", "414", "431"})
DICTIONARY = [
    *ODDITIES, b"Content-Length: ", b"Transfer-Encoding: ", b"chunked", b"Host", b"HTTP/1.1", b"HTTP/9.9", b"%00",
    b"0x5", b"+5", b"-1", b"5, 5", b"5 5", b"\x0b", b"\x0c", b"\x85", b"\xc2\xa0", b"://", b"/../", b"?", b"#", b";",
    b"Expect: 100-continue\r\n", b"Connection: keep-alive, Upgrade\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"%",
    b"\x16\x03\x01", b"Trailer: X\r\n", b"TE: trailers\r\n", b"X-Forwarded-For: ", b"Authorization: Bearer ",
]  # fmt: skip


def stream(rng: random.Random) -> bytes:
    """Something that begins as a request and has gone wrong, most of the time."""
    pieces = [rng.choice(REQUEST_LINES[:3]), b"Host: s\r\n"]
    pieces += [rng.choice(HEADERS) for _ in range(rng.randrange(4))]
    pieces.append(b"\r\n")
    pieces += [rng.choice(BODIES) for _ in range(rng.randrange(4))]
    data = bytearray(b"".join(pieces))
    for _ in range(rng.choice((0, 1, 1, 2, 3, 8))):
        _spoil(data, rng)
    return bytes(data)


def _spoil(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    to = min(len(data), at + rng.choice((1, 1, 2, 5, 20)))
    what = rng.randrange(6)
    if what == 0:
        data[at:at] = rng.choice(DICTIONARY)
    elif what == 1:
        del data[at:to]
    elif what == 2:
        data[at:at] = data[at:to]
    elif what == 3 and at < len(data):
        data[at] = rng.randrange(256)
    elif what == 4 and at < len(data):
        data[at] ^= 1 << rng.randrange(8)
    else:
        data[at:to] = rng.choice(DICTIONARY)


def _hangs(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError("an input has hung the reader")


def reader(_scratch: Path, *, inputs: int = 1_000_000, seconds: float = 150.0, seed: int = 5) -> list[Figure]:
    """Streams against the reader itself, each judged whole and in two pieces, some byte by byte: always alike.

    ``inputs`` is how many at least; it goes on for ``seconds``.
    """
    rng = random.Random(seed)
    judged: Counter[str] = Counter()
    faults: list[str] = []
    grown_from, slowest = 0, 0.0
    previous = signal.signal(signal.SIGALRM, _hangs)
    began = time.monotonic()
    try:
        while judged.total() < inputs or time.monotonic() - began < seconds:
            signal.alarm(HANG_SECONDS)
            batch_began = time.perf_counter()
            for _ in range(BATCH):
                judged[_judged(stream(rng), rng, faults)] += 1
            slowest = max(slowest, time.perf_counter() - batch_began)
            if not grown_from and judged.total() >= min(50_000, inputs // 2):
                grown_from = private_bytes(os.getpid())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    for fault in faults[:10]:
        print(fault, file=sys.stderr)
    proof = "fuzzing the reader"
    return [
        Figure(proof, "inputs", f"{judged.total():,}", f">= {inputs:,}", judged.total() >= inputs),
        measured(proof, "of which requests", judged["0 complete"]),
        measured(proof, "of which refused", sum(count for key, count in judged.items() if not key.startswith("0"))),
        exactly(proof, "exceptions, or judged differently in pieces", len(faults), 0),
        under(proof, f"slowest {BATCH:,} of them", slowest, float(HANG_SECONDS), "s"),
        under(proof, "memory gained", private_bytes(os.getpid()) - grown_from, GROWTH_BYTES, "bytes"),
    ]


def _judged(data: bytes, rng: random.Random, faults: list[str]) -> str:
    try:
        whole = judge([data], BODY_LIMIT)
        cut = rng.randrange(len(data) + 1)
        pieces = [data[:cut], data[cut:]]
        if rng.randrange(50) == 0 and len(data) < 400:
            pieces = [data[i : i + 1] for i in range(len(data))]
        if judge(pieces, BODY_LIMIT) != whole:
            faults.append(f"differently in pieces: {data!r} cut at {cut}")
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error} for {data!r}")
        return "failed"
    return f"{whole.status} {'complete' if whole.request else ''}"


def program(scratch: Path, *, inputs: int = 40_000, seconds: float = 120.0, seed: int = 6) -> list[Figure]:
    """Streams against the real program over sockets; whatever comes, it answers with a status or closes."""
    rng = random.Random(seed)
    outcomes: Counter[str] = Counter()
    with serving(scratch, SERVICE_LOG="off") as service:
        assert service.address
        began = time.monotonic()
        grown_from = 0
        while outcomes.total() < inputs and time.monotonic() - began < seconds:
            outcomes[_sent(service.address, stream(rng))] += 1
            if outcomes.total() == inputs // 4:
                grown_from = private_bytes(*service.pids)
        grown = private_bytes(*service.pids) - grown_from
        healthy = service.get("/health").status == 200
        complaints = [line for line in service.log if "failed" in line or "Traceback" in line]
    strange = {outcome for outcome in outcomes if outcome not in KNOWN_STATUSES | {"closed"}}
    proof = "fuzzing the program"
    return [
        measured(proof, "inputs over sockets", outcomes.total()),
        measured(proof, "of which answered 200 or 404", outcomes["200"] + outcomes["404"]),
        measured(proof, "of which refused", sum(outcomes[status] for status in KNOWN_STATUSES - {"200", "404"})),
        exactly(proof, "hangs, resets, other answers", sum(outcomes[outcome] for outcome in strange), 0),
        exactly(proof, "failures in its log", len(complaints) + (not healthy), 0),
        under(proof, "memory gained", grown, GROWTH_BYTES, "bytes"),
    ]


def _sent(address: tuple[str, int], data: bytes) -> str:
    try:
        with socket.create_connection(address, HANG_SECONDS) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: client.recv(65_536), b""))
    except OSError as error:
        return type(error).__name__
    final = received.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    return final[9:12].decode("latin-1") if final else "closed"
