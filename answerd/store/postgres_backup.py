"""A backup of a PostgreSQL database as a file of the SQLite store, and the states in a backup put into a database.

Rules: docs/many-nodes.md#commands. The file can be restored into a service on SQLite, and be imported into any store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import peewee

from answerd.installs.records import InstallMemory
from answerd.store.schema import migrate
from answerd.store.sqlite_file import SqliteFile
from answerd.store.state_sync import DatabaseStates, shared_key, store
from answerd.store.state_tables import COLUMNS, INSERT, Sighting, note, run, run_many, setting, write_sightings
from answerd.store.states import OWN, Position, caught_up
from answerd.store.tables import ChangeRow, DocumentRow, execute

ROWS_AT_ONCE = 200
"""Rows that are read by one statement."""

_CONNECT_SECONDS = 5.0

_TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"


def copy_to_file(database: peewee.Database, path: Path) -> None:
    """Copy documents, inventories, their history and the states of installs to a database file, which is there whole or
    not at all and takes the place of one that was there.

    Raises `StoreError` and what the engine of ``database`` raises.

    Numbers and tokens of changes stay what they are: the triggers, which would count anew, are away meanwhile.
    """
    file = SqliteFile(path.with_name(f".{path.name}.partial"))
    try:
        _copy(database, file)
        with file.faults("written"):
            file.move_to(path)
    finally:
        file.remove()


def _copy(database: peewee.Database, file: SqliteFile) -> None:
    with file.faults("written"):
        file.remove()
        file.create()
        with file.connected(_CONNECT_SECONDS) as copy:
            migrate(copy, file.path)
            with copy.atomic("IMMEDIATE"):
                triggers = list(execute(copy, _TRIGGERS).fetchall())
                for name, _ in triggers:
                    execute(copy, f"DROP TRIGGER {name}")
                for part in _parts(database, DocumentRow):
                    DocumentRow.insert_many(part).bind(copy).execute()
                for part in _parts(database, ChangeRow):
                    ChangeRow.insert_many(part).bind(copy).execute()
                _copy_states(copy, database)
                for _, statement in triggers:
                    execute(copy, statement)
        _into_one_file(file)


def restore_states(backup: Path, shared: DatabaseStates) -> int:
    """Add the events in a backup to those that are in a database. Return how many machines have a record in it. A
    machine of which the database knows more keeps that. Raises `StoreError`."""
    file = SqliteFile(backup)
    with file.faults("read"), file.connected() as source:
        with shared.writing() as database:
            shared_key(database, setting(source, "key"))
        for rows in _rows_of_events(source):
            with shared.writing() as database:
                store(database, rows)
        query = "SELECT machine, last, facts, asked FROM unknown_machines ORDER BY last"
        sightings = [Sighting(*row) for row in run(source, query).fetchall()]
        with shared.writing() as database:
            write_sightings(database, sightings)
        memory, _ = caught_up(source, InstallMemory(shared.rules), Position(), "")
    return len(memory)


def _rows_of_events(database: peewee.Database) -> Iterator[list[Sequence[Any]]]:
    """Yield all rows of events as `COLUMNS`, some at a time."""
    revision = 0
    query = f"SELECT revision, {COLUMNS} FROM events WHERE revision > ? ORDER BY revision LIMIT 50"  # noqa: S608
    while part := run(database, query, (revision,)).fetchall():
        revision = part[-1][0]
        yield [row[1:] for row in part]


def _copy_states(copy: peewee.SqliteDatabase, database: peewee.Database) -> None:
    for rows in _rows_of_events(database):
        run_many(copy, INSERT, [(*row, OWN) for row in rows])
    columns = "identity, machine, first, last, asked, facts"
    marks = ", ".join("?" * 6)
    unknown = run(database, f"SELECT {columns} FROM unknown_machines").fetchall()  # noqa: S608 - no value
    run_many(copy, f"INSERT INTO unknown_machines ({columns}) VALUES ({marks})", unknown)  # noqa: S608
    key = setting(database, "key")
    if key is not None:
        note(copy, "key", key)


def _parts(database: peewee.Database, table: type[DocumentRow] | type[ChangeRow]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a table, some at a time."""
    last = 0
    while True:
        query = table.select().where(table.id > last).order_by(table.id).limit(ROWS_AT_ONCE)
        part = list(query.dicts().execute(database))
        if not part:
            return
        yield part
        last = part[-1]["id"]


def _into_one_file(file: SqliteFile) -> None:
    """Bring everything into the file itself: in WAL mode a part of it is in files beside it."""
    with file.connected(_CONNECT_SECONDS) as copy:
        execute(copy, "PRAGMA journal_mode = DELETE").fetchall()
