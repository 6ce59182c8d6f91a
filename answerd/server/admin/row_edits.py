"""Rows of an inventory: found, and changed one at a time; every other byte of the inventory stays as it is.

Used by the admin API and the console. Rules: docs/inventory.md#over-http.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gevent.lock import BoundedSemaphore

from answerd.answers.rows import inventory_file
from answerd.documents import Key, RawDocument
from answerd.inventory.records import BYTE_ORDER_MARK, UnreadableError
from answerd.inventory.rows import Row
from answerd.inventory.table import Table, read_table
from answerd.long_work import run_long
from answerd.server.admin.answers import CannotRender
from answerd.server.admin.requests import NotThere
from answerd.server.etags import UNCONDITIONAL, Conditions, etag
from answerd.server.http.responses import Client, PatientClient
from answerd.server.write_guard import ConditionFailed, WriteGuard, WrittenDocument
from answerd.store import Author

_MOST_TRIES = 5
"""Times that a row is changed anew because a write of the whole inventory, or one of another service, came first, where
the client has no condition. Those who edit rows here wait for each other."""

Edit = Callable[[str, Table, Row | None], str]
"""Makes a text of a text, with its table and the row that the change is about."""

_PATIENT = PatientClient()


class RowEdits:
    """Changes of rows. One object for all who edit rows in a process: else they would undo each other's tries."""

    def __init__(self, guard: WriteGuard) -> None:
        self.guard = guard
        self._editing = BoundedSemaphore()

    def edited(
        self,
        key: Key,
        identity: str,
        edit: Edit,
        author: Author,
        conditions: Conditions = UNCONDITIONAL,
        client: Client = _PATIENT,
    ) -> WrittenDocument:
        """Store the text that ``edit`` makes of an inventory, only if the inventory has not changed since it was
        read. Raises `NotThere`, `CannotRender`, and as `WriteGuard.put` does."""
        tries = 1 if conditions.if_match is not None else _MOST_TRIES
        with self._editing:
            while True:
                text, tag = self.tried(key, identity, edit, conditions)
                try:
                    return self.guard.put(key, text, author, Conditions(if_match=tag), client)
                except ConditionFailed:
                    tries -= 1
                    if not tries:
                        raise

    def tried(self, key: Key, identity: str, edit: Edit, conditions: Conditions = UNCONDITIONAL) -> tuple[str, str]:
        """Return the text that ``edit`` makes of an inventory, and the tag of the text that it was made of."""
        stored, body, tag = self.stored(key)
        if fault := conditions.fault(tag):
            raise ConditionFailed(fault)
        text = run_long(partial(text_of, stored, body))
        table = self.table(stored, text)
        return run_long(partial(edit, text, table, self.row(table, identity) if identity else None)), tag

    def stored(self, key: Key) -> tuple[Key, bytes, str]:
        """Return an inventory as it is stored: key, body and tag. Raises `NotThere`."""
        found = self.guard.run(self.guard.store.find, key)
        if found is None:
            raise NotThere(f"there is no {key}")
        return found.key, found.body, etag(found.revision, found.token)

    def table(self, key: Key, text: str) -> Table:
        """Return the rows of a text: those in force, where it is the text in force. Raises `CannotRender`."""
        catalogue = self.guard.follower.loader.catalogue
        inventory = catalogue.inventory
        bare = text.removeprefix(BYTE_ORDER_MARK)
        for document, table in inventory.tables.items() if inventory else ():
            if document.key.name == key.name and table.text == bare:
                return table
        source = inventory_file(RawDocument(key, ""))
        try:
            return run_long(partial(read_table, source, text, catalogue.columns))
        except UnreadableError as error:
            reason = f"{source}:{error.line}: the inventory cannot be read: {error.reason}; store it as a whole"
            raise CannotRender(reason) from None

    def row(self, table: Table, identity: str) -> Row | None:
        """Return the row of an identity, None where there is none. Raises `CannotRender` where there are several."""
        inventory = self.guard.follower.loader.catalogue.inventory
        if inventory is not None and inventory.by_layout.get(table.layout) is table:
            found = [row for row in inventory.rows_of(identity) if row.layout is table.layout]
        else:
            found = run_long(lambda: [row for row in table.rows if identity in row.identities()])
        if len(found) > 1:
            places = " and ".join(f"{table.layout.source}:{line_of(table, row)}" for row in found)
            raise CannotRender(f"{places}: rows with one identity; store the inventory as a whole")
        return found[0] if found else None


def line_of(table: Table, row: Row) -> int:
    """Return the line on which a row of a table begins."""
    return table.line_of(row) or 0


def text_of(key: Key, body: bytes) -> str:
    """Return the text of a stored inventory. Raises `CannotRender`."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise CannotRender(f"{key} is not UTF-8: store it as a whole") from None
