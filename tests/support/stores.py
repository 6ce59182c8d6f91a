"""Stores for tests: one that is empty, one whose documents never change, one that fails.

`EmptyStore`, `FixedStore` and `FailingStore` follow `answerd.store.WritableStore`. The stores of the service itself are
made in `tests.support.fleet`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.store import WRITER_WAIT_SECONDS, Changes, Store, StoredDocument, StoreError, Transaction


class SingleWrites(Store, Protocol):
    """A store of the service, whose documents a test writes one by one."""

    def put(self, key: Key, text: str) -> None:
        """Store a document durably, in place of the one under its key."""

    def delete(self, key: Key) -> None:
        """Remove a document durably. Raises KeyError when there is none."""


class FixedStore:
    """Documents that never change. Nothing can be written."""

    look_seconds = 0.01
    described = "fixed"

    def __init__(self, documents: Mapping[Key, str]) -> None:
        self._documents = {key: RawDocument(key, text) for key, text in documents.items()}
        self._was_asked = False

    def warnings(self) -> list[str]:
        return []

    def look_at_everything(self) -> None:
        pass

    def changes(self) -> Changes | None:
        first, self._was_asked = not self._was_asked, True
        return Changes(tuple(self._documents.values())) if first else None

    def wake_up_descriptor(self) -> int | None:
        return None

    def age_seconds(self) -> float:
        return 0.0

    def find(self, key: Key) -> StoredDocument | None:
        return next((stored for stored in self.all() if stored.key.name == key.name), None)

    def keys(self, kind: Kind | None = None) -> list[Key]:
        return sorted(key for key in self._documents if kind in (None, key.kind))

    def all(self) -> list[StoredDocument]:
        return [StoredDocument(key, self._documents[key].text.encode(), 1, "fixed") for key in self.keys()]

    def begin(self, peer: str | None = None, wait: float = WRITER_WAIT_SECONDS) -> Transaction:
        raise StoreError("the fixed store cannot be written")

    @contextmanager
    def writing(self, peer: str | None = None) -> Iterator[Transaction]:
        yield self.begin(peer)

    def difference(self, key: Key, text: str | None) -> Changes:
        before = self._documents.get(key)
        return Changes((RawDocument(key, text),) if text is not None else (), (before,) if before else ())

    def adopt(self, changes: Changes, revision: int, token: str) -> None:
        raise AssertionError("nothing was written")


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


READING_AND_WRITING = ("changes", "find", "keys", "all", "begin", "writing", "warnings")
"""The methods that a store answers from its disk or its database."""


def _failing(name: str) -> Callable[..., Any]:
    def fail(*_arguments: object, **_named: object) -> Any:
        raise StoreError(f"the failing store refuses {name}")

    return fail
