"""Stores for tests: one that is empty, one whose documents never change, one that fails.

`EmptyStore`, `FixedStore` and `FailingStore` follow `answerd.store.Store`. The stores of the service itself are
made in `tests.support.fleet`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

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
    StoredDocument,
    StoreError,
    Transaction,
    Version,
    WriteResult,
)


class FixedStore:
    """Documents that never change. Nothing can be written."""

    poll_seconds = 0.01
    described = "fixed"

    def __init__(self, documents: Mapping[Key, str]) -> None:
        self._documents = {key: RawDocument(key, text) for key, text in documents.items()}
        self._was_asked = False

    def warnings(self) -> list[str]:
        return []

    def force_full_poll(self) -> None:
        pass

    def changes(self) -> Changes | None:
        first, self._was_asked = not self._was_asked, True
        return Changes(tuple(self._documents.values())) if first else None

    def refusal(self) -> str:
        return ""

    def age_seconds(self) -> float:
        return 0.0

    def find(self, key: Key) -> StoredDocument | None:
        return next((stored for stored in self.all() if stored.key.name == key.name), None)

    def keys(self, kind: Kind | None = None) -> list[Key]:
        return sorted(key for key in self._documents if kind in (None, key.kind))

    def all(self) -> list[StoredDocument]:
        return [StoredDocument(key, self._documents[key].text.encode(), 1, "fixed") for key in self.keys()]

    def entries(self, kind: Kind, after: str = "", limit: int | None = None) -> list[DocumentEntry]:
        found = [stored for stored in self.all() if stored.key.kind is kind and stored.key.identifier > after]
        return [DocumentEntry(document.key, len(document.body), "2026-01-01", 1, "fixed") for document in found[:limit]]

    def version(self) -> Version:
        return Version(1, "fixed")

    def begin(
        self, author: Author = NOBODY, wait: float = WRITER_WAIT_SECONDS, within: float = math.inf
    ) -> Transaction:
        raise StoreError("the fixed store cannot be written")

    @contextmanager
    def writing(self, author: Author = NOBODY) -> Iterator[Transaction]:
        yield self.begin(author)

    def difference(self, written: WriteResult) -> Changes:
        raise AssertionError("nothing was written")

    def adopt(self, changes: Changes, version: Version) -> None:
        raise AssertionError("nothing was written")

    def history(self, wanted: HistoryFilter) -> list[HistoryEntry]:
        return []

    def prune_history(self, before: str) -> int:
        return 0

    def backup(self, path: str) -> None:
        raise StoreError("the fixed store has no file")


class EmptyStore(FixedStore):
    """No document at all."""

    described = "empty"

    def __init__(self) -> None:
        super().__init__({})


class FailingStore(FixedStore):
    """A store whose methods raise `StoreError` while ``fails``; each method with a name of its own in ``only``, all
    where that is empty."""

    described = "failing"

    def __init__(self, documents: Mapping[Key, str] | None = None, only: Sequence[str] = ()) -> None:
        super().__init__(documents or {})
        self.fails = True
        self.only = only

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name not in READING_AND_WRITING or not self.fails or (self.only and name not in self.only):
            return value
        return _failing(name)


READING_AND_WRITING = (
    "changes", "find", "keys", "entries", "version", "all", "begin", "writing", "history", "backup", "warnings",
)  # fmt: skip
"""The methods that a store answers from its disk or its database."""


def _failing(name: str) -> Callable[..., Any]:
    def fail(*_arguments: object, **_named: object) -> Any:
        raise StoreError(f"the failing store refuses {name}")

    return fail
