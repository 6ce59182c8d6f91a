"""The table of machines: all that have a name, found once for each answer set, then searched and cut into pages.

The machines that an answer set names change only when a document is written; their states change all the time. So the
table is kept for a set, and states are looked up in memory while it is walked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Protocol

from answerd.answers.catalogue import Catalogue
from answerd.console.named import MachineEntry, NamedMachines, is_small, named_in
from answerd.identity import identity_of
from answerd.sorting import free_in_steps, sorted_in_steps, stretch

ON_A_PAGE = 100
"""Machines that one page of the table shows."""

GROUPS_SUGGESTED = 500
"""Groups that the field for a group suggests."""

SORTS = ("name", "state", "group", "since")
"""The columns that the table can be sorted by."""

_COPIED_AT_ONCE = 5_000

UNKNOWN = "unknown"
SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Install:
    """The state of a machine's install. ``since`` is in seconds since 1970; ``shown`` is the state that it is counted
    as."""

    state: str
    since: float | None = None
    silent: bool = False
    group: str = ""
    message: str = ""
    percent: float | None = None

    @property
    def shown(self) -> str:
        """The word that it is counted and filtered by."""
        return SILENT if self.silent else self.state


NEW = Install("new")
"""A machine without a record."""


class InstallStates(Protocol):
    """The installs of one moment."""

    def names(self) -> Mapping[str, object]:
        """Return something for each record, by the identity of its name."""

    def of(self, identity: str) -> Install:
        """Return the install of the machine whose name has this identity."""

    def version(self) -> object:
        """Return what is equal for as long as `names` has the same keys."""

    def words(self, identities: Iterable[str]) -> list[str]:
        """Return `Install.shown` of each of those installs, for a fraction of what `of` costs."""

    def sinces(self, identities: Iterable[str]) -> list[float]:
        """Return the time at which each of those machines came into its state; 0 where it is not known."""

    def groups(self, identities: Iterable[str]) -> list[str]:
        """Return `Install.group` of each of those installs."""

    def counts(self) -> Mapping[str, int]:
        """Return how many records are in each state, by `Install.shown`."""

    def name(self, identity: str) -> str:
        """Return a record's name as written."""

    def unknown(self) -> Iterable[tuple[str, float]]:
        """Return the machines that nothing claimed, with when they asked last."""

    def answered_by_default(self) -> frozenset[str]:
        """Return the identities of those among them that a default document answers."""


@dataclass(frozen=True, slots=True)
class View:
    """The view that the page's URL describes; every part is a parameter, so that an operator can send a link to a
    view."""

    search: str = ""
    state: str = ""
    group: str = ""
    format: str = ""
    sort: str = "name"
    descending: bool = False
    page: int = 1


@dataclass(frozen=True, slots=True)
class MachinesPage:
    """One page of the table, with how many machines the view has in all, and how many there are. ``machines`` come with
    their install, None where there is no place for states."""

    machines: Sequence[tuple[MachineEntry, Install | None]]
    found: int
    total: int
    pages: int
    page: int
    groups: Sequence[str] = ()


class MachineTable:
    """The machines of one answer set, sorted by name. Kept for as long as that set is in force."""

    def __init__(self) -> None:
        self._named = NamedMachines()
        self._others = _Others()
        self.is_prepared_elsewhere = False
        """Whether `prepare` is called after each change: a page then does not wait for it, but shows the table from
        before."""

    @property
    def catalogue(self) -> Catalogue | None:
        """The set that the table is of."""
        return self._named.catalogue

    def update(self, catalogue: Catalogue) -> None:
        """Bring the table to this set, at the cost of what has changed. After a change of thousands of machines that is
        a look at every document; where the table is prepared elsewhere, it stays as it is until then, and is at first
        empty and of no ``catalogue``."""
        named = self._named
        if named.follow(catalogue):
            return
        if not self.is_prepared_elsewhere or is_small(catalogue):
            self.prepare(catalogue)

    def prepare(self, catalogue: Catalogue) -> None:
        """Make the table of a set anew. From any thread."""
        self._named = named_in(catalogue)

    def forget(self) -> None:
        """Drop the table, until a page needs it."""
        self._named, self._others = NamedMachines(), _Others()

    def count(self, states: InstallStates | None) -> int:
        """Return how many machines there are."""
        return len(self._named.by_identity) + len(self._more(states))

    def shown(self, view: View, states: InstallStates | None) -> MachinesPage:
        """Return the page of a view. One pass over all; of what is found only the first pages are sorted."""
        more, by_name = self._more(states), self._named.by_name
        seen = {identity_of(name): last for name, last in states.unknown()} if states is not None else {}
        found: Sequence[MachineEntry] = _found(by_name, view, states)
        found_more = _found(more, view, states)
        if view.state and states is not None:
            found, found_more = _in_state(found, view.state, states), _in_state(found_more, view.state, states)
        if found_more:
            found = _merged(found, found_more) if found else found_more
        pages = max(1, -(-len(found) // ON_A_PAGE))
        page = min(max(view.page, 1), pages)
        first, last = (page - 1) * ON_A_PAGE, page * ON_A_PAGE
        cut = _cut(found, first, last, view, states, seen)
        by_default = states.answered_by_default() if states is not None else frozenset()
        lines = [(machine, _install(machine, states, seen, by_default)) for machine in cut]
        count, total = len(found), len(by_name) + len(more)
        if isinstance(found, list) and found is not by_name and found is not more:
            free_in_steps(found)
        return MachinesPage(lines, count, total, pages, page, self._named.first_groups(GROUPS_SUGGESTED))

    def counts(self, states: InstallStates) -> dict[str, int]:
        """Return how many machines are in each state, those that are only known by name as new."""
        counted = dict(states.counts())
        count, unknown = self.count(states), self._others.unknown
        without = count - unknown - sum(counted.values())
        for word, number in (("new", without), (UNKNOWN, unknown)):
            counted[word] = counted.get(word, 0) + max(0, number)
        return counted

    def _more(self, states: InstallStates | None) -> Sequence[MachineEntry]:
        """Return the machines that are known only by their installs or their requests, sorted by name, each the same
        object every time."""
        if states is None:
            return ()
        self._others.follow(self._named, states)
        return self._others.by_name


class _Others:
    """The machines that no document and no row names. ``unknown`` of them are known by their requests only."""

    def __init__(self) -> None:
        self.by_name: list[MachineEntry] = []
        self.unknown = 0
        self._kept: dict[str, MachineEntry] = {}
        self._of: Catalogue | None = None
        self._version: object = None

    def follow(self, table: NamedMachines, states: InstallStates) -> None:
        """Become those of this moment. One pass over the records where there are others than at the last look; what is
        new is made and sorted."""
        named, version = table.by_identity, (states.version(), tuple(name for name, _ in states.unknown()))
        if self._of is table.catalogue and self._version == version:
            return
        self._of, self._version = table.catalogue, version
        records, kept = states.names(), self._kept
        visitors = {identity_of(name): name for name, _ in reversed([*states.unknown()])}
        visitors = {one: name for one, name in visitors.items() if one not in named and one not in records}
        gone = [one for one, machine in kept.items() if one in named or not _is_still(machine, records, visitors)]
        for one in gone:
            kept.pop(one)
        new = [one for one in [*records] if one not in named and one not in kept]
        new += [one for one in visitors if one not in kept]
        for one in new:
            name = visitors.get(one) or states.name(one)
            known_from = UNKNOWN if one in visitors else "install"
            kept[one] = MachineEntry(name, one, known_from=known_from, searched=f"{name}\n{one}".casefold())
        self.unknown = len(visitors)
        if gone:
            self._become([machine for machine in self.by_name if kept.get(machine.identity) is machine])
        if new:
            machines = sorted_in_steps((kept[one] for one in new), _name_of)
            self._become([*merge(self.by_name, machines, key=_name_of)])
            free_in_steps(machines)
        free_in_steps(new)

    def _become(self, machines: list[MachineEntry]) -> None:
        before, self.by_name = self.by_name, machines
        free_in_steps(before)


def _is_still(machine: MachineEntry, records: Mapping[str, object], visitors: Mapping[str, str]) -> bool:
    return machine.identity in (visitors if machine.known_from == UNKNOWN else records)


_name_of = attrgetter("name")


def _found(machines: Sequence[MachineEntry], view: View, states: InstallStates | None) -> Sequence[MachineEntry]:
    """Return the machines that match a view's search, group and format; without these, the same list."""
    if view.group:
        machines = _in_group(machines, view.group, states)
    if view.format:
        machines = [machine for machine in machines if view.format in machine.formats]
    if view.search:
        text, bare = view.search.casefold(), identity_of(view.search)
        if len(bare) > 1 and bare != text:
            return [machine for machine in machines if text in machine.searched or bare in machine.searched]
        return [machine for machine in machines if text in machine.searched]
    return machines


def _in_group(machines: Sequence[MachineEntry], group: str, states: InstallStates | None) -> Sequence[MachineEntry]:
    """Return the machines that have a group; those without any have the group of their last answer."""
    return [
        machine
        for machine, first in zip(machines, _groups(machines, states), strict=True)
        if first == group or group in machine.more_groups
    ]


def _groups(machines: Sequence[MachineEntry], states: InstallStates | None) -> list[str]:
    """Return the group of each machine that it is sorted by."""
    groups = [machine.group for machine in machines]
    without = [at for at, group in enumerate(groups) if not group]
    if states is not None and without:
        for at, group in zip(without, states.groups([machines[at].identity for at in without]), strict=True):
            groups[at] = group
    return groups


def _merged(many: Sequence[MachineEntry], few: Sequence[MachineEntry]) -> list[MachineEntry]:
    """Return two lists that are sorted by name as one. Of few machines each is looked for in the other list: a merge
    that compares all takes 20 ms for 100,000."""
    if len(few) * 20 > len(many):
        return [*merge(many, few, key=_name_of)]
    found: list[MachineEntry] = []
    start = 0
    for machine in few:
        end = bisect_right(many, machine.name, start, key=_name_of)
        _extend(found, many, start, end)
        found.append(machine)
        start = end
    _extend(found, many, start, len(many))
    return found


def _extend(found: list[MachineEntry], machines: Sequence[MachineEntry], start: int, end: int) -> None:
    """Append a stretch of the machines, in steps between which other threads have a turn."""
    for at in range(start, end, _COPIED_AT_ONCE):
        found += machines[at : min(at + _COPIED_AT_ONCE, end)]


def _words(machines: Sequence[MachineEntry], states: InstallStates) -> list[str]:
    """Return the word of each machine that it is filtered and sorted by."""
    words = states.words([machine.identity for machine in machines])
    for at in [at for at, machine in enumerate(machines) if machine.known_from == UNKNOWN]:
        words[at] = UNKNOWN
    return words


def _in_state(machines: Sequence[MachineEntry], state: str, states: InstallStates) -> Sequence[MachineEntry]:
    words = _words(machines, states)
    return [machine for machine, word in zip(machines, words, strict=True) if word == state]


def _install(
    machine: MachineEntry, states: InstallStates | None, seen: Mapping[str, float], by_default: frozenset[str]
) -> Install | None:
    if states is None:
        return None
    if machine.known_from == UNKNOWN:
        note = "answered by the default" if machine.identity in by_default else ""
        return Install(UNKNOWN, seen.get(machine.identity), message=note)
    return states.of(machine.identity)


def _cut(
    found: Sequence[MachineEntry],
    first: int,
    last: int,
    view: View,
    states: InstallStates | None,
    seen: Mapping[str, float],
) -> Sequence[MachineEntry]:
    """Return a stretch of the machines, which are sorted by name, in the order of a view."""
    down = view.descending
    if view.sort == "group":
        groups = _groups(found, states)
        return [found[at] for at in stretch(range(len(found)), groups.__getitem__, first, last, reverse=down)]
    if states is None or view.sort == "name":
        return found[max(0, len(found) - last) : len(found) - first][::-1] if down else found[first:last]
    if view.sort == "state":
        words = _words(found, states)
        in_order = (
            machine
            for shown in sorted({*words}, reverse=down)
            for machine, word in zip(found, words, strict=True)
            if word == shown
        )
        return [*islice(in_order, first, last)]
    identities = [machine.identity for machine in found]
    times = states.sinces(identities)
    for at in [at for at, identity in enumerate(identities) if identity in seen]:
        times[at] = seen[identities[at]] or times[at]
    return [found[at] for at in stretch(range(len(found)), times.__getitem__, first, last, reverse=down)]
