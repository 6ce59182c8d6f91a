"""The rules of installers that are data: each file is a schema of keywords that are judged, and each error of one is a
sentence with its place, what is expected and no value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from answerd.validators import schema
from answerd.validators.schema import NOTHING, Fault, Items, Program, Symbol

FOLDER = Path(schema.__file__).parent / "rules"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
KEYWORDS = {
    *("$comment", "$defs", "$ref", "additionalProperties", "allOf", "anyOf", "const", "dependentRequired"),
    *(
        "description",
        "else",
        "enum",
        "if",
        "itemNames",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
    ),
    *("minProperties", "minimum", "not", "passesOver", "pattern", "properties", "required", "symbol", "then"),
    *("type", "uniqueItems"),
}
"""The keywords that `schema` has sentences for, and those that only lead to others."""

READER = Program("the reader", nouns={"symbol": "a marked word"})


def schemas(within: Any) -> Iterator[dict[str, Any]]:
    """Every schema of a file, the file's own first."""
    yield within
    for keyword in ("properties", "$defs"):
        for below in within.get(keyword, {}).values():
            yield from schemas(below)
    for keyword in ("allOf", "anyOf"):
        for below in within.get(keyword, ()):
            yield from schemas(below)
    for keyword in ("additionalProperties", "items", "if", "then", "else", "not"):
        if isinstance(below := within.get(keyword), dict):
            yield from schemas(below)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_a_schema_of_keywords_that_are_judged(name: str) -> None:
    rules = schema.rules(name)
    Draft202012Validator.check_schema(rules)
    assert {keyword for one in schemas(rules) for keyword in one} <= KEYWORDS


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_where_its_facts_are_from(name: str) -> None:
    assert "Facts:" in schema.rules(name)["$comment"]


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_leads_to_a_definition_that_is_used(name: str) -> None:
    rules = schema.rules(name)
    used = {one["$ref"] for one in schemas(rules) if "$ref" in one}
    known = {f"#/$defs/{definition}" for definition in rules.get("$defs", ())}
    assert used <= known
    assert known <= used | {f"#/$defs/{part}" for part in PARTS.get(name, ())}


PARTS: dict[str, tuple[str, ...]] = {"talos": ("kind",)}
"""Definitions that code judges by themselves."""


@pytest.mark.parametrize("name", NAMES)
def test_what_is_expected_is_said_where_a_pattern_or_a_choice_decides(name: str) -> None:
    def says_nothing(one: dict[str, Any]) -> bool:
        return "description" not in one and ("pattern" in one or "not" in one)

    conditions = [one["if"] for one in schemas(schema.rules(name)) if "if" in one]
    forbidden = [one["not"] for one in schemas(schema.rules(name)) if "not" in one]
    described = {id(below) for one in schemas(schema.rules(name)) if "description" in one for below in schemas(one)}
    silent = [one for one in schemas(schema.rules(name)) if says_nothing(one) and id(one) not in described]
    assert [one for one in silent if one not in conditions and one not in forbidden] == []


def faults_of(rules: dict[str, Any], value: Any, monkeypatch: pytest.MonkeyPatch) -> list[Fault]:
    """The faults of a value by rules that no file has."""
    monkeypatch.setattr(schema, "rules", lambda _name: rules)
    schema._validator.cache_clear()
    try:
        return list(schema.faults("own", value, READER))
    finally:
        schema._validator.cache_clear()


TEXTS = {"type": "array", "items": {"type": "string"}}
KEYS = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}

# fmt: off
SENTENCES: list[tuple[str, dict[str, Any], Any, str, str]] = [
    ("another type", {"type": "integer"}, "Tiger-77", "", "must be a whole number"),
    ("a number in place of a string", {"type": "string"}, 77, "", "must be a string; write it in quotes"),
    ("a list of another type", TEXTS, "Tiger-77", "", "must be a list of strings"),
    ("an item of another type", TEXTS, ["a", 77], "1", "must be a string; write it in quotes"),
    ("nothing", TEXTS, None, "", "must be a list of strings; there is nothing"),
    ("one of two types", {"type": ["string", "null"]}, [], "", "must be a string or null"),
    ("another word", {"enum": ["on", "off"]}, "of", "", "must be 'on' or 'off'; did you mean 'off'?"),
    ("another word that is near none", {"enum": ["on", "off"]}, "Tiger-77", "", "must be 'on' or 'off'"),
    ("one of many words", {"enum": [f"word{n}" for n in range(20)]}, "wrd7", "",
     "must be another word; did you mean 'word7'?"),
    ("a constant", {"const": 1}, 2, "", "must be 1"),
    ("what is described", {"description": "a mode", "pattern": "^[0-7]+$"}, "Tiger-77", "", "must be a mode"),
    ("a key that is missing", KEYS | {"required": ["name"]}, {}, "name", "is missing: it must be a string"),
    ("a key that is nearly known", KEYS | {"additionalProperties": False}, {"Tiger": {}, "names": 1}, "names",
     "not a key that the reader knows here; did you mean 'name'?"),
    ("a key spelled with other signs",
     {"properties": {"sshAuthorizedKeys": TEXTS}, "additionalProperties": False}, {"ssh_authorized_keys": []},
     "ssh_authorized_keys", "not a key that the reader knows here; did you mean 'sshAuthorizedKeys'?"),
    ("a key that is like none", KEYS | {"additionalProperties": False}, {"xyz": 1}, "xyz",
     "not a key that the reader knows here; the keys are name, size"),
    ("a key that is passed over", KEYS | {"additionalProperties": True, "passesOver": True}, {"names": 1}, "names",
     "not a key that the reader knows here, which passes over it; did you mean 'name'?"),
    ("an empty text", {"minLength": 1}, "", "", "must not be empty"),
    ("an empty list", {"minItems": 1}, [], "", "must not be empty"),
    ("a short list", {"minItems": 2}, [1], "", "must have at least 2 items"),
    ("a long text", {"maxLength": 3}, "Tiger-77", "", "must have at most 3 characters"),
    ("a small number", {"minimum": 3}, 1, "", "must be at least 3"),
    ("an item twice", {"uniqueItems": True}, ["a", {"b": 1}, {"b": 1}], "2", "occurs twice in its list"),
    ("a key that needs another", {"dependentRequired": {"a": ["b", "c"]}}, {"a": 1, "b": 2}, "", "needs 'c' too"),
    ("a branch of another type", {"anyOf": [{"type": "string"}, TEXTS]}, {}, "",
     "must be a string or a list of strings"),
    ("a branch whose type fits", {"anyOf": [{"type": "string"}, TEXTS]}, ["a", 1], "1",
     "must be a string; write it in quotes"),
    ("one of two keys", {"anyOf": [{"required": ["name"]}, {"required": ["uid"]}]}, {}, "", "needs 'name' or 'uid'"),
    ("a branch in a branch", {"anyOf": [{"type": "null"}, {"anyOf": [{"type": "string"}, TEXTS]}]}, 7, "",
     "must be null, a string or a list of strings"),
    ("a branch whose constant fits",
     {"anyOf": [{"properties": {"kind": {"const": "a"}}, "required": ["kind", "x"]},
                {"properties": {"kind": {"const": "b"}, "x": {"type": "integer"}}}]},
     {"kind": "b", "x": "Tiger-77"}, "x", "must be a whole number"),
    ("a condition",
     {"if": {"required": ["a"]}, "then": {"properties": {"b": {"type": "boolean"}}}}, {"a": 1, "b": "Tiger-77"}, "b",
     "must be true or false"),
    ("an item of another name", {"itemNames": ["user"]}, Items(["Tiger-77"], ["usr"]), "0",
     "an element of this list must be named 'user'"),
    ("a text that is no symbol", {"symbol": True}, "Tiger-77", "", "must be a marked word"),
    ("a symbol in place of a text", {"type": "string"}, Symbol("Tiger-77"), "", "must be a string"),
]
# fmt: on


@pytest.mark.parametrize(
    ("rules", "value", "path", "sentence"), [case[1:] for case in SENTENCES], ids=[case[0] for case in SENTENCES]
)
def test_an_error_is_told_as_a_sentence(
    rules: dict[str, Any], value: Any, path: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {".".join(map(str, fault.path)): fault.message for fault in faults_of(rules, value, monkeypatch)}
    assert found[path] == sentence
    assert "Tiger-77" not in "".join(found.values())


def test_a_key_that_is_passed_over_is_a_doubt_unless_it_is_nearly_known(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = KEYS | {"additionalProperties": True, "passesOver": True}
    found = faults_of(rules, {"name": "a", "sizes": 1, "colour": 2}, monkeypatch)
    assert {fault.path: fault.is_doubt for fault in found} == {("sizes",): False, ("colour",): True}


def test_nothing_is_a_text_and_a_table_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults_of({"type": "string"}, NOTHING, monkeypatch) == []
    assert faults_of({"type": "object", "properties": {}}, NOTHING, monkeypatch) == []
    [fault] = faults_of({"type": "object", "required": ["name"]}, NOTHING, monkeypatch)
    assert fault.path == ("name",)
    assert faults_of({"type": "array"}, NOTHING, monkeypatch)


def test_faults_come_in_the_order_of_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {"properties": {name: {"type": "null"} for name in "abc"}, "additionalProperties": False}
    found = faults_of(rules, {"c": 1, "a": 2, "b": 3}, monkeypatch)
    assert [fault.path for fault in found] == [("c",), ("a",), ("b",)]


def test_the_files_are_written_one_thing_a_line() -> None:
    for name in NAMES:
        text = (FOLDER / f"{name}.json").read_text("utf-8")
        assert json.loads(text)
        assert max(map(len, text.splitlines())) <= 320
