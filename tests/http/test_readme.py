"""README.md is true: each command in it is run and answers what is shown, and its tables are those of the code.

A ```console block holds ``$ command`` lines, each followed by what it prints; ``...`` stands for anything, in a line or
for whole lines. The blocks are one walk-through, in order, in a home of their own. Two things are not as in the
README: ``scripts/serve`` is this interpreter's answerd on a free port instead of port 8000, without making an
environment, and ``.venv/bin/answerd`` is the same.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.service import Service, environment

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text("utf-8")
TUTORIAL = (CHECKOUT / "docs" / "first-machine.md").read_text("utf-8")
INDEX = (CHECKOUT / "docs" / "README.md").read_text("utf-8")

IN_FORCE_SECONDS = 90.0
"""A file takes effect within a second; the rest is for a machine that is busy with other tests.

Rules: docs/running.md#the-answers-directory.
"""
BETWEEN_TRIES_SECONDS = 0.1

DOCUMENTED_ADDRESS = "127.0.0.1:8000"
ANYTHING = "..."
_SERVE = re.compile(r"(?P<settings>(?:SERVICE_\w+=\S+ )*)scripts/serve")
_HERE_DOCUMENT = re.compile(r"<<'(\w+)'$")


@dataclass(frozen=True)
class Command:
    """One command of the README and the lines that it shows below it."""

    text: str
    expected: tuple[str, ...]


def commands_in(block: str) -> Iterator[Command]:
    """The commands of one block. The lines of a here-document belong to the command."""
    lines = block.splitlines()
    while lines:
        line = lines.pop(0)
        assert line.startswith("$ "), f"{line!r} belongs to no command"
        command = [line[2:]]
        if opened := _HERE_DOCUMENT.search(line):
            while command[-1] != opened[1]:
                command.append(lines.pop(0))
        expected = []
        while lines and not lines[0].startswith("$ "):
            expected.append(lines.pop(0))
        yield Command("\n".join(command), tuple(expected))


def blocks(language: str) -> list[str]:
    """What is in the blocks of this language, of the README and of the page that continues it."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README + TUTORIAL, re.MULTILINE | re.DOTALL)


COMMANDS = [command for block in blocks("console") for command in commands_in(block)]
LOG_LINES = [line for block in blocks("log") for line in block.splitlines()]


def as_shown(expected: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for what a command prints."""
    pattern = ""
    for line in expected:
        if line == ANYTHING:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(map(re.escape, line.split(ANYTHING))) + r"\n"
    return re.compile(pattern)


class Newcomer:
    """A person with two terminals who types what the README says."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.checkout = home / "clone"
        self.service: Service | None = None
        self.log: list[str] = []
        program = self.checkout / ".venv" / "bin" / "answerd"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m answerd "$@"\n', "utf-8")
        program.chmod(0o755)
        (self.checkout / "examples").symlink_to(CHECKOUT / "examples")
        self.environ = environment() | {"HOME": str(home), "PYTHONPATH": str(CHECKOUT), "LC_ALL": "C.UTF-8"}

    def type(self, command: Command) -> None:
        """Run one command and compare."""
        serve = _SERVE.fullmatch(command.text)
        if serve:
            self.serve(serve["settings"], command)
            return
        wanted = as_shown(command.expected)
        until = time.monotonic() + (IN_FORCE_SECONDS if command.text.startswith("curl ") else 0.0)
        while True:
            printed = self.run(command.text)
            if wanted.fullmatch(printed):
                return
            if time.monotonic() > until:
                shown = "\n".join(command.expected)
                raise AssertionError(f"$ {command.text}\nprints\n{printed}\nand README.md shows\n{shown}")
            time.sleep(BETWEEN_TRIES_SECONDS)  # nothing tells when a file is in force but asking

    def serve(self, assignments: str, command: Command) -> None:
        """``scripts/serve`` with these settings; the one before ended with Ctrl-C."""
        self.end()
        given = dict(word.split("=", 1) for word in assignments.split())
        given.setdefault("SERVICE_ANSWERS_DIR", "clone/examples/answers")
        settings = {name: value.replace("~", str(self.home)) for name, value in given.items()}
        settings["SERVICE_ANSWERS_DIR"] = str(self.home / settings["SERVICE_ANSWERS_DIR"])
        self.service = Service(**settings)
        shown = [line.replace(self.address, "0.0.0.0:8000") for line in self.service.log]
        assert as_shown(command.expected).fullmatch("\n".join(shown) + "\n"), shown

    def run(self, text: str) -> str:
        """One command line in the other terminal: what it prints, the address as the README has it."""
        asked = text.replace(DOCUMENTED_ADDRESS, self.address)
        if asked.startswith("curl "):
            asked = asked.replace("curl ", "curl --silent --max-time 20 ", 1)  # no progress where there is no terminal
        done = subprocess.run(
            ["bash", "-c", asked],
            cwd=self.checkout,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return done.stdout.decode().replace("\r\n", "\n").replace(self.address, DOCUMENTED_ADDRESS)

    @property
    def address(self) -> str:
        """Where the service listens."""
        assert self.service
        assert self.service.address
        host, port = self.service.address
        return f"{host}:{port}"

    def end(self) -> None:
        """Stop the service that runs, if one does."""
        if self.service:
            with self.service:
                pass
            self.service.wait_for_log(r"^\(the log ended\)$")
            self.log += self.service.log
            self.service = None


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed: apt install curl")
def test_every_command_prints_what_is_shown_and_the_log_says_so(tmp_path: Path) -> None:
    newcomer = Newcomer(tmp_path)
    try:
        for command in COMMANDS:
            newcomer.type(command)
    finally:
        newcomer.end()
    logged = "\n".join(newcomer.log) + "\n"
    missing = [line for line in LOG_LINES if not re.search(rf"(?m)^\S+Z {as_shown((line,)).pattern}", logged)]
    assert missing == [], logged


def test_every_page_of_the_documentation_is_pointed_to() -> None:
    pages = [page.name for page in (CHECKOUT / "docs").glob("*.md") if page.name != "README.md"]
    assert [page for page in pages if f"]({page})" not in INDEX] == []
    rows = re.findall(r"^\| \[(\S+)\]", INDEX, re.MULTILINE)
    assert sorted(rows) == sorted(set(rows)), "a page is there twice"
    assert "](docs/README.md)" in README
