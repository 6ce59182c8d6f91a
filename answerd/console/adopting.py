"""Machines that nothing claims: one adopted by a row, a group or a document; many adopted by rows at once.

Rules: docs/console.md#adopting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import orjson

from answerd.adoption import MOST_ADOPTED, Adopted, Adoption, Plan, named_in, place_of
from answerd.answers.catalogue import Catalogue
from answerd.answers.one_digit_off import mistyped_in
from answerd.answers.secret_names import redacted_cells
from answerd.console.backend import Backend
from answerd.console.consequences import Consequences
from answerd.console.document_list import inventories_of
from answerd.console.editing import NotSaved, as_not_saved, digest_of
from answerd.console.inventories import is_strict, table_of
from answerd.console.near import NearRow, near_rows
from answerd.console.page_request import PageReply, PageRequest, message_page, number_in, redirect, saved_at
from answerd.console.proposals import first_row
from answerd.console.rendering import link, page
from answerd.documents import Key
from answerd.errors import StatesUnknown
from answerd.etags import UNCONDITIONAL
from answerd.formats import ALIASES
from answerd.hardware import hardware_of_labels
from answerd.identity import Kind
from answerd.installs.shown import UnknownMachine
from answerd.inventory import DEFAULT_NAME, FORMAT, file_of
from answerd.inventory.row import IDENTITY_COLUMNS, NEW_INVENTORY, Layout
from answerd.inventory.table import read_table
from answerd.long_work import run_long
from answerd.server.admin.adoption import Adoptions, digest_of_plan
from answerd.server.admin.requests import cell_fault
from answerd.server.threads import in_thread
from answerd.store import Author
from answerd.write_guard import WHENEVER

_T = TypeVar("_T")

TOLD = ("mac", "serial", "product", "manufacturer", "peer")
"""What the list says of each machine, of what it said."""


class Visitor(NamedTuple):
    """A machine that nothing claims, as the list shows it."""

    name: str
    first: float
    last: float
    asked: int
    said: Sequence[str]


class PlannedRow(NamedTuple):
    """A row that a machine would get: its name, where it is, and its cells without secrets. ``near`` are rows that are
    one digit off."""

    machine: str
    first: float
    name: str
    place: str
    is_new: bool
    cells: Sequence[str]
    near: Sequence[NearRow]


class AdoptingPages:
    """The pages of machines that nothing claims."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def show(self, request: PageRequest) -> PageReply:
        """Return the page of one machine that nothing claims, or of all."""
        return self._one(request, request.get("id")) if request.get("id") else self._many(request)

    def sent(self, request: PageRequest) -> PageReply:
        """Return the page of many with a form that was sent: what it would make of the machines, or why that was not
        made. Nothing is stored."""
        editing, adoptions, refusal = self._backend.editing, self._backend.adoptions, request.refusal
        if editing is None or adoptions is None:
            return self._many(request)
        message = "" if refusal is None else refusal.reason if refusal.is_resumed else f"Not saved: {refusal.reason}"
        problems = refusal.problems if refusal is not None else ()
        try:
            plan, tag = _planned(adoptions, _key(self._inventory(request)), asked_by(request))
        except NotSaved as error:
            return self._many(request, message=message or f"That cannot be: {error.reason}", problems=problems)
        return self._many(request, plan, tag, message=message, problems=problems)

    def change(self, request: PageRequest) -> PageReply:
        """Adopt the machines that a form names, as it was shown."""
        editing, adoptions = self._backend.editing, self._backend.adoptions
        if editing is None or adoptions is None:
            raise NotSaved("this service has no inventory that can be changed here", status=404)
        key, asked = _key(self._inventory(request)), asked_by(request)
        if request.field("strict") == "1":
            plan, _ = _planned(adoptions, key, asked)
            if plan.adopted:
                editing.refuse_strictly(editing.preview(key, plan.text, editing.seconds, plan.contacts()))
        by = Author(request.peer, request.who or None)
        with as_not_saved():
            write = partial(adoptions.made, seen=request.field("seen"))
            made = _known_states(lambda: adoptions.writes.make(WHENEVER, write, key, asked, by, UNCONDITIONAL))
        if not made.plan.adopted:
            raise NotSaved("there is no machine to adopt")
        revision = int(made.tag.strip('"').partition("-")[0])
        where = link("/console/inventory", name=key.identifier, of_change=revision)
        return redirect(saved_at(where, revision, len([*made.problems])))

    def _inventory(self, request: PageRequest) -> str:
        """Return the inventory that a page is about: the one that it names, else the one that has the most rows."""
        catalogue = self._backend.catalogue()
        names = [raw.key.identifier for raw in inventories_of(catalogue)]
        wanted = request.field("to") or request.get("to")
        if wanted in names:
            return wanted

        def size(name: str) -> int:
            _, table = table_of(catalogue, name)
            return len(table.rows) if table is not None else 0

        return max(names, key=size, default=DEFAULT_NAME)

    def _visitors(self) -> list[Visitor]:
        """Return the machines that nothing claims, in the order in which they first asked."""
        installs = self._backend.installs
        found = sorted(installs.sightings() if installs is not None else (), key=lambda one: (one.first, one.machine))
        return run_long(lambda: [_visitor(one) for one in found[:MOST_ADOPTED]])

    def _many(
        self,
        request: PageRequest,
        plan: Plan | None = None,
        tag: str = "",
        *,
        message: str = "",
        problems: Sequence[str] = (),
    ) -> PageReply:
        """Return the page of all machines that nothing claims, with what an adoption would be where it is planned."""
        catalogue, editing = self._backend.catalogue(), self._backend.editing
        inventory = self._inventory(request)
        _, table = table_of(catalogue, inventory)
        layout = (table or read_table("", NEW_INVENTORY)).layout
        columns = [
            column
            for column, key in zip(layout.columns, layout.keys, strict=True)
            if column and key not in IDENTITY_COLUMNS
        ]
        consequences: Consequences | None = None
        if editing is not None and plan is not None and plan.adopted:
            consequences = editing.preview(_key(inventory), plan.text, said=plan.contacts())
        given = dict(zip(request.form.get("column", ()), request.form.get("cell", ()), strict=False))
        body = page(
            "adopting",
            request=request,
            visitors=self._visitors(),
            chosen=frozenset(request.form.get("machine", ())) if request.form else None,
            inventories=_inventories(catalogue),
            inventory=inventory,
            file_of=file_of,
            columns=columns,
            given=given,
            has_names="id" in layout.keys,
            told=TOLD,
            plan=plan,
            planned=run_long(lambda: _rows_of(catalogue, plan)) if plan is not None else (),
            plan_columns=plan.table.layout.columns if plan is not None else (),
            left_out=plan.left_out if plan is not None else (),
            seen=digest_of_plan(plan, tag, catalogue.columns) if plan is not None else "",
            consequences=consequences,
            message=message,
            problems=problems,
            strict=is_strict(request),
            writable=editing is not None and self._backend.adoptions is not None,
        )
        return PageReply(body)

    def _one(self, request: PageRequest, name: str) -> PageReply:
        """Return the facts of a machine that nothing claims, and the ways to adopt it."""
        installs = self._backend.installs
        visitor = installs.unknown(name) if installs is not None else None
        if visitor is None:
            return message_page(request, 404, "No machine of that name has asked without being claimed.")
        catalogue = self._backend.catalogue()
        wanted, said = self._inventory(request), hardware_of_labels(visitor["facts"], visitor["machine"]).cells
        _, table = table_of(catalogue, wanted)
        layout = (table or read_table("", NEW_INVENTORY)).layout
        cells = _filled(layout.keys, said, name)
        near = run_long(lambda: near_rows(catalogue, _hardware_of(layout, cells)))
        body = page(
            "adopt",
            request=request,
            name=name,
            visitor=visitor,
            facts=[(label, ", ".join(values)) for label, values in visitor["facts"].items()],
            inventories=_inventories(catalogue),
            inventory=wanted,
            file_of=file_of,
            columns=list(zip(layout.columns, cells, strict=True)),
            near=[row for rows in near.values() for row in rows],
            digest=digest_of(layout.columns),
            row=first_row(said),
            format=format_asked_for(visitor["facts"]),
            groups=sorted(
                document.key
                for documents in catalogue.groups.values()
                for document in documents
                if document.control.overlay is None
            ),
            strict=is_strict(request),
            writable=self._backend.editing is not None,
        )
        return PageReply(body)


def asked_by(request: PageRequest) -> Adoption:
    """Return the adoption that a form asks for. Raises `NotSaved`."""
    values: dict[str, str] = {}
    for column, text in zip(request.form.get("column", ()), request.form.get("cell", ()), strict=False):
        if not text:
            continue
        if fault := cell_fault(column, text):
            raise NotSaved(fault, status=400)
        values[column] = text
    count = request.field("count").strip()
    if count and not number_in(count):
        raise NotSaved("how many machines there are to be is a whole number above zero", status=400)
    chosen = frozenset(request.form.get("machine", ()))
    if not chosen:
        raise NotSaved("choose a machine", status=400)
    return Adoption(
        request.field("pattern").strip() or None,
        values,
        tuple(line.strip() for line in request.field("said").splitlines() if line.strip()),
        number_in(count) if count else None,
        request.field("free") == "1",
        chosen,
    )


def format_asked_for(facts: Mapping[str, Sequence[str]]) -> str:
    """Return the extension of the format that a machine asked for by its path, ``toml`` where that cannot be told."""
    words = [word for path in facts.get("path", ()) for word in path.lower().split("/")]
    return next((ALIASES[word][0] for word in words if word in ALIASES), "toml")


def _key(inventory: str) -> Key:
    return Key(Kind.INVENTORY, inventory, FORMAT)


def _planned(adoptions: Adoptions, key: Key, asked: Adoption) -> tuple[Plan, str]:
    with as_not_saved():
        return _known_states(lambda: in_thread(adoptions.planned, key, asked, UNCONDITIONAL))


def _known_states(ask: Callable[[], _T]) -> _T:
    try:
        return ask()
    except StatesUnknown as error:
        raise NotSaved(error.reason, status=503) from None


def _inventories(catalogue: Catalogue) -> Sequence[str]:
    return [raw.key.identifier for raw in inventories_of(catalogue)] or [DEFAULT_NAME]


def _visitor(machine: UnknownMachine) -> Visitor:
    said: Mapping[str, Sequence[str]] = orjson.loads(machine.facts or "{}")
    told = [", ".join(said.get(label, ())) for label in TOLD]
    return Visitor(machine.machine, machine.first, machine.last, machine.asked, told)


def _rows_of(catalogue: Catalogue, plan: Plan) -> Sequence[PlannedRow]:
    layout = plan.table.layout
    own = {one.machine.machine: [*_hardware_of(layout, one.cells)] for one in plan.adopted}
    near = near_rows(catalogue, (identity for identities in own.values() for identity in identities))

    def shown(one: Adopted) -> PlannedRow:
        return PlannedRow(
            one.machine.machine,
            one.machine.first,
            named_in(plan, one),
            place_of(plan, one),
            one.line is None,
            redacted_cells(layout.columns, one.cells, catalogue.columns),
            [row for identity in own[one.machine.machine] for row in near.get(identity, ())],
        )

    return [*map(shown, plan.adopted)]


def _hardware_of(layout: Layout, cells: Sequence[str]) -> Iterator[str]:
    """Return the MAC addresses and serial numbers of a row in identity form."""
    return (identity for _, identity, _ in mistyped_in(layout, cells))


def _filled(keys: Sequence[str], cells: Mapping[str, str], name: str) -> list[str]:
    """Return the cells of a row for a machine: what it said, and its name where it said nothing that names it."""
    found = [cells.get(key, "") for key in keys]
    if not any(found) and "id" in keys:
        found[keys.index("id")] = name
    return found
