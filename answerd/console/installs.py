"""States of installs for pages: the data of the admin API's ``/installs`` and ``/unknown``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import machine_named
from answerd.answers.unclaimed import still_unclaimed
from answerd.console.backend import NotSaved
from answerd.console.machines import NEW, SILENT, Install
from answerd.errors import StatesUnknown
from answerd.identity import identity_of
from answerd.installs.events import Evidence
from answerd.installs.memory import InstallMemory, Remembered
from answerd.installs.sentences import shown_name
from answerd.installs.shown import UnknownMachine, event_as_json, record_as_json, unknown_as_json
from answerd.installs.states import Order, Record, State, is_silent
from answerd.server import live_states
from answerd.server.threads import in_thread
from answerd.store import StoreError
from answerd.store.states import OrderedMachine

UNKNOWN_SECONDS = 1.0
"""How long the unknown machines that were read are shown."""


_NO_RECORD = Remembered(Record(""), Evidence(""))


class LiveStates:
    """The installs of the service: an `answerd.console.backend.InstallsBackend`."""

    def __init__(self, installs: live_states.LiveStates, catalogue: Callable[[], Catalogue]) -> None:
        self._installs = installs
        self._catalogue = catalogue
        self._unknown: Sequence[UnknownMachine] = ()
        self._read = -UNKNOWN_SECONDS

    def now(self) -> CurrentStates:
        """Return the installs of this moment."""
        if time.monotonic() - self._read >= UNKNOWN_SECONDS:
            try:
                machines = in_thread(self._installs.store.unknown)
                self._unknown = in_thread(still_unclaimed, self._catalogue(), machines)
            except StoreError:
                pass  # show the records that were read last; the log has the fault
            self._read = time.monotonic()
        return CurrentStates(self._installs, self._memory(), self._unknown)

    def unknown(self, name: str) -> Mapping[str, Any] | None:
        """Return a machine that nothing claimed, with the facts that it sent."""
        return next((unknown_as_json(sighting) for sighting in self.now().sightings if sighting.machine == name), None)

    def record(self, name: str) -> Mapping[str, Any] | None:
        """Return one record with its events; None where there is none."""
        machine = machine_named(self._catalogue(), self._memory(), name)
        if machine is None or not machine.records:
            return None
        remembered = machine.records[0]
        try:
            events = in_thread(self._installs.store.history, remembered.record.name)
        except StoreError:
            events = []
        fields = record_as_json(remembered, self._installs.now(), self._installs.rules)
        return {**fields, "events": [event_as_json(event) for event in reversed(events)]}

    def change(self, verb: str, names: Iterable[str], who: str, peer: str) -> None:
        """Arm, disarm or forget machines, all or none. Raises `NotSaved`."""
        order, origin = Order(verb), f"console, {who}, {peer}"
        memory, catalogue = self._memory(), self._catalogue()
        machines: list[OrderedMachine] = []
        for name in names:
            machine = machine_named(catalogue, memory, name)
            if machine is None:
                raise NotSaved(f'no record, row, document or member is called "{shown_name(name)}"')
            named = [remembered.record.name for remembered in machine.records] or [machine.name]
            machines += [(record_name, machine.identities) for record_name in named]
        if not machines:
            raise NotSaved("no machine was selected")
        try:
            self._installs.order(machines, order, origin)
        except StoreError as error:
            raise NotSaved(str(error)) from None

    def _memory(self) -> InstallMemory:
        try:
            return self._installs.current()
        except StatesUnknown:
            return InstallMemory(self._installs.rules)


class CurrentStates:
    """The installs of one moment: an `answerd.console.machines.InstallStates`."""

    def __init__(
        self, installs: live_states.LiveStates, memory: InstallMemory, sightings: Sequence[UnknownMachine]
    ) -> None:
        self.sightings = sightings
        self._memory = memory
        self._names = memory.by_name
        self._now = installs.now()
        self._rules = installs.rules

    def names(self) -> Mapping[str, Remembered]:
        """Return the records by the identity of their names."""
        return self._names

    def of(self, identity: str) -> Install:
        """Return the install of the machine whose name has this identity."""
        remembered = self._names.get(identity)
        if remembered is None:
            return NEW
        record = remembered.record
        return Install(
            record.state.value,
            record.since if record.state is not State.NEW else None,
            is_silent(record, self._now, self._rules),
            remembered.group or "",
            record.message or "",
            record.percent,
        )

    def version(self) -> object:
        """Return what is equal for as long as `names` has the same keys."""
        return id(self._memory), self._memory.index, len(self._names)

    def words(self, identities: Iterable[str]) -> list[str]:
        """Return `Install.shown` of each of those installs, for a fraction of what `of` costs."""
        known = self._names.get
        silent = self._silent()
        if not silent:
            return [(known(identity) or _NO_RECORD).record.state for identity in identities]
        return [
            SILENT if identity in silent else (known(identity) or _NO_RECORD).record.state for identity in identities
        ]

    def sinces(self, identities: Iterable[str]) -> list[float]:
        """Return the time at which each of those machines came into its state; 0 where it is not known."""
        known = self._names.get
        return [(known(identity) or _NO_RECORD).record.since for identity in identities]

    def groups(self, identities: Iterable[str]) -> list[str]:
        """Return the group of each machine's last answer; empty where none is known."""
        known = self._names.get
        return [(known(identity) or _NO_RECORD).group or "" for identity in identities]

    def counts(self) -> Mapping[str, int]:
        """Return how many records are in each state, by `Install.shown`."""
        by_state = self._memory.by_state.copy()  # in one step: the caller may be in another thread
        counts = Counter({state.value: count for state, count in by_state.items()})
        for record in self._silent().values():
            counts[record.state.value] -= 1
            counts[SILENT] += 1
        return +counts

    def _silent(self) -> dict[str, Record]:
        """Return the records of the machines that should have reported, by the identity of their names."""
        return {
            identity: remembered.record
            for identity in [*self._memory.under_way]
            if (remembered := self._names.get(identity)) is not None
            and is_silent(remembered.record, self._now, self._rules)
        }

    def name(self, identity: str) -> str:
        """Return a record's name as written."""
        remembered = self._names.get(identity)
        return remembered.record.name if remembered is not None else identity

    def unknown(self) -> Iterable[tuple[str, float]]:
        """Return the machines that nothing claimed, with when they asked last."""
        return [(sighting.machine, sighting.last) for sighting in self.sightings]

    def answered_by_default(self) -> frozenset[str]:
        """Return the identities of those among them that a default document answers."""
        return frozenset(identity_of(sighting.machine) for sighting in self.sightings if sighting.by_default)
