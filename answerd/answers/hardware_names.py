"""The hardware identities that a request carries, and those of a row: who asks.

Rules: docs/install-once.md#what-a-machine-is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import Selection, claimed_member
from answerd.facts import Facts
from answerd.formats import split_extension
from answerd.identity import (
    address_identity,
    identity_of,
    is_mac,
    record_identity,
    spelled_address,
    without_pxelinux_prefix,
)
from answerd.installs.hardware import MAC, NAME, SERIAL, UUID, Asked, Names, RowOf, came_with_several_rows
from answerd.installs.records import MOST_CARRIED, InstallMemory, no_row
from answerd.inventory.row import Row, hardware_in
from answerd.mac_search import SHORTEST_MAC, find_macs

_LOCALLY_ADMINISTERED: Final = frozenset("2367abefABEF")
"""The second digits of MAC addresses that an operating system or a hypervisor has made up."""
_LONGEST: Final = 128
"""Bytes of a serial number or UUID that counts: firmware keeps at most 64 characters, and each event repeats it."""

_LETTERS: Final = {"mac": MAC, "serial": SERIAL, "uuid": UUID}


def row_finder(catalogue: Catalogue) -> RowOf:
    """Return what finds the row of an identity."""
    inventory = catalogue.inventory
    if inventory is None:
        return no_row
    return inventory.index.get


def row_names(catalogue: Catalogue, row: Row, cells: Sequence[str] | None = None) -> Names:
    """Return the hardware identities of a row, without those that many machines share."""
    nobody = catalogue.inventory.nobody if catalogue.inventory is not None else ()
    return {
        identity: _LETTERS[column] + text
        for column, identity, text in hardware_in(row.layout, row.cells() if cells is None else cells)
        if identity not in nobody
    }


def asked_of(catalogue: Catalogue, selection: Selection | None, facts: Facts, memory: InstallMemory) -> Asked:
    """Return which machine asks. Without a ``selection`` no name of a document or member is looked for."""
    row = facts.row
    carried = carried_names(catalogue, facts.said, memory)
    if row is not None:
        return Asked(carried, row, row_names(catalogue, row, facts.cells_of_row), facts.row_id)
    if selection is None:
        return Asked(carried, label="" if carried else _known_name(facts, memory))
    label = _label(catalogue, selection, facts)
    own = record_identity(label) if label else ""
    if own in carried:  # it is no name but the machine's hardware, and is shown as the operator spells it
        return Asked({**carried, own: carried[own][0] + label}, spelled=label)
    return Asked(carried, label=label)


def _label(catalogue: Catalogue, selection: Selection, facts: Facts) -> str:
    """Return the name of the document or member that claims; empty where there is none."""
    if selection.machine is not None:
        return selection.machine.key.identifier
    if selection.group is not None and (member := claimed_member(catalogue, selection, facts)) is not None:
        return selection.group.control.spelled(member[0])
    return ""


def _known_name(facts: Facts, memory: InstallMemory) -> str:
    """Return the name that stands in for a machine whose request says nothing else."""
    texts = memory.ties.texts
    held = facts.identities_held_in(memory.intersection)
    return next((texts[one][1:] for one in sorted(held) if texts.get(one, "")[:1] == NAME), "")


def carried_names(catalogue: Catalogue, said: Facts, memory: InstallMemory) -> Names:
    """Return the hardware identities that a request carries itself: serial number, UUID, and MAC addresses, in this
    order, at most `MOST_CARRIED`. A MAC address in the path is the first one; locally administered ones count where a
    row, member or document has them, or there is no other. Of a JSON body only the system's own serial and UUID count.
    """
    found: dict[str, str] = {}
    said = said.knowing(catalogue.shared)
    is_shared = said.shared.holds
    nobody = catalogue.inventory.nobody if catalogue.inventory is not None else ()
    for label, letter in (("serial", SERIAL), ("uuid", UUID)):
        for value in (*said.values_before_json(label), *said.system_values(label)):
            identity = identity_of(value)
            if identity in found or identity in nobody or not value.isprintable() or is_shared(label, identity):
                continue
            if len(value.encode()) > _LONGEST:
                continue
            if not came_with_several_rows(memory, identity, row_finder(catalogue)):
                found[identity] = letter + value
    macs: dict[str, str] = {}
    made_up: dict[str, str] = {}
    for text in (*_macs_in_path(said), *_macs_of(said.values("mac"))):
        identity = address_identity(text) or ""
        if not is_shared("mac", identity):
            is_made_up = len(identity) == SHORTEST_MAC and identity[1] in _LOCALLY_ADMINISTERED
            (made_up if is_made_up else macs).setdefault(identity, MAC + spelled_address(text))
    if not macs:
        macs = made_up
    elif made_up:
        macs |= {one: text for one, text in made_up.items() if _is_known(catalogue, one)}
    found |= macs
    return found if len(found) <= MOST_CARRIED else dict([*found.items()][:MOST_CARRIED])


def _is_known(catalogue: Catalogue, identity: str) -> bool:
    """Return whether a row, a document or a member has an identity."""
    if catalogue.inventory is not None and identity in catalogue.inventory.index:
        return True
    return any(identity in names for names in (catalogue.machines, catalogue.members, catalogue.overlay_members))


def _macs_of(texts: Iterable[str]) -> list[str]:
    """Return the MAC addresses that the values of the label are or hold."""
    found: list[str] = []
    for text in texts:
        bare = without_pxelinux_prefix(text) or text if text[:3] == "01-" else text
        if address_identity(bare) is not None:
            found.append(bare)
        elif len(text) > SHORTEST_MAC:
            found += find_macs(text.encode("utf-8", "replace"))
    return found


def _macs_in_path(facts: Facts) -> list[str]:
    """Return the MAC addresses that are a segment of the path, or one without its extension."""
    found = []
    for segment in facts.path.segments:
        if len(segment) >= SHORTEST_MAC:
            for text in (segment, split_extension(segment)[0]):
                bare = without_pxelinux_prefix(text) or text
                if is_mac(bare):
                    found.append(bare)
                    break
    return found
