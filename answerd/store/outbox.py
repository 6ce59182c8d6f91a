"""The outbox: what a node must not lose while the database is away, in order, on the node's own disk.

Rules: docs/many-nodes.md#reports-while-the-database-is-away.

A message is on the disk when `Outbox.put` returns. It is handed over in order and stays until the receiver has it, so
it may be handed over twice; the receiver remembers the last number of each outbox in the transaction in which a message
takes effect (`new_messages`), so it takes effect once. Knows files and tables. Must not know what a message means.
"""

from __future__ import annotations

import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import orjson
import peewee

from answerd.installs.states import Reported, Word
from answerd.store import WRITER_WAIT_SECONDS, StoreError
from answerd.store.install_batch import Entry
from answerd.store.sqlite_file import SqliteFile
from answerd.store.tables import execute

MOST_AT_ONCE = 500
"""Messages that are handed over together: 32 MB of reports with the largest bodies."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS outbox (number INTEGER PRIMARY KEY AUTOINCREMENT, message BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS outbox_source (id INTEGER PRIMARY KEY CHECK (id = 1), source TEXT NOT NULL)",
)

RECEIVED_TABLE = "CREATE TABLE received_messages (source TEXT PRIMARY KEY, number BIGINT NOT NULL)"
"""What a receiver needs, on SQLite and PostgreSQL: the last number of each outbox."""


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


class Outbox:
    """An outbox by its path. Several processes of a node may put into it; one hands over."""

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
                    made = "INSERT OR IGNORE INTO outbox_source (id, source) VALUES (1, ?)"
                    execute(database, made, (secrets.token_hex(16),))
                (self.source,) = execute(database, "SELECT source FROM outbox_source").fetchone()

    def put(self, bodies: Sequence[bytes]) -> None:
        """Add messages. On return they survive a crash and a power failure. Raises `StoreError`; then none is added."""
        with self._writing() as database:
            for body in bodies:
                execute(database, "INSERT INTO outbox (message) VALUES (?)", (body,))

    def first(self, limit: int = MOST_AT_ONCE) -> list[Message]:
        """Return the oldest messages. Raises `StoreError`."""
        with self.file.faults("read"), self.file.connected() as database:
            found = execute(database, "SELECT number, message FROM outbox ORDER BY number LIMIT ?", (limit,)).fetchall()
        return [Message(number, bytes(body)) for number, body in found]

    def forget(self, number: int) -> None:
        """Remove the messages up to a number: the receiver has them. Raises `StoreError`."""
        with self._writing() as database:
            execute(database, "DELETE FROM outbox WHERE number <= ?", (number,))

    @contextmanager
    def _writing(self) -> Iterator[peewee.SqliteDatabase]:
        with (
            self.file.faults("written"),
            self.file.connected(WRITER_WAIT_SECONDS) as database,
            database.atomic("IMMEDIATE"),
        ):
            yield database


Receive = Callable[[str, Sequence[Message]], None]
"""Takes messages of the outbox of this name, in one transaction. Raises where it cannot; then none has an effect."""


def deliver(outbox: Outbox, receive: Receive) -> int:
    """Hand over all that waits, the oldest first. Return how many messages; raises what ``receive`` raises."""
    delivered = 0
    while part := outbox.first():
        receive(outbox.source, part)
        outbox.forget(part[-1].number)
        delivered += len(part)
    return delivered


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


def message_of(entry: Entry) -> bytes:
    """Return a report as a message."""
    report = entry.event
    if not isinstance(report, Reported):
        raise TypeError("only reports are put into an outbox")
    told = {
        "name": entry.name,
        "word": report.word,
        "attempt": report.attempt,
        "at": report.at,
        "message": report.message,
        "percent": report.percent,
        "detail": entry.detail,
        "origin": entry.origin,
        "body": b64encode(entry.body).decode("ascii"),
    }
    return orjson.dumps(told)


def report_of(body: bytes) -> Entry:
    """Return the report that `message_of` made a message of. Raises `StoreError` where it is none."""
    try:
        told = orjson.loads(body)
        report = Reported(Word(told["word"]), told["attempt"], told["at"], told["message"], told["percent"])
        kept = b64decode(told["body"])
        return Entry(told["name"], report, detail=told["detail"], origin=told["origin"], body=kept)
    except (ValueError, KeyError, TypeError):
        raise StoreError("a message of the outbox is no report: it is of another version, or damaged") from None
