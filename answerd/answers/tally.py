"""How many of some machines are in each state, for each group, or for each value of a column.

Rules: docs/install-once.md#how-far-a-rack-is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from answerd.answers.affected import with_extending
from answerd.answers.catalogue import Catalogue, extended_name
from answerd.answers.machine_choice import Choice, ChosenMachine, WrongChoice, chosen
from answerd.answers.operator_names import groups_of_row
from answerd.formats.patterns import as_compared
from answerd.identity import folded, identity_of
from answerd.installs.records import InstallMemory
from answerd.installs.states import State, is_silent
from answerd.short_texts import brief, printable
from answerd.suggestion import did_you_mean

BY_GROUP: Final = "group"
"""What is counted by beside columns: no column can have this name."""


@dataclass(slots=True)
class Tally:
    """Machines with one value: ``states`` counts them by state, ``silent`` those that have said nothing for long.
    ``value`` is None for machines without any."""

    value: str | None
    states: Counter[State] = field(default_factory=Counter)
    silent: int = 0

    @property
    def machines(self) -> int:
        return self.states.total()

    def count(self, one: ChosenMachine, now: float, memory: InstallMemory) -> None:
        self.states[one.remembered.record.state] += 1
        self.silent += is_silent(one.remembered.record, now, memory.rules)

    def as_json(self) -> dict[str, Any]:
        states = {state.value: self.states[state] for state in State if self.states[state]}
        return {"value": self.value, "machines": self.machines, "silent": self.silent, "states": states}


@dataclass(frozen=True, slots=True)
class Summary:
    """The tallies of all values, sorted, with the machines without any value last; of all machines together; and the
    names of the choice that nothing has. A machine of several groups counts for each."""

    by: str
    tallies: list[Tally]
    total: Tally
    unknown: list[str]

    def as_json(self) -> dict[str, Any]:
        total = {name: value for name, value in self.total.as_json().items() if name != "value"}
        return {"by": self.by, "summary": [tally.as_json() for tally in self.tallies], "total": total}


def summary(catalogue: Catalogue, memory: InstallMemory, now: float, choice: Choice, by: str) -> Summary:
    """Count the machines of a choice by group, or by the cells of a column; without names, filters and a group all
    that there are. Raises `WrongChoice`."""
    label = folded(by)
    values_of = _groups(catalogue) if label == BY_GROUP else _cells(catalogue, label)
    if not (choice.names or choice.filters) and choice.group is None:
        choice = replace(choice, names=("*",))
    found = chosen(catalogue, memory, now, choice)
    total = Tally(None)
    tallies: dict[str, Tally] = {}
    without = Tally(None)
    for one in found.machines:
        values = values_of(one)
        total.count(one, now, memory)
        for value in values:
            tallies.setdefault(as_compared(value), Tally(value)).count(one, now, memory)
        if not values:
            without.count(one, now, memory)
    lines = [tally for _, tally in sorted(tallies.items())]
    unknown = [name for name in found.unknown if name != "*"]
    return Summary(label, [*lines, *([without] if without.machines else [])], total, unknown)


def added(tallies: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tallies of several services, as JSON, with those of one value added; in the order of `Summary`."""
    of_value: dict[str | None, list[Mapping[str, Any]]] = defaultdict(list)
    for tally in tallies:
        of_value[None if tally["value"] is None else as_compared(tally["value"])].append(tally)
    ordered = sorted(of_value.items(), key=lambda one: (one[0] is None, one[0] or ""))
    return [{"value": found[0]["value"], **added_counts(found)} for _, found in ordered]


def added_counts(tallies: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts of tallies, as JSON, added."""
    machines = silent = 0
    states: Counter[str] = Counter()
    for tally in tallies:
        machines, silent = machines + tally["machines"], silent + tally["silent"]
        states.update(tally["states"])
    known = {state.value: states[state.value] for state in State if states[state.value]}
    return {"machines": machines, "silent": silent, "states": known}


_ValuesOf = Callable[[ChosenMachine], Iterable[str]]


def _cells(catalogue: Catalogue, label: str) -> _ValuesOf:
    """Return what gives the cell of a machine's row in a column. Raises `WrongChoice`."""
    columns = catalogue.inventory.labels if catalogue.inventory is not None else frozenset()
    if label not in columns:
        near = did_you_mean(label, [BY_GROUP, *columns], shown=str)
        raise WrongChoice(f"machines can be counted by group, or by a column; none is called {_shown(label)}{near}")

    def cell(one: ChosenMachine) -> list[str]:
        row = one.machine.row
        if row is None or label not in row.layout.labels:
            return []
        if label in row.layout.several:
            return row.layout.values(label, row.cells())[:1]
        text = row.cells()[row.layout.labels[label]]
        return [text] if text else []

    return cell


def _shown(text: str) -> str:
    return repr(brief(printable(text)))


def _groups(catalogue: Catalogue) -> _ValuesOf:
    """Return what gives the names of the groups that a machine is in, as `machines_of_group` has it."""
    names: dict[str, str] = {}
    for documents in catalogue.groups.values():
        for document in documents:
            names.setdefault(document.identity, document.key.identifier)
    groups: dict[str, set[str]] = defaultdict(set)
    for identity, name in names.items():
        for extending, _ in with_extending({one for one in catalogue.groups if one[0] == identity}, (catalogue,)):
            groups[extending].add(name)

    def of(one: ChosenMachine) -> set[str]:
        machine = one.machine
        direct = {identity_of(one.remembered.group)} if one.remembered.group is not None else set()
        identities = {identity_of(machine.name), *machine.names}
        if machine.row is not None:
            identities.update(machine.row.names)
            direct.update(document.identity for document in groups_of_row(catalogue, machine.row))
        for identity in identities:
            for claims in (catalogue.members.get(identity, ()), catalogue.overlay_members.get(identity, ())):
                direct.update(claim.document.identity for claim in claims)
            for document in catalogue.machines.get(identity, ()):
                if document.content.readable and (extended := extended_name(document)) is not None:
                    direct.add(extended[0])
        return {name for identity in direct for name in groups.get(identity, ())}

    return of
