"""A batch of events on its way into the tables: the records of the batch, and their new states.

Rules: docs/install-once.md#history. Knows rows; the effect of an event is in `answerd.installs.memory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import peewee

from answerd.identity import identity_of
from answerd.installs.memory import AppliedEvent, RecordEvent, Remembered, apply
from answerd.installs.states import Asked, Event, Order, Ordered, Refusal, ReportKind, Rules
from answerd.store.install_tables import (
    MOST_EVENTS,
    StoredInstall,
    forgotten_named,
    installs_named,
    write_installs,
    write_many,
)

MOST_NEWS = 50
"""Reports of progress of one record that are kept: an installer may send hundreds."""

MOST_UNKNOWN = 1_000
"""Machines that nothing claims which are kept."""


class PendingEvent(NamedTuple):
    """One event to be written. ``name`` is the record's; ``identities`` are those that it collects, with their texts.

    ``detail`` names the given document or the report's message, ``origin`` is the peer, ``body`` is that of a report.
    ``was_refused``: the document was not given, because it would have begun a start that is one too many. ``is_copy``:
    another process writes this event too, and notes it in the history.
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
    def happened(self) -> RecordEvent:
        """The part of the event that changes a record."""
        return RecordEvent(self.name, self.event, self.identities, self.group)


class HistoryLine(NamedTuple):
    """A line of a record's history. ``counts``: 1 where it changed something, else 0."""

    at: float
    what: str
    detail: str = ""
    origin: str = ""
    counts: int = 1
    body: bytes | None = None


def history_line_of(entry: PendingEvent, counts: bool) -> HistoryLine:
    """Return an event as a line of the history."""
    return HistoryLine(entry.event.at, _what(entry), entry.detail, entry.origin, int(counts), entry.body or None)


class Sighting(NamedTuple):
    """A machine that nothing claims has asked, ``asked`` times. ``facts`` is JSON, empty where nothing new is said."""

    machine: str
    at: float
    facts: str
    asked: int = 1


class Batch:
    """The records of a batch of events, and their new states."""

    def __init__(self, database: peewee.Database, names: Iterable[str], rules: Rules) -> None:
        """``names`` are those of the records."""
        self._database = database
        self._rules = rules
        names = list(dict.fromkeys(identity_of(name) for name in names))
        self._stored: dict[str, StoredInstall] = dict(installs_named(database, names))
        self._forgotten = forgotten_named(database, names)
        self._dirty: dict[str, None] = {}
        self._removed: list[int] = []
        self._history: list[tuple[str, int, int, HistoryLine]] = []
        self.applied: list[AppliedEvent] = []
        self.forgotten_now: dict[str, int] = {}

    def apply(self, entries: Iterable[PendingEvent]) -> None:
        """Apply the events to their records, one after the other."""
        for entry in entries:
            self._work_in(entry, identity_of(entry.name))

    def _work_in(self, entry: PendingEvent, name: str) -> None:
        stored = self._stored.get(name)
        before = stored.remembered if stored else None
        applied = apply(before, self._forgotten.get(name, 0), entry.happened, self._rules)
        if entry.was_refused and applied.outcome.refusal is not Refusal.EXHAUSTED:
            applied = AppliedEvent(before, applied.outcome)
        self.applied.append(applied)
        if applied.after is None:
            if stored is not None:
                self._forget(name, stored.remembered.record.attempt)
            return
        if applied.after is not before or not entry.was_refused:
            self._keep(name, stored, entry, applied.after, counts=applied.outcome.counts)

    def _forget(self, name: str, attempt: int) -> None:
        """Remove a record whose last attempt was this one, with its history."""
        self._forgotten[name] = self.forgotten_now[name] = attempt
        stored = self._stored.pop(name, None)
        self._dirty.pop(name, None)
        if stored is not None and stored.id is not None:
            self._removed.append(stored.id)
        self._history = [row for row in self._history if row[0] != name]

    def _keep(
        self, name: str, stored: StoredInstall | None, entry: PendingEvent, after: Remembered, *, counts: bool
    ) -> None:
        line = None if entry.is_copy else history_line_of(entry, counts)
        self._note(name, StoredInstall(after, *stored[1:]) if stored else StoredInstall(after), line)

    def _note(self, name: str, stored: StoredInstall, line: HistoryLine | None) -> None:
        """Keep a record as it is now, with a line of its history."""
        if line is not None:
            is_news = line.what == ReportKind.PROGRESS
            events, news = stored.events, stored.news
            place = MOST_EVENTS + news % MOST_NEWS if is_news else events % MOST_EVENTS
            self._history.append((name, place, events + news + 1, line))
            stored = stored._replace(events=events + (not is_news), news=news + is_news)
        self._stored[name] = stored
        self._dirty[name] = None

    def write(self, revision: int) -> None:
        """Write the changed records, and the history, as this revision."""
        database = self._database
        write_many(database, "DELETE FROM install_events WHERE install = ?", [(row,) for row in self._removed])
        write_many(database, "DELETE FROM installs WHERE id = ?", [(row,) for row in self._removed])
        gone = [(name, attempt, revision) for name, attempt in self.forgotten_now.items()]
        write_many(database, _FORGET, gone)
        if self._dirty:
            write_installs(database, [self._stored[name] for name in self._dirty], revision)
            new = [name for name in self._dirty if self._stored[name].id is None]
            for name, row in installs_named(database, new).items():
                self._stored[name] = row
        history = [
            (self._stored[name].id, place, number, *line)
            for name, place, number, line in self._history
            if name in self._stored
        ]
        write_many(database, _NOTE, history)

    def changed(self) -> list[Remembered]:
        """Return the records that changed and are there."""
        return [self._stored[name].remembered for name in self._dirty]


_FORGET = """
    INSERT INTO forgotten_installs (name_identity, attempt, revision) VALUES (?, ?, ?)
    ON CONFLICT (name_identity) DO UPDATE SET attempt = excluded.attempt, revision = excluded.revision"""

_NOTE = """
    INSERT INTO install_events (install, place, number, at, what, detail, origin, counts, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (install, place) DO UPDATE SET
      number = excluded.number, at = excluded.at, what = excluded.what, detail = excluded.detail,
      origin = excluded.origin, counts = excluded.counts, body = excluded.body"""

_SIGHT = """
    INSERT INTO unknown_machines (identity, machine, first, last, asked, facts) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (identity) DO UPDATE SET last = excluded.last, asked = unknown_machines.asked + excluded.asked,
      facts = CASE excluded.facts WHEN '' THEN unknown_machines.facts ELSE excluded.facts END"""

_KEEP_LAST = """
    DELETE FROM unknown_machines WHERE identity IN
    (SELECT identity FROM unknown_machines ORDER BY last DESC, identity LIMIT 100000 OFFSET ?)"""

_ORDERED = {Order.ARM: "armed", Order.DISARM: "disarmed", Order.FORGET: "forgotten"}


def _what(entry: PendingEvent) -> str:
    """Return the word of an event in the history."""
    if isinstance(entry.event, Asked):
        return "refused" if entry.was_refused else "given"
    if isinstance(entry.event, Ordered):
        return _ORDERED[entry.event.order]
    return entry.event.word.value


def write_sightings(database: peewee.Database, sightings: Sequence[Sighting]) -> None:
    """Write which unknown machines asked; the last `MOST_UNKNOWN` are kept."""
    if sightings:
        rows = [(identity_of(row.machine), row.machine, row.at, row.at, row.asked, row.facts) for row in sightings]
        write_many(database, _SIGHT, rows)
        write_many(database, _KEEP_LAST, [(MOST_UNKNOWN,)])
