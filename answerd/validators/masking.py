"""Masks the words of an answer in messages of other programs, which quote it although it holds passwords.

A word of a message that occurs in the answer is replaced by ``…``, unless it is a word of usual messages or the name of
a key, command or option of the format. Knows no program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

HIDDEN = "…"

_PARTS = re.compile(
    r"\b(?:lines?|col|column|row|char|character|position|offset)\W{0,2}\d+"  # a place
    r"|answer\.\w+(?::\d+)*"  # the copy that a program was given, and a place in it
    r"|(?P<word>\w+)|(?P<signs>[^\w\s]{4,})",
    re.IGNORECASE,
)
_SEVERAL = re.compile(rf"{HIDDEN}(?:[^\w\s]*{HIDDEN})+")
_SHORT = 3
"""Characters of the shortest word that is also searched for within the words of the answer: programs cut words."""

_WORDS = """
a additional after all allowed an and any are argument arguments as at be because been before between bool boolean
but by can cannot character characters choice choose closing column command config could data declared deprecated
did does document duplicate during each either element empty end error errors exactly exit expected expecting
expects extra failed field file files first following for format found from general given got has have if ignored
in int integer invalid is it its json key keys kickstart length level less line lines list many match may missing
more must name namespace need needs no non none not null number object occurred of on once one only opening option
options or out parse parsed parser parsing part problem properties property provided quotation read reason refused
removed required schema section sections should single skipping specified start status string successfully such
supported syntax table tag than that the there this to token toml too try type types unable unclosed unexpected
unique unknown unrecognized unsupported until use used valid value values version warning was were when while will
with without wrong xml yaml you
"""
_OF_MESSAGES = frozenset(_WORDS.split())
"""Words of usual messages; a password that is one of these words is not masked."""


def masking(answer: str, known: Collection[str] = ()) -> Callable[[str], str]:
    """Return a function that masks a message about ``answer``. Words in ``known`` (lower case) are not masked."""
    folded = answer.casefold()
    words = frozenset(re.findall(r"\w+", folded))
    kept = _OF_MESSAGES.union(known)

    def is_of_answer(part: re.Match[str]) -> bool:
        if part["signs"]:
            return part["signs"] in folded
        word = (part["word"] or "").casefold()
        return bool(word) and word not in kept and (word in words or (len(word) >= _SHORT and word in folded))

    def mask(message: str) -> str:
        return _SEVERAL.sub(HIDDEN, _PARTS.sub(lambda part: HIDDEN if is_of_answer(part) else part[0], message))

    return mask
