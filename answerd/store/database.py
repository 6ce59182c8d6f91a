"""Documents in the tables of a database: the common part of every engine's store and of its transactions.

An engine's store makes connections, reports faults and finds changes; the queries, and which documents a write
affects, are here, once. Decides nothing: the write guard decides which writes are allowed, the catalogue knows the
meaning of documents.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import peewee

from answerd.documents import DocumentName, Key, RawDocument, is_too_large
from answerd.formats import FORMATS
from answerd.identity import Kind, identity_of
from answerd.inventory import INVENTORY_FORMATS
from answerd.store import (
    CannotBeStored,
    Changes,
    DocumentEntry,
    HistoryEntry,
    HistoryFilter,
    Progress,
    Store,
    StoredDocument,
    Transaction,
    Version,
    WriteResult,
    no_progress,
)
from answerd.store.file_io import largest
from answerd.store.history import find_changes, forget_changes
from answerd.store.tables import (
    DocumentRow,
    StoredRow,
    document_entries,
    fetched,
    find_document,
    find_row,
    is_known,
    key_fault,
    key_of,
    newest_revision,
    rows,
    version_of,
)

ROWS_AT_ONCE = 500
"""Rows of one INSERT or DELETE: far below SQLite's limit of values in a statement."""

NUL_FAULT = "it holds the character NUL, which PostgreSQL has no place for: no store takes it"

_ONE_BY_ONE = 100
"""Up to so many documents are looked up one by one; for more, all rows are read once."""


@dataclass(frozen=True, slots=True)
class Found:
    """A stored document that a write is about. ``is_same``: it has the text that is to be stored."""

    id: int
    key: Key
    is_same: bool


class DatabaseTransaction(Transaction, ABC):
    """Which rows a change affects. An engine's own says how they are changed."""

    def __init__(self, database: peewee.Database) -> None:
        """``database``: a connection that has the write lock."""
        self._database = database

    @abstractmethod
    def faults(self, done: str) -> AbstractContextManager[None]:
        """Turn errors of the engine in a block into a `StoreError` that says what could not be ``done``."""

    @abstractmethod
    def change(self, found: Found, text: str) -> None: ...

    @abstractmethod
    def insert(self, documents: Sequence[RawDocument]) -> None:
        """Store documents that are not there yet, with keys that documents may have."""

    @abstractmethod
    def remove(self, documents: Sequence[Found]) -> None: ...

    def sign(self, before: int) -> None:
        """Record the author of the changes after the one of this number, and that they were made together."""

    def find(self, key: Key) -> StoredDocument | None:
        with self.faults("read"):
            return find_document(self._database, key)

    def version(self) -> Version:
        with self.faults("read"):
            return version_of(self._database)

    def write(
        self,
        puts: Sequence[RawDocument],
        deletes: Sequence[Key] = (),
        *,
        prune: Collection[Kind] = (),
        progress: Progress = no_progress,
    ) -> WriteResult:
        wanted = {raw.key.name: raw for raw in puts}
        with self.faults("written"):
            before = newest_revision(self._database)
            found = {stored.key.name: stored for stored in self._find(wanted, deletes, prune)}
            new = [raw for name, raw in wanted.items() if name not in found]
            known = [(stored, wanted[name]) for name, stored in found.items() if name in wanted]
            changed = [(stored, raw) for stored, raw in known if not stored.is_same]
            removed = [stored for name, stored in found.items() if name not in wanted]
            refuse_faulty([*(raw for _, raw in changed), *new])
            self.remove(removed)
            done = len(known) - len(changed)
            for stored, raw in changed:
                self.change(stored, raw.text)
                done += 1
                progress(done, len(wanted))
            for start in range(0, len(new), ROWS_AT_ONCE):
                part = new[start : start + ROWS_AT_ONCE]
                self.insert(part)
                progress(min(len(wanted), done + start + ROWS_AT_ONCE), len(wanted))
            self.sign(before)
            version = version_of(self._database)
        return WriteResult(
            tuple(new),
            tuple(raw if raw.key == stored.key else RawDocument(stored.key, raw.text) for stored, raw in changed),
            tuple(stored.key for stored, _ in known if stored.is_same),
            tuple(stored.key for stored in removed),
            version,
        )

    def close(self) -> None:
        try:
            self._database.rollback()
        except (peewee.PeeweeException, sqlite3.Error, OSError):
            pass  # closing rolls back too
        finally:
            self._database.close()

    def _find(
        self, wanted: Mapping[DocumentName, RawDocument], deletes: Sequence[Key], prune: Collection[Kind]
    ) -> Iterator[Found]:
        """Yield the stored documents that the write replaces or removes. To be read to the end."""

        def found(row: StoredRow) -> Found:
            raw = wanted.get(row.key.name)
            return Found(row.id, row.key, raw is not None and raw.text.encode() == row.body)

        if not prune and len(wanted) + len(deletes) <= _ONE_BY_ONE:
            keys = [*(raw.key for raw in wanted.values()), *deletes]
            yield from (found(row) for key in keys if (row := find_row(self._database, key)))
            return
        named = wanted.keys() | {key.name for key in deletes}
        yield from (found(row) for row in rows(self._database, None) if row.key.kind in prune or row.key.name in named)


def refuse_faulty(documents: Sequence[RawDocument]) -> None:
    """Raise `CannotBeStored` for a document that no store takes."""
    for raw in documents:
        fault = key_fault(raw.key) or (NUL_FAULT if "\0" in raw.text else None)
        if fault is None and is_too_large(raw.text, largest(raw.key)):
            fault = f"it is larger than {largest(raw.key):,} bytes"
        if fault:
            raise CannotBeStored(f"{raw.key} cannot be stored: {fault}")


def columns_of(raw: RawDocument) -> dict[str, Any]:
    return {
        "kind": raw.key.kind.value,
        "identifier": raw.key.identifier,
        "identity": identity_of(raw.key.identifier),
        "format": raw.key.format,
        "text": raw.text,
    }


class DatabaseStore(Store):
    """The queries of a `Store` on the tables. ``_documents`` are those that `changes` has handed out."""

    def __init__(self) -> None:
        self._documents: dict[Key, RawDocument] = {}

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

    def difference(self, written: WriteResult) -> Changes:
        touched = [*(raw.key for raw in written.changed), *written.removed, *(raw.key for raw in written.new)]
        removed = tuple(before for key in touched if (before := self._documents.get(key)))
        return Changes((*written.new, *written.changed), removed)

    def adopt(self, changes: Changes, version: Version) -> None:  # noqa: ARG002 - for those that follow a history
        for raw in changes.removed:
            self._documents.pop(raw.key, None)
        for raw in changes.added:
            self._documents[raw.key] = raw

    def _is_known(self, raw: RawDocument) -> bool:
        """Return whether a document was handed out with this text."""
        before = self._documents.get(raw.key)
        return before is not None and (before.text, before.fault) == (raw.text, raw.fault)

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        """Yield a connection from which documents and their history are read."""
        with self.faults("read"), self.connected() as database:
            yield database


def unknown_formats(database: peewee.Database) -> list[str]:
    """Return a sentence about documents of formats that this version does not know; none where there are none."""
    found = DocumentRow.select(DocumentRow.format).distinct().order_by(DocumentRow.format)
    known = (*FORMATS, *INVENTORY_FORMATS)
    unknown = [extension for (extension,) in fetched(found, database) if extension not in known]
    return [f"documents of an unknown format are ignored: {', '.join(unknown)}"] if unknown else []
