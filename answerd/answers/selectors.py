"""Find which of many selectors hold for a request, without trying them all.

A selector can hold only for a request with a value that its patterns allow, so it is filed under a text that every such
value contains: the whole value where the pattern is exact, its beginning, or a piece of a text between wildcards. Of
all possible keys it is filed under the key with the fewest selectors. Only selectors that may allow any value (``*``,
``???``) are tried one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from answerd.facts import Facts
from answerd.formats.control import Criterion, Pattern

Owner = TypeVar("Owner", bound=Hashable)
Selector = tuple[Criterion, ...]

_PIECES: Final[tuple[int, ...]] = (8, 4, 3, 2, 1)
"""Lengths of pieces, in characters. A value is cut into all its pieces of each length in use, so they are few."""

_MOST_CHOICES: Final = 300
"""Pieces of a pattern that are considered: any piece is right, and an identifier has at most 200 characters."""

_A_FEW: Final = 4
"""Selectors that cost less to try than cutting a value into pieces (1 µs for 14 characters)."""

_SOUGHT_ONE_BY_ONE: Final = 32
"""Pieces that cost less to search in a value than cutting it into pieces: 20 ns each for 14 characters, 0.5 ms each for
a million, where the cutting takes 100 ms."""


def holds(match: Iterable[Criterion], facts: Facts) -> bool:
    """Return whether every criterion holds for the request."""
    for criterion in match:  # noqa: SIM110 - the generator of all(...) takes half as long as most criteria
        if not criterion.holds(facts.forms(criterion.label)):
            return False
    return True


_WHOLE: Final = "whole"
_BEGINNING: Final = "beginning"
_INSIDE: Final = "inside"


class _Place(NamedTuple):
    """Return whether every criterion holds for the request."""

    label: str
    where: str
    length: int


class _Need(NamedTuple):
    """A text that every value which a pattern allows has at a place."""

    place: _Place
    text: str


class SelectorIndex(Generic[Owner]):
    """An index of selectors by what they need. Mutable until it is published in a catalogue; then `copy` it."""

    def __init__(self, selectors: Iterable[tuple[Owner, Selector]] = ()) -> None:
        self._selectors: dict[Owner, tuple[Selector, tuple[_Need, ...]]] = {}
        self._filed: dict[_Place, dict[str, dict[Owner, None]]] = {}
        self._own: set[_Need] = set()  # whose owners are not shared with another index
        self._anywhere: dict[Owner, None] = {}
        for owner, match in selectors:
            self.add(owner, match)

    def copy(self) -> SelectorIndex[Owner]:
        """Return a mutable index of the same selectors: 0.1 ms for 2,000."""
        copied: SelectorIndex[Owner] = SelectorIndex()
        copied._selectors = dict(self._selectors)
        copied._filed = {place: dict(filed) for place, filed in self._filed.items()}
        copied._anywhere = dict(self._anywhere)
        return copied

    def add(self, owner: Owner, match: Selector) -> None:
        """File the selector of an owner that has none yet. The cost does not depend on how many are filed."""
        needs = self._chosen(match)
        self._selectors[owner] = match, needs
        if not needs:
            self._anywhere[owner] = None
        for place, text in needs:
            self._owners(_Need(place, text))[owner] = None

    def discard(self, owner: Owner) -> None:
        """Remove an owner's selector, if it has one."""
        _, needs = self._selectors.pop(owner, ((), ()))
        self._anywhere.pop(owner, None)
        for place, text in needs:
            owners = self._owners(_Need(place, text))
            del owners[owner]
            filed = self._filed[place]
            if not owners:
                del filed[text]
            if not filed:
                del self._filed[place]

    def _owners(self, need: _Need) -> dict[Owner, None]:
        """Return the owners that are filed under a need, for modification."""
        filed = self._filed.setdefault(need.place, {})
        if need not in self._own:
            self._own.add(need)
            filed[need.text] = dict(filed.get(need.text, ()))
        return filed.setdefault(need.text, {})

    def items(self) -> Iterator[tuple[Owner, Selector]]:
        """Yield each owner with its selector."""
        for owner, (match, _) in self._selectors.items():
            yield owner, match

    def __len__(self) -> int:
        return len(self._selectors)

    def holding(self, facts: Facts) -> list[Owner]:
        """Return the owners of the selectors that hold for the request, each once."""
        if not self._selectors:
            return []
        if facts.found is not None and self in facts.found:
            return list(facts.found[self])
        candidates: Iterable[Owner] = dict.fromkeys(self._candidates(facts))
        if facts.found is None:
            return [owner for owner in candidates if holds(self._selectors[owner][0], facts)]
        facts.found[self] = holding = [owner for owner in candidates if holds(self._selectors[owner][0], facts)]
        return holding

    def _candidates(self, facts: Facts) -> Iterator[Owner]:
        for (label, where, length), filed in self._filed.items():
            forms: Sequence[str] = facts.forms(label)
            if where is _INSIDE and len(forms) > 1:
                forms = (facts.forms(label).joined,)  # no filed text contains a line end
            for form in forms:
                for text in _found(form, where, length, filed):
                    yield from filed[text]
        yield from self._anywhere

    def _chosen(self, match: Selector) -> tuple[_Need, ...]:
        """Return the needs of one criterion, a text for each of its patterns; nothing when every criterion may allow
        any value.

        Of several criteria, and of what each pattern needs, it is the need with the fewest selectors.
        """
        choices = []
        for criterion in match:
            needed = [_needs(criterion.label, pattern) for pattern in criterion.patterns]
            if all(needed):
                choices.append(tuple(dict.fromkeys(min(needs, key=self._price) for needs in needed)))
        return min(choices, key=lambda needs: max(map(self._price, needs)), default=())

    def _price(self, need: _Need) -> tuple[int, int, int]:
        """Return the cost for a request of a selector that is filed under ``need``, for comparison.

        Cutting values into pieces is only worth it to avoid trying some selectors, and long pieces are found in fewer
        values than short ones.
        """
        sharers = len(self._filed.get(need.place, {}).get(need.text, ()))
        shortness = 1 + _PIECES.index(need.place.length) if need.place.where is _INSIDE else 0
        return sharers // _A_FEW, shortness, sharers


def _found(form: str, where: str, length: int, filed: Mapping[str, object]) -> Iterable[str]:
    """Return the texts that are filed under a place and that a value has there, each once."""
    if where is _INSIDE:
        if len(filed) <= _SOUGHT_ONE_BY_ONE:
            return [piece for piece in filed if piece in form]
        ends = range(length, len(form) + 1)
        return dict.fromkeys([piece for end in ends if (piece := form[end - length : end]) in filed])
    text = form if where is _WHOLE else form[:length]
    return (text,) if text in filed else ()


def _needs(label: str, pattern: Pattern) -> Sequence[_Need]:
    """Return every text that a value must contain to match a pattern; none when the pattern is wildcards only."""
    if pattern.exact is not None:
        return [_Need(_Place(label, _WHOLE, 0), pattern.exact)]
    needs = list(islice(_pieces(label, pattern.runs), _MOST_CHOICES))
    if pattern.beginning:
        needs.append(_Need(_Place(label, _BEGINNING, len(pattern.beginning)), pattern.beginning))
    return needs


def _pieces(label: str, runs: Iterable[str]) -> Iterator[_Need]:
    """Yield the longest pieces of texts after a wildcard, last first: names differ mostly at their end."""
    for run in runs:
        length = next(length for length in _PIECES if length <= len(run))
        place = _Place(label, _INSIDE, length)
        for end in range(len(run), length - 1, -1):
            yield _Need(place, run[end - length : end])
