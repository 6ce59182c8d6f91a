"""The parts of a running service that pages show and change, and the states of installs as pages have them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from answerd.answers.answer_secrets import redacted_install
from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import machine_named, ordered_machine, remembered_machines, still_refused
from answerd.answers.sources import Sources
from answerd.answers.unclaimed import still_unclaimed
from answerd.console.editing import Editing, NotSaved
from answerd.console.jobs import Checked
from answerd.errors import StatesUnknown
from answerd.identity import identity_of
from answerd.installs.contacts import ContactIndex, contact_as_json
from answerd.installs.events import Event, Kind
from answerd.installs.hardware import Names
from answerd.installs.records import InstallMemory, Remembered
from answerd.installs.sentences import sentence, shown_name
from answerd.installs.shown import UnknownMachine, event_as_json, record_as_json, unknown_as_json
from answerd.installs.states import Order, Rules, State
from answerd.inventory.row import IDENTITY_COLUMNS
from answerd.machine_history import names_of_machine
from answerd.server.admin.adoption import Adoptions
from answerd.server.live_states import LiveStates
from answerd.server.request_feed import RequestFeed
from answerd.server.roles import Role
from answerd.server.threads import in_thread
from answerd.store import StoreError
from answerd.store.nodes import Node
from answerd.store.secrets import SecretFiles

UNKNOWN_SECONDS = 1.0
"""How long the unknown machines that were read are shown."""

CONTACTS_SECONDS = 2.0
"""How long the last contacts that were read are shown: 20,000 of them take a tenth of a second to read."""

MESSAGES_KEPT = 5_000
"""Messages of machines that are kept without their secrets: to find these takes a millisecond or more each."""


@lru_cache(maxsize=10_000)
def names_sent(facts: str) -> Sequence[str]:
    """Return the names that a machine sent, as it spelled them and as identities. ``facts`` are those of an
    `UnknownMachine`."""
    sent = orjson.loads(facts or "{}")
    names = [name for label in IDENTITY_COLUMNS for name in sent.get(label, ())]
    return [*names, *map(identity_of, names)]


@dataclass(frozen=True, slots=True)
class CurrentStates:
    """The installs of one moment. ``now`` is in seconds since 1970; ``sightings`` are the machines that nothing claims;
    ``said`` returns the message of a record without secrets; ``machines`` are those that are known, by the identities
    of their names; ``contacts`` are the last ones of all machines."""

    memory: InstallMemory
    sightings: Sequence[UnknownMachine]
    now: float
    rules: Rules
    said: Callable[[Remembered], str]
    machines: Mapping[str, Remembered] = field(default_factory=dict)
    contacts: ContactIndex = field(default_factory=lambda: ContactIndex(()))

    def state_of(self, name: str) -> State:
        """Return the state of the machine with a name; new where it has no record."""
        remembered = self.machines.get(identity_of(name))
        return remembered.record.state if remembered is not None else State.NEW


class Installs:
    """The installs of the service."""

    def __init__(self, live: LiveStates, catalogue: Callable[[], Catalogue], sources: Sources) -> None:
        """``sources`` are those of answers that are only shown."""
        self._live = live
        self._catalogue = catalogue
        self._sources = sources
        self._unknown: Sequence[UnknownMachine] = ()
        self._read = -UNKNOWN_SECONDS
        self._read_for: Catalogue | None = None
        self._said: dict[int, tuple[Remembered, Catalogue, str]] = {}
        self._machines: dict[str, Remembered] = {}
        self._contacts: ContactIndex | None = None
        self._contacts_read = -CONTACTS_SECONDS
        self._machines_of: tuple[Catalogue, InstallMemory, int] | None = None

    def now(self) -> CurrentStates:
        """Return the installs of this moment."""
        catalogue = self._catalogue()
        if catalogue is not self._read_for or time.monotonic() - self._read >= UNKNOWN_SECONDS:
            try:
                unknown = in_thread(self._live.store.unknown)
                self._unknown = in_thread(still_unclaimed, catalogue, unknown)
            except StoreError:
                pass  # show the records that were read last; the log has the fault
            self._read, self._read_for = time.monotonic(), catalogue
        memory = self._memory()
        machines = in_thread(self._known, catalogue, memory)
        now, rules = self._live.now(), self._live.rules
        return CurrentStates(memory, self._unknown, now, rules, self._message_of, machines, self.contacts())

    def _known(self, catalogue: Catalogue, memory: InstallMemory) -> Mapping[str, Remembered]:
        """Return all machines of which anything is known. One that has not changed stays the same object."""
        version = catalogue, memory, memory.changes
        if self._machines_of is None or self._machines_of[2] != version[2] or self._machines_of[:2] != version[:2]:
            before, found = self._machines, {}
            for remembered in remembered_machines(catalogue, memory):
                name = identity_of(remembered.record.name)
                known = before.get(name)
                found[name] = known if known == remembered and known is not None else remembered
            self._machines, self._machines_of = found, version
        return self._machines

    def _message_of(self, remembered: Remembered) -> str:
        """Return the message of a record without secrets. From any thread."""
        catalogue = self._catalogue()
        known = self._said.get(id(remembered))
        if known is not None and known[0] is remembered and known[1] is catalogue:
            return known[2]
        shown = record_as_json(remembered, 0.0, self._live.rules)
        text = redacted_install(shown, catalogue, self._sources)["message"] or ""
        if len(self._said) >= MESSAGES_KEPT:
            self._said.clear()
        self._said[id(remembered)] = remembered, catalogue, text
        return text

    def names_of(self, name: str) -> Names:
        """Return the identities of a known machine; none of another name."""
        catalogue, memory = self._catalogue(), self._memory()
        return names_of_machine(catalogue, memory, name) if machine_named(catalogue, memory, name) is not None else {}

    def unknown(self, name: str) -> Mapping[str, Any] | None:
        """Return a machine that nothing claimed, by its name or another that it sent, with the facts that it sent."""
        sightings, identity = self.now().sightings, identity_of(name)
        found = next((sighting for sighting in sightings if sighting.machine == name), None)
        found = found or next((sighting for sighting in sightings if identity in names_sent(sighting.facts)), None)
        return unknown_as_json(found) if found is not None else None

    def sightings(self) -> Sequence[UnknownMachine]:
        """Return the machines that asked and were claimed by nothing."""
        return self.now().sightings

    def contacts(self) -> ContactIndex:
        """Return the last contacts of all machines, as they were read a moment ago."""
        if self._contacts is None or time.monotonic() - self._contacts_read >= CONTACTS_SECONDS:
            try:
                self._contacts = in_thread(lambda: ContactIndex(self._live.store.contacts()))
            except StoreError:
                self._contacts = self._contacts or ContactIndex(())  # show what was read last; the log has the fault
            self._contacts_read = time.monotonic()
        return self._contacts

    def contact(self, name: str) -> Mapping[str, Any] | None:
        """Return the last contact of a machine; None where none is known."""
        machine = machine_named(self._catalogue(), self._memory(), name)
        names = [name, *((text[1:] for text in machine.names.values()) if machine is not None else ())]
        found = self.contacts().of({"machine": name, "identities": names})
        return contact_as_json(found) if found is not None else None

    def record(self, name: str) -> Mapping[str, Any] | None:
        """Return one record with its events; None where there is none."""
        machine = machine_named(self._catalogue(), self._memory(), name)
        if machine is None:
            return None
        remembered = machine.seen_in(self._memory())
        if remembered.record.state is State.NEW and not remembered.record.heard:
            return None
        try:
            beside = self._memory().beside(remembered.names)
            events = in_thread(self._live.store.history, remembered.names, beside)
        except StoreError:
            events = []
        fields = record_as_json(remembered, self._live.now(), self._live.rules)
        return {**fields, "events": [_shown(event) for event in reversed(events)]}

    def change(self, order: Order, names: Iterable[str], who: str, peer: str) -> list[str]:
        """Arm, disarm or forget machines, all or none. Return why some that were armed would still be refused. Raises
        `NotSaved`."""
        origin = f"console, {who}, {peer}"
        memory, catalogue = self._memory(), self._catalogue()
        machines = []
        for name in names:
            machine = machine_named(catalogue, memory, name)
            if machine is None:
                raise NotSaved(f'no record, row, document or member is called "{shown_name(name)}"')
            machines.append(machine)
        if not machines:
            raise NotSaved("no machine was selected")
        try:
            self._live.order([ordered_machine(catalogue, memory, one, order) for one in machines], order, origin)
        except StoreError as error:
            raise NotSaved(str(error)) from None
        if order is not Order.ARM:
            return []
        memory = self._memory()
        refused = (still_refused(catalogue, memory, machine, self._live.now()) for machine in machines)
        return [sentence(one) for one in refused if one is not None]

    def note_access(self, who: str, peer: str, what: str) -> None:
        """Have the audit keep what somebody did to tokens or secrets."""
        self._live.note_audited("access", f"console, {who}, {peer}", f"1 {what}")

    def _memory(self) -> InstallMemory:
        try:
            return self._live.current()
        except StatesUnknown:
            return InstallMemory(self._live.rules)


def _shown(event: Event) -> dict[str, Any]:
    """Return an event as JSON, with the percent that it reported, which a picture shows, and with the overlays of what
    was given in its detail."""
    shown = event_as_json(event)
    if event.kind is Kind.GIVEN and event.overlays:
        shown["detail"] += f" with {', '.join(event.overlays)}"
    return {**shown, "percent": event.percent}


@dataclass(frozen=True, slots=True)
class Backend:
    """All functions that pages call. ``editing`` is None for a store that is read only, ``installs`` where there are no
    states, ``adoptions`` where one of these is, ``feed`` and ``captures`` where nothing is recorded. ``age``: for how
    long the set may have been out of date, in seconds. ``access``: name and role of each token, the name empty where it
    has none. ``nodes`` share the database. ``faults`` are the warnings of the log that are not over."""

    catalogue: Callable[[], Catalogue]
    sources: Sources
    problems: Callable[[], Sequence[str]]
    check: Callable[[float], Checked]
    store: str
    version: str
    settings: Sequence[tuple[str, str, str]]
    warnings: Sequence[str] = ()
    editing: Editing | None = None
    installs: Installs | None = None
    adoptions: Adoptions | None = None
    feed: RequestFeed | None = None
    captures: Path | None = None
    age: Callable[[], float] = float
    access: Callable[[], Sequence[tuple[str, Role]]] = tuple
    secrets: SecretFiles = field(default_factory=lambda: SecretFiles(None))
    log: Callable[[str], None] = print
    nodes: Callable[[], Sequence[Node]] = tuple
    faults: Callable[[], Sequence[str]] = tuple

    def states(self) -> CurrentStates | None:
        """Return the installs of this moment; None where there are none."""
        return self.installs.now() if self.installs is not None else None
