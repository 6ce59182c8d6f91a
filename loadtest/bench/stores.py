"""Answer sets for the service to load: documents in a directory or a database, and changes of single documents."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from answerd.documents import RawDocument
from answerd.store import Store
from answerd.store.layout import key_of
from answerd.store.sqlite import SqliteStore
from loadtest.fleet import Documents, write

STORES = ("sqlite", "files")

_WRITTEN_AT_ONCE = 10_000


@dataclass(frozen=True)
class AnswerSet:
    """Documents in a directory, or in a database in it."""

    directory: Path
    store: str

    @property
    def settings(self) -> dict[str, object]:
        """The settings of a service on it."""
        if self.store == "files":
            return {"SERVICE_STORE": "files", "SERVICE_ANSWERS_DIR": self.directory}
        return {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": self.directory / "answers.db"}

    def change(self, name: str, text: str) -> None:
        """Replace a document: a file as the service asks operators to, a row as another program than the service."""
        if self.store == "files":
            temporary = self.directory / ".changing"
            temporary.write_bytes(text.encode())
            os.replace(temporary, self.directory / name)
        else:
            put(SqliteStore(self.directory / "answers.db"), [(name, text)])


@contextmanager
def stored(documents: Documents, store: str = "sqlite") -> Iterator[AnswerSet]:
    """Make an answer set in a directory of its own, which is removed at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="answerd-bench-") as name:
        directory = Path(name)
        if store == "files":
            write(documents, directory)
        else:
            put(SqliteStore(directory / "answers.db"), documents)
        yield AnswerSet(directory, store)


def put(store: Store, documents: Iterable[tuple[str, str]]) -> None:
    """Write documents, by their flat names, into a database."""
    remaining = iter(documents)
    while batch := list(islice(remaining, _WRITTEN_AT_ONCE)):
        with store.writing() as transaction:
            transaction.write([RawDocument(key, text) for name, text in batch if (key := key_of(name))])
            transaction.commit()
