"""Figures of full load: the cost of a request, its growth with the answer set, and first requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from statistics import median

from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.load import Contestant, Round, alternate, carry_out, paired, wait_until_loaded
from loadtest.bench.loading import settle
from loadtest.bench.servers import ALL_CORES, SERVICE_CORE, Server, answerd
from loadtest.bench.shapes import Shape
from loadtest.bench.stores import stored
from loadtest.fleet import (
    RACK,
    Documents,
    Machine,
    merged_document,
    rack_document,
    selecting_fleet,
    templated_document,
    templated_fleet,
    verbatim_document,
)

FLEET = 1_000
"""Machines that are asked for in turn where the size of the fleet is not what is measured."""


KINDS: tuple[tuple[str, str, Shape], ...] = (
    ("/health", "verbatim", shapes.HEALTH_GET),
    ("verbatim, GET", "verbatim", shapes.VERBATIM_GET),
    ("group + machine merged, GET", "merged", shapes.MERGED_GET),
    ("templated, 3 KB POST", "templated", shapes.TEMPLATED_POST),
    ("templated, 0.5 KB POST", "templated", shapes.NARROW_POST),
)
"""The kinds of answers: each with its answer set and its request."""


def answer_sets() -> dict[str, Documents]:
    """Return the documents of each answer set of `KINDS`."""
    machines = [Machine(number) for number in range(FLEET)]
    racks = [rack_document(machine.rack) for machine in machines[::RACK]]
    return {
        "verbatim": map(verbatim_document, machines),
        "merged": chain(racks, map(merged_document, machines)),
        "templated": chain(racks, map(templated_document, machines)),
    }


def requests(effort: Effort) -> list[Figure]:
    """Measure every kind of answer."""
    with ExitStack() as running:
        sets = {name: running.enter_context(stored(documents)) for name, documents in answer_sets().items()}
        servers = {name: running.enter_context(answerd(answers.settings)) for name, answers in sets.items()}
        contestants = [Contestant(label, servers[name], shape, FLEET) for label, name, shape in KINDS]
        logging = running.enter_context(answerd({**sets["templated"].settings, "SERVICE_LOG": "all"}))
        contestants.append(Contestant("templated, 3 KB POST, with its log", logging, shapes.TEMPLATED_POST, FLEET))
        turns = alternate(contestants, effort.rounds, effort.seconds)
    figures = list(chain.from_iterable(contest(label, rounds) for label, rounds in turns.items()))
    return figures + generating(turns)


def contest(label: str, rounds: Sequence[Round]) -> Iterator[Figure]:
    """Yield the figures of one contestant: rate and cost."""
    yield Figure(label, Spread.of([turn.rate for turn in rounds]), "requests/s")
    yield Figure(label, Spread.of([turn.cost for turn in rounds]), "µs of CPU a request")


def generating(turns: Mapping[str, Sequence[Round]]) -> list[Figure]:
    """Return the load of the generator: where its core is full, it was measured and not the service."""
    busiest = max(turns, key=lambda label: median(turn.generator_busy for turn in turns[label]))
    rounds = turns[busiest]
    busy = Spread.of([100 * turn.generator_busy for turn in rounds])
    return [
        Figure(f"the generator's core at its busiest ({busiest})", busy, "% busy"),
        Figure(
            "the generator's own ceiling there", Spread.of([turn.generator_ceiling for turn in rounds]), "requests/s"
        ),
    ]


def ratio(
    label: str,
    upper: Sequence[Round],
    to: str,
    lower: Sequence[Round],
    bar: Bar | None = None,
    cpu_bar: Bar | None = None,
) -> Iterator[Figure]:
    """Yield the ratios of one contestant to another, by throughput and by CPU time."""
    yield Figure(f"{label} / {to}", paired(upper, lower, lambda turn: turn.rate), "x", bar)
    yield Figure(f"{label} / {to}, by CPU time", paired(upper, lower, lambda turn: 1 / turn.cost), "x", cpu_bar)


def scale(effort: Effort) -> list[Figure]:
    """Measure the templated answer from fleets of different sizes."""
    with ExitStack() as running:
        contestants = []
        for size in effort.sizes:
            answers = running.enter_context(stored(templated_fleet(size)))
            server = running.enter_context(answerd(answers.settings))
            contestants.append(Contestant(f"templated, {size:,} machines", server, shapes.TEMPLATED_POST, size))
            settle(server)  # they share a core: preparing a million answers takes minutes of it
        turns = alternate(contestants, effort.rounds, effort.seconds)
    figures: list[Figure] = []
    first = turns[contestants[0].label]
    for contestant in contestants:
        rounds = turns[contestant.label]
        figures += contest(contestant.label, rounds)
        if contestant is not contestants[0]:
            figures += ratio(contestant.label, rounds, f"{effort.sizes[0]} machines", first, Bar(at_least=0.95))
    return figures + generating(turns)


_PATTERNS = {"exact": "{rack}-u07", "prefix*": "{rack}-*", "*inner*": "*{rack}-u0?"}


def selectors(effort: Effort) -> list[Figure]:
    """Measure groups that claim by ``match`` alone, few and many: one holds for each request."""
    figures: list[Figure] = []
    for name, pattern in _PATTERNS.items():
        with ExitStack() as running:
            contestants = []
            for groups in effort.groups:
                answers = running.enter_context(stored(selecting_fleet(groups, pattern)))
                server = running.enter_context(answerd(answers.settings))
                label = f"{groups:,} groups with match, {name}"
                contestants.append(Contestant(label, server, shapes.SELECTED_POST, groups * RACK, RACK))
            turns = alternate(contestants, effort.rounds, effort.seconds)
        few, many = (turns[contestant.label] for contestant in contestants)
        for contestant in contestants:
            figures += contest(contestant.label, turns[contestant.label])
        bar = None if pattern.startswith("*") else Bar(at_least=0.9)  # such patterns are tried one by one
        figures += ratio(contestants[1].label, many, f"{effort.groups[0]} groups", few, bar)
    return figures


def workers(effort: Effort) -> list[Figure]:
    """Measure two workers against one, both on one core, which shows what sharing costs; as many workers as there are
    cores, each on its own; and the memory of one more worker."""
    cores = len(ALL_CORES)
    with ExitStack() as running:
        answers = running.enter_context(stored(templated_fleet(FLEET)))
        contestants = []
        for count, on in ((1, [SERVICE_CORE]), (2, [SERVICE_CORE]), (cores, ALL_CORES))[: 3 if cores > 1 else 2]:
            server = running.enter_context(answerd({**answers.settings, "SERVICE_WORKERS": count}, core=on))
            where = "one core" if len(on) == 1 else f"{cores} cores"
            label = f"templated, {count} worker{'s'[: count - 1]} on {where}"
            contestants.append(Contestant(label, server, shapes.TEMPLATED_POST, FLEET))
        turns = alternate(contestants, effort.rounds, effort.seconds)
        used = [contestant.server.process.memory() for contestant in contestants]
    rounds = list(turns.values())
    figures = [figure for label, of_one in turns.items() for figure in contest(label, of_one)]
    figures += ratio("two workers", rounds[1], "one", rounds[0])
    if cores > 1:
        figures += ratio(f"{cores} workers on {cores} cores", rounds[2], "one", rounds[0])
    return [*figures, Figure("memory of one more worker", Spread.of([used[1] - used[0]]), "MB")]


AT_A_TIME = 256
"""Connections of the storm: more machines at once wait in the kernel's queue, for the same time."""


_PREPARED_LATER = 20_000
"""Documents of a set whose answers are prepared after the start, so that the first ones have no bar."""


def cold(effort: Effort) -> list[Figure]:
    """Measure a storm on a service just started, and the same machines once more. Every answer is checked."""
    figures = []
    for size in effort.storms:
        passes: list[tuple[Pass, Pass]] = []
        with stored(templated_fleet(size)) as answers:
            for _ in range(effort.rounds):
                with answerd(answers.settings) as server:
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
        bar = Bar(at_least=0.8) if size < _PREPARED_LATER else None
        figures.append(Figure(f"cold / warm, {size:,} machines", rates, "x", bar))
        figures.append(Figure(f"cold / warm, {size:,} machines, by CPU time", costs, "x"))
    return figures


class Pass:
    """Every machine of a fleet asks once."""

    def __init__(self, server: Server, machines: int) -> None:
        order = replace(Contestant("", server, shapes.TEMPLATED_POST, machines).order(), step=1, connections=AT_A_TIME)
        before = server.process.cpu_seconds()
        outcome = carry_out(order)
        self.rate = outcome.requests / outcome.seconds
        self.cost = (server.process.cpu_seconds() - before) / outcome.requests * 1e6
        self.generator_busy = 100 * outcome.cpu_seconds / outcome.seconds
