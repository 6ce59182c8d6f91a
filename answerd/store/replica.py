"""The replica: a local SQLite file that a node keeps equal to the database, and answers from.

Rules: docs/many-nodes.md#the-replica.

Workers read it as they read the SQLite store. It has the tables of that store without the triggers, because the numbers
of its changes are the database's.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import peewee

from answerd.documents import Key
from answerd.formats import FORMATS
from answerd.identity import Kind, identity_of
from answerd.store import WRITER_WAIT_SECONDS, StoreAway, StoreError, Version
from answerd.store.log import is_in_history, newest_write
from answerd.store.postgres_connection import OlderServer, PostgresServer
from answerd.store.schema import migrate
from answerd.store.sqlite import FILE_MODE, SqliteFile, cause_of
from answerd.store.state_tables import run_many
from answerd.store.tables import (
    BEFORE_ALL,
    ChangeRow,
    DocumentRow,
    StoredRow,
    deleted_since,
    execute,
    fetched,
    newest_revision,
    rows_in_parts,
)

ROWS_AT_ONCE = 200
"""Documents read from the database at a time: 0.5 MB of them at most of 2 KB each."""

_CHANGES_KEPT = 10_000
"""Changes that a reader of the replica may be behind before it compares everything."""

_TEXTS_KEPT = 200
"""Of these the newest that have their texts too."""

_LOCK_RETRY_SECONDS = 0.05

_WITHOUT_TRIGGERS = (
    "DROP TRIGGER IF EXISTS document_inserted",
    "DROP TRIGGER IF EXISTS document_updated",
    "DROP TRIGGER IF EXISTS document_deleted",
    "CREATE TABLE IF NOT EXISTS replica (id INTEGER PRIMARY KEY, revision INTEGER, token TEXT, asked REAL)",
    "CREATE TABLE IF NOT EXISTS followed (id INTEGER PRIMARY KEY, system TEXT, timeline INTEGER)",
    "CREATE TABLE IF NOT EXISTS met (id INTEGER PRIMARY KEY, newer_schema TEXT)",
    "CREATE TABLE IF NOT EXISTS understood (id INTEGER PRIMARY KEY, formats TEXT)",
)

_TIMELINE = (
    "SELECT system_identifier::text, CASE WHEN pg_is_in_recovery() THEN 0 ELSE "
    "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END FROM pg_control_system()"
)
"""A standby says 0: it takes no writes. The timeline of the control file is that of the last checkpoint, so a promoted
server would be taken for the old one for minutes."""

_NOT_HERE = "55000"
"""The code of the error of a server that keeps no such log: a service that stores elsewhere."""


class Lineage(NamedTuple):
    """Which server a connection has: its cluster, by the random number of its making, and its timeline, which each
    promotion of a standby raises. A primary that was stopped meanwhile and goes on is on the old one: it takes writes
    that no other server has. Rules: docs/many-nodes.md#an-old-primary-that-wakes."""

    system: str
    timeline: int

    def is_before(self, newest: Lineage | None) -> bool:
        """Return whether another server of the same cluster was promoted after this one."""
        return newest is not None and newest.system == self.system and 0 < self.timeline < newest.timeline


def lineage_of(database: peewee.Database) -> Lineage | None:
    """Ask a server; return None where its engine does not tell, or does not tell this user. Raises what else the engine
    raises: a connection that is lost, or a question that took too long, says nothing about the engine."""
    try:
        row = execute(database, _TIMELINE).fetchone()
    except (peewee.ProgrammingError, peewee.NotSupportedError):
        return None
    except peewee.OperationalError as error:
        if getattr(getattr(error, "orig", None), "sqlstate", None) != _NOT_HERE:
            raise
        return None
    return Lineage(str(row[0]), int(row[1])) if row else None


def _known_lineage(database: peewee.Database) -> Lineage | None:
    """Return what `Replica.follow` has found of a connection."""
    found: Lineage | None = getattr(database, "lineage", None)
    return found


@dataclass(frozen=True, slots=True)
class ReplicaPosition:
    """The state of a replica: the number and the random token of the last write of the database that it has, and when
    the database was last queried (seconds since 1970). ``revision`` is None for a replica that was never filled."""

    revision: int | None = None
    token: str = ""
    asked: float = 0.0


class Replica:
    """A replica by its path. Several processes may bring it up to date: each holds its write lock meanwhile."""

    def __init__(self, path: str | Path) -> None:
        """Open the file; create it, its directory and its tables where missing. Raises `StoreError`."""
        self.file = SqliteFile(path)
        self._tells_lineage = True
        self._make_tables(self.file)

    @staticmethod
    def _make_tables(file: SqliteFile) -> None:
        with file.faults("opened"):
            file.create()
            with file.connected(WRITER_WAIT_SECONDS) as local:
                migrate(local, file.path)
                with local.atomic("IMMEDIATE"):
                    for statement in _WITHOUT_TRIGGERS:
                        execute(local, statement)
                    _forget_position_of_older_program(local)

    def own(self) -> None:
        """Take the replica for this process and those that are forked from it, until all of them have ended. Raises
        `StoreError` where another node has it."""
        path = self.file.path.with_name(f"{self.file.path.name}.lock")
        with self.file.faults("opened"):
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        until = time.monotonic() + WRITER_WAIT_SECONDS  # the children of a killed service end a moment after it
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    os.close(lock)
                    raise StoreError(
                        f"the replica {self.file.path} belongs to another node that runs on this machine: give each "
                        "its own SERVICE_REPLICA_PATH"
                    ) from None
                time.sleep(_LOCK_RETRY_SECONDS)

    def restore(self) -> bool:
        """Make the file again where it was removed; return whether it was. For one process of the node, the replicator.
        Raises `StoreError`."""
        path = self.file.path
        if path.exists():
            return False
        made = SqliteFile(path.with_name(f".{path.name}.new"))
        with self.file.faults("opened"):
            made.remove()
            self._make_tables(made)
            self.file.remove()  # what is left of the old one beside it would be taken for a part of the new one
            os.rename(made.path, path)
        return True

    def position(self) -> ReplicaPosition:
        """Return the position of the replica. Raises `StoreError`."""
        with self.file.faults("read"), self.file.connected() as local:
            return position_in(local)

    def newest(self) -> Lineage | None:
        """Return the newest server that this node has followed; None where none was known. Raises `StoreError`."""
        with self.file.faults("read"), self.file.connected() as local:
            return _newest(local)

    def follow(self, database: peewee.PostgresqlDatabase) -> None:
        """Note which server a new connection has. Raises `OlderServer` where this node has followed a newer one, and
        what the engine raises. An engine that tells nothing is asked once."""
        found = lineage_of(database) if self._tells_lineage else None
        self._tells_lineage = found is not None
        database.lineage = found  # type: ignore[attr-defined]
        if found is None or self.require_newest(database) == found or not found.timeline:
            return
        with self.file.faults("written"), self._exclusively() as local:
            if not found.is_before(_newest(local)):
                execute(local, "INSERT OR REPLACE INTO followed (id, system, timeline) VALUES (1, ?, ?)", found)

    def require_newest(self, database: peewee.Database) -> Lineage | None:
        """Raise `OlderServer` where a connection has a server from before a fail-over that this node has seen; else
        return the newest."""
        return _require(_known_lineage(database), self.newest())

    def newer_schema(self) -> str:
        """Return what was said of the database when it had a schema newer than this node's program; empty where that is
        not so, or no longer. Raises `StoreError`."""
        with self.file.faults("read"), self.file.connected() as local:
            row = execute(local, "SELECT newer_schema FROM met WHERE id = 1").fetchone()
        return str(row[0]) if row else ""

    def note_newer_schema(self, reason: str) -> None:
        """Remember it for a start without the database; empty: it is not so. Raises `StoreError`."""
        with self.file.faults("written"), self._exclusively() as local:
            execute(local, "INSERT OR REPLACE INTO met (id, newer_schema) VALUES (1, ?)", (reason,))

    @contextmanager
    def faults_beside(self, server: PostgresServer, done: str) -> Iterator[None]:
        """Turn errors of either engine in the block into a `StoreError` that names the right one."""
        try:
            yield
        except (peewee.PeeweeException, sqlite3.Error, OSError) as error:
            is_local = isinstance(cause_of(error), sqlite3.Error | OSError)
            with self.file.faults("written") if is_local else server.faults(done):
                raise

    def bring_up_to_date(self, database: peewee.Database, *, has_lock: bool = False) -> bool:
        """Copy the changes in the database since the replica's position; return whether there were any.

        Reads in one snapshot, and puts all of it in force in one transaction. ``has_lock``: the connection is in a
        transaction that holds the lock of the counter, so nothing can change meanwhile; it is to be called before that
        transaction writes. Raises what the engines raise.
        """
        with self._exclusively() as local, nullcontext() if has_lock else database.atomic("REPEATABLE READ"):
            return _copy(database, local)

    @contextmanager
    def ahead_of(self, database: peewee.Database) -> Iterator[None]:
        """Copy the writes of the transaction of this connection, and put them in force at the end of the block, in
        which the transaction is committed. Where the block raises, the replica stays as it was."""
        with self._exclusively() as local:
            _copy(database, local)
            yield

    @contextmanager
    def _exclusively(self) -> Iterator[peewee.SqliteDatabase]:
        if not self.file.path.exists():
            raise StoreAway(f"the replica {self.file.path} was removed: it is being made again")
        with self.file.connected(WRITER_WAIT_SECONDS) as local, local.atomic("IMMEDIATE"):
            yield local


def _newest(local: peewee.SqliteDatabase) -> Lineage | None:
    row = execute(local, "SELECT system, timeline FROM followed WHERE id = 1").fetchone()
    return Lineage(*row) if row else None


def _require(found: Lineage | None, newest: Lineage | None) -> Lineage | None:
    if found is not None and newest is not None and found.is_before(newest):
        raise OlderServer(
            f"it is the primary from before a fail-over (timeline {found.timeline}, this node has followed "
            f"{newest.timeline}) and is not used: stop it"
        )
    return newest


def _copy(database: peewee.Database, local: peewee.SqliteDatabase) -> bool:
    """Copy the changes since the position of the replica; return whether there were any. Raises `StoreAway` where
    another process of this node has seen a fail-over meanwhile."""
    found = _known_lineage(database)
    _require(found, _newest(local))
    known = position_in(local)
    newest = newest_write(database)
    if known.revision is not None and newest.revision < known.revision and found is not None and _is_standby(database):
        return False  # it has not got yet what this replica has
    has_changed = (newest.revision, newest.token) != (known.revision, known.token)
    if has_changed and known.revision is not None and is_in_history(database, Version(known.revision, known.token)):
        has_changed = _copy_since(database, local, known.revision)
    elif has_changed:
        _copy_all(database, local)
    _note(local, newest)
    return has_changed


def _is_standby(database: peewee.Database) -> bool:
    """Return whether a server that tells its lineage follows another one at this moment."""
    return bool(execute(database, "SELECT pg_is_in_recovery()").fetchone()[0])


def _forget_position_of_older_program(local: peewee.SqliteDatabase) -> None:
    """Have everything copied again where a program with other kinds and formats filled the replica: it left out what it
    did not understand. What it has stays in force until then."""
    formats = " ".join(sorted([*FORMATS, *(kind.value for kind in Kind)]))
    row = execute(local, "SELECT formats FROM understood WHERE id = 1").fetchone()
    if row is None or row[0] != formats:
        execute(local, "INSERT OR REPLACE INTO understood (id, formats) VALUES (1, ?)", (formats,))
        execute(local, "UPDATE replica SET token = ''")


def position_in(local: peewee.SqliteDatabase) -> ReplicaPosition:
    """Return the position of a replica by a connection to it."""
    row = execute(local, "SELECT revision, token, asked FROM replica WHERE id = 1").fetchone()
    return ReplicaPosition(*row) if row else ReplicaPosition()


def _note(local: peewee.SqliteDatabase, position: Version) -> None:
    execute(
        local,
        "INSERT INTO replica (id, revision, token, asked) VALUES (1, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, token = excluded.token, asked = excluded.asked",
        (position.revision, position.token, time.time()),
    )


def _copy_since(database: peewee.Database, local: peewee.SqliteDatabase, revision: int) -> bool:
    """Copy the changes of documents after ``revision``; return whether there were any."""
    if not newest_revision(database) > revision:
        return False
    for kind, name, extension in [(key.kind, key.identifier, key.format) for key in deleted_since(database, revision)]:
        _delete(local, Key(kind, name, extension))
    for part in rows_in_parts(database, revision, ROWS_AT_ONCE):
        for row in part:
            _delete(local, row.key)
        _insert(local, part)
    _copy_log(database, local, revision)
    return True


def _copy_all(database: peewee.Database, local: peewee.SqliteDatabase) -> None:
    """Copy every document: the replica is empty, or its last change is not one of the database's history."""
    DocumentRow.delete().bind(local).execute()
    ChangeRow.delete().bind(local).execute()
    for part in rows_in_parts(database, BEFORE_ALL, ROWS_AT_ONCE):
        _insert(local, part)
    _copy_log(database, local, _before_newest(database, _TEXTS_KEPT))


def _copy_log(database: peewee.Database, local: peewee.SqliteDatabase, revision: int) -> None:
    """Copy which documents changed after ``revision``: readers of the replica follow this log. Only the newest changes
    have their texts, for the history while the database is away."""
    had_texts, whole = _before_newest(local, _TEXTS_KEPT), _before_newest(database, _TEXTS_KEPT)
    found = execute(
        database,
        "SELECT id, token, kind, identifier, format, peer, author, note, CASE WHEN id > %s THEN at ELSE '' END, "
        "CASE WHEN id > %s THEN text_before END, CASE WHEN text_after IS NULL OR id > %s THEN text_after ELSE '' END "
        "FROM changes WHERE id > %s ORDER BY id",
        (whole, whole, whole, revision),
    )
    names = "id, token, kind, identifier, format, peer, author, note, at, text_before, text_after"
    insert = f"INSERT INTO changes ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - no value
    while part := found.fetchmany(ROWS_AT_ONCE):
        run_many(local, insert, part)
    ChangeRow.delete().where(ChangeRow.id <= _before_newest(local, _CHANGES_KEPT)).bind(local).execute()
    execute(
        local,
        "UPDATE changes SET at = '', text_before = NULL, text_after = CASE WHEN text_after IS NOT NULL THEN '' END "
        "WHERE id > ? AND id <= ?",
        (had_texts, whole),
    )


def _before_newest(database: peewee.Database, count: int) -> int:
    """Return the revision after which there are ``count`` changes of documents; 0 where there are no more."""
    query = ChangeRow.select(ChangeRow.id).order_by(ChangeRow.id.desc()).limit(1).offset(count)
    return next((number for (number,) in fetched(query, database)), 0)


def _delete(local: peewee.SqliteDatabase, key: Key) -> None:
    named = (DocumentRow.kind == key.kind.value) & (DocumentRow.format == key.format)
    same = (DocumentRow.identity == identity_of(key.identifier)) | (DocumentRow.identifier == key.identifier)
    DocumentRow.delete().where(named & same).bind(local).execute()


def _insert(local: peewee.SqliteDatabase, part: Sequence[StoredRow]) -> None:
    values: list[str | int] = []
    for row in part:
        key = row.key
        values += (key.kind.value, key.identifier, identity_of(key.identifier), key.format)
        values += (row.body.decode(), row.revision)
    # Not by the query builder: it takes as long as all the rest of a new node's copy.
    places = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(part))
    names = "kind, identifier, identity, format, text, revision"
    execute(local, f"INSERT INTO documents ({names}) VALUES {places}", tuple(values))  # noqa: S608 - no text of others
