"""A change of the database as one transaction: all of it is durable, or nothing of it has happened.

Knows how rows are written and who is recorded as their author. What may be written is the write guard's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import peewee

from answerd.documents import Key, RawDocument
from answerd.identity import Kind, identity
from answerd.store import Author, Progress, StoredDocument, StoreError, Version, Written, no_progress
from answerd.store.sqlite_file import SqliteFile
from answerd.store.tables import (
    ChangeRow,
    DocumentRow,
    Row,
    find_document,
    find_row,
    key_fault,
    newest_revision,
    rows,
    version_of,
)

_ROWS_AT_ONCE = 500
"""Rows of one INSERT or DELETE: far below SQLite's limit of values in a statement."""

_ONE_BY_ONE = 100
"""Up to so many documents are looked up one by one; for more, all rows are read once."""

_Name = tuple[Kind, str, str]
"""Kind, identity and format (`Key.name`)."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A stored document that a write is about. ``is_same``: it has the text that is to be stored."""

    id: int
    key: Key
    is_same: bool


class SqliteTransaction:
    """An `answerd.store.Transaction`. Holds the database's write lock from its first moment."""

    def __init__(self, file: SqliteFile, author: Author, wait: float) -> None:
        """Take the write lock. Raises `StoreError` when it is not free within ``wait`` seconds."""
        self._file = file
        self._author = author
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

    def version(self) -> Version:
        """Return the state of the database, with what this transaction has written."""
        with self._file.faults("read"):
            return version_of(self._database)

    def write(
        self,
        puts: Sequence[RawDocument],
        deletes: Sequence[Key] = (),
        *,
        prune: bool = False,
        rewrite: bool = False,
        progress: Progress = no_progress,
    ) -> Written:
        """Store documents and remove others (`answerd.store.Transaction.write`)."""
        wanted = {raw.key.name: raw for raw in puts}
        with self._file.faults("written"):
            before = newest_revision(self._database)
            found = {one.key.name: one for one in self._find(wanted, deletes, prune)}
            new = [raw for name, raw in wanted.items() if name not in found]
            known = [(one, wanted[name]) for name, one in found.items() if name in wanted]
            changed = [(one, raw) for one, raw in known if rewrite or not one.is_same]
            removed = [one for name, one in found.items() if name not in wanted]
            self._delete(removed)
            done = len(known) - len(changed)
            for one, raw in changed:
                self._execute("UPDATE documents SET text = ? WHERE id = ?", raw.text, one.id)
                done += 1
                progress(done, len(wanted))
            for start in range(0, len(new), _ROWS_AT_ONCE):
                self._insert(new[start : start + _ROWS_AT_ONCE])
                progress(min(len(wanted), done + start + _ROWS_AT_ONCE), len(wanted))
            self._sign(before)
            version = version_of(self._database)
        return Written(
            tuple(new),
            tuple(raw if raw.key == one.key else RawDocument(one.key, raw.text) for one, raw in changed),
            tuple(one.key for one, _ in known if one.is_same and not rewrite),
            tuple(one.key for one in removed),
            version,
        )

    def put(self, key: Key, text: str) -> StoredDocument:
        """Store one document. Return it as it is stored."""
        self.write([RawDocument(key, text)], rewrite=True)
        stored = self.find(key)
        assert stored is not None  # noqa: S101 - it was written
        return stored

    def delete(self, key: Key) -> None:
        """Remove one document. Raises KeyError when there is none."""
        if not self.write([], [key]).removed:
            raise KeyError(key)

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

    def _find(self, wanted: Mapping[_Name, RawDocument], deletes: Sequence[Key], prune: bool) -> Iterator[_Found]:
        """Yield the stored documents that the write replaces or removes. To be read to the end."""

        def found(row: Row) -> _Found:
            raw = wanted.get(row.key.name)
            return _Found(row.id, row.key, raw is not None and raw.text.encode() == row.body)

        if not prune and len(wanted) + len(deletes) <= _ONE_BY_ONE:
            keys = [*(raw.key for raw in wanted.values()), *deletes]
            yield from (found(row) for key in keys if (row := find_row(self._database, key)))
            return
        named = wanted.keys() | {key.name for key in deletes}
        yield from (found(row) for row in rows(self._database, None) if prune or row.key.name in named)

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
        DocumentRow.insert_many(columns).bind(self._database).execute()

    def _delete(self, documents: Sequence[_Found]) -> None:
        for start in range(0, len(documents), _ROWS_AT_ONCE):
            ids = [one.id for one in documents[start : start + _ROWS_AT_ONCE]]
            DocumentRow.delete().where(DocumentRow.id.in_(ids)).bind(self._database).execute()

    def _sign(self, before: int) -> None:
        """Record the author of the changes after ``before``."""
        author = {"peer": self._author.peer, "author": self._author.name, "note": self._author.note}
        if any(author.values()):
            ChangeRow.update(author).where(ChangeRow.id > before).bind(self._database).execute()

    def _execute(self, statement: str, *values: object) -> None:
        self._database.execute_sql(statement, values)  # type: ignore[no-untyped-call]
