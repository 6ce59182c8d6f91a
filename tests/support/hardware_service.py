"""The site's service as the real program: a directory or a SQLite database, one worker or several, and the commands of
an operator."""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode, urlsplit

from answerd.store.files import FileStore
from answerd.store.sqlite import SqliteStore
from tests.support.fleet import key_of
from tests.support.hardware_site import DOCUMENTS, reply_of, table_text
from tests.support.hardware_world import Reply
from tests.support.service import Service, run, write_tree
from tests.support.waiting import wait_until
from tests.support.writes import put

_CANARY: Final = {"groups/canary.toml": '[match]\nserial = "CANARY-*"\n[answer]\nis = "{{ serial }}"\n'}
"""Answers for a row that each table has, so that its presence shows which table is in force."""

_IN_EVERY_WORKER: Final = 10
"""Answers in a row after which every worker is taken to have the table: the kernel spreads connections over them."""

_ALSO: Final = re.compile(r"(?:MAC address|serial|UUID|name|identity) ([^\s,;]+)")
_DONE: Final = re.compile(r"^(\S+) (?:armed|disarmed|forgotten)(.*)$", re.MULTILINE)


class RealProgram:
    """A site whose service is the real program; see `tests.support.hardware_world.Site`. A context manager."""

    def __init__(self, place: Path, kind: str, workers: int) -> None:
        """``kind`` is ``files`` or ``sqlite``."""
        answers, database = place / "answers", place / "answers.db"
        write_tree(answers, DOCUMENTS | _CANARY)
        self.workers = workers
        self.settings: dict[str, Any] = {"SERVICE_STORE": kind, "SERVICE_LOG": "off"}
        if kind == "files":
            self.settings |= {"SERVICE_ANSWERS_DIR": answers, "SERVICE_STATE_PATH": place / "states.db"}
            self.store: FileStore | SqliteStore = FileStore(answers)
        else:
            self.settings |= {"SERVICE_DB_PATH": database}
            assert run("import", str(answers), **self.settings).returncode == 0
            self.store = SqliteStore(database)
        self.tables = 0
        self.service = self._started()

    def _started(self) -> Service:
        return Service(**self.settings, SERVICE_WORKERS=self.workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.service.__exit__(kind, error, trace)

    def ask(self, path: str, said: dict[str, list[str]]) -> Reply:
        """A request of a machine."""
        query = urlencode([(label, value) for label, values in said.items() for value in values])
        reply = self.service.get(f"{path}?{query}")
        if reply.status == 500:
            return Reply(False, text=reply.text, is_fault=True)
        assert reply.status in (200, 404), reply
        return reply_of(reply.text, is_given=reply.status == 200)

    def report(self, url: str, word: str) -> bool:
        """Whether the report of a machine was acknowledged."""
        return self.service.post(f"{urlsplit(url).path}/{word}", b"").status == 200

    def order(self, verb: str, names: tuple[str, ...]) -> set[str] | None:
        """What the command prints that it named; None where it knows no such name."""
        done = run(verb, *names, **self.settings)
        if b"no record, row, document or member" in done.stderr:
            return None
        assert done.returncode in (0, 1), done
        named: set[str] = set()
        for label, also in _DONE.findall(done.stdout.decode()):
            named |= {label, *_ALSO.findall(also)}
        assert named, done
        return named

    def table(self, rows: list[dict[str, str]]) -> None:
        """Put a table in force, in every worker."""
        self.tables += 1
        serial = f"CANARY-{self.tables}"
        text = table_text([*rows, {"id": "canary", "mac": "", "serial": serial, "uuid": ""}])
        put(self.store, key_of("inventory.csv"), text)
        self._wait_for(serial)

    def _wait_for(self, serial: str) -> None:
        target = f"/toml?id=canary&serial={serial}"
        others = 1 if self.workers == 1 else _IN_EVERY_WORKER
        wait_until(lambda: all("CANARY" in self.service.get(target).text for _ in range(others)))

    def passes(self, seconds: float) -> None:
        """The clock runs by itself."""

    def restart(self) -> None:
        """End the program in order, and start it again."""
        assert self.service.stop() == 0
        self.service = self._started()
