"""Placeholders in keys of maps (docs/templates.md)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from answerd.errors import CannotFill
from answerd.formats import FORMATS
from answerd.formats.template import TemplateReader
from tests.support.fleet import Fleet
from tests.support.lookups import Said

READ: dict[str, Callable[[str], Any]] = {"toml": tomllib.loads, "yaml": yaml.safe_load, "json": json.loads}

DOCUMENTS: dict[str, tuple[str, str]] = {
    "TOML": ("toml", 'a = 1\n"{{ nic }}" = "x"\n'),
    "a table of TOML": ("toml", 'a = 1\n[n."{{ nic }}"]\ny = "{{ nic }}"\n[n.o]\nz = 1\n'),
    "tables below a table of TOML": ("toml", '[n."{{ nic }}".deep]\ny = 1\n[[n."{{ nic }}".list]]\nz = 1\n'),
    "an inline table of TOML": ("toml", 'n = { "x-{{ nic }}" = 1, b = 2 }\n'),
    "YAML": ("yaml", '"{{ nic }}": x\na: 1\n'),
    "a plain key of YAML": ("yaml", "e{{ nic }}: {dhcp4: true}\n"),
    "a map in a block of YAML": ("yaml", 'n:\n  "{{ nic }}":\n    dhcp4: true\n  o: 1\n'),
    "a flow map of YAML": ("yaml", "n: {\"{{ nic }}\": {dhcp4: true}, 'b {{ nic }}': 2}\n"),
    "JSON": ("json", '{"{{ nic }}": {"x": 1}, "a": [{"b{{ nic | upper }}": "{{ nic }}"}]}'),
}
VALUES = ["enp1s0", 'q"x', "a: b", "back\\slash", "{x}", "é #"]


def replaced(value: Any, nic: str) -> Any:
    """A tree with the placeholders replaced."""
    if isinstance(value, dict):
        return {replaced(key, nic): replaced(below, nic) for key, below in value.items()}
    if isinstance(value, list):
        return [replaced(below, nic) for below in value]
    return (
        value.replace("{{ nic }}", nic).replace("{{ nic | upper }}", nic.upper()) if isinstance(value, str) else value
    )


@pytest.mark.parametrize("nic", VALUES)
@pytest.mark.parametrize(("extension", "text"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_key_is_filled_as_a_value_is(extension: str, text: str, nic: str) -> None:
    family: Any = FORMATS[extension].family
    reader = TemplateReader(text)
    prepared = family.prepare(family.placeholders(family.parse(text), reader))
    assert reader.problems == []
    assert READ[extension](prepared.fill(Said({"nic": [nic]})).decode()) == replaced(READ[extension](text), nic)


@pytest.mark.parametrize(("extension", "text"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_key_is_served_as_it_is_where_templates_are_off(fleet: Fleet, extension: str, text: str) -> None:
    if extension != "yaml":
        return
    fleet.write({"m0001.yaml": f"template: false\n{text}"})
    assert yaml.safe_load(fleet.text("/yaml/m0001")) == yaml.safe_load(text)


SAME = {
    "toml": ('[n]\n"{{ a }}" = 1\n"{{ b }}" = 2\n', '[n]\n"{{ a }}" = 1\nx = 2\n', "[n]\n\"{{ 'x' }}\" = 1\nx = 2\n"),
    "yaml": ('n: {"{{ a }}": 1, "{{ b }}": 2}\n', 'n:\n  x: 1\n  "{{ a }}": 2\n', "n: {\"{{ 'x' }}\": 1, x: 2}\n"),
    "json": ('{"{{ a }}": 1, "{{ b }}": 2}', '{"x": 1, "{{ a }}": 2}', '{"{{ \'x\' }}": 1, "x": 2}'),
}


@pytest.mark.parametrize("extension", SAME)
@pytest.mark.parametrize("at", [0, 1, 2], ids=["two placeholders", "a key that is there", "a text and a key"])
def test_two_keys_that_become_one_are_refused(fleet: Fleet, extension: str, at: int) -> None:
    fleet.write({f"m0001.{extension}": SAME[extension][at]})
    assert fleet.problems() == []
    if at < 2:
        assert "y" in fleet.text(f"/{extension}/m0001?a=y&b=x")
    with pytest.raises(CannotFill, match="two keys of one map become one") as failed:
        fleet.ask(f"/{extension}/m0001?a=x&b=x")
    assert "'x'" not in failed.value.reason


def test_a_stream_of_documents_has_keys_too(fleet: Fleet) -> None:
    fleet.write({"m0001.yaml": "{\"{{ a }}\": 1, x: 2}\n---\n&k '{{ b }}': {c: *k}\n"})
    assert next(iter(yaml.safe_load_all(fleet.text("/yaml/m0001?a=p&b=q")))) == {"p": 1, "x": 2}
    with pytest.raises(CannotFill, match="two keys"):
        fleet.ask("/yaml/m0001?a=x&b=q")


def test_layers_pair_keys_by_what_is_written(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/g.yaml": 'members: [m0001]\nn: {"{{ nic }}": {dhcp4: true, mtu: 1}, o: 1}\n',
            "m0001.yaml": 'n: {"{{ nic }}": {mtu: 9000}}\nunset: [n.o]\n',
        }
    )
    assert yaml.safe_load(fleet.text("/yaml/m0001?nic=e1")) == {"n": {"e1": {"dhcp4": True, "mtu": 9000}}}
    fleet.write({"m0001.yaml": "unset: ['n.\"{{ nic }}\".mtu']\n"})
    assert yaml.safe_load(fleet.text("/yaml/m0001?nic=e1")) == {"n": {"e1": {"dhcp4": True}, "o": 1}}


@pytest.mark.parametrize("extension", ["toml", "yaml", "json"])
@pytest.mark.parametrize("inside", ["a b", "a | shout", "a | number", "a | list"])
def test_a_fault_in_a_key_is_a_problem(fleet: Fleet, extension: str, inside: str) -> None:
    text = {"toml": '"{{ %s }}" = 1\n', "yaml": '"{{ %s }}": 1\n', "json": '{"{{ %s }}": 1}'}[extension]
    fleet.write({f"m0001.{extension}": text % inside})
    (problem,) = fleet.problems()
    assert "{{ … }} at line 1" in problem


KEYS = st.text("abé\"\\'{}: #", max_size=4)


@pytest.mark.parametrize("extension", ["toml", "yaml", "json"])
def test_a_key_that_becomes_too_long_is_refused(fleet: Fleet, extension: str) -> None:
    fleet.write({f"m0001.{extension}": SAME[extension][1]})
    assert "z" * 1_000 in fleet.text(f"/{extension}/m0001?a={'z' * 1_000}")
    with pytest.raises(CannotFill, match="more than 1000 characters"):
        fleet.ask(f"/{extension}/m0001?a={'z' * 1_001}")


@given(st.dictionaries(KEYS, st.integers(), max_size=3), KEYS)
def test_any_value_is_a_key_and_changes_nothing_else(others: dict[str, int], nic: str) -> None:
    text = json.dumps({"{{ v }}": 0, **others}, ensure_ascii=False)
    for extension in ("json", "yaml"):
        family: Any = FORMATS[extension].family
        if "{{" in "".join(others):
            return
        prepared = family.prepare(family.placeholders(family.parse(text), TemplateReader(text)))
        if nic in others:
            with pytest.raises(CannotFill):
                prepared.fill(Said({"v": [nic]}))
        else:
            assert READ[extension](prepared.fill(Said({"v": [nic]})).decode()) == {nic: 0, **others}
