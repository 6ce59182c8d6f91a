"""The PostgreSQL store, and the replica that a node answers from: docs/many-nodes.md."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import peewee
import pytest

from answerd.documents import Key, RawDocument
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.installs.records import InstallMemory
from answerd.installs.states import Order, Rules
from answerd.store import Author, NoSetYet, StoreAway, StoreError, Version
from answerd.store.loader import Loader, loaded
from answerd.store.log import newest_write
from answerd.store.postgres import PostgresStore, PostgresTransaction, ReplicatedStore
from answerd.store.postgres_connection import CommitUnknown, PostgresServer, described, url_fault
from answerd.store.replica import Replica
from answerd.store.replicator import Replicator
from answerd.store.schema import DOCUMENTS, POSTGRES, Schema, Step, migrate_postgres
from answerd.store.state_sync import DatabaseStates
from answerd.store.states import GivenOrder, Position
from answerd.store.tables import execute
from answerd.write_guard import BreaksTheSet, OwnSet, WriteGuard
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.states import one
from tests.support.waiting import PATIENCE, wait_until
from tests.support.writes import delete, put

pytestmark = [pytest.mark.long, pytest.mark.skipif(binaries() is None, reason=MISSING)]

A, B = Key(Kind.MACHINE, "aa:bb", "toml"), Key(Kind.GROUP, "rack", "toml")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with clusters() as parent:
        running = Cluster(home_of(parent, "primary")).start()
        yield running
        running.stop()


@pytest.fixture
def url(cluster: Cluster) -> str:
    return cluster.database()


@pytest.fixture
def store(url: str) -> PostgresStore:
    opened = PostgresStore(url)
    opened.prepare()
    return opened


def written(store: PostgresStore | ReplicatedStore, key: Key, text: str) -> tuple[int, str]:
    with store.writing(Author(peer="127.0.0.1")) as transaction:
        stored = put(transaction, key, text)
        transaction.commit()
    return stored.revision, stored.token


def texts(store: PostgresStore | ReplicatedStore) -> dict[Key, str]:
    return {raw.key: raw.text for raw in loaded(store).documents}


def test_revisions_count_without_gaps_and_never_with_one_token_twice(store: PostgresStore) -> None:
    signed = [written(store, A, f"x = {number}\n") for number in range(5)]
    with store.writing() as transaction:
        put(transaction, B, "y = 1\n")  # undone
    signed.append(written(store, B, "y = 2\n"))
    assert [revision for revision, _ in signed] == [1, 2, 3, 4, 5, 6]
    assert len({token for _, token in signed}) == len(signed)


def test_many_documents_are_stored_at_once_and_unchanged_ones_left_alone(store: PostgresStore) -> None:
    documents = [RawDocument(Key(Kind.MACHINE, f"m{number}", "toml"), f"n = {number}\n") for number in range(1_200)]
    for replaced in (0, 1_200):
        with store.writing() as transaction:
            assert len(transaction.write(documents).unchanged) == replaced
            transaction.commit()
    assert len(store.keys()) == 1_200
    assert max(stored.revision for stored in store.all()) == 1_200


def test_writers_wait_for_one_another_and_for_no_longer_than_they_are_told(store: PostgresStore) -> None:
    with store.writing() as first:
        put(first, A, "x = 1\n")
        with pytest.raises(StoreError, match="cannot be written"):
            store.begin(wait=0.05)
        first.commit()
    with store.writing() as second:
        assert second.find(A) is not None


def test_writers_at_once_never_share_a_number(store: PostgresStore) -> None:
    signed: list[int] = []

    def write(name: str) -> None:
        for number in range(10):
            signed.append(written(store, Key(Kind.MACHINE, name, "toml"), f"n = {number}\n")[0])

    writers = [threading.Thread(target=write, args=(f"m{number}",)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(signed) == list(range(1, 41))


def test_processes_that_meet_an_empty_database_prepare_it_once(url: str) -> None:
    faults: list[BaseException] = []

    def prepare() -> None:
        try:
            PostgresStore(url).prepare()
        except BaseException as error:
            faults.append(error)

    all_at_once = [threading.Thread(target=prepare) for _ in range(6)]
    for thread in all_at_once:
        thread.start()
    for thread in all_at_once:
        thread.join()
    assert faults == []


def test_a_migration_may_take_longer_than_other_statements(url: str) -> None:
    slow = Schema(1, (Step({POSTGRES: ("SELECT pg_sleep(2.5)",)}),))
    with PostgresStore(url).connected(2.0) as database:
        migrate_postgres(database, "", slow)
        with pytest.raises(peewee.OperationalError):
            execute(database, "SELECT pg_sleep(2.5)")


def test_an_older_schema_is_migrated_once_and_keeps_its_documents(store: PostgresStore) -> None:
    written(store, A, "x = 1\n")
    statements = ("ALTER TABLE documents ADD COLUMN note TEXT", "UPDATE documents SET note = 'migrated'")
    newer = Schema(DOCUMENTS.first, (*DOCUMENTS.steps, Step({POSTGRES: statements})))
    with store.connected() as database:
        for _ in range(2):
            migrate_postgres(database, "", newer)
        assert execute(database, "SELECT note FROM documents").fetchall() == [("migrated",)]
        assert execute(database, "SELECT version FROM schema_version").fetchall() == [(newer.newest,)]
    assert texts(store) == {A: "x = 1\n"}


def test_the_database_of_a_newer_version_or_of_another_program_is_refused(url: str, cluster: Cluster) -> None:
    store = PostgresStore(url)
    store.prepare()
    with store.server.connected() as database:
        execute(database, "UPDATE schema_version SET version = 999")
    with pytest.raises(StoreError, match="schema version 999"):
        store.prepare()
    other = PostgresStore(cluster.database())
    with other.server.connected() as database:
        execute(database, "CREATE TABLE theirs (x INTEGER)")
    with pytest.raises(StoreError, match="another program"):
        other.prepare()


def test_opening_needs_no_database_and_asking_says_why_it_failed() -> None:
    store = PostgresStore("postgresql://somebody:secret@127.0.0.1:1/none")
    with pytest.raises(StoreError, match=r"postgresql://127\.0\.0\.1:1/none cannot be reached") as raised:
        store.find(A)
    assert "secret" not in str(raised.value)


MISPLACED = "it has a second @, or one after a / or ?: write / as %2F, ? as %3F and @ as %40 in user and password"


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("postgresql://answerd@db1,db2/lab?target_session_attrs=read-write", None),
        ("postgres://db/lab", None),
        ("mysql://db/lab", "it must begin with postgresql://"),
        ("postgresql://db/lab?nonsense=1", "libpq cannot read it"),
        ("postgresql://u:answ/erd@db/lab", MISPLACED),
        ("postgresql://u:answ?erd@db/lab", MISPLACED),
        ("postgresql://u:answ#erd@db/lab", MISPLACED),
        ("postgresql://u:p@answerd@db/lab", MISPLACED),
        ("postgresql://u@db/lab?password=answ@erd", MISPLACED),
    ],
)
def test_a_url_is_judged_without_being_quoted(url: str, fault: str | None) -> None:
    assert url_fault(url) == fault
    assert "erd" not in described(url)


@pytest.mark.parametrize(
    "parameter",
    [
        "options=-c%20{}%3D1",
        "options=-c%20work_mem%3D{}",
        "client_encoding={}",
        "sslmode={}",
        "target_session_attrs={}",
        "gssencmode={}",
        "channel_binding={}",
        "connect_timeout={}",
        "require_auth={}",
    ],
)
def test_no_message_quotes_a_parameter_of_the_url(url: str, parameter: str) -> None:
    server = PostgresServer(f"{url}?{parameter.format('Tiger-77')}")
    with pytest.raises(StoreError, match="cannot be reached") as raised, server.connected():
        pass
    assert "Tiger" not in str(raised.value)


# --- the replica ------------------------------------------------------------------------------------------------------


@pytest.fixture
def node(url: str, store: PostgresStore, tmp_path: Path) -> ReplicatedStore:
    return ReplicatedStore(url, tmp_path / "replica.db")


def copied(node: ReplicatedStore) -> bool:
    with node.server.connected() as database:
        return node.replica.bring_up_to_date(database)


def test_a_replica_that_was_never_filled_is_no_empty_set(node: ReplicatedStore) -> None:
    with pytest.raises(NoSetYet):
        node.changes()


def test_a_replica_follows_what_is_stored_changed_and_removed(node: ReplicatedStore, store: PostgresStore) -> None:
    loader = Loader(node)
    assert copied(node)
    assert loader.refresh()
    expected: dict[Key, str] = {}
    steps = [(A, "x = 1\n"), (B, "y = 1\n"), (A, "x = 2\n"), (B, None), (B, "y = 2\n"), (A, None)]
    for key, text in steps:
        with store.writing() as transaction:
            if text is None:
                delete(transaction, key)
                expected.pop(key)
            else:
                put(transaction, key, text)
                expected[key] = text
            transaction.commit()
        assert copied(node)
        loader.refresh()
        assert {raw.key: raw.text for raw in loader.catalogue.documents} == expected
    assert not copied(node)


def test_an_own_write_is_in_force_even_if_the_database_is_gone_right_after_the_commit(
    node: ReplicatedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = PostgresTransaction.end

    def end_and_break(transaction: PostgresTransaction) -> None:
        end(transaction)
        transaction._database.close()

    monkeypatch.setattr(PostgresTransaction, "end", end_and_break)
    with node.writing() as transaction:
        put(transaction, A, "x = 1\n")
        transaction.commit()
    assert texts(node) == {A: "x = 1\n"}


def test_a_write_that_is_lost_during_the_commit_leaves_the_replica_as_it_was(
    node: ReplicatedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(node, A, "x = 1\n")
    before = node.replica.position()

    def broken(transaction: PostgresTransaction) -> None:
        transaction._database.close()
        raise CommitUnknown("lost")

    monkeypatch.setattr(PostgresTransaction, "end", broken)
    with node.writing() as transaction:
        put(transaction, A, "x = 2\n")
        with pytest.raises(CommitUnknown):
            transaction.commit()
    after = node.replica.position()
    assert (after.revision, after.token) == (before.revision, before.token)
    assert texts(node) == {A: "x = 1\n"}


def test_a_write_that_cannot_be_put_in_force_here_is_not_stored(
    node: ReplicatedStore, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with node.writing() as transaction:
        put(transaction, A, "x = 1\n")
        monkeypatch.setattr("answerd.store.replica.WRITER_WAIT_SECONDS", 0.05)
        with (
            node.replica.file.connected() as local,
            local.atomic("IMMEDIATE"),
            pytest.raises(StoreError, match=r"replica\.db cannot be written"),
        ):
            transaction.commit()
    assert store.keys() == []


def test_a_database_that_is_lost_before_the_commit_is_the_one_that_is_named(
    node: ReplicatedStore, store: PostgresStore
) -> None:
    with node.writing() as transaction:
        put(transaction, A, "x = 1\n")
        end_backends(store)
        with pytest.raises(StoreAway, match="postgresql://"):
            transaction.commit()


def end_backends(store: PostgresStore | ReplicatedStore) -> None:
    """End all other connections to the database, as an administrator would."""
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    with store.server.connected() as database:
        execute(database, f"{ended} AND pid <> pg_backend_pid()").fetchall()


def test_a_file_of_a_replica_is_its_owners_only(node: ReplicatedStore) -> None:
    assert node.replica.file.path.stat().st_mode & 0o777 == 0o600


def test_a_database_that_lost_its_last_changes_is_compared_whole(node: ReplicatedStore, store: PostgresStore) -> None:
    """A promoted standby that had not got everything uses numbers again, with other tokens."""
    loader = Loader(node)
    for number in range(3):
        written(store, Key(Kind.MACHINE, f"m{number}", "toml"), "kept = 1\n")
    lost, _ = written(store, A, "lost = 1\n")
    copied(node)
    loader.refresh()
    with store.server.connected() as database:
        execute(database, "DELETE FROM documents WHERE revision = %s", (lost,))
        execute(database, "DELETE FROM changes WHERE id = %s", (lost,))
        execute(database, "DELETE FROM log WHERE revision = %s", (lost,))
        execute(database, "UPDATE counter SET revision = %s", (lost - 1,))
    assert written(store, B, "instead = 1\n")[0] == lost
    assert copied(node)
    loader.refresh()
    names = {raw.key.identifier for raw in loader.catalogue.documents}
    assert names == {"m0", "m1", "m2", "rack"}


def ordered(store: PostgresStore, times: int) -> None:
    """Store so many events of installs."""
    for _ in range(times):
        given = GivenOrder(Order.ARM, [one("web-01")], 1.0, "")
        DatabaseStates(store.server, Rules()).order(given, (InstallMemory(Rules()), Position()))


def newest(store: PostgresStore) -> Version:
    with store.connected() as database:
        return newest_write(database)


def test_changes_and_events_are_one_log_and_have_one_position(node: ReplicatedStore, store: PostgresStore) -> None:
    assert written(store, A, "x = 1\n")[0] == 1
    ordered(store, 1)
    after_order = newest(store).revision
    assert after_order > 1
    assert written(store, A, "x = 2\n")[0] == after_order + 1
    node.catch_up(print)
    replica = node.replica.position()
    assert (replica.revision, replica.token) == (after_order + 1, newest(store).token)
    assert node.states.position() == newest(store)
    ordered(store, 1)
    assert copied(node) is False  # there is nothing new for those who answer from the replica
    assert node.replica.position().revision == newest(store).revision > after_order + 1


@pytest.mark.parametrize("is_new", [True, False], ids=["a new replica", "one that follows"])
def test_events_push_no_change_of_a_document_out_of_the_replica(
    node: ReplicatedStore, store: PostgresStore, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    monkeypatch.setattr("answerd.store.replica._TEXTS_KEPT", 2)
    monkeypatch.setattr("answerd.store.replica._CHANGES_KEPT", 4)
    for number in range(6):
        written(store, A, f"x = {number}\n")
        if not is_new:
            copied(node)
        ordered(store, 3)
    copied(node)
    with node.connected() as local:
        found = execute(local, "SELECT text_after FROM changes ORDER BY id").fetchall()
    kept = 2 if is_new else 4
    assert found == [*[("",)] * (kept - 2), ("x = 4\n",), ("x = 5\n",)]
    assert texts(node) == {A: "x = 5\n"}


def test_the_tokens_of_the_newest_writes_are_kept(
    node: ReplicatedStore, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerd.store.log.TOKENS_KEPT", 2)
    monkeypatch.setattr("answerd.store.log._FORGET_EVERY", 1)
    node.catch_up(print)
    for number in range(6):
        written(store, A, f"x = {number}\n")
    with store.connected() as database:
        assert execute(database, "SELECT revision FROM log ORDER BY revision").fetchall() == [(4,), (5,), (6,)]
    assert copied(node)  # a node that is further behind than that has everything all the same
    assert texts(node) == {A: "x = 5\n"}


def test_a_kind_that_only_a_newer_version_knows_is_left_out_also_where_it_is_removed(
    node: ReplicatedStore, store: PostgresStore
) -> None:
    put(store, A, "x = 1\n")
    node.catch_up(print)
    with store.server.connected() as database:
        execute(
            database,
            "INSERT INTO changes (id, at, token, kind, identifier, format) VALUES (2, '', 't', 'future', 'f', 'toml')",
        )
        execute(database, "UPDATE counter SET revision = 2")
        execute(database, "INSERT INTO log VALUES (2, 't')")
    put(store, A, "x = 2\n")
    node.catch_up(print)
    assert [raw.text for raw in loaded(node).documents] == ["x = 2\n"]


def test_what_an_older_program_left_out_is_copied_after_an_upgrade(
    store: PostgresStore, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, A, "x = 1\n")
    put(store, Key(Kind.MACHINE, "aa:bb", "ks"), "lang fr\n")
    formats = {name: known for name, known in FORMATS.items() if name != "ks"}
    with monkeypatch.context() as older:
        older.setattr("answerd.store.tables.FORMATS", formats)
        older.setattr("answerd.store.replica.FORMATS", formats)
        node = ReplicatedStore(url, tmp_path / "replica.db")
        node.catch_up(print)
        assert [key.format for key in texts(node)] == ["toml"]
    node = ReplicatedStore(url, tmp_path / "replica.db")
    node.catch_up(print)
    assert sorted(key.format for key in texts(node)) == ["ks", "toml"]


def test_a_standby_that_lags_takes_nothing_back(tmp_path: Path) -> None:
    with clusters() as parent:
        primary = Cluster(home_of(parent, "primary")).start()
        name = primary.database().rpartition("/")[2]
        standby = Cluster(home_of(parent, "standby"), standby_of=primary).start()
        try:
            urls = [f"postgresql://answerd@127.0.0.1:{cluster.port}/{name}" for cluster in (primary, standby)]
            node = ReplicatedStore(urls[0], tmp_path / "replica.db")
            node.catch_up(print)
            put(node, A, "x = 1\n")
            lagging = PostgresServer(urls[1], node.replica.follow)

            def standby_has_it() -> bool:
                with lagging.connected() as database:
                    return bool(execute(database, "SELECT 1 FROM documents").fetchone())

            wait_until(standby_has_it)
            with lagging.connected() as database:
                execute(database, "SELECT pg_wal_replay_pause()")
            put(node, A, "x = 2\n")
            with lagging.connected() as database:
                assert node.replica.bring_up_to_date(database) is False
            assert [raw.text for raw in loaded(node).documents] == ["x = 2\n"]
        finally:
            for cluster in (standby, primary):
                cluster.stop(signal.SIGQUIT)


def test_two_processes_may_bring_one_replica_up_to_date(node: ReplicatedStore, store: PostgresStore) -> None:
    done = threading.Event()
    faults: list[BaseException] = []

    def follow() -> None:
        try:
            while not done.is_set():
                copied(node)
        except BaseException as error:
            faults.append(error)

    following = [threading.Thread(target=follow) for _ in range(2)]
    for thread in following:
        thread.start()
    for number in range(30):
        written(store, Key(Kind.MACHINE, f"m{number % 7}", "toml"), f"n = {number}\n")
    done.set()
    for thread in following:
        thread.join()
    copied(node)
    assert faults == []
    assert texts(node) == texts(store)


# --- the write guard of two nodes ----------------------------------------------------------------------------------


def guard_of(url: str, replica: Path) -> WriteGuard:
    """A node's guard. Nothing follows the database: what another node writes is not in the replica yet."""
    store = ReplicatedStore(url, replica)
    guard = WriteGuard(store, OwnSet(Loader(store)))
    with store.server.connected() as database:
        store.replica.bring_up_to_date(database)
    guard.in_force.load()
    guard.warm_up()
    return guard


BASE, LEFT, RIGHT = (Key(Kind.GROUP, name, "toml") for name in ("base", "left", "right"))
MACHINE = Key(Kind.MACHINE, "m1", "toml")

SKEWS: dict[str, tuple[list[tuple[Key, str]], tuple[Key, str | None], tuple[Key, str | None]]] = {
    "two groups that extend one another": (
        [(LEFT, "x = 1\n"), (RIGHT, "x = 1\n")],
        (LEFT, 'extends = "right"\n'),
        (RIGHT, 'extends = "left"\n'),
    ),
    "a base that is removed, and a machine that is put on it": (
        [(BASE, "x = 1\n")],
        (BASE, None),
        (MACHINE, 'extends = "base"\n'),
    ),
    "a machine that is put on a base, and the base removed": (
        [(BASE, "x = 1\n")],
        (MACHINE, 'extends = "base"\n'),
        (BASE, None),
    ),
}
"""What is there before, and two writes of which each alone is fine, and both together are not."""


@pytest.mark.parametrize("skew", SKEWS)
def test_two_nodes_never_store_together_what_each_alone_would_refuse(
    store: PostgresStore, url: str, tmp_path: Path, skew: str
) -> None:
    before, first, second = SKEWS[skew]
    for key, text in before:
        written(store, key, text)
    nodes = [guard_of(url, tmp_path / f"{number}.db") for number in range(2)]

    def write(guard: WriteGuard, key: Key, text: str | None) -> None:
        if text is None:
            guard.delete(key)
        else:
            guard.put(key, text)

    write(nodes[0], *first)
    stored = {stored_document.key: stored_document.body for stored_document in store.all()}
    with pytest.raises(BreaksTheSet):
        write(nodes[1], *second)
    assert {stored_document.key: stored_document.body for stored_document in store.all()} == stored
    # What the second node was shown by its refusal, it answers from.
    assert {raw.key for raw in nodes[1].in_force.catalogue.documents} == set(stored)


# --- the replicator ---------------------------------------------------------------------------------------------------


class Followed:
    """A replicator in a thread, with what it logged."""

    def __init__(self, node: ReplicatedStore) -> None:
        self.lines: list[str] = []
        self.changes = 0
        reading, self._writing = os.pipe()
        self._stop = reading
        self.replica: Replica = node.replica
        replicator = Replicator(node, self.lines.append, self._changed, self._stop)
        self._thread = threading.Thread(target=replicator.run)

    def _changed(self) -> None:
        self.changes += 1

    def __enter__(self) -> Followed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._writing)
        self._thread.join(PATIENCE)
        os.close(self._stop)
        assert not self._thread.is_alive()


def test_a_standby_is_promoted_and_writes_go_on(tmp_path: Path) -> None:
    with clusters() as parent:
        primary = Cluster(home_of(parent, "primary")).start()
        url = primary.database()
        PostgresStore(url).prepare()
        standby = Cluster(home_of(parent, "standby"), standby_of=primary).start()
        name = url.rpartition("/")[2]
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        node = ReplicatedStore(
            f"postgresql://answerd@{hosts}/{name}?target_session_attrs=read-write", tmp_path / "replica.db"
        )
        with Followed(node):
            revision, _ = written(node, A, "x = 1\n")
            wait_until(lambda: node.replica.position().revision == revision)
            primary.stop(signal.SIGQUIT)
            standby.promote()
            revision, _ = written(node, B, "y = 1\n")
            wait_until(lambda: node.replica.position().revision == revision)
            # What the standby did not have is gone; both nodes and the database say the same.
            wait_until(lambda: texts(node) == texts(PostgresStore(node.server._url)))
        standby.stop()
