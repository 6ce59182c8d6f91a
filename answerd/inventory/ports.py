"""A table with a row for each port, as machines (docs/inventory.md#tables-with-a-row-for-each-port).

Rows in, machines out. Two machines that have one name must not become one, so whatever shows that there are two is a
fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from answerd.identity import folded, identity_of, normalize
from answerd.inventory import columns_file_beside
from answerd.inventory.records import UnreadableError
from answerd.inventory.row import IDENTITY_COLUMNS, Layout, hardware_in, judged
from answerd.inventory.table import Table
from answerd.shared_values import MAC, SERIAL, UUID
from answerd.short_texts import brief

PORT: Final = "port"
"""The label of the column that names the port."""


class MachineOfPorts(NamedTuple):
    """A machine: the line of its first row, its addresses in the order of its rows, and its other values by label."""

    line: int
    macs: Sequence[str]
    values: Mapping[str, str]


class Ports(NamedTuple):
    """The machines of a table in their order, and what is wrong with the others, with its line."""

    machines: Sequence[MachineOfPorts]
    faults: Sequence[tuple[int, str]]


class _Value(NamedTuple):
    text: str
    line: int


def machines_of_ports(table: Table) -> Ports:
    """Return the machines of a table. Raises `UnreadableError` where the columns cannot tell which rows are of one
    machine."""
    layout = table.layout
    naming = next((label for label in ("id", SERIAL, UUID) if label in layout.labels), None)
    if naming is None:
        raise UnreadableError(table.header_line, "no column is id, serial or uuid, so no row says whose port it is")
    of_machine: dict[str, _OneMachine] = {}
    faults: list[tuple[int, str]] = []
    for row, line in zip(table.rows, table.lines, strict=True):
        cells = row.cells()
        identities, fault = judged(layout, layout.syntax.cells(row.text))
        names = layout.values(naming, cells)
        if not names:
            faults.append((line, fault or f"{_columns(layout, naming)} is empty, so it is the port of no machine"))
            continue
        machine = of_machine.setdefault(identity_of(names[0]), _OneMachine(layout, line))
        if machine.line != line and naming == "id" and PORT not in layout.labels:
            raise UnreadableError(table.header_line, _without_port(table, machine.line, line))
        machine.faults += [(line, fault)] if fault else machine.add(line, cells)
        for label, identity in _identities(layout, cells):
            if identity in identities:
                machine.identities.setdefault(identity, (line, label))
    _note_identities_of_several(layout, of_machine.values())
    faults += [fault for machine in of_machine.values() for fault in machine.faults]
    return Ports([one.whole() for one in of_machine.values() if not one.faults], sorted({*faults}))


def _identities(layout: Layout, cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the label and the identity of each value that identifies the machine of a row."""
    yield from (("id", identity_of(value)) for value in layout.values("id", cells))
    yield from ((label, identity) for label, identity, _ in hardware_in(layout, cells))


def _note_identities_of_several(layout: Layout, machines: Iterable[_OneMachine]) -> None:
    """Note a fault of each machine that has an identity of another one: the table does not say whose it is."""
    holders: dict[str, list[_OneMachine]] = {}
    for machine in machines:
        for identity in machine.identities:
            holders.setdefault(identity, []).append(machine)
    for identity, several in holders.items():
        for machine in several if len(several) > 1 else ():
            line, label = machine.identities[identity]
            other, _ = several[several[0] is machine].identities[identity]
            what = f"{_columns(layout, label)} has a value that line {other} has too, which is of another machine"
            machine.faults.append((line, what))


def _without_port(table: Table, first: int, line: int) -> str:
    beside = columns_file_beside(table.layout.source)
    return (
        f"lines {first} and {line} are of one machine by its name, and two machines could have this name: say in "
        f'{beside} which column names the port: columns = {{ "NAME OF THE COLUMN" = "{PORT}" }}'
    )


def _columns(layout: Layout, label: str) -> str:
    return f"column {' and '.join(map(brief, layout.columns_of(label)))}"


class _OneMachine:
    """The rows of one machine so far."""

    def __init__(self, layout: Layout, line: int) -> None:
        self.line = line
        self.faults: list[tuple[int, str]] = []
        self.identities: dict[str, tuple[int, str]] = {}
        """Each identity, with the line where it is first and the label of its column."""
        self._layout = layout
        self._macs: dict[str, str] = {}
        self._ports: dict[str, int] = {}
        self._values: dict[str, _Value] = {}
        self._differing: set[str] = set()

    def add(self, line: int, cells: Sequence[str]) -> list[tuple[int, str]]:
        """Take a row along; return its faults."""
        faults: list[tuple[int, str]] = []
        for label in self._layout.labels:
            values = self._layout.values(label, cells)
            if label == MAC:
                for mac in values:
                    self._macs.setdefault(normalize(mac), mac)
            elif label == PORT:
                first = self._ports.setdefault(folded(" ".join(values)), line)
                if first != line:
                    faults.append((line, self._two_machines(label, f"is as in line {first}")))
            elif values:
                text = " ".join(values)
                known = self._values.setdefault(label, _Value(text, line))
                if _compared(label, known.text) == _compared(label, text):
                    continue
                if label in IDENTITY_COLUMNS:
                    faults.append((line, self._two_machines(label, f"differs from line {known.line}")))
                self._differing.add(label)
        return faults

    def whole(self) -> MachineOfPorts:
        values = {label: value.text for label, value in self._values.items() if label not in self._differing}
        return MachineOfPorts(self.line, [*self._macs.values()], values)

    def _two_machines(self, label: str, what: str) -> str:
        return f"{_columns(self._layout, label)} {what}, which is of the same machine: two machines have its name"


def _compared(label: str, text: str) -> str:
    return identity_of(text) if label in IDENTITY_COLUMNS else text
