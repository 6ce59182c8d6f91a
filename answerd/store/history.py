"""The history: accepted changes of documents, read and pruned.

Each function takes the database to ask.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from ipaddress import IPv4Address, ip_address
from typing import Any

import peewee

from answerd.identity import identity_of
from answerd.store import Author, HistoryEntry, HistoryFilter, PartlyForgotten
from answerd.store.schema import BARE_NAME, POSTGRES, SQLITE
from answerd.store.state_tables import note, setting
from answerd.store.tables import ChangeRow, DocumentRow, as_bytes, fetched, is_known, key_of

_IPV4_IN_IPV6 = 0xFFFF_0000_0000
_LAST_32_BITS = 0xFFFF_FFFF

_ROWS_AT_ONCE = 500
"""Changes that are read by one statement: far below SQLite's limit of values."""

_TEXTS_AT_ONCE = 4
"""The same where their size is bounded: each may have two texts of 1 MB, and of inventories of 16 MB."""


_FORGOTTEN = "history forgotten before"
"""The setting of the database with the time before which changes were removed from the history."""

_TIME = re.compile(r"\d{4}-\d\d(-\d\d(T\d\d(:\d\d(:\d\d(\.\d{1,3})?)?)?Z?)?)?\Z", re.ASCII)


def beginning(text: str) -> str:
    """Return a time of UTC that a person wrote, such as ``2026-11`` or ``2026-11-21T09:14Z``, as it is compared with
    the times of changes. Raises ValueError: it is none, or is in no calendar."""
    if not _TIME.match(text):
        raise ValueError
    given = [int(number) for number in re.findall(r"\d+", text)[:6]]
    year, month, day, hour, minute, second = given + [0, 1, 1, 0, 0, 0][len(given) :]
    datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return text.rstrip("Z")


def find_changes(database: peewee.Database, wanted: HistoryFilter) -> list[HistoryEntry]:
    """Return the changes that a filter lets through, the newest first."""
    # A replica has the texts of the newest changes only; of the others it has no time either.
    known = is_known(ChangeRow)
    if wanted.identifier is None:  # else SQLite would look by kind and format, and sort the whole history
        known = peewee.Expression(known, peewee.OP.EQ, peewee.Value(True))
    query = ChangeRow.select(ChangeRow.id).where(known & (ChangeRow.at != ""))
    for condition in _conditions(database, wanted):
        query = query.where(condition)
    chosen = [number for (number,) in fetched(query.order_by(ChangeRow.id.desc()).limit(wanted.limit), database)]
    if wanted.most_bytes is None:
        return _entries(database, chosen, texts=wanted.texts)
    found: list[HistoryEntry] = []
    left = wanted.most_bytes
    for start in range(0, len(chosen), _TEXTS_AT_ONCE):
        for entry in _entries(database, chosen[start : start + _TEXTS_AT_ONCE]):
            left -= len(entry.before or "") + len(entry.after or "")
            if found and left < 0:
                return found
            found.append(entry)
    return found


def _entries(database: peewee.Database, numbers: list[int], *, texts: bool = True) -> list[HistoryEntry]:
    """Return changes by their numbers, the newest first, as the numbers are."""
    both = ChangeRow.text_before, ChangeRow.text_after
    columns = (
        ChangeRow.id,
        ChangeRow.at,
        ChangeRow.kind,
        ChangeRow.identifier,
        ChangeRow.format,
        *(as_bytes(database, text) if texts else text.is_null(False) for text in both),
        ChangeRow.peer,
        ChangeRow.author,
        ChangeRow.note,
        ChangeRow.token,
    )
    found: list[HistoryEntry] = []
    for start in range(0, len(numbers), _ROWS_AT_ONCE):
        part = numbers[start : start + _ROWS_AT_ONCE]
        query = ChangeRow.select(*columns).where(ChangeRow.id.in_(part)).order_by(ChangeRow.id.desc())
        for number, at, kind, name, extension, before, after, *author, token in fetched(query, database):
            key = key_of(kind, name, extension)
            old, new = (_text(text) if texts else "" if text else None for text in (before, after))
            found.append(HistoryEntry(number, at, key, old, new, Author(*author), token))
    return found


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
    if forgotten:
        note(database, _FORGOTTEN, before)
    return forgotten


def _conditions(database: peewee.Database, wanted: HistoryFilter) -> list[Any]:
    found = []
    if wanted.kind is not None:
        found.append(ChangeRow.kind == wanted.kind.value)
    if wanted.identifier is not None:
        found.append(ChangeRow.identifier.in_(_spellings(database, wanted.identifier)))
    if wanted.format is not None:
        found.append(ChangeRow.format == wanted.format)
    if wanted.since is not None:
        found.append(ChangeRow.at >= wanted.since)
    if wanted.until is not None:
        found.append(ChangeRow.at < wanted.until)
    if wanted.who is not None:
        is_named = peewee.fn.LOWER(ChangeRow.author) == wanted.who.lower()
        found.append(is_named | (ChangeRow.peer == wanted.who))
    if wanted.before is not None:
        found.append(ChangeRow.id < wanted.before)
    if wanted.revision is not None:
        found.append(ChangeRow.id == wanted.revision)
    if wanted.together is not None:
        found.append(_made_together(database, wanted.together))
    return found


def _made_together(database: peewee.Database, revision: int) -> Any:
    """Return the condition of the changes that were made together with one. Their numbers are in a row, so the index of
    the numbers is enough. Raises `PartlyForgotten`."""
    query = ChangeRow.select(ChangeRow.token, ChangeRow.at).where(ChangeRow.id == revision)
    token, at = next(iter(fetched(query, database)), ("", ""))
    if not token:
        return ChangeRow.id == revision
    if at < (before := setting(database, _FORGOTTEN) or ""):
        raise PartlyForgotten(
            f"changes from before {before} were removed from the history, so what else changed together with revision "
            f"{revision} is not known: restore its documents one by one"
        )
    others, number = ChangeRow.token != token, ChangeRow.id
    before_it = number > _bound(database, peewee.fn.MAX(number), (number < revision) & others, 0)
    return before_it & (number < _bound(database, peewee.fn.MIN(number), (number > revision) & others, 2**62))


def _bound(database: peewee.Database, bound: Any, condition: Any, default: int) -> int:
    found: int | None = ChangeRow.select(bound).where(condition).bind(database).scalar()
    return default if found is None else found


def _spellings(database: peewee.Database, name: str) -> list[str]:
    """Return the identifiers in the history, of any kind, that have the identity of ``name``.

    With a condition for the kind SQLite would take the index that begins with it, and read all names of that kind.
    """
    engine = POSTGRES if isinstance(database, peewee.PostgresqlDatabase) else SQLITE
    identity = identity_of(name)
    is_named = peewee.SQL(BARE_NAME[engine]).in_(_bare_names(identity))
    query = ChangeRow.select(ChangeRow.identifier).distinct().where(is_named)
    return [spelled for (spelled,) in fetched(query, database) if identity_of(spelled) == identity]


def _bare_names(identity: str) -> list[str]:
    """Return what `BARE_NAME` makes of every spelling of an identity. An IP address may be written in hexadecimal
    groups, the last two of them also as four decimal numbers."""
    try:
        address = ip_address(identity)
    except ValueError:
        return [_bare(identity)]
    whole = _IPV4_IN_IPV6 | int(address) if isinstance(address, IPv4Address) else int(address)
    end = IPv4Address(whole & _LAST_32_BITS)
    return [*{_bare(text) for text in (identity, f"{whole:x}", f"{whole >> 32:x}{end}")}]


def _bare(identity: str) -> str:
    return "".join(filter(str.isalnum, identity)).replace("0", "")


def _text(body: bytes | None) -> str | None:
    return None if body is None else bytes(body).decode("utf-8", "replace")
