"""Machines by the names that operators use: of rows, documents, members, and by their hardware; and what is shown
together as one machine.

Rules: docs/install-once.md#commands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from answerd.answers.affected import with_extending
from answerd.answers.catalogue import Catalogue, extended_name
from answerd.answers.claims import claims_of
from answerd.answers.hardware_names import row_finder, row_names
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.formats.family import Once
from answerd.identity import address_identity, identity_of, spelled_address
from answerd.installs.hardware import (
    MAC,
    NAME,
    NOBODY,
    Asked,
    Names,
    RowOf,
    former,
    named_by_order,
)
from answerd.installs.records import InstallMemory, Refused, Remembered, no_row
from answerd.installs.sentences import command, kind_and_text, moment
from answerd.installs.states import Gate, Order, Requested, State, is_silent
from answerd.inventory.row import Row
from answerd.short_texts import brief


class Machine(NamedTuple):
    """A machine that an operator named, or that is shown. ``names`` are the identities that are shown together as it;
    ``row`` is its row. ``typed`` is what an order to it goes by. ``row_of`` finds the rows of others."""

    name: str
    names: Names
    row: Row | None = None
    typed: str = ""
    row_of: RowOf = no_row

    def seen_in(self, memory: InstallMemory) -> Remembered:
        """Return what is known of it."""
        return memory.view(self.name, self.names, self.row, self.row_of)


class OrderedMachine(NamedTuple):
    """What an order to a machine names. ``also`` are the identities beyond its row, or beyond what was typed and its
    name, ``label``."""

    label: str
    names: Names
    also: Names = NOBODY


def machine_named(catalogue: Catalogue, memory: InstallMemory, name: str) -> Machine | None:
    """Return the machine with this name or identity. None where no state, row, document or ``members`` has it and it is
    no MAC address."""
    name = spelled_address(name)
    identity = identity_of(name)
    row = _row_of(catalogue, identity)
    if row is not None:
        return machine_of_row(catalogue, memory, row)
    ties = memory.ties
    if (identity in memory.by_identity or identity in ties.of) and not _is_forgotten(memory, identity):
        return _machine_of(catalogue, memory, identity, name)
    label = memory.labels.get(identity)
    if label is not None:
        find = row_finder(catalogue)
        own = [one for one in label.last if find(one) is None and not _is_forgotten(memory, one)]
        if own:
            return Machine(name, {identity: NAME + name, **ties.named(own)}, None, name)
    spelled = _spelled(catalogue, identity)
    if spelled:
        return Machine(spelled, {identity: _letter(spelled) + spelled}, None, name)
    return Machine(name, {identity: MAC + name}, None, name) if address_identity(name) else None


def _is_forgotten(memory: InstallMemory, identity: str) -> bool:
    """Return whether nothing is known of an identity but that it was forgotten, and it has come with no other since."""
    fold, tie = memory.fold(identity), memory.ties.of.get(identity)
    if fold.is_record or not fold.orders:
        return False
    return tie is None or max(order.at for order in fold.orders) >= tie.at


def machine_of_row(catalogue: Catalogue, memory: InstallMemory, row: Row) -> Machine:
    """Return the machine of a row: its hardware; its name too where that has a state of its own."""
    names = row_names(catalogue, row)
    own = identity_of(row.id)
    if own and (own in memory.by_identity or not names):
        names = {**names, own: NAME + row.id}
    return Machine(row.name, names, row, row.name, row_finder(catalogue))


def _machine_of(catalogue: Catalogue, memory: InstallMemory, identity: str, typed: str) -> Machine:
    """Return the machine without a row that an identity is of: what is tied to it, without what a row has. With a name
    is the hardware that was given or refused under it last: an order to the name was given before any hardware asked
    under it, and what comes of the order is seen by that."""
    ties, find = memory.ties, row_finder(catalogue)
    found = {identity: None, **dict.fromkeys(one for one in _under(memory, identity) if find(one) is None)}
    for one in [*ties.tied(identity)]:
        if find(one) is None:
            found[one] = None
    for board in [one for one in found if ties.is_board(one)]:
        found.update((one, None) for one in ties.tied(board) if find(one) is None)
    held = memory.by_identity.get(identity)
    name = held.record.name if held is not None else ""
    own = identity_of(name)
    if not name or own in found or find(own) is not None:  # it is none, or is that of a row now
        other = name if own in found else memory.title_of(identity)
        name = next(filter(None, map(partial(_spelled, catalogue), found)), other)
    elif identity in _under(memory, own):
        found[own] = None
    return Machine(name, ties.named(found), None, typed)


def _under(memory: InstallMemory, name: str) -> list[str]:
    """Return what was given or refused last under a name that has a state of its own, and is called so still."""
    held, label = memory.by_identity, memory.labels.get(name)
    if label is None or name not in held or memory.ties.texts.get(name, NAME)[:1] != NAME:
        return []
    return [one for one in label.last if one in held and identity_of(held[one].record.name) == name]


def _spelled(catalogue: Catalogue, identity: str) -> str:
    """Return an identity as a document or ``members`` spells it; empty where none has it."""
    for document in catalogue.machines.get(identity, ()):
        return document.key.identifier
    for claim in (*catalogue.members.get(identity, ()), *catalogue.overlay_members.get(identity, ())):
        return claim.document.control.spelled(identity)
    return ""


def _letter(text: str) -> str:
    return MAC if address_identity(text) else NAME


def ordered_machine(catalogue: Catalogue, memory: InstallMemory, machine: Machine, order: Order) -> OrderedMachine:
    """Return what an order to a machine names."""
    row, find = machine.row, row_finder(catalogue)
    if row is not None:
        own: Collection[str] = machine.names
        names = named_by_order(memory, row.id or row.name, NAME, machine.names, row, order, find)
    else:
        identity = identity_of(machine.typed or machine.name)
        kind = memory.ties.texts.get(identity, machine.names.get(identity, NAME))[:1]
        names = named_by_order(memory, machine.typed or machine.name, kind, None, None, order, find)
        own = (identity, identity_of(machine.name))
    return OrderedMachine(machine.name, names, {one: text for one, text in names.items() if one not in own})


def still_refused(catalogue: Catalogue, memory: InstallMemory, machine: Machine, at: float) -> Refused | None:
    """Return why the last request of a machine would be refused now at a loader that waits for an operator; None where
    it would be given."""
    find, ties = row_finder(catalogue), memory.ties
    tries = {ties.last_asked(one) for one in machine.names if one in ties.of}
    tries |= {memory.labels[one].last for one in machine.names if one in memory.labels and machine.row is None}
    requested = Requested("", Gate.LOADER, Once.ARMED, at)
    for last in sorted(tries or {()}):
        carried = {one: text for one, text in ties.named(last).items() if text[0] != NAME}
        rows = [found for one in carried if (found := find(one)) is not None]
        row = machine.row
        if row is None and rows and isinstance(rows[0], Row):
            row = rows[0]  # what the name was given with is in a row of another name now
        if any(other is not row for other in rows):
            continue  # that request was another machine's
        of_row = row_names(catalogue, row) if row is not None else NOBODY
        label = (row.id if row is not None else machine.name) or machine.name
        asked = Asked(carried, row, of_row, label if row is not None or not carried else "")
        if not asked.names:
            continue
        decision = memory.ask(asked, requested, find)
        if decision.refused is not None:
            return decision.refused
    return None


def machines_of_group(catalogue: Catalogue, memory: InstallMemory, group: str) -> list[str] | None:
    """Return the names of a group's machines, sorted; None where there is no such group.

    Its members, the machines whose documents extend it, the rows that it claims, and the machines whose last answer it
    was part of; the same of the groups that extend it.
    """
    named = {name for name in catalogue.groups if name[0] == identity_of(group)}
    if not named:
        return None
    wanted = frozenset(identity for identity, _ in with_extending(named, (catalogue,)))
    names: dict[str, str] = {}
    for name in _named_by_group(catalogue, memory, wanted):
        names.setdefault(identity_of(name), name)
    return sorted(names.values())


def machines_with_state(catalogue: Catalogue, memory: InstallMemory) -> Iterator[Machine]:
    """Yield each machine of which a state is known, or that was refused: by its row, else what is tied."""
    find = row_finder(catalogue)
    rows: set[int] = set()
    seen: set[str] = set()
    for identity in [*memory.by_identity, *[one for one in memory.ties.of if one not in memory.by_identity]]:
        if identity in seen:
            continue
        row = find(identity)
        if isinstance(row, Row):
            if id(row) not in rows:
                rows.add(id(row))
                yield machine_of_row(catalogue, memory, row)
            continue
        machine = _machine_of(catalogue, memory, identity, identity)
        seen.update(machine.names)
        if _is_shown_with_a_row(memory, find, machine.names):
            continue
        typed = memory.ties.texts.get(identity, NAME + identity)
        typed = next((text for text in machine.names.values() if text[0] == NAME), typed)
        yield machine._replace(typed=typed[1:])


def _is_shown_with_a_row(memory: InstallMemory, find: RowOf, names: Names) -> bool:
    """Return whether identities without a row are further ones of a row's machine, in the same state."""
    for one in names:
        held = memory.by_identity.get(one)
        state = held.record.state if held is not None else State.NEW
        if not any(
            find(other) is not None and (state is State.NEW or memory.state_of(other) is state)
            for other in memory.ties.tied(one)
        ):
            return False
    return True


def remembered_machines(catalogue: Catalogue, memory: InstallMemory) -> list[Remembered]:
    """Return all machines of which anything is known but that they were forgotten."""
    seen = (machine.seen_in(memory) for machine in machines_with_state(catalogue, memory))
    return [one for one in seen if one.record.state is not State.NEW or one.record.heard]


def census(catalogue: Catalogue, memory: InstallMemory, now: float) -> tuple[Counter[State], int]:
    """Return how many machines are in each state, and how many are silent."""
    records = [machine.seen_in(memory).record for machine in machines_with_state(catalogue, memory)]
    return Counter(record.state for record in records), sum(is_silent(one, now, memory.rules) for one in records)


def machines_without_record(catalogue: Catalogue, memory: InstallMemory, known: Iterable[Remembered]) -> list[Machine]:
    """Return each machine that a row, a document or ``members`` names and that is not known."""
    names = {identity for one in known for identity in (identity_of(one.record.name), *one.names)}
    found: dict[str, Machine] = {}
    for name in _named_in_set(catalogue):
        if identity_of(name) in names:
            continue
        machine = machine_named(catalogue, memory, name)
        if machine is not None and names.isdisjoint(machine.names):
            found[identity_of(machine.name)] = machine
    return list(found.values())


def refused_by_name(catalogue: Catalogue, memory: InstallMemory) -> Iterator[tuple[Row, str, Remembered]]:
    """Yield each row that is refused because its name was that of another machine, with the installed identity and
    what is known of that."""
    find = row_finder(catalogue)
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        if row.id and identity_of(row.id) in memory.labels:
            was = former(memory, row.id, row_names(catalogue, row), find)
            if was is not None:
                yield row, was, memory.view(row.id, memory.ties.named([was]))


def rows_in_conflict(catalogue: Catalogue, memory: InstallMemory) -> Iterator[tuple[Row, Remembered]]:
    """Yield each row of which one identity is installed and another one is under way."""
    for machine in machines_with_state(catalogue, memory):
        if machine.row is not None:
            seen = machine.seen_in(memory)
            if seen.record.state is State.CONFLICT:
                yield machine.row, seen


NO_STATES: Final = "no state of any install is known: every machine may install"
"""What is said where documents have ``once`` and nothing was ever given, reported or ordered."""


def asks_for_states(catalogue: Catalogue) -> bool:
    """Return whether a group or default has ``once``, or one of the first machines' documents, which are not read at
    the start of a service."""
    documents = list(catalogue.documents.values())
    shared = [document for document in documents if document.is_group]
    machines = islice((document for document in documents if not document.is_group), _MACHINES_LOOKED_AT)
    return any(one.content.readable and one.control.once not in (None, Once.OFF) for one in (*shared, *machines))


_MACHINES_LOOKED_AT: Final = 100


def notes_of_states(catalogue: Catalogue, memory: InstallMemory) -> Iterator[str]:
    """Yield what an operator should know before machines ask: rows in conflict, and rows that their name refuses."""
    inventory = catalogue.inventory
    if inventory is None:
        return
    for row, seen in rows_in_conflict(catalogue, memory):
        parts = " and ".join(f"{brief(text)} is {record.state}" for text, record in seen.parts)
        yield (
            f"{inventory.place(row)}: {brief(row.name)} is a conflict: {parts}; "
            f'"{command("arm", [row.name])}" lets it install, "{command("disarm", [row.name])}" keeps it as it is'
        )
    for row, was, seen in refused_by_name(catalogue, memory):
        yield (
            f"{inventory.place(row)}: {brief(row.name)} will be refused: it was installed on "
            f"{kind_and_text(memory.ties.texts.get(was, ''))} since {moment(seen.record.since)}; "
            f'if this is other hardware: "{command("arm", [row.name])}"'
        )


def _named_in_set(catalogue: Catalogue) -> Iterator[str]:
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        if row.name:
            yield row.name
    for document in list(catalogue.documents.values()):
        if document.is_group:
            if document.content.readable:
                yield from map(document.control.spelled, document.control.members)
        elif document.identity:
            yield document.key.identifier


def _named_by_group(catalogue: Catalogue, memory: InstallMemory, wanted: frozenset[str]) -> Iterator[str]:
    for remembered in remembered_machines(catalogue, memory):
        if remembered.group is not None and identity_of(remembered.group) in wanted:
            yield remembered.record.name
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        if row.name and any(document.identity in wanted for document in groups_of_row(catalogue, row)):
            yield row.name
    for document in list(catalogue.documents.values()):
        if not document.content.readable:
            continue
        if document.is_group:
            if document.identity in wanted:
                yield from (_name_of_member(catalogue, document, identity) for identity in document.control.members)
        elif document.identity and (extended := extended_name(document)) and extended[0] in wanted:
            yield _own_name(catalogue, document.identity, document.key.identifier)


def _name_of_member(catalogue: Catalogue, group: Document, identity: str) -> str:
    return _own_name(catalogue, identity, group.control.spelled(identity))


def _own_name(catalogue: Catalogue, identity: str, name: str) -> str:
    row = _row_of(catalogue, identity)
    return row.name if row is not None and row.name else name


def _row_of(catalogue: Catalogue, identity: str) -> Row | None:
    row = catalogue.inventory.index.get(identity) if catalogue.inventory is not None else None
    return row if isinstance(row, Row) else None


def groups_of_row(catalogue: Catalogue, row: Row) -> tuple[Document, ...]:
    """Return the groups and overlays that claim a row."""
    try:
        claims = claims_of(catalogue, row)
        return *claims.groups, *claims.overlays
    except AnswerError:
        return ()
