"""Changes of the history: which documents changed together, and how many machines that touched.

Rules: docs/console.md#history.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.diff import compare
from answerd.console import changes
from answerd.console.changes import DocumentChange, Touched, made_together, touched
from answerd.console.consequences import LOSE, AffectedMachine, Effect
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.store import Author, HistoryEntry
from tests.support.fleet import key_of


def change(revision: int, token: str = "", what: str = "changed") -> DocumentChange:
    return DocumentChange(revision, 1.0, "ada", what, "", Key(Kind.MACHINE, f"m{revision}", "ks"), token=token)


def test_what_changed_together_is_one_change() -> None:
    listed = [change(7), change(6), change(5, "a"), change(4, "a", "added"), change(3, "a", "added"), change(2, "b")]
    made = [*made_together(listed)]
    assert [[one.revision for one in of.documents] for of in made] == [[7], [6], [5, 4, 3], [2]]
    assert [(one.newest.revision, one.what, one.is_whole) for one in made] == [
        (7, "changed", True),
        (6, "changed", True),
        (5, "2 added, 1 changed", True),
        (2, "changed", True),
    ]


def test_a_change_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "CHANGES_SEARCHED", 3)
    made = [*made_together([change(5), change(4, "a"), change(3, "a"), change(2, "a")])]
    assert [(len(one.documents), one.is_whole) for one in made] == [(1, True), (2, False)]


SETS: Sequence[dict[str, str]] = (
    {},
    {"groups/r.ks": "# answer: member a b c\n# one\n"},
    {"groups/r.ks": "# answer: member a b c\n# two\n", "d.ks": "# d\n"},
    {"groups/r.ks": "# answer: member a b c\n# two\n", "a.ks": "# own\n"},
    {"groups/r.ks": "# answer: member a b\n# two\n", "a.ks": "# own\n", "inventory.csv": "id,mac\n"},
)
"""The versions of a set, the first one first."""


def history() -> list[list[HistoryEntry]]:
    """The changes that made the sets, the newest first."""
    made, revision = [], 0
    for before, after in pairwise(SETS):
        entries: list[Any] = []
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                revision += 1
                entry = HistoryEntry(revision, "", key_of(name), before.get(name), after.get(name), Author(), "t")
                entries.append(entry)
        made.append(entries[::-1])
    return made[::-1]


def catalogue_of(documents: dict[str, str]) -> Catalogue:
    return Catalogue().changed([RawDocument(key_of(name), text) for name, text in documents.items()])


def nothing(_: int, __: int) -> None: ...


def test_the_figure_is_that_of_the_preview() -> None:
    found = touched(catalogue_of(SETS[-1]), history(), {}, nothing)
    previews = []
    for before, after in pairwise(SETS):
        differences = compare(catalogue_of(before), catalogue_of(after)).differences
        previews.append(len({one.identifier for one in differences}))
    assert [one.machines for _, one in sorted(found.items())] == previews == [3, 4, 2, 1]
    assert [one.losing for _, one in sorted(found.items())] == [0, 0, 1, 1]


def test_what_is_known_is_not_counted_again_and_a_set_that_is_another_ends_it() -> None:
    newest = history()[0][0]
    known = {(newest.revision, newest.token): Touched(77, 7)}
    assert touched(catalogue_of(SETS[-1]), history()[:1], known, nothing) == known
    assert touched(catalogue_of(SETS[0]), history(), {}, nothing) == {}


def test_counting_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "COUNTED_SECONDS", -1.0)
    assert touched(catalogue_of(SETS[-1]), history(), {}, nothing) == {}


def test_a_machine_that_gets_two_formats_is_one_machine() -> None:
    effect = Effect(LOSE, [AffectedMachine("pc-01", "ipxe"), AffectedMachine("pc-01", "yaml")])
    assert effect.sentence == "1 machine loses its answer"
