"""A PostgreSQL cluster of the tests' own: made, started and thrown away, as an ordinary user, without a network.

The binaries are those of ``ANSWERD_TEST_POSTGRES`` (a directory), else Debian's newest. Without them the tests that
need a cluster are skipped, and say so.
"""

from __future__ import annotations

import atexit
import math
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import peewee

from answerd.store.postgres import PostgresStore
from answerd.store.postgres_connection import PostgresServer
from answerd.store.tables import execute
from tests.support.ports import free_port

START_SECONDS = 90.0

MISSING = (
    "PostgreSQL or psycopg is not installed (apt install postgresql, pip install psycopg[binary]), so nothing of "
    "SERVICE_STORE=postgres is tested"
)

_names = count(1)


def binaries() -> Path | None:
    """Return the directory of ``postgres`` and ``initdb``; None where there is none, or no psycopg."""
    try:
        import psycopg  # noqa: F401, PLC0415 - an extra of the package
    except ImportError:
        return None
    named = os.environ.get("ANSWERD_TEST_POSTGRES")
    found = [Path(named)] if named else sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version)
    return found[-1] if found and (found[-1] / "initdb").exists() else None


def _version(path: Path) -> float:
    try:
        return float(path.parent.name)
    except ValueError:
        return 0.0


class Cluster:
    """A running cluster on a free port of 127.0.0.1. Tests make failures of ``stop``, ``pause`` and ``resume``."""

    def __init__(self, home: Path, *, standby_of: Cluster | None = None) -> None:
        found = binaries()
        if found is None:
            raise RuntimeError(MISSING)
        self.bin, self.home, self.port = found, home, free_port()
        self.data = home / "data"
        self.process: subprocess.Popen[bytes] | None = None
        if standby_of is None:
            self._run("initdb", "--no-sync", "-A", "trust", "-U", "answerd", "-D", str(self.data))
        else:
            source = f"host=127.0.0.1 port={standby_of.port} user=answerd"
            self._run(
                "pg_basebackup", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", source, "-D", str(self.data)
            )

    def start(self) -> Cluster:
        """Start the server and wait until it can be asked."""
        options = (
            f"port={self.port}",
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "wal_log_hints=on",
            "max_connections=50",
        )
        arguments = [str(self.bin / "postgres"), "-D", str(self.data)]
        for option in options:
            arguments += ["-c", option]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                arguments, stdout=log, stderr=log, cwd=self.home, start_new_session=True, **as_ordinary_user()
            )
        until = time.monotonic() + START_SECONDS
        while self._run("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port), check=False) != 0:
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError((self.home / "log").read_text(errors="replace")[-2000:])
        return self

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT fast, SIGQUIT at once as in a crash."""
        if self.process is not None:
            self.resume()
            self.process.send_signal(how)
            self.process.wait(START_SECONDS)
            self.process = None

    def pause(self) -> None:
        """Stop the server and its children where they are: nothing answers, and no connection ends."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self._signal_all(signal.SIGCONT)

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "-w", "-D", str(self.data), "promote")

    def require_certificates(self, ca: Path, certificate: Path, key: Path) -> None:
        """Have the server, which is stopped, speak TLS and take nobody without a certificate of ``ca``."""
        for path, name in ((ca, "ca.pem"), (certificate, "server.pem"), (key, "server-key.pem")):
            shutil.copyfile(path, self.data / name)
            if os.geteuid() == 0:
                shutil.chown(self.data / name, "nobody", "nogroup")
            (self.data / name).chmod(0o600)
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(
                "ssl = on\nssl_ca_file = 'ca.pem'\nssl_cert_file = 'server.pem'\nssl_key_file = 'server-key.pem'\n"
            )
        (self.data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 cert\n")

    def database(self, *options: str) -> str:
        """Make an empty database; return its URL. ``options`` are createdb's."""
        name = f"answerd_{next(_names)}"
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "answerd", *options, name)
        return f"postgresql://answerd@127.0.0.1:{self.port}/{name}"

    def _signal_all(self, number: signal.Signals) -> None:
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in (self.process.pid, *map(int, children)):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        done = subprocess.run(
            [str(self.bin / program), *arguments],
            capture_output=True,
            check=False,
            cwd=self.home,
            timeout=START_SECONDS * 2,
            **as_ordinary_user(),
        )
        if check and done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.decode(errors='replace')[-2000:]}")
        return done.returncode


@contextmanager
def clusters() -> Iterator[Path]:
    """Yield a directory for clusters that an ordinary user may write; it is removed at the end."""
    home = Path(tempfile.mkdtemp(prefix="answerd-postgres-"))
    home.chmod(0o777)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def home_of(parent: Path, name: str) -> Path:
    """Make the directory of one cluster, owned by the user that runs it."""
    home = parent / name
    home.mkdir()
    if os.geteuid() == 0:
        shutil.chown(home, "nobody", "nogroup")
    return home


def as_ordinary_user() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


_FILLED = (
    "documents",
    "changes",
    "events",
    "unknown_machines",
    "install_settings",
    "log",
)

_shared: list[_Writable] = []
"""The store of this process's tests, once a cluster was started for it."""


def empty_store() -> _Writable:
    """Return a store whose database holds nothing. The cluster is started when it is first asked for."""
    if not _shared:
        _shared.append(_store_for_all_tests())
    store = _Writable(_shared[0].url, _shared[0].server)
    with store.connected() as database, database.atomic():
        execute(database, _EMPTY)
    return store


_EMPTY = "; ".join(
    [
        *(f"DELETE FROM {table}" for table in _FILLED),
        "UPDATE counter SET revision = 0",
    ]
)
"""Empties a database in one exchange. There are few rows: to delete them is faster than to truncate the tables."""


def _store_for_all_tests() -> _Writable:
    made = clusters()
    cluster = Cluster(home_of(made.__enter__(), "shared")).start()

    def end() -> None:
        cluster.stop(signal.SIGQUIT)
        made.__exit__(None, None, None)

    atexit.register(end)
    store = _Writable(cluster.database())
    store.prepare()
    return store


class _KeptServer(PostgresServer):
    """Keeps its connections: to connect takes longer than most tests ask for."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._kept: list[peewee.PostgresqlDatabase] = []

    def connect(self, seconds: float, within: float = math.inf) -> peewee.PostgresqlDatabase:
        """A connection for a transaction, which rolls it back before it closes it: then it is there for the next."""
        database = self._kept.pop() if self._kept else super().connect(seconds, within)
        connection: Any = database.connection()  # type: ignore[no-untyped-call]
        connection.wait_seconds, connection.until = seconds, time.monotonic() + within
        close = database.close

        def keep() -> bool:
            del database.close
            if connection.info.transaction_status.name == "IDLE":
                self._kept.append(database)
                return True
            return bool(close())

        database.close = keep  # type: ignore[method-assign]
        return database


class _Writable(PostgresStore):
    """The store, with its URL."""

    def __init__(self, url: str, server: PostgresServer | None = None) -> None:
        super().__init__(url)
        self.url = url
        self.server = server or _KeptServer(url)
