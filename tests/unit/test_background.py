"""What a load does beside requests: gives way to them, does what is new and no more, leaves the collector alone."""

from __future__ import annotations

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer, warm_up
from answerd.documents import Key, RawDocument
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


@pytest.mark.parametrize("text", ["z = 1\n", "z = "], ids=["readable", "broken"])
def test_after_a_change_of_a_group_nothing_holds_its_former_version(text: str) -> None:
    """Also where only a request tells that a machine stands on it, so that its answer cannot be prepared again."""
    form = 'y = "{}"\n[match]\nserial = "A*"\n'
    before = RawDocument(GROUP.key, form.format(1))
    top = RawDocument(Key(Kind.GROUP, "top", "toml"), 'extends = "g"\nx = 1\n[match]\nserial = "A*"\npath = "*"\n')
    catalogue = Catalogue().changed([before, top, machine(1, "x = 1\n")])
    warm_up(catalogue)
    for name in ("g", "top"):
        prepared_answer((*catalogue.chain(catalogue.group(name, "toml")), *catalogue.machines["m1"]))
    after = catalogue.changed([RawDocument(GROUP.key, text if text == "z = " else form.format(2))], [before])
    warm_up(after, catalogue)
    del catalogue
    stacks = [document.stacks for document in after.documents.values() if document.stacks]
    last = [document.prepared[0] for document in after.documents.values() if document.prepared]
    held = [*last, *(below for kept in stacks for below in (*kept.prepared, *kept.merged))]
    assert {layer for below in held for layer in below} <= set(after.documents.values())


def test_a_problem_is_logged_when_it_is_new() -> None:
    digest = Preparation()
    broken = machine(1, "x =")
    catalogue = Catalogue().changed([GROUP, broken])
    [line] = digest.update(catalogue, checks=True)
    assert line.startswith('problem: machine "m1" (toml): does not parse')
    assert digest.update(catalogue.changed([machine(2)]), checks=True) == []
    assert digest.update(catalogue.changed([machine(1, "y =")], [broken]), checks=False) == []
    assert digest.catalogue is not catalogue
