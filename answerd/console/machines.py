"""The table of machines: all that have a name, found once for each answer set, then searched and cut into pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from answerd.answers.catalogue import Catalogue
from answerd.identity import Kind, identity

ON_A_PAGE = 100
"""Machines that one page of the table shows."""

SORTS = ("name", "state", "group", "since")
"""The columns that the table can be sorted by."""


@dataclass(slots=True)
class Machine:
    """One line of the table. ``since`` is in seconds since 1970, None where no state is known.

    ``known_from`` says where the name stands: ``document``, ``member``, ``inventory``, ``install``, ``unknown``.
    """

    name: str
    identity: str
    formats: tuple[str, ...] = ()
    group: str = ""
    known_from: str = "document"
    state: str = ""
    silent: bool = False
    since: float | None = None
    message: str = ""
    searched: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class View:
    """What the address of the page asks for; every part is a parameter, so that a view can be sent to somebody."""

    search: str = ""
    state: str = ""
    group: str = ""
    format: str = ""
    sort: str = "name"
    descending: bool = False
    page: int = 1


@dataclass(frozen=True, slots=True)
class Shown:
    """One page of the table, with how many machines the view has in all."""

    machines: Sequence[Machine]
    found: int
    pages: int
    page: int


def named_in(catalogue: Catalogue) -> dict[str, Machine]:
    """Return the machines that have a name, by identity: machine documents, members of groups, rows of inventories."""
    machines: dict[str, Machine] = {}
    for document in catalogue.documents.values():
        key = document.key
        if key.kind is Kind.MACHINE:
            known = machines.get(document.identity)
            group = document.content.control.extends or ""
            if known is None:
                machines[document.identity] = Machine(key.identifier, document.identity, (key.format,), group)
            else:
                known.formats = (*known.formats, key.format)
                known.group = known.group or group
    for document in catalogue.documents.values():
        if document.key.kind is Kind.GROUP:
            for member in document.content.control.members:
                name = identity(member)
                known = machines.get(name)
                if known is None:
                    machines[name] = Machine(member, name, (document.key.format,), document.key.identifier, "member")
                else:
                    known.group = known.group or document.key.identifier
                    if document.key.format not in known.formats:
                        known.formats = (*known.formats, document.key.format)
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        name = row.name
        identities = [*row.identities()]
        if name and identities and not any(one in machines for one in identities):
            machines[identities[0]] = Machine(
                name, identities[0], known_from="inventory", searched=" ".join(identities)
            )
    return machines


class MachineTable:
    """The machines of one answer set. Kept for as long as that set is in force."""

    def __init__(self) -> None:
        self._catalogue: Catalogue | None = None
        self._named: Mapping[str, Machine] = {}

    def of(self, catalogue: Catalogue) -> Mapping[str, Machine]:
        """Return the machines by identity. Costs a look at every document where the set has changed."""
        if self._catalogue is not catalogue:
            named = catalogue.elsewhere(lambda: named_in(catalogue))
            for machine in named.values():
                machine.searched = f"{machine.name}\n{machine.identity}\n{machine.group}\n{machine.searched}".casefold()
            self._named, self._catalogue = named, catalogue
        return self._named


def with_states(named: Mapping[str, Machine], records: Iterable[Machine]) -> list[Machine]:
    """Return the machines with what is known of their installs. ``records`` are lines of their own, by identity."""
    known = dict(named)
    for record in records:
        machine = known.get(record.identity)
        if machine is None:
            known[record.identity] = record
        else:
            known[record.identity] = replace(
                machine, state=record.state, silent=record.silent, since=record.since, message=record.message
            )
    return [*known.values()]


def shown(machines: Iterable[Machine], view: View) -> Shown:
    """Return the page of a view. One pass over all, one sort of what is found."""
    wanted, bare = view.search.casefold(), identity(view.search) if view.search else ""
    found = [
        machine
        for machine in machines
        if (not view.state or view.state == ("silent" if machine.silent else machine.state or "new"))
        and (not view.group or view.group == machine.group)
        and (not view.format or view.format in machine.formats)
        and (not wanted or wanted in machine.searched or (len(bare) > 1 and bare in machine.identity))
    ]
    found.sort(key=attrgetter("name"))
    if view.sort != "name":
        found.sort(key=_sort_key(view.sort), reverse=view.descending)
    elif view.descending:
        found.reverse()
    pages = max(1, -(-len(found) // ON_A_PAGE))
    page = min(max(view.page, 1), pages)
    return Shown(found[(page - 1) * ON_A_PAGE : page * ON_A_PAGE], len(found), pages, page)


def _sort_key(column: str) -> Callable[[Machine], str | float]:
    if column == "since":
        return lambda machine: machine.since or 0.0
    return attrgetter(column)
