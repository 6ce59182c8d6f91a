"""A lab that installs while workers and the whole service are killed, its disk is full and its clock is set: nothing
that was acknowledged is lost, and no machine is given a document again after its report of success was acknowledged.

Machines are `loadtest.install_once`'s; each is a thread. Every moment of a kill is random and every choice is seeded.
"""

from __future__ import annotations

import json
import random
import resource
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from answerd.documents import Key
from answerd.identity import Kind
from answerd.store.sqlite import SqliteStore
from loadtest.fleet import Machine, once_fleet
from loadtest.install_once import InstallingMachine, Judge
from tests.load.durability import TOKEN, limit_files
from tests.load.startup import STEPS, Startup
from tests.load.torture.figures import Figure, exactly, measured
from tests.support.ports import free_port
from tests.support.processes import children, is_alive, kill, with_descendants
from tests.support.replies import Reply, exchange, request_bytes
from tests.support.service import Service
from tests.support.waiting import PATIENCE, wait_until
from tests.support.writes import put

MACHINES = 200
WORKERS = (2, 4)
"""One of these numbers at each start."""
LONGEST_INSTALL_SECONDS = 0.3
LONGEST_CALM_SECONDS = 0.6
FULL_SECONDS = 0.4
KEPT_IN_HISTORY = 30
"""Of a machine's acknowledged reports, how many its history must still hold: it keeps 200 events in all."""

TROUBLES = {"worker": 10, "service": 7, "disk": 3, "clock": 5}
"""What happens in a round, with its weight."""


class Ended(Exception):
    """The run is over."""


@dataclass
class Tally:
    """What happened in the rounds, and what all machines did together. ``faults`` must be empty."""

    rounds: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


@dataclass
class Place:
    """Where the service is; its addresses stay through all kills."""

    port: int
    admin_port: int
    stop: threading.Event = field(default_factory=threading.Event)

    def send(self, port: int, request: bytes) -> Reply:
        """The reply to a request that is sent until one comes. Raises `Ended`."""
        while not self.stop.is_set():
            try:
                reply = exchange(("127.0.0.1", port), request)
                if reply.status and reply.status != 503:
                    return reply
            except (OSError, AssertionError):
                pass  # killed before, or in the middle of its reply
            time.sleep(0.01)
        raise Ended


class Life:
    """One machine and its operator, for as long as the run lasts."""

    def __init__(self, number: int, place: Place, tally: Tally, pace: float) -> None:
        self.pace = pace
        self.place = place
        self.tally = tally
        self.choose = random.Random(number)
        self.installing = InstallingMachine(Machine(number), self._ask)

    def live(self) -> None:
        """Install, stay installed, be armed, and again."""
        try:
            while True:
                self._install()
                for _ in range(self.choose.randrange(1, 6)):
                    self.installing.boot()
                    self.installing.fetch_answer()
                    if self.choose.random() < 0.2:
                        self.installing.report("installed")  # a client that repeats itself changes nothing
                    self._wait()
                self._compare_with_history()
                self._operate("arm")
                self.installing.was_armed()
        except Ended:
            pass
        except Exception as error:  # a fault of the service, or of this proof
            self.tally.faults.append(f"{self.installing.machine.host}: {type(error).__name__}: {error}")

    def _install(self) -> None:
        for _ in range(self.choose.choice((0, 0, 0, 1, 2))):
            self._start()
            self.installing.report("failed")
        self._start()
        if self.choose.random() < 0.3:
            self.installing.progress(self.choose.randrange(100))
        self.installing.report("installed")
        self.tally.counts["installs"] += 1

    def _start(self) -> None:
        self.installing.boot()
        for _ in range(self.choose.randrange(1, 4)):
            self.installing.fetch_answer()
        self._wait()

    def _wait(self) -> None:
        if self.choose.random() < 0.7:
            time.sleep(self.choose.random() * LONGEST_INSTALL_SECONDS / self.pace)

    def _ask(self, what: str, method: str, target: str, judge: Judge) -> str:
        request = request_bytes(method, target, {"Connection": "close"})
        while True:
            reply = self.place.send(self.place.port, request)
            if reply.status != 500 or method != "POST":
                break
            self.tally.counts["reports refused"] += 1  # the disk is full: a client tries again
            time.sleep(0.05)
        self.tally.counts["answers" if method == "GET" else "reports"] += 1
        if fault := judge(reply.status, reply.text):
            state = self._operate("").body.decode()
            self.tally.faults.append(f"{self.installing.machine.host}, {what}: {fault}; {state[:3000]}")
        return reply.text

    def _operate(self, verb: str) -> Reply:
        """An operator's order, or a look where there is no verb; on return it is acknowledged."""
        target = f"/installs/{self.installing.machine.host}" + (f"/{verb}" if verb else "")
        headers = {"Authorization": f"Bearer {TOKEN}"}
        while True:
            reply = self.place.send(self.place.admin_port, request_bytes("POST" if verb else "GET", target, headers))
            if reply.status == 200:
                return reply
            if reply.status != 500:
                raise AssertionError(f"{target}: {reply.status} {reply.text}")
            time.sleep(0.05)

    def _compare_with_history(self) -> None:
        found = json.loads(self._operate("").body)
        if found["state"] != "installed":
            self.tally.faults.append(f"{self.installing.machine.host} is {found['state']} after a report of success")
        noted = json.dumps(found["events"])
        lost = [message for message in self.installing.reported[-KEPT_IN_HISTORY:] if message not in noted]
        if lost:
            self.tally.faults.append(f"acknowledged reports that the history does not have: {lost}")


def killed(
    scratch: Path, *, rounds: int = 200, seed: int = 19, machines: int = MACHINES, pace: float = 1
) -> list[Figure]:
    """A lab installs while workers and the whole service are killed, the disk is full and the clock is set. ``pace``:
    10 makes all waits a tenth."""
    found = _survive(scratch / "installs.db", rounds, seed, machines, pace)
    proof = f"{rounds} rounds of a lab that installs"
    given_again = sum("GIVEN AGAIN" in fault for fault in found.faults)
    for fault in found.faults:
        print(f"FAULT {fault}")
    return [
        measured(proof, "workers killed", found.rounds["worker"]),
        measured(proof, "services killed", found.rounds["service"]),
        measured(proof, "times a full disk", found.rounds["disk"]),
        measured(proof, "times the clock was set", found.rounds["clock"]),
        measured(proof, "installs that were reported", found.counts["installs"]),
        measured(proof, "acknowledged reports", found.counts["reports"]),
        measured(proof, "reports refused for the disk", found.counts["reports refused"]),
        measured(proof, "answers", found.counts["answers"]),
        exactly(proof, "given after an acknowledged report", given_again, 0),
        exactly(proof, "other faults", len(found.faults) - given_again, 0),
    ]


def _survive(database: Path, rounds: int, seed: int, machines: int, pace: float) -> Tally:
    """Let a lab install for so many rounds, with one trouble in each."""
    _write_documents(database, machines)
    place, tally, choose = Place(free_port(), free_port()), Tally(), random.Random(seed)
    lives = [Life(number, place, tally, pace) for number in range(machines)]
    threads = [threading.Thread(target=life.live) for life in lives]
    startup = Startup(database.parent / "startup")
    startup.set_clock(choose.choice(STEPS))
    start = partial(_started, database, place, startup, choose)
    service = start()
    for thread in threads:
        thread.start()
    try:
        for _ in range(rounds):
            time.sleep(choose.random() * LONGEST_CALM_SECONDS / pace)
            trouble = choose.choices(list(TROUBLES), list(TROUBLES.values()))[0]
            tally.rounds[trouble] += 1
            if trouble == "clock":
                startup.set_clock(choose.choice(STEPS))
            else:
                service = _HAPPENS[trouble](service, choose, start)
        before = tally.counts["installs"]
        wait_until(lambda: tally.faults or tally.counts["installs"] >= before + machines)
    finally:
        place.stop.set()
        for thread in threads:
            thread.join()
        service.stop()
    with closing(sqlite3.connect(database)) as connection:
        [integrity] = connection.execute("PRAGMA integrity_check").fetchone()
    tally.faults += [] if integrity == "ok" else [f"integrity_check: {integrity}"]
    return tally


def _write_documents(database: Path, machines: int) -> None:
    store = SqliteStore(database)
    for name, text in once_fleet(machines):
        folder, _, file = name.rpartition("/")
        identifier, _, extension = file.rpartition(".")
        put(store, Key(Kind.GROUP if folder == "groups" else Kind.INVENTORY, identifier, extension), text)
    store.close()


def _started(database: Path, place: Place, startup: Startup, choose: random.Random) -> Service:
    return Service(
        **startup.settings,
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=database,
        SERVICE_LISTEN_ADDR=f"127.0.0.1:{place.port}",
        SERVICE_ADMIN_ADDR=f"127.0.0.1:{place.admin_port}",
        SERVICE_ADMIN_TOKEN=TOKEN,
        SERVICE_WORKERS=choose.choice(WORKERS),
        SERVICE_INSTALL_STARTS=100,  # a step of the clock may begin one
        SERVICE_LOG="off",
    )


Restart = Callable[[], Service]


def _kill_a_worker(service: Service, choose: random.Random, _restart: Restart) -> Service:
    pids = children(service.process.pid)
    if pids:
        kill(choose.choice(pids))
    return service


def _kill_the_service(service: Service, choose: random.Random, restart: Restart) -> Service:
    pids = with_descendants(service.process.pid)
    if choose.random() < 0.5:
        pids.reverse()
    for pid in pids:
        kill(pid)
    service.process.wait(PATIENCE)
    wait_until(lambda: not any(is_alive(pid) for pid in pids))
    return restart()


def _fill_the_disk(service: Service, choose: random.Random, restart: Restart) -> Service:
    """Let no process write a byte to a file for a while; the service may be killed in the middle of that."""
    pids = with_descendants(service.process.pid)
    limit_files(pids, 0)
    time.sleep(choose.random() * FULL_SECONDS)
    if choose.random() < 0.3:
        return _kill_the_service(service, choose, restart)
    limit_files(pids, resource.RLIM_INFINITY)
    return service


_HAPPENS: Mapping[str, Callable[[Service, random.Random, Restart], Service]] = {
    "worker": _kill_a_worker,
    "service": _kill_the_service,
    "disk": _fill_the_disk,
}
