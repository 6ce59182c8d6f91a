"""A PostgreSQL database copied to a file: its backup.

Rules: docs/admin-api.md#backup-and-restore.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import peewee

from answerd.store import WRITER_WAIT_SECONDS
from answerd.store.schema import migrate
from answerd.store.sqlite import SqliteFile
from answerd.store.state_tables import COLUMNS, INSERT, OWN, note, run, run_many, setting
from answerd.store.tables import ChangeRow, DocumentRow, execute

ROWS_AT_ONCE = 200
"""Rows that are read by one statement."""

TRIGGERS = "SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger' ORDER BY rowid"


def copy_to_file(database: peewee.Database, path: Path) -> None:
    """Copy documents, inventories, their history and the states of installs to a database file, which is there whole or
    not at all and takes the place of one that was there. Raises `StoreError`, and what the engine of ``database`` does.

    Numbers and tokens of changes stay what they are: the triggers, which would count anew, are away meanwhile.
    """
    with tempfile.TemporaryDirectory(prefix=".answerd-backup-", dir=path.parent) as scratch:
        file = SqliteFile(Path(scratch) / "copy.db")
        with file.faults("written"):
            file.create()
            with file.connected(WRITER_WAIT_SECONDS) as copy:
                migrate(copy, file.path)
                with copy.atomic("IMMEDIATE"):
                    triggers = list(execute(copy, TRIGGERS).fetchall())
                    for name, _ in triggers:
                        execute(copy, f"DROP TRIGGER {name}")
                    for table in (DocumentRow, ChangeRow):
                        for part in _parts(database, table):
                            table.insert_many(part).bind(copy).execute()
                    _copy_states(copy, database)
                    for _, statement in triggers:
                        execute(copy, statement)
            file.copy_to(path)


def rows_of_events(database: peewee.Database) -> Iterator[list[Sequence[Any]]]:
    """Yield all rows of events as `COLUMNS`, some at a time."""
    revision = 0
    query = f"SELECT revision, {COLUMNS} FROM events WHERE revision > ? ORDER BY revision LIMIT 50"  # noqa: S608
    while part := run(database, query, (revision,)).fetchall():
        revision = part[-1][0]
        yield [row[1:] for row in part]


def _copy_states(copy: peewee.SqliteDatabase, database: peewee.Database) -> None:
    for rows in rows_of_events(database):
        run_many(copy, INSERT, [(None, *row, OWN) for row in rows])
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
