"""Figures of large answer sets: the time of a load, the time until a change is in force, the delay of other requests,
and memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.load import Contestant, ask, carry_out, generating, wait_until_loaded
from loadtest.bench.servers import Server, answerd
from loadtest.bench.stores import STORES, AnswerSet, stored
from loadtest.fleet import Machine, templated_document, templated_fleet

LOADED = Bar(at_most=20)
"""Seconds until 100,000 machines are answered."""

IN_FORCE = {"sqlite": Bar(at_most=50), "files": Bar(at_most=1_000)}
"""Milliseconds within which a change must be in force."""

_POLL_SECONDS = 0.005
_QUIET_SECONDS = 2.0
_AFTER_CHANGE_SECONDS = 0.5
_PACE = 500
"""Requests a second of the clients that must not notice a change."""

_IDLE_SECONDS = 5.0
_SETTLED_SHARE = 0.05
_SETTLE_AT_MOST = 300.0


def load(effort: Effort) -> list[Figure]:
    """Loading, changing one document, memory and idling, in both stores."""
    figures = []
    for store in STORES:
        with stored(templated_fleet(effort.load), store) as answers:
            figures += _one_store(effort, store, answers)
    return figures


def _one_store(effort: Effort, store: str, answers: AnswerSet) -> list[Figure]:
    named = f"{effort.load:,} machines in {store}"
    with answerd(answers.settings, wait=False) as server:
        figures = starting(server, named)
        contestant = Contestant(named, server, shapes.TEMPLATED_POST, effort.load)
        carry_out(contestant.order())
        machine = Machine(effort.load // 2)
        versions = [(*templated_document(machine, mark), machine.host + mark) for mark in marks(effort)]
        figures += changing(contestant, answers, versions, machine, IN_FORCE[store])
        settle(server)
        figures.append(memory(server, f"{named}, 1 worker", Bar(at_most=1_024)))
        before = server.process.cpu_seconds()
        time.sleep(_IDLE_SECONDS)
        share = 100 * (server.process.cpu_seconds() - before) / _IDLE_SECONDS
        figures.append(Figure(f"{named}: idle", once(share), "% of a core", Bar(at_most=1)))
    with answerd({**answers.settings, "SERVICE_WORKERS": 2}, wait=False) as server:
        figures += starting(server, f"{named}, 2 workers")
        sample = Contestant(named, server, shapes.TEMPLATED_POST, effort.load).order()
        for label, order in (("", sample), (", every machine answered", replace(sample, step=1))):
            carry_out(order)
            settle(server)
            figures.append(memory(server, f"{named}, 2 workers{label}", Bar(at_most=1_280)))
    return figures


def starting(server: Server, named: str, prepared: Bar | None = None, loaded: Bar = LOADED) -> list[Figure]:
    """Measure from the start of the process until it answers, and until background work has ended. ``prepared``: the
    bar for all of it."""
    wait_until_loaded(server)
    load = time.monotonic() - server.started
    return [
        Figure(f"{named}: load", once(load), "s", loaded),
        Figure(f"{named}: load and preparation together", once(settle(server) - server.started), "s", prepared),
        Figure(f"{named}: CPU of load and preparation", once(server.process.cpu_seconds()), "s"),
    ]


def settle(server: Server) -> float:
    """Wait until the background work of the service is done; return when that was, on the monotonic clock."""
    until = time.monotonic() + _SETTLE_AT_MOST
    while True:
        began, before = time.monotonic(), server.process.cpu_seconds()
        time.sleep(0.5)
        busy = (server.process.cpu_seconds() - before) / (time.monotonic() - began)
        if busy < _SETTLED_SHARE or time.monotonic() > until:
            return began


def marks(effort: Effort) -> list[str]:
    """Return the marks in the machine's name, one for each version of the changed document."""
    return [f"-changed-{number}" for number in range(effort.changes)]


def changing(
    contestant: Contestant,
    answers: AnswerSet,
    versions: Sequence[tuple[str, str, str]],
    machine: Machine,
    in_force_bar: Bar,
) -> list[Figure]:
    """Measure changes of one document, while other machines ask at a steady pace. ``versions``: the name and text of
    each version, and a text that only its answer to ``machine`` holds.
    """
    request, port = contestant.shape.request(machine), contestant.server.port
    seconds = _QUIET_SECONDS + len(versions) * (1.0 + _AFTER_CHANGE_SECONDS) + 1.0
    order = replace(contestant.order(), seconds=seconds, pace=_PACE, delays=True)
    windows: list[tuple[float, float]] = []
    in_force: list[float] = []
    with generating(order) as outcome:
        time.sleep(_QUIET_SECONDS)
        for name, text, proof in versions:
            before = time.monotonic()
            answers.change(name, text)
            committed = time.monotonic()
            while proof.encode() not in ask(port, request):
                if time.monotonic() - committed > 30:
                    raise RuntimeError(f"{contestant.label}: a change was not in force after 30 s")
                time.sleep(_POLL_SECONDS)
            in_force.append(1_000 * (time.monotonic() - committed))
            time.sleep(_AFTER_CHANGE_SECONDS)
            windows.append((before, time.monotonic()))
        result = outcome()
    longest = [
        max((1_000 * took for sent, took in result.delays if begin - took <= sent <= end), default=0.0)
        for begin, end in windows
    ]
    return [
        Figure(f"{contestant.label}: one change in force after", Spread.of(in_force), "ms", in_force_bar),
        Figure(f"{contestant.label}: longest delay of others meanwhile", Spread.of(longest), "ms", Bar(at_most=20)),
    ]


def memory(server: Server, named: str, bar: Bar | None) -> Figure:
    """Measure the memory of all processes, each shared page counted once (PSS)."""
    return Figure(f"{named}: memory of all processes", once(server.process.memory()), "MB", bar)


def once(value: float) -> Spread:
    """Return the spread of a value that is measured once in a run."""
    return Spread(value, value, value)
