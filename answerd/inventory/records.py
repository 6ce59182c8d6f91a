"""The records of a CSV text: where each begins and ends, and its cells (docs/inventory.md#syntax).

The standard library's ``csv`` reads what has a quote. Its strict reader refuses blanks after a closing quote, which
people write, and does not tell where; the other one takes everything, so that `Syntax.fault` looks for faults.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from answerd.short_texts import brief

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

csv.field_size_limit(LONGEST_ROW)

_BLANKS = " \t\r\n" + "".join(map(chr, (0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)))
"""What stands around a cell and is no part of it. Browsers and office programs write Unicode's blanks. Other control
characters stay: a placeholder refuses them."""

_LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\n|\r|\Z)")
_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*"(?!")')
_TOO_LONG = f"a row has more than {LONGEST_ROW:,} characters"


class UnreadableError(Exception):
    """A text that is no inventory. ``line`` counts from 1; ``reason`` never quotes a cell. ``after`` is where the next
    record begins, offset and line, if only one record is at fault."""

    def __init__(self, line: int, reason: str, after: tuple[int, int] | None = None) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason
        self.after = after


class CsvRecord(NamedTuple):
    """One record that is not ignored: the line that it begins on, and its place in the text without its line end."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Syntax:
    """The syntax of one file."""

    separator: str

    def cells(self, record: str) -> list[str]:
        """Return the values of a record's cells, of more than `MOST_COLUMNS` the first and one more: without the blanks
        around a cell, with those inside its quotes unless it has nothing else."""
        if '"' in record:
            cells = next(self.reader([record]))[: MOST_COLUMNS + 1]
            if any(cell != cell.strip(_BLANKS) for cell in cells):
                return [*map(self._value, cells, self._cells(record))]
            return cells
        cells = record.split(self.separator, MOST_COLUMNS)
        if record.isascii() and " " not in record and ("\t" not in record or self.separator == "\t"):
            return cells  # there is no blank to trim
        return [cell.strip(_BLANKS) for cell in cells]

    def _value(self, cell: str, found: re.Match[str]) -> str:
        bare = cell.strip(_BLANKS)
        return bare if found["quoted"] is None or not bare else cell.removesuffix(found["rest"])

    def reader(self, lines: Iterable[str], *, strict: bool = False) -> Iterator[list[str]]:
        """Return the reader of a text's lines, each with its end. ``strict`` refuses whatever is a `fault`, and blanks
        after a closing quote."""
        return csv.reader(lines, delimiter=self.separator, skipinitialspace=True, strict=strict)

    def places(self, record: str) -> Iterator[tuple[int, int]]:
        """Yield where each cell of a record begins and ends, with its quotes."""
        return (found.span() for found in self._cells(record))

    def fault(self, record: str, columns: Sequence[str]) -> Fault | None:
        """Return the first cell of a record that is no cell, if there is one."""
        for number, found in enumerate(self._cells(record)):
            is_open = found["quoted"] is None and found["rest"].startswith('"')
            if is_open or (found["quoted"] is not None and found["rest"].strip(_BLANKS)):
                name = columns[number] if number < len(columns) else ""
                where = f"column {brief(name)}" if name else f"cell {number + 1}"
                what = "a quote is opened and never closed" if is_open else "there is text after a closing quote"
                return Fault(is_open, f"{what} in {where}", 0 if is_open else lines_in(record, 0, found.start("rest")))
        return None

    def _cells(self, record: str) -> Iterator[re.Match[str]]:
        at = 0
        cell = re.compile(rf" *+(?P<quoted>{_QUOTED.pattern})?(?P<rest>[^{self.separator}]*+)")
        while found := cell.match(record, at):
            yield found
            if found.end() == len(record):
                return
            at = found.end() + 1


class Fault(NamedTuple):
    """Why a record cannot be read: whether a quote stays open, the sentence, and how many lines of it come before."""

    is_open: bool
    reason: str
    line: int


def lines_in(text: str, start: int, end: int) -> int:
    """Return how many line ends there are between two places of a text."""
    # Never a look at the whole text: this is asked for each quoted cell.
    ends = text.count("\n", start, end)
    returns = text.count("\r", start, end)
    return ends + returns - text.count("\r\n", start, end) if returns else ends


def records(text: str, syntax: Syntax, at: int = 0, line: int = 1, columns: Sequence[str] = ()) -> Iterator[CsvRecord]:
    """Yield the records from a record's beginning on, without comments, blank lines and those of empty cells only.

    Raises `UnreadableError` for a quote that stays open, text after a closing quote and a row that is too long; it
    names the column where ``columns`` are known.
    """
    ignored = _BLANKS + syntax.separator
    lines = _LINE.finditer(text, at)
    for found in lines:
        start, end = found.span(1)
        begun, line = line, line + 1
        if text.startswith(COMMENT, start) or not found[1].strip(ignored):
            continue
        if text.find('"', start, end) < 0:
            if end - start > LONGEST_ROW:
                raise UnreadableError(begun, _TOO_LONG)
            yield CsvRecord(begun, start, end)
            continue
        taken = [found]
        try:
            cells = next(syntax.reader(_lines_of(taken, lines), strict=True))
        except csv.Error:
            cells = _leniently(syntax, begun, taken, lines, columns)
        line, end = begun + len(taken), taken[-1].end(1)
        if end - start > LONGEST_ROW:
            raise UnreadableError(begun, _TOO_LONG)
        if any(map(str.strip, cells)):
            yield CsvRecord(begun, start, end)


def _leniently(
    syntax: Syntax, begun: int, taken: list[re.Match[str]], lines: Iterator[re.Match[str]], columns: Sequence[str]
) -> list[str]:
    """Return the cells of a record of which the strict reader refused the last of the lines ``taken``."""
    try:
        cells = next(syntax.reader(_lines_of(taken, lines)))
    except csv.Error:  # a cell of more characters than the reader was told to take
        raise UnreadableError(begun, _TOO_LONG) from None
    fault = syntax.fault(taken[0].string[taken[0].start() : taken[-1].end(1)], columns)
    if fault:
        after = None if fault.is_open else (taken[-1].end(), begun + len(taken))
        raise UnreadableError(begun + fault.line, fault.reason, after)
    return cells


def _lines_of(taken: list[re.Match[str]], lines: Iterator[re.Match[str]]) -> Iterator[str]:
    """Yield the lines ``taken``, then those after them, which become taken."""
    yield from [found[0] for found in taken]
    for found in lines:
        taken.append(found)
        yield found[0]


def after_sep_line(text: str) -> int:
    """Return the length of the line ``sep=;`` that a text begins with; 0 where there is none."""
    found = _SEP_LINE.match(text)
    return found.end() if found else 0


def separator_of(text: str) -> str:
    """Return the separator of cells: that of the line ``sep=;``, else the first one outside quotes in the first line
    with a value.

    Raises `UnreadableError` where the line names a character that separates no cells.
    """
    told = _SEP_LINE.match(text)
    if told:
        if told[1] not in SEPARATORS or not told[1]:
            raise UnreadableError(1, "sep= names no separator: a comma, a semicolon or a tab separates cells")
        return told[1]
    for found in _LINE.finditer(text):
        if not text.startswith(COMMENT, found.start()):
            bare = _QUOTED.sub(_blank_or_text, found[1])
            if bare.strip(SEPARATORS + _BLANKS):
                return next((sign for sign in bare if sign in SEPARATORS), SEPARATORS[0])
    return SEPARATORS[0]


def _blank_or_text(quoted: re.Match[str]) -> str:
    return "x" if quoted[0].strip(f'"{_BLANKS}') else ""


def written(value: str, separator: str, *, is_first: bool = False) -> str:
    """Return a cell that is read as ``value``. ``is_first``: the record begins with it, and must be no comment."""
    needs_quotes = any(sign in value for sign in f'{separator}"\r\n') or value != value.strip(_BLANKS)
    if needs_quotes or (is_first and value.startswith((COMMENT, BYTE_ORDER_MARK))):
        return '"' + value.replace('"', '""') + '"'
    return value


def written_record(values: Sequence[str], separator: str) -> str:
    """Return a record with these values, without a line end. Values that are all empty make an ignored record."""
    return separator.join(written(value, separator, is_first=at == 0) for at, value in enumerate(values))


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would compute a cell with this text. What a machine says may be anything, and its
    operator opens the table."""
    return text[:1] in _COMPUTED and _NUMBER.match(text) is None


_COMPUTED = frozenset("=+-@\t\r")
_NUMBER = re.compile(r"[+-][0-9., ]*\Z")
