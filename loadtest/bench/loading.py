"""Figures of large answer sets: the time of a load, the time until a change is in force, the delay of other requests,
and memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.load import Contestant, ask, carry_out, generating
from loadtest.bench.servers import Server, answerd, is_compiled
from loadtest.bench.stores import STORES, AnswerSet, stored
from loadtest.bench.storm import ask_once_up, wait_until_loaded
from loadtest.fleet import Machine, templated_document, templated_fleet

IN_FORCE = {"sqlite": Bar(at_most=50), "files": Bar(at_most=1_000)}
"""Milliseconds within which a change must be in force."""

_HEALTH_PAUSE = 0.005
_QUIET_SECONDS = 2.0
_AFTER_CHANGE_SECONDS = 0.5
_PACE = 500
"""Requests a second of the clients that must not notice a change."""

_IDLE_SECONDS = 5.0
_SETTLED_SHARE = 0.05
_HEALTH_SHARE = 0.25
"""Share of a core: more than ``/health`` every few milliseconds takes."""
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
    with answerd({**answers.settings, "SERVICE_TIMEOUT_SECS": 600}, wait=False) as server:
        figures = starting(server, named, Bar(at_most=12) if is_compiled() else None)
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
    with answerd({**answers.settings, "SERVICE_TIMEOUT_SECS": 600, "SERVICE_WORKERS": 2}, wait=False) as server:
        figures += starting(server, f"{named}, 2 workers")
        sample = Contestant(named, server, shapes.TEMPLATED_POST, effort.load).order()
        for label, order in (("", sample), (", every machine answered", replace(sample, step=1))):
            carry_out(order)
            settle(server)
            figures.append(memory(server, f"{named}, 2 workers{label}", Bar(at_most=1_024)))
    return figures


def starting(server: Server, named: str, prepared: Bar | None = None) -> list[Figure]:
    """Measure from the start of the process until background work has ended, while ``/health`` is requested all the
    time. ``prepared``: the bar for all of it."""
    loaded: list[float] = []
    settled: list[float] = []

    def wait() -> None:
        wait_until_loaded(server)
        loaded.append(time.monotonic())
        settled.append(settle(server, _HEALTH_SHARE))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    health = shapes.HEALTH_GET.request(Machine(0))
    ask_once_up(server, health)
    up = time.monotonic()
    waits: list[tuple[float, float]] = []
    while waiting.is_alive():
        time.sleep(_HEALTH_PAUSE)
        waited, began = _waited(server), time.monotonic()
        ask(server.port, health)
        took = time.monotonic() - began
        without_core = max(0.0, _waited(server) - waited)  # less where a process has ended
        waits.append((began, 1_000 * max(0.0, took - without_core)))
    if not settled:
        raise RuntimeError(f"{named}: the first load did not end")
    loading = max((took for began, took in waits if began < loaded[0]), default=0.0)
    preparing = max((took for began, took in waits if began >= loaded[0]), default=0.0)
    return [
        Figure(f"{named}: load", once(loaded[0] - server.started), "s", Bar(at_most=20)),
        Figure(f"{named}: /health answers after", once(up - server.started), "s"),
        Figure(f"{named}: longest wait for /health while loading", once(loading), "ms"),
        Figure(f"{named}: longest wait for /health while answers are prepared", once(preparing), "ms", Bar(at_most=5)),
        Figure(f"{named}: load and preparation together", once(settled[0] - server.started), "s", prepared),
        Figure(f"{named}: CPU of load and preparation", once(server.process.cpu_seconds()), "s"),
    ]


def _waited(server: Server) -> float:
    """Return for how many seconds the service and this process were ready to run and had no core."""
    own = Path("/proc/self/schedstat").read_text().split()[1]
    return server.process.waited_seconds() + int(own) / 1e9


def settle(server: Server, share: float = _SETTLED_SHARE) -> float:
    """Wait until the background work of the service is done; return when that was, on the monotonic clock. ``share``:
    of a core, for the requests meanwhile.
    """
    until = time.monotonic() + _SETTLE_AT_MOST
    while True:
        began, before = time.monotonic(), server.process.cpu_seconds()
        time.sleep(0.5)
        busy = (server.process.cpu_seconds() - before) / (time.monotonic() - began)
        if busy < share or time.monotonic() > until:
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
    process = contestant.server.process
    windows: list[tuple[float, float]] = []
    waited: list[float] = []
    in_force: list[float] = []
    with generating(order) as outcome:
        time.sleep(_QUIET_SECONDS)
        for name, text, proof in versions:
            before, waited_before = time.monotonic(), process.waited_seconds()
            answers.change(name, text)
            committed = time.monotonic()
            while proof.encode() not in ask(port, request):
                if time.monotonic() - committed > 30:
                    raise RuntimeError(f"{contestant.label}: a change was not in force after 30 s")
                time.sleep(_HEALTH_PAUSE)
            in_force.append(1_000 * (time.monotonic() - committed))
            time.sleep(_AFTER_CHANGE_SECONDS)
            windows.append((before, time.monotonic()))
            waited.append(1_000 * (process.waited_seconds() - waited_before))
        result = outcome()
    longest = [
        max((1_000 * took for sent, took in result.delays if begin - took <= sent <= end), default=0.0)
        for begin, end in windows
    ]
    quiet = [1_000 * took for sent, took in result.delays if sent < windows[0][0] - took]
    return [
        Figure(f"{contestant.label}: one change in force after", Spread.of(in_force), "ms", in_force_bar),
        Figure(f"{contestant.label}: longest delay of others meanwhile", Spread.of(longest), "ms", Bar(at_most=20)),
        Figure(f"{contestant.label}: time the service waited for its core meanwhile", Spread.of(waited), "ms"),
        Figure(f"{contestant.label}: longest delay in {_QUIET_SECONDS:g} s before", once(max(quiet, default=0)), "ms"),
    ]


def memory(server: Server, named: str, bar: Bar | None) -> Figure:
    """Measure the memory of all processes, each shared page counted once (PSS)."""
    _, proportional = server.process.memory()
    return Figure(f"{named}: memory of all processes", once(proportional), "MB", bar)


def once(value: float) -> Spread:
    """Return the spread of a value that is measured once in a run."""
    return Spread(value, value, value)
