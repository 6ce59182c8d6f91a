"""What a text of Jinja may use: filters, tests, methods and operators (docs/templates.md#jinja).

Each one is a line of a table here, and what is in no table does not exist. None reaches an attribute of Python, and
none makes anything whose size was not counted before (`Filling`): texts, numbers, lists and maps come in, and the same
come out. Faults are `Refused`, whose sentences quote no value.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from jinja2 import Undefined, pass_context
from jinja2.runtime import LoopContext
from jinja2.utils import Namespace

from answerd.formats import filters
from answerd.formats.filters import CUTTING, FILTERS, Lookup
from answerd.long_work import give_way

MOST_TURNS: Final = 100_000
"""Turns of loops and calls of macros of one answer."""

TURNS_AT_ONCE: Final = 1_000
"""Turns after which other requests get their turn."""

MOST_WORK: Final = 16_777_216
"""What one answer may process and make: characters, and parts of expressions (`FOR_EACH_PART`). A second of work."""

MOST_AT_ONCE: Final = 524_288
"""What one operator or one filter may make or look through. Nothing else runs meanwhile: up to 30 milliseconds, which
tests/cost/test_jinja_turns.py holds."""

WORK_AT_ONCE: Final = 16_384
"""Work after which other requests get their turn: about a millisecond. A request takes some turns of the loop."""

FOR_EACH_PART: Final = 4
"""What each part of an expression counts for each time, as a number of characters."""

FOR_EACH_CALL: Final = 32
"""What each call of a filter or a method counts for, in addition to its characters."""

FOR_EACH_ITEM: Final = 8
"""What each item of a list counts for that is made or looked through."""

LARGEST_NUMBER: Final = 256
"""Bits of the largest integer."""

MOST_ITEMS: Final = MOST_AT_ONCE // FOR_EACH_ITEM
"""Numbers that ``range`` makes: as many as a list has items."""

LONG_TEXT: Final = 64
"""Characters of a text above which comparing it counts."""


class Refused(ValueError):
    """A value that an operator, a filter or a loop does not take. ``str()`` is the end of a sentence and quotes no
    value."""


class Filling:
    """What one answer has used while it is filled: turns of loops, and work."""

    __slots__ = ("_pause_at", "_turns", "_work", "lookup")

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self._turns = 0
        self._work = 0
        self._pause_at = WORK_AT_ONCE

    def turn(self, size: int) -> None:
        """Count a turn of a loop or a call of a macro, whose body has a ``size``. Raises `Refused`."""
        self._turns += 1
        if self._turns > MOST_TURNS:
            raise Refused(f"takes more than {MOST_TURNS:,} turns of loops and calls of macros")
        if not self._turns % TURNS_AT_ONCE:
            give_way()
        self.spend(size)

    def spend(self, work: int) -> None:
        """Count what is about to be made or looked through. Raises `Refused`."""
        self._work += work
        if self._work > self._pause_at:
            if work > MOST_AT_ONCE:
                raise Refused(f"makes or looks through more than {MOST_AT_ONCE:,} characters at once")
            if self._work > MOST_WORK:
                raise Refused(f"makes or looks through more than {MOST_WORK:,} characters")
            self._pause_at = self._work + WORK_AT_ONCE
            give_way()


# --- values -----------------------------------------------------------------------------------------------------------

_SCALARS: Final = (str, int, float, bool, type(None), Undefined)


def described(value: object) -> str:
    """Return the kind of a value as a person would call it. Raises what Jinja does where there is none."""
    if isinstance(value, Undefined):
        str(value)
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "a text"),
        (bool, "true or false"),
        ((int, float), "a number"),
        (type(None), "none"),
        ((list, tuple, range), "a list"),
        (dict, "a map"),
        (LoopContext, "the loop"),
        (Namespace, "a namespace"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "a macro or a function")


def text_of(value: object) -> str:
    """Return a value as it is written into a text. Raises `Refused` for what is no text: a list, a map, none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):  # as installers read it: Python would write True
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Undefined):
        return str(value)  # which raises
    if value is None:
        raise Refused("writes none, which is no text")
    hint = ': join its items, as in | join(" ")' if isinstance(value, list | tuple | range) else ""
    raise Refused(f"has {described(value)} where a text belongs{hint}")


def scalar(value: Any) -> Any:
    """Return a value that is compared: two lists may be made of the same lists many times over, and take forever."""
    if isinstance(value, _SCALARS):
        return value
    raise Refused(f"compares {described(value)}: compare texts, numbers, true and false")


def compared(filling: Filling, value: Any) -> Any:
    """Return a value that is compared. A long text may be so in each turn of a loop."""
    if isinstance(value, str) and len(value) > LONG_TEXT:
        filling.spend(len(value))
    return scalar(value)


def _items(filling: Filling, value: object) -> Sequence[Any]:
    """Return the items of a list, or the keys of a map."""
    if isinstance(value, Undefined):
        str(value)
    if isinstance(value, str):
        raise Refused(
            'has a text where several values belong: cut it, as in disks | split(" "), or take all values of a label, '
            'as in values("mac")'
        )
    if not isinstance(value, list | tuple | range | dict):
        raise Refused(f"has {described(value)} where several values belong")
    filling.spend(len(value) * FOR_EACH_ITEM)
    return value if isinstance(value, list | tuple | range) else list(value)


def _whole(value: object, what: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise Refused(f"has {what} that is no number from 0 to {most:,}")
    return value


def is_bounded(value: object) -> bool:
    """Return whether a number is not too large. A fraction that is written too large is infinite."""
    return value.bit_length() <= LARGEST_NUMBER if isinstance(value, int) else value != math.inf


def _bounded(value: Any) -> Any:
    """Return a number that is not too large."""
    if isinstance(value, int) and not is_bounded(value):
        raise Refused(f"makes a number of more than {LARGEST_NUMBER} bits")
    return value


# --- operators --------------------------------------------------------------------------------------------------------

_ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
OPERATORS: Final = frozenset({*_ARITHMETIC, "**"})


def calculated(filling: Filling, sign: str, left: Any, right: Any) -> Any:
    """Return what an operator makes of two values. Raises `Refused`."""
    for value in (left, right):
        if isinstance(value, Undefined):
            str(value)
    if isinstance(left, int | float) and isinstance(right, int | float):
        if sign == "**":
            if not 0 <= right <= LARGEST_NUMBER or abs(left) > MOST_ITEMS:
                raise Refused("raises to a power that is negative or too large")
            if left < 0 and right != int(right):
                raise Refused("takes a root of a negative number")
            return _bounded(left**right)
        return _bounded(_ARITHMETIC[sign](left, right))
    if sign == "%" and isinstance(left, str):
        return _formatted(filling, left, right if isinstance(right, tuple | dict) else (right,))
    if sign == "+" and isinstance(left, str) and isinstance(right, str):
        filling.spend(len(left) + len(right))
        return left + right
    if sign == "+" and isinstance(left, list | tuple) and type(left) is type(right):
        filling.spend((len(left) + len(right)) * FOR_EACH_ITEM)
        return operator.add(left, right)
    if sign == "*":
        if isinstance(right, str | list | tuple):
            left, right = right, left
        if isinstance(left, str | list | tuple) and isinstance(right, int):
            filling.spend(len(left) * max(right, 0) * (1 if isinstance(left, str) else FOR_EACH_ITEM))
            return left * right
    mixed = isinstance(left, str) != isinstance(right, str)
    hint = ": write ~ to join texts, and | int before a calculation" if mixed else ""
    raise Refused(f"has {sign} between {described(left)} and {described(right)}{hint}")


_CONVERSION: Final = re.compile(
    r"%(?:\(\w*\))?[#0 +-]*(?P<width>\*|\d*)(?:\.(?P<places>\*|\d*))?(?P<kind>.?)", re.DOTALL
)
_WIDEST: Final = 999
_MOST_CONVERSIONS: Final = 200
_KINDS: Final = frozenset("sdioxXeEfFgG%")


def _formatted(filling: Filling, text: str, values: tuple[Any, ...] | Mapping[Any, Any]) -> str:
    """Return what ``%`` makes of a text: its widths are bounded, and it never shows a value as Python writes it."""
    if text.count("%") > _MOST_CONVERSIONS:
        raise Refused(f"has a format of more than {_MOST_CONVERSIONS} values")
    found = list(_CONVERSION.finditer(text))
    for conversion in found:
        widths = (conversion["width"], conversion["places"] or "")
        if conversion["kind"] not in _KINDS or any(len(width) > len(str(_WIDEST)) or width == "*" for width in widths):
            raise Refused("has a % that is none of %s, %d, %i, %o, %x, %e, %f, %g and %%, or is wider than 999")
    taken = list(values.values() if isinstance(values, Mapping) else values)
    longest = max((len(text_of(value)) for value in taken), default=0)
    filling.spend(len(text) + len(found) * (2 * _WIDEST + longest))
    return text % values


def counted_text(filling: Filling, value: object) -> str:
    """Return a value as `text_of` does, once its characters are counted."""
    text = text_of(value)
    filling.spend(len(text) + FOR_EACH_CALL)
    return text


# --- filters ----------------------------------------------------------------------------------------------------------
#
# Each gets what the answer has used, the value, and its arguments.

Word = Callable[..., Any]

T = TypeVar("T")


def _each(change: Callable[..., str]) -> Word:
    """Return a filter that changes a text, and each item of a list."""

    def changed(filling: Filling, value: Any, *texts: Any) -> Any:
        if isinstance(value, list | tuple | range):
            return [change(filling, item, *texts) for item in _items(filling, value)]
        return change(filling, value, *texts)

    return changed


def _refuse_longer(text: str) -> None:
    if len(text) > filters.LONGEST_FILTERED:
        raise Refused(f"has a filter that takes at most {filters.LONGEST_FILTERED:,} characters")


def _judged(apply: Callable[..., T], *texts: str) -> T:
    """Return what a filter of placeholders makes. Raises `Refused` with its sentence."""
    _refuse_longer(texts[0])
    try:
        return apply(*texts)
    except ValueError as error:
        raise Refused(f"has a value that {error}") from None


def _own(name: str) -> Word:
    cost = filters.COST.get(name, 1)
    apply = FILTERS[name]

    def change(filling: Filling, value: object) -> str:
        text = text_of(value)
        filling.spend(len(text) + FOR_EACH_CALL * cost)
        return _judged(apply, text)

    return _each(change)


def _replace(filling: Filling, value: object, old: str, new: str) -> str:
    text, old, new = counted_text(filling, value), text_of(old), text_of(new)
    if not old:
        raise Refused("has an empty text to replace")
    filling.spend(text.count(old) * max(0, len(new) - len(old)))
    return text.replace(old, new)


def _truncate(filling: Filling, value: object, length: int) -> str:
    return counted_text(filling, value)[: _whole(length, "a length", MOST_WORK)]


def _cut(filling: Filling, name: str, value: object, *texts: str) -> list[str]:
    return list(_judged(CUTTING[name], counted_text(filling, value), *texts))


def _split(filling: Filling, value: Any, separator: str) -> list[str]:
    if not (isinstance(separator, str) and separator):
        raise Refused("has an empty text to split at")
    if isinstance(value, list | tuple):
        return [piece for item in _items(filling, value) for piece in _cut(filling, "split", item, separator)]
    return _cut(filling, "split", value, separator)


def _join(filling: Filling, value: Any, separator: str = "") -> str:
    if not isinstance(value, list | tuple | range | dict):
        return text_of(value)
    texts = [text_of(item) for item in _items(filling, value)]
    filling.spend(sum(map(len, texts)) + len(text_of(separator)) * len(texts))
    return text_of(separator).join(texts)


def _first(filling: Filling, value: Any, at: int) -> Any:
    """Return an item of a list; a text is one value."""
    if isinstance(value, str | int | float):
        return value
    items = _items(filling, value)
    if not items:
        raise Refused("takes the first or the last of no values")
    return items[at]


def _listed(filling: Filling, value: Any) -> list[Any]:
    return [value] if isinstance(value, str | int | float) else list(_items(filling, value))


def _number(filling: Filling, value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    written = _judged(FILTERS["number"], counted_text(filling, value))
    return float(written) if "." in written else _bounded(_integer(written, 10))


def _bool(filling: Filling, value: Any) -> bool:
    return value if isinstance(value, bool) else _judged(FILTERS["bool"], counted_text(filling, value)) == "true"


def _integer(text: str, base: int) -> int:
    if len(text) > LARGEST_NUMBER:
        raise Refused("reads a number that is too long")
    return int(text, base)


def _int(filling: Filling, value: Any, default: Any = 0, base: int = 10) -> Any:
    try:
        if isinstance(value, int | float):
            return _bounded(int(value))
        return _bounded(_integer(counted_text(filling, value), base))
    except (ValueError, OverflowError, TypeError) as error:
        if isinstance(error, Refused):
            raise
        return default


def _float(filling: Filling, value: Any, default: Any = 0.0) -> Any:
    try:
        if isinstance(value, int | float):
            return float(value)
        text = counted_text(filling, value)
        _refuse_longer(text)
        return float(text)
    except ValueError as error:
        if isinstance(error, Refused):
            raise
        return default


def _default(_filling: Filling, value: Any, text: Any = "", or_false: bool = False) -> Any:
    return text if isinstance(value, Undefined) or (or_false and not value) else value


def _length(filling: Filling, value: Any) -> int:
    return len(value) if isinstance(value, str) else len(_items(filling, value))


def _compared(filling: Filling, value: Any) -> list[Any]:
    """Return the items of a list that are to be compared with each other, each with several others."""
    items = [scalar(item) for item in _items(filling, value)]
    filling.spend((len(items) * FOR_EACH_ITEM + _length_of_texts(items)) * 4)
    return items


def _length_of_texts(items: Iterable[Any]) -> int:
    return sum(len(item) for item in items if isinstance(item, str))


def _sort(filling: Filling, value: Any, reverse: bool = False) -> list[Any]:
    return sorted(_compared(filling, value), reverse=bool(reverse))


def _unique(filling: Filling, value: Any) -> list[Any]:
    return list(dict.fromkeys(_compared(filling, value)))


def _reverse(filling: Filling, value: Any) -> Any:
    return counted_text(filling, value)[::-1] if isinstance(value, str) else list(_items(filling, value))[::-1]


def _sum(filling: Filling, value: Any, start: Any = 0) -> Any:
    total = start
    for item in _each_item(filling, value):
        total = calculated(filling, "+", total, item)
    return total


def _each_item(filling: Filling, value: Any) -> Iterator[Any]:
    """Yield the items of a list for something that is done with each of them."""
    for item in _items(filling, value):
        filling.spend(FOR_EACH_ITEM)
        yield item


def _round(_filling: Filling, value: Any, places: int = 0) -> Any:
    return round(value, _whole(places, "a number of places", 15))


def _indent(filling: Filling, value: Any, width: int = 4, first: bool = False) -> str:
    text = counted_text(filling, value)
    blanks = " " * _whole(width, "a width", _WIDEST)
    filling.spend((text.count("\n") + 1) * len(blanks))
    indented = text.replace("\n", "\n" + blanks)
    return blanks + indented if first else indented


def _center(filling: Filling, value: Any, width: int = 80) -> str:
    filling.spend(_WIDEST)
    return counted_text(filling, value).center(_whole(width, "a width", _WIDEST))


def _pairs(filling: Filling, value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, dict):
        raise Refused(f"takes the pairs of {described(value)}: there are some in a map")
    filling.spend(len(value) * FOR_EACH_ITEM * 8)
    return list(value.items())


def _sorted_pairs(filling: Filling, value: Any) -> list[tuple[Any, Any]]:
    pairs = _pairs(filling, value)
    _compared(filling, [name for name, _ in pairs])
    return sorted(pairs, key=lambda pair: pair[0])


def _batch(filling: Filling, value: Any, count: int) -> list[list[Any]]:
    items = _items(filling, value)
    count = _whole(count, "a count", MOST_ITEMS) or 1
    filling.spend(len(items) * FOR_EACH_ITEM * 8)
    return [list(items[at : at + count]) for at in range(0, len(items), count)]


def _map(filling: Filling, value: Any, name: str, *texts: Any) -> list[Any]:
    if name not in WORDS:
        raise Refused("maps by no filter: name one, as in | map('upper')")
    return [WORDS[name](filling, item, *texts) for item in _each_item(filling, value)]


def _selected(filling: Filling, value: Any, name: str, *texts: Any, wanted: bool) -> list[Any]:
    if name not in TESTS:
        raise Refused("selects by no test: name one, as in | select('gt', 5)")
    return [item for item in _each_item(filling, value) if bool(TESTS[name](filling, item, *texts)) is wanted]


OF_PLACEHOLDERS: Final[dict[str, Word]] = {
    **{name: _own(name) for name in FILTERS if name not in ("number", "bool")},
    "number": _number,
    "bool": _bool,
    "default": _default,
    "replace": _each(_replace),
    "truncate": _each(_truncate),
    "split": _split,
    "lines": lambda filling, value: _cut(filling, "lines", value),
    "join": _join,
    "first": lambda filling, value: _first(filling, value, 0),
    "last": lambda filling, value: _first(filling, value, -1),
    "list": _listed,
}
"""The filters that placeholders have, which mean the same (docs/templates.md#filters)."""

OF_JINJA: Final[dict[str, Word]] = {
    "abs": lambda _filling, value: abs(value),
    "batch": _batch,
    "capitalize": _each(lambda filling, value: counted_text(filling, value).capitalize()),
    "center": _each(_center),
    "count": _length,
    "d": _default,
    "dictsort": _sorted_pairs,
    "float": _float,
    "format": lambda filling, value, *texts, **named: _formatted(filling, text_of(value), named or texts),
    "indent": _indent,
    "int": _int,
    "items": _pairs,
    "length": _length,
    "map": _map,
    "max": lambda filling, value: max(_compared(filling, value)),
    "min": lambda filling, value: min(_compared(filling, value)),
    "reject": lambda filling, value, name, *texts: _selected(filling, value, name, *texts, wanted=False),
    "reverse": _reverse,
    "round": _round,
    "select": lambda filling, value, name, *texts: _selected(filling, value, name, *texts, wanted=True),
    "sort": _sort,
    "string": counted_text,
    "sum": _sum,
    "title": _each(lambda filling, value: counted_text(filling, value).title()),
    "trim": _each(lambda filling, value: counted_text(filling, value).strip()),
    "unique": _unique,
}
"""The filters of Jinja. None has a name of the others."""

WORDS: Final = OF_JINJA | OF_PLACEHOLDERS
"""The filters."""


# --- tests ------------------------------------------------------------------------------------------------------------


def _ordered(compare: Callable[[Any, Any], Any]) -> Word:
    return lambda filling, value, other: compare(compared(filling, value), compared(filling, other))


def _left_over(value: Any, by: Any) -> Any:
    """Return the rest of a division. Of a text ``%`` would make another text, as wide as the text says."""
    if not (isinstance(value, int | float) and isinstance(by, int | float)):
        raise Refused(f"divides {described(value)}")
    return value % by


def _is_in(filling: Filling, value: Any, several: Any) -> bool:
    return compared(filling, value) in _container(filling, several)


TESTS: Final[dict[str, Word]] = {
    "defined": lambda _filling, value: not isinstance(value, Undefined),
    "undefined": lambda _filling, value: isinstance(value, Undefined),
    "none": lambda _filling, value: value is None,
    "true": lambda _filling, value: value is True,
    "false": lambda _filling, value: value is False,
    "string": lambda _filling, value: isinstance(value, str),
    "number": lambda _filling, value: isinstance(value, int | float) and not isinstance(value, bool),
    "mapping": lambda _filling, value: isinstance(value, dict),
    "sequence": lambda _filling, value: isinstance(value, list | tuple | range),
    "odd": lambda _filling, value: _left_over(value, 2) == 1,
    "even": lambda _filling, value: _left_over(value, 2) == 0,
    "divisibleby": lambda _filling, value, number: _left_over(value, number) == 0,
    "in": _is_in,
    **dict.fromkeys(("eq", "equalto", "=="), _ordered(operator.eq)),
    **dict.fromkeys(("ne", "!="), _ordered(operator.ne)),
    **dict.fromkeys(("lt", "lessthan", "<"), _ordered(operator.lt)),
    **dict.fromkeys(("gt", "greaterthan", ">"), _ordered(operator.gt)),
    **dict.fromkeys(("le", "<="), _ordered(operator.le)),
    **dict.fromkeys(("ge", ">="), _ordered(operator.ge)),
}
"""The tests, as in ``x is defined``."""


# --- methods ----------------------------------------------------------------------------------------------------------


def _pieces(filling: Filling, value: str, separator: str | None = None, most: int = -1) -> list[str]:
    filling.spend(len(value) * FOR_EACH_ITEM)
    return value.split(separator, most)


_LONGEST_STRIPPED: Final = 16
"""Characters that ``strip`` looks for, each in every character of the text."""


def _of_text(name: str) -> Word:
    method = getattr(str, name)
    strips = name.endswith("strip")

    def call(filling: Filling, value: str, *texts: Any) -> Any:
        filling.spend(len(value) + FOR_EACH_CALL)
        if strips and texts and len(text_of(texts[0])) > _LONGEST_STRIPPED:
            raise Refused(f"strips by more than {_LONGEST_STRIPPED} characters")
        return method(value, *texts)

    return call


def _get(filling: Filling, value: Mapping[Any, Any], key: Any, default: Any = None) -> Any:
    return value.get(compared(filling, key), default)


METHODS: Final[dict[type, dict[str, Word]]] = {
    str: {
        **{
            name: _of_text(name)
            for name in (
                *("capitalize", "endswith", "find", "isalpha", "isdigit", "lower", "lstrip", "partition"),
                *("removeprefix", "removesuffix", "rpartition", "rstrip", "startswith", "strip", "title", "upper"),
            )
        },
        "join": lambda filling, value, several: _join(filling, _items(filling, several), value),
        "replace": _replace,
        "split": _pieces,
        "splitlines": lambda filling, value: _pieces(filling, value, "\n"),
    },
    dict: {
        "get": _get,
        "items": _pairs,
        "keys": lambda filling, value: list(_items(filling, value)),
        "values": lambda filling, value: [item for _, item in _pairs(filling, value)],
    },
    LoopContext: {"cycle": lambda _filling, loop, *values: loop.cycle(*values)},
}
"""The methods of each type of value, as Python has them."""

OF_A_LOOP: Final = frozenset(
    {"depth", "depth0", "first", "index", "index0", "last", "length", "nextitem", "previtem"}
    | {"revindex", "revindex0"}
)
"""The attributes of ``loop``."""


class Method:
    """A method of a value, which may be called."""

    __slots__ = ("_value", "_word")

    def __init__(self, word: Word, value: object) -> None:
        self._word, self._value = word, value

    def call(self, filling: Filling, *values: Any) -> Any:
        return self._word(filling, self._value, *values)


def counted_range(filling: Filling, *bounds: int) -> range:
    """Return the numbers of ``range(…)``."""
    made = range(*(bound if isinstance(bound, int) else int(text_of(bound)) for bound in bounds))
    if len(made) > MOST_ITEMS:
        raise Refused(f"has a range of more than {MOST_ITEMS:,} numbers")
    filling.spend(FOR_EACH_CALL)
    return made


# --- what is put into the text when it is compiled --------------------------------------------------------------------
#
# The names begin with a blank, so no text can have them.


def _turns(filling: Filling, value: object, size: int) -> Iterator[Any]:
    """Yield what a loop goes through, and count its turns."""
    for item in _items(filling, value):
        filling.turn(size)
        yield item


def _slice(filling: Filling, value: Any, start: Any, stop: Any, step: Any) -> Any:
    if not isinstance(value, str | list | tuple | range):
        raise Refused(f"takes a part of {described(value)}")
    filling.spend(len(value) * (1 if isinstance(value, str) else FOR_EACH_ITEM))
    return value[start:stop:step]


def _concatenated(filling: Filling, values: Iterable[object]) -> str:
    texts = [text_of(value) for value in values]
    filling.spend(sum(map(len, texts)))
    return "".join(texts)


def _container(filling: Filling, value: Any) -> Any:
    """Return what ``in`` looks into."""
    if isinstance(value, str):
        filling.spend(len(value))
        return value
    if isinstance(value, dict):
        return value
    items = _items(filling, value)
    filling.spend(0 if isinstance(items, range) else _length_of_texts(items))
    return items


INSERTED: Final[dict[str, Word]] = {
    " turns": _turns,
    " call": lambda filling, _value, size: filling.turn(size),
    " slice": _slice,
    " concatenated": _concatenated,
    " arguments": _items,
    " named arguments": lambda filling, value: dict(_pairs(filling, value)),
    " compared": compared,
    " container": _container,
    " own": lambda filling, label: filling.lookup.first(label),
}


def taking_the_context(word: Word, *, passes_missing: bool = False) -> Word:
    """Return a word as Jinja calls it. ``passes_missing``: a value that is not there passes through, for ``default``
    after it."""

    @pass_context
    def call(context: Any, value: Any, *values: Any, **named: Any) -> Any:
        if passes_missing and isinstance(value, Undefined):
            return value
        return word(context.filling, value, *values, **named)

    return call
