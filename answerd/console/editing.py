"""Changing documents from a page: the write guard and the store, in the words of `answerd.console.backend`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256

from answerd.answers.catalogue import Catalogue
from answerd.answers.differences import Difference, compare
from answerd.answers.line_diff import unified
from answerd.answers.redaction import redacted_pair
from answerd.answers.secret_names import why_masked
from answerd.console.backend import (
    Consequences,
    DocumentChange,
    DocumentVersion,
    NotSaved,
    PreviewedChange,
    Revision,
    WriteAuthor,
)
from answerd.console.background import PATIENCE, BackgroundWork, Job
from answerd.console.rendering import counted
from answerd.documents import Key, RawDocument
from answerd.identity import Kind, join_limited
from answerd.long_work import run_long
from answerd.server.etags import UNCONDITIONAL, Conditions, etag
from answerd.server.write_guard import ChangeSet, ConditionFailed, WriteGuard, WriteRefused
from answerd.store import Author, HistoryEntry, HistoryFilter, StoreError

CHANGES_SHOWN = 20
CHANGES_LISTED = 100
NAMES_SHOWN = 8
REVISIONS_SHOWN = 20
REVISION_BYTES = 1_000_000
"""Of the texts before and after all changes that one page shows; it shows the newest, however large that is."""

COMPARED_AT_ONCE = 1_000
"""Documents of a set whose comparison may end while the page waits for it: an answer takes some 0.15 ms."""

LINES_SHOWN = 1_000
"""Of the difference that a change made."""


class GuardedEditing:
    """Documents of a database: an `answerd.console.backend.Editing`."""

    def __init__(self, guard: WriteGuard) -> None:
        self._guard = guard
        self._comparisons: BackgroundWork[Consequences] = BackgroundWork()

    def find(self, key: Key) -> DocumentVersion | None:
        """Return a document, by its exact identifier or its identity."""
        try:
            found = self._guard.run(self._guard.store.find, key)
        except StoreError as error:
            raise NotSaved(str(error)) from None
        if found is None:
            return None
        return DocumentVersion(found.key, found.body.decode("utf-8", "replace"), etag(found.revision, found.token))

    def preview(self, key: Key, text: str) -> Consequences:
        """Return the consequences of storing the text; where that takes long, that they are being found."""
        if reason := why_masked(text, str(key)):
            return Consequences(refused=reason)
        try:
            applied = self._guard.apply(ChangeSet((RawDocument(key, text),)), dry_run=True)
        except WriteRefused as error:
            return Consequences(refused=error.reason, problems=error.problems)
        except StoreError as error:
            return Consequences(refused=str(error))
        about = key, sha256(text.encode("utf-8", "replace")).digest(), applied.etag
        patience = PATIENCE if applied.after.size <= COMPARED_AT_ONCE else 0.0
        return _so_far(self._comparisons.job(about, partial(_compared, applied.before, applied.after), patience))

    def previewed(self, name: str) -> Consequences | None:
        """Return the consequences that a preview has found, or how far it is; None where it is not kept any more."""
        job = self._comparisons.named(name)
        return None if job is None else _so_far(job)

    def save(self, key: Key, text: str, etag: str, by: WriteAuthor) -> Sequence[str]:
        """Store a text; return the problems of the set. An empty ``etag``: the document must not exist yet."""
        if reason := why_masked(text, str(key)):
            raise NotSaved(reason)
        conditions = Conditions(if_match=etag) if etag else Conditions(if_none_match="*")
        try:
            return self._guard.put(key, text, _author(by), conditions).problems
        except WriteRefused as error:
            raise _not_saved(error) from None
        except StoreError as error:
            raise NotSaved(str(error)) from None

    def delete(self, key: Key, etag: str, by: WriteAuthor) -> Sequence[str]:
        """Remove a document; return the problems of the set."""
        try:
            return self._guard.delete(key, _author(by), Conditions(if_match=etag) if etag else UNCONDITIONAL).problems
        except WriteRefused as error:
            raise _not_saved(error) from None
        except StoreError as error:
            raise NotSaved(str(error)) from None

    def history(self, key: Key) -> Sequence[Revision]:
        """Return the accepted writes of a document, the latest first; nothing where they cannot be read."""
        try:
            entries = self._entries(key)
            labels = self._guard.follower.loader.catalogue.columns
            return run_long(lambda: [_revision(entry, labels) for entry in entries])
        except StoreError:
            return []

    def changes(self, before: int | None) -> Sequence[DocumentChange]:
        """Return the accepted writes of all documents, the latest first. Raises `NotSaved`."""
        wanted = HistoryFilter(before=before, limit=CHANGES_LISTED, most_bytes=REVISION_BYTES)
        try:
            entries: list[HistoryEntry] = self._guard.run(self._guard.store.history, wanted)
        except StoreError as error:
            raise NotSaved(str(error)) from None
        return [_change(entry) for entry in entries]

    def restore(self, key: Key, revision: int, by: WriteAuthor) -> Sequence[str]:
        """Store the text of a revision again; return the problems of the set."""
        try:
            found = next((entry for entry in self._entries(key, revision) if entry.after is not None), None)
            if found is None or found.after is None:
                raise NotSaved("there is no such revision")
            note = by.note or f"restored from revision {revision}"
            return self._guard.put(key, found.after, _author(WriteAuthor(by.who, by.peer, note))).problems
        except WriteRefused as error:
            raise _not_saved(error) from None
        except StoreError as error:
            raise NotSaved(str(error)) from None

    def _entries(self, key: Key, revision: int | None = None) -> list[HistoryEntry]:
        # A default has no identifier, so the history is asked for its kind and format.
        wanted = HistoryFilter(
            kind=key.kind,
            identifier=key.identifier if key.kind is not Kind.DEFAULT else None,
            format=key.format,
            revision=revision,
            limit=REVISIONS_SHOWN,
            most_bytes=REVISION_BYTES,
        )
        entries: list[HistoryEntry] = self._guard.run(self._guard.store.history, wanted)
        return entries


def _author(by: WriteAuthor) -> Author:
    return Author(by.peer, by.who or None, by.note or None)


def _not_saved(error: WriteRefused) -> NotSaved:
    return NotSaved(error.reason, error.problems, is_conflict=isinstance(error, ConditionFailed))


def _compared(before: Catalogue, after: Catalogue, progress: Callable[[int, int], None]) -> Consequences:
    found = compare(before, after, progress)
    return Consequences(found.compared, len(found.differences), _together(found.differences))


def _so_far(job: Job[Consequences]) -> Consequences:
    """Return the result of a comparison, or how far it is."""
    if not job.is_finished:
        return Consequences(job.done, pending=job.name, total=job.total)
    return job.result or Consequences(refused=f"the answers could not be compared: {job.fault}")


def _together(differences: Sequence[Difference]) -> list[PreviewedChange]:
    """Return answers in which the same lines change as one change, with all their names and the first as an example."""
    names: dict[tuple[str, ...], list[str]] = {}
    examples: dict[tuple[str, ...], Sequence[str]] = {}
    for difference in differences:
        lines = difference.unified()
        changed = tuple(line for line in lines if line[:1] in ("+", "-") and not line.startswith(("+++", "---")))
        names.setdefault(changed, []).append(difference.name)
        examples.setdefault(changed, lines)
    ordered = sorted(names.items(), key=lambda change: -len(change[1]))
    return [
        PreviewedChange(f"{counted(len(named), 'answer')}: {join_limited(named, NAMES_SHOWN)}", examples[changed])
        for changed, named in ordered[:CHANGES_SHOWN]
    ]


def _change(entry: HistoryEntry) -> DocumentChange:
    return DocumentChange(
        entry.revision,
        datetime.fromisoformat(entry.at).timestamp(),
        entry.author.name or entry.author.peer or "another program",
        "added" if entry.before is None else "removed" if entry.after is None else "changed",
        entry.author.note or "",
        entry.key,
    )


def _revision(entry: HistoryEntry, labels: Mapping[str, str]) -> Revision:
    of, lines = _change(entry), _difference(entry, labels)
    return Revision(of.revision, of.when, of.who, of.what, of.note, lines, entry.after is not None)


def _difference(entry: HistoryEntry, labels: Mapping[str, str]) -> list[str]:
    before, after = entry.before or "", entry.after or ""
    before, after = redacted_pair(before, after, entry.key.format, labels=labels)
    if entry.before is None or entry.after is None:  # no more lines are looked at than are shown
        sign, text = ("+", after) if entry.before is None else ("-", before)
        lines = [sign + line for line in text.split("\n", LINES_SHOWN)[:LINES_SHOWN]]
        left = text.count("\n") + 1 - LINES_SHOWN
    else:
        lines = unified(before.split("\n"), after.split("\n"))
        left = len(lines) - LINES_SHOWN
    return [*lines[:LINES_SHOWN], f"@@ {counted(left, 'more line')} @@"] if left > 0 else lines
