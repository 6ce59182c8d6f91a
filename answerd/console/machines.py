"""The table of machines: all that have a name, found once for each answer set, then searched and cut into pages.

The machines that an answer set names change only when a document is written; their states change all the time. So the
table is kept for a set, and states are looked up in memory while it is walked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from answerd.answers.catalogue import Catalogue
from answerd.console.named import MachineEntry, NamedMachines, named_in
from answerd.identity import identity_of

ON_A_PAGE = 100
"""Machines that one page of the table shows."""

GROUPS_SUGGESTED = 500
"""Groups that the field for a group suggests."""

SORTS = ("name", "state", "group", "since")
"""The columns that the table can be sorted by."""

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

    def word(self, identity: str) -> str:
        """Return `Install.shown` of that install, for a fraction of what `of` costs."""

    def since(self, identity: str) -> float:
        """Return the time at which the machine came into its state; 0 where it is not known."""

    def counts(self) -> Mapping[str, int]:
        """Return how many records are in each state, by `Install.shown`."""

    def name(self, identity: str) -> str:
        """Return a record's name as written."""

    def unknown(self) -> Iterable[tuple[str, float]]:
        """Return the machines that nothing claimed, with when they asked last."""


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
        self._others: dict[str, MachineEntry] = {}
        self.is_prepared_elsewhere = False
        """Whether `prepare` is called after each change: a page then does not wait for it, but shows the table from
        before."""

    @property
    def catalogue(self) -> Catalogue | None:
        """The set that the table is of."""
        return self._named.catalogue

    def update(self, catalogue: Catalogue) -> None:
        """Bring the table to this set, at the cost of what has changed. After a change of thousands of machines that is
        a look at every document; where the table is prepared elsewhere, it stays as it is until then."""
        named = self._named
        if not named.follow(catalogue) and (named.catalogue is None or not self.is_prepared_elsewhere):
            self.prepare(catalogue)

    def prepare(self, catalogue: Catalogue) -> None:
        """Make the table of a set anew. From any thread."""
        self._named = named_in(catalogue)

    def forget(self) -> None:
        """Drop the table, until a page needs it."""
        self._named, self._others = NamedMachines(), {}

    def count(self, states: InstallStates | None) -> int:
        """Return how many machines there are."""
        return len(self._named.by_identity) + len(self._more(states))

    def shown(self, view: View, states: InstallStates | None) -> MachinesPage:
        """Return the page of a view. One pass over all, one sort of what is found."""
        more = self._more(states)
        by_name = self._named.by_name
        machines = by_name if not more else sorted((*by_name, *more), key=attrgetter("name"))
        seen = {identity_of(name): last for name, last in states.unknown()} if states is not None else {}
        found = [*_found(machines, view)]
        if view.state and states is not None:
            found = [machine for machine in found if _word(machine, states) == view.state]
        key = _sort_key(view.sort, states, seen)
        if key is not None:
            found.sort(key=key, reverse=view.descending)
        elif view.descending:
            found.reverse()
        pages = max(1, -(-len(found) // ON_A_PAGE))
        page = min(max(view.page, 1), pages)
        cut = found[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
        lines = [(machine, _install(machine, states, seen)) for machine in cut]
        return MachinesPage(lines, len(found), len(machines), pages, page, self._named.first_groups(GROUPS_SUGGESTED))

    def counts(self, states: InstallStates) -> dict[str, int]:
        """Return how many machines are in each state, those that are only known by name as new."""
        counted = dict(states.counts())
        more = self._more(states)
        unknown = sum(machine.known_from == UNKNOWN for machine in more)
        without = len(self._named.by_identity) + len(more) - unknown - sum(counted.values())
        for word, number in (("new", without), (UNKNOWN, unknown)):
            counted[word] = counted.get(word, 0) + max(0, number)
        return counted

    def _more(self, states: InstallStates | None) -> Sequence[MachineEntry]:
        """Return the machines that are known only by their installs or their requests, each the same object every
        time."""
        if states is None:
            return ()
        named = self._named.by_identity
        others = dict.fromkeys(states.names().keys() - named.keys(), "")
        for name, _ in states.unknown():
            identity = identity_of(name)
            if identity not in named and identity not in others:
                others[identity] = name
        found: dict[str, MachineEntry] = {}
        for identity, name in others.items():
            kept, known_from = self._others.get(identity), UNKNOWN if name else "install"
            if kept is None or kept.known_from != known_from:
                called = name or states.name(identity)
                kept = MachineEntry(
                    called, identity, known_from=known_from, searched=f"{called}\n{identity}".casefold()
                )
            found[identity] = kept
        self._others = found
        return [*found.values()]


def _found(machines: Iterable[MachineEntry], view: View) -> Iterable[MachineEntry]:
    """Return the machines that match a view's search, group and format."""
    if view.group:
        machines = [machine for machine in machines if machine.group == view.group]
    if view.format:
        machines = [machine for machine in machines if view.format in machine.formats]
    if view.search:
        text, bare = view.search.casefold(), identity_of(view.search)
        if len(bare) > 1 and bare != text:
            return [machine for machine in machines if text in machine.searched or bare in machine.searched]
        return [machine for machine in machines if text in machine.searched]
    return machines


def _word(machine: MachineEntry, states: InstallStates) -> str:
    return UNKNOWN if machine.known_from == UNKNOWN else states.word(machine.identity)


def _install(machine: MachineEntry, states: InstallStates | None, seen: Mapping[str, float]) -> Install | None:
    if states is None:
        return None
    if machine.known_from == UNKNOWN:
        return Install(UNKNOWN, seen.get(machine.identity))
    return states.of(machine.identity)


def _sort_key(
    column: str, states: InstallStates | None, seen: Mapping[str, float]
) -> Callable[[MachineEntry], str | float] | None:
    """Return the sort key of a column; None for the name, by which the table is sorted already."""
    if column == "group":
        return attrgetter("group")
    if states is None or column == "name":
        return None
    if column == "since":
        return lambda machine: seen.get(machine.identity) or states.since(machine.identity)
    return lambda machine: _word(machine, states)
