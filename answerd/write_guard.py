"""The write guard: a change that would break the answer set is rolled back before it is visible.

Rules: docs/admin-api.md#what-a-write-guarantees.

A change is a set of writes; a single PUT or DELETE is a set of one. A dry run is judged in the same way, over the set
in force: it asks for no lock of the database, so no write waits for it.

A change is one function, which waits for the disk, and computes for long: the service calls it in a thread
(`answerd.server.document_writes`), one at a time. Nothing can change between the two checks: the database's write lock
is held from the first check to the commit, and the set in force is kept from others. Earlier writes of other programs
are loaded once that lock is held. Readers see the change when it is committed, and not before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from answerd.answers.catalogue import Catalogue
from answerd.answers.diff import machines_losing_answers
from answerd.answers.inventory_index import inventory_file
from answerd.answers.last_words import WordsKnown, no_words
from answerd.answers.problems import ProblemIndex
from answerd.documents import Document, Key, RawDocument
from answerd.errors import MOST_PROBLEMS
from answerd.etags import UNCONDITIONAL, Conditions, etag, set_etag
from answerd.identity import Kind
from answerd.inventory import COLUMNS, columns_file_beside
from answerd.inventory import FORMAT as INVENTORY_FORMAT
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
    from answerd.store.loader import Loader

_MANY = 20
"""Documents of a change, whose objects the garbage collector is not to look at."""


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


class ChangedSince(WriteRefused):
    """A document is not any more what a change made of it, so the change cannot be taken back."""


class BreaksTheSet(WriteRefused):
    """The answer set would have new problems."""


class RefusedByInstallers(BreaksTheSet):
    """Installers would refuse answers of a strict change."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(f"an installer would refuse an answer of this change: {problems[0]}", (*problems,))


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The requested changes of documents: ``puts`` are stored, ``deletes`` removed, each identity and format once.

    ``prune``: every document that is not among ``puts`` is removed; inventories only where one is among them, or with
    ``prune_inventories``.
    """

    puts: tuple[RawDocument, ...] = ()
    deletes: tuple[Key, ...] = ()
    prune: bool = False
    prune_inventories: bool = False

    @property
    def spares_inventories(self) -> bool:
        """Whether a pruned set keeps its inventories: the texts that it is made equal to have none."""
        return not self.prune_inventories and not any(raw.key.format == INVENTORY_FORMAT for raw in self.puts)


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """A write of one document that is durable and in force. ``problems`` are all problems of the answer set after it,
    ``etag`` is that of the document. ``is_new``: something changed; else the document had this text already.
    ``machines`` are how many lose their answer."""

    key: Key
    etag: str
    problems: tuple[str, ...]
    is_new: bool = True
    machines: int = 0


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """A change that is durable and in force, or, with a dry run, would be.

    ``problems`` are all that the answer set has after it, ``problems_before`` those it had. ``etag`` is that of the set
    in force: with a dry run of the one before the change. ``before`` and ``after`` are the sets. ``words`` returns what
    machines last said, with which the answers of both are tried. ``log`` takes a line.
    """

    written: WriteResult
    etag: str
    problems: tuple[str, ...]
    problems_before: tuple[str, ...]
    before: Catalogue
    after: Catalogue
    words: WordsKnown
    log: Callable[[str], object]

    def machines(self) -> int:
        """Return how many machines lose their answer: a look at those that the change touches. Zero where that cannot
        be told, with a line in the log: the change is made already, and must not look as if it had failed."""
        try:
            return machines_losing_answers(self.before, self.after, self.words)
        except Exception as error:
            self.log(f"which machines lose their answer is not known: {type(error).__name__}: {error}")
            return 0


Check = Callable[["Transaction"], None]
"""Checks the stored documents before a change. Raises `WriteRefused`."""

NOT_BEGUN = "the write waited until its time was up, and was not begun"


@dataclass(frozen=True, slots=True)
class Times:
    """Until when a change may take, on the monotonic clock: what has not its locks ``begin_by`` is not begun, what is
    not ready ``commit_by`` is undone."""

    begin_by: float = math.inf
    commit_by: float = math.inf

    def seconds_left(self) -> float:
        """Return the seconds for which locks may be waited for."""
        return self.begin_by - monotonic()


WHENEVER = Times()


class NotFree(Exception):
    """Others changed the set in force until the time was up."""


class SetInForce(Protocol):
    """The set that answers are made of, which follows the store."""

    @property
    def catalogue(self) -> Catalogue:
        """The set at this moment."""

    def load(self) -> object:
        """Bring it up to date with the store. Raises `StoreError`."""

    def held(self, seconds: float) -> AbstractContextManager[None]:
        """Keep others from changing it in a block, at whose beginning it is brought up to date. Raises `NotFree` where
        they take more than so many seconds, and `StoreError`."""

    def replace(self, catalogue: Catalogue) -> None:
        """Put a set in force which the caller, who holds it, has stored."""


class OwnSet:
    """The set of a program that nobody asks for answers: a command."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    @property
    def catalogue(self) -> Catalogue:
        return self._loader.catalogue

    def load(self) -> object:
        return self._loader.refresh()

    def held(self, seconds: float) -> AbstractContextManager[None]:  # noqa: ARG002 - there are no others
        self.load()
        return nullcontext()

    def replace(self, catalogue: Catalogue) -> None:
        self._loader.catalogue = catalogue


MOST_ROWS_TRIED = 500_000
"""Lines of the inventories of a dry run. A row takes some 350 bytes of memory, and 16 MB may have millions."""

FOR_A_LATE_DRY_RUN = "raise SERVICE_ADMIN_TIMEOUT_SECS, or use answerd apply --dry-run on the database"

Uncollected = Callable[[bool], AbstractContextManager[None]]
"""Surrounds work that makes objects; the argument says that it makes many."""


def _unheard(_: str) -> None: ...


def _as_it_is(_: bool) -> AbstractContextManager[None]:
    return nullcontext()


class WriteGuard:
    """Changes of one database. One object in the whole service, which makes one change at a time."""

    def __init__(
        self,
        store: Store,
        in_force: SetInForce,
        uncollected: Uncollected = _as_it_is,
        words: WordsKnown = no_words,
        log: Callable[[str], object] = _unheard,
    ) -> None:
        """``in_force`` follows ``store``. ``uncollected`` keeps the garbage collector off what is made. ``words``
        returns what machines last said, and ``log`` takes a line; both from any thread."""
        self.store = store
        self._words = words
        self._log = log
        self.in_force = in_force
        self._uncollected = uncollected
        # What takes long there is a database that is away for a moment: the client is to come back.
        self.late_error = StoreAway if isinstance(store, ReplicatingStore) else StoreError
        self._problems = ProblemIndex.of(Catalogue())

    def put(
        self,
        key: Key,
        text: str,
        author: Author = NOBODY,
        conditions: Conditions = UNCONDITIONAL,
        times: Times = WHENEVER,
    ) -> WrittenDocument:
        """Store a document; one that has this text already is left alone. Raises `WriteRefused`, and
        `answerd.store.StoreError` where it cannot be written: also where that takes longer than ``times`` allow. It is
        not made then."""
        raw = RawDocument(key, text)
        if key.kind is not Kind.INVENTORY:  # an inventory is read once, with the others of the set
            _refuse_faulty([Document(raw, has_states=self.in_force.catalogue.has_states)])

        tag: str | None = None

        def check(transaction: Transaction) -> None:
            nonlocal tag
            found = transaction.find(key)
            tag = etag(found.revision, found.token) if found else None
            _judge(conditions.fault(tag))

        applied = self._change(ChangeSet((raw,)), author, check, times)
        written = applied.written
        if tag is not None and written.unchanged:
            return WrittenDocument(written.unchanged[0], tag, applied.problems, is_new=False)
        stored = (*written.new, *written.changed)[0]
        tag = etag(written.version.revision, written.version.token)
        return WrittenDocument(stored.key, tag, applied.problems, machines=applied.machines())

    def delete(
        self, key: Key, author: Author = NOBODY, conditions: Conditions = UNCONDITIONAL, times: Times = WHENEVER
    ) -> WrittenDocument:
        """Remove a document. Raises as `put` does."""

        def check(transaction: Transaction) -> None:
            stored = transaction.find(key)
            if stored is None:
                raise NoSuchDocument(f"there is no {key}")
            _judge(conditions.fault(etag(stored.revision, stored.token)))

        applied = self._change(ChangeSet(deletes=(key,)), author, check, times)
        written = applied.written
        tag = etag(written.version.revision, written.version.token)
        return WrittenDocument(written.removed[0], tag, applied.problems, machines=applied.machines())

    def apply(
        self,
        changes: ChangeSet,
        author: Author = NOBODY,
        conditions: Conditions = UNCONDITIONAL,
        times: Times = WHENEVER,
    ) -> AppliedChange:
        """Make many writes at once, all or none. ``conditions`` are about the set. Raises as `put` does."""
        _refuse_repeated(changes)

        def check(transaction: Transaction) -> None:
            _judge(conditions.fault(set_etag(transaction.version()), "the set"))

        return self._change(changes, author, check, times)

    def take_back(
        self,
        made: Sequence[HistoryEntry],
        author: Author = NOBODY,
        conditions: Conditions = UNCONDITIONAL,
        times: Times = WHENEVER,
    ) -> AppliedChange:
        """Make the documents of a change what they were before it. ``made`` are the entries of all of them. Raises as
        `apply` does, and `ChangedSince`."""

        def check(transaction: Transaction) -> None:
            _judge(conditions.fault(set_etag(transaction.version()), "the set"))
            for entry in made:
                stored = transaction.find(entry.key)
                text = stored.body.decode("utf-8", "replace") if stored is not None else None
                _refuse_changed(entry, text, stored.revision if stored is not None else None)

        signed = replace(author, note=_noted(f"revision {made[0].revision} taken back", author.note))
        return self._change(taken_back(made), signed, check, times)

    def take_back_tried(
        self, made: Sequence[HistoryEntry], conditions: Conditions = UNCONDITIONAL, times: Times = WHENEVER
    ) -> AppliedChange:
        """Return what `take_back` would do. Raises as it does."""
        applied = self.tried(taken_back(made), conditions, times)
        for entry in made:
            stored = applied.before.raw_of(entry.key.name)
            _refuse_changed(entry, stored.text if stored is not None else None, None)
        return applied

    def tried(
        self, changes: ChangeSet, conditions: Conditions = UNCONDITIONAL, times: Times = WHENEVER
    ) -> AppliedChange:
        """Return what a change would be: a dry run. It may go on beside a change. Raises as `apply` does, and where it
        takes until ``begin_by``.

        Where another program writes at this moment, ``etag`` is that of the set before it, so that nobody makes the
        change by it.
        """
        _refuse_repeated(changes)
        lines = sum(raw.text.count("\n") for raw in changes.puts if raw.key.format == INVENTORY_FORMAT)
        if lines > MOST_ROWS_TRIED:
            raise InvalidDocument(f"a dry run tries at most {MOST_ROWS_TRIED:,} lines of inventories, not {lines:,}")
        version = self.store.version()
        _judge(conditions.fault(set_etag(version), "the set"))
        self.in_force.load()
        catalogue = self.in_force.catalogue

        def seen(_: Document) -> None:
            if times.seconds_left() <= 0:
                raise StoreError(f"the documents were looked at when the time was up: {FOR_A_LATE_DRY_RUN}")

        with self._uncollected(len(changes.puts) > _MANY):
            before = self._problems.after(catalogue)
            written, difference = _planned(catalogue, changes, version)
            after = _judged(before, catalogue, difference, seen)
        return self._applied(written, set_etag(version), before, after)

    def warm_up(self, problems: ProblemIndex | None = None) -> None:
        """Check the whole set, so that no write has to wait for that; called when the set was loaded.

        ``problems`` are those of a set that was checked already: only the difference to it is left to do.
        """
        self._problems = problems or self._problems
        self._current_problems(self.in_force.catalogue)

    def _change(self, changes: ChangeSet, author: Author, check: Check, times: Times) -> AppliedChange:
        self._current_problems(self.in_force.catalogue)
        try:
            return self._changed(changes, author, check, times)
        except StoreLost:  # a database that fails over: the next connection may have the new one
            return self._changed(changes, author, check, times)

    def _changed(self, changes: ChangeSet, author: Author, check: Check, times: Times) -> AppliedChange:
        """Make a change. Raises `answerd.store.StoreLost` where nothing of it has happened."""
        seconds = times.seconds_left()
        if seconds <= 0:
            raise self.late_error(NOT_BEGUN)
        with closing(self.store.begin(author, min(seconds, WRITER_WAIT_SECONDS), seconds)) as transaction:
            try:
                with self.in_force.held(times.seconds_left()):
                    return self._made(changes, check, times, transaction)
            except NotFree:
                raise self.late_error(NOT_BEGUN) from None

    def _made(self, changes: ChangeSet, check: Check, times: Times, transaction: Transaction) -> AppliedChange:
        """Make a change in a transaction, while the set in force, which is that of the database, is held."""
        catalogue = self.in_force.catalogue
        before = self._current_problems(catalogue)
        check(transaction)
        if times.seconds_left() <= 0:
            raise self.late_error(NOT_BEGUN)
        with self._uncollected(len(changes.puts) > _MANY):
            prune = _kinds_pruned(changes)
            written = transaction.write(changes.puts, changes.deletes, prune=prune)
            difference = self.store.difference(written)
            after = _judged(before, catalogue, difference)
        if monotonic() >= times.commit_by:
            raise self.late_error("the write took until the connection was closed, and was undone")
        transaction.commit()
        self.store.adopt(difference, written.version)
        self._problems = after
        self.in_force.replace(after.catalogue)
        return self._applied(written, set_etag(written.version), before, after)

    def _applied(self, written: WriteResult, tag: str, before: ProblemIndex, after: ProblemIndex) -> AppliedChange:
        problems, problems_before = tuple(after.listed()), tuple(before.listed())
        sets = before.catalogue, after.catalogue
        return AppliedChange(written, tag, problems, problems_before, *sets, self._words, self._log)

    def _current_problems(self, catalogue: Catalogue) -> ProblemIndex:
        """Return the problems of a catalogue that may have changed without this guard."""
        if self._problems.catalogue is not catalogue:
            with self._uncollected(False):
                self._problems = self._problems.after(catalogue)
        return self._problems


def restore_document(
    guard: WriteGuard,
    entry: HistoryEntry,
    author: Author,
    conditions: Conditions = UNCONDITIONAL,
    times: Times = WHENEVER,
) -> WrittenDocument:
    """Restore a document to its state after a change: its text then, or that it did not exist. Raises as the guard
    does."""
    signed = replace(author, note=_noted(f"restore of revision {entry.revision}", author.note))
    if entry.after is None:
        return guard.delete(entry.key, signed, conditions, times)
    return guard.put(entry.key, entry.after, signed, conditions, times)


def restored_change(entry: HistoryEntry) -> ChangeSet:
    """Return the change that `restore_document` makes, to be tried first."""
    if entry.after is None:
        return ChangeSet(deletes=(entry.key,))
    return ChangeSet((RawDocument(entry.key, entry.after),))


def taken_back(made: Iterable[HistoryEntry]) -> ChangeSet:
    """Return the change that makes documents what they were before one."""
    puts = tuple(RawDocument(entry.key, entry.before) for entry in made if entry.before is not None)
    return ChangeSet(puts, tuple(entry.key for entry in made if entry.before is None))


def _noted(done: str, note: str | None) -> str:
    """Return the note of a restore, so that the history tells it from other changes whatever its author noted."""
    return f"{done}: {note}" if note else done


def _refuse_changed(entry: HistoryEntry, text: str | None, revision: int | None) -> None:
    """Raise `ChangedSince` where a document has not the text that a change left it with."""
    if text == entry.after:
        return
    what = "removed" if text is None else "changed" if revision is None else f"changed in revision {revision}"
    raise ChangedSince(
        f"{entry.key} was {what} after revision {entry.revision}: take that back first, or restore documents one by one"
    )


def _ignored(_: Document) -> None: ...


def _kinds_pruned(changes: ChangeSet) -> frozenset[Kind]:
    """Return the kinds of which every document goes that is not among the puts."""
    if not changes.prune:
        return frozenset()
    return frozenset(Kind) - ({Kind.INVENTORY} if changes.spares_inventories else set())


def _planned(catalogue: Catalogue, changes: ChangeSet, version: Version) -> tuple[WriteResult, Changes]:
    """Return what a transaction would return that makes some changes of a set, and the differences. Raises
    `CannotBeStored`."""
    wanted = {raw.key.name: raw for raw in changes.puts}
    names = (*wanted, *(key.name for key in changes.deletes))
    stored = {name: raw for name in names if (raw := catalogue.raw_of(name)) is not None}
    if prune := _kinds_pruned(changes):
        stored |= {raw.key.name: raw for raw in catalogue.raws() if raw.key.kind in prune}
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
    `BreaksTheSet`. ``seen`` is called with each document that is new.

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
    without_columns = _without_columns(trial, changes)
    if inventory is not None and inventory is not catalogue.inventory:
        found = [without_columns.get(one, one) for one in inventory.new_faults(catalogue.inventory, changes.added)]
        if found:
            raise InvalidDocument("; ".join(found[:MOST_PROBLEMS]), tuple(found) if len(found) > 1 else ())
    introduced = [without_columns.get(one, one) for one in after.introduced_after(before)]
    if introduced:
        reason = f"this would break the answer set and was rolled back: {introduced[0]}"
        raise BreaksTheSet(reason, tuple(introduced))
    return after


def _without_columns(trial: Catalogue, changes: Changes) -> dict[str, str]:
    """Return, by the faults of tables whose columns no document explains any more, these faults with what to do: the
    document is there, and need not be written."""
    added = {raw.key.name for raw in changes.added}
    gone = {raw.key.name[1] for raw in changes.removed if raw.key.format == COLUMNS and raw.key.name not in added}
    if not gone or trial.inventory is None:
        return {}
    return {
        fault: f"{fault}; this change removes {columns_file_beside(inventory_file(raw))}: keep that document, or "
        "remove the table too"
        for raw, fault in trial.inventory.unreadable.items()
        if raw.key.format == INVENTORY_FORMAT and raw.key.name[1] in gone
    }


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
