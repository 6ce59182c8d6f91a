"""Lists of names as ClusterShell and Slurm write them: ``cn[01-20,25]``, ``r[1-4]n[01-36]``, ``web-01,db[1-2]``."""

from __future__ import annotations

import re
from itertools import product
from typing import Final

from answerd.short_texts import brief

MOST_NAMES: Final = 100_000
"""Names of one list."""

_PIECE: Final = re.compile(r"\[([^\[\]]*)\]|([^\[\],]+)|(,)")
_RANGE: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?:/([0-9]{1,9}))?)?\Z")


class NotAList(ValueError):
    """A text is no list of names; one line that says why."""


def is_host_list(text: str) -> bool:
    """Return whether a text is written as a list: it has a comma or a bracket."""
    return not {",", "[", "]"}.isdisjoint(text)


def names_in(text: str) -> list[str]:
    """Return the names of a list in their order, each once. Raises `NotAList`.

    The first number of a range has the zeros that all names have. ``/2`` after a range takes every second number.
    """
    names: dict[str, None] = {}
    parts: list[list[str]] = []
    at = 0
    for piece in [*_PIECE.finditer(text), None]:
        if piece is not None and piece.start() != at:
            break
        if piece is None or piece[3]:
            names.update(dict.fromkeys(_joined(text, parts, len(names))))
            parts = []
        elif piece[2]:
            parts.append([piece[2].strip()])
        else:
            parts.append(_numbers(text, piece[1]))
        at = piece.end() if piece is not None else at
    if at != len(text):
        raise NotAList(f"{brief(text)} is no list of names: a bracket is not closed, or not opened")
    return list(names)


def _joined(text: str, parts: list[list[str]], already: int) -> list[str]:
    count = 1
    for part in parts:
        count *= len(part)
    if already + count > MOST_NAMES:
        raise NotAList(f"{brief(text)} names more than {MOST_NAMES:,} machines")
    found = ["".join(pieces) for pieces in product(*parts)]
    if "" in found:
        raise NotAList(f"{brief(text)} is no list of names: one of them is empty")
    return found


def _numbers(text: str, written: str) -> list[str]:
    """Return the numbers in brackets, each with the zeros of its range."""
    found: list[str] = []
    for one in written.split(","):
        bounds = _RANGE.match(one.strip())
        if bounds is None:
            raise NotAList(f"{brief(text)} is no list of names: brackets hold numbers and ranges, [01-20,25]")
        first, last, step = bounds[1], bounds[2] or bounds[1], int(bounds[3] or 1)
        if len(last) > len(first) and last[0] == "0":
            raise NotAList(f"{brief(text)} is no list of names: both numbers of a range have the zeros, [001-010]")
        if int(last) < int(first) or not step:
            raise NotAList(f"{brief(text)} is no list of names: a range goes up, [01-20]")
        numbers = range(int(first), int(last) + 1, step)
        if len(found) + len(numbers) > MOST_NAMES:
            raise NotAList(f"{brief(text)} names more than {MOST_NAMES:,} machines")
        width = len(first) if first[0] == "0" else 0
        found += [f"{number:0{width}}" for number in numbers]
    return found
