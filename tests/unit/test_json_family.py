"""The JSON family: what is read, refused, merged and written. Answers are judged by the standard json module."""

from __future__ import annotations

import json as standard
from typing import Any

import pytest

from answerd.formats import json as json_family
from answerd.formats.family import ParseError
from answerd.formats.template import TemplateReader
from tests.support.lookups import Said


def served(*layers: str, **facts: str) -> str:
    """The answer of these layers, lowest first, without control keys."""
    tree: Any = None
    for position, text in enumerate(layers):
        _, above = json_family.control(json_family.parse(text))
        above = json_family.placeholders(above, TemplateReader())
        tree = json_family.merge(tree, above) if position else above
    return json_family.prepare(tree).fill(Said(facts.get)).decode()


NUMBERS = ["1.0", "1e3", "1E+03", "-0", "-0.0", "0", "12345678901234567890123", "1.10", "1e400", "0.1000", "9" * 5000]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:24])
def test_a_number_leaves_as_it_came(number: str) -> None:
    answer = served(f'{{"kept": {number}, "list": [{number}]}}', '{"other": 1}')
    assert f'"kept": {number},' in answer
    assert answer.count(number) >= 2


@pytest.mark.parametrize(
    ("lower", "upper", "wanted"),
    [
        ("[1, 2]", "[3]", [3]),
        ('{"a": 1}', '"text"', "text"),
        ("null", '{"a": false}', {"a": False}),
        ("{}", "{}", {}),
        ('{"a": []}', '{"b": {}}', {"a": [], "b": {}}),
    ],
    ids=["array over array", "text over object", "object over null", "nothing over nothing", "empty values stay"],
)
def test_any_value_may_be_the_whole_document(lower: str, upper: str, wanted: object) -> None:
    assert standard.loads(served(lower, upper)) == wanted


def test_the_answer_is_indented_unicode_and_ends_with_a_newline() -> None:
    answer = served('{"a": {"é": ["\\u2028", "\\ud83d\\ude00"]}, "e": [], "o": {}}')
    wanted = '{\n  "a": {\n    "é": [\n      "\u2028",\n      "😀"\n    ]\n  },\n  "e": [],\n  "o": {}\n}\n'
    assert answer == wanted


REFUSED = {
    "empty": ("", 1, 1, "empty"),
    "only white space": (" \n ", 1, 1, "empty"),
    "cut short": ('{"a": [1,\n 2', 2, 3, "it ends, and a comma or the end of the array is missing"),
    "cut short in a text": ('{"a":\n "x', 2, 2, "does not end"),
    "trailing comma": ('{"a": 1\n , }', 2, 2, "a comma stands before the end of the object"),
    "trailing comma of an array": ('["a", ]', 1, 5, "a comma stands before the end of the array"),
    "no comma": ('{"a": 1\n "b": 2}', 2, 2, "a comma or the end of the object is missing"),
    "no colon": ('{"a" 1}', 1, 6, "a colon after the property name"),
    "no value": ('{"a": }', 1, 7, "a value is missing"),
    "no first value": ("[,]", 1, 2, "a value or the end of the array is missing"),
    "a bare word": ('{"a": yes}', 1, 7, "no value of JSON"),
    "a number with a zero before it": ("[1, 01]", 1, 5, "no value of JSON"),
    "a blank of Unicode": ('{"a":\u00a01}', 1, 6, "a value is missing"),
    "a wrong bracket": ('{"a": [1}', 1, 9, "a comma or the end of the array is missing"),
    "a wrong escape": ('{"a": "C:\\dir"}', 1, 10, "backslash"),
    "a short escape": ('{"a": "\\u12"}', 1, 8, "backslash"),
    "text after the document": ('{"a": 1}\n{"b": 2}', 2, 1, "text follows the end"),
    "a comment": ('{\n// no\n"a": 1}', 2, 1, "property name"),
    "a line break in a text": ('{"a": "b\nc"}', 1, 9, "control character"),
    "NaN": ('{"NaN": "NaN",\n "b": NaN}', 2, 7, "NaN is no JSON number"),
    "minus infinity": ("[-Infinity]", 1, 2, "-Infinity is no JSON number"),
    "a key twice": ('{"a": {"b": 1},\n "c": 2, "a": 3}', 2, 10, "one object has this key twice: remove one of the two"),
    "a key twice, spelled differently": ('[{"a": 1, "\\u0061": 2}]', 1, 11, "one object has this key twice"),
    "a key twice below": ('{"a": {"b": "b", "x": ["b"],\n"b": 2}}', 2, 1, "one object has this key twice"),
    "101 levels": ("[" * 101 + "]" * 101, 1, 101, "more than 100 levels"),
    "100,000 levels": ('{"a":' * 100_000, 1, 501, "more than 100 levels"),
    "a lone high surrogate": ('{"a":\n "\\\\x\\ud800"}', 2, 6, "lone surrogate"),
    "a lone low surrogate in a key": ('{"\\uDFFF": 1}', 1, 3, "lone surrogate"),
    "surrogates the wrong way round": ('"\\ude00\\ud83d"', 1, 2, "lone surrogate"),
}


@pytest.mark.parametrize(("text", "line", "column", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_and_where(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        json_family.parse(text)
    assert reason in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_100_levels_are_read_and_written() -> None:
    text = '{"a":' * 100 + "1" + "}" * 100
    assert standard.loads(served(text, "{}")) == standard.loads(text)


def test_an_escaped_backslash_before_u_is_no_surrogate() -> None:
    text = r'{"a": "C:\\ud800", "b": "\ud83d\ude00"}'
    assert standard.loads(served(text)) == standard.loads(text)


def test_a_document_that_is_no_object_has_no_control_keys() -> None:
    written, left = json_family.control(json_family.parse('["extends"]'))
    assert (written.values, left) == ({}, ["extends"])
