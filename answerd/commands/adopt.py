"""Rows for machines that asked and that nothing claims.

Usage:
  answerd adopt [--name PATTERN] [--set CELL]... [--said FILTER]... [--count N]
                [--free] [--to NAME] [--from URL] [--ca FILE] [--dry-run]
                [--yes] [--json]

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
  --from URL      The machines that asked the service of this admin API, into
                  its inventory. The token is in SERVICE_ADMIN_TOKEN or
                  SERVICE_ADMIN_TOKEN_FILE; its role is inventory or admin.
  --ca FILE       Certificates (PEM) that are trusted for --from, in place of
                  the system's.
  --dry-run       Show the rows, and change nothing.
  --yes           Do not ask.
  --json          Print the rows, and the machines that were left out with the
                  reason of each, as JSON, and do not ask.
  -h --help       This text.

Exit status:
  0  it worked
  1  it did not, or no machine was adopted; the reason is on standard error
  2  the command line is wrong, or the service cannot be asked

Examples:
  # Give machines names in the order in which they were powered on.
  answerd adopt --name 'cn{n:04}' --set rack=R12 --set role=gpu
  # Give prepared rows the machines that were powered on, from top to bottom.
  answerd adopt --free --said 'product=PowerEdge*' --count 16
  # Adopt the machines that asked a service elsewhere.
  answerd adopt --from https://answers.example:8001 --name 'cn{n:04}'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from answerd.adoption import Adoption, WrongAdoption, adopted_note, plan_as_json, planned
from answerd.answers.diff import compare
from answerd.answers.operator_names import machines_with_state
from answerd.answers.secret_names import redacted_row
from answerd.answers.unclaimed import still_unclaimed
from answerd.commands import FAILED, WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import read_documents
from answerd.commands.inventory import stored_text, write_inventory
from answerd.commands.machines import states_beside
from answerd.commands.remote import AdminApi, Shape
from answerd.commands.terminal import can_ask, counted, print_json, print_table, said_yes, say, say_each
from answerd.commands.values import whole_number
from answerd.documents import Key
from answerd.identity import Kind, identifier_fault
from answerd.installs.sentences import shown_name
from answerd.inventory import DEFAULT_NAME, FORMAT
from answerd.inventory.records import written_record
from answerd.server.statuses import BAD_REQUEST, PRECONDITION_FAILED
from answerd.store.states import words_known


class Shown(NamedTuple):
    """What was shown before it was asked: the machines, and the tag of the inventory, empty where there was none."""

    machines: list[str]
    tag: str


Target = Callable[[bool, Shown | None], tuple[dict[str, Any], str]]
"""Adopts, or tries it in a dry run; of what was shown other machines are not adopted, and none into an inventory that
was changed. Returns the JSON of the admin API, and the tag of the inventory. Raises `CommandError`."""

_LINE: Final = re.compile(r":\d+\Z")

ADOPT_SECONDS: Final = 600.0
"""For a request to a service, which judges the whole set anew."""

_ADOPTED: dict[str, Shape] = {
    "status": "adopted",
    "rows": [{"machine": str, "first": str, "name": str, "place": str, "row": dict}],
    "left_out": [{"machine": str, "reason": str}],
    "problems": [str],
}
_TRIED: dict[str, Shape] = {**_ADOPTED, "status": "dry run", "notes": [str]}


def run(arguments: Arguments) -> int:
    """Adopt unknown machines. Exit status 1 where there is none to adopt."""
    name = arguments["--to"] or DEFAULT_NAME
    if fault := identifier_fault(Kind.INVENTORY, name):
        raise CommandError(f"--to {name!r}: {fault}", WRONG_USAGE)
    asked, is_json = _asked(arguments), bool(arguments["--json"])
    if arguments["--ca"] and not arguments["--from"]:
        raise CommandError("--ca is for --from", WRONG_USAGE)
    adopt, labels = _through_the_api(arguments, name, asked) if arguments["--from"] else _in_the_store(name, asked)
    asks = can_ask() and not arguments["--yes"] and not is_json
    is_tried = arguments["--dry-run"] or asks
    report, tag = adopt(is_tried, None)
    if not is_json:
        _print(report, labels)
    left_out = {one["machine"] for one in report["left_out"]}
    if report["rows"] and is_tried and not arguments["--dry-run"]:
        if not said_yes(f"Adopt {counted(len(report['rows']), 'machine')}?"):
            raise CommandError("nothing was adopted")
        shown = report["rows"]
        report, _ = adopt(False, Shown([row["machine"] for row in shown], tag))
        left_out.update(one["machine"] for one in report["left_out"])
        if report["rows"] != shown:
            say("answerd: what was adopted differs from what was shown")
            _print(report, labels)
    for problem in [] if is_json else report.get("problems", ()):
        say(f"problem: {problem}")
    if is_json:
        print_json(report)
    elif report["rows"] and not arguments["--dry-run"]:
        print(f"{counted(len(report['rows']), 'machine')} adopted, {len(left_out)} left out")
    if not report["rows"]:
        say("answerd: there is no machine to adopt")
    return 0 if report["rows"] else FAILED


def _asked(arguments: Arguments) -> Adoption:
    values: dict[str, str] = {}
    for cell in arguments["--set"]:
        column, equals, text = cell.partition("=")
        if not equals or not column.strip():
            raise CommandError(f"--set {cell!r} is no cell: write COLUMN=TEXT, role=gpu", WRONG_USAGE)
        values[column.strip()] = text
    count = None if arguments["--count"] is None else whole_number("--count", arguments["--count"])
    return Adoption(arguments["--name"], values, arguments["--said"], count, arguments["--free"])


def _through_the_api(arguments: Arguments, name: str, asked: Adoption) -> tuple[Target, Mapping[str, str]]:
    """Return what adopts through the admin API, and the labels of columns with other names, which it does not tell."""
    api = AdminApi.of(arguments["--from"], arguments["--ca"], "--from", ADOPT_SECONDS)
    given = {"name": asked.name, "set": dict(asked.values), "said": list(asked.said), "count": asked.count}
    body = {"to": name, "free": asked.free, **{field: value for field, value in given.items() if value}}

    def adopt(dry_run: bool, shown: Shown | None) -> tuple[dict[str, Any], str]:
        shape = _TRIED if dry_run else _ADOPTED
        if shown is None:
            reply = api.change("/adopt", {**body, "dry_run": dry_run}, shape)
        else:
            chosen = {**body, "only": shown.machines, "dry_run": dry_run}
            reply = api.change("/adopt", chosen, shape, shown.tag, is_new=not shown.tag)
        if reply.status == PRECONDITION_FAILED:
            raise CommandError("the inventory was changed meanwhile: nothing was adopted, try again")
        if reply.is_error:
            raise CommandError(reply.error, WRONG_USAGE if reply.status == BAD_REQUEST else FAILED)
        if not all(isinstance(cell, str) for row in reply.content["rows"] for cell in row["row"].values()):
            raise CommandError(f"{api.site} is no admin API: its cells are no texts")
        return reply.content, reply.etag

    return adopt, {}


def _in_the_store(name: str, asked: Adoption) -> tuple[Target, Mapping[str, str]]:
    store, catalogue = read_documents()
    installs = states_beside(store, catalogue)
    key = Key(Kind.INVENTORY, name, FORMAT)
    text = stored_text(catalogue, key)
    machines = still_unclaimed(catalogue, installs.store.unknown())
    names = [machine.name for machine in machines_with_state(catalogue, installs.memory)]
    try:
        plan = planned(catalogue, key, text, machines, asked, names)
    except WrongAdoption as error:
        raise CommandError(str(error), WRONG_USAGE) from None

    def adopt(dry_run: bool, _: Shown | None) -> tuple[dict[str, Any], str]:
        if not dry_run:
            if plan.adopted:
                write_inventory(store, key, text, plan.text, adopted_note(len(plan.adopted)))
            return {"status": "adopted", **plan_as_json(plan)}, ""
        after = catalogue.changed([plan.document(key)], catalogue.raws_of(key.name)) if plan.adopted else catalogue
        found = compare(catalogue, after, words=words_known(installs.store).and_of(plan.contacts()))
        return {"status": "dry run", **plan_as_json(plan), "notes": [*found.notes]}, ""

    return adopt, catalogue.columns


def _print(report: Mapping[str, Any], labels: Mapping[str, str]) -> None:
    lines = [["MACHINE", "FIRST ASKED", "NAME", "PLACE", "ROW"]] if report["rows"] else []
    for one in report["rows"]:
        row = written_record([*redacted_row(one["row"], labels).values()], ",")
        place = one["place"] if _LINE.search(one["place"]) else f"new in {one['place']}"
        lines.append([shown_name(one["machine"]), one["first"], one["name"], place, row])
    print_table(lines)
    for note in report.get("notes", ()):
        say(f"note: {note}")
    say_each("left out", ((shown_name(one["machine"]), one["reason"]) for one in report["left_out"]))
