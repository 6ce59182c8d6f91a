"""One machine's install, with its history.

Usage:
  answerd install ID [--show-secrets] [--json]

ID is a name of a record, a row, a document or a member, any identity of the
machine, or a MAC address.

Options:
  --show-secrets  Do not mask secrets in what the machine reported.
  --json          For programs; with the beginning of each report's body.
  -h --help       This text.

Exit status:
  0  the machine is known
  1  nothing has this name
  2  the command line is wrong

Examples:
  # Show what a machine was given, and what it reported.
  answerd install web-01
  # Name it by any of its addresses.
  answerd install 98:fa:9b:50:d8:10
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from answerd.answers.redaction import redacted_install
from answerd.commands import Arguments, CommandError
from answerd.commands.common import configured_sources
from answerd.commands.machines import open_installs
from answerd.commands.terminal import print_json, printable_line
from answerd.installs.sentences import shown_name
from answerd.installs.shown import event_as_json, record_as_json


def run(arguments: Arguments) -> int:
    """Print a machine's state and history. Exit status 1 if nothing has the name."""
    installs = open_installs()
    found = installs.remembered(arguments["ID"])
    if not found:
        raise CommandError(f"no record, row, document or member is called {arguments['ID']}, and it is no MAC address")
    records: list[dict[str, Any]] = []
    sources = configured_sources()
    for remembered in found:
        events = installs.store.history(remembered.record.name)
        record = record_as_json(remembered, installs.now, installs.rules)
        record["events"] = [event_as_json(event) for event in events]
        is_shown = arguments["--show-secrets"]
        records.append(record if is_shown else redacted_install(record, installs.catalogue, sources))
    if arguments["--json"]:
        print_json(records[0] if len(records) == 1 else records)
        return 0
    for machine in records:
        _print(machine)
    return 0


def _print(record: dict[str, Any]) -> None:
    silent = ", silent" if record["silent"] else ""
    since = f" since {record['since']}" if record["since"] else ""
    print(f"{shown_name(record['machine'])} is {record['state']}{silent}{since}")
    print(f"  starts:      {record['starts']}")
    print(f"  group:       {shown_name(record['group'] or '-')}")
    print(f"  identities:  {', '.join(shown_name(identity) for identity in record['identities']) or '-'}")
    if record["message"]:
        print(f"  message:     {printable_line(record['message'])}")
    events: Sequence[dict[str, Any]] = record["events"]
    print("  history:" if events else "  history:     none")
    for event in events:
        origin = f" from {printable_line(event['from'])}" if event["from"] else ""
        detail = f": {printable_line(event['detail'])}" if event["detail"] else ""
        print(f"    {event['at']}  {event['event']}{detail}{origin}{'' if event['counts'] else ' (changed nothing)'}")
        for line in event["body"].splitlines():
            print(f"        | {printable_line(line)}")
