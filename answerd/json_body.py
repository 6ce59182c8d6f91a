"""A JSON request body: its scalars with their names in one walk, and the labels of all when asked (docs/selection.md).

Most answers need the identities of a body and the first value of two or three labels: both come from the lists that the
walk collects. A dotted path is looked for by descending. Labels of all values are made for a large body, or when many
are asked for; tests/unit/test_request_properties.py holds the three ways equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, Final

import orjson

from answerd.identity import LONGEST_VALUE, identified
from answerd.mac_search import find_macs
from answerd.shared_values import MAC, SharedValues, kind_of

LONGEST_LABEL: Final = 1_024
"""Characters of the longest label. Without a bound, 1 MB of JSON (one long name over many short values) asks for
gigabytes of dotted paths."""

MOST_OF_SYSTEM: Final = 64
"""Values of `JsonBody.system_values`: a record of an install collects no more."""

_MOST_SEARCHES: Final = 20
"""Searches of a small body for single labels before all labels are made, which takes as long."""

_LONGEST_INDEX: Final = 8
_FEW: Final = 2
_SMALL: Final = 4_096
_MOST_SCALARS: Final = 256
"""Bytes and scalars of a body whose keys are remembered; those of installers have up to 4 KB and 120."""


class SpelledNumber:
    """A JSON number as the request spelled it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


class RepeatedKey(str):
    """A key of a map that has it twice: equal only to itself, so that a dict keeps both values."""

    __slots__ = ()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _with_each_pair(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a map of all pairs, also those of a key that occurs twice."""
    read = dict(pairs)
    return read if len(read) == len(pairs) else {RepeatedKey(key): value for key, value in pairs}


class _Keys:
    """What the keys of a body tell, which is the same for the machines of a fleet.

    ``places``: by the case-folded form of a name, the positions of the scalars with that name. ``are_plain``: each key
    is its own case-folded form, has no dot and occurs once in its map, so that a dotted path leads to one place at
    most. ``macs``: the MAC addresses in them. ``mac_places``: the kind and the position of each MAC address;
    ``hardware``: those of other values that many machines may share.
    """

    __slots__ = ("are_plain", "hardware", "mac_places", "macs", "places")

    def __init__(self, names: tuple[str, ...], other_keys: tuple[str, ...]) -> None:
        """``names``: for each scalar; empty where it has none. ``other_keys``: those of maps, lists and nulls."""
        keys = dict.fromkeys((*names, *other_keys))
        folded: dict[str, str] = {}
        for key in keys:
            folded[key] = key.casefold()
        places: dict[str, list[int]] = {}
        for at, name in enumerate(names):
            places.setdefault(folded[name], []).append(at)
        self.places: Mapping[str, Sequence[int]] = places
        self.are_plain = all(key == form and "." not in key for key, form in folded.items())
        kinds = [(kind, at) for form, positions in places.items() if (kind := kind_of(form)) for at in positions]
        self.mac_places = tuple([place for place in kinds if place[0] == MAC])
        self.hardware = tuple([place for place in kinds if place[0] != MAC])
        self.macs: Sequence[str] = find_macs("\n".join(keys).encode("utf-8", "replace"))


_keys_of_small_body = lru_cache(256)(_Keys)


class JsonBody:
    """One JSON value, ``value``. Null and the empty string are not values of labels.

    A scalar goes by its name, the last key above it that is not an array index, and by its dotted path. Text of more
    than `LONGEST_VALUE` characters is the value of no label.
    """

    def __init__(self, value: Any, body: bytes, *, exact: bool = False) -> None:
        """``body`` is what ``value`` was read from. Raises `_LostSpelling` unless the reading was ``exact``."""
        self.value = value
        self._most: int | None = None
        self._searches = 0
        # Computed when first asked for.
        self._labels: dict[str, list[str]] | None = None
        self._of_system: dict[str, list[str]] | None = None
        self._texts, names, other_keys, self._booleans, strings, commas, has_zero = _walk(value)
        if not exact:
            # A pair that is lost takes a comma and quotation marks with it. There are three times as many quotation
            # marks, but commas are in texts too.
            is_whole = commas == body.count(b",") or 2 * strings == _quotes(body)
            if not is_whole or (has_zero and b"-0" in body):
                raise _LostSpelling
        is_small = len(body) <= _SMALL and len(names) <= _MOST_SCALARS
        read = _keys_of_small_body if is_small else _Keys
        self._keys = read(tuple(names), tuple(other_keys))

    def identities(
        self, ignored: frozenset[str], shared: SharedValues
    ) -> tuple[list[str], list[str], list[str], set[str]]:
        """Return the identity of each scalar, the text that gives it, the MAC addresses in texts and keys, and the
        texts that give none because many machines share them.

        An identity is empty where a scalar has none: true and false do not, nor do values that many machines share.
        Scalars at the top under an ``ignored`` (case-folded) name are left out, but MAC addresses in them count.
        """
        texts, booleans, keys = self._texts, self._booleans, self._keys
        places = keys
        if keys.places.keys().isdisjoint(ignored):
            names, macs = identified(texts)
        else:
            macs = find_macs("\n".join(texts).encode("utf-8", "replace"))
            texts, labels, _, booleans, *_ = _walk(_visible(self.value, ignored))
            places = _Keys(tuple(labels), ())
            names, _ = identified(texts)
        for at in booleans:
            names[at] = ""
        hidden = shared.empty_in(names, texts, places.hardware)
        if shared.may_hold_macs_in(names):
            hidden |= shared.empty_in(names, texts, places.mac_places)
        return names, texts, [*macs, *keys.macs], hidden

    def first(self, label: str) -> str | None:
        """Return the first of the values that go by a case-folded label; None when there is none."""
        if self._searches == _MOST_SEARCHES:
            return next(iter(self.values(label)), None)
        self._searches += 1
        if "." in label or label.isdigit():
            return self._first_at(label)
        texts = self._texts
        for at in self._keys.places.get(label, ()):
            if 0 < len(texts[at]) <= LONGEST_VALUE:
                return texts[at]
        return None

    def _first_at(self, path: str) -> str | None:
        """Return the first of the values that go by a case-folded dotted path, or by a name like one."""
        if path in self._keys.places:
            return next(iter(self.labels().get(path, ())), None)
        if not self._keys.are_plain:
            return next(map(_text_of, _at(self.value, path)), None)
        found = self.value
        for step in path.split("."):
            if type(found) is dict:
                found = found.get(step)
            elif type(found) is list and _is_index(step, found):
                found = found[int(step)]
            else:
                return None
        if type(found) is str:
            return found if 0 < len(found) <= LONGEST_VALUE else None
        return _text_of(found) if _is_value(found) else None

    def values(self, label: str) -> list[str]:
        """Return the values that go by a case-folded label, as their name or their dotted path, in order of arrival."""
        if self._searches == _MOST_SEARCHES:
            return self.labels().get(label, [])
        self._searches += 1
        places = self._keys.places.get(label, ())
        if "." in label or label.isdigit():
            return self.labels().get(label, []) if places else list(map(_text_of, _at(self.value, label)))
        texts = self._texts
        return [text for at in places if 0 < len(text := texts[at]) <= LONGEST_VALUE]

    def labels(self) -> dict[str, list[str]]:
        """Return every label, case-folded, names and dotted paths, with its values in order of arrival."""
        if self._labels is None:
            self._labels = _flattened(self.value, self._most)
        return self._labels

    def values_of_parts(self) -> Iterator[str]:
        """Yield the serial numbers and UUIDs that the body says of parts of the machine: a chassis, a board, a disk."""
        return _of_parts(self.value)

    def system_values(self, label: str) -> list[str]:
        """Return the first `MOST_OF_SYSTEM` values of ``serial`` or ``uuid`` that the body says of the machine itself:
        at its top, under ``system``, or under ``system`` in a map at its top (Proxmox has ``dmi.system``). A disk, a
        board and a chassis have such values too."""
        if self._of_system is None:
            self._of_system = _of_system(self.value)
        return self._of_system.get(label, [])

    def keep_first(self, most: int) -> None:
        """Keep only the first ``most`` scalars for values of labels. Call it before any label is asked for."""
        self._most = most
        self._searches = _MOST_SEARCHES


def _quotes(body: bytes) -> int:
    """Return how many quotation marks begin or end a string of a JSON text."""
    without_backslashes = body.replace(b"\\\\", b"")
    return without_backslashes.count(b'"') - without_backslashes.count(b'\\"')


def _visible(value: Any, ignored: frozenset[str]) -> Any:
    """Return a value, where it is a map without the scalars that go by an ``ignored`` name in it."""
    if type(value) is not dict:
        return value
    kept = {key: _maps_in(item) if key.casefold() in ignored else item for key, item in value.items()}
    return {key: item for key, item in kept.items() if item is not None}


def _maps_in(value: Any) -> Any:
    """Return a value without the scalars that have no name in it; None where nothing is left."""
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
    """Return the value of a body; None for a body that is not JSON."""
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
            parse_float=SpelledNumber,
            parse_int=SpelledNumber,
            parse_constant=_refuse,
            object_pairs_hook=_with_each_pair,
        )
    except (ValueError, RecursionError):
        return None
    return JsonBody(value, body, exact=True)


_BLANKS: Final = b" \t\r\n"
_BEGINNINGS: Final = tuple(bytes([character]) for character in b'{["-0123456789')
"""The first characters of JSON, except of a lone true, false or null."""


class _LostSpelling(Exception):
    """orjson reads ``1.10`` and integers over 64 bits as float and ``-0`` as 0, and keeps one value of a key that
    occurs twice: something of the text is gone."""


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _walk(value: Any) -> tuple[list[str], list[str], list[str], list[int], int, int, bool]:
    """Walk over a value in order. Raise `_LostSpelling` for a float.

    Return its scalars as text, in order of arrival, without nulls; for each of them the last key above it, empty where
    there is none; the keys of maps, lists and nulls; the positions of the scalars that are true or false; how many
    strings and commas the value takes to write, at most so many commas more where a map or list is empty; and whether a
    number is 0.

    Each answer pays for this, so it is one loop without a call for each scalar.
    """
    texts: list[str] = []
    names: list[str] = []
    other_keys: list[str] = []
    booleans: list[int] = []
    keys = containers = elements = numbers = 0
    has_zero = False
    open_parts: list[Iterator[tuple[str, Any]]] = []
    parts: Iterator[tuple[str, Any]] = iter([("", value)])
    while True:
        for name, item in parts:
            kind = type(item)
            if kind is str:
                names.append(name)
                texts.append(item)
            elif kind is dict:
                containers += 1
                keys += len(item)
                other_keys.append(name)
                open_parts.append(parts)
                parts = iter(item.items())
                break
            elif kind is list:
                containers += 1
                elements += len(item)
                other_keys.append(name)
                if len(item) > _FEW and (taken := _take_flat(item, names, texts)):
                    containers += len(item)
                    keys += taken
                    continue
                open_parts.append(parts)
                parts = zip(repeat(name), item)
                break
            elif kind is float:
                raise _LostSpelling
            elif kind is bool:
                booleans.append(len(texts))
                names.append(name)
                texts.append("true" if item else "false")
            elif item is None:
                other_keys.append(name)
            else:
                names.append(name)
                texts.append(str(item))
                numbers += 1
                has_zero = has_zero or not item
        else:
            if not open_parts:
                strings = keys + len(texts) - len(booleans) - numbers
                commas = keys + elements - containers
                return texts, names, other_keys, booleans, strings, commas, has_zero
            parts = open_parts.pop()


def _take_flat(maps: list[Any], names: list[str], texts: list[str]) -> int:
    """Append the names and values of maps that hold only texts, as lists of network interfaces do, and return how many
    there are. Append nothing, and return 0, for any other list.

    A body of 119 texts is read in 20 µs with this and in 28 without.
    """
    try:
        values = list(chain.from_iterable(map(dict.values, maps)))
        "".join(values)
    except TypeError:
        return 0
    names += chain.from_iterable(maps) if values else ()
    texts += values
    return len(values)


def _text_of(scalar: Any) -> str:
    """Return a scalar as a fact's text. A lone surrogate stays: filling a placeholder refuses it."""
    if scalar is True or scalar is False:
        return "true" if scalar else "false"
    return str(scalar)


def filed(named: Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """Return the values by case-folded label, in order, without those that are too long."""
    filed: dict[str, list[str]] = {}
    by_spelling: dict[str, list[str]] = {}  # a name is folded once: a list may have half a megabyte of it
    for label, item in named:
        text = _text_of(item)
        if len(text) > LONGEST_VALUE:
            continue
        values = by_spelling.get(label)
        if values is None:
            values = by_spelling[label] = filed.setdefault(label.casefold(), [])
        values.append(text)
    return filed


_PARTS: Final = ("chassis", "board", "disk", "drive", "enclosure")
"""What is in the name of a map, or of a list of maps, about a part of a machine that has a serial number of its own."""


def _of_parts(value: Any) -> Iterator[str]:
    """Yield the values of ``serial`` and ``uuid`` of parts of the machine, with what is in them."""
    waiting = [(value, False)]
    while waiting:
        item, is_part = waiting.pop()
        if type(item) is list:
            waiting += [(below, is_part) for below in item if type(below) in (dict, list)]
            continue
        if type(item) is not dict:
            continue
        for name, below in item.items():
            label = name.casefold()
            if type(below) in (dict, list):
                waiting.append((below, is_part or any(word in label for word in _PARTS)))
            elif is_part and label in ("serial", "uuid") and type(below) is not bool and _is_value(below):
                yield _text_of(below)


def _of_system(value: Any) -> dict[str, list[str]]:
    """Return the values of `JsonBody.system_values` by label."""
    found: dict[str, list[str]] = {"serial": [], "uuid": []}
    if type(value) is not dict:
        return found
    parts = [value]
    for name, below in value.items():
        if type(below) is not dict:
            continue
        if name.casefold() == "system":
            parts.append(below)
            continue
        for inner, system in below.items():
            if type(system) is dict and inner.casefold() == "system":
                parts.append(system)
    for part in parts:
        for name, item in part.items():
            values = found.get(name.casefold())
            if values is not None and len(values) < MOST_OF_SYSTEM and type(item) is not bool and _is_value(item):
                values.append(_text_of(item))
    return found


def _steps(path: str, keys: Iterable[str]) -> list[tuple[str, str | None]]:
    """Return those of the keys of a map with which a case-folded dotted path begins, in their order, each with the path
    that follows it: None where nothing follows."""
    found: list[tuple[str, str | None]] = []
    for key in keys:
        step = key.casefold()
        if path.startswith(step):
            rest = path[len(step) :]
            if not rest or rest[0] == ".":
                found.append((key, rest[1:] if rest else None))
    return found


def _at(value: Any, path: str) -> list[Any]:
    """Return the scalars at a case-folded dotted path."""
    found: list[Any] = []
    if type(value) is dict:
        for key, rest in _steps(path, value):
            below = value[key]
            found += _scalar(below) if rest is None else _at(below, rest)
    elif type(value) is list:
        index, dot, rest = path.partition(".")
        if _is_index(index, value):
            below = value[int(index)]
            found += _at(below, rest) if dot else _scalar(below)
    return found


def _is_index(step: str, elements: list[Any]) -> bool:
    """Return whether a step of a path is an index of a list, in its only spelling."""
    if not (step.isascii() and step.isdigit() and len(step) < _LONGEST_INDEX):
        return False
    return int(step) < len(elements) and step == str(int(step))


def _scalar(value: Any) -> tuple[Any, ...]:
    return (value,) if _is_value(value) else ()


def _is_value(item: Any) -> bool:
    """Return whether a part of a body is a value of its labels."""
    kind = type(item)
    if kind is str:
        return 0 < len(item) <= LONGEST_VALUE
    return item is not None and kind is not dict and kind is not list and len(str(item)) <= LONGEST_VALUE


def _flattened(value: Any, most: int | None) -> dict[str, list[str]]:
    """Return the values of every label: of the first ``most`` scalars, under their dotted paths and, where those
    differ, under their names."""
    found: dict[str, list[str]] = {}
    left = -1 if most is None else most
    # Each open map or list: its dotted path with a dot behind it (None where that is too long for a label), its name,
    # and its members that are still to come.
    open_parts: list[tuple[str | None, str, Iterator[tuple[str | int, Any]]]] = [("", "", _parts(value))]
    while open_parts and left:
        path, leaf, parts = open_parts[-1]
        for name, item in parts:
            kind = type(item)
            step = name.casefold() if isinstance(name, str) else str(name)
            leaf_below = step if isinstance(name, str) else leaf
            below = path + step if path is not None and len(path) + len(step) <= LONGEST_LABEL else None
            if kind is dict or kind is list:
                open_parts.append((None if below is None else f"{below}.", leaf_below, _parts(item)))
                break
            if not _is_value(item):
                continue
            text = _text_of(item)
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
    """Return the members of a map by name, the elements of a list by index; a scalar has none."""
    if type(value) is dict:
        return iter(value.items())
    return iter(enumerate(value)) if type(value) is list else iter(())
