"""One inventory file as a table of rows, and the next table when its text changes.

A changed text is read again as a whole; a row whose record is the same stays the same object, so that whoever keeps an
index changes only what changed in it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from answerd.errors import MOST_PROBLEMS
from answerd.inventory.meaning import AS_WRITTEN, Meaning
from answerd.inventory.records import (
    BYTE_ORDER_MARK,
    SEPARATORS,
    Syntax,
    UnreadableError,
    after_sep_line,
    lines_in,
    records,
    separator_of,
)
from answerd.inventory.row import Layout, Row, read_header


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of one file in their order. Never edited: `table_after` makes the next table.

    ``text`` is without a byte order mark. ``lines`` are the lines on which the rows begin, ``header_line`` that of the
    header. ``body`` is the offset of what follows the header line.
    """

    text: str
    layout: Layout
    rows: Sequence[Row]
    lines: array[int]
    body: int
    header_line: int

    def line_of(self, row: Row) -> int | None:
        """Return the line on which a row begins; None when the row is not of this table."""
        return self._line_of_row.get(id(row))

    @cached_property
    def _line_of_row(self) -> dict[int, int]:
        # Made when a line is first asked for, which is only told to people.
        return dict(zip(map(id, self.rows), self.lines, strict=True))


class TableChange(NamedTuple):
    """The next table, and the rows in which it differs from the one before."""

    table: Table
    removed: Sequence[Row]
    added: Sequence[Row]


def read_table(source: str, text: str, meaning: Meaning = AS_WRITTEN) -> Table:
    """Return the table of a text. Raises `UnreadableError`."""
    return table_after(None, source, text, meaning).table


def table_after(before: Table | None, source: str, text: str, meaning: Meaning = AS_WRITTEN) -> TableChange:
    """Return the table of a text, made of the one that was there before. Raises `UnreadableError`."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    syntax = Syntax(separator_of(text))
    begin = after_sep_line(text)
    header = next(records(text, syntax, begin, 2 if begin else 1), None)
    layout = read_header(text, syntax, source, header, meaning)
    if before is not None and before.layout.is_like(layout):
        layout = before.layout
    body = _after_line(text, header.end) if header else len(text)
    line = header.line + lines_in(text, header.start, body) if header else 1
    texts, lines = _read(text, layout, body, line)
    header_line = header.line if header else 1
    _refuse_other_separator(layout, texts, header_line)
    known = before.rows if before is not None and before.layout is layout else ()
    rows, removed, added = _kept(known, texts, layout)
    if before is not None and before.layout is not layout:
        removed = list(before.rows)
    return TableChange(Table(text, layout, rows, lines, body, header_line), removed, added)


def _refuse_other_separator(layout: Layout, rows: Sequence[str], header_line: int) -> None:
    """Refuse a header with a separator that no row has, where another one divides all rows, the first one into as many
    cells as the header has."""
    own = layout.syntax.separator
    if layout.width == 1 or not rows or own in rows[0]:
        return
    for other in SEPARATORS.replace(own, ""):
        if _width(rows[0], other) == layout.width and all(other in row and own not in row for row in rows):
            raise UnreadableError(
                header_line,
                f"the header separates its columns with {_SEPARATOR_NAMES[own]}, and every row with "
                f"{_SEPARATOR_NAMES[other]}: write one of them everywhere",
            )


def _width(row: str, separator: str) -> int:
    """Return how many cells a row has with another separator than its file's; 0 where none could have written it so:
    with commas, ``x;"y`` is one cell, and with semicolons a quote that stays open."""
    syntax = Syntax(separator)
    return 0 if syntax.fault(row, ()) else len(syntax.cells(row))


_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs"}


def _read(text: str, layout: Layout, at: int, line: int) -> tuple[list[str], array[int]]:
    """Return the texts of the records from ``at`` on, and the lines on which they begin. Raises `UnreadableError` with
    the first faults."""
    texts: list[str] = []
    lines = array("I")
    faults: list[UnreadableError] = []
    place: tuple[int, int] | None = (at, line)
    while place is not None:
        begin, place = place, None
        try:
            for record in records(text, layout.syntax, *begin, layout.columns):
                texts.append(text[record.start : record.end])
                lines.append(record.line)
        except UnreadableError as error:
            faults.append(error)
            place = error.after if len(faults) < MOST_PROBLEMS else None
    if faults:
        more = [f"line {fault.line}: {fault.reason}" for fault in faults[1:]]
        raise UnreadableError(faults[0].line, "; ".join([faults[0].reason, *more]))
    return texts, lines


def _kept(before: Sequence[Row], texts: list[str], layout: Layout) -> tuple[list[Row], list[Row], list[Row]]:
    """Return a row for each record, those without a row before, and those that are new, in this order:
    all rows, removed rows, added rows. A record that was there before keeps its row."""
    known: dict[str, list[Row]] = {}
    for row in before:
        known.setdefault(row.text, []).append(row)
    rows: list[Row] = []
    added: list[Row] = []
    for text in texts:
        same = known.get(text) if known else None  # of a new file, no text is hashed
        if same:
            row = same.pop()
        else:
            row = Row(layout, text)
            added.append(row)
        rows.append(row)
    return rows, [row for left in known.values() for row in left], added


def _after_line(text: str, at: int) -> int:
    """Return the offset of what follows the line end at ``at``."""
    if text.startswith("\r\n", at):
        return at + 2
    return min(at + 1, len(text))
