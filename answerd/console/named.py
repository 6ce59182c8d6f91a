"""The machines that an answer set names: in documents, in ``members`` and in rows of inventories; sorted by name.

After a change, only the machines that it is about are looked at again (`NamedMachines.follow`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TypeVar

from answerd.answers.catalogue import Catalogue
from answerd.console.row_groups import RowGroups, may_claim_otherwise
from answerd.identity import identity_of
from answerd.inventory.rows import Row, identities_of_sound
from answerd.sorting import free_in_steps, sorted_in_steps

MOST_FOLLOWED = 1_000
"""Machines that are looked at again one by one; a larger change is a look at all of them."""

_SMALL = 3_000
"""Names of which a table is made in some 50 ms."""

_MOVED_ONE_BY_ONE = 50
"""Machines that cost less to take out of the sorted list one by one, 50 µs each of 100,000, than all at once."""

_T = TypeVar("_T")


@dataclass(slots=True)
class MachineEntry:
    """A machine with a name. ``known_from`` is the source of the name: ``document``, ``member``, ``inventory``,
    ``install``, ``unknown``. ``group`` is the first of the groups that its documents extend or that claim it,
    ``more_groups`` are the others."""

    name: str
    identity: str
    formats: tuple[str, ...] = ()
    group: str = ""
    known_from: str = "document"
    searched: str = field(default="", repr=False)
    more_groups: tuple[str, ...] = ()

    def add(self, extension: str, group: str) -> None:
        """Note a document of a format: the machine's own, which may extend a group, or a group that claims it."""
        if extension not in self.formats:
            self.formats = (*self.formats, extension)
        if not self.group:
            self.group = group
        elif group and group != self.group and group not in self.more_groups:
            self.more_groups = (*self.more_groups, group)

    @property
    def groups(self) -> tuple[str, ...]:
        """All its groups."""
        return (self.group, *self.more_groups) if self.group else ()


_name_of = attrgetter("name")


@dataclass(slots=True)
class NamedMachines:
    """The machines of one set. Follows the next set in place: one user at a time."""

    catalogue: Catalogue | None = None
    by_identity: dict[str, MachineEntry] = field(default_factory=dict)
    by_name: list[MachineEntry] = field(default_factory=list)
    groups: Counter[str] = field(default_factory=Counter)

    def first_groups(self, most: int) -> Sequence[str]:
        """Return the first groups of machines, sorted."""
        return sorted(self.groups)[:most]

    def follow(self, catalogue: Catalogue) -> bool:
        """Become the machines of the next set, where few have changed; return whether that is so."""
        if catalogue is self.catalogue:
            return True
        changed = self._changed_in(catalogue)
        if changed is None:
            return False
        gone = [machine for identity in changed if (machine := self.by_identity.pop(identity, None)) is not None]
        named = {identity: machine for identity in changed if (machine := _machine(catalogue, identity)) is not None}
        _add_rows(named, _rows_of(catalogue, changed), RowGroups(catalogue))
        for machine in named.values():
            machine.searched = _searched(machine)
        self._move(gone, [*named.values()])
        self.by_identity.update(named)
        self.catalogue = catalogue
        return True

    def _move(self, gone: Sequence[MachineEntry], new: Sequence[MachineEntry]) -> None:
        """Put some machines in place of others in the sorted list, and count their groups."""
        self.groups.subtract(group for machine in gone for group in machine.groups)
        self.groups.update(group for machine in new for group in machine.groups)
        self.groups = +self.groups
        if len(gone) + len(new) > _MOVED_ONE_BY_ONE:
            left = {id(machine) for machine in gone}
            self.by_name = [machine for machine in self.by_name if id(machine) not in left] + list(new)
            self.by_name.sort(key=_name_of)
            return
        for machine in gone:
            at = bisect_left(self.by_name, machine.name, key=_name_of)
            while self.by_name[at] is not machine:
                at += 1
            del self.by_name[at]
        for machine in new:
            insort(self.by_name, machine, key=_name_of)

    def _changed_in(self, catalogue: Catalogue) -> set[str] | None:
        """Return the identities of the machines that a set may name otherwise; None where they are too many."""
        before = self.catalogue
        if before is None or may_claim_otherwise(catalogue, before, MOST_FOLLOWED):
            return None
        changed: set[str] = set()
        for differing in (
            catalogue.machines.keys_that_differ(before.machines),
            catalogue.members.keys_that_differ(before.members),
            _rows_that_differ(catalogue, before),
        ):
            if differing is None or len(differing) > MOST_FOLLOWED:
                return None
            changed |= differing
        return self._with_rows(changed, catalogue, before)

    @staticmethod
    def _with_rows(changed: set[str], *catalogues: Catalogue) -> set[str] | None:
        """Return identities with all others of their rows, in both sets: a row belongs to the first that is named."""
        left = [*changed]
        while left:
            if len(changed) > MOST_FOLLOWED:
                return None
            some, left = left, []
            for catalogue in catalogues:
                for row in _rows_of(catalogue, some):
                    more = {*_named_by(row)} - changed
                    changed |= more
                    left += more
        return changed


def is_small(catalogue: Catalogue) -> bool:
    """Return whether a page may wait until a table of this set is made."""
    names = len(catalogue.documents) + len(catalogue.members)
    return names + (len(catalogue.inventory.index) if catalogue.inventory is not None else 0) < _SMALL


def named_in(catalogue: Catalogue) -> NamedMachines:
    """Return the machines of a set. Costs a look at every document and row; no step takes long."""
    named: dict[str, MachineEntry] = {}
    for index in (catalogue.machines, catalogue.members):
        for identity in index:
            if identity not in named and (machine := _machine(catalogue, identity)) is not None:
                named[identity] = machine
    if catalogue.inventory is not None:
        _add_rows(named, catalogue.inventory.rows(), RowGroups(catalogue))
    by_name = _in_the_order_of_names(named)
    groups = Counter(group for machine in by_name for group in machine.groups)
    return NamedMachines(catalogue, {machine.identity: machine for machine in by_name}, by_name, groups)


def _in_the_order_of_names(named: dict[str, MachineEntry]) -> list[MachineEntry]:
    """Return the machines as new objects, made in their order: a page walks all of them, and memory that is read in
    order is read in a third of the time."""
    machines = sorted_in_steps(named.values(), _name_of)
    named.clear()
    by_name = []
    for machine in machines:
        made = replace(machine)
        made.searched = _searched(made)
        by_name.append(made)
    free_in_steps(machines)
    return by_name


def _machine(catalogue: Catalogue, identity: str) -> MachineEntry | None:
    """Return the machine that documents or ``members`` name; None where none does."""
    machine: MachineEntry | None = None
    for document in catalogue.machines.get(identity, ()):
        machine = machine or MachineEntry(document.key.identifier, identity)
        machine.add(document.key.format, document.control.extends or "")
    for claim in catalogue.members.get(identity, ()):
        control = claim.document.control
        machine = machine or MachineEntry(control.spelled(identity), identity, known_from="member")
        machine.add(claim.document.key.format, claim.document.key.identifier)
    return machine


def _add_rows(machines: dict[str, MachineEntry], rows: Iterable[Row], groups: RowGroups) -> None:
    """Add a machine for each row, or what a search finds it by to the machine that has one of its identities; and the
    groups that claim the row."""
    for row in rows:
        cells = row.cells()
        identities = [*identities_of_sound(row.layout, cells)]
        if not identities:
            continue
        searched = "\n".join(identities)
        known = next((identity for identity in identities if identity in machines), None)
        if known is not None:
            machine = machines[known]
            # Several rows with one identity are a problem; then the machine is found by all they have, in any order.
            both = {*machine.searched.split("\n"), *identities} if machine.searched else None
            machine.searched = "\n".join(sorted(both)) if both else searched
        else:
            at = row.layout.labels.get("id")
            name = (cells[at] if at is not None else "") or identities[0]
            machine = MachineEntry(name, identity_of(name), known_from="inventory", searched=searched)
            machines[machine.identity] = machine
        for key in groups.of(row, cells):
            machine.add(key.format, key.identifier)


def _searched(machine: MachineEntry) -> str:
    groups = "\n".join(machine.groups)
    return f"{machine.name}\n{groups}\n{machine.searched or machine.identity}".casefold()


def _rows_that_differ(catalogue: Catalogue, before: Catalogue) -> set[str] | None:
    """Return the identities whose rows differ between two sets; None where all would have to be compared."""
    after, old = catalogue.inventory, before.inventory
    if after is old:
        return set()
    if after is None or old is None or after.faulty.keys() != old.faulty.keys():  # which may be in no index
        return None
    return after.index.keys_that_differ(old.index)


def _rows_of(catalogue: Catalogue, identities: Iterable[str]) -> Iterable[Row]:
    """Return the rows of identities, each once, in their order."""
    inventory = catalogue.inventory
    if inventory is None:
        return ()
    return sorted({row for identity in identities for row in inventory.rows_of(identity)}, key=inventory.position)


def _named_by(row: Row) -> Iterator[str]:
    """Yield the identities under which a row may be: those that it has, and that of its name."""
    cells = row.cells()
    identities = identities_of_sound(row.layout, cells)
    yield from identities
    at = row.layout.labels.get("id")
    if at is not None and cells[at]:
        yield identity_of(cells[at])
