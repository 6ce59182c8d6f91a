"""A batch of events on its way into the tables: the records that it is about, and what becomes of them.

Rules: docs/install-once.md#history. Knows rows; what an event means is `answerd.installs.memory`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import peewee

from answerd.identity import identity
from answerd.installs.memory import Applied, Happened, Remembered, apply
from answerd.installs.states import Asked, Event, Order, Ordered, Refusal, Reported, Rules, Word
from answerd.store.install_tables import StoredInstall, forgotten_named, installs_named, write_installs

MOST_EVENTS = 200
"""Events of one record that are kept."""

MOST_NEWS = 50
"""Reports of progress of one record that are kept: an installer may send hundreds."""

MOST_UNKNOWN = 1_000
"""Machines that nothing claims which are kept."""


class Entry(NamedTuple):
    """One event to be written. ``name`` is the record's; ``identities`` are those that it collects, with their texts.

    ``detail`` says for people what was given or reported, ``origin`` from where, ``body`` is what came with a report.
    ``was_refused``: the document was not given, because it would have begun a start that is one too many.
    ``is_copy``: another process writes this event too, and notes it in the history.
    """

    name: str
    event: Event
    identities: Mapping[str, str] = {}
    group: str | None = None
    detail: str = ""
    origin: str = ""
    body: bytes = b""
    was_refused: bool = False
    is_copy: bool = False

    @property
    def happened(self) -> Happened:
        """The part of it that changes a record."""
        return Happened(self.name, self.event, self.identities, self.group)


class Sighting(NamedTuple):
    """A machine that nothing claims has asked, ``asked`` times. ``facts`` is JSON, empty where nothing new is said."""

    machine: str
    at: float
    facts: str
    asked: int = 1


class Batch:
    """The records that a batch of entries is about, and what becomes of them."""

    def __init__(self, database: peewee.SqliteDatabase, entries: Iterable[Entry], rules: Rules) -> None:
        self._database = database
        self._rules = rules
        names = list(dict.fromkeys(identity(entry.name) for entry in entries))
        self._stored: dict[str, StoredInstall] = dict(installs_named(database, names))
        self._forgotten = forgotten_named(database, names)
        self._dirty: dict[str, None] = {}
        self._removed: list[int] = []
        self._history: list[tuple[str, tuple[Any, ...]]] = []
        self.applied: list[Applied] = []
        self.forgotten_now: dict[str, int] = {}

    def apply(self, entries: Iterable[Entry]) -> None:
        """Work out what the entries make of their records, one after the other."""
        for entry in entries:
            name = identity(entry.name)
            stored = self._stored.get(name)
            before = stored.remembered if stored else None
            applied = apply(before, self._forgotten.get(name, 0), entry.happened, self._rules)
            if entry.was_refused and applied.outcome.refusal is not Refusal.EXHAUSTED:
                applied = Applied(before, applied.outcome)
            self.applied.append(applied)
            if applied.after is None:
                if stored is not None:
                    self._forget(name, stored)
                continue
            if applied.after is not before or not entry.was_refused:
                self._keep(name, stored, entry, applied.after, counts=applied.outcome.counts)

    def _forget(self, name: str, stored: StoredInstall) -> None:
        self._forgotten[name] = self.forgotten_now[name] = stored.remembered.record.attempt
        self._stored.pop(name)
        self._dirty.pop(name, None)
        if stored.id is not None:
            self._removed.append(stored.id)
        self._history = [one for one in self._history if one[0] != name]

    def _keep(self, name: str, stored: StoredInstall | None, entry: Entry, after: Remembered, *, counts: bool) -> None:
        number, events, news = (stored.id, stored.events, stored.news) if stored else (None, 0, 0)
        self._dirty[name] = None
        if entry.is_copy:
            self._stored[name] = StoredInstall(after, number, events, news)
            return
        is_news = isinstance(entry.event, Reported) and entry.event.word is Word.PROGRESS
        place = MOST_EVENTS + news % MOST_NEWS if is_news else events % MOST_EVENTS
        told = (
            place,
            events + news + 1,
            entry.event.at,
            _what(entry),
            entry.detail,
            entry.origin,
            int(counts),
            entry.body or None,
        )
        self._history.append((name, told))
        self._stored[name] = StoredInstall(after, number, events + (not is_news), news + is_news)

    def write(self, revision: int) -> None:
        """Write what changed, and the history, as this revision."""
        database = self._database
        cursor = _cursor(database)
        if self._removed:
            cursor.executemany("DELETE FROM install_events WHERE install = ?", [(one,) for one in self._removed])
            cursor.executemany("DELETE FROM installs WHERE id = ?", [(one,) for one in self._removed])
        if self.forgotten_now:
            cursor.executemany(
                "INSERT INTO forgotten_installs (name_identity, attempt, revision) VALUES (?, ?, ?) "
                "ON CONFLICT (name_identity) DO UPDATE SET attempt = excluded.attempt, revision = excluded.revision",
                [(name, attempt, revision) for name, attempt in self.forgotten_now.items()],
            )
        if self._dirty:
            write_installs(database, [self._stored[name] for name in self._dirty], revision)
            new = [name for name in self._dirty if self._stored[name].id is None]
            for name, one in installs_named(database, new).items():
                self._stored[name] = one
        cursor.executemany(
            "INSERT OR REPLACE INTO install_events (install, place, number, at, what, detail, origin, counts, body) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(self._stored[name].id, *told) for name, told in self._history if name in self._stored],
        )

    def changed(self) -> list[Remembered]:
        """Return the records that changed and are there."""
        return [self._stored[name].remembered for name in self._dirty]


_ORDERED = {Order.ARM: "armed", Order.DISARM: "disarmed", Order.FORGET: "forgotten"}


def _what(entry: Entry) -> str:
    """Return the word of an event in the history."""
    if isinstance(entry.event, Asked):
        return "refused" if entry.was_refused else "given"
    if isinstance(entry.event, Ordered):
        return _ORDERED[entry.event.order]
    return entry.event.word.value


def write_sightings(database: peewee.SqliteDatabase, sightings: Sequence[Sighting]) -> None:
    """Write which unknown machines asked; the last `MOST_UNKNOWN` are kept."""
    if not sightings:
        return
    cursor = _cursor(database)
    cursor.executemany(
        "INSERT INTO unknown_machines (identity, machine, first, last, asked, facts) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (identity) DO UPDATE SET last = excluded.last, asked = unknown_machines.asked + excluded.asked, "
        "facts = CASE excluded.facts WHEN '' THEN unknown_machines.facts ELSE excluded.facts END",
        [(identity(one.machine), one.machine, one.at, one.at, one.asked, one.facts) for one in sightings],
    )
    cursor.execute(
        "DELETE FROM unknown_machines WHERE identity IN "
        "(SELECT identity FROM unknown_machines ORDER BY last DESC, rowid DESC LIMIT -1 OFFSET ?)",
        (MOST_UNKNOWN,),
    )


def _cursor(database: peewee.SqliteDatabase) -> Any:
    return database.cursor()  # type: ignore[no-untyped-call]
