"""Processes of the benchmark: their cores, their CPU time and memory, and their end with the benchmark."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

_CORES = sorted(os.sched_getaffinity(0))
SERVICE_CORE, GENERATOR_CORE = _CORES[0], _CORES[-1]
"""The same core where the machine has only one."""

ALL_CORES = _CORES[:-1] if len(_CORES) > 2 else _CORES
"""Those that several workers get: of two cores both, one of which the generator has too."""

ARE_SHARED = SERVICE_CORE == GENERATOR_CORE

END_SECONDS = 15.0
_ENDING = (signal.SIGINT, signal.SIGTERM)
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

        # A signal that came while the child is being made would be lost in one of the interpreter's own fork hooks.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)

        def settle() -> None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.sched_setaffinity(0, {core} if isinstance(core, int) else core)
            os.setpgid(0, 0)  # Ctrl-C is for the benchmark, which then ends its children
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)

        try:
            self.child = subprocess.Popen(
                command,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                text=True,
                preexec_fn=settle,  # noqa: PLW1509 - it takes no lock that a thread of this process may hold
            )
        finally:
            self._let_signals_in(mask)

    def _let_signals_in(self, mask: set[signal.Signals | int]) -> None:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # raises what came meanwhile
        except BaseException:
            self.stop()
            raise

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

    def waited_seconds(self) -> float:
        """Return for how many seconds its threads were ready to run while another process had their core."""
        nanoseconds = 0
        for pid in self.pids:
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
                    nanoseconds += int(task.read_text().split()[1])
        return nanoseconds / 1e9

    def memory(self) -> tuple[float, float]:
        """Memory of all its processes, MB: resident, and proportional (a shared page counts once)."""
        resident = proportional = 0
        for pid in self.pids:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in ("Rss", "Pss"):
                    kilobytes = int(value.split()[0])
                    resident += kilobytes if name == "Rss" else 0
                    proportional += kilobytes if name == "Pss" else 0
        return resident / 1024, proportional / 1024

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
