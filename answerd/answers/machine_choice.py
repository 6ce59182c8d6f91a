"""Which machines an operator means: names and lists of them, filters of rows, a group, a state; for every command,
endpoint and list.

Rules: docs/install-once.md#which-machines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.inventory_index import Inventory
from answerd.answers.operator_names import (
    Machine,
    machine_named,
    machine_of_row,
    machines_of_group,
    machines_with_state,
    machines_without_record,
)
from answerd.answers.secret_names import is_secret_name
from answerd.formats.patterns import NotAFilter, Pattern, as_compared, filters_in, label_of_filter
from answerd.host_lists import MOST_NAMES, NotAList, is_host_list, names_in
from answerd.installs.records import InstallMemory, Remembered
from answerd.installs.states import STATE_WORDS, State, is_counted_as
from answerd.inventory import columns_file_beside
from answerd.inventory.row import Row
from answerd.short_texts import brief, printable
from answerd.suggestion import did_you_mean


class WrongChoice(Exception):
    """Machines cannot be chosen so; one line that says why."""


class NoSuchGroup(WrongChoice):
    """There is no such group."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What an operator wrote: of names any, of filters of one column any, and all else together. ``names`` may be lists
    (`answerd.host_lists`) and have ``*`` and ``?``; ``filters`` are ``COLUMN=PATTERN``; ``state`` is one of
    `STATE_WORDS`."""

    names: Sequence[str] = ()
    filters: Sequence[str] = ()
    group: str | None = None
    state: str | None = None

    @property
    def columns(self) -> set[str]:
        """The labels of the columns of the filters."""
        return {*map(label_of_filter, self.filters)}

    @property
    def is_of_all(self) -> bool:
        """Whether nothing was written."""
        return not (self.names or self.filters) and self.group is None and self.state is None


class ChosenMachine(NamedTuple):
    """A machine, and what is known of it."""

    machine: Machine
    remembered: Remembered


class Chosen(NamedTuple):
    """The chosen machines, sorted by name, and the names that nothing has."""

    machines: list[ChosenMachine]
    unknown: list[str]


def chosen(catalogue: Catalogue, memory: InstallMemory, now: float, choice: Choice) -> Chosen:
    """Return the machines of a choice. Raises `WrongChoice`.

    Without names, filters and a group: those of which anything is known, and with the state ``new`` also those that
    only a row, a document or a member names. Else also machines of which nothing is known.
    """
    state = state_word(choice.state)
    filters = RowFilters(choice.filters, catalogue.inventory or Inventory())
    unknown: list[str] = []
    if choice.names:
        machines = _unique(_named(catalogue, memory, choice.names, unknown))
        if filters:
            machines = {key: one for key, one in machines.items() if one.row is not None and filters.hold(one.row)}
    elif filters:
        machines = _unique(_of_rows(catalogue, memory, filters))
    elif choice.group is not None:
        machines = _of_group(catalogue, memory, choice.group)
    else:
        return Chosen(_sorted(_known(catalogue, memory, now, state)), [])
    if choice.group is not None and (choice.names or filters):
        of_group = _of_group(catalogue, memory, choice.group)
        machines = {key: one for key, one in machines.items() if key in of_group}
    seen = (ChosenMachine(machine, machine.seen_in(memory)) for machine in machines.values())
    return Chosen(_sorted(one for one in seen if _is_in(one, state, memory, now)), unknown)


def secret_columns(catalogue: Catalogue) -> set[str]:
    """Return the labels that are named like a secret, or whose column is."""
    tables = catalogue.inventory.by_layout.values() if catalogue.inventory is not None else ()
    return {
        label
        for table in tables
        for label in table.layout.labels
        if is_secret_name(label) or any(map(is_secret_name, table.layout.columns_of(label)))
    }


def state_word(state: str | None) -> str | None:
    """Return the word for a state in lower case; None where none is given. Raises `WrongChoice`."""
    if state is None or state.lower() in STATE_WORDS:
        return state and state.lower()
    raise WrongChoice(f"{brief(printable(state))!r} is no state; there are {', '.join(STATE_WORDS)}")


def _no_column(column: str, inventory: Inventory, labels: Collection[str]) -> str:
    """Return that no column has a label, and where a header has this name, what the column is called."""
    shown = repr(brief(printable(column)))
    for table in inventory.by_layout.values():
        layout = table.layout
        at = layout.place_of(column)
        if at is not None:
            label = next((one for one in layout.labels if layout.columns[at] in layout.columns_of(one)), "")
            document = columns_file_beside(layout.source)
            is_what = f"is called {label} here" if label else f"has no label: give it one in {document}"
            return f"the column {shown} {is_what}"
    return f"no inventory has a column {shown}{did_you_mean(column, labels, shown=str)}"


class RowFilters:
    """Filters of rows: of one column any must hold, of several columns all."""

    def __init__(self, written: Sequence[str], inventory: Inventory) -> None:
        """Raises `WrongChoice` for one that is none, or whose column no inventory has."""
        try:
            self._criteria = filters_in(written)
        except NotAFilter as error:
            raise WrongChoice(f"{brief(printable(str(error)))!r} is no filter: write COLUMN=PATTERN, role=db") from None
        columns = inventory.labels if written else ()
        for criterion in self._criteria if columns else ():
            if criterion.label not in columns:
                raise WrongChoice(_no_column(criterion.label, inventory, columns))

    def __bool__(self) -> bool:
        return bool(self._criteria)

    def hold(self, row: Row) -> bool:
        layout = row.layout
        if not all(criterion.label in layout.labels for criterion in self._criteria):
            return False
        cells = row.cells()
        return all(criterion.holds_of(layout.values(criterion.label, cells)) for criterion in self._criteria)


_Machines = dict[tuple[str, tuple[str, ...]], Machine]
"""Machines by name and identities: two rows may have one name."""


def _unique(machines: Iterable[Machine]) -> _Machines:
    return {(machine.name, tuple(machine.names)): machine for machine in machines}


def _named(catalogue: Catalogue, memory: InstallMemory, names: Iterable[str], unknown: list[str]) -> Iterator[Machine]:
    """Yield the machines of names, each of which may be a list. Adds those that nothing has to ``unknown``."""
    everybody: dict[str, list[Machine]] = {}
    for name in _expanded(catalogue, memory, names):
        is_pattern = "*" in name or "?" in name
        machine = (_spelled if is_pattern else machine_named)(catalogue, memory, name)
        found = [machine] if machine is not None else []
        if machine is None and is_pattern:
            if not everybody:
                known = [*machines_with_state(catalogue, memory)]
                seen = (one.seen_in(memory) for one in known)
                for one in (*known, *machines_without_record(catalogue, memory, seen)):
                    everybody.setdefault(as_compared(one.name), []).append(one)
            found = _matching(name, everybody)
        if not found:
            unknown.append(name)
        yield from found


def _expanded(catalogue: Catalogue, memory: InstallMemory, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that are written, one by one and each once. Raises `WrongChoice`."""
    found: dict[str, None] = {}
    for text in names:
        if not text:
            raise WrongChoice("a name is empty")
        if is_host_list(text) and _spelled(catalogue, memory, text) is None:
            try:
                found.update(dict.fromkeys(names_in(text)))
            except NotAList as error:
                raise WrongChoice(printable(str(error))) from None
        else:
            found[text] = None
        if len(found) > MOST_NAMES:
            raise WrongChoice(f"these are more than {MOST_NAMES:,} names")
    yield from found


def _spelled(catalogue: Catalogue, memory: InstallMemory, text: str) -> Machine | None:
    """Return the machine that has this text for a name or an identity: a serial number may have any sign. Punctuation
    counts, or the list ``cn[1-2]`` would be the machine ``cn12``."""
    machine = machine_named(catalogue, memory, text)
    texts = (machine.name, *(text[1:] for text in machine.names.values())) if machine is not None else ()
    return machine if text.casefold() in map(str.casefold, texts) else None


def _matching(name: str, everybody: Mapping[str, Sequence[Machine]]) -> list[Machine]:
    try:
        pattern = Pattern(name)
    except ValueError:
        return []
    return [one for form, machines in everybody.items() if pattern.matches(form) for one in machines]


def _of_rows(catalogue: Catalogue, memory: InstallMemory, filters: RowFilters) -> Iterator[Machine]:
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        if filters.hold(row) and row.name:
            yield machine_of_row(catalogue, memory, row)


def _of_group(catalogue: Catalogue, memory: InstallMemory, group: str) -> _Machines:
    names = machines_of_group(catalogue, memory, group)
    if names is None:
        raise NoSuchGroup(f"no group is called {brief(printable(group))!r}")
    return _unique(machine for name in names if (machine := machine_named(catalogue, memory, name)) is not None)


def _known(catalogue: Catalogue, memory: InstallMemory, now: float, state: str | None) -> Iterator[ChosenMachine]:
    known = []
    for machine in machines_with_state(catalogue, memory):
        one = ChosenMachine(machine, machine.seen_in(memory))
        if one.remembered.record.state is not State.NEW or one.remembered.record.heard:
            known.append(one)
            if _is_in(one, state, memory, now):
                yield one
    if state == State.NEW:
        for machine in machines_without_record(catalogue, memory, [one.remembered for one in known]):
            yield ChosenMachine(machine, machine.seen_in(memory))


def _is_in(one: ChosenMachine, state: str | None, memory: InstallMemory, now: float) -> bool:
    return state is None or is_counted_as(one.remembered.record, state, now, memory.rules)


def _sorted(machines: Iterable[ChosenMachine]) -> list[ChosenMachine]:
    return sorted(machines, key=lambda one: one.remembered.record.name)
