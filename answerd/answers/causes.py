"""Sentences of a check gathered by their cause: those that differ only in what they are about are one.

Rules: docs/check.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

MOST_TOLD: Final = 3
"""The most places of a cause that are told one by one, and the most subjects of one place."""

_SUBJECT: Final = re.compile(
    r'(?P<subject>(?:default|(?:machine|group) "[^"]*") \(\w+\)(?: for member "[^"]*")?'
    r"|\S+\.csv:\d+(?:, \S+ \(\w+\))?): (?P<rest>.*?)"
    r"(?P<place> \((?:[^()]|\(\w+\))*(?:\.\w+|\)):\d+\))?"
)
"""A place is that of a file, ``(groups/er.yaml:5)``, or of a document of a database, ``(group er (yaml):5)``."""

_ROW_IN_PLACE: Final = re.compile(r", [^(),]*\.csv:\d+\)\Z")


class Cause(NamedTuple):
    """One cause: its sentences, the first of which stands for all, and the machines that they affect, where these are
    known. ``subject`` is what the first sentence is about, ``rest`` what it says of that; the subject is empty for a
    sentence that is about nothing known."""

    alike: Sequence[str]
    machines: frozenset[str]
    subject: str
    rest: str


def causes(sentences: Iterable[str], machines: Mapping[str, frozenset[str]]) -> Iterator[Cause]:
    """Yield each cause once, in the order of the sentences: those that differ only in their subject, and in their place
    too where there are many."""
    alike: dict[str, dict[str, list[str]]] = {}
    for sentence in sentences:
        found = _SUBJECT.fullmatch(sentence)
        cause, place = (found["rest"], without_row(found["place"] or "")) if found else (sentence, "")
        alike.setdefault(cause, {}).setdefault(place, []).append(sentence)
    for places in alike.values():
        of_all = [sentence for group in places.values() for sentence in group]
        for group in places.values() if len(places) <= MOST_TOLD else [of_all]:
            hit = frozenset[str]().union(*(machines.get(sentence, frozenset()) for sentence in group))
            found = _SUBJECT.fullmatch(group[0])
            place = (found["place"] or "") if found else ""
            rest = f"{found['rest']}{without_row(place) if len(group) > 1 else place}" if found else group[0]
            yield Cause(group, hit, found["subject"] if found else "", rest)


def without_row(sentence: str) -> str:
    """Return a sentence, or a place, without the row at the end of its place: one value of a document is filled by the
    row of each machine."""
    return _ROW_IN_PLACE.sub(")", sentence)


def subject_of(sentence: str) -> str:
    """Return what a sentence of a check is about; empty where it is about nothing known."""
    found = _SUBJECT.fullmatch(sentence)
    return found["subject"] if found else ""
