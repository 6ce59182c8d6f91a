"""Changes of rows and columns in an inventory's text: what changes is written anew, and every other byte stays
(docs/inventory.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from answerd.inventory.records import BYTE_ORDER_MARK, UnreadableError, after_sep_line, records, written_record
from answerd.inventory.row import Layout
from answerd.inventory.table import Table
from answerd.short_texts import brief

_LINE_END = re.compile(r"\r\n|\n|\r")


def with_rows_changed(text: str, table: Table, changed: Mapping[int, Sequence[str]]) -> str:
    """Return the text with other values in rows, by the lines on which they begin: one for each named column."""
    syntax = table.layout.syntax
    begin = text.startswith(BYTE_ORDER_MARK)
    sep_line = after_sep_line(text[begin:])
    parts, done = [], 0
    for record in records(text, syntax, begin + sep_line, 2 if sep_line else 1):
        values = changed.get(record.line)
        if values is not None and syntax.cells(text[record.start : record.end]) != list(values):
            parts += [text[done : record.start], written_record(values, syntax.separator)]
            done = record.end
    return "".join((*parts, text[done:]))


def without_row(text: str, table: Table, line: int) -> str:
    """Return the text without the row that begins on ``line``, and without its line end."""
    start, end = _place_of_row(text, table, line)
    return text[:start] + text[end + len(_line_end_at(text, end)) :]


def with_rows_added(text: str, table: Table, rows: Sequence[Sequence[str]]) -> str:
    """Return the text with rows at its end, each with one value for each named column."""
    header_end = _line_end_at(text, _header_end(text, table))
    line_end = header_end or "\n"
    before = "" if text.endswith(("\n", "\r")) else line_end
    added = [written_record(values, table.layout.syntax.separator) + line_end for values in rows]
    return text + before + "".join(added)


def with_columns_added(text: str, table: Table, names: Sequence[str]) -> str:
    """Return the text with more columns at the end of its header. Rows stay as they are: their cells there are empty.

    Raises `UnreadableError` where a row is beyond the header, and names it: the new columns would make a row that is
    refused one that counts, maybe with values in wrong columns."""
    for row, line in zip(table.rows, table.lines, strict=True):
        if beyond := row.beyond_header:
            added, place = " or ".join(map(brief, names)), f"{table.layout.source}:{line}"
            raise UnreadableError(
                table.header_line, f"no column {added} can be added: {place} {beyond}: correct it first"
            )
    end, separator = _header_end(text, table), table.layout.syntax.separator
    return text[:end] + separator + written_record(names, separator) + text[end:]


def in_columns(layout: Layout, values: Mapping[str, str]) -> list[str]:
    """Return the cells of a row from values by case-folded column; columns that are not named become empty."""
    return [values.get(key, "") for key in layout.keys]


def _header_end(text: str, table: Table) -> int:
    """Return the offset of the header's line end, which is before the body."""
    body = table.body + text.startswith(BYTE_ORDER_MARK)
    for line_end in ("\r\n", "\n", "\r"):
        if text.endswith(line_end, 0, body):
            return body - len(line_end)
    return len(text)


def _line_end_at(text: str, at: int) -> str:
    return "\r\n" if text.startswith("\r\n", at) else text[at : at + 1]


def _place_of_row(text: str, table: Table, line: int) -> tuple[int, int]:
    """Return where the row that begins on a line, counted from 1, begins and ends."""
    at = 1 if text.startswith(BYTE_ORDER_MARK) else 0
    for found in islice(_LINE_END.finditer(text, at), line - 1):
        at = found.end()
    return at, next(records(text, table.layout.syntax, at)).end
