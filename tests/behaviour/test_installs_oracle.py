"""Random lives of a machine, through the service's own memory, tables and reports, against a literal reading of
docs/install-once.md."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.gates import Gates
from answerd.answers.operator_names import OrderedMachine
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.config import Config
from answerd.documents import RawDocument
from answerd.errors import GateClosed
from answerd.facts import Facts, Request
from answerd.formats.family import Once
from answerd.installs.hardware import SERIAL, Asked
from answerd.installs.records import no_row
from answerd.installs.states import Gate, Order, ReportKind, Requested, Rules
from answerd.server.http.parser import HeaderBlock, HttpRequest
from answerd.server.live_states import LiveStates, StatesAtFork
from answerd.server.report_app import take_report
from answerd.server.request_log import RequestLog
from answerd.store.opening import install_rules
from answerd.store.states import open_state_file
from tests.support.fleet import key_of
from tests.support.install_oracle import Oracle
from tests.support.installs import Ordered, Reported

RULES = Rules(grace=900, start=120, starts=3)
STEPS = (0.25, 3.5, 61.3, 119.7, 121.9, 500.1, 899.6, 905.3, 4000.7)
SEQUENCES, EVENTS = 40, 14

DOCUMENTS = {
    "groups/all.ipxe": "#!ipxe\n# answer: match serial=*\n# answer: once\nkernel {{ report }} {{ state }}\n",
    "groups/all.ks": "# answer: match serial=*\n# answer: once\n# {{ report }} {{ state }}\n",
    "groups/all.cfg": "# answer: match serial=*\n# answer: once loader\n{{ report }} {{ state }}\n",
    "groups/all.preseed": "# answer: match serial=*\n# answer: once armed\nd-i {{ report }} {{ state }}\n",
}
PATHS = {"ipxe": "/ipxe", "ks": "/ks", "cfg": "/cfg", "preseed": "/debian"}
WORDS = ("installed", "failed", "copied", "progress")
ORDERS = ("arm", "disarm", "forget")
GATES = {
    "ipxe": (Gate.LOADER, Once.ON),
    "ks": (Gate.ANSWERS, Once.ON),
    "cfg": (Gate.LOADER, Once.ON),
    "preseed": (Gate.ANSWERS, Once.ARMED),
}


class Clocked(StatesAtFork):
    """What processes share, with a clock that the test moves."""

    at = 1_800_000_000.0

    def now(self) -> float:
        return self.at


class Real:
    """The service without its sockets."""

    def __init__(self, directory: Path) -> None:
        raw = [RawDocument(key_of(name), text) for name, text in DOCUMENTS.items()]
        config = Config(install_grace_seconds=int(RULES.grace), install_starts=RULES.starts)
        self.at_fork = Clocked(open_state_file(str(directory / "state.db"), install_rules(config))[0], config)
        self.installs = LiveStates(self.at_fork, RequestLog("stderr", "off"))
        self.catalogue = Catalogue(has_states=True).changed(raw)
        self.sources = Sources(gates=Gates(self.installs))
        self.writing = gevent.spawn(self.installs.keep_up)

    def ask(self, document: str, machine: str) -> str | None:
        """The answer to a machine; None where it is refused."""
        request = Request(PATHS[document], f"serial={machine}", (("host", "s"),))
        try:
            answer = resolve(self.catalogue, Facts(request), sources=self.sources)
        except GateClosed:
            return None
        finally:
            awaited = self.installs.awaited()
            assert awaited is None or awaited() == ""
        text = answer.body.decode()
        return None if answer.refusal is not None else text

    def report(self, path: str) -> int:
        """The status of a report."""
        request = HttpRequest("POST", path, path, "", 1, HeaderBlock(()))
        return take_report(request, "192.0.2.1", self.installs).status

    def order(self, order: str, machine: str) -> None:
        """What an operator says, on the disk."""
        ordered = OrderedMachine(machine, {machine.casefold(): SERIAL + machine})
        self.installs.order([ordered], Order(order), "the test")

    def state(self, machine: str) -> str:
        """The state in memory."""
        memory = self.installs.current()
        return memory.state(Asked({machine.casefold(): SERIAL + machine}), no_row).value


@pytest.fixture(scope="module")
def real() -> Iterator[Real]:
    """The service, in memory where there is room for that: every report waits for its file."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as directory:
        found = Real(Path(directory))
        yield found
        found.writing.kill()


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_a_life_is_what_the_page_says(real: Real, seed: int) -> None:
    choose, machine, reading = random.Random(seed), f"SN{seed}", Oracle(RULES)
    urls: list[tuple[str, int]] = []
    printed = []
    for _ in range(EVENTS):
        real.at_fork.at += choose.choice(STEPS)
        at = real.at_fork.now()
        kind = choose.choices(("ask", "report", "order"), (6, 4, 1))[0]
        if kind == "ask":
            document = choose.choice(list(PATHS))
            before = reading.state
            expected = reading.ask(Requested(document, *GATES[document], at))
            text = real.ask(document, machine)
            printed.append((document, expected))
            assert (text is not None) == expected, printed
            if text is not None:
                found = re.search(r"http://s(/report/\S+) (\w+)", text)
                assert found is not None
                assert found[2] == before, printed
                urls.append((found[1], reading.attempt))
        elif kind == "report" and urls:
            word, (url, attempt) = choose.choice(WORDS), choose.choice(urls)
            printed.append((word, attempt == reading.attempt))
            assert real.report(f"{url}/{word}") == 200
            reading.report(Reported(ReportKind(word), attempt, at))
        elif kind == "order":
            order = choose.choice(ORDERS)
            printed.append((order, True))
            real.order(order, machine)
            reading.order(Ordered(Order(order), at))
        assert real.state(machine) == reading.state, printed
