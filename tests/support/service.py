"""The real program over a real socket: started on a free port that is read from its log, ended by its pid."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tests.support.commands import ForkedProcess, run_forked, starts_alike
from tests.support.processes import children, with_descendants
from tests.support.replies import Reply, exchange, request_bytes
from tests.support.waiting import PATIENCE, wait_until

COMMAND = "ANSWERD_COMMAND"
"""The variable of the environment that names another program to test, in words of a shell: an installed package."""
CHECKOUTS = [sys.executable, "-m", "answerd"]
PROGRAM = shlex.split(os.environ.get(COMMAND, "")) or CHECKOUTS
START_SECONDS = 180.0

_STARTED = re.compile(r"(\d+) process(?:es)? started: ")
_LISTENING = re.compile(r"(?P<admin>admin API )?listening on (?P<host>\[.*?\]|[^\s:]+):(?P<port>\d+)")


def environment(**settings: object) -> dict[str, str]:
    """This process's environment without any setting of the service, and then ``settings``."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SERVICE_")}
    return clean | {name: str(value) for name, value in settings.items()}


def run(*arguments: str, stdin: bytes = b"", **settings: object) -> subprocess.CompletedProcess[bytes]:
    """Run one command of the program to its end (`tests.support.commands`)."""
    environ = environment(**settings)
    if _may_fork(environ):
        return run_forked(arguments, stdin, environ)
    return subprocess.run(
        [*PROGRAM, *arguments], input=stdin, env=environ, capture_output=True, timeout=START_SECONDS, check=False
    )


def _may_fork(environ: Mapping[str, str]) -> bool:
    """Whether a process that has imported the program may be forked (`tests.support.commands`)."""
    return PROGRAM == CHECKOUTS and starts_alike(environ)


def start(environ: Mapping[str, str], forked: bool) -> ForkedProcess | subprocess.Popen[str]:
    """Start the service; ``forked`` leaves out the start of an interpreter where that makes no difference."""
    if forked and _may_fork(environ):
        return ForkedProcess(("serve",), environ)
    return subprocess.Popen(
        [*PROGRAM, "serve"],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


class Service:
    """The running service. A context manager: leaving it sends SIGTERM and waits."""

    forked = False
    """Whether it is forked rather than started (`start`). Set for the tests, not for figures: its memory is shared."""

    def __init__(self, **settings: object) -> None:
        self.log: list[str] = []
        self._line = threading.Condition()
        self.address: tuple[str, int] | None = None
        self.admin: tuple[str, int] | None = None
        given: dict[str, Any] = {"SERVICE_LISTEN_ADDR": "127.0.0.1:0", "SERVICE_TIMEOUT_SECS": 20, **settings}
        self.process = start(environment(**given), self.forked)
        threading.Thread(target=self._collect, daemon=True).start()
        try:
            self.wait_for_log(r"answerd \S+ listening on ", START_SECONDS)
        except BaseException:  # no caller has it, so no other code could end it
            self.process.kill()
            self.process.wait(PATIENCE)
            raise

    def _collect(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            with self._line:
                self.log.append(line.rstrip("\n"))
                if found := _LISTENING.search(line):
                    address = (found["host"].strip("[]"), int(found["port"]))
                    if found["admin"]:
                        self.admin = address
                    else:
                        self.address = address
                self._line.notify_all()
        with self._line:
            self.log.append("(the log ended)")
            self._line.notify_all()

    def wait_for_log(self, pattern: str, seconds: float = PATIENCE) -> str:
        """The first line of the log that matches; waits for it."""
        wanted = re.compile(pattern)

        def found() -> str | None:
            return next((line for line in self.log if wanted.search(line)), None)

        with self._line:
            self._line.wait_for(lambda: found() or self.log[-1:] == ["(the log ended)"], seconds)
            line = found()
        if line is None:
            raise AssertionError(f"no line matches {pattern!r} in\n" + "\n".join(self.log))
        return line

    def send(self, request: bytes) -> Reply:
        """Send exactly these bytes and read until the service closes."""
        assert self.address
        return exchange(self.address, request)

    def get(self, target: str, **headers: str) -> Reply:
        """A GET as a simple client sends it. ``_`` in a header's name stands for ``-``."""
        return self.send(request_bytes("GET", target, headers))

    def post(self, target: str, body: bytes, **headers: str) -> Reply:
        """A POST with a body of known length."""
        return self.send(request_bytes("POST", target, headers, body))

    def ask_admin(self, method: str, target: str, body: bytes = b"", **headers: str) -> Reply:
        """A request to the admin API."""
        assert self.admin
        return exchange(self.admin, request_bytes(method, target, headers, body))

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def children(self) -> list[int]:
        """The workers, then the process that administers, then the replicator: each of them."""
        started = _STARTED.search(self.wait_for_log(_STARTED.pattern))
        assert started
        wait_until(lambda: len(children(self.process.pid)) == int(started[1]))
        return children(self.process.pid)

    @property
    def pids(self) -> list[int]:
        """Its processes: the parent, the workers, and the one that administers."""
        return with_descendants(self.process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE)
            raise


def write_tree(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write documents below a directory."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
