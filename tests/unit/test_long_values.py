"""A value of megabytes is read in parts, so that other threads have turns, and read as it is read at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.documents import read_content
from answerd.formats import json_family, text_family, toml_family, xml_family, yaml_family, yaml_reading, yaml_stream
from answerd.formats.control import LONGEST_PATTERN
from answerd.formats.family import ParseError
from answerd.formats.template_reading import TemplateReader
from answerd.formats.xml_tree import LONGEST_PROLOG, LONGEST_TAG
from answerd.identity import Kind, normalize
from answerd.inventory import records
from answerd.turns import AT_ONCE
from tests.support.thorough import examples

PIECES = [
    "a: |\n  é€😀\n\n  b\nc: >-\n  d\n  e\n",
    "a: 'x\n\n  y'\nb: \"\\u00e9 \\\n  z\"\n? |\n  k\n: &a [1, {b: *a2}]\n",
    "#cloud-config\n# é\na: &x !t 1\nb: *x\n---\n- c\n...\n",
    "a: {{ b }}\n",
    "a: 'never ended é\n",
    "a:\n\t- 1\n",
    "a: \x07\n",
    "é: \ud800\n",
    "%YAML 1.1\n%TAG ! tag:e,1:\n--- !x y\n",
    "",
]


def outcome(text: str) -> Any:
    try:
        return yaml_family.parse(text)
    except ParseError as error:
        return str(error)


def in_pieces(patch: pytest.MonkeyPatch) -> None:
    """Have every text read in pieces of three characters."""
    patch.setattr(yaml_reading, "AT_ONCE", -1)
    patch.setattr(yaml_reading, "_MOST_BYTES", 16_384 // 3)


@given(st.sampled_from(PIECES) | st.text("ab é😀\n\t:#-'\"\\{}[],&*!|>%\u2028\x85", max_size=30))
@settings(max_examples=examples(200), deadline=None)
def test_yaml_in_pieces_is_what_it_is_at_once(text: str) -> None:
    whole = outcome(text)
    with pytest.MonkeyPatch.context() as patch:
        in_pieces(patch)
        assert outcome(text) == whole


def test_a_stream_in_pieces_is_cut_at_the_same_places() -> None:
    text = "é: 1\n---\na: |\n  {{ mac }} é\nb: '{{ mac }}'\n"
    whole = yaml_stream.cut(text, TemplateReader())
    with pytest.MonkeyPatch.context() as patch:
        in_pieces(patch)
        assert [str(part) for part in yaml_stream.cut(text, TemplateReader())] == [str(part) for part in whole]


@pytest.mark.parametrize(
    "text",
    ["a: |\n  " + "é" * 400_000, f"a: '{'b' * 400_000}'\n", f"a: &{'b' * 400_000} c\n", f"# {'b' * 400_000}\na: b\n"],
    ids=["a block", "a quoted text", "an anchor", "a comment"],
)
def test_libyaml_asks_for_a_long_scalar_piece_by_piece(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece is a call of Python code, so another thread may have its turn."""
    sizes: list[int] = []
    read = yaml_reading._Pieces.read

    def counted(self: yaml_reading._Pieces, size: int) -> bytes:
        piece = read(self, size)
        sizes.append(len(piece))
        return piece

    monkeypatch.setattr(yaml_reading._Pieces, "read", counted)
    yaml_family.parse(text)
    assert len(sizes) > 20
    assert max(sizes) <= 16_384


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x85", "\u2028"], ids=ascii)
def test_an_opening_comment_ends_where_libyaml_ends_it(end: str) -> None:
    tree = yaml_family.parse(f"#cloud-config{end}a: 1\n")
    static = yaml_family.prepare(tree).static
    assert static == b"#cloud-config\na: 1\n"


LONG = "b" * (2 * AT_ONCE)


def read_by(parse: Callable[[str], object], text: str) -> object:
    """What a parser makes of a text; where it refuses it, line and column."""
    try:
        return parse(text)
    except ParseError as error:
        return error.line, error.column
    except tomli.TOMLDecodeError as error:
        return error.lineno, error.colno


@pytest.mark.parametrize(
    "text",
    [
        f"a = '{LONG}'\nc = 1\n",
        f"a = '''{LONG}\nd'e'''\n",
        f"#{LONG}\na = 1\n",
        f"a = '{LONG}\x07'\n",
        f"a = '''{LONG}\x07{LONG}'''\n",
        f"a = '{LONG}\n'\n",
        f"a = '{LONG}",
        f"#{LONG}\x00\n",
        f"a = 1{'0' * 3_000}\nb = 0.{'1' * 20_000}\n#{LONG}\n",
    ],
    ids=lambda text: text[:8] + text[-8:],
)
def test_long_texts_in_toml_are_read_as_tomli_reads_them(text: str) -> None:
    assert read_by(toml_family.parse, text) == read_by(tomli.loads, text)


@pytest.mark.parametrize("number", ["1" + "0" * 40_000, "0x" + "f" * 40_000, "0." + "1" * 40_000], ids=len)
def test_a_number_that_takes_seconds_is_refused(number: str) -> None:
    with pytest.raises(ParseError, match="a number or a date that is out of range"):
        toml_family.parse(f"a = {number}\n")


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
        (f"<r><a b='{'c' * 2 * LONGEST_TAG}'/></r>", "a tag or a doctype has more than"),
        (f"<r><{'a' * 2 * LONGEST_TAG}/></r>", "a tag or a doctype has more than"),
        (f"<!DOCTYPE r SYSTEM '{'c' * 2 * LONGEST_TAG}'><r/>", "a tag or a doctype has more than"),
        (f"<!--{'c' * LONGEST_PROLOG}--><r/>", "are before its first element"),
        (f"{' ' * (LONGEST_PROLOG + 1)}<r/>", "are before its first element"),
    ],
    ids=["an attribute", "a name", "a doctype", "a comment before the root", "blanks before the root"],
)
def test_markup_that_expat_reads_in_a_single_call_is_limited(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason) as refusal:
        xml_family.parse(text)
    assert refusal.value.line == 1


@pytest.mark.parametrize(
    "content",
    [f"<!--{'c' * 3 * LONGEST_TAG}-->", "c" * 3 * LONGEST_TAG, f"<?a {'c' * 3 * LONGEST_TAG}?>"],
    ids=["a comment", "a text", "an instruction"],
)
def test_other_parts_of_xml_may_be_as_long_as_a_file(content: str) -> None:
    assert xml_family.parse(f"<r>{content}<a/></r>").root.elements()[0].name == "a"


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


@given(st.text("aB é-ßİ1", max_size=12))
def test_a_long_text_is_normalized_as_its_parts_are(text: str) -> None:
    times = 2 * AT_ONCE // max(1, len(text))
    if text:
        assert normalize(text * times) == normalize(text) * times


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
