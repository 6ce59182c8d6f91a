"""Wait until machines are installed.

Usage:
  answerd wait [--where FILTER]... [--group G] [--state S] [--timeout T] [ID]...

Waits for the chosen machines, or where none are chosen for every machine that
has a record, as soon as there is one. With --state they are those that are in
it at the beginning. Ends at once where one has failed or is exhausted. On a
terminal it shows a bar.

An ID is a name of a record, a row, a document or a member, any identity of a
machine, or a MAC address; a list of them, cn[01-20,25]; or a pattern, 'cn05*'.
Of several IDs any is meant, and what else is given must hold too.

Options:
  --where FILTER  The machines whose rows have COLUMN=PATTERN; several of one
                  column mean any of them, of different columns all.
  --group G       The machines of a group.
  --state S       The machines in a state, as for `installs`.
  --timeout T     How long to wait: 90, 90s, 30m, 2h or 1d. Without it, for
                  ever.
  -h --help       This text.

Exit status:
  0  all are installed
  1  one has failed or is exhausted
  2  a name is unknown, no machine is as the options say, the states cannot be
     read, or the command line is wrong
  3  the time is over

Examples:
  # Go on when a rack is installed, or after two hours.
  answerd wait --where rack=R12 --timeout 2h
  # Do something once two machines are installed.
  answerd wait web-01 web-02 && ./configure-cluster
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from answerd.answers.machine_choice import Choice, Chosen
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.common import progress, say
from answerd.commands.installs import OpenInstalls, choice_of, open_installs
from answerd.config import ConfigError
from answerd.installs.sentences import shown_name
from answerd.installs.states import Record, State
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
    choice = choice_of(arguments)
    chosen = installs.chosen(choice)
    if chosen.unknown:
        raise CommandError(f"no record, row, document or member is called {', '.join(chosen.unknown)}")
    if not chosen.machines and not choice.is_of_all:
        raise CommandError("there is no such machine")
    show = progress("machines")
    while True:
        records = [one.remembered.record for one in chosen.machines]
        missing = [record for record in records if record.state is not State.INSTALLED]
        bad = [record for record in missing if record.state in (State.FAILED, State.EXHAUSTED)]
        if bad:
            _say_states(bad)
            return FAILED_MACHINE
        if records:
            show(len(records) - len(missing), len(records))
            if not missing:
                return INSTALLED
        if until is not None and time.monotonic() >= until:
            _say_states(missing)
            return TIME_OVER
        time.sleep(POLL_SECONDS if until is None else max(0.0, min(POLL_SECONDS, until - time.monotonic())))
        chosen = _as_they_are_now(installs, choice, chosen)


def _as_they_are_now(installs: OpenInstalls, choice: Choice, before: Chosen) -> Chosen:
    """Return the machines as they are now: a group may have more of them; of a state those of the beginning."""
    changes = installs.memory.changes
    try:
        installs.read_again()
    except StoreAway:  # a database that is away for a moment ends no wait
        return before
    if installs.memory.changes == changes:
        return before
    if choice.state is None:
        return installs.chosen(choice)
    machines = [one._replace(remembered=one.machine.seen_in(installs.memory)) for one in before.machines]
    return before._replace(machines=machines)


def _say_states(found: Sequence[Record]) -> None:
    for record in found:
        message = f": {record.message}" if record.message else ""
        say(f"answerd: {shown_name(record.name)} is {record.state}{shown_name(message)}")
