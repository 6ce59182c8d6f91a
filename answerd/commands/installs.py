"""Which machines are installed, missing or failed.

Usage:
  answerd installs [--state S] [--group G] [--json]
  answerd installs --unknown [--json]

A line for each machine that has a record. With --group also the machines of the
group that have none: they are new.

Options:
  --group G  The machines of a group: its members, the machines that extend it,
             and the rows that it claims.
  --state S  The machines in a state: new, armed, installing, copied, installed,
             failed, exhausted.
  --unknown  The machines that asked and were claimed by nothing, the last
             first.
  --json     For programs.
  -h --help  This text.

Exit status:
  0  it worked
  1  it did not; the reason is on standard error
  2  the command line is wrong, or a file on it is not there

Examples:
  # Show which machines failed, and why.
  answerd installs --state failed
  # Show which machines no document claims.
  answerd installs --unknown
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from answerd.answers.unclaimed import still_unclaimed
from answerd.commands import Arguments
from answerd.commands.common import state_named
from answerd.commands.machines import OpenInstalls, open_installs
from answerd.commands.terminal import coloured, counted, print_json, printable_line
from answerd.installs.memory import Remembered
from answerd.installs.sentences import shown_name
from answerd.installs.shown import UnknownMachine, record_as_json, unknown_as_json
from answerd.installs.states import State

_COLOURS = {State.INSTALLED: "green", State.FAILED: "red", State.EXHAUSTED: "red", State.COPIED: "cyan"}
_HEADER = ("MACHINE", "STATE", "SINCE", "STARTS", "GROUP", "MESSAGE")
_LONGEST_MESSAGE = 60


def run(arguments: Arguments) -> int:
    """Print a table of machines, or JSON."""
    state = state_named(arguments["--state"])
    installs = open_installs()
    if arguments["--unknown"]:
        _print_unknown(still_unclaimed(installs.catalogue, installs.store.unknown()), as_text=not arguments["--json"])
        return 0
    found = selected(installs, arguments["--group"], state)
    records = [record_as_json(remembered, installs.now, installs.rules) for remembered in found]
    if arguments["--json"]:
        print_json({"installs": records})
    else:
        _print_table([_HEADER, *map(_line, records)], [None, *(remembered.record.state for remembered in found)])
        print(_summary(records))
    return 0


def selected(installs: OpenInstalls, group: str | None, state: State | None) -> list[Remembered]:
    """Return the records that the options ask for, sorted by name."""
    if group is not None:
        found = {
            remembered.record.name: remembered
            for name in installs.of_group(group)
            for remembered in installs.remembered(name)
        }
    else:
        found = {remembered.record.name: remembered for remembered in installs.memory.by_name.values()}
    return [remembered for _, remembered in sorted(found.items()) if state is None or remembered.record.state is state]


def _line(record: dict[str, Any]) -> tuple[str, ...]:
    message = printable_line(record["message"] or "")
    percent = f"{record['percent']}% " if record["percent"] is not None else ""
    return (
        shown_name(record["machine"]),
        f"{record['state']}, silent" if record["silent"] else record["state"],
        record["since"] or "-",
        str(record["starts"]),
        shown_name(record["group"] or "-"),
        percent + (message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"),
    )


def _print_table(rows: Sequence[Sequence[str]], states: Sequence[State | None]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row, state in zip(rows, states, strict=True):
        line = "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        print(coloured(line, _COLOURS[state]) if state in _COLOURS else line)


def _summary(records: Sequence[dict[str, Any]]) -> str:
    counts = [(state, sum(install["state"] == state for install in records)) for state in State]
    states = ", ".join(f"{count} {state}" for state, count in counts if count)
    return f"{counted(len(records), 'machine')}{f': {states}' if states else ''}"


ANSWERED = " (answered by the default)"


def _print_unknown(machines: Sequence[UnknownMachine], *, as_text: bool) -> None:
    unknown = [unknown_as_json(machine) for machine in machines]
    if not as_text:
        print_json({"unknown": unknown})
        return
    header = ("MACHINE", "LAST", "FIRST", "ASKED", "PATH")
    rows = [
        (
            shown_name(machine["machine"]),
            machine["last"],
            machine["first"],
            str(machine["asked"]),
            printable_line(_path(machine["facts"])) + (ANSWERED if machine["answered_by_default"] else ""),
        )
        for machine in unknown
    ]
    _print_table([header, *rows], [None] * (len(rows) + 1))
    print(f"{counted(len(rows), 'machine')} that nothing claims")


def _path(facts: dict[str, Any]) -> str:
    return str(next(iter(facts.get("path") or ()), ""))
