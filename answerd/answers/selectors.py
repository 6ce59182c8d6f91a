"""Which of many selectors hold for a request, without trying them all.

A selector can hold only for a request that carries a value which its patterns allow, so it is filed under what such a
value begins with: the whole of it where the pattern is exact. Of several criteria the one counts that fewest selectors
share. Only selectors whose patterns all begin with a wildcard are tried one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from answerd.facts import Facts
from answerd.formats.control import Criterion

Owner = TypeVar("Owner")
Selector = tuple[Criterion, ...]


def holds(match: Iterable[Criterion], facts: Facts) -> bool:
    """Whether every criterion holds for the request."""
    return all(criterion.holds(facts.forms(criterion.label)) for criterion in match)


class SelectorIndex(Generic[Owner]):
    """Selectors by the beginning of a value that they need. Built once, then only asked."""

    def __init__(self, selectors: Iterable[tuple[Owner, Selector]] = ()) -> None:
        pairs = [(owner, match) for owner, match in selectors]
        shared = Counter(key for _, match in pairs for criterion in match for key in _beginnings(criterion))
        self._filed: dict[str, _ByBeginning[Owner]] = {}
        self._wild: list[tuple[Owner, Selector]] = []
        for pair in pairs:
            telling = [keys for criterion in pair[1] if (keys := _beginnings(criterion))]
            if not telling:
                self._wild.append(pair)
                continue
            for label, beginning, is_whole in min(telling, key=lambda keys: sum(shared[key] for key in keys)):
                self._filed.setdefault(label, _ByBeginning()).add(beginning, pair, is_whole=is_whole)

    def holding(self, facts: Facts) -> list[Owner]:
        """The owners of the selectors that hold for the request, each once."""
        tried: set[int] = set()
        owners: list[Owner] = []
        for pair in self._candidates(facts):
            if id(pair) not in tried:
                tried.add(id(pair))
                owner, match = pair
                if holds(match, facts):
                    owners.append(owner)
        return owners

    def _candidates(self, facts: Facts) -> Iterator[tuple[Owner, Selector]]:
        for label, filed in self._filed.items():
            for form in facts.forms(label):
                yield from filed.allowing(form)
        yield from self._wild


class _ByBeginning(Generic[Owner]):
    """The selectors that are filed under one label."""

    def __init__(self) -> None:
        self.whole: dict[str, list[tuple[Owner, Selector]]] = {}
        self.by_length: dict[int, dict[str, list[tuple[Owner, Selector]]]] = {}

    def add(self, beginning: str, pair: tuple[Owner, Selector], *, is_whole: bool) -> None:
        """File a selector under what a value must be, or begin with."""
        place = self.whole if is_whole else self.by_length.setdefault(len(beginning), {})
        place.setdefault(beginning, []).append(pair)

    def allowing(self, form: str) -> Iterator[tuple[Owner, Selector]]:
        """The selectors that a value may satisfy: a look-up for each length of beginning, however many there are."""
        yield from self.whole.get(form, ())
        for length, filed in self.by_length.items():
            yield from filed.get(form[:length], ())


def _beginnings(criterion: Criterion) -> frozenset[tuple[str, str, bool]]:
    """The label, what a request's value must begin with, and whether that is all of it; for each pattern.

    Nothing when a pattern begins with a wildcard.
    """
    if not all(pattern.beginning for pattern in criterion.patterns):
        return frozenset()
    return frozenset((criterion.label, one.beginning, one.exact is not None) for one in criterion.patterns)
