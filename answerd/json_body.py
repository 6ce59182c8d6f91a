"""A JSON request body: its texts in one walk, and the labels they go by when somebody asks (docs/selection.md).

Most answers need the identities of a body and the first value of two or three labels, so the walk collects nothing but
texts. A label is looked for by descending; labels of all values are made for a large body, or when many are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any

import orjson

from answerd.identity import LONGEST_VALUE

LONGEST_LABEL = 1_024
"""Characters of the longest label. Without a bound, 1 MB of JSON (one long name over many short values) asks for
gigabytes of dotted paths."""

_MOST_SEARCHES = 20
"""Searches of a small body for single labels before all labels are made, which takes as long."""

_UNKNOWN = object()
_LONGEST_INDEX = 8
_FEW = 2


class NumberText(str):
    """A JSON number as the request spelled it."""

    __slots__ = ()


class _RepeatedKey(str):
    """A key of a map that has it twice: equal only to itself, so that a dict keeps both values."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class JsonBody:
    """One JSON value, ``value``. Null and the empty string are nothing.

    A scalar goes by its name, the last key above it that is no array index, and by its dotted path. Text of more than
    `LONGEST_VALUE` characters is the value of no label.
    """

    # What is worked out when first asked for.
    _labels: dict[str, list[str]] | None = None
    _scalars: list[tuple[str, Any]] | None = None
    _spelled: Mapping[str, set[str]] = {}
    _visible: Any = _UNKNOWN
    _most: int | None = None
    _searches = 0

    def __init__(self, value: Any, body: bytes, *, exact: bool = False) -> None:
        """``body`` is what ``value`` was read from. Raises `_LostSpelling` unless the reading was ``exact``."""
        self.value = value
        self._body: bytes | None = body
        self._texts, strings, commas, has_zero = _texts(value)
        if not exact:
            # A pair that is lost takes a comma and quotation marks with it. There are three times as many quotation
            # marks, but commas stand in texts too.
            is_whole = commas == body.count(b",") or 2 * strings == _quotes(body)
            if not is_whole or (has_zero and b"-0" in body):
                raise _LostSpelling

    def texts(self, ignored: frozenset[str]) -> list[str]:
        """Every string and number as text, in no order, without the scalars at the top under an ``ignored`` name."""
        value = self._without(ignored)
        return self._texts if value is self.value else _texts(value)[0]

    def texts_in_order(self, ignored: frozenset[str]) -> list[str]:
        """The same as they stand in the body."""
        return [str(one) for _, one in _named(self._without(ignored)) if type(one) is not bool]

    def all_texts(self) -> list[str]:
        """Every string, key and number as text, in no order."""
        keys: list[str] = []
        parts: list[Any] = [[self.value]]
        for part in parts:  # which grows
            if isinstance(part, dict):
                keys += part
                part = part.values()  # noqa: PLW2901
            parts += [one for one in part if isinstance(one, dict | list)]
        return self._texts + keys

    def ignores_any(self, ignored: frozenset[str]) -> bool:
        """Whether the body is a map with one of these case-folded names."""
        return self._without(ignored) is not self.value

    def first(self, label: str) -> str | None:
        """The first of the values that go by a case-folded label; None when there is none."""
        if self._searches == _MOST_SEARCHES:
            return next(iter(self.labels().get(label, ())), None)
        self._searches += 1
        if "." in label or label.isdigit():
            if self._spells(label):
                return next(iter(self.values(label)), None)
            return next(map(_text_of, _at(self.value, label)), None)
        found = _first_named(self.value, label)
        return None if found is None else _text_of(found)

    def values(self, label: str) -> list[str]:
        """The values that go by a case-folded label, as their name or their dotted path, in order of arrival."""
        if self._searches == _MOST_SEARCHES:
            return self.labels().get(label, [])
        self._searches += 1
        if self._scalars is None:
            self._scalars = list(_named(self.value))
            self._spelled = _spellings(self._scalars)
        spelled = self._spelled.get(label)
        may_be_path = "." in label or label.isdigit()
        if spelled is None:
            return list(map(_text_of, _at(self.value, label))) if may_be_path else []
        if may_be_path:  # a name like a path: both count, in order
            return self.labels().get(label, [])
        return [_text_of(one) for name, one in self._scalars if name in spelled and _is_value(one)]

    def labels(self) -> dict[str, list[str]]:
        """Every label, case-folded, names and dotted paths, with its values in order of arrival."""
        if self._labels is None:
            self._labels = _flattened(self.value, self._most)
        return self._labels

    def keep_first(self, most: int) -> None:
        """Take only the first ``most`` scalars for values of labels. To be called before any label is asked for."""
        self._most = most
        self._searches = _MOST_SEARCHES

    def _without(self, ignored: frozenset[str]) -> Any:
        """The value without the scalars at the top under one name of always the same set."""
        if self._visible is _UNKNOWN:
            value = self.value
            hides = type(value) is dict and not ignored.isdisjoint(map(str.casefold, value))
            self._visible = _visible(value, ignored) if hides else value
        return self._visible

    def _spells(self, label: str) -> bool:
        """Whether a name in the body might be ``label``: its bytes tell, unless they are escaped or not ASCII."""
        body = self._body
        if body is not None:
            body = body.lower() if body.isascii() and b"\\" not in body else b""
            self._body = body
        return not body or not label.isascii() or label.encode() in body


def _quotes(body: bytes) -> int:
    """The quotation marks that begin or end a string of a JSON text."""
    without_backslashes = body.replace(b"\\\\", b"")
    return without_backslashes.count(b'"') - without_backslashes.count(b'\\"')


def _visible(value: dict[str, Any], ignored: frozenset[str]) -> dict[str, Any]:
    """A map without the scalars that go by an ``ignored`` name in it."""
    kept = {key: _maps_in(one) if key.casefold() in ignored else one for key, one in value.items()}
    return {key: one for key, one in kept.items() if one is not None}


def _maps_in(value: Any) -> Any:
    """A value without the scalars that have no name in it; None where nothing is left."""
    if type(value) is dict:
        return value
    left: list[Any] = []
    parts: list[Any] = [value]
    for part in parts:  # which grows
        if type(part) is dict:
            left.append(part)
        elif type(part) is list:
            parts += part
    return left or None


def read_json(body: bytes) -> JsonBody | None:
    """The value of a body; None for what is not JSON, in whatever way it is not."""
    text = body.removeprefix(b"\xef\xbb\xbf")
    try:
        return JsonBody(orjson.loads(text), body)
    except _LostSpelling:
        pass
    except ValueError:
        # orjson refuses a number that no double holds and the escape of a lone surrogate, too.
        if not text.lstrip(_BLANKS).startswith(_BEGINNINGS):
            return None
    try:
        value = json.loads(
            text.decode(),
            parse_float=_number,
            parse_int=_number,
            parse_constant=_refuse,
            object_pairs_hook=_with_each_pair,
        )
    except (ValueError, RecursionError):
        return None
    return JsonBody(value, body, exact=True)


_BLANKS = b" \t\r\n"
_BEGINNINGS = tuple(bytes([character]) for character in b'{["-0123456789')
"""With what JSON begins, but for a lone true, false or null."""


class _LostSpelling(Exception):
    """orjson reads ``1.10`` and integers over 64 bits as float and ``-0`` as 0, and keeps one value of a key that
    occurs twice: something of the text is gone."""


def _with_each_pair(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A map of all pairs, those of a key that occurs twice too."""
    read = dict(pairs)
    return read if len(read) == len(pairs) else {_RepeatedKey(key): value for key, value in pairs}


def _number(text: str) -> NumberText:
    """A number as it is spelled. A function, not the type: between two calls another thread may run."""
    return NumberText(text)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _texts(value: Any) -> tuple[list[str], int, int, bool]:
    """Every string and number as text, in no order; how many strings, keys too, and how many commas between members
    a value takes to write at least; whether a number is zero.

    Raises `_LostSpelling`. Each answer needs the texts and nearly none their names, so this is what a body costs: one
    look at each type.
    """
    texts: list[str] = []
    keys = elements = maps = numbers = 0
    has_zero = False
    parts: list[Any] = [[value]]
    for part in parts:  # which grows
        if type(part) is dict:
            keys += len(part)
            part = part.values()  # noqa: PLW2901
        else:
            elements += len(part)
            if len(part) > _FEW and (flat := _flat_texts(part)):
                keys += len(flat)
                maps += len(part)
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
                numbers += 1
                has_zero = has_zero or not one
    commas = keys + elements - maps - len(parts)  # fewer than there are where a map or list is empty
    return texts, keys + len(texts) - numbers, commas, has_zero


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
            if is_label and one is not None and one != "" and _is_value(one):
                return one
        else:
            if not open_parts:
                return None
            parts = open_parts.pop()


def _text_of(scalar: Any) -> str:
    """A scalar as a fact's text. A lone surrogate stays; whoever fills a placeholder refuses it."""
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
    """Values by case-folded label, in order. Leaves out what is too long."""
    filed: dict[str, list[str]] = {}
    by_spelling: dict[str, list[str]] = {}  # a name is folded once: half a megabyte may stand over a list of numbers
    for label, one in named:
        text = _text_of(one)
        if len(text) > LONGEST_VALUE:
            continue
        values = by_spelling.get(label)
        if values is None:
            values = by_spelling[label] = filed.setdefault(label.casefold(), [])
        values.append(text)
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
    return (value,) if _is_value(value) else ()


def _is_value(one: Any) -> bool:
    """Whether what is in a body is a value of its labels."""
    kind = type(one)
    if one is None or kind is dict or kind is list:
        return False
    return kind is bool or 0 < len(str(one)) <= LONGEST_VALUE


def _flattened(value: Any, most: int | None) -> dict[str, list[str]]:
    """The values of every label: of the first ``most`` scalars under their dotted paths and, where those differ, under
    their names."""
    found: dict[str, list[str]] = {}
    left = -1 if most is None else most
    # Each open map or list: its dotted path with a dot behind it (None where that is too long for a label), its name,
    # and its members that are still to come.
    open_parts: list[tuple[str | None, str, Iterator[tuple[str | int, Any]]]] = [("", "", _parts(value))]
    while open_parts and left:
        path, leaf, parts = open_parts[-1]
        for name, one in parts:
            kind = type(one)
            step = name.casefold() if isinstance(name, str) else str(name)
            leaf_below = step if isinstance(name, str) else leaf
            below = path + step if path is not None and len(path) + len(step) <= LONGEST_LABEL else None
            if kind is dict or kind is list:
                open_parts.append((None if below is None else f"{below}.", leaf_below, _parts(one)))
                break
            if not _is_value(one):
                continue
            text = _text_of(one)
            if below is not None:
                found.setdefault(below, []).append(text)
            if leaf_below != below and len(leaf_below) <= LONGEST_LABEL:
                found.setdefault(leaf_below, []).append(text)
            left -= 1
            if not left:
                break
        else:
            open_parts.pop()
    return found


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    """The members of a map by name, the elements of a list by index; a scalar has none."""
    if type(value) is dict:
        return iter(value.items())
    return iter(enumerate(value)) if type(value) is list else iter(())
