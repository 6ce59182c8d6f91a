"""Stores: where documents are kept. A store hands out raw text and tells what changed; it decides nothing.

Matching, merging and problems live above it, once, so that they hold for every store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from answerd.documents import Key, RawDocument


class StoreError(Exception):
    """The store cannot be opened, read or written; one line that says which part of it and why."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from what the store handed out before.

    A document that changed stands in both: the object handed out before in ``removed``, its successor in ``added``.
    ``unlisted`` are sentences about parts of the store that were never listed, so that they may hold any group.
    ``faults`` are sentences about parts that could be listed before and cannot now: problems of nobody's claim.
    """

    added: tuple[RawDocument, ...] = ()
    removed: tuple[RawDocument, ...] = ()
    unlisted: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


class Store(Protocol):
    """What the rest asks of a store."""

    @property
    def look_seconds(self) -> float:
        """How long to wait between two calls of `changes`."""

    @property
    def described(self) -> str:
        """For the log: ``files:/srv/answers``."""

    def warnings(self) -> list[str]:
        """What an operator should know about it at start; it works all the same."""

    def look_at_everything(self) -> None:
        """Have the next call of `changes` compare everything, whatever says that nothing changed."""

    def changes(self) -> Changes | None:
        """What changed since the last call, the whole set at first; None when nothing did.

        Raises `StoreError`; what was handed out before then stays in force.
        """


class WritableStore(Store, Protocol):
    """A store that the admin API and ``import`` can write to."""

    def put(self, key: Key, text: str) -> None:
        """Store a document durably, in place of the one under its key. Raises `StoreError`."""

    def delete(self, key: Key) -> None:
        """Remove a document durably. Raises KeyError when there is none, `StoreError`."""
