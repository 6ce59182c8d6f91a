"""A file of states as a process uses it, without a loop: what happens is written, and read again."""

from __future__ import annotations

from collections.abc import Mapping

from answerd.identity import identity_of
from answerd.installs.events import Event, Evidence
from answerd.installs.records import InstallMemory, Remembered
from answerd.installs.states import State
from answerd.store.state_tables import insert, setting
from answerd.store.states import Position, StateFile
from tests.support.installs import Happening, Ordered, event_of


class StateWriter:
    """Writes events as a service does."""

    def __init__(self, states: StateFile) -> None:
        self.states = states
        self.memory, self.position = InstallMemory(states.rules), Position()

    def all(self) -> dict[str, Remembered]:
        """The records by their names."""
        self.memory, self.position = self.states.catch_up(self.memory, self.position)
        return {remembered.record.name: remembered for remembered in self.memory.by_name.values()}

    def state(self, name: str) -> State:
        """The state of a record."""
        found = self.all()
        return found[name].record.state if name in found else State.NEW

    def write(
        self,
        name: str,
        happened: Happening,
        identities: Mapping[str, str] | None = None,
        group: str | None = None,
        detail: str = "",
        body: bytes = b"",
    ) -> Event | None:
        """Write what happens to a machine."""
        self.all()
        own = {identity_of(name): name}
        if isinstance(happened, Ordered):
            self.states.order([(name, own)], happened.order, happened.at, "admin API")
            return None
        event, _ = event_of(self.memory.evidence(name) or Evidence(name), happened, self.states.rules)
        if event is None:
            return None
        known = {**own, **(identities or {})} if event.detail else {}
        event = event._replace(
            detail=detail or event.detail, origin="192.0.2.1", identities=known, group=group, body=body
        )
        with self.states.writing() as database:
            insert(database, [event], self.states.shared, setting(database, "source") or "")
        self.states.tidy([event.record])
        return event
