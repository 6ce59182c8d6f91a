"""The common base of the stores in a database: the queries on their tables, for every engine. An engine's store makes
connections and reports faults; the rest is here, once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import peewee

from answerd.documents import Key
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.store import (
    NOBODY,
    WRITER_WAIT_SECONDS,
    Author,
    DocumentEntry,
    HistoryEntry,
    HistoryFilter,
    StoredDocument,
    Version,
)
from answerd.store.history import find_changes, forget_changes
from answerd.store.row_transaction import RowTransaction
from answerd.store.tables import (
    DocumentRow,
    document_entries,
    fetched,
    find_document,
    is_known,
    key_of,
    rows,
    version_of,
)


class DatabaseStore(ABC):
    """The part of an `answerd.store.WritableStore` that queries the database."""

    @property
    @abstractmethod
    def described(self) -> str:
        """For the log."""

    @abstractmethod
    def connected(self) -> AbstractContextManager[Any]:
        """Return a connection for the time of a block. Raises `StoreError` or what `faults` turns into one."""

    @abstractmethod
    def faults(self, done: str) -> AbstractContextManager[None]:
        """Turn errors of the engine in a block into a `StoreError` that says what could not be ``done``."""

    @abstractmethod
    def begin(
        self, author: Author = NOBODY, wait: float = WRITER_WAIT_SECONDS, within: float = math.inf
    ) -> RowTransaction:
        """Take the write lock, after up to ``wait`` seconds; ``author`` is recorded with each change. A database server
        is waited for ``within`` seconds in all."""

    def warnings(self) -> list[str]:
        """Return a line about documents that this version cannot read at all."""
        with self._reading() as database:
            return [f"{unknown} in {self.described}" for unknown in unknown_formats(database)]

    def find(self, key: Key) -> StoredDocument | None:
        """Return the document of exactly this identifier, else of this identity. Raises `StoreError`."""
        with self._reading() as database:
            return find_document(database, key)

    def keys(self, kind: Kind | None = None) -> list[Key]:
        """Return the keys of all documents, or of one kind, sorted. Raises `StoreError`."""
        columns = DocumentRow.kind, DocumentRow.identifier, DocumentRow.format
        query = DocumentRow.select(*columns).where(is_known())
        if kind is not None:
            query = query.where(DocumentRow.kind == kind.value)
        with self._reading() as database:
            found = fetched(query, database)
        return sorted(key_of(*row) for row in found)

    def all(self) -> list[StoredDocument]:
        """Return every document, sorted by key, without tokens. Raises `StoreError`."""
        with self._reading() as database:
            found = list(rows(database, None))
        return sorted((StoredDocument(row.key, row.body, row.revision) for row in found), key=lambda stored: stored.key)

    def entries(self, kind: Kind, after: str = "", limit: int | None = None) -> list[DocumentEntry]:
        """Return the documents of a kind without their texts, sorted by identifier and format. Raises `StoreError`."""
        with self._reading() as database:
            return document_entries(database, kind, after, limit)

    def version(self) -> Version:
        """Return the state of the database. Raises `StoreError`."""
        with self._reading() as database:
            return version_of(database)

    def history(self, wanted: HistoryFilter) -> list[HistoryEntry]:
        """Return accepted changes, the newest first. Raises `StoreError`."""
        with self._reading() as database:
            return find_changes(database, wanted)

    def prune_history(self, before: str) -> int:
        """Forget changes of before a time (UTC), but the newest of each document. Raises `StoreError`."""
        with self.faults("written"), self.connected() as database:
            return forget_changes(database, before)

    @contextmanager
    def writing(self, author: Author = NOBODY) -> Iterator[RowTransaction]:
        """`begin`, and an end without a trace unless `RowTransaction.commit` was called."""
        transaction = self.begin(author)
        try:
            yield transaction
        finally:
            transaction.close()

    def put(self, key: Key, text: str) -> None:
        """Store a document durably in place of the one of its identity and format, whose spelling stays.

        Raises `StoreError`, also for a key that no document may have.
        """
        with self.writing() as transaction:
            transaction.put(key, text)
            transaction.commit()

    def delete(self, key: Key) -> None:
        """Remove a document durably. Raises KeyError when there is none, `StoreError`."""
        with self.writing() as transaction:
            transaction.delete(key)
            transaction.commit()

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        with self.faults("read"), self.connected() as database:
            yield database


def unknown_formats(database: peewee.Database) -> list[str]:
    """Return a sentence about documents of formats that this version does not know; none where there are none."""
    found = DocumentRow.select(DocumentRow.format).distinct().order_by(DocumentRow.format)
    known = (*FORMATS, INVENTORY_FORMAT)
    unknown = [extension for (extension,) in fetched(found, database) if extension not in known]
    return [f"documents of an unknown format are ignored: {', '.join(unknown)}"] if unknown else []
