"""The recorded requests (SERVICE_CAPTURE_DIR), newest first.

Usage:
  answerd captures [--machine NAME] [--status STATUS] [--since TIME] [--json]

Lists what the service recorded: time, address, who asked, outcome, request and
file. The file's name is what answerd render --replay takes.

Options:
  --machine NAME   Only requests that carry this identity: a MAC address, a
                   serial number, a host name.
  --status STATUS  Only requests with this outcome: 404, or 4xx for all from 400
                   to 499.
  --since TIME     Only requests of the last 30m, 1h, 2d, or since 2026-11-20 or
                   2026-11-20T21:00:00Z.
  --json           For programs.
  -h --help        This text.

Exit status:
  0  it worked
  1  it did not; the reason is on standard error
  2  the command line is wrong, or a file on it is not there

Examples:
  # List what was refused within the last hour.
  answerd captures --status 4xx --since 1h
  # List what one machine asked for.
  answerd captures --machine 98:fa:9b:50:d8:10
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from answerd import captures
from answerd.captures import Capture
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.common import unread_env_file
from answerd.commands.terminal import counted, print_json, print_table, printable_line
from answerd.config import read_config
from answerd.facts import Facts
from answerd.identity import identity_of, printable

COLUMNS = ("time", "peer", "identity", "outcome", "request", "file")
WIDEST = 60
"""Characters of a cell, so that columns stay aligned; ``--json`` has all of it."""

_STATUS = re.compile(r"[1-5](?:\d\d|xx)\Z")
_AGE = re.compile(r"(?P<number>\d{1,6})(?P<unit>[smhd])\Z")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

Filter = Callable[[Capture, Facts], bool]


def run(arguments: Arguments) -> int:
    wanted = list(_filters(arguments))
    directory = capture_directory()
    if directory is None:
        raise CommandError(f"SERVICE_CAPTURE_DIR is not set: there is nothing to list{unread_env_file()}")
    try:
        found = list(captures.newest_first(directory))
    except OSError as error:
        raise CommandError(f"{directory} cannot be read: {error.strerror}") from None
    print(f"# captures: {printable_line(str(directory))}, {counted(len(found), 'request')}", file=sys.stderr)
    rows = list(_rows(found, wanted))
    if arguments["--json"]:
        print_json({"captures": rows})
        return 0
    print_table([[*(_cut(row[column]) for column in COLUMNS[:-1]), row[COLUMNS[-1]]] for row in rows])
    return 0


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def capture_directory() -> Path | None:
    """Return the directory of captures that the settings name."""
    directory = read_config(os.environ, to_serve=False).capture_dir
    return None if directory is None else Path(directory)


def capture_named(name: str) -> Path:
    """Return the ``.meta`` file of a capture, by its path or its name as ``captures`` prints it.

    Raises `CommandError`, with status 2, where there is no such file.
    """
    path = Path(name)
    if not path.exists() and "/" not in name and (directory := capture_directory()) is not None:
        path = directory / name
    if not path.exists():
        raise CommandError(
            f"{name} cannot be read: there is none; answerd captures lists the requests that were recorded", WRONG_USAGE
        )
    return path


def _filters(arguments: Arguments) -> Iterator[Filter]:
    """Yield the conditions on a capture. Raises `CommandError`."""
    if (name := arguments["--machine"]) is not None:
        wanted = identity_of(name)
        yield lambda _, facts: wanted in facts.identities
    if (status := arguments["--status"]) is not None:
        if not _STATUS.match(status):
            raise CommandError(f"--status {status!r} is no status: write 404, or 4xx", WRONG_USAGE)
        begin = status.rstrip("x")
        yield lambda capture, _: capture.outcome.split(" ")[0].startswith(begin)
    if (since := arguments["--since"]) is not None:
        begin_time = _moment(since)
        yield lambda capture, _: capture.time >= begin_time


def _moment(text: str) -> str:
    """Return a moment in UTC as captures have it. Raises `CommandError`."""
    age = _AGE.match(text)
    try:
        if age:
            moment = datetime.now(UTC) - timedelta(**{_UNITS[age["unit"]]: int(age["number"])})
        else:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise CommandError(
            f"--since {text!r} is no time: write 30m, 1h, 2d, 2026-11-20 or 2026-11-20T21:00:00Z", WRONG_USAGE
        ) from None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _rows(found: list[tuple[str, Capture | captures.CaptureError]], wanted: list[Filter]) -> Iterator[dict[str, str]]:
    for name, capture in found:
        try:
            if isinstance(capture, captures.CaptureError):
                raise capture
            facts = Facts(capture.request)
        except captures.CaptureError as error:
            print(f"answerd: {printable_line(str(error))}", file=sys.stderr)
            continue
        if not all(is_wanted(capture, facts) for is_wanted in wanted):
            continue
        row = {
            "file": name,
            "time": capture.time,
            "peer": capture.peer,
            "identity": facts.described,
            "request": capture.request_line,
            "outcome": capture.outcome,
        }
        yield {key: printable(value) for key, value in row.items()}
