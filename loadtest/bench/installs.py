"""Figures of installs: the cost of ``once`` for an answer, the time until reports are on the disk, the cost of many
records."""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack

from answerd.identity import identity_of
from answerd.installs.events import Event, Kind, giving_id
from answerd.installs.hardware import SERIAL
from answerd.installs.states import Rules
from answerd.store.sqlite import SqliteFile
from answerd.store.state_tables import insert
from answerd.store.states import StateFile
from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.load import Contestant, Round, WrongAnswers, alternate, ask, carry_out, explained
from loadtest.bench.loading import settle
from loadtest.bench.servers import Server, answerd
from loadtest.bench.stores import stored
from loadtest.bench.throughput import FLEET, contest, generating, ratio
from loadtest.fleet import (
    RACK,
    Documents,
    Machine,
    inventory_document,
    once_fleet,
    rack_document,
    templated_document,
)

WITH_ONCE = Bar(at_least=0.9)
WITH_RECORDS = Bar(at_least=0.95)
ON_THE_DISK = Bar(at_most=0.5)
"""Seconds for `REPORTS`."""

REPORTS = 1_000
AT_ONCE = 400
"""Machines of a lab that is switched on."""

FEW_RECORDS = 1_000
_RECORDS_OF_A_BATCH = 5_000
_OTHERS = 10_000_000
"""The first number of machines that have a record and do not ask."""

_ACKNOWLEDGED = b"\r\n\r\nOK\n"
_PATIENCE = 60.0
_REPORT = re.compile(rb"http://[^/]+(/report/[^/\s]+)/installed")


def installs(effort: Effort) -> list[Figure]:
    """Measure answers with ``once`` against the same without, given again and given for the first time; reports;
    records."""
    return [*_answers(effort), *_first_givings(effort), *_reports(effort), *_a_lab(effort)]


def _answers(effort: Effort) -> list[Figure]:
    """Measure machines that ask again and again, as installers do while they install."""
    most = max(effort.load, *effort.sizes)
    everything = "templated, with inventory and secrets"
    with ExitStack() as running:
        sets = (
            ("templated, without once", _fleet(), 0),
            (f"templated, with once, {FLEET:,} records", _fleet(once=True), 0),
            (f"templated, with once, {most + FLEET:,} records", _fleet(once=True), most),
            (f"{everything}, without once", with_everything(FLEET, once=False), 0),
            (f"{everything}, with once", with_everything(FLEET), 0),
        )
        contestants = [
            Contestant(label, _started(running, documents, records), shapes.TEMPLATED_POST, FLEET)
            for label, documents, records in sets
        ]
        turns = alternate(contestants, effort.rounds, effort.seconds)
    rounds = list(turns.values())
    figures = [figure for label, of_one in turns.items() for figure in contest(label, of_one)]
    for with_once, without in ((1, 0), (2, 0), (4, 3)):
        names = (contestants[with_once].label, contestants[without].label)
        figures += ratio(names[0], rounds[with_once], names[1], rounds[without], WITH_ONCE)
    figures += ratio(contestants[2].label, rounds[2], f"{FLEET:,} records", rounds[1], WITH_RECORDS)
    return figures + generating(turns)


def _first_givings(effort: Effort) -> list[Figure]:
    """Measure machines that ask for the first time: each answer begins a start, and is written."""
    size = max(effort.storms)
    passes: dict[bool, list[Round]] = {False: [], True: []}
    for _ in range(max(2, effort.rounds // 2)):
        for with_once, rounds in passes.items():
            with ExitStack() as running:
                server = _started(running, _fleet(size, once=with_once))
                contestant = Contestant("", server, shapes.TEMPLATED_POST, size)
                before = server.process.cpu_seconds()
                with explained(contestant):
                    outcome = carry_out(contestant.order())
                took = server.process.cpu_seconds() - before
                rounds.append(Round(outcome.requests, outcome.seconds, took, outcome.cpu_seconds))
    label = f"first givings, {size:,} machines once each"
    return list(ratio(label, passes[True], "without once", passes[False]))


def _reports(effort: Effort) -> list[Figure]:
    """Measure reports one after the other, and many at once: from the first byte sent until all are acknowledged."""
    figures = []
    for records in (0, max(effort.load, *effort.sizes)):
        named = f"{records + FEW_RECORDS:,} records"
        with ExitStack() as running:
            server = _started(running, once_fleet(REPORTS), records)
            urls = [_url_of(server, Machine(number)) for number in range(REPORTS)]
            alone = [_timed(server, f"{url}/progress") for url in urls[:: max(1, len(urls) // 100)]]
            figures.append(Figure(f"a report alone, {named}", Spread.of([1_000 * seconds for seconds in alone]), "ms"))
            took = [_all_at_once(server, [f"{url}/{word}" for url in urls]) for word in ("copied", "installed")]
            label = f"{REPORTS:,} reports at once, {named}: all on the disk"
            figures.append(Figure(label, Spread.of(took), "s", ON_THE_DISK))
            rates = [REPORTS / seconds for seconds in took]
            figures.append(Figure(f"reports, {named}", Spread.of(rates), "reports/s"))
    return figures


def _a_lab(effort: Effort) -> list[Figure]:
    """Measure a lab that is switched on: all machines boot and ask at once, then all report at once, then all boot
    again."""
    figures: dict[str, list[float]] = {"scripts and answers": [], "reports": [], "boots from the disk": []}
    for _ in range(effort.rounds):
        with ExitStack() as running:
            server = _started(running, once_fleet(AT_ONCE))
            asked = [
                f"/{path}?mac={Machine(number).mac}&serial={Machine(number).serial}"
                for path in ("ipxe/boot", "ks")
                for number in range(AT_ONCE)
            ]
            figures["scripts and answers"].append(_all_at_once(server, asked, proof=b"node-"))
            urls = [_url_of(server, Machine(number)) for number in range(AT_ONCE)]
            figures["reports"].append(_all_at_once(server, [f"{url}/installed" for url in urls]))
            figures["boots from the disk"].append(_all_at_once(server, asked[:AT_ONCE], proof=b"\nexit 1\n"))
    return [Figure(f"{AT_ONCE} machines at once: {name}", Spread.of(times), "s") for name, times in figures.items()]


def _fleet(machines: int = FLEET, *, once: bool = False) -> Documents:
    """Return the documents of machines over those of their racks, which have ``once`` or not."""
    for name, text in (rack_document(Machine(number).rack) for number in range(0, machines, RACK)):
        yield name, f"once = true\n{text}" if once else text
    yield from (templated_document(Machine(number)) for number in range(machines))


def with_everything(machines: int, *, once: bool = True) -> Documents:
    """Return the documents of `_fleet`, a row for each machine, and a secret in each answer: a placeholder more, and
    one that the row fills and not the body."""
    for name, text in _fleet(machines, once=once):
        filled = text.replace('"$y$j9T$MadeUpSalt', '"{{ secret.root }}$y$j9T$MadeUpSalt')
        yield name, filled.replace("{{ dmi.system.serial | lower }}", "{{ id }}")
    yield inventory_document(0, machines)


def _started(running: ExitStack, documents: Documents, records: int = 0) -> Server:
    """Start the service on documents, with so many records of other machines. No machine gets a second start."""
    answers = running.enter_context(stored(documents))
    states = StateFile(SqliteFile(answers.directory / "answers.db"), Rules())
    now = time.time()
    for first in range(0, records, _RECORDS_OF_A_BATCH):
        numbers = range(_OTHERS + first, _OTHERS + min(records, first + _RECORDS_OF_A_BATCH))
        with states.writing() as database:
            insert(database, [_given(Machine(number), now) for number in numbers], states.shared)
    secrets = answers.directory / "secrets"
    secrets.mkdir(mode=0o700)
    (secrets / "root").write_text("made-up\n")
    (secrets / "root").chmod(0o600)
    settings = {
        "SERVICE_INSTALL_START_SECS": 100_000, "SERVICE_SECRETS_DIR": secrets,
    }  # fmt: skip
    server = running.enter_context(answerd({**answers.settings, **settings}))
    settle(server)
    return server


def _given(machine: Machine, at: float) -> Event:
    serial = identity_of(machine.serial)
    names = {serial: SERIAL + machine.serial}
    return Event(
        serial, machine.identifier, Kind.GIVEN, at, names, start=1, giving=giving_id(serial, ()), detail="group (toml)",
        origin="127.0.0.1", group=machine.rack, named=(serial,),
    )  # fmt: skip


# --- reports ---------------------------------------------------------------------------------------------------------


def _url_of(server: Server, machine: Machine) -> str:
    """Return the path of a machine's report, from its answer."""
    answer = ask(server.port, _request("GET", f"/ks?mac={machine.mac}&serial={machine.serial}"))
    found = _REPORT.search(answer)
    if found is None:
        raise WrongAnswers(f"no report in {answer[:200]!r}")
    return found[1].decode()


def _timed(server: Server, target: str) -> float:
    began = time.perf_counter()
    answer = ask(server.port, _request("POST", target))
    took = time.perf_counter() - began
    if not answer.endswith(_ACKNOWLEDGED):
        raise WrongAnswers(f"a report got {answer[:200]!r}")
    return took


def _all_at_once(server: Server, targets: Sequence[str], proof: bytes = b"") -> float:
    """Open a connection for each target, send all requests, and read all answers; seconds. Without ``proof`` they are
    reports."""
    method, wanted = ("GET", proof) if proof else ("POST", _ACKNOWLEDGED)
    began = time.perf_counter()
    with ExitStack() as opened, selectors.DefaultSelector() as waiting:
        received: dict[socket.socket, bytes] = {}
        for target in targets:
            client = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), _PATIENCE))
            client.sendall(_request(method, target))
            received[client] = b""
            waiting.register(client, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(_PATIENCE)
            if not ready:
                raise WrongAnswers(f"{len(waiting.get_map())} of {len(targets)} requests got no answer")
            for key, _ in ready:
                client = key.fileobj  # type: ignore[assignment]
                piece = client.recv(65_536)
                received[client] += piece
                if not piece:
                    waiting.unregister(client)
        took = time.perf_counter() - began
    wrong = [one for one in received.values() if not one.startswith(b"HTTP/1.1 200 ") or wanted not in one]
    if wrong:
        statuses = Counter(one[9:12].decode("latin-1") or "no reply" for one in wrong)
        counted = ", ".join(f"{count} times {status}" for status, count in sorted(statuses.items()))
        reason = wrong[0].partition(b"\r\n\r\n")[2][:200]
        raise WrongAnswers(
            f"{len(wrong)} of {len(targets)} to {method} were wrong ({counted}), one of them: {reason!r}"
        )
    return took


def _request(method: str, target: str) -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
