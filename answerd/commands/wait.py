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
import time

from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.common import progress, say
from answerd.commands.installs import OpenInstalls, open_installs
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


def run(arguments: Arguments) -> int:
    until = time.monotonic() + duration(arguments["--timeout"]) if arguments["--timeout"] is not None else None
    try:
        return _wait(open_installs(), arguments, until)
    except (CommandError, ConfigError, StoreError) as error:
        raise CommandError(str(error), CANNOT) from None


def duration(text: str) -> float:
    """Return the seconds of a time of the command line. Raises `CommandError`."""
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
        missing = [remembered for remembered in found if remembered.record.state is not State.INSTALLED]
        bad = [remembered for remembered in missing if remembered.record.state in (State.FAILED, State.EXHAUSTED)]
        if bad:
            _say_states(bad)
            return FAILED_MACHINE
        if found:
            show(len(found) - len(missing), len(found))
            if not missing:
                return INSTALLED
        if until is not None and time.monotonic() >= until:
            _say_states(missing)
            return TIME_OVER
        time.sleep(POLL_SECONDS if until is None else max(0.0, min(POLL_SECONDS, until - time.monotonic())))
        try:
            installs.read_again()
        except StoreAway:
            pass  # a database that is away for a moment ends no wait


def _awaited(installs: OpenInstalls, arguments: Arguments) -> list[Remembered]:
    if arguments["--group"] is None and not arguments["ID"]:
        return installs.all()
    found = [remembered for name in arguments["ID"] for remembered in installs.remembered(name)]
    if arguments["--group"] is not None:
        found += installs.selected(arguments["--group"], None)
    return list({remembered.record.name: remembered for remembered in found}.values())


def _say_states(found: list[Remembered]) -> None:
    for record in sorted((remembered.record for remembered in found), key=lambda record: record.name):
        message = f": {record.message}" if record.message else ""
        say(f"answerd: {shown_name(record.name)} is {record.state}{shown_name(message)}")
