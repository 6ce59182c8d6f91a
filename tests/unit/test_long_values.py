"""A value of megabytes is read in parts, so that other threads have turns, and read as it is read at once."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.documents import read_content
from answerd.formats import json as json_family
from answerd.formats import text as text_family
from answerd.formats import yaml as yaml_family
from answerd.formats.control import LONGEST_PATTERN
from answerd.formats.family import ParseError
from answerd.identity import Kind
from answerd.inventory import records
from tests.support.thorough import examples


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x85", "\u2028"], ids=ascii)
def test_an_opening_comment_ends_where_libyaml_ends_it(end: str) -> None:
    tree = yaml_family.parse(f"#cloud-config{end}a: 1\n")
    static = yaml_family.prepare(tree).static
    assert static == b"#cloud-config\na: 1\n"


def test_a_key_that_is_there_twice_is_found_behind_a_long_text() -> None:
    text = '{"a": "' + '\\"b' * 100_000 + '", "c": 1, "a": 2}'
    with pytest.raises(ParseError, match="one object has this key twice") as refusal:
        json_family.parse(text)
    assert refusal.value.column == text.rindex('"a"') + 1


STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


@given(st.text('"\\a\n', max_size=30))
def test_a_string_of_json_ends_where_its_grammar_says(text: str) -> None:
    expected = STRINGS.match(text)
    found = json_family.TOKEN.match(text)
    assert (found[0] if found and found[0][:1] == '"' else None) == (expected[0] if expected else None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"# answer: match serial={'a' * (LONGEST_PATTERN + 1)}\n", "has a pattern of more than"),
        (f"# answer: match {'a' * (LONGEST_PATTERN + 1)}=a\n", "has a label of more than"),
    ],
    ids=["a pattern", "a label"],
)
def test_a_pattern_has_an_end(text: str, reason: str) -> None:
    content, _ = read_content(Kind.GROUP, text_family, text)
    assert not content.readable
    assert reason in content.problems[0]
    assert "aaa" * 20 + "a" not in content.problems[0]


@given(st.lists(st.sampled_from(["web-1", ",", " ", "\t", "\x0b", "\u2003", "é"])).map("".join))
def test_members_are_divided_at_commas_and_blanks(rest: str) -> None:
    directives = text_family._Directives()
    expected = [member for member in re.split(r"[\s,]+", rest) if member]
    if rest.strip(" ,\t"):
        directives.take_members(rest, "line 1")
        assert directives.values["members"].value == expected


@given(st.text('a,"#\r\n; ', max_size=30))
@settings(max_examples=examples(300))
def test_rows_are_those_of_the_whole_text_or_too_long(text: str) -> None:
    """However long a comment or a blank line is; a row above the limit is refused before all of it is looked at."""
    whole = rows_of(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "LONGEST_ROW", 6)
        patch.setattr(records, "_LONGEST_LINE", 8)
        found = rows_of(text)
    if found is None or not str(found).startswith("too long"):
        assert found == whole
    if isinstance(whole, list) and all(end - start <= 6 for _, start, end in whole):
        assert found == whole or " " in text or ",," in text  # a line of nothing but blanks and commas is a row here


def rows_of(text: str) -> object:
    syntax = records.Syntax.of(records.separator_of(text))
    try:
        return [(record.line, record.start, record.end) for record in records.records(text, syntax)]
    except records.UnreadableError as error:
        return "too long" if "a row has more than" in str(error) else str(error)


def test_a_comment_of_megabytes_is_passed_over() -> None:
    for end in ("\n", "\r", "\r\n"):
        for more in (-2, -1, 0, 1, 2, 3, 2_000_000):
            comment = "#" * (records.LONGEST_ROW + more)
            text = f"{comment}{end}id;n{end}{comment}{end}a;b{end}"
            assert records.separator_of(text) == ";"
            assert [record.line for record in records.records(text, records.Syntax.of(";"))] == [2, 4]
