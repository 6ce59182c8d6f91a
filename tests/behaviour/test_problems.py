"""What is wrong with a set before anybody asks: docs/check.md, in every store."""

from __future__ import annotations

import pytest

from tests.support.fleet import Fleet


def test_problems_are_sorted_each_once_and_do_not_depend_on_the_order_of_writing(fleet: Fleet) -> None:
    documents = {
        "z.toml": "x = = 1\n",
        "a.toml": 'extends = "ghost"\nunset = 7\n',
        "groups/g.toml": "members = 7\nmatch = 7\n",
        "groups/b.toml": 'extends = "b"\n',
        "default.ks": "{{ a b }}\n{{ a b }}\n",
    }
    fleet.write(documents)
    problems = fleet.problems()
    assert problems == sorted(set(problems))
    assert len(problems) == 8
    for name in reversed(documents):
        fleet.remove(name)
    assert fleet.problems() == []
    for name in reversed(documents):
        fleet.write({name: documents[name]})
    assert fleet.problems() == problems


def test_problems_come_and_go_with_what_causes_them(fleet: Fleet) -> None:
    fleet.write({"n1.toml": 'extends = "g"\n'})
    assert len(fleet.problems()) == 1
    fleet.write({"groups/g.toml": "x = 1\n"})
    assert fleet.problems() == []
    fleet.write({"groups/g.toml": 'extends = "h"\n', "groups/h.toml": 'extends = "g"\n'})
    assert len(fleet.problems()) == 1
    fleet.write({"groups/h.toml": "x = 1\n"})
    assert fleet.problems() == []
    fleet.remove("groups/g.toml")
    assert len(fleet.problems()) == 1


def test_the_reason_of_a_500_is_the_problem_as_it_was_told(fleet: Fleet) -> None:
    fleet.write(
        {
            "n1.toml": 'extends = "ghost"\n',
            "n2.toml": 'extends = "b"\n',
            "n3.toml": "x = = 1\n",
            "n4.toml": 'a = "{{ a b }}"\n',
            "groups/a.toml": 'extends = "b"\n',
            "groups/b.toml": 'extends = "a"\n',
        }
    )
    problems = fleet.problems()
    for name in ("n1", "n2", "n3", "n4"):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the text is what is looked at
            fleet.ask(f"/?h={name}")
        assert str(caught.value) in problems


FOREIGN: dict[str, tuple[str, str]] = {
    "ks": ("docker ps --format '{{.ID}}'\n", "HERE\ndocker ps --format '{{.ID}}'\n"),
    "toml": ("a = '{{ x == y }}'\n", "HERE\na = '{{ x == y }}'\n"),
    "yaml": ("a: '{{ x | combine(y) }}'\n", "a: '{{ x | combine(y) }}'\nHERE\n"),
    "json": ('{"a": "{{user `x`}}"}', '{HERE, "a": "{{user `x`}}"}'),
    "xml": ("<r><a>{{- x }}</a></r>", "<r>HERE<a>{{- x }}</a></r>"),
}
"""Braces of another language by the extension of a document, and where it says so."""


@pytest.mark.parametrize("extension", FOREIGN)
def test_what_a_problem_says_of_foreign_braces_can_be_written_as_it_stands(fleet: Fleet, extension: str) -> None:
    text, place = FOREIGN[extension]
    fleet.write({f"n1.{extension}": text})
    [problem] = fleet.problems()
    off = problem.partition("; for braces of another language write ")[2]
    fleet.write({f"n1.{extension}": place.replace("HERE", off)})
    assert fleet.problems() == []
    assert fleet.text(f"/{extension}?h=n1").count("{{") == 1


def test_a_note_of_a_label_that_nothing_sends_says_how_to_keep_the_braces(fleet: Fleet) -> None:
    fleet.write({"n1.ks": "{{ZZYZX}}\n", "n2.ks": "{{ZZYZX}}\n", "n3.xml": "<r>{{ZZYZX}}</r>"})
    ends = [note.partition("language write ")[2] for note in fleet.check().notes if "zzyzx" in note]
    assert sorted(ends) == ["# answer: template off", "# answer: template off", '<answer-meta template="false"/>']
