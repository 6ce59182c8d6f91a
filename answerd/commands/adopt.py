"""Rows for machines that asked and that nothing claims.

Usage:
  answerd adopt [--name PATTERN] [--set CELL]... [--said FILTER]... [--count N]
                [--free] [--to NAME] [--dry-run] [--yes] [--json]

Makes a row of each unknown machine (answerd installs --unknown), in the order
in which they first asked: power them on one after another, and they get their
names in this order. It shows the rows first, and asks. See
docs/inventory.md#adopting-machines.

Options:
  --name PATTERN  The names of the rows, with {n} for a number: 'cn{n:04}' is
                  cn0001, cn0002 and so on, after the highest number that there
                  is. Without it, and without --free, a row has no name.
  --set CELL      A cell that all rows get: COLUMN=TEXT, role=gpu.
  --said FILTER   Only machines that said LABEL=PATTERN, 'product=R750*';
                  several of one label mean any of them, of different labels
                  all.
  --count N       At most so many machines.
  --free          Fill rows that have a name and no MAC address, serial number
                  or UUID yet, in their order, in place of new rows.
  --to NAME       The inventory, in place of "default" (inventory.csv).
  --dry-run       Show the rows, and change nothing.
  --yes           Do not ask.
  --json          Print the rows, and the machines that were left out with the
                  reason of each, as JSON, and do not ask.
  -h --help       This text.

Exit status:
  0  it worked
  1  it did not, or no machine was adopted; the reason is on standard error
  2  the command line is wrong

Examples:
  # Give machines names in the order in which they were powered on.
  answerd adopt --name 'cn{n:04}' --set rack=R12 --set role=gpu
  # Give prepared rows the machines that were powered on, from top to bottom.
  answerd adopt --free --said 'product=PowerEdge*' --count 16
"""

from __future__ import annotations

import sys

from answerd.adoption import Adoption, Plan, WrongAdoption, adopted_note, named_in, place_of, plan_as_json, planned
from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import machines_with_state
from answerd.answers.secret_names import redacted_cell
from answerd.answers.unclaimed import still_unclaimed
from answerd.commands import FAILED, WRONG_USAGE, Arguments, CommandError
from answerd.commands.common import (
    counted,
    print_json,
    print_table,
    read_documents,
    said_yes,
    say,
    say_each,
    whole_number,
)
from answerd.commands.installs import OpenInstalls, states_beside
from answerd.commands.inventory import write_inventory
from answerd.documents import Key
from answerd.identity import Kind, identifier_fault
from answerd.installs.sentences import moment, shown_name
from answerd.inventory import DEFAULT_NAME, FORMAT
from answerd.inventory.records import written_record


def run(arguments: Arguments) -> int:
    """Adopt unknown machines. Exit status 1 where there is none to adopt."""
    name = arguments["--to"] or DEFAULT_NAME
    if fault := identifier_fault(Kind.INVENTORY, name):
        raise CommandError(f"--to {name!r}: {fault}", WRONG_USAGE)
    asked = _asked(arguments)
    store, catalogue = read_documents()
    installs = states_beside(store, catalogue)
    key = Key(Kind.INVENTORY, name, FORMAT)
    text = _stored(catalogue, key)
    plan = _planned(catalogue, installs, key, text, asked)
    report = plan_as_json(plan)
    if not arguments["--json"]:
        _print(plan)
    if plan.adopted and not arguments["--dry-run"]:
        asks = sys.stdin.isatty() and sys.stdout.isatty() and not arguments["--yes"] and not arguments["--json"]
        if asks and not said_yes(f"Adopt {counted(len(plan.adopted), 'machine')}?"):
            raise CommandError("nothing was adopted")
        write_inventory(store, key, text, plan.text, adopted_note(len(plan.adopted)))
    if arguments["--json"]:
        print_json({"status": "dry run" if arguments["--dry-run"] else "adopted", **report})
    elif plan.adopted and not arguments["--dry-run"]:
        print(f"{counted(len(plan.adopted), 'machine')} adopted, {len(plan.left_out)} left out")
    if not plan.adopted:
        say("answerd: there is no machine to adopt")
    return 0 if plan.adopted else FAILED


def _asked(arguments: Arguments) -> Adoption:
    values: dict[str, str] = {}
    for cell in arguments["--set"]:
        column, equals, text = cell.partition("=")
        if not equals or not column.strip():
            raise CommandError(f"--set {cell!r} is no cell: write COLUMN=TEXT, role=gpu", WRONG_USAGE)
        values[column.strip()] = text
    count = None if arguments["--count"] is None else whole_number("--count", arguments["--count"])
    return Adoption(arguments["--name"], values, arguments["--said"], count, arguments["--free"])


def _planned(catalogue: Catalogue, installs: OpenInstalls, key: Key, text: str | None, asked: Adoption) -> Plan:
    machines = still_unclaimed(catalogue, installs.store.unknown())
    names = [machine.name for machine in machines_with_state(catalogue, installs.memory)]
    try:
        return planned(catalogue, key, text, machines, asked, names)
    except WrongAdoption as error:
        raise CommandError(str(error), WRONG_USAGE) from None


def _stored(catalogue: Catalogue, key: Key) -> str | None:
    """Return the text of an inventory as it is stored; None where there is none."""
    raw = catalogue.raw_of(key.name)
    return raw.text if raw is not None else None


def _print(plan: Plan) -> None:
    layout = plan.table.layout
    lines = [["MACHINE", "FIRST ASKED", "NAME", "PLACE", "ROW"]] if plan.adopted else []
    for one in plan.adopted:
        shown = [redacted_cell(*cell) for cell in zip(layout.columns, one.cells, layout.keys, strict=True)]
        lines.append(
            [
                shown_name(one.machine.machine),
                moment(one.machine.first),
                named_in(plan, one),
                place_of(plan, one) if one.line is not None else f"new in {plan.source}",
                written_record(shown, layout.syntax.separator),
            ]
        )
    print_table(lines)
    say_each("left out", ((shown_name(machine.machine), why) for machine, why in plan.left_out))
