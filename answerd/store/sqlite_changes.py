"""Read the changes of a database since a reader's last call.

Every write, by whatever program, is recorded by the database itself: triggers add a row to ``changes`` and give the
document that row's number as its revision. So a revision is never used twice, a deletion has one too, and the changes
since a revision are two look-ups by index. Knows the documents that were handed out, and when all of them must be
compared. Must not know how a write is made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import peewee

from answerd.documents import Key, RawDocument
from answerd.store import Changes, Version, WriteResult
from answerd.store.sqlite_file import READER_WAIT_SECONDS, SqliteFile
from answerd.store.tables import DocumentRow, deleted_since, revision_token, rows, version_of

_POLL_SECONDS = 0.001


@dataclass(slots=True)
class _Reader:
    """A connection, and the state of the file it has seen.

    ``compares_all``: the documents handed out so far came from another file, or are to be compared with all documents.
    """

    database: peewee.SqliteDatabase
    compares_all: bool
    seen_version: int | None = None


class ChangeReader:
    """A reader of the changes of one file, with a connection of its own. One user, the loader, from any thread.

    A process that forks needs to do nothing: the connection is closed before, and opened again on the next use.
    """

    def __init__(
        self, file: SqliteFile, require: Callable[[peewee.SqliteDatabase], None] = lambda _database: None
    ) -> None:
        """``require`` is called in the snapshot that changes are read from; what it raises leaves everything as it
        was."""
        self._file = file
        self._require = require
        self._documents: dict[Key, RawDocument] = {}
        self._revision = 0
        self._token: str | None = None
        self.looked_before = False
        self._is_asked_for_everything = False
        self._reader: _Reader | None = None
        self._inode: tuple[int, int] | None = None  # device and inode of the file that the documents came from
        self._idle = [True]

    def force_full_poll(self) -> None:
        """Have the next poll compare every document, whatever SQLite and the revisions say."""
        self._is_asked_for_everything = True

    def changes(self) -> Changes | None:
        """Return the changes since the last call, the whole set at first; None when there are none. Takes microseconds
        where nothing was written, else time in proportion to the changes. Never waits for a writer.
        """
        with self._exclusively():
            reader = self._current_reader()
            version = reader.database.data_version  # read first: later commits show in the next call
            if self._is_asked_for_everything:
                self._is_asked_for_everything, reader.compares_all = False, True
            if version == reader.seen_version and not reader.compares_all:
                return None
            with reader.database.atomic():
                self._require(reader.database)
                newest = version_of(reader.database)
                added, removed = self._difference(reader, newest.revision)
            reader.seen_version, reader.compares_all = version, False
            self._count_as_handed_out(added, removed)
            self._revision, self._token = newest.revision, newest.token
            first, self.looked_before = not self.looked_before, True
            return Changes(tuple(added), tuple(removed)) if added or removed or first else None

    def difference(self, written: WriteResult) -> Changes:
        """Return the changes by a write, compared with the documents that were handed out last."""
        return difference_from(self._documents, written)

    def adopt(self, changes: Changes, version: Version) -> None:
        """Count a `difference` as handed out: the caller has put its own write in force itself."""
        self._count_as_handed_out(changes.added, changes.removed)
        if version.revision > self._revision:
            self._revision, self._token = version.revision, version.token

    def close(self) -> None:
        """Close the connection. The next call of `changes` opens it again and goes on where it was."""
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

    def _count_as_handed_out(self, added: Sequence[RawDocument], removed: Sequence[RawDocument]) -> None:
        for raw in removed:
            self._documents.pop(raw.key, None)
        for raw in added:
            self._documents[raw.key] = raw

    def _current_reader(self) -> _Reader:
        """Return the connection of `changes`, opened anew where another file has taken the path's place."""
        status = self._file.path.stat()
        inode = status.st_dev, status.st_ino
        if self._reader and self._inode == inode:
            return self._reader
        if self._reader:
            self._reader.database.close()
        self._reader = _Reader(self._file.connect(READER_WAIT_SECONDS), self._inode not in (None, inode))
        self._inode = inode
        return self._reader

    def _difference(self, reader: _Reader, newest: int) -> tuple[list[RawDocument], list[RawDocument]]:
        """Return the documents added and removed since the last call.

        Row by row, in a thread beside requests: no step holds the interpreter for long, however many rows there are.
        """
        whole = reader.compares_all or newest < self._revision or self._is_other_history(reader.database)
        since = 0 if whole else self._revision
        added: list[RawDocument] = []
        removed: list[RawDocument] = []
        still_there: set[Key] = set()
        for row in rows(reader.database, DocumentRow.revision > since if since else None):
            raw, before = row.raw(), self._documents.get(row.key)
            if before:
                still_there.add(row.key)
            if before is None or (before.text, before.fault) != (raw.text, raw.fault):
                removed += [before] if before else []
                added.append(raw)
        gone = self._documents if whole else deleted_since(reader.database, since)
        removed += [self._documents[key] for key in gone if key in self._documents and key not in still_there]
        return added, removed

    def _is_other_history(self, database: peewee.SqliteDatabase) -> bool:
        """Return whether the change that was seen last is another one now: a backup was restored, and its numbers are
        used again; or it is too old to be kept."""
        return self._revision > 0 and revision_token(database, self._revision) != self._token

    def _close_reader(self) -> None:
        if self._reader:
            self._reader.database.close()
            self._reader = None

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


def difference_from(documents: Mapping[Key, RawDocument], written: WriteResult) -> Changes:
    """Return the changes by a write, compared with documents that were handed out."""
    touched = [*(raw.key for raw in written.changed), *written.removed, *(raw.key for raw in written.new)]
    removed = tuple(before for key in touched if (before := documents.get(key)))
    return Changes((*written.new, *written.changed), removed)
