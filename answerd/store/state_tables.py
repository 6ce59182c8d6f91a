"""The tables of the states of installs, in SQLite and in PostgreSQL: rows to events and back, and what is kept of them.

Rules: docs/install-once.md#where-states-are-kept. Decides nothing: what events mean is in `answerd.installs.events`.
The statements that make the tables are in `answerd.store.schema`.

``events.revision`` is the order in which events were stored in this database. SQLite numbers them itself; in PostgreSQL
the transaction does (`answerd.store.log`). ``shared`` is the revision that an event
has in the database that nodes share: null where it is not delivered yet, 0 where it need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from typing import Any, NamedTuple

import peewee

from answerd.identity import identity_of, spelled_address
from answerd.installs.contacts import MOST_CONTACTS, Contact, Held
from answerd.installs.events import AUDIT, NOT_SHOWN, Event, Kind, content_of, event_from, summary_of
from answerd.installs.ids import new_id
from answerd.installs.shown import UnknownMachine
from answerd.store.tables import execute

MOST_EVENTS = 200
"""Events of one record that are shown."""

MOST_NEWS = 50
"""Reports of progress of one record that are kept: an installer may send hundreds."""

COMPACTED_AT = 36_864
"""Bytes of the events of a record, without bodies, above which those that are not `KEPT_BYTES` become a summary. A
summary takes up to 20 KB, and each process may have written `TIDIED_AT` bytes more: 64 KB in all."""

KEPT_BYTES = 20_480
"""Bytes of the events of a record that are kept beside a summary, the newest ones: those of fifty documents and
reports, where the machine has four identities."""

TIDIED_AT = 6_144
"""Bytes of new events of one record after which it is looked at whether it has too many."""

MOST_BODY_BYTES = 132_096
"""Bytes of reports' bodies that are kept for one record, the last ones: two of the longest, so that the log of a failed
start is still there while the next one reports. Strangers can make records."""

MOST_AUDITED = 10_000
"""Events of the audit that are kept."""

MOST_UNKNOWN = 1_000
"""Machines that nothing claims which are kept."""

NAMES_AT_ONCE = 500
"""Names in one question: SQLite takes 32,766 values."""

ROWS_AT_ONCE = 500
"""Rows that are read by one statement."""

OWN = 0
"""``shared`` of an event in a service that shares nothing, and of a summary."""

MOST_SOUGHT = 8
"""Identities for which SQLite looks through the last contacts; above, that takes longer than to read all of them."""

COLUMNS = "id, at, record, name, kind, content, body"

INSERT = f"INSERT INTO events (revision, {COLUMNS}, shared) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - no value
"""Without a revision, SQLite gives the next one."""

SINCE = """
    SELECT revision, record, name, kind, at, content, NULL, id FROM events
    WHERE revision > ? AND kind <> 'audited' ORDER BY revision LIMIT ?"""
"""The events after a revision on which states depend, without the bodies of reports, on which they do not."""


class Sighting(NamedTuple):
    """A machine that nothing claims has asked, ``asked`` times, between two moments. ``facts`` is JSON, empty where
    nothing new is said."""

    machine: str
    first: float
    last: float
    facts: str
    asked: int = 1


def row_of(event: Event) -> tuple[Any, ...]:
    """Return an event as a row of `COLUMNS`. A new one gets an id: 48 bits of time, so that an index grows at its end,
    and 80 that are random."""
    return (
        event.id or new_id(event.at),
        event.at,
        event.record,
        event.label,
        event.kind.value,
        content_of(event).decode(),
        event.body or None,
    )


def about_size(event: Event) -> int:
    """Return about how many bytes an event takes in the table, without its body."""
    return 250 + 40 * (len(event.names) + len(event.left)) + len(event.detail) + len(event.message or "")


def _event_of(row: Sequence[Any]) -> Event | None:
    """Return the event of a row; None for one that this version cannot read."""
    try:
        return event_from(*row)
    except ValueError:
        return None


def run(database: peewee.Database, statement: str, values: Sequence[Any] = ()) -> Any:
    """Run a statement with ``?`` for each value on either engine."""
    if isinstance(database, peewee.PostgresqlDatabase):
        statement = statement.replace("?", "%s")
    return execute(database, statement, tuple(values))


def run_many(database: peewee.Database, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    if not rows:
        return
    if isinstance(database, peewee.PostgresqlDatabase):
        statement = statement.replace("?", "%s")
    # As `peewee.Database.execute_sql` does: the driver's errors become peewee's.
    with peewee.__exception_wrapper__:  # type: ignore[attr-defined]
        database.cursor().executemany(statement, rows)  # type: ignore[no-untyped-call]


SETTING = "SELECT value FROM install_settings WHERE name = ?"


def setting(database: peewee.Database, name: str) -> str | None:
    """Return a single value of the tables; None where it is not there yet."""
    row = run(database, SETTING, (name,)).fetchone()
    return row[0] if row else None


def note(database: peewee.Database, name: str, value: str) -> None:
    run(
        database,
        "INSERT INTO install_settings (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


Fetch = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]
"""Runs a statement with values, and returns the rows."""


def events_since(fetch: Fetch, revision: int) -> Iterator[list[tuple[int, Event | None]]]:
    """Yield the events after a revision, some at a time; fewer than `ROWS_AT_ONCE` are the last ones."""
    while part := fetch(SINCE, (revision, ROWS_AT_ONCE)):
        found = [(row[0], _event_of(row[1:])) for row in part]
        yield found
        revision = found[-1][0]
        if len(found) < ROWS_AT_ONCE:
            return


def _in_parts(names: Iterable[str]) -> Iterator[list[str]]:
    every = [*names]
    for at in range(0, len(every), NAMES_AT_ONCE):
        yield every[at : at + NAMES_AT_ONCE]


def stored_under(database: peewee.Database, records: Iterable[str]) -> Iterator[tuple[int, Event]]:
    """Yield the events that are stored under some identities, without their bodies, each with its revision."""
    for part in _in_parts(records):
        query = f"""
            SELECT revision, record, name, kind, at, content, NULL, id FROM events
            WHERE record IN ({", ".join("?" * len(part))})"""  # noqa: S608 - marks
        for row in run(database, query, part).fetchall():
            event = _event_of(row[1:])
            if event is not None:
                yield row[0], event


def events_of(database: peewee.Database, records: Iterable[str]) -> list[Event]:
    """Return the events that are stored under some identities, oldest first."""
    identities = [*dict.fromkeys(records)][:NAMES_AT_ONCE]
    marks = ", ".join("?" * len(identities))
    query = f"""
        SELECT record, name, kind, at, content, body, id FROM events
        WHERE record IN ({marks or "''"}) ORDER BY at, revision"""  # noqa: S608 - marks
    found = [_event_of(row) for row in run(database, query, identities).fetchall()]
    return [event for event in found if event is not None]


def audited_in(database: peewee.Database) -> list[Event]:
    """Return the events of the audit, the newest first."""
    query = (
        "SELECT record, name, kind, at, content, NULL, id FROM events WHERE record = ? ORDER BY at DESC, revision DESC"
    )
    found = [_event_of(row) for row in run(database, query, (AUDIT,)).fetchall()]
    return [event for event in found if event is not None]


def history_of(database: peewee.Database, identities: Collection[str], beside: Iterable[str] = ()) -> list[Event]:
    """Return the events of a machine that are shown, oldest first. ``identities`` are those that are shown as it; what
    names one of them may be stored under others ``beside`` them: a row may have lost the address that it had then."""
    own = {*identities}
    found = events_of(database, [*identities, *beside])
    events = [event for event in found if event.record in own or not own.isdisjoint(event.names)]
    forgotten = max((at for at, event in enumerate(events) if event.kind is Kind.FORGOTTEN), default=-1)
    shown = [event for event in events[forgotten + 1 :] if event.kind not in NOT_SHOWN]
    if forgotten >= 0:  # a late report about what was forgotten names nobody
        shown = [event for event in shown if event.names]
    left_out = {event.id for event in [event for event in shown if event.kind is Kind.PROGRESS][:-MOST_NEWS]}
    return [event for event in shown if event.id not in left_out][-MOST_EVENTS:]


Numbers = Callable[[], int | None]
"""Returns the revision of the next event; None where SQLite gives one."""


def _by_sqlite() -> None:
    return None


def tidy(database: peewee.Database, records: Iterable[str], number: Numbers = _by_sqlite) -> None:
    """Remove what is not kept of some identities under which events were just stored: what was before a ``forget``,
    bodies of reports above the bound, and events above the bound. ``number`` is for a summary. In the present
    transaction."""
    identities = [*dict.fromkeys(records)]
    if AUDIT in identities:
        identities.remove(AUDIT)
        run(database, _OLD_AUDITED, (AUDIT, AUDIT, MOST_AUDITED))
    for part in _in_parts(identities):
        marks = ", ".join("?" * len(part))
        for (record,) in run(database, _FORGOTTEN.format(marks), part).fetchall():
            _drop_forgotten(database, record)
        run(database, _OLD_BODIES.format(marks), part)
        for (record,) in run(database, _LARGE.format(marks), part).fetchall():
            compact(database, record, number)


def _drop_forgotten(database: peewee.Database, record: str) -> None:
    """Remove what a ``forget`` took the place of: the orders and reports that it knew, and all else before it that
    names nothing but what it names. What ties a giving to its reports stays: another node may have a report about it,
    or have given it to more, which closes the same at each node."""
    events = events_of(database, [record])
    found = [event for event in events if event.kind is Kind.FORGOTTEN]
    if not found:  # a newer version's, which this one cannot read
        return
    forgotten = max(found, key=lambda event: event.at)
    knew = {*forgotten.knew}
    gone = [
        (event.id,)
        for event in events
        if event.names.keys() <= forgotten.names.keys()
        and not (event.giving and event.kind in _TIED_TO_REPORTS)
        and (event.id in knew or (event.kind in _NO_ORDERS and _is_known(event, knew)))
    ]
    run_many(database, "DELETE FROM events WHERE id = ?", gone)


_OLD_AUDITED = """
    DELETE FROM events WHERE record = ? AND shared IS NOT NULL AND revision IN
    (SELECT revision FROM events WHERE record = ? ORDER BY at DESC, revision DESC LIMIT 100000 OFFSET ?)"""


def _is_known(event: Event, knew: Set[str]) -> bool:
    return event.giving in knew or any(order.id in knew for order in event.attempt)


_TIED_TO_REPORTS = frozenset({Kind.GIVEN, Kind.INSTALLED})
_NO_ORDERS = frozenset({Kind.GIVEN, Kind.REFUSED, Kind.COPIED, Kind.FAILED, Kind.PROGRESS})
_FORGOTTEN = "SELECT DISTINCT record FROM events WHERE record IN ({}) AND kind = 'forgotten'"
_OLD_BODIES = f"""
    UPDATE events SET body = NULL WHERE revision IN (SELECT revision FROM
    (SELECT revision, sum(length(body)) OVER (PARTITION BY record ORDER BY revision DESC) AS size
     FROM events WHERE record IN ({{}}) AND body IS NOT NULL) AS bodies WHERE size > {MOST_BODY_BYTES})"""  # noqa: S608
_SIZE = "length(id) + length(record) * 2 + length(name) + length(content)"
_LARGE = f"""
    SELECT record FROM events WHERE record IN ({{}}) AND shared IS NOT NULL
    GROUP BY record HAVING sum({_SIZE}) > {COMPACTED_AT}"""  # noqa: S608 - no value


def compact(database: peewee.Database, record: str, number: Numbers) -> None:
    """Replace all but the last events that are stored under an identity by a summary. Events that are not delivered yet
    stay, so a summary says nothing that is not in the database already: it is not delivered. Nodes that delivered
    theirs would have the database and each other summarise for ever, where two do not fit in."""
    stored = run(
        database,
        f"SELECT revision, kind, {_SIZE} FROM events WHERE record = ? ORDER BY at DESC, revision DESC",  # noqa: S608
        (record,),
    ).fetchall()
    events = events_of(database, [record])
    if not events:
        return
    known = {revision for revision, _ in stored_under(database, [record])}  # without what a newer version wrote
    room, news = KEPT_BYTES, MOST_NEWS
    gone: list[tuple[int]] = []
    for revision, kind, size in stored:
        if revision not in known:
            continue
        news -= kind == Kind.PROGRESS
        if kind != Kind.SUMMARY and size <= room and (news >= 0 or kind != Kind.PROGRESS):
            room -= size
        else:
            room = room if kind in (Kind.PROGRESS, Kind.SUMMARY) else 0  # no event between two that are kept is missing
            gone.append((revision,))
    insert(database, [summary_of(events, record)], OWN, number=number)
    statement = "DELETE FROM events WHERE revision = ? AND shared IS NOT NULL AND kind <> 'forgotten'"
    run_many(database, statement, gone)


def insert(
    database: peewee.Database, events: Iterable[Event], shared: int | None, number: Numbers = _by_sqlite
) -> None:
    run_many(database, INSERT, [(number(), *row_of(event), shared) for event in events])


# --- machines that nothing claims ------------------------------------------------------------------------------------


_SIGHT = """
    INSERT INTO unknown_machines (identity, machine, first, last, asked, facts, unsent) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (identity) DO UPDATE SET
      last = CASE WHEN excluded.last > unknown_machines.last THEN excluded.last ELSE unknown_machines.last END,
      first = CASE WHEN excluded.first < unknown_machines.first THEN excluded.first ELSE unknown_machines.first END,
      asked = unknown_machines.asked + excluded.asked,
      unsent = unknown_machines.unsent + excluded.unsent,
      facts = CASE excluded.facts WHEN '' THEN unknown_machines.facts ELSE excluded.facts END"""

_KEEP_LAST = """
    DELETE FROM unknown_machines WHERE identity IN
    (SELECT identity FROM unknown_machines ORDER BY last DESC, identity LIMIT 100000 OFFSET ?)"""


def write_sightings(database: peewee.Database, sightings: Sequence[Sighting], *, is_node: bool = False) -> None:
    """Write which unknown machines asked; the last `MOST_UNKNOWN` are kept. ``is_node``: they are to be delivered.
    What one process or node has seen first, another may have written before."""
    if sightings:
        rows = [
            (
                identity_of(row.machine),
                row.machine,
                row.first,
                row.last,
                row.asked,
                row.facts.replace("\0", "").replace("\\u0000", ""),
                row.asked if is_node else 0,
            )
            for row in sightings
        ]
        run_many(database, _SIGHT, rows)
        run(database, _KEEP_LAST, (MOST_UNKNOWN,))


# --- last contacts, which only the node's own file has ----------------------------------------------------------------


_CONTACTS = """
    CREATE TABLE IF NOT EXISTS last_contacts (machine TEXT PRIMARY KEY, at REAL NOT NULL, identities TEXT NOT NULL,
    asked TEXT NOT NULL, status INTEGER NOT NULL, got TEXT NOT NULL, held INTEGER NOT NULL,
    labels TEXT NOT NULL)"""
_CONTACT = """
    INSERT INTO last_contacts (machine, at, identities, asked, status, got, held, labels)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (machine) DO UPDATE SET at = excluded.at,
    identities = excluded.identities, asked = excluded.asked, status = excluded.status, got = excluded.got,
    held = excluded.held, labels = excluded.labels WHERE excluded.at >= last_contacts.at"""
_CONTACT_OF = "SELECT machine, at, identities, asked, status, got, held, labels FROM last_contacts WHERE machine = ?"
_HAS_IDENTITY = "instr(' ' || identities || ' ', ?)"
_KEEP_CONTACTS = """
    DELETE FROM last_contacts WHERE machine IN
    (SELECT machine FROM last_contacts ORDER BY at DESC LIMIT -1 OFFSET ?)"""


def write_contacts(database: peewee.Database, contacts: Sequence[Contact]) -> None:
    """Write the last contacts of machines; the last `MOST_CONTACTS` are kept. A file that was restored may have no
    table."""
    run(database, _CONTACTS)
    run(database, "CREATE INDEX IF NOT EXISTS contacts_by_time ON last_contacts (at)")
    for contact in contacts:
        row = *contact[:2], " ".join(contact.identities), *contact[3:]
        of_name = run(database, _CONTACT_OF, (contact.machine,)).fetchone()
        if of_name is not None and _is_of_other_hardware(contact, of_name[2]):
            # Both stay, the older one under its first identity: it may be that of another row now.
            older, row = sorted((row, of_name), key=lambda one: float(one[1]))
            own = identity_of(contact.machine)
            first = next(one for one in str(older[2]).split(" ") if one != own)
            run(database, _CONTACT, (spelled_address(first), *older[1:]))
        run(database, _CONTACT, row)
    run(database, _KEEP_CONTACTS, (MOST_CONTACTS,))


def _is_of_other_hardware(contact: Contact, identities: str) -> bool:
    """Return whether a contact has its name with other hardware than one that is stored, which has some identities."""
    own = {identity_of(contact.machine)}
    said, before = {*contact.identities} - own, {*identities.split(" ")} - own
    return bool(said and before) and said.isdisjoint(before)


def contacts_in(database: peewee.Database, of: Set[str] | None = None) -> list[Contact]:
    """Return the last contacts of all machines, or of those that have one of some identities."""
    if "last_contacts" not in database.get_tables():
        return []
    query, values = "SELECT machine, at, identities, asked, status, got, held, labels FROM last_contacts", []
    if of is not None and len(of) <= MOST_SOUGHT:
        query += f" WHERE {' OR '.join([_HAS_IDENTITY] * len(of)) or 'FALSE'}"
        values = [f" {identity} " for identity in of]
    return [
        Contact(machine, at, tuple(identities), asked, status, got, Held(held), labels)
        for machine, at, written, asked, status, got, held, labels in run(database, query, values)
        for identities in (written.split(" "),)
        if of is None or not of.isdisjoint(identities)
    ]


def contacts_written(database: peewee.Database) -> float:
    """Return a number that is another one once a contact was written."""
    if "last_contacts" not in database.get_tables():
        return 0.0
    return float(run(database, "SELECT total(at) FROM last_contacts").fetchone()[0])


def unknown_machines(database: peewee.Database) -> list[UnknownMachine]:
    query = "SELECT machine, first, last, asked, facts FROM unknown_machines ORDER BY last DESC"
    return [UnknownMachine(*row) for row in run(database, query).fetchall()]
