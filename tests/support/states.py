"""A file of states as a process uses it, without a loop: what happens is written, and read again."""

from __future__ import annotations

from collections.abc import Mapping

from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import OrderedMachine, machine_named, ordered_machine, remembered_machines
from answerd.identity import identity_of
from answerd.installs.events import Event
from answerd.installs.hardware import MAC, NAME, Asked
from answerd.installs.records import InstallMemory, Remembered, ReportedOn
from answerd.installs.states import State
from answerd.store.states import EventWriter, GivenOrder, Position, StateFile
from tests.support.installs import Happening, Ordered, Reported


def one(name: str) -> OrderedMachine:
    """An order's machine that nothing but a name identifies."""
    return OrderedMachine(name, {identity_of(name): NAME + name})


class StateWriter:
    """Writes events as a service does."""

    def __init__(self, states: StateFile) -> None:
        self.states, self.writer = states, EventWriter(states)
        self.memory, self.position = InstallMemory(states.rules), Position()
        self.givings: dict[str, list[ReportedOn]] = {}

    def all(self) -> dict[str, Remembered]:
        """The machines by their names."""
        self.memory, self.position = self.states.catch_up(self.memory, self.position)
        return {machine.record.name: machine for machine in remembered_machines(Catalogue(), self.memory)}

    def state(self, name: str) -> State:
        """The state of a machine."""
        found = self.all()
        return found[name].record.state if name in found else State.NEW

    def history(self, name: str) -> list[Event]:
        """What is shown of a machine."""
        return self.states.history([identity_of(name)])

    def write(
        self,
        name: str,
        happened: Happening,
        identities: Mapping[str, str] | None = None,
        group: str | None = None,
        detail: str = "",
        body: bytes = b"",
    ) -> Event | None:
        """Write what happens to a machine. A report is about what was given at its attempt, counted from 1."""
        self.all()
        if isinstance(happened, Ordered):
            known = self.memory, self.position
            machine = machine_named(Catalogue(), self.memory, name)
            ordered = (
                one(name) if machine is None else ordered_machine(Catalogue(), self.memory, machine, happened.order)
            )
            self.states.order(GivenOrder(happened.order, [ordered], happened.at, "admin API"), known)
            return None
        if isinstance(happened, Reported):
            givings = self.givings.get(name) or [ReportedOn(f"g{name}", identity_of(name))]
            subject = givings[min(happened.attempt, len(givings)) - 1]
            event = self.memory.reported(subject, happened.word, happened.at, happened.message, happened.percent)
            event = event._replace(label=name, detail=detail, origin="192.0.2.1", body=body)
        else:
            names = {identity_of(name): NAME + name} | {one: MAC + text for one, text in (identities or {}).items()}
            decision = self.memory.ask(Asked(names), happened._replace(peer="192.0.2.1", group=group))
            if not decision.events:
                return None
            event = decision.events[0]._replace(label=name)
            subject = ReportedOn(decision.giving, decision.identity, decision.attempt)
            if subject not in self.givings.setdefault(name, []):
                self.givings[name].append(subject)
        self.writer.write([event])
        self.states.tidy([event.record])
        return event
