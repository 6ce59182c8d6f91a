"""A database that says nothing, whose name cannot be looked up, or that is not the newest: docs/many-nodes.md.

Nothing here needs a server but the tests with a cluster.
"""

from __future__ import annotations

import gc
import math
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import peewee
import pytest

from answerd.config import Config
from answerd.documents import Key
from answerd.identity import Kind
from answerd.installs.records import InstallMemory
from answerd.installs.states import Order, Rules, State
from answerd.server.admin.app import late_for_shared_database
from answerd.server.live_states import LiveStates, StatesAtFork
from answerd.server.request_log import RequestLog
from answerd.store import StoreAway, StoreError, StoreLost, state_sync
from answerd.store.loader import Loader, loaded
from answerd.store.log import LogWriter
from answerd.store.postgres import PostgresStore, PostgresTransaction, ReplicatedStore
from answerd.store.postgres_connection import PostgresServer
from answerd.store.replica import Lineage, Replica, lineage_of
from answerd.store.state_sync import DatabaseStates
from answerd.store.states import EventWriter, GivenOrder, Position, open_state_file
from answerd.write_guard import OwnSet, Times, WriteGuard
from tests.support.clients import PatientClient
from tests.support.nodes import ThreadedNode
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.proxy import proxy_to
from tests.support.states import one
from tests.support.waiting import wait_until
from tests.support.writes import put

psycopg = pytest.importorskip("psycopg", reason=MISSING)
pytestmark = [pytest.mark.long, pytest.mark.skipif(binaries() is None, reason=MISSING)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with clusters() as parent:
        running = Cluster(home_of(parent, "primary")).start()
        yield running
        running.stop(signal.SIGQUIT)


NOWHERE = "postgresql://127.0.0.1:1/none"
A, B = Key(Kind.MACHINE, "aa:bb", "toml"), Key(Kind.GROUP, "rack", "toml")


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements are given up after half a second."""
    monkeypatch.setattr("answerd.store.replicator.READ_SECONDS", 0.5)
    monkeypatch.setattr("answerd.store.postgres.WRITE_SECONDS", 0.5)


# --- hosts ------------------------------------------------------------------------------------------------------------


def test_each_host_of_a_url_is_tried_and_what_is_wrong_with_each_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    find = socket.getaddrinfo

    def getaddrinfo(host: str, *arguments: Any, **named: Any) -> Any:
        if host == "gone.test":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return find(host, *arguments, **named)

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    with pytest.raises(StoreAway) as caught:
        PostgresServer("postgresql://u@gone.test:1,127.0.0.1:2/lab").connect(1.0)
    assert re.search(r"gone\.test:1: .*Name or service not known; 127\.0\.0\.1:2: .*refused", str(caught.value))


@pytest.mark.parametrize(("option", "orders"), [("disable", 1), ("random", 2)])
def test_hosts_are_tried_in_their_order_or_at_random(option: str, orders: int) -> None:
    server = PostgresServer(f"postgresql://u@127.0.0.1:1,127.0.0.1:2/lab?load_balance_hosts={option}")
    seen = set[tuple[str, ...]]()
    for _ in range(50):
        with pytest.raises(StoreAway) as caught:
            server.connect(1.0)
        seen.add(tuple(re.findall(r"127\.0\.0\.1:[12](?=: )", str(caught.value))))
    assert len(seen) == orders
    assert ("127.0.0.1:1", "127.0.0.1:2") in seen


def test_hosts_and_ports_that_do_not_fit_are_named() -> None:
    with pytest.raises(StoreAway, match="could not match 2 port numbers"):
        PostgresServer("postgresql://u@/x?host=a,b,c&port=1,2").connect(1.0)


def test_a_server_that_says_nothing_costs_no_connection_for_each_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replicator tries for as long as it takes, and its collector runs rarely."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = PostgresServer(f"postgresql://127.0.0.1:{silent.getsockname()[1]}/none")
        monkeypatch.setattr("psycopg.connection.timeout_from_conninfo", lambda _parameters: 0.01)
        gc.disable()
        try:
            before = len(os.listdir("/proc/self/fd"))
            for _ in range(3):
                with pytest.raises(StoreAway):
                    server.connect(1.0)
            assert len(os.listdir("/proc/self/fd")) == before
        finally:
            gc.enable()


# --- the time of a request --------------------------------------------------------------------------------------------


def test_a_connection_is_given_up_when_the_time_of_its_request_is_over(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statement would have 6 seconds more."""
    store = PostgresStore(cluster.database())
    store.prepare()
    transaction = store.begin(wait=5, within=60)
    connection: Any = transaction._database.connection()  # type: ignore[no-untyped-call]
    waits: list[float | None] = []

    def noted(own: Any, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        waits.append(timeout)
        return wait(own, gen, interval, timeout)

    wait = psycopg.Connection.wait
    monkeypatch.setattr(psycopg.Connection, "wait", noted)
    cluster.pause()
    try:
        connection.until = 0.0
        with pytest.raises(StoreAway, match="cannot be") as caught:
            put(transaction, A, "x = 1\n")
        transaction.close()  # waits for nothing either
    finally:
        cluster.resume()
    assert [seconds for seconds in waits if seconds is None or seconds > 0.01] == []
    assert waits != []
    assert type(caught.value) is StoreAway  # there is no time to try again
    assert store.keys() == []


def test_a_node_that_the_network_has_lost_holds_no_lock_for_long(cluster: Cluster) -> None:
    store = PostgresStore(cluster.database())
    store.prepare()
    asked = "SHOW idle_in_transaction_session_timeout"
    for within, expected in ((9.0, "10s"), (math.inf, "10min")):
        with closing(store.begin(within=within)) as transaction:
            assert transaction._database.execute_sql(asked).fetchone() == (expected,)  # type: ignore[no-untyped-call]
    with DatabaseStates(store.server, Rules()).writing() as log:
        assert log.database.execute_sql(asked).fetchone() == ("10s",)  # type: ignore[no-untyped-call]


def test_an_order_whose_time_is_over_is_said_to_be_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states, _ = open_state_file(str(tmp_path / "states.db"), Rules())
    live = LiveStates(StatesAtFork(states, Config()), RequestLog("stderr", "off"))
    released = threading.Event()
    monkeypatch.setattr(EventWriter, "write", lambda self, events: released.wait(30))
    with pytest.raises(StoreAway, match="may have been stored"):
        live.order([one("web-01")], Order.ARM, "", PatientClient(respond_by=time.monotonic() + 0.05))
    released.set()


def test_a_write_that_waits_too_long_for_others_is_to_come_back_where_nodes_share_the_database(tmp_path: Path) -> None:
    store = ReplicatedStore(NOWHERE, tmp_path / "replica.db")
    guard = WriteGuard(store, OwnSet(Loader(store)))
    with pytest.raises(StoreAway, match="its time was up"):
        guard.put(A, "x = 1\n", times=Times(0.0))


def test_the_deadline_of_a_request_that_waits_for_a_shared_database_is_a_503() -> None:
    late = late_for_shared_database()
    assert late.status == 503
    assert b"Retry-After: 5" in late.head
    assert b"may have been stored" in late.body


# --- a connection that ends -------------------------------------------------------------------------------------------


def ended(store: PostgresStore | ReplicatedStore) -> None:
    """End all other connections to the database, as a server that is stopped does."""
    with store.server.connected() as database:
        database.execute_sql(  # type: ignore[no-untyped-call]
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid()"
        ).fetchall()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.OperationalError("the connection is closed"), StoreLost),
        (psycopg.errors.AdminShutdown(), StoreLost),
        (psycopg.errors.CannotConnectNow(), StoreLost),
        (psycopg.errors.ConnectionFailure(), StoreLost),
        (psycopg.errors.DeadlockDetected(), StoreLost),
        (psycopg.errors.SerializationFailure(), StoreLost),
        (psycopg.errors.ConnectionTimeout(), StoreAway),
        (psycopg.errors.QueryCanceled(), StoreAway),
        (psycopg.errors.LockNotAvailable(), StoreAway),
        (psycopg.errors.IdleInTransactionSessionTimeout(), StoreAway),
        (psycopg.errors.DiskFull(), StoreAway),
        (psycopg.errors.TooManyConnections(), StoreAway),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Exception) else one.__name__,
)
def test_what_ended_by_itself_may_be_tried_again_and_no_wait(error: Exception, kind: type[StoreError]) -> None:
    with pytest.raises(StoreAway) as caught, PostgresServer(NOWHERE).faults("written"):
        raise peewee.OperationalError("x") from error
    assert type(caught.value) is kind


def test_a_write_whose_connection_ends_before_its_commit_is_made_again_once(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ReplicatedStore(cluster.database(), tmp_path / "replica.db")
    store.database.prepare()
    guard = WriteGuard(store, OwnSet(Loader(store)))
    breaks = [True, False, True, True]
    number = PostgresTransaction.number

    def broken(transaction: PostgresTransaction) -> None:
        if breaks.pop(0):
            ended(store)
        number(transaction)

    monkeypatch.setattr(PostgresTransaction, "number", broken)
    guard.put(A, "x = 1\n")
    assert {raw.key: raw.text for raw in guard.in_force.catalogue.documents} == {A: "x = 1\n"}
    with pytest.raises(StoreLost, match="cannot be written"):
        guard.put(A, "x = 2\n")
    assert breaks == []
    found = store.find(A)
    assert found is not None
    assert found.body == b"x = 1\n"


def test_an_order_whose_connection_ends_before_its_commit_is_made_again_once(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ReplicatedStore(cluster.database(), tmp_path / "replica.db")
    store.database.prepare()
    breaks = [True, False]
    locked = state_sync._lock

    def broken(database: peewee.PostgresqlDatabase) -> LogWriter:
        log = locked(database)
        if breaks.pop(0):
            ended(store)
        return log

    monkeypatch.setattr(state_sync, "_lock", broken)
    states = DatabaseStates(store.server, Rules())
    states.order(GivenOrder(Order.ARM, [one("web-01")], 1.0, ""), (InstallMemory(Rules()), Position()))
    memory, _ = states.catch_up(InstallMemory(Rules()), Position())
    assert (memory.by_identity["web01"].record.state, breaks) == (State.ARMED, [])


def test_writers_wait_for_one_another_whatever_isolation_is_the_databases_default(cluster: Cluster) -> None:
    store = PostgresStore(cluster.database())
    store.prepare()
    with store.server.connected() as database:
        name = store.described.rpartition("/")[2]
        database.execute_sql(  # type: ignore[no-untyped-call]
            f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"
        )
    with store.writing() as first:
        put(first, A, "x = 1\n")
        second: list[int] = []

        def write() -> None:
            with store.writing() as transaction:
                second.append(put(transaction, A, "x = 2\n").revision)
                transaction.commit()

        waiting = threading.Thread(target=write)
        waiting.start()
        wait_until(lambda: _waits_for_a_lock(store))
        first.commit()
        waiting.join(60)
    assert second == [2]


def _waits_for_a_lock(store: PostgresStore) -> bool:
    with store.server.connected() as database:
        question = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return bool(database.execute_sql(question).fetchone()[0])  # type: ignore[no-untyped-call]


def test_a_start_without_the_database_is_logged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ReplicatedStore(NOWHERE, tmp_path / "replica.db")
    tries: list[float] = []
    connect = store.server.connect

    def counted(seconds: float, within: float = math.inf) -> peewee.PostgresqlDatabase:
        tries.append(seconds)
        return connect(seconds, within)

    monkeypatch.setattr(store.server, "connect", counted)
    with pytest.raises(StoreAway):  # which the start logs
        store.catch_up(lambda _line: None)
    lines: list[str] = []
    reading, writing = os.pipe()
    following = threading.Thread(target=store.replicate, args=(lines.append, print, reading, lambda _key: {}))
    following.start()
    wait_until(lambda: len(tries) > 3)
    os.close(writing)
    following.join(60)
    assert lines == []


@pytest.mark.parametrize("call", [PostgresServer.take_notices, PostgresServer.descriptor], ids=["taken", "waited for"])
def test_a_connection_whose_end_shows_where_notices_are_followed_is_a_database_that_is_away(
    call: Callable[[PostgresServer, Any], object],
) -> None:
    """Otherwise the replicator would die of it."""

    class Ended:
        def fileno(self) -> int:
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        def notifies(self, **_named: object) -> Iterator[object]:
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    class Connected:
        def connection(self) -> Ended:
            return Ended()

    with pytest.raises(StoreAway, match="cannot be read: server closed"):
        call(PostgresServer(NOWHERE), Connected())


# --- an old primary ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "newest", "is_before"),
    [
        (Lineage("a", 1), Lineage("a", 2), True),
        (Lineage("a", 2), Lineage("a", 2), False),
        (Lineage("a", 3), Lineage("a", 2), False),
        (Lineage("b", 1), Lineage("a", 2), False),  # another cluster, perhaps restored from a dump
        (Lineage("a", 0), Lineage("a", 2), False),  # a standby
        (Lineage("a", 1), None, False),
    ],
)
def test_a_server_is_older_where_another_of_its_cluster_was_promoted_since(
    found: Lineage, newest: Lineage | None, is_before: bool
) -> None:
    assert found.is_before(newest) is is_before


def test_an_old_primary_that_wakes_is_not_used_any_more(tmp_path: Path, quickly: None) -> None:
    """It is the first host of the URL, and takes writes: nobody has fenced it."""
    with clusters() as parent:
        old = Cluster(home_of(parent, "old")).start()
        name = old.database().rpartition("/")[2]
        new = Cluster(home_of(parent, "new"), standby_of=old).start()
        hosts = f"127.0.0.1:{old.port},127.0.0.1:{new.port}"
        url = f"postgresql://answerd@{hosts}/{name}?target_session_attrs=read-write"
        nodes = [ThreadedNode(url, tmp_path / f"{number}.db") for number in range(2)]
        try:
            _wake_the_old_primary(old, new, nodes, name)
        finally:
            for node in nodes:
                node.close()
            for cluster in (old, new):
                cluster.stop(signal.SIGQUIT)


def _wake_the_old_primary(old: Cluster, new: Cluster, nodes: list[ThreadedNode], name: str) -> None:
    first, second = nodes
    wait_until(lambda: first.revision is not None)
    before = first.write(A, "x = 'before'\n")
    wait_until(lambda: second.revision == before)
    under_way = first.store.begin()  # and it is stopped meanwhile
    put(under_way, B, "y = 'under way'\n")
    old.pause()
    new.promote()
    for node in nodes:
        wait_until(lambda node=node: (node.store.replica.newest() or Lineage("", 0)).timeline == 2)  # type: ignore[misc]
    moved = first.write(A, "x = 'moved on'\n")
    wait_until(lambda: second.revision == moved)
    old.resume()
    with pytest.raises(StoreError):
        under_way.commit()
    under_way.close()
    after = second.write(B, "y = 'after'\n")
    armed = second.arm("web-01")
    refused = second.store.server.refused
    assert refused.startswith(f"127.0.0.1:{old.port}: it is the primary from before a fail-over")
    assert refused.endswith("is not used: stop it")
    expected = {A: "x = 'moved on'\n", B: "y = 'after'\n"}
    wait_until(lambda: (first.revision or 0) >= after)  # the order may have come already
    wait_until(lambda: first.attempts() == second.attempts() == {"web-01": armed})
    assert first.texts() == second.texts() == expected
    at_old, at_new = (f"postgresql://answerd@127.0.0.1:{cluster.port}/{name}" for cluster in (old, new))
    assert {raw.key: raw.text for raw in loaded(PostgresStore(at_new)).documents} == expected
    assert {raw.key: raw.text for raw in loaded(PostgresStore(at_old)).documents} == {A: "x = 'before'\n"}
    # A replicator whose connection ends tries the old one first, says so, and follows the new one.
    ended(PostgresStore(at_new))
    for node in nodes:
        wait_until(lambda node=node: any("is not used: stop it" in line for line in node.lines))  # type: ignore[misc]
    # Where only the old one is left, nothing is written, and nothing of what is known is given up.
    new.stop(signal.SIGQUIT)
    with pytest.raises(StoreAway, match="is not used: stop it"):
        first.write(A, "x = 'lost'\n")
    assert first.arm("web-01") != armed  # at this node: it is delivered when the new one is back
    assert first.texts() == second.texts() == expected


def test_an_engine_that_tells_no_timeline_is_used_as_it_is(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CockroachDB has no such functions. It is asked once, and its log not filled."""
    asked: list[Lineage | None] = []
    monkeypatch.setattr("answerd.store.replica._TIMELINE", "SELECT no_such_function()")

    def ask(database: peewee.Database) -> Lineage | None:
        asked.append(lineage_of(database))
        return asked[-1]

    url = cluster.database()
    PostgresStore(url).prepare()
    node = ReplicatedStore(url, tmp_path / "replica.db")
    monkeypatch.setattr("answerd.store.replica.lineage_of", lambda _database: Lineage("a", 7))
    Replica(tmp_path / "replica.db").follow(peewee.PostgresqlDatabase(None))
    monkeypatch.setattr("answerd.store.replica.lineage_of", ask)
    for number in range(2):
        with node.writing() as transaction:
            put(transaction, A, f"x = {number}\n")
            transaction.commit()
    assert asked == [None]


# --- a silent network -------------------------------------------------------------------------------------------------


def test_a_proxy_that_falls_silent_is_given_up_and_followed_again(
    cluster: Cluster, tmp_path: Path, quickly: None
) -> None:
    name = cluster.database().rpartition("/")[2]
    with proxy_to(cluster.port) as proxy:
        node = ThreadedNode(f"postgresql://answerd@127.0.0.1:{proxy.port}/{name}", tmp_path / "replica.db")
        try:
            wait_until(lambda: node.revision is not None)
            revision = node.write(A, "x = 1\n")
            wait_until(lambda: node.revision == revision)
            under_way = node.store.begin(within=1.0)
            proxy.silence()  # the server does not hear that its client gives up, and keeps the lock for a while
            with pytest.raises(StoreAway):
                put(under_way, B, "y = 1\n")
            under_way.close()
            with pytest.raises(StoreAway, match="cannot be reached"):
                node.write(B, "y = 1\n")
            wait_until(lambda: len(node.lines) == 1)
            tried = proxy.accepted
            wait_until(lambda: proxy.accepted > tried + 1)
            wait_until(lambda: proxy.clients <= 1)  # one connection at a time, and none is left behind
            proxy.resume()
            wait_until(lambda: len(node.lines) == 2)

            def is_written() -> bool:
                try:
                    return bool(node.write(B, "y = 2\n"))
                except StoreAway:
                    return False

            wait_until(is_written)
            wait_until(lambda: node.texts() == {A: "x = 1\n", B: "y = 2\n"})
        finally:
            node.close()
    assert "answers come from the replica" in node.lines[0]
    assert "can be reached again" in node.lines[1]
