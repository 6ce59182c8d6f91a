"""The database file: making it, opening connections to it, and translating its errors."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import peewee

from answerd.store import WRITER_WAIT_SECONDS, StoreError, StoreFull
from answerd.store.file_io import give_to_owner_of, make_directories, sync_directory

READER_WAIT_SECONDS = 1
"""How long a read waits; in WAL mode only a program that locks the whole file makes it wait at all."""

FILE_MODE = 0o600
"""Of a new database: its documents hold the passwords of a fleet. SQLite gives the files beside it the same mode."""


_FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")


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
        """Return a new connection to the file, which must exist: a store that has vanished is no empty store.

        A statement waits up to ``wait`` seconds for a lock. Any thread may use the connection, one at a time; Peewee's
        own bookkeeping by thread is off.
        """
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
        os.close(os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, FILE_MODE))
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

    def restore_from(self, source: Path) -> None:
        """Replace the whole content by that of a copy, in one transaction. Raises SQLite's errors."""
        with (
            closing(sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True)) as copy,
            closing(sqlite3.connect(self.path, timeout=WRITER_WAIT_SECONDS)) as database,
        ):
            database.execute("PRAGMA synchronous = FULL")
            copy.backup(database)

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
