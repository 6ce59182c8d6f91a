"""What a table means: the document beside it, such as ``inventory.columns`` beside ``inventory.csv``
(docs/inventory.md#columns-with-other-names).

Text in, labels and shared values out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import tomli

from answerd.errors import MOST_PROBLEMS
from answerd.identity import folded, is_label, normalize
from answerd.inventory.records import BYTE_ORDER_MARK, UnreadableError
from answerd.shared_values import BUILT_IN, LONGEST_SHARED, SharedValues
from answerd.short_texts import brief
from answerd.suggestion import did_you_mean

_KEYS: Final = ("columns", "shared")

RESERVED_COLUMNS: Final = frozenset(
    {"path", "file", "segment", "peer", "user_agent", "machine", "group", "state", "report", "service.fingerprint"}
)
"""Labels that the URL, the service or the selection sets, so that no column can have them."""

RESERVED_BEGINNING: Final = "secret."
"""The prefix of the labels of secrets."""

_MOST_STARS: Final = 2
"""Stars of a shared value: each one more multiplies the time to compare by the length of what a request says."""

MOST_PATTERNS: Final = 32
"""Shared values with ``*`` or ``?`` in one document: each request is compared with all of them."""

_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


@dataclass(frozen=True)
class Meaning:
    """What the columns of one table mean, and which values are shared in the whole set.

    ``labels``: the labels of columns with other names, by their `folded` name. ``names`` has these names as written.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    shared: SharedValues = BUILT_IN
    names: Mapping[str, str] = field(default_factory=dict)


AS_WRITTEN: Final = Meaning()
"""The meaning of a table whose columns are named like labels."""


@dataclass(frozen=True)
class ColumnsDocument:
    """The content of one document: the labels of columns by their folded name, the names as written, and the shared
    values as identities with ``*`` and ``?``."""

    labels: Mapping[str, str]
    names: Mapping[str, str]
    shared: tuple[str, ...]


def is_reserved(label: str) -> bool:
    """Return whether the URL, the service or the selection sets a label, so that no column can have it."""
    return label in RESERVED_COLUMNS or label.startswith(RESERVED_BEGINNING)


def read_columns(text: str) -> ColumnsDocument:
    """Return what a document says. Raises `UnreadableError` with all its faults."""
    try:
        content = tomli.loads(text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n"))
    except (tomli.TOMLDecodeError, RecursionError) as error:
        found = _LINE.search(str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        raise UnreadableError(line, "the text is no TOML") from None
    faults = [*_unknown_keys(content)]
    labels: dict[str, str] = {}
    names: dict[str, str] = {}
    shared: dict[str, None] = {}
    faults += _read_labels(content.get("columns", {}), labels, names)
    faults += _read_shared(content.get("shared", []), shared)
    if faults:
        more = [f"and {len(faults) - MOST_PROBLEMS:,} more like these"] if len(faults) > MOST_PROBLEMS else []
        raise UnreadableError(1, "; ".join([*faults[:MOST_PROBLEMS], *more]))
    return ColumnsDocument(labels, names, tuple(shared))


def _unknown_keys(content: Mapping[str, Any]) -> Iterator[str]:
    for key in content:
        if key not in _KEYS:
            near = did_you_mean(key, _KEYS)
            yield f"key {brief(key)!r} is unknown: there are {' and '.join(_KEYS)}{near}"


def _read_labels(written: Any, labels: dict[str, str], names: dict[str, str]) -> Iterator[str]:
    """Fill in the labels of columns; yield what is wrong with them."""
    if not isinstance(written, dict):
        yield 'columns is no table of names and labels: columns = { "Asset Tag" = "asset" }'
        return
    for name, label in written.items():
        form = folded(name.strip())
        if not isinstance(label, str) or not is_label(folded(label)):
            yield f'column {brief(name)!r}: what it is to be is no label, such as "serial"'
        elif is_reserved(folded(label)):
            yield f"column {brief(name)!r}: its label is reserved: the service sets it"
        elif not form:
            yield "a column has an empty name"
        elif labels.setdefault(form, folded(label)) != folded(label):
            yield f"column {brief(name)!r} is given two labels"
        else:
            names.setdefault(form, name)


def _read_shared(written: Any, shared: dict[str, None]) -> Iterator[str]:
    """Fill in the shared values; yield what is wrong with them, without quoting one."""
    if not isinstance(written, list):
        yield 'shared is no list of values: shared = ["00:e0:4c:68:01:23", "SN0000*"]'
        return
    patterns = [value for value in written if isinstance(value, str) and not {*"*?"}.isdisjoint(value)]
    if len(patterns) > MOST_PATTERNS:
        yield f"shared has {len(patterns):,} values with * or ?: at most {MOST_PATTERNS} are allowed"
    for at, value in enumerate(written, 1):
        if not isinstance(value, str):
            yield f"value {at} of shared is no text"
        elif len(value) > LONGEST_SHARED:
            yield f"value {at} of shared has more than {LONGEST_SHARED} characters"
        elif len(re.findall(r"\*+", value)) > _MOST_STARS:
            yield f"value {at} of shared has more than {_MOST_STARS} stars"
        elif not normalize(value):
            yield f"value {at} of shared has no letter or digit: it would mean every machine"
        else:
            shared[as_shared(value)] = None


def as_shared(value: str) -> str:
    """Return a shared value as it is compared: its letters and digits, with ``*`` and ``?``."""
    return "".join(part if part in ("*", "?") else normalize(part) for part in re.split(r"([*?])", value))


def shared_values(documents: Iterable[ColumnsDocument], known: SharedValues) -> SharedValues:
    """Return the shared values that documents name together: ``known`` where they are the same."""
    found = SharedValues(one for document in documents for one in document.shared)
    if found == known:
        return known
    return found if found.named else BUILT_IN
