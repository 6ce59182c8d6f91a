"""The records of a CSV text: where each begins and ends, and its cells (docs/inventory.md#syntax).

The standard library's ``csv`` is not used for reading: it does not report whether a cell was quoted, so blanks inside
quotes could not be kept, and it accepts text after a closing quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

BYTE_ORDER_MARK = "\ufeff"
SEPARATORS = ",;\t"
"""The first of these outside quotes in the header separates cells in the whole file."""

_SEP_LINE = re.compile(r'"?sep=([^\r\n"]?)"?(?:\r\n|\n|\r|\Z)', re.IGNORECASE)
"""A first line by which Excel is told the separator."""

COMMENT = "#"

MOST_COLUMNS = 16_384
"""Columns of a header, those without a name included: what a spreadsheet can hold."""

LONGEST_ROW = 1_048_576
"""Characters of a row, as spelled: a request reads the row that it has."""

_LONGEST_LINE = LONGEST_ROW + 2
"""Characters of a line that are looked at."""

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r|\Z)")
_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTED_TEXT = r'"([^"]*+(?:""[^"]*+)*)"(?!")'
_QUOTED_IN_LINE = re.compile(_QUOTED_TEXT)
_QUOTED_OR_SEPARATOR = re.compile(rf"{_QUOTED_TEXT}|[{''.join(SEPARATORS)}]")


_TOO_LONG = f"a row has more than {LONGEST_ROW:,} characters"


class UnreadableError(Exception):
    """A text that is no inventory. ``line`` counts from 1; ``reason`` never quotes a cell."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class CsvRecord(NamedTuple):
    """One record that is not ignored: the line that it begins on, and its place in the text without its line end."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Syntax:
    """The syntax of one file. ``blanks`` are trimmed around unquoted cells."""

    separator: str
    blanks: str
    quoted: re.Pattern[str]
    unquoted: re.Pattern[str]

    @classmethod
    def of(cls, separator: str) -> Syntax:
        blanks = " " if separator == "\t" else " \t"
        around = f"[{blanks}]*"
        return cls(
            separator,
            blanks,
            re.compile(rf"{around}{_QUOTED_TEXT}{around}(?=[{separator}\r\n]|\Z)"),
            re.compile(rf"[^{separator}\r\n]*"),
        )

    def cells(self, record: str) -> list[str]:
        """Return the values of a record's cells; of more than `MOST_COLUMNS` the first and one more."""
        if '"' not in record:
            cells = record.split(self.separator, MOST_COLUMNS)
            if " " not in record and ("\t" not in record or self.separator == "\t"):  # no blank to trim
                return cells
            blanks = self.blanks
            return [cell.strip(blanks) for cell in cells]
        return [cell.value for cell in islice(self.each_cell(record, 0, 1), MOST_COLUMNS + 1)]

    def spans(self, text: str, at: int, line: int) -> list[Cell]:
        """Return the cells of the record that begins at ``at`` on ``line``. Raises `UnreadableError`."""
        return list(self.each_cell(text, at, line))

    def each_cell(self, text: str, at: int, line: int) -> Iterator[Cell]:
        """Yield the cells of the record that begins at ``at`` on ``line``. Raises `UnreadableError`."""
        while True:
            cell = self._cell(text, at, line)
            yield cell
            if text[cell.end : cell.end + 1] != self.separator:
                return
            line += lines_in(text, at, cell.end)
            at = cell.end + 1

    def _cell(self, text: str, at: int, line: int) -> Cell:
        limit = at + LONGEST_ROW + 1  # no further: a pattern takes a second for 64 MB of a quoted cell
        quoted = self.quoted.match(text, at, limit)
        if quoted and quoted.end() == limit < len(text):
            raise UnreadableError(line, _TOO_LONG)
        if quoted:
            value = quoted[1].replace('""', '"')
            return Cell(at, quoted.end(), value if value.strip() else "")
        unquoted = self.unquoted.match(text, at)
        end = unquoted.end() if unquoted else at
        value = text[at:end].strip(self.blanks)
        if value.startswith('"'):
            opening = text.index('"', at)
            closed = _QUOTED_IN_LINE.match(text, opening, limit)
            if closed is None and limit < len(text):
                raise UnreadableError(line, _TOO_LONG)
            if closed is None:
                raise UnreadableError(line, "a quote is opened and never closed")
            raise UnreadableError(line + lines_in(text, opening, closed.end()), "there is text after a closing quote")
        return Cell(at, end, value)


class Cell(NamedTuple):
    """One cell: its place in the text with blanks and quotes, and its value."""

    start: int
    end: int
    value: str


def lines_in(text: str, start: int, end: int) -> int:
    """Return how many line ends there are between two places of a text."""
    # Never a look at the whole text: this is asked for each quoted cell.
    ends = text.count("\n", start, end)
    returns = text.count("\r", start, end)
    return ends + returns - text.count("\r\n", start, end) if returns else ends


def records(text: str, syntax: Syntax, at: int = 0, line: int = 1) -> Iterator[CsvRecord]:
    """Yield the records from a record's beginning on, without comments, blank lines and those of empty cells only.

    Raises `UnreadableError` for a quote that stays open, text after a closing quote and a row that is too long.
    """
    length = len(text)
    ignored = syntax.blanks + syntax.separator
    matched = _LINE.match
    while at < length:
        found = matched(text, at, at + _LONGEST_LINE)
        if found is None:  # never: the pattern matches everywhere
            return
        start, end = found.span(1)
        following = found.end()
        if end - start > LONGEST_ROW:
            raise UnreadableError(line, _TOO_LONG)
        if text.startswith(COMMENT, start):
            at, line = following, line + 1
        elif text.find('"', start, end) >= 0:
            has_value = False
            for cell in syntax.each_cell(text, at, line):
                end = cell.end
                has_value = has_value or bool(cell.value)
                if end - start > LONGEST_ROW:
                    raise UnreadableError(line, _TOO_LONG)
            if has_value:
                yield CsvRecord(line, start, end)
            line_end = _LINE_END.match(text, end)
            line += lines_in(text, start, end) + 1
            at = line_end.end() if line_end else end
        else:
            if found[1].strip(ignored):
                yield CsvRecord(line, start, end)
            at, line = following, line + 1


def after_sep_line(text: str) -> int:
    """Return the length of the line ``sep=;`` that a text begins with; 0 where there is none."""
    found = _SEP_LINE.match(text)
    return found.end() if found else 0


def separator_of(text: str) -> str:
    """Return the separator of cells: that of the line ``sep=;``, else the first one outside quotes in the first record
    with a value.

    Raises `UnreadableError` where the line names a character that separates no cells.
    """
    told = _SEP_LINE.match(text)
    if told:
        if told[1] not in SEPARATORS or not told[1]:
            raise UnreadableError(1, "sep= names no separator: a comma, a semicolon or a tab separates cells")
        return told[1]
    at = 0
    while at < len(text):
        found = _LINE.match(text, at, at + _LONGEST_LINE)
        if found is None:
            break
        at = found.end()
        if not text.startswith(COMMENT, found.start(1)) and _has_value(line := found[1]):
            for match in _QUOTED_OR_SEPARATOR.finditer(line):
                if match[0] in SEPARATORS:
                    return match[0]
            break
    return SEPARATORS[0]


def _has_value(line: str) -> bool:
    """Return whether a line has more than separators, blanks and quoted blanks. A quote that stays open is more."""
    return (
        bool(_QUOTED_IN_LINE.sub(_blank_or_text, line).strip(SEPARATORS + " \t"))
        if '"' in line
        else bool(line.strip(SEPARATORS + " \t"))
    )


def _blank_or_text(quoted: re.Match[str]) -> str:
    return "x" if quoted[1].strip() else ""


def written(value: str, separator: str, *, is_first: bool = False) -> str:
    """Return a cell that is read as ``value``. ``is_first``: the record begins with it, and must be no comment."""
    needs_quotes = (
        any(character in value for character in f'{separator}"\r\n')
        or value != value.strip(" \t")
        or (is_first and value.startswith((COMMENT, BYTE_ORDER_MARK)))
    )
    return '"' + value.replace('"', '""') + '"' if needs_quotes else value


def written_record(values: Sequence[str], separator: str) -> str:
    """Return a record with these values, without a line end. Values that are all empty make an ignored record."""
    return separator.join(written(value, separator, is_first=at == 0) for at, value in enumerate(values))
