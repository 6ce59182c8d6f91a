"""The page of all machines, and the orders that are given from it: each is confirmed first, and can be undone after.

Rules: docs/console.md#machines.
"""

from __future__ import annotations

import csv
import io
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from answerd.console import grid
from answerd.console.backend import Backend, CurrentStates, Installs
from answerd.console.editing import NotSaved
from answerd.console.grid import grid_of
from answerd.console.jobs import Kept
from answerd.console.page_request import PageReply, PageRequest, message_page, number_in, pairs, redirect
from answerd.console.rendering import counted, link, page
from answerd.console.table import OWN_COLUMNS, STATES, Machine, MachinesFound, MachinesView, Tables
from answerd.formats import FORMATS
from answerd.identity import identity_of
from answerd.installs.states import Order, State
from answerd.inventory.records import is_formula
from answerd.long_work import run_long

HERE = "/console/machines"
ORDERED = {Order.ARM: "armed", Order.DISARM: "disarmed", Order.FORGET: "forgotten"}
TOLD = (
    ("Place", ("site", "room", "row", "rack", "unit", "position", "slot", "location")),
    ("Address", ("address", "addr", "ip", "ipv4", "cidr", "ipv6")),
    ("Disk", ("disk", "disks", "root_disk", "install_disk", "target_disk")),
)
"""What a confirmation says of each machine, by the labels of its row."""

NAMES_SHOWN = 500
_LOOKS = ("column", "view", "by", "sort", "desc")
"""The parameters of a view that do not say which machines it has."""

MOST_KEPT = 64
"""Orders that wait to be confirmed, or may be undone."""


@dataclass(frozen=True, slots=True)
class Given:
    """An order and its machines: to be confirmed, or given. ``undone_by`` is the order that takes it back, for the
    machines of ``undoes``; None where there is none."""

    order: Order
    names: Sequence[str]
    undone_by: Order | None = None
    undoes: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        """``10 machines armed``."""
        return f"{counted(len(self.names), 'machine')} {ORDERED[self.order]}"


class MachinesPages:
    """The table of machines, and orders."""

    def __init__(self, backend: Backend, tables: Tables) -> None:
        self._backend = backend
        self._tables = tables
        self._orders: Kept[Given] = Kept(MOST_KEPT)

    def show(self, request: PageRequest) -> PageReply:
        """Return the table of machines that the address describes."""
        view, states, table = self._view(request.query), self._backend.states(), self._tables.current()
        if table is None:
            return waiting(request, "Machines", HERE, self._backend.catalogue().size)
        shown: MachinesFound = run_long(lambda: table.machines(view, states))
        body = page(
            "machines",
            request=request,
            view=view,
            shown=shown,
            grid=run_long(lambda: grid_of(table, view, states)) if view.as_grid else None,
            drawn=grid,
            is_current=self._tables.is_current,
            states=STATES if states is not None else (),
            formats=tuple(FORMATS),
            columns=dict.fromkeys((*shown.columns, *OWN_COLUMNS)),
            is_paged=shown.found > len(shown.machines),
            has_states=states is not None,
            done=self.done(request),
            notice=request.get("done"),
        )
        return PageReply(body)

    def as_csv(self, request: PageRequest) -> PageReply:
        """Return the machines that the address describes, of all pages, as a table for a spreadsheet."""
        view, states, table = self._view(request.query), self._backend.states(), self._tables.current()
        if table is None:
            return message_page(request, 503, "The list is being made: try again in a moment.")
        body = run_long(lambda: _csv(table.all_machines(view, states), table.shown(view)))
        name = f'attachment; filename="machines-{time.strftime("%Y-%m-%d", time.gmtime())}.csv"'
        return PageReply(body, content_type="text/csv; charset=utf-8", headers=(("Content-Disposition", name),))

    def asked(self, request: PageRequest) -> PageReply:
        """Return the question whether an order is meant, or why it was not given. Nothing is changed."""
        verb, where, refusal = request.field("do"), _back_of(request), request.refusal
        if self._backend.installs is None:
            raise NotSaved("this service keeps no states")
        if verb in ORDERED:
            return self._asked(request, Order(verb), where)
        given = self._orders.get(request.field("given"))
        if verb == "confirm" and given is not None and (refusal is None or refusal.is_resumed):
            return self._question(request, given, where, request.field("given"))
        reason = refusal.reason if refusal is not None and not refusal.is_resumed else "that cannot be done here"
        return message_page(request, 409, reason)

    def order(self, request: PageRequest) -> PageReply:
        """Give an order that is confirmed, or take one back; then go back to the page it comes from."""
        verb, where = request.field("do"), _back_of(request)
        given, installs = self._orders.get(request.field("given")), self._backend.installs
        if installs is None:
            raise NotSaved("this service keeps no states")
        if given is None:
            raise NotSaved("that order is not kept any more: give it again")
        if verb == "confirm":
            return self._give(installs, request, given, where)
        if given.undone_by is None:
            raise NotSaved("that cannot be done here")
        return self._undo(installs, request, given, given.undone_by, where)

    def done(self, request: PageRequest) -> Given | None:
        """Return the order that the page before has given."""
        return self._orders.get(request.get("done")) if request.may_operate else None

    def _asked(self, request: PageRequest, order: Order, where: str) -> PageReply:
        """Return the question whether an order is meant, with the machines that it is for."""
        names: Sequence[str] = list(dict.fromkeys(request.form.get("machine", ())))
        states = self._backend.states()
        if request.field("all") == "1":
            view, table = self._view(pairs(urlsplit(where).query)), self._tables.current()
            names = run_long(lambda: table.names(view, states)) if table is not None else ()
        if not names:
            words = f"Choose machines first, then press {order.value.capitalize()}."
            return message_page(request, 400, words, "No machine is chosen")
        return self._question(request, Given(order, names), where)

    def _question(self, request: PageRequest, given: Given, where: str, kept: str = "") -> PageReply:
        """Return the question whether an order is meant; ``kept`` is its name where it is kept already."""
        states, names = self._backend.states(), given.names
        found = Counter(_state_of(states, name).value for name in names)
        body = page(
            "confirm",
            request=request,
            order=given.order.value,
            names=names[:NAMES_SHOWN],
            count=len(names),
            states=found.most_common(),
            given=kept or self._orders.keep(given),
            back=where,
            hit=[self._hit(states, name) for name in names[:NAMES_SHOWN]],
            told=[word for word, _ in TOLD],
        )
        return PageReply(body)

    def _hit(self, states: CurrentStates | None, name: str) -> tuple[str, str, Sequence[str]]:
        """Return name, state, and what the row of a machine says of where it is and what an install would erase."""
        inventory = self._backend.catalogue().inventory
        rows = inventory.rows_of(identity_of(name)) if inventory is not None else ()
        values = rows[0].values() if len(rows) == 1 else {}
        told = [" ".join(", ".join(values[label]) for label in labels if label in values) for _, labels in TOLD]
        return name, _state_of(states, name).value, told

    def _give(self, installs: Installs, request: PageRequest, given: Given, where: str) -> PageReply:
        states = self._backend.states()
        undone_by = {Order.ARM: Order.DISARM, Order.DISARM: Order.ARM}.get(given.order)
        # What disarming takes back is that a machine was armed; arming leads from every state to armed.
        is_undone = [name for name in given.names if given.order is Order.ARM or _state_of(states, name) is State.ARMED]
        installs.change(given.order, given.names, request.who, request.peer)
        self._orders.drop(request.field("given"))
        return self._go_back(where, Given(given.order, given.names, undone_by if is_undone else None, is_undone))

    def _undo(self, installs: Installs, request: PageRequest, given: Given, order: Order, where: str) -> PageReply:
        states = self._backend.states()
        names = [name for name in given.undoes if order is Order.ARM or _state_of(states, name) is State.ARMED]
        if not names:
            raise NotSaved("none of these machines is armed any more: look at each before anything is undone")
        installs.change(order, names, request.who, request.peer)
        self._orders.drop(request.field("given"))
        return self._go_back(where, Given(order, names))

    def _view(self, query: Mapping[str, Sequence[str]]) -> MachinesView:
        """Return the view that the parameters of an address describe, with the machines of the order that it names."""
        view = view_of(query)
        given = self._orders.get(view.order)
        return replace(view, of_order=given.names) if given is not None else view

    def _go_back(self, where: str, given: Given) -> PageReply:
        """Return the way to the page that an order comes from. Where that is a list that has none of the machines any
        more, because they are in another state, it is the list of these."""
        address, _, query = where.partition("?")
        kept = self._orders.keep(given)
        parameters = {name: values for name, values in pairs(query).items() if name != "done"}
        table, states = self._tables.current(), self._backend.states()
        if address == HERE and table is not None:
            these = {name: values for name, values in parameters.items() if name in _LOOKS} | {"order": [kept]}
            before, after = self._view(parameters), self._view(these)
            names, found = run_long(lambda: (table.names(before, states), table.names(after, states)))
            if found and {*names}.isdisjoint(found):
                parameters = these
        return redirect(link(address, **parameters, done=kept))


def _back_of(request: PageRequest) -> str:
    """Return the page that an order comes from."""
    where = request.field("back")
    return where if where.startswith("/console/machine") else HERE


def _state_of(states: CurrentStates | None, name: str) -> State:
    return states.state_of(name) if states is not None else State.NEW


def _csv(machines: Iterable[Machine], columns: Sequence[str]) -> bytes:
    """Return machines as CSV with a header. Times are UTC in ISO 8601."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(["machine", "state", "since", "percent", "message", *columns])
    for machine in machines:
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(machine.since)) if machine.since else ""
        percent = "" if machine.percent is None else f"{machine.percent:g}"
        texts = [machine.name, machine.state, since, percent, machine.message, *machine.cells]
        writer.writerow([f"'{cell}" if is_formula(cell) else cell for cell in texts])
    return text.getvalue().encode("utf-8", "replace")


def view_of(query: Mapping[str, Sequence[str]]) -> MachinesView:
    """Return the view that the parameters of an address describe."""
    given = {name: values[0].strip() for name, values in query.items() if values}
    return MachinesView(
        given.get("q", ""),
        given.get("state", ""),
        given.get("group", ""),
        given.get("format", ""),
        given.get("sort", "name"),
        given.get("desc") == "1",
        number_in(given.get("page", "")) or 1,
        [value for value in query.get("column", ()) if value],
        given.get("view") == "grid",
        given.get("by", ""),
        given.get("order", ""),
    )


def waiting(request: PageRequest, title: str, current: str, documents: int) -> PageReply:
    """Return the page of a list that is being made: it asks for itself again."""
    values = {"title": title, "current": current, "address": request.address, "documents": documents}
    return PageReply(page("waiting", request=request, **values))
