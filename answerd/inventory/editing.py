"""Changing one row of an inventory's text; every other byte stays as it was (docs/inventory.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from answerd.inventory.records import BYTE_ORDER_MARK, Syntax, written, written_record
from answerd.inventory.table import Table

_LINE_END = re.compile(r"\r\n|\n|\r")


def with_row(text: str, table: Table, line: int, values: Sequence[str]) -> str:
    """Return the text with other values in the row that begins on ``line``: one for each named column.

    A cell whose value does not change keeps its spelling, any other keeps the blanks around it.
    """
    syntax = table.layout.syntax
    start = _offset_of_line(text, line)
    cells = syntax.spans(text, start, line)
    pieces = []
    for at, cell in enumerate(cells):
        spelling = text[cell.start : cell.end]
        if at < len(values) and cell.value != values[at]:
            spelling = _respelled(spelling, values[at], syntax, is_first=at == 0)
        pieces.append(spelling)
    missing = list(values[len(cells) :])
    while missing and not missing[-1]:
        missing.pop()
    pieces += [written(value, syntax.separator) for value in missing]
    return text[:start] + syntax.separator.join(pieces) + text[cells[-1].end :]


def _respelled(spelling: str, value: str, syntax: Syntax, *, is_first: bool) -> str:
    bare = spelling.strip(syntax.blanks)
    before = len(spelling) - len(spelling.lstrip(syntax.blanks))
    if not bare:
        before = 0
    around = spelling[:before], spelling[before + len(bare) :]
    return around[0] + written(value, syntax.separator, is_first=is_first) + around[1]


def without_row(text: str, table: Table, line: int) -> str:
    """Return the text without the row that begins on ``line``, and without its line end."""
    start = _offset_of_line(text, line)
    end = table.layout.syntax.spans(text, start, line)[-1].end
    return text[:start] + text[end + len(_line_end_at(text, end)) :]


def with_rows_added(text: str, table: Table, rows: Sequence[Sequence[str]]) -> str:
    """Return the text with rows at its end, each with one value for each named column."""
    header_end = _line_end_at(text, _header_end(text, table))
    line_end = header_end or "\n"
    before = "" if text.endswith(("\n", "\r")) else line_end
    added = [written_record(values, table.layout.syntax.separator) + line_end for values in rows]
    return text + before + "".join(added)


def in_columns(table: Table, values: Mapping[str, str]) -> list[str]:
    """Return the cells of a row from values by case-folded column; columns that are not named become empty."""
    return [values.get(key, "") for key in table.layout.keys]


def _header_end(text: str, table: Table) -> int:
    """Return the offset of the header's line end, which is before the body."""
    body = table.body + text.startswith(BYTE_ORDER_MARK)
    for line_end in ("\r\n", "\n", "\r"):
        if text.endswith(line_end, 0, body):
            return body - len(line_end)
    return len(text)


def _line_end_at(text: str, at: int) -> str:
    return "\r\n" if text.startswith("\r\n", at) else text[at : at + 1]


def _offset_of_line(text: str, line: int) -> int:
    """Return where a line begins, counted from 1; behind a byte order mark."""
    at = 1 if text.startswith(BYTE_ORDER_MARK) else 0
    for found in islice(_LINE_END.finditer(text, at), line - 1):
        at = found.end()
    return at
