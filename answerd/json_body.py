"""A JSON request body: its texts in one walk, and the labels they go by when somebody asks (SPEC 6).

Most answers need the identities of a body and the first value of two or three labels, so the walk collects nothing but
texts; a label is looked for by descending, and dotted paths are made only for who wants all labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any

import orjson

MOST_VALUES = 10_000
"""Values that one label keeps. An installer sends a dozen; a body of 1 MB may hold half a million."""

PATHS_COST = 1_000_000
"""What the dotted paths of one body may cost in memory: their characters, and `_PATH_COST` for each. A scalar beyond
that has its name only. A real body costs about 10,000; without a bound, 1 MB of JSON (one long name over many short
values) asks for gigabytes."""

_PATH_COST = 64
_LONGEST_INDEX = 8
_FEW = 2


class NumberText(str):
    """A JSON number as the request spelled it."""

    __slots__ = ()


class JsonBody:
    """One JSON value, ``value``. Null and the empty string are nothing.

    A scalar goes by its name, the last key above it that is no array index, and by its dotted path.
    """

    __slots__ = ("_body", "_pathed", "_scalars", "_spellings", "_texts", "value")

    def __init__(self, value: Any, body: bytes) -> None:
        """``body`` is what ``value`` was read from. Raises `_LostSpelling`."""
        self.value = value
        self._texts = _texts(value)
        self._body: bytes | None = body
        self._scalars: list[tuple[str, Any]] | None = None
        self._spellings: dict[str, set[str]] | None = None
        self._pathed: dict[str, list[str]] | None = None

    def texts(self, ignored: frozenset[str]) -> list[str]:
        """Every string and number as text, in no order, without what stands at the top under an ``ignored`` name."""
        value = self._without(ignored)
        return self._texts if value is self.value else _texts(value)

    def texts_in_order(self, ignored: frozenset[str]) -> list[str]:
        """The same as they stand in the body."""
        return [text_of(one) for _, one in _named(self._without(ignored)) if type(one) is not bool]

    def first(self, label: str) -> str | None:
        """The first of the values that go by a case-folded label; None when there is none."""
        if "." in label or label.isdigit():
            if self._spells(label):
                return next(iter(self.values(label)), None)
            found = next(iter(_at(self.value, label)), None)
        else:
            found = _first_named(self.value, label)
        return None if found is None else text_of(found)

    def values(self, label: str) -> list[str]:
        """The values that go by a case-folded label, as their name or their dotted path, in order."""
        if self._scalars is None or self._spellings is None:
            self._scalars = list(_named(self.value))
            self._spellings = _spellings(self._scalars)
        spelled = self._spellings.get(label)
        may_be_path = "." in label or label.isdigit()
        if spelled is None:
            return list(map(text_of, _at(self.value, label))) if may_be_path else []
        if may_be_path:  # a name like a path: both count, in order
            return self.labels().get(label, [])
        return [text_of(one) for name, one in self._scalars if name in spelled][:MOST_VALUES]

    def labels(self) -> dict[str, list[str]]:
        """Every label, case-folded, names and dotted paths, with its values in order."""
        if self._pathed is None:
            self._pathed = filed(_flattened(self.value))
        return self._pathed

    def _without(self, ignored: frozenset[str]) -> Any:
        value = self.value
        if type(value) is dict and not ignored.isdisjoint(map(str.casefold, value)):
            return {key: one for key, one in value.items() if key.casefold() not in ignored}
        return value

    def _spells(self, label: str) -> bool:
        """Whether a name in the body might be ``label``: its bytes tell, unless they are escaped or not ASCII."""
        body = self._body
        if body is not None:
            body = body.lower() if body.isascii() and b"\\" not in body else b""
            self._body = body
        return not body or label.encode() in body


def read_json(body: bytes) -> JsonBody | None:
    """The value of a body; None for what is not JSON, in whatever way it is not."""
    text = body.removeprefix(b"\xef\xbb\xbf")
    if not text or text.isspace():
        return None
    try:
        return JsonBody(orjson.loads(text), body)
    except _LostSpelling:
        pass
    except ValueError:
        # orjson refuses the escape of a lone surrogate: junk in a DMI field, and no reason to lose the rest.
        if b"\\u" not in text:
            return None
    try:
        value = json.loads(text, parse_float=NumberText, parse_int=NumberText, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return JsonBody(value, body)


class _LostSpelling(Exception):
    """A number was read as float: orjson reads ``1.10`` and integers over 64 bits so, and their text is gone."""


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _texts(value: Any) -> list[str]:
    """Every string and number as text, in no order. Raises `_LostSpelling`.

    Each answer needs them and nearly none their names, so this is what a body costs: one look at each type.
    """
    texts: list[str] = []
    parts: list[Any] = [[value]]
    for part in parts:  # which grows
        if type(part) is dict:
            part = part.values()  # noqa: PLW2901
        elif len(part) > _FEW and (flat := _flat_texts(part)):
            texts += flat
            continue
        for one in part:
            kind = type(one)
            if kind is str:
                texts.append(one)
            elif kind is dict or kind is list:
                parts.append(one)
            elif kind is float:
                raise _LostSpelling
            elif one is not None and kind is not bool:
                texts.append(str(one))
    return texts


def _flat_texts(maps: list[Any]) -> list[str]:
    """The values of maps that hold only texts, as network interfaces do; nothing where there is anything else."""
    try:
        texts = list(chain.from_iterable(map(dict.values, maps)))
        "".join(texts)
    except TypeError:
        return []
    return texts


def _named(value: Any) -> Iterator[tuple[str, Any]]:
    """The scalars of a value in order, each with its name, which is empty where there is none."""
    open_parts: list[Iterator[tuple[str, Any]]] = [iter([("", value)])]
    while open_parts:
        for name, one in open_parts[-1]:
            kind = type(one)
            if kind is dict:
                open_parts.append(iter(one.items()))
                break
            if kind is list:
                open_parts.append(zip(repeat(name), one))
                break
            if one is not None and one != "":
                yield name, one
        else:
            open_parts.pop()


def _first_named(value: Any, label: str) -> Any:
    """The first scalar whose name, case-folded, is ``label``; None when there is none. As `_named`, but in one frame:
    nearly every answer asks for its machine's MAC address."""
    judged, is_label = "", not label
    open_parts: list[Iterator[tuple[str, Any]]] = []
    parts: Iterator[tuple[str, Any]] = iter([("", value)])
    while True:
        for name, one in parts:
            kind = type(one)
            if kind is dict:
                open_parts.append(parts)
                parts = iter(one.items())
                break
            if kind is list:
                open_parts.append(parts)
                parts = zip(repeat(name), one)
                break
            if name is not judged:  # a name is folded once: half a megabyte may stand over a list of numbers
                judged, is_label = name, name.casefold() == label
            if is_label and one is not None and one != "":
                return one
        else:
            if not open_parts:
                return None
            parts = open_parts.pop()


def text_of(scalar: Any) -> str:
    """A scalar as a fact's text. A lone surrogate, which no answer could hold, becomes a question mark."""
    if isinstance(scalar, str):
        return scalar if scalar.isascii() else scalar.encode("utf-8", "replace").decode()
    if isinstance(scalar, bool):
        return "true" if scalar else "false"
    return str(scalar)


def _spellings(scalars: Iterable[tuple[str, Any]]) -> dict[str, set[str]]:
    """Each name that occurs, case-folded, with its spellings: a body has a hundred scalars and a dozen names."""
    spellings: dict[str, set[str]] = {}
    for name in {name for name, _ in scalars}:
        spellings.setdefault(name.casefold(), set()).add(name)
    return spellings


def filed(named: Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """Values by case-folded label, in order."""
    filed: dict[str, list[str]] = {}
    by_spelling: dict[str, list[str]] = {}  # a name is folded once, as above
    for label, one in named:
        values = by_spelling.get(label)
        if values is None:
            values = by_spelling[label] = filed.setdefault(label.casefold(), [])
        if len(values) < MOST_VALUES:
            values.append(text_of(one))
    return filed


def _at(value: Any, path: str) -> list[Any]:
    """The scalars at a case-folded dotted path. A few comparisons for each step, whatever else the body holds."""
    found: list[Any] = []
    if type(value) is dict:
        for key, below in value.items():
            step = key.casefold()
            if path.startswith(step):
                rest = path[len(step) :]
                if not rest:
                    found += _scalar(below)
                elif rest[0] == ".":
                    found += _at(below, rest[1:])
    elif type(value) is list:
        index, dot, rest = path.partition(".")
        if index.isascii() and index.isdigit() and len(index) < _LONGEST_INDEX and int(index) < len(value):
            below = value[int(index)] if index == str(int(index)) else None
            found += _at(below, rest) if dot else _scalar(below)
    return found


def _scalar(value: Any) -> tuple[Any, ...]:
    return () if value is None or value == "" or type(value) in (dict, list) else (value,)


def _flattened(value: Any) -> Iterator[tuple[str, Any]]:
    """Every scalar under its dotted path and, where that differs, under its name.

    Labels are case-folded. What the paths cost is bounded by `PATHS_COST`.
    """
    left = PATHS_COST
    # The path and name of each open map or list, and its members that are still to come.
    open_parts: list[tuple[str, str, Iterator[tuple[str | int, Any]]]] = [("", "", _parts(value))]
    while open_parts:
        path, leaf, parts = open_parts[-1]
        for name, one in parts:
            step = name.casefold() if isinstance(name, str) else str(name)
            left -= len(path) + len(step) + _PATH_COST
            below = "" if left < 0 else f"{path}.{step}" if len(open_parts) > 1 else step
            leaf_below = step if isinstance(name, str) else leaf
            if isinstance(one, dict | list):
                open_parts.append((below, leaf_below, _parts(one)))
                break
            if one is not None and one != "":
                yield below, one
                if leaf_below != below:
                    yield leaf_below, one
        else:
            open_parts.pop()


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    """The members of a map by name, the elements of a list by index; a scalar has none."""
    if isinstance(value, dict):
        return iter(value.items())
    return iter(enumerate(value)) if isinstance(value, list) else iter(())
