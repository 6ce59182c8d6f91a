"""The history as pages show it: what changed together is one change; which are wanted; how many machines one touched.

Rules: docs/console.md#history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from time import thread_time
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.diff import Side, compare
from answerd.documents import Key, RawDocument
from answerd.identity import identity_of
from answerd.inventory import file_of
from answerd.machine_history import together
from answerd.store import HistoryEntry, HistoryFilter

CHANGES_LISTED = 100
CHANGES_SEARCHED = 20_000
"""The newest documents in whose changes a day, a person or a document is looked for."""

CHANGES_COUNTED = 200
"""The newest changes of which it is counted how many machines they touched."""

DOCUMENTS_COUNTED = 200
BYTES_COUNTED = 4_194_304
"""The most documents, and the most of their texts, of a change of several documents for that to be counted."""

_LISTED_AT_ONCE = 1_000

COUNTED_SECONDS = 10.0
"""Seconds of the processor for which that is counted: a change of a group of 5,000 machines takes some two."""


class DocumentChange(NamedTuple):
    """One accepted write of any document. ``when`` is in seconds since 1970. ``before`` and ``after`` are the texts,
    None where there was no document, empty in a list of changes. ``token`` is that of all that changed together."""

    revision: int
    when: float
    who: str
    what: str
    note: str
    key: Key
    before: str | None = ""
    after: str | None = ""
    token: str = ""


class Touched(NamedTuple):
    """How many machines got another answer by a change, and how many of them lost theirs."""

    machines: int
    losing: int


@dataclass(frozen=True, slots=True)
class MadeChange:
    """The documents that changed together, the last one first. ``is_whole``: there are no more of them."""

    documents: Sequence[DocumentChange]
    is_whole: bool = True

    @property
    def newest(self) -> DocumentChange:
        """The document with the highest revision, by which the change is known."""
        return self.documents[0]

    @property
    def what(self) -> str:
        """``changed``, of several documents ``3 changed, 1 added``."""
        if len(self.documents) == 1:
            return self.newest.what
        counts = Counter(change.what for change in self.documents)
        return ", ".join(f"{counts[word]:,} {word}" for word in ("added", "changed", "removed") if counts[word])


@dataclass(frozen=True, slots=True)
class ChangesWanted:
    """Which changes are listed: of one day (UTC, as ``2026-11-27``), by one person, of documents whose name or kind
    holds a text; all where these are empty. ``before``: older than a revision. ``rows``: the revisions of inventories
    in which the row of the machine with this text as its name changed."""

    day: str = ""
    who: str = ""
    document: str = ""
    before: int | None = None
    rows: Set[int] = frozenset()

    def holds(self, change: DocumentChange) -> bool:
        """Return whether a change is wanted."""
        if self.day and f"{datetime.fromtimestamp(change.when, UTC):%Y-%m-%d}" != self.day:
            return False
        if self.who and self.who.casefold() not in change.who.casefold():
            return False
        if not self.document or change.revision in self.rows:
            return True
        bare = identity_of(self.document)
        names = str(change.key).casefold(), file_of(change.key.identifier).casefold()
        is_named = any(self.document.casefold() in name for name in names)
        return is_named or (len(bare) > 1 and bare in identity_of(change.key.identifier))


def made_together(changes: Iterable[DocumentChange]) -> Iterator[MadeChange]:
    """Yield changes of documents, the latest first, as what changed together. Of no more than `CHANGES_SEARCHED`
    documents: the last change may not be whole then."""
    room = CHANGES_SEARCHED
    for made in together(islice(changes, CHANGES_SEARCHED + 1)):
        room -= len(made)
        if room >= 0:
            yield MadeChange(made)
        elif len(made) > 1:
            yield MadeChange(made[:-1], is_whole=False)


def with_texts(history: Callable[[HistoryFilter], list[HistoryEntry]]) -> Iterator[Sequence[HistoryEntry]]:
    """Yield the documents of each of the newest changes with their texts, the latest first. A change that has more than
    `DOCUMENTS_COUNTED`, or more than `BYTES_COUNTED`, ends it: its texts are not all read."""
    listed: list[HistoryEntry] = []
    before: int | None = None
    for _ in range(CHANGES_COUNTED):
        if len(listed) <= DOCUMENTS_COUNTED:
            some = history(HistoryFilter(before=before, limit=_LISTED_AT_ONCE, texts=False))
            listed, before = listed + some, some[-1].revision if some else before
        if not listed:
            return
        token, last = listed[0].token, len(listed)
        count = next((at for at in range(1, last) if not token or listed[at].token != token), last)
        if count > DOCUMENTS_COUNTED:
            return
        made = history(HistoryFilter(before=listed[0].revision + 1, limit=count, most_bytes=BYTES_COUNTED))
        if [entry.revision for entry in made] != [entry.revision for entry in listed[:count]]:
            return
        yield made
        listed = listed[count:]


def touched(
    catalogue: Catalogue,
    changes: Iterable[Sequence[HistoryEntry]],
    known: Mapping[tuple[int, str], Touched],
    progress: Callable[[int, int], None],
) -> Mapping[tuple[int, str], Touched]:
    """Return how many machines the newest changes touched, by their revisions and tokens: the answers of the set before
    and after each are compared. ``changes`` are the documents of each, the newest first, with their texts;
    ``catalogue`` is the set after all of them. What is ``known`` is not counted again. Stops when `COUNTED_SECONDS` are
    over, and where the set is not what the history says."""
    found: dict[tuple[int, str], Touched] = {}
    until, after = thread_time() + COUNTED_SECONDS, catalogue

    def in_time(_: int, __: int) -> None:
        if thread_time() > until:
            raise _Late

    for count, made in enumerate(changes):
        progress(count, CHANGES_COUNTED)
        if thread_time() > until:
            break
        there = {entry.key.name: after.raw_of(entry.key.name) for entry in made}
        removed = [raw for raw in there.values() if raw is not None]
        if any((raw.text if (raw := there[entry.key.name]) else None) != entry.after for entry in made):
            break
        added = [RawDocument(entry.key, entry.before) for entry in made if entry.before is not None]
        before, name = after.changed(added, removed), (made[0].revision, made[0].token)
        try:
            found[name] = known.get(name) or _touched_by(before, after, in_time)
        except _Late:
            break
        after = before
    return found


class _Late(Exception):
    """The time for counting is over."""


def _touched_by(before: Catalogue, after: Catalogue, in_time: Callable[[int, int], None]) -> Touched:
    differences = compare(before, after, in_time, most=0).differences

    def has_answer(side: Side | None) -> bool:
        return side is not None and side.text is not None

    losing = {one.identifier for one in differences if has_answer(one.before) and not has_answer(one.after)}
    return Touched(len({one.identifier for one in differences}), len(losing))
