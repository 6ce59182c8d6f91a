"""Installs: which machines are done, and an operator's orders (docs/install-once.md#the-admin-api)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import unquote_to_bytes

import bottle

from answerd.answers.answer_secrets import redacted_install
from answerd.answers.catalogue import Catalogue
from answerd.answers.machine_choice import Choice, Chosen, NoSuchGroup, WrongChoice, chosen, secret_columns
from answerd.answers.operator_names import Machine, machine_named, ordered_machine, still_refused
from answerd.answers.sources import Sources
from answerd.answers.tally import Summary, summary
from answerd.answers.unclaimed import still_unclaimed
from answerd.identity import folded
from answerd.installs.contacts import ContactIndex, contact_as_json
from answerd.installs.hardware import Names
from answerd.installs.records import InstallMemory, Remembered
from answerd.installs.sentences import sentence, shown_name
from answerd.installs.shown import MOST_LISTED, event_as_json, record_as_json, unknown_as_json
from answerd.installs.states import Order
from answerd.server.admin import requests
from answerd.server.admin.requests import (
    MASKED,
    Forbidden,
    InvalidRequest,
    NotThere,
    Route,
    json_response,
    note_outcome,
)
from answerd.server.exposition import TallyExposition
from answerd.server.live_states import LiveStates
from answerd.server.statuses import OK
from answerd.server.threads import in_thread
from answerd.short_texts import printable


class InstallHandlers:
    def __init__(self, installs: LiveStates, catalogue: Callable[[], Catalogue], sources: Sources) -> None:
        """``catalogue`` gives the answer set in force. ``sources`` are those of answers that are only shown."""
        self._sources = sources
        self._installs = installs
        self._catalogue = catalogue

    def routes(self) -> Iterable[Route]:
        yield Route("GET", "/installs", self.listed)
        yield Route("POST", "/installs", self.ordered_together)
        yield Route("GET", "/installs/<install>", self.one)
        for order in Order:
            yield Route("POST", f"/installs/<install>/{order}", partial(self.ordered, order=order))
        yield Route("GET", "/summary", self.summary)
        yield Route("GET", "/unknown", self.unknown)

    def listed(self) -> bottle.HTTPResponse:
        """Return the records that the query asks for, sorted by name."""
        asked = requests.lists_in_query(_SEVERAL, *_CHOOSING, "limit", "after", "waiting")
        memory, catalogue, now = self._installs.current(), self._catalogue(), self._installs.now()
        _refuse_secret_columns(catalogue, _choice(asked).columns)
        sees_secrets = requests.sees_secrets()

        def page() -> list[dict[str, Any]]:
            contacts = ContactIndex(self._installs.store.contacts())
            shown = self._page(asked, contacts, memory, catalogue, now)
            if sees_secrets:
                return shown
            return [redacted_install(one, catalogue, self._sources) if one["message"] else one for one in shown]

        found = in_thread(page)  # in a thread: there may be a million records
        note_outcome(f"{len(found)} installs")
        return json_response(OK, {"installs": found}, {} if sees_secrets else MASKED)

    def _page(
        self,
        asked: dict[str, list[str]],
        contacts: ContactIndex,
        memory: InstallMemory,
        catalogue: Catalogue,
        now: float,
    ) -> list[dict[str, Any]]:
        """Return the records that a query asks for, sorted by name. Raises `InvalidRequest`, `NotThere`."""
        single = {name: values[0] for name, values in asked.items() if name not in _SEVERAL}
        limit = min(requests.number(single, "limit") or MOST_LISTED, MOST_LISTED)
        if single.get("waiting", "1") != "1":
            raise InvalidRequest("waiting can only be 1")
        choice = _choice(asked)
        later = [
            one.remembered
            for one in _chosen(catalogue, memory, now, choice).machines
            if one.remembered.record.name > single.get("after", "")
        ]
        if "waiting" in single:
            return [*islice(contacts.waiting(map(self._as_json, later), are_all=choice.is_of_all), limit)]
        return [contacts.shown_with(self._as_json(one)) for one in later[:limit]]

    def ordered_together(self) -> bottle.HTTPResponse:
        """Order all machines that the query chooses. Those that nothing has the name of are named, and the others are
        done."""
        asked = requests.lists_in_query(_SEVERAL, *_CHOOSING, "order")
        try:
            order = Order(asked.get("order", [""])[0])
        except ValueError:
            raise InvalidRequest(f"order is none of {', '.join(Order)}") from None
        choice = _choice(asked)
        if choice.is_of_all:
            raise InvalidRequest(f"name the machines, or choose them: {', '.join(_CHOOSING)}")
        memory, catalogue, now = self._installs.current(), self._catalogue(), self._installs.now()
        _refuse_secret_columns(catalogue, choice.columns)
        found = in_thread(_chosen, catalogue, memory, now, choice)
        if not found.machines:
            raise NotThere("there is no such machine: nothing was done")
        if len(found.machines) > MOST_LISTED:
            raise InvalidRequest(f"an order is for at most {MOST_LISTED:,} machines: choose fewer")
        shown = self._order([one.machine for one in found.machines], order)
        note_outcome(f"{order} {len(shown)} installs")
        return json_response(OK, {"installs": shown, "unknown": found.unknown})

    def one(self, install: str) -> bottle.HTTPResponse:
        memory = self._installs.current()
        remembered = self._machine(install).seen_in(memory)
        events = in_thread(self._installs.store.history, remembered.names, memory.beside(remembered.names))
        note_outcome(f"install of {shown_name(remembered.record.name)}")
        shown = {**self._as_json(remembered), "events": [event_as_json(event) for event in events]}
        contacts = ContactIndex(in_thread(self._installs.store.contacts))
        contact = contacts.of(shown)
        shown = contacts.shown_with(shown)
        shown["last_contact"] = contact_as_json(contact) if contact is not None else None
        if requests.sees_secrets():
            return json_response(OK, shown)
        return json_response(OK, in_thread(redacted_install, shown, self._catalogue(), self._sources), MASKED)

    def ordered(self, install: str, order: Order) -> bottle.HTTPResponse:
        machine = self._machine(install)
        (shown,) = self._order([machine], order)
        note_outcome(f"{order} {shown_name(machine.name)}")
        return json_response(OK, shown)

    def _order(self, machines: Sequence[Machine], order: Order) -> list[dict[str, Any]]:
        """Give an order to machines; return their records as they are then."""
        catalogue, memory = self._catalogue(), self._installs.current()
        ordered = in_thread(lambda: [ordered_machine(catalogue, memory, machine, order) for machine in machines])
        author = requests.author()
        origin = ", ".join(part for part in ("admin API", author.name, author.peer) if part)
        self._installs.order(ordered, order, origin, requests.client())
        catalogue, memory, now = self._catalogue(), self._installs.current(), self._installs.now()
        sees_secrets = requests.sees_secrets()

        def shown(machine: Machine, also: Names) -> dict[str, Any]:
            record = self._as_json(machine.seen_in(memory))
            if record["message"] and not sees_secrets:
                record = redacted_install(record, catalogue, self._sources)
            record["also"] = [text[1:] for text in also.values()]
            if order is Order.ARM:
                refused = still_refused(catalogue, memory, machine, now)
                record["still_refused"] = sentence(refused) if refused is not None else None
            return record

        pairs = zip(machines, ordered, strict=True)
        return in_thread(lambda: [shown(machine, one.also) for machine, one in pairs])

    def summary(self) -> bottle.HTTPResponse:
        """Return how many of the chosen machines are in each state, by group or by a column."""
        asked = requests.lists_in_query(_SEVERAL, *_CHOOSING, "by")
        counted = self._counted(_choice(asked), asked.get("by", [""])[0])
        note_outcome(f"summary by {printable(counted.by)}")
        return json_response(OK, counted.as_json(), {} if requests.sees_secrets() else MASKED)

    def metrics(self, by: str) -> bytes:
        """Return the states of all machines by group or by a column, in Prometheus' text format."""
        counted = self._counted(Choice(), by)
        if len(counted.tallies) > _MOST_SERIES:
            raise InvalidRequest(
                f"more than {_MOST_SERIES:,} values: metrics are for a column that many machines share"
            )
        return TallyExposition(counted)()

    def _counted(self, choice: Choice, by: str) -> Summary:
        """Return a summary. Raises `InvalidRequest`, `NotThere`, `Forbidden`."""
        memory, catalogue, now = self._installs.current(), self._catalogue(), self._installs.now()
        _refuse_secret_columns(catalogue, {*choice.columns, folded(by)})
        try:
            return in_thread(summary, catalogue, memory, now, choice, by)
        except WrongChoice as error:
            raise refused(error) from None

    def unknown(self) -> bottle.HTTPResponse:
        """Return the machines that asked and were claimed by nothing, the last first."""
        machines = in_thread(self._installs.store.unknown)
        unknown = [unknown_as_json(machine) for machine in in_thread(still_unclaimed, self._catalogue(), machines)]
        note_outcome(f"{len(unknown)} unknown machines")
        return json_response(OK, {"unknown": unknown})

    def _as_json(self, remembered: Remembered) -> dict[str, Any]:
        return record_as_json(remembered, self._installs.now(), self._installs.rules)

    def _machine(self, segment: str) -> Machine:
        """Return the machine that a path's segment names. Raises `InvalidRequest`, `NotThere`."""
        try:
            name = unquote_to_bytes(segment).decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidRequest("the name in the path is not UTF-8") from None
        machine = machine_named(self._catalogue(), self._installs.current(), name)
        if machine is None:
            raise NotThere(
                f'no record, row, document or member is called "{shown_name(name)}", and it is no MAC address'
            )
        return machine


_MOST_SERIES = 1_000
"""Values of a column whose machines are counted as metrics."""

_SEVERAL = ("machine", "where")
_CHOOSING = (*_SEVERAL, "group", "state")
"""The parameters by which machines are chosen; those that may be given several times."""


def _choice(asked: dict[str, list[str]]) -> Choice:
    """Return which machines a query means."""
    group, state = asked.get("group", [None])[0], asked.get("state", [None])[0]
    return Choice(asked.get("machine", ()), asked.get("where", ()), group, state)


def _refuse_secret_columns(catalogue: Catalogue, columns: set[str]) -> None:
    """Raise `Forbidden` where a role that sees no secrets chooses or counts by a column that is named like one: whom a
    pattern finds would tell the value, letter by letter."""
    if not requests.sees_secrets() and (secret := columns & secret_columns(catalogue)):
        raise Forbidden(f"column {min(secret)} is named like a secret: to choose or count by it needs the role admin")


def _chosen(catalogue: Catalogue, memory: InstallMemory, now: float, choice: Choice) -> Chosen:
    """Return the machines of a choice. Raises `InvalidRequest`, `NotThere`."""
    try:
        return chosen(catalogue, memory, now, choice)
    except WrongChoice as error:
        raise refused(error) from None


def refused(error: WrongChoice) -> InvalidRequest | NotThere:
    """Return the error of the API for a choice that cannot be."""
    return NotThere(str(error)) if isinstance(error, NoSuchGroup) else InvalidRequest(str(error))


def no_metrics(_by: str) -> bytes:
    """Refuse to count machines where there is no place for states."""
    raise InvalidRequest("there is no place for the states of installs, so there is nothing to count")
