"""A machine that installs once: it boots, asks, reports, boots again, and checks that it is given no document again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote

from loadtest.fleet import Machine

OK = 200
REFUSED = 404
_REPORT = re.compile(r"^curl -X POST https?://[^/]+(/report/[^/\s]+)/installed$", re.MULTILINE)

Judge = Callable[[int, str], str]
"""Returns the fault of an answer from its status and text; empty where there is none."""


Ask = Callable[[str, str, str, Judge], str]
"""Send a request until there is an answer, and return its text: its purpose, its method, its target. A fault that the
judge finds is a failure."""


@dataclass
class InstallingMachine:
    """One machine. ``is_done``: its report of success was acknowledged and no operator has armed it since. ``reported``
    are the messages of its acknowledged reports that change a state, oldest first."""

    machine: Machine
    ask: Ask
    is_done: bool = False
    url: str = ""
    reported: list[str] = field(default_factory=list)

    def boot(self) -> None:
        """Switch it on: its boot loader asks, and goes to the disk once the machine is done."""
        script = self._target("/ipxe/boot")
        self.ask("boots from its disk" if self.is_done else "boot loader", "GET", script, self._judge_script)

    def fetch_answer(self) -> None:
        """Start its installer, which asks for its answer. A machine that is done is refused."""
        what = "answer, refused" if self.is_done else "answer"
        found = _REPORT.search(self.ask(what, "GET", self._target("/ks"), self._judge_answer))
        if found:
            self.url = found[1]

    def progress(self, percent: int) -> None:
        """Report the installer's progress."""
        self.ask("progress", "POST", f"{self.url}/progress?percent={percent}", _judge_report)

    def report(self, word: str) -> None:
        """Report ``installed`` or ``failed``; on return it is acknowledged."""
        message = f"{self.machine.host} {word} {len(self.reported)}"
        self.ask(f"report {word}", "POST", f"{self.url}/{word}?message={quote(message)}", _judge_report)
        self.reported.append(message)
        self.is_done = self.is_done or word == "installed"

    def was_armed(self) -> None:
        """Install again at the next boot: an operator's ``arm`` was acknowledged."""
        self.is_done = False
        self.url = ""

    def _target(self, path: str) -> str:
        return f"{path}?mac={self.machine.mac}&serial={self.machine.serial}"

    def _judge_script(self, status: int, text: str) -> str:
        if status != OK:
            return f"status {status}: {text[:200].strip()}"
        if self.is_done:
            return "" if text.endswith("exit 1\n") and "kernel" not in text else "GIVEN AGAIN: a boot loader's script"
        return "" if f"Installing {self.machine.host}\n" in text else f"no script of its own: {text[:200].strip()}"

    def _judge_answer(self, status: int, text: str) -> str:
        if self.is_done:
            return "" if status == REFUSED else f"GIVEN AGAIN: an answer, with status {status}"
        if status != OK:
            return f"status {status}: {text[:200].strip()}"
        is_own = f"--hostname={self.machine.host}\n" in text and _REPORT.search(text)
        return "" if is_own else f"no answer of its own: {text[:200].strip()}"


def _judge_report(status: int, text: str) -> str:
    return "" if (status, text) == (OK, "OK\n") else f"a report got {status}: {text[:200].strip()}"
