"""Many rows that were pasted or uploaded: which column is which, what is wrong in which cell, and the inventory's text
with them.

Rules: docs/console.md#many-rows. Text in, text out; no sentence quotes a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from answerd.answers.inventory_index import Inventory
from answerd.answers.one_digit_off import mistyped_in
from answerd.answers.secret_names import SECRET
from answerd.identity import folded
from answerd.inventory.editing import with_columns_added, with_rows_added, with_rows_changed
from answerd.inventory.meaning import Meaning
from answerd.inventory.records import Syntax, UnreadableError, after_sep_line, records, separator_of, written_record
from answerd.inventory.row import Row, judged, usual_label
from answerd.inventory.table import Table, read_table
from answerd.short_texts import brief

LEFT_OUT = ""
"""The target of a column that is not taken."""


class Mode(StrEnum):
    """What is done with rows."""

    ADD = "add"
    UPDATE = "update"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Pasted:
    """The columns and the rows of a text. ``lines`` are those on which the rows begin."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]


@dataclass(frozen=True, slots=True)
class Merged:
    """An inventory's text with the rows, and how many are new, changed, as they were, and gone. ``faults`` are by row
    and column of what was pasted; the column is -1 for what is wrong with a whole row. ``hardware`` has the MAC
    addresses and serial numbers, in identity form, of rows that are new or change, by the same."""

    text: str
    added: int
    changed: int
    unchanged: int
    removed: int
    faults: Mapping[tuple[int, int], str]
    hardware: Mapping[tuple[int, int], Sequence[str]]

    @property
    def sentence(self) -> str:
        """``30 rows are new, 2 change``."""
        counts = (("are new", self.added), ("change", self.changed), ("stay", self.unchanged), ("go", self.removed))
        told = [f"{count:,} {word}" for word, count in counts if count]
        return ", ".join(told) or "nothing changes"


def why_no_text(content: bytes) -> str:
    """Return why a file cannot be read as CSV: it is a spreadsheet's own file. Empty where it may be CSV."""
    if not content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return ""
    return (
        "it is a spreadsheet's own file, not CSV. In Excel: File, Save As, CSV UTF-8; in LibreOffice: File, Save As, "
        "Text CSV, UTF-8. Or mark the cells there, copy them, and paste them here"
    )


def pasted(text: str) -> Pasted:
    """Return the table of a text. Raises `UnreadableError`."""
    text = text.removeprefix("\ufeff")
    syntax, begin = Syntax(separator_of(text)), after_sep_line(text)
    found = list(records(text, syntax, begin, 2 if begin else 1))
    if not found:
        raise UnreadableError(1, "there is no header line that names the columns")
    header, *rest = found
    columns = syntax.cells(text[header.start : header.end])
    rows = [syntax.cells(text[record.start : record.end]) for record in rest]
    return Pasted(columns, rows, [record.line for record in rest])


def proposed_targets(given: Pasted, table: Table | None) -> list[str]:
    """Return the column of the inventory for each column that was pasted: that of its name, that of the label which its
    name looks like, or none. A new inventory gets them all."""
    there = {folded(column): column for column in table.layout.columns} if table is not None else {}
    by_key = dict(zip(table.layout.keys, table.layout.columns, strict=True)) if table is not None else {}
    found: list[str] = []
    for column in given.columns:
        name = folded(column)
        target = there.get(name) or by_key.get(name) or LEFT_OUT
        if not target:
            guess = usual_label(column)
            wanted = guess if table is None else by_key.get(guess, LEFT_OUT)
            target = wanted or (column if table is None else LEFT_OUT)
        found.append(LEFT_OUT if target in found else target)
    return found


def merged(
    index: Inventory | None,
    text: str,
    table: Table | None,
    given: Pasted,
    to: Sequence[str],
    mode: Mode,
    meaning: Meaning,
) -> Merged:
    """Return the text of an inventory with the rows that were pasted, whose columns go ``to`` others. ``table`` is that
    of the text, None where there is no inventory. Raises `UnreadableError` where no row could name a machine, and
    where no column can be added."""
    targets = [target.strip() for target in [*to, *[LEFT_OUT] * len(given.columns)][: len(given.columns)]]
    twice = next((target for target in targets if target and targets.count(target) > 1), "")
    if twice:
        raise UnreadableError(1, f"two columns go to {brief(twice)!r}")
    removed = len(table.rows) if table is not None and mode is Mode.REPLACE else 0
    text, table = _with_columns(text, table, targets, mode, meaning)
    places = [table.layout.columns.index(target) if target else -1 for target in targets]
    rows = [_in_places(cells, places, len(table.layout.columns)) for cells in given.rows]
    faults = _faults(index, table, given, rows, places)
    known = {name: row for row in table.rows for name in row.identities()}
    added: list[list[str]] = []
    changed: dict[int, list[str]] = {}
    hardware: dict[tuple[int, int], list[str]] = {}
    unchanged = 0
    for number, values in enumerate(rows):
        for identity, at in _hardware_of(table, values, places) if mode is not Mode.REPLACE else ():
            hardware.setdefault((number, at), []).append(identity)
        there = {name: known[name] for name in judged(table.layout, values).identities if name in known}
        if not there:
            added.append(values)
        elif (fault := _why_not_merged(table, there, values, places, mode)) is not None:
            faults.setdefault((number, fault[0]), fault[1])
        else:
            row = next(iter(there.values()))
            before = row.cells()
            after = [old if at not in places or values[at] == SECRET else values[at] for at, old in enumerate(before)]
            unchanged += after == before
            if after != before:
                changed[table.line_of(row) or 0] = after
    text = with_rows_added(text, table, added) if added else text
    text = with_rows_changed(text, table, changed)
    return Merged(text, len(added), len(changed), unchanged, removed, faults, hardware)


def _with_columns(
    text: str, table: Table | None, targets: Sequence[str], mode: Mode, meaning: Meaning
) -> tuple[str, Table]:
    """Return the text, and the table, that rows are merged into: with the columns that they go to, and without rows
    where they replace all. Raises `UnreadableError`."""
    wanted = [target for target in dict.fromkeys(targets) if target]
    if table is None or mode is Mode.REPLACE:
        separator, source = (table.layout.syntax.separator, table.layout.source) if table is not None else (",", "")
        text = written_record(wanted, separator) + "\n"
        return text, read_table(source, text, meaning)
    if new := [column for column in wanted if column not in table.layout.columns]:
        text = with_columns_added(text, table, new)
        table = read_table(table.layout.source, text, meaning)
    return text, table


def _why_not_merged(
    table: Table, there: Mapping[str, Row], values: Sequence[str], places: Sequence[int], mode: Mode
) -> tuple[int, str] | None:
    """Return why the rows that are ``there``, by the identities of a row that was pasted, cannot take its values, with
    the column that was pasted; None where they can."""
    row = next(iter(there.values()))
    if any(other is not row for other in there.values()):
        return -1, "it names two rows of the inventory"
    if mode is Mode.ADD:
        of_column = dict(_column_of(table, values, places))
        at = next((of_column[name] for name in there if name in of_column), -1)
        return at, f"it is there already, in line {table.line_of(row)}: update it instead"
    if fault := row.beyond_header:
        return -1, f"{table.layout.source}:{table.line_of(row)} {fault}: correct it first"
    return None


def _faults(
    index: Inventory | None, table: Table, given: Pasted, rows: Sequence[Sequence[str]], places: Sequence[int]
) -> dict[tuple[int, int], str]:
    """Return what is wrong with rows by themselves, with each other, and with those of other inventories."""
    faults: dict[tuple[int, int], str] = {}
    seen: dict[str, int] = {}
    for number, values in enumerate(rows):
        own = _faults_of(table, given.rows[number], values, places, len(given.columns))
        faults.update(((number, at), fault) for at, fault in own)
        for name, at in _column_of(table, values, places):
            if seen.setdefault(name, number) != number:
                faults.setdefault((number, at), f"line {given.lines[seen[name]]} has it too")
            others = index.rows_of(name) if index is not None else ()
            other = next((row for row in others if row.layout.source != table.layout.source), None)
            if other is not None and index is not None:
                faults.setdefault((number, at), f"{index.place(other)} has it too")
    return faults


def _in_places(cells: Sequence[str], places: Sequence[int], width: int) -> list[str]:
    values = [""] * width
    for cell, at in zip(cells, places, strict=False):
        if at >= 0:
            values[at] = cell
    return values


def _faults_of(
    table: Table, cells: Sequence[str], values: Sequence[str], places: Sequence[int], width: int
) -> Iterator[tuple[int, str]]:
    """Yield the faults of a row with the column of each that was pasted."""
    if len(cells) > width:
        yield -1, f"it has {len(cells)} cells, and the header has {width} columns"
    has_value = False
    for column, at in table.layout.identifying:
        if not values[at]:
            continue
        has_value = True
        alone = [values[at] if place == at else "" for place in range(len(values))]
        fault = judged(table.layout, alone).fault
        if fault:
            yield places.index(at), fault.removeprefix(f"column {column}: ")
    if not has_value:
        yield -1, judged(table.layout, values).fault or "it names no machine"


def _column_of(table: Table, values: Sequence[str], places: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield each identity of a row with the column that was pasted and has it."""
    for _, at in table.layout.identifying:
        if values[at]:
            alone = [values[at] if place == at else "" for place in range(len(values))]
            for name in judged(table.layout, alone).identities:
                yield name, places.index(at)


def _hardware_of(table: Table, values: Sequence[str], places: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield each MAC address and serial number of a row with the column that was pasted and has it."""
    for _, at in table.layout.identifying:
        if values[at]:
            alone = [values[at] if place == at else "" for place in range(len(values))]
            for _, identity, _ in mistyped_in(table.layout, alone):
                yield identity, places.index(at)


def rows_changed(before: str, after: str) -> set[str]:
    """Return the texts of the records that one version of an inventory has and an earlier one has not."""
    return set(after.splitlines()) - set(before.splitlines())


def is_of(row: Row, texts: set[str]) -> bool:
    """Return whether a row is one of these records."""
    return row.text in texts or row.text.splitlines()[0] in texts
