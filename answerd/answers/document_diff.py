"""The difference between two versions of a document: by lines; of an inventory by rows and columns.

One edit of a spreadsheet moves columns, quotes cells and sorts rows; what people ask is which machine changed and how.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from answerd.answers.line_diff import unified
from answerd.answers.redaction import CHANGED, NO_LABELS, redacted_pair
from answerd.documents import Key
from answerd.identity import folded
from answerd.inventory import FORMAT
from answerd.inventory.meaning import Meaning
from answerd.inventory.records import UnreadableError
from answerd.inventory.row import Row
from answerd.inventory.table import Table, table_after

_CHANGED_CELL = "\1"
"""In place of `CHANGED`, whose comma would end a cell."""


def document_lines(
    key: Key,
    before: str | None,
    after: str | None,
    labels: Mapping[str, str] = NO_LABELS,
    *,
    show_secrets: bool = False,
) -> list[str]:
    """Return the lines of the difference between two versions of a document, None for one that does not exist: a
    unified diff without its two heading lines. ``labels`` are those of an inventory's columns.

    A row that changed is ``-web-1  rack=R1`` and ``+web-1  rack=R2``, with the columns that changed; one that is new or
    gone has all that are not empty. Columns that are new or gone come first. Where a text is no table, or the rows are
    the same, it is a difference of lines.
    """
    was, now = before or "", after or ""
    if not show_secrets:
        was, now = redacted_pair(was, now, key.format, labels=labels)
    lines: list[str] = []
    if key.format == FORMAT:
        lines = _row_lines(None if before is None else was, None if after is None else now, Meaning(labels))
    lines = lines or unified(was.split("\n") if was else [], now.split("\n") if now else [])
    return lines or ([] if before == after else ["(a secret differs, or white space at the end)"])


def _row_lines(before: str | None, after: str | None, meaning: Meaning) -> list[str]:
    """Return the difference of the rows of two texts; nothing where one is no table."""
    try:
        old = table_after(None, "", before, meaning).table if before is not None else None
        new = table_after(old, "", after.replace(CHANGED, _CHANGED_CELL), meaning).table if after is not None else None
    except UnreadableError:
        return []
    return [line.replace(_CHANGED_CELL, CHANGED) for line in _by_rows(old, new)]


def _by_rows(old: Table | None, new: Table | None) -> Iterator[str]:
    if old is not None and new is not None:
        columns, now = old.layout.columns, new.layout.columns
        yield from (f"-column {column}" for column in columns if column not in now)
        yield from (f"+column {column}" for column in now if column not in columns)
    kept = {id(row) for row in new.rows} if new is not None else set()
    gone = [row for row in old.rows if id(row) not in kept] if old is not None else []
    known = {id(row) for row in old.rows} if old is not None else set()
    added = [row for row in new.rows if id(row) not in known] if new is not None else []
    before_of = _pairs(gone, added)
    changed = {id(row) for row in before_of.values()}
    for row in gone:
        if id(row) not in changed:
            yield "-" + _told(row, row.by_column())
    for row in added:
        earlier = before_of.get(id(row))
        if earlier is None:
            yield "+" + _told(row, row.by_column())
            continue
        was, now_is = earlier.by_column(), row.by_column()
        differing = [column for column in {**was, **now_is} if was.get(column, "") != now_is.get(column, "")]
        if differing:
            yield "-" + _told(earlier, {column: was.get(column, "") for column in differing})
            yield "+" + _told(row, {column: now_is.get(column, "") for column in differing})


def _pairs(gone: Sequence[Row], added: Sequence[Row]) -> dict[int, Row]:
    """Return which row that is gone each new one was, by the new one's place in memory: the one with its name, else one
    that has an identity of it and whose name is gone."""
    found: dict[int, Row] = {}
    by_name = {folded(row.name): row for row in gone if row.name}
    for row in added:
        if (same := by_name.pop(folded(row.name), None)) is not None:
            found[id(row)] = same
    by_identity = {identity: row for row in by_name.values() for identity in row.identities()}
    for row in added:
        if id(row) in found:
            continue
        same = next((by_identity[one] for one in row.identities() if one in by_identity), None)
        if same is not None:
            found[id(row)] = same
            for identity in same.identities():
                by_identity.pop(identity, None)
    return found


def _told(row: Row, cells: Mapping[str, str]) -> str:
    pairs = "  ".join(f"{column}={' '.join(value.split())}" for column, value in cells.items() if value)
    return f"{row.name}  {pairs}".strip()
