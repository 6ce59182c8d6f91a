"""A database that an older version wrote keeps every document, the history and every state.

``databases/NAME.sql`` is what the program of that schema left behind, as SQLite dumps it: ``schema-5`` a database,
``states-2`` a file of states beside a directory, ``node-2`` that of a node. ``NAME.json`` is what the same program
printed of it (``export``, ``install ID --json``, ``installs --unknown --json``), and the reports' URLs that it gave
out. A schema that gets a successor gets a pair; these are never edited. That of PostgreSQL, ``postgres-5``, is tried in
test_postgres_commands.py.

Rules: docs/admin-api.md#the-database, docs/running.md#upgrading.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from answerd.cli import main
from answerd.identity import Kind
from answerd.installs.states import Rules
from answerd.installs.tokens import subject_of
from answerd.store import HistoryFilter
from answerd.store.postgres_connection import PostgresServer
from answerd.store.schema import DOCUMENTS
from answerd.store.sqlite import SqliteFile, SqliteStore
from answerd.store.state_sync import NodeStates
from answerd.store.states import StateFile
from tests.support.states import StateWriter

DATABASES = Path(__file__).parent / "databases"
OF_DOCUMENTS = ["schema-5"]
OF_STATES = [*OF_DOCUMENTS, "states-2"]
HISTORY = "SELECT id, at, kind, identifier, format, text_before, text_after FROM changes ORDER BY id"


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database of that name, and settings that name it."""
    path = tmp_path / "answers.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATABASES / f"{request.param}.sql").read_bytes().decode())
    (tmp_path / "empty").mkdir()
    given = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": path}
    if request.param.startswith("states"):
        given = {"SERVICE_ANSWERS_DIR": tmp_path / "empty", "SERVICE_STATE_PATH": path}
    for name, value in given.items():
        monkeypatch.setenv(name, str(value))
    return path


@pytest.fixture
def printed(request: pytest.FixtureRequest) -> Any:
    """What the older program printed of the database."""
    return json.loads((DATABASES / f"{request.node.callspec.params['database']}.json").read_bytes())


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("database", OF_DOCUMENTS, indirect=True)
def test_documents_and_history_of_an_older_version_are_kept(database: Path, printed: Any, tmp_path: Path) -> None:
    history = rows(database, HISTORY)
    assert len(history) == len(printed["documents"]) + 3  # a change, a document that came, and went

    store = SqliteStore(database)

    assert [entry.key.identifier for entry in store.history(HistoryFilter(Kind.MACHINE, "GO-NE"))] == ["gone", "gone"]

    assert rows(database, "PRAGMA user_version") == [(DOCUMENTS.newest,)]
    assert rows(database, HISTORY) == history
    assert len(store.history(HistoryFilter())) == len(history)
    assert main(["export", str(tmp_path / "exported")]) == 0
    exported = {
        str(path.relative_to(tmp_path / "exported")): path.read_bytes().decode()
        for path in (tmp_path / "exported").rglob("*")
        if path.is_file()
    }
    assert exported == printed["documents"]


@pytest.mark.parametrize("database", OF_STATES, indirect=True)
def test_states_and_their_history_of_an_older_version_are_kept(
    database: Path, printed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {install["state"] for install in printed["installs"].values()} == {
        "armed", "installing", "copied", "installed", "failed", "exhausted",
    }  # fmt: skip

    def command_output(*line: str) -> Any:
        assert main([*line, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert [install["machine"] for install in command_output("installs")["installs"]] == sorted(printed["installs"])
    assert command_output("install", "web-01")["last_step"] == 'group "lab" (ks)'  # it has reported nothing
    for machine, expected in printed["installs"].items():
        shown = command_output("install", machine)
        for newer in ("silent", "heard", "last_step"):  # the first follows from the time of today
            del shown[newer]
        assert shown == expected
    unknown = [{**machine, "answered_by_default": False} for machine in printed["unknown"]]  # a newer field
    assert command_output("installs", "--unknown")["unknown"] == unknown


@pytest.mark.parametrize("database", OF_STATES, indirect=True)
def test_a_report_whose_url_an_older_version_gave_out_speaks_for_its_machine(database: Path, printed: Any) -> None:
    assert main(["installs"]) == 0  # brings the schema up to date
    store = StateFile(SqliteFile(database), Rules())
    for number, url in printed["urls"].items():
        subject = subject_of(url.rpartition("/")[2], store.key())
        assert subject is not None
        assert subject.name in (f"web-{number:0>2}", f"52:54:00:00:00:{number:0>2}")
        assert subject.attempt == 1


def test_what_a_node_of_an_older_version_has_not_delivered_is_delivered_after_the_upgrade(tmp_path: Path) -> None:
    """Two acknowledged reports wait in its outbox; three givings are delivered."""
    path = tmp_path / "replica.db.states"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATABASES / "node-2.sql").read_bytes().decode())
    node = NodeStates(path, PostgresServer("postgresql://answerd@127.0.0.1:1/none"), Rules())
    assert node.unfilled == ""  # it goes on without the database
    found = {name: one.record.state.value for name, one in StateWriter(node).all().items()}
    assert found == {"a": "installed", "b": "failed", "c": "installing"}
    assert [(event.kind, event.detail, event.body) for event in node.history("a")] == [("installed", "done", b"log")]
    assert [(event.kind, event.detail, event.body) for event in node.history("b")] == [("failed", "no disk", b"log2")]
    waiting = node.waiting()
    assert waiting is not None
    assert waiting.messages == 5  # all states, and the two lines that only this node has
    assert [machine.asked for machine in node.unknown()] == [1]
