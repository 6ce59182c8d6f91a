"""``append``: arrays that are added to the array below (docs/merging.md#append)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from answerd.answers.compose import prepared_answer
from answerd.answers.explain import explanation
from answerd.answers.why import reasoning
from answerd.documents import Document, RawDocument
from answerd.errors import BrokenDocument
from answerd.facts import Facts, Request
from answerd.formats import json as json_family
from answerd.formats.family import Once
from tests.support.fleet import Fleet, key_of

READ: dict[str, Callable[[str], Any]] = {
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "json": json.loads,
}
"""What each format's own reader finds in an answer."""

CASES: dict[str, tuple[Any, Any, Any]] = {
    "added to the end": ({"a": [1, 2]}, {"append": ["a"], "a": [3]}, {"a": [1, 2, 3]}),
    "at any depth": ({"a": {"b": [1]}}, {"append": ["a.b"], "a": {"b": [2]}}, {"a": {"b": [1, 2]}}),
    "under a key with a dot": ({"a": {"b.c": [1]}}, {"append": ['a."b.c"'], "a": {"b.c": [2]}}, {"a": {"b.c": [1, 2]}}),
    "what is not named replaces": (
        {"a": [1], "b": [1]},
        {"append": ["a"], "a": [2], "b": [2]},
        {"a": [1, 2], "b": [2]},
    ),
    "nothing below": ({"x": 1}, {"append": ["a"], "a": [1]}, {"x": 1, "a": [1]}),
    "no array below": ({"a": "x"}, {"append": ["a"], "a": [1]}, {"a": [1]}),
    "a map below": ({"a": {"x": 1}}, {"append": ["a"], "a": [1]}, {"a": [1]}),
    "a parent that is no map below": ({"a": 1}, {"append": ["a.b"], "a": {"b": [1]}}, {"a": {"b": [1]}}),
    "an empty array adds nothing": ({"a": [1]}, {"append": ["a"], "a": []}, {"a": [1]}),
    "an empty array below": ({"a": []}, {"append": ["a"], "a": [1]}, {"a": [1]}),
    "a path twice counts once": ({"a": [1]}, {"append": ["a", "a", '"a"'], "a": [2]}, {"a": [1, 2]}),
    "arrays of maps": ({"a": [{"x": 1}]}, {"append": ["a"], "a": [{"y": 1}]}, {"a": [{"x": 1}, {"y": 1}]}),
    "unset comes first": ({"a": [1]}, {"append": ["a"], "unset": ["a"], "a": [2]}, {"a": [2]}),
    "no path": ({"a": [1]}, {"append": [], "a": [2]}, {"a": [2]}),
}


def written(extension: str, tree: Any) -> str:
    """A tree of maps, lists, texts and numbers in one format. JSON is YAML, and inline it is nearly TOML."""
    if extension != "toml":
        return json.dumps(tree)
    return "".join(f"{json.dumps(key)} = {_inline(value)}\n" for key, value in tree.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_inline(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)


@pytest.mark.parametrize("extension", READ)
@pytest.mark.parametrize(("lower", "upper", "answer"), CASES.values(), ids=CASES.keys())
def test_arrays_are_added_to_the_array_below(fleet: Fleet, extension: str, lower: Any, upper: Any, answer: Any) -> None:
    fleet.write(
        {
            f"groups/base.{extension}": written(extension, lower),
            f"n1.{extension}": written(extension, {"extends": "base", **upper}),
        }
    )
    assert fleet.problems() == []
    assert READ[extension](fleet.text("/n1")) == answer


@pytest.mark.parametrize("extension", READ)
def test_each_layer_of_a_chain_adds_its_own(fleet: Fleet, extension: str) -> None:
    layers = {
        "groups/base": {"a": [1]},
        "groups/rack": {"extends": "base", "append": ["a"], "a": [2]},
        "groups/row": {"extends": "rack", "a": [3]},
        "n1": {"extends": "rack", "append": ["a"], "a": [4]},
        "n2": {"extends": "row", "append": ["a"], "a": [5]},
    }
    fleet.write({f"{name}.{extension}": written(extension, tree) for name, tree in layers.items()})
    assert READ[extension](fleet.text("/n1")) == {"a": [1, 2, 4]}
    assert READ[extension](fleet.text("/n2")) == {"a": [3, 5]}


def test_placeholders_of_both_layers_are_filled(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/base.json": '{"a": ["{{ x }}"]}',
            "n1.json": '{"extends": "base", "append": ["a"], "a": ["{{ y }}", "z"]}',
        }
    )
    assert json.loads(fleet.text("/n1?x=1&y=2")) == {"a": ["1", "2", "z"]}


def test_a_yaml_list_keeps_its_scalars_and_takes_the_style_that_holds_both(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/base.yaml": "a: [0644, yes]\nb:\n- x\n",
            "n1.yaml": "extends: base\nappend: [a, b]\na:\n- |\n  two\n  lines\nb: [12:30]\n",
        }
    )
    assert fleet.text("/n1") == "a:\n  - 0644\n  - yes\n  - |\n    two\n    lines\nb:\n  - x\n  - 12:30\n"


XML_CASES: dict[str, tuple[str, str, str]] = {
    "in any prefix": (
        '<r xmlns:c="u"><l c:type="list"><i>1</i></l></r>',
        '<r xmlns:c="u"><answer-meta extends="base"><append>l</append></answer-meta><l c:type="list"><i>2</i></l></r>',
        "r/l=12",
    ),
    "in the short spelling": (
        '<r><l t="list"><i>1</i></l></r>',
        '<r><answer-meta extends="base"><append>l</append></answer-meta><l t="list"><i>2</i><i>3</i></l></r>',
        "r/l=123",
    ),
    "not named, it replaces": (
        '<r><l type="list"><i>1</i></l></r>',
        '<r><answer-meta extends="base"/><l type="list"><i>2</i></l></r>',
        "r/l=2",
    ),
    "deeper, and distinguished by an attribute": (
        '<r><a name="x"><l type="list"><i>1</i></l></a><a name="y"><l type="list"><i>8</i></l></a></r>',
        '<r><answer-meta extends="base"><append>a[@name="y"]/l</append></answer-meta>'
        '<a name="y"><l type="list"><i>2</i></l></a><a name="x"><l type="list"><i>9</i></l></a></r>',
        "r/a/l=9 r/a/l=82",
    ),
    "nothing below": (
        "<r><x>1</x></r>",
        '<r><answer-meta extends="base"><append>l</append></answer-meta><l type="list"><i>2</i></l></r>',
        "r/l=2",
    ),
    "no list below": (
        "<r><l><i>1</i></l></r>",
        '<r><answer-meta extends="base"><append>l</append></answer-meta><l type="list"><i>2</i></l></r>',
        "r/l=2",
    ),
    "an empty list adds nothing": (
        '<r><l type="list"><i>1</i></l></r>',
        '<r><answer-meta extends="base"><append>l</append></answer-meta><l type="list"/></r>',
        "r/l=1",
    ),
    "an empty list below": (
        '<r><l type="list"/></r>',
        '<r><answer-meta extends="base"><append>l</append><append>l</append></answer-meta>'
        '<l type="list"><i>2</i></l></r>',
        "r/l=2",
    ),
    "unset comes first": (
        '<r><l type="list"><i>1</i></l></r>',
        '<r><answer-meta extends="base"><append>l</append><unset>l</unset></answer-meta>'
        '<l type="list"><i>2</i></l></r>',
        "r/l=2",
    ),
}


@pytest.mark.parametrize(("lower", "upper", "lists"), XML_CASES.values(), ids=XML_CASES.keys())
def test_lists_are_added_to_the_list_below_in_xml(fleet: Fleet, lower: str, upper: str, lists: str) -> None:
    fleet.write({"groups/base.xml": lower, "n1.xml": upper})
    assert fleet.problems() == []
    answer = fleet.text("/n1")
    assert "append" not in answer
    assert " ".join(_lists(ElementTree.fromstring(answer), "r")) == lists


def _lists(element: ElementTree.Element, path: str) -> list[str]:
    """The lists of an XML answer, each with the texts of its entries."""
    own = [f"{path}={''.join(entry.text or '' for entry in element)}"] if element.tag == "l" else []
    return own + [found for child in element for found in _lists(child, f"{path}/{child.tag}")]


WRONG: dict[str, tuple[str, str, str]] = {
    "a text in TOML": ("n1.toml", 'append = ["x"]\nx = "text"\n', "append must name arrays of this document: path 1"),
    "a text in YAML": ("n1.yaml", "append: [x]\nx: text\n", "append must name arrays"),
    "a map in JSON": ("n1.json", '{"append": ["x"], "x": {"y": [1]}}', "append must name arrays"),
    "a key that is not there": ("n1.json", '{"append": ["x"]}', "append must name arrays"),
    "the second of two": ("n1.json", '{"append": ["x", "y"], "x": [1]}', "path 2 names none"),
    "within an array": ("n1.json", '{"append": ["x.0"], "x": [[1]]}', "append must name arrays"),
    "a list placeholder": ("n1.toml", "append = ['x']\nx = '{{ y }}'\n", "append must name arrays"),
    "append that is a text": ("n1.json", '{"append": "x", "x": [1]}', "append must be a list of dotted paths"),
    "append with a number": ("n1.json", '{"append": [1], "x": [1]}', "append must hold dotted paths"),
    "append that is no path": ("n1.toml", "append = ['x.']\n", "append holds no dotted path"),
    "in text": ("n1.ks", "# answer: append x\n", "append: has no meaning in a text document"),
    "an element that is no list": (
        "n1.xml",
        "<r><answer-meta><append>l</append></answer-meta><l><i>1</i></l></r>",
        "append must name arrays",
    ),
    "an element that is not there": ("n1.xml", "<r><answer-meta><append>l</append></answer-meta></r>", "append must"),
    "an attribute": ("n1.xml", '<r><answer-meta><append>@l</append></answer-meta><l t="list"/></r>', "append must"),
    "no path in XML": ("n1.xml", "<r><answer-meta><append>/l</append></answer-meta></r>", "append: it is no path"),
}


@pytest.mark.parametrize(("name", "text", "problem"), WRONG.values(), ids=WRONG.keys())
def test_a_path_that_is_no_array_is_a_problem(fleet: Fleet, name: str, text: str, problem: str) -> None:
    fleet.write({name: text})
    (found,) = fleet.problems()
    assert problem in found
    with pytest.raises(BrokenDocument, match="append"):
        fleet.ask("/n1")


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
