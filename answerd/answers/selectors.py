"""Which of many selectors hold for a request, without trying them all.

A selector that has an exact criterion (no wildcard) can hold only for a request that carries that very value, so it
is filed under it; of several exact criteria, under the one that fewest selectors share. Only selectors made of
wildcards alone are tried one by one.
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
    """Selectors by the value they need. Built once, then only asked."""

    def __init__(self, selectors: Iterable[tuple[Owner, Selector]] = ()) -> None:
        pairs = [(owner, match) for owner, match in selectors]
        shared = Counter(key for _, match in pairs for criterion in match for key in _exact_keys(criterion))
        self._filed: dict[str, dict[str, list[tuple[Owner, Selector]]]] = {}
        self._wild: list[tuple[Owner, Selector]] = []
        for pair in pairs:
            exact = [keys for criterion in pair[1] if (keys := _exact_keys(criterion))]
            if not exact:
                self._wild.append(pair)
                continue
            for label, form in min(exact, key=lambda keys: sum(shared[key] for key in keys)):
                self._filed.setdefault(label, {}).setdefault(form, []).append(pair)

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
        for label, by_form in self._filed.items():
            for form in facts.forms(label):
                yield from by_form.get(form, ())
        yield from self._wild


def _exact_keys(criterion: Criterion) -> frozenset[tuple[str, str]]:
    """The values of which a request must carry one, or nothing when a wildcard may do."""
    forms = [pattern.exact for pattern in criterion.patterns]
    if None in forms:
        return frozenset()
    return frozenset((criterion.label, form) for form in forms if form is not None)
