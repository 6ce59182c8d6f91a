"""How the real program ends: what is in flight is answered, what is new is refused, and the exit status is right."""

import os
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.probe import ask
from tests.support.processes import children, is_alive, kill
from tests.support.replies import pieces
from tests.support.service import Service, write_tree
from tests.support.waiting import PATIENCE, wait_until

TIMEOUT = 2  # seconds
HEAD = b"POST /ipxe HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\n"


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    write_tree(tmp_path / "answers", {"default.ipxe": "#!ipxe\n"})
    return tmp_path / "answers"


def service_of(answers: Path, workers: int, timeout: int = TIMEOUT) -> Service:
    return Service(SERVICE_ANSWERS_DIR=answers, SERVICE_WORKERS=workers, SERVICE_TIMEOUT_SECS=timeout)


def connect(service: Service) -> socket.socket:
    assert service.address
    return socket.create_connection(service.address, PATIENCE)


def status(client: socket.socket) -> bytes:
    return b"".join(pieces(client))[:12]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_what_is_in_flight_is_answered_and_what_is_new_refused(
    answers: Path, workers: int, how: signal.Signals
) -> None:
    with service_of(answers, workers) as service:
        # So many that each worker has some.
        begun = [connect(service) for _ in range(8)]
        for client in begun:
            client.sendall(HEAD + b"he")
        assert service.get("/health").status == 200  # by now they have been accepted
        service.process.send_signal(how)
        wait_until(lambda: ask(service.address) == "ConnectionRefusedError")  # type: ignore[arg-type]
        for client in begun:
            client.sendall(b"llo")
            assert status(client) == b"HTTP/1.1 200"
            client.close()
        assert service.process.wait(PATIENCE) == 0
        service.wait_for_log("- stopped")


def test_a_client_that_never_finishes_holds_the_end_up_until_its_deadline_only(answers: Path) -> None:
    with service_of(answers, 3) as service:
        began = time.monotonic()
        client = connect(service)
        client.sendall(HEAD)
        assert service.get("/health").status == 200
        pids = [service.process.pid, *children(service.process.pid)]
        assert service.stop() == 0
        assert time.monotonic() - began > TIMEOUT - 0.1
        assert not any(is_alive(pid) for pid in pids)
        assert status(client) == b""
        client.close()


def test_an_idle_service_ends_at_once(answers: Path) -> None:
    with service_of(answers, 3, timeout=60) as service:  # `stop` does not wait so long
        assert service.stop() == 0


def test_a_second_signal_changes_nothing(answers: Path) -> None:
    with service_of(answers, 2) as service, connect(service) as client:
        client.sendall(HEAD + b"he")
        assert service.get("/health").status == 200
        for how in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            service.process.send_signal(how)
        service.wait_for_log("stopping")
        client.sendall(b"llo")
        assert status(client) == b"HTTP/1.1 200"
        assert service.process.wait(PATIENCE) == 0


def test_ctrl_c_in_a_terminal_reaches_parent_and_workers_at_once(answers: Path) -> None:
    with service_of(answers, 2) as service, connect(service) as client:
        client.sendall(HEAD + b"he")
        assert service.get("/health").status == 200
        # The parent first: a terminal signals all before any of them ends.
        for pid in [service.process.pid, *service.children()]:
            with suppress(ProcessLookupError):  # a worker without clients ends at once
                os.kill(pid, signal.SIGINT)
        service.wait_for_log("stopping")
        client.sendall(b"llo")
        assert status(client) == b"HTTP/1.1 200"
        assert service.process.wait(PATIENCE) == 0
        assert len([line for line in service.log if "replacing" in line]) == 0


def test_clients_that_come_while_it_ends_are_answered_or_refused(answers: Path) -> None:
    # The kernel resets who comes between the last look for connections and the end of the listening socket, which are
    # two system calls: on a busy machine a stop in some hundred has one.
    ends = [outcomes_of_a_stop(answers) for _ in range(3)]
    assert all(outcomes <= {"200", "ConnectionRefusedError", "ConnectionResetError"} for outcomes in ends)
    assert sum("ConnectionResetError" in outcomes for outcomes in ends) <= 1


def outcomes_of_a_stop(answers: Path) -> set[str]:
    """What clients meet that ask again and again while the service ends."""
    with service_of(answers, 1) as service:
        assert service.address
        outcomes: list[str] = []

        def keep_asking() -> None:
            while not outcomes or outcomes[-1] == "200":
                outcomes.append(ask(service.address))  # type: ignore[arg-type]

        asking = [threading.Thread(target=keep_asking) for _ in range(4)]
        for thread in asking:
            thread.start()
        wait_until(lambda: len(outcomes) > 200)
        assert service.stop() == 0
        for thread in asking:
            thread.join()
        return set(outcomes)


def test_ready_says_no_for_a_while_before_anything_is_refused(answers: Path) -> None:
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_WORKERS=3, SERVICE_DRAIN_SECS=600) as service:
        wait_until(lambda: service.get("/ready").status == 200)
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: service.get("/ready").status == 503)
        assert service.get("/ready").text == "the service is stopping\n"
        assert service.get("/ipxe").status == 200
        for pid in service.pids:
            kill(pid)
        service.process.wait(PATIENCE)


def test_the_while_is_what_the_setting_says(answers: Path) -> None:
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_DRAIN_SECS=1) as service:
        began = time.monotonic()
        assert service.stop() == 0
        assert time.monotonic() - began >= 1
