"""What a load does beside requests: gives way to them, does what is new and no more, leaves the collector alone."""

from __future__ import annotations

import gc

import pytest

from answerd.answers import compose
from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import warm_up
from answerd.documents import Key, RawDocument
from answerd.formats.family import Prepared
from answerd.identity import Kind
from answerd.server.answer_set import Preparation

GROUP = RawDocument(Key(Kind.GROUP, "g", "toml"), 'y = "1"\n')


def machine(number: int, text: str = 'extends = "g"\nx = "{{ mac }}"\n') -> RawDocument:
    return RawDocument(Key(Kind.MACHINE, f"m{number}", "toml"), text)


# --- doing what is new ----------------------------------------------------------------------------------------------


def test_after_a_change_only_what_is_new_is_looked_at(parsed: list[str]) -> None:
    machines = [machine(number) for number in range(500)]
    catalogue = Catalogue().changed([GROUP, *machines])
    warm_up(catalogue)
    assert len(parsed) == 501
    parsed.clear()
    after = catalogue.changed([machine(7, "x = 7\n")], [machines[7]])
    warm_up(after, catalogue)
    assert parsed == ["x = 7\n"]


def test_after_a_change_of_a_group_all_that_stand_on_it_are_prepared_again() -> None:
    machines = [machine(number) for number in range(3)]
    catalogue = Catalogue().changed([GROUP, *machines])
    warm_up(catalogue)
    after = catalogue.changed([RawDocument(GROUP.key, "y = 2\n")], [GROUP])
    warm_up(after, catalogue)
    for raw in machines:
        kept = after.documents[raw].prepared
        assert kept is not None
        assert kept[1].parts[0] == b'y = 2\nx = "'


def test_versions_of_a_group_that_were_prepared_and_checked_are_freed() -> None:
    preparation, before = Preparation(), GROUP
    catalogue = Catalogue().changed([before, machine(0)])
    for version in range(50):
        preparation.update(catalogue, checks=True)
        after = RawDocument(GROUP.key, f"y = {version}\n")
        catalogue, before = catalogue.changed([after], [before]), after
    gc.collect()
    kept = {found.text for found in gc.get_objects() if isinstance(found, RawDocument) and found.key == GROUP.key}
    assert kept - {GROUP.text} == {"y = 48\n", "y = 49\n"}


def test_a_group_that_answers_by_itself_is_prepared_and_no_other() -> None:
    texts = {
        "base": "x = 1\n",
        "rack": 'members = ["m1"]\n',
        "site": 'match.site = "a"\nextends = "base"\n',
        "over": 'overlay = 1\nmembers = ["m1"]\n',
    }
    raws = {name: RawDocument(Key(Kind.GROUP, name, "toml"), text) for name, text in texts.items()}
    catalogue = Catalogue().changed(raws.values())
    warm_up(catalogue)
    groups = {name: catalogue.documents[raw] for name, raw in raws.items()}
    assert {name for name, group in groups.items() if group.prepared} == {"rack", "site"}
    assert groups["site"].prepared is not None
    assert groups["site"].prepared[0] == (groups["base"],)


def test_a_problem_is_logged_when_it_is_new() -> None:
    digest = Preparation()
    broken = machine(1, "x =")
    catalogue = Catalogue().changed([GROUP, broken])
    [line] = digest.update(catalogue, checks=True)
    assert line.startswith('problem: machine "m1" (toml): does not parse')
    assert digest.update(catalogue.changed([machine(2)]), checks=True) == []
    assert digest.update(catalogue.changed([machine(1, "y =")], [broken]), checks=False) == []
    assert digest.catalogue is not catalogue


def test_a_process_that_answers_no_machine_looks_for_problems_and_prepares_nothing() -> None:
    whole, broken = machine(1), machine(2, "x =")
    catalogue = Catalogue().changed([GROUP, whole, broken])
    [_] = Preparation().update(catalogue, checks=True, prepares=False)
    assert catalogue.documents[whole].prepared is None


def test_a_defect_at_one_document_is_told_once_and_keeps_no_other_from_being_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd, others = machine(1, "odd = 1\n"), [machine(number) for number in range(2, 40)]
    prepare = compose._prepare

    def failing(layers: compose.Layers) -> Prepared:
        if layers[-1].raw is odd:
            raise AttributeError("a defect")
        return prepare(layers)

    monkeypatch.setattr(compose, "_prepare", failing)
    preparation, catalogue = Preparation(), Catalogue().changed([GROUP, odd, *others, machine(50, "x =")])
    lines = preparation.update(catalogue, checks=True)
    assert [line.partition(":")[0] for line in lines] == ["preparing answers failed", "problem"]
    assert all(catalogue.documents[raw].prepared for raw in others)
    assert preparation.catalogue is catalogue
    assert preparation.update(catalogue, checks=True) == []
