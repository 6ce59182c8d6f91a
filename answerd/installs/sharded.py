"""A dictionary of texts that may hold millions: it is made of many small ones, so no step of it takes long.

A plain dictionary that outgrows its table moves all entries in one step, in which nothing else runs: a quarter of a
second with a million of them. Walking it, copying its values and freeing it are such steps too. Must not know what it
holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, ValuesView
from typing import Any, Final, TypeVar, overload

V = TypeVar("V")
D = TypeVar("D")

SHARDS: Final = 64
_FREED_AT_ONCE: Final = 1_000
_LAST: Final = SHARDS - 1
_BITS: Final = 32
"""Which bits of a hash choose the dictionary: not the lowest, by which the dictionary itself finds its entries."""


class ShardedDict(Mapping[str, V]):
    """A dict of texts, edited by one thread. Walks take a copy of one part after the other, so others may edit
    meanwhile. The order is none that means anything."""

    __slots__ = ("shards",)

    def __init__(self) -> None:
        self.shards: list[dict[str, V]] = [_with_hashes() for _ in range(SHARDS)]

    def __getitem__(self, key: str) -> V:
        return self.shards[hash(key) >> _BITS & _LAST][key]

    @overload
    def get(self, key: str, /) -> V | None: ...
    @overload
    def get(self, key: str, /, default: V | D) -> V | D: ...
    def get(self, key: str, /, default: Any = None) -> Any:
        """Return the value of a key."""
        return self.shards[hash(key) >> _BITS & _LAST].get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self.shards[hash(key) >> _BITS & _LAST]

    def __setitem__(self, key: str, value: V) -> None:
        self.shards[hash(key) >> _BITS & _LAST][key] = value

    def pop(self, key: str) -> V | None:
        """Remove a key, where it is there, and return its value."""
        return self.shards[hash(key) >> _BITS & _LAST].pop(key, None)

    def intersection(self, keys: Collection[str]) -> set[str]:
        """Return those of some keys that are there."""
        shards = self.shards
        return {key for key in keys if key in shards[hash(key) >> _BITS & _LAST]}

    def values(self) -> ValuesView[V]:
        """Return the values."""
        return _Values(self)

    def parts(self) -> Iterator[list[V]]:
        """Yield all values, in lists."""
        for shard in self.shards:
            yield [*shard.values()]

    def __iter__(self) -> Iterator[str]:
        for shard in self.shards:
            yield from [*shard]

    def __len__(self) -> int:
        return sum(map(len, self.shards))


class _Values(ValuesView[V]):
    """The values, without a look-up of each."""

    _mapping: ShardedDict[V]

    def __iter__(self) -> Iterator[V]:
        for part in self._mapping.parts():
            yield from part


def _with_hashes() -> dict[Any, Any]:
    """Return an empty dictionary that stores the hashes of its keys: it grows without fetching each text."""
    entries: dict[Any, Any] = {None: None}
    del entries[None]
    return entries


def free_in_steps(shards: list[dict[str, Any]], pause: Callable[[], None]) -> None:
    """Empty a list of shards that was taken from a dictionary which nobody needs any more. ``pause`` is called between
    steps. Whoever still uses that dictionary keeps all of it."""
    while shards:
        shard = shards.pop()
        held = [*shard, *shard.values()]  # else they would go with the shard, in one step
        del shard
        while held:
            del held[-_FREED_AT_ONCE:]
            pause()
