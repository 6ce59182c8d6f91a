"""The JSON family: plain trees that keep key order and the text of every number (Ignition, Agama).

The standard json module reads; a number becomes a `NumberText`, because ``1.0`` and a 20-digit integer must be written
exactly as they were read. The writer is our own, so that an answer can be cut at its placeholders. Input that I-JSON
(RFC 7493) forbids is refused, not guessed: a repeated key, NaN and Infinity, a lone surrogate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Number
from typing import Any, NoReturn

from answerd.errors import CannotFill
from answerd.formats import dict_tree
from answerd.formats.control import overlay_number
from answerd.formats.family import (
    DEEPEST,
    ParseError,
    Path,
    Prepared,
    RawControl,
    RawValue,
    Slot,
    TypedSlot,
    key_slots,
    line_and_column,
)
from answerd.formats.template import LONE_SURROGATE, Placeholder, Template
from answerd.short_texts import brief

name = "json"
templates_off = '"template": false'
placeholders = dict_tree.placeholders

TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*"|[{}\[\]:,]|[^\s{}\[\]",:]+', re.DOTALL)
"""The tokens of a text that is JSON, or nearly."""
_COLON = re.compile(r"\s*:")
_BLANKS = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity")
_IN_TEXT = re.compile(r'(?P<control>[\x00-\x1f])|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(?P<wrong>))')
_ANY_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_NO_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})
_INDENT = "  "
_quoted = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class NumberText:
    """A number as the document writes it. Two are equal when their texts are."""

    text: str

    def __str__(self) -> str:
        return self.text


Number.register(NumberText)  # so that a reader that refuses numbers (docs/merging.md#control-keys) recognises it


class _RefusedError(ValueError):
    """A text that the standard module accepts and this family does not; `_refuse` finds what and where."""


Value = dict_tree.Map | list[Any] | str | Template | NumberText | bool | None
"""The tree of this family: any JSON value."""


def spells_overlay(text: str) -> bool:
    return '"overlay"' in text


def parse(text: str) -> Value:
    """Return a plain tree with numbers as `NumberText`; the top may be any value. Raises `ParseError` with line and
    column."""
    if not text.strip(" \t\r\n"):
        raise ParseError("it is empty", 1, 1)
    _refuse_lone_surrogates(text)
    try:
        tree: Value = _DECODER.decode(text)
        if dict_tree.is_too_deep(tree):
            raise _RefusedError
    except json.JSONDecodeError:
        raise syntax_error(text) from None
    except (_RefusedError, RecursionError):
        _refuse(text)
    return tree


def syntax_error(text: str) -> ParseError:
    """Return what is wrong, and where, with a text that the standard module refuses. Its own sentences and places are
    others with each release of Python, and some quote the text."""
    reason, at = _first_fault(text)
    return ParseError(reason, *line_and_column(text, at))


_VALUE, _FIRST_VALUE, _NEXT_VALUE = "a value", "a value or the end of the array", "another value"
_FIRST_NAME, _NEXT_NAME = (
    "a property name in double quotes or the end of the object",
    "a property name in double quotes",
)
_COLON_OF_NAME, _NO_MORE = "a colon after the property name", "a comma or the end"
_NAMES = (_FIRST_NAME, _NEXT_NAME)
_PARTS = {"{": ("object", "}", _FIRST_NAME, _NEXT_NAME), "[": ("array", "]", _FIRST_VALUE, _NEXT_VALUE)}


def _first_fault(text: str) -> tuple[str, int]:
    """Return what is missing or wrong first, and the place in the text."""
    wanted, comma, at = _VALUE, 0, 0
    inside: list[str] = []
    while True:
        at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
        first = text[at : at + 1]
        if wanted is _NO_MORE and not inside:
            return "text follows the end of the value" if first else "it cannot be read", at
        what, end, first_part, next_part = _PARTS[inside[-1]] if inside else ("", "", "", "")
        if not first:
            return f"it ends, and {wanted}{f' of the {what}' if wanted is _NO_MORE else ''} is missing", at
        if first == end and wanted in (_NO_MORE, first_part):
            inside.pop()
            wanted, at = _NO_MORE, at + 1
        elif first == end and wanted is next_part:
            return f"a comma stands before the end of the {what}", comma
        elif wanted is _NO_MORE:
            if first != ",":
                return f"a comma or the end of the {what} is missing", at
            wanted, comma, at = next_part, at, at + 1
        elif wanted is _COLON_OF_NAME:
            if first != ":":
                return f"{wanted} is missing", at
            wanted, at = _VALUE, at + 1
        elif first in _PARTS and wanted not in _NAMES:
            inside.append(first)
            wanted, at = _PARTS[first][2], at + 1
        else:
            fault, at = _fault_of_leaf(text, at, wanted)
            if fault:
                return fault, at
            wanted = _COLON_OF_NAME if wanted in _NAMES else _NO_MORE


def _fault_of_leaf(text: str, at: int, wanted: str) -> tuple[str, int]:
    """Return what is wrong with the name, the text, the number or the word at a place, and where; nothing, and its end,
    where it is right."""
    token = TOKEN.match(text, at)
    if text[at] == '"':
        if token is None:
            return "a text does not end", at
        for part in _IN_TEXT.finditer(text, at + 1, token.end() - 1):
            if part["control"]:
                return "a text has a control character, such as a line break, that is not escaped", part.start()
            if part["wrong"] is not None:
                return "a text has a backslash that begins no escape of JSON", part.start()
    elif wanted in _NAMES or token is None or token[0] in "{}[]:,":
        return f"{wanted} is missing", at
    elif not _WORD.fullmatch(token[0]):
        return "this is no value of JSON: texts stand in double quotes", at
    return "", token.end()


def _map(pairs: list[tuple[str, Any]]) -> dict_tree.Map:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise _RefusedError
    return read


def _no_constant(_text: str) -> NoReturn:
    raise _RefusedError


_DECODER = json.JSONDecoder(
    object_pairs_hook=_map, parse_float=NumberText, parse_int=NumberText, parse_constant=_no_constant
)


def _refuse_lone_surrogates(text: str) -> None:
    """Refuse a text that UTF-8 cannot encode: it would break the log line or the answer that shows it."""
    if not _ANY_SURROGATE.search(text):
        return
    for escape in _ESCAPES.finditer(text):
        if escape["lone"]:
            reason = "a text holds a lone surrogate, which is no character"
            raise ParseError(reason, *line_and_column(text, escape.start()))


def _refuse(text: str) -> NoReturn:
    """Raise the `ParseError` for a text that the standard module has read, or whose nesting it cannot read."""
    open_maps: list[set[str] | None] = []
    for token in TOKEN.finditer(text):
        first = token[0][0]
        if first in "{[":
            open_maps.append(set() if first == "{" else None)
            if len(open_maps) > DEEPEST:
                raise ParseError(f"it is nested more than {DEEPEST} levels deep", *line_and_column(text, token.start()))
        elif first in "}]":
            open_maps.pop()
        elif first == '"' and open_maps and open_maps[-1] is not None and is_key(text, token):
            key = json.loads(token[0])
            if key in open_maps[-1]:
                raise ParseError(
                    "one object has this key twice: remove one of the two", *line_and_column(text, token.start())
                )
            open_maps[-1].add(key)
        elif token[0] in _NO_NUMBERS:
            raise ParseError(f"{token[0]} is no JSON number", *line_and_column(text, token.start()))
    raise ParseError("it cannot be read")


def is_key(text: str, token: re.Match[str]) -> bool:
    """Return whether a string in an object is a key: a colon follows it."""
    return _COLON.match(text, token.end()) is not None


def control(tree: Value) -> tuple[RawControl, Value]:
    """Return the control keys at the top of an object; other values have none."""
    if not isinstance(tree, dict):
        return RawControl(), tree
    written, rest = dict_tree.take_control(tree)
    number = written.values.get("overlay")
    if number is not None and isinstance(number.value, NumberText):
        values = {**written.values, "overlay": RawValue(overlay_number(number.value.text))}
        written = RawControl(values, written.faults)
    return written, rest


def unset(tree: Value, paths: Collection[Path]) -> Value:
    return dict_tree.unset(tree, paths) if isinstance(tree, dict) else tree


def not_arrays(tree: Value, paths: Collection[Path]) -> Collection[Path]:
    return dict_tree.not_arrays(tree, paths) if isinstance(tree, dict) else paths


def merge(lower: Value, upper: Value, append: Collection[Path] = ()) -> Value:
    """Merge objects; any other value replaces the value below it, at the top too."""
    return dict_tree.merge(lower, upper, append) if isinstance(lower, dict) and isinstance(upper, dict) else upper


def prepare(tree: Value) -> Prepared:
    """Return the tree as JSON, indented by two blanks. Texts stay Unicode."""
    return Prepared([*_value(tree, "\n"), "\n"])


def _value(value: object, line: str) -> Iterator[str | Slot]:
    """Yield a value whose further lines begin with ``line``: a newline and the indentation."""
    if isinstance(value, str):
        yield _quoted(value)
    elif isinstance(value, dict):
        yield from _members(value, line)
    elif isinstance(value, list):
        yield from _elements(value, line)
    elif isinstance(value, Template) and value.typed:
        yield TypedSlot(value, partial(_fill_string, value.typed))
    elif isinstance(value, Template):
        yield '"'
        for part in value.parts:
            yield _escape(part) if isinstance(part, str) else Slot(Template((part,)), partial(_fill, part))
        yield '"'
    else:
        yield _CONSTANTS[value] if value is None or isinstance(value, bool) else str(value)


_CONSTANTS = {None: "null", True: "true", False: "false"}


def _members(members: dict_tree.Map, line: str) -> Iterator[str | Slot]:
    before = "{"
    slots = key_slots(members, _escape)
    for key, value in members.items():
        if slots and key in slots:
            yield f'{before}{line}{_INDENT}"'
            yield slots[key]
            yield '": '
        else:
            yield f"{before}{line}{_INDENT}{_quoted(key)}: "
        yield from _value(value, line + _INDENT)
        before = ","
    yield f"{line}}}" if members else "{}"


def _elements(elements: list[Any], line: str) -> Iterator[str | Slot]:
    before = "["
    for element in elements:
        yield f"{before}{line}{_INDENT}"
        yield from _value(element, line + _INDENT)
        before = ","
    yield f"{line}]" if elements else "[]"


def _escape(text: str) -> str:
    """Return a text as it is written between the quotes of a JSON string."""
    return _quoted(text)[1:-1]


def _fill_string(placeholder: Placeholder, text: str) -> str:
    return f'"{_fill(placeholder, text)}"'


def _fill(placeholder: Placeholder, text: str) -> str:
    if LONE_SURROGATE.search(text):
        reason = f"the value of {brief(placeholder.label)!r} holds a lone surrogate, which is no character"
        raise CannotFill(reason, placeholder.label, missing=False)
    return _escape(text)
