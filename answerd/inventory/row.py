"""Columns and rows: the rules for the header, and the values of a machine in its row
(docs/inventory.md#identity-columns)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from answerd.identity import (
    RESERVED_MACHINES,
    Kind,
    address_identity,
    brief,
    folded,
    identifier_fault,
    identity_of,
    is_label,
    normalize,
    port_of,
)
from answerd.inventory.records import MOST_COLUMNS, CsvRecord, Syntax, UnreadableError
from answerd.shared_values import is_shared, kind_of

IDENTITY_COLUMNS: Final = ("id", "mac", "serial", "uuid")
"""Columns whose values identify a machine, in the order in which the first identity of a row is looked for."""

RESERVED_COLUMNS: Final = frozenset(
    {"path", "file", "segment", "peer", "user_agent", "machine", "group", "state", "report", "service.fingerprint"}
)
"""Labels that the URL, the service or the selection sets, so that no column can have them."""

RESERVED_BEGINNING: Final = "secret."
"""The prefix of the labels of secrets."""

SHORTEST_IN_BODY: Final = 4
"""Characters of an identity that a JSON body can claim (docs/selection.md#what-a-request-says-facts)."""

MOST_ADDRESSES: Final = 1_000
"""Addresses of one ``mac`` cell: the values that a label can have (docs/http.md#limits)."""

_UUID: Final = re.compile(r"[0-9a-f]{32}")


class Layout:
    """The header of one file. The same object for as long as its columns do not change, however its rows do.

    ``source`` names the file, ``columns`` are spelled as in the header, without those at its end that have no name.
    ``labels`` are the labels of columns, with their places; a column whose name is no label has none. ``keys`` are the
    names by which columns are set: the label, else the name, case-folded. ``notes`` are for the header's author.
    ``width`` counts all columns.
    """

    __slots__ = ("columns", "identifying", "keys", "labels", "notes", "source", "syntax", "width")

    def __init__(
        self, source: str, syntax: Syntax, header: Sequence[str], line: int, labels: Mapping[str, str] | None = None
    ) -> None:
        """``labels``: the labels of columns with other names, by their `folded` name. Raises `UnreadableError`, on
        ``line``, for columns that no inventory can have."""
        self.source = source
        self.syntax = syntax
        self.width = len(header)
        if self.width > MOST_COLUMNS:
            raise UnreadableError(line, f"the header has more than {MOST_COLUMNS:,} columns")
        names = list(header)
        while names and not names[-1]:
            names.pop()
        self.columns = tuple(names)
        self.labels: Mapping[str, int] = _labels(self.columns, labels or {}, line)
        by_place = {at: label for label, at in self.labels.items()}
        self.keys = tuple(by_place.get(at) or folded(column) for at, column in enumerate(self.columns))
        self.notes = tuple(_left_out(at, column) for at, column in enumerate(self.columns) if at not in by_place)
        self.identifying = tuple((name, self.labels[name]) for name in IDENTITY_COLUMNS if name in self.labels)
        if not self.identifying:
            raise UnreadableError(line, f"no column is one of {', '.join(IDENTITY_COLUMNS)}, so no row names a machine")

    def is_like(self, other: Layout) -> bool:
        """Return whether records mean the same under both headers."""
        return (self.source, self.syntax.separator, self.width, self.columns, self.keys) == (
            other.source,
            other.syntax.separator,
            other.width,
            other.columns,
            other.keys,
        )


def _labels(columns: Sequence[str], given: Mapping[str, str], line: int) -> dict[str, int]:
    labels: dict[str, int] = {}
    for at, column in enumerate(columns):
        label = folded(column)
        label = given.get(label, label)
        if not is_label(label):
            continue
        if label in RESERVED_COLUMNS or label.startswith(RESERVED_BEGINNING):
            raise UnreadableError(line, f"column {brief(column)!r} is reserved: the service sets this label")
        if label in labels:
            raise UnreadableError(line, f"column {brief(column)!r} is there twice")
        labels[label] = at
    return labels


def _left_out(at: int, column: str) -> str:
    if not column:
        return f"column {at + 1} of the header has no name: it is left out"
    return (
        f"column {at + 1} of the header is left out: its name {brief(column)!r} is no label; give it one with "
        "SERVICE_INVENTORY_COLUMNS"
    )


class Row:
    """One row. Immutable, and the same object for as long as its record and the header do not change.

    ``names`` are its `identities`, once it is in an index: a request looks all of them up.
    """

    __slots__ = ("layout", "names", "text")

    def __init__(self, layout: Layout, text: str) -> None:
        self.layout = layout
        self.text = text
        self.names: tuple[str, ...] = ()

    def cells(self) -> list[str]:
        """Return the values of its cells, one for each named column."""
        layout = self.layout
        width = len(layout.columns)
        cells = layout.syntax.cells(self.text)
        if len(cells) == width:
            return cells
        return cells[:width] + [""] * (width - len(cells))

    def by_column(self) -> dict[str, str]:
        """Return the text of each column, as the header spells it; empty where the cell is."""
        return dict(zip(self.layout.columns, self.cells(), strict=True))

    def values(self) -> dict[str, list[str]]:
        """Return the values of each label that has one. Only a ``mac`` cell can hold several."""
        cells = self.cells()
        return {label: values for label, at in self.layout.labels.items() if (values := values_in(label, cells[at]))}

    def identities(self) -> dict[str, str]:
        """Return each identity by which a request is this row's, with the text that gave it, in a fixed order."""
        return judged(self.layout, self.layout.syntax.cells(self.text)).identities

    @property
    def id(self) -> str:
        """Its ``id`` as written; empty where it has none."""
        at = self.layout.labels.get("id")
        return "" if at is None else self.cells()[at]

    @property
    def name(self) -> str:
        """The name of the row: its ``id`` as written, else its first identity, else empty."""
        return self.id or next(iter(self.identities()), "")


def values_in(label: str, cell: str) -> list[str]:
    """Return the values of a label that a cell has, without those that many machines share."""
    if not cell:
        return []
    values = cell.split() or [cell] if label == "mac" else [cell]
    kind = kind_of(label)
    return [value for value in values if not is_shared(kind, normalize(value))] if kind else values


def hardware_in(layout: Layout, cells: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield column, identity and text of each value of a row that is of its hardware: all but its ``id``."""
    for column, at in layout.identifying:
        if column == "id" or not (cell := cells[at]):
            continue
        for value in cell.split() if column == "mac" else (cell,):
            identity = identity_of(value) if column == "serial" else port_of(normalize(value))
            if not is_shared(column, identity):
                yield column, identity, value


def identities_of_sound(layout: Layout, cells: Sequence[str]) -> dict[str, str]:
    """Return `Row.identities` of a row without a fault, for a fraction of what judging its cells costs."""
    found: dict[str, str] = {}
    for column, at in layout.identifying:
        cell = cells[at]
        for value in cell.split() if column == "mac" else (cell,):
            identity = identity_of(value) if column in ("id", "serial") else port_of(normalize(value))
            if identity and (column == "id" or not is_shared(column, identity)):
                found.setdefault(identity, value)
    return found


class Judgement(NamedTuple):
    """The checked content of one row: its valid ``identities``, and its ``fault``, None where it has none."""

    identities: dict[str, str]
    fault: str | None


def judged(layout: Layout, cells: Sequence[str]) -> Judgement:
    """Return the identities in the cells of a row, and its fault. No sentence quotes a cell."""
    identities: dict[str, str] = {}
    fault = None
    has_value = False
    width = len(cells)
    for column, at in layout.identifying:
        cell = cells[at] if at < width else ""
        values = [value for value in _values_of(column, cell) if column == "id" or not is_empty(column, value)]
        if not values:
            continue
        has_value = True
        if len(values) > MOST_ADDRESSES:
            fault = fault or f"column {column}: a cell has more than {MOST_ADDRESSES:,} addresses"
            values = values[:MOST_ADDRESSES]
        identified = _VALUES[column]
        for value in values:
            identity, wrong = identified(value)
            if wrong:
                fault = fault or f"column {column}: {wrong}"
            else:
                identities.setdefault(identity, value)
    if width > MOST_COLUMNS:
        fault = f"has more than {MOST_COLUMNS:,} cells, and the header has {layout.width} columns"
    elif width > layout.width:
        fault = f"has {width} cells, and the header has {layout.width} columns"
    elif any(cells[len(layout.columns) :]):
        fault = "has text in a column without a name"
    elif not has_value:
        fault = f"has no value in {' or '.join(column for column, _ in layout.identifying)}, so it names no machine"
    return Judgement(identities, fault)


def is_empty(column: str, value: str) -> bool:
    """Return whether a value of an identity column says nothing: many machines have it."""
    return is_shared(column, normalize(value))


def shared_columns(first: Row, second: Row) -> list[str]:
    """Return the columns, as the headers spell them, in which two rows have one identity."""
    shared = frozenset(first.names).intersection(second.names)
    found: dict[str, None] = {}
    for row in (first, second):
        cells = row.cells()
        for column, at in row.layout.identifying:
            if any(_VALUES[column](value)[0] in shared for value in _values_of(column, cells[at])):
                found[row.layout.columns[at]] = None
    return list(found)


def notes(layout: Layout, cells: Sequence[str]) -> list[str]:
    """Return notes for the author of a row: values that no JSON body can claim."""
    found = []
    for column, at in layout.identifying:
        cell = cells[at] if at < len(cells) else ""
        for value in _values_of(column, cell)[:MOST_ADDRESSES]:
            identity, wrong = _VALUES[column](value)
            if wrong or (column != "id" and is_empty(column, value)):
                continue
            if len(identity) < SHORTEST_IN_BODY:
                found.append(
                    f"column {column}: a value of under {SHORTEST_IN_BODY} letters and digits "
                    "is not recognised in a JSON body"
                )
    return list(dict.fromkeys(found))


def _values_of(column: str, cell: str) -> list[str]:
    """Return the values of an identity column's cell; of more than `MOST_ADDRESSES` the first and one more."""
    if column == "mac":
        return cell.split(None, MOST_ADDRESSES)
    return [cell] if cell else []


def _id(value: str) -> tuple[str, str | None]:
    fault = identifier_fault(Kind.MACHINE, value)
    if fault and value.lower() in RESERVED_MACHINES:
        fault = "a value is a reserved name"  # the other sentence quotes it
    return identity_of(value), fault


def _mac(value: str) -> tuple[str, str | None]:
    identity = address_identity(value)
    return (identity, None) if identity else ("", "a value is no MAC address")


def _serial(value: str) -> tuple[str, str | None]:
    identity = identity_of(value)
    return identity, None if identity else "a serial number needs a letter or a digit"


def _uuid(value: str) -> tuple[str, str | None]:
    identity = normalize(value)
    return identity, None if _UUID.fullmatch(identity) else "a UUID has 32 hex digits"


_VALUES: Final = {"id": _id, "mac": _mac, "serial": _serial, "uuid": _uuid}
"""The function of each identity column that returns the identity of a value, and the value's fault."""


def read_header(
    text: str, syntax: Syntax, source: str, header: CsvRecord | None, labels: Mapping[str, str] | None = None
) -> Layout:
    """Return the layout that a header gives; ``labels`` as for `Layout`. Raises `UnreadableError`; ``header`` is None
    where there is none."""
    if header is None:
        raise UnreadableError(1, "there is no header line that names the columns")
    return Layout(source, syntax, syntax.cells(text[header.start : header.end]), header.line, labels)
