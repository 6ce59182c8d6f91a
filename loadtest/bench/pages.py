"""The time that each page of the console takes at the server, with a large fleet: documents, a row and a record of an
install for each machine."""

from __future__ import annotations

import html
import json
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from answerd.captures import MOST_CAPTURES, make_directory
from answerd.console.machine_page import RECORDINGS_SHOWN
from answerd.identity import identity_of
from answerd.installs.events import Event, Kind, giving_id
from answerd.installs.hardware import SERIAL
from answerd.installs.states import ReportKind, Rules
from answerd.store.sqlite import SqliteFile
from answerd.store.state_tables import insert
from answerd.store.states import StateFile, open_state_file
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.load import WrongAnswers, ask
from loadtest.bench.loading import settle
from loadtest.bench.servers import ADMIN_TOKEN, Server, answerd, free_port
from loadtest.bench.stores import STORES, AnswerSet, stored
from loadtest.fleet import RACK, ROWS_OF_A_FILE, Documents, Machine, inventory_document, rack_document, templated_fleet

A_PAGE = Bar(at_most=50)
"""Milliseconds."""

_LOOKS = 5
"""Looks at each page after the first; the figure is their median, and the first is one of its own."""

_RECORDS_OF_A_BATCH = 5_000
_COOKIE = re.compile(rb"^set-cookie: ([^;\r]+)", re.IGNORECASE | re.MULTILINE)
_LOCATION = re.compile(r"^location: ([^\r]+)", re.IGNORECASE | re.MULTILINE)
_WHOLE_AFTER_AT_MOST = 1_800.0
_PENDING = re.compile(r'hx-get="(/console/document/preview[^"]*)"')
_NEWCOMER = "NEW-4711"


def pages(effort: Effort) -> list[Figure]:
    """Measure every page, in both stores."""
    return [figure for store in STORES for figure in _pages_of(effort.load, store)]


def _pages_of(machines: int, store: str) -> list[Figure]:
    with stored(_fleet(machines), store) as answers, ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="answerd-bench-")))
        states = _with_states(answers, directory, machines)
        port = free_port()
        settings: dict[str, object] = {
            **answers.settings,
            **states,
            "SERVICE_CONSOLE_ADDR": f"127.0.0.1:{port}",
            "SERVICE_ADMIN_TOKEN": ADMIN_TOKEN,
            "SERVICE_TIMEOUT_SECS": 600,
            "SERVICE_INSTALL_SECS": 10_000_000,
            "SERVICE_CAPTURE_DIR": _with_recordings(directory / "captures", Machine(machines // 2)),
        }
        server = running.enter_context(answerd(settings))
        ask(server.port, f"GET /ks?serial={_NEWCOMER} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        while server.log is not None and "processes started" not in server.log.read_text("utf-8", "replace"):
            time.sleep(0.1)  # the console's process is forked when the set is loaded
        settle(server)
        return _looked_at(_Operator(port), server, machines, store)


def _fleet(machines: int) -> Documents:
    """Return the documents of machines over those of their racks, and a row for each machine."""
    yield from templated_fleet(machines)
    for first in range(0, machines, ROWS_OF_A_FILE):
        yield inventory_document(first, min(ROWS_OF_A_FILE, machines - first))


def _with_states(answers: AnswerSet, directory: Path, machines: int) -> dict[str, object]:
    """Write a record for each machine, of which most are installed; return the settings that name their place."""
    settings = answers.settings
    path = str(settings.get("SERVICE_DB_PATH", directory / "states.db"))
    words = (ReportKind.INSTALLED,) * 8 + (ReportKind.FAILED, None)
    is_own = "SERVICE_DB_PATH" not in settings
    states = open_state_file(path, Rules())[0] if is_own else StateFile(SqliteFile(path), Rules())
    now = time.time()
    for first in range(0, machines, _RECORDS_OF_A_BATCH):
        batch: list[Event] = []
        for number in range(first, min(machines, first + _RECORDS_OF_A_BATCH)):
            machine, at = Machine(number), now - number
            serial = identity_of(machine.serial)
            names, giving = {serial: SERIAL + machine.serial}, giving_id(serial, ())
            given = Event(serial, machine.identifier, Kind.GIVEN, at, names, start=1, giving=giving)
            batch.append(given._replace(detail="group (toml)", group=machine.rack, named=(serial,)))
            word = words[number % len(words)]
            if word is not None:
                batch.append(given._replace(kind=Kind(word.value), at=at + 1, group=None, detail=""))
        with states.writing() as database:
            insert(database, batch, states.shared)
    return {} if "SERVICE_DB_PATH" in settings else {"SERVICE_STATE_PATH": path}


def _with_recordings(directory: Path, machine: Machine) -> Path:
    """Record as many requests of a machine as are kept; return the directory."""
    make_directory(directory)
    for number in range(MOST_CAPTURES):
        line, when = f"GET /ks?mac={machine.mac}&n={number} HTTP/1.1", f"{number // 60:02}:{number % 60:02}"
        meta = {"time": f"2026-11-20T21:{when}Z", "peer": "10.0.0.1", "request": line, "headers": [], "outcome": "200"}
        stem = directory / f"2026-11-20T21{when.replace(':', '')}Z-10.0.0.1-1"
        stem.with_suffix(".body").write_bytes(b"")
        stem.with_suffix(".meta").write_text(json.dumps({**meta, "body_bytes": 0}))
    return directory


@dataclass
class _Operator:
    """A browser without a memory of its own: one connection for each request."""

    port: int
    cookie: str = ""
    csrf: str = ""

    def get(self, path: str) -> tuple[float, str]:
        """Return the milliseconds until a page was there, and its text."""
        return self._timed(f"GET {path} HTTP/1.1\r\n", b"")

    def post(self, path: str, /, **fields: str) -> tuple[float, str]:
        """Return the same of a form."""
        body = urlencode({"csrf": self.csrf, **fields}).encode()
        head = f"POST {path} HTTP/1.1\r\nOrigin: http://127.0.0.1:{self.port}\r\nContent-Length: {len(body)}\r\n"
        return self._timed(f"{head}Content-Type: application/x-www-form-urlencoded\r\n", body)

    def preview(self, **fields: str) -> tuple[float, str]:
        """Return the milliseconds until the preview of a form was there, to which its answer leads, and its text."""
        took, reply = self.post("/console/document", do="preview", **fields)
        found = _LOCATION.search(reply)
        if found is None:
            raise WrongAnswers(f"a preview leads to no page: {reply[:200]!r}")
        took_by_page, page = self.get(found[1])
        return took + took_by_page, page

    def log_in(self) -> float:
        """Return the milliseconds of logging in."""
        took, reply = self.post("/console/login", token=ADMIN_TOKEN)
        found = _COOKIE.search(reply.encode())
        if found is None:
            raise WrongAnswers(f"the console gave no session: {reply[:200]!r}")
        self.cookie = f"Cookie: {found[1].decode()}\r\n"
        return took

    def _timed(self, head: str, body: bytes) -> tuple[float, str]:
        rest = f"Host: 127.0.0.1:{self.port}\r\n{self.cookie}Connection: close\r\n\r\n"
        began = time.perf_counter()
        reply = ask(self.port, (head + rest).encode() + body, timeout=600)
        took = time.perf_counter() - began
        if not re.match(rb"HTTP/1.1 (200|303) ", reply):
            raise WrongAnswers(f"{head.partition(' HTTP')[0]} got {reply[:300]!r}")
        text = reply.decode("utf-8", "replace")
        if found := re.search(r'name="csrf" value="([^"]+)"', text):
            self.csrf = found[1]
        return took * 1_000, text


def _looked_at(operator: _Operator, server: Server, machines: int, store: str) -> list[Figure]:
    """Measure each page: the very first right after the first log-in, the others once the console is at rest."""
    figures: list[Figure] = []

    def note(what: str, *took: float, bar: Bar | None = A_PAGE, unit: str = "ms") -> None:
        figures.append(Figure(f"{what}, {machines:,} machines in {store}", Spread.of(took), unit, bar))

    note("log in, the form", operator.get("/console/login")[0])
    note("log in", operator.log_in())
    note("the first page, right after the first log-in", operator.get("/console/")[0])
    note("machines, right after the first log-in", operator.get("/console/machines")[0])
    note("documents, right after the first log-in", operator.get("/console/documents")[0])
    settle(server)
    for what, path in _paths(machines).items():
        note(f"{what}, first", operator.get(path)[0])
        note(what, *(operator.get(path)[0] for _ in range(_LOOKS)))
    recorded = f"{_paths(machines)['a machine']}&recordings=1"
    took, page = operator.get(recorded)
    if page.count("Replay the request of") != RECORDINGS_SHOWN:
        raise WrongAnswers("the page of a machine does not show its recordings")
    note(f"the {MOST_CAPTURES:,} recordings of a machine, read first", took, bar=None)
    note(f"the {MOST_CAPTURES:,} recordings of a machine", *(operator.get(recorded)[0] for _ in range(_LOOKS)))
    fields = {"path": "/proxmox", "query": f"mac={Machine(7).mac}"}
    note("try, as a form", *(operator.post("/console/try", **fields)[0] for _ in range(_LOOKS)))
    if store != "files":
        _edit(operator, note)
    began = time.monotonic()
    note("check, first", operator.get("/console/check")[0])
    for what, path in (("now", "/console/"), ("machines", "/console/machines"), ("check", "/console/check")):
        note(f"{what}, while it checks", *(operator.get(path)[0] for _ in range(_LOOKS)))
    note("the check is done after", _until_whole(operator, "/console/check", "Checking ", began), bar=None, unit="s")
    note("check", *(operator.get("/console/check")[0] for _ in range(_LOOKS)))
    return figures


def _until_whole(operator: _Operator, path: str, pending: str, began: float) -> float:
    """Ask until a page holds a text no more; return the seconds since ``began``."""
    while pending in operator.get(path)[1]:
        if time.monotonic() - began > _WHOLE_AFTER_AT_MOST:
            raise WrongAnswers(f"{path} is never whole")
        time.sleep(0.25)
    return time.monotonic() - began


def _paths(machines: int) -> dict[str, str]:
    """Return the address of each page."""
    machine = Machine(machines // 2)
    group = f"kind=group&name={machine.rack}&format=toml"
    return {
        "now": "/console/",
        "now, its tiles again": "/console/overview",
        "now, its requests again": "/console/requests",
        "machines": "/console/machines",
        "machines, last page": f"/console/machines?page={machines // 100}",
        "machines by state": "/console/machines?sort=state",
        "machines by since": "/console/machines?sort=since&desc=1",
        "machines by since, last page": f"/console/machines?sort=since&page={machines // 100}",
        "machines by group": "/console/machines?sort=group&desc=1",
        "machines that failed": "/console/machines?state=failed",
        "machines that failed, by since": "/console/machines?state=failed&sort=since",
        "machines of a group": f"/console/machines?group={machine.rack}",
        "machines of a format": "/console/machines?format=toml&sort=since",
        "machines searched, few": f"/console/machines?q={quote(machine.serial)}",
        "machines searched, all": "/console/machines?q=16:3e&sort=state",
        "a machine": f"/console/machine?id={machine.identifier}",
        "a machine by its row": f"/console/machine?id={machine.host}",
        "adopt": f"/console/adopt?id={_NEWCOMER}",
        "documents": "/console/documents",
        "documents of machines": "/console/documents?kind=machine",
        "documents searched": f"/console/documents?q={machine.identifier}",
        "a document": f"/console/document?kind=machine&name={machine.identifier}&format=toml",
        "a group's document": f"/console/document?{group}",
        "an inventory": "/console/inventory?name=part-0000",
        "an inventory searched": "/console/inventory?name=part-0000&q=rack-000001",
        "try": f"/console/try?path=/proxmox&query=mac%3D{quote(machine.mac)}",
        "settings": "/console/settings",
    }


def _edit(operator: _Operator, note: Callable[..., None]) -> None:
    """Measure the editor: previews, saving, and the history that saving makes."""
    group = Machine(0).rack
    named = {"kind": "group", "name": group, "format": "toml"}
    path = f"/console/document?{urlencode(named)}"

    def etag() -> str:
        found = re.search(r'name="etag" value="([^"]*)"', operator.get(path)[1])
        return html.unescape(found[1]) if found else ""

    note("a new document", operator.get("/console/document/new")[0])
    text = rack_document(group)[1]
    previews: list[float] = []
    whole: list[float] = []
    saves: list[float] = []
    for number in range(2):
        changed = text.replace('"en-us"', f'"de-{number}"')
        etag_now, began = etag(), time.monotonic()
        took, page = operator.preview(text=changed, etag=etag_now, **named)
        previews.append(took)
        if pending := _PENDING.search(page):
            whole.append(_until_whole(operator, html.unescape(pending[1]), "Comparing ", began))
        _, page = operator.preview(text=changed, etag=etag_now, **named)
        if "50 answers" not in page:
            raise WrongAnswers("a preview does not say what it has found")
        saves.append(operator.post("/console/document", do="save", text=changed, etag=etag(), **named)[0])
    note(f"preview of a group of {RACK}, first", previews[0])
    note(f"preview of a group of {RACK}", *previews[1:])
    if whole:
        note(f"the preview of a group of {RACK} is whole after", *whole, bar=None, unit="s")
    note("save", *saves)
    note("history", operator.get(path)[0])
