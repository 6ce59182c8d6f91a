"""An inventory as a table: searched, paged, edited row by row, uploaded with a preview; and a machine adopted by a row.

Rules: docs/console.md#inventories.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from answerd.answers.catalogue import Catalogue
from answerd.console.backend import Backend
from answerd.console.editing import Consequences, NotSaved, RowEdit, digest_of, shown_cells
from answerd.console.jobs import Kept
from answerd.console.page_request import PageReply, PageRequest, message_page, number_in, redirect, saved_at
from answerd.console.proposals import NEW_INVENTORY, cells_of, first_row
from answerd.console.rendering import ago, link, on_page, page
from answerd.console.table import inventories_of, secret_places
from answerd.documents import LARGEST_INVENTORY, Key, NotText, RawDocument, decoded
from answerd.formats import ALIASES
from answerd.identity import Kind, identifier_fault, identity_of
from answerd.inventory import DEFAULT_NAME, FORMAT, file_of
from answerd.inventory.row import Row
from answerd.inventory.table import Table, read_table
from answerd.long_work import run_long

ROWS_ON_A_PAGE = 100
MOST_PROPOSALS = 4
"""Uploaded texts that wait to be saved, of at most 16 MB each."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of the page. ``identity`` is empty where the row has none: then it cannot be edited by itself. ``digest``
    tells whether it has changed since."""

    line: int
    name: str
    identity: str
    digest: str
    cells: Sequence[str]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A whole text that was uploaded or comes from the history, and is not stored yet. ``etag`` is that of the stored
    text that it is to replace, empty where there is none."""

    key: Key
    text: str
    etag: str
    note: str


@dataclass(frozen=True, slots=True)
class View:
    """The rows that the address describes."""

    name: str
    search: str = ""
    page: int = 1
    line: int = 0
    edited: str = ""
    adds: bool = False
    shows_secrets: bool = False

    def where(self, **changes: object) -> str:
        """Return the address of this view with changes, without a row that is edited."""
        wanted = {"name": self.name, "q": self.search, "page": self.page if self.page > 1 else ""}
        return link("/console/inventory", **{**wanted, "secrets": "1" if self.shows_secrets else "", **changes})


@lru_cache(maxsize=1)
def searched_rows(table: Table) -> Sequence[str]:
    """Return what a search looks at in each row: its text without secrets and its names, case-folded. To make that of
    100,000 rows takes 20 ms, with secrets a tenth of a second."""
    secret = secret_places(table.layout)
    if not secret:
        return [f"{row.text.casefold()}\n{' '.join(row.names)}" for row in table.rows]
    return [f"{_without(secret, row).casefold()}\n{' '.join(row.names)}" for row in table.rows]


def _without(secret: Sequence[int], row: Row) -> str:
    return "\n".join(cell for at, cell in enumerate(row.cells()) if at not in secret)


class InventoryPages:
    """The pages of inventories."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._proposals: Kept[Proposal] = Kept(MOST_PROPOSALS)

    def show(self, request: PageRequest) -> PageReply:
        """Return the rows of an inventory."""
        name = request.get("name", DEFAULT_NAME)
        view = View(
            name,
            request.get("q"),
            number_in(request.get("page")) or 1,
            number_in(request.get("line")) or 0,
            request.get("edit"),
            request.get("add") == "1",
            request.get("secrets") == "1" and request.sees_secrets,
        )
        return self._page(request, view)

    def change(self, request: PageRequest) -> PageReply:
        """Preview or make a change of a row, or of the whole inventory, as a form asks."""
        name, verb = request.field("name", DEFAULT_NAME).strip(), request.field("do")
        editing, key = self._backend.editing, Key(Kind.INVENTORY, name, FORMAT)
        if editing is None or identifier_fault(Kind.INVENTORY, name):
            return self._missing(request)
        is_whole = verb == "upload" or bool(request.field("proposal"))
        if is_whole and not request.may_edit:
            return self._missing(request, 403, "To replace an inventory takes a token with the role admin.")
        view = View(name, edited=request.field("row"), adds=not request.field("row"))
        if verb == "upload":
            return self._uploaded(request, key)
        proposal = self._proposals.get(request.field("proposal"))
        by = request.author
        try:
            if is_whole:
                if proposal is None:
                    raise NotSaved("this text is not kept any more: upload it again")
                note = by.note or proposal.note
                saved = editing.save(proposal.key, proposal.text, proposal.etag, replace(by, note=note))
                self._proposals.drop(request.field("proposal"))
                return redirect(saved_at(View(name).where(), saved.revision))
            edit = _row_edit(request, removes=verb.endswith("delete"))
            if verb.startswith("preview"):
                found = editing.preview_row(key, edit)
                return self._page(request, view, consequences=found, given=edit.cells, removes=edit.cells is None)
            saved = editing.edit_row(key, edit, by)
        except NotSaved as error:
            message = f"Not saved: {error.reason}"
            if error.is_conflict and (last := editing.last_change(key)) is not None:
                message += f" ({last.who}, {ago(last.when)})"
            given = None if error.is_conflict else request.form.get("cell")
            return self._page(request, view, message=message, problems=error.problems, given=given, status=409)
        back = request.field("back")
        is_own = back.startswith(("/console/inventory?", "/console/machine?"))
        return redirect(saved_at(back if is_own else View(name).where(), saved.revision))

    def proposed(self, request: PageRequest, key: Key, text: str, etag: str, note: str, message: str) -> PageReply:
        """Return the inventory with what storing another text would change; nothing is stored."""
        editing = self._backend.editing
        if editing is None:
            return self._missing(request)
        name, found = self._proposals.keep(Proposal(key, text, etag, note)), editing.preview(key, text)
        shown, failed = View(key.identifier), bool(found.refused)
        return self._page(request, shown, consequences=found, message=message, proposal=name, failed=failed)

    def adopt(self, request: PageRequest) -> PageReply:
        """Return the facts of a machine that nothing claims, and the ways to adopt it."""
        installs, name = self._backend.installs, request.get("id")
        visitor = installs.unknown(name) if installs is not None else None
        if visitor is None:
            return self._missing(request, 404, "No machine of that name has asked without being claimed.")
        catalogue = self._backend.catalogue()
        inventories = [raw.key.identifier for raw in inventories_of(catalogue)] or [DEFAULT_NAME]
        wanted = request.get("to") if request.get("to") in inventories else inventories[0]
        cells, (_, table) = cells_of(visitor["facts"]), _inventory(catalogue, wanted)
        layout = (table or read_table("", NEW_INVENTORY)).layout
        body = page(
            "adopt",
            request=request,
            name=name,
            visitor=visitor,
            facts=[(label, ", ".join(values)) for label, values in visitor["facts"].items()],
            inventories=[(inventory, file_of(inventory)) for inventory in inventories],
            inventory=wanted,
            file_of=file_of,
            columns=list(zip(layout.columns, _filled(layout.keys, cells, name), strict=True)),
            digest=digest_of(layout.columns),
            row=first_row(cells),
            format=format_asked_for(visitor["facts"]),
            groups=sorted(document.key for documents in catalogue.groups.values() for document in documents),
            writable=self._backend.editing is not None,
        )
        return PageReply(body)

    def _uploaded(self, request: PageRequest, key: Key) -> PageReply:
        content, editing = request.files.get("file", b""), self._backend.editing
        try:
            if editing is None or not content:
                raise NotSaved("choose a file of CSV first")
            if len(content) > LARGEST_INVENTORY:
                raise NotSaved(f"an inventory has at most {LARGEST_INVENTORY:,} bytes")
            text = run_long(lambda: decoded(Kind.INVENTORY, content))
            stored = editing.find(key)
        except NotText as error:
            return self._page(request, View(key.identifier), message=f"Not read: the file {error}", status=400)
        except NotSaved as error:
            return self._page(request, View(key.identifier), message=f"Not read: {error.reason}", status=400)
        key, etag = (stored.key, stored.etag) if stored is not None else (key, "")
        message = "The file was read. Nothing is stored yet: see what it would change, then save it."
        return self.proposed(request, key, text, etag, request.field("note").strip(), message)

    def _page(
        self,
        request: PageRequest,
        view: View,
        *,
        consequences: Consequences | None = None,
        given: Sequence[str] | None = None,
        removes: bool = False,
        message: str = "",
        problems: Sequence[str] = (),
        proposal: str = "",
        failed: bool = True,
        status: int = 200,
    ) -> PageReply:
        """Return the table. ``given``: the cells of the row that is edited, as a form had them."""
        catalogue, editing = self._backend.catalogue(), self._backend.editing
        raw, table = _inventory(catalogue, view.name)
        if raw is None and (editing is None or not request.may_edit):
            return self._missing(request)
        rows: list[ShownRow] = []
        found, pages, at = 0, 1, 1
        if table is not None:
            shown = table
            rows, found, pages, at = run_long(lambda: _rows(catalogue, shown, view))
        edited = next((row for row in rows if row.identity and row.identity == identity_of(view.edited)), None)
        fault = catalogue.inventory.unreadable.get(raw, "") if catalogue.inventory is not None and raw else ""
        body = page(
            "inventory",
            request=request,
            view=replace(view, page=at),
            file=file_of(raw.key.identifier if raw is not None else view.name),
            columns=table.layout.columns if table is not None else (),
            digest=digest_of(table.layout.columns) if table is not None else "",
            rows=rows,
            found=found,
            total=len(table.rows) if table is not None else 0,
            pages=pages,
            edited=edited,
            given=given,
            exists=raw is not None,
            holds_secrets=request.sees_secrets and table is not None and bool(secret_places(table.layout)),
            fault=fault,
            writable=editing is not None,
            consequences=consequences,
            verb="delete" if removes else "save",
            message=message,
            problems=problems,
            failed=failed,
            proposal=proposal,
            history=link("/console/document", kind="inventory", name=view.name, format=FORMAT, **{"as": "text"}),
        )
        return PageReply(body, status)

    def _missing(
        self, request: PageRequest, status: int = 404, message: str = "There is no such inventory here."
    ) -> PageReply:
        return message_page(request, status, message)


def format_asked_for(facts: Mapping[str, Sequence[str]]) -> str:
    """Return the extension of the format that a machine asked for by its path, ``toml`` where that cannot be told."""
    words = [word for path in facts.get("path", ()) for word in path.lower().split("/")]
    return next((ALIASES[word][0] for word in words if word in ALIASES), "toml")


def _inventory(catalogue: Catalogue, name: str) -> tuple[RawDocument | None, Table | None]:
    """Return an inventory and its rows; None where there is none, or it cannot be read."""
    key = Key(Kind.INVENTORY, name, FORMAT)
    raw = next((raw for raw in inventories_of(catalogue) if raw.key.name == key.name), None)
    return raw, catalogue.inventory.tables.get(raw) if catalogue.inventory is not None and raw is not None else None


def _filled(keys: Sequence[str], cells: dict[str, str], name: str) -> list[str]:
    """Return the cells of a row for a machine: what it said, and its name where it said nothing that names it."""
    found = [cells.get(key, "") for key in keys]
    if not any(found) and "id" in keys:
        found[keys.index("id")] = name
    return found


def _row_edit(request: PageRequest, *, removes: bool) -> RowEdit:
    # A browser sends line ends as CR LF.
    cells = None if removes else tuple(cell.replace("\r\n", "\n") for cell in request.form.get("cell", ()))
    return RowEdit(identity_of(request.field("row")), request.field("was"), request.field("columns"), cells)


def _rows(catalogue: Catalogue, table: Table, view: View) -> tuple[list[ShownRow], int, int, int]:
    """Return the rows of a view, how many it has in all, on how many pages, and which page this is; the row that is
    edited comes first where it is on another."""
    places: Sequence[int] = range(len(table.rows))
    if view.search:
        text, bare = view.search.casefold(), identity_of(view.search)
        bare = bare if len(bare) > 1 else text
        places = [at for at, searched in enumerate(searched_rows(table)) if text in searched or bare in searched]
    pages, page_number = on_page(len(places), view.page, ROWS_ON_A_PAGE)
    if view.line and not view.search:
        page_number = max(0, bisect_right(table.lines, view.line) - 1) // ROWS_ON_A_PAGE + 1
    shown = list(places[(page_number - 1) * ROWS_ON_A_PAGE : page_number * ROWS_ON_A_PAGE])
    inventory = catalogue.inventory
    if view.edited and inventory is not None:
        own = [row for row in inventory.rows_of(identity_of(view.edited)) if row.layout is table.layout]
        lines = {table.lines[at] for at in shown}
        for row in own:
            line = table.line_of(row)
            if line is not None and line not in lines:
                shown.insert(0, bisect_right(table.lines, line) - 1)
    faulty = inventory.faulty if inventory is not None else {}
    rows = []
    for at in shown:
        row = table.rows[at]
        cells = row.cells() if view.shows_secrets else shown_cells(row, catalogue.columns)
        identity = next(iter(row.identities()), "")
        rows.append(ShownRow(table.lines[at], row.name, identity, digest_of(cells), cells, faulty.get(row, "")))
    return rows, len(places), pages, page_number
