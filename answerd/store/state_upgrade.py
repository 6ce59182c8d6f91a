"""Turns the states of installs of earlier schemas into events.

Earlier versions kept a row for each record (``installs``), the evidence of nodes as JSON in it (``known``), the history
in places (``install_events``), and on nodes messages that were not delivered yet (``outbox``). Each record becomes a
`Kind.SUMMARY` with its evidence. Lines of the history become events of attempt 0, from which no state follows. Ids are
made of the content: what a node and the database both know is one event. Runs in the transaction of the migration.
"""

from __future__ import annotations

import hashlib
import secrets
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import peewee

from answerd.identity import identity_of
from answerd.installs.events import (
    Event,
    Evidence,
    Kind,
    LastGroup,
    News,
    Start,
    Strength,
    content_of,
    evidence_from_json,
)
from answerd.installs.states import State
from answerd.store.state_tables import insert, note, run

_AT_ONCE = 500

_STRENGTHS = {
    State.INSTALLING: Strength.INSTALLING,
    State.COPIED: Strength.COPIED,
    State.FAILED: Strength.FAILED,
    State.EXHAUSTED: Strength.INSTALLING,
}

_RECORDS = """
    SELECT id, name, attempt, state, since, was_armed, by_operator, starts, given, heard, message, percent, identities,
           group_name, known
    FROM installs WHERE id > ? ORDER BY id LIMIT ?"""

_LINES = """
    SELECT at, what, detail, origin, counts, body, number FROM install_events WHERE install = ? ORDER BY number"""


def states_to_events(database: peewee.Database) -> None:
    """Insert the events of all states."""
    is_node = not isinstance(database, peewee.PostgresqlDatabase) and "outbox" in database.get_tables()
    shared = None if is_node else 0
    last = 0
    names: dict[str, str] = {}
    while rows := run(database, _RECORDS, (last, _AT_ONCE)).fetchall():
        events = []
        for row in rows:
            names[identity_of(row[1])] = row[1]
            events.append(_summary(_evidence_of(row)))
            if not is_node:  # the lines of a node are in the database, or still in its outbox
                events += [_line(row[1], *line) for line in run(database, _LINES, (row[0],)).fetchall()]
        insert(database, _each_once(events), shared)
        last = rows[-1][0]
    forgotten = run(database, "SELECT name_identity, attempt FROM forgotten_installs").fetchall()
    insert(database, _each_once([_forgotten(names.get(name, name), attempt) for name, attempt in forgotten]), shared)
    if is_node:
        _take_outbox(database)
    if isinstance(database, peewee.PostgresqlDatabase):
        (revision,) = run(database, "SELECT coalesce(max(revision), 0) FROM events").fetchone()
        note(database, "revision", str(revision))
        run(database, "DELETE FROM install_revisions")
        statement = "INSERT INTO install_revisions (revision, token) VALUES (?, ?)"
        run(database, statement, (revision, secrets.token_hex(8)))


def _take_outbox(database: peewee.Database) -> None:
    """Turn the lines of histories that wait for delivery into events, and have unknown machines delivered. What the
    other messages say is in the records."""
    events: list[Event] = []
    query = (
        "SELECT number, message FROM outbox WHERE number > (SELECT max(delivered) FROM outbox_source) ORDER BY number"
    )
    for number, body in run(database, query).fetchall():
        try:
            message = orjson.loads(bytes(body))
            if "unknown" in message:
                name, _, _, asked = message["unknown"]
                statement = "UPDATE unknown_machines SET unsent = unsent + ? WHERE identity = ?"
                run(database, statement, (int(asked), identity_of(str(name))))
            elif message["told"] is not None:
                at, what, detail, origin, counts, kept = message["told"]
                line = (message["name"], at, what, detail, origin, counts, b64decode(kept) if kept else None, number)
                events.append(_line(*line))
        except (ValueError, KeyError, TypeError):
            continue  # damaged
    insert(database, _each_once(events), None)


def _evidence_of(row: Sequence[Any]) -> Evidence:
    """Return the evidence of a row of `_RECORDS`."""
    known = row[14]
    evidence = evidence_from_json(orjson.loads(known)) if known is not None else _evidence_of_record(*row[1:12])
    return _with(evidence, orjson.loads(row[12]), row[13])


def _with(evidence: Evidence, identities: Mapping[str, str], group: str | None) -> Evidence:
    """Return evidence with the identities and the group of its record. Its name counts as an operator's: such a record
    is never dropped."""
    return evidence._replace(
        identities={one: (evidence.attempt, text) for one, text in identities.items()},
        group=LastGroup(evidence.attempt, evidence.heard, group) if group is not None else None,
        named=evidence.attempt,
    )


def _evidence_of_record(
    name: str,
    attempt: int,
    state_word: str,
    since: float,
    was_armed: int,
    by_operator: int,
    starts: int,
    given: str,
    heard: float,
    message: str | None,
    percent: float | None,
) -> Evidence:
    """Return the evidence that a record alone gives. Earlier starts are known by their number only."""
    state = State(state_word)
    word = _STRENGTHS.get(state)
    if state is State.INSTALLED:
        word = Strength.INSTALLING if by_operator else Strength.INSTALLED
    found = {number: Start(since) for number in range(1, starts + 1)}
    if word is not None:
        number = max(1, starts)
        news = News(word, since, message or "", -1.0 if percent is None else percent)
        has_news = message is not None or percent is not None
        found[number] = Start(since, word, since if word else 0.0, orjson.loads(given), news if has_news else None)
    return Evidence(
        name,
        attempt,
        bool(was_armed),
        since if state in (State.ARMED, State.NEW) and since else None,
        since if by_operator else None,
        since if state is State.EXHAUSTED else None,
        found,
        heard,
    )


def _summary(evidence: Evidence) -> Event:
    at = max([evidence.heard, evidence.began or 0.0, *(start.at for start in evidence.starts.values())])
    return _identified(Event(evidence.name, Kind.SUMMARY, at, evidence.attempt, evidence=evidence))


def _line(
    name: str, at: float, what: str, detail: str, origin: str, counts: object, body: bytes | None, number: int
) -> Event:
    event = Event(name, Kind(what), at, 0, 0, detail, origin, counts=bool(counts), body=bytes(body or b""))
    return _identified(event, str(number))


def _forgotten(name: str, attempt: int) -> Event:
    return _identified(Event(name, Kind.FORGOTTEN, 0.0, attempt + 1))


def _identified(event: Event, salt: str = "") -> Event:
    parts = (event.record, event.kind, repr(event.at), str(event.attempt), salt)
    made = hashlib.sha256("\0".join(parts).encode() + content_of(event)).hexdigest()[:32]
    return event._replace(id=made)


def _each_once(events: Sequence[Event]) -> list[Event]:
    return list({event.id: event for event in events}.values())
