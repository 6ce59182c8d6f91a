"""The commands on a PostgreSQL database, called in this process: docs/many-nodes.md#commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerd.commands.own_changes import user_name
from answerd.documents import Key
from answerd.identity import Kind
from answerd.store.postgres import PostgresStore
from answerd.store.schema import DOCUMENTS
from answerd.store.sqlite import SqliteStore
from answerd.store.tables import execute
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.service import write_tree
from tests.support.shell import Shell
from tests.support.writes import put

pytestmark = [pytest.mark.long, pytest.mark.skipif(binaries() is None, reason=MISSING)]

RACK: dict[str, str | bytes] = {
    "groups/rack.ks": "# answer: members m1 m2\nlang fr\n",
    "aa-bb-cc-dd-ee-01.toml": "x = 1\n",
    "default.ks": "# ä\r\n",
    "inventory.csv": "id,mac\nweb-01,aa:bb:cc:dd:ee:02\n",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with clusters() as parent:
        running = Cluster(home_of(parent, "primary")).start()
        yield running
        running.stop()


@pytest.fixture
def url(cluster: Cluster, shell: Shell) -> str:
    made = cluster.database()
    shell.set(SERVICE_STORE="postgres", SERVICE_DB_URL=made)
    return made


@pytest.fixture
def rack(shell: Shell, url: str) -> Path:
    """A directory of documents that is in the database."""
    write_tree(shell.place / "rack", RACK)
    done = shell("import", "rack")
    assert done.status == 0, done.err
    return shell.place / "rack"


def tree(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_database_without_an_encoding_gives_back_what_was_applied(cluster: Cluster, shell: Shell) -> None:
    """SQL_ASCII is what initdb makes where the locale is C."""
    made = cluster.database("-E", "SQL_ASCII", "-T", "template0", "--lc-collate=C", "--lc-ctype=C")
    shell.set(SERVICE_STORE="postgres", SERVICE_DB_URL=made)
    write_tree(shell.place / "rack", RACK)
    done = shell("apply", "rack", "--note", "Büro → Halle")
    assert done.status == 0, done.err
    assert shell("export", "out").status == 0
    assert tree(shell.place / "out") == tree(shell.place / "rack")
    assert any("Büro → Halle" in line for line in shell("history").out)
    assert shell("arm", "web-01").out == ["web-01 armed"]


READING = (
    ["check"],
    ["render", "aa:bb:cc:dd:ee:01"],
    ["diff", "."],
    ["export", "out"],
    ["history"],
    ["inventory"],
    ["backup", "backup.db"],
    ["restore-document", "--revision", "1", "groups/rack.ks"],
)


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_a_reading_command_on_a_database_without_tables_fails_and_makes_none(
    shell: Shell, url: str, command: list[str]
) -> None:
    done = shell(*command)
    assert done.status == (2 if command[0] == "diff" else 1)
    assert "has no tables of answerd" in done.err[-1]
    assert "serve, import, apply and restore make them" in done.err[-1]
    with PostgresStore(url).server.connected() as database:
        assert database.get_tables() == []


def test_a_reading_command_names_a_schema_of_another_version(shell: Shell, url: str) -> None:
    store = PostgresStore(url)
    store.prepare()
    for version, words in (
        (0, "serve, import and apply bring it up to date"),
        (DOCUMENTS.first - 1, "from before the first release"),
        (999, "use the newer version"),
    ):
        with store.server.connected() as database:
            execute(database, "UPDATE schema_version SET version = %s", (version,))
        done = shell("check")
        assert (done.status, words in done.err[-1]) == (1, True)


def test_a_database_that_is_away_is_an_error_of_one_line_without_the_password(shell: Shell) -> None:
    shell.set(SERVICE_STORE="postgres", SERVICE_DB_URL="postgresql://answerd:hunter2@127.0.0.1:1/none")
    for command in (["check"], ["import", "."], ["export", "out"], ["apply", "."]):
        done = shell(*command)
        assert done.status in (1, 2)
        assert "postgresql://127.0.0.1:1/none cannot be reached" in done.err[-1]
        assert "hunter2" not in "".join(done.err)


def test_what_is_imported_is_exported_byte_for_byte(shell: Shell, rack: Path) -> None:
    done = shell("export", "out")
    assert (done.status, done.out) == (0, ["4 documents exported to out, 0 skipped"])
    assert tree(shell.place / "out") == tree(rack)
    again = shell("import", "--prune", "rack")
    assert "0 new, 0 changed, 4 unchanged, 0 removed" in again.out[-1]
    assert "postgresql://127.0.0.1" in again.out[-1]


def test_commands_that_read_see_the_set_of_the_database(shell: Shell, rack: Path) -> None:
    assert shell("render", "aa:bb:cc:dd:ee:01").out == ["x = 1"]
    assert shell("check").status == 0
    assert shell("diff", "rack").status == 0
    rows = json.loads("\n".join(shell("inventory", "--json").out))["rows"]
    assert [row["row"]["id"] for row in rows] == ["web-01"]


def test_a_change_is_shown_then_applied_then_taken_back(shell: Shell, rack: Path) -> None:
    (rack / "default.ks").write_text("# new\n")
    shown = shell("apply", "--dry-run", "--json", "rack")
    assert json.loads("\n".join(shown.out))["changed"] == 1
    assert shell("apply", "--note", "a reason", "rack").status == 0
    history = json.loads("\n".join(shell("history", "--json", "default.ks").out))["history"]
    assert [(entry["revision"], entry["note"]) for entry in history] == [
        (5, "a reason"),
        (history[1]["revision"], "import of rack"),
    ]
    assert shell("restore-document", "--revision", str(history[1]["revision"]), "default.ks").status == 0
    shell("export", "out")
    assert (shell.place / "out" / "default.ks").read_bytes() == "# ä\r\n".encode()


def test_a_backup_holds_documents_and_history_and_can_be_restored_and_imported(shell: Shell, rack: Path) -> None:
    (rack / "default.ks").write_text("# new\n")
    shell("import", "rack")
    done = shell("backup", "backup.db")
    assert done.status == 0, done.err
    assert (shell.place / "backup.db").stat().st_mode & 0o777 == 0o600
    refused = shell("restore", "backup.db")
    assert (refused.status, "--force replaces its documents" in refused.err[-1]) == (1, True)
    before = json.loads("\n".join(shell("history", "--json").out))

    shell.set(SERVICE_STORE="sqlite", SERVICE_DB_PATH=shell.place / "restored.db")
    assert shell("restore", "backup.db").status == 0
    assert json.loads("\n".join(shell("history", "--json").out)) == before
    shell("export", "out")
    assert tree(shell.place / "out") == tree(rack)
    # The restored database goes on numbering its changes.
    store = SqliteStore(shell.place / "restored.db")
    put(store, Key(Kind.DEFAULT, "", "ks"), "# newer\n")
    assert store.version().revision == len(before["history"]) + 1


def test_the_documents_and_inventories_of_a_sqlite_service_are_moved(shell: Shell, url: str) -> None:
    write_tree(shell.place / "rack", RACK)
    shell.set(SERVICE_STORE="sqlite", SERVICE_DB_PATH=shell.place / "old.db")
    assert shell("import", "rack").status == 0
    assert shell("arm", "aa-bb-cc-dd-ee-01").status == 0
    same = shell("import", "--from-db", "old.db")
    assert (same.status, "itself" in same.err[-1]) == (2, True)

    shell.set(SERVICE_STORE="postgres")
    done = shell("import", "--from-db", "old.db")
    assert done.status == 0, done.err
    assert "4 documents imported into postgresql://127.0.0.1" in done.out[-1]
    assert any("1 state of installs" in line and "may install again" in line for line in done.err)
    shell("export", "out")
    assert tree(shell.place / "out") == tree(shell.place / "rack")
    (shell.place / "rack" / "default.ks").unlink()
    shell("import", "--prune", "rack")
    pruned = shell("import", "--prune", "--from-db", "old.db")
    assert "1 new, 0 changed, 3 unchanged, 0 removed" in pruned.out[-1]


def test_a_backup_is_restored_with_its_states_and_made_again(shell: Shell, url: str) -> None:
    write_tree(shell.place / "rack", RACK)
    shell.set(SERVICE_STORE="sqlite", SERVICE_DB_PATH=shell.place / "old.db")
    assert shell("import", "rack").status == 0
    assert shell("arm", "aa-bb-cc-dd-ee-01").status == 0
    assert shell("forget", "web-01").status == 0
    shell.set(SERVICE_STORE="postgres")
    done = shell("restore", "old.db")
    assert "4 documents and 1 state of installs restored to postgresql://127.0.0.1" in done.out[-1], done.err
    refused = shell("restore", "old.db")
    assert (refused.status, "is not empty: --force replaces its documents" in refused.err[-1]) == (1, True)
    assert shell("disarm", "aa-bb-cc-dd-ee-01").status == 0
    assert shell("restore", "--force", "old.db").status == 0
    (machine,) = json.loads("\n".join(shell("installs", "--json").out))["installs"]
    assert (machine["machine"], machine["state"]) == ("aa-bb-cc-dd-ee-01", "installed")

    assert shell("backup", "new.db").status == 0
    shell.set(SERVICE_STORE="sqlite", SERVICE_DB_PATH=shell.place / "moved.db")
    assert shell("restore", "new.db").status == 0
    printed = json.loads("\n".join(shell("install", "--json", "aa-bb-cc-dd-ee-01").out))
    assert printed["state"] == "installed"
    assert [event["event"] for event in printed["events"]][-1] == "disarmed"


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [("absent.db", 2, "does not exist"), ("rack", 2, "is no file"), ("other.db", 1, "is no backup")],
)
def test_what_is_no_database_of_a_service_is_not_imported(
    shell: Shell, rack: Path, name: str, status: int, words: str
) -> None:
    (shell.place / "other.db").write_bytes(b"no database at all, but long enough to be one" * 40)
    done = shell("import", "--from-db", name)
    assert (done.status, words in done.err[-1]) == (status, True)


def test_the_commands_about_installs_work_on_the_database(shell: Shell, rack: Path) -> None:
    assert shell("installs").out[-1] == "0 machines"
    assert shell("arm", "aa:bb:cc:dd:ee:01").out == ["aa-bb-cc-dd-ee-01 armed"]
    assert shell("wait", "--timeout", "0.1s", "web-01").status == 3
    assert shell("disarm", "aa:bb:cc:dd:ee:01").status == 0
    assert shell("wait", "aa:bb:cc:dd:ee:01").status == 0
    printed = json.loads("\n".join(shell("install", "--json", "aa:bb:cc:dd:ee:01").out))
    assert [event["event"] for event in printed["events"]] == ["armed", "disarmed"]
    assert shell("forget", "aa:bb:cc:dd:ee:01").status == 0
    assert shell("installs", "--unknown").out[-1] == "0 machines that nothing claims"
    assert shell("arm", "nobody").status == 1


def test_a_backup_that_fails_leaves_no_file_and_one_that_is_replaced_is_whole(
    shell: Shell, rack: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("backup", "backup.db").status == 0
    with monkeypatch.context() as broken:
        broken.setattr("answerd.store.postgres_copy.ROWS_AT_ONCE", "no number")
        assert shell("backup", "failed.db").status != 0
        assert shell("backup", "--force", "backup.db").status != 0
    assert not [path.name for path in shell.place.iterdir() if "failed" in path.name or "partial" in path.name]
    (rack / "default.ks").write_text("# new\n")
    assert shell("import", "rack").status == 0
    assert shell("backup", "--force", "backup.db").status == 0
    assert len(SqliteStore(shell.place / "backup.db").keys()) == len(RACK)
    assert b"# new" in (shell.place / "backup.db").read_bytes()


def test_the_history_says_who_has_restored_a_backup(shell: Shell, rack: Path) -> None:
    assert shell("backup", "backup.db").status == 0
    (rack / "default.ks").write_text("# new\n")
    assert shell("import", "rack").status == 0
    assert shell("restore", "--force", "backup.db").status == 0
    newest = json.loads("\n".join(shell("history", "--json", "default.ks").out))["history"][0]
    assert (newest["note"], newest["who"]["name"]) == ("restore of backup.db", user_name())


def test_rights_that_are_missing_and_tables_that_are_gone_are_named_without_statements(
    shell: Shell, rack: Path, cluster: Cluster, url: str
) -> None:
    with PostgresStore(url).server.connected() as database:
        execute(database, "CREATE ROLE reader LOGIN")
    name = url.rpartition("/")[2]
    shell.set(SERVICE_DB_URL=f"postgresql://reader@127.0.0.1:{cluster.port}/{name}")
    done = shell("check")
    assert "permission denied for table" in done.err[-1]
    assert "docs/many-nodes.md#rights" in done.err[-1]
    shell.set(SERVICE_DB_URL=url)
    with PostgresStore(url).server.connected() as database:
        execute(database, "DELETE FROM counter")
    assert "no counter of changes: is it being restored?" in shell("import", "--prune", "rack").err[-1]
    with PostgresStore(url).server.connected() as database:
        execute(database, "DROP TABLE changes")
    done = shell("history")
    assert 'relation "changes" does not exist: is it being restored?' in done.err[-1]
    assert "SELECT" not in done.err[-1]
