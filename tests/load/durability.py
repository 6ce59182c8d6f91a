"""Proof of durability: writers at work while the service is killed, or while its disk is full (docs/admin-api.md)."""

from __future__ import annotations

import json
import random
import resource
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from answerd.documents import Key
from answerd.identity import Kind
from answerd.store.sqlite import SqliteStore
from tests.support.processes import kill
from tests.support.service import Service
from tests.support.waiting import PATIENCE, again_for
from tests.support.writes import put

TOKEN = "durability-token-0123456789"
WRITERS = 3
NAMES_OF_EACH = 4
LONGEST_LIFE_SECONDS = 0.4
"""The service is killed at a random moment of this time after its first acknowledged write."""

LINES = 400
"""Of a document: some 10 KB, so that a write is several pages of the database and could be half there."""

FULL_SECONDS = 0.4
BASE = "timezone = 'UTC'\n"
BROKEN = "not = = toml\n"
ABSENT = None


@dataclass
class Writer:
    """One client that puts and deletes documents of its own, and knows what the service has acknowledged.

    ``known`` is each name's acknowledged text; ``doubtful`` the one write that was sent and never answered.
    """

    number: int
    choose: random.Random
    known: dict[str, str | None] = field(default_factory=dict)
    doubtful: tuple[str, str | None] | None = None
    acknowledged: int = 0
    refused: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)

    def write(self, service: Service, stop: threading.Event) -> None:
        """Write until the stop event is set, or until the service is gone."""
        while not stop.is_set():
            name = f"w{self.number}-{self.choose.randrange(NAMES_OF_EACH)}"
            text = self._next_text() if self.known.get(name) is ABSENT or self.choose.random() < 0.8 else ABSENT
            self.doubtful = name, text
            try:
                method, body = ("DELETE", b"") if text is None else ("PUT", text.encode())
                reply = service.ask_admin(method, f"/machines/{name}", body, Authorization=f"Bearer {TOKEN}")
            except (OSError, AssertionError):
                return  # it may have been written, or not
            self.doubtful = None
            if reply.status == 200:
                self.known[name] = text
                self.acknowledged += 1
            elif reply.status == 500:
                self.refused.append(str(json.loads(reply.body)["error"]))
            else:
                self.unexpected.append(f"{method} {name}: {reply.status} {reply.text}")

    def _next_text(self) -> str:
        stamp = f"{self.number}-{self.acknowledged}-{self.choose.random()}"
        return "extends = 'base'\n" + "".join(f"line-{at} = '{stamp}'\n" for at in range(self.choose.randrange(LINES)))

    def faults(self, found: dict[str, str]) -> list[str]:
        """What is not as it was acknowledged. Takes over what the doubtful write turned out to be."""
        faults = []
        names = self.known.keys() | ({self.doubtful[0]} if self.doubtful else set())
        for name in sorted(names):
            text = found.get(name, ABSENT)
            allowed = [self.known.get(name, ABSENT)]
            if self.doubtful and self.doubtful[0] == name:
                allowed.append(self.doubtful[1])
            if text not in allowed:
                faults.append(f"{name}: an acknowledged write is lost, or half of another is there")
            self.known[name] = text
        self.doubtful = None
        return faults


@dataclass(frozen=True)
class Outcome:
    """What a run did and found. ``faults`` must be empty; ``refused`` are the reasons of the answers 500."""

    rounds: int
    acknowledged: int
    faults: tuple[str, ...]
    refused: tuple[str, ...] = ()
    answered: int = 0


def service_on(database: Path) -> Service:
    """The real program with its admin API on a database."""
    return Service(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=database,
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
        SERVICE_LOG="off",
        SERVICE_TIMEOUT_SECS=60,
    )


def prepare(database: Path) -> list[Writer]:
    """A set with a group that all machines extend, a default, and one document that is broken from the start."""
    store = SqliteStore(database)
    put(store, Key(Kind.GROUP, "base", "toml"), BASE)
    put(store, Key(Kind.DEFAULT, "", "toml"), BASE)
    put(store, Key(Kind.MACHINE, "broken", "toml"), BROKEN)
    return [Writer(number, random.Random(number)) for number in range(WRITERS)]


def survive_kills(database: Path, kills: int, seed: int = 4) -> Outcome:
    """Kill the service ``kills`` times at random moments while `WRITERS` clients write, and look after each."""
    writers, moments = prepare(database), random.Random(seed)
    faults: list[str] = []
    service = service_on(database)
    problems = _problems(service)
    for round_number in range(kills):
        with service, _writing(writers, service) as begun:
            begun.wait(20)
            before = sum(writer.acknowledged for writer in writers)
            time.sleep(moments.random() * LONGEST_LIFE_SECONDS)
            _acknowledges(writers, before)
            for pid in service.pids:
                kill(pid)
        service = service_on(database)
        found = faults_after(database, service, writers, problems)
        faults += [f"round {round_number + 1}: {fault}" for fault in found]
    with service:
        pass
    faults += [fault for writer in writers for fault in writer.unexpected]
    return Outcome(kills, sum(writer.acknowledged for writer in writers), tuple(faults))


def survive_full_disk(database: Path, times: int) -> Outcome:
    """Let the service write no byte to any file for a while, ``times`` times; answers must go on, and writes come
    back."""
    writers = prepare(database)
    faults: list[str] = []
    answered = 0
    with service_on(database) as service:
        problems = _problems(service)
        for _ in range(times):
            with _writing(writers, service) as begun:
                begun.wait(20)
                before = sum(writer.acknowledged for writer in writers)
                limit_files(service.pids, 0)
                until, refused_before = time.monotonic() + FULL_SECONDS, _refusals(writers)
                while time.monotonic() < until or (
                    _refusals(writers) == refused_before and time.monotonic() < until + PATIENCE
                ):
                    reply = service.get("/pve")
                    answered += 1
                    faults += [f"an answer while the disk was full: {reply.status}"] if reply.status != 200 else []
                limit_files(service.pids, resource.RLIM_INFINITY)
                if not _acknowledges(writers, before):
                    faults.append("no write was accepted again when there was room")
            faults += faults_after(database, service, writers, problems)
    faults += [fault for writer in writers for fault in writer.unexpected]
    refused = tuple(reason for writer in writers for reason in writer.refused)
    return Outcome(times, sum(writer.acknowledged for writer in writers), tuple(faults), refused, answered)


def limit_files(pids: Iterable[int], size: int) -> None:
    """Let processes make no file longer than that: 0 is a full disk."""
    for pid in pids:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def faults_after(database: Path, service: Service, writers: list[Writer], problems: object) -> list[str]:
    """Everything that must hold and does not, with no writer at work."""
    with closing(sqlite3.connect(database)) as connection:
        [integrity] = connection.execute("PRAGMA integrity_check").fetchone()
    faults = [] if integrity == "ok" else [f"integrity_check: {integrity}"]
    listed = json.loads(service.ask_admin("GET", "/machines", Authorization=f"Bearer {TOKEN}").body)["machine"]
    found = {
        name: service.ask_admin("GET", f"/machines/{name}", Authorization=f"Bearer {TOKEN}").text for name in listed
    }
    for writer in writers:
        faults += writer.faults(found)
    own = {name for writer in writers for name in writer.known}
    faults += [f"{name} was never written" for name in sorted(found.keys() - own - {"broken"})]
    if _problems(service) != problems:
        faults.append(f"check says {_problems(service)}, before it said {problems}")
    return faults


@contextmanager
def _writing(writers: list[Writer], service: Service) -> Iterator[threading.Event]:
    """Writers at work; the event is set at the first acknowledged write. Ends when they have stopped."""
    stop, begun = threading.Event(), threading.Event()
    before = [writer.acknowledged for writer in writers]
    threads = [threading.Thread(target=writer.write, args=(service, stop)) for writer in writers]

    def watch() -> None:
        while not stop.wait(0.002):
            if any(writer.acknowledged > count for writer, count in zip(writers, before, strict=True)):
                begun.set()
                return

    threads.append(threading.Thread(target=watch))
    for thread in threads:
        thread.start()
    try:
        yield begun
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _refusals(writers: list[Writer]) -> int:
    return sum(len(writer.refused) for writer in writers)


def _acknowledges(writers: list[Writer], before: int) -> bool:
    """Wait until more than a write of each has been acknowledged since ``before``."""
    for _ in again_for(PATIENCE):
        if sum(writer.acknowledged for writer in writers) > before + WRITERS:
            return True
        time.sleep(0.01)
    return False


def _problems(service: Service) -> object:
    return json.loads(service.ask_admin("GET", "/check", Authorization=f"Bearer {TOKEN}").body)["problems"]
