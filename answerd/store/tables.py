"""The tables of the database as models, and the questions about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from sys import intern
from typing import Any

import peewee

from answerd.documents import Key, NotText, RawDocument, decoded
from answerd.formats import FORMATS
from answerd.identity import Kind, identity_of
from answerd.inventory import INVENTORY_FORMATS
from answerd.store import DocumentEntry, StoredDocument, Version
from answerd.store.file_io import largest


class DocumentRow(peewee.Model):
    """A document. ``revision`` is the number of its last change."""

    id = peewee.AutoField()
    kind = peewee.TextField()
    identifier = peewee.TextField()
    identity = peewee.TextField()
    format = peewee.TextField()
    text = peewee.TextField()
    revision = peewee.IntegerField(default=0)

    class Meta:
        table_name = "documents"


class ChangeRow(peewee.Model):
    """An accepted write: when (UTC), which document, its text before (null: it was new) and after (null: deleted).

    ``peer`` is the address of the client, ``author`` the name of its token, ``note`` the author's note; null where
    there is none. ``token`` is random, and the same for all that one transaction writes.
    """

    id = peewee.AutoField()
    at = peewee.TextField()
    token = peewee.TextField(default="")
    kind = peewee.TextField()
    identifier = peewee.TextField()
    format = peewee.TextField()
    text_before = peewee.TextField(null=True)
    text_after = peewee.TextField(null=True)
    peer = peewee.TextField(null=True)
    author = peewee.TextField(null=True)
    note = peewee.TextField(null=True)

    class Meta:
        table_name = "changes"


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row of ``documents``, its text as bytes: another program may have written what is not UTF-8."""

    id: int
    key: Key
    body: bytes
    revision: int

    def raw(self) -> RawDocument:
        """Return the document, with a fault where its text cannot be read."""
        if len(self.body) > largest(self.key):
            return RawDocument(self.key, "", "", f"is larger than {largest(self.key):,} bytes")
        try:
            return RawDocument(self.key, decoded(self.key.kind, self.body))
        except NotText as error:
            return RawDocument(self.key, "", "", str(error), error.line)


def fetched(query: Any, database: peewee.Database) -> list[tuple[Any, ...]]:
    """Return all rows at once: a cursor left open would keep the log of the database from being emptied."""
    return list(query.tuples().execute(database))


def execute(database: peewee.Database, statement: str, parameters: tuple[Any, ...] = ()) -> Any:
    """Run a statement that is not made of the models. Return its cursor."""
    return database.execute_sql(statement, parameters)  # type: ignore[no-untyped-call]


def newest_revision(database: peewee.Database) -> int:
    newest: int | None = ChangeRow.select(peewee.fn.MAX(ChangeRow.id)).bind(database).scalar()
    return newest or 0


def revision_token(database: peewee.Database, revision: int) -> str | None:
    """Return the random token of a change, None where there is no such change (any more)."""
    token: str | None = ChangeRow.select(ChangeRow.token).where(ChangeRow.id == revision).bind(database).scalar()
    return token


def version_of(database: peewee.Database) -> Version:
    newest = newest_revision(database)
    return Version(newest, revision_token(database, newest) or "")


def document_entries(database: peewee.Database, kind: Kind, after: str, limit: int | None) -> list[DocumentEntry]:
    """Return documents of a kind without their texts (`answerd.store.Store.entries`)."""
    query = (
        DocumentRow.select(
            DocumentRow.identifier,
            DocumentRow.format,
            peewee.fn.LENGTH(as_bytes(database, DocumentRow.text)),
            DocumentRow.revision,
            peewee.fn.COALESCE(ChangeRow.token, ""),
            peewee.fn.COALESCE(ChangeRow.at, ""),
        )
        .join(ChangeRow, peewee.JOIN.LEFT_OUTER, on=(ChangeRow.id == DocumentRow.revision))
        .where(is_known() & (DocumentRow.kind == kind.value) & (DocumentRow.identifier > after))
        .order_by(DocumentRow.identifier, DocumentRow.format)
    )
    found = fetched(query if limit is None else query.limit(limit + len(FORMATS)), database)
    last = found[limit - 1][0] if limit is not None and len(found) >= limit else None
    return [
        DocumentEntry(key_of(kind.value, name, extension), int(size), at, revision, token)
        for number, (name, extension, size, revision, token, at) in enumerate(found)
        if limit is None or number < limit or name == last
    ]


def deleted_since(database: peewee.Database, revision: int) -> set[Key]:
    """Return the keys under which something was deleted, whether there is a document again or not. Those of kinds and
    formats that only a newer version knows are left out, as its documents are."""
    deleted = ChangeRow.select(ChangeRow.kind, ChangeRow.identifier, ChangeRow.format).where(
        (ChangeRow.id > revision) & ChangeRow.text_after.is_null()
    )
    found = fetched(deleted, database)
    return {key_of(kind, name, extension) for kind, name, extension in found if _is_known_name(kind, extension)}


def rows(database: peewee.Database, condition: Any, order: Any = None, limit: int | None = None) -> Iterator[StoredRow]:
    """Yield documents of known formats that meet a condition. To be read to the end: a cursor left open would keep the
    log of the database from being emptied.

    What is known is decided here, not by the database: with conditions for kind and format, SQLite looks by these, and
    reads all documents to find the one that changed.
    """
    query = _documents(database)
    if condition is not None:
        query = query.where(condition)
    if order is not None:
        query = query.order_by(order).limit(limit)
    # Peewee's own wrapper of a cursor takes as long for a row as all the rest together.
    return filter(None, map(_known_row, database.execute(query)))  # type: ignore[no-untyped-call]


BEFORE_ALL = -1
"""A revision that is lower than all."""

_AFTER_EVERY_ID = 2**62


def rows_in_parts(database: peewee.Database, after: int, size: int) -> Iterator[list[StoredRow]]:
    """Yield the documents of known formats whose revision is higher than ``after``, in the order of their revisions, up
    to ``size`` in each list.

    With more conditions, PostgreSQL without statistics expects so few rows that it sorts the whole table for each part.
    """
    place = peewee.Tuple(DocumentRow.revision, DocumentRow.id)
    last = (after, _AFTER_EVERY_ID)
    while True:
        query = _documents(database).where(place > last).order_by(DocumentRow.revision, DocumentRow.id).limit(size)
        found = fetched(query, database)
        part = list(filter(None, map(_known_row, found)))
        if part:
            yield part
        if len(found) < size:
            return
        last = (found[-1][-1], found[-1][0])


def _known_row(columns: tuple[int, str, str, str, bytes, int]) -> StoredRow | None:
    """Return the document of the columns of `_documents`; None where its kind or format is not known."""
    number, kind, name, extension, body, revision = columns
    if not _is_known_name(kind, extension):
        return None
    return StoredRow(number, key_of(kind, name, extension), bytes(body), revision)


def _documents(database: peewee.Database) -> Any:
    return DocumentRow.select(
        DocumentRow.id,
        DocumentRow.kind,
        DocumentRow.identifier,
        DocumentRow.format,
        as_bytes(database, DocumentRow.text),
        DocumentRow.revision,
    )


def as_bytes(database: peewee.Database, text: peewee.TextField) -> Any:
    """Return a column of texts as bytes in UTF-8, as each engine spells it."""
    if isinstance(database, peewee.PostgresqlDatabase):
        return peewee.fn.convert_to(text, "UTF8").python_value(_unchanged)  # else peewee makes a text of it again
    return text.cast("BLOB")


def _unchanged(value: Any) -> Any:
    return value


def is_known(table: type[DocumentRow] | type[ChangeRow] = DocumentRow) -> Any:
    """Return the condition that this version can read a document: its kind and format. Others may be of a newer
    version."""
    is_inventory = table.kind == Kind.INVENTORY.value
    is_document = table.format.in_(list(FORMATS)) & table.kind.in_(list(_KINDS)) & ~is_inventory
    return is_document | (is_inventory & table.format.in_(list(INVENTORY_FORMATS)))


def _is_known_name(kind: str, extension: str) -> bool:
    """Return whether `is_known` holds for the kind and format of a row."""
    if kind == Kind.INVENTORY.value:
        return extension in INVENTORY_FORMATS
    return kind in _KINDS and extension in FORMATS


def key_of(kind: str, identifier: str, extension: str) -> Key:
    """Return the key in a row's columns. Documents share the name of their format: there may be a million of them."""
    return Key(_KINDS[kind], identifier, intern(extension))


def find_row(database: peewee.Database, key: Key) -> StoredRow | None:
    """Return the document of exactly this identifier, else of this identity."""
    exactly = DocumentRow.identifier == key.identifier
    named = exactly | (DocumentRow.identity == identity_of(key.identifier))
    condition = (DocumentRow.kind == key.kind.value) & (DocumentRow.format == key.format) & named
    return next(iter(list(rows(database, condition, exactly.desc(), 1))), None)


def find_document(database: peewee.Database, key: Key) -> StoredDocument | None:
    """Return the same with the token of its revision."""
    row = find_row(database, key)
    return (
        StoredDocument(row.key, row.body, row.revision, revision_token(database, row.revision) or "") if row else None
    )


def key_fault(key: Key) -> str | None:
    """Return why no document may be stored under a key, None where one may be."""
    formats = INVENTORY_FORMATS if key.kind is Kind.INVENTORY else FORMATS
    if key.format not in formats:
        return f"{key.format!r} is no format"
    return key.fault


_KINDS = {kind.value: kind for kind in Kind}
