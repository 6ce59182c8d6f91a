"""Stores: where documents are kept. A store hands out raw text and what changed; it decides nothing.

Matching, merging and problems live above it, once, so that they hold for every store. This module has the protocols:
code above the stores names these and no store in particular.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from answerd.documents import Key, RawDocument
from answerd.identity import Kind

WRITER_WAIT_SECONDS = 5
"""How long a write waits for that of another program to end; a client waits 10 s for its response."""


class StoreError(Exception):
    """The store cannot be opened, read or written; one line that says which part of it and why."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from what the store handed out before.

    A document that changed is in both: the object handed out before in ``removed``, its successor in ``added``.
    ``unlisted`` are sentences about parts of the store that were never listed, so that they may hold any group.
    ``faults`` are sentences about parts that could be listed before and cannot now: problems of nobody's claim.
    """

    added: tuple[RawDocument, ...] = ()
    removed: tuple[RawDocument, ...] = ()
    unlisted: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as a database holds it. ``body`` is its text in UTF-8, exactly as it was written.

    ``revision`` is the number of the change that made it what it is, ``token`` a random text of that change: a database
    that lost its last changes uses a number again, but not with the same token.
    """

    key: Key
    body: bytes
    revision: int
    token: str = ""


class Store(Protocol):
    """What the rest asks of a store.

    It can be made without its database: what is missing then is a `StoreError` of `changes`, call by call, until the
    database is back.
    """

    @property
    def look_seconds(self) -> float:
        """How long to wait between two calls of `changes`."""

    @property
    def described(self) -> str:
        """For the log: ``files:/srv/answers``."""

    def warnings(self) -> list[str]:
        """Return what an operator should know about it at start; it works all the same."""

    def look_at_everything(self) -> None:
        """Have the next call of `changes` compare everything, whatever says that nothing changed."""

    def changes(self) -> Changes | None:
        """Return what changed since the last call, the whole set at first; None when nothing did.

        Raises `StoreError`; what was handed out before then stays in force.
        """

    def wake_up_descriptor(self) -> int | None:
        """Return a file descriptor that can be read from when a call of `changes` is due before `look_seconds` are
        over, None where the store has none."""

    def age_seconds(self) -> float:
        """Return for how long the set that was handed out may have been out of date: 0.0 where the store is on this
        machine, else the time since the database was last asked."""


class Transaction(Protocol):
    """A change that is being made. It holds the store's write lock, and leaves no trace unless it is committed."""

    def find(self, key: Key) -> StoredDocument | None:
        """As `WritableStore.find`, from within the transaction."""

    def put(self, key: Key, text: str) -> StoredDocument:
        """Store a document; what is stored under its identity and format is replaced and keeps its spelling."""

    def put_all(self, documents: Sequence[RawDocument], progress: Callable[[int, int], None]) -> int:
        """Store many documents, of different identities or formats. Return how many replaced one that was there.

        One that is there already with the same text is left alone. ``progress`` gets how many of how many are done.
        """

    def delete(self, key: Key) -> StoredDocument:
        """Remove a document. Return what it was, with the revision of its removal. Raises KeyError when there is
        none."""

    def commit(self) -> None:
        """Make it durable: on return it survives a crash and a power failure. Raises `StoreError`; then nothing is
        stored."""

    def close(self) -> None:
        """Undo what was not committed, and release the lock."""


class WritableStore(Store, Protocol):
    """A store that the admin API, ``import`` and ``export`` work on. Every method raises `StoreError`."""

    def find(self, key: Key) -> StoredDocument | None:
        """Return the document of exactly this identifier, else of this identity."""

    def keys(self, kind: Kind | None = None) -> list[Key]:
        """Return the keys of all documents, or of one kind, sorted."""

    def all(self) -> list[StoredDocument]:
        """Return every document, sorted by key."""

    def begin(self, peer: str | None = None, wait: float = WRITER_WAIT_SECONDS) -> Transaction:
        """Take the write lock, after up to ``wait`` seconds; ``peer`` is recorded with each change."""

    def writing(self, peer: str | None = None) -> AbstractContextManager[Transaction]:
        """`begin`, and `Transaction.close` at the end of the block."""

    def difference(self, key: Key, text: str | None) -> Changes:
        """Return what a write of this text (None: a deletion) changes in what `changes` handed out last."""

    def adopt(self, changes: Changes, revision: int, token: str) -> None:
        """Count a `difference` as handed out: the caller has put its own write in force itself. ``revision`` and
        ``token`` are those of the write's last change."""
