"""An answer set in one store, asked in process."""

from __future__ import annotations

import json as json_module
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from answerd.answers.problems import load_problems
from answerd.answers.resolve import Answer, resolve
from answerd.answers.sources import NO_SOURCES, Sources
from answerd.check import CheckReport, check
from answerd.documents import Key, RawDocument
from answerd.facts import Facts, Request
from answerd.formats import split_extension
from answerd.identity import Kind
from answerd.inventory import INVENTORY_FORMATS
from answerd.store import Store
from answerd.store.database import DatabaseStore
from answerd.store.files import FileStore
from answerd.store.loader import Loader
from answerd.store.sqlite import SqliteStore
from answerd.validators import Tools
from tests.support import postgres
from tests.support.installs import RememberedInstalls
from tests.support.writes import delete, put


@lru_cache(maxsize=1)
def _made_database() -> bytes:
    """The file of a database without documents, of which each test has a copy."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "answers.db"
        SqliteStore(path).version()
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.read_bytes()


def empty_database(path: Path) -> SqliteStore:
    """A store whose database holds nothing."""
    path.write_bytes(_made_database())
    return SqliteStore(path)


STORES: dict[str, Callable[[Path], Store]] = {
    "files": lambda scratch: FileStore(scratch / "answers"),
    "sqlite": lambda scratch: empty_database(scratch / "answers.db"),
}
if postgres.binaries() is not None:
    STORES["postgres"] = lambda scratch: postgres.empty_store()
"""Every store, made in an empty directory. A behaviour test runs against each."""


def key_of(name: str) -> Key:
    """The key of a document by its flat name: ``groups/rack.toml``, ``98fa9b50d810.toml``, ``default.ks``."""
    table, _, kept_as = name.rpartition(".")
    if kept_as in INVENTORY_FORMATS:
        return Key(Kind.INVENTORY, table.partition("/")[2] or "default", kept_as)
    folder, _, file = name.rpartition("/")
    stem, extension = split_extension(file)
    assert extension, name
    if folder == "groups":
        return Key(Kind.GROUP, stem, extension)
    return Key(Kind.DEFAULT, "", extension) if stem == "default" else Key(Kind.MACHINE, stem, extension)


_CLOSING = ThreadPoolExecutor(1)


class Fleet:
    """An answer set in one store, asked without a network."""

    def __init__(self, store: Store, *, has_states: bool = False) -> None:
        self.store = store
        self.sources = NO_SOURCES
        self.loader = Loader(store, has_states=has_states)
        self.loader.refresh()

    def remembering(self, installs: RememberedInstalls) -> Fleet:
        """The same documents, empty so far, with a place for the states of installs."""
        fleet = Fleet(self.store, has_states=True)
        fleet.sources = Sources(gates=installs.gates)
        return fleet

    def close(self) -> None:
        """Have the kernel's watch on a directory ended: that takes it ten milliseconds, for which no test waits."""
        if isinstance(self.store, FileStore) and self.store._watch is not None:
            _CLOSING.submit(self.store._watch.close)

    def write(self, files: Mapping[str, str]) -> Fleet:
        """Store documents and put them in force."""
        documents = [RawDocument(key_of(name), text) for name, text in files.items()]
        if isinstance(self.store, DatabaseStore) and len({one.key.name for one in documents}) == len(documents):
            with self.store.writing() as transaction:
                transaction.write(documents)
                transaction.commit()
        else:  # a directory; or two spellings of one name, of which a single write takes the last
            for document in documents:
                put(self.store, document.key, document.text)
        self.poll()
        return self

    def remove(self, name: str) -> None:
        """Remove a document and put that in force."""
        delete(self.store, key_of(name))
        self.poll()

    def poll(self) -> None:
        """Look as often as a store needs to believe what it sees."""
        self.loader.refresh()
        if not isinstance(self.store, DatabaseStore):
            self.loader.refresh()

    def ask(self, target: str = "/", *, json: Any = None, body: bytes = b"", **headers: str) -> Answer:
        """The answer to a request. ``peer`` among the headers is the address it comes from."""
        path, _, query = target.partition("?")
        peer = headers.pop("peer", "")
        named = [(name.replace("_", "-").lower(), value) for name, value in headers.items()]
        sent = json_module.dumps(json).encode() if json is not None else body
        return resolve(self.loader.catalogue, Facts(Request(path, query, named, sent, peer)), sources=self.sources)

    def text(self, target: str = "/", **request: Any) -> str:
        """The answer's text."""
        return self.ask(target, **request).body.decode()

    def problems(self) -> list[str]:
        """What is wrong with the set."""
        return load_problems(self.loader.catalogue)

    def check(self) -> CheckReport:
        """What ``check`` says, by the built-in rules alone."""
        return check(self.loader.catalogue, Tools.none())
