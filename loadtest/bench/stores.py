"""Answer sets for the service to load: documents in a directory or a database, and changes of single documents.

A database is filled through SQLite itself, because a million documents are not written one transaction at a time; its
schema is the service's own.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from answerd.identity import identity_of
from answerd.store.sqlite import SqliteStore
from loadtest.fleet import Documents, write


@dataclass(frozen=True)
class FilesSet:
    """A directory of documents."""

    directory: Path

    @property
    def settings(self) -> dict[str, object]:
        """What tells the service to use it."""
        return {"SERVICE_STORE": "files", "SERVICE_ANSWERS_DIR": self.directory}

    def fill(self, documents: Documents) -> None:
        """Write documents."""
        write(documents, self.directory)

    def change(self, name: str, text: str) -> None:
        """Replace a document as the service asks operators to."""
        temporary = self.directory / ".changing"
        temporary.write_bytes(text.encode())
        os.replace(temporary, self.directory / name)


@dataclass(frozen=True)
class SqliteSet:
    """A database of documents."""

    directory: Path

    @property
    def path(self) -> Path:
        """The database file."""
        return self.directory / "answers.db"

    @property
    def settings(self) -> dict[str, object]:
        """What tells the service to use it."""
        return {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": self.path}

    def fill(self, documents: Documents) -> None:
        """Write documents, in one transaction."""
        SqliteStore(self.path).close()
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("PRAGMA synchronous = OFF")
            database.executemany(
                "INSERT INTO documents (kind, identifier, identity, format, text) VALUES (?, ?, ?, ?, ?)",
                ((*_columns(name), text) for name, text in documents),
            )

    def change(self, name: str, text: str) -> None:
        """Replace a document, as another program than the service."""
        with closing(sqlite3.connect(self.path)) as database, database:
            kind, identifier, _, extension = _columns(name)
            where = "WHERE kind = ? AND identifier = ? AND format = ?"
            database.execute(f"UPDATE documents SET text = ? {where}", (text, kind, identifier, extension))


STORES: dict[str, type[FilesSet] | type[SqliteSet]] = {"sqlite": SqliteSet, "files": FilesSet}

AnswerSet = FilesSet | SqliteSet


@contextmanager
def stored(documents: Documents, store: str = "sqlite") -> Iterator[AnswerSet]:
    """Make an answer set in a directory of its own, which is removed at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="answerd-bench-") as name:
        answers = STORES[store](Path(name))
        answers.fill(documents)
        yield answers


def _columns(name: str) -> tuple[str, str, str, str]:
    """Return kind, identifier, identity and format of a document by its flat name."""
    folder, _, file = name.rpartition("/")
    identifier, _, extension = file.rpartition(".")
    return _KINDS[folder], identifier, identity_of(identifier), extension


_KINDS = {"": "machine", "groups": "group", "inventory": "inventory"}
"""The kind of the documents in a folder of the flat layout."""
