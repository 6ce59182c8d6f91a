"""A mapping whose copies share their unchanged entries, so that the next catalogue costs only the change.

Rules: docs/architecture.md#what-is-kept-and-until-when.

Copying a dictionary of 100,000 documents takes milliseconds in which no request is answered. It also writes to every
object in it, to its reference count: after a fork, none of that memory would be shared any longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SMALL: Final = 1_000
_SHARE: Final = 16
"""Changes are copied while they are at most `_SMALL` or at most this part of the whole; above that everything is
rebuilt."""

_GONE: Final[Any] = object()
_UNCHANGED: Final[Any] = object()


class CopyOnWriteMap(MutableMapping[K, V]):
    """A copy-on-write dict: copies share one base dict, and each keeps a small dict of changes. Modify only the newest
    copy. Iteration, in any thread, is not affected by copying."""

    __slots__ = ("_base", "_changes", "_is_shared")

    def __init__(self) -> None:
        self._base: dict[K, V] = _with_hashes()
        self._changes: dict[K, V] = {}  # `_GONE` is the value of a key of the base that was removed
        self._is_shared = False  # then the base is never modified again

    def copy(self) -> CopyOnWriteMap[K, V]:
        """Return a mapping with the same entries, for modification."""
        copied: CopyOnWriteMap[K, V] = CopyOnWriteMap()
        if len(self._changes) > max(_SMALL, len(self._base) // _SHARE):
            for key, value in self.items():  # not in place: another thread may iterate over this mapping
                copied[key] = value
        elif self._base or self._changes:
            self._is_shared = copied._is_shared = True
            copied._base, copied._changes = self._base, self._changes.copy()
        return copied

    def intersection(self, keys: Iterable[K]) -> set[K]:
        """Return the ``keys`` that are in the mapping. Faster than a look-up of each."""
        found = self._base.keys() & keys if self._base else set()
        if self._changes:
            changed = self._changes.keys() & keys
            found = (found - changed) | {key for key in changed if self._changes[key] is not _GONE}
        return found

    @property
    def is_empty(self) -> bool:
        """Whether the mapping is empty, without counting: False where that is not certain."""
        return not self._base and not self._changes

    def keys_not_in(self, other: CopyOnWriteMap[K, V]) -> Iterator[K]:
        """Yield the keys that ``other`` does not have. When they share a base, the cost grows with their difference
        only."""
        asked = self._changes.keys() | other._changes.keys() if self._base is other._base else self
        for key in asked:
            if key in self and key not in other:
                yield key

    def __getitem__(self, key: K) -> V:
        value = self._changes.get(key, _UNCHANGED)
        if value is _UNCHANGED:
            return self._base[key]
        if value is _GONE:
            raise KeyError(key)
        return value  # type: ignore[no-any-return]

    def __contains__(self, key: Any) -> bool:
        value = self._changes.get(key, _UNCHANGED)
        return key in self._base if value is _UNCHANGED else value is not _GONE

    def __setitem__(self, key: K, value: V) -> None:
        if self._is_shared:
            self._changes[key] = value
        else:
            self._base[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        if not self._is_shared:
            del self._base[key]
        elif key in self._base:
            self._changes[key] = _GONE
        else:
            del self._changes[key]

    def __iter__(self) -> Iterator[K]:
        for key in self._base:
            if key not in self._changes:
                yield key
        for key, value in self._changes.items():
            if value is not _GONE:
                yield key

    def values(self) -> Iterator[V]:  # type: ignore[override]
        """Yield the values, in a third of the time that a look-up for each key takes."""
        if not self._changes:
            yield from self._base.values()
            return
        for key, value in self._base.items():
            if key not in self._changes:
                yield value
        for value in self._changes.values():
            if value is not _GONE:
                yield value

    def __len__(self) -> int:
        new = sum(key not in self._base for key in self._changes)
        gone = sum(value is _GONE for value in self._changes.values())
        return len(self._base) + new - gone


def _with_hashes() -> dict[Any, Any]:
    """Return an empty dictionary that stores the hashes of its keys; a dictionary that has only ever held texts does
    not.

    A look-up of a missing key, of which a request has some sixty, then takes half as long in a large dictionary
    (measured: 2.6 µs instead of 5 with 100,000 texts), because the texts are not fetched from memory.
    """
    entries: dict[Any, Any] = {None: None}
    del entries[None]
    return entries
