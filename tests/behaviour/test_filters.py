"""Filters for tables: addresses, several values, and other types than texts (docs/templates.md#filters)."""

from __future__ import annotations

import ipaddress
import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from answerd.answers.diff import compare
from answerd.errors import BrokenDocument, CannotFill
from answerd.formats import FORMATS
from answerd.formats.filters import LONGEST_FILTERED, MOST_PIECES
from answerd.formats.template import Template, TemplateReader
from tests.support.fleet import Fleet
from tests.support.lookups import Said

READ: dict[str, Callable[[str], Any]] = {"toml": tomllib.loads, "yaml": yaml.safe_load, "json": json.loads}

MADE: dict[str, tuple[list[str], str, str]] = {
    "the address": (["10.0.0.5/24"], "host", "10.0.0.5"),
    "the address of a host": (["10.0.0.5/32"], "broadcast", "10.0.0.5"),
    "the prefix": (["10.0.0.5/8"], "prefix", "8"),
    "no prefix at all": (["10.0.0.5/0"], "netmask", "0.0.0.0"),
    "the mask": (["10.0.0.5/26"], "netmask", "255.255.255.192"),
    "the network": (["10.0.0.77/26"], "network", "10.0.0.64"),
    "the broadcast address": (["10.0.0.77/26"], "broadcast", "10.0.0.127"),
    "an IPv6 address": (["2001:DB8:0::5/64"], "host", "2001:db8::5"),
    "an IPv6 prefix": (["2001:db8::5/128"], "prefix", "128"),
    "an IPv6 network": (["2001:db8::5:6/112"], "network", "2001:db8::5:0"),
    "each occurrence": (["a-b-c"], 'replace("-", "_")', "a_b_c"),
    "nothing in its place": (["a-b-c"], "replace('-', '')", "abc"),
    "quotes of the other kind": (["a'b"], """replace("'", '"')""", 'a"b'),
    "a text that is not there": (["abc"], 'replace("-", "_")', "abc"),
    "the first piece": (["a,b"], 'split(",")', "a"),
    "the first piece that is one": ([",,b"], 'split(",")', "b"),
    "pieces joined": (["a, b"], 'split(", ") | join("+")', "a+b"),
    "empty pieces left out": ([" sda  sdb "], 'split(" ") | join(",")', "sda,sdb"),
    "several values joined": (["a", "b", "c"], 'join(" ")', "a b c"),
    "joined with nothing": (["a", "b"], 'join("")', "ab"),
    "a filter for each value": (["A", "B"], 'lower | join(" ")', "a b"),
    "a filter for what was joined": (["a", "b"], 'join(" ") | upper', "A B"),
    "pieces of each value": (["a b", "c"], 'split(" ") | join(",")', "a,b,c"),
    "a filter for each piece": (["AA BB"], 'split(" ") | lower | replace("a", "c") | join(",")', "cc,bb"),
    "the first value without join": (["a", "b"], "upper", "A"),
    "only the first value has to be usable": (["98fa9b50d810", "x"], "colons", "98:fa:9b:50:d8:10"),
    "a default before": ([], 'default("a b") | split(" ") | join(",")', "a,b"),
    "a default after": ([], 'split(" ") | join(",") | default("none")', "none"),
    "a default where pieces have nothing": ([",,"], 'split(",") | default("none")', "none"),
    "a default for all values": (["a", "b"], 'default("none") | join(",")', "a,b"),
    "the first of several": (["a", "b"], "first", "a"),
    "the last of several": (["a", "b"], "last", "b"),
    "the last piece": (["a-b-c"], 'split("-") | last', "c"),
    "the first of nothing": ([], 'first | default("none")', "none"),
    "lines": (["a\n\r\nb c\rd"], 'lines | join(",")', "a,b c,d"),
    "the first line": (["a\nb"], "lines", "a"),
    "the last line": (["a\nb\n"], "lines | last", "b"),
    "pieces between line ends": (["a\nb"], 'split("\\n") | join("+")', "a+b"),
    "pieces between tabs": (["a\tb"], 'split("\\t") | last', "b"),
    "joined with line ends": (["a", "b"], 'join("\\n")', "a\nb"),
    "joined with a tab": (["a", "b"], 'join("\\t") | upper', "A\tB"),
    "all values of another fact": ([], 'default(others) | join(",")', "o,p"),
    "the first value of another fact": ([], "default(others)", "o"),
    "the last value of another fact": ([], "default(others) | last", "p"),
    "blanks between": (["a"], ' replace ( "a" , "b" ) ', "b"),
}


def template_of(filters: str) -> Template:
    reader = TemplateReader()
    template = reader(f"{{{{ x | {filters} }}}}", has_types=True)
    assert reader.problems == []
    assert isinstance(template, Template)
    return template


@pytest.mark.parametrize(("values", "filters", "made"), MADE.values(), ids=MADE.keys())
def test_a_filter_makes_of_the_values(values: list[str], filters: str, made: str) -> None:
    assert template_of(filters).fill(Said({"x": values, "others": ["o", "p"]})) == made


REFUSED: dict[str, tuple[list[str], str, str]] = {
    "an address without prefix": (["10.0.0.5"], "host", "is not an address with a prefix"),
    "a mask in place of a prefix": (["10.0.0.5/255.255.255.0"], "host", "is not an address with a prefix"),
    "a prefix that is too long": (["10.0.0.5/33"], "host", "is not an address with a prefix"),
    "a prefix with a zero before it": (["10.0.0.5/024"], "prefix", "is not an address with a prefix"),
    "octets with zeros before them": (["010.0.0.5/24"], "host", "is not an address with a prefix"),
    "a blank before": ([" 10.0.0.5/24"], "network", "is not an address with a prefix"),
    "a zone": (["fe80::1%eth0/64"], "host", "is not an address with a prefix"),
    "digits of another script": (["\u06610.0.0.5/24"], "host", "is not an address with a prefix"),
    "a name": (["web-01"], "network", "is not an address with a prefix"),
    "a netmask of IPv6": (["2001:db8::5/64"], "netmask", "is an IPv6 address"),
    "a broadcast address of IPv6": (["2001:db8::5/64"], "broadcast", "is an IPv6 address"),
    "a control character beside a line end": (["a\nb\x1b"], "lines | last", "control character"),
    "a carriage return between tabs": (["a\tb\rc"], 'split("\\t") | last', "control character"),
    "a line end where nothing cuts": (["a\nb"], 'replace("b", "c")', "control character"),
    "a line end that is cut too late": (["a\nb"], "upper | lines", "control character"),
    "what base64 makes too long": (["a" * 65_000], "base64", "more than 65536"),
    "what urlencode makes too long": (["%" * 65_000], "urlencode", "more than 65536"),
    "the second value, where all count": (["10.0.0.5/24", "x"], 'host | join(" ")', "is not an address"),
    "a number with a zero before it": (["042"], "number", "is not an integer"),
    "a number with a plus": (["+1"], "number", "is not an integer"),
    "an exponent": (["1e3"], "number", "is not an integer"),
    "a fraction without digits": (["1."], "number", "is not an integer"),
    "no digits before the point": ([".5"], "number", "is not an integer"),
    "a hexadecimal number": (["0x10"], "number", "is not an integer"),
    "not a number": (["nan"], "number", "is not an integer"),
    "underscores": (["1_000"], "number", "is not an integer"),
    "other digits": (["٤٢"], "number", "is not an integer"),
    "a blank after": (["42 "], "number", "is not an integer"),
    "no boolean": (["maybe"], "bool", "is none of true"),
    "half a boolean": (["t"], "bool", "is none of true"),
    "a number that is no boolean": (["2"], "bool", "is none of true"),
    "more pieces than there may be": ([",".join("a" * (MOST_PIECES + 1))], 'split(",") | join("")', "pieces"),
    "more pieces of all values": ([",".join("a" * 600)] * 2, 'split(",") | list', "pieces"),
    "a text that grows and grows": (["a" * 1_000], 'replace("a", "aaaaaaaaaa") | ' * 4 + "lower", "characters"),
    "values that are too long together": (["a" * 1_000] * 1_000, f'join("{"b" * 100}")', "characters"),
}


@pytest.mark.parametrize(("values", "filters", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_a_value_that_a_filter_cannot_use_is_refused_and_not_quoted(
    values: list[str], filters: str, reason: str
) -> None:
    with pytest.raises(CannotFill, match=reason) as failed:
        template_of(filters.rstrip(" |")).fill(Said({"x": values}))
    assert not failed.value.missing
    assert not [value for value in values if len(value) > 2 and value in failed.value.reason]


@pytest.mark.parametrize("filters", ['split(",")', 'split(",") | join(" ")', 'split(",") | list', "list", 'join("")'])
@pytest.mark.parametrize("values", [[], [",,"]], ids=["no value", "nothing but separators"])
def test_what_is_missing_stays_missing(filters: str, values: list[str]) -> None:
    if values and "split" not in filters:
        return
    with pytest.raises(CannotFill) as failed:
        template_of(filters).fill(Said({"x": values}))
    assert failed.value.missing


def test_a_text_may_be_as_long_as_a_filter_can_make_it() -> None:
    made = template_of('join("")').fill(Said({"x": ["a" * 64, "b"] * 1_000}))
    assert LONGEST_FILTERED - 1_000 < len(made) <= LONGEST_FILTERED


def test_a_value_with_a_control_character_is_refused_wherever_it_is() -> None:
    lookup = Said({"x": ["a", "b\x07"]})
    assert template_of("upper").fill(lookup) == "A"
    for filters in ('join(" ")', 'replace("b", "c") | list', 'split("b") | join("")'):
        with pytest.raises(CannotFill, match="control character"):
            template_of(filters).fill(lookup)


PROBLEMS: dict[str, str] = {
    "no text": "replace",
    "one text of two": 'replace("a")',
    "three texts": 'replace("a", "b", "c")',
    "an empty text to replace": 'replace("", "b")',
    "an empty separator": 'split("")',
    "no separator": "split",
    "two separators": 'split(",", ";")',
    "a join without a text": "join",
    "a text for host": 'host("a")',
    "a text for number": 'number("a")',
    "a text for list": 'list(",")',
    "number before another filter": "number | lower",
    "list before another filter": 'list | join(" ")',
    "bool twice": "bool | bool",
    "parentheses with nothing in them": "lower()",
    "no quotes": "split(,)",
    "no comma": 'replace("a" "b")',
    "an unknown filter": "int",
}


@pytest.mark.parametrize("filters", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_filter_that_cannot_be_meant_is_a_problem_of_its_document(fleet: Fleet, filters: str) -> None:
    fleet.write({"default.json": json.dumps({"a": f"{{{{ x | {filters} }}}}"})})
    (problem,) = fleet.problems()
    assert "{{ … }}" in problem
    with pytest.raises(BrokenDocument):
        fleet.ask("/json?x=1")


TYPED_WRONG: dict[str, tuple[str, str]] = {
    "text before": ("toml", 'a = "v{{ x | number }}"\n'),
    "text after": ("json", '{"a": "{{ x | number }} "}'),
    "a second placeholder": ("json", '{"a": "{{ x | number }}{{ x | number }}"}'),
    "a block with its line end": ("yaml", "a: |\n  {{ x | list }}\n"),
    "in text": ("ks", "{{ x | number }}\n"),
    "alone in text": ("cfg", "{{ x | bool }}"),
    "in an XML text": ("xml", "<r>{{ x | list }}</r>"),
    "in an XML attribute": ("xml", '<r a="{{ x | bool }}"/>'),
    "a literal text": ("json", '{"a": "{{ \'1\' | number }}"}'),
}


@pytest.mark.parametrize(("extension", "text"), TYPED_WRONG.values(), ids=TYPED_WRONG.keys())
def test_a_type_is_a_problem_where_it_cannot_be(fleet: Fleet, extension: str, text: str) -> None:
    fleet.write({f"default.{extension}": text})
    assert all(re.search(r"\b(number|bool|list)\b", problem) for problem in fleet.problems())
    with pytest.raises(BrokenDocument):
        fleet.ask("/?x=1")


PLACES = {
    "toml": (
        'n = "{{ x | number }}"\na = ["{{ x | number }}", 1]\n[t]\nb = \'{{ y | bool }}\'\n'
        "l = '''{{ z | split(\" \") | list }}'''\n"
    ),
    "json": '{"n": "{{ x | number }}", "a": ["{{ x | number }}", 1], "t": {"b": "{{ y | bool }}", '
    '"l": "{{ z | split(\' \') | list }}"}}',
    "yaml": (
        "n: '{{ x | number }}'\na: ['{{ x | number }}', 1]\nt:\n  b: !!str \"{{ y | bool }}\"\n"
        "  l: |-\n    {{ z | split(' ') | list }}\n"
    ),
}


@pytest.mark.parametrize("extension", PLACES)
@pytest.mark.parametrize(
    ("x", "number"), [("42", 42), ("-7", -7), ("0", 0), ("1.50", 1.5), ("-0.5", -0.5), ("9" * 18, int("9" * 18))]
)
def test_a_type_replaces_the_string(fleet: Fleet, extension: str, x: str, number: float) -> None:
    fleet.write({f"default.{extension}": PLACES[extension]})
    answer = fleet.text(f"/?x={x}&y=Yes&z=1+two")
    assert READ[extension](answer) == {"n": number, "a": [number, 1], "t": {"b": True, "l": ["1", "two"]}}
    assert x in answer


@pytest.mark.parametrize("extension", PLACES)
@pytest.mark.parametrize(
    ("y", "truth"),
    [("TRUE", True), ("on", True), ("1", True), ("False", False), ("nO", False), ("off", False), ("0", False)],
)
def test_words_for_true_and_false(fleet: Fleet, extension: str, y: str, truth: bool) -> None:
    fleet.write({f"default.{extension}": PLACES[extension]})
    assert READ[extension](fleet.text(f"/?x=1&y={y}&z=a"))["t"]["b"] is truth


def test_a_list_takes_all_values_of_a_label(fleet: Fleet) -> None:
    fleet.write({"default.json": '{"macs": "{{ mac | bare | list }}"}'})
    answer = json.loads(fleet.text("/?mac=98:FA:9B:50:D8:10&mac=98-fa-9b-50-d8-11"))
    assert answer == {"macs": ["98fa9b50d810", "98fa9b50d811"]}


def test_types_in_a_stream_of_several_documents(fleet: Fleet) -> None:
    fleet.write(
        {"default.yaml": "a: '{{ x | number }}' # one\n---\nb:\n  - |-\n    {{ z | split(' ') | list }}\n  - c\n"}
    )
    answer = fleet.text("/?x=4&z=a+b")
    assert list(yaml.safe_load_all(answer)) == [{"a": 4}, {"b": [["a", "b"], "c"]}]
    assert "# one" in answer


def test_a_difference_shows_a_type_that_only_a_request_fills_as_text(fleet: Fleet) -> None:
    before = fleet.write({"n1.json": '{"a": "{{ x | number }}"}'}).loader.catalogue
    after = fleet.write(
        {"n1.json": '{"a": "{{ y | split(\',\') | list }}", "m": "{{ machine | list }}"}'}
    ).loader.catalogue
    (difference,) = compare(before, after).differences
    assert difference.before
    assert difference.after
    assert json.loads(difference.before.text or "") == {"a": "{{ x | number }}"}
    assert json.loads(difference.after.text or "") == {"a": '{{ y | split(",") | list }}', "m": ["n1"]}


SOME_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


def _pieces(values: list[str]) -> list[str]:
    return [piece for value in values for piece in value.split("b") if piece]


FILTERED: dict[str, tuple[str, Callable[[list[str]], object]]] = {
    "text": ("{{ x | replace('a', '\"') }}", lambda values: values[0].replace("a", '"')),
    "joined": ("{{ x | join(' ,') }}", " ,".join),
    "split": ("<{{ x | split('b') | join('|') }}>", lambda values: f"<{'|'.join(_pieces(values))}>"),
    "list": ("{{ x | list }}", list),
    "list of pieces": ("{{ x | split('b') | list }}", _pieces),
}


@pytest.mark.parametrize("extension", READ)
@given(values=st.lists(SOME_TEXT, min_size=1, max_size=4))
def test_whatever_the_values_the_answer_parses_and_the_rest_is_untouched(extension: str, values: list[str]) -> None:
    family = FORMATS[extension].family
    written = {"before": "x", **{name: text for name, (text, _) in FILTERED.items()}, "after": [1, "y"]}
    source = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in written.items())
    tree = family.placeholders(family.parse(source if extension == "toml" else json.dumps(written)), TemplateReader())
    lookup = Said({"x": values})
    expected = {"before": "x", **{name: made(values) for name, (_, made) in FILTERED.items()}, "after": [1, "y"]}
    if not _pieces(values):
        with pytest.raises(CannotFill):
            family.prepare(tree).fill(lookup)
        return
    assert READ[extension](family.prepare(tree).fill(lookup).decode()) == expected


@pytest.mark.parametrize("extension", READ)
@given(text=st.from_regex(r"[-+]?[0-9.eE_]{1,12}", fullmatch=True) | st.sampled_from(["nan", "inf", "1\n", "true", ""]))
def test_a_number_leaves_as_it_came_or_not_at_all(extension: str, text: str) -> None:
    family = FORMATS[extension].family
    source = 'n = "{{ x | number }}"\n' if extension == "toml" else '{"n": "{{ x | number }}"}'
    prepared = family.prepare(family.placeholders(family.parse(source), TemplateReader()))
    if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", text) is None:
        with pytest.raises(CannotFill):
            prepared.fill(Said({"x": [text] if text else []}))
        return
    answer = prepared.fill(Said({"x": [text]})).decode()
    value = READ[extension](answer)["n"]
    assert re.search(rf"(?<![-\d.]){re.escape(text)}(?![\d.])", answer)
    assert isinstance(value, float if "." in text else int)
    assert value == float(text)


@given(st.ip_addresses(), st.integers(0, 128))
def test_addresses_are_taken_apart_as_their_bits_say(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, prefix: int
) -> None:
    bits = address.max_prefixlen
    if prefix > bits:
        return
    lookup = Said({"x": [f"{address}/{prefix}"]})
    below = (1 << (bits - prefix)) - 1
    kind = type(address)
    assert template_of("host").fill(lookup) == str(address)
    assert template_of("prefix").fill(lookup) == str(prefix)
    assert template_of("network").fill(lookup) == str(kind(int(address) & ~below))
    if address.version == 4:
        assert template_of("broadcast").fill(lookup) == str(kind(int(address) | below))
        assert template_of("netmask").fill(lookup) == str(kind(((1 << bits) - 1) & ~below))
