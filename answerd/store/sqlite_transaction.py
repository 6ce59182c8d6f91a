"""A change of the database as one transaction: all of it is durable, or nothing of it has happened.

Knows how rows are written and who is recorded as their author. What may be written is the write guard's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

import peewee

from answerd.documents import Key, RawDocument
from answerd.identity import identity
from answerd.store import StoredDocument, StoreError
from answerd.store.sqlite_file import SqliteFile
from answerd.store.tables import (
    ChangeRow,
    DocumentRow,
    find_document,
    find_row,
    key_fault,
    newest_revision,
    rows,
    token_of,
)

_ROWS_AT_ONCE = 500
"""Rows of one INSERT: far below SQLite's limit of values in a statement."""


class SqliteTransaction:
    """An `answerd.store.Transaction`. Holds the database's write lock from its first moment."""

    def __init__(self, file: SqliteFile, peer: str | None, wait: float) -> None:
        """Take the write lock. Raises `StoreError` when it is not free within ``wait`` seconds."""
        self._file = file
        self._peer = peer
        with file.faults("written"):
            database = file.connect(wait)
            try:
                database.begin("IMMEDIATE")
            except BaseException:
                database.close()
                raise
        self._database = database

    def find(self, key: Key) -> StoredDocument | None:
        """Return the document of exactly this identifier, else of this identity."""
        with self._file.faults("read"):
            return find_document(self._database, key)

    def put(self, key: Key, text: str) -> StoredDocument:
        """Store a document; what is stored under its identity and format is replaced and keeps its spelling."""
        with self._file.faults("written"):
            row = find_row(self._database, key)
            if row:
                DocumentRow.update(text=text).where(DocumentRow.id == row.id).bind(self._database).execute()
            else:
                self._insert([RawDocument(key, text)])
            return self._signed(row.key if row else key, text.encode())

    def put_all(self, documents: Sequence[RawDocument], progress: Callable[[int, int], None]) -> int:
        """Store many documents, of different identities or formats. Return how many replaced one that was there.

        One that is there already with the same text is left alone. ``progress`` gets how many of how many are done.
        """
        with self._file.faults("read"):
            present = {row.key.name: row for row in rows(self._database, None)}
        replaced = [raw for raw in documents if raw.key.name in present]
        new = [raw for raw in documents if raw.key.name not in present]
        for count, raw in enumerate(replaced, 1):
            if present[raw.key.name].body != raw.text.encode():
                self.put(raw.key, raw.text)
            progress(count, len(documents))
        for start in range(0, len(new), _ROWS_AT_ONCE):
            self._insert(new[start : start + _ROWS_AT_ONCE])
            progress(min(len(documents), len(replaced) + start + _ROWS_AT_ONCE), len(documents))
        return len(replaced)

    def delete(self, key: Key) -> StoredDocument:
        """Remove a document. Return what it was, with the revision of its removal. Raises KeyError when there is
        none."""
        with self._file.faults("written"):
            row = find_row(self._database, key)
            if row is None:
                raise KeyError(key)
            DocumentRow.delete().where(DocumentRow.id == row.id).bind(self._database).execute()
            return self._signed(row.key, row.body)

    def commit(self) -> None:
        """Make it durable: on return it survives a crash and a power failure. Raises `StoreError`; then nothing is
        stored."""
        with self._file.faults("written"):
            self._database.commit()

    def close(self) -> None:
        """Undo what was not committed, and release the lock."""
        try:
            self._database.rollback()
        except (peewee.PeeweeException, sqlite3.Error):
            pass  # closing rolls back too
        finally:
            self._database.close()

    def _insert(self, documents: Sequence[RawDocument]) -> None:
        faults = [f"{raw.key} cannot be stored: {fault}" for raw in documents if (fault := key_fault(raw.key))]
        if faults:
            raise StoreError(faults[0])
        columns = [
            {
                "kind": raw.key.kind.value,
                "identifier": raw.key.identifier,
                "identity": identity(raw.key.identifier),
                "format": raw.key.format,
                "text": raw.text,
            }
            for raw in documents
        ]
        with self._file.faults("written"):
            DocumentRow.insert_many(columns).bind(self._database).execute()

    def _signed(self, key: Key, body: bytes) -> StoredDocument:
        """Record the author of the newest change. Return the document with its revision."""
        revision = newest_revision(self._database)
        if self._peer:
            ChangeRow.update(peer=self._peer).where(ChangeRow.id == revision).bind(self._database).execute()
        return StoredDocument(key, body, revision, token_of(self._database, revision) or "")
