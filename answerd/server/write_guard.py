"""The write guard: a write that would break the answer set is undone before anybody sees it.

Rules: docs/admin-api.md#what-a-write-guarantees.

Knows the order of one write: begin, problems before, apply, problems after, keep or roll back. Must not know HTTP, nor
who may write.

Nothing can come between the two looks: within the process a lock lets one write through at a time, and across processes
the database's write lock (``BEGIN IMMEDIATE``) is held from the first look to the commit. What other programs wrote
before is brought in once that lock is held. Readers see the write when it is committed, and not before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Protocol

from gevent.lock import RLock

from answerd.answers.catalogue import Catalogue, no_pause
from answerd.answers.problems import ProblemIndex
from answerd.documents import Document, Key, RawDocument
from answerd.server.client import Client, PatientClient
from answerd.server.etags import UNCONDITIONAL, Conditions, etag
from answerd.server.live_set import LiveAnswerSet, in_thread
from answerd.store import WRITER_WAIT_SECONDS, Changes, StoredDocument, StoreError, Transaction, WritableStore


class WriteRefused(Exception):
    """A write that was not made. ``reason`` is one line for whoever asked; ``problems`` are those it would have
    caused."""

    def __init__(self, reason: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.problems = problems


class InvalidDocument(WriteRefused):
    """The document shows by itself that it is wrong."""


class NoSuchDocument(WriteRefused):
    """There is nothing to delete."""


class ConditionFailed(WriteRefused):
    """The document is not the one that the request is about."""


class BreaksTheSet(WriteRefused):
    """The answer set would have problems that it has not now."""


@dataclass(frozen=True, slots=True)
class Written:
    """A write that is durable and in force. ``problems`` are all that the answer set has now, ``etag`` the
    document's."""

    key: Key
    etag: str
    problems: tuple[str, ...]


class InThread(Protocol):
    """Runs a function that waits for the disk."""

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What it returns, or raises."""


_PATIENT = PatientClient()

HALF_CLOSED_SECONDS = 0.5
"""How long a write waits before a client that has finished sending counts as gone. A client may close its sending side
right after its request and still wait for the response."""


class _Turn:
    """The waiting of one write: for its locks, and no longer than somebody wants its outcome."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._began = monotonic()

    def seconds_left(self) -> float:
        """For which the write may still wait. Raises `StoreError` when there are none, or nobody waits for it."""
        self.check()
        return self._client.respond_by - monotonic()

    @contextmanager
    def of(self, lock: RLock, what: str) -> Iterator[None]:
        """Holds a lock. Raises `StoreError` where it is not free in time."""
        if not lock.acquire(blocking=False):
            seconds = self.seconds_left()
            if not lock.acquire(timeout=None if seconds == math.inf else seconds):
                raise StoreError(f"the write waited for {what} until its time was up, and was not begun")
        try:
            yield
        finally:
            lock.release()

    def check(self) -> None:
        """Raises `StoreError` if the write must not begin any more."""
        now = monotonic()
        if now >= self._client.respond_by:
            raise StoreError("the write waited until its time was up, and was not begun")
        if now - self._began > HALF_CLOSED_SECONDS and self._client.is_gone():
            raise StoreError("the client closed its connection while the write waited, which was not begun")

    def check_deadline(self) -> None:
        """Raises `StoreError` if the connection has been closed by now, so that the outcome cannot be told."""
        if monotonic() >= self._client.deadline:
            raise StoreError("the write took until the connection was closed, and was undone")


class WriteGuard:
    """Writes to one database. One object in the whole service: in the process with the admin listener."""

    def __init__(
        self,
        store: WritableStore,
        follower: LiveAnswerSet,
        pause: Callable[[], None] = no_pause,
        run: InThread = in_thread,
    ) -> None:
        """``follower`` follows ``store``. ``pause`` lets other greenlets run; ``run`` keeps the disk off the hub."""
        self.store = store
        self.follower = follower
        self._pause = pause
        self.run = run
        self._one_writer = RLock()
        self._problems = ProblemIndex.of(Catalogue())

    def put(
        self,
        key: Key,
        text: str,
        peer: str,
        conditions: Conditions = UNCONDITIONAL,
        client: Client = _PATIENT,
    ) -> Written:
        """Stores a document. Raises `WriteRefused`, and `answerd.store.StoreError` where it cannot be written: also
        where the write had to wait until ``client`` must have its response, or is gone. It is not made then."""
        document = Document(RawDocument(key, text))
        document.read(self.follower.loader.catalogue.elsewhere)
        if document.content.problems:
            reasons = "; ".join(document.content.problems)
            raise InvalidDocument(f"{key}: {reasons}")

        def apply(writing: Transaction, stored: StoredDocument | None) -> StoredDocument:
            self._judge(conditions, stored)
            written: StoredDocument = self.run(writing.put, key, text)
            return written

        return self._write(key, peer, apply, text, client)

    def delete(self, key: Key, peer: str, conditions: Conditions = UNCONDITIONAL, client: Client = _PATIENT) -> Written:
        """Removes a document. Raises as `put` does."""

        def apply(writing: Transaction, stored: StoredDocument | None) -> StoredDocument:
            if stored is None:
                raise NoSuchDocument(f"there is no {key}")
            self._judge(conditions, stored)
            deleted: StoredDocument = self.run(writing.delete, key)
            return deleted

        return self._write(key, peer, apply, None, client)

    def warm_up(self, problems: ProblemIndex | None = None) -> None:
        """Looks at the whole set in slices, so that no write has to wait for that; called when the set was loaded.

        ``problems`` are those of a set that has been looked at already: only what is different from it is left to do.
        """
        with self._one_writer:
            self._problems = problems or self._problems
            self._look_at(self.follower.loader.catalogue, self._pause)

    def _write(
        self,
        key: Key,
        peer: str,
        apply: Callable[[Transaction, StoredDocument | None], StoredDocument],
        text: str | None,
        client: Client,
    ) -> Written:
        turn = _Turn(client)
        with turn.of(self._one_writer, "the writes before it"):
            self._look_at(self.follower.loader.catalogue, self._pause)
            with (
                self._transaction(peer, turn.seconds_left()) as writing,
                turn.of(self.follower.lock, "the answer set to be loaded"),
            ):
                self.follower.refresh()
                turn.check()
                catalogue = self.follower.loader.catalogue
                before = self._look_at(catalogue)
                written = apply(writing, self.run(writing.find, key))
                changes = self.store.difference(written.key, text)
                after = catalogue.elsewhere(partial(_judged, before, catalogue, changes))
                turn.check_deadline()
                self.run(writing.commit)
                self._put_in_force(changes, written, after)
        return Written(written.key, etag(written.revision, written.token), tuple(after.listed()))

    @contextmanager
    def _transaction(self, peer: str, wait: float) -> Iterator[Transaction]:
        writing: Transaction = self.run(self.store.begin, peer, min(wait, WRITER_WAIT_SECONDS))
        try:
            yield writing
        finally:
            self.run(writing.close)

    def _look_at(self, catalogue: Catalogue, pause: Callable[[], None] = no_pause) -> ProblemIndex:
        """The problems of a catalogue that may have changed without this guard."""
        if self._problems.catalogue is not catalogue:
            self._problems = self._problems.after(catalogue, pause=pause)
        return self._problems

    def _judge(self, conditions: Conditions, stored: StoredDocument | None) -> None:
        fault = conditions.fault(etag(stored.revision, stored.token) if stored else None)
        if fault:
            raise ConditionFailed(fault)

    def _put_in_force(self, changes: Changes, written: StoredDocument, after: ProblemIndex) -> None:
        """What is committed becomes what is answered, at once and without giving way to another greenlet."""
        self.store.adopt(changes, written.revision, written.token)
        self._problems = after
        self.follower.replace(after.catalogue)


def _judged(before: ProblemIndex, catalogue: Catalogue, changes: Changes) -> ProblemIndex:
    """The problems of a catalogue after some changes, with that catalogue. Raises `BreaksTheSet` for new ones."""
    trial = catalogue.changed(changes.added, changes.removed, catalogue.unlisted)
    after = before.after(trial, changes.added, changes.removed)
    introduced = after.introduced_after(before)
    if introduced:
        reason = f"this would break the answer set and was rolled back: {introduced[0]}"
        raise BreaksTheSet(reason, tuple(introduced))
    return after
