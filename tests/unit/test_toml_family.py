"""The TOML family: what is written reads back the same, whatever it holds (docs/merging.md)."""

from __future__ import annotations

import datetime
import json
import math
import threading
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.formats import toml as toml_family
from answerd.formats.family import DEEPEST, ParseError
from tests.support.thorough import examples

text = st.text(st.characters(exclude_categories=["Cs"]))
zones = st.sampled_from([None, datetime.UTC, datetime.timezone(datetime.timedelta(hours=-9, minutes=-30))])
scalars = st.one_of(
    text,
    st.integers(),
    st.floats(),
    st.booleans(),
    st.datetimes(timezones=zones),
    st.dates(),
    st.times(),
)
values = st.recursive(
    scalars, lambda below: st.lists(below, max_size=4) | st.dictionaries(text, below, max_size=4), max_leaves=12
)
tables = st.dictionaries(text, values, max_size=5)


def written(tree: Any) -> str:
    answer = toml_family.prepare(tree).static
    assert answer is not None
    return answer.decode()


def same(first: Any, second: Any) -> bool:
    """Equality that tells types apart, the order of keys in a table aside, and lets NaN be NaN."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float):
        return (math.isnan(first) and math.isnan(second)) or (
            first == second and math.copysign(1, first) == math.copysign(1, second)
        )
    if isinstance(first, datetime.datetime):
        return bool(first == second and first.utcoffset() == second.utcoffset())
    return bool(first == second)


@given(tables)
@settings(max_examples=examples(200))
def test_what_is_written_reads_back_the_same(tree: dict[str, Any]) -> None:
    assert same(toml_family.parse(written(tree)), tree)


@given(tables, tables, tables)
def test_merging_keeps_everything_replaces_all_but_tables_and_never_edits_a_layer(
    lower: dict[str, Any], upper: dict[str, Any], top: dict[str, Any]
) -> None:
    before = written(lower), written(upper)
    merged = toml_family.merge(lower, upper)
    toml_family.merge(merged, top)
    toml_family.unset(lower, [(key,) for key in lower])
    assert (written(lower), written(upper)) == before
    assert list(merged) == [*lower, *(key for key in upper if key not in lower)]
    for key, value in merged.items():
        if key not in upper:
            assert same(value, lower[key])
        elif isinstance(upper[key], dict) and isinstance(lower.get(key), dict):
            assert same(value, toml_family.merge(lower[key], upper[key]))
        else:
            assert same(value, upper[key])


@pytest.mark.parametrize(
    "line",
    [
        "i = 0x1f",
        "i = 9223372036854775808123",
        "i = -0",
        "f = 1e400",
        "f = -0.0",
        "f = 6.02e+23",
        "f = inf",
        "f = -inf",
        "f = nan",
        "d = 1979-05-27T07:32:00.999999-07:00",
        "d = 1979-05-27 07:32:00Z",
        "d = 0001-01-01",
        "t = 07:32:00.5",
        's = "\\u0000\\u001f\\u007f\\u0080\\u2028\\U0001F600\\"\\\\"',
        "s = '''\n\"\"\"'\n'''",
        '"" = 1',
        '"a.b"."c\\"d\\n" = 1',
        '"ключ" = 1',
        "a = []",
        "a = [[], [{}], {}]",
        "a = [{b = 1}, 2]",
        "a = {}",
        "[a]\n[a.b]\n[a.b.c]",
        "[a.b.c]\nx = 1\n[a]\ny = 2",
        "[[a]]\n[[a]]\nx = 1\n[[a.b]]\n[a.c]",
        "[[a]]\n[a.b]\nc = 1\n[[a]]",
        "a = [{b = [{c = 1}]}, {}]",
        "x = 1\n[t]\n[[t.u]]\n[z]\n",
    ],
)
def test_nasty_documents_survive(line: str) -> None:
    tree = toml_family.parse(line)
    assert same(toml_family.parse(written(tree)), tree)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ("a = 1\nb = = 2", "line 2, column 5"),
        ("a = 1\na = 2", "line 2"),
        ("a = [1,", "line 1"),
        ("a = '\x00'", "line 1"),
        ("[a]\n[a]", "line 2"),
    ],
)
def test_a_fault_has_its_line(document: str, place: str) -> None:
    with pytest.raises(ParseError, match=place):
        toml_family.parse(document)


@pytest.mark.parametrize(
    "document",
    [
        "a = " + "[" * 100_000,
        "a = " + "[" * 200 + "]" * 200,
        "[" + ".".join("a" * 500) + "]",
        "a = " + "9" * 10_000,
        "a = 2020-02-30",
        "a = 25:00:00",
    ],
)
def test_what_only_a_hostile_document_holds_is_a_parse_error(document: str) -> None:
    with pytest.raises(ParseError):
        toml_family.parse(document)


TEXTS = [
    '"x"',
    '""',
    '["x", "y"]',
    '{ "k" = "v" }',
    '"a # b"',
    '"x',
    "'x'",
    '"it\'s"',
    '"x\' # y"',
    '"""a "b" c"""',
    '"\\n"',
    '"\x01"',
    '"\t"',
]
pieces = st.sampled_from([*"\"'\\ab#[]{},.1\t\n\x01", '"', '"""', "'''", " = "])
lines = st.one_of(
    st.lists(pieces, max_size=12).map("".join),
    st.builds(
        lambda key, value, end: f"{key} = {value}{end}",
        st.sampled_from(["a", "b", '"c"', '"d.e"', 'f."g"', '""']),
        st.sampled_from(TEXTS),
        st.sampled_from(["", ' # say "x"', ' # 5" disk', "  "]),
    ),
)


def agrees_with_the_standard_library(document: str) -> bool:
    expected: Any = None
    sentence = ""
    try:
        expected = tomllib.loads(document)
    except tomllib.TOMLDecodeError as error:
        sentence = toml_family.fixed_sentence(str(error).partition(" (at ")[0])
    try:
        read = toml_family.parse(document)
    except ParseError as error:
        return bool(sentence) and sentence in str(error)
    return not sentence and same(read, expected)


@pytest.mark.parametrize("value", TEXTS)
def test_a_text_is_read_as_the_standard_library_reads_it(value: str) -> None:
    assert agrees_with_the_standard_library(f"a = {value}\n")


@given(st.lists(lines, max_size=6).map("\n".join))
@settings(max_examples=examples(300))
def test_texts_are_read_as_the_standard_library_reads_them(document: str) -> None:
    assert agrees_with_the_standard_library(document)


@pytest.mark.parametrize("document", ["b = [1,", "b = 'x", "[b\n", "b = 1\nb = 2\n", "b = 1979-13-01\n", "b = 1\n"])
def test_a_long_text_is_read_as_a_short_one(document: str) -> None:
    def outcome(text: str) -> object:
        try:
            return toml_family.parse(text)
        except ParseError as error:
            return error.reason, error.line, error.column

    longer = f"#{' ' * 40_000}"
    assert outcome(f"{longer}\n{document}") == outcome(f"#\n{document}")


@pytest.mark.parametrize("parts", ["a.", '"a".', "'a' .\t", "a-1_b. "])
@pytest.mark.parametrize("around", ["{}a = 1\n", "[{}a]\n", "[[{}a]]\n", "a = {{ {}a = 1 }}\n"])
def test_a_key_of_any_number_of_parts_is_refused_at_once(parts: str, around: str) -> None:
    with pytest.raises(ParseError, match="it is nested too deeply") as refused:
        toml_family.parse("# first\n" + around.format(parts * 50_000))
    assert refused.value.line == 2


@pytest.mark.parametrize(
    "value",
    [
        [f"{'a.' * 900}{number}" for number in range(50)],
        [f".{number}.example.com" for number in range(2_000)],
        f"no_proxy={' '.join(f'10.0.{number // 250}.{number % 250}' for number in range(4_000))}",
        " ".join(f"web-{number}.example.com" for number in range(2_000)),
        "This is a sentence. " * 2_000,
        "." * 40_000,
        "a" + " " * 40_000 + "." * 1_000,
    ],
)
@pytest.mark.parametrize("quotes", ['"{}"', "'{}'", "'''\n{}'''", '"""\n{}"""'])
def test_a_line_of_many_dots_that_are_in_texts_is_read(value: str | list[str], quotes: str) -> None:
    written = quotes.format(value) if isinstance(value, str) else json.dumps(value)
    assert toml_family.parse(f"a = {written} # {'...' * 12_000}\n") == {"a": value}


def test_other_threads_run_while_a_long_text_is_read() -> None:
    turns, is_read = 0, threading.Event()

    def take_turns() -> None:
        nonlocal turns
        while not is_read.wait(0.001):
            turns += 1

    other = threading.Thread(target=take_turns)
    other.start()
    with pytest.raises(ParseError):
        toml_family.parse(f"a = [{'1,' * 500_000}")
    is_read.set()
    other.join()
    assert turns > 10


def test_no_text_is_read_that_is_nested_deeper_than_a_recursion_bears() -> None:
    lists = DEEPEST - 1  # the document itself is a level
    assert toml_family.parse(f"x = {'[' * lists}{']' * lists}")
    with pytest.raises(ParseError, match=f"more than {DEEPEST} levels deep"):
        toml_family.parse(f"x = {'[' * DEEPEST}{']' * DEEPEST}")
