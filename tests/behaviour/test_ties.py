"""Overlays and groups between which nothing but a name decides, and overlays over defaults: what ``check`` and ``diff``
see."""

from __future__ import annotations

import pytest

from answerd.answers.diff import compare
from tests.support.fleet import Fleet

ROW = "id,mac,dept,model\npc-0001,98:fa:9b:50:d8:10,er,m1\n"
TOML = 'overlay = 5\nmatch.dept = "er"\n'
YAML = "overlay: 5\nmatch: {dept: er}\n"
XML = '<r><answer-meta overlay="5"><match dept="er"/></answer-meta>%s</r>'

TIES = {
    "a shorter list": ("yaml", YAML + "k: [a, b]\n", YAML + "k: [a]\n", "k"),
    "an empty list": ("yaml", YAML + "k: []\n", YAML + "k: [a]\n", "k"),
    "a map over a scalar": ("yaml", YAML + "k: 5\n", YAML + "k: {a: 1}\n", "k"),
    "an empty map over a scalar": ("yaml", YAML + "k: {}\n", YAML + "k: 5\n", "k"),
    "a text and a number": ("yaml", YAML + "k: '1'\n", YAML + "k: 1\n", "k"),
    "unset and set": ("yaml", YAML + "unset: [x]\n", YAML + "x: 5\n", "x"),
    "unset and set in TOML": ("toml", TOML + 'unset = ["x"]\n', TOML + "x = 5\n", "x for"),
    "texts of XML": ("xml", XML % "<k>1</k>", XML % "<k>2</k>", "k"),
    "attributes of XML": ("xml", XML % '<k a="1">1</k>', XML % '<k a="2"/>', "k"),
    "a list of XML": ("xml", XML % '<l t="list"><i>1</i><i>2</i></l>', XML % '<l t="list"><i>1</i></l>', "l"),
    "siblings of XML": ("xml", XML % "<i>1</i><i>2</i>", XML % "<i>1</i>", "i"),
}
NO_TIES = {
    "other values": ("yaml", YAML + "k: 1\n", YAML + "l: 1\n"),
    "keys in another order": ("yaml", YAML + "k: 1\nl: 2\n", YAML + "l: 2\nk: 1\n"),
    "values of one map": ("yaml", YAML + "m: {k: 1}\n", YAML + "m: {l: 1}\n"),
    "named siblings in another order": (
        "xml",
        XML % '<i name="a">1</i><i name="b">2</i>',
        XML % '<i name="b">2</i><i name="a">1</i>',
    ),
}


def tied(fleet: Fleet, extension: str, first: str, second: str) -> list[str]:
    base = {"yaml": "x: 1\nk: [z]\n", "toml": "x = 1\n", "xml": "<r><x>1</x></r>"}[extension]
    overlays = {f"groups/o1.{extension}": first, f"groups/o2.{extension}": second}
    fleet.write({"inventory.csv": ROW, f"default.{extension}": base, **overlays})
    return [note for note in fleet.check().notes if "both are overlay 5" in note]


@pytest.mark.parametrize(("extension", "first", "second", "path"), TIES.values(), ids=TIES)
def test_overlays_whose_order_decides_are_noted(
    fleet: Fleet, extension: str, first: str, second: str, path: str
) -> None:
    (note,) = tied(fleet, extension, first, second)
    assert f"set {path}" in note or f".{path}" in note
    assert "pc-0001" in note


@pytest.mark.parametrize(("extension", "first", "second"), NO_TIES.values(), ids=NO_TIES)
def test_overlays_whose_order_decides_nothing_are_not(fleet: Fleet, extension: str, first: str, second: str) -> None:
    assert tied(fleet, extension, first, second) == []


PAIRS = {
    "yaml and yml": ({"a.yaml": "match: {dept: er}\nx: 1\n", "b.yml": "match: {model: m1}\nx: 2\n"}, True),
    "one name": ({"a.yaml": "match: {dept: er}\nx: 1\n", "a.yml": "match: {model: m1}\nx: 2\n"}, True),
    "ign and json": ({"a.ign": '{"match": {"dept": "er"}}', "b.json": '{"match": {"model": "m1"}}'}, True),
    "unattend and xml": (
        {f"{name}": '<r><answer-meta><match dept="er"/></answer-meta></r>' for name in ("a.xml", "b.unattend")},
        True,
    ),
    "more criteria": ({"a.yaml": "match: {dept: er}\nx: 1\n", "b.yml": "match: {model: m1, dept: er}\n"}, False),
    "no word for both": ({"a.yaml": "match: {dept: er}\nx: 1\n", "b.ks": "# answer: match model=m1\nx\n"}, False),
}


@pytest.mark.parametrize(("groups", "is_tie"), PAIRS.values(), ids=PAIRS)
def test_equal_claims_in_formats_that_one_word_asks_for_are_a_problem(
    fleet: Fleet, groups: dict[str, str], is_tie: bool
) -> None:
    fleet.write({"inventory.csv": ROW, **{f"groups/{name}": text for name, text in groups.items()}})
    assert ["claim one machine equally" in problem for problem in fleet.check().problems if "equally" in problem] == [
        True
    ] * is_tie


def test_a_machines_document_decides_between_formats(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROW, "98fa9b50d810.yaml": "y: 1\n"})
    fleet.write({f"groups/{name}": text for name, text in PAIRS["yaml and yml"][0].items()})
    assert [problem for problem in fleet.check().problems if "equally" in problem] == []


def test_an_overlay_of_the_other_extension_is_noted(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROW, "groups/dept.yml": YAML + "z: 1\n", "groups/base.yaml": "match: {dept: er}\n"})
    (note,) = [note for note in fleet.check().notes if "extension" in note]
    assert 'group "dept" (yml)' in note
    assert "dept.yaml" in note
    fleet.write({"groups/dept.yaml": YAML + "z: 1\n"})
    fleet.remove("groups/dept.yml")
    assert [note for note in fleet.check().notes if "extension" in note] == []


def test_an_overlay_by_match_over_a_default_is_tried_with_its_rows(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROW, "default.yaml": "packages: [vim]\n", "groups/dept.yaml": YAML + "z: 1\n"})
    before = fleet.loader.catalogue
    assert not fleet.check().problems
    fleet.write({"groups/dept.yaml": YAML + "z: '{{ secret.gone }}'\n"})
    (problem,) = fleet.check().problems
    assert "the secret 'gone' is missing" in problem
    assert [each.identifier for each in compare(before, fleet.loader.catalogue).differences] == ["pc-0001"]


def test_a_changed_default_differs_for_rows_with_an_overlay(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROW, "default.yaml": "packages: [vim]\n", "groups/dept.yaml": YAML + "z: 1\n"})
    before = fleet.loader.catalogue
    fleet.write({"default.yaml": "packages: [nano]\n"})
    differences = compare(before, fleet.loader.catalogue).differences
    assert sorted(each.identifier for each in differences) == ["", "pc-0001"]
