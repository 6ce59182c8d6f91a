"""Backups: a copy of everything in one SQLite file, whatever the store, and everything put back.

Rules: docs/admin-api.md#backup-and-restore.

A backup is a database of this service. That of a directory holds its documents as an import would, so that it can be
restored into either store.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Set
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from answerd.installs.records import InstallMemory, held_records
from answerd.installs.states import Rules
from answerd.short_texts import join_limited, printable
from answerd.store import (
    NOBODY,
    WRITER_WAIT_SECONDS,
    Author,
    Progress,
    Store,
    StoreError,
    no_progress,
)
from answerd.store.file_io import make_directories
from answerd.store.layout import flat_name
from answerd.store.postgres_copy import TRIGGERS, rows_of_events
from answerd.store.schema import DOCUMENTS
from answerd.store.sqlite import FILE_MODE, SqliteFile, SqliteStore
from answerd.store.state_sync import DatabaseStates, shared_key, store_events
from answerd.store.state_tables import COLUMNS, OWN, Sighting, run, setting, write_sightings
from answerd.store.states import Position, caught_up, make_tables
from answerd.store.transfer import (
    Directory,
    ImportSummary,
    export_directory,
    import_directory,
    import_found,
)

if TYPE_CHECKING:
    from answerd.store.postgres import PostgresStore

_DOCUMENT_TABLES = {"documents", "changes"}
"""The tables of a database that are no states of installs."""

_MOST_SHOWN = 8
"""Files that are named as those that a restore replaces."""

_MERGE_STATES = (
    """INSERT OR REPLACE INTO main.install_settings (name, value) SELECT name, value FROM source.install_settings
         WHERE name = 'key' AND NOT EXISTS (SELECT 1 FROM main.events WHERE kind <> 'audited')""",
    f"""INSERT INTO main.events ({COLUMNS}, shared) SELECT {COLUMNS}, {OWN} FROM source.events
         WHERE id NOT IN (SELECT id FROM main.events) ORDER BY revision""",  # noqa: S608 - no value
    """INSERT OR IGNORE INTO main.unknown_machines (identity, machine, first, last, asked, facts)
         SELECT identity, machine, first, last, asked, facts FROM source.unknown_machines""",
    "INSERT OR REPLACE INTO main.install_settings (name, value) VALUES ('epoch', lower(hex(randomblob(8))))",
)
"""Adds the events of the attached database ``source``; the key of report URLs only where there were none. The new epoch
has every process of a running service read the states and the key as a whole (`answerd.store.states`)."""


def backup_database(store: Store, path: str | Path, *, force: bool = False) -> None:
    """Write a consistent copy of a database to a new file while others read and write. Raises `StoreError`."""
    target = _new_file(path, force)
    store.backup(str(target))


def backup_directory(
    directory: str | Path,
    path: str | Path,
    *,
    states: str | Path | None = None,
    force: bool = False,
    author: Author = NOBODY,
) -> ImportSummary:
    """Write the documents of a directory to a new file, with the states of installs in the file ``states``. ``author``
    is that of the changes in the file's history. Raises `StoreError`."""
    target = _new_file(path, force)
    with tempfile.TemporaryDirectory(prefix=".answerd-backup-", dir=target.parent) as scratch:
        store = SqliteStore(Path(scratch) / "documents.db")
        summary = import_directory(directory, store, author=author, follow_links=True)  # as the service does
        store.close()
        if states is not None and Path(states).exists():
            merge_states(states, store.path)
        store.backup(target)
    return summary


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore: how many ``documents`` were restored of those that the backup ``held``, and which were
    left out, with the reason. ``machines``: how many have a state in the backup."""

    documents: int
    held: int
    machines: int
    skipped: tuple[tuple[str, str], ...] = ()


def restore_database(path: str | Path, database: str | Path, *, force: bool = False) -> Restored:
    """Replace the documents of a database, which is created where it is missing, and their history by those of a
    backup, and merge the states of installs.

    In one transaction, while a service may use the database: it goes on with the new content. Raises `StoreError`: the
    file is no backup, or the database is not empty and ``force`` is not given.
    """
    place = Path(database).absolute()
    try:
        make_directories(place.parent)
    except OSError as error:
        shown = printable(str(error.filename or place))
        raise StoreError(f"{shown} cannot be created: {error.strerror or error}") from None
    with tempfile.TemporaryDirectory(prefix=".answerd-restore-", dir=place.parent) as scratch:
        copy = checked_copy(path, scratch)  # first: a file that is not a backup leaves no database behind
        SqliteStore(place)
        if not force and not is_empty(place):
            raise StoreError(f"the database {printable(str(place))} is not empty: --force replaces its documents")
        _take(copy.path, place, documents=True)
        held = _count_of_documents(copy.path)
        return Restored(held, held, machines_in(copy.path))


def restore_directory(
    path: str | Path, directory: str | Path, *, states: str | Path | None = None, force: bool = False
) -> Restored:
    """Write the documents of a backup into a directory, and the states of installs into the file ``states``.

    Raises `StoreError`: also where there are documents or states already and ``force`` is not given.
    """
    with tempfile.TemporaryDirectory(prefix="answerd-restore-") as scratch:
        copy = checked_copy(path, scratch)
        if not force:
            _refuse_used(copy, Path(directory), None if states is None else Path(states))
        if states is not None:
            make_tables(SqliteFile(states))
        summary = export_directory(copy, directory, force=force)
        if states is not None:
            merge_states(copy.path, states)
        held = _count_of_documents(copy.path)
        return Restored(summary.written, held, machines_in(copy.path), summary.skipped)


def restore_shared(
    path: str | Path,
    store: PostgresStore,
    rules: Rules,
    *,
    force: bool = False,
    author: Author = NOBODY,
) -> Restored:
    """Put the documents of a backup into a database that nodes share, and merge its states of installs into it.

    With ``force`` in place of the documents that are there. Raises `StoreError`: also where the database is not empty
    and ``force`` is not given.
    """
    shared = DatabaseStates(store.server, rules)
    if not force and (store.keys() or not shared.is_empty()):
        raise StoreError(f"the database {store.described} is not empty: --force replaces its documents")
    with tempfile.TemporaryDirectory(prefix="answerd-restore-") as scratch:
        copy = checked_copy(path, scratch)
        held = _count_of_documents(copy.path)
        taken, skipped = 0, tuple[tuple[str, str], ...]()
        if held:
            summary = _import_copy(copy, str(path), store, no_progress, prune=force, author=author)
            taken, skipped = summary.taken, summary.unreadable
        restore_states(copy.path, shared)
        return Restored(taken, held, machines_in(copy.path), skipped)


def import_file(
    path: str | Path,
    store: Store,
    progress: Progress = no_progress,
    *,
    prune: bool = False,
    author: Author = NOBODY,
) -> ImportSummary:
    """Copy the documents and inventories of a database file or a backup into a database, in one transaction.

    As `answerd.store.transfer.import_directory` does; history and states of installs are not copied. Raises
    `StoreError`.
    """
    with tempfile.TemporaryDirectory(prefix="answerd-import-") as scratch:
        copy = checked_copy(path, scratch)
        return _import_copy(copy, str(path), store, progress, prune=prune, author=author)


def _import_copy(
    copy: SqliteStore,
    source: str,
    store: Store,
    progress: Progress,
    *,
    prune: bool,
    author: Author,
) -> ImportSummary:
    changes = copy.changes()
    installs = _count_of_installs(copy.path)
    copy.close()
    documents = sorted(changes.added if changes else (), key=lambda raw: raw.key)
    faults = [(raw, raw.key.fault or raw.fault) for raw in documents]
    found = Directory(
        tuple(raw for raw, fault in faults if fault is None),
        (),
        tuple((str(raw.key), fault) for raw, fault in faults if fault is not None),
        frozenset(raw.key.name for raw in documents),
    )
    summary = import_found(found, source, store, progress, prune=prune, author=author)
    return replace(summary, installs=installs)


def _count_of_documents(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        return _rows_of(connection, "main", "documents")


def _count_of_installs(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT count(DISTINCT record) FROM events WHERE kind <> 'audited'"
        return int(connection.execute(query).fetchone()[0])


def merge_states(source: str | Path, target: str | Path) -> None:
    """Add the states of installs in one database to those of another, in one transaction: a machine that is known to be
    installed stays so. Raises `StoreError`."""
    _take(source, target, documents=False)


def _take(source: str | Path, target: str | Path, *, documents: bool) -> None:
    """Merge the states of installs of a database into those of another, and replace its documents and their history,
    where wanted, in one transaction. Raises `StoreError`."""
    with (
        SqliteFile(target).faults("written"),
        closing(sqlite3.connect(target, timeout=WRITER_WAIT_SECONDS, isolation_level=None)) as database,
    ):
        database.execute("PRAGMA synchronous = FULL")
        database.execute("ATTACH ? AS source", (str(source),))
        database.execute("BEGIN IMMEDIATE")
        if documents:
            _copy_rows(database, _DOCUMENT_TABLES)
        for statement in _MERGE_STATES:
            database.execute(statement)
        database.execute("COMMIT")


def machines_in(database: Path) -> int:
    """Return how many machines have a record in a database. Raises `StoreError`."""
    file = SqliteFile(database)
    with file.faults("read"), file.connected() as source:
        memory, _ = caught_up(source, InstallMemory(Rules()), Position(), "")
    return sum(1 for _ in held_records(memory))


def _tables(database: sqlite3.Connection, schema: str) -> set[str]:
    named = database.execute(f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table'")  # noqa: S608
    return {name for (name,) in named if not name.startswith("sqlite_")}


def _refuse_used(backup: SqliteStore, directory: Path, states: Path | None) -> None:
    """Raise `StoreError` where a restore without ``--force`` finds documents or states, with what it would do to them.
    No file is made: a service would take an empty one for its states at the next start."""
    used = []
    try:
        if directory.exists() and any(directory.iterdir()):
            stored = [(flat_name(one.key), one.body) for one in backup.all() if not one.key.fault]
            files = {name: directory / name for name, _ in stored}
            other = [name for name, body in stored if files[name].is_file() and files[name].read_bytes() != body]
            replaced = join_limited([printable(name) for name in sorted(other)], _MOST_SHOWN)
            does = f"replaces {replaced}" if other else "replaces no text that is there"
            used.append(f"{printable(str(directory))} is not empty: --force {does}")
    except OSError as error:
        raise StoreError(f"{printable(str(error.filename))} cannot be read: {error.strerror}") from None
    if states is not None and states.exists():
        with SqliteFile(states).faults("read"):
            if not is_empty(states):
                used.append(f"{printable(str(states))} holds states: --force merges those of the backup with them")
    if used:
        alone = "" if states is None else "; for the states alone, name an empty directory as SERVICE_ANSWERS_DIR"
        raise StoreError(f"{'; '.join(used)}{alone}")


def checked_copy(path: str | Path, scratch: str | Path) -> SqliteStore:
    """Return a new database in the directory ``scratch`` with the rows of a backup; the backup itself stays as it is.

    Nothing but rows is taken: a trigger or a view in the file would go on living in the database that it is restored
    into. Raises `StoreError` where the file is no backup, is damaged, is of another version, or where a row of it does
    not arrive.
    """
    source, shown = Path(path), printable(str(path))
    copy = Path(scratch) / "backup.db"
    try:
        if not source.is_file() or not source.stat().st_size:
            raise StoreError(f"{shown} is no backup: it does not exist or is empty")
        with closing(sqlite3.connect(copy, isolation_level=None, uri=True)) as database:
            os.chmod(copy, FILE_MODE)
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("ATTACH ? AS source", (f"{source.absolute().as_uri()}?mode=ro",))
            if not {"documents", "changes"} <= _tables(database, "source"):
                raise StoreError(f"{shown} is no backup of answerd: it has no documents")
            fault = database.execute("PRAGMA source.quick_check(1)").fetchone()[0]
            if fault != "ok":
                raise StoreError(f"{shown} is damaged: {fault}")
            version = database.execute("PRAGMA source.user_version").fetchone()[0]
            _refuse_version(version, shown)
            _make_tables(database, version)
            _refuse_other_tables(database, shown)
            database.execute("BEGIN IMMEDIATE")
            _copy_rows(database, _tables(database, "main") & _tables(database, "source"))
            database.execute("COMMIT")
    except sqlite3.Error as error:
        raise StoreError(f"{shown} is no backup: {error}") from None
    except OSError as error:
        raise StoreError(f"{shown} cannot be read: {error.strerror or error}") from None
    store = SqliteStore(copy)
    store.close()
    return store


def _refuse_version(version: int, shown: str) -> None:
    """Raise `StoreError` for a file whose schema this program does not read."""
    if version < DOCUMENTS.first:
        raise StoreError(
            f"{shown} is no backup of answerd: its schema version (user_version) is {version}, not "
            f"{DOCUMENTS.first} to {DOCUMENTS.newest}; a copy made with .dump of sqlite3 loses it, one made with "
            "answerd backup has it"
        )
    DOCUMENTS.after(version, shown)


def _refuse_other_tables(database: sqlite3.Connection, shown: str) -> None:
    """Raise `StoreError` where the attached database ``source`` lacks a table of its schema version, or a column."""
    there = _tables(database, "source")
    for table in sorted(_tables(database, "main")):
        if table not in there:
            raise StoreError(f"{shown} is no backup of answerd: it has no table {table}")
        missing = set(_columns(database, "main", table)).difference(_columns(database, "source", table))
        if missing:
            raise StoreError(f"{shown} is no backup of answerd: its table {table} has no column {min(missing)}")


def _make_tables(database: sqlite3.Connection, version: int) -> None:
    """Make the tables of a schema version; opening the database as a store brings them up to date."""
    for statement in DOCUMENTS.statements_of(version):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {version}")


def _copy_rows(database: sqlite3.Connection, tables: Set[str]) -> None:
    """Replace the rows of tables by those of the attached database ``source``, in the present transaction. Triggers,
    which would number changes anew, are away meanwhile. Raises `StoreError` where a row did not arrive."""
    triggers = database.execute(TRIGGERS).fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    for table in sorted(tables):
        known, there = (_columns(database, schema, table) for schema in ("main", "source"))
        columns = ", ".join(column for column in known if column in there)
        database.execute(f"DELETE FROM main.{table}")  # noqa: S608 - names of this program's schema
        database.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM source.{table}")  # noqa: S608
        held, taken = (_rows_of(database, schema, table) for schema in ("source", "main"))
        if taken != held:
            raise StoreError(f"{taken} of {held} rows of the table {table} were copied: nothing was restored")
    for _, statement in triggers:
        database.execute(statement)


def _rows_of(database: sqlite3.Connection, schema: str, table: str) -> int:
    return int(database.execute(f"SELECT count(*) FROM {schema}.{table}").fetchone()[0])  # noqa: S608


def _columns(database: sqlite3.Connection, schema: str, table: str) -> list[str]:
    return [str(column[1]) for column in database.execute(f"PRAGMA {schema}.table_info({table})")]


def is_empty(database: Path) -> bool:
    """Return whether a database has neither documents nor states of installs."""
    with closing(sqlite3.connect(database)) as connection:
        counted = [name for name in ("documents", "events") if name in _tables(connection, "main")]
        return not any(connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in counted)  # noqa: S608


def _new_file(path: str | Path, force: bool) -> Path:
    """Return where a backup is to be written. Raises `StoreError` where a file is there already."""
    target = Path(path).absolute()
    if not target.parent.is_dir():
        raise StoreError(f"{printable(str(target.parent))} is no directory")
    if target.exists() and (not force or not target.is_file()):
        raise StoreError(f"{printable(str(path))} exists: choose another name, or --force to replace it")
    return target


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


def restore_states(backup: Path, shared: DatabaseStates) -> None:
    """Add the events in a backup to those that are in a database. A machine of which the database knows more keeps
    that. Raises `StoreError`."""
    file = SqliteFile(backup)
    with file.faults("read"), file.connected() as source:
        with shared.writing() as log:
            shared_key(log.database, setting(source, "key"))
        for rows in rows_of_events(source):
            with shared.writing() as log:
                stored = store_events(log, rows)
                if missing := len({row[0] for row in rows} - stored.keys()):
                    raise StoreError(f"{missing} of {len(rows)} events of installs were not stored")
        query = "SELECT machine, first, last, facts, asked FROM unknown_machines ORDER BY last"
        sightings = [Sighting(*row) for row in run(source, query).fetchall()]
        with shared.writing() as log:
            write_sightings(log.database, sightings)
