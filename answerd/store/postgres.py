"""The PostgreSQL store: documents in a database that many nodes share.

Rules: docs/many-nodes.md.

`PostgresStore` reads and writes the database itself, for commands. `ReplicatedStore` is a node's: it writes the
database and follows the node's replica. `ReplicaReader` reads a node's replica while the database is away.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import peewee

from answerd.documents import RawDocument
from answerd.installs.states import Rules
from answerd.store import (
    NOBODY,
    WRITER_WAIT_SECONDS,
    Author,
    Changes,
    NewerSchema,
    NoSetYet,
    ReadOnlyStore,
    StoreAway,
    StoredDocument,
    StoreError,
)
from answerd.store.database import DatabaseStore, DatabaseTransaction, Found, columns_of, unknown_formats
from answerd.store.log import LogWriter
from answerd.store.postgres_connection import (
    READ_COMMITTED,
    READ_SECONDS,
    WRITE_SECONDS,
    CommitUnknown,
    PostgresServer,
)
from answerd.store.postgres_copy import copy_to_file
from answerd.store.replica import ROWS_AT_ONCE, Replica, position_in
from answerd.store.replicator import Replicator, SharedSentence
from answerd.store.schema import migrate_postgres, refuse_newer_postgres, require_postgres
from answerd.store.sqlite import SqliteFile, SqliteReader
from answerd.store.state_sync import NodeStates, exchange, states_path
from answerd.store.tables import (
    BEFORE_ALL,
    ChangeRow,
    DocumentRow,
    StoredRow,
    execute,
    rows_in_parts,
)

_LONGEST_SILENCE_SECONDS = 600
"""The most of `end_when_silent`: an import may read for minutes between two statements."""

_LOG_OF_ONE = (
    "INSERT INTO changes (id, at, token, kind, identifier, format, text_before, text_after, peer, author, note) "
    "SELECT %s, %s, %s, kind, identifier, format, text, %s, %s, %s, %s FROM documents WHERE id = %s"
)


class PostgresTransaction(DatabaseTransaction):
    """Holds the lock of all writers from its first moment (`answerd.store.log`)."""

    def __init__(self, server: PostgresServer, author: Author, wait: float, within: float = math.inf) -> None:
        """Take the lock. Raises `StoreError` when it is not free within ``wait`` seconds. The transaction waits for the
        server for at most ``within`` seconds in all."""
        self._server = server
        self._author = author
        self._token = secrets.token_hex(8)
        self._at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        database = server.connect(WRITE_SECONDS, within)
        try:
            with server.faults("written"):
                database.begin(READ_COMMITTED)
                log = LogWriter(database, wait, min(_LONGEST_SILENCE_SECONDS, within + 1))
        except BaseException:
            database.close()
            raise
        super().__init__(database)
        self._log = log

    def faults(self, done: str) -> AbstractContextManager[None]:
        return self._server.faults(done)

    def commit(self) -> None:
        """Make it durable. Raises `CommitUnknown` where the connection was lost meanwhile: it may have been stored."""
        self.number()
        self.end()

    def number(self) -> None:
        """Note the numbers of this transaction, and announce them. The last thing before `end`."""
        with self.faults("written"):
            self._log.end()

    def end(self) -> None:
        """Commit. Raises `CommitUnknown`."""
        try:
            self._database.commit()
        except (peewee.PeeweeException, OSError):
            raise CommitUnknown(
                f"the connection to the database {self._server.described} was lost while the change was committed: it "
                "may have been stored; the document's ETag shows whether it was"
            ) from None

    def change(self, found: Found, text: str) -> None:
        revision = self._log_one(found, text)
        changed = DocumentRow.update(text=text, revision=revision).where(DocumentRow.id == found.id)
        changed.bind(self._database).execute()

    def insert(self, documents: Sequence[RawDocument]) -> None:
        numbered = [(self._log.next(), raw) for raw in documents]
        signed = {"at": self._at, "peer": self._author.peer, "author": self._author.name, "note": self._author.note}
        log = [
            {
                "id": number,
                "token": self._token,
                "kind": raw.key.kind.value,
                "identifier": raw.key.identifier,
                "format": raw.key.format,
                "text_before": None,
                "text_after": raw.text,
            }
            | signed
            for number, raw in numbered
        ]
        ChangeRow.insert_many(log).bind(self._database).execute()
        columns = [columns_of(raw) | {"revision": number} for number, raw in numbered]
        DocumentRow.insert_many(columns).bind(self._database).execute()

    def remove(self, documents: Sequence[Found]) -> None:
        for found in documents:
            self._log_one(found, None)
            DocumentRow.delete().where(DocumentRow.id == found.id).bind(self._database).execute()

    def _log_one(self, found: Found, text: str | None) -> int:
        """Record that a stored document gets another text, or None. Return the revision."""
        revision, author = self._log.next(), self._author
        values = (revision, self._at, self._token, text, author.peer, author.name, author.note, found.id)
        execute(self._database, _LOG_OF_ONE, values)
        return revision


class PostgresStore(DatabaseStore):
    """Documents in PostgreSQL. Opening it opens no connection."""

    poll_seconds = 0.5

    def __init__(self, url: str) -> None:
        super().__init__()
        self.server = PostgresServer(url)
        self._looked_before = False

    @property
    def described(self) -> str:
        return self.server.described

    def connected(self, wait: float = READ_SECONDS) -> AbstractContextManager[Any]:
        return self.server.connected(wait)

    def faults(self, done: str) -> AbstractContextManager[None]:
        return self.server.faults(done)

    def warnings(self) -> list[str]:
        return []  # asking would need the database

    def prepare(self) -> None:
        """Bring the database's schema up to date. Raises `StoreError`."""
        with self.server.connected(WRITE_SECONDS) as database, self.server.faults("opened"):
            migrate_postgres(database, self.described)

    def require_prepared(self) -> None:
        """Raise `StoreError` where the database has not this version's schema: no tables are no empty set."""
        with self.server.connected() as database, self.server.faults("read"):
            require_postgres(database, self.described)

    def force_full_poll(self) -> None:
        pass  # every poll compares all documents

    def changes(self) -> Changes | None:
        """Return the whole set at first, later what differs from it. Raises `StoreError`.

        For a command that reads once; a service follows its replica.
        """
        found = {row.key: row.raw() for row in self._every_row()}
        added = tuple(raw for raw in found.values() if not self._is_known(raw))
        removed = tuple(
            raw for key, raw in self._documents.items() if key not in found or not self._is_known(found[key])
        )
        is_first, self._looked_before = not self._looked_before, True
        for raw in removed:
            del self._documents[raw.key]
        self._documents |= {raw.key: raw for raw in added}
        return Changes(added, removed) if added or removed or is_first else None

    def all(self) -> list[StoredDocument]:
        found = [StoredDocument(row.key, row.body, row.revision) for row in self._every_row()]
        return sorted(found, key=lambda stored: stored.key)

    def _every_row(self) -> Iterator[StoredRow]:
        """Yield all documents of one snapshot, some at a time: each statement has its own bound of time."""
        with self.server.connected() as database, self.server.faults("read"), database.atomic("REPEATABLE READ"):
            for part in rows_in_parts(database, BEFORE_ALL, ROWS_AT_ONCE):
                yield from part

    def backup(self, path: str) -> None:
        with self.server.connected() as database, self.server.faults("read"), database.atomic("REPEATABLE READ"):
            copy_to_file(database, Path(path))

    def begin(
        self, author: Author = NOBODY, wait: float = WRITER_WAIT_SECONDS, within: float = math.inf
    ) -> PostgresTransaction:
        return PostgresTransaction(self.server, author, wait, within)


class _ReplicatedTransaction(PostgresTransaction):
    """A write that is judged by the newest set, and after which this node's workers find it in the replica at their
    next request."""

    def __init__(self, replica: Replica, server: PostgresServer, author: Author, wait: float, within: float) -> None:
        """Take the lock, then bring the replica up to date. Raises `StoreError`.

        A commit of another node may not be in the replica yet. If writes were judged by that replica, two nodes could
        together store changes that would be refused to each alone.
        """
        super().__init__(server, author, wait, within)
        self._replica = replica
        try:
            with replica.faults_beside(server, "written"):
                replica.bring_up_to_date(self._database, has_lock=True)
        except BaseException:
            self.close()
            raise

    def commit(self) -> None:
        """Make it durable in the database and in the replica.

        The replica is written first and committed last, so it needs no connection once the database has the write: an
        acknowledged write is in force here even if the database is gone the next moment. Raises `StoreError` where the
        replica cannot be written; then nothing is stored. Only its own commit may fail after that of the database,
        which the replicator makes good.
        """
        self.number()
        is_stored = False
        try:
            with self._replica.faults_beside(self._server, "written"), self._replica.ahead_of(self._database):
                self.end()
                is_stored = True
        except StoreError:
            if not is_stored:
                raise


class ReplicaReader(ReadOnlyStore, SqliteReader):
    """The set that a node's replica has, for commands on that node while the database is away. No document is
    written."""

    def __init__(self, path: Path, away: StoreAway) -> None:
        """``away`` says why the database is not read. Raises `StoreError` where the replica was never filled."""
        super().__init__(SqliteFile(path))
        self._away = away
        with self.faults("read"), self.connected() as local:
            if position_in(local).revision is None:
                raise away

    @property
    def described(self) -> str:
        return f"the replica {self._file.path}, because {self._away}"

    def read_only(self) -> StoreError:
        return self._away

    def states(self, server: PostgresServer, rules: Rules) -> NodeStates:
        """Open the states that this node knows: an order is an event in its file, as one of its console is, and its
        service delivers it. Raises `StoreError`: the node has none yet, or takes no order."""
        newer = Replica(self._file.path).newer_schema()
        if newer:
            raise NewerSchema(newer)
        path = states_path(self._file.path)
        if not path.exists():
            raise self._away
        states = NodeStates(path, server, rules)
        if states.unfilled:
            raise self._away
        return states


_AWAY_AFTER_SECONDS = 2.0
"""The replicator asks the database every half second. One that it has not reached for so long is not waited for."""


class ReplicatedStore(SqliteReader):
    """The store of a node: writes go to the database, changes are read from the replica, which the replicator brings
    up to date within milliseconds."""

    def __init__(self, url: str, replica_path: Path, rules: Rules | None = None) -> None:
        """``rules`` are the limits of installs. Raises `StoreError` where a file of this node cannot be opened; the
        database is not needed."""
        self.replica = Replica(replica_path)
        super().__init__(self.replica.file)
        self.database = PostgresStore(url)
        self.server = self.database.server = PostgresServer(url, self._check)
        self.refused, self.away = SharedSentence(), SharedSentence()
        """Why the replicator has this node take no write, and why it cannot follow the database; empty where it can."""
        self.states = NodeStates(states_path(replica_path), self.server, rules or Rules(), self.refusal)
        self.not_reached: float | None = None
        """When a start did not reach the database (seconds since 1970)."""

    @property
    def described(self) -> str:
        return self.server.described

    def warnings(self) -> list[str]:
        with self.faults("read"), self.connected() as local:
            return [f"{unknown} in {self.described}" for unknown in unknown_formats(local)]

    def _check(self, database: peewee.PostgresqlDatabase) -> None:
        self.replica.follow(database)
        refuse_newer_postgres(database, self.described)

    def _require_set(self, database: peewee.SqliteDatabase) -> None:
        if position_in(database).revision is not None:
            return
        if self._looked_before:  # the replica was removed: the set that it had stays in force
            raise StoreError(f"the replica {self.replica.file.path} is empty: it is made again")
        never = f"the database {self.described} was never read"
        raise NoSetYet(f"there is no set yet: {self.away.get() or never}")

    def age_seconds(self) -> float:
        """Return the time since the database was last asked by any process of this node; infinity where it never
        was."""
        try:
            asked = self.replica.position().asked
        except StoreError:
            return math.inf
        return max(0.0, time.time() - asked) if asked else math.inf

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        """Yield a connection to the database; to the replica while the database is away."""
        database = None
        if self.age_seconds() < _AWAY_AFTER_SECONDS:
            with suppress(StoreAway):
                database = self.server.connect(READ_SECONDS)
        if database is None:
            with self.faults("read"), self.connected() as local:
                yield local
            return
        try:
            with self.server.faults("read"):
                yield database
        finally:
            database.close()

    def prune_history(self, before: str) -> int:
        return self.database.prune_history(before)

    def backup(self, path: str) -> None:
        self.database.backup(path)

    def refusal(self) -> str:
        return self.refused.get()

    def begin(
        self, author: Author = NOBODY, wait: float = WRITER_WAIT_SECONDS, within: float = math.inf
    ) -> PostgresTransaction:
        return _ReplicatedTransaction(self.replica, self.server, author, wait, within)

    def catch_up(self, log: Callable[[str], None]) -> None:
        """Bring the replica and the states up to date once. Raises `StoreError` where the database is away, and
        `NewerSchema` also where it is away and had one when this node last met it."""
        self.not_reached = time.time()
        try:
            self._catch_up(log)
        except NewerSchema as error:
            self.replica.note_newer_schema(str(error))
            raise
        except StoreAway as error:
            self.away.set(str(error))
            newer = self.replica.newer_schema()
            if newer:
                raise NewerSchema(newer) from None
            raise
        self.replica.note_newer_schema("")
        self.not_reached = None

    def _catch_up(self, log: Callable[[str], None]) -> None:
        with self.server.connected() as database, self.replica.faults_beside(self.server, "opened"):
            migrate_postgres(database, self.described)
            exchange(self.states, database, log)
            self.replica.bring_up_to_date(database)

    def replicate(
        self,
        log: Callable[[str], None],
        changed: Callable[[], None],
        stop: int,
        digests: Callable[[bytes], Mapping[str, str]],
    ) -> None:
        Replicator(self, log, changed, stop, digests).run()
