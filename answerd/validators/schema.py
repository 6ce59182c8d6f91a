"""The rules of installers that are data: JSON Schema in ``rules/``, judged by jsonschema, its errors told as sentences.

A sentence names what is expected and the nearest word, and never a value of the answer. Beside the keywords of JSON
Schema, the files use these:

- ``description``: what is expected, as words that follow "must be".
- ``passesOver``: true where the installer passes over keys, or a word of ``enum``, that are not listed. Such a key is
  a warning, and a finding only where it is nearly one that is listed.
- ``itemNames``: the names that the elements of a list may have, where a list is `Items`.
- ``symbol``: the value must be a `Symbol`.
- ``$comment``: where a fact is from.
"""

from __future__ import annotations

import difflib
import functools
import importlib.resources
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from answerd.validators.native_imports import module
from answerd.validators.verdict import MOST_REMARKS, Remarks

Path = tuple[str | int, ...]
"""Keys, and positions in lists from 0."""

NEAR = 0.8
"""How alike a key must be to a known one to count as a misspelling of it (difflib's ratio): ``autoinstal`` is 0.95."""

MOST_COUNTED = 1_000
"""Findings of a value after which it is not judged further: each costs 40 µs."""

MOST_NAMED = 12
"""Of more allowed words, a sentence names the nearest only."""

_LONGEST_COMPARED = 60

_NOUNS = {
    "object": ("a mapping", "mappings"),
    "array": ("a list", "lists"),
    "string": ("a string", "strings"),
    "integer": ("a whole number", "whole numbers"),
    "number": ("a number", "numbers"),
    "boolean": ("true or false", "booleans"),
    "null": ("null", "nulls"),
}


class Items(list[Any]):
    """A list whose items have names."""

    def __init__(self, items: Sequence[Any], names: Sequence[str]) -> None:
        super().__init__(items)
        self.names = names


class Symbol(NamedTuple):
    """A word that is marked as one; to the rules it is no string."""

    word: str


class _Nothing(str):
    __slots__ = ()


NOTHING = _Nothing()
"""An element without content and type: an empty string, and an object without keys."""


class Program(NamedTuple):
    """Who reads the answer, what it calls a table of keys (``a mapping`` in YAML, ``an object`` in JSON), and its words
    for other types."""

    name: str
    table: str = "a mapping"
    nouns: Mapping[str, str] = MappingProxyType({})


class Fault(NamedTuple):
    """A fault at a path. ``is_key``: the last step of the path is a key that should not be there. ``is_doubt``: the
    installer passes over it."""

    path: Path
    message: str
    is_key: bool = False
    is_doubt: bool = False


def judge(
    name: str,
    instance: Any,
    remarks: Remarks,
    program: Program,
    *,
    prefix: str = "",
    line: Callable[[Path, bool], int | None] = lambda _path, _is_key: None,
    part: str | None = None,
) -> None:
    """Judge a value by the rules of a name, or by one definition (``part``) of them, and add what is wrong.

    ``prefix`` is written before each path. ``line`` returns the line of a path, or of the key that is its last step.
    Paths are told for the findings that are listed; further ones are only counted.
    """
    refused = 0
    for fault in faults(name, instance, program, part):
        refused += not fault.is_doubt
        if refused > MOST_COUNTED:
            return
        add = remarks.warn if fault.is_doubt else remarks.refuse
        if fault.message:
            where = prefix + ".".join(map(str, fault.path))
            add(fault.message, where.rstrip("."), line(fault.path, fault.is_key))
        else:
            add("")


def faults(name: str, instance: Any, program: Program, part: str | None = None) -> Iterator[Fault]:
    """Yield the faults of a value, in the order of the value. After the first `MOST_REMARKS` they are not worded."""
    for count, error in enumerate(_validator(name, part).iter_errors(instance)):
        wording = _Wording(program, rules(name).get("$defs", {})) if count <= MOST_REMARKS else None
        yield _fault(error, wording)


@functools.cache
def rules(name: str) -> Mapping[str, Any]:
    """Return the rules of a file of ``rules/``."""
    text = importlib.resources.files(__package__).joinpath("rules", f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@functools.cache
def _validator(name: str, part: str | None) -> Any:
    schema = rules(name)
    if part is not None:
        schema = {"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]}
    return _judging()(schema)


@functools.cache
def _judging() -> Any:
    """Return jsonschema's validator with those keywords of ours that take time in proportion to the value, yield
    their errors in its order, and end ``anyOf`` with its best branch."""
    validators = module("jsonschema.validators")
    ours = {
        "type": _type,
        "properties": _properties,
        "additionalProperties": _additional_properties,
        "anyOf": _any_of,
        "uniqueItems": _unique_items,
        "itemNames": _item_names,
        "symbol": _symbol,
    }
    base = validators.Draft202012Validator
    types = base.TYPE_CHECKER.redefine("object", lambda _checker, value: isinstance(value, dict) or value is NOTHING)
    return validators.extend(base, ours, type_checker=types)


@functools.cache
def _error_class() -> Any:
    return module("jsonschema.exceptions").ValidationError


def _error(**about: Any) -> Any:
    return _error_class()("", **about)


def _type(validator: Any, types: str | list[str], instance: Any, _schema: Any) -> Iterator[Any]:
    """Judge the type without quoting the value: jsonschema's own keyword writes it whole into its message."""
    if not any(validator.is_type(instance, name) for name in ([types] if isinstance(types, str) else types)):
        yield _error()


def _properties(validator: Any, properties: Mapping[str, Any], instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for key, value in instance.items():
            if key in properties:
                yield from validator.descend(value, properties[key], path=key, schema_path=key)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        known = schema.get("properties", ())
        for key in [key for key in instance if key not in known]:
            if allowed is False or (allowed is True and schema.get("passesOver")):
                yield _error(path=[key])
            elif allowed is not True:
                yield from validator.descend(instance[key], allowed, path=key)


def _any_of(validator: Any, branches: Sequence[Any], instance: Any, _schema: Any) -> Iterator[Any]:
    """Yield the errors of the branch that fits best: the type is right, then no constant differs, then fewest errors.
    Where the type fits none, or each branch only wants other keys, the error is of ``anyOf`` itself."""
    tried: list[list[Any]] = []
    for number, branch in enumerate(branches):
        errors = list(islice(validator.descend(instance, branch, schema_path=number), MOST_REMARKS + 1))
        if not errors:
            return
        tried.append(errors)
    best = min(tried, key=lambda errors: (_is_misfit(errors), _has_other_constant(errors), len(errors)))
    if _is_misfit(best) or all(len(errors) == 1 and _wants_keys(errors[0]) for errors in tried):
        yield _error()
    else:
        yield from best


def _is_misfit(errors: list[Any]) -> bool:
    """Return whether a branch is for a value of another kind."""
    kinds = ("type", "enum", "const", "pattern")
    own = [error for error in errors if not error.path]
    return any(error.validator in kinds or (error.validator == "anyOf" and not _wants_keys(error)) for error in own)


def _has_other_constant(errors: list[Any]) -> bool:
    return any(len(error.path) == 1 and error.validator in ("const", "enum") for error in errors)


def _wants_keys(error: Any) -> bool:
    """Return whether nothing but a key is missing, or one of several keys."""
    if error.validator == "anyOf":
        return all("required" in branch and len(branch) == 1 for branch in error.validator_value)
    return error.validator == "required" and not error.path


def _unique_items(_validator: Any, wanted: bool, instance: Any, _schema: Any) -> Iterator[Any]:
    """Compare by their texts, where jsonschema compares all with all."""
    if wanted and isinstance(instance, list):
        seen: set[str] = set()
        for place, item in enumerate(instance):
            text = json.dumps(item, sort_keys=True, default=repr)
            if text in seen:
                yield _error(path=[place])
            seen.add(text)


def _item_names(_validator: Any, names: Sequence[str], instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, Items):
        for place, name in enumerate(instance.names):
            if name not in names:
                yield _error(path=[place])


def _symbol(_validator: Any, _wanted: bool, instance: Any, _schema: Any) -> Iterator[Any]:
    if not isinstance(instance, Symbol):
        yield _error()


# --- sentences ---


def _fault(error: Any, wording: _Wording | None) -> Fault:
    path: Path = tuple(error.absolute_path)
    keyword, value, instance, schema = error.validator, error.validator_value, error.instance, error.schema
    is_key, is_doubt, message = False, False, ""
    if keyword == "required":
        name = next(name for name in value if name not in instance and _says(error.message, name))
        path = (*path, name)
        message = wording.missing(schema.get("properties", {}).get(name)) if wording else ""
    elif keyword == "additionalProperties":
        known = list(schema.get("properties", ()))
        near = nearest(str(path[-1]), known) if wording or value is True else None
        is_key, is_doubt = True, value is True and near is None
        message = wording.unknown(near, known, passed_over=value is True) if wording else ""
    elif wording:
        message = wording.sentence(keyword, value, instance, schema)
        is_doubt = keyword == "enum" and "passesOver" in schema and _nearest_word(instance, value) is None
    return Fault(path, message, is_key, is_doubt)


def _says(message: str, name: str) -> bool:
    return message.startswith(repr(name))


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that a name is nearly, whatever the case of letters and the signs between words."""
    if len(name) > _LONGEST_COMPARED:
        return None
    plain = {_plain(one): one for one in known}
    if (found := plain.get(_plain(name))) is not None:
        return found
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=NEAR)
    return plain[near[0]] if near else None


def _nearest_word(value: Any, words: Sequence[Any]) -> str | None:
    return nearest(value, [word for word in words if isinstance(word, str)]) if isinstance(value, str) else None


def _plain(name: str) -> str:
    """Return a name as it is compared: ``ssh_authorized_keys`` is ``sshAuthorizedKeys``."""
    return name.lower().replace("_", "").replace("-", "")


class _Wording:
    """Words for the errors of one file of rules."""

    def __init__(self, program: Program, definitions: Mapping[str, Any]) -> None:
        self.program = program
        self._definitions = definitions

    def expected(self, schema: Any) -> str:
        """Return what a schema allows, as words; empty where it says nothing."""
        return _either(self._choices(schema))

    def _choices(self, schema: Any) -> list[str]:
        schema = self._resolved(schema)
        if "description" in schema:
            return [schema["description"]]
        if "const" in schema or "enum" in schema:
            words = [schema["const"]] if "const" in schema else schema["enum"]
            return [_literal(word) for word in words] if len(words) <= MOST_NAMED else ["another word"]
        if "symbol" in schema:
            return [self.program.nouns["symbol"]]
        if "type" in schema:
            types = schema["type"]
            return [self._noun(one, schema) for one in ([types] if isinstance(types, str) else types)]
        return [words for branch in schema.get("anyOf", ()) for words in self._choices(branch)]

    def _resolved(self, schema: Any) -> Any:
        while isinstance(schema, dict) and "$ref" in schema and "description" not in schema:
            schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        return schema if isinstance(schema, dict) else {}

    def _noun(self, type_: str, schema: Any) -> str:
        if type_ in self.program.nouns:
            return self.program.nouns[type_]
        if type_ == "object":
            return self.program.table
        item = self._resolved(schema.get("items")).get("type") if type_ == "array" else None
        if isinstance(item, str):
            many = f"{self.program.table.split()[-1]}s" if item == "object" else _NOUNS[item][1]
            return f"a list of {many}"
        return _NOUNS[type_][0]

    def missing(self, schema: Any) -> str:
        expected = self.expected(schema)
        return f"is missing: it must be {expected}" if expected else "is missing"

    def unknown(self, near: str | None, known: Sequence[str], *, passed_over: bool) -> str:
        effect = ", which passes over it" if passed_over else ""
        hint = f"; did you mean {near!r}?" if near else ""
        if not near and 0 < len(known) <= MOST_NAMED:
            hint = f"; the keys are {', '.join(known)}"
        return f"not a key that {self.program.name} knows here{effect}{hint}"

    def sentence(self, keyword: str, value: Any, instance: Any, schema: Any) -> str:
        expected = self.expected(schema)
        if keyword == "itemNames":
            return f"an element of this list must be named {_either([*map(repr, value)])}"
        if keyword == "type":
            return f"must be {expected}{_spelling(instance, value)}"
        if keyword == "symbol":
            return f"must be {expected}"
        if keyword in ("enum", "const"):
            words = [value] if keyword == "const" else value
            near = _nearest_word(instance, words)
            return f"must be {expected}{f'; did you mean {near!r}?' if near else ''}"
        if keyword == "anyOf":
            if all("required" in branch for branch in value):
                names = _either([" and ".join(map(repr, branch["required"])) for branch in value])
                return f"needs {names}"
            return f"must be {expected}{_spelling(instance, [])}"
        if keyword == "dependentRequired":
            lacking = sorted(
                {name for key, needed in value.items() if key in instance for name in needed} - {*instance}
            )
            return f"needs {' and '.join(map(repr, lacking))} too"
        if "description" in schema and not keyword.startswith(("minI", "minP", "unique")):
            return f"must be {expected}"
        return _BOUNDS[keyword](value) if keyword in _BOUNDS else f"is not as {self.program.name} takes it"


_BOUNDS: Mapping[str, Callable[[Any], str]] = {
    "minLength": lambda least: "must not be empty" if least == 1 else f"must have at least {least} characters",
    "minItems": lambda least: "must not be empty" if least == 1 else f"must have at least {least} items",
    "minProperties": lambda least: "must not be empty" if least == 1 else f"must have at least {least} keys",
    "maxLength": lambda most: f"must have at most {most:,} characters",
    "maxItems": lambda most: f"must have at most {most} items",
    "minimum": lambda least: f"must be at least {least}",
    "maximum": lambda most: f"must be at most {most:,}",
    "uniqueItems": lambda _wanted: "occurs twice in its list",
}


def _literal(word: Any) -> str:
    return repr(word) if isinstance(word, str) else json.dumps(word)


def _either(words: Sequence[str]) -> str:
    """Return ``a, b or c``, each once."""
    each = list(dict.fromkeys(words))
    return " or ".join(filter(None, [", ".join(each[:-1]), each[-1]])) if each else ""


def _spelling(instance: Any, types: str | Sequence[str]) -> str:
    """Return how a value of another type is spelled as one of the wanted types, where that is told from its type."""
    if types == "string" and isinstance(instance, bool | int | float):
        return "; write it in quotes"
    if instance is None:
        return "; there is nothing"
    return ""
