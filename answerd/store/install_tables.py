"""The tables of installs as models, and rows to records and back.

Rules: docs/install-once.md#where-states-are-kept. Knows rows; the statements that make the tables are in
`answerd.store.migrations`. Must not know connections or files: each function takes the database to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson
import peewee

from answerd.identity import identity_of
from answerd.installs.memory import Remembered
from answerd.installs.shown import HistoryEvent, UnknownMachine
from answerd.installs.states import Record, State
from answerd.store.tables import fetched

MOST_EVENTS = 200
"""Events of one record that are kept."""

NAMES_AT_ONCE = 500
"""Names in one question: SQLite takes 32,766 values."""


class InstallRow(peewee.Model):
    """A record. ``name_identity`` is the identity of its name; ``revision`` is the number of its last write; ``events``
    and ``news`` count what was ever noted, for the places of `EventRow`. ``known`` is the evidence
    (`answerd.installs.evidence`) where several nodes share the states, else null."""

    id = peewee.AutoField()
    name = peewee.TextField()
    name_identity = peewee.TextField()
    attempt = peewee.IntegerField()
    state = peewee.TextField()
    since = peewee.FloatField()
    was_armed = peewee.IntegerField()
    by_operator = peewee.IntegerField()
    starts = peewee.IntegerField()
    given = peewee.TextField()
    heard = peewee.FloatField()
    message = peewee.TextField(null=True)
    percent = peewee.FloatField(null=True)
    identities = peewee.TextField()
    group_name = peewee.TextField(null=True)
    events = peewee.IntegerField()
    news = peewee.IntegerField()
    revision = peewee.IntegerField()
    known = peewee.TextField(null=True)

    class Meta:
        """Peewee's settings."""

        table_name = "installs"


class EventRow(peewee.Model):
    """One event of a record's history, in one of a fixed number of places, so that a new one takes the place of the
    oldest. ``number`` orders them."""

    install = peewee.IntegerField()
    place = peewee.IntegerField()
    number = peewee.IntegerField()
    at = peewee.FloatField()
    what = peewee.TextField()
    detail = peewee.TextField()
    origin = peewee.TextField()
    counts = peewee.IntegerField()
    body = peewee.BlobField(null=True)

    class Meta:
        """Peewee's settings."""

        table_name = "install_events"
        primary_key = peewee.CompositeKey("install", "place")


class ForgottenRow(peewee.Model):
    """The last attempt of a machine that was forgotten, so that a late report of it changes nothing."""

    name_identity = peewee.TextField(primary_key=True)
    attempt = peewee.IntegerField()
    revision = peewee.IntegerField()

    class Meta:
        """Peewee's settings."""

        table_name = "forgotten_installs"


class UnknownRow(peewee.Model):
    """A machine that asked and was claimed by nothing: when, how often, with which facts."""

    identity = peewee.TextField(primary_key=True)
    machine = peewee.TextField()
    first = peewee.FloatField()
    last = peewee.FloatField()
    asked = peewee.IntegerField()
    facts = peewee.TextField()

    class Meta:
        """Peewee's settings."""

        table_name = "unknown_machines"


class SettingRow(peewee.Model):
    """A single value of the tables of installs: the key of tokens, the revision."""

    name = peewee.TextField(primary_key=True)
    value = peewee.TextField()

    class Meta:
        """Peewee's settings."""

        table_name = "install_settings"


class StoredInstall(NamedTuple):
    """A record as its row holds it. ``known`` is the evidence as JSON, None where none is kept."""

    remembered: Remembered
    id: int | None = None
    events: int = 0
    news: int = 0
    known: str | None = None


_COLUMNS = (
    InstallRow.id,
    InstallRow.name,
    InstallRow.attempt,
    InstallRow.state,
    InstallRow.since,
    InstallRow.was_armed,
    InstallRow.by_operator,
    InstallRow.starts,
    InstallRow.given,
    InstallRow.heard,
    InstallRow.message,
    InstallRow.percent,
    InstallRow.identities,
    InstallRow.group_name,
    InstallRow.events,
    InstallRow.news,
    InstallRow.known,
)


def installs(
    database: peewee.Database, condition: Any = None, order: Any = None, limit: int | None = None
) -> Iterator[StoredInstall]:
    """Yield the records that meet a condition. To be read to the end: an open cursor keeps the log of the database."""
    query = InstallRow.select(*_COLUMNS)
    if condition is not None:
        query = query.where(condition)
    if order is not None:
        query = query.order_by(order).limit(limit)
    # Peewee's own wrapper of a cursor takes as long for a row as all the rest together.
    for row in database.execute(query):  # type: ignore[no-untyped-call]
        yield _stored(row)


def installs_named(database: peewee.Database, names: Iterable[str]) -> dict[str, StoredInstall]:
    """Return the records of some names' identities, by that identity."""
    wanted = list(dict.fromkeys(names))
    found: dict[str, StoredInstall] = {}
    for at in range(0, len(wanted), NAMES_AT_ONCE):
        condition = InstallRow.name_identity.in_(wanted[at : at + NAMES_AT_ONCE])
        found.update(
            (identity_of(stored_install.remembered.record.name), stored_install)
            for stored_install in installs(database, condition)
        )
    return found


def forgotten_named(database: peewee.Database, names: Sequence[str]) -> dict[str, int]:
    """Return the last attempts of those of some names that were forgotten."""
    found: dict[str, int] = {}
    for at in range(0, len(names), NAMES_AT_ONCE):
        query = ForgottenRow.select(ForgottenRow.name_identity, ForgottenRow.attempt).where(
            ForgottenRow.name_identity.in_(names[at : at + NAMES_AT_ONCE])
        )
        found.update(fetched(query, database))
    return found


def setting(database: peewee.Database, name: str) -> str | None:
    """Return a single value of the tables; None where it is not there yet."""
    value: str | None = SettingRow.select(SettingRow.value).where(SettingRow.name == name).bind(database).scalar()
    return value


def history_of(database: peewee.Database, name: str) -> list[HistoryEvent]:
    """Return the events of the record of a name, oldest first."""
    stored = installs_named(database, [identity_of(name)]).get(identity_of(name))
    if stored is None:
        return []
    columns = EventRow.at, EventRow.what, EventRow.detail, EventRow.origin, EventRow.counts, EventRow.body
    query = EventRow.select(*columns).where(EventRow.install == stored.id).order_by(EventRow.number)
    return [
        HistoryEvent(at, what, detail, origin, bool(counts), bytes(body or b""))
        for at, what, detail, origin, counts, body in fetched(query, database)[-MOST_EVENTS:]
    ]


def unknown_machines(database: peewee.Database) -> list[UnknownMachine]:
    """Return the machines that nothing claimed, the last first."""
    columns = UnknownRow.machine, UnknownRow.first, UnknownRow.last, UnknownRow.asked, UnknownRow.facts
    rows = fetched(UnknownRow.select(*columns).order_by(UnknownRow.last.desc()), database)
    return [UnknownMachine(*row) for row in rows]


def newest_time(database: peewee.Database) -> float:
    """Return the latest time in any record: the clock must not go back before it."""
    columns = InstallRow.since, InstallRow.heard
    latest = [InstallRow.select(peewee.fn.MAX(column)).bind(database).scalar() for column in columns]
    return max((float(at) for at in latest if at is not None), default=0.0)


def _stored(row: Sequence[Any]) -> StoredInstall:
    record = Record(
        row[1],
        row[2],
        State(row[3]),
        row[4],
        bool(row[5]),
        bool(row[6]),
        row[7],
        orjson.loads(row[8]) if row[8] != "{}" else {},
        row[9],
        row[10],
        row[11],
    )
    return StoredInstall(Remembered(record, orjson.loads(row[12]), row[13]), row[0], row[14], row[15], row[16])


_UPSERT = """
    INSERT INTO installs (name, name_identity, attempt, state, since, was_armed, by_operator, starts, given, heard,
                          message, percent, identities, group_name, events, news, revision, known)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name_identity) DO UPDATE SET
      attempt = excluded.attempt, state = excluded.state, since = excluded.since, was_armed = excluded.was_armed,
      by_operator = excluded.by_operator, starts = excluded.starts, given = excluded.given, heard = excluded.heard,
      message = excluded.message, percent = excluded.percent, identities = excluded.identities,
      group_name = excluded.group_name, events = excluded.events, news = excluded.news, revision = excluded.revision,
      known = excluded.known"""


def write_many(database: peewee.Database, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Run a statement, with ``?`` for each value, once for each row."""
    if not rows:
        return
    if isinstance(database, peewee.PostgresqlDatabase):
        statement = statement.replace("?", "%s")
    # As `peewee.Database.execute_sql` does: the driver's errors become peewee's.
    with peewee.__exception_wrapper__:  # type: ignore[attr-defined]
        database.cursor().executemany(statement, rows)  # type: ignore[no-untyped-call]


def write_installs(database: peewee.Database, stored: Iterable[StoredInstall], revision: int) -> None:
    """Insert or replace records, all in one statement: peewee's own way costs ten times as much for a row."""
    rows = []
    for stored_install in stored:
        record = stored_install.remembered.record
        rows.append(
            (
                record.name,
                identity_of(record.name),
                record.attempt,
                record.state.value,
                record.since,
                int(record.was_armed),
                int(record.by_operator),
                record.starts,
                orjson.dumps(dict(record.given)).decode(),
                record.heard,
                record.message,
                record.percent,
                orjson.dumps(dict(stored_install.remembered.identities)).decode(),
                stored_install.remembered.group,
                stored_install.events,
                stored_install.news,
                revision,
                stored_install.known,
            )
        )
    write_many(database, _UPSERT, rows)
