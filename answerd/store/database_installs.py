"""The states of installs in PostgreSQL, which all nodes share: reading them, taking reports, serialising orders.

Rules: docs/many-nodes.md#states-of-installs. Every write locks the row of the revision first, so the writes of all
nodes come one after the other and revisions have no gaps. A revision has a random token beside it: a node that knows a
revision which a fail-over has lost notices. Decides nothing: the rules of merging are in `answerd.installs.merge`.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import peewee

from answerd.identity import identity_of
from answerd.installs.memory import AppliedEvent, Remembered
from answerd.installs.merge import record_of
from answerd.installs.shown import HistoryEvent, UnknownMachine
from answerd.installs.states import Ordered, Rules
from answerd.installs.tokens import KEY_LENGTH
from answerd.store import StoreError, StoreLost
from answerd.store.evidence_batch import EvidenceBatch, MachineEvidence, evidence_in
from answerd.store.install_batch import HistoryLine, PendingEvent, Sighting, write_sightings
from answerd.store.install_tables import (
    ForgottenRow,
    InstallRow,
    SettingRow,
    StoredInstall,
    history_of,
    installs,
    newest_time,
    setting,
    unknown_machines,
)
from answerd.store.installs import BatchResult, InstallChanges
from answerd.store.outbox import Message, new_messages
from answerd.store.postgres_connection import READ_SECONDS, WRITE_SECONDS, CommitUnknown, PostgresServer
from answerd.store.postgres_transaction import CHANNEL, READ_COMMITTED, end_when_silent
from answerd.store.state_messages import read_message
from answerd.store.tables import execute, fetched

ROWS_AT_ONCE = 500
"""Records that are read by one statement."""

TOKENS_KEPT = 10_000
"""Revisions whose tokens are kept: a node that is further behind compares everything."""

_LOCK_SECONDS = 5

_SILENCE_SECONDS = 10.0
"""When the server ends a transaction whose node says nothing more."""

_SILENCE_OF_MANY_SECONDS = 600.0
"""The same while a backup with a million machines is merged."""

_ORDER_SECONDS = 8.0
"""How long a write may take in all, connecting included: less than the 10 s that an operator's client waits."""


class InstallsPosition(NamedTuple):
    """A state of the database: the last revision and its random token."""

    revision: int = 0
    token: str = ""


class OrderResult(NamedTuple):
    """The result of orders: each record after its order, and the evidence of these machines now."""

    applied: Sequence[AppliedEvent]
    machines: Sequence[MachineEvidence]
    lines: Sequence[tuple[str, HistoryLine]]


def current_position(database: peewee.Database) -> InstallsPosition:
    """Return the state of the database."""
    revision = int(setting(database, "revision") or 0)
    return InstallsPosition(revision, revision_token(database, revision) or "")


def revision_token(database: peewee.Database, revision: int) -> str | None:
    """Return the random token of a revision; None where it is not known (any more)."""
    row = execute(database, "SELECT token FROM install_revisions WHERE revision = %s", (revision,)).fetchone()
    return row[0] if row else None


def is_in_history(database: peewee.Database, known: InstallsPosition) -> bool:
    """Return whether a revision is one of the database's: a fail-over may have lost it, and used its number again."""
    return not known.revision or revision_token(database, known.revision) == known.token


def shared_key(database: peewee.Database, own: bytes | None = None) -> bytes:
    """Return the key of tokens; where there is none yet, ``own``, or a new one, becomes it."""
    found = setting(database, "key")
    if found is None:
        row = {"name": "key", "value": own.hex() if own else secrets.token_hex(KEY_LENGTH)}
        SettingRow.insert(row).on_conflict_ignore().bind(database).execute()
        found = setting(database, "key")
    return bytes.fromhex(found or "")


def receive(database: peewee.Database, source: str, messages: Sequence[Message], rules: Rules) -> list[str]:
    """Put the messages of a node's outbox in force, each once, in one transaction. Return the faults of messages that
    cannot be read, which are skipped: they would stop all messages after them."""
    faults = []
    with database.atomic(READ_COMMITTED):
        revision = _locked_revision(database)
        machines: list[tuple[MachineEvidence, HistoryLine | None]] = []
        sightings: list[Sighting] = []
        for message in new_messages(database, source, messages):
            try:
                content = read_message(message.body)
            except StoreError as error:
                faults.append(f"message {message.number}: {error}")
                continue
            if isinstance(content, Sighting):
                sightings.append(content)
            else:
                machines.append(content)
        batch = EvidenceBatch(database, [machine.name for machine, _ in machines], rules)
        for machine, line in machines:
            batch.join(machine, line)
        write_sightings(database, sightings)
        if not batch.is_empty:
            batch.write(revision + 1)
            _raise(database, revision + 1)
    return faults


def parts_since(database: peewee.Database, revision: int) -> Iterator[list[MachineEvidence]]:
    """Yield the evidence of machines that changed after a revision, some at a time."""
    query = ForgottenRow.select(ForgottenRow.name_identity, ForgottenRow.attempt).where(
        ForgottenRow.revision > revision
    )
    yield [MachineEvidence(name, None, attempt) for name, attempt in fetched(query, database)]
    last = 0
    while True:
        condition = (InstallRow.revision > revision) & (InstallRow.id > last)
        part = list(installs(database, condition, InstallRow.id, ROWS_AT_ONCE))
        if part:
            yield [machine_evidence_of(stored) for stored in part]
        if len(part) < ROWS_AT_ONCE:
            return
        last = part[-1].id or 0


def machine_evidence_of(stored: StoredInstall) -> MachineEvidence:
    """Return the evidence of a record's machine."""
    remembered = stored.remembered
    return MachineEvidence(remembered.record.name, evidence_in(stored), 0, remembered.identities, remembered.group)


class DatabaseInstalls:
    """The states in the database, for commands from any machine. Each call makes a connection of its own."""

    def __init__(self, server: PostgresServer, rules: Rules) -> None:
        """Open nothing. ``rules`` are the limits of installs."""
        self._server = server
        self._rules = rules

    @property
    def described(self) -> str:
        """The database, for the log: without user and password."""
        return self._server.described

    @property
    def newest(self) -> float:
        """The latest time in any record. Raises `StoreError`."""
        with self.reading() as database:
            return newest_time(database)

    def changes_since(self, since: int) -> InstallChanges | None:
        """Return the changes since a revision, everything since -1; None when there are none. Raises `StoreError`."""
        with self.reading() as database:
            newest = current_position(database).revision
            if newest == since:
                return None
            is_whole = since < 0 or newest < since
            forgotten: dict[str, int] = {}
            remembered: list[Remembered] = []
            for part in parts_since(database, -1 if is_whole else since):
                for machine in part:
                    if machine.evidence is None:
                        forgotten[machine.name] = machine.forgotten
                    else:
                        remembered.append(self._remembered(machine))
        return InstallChanges(newest, remembered, forgotten, is_whole)

    def history(self, name: str) -> list[HistoryEvent]:
        """Return the events of the record of this name, oldest first. Raises `StoreError`."""
        with self.reading() as database:
            return history_of(database, name)

    def unknown(self) -> list[UnknownMachine]:
        """Return the machines that nothing claimed, the last first. Raises `StoreError`."""
        with self.reading() as database:
            return unknown_machines(database)

    def write(self, entries: Sequence[PendingEvent], rules: Rules, sightings: Sequence[Sighting] = ()) -> BatchResult:  # noqa: ARG002
        """Write orders of an operator. Raises `StoreError`; then nothing is written, unless it is `CommitUnknown`."""
        ordering = self.order(entries, rules)
        return BatchResult(ordering.applied, InstallChanges(-1))

    def order(
        self, entries: Sequence[PendingEvent], rules: Rules, known: Sequence[MachineEvidence] = ()
    ) -> OrderResult:
        """Apply an operator's orders to the evidence that the database and a node have of these machines: ``known`` is
        the node's. Raises `StoreError`."""
        if not all(isinstance(entry.event, Ordered) for entry in entries):
            raise TypeError("only orders are written into the database; what machines say goes through an outbox")
        try:
            return self._order(entries, rules, known)
        except StoreLost:  # the next connection may have the database that took its place
            return self._order(entries, rules, known)

    def _order(self, entries: Sequence[PendingEvent], rules: Rules, known: Sequence[MachineEvidence]) -> OrderResult:
        names = [entry.name for entry in entries]
        with self._writing(_ORDER_SECONDS) as database:
            revision = _locked_revision(database)
            batch = EvidenceBatch(database, names, rules)
            for machine in known:
                batch.join(machine)
            batch.apply(entries)
            if not batch.is_empty:
                batch.write(revision + 1)
                _raise(database, revision + 1)
            spelled = {identity_of(name): name for name in names}
            return OrderResult(batch.applied, [batch.machine(name) for name in spelled.values()], list(batch.noted()))

    def merge(
        self, machines: Sequence[tuple[MachineEvidence, Sequence[HistoryLine]]], sightings: Sequence[Sighting] = ()
    ) -> None:
        """Merge the evidence of machines from a backup, each with lines of its history, and machines that nothing
        claims.

        Only a machine that has no record gets the lines: of another the history goes on. Raises `StoreError`.
        """
        with self._writing() as database:
            revision = _locked_revision(database, _SILENCE_OF_MANY_SECONDS)
            batch = EvidenceBatch(database, [machine.name for machine, _ in machines], self._rules)
            for machine, lines in machines:
                is_new = batch.machine(machine.name).evidence is None
                batch.join(machine)
                for line in lines if is_new else ():
                    batch.join(machine, line)
            if not batch.is_empty:
                batch.write(revision + 1)
                _raise(database, revision + 1)
            write_sightings(database, sightings)

    def take_key(self, key: bytes | None) -> None:
        """Make this the key of tokens, where the database has none yet. Raises `StoreError`."""
        with self._writing() as database:
            shared_key(database, key)

    def is_empty(self) -> bool:
        """Return whether nothing is known of any machine. Raises `StoreError`."""
        with self.reading() as database:
            return not current_position(database).revision

    @contextmanager
    def reading(self) -> Iterator[peewee.Database]:
        """A snapshot for the time of a block. Raises `StoreError`."""
        with (
            self._server.connected(READ_SECONDS) as database,
            self._server.faults("read"),
            database.atomic("REPEATABLE READ"),
        ):
            yield database

    @contextmanager
    def _writing(self, within: float = math.inf) -> Iterator[peewee.Database]:
        with self._server.connected(WRITE_SECONDS, within) as database, self._server.faults("written"):
            database.begin(READ_COMMITTED)
            yield database
            try:
                database.commit()
            except (peewee.PeeweeException, OSError):
                raise CommitUnknown(
                    f"the connection to the database {self._server.described} was lost while the order was committed: "
                    "it may have been stored; the machine's state shows whether it was"
                ) from None

    def _remembered(self, machine: MachineEvidence) -> Remembered:
        if machine.evidence is None:
            raise ValueError("the machine has no record")
        return Remembered(record_of(machine.evidence, self._rules), machine.identities, machine.group)


def _locked_revision(database: peewee.Database, silence: float = _SILENCE_SECONDS) -> int:
    """Lock the revision until the end of the transaction, and return it. ``silence``: seconds between two statements
    after which the server ends the transaction."""
    execute(database, f"SET LOCAL lock_timeout = {_LOCK_SECONDS * 1000}")
    end_when_silent(database, silence)
    row = execute(database, "SELECT value FROM install_settings WHERE name = 'revision' FOR UPDATE").fetchone()
    return int(row[0])


def _raise(database: peewee.Database, revision: int) -> None:
    """Give the present transaction a revision with a token, and announce it."""
    execute(database, "UPDATE install_settings SET value = %s WHERE name = 'revision'", (str(revision),))
    execute(
        database, "INSERT INTO install_revisions (revision, token) VALUES (%s, %s)", (revision, secrets.token_hex(8))
    )
    execute(database, "DELETE FROM install_revisions WHERE revision <= %s", (revision - TOKENS_KEPT,))
    execute(database, f"NOTIFY {CHANNEL}")
