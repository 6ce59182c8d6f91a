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
from answerd.errors import CannotFill
from answerd.formats import FORMATS
from answerd.formats.filters import LONGEST_FILTERED, MOST_PIECES
from answerd.formats.template import Template, TemplateReader
from tests.support.fleet import Fleet
from tests.support.lookups import Said

READ: dict[str, Callable[[str], Any]] = {"toml": tomllib.loads, "yaml": yaml.safe_load, "json": json.loads}


def template_of(filters: str) -> Template:
    reader = TemplateReader()
    template = reader(f"{{{{ x | {filters} }}}}", has_types=True)
    assert reader.problems == []
    assert isinstance(template, Template)
    return template


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
