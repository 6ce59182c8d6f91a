"""The known name that a misspelled one is nearest to, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Final

LONGEST: Final = 60
"""Characters of a name that gets a suggestion: the comparison takes time with the square of the length."""


def did_you_mean(name: str, known: Iterable[str], shown: Callable[[str], str] = repr) -> str:
    """Return ``; did you mean 'member'?`` with the known name that is nearest, whatever the case of letters; an empty
    text where none is near.

    ``name`` itself is not part of the text, because it may be a secret. ``shown`` gives a known name as it is printed.
    """
    if len(name) > LONGEST:
        return ""
    by_lower_case = {one.lower(): one for one in known}
    nearest = difflib.get_close_matches(name.lower(), by_lower_case, n=1)
    return f"; did you mean {shown(by_lower_case[nearest[0]])}?" if nearest else ""
