"""The rows of all inventories of an answer set, looked up by identity (docs/inventory.md#the-row-of-a-request).

An `Inventory` is never modified: `inventory_after` makes the next one, at the cost of the rows that changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from answerd.answers.copy_on_write import CopyOnWriteMap
from answerd.answers.row_facts import RowFacts
from answerd.answers.secret_names import is_secret_name
from answerd.documents import LARGEST_DOCUMENT, DocumentName, RawDocument, is_too_large, nul_in
from answerd.errors import BrokenDocument
from answerd.facts import Facts
from answerd.identity import Kind, identity_of, normalize
from answerd.inventory import COLUMNS, FORMAT, file_of
from answerd.inventory.meaning import AS_WRITTEN, ColumnsDocument, Meaning, read_columns, shared_values
from answerd.inventory.records import UnreadableError
from answerd.inventory.row import Layout, Row, hardware_in, is_empty, judged, shared_columns, written_in
from answerd.inventory.table import Table, table_after
from answerd.shared_values import BUILT_IN, MAC, SERIAL, UUID, SharedValues
from answerd.short_texts import brief, printable

_MOST_GONE: Final = 4
"""Removed inventories whose last rows are kept: a file that is replaced may be missing for a few looks."""

MOST_FAULTS: Final = 100
"""Rows of a table whose faults are told: whoever mends an export wants to see them all."""

_MOST_PLACES: Final = 4
"""Rows of one identity that a sentence names."""

_OF_PORTS: Final = (
    "; if the table has a row for each port, answerd inventory add FILE.csv makes a row for each machine of it"
)

_LOOKED_AT_FOR_PLACES: Final = 100
"""Rows of one identity of which the first places are named: a request pays for no more."""

Entry = Row | tuple[Row, ...]
"""The entry of an identity: its row, or several rows where that is a problem. A tuple for each row would take 56 more
bytes."""


@dataclass(frozen=True, eq=False, slots=True)
class Inventory:
    """The rows in force.

    ``tables`` has the rows of each document, those of its last readable version where it cannot be read; ``columns``
    has what the documents beside them say. ``unreadable`` says why a document cannot be read; one that is in neither
    has not been readable since the start. ``named`` are the values that the set names as shared, beside the known ones.
    ``index`` files rows by identity, ``ambiguous`` are its identities with several rows, ``faulty`` are rows with a
    fault. ``nobody`` are serial numbers and UUIDs of several rows that each have a MAC address of their own: they
    denote none of these rows, and are not in ``index``. ``by_layout`` finds the table of a row. ``doubled`` are the
    layouts of files that have the same name, with the sentence that says so. ``gone`` are the last tables of documents
    that were removed.
    """

    tables: Mapping[RawDocument, Table] = field(default_factory=dict)
    unreadable: Mapping[RawDocument, str] = field(default_factory=dict)
    index: CopyOnWriteMap[str, Entry] = field(default_factory=CopyOnWriteMap)
    ambiguous: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    faulty: Mapping[Row, str] = field(default_factory=dict)
    by_layout: Mapping[Layout, Table] = field(default_factory=dict)
    doubled: Mapping[Layout, str] = field(default_factory=dict)
    gone: Mapping[DocumentName, Table] = field(default_factory=dict)
    nobody: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    columns: Mapping[RawDocument, ColumnsDocument] = field(default_factory=dict)
    named: SharedValues = BUILT_IN

    @property
    def documents(self) -> Set[RawDocument]:
        """All documents, readable or not: tables, and what stands beside them."""
        return self.tables.keys() | self.columns.keys() | self.unreadable.keys()

    @property
    def labels(self) -> frozenset[str]:
        """The labels that tables have."""
        return frozenset(label for layout in self.by_layout for label in layout.labels)

    def meaning_of(self, name: str) -> Meaning:
        """Return what the columns of an inventory mean, given its name."""
        return _meaning(self.columns, (Kind.INVENTORY, identity_of(name), COLUMNS), self.named)

    def labels_of_columns(self) -> Mapping[str, str]:
        """Return the labels of columns with other names, of all tables. Of two labels of one name the one counts that
        is named like a secret."""
        found: dict[str, str] = {}
        for document in self.columns.values():
            for name, label in document.labels.items():
                if name not in found or is_secret_name(label):
                    found[name] = label
        return found

    def facts(self, facts: Facts) -> Facts:
        """Return the facts of a request with those of its row, if it has one.

        Raises `BrokenDocument` where two rows claim it, its row has a fault, or a file that has not been readable since
        the start might hold its row.
        """
        facts = facts.knowing(self.named)
        if facts.found is None:
            row = self.row_of(facts)
            return facts if row is None else RowFacts(facts, row, self.nobody)
        if self not in facts.found:
            row = self.row_of(facts)
            # None, or the facts of a copy: facts that led to themselves would be a reference cycle, and a body of 1 MB
            # would never be freed (`answerd.server.os_support`).
            facts.found[self] = None if row is None else RowFacts(facts.copied(), row, self.nobody)
        return facts.found[self] or facts

    def row_of(self, facts: Facts) -> Row | None:
        """Return the row of a request; None where it has none. Raises `BrokenDocument`, as `facts` does."""
        if self.unreadable:
            self._refuse_unknown()
        facts = facts.knowing(self.named)
        found = facts.identities_but_of_peer_in(self.index.intersection)
        if not found:
            return None
        index = self.index
        parts = facts.identities_of_parts(found)
        if parts and (parts := {one for one in parts if self._is_hardware(one)}):
            found = [one for one in found if one not in parts]
        row: Row | None = None
        for identity in found:  # a request mostly carries some identities of a single row
            entry = index[identity]
            if row is None and isinstance(entry, Row):
                row = entry
            elif entry is not row:
                row = self._only_row(found)
                break
        if row is not None and (self.faulty or self.doubled or self.ambiguous):
            fault = self.fault_of(row)
            if fault:
                raise BrokenDocument(fault)
        return row

    def _is_hardware(self, identity: str) -> bool:
        """Return whether an identity is a serial number or UUID of all rows that have it: a part of a machine does not
        find those."""
        return all(
            any(one == identity and column != "mac" for column, one, _ in hardware_in(row.layout, row.cells()))
            for row in _rows(self.index[identity])
        )

    def _only_row(self, found: Iterable[str]) -> Row:
        """Return the row of some identities. Raises `BrokenDocument` where they are those of several."""
        rows = dict.fromkeys(row for identity in found for row in _rows(self.index[identity]))
        if len(rows) > 1:
            raise BrokenDocument(f"two rows of the inventory claim this request: {self._places(list(rows))}")
        (row,) = rows
        return row

    def fault_of(self, row: Row) -> str | None:
        """Return why a row gets no answer, with its place; None where nothing is wrong with it."""
        if row in self.faulty:
            return f"{self.place(row)}: {self.faulty[row]}"
        if row.layout in self.doubled:
            return f"{self.place(row)}: {self.doubled[row.layout]}"
        if self.ambiguous:
            for identity in row.names:
                if identity in self.ambiguous:
                    return self._ambiguous_problem(self.ambiguous[identity])
        return None

    def rows_of(self, identity: str) -> tuple[Row, ...]:
        """Return the rows of an identity; several where that is a problem."""
        return _rows(self.index.get(identity, ()))

    def refuse_nobody(self, facts: Facts) -> None:
        """Raise `BrokenDocument` where all that a request without a row carries of the inventory are values that many
        rows have: the next claim could be another machine's."""
        found = facts.knowing(self.named).identities_but_of_peer_in(self.nobody.keys().__and__)
        for identity in sorted(found):
            rows = self.nobody[identity]
            raise BrokenDocument(
                f"the request carries nothing that is known but a value that many machines have: {self._places(rows)} "
                f"have it in {self._columns(rows)}, and each has a MAC address of its own, which the request lacks"
            )

    def shared_notes(self) -> Iterator[str]:
        """Yield for each value that several machines share which rows have it."""
        for rows in {frozenset(rows): rows for rows in self.nobody.values()}.values():
            yield (
                f"{self._places(rows)} share a value in {self._columns(rows)}: it denotes none of them, because each "
                "has a MAC address of its own"
            )
        of_table: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows():
            cells = row.cells()
            for column, at in row.layout.identifying:
                if column == "id":
                    continue
                for value in written_in(column, cells[at]):
                    if is_empty(row.layout, column, value):
                        name = brief(row.layout.columns[at])
                        of_table.setdefault((name, normalize(value)), []).append(row)
        for (name, value), found in of_table.items():
            have = "share a value" if len(found) > 1 else "has a value"
            why = "the set names as shared" if self.named.names(value) else "many machines have"
            yield f"{self._places(found)} {have} in column {name} that {why}: it counts as an empty cell"

    def nameless_notes(self) -> Iterator[str]:
        """Yield for each table which rows have nothing but a name, so that no hardware finds them."""
        of_table: dict[str, list[Row]] = {}
        for row in self.rows():
            if row.names and row not in self.faulty and not any(hardware_in(row.layout, row.cells())):
                of_table.setdefault(row.layout.source, []).append(row)
        for rows in of_table.values():
            have = "have" if len(rows) > 1 else "has"
            yield (
                f"{self._places(rows)} {have} no MAC address, serial number or UUID: only a request that says the name "
                f"finds {'them' if len(rows) > 1 else 'it'}; answerd adopt --free gives "
                f"{'them' if len(rows) > 1 else 'it'} the hardware of machines that ask"
            )

    def new_faults(self, before: Inventory | None, documents: Iterable[RawDocument]) -> list[str]:
        """Return the faults of inventories by themselves that they did not have ``before``: that they cannot be read,
        and rows with faults."""
        layouts = {self.tables[document].layout for document in documents if document in self.tables}
        found = [self.unreadable[document] for document in documents if document in self.unreadable]
        known = before.faulty if before is not None else {}
        rows = [row for row in self.faulty if row.layout in layouts and row not in known]
        first = [f"{source}:{line}: {fault}" for (source, line), fault in self._first_faults(rows)]
        more = len(rows) - len(first)
        return [*sorted(found), *first, *([f"and {more:,} more problems like these"] if more else [])]

    def _first_faults(self, rows: Sequence[Row]) -> list[tuple[tuple[str, int], str]]:
        """Return the places and faults of the first rows, by place; only the first of many are looked at."""
        placed = [(self.position(row), self.faulty[row]) for row in rows[:MOST_FAULTS]]
        return sorted(placed)

    def place(self, row: Row) -> str:
        """Return where a row is: ``inventory.csv:17``."""
        source, line = self.position(row)
        return f"{source}:{line}"

    @property
    def size(self) -> int:
        """The number of documents that these rows come from, including those that cannot be read."""
        return len(self.documents)

    def rows(self) -> Iterator[Row]:
        """Yield every row in force, by file and line."""
        for table in sorted(self.by_layout.values(), key=lambda table: table.layout.source):
            yield from table.rows

    def problems(self) -> Iterator[str]:
        """Yield the problems of all inventories; of the rows of each file the first problems, and how many more there
        are.

        Only sentences that are listed are made: a file of 16 MB can have a fault in each of a million rows.
        """
        yield from (sentence for _, sentence in self._items_of_documents())
        left = dict.fromkeys((layout.source for layout in self.by_layout), MOST_FAULTS)
        more = Counter(row.layout.source for row in self.faulty)
        for table in sorted(self.by_layout.values(), key=lambda table: table.layout.source):
            source = table.layout.source
            for row in islice(filter(self.faulty.__contains__, table.rows if more[source] else ()), left[source]):
                left[source] -= 1
                more[source] -= 1
                yield f"{self.place(row)}: {self.faulty[row]}"
        for rows in {frozenset(rows): rows for rows in self.ambiguous.values()}.values():
            source = rows[0].layout.source
            if left.get(source):
                left[source] -= 1
                yield self._ambiguous_problem(rows)
            else:
                more[source] += 1
        for source, number in more.items():
            if number:
                yield f"{printable(source)}: and {number:,} more problems like these"

    def _items(self) -> Iterator[tuple[Hashable, str]]:
        """Yield the subject of each problem but for those of rows with one identity, which stays the same when rows
        above it are added or removed, and its sentence."""
        yield from self._items_of_documents()
        by_place = [(self.position(row), row, fault) for row, fault in self.faulty.items()]
        for (source, line), row, fault in sorted(by_place, key=lambda item: item[0]):
            yield row, f"{source}:{line}: {fault}"

    def _items_of_documents(self) -> Iterator[tuple[Hashable, str]]:
        for document, fault in self.unreadable.items():
            yield (document.key, fault), fault
        for document in self.documents:
            if document.key.fault:
                sentence = f"{document.key}: {document.key.fault}{_of_source(document)}"
                yield sentence, sentence
        for sentence in dict.fromkeys(self.doubled.values()):
            yield sentence, sentence

    def problems_since(self, before: Inventory | None) -> list[str]:
        """Return the problems that ``before`` did not have. The problem of a row that only moved to another line is not
        new; rows with one identity are one where there were fewer of them."""
        known = {part for item in (before._items() if before else ()) for part in item}
        found = [sentence for about, sentence in self._items() if about not in known and sentence not in known]
        ambiguous = {} if before is None else before.ambiguous
        more = [rows for identity, rows in self.ambiguous.items() if len(rows) > len(ambiguous.get(identity, ()))]
        return [*found, *map(self._ambiguous_problem, {frozenset(rows): rows for rows in more}.values())]

    def _refuse_unknown(self) -> None:
        for document, fault in sorted(self.unreadable.items(), key=lambda item: item[1]):
            if document not in self.tables and document not in self.columns:
                raise BrokenDocument(f"any row might claim this request, and an inventory cannot be read: {fault}")

    def _ambiguous_problem(self, rows: Sequence[Row]) -> str:
        sentence = f"{self._places(rows)}: rows with one identity ({self._columns(rows)}), so none of them counts"
        return sentence + (_OF_PORTS if self._seem_ports(rows) else "")

    def _columns(self, rows: Sequence[Row]) -> str:
        columns = [brief(column) for column in shared_columns(*self._first_two(rows))]
        return f"column{'s' if len(columns) > 1 else ''} {' and '.join(columns)}"

    def _first_two(self, rows: Sequence[Row]) -> list[Row]:
        return sorted(rows[:_LOOKED_AT_FOR_PLACES], key=self.position)[:2]  # whatever order they were read in

    def _seem_ports(self, rows: Sequence[Row]) -> bool:
        """Return whether rows of one table have one name, and each a MAC address of its own."""
        first, second = self._first_two(rows)
        layout = first.layout
        return (
            second.layout is layout
            and "id" in layout.labels
            and shared_columns(first, second) == layout.columns_of("id")
            and all(layout.values(MAC, row.cells()) for row in (first, second))
        )

    def _places(self, rows: Sequence[Row]) -> str:
        looked_at = sorted(map(self.position, rows[:_LOOKED_AT_FOR_PLACES]))
        places = [f"{source}:{line}" for source, line in looked_at[:_MOST_PLACES]]
        more = len(rows) - len(places)
        return " and ".join(places) + (f" and {more:,} more" if more else "")

    def position(self, row: Row) -> tuple[str, int]:
        """Return the file and the line of a row."""
        table = self.by_layout.get(row.layout)
        return printable(row.layout.source), (table.line_of(row) if table else None) or 0


def inventory_file(document: RawDocument) -> str:
    """Return the file that an inventory's places name, in a database too."""
    return document.source or file_of(document.key.identifier, document.key.format)


def _of_source(document: RawDocument) -> str:
    return f" ({printable(document.source)})" if document.source else ""


def _rows(entry: Entry) -> tuple[Row, ...]:
    return entry if isinstance(entry, tuple) else (entry,)


def inventory_after(
    before: Inventory | None,
    added: Iterable[RawDocument],
    removed: Iterable[RawDocument],
) -> Inventory | None:
    """Return the inventory without ``removed`` and with ``added``; None where there is no document left."""
    change = _InventoryChange(before or Inventory())
    after = change.made(list(added), list(removed))
    return after if after.documents or after.gone else None


def _meaning(columns: Mapping[RawDocument, ColumnsDocument], name: DocumentName, shared: SharedValues) -> Meaning:
    """Return what the table beside the document of a name means."""
    for document, content in columns.items():
        if document.key.name == name:
            return Meaning(content.labels, shared, content.names)
    return Meaning(shared=shared) if shared.named else AS_WRITTEN


class _InventoryChange:
    """Builds the next inventory from copies of the mappings of this one."""

    def __init__(self, before: Inventory) -> None:
        self.columns = dict(before.columns)
        self.named = before.named
        self.tables = dict(before.tables)
        self.unreadable = dict(before.unreadable)
        self.index = before.index.copy()
        self.ambiguous = dict(before.ambiguous)
        self.nobody = dict(before.nobody)
        self.several: dict[str, dict[Row, None]] = {}  # rows of identities that have, or had, several; filed at the end
        self.faulty = dict(before.faulty)
        self.gone = dict(before.gone)

    def made(self, added: list[RawDocument], removed: list[RawDocument]) -> Inventory:
        again = self._change_columns(
            [document for document in added if document.key.format == COLUMNS],
            [document for document in removed if document.key.format == COLUMNS],
        )
        added = [document for document in added if document.key.format == FORMAT]
        removed = [document for document in removed if document.key.format == FORMAT]
        again = [document for document in again if document not in removed]
        added, removed = [*added, *again], [*removed, *again]
        lapsed: dict[DocumentName, list[tuple[str, Table]]] = {}
        for document in removed:
            self.unreadable.pop(document, None)
            table = self.tables.pop(document, None)
            if table is not None:
                lapsed.setdefault(document.key.name, []).append((document.source, table))
        for document in added:
            self._add(document, lapsed.get(document.key.name, []))
        names = {document.key.name for document in self.tables}
        for name, tables in lapsed.items():
            for _, table in tables:
                self._change_rows(table.rows, ())
                if name not in names:
                    self.gone.pop(name, None)  # makes it the newest
                    self.gone[name] = table
        self._file_several()
        for name in [name for name in self.gone if name in names] + list(self.gone)[:-_MOST_GONE]:
            self.gone.pop(name, None)
        return Inventory(
            self.tables,
            self.unreadable,
            self.index,
            self.ambiguous,
            self.faulty,
            {table.layout: table for table in self.tables.values()},
            self._doubled(),
            self.gone,
            self.nobody,
            self.columns,
            self.named,
        )

    def _change_columns(self, added: Sequence[RawDocument], removed: Sequence[RawDocument]) -> list[RawDocument]:
        """Put what documents beside tables say in force; return the tables that mean something else then. A document
        that cannot be read means what it meant before."""
        if not (added or removed):
            return []
        lapsed: dict[DocumentName, ColumnsDocument] = {}
        for document in removed:
            self.unreadable.pop(document, None)
            if (content := self.columns.pop(document, None)) is not None:
                lapsed[document.key.name] = content
        for document in added:
            try:
                if (fault := _fault_of(document)) is not None:
                    raise fault
                self.columns[document] = read_columns(document.text)
            except UnreadableError as error:
                self._file_unreadable(document, error)
                if (last := lapsed.get(document.key.name)) is not None:
                    self.columns[document] = last
        before, self.named = self.named, shared_values(self.columns.values(), self.named)
        changed = {document.key.name[1] for document in (*added, *removed)}
        tables = [document for document in (*self.tables, *self.unreadable) if document.key.format == FORMAT]
        is_other = self.named is not before
        return [one for one in dict.fromkeys(tables) if is_other or one.key.name[1] in changed]

    def _file_unreadable(self, document: RawDocument, error: UnreadableError) -> None:
        where = f"{printable(inventory_file(document))}:{error.line}"
        what = "the inventory" if document.key.format == FORMAT else "what its inventory's columns mean"
        self.unreadable[document] = f"{where}: {what} cannot be read: {error.reason}"

    def _add(self, document: RawDocument, lapsed: list[tuple[str, Table]]) -> None:
        """Put a document in force. The version before it is removed from ``lapsed``."""
        at = next((at for at, (source, _) in enumerate(lapsed) if source == document.source), 0)
        before = lapsed.pop(at)[1] if lapsed else None
        try:
            fault = _fault_of(document)
            if fault is not None:
                raise fault
            name = (Kind.INVENTORY, document.key.name[1], COLUMNS)
            meaning = _meaning(self.columns, name, self.named)
            change = table_after(before, inventory_file(document), document.text, meaning)
        except UnreadableError as error:
            self._file_unreadable(document, error)
            if before is not None:
                self.tables[document] = before
            elif document.key.name in self.gone:
                table = self.tables[document] = self.gone.pop(document.key.name)
                self._change_rows((), table.rows)
            return
        self.tables[document] = change.table
        self._change_rows(change.removed, change.added)

    def _change_rows(self, removed: Iterable[Row], added: Iterable[Row]) -> None:
        for row in removed:
            self._withdraw(row)
        for row in added:
            self._enter(row)

    def _enter(self, row: Row) -> None:
        identities, fault = judged(row.layout, row.layout.syntax.cells(row.text))
        if fault is not None:
            self.faulty[row] = fault
        row.names = tuple(identities)
        index, several = self.index, self.several
        for identity in row.names:
            if identity in several:
                several[identity][row] = None
            elif identity in index:
                several[identity] = dict.fromkeys((*_rows(index[identity]), row))
            elif identity in self.nobody:
                several[identity] = dict.fromkeys((*self.nobody[identity], row))
            else:
                index[identity] = row

    def _withdraw(self, row: Row) -> None:
        self.faulty.pop(row, None)
        for identity in row.names:
            entry = self.index.get(identity)
            if identity not in self.several and isinstance(entry, tuple):
                self.several[identity] = dict.fromkeys(entry)
            elif identity not in self.several and identity in self.nobody:
                self.several[identity] = dict.fromkeys(self.nobody[identity])
            if identity in self.several:
                self.several[identity].pop(row, None)
            elif entry is row:
                self.index.pop(identity, None)

    def _file_several(self) -> None:
        """File the rows of identities with several at once: a new tuple for each row would be quadratic."""
        for identity, rows in self.several.items():
            self.ambiguous.pop(identity, None)
            self.nobody.pop(identity, None)
            if len(rows) > 1 and self._denotes_nobody(identity, rows):
                self.nobody[identity] = tuple(rows)
                self.index.pop(identity, None)
            elif len(rows) > 1:
                self.index[identity] = self.ambiguous[identity] = tuple(rows)
            elif rows:
                self.index[identity] = next(iter(rows))
            else:
                self.index.pop(identity, None)

    def _denotes_nobody(self, identity: str, rows: Iterable[Row]) -> bool:
        """Return whether an identity is a serial number or UUID of several rows that each have a MAC address of their
        own."""
        for row in rows:
            kinds = {value: column for column, value, _ in hardware_in(row.layout, row.cells())}
            if kinds.get(identity) not in (SERIAL, UUID) or identity == identity_of(row.id):
                return False
            if not any(self._is_own(value) for value, column in kinds.items() if column == MAC):
                return False
        return True

    def _is_own(self, mac: str) -> bool:
        several = self.several.get(mac)
        return len(several) == 1 if several is not None else isinstance(self.index.get(mac), Row)

    def _doubled(self) -> dict[Layout, str]:
        by_name: dict[DocumentName, list[RawDocument]] = {}
        for document in self.tables:
            by_name.setdefault(document.key.name, []).append(document)
        doubled = {}
        for documents in by_name.values():
            if len(documents) > 1:
                sources = sorted(printable(inventory_file(document)) for document in documents)
                sentence = f"{min(document.key for document in documents)}: {len(sources)} documents for one name: "
                for document in documents:
                    doubled[self.tables[document].layout] = sentence + " and ".join(sources)
        return doubled | self._doubled_columns()

    def _doubled_columns(self) -> dict[Layout, str]:
        """Return the sentence for each table beside which two documents say what it means."""
        beside: dict[str, list[RawDocument]] = {}
        for document in self.columns:
            beside.setdefault(document.key.name[1], []).append(document)
        found = {}
        for document, table in self.tables.items():
            documents = beside.get(document.key.name[1], ())
            if len(documents) > 1:
                sources = sorted(printable(inventory_file(one)) for one in documents)
                found[table.layout] = f"{inventory_file(document)}: two documents beside it: {' and '.join(sources)}"
        return found


def _fault_of(document: RawDocument) -> UnreadableError | None:
    """Return the fault of a document whose text could not be read at all, or that no store keeps; None without."""
    if document.fault is not None:
        fault = document.fault.removesuffix(f" ({printable(document.source)})")
        return UnreadableError(document.fault_line, f"it {fault}")
    if document.key.format == COLUMNS and is_too_large(document.text):
        return UnreadableError(1, f"it is larger than {LARGEST_DOCUMENT:,} bytes")
    nul = nul_in(document.text)
    return UnreadableError(nul.line, f"the line {nul.fault}") if nul is not None else None
