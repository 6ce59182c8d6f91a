"""The SQLite store: documents as rows of one file, which several programs may read and write at a time.

Rules: docs/admin-api.md#the-database.

Decides nothing: the write guard decides which writes are allowed, the catalogue knows the meaning of documents.
Triggers record and number the changes (`answerd.store.schema`); `answerd.store.sqlite_changes` reads them. WAL lets
readers go on beside a writer; ``synchronous=FULL`` makes a commit wait until it is on the disk.
"""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import peewee

from answerd.documents import RawDocument
from answerd.store import NOBODY, WRITER_WAIT_SECONDS, Author, Changes, Version, WriteResult
from answerd.store.database_store import DatabaseStore
from answerd.store.row_transaction import ROWS_AT_ONCE, Found, RowTransaction, columns_of
from answerd.store.schema import DOCUMENTS, Schema, migrate
from answerd.store.sqlite_changes import ChangeReader
from answerd.store.sqlite_file import READER_WAIT_SECONDS, SqliteFile
from answerd.store.tables import ChangeRow, DocumentRow, execute


class SqliteTransaction(RowTransaction):
    """Holds the database's write lock from its first moment."""

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
        super().__init__(database)

    def faults(self, done: str) -> AbstractContextManager[None]:
        return self._file.faults(done)

    def commit(self) -> None:
        with self.faults("written"):
            self._database.commit()

    def change(self, found: Found, text: str) -> None:
        """Give a stored document another text."""
        execute(self._database, "UPDATE documents SET text = ? WHERE id = ?", (text, found.id))

    def insert(self, documents: Sequence[RawDocument]) -> None:
        """Store documents that are not there yet."""
        DocumentRow.insert_many([columns_of(raw) for raw in documents]).bind(self._database).execute()

    def remove(self, documents: Sequence[Found]) -> None:
        """Remove stored documents."""
        for start in range(0, len(documents), ROWS_AT_ONCE):
            ids = [document.id for document in documents[start : start + ROWS_AT_ONCE]]
            DocumentRow.delete().where(DocumentRow.id.in_(ids)).bind(self._database).execute()

    def sign(self, before: int) -> None:
        """Record the author of the changes after the one of this number."""
        author = {"peer": self._author.peer, "author": self._author.name, "note": self._author.note}
        if any(author.values()):
            ChangeRow.update(author).where(ChangeRow.id > before).bind(self._database).execute()


class SqliteStore(DatabaseStore):
    """Documents in a database file: an `answerd.store.WritableStore`.

    `changes` keeps a connection of its own and has one user, the loader; everything may be called from any thread.
    """

    poll_seconds = 0.1
    """A poll costs microseconds where nothing was written, and a write of another program is in force after one."""

    def __init__(self, path: str | Path, schema: Schema = DOCUMENTS) -> None:
        """Open the file, create it and its directory where missing, and bring its schema up to date.

        Raises `StoreError` where that cannot be done; also for the schema of a newer version.
        """
        self._file = SqliteFile(path)
        self._feed = ChangeReader(self._file)
        with self._file.faults("opened"):
            self._file.create()
            with self._file.connected(WRITER_WAIT_SECONDS) as database:
                migrate(database, self.path, schema)
        _STORES.add(self)

    @property
    def path(self) -> Path:
        """The database file, absolute."""
        return self._file.path

    @property
    def described(self) -> str:
        """For the log."""
        return f"sqlite:{self.path}"

    def connected(self, wait: float = READER_WAIT_SECONDS) -> AbstractContextManager[peewee.SqliteDatabase]:
        """Return a connection for the time of a block."""
        return self._file.connected(wait)

    def faults(self, done: str) -> AbstractContextManager[None]:
        """Turn errors of SQLite in a block into a `StoreError`."""
        return self._file.faults(done)

    # --- what the loader follows -----------------------------------------------------------------------------------

    def force_full_poll(self) -> None:
        """Have the next poll compare every document, whatever SQLite and the revisions say. From any thread."""
        self._feed.force_full_poll()

    def changes(self) -> Changes | None:
        """Return the changes since the last call, the whole set at first. Raises `StoreError`."""
        with self._file.faults("read"):
            return self._feed.changes()

    def difference(self, written: WriteResult) -> Changes:
        """Return the changes by a write, compared with the documents that were handed out last."""
        return self._feed.difference(written)

    def adopt(self, changes: Changes, version: Version) -> None:
        """Count a `difference` as handed out: the caller has put its own write in force itself."""
        self._feed.adopt(changes, version)

    def close(self) -> None:
        """Close the connection of `changes`, whose next call opens it again and goes on where it was."""
        self._feed.close()

    def close_if_idle(self) -> None:
        """`close`, unless `changes` is at work this moment in another thread. For the moment before a fork."""
        self._feed.close_if_idle()

    # --- backup, writing -------------------------------------------------------------------------------------------

    def backup(self, path: str | Path) -> None:
        """Write a consistent copy of the whole database to a new file. Raises `StoreError`."""
        self._file.copy_to(Path(path))

    def restore(self, path: str | Path) -> None:
        """Replace everything in the database by the content of a backup, in one transaction. Raises `StoreError`."""
        self._file.restore_from(Path(path))

    def begin(
        self,
        author: Author = NOBODY,
        wait: float = WRITER_WAIT_SECONDS,
        within: float = math.inf,  # noqa: ARG002 - a disk has no such bound
    ) -> SqliteTransaction:
        """Take the database's write lock; ``author`` is recorded with each change. Waits for other writers, up to
        ``wait`` seconds. Raises `StoreError`."""
        return SqliteTransaction(self._file, author, wait)


_STORES: weakref.WeakSet[SqliteStore] = weakref.WeakSet()


def _close_before_fork() -> None:
    """A child must not inherit a connection: SQLite would believe that it holds the locks of its parent."""
    for store in _STORES:
        store.close_if_idle()


os.register_at_fork(before=_close_before_fork)
