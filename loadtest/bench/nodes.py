"""Figures of nodes on PostgreSQL: answers against the SQLite store, changes of other nodes, loading, catching up."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from answerd.store.postgres import PostgresStore
from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.load import Contestant, alternate, ask, ask_once_up
from loadtest.bench.loading import once, settle
from loadtest.bench.servers import START_SECONDS, CannotStart, Server, answerd
from loadtest.bench.stores import put, stored
from loadtest.bench.throughput import contest, ratio
from loadtest.fleet import Machine, templated_document, templated_fleet
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of

AGAINST_SQLITE = Bar(at_least=0.98)
IN_FORCE = Bar(at_most=50)
"""Milliseconds until a change, or a report, is in force on another node."""

LOADED = Bar(at_most=10)
"""Seconds for 100,000 documents."""

MISSED = 10_000
_POLL_SECONDS = 0.001
_REPORT = re.compile(rb"/report/[\w.-]+")


def nodes(effort: Effort) -> list[Figure]:
    """Measure a node's answers, one change, an empty replica, and a replica that has missed changes."""
    if binaries() is None:
        print(f"bench: nodes: {MISSING}", file=sys.stderr)
        return []
    with ExitStack() as running:
        place = running.enter_context(clusters())
        cluster = Cluster(home_of(place, "primary")).start()
        running.callback(cluster.stop)
        url = cluster.database()
        store = PostgresStore(url)
        store.prepare()
        put(store, templated_fleet(effort.load))
        replica = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="answerd-bench-"))) / "replica.db"
        return [
            *_loading(effort, url, replica),
            *_answering(effort, url, replica),
            *_changes(effort, url, replica, store),
            *_reports(effort, url, replica, store),
            *_catching_up(effort, url, replica, store),
        ]


def _node(url: str, replica: Path, *, wait: bool = True) -> AbstractContextManager[Server]:
    settings = {"SERVICE_STORE": "postgres", "SERVICE_DB_URL": url, "SERVICE_REPLICA_PATH": replica}
    return answerd(settings, wait=wait)


def _loading(effort: Effort, url: str, replica: Path) -> list[Figure]:
    named = f"{effort.load:,} machines from the database"
    with _node(url, replica, wait=False) as server:
        machine = Machine(effort.load - 1)
        ask_once_up(server, shapes.HEALTH_GET.request(machine))
        _until(server, machine, machine.host)
        return [Figure(f"{named}: load into an empty replica", once(time.monotonic() - server.started), "s", LOADED)]


def _changes(effort: Effort, url: str, replica: Path, store: PostgresStore) -> list[Figure]:
    """Measure the time from a change by another program until this node answers from it."""
    times = []
    with _node(url, replica) as server:
        settle(server)
        machine = Machine(effort.load // 2)
        for number in range(effort.changes):
            mark = f"-changed-{number}"
            put(store, [templated_document(machine, mark)])
            times.append(1_000 * _until(server, machine, machine.host + mark))
            time.sleep(0.2)
    return [Figure("one change in force on another node after", Spread.of(times), "ms", IN_FORCE)]


def _reports(effort: Effort, url: str, replica: Path, store: PostgresStore) -> list[Figure]:
    """Measure the time from a report to one node until another node refuses the machine."""
    machines = [f"5254ff{number:06x}" for number in range(effort.changes)]
    members = "".join(f"# answer: member {machine}\n" for machine in machines)
    script = f"#!ipxe\n{members}# answer: once\nkernel vmlinuz {{{{ report }}}}\n"
    put(store, [("groups/installing.ipxe", script)])
    times = []
    with _node(url, replica) as first, _node(url, replica.with_name("second.db")) as second:
        for server in (first, second):
            settle(server)
        for machine in machines:
            boot = f"GET /ipxe?mac={machine} HTTP/1.1\r\nHost: bench\r\n\r\n".encode()
            found = _REPORT.search(ask(first.port, boot))
            if found is None:
                raise CannotStart("the script has no URL to report to")
            began = time.monotonic()
            ask(first.port, b"GET %b/installed HTTP/1.1\r\nHost: bench\r\n\r\n" % found[0])
            while b"is installed" not in ask(second.port, boot):
                if time.monotonic() - began > START_SECONDS:
                    raise CannotStart("a report was not in force in time")
                time.sleep(_POLL_SECONDS)
            times.append(1_000 * (time.monotonic() - began))
            time.sleep(0.2)
    return [Figure("one report in force on another node after", Spread.of(times), "ms", IN_FORCE)]


def _catching_up(effort: Effort, url: str, replica: Path, store: PostgresStore) -> list[Figure]:
    """Measure a start after changes that the node missed: until it answers from the last of them."""
    missed = min(MISSED, effort.load)
    put(store, (templated_document(Machine(number), "-missed") for number in range(missed)))
    last = Machine(missed - 1)
    with _node(url, replica, wait=False) as server:
        ask_once_up(server, shapes.HEALTH_GET.request(last))
        _until(server, last, f"{last.host}-missed")
        took = time.monotonic() - server.started
    return [Figure(f"start and catch-up after {missed:,} missed changes", once(took), "s")]


def _answering(effort: Effort, url: str, replica: Path) -> list[Figure]:
    with stored(templated_fleet(effort.load)) as answers, ExitStack() as running:
        sqlite = running.enter_context(answerd(answers.settings))
        node = running.enter_context(_node(url, replica))
        contestants = [
            Contestant("a node on PostgreSQL", node, shapes.TEMPLATED_POST, effort.load),
            Contestant("SQLite", sqlite, shapes.TEMPLATED_POST, effort.load),
        ]
        for contestant in contestants:
            settle(contestant.server)
        turns = alternate(contestants, effort.rounds, effort.seconds)
    first, second = (contestant.label for contestant in contestants)
    figures = [figure for label, rounds in turns.items() for figure in contest(label, rounds)]
    return [*figures, *ratio(first, turns[first], second, turns[second], AGAINST_SQLITE)]


def _until(server: Server, machine: Machine, proof: str) -> float:
    """Wait until the answer to a machine holds a text; seconds."""
    request, began = shapes.TEMPLATED_POST.request(machine), time.monotonic()
    while proof.encode() not in ask(server.port, request):
        if time.monotonic() - began > START_SECONDS:
            raise CannotStart(f"{proof} was not in force in time")
        time.sleep(_POLL_SECONDS)
    return time.monotonic() - began
