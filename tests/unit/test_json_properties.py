"""The JSON family against merges computed on plain data by the standard json module."""

from __future__ import annotations

import json as standard
from typing import Any

from hypothesis import example, given, settings
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
def test_a_merge_is_the_merge_of_plain_data_in_the_same_order_and_leaves_its_layers_alone(
    lower: Any, upper: Any
) -> None:
    below, above = tree(lower), tree(upper)
    answer = standard.loads(emitted(json_family.merge(below, above)))
    assert ordered(answer) == ordered(merged(lower, upper))
    assert (below, above) == (tree(lower), tree(upper))


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


nearly = st.lists(
    st.sampled_from(
        [*'{}[]:,"\\ \n\x01', '"a"', '"b":', "1", "-0.5e3", "01", "true", "nul", "NaN", "\\n", "\\u00e9", "\u00a0"]
    )
).map("".join)


@quick
@given(nearly)
@example('{"a":[1,{"b":[]}],"b":"\\n"}')
@example('{"a":1,}')
def test_a_fault_is_found_in_what_the_standard_module_refuses_and_in_nothing_else(text: str) -> None:
    fault = json_family.syntax_error(text)
    assert (fault.reason == "it cannot be read") == is_json(text)
    assert fault.line is not None
    assert 1 <= fault.line <= text.count("\n") + 1
    assert fault.column is not None
    assert 1 <= fault.column <= len(text.split("\n")[fault.line - 1]) + 1


def is_json(text: str) -> bool:
    try:
        standard.loads(text)
    except standard.JSONDecodeError:
        return False
    return True
