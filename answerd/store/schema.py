"""The tables: how they are made, and how those of an earlier version become those of this one.

Rules: docs/admin-api.md#the-database.

The first step makes the tables of the first release; each other one leads from a version to the next. A step that was
released is never edited: add another one. Services of two versions may run on one database, so a step only adds (a
column, a table, an index). Statements are text, not made from the models, because the models describe the newest
version only.

Versions count from numbers that no database of before the first release has, so that such a one is refused.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import peewee

from answerd.store import WRITER_WAIT_SECONDS, NewerSchema, StoreError
from answerd.store.postgres_connection import patient
from answerd.store.tables import execute

SQLITE, POSTGRES = "sqlite", "postgres"
"""The names of the engines in `Step.statements`."""

MIGRATION_SECONDS = 600.0
"""How long one statement may take in PostgreSQL: an index is made of a history of any length."""

_BUSY_RETRY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Step:
    """The SQL of each engine, by its name, in order."""

    statements: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one kind of database. ``steps`` begin with the one that makes the tables of version ``first``."""

    first: int
    steps: tuple[Step, ...]

    @property
    def newest(self) -> int:
        """The version that this program reads and writes."""
        return self.first + len(self.steps) - 1

    def after(self, version: int, described: object) -> Sequence[Step]:
        """Return the steps that a database of a version has not taken; 0 is an empty one. Raises `StoreError`."""
        if version > self.newest:
            raise NewerSchema(
                f"the database {described} has schema version {version}, this version of answerd understands "
                f"{self.first} to {self.newest}: use the newer version that wrote it"
            )
        if 0 < version < self.first:
            raise StoreError(
                f"the database {described} has schema version {version}, and answerd reads such databases from "
                f"{self.first} on: this one is from before the first release, or holds something else: export its "
                "documents with the version that made it, or name another one"
            )
        return self.steps[max(0, version - self.first + 1) :]

    def statements_of(self, version: int) -> Iterator[str]:
        """Yield what makes the empty tables of a version in SQLite."""
        for step in self.steps[: version - self.first + 1]:
            yield from step.statements[SQLITE]


# --- documents, and a row for each accepted change -------------------------------------------------------------------

_LOGGED = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lower(hex(randomblob(8)))"
"""Time and token of a change, in the triggers below."""

_DOCUMENT_TABLES = (
    """CREATE TABLE documents (
         id {serial} PRIMARY KEY,
         kind TEXT NOT NULL{kinds},
         identifier TEXT NOT NULL,
         identity TEXT NOT NULL,
         format TEXT NOT NULL,
         text TEXT NOT NULL,
         revision {integer} NOT NULL DEFAULT 0,
         UNIQUE (kind, identifier, format),
         UNIQUE (kind, identity, format))""",
    "CREATE INDEX documents_by_revision ON documents (revision)",
    """CREATE TABLE changes (
         id {integer} PRIMARY KEY{numbered},
         at TEXT NOT NULL,
         kind TEXT NOT NULL,
         identifier TEXT NOT NULL,
         format TEXT NOT NULL,
         text_before TEXT,
         text_after TEXT,
         peer TEXT,
         token TEXT NOT NULL DEFAULT '',
         author TEXT,
         note TEXT)""",
    "CREATE INDEX changes_by_document ON changes (kind, identifier, format)",
)

_KINDS = " CHECK (kind IN ('machine', 'group', 'default', 'inventory'))"

_DOCUMENTS = (
    *(
        statement.format(serial="INTEGER", integer="INTEGER", kinds=_KINDS, numbered=" AUTOINCREMENT")
        for statement in _DOCUMENT_TABLES
    ),
    f"""CREATE TRIGGER document_inserted AFTER INSERT ON documents BEGIN
         INSERT INTO changes (at, token, kind, identifier, format, text_after)
           VALUES ({_LOGGED}, NEW.kind, NEW.identifier, NEW.format, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END""",  # noqa: S608 - no text of others
    f"""CREATE TRIGGER document_updated AFTER UPDATE OF kind, identifier, format, text ON documents BEGIN
         INSERT INTO changes (at, token, kind, identifier, format, text_before)
           SELECT {_LOGGED}, OLD.kind, OLD.identifier, OLD.format, OLD.text
           WHERE (OLD.kind, OLD.identifier, OLD.format) <> (NEW.kind, NEW.identifier, NEW.format);
         INSERT INTO changes (at, token, kind, identifier, format, text_before, text_after)
           VALUES ({_LOGGED}, NEW.kind, NEW.identifier, NEW.format, OLD.text, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END""",  # noqa: S608 - no text of others
    f"""CREATE TRIGGER document_deleted AFTER DELETE ON documents BEGIN
         INSERT INTO changes (at, token, kind, identifier, format, text_before)
           VALUES ({_LOGGED}, OLD.kind, OLD.identifier, OLD.format, OLD.text);
       END""",  # noqa: S608
)

# No triggers: a row trigger that numbers changes takes quadratic time in a large transaction. The transaction numbers
# them itself (`answerd.store.log`), under the lock of the one row of ``counter``.
_DOCUMENTS_OF_POSTGRES = (
    *(statement.format(serial="BIGSERIAL", integer="BIGINT", kinds="", numbered="") for statement in _DOCUMENT_TABLES),
    "CREATE TABLE counter (id INTEGER PRIMARY KEY CHECK (id = 1), revision BIGINT NOT NULL)",
    "INSERT INTO counter (id, revision) VALUES (1, 0)",
    "CREATE TABLE log (revision BIGINT PRIMARY KEY, token TEXT NOT NULL)",
)

BARE_NAME = {
    SQLITE: "replace(replace(replace(replace(replace("
    "lower(identifier), '-', ''), '_', ''), '.', ''), ':', ''), '0', '')",
    POSTGRES: "translate(identifier, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:0', 'abcdefghijklmnopqrstuvwxyz')",
}
"""The letters and digits of a change's identifier, which is ASCII, in lower case and without zeros, of which an IPv6
address may have more or fewer. An engine uses an index of an expression only where a query has the same text."""


def _changes_by_name(engine: str) -> str:
    return f"CREATE INDEX changes_by_name ON changes (({BARE_NAME[engine]}))"


# --- states of installs, in the database or, beside the file store, in a file of their own ---------------------------

_INSTALLS = (
    """CREATE TABLE unknown_machines (
         identity TEXT PRIMARY KEY,
         machine TEXT NOT NULL,
         first REAL NOT NULL,
         last REAL NOT NULL,
         asked INTEGER NOT NULL,
         facts TEXT NOT NULL,
         unsent INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX unknown_by_time ON unknown_machines (last)",
    "CREATE TABLE install_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)

_INSTALLS_OF_POSTGRES = tuple(
    statement.replace(" INTEGER", " BIGINT").replace(" REAL", " DOUBLE PRECISION") for statement in _INSTALLS
)

_EVENT_COLUMNS = """
         id TEXT NOT NULL{unique},
         at {real} NOT NULL,
         record TEXT NOT NULL,
         name TEXT NOT NULL,
         kind TEXT NOT NULL,
         content TEXT NOT NULL,
         body {blob},
         shared BIGINT)"""

_EVENT_INDICES = (
    "CREATE INDEX events_by_record ON events (record)",
    "CREATE INDEX events_to_deliver ON events (revision) WHERE shared IS NULL",
)


_EVENTS = (
    # A revision is never used again, also where the newest event is not kept: others have read up to it.
    "CREATE TABLE events (revision INTEGER PRIMARY KEY AUTOINCREMENT,"
    + _EVENT_COLUMNS.format(real="REAL", blob="BLOB", unique=""),
    *_EVENT_INDICES,
)

_EVENTS_OF_POSTGRES = (
    "CREATE TABLE events (revision BIGINT PRIMARY KEY,"
    + _EVENT_COLUMNS.format(real="DOUBLE PRECISION", blob="BYTEA", unique=" UNIQUE"),
    *_EVENT_INDICES,
)

DOCUMENTS = Schema(
    100,
    (
        Step(
            {
                SQLITE: (*_DOCUMENTS, _changes_by_name(SQLITE), *_INSTALLS, *_EVENTS),
                POSTGRES: (
                    *_DOCUMENTS_OF_POSTGRES,
                    _changes_by_name(POSTGRES),
                    *_INSTALLS_OF_POSTGRES,
                    *_EVENTS_OF_POSTGRES,
                ),
            }
        ),
    ),
)
"""A database with documents, and the states of installs."""

STATES = Schema(50, (Step({SQLITE: (*_INSTALLS, *_EVENTS)}),))
"""A file that holds the states of installs alone: that of ``SERVICE_STATE_PATH``, and a node's."""


def migrate(database: peewee.SqliteDatabase, path: Path, schema: Schema = DOCUMENTS) -> None:
    """Bring the tables of a SQLite database up to date in one transaction, and switch it to WAL mode.

    Raise `StoreError` for the schema of a newer version, for one from before the first release, and for the database of
    another program.
    """
    if database.user_version == schema.newest and database.journal_mode == "wal":
        return
    with database.atomic():  # one snapshot: another process may be making the tables
        _steps_for(database, path, schema)
    _use_wal(database)
    with database.atomic("IMMEDIATE"):
        for step in _steps_for(database, path, schema):  # another process may have been quicker
            _take(database, step, SQLITE)
        database.user_version = schema.newest


def _steps_for(database: peewee.SqliteDatabase, path: Path, schema: Schema) -> Sequence[Step]:
    version = database.user_version
    if version == 0 and database.get_tables():
        raise StoreError(f"the database {path} belongs to another program: name a file of answerd's own")
    return schema.after(version, path)


def _take(database: peewee.Database, step: Step, engine: str) -> None:
    for statement in step.statements[engine]:
        execute(database, statement)


def migrate_postgres(database: peewee.PostgresqlDatabase, described: str, schema: Schema = DOCUMENTS) -> None:
    """Bring the tables of a PostgreSQL database up to date in one transaction, under a lock of the version's row.

    Raise `StoreError` as `migrate` does. Two processes that meet an empty database at once may both try to create the
    version table: the one that fails tries again.
    """
    try:
        _migrate_postgres(database, described, schema)
    except (peewee.IntegrityError, peewee.OperationalError, peewee.ProgrammingError):
        database.rollback()
        _migrate_postgres(database, described, schema)


def _migrate_postgres(database: peewee.PostgresqlDatabase, described: str, schema: Schema) -> None:
    with database.atomic():
        tables = set(database.get_tables())  # one question: another process may be making them
        if "schema_version" not in tables:
            if tables:
                raise StoreError(
                    f"the database {described} belongs to another program: name a database of answerd's own"
                )
            execute(database, "CREATE TABLE schema_version (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)")
            execute(database, "INSERT INTO schema_version (id, version) VALUES (1, 0)")
        version: int = execute(database, "SELECT version FROM schema_version FOR UPDATE").fetchone()[0]
        steps = schema.after(version, described)
        if not steps:
            return
        with patient(database, MIGRATION_SECONDS):
            for step in steps:
                _take(database, step, POSTGRES)
        execute(database, "UPDATE schema_version SET version = %s", (schema.newest,))


def require_postgres(database: peewee.PostgresqlDatabase, described: str) -> None:
    """Raise `StoreError` where a PostgreSQL database has not the schema that this version reads. Changes nothing."""
    if "schema_version" not in set(database.get_tables()):
        raise StoreError(
            f"the database {described} has no tables of answerd: SERVICE_DB_URL names it; serve, import, apply "
            "and restore make them"
        )
    version: int = execute(database, "SELECT version FROM schema_version").fetchone()[0]
    if DOCUMENTS.after(version, described):
        raise StoreError(
            f"the database {described} has schema version {version}, this version of answerd reads {DOCUMENTS.newest}: "
            "serve, import and apply bring it up to date"
        )


def refuse_newer_postgres(database: peewee.PostgresqlDatabase, described: str) -> None:
    """Raise `NewerSchema` where a newer version has migrated a PostgreSQL database. One without tables is none."""
    try:
        version: int = execute(database, "SELECT version FROM schema_version").fetchone()[0]
    except (peewee.ProgrammingError, TypeError):  # there is no such table, or no row: `migrate_postgres` judges
        return
    if version > DOCUMENTS.newest:
        DOCUMENTS.after(version, described)


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
