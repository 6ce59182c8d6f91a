"""The measured program, on a free port of 127.0.0.1: how it is started, on which core, what it costs, and how it
announces that it listens."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_CORES = sorted(os.sched_getaffinity(0))
SERVICE_CORE, GENERATOR_CORE = _CORES[0], _CORES[-1]
"""The same core where the machine has only one."""

ALL_CORES = _CORES[:-1] if len(_CORES) > 2 else _CORES
"""Those that several workers get: of two cores both, one of which the generator has too."""

END_SECONDS = 15.0
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Process:
    """A child on one core, or on several, ended with this process whatever happens to it. A context manager."""

    def __init__(
        self,
        command: Sequence[str],
        core: int | Sequence[int],
        *,
        environment: Mapping[str, str] | None = None,
        stdin: int | IO[Any] = subprocess.DEVNULL,
        stdout: int | IO[Any] = subprocess.DEVNULL,
        stderr: int | IO[Any] | None = subprocess.DEVNULL,
    ) -> None:
        parent = os.getpid()

        def settle() -> None:
            os.sched_setaffinity(0, {core} if isinstance(core, int) else core)
            os.setpgid(0, 0)  # Ctrl-C is for the benchmark, which then ends its children
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)

        self.child = subprocess.Popen(
            command,
            env=environment,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            text=True,
            preexec_fn=settle,  # noqa: PLW1509 - it takes no lock that a thread of this process may hold
        )

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def pids(self) -> list[int]:
        """It and the processes that it started."""
        found = [self.pid]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, task.read_text().split())
        return found

    def cpu_seconds(self) -> float:
        """CPU time of all its processes since they started."""
        return sum(time.clock_gettime(_cpu_clock(pid)) for pid in self.pids)

    def memory(self) -> float:
        """Return the memory of all its processes in MB, each shared page counted once (PSS)."""
        rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in self.pids]
        return sum(int(found) for text in rollups for found in re.findall(r"^Pss: +(\d+)", text, re.M)) / 1024

    def stop(self) -> None:
        """End the process, and kill it where it does not end."""
        if self.child.poll() is None:
            self.child.terminate()
        try:
            self.child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self.child.wait()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _cpu_clock(pid: int) -> int:
    """Return the clock of a process's CPU time in nanoseconds (clock_getcpuclockid(3)); /proc/PID/stat counts in 10
    ms."""
    return ~pid << 3 | 2


# --- the service -----------------------------------------------------------------------------------------------------

START_SECONDS = 600.0
"""A million documents take a while."""

_POLL_SECONDS = 0.005
_LISTENING = re.compile(r"- answerd \S+ listening on \S+?:(\d+)")
_STATUS = re.compile(r" body=\d+ (-|\d{3}) ")
_ADMIN_LISTENING = re.compile(r"admin API listening on \S+?:(\d+)")

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
        given = {"SERVICE_LISTEN_ADDR": f"127.0.0.1:{port}", "SERVICE_TIMEOUT_SECS": 600, **logged, **settings}
        started = time.monotonic()
        environment = clean | {key: str(value) for key, value in given.items()}
        command = [sys.executable, "-m", "answerd", "serve"]
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
