"""The log: what a line looks like, that nothing can break or forge one, and that writing it never holds anything up."""

import json
import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from answerd.server.request_log import RequestLog, escape
from tests.http.listener_harness import serving
from tests.support.known_port import OnAKnownPort
from tests.support.waiting import PATIENCE, wait_until

LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (?P<peer>\S+) (?P<method>\S+) (?P<target>\S+) body=(?P<body>\d+) "
    r"(?P<status>\d{3}|-) (?P<outcome>.*) bytes=(?P<sent>\d+)"
)


TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., list[str]]:
    """Lines of a log file after this was done to a log."""

    def write(do: Callable[[RequestLog], object], level: Any = "all") -> list[str]:
        log = RequestLog(str(tmp_path / "log"), level)
        do(log)
        assert log.close()
        return (tmp_path / "log").read_text().split("\n")[:-1]

    return write


def ask(log: RequestLog, status: int | None = 200, **parts: Any) -> None:
    request: dict[str, Any] = {
        "peer": "192.0.2.7:4711",
        "method": "POST",
        "target": "/answer?x=1",
        "outcome": "format=toml",
    }
    log.request(**(request | parts), body=102, status=status, sent=431, seconds=0.0015)


def test_a_request_is_one_line_of_its_parts(written: Callable[..., list[str]]) -> None:
    (line,) = written(ask)
    match = LINE.fullmatch(line)
    assert match
    assert match.groupdict() | {"time": ""} == {
        "time": "",
        "peer": "192.0.2.7:4711",
        "method": "POST",
        "target": "/answer?x=1",
        "body": "102",
        "status": "200",
        "outcome": "format=toml",
        "sent": "431",
    }


def test_the_time_is_utc(written: Callable[..., list[str]]) -> None:
    before = int(time.time())
    (line,) = written(lambda log: log.line("x"))
    stamps = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(before + i)) for i in range(3)]
    assert line.removesuffix(" - x") in stamps


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain text, \u00e9 and \u65e5", "plain text, \u00e9 and \u65e5"),
        ("a\nb\r\n", "a\\x0ab\\x0d\\x0a"),
        ("\0\t\x1b[2J\x7f", "\\x00\\x09\\x1b[2J\\x7f"),
        ("\x80\x85\x9b", "\\x80\\x85\\x9b"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\ud800x\udfff", "\\ud800x\\udfff"),
    ],
    ids=["harmless", "line ends", "control characters", "C1", "separators", "lone surrogates"],
)
def test_what_could_break_a_line_is_escaped(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_nothing_in_a_request_makes_a_second_line(written: Callable[..., list[str]]) -> None:
    bad = "x\n2026-01-01T00:00:00Z - forged\r\x85\u2028\ud800"

    def log_bad(log: RequestLog) -> None:
        ask(log, target=bad, method=bad, outcome=bad)
        log.line(bad)

    lines = written(log_bad)
    assert len(lines) == 2
    assert len("\n".join(lines).splitlines()) == 2


# --- as JSON --------------------------------------------------------------------------------------------------------


def as_json(path: Path, do: Callable[[RequestLog], object]) -> list[dict[str, Any]]:
    """Return the objects of a JSON log after this was done to it."""
    log = RequestLog(str(path / "log"), form="json")
    do(log)
    assert log.close()
    return [json.loads(line) for line in (path / "log").read_bytes().splitlines()]


def test_a_json_line_has_the_same_fields(tmp_path: Path) -> None:
    [line] = as_json(tmp_path, ask)
    assert TIMESTAMP.fullmatch(line.pop("time"))
    assert line == {
        "level": "info",
        "node": socket.gethostname(),
        "peer": "192.0.2.7:4711",
        "method": "POST",
        "target": "/answer?x=1",
        "body": 102,
        "status": 200,
        "outcome": "format=toml",
        "bytes": 431,
        "duration_ms": 1.5,
    }


def test_json_of_the_service_and_of_a_request_without_a_response(tmp_path: Path) -> None:
    def both(log: RequestLog) -> None:
        log.line('problem: machine "a"\n forged')
        ask(log, None, outcome="deadline")

    service, request = as_json(tmp_path, both)
    assert (service["peer"], service["message"]) == (None, 'problem: machine "a"\\x0a forged')
    assert (request["status"], request["outcome"]) == (None, "deadline")
    assert (service["level"], request["level"]) == ("warning", "warning")


@pytest.mark.parametrize(("status", "level"), [(200, "info"), (404, "warning"), (499, "warning"), (500, "error")])
def test_the_level_of_a_request_is_that_of_its_status(tmp_path: Path, status: int, level: str) -> None:
    [line] = as_json(tmp_path, lambda log: ask(log, status))
    assert line["level"] == level


def test_a_line_after_one_without_an_end_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    """Another process of the service may have met the full disk."""
    (tmp_path / "log").write_text('{"time": "2026-11-20T08:4')
    log = RequestLog(str(tmp_path / "log"), form="json")
    log.line("one")
    log.line("two")
    assert log.close()
    torn, *whole = (tmp_path / "log").read_text().splitlines()
    assert torn == '{"time": "2026-11-20T08:4'
    assert [json.loads(line)["message"] for line in whole] == ["one", "two"]


def test_a_full_disk_tears_no_line_but_the_one_that_it_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with OnAKnownPort(SERVICE_ANSWERS_DIR=tmp_path, SERVICE_LOG_FILE=log, SERVICE_LOG_FORMAT="json") as service:
        service.get("/before")
        # The parent says that it listens when the workers are there; an answer may come before.
        wait_until(lambda: all(said in log.read_text() for said in ("/before", "listening on")))
        full = log.stat().st_size + 60
        for pid in service.pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (full, resource.RLIM_INFINITY))
        service.get("/torn")
        wait_until(lambda: log.stat().st_size == full)
        for pid in service.pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        service.get("/after")
        wait_until(lambda: "log lines were dropped" in log.read_text())
    torn, whole = [], []
    for line in log.read_text().splitlines():
        try:
            whole.append(json.loads(line))
        except ValueError:
            torn.append(line)
    assert [len(line) for line in torn] == [60]
    [after] = [line for line in whole if line.get("target") == "/after"]
    assert 0 < after["duration_ms"] < 60_000
    assert "1 log lines were dropped" in [line.get("message") for line in whole]


def test_lines_to_a_pipe_without_a_reader_are_counted_as_dropped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    reader = os.open(tmp_path / "log", os.O_RDONLY | os.O_NONBLOCK)
    log = RequestLog(str(tmp_path / "log"))
    os.close(reader)
    log.line("nobody reads this")
    assert log.flush()
    reader = os.open(tmp_path / "log", os.O_RDONLY | os.O_NONBLOCK)
    log.line("after")
    assert log.close()
    lines = os.read(reader, 10_000).decode().splitlines()
    os.close(reader)
    assert {line.partition(" - ")[2] for line in lines} == {"after", "1 log lines were dropped"}


@pytest.mark.parametrize("text", ['"' * 5_000, "\\" * 5_000, "\xff" * 5_000, "\x00" * 5_000], ids=repr)
def test_a_json_line_is_never_longer_than_an_atomic_write(tmp_path: Path, text: str) -> None:
    def all_of(log: RequestLog) -> None:
        ask(log, 500, method=text, target=text, outcome=text)
        log.line(text)

    assert len(as_json(tmp_path, all_of)) == 2
    assert all(len(line) < 4_096 for line in (tmp_path / "log").read_bytes().splitlines())


def test_a_line_is_never_longer_than_an_atomic_write(written: Callable[..., list[str]]) -> None:
    def log_long(log: RequestLog) -> None:
        ask(log, target="/\u00ff" * 5_000, outcome="y" * 5_000)
        log.line("z" * 9_000)

    lines = written(log_long)
    assert len(lines) == 2
    assert all(len(line.encode()) < 4_096 for line in lines)
    match = LINE.fullmatch(lines[0])
    assert match
    assert (match["status"], match["sent"]) == ("200", "431")


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        RequestLog(str(tmp_path / "missing" / "log"))


def test_a_file_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("before\n")
    log = RequestLog(str(path))
    log.line("after")
    assert log.close()
    assert [line.rpartition(" ")[2] for line in path.read_text().splitlines()] == ["before", "after"]


def test_a_log_that_cannot_be_written_loses_lines_and_nothing_else() -> None:
    log = RequestLog("/dev/full")
    for _ in range(100):
        log.line("lost")
    assert log.close()


def test_a_forked_worker_writes_its_own_lines_only(tmp_path: Path) -> None:
    log = RequestLog(str(tmp_path / "log"))
    log.line("parent before")
    child = os.fork()
    if not child:
        log.line("child")
        log.close()
        os._exit(0)
    os.waitpid(child, 0)
    log.line("parent after")
    assert log.close()
    lines = [line.split(" - ")[1] for line in (tmp_path / "log").read_text().splitlines()]
    assert sorted(lines) == ["child", "parent after", "parent before"]


# --- stderr, in a process of its own --------------------------------------------------------------------------------

PRELUDE = "import os, sys, time\nfrom gevent import monkey; monkey.patch_all()\n"
PRELUDE += "from answerd.server.request_log import RequestLog\nlog = RequestLog()\n"


@pytest.fixture
def program() -> Iterator[Callable[[str], "subprocess.Popen[bytes]"]]:
    """Starts a program that has a log on stderr."""
    running: list[subprocess.Popen[bytes]] = []

    def start(code: str) -> "subprocess.Popen[bytes]":
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", PRELUDE + code]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate(timeout=PATIENCE)


Start = Callable[[str], "subprocess.Popen[bytes]"]


def test_no_line_is_lost_at_the_end_of_the_process(program: Start) -> None:
    process = program("[log.line(str(i)) for i in range(5000)]")
    lines = process.communicate(timeout=PATIENCE)[1].decode().splitlines()
    assert [line.split()[-1] for line in lines] == [str(i) for i in range(5000)]


def test_a_descriptor_that_someone_made_non_blocking_loses_nothing(program: Start) -> None:
    process = program("os.set_blocking(2, False)\n[log.line('x' * 100) for i in range(4000)]\nlog.flush(600)")
    assert len(process.communicate(timeout=PATIENCE)[1].splitlines()) == 4_000


def test_lines_of_several_workers_never_mix(program: Start) -> None:
    process = program(
        "for letter in 'abc':\n if not os.fork():\n"
        "  [log.line(letter * (i % 3000)) for i in range(300)]; log.close(600); os._exit(0)\n"
        "[os.wait() for letter in 'abc']"
    )
    assert process.stderr
    written = b""
    while piece := os.read(process.stderr.fileno(), 3_000):
        written += piece
        time.sleep(0.0005)  # the pipe stays full: a write that is not atomic stops half-way
    lines = written.decode().splitlines()
    assert len(lines) == 900
    assert all(re.fullmatch(r"\S+ - (a*|b*|c*)", line) for line in lines)


# --- the listener's use of it ---------------------------------------------------------------------------------------


def test_the_authorization_header_and_the_body_are_never_logged() -> None:
    with serving() as server:
        head = b"POST /raise HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer hidden-token\r\nContent-Length: 11\r\n\r\n"
        server.send(head + b"hidden-body")
        server.wait_for_line("body=11 500")
        assert "hidden" not in "".join(server.lines)
