"""The outbox: messages that a node must not lose while the database is away, in order, on the node's own disk.

Rules: docs/many-nodes.md#reports-while-the-database-is-away.

A message is on the disk when the transaction that adds it is. It is handed over in order, perhaps twice; the receiver
remembers the last number of each outbox in the transaction in which a message takes effect (`new_messages`), so it
takes effect once. The last messages are kept after that: a receiver that has lost its newest changes gets them again.
Knows files and tables. Must not know the meaning of a message.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import peewee

from answerd.store import WRITER_WAIT_SECONDS
from answerd.store.install_tables import write_many
from answerd.store.sqlite_file import SqliteFile
from answerd.store.tables import execute

MOST_AT_ONCE = 500
"""Messages that are handed over together: 44 MB of reports with the largest bodies."""

KEPT = 1_000
"""Messages that are kept after the receiver has them: an asynchronous standby may not have received them."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS outbox (number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, "
    "message BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS outbox_source (id INTEGER PRIMARY KEY CHECK (id = 1), source TEXT NOT NULL, "
    "delivered INTEGER NOT NULL)",
)


class ReceivedRow(peewee.Model):
    """The last message of an outbox that has taken effect."""

    source = peewee.TextField(primary_key=True)
    number = peewee.BigIntegerField()

    class Meta:
        """Peewee's settings."""

        table_name = "received_messages"


class Message(NamedTuple):
    """A message with its number in its outbox, which is higher than that of all messages before it."""

    number: int
    body: bytes


class Waiting(NamedTuple):
    """The number of messages that wait for the receiver, and the age of the oldest in seconds."""

    messages: int = 0
    seconds: float = 0.0


class Outbox:
    """An outbox by its path. Several processes of a node may add to it; one hands over."""

    def __init__(self, path: str | Path) -> None:
        """Open the file; create it (mode 0600), its directory and its tables where missing. Raises `StoreError`."""
        self.file = SqliteFile(path)
        with self.file.faults("opened"):
            self.file.create()
            with self.file.connected(WRITER_WAIT_SECONDS) as database:
                database.journal_mode = "wal"
                with database.atomic("IMMEDIATE"):
                    for statement in _TABLES:
                        execute(database, statement)
                    made = "INSERT OR IGNORE INTO outbox_source (id, source, delivered) VALUES (1, ?, 0)"
                    execute(database, made, (secrets.token_hex(16),))
                (self.source,) = execute(database, "SELECT source FROM outbox_source").fetchone()

    def put(self, bodies: Sequence[bytes]) -> None:
        """Add messages. On return they survive a crash and a power failure. Raises `StoreError`; then none is added."""
        with self._writing() as database:
            add(database, bodies)

    def first(self, limit: int = MOST_AT_ONCE) -> list[Message]:
        """Return the oldest messages that wait. Raises `StoreError`."""
        query = (
            "SELECT number, message FROM outbox WHERE number > (SELECT delivered FROM outbox_source) "
            "ORDER BY number LIMIT ?"
        )
        with self.file.faults("read"), self.file.connected() as database:
            found = execute(database, query, (limit,)).fetchall()
        return [Message(number, bytes(body)) for number, body in found]

    def waiting(self) -> Waiting:
        """Return the number and age of the messages that wait. Raises `StoreError`."""
        query = "SELECT COUNT(*), MIN(at) FROM outbox WHERE number > (SELECT delivered FROM outbox_source)"
        with self.file.faults("read"), self.file.connected() as database:
            count, oldest = execute(database, query).fetchone()
        return Waiting(count, max(0.0, time.time() - oldest)) if count else Waiting()

    def note_delivered(self, number: int) -> None:
        """Count the messages up to a number as received; forget all of those but the last. Raises `StoreError`."""
        with self._writing() as database:
            execute(database, "UPDATE outbox_source SET delivered = ? WHERE delivered < ?", (number, number))
            execute(database, "DELETE FROM outbox WHERE number <= ?", (number - KEPT,))

    def rewind(self, number: int) -> bool:
        """Have the messages after a number wait again, which is the last that the receiver knows; return whether it
        knew more before: it has lost its newest changes. Raises `StoreError`."""
        with self.file.faults("read"), self.file.connected() as database:
            (before,) = execute(database, "SELECT delivered FROM outbox_source").fetchone()
        if number >= before:
            return False  # nearly always: costs no write
        with self._writing() as database:
            execute(database, "UPDATE outbox_source SET delivered = MIN(delivered, ?)", (number,))
        return True

    @contextmanager
    def _writing(self) -> Iterator[peewee.SqliteDatabase]:
        with (
            self.file.faults("written"),
            self.file.connected(WRITER_WAIT_SECONDS) as database,
            database.atomic("IMMEDIATE"),
        ):
            yield database


def add(database: peewee.SqliteDatabase, bodies: Sequence[bytes]) -> None:
    """Add messages to the outbox in a database, in its present transaction."""
    now = time.time()
    write_many(database, "INSERT INTO outbox (at, message) VALUES (?, ?)", [(now, body) for body in bodies])


Receive = Callable[[str, Sequence[Message]], None]
"""Takes messages of the outbox of this name, in one transaction. Raises where it cannot; then none has an effect."""


def deliver(outbox: Outbox, receive: Receive) -> int:
    """Hand over all messages that wait, the oldest first. Return how many; raises what ``receive`` raises."""
    delivered = 0
    while part := outbox.first():
        receive(outbox.source, part)
        outbox.note_delivered(part[-1].number)
        delivered += len(part)
    return delivered


def last_received(database: peewee.Database, source: str) -> int:
    """Return the number of an outbox's last message that has taken effect; 0 where none has."""
    query = ReceivedRow.select(ReceivedRow.number).where(ReceivedRow.source == source)
    return query.bind(database).scalar() or 0


def new_messages(database: peewee.Database, source: str, messages: Sequence[Message]) -> list[Message]:
    """Return those messages that have not taken effect yet, and remember them as received.

    To be called in the transaction in which they take effect; it locks the outbox's row until the end of that.
    """
    ReceivedRow.insert(source=source, number=0).on_conflict_ignore().bind(database).execute()
    this = ReceivedRow.source == source
    # Locks the row on every engine: another process may be handing over the same messages.
    ReceivedRow.update(number=ReceivedRow.number).where(this).bind(database).execute()
    last: int = ReceivedRow.select(ReceivedRow.number).where(this).bind(database).scalar()
    new = [message for message in messages if message.number > last]
    if new:
        ReceivedRow.update(number=new[-1].number).where(this).bind(database).execute()
    return new
