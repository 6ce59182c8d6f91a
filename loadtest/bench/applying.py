"""A whole change through ``POST /apply``: its time, and the delay of the answers meanwhile."""

from __future__ import annotations

import json
import time
from dataclasses import replace

from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.load import Contestant, ask, generating, wait_until_loaded
from loadtest.bench.servers import ADMIN_TOKEN, Server, answerd
from loadtest.bench.stores import stored
from loadtest.fleet import RACK, Machine, rack_document, templated_document, templated_fleet

NEW = Bar(at_most=20)
UNCHANGED = Bar(at_most=3)
DELAY = Bar(at_most=1_000)
"""Seconds, seconds and milliseconds. An answer waits until its worker has loaded a change that was acknowledged."""

MACHINES = 25 * RACK
"""Machines of the set before the change. They ask while it is applied."""

PACE = 500
"""Requests a second meanwhile."""

_QUIET_SECONDS = 1.0
_AT_MOST_SECONDS = 20.0
_ROUNDS = 3


def apply(effort: Effort) -> list[Figure]:
    """Measure a change that adds many documents, and the same change once more."""
    new: list[float] = []
    unchanged: list[float] = []
    delays: list[float] = []
    for _ in range(min(_ROUNDS, effort.rounds)):
        with stored(templated_fleet(MACHINES)) as answers:
            admin = {"SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": ADMIN_TOKEN}
            with answerd({**answers.settings, **admin}) as server:
                wait_until_loaded(server)
                first, second, delay = _measured(server, _change(effort.applied))
        new.append(first)
        unchanged.append(second)
        delays.append(delay)
    named = f"a change of {effort.applied:,} machines"
    return [
        Figure(f"{named}, all new", Spread.of(new), "s", NEW),
        Figure(f"{named}, all unchanged", Spread.of(unchanged), "s", UNCHANGED),
        Figure(f"{named}: longest delay of an answer meanwhile", Spread.of(delays), "ms", DELAY),
    ]


def _measured(server: Server, change: bytes) -> tuple[float, float, float]:
    """Return the seconds of a change and of the same once more, and the longest delay of an answer in ms."""
    contestant = Contestant("", server, shapes.TEMPLATED_POST, MACHINES)
    order = replace(contestant.order(), seconds=_QUIET_SECONDS + _AT_MOST_SECONDS, pace=PACE, delays=True)
    with generating(order) as outcome:
        time.sleep(_QUIET_SECONDS)
        begin = time.monotonic()
        took = [_applied(server, change) for _ in range(2)]
        end = time.monotonic()
        result = outcome()
    if end - begin > _AT_MOST_SECONDS:
        raise RuntimeError(
            f"two changes took {end - begin:.1f} s: the delay of the answers was not measured to their end"
        )
    return took[0], took[1], max(1_000 * late for sent, late in result.delays if begin - late <= sent <= end)


def _change(machines: int) -> bytes:
    """Return the request for a change that puts the documents of machines, and of their racks, that are not there."""
    puts = []
    for number in range(MACHINES, MACHINES + machines):
        machine = Machine(number)
        if number % RACK == 0:
            puts.append(
                {"kind": "group", "identifier": machine.rack, "format": "toml", "text": rack_document(machine.rack)[1]}
            )
        text = templated_document(machine)[1]
        puts.append({"kind": "machine", "identifier": machine.identifier, "format": "toml", "text": text})
    body = json.dumps({"put": puts}).encode()
    head = (
        f"POST /apply HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _applied(server: Server, change: bytes) -> float:
    """Apply a change; return its seconds."""
    assert server.admin_port is not None
    began = time.monotonic()
    response = ask(server.admin_port, change, 120.0)
    took = time.monotonic() - began
    if not response.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"a change was answered with {response[:300]!r}")
    return took
