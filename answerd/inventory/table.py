"""One inventory file as a table of rows, and the next table when its text changes.

The cost is that of the change: the part that both texts begin with and the part that they end with are compared, not
read again, and a row whose record is the same stays the same object. Only a file with records of several lines is read
again as a whole, because a line end may be inside a record there.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from answerd.inventory.records import (
    BYTE_ORDER_MARK,
    Syntax,
    UnreadableError,
    lines_in,
    no_pause,
    records,
    separator_of,
)
from answerd.inventory.rows import Layout, Row, read_header

_BETWEEN_PAUSES = 500
"""Rows looked up between two pauses: 1 ms."""

_COMPARED_AT_ONCE = 1_048_576
"""Characters compared in one step: 0.1 ms."""

_SEARCHED_NEAR_HINT = 1_000
"""Places on each side of a row's hint that are looked at before all rows get a new hint."""


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """The rows of one file in their order. Never edited: `after` makes the next table beside it.

    ``text`` is without a byte order mark. ``lines`` are the lines on which the rows begin. ``body`` is the offset of
    what follows the header line. ``is_by_line``: each record is one line.
    """

    text: str
    layout: Layout
    rows: Sequence[Row]
    lines: array[int]
    body: int
    is_by_line: bool

    def line_of(self, row: Row) -> int | None:
        """Return the line on which a row begins; None when the row is not of this table."""
        at = self._place_of(row)
        return None if at is None else self.lines[at]

    def _place_of(self, row: Row) -> int | None:
        rows = self.rows
        for distance in range(_SEARCHED_NEAR_HINT):
            for at in (row.hint - distance, row.hint + distance):
                if 0 <= at < len(rows) and rows[at] is row:
                    return at
        # A caller that asks for one row asks for many: in a table in a new order a scan for each would be quadratic.
        for at, other in enumerate(rows):
            other.hint = at
        return row.hint if row.hint < len(rows) and rows[row.hint] is row else None


class TableChange(NamedTuple):
    """The next table, and the rows in which it differs from the one before."""

    table: Table
    removed: Sequence[Row]
    added: Sequence[Row]


def read_table(source: str, text: str, pause: Callable[[], None] = no_pause) -> Table:
    """Return the table of a text. Raises `UnreadableError`. ``pause`` is called between slices of a millisecond."""
    return table_after(None, source, text, pause).table


def table_after(before: Table | None, source: str, text: str, pause: Callable[[], None] = no_pause) -> TableChange:
    """Return the table of a text, made of the one that was there before. Raises `UnreadableError`."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    syntax = Syntax.of(separator_of(text, pause))
    header = next(records(text, syntax, pause=pause), None)
    layout = read_header(text, syntax, source, header)
    if before is not None and before.layout.is_like(layout):
        layout = before.layout
    body = _after_line(text, header.end) if header else len(text)
    if before is not None and before.layout is layout and before.is_by_line:
        changed = _middle(before, text, body, pause)
        if changed is not None:
            return changed
    line = header.line + lines_in(text, header.start, body) if header else 1
    found = _read(text, layout, body, line, pause)
    known = before.rows if before is not None and before.layout is layout else ()
    rows, removed, added = _kept(known, found.texts, layout, 0, pause)
    if before is not None and before.layout is not layout:
        removed = list(before.rows)
    return TableChange(Table(text, layout, rows, found.lines, body, found.is_by_line), removed, added)


def _middle(before: Table, text: str, body: int, pause: Callable[[], None]) -> TableChange | None:
    """Read only what lies between the common beginning and the common end; None where that does not suffice."""
    old = before.text
    if before.body != body:
        return None
    same = _common_beginning(old, text, pause)
    start = max(body, text.rfind("\n", 0, same) + 1)
    same_end = _common_end(old, text, min(len(old), len(text)) - start, pause)
    end = old.find("\n", len(old) - same_end) + 1 if same_end else 0
    old_end = end or len(old)
    new_end = len(text) - (len(old) - old_end)
    first_line = 1 + lines_in(text, 0, start)
    try:
        found = _read(text[start:new_end], before.layout, 0, first_line, pause)
    except UnreadableError:
        return None  # read as a whole, it may be readable or be wrong in another place
    if not found.is_by_line:
        return None
    first = bisect_left(before.lines, first_line)
    last = bisect_left(before.lines, first_line + lines_in(old, start, old_end), first)
    if old_end == len(old):
        last = len(before.lines)
    rows, removed, added = _kept(before.rows[first:last], found.texts, before.layout, first, pause)
    moved = lines_in(text, start, new_end) - lines_in(old, start, old_end)
    lines = before.lines[:first] + found.lines + _moved(before.lines[last:], moved, pause)
    table = Table(text, before.layout, [*before.rows[:first], *rows, *before.rows[last:]], lines, body, is_by_line=True)
    return TableChange(table, removed, added)


class _Found(NamedTuple):
    """The records of a part of a text."""

    texts: list[str]
    lines: array[int]
    is_by_line: bool


def _read(text: str, layout: Layout, at: int, line: int, pause: Callable[[], None]) -> _Found:
    """Return the records from ``at`` on. Raises `UnreadableError`, also for text in a column that has no name."""
    texts: list[str] = []
    lines = array("I")
    is_by_line = True
    named = len(layout.columns)
    for record in records(text, layout.syntax, at, line, pause):
        texts.append(text[record.start : record.end])
        lines.append(record.line)
        if '"' in texts[-1] and lines_in(texts[-1], 0, len(texts[-1])):
            is_by_line = False
        if layout.width > named and any(layout.syntax.cells(texts[-1])[named : layout.width]):
            raise UnreadableError(record.line, "there is text in a column without a name")
    return _Found(texts, lines, is_by_line)


def _kept(
    before: Sequence[Row], texts: list[str], layout: Layout, first: int, pause: Callable[[], None]
) -> tuple[list[Row], list[Row], list[Row]]:
    """Return a row for each record, those without a row before, and those that are new, in this order:
    all rows, removed rows, added rows. A record that was there before keeps its row."""
    known: dict[str, list[Row]] = {}
    for row in before:
        known.setdefault(row.text, []).append(row)
    rows: list[Row] = []
    added: list[Row] = []
    for number, text in enumerate(texts):
        same = known.get(text) if known else None  # of a new file, no text is hashed
        if same:
            row = same.pop()
        else:
            row = Row(layout, text, first + number)
            added.append(row)
        rows.append(row)
        if number % _BETWEEN_PAUSES == 0:
            pause()
    return rows, [row for left in known.values() for row in left], added


def _moved(lines: array[int], by: int, pause: Callable[[], None]) -> array[int]:
    if not by:
        return lines
    moved = array("I")
    for at in range(0, len(lines), _BETWEEN_PAUSES * 10):
        moved.extend(line + by for line in lines[at : at + _BETWEEN_PAUSES * 10])
        pause()
    return moved


def _common_beginning(first: str, second: str, pause: Callable[[], None]) -> int:
    """Return how many characters two texts begin with in common."""
    most = min(len(first), len(second))
    at = 0
    while at < most:
        size = min(_COMPARED_AT_ONCE, most - at)
        if first[at : at + size] != second[at : at + size]:
            return at + _first_difference(first[at : at + size], second[at : at + size])
        at += size
        pause()
    return most


def _common_end(first: str, second: str, most: int, pause: Callable[[], None]) -> int:
    """Return how many of ``most`` characters two texts end with in common."""
    at = 0
    while at < most:
        size = min(_COMPARED_AT_ONCE, most - at)
        last, other_last = len(first) - at, len(second) - at
        piece, other_piece = first[last - size : last], second[other_last - size : other_last]
        if piece != other_piece:
            return at + _first_difference(piece[::-1], other_piece[::-1])
        at += size
        pause()
    return most


def _first_difference(first: str, second: str) -> int:
    """Return where two texts of one length that are different differ first."""
    low, high = 0, len(first)  # equal before low, different before high
    while high - low > 1:
        half = (low + high) // 2
        if first[low:half] == second[low:half]:
            low = half
        else:
            high = half
    return low


def _after_line(text: str, at: int) -> int:
    """Return the offset of what follows the line end at ``at``."""
    if text.startswith("\r\n", at):
        return at + 2
    return min(at + 1, len(text))
