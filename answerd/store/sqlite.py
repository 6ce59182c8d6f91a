"""The SQLite store: documents as rows of one file, which several programs may read and write at a time.

Rules: docs/admin-api.md#the-database.

Triggers record and number the changes (`answerd.store.schema`): every write, by whatever program, adds a row to
``changes`` and gives the document that row's number as its revision. So a revision is never used twice, a deletion has
one too, and the changes since a revision are two look-ups by index. WAL lets readers go on beside a writer;
``synchronous=FULL`` makes a commit wait until it is on the disk.
"""

from __future__ import annotations

import errno
import math
import os
import secrets
import sqlite3
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import peewee

from answerd.documents import Key, RawDocument
from answerd.store import NOBODY, WRITER_WAIT_SECONDS, Author, Changes, StoreError, StoreFull, Version
from answerd.store.database import ROWS_AT_ONCE, DatabaseStore, DatabaseTransaction, Found, columns_of
from answerd.store.file_io import give_to_owner_of, make_directories, refuse_link_of_another, sync_directory
from answerd.store.schema import DOCUMENTS, Schema, migrate
from answerd.store.tables import (
    ChangeRow,
    DocumentRow,
    deleted_since,
    newest_revision,
    revision_token,
    rows,
    version_of,
)

_POLL_SECONDS = 0.001

READER_WAIT_SECONDS = 1
"""How long a read waits; in WAL mode only a program that locks the whole file makes it wait at all."""

FILE_MODE = 0o600
"""Of a new database: its documents hold the passwords of a fleet. SQLite gives the files beside it the same mode."""


_FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")


# --- the file ---------------------------------------------------------------------------------------------------------


class StoreBusy(StoreError):
    """Another program holds the file's write lock; trying again later may succeed."""


class SqliteFile:
    """A database file by its absolute path. Any thread may use it; it holds no connection."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()

    def create(self) -> None:
        """Make the file and its directory where missing. Raises OSError.

        What root makes belongs to the owner of the directory: a command of root must not lock the service out.
        """
        make_directories(self.path.parent)
        try:
            file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
        except FileExistsError:
            return
        try:
            give_to_owner_of(self.path.parent, file)
        finally:
            os.close(file)

    def remove(self) -> None:
        """Remove the file and those that SQLite keeps beside it. Raises OSError."""
        for suffix in ("", "-wal", "-shm", "-journal"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def connect(self, wait: float) -> peewee.SqliteDatabase:
        """Return a new connection to the file, which must exist: a store that has vanished is no empty store. Raises
        OSError and SQLite's errors.

        A statement waits up to ``wait`` seconds for a lock. Any thread may use the connection, one at a time; Peewee's
        own bookkeeping by thread is off.
        """
        refuse_link_of_another(self.path)
        database = peewee.SqliteDatabase(
            f"file:{quote(str(self.path))}?mode=rw",
            pragmas={"synchronous": "full"},
            timeout=wait,
            thread_safe=False,
            uri=True,
            check_same_thread=False,
        )
        database.connect()
        return database

    @contextmanager
    def connected(self, wait: float = READER_WAIT_SECONDS) -> Iterator[peewee.SqliteDatabase]:
        """`connect`, for the time of the block."""
        database = self.connect(wait)
        try:
            yield database
        finally:
            database.close()

    def copy_to(self, target: Path) -> None:
        """Write a copy of the database, as it is at one moment, to a new file. Raises OSError and SQLite's errors.

        The copy is one file, without the files that WAL mode has beside it, and is there whole or not at all.
        """
        partial = target.with_name(f".{target.name}.partial")
        partial.unlink(missing_ok=True)  # of a copy that was cut off; or a link, which would be written through
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
        try:
            with closing(sqlite3.connect(partial)) as copy, closing(sqlite3.connect(self.path)) as database:
                database.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
            SqliteFile(partial).move_to(target)
        finally:
            partial.unlink(missing_ok=True)

    def move_to(self, target: Path) -> None:
        """Give a file that no connection uses another name, durably, in place of one that has it. Raises OSError."""
        with open(self.path, "rb") as written:
            os.fsync(written.fileno())
        os.replace(self.path, target)
        sync_directory(target.parent)

    @contextmanager
    def faults(self, done: str) -> Iterator[None]:
        """Turn errors of SQLite and the system in the block into a `StoreError` that says what could not be ``done``:
        "opened", "read", "written"."""
        try:
            yield
        except (peewee.PeeweeException, sqlite3.Error, OSError) as error:
            raise self.fault(done, error) from None

    def fault(self, done: str, error: Exception) -> StoreError:
        """Return the `StoreError` of an error of SQLite or the system."""
        what = f"the database {self.path} cannot be {done}"
        cause = cause_of(error)
        name = getattr(cause, "sqlite_errorname", "")
        if name in _FULL or (isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)):
            return StoreFull(f"{what}: the disk is full")
        if name.startswith(_BUSY):
            return StoreBusy(f"{what}: another program is writing to it")
        reason = getattr(cause, "strerror", None) or " ".join(str(cause).split()) or type(cause).__name__
        return StoreError(f"{what}: {reason}")


def cause_of(error: BaseException) -> BaseException:
    """Return SQLite's error behind one of peewee's. Where the disk is full SQLite ends the transaction by itself, so
    that the error of peewee's ROLLBACK comes last and tells nothing."""
    while isinstance(before := error.__cause__ or error.__context__, peewee.PeeweeException | sqlite3.Error):
        error = before
    return error


# --- documents in it --------------------------------------------------------------------------------------------------


class SqliteReader(DatabaseStore):
    """A store whose `changes` are read from a SQLite file: its own, or a replica.

    `changes` keeps a connection and has one user, the loader; everything may be called from any thread. A process that
    forks needs to do nothing: the connection is closed before, and opened again on the next use.
    """

    poll_seconds = 0.04
    """A poll costs microseconds where nothing was written, and a write of another program is in force after one."""

    def __init__(self, file: SqliteFile) -> None:
        super().__init__()
        self._file = file
        self._database: peewee.SqliteDatabase | None = None
        self._inode: tuple[int, int] | None = None  # device and inode of the file that the documents came from
        self._seen: int | None = None  # the state of the file, as SQLite counts it for this connection
        self._last = Version()
        self._compares_all = False
        self._is_asked_for_everything = False
        self._looked_before = False
        self._idle = [True]
        _READERS.add(self)

    def connected(self, wait: float = READER_WAIT_SECONDS) -> AbstractContextManager[peewee.SqliteDatabase]:
        return self._file.connected(wait)

    def faults(self, done: str) -> AbstractContextManager[None]:
        return self._file.faults(done)

    def force_full_poll(self) -> None:
        """Have the next poll compare every document, whatever SQLite and the revisions say. From any thread."""
        self._is_asked_for_everything = True

    def changes(self) -> Changes | None:
        """Return the changes since the last call. Takes microseconds where nothing was written, else time in proportion
        to the changes. Never waits for a writer."""
        with self._file.faults("read"), self._exclusively():
            database = self._current_connection()
            seen = database.data_version  # read first: later commits show in the next call
            if self._is_asked_for_everything:
                self._is_asked_for_everything, self._compares_all = False, True
            if seen == self._seen and not self._compares_all:
                return None
            with database.atomic():
                self._require_set(database)
                newest = version_of(database)
                found = self._changes_in(database, newest.revision)
            self._seen, self._compares_all, self._last = seen, False, newest
            super().adopt(found, newest)
            is_first, self._looked_before = not self._looked_before, True
            return found if found.added or found.removed or is_first else None

    def adopt(self, changes: Changes, version: Version) -> None:
        super().adopt(changes, version)
        if version.revision > self._last.revision:
            self._last = version

    def close(self) -> None:
        """Close the connection of `changes`, whose next call opens it again and goes on where it was."""
        with self._exclusively():
            self._close_connection()

    def close_if_idle(self) -> None:
        """`close`, unless `changes` is at work this moment in another thread. For the moment before a fork."""
        try:
            self._idle.pop()
        except IndexError:
            return
        self._close_connection()
        self._idle.append(True)

    def _require_set(self, database: peewee.SqliteDatabase) -> None:
        """Raise `StoreError` where the snapshot that changes are read from is no set; everything stays as it was."""

    def _current_connection(self) -> peewee.SqliteDatabase:
        """Return the connection of `changes`, opened anew where another file has taken the path's place."""
        status = self._file.path.stat()
        inode = status.st_dev, status.st_ino
        if self._database is None or self._inode != inode:
            self._close_connection()
            self._database, self._seen = self._file.connect(READER_WAIT_SECONDS), None
            self._compares_all = self._compares_all or self._inode not in (None, inode)
            self._inode = inode
        return self._database

    def _changes_in(self, database: peewee.SqliteDatabase, newest: int) -> Changes:
        """Return the differences from the documents that were handed out.

        Row by row, in a thread beside requests: no step holds the interpreter for long, however many rows there are.
        """
        last = self._last.revision
        # Another history: a backup was restored, and its numbers are used again; or the change is too old to be kept.
        is_other = last > 0 and revision_token(database, last) != self._last.token
        whole = self._compares_all or newest < last or is_other
        since = 0 if whole else last
        added: list[RawDocument] = []
        removed: list[RawDocument] = []
        still_there: set[Key] = set()
        for row in rows(database, DocumentRow.revision > since if since else None):
            raw, before = row.raw(), self._documents.get(row.key)
            if before:
                still_there.add(row.key)
            if not self._is_known(raw):
                removed += [before] if before else []
                added.append(raw)
        gone = self._documents if whole else deleted_since(database, since)
        removed += [self._documents[key] for key in gone if key in self._documents and key not in still_there]
        return Changes(tuple(added), tuple(removed))

    def _close_connection(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Hold the connection of `changes`: one user at a time.

        Taking the last entry of a list is one step for all threads. A lock of ``threading`` would be gevent's in the
        service, which does not exclude native threads.
        """
        while True:
            try:
                self._idle.pop()
                break
            except IndexError:
                time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            self._idle.append(True)


_READERS: weakref.WeakSet[SqliteReader] = weakref.WeakSet()


def _close_before_fork() -> None:
    """A child must not inherit a connection: SQLite would believe that it holds the locks of its parent."""
    for store in _READERS:
        store.close_if_idle()


os.register_at_fork(before=_close_before_fork)


class SqliteTransaction(DatabaseTransaction):
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
        DocumentRow.update(text=text).where(DocumentRow.id == found.id).bind(self._database).execute()

    def insert(self, documents: Sequence[RawDocument]) -> None:
        DocumentRow.insert_many([columns_of(raw) for raw in documents]).bind(self._database).execute()

    def remove(self, documents: Sequence[Found]) -> None:
        for start in range(0, len(documents), ROWS_AT_ONCE):
            ids = [document.id for document in documents[start : start + ROWS_AT_ONCE]]
            DocumentRow.delete().where(DocumentRow.id.in_(ids)).bind(self._database).execute()

    def sign(self, before: int) -> None:
        signed = {"peer": self._author.peer, "author": self._author.name, "note": self._author.note}
        if any(signed.values()) or newest_revision(self._database) > before + 1:
            signed["token"] = secrets.token_hex(8)
            ChangeRow.update(signed).where(ChangeRow.id > before).bind(self._database).execute()


class SqliteStore(SqliteReader):
    """Documents in a database file."""

    def __init__(self, path: str | Path, schema: Schema = DOCUMENTS) -> None:
        """Open the file, create it and its directory where missing, and bring its schema up to date.

        Raises `StoreError` where that cannot be done; also for the schema of a newer version.
        """
        super().__init__(SqliteFile(path))
        with self._file.faults("opened"):
            self._file.create()
            with self._file.connected(WRITER_WAIT_SECONDS) as database:
                migrate(database, self.path, schema)

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def described(self) -> str:
        return f"sqlite:{self.path}"

    def backup(self, path: str | Path) -> None:
        self._file.copy_to(Path(path))

    def begin(
        self,
        author: Author = NOBODY,
        wait: float = WRITER_WAIT_SECONDS,
        within: float = math.inf,  # noqa: ARG002 - a disk has no such bound
    ) -> SqliteTransaction:
        return SqliteTransaction(self._file, author, wait)
