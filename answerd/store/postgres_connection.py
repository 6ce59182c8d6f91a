"""Connections to PostgreSQL that always come to an end.

Rules: docs/many-nodes.md#when-the-database-is-away.

A query to a server that is stopped, or behind a network that drops every packet, would wait for ever: the server's own
timeouts do not run then, and TCP's do not end a connection whose packets are acknowledged. So every wait of the client
is bounded. psycopg is imported when a connection is first made: it is an extra of the package.
"""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import peewee

from answerd.short_texts import cut
from answerd.store import StoreAway, StoreError, StoreLost
from answerd.store.tables import execute

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 2
"""How long one address may take to accept a connection."""

READ_SECONDS = 3.0
"""How long one statement of a read may take."""

WRITE_SECONDS = 6.0
"""How long one statement of a write may take. Longer than the wait for the lock, shorter than a client's 10 s."""

CHANNEL = "answerd"
"""The channel of NOTIFY. A notice has no content: its receiver reads the counter."""

READ_COMMITTED = "READ COMMITTED"
"""Each statement after the lock sees what was committed before. The other levels see what was there when they began to
wait for the lock, and fail; a database may have one of those as its default."""

LONGEST_REASON = 300
"""Characters of the database's own words that are repeated."""

_LAST_WAIT_SECONDS = 0.001
"""The wait of a statement that begins after the time of its connection was over."""

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
    # The driver returns bytes for text from a database without an encoding (SQL_ASCII).
    "client_encoding": "UTF8",
    # A pooler in transaction mode gives each transaction another server connection, which knows no prepared statement.
    "prepare_threshold": None,
}
"""Found by measurement; a URL's own parameters come first."""

_SHOWN = frozenset(["host", "hostaddr", "port", "dbname", "user"])
"""The parameters whose values messages may have."""

_OF_SEVERAL = frozenset(["options", "require_auth"])
"""The parameters of whose values messages quote single words. Any of them may be a password in the wrong place."""

_SHORTEST_HIDDEN = 4
"""Characters of the shortest value that is hidden in messages."""

_GIVEN_UP = ("40", "57P", "08")
"""What the codes of errors begin with after which a transaction may be tried again: it was in the way of another, the
server ends, or the connection has ended."""

_MISPLACED_AT = re.compile(r"[@/?#].*@", re.DOTALL)
"""libpq ends user and password at the first @, and the host at the first / or ?."""

_LIBPQS_WORDS = re.compile(
    r"(connection (failed|is bad): )?connection to server .*? failed: | Is the server running.*?\?"
)
"""What libpq says around the reason; messages name the host already."""

_NO_RIGHT = "42501"
_NO_TABLE = ("42P01", "42703")
"""A table or a column that is not there (yet)."""

_NO_TIME = "there was no time left to try it"


class CommitUnknown(StoreAway):
    """The connection was lost during COMMIT: the write may have been stored."""


class OlderServer(StoreAway):
    """The server was the primary before a fail-over that this node has seen."""


class PostgresServer:
    """A database by its URL. Makes connections, each with one user at a time; holds none."""

    def __init__(self, url: str, check: Callable[[peewee.PostgresqlDatabase], None] = lambda _database: None) -> None:
        """``url``: ``postgresql://user:password@host1,host2/name?target_session_attrs=read-write``. Opens nothing.
        ``check`` gets each new connection, and raises `StoreError` where it is not to be used; after `OlderServer` the
        next host of the URL is tried."""
        self._url = url
        self.described = described(url)
        self._check = check
        self.refused = ""
        """Why the last connection did not use a server that could be reached; empty where it used the first."""

    def connect(self, seconds: float, within: float = math.inf) -> peewee.PostgresqlDatabase:
        """Return a new connection whose every wait ends after ``seconds``, and all of them ``within`` so many seconds
        from now. Raises `StoreError`."""
        until = monotonic() + within
        refused, faults = "", list[str]()
        _database_class()  # before psycopg is needed
        for where, parameters in _hosts(self._url):
            if faults and until - monotonic() < CONNECT_SECONDS:
                faults.append(f"{where}: {_NO_TIME}")
                continue
            try:
                database = self._connect(parameters, seconds, until)
            except (peewee.PeeweeException, OSError) as error:
                faults.append(f"{where}: {self._reason(error)}")
            except OlderServer as error:
                faults.append(f"{where}: {error}")
                refused = faults[-1]
            else:
                self.refused = refused
                return database
        self.refused = refused
        reason = cut("; ".join(dict.fromkeys(faults)), LONGEST_REASON)
        raise StoreAway(f"the database {self.described} cannot be reached: {reason}")

    def _connect(self, parameters: Mapping[str, Any], seconds: float, until: float) -> peewee.PostgresqlDatabase:
        database = _database_class()(self._url, prefer_psycopg3=True, thread_safe=False, autoconnect=False)
        database.parameters, database.until = parameters, until  # type: ignore[attr-defined]
        try:
            database.connect()
            self._check(database)
            raw_connection(database).wait_seconds = seconds
        except BaseException:
            with suppress(peewee.PeeweeException, OSError):
                database.close()
            raise
        return database

    @contextmanager
    def connected(self, seconds: float = READ_SECONDS, within: float = math.inf) -> Iterator[peewee.PostgresqlDatabase]:
        """`connect`, for the time of the block."""
        database = self.connect(seconds, within)
        try:
            yield database
        finally:
            database.close()

    def descriptor(self, database: peewee.PostgresqlDatabase) -> int:
        """Return the file descriptor of a connection, which can be read from when a notice has come. Raises
        `StoreAway` where the connection has ended, which may show here first."""
        with self._faults_of_driver():
            return int(raw_connection(database).fileno())

    def take_notices(self, database: peewee.PostgresqlDatabase) -> None:
        """Take the notices that have come: they collect in the driver until then. Raises `StoreAway` as well."""
        with self._faults_of_driver():
            for _notice in raw_connection(database).notifies(timeout=0):
                pass

    @contextmanager
    def _faults_of_driver(self) -> Iterator[None]:
        """Turn the driver's own errors in the block into `StoreAway`: peewee knows nothing of these calls."""
        import psycopg  # noqa: PLC0415 - an extra of the package

        try:
            yield
        except psycopg.Error as error:
            raise StoreAway(f"the database {self.described} cannot be read: {self._reason(error)}") from None

    @contextmanager
    def faults(self, done: str) -> Iterator[None]:
        """Turn errors of the driver in the block into a `StoreError` that says what could not be ``done``."""
        try:
            yield
        except (peewee.OperationalError, peewee.InterfaceError) as error:
            kind = StoreLost if _may_be_tried_again(error) else StoreAway
            raise kind(f"the database {self.described} cannot be {done}: {self._reason(error)}") from None
        except peewee.PeeweeException as error:
            state = _state_of(error)
            if state == _NO_RIGHT:
                raise StoreAway(
                    f"the database {self.described} cannot be {done}: {self._reason(error)}: its user needs rights to "
                    "the schema and all tables of answerd (docs/many-nodes.md#rights)"
                ) from None
            if state in _NO_TABLE:
                raise StoreAway(
                    f"the database {self.described} cannot be {done}: {self._reason(error)}: is it being restored?"
                ) from None
            raise StoreError(f"the database {self.described} cannot be {done}: {self._reason(error)}") from None
        except OSError as error:
            raise StoreAway(f"the database {self.described} cannot be {done}: {error}") from None

    def _reason(self, error: Exception) -> str:
        """Return the driver's message, on one line, without the statement and without values of the URL's
        parameters."""
        primary = getattr(getattr(getattr(error, "orig", None), "diag", None), "message_primary", None)
        text = _LIBPQS_WORDS.sub("", " ".join(str(primary or error).split()))
        for value in _values_to_hide(self._url):
            text = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", "…", text)
        return cut(text, LONGEST_REASON) or type(error).__name__


def end_when_silent(database: peewee.Database, seconds: float) -> None:
    """Have the server end the present transaction when its client says nothing for so long: a node that the network has
    lost would hold a lock that stops every writer."""
    execute(database, f"SET LOCAL idle_in_transaction_session_timeout = {int(seconds * 1000)}")


@contextmanager
def patient(database: peewee.PostgresqlDatabase, seconds: float) -> Iterator[None]:
    """Let each statement of a connection take so long for the time of the block."""
    connection = raw_connection(database)
    before = connection.wait_seconds
    connection.wait_seconds = seconds
    try:
        yield
    finally:
        connection.wait_seconds = before


def raw_connection(database: peewee.PostgresqlDatabase) -> Any:
    """Return the driver's own connection."""
    return database.connection()  # type: ignore[no-untyped-call]


def described(url: str) -> str:
    """Return a URL without user, password and parameters: ``postgresql://host1,host2/name``. Of one in which the
    password's place is not certain only the scheme."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://" if _MISPLACED_AT.search(rest) else f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def url_fault(url: str) -> str | None:
    """Return the fault of a value of ``SERVICE_DB_URL``, without quoting it; None where there is none."""
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        return "it is no URL"
    if scheme not in ("postgresql", "postgres"):
        return "it must begin with postgresql://"
    if _MISPLACED_AT.search(url.partition("://")[2]):
        return "it has a second @, or one after a / or ?: write / as %2F, ? as %3F and @ as %40 in user and password"
    try:
        import psycopg  # noqa: PLC0415 - an extra of the package
    except ImportError:
        return _NO_DRIVER
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return "libpq cannot read it"
    return None


def _values_to_hide(url: str) -> list[str]:
    """Return the values of a URL's parameters that no message may have, the longest first."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - an extra of the package

    found: set[str] = set()
    for name, value in conninfo_to_dict(url).items():
        if value and name not in _SHOWN:
            words = re.split(r"[^\w-]+", str(value)) if name in _OF_SEVERAL else []
            found.update([str(value), *words, *(word.replace("-", "_") for word in words)])  # of a setting's name
    return sorted((value for value in found if len(value) >= _SHORTEST_HIDDEN), key=len, reverse=True)


def _hosts(url: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the hosts of a URL, each with libpq's parameters for it. Left to itself, psycopg stops at the first that
    accepts a connection, whatever the check of a `PostgresServer` says of it."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - an extra of the package

    parameters = _SETTINGS | {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    names = ("host", "hostaddr", "port")
    listed = [str(parameters.pop(name, "") or os.environ.get(f"PG{name.upper()}", "")).split(",") for name in names]
    count = max(map(len, listed))
    whole = [values * (count // len(values)) if len(values) in (1, count) else [",".join(values)] for values in listed]
    hosts = list(zip(*whole, strict=False))  # what does not fit is left for psycopg to refuse
    if parameters.get("load_balance_hosts") == "random":
        random.shuffle(hosts)
    for host, address, port in hosts:
        where = f"{host or address or 'localhost'}{f':{port}' if port else ''}"
        yield (
            where,
            parameters | {name: value for name, value in zip(names, (host, address, port), strict=True) if value},
        )


@lru_cache(maxsize=1)
def _database_class() -> type[peewee.PostgresqlDatabase]:
    """Return a PostgreSQL database of peewee whose connections' waits are bounded. Raises `StoreError`."""
    try:
        import psycopg  # noqa: PLC0415 - an extra of the package
    except ImportError:
        raise StoreError(_NO_DRIVER) from None

    class Bounded(psycopg.Connection[Any]):
        """A connection that waits no longer than its ``wait_seconds`` for anything, and for nothing after ``until`` (on
        the monotonic clock)."""

        wait_seconds: float = math.inf
        until: float = math.inf

        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            if timeout is None:
                timeout = min(self.wait_seconds, max(_LAST_WAIT_SECONDS, self.until - monotonic()))
            return super().wait(gen, interval, timeout)

    class Adapter(peewee.Psycopg3Adapter):
        """Makes bounded connections."""

        def connect(self, db: Any, **_params: Any) -> psycopg.Connection[Any]:
            try:
                connection = Bounded.connect(**db.parameters)
            except psycopg.Error as error:
                # The error, and the frame that it was raised in, refer to each other: without this the socket of each
                # vain try would stay open until the collector runs.
                raise error.with_traceback(None) from None
            connection.wait_seconds, connection.until = float(CONNECT_SECONDS), db.until
            return connection

    class Database(peewee.PostgresqlDatabase):
        """A database of one connection."""

        psycopg3_adapter = Adapter
        parameters: Mapping[str, Any]
        until: float = math.inf

    return Database


def _may_be_tried_again(error: Exception) -> bool:
    """Return whether a connection ended by itself, or a transaction was given up for another; not where a wait did."""
    state = _state_of(error)
    if state is None:
        return "Timeout" not in type(getattr(error, "orig", None) or error.__cause__).__name__
    return state.startswith(_GIVEN_UP)


def _state_of(error: Exception) -> str | None:
    """Return PostgreSQL's code of an error; None where the driver itself raised it."""
    state: str | None = getattr(getattr(error, "orig", None) or error.__cause__, "sqlstate", None)
    return state
