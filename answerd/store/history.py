"""The history: accepted changes of documents, read and pruned.

Knows the table ``changes``, which triggers fill. Each function takes the database to ask.
"""

from __future__ import annotations

from typing import Any

import peewee

from answerd.identity import Kind, identity_of
from answerd.store import Author, HistoryEntry, HistoryFilter
from answerd.store.tables import ChangeRow, DocumentRow, as_bytes, fetched, is_known, key_of

_SEPARATORS = "-_.:"
"""What an identifier may hold beside letters and digits."""

_ROWS_AT_ONCE = 500
"""Changes that are read by one statement: far below SQLite's limit of values."""


def find_changes(database: peewee.Database, wanted: HistoryFilter) -> list[HistoryEntry]:
    """Return the changes that a filter lets through, the newest first."""
    size = sum(peewee.fn.COALESCE(peewee.fn.LENGTH(text), 0) for text in (ChangeRow.text_before, ChangeRow.text_after))
    query = ChangeRow.select(ChangeRow.id, size).where(is_known(ChangeRow))
    for condition in _conditions(database, wanted):
        query = query.where(condition)
    chosen = _within(fetched(query.order_by(ChangeRow.id.desc()).limit(wanted.limit), database), wanted.most_bytes)
    found: list[HistoryEntry] = []
    for start in range(0, len(chosen), _ROWS_AT_ONCE):
        found += _entries(database, chosen[start : start + _ROWS_AT_ONCE])
    return found


def _within(sizes: list[tuple[Any, ...]], most_bytes: int | None) -> list[int]:
    """Return the numbers of as many changes as have so many bytes, at least of one."""
    total = 0
    chosen: list[int] = []
    for number, size in sizes:
        total += int(size)
        if chosen and most_bytes is not None and total > most_bytes:
            break
        chosen.append(number)
    return chosen


def _entries(database: peewee.Database, numbers: list[int]) -> list[HistoryEntry]:
    query = ChangeRow.select(
        ChangeRow.id,
        ChangeRow.at,
        ChangeRow.kind,
        ChangeRow.identifier,
        ChangeRow.format,
        as_bytes(database, ChangeRow.text_before),
        as_bytes(database, ChangeRow.text_after),
        ChangeRow.peer,
        ChangeRow.author,
        ChangeRow.note,
    ).where(ChangeRow.id.in_(numbers))
    return [
        HistoryEntry(revision, at, key_of(kind, name, extension), _text(before), _text(after), Author(*author))
        for revision, at, kind, name, extension, before, after, *author in fetched(
            query.order_by(ChangeRow.id.desc()), database
        )
    ]


def forget_changes(database: peewee.Database, before: str) -> int:
    """Delete the changes from before a time (UTC), except the last change of each document. Return how many were
    deleted. The very last change stays too: it is the version of the database. So does the deletion of a document that
    is gone, because that is its last change.
    """
    newest = ChangeRow.select(peewee.fn.MAX(ChangeRow.id))
    newest_of_each = ChangeRow.select(peewee.fn.MAX(ChangeRow.id)).group_by(
        ChangeRow.kind, ChangeRow.identifier, ChangeRow.format
    )
    made_the_present = DocumentRow.select(DocumentRow.revision)
    query = ChangeRow.delete().where(
        (ChangeRow.at < before)
        & ChangeRow.id.not_in(newest)
        & ChangeRow.id.not_in(newest_of_each)
        & ChangeRow.id.not_in(made_the_present)
    )
    forgotten: int = query.bind(database).execute()
    return forgotten


def _conditions(database: peewee.Database, wanted: HistoryFilter) -> list[Any]:
    found = []
    if wanted.kind is not None:
        found.append(ChangeRow.kind == wanted.kind.value)
    if wanted.identifier is not None:
        found.append(ChangeRow.identifier.in_(_spellings(database, wanted.identifier, wanted.kind)))
    if wanted.format is not None:
        found.append(ChangeRow.format == wanted.format)
    if wanted.since is not None:
        found.append(ChangeRow.at >= wanted.since)
    if wanted.before is not None:
        found.append(ChangeRow.id < wanted.before)
    if wanted.revision is not None:
        found.append(ChangeRow.id == wanted.revision)
    return found


def _spellings(database: peewee.Database, name: str, kind: Kind | None) -> list[str]:
    """Return the identifiers in the history that have the identity of ``name``."""
    query = ChangeRow.select(ChangeRow.identifier).distinct()
    if kind is not None:
        query = query.where(ChangeRow.kind == kind.value)
    identity = identity_of(name)
    if identity.isalnum():  # no address: then the database finds those that are written with these letters and digits
        last = peewee.fn.SUBSTR(ChangeRow.identifier, peewee.fn.LENGTH(ChangeRow.identifier), 1)
        query = query.where(last.in_([identity[-1], identity[-1].upper(), *_SEPARATORS]))  # costs less, rules out most
        query = query.where(_letters_and_digits(ChangeRow.identifier) == identity)
    return [spelled for (spelled,) in fetched(query, database) if identity_of(spelled) == identity]


def _letters_and_digits(identifier: Any) -> Any:
    """Return an identifier, which is ASCII, in lower case and without all else that it may hold."""
    bare = peewee.fn.LOWER(identifier)
    for separator in _SEPARATORS:
        bare = peewee.fn.REPLACE(bare, separator, "")
    return bare


def _text(body: bytes | None) -> str | None:
    return None if body is None else bytes(body).decode("utf-8", "replace")
