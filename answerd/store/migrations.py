"""The database's schema: one list of migrations, from an empty database to the current version.

Rules: docs/admin-api.md#the-database.

Knows the statements of each engine and how they are run once. Must not know documents.

A migration that was released is never edited: add another one. It only adds (a column, a table, an index, a value that
a column may have), because services of two versions may run on one database. Statements are text, not made from the
models, because the models describe the newest version only. Triggers and keys are spelled differently by each engine,
so each engine has its own statements.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peewee

from answerd.store import WRITER_WAIT_SECONDS, NewerSchema, StoreError
from answerd.store.postgres_connection import patient

SQLITE, POSTGRES = "sqlite", "postgres"
"""The names of the engines in `Migration.statements`."""

MIGRATION_SECONDS = 600.0
"""How long one statement may take in PostgreSQL: an index is made of a history of any length."""

_BUSY_RETRY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. ``statements`` are the SQL of each engine, by its name, in order. ``convert`` moves rows
    afterwards, in the same transaction."""

    summary: str
    statements: Mapping[str, Sequence[str]]
    convert: Callable[[peewee.Database], None] | None = None


_DOCUMENTS_AND_CHANGES = (
    """CREATE TABLE documents (
         id INTEGER PRIMARY KEY,
         kind TEXT NOT NULL CHECK (kind IN ('machine', 'group', 'default')),
         identifier TEXT NOT NULL,
         identity TEXT NOT NULL,
         format TEXT NOT NULL,
         text TEXT NOT NULL,
         revision INTEGER NOT NULL DEFAULT 0,
         UNIQUE (kind, identifier, format),
         UNIQUE (kind, identity, format))""",
    "CREATE INDEX documents_by_revision ON documents (revision)",
    """CREATE TABLE changes (
         id INTEGER PRIMARY KEY AUTOINCREMENT,
         at TEXT NOT NULL,
         kind TEXT NOT NULL,
         identifier TEXT NOT NULL,
         format TEXT NOT NULL,
         text_before TEXT,
         text_after TEXT,
         peer TEXT)""",
    """CREATE TRIGGER document_inserted AFTER INSERT ON documents BEGIN
         INSERT INTO changes (at, kind, identifier, format, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NEW.kind, NEW.identifier, NEW.format, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END""",
    """CREATE TRIGGER document_updated AFTER UPDATE OF kind, identifier, format, text ON documents BEGIN
         INSERT INTO changes (at, kind, identifier, format, text_before)
           SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), OLD.kind, OLD.identifier, OLD.format, OLD.text
           WHERE (OLD.kind, OLD.identifier, OLD.format) <> (NEW.kind, NEW.identifier, NEW.format);
         INSERT INTO changes (at, kind, identifier, format, text_before, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NEW.kind, NEW.identifier, NEW.format, OLD.text, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END""",
    """CREATE TRIGGER document_deleted AFTER DELETE ON documents BEGIN
         INSERT INTO changes (at, kind, identifier, format, text_before)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), OLD.kind, OLD.identifier, OLD.format, OLD.text);
       END""",
)

_AUTHORS_AND_INVENTORIES = (
    # SQLite cannot change a CHECK: the table is copied. Revisions stay, so that no reader sees a change.
    "DROP TRIGGER document_inserted",
    "DROP TRIGGER document_updated",
    "DROP TRIGGER document_deleted",
    "ALTER TABLE documents RENAME TO old_documents",
    """CREATE TABLE documents (
         id INTEGER PRIMARY KEY,
         kind TEXT NOT NULL CHECK (kind IN ('machine', 'group', 'default', 'inventory')),
         identifier TEXT NOT NULL,
         identity TEXT NOT NULL,
         format TEXT NOT NULL,
         text TEXT NOT NULL,
         revision INTEGER NOT NULL DEFAULT 0,
         UNIQUE (kind, identifier, format),
         UNIQUE (kind, identity, format))""",
    """INSERT INTO documents (id, kind, identifier, identity, format, text, revision)
         SELECT id, kind, identifier, identity, format, text, revision FROM old_documents""",
    "DROP TABLE old_documents",
    "CREATE INDEX documents_by_revision ON documents (revision)",
    "ALTER TABLE changes ADD COLUMN token TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE changes ADD COLUMN author TEXT",
    "ALTER TABLE changes ADD COLUMN note TEXT",
    "CREATE INDEX changes_by_document ON changes (kind, identifier, format)",
    """CREATE TRIGGER document_inserted AFTER INSERT ON documents BEGIN
         INSERT INTO changes (at, token, kind, identifier, format, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lower(hex(randomblob(8))),
                   NEW.kind, NEW.identifier, NEW.format, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END""",
    """CREATE TRIGGER document_updated AFTER UPDATE OF kind, identifier, format, text ON documents BEGIN
         INSERT INTO changes (at, token, kind, identifier, format, text_before)
           SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lower(hex(randomblob(8))),
                  OLD.kind, OLD.identifier, OLD.format, OLD.text
           WHERE (OLD.kind, OLD.identifier, OLD.format) <> (NEW.kind, NEW.identifier, NEW.format);
         INSERT INTO changes (at, token, kind, identifier, format, text_before, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lower(hex(randomblob(8))),
                   NEW.kind, NEW.identifier, NEW.format, OLD.text, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END""",
    """CREATE TRIGGER document_deleted AFTER DELETE ON documents BEGIN
         INSERT INTO changes (at, token, kind, identifier, format, text_before)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lower(hex(randomblob(8))),
                   OLD.kind, OLD.identifier, OLD.format, OLD.text);
       END""",
)

_INSTALLS = (
    """CREATE TABLE installs (
         id INTEGER PRIMARY KEY,
         name TEXT NOT NULL,
         name_identity TEXT NOT NULL UNIQUE,
         attempt INTEGER NOT NULL,
         state TEXT NOT NULL,
         since REAL NOT NULL,
         was_armed INTEGER NOT NULL,
         by_operator INTEGER NOT NULL,
         starts INTEGER NOT NULL,
         given TEXT NOT NULL,
         heard REAL NOT NULL,
         message TEXT,
         percent REAL,
         identities TEXT NOT NULL,
         group_name TEXT,
         events INTEGER NOT NULL,
         news INTEGER NOT NULL,
         revision INTEGER NOT NULL)""",
    "CREATE INDEX installs_by_revision ON installs (revision)",
    """CREATE TABLE install_events (
         install INTEGER NOT NULL,
         place INTEGER NOT NULL,
         number INTEGER NOT NULL,
         at REAL NOT NULL,
         what TEXT NOT NULL,
         detail TEXT NOT NULL,
         origin TEXT NOT NULL,
         counts INTEGER NOT NULL,
         body BLOB,
         PRIMARY KEY (install, place))""",
    """CREATE TABLE forgotten_installs (
         name_identity TEXT PRIMARY KEY,
         attempt INTEGER NOT NULL,
         revision INTEGER NOT NULL)""",
    "CREATE INDEX forgotten_by_revision ON forgotten_installs (revision)",
    """CREATE TABLE unknown_machines (
         identity TEXT PRIMARY KEY,
         machine TEXT NOT NULL,
         first REAL NOT NULL,
         last REAL NOT NULL,
         asked INTEGER NOT NULL,
         facts TEXT NOT NULL)""",
    "CREATE INDEX unknown_by_time ON unknown_machines (last)",
    "CREATE TABLE install_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "INSERT INTO install_settings (name, value) VALUES ('revision', '0')",
)
"""The states of installs, in the database or, beside the file store, in a file of their own."""


# PostgreSQL has no triggers here: a row trigger that numbers changes takes quadratic time in a large transaction. The
# transaction numbers them itself (`answerd.store.postgres_transaction`), under the lock of the one row of ``counter``.
_DOCUMENTS_AND_CHANGES_OF_POSTGRES = (
    """CREATE TABLE documents (
         id BIGSERIAL PRIMARY KEY,
         kind TEXT NOT NULL,
         identifier TEXT NOT NULL,
         identity TEXT NOT NULL,
         format TEXT NOT NULL,
         text TEXT NOT NULL,
         revision BIGINT NOT NULL DEFAULT 0,
         UNIQUE (kind, identifier, format),
         UNIQUE (kind, identity, format))""",
    "CREATE INDEX documents_by_revision ON documents (revision)",
    """CREATE TABLE changes (
         id BIGINT PRIMARY KEY,
         at TEXT NOT NULL,
         kind TEXT NOT NULL,
         identifier TEXT NOT NULL,
         format TEXT NOT NULL,
         text_before TEXT,
         text_after TEXT,
         peer TEXT)""",
    "CREATE TABLE counter (id INTEGER PRIMARY KEY CHECK (id = 1), revision BIGINT NOT NULL)",
    "INSERT INTO counter (id, revision) VALUES (1, 0)",
)

_AUTHORS_AND_INVENTORIES_OF_POSTGRES = (
    "ALTER TABLE changes ADD COLUMN token TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE changes ADD COLUMN author TEXT",
    "ALTER TABLE changes ADD COLUMN note TEXT",
    "CREATE INDEX changes_by_document ON changes (kind, identifier, format)",
)

_INSTALLS_OF_POSTGRES = tuple(
    statement.replace("id INTEGER PRIMARY KEY", "id BIGSERIAL PRIMARY KEY")
    .replace(" INTEGER", " BIGINT")
    .replace(" REAL", " DOUBLE PRECISION")
    .replace(" BLOB", " BYTEA")
    for statement in _INSTALLS
)

_STATES = Migration(
    "states of installs, their history, and machines that nothing claims",
    {SQLITE: _INSTALLS, POSTGRES: _INSTALLS_OF_POSTGRES},
)

_EVIDENCE = (
    "ALTER TABLE installs ADD COLUMN known TEXT",
    "CREATE TABLE received_messages (source TEXT PRIMARY KEY, number BIGINT NOT NULL)",
    "CREATE TABLE install_revisions (revision BIGINT PRIMARY KEY, token TEXT NOT NULL)",
)
"""The tables of nodes that share states: the evidence of each record, the last message of each node, and a random token
for each revision. Empty in a service on one machine."""

_SHARED_STATES = Migration("states of installs that several nodes share", {SQLITE: _EVIDENCE, POSTGRES: _EVIDENCE})

BARE_NAME = {
    SQLITE: "replace(replace(replace(replace(replace("
    "lower(identifier), '-', ''), '_', ''), '.', ''), ':', ''), '0', '')",
    POSTGRES: "translate(identifier, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:0', 'abcdefghijklmnopqrstuvwxyz')",
}
"""The letters and digits of a change's identifier, which is ASCII, in lower case and without zeros, of which an IPv6
address may have more or fewer. An engine uses an index of an expression only where a query has the same text."""

_CHANGES_BY_NAME = Migration(
    "changes are found by the name of their document in any spelling",
    {
        engine: (f"CREATE INDEX changes_by_name ON changes (({expression}))",)
        for engine, expression in BARE_NAME.items()
    },
)

_EVENT_COLUMNS = """
         id TEXT NOT NULL{unique},
         at {real} NOT NULL,
         source TEXT NOT NULL,
         record TEXT NOT NULL,
         name TEXT NOT NULL,
         kind TEXT NOT NULL,
         attempt BIGINT NOT NULL,
         content TEXT NOT NULL,
         body {blob},
         shared BIGINT)"""

_EVENT_INDICES = (
    "CREATE INDEX events_by_record ON events (record)",
    "CREATE INDEX events_to_deliver ON events (revision) WHERE shared IS NULL",
    "ALTER TABLE unknown_machines ADD COLUMN unsent BIGINT NOT NULL DEFAULT 0",
)


def _to_events(database: peewee.Database) -> None:
    from answerd.store.state_upgrade import states_to_events  # noqa: PLC0415 - it needs the rules of installs

    states_to_events(database)


_EVENTS = Migration(
    "states of installs as events, from which the state of a machine follows",
    {
        SQLITE: (
            "CREATE TABLE events (revision INTEGER PRIMARY KEY,"
            + _EVENT_COLUMNS.format(real="REAL", blob="BLOB", unique=""),
            *_EVENT_INDICES,
        ),
        POSTGRES: (
            "CREATE TABLE events (revision BIGSERIAL PRIMARY KEY,"
            + _EVENT_COLUMNS.format(real="DOUBLE PRECISION", blob="BYTEA", unique=" UNIQUE"),
            *_EVENT_INDICES,
        ),
    },
    _to_events,
)

_GONE = tuple(f"DROP TABLE IF EXISTS {name}" for name in ("install_events", "forgotten_installs", "installs"))

_NO_RECORDS = Migration(
    "no rows of records beside the events",
    {SQLITE: (*_GONE, "DROP TABLE IF EXISTS outbox", "DROP TABLE IF EXISTS outbox_source"), POSTGRES: _GONE},
)
"""Unlike other steps it removes tables: a node of an earlier version must not go on writing where nobody reads. It
keeps its reports on its own disk until it is upgraded."""

MIGRATIONS = (
    Migration(
        "documents, and a row for each accepted change",
        {SQLITE: _DOCUMENTS_AND_CHANGES, POSTGRES: _DOCUMENTS_AND_CHANGES_OF_POSTGRES},
    ),
    Migration(
        "inventories beside documents; of each change its author, a note, and a random token, so that two changes with "
        "one number can be told apart after a restored backup",
        {SQLITE: _AUTHORS_AND_INVENTORIES, POSTGRES: _AUTHORS_AND_INVENTORIES_OF_POSTGRES},
    ),
    _STATES,
    _SHARED_STATES,
    _CHANGES_BY_NAME,
    _EVENTS,
    _NO_RECORDS,
)
"""The steps from each schema version to the next. The version of a database is the number of steps it has taken."""


STATE_MIGRATIONS = (_STATES, _SHARED_STATES, _EVENTS, _NO_RECORDS)
"""The steps of a file that holds the states of installs alone: that of ``SERVICE_STATE_PATH``, and a node's."""


def migrate(database: peewee.SqliteDatabase, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the schema of a SQLite database up to date in one transaction, and switch it to WAL mode.

    Raise `StoreError` for the schema of a newer version and for the database of another program.
    """
    if database.user_version == len(migrations) and database.journal_mode == "wal":
        return
    _checked_version(database, len(migrations), path)
    _use_wal(database)
    with database.atomic("IMMEDIATE"):
        version = _checked_version(database, len(migrations), path)  # another process may have been quicker
        for migration in migrations[version:]:
            for statement in migration.statements[SQLITE]:
                database.execute_sql(statement)  # type: ignore[no-untyped-call]
            if migration.convert is not None:
                migration.convert(database)
        database.user_version = len(migrations)


def migrate_postgres(
    database: peewee.PostgresqlDatabase, described: str, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring the schema of a PostgreSQL database up to date in one transaction, under a lock of the version's row.

    Raise `StoreError` for the schema of a newer version and for the database of another program. Two processes that
    meet an empty database at once may both try to create the version table: the one that fails tries again.
    """
    try:
        _migrate_postgres(database, described, migrations)
    except (peewee.IntegrityError, peewee.OperationalError, peewee.ProgrammingError):
        database.rollback()
        _migrate_postgres(database, described, migrations)


def require_postgres(
    database: peewee.PostgresqlDatabase, described: str, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Raise `StoreError` where a PostgreSQL database has not the schema that this version reads. Changes nothing."""
    if "schema_version" not in set(database.get_tables()):
        raise StoreError(
            f"the database {described} has no tables of answerd: SERVICE_DB_URL names it; serve, import and apply make "
            "them"
        )
    version: int = _run(database, "SELECT version FROM schema_version").fetchone()[0]
    if version > len(migrations):
        raise NewerSchema(_newer(described, version, len(migrations)))
    if version < len(migrations):
        raise StoreError(
            f"the database {described} has schema version {version}, this version of answerd reads {len(migrations)}: "
            "serve, import and apply bring it up to date"
        )


def refuse_newer_postgres(database: peewee.PostgresqlDatabase, described: str) -> None:
    """Raise `NewerSchema` where a newer version has migrated a PostgreSQL database. One without tables is none."""
    try:
        version: int = _run(database, "SELECT version FROM schema_version").fetchone()[0]
    except (peewee.ProgrammingError, TypeError):  # there is no such table, or no row: `migrate_postgres` judges
        return
    if version > len(MIGRATIONS):
        raise NewerSchema(_newer(described, version, len(MIGRATIONS)))


def _migrate_postgres(database: peewee.PostgresqlDatabase, described: str, migrations: Sequence[Migration]) -> None:
    with database.atomic():
        tables = set(database.get_tables())  # one question: another process may be making them
        if "schema_version" not in tables:
            if tables:
                raise StoreError(
                    f"the database {described} belongs to another program: name a database of answerd's own"
                )
            _run(database, "CREATE TABLE schema_version (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)")
            _run(database, "INSERT INTO schema_version (id, version) VALUES (1, 0)")
        version: int = _run(database, "SELECT version FROM schema_version FOR UPDATE").fetchone()[0]
        if version > len(migrations):
            raise NewerSchema(_newer(described, version, len(migrations)))
        if version == len(migrations):
            return
        with patient(database, MIGRATION_SECONDS):
            for migration in migrations[version:]:
                for statement in migration.statements[POSTGRES]:
                    _run(database, statement)
                if migration.convert is not None:
                    migration.convert(database)
        _run(database, "UPDATE schema_version SET version = %s", (len(migrations),))


def _run(database: peewee.Database, statement: str, parameters: tuple[int, ...] = ()) -> Any:
    return database.execute_sql(statement, parameters)  # type: ignore[no-untyped-call]


def _newer(database: object, version: int, newest: int) -> str:
    return (
        f"the database {database} has schema version {version}, this version of answerd understands up to {newest}: "
        "use the newer version that wrote it"
    )


def _checked_version(database: peewee.SqliteDatabase, newest: int, path: Path) -> int:
    """Return the schema version. Raise `StoreError` where the database is not this service's, or is newer."""
    version: int = database.user_version
    if version > newest:
        raise NewerSchema(_newer(path, version, newest))
    if version == 0 and database.get_tables():
        raise StoreError(f"the database {path} belongs to another program: name a file of answerd's own")
    return version


def _use_wal(database: peewee.SqliteDatabase) -> None:
    """Switch to WAL mode. SQLite does not wait for other processes here, so this function does: two processes may
    create one file."""
    until = time.monotonic() + WRITER_WAIT_SECONDS
    while True:
        try:
            if database.journal_mode != "wal":
                database.journal_mode = "wal"
            return
        except peewee.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(_BUSY_RETRY_SECONDS)
