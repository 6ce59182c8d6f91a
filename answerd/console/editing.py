"""Changing documents from a page: the write guard and the store, in the words of `answerd.console.backend`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from answerd.answers.differences import Difference, compare
from answerd.answers.line_diff import unified
from answerd.answers.masking import masked
from answerd.console.backend import Consequences, DocumentVersion, NotSaved, PreviewedChange, Revision, WriteAuthor
from answerd.console.rendering import counted
from answerd.documents import Key, RawDocument
from answerd.formats import FORMATS
from answerd.identity import Kind, join_limited
from answerd.server.etags import UNCONDITIONAL, Conditions, etag
from answerd.server.write_guard import ChangeSet, ConditionFailed, WriteGuard, WriteRefused
from answerd.store import Author, HistoryEntry, HistoryFilter, StoreError

CHANGES_SHOWN = 20
NAMES_SHOWN = 8
REVISIONS_SHOWN = 20


class GuardedEditing:
    """Documents of a database: an `answerd.console.backend.Editing`."""

    def __init__(self, guard: WriteGuard) -> None:
        self._guard = guard

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
        """Return the consequences of storing the text."""
        try:
            applied = self._guard.apply(ChangeSet((RawDocument(key, text),)), dry_run=True)
        except WriteRefused as error:
            return Consequences(refused=error.reason, problems=error.problems)
        except StoreError as error:
            return Consequences(refused=str(error))
        found = applied.before.offload(lambda: compare(applied.before, applied.after))
        return Consequences(found.compared, len(found.differences), _together(found.differences))

    def save(self, key: Key, text: str, etag: str, by: WriteAuthor) -> Sequence[str]:
        """Store a text; return the problems of the set. An empty ``etag``: the document must not exist yet."""
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
            return [_revision(entry) for entry in islice(self._entries(key), REVISIONS_SHOWN)]
        except StoreError:
            return []

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
        )
        entries: list[HistoryEntry] = self._guard.run(self._guard.store.history, wanted)
        return entries


def _author(by: WriteAuthor) -> Author:
    return Author(by.peer, by.who or None, by.note or None)


def _not_saved(error: WriteRefused) -> NotSaved:
    return NotSaved(error.reason, error.problems, is_conflict=isinstance(error, ConditionFailed))


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


def _revision(entry: HistoryEntry) -> Revision:
    what = "added" if entry.before is None else "removed" if entry.after is None else "changed"
    return Revision(
        entry.revision,
        datetime.fromisoformat(entry.at).timestamp(),
        entry.author.name or entry.author.peer or "another program",
        what,
        entry.author.note or "",
        _difference(entry),
        entry.after is not None,
    )


def _difference(entry: HistoryEntry) -> list[str]:
    before, after = entry.before or "", entry.after or ""
    if entry.key.format in FORMATS:
        before, after = masked(before, after, FORMATS[entry.key.format])
    return unified(before.split("\n"), after.split("\n"))
