"""Unknown machines become rows: which of them, in which order, and with which names
(docs/inventory.md#adopting-machines).

Texts in, a plan out: nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from answerd.answers.catalogue import Catalogue
from answerd.answers.inventory_index import Inventory, inventory_file
from answerd.documents import Key, RawDocument
from answerd.formats.patterns import NotAFilter, filters_in
from answerd.hardware import hardware_of_labels
from answerd.identity import Kind, folded, identifier_fault, identity_of
from answerd.installs.contacts import Contact, Held
from answerd.installs.shown import UnknownMachine, timestamp
from answerd.inventory.editing import in_columns, with_rows_added, with_rows_changed
from answerd.inventory.records import UnreadableError
from answerd.inventory.row import IDENTITY_COLUMNS, Layout, Row, hardware_in, judged
from answerd.inventory.table import Table, read_table
from answerd.short_texts import brief, printable

_NUMBER: Final = re.compile(r"\{n(?::0?([1-9]))?\}")

_LONGEST_NUMBER: Final = 9
"""Digits of a number in a name."""

MOST_ADOPTED: Final = 1_000
"""Machines of one adoption: as many unknown machines are kept."""


class WrongAdoption(Exception):
    """What is asked for cannot be; a sentence for the operator."""


@dataclass(frozen=True)
class Adoption:
    """What is asked for.

    ``name``: a pattern of names, ``cn{n:04}``. ``values``: cells by column, the same for all. ``said``: filters
    LABEL=PATTERN of what the machines said. ``count``: at most so many. ``free``: rows that have no hardware yet are
    filled, in their order, in place of new ones. ``only``: the machines that were chosen one by one; None: all.
    """

    name: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    said: Sequence[str] = ()
    count: int | None = None
    free: bool = False
    only: Collection[str] | None = None


class Adopted(NamedTuple):
    """A machine and its row. ``line`` is that of the row which it fills; None for a new one."""

    machine: UnknownMachine
    cells: Sequence[str]
    line: int | None


class Plan(NamedTuple):
    """What would be done: the rows, the machines that are left out with the reason, and the text of the inventory."""

    source: str
    table: Table
    adopted: Sequence[Adopted]
    left_out: Sequence[tuple[UnknownMachine, str]]
    text: str

    def contacts(self) -> list[Contact]:
        """Return what the machines last said, as it is known of the rows once they are there."""
        return [
            Contact(name, one.machine.last, (*identities,), "", 0, "", Held.NOT, one.machine.facts)
            for one in self.adopted
            for name, identities in ((named_in(self, one), judged(self.table.layout, one.cells).identities),)
        ]

    def document(self, key: Key) -> RawDocument:
        """Return the inventory with the rows."""
        return RawDocument(key, self.text)


def planned(
    catalogue: Catalogue,
    key: Key,
    text: str | None,
    machines: Iterable[UnknownMachine],
    asked: Adoption,
    names: Iterable[str] = (),
) -> Plan:
    """Return what an adoption would do to an inventory. ``text`` is None where there is none yet; ``names`` are those
    of records of installs, which are not given anew. Raises `WrongAdoption`."""
    source = inventory_file(RawDocument(key, ""))
    values = {folded(column): value for column, value in asked.values.items()}
    if text is None:
        text = ",".join(dict.fromkeys((*IDENTITY_COLUMNS, *values))) + "\n"
    try:
        table = read_table(source, text, catalogue.meaning_of(key.identifier))
    except UnreadableError as error:
        raise WrongAdoption(f"{source}:{error.line}: the inventory cannot be read: {error.reason}") from None
    _refuse_unknown_columns(table.layout, values, asked)
    pattern = None if asked.name is None else NamePattern(asked.name)
    numbered = pattern.free(_names(catalogue, names)) if pattern is not None else None
    rows = _free_rows(catalogue, table) if asked.free else None
    refusing = RowsRefused(catalogue.inventory or Inventory())
    adopted: list[Adopted] = []
    left_out: list[tuple[UnknownMachine, str]] = []
    name, row = "", next(rows, None) if rows is not None else None
    for machine, labels in _wanted(machines, asked):
        if len(adopted) == (asked.count or MOST_ADOPTED):
            break
        if rows is not None and row is None:
            left_out.append((machine, "no free row is left"))
            continue
        if numbered is not None and not name:
            name = next(numbered)
        cells = _cells(table.layout, machine, labels, row, name, values)
        if why := refusing.why(table.layout, cells, printable(machine.machine), row):
            left_out.append((machine, why))
            continue
        adopted.append(Adopted(machine, cells, table.line_of(row) if row is not None else None))
        name, row = "", next(rows, None) if rows is not None else None
    return Plan(source, table, adopted, left_out, _text(text, table, adopted))


def _wanted(
    machines: Iterable[UnknownMachine], asked: Adoption
) -> Iterator[tuple[UnknownMachine, Mapping[str, Sequence[str]]]]:
    """Yield the machines that an adoption is for, with what they said, in the order in which they first asked. Raises
    `WrongAdoption`."""
    try:
        said = filters_in(asked.said)
    except NotAFilter as error:
        text = brief(printable(str(error)))
        raise WrongAdoption(f"{text!r} is no filter: write LABEL=PATTERN, product=R750*") from None
    for machine in sorted(machines, key=lambda one: (one.first, one.machine)):
        labels: dict[str, list[str]] = orjson.loads(machine.facts or "{}")
        is_chosen = asked.only is None or machine.machine in asked.only
        if is_chosen and all(one.holds_of(labels.get(one.label, ())) for one in said):
            yield machine, labels


def _refuse_unknown_columns(layout: Layout, values: Mapping[str, str], asked: Adoption) -> None:
    """Raise `WrongAdoption` for columns that are not there, and for a name where none is to be given."""
    for column in (*values, *(["id"] if asked.name is not None else [])):
        if column not in layout.keys:
            raise WrongAdoption(f"there is no column {brief(column)!r}: the columns are {layout.columns_in_words()}")
    if asked.free and asked.name is not None:
        raise WrongAdoption("free rows have names already: a pattern of names is for new rows")
    if asked.name is not None and "id" in values:
        raise WrongAdoption("the name is given twice: by the pattern of names, and as the column id")


def _cells(
    layout: Layout,
    machine: UnknownMachine,
    labels: Mapping[str, Sequence[str]],
    row: Row | None,
    name: str,
    values: Mapping[str, str],
) -> list[str]:
    """Return the cells of a machine's row. What a free row has already stays, but for the values that are given."""
    said = hardware_of_labels(labels, machine.machine).cells
    if row is None:
        return in_columns(layout, {**said, **({"id": name} if name else {}), **values})
    cells = row.cells()
    for at, key in enumerate(layout.keys):
        if key in values:
            cells[at] = values[key]
        elif key in said and not layout.values(key, cells):
            cells[at] = said[key]
    return cells


def _text(text: str, table: Table, adopted: Sequence[Adopted]) -> str:
    """Return the text of the inventory with the rows."""
    new = [one.cells for one in adopted if one.line is None]
    filled = {one.line: one.cells for one in adopted if one.line is not None}
    if new:
        text = with_rows_added(text, table, new)
    return with_rows_changed(text, table, filled)


def _free_rows(catalogue: Catalogue, table: Table) -> Iterator[Row]:
    """Yield the rows that have a name and no hardware yet, in their order."""
    inventory = catalogue.inventory
    for row in table.rows:
        identities, fault = judged(row.layout, row.layout.syntax.cells(row.text))
        is_several = inventory is not None and any(len(inventory.rows_of(one)) > 1 for one in identities)
        if identities and fault is None and not is_several and not any(hardware_in(row.layout, row.cells())):
            yield row


class RowsRefused:
    """Why rows cannot be added, one after another."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._seen: dict[str, str] = {}

    def why(self, layout: Layout, cells: Sequence[str], name: str, filled: Row | None = None) -> str:
        """Return why a row cannot be made of these cells; empty where it can, and counts then. ``filled`` is the row
        that becomes this one, ``name`` the machine."""
        identities, fault = judged(layout, cells)
        if not any(hardware_in(layout, cells)):
            return "it has no MAC address, serial number or UUID that a column could hold"
        if fault:
            return fault
        for identity in identities:
            known = [row for row in self._inventory.rows_of(identity) if filled is None or row.text != filled.text]
            if known:
                return f"{' and '.join(map(self._inventory.place, known))} is of this machine"
            if identity in self._seen:
                return f"{self._seen[identity]} is of the same machine"
        self._seen.update(dict.fromkeys(identities, name))
        return ""


class NamePattern:
    """A pattern of names with a number: ``cn{n:04}`` is ``cn0001``, ``cn0002`` …"""

    def __init__(self, written: str) -> None:
        """Raises `WrongAdoption`."""
        found = _NUMBER.findall(written)
        if len(found) != 1:
            raise WrongAdoption(f"{brief(printable(written))!r} is no pattern of names: write {{n}} once, cn{{n:04}}")
        self._width = int(found[0] or 0)
        self._before, _, self._after = _NUMBER.sub("\0", written, count=1).partition("\0")
        if fault := identifier_fault(Kind.MACHINE, self.name(1)):
            raise WrongAdoption(f"the names of the pattern cannot be: {fault}")

    def name(self, number: int) -> str:
        return f"{self._before}{number:0{self._width}d}{self._after}"

    def free(self, names: Iterable[str]) -> Iterator[str]:
        """Yield names with the numbers after the highest that a name has: a number is not used again."""
        form = re.compile(
            rf"{re.escape(self._before)}([0-9]{{1,{_LONGEST_NUMBER}}}){re.escape(self._after)}", re.IGNORECASE
        )
        number = max((int(found[1]) for name in names if (found := form.fullmatch(name))), default=0)
        while True:
            number += 1
            yield self.name(number)


def _names(catalogue: Catalogue, records: Iterable[str]) -> Iterator[str]:
    """Yield every name that a row, a document, a member or a record has."""
    yield from records
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        yield row.id
    for documents in catalogue.machines.values():
        yield from (document.key.identifier for document in documents)
    for claims in (*catalogue.members.values(), *catalogue.overlay_members.values()):
        for claim in claims:
            yield from map(claim.document.control.spelled, claim.members)


# --- as it is shown --------------------------------------------------------------------------------------------------


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """Return a plan, as the API and ``--json`` show it."""
    columns = plan.table.layout.columns
    return {
        "rows": [
            {
                "machine": one.machine.machine,
                "first": timestamp(one.machine.first),
                "name": named_in(plan, one),
                "place": place_of(plan, one),
                "row": {column: cell for column, cell in zip(columns, one.cells, strict=True) if column},
            }
            for one in plan.adopted
        ],
        "left_out": [{"machine": machine.machine, "reason": why} for machine, why in plan.left_out],
    }


def place_of(plan: Plan, one: Adopted) -> str:
    """Return where a row is or comes: ``inventory.csv:7`` for a row that is filled, ``inventory.csv`` for a new one."""
    return plan.source if one.line is None else f"{plan.source}:{one.line}"


def adopted_note(number: int) -> str:
    """Return the line of the history about an adoption."""
    return f"adopted {number} machine{'' if number == 1 else 's'}"


def named_in(plan: Plan, one: Adopted) -> str:
    """Return the name of a row: its ``id``, else its first identity."""
    name = next(iter(plan.table.layout.values("id", one.cells)), "")
    return name or next(iter(judged(plan.table.layout, one.cells).identities), identity_of(one.machine.machine))
