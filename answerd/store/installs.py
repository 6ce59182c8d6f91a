"""The states of installs in a SQLite file: reading changes, and writing batches of events.

Rules: docs/install-once.md#where-states-are-kept. Decides nothing: the effect of an event is in
`answerd.installs.memory`.

Each transaction raises one revision and marks the rows that it changes with it, so the changes since a revision are one
look-up by index. A file that vanishes or is replaced while the service runs is refused: another file's states would let
machines install again.
"""

from __future__ import annotations

import os
import secrets
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import peewee

from answerd.installs.memory import AppliedEvent, Remembered
from answerd.installs.shown import HistoryEvent, UnknownMachine
from answerd.installs.states import Rules
from answerd.installs.tokens import KEY_LENGTH
from answerd.store import WRITER_WAIT_SECONDS, StoreError
from answerd.store.install_batch import Batch, PendingEvent, Sighting, write_sightings
from answerd.store.install_tables import (
    ForgottenRow,
    InstallRow,
    SettingRow,
    history_of,
    installs,
    newest_time,
    setting,
    unknown_machines,
)
from answerd.store.migrations import STATE_MIGRATIONS, migrate
from answerd.store.outbox import Waiting
from answerd.store.sqlite_file import READER_WAIT_SECONDS, SqliteFile
from answerd.store.tables import fetched

_POLL_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class InstallChanges:
    """The changes of the states. ``whole``: the records are all that there are; the caller may empty the list, to free
    it in steps."""

    revision: int
    remembered: list[Remembered] = field(default_factory=list)
    forgotten: Mapping[str, int] = field(default_factory=dict)
    whole: bool = False


class BatchResult(NamedTuple):
    """The result of a batch: the result of each event, and all changes."""

    applied: Sequence[AppliedEvent]
    changes: InstallChanges


class StateStore(Protocol):
    """The states as commands use them. Every method raises `StoreError`."""

    @property
    def newest(self) -> float:
        """The latest time in any record."""

    def changes_since(self, since: int) -> InstallChanges | None:
        """Return the changes since a revision, everything since -1; None when there are none."""

    def history(self, name: str) -> list[HistoryEvent]:
        """Return the events of the record of this name, oldest first."""

    def unknown(self) -> list[UnknownMachine]:
        """Return the machines that nothing claimed, the last first."""

    def write(self, entries: Sequence[PendingEvent], rules: Rules, sightings: Sequence[Sighting] = ()) -> BatchResult:
        """Write events in one transaction."""


class InstallStore:
    """The states in one file. `changes_since` and `write` keep a connection each and have one user at a time, from any
    thread; both are opened again after a fork."""

    late: type[StoreError] = StoreError
    """Raised where a write was not made in time."""

    def __init__(self, file: SqliteFile, refusal: Callable[[], str] = lambda: "") -> None:
        """Take a file whose tables are there. ``refusal`` is `answerd.store.Store.refusal`. Raises `StoreError`."""
        self.refusal = refusal
        self._file = file
        self._reader: peewee.SqliteDatabase | None = None
        self._writer: peewee.SqliteDatabase | None = None
        self._owner = os.getpid()
        self._seen_version: int | None = None
        self._revision = -1
        self._idle = {"reader": [True], "writer": [True]}
        _STORES.add(self)
        with file.faults("opened"):
            self._inode = _inode(file.path)
            with file.connected(WRITER_WAIT_SECONDS) as database:
                self._key = self._first_key(database)
                self._newest = newest_time(database)

    @property
    def path(self) -> Path:
        """The file, absolute."""
        return self._file.path

    @property
    def newest(self) -> float:
        """The latest time in any record when the store was opened."""
        return self._newest

    @property
    def key(self) -> bytes:
        """The key of tokens. Raises `StoreError` where it is not known."""
        return self._key or b""

    @property
    def mark(self) -> bytes:
        """The mark of these states: only notes beside the file that have this mark are theirs."""
        return self.key

    def _first_key(self, database: peewee.SqliteDatabase) -> bytes | None:
        return _made_key(database)

    # --- reading ---------------------------------------------------------------------------------------------------

    def changes_since(self, since: int) -> InstallChanges | None:
        """Return the changes since a revision, everything since -1; None when there are none. Raises `StoreError`."""
        with self._exclusively("reader"), self._file.faults("read"):
            database = self._connection("_reader", READER_WAIT_SECONDS)
            version = database.data_version
            if version == self._seen_version and since >= self._revision:
                return None
            with database.atomic():
                revision = _revision(database)
                changes = _changes(database, since, revision) if revision != since else None
            self._seen_version, self._revision = version, revision
            return changes

    def all(self) -> list[Remembered]:
        """Return every record, sorted by name. Raises `StoreError`."""
        with self.reading() as database:
            found = [row.remembered for row in installs(database)]
        return sorted(found, key=lambda row: row.record.name)

    def history(self, name: str) -> list[HistoryEvent]:
        """Return the events of the record of this name, oldest first. Raises `StoreError`."""
        with self.reading() as database:
            return history_of(database, name)

    def unknown(self) -> list[UnknownMachine]:
        """Return the machines that nothing claimed, the last first. Raises `StoreError`."""
        with self.reading() as database:
            return unknown_machines(database)

    def waiting(self) -> Waiting | None:
        """Return the number and age of messages that wait for a database that nodes share; None where there is none.
        Raises `StoreError`."""
        return None

    @contextmanager
    def reading(self) -> Iterator[peewee.SqliteDatabase]:
        """A connection for the time of a block. Raises `StoreError`."""
        with self._file.faults("read"):
            self._refuse_other_file()
            with self._file.connected() as database:
                yield database

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[PendingEvent], rules: Rules, sightings: Sequence[Sighting] = ()) -> BatchResult:
        """Write events in one transaction; on return they are on the disk. Raises `StoreError`; then nothing is."""
        with self.writing() as (database, revision):
            batch = Batch(database, [entry.name for entry in entries], rules)
            batch.apply(entries)
            batch.write(revision)
            write_sightings(database, sightings)
        return BatchResult(batch.applied, InstallChanges(revision, batch.changed(), batch.forgotten_now))

    @contextmanager
    def writing(self) -> Iterator[tuple[peewee.SqliteDatabase, int]]:
        """A transaction, which is on the disk at the end of the block, and its revision. Raises `StoreError`."""
        with self.transaction() as database:
            yield database, next_revision(database)

    @contextmanager
    def transaction(self) -> Iterator[peewee.SqliteDatabase]:
        """A transaction without a revision: readers of changes do not see it. Raises `StoreError`."""
        with self._exclusively("writer"), self._file.faults("written"):
            database = self._connection("_writer", WRITER_WAIT_SECONDS)
            with database.atomic("IMMEDIATE"):
                yield database

    # --- connections -----------------------------------------------------------------------------------------------

    def _connection(self, which: str, wait: float) -> peewee.SqliteDatabase:
        if self._owner != os.getpid():  # a child must not use its parent's: SQLite would believe that it holds locks
            self._reader = self._writer = None
            self._owner = os.getpid()
            self._seen_version = None
        self._refuse_other_file()
        database: peewee.SqliteDatabase | None = getattr(self, which)
        if database is None:
            database = self._file.connect(wait)
            setattr(self, which, database)
            if which == "_reader":
                self._seen_version = None
        return database

    def _refuse_other_file(self) -> None:
        try:
            found = _inode(self.path)
        except FileNotFoundError:
            raise StoreError(f"{self.path} has vanished: put it back, or restart the service without states") from None
        if found != self._inode:
            raise StoreError(f"{self.path} was replaced by another file: restart the service to take its states")

    @contextmanager
    def _exclusively(self, which: str) -> Iterator[None]:
        """One user at a time: `list.pop` is one step for all threads, and a lock of ``threading`` would be gevent's."""
        idle = self._idle[which]
        while True:
            try:
                idle.pop()
                break
            except IndexError:
                time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            idle.append(True)

    def close(self) -> None:
        """Close both connections; the next call opens them again. To be called before forking."""
        for which in ("_reader", "_writer"):
            database: peewee.SqliteDatabase | None = getattr(self, which)
            if database is not None:
                database.close()
                setattr(self, which, None)


_STORES: weakref.WeakSet[InstallStore] = weakref.WeakSet()


def _close_before_fork() -> None:
    for store in _STORES:
        store.close()


os.register_at_fork(before=_close_before_fork)


def open_state_file(path: str) -> tuple[InstallStore, bool]:
    """Return the states in a file of their own, and whether it had to be made. Raises `StoreError`."""
    file = SqliteFile(path)
    if not file.path.parent.is_dir():
        raise StoreError(f"SERVICE_STATE_PATH: {file.path.parent} is no directory: make it, or name another place")
    was_made = not file.path.exists()
    with file.faults("opened"):
        file.create()
        with file.connected(WRITER_WAIT_SECONDS) as database:
            if "documents" in database.get_tables():
                raise StoreError(f"SERVICE_STATE_PATH: {file.path} is a database of documents: name a file of its own")
            migrate(database, file.path, STATE_MIGRATIONS)
    return InstallStore(file), was_made


def _changes(database: peewee.SqliteDatabase, since: int, revision: int) -> InstallChanges:
    whole = since < 0 or revision < since
    gone = ForgottenRow.select(ForgottenRow.name_identity, ForgottenRow.attempt)
    if whole:
        rows = installs(database)
    else:
        gone = gone.where(ForgottenRow.revision > since)
        rows = installs(database, InstallRow.revision > since)
    return InstallChanges(revision, [row.remembered for row in rows], dict(fetched(gone, database)), whole)


def _made_key(database: peewee.SqliteDatabase) -> bytes:
    """Return the key of tokens, made when it is first asked for."""
    found = setting(database, "key")
    if found is None:
        with database.atomic("IMMEDIATE"):
            row = {"name": "key", "value": secrets.token_hex(KEY_LENGTH)}
            SettingRow.insert(row).on_conflict_ignore().bind(database).execute()
            found = setting(database, "key")
    return bytes.fromhex(found or "")


def _revision(database: peewee.SqliteDatabase) -> int:
    return int(setting(database, "revision") or 0)


def next_revision(database: peewee.SqliteDatabase) -> int:
    """Begin the next revision in the present transaction, and return it."""
    revision = _revision(database) + 1
    SettingRow.update(value=str(revision)).where(SettingRow.name == "revision").bind(database).execute()
    return revision


def _inode(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
