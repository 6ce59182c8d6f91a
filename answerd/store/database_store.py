"""The common base of the stores in a database: the queries on their tables, for every engine. An engine's store makes
connections and reports faults; the rest is here, once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import peewee

from answerd.documents import Key
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.store import DocumentEntry, HistoryEntry, HistoryFilter, StoredDocument, Version, WritableStore
from answerd.store.history import find_changes, forget_changes
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


class DatabaseStore(WritableStore):
    """The queries of a `WritableStore` on the tables, for every engine."""

    @abstractmethod
    def connected(self) -> AbstractContextManager[Any]:
        """Return a connection for the time of a block. Raises `StoreError` or what `faults` turns into one."""

    @abstractmethod
    def faults(self, done: str) -> AbstractContextManager[None]:
        """Turn errors of the engine in a block into a `StoreError` that says what could not be ``done``."""

    def warnings(self) -> list[str]:
        with self._reading() as database:
            return [f"{unknown} in {self.described}" for unknown in unknown_formats(database)]

    def find(self, key: Key) -> StoredDocument | None:
        with self._reading() as database:
            return find_document(database, key)

    def keys(self, kind: Kind | None = None) -> list[Key]:
        columns = DocumentRow.kind, DocumentRow.identifier, DocumentRow.format
        query = DocumentRow.select(*columns).where(is_known())
        if kind is not None:
            query = query.where(DocumentRow.kind == kind.value)
        with self._reading() as database:
            found = fetched(query, database)
        return sorted(key_of(*row) for row in found)

    def all(self) -> list[StoredDocument]:
        with self._reading() as database:
            found = list(rows(database, None))
        return sorted((StoredDocument(row.key, row.body, row.revision) for row in found), key=lambda stored: stored.key)

    def entries(self, kind: Kind, after: str = "", limit: int | None = None) -> list[DocumentEntry]:
        with self._reading() as database:
            return document_entries(database, kind, after, limit)

    def version(self) -> Version:
        with self._reading() as database:
            return version_of(database)

    def history(self, wanted: HistoryFilter) -> list[HistoryEntry]:
        with self._reading() as database:
            return find_changes(database, wanted)

    def prune_history(self, before: str) -> int:
        with self.faults("written"), self.connected() as database:
            return forget_changes(database, before)

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        """Yield a connection from which documents and their history are read."""
        with self.faults("read"), self.connected() as database:
            yield database


def unknown_formats(database: peewee.Database) -> list[str]:
    """Return a sentence about documents of formats that this version does not know; none where there are none."""
    found = DocumentRow.select(DocumentRow.format).distinct().order_by(DocumentRow.format)
    known = (*FORMATS, INVENTORY_FORMAT)
    unknown = [extension for (extension,) in fetched(found, database) if extension not in known]
    return [f"documents of an unknown format are ignored: {', '.join(unknown)}"] if unknown else []
