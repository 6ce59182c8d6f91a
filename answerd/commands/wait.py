"""Wait until machines are installed.

Usage:
  answerd wait [--group G] [--timeout T] [ID...]

Waits for the named machines, those of a group, or without either for every
machine that has a record, as soon as there is one. Ends at once where one has
failed or is exhausted. On a terminal it shows a bar.

Options:
  --group G    The machines of a group.
  --timeout T  How long to wait: 90, 90s, 30m, 2h or 1d. Without it, for ever.
  -h --help    This text.

Exit status:
  0  all are installed
  1  one has failed or is exhausted
  2  a name is unknown, the states cannot be read, or the command line is wrong
  3  the time is over

Examples:
  # Go on when a rack is installed, or after two hours.
  answerd wait --group rack-a --timeout 2h
  # Do something once two machines are installed.
  answerd wait web-01 web-02 && ./configure-cluster
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable

from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.installs import OpenInstalls, open_installs, read_again
from answerd.commands.terminal import progress
from answerd.config import ConfigError
from answerd.installs.records import Remembered
from answerd.installs.sentences import shown_name
from answerd.installs.states import State
from answerd.store import StoreAway, StoreError

INSTALLED, FAILED_MACHINE, CANNOT, TIME_OVER = 0, 1, 2, 3
"""The exit statuses."""


POLL_SECONDS = 0.25
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([smhd]?)\Z")
_BAD = frozenset({State.FAILED, State.EXHAUSTED})


def run(arguments: Arguments) -> int:
    until = time.monotonic() + duration(arguments["--timeout"]) if arguments["--timeout"] is not None else None
    try:
        installs = open_installs()
        return _wait(installs, arguments, until)
    except CommandError as error:
        raise CommandError(str(error), CANNOT) from None
    except (ConfigError, StoreError) as error:
        raise CommandError(str(error), CANNOT) from None


def duration(text: str) -> float:
    found = _DURATION.match(text.strip().lower())
    if found is None:
        raise CommandError(f"--timeout {text!r} is no time: write 90s, 30m, 2h or 1d", WRONG_USAGE)
    return float(found[1]) * _UNITS[found[2]]


def _wait(installs: OpenInstalls, arguments: Arguments, until: float | None) -> int:
    unknown = [name for name in arguments["ID"] if installs.named(name) is None]
    if unknown:
        raise CommandError(f"no record, row, document or member is called {', '.join(unknown)}")
    show = progress("machines")
    while True:
        found = _awaited(installs, arguments)
        bad = [remembered for remembered in found if remembered.record.state in _BAD]
        done = sum(remembered.record.state is State.INSTALLED for remembered in found)
        if bad:
            _print_failures(bad)
            return FAILED_MACHINE
        _show(show, done, len(found))
        if found and done == len(found):
            return INSTALLED
        if until is not None and time.monotonic() >= until:
            missing = [remembered for remembered in found if remembered.record.state is not State.INSTALLED]
            _print_failures(missing)
            return TIME_OVER
        left = POLL_SECONDS if until is None else max(0.0, min(POLL_SECONDS, until - time.monotonic()))
        time.sleep(left)
        try:
            read_again(installs)
        except StoreAway:
            pass  # a database that is away for a moment ends no wait


def _awaited(installs: OpenInstalls, arguments: Arguments) -> list[Remembered]:
    if arguments["--group"] is None and not arguments["ID"]:
        return list(installs.memory.by_name.values())
    found = [remembered for name in arguments["ID"] for remembered in installs.remembered(name)]
    if arguments["--group"] is not None:
        found += installs.selected(arguments["--group"], None)
    return list({remembered.record.name: remembered for remembered in found}.values())


def _show(show: Callable[[int, int], None] | None, done: int, total: int) -> None:
    if show is not None and total:
        show(done, total)


def _print_failures(found: list[Remembered]) -> None:
    for install in sorted(found, key=lambda remembered: remembered.record.name):
        message = f": {install.record.message}" if install.record.message else ""
        print(
            f"answerd: {shown_name(install.record.name)} is {install.record.state}{shown_name(message)}",
            file=sys.stderr,
        )
