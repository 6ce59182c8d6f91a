"""Wait until machines are installed.

Usage:
  answerd wait [--where FILTER]... [--group G] [--state S] [--timeout T]
               [--grace T] [--fail-fast] [ID]...

Waits until each of the chosen machines is done: installed, exhausted, or failed
and not begun again for some time. Where none are chosen it waits for every
machine that has a record, as soon as there is one. With --state they are those
that are in it at the beginning. On a terminal it shows a bar. At the end it
prints how many machines are in each state, and names those that are not
installed, with what they reported.

An ID is a name of a record, a row, a document or a member, any identity of a
machine, or a MAC address; a list of them, cn[01-20,25]; or a pattern, 'cn05*'.
Of several IDs any is meant, and what else is given must hold too. See
docs/install-once.md#which-machines.

Options:
  --where FILTER  The machines whose rows have COLUMN=PATTERN; several of one
                  column mean any of them, of different columns all.
  --group G       The machines of a group.
  --state S       The machines in a state, as for `installs`.
  --timeout T     How long to wait: 90, 90s, 30m, 2h or 1d. Without it, for
                  ever.
  --grace T       How long a machine that has failed may take to begin again
                  [default: 2m].
  --fail-fast     End as soon as one has failed or is exhausted.
  -h --help       This text.

Exit status:
  0  all are installed
  1  all are done, and some have failed or are exhausted; with --fail-fast: one
     is
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
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from answerd.answers.machine_choice import Choice, Chosen
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.machines import OpenInstalls, choice_of, open_installs, state_counts, states_counted
from answerd.commands.terminal import say
from answerd.config import ConfigError
from answerd.installs.sentences import shown_name
from answerd.installs.states import Record, State
from answerd.short_texts import cut
from answerd.store import StoreAway, StoreError

INSTALLED, FAILED_MACHINE, CANNOT, TIME_OVER = 0, 1, 2, 3
"""The exit statuses."""

LONGEST_MESSAGE = 100
"""Characters of what a machine reported, at the end."""

_ENDED = (State.INSTALLED, State.EXHAUSTED, State.FAILED)

POLL_SECONDS = 0.25
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([smhd]?)\Z")


def run(arguments: Arguments) -> int:
    timeout = arguments["--timeout"]
    until = time.monotonic() + duration("--timeout", timeout) if timeout is not None else None
    grace = 0.0 if arguments["--fail-fast"] else duration("--grace", arguments["--grace"])
    try:
        return _wait(open_installs(), choice_of(arguments), Patience(until, grace, arguments["--fail-fast"]))
    except (CommandError, ConfigError, StoreError) as error:
        raise CommandError(str(error), CANNOT) from None


def duration(option: str, text: str) -> float:
    """Return the seconds of a time of the command line. Raises `CommandError`."""
    found = _DURATION.match(text.strip().lower())
    if found is None:
        raise CommandError(f"{option} {text!r} is no time: write 90s, 30m, 2h or 1d", WRONG_USAGE)
    return float(found[1]) * _UNITS[found[2]]


class Patience(NamedTuple):
    """When the wait ends. ``until``: a time of the monotonic clock, None for never. ``grace``: seconds that a machine
    that has failed may take to begin again. ``ends_at_first``: with the first one that has failed or is exhausted."""

    until: float | None
    grace: float
    ends_at_first: bool

    def is_done(self, record: Record, now: float) -> bool:
        """Return whether a machine is not waited for any more."""
        if record.state is State.FAILED:
            return now - record.since >= self.grace
        return record.state in (State.INSTALLED, State.EXHAUSTED)

    @property
    def is_over(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    def seconds(self) -> float:
        """Return how long to wait for the next look."""
        return POLL_SECONDS if self.until is None else max(0.0, min(POLL_SECONDS, self.until - time.monotonic()))


def _wait(installs: OpenInstalls, choice: Choice, patience: Patience) -> int:
    chosen = installs.chosen(choice)
    if chosen.unknown:
        raise CommandError(f"no record, row, document or member is called {', '.join(chosen.unknown)}")
    if not chosen.machines and not choice.is_of_all:
        raise CommandError("there is no such machine")
    bar = _Bar()
    while True:
        records = [one.remembered.record for one in chosen.machines]
        done = [record for record in records if patience.is_done(record, installs.now)]
        has_failed = any(record.state is not State.INSTALLED for record in done)
        is_done = len(done) == len(records) and len(records) > 0
        bar.show(len(done), records)
        if is_done or patience.is_over or (has_failed and patience.ends_at_first):
            bar.close()
            print(state_counts([record.state for record in records]))
            _say_states([record for record in records if record.state is not State.INSTALLED])
            if is_done and not has_failed:
                return INSTALLED
            # at a timeout shorter than --grace: no machine is being installed, so one has failed
            ended = len(records) > 0 and all(record.state in _ENDED for record in records)
            return FAILED_MACHINE if ended or (has_failed and patience.ends_at_first) else TIME_OVER
        time.sleep(patience.seconds())
        chosen = _as_they_are_now(installs, choice, chosen)


class _Bar:
    """A bar of the machines that are done, with how many are in each state, where standard error is a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        if sys.stderr.isatty():
            from tqdm import tqdm  # noqa: PLC0415 - only a terminal needs it

            self._bar = tqdm(unit=" machines", leave=False, delay=1)

    def show(self, done: int, records: Sequence[Record]) -> None:
        if self._bar is not None and records:
            self._bar.total = len(records)
            self._bar.set_postfix_str(states_counted(record.state for record in records), refresh=False)
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


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
        message = f": {cut(record.message, LONGEST_MESSAGE)}" if record.message else ""
        say(f"answerd: {shown_name(record.name)} is {record.state}{message}")
