"""Functions that the commands about installs share: opening the states, and finding the machines that a command line
names."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import Machine, machine_named, machines_of_group, machines_without_record
from answerd.commands import FAILED, CommandError
from answerd.commands.common import read_documents
from answerd.config import read_config
from answerd.installs.memory import InstallMemory, Remembered
from answerd.installs.states import Rules, State, is_counted_as
from answerd.store.opening import install_rules, open_existing_states
from answerd.store.states import Position, States


@dataclass
class OpenInstalls:
    """The states as they are now, beside the documents."""

    store: States
    catalogue: Catalogue
    memory: InstallMemory
    rules: Rules
    position: Position = field(default_factory=Position)

    @property
    def now(self) -> float:
        """The present time, which is never before the time of a record."""
        return max(time.time(), self.memory.newest)

    def named(self, name: str) -> Machine | None:
        """Return the machine of a name; None where nothing has it."""
        return machine_named(self.catalogue, self.memory, name)

    def of_group(self, group: str, status: int = FAILED) -> list[str]:
        """Return the names of a group's machines. Raises `CommandError` where there is no such group."""
        names = machines_of_group(self.catalogue, self.memory, group)
        if names is None:
            raise CommandError(f"no group is called {group!r}", status)
        return names

    def remembered(self, name: str) -> list[Remembered]:
        """Return the records of a machine; where it has none, one that is new."""
        machine = self.named(name)
        if machine is None:
            return []
        return list(machine.records) or [self.memory.new(machine.name, machine.identities)]

    def selected(self, group: str | None, state: str | None) -> list[Remembered]:
        """Return the records of a group's machines or of all, in a state that `is_counted_as` knows or in any, sorted
        by name. A group's machines without a record, and all that are new, have a new one. Raises `CommandError` where
        there is no such group."""
        if group is not None:
            found = [remembered for name in self.of_group(group) for remembered in self.remembered(name)]
        else:
            found = list(self.memory.by_name.values())
            if state == State.NEW:
                found += machines_without_record(self.catalogue, self.memory)
        now = self.now
        by_name = {
            remembered.record.name: remembered
            for remembered in found
            if state is None or is_counted_as(remembered.record, state, now, self.rules)
        }
        return [remembered for _, remembered in sorted(by_name.items())]


def open_installs() -> OpenInstalls:
    """Open the states that the settings name, and the documents. Raises `CommandError`, `StoreError`, `ConfigError`."""
    _, catalogue = read_documents()
    config = read_config(os.environ, to_serve=False)
    store = open_existing_states(config)
    if store is None:
        raise CommandError("there is no place for the states of installs: set SERVICE_STATE_PATH")
    rules = install_rules(config)
    installs = OpenInstalls(store, catalogue, InstallMemory(rules), rules)
    read_again(installs)
    return installs


def read_again(installs: OpenInstalls) -> None:
    """Bring the records up to date. Raises `StoreError`."""
    installs.memory, installs.position = installs.store.catch_up(installs.memory, installs.position)
