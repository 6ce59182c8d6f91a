"""A unified diff of two texts whose cost grows with the number of their lines only.

The standard library's work grows with the square: 25 s for 20,000 rows of which every second one changed (patiencediff
has this algorithm, and a license that this project cannot take). Here, lines that occur once in both
texts are the anchors (the longest sequence that has the same order in both). Only a short stretch between two anchors
is compared by the standard library; a longer stretch is reported as replaced.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

_SHORT = 1_024
"""Lines of one text times lines of the other, up to which the standard library compares them: whole texts, or the
stretches between two anchors. Where all lines are alike its work grows with the cube: 0.4 ms for 32 lines each, and
70 ms for 190."""


class _Matcher(difflib.SequenceMatcher[str]):
    """The standard matcher with other matching blocks; opcodes and their groups are made of these."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(autojunk=False)  # without the texts, of which it would make an index
        self.texts = list(before), list(after)

    def get_matching_blocks(self) -> list[difflib.Match]:
        """Return the runs of lines that both texts have, in order, and an empty run at the end."""
        before, after = self.texts
        blocks = [difflib.Match(*block) for block in _joined(_blocks(before, after))]
        return [*blocks, difflib.Match(len(before), len(after), 0)]


_Block = tuple[int, int, int]


def unified(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the lines of a unified diff without its two heading lines; ``before`` and ``after`` have no line ends."""
    matcher = _Matcher(before, after)
    lines: list[str] = []
    for group in matcher.get_grouped_opcodes():
        first, last = group[0], group[-1]
        lines.append(f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@")
        for tag, begin, end, new_begin, new_end in group:
            if tag == "equal":
                lines += [f" {line}" for line in before[begin:end]]
                continue
            lines += [f"-{line}" for line in before[begin:end]]
            lines += [f"+{line}" for line in after[new_begin:new_end]]
    return lines


def _range(begin: int, end: int) -> str:
    """Format a range of lines as a unified diff does."""
    length = end - begin
    if length == 1:
        return f"{begin + 1}"
    return f"{begin + 1 if length else begin},{length}"


def _blocks(before: list[str], after: list[str]) -> Iterator[_Block]:
    if len(before) * len(after) <= _SHORT:
        yield from difflib.SequenceMatcher(None, before, after).get_matching_blocks()
        return
    at, new_at = 0, 0
    for anchor, new_anchor in _anchors(before, after):
        yield from _between(before, after, (at, anchor), (new_at, new_anchor))
        yield anchor, new_anchor, 1
        at, new_at = anchor + 1, new_anchor + 1
    yield from _between(before, after, (at, len(before)), (new_at, len(after)))


def _between(before: list[str], after: list[str], old: tuple[int, int], new: tuple[int, int]) -> Iterator[_Block]:
    """Yield the common lines of two stretches: at their beginnings, at their ends and, where they are short,
    between."""
    begin, end = old
    new_begin, new_end = new
    same = 0
    while begin + same < end and new_begin + same < new_end and before[begin + same] == after[new_begin + same]:
        same += 1
    yield begin, new_begin, same
    begin, new_begin = begin + same, new_begin + same
    same = 0
    while end - same > begin and new_end - same > new_begin and before[end - same - 1] == after[new_end - same - 1]:
        same += 1
    end, new_end = end - same, new_end - same
    if 0 < (end - begin) * (new_end - new_begin) <= _SHORT:
        matcher = difflib.SequenceMatcher(None, before[begin:end], after[new_begin:new_end])
        for block in matcher.get_matching_blocks():
            yield begin + block.a, new_begin + block.b, block.size
    yield end, new_end, same


def _anchors(before: list[str], after: list[str]) -> list[tuple[int, int]]:
    """Return the lines that occur once in both texts, as many as have the same order in both."""
    counts, new_counts = Counter(before), Counter(after)
    places = {line: at for at, line in enumerate(after) if new_counts[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(before) if counts[line] == 1 and line in places]
    ends: list[int] = []  # for runs of each length, the smallest position in `after` where such a run ends
    last: list[int] = []  # the pair that ends there
    previous: list[int] = []
    for index, (_, new_at) in enumerate(pairs):
        length = bisect_left(ends, new_at)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [new_at]
        last[length : length + 1] = [index]
    run: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        run.append(pairs[index])
        index = previous[index]
    return run[::-1]


def _joined(blocks: Iterator[_Block]) -> Iterator[_Block]:
    """Yield the blocks without empty blocks, adjoining blocks merged."""
    at, new_at, size = 0, 0, 0
    for begin, new_begin, length in blocks:
        if not length:
            continue
        if begin == at + size and new_begin == new_at + size:
            size += length
            continue
        if size:
            yield at, new_at, size
        at, new_at, size = begin, new_begin, length
    if size:
        yield at, new_at, size
