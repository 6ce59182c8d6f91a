"""States of installs that several nodes share through PostgreSQL: docs/many-nodes.md#states-of-installs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerd.config import Config
from answerd.errors import StatesUnknown
from answerd.formats.family import Once
from answerd.installs.memory import Remembered
from answerd.installs.states import Asked, Gate, Order, Ordered, Reported, ReportKind, Rules, State
from answerd.server.http.parser import HeaderBlock, HttpRequest
from answerd.server.installs import LiveInstalls
from answerd.server.report_app import take_report
from answerd.server.request_log import RequestLog
from answerd.server.shared_installs import SharedInstalls
from answerd.store import StoreAway, StoreError
from answerd.store.database_installs import DatabaseInstalls
from answerd.store.files import FileStore
from answerd.store.install_batch import PendingEvent, Sighting
from answerd.store.install_tables import write_many
from answerd.store.node_installs import NodeInstallStore
from answerd.store.opening import open_states
from answerd.store.postgres_connection import PostgresServer
from answerd.store.state_replicator import StateReplicator
from answerd.store.tables import execute
from tests.support.postgres import MISSING, binaries, empty_store

pytestmark = pytest.mark.skipif(binaries() is None, reason=MISSING)

RULES = Rules(starts=2)
AWAY = PostgresServer("postgresql://answerd@127.0.0.1:1/none")
TABLES = ("installs", "install_events", "forgotten_installs", "unknown_machines", "install_settings")
TABLES_OF_NODES = ("received_messages", "install_revisions")


class Node:
    """One node: its states, and what its replicator does."""

    def __init__(self, path: Path, server: PostgresServer) -> None:
        self.server, self.path, self.said = server, path, list[str]()
        self.shared = DatabaseInstalls(server, RULES)
        self.store = NodeInstallStore(path, self.shared)
        self.replicator = StateReplicator(self.store, RULES, self.said.append)

    def sync(self) -> bool:
        with self.server.connected() as database, self.server.faults("read"):
            return self.replicator.bring_up_to_date(database)

    def write(self, *entries: PendingEvent) -> None:
        self.store.write(entries, RULES)

    def all(self) -> dict[str, Remembered]:
        return {remembered.record.name: remembered for remembered in self.store.all()}

    def state(self, name: str = "web-01") -> State:
        found = self.all()
        return found[name].record.state if name in found else State.NEW

    def attempt(self, name: str = "web-01") -> int:
        return self.all()[name].record.attempt


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
    """Two rounds: what the last node tells in the first, the first hears in the second."""
    for _ in range(3):
        for node in nodes:
            node.sync()


def asked(at: float, document: str = "ks", name: str = "web-01") -> PendingEvent:
    event = Asked(document, Gate.ANSWERS, Once.ON, at)
    return PendingEvent(name, event, {"525400000001": "52:54:00:00:00:01"}, "rack", detail=document, origin="192.0.2.1")


def said(word: ReportKind, at: float, attempt: int = 1, name: str = "web-01") -> PendingEvent:
    return PendingEvent(
        name, Reported(word, attempt, at, word.value), detail=word.value, origin="192.0.2.1", body=b"log"
    )


def ordered(order: Order, at: float, name: str = "web-01") -> PendingEvent:
    return PendingEvent(name, Ordered(order, at), {}, origin="admin API")


def test_a_report_counts_here_at_once_and_at_the_others_once_it_is_delivered(nodes: list[Node]) -> None:
    a, b, _ = nodes
    a.write(asked(1.0))
    a.write(said(ReportKind.INSTALLED, 2.0))
    assert (a.state(), b.state()) == (State.INSTALLED, State.NEW)
    a.sync()
    b.sync()
    assert a.all() == b.all()
    assert b.all()["web-01"].identities == {"web01": "web-01", "525400000001": "52:54:00:00:00:01"}
    assert b.all()["web-01"].record.given == {"ks": 1.0}


def test_the_history_and_the_unknown_machines_of_all_nodes_are_at_each(nodes: list[Node]) -> None:
    a, b, _ = nodes
    a.write(asked(1.0), said(ReportKind.PROGRESS, 2.0), said(ReportKind.INSTALLED, 3.0))
    a.store.write([], RULES, [Sighting("52:54:00:00:00:09", 4.0, '{"path": ["/ks"]}')])
    all_synced(nodes)
    events = [(event.what, event.origin, event.body) for event in b.store.history("WEB-01")]
    assert events == [
        ("given", "192.0.2.1", b""),
        ("progress", "192.0.2.1", b"log"),
        ("installed", "192.0.2.1", b"log"),
    ]
    assert [(machine.machine, machine.asked) for machine in b.store.unknown()] == [("52:54:00:00:00:09", 1)]


def test_without_the_database_the_history_is_that_of_this_node(place: Path, server: PostgresServer) -> None:
    node = Node(place / "a.states", server)
    node.sync()
    node.write(asked(1.0))
    away = Node(node.path, AWAY)
    away.write(said(ReportKind.INSTALLED, 2.0))
    assert [event.what for event in away.store.history("web-01")] == ["given", "installed"]
    assert away.store.unknown() == []


def test_an_order_is_in_force_here_at_once_and_soon_everywhere(nodes: list[Node]) -> None:
    a, b, c = nodes
    a.write(asked(1.0), said(ReportKind.INSTALLED, 2.0))
    a.write(ordered(Order.ARM, 3.0))
    assert (a.state(), a.attempt()) == (State.ARMED, 2)
    all_synced(nodes)
    assert {node.state() for node in nodes} == {State.ARMED}
    b.write(ordered(Order.DISARM, 4.0))
    all_synced(nodes)
    assert {node.state() for node in nodes} == {State.INSTALLED}
    c.write(ordered(Order.FORGET, 5.0))
    all_synced(nodes)
    assert [node.all() for node in nodes] == [{}, {}, {}]
    a.write(said(ReportKind.FAILED, 6.0, attempt=2))  # late: the machine was forgotten
    b.write(asked(7.0))
    all_synced(nodes)
    assert {(node.state(), node.attempt()) for node in nodes} == {(State.INSTALLING, 3)}


def test_an_order_needs_the_database_and_a_report_does_not(place: Path, server: PostgresServer) -> None:
    node = Node(place / "a.states", server)
    node.sync()
    away = Node(node.path, AWAY)
    with pytest.raises(StoreAway):
        away.write(ordered(Order.ARM, 1.0))
    away.write(asked(2.0), said(ReportKind.INSTALLED, 3.0))
    assert away.state() is State.INSTALLED
    assert away.store.outbox.waiting().messages == 2
    Node(node.path, server).sync()
    assert away.store.outbox.waiting().messages == 0
    assert [remembered.record.state for remembered in node.shared.changes_since(-1).remembered] == [State.INSTALLED]  # type: ignore[union-attr]


def test_two_nodes_that_arm_never_begin_one_attempt(nodes: list[Node]) -> None:
    a, b, _ = nodes
    a.write(ordered(Order.ARM, 1.0))
    b.write(ordered(Order.ARM, 2.0))  # it has not heard of the first
    all_synced(nodes)
    assert {node.attempt() for node in nodes} == {3}


def test_an_order_of_the_command_line_reaches_every_node(nodes: list[Node], server: PostgresServer) -> None:
    nodes[0].write(asked(1.0), said(ReportKind.INSTALLED, 2.0))
    nodes[0].sync()
    shared = DatabaseInstalls(server, RULES)
    shared.write([ordered(Order.ARM, 3.0)], RULES)
    all_synced(nodes)
    assert {node.state() for node in nodes} == {State.ARMED}
    changes = shared.changes_since(-1)
    assert changes is not None
    assert shared.changes_since(changes.revision) is None
    assert [remembered.record.state for remembered in changes.remembered] == [State.ARMED]
    assert shared.newest == 3.0


def test_a_report_for_an_attempt_that_began_elsewhere_counts(nodes: list[Node]) -> None:
    a, b, _ = nodes
    a.write(asked(1.0), said(ReportKind.INSTALLED, 2.0), ordered(Order.ARM, 3.0))
    b.write(said(ReportKind.INSTALLED, 4.0, attempt=2))  # b has heard of nothing yet
    assert b.state() is State.INSTALLED
    all_synced(nodes)
    assert {(node.state(), node.attempt()) for node in nodes} == {(State.INSTALLED, 2)}


def test_a_node_that_was_never_filled_says_so(place: Path) -> None:
    node = Node(place / "a.states", AWAY)
    with pytest.raises(StoreError, match="never read"):
        node.store.changes_since(-1)
    with pytest.raises(StoreError, match="never read"):
        assert node.store.key
    live = LiveInstalls(SharedInstalls(node.store, Config()), RequestLog("stderr", "off"))
    with pytest.raises(StatesUnknown):
        live.current()
    path = "/report/abc.1.def/installed"
    request = HttpRequest("POST", path, path, "", 1, HeaderBlock(()))
    assert take_report(request, "192.0.2.1", live).status == 500


def test_all_nodes_have_one_key_and_a_new_database_takes_it(nodes: list[Node], server: PostgresServer) -> None:
    assert len({node.store.key for node in nodes}) == 1
    with server.connected() as database:
        execute(database, "DELETE FROM install_settings WHERE name = 'key'")
    restarted = Node(nodes[0].path, server)
    restarted.sync()
    assert Node(nodes[1].path, server).store.key == restarted.store.key


def test_states_of_another_database_are_not_mixed_in(nodes: list[Node], server: PostgresServer) -> None:
    nodes[0].write(asked(1.0))
    with server.connected() as database:
        execute(database, "UPDATE install_settings SET value = 'ff' WHERE name = 'key'")
    other = Node(nodes[0].path, server)
    assert [other.sync(), other.sync()] == [False, False]
    assert len(other.said) == 1
    assert "another database" in other.said[0]
    assert other.store.outbox.waiting().messages == 1


def test_a_message_that_nobody_can_read_stops_none_after_it(nodes: list[Node]) -> None:
    a, b, _ = nodes
    a.store.outbox.put([b"[]"])
    a.write(said(ReportKind.INSTALLED, 1.0))
    all_synced(nodes)
    assert b.state() is State.INSTALLED
    assert "message 1" in a.said[0]


def test_a_nul_which_the_database_has_no_place_for_stops_nothing(nodes: list[Node]) -> None:
    nodes[0].write(said(ReportKind.INSTALLED, 1.0)._replace(detail="a\0b"))
    all_synced(nodes)
    assert nodes[1].state() is State.INSTALLED


def test_a_delivery_whose_answer_is_lost_has_one_effect(nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    a = nodes[0]
    a.write(said(ReportKind.PROGRESS, 1.0))
    monkeypatch.setattr(type(a.store.outbox), "note_delivered", lambda self, number: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        a.sync()
    monkeypatch.undo()
    all_synced(nodes)
    assert [event.what for event in a.shared.history("web-01")] == ["progress"]


def test_what_the_driver_reports_in_a_batch_is_an_error_of_the_store(server: PostgresServer) -> None:
    with pytest.raises(StoreError), server.connected() as database, server.faults("written"):
        write_many(database, "INSERT INTO received_messages (source, number) VALUES (?, ?)", [("a", 1), ("a", 2)])


def test_a_state_path_has_no_effect_beside_a_database(place: Path) -> None:
    events = open_states(Config(store="postgres", state_path=str(place / "unused.db")), FileStore(str(place)))
    assert events == (None, ["SERVICE_STATE_PATH has no effect: the states are in the database"])
    assert list(place.iterdir()) == []


def saved(server: PostgresServer) -> dict[str, list[Any]]:
    """All that the database knows of installs: what a standby has that lags behind."""
    with server.connected() as database:
        names = [*TABLES, *TABLES_OF_NODES]
        return {name: list(execute(database, f"SELECT * FROM {name}").fetchall()) for name in names}


def put_back(server: PostgresServer, tables: dict[str, list[Any]]) -> None:
    """Promote that standby."""
    with server.connected() as database, database.atomic():
        for name, rows in tables.items():
            execute(database, f"DELETE FROM {name}")
            for row in rows:
                execute(database, f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)


def test_what_a_promoted_standby_did_not_have_comes_back(nodes: list[Node], server: PostgresServer) -> None:
    a, b, c = nodes
    a.write(asked(1.0))
    all_synced(nodes)
    before = saved(server)
    a.write(said(ReportKind.INSTALLED, 2.0))
    b.write(said(ReportKind.FAILED, 3.0, name="web-02"))
    b.write(ordered(Order.ARM, 4.0, name="web-03"))
    b.sync()
    a.sync()
    put_back(server, before)
    c.write(asked(5.0, name="web-04"))  # whose revision the lost ones had
    all_synced([c, b, a])
    states = {"web-01": State.INSTALLED, "web-02": State.FAILED, "web-03": State.ARMED, "web-04": State.INSTALLING}
    for node in nodes:
        assert {name: remembered.record.state for name, remembered in node.all().items()} == states
    assert [event.what for event in a.shared.history("web-01")] == ["given", "installed"]


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from([ReportKind.INSTALLED, ReportKind.FAILED, ReportKind.COPIED, ReportKind.PROGRESS]),
        ),
        st.tuples(st.integers(0, 2), st.sampled_from(["ks", "ipxe"])),
        st.tuples(st.integers(0, 2), st.sampled_from(list(Order))),
        st.tuples(st.integers(0, 2), st.just("sync")),
        st.tuples(st.integers(0, 2), st.sampled_from(["standby", "promote"])),
    ),
    max_size=10,
)


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_whatever_happens_in_whatever_order_no_two_nodes_differ_in_the_end(
    place: Path, steps: list[tuple[int, Any]]
) -> None:
    server, run = empty_store().server, uuid4().hex
    nodes = [Node(place / f"{run}{name}.states", server) for name in "abc"]
    all_synced(nodes)
    standby, at, installed = saved(server), 0.0, set[int]()
    for number, what in steps:
        at += 50.0
        node = nodes[number]
        known = node.all().get("web-01")
        attempt = known.record.attempt if known else 1
        if isinstance(what, ReportKind):
            node.write(said(what, at, attempt))
            if what is ReportKind.INSTALLED and known is not None:
                installed.add(attempt)
        elif isinstance(what, Order):
            node.write(ordered(what, at))
        elif what == "sync":
            node.sync()
        elif what == "standby":
            standby = saved(server)
        elif what == "promote":
            put_back(server, standby)
        else:
            node.write(asked(at, what))
    all_synced(nodes)
    first, *others = [node.all() for node in nodes]
    assert others == [first, first]
    shared = DatabaseInstalls(server, RULES).changes_since(-1)
    assert shared is not None
    assert {remembered.record.name: remembered for remembered in shared.remembered} == first
    if "web-01" in first and first["web-01"].record.attempt in installed:
        assert first["web-01"].record.state is State.INSTALLED
