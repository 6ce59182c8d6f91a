"""Turns the states of installs of earlier schemas into events.

Earlier versions kept a row for each record (``installs``), the history in places (``install_events``), and on nodes
messages that were not delivered yet (``outbox``), whose effect is in the records. Each record becomes a `Kind.SUMMARY`
with its evidence: of earlier starts only their number. Lines of the history become events of attempt 0, from which no
state follows. Ids are made of the content: what a node and the database both know is one event. Runs in the transaction
of the migration.
"""

from __future__ import annotations

import hashlib
import secrets
from base64 import b64decode
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
import peewee

from answerd.identity import identity_of
from answerd.installs.events import REACHED, Event, Evidence, Kind, LastGroup, News, Start, Strength, content_of
from answerd.installs.states import BETWEEN_STARTS, State
from answerd.store.state_tables import ROWS_AT_ONCE, insert, note, run

_REPORTED = {state: strength for strength, state in REACHED.items()}

_RECORDS = """
    SELECT id, name, attempt, state, since, was_armed, by_operator, starts, given, heard, message, percent, identities,
           group_name
    FROM installs WHERE id > ? ORDER BY id LIMIT ?"""

_LINES = """
    SELECT at, what, detail, origin, counts, body, number FROM install_events WHERE install = ? ORDER BY number"""

_OUTBOX = "SELECT number, message FROM outbox WHERE number > (SELECT max(delivered) FROM outbox_source) ORDER BY number"


def states_to_events(database: peewee.Database) -> None:
    is_node = not isinstance(database, peewee.PostgresqlDatabase) and "outbox" in database.get_tables()
    shared = None if is_node else 0
    last = 0
    names: dict[str, str] = {}
    while rows := run(database, _RECORDS, (last, ROWS_AT_ONCE)).fetchall():
        events = []
        for row in rows:
            names[identity_of(row[1])] = row[1]
            events.append(_summary(row[1:]))
            if not is_node:  # the lines of a node are in the database, or still in its outbox
                events += [_line(row[1], *line) for line in run(database, _LINES, (row[0],)).fetchall()]
        insert(database, _identified(events), shared)
        last = rows[-1][0]
    forgotten = run(database, "SELECT name_identity, attempt FROM forgotten_installs").fetchall()
    orders = [Event(names.get(name, name), Kind.FORGOTTEN, 0.0, attempt + 1) for name, attempt in forgotten]
    insert(database, _identified(orders), shared)
    if is_node:
        insert(database, _identified(_waiting_lines(run(database, _OUTBOX).fetchall())), None)
    if isinstance(database, peewee.PostgresqlDatabase):
        (revision,) = run(database, "SELECT coalesce(max(revision), 0) FROM events").fetchone()
        note(database, "revision", str(revision))
        run(database, "DELETE FROM install_revisions")
        values = (revision, secrets.token_hex(8))
        run(database, "INSERT INTO install_revisions (revision, token) VALUES (?, ?)", values)


def _summary(row: Sequence[Any]) -> Event:
    """Return the event of a record, which counts as named by an operator: such a record is never dropped."""
    name, attempt, word, since, was_armed, by_operator, starts, given, heard, message, percent, identities, group = row
    state = State(word)
    strength = Strength.INSTALLING if by_operator else _REPORTED.get(state, Strength.INSTALLING)
    found = {number: Start(since) for number in range(1, starts + 1)}
    if state not in BETWEEN_STARTS or state is State.FAILED:
        has_reported = strength or message is not None or percent is not None
        news = News(strength, since, message or "", -1.0 if percent is None else percent) if has_reported else None
        found[max(1, starts)] = Start(since, strength, since if strength else 0.0, orjson.loads(given), news)
    evidence = Evidence(
        name,
        attempt,
        bool(was_armed),
        since if state is State.ARMED else None,
        since if by_operator else None,
        since if state is State.EXHAUSTED else None,
        found,
        heard,
        identities={one: (attempt, text) for one, text in orjson.loads(identities).items()},
        group=LastGroup(attempt, heard, group) if group is not None else None,
        named=attempt,
    )
    return Event(name, Kind.SUMMARY, max(heard, since), attempt, evidence=evidence)


def _line(
    name: str, at: float, what: str, detail: str, origin: str, counts: object, body: bytes | None, number: int
) -> Event:
    """Return a line of the history; its id is its number until `_identified` gives it one."""
    kept = bytes(body or b"")
    return Event(name, Kind(what), at, 0, 0, detail, origin, counts=bool(counts), body=kept, id=str(number))


def _waiting_lines(messages: Iterable[Sequence[Any]]) -> list[Event]:
    """Return the lines of histories in a node's messages that wait for delivery."""
    events: list[Event] = []
    for number, body in messages:
        try:
            message = orjson.loads(bytes(body))
            if "unknown" not in message and message["told"] is not None:
                at, what, detail, origin, counts, kept = message["told"]
                log = b64decode(kept) if kept else None
                events.append(_line(message["name"], at, what, detail, origin, counts, log, number))
        except (ValueError, KeyError, TypeError):
            continue  # damaged
    return events


def _identified(events: Iterable[Event]) -> Iterable[Event]:
    found = {}
    for event in events:
        parts = (event.record, event.kind, repr(event.at), str(event.attempt), event.id)
        own = hashlib.sha256("\0".join(parts).encode() + content_of(event)).hexdigest()[:32]
        found[own] = event._replace(id=own)
    return found.values()
