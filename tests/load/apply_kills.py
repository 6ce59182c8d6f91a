"""Proof that a change is all or nothing: the service is killed while it applies one, and others read meanwhile.

Each change replaces all documents and says which change it is of in each of them. Whatever is read at any moment, from
the database or as answers, must be of one change.
"""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.load.durability import TOKEN, service_on
from tests.support.service import Service
from tests.support.waiting import PATIENCE

DOCUMENTS = 200
READ_SECONDS = 0.002


@dataclass
class ApplyKills:
    """What was found: changes that were acknowledged, kills in the middle of one, reads, and faults."""

    acknowledged: int = 0
    kept: int = 0
    undone: int = 0
    reads: int = 0
    faults: list[str] = field(default_factory=list)


def survive_kills_while_applying(database: Path, times: int, documents: int = DOCUMENTS) -> ApplyKills:
    """Kill the service so many times at a random moment of a change."""
    found = ApplyKills()
    choose = random.Random(7)
    version, seconds = 0, 0.0
    for _ in range(times):
        with service_on(database) as service:
            version += 1
            began = time.monotonic()
            if _apply(service, version, documents) != 200:
                found.faults.append(f"change {version} was refused")
            seconds = max(seconds, time.monotonic() - began)
            found.acknowledged += 1
            version += 1
            killer = threading.Timer(choose.uniform(0, seconds * 1.1), service.process.send_signal, [signal.SIGKILL])
            killer.start()
            try:
                status = _apply(service, version, documents)
            except (OSError, AssertionError):
                status = 0  # it was killed before it answered
            killer.join()
            service.process.wait(PATIENCE)
        _judge(found, database, version, documents, acknowledged=status == 200)
    return found


def read_while_refusing(database: Path, changes: int, documents: int = DOCUMENTS) -> ApplyKills:
    """Refuse changes that replace everything, while others read the database and the answers."""
    found = ApplyKills()
    stop = threading.Event()
    with service_on(database) as service:
        _apply(service, 1, documents)

        def read() -> None:
            while not stop.is_set():
                seen = _versions(database)
                text = service.get(f"/pve/n{found.reads * 2 % documents + 1}").text
                found.reads += 1
                if set(seen) != {1} or "version = 1" not in text:
                    found.faults.append(f"visible: {seen} {text!r}")
                stop.wait(READ_SECONDS)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            for _ in range(changes):
                broken = {"kind": "machine", "identifier": "x", "format": "toml", "text": 'extends = "ghost"\n'}
                if _apply(service, 2, documents, broken) != 409:
                    found.faults.append("a change that breaks the set was not refused")
        finally:
            stop.set()
            reader.join()
    return found


def _apply(service: Service, version: int, documents: int, *more: Mapping[str, str]) -> int:
    """Replace all documents by those of a version. Half of the names differ from those of the version before."""
    names = [f"n{at}" if at % 2 else f"m{at}v{version % 2}" for at in range(documents)]
    puts = [
        {"kind": "machine", "identifier": name, "format": "toml", "text": f"version = {version}\n"} for name in names
    ]
    body = json.dumps({"put": [*puts, *more], "prune": True}).encode()
    return service.ask_admin("POST", "/apply", body, Authorization=f"Bearer {TOKEN}").status


def _judge(found: ApplyKills, database: Path, version: int, documents: int, *, acknowledged: bool) -> None:
    versions = _versions(database)
    if len(versions) != 1 or versions.total() != documents:
        found.faults.append(f"{versions} documents of versions after the kill in change {version}")
        return
    [stored] = versions
    if stored not in (version - 1, version) or (acknowledged and stored != version):
        found.faults.append(f"change {stored} is stored after change {version}, acknowledged: {acknowledged}")
    found.kept += stored == version
    found.undone += stored != version


def _versions(database: Path) -> Counter[int]:
    """How many documents there are of each version."""
    with closing(sqlite3.connect(database)) as connection:
        return Counter(int(text.split("=")[1]) for (text,) in connection.execute("SELECT text FROM documents"))
