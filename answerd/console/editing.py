"""Changing documents from a page: previews, writes and history, by the write guard and the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import islice
from time import monotonic
from typing import Any, NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.secret_names import redacted_cells, why_masked
from answerd.answers.sources import NO_SOURCES, Sources
from answerd.check.refusals import refusals
from answerd.console.changes import (
    CHANGES_LISTED,
    CHANGES_SEARCHED,
    ChangesWanted,
    DocumentChange,
    MadeChange,
    Touched,
    made_together,
    touched,
    with_texts,
)
from answerd.console.consequences import Consequences, compared, refused_sentence
from answerd.console.differences import difference
from answerd.console.jobs import Job, Jobs, patience_for
from answerd.documents import Key, RawDocument
from answerd.etags import UNCONDITIONAL, Conditions, etag
from answerd.identity import Kind
from answerd.installs.contacts import Contact
from answerd.inventory import file_of
from answerd.inventory.editing import with_rows_added, with_rows_changed, without_row
from answerd.inventory.row import NEW_INVENTORY, Row, judged
from answerd.inventory.table import Table, read_table
from answerd.long_work import run_long
from answerd.machine_history import rows_changed
from answerd.server.admin.changes import HISTORY_BYTES, refuse_late
from answerd.server.admin.documents import RowEdits, line_of
from answerd.server.admin.requests import CannotRender, InvalidRequest, NotThere, cell_fault
from answerd.server.document_writes import DocumentWrites
from answerd.server.threads import in_thread
from answerd.store import Author, HistoryEntry, HistoryFilter, StoreError, Version
from answerd.write_guard import (
    WHENEVER,
    AppliedChange,
    ChangeSet,
    ConditionFailed,
    Times,
    WriteRefused,
    WrittenDocument,
)

_SEARCHED_AT_ONCE = 1_000
TABLES_SEARCHED = 200
"""The newest changes of inventories in which the row of a machine is looked for."""

DOCUMENTS_UNFOLDED = 20
"""Documents of one change whose differences are shown."""

UNJUDGED = (
    "it could not be judged what an installer would refuse: try again, or untick "
    '"Do not save what an installer would refuse" to save it unjudged'
)
"""Why nothing is saved where only what installers take is to be saved."""

REVISIONS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """A document as a store holds it. ``etag`` is empty where the store has none."""

    key: Key
    text: str
    etag: str


@dataclass(frozen=True, slots=True)
class RowEdit:
    """A change of one row of an inventory. ``identity`` is one of the row's, empty for a new row; ``was`` and
    ``columns`` are the `digest_of` the cells and of the columns that its editor saw.
    ``cells``: one for each column; None: the row is removed."""

    identity: str
    was: str
    columns: str
    cells: Sequence[str] | None


class NotSaved(Exception):
    """A write was not made. ``problems`` are those that it would have caused; ``is_conflict``: another write came
    first. ``status`` is that of the page that says it."""

    def __init__(
        self, reason: str, problems: Sequence[str] = (), *, is_conflict: bool = False, status: int = 409
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.problems = problems
        self.is_conflict = is_conflict
        self.status = status


class Saved(NamedTuple):
    """A write that was made: the problems of the set, and the number of the document's version."""

    problems: Sequence[str]
    revision: int


class Editing:
    """Documents of a database. Every method raises `NotSaved` with the reason when it did not happen."""

    def __init__(self, writes: DocumentWrites, seconds: float, sources: Sources = NO_SOURCES) -> None:
        """A preview takes at most so many ``seconds``, as a dry run of the admin API. ``sources`` fill the answers that
        are judged."""
        self._sources = sources
        self._writes = writes
        self._guard = writes.guard
        self._rows = RowEdits(writes)
        self.seconds = seconds
        self._comparisons: Jobs[Consequences] = Jobs()
        self._counts: Jobs[Mapping[tuple[int, str], Touched]] = Jobs(most_kept=1)
        self._touched: Mapping[tuple[int, str], Touched] = {}

    def find(self, key: Key) -> DocumentVersion | None:
        """Return a document, by its exact identifier or its identity."""
        with as_not_saved():
            found = in_thread(self._writes.store.find, key)
        if found is None:
            return None
        return DocumentVersion(found.key, found.body.decode("utf-8", "replace"), etag(found.revision, found.token))

    def refuse_strictly(self, found: Consequences) -> None:
        """Refuse a write where installers would newly refuse answers, or that is not known."""
        if found.is_pending:
            raise NotSaved("the answers that it changes are still being judged: look at the preview, then save it")
        if found.is_unjudged:
            raise NotSaved(UNJUDGED, [found.refused, *found.problems])
        if found.refused:
            raise NotSaved(found.refused, found.problems)
        if found.newly_refused:
            raise NotSaved(refused_sentence(found.newly_refused), [*map(str, found.newly_refused)])

    def preview(self, key: Key, text: str | None, patience: float = 0.0, said: Sequence[Contact] = ()) -> Consequences:
        """Return the consequences of storing the text, or of removing the document; where that takes longer than
        ``patience`` seconds, that they are being found. ``said`` is what machines said that have no row yet."""
        if text is not None and (reason := why_masked(text, str(key))):
            return Consequences(refused=reason)
        stored = self.find(key)
        digest = sha256((text or "").encode("utf-8", "replace")).digest()
        own = partial(difference, stored.text if stored else None, text, key.format, self._labels)
        change = ChangeSet((RawDocument(key, text),)) if text is not None else ChangeSet(deletes=(key,))
        return self._tried((key, text is None, digest), partial(self._guard.tried, change), own, patience, said)

    def _tried(
        self,
        about: tuple[object, ...],
        trial: Callable[..., AppliedChange],
        own: Callable[[], list[str]],
        patience: float = 0.0,
        said: Sequence[Contact] = (),
    ) -> Consequences:
        """Return the consequences of a change that ``trial`` makes without writing it, or that they are being found:
        ``about`` tells it from other ones, ``own`` returns the difference of its document."""
        with as_not_saved():
            version: Version = in_thread(self._writes.store.version)
        patience = max(patience, patience_for(self._writes.follower.catalogue))
        times = Times(begin_by=monotonic() + self.seconds)
        work = partial(self._judged, partial(trial, times=times), own, times, said)
        turn = partial(self._writes.dry_run, times.begin_by)
        return _so_far(self._comparisons.job((*about, version), work, patience, turn))

    def _judged(
        self,
        tried: Callable[[], AppliedChange],
        own: Callable[[], list[str]],
        times: Times,
        said: Sequence[Contact],
        progress: Callable[[int, int], None],
    ) -> Consequences:
        try:
            applied = tried()
        except WriteRefused as error:
            return Consequences(refused=error.reason, problems=error.problems, own=own())

        def in_time(done: int, total: int) -> None:
            progress(done, total)
            refuse_late(done, total, times)

        words = applied.words().and_of(said) if said else applied.words()
        found = compared(applied.before, applied.after, own, in_time, words)
        verdict = refusals(applied.before, applied.after, self._sources, in_time, words=words, compares=True)
        return replace(found, verdict=verdict)

    def previewed(self, name: str) -> Consequences | None:
        """Return the consequences that a preview has found, or how far it is; None where it is not kept any more."""
        job = self._comparisons.named(name)
        return None if job is None else _so_far(job)

    def save(self, key: Key, text: str, etag: str, by: Author, *, strict: bool = False) -> Saved:
        """Store a text. An empty ``etag``: the document must not exist yet. ``strict``: not where installers would
        newly refuse answers."""
        if reason := why_masked(text, str(key)):
            raise NotSaved(reason)
        if strict:
            self.refuse_strictly(self.preview(key, text, self.seconds))
        with as_not_saved():
            conditions = Conditions(if_match=etag) if etag else Conditions(if_none_match="*")
            return _saved(self._writes.make(WHENEVER, self._guard.put, key, text, by, conditions))

    def delete(self, key: Key, etag: str, by: Author) -> None:
        """Remove a document."""
        with as_not_saved():
            conditions = Conditions(if_match=etag) if etag else UNCONDITIONAL
            self._writes.make(WHENEVER, self._guard.delete, key, by, conditions)

    def preview_row(self, key: Key, edit: RowEdit, patience: float = 0.0) -> Consequences:
        """Return the consequences of changing a row, or that they are being found, as `preview` does."""
        with as_not_saved():
            try:
                changed = partial(_with_edit, edit, self._labels)
                text, _ = in_thread(self._rows.tried, key, edit.identity, changed)
            except NotThere:
                text = self._first_row(key, edit)
        return self.preview(key, text, patience)

    def edit_row(self, key: Key, edit: RowEdit, by: Author, *, strict: bool = False) -> Saved:
        """Change, add or remove a row of an inventory; the first row makes the inventory. ``strict`` as for `save`."""
        if strict:
            self.refuse_strictly(self.preview_row(key, edit, self.seconds))
        with as_not_saved():
            try:
                changed = partial(_with_edit, edit, self._labels)
                made = self._writes.make(WHENEVER, self._rows.edited, key, edit.identity, changed, by, UNCONDITIONAL)
            except NotThere:
                text = self._first_row(key, edit)
                is_new = Conditions(if_none_match="*")
                made = self._writes.make(WHENEVER, self._guard.put, key, text, by, is_new)
            return _saved(made)

    @property
    def _labels(self) -> Mapping[str, str]:
        return self._writes.follower.catalogue.columns

    def _first_row(self, key: Key, edit: RowEdit) -> str:
        if edit.identity or edit.cells is None:
            raise NotSaved("the inventory was removed meanwhile")
        meaning = self._writes.follower.catalogue.meaning_of(key.identifier)
        table = read_table(file_of(key.identifier), NEW_INVENTORY, meaning)
        return _with_edit(edit, self._labels, NEW_INVENTORY, table, None)

    def history(self, key: Key, most: int = REVISIONS_SHOWN) -> Sequence[DocumentChange]:
        """Return the last accepted writes of a document, the latest first; nothing where they cannot be read."""
        # A default has no identifier, so the history is asked for its kind and format.
        identifier = key.identifier if key.kind is not Kind.DEFAULT else None
        try:
            return self._changes(kind=key.kind, identifier=identifier, format=key.format, limit=most, texts=False)
        except NotSaved:
            return []

    def last_change(self, key: Key) -> DocumentChange | None:
        """Return the latest change of a document; None where none is kept, or it cannot be read."""
        return next(iter(self.history(key, 1)), None)

    def changes(self, wanted: ChangesWanted) -> Sequence[MadeChange]:
        """Return the changes that are wanted, the latest first: `CHANGES_LISTED`, and one more where there are more."""
        made = made_together(self._listed(wanted.before, wanted.day or None))
        return [*islice((one for one in made if any(map(wanted.holds, one.documents))), CHANGES_LISTED + 1)]

    def changes_of_row(self, names: Collection[str], before: int | None) -> Set[int]:
        """Return the revisions of inventories in which the row of the machine with some identities changed."""
        if not names:
            return frozenset()
        store, catalogue = self._writes.store, self._writes.follower.catalogue
        found = partial(rows_changed, store, HistoryFilter(before=before), names, catalogue, TABLES_SEARCHED)
        with as_not_saved():
            return in_thread(lambda: {one.entry.revision for one in found() if one.entry is not None})

    def _listed(self, before: int | None = None, since: str | None = None) -> Iterator[DocumentChange]:
        """Yield the accepted writes without their texts, the latest first."""
        while True:
            some = self._changes(before=before, since=since, limit=_SEARCHED_AT_ONCE, texts=False)
            yield from some
            if len(some) < _SEARCHED_AT_ONCE:
                return
            before = some[-1].revision

    def touched(self) -> tuple[Mapping[tuple[int, str], Touched], bool]:
        """Return how many machines the newest changes touched, as far as that is counted, and whether that is done."""
        with as_not_saved():
            version: Version = in_thread(self._writes.store.version)
        catalogue = self._writes.follower.catalogue
        work = partial(self._count, catalogue)
        job = self._counts.job((version, catalogue), work, patience_for(catalogue))
        if job.result is not None:
            self._touched = dict(sorted({**self._touched, **job.result}.items())[-CHANGES_SEARCHED:])
        return self._touched, job.is_finished

    def _count(self, catalogue: Catalogue, progress: Callable[[int, int], None]) -> Mapping[tuple[int, str], Touched]:
        return touched(catalogue, with_texts(self._writes.store.history), self._touched, progress)

    def change(self, revision: int) -> DocumentChange | None:
        """Return a change with its texts; None where it is not kept."""
        return next(iter(self._changes(revision=revision)), None)

    def unfolded(self, revision: int) -> Sequence[tuple[DocumentChange, Sequence[str]]]:
        """Return the documents that changed together with a revision, the first `DOCUMENTS_UNFOLDED`, each with its
        unified diff without secrets; of one whose others may be forgotten only that one."""
        wanted = HistoryFilter(together=revision, limit=DOCUMENTS_UNFOLDED, most_bytes=HISTORY_BYTES)
        try:
            with as_not_saved():
                entries = self._history(wanted)
        except NotSaved:
            entries = []
        changes = [_change(entry) for entry in entries] or [*self._changes(revision=revision)]

        def differences() -> list[tuple[DocumentChange, Sequence[str]]]:
            return [(one, difference(one.before, one.after, one.key.format, self._labels)) for one in changes]

        return run_long(differences)

    def _history(self, wanted: HistoryFilter) -> list[HistoryEntry]:
        found: list[HistoryEntry] = in_thread(self._writes.store.history, wanted)
        return found

    def _made(self, revision: int) -> list[HistoryEntry]:
        """Return all documents that changed together with a revision, with their texts. Raises `NotSaved`."""
        with as_not_saved():
            made = self._history(HistoryFilter(together=revision))
        if not made:
            raise NotSaved(f"there is no revision {revision} in the history", status=404)
        return made

    def made_with(self, revision: int) -> MadeChange:
        """Return all that changed together with a revision. Raises `NotSaved`."""
        return MadeChange([_change(entry) for entry in self._made(revision)])

    def preview_back(self, revision: int) -> Consequences:
        """Return the consequences of taking back all that changed together with a revision, as `preview` does."""
        made = self._made(revision)
        return self._tried(("take back", made[0].revision), partial(self._guard.take_back_tried, made), list)

    def take_back(self, revision: int, by: Author) -> int:
        """Make all documents that changed together with a revision what they were before it. Return the revision of
        that."""
        made = self._made(revision)
        with as_not_saved():
            applied: AppliedChange = self._writes.make(WHENEVER, self._guard.take_back, made, by, UNCONDITIONAL)
        return applied.written.version.revision

    def difference(self, revision: int) -> Sequence[str]:
        """Return the unified diff of a change, without secrets; nothing where it is not kept."""
        change = self.change(revision)
        if change is None:
            return ()
        return run_long(lambda: difference(change.before, change.after, change.key.format, self._labels))

    def _changes(self, **wanted: Any) -> Sequence[DocumentChange]:
        with as_not_saved():
            entries = self._history(HistoryFilter(**wanted))
        return [_change(entry) for entry in entries]


def digest_of(cells: Sequence[str]) -> str:
    """Return what tells whether the cells of a row, or the columns, have changed. It is sent to the browser: of cells
    that are hidden from the reader it would let him try passwords."""
    return sha256("\0".join(cells).encode("utf-8", "replace")).hexdigest()[:16]


def _with_edit(edit: RowEdit, labels: Mapping[str, str], text: str, table: Table, found: Row | None) -> str:
    """Return the text of an inventory with a row changed. Raises `ConditionFailed` where it is not as its editor saw
    it, `NotSaved` where it would not be valid."""
    if edit.identity and not _is_as_seen(found, edit.was, labels):
        raise ConditionFailed("somebody else changed this row or removed it after you opened it")
    if edit.cells is None:
        if found is None:
            raise NotSaved("no row was named")
        return without_row(text, table, line_of(table, found))
    columns = table.layout.columns
    if edit.columns != digest_of(columns) or len(edit.cells) != len(columns):
        raise ConditionFailed("somebody else changed the columns after you opened the inventory")
    if found is not None and (beyond := found.beyond_header):
        raise NotSaved(f"the row {beyond}: correct it in the text of the inventory")
    before = found.cells() if found is not None else [""] * len(columns)
    shown = redacted_cells(columns, before, labels)
    cells = [_kept(*given) for given in zip(columns, before, shown, edit.cells, strict=True)]
    _, fault = judged(table.layout, cells)
    if fault:
        raise NotSaved(f"the row {fault}" if fault.startswith("has ") else f"the row: {fault}")
    if found is None:
        return with_rows_added(text, table, [cells])
    return with_rows_changed(text, table, {line_of(table, found): cells})


def _is_as_seen(found: Row | None, was: str, labels: Mapping[str, str]) -> bool:
    """Return whether a row is as its editor saw it: with its secrets, or without. A cell that the editor did not see
    keeps what it has now."""
    if found is None:
        return False
    cells = found.cells()
    return was in {digest_of(cells), digest_of(redacted_cells(found.layout.columns, cells, labels))}


def _kept(column: str, before: str, shown: str, given: str) -> str:
    """Return the new text of a cell: the one before where the form still has that, or what was ``shown`` for it without
    its secrets. Raises `NotSaved`."""
    if given in {before.replace("\r\n", "\n"), shown}:
        return before
    if fault := cell_fault(column, given):
        raise NotSaved(fault)
    return given


@contextmanager
def as_not_saved() -> Iterator[None]:
    """Raise `NotSaved` for whatever keeps a document from being read or changed."""
    try:
        yield
    except WriteRefused as error:
        is_conflict = isinstance(error, ConditionFailed)
        raise NotSaved(error.reason, error.problems, is_conflict=is_conflict) from None
    except (CannotRender, InvalidRequest, NotThere) as error:
        raise NotSaved(str(error)) from None
    except StoreError as error:
        raise NotSaved(str(error), status=503) from None


def _saved(written: WrittenDocument) -> Saved:
    return Saved(written.problems, int(written.etag.strip('"').partition("-")[0]))


def _so_far(job: Job[Consequences]) -> Consequences:
    """Return the result of a comparison, or how far it is."""
    if not job.is_finished:
        return Consequences(job.name, is_pending=True, compared=job.done, total=job.total)
    if job.result is None:
        return Consequences(refused=f"the answers could not be compared: {job.fault}", is_unjudged=True)
    return replace(job.result, name=job.name)


def _change(entry: HistoryEntry) -> DocumentChange:
    return DocumentChange(
        entry.revision,
        datetime.fromisoformat(entry.at).timestamp(),
        entry.author.name or entry.author.peer or "another program",
        "added" if entry.before is None else "removed" if entry.after is None else "changed",
        entry.author.note or "",
        entry.key,
        entry.before,
        entry.after,
        entry.token,
    )
