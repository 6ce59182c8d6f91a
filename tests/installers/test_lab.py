"""A whole lab: 300 machines of every kind go from loader to disk while an operator changes every document.

Each gets its own right answer of one consistent version and installs exactly once. Rules: docs/install-once.md.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.installers.kinds import KINDS, Machine, Sent, lab
from tests.support.replies import Reply, exchange, request_bytes
from tests.support.service import Service, run
from tests.support.waiting import wait_until

MACHINES = [Machine(number) for number in range(1, 301)]
AT_THE_SAME_TIME = 24
"""Machines. The service takes more; the rest of the processors is the operator's."""

TOKEN = "token-of-the-lab-0123456789"


@dataclass
class Operator:
    """Applies one version of all documents after the other until it is ended."""

    service: Service
    last: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def apply_next(self) -> None:
        """Write the next version of all documents, as one change."""
        self.last += 1
        body = json.dumps({"put": lab(MACHINES, self.last)}).encode()
        assert self.service.admin
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        reply = exchange(self.service.admin, request_bytes("POST", "/apply", headers, body))
        assert reply.status == 200, reply.text
        assert reply.problems == []

    def go_on(self) -> None:
        """Apply until `ended`."""
        while not self.ended.is_set():
            self.apply_next()


@dataclass
class Run:
    """One machine's way, and what is wrong with it."""

    machine: Machine
    service: Service
    faults: list[str] = field(default_factory=list)
    versions: set[int] = field(default_factory=set)
    installations: int = 0

    def go(self) -> Run:
        """Power-on, answer, report and reboot; twice where the first installation fails. Then one more reboot."""
        self._install("failed" if self.machine.breaks_first else "")
        if self.machine.breaks_first:
            self._install("")
        self._starts_from_disk("after it was installed", "installed")
        refused = self._ask(self.machine.kind.asks(self.machine)[-1])
        if refused.status != 404 or f"{self.machine.name} is installed" not in refused.text:
            self.faults.append(f"its answer was given again: {refused.status}")
        return self

    def _install(self, word: str) -> None:
        script = self._ask(self._loader)
        if self._judged(script, "loader"):
            self.installations += 1
        *others, last = self.machine.kind.asks(self.machine)
        for sent in others:
            if (reply := self._ask(sent)).status != 200:
                self.faults.append(f"{sent.path}: {reply.status}")
        answer = self._ask(last)
        report = self._judged(answer, "answer")
        if report is None:
            return
        sends = [Sent(f"/{word}", b"reason=disk")] if word else self.machine.kind.reports(self.machine)
        for sent in sends:
            if (reply := self._ask(sent, report)).status != 200:
                self.faults.append(f"its report was refused: {reply.status}")
            if sent.path == "/copied":
                self._starts_from_disk("after it was copied", "copied")

    @property
    def _loader(self) -> Sent:
        return Sent(f"/ipxe?mac={self.machine.mac}&serial={self.machine.serial}", None, ("User-Agent: iPXE/1.21.1",))

    def _starts_from_disk(self, when: str, state: str) -> None:
        script = self._ask(self._loader)
        if script.status != 200 or "exit 1" not in script.text or "report/" in script.text:
            self.faults.append(f"its loader installs {when}")
        if f"{self.machine.name} is {state} since" not in script.text:
            self.faults.append(f"its loader does not know it {when}: {script.text[:300]}")

    def _ask(self, sent: Sent, base: str = "") -> Reply:
        assert self.service.address
        return exchange(self.service.address, sent.bytes_for("answers.example:8000", base))

    def _judged(self, reply: Reply, what: str) -> str | None:
        """The path of the report's URL, where this is its own answer of its kind and of one version."""
        text = re.sub(r"/report/[\w.-]+", "", reply.text)  # a token may hold anything
        kinds = set(re.findall(r"(\w+) IDnode-", text))
        names = set(re.findall(r"ID(node-\d+)E", text))
        versions = set(map(int, re.findall(r"V(\d+)E", text)))
        report = re.search(r"answers\.example:8000(/report/[\w.-]+)", reply.text)
        if (reply.status, kinds, names) != (200, {self.machine.kind.name}, {self.machine.name}) or not report:
            self.faults.append(f"{what}: {reply.status} {reply.text[:300]}")
            return None
        if len(versions) != 1 or text.count(f"V{min(versions)}E") != 2:
            self.faults.append(f"{what}: of versions {sorted(versions)}")
        self.versions |= versions
        return report[1]


def test_a_whole_lab_installs_exactly_once_while_everything_changes(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
    service = serving(
        None,
        SERVICE_WORKERS=2,
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
        SERVICE_TIMEOUT_SECS=120,
        **settings,
    )
    service.wait_for_log("admin API listening on ", 60)
    operator = Operator(service)
    operator.apply_next()
    for _ in range(20):  # every worker has the first version
        wait_until(lambda: service.get("/ipxe?mac=00:00:5e:00:ff:ff").status == 200, 60)
    changing = threading.Thread(target=operator.go_on)
    changing.start()
    try:
        with ThreadPoolExecutor(AT_THE_SAME_TIME) as pool:
            runs = list(pool.map(lambda machine: Run(machine, service).go(), MACHINES))
    finally:
        operator.ended.set()
        changing.join()
    assert {run.machine.name: run.faults for run in runs if run.faults} == {}
    assert {run.installations - run.machine.breaks_first for run in runs} == {1}
    versions = set.union(*(run.versions for run in runs))
    assert versions <= set(range(1, operator.last + 1))
    assert len(versions) > 1, "nothing changed meanwhile"
    assert {run.machine.kind.name for run in runs} == {kind.name for kind in KINDS}
    found = json.loads(run("installs", "--json", **settings).stdout)["installs"]
    assert {install["machine"] for install in found} == {install.name for install in MACHINES}
    assert {install["state"] for install in found} == {"installed"}
    starts = {install["machine"]: install["starts"] for install in found}
    assert starts == {machine.name: 1 + machine.breaks_first for machine in MACHINES}
    print(f"{len(runs)} machines, {operator.last} versions applied, {len(versions)} seen in answers")
