"""Inventories: listed, read, stored and removed as documents, and row by row.

Rules: docs/inventory.md#over-http, docs/admin-api.md#what-a-write-guarantees.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

import bottle

from answerd.answers.redaction import redacted, redacted_row
from answerd.documents import Key
from answerd.identity import Kind, brief, folded, identity_of
from answerd.inventory import FORMAT
from answerd.inventory.editing import in_columns, with_row, with_rows_added, without_row
from answerd.inventory.rows import Row, judged
from answerd.inventory.table import Table
from answerd.long_work import run_long
from answerd.server.admin import requests
from answerd.server.admin.requests import InvalidRequest, NotThere
from answerd.server.admin.responses import json_response, note_outcome, shown_etag
from answerd.server.admin.routes import INVENTORY_LIMIT, Route
from answerd.server.admin.row_edits import Edit, RowEdits, line_of, text_of
from answerd.server.etags import Conditions
from answerd.server.http.responses import exchange_of
from answerd.server.statuses import NOT_MODIFIED, OK
from answerd.server.write_guard import ConditionFailed, WriteGuard, WrittenDocument

CONTENT_TYPE = "text/csv; charset=utf-8"


class InventoryHandlers:
    """Handlers of ``/inventory``."""

    def __init__(self, guard: WriteGuard) -> None:
        self.guard = guard
        self.store = guard.store
        self.rows = RowEdits(guard)

    def routes(self) -> Iterable[Route]:
        """Return the requests that this group answers."""
        yield Route("GET", "/inventory", self.list)
        yield Route("GET", "/inventory/<name>", self.get)
        yield Route("PUT", "/inventory/<name>", self.put, body_limit=INVENTORY_LIMIT, what="an inventory")
        yield Route("DELETE", "/inventory/<name>", self.delete)
        yield Route("GET", "/inventory/<name>/<row>", self.get_row)
        yield Route("PUT", "/inventory/<name>/<row>", self.put_row)
        yield Route("DELETE", "/inventory/<name>/<row>", self.delete_row)

    def list(self) -> bottle.HTTPResponse:
        """Return the names of all inventories."""
        names = sorted(key.identifier for key in self.guard.run(self.store.keys, Kind.INVENTORY))
        note_outcome(f"{len(names)} inventories")
        return json_response(OK, {"inventory": names})

    def get(self, name: str) -> bottle.HTTPResponse:
        """Return an inventory exactly as it was written; without its secrets for a role that does not see them."""
        key, body, tag = self.rows.stored(_key(name))
        note_outcome(str(key))
        tag, masked = shown_etag(tag)
        if unchanged := _conditional(tag):
            return unchanged
        if masked:
            text = body.decode("utf-8", "replace")
            labels = self.guard.follower.loader.catalogue.columns
            body = run_long(lambda: redacted(text, FORMAT, labels=labels)).encode()
        return bottle.HTTPResponse(body, OK, {"Content-Type": CONTENT_TYPE, "ETag": tag, **masked})

    def put(self, name: str) -> bottle.HTTPResponse:
        """Store an inventory, unless that would break the set."""
        key = _key(name)
        text = requests.body_text(key)
        written = self.guard.put(key, text, requests.author(), requests.conditions(), requests.client())
        return _written("stored", written)

    def delete(self, name: str) -> bottle.HTTPResponse:
        """Remove an inventory, unless that would break the set."""
        written = self.guard.delete(_key(name), requests.author(), requests.conditions(), requests.client())
        return json_response(OK, _outcome("deleted", written))

    def get_row(self, name: str, row: str) -> bottle.HTTPResponse:
        """Return one row as an object."""
        key, body, tag = self.rows.stored(_key(name))
        found = self.rows.row(self.rows.table(key, text_of(key, body)), _identity(row))
        if found is None:
            raise NotThere(f"no row of {key} has this identity")
        note_outcome(str(key))
        tag, masked = shown_etag(tag)
        cells = found.by_column()
        if masked:
            cells = redacted_row(cells, self.guard.follower.loader.catalogue.columns)
        return _conditional(tag) or json_response(OK, cells, {"ETag": tag, **masked})

    def put_row(self, name: str, row: str) -> bottle.HTTPResponse:
        """Change one row, or append it, and leave every other byte as it is."""
        identity = _identity(row)
        values = _values(exchange_of(requests.environ()).request.body)

        def edit(text: str, table: Table, found: Row | None) -> str:
            cells = _cells(table, values)
            identities, fault = judged(table.layout, cells)
            if fault:
                raise InvalidRequest(f"the row: {fault}")
            if identity not in identities:
                raise InvalidRequest("the row does not hold the identity that the path names")
            if found is None:
                return with_rows_added(text, table, [cells])
            return with_row(text, table, line_of(table, found), cells)

        return _written("stored", self._edited(name, identity, edit))

    def delete_row(self, name: str, row: str) -> bottle.HTTPResponse:
        """Remove one row and leave every other byte as it is."""

        def edit(text: str, table: Table, found: Row | None) -> str:
            if found is None:
                raise NotThere(f"no row of {_key(name)} has this identity")
            return without_row(text, table, line_of(table, found))

        return _written("deleted", self._edited(name, _identity(row), edit))

    def _edited(self, name: str, identity: str, edit: Edit) -> WrittenDocument:
        return self.rows.edited(_key(name), identity, edit, requests.author(), requests.conditions(), requests.client())


def _key(name: str) -> Key:
    return Key(Kind.INVENTORY, requests.identifier(Kind.INVENTORY, name), FORMAT)


def _identity(row: str) -> str:
    """Return the identity in a path's segment. Raises `InvalidRequest`."""
    identity = identity_of(unquote_to_bytes(row).decode("utf-8", "replace"))
    if not identity:
        raise InvalidRequest("the path names no identity of a row")
    return identity


def _values(body: bytes) -> dict[str, str]:
    """Return the cells in a request's body by case-folded column. Raises `InvalidRequest`."""
    try:
        values = json.loads(body, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise InvalidRequest('the body is no JSON object of each column once, {"id": "web-01", …}') from None
    if not isinstance(values, dict):
        raise InvalidRequest('the body is no JSON object, {"id": "web-01", …}')
    for column, value in values.items():
        if not isinstance(value, str):
            raise InvalidRequest(f"column {brief(column)}: a cell is a text")
        requests.refuse_masked(value, f"column {brief(column)}")
        if "\0" in value or not _is_unicode(value):
            raise InvalidRequest(f"column {brief(column)}: the cell has a character that no inventory can hold")
    return values


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = {folded(column): value for column, value in pairs}
    if len(found) < len(pairs):
        raise ValueError
    return found


def _is_unicode(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _cells(table: Table, values: dict[str, str]) -> list[str]:
    """Return the cells of a row. Raises `InvalidRequest` for a column that the inventory has not."""
    unknown = [column for column in values if column not in table.layout.keys]
    if unknown:
        columns = ", ".join(table.layout.columns)
        raise InvalidRequest(f"there is no column {brief(unknown[0])}: the columns are {columns}")
    return in_columns(table, values)


def _conditional(tag: str) -> bottle.HTTPResponse | None:
    """Return the response to a request whose conditions the document does not meet, or whose client has it already."""
    conditions = requests.conditions()
    if conditions.if_match is not None and (fault := Conditions(conditions.if_match).fault(tag)):
        raise ConditionFailed(fault)
    return bottle.HTTPResponse(b"", NOT_MODIFIED, {"ETag": tag}) if conditions.is_not_modified(tag) else None


def _written(status: str, written: WrittenDocument) -> bottle.HTTPResponse:
    return json_response(OK, _outcome(status, written), {"ETag": written.etag})


def _outcome(status: str, written: WrittenDocument) -> dict[str, Any]:
    note_outcome(f"{status} {written.key}")
    return {"status": status, "problems": [*written.problems]}
