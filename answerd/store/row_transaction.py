"""A change of a database as one transaction: all of it is durable, or nothing of it has happened.

The common part of every engine's transaction: which documents a write affects, and in what order they are written. The
write guard decides which writes are allowed.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import peewee

from answerd.documents import DocumentName, Key, RawDocument, is_too_large
from answerd.identity import identity_of
from answerd.store import CannotBeStored, Progress, StoredDocument, Transaction, Version, WriteResult, no_progress
from answerd.store.reading import largest
from answerd.store.tables import (
    StoredRow,
    find_document,
    find_row,
    key_fault,
    newest_revision,
    rows,
    version_of,
)

ROWS_AT_ONCE = 500
"""Rows of one INSERT or DELETE: far below SQLite's limit of values in a statement."""

NUL_FAULT = "it holds the character NUL, which PostgreSQL has no place for: no store takes it"

_ONE_BY_ONE = 100
"""Up to so many documents are looked up one by one; for more, all rows are read once."""

"""Kind, identity and format (`Key.name`)."""


@dataclass(frozen=True, slots=True)
class Found:
    """A stored document that a write is about. ``is_same``: it has the text that is to be stored."""

    id: int
    key: Key
    is_same: bool


class RowTransaction(Transaction):
    """An `answerd.store.Transaction` on the tables of `answerd.store.tables`. An engine's has the abstract methods."""

    def __init__(self, database: peewee.Database) -> None:
        """``database``: a connection that has the write lock."""
        self._database = database

    @abstractmethod
    def faults(self, done: str) -> AbstractContextManager[None]:
        """Turn errors of the engine in a block into a `StoreError` that says what could not be ``done``."""

    @abstractmethod
    def change(self, found: Found, text: str) -> None:
        """Give a stored document another text."""

    @abstractmethod
    def insert(self, documents: Sequence[RawDocument]) -> None:
        """Store documents that are not there yet, with keys that documents may have."""

    @abstractmethod
    def remove(self, documents: Sequence[Found]) -> None:
        """Remove stored documents."""

    def sign(self, before: int) -> None:
        """Record the author of the changes after the one of this number."""

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
        prune: bool = False,
        rewrite: bool = False,
        progress: Progress = no_progress,
    ) -> WriteResult:
        wanted = {raw.key.name: raw for raw in puts}
        with self.faults("written"):
            before = newest_revision(self._database)
            found = {stored.key.name: stored for stored in self._find(wanted, deletes, prune)}
            new = [raw for name, raw in wanted.items() if name not in found]
            known = [(stored, wanted[name]) for name, stored in found.items() if name in wanted]
            changed = [(stored, raw) for stored, raw in known if rewrite or not stored.is_same]
            removed = [stored for name, stored in found.items() if name not in wanted]
            _refuse_faulty([*(raw for _, raw in changed), *new])
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
            tuple(stored.key for stored, _ in known if stored.is_same and not rewrite),
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

    def _find(self, wanted: Mapping[DocumentName, RawDocument], deletes: Sequence[Key], prune: bool) -> Iterator[Found]:
        """Yield the stored documents that the write replaces or removes. To be read to the end."""

        def found(row: StoredRow) -> Found:
            raw = wanted.get(row.key.name)
            return Found(row.id, row.key, raw is not None and raw.text.encode() == row.body)

        if not prune and len(wanted) + len(deletes) <= _ONE_BY_ONE:
            keys = [*(raw.key for raw in wanted.values()), *deletes]
            yield from (found(row) for key in keys if (row := find_row(self._database, key)))
            return
        named = wanted.keys() | {key.name for key in deletes}
        yield from (found(row) for row in rows(self._database, None) if prune or row.key.name in named)


def _refuse_faulty(documents: Sequence[RawDocument]) -> None:
    for raw in documents:
        fault = key_fault(raw.key) or (NUL_FAULT if "\0" in raw.text else None)
        if fault is None and is_too_large(raw.text, largest(raw.key)):
            fault = f"it is larger than {largest(raw.key):,} bytes"
        if fault:
            raise CannotBeStored(f"{raw.key} cannot be stored: {fault}")


def columns_of(raw: RawDocument) -> dict[str, Any]:
    """Return the columns of a document's row but its revision."""
    return {
        "kind": raw.key.kind.value,
        "identifier": raw.key.identifier,
        "identity": identity_of(raw.key.identifier),
        "format": raw.key.format,
        "text": raw.text,
    }
