"""The states of installs that nodes share: events travel between each node's file and the PostgreSQL database.

Rules: docs/many-nodes.md#states-of-installs.

A node's file takes events first. `exchange` delivers those that the database does not have, and takes what other nodes
have delivered. An event has an id, so it may be delivered twice, by two nodes, or from a copied file. The database
numbers events as it does changes of documents (`answerd.store.log`).
"""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import peewee

from answerd.identity import identity_of
from answerd.installs.contacts import Contact
from answerd.installs.events import AUDIT, Event
from answerd.installs.records import InstallMemory
from answerd.installs.shown import UnknownMachine
from answerd.installs.states import Rules
from answerd.installs.tokens import KEY_LENGTH
from answerd.store import NewerSchema, StoreError, StoreLost, Version
from answerd.store.log import LogWriter, is_in_history, newest_write
from answerd.store.nodes import Node, nodes_in
from answerd.store.postgres_connection import (
    READ_COMMITTED,
    READ_SECONDS,
    WRITE_SECONDS,
    CommitUnknown,
    PostgresServer,
)
from answerd.store.sqlite import SqliteFile
from answerd.store.state_tables import (
    COLUMNS,
    INSERT,
    OWN,
    Sighting,
    contacts_in,
    note,
    row_of,
    run,
    run_many,
    setting,
    tidy,
    unknown_machines,
    write_sightings,
)
from answerd.store.states import (
    GivenOrder,
    Known,
    Position,
    StateFile,
    States,
    Waiting,
    caught_up,
    make_tables,
)

SUFFIX = ".states"

AGAIN_SECONDS = 5.0
"""How long the node's own file is read in place of a database that did not answer."""

ORDER_SECONDS = 2.0
"""How long an order waits for the database: it may be given without."""

ROWS_AT_ONCE = 500
"""Events that are delivered or taken by one transaction."""

_LOCK_SECONDS = 5
_SILENCE_SECONDS = 10.0
"""When the server ends a transaction whose node says nothing more."""

_WRITE_WITHIN = 8.0
"""How long an order of the command line may take in all: less than the 10 s that an operator waits."""

_TAKE = f"{INSERT} ON CONFLICT (id) DO UPDATE SET shared = excluded.shared"
_TO_DELIVER = f"SELECT {COLUMNS} FROM events WHERE shared IS NULL ORDER BY revision LIMIT {ROWS_AT_ONCE}"  # noqa: S608
_DROP = """
    DELETE FROM events WHERE id = ANY(?) AND record NOT IN
    (SELECT record FROM events WHERE record = ANY(?)
     AND kind NOT IN ('given', 'asked', 'refused', 'progress', 'summary'))"""
_REVISION, _TOKEN, _DELIVERED = "revision", "token", "delivered"
_DELIVERY = "delivery"
"""Revision and token of the last write by which this node delivered, until it has read what it wrote."""

_T = TypeVar("_T")


def states_path(replica: str | Path) -> Path:
    path = Path(replica).absolute()
    return path.with_name(path.name + SUFFIX)


# --- a node's file ---------------------------------------------------------------------------------------------------


class NodeStates(StateFile):
    """The states as this node knows them. Made before forking; ``wake_up_descriptor`` can be read from when there is
    something to deliver."""

    shared = None  # a new event is not in the database yet
    _made = ("epoch", "source")  # the key is the database's

    def __init__(
        self, path: Path, server: PostgresServer, rules: Rules, refusal: Callable[[], str] = lambda: ""
    ) -> None:
        """Open the file; make it and its tables where missing. Raises `StoreError`."""
        file = SqliteFile(path)
        make_tables(file)
        self._server = server
        self._is_filled = False
        self._away_until = 0.0
        self._nodes: list[Node] = []
        self._nodes_at = 0.0
        self.wake_up_descriptor, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        super().__init__(file, rules, refusal)

    def _prepare(self, database: peewee.SqliteDatabase) -> None:
        run(database, "CREATE UNIQUE INDEX IF NOT EXISTS events_by_id ON events (id)")  # only nodes look by it
        super()._prepare(database)

    @property
    def unfilled(self) -> str:  # type: ignore[override]
        """Why the states are not known yet: a machine that another node knows as installed would be new here."""
        if not self._is_filled:
            with self.reading() as database:
                self._is_filled = setting(database, _REVISION) is not None
        if self._is_filled:
            return ""
        return f"the states of installs were never read from the database {self._server.described}"

    def waiting(self) -> Waiting | None:
        """Return the number and age of events that the database does not have yet. Raises `StoreError`."""
        with self.reading() as database:
            query = "SELECT count(*), min(at) FROM events WHERE shared IS NULL AND kind <> 'audited'"
            count, oldest = run(database, query).fetchone()
        return Waiting(count, max(0.0, time.time() - oldest)) if count else Waiting()

    def source(self) -> str:
        with self.reading() as database:
            return setting(database, "source") or ""

    def nodes(self) -> Sequence[Node]:
        """Return the nodes of the database; while it is away those that were known last."""
        found = self._of_database(nodes_in)
        if found is None:
            passed = time.monotonic() - self._nodes_at
            return [node._replace(silent=node.silent + passed) for node in self._nodes]
        self._nodes, self._nodes_at = found, time.monotonic()
        return found

    def unknown(self) -> list[UnknownMachine]:
        """Return the machines that nothing claimed at any node; while the database is away those at this node."""
        found = self._of_database(unknown_machines)
        return super().unknown() if found is None else found

    def _of_database(self, ask: Callable[[peewee.PostgresqlDatabase], _T]) -> _T | None:
        """Return what the database says; None where it does not answer. Raises `NewerSchema`."""
        if time.monotonic() < self._away_until:
            return None
        try:
            with self._server.connected(ORDER_SECONDS, ORDER_SECONDS) as database, self._server.faults("read"):
                return ask(database)
        except NewerSchema:
            raise
        except StoreError:
            self._away_until = time.monotonic() + AGAIN_SECONDS
            return None

    def before_order(self) -> list[str]:
        """Take what the database has, so that the order begins the attempt after the newest one. Without the database
        the order is given on what this node knows. Return lines for the log. Raises `NewerSchema`."""
        lines: list[str] = []
        self._of_database(lambda database: exchange(self, database, lines.append))
        return lines

    def drop(self, dropped: Mapping[str, int], is_kept: Callable[[str], bool]) -> list[str]:
        """Remove the events of some records here, and in the database where no node knows that they are installed or
        ordered. Raises `StoreError`."""
        gone = super().drop(dropped, is_kept)
        with (
            suppress(StoreError),
            self._server.connected(WRITE_SECONDS) as database,
            self._server.faults("written"),
            database.atomic(READ_COMMITTED),
        ):
            _lock(database)
            run(database, _DROP, (gone, [*dropped]))
        return gone

    def wake_up(self) -> None:
        with suppress(BlockingIOError):  # the replicator has not read the last wake-ups yet
            os.write(self._waker, b"x")

    def take_wake_ups(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self.wake_up_descriptor, 4_096):
                pass

    def position(self) -> Version | None:
        """Return the last write of the database that this file has; None where it was never filled."""
        with self.reading() as database:
            revision, token = (setting(database, name) for name in (_REVISION, _TOKEN))
        return None if revision is None else Version(int(revision), token or "")

    def unread_delivery(self) -> Version | None:
        """Return the last write by which this node delivered; None where it has read the database since."""
        with self.reading() as database:
            revision, _, token = (setting(database, _DELIVERY) or "").partition(" ")
        return Version(int(revision), token) if revision else None


# --- between a node and the database ---------------------------------------------------------------------------------


def exchange(node: NodeStates, database: peewee.PostgresqlDatabase, log: Callable[[str], object]) -> bool:
    """Deliver the events that the database does not have, and take those that this node does not have; return whether
    there were any to take. Raises `StoreError`, and what the database's engine raises."""
    if not _same_key(node, database, log):
        return False
    _require_own_source(node, database, log)
    _deliver(node, database)
    has_changed = _take(node, database)
    if has_changed:
        _deliver(node, database)  # after a comparison: what only this node has
    return has_changed


def _same_key(node: NodeStates, database: peewee.Database, log: Callable[[str], object]) -> bool:
    """Have the database and the node the same key of tokens; return whether they have."""
    with node.reading() as local:
        own = setting(local, "key")
    with database.atomic():
        shared = shared_key(database, own)
    if own is not None and own != shared:
        log(
            f"warning: {node.path} has the states of another database: stop the service and remove the file to take "
            "those of this one; its undelivered reports are lost then"
        )
        return False
    if own is None:
        with node.writing() as local:
            note(local, "key", shared)
    return True


def shared_key(database: peewee.Database, own: str | None = None) -> str:
    """Return the key of tokens; where there is none yet, ``own``, or a new one, becomes it."""
    found = setting(database, "key")
    if found is None:
        made = own or secrets.token_hex(KEY_LENGTH)
        statement = "INSERT INTO install_settings (name, value) VALUES ('key', ?) ON CONFLICT (name) DO NOTHING"
        run(database, statement, (made,))
        found = setting(database, "key") or made
    return found


def _require_own_source(node: NodeStates, database: peewee.Database, log: Callable[[str], object]) -> None:
    """Give the node's file a name of its own where it is a copy of another node's, or was rolled back: it neither noted
    that it delivered the last event that came from it, nor has that event. All events have ids,
    so none is lost by that; what was acknowledged after the copy was made and not delivered is not here."""
    with node.reading() as local:
        source, delivered = setting(local, "source") or "", setting(local, _DELIVERED)
    last = setting(database, f"last {source}")
    if last in (None, delivered) or run(database, "SELECT 1 FROM events WHERE id = ?", (last,)).fetchone() is None:
        return
    with node.reading() as local:
        if run(local, "SELECT 1 FROM events WHERE id = ?", (last,)).fetchone() is not None:
            return
    with node.writing() as local:
        note(local, "source", secrets.token_hex(4))
        note(local, _TOKEN, "")  # have everything compared
    log(
        f"warning: {node.path} was rolled back or copied from another node: the database has events of it that the "
        "file does not have; everything is compared with the database, and what it has counts here"
    )


def _deliver(node: NodeStates, database: peewee.PostgresqlDatabase) -> None:
    while True:
        with node.reading() as local:
            rows = run(local, _TO_DELIVER).fetchall()
            source = setting(local, "source") or ""
            query = "SELECT machine, first, last, facts, unsent FROM unknown_machines WHERE unsent > 0 LIMIT 500"
            unknown = [Sighting(*row) for row in run(local, query)]
        if not rows and not unknown:
            return
        with database.atomic(READ_COMMITTED):
            log = _lock(database)
            numbers = store_events(log, rows)
            write_sightings(database, unknown)
            if rows:
                note(database, f"last {source}", rows[-1][0])
            write = log.end()
        with node.writing() as local:
            run_many(local, "UPDATE events SET shared = ? WHERE id = ?", [(numbers[row[0]], row[0]) for row in rows])
            if rows:
                note(local, _DELIVERED, rows[-1][0])
            if write is not None:
                note(local, _DELIVERY, f"{write.revision} {write.token}")
            sent = [(row.asked, identity_of(row.machine)) for row in unknown]
            run_many(local, "UPDATE unknown_machines SET unsent = max(0, unsent - ?) WHERE identity = ?", sent)
        if len(rows) < ROWS_AT_ONCE:
            return


def store_events(log: LogWriter, rows: Sequence[Sequence[Any]]) -> dict[str, int]:
    """Store rows of events in the database, in the present transaction; return the revision of each, by its id."""
    if not rows:
        return {}
    database = log.database
    query = "SELECT id, revision FROM events WHERE id = ANY(?)"
    found = dict(run(database, query, ([row[0] for row in rows],)).fetchall())
    new = {row[0]: row for row in rows if row[0] not in found}
    numbered = [(log.next(), *row, OWN) for row in new.values()]
    run_many(database, INSERT, numbered)
    tidy(database, {row[2] for row in rows}, log.next)
    return {**found, **{row[1]: row[0] for row in numbered}}


def _take(node: NodeStates, database: peewee.PostgresqlDatabase) -> bool:
    """Take the events that this node has not seen; all events where its last revision, or what it delivered after
    that, is not in the database's history. Return whether there was anything to take."""
    known, delivery = node.position(), node.unread_delivery()
    with database.atomic("REPEATABLE READ"):
        newest = newest_write(database)
        is_lost = delivery is not None and not is_in_history(database, delivery)
        if newest == known and not is_lost:
            return False
        is_whole = is_lost or known is None or known.revision > newest.revision or not is_in_history(database, known)
        if is_whole:  # what the database turns out not to have is delivered
            with node.writing() as local:
                run(local, "UPDATE events SET shared = NULL")
        revision = 0 if is_whole or known is None else known.revision
        query = f"SELECT revision, {COLUMNS} FROM events WHERE revision > ? ORDER BY revision LIMIT ?"  # noqa: S608
        while part := run(database, query, (revision, ROWS_AT_ONCE)).fetchall():
            revision = part[-1][0]
            with node.writing() as local:
                run_many(local, _TAKE, [(None, *row[1:], row[0]) for row in part])
                tidy(local, {row[3] for row in part})
    with node.writing() as local:
        note(local, _REVISION, str(newest.revision))
        note(local, _TOKEN, newest.token)
        note(local, _DELIVERY, "")
    return True


# --- the database ----------------------------------------------------------------------------------------------------


def _lock(database: peewee.PostgresqlDatabase) -> LogWriter:
    """Take the lock of all writers, in the present transaction."""
    return LogWriter(database, _LOCK_SECONDS, _SILENCE_SECONDS)


class DatabaseStates(States):
    """The states in the database, for commands from any machine. Each call makes a connection of its own."""

    def __init__(self, server: PostgresServer, rules: Rules, replica: str | None = None) -> None:
        """``replica`` is that of this machine's node, where it has one: the last contacts are beside it."""
        self._server = server
        self.rules = rules
        self._replica = replica

    def contacts(self, of: Set[str] | None = None) -> list[Contact]:
        path = states_path(self._replica) if self._replica is not None else None
        if path is None or not path.exists():
            return []
        file = SqliteFile(path)
        with file.faults("read"), file.connected() as database:
            return contacts_in(database, of)

    def catch_up(self, memory: InstallMemory, position: Position) -> tuple[InstallMemory, Position]:
        with self.reading() as database:
            return self._caught_up(database, memory, position)

    def _caught_up(
        self, database: peewee.PostgresqlDatabase, memory: InstallMemory, position: Position
    ) -> tuple[InstallMemory, Position]:
        known, newest = Version(*position), newest_write(database)
        if newest == known:
            return memory, position
        # As an epoch of its own where the last revision is not in the database's history.
        same = known.token if known.revision and is_in_history(database, known) else newest.token
        memory, _ = caught_up(database, memory, position, same)
        return memory, Position(newest.revision, newest.token)

    def order(self, given: GivenOrder, known: Known) -> None:
        """Write an operator's order (`States.order`). Raises `StoreError`; then nothing is written, unless it is
        `CommitUnknown`."""
        try:
            self._order(given, known)
        except StoreLost:  # the next connection may have the database that took its place
            self._order(given, known)

    def _order(self, given: GivenOrder, known: Known) -> None:
        with self.writing(_WRITE_WITHIN) as log:
            memory, _ = self._caught_up(log.database, *known)
            events = given.events(memory)
            store_events(log, [row_of(event) for event in events])

    def note_audited(self, event: Event) -> None:
        with self.writing(_WRITE_WITHIN) as log:
            store_events(log, [row_of(event)])

    def take(self, rows: Sequence[Sequence[Any]], key: str | None) -> int:
        with self.writing() as log:
            known = {one for (one,) in run(log.database, "SELECT id FROM events").fetchall()}
            shared_key(log.database, key)  # nodes that have another one would share no states
            store_events(log, rows)
        return sum(row[0] not in known and row[2] != AUDIT for row in rows)

    def nodes(self) -> Sequence[Node]:
        with self.reading() as database:
            return nodes_in(database)

    @contextmanager
    def reading(self) -> Iterator[peewee.PostgresqlDatabase]:
        """A snapshot for the time of a block. Raises `StoreError`."""
        with (
            self._server.connected(READ_SECONDS) as database,
            self._server.faults("read"),
            database.atomic("REPEATABLE READ"),
        ):
            yield database

    @contextmanager
    def writing(self, within: float = math.inf) -> Iterator[LogWriter]:
        """A transaction for the time of a block, which has the lock of all writers. Raises `StoreError`."""
        with self._server.connected(WRITE_SECONDS, within) as database, self._server.faults("written"):
            database.begin(READ_COMMITTED)
            log = _lock(database)
            yield log
            log.end()
            try:
                database.commit()
            except (peewee.PeeweeException, OSError):
                raise CommitUnknown(
                    f"the connection to the database {self._server.described} was lost while the order was committed: "
                    "it may have been stored; the machine's state shows whether it was"
                ) from None
