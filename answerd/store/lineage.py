"""Which PostgreSQL server a connection has reached: before or after a fail-over.

Rules: docs/many-nodes.md#an-old-primary-that-wakes. A standby that is promoted begins a new timeline. A primary that
was stopped meanwhile and goes on is on the old one: it takes writes that no other server has. A node that has followed
a timeline uses no server that is on an earlier one. Engines that tell no timeline are used as they are.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import peewee

from answerd.store.tables import execute

_QUESTION = (
    "SELECT system_identifier::text, CASE WHEN pg_is_in_recovery() THEN 0 ELSE "
    "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END FROM pg_control_system()"
)
"""A standby says 0: it takes no writes. The timeline of the control file is that of the last checkpoint, so a promoted
server would be taken for the old one for minutes."""


_NOT_HERE = "55000"
"""The code of the error of a server that keeps no such log: a service that stores elsewhere."""


class Lineage(NamedTuple):
    """A cluster by the random number of its making, and the timeline of the server, which each promotion raises."""

    system: str
    timeline: int

    def is_before(self, newest: Lineage | None) -> bool:
        """Return whether another server of the same cluster was promoted after this one."""
        return newest is not None and newest.system == self.system and 0 < self.timeline < newest.timeline

    def fault(self, newest: Lineage | None) -> str:
        """Return why a server that `is_before` another is not used."""
        then = newest.timeline if newest is not None else 0
        return (
            f"it is the primary from before a fail-over (timeline {self.timeline}, this node has followed {then}) and "
            "is not used: stop it"
        )


class KnownLineage(Protocol):
    """Where a node remembers the newest server that it has followed."""

    def newest(self) -> Lineage | None:
        """Return it; None where there was none. Raises `answerd.store.StoreError`."""

    def note(self, lineage: Lineage) -> None:
        """Remember a server that is newer, or of another cluster. Raises `answerd.store.StoreError`."""


def lineage_of(database: peewee.PostgresqlDatabase) -> Lineage | None:
    """Ask a new connection; return None where its engine does not tell, or does not tell this user. Raises what else
    the engine raises: a connection that is lost, or a question that took too long, says nothing about the engine."""
    try:
        row = execute(database, _QUESTION).fetchone()
    except (peewee.ProgrammingError, peewee.NotSupportedError):
        return None
    except peewee.OperationalError as error:
        if getattr(getattr(error, "orig", None), "sqlstate", None) != _NOT_HERE:
            raise
        return None
    return Lineage(str(row[0]), int(row[1])) if row else None


def lineage(database: peewee.Database) -> Lineage | None:
    """Return which server a connection of `answerd.store.postgres_connection` has; None where it cannot tell."""
    found: Lineage | None = getattr(database, "lineage", None)
    return found
