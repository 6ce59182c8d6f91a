"""The table of machines: a list, made from an answer set, which is searched, filtered, sorted and paged.

The documents and rows of a set never change, so a table is made anew for each set; states change all the time, so they
are looked up for each page.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from heapq import nlargest
from itertools import islice
from typing import NamedTuple

import gevent
import orjson
from gevent.greenlet import Greenlet

from answerd.answers.catalogue import Catalogue
from answerd.console.backend import CurrentStates
from answerd.console.document_list import DocumentList
from answerd.console.jobs import OfTheSet, patience_for
from answerd.console.machine_lines import UNKNOWN, Line, line_of_record, line_of_sighting, machines_of, natural
from answerd.console.rendering import on_page
from answerd.identity import identity_of
from answerd.installs.contacts import Contact
from answerd.installs.records import Remembered
from answerd.installs.shown import UnknownMachine, last_step
from answerd.installs.states import SILENT, State, is_silent
from answerd.inventory.row import IDENTITY_COLUMNS
from answerd.server.os_support import gc_paused

ON_A_PAGE = 100
"""Machines, or documents, that one page shows."""

MOST_COLUMNS = 100
"""Columns of inventories by which machines are filtered, sorted and shown."""

SUGGESTED = 500
"""Groups that the field for a group suggests."""

_FAILED = (State.FAILED.value, State.EXHAUSTED.value)

STATES = (
    State.CONFLICT.value,
    *_FAILED,
    SILENT,
    UNKNOWN,
    *(word.value for word in State if word.value not in (State.CONFLICT, *_FAILED)),
)
"""The words by which machines are counted and filtered: first those that need somebody."""

USED_SECONDS = 900.0
"""How long the table is kept after the last page."""

_MESSAGES_SEARCHED = 200
"""Messages of machines that a search looks at without their secrets: the newest that have the word."""

GROUP, INVENTORY = "group", "inventory"
"""What machines can be grouped by, and filtered by, beside the columns of inventories."""

CAUSE = "cause"
"""The filter for the machines that failed for one cause."""

_FAILED_NAMED = 5
"""Machines that are named for a cause of failures."""

ORIGIN, LAST_STEP, ADDRESS, FORMATS_COLUMN = "known from", "last step", "address", "formats"
OWN_COLUMNS = (GROUP, INVENTORY, ADDRESS, LAST_STEP, FORMATS_COLUMN, ORIGIN)
"""The columns that can be shown beside those of inventories."""

USUAL = ("rack", "room", "class", "classroom", "lab", "row", "site", "location")
"""Columns by which machines are usually looked at, the first one that a table has."""

_NONE: frozenset[str] = frozenset()
_WORD = re.compile(r'(?:([^\s":=]+)[:=])?"([^"]*)"|(\S+)')
_FILTER = re.compile(r"([^:=]+)[:=](.+)")
_AGE = re.compile(r"(\d{1,6})(s|min|m|h|d|w)\Z")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_NUMBERS = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|\d+")


class Word(NamedTuple):
    """One word of a search. ``label`` is that of a filter, empty for a text that is looked for everywhere; ``rest`` is
    the search without the word."""

    label: str
    value: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class MachinesView:
    """The view that the page's URL describes. ``search`` has texts to be found and filters like ``rack:r3``;
    ``columns`` are those that are shown, the usual ones where there are none. ``as_grid``: one square for each machine,
    ``by`` a column. ``order`` names an order whose machines are shown, ``of_order`` are their names."""

    search: str = ""
    state: str = ""
    group: str = ""
    format: str = ""
    sort: str = "name"
    descending: bool = False
    page: int = 1
    columns: Sequence[str] = ()
    as_grid: bool = False
    by: str = ""
    order: str = ""
    of_order: Sequence[str] = ()


class Placed(NamedTuple):
    """A machine with its value in a column, or the group or inventory that it is in; empty where it has none. ``since``
    is in seconds since 1970."""

    value: str
    name: str
    state: str
    percent: float | None
    since: float | None


class Machine(NamedTuple):
    """A machine of the table. ``origin`` is what its name is known from: ``document``, ``member``, ``inventory``,
    ``install``, ``unknown``. ``since`` is in seconds since 1970. ``cells`` are what it has in the columns of the view.
    """

    name: str
    origin: str
    groups: str
    formats: str
    state: str
    since: float | None
    percent: float | None
    message: str
    cells: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Machines that failed for one cause: those that failed last, and how many they are in all. ``cause`` is the value
    of the filter that finds them."""

    cause: str
    machines: Sequence[Machine]
    count: int


@dataclass(frozen=True, slots=True)
class MachinesFound:
    """One page of the table, with how many machines the view has in all, and how many there are. ``columns`` are those
    of inventories, ``shown`` the columns of the cells, ``filters`` those of the search."""

    machines: Sequence[Machine]
    found: int
    total: int
    pages: int
    page: int
    groups: Sequence[str]
    columns: Sequence[str]
    shown: Sequence[str]
    filters: Sequence[Word]


@dataclass(frozen=True, slots=True)
class _Moment:
    """All machines of one moment, in the order of their names, with their records, and their groups."""

    lines: Sequence[Line]
    machines: Mapping[str, Remembered]
    sightings: Sequence[UnknownMachine]
    groups: Sequence[str]


class Table:
    """The machines and documents of one set. From any thread."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Costs a look at every document and row, some 8 µs each."""
        self.catalogue = catalogue
        layouts = catalogue.inventory.by_layout if catalogue.inventory is not None else ()
        labels = dict.fromkeys(key for layout in layouts for key in layout.keys if key)
        self.columns = {label: at for at, label in enumerate([*labels][:MOST_COLUMNS])}
        self._named = {line.identity: line for line in machines_of(catalogue, [*self.columns])}
        self.documents = DocumentList(catalogue)
        self._values_by: dict[str, tuple[Sequence[Line], list[str | None]]] = {}
        self._groups = {group for line in self._named.values() for group in line.groups}
        self._moment = _Moment(sorted(self._named.values(), key=_place), {}, (), sorted(self._groups)[:SUGGESTED])

    def machines(self, view: MachinesView, states: CurrentStates | None) -> MachinesFound:
        """Return the page of a view."""
        words, moment = self._words(view), self._at(states)
        found = self._found(view, words, moment.lines, states)
        pages, page = on_page(len(found), view.page, ON_A_PAGE)
        columns = self.shown(view)
        shown = found[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
        machines = [self._with_cells(line, states, columns) for line in shown]
        filters = [word for word in words if word.label]
        total = len(moment.lines)
        return MachinesFound(machines, len(found), total, pages, page, moment.groups, [*self.columns], columns, filters)

    def shown(self, view: MachinesView) -> list[str]:
        """Return the columns of a view: those that its address names, else the usual ones."""
        named = [name for name in dict.fromkeys(view.columns) if name in self.columns or name in OWN_COLUMNS]
        usual = [label for label in ("mac", *USUAL) if label in self.columns]
        return named or [*usual[:2], GROUP, LAST_STEP]

    def all_machines(self, view: MachinesView, states: CurrentStates | None) -> Iterator[Machine]:
        """Yield all machines of a view, in its order, with their cells."""
        columns = self.shown(view)
        for line in self._found(view, self._words(view), self._at(states).lines, states):
            yield self._with_cells(line, states, columns)

    def _with_cells(self, line: Line, states: CurrentStates | None, columns: Sequence[str]) -> Machine:
        return _machine(line, states, [self._value(line, states, name) for name in columns])

    def _value(self, line: Line, states: CurrentStates | None, name: str) -> str:
        """Return what a machine has in a column: its row's cell, or what is known of it."""
        at = self.columns.get(name)
        if at is not None and name != GROUP:
            return _cell(line, at)
        if name == GROUP:
            return ", ".join(_groups(line, states))
        if name == FORMATS_COLUMN:
            return ", ".join(line.formats)
        if name == INVENTORY:
            return line.inventory
        if name == LAST_STEP:
            return _step(line, states)
        if name == ADDRESS:
            return _address(line, states)
        return line.origin

    def names(self, view: MachinesView, states: CurrentStates | None) -> list[str]:
        """Return the names of all machines of a view, in its order."""
        return [line.name for line in self._found(view, self._words(view), self._at(states).lines, states)]

    def placed(self, view: MachinesView, states: CurrentStates | None, by: str) -> list[Placed]:
        """Return all machines of a view with their values ``by`` a column, a group or the inventory: sorted by that, in
        each value in the order of their names; those without one are last."""
        at = self.columns.get(by)
        found = []
        for line in self._found(
            replace(view, sort="name", descending=False), self._words(view), self._at(states).lines, states
        ):
            if by == GROUP:
                value = next(iter(_groups(line, states)), "")
            else:
                value = line.inventory if by == INVENTORY else _cell(line, at) if at is not None else ""
            known = _record(line, states)
            percent = known.record.percent if known is not None else None
            found.append(Placed(value, line.name, _state(line, states), percent, _since(line, states)))
        places = {value: (not value, natural(value)) for value in {one.value for one in found}}
        found.sort(key=lambda one: places[one.value])
        return found

    def tally(
        self, states: CurrentStates | None, by: str
    ) -> tuple[Mapping[tuple[str, str], int], Mapping[str, list[float]]]:
        """Return how many of all machines have a value and a state, and when those with a value that are installed
        became so, in seconds since 1970. In a tenth of the time of `placed`."""
        lines = self._at(states).lines
        kept = self._values_by.get(by)
        if kept is None or kept[0] is not lines:
            at = self.columns.get(by)
            # What a machine's group is may change with its state, where no document claims it.
            values = [
                (next(iter(line.groups), None) if by == GROUP else line.inventory if by == INVENTORY else "")
                if by in (GROUP, INVENTORY) or at is None
                else _cell(line, at)
                for line in lines
            ]
            kept = self._values_by[by] = lines, values
        found: Counter[tuple[str, str]] = Counter()
        done: dict[str, list[float]] = {}
        for line, known in zip(lines, kept[1], strict=True):
            state, value = _state(line, states), known
            if value is None:
                value = next(iter(_groups(line, states)), "")
            found[value, state] += 1
            if state == State.INSTALLED.value and (since := _since(line, states)) is not None:
                done.setdefault(value, []).append(since)
        return found, done

    def counts(self, states: CurrentStates | None) -> Mapping[str, int]:
        """Return how many machines are in each of `STATES`."""
        return Counter(_state(line, states) for line in self._at(states).lines)

    def failures(self, states: CurrentStates, most: int) -> list[Failure]:
        """Return the causes for which machines failed, the one that happened last first."""
        alike: dict[str, list[Line]] = {}
        failed = [line for line in self._at(states).lines if _state(line, states) in _FAILED]
        for line in sorted(failed, key=lambda line: _since(line, states) or 0, reverse=True):
            alike.setdefault(_cause(line, states), []).append(line)
        return [
            Failure(cause, [_machine(line, states) for line in lines[:_FAILED_NAMED]], len(lines))
            for cause, lines in islice(alike.items(), most)
        ]

    # --- a view ----------------------------------------------------------------------------------------------------

    def _at(self, states: CurrentStates | None) -> _Moment:
        """Return all machines, sorted: those of the set, of records, and those that nothing claims."""
        moment = self._moment
        if states is None or (states.machines is moment.machines and states.sightings == moment.sightings):
            return moment
        known = self._named
        more = [line_of_record(identity, one) for identity, one in states.machines.items() if identity not in known]
        unclaimed = map(line_of_sighting, states.sightings)
        more += [line for line in unclaimed if line.identity not in known and line.identity not in states.machines]
        lines = sorted([*known.values(), *more], key=_place)
        groups = self._groups | {one.group for one in states.machines.values() if one.group}
        self._moment = moment = _Moment(lines, states.machines, states.sightings, sorted(groups)[:SUGGESTED])
        return moment

    def _words(self, view: MachinesView) -> list[Word]:
        """Return the words of a search, and the filters that the address has beside it."""
        labels = {"state", GROUP, "format", "since", CAUSE, INVENTORY, *self.columns}
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

    def _found(
        self, view: MachinesView, words: Sequence[Word], lines: Sequence[Line], states: CurrentStates | None
    ) -> Sequence[Line]:
        """Return the machines of a view, in its order. Of several filters of one label one has to hold; every text has
        to be found."""
        if view.order:
            wanted = {*map(identity_of, view.of_order)}
            lines = [line for line in lines if line.identity in wanted]
        for label in dict.fromkeys(word.label for word in words):
            tests = [self._test(word, lines, states) for word in words if word.label == label]
            if label and len(tests) > 1:
                lines = [line for line in lines if any(test(line) for test in tests)]
            else:
                for test in tests:
                    lines = [line for line in lines if test(line)]
        return self._sorted(view, lines, states)

    def _sorted(self, view: MachinesView, lines: Sequence[Line], states: CurrentStates | None) -> Sequence[Line]:
        at, descending = self.columns.get(view.sort), view.descending
        if view.sort == "state":
            return sorted(lines, key=lambda line: _state(line, states), reverse=descending)
        if view.sort == "since":
            return sorted(lines, key=lambda line: _since(line, states) or 0.0, reverse=descending)
        if view.sort == "group":
            return sorted(lines, key=lambda line: _groups(line, states), reverse=descending)
        if view.sort == "name" or (at is None and view.sort not in OWN_COLUMNS):
            return lines[::-1] if descending else lines
        valued = [(self._value(line, states, view.sort), line) for line in lines]
        places = {value: natural(value) for value in {value for value, _ in valued}}
        filled = sorted((one for one in valued if one[0]), key=lambda one: places[one[0]], reverse=descending)
        return [line for _, line in filled] + [line for value, line in valued if not value]

    def _test(self, word: Word, lines: Sequence[Line], states: CurrentStates | None) -> Callable[[Line], bool]:
        """Return whether a word of a search holds for a machine."""
        label, value = word.label, word.value
        if not label:
            return _text_test(value, lines, states)
        if label == "state":
            wanted = value.lower()
            return lambda line: _state(line, states) == wanted
        if label == "since":
            age = _AGE.match(value)
            if age is None or states is None:
                return lambda _: False
            begin = states.now - int(age[1]) * _SECONDS[age[2]]
            return lambda line: (_since(line, states) or 0.0) >= begin
        if label == CAUSE:
            return lambda line: _state(line, states) in _FAILED and _cause(line, states) == value
        if label == INVENTORY:
            return lambda line: line.inventory == value
        if label == GROUP:
            return lambda line: value in _groups(line, states)
        if label == "format":
            return lambda line: value in line.formats
        at, holds, named = self.columns[label], _pattern(value), f"\n{identity_of(value)}\n"
        if label in IDENTITY_COLUMNS and len(named) > len("\n\n"):
            return lambda line: holds(_cell(line, at)) is not None or named in line.searched
        return lambda line: holds(_cell(line, at)) is not None


def _text_test(text: str, lines: Sequence[Line], states: CurrentStates | None) -> Callable[[Line], bool]:
    """Return whether a text is in a name, a group, a cell or a message of a machine, however a MAC address is
    spelled."""
    folded, bare = text.casefold(), identity_of(text)
    if len(bare) <= 1:
        bare = folded
    said = _said(folded, lines, states) if states is not None else frozenset()
    return lambda line: folded in line.searched or bare in line.searched or line.identity in said


def _said(folded: str, lines: Sequence[Line], states: CurrentStates) -> frozenset[str]:
    """Return the machines whose messages have a text. A secret in a message is not found."""
    heard = (states.machines.get(line.identity) for line in lines)
    having = (one for one in heard if one is not None and folded in (one.record.message or "").casefold())
    newest = nlargest(_MESSAGES_SEARCHED, having, key=lambda one: one.record.since)
    return frozenset(identity_of(one.record.name) for one in newest if folded in states.said(one).casefold())


def _place(line: Line) -> str:
    return line.place


def _cell(line: Line, column: int) -> str:
    return line.cells[column] if line.cells else ""


def _record(line: Line, states: CurrentStates | None) -> Remembered | None:
    return states.machines.get(line.identity) if states is not None else None


def _state(line: Line, states: CurrentStates | None) -> str:
    """Return the word of `STATES` for a machine."""
    if line.origin == UNKNOWN:
        return UNKNOWN
    known = _record(line, states)
    if known is None or states is None:
        return State.NEW.value
    return SILENT if is_silent(known.record, states.now, states.rules) else known.record.state.value


def _since(line: Line, states: CurrentStates | None) -> float | None:
    known = _record(line, states)
    if known is None:
        return line.since
    return known.record.since if known.record.state is not State.NEW else None


def _groups(line: Line, states: CurrentStates | None) -> tuple[str, ...]:
    """Return the groups that claim a machine; where none is known to, the group of its last answer."""
    known = None if line.groups else _record(line, states)
    return (known.group,) if known is not None and known.group else line.groups


def _contact(line: Line, states: CurrentStates | None) -> Contact | None:
    if states is None or line.origin == UNKNOWN:
        return None
    known = _record(line, states)
    hardware = known.names.keys() - {line.identity} if known is not None else _NONE
    return states.contacts.of_machine(line.identity, hardware)


def _step(line: Line, states: CurrentStates | None) -> str:
    """Return what a machine did last: its last contact where that is later than what its record has."""
    known, contact = _record(line, states), _contact(line, states)
    step = last_step(known.fold, known.record) if known is not None else ""
    if contact is None or (step and known is not None and known.record.heard >= contact.at):
        return step
    return contact.step(known.record.state if known is not None else State.NEW)


def _address(line: Line, states: CurrentStates | None) -> str:
    """Return the network address from which a machine asked last."""
    contact = _contact(line, states)
    peers = orjson.loads(contact.labels or "{}").get("peer", ()) if contact is not None else ()
    return next(iter(peers), "")


def _machine(line: Line, states: CurrentStates | None, cells: Sequence[str] = ()) -> Machine:
    known, message = _record(line, states), line.message
    if known is not None and states is not None:
        message = states.said(known) if known.record.message else ""
    return Machine(
        line.name,
        line.origin,
        ", ".join(_groups(line, states)),
        ", ".join(line.formats),
        _state(line, states),
        _since(line, states),
        known.record.percent if known is not None else None,
        message,
        cells,
    )


def _cause(line: Line, states: CurrentStates | None) -> str:
    """Return what tells the cause of a failure from others. A message may hold a secret, so it is no part of it."""
    known = _record(line, states)
    return cause_of((known.record.message or "") if known is not None else "")


@lru_cache(maxsize=10_000)
def cause_of(message: str) -> str:
    """Return the cause of a failure, the same for messages that differ only in numbers and addresses."""
    return sha256(_NUMBERS.sub("#", message.casefold()).encode("utf-8", "replace")).hexdigest()[:8]


def _pattern(value: str) -> Callable[[str], object]:
    """Return the function that tells whether the value of a filter, with ``*`` and ``?``, holds for a cell."""
    return re.compile(fnmatch.translate(value.replace("[", "[[]")), re.IGNORECASE).match


class Tables:
    """The table of the set in force. Made when the first page is asked for, and kept while pages are."""

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        self._catalogue = catalogue
        self._made: OfTheSet[Table] = OfTheSet()
        self._letting_go: Greenlet[[], None] | None = None

    def current(self, patience: float | None = None) -> Table | None:
        """Return the table of the set in force. While that is made for longer than a page waits, return the one from
        before; None where there is none."""
        if self._letting_go is not None:
            self._letting_go.kill(block=False)
        self._letting_go = gevent.spawn_later(USED_SECONDS, self._made.let_go)
        catalogue = self._catalogue()
        patience = patience_for(catalogue) if patience is None else patience
        self._made.look(catalogue, lambda _: _made(catalogue), patience)
        return self._made.ended.result if self._made.ended is not None else None

    @property
    def is_current(self) -> bool:
        """Whether `current` returns the table of the set in force."""
        return self._made.ended is not None and self._made.ended.about is self._catalogue()


def _made(catalogue: Catalogue) -> Table:
    with gc_paused(makes_many=True):
        return Table(catalogue)
