"""Functions that the commands about installs share: opening the states, and finding the machines that a command line
names."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from answerd.answers.catalogue import Catalogue
from answerd.answers.machines import Machine, machine_named, machines_of_group
from answerd.commands import FAILED, Arguments, CommandError, Help
from answerd.commands.common import read_documents, state_named
from answerd.commands.terminal import printable_line
from answerd.config import read_config
from answerd.installs.memory import InstallMemory, Remembered
from answerd.installs.sentences import shown_name
from answerd.installs.states import Order, Rules, State
from answerd.store.opening import install_rules, open_existing_states
from answerd.store.states import OrderedMachine, Position, StateStore

SELECTION = (
    ("--group G", "The machines of a group: its members, the machines that extend it, and the rows that it claims."),
    ("--state S", f"The machines in a state: {', '.join(State)}."),
)

ORIGIN = "command line"


@dataclass
class OpenInstalls:
    """The states as they are now, beside the documents."""

    store: StateStore
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


def order_help(order: Order, summary: str, details: str, example: str) -> Help:
    """Return the help of a command that orders machines."""
    return Help(
        summary=summary,
        usage=(f"{order} ID...", f"{order} --group G [--state S]", f"{order} --state S"),
        details=details,
        options=SELECTION,
        examples=((f"answerd {order} web-01", example), (f"answerd {order} --group rack-a", "The same for a group.")),
        exits=(
            (0, "done"),
            (1, "a name is unknown, and the others are done; or the states cannot be written"),
            (2, "the command line is wrong"),
        ),
    )


def give_order(arguments: Arguments, order: Order, done: str) -> int:
    """Order the machines that a command line names, and print each. Returns the exit status."""
    state = state_named(arguments["--state"])
    installs = open_installs()
    names, unknown = _selected(installs, arguments, state)
    machines = [machine for name in names for machine in ordered_machines(installs, name)]
    ordered = installs.store.order(machines, order, installs.now, ORIGIN) if machines else []
    for name in dict.fromkeys(ordered):
        print(f"{shown_name(name)} {done}")
    for name in unknown:
        why = "no record, row, document or member has this name, and it is no MAC address"
        print(f"answerd: {printable_line(name)}: {why}", file=sys.stderr)
    return FAILED if unknown else 0


def ordered_machines(installs: OpenInstalls, name: str) -> list[OrderedMachine]:
    """Return the records of a machine that an order is about; where it has none, the one that begins."""
    machine = installs.named(name)
    if machine is None:
        return []
    names = [remembered.record.name for remembered in machine.records] or [machine.name]
    return [(record_name, machine.identities) for record_name in names]


def _selected(installs: OpenInstalls, arguments: Arguments, state: State | None) -> tuple[list[str], list[str]]:
    """Return the names that a command line selects, and those that are unknown."""
    given: Sequence[str] = arguments["ID"]
    if given:
        unknown = [name for name in given if installs.named(name) is None]
        return [name for name in given if name not in unknown], unknown
    if arguments["--group"] is not None:
        names = installs.of_group(arguments["--group"])
    else:
        names = sorted(remembered.record.name for remembered in installs.memory.by_name.values())
    if state is None:
        return names, []
    return [
        name for name in names if any(remembered.record.state is state for remembered in installs.remembered(name))
    ], []
