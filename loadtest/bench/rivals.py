"""answerd compared with the programs that people use or write in its place (loadtest/rivals/), on the same requests.

Knows what each contestant is asked and how often. A rival that is not installed is named and left out.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import median

from loadtest.bench import rival_servers, shapes
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.generator import Order
from loadtest.bench.load import Contestant, Round, ask, carry_out, explained, generating, turn
from loadtest.bench.loading import once
from loadtest.bench.rival_servers import Rival
from loadtest.bench.rival_table import AT_ONCE, MEMORY, START, WRONG
from loadtest.bench.servers import START_SECONDS, CannotStart, Server, answerd, hello, nginx, nginx_program
from loadtest.bench.shapes import Shape
from loadtest.bench.stores import stored
from loadtest.bench.throughput import FLEET, contest, ratio
from loadtest.fleet import (
    RACK,
    Documents,
    Machine,
    kickstart_fleet,
    selecting_fleet,
    templated_fleet,
    verbatim_document,
)

AHEAD = Bar(at_least=1.5)
"""answerd against the fastest rival that makes an answer from documents."""

GROUPS = 1_000
"""Groups with ``match`` of one contestant."""

FEW = 100
"""Machines of a rival whose every request costs more with each of them."""

OURS_POST = "answerd templated, 3 KB POST"
OURS_GET = "answerd, a kickstart filled from a row, GET"

_AT_ONCE_SECONDS = 20.0
"""No further round of all machines at once after so long."""

_POLL_SECONDS = 0.005


@dataclass(frozen=True)
class Entry:
    """A contestant. ``makes_answers``: from documents, so that ours is compared with it. ``asking``: of a slow one only
    so many machines ask once each in a round, which then ends when all have their answer; 0 for rounds of a fixed time,
    of which requests are left over that would cost the next contestant."""

    contestant: Contestant
    start_seconds: float
    makes_answers: bool = False
    asking: int = 0

    @property
    def label(self) -> str:
        """What its rows are named."""
        return self.contestant.label

    def warm(self) -> None:
        """Ask for machines of the sample once, each answer checked. Raises `WrongAnswers`."""
        with explained(self.contestant):
            carry_out(self._pass() if self.asking else self.contestant.order())

    def turn(self, seconds: float) -> Round:
        """Run one round. Raises `WrongAnswers`."""
        if not self.asking:
            return turn(self.contestant, seconds)
        process = self.contestant.server.process
        before = process.cpu_seconds()
        with explained(self.contestant):
            outcome = carry_out(self._pass())
        return Round(outcome.requests, outcome.seconds, process.cpu_seconds() - before, outcome.cpu_seconds)

    def _pass(self) -> Order:
        return replace(self.contestant.order(), step=max(1, self.contestant.machines // self.asking))


def rivals(effort: Effort) -> list[Figure]:
    """Measure every installed rival, under a Proxmox installer's POST of 3 KB or an Anaconda's GET: the cost of a
    request, all machines at once, memory, and the time to start."""
    with ExitStack() as running:
        entries = [*_bare(running), *_ours(running), *_theirs(running)]
        for entry in entries:
            entry.warm()
        turns: dict[str, list[Round]] = {entry.label: [] for entry in entries}
        for _ in range(effort.rounds):
            for entry in entries:
                turns[entry.label].append(entry.turn(effort.seconds))
        others = [figure for entry in entries for figure in _beside_rounds(entry, effort.rounds)]
    figures = list(chain.from_iterable(contest(label, rounds) for label, rounds in turns.items()))
    return figures + compared(entries, turns) + others


def compared(entries: Sequence[Entry], turns: dict[str, list[Round]]) -> list[Figure]:
    """Return the ratios of ours to the others under the same request, and that to the fastest which makes an answer,
    which has the bar."""
    figures: list[Figure] = []
    for ours, kind in ((OURS_POST, "POST"), (OURS_GET, "GET")):
        asked = [entry for entry in entries if entry.label.endswith(kind) and entry.label != ours]
        for entry in asked:
            figures += ratio(ours, turns[ours], entry.label, turns[entry.label])
        rates = {
            entry.label: median(turn.rate for turn in turns[entry.label]) for entry in asked if entry.makes_answers
        }
        if rates:
            fastest = max(rates, key=lambda label: rates[label])
            what = f"the fastest that makes an answer from documents ({fastest})"
            figures += ratio(ours, turns[ours], what, turns[fastest], AHEAD)
    return figures


def _beside_rounds(entry: Entry, rounds: int) -> Iterator[Figure]:
    """Measure all machines asking at once, each over a connection of its own with no time between them; and memory."""
    order = order_at_once(entry.contestant)
    delays: list[float] = []
    wrong: list[float] = []
    until = time.monotonic() + _AT_ONCE_SECONDS
    while len(delays) < rounds and (not delays or time.monotonic() < until):
        with generating(order) as outcome:
            result = outcome()
        taken = sorted(seconds for _, seconds in result.delays)
        delays.append(taken[len(taken) * 99 // 100] * 1_000)
        wrong.append(float(result.wrong))
    label = f"{entry.label}, {order.connections:,} machines at once"
    yield Figure(f"{label}: {AT_ONCE}", Spread.of(delays), "ms")
    yield Figure(f"{label}: {WRONG}", Spread.of(wrong), "requests")
    _, proportional = entry.contestant.server.process.memory()
    yield Figure(f"{entry.label}: {MEMORY}", once(proportional), "MB")
    yield Figure(f"{entry.label}: {START}", once(entry.start_seconds), "s")


def order_at_once(contestant: Contestant) -> Order:
    """Return the order in which all machines that a contestant is asked for ask together: one of each group, where
    those claim."""
    asking = contestant.machines // contestant.every
    return replace(contestant.order(), step=contestant.every, connections=asking, delays=True)


# --- the contestants -------------------------------------------------------------------------------------------------


def _bare(running: ExitStack) -> Iterator[Entry]:
    """Start what answers without looking at a request."""
    yield _entered(running, "pywsgi hello, 3 KB POST", hello("bare"), shapes.ALIKE_POST)
    yield _entered(running, "pywsgi + Bottle hello, 3 KB POST", hello("bottle"), shapes.ALIKE_POST)
    if nginx_program():
        content = verbatim_document(Machine(0))[1].encode()
        yield _entered(running, "nginx, a file of the same size, GET", nginx(content), shapes.STATIC_GET)
    else:
        _name_missing("nginx", "the program")


def _ours(running: ExitStack) -> Iterator[Entry]:
    """Start answerd, once for each set of documents."""
    sets: list[tuple[str, Documents, Shape, int, int]] = [
        (OURS_POST, templated_fleet(FLEET), shapes.TEMPLATED_POST, FLEET, 1),
        (
            f"answerd, {GROUPS:,} groups with match, 3 KB POST",
            selecting_fleet(GROUPS, "{rack}-*"),
            shapes.SELECTED_POST,
            GROUPS * RACK,
            RACK,
        ),
        ("answerd verbatim, GET", map(verbatim_document, map(Machine, range(FLEET))), shapes.VERBATIM_GET, FLEET, 1),
        (OURS_GET, kickstart_fleet(FLEET), shapes.KICKSTART_GET, FLEET, 1),
    ]
    for label, documents, shape, fleet, every in sets:
        settings = running.enter_context(stored(documents)).settings
        yield _entered(running, label, answerd(settings), shape, fleet, every)


@dataclass(frozen=True)
class _Asked:
    """What a rival is asked, and for how many machines."""

    rival: Rival
    shape: Shape
    kind: str
    fleets: tuple[int, ...] = (FLEET,)
    each: str = ""
    """What it has one of for each machine, where their number is in the label."""
    makes_answers: bool = True
    is_slow: bool = False


_ASKED = (
    _Asked(rival_servers.FASTAPI, shapes.TEMPLATED_POST, "3 KB POST"),
    _Asked(rival_servers.FLASK, shapes.TEMPLATED_POST, "3 KB POST"),
    # It reads the names of all its files for each interface: a large fleet would take it seconds a request.
    _Asked(rival_servers.WIKI, shapes.WIKI_POST, "3 KB POST", (FEW,), "files", is_slow=True),
    _Asked(rival_servers.AUTOPVE, shapes.AUTOPVE_POST, "3 KB POST", (FEW, GROUPS), "answers", is_slow=True),
    _Asked(rival_servers.MATCHBOX, shapes.MATCHBOX_GET, "GET", (FEW, GROUPS), "groups", is_slow=True),
    _Asked(rival_servers.COBBLER, shapes.COBBLER_GET, "GET", (GROUPS,), "systems", is_slow=True),
    _Asked(rival_servers.PXE_PILOT, shapes.PXE_PILOT_GET, "GET", makes_answers=False),
)


def _theirs(running: ExitStack) -> Iterator[Entry]:
    """Start the rivals that are installed; name the others."""
    for asked in _ASKED:
        lacking = asked.rival.missing()
        if lacking:
            _name_missing(asked.rival.name, lacking)
            continue
        for fleet in asked.fleets:
            data = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="answerd-bench-")))
            number = f", {fleet:,} {asked.each}" if asked.each else ""
            label = f"{asked.rival.name}{number}, {asked.kind}"
            started = asked.rival.start(data, [Machine(machine) for machine in range(fleet)])
            entry = _entered(running, label, started, asked.shape, fleet)
            yield replace(entry, makes_answers=asked.makes_answers, asking=FEW if asked.is_slow else 0)


def _name_missing(name: str, lacking: str) -> None:
    print(f"missing: {name}: it needs {lacking} (loadtest/rivals/README.md)", file=sys.stderr)


def _entered(
    running: ExitStack,
    label: str,
    server: AbstractContextManager[Server],
    shape: Shape,
    fleet: int = FLEET,
    every: int = 1,
) -> Entry:
    """Start a contestant and ask it once. Raises `CannotStart`."""
    entered = running.enter_context(server)
    first = Machine(0)
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            answer = ask(entered.port, shape.request(first))
        except OSError as error:
            answer = str(error).encode()
        if answer.startswith(b"HTTP/1.1 200 ") and shape.proof_of(first) in answer:
            break
        if entered.process.child.poll() is not None or time.monotonic() > until:
            raise CannotStart(f"{label} gives no answer: {answer[-500:]!r}")
        time.sleep(_POLL_SECONDS)
    return Entry(Contestant(label, entered, shape, fleet, every), time.monotonic() - entered.started)
