"""The SQLite store by itself: what it keeps, what it tells the loader, and which files it refuses."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from answerd.documents import Key
from answerd.identity import Kind
from answerd.installs.states import Rules
from answerd.store import CannotBeStored, Changes, StoreError
from answerd.store.loader import loaded
from answerd.store.schema import DOCUMENTS, SQLITE, Schema, Step
from answerd.store.sqlite import SqliteStore
from answerd.store.states import open_state_file
from answerd.store.tables import execute
from tests.support.unprivileged import NOBODY
from tests.support.waiting import PATIENCE
from tests.support.writes import delete, put


def machine(name: str, extension: str = "toml") -> Key:
    return Key(Kind.MACHINE, name, extension)


NODE = machine("98:FA:9B")
GROUP = Key(Kind.GROUP, "rack", "ks")
DEFAULT = Key(Kind.DEFAULT, "", "toml")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    yield store
    store.close()


def texts(changes: Changes | None) -> tuple[dict[Key, str], dict[Key, str]]:
    assert changes is not None
    return {raw.key: raw.text for raw in changes.added}, {raw.key: raw.text for raw in changes.removed}


def sql(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """What another program does to the file."""
    with closing(sqlite3.connect(path)) as connection:
        rows: list[tuple[object, ...]] = []
        for statement in statements:
            rows = connection.execute(statement).fetchall()
        connection.commit()
    return rows


# --- documents ---


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(machine("../../etc/passwd"), id="a path"),
        pytest.param(machine("Groups"), id="a reserved name"),
        pytest.param(machine("Inventory"), id="another reserved name"),
        pytest.param(machine(""), id="no name"),
        pytest.param(Key(Kind.GROUP, "a b", "toml"), id="a blank"),
        pytest.param(Key(Kind.DEFAULT, "x", "toml"), id="a default with a name"),
        pytest.param(machine("a", "txt"), id="no format"),
    ],
)
def test_a_key_that_none_may_have_is_refused(store: SqliteStore, key: Key) -> None:
    with pytest.raises(StoreError, match="cannot be stored"):
        put(store, key, "")

    assert store.keys() == []


def test_every_write_has_a_revision_that_no_other_has(store: SqliteStore) -> None:
    revisions = []
    for text in ("a", "c", "b"):
        put(store, NODE, text)
        found = store.find(NODE)
        assert found
        revisions.append(found.revision)
        put(store, GROUP, text)
    delete(store, NODE)
    put(store, NODE, "b")
    again = store.find(NODE)
    assert again

    assert revisions == sorted(set(revisions))
    assert again.revision > max(revisions) + 2


# --- what the loader follows ---


def test_the_first_look_is_the_whole_set_and_the_next_only_what_changed(store: SqliteStore) -> None:
    assert texts(store.changes()) == ({}, {})
    put(store, NODE, "one")
    put(store, GROUP, "g")
    assert texts(store.changes()) == ({NODE: "one", GROUP: "g"}, {})
    put(store, NODE, "two")
    assert texts(store.changes()) == ({NODE: "two"}, {NODE: "one"})
    delete(store, GROUP)
    assert texts(store.changes()) == ({}, {GROUP: "g"})
    assert store.changes() is None


def test_what_is_removed_is_the_object_that_was_handed_out(store: SqliteStore) -> None:
    put(store, NODE, "one")
    first = store.changes()
    put(store, NODE, "two")
    second = store.changes()

    assert first
    assert second
    assert second.removed[0] is first.added[0]


def test_a_document_that_is_deleted_and_put_again_under_another_spelling_changes_its_key(store: SqliteStore) -> None:
    put(store, NODE, "one")
    store.changes()
    delete(store, NODE)
    put(store, machine("98fa9b"), "one")

    assert texts(store.changes()) == ({machine("98fa9b"): "one"}, {NODE: "one"})


def test_what_is_not_committed_is_seen_by_nobody(store: SqliteStore) -> None:
    store.changes()
    with store.writing() as transaction:
        put(transaction, NODE, "one")
        assert transaction.find(NODE) is not None
        assert store.changes() is None
        assert store.find(NODE) is None

    assert store.changes() is None
    assert store.find(NODE) is None


def test_what_plain_sql_wrote_is_seen_and_recorded(store: SqliteStore, path: Path) -> None:
    put(store, NODE, "one")
    put(store, GROUP, "g")
    store.changes()
    sql(path, "UPDATE documents SET text = 'two' WHERE kind = 'machine'", "DELETE FROM documents WHERE kind = 'group'")

    assert texts(store.changes()) == ({NODE: "two"}, {NODE: "one", GROUP: "g"})
    assert sql(path, "SELECT count(*) FROM changes") == [(4,)]
    sql(path, "UPDATE documents SET identifier = 'b', identity = 'b'")
    assert texts(store.changes()) == ({machine("b"): "two"}, {NODE: "two"})


def test_text_that_is_not_utf8_is_a_fault_of_that_document_alone(store: SqliteStore, path: Path) -> None:
    put(store, NODE, "one")
    sql(
        path,
        "INSERT INTO documents (kind, identifier, identity, format, text)"
        " VALUES ('machine', 'bad', 'bad', 'toml', CAST(x'61ff' AS TEXT))",
    )

    changes = store.changes()

    assert changes
    assert {raw.key.identifier: (raw.fault or "").partition(";")[0] for raw in changes.added} == {
        "98:FA:9B": "",
        "bad": "is not UTF-8: byte 0xff at offset 1",
    }


def test_a_document_of_an_unknown_format_is_ignored_with_a_warning(store: SqliteStore, path: Path) -> None:
    sql(
        path,
        "INSERT INTO documents (kind, identifier, identity, format, text) VALUES ('machine', 'a', 'a', 'future', '')",
    )

    assert texts(store.changes()) == ({}, {})
    assert store.keys() == []
    [warning] = store.warnings()
    assert "future" in warning


def test_a_write_that_cannot_get_the_lock_says_so(store: SqliteStore, path: Path) -> None:
    with SqliteStore(path).writing(), pytest.raises(StoreError, match="cannot be written: another program is writing"):
        store.begin(wait=0)


def test_a_forked_process_goes_on_from_what_was_loaded_before(store: SqliteStore) -> None:
    put(store, NODE, "one")
    store.changes()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def child() -> None:
        inherited = [link for link in Path("/proc/self/fd").iterdir() if link.exists() and link.samefile(store.path)]
        before = (len(inherited), store.changes())
        put(store, GROUP, "from the child")
        sender.send((before, texts(store.changes())))

    process = context.Process(target=child)
    process.start()
    assert receiver.poll(PATIENCE)
    before, after = receiver.recv()
    process.join()

    assert (before, after) == ((0, None), ({GROUP: "from the child"}, {}))
    assert texts(store.changes()) == ({GROUP: "from the child"}, {})


def test_close_lets_the_next_look_go_on_where_it_was(store: SqliteStore) -> None:
    put(store, NODE, "one")
    store.changes()
    store.close()
    assert store.changes() is None
    put(store, NODE, "two")

    assert texts(store.changes()) == ({NODE: "two"}, {NODE: "one"})


def test_a_restored_backup_in_the_place_of_the_file_is_what_counts(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    put(store, NODE, "one")
    store.changes()
    backup = tmp_path / "backup.db"
    sql(path, f"VACUUM INTO '{backup}'")
    put(store, NODE, "two")
    put(store, GROUP, "g")
    store.changes()
    for name in ("answers.db-wal", "answers.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    os.replace(backup, path)

    assert texts(store.changes()) == ({NODE: "one"}, {NODE: "two", GROUP: "g"})


def test_a_database_that_has_vanished_is_no_empty_one(store: SqliteStore, path: Path) -> None:
    put(store, NODE, "one")
    store.changes()
    path.unlink()

    with pytest.raises(StoreError, match="cannot be read: No such file"):
        store.changes()
    with pytest.raises(StoreError, match="cannot be written"):
        put(store, NODE, "two")
    assert not path.exists()


# --- the file ---


def test_the_parent_directory_is_created_and_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "answers.db"

    put(SqliteStore(path), NODE, "x = 1")

    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_file_that_root_makes_belongs_to_the_owner_of_its_directory(tmp_path: Path) -> None:
    os.chown(tmp_path, NOBODY, NOBODY)

    put(SqliteStore(tmp_path / "answers.db"), NODE, "x = 1")

    owners = {path.name: (path.stat().st_uid, path.stat().st_gid) for path in tmp_path.iterdir()}
    assert owners["answers.db"] == (NOBODY, NOBODY)
    assert set(owners.values()) == {(NOBODY, NOBODY)}


def test_the_file_is_in_wal_mode_and_carries_its_schema_version(store: SqliteStore, path: Path) -> None:
    assert sql(path, "PRAGMA journal_mode") == [("wal",)]
    assert sql(path, "PRAGMA user_version") == [(DOCUMENTS.newest,)]


def test_a_commit_waits_for_the_disk(store: SqliteStore) -> None:
    with closing(store.begin()) as transaction:
        assert execute(transaction._database, "PRAGMA synchronous").fetchone() == (2,), "FULL"


def _with(*statements: str) -> Schema:
    return Schema(DOCUMENTS.first, (*DOCUMENTS.steps, Step({SQLITE: statements})))


def test_an_older_schema_is_migrated_and_keeps_its_documents(path: Path) -> None:
    put(SqliteStore(path), NODE, "one")
    newer = _with("ALTER TABLE documents ADD COLUMN note TEXT", "UPDATE documents SET note = 'migrated'")

    migrated = SqliteStore(path, newer)

    assert sql(path, "PRAGMA user_version") == [(newer.newest,)]
    assert sql(path, "SELECT note FROM documents") == [("migrated",)]
    assert texts(migrated.changes())[0] == {NODE: "one"}


@pytest.mark.parametrize("version", [1, 5, 7, DOCUMENTS.first - 1])
def test_a_database_from_before_the_first_release_is_refused_and_left_as_it_is(path: Path, version: int) -> None:
    put(SqliteStore(path), NODE, "one")
    sql(path, f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"has schema version {version}, .* is from before the first release"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_file_of_states_is_no_database_of_documents(path: Path) -> None:
    open_state_file(str(path), Rules())
    with pytest.raises(StoreError, match="or holds something else"):
        SqliteStore(path)


def test_a_history_that_was_replaced_is_seen_although_its_numbers_are_the_same(store: SqliteStore, path: Path) -> None:
    put(store, NODE, "one")
    put(store, NODE, "two")
    assert texts(store.changes())[0] == {NODE: "two"}
    # What a restored backup leads to: the change of the same number is another one, the document another text.
    sql(path, "DROP TRIGGER document_updated")
    sql(path, "UPDATE changes SET token = 'another', text_after = 'three' WHERE id = 2")
    sql(path, "UPDATE documents SET text = 'three'")

    assert texts(store.changes()) == ({NODE: "three"}, {NODE: "two"})
    assert store.changes() is None


def test_a_migration_that_fails_leaves_the_old_schema(path: Path) -> None:
    put(SqliteStore(path), NODE, "one")
    broken = _with("ALTER TABLE documents ADD COLUMN note TEXT", "UPDATE nowhere SET x = 1")

    with pytest.raises(StoreError, match="no such table: nowhere"):
        SqliteStore(path, broken)

    assert sql(path, "PRAGMA user_version") == [(DOCUMENTS.newest,)]
    assert texts(SqliteStore(path).changes())[0] == {NODE: "one"}


def test_a_newer_schema_is_refused_with_both_versions(path: Path) -> None:
    SqliteStore(path)
    sql(path, "PRAGMA user_version = 999")

    with pytest.raises(StoreError, match=rf"schema version 999, .* {DOCUMENTS.first} to {DOCUMENTS.newest}"):
        SqliteStore(path)


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_text("x = 1\n" * 1000)

    with pytest.raises(StoreError, match="cannot be opened: file is not a database") as caught:
        SqliteStore(path)

    assert "\n" not in str(caught.value)
    assert path.read_text() == "x = 1\n" * 1000


def test_the_database_of_another_program_is_refused(path: Path) -> None:
    sql(path, "CREATE TABLE wines (name TEXT)")

    with pytest.raises(StoreError, match="belongs to another program"):
        SqliteStore(path)


def test_a_directory_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match=r"cannot be opened: (Not a directory|File exists)"):
        SqliteStore(tmp_path / "file" / "answers.db")


def test_an_odd_path_is_no_uri(tmp_path: Path) -> None:
    path = tmp_path / "50% ?mode=memory#x.db"

    put(SqliteStore(path), NODE, "one")

    assert path.exists()
    assert SqliteStore(path).keys() == [NODE]


def test_many_processes_may_open_a_new_file_at_once(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_open_and_put, args=(path, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)

    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert len(SqliteStore(path).keys()) == 4


def _open_and_put(path: Path, number: int) -> None:
    put(SqliteStore(path), machine(f"node-{number}"), "x = 1")


def test_a_document_over_1_mb_is_neither_stored_nor_read(store: SqliteStore, path: Path) -> None:
    key, table = Key(Kind.MACHINE, "m1", "ks"), Key(Kind.INVENTORY, "inventory", "csv")
    put(store, table, "#" * 2_000_000)
    put(store, key, "#" * 1_048_576)
    for larger in ("#" * 1_048_577, "ä" * 600_000):
        with pytest.raises(CannotBeStored, match="it is larger than 1,048,576 bytes"):
            put(store, key, larger)
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE documents SET text = text || '#' WHERE identifier = 'm1'")
        other.commit()
    [raw] = [raw for raw in loaded(store).documents if raw.key == key]
    assert (raw.text, raw.fault) == ("", "is larger than 1,048,576 bytes")
