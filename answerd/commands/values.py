"""The values of a command line: files, states, names, numbers. Each raises `CommandError` for a wrong one."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from answerd.commands import WRONG_USAGE, CommandError
from answerd.installs.states import State
from answerd.suggestion import did_you_mean


def read_bytes(name: str) -> bytes:
    """Return a file's content; ``-`` is standard input. Raises `CommandError`, with status 2 where there is no such
    file."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}", WRONG_USAGE) from None


def state_named(text: str) -> State:
    """Return the state that the command line names. Raises `CommandError`."""
    try:
        return State(text.lower())
    except ValueError:
        raise CommandError(f"--state {text!r} is no state; there are {', '.join(State)}", WRONG_USAGE) from None


def one_of(what: str, text: str, known: Iterable[str]) -> None:
    """Raise `CommandError` where ``text`` is none of the known names of ``what``."""
    names = list(known)
    if text not in names:
        near = did_you_mean(text, names, shown=str)
        raise CommandError(f"no such {what}: the {what}s are {', '.join(names)}{near}", WRONG_USAGE)


MOST_DIGITS = 18
"""Digits of a number on the command line: every such number fits the integers of a database."""


def whole_number(option: str, text: str) -> int:
    """Return the command line's whole number above zero. Raises `CommandError`."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and int(text)):
        raise CommandError(f"{option} is a whole number above zero, of at most {MOST_DIGITS} digits", WRONG_USAGE)
    return int(text)
