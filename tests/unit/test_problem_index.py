"""The index of problems: after any run of changes it says what a look at everything says."""

from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from answerd.answers import catalogue as catalogue_module
from answerd.answers.catalogue import Catalogue, height_problem
from answerd.answers.problems import ProblemIndex, load_problems
from answerd.documents import Document, Key, RawDocument
from answerd.errors import BrokenDocument
from answerd.identity import Kind

NAMES = ("a", "b", "A", "c")
KEYS = [
    *(
        Key(kind, name, extension)
        for kind in (Kind.GROUP, Kind.MACHINE)
        for name in NAMES
        for extension in ("toml", "ks")
    ),
    Key(Kind.DEFAULT, "", "toml"),
    Key(Kind.MACHINE, "proxmox", "toml"),
    Key(Kind.MACHINE, "not a name", "toml"),
]
TOML = ["overlay = 7", 'extends = "a"', 'extends = "b"', 'extends = "A"', "x = 1", "x = = 1", 'members = ["a"]']
TEXTS = [*TOML, "# answer: extends a", "# answer: extends b", "# answer: no-such-verb"]
CHANGE = st.tuples(st.sampled_from(KEYS), st.sampled_from([*TEXTS, None]))


STEPS = st.lists(st.lists(CHANGE, max_size=3, unique_by=lambda change: change[0]), max_size=12)


@given(STEPS, st.booleans(), st.sampled_from([1, 2, 100]))
def test_an_index_brought_up_to_date_equals_one_made_anew(
    steps: list[list[tuple[Key, str | None]]], reports_changes: bool, most_groups: int
) -> None:
    with (
        mock.patch("answerd.answers.problems.MOST_GROUPS", most_groups),
        mock.patch("answerd.answers.catalogue.MOST_GROUPS", most_groups),
    ):
        check_against_one_made_anew(steps, reports_changes)


def check_against_one_made_anew(steps: list[list[tuple[Key, str | None]]], reports_changes: bool) -> None:
    catalogue, held = Catalogue(), dict[Key, RawDocument]()
    index = ProblemIndex.of(catalogue)
    for step in steps:
        removed = [held.pop(key) for key, _ in step if key in held]
        added = [RawDocument(key, text) for key, text in step if text is not None]
        held.update({raw.key: raw for raw in added})
        catalogue = catalogue.changed(added, removed)
        index = index.after(catalogue, added, removed) if reports_changes else index.after(catalogue)

        assert index.listed() == load_problems(catalogue)
        assert {problem for problem in index.listed() if "more groups than" in problem} == {
            height_problem(claim)
            for claim in catalogue.claims
            if height(catalogue, claim) > catalogue_module.MOST_GROUPS
        }


def height(catalogue: Catalogue, group: Document) -> int:
    """The number of groups that a group extends, with itself, by walking; 0 where the walk does not end."""
    walked: list[Document] = []
    try:
        catalogue.check_unique(group)
        while group not in walked:
            walked.append(group)
            parent = catalogue.group(group.control.extends, group.key.format) if group.control.extends else None
            if parent is None:
                return len(walked)
            group = parent
    except BrokenDocument:
        pass
    return 0


def problems_of(*documents: RawDocument) -> list[str]:
    return load_problems(Catalogue().changed(documents))


def group(name: str, text: str) -> RawDocument:
    return RawDocument(Key(Kind.GROUP, name, "toml"), text)


def test_a_cycle_is_named_once_with_all_its_groups() -> None:
    found = problems_of(
        group("c", 'extends = "a"'),
        group("a", 'extends = "b"'),
        group("b", 'extends = "c"'),
        group("d", 'extends = "a"'),
    )

    assert found == ['group "a" (toml): is in a cycle of extends: a -> b -> c -> a']


def test_two_cycles_are_two_problems() -> None:
    found = problems_of(
        group("a", 'extends = "b"'), group("b", 'extends = "a"'), group("c", 'extends = "C"'), group("z", "x = 1")
    )

    assert found == [
        'group "a" (toml): is in a cycle of extends: a -> b -> a',
        'group "c" (toml): is in a cycle of extends: c -> c',
    ]


def test_problems_are_the_same_in_whatever_order_documents_come() -> None:
    documents = [
        group("a", 'extends = "b"'),
        group("b", 'extends = "a"'),
        group("B", "x = 1"),
        RawDocument(Key(Kind.MACHINE, "n", "toml"), 'extends = "ghost"'),
        RawDocument(Key(Kind.MACHINE, "N", "toml"), "= ="),
    ]

    assert problems_of(*documents) == problems_of(*reversed(documents))
