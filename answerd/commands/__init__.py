"""The commands: each lives in the file of its name, reads the settings, asks the layers below and prints.

A command's module has two public names: ``HELP``, from which the command line is parsed and every help text, the manual
page and the completions are made, and ``run``. `NAMES` lists the commands in the order of the help text.

This module is imported before the service patches the standard library, so it imports nothing that the service uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from keyword import iskeyword
from typing import Any, Protocol, cast

Arguments = Mapping[str, Any]
"""The command line as docopt parsed it: options and positional arguments by their names."""

FAILED = 1
"""The exit status of a command that cannot do what it was asked."""

WRONG_USAGE = 2
"""The exit status for a wrong command line, and for a file on the command line that is not there."""

NAMES = (
    "serve",
    "render",
    "check",
    "diff",
    "validate-answer",
    "captures",
    "inventory",
    "installs",
    "install",
    "arm",
    "disarm",
    "forget",
    "wait",
    "import",
    "export",
    "apply",
    "history",
    "restore-document",
    "backup",
    "restore",
    "token",
    "config",
    "boot-config",
    "migrate",
)
"""Every command. To add one: its name here and a module of that name (`module_name`)."""


class CommandError(Exception):
    """A command cannot do what it was asked. One line for the operator; ``status`` is the exit status."""

    def __init__(self, reason: str, status: int = FAILED) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Help:
    """The help of one command.

    ``summary`` is one sentence of at most 60 characters for the list of commands. ``usage`` are the ways to write the
    command, without the word ``answerd``, in docopt's syntax. ``options`` are pairs of an option as docopt reads it
    (``--body FILE``) and what it does; ``examples`` pairs of a command line and what it does. ``exits`` are pairs of an
    exit status and what it means, where they differ from 0, 1 and 2.
    """

    summary: str
    usage: tuple[str, ...]
    details: str
    examples: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...] = ()
    exits: tuple[tuple[int, str], ...] = ()


class Command(Protocol):
    """The interface of a command's module."""

    HELP: Help

    def run(self, arguments: Arguments) -> int:
        """Run the command; the exit status. Raises `CommandError`."""


def module_name(name: str) -> str:
    """Return the name of a command's module: ``validate_answer``; ``import_``, because ``import`` is a keyword."""
    plain = name.replace("-", "_")
    return f"{plain}_" if iskeyword(plain) else plain


def command(name: str) -> Command:
    """Return the module of a command. It is imported only now: ``serve`` must patch the standard library first."""
    return cast(Command, import_module(f"answerd.commands.{module_name(name)}"))
