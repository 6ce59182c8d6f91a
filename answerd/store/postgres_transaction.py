"""A change of the PostgreSQL database as one transaction.

Rules: docs/many-nodes.md#how-changes-are-numbered.

The row of ``counter`` is locked before anything else, so writers of all nodes come one after the other, and numbers
have no gaps: a number that is drawn before the lock could be committed after a higher one, and a reader would never see
it. What may be written is the write guard's to say.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import peewee

from answerd.documents import Key, RawDocument
from answerd.identity import identity
from answerd.store import StoredDocument, StoreError
from answerd.store.postgres_connection import WRITE_SECONDS, CommitUnknown, PostgresServer
from answerd.store.tables import ChangeRow, DocumentRow, Row, execute, find_document, find_row, key_fault, rows

CHANNEL = "answerd"
"""The channel of NOTIFY. A notice has no content: who hears it looks at the counter."""

_ROWS_AT_ONCE = 500
_LONGEST_TRANSACTION_SECONDS = 600
"""After which the server ends a transaction whose client says nothing: its lock would stop every writer."""


class PostgresTransaction:
    """An `answerd.store.Transaction`. Holds the lock of the counter from its first moment."""

    def __init__(self, server: PostgresServer, peer: str | None, wait: float) -> None:
        """Take the lock. Raises `StoreError` when it is not free within ``wait`` seconds."""
        self._server = server
        self._peer = peer
        self._at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        database = server.connect(WRITE_SECONDS)
        try:
            with server.faults("written"):
                database.begin()
                execute(database, f"SET LOCAL lock_timeout = {int(wait * 1000)}")
                execute(
                    database, f"SET LOCAL idle_in_transaction_session_timeout = {_LONGEST_TRANSACTION_SECONDS * 1000}"
                )
                row = execute(database, "SELECT revision FROM counter FOR UPDATE").fetchone()
        except BaseException:
            database.close()
            raise
        self._database = database
        self._before: int = row[0]
        self._revision = self._before

    def find(self, key: Key) -> StoredDocument | None:
        """Return the document of exactly this identifier, else of this identity."""
        with self._server.faults("read"):
            return find_document(self._database, key)

    def put(self, key: Key, text: str) -> StoredDocument:
        """Store a document; what is stored under its identity and format is replaced and keeps its spelling."""
        with self._server.faults("written"):
            return self._stored(find_row(self._database, key), key, text)

    def put_all(self, documents: Sequence[RawDocument], progress: Callable[[int, int], None]) -> int:
        """Store many documents, of different identities or formats. Return how many replaced one that was there.

        One that is there already with the same text is left alone. ``progress`` gets how many of how many are done.
        """
        with self._server.faults("written"):
            present = {row.key.name: row for row in rows(self._database, None)}
            replaced = [raw for raw in documents if raw.key.name in present]
            new = [raw for raw in documents if raw.key.name not in present]
            for count, raw in enumerate(replaced, 1):
                row = present[raw.key.name]
                if row.body != raw.text.encode():
                    self._stored(row, raw.key, raw.text)
                progress(count, len(documents))
            for start in range(0, len(new), _ROWS_AT_ONCE):
                self._insert(new[start : start + _ROWS_AT_ONCE])
                progress(min(len(documents), len(replaced) + start + _ROWS_AT_ONCE), len(documents))
        return len(replaced)

    def delete(self, key: Key) -> StoredDocument:
        """Remove a document. Return what it was, with the revision of its removal. Raises KeyError when there is
        none."""
        with self._server.faults("written"):
            row = find_row(self._database, key)
            if row is None:
                raise KeyError(key)
            DocumentRow.delete().where(DocumentRow.id == row.id).bind(self._database).execute()
            token = self._log([(row.key, row.body.decode(), None)])[0]
            return StoredDocument(row.key, row.body, self._revision, token)

    def commit(self) -> None:
        """Make it durable. Raises `CommitUnknown` where the connection was lost meanwhile: it may have been stored."""
        with self._server.faults("written"):
            if self._revision > self._before:
                execute(self._database, "UPDATE counter SET revision = %s", (self._revision,))
                execute(self._database, f"NOTIFY {CHANNEL}")
        try:
            self._database.commit()
        except (peewee.PeeweeException, OSError):
            raise CommitUnknown(
                f"the connection to the database {self._server.described} was lost while the change was committed: it "
                "may have been stored; the document's ETag tells"
            ) from None

    def close(self) -> None:
        """Undo what was not committed, and release the lock."""
        try:
            self._database.rollback()
        except (peewee.PeeweeException, OSError):
            pass  # the server does so when the connection ends
        finally:
            self._database.close()

    def _stored(self, row: Row | None, key: Key, text: str) -> StoredDocument:
        if row is None:
            return self._insert([RawDocument(key, text)])[0]
        _refuse_nul(row.key, text)
        token = self._log([(row.key, row.body.decode(), text)])[0]
        changed = DocumentRow.update(text=text, revision=self._revision).where(DocumentRow.id == row.id)
        changed.bind(self._database).execute()
        return StoredDocument(row.key, text.encode(), self._revision, token)

    def _insert(self, documents: Sequence[RawDocument]) -> list[StoredDocument]:
        for raw in documents:
            fault = key_fault(raw.key)
            if fault:
                raise StoreError(f"{raw.key} cannot be stored: {fault}")
            _refuse_nul(raw.key, raw.text)
        first = self._revision + 1
        tokens = self._log([(raw.key, None, raw.text) for raw in documents])
        columns = [
            {
                "kind": raw.key.kind.value,
                "identifier": raw.key.identifier,
                "identity": identity(raw.key.identifier),
                "format": raw.key.format,
                "text": raw.text,
                "revision": revision,
            }
            for revision, raw in enumerate(documents, first)
        ]
        DocumentRow.insert_many(columns).bind(self._database).execute()
        return [
            StoredDocument(raw.key, raw.text.encode(), revision, token)
            for revision, (raw, token) in enumerate(zip(documents, tokens, strict=True), first)
        ]

    def _log(self, changes: Sequence[tuple[Key, str | None, str | None]]) -> list[str]:
        """Record changes: key, text before, text after. Return their tokens; the last number is `_revision`."""
        tokens = [secrets.token_hex(8) for _ in changes]
        columns = [
            {
                "id": self._revision + place,
                "at": self._at,
                "token": token,
                "kind": key.kind.value,
                "identifier": key.identifier,
                "format": key.format,
                "text_before": before,
                "text_after": after,
                "peer": self._peer,
            }
            for place, ((key, before, after), token) in enumerate(zip(changes, tokens, strict=True), 1)
        ]
        ChangeRow.insert_many(columns).bind(self._database).execute()
        self._revision += len(changes)
        return tokens


def _refuse_nul(key: Key, text: str) -> None:
    if "\0" in text:
        raise StoreError(f"{key} cannot be stored: it holds the character NUL, which PostgreSQL has no place for")
