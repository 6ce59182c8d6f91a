"""What the kernel tells of processes and their sockets: children, memory, who holds a connection."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import AnyStr


def children(pid: int) -> list[int]:
    """The children of a process, none when it is gone."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    return _state(pid) not in ("Z", "")


def is_asleep(pid: int) -> bool:
    """Whether a process waits for something, such as a key."""
    return _state(pid) == "S"


def _state(pid: int) -> str:
    """The letter of `proc_pid_stat(5)`; empty where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def kill(pid: int) -> None:
    """SIGKILL; a process that is gone already will do."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@contextmanager
def killed_at_last(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """A process that ends with the block. `Popen` by itself, where a test fails in the block, waits for ever."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def private_bytes(*pids: int) -> int:
    """Memory that these processes share with no others."""
    total = 0
    for pid in pids:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))
    return total


def with_descendants(pid: int) -> list[int]:
    """A process with its children, and theirs."""
    found = [pid]
    for process in found:
        found += children(process)
    return found


def proportional_bytes(pid: int) -> int:
    """Memory of a process and its descendants (Pss). What several processes share is divided among them."""
    total = 0
    for process in with_descendants(pid):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def holders(port: int, pids: list[int]) -> dict[int, int]:
    """Which of the processes holds the connection of each client: by the client's port. ``port`` is the service's."""
    owner: dict[str, int] = {}
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            try:
                owner[os.readlink(descriptor)] = pid
            except FileNotFoundError:
                continue
    held = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, *rest = line.split()
        pid = owner.get(f"socket:[{rest[6]}]", 0)
        if int(local.partition(":")[2], 16) == port and pid and int(remote.partition(":")[2], 16):
            held[int(remote.partition(":")[2], 16)] = pid
    return held
