"""Names that are nearly another: which known name a misspelled one is nearest to, and which differ in one letter."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Final

LONGEST: Final = 60
"""Characters of a name that gets a suggestion: the comparison takes time with the square of the length."""

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def did_you_mean(name: str, known: Iterable[str], shown: Callable[[str], str] = repr) -> str:
    """Return ``; did you mean 'member'?`` with the known name that is nearest, whatever the case of letters; an empty
    text where none is near.

    ``name`` itself is not part of the text, because it may be a secret. ``shown`` gives a known name as it is printed.
    """
    near = nearest(name, known)
    return f"; did you mean {shown(near)}?" if near is not None else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest, whatever the case of letters; None where none is near."""
    if len(name) > LONGEST:
        return None
    by_lower_case = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), by_lower_case, n=1)
    return by_lower_case[found[0]] if found else None


def differs_by_one(written: str, known: str) -> bool:
    """Return whether the words differ in a single letter, which is added, left out, replaced or swapped with the
    next."""
    if written == known or abs(len(written) - len(known)) > 1:
        return False
    shorter, longer = sorted((written, known), key=len)
    at = next((at for at, letter in enumerate(shorter) if letter != longer[at]), len(shorter))
    if len(shorter) < len(longer):
        return shorter[at:] == longer[at + 1 :]
    is_exchanged = written[at : at + 2] == known[at : at + 2][::-1] and written[at + 2 :] == known[at + 2 :]
    return written[at + 1 :] == known[at + 1 :] or is_exchanged


def one_edit_from(name: str) -> set[str]:
    """Return the names that differ in one letter or digit, which is added, left out, replaced or swapped with the
    next."""
    edits = {name[:at] + name[at + 1 :] for at in range(len(name))}
    edits |= {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in range(len(name) - 1)}
    for letter in _LETTERS:
        edits |= {name[:at] + letter + name[at:] for at in range(len(name) + 1)}
        edits |= {name[:at] + letter + name[at + 1 :] for at in range(len(name))}
    return edits - {name}
