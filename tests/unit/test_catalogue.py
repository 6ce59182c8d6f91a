"""The catalogue: what a change costs, how high groups may be stacked, and what is kept of groups that are gone.

Rules: docs/selection.md#which-documents-answer.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from answerd.answers.catalogue import MOST_GROUPS, Catalogue
from answerd.answers.problems import load_problems
from answerd.answers.resolve import resolve
from answerd.documents import Key, RawDocument
from answerd.errors import BrokenDocument
from answerd.facts import Facts, Request
from answerd.identity import Kind


def raw(name: str, text: str, kind: Kind = Kind.MACHINE) -> RawDocument:
    return RawDocument(Key(kind, name, "toml"), text)


def test_what_did_not_change_is_not_parsed_again(parsed: list[str]) -> None:
    machines = [raw(f"m{number}", f"x = {number}\n") for number in range(50)]
    group = raw("g", 'members = ["m1"]\n', Kind.GROUP)
    catalogue = Catalogue().changed([*machines, group])
    load_problems(catalogue)
    assert len(parsed) == 51
    parsed.clear()
    catalogue = catalogue.changed([raw("m1", "x = -1\n")], [machines[1]])
    load_problems(catalogue)
    resolve(catalogue, Facts(Request(query="mac=m1")))
    assert parsed == ["x = -1\n"]


def test_machines_are_parsed_when_they_are_first_needed(parsed: list[str]) -> None:
    catalogue = Catalogue().changed([raw(f"m{number}", f"x = {number}\n") for number in range(50)])
    assert parsed == []
    resolve(catalogue, Facts(Request(query="mac=m7")))
    assert parsed == ["x = 7\n"]


def chain_of(count: int) -> Catalogue:
    """A machine over a chain of groups, of which the last is the lowest."""
    groups = [raw(f"g{n}", f'extends = "g{n + 1}"\nk{n} = 1\n', Kind.GROUP) for n in range(count - 1)]
    groups.append(raw(f"g{count - 1}", "last = 1\n", Kind.GROUP))
    return Catalogue().changed([*groups, raw("m1", 'extends = "g0"\n')])


def test_an_answer_stands_on_as_many_groups_as_the_limit_says() -> None:
    catalogue = chain_of(MOST_GROUPS)
    assert load_problems(catalogue) == []
    lines = resolve(catalogue, Facts(Request(query="mac=m1"))).body.decode().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("last = 1", "k0 = 1", MOST_GROUPS)


@pytest.mark.parametrize("count", [MOST_GROUPS + 1, 3_000])
def test_a_longer_chain_is_a_problem_of_each_group_that_is_too_high(count: int) -> None:
    catalogue = chain_of(count)
    problems = load_problems(catalogue)
    assert len(problems) == count - MOST_GROUPS
    assert problems[0].startswith('group "g0" (toml): extends more groups than an answer may have, which is 100')
    with pytest.raises(BrokenDocument) as refused:
        resolve(catalogue, Facts(Request(query="mac=m1")))
    assert refused.value.reason == problems[0]


def test_a_cycle_of_thousands_of_groups_is_a_problem_and_no_trouble() -> None:
    names = [f"g{number:04}" for number in range(3_000)]
    pairs: Iterable[tuple[str, str]] = zip(names, [*names[1:], names[0]], strict=True)
    catalogue = Catalogue().changed(raw(name, f'extends = "{after}"\n', Kind.GROUP) for name, after in pairs)
    problems = load_problems(catalogue)
    assert len(problems) == 1
    assert problems[0].startswith('group "g0000" (toml): is in a cycle of extends: g0000 -> g0001')
    with pytest.raises(BrokenDocument, match="extends more groups"):  # nobody climbs further than that
        catalogue.chain(catalogue.group("g1500", "toml"))


def test_groups_that_nobody_could_read_are_listed_until_they_are_readable_or_gone() -> None:
    broken = [raw(name, "members = 7\n", Kind.GROUP) for name in ("b", "c", "a")]
    catalogue = Catalogue().changed(broken)
    assert [group.key.identifier for group in catalogue.unreadable] == ["a", "b", "c"]
    after = catalogue.changed([raw("b", "x = 1\n", Kind.GROUP)], broken[:2])
    assert [group.key.identifier for group in after.unreadable] == ["a"]


def test_the_claims_of_groups_that_are_gone_are_kept_within_bounds() -> None:
    def group(name: str, members: int = 1) -> RawDocument:
        texts = ", ".join(f'"{name}-{number}"' for number in range(members))
        return RawDocument(Key(Kind.GROUP, name, "toml"), f"members = [{texts}]\n")

    groups = [group(f"g{number}") for number in range(150)]
    catalogue = Catalogue().changed(groups)
    for document in groups:
        catalogue = catalogue.changed([], [document])
    assert [name for name, _ in catalogue.gone] == [f"g{number}" for number in range(50, 150)]
    large = [group("large", 60_000), group("larger", 60_000)]
    catalogue = catalogue.changed(large).changed([], large[:1]).changed([], large[1:])
    assert [name for name, _ in catalogue.gone] == ["larger"]
    catalogue = catalogue.changed([group("Larger")])
    assert not catalogue.gone
