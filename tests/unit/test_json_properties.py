"""The JSON family against merges computed on plain data by the standard json module."""

from __future__ import annotations

import json as standard
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.formats import json as json_family
from answerd.formats.family import ParseError
from answerd.formats.template import TemplateReader
from tests.support.lookups import Said
from tests.support.thorough import examples

quick = settings(max_examples=examples(60))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
keys = st.sampled_from(["a", "b", "c", "d.e", 'q"', "é", ""])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(keys, below, max_size=4),
    max_leaves=12,
)

maps = st.dictionaries(keys, values, max_size=4)


def tree(data: Any) -> Any:
    return json_family.parse(standard.dumps(data))


def emitted(document: Any) -> str:
    static = json_family.prepare(document).static
    assert static is not None
    return static.decode()


def merged(lower: Any, upper: Any) -> Any:
    """The rule of docs/merging.md on plain data."""
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        return upper
    together = {key: merged(value, upper[key]) if key in upper else value for key, value in lower.items()}
    return together | {key: value for key, value in upper.items() if key not in lower}


def ordered(data: Any) -> str:
    """A form in which the order of keys and the type of numbers count."""
    return standard.dumps(data)


@quick
@given(values)
def test_emit_then_parse_is_the_identity(data: Any) -> None:
    document = tree(data)
    assert json_family.parse(emitted(document)) == document
    assert ordered(standard.loads(emitted(document))) == ordered(data)


@quick
@given(maps, maps)
def test_a_merge_is_the_merge_of_plain_data_in_the_same_order(lower: Any, upper: Any) -> None:
    answer = standard.loads(emitted(json_family.merge(tree(lower), tree(upper))))
    assert ordered(answer) == ordered(merged(lower, upper))


@quick
@given(maps)
def test_merging_with_nothing_changes_nothing(data: Any) -> None:
    assert emitted(json_family.merge(tree({}), tree(data))) == emitted(tree(data))
    assert emitted(json_family.merge(tree(data), tree({}))) == emitted(tree(data))


@quick
@given(maps, maps)
def test_merging_twice_is_merging_once_and_leaves_its_layers_alone(lower: Any, upper: Any) -> None:
    below, above = tree(lower), tree(upper)
    once = json_family.merge(below, above)
    assert emitted(json_family.merge(once, above)) == emitted(once)
    assert (below, above) == (tree(lower), tree(upper))


nested = st.recursive(
    st.integers(), lambda below: st.dictionaries(keys, below, min_size=1, max_size=3), max_leaves=8
).map(lambda value: value if isinstance(value, dict) else {"a": value})


def agrees(first: Any, second: Any) -> bool:
    """Whether two trees have maps at the same places: a map over a scalar is no merge of maps."""
    shared = first.keys() & second.keys()
    return all(
        isinstance(first[key], dict) == isinstance(second[key], dict)
        and (not isinstance(first[key], dict) or agrees(first[key], second[key]))
        for key in shared
    )


@quick
@given(nested, nested, nested)
def test_merging_maps_is_associative(first: Any, second: Any, third: Any) -> None:
    if not (agrees(first, second) and agrees(second, third) and agrees(first, third)):
        return
    lower, middle, upper = tree(first), tree(second), tree(third)
    assert emitted(json_family.merge(json_family.merge(lower, middle), upper)) == emitted(
        json_family.merge(lower, json_family.merge(middle, upper))
    )


@quick
@given(maps, keys, values)
def test_a_merge_touches_only_what_the_upper_layer_names(lower: Any, key: str, value: Any) -> None:
    answer = standard.loads(emitted(json_family.merge(tree(lower), tree({key: value}))))
    assert {k: v for k, v in answer.items() if k != key} == {k: v for k, v in lower.items() if k != key}


@quick
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40), texts)
def test_a_filled_template_has_its_shape_whatever_the_value(value: str, around: str) -> None:
    constant = around.replace("{", "").replace("}", "")
    document = json_family.placeholders(tree({"a": [constant + "{{ x }}"], "b": {"c": "{{ x }}"}}), TemplateReader())
    answer = standard.loads(json_family.prepare(document).fill(Said(lambda _: value)))
    assert answer == {"a": [constant + value], "b": {"c": value}}


broken = st.text(st.sampled_from('{}[]:,"\\ud8c0aeE1.-+ \n\ttrufalsN'), max_size=30)


@quick
@given(broken | texts)
def test_any_text_is_read_as_the_standard_module_does_or_refused(text: str) -> None:
    try:
        document = json_family.parse(text)
    except ParseError as error:
        assert error.line is not None  # noqa: PT017 - most texts are refused, and none must be
        return
    assert ordered(standard.loads(emitted(document))) == ordered(standard.loads(text))
