"""The measured program, on a free port of 127.0.0.1: how it is started, and how it announces that it listens."""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadtest.bench.processes import SERVICE_CORE, Process

START_SECONDS = 600.0
"""A million documents take a while."""

_POLL_SECONDS = 0.005
_LISTENING = re.compile(r"- answerd \S+ listening on \S+?:(\d+)")
_STATUS = re.compile(r" body=\d+ (-|\d{3}) ")
_ADMIN_LISTENING = re.compile(r"admin API listening on \S+?:(\d+)")
CODE: list[Path] = []
"""A directory with the answerd that is measured in place of this checkout's, where there is one."""


def is_compiled() -> bool:
    """Return whether a compiled build is measured."""
    return any(True for code in CODE for _ in code.glob("*__mypyc*.so"))


ADMIN_TOKEN = "bench-token-of-no-worth"


@dataclass(frozen=True)
class Server:
    process: Process
    port: int
    started: float
    """When it was started, on the monotonic clock."""
    admin_port: int | None = None
    log: Path | None = None
    """What it said, where that is kept: of requests only those that it refused."""

    def refusals(self, most: int = 3) -> list[str]:
        """Return how many requests its log has refused by status, then the last lines of it."""
        if self.log is None:
            return []
        lines = self.log.read_text("utf-8", "replace").splitlines()
        statuses = Counter(found[1] for line in lines if (found := _STATUS.search(line)))
        counted = [f"{count} times {status}" for status, count in sorted(statuses.items())]
        return [*counted, *lines[-most:]]


class CannotStart(Exception):
    """A server did not come up. One line and the end of its log."""


@contextmanager
def answerd(
    settings: dict[str, object],
    *,
    wait: bool = True,
    checkout: Path | None = None,
    core: int | Sequence[int] = SERVICE_CORE,
) -> Iterator[Server]:
    """Run the real program with these settings, its log in a file, all its workers on the service's core, or on those
    of ``core``.

    ``wait``: until its log says that it listens, which it does when answers are prepared; else it may not even accept
    connections yet. ``checkout``: run the code of that directory, with this environment's packages.
    """
    with tempfile.TemporaryDirectory(prefix="answerd-bench-") as name:
        log = Path(name) / "log"
        log.touch()
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SERVICE_")}
        port = 0 if wait else free_port()
        # Of the requests only those that are refused, which costs an answer nothing.
        logged = {"SERVICE_LOG": "problems", "SERVICE_LOG_FILE": log}
        given = {"SERVICE_LISTEN_ADDR": f"127.0.0.1:{port}", **logged, **settings}
        started = time.monotonic()
        environment = clean | {key: str(value) for key, value in given.items()}
        command = [sys.executable, "-m", "answerd", "serve"]
        checkout = checkout or next(iter(CODE), None)
        if checkout is not None:
            environment["PYTHONPATH"] = str(checkout)
            command.insert(1, "-P")  # or the current directory would come before PYTHONPATH
        with log.open("a") as errors, Process(command, core, environment=environment, stderr=errors) as process:
            port, admin_port = _listening(process, log) if wait else (port, None)
            yield Server(process, port, started, admin_port, log)


def _listening(process: Process, log: Path) -> tuple[int, int | None]:
    """Return the ports in the log's first lines."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        text = log.read_text("utf-8", "replace")
        found = _LISTENING.search(text)
        if found:
            admin = _ADMIN_LISTENING.search(text)
            return int(found[1]), int(admin[1]) if admin else None
        if process.child.poll() is not None:
            break
        time.sleep(_POLL_SECONDS)
    raise CannotStart(f"answerd did not start: {log.read_text('utf-8', 'replace')[-500:]}")


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
