"""PgBouncer in transaction mode, before a cluster of the tests' own: each transaction may have another connection."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.ports import free_port
from tests.support.postgres import as_ordinary_user
from tests.support.waiting import PATIENCE, wait_until

MISSING = "PgBouncer is not installed (apt install pgbouncer), so a pooler in transaction mode is not tested"

_SETTINGS = """
[databases]
* = host=127.0.0.1 port={server} user=answerd
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
"""


def program() -> str | None:
    """Return where PgBouncer is; Debian puts it where only root looks."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def pooled(home: Path, url: str) -> Iterator[str]:
    """Yield the URL of a database through PgBouncer. ``home``: a directory of the user that runs it."""
    parts, port = urlsplit(url), free_port()
    settings = home / "pgbouncer.ini"
    settings.write_text(_SETTINGS.format(server=parts.port, port=port))
    settings.chmod(0o644)
    found = program()
    assert found is not None
    with (home / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen(
            [found, str(settings)], stdout=log, stderr=log, cwd=home, start_new_session=True, **as_ordinary_user()
        )
    try:
        wait_until(lambda: process.poll() is not None or _accepts(port))
        assert process.poll() is None, (home / "pgbouncer.log").read_text()
        yield url.replace(f":{parts.port}/", f":{port}/")
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
