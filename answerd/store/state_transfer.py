"""States of installs from a backup into the database that nodes share, and out of it into a backup.

Rules: docs/many-nodes.md#commands. Knows rows; the rules of merging are in `answerd.installs.merge`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peewee

from answerd.store.database_installs import DatabaseInstalls, machine_evidence_of
from answerd.store.evidence_batch import MachineEvidence
from answerd.store.install_batch import HistoryLine, Sighting
from answerd.store.install_tables import (
    EventRow,
    ForgottenRow,
    InstallRow,
    SettingRow,
    UnknownRow,
    installs,
    setting,
)
from answerd.store.sqlite_file import SqliteFile
from answerd.store.tables import fetched

RECORDS_AT_ONCE = 20
"""Records that are copied together, each with up to 250 events of 64 KB."""


def copy_states_to(copy: peewee.SqliteDatabase, database: peewee.Database) -> None:
    """Copy all states in ``database`` into the tables of a backup. Raises what the engines raise.

    Without the evidence: the service on one machine into which a backup may be restored keeps none.
    """
    last = 0
    while part := list(
        InstallRow.select()
        .where(InstallRow.id > last)
        .order_by(InstallRow.id)
        .limit(RECORDS_AT_ONCE)
        .dicts()
        .execute(database)
    ):
        InstallRow.insert_many([{**row, "known": None} for row in part]).bind(copy).execute()
        ids = [row["id"] for row in part]
        events = list(EventRow.select().where(EventRow.install.in_(ids)).dicts().execute(database))
        for at in range(0, len(events), RECORDS_AT_ONCE):
            EventRow.insert_many(events[at : at + RECORDS_AT_ONCE]).bind(copy).execute()
        last = ids[-1]
    for table in (ForgottenRow, UnknownRow):
        for row in table.select().dicts().execute(database):
            table.insert(row).bind(copy).execute()
    for name in ("key", "revision"):
        value = setting(database, name)
        if value is not None:  # a database that no node has served has no key yet
            SettingRow.insert({"name": name, "value": value}).on_conflict_replace().bind(copy).execute()


def restore_states(backup: Path, shared: DatabaseInstalls) -> int:
    """Merge the states in a backup into the database, with their history. Return how many machines have one.

    A machine of which the database knows more keeps that. Raises `answerd.store.StoreError`.
    """
    count = 0
    file = SqliteFile(backup)
    with file.faults("read"), file.connected() as source:
        key = setting(source, "key")
        shared.take_key(bytes.fromhex(key) if key else None)
        for part in _records(source):
            shared.merge(part)
            count += sum(machine.evidence is not None for machine, _ in part)
        shared.merge([], [Sighting(*row) for row in _sightings(source)])
    return count


def _records(source: peewee.Database) -> Iterator[list[tuple[MachineEvidence, list[HistoryLine]]]]:
    forgotten = ForgottenRow.select(ForgottenRow.name_identity, ForgottenRow.attempt)
    yield [(MachineEvidence(name, None, attempt), []) for name, attempt in fetched(forgotten, source)]
    last = 0
    while part := list(installs(source, InstallRow.id > last, InstallRow.id, RECORDS_AT_ONCE)):
        yield [(machine_evidence_of(stored), _lines(source, stored.id)) for stored in part]
        last = part[-1].id or 0


def _lines(source: peewee.Database, install: int | None) -> list[HistoryLine]:
    columns = EventRow.at, EventRow.what, EventRow.detail, EventRow.origin, EventRow.counts, EventRow.body
    query = EventRow.select(*columns).where(EventRow.install == install).order_by(EventRow.number)
    return [HistoryLine(*row) for row in fetched(query, source)]


def _sightings(source: peewee.Database) -> list[tuple[Any, ...]]:
    columns = UnknownRow.machine, UnknownRow.last, UnknownRow.facts, UnknownRow.asked
    return fetched(UnknownRow.select(*columns).order_by(UnknownRow.last), source)
