"""Proofs about several workers: they are killed under load, and share one limit of connections."""

from __future__ import annotations

import os
import random
import select
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.load.torture.figures import Figure, exactly, measured, under
from tests.support.probe import Probes
from tests.support.processes import children, holders, kill
from tests.support.service import Service
from tests.support.waiting import PATIENCE, again_for, wait_until

START = b"GET /health HTTP/1.1\r\nHost: s\r\n"
"""A request that waits for its last line."""
GRACE_SECONDS = 0.5
"""In which a connection is told to come back later that should not be: nothing tells that none is."""


@contextmanager
def workers(answers: Path, count: int, **settings: object) -> Iterator[Service]:
    """The service with so many workers, each answering."""
    answers.mkdir(exist_ok=True)
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_WORKERS=count, **settings) as service:
        assert len(service.children()) == count
        yield service


def replaced_after(service: Service, worker: int) -> float:
    """Kill a worker; the seconds until another process is in its place."""
    before = set(children(service.process.pid))
    kill(worker)
    return wait_until(lambda: len(set(children(service.process.pid)) - before) == 1 and not_listed(service, worker))


def not_listed(service: Service, worker: int) -> bool:
    """Whether a worker is no child of the service any more."""
    return worker not in children(service.process.pid)


@dataclass(frozen=True)
class Held:
    """Connections that were open when their worker was killed, or another's."""

    of_the_dead: int
    of_others: int
    others_answered: int


def kill_one_that_holds(service: Service, count: int) -> Held:
    """Open ``count`` connections that have not asked to the end, kill one worker, let all ask to the end."""
    assert service.address
    clients = [socket.create_connection(service.address, PATIENCE) for _ in range(count)]
    for client in clients:
        client.sendall(START)
    pids = children(service.process.pid)
    wait_until(lambda: len(holders(service.address[1], pids)) >= count)  # type: ignore[index]
    holder = holders(service.address[1], pids)
    ports = {client: client.getsockname()[1] for client in clients}
    victim = Counter(holder[port] for port in ports.values()).most_common(1)[0][0]
    replaced_after(service, victim)
    outcomes: dict[bool, list[str]] = {True: [], False: []}
    for client in clients:
        outcomes[holder[ports[client]] == victim].append(_ask_to_the_end(client))
        client.close()
    return Held(len(outcomes[True]), len(outcomes[False]), outcomes[False].count("200"))


def _ask_to_the_end(client: socket.socket) -> str:
    try:
        client.sendall(b"\r\n")
        return client.recv(100)[9:12].decode("latin-1")
    except OSError as error:
        return type(error).__name__


def kill_one_with_a_queue(service: Service, count: int) -> Counter[str]:
    """Stop one worker, let connections gather in its queue and the others', kill it. How all of them fared."""
    assert service.address
    victim = children(service.process.pid)[0]
    os.kill(victim, signal.SIGSTOP)
    clients = [socket.create_connection(service.address, PATIENCE) for _ in range(count)]
    for client in clients:
        client.sendall(START + b"\r\n")
    replaced_after(service, victim)
    outcomes: Counter[str] = Counter()
    for client in clients:
        try:
            outcomes[client.recv(100)[9:12].decode("latin-1")] += 1
        except OSError as error:
            outcomes[type(error).__name__] += 1
        client.close()
    return outcomes


def admitted_of(service: Service, count: int, most: int) -> int:
    """Open so many connections that say nothing; how many of them are not told to come back later. Those above ``most``
    are waited for."""
    assert service.address
    clients = [socket.create_connection(service.address, PATIENCE) for _ in range(count)]
    poll = select.poll()
    for client in clients:
        poll.register(client, select.POLLIN)
    wait_until(lambda: len(poll.poll(0)) >= count - most)
    time.sleep(GRACE_SECONDS)
    ready = {descriptor for descriptor, _ in poll.poll(0)}
    told = [client.recv(100).startswith(b"HTTP/1.1 503 ") for client in clients if client.fileno() in ready]
    for client in clients:
        client.close()
    return count - sum(told)


def killing(scratch: Path, *, count: int = 4, seconds: float = 60.0, every: float = 0.4) -> list[Figure]:
    """Workers are killed one after the other while clients ask without a pause."""
    rng = random.Random(5)
    took: list[float] = []
    with workers(scratch / "answers", count, SERVICE_LOG="problems") as service:
        assert service.address
        with Probes(service.address, clients=2, interval=0.0) as probes:
            for _ in again_for(seconds):
                took.append(replaced_after(service, rng.choice(children(service.process.pid))))
                time.sleep(max(0.0, every - took[-1]))
        held = kill_one_that_holds(service, 40)
        queued = kill_one_with_a_queue(service, 40)
        limit_held = admitted_of(service, 20, 20) == 20
    results = probes.results
    proof = f"{count} workers, killed"
    return [
        measured(proof, "kills", len(took)),
        measured(proof, "requests meanwhile", sum(results.outcomes.values())),
        # A client has one connection at a time: at most that one dies with its worker.
        under(proof, "requests that failed, for each kill", results.failures / len(took), 1.0),
        under(proof, "slowest answer", max(results.milliseconds), 1000.0, "ms"),
        under(proof, "slowest replacement", max(took) * 1000, 1000.0, "ms"),
        exactly(proof, "of connections held by others, answered", held.others_answered, held.of_others),
        exactly(proof, "of 40 connections in queues, answered", queued["200"], 40),
        exactly(proof, "places lost afterwards", 0 if limit_held else 1, 0),
    ]


def limit(scratch: Path, *, count: int = 4, places: int = 200, rounds: int = 5) -> list[Figure]:
    """More clients than places, again and again, with workers that die in between: the limit stays exact."""
    seen = []
    with workers(scratch / "answers", count, SERVICE_MAX_CONNECTIONS=places) as service:
        for _ in range(rounds):
            seen.append(admitted_of(service, places * 2, places + count - 1))
            replaced_after(service, children(service.process.pid)[0])
            wait_until(lambda: service.get("/health").status == 200)
    proof = f"{count} workers, limit {places}"
    return [
        exactly(proof, "fewest admitted at a time", min(seen), places),
        under(proof, "most admitted at a time", max(seen), places + count),
    ]
