"""States of installs that several nodes share through PostgreSQL: docs/many-nodes.md#states-of-installs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import (
    OrderedMachine,
    machine_named,
    ordered_machine,
    remembered_machines,
)
from answerd.config import Config
from answerd.errors import StatesUnknown
from answerd.formats.family import Once
from answerd.installs.events import Event, audited
from answerd.installs.fold import Fold
from answerd.installs.hardware import MAC, SERIAL, Asked, Names, named_by_order
from answerd.installs.records import InstallMemory, Remembered, ReportedOn, no_row
from answerd.installs.states import Gate, Order, Refusal, ReportKind, Requested, Rules, State, judge
from answerd.server.http.parser import HeaderBlock, HttpRequest
from answerd.server.live_states import LiveStates, StatesAtFork
from answerd.server.report_app import take_report
from answerd.server.request_log import RequestLog
from answerd.store import StoreError
from answerd.store.files import FileStore
from answerd.store.log import newest_write
from answerd.store.opening import open_states
from answerd.store.postgres_connection import PostgresServer
from answerd.store.state_sync import DatabaseStates, NodeStates, _deliver, exchange
from answerd.store.state_tables import COMPACTED_AT, KEPT_BYTES, Sighting, insert, note, run, run_many, setting
from answerd.store.states import GivenOrder, Position, Waiting, open_state_file, take_states
from answerd.store.tables import execute
from tests.support.installs import Ordered, Reported
from tests.support.postgres import MISSING, binaries, empty_store
from tests.support.states import StateWriter

pytestmark = pytest.mark.skipif(binaries() is None, reason=MISSING)

RULES = Rules(starts=2)
NOTHING_READ = InstallMemory(RULES), Position()
AWAY = PostgresServer("postgresql://answerd@127.0.0.1:1/none")
TABLES = ("events", "unknown_machines", "install_settings", "counter", "log")


class Node:
    """One node: its states, and what its replicator does."""

    def __init__(self, path: Path, server: PostgresServer) -> None:
        self.server, self.path, self.said = server, path, list[str]()
        self.store = NodeStates(path, server, RULES)
        self.writer = StateWriter(self.store)

    def sync(self) -> bool:
        with self.server.connected() as database, self.server.faults("read"):
            return exchange(self.store, database, self.said.append)

    def deliver(self) -> None:
        """What `sync` does, to where the connection is lost."""
        with self.server.connected() as database, self.server.faults("written"):
            _deliver(self.store, database)

    def ask(self, at: float, document: str = "ks", name: str = "web-01") -> None:
        happened = Requested(document, Gate.ANSWERS, Once.ON, at)
        number = sum(name.encode())
        mac = f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}"
        self.writer.write(name, happened, {mac.replace(":", ""): mac}, "rack")

    def report(self, word: ReportKind, at: float, attempt: int = 1, name: str = "web-01") -> None:
        self.writer.write(name, Reported(word, attempt, at, word.value), detail=word.value, body=b"log")

    def order(self, order: Order, at: float, name: str = "web-01") -> None:
        self.writer.write(name, Ordered(order, at))

    def all(self) -> dict[str, Remembered]:
        return self.writer.all()

    def state(self, name: str = "web-01") -> State:
        return self.writer.state(name)

    def attempt(self, name: str = "web-01") -> int:
        """How many arms count for a machine."""
        return len(self.all()[name].record.attempts)


def in_database(server: PostgresServer) -> dict[str, Remembered]:
    memory, _ = DatabaseStates(server, RULES).catch_up(InstallMemory(RULES), Position())
    return {remembered.record.name: remembered for remembered in remembered_machines(Catalogue(), memory)}


def in_the_database(server: PostgresServer, name: str) -> OrderedMachine:
    """What an order to a machine names, as a command finds it."""
    memory, _ = DatabaseStates(server, RULES).catch_up(InstallMemory(RULES), Position())
    machine = machine_named(Catalogue(), memory, name)
    assert machine is not None
    return ordered_machine(Catalogue(), memory, machine, Order.ARM)


def folds_of(node: Node) -> dict[str, Fold]:
    """What a node knows of each identity, but when it was heard of: what was forgotten may be gone already."""
    node.all()
    return {one: held.fold._replace(heard=0.0, group=None) for one, held in node.writer.memory.by_identity.items()}


def waiting(node: Node) -> int:
    found = node.store.waiting()
    assert found is not None
    return found.messages


def shown(node: Node) -> list[str]:
    return [event.kind for event in node.store.history(["web01"])]


@pytest.fixture
def server() -> PostgresServer:
    return empty_store().server


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory in memory, where there is one: a node syncs its disk at every event."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as made:
        yield Path(made)


@pytest.fixture
def nodes(place: Path, server: PostgresServer) -> list[Node]:
    made = [Node(place / f"{name}.states", server) for name in "abc"]
    for node in made:
        node.sync()
    return made


def all_synced(nodes: list[Node]) -> None:
    """Rounds: what the last node tells in the first, the first hears in the second."""
    for _ in range(3):
        for node in nodes:
            node.sync()


def test_the_history_and_the_unknown_machines_of_all_nodes_are_at_each(nodes: list[Node]) -> None:
    a, b, _ = nodes
    a.ask(1.0)
    a.report(ReportKind.PROGRESS, 2.0)
    a.report(ReportKind.INSTALLED, 3.0)
    for node, first in ((a, 4.0), (b, 2.0)):
        node.store.note_sightings([Sighting("52:54:00:00:00:09", first, first + 0.5, '{"path": ["/ks"]}')])
        all_synced(nodes)
    events = [(event.kind, event.origin, event.body) for event in b.store.history(["web01"])]
    assert events == [
        ("given", "192.0.2.1", b""),
        ("progress", "192.0.2.1", b"log"),
        ("installed", "192.0.2.1", b"log"),
    ]
    (machine,) = b.store.unknown()
    assert (machine.machine, machine.first, machine.last, machine.asked) == ("52:54:00:00:00:09", 2.0, 4.5, 2)


def test_the_audit_of_all_nodes_is_at_each_and_outlives_a_forget(nodes: list[Node], server: PostgresServer) -> None:
    a, b, _ = nodes
    a.ask(1.0)
    all_synced(nodes)
    machines = [in_the_database(server, "web-01")]
    known = a.store.catch_up(*NOTHING_READ)
    a.store.order(GivenOrder(Order.ARM, machines, 2.0, "command line, maria"), known)
    a.store.order(GivenOrder(Order.FORGET, machines, 3.0, "command line, maria"), known)
    DatabaseStates(server, RULES).order(GivenOrder(Order.DISARM, machines, 4.0, "command line, tom"), NOTHING_READ)
    all_synced(nodes)
    for place in (a.store, b.store, DatabaseStates(server, RULES)):
        found = [(event.label, event.origin.rpartition(" ")[2], event.detail) for event in place.audited()]
        assert found == [("disarm", "tom", "1"), ("forget", "maria", "1"), ("arm", "maria", "1")]
    assert waiting(a) == 0


def test_the_audit_keeps_the_newest_entries(nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("answerd.store.state_tables.MOST_AUDITED", 3)
    a, b, _ = nodes
    assert a.store.is_empty()
    for number in range(5):
        a.store.note_audited(audited("log in", float(number), "console, maria, 192.0.2.1"))
        all_synced(nodes)
    a.store.note_audited(audited("log in", 5.0, "console, maria, 192.0.2.1"))
    assert [event.at for event in a.store.audited()] == [5.0, 4.0, 3.0]
    assert [event.at for event in b.store.audited()] == [4.0, 3.0, 2.0]
    assert a.store.is_empty()
    assert a.all() == {}


def test_without_the_database_the_history_is_that_of_this_node(
    place: Path, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(place / "a.states", server)
    node.sync()
    node.ask(1.0)
    away = Node(node.path, AWAY)
    away.report(ReportKind.INSTALLED, 2.0)
    tries: list[object] = []
    connect = PostgresServer.connect

    def counted(*given: Any) -> Any:
        tries.append(given)
        return connect(*given)

    monkeypatch.setattr(PostgresServer, "connect", counted)
    assert shown(away) == ["given", "installed"]
    assert away.store.unknown() == []
    assert [node.name for node in away.store.nodes()] == []
    assert len(tries) == 1  # not again for a while: each would take seconds


def test_an_order_is_in_force_here_at_once_and_soon_everywhere(nodes: list[Node]) -> None:
    a, b, c = nodes
    a.ask(1.0)
    a.report(ReportKind.INSTALLED, 2.0)
    a.order(Order.ARM, 3.0)
    assert (a.state(), a.attempt()) == (State.ARMED, 1)
    all_synced(nodes)
    assert {node.state() for node in nodes} == {State.ARMED}
    b.order(Order.DISARM, 4.0)
    all_synced(nodes)
    assert {node.state() for node in nodes} == {State.INSTALLED}
    c.order(Order.FORGET, 5.0)
    all_synced(nodes)
    assert [node.all() for node in nodes] == [{}, {}, {}]
    with a.store.reading() as database:  # the orders before it are gone from the files of the others too
        query = "SELECT kind FROM events WHERE kind <> 'audited'"
        assert {kind for (kind,) in run(database, query)} == {"given", "installed", "forgotten"}
    a.report(ReportKind.FAILED, 6.0, attempt=2)  # late: the machine was forgotten
    b.ask(7.0)
    all_synced(nodes)
    assert {(node.state(), node.attempt()) for node in nodes} == {(State.INSTALLING, 0)}


def test_orders_and_reports_at_a_cut_node_count_there_and_are_delivered_later(
    place: Path, server: PostgresServer
) -> None:
    node = Node(place / "a.states", server)
    node.sync()
    away = Node(node.path, AWAY)
    away.order(Order.ARM, 1.0)
    away.ask(2.0)
    away.report(ReportKind.INSTALLED, 3.0, attempt=2)
    assert away.state() is State.INSTALLED
    assert waiting(away) == 3
    Node(node.path, server).sync()
    assert away.store.waiting() == Waiting()
    assert {name: one.record.state for name, one in in_database(server).items()} == {"web-01": State.INSTALLED}


def test_a_node_that_reaches_the_database_arms_on_top_of_what_others_know(nodes: list[Node]) -> None:
    a, b, _ = nodes
    a.order(Order.ARM, 1.0)
    a.sync()
    b.order(Order.ARM, 2.0)  # it has not heard of the first
    all_synced(nodes)
    assert {node.attempt() for node in nodes} == {1}


def test_two_cut_nodes_that_arm_begin_one_attempt(place: Path, server: PostgresServer) -> None:
    made = [Node(place / f"{name}.states", server) for name in "ab"]
    all_synced(made)
    for at, node in enumerate(made):
        Node(node.path, AWAY).order(Order.ARM, float(at + 1))
    all_synced(made)
    assert [(node.state(), node.attempt()) for node in made] == [(State.ARMED, 2)] * 2


def test_an_order_of_the_command_line_reaches_every_node(nodes: list[Node], server: PostgresServer) -> None:
    nodes[0].ask(1.0)
    nodes[0].report(ReportKind.INSTALLED, 2.0)
    nodes[0].sync()
    shared = DatabaseStates(server, RULES)
    shared.order(
        GivenOrder(Order.ARM, [in_the_database(server, "web-01")], 3.0, "command line"),
        (InstallMemory(RULES), Position()),
    )
    all_synced(nodes)
    assert {node.state() for node in nodes} == {State.ARMED}
    memory, position = shared.catch_up(InstallMemory(RULES), Position())
    assert {held.record.state for held in memory.by_identity.values()} == {State.ARMED}
    assert memory.newest == 3.0
    shared.order(
        GivenOrder(Order.DISARM, [in_the_database(server, "web-01")], 4.0, "command line"),
        (InstallMemory(RULES), Position()),
    )
    again, later = shared.catch_up(memory, position)
    assert again is memory
    assert {held.record.state for held in memory.by_identity.values()} == {State.INSTALLED}
    assert shared.catch_up(memory, later) == (memory, later)


def test_an_answer_that_a_second_start_got_at_another_node_is_not_given_after_the_report(nodes: list[Node]) -> None:
    """The node that gives the answer does not know yet that another one has begun the second start, so it notes a
    repetition in the first. The grace after the report is for documents that the machine was not given before."""
    a, b, _ = nodes
    a.ask(0.0, "loader")
    all_synced(nodes)
    b.ask(60.0)
    all_synced(nodes)
    a.ask(RULES.start + 1, "loader")
    b.ask(RULES.start + 2)
    a.report(ReportKind.INSTALLED, RULES.start + 10)
    all_synced(nodes)
    for node in (a, b):
        record = node.all()["web-01"].record
        assert (record.state, record.starts) == (State.INSTALLED, 2)
        for document, gate in (("loader", Gate.LOADER), ("ks", Gate.ANSWERS)):
            asked = Requested(document, gate, Once.ON, RULES.start + 20)
            assert judge(record, asked, RULES).refusal is Refusal.INSTALLED
        late = Requested("late-commands", Gate.ANSWERS, Once.ON, RULES.start + 20)
        assert judge(record, late, RULES).refusal is None


def test_a_report_for_an_attempt_that_began_elsewhere_counts(nodes: list[Node]) -> None:
    a, b, _ = nodes
    a.ask(1.0)
    a.report(ReportKind.INSTALLED, 2.0)
    a.order(Order.ARM, 3.0)
    b.report(ReportKind.INSTALLED, 4.0, attempt=2)  # b has heard of nothing yet
    assert b.state() is State.INSTALLED
    all_synced(nodes)
    assert {(node.state(), node.attempt()) for node in nodes} == {(State.INSTALLED, 1)}


def test_a_node_that_was_never_filled_says_so(place: Path) -> None:
    node = Node(place / "a.states", AWAY)
    assert "never read" in node.store.unfilled
    with pytest.raises(StoreError, match="never read"):
        node.store.key()
    live = LiveStates(StatesAtFork(node.store, Config()), RequestLog("stderr", "off"))
    with pytest.raises(StatesUnknown):
        live.current()
    path = "/report/abc.1.def/installed"
    request = HttpRequest("POST", path, path, "", 1, HeaderBlock(()))
    assert take_report(request, "192.0.2.1", live).status == 500


def test_all_nodes_have_one_key_and_a_new_database_takes_it(nodes: list[Node], server: PostgresServer) -> None:
    assert len({node.store.key() for node in nodes}) == 1
    with server.connected() as database:
        execute(database, "DELETE FROM install_settings WHERE name = 'key'")
    restarted = Node(nodes[0].path, server)
    restarted.sync()
    assert Node(nodes[1].path, server).store.key() == restarted.store.key()


def test_states_that_are_imported_leave_the_key_that_nodes_have(
    nodes: list[Node], server: PostgresServer, place: Path
) -> None:
    node = nodes[0]
    before, _ = open_state_file(str(place / "before.db"), RULES)
    writer = StateWriter(before)
    writer.write("web-01", Requested("ks", Gate.ANSWERS, Once.ON, 1.0))
    writer.write("web-01", Reported(ReportKind.INSTALLED, 1, 2.0))
    key = node.store.key()
    assert take_states(before, DatabaseStates(server, RULES)) == 2
    assert node.sync()
    assert (node.store.key(), node.state(), node.said) == (key, State.INSTALLED, [])


def test_states_of_another_database_are_not_mixed_in(nodes: list[Node], server: PostgresServer) -> None:
    nodes[0].ask(1.0)
    with server.connected() as database:
        execute(database, "UPDATE install_settings SET value = 'ff' WHERE name = 'key'")
    other = Node(nodes[0].path, server)
    assert other.sync() is False
    assert "another database" in other.said[0]
    assert waiting(other) == 1


def test_an_event_that_this_version_cannot_read_is_passed_on(nodes: list[Node]) -> None:
    a, b, c = nodes
    a.report(ReportKind.INSTALLED, 1.0)
    with a.store.writing() as database:
        run(database, "UPDATE events SET kind = 'of a newer version', id = 'x'")
    a.report(ReportKind.COPIED, 2.0)
    all_synced(nodes)
    assert (b.state(), c.state()) == (State.COPIED, State.COPIED)
    with c.store.reading() as database:
        kinds = run(database, "SELECT kind FROM events ORDER BY kind").fetchall()
    assert kinds == [("copied",), ("of a newer version",)]


def test_a_nul_which_the_database_has_no_place_for_stops_nothing(nodes: list[Node]) -> None:
    nodes[0].writer.write("web-01", Reported(ReportKind.INSTALLED, 1, 1.0, "a\0b"), detail="a\0b")
    all_synced(nodes)
    assert nodes[1].state() is State.INSTALLED


def test_a_delivery_whose_answer_is_lost_has_one_effect(nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    a = nodes[0]
    a.report(ReportKind.PROGRESS, 1.0)
    monkeypatch.setattr(NodeStates, "writing", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        a.sync()
    monkeypatch.undo()
    all_synced(nodes)
    assert shown(a) == ["progress"]


@pytest.mark.parametrize("which", ["rolled back", "copied"])
def test_a_file_that_was_rolled_back_or_copied_loses_no_acknowledged_report_and_says_so(
    place: Path, server: PostgresServer, which: str
) -> None:
    """Reports that were delivered come back from the database, and later ones are delivered."""
    a, b = (Node(place / f"{name}.states", server) for name in "ab")
    all_synced([a, b])
    for number in range(3):
        a.ask(1.0, name=f"old-{number}")
    a.sync()
    if which == "rolled back":
        with a.store.reading() as database:
            run(database, "PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        before = a.path.read_bytes()
    for number in range(3):
        a.report(ReportKind.INSTALLED, 2.0, name=f"old-{number}")
    a.sync()
    with a.store.reading() as database:
        run(database, "PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    twin = place / ("a.states" if which == "rolled back" else "twin.states")
    for suffix in ("-wal", "-shm"):
        Path(f"{twin}{suffix}").unlink(missing_ok=True)
    twin.write_bytes(before if which == "rolled back" else a.path.read_bytes())
    if which == "copied":
        for number in range(3):
            a.ask(3.0, name=f"of-a-{number}")
        a.sync()
    node = Node(twin, server)
    if which == "copied":  # what an order finds is logged too
        node.said += node.store.before_order()
    for number in range(3):
        node.report(ReportKind.INSTALLED, 4.0, name=f"new-{number}")
    node.sync()
    all_synced([node, b])
    for one in (node, b):
        for number in range(3):
            assert one.state(f"old-{number}") is State.INSTALLED
            assert one.state(f"new-{number}") is State.INSTALLED
    assert ["rolled back or copied" in line for line in node.said] == [True]


def test_what_a_running_process_writes_is_noted_of_the_file_under_its_new_name(
    nodes: list[Node], server: PostgresServer
) -> None:
    """Else a later rollback would go unnoticed until the process is started again."""
    a = nodes[0]
    a.ask(1.0)
    a.sync()
    with a.store.writing() as local:
        note(local, "source", "new")
    a.report(ReportKind.INSTALLED, 2.0)
    a.sync()
    with a.store.reading() as local:
        (last,) = run(local, "SELECT id FROM events ORDER BY revision DESC LIMIT 1").fetchone()
    with server.connected() as database:
        assert setting(database, "last new") == last


def test_an_event_that_is_removed_again_has_no_node_compare_everything(
    nodes: list[Node], server: PostgresServer
) -> None:
    a, b, late = nodes
    a.ask(1.0)
    all_synced(nodes)
    a.order(Order.FORGET, 2.0)
    all_synced([a, b])
    before = b.store.position()
    late.report(ReportKind.INSTALLED, 3.0)  # of the attempt before
    late.deliver()
    with server.connected() as database:
        after = newest_write(database)
    assert before is not None
    assert after.revision > before.revision
    assert b.sync()
    assert b.state() is State.INSTALLED, "forget did not know of this install"
    assert b.store.position() == after


def test_records_that_are_dropped_go_from_the_database_unless_another_node_knows_more(
    nodes: list[Node], server: PostgresServer
) -> None:
    a, b, _ = nodes
    for name in ("gone", "installed"):
        a.ask(1.0, name=name)
    all_synced(nodes)
    b.report(ReportKind.INSTALLED, 2.0, name="installed")
    b.sync()
    a.store.drop({"gone": 9, "installed": 9}, lambda _: False)  # it has not heard of the report
    assert list(in_database(server)) == ["installed"]
    a.sync()
    assert StateWriter(a.store).state("installed") is State.INSTALLED


def test_a_node_that_dropped_its_last_event_is_not_taken_for_a_copy(
    nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = nodes[0]
    node.ask(1.0, name="stranger")
    node.sync()
    with monkeypatch.context() as patched:
        patched.setattr(node.store, "_server", AWAY)
        node.store.drop({"stranger": 9}, lambda _: False)
    source = node.store.source()
    node.sync()
    assert (node.said, node.store.source()) == ([], source)


def installed_often(node: Node) -> None:
    """Write what happens to a machine that is armed and installed many times: each time another card of it boots, and
    so each identity has a history of its own."""
    memory = InstallMemory(RULES)
    macs = {f"9000{number:08x}": f"{MAC}9000{number:08x}" for number in range(4)}
    every: Names = {"k1": f"{SERIAL}K1", **macs}
    events: list[Event] = []

    def happens(*more: Event) -> None:
        events.extend(event._replace(record="k1") for event in more)
        for event in more:
            memory.apply(event)

    for number in range(60):
        at = number * 1_000.0
        card = [*macs][number % len(macs)]
        for seconds, names in enumerate(({card: macs[card]}, every)):
            requested = Requested(f"{seconds}.ks", Gate.ANSWERS, Once.ON, at + seconds)
            decision = memory.ask(Asked(names), requested)
            happens(*decision.events)
        subject = ReportedOn(decision.giving, decision.identity, decision.attempt)
        happens(memory.reported(subject, ReportKind.INSTALLED, at + 500, None, None))
        typed = card if number % 3 else "k1"
        ordered = named_by_order(memory, typed, every[typed][0], None, None, Order.ARM, no_row)
        happens(memory.ordered(Order.ARM, "K1", ordered, at + 600, "admin"))
    with node.store.writing() as database:
        insert(database, events, None)


def test_nodes_come_to_rest_also_where_two_summaries_of_a_machine_are_more_than_is_kept(
    nodes: list[Node], server: PostgresServer
) -> None:
    installed_often(nodes[0])
    for _ in range(3):
        all_synced(nodes)
    with server.connected() as database:
        query = "SELECT length(content) FROM events WHERE kind = 'summary'"
        largest = max(size for (size,) in run(database, query).fetchall())
        before = newest_write(database)
    assert KEPT_BYTES + 2 * largest > COMPACTED_AT, "what this test is about"
    assert [node.sync() for node in nodes] == [False, False, False]
    with server.connected() as database:
        assert newest_write(database) == before
    first, *others = [folds_of(node) for node in nodes]
    assert others == [first, first]


def test_what_the_driver_reports_in_a_batch_is_an_error_of_the_store(server: PostgresServer) -> None:
    with pytest.raises(StoreError), server.connected() as database, server.faults("written"):
        run_many(database, "INSERT INTO log (revision, token) VALUES (?, ?)", [(1, "a"), (1, "b")])


def test_a_state_path_has_no_effect_beside_a_database(place: Path) -> None:
    events = open_states(Config(store="postgres", state_path=str(place / "unused.db")), FileStore(str(place)))
    assert events == (None, ["SERVICE_STATE_PATH has no effect: the states are in the database"])
    assert list(place.iterdir()) == []


def saved(server: PostgresServer) -> dict[str, list[Any]]:
    """All that the database knows of installs: what a standby has that lags behind."""
    with server.connected() as database:
        return {name: list(execute(database, f"SELECT * FROM {name}").fetchall()) for name in TABLES}


def put_back(server: PostgresServer, tables: dict[str, list[Any]]) -> None:
    """Promote that standby."""
    with server.connected() as database, database.atomic():
        for name, rows in tables.items():
            execute(database, f"DELETE FROM {name}")
            for row in rows:
                execute(database, f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)


def test_what_a_promoted_standby_did_not_have_comes_back(nodes: list[Node], server: PostgresServer) -> None:
    a, b, c = nodes
    a.ask(1.0)
    all_synced(nodes)
    before = saved(server)
    a.report(ReportKind.INSTALLED, 2.0)
    b.report(ReportKind.FAILED, 3.0, name="web-02")
    b.order(Order.ARM, 4.0, name="web-03")
    b.sync()
    a.sync()
    put_back(server, before)
    c.ask(5.0, name="web-04")  # whose revision the lost ones had
    all_synced([c, b, a])
    states = {"web-01": State.INSTALLED, "web-02": State.FAILED, "web-03": State.ARMED, "web-04": State.INSTALLING}
    for node in nodes:
        assert {name: remembered.record.state for name, remembered in node.all().items()} == states
    assert shown(a) == ["given", "installed"]


def test_what_was_delivered_to_a_primary_that_died_before_it_was_read_back_comes_back(
    nodes: list[Node], server: PostgresServer
) -> None:
    """The node has the last write of the standby, which has not what came after it."""
    a, b, c = nodes
    a.ask(1.0)
    all_synced(nodes)
    before = saved(server)
    a.report(ReportKind.INSTALLED, 2.0)
    a.deliver()
    put_back(server, before)
    all_synced([a, b, c])
    assert [node.state() for node in nodes] == [State.INSTALLED] * 3
    assert [waiting(node) for node in nodes] == [0, 0, 0]


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from([ReportKind.INSTALLED, ReportKind.FAILED, ReportKind.COPIED, ReportKind.PROGRESS]),
        ),
        st.tuples(st.integers(0, 2), st.sampled_from(["ks", "ipxe"])),
        st.tuples(st.integers(0, 2), st.sampled_from(list(Order))),
        st.tuples(st.integers(0, 2), st.sampled_from(["sync", "deliver"])),
        st.tuples(st.integers(0, 2), st.sampled_from(["standby", "promote"])),
    ),
    max_size=10,
)


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
@example([(0, ReportKind.INSTALLED), (2, ReportKind.INSTALLED), (0, "ks"), (2, Order.ARM)])
@example([(0, ReportKind.INSTALLED), (1, ReportKind.INSTALLED), (0, "ks"), (0, Order.FORGET)])
def test_whatever_happens_in_whatever_order_no_two_nodes_differ_in_the_end(
    place: Path, steps: list[tuple[int, Any]]
) -> None:
    server, run_of_nodes = empty_store().server, uuid4().hex
    nodes = [Node(place / f"{run_of_nodes}{name}.states", server) for name in "abc"]
    all_synced(nodes)
    standby, at = saved(server), 0.0
    for number, what in steps:
        at += 50.0
        node = nodes[number]
        if isinstance(what, ReportKind):
            node.report(what, at, 9)
        elif isinstance(what, Order):
            node.order(what, at)
        elif what == "sync":
            node.sync()
        elif what == "deliver":
            node.deliver()
        elif what == "standby":
            standby = saved(server)
        elif what == "promote":
            put_back(server, standby)
        else:
            node.ask(at, what)
    all_synced(nodes)
    first, *others = [folds_of(node) for node in nodes]
    assert others == [first, first]
    memory, _ = DatabaseStates(server, RULES).catch_up(InstallMemory(RULES), Position())
    assert {one: held.fold._replace(heard=0.0, group=None) for one, held in memory.by_identity.items()} == first
