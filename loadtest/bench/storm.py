"""The cold storm: every machine of a fleet asks exactly once, right after the answer set was loaded."""

from __future__ import annotations

import time
from dataclasses import replace

from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.load import Contestant, ask, carry_out
from loadtest.bench.servers import START_SECONDS, Server, answerd
from loadtest.bench.stores import stored
from loadtest.fleet import Machine, templated_fleet

AT_A_TIME = 256
"""Connections of the storm: more machines at once wait in the kernel's queue, for the same time."""

_POLL_SECONDS = 0.005


def cold(effort: Effort) -> list[Figure]:
    """Measure a storm on a service just started, and the same machines once more. Every answer is checked."""
    figures = []
    for size in effort.storms:
        passes: list[tuple[Pass, Pass]] = []
        with stored(templated_fleet(size)) as answers:
            for _ in range(effort.rounds):
                with answerd({**answers.settings, "SERVICE_TIMEOUT_SECS": 600}) as server:
                    wait_until_loaded(server)
                    passes.append((Pass(server, size), Pass(server, size)))
        for name, at in (("cold", 0), ("warm", 1)):
            label = f"{name}, {size:,} machines once each"
            figures.append(Figure(label, Spread.of([both[at].rate for both in passes]), "requests/s"))
            figures.append(Figure(label, Spread.of([both[at].cost for both in passes]), "µs of CPU a request"))
            busy = Spread.of([both[at].generator_busy for both in passes])
            figures.append(Figure(f"{label}: core of the generator", busy, "% busy"))
        rates = Spread.of([first.rate / second.rate for first, second in passes])
        costs = Spread.of([second.cost / first.cost for first, second in passes])
        figures.append(Figure(f"cold / warm, {size:,} machines", rates, "x", Bar(at_least=0.8)))
        figures.append(Figure(f"cold / warm, {size:,} machines, by CPU time", costs, "x"))
    return figures


def wait_until_loaded(server: Server) -> None:
    """Wait until the answer set is in force: only then can the service answer that nothing claims a request."""
    response = ask_once_up(server, shapes.UNCLAIMED_GET.request(Machine(0)))
    if not response.startswith(b"HTTP/1.1 404 "):
        raise RuntimeError(f"an unclaimed request was answered with {response[:100]!r}")


def ask_once_up(server: Server, request: bytes) -> bytes:
    """Return the response to one request, sent as soon as the server accepts connections."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            return ask(server.port, request, timeout=START_SECONDS)
        except OSError:
            if time.monotonic() > until or server.process.child.poll() is not None:
                raise
            time.sleep(_POLL_SECONDS)


class Pass:
    """Every machine of a fleet asks once."""

    def __init__(self, server: Server, machines: int) -> None:
        order = replace(Contestant("", server, shapes.TEMPLATED_POST, machines).order(), step=1, connections=AT_A_TIME)
        before = server.process.cpu_seconds()
        outcome = carry_out(order)
        self.rate = outcome.requests / outcome.seconds
        self.cost = (server.process.cpu_seconds() - before) / outcome.requests * 1e6
        self.generator_busy = 100 * outcome.cpu_seconds / outcome.seconds
