"""Values of megabytes, or nearly: read as short ones are, and refused where they have no end."""

from __future__ import annotations

import pytest

from answerd.documents import read_content
from answerd.formats import json as json_family
from answerd.formats import text as text_family
from answerd.formats import yaml as yaml_family
from answerd.formats.control import LONGEST_PATTERN
from answerd.formats.family import ParseError
from answerd.identity import Kind


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
