"""The interface to the service manager: socket activation, readiness, reload, watchdog.

The test is the manager: it holds the listening socket, and a datagram socket for what it is told.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerd.server import os_support
from tests.support.processes import children
from tests.support.replies import exchange, request_bytes
from tests.support.service import CHECKOUTS, PROGRAM, environment, write_tree
from tests.support.waiting import PATIENCE, again_for, wait_until

HOST = "127.0.0.1"
ABOVE_ALL = 600
"""No descriptor of a test has this number."""
# The number of the process that LISTEN_PID and WATCHDOG_PID name is known to it alone.
START = 'exec 3<&"$1"; shift; export LISTEN_PID=$$ LISTEN_FDS=1 WATCHDOG_PID=$$; exec "$@"'
BEATS_ONCE = """
from gevent import monkey
monkey.patch_all()
import sys
from answerd.cli import main
from answerd.server import worker
worker.BEAT_SECONDS = 3_600.0
sys.exit(main())
"""
"""The program, whose workers beat once where no watchdog has them beat more often."""


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0), backlog=4_096) as bound:
        yield bound


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket that the service talks to."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "notify"))
        bound.settimeout(PATIENCE)
        yield bound


def start(tmp_path: Path, listening: socket.socket, log: Path, **settings: object) -> subprocess.Popen[bytes]:
    """Start the service as systemd would, with the socket as descriptor 3."""
    write_tree(tmp_path / "answers", {"default.ks": "lang en\n"})
    given = {"SERVICE_ANSWERS_DIR": tmp_path / "answers", "SERVICE_LOG_FILE": log, "SERVICE_TIMEOUT_SECS": 5}
    return subprocess.Popen(
        ["bash", "-c", START, "bash", str(listening.fileno()), *PROGRAM, "serve"],
        env=environment(**given, **settings),
        pass_fds=[listening.fileno()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


class Clients:
    """Machines that ask one after the other, from several threads."""

    def __init__(self, address: tuple[str, int], threads: int = 4) -> None:
        self.address = address
        self.results: list[object] = []
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        while not self._ended.is_set():
            try:
                self.results.append(exchange(self.address, request_bytes("GET", "/ks", {})).status)
            except OSError as error:
                self.results.append(repr(error))

    def wait_for(self, more: int) -> None:
        wanted = len(self.results) + more
        wait_until(lambda: len(self.results) >= wanted)

    def end(self) -> set[object]:
        self._ended.set()
        for thread in self._threads:
            thread.join(30)
        return set(self.results)


def test_a_restart_under_load_loses_no_request(tmp_path: Path, listening: socket.socket) -> None:
    log = tmp_path / "log"
    first = start(tmp_path, listening, log, SERVICE_WORKERS=2)
    clients = Clients(listening.getsockname())
    second = None
    try:
        clients.wait_for(50)
        first.send_signal(signal.SIGTERM)
        assert first.wait(PATIENCE) == 0
        second = start(tmp_path, listening, log, SERVICE_WORKERS=2)
        clients.wait_for(50)
        assert clients.end() == {200}
        second.terminate()
        assert second.wait(PATIENCE) == 0
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.wait(PATIENCE)
        clients.end()


def received(manager: socket.socket, wanted: str) -> str:
    """Return the first message that has a line like this."""
    for _ in again_for(PATIENCE):  # other messages come all the time
        text = manager.recv(4_096).decode()
        if re.search(wanted, text, re.MULTILINE):
            return text
    raise AssertionError(f"no message has a line like {wanted}")


def test_the_manager_hears_of_readiness_reload_life_and_end(
    tmp_path: Path, listening: socket.socket, manager: socket.socket
) -> None:
    process = start(
        tmp_path,
        listening,
        tmp_path / "log",
        SERVICE_WORKERS=2,
        NOTIFY_SOCKET=tmp_path / "notify",
        WATCHDOG_USEC=2_000_000,
    )
    try:
        port = listening.getsockname()[1]
        assert f"listening on {HOST}:{port}," in received(manager, "^READY=1$")
        received(manager, "^WATCHDOG=1$")
        process.send_signal(signal.SIGHUP)
        assert re.search(r"^MONOTONIC_USEC=\d+$", received(manager, "^RELOADING=1$"), re.MULTILINE)
        received(manager, "^READY=1$")
        worker = children(process.pid)[0]
        os.kill(worker, signal.SIGSTOP)
        try:
            manager.settimeout(1.8)
            with pytest.raises(TimeoutError):  # noqa: PT012 (messages that were under way count for nothing)
                while True:
                    received(manager, "^WATCHDOG=1$")
        finally:
            os.kill(worker, signal.SIGCONT)
            manager.settimeout(PATIENCE)
        process.send_signal(signal.SIGTERM)
        received(manager, "^STOPPING=1$")
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait(PATIENCE)


@pytest.mark.skipif(PROGRAM != CHECKOUTS, reason="changes the program")
def test_workers_beat_as_often_as_the_watchdog_needs(
    tmp_path: Path, listening: socket.socket, manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "PROGRAM", [sys.executable, "-c", BEATS_ONCE])
    notified = {"NOTIFY_SOCKET": tmp_path / "notify", "WATCHDOG_USEC": 1_000_000}
    process = start(tmp_path, listening, tmp_path / "log", SERVICE_WORKERS=2, **notified)
    try:
        for _ in range(8):  # from one beat there are three at most
            received(manager, "^WATCHDOG=1$")
    finally:
        process.kill()
        process.wait(PATIENCE)


# --- without a program ----------------------------------------------------------------------------------------------


def test_sockets_of_another_process_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "answers", "OTHER": "x"}
    assert os_support.take_sockets(environ) == {}
    assert environ == {"OTHER": "x"}


def in_a_row(bound: socket.socket) -> socket.socket:
    """The socket with a number above all that are in use, so that several have numbers in a row."""
    with bound:
        return socket.socket(fileno=fcntl.fcntl(bound, fcntl.F_DUPFD_CLOEXEC, ABOVE_ALL))


def test_sockets_are_given_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    sockets = [in_a_row(socket.create_server((HOST, 0))) for _ in range(3)]
    first = sockets[0].fileno()
    by_number = {bound.fileno(): bound for bound in sockets}
    assert sorted(by_number) == list(range(first, first + 3))
    monkeypatch.setattr(os_support, "FIRST_DESCRIPTOR", first)
    environ = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "3", "LISTEN_FDNAMES": "answerd.socket:admin:metrics"}
    taken = os_support.take_sockets(environ)
    assert {name: [sock.fileno() for sock in given] for name, given in taken.items()} == {
        os_support.ANSWERS: [first],
        os_support.ADMIN: [first + 1],
        os_support.METRICS: [first + 2],
    }
    for given in taken.values():
        for sock in given:
            assert not sock.get_inheritable()
            sock.detach()
    for bound in sockets:
        bound.close()


@pytest.mark.parametrize(
    ("interval", "process", "seconds"),
    [("", "", None), ("0", "", None), ("4000000", "", 2.0), ("4000000", "1", None), ("x", "", None)],
)
def test_the_watchdog_has_half_of_its_interval(
    monkeypatch: pytest.MonkeyPatch, interval: str, process: str, seconds: float | None
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", interval)
    monkeypatch.setenv("WATCHDOG_PID", process)
    assert os_support.Watchdog().seconds == seconds
