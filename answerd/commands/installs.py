"""Which machines are installed, missing or failed.

Usage:
  answerd installs [--state S] [--group G] [--json] [--from URL]... [--ca FILE]
  answerd installs --unknown [--json] [--from URL]... [--ca FILE]

A line for each machine that has a record. With --group also the machines of the
group that have none, and with --state new all that a row, a document or a
member names: they are new.

Options:
  --group G   The machines of a group: its members, the machines that extend it,
              and the rows that it claims.
  --state S   The machines in a state: new, armed, installing, copied,
              installed, failed, exhausted; or silent: those that install and
              have neither asked nor reported for SERVICE_INSTALL_SECS.
  --unknown   The machines that asked and were claimed by nothing, the last
              first.
  --from URL  Ask the admin API of a service; several in one list, each with its
              site. The token is in SERVICE_ADMIN_TOKEN or
              SERVICE_ADMIN_TOKEN_FILE.
  --ca FILE   Certificates (PEM) that are trusted for --from, in place of the
              system's.
  --json      For programs.
  -h --help   This text.

Exit status:
  0  it worked
  1  it did not, or a site of --from cannot be asked; the reason is on standard
     error
  2  the command line is wrong, or a file on it is not there

Examples:
  # Show which machines failed, and why.
  answerd installs --state failed
  # Show which machines no document claims.
  answerd installs --unknown
  # Show the machines of two sites in one list.
  answerd installs --from https://a.example:8001 --from https://b.example:8001
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from answerd.answers.unclaimed import still_unclaimed
from answerd.commands import FAILED, WRONG_USAGE, Arguments, CommandError
from answerd.commands.common import state_named
from answerd.commands.machines import open_installs
from answerd.commands.remote import AdminApi
from answerd.commands.terminal import counted, print_json, print_table, printable_line
from answerd.installs.sentences import shown_name
from answerd.installs.shown import MOST_LISTED, record_as_json, unknown_as_json
from answerd.installs.states import STATE_WORDS, State

_COLOURS: Mapping[str | None, str] = {
    State.INSTALLED: "green",
    State.FAILED: "red",
    State.EXHAUSTED: "red",
    State.COPIED: "cyan",
}
_LONGEST_MESSAGE = 60
ANSWERED = " (answered by the default)"

MOST_ASKED_AT_ONCE = 16
SITE_SECONDS = 30.0
"""How long a site has for each of its responses: behind a bad line it is not worth waiting longer for a list."""


def run(arguments: Arguments) -> int:
    """Print a table of machines, or JSON."""
    state = state_named(arguments["--state"], STATE_WORDS)
    if arguments["--from"]:
        return _print_sites(arguments, state)
    if arguments["--ca"]:
        raise CommandError("--ca is for --from", WRONG_USAGE)
    installs = open_installs()
    if arguments["--unknown"]:
        unknown = still_unclaimed(installs.catalogue, installs.store.unknown())
        _print(arguments, [unknown_as_json(machine) for machine in unknown])
    else:
        found = installs.selected(arguments["--group"], state)
        _print(arguments, [record_as_json(remembered, installs.now, installs.rules) for remembered in found])
    return 0


def _print_sites(arguments: Arguments, state: str | None) -> int:
    """Print what several services say. Exit status 1 if one of them cannot be asked."""
    sites = [AdminApi.of(url, arguments["--ca"], "--from", SITE_SECONDS) for url in arguments["--from"]]
    query = {name: value for name, value in (("state", state), ("group", arguments["--group"])) if value is not None}
    path, what = ("/unknown", "unknown") if arguments["--unknown"] else ("/installs", "installs")
    machines: list[dict[str, Any]] = []
    faults: list[CommandError] = []

    def asked(site: AdminApi) -> list[dict[str, Any]] | CommandError:
        try:
            return [{"site": site.site, **machine} for machine in _all_pages(site, path, what, query)]
        except CommandError as error:
            return error

    with ThreadPoolExecutor(MOST_ASKED_AT_ONCE) as pool:  # a site that is away holds up no other
        for answer in pool.map(asked, sites):
            if isinstance(answer, CommandError):
                faults.append(answer)
            else:
                machines += answer
    _print(arguments, machines)
    for fault in faults:
        print(f"answerd: {printable_line(str(fault))}", file=sys.stderr)
    return FAILED if faults else 0


def _all_pages(site: AdminApi, path: str, what: str, query: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = site.get(path, **query)[what]
    page = found
    while path == "/installs" and len(page) == MOST_LISTED:
        page = site.get(path, **query, after=page[-1]["machine"])[what]
        found = [*found, *page]
    return found


def _print(arguments: Arguments, machines: Sequence[dict[str, Any]]) -> None:
    """Print installs or unknown machines as JSON has them."""
    unknown = arguments["--unknown"]
    if arguments["--json"]:
        print_json({"unknown" if unknown else "installs": machines})
        return
    columns: _Columns = _UNKNOWN_COLUMNS if unknown else _COLUMNS
    if arguments["--from"]:
        columns = {"SITE": lambda machine: str(machine["site"]), **columns}
    rows = [[cell(machine) for cell in columns.values()] for machine in machines]
    print_table([[*columns], *rows], ["", *(_COLOURS.get(machine.get("state"), "") for machine in machines)])
    print(f"{counted(len(machines), 'machine')} that nothing claims" if unknown else _summary(machines))


def _state(record: dict[str, Any]) -> str:
    return f"{record['state']}, silent" if record["silent"] else str(record["state"])


def _message(record: dict[str, Any]) -> str:
    message = printable_line(record["message"] or "")
    percent = f"{record['percent']}% " if record["percent"] is not None else ""
    return percent + (message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…")


def _path(machine: dict[str, Any]) -> str:
    path = str(next(iter(machine["facts"].get("path") or ()), ""))
    return printable_line(path) + (ANSWERED if machine["answered_by_default"] else "")


_Columns = Mapping[str, Callable[[dict[str, Any]], str]]
"""The cell of a machine by the heading of its column."""

_COLUMNS: _Columns = {
    "MACHINE": lambda record: shown_name(record["machine"]),
    "STATE": _state,
    "SINCE": lambda record: record["since"] or "-",
    "HEARD": lambda record: record["heard"] or "-",
    "LAST STEP": lambda record: printable_line(record["last_step"] or "-"),
    "STARTS": lambda record: str(record["starts"]),
    "GROUP": lambda record: shown_name(record["group"] or "-"),
    "MESSAGE": _message,
}

_UNKNOWN_COLUMNS: _Columns = {
    "MACHINE": lambda machine: shown_name(machine["machine"]),
    "LAST": lambda machine: str(machine["last"]),
    "FIRST": lambda machine: str(machine["first"]),
    "ASKED": lambda machine: str(machine["asked"]),
    "PATH": _path,
}


def _summary(records: Sequence[dict[str, Any]]) -> str:
    counts = [(state, sum(install["state"] == state for install in records)) for state in State]
    states = ", ".join(f"{count} {state}" for state, count in counts if count)
    return f"{counted(len(records), 'machine')}{f': {states}' if states else ''}"
