"""An inventory as a table: searched, paged, edited row by row, many rows pasted or uploaded with a preview.

Rules: docs/console.md#inventories.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.secret_names import redacted_cells
from answerd.console.backend import Backend
from answerd.console.bulk import (
    Merged,
    Mode,
    Pasted,
    is_of,
    merged,
    pasted,
    proposed_targets,
    rows_changed,
    why_no_text,
)
from answerd.console.consequences import Consequences
from answerd.console.editing import Editing, NotSaved, RowEdit, digest_of
from answerd.console.jobs import Kept
from answerd.console.machine_lines import secret_places
from answerd.console.near import NearRow, near_rows
from answerd.console.page_request import PageReply, PageRequest, message_page, number_in, redirect, saved_at
from answerd.console.rendering import ago, counted, link, on_page, page
from answerd.documents import LARGEST_INVENTORY, Key, NotText, RawDocument, decoded
from answerd.identity import Kind, identifier_fault, identity_of
from answerd.inventory import DEFAULT_NAME, FORMAT, file_of
from answerd.inventory.records import UnreadableError
from answerd.inventory.row import Row
from answerd.inventory.table import Table
from answerd.long_work import run_long

ROWS_ON_A_PAGE = 100
MOST_PROPOSALS = 64
MOST_PROPOSED = 4 * LARGEST_INVENTORY
"""Texts that wait to be saved, and their bytes."""

LARGEST_PASTED = 500_000
"""Characters of rows that their page shows as one text, to be mended there."""

MOST_ROWS_SHOWN = 200
"""Rows of a page of what was pasted: those with faults come first."""


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
    text that it is to replace, empty where there is none. ``message`` says where it comes from. ``mode``: it was pasted
    or uploaded, and its rows are to be added, updated or put in place of all; None where it is a whole inventory."""

    key: Key
    text: str
    etag: str
    note: str
    message: str
    mode: Mode | None = None


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
    of_change: int = 0

    def where(self, **changes: object) -> str:
        """Return the address of this view with changes, without a row that is edited."""
        wanted = {"name": self.name, "q": self.search, "page": self.page if self.page > 1 else ""}
        wanted["of_change"] = self.of_change or ""
        return link("/console/inventory", **{**wanted, "secrets": "1" if self.shows_secrets else "", **changes})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a form, which a page says beside the rows of an inventory: what a change would do, where ``removes``
    says that it is a removal; or a ``message`` with ``problems``, where ``failed`` says that a change was not made.
    ``given`` are the cells of the row that is edited, as the form had them, ``pasted`` the rows that it had;
    ``proposal`` is the name of a text that is kept."""

    consequences: Consequences | None = None
    given: Sequence[str] | None = None
    removes: bool = False
    message: str = ""
    problems: Sequence[str] = ()
    proposal: str = ""
    pasted: str = ""
    failed: bool = True


NO_OUTCOME = Outcome()


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
        self._proposals: Kept[Proposal] = Kept(MOST_PROPOSALS, MOST_PROPOSED)

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
            number_in(request.get("of_change")) or 0,
        )
        return self._page(request, view)

    def sent(self, request: PageRequest) -> PageReply:
        """Return the inventory with a row that was sent: its preview, or why it was not saved. Nothing is stored."""
        name, verb, refusal = request.field("name", DEFAULT_NAME).strip(), request.field("do"), request.refusal
        editing, key = self._backend.editing, Key(Kind.INVENTORY, name, FORMAT)
        if editing is None or identifier_fault(Kind.INVENTORY, name):
            return self._missing(request)
        view = View(name, edited=request.field("row"), adds=not request.field("row"))
        if request.field("proposal"):
            return self.proposal(request)
        if verb == "upload":
            reason = refusal.reason if refusal is not None else "choose a file first"
            message = reason if refusal is not None and refusal.is_resumed else f"Not read: {reason}"
            return self._page(
                request, View(name), Outcome(message=message, pasted=request.field("text") or request.field("file"))
            )
        if refusal is None:
            edit = _row_edit(request, removes=verb == "preview-delete")
            found = editing.preview_row(key, edit)
            return self._page(request, view, Outcome(consequences=found, given=edit.cells, removes=edit.cells is None))
        message = refusal.reason if refusal.is_resumed else f"Not saved: {refusal.reason}"
        if refusal.is_conflict and (last := editing.last_change(key)) is not None:
            message += f" ({last.who}, {ago(last.when)})"
        given = request.form.get("cell")
        return self._page(request, view, Outcome(message=message, problems=refusal.problems, given=given))

    def change(self, request: PageRequest) -> PageReply:
        """Make a change of a row, or of the whole inventory, as a form asks; keep a file that was uploaded."""
        name, verb = request.field("name", DEFAULT_NAME).strip(), request.field("do")
        editing, key, by = self._backend.editing, Key(Kind.INVENTORY, name, FORMAT), request.author
        if editing is None or identifier_fault(Kind.INVENTORY, name):
            raise NotSaved("there is no such inventory here", status=404)
        if verb == "upload":
            return self._uploaded(request, key)
        if request.field("proposal"):
            return self._save_proposal(request, editing)
        edit, strict = _row_edit(request, removes=verb == "delete"), request.field("strict") == "1"
        saved = editing.edit_row(key, edit, by, strict=strict)
        back = request.field("back")
        is_own = back.startswith(("/console/inventory?", "/console/machine?"))
        return redirect(saved_at(back if is_own else View(name).where(), saved.revision))

    def _save_proposal(self, request: PageRequest, editing: Editing) -> PageReply:
        """Store the rows that were pasted or uploaded, or another text of an inventory."""
        proposal = self._proposals.get(request.field("proposal"))
        if proposal is None:
            raise NotSaved("this text is not kept any more: paste or upload it again")
        mode = _mode_of(request.field("mode"), proposal.mode)
        if (mode is None or mode is Mode.REPLACE) and not request.may_edit:
            raise NotSaved("to replace an inventory takes a token with the role admin", status=403)
        key, text, etag = proposal.key, proposal.text, proposal.etag
        if mode is not None:
            change = self._merged(proposal, request.form.get("to", ()), mode)
            if change.faults:
                raise NotSaved(f"{counted(len(change.faults), 'cell')} of these rows cannot be so")
            text = change.text
            if mode is not Mode.REPLACE:  # what others changed meanwhile stays
                stored = editing.find(key)
                etag = stored.etag if stored is not None else ""
        note = request.author.note or proposal.note
        strict = request.field("strict") == "1"
        saved = editing.save(key, text, etag, replace(request.author, note=note), strict=strict)
        self._proposals.drop(request.field("proposal"))
        of_change = mode is Mode.ADD or mode is Mode.UPDATE
        where = View(key.identifier, of_change=saved.revision if of_change else 0).where()
        return redirect(saved_at(where, saved.revision))

    def _merged(self, proposal: Proposal, to: Sequence[str], mode: Mode) -> Merged:
        """Return an inventory with the rows of a proposal, whose columns go ``to`` others. Raises `NotSaved`."""
        catalogue = self._backend.catalogue()
        raw, table = table_of(catalogue, proposal.key.identifier)
        index, meaning = catalogue.inventory, catalogue.meaning_of(proposal.key.identifier)

        def work() -> Merged:
            given = pasted(proposal.text)
            if mode is Mode.REPLACE and (table is None or not to or [*to] == [*given.columns]):
                found = merged(index, "", table, given, given.columns, mode, meaning)
                return replace(found, text=proposal.text)  # the file as it is
            targets = to or proposed_targets(given, table)
            return merged(index, raw.text if raw is not None else "", table, given, targets, mode, meaning)

        try:
            return run_long(work)
        except UnreadableError as error:
            raise NotSaved(str(error), status=400) from None

    def proposal(self, request: PageRequest) -> PageReply:
        """Return what storing a text that is kept would change; nothing is stored."""
        editing, refusal = self._backend.editing, request.refusal
        name = request.field("proposal") or request.get("of")
        kept = self._proposals.get(name)
        if editing is None or kept is None:
            return self._missing(request, message="This text is not kept any more: paste or upload it again.")
        message = f"Not saved: {refusal.reason}" if refusal is not None and not refusal.is_resumed else kept.message
        if kept.mode is not None:
            return self._many(request, editing, name, kept, message)
        found = editing.preview(kept.key, kept.text)
        failed = bool(found.refused) or message != kept.message
        view = View(kept.key.identifier)
        return self._page(request, view, Outcome(consequences=found, message=message, proposal=name, failed=failed))

    def _many(self, request: PageRequest, editing: Editing, name: str, kept: Proposal, message: str) -> PageReply:
        """Return the rows that were pasted or uploaded: where their columns go, what is wrong in which cell, and what
        storing them would change."""
        sent = request.form or request.query
        mode = _mode_of(next(iter(sent.get("mode", ())), ""), kept.mode) or Mode.ADD
        catalogue = self._backend.catalogue()
        _, table = table_of(catalogue, kept.key.identifier)
        given, change, fault, consequences = None, None, "", None
        near: Mapping[tuple[int, int], Sequence[NearRow]] = {}
        to = sent.get("to", ())
        try:
            given = run_long(lambda: pasted(kept.text))
            to = (
                to or run_long(lambda: proposed_targets(given, table))
                if mode is not Mode.REPLACE
                else to or given.columns
            )
            change = self._merged(kept, to, mode)
        except UnreadableError as error:
            fault = str(error)
        except NotSaved as error:
            fault = error.reason
        if change is not None and not change.faults:
            consequences = editing.preview(kept.key, change.text)
        if change is not None:
            near = run_long(partial(_near_cells, catalogue, change.hardware))
        body = page(
            "bulk",
            request=request,
            name=kept.key.identifier,
            file=file_of(kept.key.identifier),
            of=name,
            kept=kept,
            text=kept.text if len(kept.text) <= LARGEST_PASTED else "",
            modes=[*Mode] if request.may_edit else [Mode.ADD, Mode.UPDATE],
            mode=mode,
            given=given,
            to=to,
            is_mapped=bool(sent.get("to")),
            columns=table.layout.columns if table is not None else (),
            change=change,
            near=near,
            shown=_shown_rows(given, change, near, catalogue.columns) if given is not None else (),
            strict=is_strict(request),
            fault=fault,
            message=message,
            failed=message != kept.message,
            consequences=consequences,
        )
        return PageReply(body)

    def proposed(self, key: Key, text: str, etag: str, note: str, message: str) -> PageReply:
        """Keep another text of an inventory; return the redirect to what storing it would change."""
        name = self._proposals.keep(Proposal(key, text, etag, note, message), len(text))
        return redirect(link("/console/inventory/proposal", of=name))

    def _uploaded(self, request: PageRequest, key: Key) -> PageReply:
        editing = self._backend.editing
        content = request.files.get("file", b"") or request.field("text").replace("\r\n", "\n").encode()
        mode = _mode_of(request.field("mode"), Mode.ADD) or Mode.ADD
        if mode is Mode.REPLACE and not request.may_edit:
            raise NotSaved("to replace an inventory takes a token with the role admin", status=403)
        if editing is None or not content.strip():
            raise NotSaved("paste rows, or choose a file of CSV", status=400)
        if reason := why_no_text(content):
            raise NotSaved(reason, status=400)
        if len(content) > LARGEST_INVENTORY:
            raise NotSaved(f"an inventory has at most {LARGEST_INVENTORY:,} bytes", status=400)
        try:
            text = run_long(lambda: decoded(Kind.INVENTORY, content))
        except NotText as error:
            raise NotSaved(f"the file {error}", status=400) from None
        stored = editing.find(key)
        key, etag = (stored.key, stored.etag) if stored is not None else (key, "")
        message = "Nothing is stored yet: see what these rows would change, then save them."
        name = self._proposals.keep(Proposal(key, text, etag, request.field("note").strip(), message, mode), len(text))
        return redirect(link("/console/inventory/proposal", of=name))

    def _page(self, request: PageRequest, view: View, outcome: Outcome = NO_OUTCOME) -> PageReply:
        """Return the table."""
        catalogue, editing = self._backend.catalogue(), self._backend.editing
        raw, table = table_of(catalogue, view.name)
        if raw is None and (editing is None or not request.may_edit):
            return self._missing(request)
        rows: list[ShownRow] = []
        found, pages, at = 0, 1, 1
        if table is not None:
            shown = table
            change = editing.change(view.of_change) if editing is not None and view.of_change else None
            texts = rows_changed(change.before or "", change.after or "") if change is not None else None
            rows, found, pages, at = run_long(lambda: _rows(catalogue, shown, view, texts))
        edited = next((row for row in rows if row.identity and row.identity == identity_of(view.edited)), None)
        if edited is None and view.edited and outcome.given is not None:  # it was removed meanwhile
            view = replace(view, adds=True)
        given = outcome.given
        gone: Sequence[tuple[str, str]] = ()
        if given is not None and table is not None:
            given, gone = _in_these_columns(request.form.get("column", ()), given, table.layout.columns)
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
            gone=gone,
            draft=request.field("draft") or f"row {view.name} {identity_of(view.edited) or 'new'}",
            exists=raw is not None,
            holds_secrets=request.sees_secrets and table is not None and bool(secret_places(table.layout)),
            fault=fault,
            writable=editing is not None,
            consequences=outcome.consequences,
            verb="delete" if outcome.removes else "save",
            message=outcome.message,
            problems=outcome.problems,
            failed=outcome.failed,
            proposal=outcome.proposal,
            pasted=outcome.pasted if len(outcome.pasted) <= LARGEST_PASTED and "\ufffd" not in outcome.pasted else "",
            mode=_mode_of(request.field("mode"), Mode.ADD),
            strict=is_strict(request),
            history=link("/console/document", kind="inventory", name=view.name, format=FORMAT, **{"as": "text"}),
        )
        return PageReply(body)

    def _missing(
        self, request: PageRequest, status: int = 404, message: str = "There is no such inventory here."
    ) -> PageReply:
        return message_page(request, status, message)


def table_of(catalogue: Catalogue, name: str) -> tuple[RawDocument | None, Table | None]:
    """Return an inventory and its rows; None where there is none, or it cannot be read."""
    raw = catalogue.raw_of(Key(Kind.INVENTORY, name, FORMAT).name)
    return raw, catalogue.inventory.tables.get(raw) if catalogue.inventory is not None and raw is not None else None


def is_strict(request: PageRequest) -> bool:
    """Return whether a form asks that nothing is saved which an installer would refuse; it does at first."""
    return request.field("strict") == "1" or not request.form


def _mode_of(word: str, otherwise: Mode | None) -> Mode | None:
    return Mode(word) if word in [*Mode] else otherwise


class PastedRow(NamedTuple):
    """A row that was pasted: its number among them, its line, its cells without secrets, and faults by column."""

    number: int
    line: int
    cells: Sequence[str]
    faults: Mapping[int, str]


def _shown_rows(
    given: Pasted, change: Merged | None, near: Mapping[tuple[int, int], object], labels: Mapping[str, str]
) -> Sequence[PastedRow]:
    """Return the rows that a page shows: those with faults come first, then those that are one digit off."""
    faults: dict[int, dict[int, str]] = {}
    for (number, at), fault in change.faults.items() if change is not None else ():
        faults.setdefault(number, {})[at] = fault
    numbers = dict.fromkeys((*faults, *(number for number, _ in near), *range(len(given.rows))))
    found = []
    for number in [*numbers][:MOST_ROWS_SHOWN]:
        cells = [*given.rows[number], *[""] * len(given.columns)][: len(given.columns)]
        shown = redacted_cells(given.columns, cells, labels)
        found.append(PastedRow(number, given.lines[number], shown, faults.get(number, {})))
    return found


def _near_cells(
    catalogue: Catalogue, hardware: Mapping[tuple[int, int], Sequence[str]]
) -> Mapping[tuple[int, int], Sequence[NearRow]]:
    """Return the rows of the set that cells are one digit off, by the row and the column of the cell."""
    near = near_rows(catalogue, (one for identities in hardware.values() for one in identities))
    found = {place: [row for one in own for row in near.get(one, ())] for place, own in hardware.items()}
    return {place: rows for place, rows in found.items() if rows}


def _in_these_columns(
    names: Sequence[str], cells: Sequence[str], columns: Sequence[str]
) -> tuple[Sequence[str], Sequence[tuple[str, str]]]:
    """Return the cells of a form in the columns that there are now, and what it has in columns that are gone."""
    if not names or tuple(names) == tuple(columns) or len(names) != len(cells):
        return cells, ()
    given = dict(zip(names, cells, strict=True))
    gone = [(name, cell) for name, cell in given.items() if name not in columns and cell]
    return [given.get(column, "") for column in columns], gone


def _row_edit(request: PageRequest, *, removes: bool) -> RowEdit:
    # A browser sends line ends as CR LF.
    cells = None if removes else tuple(cell.replace("\r\n", "\n") for cell in request.form.get("cell", ()))
    return RowEdit(identity_of(request.field("row")), request.field("was"), request.field("columns"), cells)


def _rows(
    catalogue: Catalogue, table: Table, view: View, of: set[str] | None = None
) -> tuple[list[ShownRow], int, int, int]:
    """Return the rows of a view, how many it has in all, on how many pages, and which page this is; the row that is
    edited comes first where it is on another."""
    places: Sequence[int] = range(len(table.rows))
    if of is not None:
        places = [at for at in places if is_of(table.rows[at], of)]
    if view.search:
        text, bare = view.search.casefold(), identity_of(view.search)
        bare = bare if len(bare) > 1 else text
        searched = searched_rows(table)
        places = [at for at in places if text in searched[at] or bare in searched[at]]
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
        cells = (
            row.cells() if view.shows_secrets else redacted_cells(table.layout.columns, row.cells(), catalogue.columns)
        )
        identity = next(iter(row.identities()), "")
        rows.append(ShownRow(table.lines[at], row.name, identity, digest_of(cells), cells, faulty.get(row, "")))
    return rows, len(places), pages, page_number
