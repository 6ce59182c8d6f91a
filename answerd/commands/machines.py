"""The machines that a command means, with the states of their installs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from answerd.answers.catalogue import Catalogue
from answerd.answers.machine_choice import Choice, Chosen, NoSuchGroup, WrongChoice, chosen
from answerd.answers.operator_names import (
    Machine,
    OrderedMachine,
    machine_named,
    ordered_machine,
    still_refused,
)
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import read_documents, settings
from answerd.commands.terminal import counted, say
from answerd.installs.records import InstallMemory, Refused
from answerd.installs.states import Order, State
from answerd.store import Store
from answerd.store.opening import install_rules, open_existing_states
from answerd.store.states import Position, States


@dataclass
class OpenInstalls:
    """The states as they are now, beside the documents."""

    store: States
    catalogue: Catalogue
    memory: InstallMemory
    position: Position = field(default_factory=Position)

    @property
    def now(self) -> float:
        """The present time, which is never before the time of a record."""
        return max(time.time(), self.memory.newest)

    def named(self, name: str) -> Machine | None:
        """Return the machine of a name; None where nothing has it."""
        return machine_named(self.catalogue, self.memory, name)

    def ordered(self, machine: Machine, order: Order) -> OrderedMachine:
        """Return what an order to a machine names."""
        return ordered_machine(self.catalogue, self.memory, machine, order)

    def refused(self, machine: Machine) -> Refused | None:
        """Return why the machine's last request would be refused now; None where it would be given."""
        return still_refused(self.catalogue, self.memory, machine, self.now)

    def read_again(self) -> None:
        """Bring the records up to date. Raises `StoreError`."""
        self.memory, self.position = self.store.catch_up(self.memory, self.position)

    def chosen(self, choice: Choice) -> Chosen:
        """Return the machines of a choice. Raises `CommandError`, with status 2 where the choice is none."""
        with choosing():
            return chosen(self.catalogue, self.memory, self.now, choice)


@contextmanager
def choosing() -> Iterator[None]:
    """Raise `CommandError`, with status 2, for a choice that cannot be; with 1 where there is no such group."""
    try:
        yield
    except NoSuchGroup as error:
        raise CommandError(str(error)) from None
    except WrongChoice as error:
        raise CommandError(str(error), WRONG_USAGE) from None


def choice_of(arguments: Arguments) -> Choice:
    """Return which machines a command line means."""
    return Choice(arguments["ID"], arguments["--where"], arguments["--group"], arguments["--state"])


def say_unknown(names: Sequence[str]) -> None:
    """Say of each name that nothing has it."""
    for name in names:
        say(f"answerd: {name}: no record, row, document or member has this name, and it is no MAC address")


def open_installs() -> OpenInstalls:
    """Open the states that the settings name, and the documents. Raises `CommandError`, `StoreError`, `ConfigError`."""
    return states_beside(*read_documents())


def states_beside(documents: Store, catalogue: Catalogue) -> OpenInstalls:
    """Open the states that the settings name, beside documents that were read. Raises as `open_installs` does."""
    config = settings()
    store = open_existing_states(config, documents)
    if store is None:
        raise CommandError("there is no place for the states of installs: set SERVICE_STATE_PATH")
    installs = OpenInstalls(store, catalogue, InstallMemory(install_rules(config)))
    installs.read_again()
    return installs


def states_counted(states: Iterable[str]) -> str:
    """Return how many machines are in each state: ``47 installed, 3 failed``."""
    found = Counter(states)
    return ", ".join(f"{found[state]} {state}" for state in State if found[state])


def state_counts(states: Sequence[str]) -> str:
    """Return how many machines there are, and in each state: ``50 machines: 47 installed, 3 failed``."""
    told = states_counted(states)
    return f"{counted(len(states), 'machine')}{f': {told}' if told else ''}"
