"""A read-only store over the set in memory, from which the console's API reads where documents are files."""

# ruff: noqa: ARG002 - the arguments are the protocol's

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from answerd.answers.catalogue import Catalogue
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.store import (
    NOBODY,
    WRITER_WAIT_SECONDS,
    Author,
    Changes,
    DocumentEntry,
    HistoryEntry,
    HistoryFilter,
    Store,
    StoredDocument,
    StoreError,
    Transaction,
    Version,
    WriteResult,
)

_NOT_WRITTEN = "documents of this service are files: change them in the answers directory"


class ReadOnlyStore:
    """An `answerd.store.WritableStore` of which nothing can be written. The tag of a document is a hash of its text."""

    def __init__(self, store: Store, catalogue: Callable[[], Catalogue]) -> None:
        """``store`` is the one that the set came from."""
        self._store = store
        self._catalogue = catalogue
        self.poll_seconds = store.poll_seconds
        self.described = store.described

    def warnings(self) -> list[str]:
        """Return those of the store."""
        return self._store.warnings()

    def force_full_poll(self) -> None:
        """Have the store compare everything at its next poll."""
        self._store.force_full_poll()

    def changes(self) -> Changes | None:
        """Return nothing: the set is followed through the store itself."""
        return None

    def wake_up_descriptor(self) -> int | None:
        """Return None."""
        return None

    def refusal(self) -> str:
        """Return nothing: a fault is met where something is written."""
        return ""

    def age_seconds(self) -> float:
        """Return 0.0: the files are on this machine."""
        return 0.0

    def version(self) -> Version:
        """Return a hash of all texts in place of a revision. Reads every document."""
        together = hashlib.sha256()
        for raw in sorted(self._raw(), key=lambda raw: raw.key):
            together.update(f"{raw.key}\0{raw.text}\0".encode("utf-8", "surrogatepass"))
        return Version(0, together.hexdigest()[:16])

    def find(self, key: Key) -> StoredDocument | None:
        """Return the document of exactly this identifier, else of this identity."""
        found = [raw for raw in self._raw() if raw.key.name == key.name]
        exactly = next((raw for raw in found if raw.key == key), None)
        return _stored(exactly or found[0]) if found else None

    def keys(self, kind: Kind | None = None) -> list[Key]:
        """Return the keys of all documents, or of one kind, sorted."""
        return sorted(raw.key for raw in self._raw() if kind in (None, raw.key.kind))

    def entries(self, kind: Kind, after: str = "", limit: int | None = None) -> list[DocumentEntry]:
        """Return the documents of a kind without their texts; when they changed is not known."""
        wanted = sorted(
            (raw for raw in self._raw() if raw.key.kind is kind and raw.key.identifier > after), key=lambda raw: raw.key
        )
        if limit is not None and len(wanted) > limit:
            last = wanted[limit - 1].key.identifier if limit else ""
            wanted = [raw for raw in wanted if raw.key.identifier < last] or [
                raw for raw in wanted if raw.key.identifier == last
            ]
        return [DocumentEntry(raw.key, len(raw.text.encode()), "", 0, _hash(raw)) for raw in wanted]

    def all(self) -> list[StoredDocument]:
        """Return every document, sorted by key."""
        return sorted(map(_stored, self._raw()), key=lambda stored: stored.key)

    def history(self, wanted: HistoryFilter) -> list[HistoryEntry]:
        """Return nothing: files have no history here."""
        return []

    def prune_history(self, before: str) -> int:
        """Forget nothing."""
        return 0

    def backup(self, path: str) -> None:
        """Raise `StoreError`: a directory is copied by other means."""
        raise StoreError("documents of this service are files: copy the answers directory")

    def begin(
        self, author: Author = NOBODY, wait: float = WRITER_WAIT_SECONDS, within: float = math.inf
    ) -> Transaction:
        """Raise `StoreError`: nothing can be written."""
        raise StoreError(_NOT_WRITTEN)

    @contextmanager
    def writing(self, author: Author = NOBODY) -> Iterator[Transaction]:
        """Raise `StoreError`: nothing can be written."""
        yield self.begin(author)

    def difference(self, written: WriteResult) -> Changes:
        """Return nothing."""
        return Changes()

    def adopt(self, changes: Changes, version: Version) -> None:
        """Do nothing."""

    def _raw(self) -> Iterable[RawDocument]:
        return self._catalogue().documents


def _stored(raw: RawDocument) -> StoredDocument:
    return StoredDocument(raw.key, raw.text.encode(), 0, _hash(raw))


def _hash(raw: RawDocument) -> str:
    return hashlib.sha256(raw.text.encode()).hexdigest()[:16]
