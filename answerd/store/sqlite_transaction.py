"""A change of a SQLite database as one transaction. Triggers of the database record and number the changes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from answerd.documents import RawDocument
from answerd.store import Author
from answerd.store.row_transaction import ROWS_AT_ONCE, Found, RowTransaction, columns_of
from answerd.store.sqlite_file import SqliteFile
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
        """Turn errors of SQLite in a block into a `StoreError`."""
        return self._file.faults(done)

    def commit(self) -> None:
        """Make it durable: on return it survives a crash and a power failure. Raises `StoreError`; then nothing is
        stored."""
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
