"""Installs: which machines are done, and an operator's orders (docs/install-once.md#the-admin-api)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from heapq import nsmallest
from typing import Any
from urllib.parse import unquote_to_bytes

import bottle

from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import Machine, machine_named, ordered_machine, records_selected, still_refused
from answerd.answers.redaction import redacted_install
from answerd.answers.sources import Sources
from answerd.answers.unclaimed import still_unclaimed
from answerd.installs.contacts import ContactIndex, contact_as_json
from answerd.installs.records import InstallMemory, Remembered
from answerd.installs.sentences import sentence, shown_name
from answerd.installs.shown import MOST_LISTED, event_as_json, record_as_json, unknown_as_json
from answerd.installs.states import STATE_WORDS, Order
from answerd.server.admin import requests
from answerd.server.admin.requests import MASKED, InvalidRequest, NotThere, Route, json_response, note_outcome
from answerd.server.live_states import LiveStates
from answerd.server.statuses import OK
from answerd.server.threads import in_thread


class InstallHandlers:
    def __init__(self, installs: LiveStates, catalogue: Callable[[], Catalogue], sources: Sources) -> None:
        """``catalogue`` gives the answer set in force. ``sources`` are those of answers that are only shown."""
        self._sources = sources
        self._installs = installs
        self._catalogue = catalogue

    def routes(self) -> Iterable[Route]:
        yield Route("GET", "/installs", self.listed)
        yield Route("GET", "/installs/<install>", self.one)
        for order in Order:
            yield Route("POST", f"/installs/<install>/{order}", partial(self.ordered, order=order))
        yield Route("GET", "/unknown", self.unknown)

    def listed(self) -> bottle.HTTPResponse:
        """Return the records that the query asks for, sorted by name."""
        asked = requests.query("state", "group", "machine", "limit", "after", "waiting")
        memory, catalogue, now = self._installs.current(), self._catalogue(), self._installs.now()
        sees_secrets = requests.sees_secrets()

        def page() -> list[dict[str, Any]]:
            contacts = ContactIndex(self._installs.store.contacts())
            shown = [self._as_json(install) for install in _page(asked, memory, catalogue, now)]
            is_waiting = asked.get("waiting") == "1"
            shown = [*(contacts.waiting(shown) if is_waiting else map(contacts.shown_with, shown))]
            if sees_secrets:
                return shown
            return [redacted_install(one, catalogue, self._sources) if one["message"] else one for one in shown]

        found = in_thread(page)  # in a thread: there may be a million records
        note_outcome(f"{len(found)} installs")
        return json_response(OK, {"installs": found}, {} if sees_secrets else MASKED)

    def one(self, install: str) -> bottle.HTTPResponse:
        remembered = self._machine(install).seen_in(self._installs.current())
        events = in_thread(self._installs.store.history, remembered.names)
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
        ordered = ordered_machine(self._catalogue(), self._installs.current(), machine, order)
        author = requests.author()
        origin = ", ".join(part for part in ("admin API", author.name, author.peer) if part)
        self._installs.order([ordered], order, origin, requests.client())
        memory = self._installs.current()
        note_outcome(f"{order} {shown_name(ordered.label)}")
        shown = self._as_json(machine.seen_in(memory))
        shown["also"] = [text[1:] for text in ordered.also.values()]
        if order is Order.ARM:
            refused = still_refused(self._catalogue(), memory, machine, self._installs.now())
            shown["still_refused"] = sentence(refused) if refused is not None else None
        return json_response(OK, shown)

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


def _page(asked: dict[str, str], memory: InstallMemory, catalogue: Catalogue, now: float) -> list[Remembered]:
    """Return the records that a query asks for, sorted by name. Raises `InvalidRequest`, `NotThere`."""
    after = asked.get("after", "")
    limit = min(requests.number(asked, "limit") or MOST_LISTED, MOST_LISTED)
    group, state = asked.get("group"), asked["state"].lower() if "state" in asked else None
    if asked.get("waiting", "1") != "1":
        raise InvalidRequest("waiting can only be 1")
    if state not in (None, *STATE_WORDS):
        raise InvalidRequest(f"there is no such state; there are {', '.join(STATE_WORDS)}")
    found = records_selected(catalogue, memory, now, group=group, state=state)
    if found is None:
        raise NotThere(f'there is no group "{shown_name(group or "")}"')
    if "machine" in asked:
        named = machine_named(catalogue, memory, asked["machine"])
        found = [named.seen_in(memory)] if named is not None and _is_among(named, found) else []
    later = (install for install in found if install.record.name > after)
    return nsmallest(limit, later, key=lambda install: install.record.name)


def _is_among(machine: Machine, found: list[Remembered]) -> bool:
    return any(install.record.name == machine.name for install in found)
