"""The machines of an answer set, as lines of a table: each that a document, ``members`` or a row names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from answerd.answers.catalogue import Catalogue
from answerd.answers.claims import groups_matching
from answerd.answers.gates import is_loader
from answerd.answers.secret_names import is_secret_name, redacted_cell
from answerd.console.backend import names_sent
from answerd.documents import Key
from answerd.errors import AnswerError
from answerd.identity import identity_of, is_mac
from answerd.installs.records import Remembered
from answerd.installs.shown import UnknownMachine
from answerd.inventory.row import Layout, Row, identities_of_sound, name_in

UNKNOWN = "unknown"
"""The state, and the origin, of a machine that asked and was claimed by nothing."""

_KINDS_KEPT = 10_000
"""Kinds of rows whose groups are kept while a table is made."""

_DIGITS = re.compile(r"\d+")


def natural(name: str) -> str:
    """Return what a name is sorted by: the case of letters does not count, and a number counts by its size, but for
    those of a MAC address."""
    text = name.casefold()
    return text if is_mac(name) else _DIGITS.sub(lambda digits: digits[0].lstrip("0").zfill(12), text)


@dataclass(slots=True)
class Line:
    """A machine of the table, as the set, a record or a sighting names it. ``place`` is what it is sorted by,
    ``searched`` the texts in which a search looks, one a line; ``cells`` are those of the columns, none where it has no
    row. ``inventory`` is the one that it has a row in. ``since`` and ``message`` are those of a sighting."""

    identity: str
    name: str
    place: str
    origin: str
    formats: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    searched: str = ""
    cells: Sequence[str] = ()
    since: float | None = None
    message: str = ""
    inventory: str = ""


@dataclass(slots=True)
class _Named:
    """A machine that a document, ``members`` or a row names. ``texts`` are its identities and cells."""

    name: str
    origin: str
    formats: dict[str, None] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    cells: Sequence[str] | None = None
    inventory: str = ""

    def add(self, extension: str, group: str) -> None:
        """Note a document of a format: the machine's own, which may extend a group, or a group that claims it."""
        self.formats[extension] = None
        if group:
            self.groups[group] = None


def machines_of(catalogue: Catalogue, columns: Sequence[str]) -> Iterator[Line]:
    """Yield the line of each machine that a document, ``members`` or a row of an inventory names."""
    named: dict[str, _Named] = {}
    for identity, documents in catalogue.machines.items():
        machine = named[identity] = _Named(documents[0].key.identifier, "document")
        for document in documents:
            machine.add(document.key.format, document.control.extends or "")
    for identity, claims in catalogue.members.items():
        machine = named.get(identity) or _Named(claims[0].document.control.spelled(identity), "member")
        named[identity] = machine
        for claim in claims:
            machine.add(claim.document.key.format, claim.document.key.identifier)
    _add_rows(named, catalogue, columns)
    for identity, machine in named.items():
        searched = _searched(machine.name, identity, *machine.texts, *machine.groups)
        formats, groups = tuple(machine.formats), tuple(machine.groups)
        place = natural(machine.name)
        line = Line(identity, machine.name, place, machine.origin, formats, groups, searched, machine.cells or ())
        line.inventory = machine.inventory
        yield line


def _add_rows(named: dict[str, _Named], catalogue: Catalogue, columns: Sequence[str]) -> None:
    """Add the machine of each row, or what the row has to the machine that has one of its identities."""
    groups_of, layout = _groups_of_rows(catalogue), None
    tables = catalogue.inventory.tables if catalogue.inventory is not None else {}
    inventory_of = {table.layout: raw.key.identifier for raw, table in tables.items()}
    places: list[int | None] = []
    secret: list[int] = []
    for row in catalogue.inventory.rows() if catalogue.inventory is not None else ():
        if row.layout is not layout:
            layout = row.layout
            at_key = {key: at for at, key in enumerate(layout.keys)}
            places = [at_key.get(label) for label in columns]
            secret = secret_places(layout)
        cells = row.cells()
        identities = identities_of_sound(layout, cells)
        if not identities:
            continue
        identity = next((one for one in identities if one in named), "")
        if not identity:
            name = name_in(layout, cells) or next(iter(identities))
            identity = identity_of(name)
            named[identity] = _Named(name, "inventory")
        machine = named[identity]
        for key in groups_of(row, cells):
            machine.add(key.format, key.identifier)
        for at in secret:
            cells[at] = redacted_cell(layout.columns[at], cells[at], layout.keys[at])
        machine.texts += (*identities, *cells)
        if machine.cells is None:  # several rows with one identity are a problem; the first one's cells are shown
            machine.cells = ["" if at is None else cells[at] for at in places]
            machine.inventory = inventory_of.get(row.layout, "")


def secret_places(layout: Layout) -> list[int]:
    """Return the places of the columns whose cells are hidden, and found by no search."""
    names = enumerate(zip(layout.columns, layout.keys, strict=True))
    return [at for at, pair in names if any(map(is_secret_name, pair))]


def _groups_of_rows(catalogue: Catalogue) -> Callable[[Row, Sequence[str]], Sequence[Key]]:
    """Return a function that returns the groups that claim a row by ``match``, those of loaders last. To find them
    takes 30 µs, but most rows are alike in the columns that groups ask for."""
    labels = sorted({criterion.label for _, match in catalogue.selectors.items() for criterion in match})
    known: dict[tuple[str, ...], Sequence[Key]] = {}

    def groups_of(row: Row, cells: Sequence[str]) -> Sequence[Key]:
        if not labels:
            return ()
        places, several = row.layout.labels, row.layout.several
        kind = tuple([cells[places[label]] if label in places else "" for label in labels])
        if several:
            kind += tuple([cells[at] for label in labels for at in several.get(label, ())])
        found = known.get(kind)
        if found is None:
            try:
                keys = [document.key for document in groups_matching(catalogue, row)]
            except AnswerError:
                return ()
            found = sorted(keys, key=lambda key: (is_loader(key.format), key.identifier, key.format))
            if len(known) >= _KINDS_KEPT:
                known.clear()
            known[kind] = found
        return found

    return groups_of


def _searched(*texts: str) -> str:
    """Return texts as lines, so that a whole one can be found by the line ends beside it."""
    together = "\n".join(dict.fromkeys("\n".join(texts).casefold().split("\n")))
    return f"\n{together}\n"


def line_of_record(identity: str, remembered: Remembered) -> Line:
    """Return the line of a machine that is known by its record only."""
    name = remembered.record.name
    return Line(identity, name, natural(name), "install", searched=_searched(name, identity))


def line_of_sighting(machine: UnknownMachine) -> Line:
    name, identity = machine.machine, identity_of(machine.machine)
    note = "answered by the default" if machine.by_default else ""
    searched = _searched(name, identity, *names_sent(machine.facts))
    return Line(identity, name, natural(name), UNKNOWN, searched=searched, since=machine.last, message=note)
