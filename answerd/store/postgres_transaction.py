"""A change of the PostgreSQL database as one transaction.

Rules: docs/many-nodes.md#how-changes-are-numbered.

The row of ``counter`` is locked before anything else, so writers of all nodes come one after the other, and numbers
have no gaps: a number that is drawn before the lock could be committed after a higher one, and a reader would never see
it.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime

import peewee

from answerd.documents import RawDocument
from answerd.store import Author
from answerd.store.postgres_connection import WRITE_SECONDS, CommitUnknown, PostgresServer
from answerd.store.row_transaction import Found, RowTransaction, columns_of
from answerd.store.tables import ChangeRow, DocumentRow, counted_revision, execute

CHANNEL = "answerd"
"""The channel of NOTIFY. A notice has no content: its receiver reads the counter."""

READ_COMMITTED = "READ COMMITTED"
"""Each statement after the lock sees what was committed before. The other levels see what was there when they began to
wait for the lock, and fail; a database may have one of those as its default."""

_LONGEST_SILENCE_SECONDS = 600
"""The most of `end_when_silent`: an import may read for minutes between two statements."""

_LOG_OF_ONE = (
    "INSERT INTO changes (id, at, token, kind, identifier, format, text_before, text_after, peer, author, note) "
    "SELECT %s, %s, %s, kind, identifier, format, text, %s, %s, %s, %s FROM documents WHERE id = %s"
)


def end_when_silent(database: peewee.Database, seconds: float) -> None:
    """Have the server end the present transaction when its client says nothing for so long: a node that the network has
    lost would hold a lock that stops every writer."""
    execute(database, f"SET LOCAL idle_in_transaction_session_timeout = {int(seconds * 1000)}")


class PostgresTransaction(RowTransaction):
    """Holds the lock of the counter from its first moment."""

    def __init__(self, server: PostgresServer, author: Author, wait: float, within: float = math.inf) -> None:
        """Take the lock. Raises `StoreError` when it is not free within ``wait`` seconds. The transaction waits for the
        server for at most ``within`` seconds in all."""
        self._server = server
        self._author = author
        self._at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        database = server.connect(WRITE_SECONDS, within)
        try:
            with server.faults("written"):
                database.begin(READ_COMMITTED)
                execute(database, f"SET LOCAL lock_timeout = {int(wait * 1000)}")
                end_when_silent(database, min(_LONGEST_SILENCE_SECONDS, within + 1))
                before = counted_revision(database, "FOR UPDATE")
        except BaseException:
            database.close()
            raise
        super().__init__(database)
        self._before = before
        self._revision = self._before

    def faults(self, done: str) -> AbstractContextManager[None]:
        """Turn errors of the driver in a block into a `StoreError`."""
        return self._server.faults(done)

    def commit(self) -> None:
        """Make it durable. Raises `CommitUnknown` where the connection was lost meanwhile: it may have been stored."""
        self.number()
        self.end()

    def number(self) -> None:
        """Raise the counter to the last change of this transaction, and announce it. The last thing before `end`."""
        with self.faults("written"):
            if self._revision > self._before:
                execute(self._database, "UPDATE counter SET revision = %s", (self._revision,))
                execute(self._database, f"NOTIFY {CHANNEL}")

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
        """Give a stored document another text."""
        self._log_one(found, text)
        changed = DocumentRow.update(text=text, revision=self._revision).where(DocumentRow.id == found.id)
        changed.bind(self._database).execute()

    def insert(self, documents: Sequence[RawDocument]) -> None:
        """Store documents that are not there yet."""
        numbered = list(enumerate(documents, self._revision + 1))
        signed = {"at": self._at, "peer": self._author.peer, "author": self._author.name, "note": self._author.note}
        log = [
            {
                "id": number,
                "token": secrets.token_hex(8),
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
        self._revision += len(documents)

    def remove(self, documents: Sequence[Found]) -> None:
        """Remove stored documents."""
        for found in documents:
            self._log_one(found, None)
            DocumentRow.delete().where(DocumentRow.id == found.id).bind(self._database).execute()

    def _log_one(self, found: Found, text: str | None) -> None:
        """Record that a stored document gets another text, or None."""
        self._revision += 1
        author = self._author
        values = (self._revision, self._at, secrets.token_hex(8), text, author.peer, author.name, author.note, found.id)
        execute(self._database, _LOG_OF_ONE, values)
