"""Import and export: all or nothing, and byte for byte."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from answerd.documents import Key
from answerd.identity import Kind
from answerd.store import Author, HistoryFilter, StoreError
from answerd.store.backup import restore_database
from answerd.store.sqlite import SqliteStore
from answerd.store.transfer import export_directory, import_directory
from tests.support.service import write_tree
from tests.support.writes import put

FLAT: dict[str, str | bytes] = {
    "98:fa:9b:50:d8:10.toml": b"# \xc3\xa9\r\nx   = 1\r\n",
    "98-fa-9b-50-d8-10.ks": b"lang fr",
    "Node.toml": b"x = 1\n",
    "default.toml": b"\xef\xbb\xbfx = 1\n",
    "default.ks": b"",
    "groups/rack-a.toml": b"x = 1\n\n\n",
    "groups/Rack.B.preseed": b"d-i a/b string c\n",
    "inventory.csv": b"\xef\xbb\xbf# all\r\nid;mac;;\r\nweb-01 ;;;\r\n;;;",
    "inventory/Lab.csv": b'id,note\nweb-02,"a\nb"\n',
}


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "answers.db")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    directory = tmp_path / "answers"
    directory.mkdir()
    return directory


def tree(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def texts(store: SqliteStore) -> dict[str, bytes]:
    return {str(stored.key): stored.body for stored in store.all()}


def test_import_then_export_is_byte_identical(store: SqliteStore, directory: Path, tmp_path: Path) -> None:
    write_tree(directory, FLAT)

    taken = import_directory(directory, store)
    written = export_directory(store, tmp_path / "out")

    assert tree(tmp_path / "out") == tree(directory)
    assert (taken.new, taken.changed, taken.unchanged, taken.skipped, taken.unreadable) == (9, 0, 0, (), ())
    assert (written.written, written.skipped) == (9, ())


def test_documents_of_the_same_identity_are_replaced_and_others_kept(store: SqliteStore, directory: Path) -> None:
    put(store, Key(Kind.MACHINE, "98:FA", "toml"), "old")
    put(store, Key(Kind.MACHINE, "other", "toml"), "kept")
    write_tree(directory, {"98-fa.toml": "x = 1", "98-fa.ks": "new"})

    summary = import_directory(directory, store)

    assert (summary.new, summary.changed, summary.unchanged, summary.removed) == (1, 1, 0, 0)
    assert texts(store) == {
        'machine "98:FA" (toml)': b"x = 1",
        'machine "98-fa" (ks)': b"new",
        'machine "other" (toml)': b"kept",
    }


def test_importing_the_same_directory_again_writes_nothing(store: SqliteStore, directory: Path) -> None:
    write_tree(directory, FLAT)
    import_directory(directory, store)
    before = store.all()

    summary = import_directory(directory, store)
    assert (summary.new, summary.changed, summary.unchanged) == (0, 0, len(FLAT))
    assert store.all() == before


def test_pruning_removes_what_the_directory_does_not_have(store: SqliteStore, directory: Path) -> None:
    put(store, Key(Kind.MACHINE, "98:FA", "toml"), "old")
    put(store, Key(Kind.GROUP, "gone", "toml"), "x = 1")
    put(store, Key(Kind.MACHINE, "unread", "toml"), "kept, because the file that is there cannot be read")
    write_tree(directory, {"98-fa.toml": "x = 1", "unread.toml": b"\xff"})

    summary = import_directory(directory, store, prune=True)

    assert (summary.new, summary.changed, summary.unchanged, summary.removed) == (0, 1, 0, 1)
    assert [str(stored.key) for stored in store.all()] == ['machine "98:FA" (toml)', 'machine "unread" (toml)']


def test_pruning_by_an_empty_directory_is_refused(store: SqliteStore, directory: Path) -> None:
    put(store, Key(Kind.MACHINE, "a", "toml"), "x = 1")
    write_tree(directory, {"README.md": ""})

    with pytest.raises(StoreError, match="is its file system mounted"):
        import_directory(directory, store, prune=True)
    assert len(store.all()) == 1


def test_a_broken_document_is_taken_and_reported(store: SqliteStore, directory: Path) -> None:
    write_tree(directory, {"bad.toml": "= =", "node.toml": 'extends = "ghost"'})

    summary = import_directory(directory, store)

    assert summary.taken == 2
    assert [problem.partition(":")[0] for problem in summary.problems] == [
        'machine "bad" (toml)',
        'machine "node" (toml)',
    ]


@pytest.mark.parametrize(
    ("files", "named"),
    [
        pytest.param(
            {"98-fa.toml": "", "98:FA.toml": ""}, ("98-fa.toml", "98:FA.toml"), id="two spellings of a machine"
        ),
        pytest.param({"a.toml": "", "a/x.toml": ""}, ("a.toml", "a/x.toml"), id="both layouts"),
        pytest.param({"a/x.toml": "", "a/y.toml": ""}, ("a/x.toml", "a/y.toml"), id="two files in one directory"),
        pytest.param(
            {"groups/r.ks": "", "groups/R.ks": ""}, ("groups/R.ks", "groups/r.ks"), id="two spellings of a group"
        ),
        pytest.param({"default.toml": "", "Default.toml": ""}, ("Default.toml", "default.toml"), id="two defaults"),
        pytest.param({"a.toml": "", "A.toml": b"\xff"}, ("A.toml", "a.toml"), id="one of them not UTF-8"),
    ],
)
def test_two_files_for_one_document_stop_the_whole_import(
    store: SqliteStore, directory: Path, files: Mapping[str, str | bytes], named: tuple[str, str]
) -> None:
    put(store, Key(Kind.MACHINE, "kept", "toml"), "kept")
    write_tree(directory, {**files, "good.toml": "x = 1"})

    with pytest.raises(StoreError) as refused:
        import_directory(directory, store)

    assert f"{named[0]} and {named[1]}" in str(refused.value)
    assert texts(store) == {'machine "kept" (toml)': b"kept"}


def test_what_is_skipped_is_said_with_its_reason(store: SqliteStore, directory: Path) -> None:
    write_tree(
        directory,
        {
            "README.md": "",
            "a b.toml": "",
            "groups.toml": "",
            "machines.csv": "",
            "old.toml~": "",
            ".hidden.toml": "",
            "m/deeper/x.toml": "",
            "groups/r/deeper/x.toml": "",
            "good.toml": "x = 1",
            "bad.toml": b"x = '\xff'",
        },
    )
    (directory / "gone.toml").symlink_to("nowhere")
    (directory / "kernel.toml").symlink_to("/proc/self/environ")
    (directory / "large.toml").touch()
    os.truncate(directory / "large.toml", 3_000_000_000)  # sparse

    summary = import_directory(directory, store)

    assert [name for name, _ in summary.skipped] == [
        "README.md",
        "a b.toml",
        "groups.toml",
        "groups/r/deeper",
        "m/deeper",
        "machines.csv",
        "old.toml~",
    ]
    assert dict(summary.unreadable).keys() == {"bad.toml", "gone.toml", "kernel.toml", "large.toml"}
    assert dict(summary.unreadable)["bad.toml"].startswith("is not UTF-8: byte 0xff at offset 5")
    assert all(why and "\n" not in why for _, why in (*summary.skipped, *summary.unreadable))
    assert texts(store) == {'machine "good" (toml)': b"x = 1"}


@pytest.mark.parametrize("name", ["missing", "file.toml"])
def test_a_directory_that_is_none_is_an_error(store: SqliteStore, directory: Path, name: str) -> None:
    write_tree(directory, {"file.toml": ""})

    with pytest.raises(StoreError, match=name):
        import_directory(directory / name, store)


@pytest.mark.skipif(os.getuid() == 0, reason="root may list everything")
def test_a_part_that_cannot_be_listed_stops_the_whole_import(store: SqliteStore, directory: Path) -> None:
    write_tree(directory, {"good.toml": "x = 1", "closed/x.toml": ""})
    (directory / "closed").chmod(0)
    try:
        with pytest.raises(StoreError, match="closed"):
            import_directory(directory, store)
    finally:
        (directory / "closed").chmod(0o755)

    assert texts(store) == {}


def test_an_import_that_cannot_be_written_imports_nothing(store: SqliteStore, directory: Path) -> None:
    def fail(done: int, total: int) -> None:
        assert 0 < done <= total == len(FLAT)
        raise StoreError("database or disk is full")

    write_tree(directory, FLAT)
    with pytest.raises(StoreError, match="full"):
        import_directory(directory, store, fail)
    assert texts(store) == {}


def test_export_with_force_replaces_files_of_the_same_names_and_keeps_others(
    store: SqliteStore, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    write_tree(out, {"a.toml": "old", "notes.txt": "kept"})
    put(store, Key(Kind.MACHINE, "a", "toml"), "new")
    with pytest.raises(StoreError, match=r"not empty.*--force"):
        export_directory(store, out)

    export_directory(store, out, force=True)

    assert tree(out) == {"a.toml": b"new", "notes.txt": b"kept"}


def test_export_with_force_makes_no_second_file_for_a_document(store: SqliteStore, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(out, {"A/proxmox.toml": "old"})
    put(store, Key(Kind.MACHINE, "a", "toml"), "new")

    with pytest.raises(StoreError, match=r"A/proxmox\.toml .* a\.toml"):
        export_directory(store, out, force=True)

    assert tree(out) == {"A/proxmox.toml": b"old"}


def test_what_another_program_stored_cannot_lead_export_out_of_its_directory(
    store: SqliteStore, tmp_path: Path
) -> None:
    with closing(store.begin()) as transaction:
        transaction._database.execute_sql(  # type: ignore[no-untyped-call]
            "INSERT INTO documents (kind, identifier, identity, format, text) VALUES"
            " ('machine', '../escaped', 'escaped', 'toml', 'x'), ('machine', 'bad', 'bad', 'toml', CAST(x'ff' AS TEXT))"
        )
        transaction.commit()

    summary = export_directory(store, tmp_path / "out")

    assert not (tmp_path / "escaped.toml").exists()
    assert summary.written == 0
    assert [name for name, _ in summary.skipped] == ['machine "../escaped" (toml)', 'machine "bad" (toml)']


def test_export_writes_nothing_through_a_link_that_somebody_has_put_there(store: SqliteStore, tmp_path: Path) -> None:
    put(store, Key(Kind.GROUP, "rack", "toml"), "x = 1\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "groups").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"groups is a link, into which nothing is written"):
        export_directory(store, tmp_path / "out", force=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_restore_takes_rows_and_nothing_else_of_a_backup(store: SqliteStore, tmp_path: Path) -> None:
    key = Key(Kind.MACHINE, "m1", "yaml")
    with store.writing(Author("192.0.2.1", "olga", "why")) as transaction:
        put(transaction, key, "a: 1\n")
        transaction.commit()
    store.backup(tmp_path / "backup.db")
    with closing(sqlite3.connect(tmp_path / "backup.db")) as planted:
        planted.executescript(
            "CREATE TRIGGER planted AFTER INSERT ON changes BEGIN"
            " UPDATE documents SET text = text || 'more' WHERE identifier = NEW.identifier; END;"
            "CREATE VIEW other AS SELECT * FROM documents; CREATE TABLE third (a);"
        )
    restored = tmp_path / "restored.db"
    assert restore_database(tmp_path / "backup.db", restored).documents == 1
    again = SqliteStore(restored)
    assert again.version() == store.version()
    assert [entry.author for entry in again.history(HistoryFilter())] == [Author("192.0.2.1", "olga", "why")]
    put(again, key, "a: 2\n")
    assert again.find(key).body == b"a: 2\n"  # type: ignore[union-attr]
    assert again.version().revision == store.version().revision + 1
    named = "SELECT name, sql FROM sqlite_master ORDER BY name"
    with closing(sqlite3.connect(restored)) as one, closing(sqlite3.connect(store.path)) as other:
        assert one.execute(named).fetchall() == other.execute(named).fetchall()


def test_a_backup_of_a_newer_version_is_refused_and_leaves_the_database(store: SqliteStore, tmp_path: Path) -> None:
    store.backup(tmp_path / "backup.db")
    with closing(sqlite3.connect(tmp_path / "backup.db")) as newer:
        newer.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match="schema version 999, this version of answerd understands 100 to"):
        restore_database(tmp_path / "backup.db", tmp_path / "restored.db")
    assert not (tmp_path / "restored.db").exists()


def test_an_import_takes_what_columns_mean(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "inventory.csv").write_text("Asset Tag,role\nweb-01,web\n")
    [problem] = import_directory(tmp_path / "lab", store).problems
    assert "no column is one of id, mac, serial, uuid" in problem
    (tmp_path / "lab" / "inventory.columns").write_text('columns = { "asset tag" = "id" }')
    assert not import_directory(tmp_path / "lab", store).problems
