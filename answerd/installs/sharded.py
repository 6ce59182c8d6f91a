"""A dictionary of texts that may hold millions: it is made of many small ones, so no step of it takes long.

A plain dictionary that outgrows its table moves all entries in one step, in which nothing else runs: a quarter of a
second with a million of them. Walking it, copying its values and freeing it are such steps too. Must not know what it
holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, ValuesView
from itertools import islice
from typing import Any, Final, TypeVar, overload

V = TypeVar("V")
D = TypeVar("D")

MOST_IN_FIRST: Final = 87_000
"""Entries of the first dictionary, which is searched in a tenth of the time: one table holds so many."""

SHARDS: Final = 64
_FREED_AT_ONCE: Final = 1_000
_LAST: Final = SHARDS - 1
_BITS: Final = 32
"""Which bits of a hash choose the dictionary: not the lowest, by which the dictionary itself finds its entries."""

_MISSING: Any = object()


class ShardedDict(Mapping[str, V]):
    """A dict of texts, edited by one thread. Walks take a copy of one part after the other, so others may edit
    meanwhile. The order is none that means anything."""

    __slots__ = ("_first", "_is_split", "_most_in_first", "_shards")

    def __init__(self, most_in_first: int = MOST_IN_FIRST) -> None:
        self._most_in_first = most_in_first
        self._first: dict[str, V] = {}
        self._shards: list[dict[str, V]] = [{} for _ in range(SHARDS)]
        self._is_split = False  # whether anything is in shards: what is new goes there then

    def __getitem__(self, key: str) -> V:
        value = self._first.get(key, _MISSING)
        return self._shards[hash(key) >> _BITS & _LAST][key] if value is _MISSING else value

    @overload
    def get(self, key: str, /) -> V | None: ...
    @overload
    def get(self, key: str, /, default: V | D) -> V | D: ...
    def get(self, key: str, /, default: Any = None) -> Any:
        """Return the value of a key."""
        value = self._first.get(key, _MISSING)
        if value is not _MISSING:
            return value
        return self._shards[hash(key) >> _BITS & _LAST].get(key, default) if self._is_split else default

    def __contains__(self, key: object) -> bool:
        return key in self._first or (self._is_split and key in self._shards[hash(key) >> _BITS & _LAST])

    def __setitem__(self, key: str, value: V) -> None:
        first = self._first
        if key in first or (not self._is_split and len(first) < self._most_in_first):
            first[key] = value
            return
        self._is_split = True
        self._shards[hash(key) >> _BITS & _LAST][key] = value

    def pop(self, key: str) -> V | None:
        """Remove a key, where it is there, and return its value."""
        if key in self._first:
            return self._first.pop(key)
        return self._shards[hash(key) >> _BITS & _LAST].pop(key, None)

    def intersection(self, keys: Collection[str]) -> set[str]:
        """Return those of some keys that are there."""
        found = self._first.keys() & keys
        if self._is_split:
            shards = self._shards
            found |= {key for key in keys if key in shards[hash(key) >> _BITS & _LAST]}
        return found

    def values(self) -> ValuesView[V]:
        """Return the values."""
        return _Values(self)

    def tables(self) -> list[dict[str, V]]:
        """Return the dictionaries that it is made of."""
        return [self._first, *self._shards]

    def parts(self) -> Iterator[list[V]]:
        """Yield all values, in lists."""
        for table in self.tables():
            yield [*table.values()]

    def __iter__(self) -> Iterator[str]:
        for table in self.tables():
            yield from [*table]

    def __len__(self) -> int:
        return sum(map(len, self.tables()))


class _Values(ValuesView[V]):
    """The values, without a look-up of each."""

    _mapping: ShardedDict[V]

    def __iter__(self) -> Iterator[V]:
        for part in self._mapping.parts():
            yield from part


def free_in_steps(given_up: list[dict[str, Any] | list[Any]], pause: Callable[[], None]) -> None:
    """Empty a list of lists, and of the tables of a `ShardedDict`, that are needed no more. ``pause`` is called between
    steps. A caller that still uses such a dictionary keeps all of it; a list is emptied."""
    while given_up:
        piece = given_up.pop()
        if isinstance(piece, dict):
            held: list[Any] = []  # else all would go with the table, in one step
            entries = iter(piece.items())
            while some := [*islice(entries, _FREED_AT_ONCE)]:
                held += some
                pause()
            del entries
        else:
            held = piece
        del piece
        while held:
            del held[-_FREED_AT_ONCE:]
            pause()
