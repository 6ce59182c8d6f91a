"""The write guard: a change that would break the answer set is rolled back before it is visible.

Rules: docs/admin-api.md#what-a-write-guarantees.

A change is a set of writes; a single PUT or DELETE is a set of one. A dry run is judged in the same way, over the set
in force: it asks for no lock, so no write waits for it.

Nothing can change between the two checks: within the process a lock admits one change at a time, and across processes
the database's write lock is held from the first check to the commit. Earlier writes of other programs are loaded once
that lock is held. Readers see the change when it is committed, and not before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from answerd.answers.catalogue import Catalogue
from answerd.answers.problems import ProblemIndex
from answerd.documents import Document, Key, RawDocument
from answerd.errors import MOST_PROBLEMS
from answerd.identity import Kind
from answerd.server.answer_set import LiveAnswerSet
from answerd.server.http.responses import Client, PatientClient
from answerd.server.os_support import gc_paused
from answerd.server.threads import Lock, in_thread
from answerd.store import (
    NOBODY,
    WRITER_WAIT_SECONDS,
    Author,
    Changes,
    HistoryEntry,
    ReplicatingStore,
    Store,
    StoreAway,
    StoreError,
    StoreLost,
    Version,
    WriteResult,
)
from answerd.store.database import refuse_faulty

if TYPE_CHECKING:
    from answerd.store import Transaction

_MANY = 20
"""Documents of a change, whose objects the garbage collector is not to look at."""


HALF_CLOSED_SECONDS = 0.5
"""How long a write waits before a client that has finished sending counts as gone. A client may close its sending side
right after its request and still wait for the response."""


_TAG = re.compile(r'(W/)?("[^"]*")')


def etag(revision: int, token: str) -> str:
    """Return the tag of a document's revision. The token is random: after a restored backup numbers are used again."""
    return f'"{revision}-{token}"' if token else f'"{revision}"'


def set_etag(version: Version) -> str:
    """Return the tag of the whole set. It is never that of a document."""
    return f'"set-{version.revision}-{version.token}"'


@dataclass(frozen=True, slots=True)
class Conditions:
    """The two headers of a request, None if absent.

    ``*`` matches any document. ``If-Match`` compares strongly: a weak tag is never equal. ``If-None-Match`` compares
    weakly. A malformed tag matches nothing.
    """

    if_match: str | None = None
    if_none_match: str | None = None

    def fault(self, current: str | None, what: str = "the document") -> str | None:
        """Return why a request must not be carried out on a document with the tag ``current`` (None: there is none)."""
        if self.if_match is not None and not _names(self.if_match, current, weakly=False):
            now = "there is no such document" if current is None else f"the ETag of {what} is {current}"
            return f"If-Match does not hold: {now}"
        if self.if_none_match is not None and _names(self.if_none_match, current, weakly=True):
            return f"If-None-Match does not hold: {what} exists, its ETag is {current}"
        return None

    def is_not_modified(self, current: str) -> bool:
        """Return whether the client's copy is current: it has the tag ``current``."""
        return self.if_none_match is not None and _names(self.if_none_match, current, weakly=True)


UNCONDITIONAL = Conditions()


def _names(header: str, current: str | None, *, weakly: bool) -> bool:
    if current is None:
        return False
    if header.strip() == "*":
        return True
    return any(tag == current and (weakly or not weak) for weak, tag in _TAG.findall(header))


class WriteRefused(Exception):
    """A change that was not made. ``reason`` is one line for the client; ``problems`` are those that it would have
    caused, or those of its documents."""

    def __init__(self, reason: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.problems = problems


class InvalidDocument(WriteRefused):
    """The document itself is wrong."""


class NoSuchDocument(WriteRefused):
    """There is no document to delete."""


class ConditionFailed(WriteRefused):
    """The document does not meet the conditions of the request."""


class BreaksTheSet(WriteRefused):
    """The answer set would have new problems."""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The requested changes of documents: ``puts`` are stored, ``deletes`` removed, each identity and format once.

    ``prune``: every document that is not among ``puts`` is removed. ``rewrite``: a document that has its text already
    gets a new revision all the same.
    """

    puts: tuple[RawDocument, ...] = ()
    deletes: tuple[Key, ...] = ()
    prune: bool = False
    rewrite: bool = False


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """A write of one document that is durable and in force. ``problems`` are all problems of the answer set after it,
    ``etag`` is that of the document."""

    key: Key
    etag: str
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """A change that is durable and in force, or, with a dry run, would be.

    ``problems`` are all that the answer set has after it, ``problems_before`` those it had. ``etag`` is that of the set
    in force: with a dry run of the one before the change. ``before`` and ``after`` are the sets.
    """

    written: WriteResult
    etag: str
    problems: tuple[str, ...]
    problems_before: tuple[str, ...]
    before: Catalogue
    after: Catalogue


Check = Callable[["Transaction"], None]
"""Checks the stored documents before a change. Raises `WriteRefused`."""


InThread = Callable[..., Any]
"""Calls a function with arguments that waits for the disk, or computes for long; returns or raises what that does."""


class Turn:
    """The wait of one write: for its locks, and only while a client waits for its outcome."""

    def __init__(self, client: Client, late_error: type[StoreError]) -> None:
        """``late_error`` is raised when the time is up."""
        self._client = client
        self._late_error = late_error
        self._began = monotonic()

    def seconds_left(self) -> float:
        """Return the seconds for which the write may still wait. Raises `StoreError` when there are none, or no client
        waits for it."""
        self.check()
        return self._client.respond_by - monotonic()

    @contextmanager
    def of(self, lock: Lock, what: str) -> Iterator[None]:
        """Hold a lock. Raises `StoreError` where it is not free in time."""
        if not lock.acquire(blocking=False):
            seconds = self.seconds_left()
            if not lock.acquire(timeout=None if seconds == math.inf else seconds):
                raise self._late_error(f"the write waited for {what} until its time was up, and was not begun")
        try:
            yield
        finally:
            lock.release()

    def check(self) -> None:
        """Raise `StoreError` if the write must not begin any more."""
        now = monotonic()
        if now >= self._client.respond_by:
            raise self._late_error("the write waited until its time was up, and was not begun")
        if now - self._began > HALF_CLOSED_SECONDS and self._client.is_gone():
            raise StoreError("the client closed its connection while the write waited, which was not begun")

    def check_deadline(self) -> None:
        """Raise `StoreError` if the connection has been closed by now, so that the outcome cannot be reported."""
        if monotonic() >= self._client.deadline:
            raise self._late_error("the write took until the connection was closed, and was undone")


_PATIENT = PatientClient()

MOST_ROWS_TRIED = 500_000
"""Lines of the inventories of a dry run. A row takes some 350 bytes of memory, and 16 MB may have millions."""

FOR_A_LATE_DRY_RUN = "raise SERVICE_ADMIN_TIMEOUT_SECS, or use answerd apply --dry-run on the database"


class WriteGuard:
    """Changes of one database. One object in the whole service: in the process with the admin listener."""

    def __init__(
        self,
        store: Store,
        follower: LiveAnswerSet,
        run: InThread = in_thread,
    ) -> None:
        """``follower`` follows ``store``. ``run`` keeps the disk and long work off the loop."""
        self.store = store
        self.follower = follower
        self.run = run
        self._one_writer = Lock()
        # What takes long there is a database that is away for a moment: the client is to come back.
        self._late_error = StoreAway if isinstance(store, ReplicatingStore) else StoreError
        self._problems = ProblemIndex.of(Catalogue())

    def put(
        self,
        key: Key,
        text: str,
        author: Author = NOBODY,
        conditions: Conditions = UNCONDITIONAL,
        client: Client = _PATIENT,
    ) -> WrittenDocument:
        """Store a document. Raises `WriteRefused`, and `answerd.store.StoreError` where it cannot be written: also
        where the write had to wait until ``client`` must have its response, or is gone. It is not made then."""
        raw = RawDocument(key, text)
        if key.kind is not Kind.INVENTORY:  # an inventory is read once, with the others of the set
            _refuse_faulty([Document(raw, has_states=self.follower.loader.catalogue.has_states)])

        def check(transaction: Transaction) -> None:
            found = self.run(transaction.find, key)
            _judge(conditions.fault(etag(found.revision, found.token) if found else None))

        applied = self._change(ChangeSet((raw,), rewrite=True), author, check, client)
        written = applied.written
        stored = (*written.new, *written.changed)[0]
        return WrittenDocument(stored.key, etag(written.version.revision, written.version.token), applied.problems)

    def delete(
        self, key: Key, author: Author = NOBODY, conditions: Conditions = UNCONDITIONAL, client: Client = _PATIENT
    ) -> WrittenDocument:
        """Remove a document. Raises as `put` does."""

        def check(transaction: Transaction) -> None:
            stored = self.run(transaction.find, key)
            if stored is None:
                raise NoSuchDocument(f"there is no {key}")
            _judge(conditions.fault(etag(stored.revision, stored.token)))

        applied = self._change(ChangeSet(deletes=(key,)), author, check, client)
        written = applied.written
        tag = etag(written.version.revision, written.version.token)
        return WrittenDocument(written.removed[0], tag, applied.problems)

    def apply(
        self,
        changes: ChangeSet,
        author: Author = NOBODY,
        conditions: Conditions = UNCONDITIONAL,
        client: Client = _PATIENT,
        *,
        dry_run: bool = False,
    ) -> AppliedChange:
        """Make many writes at once, all or none. ``conditions`` are about the set. Raises as `put` does; a dry run
        where it took until ``client`` must have its response."""
        self.run(_refuse_repeated, changes)
        if dry_run:
            return self._tried(changes, conditions, client)

        def check(transaction: Transaction) -> None:
            _judge(conditions.fault(set_etag(self.run(transaction.version)), "the set"))

        return self._change(changes, author, check, client)

    def _tried(self, changes: ChangeSet, conditions: Conditions, client: Client) -> AppliedChange:
        """Return what a change would be. Where another program writes at this moment, ``etag`` is that of the set
        before it, so that nobody makes the change by it."""
        lines = sum(raw.text.count("\n") for raw in changes.puts if raw.key.kind is Kind.INVENTORY)
        if lines > MOST_ROWS_TRIED:
            raise InvalidDocument(f"a dry run tries at most {MOST_ROWS_TRIED:,} lines of inventories, not {lines:,}")
        version: Version = self.run(self.store.version)
        _judge(conditions.fault(set_etag(version), "the set"))
        self.follower.refresh()
        catalogue = self.follower.loader.catalogue

        def seen(_: Document) -> None:
            if monotonic() >= client.respond_by:
                raise StoreError(f"the documents were looked at when the time was up: {FOR_A_LATE_DRY_RUN}")

        def judge() -> tuple[WriteResult, ProblemIndex, ProblemIndex]:
            before = self._problems.after(catalogue)
            written, difference = _planned(catalogue, changes, version)
            return written, before, _judged(before, catalogue, difference, seen)

        with gc_paused(makes_many=len(changes.puts) > _MANY):
            written, before, after = self.run(judge)
        return AppliedChange(
            written, set_etag(version), tuple(after.listed()), tuple(before.listed()), catalogue, after.catalogue
        )

    def warm_up(self, problems: ProblemIndex | None = None) -> None:
        """Check the whole set, so that no write has to wait for that; called when the set was loaded.

        ``problems`` are those of a set that was checked already: only the difference to it is left to do.
        """
        with self._one_writer:
            self._problems = problems or self._problems
            self._current_problems(self.follower.loader.catalogue)

    def _change(self, changes: ChangeSet, author: Author, check: Check, client: Client) -> AppliedChange:
        turn = Turn(client, self._late_error)
        with turn.of(self._one_writer, "the writes before it"):
            self._current_problems(self.follower.loader.catalogue)
            try:
                return self._changed(changes, author, check, turn)
            except StoreLost:  # a database that fails over: the next connection may have the new one
                return self._changed(changes, author, check, turn)

    def _changed(self, changes: ChangeSet, author: Author, check: Check, turn: Turn) -> AppliedChange:
        """Make a change, which has the turn. Raises `answerd.store.StoreLost` where nothing of it has happened."""
        with (
            self._transaction(author, turn.seconds_left()) as transaction,
            turn.of(self.follower.lock, "the answer set to be loaded"),
        ):
            self.follower.refresh()
            turn.check()
            catalogue = self.follower.loader.catalogue
            before = self._current_problems(catalogue)
            check(transaction)
            write = partial(
                transaction.write, changes.puts, changes.deletes, prune=changes.prune, rewrite=changes.rewrite
            )
            with gc_paused(makes_many=len(changes.puts) > _MANY):
                written: WriteResult = self.run(write)
            difference = self.store.difference(written)
            with gc_paused():
                after: ProblemIndex = self.run(_judged, before, catalogue, difference)
            turn.check_deadline()
            self.run(transaction.commit)
            self._put_in_force(difference, written.version, after)
        etag = set_etag(written.version)
        return AppliedChange(written, etag, tuple(after.listed()), tuple(before.listed()), catalogue, after.catalogue)

    @contextmanager
    def _transaction(self, author: Author, wait: float) -> Iterator[Transaction]:
        transaction: Transaction = self.run(self.store.begin, author, min(wait, WRITER_WAIT_SECONDS), wait)
        try:
            yield transaction
        finally:
            self.run(transaction.close)

    def _current_problems(self, catalogue: Catalogue) -> ProblemIndex:
        """Return the problems of a catalogue that may have changed without this guard."""
        if self._problems.catalogue is not catalogue:
            with gc_paused():
                self._problems = self.run(self._problems.after, catalogue)
        return self._problems

    def _put_in_force(self, changes: Changes, version: Version, after: ProblemIndex) -> None:
        """Put a committed change in force, at once and without yielding to another greenlet."""
        self.store.adopt(changes, version)
        self._problems = after
        self.follower.replace(after.catalogue)


def restore_document(
    guard: WriteGuard, entry: HistoryEntry, author: Author, conditions: Conditions, client: Client = _PATIENT
) -> WrittenDocument:
    """Restore a document to its state after a change: its text then, or that it did not exist. Raises as the guard
    does."""
    signed = replace(author, note=author.note or f"restore of revision {entry.revision}")
    if entry.after is None:
        return guard.delete(entry.key, signed, conditions, client)
    return guard.put(entry.key, entry.after, signed, conditions, client)


def _ignored(_: Document) -> None: ...


def _planned(catalogue: Catalogue, changes: ChangeSet, version: Version) -> tuple[WriteResult, Changes]:
    """Return what a transaction would return that makes some changes of a set, and the differences. Raises
    `CannotBeStored`."""
    wanted = {raw.key.name: raw for raw in changes.puts}
    if changes.prune:
        stored = {raw.key.name: raw for raw in catalogue.raws()}
    else:
        names = (*wanted, *(key.name for key in changes.deletes))
        stored = {name: raw for name in names if (raw := catalogue.raw_of(name)) is not None}
    new = tuple(raw for name, raw in wanted.items() if name not in stored)
    changed, unchanged = [], []
    for name, raw in wanted.items():
        before = stored.get(name)
        if before is not None and before.text == raw.text:
            unchanged.append(before.key)
        elif before is not None:
            changed.append(raw if raw.key == before.key else RawDocument(before.key, raw.text))
    refuse_faulty([*changed, *new])
    removed = tuple(raw for name, raw in stored.items() if name not in wanted)
    replaced = tuple(stored[raw.key.name] for raw in changed)
    written = WriteResult(new, tuple(changed), tuple(unchanged), tuple(raw.key for raw in removed), version)
    return written, Changes((*new, *changed), (*replaced, *removed))


def _judged(
    before: ProblemIndex, catalogue: Catalogue, changes: Changes, seen: Callable[[Document], object] = _ignored
) -> ProblemIndex:
    """Return the problems of a catalogue after some changes, with that catalogue. Raises `InvalidDocument` and
    `BreaksTheSet`. Called in a thread. ``seen`` is called with each document that is new.

    A tree takes up to a hundred times the memory of its text, so each is dropped once its document was judged.
    """

    def judge(document: Document) -> None:
        seen(document)
        _ = document.content
        document.forget_tree()

    trial = catalogue.changed(changes.added, changes.removed, seen=judge)
    after = before.after(trial, changes.added, changes.removed)
    _refuse_faulty(trial.documents_of(changes.added))
    inventory = trial.inventory
    if inventory is not None and inventory is not catalogue.inventory:
        found = inventory.new_faults(catalogue.inventory, changes.added)
        if found:
            raise InvalidDocument("; ".join(found[:MOST_PROBLEMS]))
    introduced = after.introduced_after(before)
    if introduced:
        reason = f"this would break the answer set and was rolled back: {introduced[0]}"
        raise BreaksTheSet(reason, tuple(introduced))
    return after


def _refuse_faulty(documents: Iterable[Document]) -> None:
    """Raise `InvalidDocument` where documents have problems by themselves."""
    found, count = [], 0
    for count, document in enumerate(documents, 1):  # noqa: B007 - used below
        if document.content.problems:
            found.append(f"{document.key}: {'; '.join(document.content.problems)}")
    if found:
        raise InvalidDocument(found[0], tuple(found) if count > 1 else ())


def _judge(fault: str | None) -> None:
    if fault:
        raise ConditionFailed(fault)


def _refuse_repeated(changes: ChangeSet) -> None:
    """Raise `InvalidDocument` where two writes are about the same identity and format."""
    keys = [*(raw.key for raw in changes.puts), *changes.deletes]
    seen: dict[tuple[Any, str, str], Key] = {}
    for key in keys:
        name = key.name
        if name in seen:
            other = seen[name]
            also = "" if other == key else f" (as {other})"
            raise InvalidDocument(f"{key} is named twice{also}: name each document once")
        seen[name] = key
