"""Documents and inventories: listed, read, stored and removed; the rows of an inventory one by one.

Rules: docs/admin-api.md#requests, docs/admin-api.md#what-a-write-guarantees, docs/inventory.md#over-http.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

import bottle

from answerd.answers.inventory_index import inventory_file
from answerd.answers.redaction import redacted
from answerd.answers.secret_names import redacted_row
from answerd.answers.sources import Sources
from answerd.documents import Key, RawDocument
from answerd.etags import UNCONDITIONAL, Conditions, etag, set_etag
from answerd.formats import FORMATS
from answerd.identity import Kind, folded, identity_of
from answerd.inventory import COLUMNS, FORMAT
from answerd.inventory.editing import in_columns, with_rows_added, with_rows_changed, without_row
from answerd.inventory.records import BYTE_ORDER_MARK, UnreadableError
from answerd.inventory.row import Layout, Row, judged
from answerd.inventory.table import Table, read_table
from answerd.server.admin import requests
from answerd.server.admin.changes import judge_strictly, tried
from answerd.server.admin.requests import (
    INVENTORY_LIMIT,
    KINDS,
    CannotRender,
    InvalidRequest,
    NotThere,
    Route,
    json_response,
    note_outcome,
    shown_etag,
    unchanged,
    written_response,
)
from answerd.server.document_writes import DocumentWrites
from answerd.server.statuses import NOT_MODIFIED, OK
from answerd.server.threads import in_thread
from answerd.short_texts import brief
from answerd.store import Author, DocumentEntry
from answerd.write_guard import WHENEVER, ChangeSet, ConditionFailed, Times, WrittenDocument

CSV = "text/csv; charset=utf-8"

_MOST_TRIES = 5
"""Times that a row is changed anew because a write of the whole inventory, or one of another service, came first, where
the client has no condition. Those who edit rows of this service wait for each other."""

Edit = Callable[[str, Table, Row | None], str]
"""Makes a text of a text, with its table and the row that the change is about."""


CellsOf = Callable[[Table, Row | None, dict[str, str]], list[str]]
"""Makes the cells of a row of its table, the row as it is (None: it is new), and the values by column."""


class DocumentHandlers:
    """Handlers of ``/machines``, ``/groups``, ``/default`` and ``/inventory``."""

    def __init__(self, writes: DocumentWrites, sources: Sources) -> None:
        """``sources`` fill the answers of a strict change."""
        self.writes = writes
        self.sources = sources
        self.store = writes.store
        self.rows = RowEdits(writes)

    def routes(self) -> Iterable[Route]:
        yield Route("GET", "/<collection:re:machines|groups>", self.list)
        for path in ("/<collection:re:machines|groups>/<name>", "/default"):
            yield Route("GET", path, self.get)
            yield Route("PUT", path, self.put)
            yield Route("DELETE", path, self.delete)
        yield Route("GET", "/inventory", self.inventories)
        path, inventory = "/inventory/<name>", {"collection": "inventory"}
        yield Route("GET", path, partial(self.get, **inventory))
        yield Route("PUT", path, partial(self.put, **inventory), body_limit=INVENTORY_LIMIT, what="an inventory")
        yield Route("DELETE", path, partial(self.delete, **inventory))
        yield Route("GET", "/inventory/<name>/<row>", self.get_row)
        yield Route("PUT", "/inventory/<name>/<row>", self.put_row)
        yield Route("PATCH", "/inventory/<name>/<row>", self.patch_row)
        yield Route("DELETE", "/inventory/<name>/<row>", self.delete_row)

    def list(self, collection: str) -> bottle.HTTPResponse:
        """Return the identifiers of a kind, each once per format, or with ``detail=1`` an object for each."""
        kind, query = KINDS[collection], requests.query()
        detail = query.get("detail", "0")
        if detail not in ("0", "1"):
            raise InvalidRequest("detail is neither 0 nor 1")
        after, limit = query.get("after", ""), requests.number(query, "limit")
        version = in_thread(self.store.version)  # before the list, which may be newer
        tag = set_etag(version)
        if requests.conditions().is_not_modified(tag):
            return bottle.HTTPResponse(b"", NOT_MODIFIED, {"ETag": tag})
        entries = in_thread(self.store.entries, kind, after, limit)
        note_outcome(f"{len(entries)} {collection}")
        found = [_entry_as_json(entry) if detail == "1" else entry.key.identifier for entry in entries]
        return json_response(OK, {kind.value: found}, {"ETag": tag})

    def inventories(self) -> bottle.HTTPResponse:
        names = sorted(key.identifier for key in in_thread(self.store.keys, Kind.INVENTORY) if key.format == FORMAT)
        note_outcome(f"{len(names)} inventories")
        return json_response(OK, {"inventory": names})

    def get(self, collection: str = "", name: str = "") -> bottle.HTTPResponse:
        """Return a document exactly as it was written; without its secrets for a role that does not see them."""
        key = requests.document_key(collection, name)
        stored = in_thread(self.store.find, key)
        if stored is None:
            raise NotThere(f"there is no {key}{self._other_formats(key)}")
        note_outcome(str(stored.key))
        tag, masked = shown_etag(etag(stored.revision, stored.token))
        if response := unchanged(tag):
            return response
        body = stored.body
        if masked:
            text, labels = body.decode("utf-8", "replace"), self.writes.follower.catalogue.columns
            body = in_thread(lambda: redacted(text, key.format, labels=labels).encode())
        content_type = CSV if key.format == FORMAT else FORMATS[_like(key.format)].content_type
        return bottle.HTTPResponse(body, OK, {"Content-Type": content_type, "ETag": tag, **masked})

    def _other_formats(self, key: Key) -> str:
        """Return in which other formats there is a document of this name, in words; empty where there is none."""
        if key.kind is Kind.INVENTORY:
            return ""
        there = [extension for extension in FORMATS if in_thread(self.store.find, key._replace(format=extension))]
        return f"; it exists as {', '.join(there)}: ask with ?format=" if there else ""

    def put(self, collection: str = "", name: str = "") -> bottle.HTTPResponse:
        requests.query("format", "strict", "dry_run")
        key = requests.document_key(collection, name)
        text = requests.body_text(key)
        author, conditions, times = requests.author(), requests.conditions(), requests.times()
        if requests.is_dry_run():
            return self._tried(ChangeSet((RawDocument(key, text),)), key, conditions)
        if requests.is_strict():
            judge_strictly(self.writes, self.sources, ChangeSet((RawDocument(key, text),)), times)
        written = self.writes.make(times, self.writes.guard.put, key, text, author, conditions)
        return written_response("stored", written)

    def delete(self, collection: str = "", name: str = "") -> bottle.HTTPResponse:
        requests.query("format", "dry_run")
        key = requests.document_key(collection, name)
        author, conditions = requests.author(), requests.conditions()
        if requests.is_dry_run():
            if in_thread(self.store.find, key) is None:
                raise NotThere(f"there is no {key}")
            return self._tried(ChangeSet(deletes=(key,)), key, conditions)
        written = self.writes.make(requests.times(), self.writes.guard.delete, key, author, conditions)
        return written_response("deleted", written)

    def _tried(self, changes: ChangeSet, key: Key, conditions: Conditions) -> bottle.HTTPResponse:
        """Return what a write of one document would do, with the tag of the document as it is."""
        stored = in_thread(self.store.find, key)
        tag = etag(stored.revision, stored.token) if stored is not None else None
        if fault := conditions.fault(tag):
            raise ConditionFailed(fault)
        times, strict = requests.times(), requests.is_strict()
        _, fields = tried(self.writes, self.sources, changes, UNCONDITIONAL, times, strict=strict)
        note_outcome(f"dry run: {key}")
        return json_response(OK, fields, {} if tag is None else {"ETag": tag})

    def get_row(self, name: str, row: str) -> bottle.HTTPResponse:
        key, identity = _inventory(name), _identity(row)
        key, found, tag = in_thread(self.rows.stored_row, key, identity)
        if found is None:
            raise NotThere(f"no row of {key} has this identity")
        note_outcome(str(key))
        tag, masked = shown_etag(tag)
        cells = found.by_column()
        if masked:
            cells = redacted_row(cells, self.writes.follower.catalogue.columns)
        return unchanged(tag) or json_response(OK, cells, {"ETag": tag, **masked})

    def put_row(self, name: str, row: str) -> bottle.HTTPResponse:
        """Change one row, or append it, and leave every other byte as it is. A column that is not named is empty."""
        return self._row_written(name, row, lambda table, _, values: in_columns(table.layout, values))

    def patch_row(self, name: str, row: str) -> bottle.HTTPResponse:
        """Change the columns of a row that the request names."""

        def cells(table: Table, found: Row | None, values: dict[str, str]) -> list[str]:
            if found is None:
                raise NotThere(f"no row of {_inventory(name)} has this identity")
            if fault := found.beyond_header:
                raise InvalidRequest(f"{table.layout.source}:{line_of(table, found)}: {fault}; PUT the whole row")
            return [values.get(key, cell) for key, cell in zip(table.layout.keys, found.cells(), strict=True)]

        return self._row_written(name, row, cells)

    def _row_written(self, name: str, row: str, cells_of: CellsOf) -> bottle.HTTPResponse:
        """Store the cells that ``cells_of`` makes of a row and the values of the request."""
        identity = _identity(row)
        values = _values(requests.exchange().request.body)

        def edit(text: str, table: Table, found: Row | None) -> str:
            cells = cells_of(table, found, _by_key(table.layout, values))
            identities, fault = judged(table.layout, cells)
            if fault:
                raise InvalidRequest(f"the row: {fault}")
            if identity not in identities:
                raise InvalidRequest("the row does not hold the identity that the path names")
            if found is None:
                return with_rows_added(text, table, [cells])
            if cells == found.cells() and not found.beyond_header:
                return text
            return with_rows_changed(text, table, {line_of(table, found): cells})

        return self._edited("stored", name, identity, edit)

    def delete_row(self, name: str, row: str) -> bottle.HTTPResponse:
        def edit(text: str, table: Table, found: Row | None) -> str:
            if found is None:
                raise NotThere(f"no row of {_inventory(name)} has this identity")
            return without_row(text, table, line_of(table, found))

        return self._edited("deleted", name, _identity(row), edit)

    def _edited(self, status: str, name: str, identity: str, edit: Edit) -> bottle.HTTPResponse:
        requests.query("strict", "dry_run")
        author, conditions, times = requests.author(), requests.conditions(), requests.times()
        key, is_dry_run = _inventory(name), requests.is_dry_run()
        if is_dry_run or (status != "deleted" and requests.is_strict()):
            text, _ = in_thread(self.rows.tried, key, identity, edit, conditions)
            changes = ChangeSet((RawDocument(key, text),))
            if is_dry_run:
                return self._tried(changes, key, conditions)
            judge_strictly(self.writes, self.sources, changes, times)
        return written_response(
            status, self.writes.make(times, self.rows.edited, key, identity, edit, author, conditions)
        )


def _like(extension: str) -> str:
    """Return the format whose texts are written like those of another one."""
    return "toml" if extension == COLUMNS else extension


def _entry_as_json(entry: DocumentEntry) -> dict[str, Any]:
    return {
        "identifier": entry.key.identifier,
        "format": entry.key.format,
        "etag": etag(entry.revision, entry.token),
        "bytes": entry.size,
        "changed": entry.changed,
    }


def _inventory(name: str) -> Key:
    return Key(Kind.INVENTORY, requests.identifier(Kind.INVENTORY, name), FORMAT)


def _identity(row: str) -> str:
    """Return the identity in a path's segment. Raises `InvalidRequest`."""
    identity = identity_of(unquote_to_bytes(row).decode("utf-8", "replace"))
    if not identity:
        raise InvalidRequest("the path names no identity of a row")
    return identity


def _by_key(layout: Layout, values: Mapping[str, str]) -> dict[str, str]:
    """Return values by the keys of their columns. Raises `InvalidRequest`."""
    found: dict[str, str] = {}
    for name, value in values.items():
        at = layout.place_of(name)
        if at is None:
            raise InvalidRequest(f"there is no column {brief(name)!r}: the columns are {layout.columns_in_words()}")
        if layout.keys[at] in found:
            raise InvalidRequest(f"column {brief(layout.columns[at])!r} is given twice, by its name and its label")
        found[layout.keys[at]] = value
    return found


def _values(body: bytes) -> dict[str, str]:
    """Return the cells in a request's body by column. Raises `InvalidRequest`."""
    try:  # a number is the text that it is written as: 1.50 stays 1.50
        written = json.loads(
            body, object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError):
        raise InvalidRequest('the body is no JSON object of each column once, {"id": "web-01", …}') from None
    if not isinstance(written, dict):
        raise InvalidRequest('the body is no JSON object, {"id": "web-01", …}')
    values = {column: _cell(column, value) for column, value in written.items()}
    for column, value in values.items():
        if fault := requests.cell_fault(column, value):
            raise InvalidRequest(fault)
    return values


def _cell(column: str, value: Any) -> str:
    """Return the cell of a value of JSON: several values stand beside each other. Raises `InvalidRequest`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and not any(isinstance(one, list | dict) for one in value):
        return " ".join(filter(None, (_cell(column, one) for one in value)))
    if not isinstance(value, str):
        raise InvalidRequest(
            f"column {brief(column)}: a cell is a text, a number, true, false, null or a list of these"
        )
    return value


def _refuse_constant(_: str) -> Any:
    raise ValueError


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({folded(column) for column, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


# --- changes of rows, as the console makes them too ---


class RowEdits:
    """Changes of rows, and rows. Each function waits for the disk: it is called in a thread."""

    def __init__(self, writes: DocumentWrites) -> None:
        self.guard = writes.guard

    def edited(
        self,
        key: Key,
        identity: str,
        edit: Edit,
        author: Author,
        conditions: Conditions = UNCONDITIONAL,
        times: Times = WHENEVER,
    ) -> WrittenDocument:
        """Store the text that ``edit`` makes of an inventory, only if the inventory has not changed since it was
        read. Raises `NotThere`, `CannotRender`, and as `WriteGuard.put` does."""
        tries = 1 if conditions.if_match is not None else _MOST_TRIES
        while True:
            text, tag = self.tried(key, identity, edit, conditions)
            try:
                return self.guard.put(key, text, author, Conditions(if_match=tag), times)
            except ConditionFailed:
                tries -= 1
                if not tries:
                    raise

    def tried(self, key: Key, identity: str, edit: Edit, conditions: Conditions = UNCONDITIONAL) -> tuple[str, str]:
        """Return the text that ``edit`` makes of an inventory, and the tag of the text that it was made of."""
        stored, body, tag = self.stored(key)
        if fault := conditions.fault(tag):
            raise ConditionFailed(fault)

        text = text_of(stored, body)
        table = self.table(stored, text)
        return edit(text, table, self.row(table, identity) if identity else None), tag

    def stored_row(self, key: Key, identity: str) -> tuple[Key, Row | None, str]:
        """Return the row of an identity, None where there is none, with the key and the tag of the stored inventory.
        Raises `NotThere`, `CannotRender`."""
        stored, body, tag = self.stored(key)
        return stored, self.row(self.table(stored, text_of(stored, body)), identity), tag

    def stored(self, key: Key) -> tuple[Key, bytes, str]:
        """Return an inventory as it is stored: key, body and tag. Raises `NotThere`."""
        found = self.guard.store.find(key)
        if found is None:
            raise NotThere(f"there is no {key}")
        return found.key, found.body, etag(found.revision, found.token)

    def table(self, key: Key, text: str) -> Table:
        """Return the rows of a text: those in force, where it is the text in force. Raises `CannotRender`."""
        catalogue = self.guard.in_force.catalogue
        inventory = catalogue.inventory
        bare = text.removeprefix(BYTE_ORDER_MARK)
        for document, table in inventory.tables.items() if inventory else ():
            if document.key.name == key.name and table.text == bare:
                return table
        source = inventory_file(RawDocument(key, ""))
        try:
            return read_table(source, text, catalogue.meaning_of(key.identifier))
        except UnreadableError as error:
            reason = f"{source}:{error.line}: the inventory cannot be read: {error.reason}; store it as a whole"
            raise CannotRender(reason) from None

    def row(self, table: Table, identity: str) -> Row | None:
        """Return the row of an identity, None where there is none. Raises `CannotRender` where there are several."""
        inventory = self.guard.in_force.catalogue.inventory
        if inventory is not None and inventory.by_layout.get(table.layout) is table:
            found = [row for row in inventory.rows_of(identity) if row.layout is table.layout]
        else:
            found = [row for row in table.rows if identity in row.identities()]
        if len(found) > 1:
            places = " and ".join(f"{table.layout.source}:{line_of(table, row)}" for row in found)
            raise CannotRender(f"{places}: rows with one identity; store the inventory as a whole")
        return found[0] if found else None


def line_of(table: Table, row: Row) -> int:
    return table.line_of(row) or 0


def text_of(key: Key, body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise CannotRender(f"{key} is not UTF-8: store it as a whole") from None
