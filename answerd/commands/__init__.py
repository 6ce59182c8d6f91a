"""The commands. Each is in the module of its subject, which begins with its help text: docopt parses the command line
by it, and the manual page and the completions are made from it (`answerd.manual`).

This module is imported before the service patches the standard library, so it imports nothing that the service uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

Arguments = Mapping[str, Any]
"""The command line as docopt parsed it: options and positional arguments by their names."""

FAILED = 1
"""The exit status of a command that cannot do what it was asked."""

WRONG_USAGE = 2
"""The exit status for a wrong command line, and for a file on the command line that is not there."""

COMMANDS: Mapping[str, str] = {
    "serve": "serve",
    "render": "render",
    "check": "check",
    "diff": "diff",
    "validate-answer": "validate_answer",
    "captures": "captures",
    "inventory": "inventory",
    "adopt": "adopt",
    "installs": "installs",
    "install": "installs",
    "arm": "orders",
    "disarm": "orders",
    "forget": "orders",
    "wait": "wait",
    "nodes": "nodes",
    "import": "transfer",
    "export": "transfer",
    "apply": "apply",
    "history": "history",
    "restore-document": "history",
    "audit": "audit",
    "backup": "backup",
    "restore": "backup",
    "token": "token",
    "config": "config",
    "boot-config": "boot_config",
    "migrate": "migrate",
}
"""Every command, in the order of the help text, and the module that it is in."""

NAMES = tuple(COMMANDS)


class CommandError(Exception):
    """A command cannot do what it was asked. One line for the operator; ``status`` is the exit status."""

    def __init__(self, reason: str, status: int = FAILED) -> None:
        super().__init__(reason)
        self.status = status


class Command(Protocol):
    """The interface of a command's module. Its docstring is the help text, by which docopt parses the command line."""

    __doc__: str

    def run(self, arguments: Arguments) -> int:
        """Run the command; the exit status. Raises `CommandError`."""


def command(name: str) -> Command:
    """Return the module of a command. It is imported only now: ``serve`` must patch the standard library first."""
    return cast(Command, import_module(f"answerd.commands.{COMMANDS[name]}"))


def usage_of(name: str) -> list[str]:
    """Return the lines of the help text that show how one command is called."""
    usage = command(name).__doc__.partition("Usage:\n")[2].partition("\n\n")[0]
    forms = re.findall(r"^  answerd (\S+)(?:.*)(?:\n   .*)*", usage, re.MULTILINE)
    texts = re.split(r"\n(?=  answerd )", usage)
    return [line for form, text in zip(forms, texts, strict=True) if form == name for line in text.splitlines()]


def options_of(name: str) -> dict[str, tuple[str, str]]:
    """Return the options of one command: each with the name of its argument, which may be empty, and what it does."""
    usage = " ".join(usage_of(name))
    explained = command(name).__doc__.partition("\nOptions:\n")[2].partition("\n\n")[0]
    rows = re.findall(
        r"^  (?:-\w,? )?(--[a-z0-9-]+)(?:[ =]([A-Z]+))? *\n? +(.*(?:\n {4,}.*)*)", explained, re.MULTILINE
    )
    return {
        option: (argument, " ".join(meaning.split()))
        for option, argument, meaning in rows
        if option == "--help" or re.search(rf"{option}(?![a-z0-9-])", usage)
    }
