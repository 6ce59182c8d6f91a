"""Columns and rows: the rules for the header, and the values of a machine in its row
(docs/inventory.md#identity-columns)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from answerd.identity import (
    RESERVED_MACHINES,
    Kind,
    address_identity,
    folded,
    identifier_fault,
    identity_of,
    is_label,
    is_mac,
    normalize,
    port_of,
)
from answerd.inventory import columns_file_beside
from answerd.inventory.meaning import AS_WRITTEN, Meaning, is_reserved
from answerd.inventory.records import MOST_COLUMNS, CsvRecord, Syntax, UnreadableError, records
from answerd.shared_values import MAC, SERIAL, SHARED_SERIALS, UUID, SharedValues, kind_of
from answerd.short_texts import brief, join_limited
from answerd.suggestion import did_you_mean

IDENTITY_COLUMNS: Final = ("id", "mac", "serial", "uuid")
"""Columns whose values identify a machine, in the order in which the first identity of a row is looked for."""

NEW_INVENTORY: Final = ",".join(IDENTITY_COLUMNS) + "\n"
"""The text of an inventory that is made for its first machine."""

SHORTEST_IN_BODY: Final = 4
"""Characters of an identity that a JSON body can claim (docs/selection.md#what-a-request-says-facts)."""

MOST_ADDRESSES: Final = 1_000
"""Addresses of one ``mac`` cell: the values that a label can have (docs/http.md#limits)."""

_UUID: Final = re.compile(r"[0-9a-f]{32}")


_EMPTY_IDS: Final = frozenset({"-", "n/a", "none", "unknown"})
"""What exports write into a cell that says nothing, in lower case. A serial number or UUID that says nothing has more
words (`answerd.shared_values`)."""

_SEPARATORS_OF_ADDRESSES: Final = str.maketrans(",;/|", "    ")

_ROUNDED: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)?E\+[0-9]+", re.IGNORECASE)
"""A long number as a spreadsheet writes it: its last digits are lost."""

_USUAL_NAMES: Final = (
    (MAC, re.compile(r"\bmac\b|mac.?addr|hwaddr|hardware address")),
    (SERIAL, re.compile(r"serial|service.?tag|s/n")),
    (UUID, re.compile(r"uuid")),
    ("id", re.compile(r"\A(?:(?:common |host ?|device |server |machine |object )?name|host|device|server)\Z")),
)
"""What is in the names of columns that identify a machine, in lower case, by what they are."""

_OTHER_DEVICES: Final = re.compile(
    r"bmc|ipmi|drac|\bilo|xcc|cimc|mgmt|manage|oob|out.of.band|wlan|wi-?fi|blue|\bbt|\bib|guid|stor|san\b|switch|dock"
)
"""What is in the names of columns whose addresses are not those by which a machine is installed, in lower case."""

_LOOKED_AT: Final = 100
"""Rows of a table from which it is told what its columns are."""

_MOST_NAMED: Final = 8
"""Columns that a sentence names."""


class Layout:
    """The header of one file, and what its columns mean. The same object for as long as these do not change, however
    its rows do.

    ``source`` names the file, ``columns`` are spelled as in the header, without those at its end that have no name.
    ``labels`` are the labels of columns, with their places; a column whose name is no label has none. Of several
    columns with one label the first is there, and all are in ``several``. ``keys`` are the names by which columns are
    set: the label, else the name, case-folded. ``notes`` are for the header's author. ``width`` counts all columns.
    ``shared`` are the values that many machines have.
    """

    __slots__ = (
        "columns", "identifying", "keys", "labels", "notes", "several", "shared", "source", "syntax", "width",
    )  # fmt: skip

    def __init__(
        self,
        source: str,
        syntax: Syntax,
        header: Sequence[str],
        line: int,
        meaning: Meaning = AS_WRITTEN,
        first_rows: Callable[[], Sequence[Sequence[str]]] = tuple,
    ) -> None:
        """Raises `UnreadableError`, on ``line``, with all faults for columns that no inventory can have.
        ``first_rows`` returns the cells of some rows, for a guess."""
        self.source = source
        self.syntax = syntax
        self.shared = meaning.shared
        self.width = len(header)
        if self.width > MOST_COLUMNS:
            raise UnreadableError(line, f"the header has more than {MOST_COLUMNS:,} columns")
        names = [name.strip() for name in header]
        while names and not names[-1]:
            names.pop()
        self.columns = tuple(names)
        places, faults = _places(self.columns, meaning, columns_file_beside(source))
        if not any(name in places for name in IDENTITY_COLUMNS):
            faults.append(_no_identity(self.columns, columns_file_beside(source), first_rows()))
        if faults:
            raise UnreadableError(line, "; ".join(faults))
        self.labels: Mapping[str, int] = {label: found[0] for label, found in places.items()}
        self.several: Mapping[str, Sequence[int]] = {label: at for label, at in places.items() if len(at) > 1}
        by_place = {at: label for label, at in self.labels.items()}
        self.keys = tuple(by_place.get(at) or folded(column) for at, column in enumerate(self.columns))
        left_out = {*range(len(names))}.difference(*places.values())
        self.notes = (
            *(_left_out(at, self.columns[at], columns_file_beside(source)) for at in sorted(left_out)),
            *_without_column(self.columns, meaning),
        )
        self.identifying = tuple((name, at) for name in IDENTITY_COLUMNS for at in places.get(name, ()))

    def is_like(self, other: Layout) -> bool:
        """Return whether records mean the same under both headers."""
        return (
            self.source,
            self.syntax.separator,
            self.width,
            self.columns,
            self.keys,
            self.labels,
            self.several,
            self.shared,
            self.notes,
        ) == (
            other.source,
            other.syntax.separator,
            other.width,
            other.columns,
            other.keys,
            other.labels,
            other.several,
            other.shared,
            other.notes,
        )

    def place_of(self, name: str) -> int | None:
        """Return which column a name means: as the header spells it, else its label, else in any letter case. None
        where it is none. The header comes first, so that a row that was read can be written as it came."""
        if name in self.columns:
            return self.columns.index(name) if name else None
        form = folded(name.strip())
        for known in (self.keys, [folded(column) for column in self.columns]):
            if form and form in known:
                return known.index(form)
        return None

    def columns_in_words(self) -> str:
        """Return the columns as the header spells them, with the label of those that have another."""
        keyed = zip(self.columns, self.keys, strict=True)
        return ", ".join(
            brief(column) if folded(column) == key else f"{brief(column)} ({key})" for column, key in keyed if column
        )

    def columns_of(self, label: str) -> list[str]:
        """Return the columns that have a label, as the header spells them."""
        return [self.columns[at] for at in self.several.get(label) or (self.labels[label],)]

    def values(self, label: str, cells: Sequence[str]) -> list[str]:
        """Return the values of a label that the cells of a row have, without those that many machines share."""
        places = self.several.get(label)
        if places is None:
            at = self.labels.get(label)
            return [] if at is None else values_in(label, cells[at], self.shared)
        found = (value for at in places for value in values_in(label, cells[at], self.shared))
        return list(dict.fromkeys(found))


def _places(columns: Sequence[str], meaning: Meaning, beside: str) -> tuple[dict[str, list[int]], list[str]]:
    """Return the places of each label, and what is wrong with the columns. Several columns have one label only where
    ``beside`` says so."""
    places: dict[str, list[int]] = {}
    faults: list[str] = []
    for at, column in enumerate(columns):
        name = folded(column)
        label = meaning.labels.get(name, name)
        if not is_label(label):
            continue
        if is_reserved(label):
            faults.append(f"column {brief(column)!r} is reserved: the service sets this label")
            continue
        known = places.setdefault(label, [])
        if known and label == "id" and folded(columns[known[0]]) != name:
            first = columns[known[0]]
            faults.append(
                f"columns {brief(first)!r} and {brief(column)!r} are both the name of a machine: give one of them "
                f"another label in {beside}"
            )
        elif known and not (label != "id" and all(folded(columns[one]) in meaning.labels for one in (*known, at))):
            first = columns[known[0]]
            faults.append(
                f"column {brief(column)!r} is there twice"
                if folded(first) == name
                else f"columns {brief(first)!r} and {brief(column)!r} are both {brief(label)}: if they are meant to "
                f"be, name both in {beside}"
            )
        known.append(at)
    return places, list(dict.fromkeys(faults))


def _no_identity(columns: Sequence[str], beside: str, rows: Sequence[Sequence[str]]) -> str:
    named = [f'"{brief(column)}"' for column in columns if column]
    there = f": the columns are {join_limited(named, _MOST_NAMED)}" if named else ""
    pairs = _pairs(_guessed(columns, rows))
    example = pairs or '"NAME OF THE COLUMN" = "mac"'
    else_put = "" if pairs else "; a table of sites or racks is no inventory: put its columns into that of the machines"
    return (
        f"no column is one of {', '.join(IDENTITY_COLUMNS)}, so no row names a machine{there}; say in {beside} "
        f"which column is which: columns = {{ {example} }}{else_put}"
    )


def _pairs(guesses: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f'"{brief(column)}" = "{label}"' for column, label in guesses)


def _guessed(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Return the columns whose names, or else whose cells, look like those of identities, with the label."""
    usual = {column: usual_label(column) for column in columns}
    found = [(column, label) for label in (MAC, SERIAL, UUID) for column in usual if usual[column] == label]
    if not any(label == MAC for _, label in found):
        found = [*((column, MAC) for column in _of_addresses(columns, rows)), *found]
    names = [column for column in usual if usual[column] == "id"] or [
        column for column in _of_names(columns, rows) if found and not usual[column]
    ]
    return [*found, *((column, "id") for column in names[:1])][:_MOST_NAMED]


def _cells_under(at: int, rows: Sequence[Sequence[str]]) -> list[str]:
    return [row[at].strip() for row in rows if at < len(row) and row[at].strip()]


def _of_addresses(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the columns of which most cells are MAC addresses. Twelve decimal digits may be any number."""
    for at, column in enumerate(columns):
        cells = _cells_under(at, rows)
        are = [all(map(is_mac, written_in(MAC, cell))) and not cell.isdecimal() for cell in cells]
        if column and 2 * sum(are) > len(are) and not _OTHER_DEVICES.search(column.lower()):
            yield column


def _of_names(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the columns whose cells may each be the name of its machine: all different, with a letter, none empty."""
    for at, column in enumerate(columns):
        cells = _cells_under(at, rows)
        are_names = all(
            any(map(str.isalpha, cell)) and not is_mac(cell) and not identifier_fault(Kind.MACHINE, cell)
            for cell in cells
        )
        if column and cells and are_names and len({*map(identity_of, cells)}) == len(rows):
            yield column


def unnamed_addresses(layout: Layout, rows: Sequence[Row]) -> str | None:
    """Return the note for a table that has MAC addresses, but not under the label ``mac``, so that no machine is found
    by them; None for any other."""
    if MAC in layout.labels:
        return None
    cells = [row.cells() for row in rows[:_LOOKED_AT]]
    of_identities = {at for _, at in layout.identifying}
    free = ["" if at in of_identities else column for at, column in enumerate(layout.columns)]
    found = [(column, MAC) for column in _of_addresses(free, cells)]
    if not found:
        return None
    if "id" not in layout.labels:
        names = [column for column, label in _guessed(free, cells) if label == "id"]
        found += [(column, "id") for column in names]
    named = join_limited([f'"{brief(column)}"' for column, label in found if label == MAC], _MOST_NAMED)
    return (
        f"no column is mac, but most cells of {named} are MAC addresses, by which no machine is found: say in "
        f"{columns_file_beside(layout.source)} which column is which: columns = {{ {_pairs(found)} }}"
    )


def usual_label(column: str) -> str:
    """Return which of `IDENTITY_COLUMNS` a column of this name usually is; empty for none."""
    name = column.strip().lower()
    return next((label for label, form in _USUAL_NAMES if form.search(name)), "")


def _left_out(at: int, column: str, beside: str) -> str:
    if not column:
        return f"column {at + 1} of the header has no name: it is left out"
    return f"column {at + 1} of the header is left out: its name {brief(column)!r} is no label; give it one in {beside}"


def _without_column(columns: Sequence[str], meaning: Meaning) -> Iterator[str]:
    """Yield a note for each column that the document beside the table names and the table does not have."""
    there = {folded(column): column for column in columns}
    for form, name in meaning.names.items():
        if form not in there:
            near = did_you_mean(name, there.values())
            yield f"the header has no column {brief(name)!r}, to which a label is given{near}"


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
        """Return the values of its cells, one for each column up to the last with a name. A row that is
        `beyond_header` has more."""
        layout = self.layout
        width = len(layout.columns)
        cells = layout.syntax.cells(self.text)
        if len(cells) == width:
            return cells
        return cells[:width] + [""] * (width - len(cells))

    def by_column(self) -> dict[str, str]:
        """Return the text of each column, as the header spells it; empty where the cell is."""
        found: dict[str, str] = {}
        for column, text in zip(self.layout.columns, self.cells(), strict=True):
            found[column] = f"{found[column]} {text}".strip() if column in found else text
        return found

    def values(self) -> dict[str, list[str]]:
        """Return the values of each label that has one."""
        cells, layout = self.cells(), self.layout
        return {label: values for label in layout.labels if (values := layout.values(label, cells))}

    def identities(self) -> dict[str, str]:
        """Return each identity by which a request is this row's, with the text that gave it, in a fixed order."""
        return judged(self.layout, self.layout.syntax.cells(self.text)).identities

    @property
    def beyond_header(self) -> str | None:
        """The fault of a row that has more than `cells` returns, so that it must not be written anew from them. None
        where it has no more."""
        return _beyond_header(self.layout, self.layout.syntax.cells(self.text))

    @property
    def id(self) -> str:
        """Its ``id`` as written; empty where it has none."""
        return name_in(self.layout, self.cells())

    @property
    def name(self) -> str:
        """The name of the row: its ``id`` as written, else its first identity, else empty."""
        return self.id or next(iter(self.identities()), "")


def values_in(label: str, cell: str, shared: SharedValues) -> list[str]:
    """Return the values of a label that a cell has, without those that many machines share."""
    if not cell:
        return []
    kind = kind_of(label)
    if not kind and label != "id":
        return [cell]
    values = written_in(label, cell) if label in IDENTITY_COLUMNS else [cell]
    return [value for value in values if not shared.hides(label, value)] if kind else values


def name_in(layout: Layout, cells: Sequence[str]) -> str:
    """Return the ``id`` of a row as written; empty where it has none."""
    at = layout.labels.get("id")
    name = "" if at is None else cells[at].strip()
    return "" if name.casefold() in _EMPTY_IDS else name


def hardware_in(layout: Layout, cells: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield column, identity and text of each value of a row that is of its hardware: all but its ``id``."""
    holds = layout.shared.holds
    for column, at in layout.identifying:
        if column == "id" or not (cell := cells[at]):
            continue
        for value in written_in(column, cell):
            identity = identity_of(value) if column == "serial" else port_of(normalize(value))
            if not holds(column, identity):
                yield column, identity, value


def identities_of_sound(layout: Layout, cells: Sequence[str]) -> dict[str, str]:
    """Return `Row.identities` of a row without a fault, for a fraction of what judging its cells costs."""
    found: dict[str, str] = {}
    holds = layout.shared.holds
    for column, at in layout.identifying:
        for value in written_in(column, cells[at]):
            identity = identity_of(value) if column in ("id", "serial") else port_of(normalize(value))
            if identity and (column == "id" or not holds(column, identity)):
                found.setdefault(identity, value)
    return found


class Judgement(NamedTuple):
    """The checked content of one row: its valid ``identities``, and its ``fault``, None where it has none. Several
    faults are one sentence."""

    identities: dict[str, str]
    fault: str | None


def judged(layout: Layout, cells: Sequence[str]) -> Judgement:
    """Return the identities in the cells of a row, and its faults. No sentence quotes a cell."""
    identities: dict[str, str] = {}
    faults: list[str] = []
    has_value = False
    width, holds = len(cells), layout.shared.holds
    for column, at in layout.identifying:
        cell = cells[at] if at < width else ""
        if not cell:
            continue
        values = written_in(column, cell)
        if column != "id":
            values = [value for value in values if not holds(column, normalize(value))]
        if not values:
            continue
        has_value = True
        if len(values) > MOST_ADDRESSES:
            faults.append(f"column {brief(layout.columns[at])}: a cell has more than {MOST_ADDRESSES:,} addresses")
            values = values[:MOST_ADDRESSES]
        identified = _VALUES[column]
        for value in values:
            identity, wrong = identified(value)
            if wrong:
                faults.append(f"column {brief(layout.columns[at])}: {wrong}")
            else:
                identities.setdefault(identity, value)
    if beyond := _beyond_header(layout, cells):
        faults = [beyond, *(faults if width <= MOST_COLUMNS else ())]
    elif not has_value:
        named = dict.fromkeys(brief(layout.columns[at]) for _, at in layout.identifying)
        faults.append(f"has no value in {' or '.join(named)}, so it names no machine")
    return Judgement(identities, "; ".join(dict.fromkeys(faults)) if faults else None)


def _beyond_header(layout: Layout, cells: Sequence[str]) -> str | None:
    """Return the fault of cells that have text after the last column with a name; None where they have none."""
    width = len(cells)
    if width > MOST_COLUMNS:
        return f"has more than {MOST_COLUMNS:,} cells, and the header has {layout.width} columns"
    if width > layout.width:
        return f"has {width} cells, and the header has {layout.width} columns"
    return "has text in a column without a name" if any(cells[len(layout.columns) :]) else None


def is_empty(layout: Layout, column: str, value: str) -> bool:
    """Return whether a value of an identity column says nothing: many machines have it."""
    return layout.shared.hides(column, value)


def shared_columns(first: Row, second: Row) -> list[str]:
    """Return the columns, as the headers spell them, in which two rows have one identity."""
    shared = frozenset(first.names).intersection(second.names)
    found: dict[str, None] = {}
    for row in (first, second):
        cells = row.cells()
        for column, at in row.layout.identifying:
            if any(_VALUES[column](value)[0] in shared for value in written_in(column, cells[at])):
                found[row.layout.columns[at]] = None
    return list(found)


def notes(layout: Layout, cells: Sequence[str]) -> list[str]:
    """Return notes for the author of a row: values that no JSON body can claim."""
    found = []
    for column, at in layout.identifying:
        cell = cells[at] if at < len(cells) else ""
        for value in written_in(column, cell)[:MOST_ADDRESSES]:
            identity, wrong = _VALUES[column](value)
            if wrong or (column != "id" and is_empty(layout, column, value)):
                continue
            if len(identity) < SHORTEST_IN_BODY:
                found.append(
                    f"column {brief(layout.columns[at])}: a value of under {SHORTEST_IN_BODY} letters and digits "
                    "is not recognised in a JSON body"
                )
    return list(dict.fromkeys(found))


def written_in(column: str, cell: str) -> list[str]:
    """Return the values of an identity column's cell; of more than `MOST_ADDRESSES` the first and one more. Words that
    say nothing are none."""
    if not cell:
        return []
    if column == MAC:
        if cell.lstrip()[0] in "(-.EeNnUu":  # few addresses begin so, and all words for nothing do
            form = normalize(cell)
            if not form or form in SHARED_SERIALS:
                return []
        return cell.translate(_SEPARATORS_OF_ADDRESSES).split(None, MOST_ADDRESSES)
    value = cell.strip()
    return [] if column == "id" and value.casefold() in _EMPTY_IDS else [value]


def _id(value: str) -> tuple[str, str | None]:
    fault = identifier_fault(Kind.MACHINE, value)
    if fault and value.lower() in RESERVED_MACHINES:
        fault = "a value is a reserved name"  # the other sentence quotes it
    elif fault:
        fault += "; or call the column name, and write {{ name | slug }} in documents"
    return identity_of(value), fault


def _mac(value: str) -> tuple[str, str | None]:
    identity = address_identity(value)
    return (identity, None) if identity else ("", _rounded(value) or "a value is no MAC address")


def _serial(value: str) -> tuple[str, str | None]:
    identity = identity_of(value)
    return identity, _rounded(value) if identity else "a serial number needs a letter or a digit"


def _rounded(value: str) -> str | None:
    """Return the fault of a number that a spreadsheet has rounded; None for any other value."""
    if "+" not in value or _ROUNDED.fullmatch(value) is None:
        return None
    return "a value is a number that a spreadsheet has rounded: make the column a text there, and export it again"


def _uuid(value: str) -> tuple[str, str | None]:
    identity = normalize(value)
    return identity, None if _UUID.fullmatch(identity) else "a UUID has 32 hex digits"


_VALUES: Final = {"id": _id, "mac": _mac, "serial": _serial, "uuid": _uuid}
"""The function of each identity column that returns the identity of a value, and the value's fault."""


def read_header(
    text: str, syntax: Syntax, source: str, header: CsvRecord | None, meaning: Meaning = AS_WRITTEN
) -> Layout:
    """Return the layout that a header gives. Raises `UnreadableError`; ``header`` is None
    where there is none."""
    if header is None:
        raise UnreadableError(1, "there is no header line that names the columns")

    def first_rows() -> list[list[str]]:
        cells: list[list[str]] = []
        with suppress(UnreadableError):  # the header's fault comes first
            for record in islice(records(text, syntax, header.end), _LOOKED_AT):
                cells.append(syntax.cells(text[record.start : record.end]))
        return cells

    cells = syntax.cells(text[header.start : header.end])
    return Layout(source, syntax, cells, header.line, meaning, first_rows)
