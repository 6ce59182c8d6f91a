"""``append``: arrays that are added to the array below (docs/merging.md#append)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd.answers.compose import prepared_answer
from answerd.answers.explain import explanation
from answerd.answers.why import reasoning
from answerd.documents import Document, RawDocument
from answerd.facts import Facts, Request
from answerd.formats import json as json_family
from answerd.formats.family import Once
from tests.support.fleet import Fleet, key_of

EXPLAINED = {
    "toml": (
        'a = [\n  "one",\n  "two",\n]\n',
        'extends = "base"\nappend = ["a"]\n\na = [\n  "three",\n]\n',
        [("a.0", 2), ("a.1", 3), ("a.2", 5)],
    ),
    "json": (
        '{"a": [\n1,\n{"x": 2}]}',
        '{"extends": "base", "append": ["a"],\n"a": [\n\n{"x": 3}]}',
        [("a.0", 2), ("a.1.x", 3), ("a.2.x", 4)],
    ),
    "yaml": ("a:\n- 1\n- 2\n", "extends: base\nappend: [a]\na:\n- 3\n", [("a.0", 2), ("a.1", 3), ("a.2", 4)]),
    "xml": (
        '<r>\n<l t="list">\n<i>1</i>\n<i>2</i></l></r>',
        '<r><answer-meta extends="base"><append>l</append></answer-meta>\n<l t="list">\n\n\n<i>3</i></l></r>',
        [("r.l.i[1]", 3), ("r.l.i[2]", 4), ("r.l.i[3]", 5)],
    ),
}


@pytest.mark.parametrize("extension", EXPLAINED)
def test_each_element_is_explained_by_its_own_document(fleet: Fleet, extension: str) -> None:
    lower, upper, lines = EXPLAINED[extension]
    fleet.write({f"groups/base.{extension}": lower, f"n1.{extension}": upper})
    values = [value for value in explanation(fleet.ask("/n1"))["values"] if "@" not in value["key"]]
    assert [(value["key"], value["line"]) for value in values] == lines
    assert ["base" in value["source"] for value in values] == [True, True, False]


def test_the_reasoning_names_what_a_layer_appends(fleet: Fleet) -> None:
    fleet.write({"groups/base.json": '{"a": [1]}', "n1.json": '{"extends": "base", "append": ["a"], "a": [2]}'})
    steps = reasoning(fleet.loader.catalogue, Facts(Request("/n1"))).steps
    assert ("adds to the arrays below it at a",) in [step.details for step in steps]


def test_an_array_that_stays_empty_is_explained(fleet: Fleet) -> None:
    fleet.write({"groups/base.json": '{"a": []}', "n1.json": '{"extends": "base", "append": ["a"], "a": []}'})
    (value,) = explanation(fleet.ask("/n1"))["values"]
    assert value["key"] == "a"
    assert "n1" in value["source"]


trees = st.recursive(
    st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=3),
    lambda below: st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=8,
)
maps = st.dictionaries(st.sampled_from("abc"), trees, max_size=3)


def paths_of_arrays(tree: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if isinstance(tree, list):
        return [path]
    return [
        inner
        for key, below in (tree.items() if isinstance(tree, dict) else ())
        for inner in paths_of_arrays(below, (*path, key))
    ]


def read_literally(lower: Any, upper: Any, append: list[tuple[str, ...]], path: tuple[str, ...] = ()) -> Any:
    """docs/merging.md, word by word."""
    if isinstance(lower, dict) and isinstance(upper, dict):
        keys = [*lower, *(key for key in upper if key not in lower)]
        return {
            key: read_literally(lower[key], upper[key], append, (*path, key))
            if key in lower and key in upper
            else upper.get(key, lower.get(key))
            for key in keys
        }
    if path in append and isinstance(lower, list) and isinstance(upper, list):
        return lower + upper
    return upper


@given(maps, maps, st.data())
def test_a_merge_appends_what_is_named_and_nothing_else(lower: Any, upper: Any, data: st.DataObject) -> None:
    arrays = paths_of_arrays(upper)
    append = data.draw(st.lists(st.sampled_from(arrays), unique=True)) if arrays else []
    assert json_family.not_arrays(upper, [*append, ("nothing",)]) == [("nothing",)]
    assert json_family.merge(lower, upper, append) == read_literally(lower, upper, append)


ONCE: dict[str, tuple[str, str, Once | None]] = {
    "true in TOML": ("toml", "once = true\nx = 1\n", Once.ON),
    "false in TOML": ("toml", "once = false\nx = 1\n", Once.OFF),
    "armed in TOML": ("toml", 'once = "armed"\nx = 1\n', Once.ARMED),
    "loader in JSON": ("json", '{"once": "loader", "x": 1}', Once.LOADER),
    "true in JSON": ("json", '{"once": true, "x": 1}', Once.ON),
    "true in YAML": ("yaml", "once: true\nx: 1\n", Once.ON),
    "no in YAML": ("yaml", "once: no\nx: 1\n", Once.OFF),
    "armed in YAML": ("yaml", "once: armed\nx: 1\n", Once.ARMED),
    "true in XML": ("xml", '<r><answer-meta once="true"/><x>1</x></r>', Once.ON),
    "false in XML": ("xml", '<r><answer-meta once="false"/><x>1</x></r>', Once.OFF),
    "loader in XML": ("xml", '<r><answer-meta once=" loader "/><x>1</x></r>', Once.LOADER),
    "armed in XML": ("xml", '<r><answer-meta once="armed"/><x>1</x></r>', Once.ARMED),
    "a line of text": ("ks", "# answer: once\nx\n", Once.ON),
    "armed in text": ("ipxe", "#!ipxe\n# answer: once armed\nx\n", Once.ARMED),
    "loader in text": ("ks", "// answer: once  loader \nx\n", Once.LOADER),
    "off in text": ("ks", "# answer: once off\nx\n", Once.OFF),
    "nothing said": ("ks", "x\n", None),
}


@pytest.mark.parametrize(("extension", "text", "once"), ONCE.values(), ids=ONCE.keys())
def test_once_is_read_and_removed(extension: str, text: str, once: Once | None) -> None:
    document = Document(RawDocument(key_of(f"n1.{extension}"), text))
    assert document.control.once is once
    prepared = prepared_answer((document,))
    assert prepared.once is once
    assert b"once" not in (prepared.static or b"")
    assert b"answer" not in (prepared.static or b"")


NO_ONCE: dict[str, tuple[str, str]] = {
    "another text": ("toml", 'once = "often"\n'),
    "a number": ("toml", "once = 1\n"),
    "a list": ("json", '{"once": [true]}'),
    "nothing": ("yaml", "once:\n"),
    "a text that looks like true": ("yaml", 'once: "true"\n'),
    "the word of the text family": ("toml", 'once = "off"\n'),
    "another word in XML": ("xml", '<r><answer-meta once="yes"/></r>'),
    "an element in XML": ("xml", "<r><answer-meta><once>true</once></answer-meta></r>"),
    "another word in text": ("ks", "# answer: once sometimes\n"),
    "a word too many in text": ("ks", "# answer: once armed loader\n"),
    "two lines of text": ("ks", "# answer: once\n# answer: once off\n"),
}


@pytest.mark.parametrize(("extension", "text"), NO_ONCE.values(), ids=NO_ONCE.keys())
def test_a_value_that_is_no_once_is_a_problem(extension: str, text: str) -> None:
    document = Document(RawDocument(key_of(f"n1.{extension}"), text))
    assert any("once" in problem and "place for the states" not in problem for problem in document.problems)
