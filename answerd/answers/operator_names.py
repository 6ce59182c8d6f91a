"""Machines by the names that operators use: of records, rows, documents and members.

Rules: docs/install-once.md#commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from answerd.answers.cases import claims_of, with_extending
from answerd.answers.catalogue import Catalogue, extended_name
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.identity import identity_of, mac_digits
from answerd.installs.records import InstallMemory, Remembered
from answerd.installs.states import State, is_counted_as
from answerd.inventory.row import Row


class Machine(NamedTuple):
    """A machine that an operator named. ``name`` and ``identities`` are for a new record, ``records`` are its existing
    records."""

    name: str
    identities: Mapping[str, str]
    records: tuple[Remembered, ...]


def machine_named(catalogue: Catalogue, memory: InstallMemory, name: str) -> Machine | None:
    """Return the machine with this name or identity. None where no record, row, document or ``members`` has it and it
    is no MAC address."""
    identity = identity_of(name)
    row = _row_of(catalogue, identity)
    identities = {identity: name} if row is None else {identity: name, **row.identities()}
    records = tuple(memory.found_by(identities, name))
    if row is not None:
        own = memory.by_name.get(identity_of(row.name)) if row.name else None
        return Machine(row.name or name, identities, records if own is None else (own,))
    if records:
        return Machine(records[0].record.name, identities, records)
    for document in catalogue.machines.get(identity, ()):
        return Machine(document.key.identifier, identities, ())
    for claim in (*catalogue.members.get(identity, ()), *catalogue.overlay_members.get(identity, ())):
        return Machine(claim.document.control.spelled(identity), identities, ())
    return Machine(name, identities, ()) if mac_digits(name) else None


def machines_of_group(catalogue: Catalogue, memory: InstallMemory, group: str) -> list[str] | None:
    """Return the names of a group's machines, sorted; None where there is no such group.

    Its members, the machines whose documents extend it, the rows that it claims, and the records whose last answer it
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


def machines_without_record(catalogue: Catalogue, memory: InstallMemory) -> list[Remembered]:
    """Return a new record for each machine that a row, a document or ``members`` names and that has none."""
    found: dict[str, Remembered] = {}
    for name in _named_in_set(catalogue):
        if identity_of(name) in found or identity_of(name) in memory.by_name:
            continue
        machine = machine_named(catalogue, memory, name)
        if machine is not None and not machine.records:
            found[identity_of(machine.name)] = memory.new(machine.name, machine.identities)
    return list(found.values())


def records_of(memory: InstallMemory, machine: Machine) -> list[Remembered]:
    """Return the records of a machine; where it has none, one that is new."""
    return list(machine.records) or [memory.new(machine.name, machine.identities)]


def records_selected(
    catalogue: Catalogue, memory: InstallMemory, now: float, *, group: str | None = None, state: str | None = None
) -> list[Remembered] | None:
    """Return the records of a group's machines, or of all, in a state that `is_counted_as` knows, or in any. A group's
    machines without a record, and all that are new where these are wanted, have a new one. None where there is no such
    group."""
    if group is not None:
        names = machines_of_group(catalogue, memory, group)
        if names is None:
            return None
        machines = (machine for name in names if (machine := machine_named(catalogue, memory, name)) is not None)
        found = {found.record.name: found for machine in machines for found in records_of(memory, machine)}
        selected = list(found.values())
    else:
        selected = [*memory.by_name.values()]
        if state == State.NEW:
            selected += machines_without_record(catalogue, memory)
    if state is None:
        return selected
    return [remembered for remembered in selected if is_counted_as(remembered.record, state, now, memory.rules)]


def _named_in_set(catalogue: Catalogue) -> Iterator[str]:
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        if row.name:
            yield row.name
    for document in list(catalogue.documents.values()):
        if document.is_shared:
            if document.content.readable:
                yield from map(document.control.spelled, document.control.members)
        elif document.identity:
            yield document.key.identifier


def _named_by_group(catalogue: Catalogue, memory: InstallMemory, wanted: frozenset[str]) -> Iterator[str]:
    for remembered in [*memory.by_name.values()]:
        if remembered.group is not None and identity_of(remembered.group) in wanted:
            yield remembered.record.name
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        if row.name and any(document.identity in wanted for document in _groups_of_row(catalogue, row)):
            yield row.name
    for document in list(catalogue.documents.values()):
        if not document.content.readable:
            continue
        if document.is_shared:
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


def _groups_of_row(catalogue: Catalogue, row: Row) -> tuple[Document, ...]:
    try:
        claims = claims_of(catalogue, row)
        return *claims.groups, *claims.overlays
    except AnswerError:
        return ()
