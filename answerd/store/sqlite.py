"""The SQLite store: documents as rows of one file, which several programs may read and write at a time.

Rules: docs/formats.md#the-files.

Knows the database's schema and how a write becomes durable. Decides nothing: what may be written is the write guard's,
what a document means the catalogue's.

Every write, by whatever program, is recorded by the database itself: triggers add a row to ``changes`` and give the
document that row's number as its revision. So a revision is never used twice, a deletion has one too, and what happened
since a revision is two look-ups by index. WAL lets readers go on beside a writer; ``synchronous=FULL`` makes a commit
wait until it is on the disk.
"""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any
from urllib.parse import quote

import peewee

from answerd.documents import Key, RawDocument
from answerd.formats import FORMATS
from answerd.identity import Kind, identity
from answerd.store import Changes, StoreError
from answerd.store.writing import make_directories

WRITER_WAIT_SECONDS = 5
"""How long a write waits for another program's to end; a client waits 10 s for its response."""

READER_WAIT_SECONDS = 1
"""How long a read waits; in WAL mode only a program that locks the whole file makes it wait at all."""

_ROWS_AT_ONCE = 500
"""Rows of one INSERT: far below SQLite's limit of values in a statement."""

FILE_MODE = 0o600
"""Of a new database: its documents hold the passwords of a fleet. SQLite gives the files beside it the same mode."""


class DocumentRow(peewee.Model):
    """A document. ``revision`` is the number of the change that made it what it is."""

    id = peewee.AutoField()
    kind = peewee.TextField()
    identifier = peewee.TextField()
    identity = peewee.TextField()
    format = peewee.TextField()
    text = peewee.TextField()
    revision = peewee.IntegerField(default=0)

    class Meta:
        """Peewee's settings."""

        table_name = "documents"


class ChangeRow(peewee.Model):
    """An accepted write: when (UTC), which document, its text before (null: it was new) and after (null: deleted), by
    whom."""

    id = peewee.AutoField()
    at = peewee.TextField()
    kind = peewee.TextField()
    identifier = peewee.TextField()
    format = peewee.TextField()
    text_before = peewee.TextField(null=True)
    text_after = peewee.TextField(null=True)
    peer = peewee.TextField(null=True)

    class Meta:
        """Peewee's settings."""

        table_name = "changes"


_FIRST_SCHEMA = (
    """CREATE TABLE documents (
         id INTEGER PRIMARY KEY,
         kind TEXT NOT NULL CHECK (kind IN ('machine', 'group', 'default')),
         identifier TEXT NOT NULL,
         identity TEXT NOT NULL,
         format TEXT NOT NULL,
         text TEXT NOT NULL,
         revision INTEGER NOT NULL DEFAULT 0,
         UNIQUE (kind, identifier, format),
         UNIQUE (kind, identity, format))""",
    "CREATE INDEX documents_by_revision ON documents (revision)",
    """CREATE TABLE changes (
         id INTEGER PRIMARY KEY AUTOINCREMENT,
         at TEXT NOT NULL,
         kind TEXT NOT NULL,
         identifier TEXT NOT NULL,
         format TEXT NOT NULL,
         text_before TEXT,
         text_after TEXT,
         peer TEXT)""",
    """CREATE TRIGGER document_inserted AFTER INSERT ON documents BEGIN
         INSERT INTO changes (at, kind, identifier, format, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NEW.kind, NEW.identifier, NEW.format, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END""",
    """CREATE TRIGGER document_updated AFTER UPDATE OF kind, identifier, format, text ON documents BEGIN
         INSERT INTO changes (at, kind, identifier, format, text_before)
           SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), OLD.kind, OLD.identifier, OLD.format, OLD.text
           WHERE (OLD.kind, OLD.identifier, OLD.format) <> (NEW.kind, NEW.identifier, NEW.format);
         INSERT INTO changes (at, kind, identifier, format, text_before, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NEW.kind, NEW.identifier, NEW.format, OLD.text, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END""",
    """CREATE TRIGGER document_deleted AFTER DELETE ON documents BEGIN
         INSERT INTO changes (at, kind, identifier, format, text_before)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), OLD.kind, OLD.identifier, OLD.format, OLD.text);
       END""",
)

MIGRATIONS: tuple[Sequence[str], ...] = (_FIRST_SCHEMA,)
"""The statements that lead from each schema version to the next, from an empty file on. What has been released is never
edited, which is why they are text and not made from the models as these are now."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the database holds it. ``body`` is its text in UTF-8, exactly as it was written."""

    key: Key
    body: bytes
    revision: int


class SqliteStore:
    """Documents in a database file.

    `changes` keeps a connection of its own and has one user, the loader; everything may be called from any thread. A
    process that forks needs to do nothing: the connection is closed before and opened again by whoever needs it.
    """

    look_seconds = 0.1
    """A look costs microseconds where nothing was written, and what another program wrote is in force after one."""

    def __init__(self, path: str | Path, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
        """Opens the file, creates it and its directory where missing, and brings its schema up to date.

        Raises `StoreError` where that cannot be done; also for the schema of a newer version.
        """
        self.path = Path(path).absolute()
        self._documents: dict[Key, RawDocument] = {}
        self._revision = 0
        self._looked_before = False
        self._is_asked_for_everything = False
        self._reader: _Reader | None = None
        self._file: tuple[int, int] | None = None  # device and inode of the file that the documents came from
        self._idle = [True]
        with self._faults("opened"):
            make_directories(self.path.parent)
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
            except FileExistsError:
                pass
            with self._connected(WRITER_WAIT_SECONDS) as database:
                _migrate(database, migrations, self.path)
        _STORES.add(self)

    @property
    def described(self) -> str:
        """For the log."""
        return f"sqlite:{self.path}"

    def warnings(self) -> list[str]:
        """Documents that this version cannot read at all."""
        with self._faults("read"), self._connected() as database:
            rows = DocumentRow.select(DocumentRow.format).distinct().order_by(DocumentRow.format)
            unknown = [extension for (extension,) in _fetched(rows, database) if extension not in FORMATS]
        if not unknown:
            return []
        return [f"documents of an unknown format are ignored: {', '.join(unknown)} in {self.path}"]

    def look_at_everything(self) -> None:
        """Have the next look compare every document, whatever SQLite and the revisions say. From any thread."""
        self._is_asked_for_everything = True

    # --- what the loader follows -----------------------------------------------------------------------------------

    def changes(self) -> Changes | None:
        """What changed since the last call, the whole set at first. Raises `StoreError`.

        Costs microseconds where nothing was written, and what was written else. Never waits for a writer.
        """
        with self._faults("read"), self._exclusively():
            reader = self._current_reader()
            version = reader.database.data_version  # taken first: what is committed from now on shows next time
            if self._is_asked_for_everything:
                self._is_asked_for_everything, reader.is_other_file = False, True
            if version == reader.seen_version and not reader.is_other_file:
                return None
            with reader.database.atomic():
                newest, added, removed = self._difference(reader)
            reader.seen_version, reader.is_other_file = version, False
            self._count_as_handed_out(added, removed)
            self._revision = newest
            first, self._looked_before = not self._looked_before, True
            return Changes(tuple(added), tuple(removed)) if added or removed or first else None

    def difference(self, key: Key, text: str | None) -> Changes:
        """What a write of this text (None: a deletion) changes in what was handed out last."""
        before = self._documents.get(key)
        if before and before.fault is None and before.text == text:
            return Changes()
        return Changes((RawDocument(key, text),) if text is not None else (), (before,) if before else ())

    def adopt(self, changes: Changes, revision: int) -> None:
        """Counts a `difference` as handed out: the caller has put its own write, ``revision``, in force itself."""
        self._count_as_handed_out(changes.added, changes.removed)
        self._revision = max(self._revision, revision)

    def _count_as_handed_out(self, added: Sequence[RawDocument], removed: Sequence[RawDocument]) -> None:
        for raw in removed:
            self._documents.pop(raw.key, None)
        for raw in added:
            self._documents[raw.key] = raw

    def _current_reader(self) -> _Reader:
        """The connection of `changes`, opened anew where another file has taken the path's place."""
        status = self.path.stat()
        file = status.st_dev, status.st_ino
        if self._reader and self._file == file:
            return self._reader
        if self._reader:
            self._reader.database.close()
        self._reader = _Reader(self._connection(READER_WAIT_SECONDS), self._file not in (None, file))
        self._file = file
        return self._reader

    def _difference(self, reader: _Reader) -> tuple[int, list[RawDocument], list[RawDocument]]:
        """The newest revision, and what was added and removed since the last call.

        Row by row, in a thread beside requests: no step holds the interpreter for long, however many rows there are.
        """
        newest = _newest_revision(reader.database)
        whole = reader.is_other_file or newest < self._revision
        since = 0 if whole else self._revision
        added: list[RawDocument] = []
        removed: list[RawDocument] = []
        still_there: set[Key] = set()
        for row in _rows(reader.database, DocumentRow.revision > since if since else None):
            raw, before = row.raw(), self._documents.get(row.key)
            if before:
                still_there.add(row.key)
            if before is None or (before.text, before.fault) != (raw.text, raw.fault):
                removed += [before] if before else []
                added.append(raw)
        gone = self._documents if whole else _deleted_since(reader.database, since)
        removed += [self._documents[key] for key in gone if key in self._documents and key not in still_there]
        return newest, added, removed

    # --- single documents ------------------------------------------------------------------------------------------

    def find(self, key: Key) -> StoredDocument | None:
        """The document of exactly this identifier, else of this identity. Raises `StoreError`."""
        with self._faults("read"), self._connected() as database:
            row = _find(database, key)
        return StoredDocument(row.key, row.body, row.revision) if row else None

    def keys(self, kind: Kind | None = None) -> list[Key]:
        """The keys of all documents, or of one kind, sorted. Raises `StoreError`."""
        columns = DocumentRow.kind, DocumentRow.identifier, DocumentRow.format
        rows = DocumentRow.select(*columns).where(DocumentRow.format.in_(list(FORMATS)))
        if kind is not None:
            rows = rows.where(DocumentRow.kind == kind.value)
        with self._faults("read"), self._connected() as database:
            found = _fetched(rows, database)
        return sorted(_key(*columns) for columns in found)

    def all(self) -> list[StoredDocument]:
        """Every document, sorted by key. Raises `StoreError`."""
        with self._faults("read"), self._connected() as database:
            rows = list(_rows(database, None))
        return sorted((StoredDocument(row.key, row.body, row.revision) for row in rows), key=lambda one: one.key)

    def put(self, key: Key, text: str) -> None:
        """Stores a document durably in place of the one of its identity and format, whose spelling stays.

        Raises `StoreError`, also for a key that none may have.
        """
        with self.writing() as transaction:
            transaction.put(key, text)
            transaction.commit()

    def delete(self, key: Key) -> None:
        """Removes a document durably. Raises KeyError when there is none, `StoreError`."""
        with self.writing() as transaction:
            transaction.delete(key)
            transaction.commit()

    @contextmanager
    def writing(self, peer: str | None = None) -> Iterator[Writing]:
        """`begin`, and an end without a trace unless `Writing.commit` was called."""
        transaction = self.begin(peer)
        try:
            yield transaction
        finally:
            transaction.close()

    def begin(self, peer: str | None = None, wait: float = WRITER_WAIT_SECONDS) -> Writing:
        """Takes the database's write lock; ``peer`` is recorded with each change. Waits for other writers, up to
        ``wait`` seconds. Raises `StoreError`."""
        with self._faults("written"):
            database = self._connection(wait)
            try:
                database.begin("IMMEDIATE")
            except BaseException:
                database.close()
                raise
        return Writing(self._faults, database, peer)

    def close(self) -> None:
        """Closes the connection of `changes`, whose next call opens it again and goes on where it was."""
        with self._exclusively():
            self._close_reader()

    def close_if_idle(self) -> None:
        """`close`, unless `changes` is at work this moment in another thread. For the moment before a fork."""
        try:
            self._idle.pop()
        except IndexError:
            return
        self._close_reader()
        self._idle.append(True)

    def _close_reader(self) -> None:
        if self._reader:
            self._reader.database.close()
            self._reader = None

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """One user at a time for the connection of `changes`.

        Taking the last entry of a list is one step for all threads; a lock of ``threading`` would be gevent's in the
        service, which is none between native threads.
        """
        while True:
            try:
                self._idle.pop()
                break
            except IndexError:
                time.sleep(0.001)
        try:
            yield
        finally:
            self._idle.append(True)

    # --- connections -----------------------------------------------------------------------------------------------

    @contextmanager
    def _connected(self, wait: float = READER_WAIT_SECONDS) -> Iterator[peewee.SqliteDatabase]:
        database = self._connection(wait)
        try:
            yield database
        finally:
            database.close()

    def _connection(self, wait: float) -> peewee.SqliteDatabase:
        """A connection to the file, which must exist: a store that has vanished is no empty store.

        Any thread may use it, one at a time. Peewee's own bookkeeping by thread is off.
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
    def _faults(self, done: str) -> Iterator[None]:
        """Turns what SQLite and the system report into a `StoreError` that says what could not be done."""
        try:
            yield
        except (peewee.PeeweeException, sqlite3.Error) as error:
            raise StoreError(f"the database {self.path} cannot be {done}: {_reason(error)}") from None
        except OSError as error:
            raise StoreError(f"the database {self.path} cannot be {done}: {error.strerror or error}") from None


class Writing:
    """One transaction that writes, and holds the write lock from its first moment. Not committed, it leaves no
    trace."""

    def __init__(self, faults: Callable[[str], Any], database: peewee.SqliteDatabase, peer: str | None) -> None:
        self._faults = faults
        self._database = database
        self._peer = peer

    def find(self, key: Key) -> StoredDocument | None:
        """As `SqliteStore.find`, from within the transaction."""
        with self._faults("read"):
            row = _find(self._database, key)
        return StoredDocument(row.key, row.body, row.revision) if row else None

    def put(self, key: Key, text: str) -> StoredDocument:
        """Stores a document; what is stored under its identity and format is replaced and keeps its spelling."""
        with self._faults("written"):
            row = _find(self._database, key)
            if row:
                DocumentRow.update(text=text).where(DocumentRow.id == row.id).bind(self._database).execute()
            else:
                self._insert([RawDocument(key, text)])
            revision = self._signed(_newest_revision(self._database))
        return StoredDocument(row.key if row else key, text.encode(), revision)

    def put_all(self, documents: Sequence[RawDocument], progress: Callable[[int, int], None]) -> int:
        """Stores many documents, of different identities or formats; how many took the place of one that was there.

        One that is there already with the same text is left alone. ``progress`` is told how many of how many are done.
        """
        with self._faults("read"):
            present = {row.key.name: row for row in _rows(self._database, None)}
        replaced = [raw for raw in documents if raw.key.name in present]
        new = [raw for raw in documents if raw.key.name not in present]
        for count, raw in enumerate(replaced, 1):
            if present[raw.key.name].body != raw.text.encode():
                self.put(raw.key, raw.text)
            progress(count, len(documents))
        for start in range(0, len(new), _ROWS_AT_ONCE):
            self._insert(new[start : start + _ROWS_AT_ONCE])
            progress(min(len(documents), len(replaced) + start + _ROWS_AT_ONCE), len(documents))
        return len(replaced)

    def _insert(self, documents: Sequence[RawDocument]) -> None:
        faults = [f"{raw.key} cannot be stored: {fault}" for raw in documents if (fault := _key_fault(raw.key))]
        if faults:
            raise StoreError(faults[0])
        rows = [
            {
                "kind": raw.key.kind.value,
                "identifier": raw.key.identifier,
                "identity": identity(raw.key.identifier),
                "format": raw.key.format,
                "text": raw.text,
            }
            for raw in documents
        ]
        with self._faults("written"):
            DocumentRow.insert_many(rows).bind(self._database).execute()

    def delete(self, key: Key) -> StoredDocument:
        """Removes a document; what it was, with the revision of its removal. Raises KeyError when there is none."""
        with self._faults("written"):
            row = _find(self._database, key)
            if row is None:
                raise KeyError(key)
            DocumentRow.delete().where(DocumentRow.id == row.id).bind(self._database).execute()
            return StoredDocument(row.key, row.body, self._signed(_newest_revision(self._database)))

    def commit(self) -> None:
        """Makes it durable: on return it survives a crash and a power failure. Raises `StoreError`; then nothing is
        stored."""
        with self._faults("written"):
            self._database.commit()

    def close(self) -> None:
        """Undoes what was not committed, and gives the lock back."""
        try:
            self._database.rollback()
        except (peewee.PeeweeException, sqlite3.Error):
            pass  # closing rolls back too
        finally:
            self._database.close()

    def _signed(self, revision: int) -> int:
        """The revision, once the peer stands beside its change."""
        if self._peer:
            ChangeRow.update(peer=self._peer).where(ChangeRow.id == revision).bind(self._database).execute()
        return revision


@dataclass(slots=True)
class _Reader:
    """The connection of `SqliteStore.changes`, and the state of the file it has seen.

    ``is_other_file``: what was handed out so far came from another file, or is to be compared with all that is there.
    """

    database: peewee.SqliteDatabase
    is_other_file: bool
    seen_version: int | None = None


_STORES: weakref.WeakSet[SqliteStore] = weakref.WeakSet()


def _close_before_fork() -> None:
    """A child must not inherit a connection: SQLite would believe that it holds the locks of its parent."""
    for store in _STORES:
        store.close_if_idle()


os.register_at_fork(before=_close_before_fork)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of ``documents``, its text as bytes: another program may have written what is not UTF-8."""

    id: int
    key: Key
    body: bytes
    revision: int

    def raw(self) -> RawDocument:
        try:
            return RawDocument(self.key, self.body.decode("utf-8"))
        except UnicodeDecodeError as error:
            fault = f"is not UTF-8: byte 0x{self.body[error.start]:02x} at offset {error.start}"
            return RawDocument(self.key, "", fault=fault)


def _fetched(query: Any, database: peewee.SqliteDatabase) -> list[tuple[Any, ...]]:
    """All rows at once: a cursor left open would keep the log of the database from being emptied."""
    return list(query.tuples().execute(database))


def _newest_revision(database: peewee.SqliteDatabase) -> int:
    """The number of the last change; 0 where there was none."""
    newest: int | None = ChangeRow.select(peewee.fn.MAX(ChangeRow.id)).bind(database).scalar()
    return newest or 0


def _deleted_since(database: peewee.SqliteDatabase, revision: int) -> set[Key]:
    """The keys under which something was deleted, whether there is a document again or not."""
    deleted = ChangeRow.select(ChangeRow.kind, ChangeRow.identifier, ChangeRow.format).where(
        (ChangeRow.id > revision) & ChangeRow.text_after.is_null()
    )
    return {_key(*columns) for columns in _fetched(deleted, database)}


def _rows(
    database: peewee.SqliteDatabase, condition: Any, order: Any = None, limit: int | None = None
) -> Iterator[_Row]:
    """Documents of known formats that meet a condition. To be read to their end: a cursor left open would keep the log
    of the database from being emptied."""
    query = DocumentRow.select(
        DocumentRow.id,
        DocumentRow.kind,
        DocumentRow.identifier,
        DocumentRow.format,
        DocumentRow.text.cast("BLOB"),
        DocumentRow.revision,
    ).where(DocumentRow.format.in_(list(FORMATS)))
    if condition is not None:
        query = query.where(condition)
    if order is not None:
        query = query.order_by(order).limit(limit)
    # Peewee's own wrapper of a cursor takes as long for a row as all the rest together.
    for number, kind, name, extension, body, revision in database.execute(query):  # type: ignore[no-untyped-call]
        yield _Row(number, _key(kind, name, extension), body, revision)


def _key(kind: str, identifier: str, extension: str) -> Key:
    """The key in a row's columns. Documents share the name of their format: there may be a million of them."""
    return Key(_KINDS[kind], identifier, intern(extension))


_KINDS = {kind.value: kind for kind in Kind}


def _find(database: peewee.SqliteDatabase, key: Key) -> _Row | None:
    exactly = DocumentRow.identifier == key.identifier
    named = exactly | (DocumentRow.identity == identity(key.identifier))
    condition = (DocumentRow.kind == key.kind.value) & (DocumentRow.format == key.format) & named
    return next(iter(list(_rows(database, condition, exactly.desc(), 1))), None)


def _key_fault(key: Key) -> str | None:
    if key.format not in FORMATS:
        return f"{key.format!r} is no format"
    return key.fault


def _migrate(database: peewee.SqliteDatabase, migrations: Sequence[Sequence[str]], path: Path) -> None:
    """Brings the schema up to date in one transaction; WAL mode stays with the file. Raises `StoreError`."""
    if database.user_version == len(migrations) and database.journal_mode == "wal":
        return
    _refuse_foreign(database, len(migrations), path)
    _use_wal(database)
    with database.atomic("IMMEDIATE"):
        version = _refuse_foreign(database, len(migrations), path)  # another process may have been quicker
        for statements in migrations[version:]:
            for statement in statements:
                database.execute_sql(statement)  # type: ignore[no-untyped-call]
        database.user_version = len(migrations)


def _refuse_foreign(database: peewee.SqliteDatabase, newest: int, path: Path) -> int:
    """The schema version of a database that is ours, and not newer than we are."""
    version: int = database.user_version
    if version > newest:
        raise StoreError(
            f"the database {path} has schema version {version}, this version of answerd understands up to {newest}: "
            "use the newer version that wrote it"
        )
    if version == 0 and database.get_tables():
        raise StoreError(f"the database {path} belongs to another program: name a file of answerd's own")
    return version


def _use_wal(database: peewee.SqliteDatabase) -> None:
    """Switches to WAL. SQLite does not wait for others here, so this does: two processes may begin with one new
    file."""
    until = time.monotonic() + WRITER_WAIT_SECONDS
    while True:
        try:
            if database.journal_mode != "wal":
                database.journal_mode = "wal"
            return
        except peewee.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
