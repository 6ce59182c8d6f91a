"""Backups: a copy of everything in one SQLite file, whatever the store, and everything put back.

Rules: docs/admin-api.md#backup-and-restore.

A backup is a database of this service. That of a directory holds its documents as an import would, so that it can be
restored into either store.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from answerd.identity import printable
from answerd.store import StoreError, WritableStore
from answerd.store.sqlite import SqliteStore
from answerd.store.transfer import ExportSummary, ImportSummary, export_directory, import_directory

_STATES = "installs"
"""The table whose rows are states of installs, in databases that have it."""


def backup_database(store: WritableStore, path: str | Path, *, force: bool = False) -> None:
    """Write a consistent copy of a database to a new file while others read and write. Raises `StoreError`."""
    target = _new_file(path, force)
    store.backup(str(target))


def backup_directory(directory: str | Path, path: str | Path, *, force: bool = False) -> ImportSummary:
    """Write the documents of a directory to a new file. Raises `StoreError`."""
    target = _new_file(path, force)
    with tempfile.TemporaryDirectory(prefix=".answerd-backup-", dir=target.parent) as scratch:
        store = SqliteStore(Path(scratch) / "documents.db")
        summary = import_directory(directory, store)
        store.close()
        store.backup(target)
    return summary


def restore_database(path: str | Path, database: str | Path, *, force: bool = False) -> int:
    """Replace the content of a database, which is created where it is missing, by that of a backup.

    In one transaction, while a service may use the database: it goes on with the new content. Return how many documents
    there are. Raises `StoreError`: the file is no backup, or the database is not empty and ``force`` is not given.
    """
    target = SqliteStore(database)
    if not force and not is_empty(target.path):
        raise StoreError(f"the database {printable(str(database))} is not empty: --force replaces all that it holds")
    with tempfile.TemporaryDirectory(prefix=".answerd-restore-", dir=target.path.parent) as scratch:
        copy = checked_copy(path, scratch)
        target.restore(copy.path)
        return len(copy.keys())


def restore_directory(path: str | Path, directory: str | Path, *, force: bool = False) -> ExportSummary:
    """Write the documents of a backup into a directory. Raises `StoreError`."""
    with tempfile.TemporaryDirectory(prefix="answerd-restore-") as scratch:
        return export_directory(checked_copy(path, scratch), directory, force=force)


def checked_copy(path: str | Path, scratch: str | Path) -> SqliteStore:
    """Return a copy of a backup, brought to the current schema; the backup itself stays as it is.

    Raises `StoreError` where the file is no backup, is damaged, or is of a newer version.
    """
    source, shown = Path(path), printable(str(path))
    copy = Path(scratch) / "backup.db"
    try:
        if not source.is_file() or not source.stat().st_size:
            raise StoreError(f"{shown} is no backup: it does not exist or is empty")
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as original,
            closing(sqlite3.connect(copy)) as database,
        ):
            tables = {name for (name,) in original.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not {"documents", "changes"} <= tables:
                raise StoreError(f"{shown} is no backup of answerd: it has no documents")
            fault = original.execute("PRAGMA quick_check(1)").fetchone()[0]
            if fault != "ok":
                raise StoreError(f"{shown} is damaged: {fault}")
            original.backup(database)
    except sqlite3.Error as error:
        raise StoreError(f"{shown} is no backup: {error}") from None
    except OSError as error:
        raise StoreError(f"{shown} cannot be read: {error.strerror or error}") from None
    os.chmod(copy, 0o600)
    store = SqliteStore(copy)
    store.close()
    return store


def is_empty(database: Path) -> bool:
    """Return whether a database has neither documents nor states of installs."""
    with closing(sqlite3.connect(database)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        counted = [name for name in ("documents", _STATES) if name in tables]
        return not any(connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in counted)  # noqa: S608


def _new_file(path: str | Path, force: bool) -> Path:
    """Return where a backup is to be written. Raises `StoreError` where a file is there already."""
    target = Path(path).absolute()
    if not target.parent.is_dir():
        raise StoreError(f"{printable(str(target.parent))} is no directory")
    if target.exists() and (not force or not target.is_file()):
        raise StoreError(f"{printable(str(path))} exists: choose another name, or --force to replace it")
    return target
