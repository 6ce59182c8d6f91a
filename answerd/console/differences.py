"""The difference between two versions of a document, without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from answerd.answers.line_diff import unified
from answerd.answers.redaction import redacted_pair
from answerd.answers.secret_names import is_secret_column
from answerd.console.rendering import counted
from answerd.inventory import FORMAT
from answerd.inventory.meaning import Meaning
from answerd.inventory.records import UnreadableError
from answerd.inventory.table import read_table

LINES_SHOWN = 1_000
"""Lines of a difference that are shown."""


def difference(before: str | None, after: str | None, extension: str, labels: Mapping[str, str]) -> list[str]:
    """Return the unified diff of two versions of a document, without secrets; None: there was no document."""
    if extension == FORMAT:
        return _of_rows(before, after, labels)
    old, new = redacted_pair(before or "", after or "", extension, labels=labels)
    if before is None or after is None:  # no more lines are looked at than are shown
        sign, text = ("+", new) if before is None else ("-", old)
        lines = [sign + line for line in text.split("\n", LINES_SHOWN)[:LINES_SHOWN]]
        left = text.count("\n") + 1 - LINES_SHOWN
    else:
        lines = unified(old.split("\n"), new.split("\n"))
        left = len(lines) - LINES_SHOWN
    return [*lines[:LINES_SHOWN], f"@@ {counted(left, 'more line')} @@"] if left > 0 else lines


def _of_rows(before: str | None, after: str | None, labels: Mapping[str, str]) -> list[str]:
    """Return the unified diff of two versions of an inventory. To look for secrets in all of 6 MB takes 9 seconds, so
    only lines that are shown are searched: for their own secrets, and for those of all rows by the names of columns."""
    old, new = ("" if text is None else text for text in (before, after))
    lines = unified([] if before is None else old.split("\n"), [] if after is None else new.split("\n"))
    if before is None or after is None:
        lines = lines[1:]  # there is one part, of which no line is left out
    left, lines = len(lines) - LINES_SHOWN, lines[:LINES_SHOWN]
    heads = [_HEADER.match(text)[0] for text in (old, new)]  # type: ignore[index]  # it matches any text
    olds, news = ([line[1:] for line in lines if line[0] in signs] for signs in (" -", " +"))
    known = _secret_cells(old, labels) | _secret_cells(new, labels)
    shown = redacted_pair(heads[0] + "\n".join(olds), heads[1] + "\n".join(news), FORMAT, known, labels)
    texts = [iter(text.split("\n")[head.count("\n") :]) for text, head in zip(shown, heads, strict=True)]
    found = []
    for line in lines:
        sign = line[0]
        of_old = next(texts[0]) if sign in " -" else ""
        of_new = next(texts[1]) if sign in " +" else ""
        found.append(line if sign == "@" else sign + (of_old if sign == "-" else of_new))
    return [*found, f"@@ {counted(left, 'more line')} @@"] if left > 0 else found


_HEADER = re.compile(r"(?:\ufeff?sep=[^\n]*\n)?[^\n]*\n?", re.IGNORECASE)


def _secret_cells(text: str, labels: Mapping[str, str]) -> set[str]:
    """Return the values of an inventory in columns that are named like a secret."""
    try:
        table = read_table("", text, Meaning(labels))
    except UnreadableError:
        return set()
    places = [at for at, column in enumerate(table.layout.columns) if is_secret_column(column, labels)]
    rows = table.rows if places else ()
    return {cells[at] for row in rows for cells in (row.cells(),) for at in places if cells[at]}
