"""Writes through the admin API: the cost of a PUT in a small and in a large set."""

from __future__ import annotations

import time
from contextlib import ExitStack

from loadtest.bench.figures import Effort, Figure, Spread
from loadtest.bench.load import ask
from loadtest.bench.servers import ADMIN_TOKEN, Server, answerd
from loadtest.bench.stores import stored
from loadtest.bench.storm import wait_until_loaded
from loadtest.fleet import Machine, templated_document, templated_fleet


def write(effort: Effort) -> list[Figure]:
    """Measure PUTs of one machine's document into either set in turn, one at a time, a fresh connection each."""
    times: dict[int, list[float]] = {size: [] for size in effort.written_sets}
    costs: dict[int, list[float]] = {size: [] for size in effort.written_sets}
    with ExitStack() as running:
        servers: dict[int, Server] = {}
        for size in effort.written_sets:
            answers = running.enter_context(stored(templated_fleet(size)))
            admin = {"SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": ADMIN_TOKEN}
            servers[size] = running.enter_context(answerd({**answers.settings, **admin}))
            wait_until_loaded(servers[size])
        for number in range(effort.rounds):
            for size, server in servers.items():
                before = server.process.cpu_seconds()
                for turn in range(effort.writes):
                    times[size].append(_put(server, Machine(turn % size), f"-{number}-{turn}"))
                costs[size].append((server.process.cpu_seconds() - before) / effort.writes * 1e3)
    small, large = effort.written_sets
    figures = []
    for size in effort.written_sets:
        figures.append(Figure(f"PUT into {size:,} machines", Spread.of(times[size]), "ms"))
        figures.append(Figure(f"PUT into {size:,} machines", Spread.of(costs[size]), "ms of CPU a write"))
    # One by one: a pause of the machine slows both.
    slower = [late / early for late, early in zip(times[large], times[small], strict=True)]
    figures.append(Figure(f"PUT into {large:,} / into {small:,}", Spread.of(slower), "x as long"))
    return figures


def _put(server: Server, machine: Machine, mark: str) -> float:
    """Make one write; return its milliseconds."""
    name, text = templated_document(machine, mark)
    body = text.encode()
    head = (
        f"PUT /machines/{name.rpartition('.')[0]}?format=toml HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {ADMIN_TOKEN}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    assert server.admin_port is not None
    began = time.monotonic()
    response = ask(server.admin_port, head.encode() + body)
    took = time.monotonic() - began
    if not response.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"a PUT was answered with {response[:300]!r}")
    return 1_000 * took
