"""Which machines are installed, missing or failed; one machine's history.

Usage:
  answerd installs [--where FILTER]... [--group G] [--state S]
                   [--json | --names] [--from URL]... [--ca FILE] [ID]...
  answerd installs --waiting [--where FILTER]... [--group G]
                   [--json | --names] [--from URL]... [--ca FILE] [ID]...
  answerd installs --summary BY [--where FILTER]... [--group G] [--state S]
                   [--json] [--from URL]... [--ca FILE] [ID]...
  answerd installs --unknown [--json] [--from URL]... [--ca FILE]
  answerd install ID [--show-secrets] [--json]

`installs` prints a line for each machine that has a record. With an ID, --where
or --group also those that have none, and with --state new all that a row, a
document or a member names: they are new. A terminal of fewer than 80 columns
that is too narrow for the table gets a block of lines for each machine.

`install` prints what one machine was given and what it reported, of each
report's body the last 30 lines. Of a machine that asked and that nothing claims
it prints what that said of itself, the rows whose machines never asked and
whose address or serial number is one digit off, and the commands that show why,
and that make a row of it. Of one that never asked it names such machines whose
address or serial number is one digit off.

An ID is a name of a record, a row, a document or a member, any identity of a
machine, or a MAC address. For `installs` it may be a list, cn[01-20,25], or a
pattern, 'cn05*'. Of several IDs any is meant, and what else is given must hold
too. See docs/install-once.md#which-machines.

Options:
  --where FILTER  The machines whose rows have COLUMN=PATTERN; several of one
                  column mean any of them, of different columns all.
  --group G       The machines of a group: its members, the machines that extend
                  it, and the rows that it claims.
  --state S       The machines in a state: new, armed, installing, copied,
                  installed, failed, exhausted, conflict; or silent: those that
                  install and have neither asked nor reported for
                  SERVICE_INSTALL_SECS.
  --summary BY    How many machines are in each state, for each group where BY
                  is "group", or for each value of the column BY; also of those
                  that have no record. With several --from for each site, and
                  for all of them together.
  --names         Print nothing but the names of the machines, each on a line.
  --waiting       The machines that a gate refused and that an operator can let
                  in (answerd arm), the one that asked last first
                  (docs/install-once.md#last-contact).
  --unknown       The machines that asked and were claimed by nothing, the last
                  first.
  --from URL      Ask the admin API of a service; several in one list, each with
                  its site. The token is in SERVICE_ADMIN_TOKEN or
                  SERVICE_ADMIN_TOKEN_FILE. A site that answers nothing that the
                  admin API documents within 30 seconds is named on standard
                  error (docs/sites.md).
  --ca FILE       Certificates (PEM) that are trusted for --from, in place of
                  the system's.
  --show-secrets  Do not mask secrets in what the machine reported.
  --json          For programs; of one machine with all that is kept of each
                  report's body.
  -h --help       This text.

Exit status:
  0  it worked
  1  it did not, nothing has a name, or a site of --from cannot be asked; the
     reason is on standard error
  2  the command line is wrong, or a file on it is not there

Examples:
  # Show which machines of a rack failed, and why.
  answerd installs --where rack=R12 --state failed
  # Show how far each rack is.
  answerd installs --summary rack
  # Show which machines no document claims.
  answerd installs --unknown
  # Show the machines of two sites in one list.
  answerd installs --from https://a.example:8001 --from https://b.example:8001
  # Show what a machine was given, and what it reported.
  answerd install 98:fa:9b:50:d8:10
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Thread
from typing import Any
from urllib.parse import unquote

from answerd.answers.answer_secrets import redacted_install
from answerd.answers.machine_choice import Choice
from answerd.answers.one_digit_off import rows_near_to_asker
from answerd.answers.tally import added, added_counts, summary
from answerd.answers.unclaimed import facts_said, query_of, query_of_said, still_unclaimed, unknown_named, unknown_near
from answerd.commands import FAILED, WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import configured_sources
from answerd.commands.machines import OpenInstalls, choice_of, choosing, open_installs, say_unknown, state_counts
from answerd.commands.remote import AdminApi, Shape
from answerd.commands.terminal import counted, print_json, print_table, printable_line, say
from answerd.identity import identity_of
from answerd.installs.contacts import ContactIndex, contact_as_json
from answerd.installs.sentences import command, quoted, shown_name
from answerd.installs.shown import (
    MOST_LISTED,
    UnknownMachine,
    event_as_json,
    last_lines,
    record_as_json,
    unknown_as_json,
)
from answerd.installs.states import State
from answerd.inventory.row import IDENTITY_COLUMNS
from answerd.server.statuses import FIRST_PROBLEM
from answerd.short_texts import cut

MOST_NEAR = 3
"""Machines that are named as one digit off."""

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

MOST_OF_A_SITE = 1_000_000
"""Machines that a site may have."""

_TEXT: Shape = (str, None)
_RECORD: Shape = {
    "machine": str,
    "state": str,
    "silent": bool,
    "since": _TEXT,
    "heard": _TEXT,
    "last_step": _TEXT,
    "starts": int,
    "group": _TEXT,
    "message": _TEXT,
    "percent": (int, float, None),
    "identities": [str],
}
_UNKNOWN: Shape = {
    "machine": str,
    "first": str,
    "last": str,
    "asked": int,
    "facts": dict,
    "answered_by_default": bool,
}
"""A machine of a list (docs/install-once.md#the-admin-api)."""

_COUNTS: dict[str, Shape] = {"machines": int, "silent": int, "states": dict}
_SUMMARY: Shape = {"summary": [{"value": _TEXT, **_COUNTS}], "total": _COUNTS}


def run(arguments: Arguments) -> int:
    return print_installs(arguments) if arguments["installs"] else print_install(arguments)


def print_installs(arguments: Arguments) -> int:
    choice = choice_of(arguments)
    if arguments["--from"]:
        of_sites = _print_sites if arguments["--summary"] is None else _print_summary_of_sites
        return of_sites(arguments, choice)
    if arguments["--ca"]:
        raise CommandError("--ca is for --from", WRONG_USAGE)
    if arguments["--summary"] is not None:
        return _print_summary(arguments)
    installs = open_installs()
    if arguments["--unknown"]:
        unknown = still_unclaimed(installs.catalogue, installs.store.unknown())
        _print_list(arguments, [unknown_as_json(machine) for machine in unknown])
        return 0
    found = installs.chosen(choice)
    records = [record_as_json(one.remembered, installs.now, installs.memory.rules) for one in found.machines]
    contacts = ContactIndex(installs.store.contacts())
    if arguments["--waiting"]:
        _print_list(arguments, [*contacts.waiting(records, are_all=choice.is_of_all)])
    else:
        _print_list(arguments, [*map(contacts.shown_with, records)])
    say_unknown(found.unknown)
    return FAILED if found.unknown else 0


def _print_sites(arguments: Arguments, choice: Choice) -> int:
    """Print what several services say. Exit status 1 if one of them cannot be asked."""
    query = _query(choice) | ({"waiting": ["1"]} if arguments["--waiting"] else {})
    path, what = ("/unknown", "unknown") if arguments["--unknown"] else ("/installs", "installs")
    machines, faults = _of_sites(arguments, lambda site: _all_pages(site, path, what, query))
    _print_list(arguments, machines)
    return _say_faults(faults)


def _print_summary_of_sites(arguments: Arguments, choice: Choice) -> int:
    """Print how many machines of several services are in each state, and of all of them together."""
    by = arguments["--summary"]

    def counts_of(site: AdminApi) -> list[dict[str, Any]]:
        found = site.get("/summary", _SUMMARY, _query(choice) | {"by": [by]})
        tallies = *found["summary"], found["total"]
        if any(type(count) is not int for tally in tallies for count in tally["states"].values()):
            raise CommandError(f"{site.site} is no admin API: its counts of states are no numbers")
        return [{"summary": found["summary"], "total": found["total"]}]

    sites, faults = _of_sites(arguments, counts_of)
    tallies = [{"site": site["site"], **_counts(tally)} for site in sites for tally in site["summary"]]
    totals = [{"site": site["site"], **_counts(site["total"])} for site in sites]
    all_sites, total = added(tallies), added_counts(totals)
    if arguments["--json"]:
        print_json({"by": by, "summary": tallies, "sites": totals, "all": all_sites, "total": total})
        return _say_faults(faults)
    states = [state.value for state in State if total["states"].get(state.value)]
    asked = "SITE" if by.upper() != "SITE" else "FROM"
    rows = [[asked, by.upper(), "MACHINES", *(state.upper() for state in states), "SILENT"]]

    def row(site: str, value: str, tally: Mapping[str, Any]) -> list[str]:
        counts = [tally["machines"], *(tally["states"].get(state, 0) for state in states), tally["silent"]]
        return [site, value, *map(str, counts)]

    for one in totals:
        site = one["site"]
        rows += [row(site, shown_name(tally["value"] or "-"), tally) for tally in tallies if tally["site"] == site]
        rows.append(row(site, "total", one))
    if len(arguments["--from"]) > 1:
        rows += [row("all", shown_name(tally["value"] or "-"), tally) for tally in all_sites]
        rows.append(row("all", "total", total))
    print_table(rows)
    return _say_faults(faults)


def _counts(tally: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a tally of another service is to have, and nothing else of it."""
    return {name: tally[name] for name in ("value", *_COUNTS) if name in tally}


def _say_faults(faults: Iterable[CommandError]) -> int:
    """Say which services could not be asked; return the exit status."""
    status = 0
    for fault in faults:
        say(f"answerd: {fault}")
        status = FAILED
    return status


def _query(choice: Choice) -> dict[str, Sequence[str]]:
    """Return a choice as parameters of the admin API."""
    single = (("state", choice.state), ("group", choice.group))
    return {
        **{name: [value] for name, value in single if value is not None},
        **{name: values for name, values in (("machine", choice.names), ("where", choice.filters)) if values},
    }


def _of_sites(
    arguments: Arguments, asked_for: Callable[[AdminApi], Sequence[dict[str, Any]]]
) -> tuple[list[dict[str, Any]], list[CommandError]]:
    """Return what the services of ``--from`` say, each with its site, and why some could not be asked."""
    sites = [AdminApi.of(url, arguments["--ca"], "--from", SITE_SECONDS) for url in arguments["--from"]]
    answers: list[list[dict[str, Any]] | CommandError] = [CommandError(f"{site.site} was not asked") for site in sites]
    waiting = iter(enumerate(sites))

    def ask() -> None:
        for at, site in waiting:
            try:
                answers[at] = [{"site": site.site} | found | {"site": site.site} for found in asked_for(site)]
            except CommandError as error:
                answers[at] = error

    # A site that is away holds up no other, and no interrupt: the end of the program waits for no such thread.
    threads = [Thread(target=ask, daemon=True) for _ in range(min(MOST_ASKED_AT_ONCE, len(sites)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [one for answer in answers if isinstance(answer, list) for one in answer]
    return found, [answer for answer in answers if isinstance(answer, CommandError)]


def _all_pages(site: AdminApi, path: str, what: str, query: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return the machines of a site. Raises `CommandError`."""
    shape: Shape = {what: [_RECORD if what == "installs" else _UNKNOWN]}
    page: list[dict[str, Any]] = site.get(path, shape, query)[what]
    found = page
    while path == "/installs" and len(page) == MOST_LISTED:
        last = page[-1]["machine"]
        page = site.get(path, shape, {**query, "after": [last]})[what]
        if len(found) >= MOST_OF_A_SITE or any(machine["machine"] <= last for machine in page):
            raise CommandError(f"{site.site} is no admin API: its list of machines does not end")
        found = [*found, *page]
    return found


def _print_list(arguments: Arguments, machines: Sequence[dict[str, Any]]) -> None:
    """Print installs or unknown machines as JSON has them."""
    unknown = arguments["--unknown"]
    if arguments["--names"]:
        for machine in machines:
            print(shown_name(machine["machine"]))
        return
    if arguments["--json"]:
        print_json({"unknown" if unknown else "installs": machines})
        return
    columns: _Columns = _UNKNOWN_COLUMNS if unknown else _COLUMNS
    if arguments["--from"]:
        columns = {"SITE": lambda machine: str(machine["site"]), **columns}
    rows = [[cell(machine) for cell in columns.values()] for machine in machines]
    colours = ["", *(_COLOURS.get(machine.get("state"), "") for machine in machines)]
    print_table([[*columns], *rows], colours, titles=[*columns].index("MACHINE") + (1 if unknown else 2))
    print(
        f"{counted(len(machines), 'machine')} that nothing claims"
        if unknown
        else state_counts([machine["state"] for machine in machines])
    )


def _state(record: dict[str, Any]) -> str:
    return f"{record['state']}, silent" if record["silent"] else str(record["state"])


def _message(record: dict[str, Any]) -> str:
    message = record["message"] or ""
    percent = f"{record['percent']}% " if record["percent"] is not None else ""
    return percent + cut(message, _LONGEST_MESSAGE)


def _path(machine: dict[str, Any]) -> str:
    paths = machine["facts"].get("path")
    path = str(paths[0]) if isinstance(paths, list) and paths else ""
    return path + (ANSWERED if machine["answered_by_default"] else "")


_Columns = Mapping[str, Callable[[dict[str, Any]], str]]
"""The cell of a machine by the heading of its column."""

_COLUMNS: _Columns = {
    "MACHINE": lambda record: shown_name(record["machine"]),
    "STATE": _state,
    "SINCE": lambda record: record["since"] or "-",
    "HEARD": lambda record: record["heard"] or "-",
    "LAST STEP": lambda record: cut(printable_line(record["last_step"] or "-"), _LONGEST_MESSAGE),
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


def _print_summary(arguments: Arguments) -> int:
    """Print how many machines are in each state, by group or by a column."""
    installs = open_installs()
    with choosing():
        found = summary(installs.catalogue, installs.memory, installs.now, choice_of(arguments), arguments["--summary"])
    if arguments["--json"]:
        print_json(found.as_json())
    else:
        states = [state for state in State if found.total.states[state]]
        rows = [[found.by.upper(), "MACHINES", *(state.value.upper() for state in states), "SILENT"]]
        for tally in (*found.tallies, found.total):
            value = "total" if tally is found.total else shown_name(tally.value or "-")
            counts = [tally.machines, *(tally.states[state] for state in states), tally.silent]
            rows.append([value, *map(str, counts)])
        print_table(rows)
    say_unknown(found.unknown)
    return FAILED if found.unknown else 0


def print_install(arguments: Arguments) -> int:
    """Print a machine's state and history. Exit status 1 if nothing has the name."""
    (name,) = arguments["ID"]
    installs = open_installs()
    machine = installs.named(name)
    if machine is None or not machine.seen_in(installs.memory).record.since:
        unknown = unknown_named(installs.catalogue, installs.store.unknown(), name)
        if unknown is not None:
            return _print_unknown(unknown, installs, as_json=arguments["--json"])
    if machine is None:
        raise CommandError(f"no record, row, document or member is called {name}, and it is no MAC address")
    remembered, contacts = machine.seen_in(installs.memory), ContactIndex(installs.store.contacts())
    record = record_as_json(remembered, installs.now, installs.memory.rules)
    events = installs.store.history(remembered.names, installs.memory.beside(remembered.names))
    record["events"] = [event_as_json(event) for event in events]
    contact = contacts.of(record)
    record = contacts.shown_with(record)
    record["last_contact"] = contact_as_json(contact) if contact is not None else None
    if not arguments["--show-secrets"]:
        record = redacted_install(record, installs.catalogue, configured_sources())
    if arguments["--json"]:
        print_json(record)
        return 0
    _print_one(record)
    if contact is None and record["state"] in (State.NEW, State.ARMED):  # it may ask by what is mistyped in its row
        near = unknown_near(installs.catalogue, installs.store.unknown(), remembered.identities.values())
        for own, asked in islice(near, MOST_NEAR):
            other = command("install", [asked.machine])
            print(f"  near:        one digit off {shown_name(own)}, and claimed by nothing: {other}")
    return 0


def _print_unknown(machine: UnknownMachine, installs: OpenInstalls, *, as_json: bool) -> int:
    """Print what a machine said that nothing claims, and the commands that lead on."""
    shown = unknown_as_json(machine)
    if as_json:
        print_json(shown)
        return 0
    name, said = machine.machine, shown["facts"]
    own = ((one, value) for one in (*IDENTITY_COLUMNS, *said) for value in said.get(one, ()))
    label, sent = next((found for found in own if identity_of(found[1]) == identity_of(name)), ("", ""))
    only = f" --said {quoted(f'{label}={sent}')}" if label else ""
    what = "only the default answers it" if machine.by_default else "nothing claims it"
    print(f"{shown_name(name)} is unknown: {what}")
    print(f"  asked:       {counted(machine.asked, 'time')}, first {shown['first']}, last {shown['last']}")
    for said_label, values in said.items():
        print(f"    {shown_name(said_label)}: {printable_line(', '.join(values))}")
    print(f"  see why:     answerd render --why --query {quoted(query_of(machine))}")
    for near in islice(_rows_near(machine, said, installs), MOST_NEAR):
        print(f"  near:        {near}")
    print(f"  make a row:  answerd adopt{only}")
    return 0


def _rows_near(machine: UnknownMachine, said: Mapping[str, Sequence[str]], installs: OpenInstalls) -> Iterator[str]:
    """Yield the rows that are one digit off what a machine said, and whose machines never asked: one of them may be
    mistyped, and ``adopt`` would make a second row."""
    inventory, contacts = installs.catalogue.inventory, ContactIndex(installs.store.contacts())
    for own, other, row in rows_near_to_asker(installs.catalogue, facts_said(said, "", (machine.machine,))):
        named = installs.named(row.name)
        if inventory is None or named is None:
            continue
        record = record_as_json(named.seen_in(installs.memory), installs.now, installs.memory.rules)
        if contacts.of(record) is None and not record["heard"]:
            place = f"{printable_line(inventory.place(row))} ({shown_name(row.name)})"
            yield f"{shown_name(own)} is one digit off: {place}, which never asked, has {shown_name(other)}"


def _see_why(machine: str, contact: Mapping[str, Any]) -> str:
    """Return the command that asks again what a machine asked last; of a path that was cut, what it would get."""
    if contact["asked"].endswith("…"):
        return command("render --why", [machine])
    query = quoted(query_of_said(contact["labels"], unquote(contact["asked"])))
    return command(f"render --why --query {query}", [machine])


def _print_one(record: dict[str, Any]) -> None:
    silent = ", silent" if record["silent"] else ""
    since = f" since {record['since']}" if record["since"] else ""
    print(f"{shown_name(record['machine'])} is {record['state']}{silent}{since}")
    print(f"  starts:      {record['starts']}")
    print(f"  group:       {shown_name(record['group'] or '-')}")
    print(f"  identities:  {', '.join(shown_name(identity) for identity in record['identities']) or '-'}")
    for part in record["conflict"] or ():
        since = f" since {part['since']}" if part["since"] else ""
        print(f"  conflict:    {shown_name(part['identity'])} is {part['state']}{since}")
    if record["message"]:
        print(f"  message:     {printable_line(record['message'])}")
    if contact := record["last_contact"]:
        print(f"  last asked:  {contact['at']} for {printable_line(contact['asked'])}")
        print(f"  and got:     {contact['status']}, {printable_line(contact['got'])}")
        for label, values in contact["labels"].items():
            print(f"    {shown_name(label)}: {printable_line(', '.join(values))}")
        if contact["status"] >= FIRST_PROBLEM and not contact["refused"]:
            print(f"  see why:     {_see_why(record['machine'], contact)}")
    events: Sequence[dict[str, Any]] = record["events"]
    print("  history:" if events else "  history:     none")
    for event in events:
        origin = f" from {printable_line(event['from'])}" if event["from"] else ""
        detail = f": {printable_line(event['detail'])}" if event["detail"] else ""
        print(f"    {event['at']}  {event['event']}{detail}{origin}{'' if event['counts'] else ' (changed nothing)'}")
        before, last = last_lines(event["body"])
        if before:
            print(f"        | ({counted(len(before.splitlines()), 'line')} before these; --json has them)")
        for line in last.splitlines():
            print(f"        | {printable_line(line)}")
