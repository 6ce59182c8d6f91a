"""Stores: where documents are kept. A store returns raw text and what changed; it decides nothing.

Matching, merging and problems are implemented above it, once for all stores. This module has the protocols: code above
the stores uses these and no particular store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from answerd.documents import Key, RawDocument
from answerd.identity import Kind

WRITER_WAIT_SECONDS = 5
"""How long a write waits for that of another program to end; a client waits 10 s for its response."""


Progress = Callable[[int, int], None]
"""Gets the number of documents that are done, and the total."""


def no_progress(done: int, total: int) -> None:
    """Discard progress."""


class StoreError(Exception):
    """The store cannot be opened, read or written; one line that says which part of it and why."""


class CannotBeStored(StoreError):
    """A document has a key or a character that no store takes. Nothing was stored."""


class StoreAway(StoreError):
    """The database cannot be reached at this moment, or did not answer in time. Trying again later may succeed."""


class StoreLost(StoreAway):
    """The connection ended, or the database gave the transaction up, before its COMMIT: nothing was stored, and the
    same may be tried again at once."""


class NewerSchema(StoreAway):
    """The database has the schema of a newer version of this program. Nothing is started with it; what runs answers
    from what it has, and writes nothing until this program is upgraded."""


class PartlyForgotten(StoreError):
    """The history may have only a part of a change: what is older than a time was removed from it."""


class StoreFull(StoreAway):
    """The disk is full. Nothing was stored; it may succeed once there is space again."""


class NoSetYet(StoreError):
    """The store was never read as a whole, so it is not known which documents there are. Nothing can be answered: 503,
    not 404."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences from the documents that the store returned before. A document that changed is in both: the former
    object in ``removed``, its successor in ``added``. ``faults`` are sentences about the store itself: problems that
    affect no claim.
    """

    added: tuple[RawDocument, ...] = ()
    removed: tuple[RawDocument, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as a database holds it. ``body`` is its text in UTF-8, exactly as it was written.

    ``revision`` is the number of its last change, ``token`` a random text of that change: a database that lost its last
    changes uses a number again, but not with the same token.
    """

    key: Key
    body: bytes
    revision: int
    token: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """The state of a whole database: the number of its last change, 0 before the first, and the token of it."""

    revision: int = 0
    token: str = ""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a change, as the history records it; None where a field is not known. ``peer`` is the client's
    address, ``name`` that of its token, ``note`` its note about the change.
    """

    peer: str | None = None
    name: str | None = None
    note: str | None = None


NOBODY = Author()
"""The author of changes that are recorded without one."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a write (`Transaction.write`). All keys have the spelling that is stored.

    ``new`` and ``changed`` are stored as they are here, ``unchanged`` had the same text before, ``removed`` are gone.
    """

    new: tuple[RawDocument, ...] = ()
    changed: tuple[RawDocument, ...] = ()
    unchanged: tuple[Key, ...] = ()
    removed: tuple[Key, ...] = ()
    version: Version = Version()


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A stored document without its text: ``size`` in bytes, ``changed`` the time of its last change (UTC)."""

    key: Key
    size: int
    changed: str
    revision: int
    token: str


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An accepted change of one document. ``before`` is None where it was new, ``after`` where it was removed.

    ``at`` is UTC, as ``2026-11-21T09:14:00.123Z``. ``token`` is random, and the same for all documents that changed
    together, which have their revisions in a row.
    """

    revision: int
    at: str
    key: Key
    before: str | None
    after: str | None
    author: Author
    token: str = ""


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which changes of the history are asked for; a field that is None matches every change.

    ``identifier`` counts in any spelling. ``since`` is a time of UTC as in `HistoryEntry.at`, or the beginning of one;
    ``until`` the same, excluded; ``who`` is the name of a token or user, in any letter case, or an address;
    ``before`` a revision: only older changes, for the next page; ``revision`` that of a single change; ``together`` one
    of those that were made together: then `PartlyForgotten` is raised where the others may be forgotten.
    ``most_bytes``: no more changes than have so many bytes of text, but at least one. Without ``texts`` an empty one
    stands for each text that is there.
    """

    kind: Kind | None = None
    identifier: str | None = None
    format: str | None = None
    since: str | None = None
    until: str | None = None
    who: str | None = None
    before: int | None = None
    revision: int | None = None
    together: int | None = None
    limit: int | None = None
    most_bytes: int | None = None
    texts: bool = True


@runtime_checkable
class Transaction(Protocol):
    """A change that is being made. It holds the database's write lock, and leaves no trace unless it is committed.
    Methods raise `StoreError`."""

    def find(self, key: Key) -> StoredDocument | None:
        """Return the document of exactly this identifier, else of this identity."""

    def version(self) -> Version:
        """Return the state of the database as the transaction has made it."""

    def write(
        self,
        puts: Sequence[RawDocument],
        deletes: Sequence[Key] = (),
        *,
        prune: Collection[Kind] = (),
        progress: Progress = no_progress,
    ) -> WriteResult:
        """Store documents and remove others, each identity and format once. Called once in a transaction.

        What is stored under an identity and format is replaced and keeps its spelling, or is left alone where it has
        the same text. A document to remove that does not exist is no error. ``prune`` are kinds of which
        every document is removed that is not among ``puts``. ``progress`` gets the number that is done and the total.
        """

    def commit(self) -> None:
        """Make it durable: on return it survives a crash and a power failure. Where it raises, nothing is stored."""

    def close(self) -> None:
        """Undo changes that were not committed, and release the lock."""


class Store(Protocol):
    """The interface of a store, for the loader, the admin API, the console and commands. Methods raise `StoreError`;
    where documents are files, so do those that write.

    It can be made without its database: each call of `changes` then raises `StoreError` until the database is back.
    """

    poll_seconds: float
    """How long to wait between two calls of `changes`."""

    @property
    def described(self) -> str:
        """For the log: ``files:/srv/answers``."""

    def warnings(self) -> list[str]:
        """Return warnings about the store for the operator, at the start; the store works all the same."""
        return []

    def force_full_poll(self) -> None:
        """Have the next call of `changes` compare everything, even where the kernel or the database reports no
        change."""

    def changes(self) -> Changes | None:
        """Return the changes since the last call, the whole set at first; None when there are none. Raises
        `StoreError`; the documents that were handed out before then stay in force.
        """

    def refusal(self) -> str:
        """Return why this node takes no write, order or report at this moment, and is not ready; empty where it does
        and is."""
        return ""

    def age_seconds(self) -> float:
        """Return for how long the set that was handed out may have been out of date: 0.0 where the store is on this
        machine, else the time since the database was last asked; infinity where it was never read."""
        return 0.0

    def version(self) -> Version:
        """Return the state of the database. Documents that are read afterwards are of this state or of a newer one."""

    def find(self, key: Key) -> StoredDocument | None:
        """Return the document of exactly this identifier, else of this identity."""

    def keys(self, kind: Kind | None = None) -> list[Key]:
        """Return the keys of all documents, or of one kind, sorted."""

    def entries(self, kind: Kind, after: str = "", limit: int | None = None) -> list[DocumentEntry]:
        """Return the documents of a kind without their texts, sorted by identifier and format.

        Only identifiers that come after ``after``, and of no more than ``limit`` documents, but never only some formats
        of one identifier.
        """

    def all(self) -> list[StoredDocument]:
        """Return every document, sorted by key."""

    def begin(
        self, author: Author = NOBODY, wait: float = WRITER_WAIT_SECONDS, within: float = math.inf
    ) -> Transaction:
        """Take the write lock, after up to ``wait`` seconds; ``author`` is recorded with each change. A database server
        is waited for ``within`` seconds in all, from now to the end of the transaction."""

    @contextmanager
    def writing(self, author: Author = NOBODY) -> Iterator[Transaction]:
        """`begin`, and `Transaction.close` at the end of the block."""
        transaction = self.begin(author)
        try:
            yield transaction
        finally:
            transaction.close()

    def difference(self, written: WriteResult) -> Changes:
        """Return the changes by a write, compared with the documents that `changes` handed out last."""

    def adopt(self, changes: Changes, version: Version) -> None:
        """Count a `difference` as handed out: the caller has put its own write in force itself. ``version`` is that of
        the database after the write."""

    def history(self, wanted: HistoryFilter) -> list[HistoryEntry]:
        """Return accepted changes, the newest first."""

    def prune_history(self, before: str) -> int:
        """Forget changes that are older than a time of UTC, but never the newest of a document, nor the last of all.
        Return how many."""

    def backup(self, path: str) -> None:
        """Write a consistent copy of the whole database to a new file, with everything that is in it, while others
        read and write."""


class ReadOnlyStore(Store):
    """A store into which nothing is written."""

    def read_only(self) -> StoreError:
        """Return why not."""
        raise NotImplementedError

    def begin(self, author: Author = NOBODY, wait: float = 0.0, within: float = 0.0) -> Transaction:  # noqa: ARG002
        raise self.read_only()

    def prune_history(self, before: str) -> int:  # noqa: ARG002
        raise self.read_only()

    def backup(self, path: str) -> None:  # noqa: ARG002
        raise self.read_only()


@runtime_checkable
class ReplicatingStore(Protocol):
    """A store whose set is a local copy of a database, kept up to date by a process of its own."""

    def catch_up(self, log: Callable[[str], None]) -> None:
        """Bring the copy up to date once, before the service starts. Raises `StoreError` where the database is away."""

    def replicate(
        self,
        log: Callable[[str], None],
        changed: Callable[[], None],
        stop: int,
        digests: Callable[[bytes], Mapping[str, str]],
    ) -> None:
        """Keep the copy up to date until the file descriptor ``stop`` can be read from.

        ``log`` takes a line about the service; ``changed`` is called when the copy of the documents has something new.
        ``digests`` returns those of what decides this node's answers (`answerd.store.agreement`), given a key.
        """
