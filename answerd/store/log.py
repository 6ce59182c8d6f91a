"""The numbers of what is stored in a PostgreSQL database: one row of them for changes of documents and events of
installs alike.

Rules: docs/many-nodes.md#how-changes-are-numbered.

Every write locks the one row of ``counter`` before anything else, so writers of all nodes come one after the other and
numbers are in the order of commits: a number that is drawn before the lock could be committed after a higher one, and a
reader would never see it. The table ``log`` has a random token for the last number of each write. A node knows the
number and the token up to which it has everything; where the database has not that token (a fail-over has lost its last
writes, and their numbers are used again), the node compares everything.
"""

from __future__ import annotations

import secrets
from typing import Final

import peewee

from answerd.store import StoreAway, Version
from answerd.store.postgres_connection import CHANNEL, end_when_silent
from answerd.store.tables import execute

TOKENS_KEPT: Final = 10_000
"""Writes whose tokens are kept: a node that is further behind compares everything."""

_FORGET_EVERY: Final = 1_000
"""Numbers after which older tokens are removed."""

_NO_COUNTER: Final = "the database has no counter of changes: is it being restored?"
_NEWEST = "SELECT counter.revision, log.token FROM counter LEFT JOIN log ON log.revision = counter.revision"
_FORGET = "DELETE FROM log WHERE revision < (SELECT revision FROM log ORDER BY revision DESC OFFSET %s LIMIT 1)"


class LogWriter:
    """Numbers what the present transaction of a connection stores. It holds the lock of all writers."""

    def __init__(self, database: peewee.PostgresqlDatabase, wait: float, silence: float) -> None:
        """Take the lock: the first thing in a transaction. Wait for it up to ``wait`` seconds; the server ends the
        transaction where nothing is heard for ``silence`` seconds. Raises `StoreAway`, and what the engine raises."""
        self.database = database
        execute(database, f"SET LOCAL lock_timeout = {int(wait * 1000)}")
        end_when_silent(database, silence)
        row = execute(database, "SELECT revision FROM counter FOR UPDATE").fetchone()
        if row is None:
            raise StoreAway(_NO_COUNTER)
        self._before = self.revision = int(row[0])

    def next(self) -> int:
        """Return the number of what is stored next."""
        self.revision += 1
        return self.revision

    def end(self) -> Version | None:
        """Note the numbers that were given out, and announce them. The last thing before the commit. Return this write;
        None where it stored nothing."""
        if self.revision == self._before:
            return None
        write = Version(self.revision, secrets.token_hex(8))
        execute(self.database, "UPDATE counter SET revision = %s", (write.revision,))
        execute(self.database, "INSERT INTO log (revision, token) VALUES (%s, %s)", (write.revision, write.token))
        if self.revision // _FORGET_EVERY > self._before // _FORGET_EVERY:
            execute(self.database, _FORGET, (TOKENS_KEPT,))
        execute(self.database, f"NOTIFY {CHANNEL}")
        return write


def newest_write(database: peewee.Database) -> Version:
    """Return the number and the token of the last write. Raises `StoreAway` where the row is not there."""
    row = execute(database, _NEWEST).fetchone()
    if row is None:
        raise StoreAway(_NO_COUNTER)
    return Version(row[0], row[1] or "")


def is_in_history(database: peewee.Database, known: Version) -> bool:
    """Return whether a write is one of the database's: a fail-over may have lost it, and used its number again."""
    if not known.revision:
        return True
    row = execute(database, "SELECT token FROM log WHERE revision = %s", (known.revision,)).fetchone()
    return row is not None and row[0] == known.token
