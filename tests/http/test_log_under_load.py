"""The log of the real program without a reader, when it is moved, and under too many lines."""

import re
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.support.known_port import OnAKnownPort
from tests.support.service import Service, write_tree
from tests.support.waiting import PATIENCE, wait_until

LONG = "a" * 1_400  # a target that soon fills a pipe


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    write_tree(tmp_path / "answers", {"default.ipxe": "#!ipxe\n"})
    return tmp_path / "answers"


def test_answers_go_on_when_nobody_reads_and_what_was_lost_is_said(answers: Path) -> None:
    requests = 1_600 * 2  # the queue of a worker holds some 700 of these lines, the pipe 40
    service = OnAKnownPort(SERVICE_ANSWERS_DIR=answers, SERVICE_WORKERS=2, read_stderr=False)
    with service:
        assert {service.get(f"/ipxe/{LONG}?{number}").status for number in range(requests)} == {200}
        reading = threading.Thread(target=service.read)
        reading.start()
        wait_until(lambda: logged(service) + dropped(service) == requests)
        assert dropped(service) > 100
        assert service.get("/ipxe/afterwards").status == 200
        service.wait_for_log("/ipxe/afterwards")
        assert service.stop() == 0
        reading.join()


def logged(service: Service) -> int:
    return len([line for line in service.log if f"/ipxe/{LONG}" in line])


def dropped(service: Service) -> int:
    found = [re.search(r"- (\d+) log lines were dropped", line) for line in service.log]
    return sum(int(match[1]) for match in found if match)


def test_it_ends_in_time_when_nobody_reads(answers: Path) -> None:
    with OnAKnownPort(SERVICE_ANSWERS_DIR=answers, read_stderr=False) as service:
        for number in range(200):
            service.get(f"/ipxe/{LONG}?{number}")
        assert service.stop() == 0  # which does not wait for ever


def test_it_goes_on_when_the_reader_of_its_log_is_gone(answers: Path) -> None:
    with OnAKnownPort(SERVICE_ANSWERS_DIR=answers, read_stderr=False) as service:
        assert service.process.stderr
        service.process.stderr.close()
        assert {service.get("/ipxe").status for _ in range(50)} == {200}
        assert service.stop() == 0


def test_logrotate_loses_no_line(answers: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with OnAKnownPort(SERVICE_ANSWERS_DIR=answers, SERVICE_LOG_FILE=log, SERVICE_WORKERS=2) as service:
        for number in range(300):
            if number % 100 == 50:
                log.rename(tmp_path / f"log.{number}")
                service.process.send_signal(signal.SIGHUP)
                wait_until(log.exists)
            assert service.get(f"/ipxe?n={number}").status == 200
    lines = "".join(file.read_text() for file in tmp_path.glob("log*")).splitlines()
    assert sorted(int(match[1]) for line in lines if (match := re.search(r"\?n=(\d+)", line))) == list(range(300))
    assert len(list(tmp_path.glob("log*"))) == 4


def test_a_log_file_that_cannot_be_opened_anew_stays_in_use(answers: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with OnAKnownPort(SERVICE_ANSWERS_DIR=answers, SERVICE_LOG_FILE=folder / "log") as service:
        folder.rename(tmp_path / "moved")
        service.process.send_signal(signal.SIGHUP)
        log = tmp_path / "moved/log"
        wait_until(lambda: "cannot be reopened: No such file" in log.read_text())
        service.get("/ipxe/afterwards")
        wait_until(lambda: "/ipxe/afterwards" in log.read_text())


def test_a_storm_of_503s_is_a_line_a_second(answers: Path) -> None:
    seconds = 2.0
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_MAX_CONNECTIONS=1) as service:
        assert service.address
        with socket.create_connection(service.address, timeout=PATIENCE):
            began = time.monotonic()
            shed = 0
            while time.monotonic() < began + seconds or shed < 100:
                shed += service.get("/ipxe").status == 503
        wait_until(lambda: summed_up(service) == shed)
        passed = time.monotonic() - began
        assert len([line for line in service.log if "503 shed" in line]) <= passed + 1.5


def summed_up(service: Service) -> int:
    found = [re.search(r"- 503 shed (\d+) connections, limit 1$", line) for line in service.log]
    return sum(int(match[1]) for match in found if match)


@pytest.mark.parametrize(
    ("level", "shown"),
    [("all", {"200", "404", "405"}), ("problems", {"404", "405"}), ("off", set())],
)
def test_the_level_decides_which_requests_are_logged(answers: Path, level: str, shown: set[str]) -> None:
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_LOG=level) as service:
        assert service.get("/ipxe").status == 200
        assert service.get("/ks").status == 404
        assert service.send(b"PUT / HTTP/1.1\r\nHost: s\r\n\r\n").status == 405
        service.process.send_signal(signal.SIGHUP)
        service.wait_for_log("- reloading")  # service lines always stay, and it was logged last
        statuses = {match[1] for line in service.log if (match := re.search(r" body=\d+ (\d{3}) ", line))}
        assert statuses == shown


def test_stdout_can_be_the_log(answers: Path) -> None:
    with OnAKnownPort(SERVICE_ANSWERS_DIR=answers, SERVICE_LOG_FILE="stdout") as service:
        assert service.get("/ipxe").status == 200
        assert service.stop() == 0
        assert service.log in ([], ["(the log ended)"])  # nothing on standard error
