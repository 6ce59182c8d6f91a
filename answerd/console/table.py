"""The tables of machines and documents: an SQLite database in memory, made from an answer set and the states.

Search, filters, order and pages are SQL. The documents and rows of a set never change, so a table is made anew for each
set; states change all the time, so the records that have changed are written into it before it is read.
"""

# ruff: noqa: S608 - statements are put together from the names of columns; every value is a parameter

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

import gevent
import orjson
from gevent.greenlet import Greenlet
from gevent.monkey import get_original
from gevent.threadpool import ThreadPool

from answerd.answers.cases import groups_matching
from answerd.answers.catalogue import Catalogue
from answerd.answers.gates import is_loader
from answerd.answers.secret_names import is_secret_name, redacted_cell
from answerd.console.backend import CurrentStates, names_sent
from answerd.console.background import patience_for
from answerd.console.rendering import counted, on_page
from answerd.documents import Document, Key, RawDocument
from answerd.errors import AnswerError
from answerd.identity import identity_of, is_mac
from answerd.installs.records import Remembered
from answerd.installs.shown import UnknownMachine
from answerd.installs.states import SILENT, UNDER_WAY, State
from answerd.inventory.row import IDENTITY_COLUMNS, Layout, Row, identities_of_sound
from answerd.server.os_support import gc_paused
from answerd.server.threads import in_pool

ON_A_PAGE = 100
"""Machines, or documents, that one page shows."""

MOST_COLUMNS = 100
"""Columns of inventories by which machines are filtered, sorted and shown."""

SUGGESTED = 500
"""Groups that the field for a group suggests."""

FEW = 5_000
"""Machines, or documents, of a view that are sorted faster than looked for in their order among all."""

MOST_VALUES = 900
"""Values of one statement; SQLite takes at least 999."""

UNKNOWN = "unknown"
"""The state, and the origin, of a machine that asked and was claimed by nothing."""

STATES = (
    State.FAILED.value,
    State.EXHAUSTED.value,
    SILENT,
    UNKNOWN,
    *(word.value for word in State if word not in (State.FAILED, State.EXHAUSTED)),
)
"""The words by which machines are counted and filtered: first those that need somebody."""

USED_SECONDS = 900.0
"""How long the table is kept after the last page."""

_KINDS_KEPT = 10_000
"""Kinds of rows whose groups are kept while a table is made."""

_MESSAGES_SEARCHED = 200
"""Messages of machines that a search looks at without their secrets: the newest that have the word."""

_SCHEMA = """
    CREATE TABLE machine (
        identity TEXT PRIMARY KEY, name TEXT, place TEXT, origin TEXT, formats TEXT, groups TEXT, is_claimed INTEGER,
        state TEXT DEFAULT 'new', silent_from REAL, since REAL, percent REAL, message TEXT DEFAULT '',
        searched TEXT{columns}
    );
    CREATE TABLE document (
        kind TEXT, identifier TEXT, format TEXT, extends TEXT, extended TEXT, claims TEXT, problems INTEGER,
        identity TEXT, place TEXT, extended_by INTEGER DEFAULT 0
    );
"""
_INDEXES = """
    CREATE INDEX by_place ON machine (place);
    CREATE INDEX by_state ON machine (state, place);
    CREATE INDEX by_group ON machine (groups, place);
    CREATE INDEX by_since ON machine (since, place, state);
    CREATE INDEX by_message ON machine (since, message, identity) WHERE message <> '';
    CREATE INDEX by_silence ON machine (silent_from) WHERE silent_from IS NOT NULL AND state <> 'silent';
    CREATE INDEX by_kind ON document (kind, place);
    CREATE INDEX by_extended ON document (extended, format);
    UPDATE document SET extended_by = (SELECT count(*) FROM document AS other
        WHERE other.extended = document.identity AND other.format = document.format) WHERE kind = 'group';
"""
_OF_MACHINE = "identity name place origin formats groups is_claimed searched"
_OF_DOCUMENT = "kind identifier format extends extended claims problems identity place"
_OF_RECORD = "identity name place origin formats groups is_claimed searched state silent_from since percent message"
_RECORDED = """
    ON CONFLICT (identity) DO UPDATE SET state = excluded.state, silent_from = excluded.silent_from,
        since = excluded.since, percent = excluded.percent, message = excluded.message,
        groups = iif(is_claimed, groups, excluded.groups), origin = iif(origin = 'unknown', 'install', origin)
"""
_FORGOTTEN = """
    UPDATE machine SET state = 'new', silent_from = NULL, since = NULL, percent = NULL, message = '',
        groups = iif(is_claimed, groups, '') WHERE identity = ?
"""
_SIGHTING = """
    INSERT OR IGNORE INTO machine (identity, name, place, origin, formats, groups, is_claimed, searched, state, since,
        message) VALUES (?, ?, ?, 'unknown', '', '', 0, ?, 'unknown', ?, ?)
"""
_SEARCHED = "searched LIKE ? ESCAPE '\\'"
"""That a text is in what is searched. ``instr`` takes half as long again."""

_SILENCE = f"WHERE silent_from < ? AND state <> '{SILENT}'"
_SHOWN = "identity, name, origin, groups, formats, state, since, percent, message"

ORIGIN = "known from"
"""The column that is shown beside those of inventories."""

SORTS = {"name": "place", "state": "state", "since": "since", "group": "groups"}
"""The columns that machines can be sorted by, besides those of inventories."""

DOCUMENT_SORTS = {
    "identifier": "place",
    "kind": "kind",
    "format": "format",
    "extends": "extends",
    "extended_by": "extended_by",
    "problems": "problems",
}
_WORD = re.compile(r'(?:([^\s":=]+)[:=])?"([^"]*)"|(\S+)')
_FILTER = re.compile(r"([^:=]+)[:=](.+)")
_AGE = re.compile(r"(\d{1,6})(s|min|m|h|d|w)\Z")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DIGITS = re.compile(r"\d+")


class Word(NamedTuple):
    """One word of a search. ``label`` is that of a filter, empty for a text that is looked for everywhere; ``rest`` is
    the search without the word."""

    label: str
    value: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """The view that the page's URL describes. ``search`` has texts to be found and filters like ``rack:r3``; ``column``
    is the column of inventories that is shown."""

    search: str = ""
    state: str = ""
    group: str = ""
    format: str = ""
    sort: str = "name"
    descending: bool = False
    page: int = 1
    column: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine of the table. ``origin`` is what its name is known from: ``document``, ``member``, ``inventory``,
    ``install``, ``unknown``. ``since`` is in seconds since 1970. ``cell`` is what it has in the column of the view."""

    name: str
    origin: str
    groups: str
    formats: str
    state: str
    since: float | None
    percent: float | None
    message: str
    cell: str


@dataclass(frozen=True, slots=True)
class MachinesPage:
    """One page of the table, with how many machines the view has in all, and how many there are. ``columns`` are those
    of inventories, ``filters`` those of the search."""

    machines: Sequence[Machine]
    found: int
    total: int
    pages: int
    page: int
    groups: Sequence[str]
    columns: Sequence[str]
    filters: Sequence[Word]


@dataclass(frozen=True, slots=True)
class DocumentsView:
    """The documents that an address asks for. Without a ``kind``, those of machines only where something is
    searched."""

    search: str = ""
    kind: str = ""
    sort: str = ""
    descending: bool = False
    page: int = 1


class Listed(NamedTuple):
    """One line of the list of documents."""

    kind: str
    identifier: str
    format: str
    extends: str
    claims: str
    extended_by: int
    problems: int


@dataclass(frozen=True, slots=True)
class DocumentsPage:
    """One page of documents, and how many the view has in all."""

    documents: Sequence[Listed]
    found: int
    pages: int
    page: int


def natural(name: str) -> str:
    """Return what a name is sorted by: the case of letters does not count, and a number counts by its size, but for
    those of a MAC address."""
    text = name.casefold()
    return text if is_mac(name) else _DIGITS.sub(lambda digits: digits[0].lstrip("0").zfill(12), text)


class Table:
    """The machines and documents of one set. From any thread."""

    def __init__(self, catalogue: Catalogue, states: CurrentStates | None = None) -> None:
        """Costs a look at every document and row, some 8 µs each, and 20 µs for each record of an install."""
        self.catalogue = catalogue
        self._lock = get_original("_thread", "allocate_lock")()  # gevent's is for its own greenlets
        self._known: dict[str, Remembered] = {}
        self._seen: set[int] = set()  # the ids of what is in `_known`
        self._version: object = None
        self._sightings: Sequence[UnknownMachine] = ()
        layouts = catalogue.inventory.by_layout if catalogue.inventory is not None else ()
        labels = dict.fromkeys(key for layout in layouts for key in layout.keys if key)
        self.columns = {label: f"c{at}" for at, label in enumerate([*labels][:MOST_COLUMNS])}
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._database.create_function("place_of", 1, natural, deterministic=True)
        columns = "".join(f", {column} TEXT DEFAULT ''" for column in self.columns.values())
        self._database.executescript(_SCHEMA.format(columns=columns))
        self._database.execute("BEGIN")
        self._insert("machine", [*_OF_MACHINE.split(), *self.columns.values()], _machines(catalogue, [*self.columns]))
        self._insert("document", _OF_DOCUMENT.split(), _documents(catalogue))
        self._database.execute("COMMIT")
        self._follow(states)
        self._database.executescript(_INDEXES)
        found = self._all("groups", "FROM machine GROUP BY groups")
        self.groups = sorted({group for (groups,) in found for group in groups.split("\n") if group})[:SUGGESTED]

    def _insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]], rest: str = "") -> None:
        """Insert many rows with each statement: SQLite gives the interpreter's lock away for each statement, and waits
        for it while another thread computes."""
        marks, left = f"({', '.join('?' * len(columns))})", iter(rows)
        while batch := [*islice(left, max(1, MOST_VALUES // len(columns)))]:
            values = f"VALUES {', '.join([marks] * len(batch))}"
            statement = f"INSERT INTO {table} ({', '.join(columns)}) {values} {rest}"
            self._database.execute(statement, [*chain.from_iterable(batch)])

    def machines(self, view: View, states: CurrentStates | None) -> MachinesPage:
        """Return the page of a view."""
        with self._lock:
            self._follow(states)
            words = self._words(view)
            total = self._one("SELECT count(*) FROM machine")
            found, where, values = self._found("machine", *self._where(words, states))
            pages, page = on_page(found, view.page, ON_A_PAGE)
            at = f" LIMIT {ON_A_PAGE} OFFSET {(page - 1) * ON_A_PAGE}"
            # First the order, then the cells: a page far behind does not read those of the machines before it.
            places = self._all("rowid", f"FROM machine{where}{self._order(view)}{at}", values)
            shown = f"rowid, {_SHOWN}, {self.columns.get(view.column, 'origin')} AS cell"
            rows = {row[0]: row[1:] for row in self._all(shown, f"FROM machine{_at(places)}")}
            machines = [self._machine(rows[place], states) for (place,) in places]
        filters = [word for word in words if word.label]
        return MachinesPage(machines, found, total, pages, page, self.groups, [*self.columns], filters)

    def _found(self, table: str, where: str, values: Sequence[object]) -> tuple[int, str, Sequence[object]]:
        """Return how many rows a condition holds for, and a condition for the same rows that is faster to sort by."""
        if not where:
            return self._one(f"SELECT count(*) FROM {table}"), where, values
        places = self._all("rowid", f"FROM {table}{where} LIMIT {FEW}", values)
        if len(places) < FEW:
            return len(places), _at(places), ()
        # An index that has the order finds some of them at once.
        return self._one(f"SELECT count(*) FROM {table}{where}", values), where, values

    def names(self, view: View, states: CurrentStates | None) -> list[str]:
        """Return the names of all machines of a view, in its order."""
        with self._lock:
            self._follow(states)
            where, values = self._where(self._words(view), states)
            return [name for (name,) in self._all("name", f"FROM machine{where}{self._order(view)}", values)]

    def counts(self, states: CurrentStates | None) -> Mapping[str, int]:
        """Return how many machines are in each of `STATES`."""
        with self._lock:
            self._follow(states)
            return dict(self._all("state, count(*) AS found", "FROM machine GROUP BY state"))

    def failed(self, states: CurrentStates, most: int) -> list[Machine]:
        """Return the machines that failed last, the latest first."""
        with self._lock:
            self._follow(states)
            # The sign has SQLite follow the order of `since`, not sort all that have failed.
            failed = "FROM machine WHERE +state IN ('failed', 'exhausted') ORDER BY since DESC LIMIT ?"
            rows = self._all(f"{_SHOWN}, '' AS cell", failed, (most,))
            return [self._machine(row, states) for row in rows]

    def documents(self, view: DocumentsView) -> DocumentsPage:
        """Return the page of a view. Without a ``sort``, inventories come first, then documents by kind and name."""
        conditions, values = [], []
        if view.kind:
            conditions.append("kind = ?")
            values.append(view.kind)
        elif not view.search:
            conditions.append("kind <> 'machine'")
        if view.search:
            conditions.append("identifier LIKE ? ESCAPE '\\'")
            values.append(_holding(view.search))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        by = "place" if view.kind else "kind <> 'inventory', kind, place"
        if column := DOCUMENT_SORTS.get(view.sort):
            by = _ordered_by(column, descending=view.descending)
        with self._lock:
            found, where, given = self._found("document", where, values)
            pages, page = on_page(found, view.page, ON_A_PAGE)
            rows = self._all(
                "kind, identifier, format, extends, claims, extended_by, problems",
                f"FROM document{where} ORDER BY {by} LIMIT ? OFFSET ?",
                (*given, ON_A_PAGE, (page - 1) * ON_A_PAGE),
            )
        return DocumentsPage([Listed(*row) for row in rows], found, pages, page)

    def extending(self, key: Key) -> list[str]:
        """Return the identifiers of the documents that extend a group."""
        with self._lock:
            found = self._all(
                "identifier",
                "FROM document WHERE extended = ? AND format = ? ORDER BY place",
                (identity_of(key.identifier), key.format),
            )
        return [identifier or "default" for (identifier,) in found]

    def _all(self, columns: str, rest: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query. They come as one JSON text: for each row of its own, SQLite would give the
        interpreter's lock away, and wait half a millisecond for it while a check computes in another thread."""
        names = ", ".join(column.split()[-1] for column in columns.split(", "))
        found = self._one(f"SELECT json_group_array(json_array({names})) FROM (SELECT {columns} {rest})", values)
        rows: list[Any] = orjson.loads(found)
        return rows

    def _one(self, statement: str, values: Sequence[object] = ()) -> Any:
        return self._database.execute(statement, values).fetchone()[0]

    def _machine(self, row: Sequence[Any], states: CurrentStates | None) -> Machine:
        identity, name, origin, groups, formats, state, since, percent, message, cell = row
        if message and states is not None and identity in self._known:
            message = states.said(self._known[identity])
        formats, groups = (texts.strip("\n").replace("\n", ", ") for texts in (formats, groups))
        return Machine(name, origin, groups, formats, state, since, percent, message, cell)

    # --- the view as SQL -------------------------------------------------------------------------------------------

    def _words(self, view: View) -> list[Word]:
        """Return the words of a search, and the filters that the address has beside it."""
        labels = {"state", "group", "format", "since", *self.columns}
        found = []
        for match in _WORD.finditer(view.search):
            label, value, plain = match.groups()
            if plain is not None and (of := _FILTER.fullmatch(plain)):
                label, value = of.groups()
            rest = f"{view.search[: match.start()].rstrip()} {view.search[match.end() :].lstrip()}".strip()
            if label and value and label.casefold() in labels:
                found.append(Word(label.casefold(), value, rest))
            elif text := (value if plain is None else plain):
                found.append(Word("", text, rest))
        given = (("state", view.state), ("group", view.group), ("format", view.format))
        return found + [Word(label, value, view.search) for label, value in given if value]

    def _where(self, words: Sequence[Word], states: CurrentStates | None) -> tuple[str, list[object]]:
        """Return a condition and its values. Of several filters of one label one has to hold; every text has to be
        found."""
        conditions: list[str] = []
        values: list[object] = []
        for label in dict.fromkeys(word.label for word in words):
            either: list[str] = []
            for word in words:
                if word.label == label:
                    condition, given = self._filter(word, states) if label else self._text(word.value, states)
                    either.append(condition)
                    values += given
            conditions += [f"({' OR '.join(either)})"] if label else either
        return f" WHERE {' AND '.join(conditions)}" if conditions else "", values

    def _filter(self, word: Word, states: CurrentStates | None) -> tuple[str, list[object]]:
        label, value = word.label, word.value
        if label == "state":
            return "state = ?", [value.lower()]
        if label == "since":
            age = _AGE.match(value)
            ago = int(age[1]) * _SECONDS[age[2]] if age and states is not None else None
            return "since >= ?", [states.now - ago if states is not None and ago is not None else None]
        if label in ("group", "format"):
            return f"instr({label}s, ?)", [f"\n{value}\n"]
        condition = f"{self.columns[label]} LIKE ? ESCAPE '\\'"
        if label in IDENTITY_COLUMNS and identity_of(value):
            return f"({condition} OR {_SEARCHED})", [_pattern(value), _holding(f"\n{identity_of(value)}\n")]
        return condition, [_pattern(value)]

    def _text(self, text: str, states: CurrentStates | None) -> tuple[str, list[object]]:
        """Return the condition that a text is in a name, a group, a cell or a message, however a MAC address is
        spelled."""
        folded, bare = text.casefold(), identity_of(text)
        texts = dict.fromkeys([bare, folded] if len(bare) > 1 else [folded])  # an identity is before the cells
        condition = " OR ".join([_SEARCHED] * len(texts))
        said = self._said(folded, states) if states is not None else []
        if said:
            condition += f" OR identity IN ({', '.join('?' * len(said))})"
        return f"({condition})", [*map(_holding, texts), *said]

    def _said(self, folded: str, states: CurrentStates) -> list[str]:
        """Return the machines whose messages have a text. A secret in a message is not found."""
        rows = self._all(
            "identity",
            "FROM machine WHERE message <> '' AND message LIKE ? ESCAPE '\\' ORDER BY since DESC LIMIT ?",
            (_holding(folded), _MESSAGES_SEARCHED),
        )
        known = [one for (one,) in rows if one in self._known]
        return [one for one in known if folded in states.said(self._known[one]).casefold()]

    def _order(self, view: View) -> str:
        column = self.columns.get(view.sort)
        by = SORTS.get(view.sort) or (f"{column} = '', place_of({column})" if column else "place")
        return f" ORDER BY {_ordered_by(by, descending=view.descending)}"

    # --- the states ------------------------------------------------------------------------------------------------

    def _follow(self, states: CurrentStates | None) -> None:
        """Write what has changed since the last look, in a look at each record."""
        if states is None:
            return
        known, seen, memory = self._known, self._seen, states.memory
        changed: list[Remembered] = []
        machines = states.machines
        version = id(memory), memory.changes
        if version != self._version:
            self._version = version
            changed = [one for one in machines.values() if id(one) not in seen]
        for remembered in changed:
            identity = identity_of(remembered.record.name)
            if identity in known:
                seen.discard(id(known[identity]))
            known[identity] = remembered
            seen.add(id(remembered))
        gone = [] if known.keys() == machines.keys() else [one for one in known if one not in machines]
        for identity in gone:
            seen.discard(id(known.pop(identity)))
        sightings, database = states.sightings, self._database
        has_silence = self._one(f"SELECT EXISTS (SELECT 1 FROM machine {_SILENCE})", (states.now,))
        if not (changed or gone or has_silence or sightings != self._sightings):
            return
        database.execute("BEGIN")
        self._insert("machine", _OF_RECORD.split(), _records(changed, states.rules.silence), _RECORDED)
        for identity in gone:
            database.execute("DELETE FROM machine WHERE identity = ? AND origin = 'install'", (identity,))
            database.execute(_FORGOTTEN, (identity,))
        if gone or sightings != self._sightings:
            self._sightings = sightings
            database.execute(f"DELETE FROM machine WHERE origin = '{UNKNOWN}'")
            database.executemany(_SIGHTING, (_sighting(machine) for machine in sightings))
        database.execute(f"UPDATE machine SET state = '{SILENT}' {_SILENCE}", (states.now,))
        database.execute("COMMIT")


def _ordered_by(by: str, *, descending: bool) -> str:
    then = ", place" if by != "place" else ""  # a column that is named twice is sorted in spite of its index
    return f"{by}{' DESC' if descending else ''}{then}"


def _at(places: Iterable[Sequence[int]]) -> str:
    """Return the condition for the rows with these ``rowid``."""
    return f" WHERE rowid IN ({', '.join(str(place) for (place,) in places)})"


def _escaped(text: str) -> str:
    """Return a text as a part of a pattern of ``LIKE``."""
    return re.sub(r"([\\%_])", r"\\\1", text)


def _holding(text: str) -> str:
    """Return the pattern of ``LIKE`` for what holds a text."""
    return f"%{_escaped(text)}%"


def _pattern(value: str) -> str:
    """Return the value of a filter as a pattern of ``LIKE``."""
    return _escaped(value).replace("*", "%").replace("?", "_")


# --- what is made of the set ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Named:
    """A machine that a document, ``members`` or a row names. ``texts`` are its identities and cells."""

    name: str
    origin: str
    formats: dict[str, None] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    cells: Sequence[str] | None = None

    def add(self, extension: str, group: str) -> None:
        """Note a document of a format: the machine's own, which may extend a group, or a group that claims it."""
        self.formats[extension] = None
        if group:
            self.groups[group] = None


def _machines(catalogue: Catalogue, columns: Sequence[str]) -> Iterator[Sequence[object]]:
    """Yield the row of each machine that a document, ``members`` or a row of an inventory names."""
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
    nothing = [""] * len(columns)
    for identity, machine in named.items():
        searched = _searched(machine.name, identity, *machine.texts, *machine.groups)
        yield (
            identity,
            machine.name,
            natural(machine.name),
            machine.origin,
            _lines(machine.formats),
            _lines(machine.groups),
            bool(machine.groups),
            searched,
            *(machine.cells or nothing),
        )


def _add_rows(named: dict[str, _Named], catalogue: Catalogue, columns: Sequence[str]) -> None:
    """Add the machine of each row, or what the row has to the machine that has one of its identities."""
    groups_of, layout = _groups_of_rows(catalogue), None
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
            at = layout.labels.get("id")
            name = (cells[at] if at is not None else "") or next(iter(identities))
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
        places = row.layout.labels
        kind = tuple([cells[places[label]] if label in places else "" for label in labels])
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


def _lines(texts: Iterable[str]) -> str:
    """Return texts as lines, so that a whole one can be found by the line ends beside it; empty where there is none."""
    together = "\n".join(texts)
    return f"\n{together}\n" if together else ""


def _searched(*texts: str) -> str:
    return _lines(dict.fromkeys("\n".join(texts).casefold().split("\n")))


def _records(changed: Iterable[Remembered], silence: float) -> Iterator[Sequence[object]]:
    """Yield the row of each record."""
    for remembered in changed:
        record = remembered.record
        identity = identity_of(record.name)
        yield (
            identity,
            record.name,
            natural(record.name),
            "install",
            "",
            _lines([remembered.group] if remembered.group else ()),
            False,
            _searched(record.name, identity),
            record.state.value,
            record.heard + silence if record.state in UNDER_WAY else None,
            record.since if record.state is not State.NEW else None,
            record.percent,
            record.message or "",
        )


def _sighting(machine: UnknownMachine) -> Sequence[object]:
    name, identity = machine.machine, identity_of(machine.machine)
    note = "answered by the default" if machine.by_default else ""
    searched = _searched(name, identity, *names_sent(machine.facts))
    return identity, name, natural(name), searched, machine.last, note


def _documents(catalogue: Catalogue) -> Iterator[Sequence[object]]:
    """Yield the line of each document and inventory."""
    for raw in inventories_of(catalogue):
        claims, problems = _of_inventory(catalogue, raw)
        name = raw.key.identifier
        yield raw.key.kind.value, name, raw.key.format, "", "", claims, problems, identity_of(name), natural(name)
    for document in catalogue.documents.values():
        key, extends = document.key, document.control.extends or ""
        yield (
            key.kind.value,
            key.identifier,
            key.format,
            extends,
            identity_of(extends),
            _claims(document),
            len(document.problems),
            document.identity,
            natural(key.identifier),
        )


def inventories_of(catalogue: Catalogue) -> list[RawDocument]:
    """Return the inventories of a set, sorted."""
    inventory = catalogue.inventory
    if inventory is None:
        return []
    return sorted(inventory.tables.keys() | inventory.unreadable.keys(), key=lambda raw: raw.key)


def _of_inventory(catalogue: Catalogue, raw: RawDocument) -> tuple[str, int]:
    """Return what an inventory claims, and how many problems it has."""
    inventory = catalogue.inventory
    table = inventory.tables.get(raw) if inventory is not None else None
    if inventory is None or table is None:
        return "", 1
    faults = sum(row.layout is table.layout for row in inventory.faulty)
    return counted(len(table.rows), "row"), faults + (raw in inventory.unreadable)


def _claims(document: Document) -> str:
    control = document.control
    claims = [f"overlay {control.overlay}"] if control.overlay is not None else []
    claims += [counted(len(control.members), "member")] if control.members else []
    claims += [f"match {', '.join(criterion.label for criterion in control.match)}"] if control.match else []
    return " and ".join(claims)


class Tables:
    """The table of the set in force. Made when the first page is asked for, and kept while pages are."""

    def __init__(
        self, catalogue: Callable[[], Catalogue], states: Callable[[], CurrentStates | None] = lambda: None
    ) -> None:
        self._catalogue = catalogue
        self._states = states
        self._table: Table | None = None
        self._making: Greenlet[..., None] | None = None
        self._keeping: Greenlet[..., None] | None = None
        self._used = 0.0
        self._pool: ThreadPool | None = None

    def current(self, patience: float | None = None) -> Table | None:
        """Return the table of the set in force. While that is made for longer than a page waits, return the one from
        before; None where there is none."""
        self._used = time.monotonic()
        catalogue = self._catalogue()
        until = self._used + (patience_for(catalogue) if patience is None else patience)
        while self._table is None or self._table.catalogue is not catalogue:
            if self._making is None:
                self._making = gevent.spawn(self._make, catalogue)
            if (left := until - time.monotonic()) <= 0:
                break
            self._making.join(left)
        return self._table

    @property
    def is_current(self) -> bool:
        """Whether `current` returns the table of the set in force."""
        return self._table is not None and self._table.catalogue is self._catalogue()

    def _make(self, catalogue: Catalogue) -> None:
        try:
            if self._pool is None:
                self._pool = ThreadPool(1)
            with gc_paused(makes_many=True):
                self._table = in_pool(self._pool, Table, catalogue, self._states())
            self._used = time.monotonic()
            if self._keeping is None:
                self._keeping = gevent.spawn(self._keep)
        finally:
            self._making = None

    def _keep(self) -> None:
        while (left := self._used + USED_SECONDS - time.monotonic()) > 0:
            gevent.sleep(left)
        self._table = self._keeping = None
