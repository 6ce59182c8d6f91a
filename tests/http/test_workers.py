"""Several workers as the real program: one port, one limit, and no client notices when a worker dies."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.load.torture.workers import (
    admitted_of,
    kill_one_that_holds,
    kill_one_with_a_queue,
    replaced_after,
    workers,
)
from tests.support.known_port import OnAKnownPort
from tests.support.probe import Probes, ask
from tests.support.processes import children, is_alive, kill
from tests.support.replies import pieces
from tests.support.service import Service, run, write_tree
from tests.support.waiting import PATIENCE, again_for, wait_until

BREATH = 0.5  # seconds between two births in one place
WORKERS = 3


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with workers(tmp_path / "answers", WORKERS, SERVICE_TIMEOUT_SECS=60) as running:
        yield running


def texts(service: Service, requests: int = 40) -> set[str]:
    """What a fleet of clients is answered; so many that each worker has answered some."""
    return {service.get("/ipxe").text for _ in range(requests)}


def script(text: str) -> dict[str, str | bytes]:
    return {"default.ipxe": f"#!ipxe\necho {text}\n"}


# --- loading --------------------------------------------------------------------------------------------------------

SLOW_LOAD = """
import os, time
_open, _sleep, _parent = os.open, time.sleep, os.getpid()
def open_slowly(path, *arguments, **options):
    while str(path).endswith(".toml") and os.getpid() == _parent and os.path.exists({flag!r}):
        _sleep(0.01)
    return _open(path, *arguments, **options)
os.open = open_slowly
"""
"""Loaded by the interpreter of the service before anything else: the parent reads no document while a file is there."""


class StillLoading(OnAKnownPort):
    """The service as soon as clients can connect; it loads its set until `finish_loading`."""

    def __init__(self, directory: Path) -> None:
        self.flag = directory / "loading"
        write_tree(directory, {"answers/node1.toml": "x = 1\n", "loading": ""})
        write_tree(directory, {"hook/sitecustomize.py": SLOW_LOAD.format(flag=str(self.flag))})
        path = os.pathsep.join([str(directory / "hook"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        super().__init__(SERVICE_ANSWERS_DIR=directory / "answers", SERVICE_WORKERS=2, PYTHONPATH=path)

    def wait_for_log(self, pattern: str, seconds: float = PATIENCE) -> str:
        if self.address is None:
            wait_until(lambda: is_listening(self.known), seconds)
            self.address = self.known
            return ""
        return super().wait_for_log(pattern, seconds)

    def finish_loading(self) -> None:
        self.flag.unlink()


def is_listening(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=PATIENCE).close()
    except ConnectionRefusedError:
        return False
    return True


def test_who_connects_while_the_documents_are_loaded_waits_for_them(tmp_path: Path) -> None:
    with StillLoading(tmp_path) as service, socket.create_connection(service.known, PATIENCE) as client:
        client.sendall(b"GET /toml?h=node1 HTTP/1.1\r\nHost: s\r\n\r\n")
        assert children(service.process.pid) == []
        service.finish_loading()
        assert b"".join(pieces(client)).endswith(b"x = 1\n")


def test_a_signal_to_stop_while_workers_load_stops_it(tmp_path: Path) -> None:
    with StillLoading(tmp_path) as service:
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(PATIENCE) == 0  # though the load never ends
        service.wait_for_log("stopped while loading")


# --- dying ----------------------------------------------------------------------------------------------------------


def test_a_killed_worker_is_replaced_and_that_is_logged(service: Service) -> None:
    for worker in children(service.process.pid):
        replaced_after(service, worker)  # scripts/torture holds the time
    for number in range(1, WORKERS + 1):
        assert "died (signal 9), replacing it" in service.wait_for_log(f"worker {number} died")


def test_a_killed_worker_takes_only_the_connections_it_had_accepted_with_it(service: Service) -> None:
    held = kill_one_that_holds(service, 30)
    assert held.of_the_dead > 0
    assert held.of_others > 0
    assert held.others_answered == held.of_others


def test_what_waits_in_the_queue_of_a_killed_worker_is_answered_by_the_next(service: Service) -> None:
    assert kill_one_with_a_queue(service, 30) == {"200": 30}


def test_clients_that_never_stop_asking_hardly_notice_kills(service: Service) -> None:
    assert service.address
    with Probes(service.address, clients=2, interval=0.0) as probes:
        for _ in range(5):
            replaced_after(service, children(service.process.pid)[0])
            assert {ask(service.address) for _ in range(20)} <= {"200", "ConnectionResetError", "closed"}
    results = probes.results
    assert results.outcomes["200"]
    assert results.failures <= 5 * 2  # each client has one connection at a time
    assert set(results.outcomes) <= {"200", "ConnectionResetError", "closed"}


def test_a_worker_that_dies_at_once_again_and_again_is_no_storm_of_forks(service: Service) -> None:
    seen: set[int] = set(children(service.process.pid))
    began = time.monotonic()
    for _ in again_for(1.5):
        born = children(service.process.pid)
        seen.update(born)
        for worker in born:
            kill(worker)
        time.sleep(0.005)
    passed = time.monotonic() - began
    # Two generations come at once: the one that lived, and the one that replaced it.
    assert len(seen) <= WORKERS * (2 + passed / BREATH)
    wait_until(lambda: len(children(service.process.pid)) == WORKERS)
    wait_until(lambda: ask(service.address) == "200")  # type: ignore[arg-type]
    assert service.stop() == 0


def test_two_workers_that_die_at_once_are_both_replaced(service: Service) -> None:
    for _ in range(3):
        dying = set(children(service.process.pid))
        for worker in dying:
            kill(worker)
        wait_until(lambda: not dying & set(children(service.process.pid)))  # noqa: B023
        wait_until(lambda: len(children(service.process.pid)) == WORKERS)


def test_no_worker_outlives_a_killed_parent(service: Service) -> None:
    orphans = children(service.process.pid)
    service.process.kill()
    service.process.wait(PATIENCE)
    wait_until(lambda: not any(is_alive(pid) for pid in orphans))
    assert service.address
    assert ask(service.address) == "ConnectionRefusedError"


def test_a_worker_that_replaces_another_answers_from_the_documents_of_now(tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", script("first") | {"gone.ipxe": "#!ipxe\necho gone\n"})
    with workers(tmp_path / "answers", 2) as service:
        write_tree(tmp_path / "answers", script("second"))
        (tmp_path / "answers/gone.ipxe").unlink()
        wait_until(lambda: texts(service) == {"#!ipxe\necho second\n"})
        for worker in service.children():
            kill(worker)
            wait_until(lambda: not is_alive(worker))  # noqa: B023 - it takes no request any more
        assert texts(service) == {"#!ipxe\necho second\n"}
        assert service.get("/ipxe?name=gone").text == "#!ipxe\necho second\n"


# --- one service ----------------------------------------------------------------------------------------------------


def test_the_limit_of_connections_is_one_over_all_workers(tmp_path: Path) -> None:
    with workers(tmp_path / "answers", WORKERS, SERVICE_MAX_CONNECTIONS=40) as service:
        assert 40 <= admitted_of(service, 80, 40 + WORKERS - 1) < 40 + WORKERS
        replaced_after(service, children(service.process.pid)[0])
        assert 40 <= admitted_of(service, 80, 40 + WORKERS - 1) < 40 + WORKERS  # what the dead one held is free


@pytest.mark.parametrize("before", ["a new file", "a changed file", "a removed file"])
def test_a_change_is_in_force_in_every_worker_within_a_second(tmp_path: Path, before: str) -> None:
    answers = tmp_path / "answers"
    change: dict[str, tuple[dict[str, str | bytes], Callable[[], object], str]] = {
        "a new file": ({}, lambda: write_tree(answers, script("new")), "#!ipxe\necho new\n"),
        "a changed file": (script("old"), lambda: write_tree(answers, script("new")), "#!ipxe\necho new\n"),
        "a removed file": (script("old"), (answers / "default.ipxe").unlink, "no document claims"),
    }
    files, act, expected = change[before]
    answers.mkdir()
    write_tree(answers, files)
    with workers(answers, WORKERS) as service:
        texts(service)
        act()
        wait_until(lambda: all(text.startswith(expected) for text in texts(service)))


def test_sighup_reaches_every_worker_and_a_moved_log_file_is_left_alone(tmp_path: Path) -> None:
    log, moved = tmp_path / "log", tmp_path / "log.1"
    answers = tmp_path / "answers"
    answers.mkdir()
    with OnAKnownPort(SERVICE_ANSWERS_DIR=answers, SERVICE_WORKERS=WORKERS, SERVICE_LOG_FILE=log) as service:
        service.get("/before")
        wait_until(lambda: "GET /before" in log.read_text())
        log.rename(moved)
        service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: log.exists() and log.read_text().count(" - reloading") == WORKERS)
        size = moved.stat().st_size
        replaced_after(service, children(service.process.pid)[0])  # it, too, writes to the new file
        for number in range(40):
            service.get(f"/after-{number}")
        wait_until(lambda: log.read_text().count("GET /after-") == 40)
        assert moved.stat().st_size == size


# --- what blocks one must not block the others ----------------------------------------------------------------------

SLOW_DISK = """
import os, time
_open, _sleep = os.open, time.sleep
def open_slowly(path, *arguments, **options):
    if str(path).endswith(".ipxe") and os.path.exists({flag!r}):
        open(f"{flag}.{{os.getpid()}}", "w").close()
        while os.path.exists({flag!r}):
            _sleep(0.01)
    return _open(path, *arguments, **options)
os.open = open_slowly
"""
"""Loaded by the interpreter of the service before anything else: a disk that hangs while a file is there, and says in
which process."""


def ask_while_it_hangs(service: Service, flag: Path) -> None:
    """Ask every worker while each of them waits for the disk."""
    assert service.address
    pids = children(service.process.pid) or [service.process.pid]
    wait_until(lambda: all(Path(f"{flag}.{pid}").exists() for pid in pids))
    assert [ask(service.address) for _ in range(50)] == ["200"] * 50


@pytest.mark.parametrize("count", [1, 2])
def test_a_disk_that_hangs_stalls_no_request(tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    flag = tmp_path / "slow"
    write_tree(tmp_path, {"hook/sitecustomize.py": SLOW_DISK.format(flag=str(flag))})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hook"))
    answers = tmp_path / "answers"
    write_tree(answers, script("there"))
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_WORKERS=count) as service:
        assert service.address
        assert texts(service) == {"#!ipxe\necho there\n"}  # each worker has begun
        flag.touch()
        write_tree(answers, script("changed"))
        ask_while_it_hangs(service, flag)
        assert service.get("/ipxe").text == "#!ipxe\necho there\n"
        flag.unlink()
        wait_until(lambda: texts(service) == {"#!ipxe\necho changed\n"})


SLOW_DATABASE = """
import os, sqlite3, time
_connect, _sleep = sqlite3.connect, time.sleep
class Slow(sqlite3.Connection):
    def cursor(self, *arguments):
        if os.path.exists({flag!r}):
            open(f"{flag}.{{os.getpid()}}", "w").close()
            while os.path.exists({flag!r}):
                _sleep(0.01)
        return super().cursor(*arguments)
sqlite3.connect = sqlite3.dbapi2.connect = lambda *arguments, **options: _connect(*arguments, factory=Slow, **options)
"""
"""The same for a database on such a disk."""


def faults(service: Service) -> int:
    """How many processes could not read the states and cannot yet: the database may be locked when all of them open it,
    and then each tries again."""
    said = "\n".join(service.log)
    return said.count("the states of installs cannot be read") - said.count("the states of installs can be read again")


@pytest.mark.parametrize("count", [1, 2])
def test_a_database_that_hangs_stalls_no_request(tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    flag = tmp_path / "slow"
    write_tree(tmp_path, {"hook/sitecustomize.py": SLOW_DATABASE.format(flag=str(flag))})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hook"))
    write_tree(tmp_path / "answers", script("there"))
    settings = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": str(tmp_path / "answers.db")}
    assert run("import", str(tmp_path / "answers"), **settings).returncode == 0  # type: ignore[arg-type]
    with Service(**settings, SERVICE_WORKERS=count) as service:
        assert service.address
        assert texts(service) == {"#!ipxe\necho there\n"}
        wait_until(lambda: faults(service) == 0)
        flag.touch()
        ask_while_it_hangs(service, flag)
        assert service.get("/ipxe").text == "#!ipxe\necho there\n"
        flag.unlink()


def test_a_pipe_among_the_documents_is_never_waited_for(tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", script("there"))
    os.mkfifo(tmp_path / "answers/node-1.ipxe")
    with Service(SERVICE_ANSWERS_DIR=tmp_path / "answers") as service:
        assert service.get("/ipxe").status == 200
        assert service.get("/ipxe?name=node-1").status == 500
        service.wait_for_log("not a regular file")


def test_many_documents_are_looked_at_while_requests_are_answered(tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    write_tree(answers, {f"node-{number}.ipxe": f"#!ipxe\necho {number}\n" for number in range(3_000)})
    with Service(SERVICE_ANSWERS_DIR=answers) as service:
        assert service.address
        with Probes(service.address, interval=0.002) as probes:
            for number in range(0, 3_000, 3):
                (answers / f"node-{number}.ipxe").write_text("#!ipxe\necho changed\n")
            wait_until(lambda: service.get("/ipxe?name=node-2997").text == "#!ipxe\necho changed\n")
        assert probes.results.failures == 0


# --- starting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_port_in_use_is_a_startup_error_in_one_line(service: Service, tmp_path: Path, count: int) -> None:
    assert service.address
    ended = run(
        "serve",
        SERVICE_ANSWERS_DIR=tmp_path,
        SERVICE_LISTEN_ADDR=f"127.0.0.1:{service.address[1]}",
        SERVICE_WORKERS=count,
    )
    assert ended.returncode == 1
    lines = ended.stderr.decode().splitlines()
    assert len(lines) == 1
    assert f"127.0.0.1:{service.address[1]} cannot be bound" in lines[0]
    assert "in use" in lines[0]


# --- administration -------------------------------------------------------------------------------------------------

TOKEN = "a-token-of-the-administration"
AUTHORIZED = f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("admin API", {"SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_STORE": "sqlite"}),
        ("console", {"SERVICE_CONSOLE_ADDR": "127.0.0.1:0"}),
        ("metrics", {"SERVICE_METRICS_ADDR": "127.0.0.1:0"}),
    ],
)
def test_one_worker_too_only_answers_where_anything_is_administered(
    tmp_path: Path, name: str, settings: dict[str, str]
) -> None:
    database = {"SERVICE_DB_PATH": tmp_path / "answers.db"} if "SERVICE_STORE" in settings else {}
    with Service(SERVICE_ANSWERS_DIR=tmp_path, SERVICE_ADMIN_TOKEN=TOKEN, **settings, **database) as service:
        assert service.wait_for_log("processes started").endswith(f" 2 processes started: worker 1, {name}")
        assert len(service.children()) == 2


def test_one_worker_and_nothing_to_administer_is_one_child(tmp_path: Path) -> None:
    with Service(SERVICE_ANSWERS_DIR=tmp_path) as service:
        assert service.wait_for_log("started").endswith(" 1 process started: worker 1")


@pytest.fixture
def administered(tmp_path: Path) -> Iterator[Service]:
    with Service(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "answers.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
    ) as service:
        yield service


def test_an_acknowledged_write_is_in_force_in_the_process_that_answers(administered: Service) -> None:
    for number in range(100):
        text = f"#!ipxe\necho {number}\n"
        assert (
            administered.ask_admin("PUT", "/default?format=ipxe", text.encode(), Authorization=AUTHORIZED).status == 200
        )
        assert administered.get("/ipxe").text == text


def test_an_administration_that_dies_is_replaced_and_no_acknowledged_write_is_lost(administered: Service) -> None:
    for number in range(3):
        text = f"#!ipxe\necho {number}\n"
        assert (
            administered.ask_admin("PUT", "/default?format=ipxe", text.encode(), Authorization=AUTHORIZED).status == 200
        )
        worker, administration = administered.children()
        kill(administration)
        assert administered.get("/ipxe").text == text
        wait_until(lambda: administration not in children(administered.process.pid))  # noqa: B023
        # The listening socket outlives the process: a request waits for the one that takes its place.
        assert administered.ask_admin("GET", "/default?format=ipxe", Authorization=AUTHORIZED).text == text
        assert children(administered.process.pid)[0] == worker
    administered.wait_for_log(r"admin API died \(signal 9\), replacing it")
