"""Connections to PostgreSQL that always come to an end.

Rules: docs/many-nodes.md#when-the-database-is-away.

A query to a server that is stopped, or behind a network that drops every packet, would wait for ever: the server's own
timeouts do not run then, and TCP's do not end a connection whose packets are acknowledged. So every wait of the client
is bounded. psycopg is imported when a connection is first made: it is an extra of the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import peewee

from answerd.store import StoreAway, StoreError

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 2
"""How long one address may take to accept a connection."""

READ_SECONDS = 3.0
"""How long one statement of a read may take."""

WRITE_SECONDS = 6.0
"""How long one statement of a write may take. Longer than the wait for the lock, shorter than a client's 10 s."""

_NO_DRIVER = (
    'SERVICE_STORE=postgres needs the package psycopg: pip install "psycopg[binary]", or ".[postgres]" in a clone'
)

_SETTINGS: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "tcp_user_timeout": 3000,
    "application_name": "answerd",
    # A pooler in transaction mode gives each transaction another server connection, which knows no prepared statement.
    "prepare_threshold": None,
}
"""Found by measurement; a URL's own parameters come first."""


class CommitUnknown(StoreAway):
    """The connection was lost during COMMIT: the write may have been stored."""


class PostgresServer:
    """A database by its URL. Makes connections, each with one user at a time; holds none."""

    def __init__(self, url: str) -> None:
        """``url``: ``postgresql://user:password@host1,host2/name?target_session_attrs=read-write``. Opens nothing."""
        self._url = url
        self.described = described(url)

    def connect(self, seconds: float) -> peewee.PostgresqlDatabase:
        """Return a new connection whose every wait ends after ``seconds``. Raises `StoreError`."""
        database = _database_class()(self._url, prefer_psycopg3=True, thread_safe=False, autoconnect=False, **_SETTINGS)
        database.wait_seconds = seconds  # type: ignore[attr-defined]
        with self.faults("reached"):
            database.connect()
        return database

    @contextmanager
    def connected(self, seconds: float = READ_SECONDS) -> Iterator[peewee.PostgresqlDatabase]:
        """`connect`, for the time of the block."""
        database = self.connect(seconds)
        try:
            yield database
        finally:
            database.close()

    @contextmanager
    def faults(self, done: str) -> Iterator[None]:
        """Turn errors of the driver in the block into a `StoreError` that says what could not be ``done``."""
        try:
            yield
        except (peewee.OperationalError, peewee.InterfaceError) as error:
            raise StoreAway(f"the database {self.described} cannot be {done}: {_reason(error)}") from None
        except peewee.PeeweeException as error:
            raise StoreError(f"the database {self.described} cannot be {done}: {_reason(error)}") from None
        except OSError as error:
            raise StoreAway(f"the database {self.described} cannot be {done}: {error}") from None


def described(url: str) -> str:
    """Return a URL without user, password and parameters: ``postgresql://host1,host2/name``."""
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{hosts}{parts.path}"


def url_fault(url: str) -> str | None:
    """Return the fault of a value of ``SERVICE_DB_URL``, without quoting it; None where there is none."""
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        return "it is no URL"
    if scheme not in ("postgresql", "postgres"):
        return "it must begin with postgresql://"
    try:
        import psycopg  # noqa: PLC0415 - an extra of the package
    except ImportError:
        return _NO_DRIVER
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return "libpq cannot read it"
    return None


@lru_cache(maxsize=1)
def _database_class() -> type[peewee.PostgresqlDatabase]:
    """Return a PostgreSQL database of peewee whose connections' waits are bounded. Raises `StoreError`."""
    try:
        import psycopg  # noqa: PLC0415 - an extra of the package
    except ImportError:
        raise StoreError(_NO_DRIVER) from None

    class Bounded(psycopg.Connection[Any]):
        """A connection that waits no longer than its ``wait_seconds`` for anything."""

        wait_seconds: float | None = None

        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            return super().wait(gen, interval, self.wait_seconds if timeout is None else timeout)

    class Adapter(peewee.Psycopg3Adapter):
        """Makes bounded connections."""

        def connect(self, db: Any, **params: Any) -> psycopg.Connection[Any]:
            connection = Bounded.connect(db.database, **params)
            connection.wait_seconds = db.wait_seconds
            return connection

    class Database(peewee.PostgresqlDatabase):
        """A database of one connection."""

        psycopg3_adapter = Adapter
        wait_seconds: float | None = None

    return Database


def _reason(error: Exception) -> str:
    """Return the driver's message, on one line; libpq repeats it for each address."""
    text = " ".join(str(error).split())
    return text[:300] or type(error).__name__
