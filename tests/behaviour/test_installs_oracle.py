"""Random lives of a machine, through the service's own memory, tables and reports, against a literal reading of
docs/install-once.md that shares no code with it."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import gevent
import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.gates import Gates
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.config import Config
from answerd.documents import RawDocument
from answerd.errors import GateClosed
from answerd.facts import Facts, Request
from answerd.installs.states import Order
from answerd.server.http.parser import HeaderBlock, HttpRequest
from answerd.server.live_states import LiveStates, SharedStates
from answerd.server.report_app import take_report
from answerd.server.request_log import RequestLog
from answerd.store.opening import install_rules
from answerd.store.states import open_state_file
from tests.support.fleet import key_of

GRACE, START, STARTS = 900.0, 120.0, 3
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
AT_THE_LOADERS_GATE = ("ipxe", "cfg")


@dataclass
class Reading:
    """What the page says of one machine, sentence by sentence."""

    state: str = "new"
    since: float = 0
    was_armed: bool = False
    by_operator: bool = False
    starts: int = 0
    given: dict[str, float] = field(default_factory=dict)
    recent: dict[str, float] = field(default_factory=dict)
    """Given at most ``START`` before this start began, in an earlier one."""
    attempt: int = 0
    """Rises with every ``arm`` and ``forget``: what was reported for an earlier one changes nothing."""

    def is_open(self, document: str, at: float) -> bool:
        """The table of states, and ``once armed``."""
        if document == "preseed" and not self.was_armed:
            return False
        if self.state in ("new", "armed", "installing", "failed"):
            return True
        if self.state == "exhausted" or document in AT_THE_LOADERS_GATE:
            return False
        if self.state == "copied":
            return True
        was_given = document in self.given or document in self.recent
        return not self.by_operator and not was_given and at - self.since <= GRACE

    def ask(self, document: str, at: float) -> bool:
        """Whether a document is given."""
        if not self.is_open(document, at):
            return False
        if self.state == "installed":
            return True  # in the time of grace nothing changes
        again = document in self.given and at - self.given[document] > START
        if self.state in ("new", "armed", "failed") or again:
            if self.starts == STARTS:
                self.become("exhausted", at)
                return False
            self.starts += 1
            before = {**self.recent, **self.given}
            self.recent = {name: given for name, given in before.items() if at - given <= START}
            self.given = {document: at}
            if self.state != "copied":
                self.become("installing", at)
        self.given.setdefault(document, at)
        return True

    def report(self, word: str, attempt: int, at: float) -> None:
        """``installed`` beats ``failed`` beats ``copied``."""
        if attempt != self.attempt or self.state == "installed":
            return
        if word == "installed":
            self.become("installed", at)
        elif word == "failed" and self.state in ("installing", "copied"):
            self.become("exhausted" if self.starts == STARTS else "failed", at)
        elif word == "copied" and self.state == "installing":
            self.become("copied", at)

    def order(self, order: str, at: float) -> None:
        """What an operator says."""
        if order == "disarm":
            if not (self.state == "installed" and self.by_operator):
                self.become("installed", at)
            self.by_operator = True
            return
        was_armed = order == "arm"
        self.__init__("armed" if was_armed else "new", at, was_armed, attempt=self.attempt + 1)  # type: ignore[misc]

    def become(self, state: str, at: float) -> None:
        """Enter a state."""
        if self.state != state:
            self.state, self.since, self.by_operator = state, at, False


class Clocked(SharedStates):
    """What processes share, with a clock that the test moves."""

    at = 1_800_000_000.0

    def now(self) -> float:
        return self.at


class Real:
    """The service without its sockets."""

    def __init__(self, directory: Path) -> None:
        raw = [RawDocument(key_of(name), text) for name, text in DOCUMENTS.items()]
        config = Config(install_grace_seconds=int(GRACE), install_starts=STARTS)
        self.shared = Clocked(open_state_file(str(directory / "state.db"), install_rules(config))[0], config)
        self.installs = LiveStates(self.shared, RequestLog("stderr", "off"))
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
        text = answer.body.decode()
        return None if answer.refusal is not None else text

    def report(self, path: str) -> int:
        """The status of a report."""
        request = HttpRequest("POST", path, path, "", 1, HeaderBlock(()))
        return take_report(request, "192.0.2.1", self.installs).status

    def order(self, order: str, machine: str) -> None:
        """What an operator says, on the disk."""
        self.installs.order([(machine, {machine.casefold(): machine})], Order(order), "the test")

    def state(self, machine: str) -> str:
        """The state in memory."""
        memory = self.installs.current()
        return memory.state(memory.found_by([], machine)).value


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
    choose, machine, reading = random.Random(seed), f"SN{seed}", Reading()
    urls: list[tuple[str, int]] = []
    printed = []
    for _ in range(EVENTS):
        real.shared.at += choose.choice(STEPS)
        at = real.shared.now()
        kind = choose.choices(("ask", "report", "order"), (6, 4, 1))[0]
        if kind == "ask":
            document = choose.choice(list(PATHS))
            before = reading.state
            expected = reading.ask(document, at)
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
            reading.report(word, attempt, at)
        elif kind == "order":
            order = choose.choice(ORDERS)
            printed.append((order, True))
            real.order(order, machine)
            reading.order(order, at)
        assert real.state(machine) == reading.state, printed
