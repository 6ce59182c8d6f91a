"""Who did what, and when.

Usage:
  answerd audit [--machine NAME] [--who NAME] [--since TIME] [--until TIME]
                [--limit N] [--json]

Prints changes of documents, orders (arm, disarm, forget), log-ins at the
console, tokens and secrets that were written there, and restores of backups,
the newest first. What changed together, by one apply for instance, is one
entry; `answerd history` shows what it changed. With SERVICE_STORE=files there
are no changes of documents, and everything else needs SERVICE_STATE_PATH. See
docs/admin-api.md#audit.

Options:
  --machine NAME  Only what was done to the machine of this name or identity: to
                  its documents, to its row, and orders.
  --who NAME      Only what this token or user did, or who asked from this
                  address.
  --since TIME    Only since a time of UTC, such as 2026-11-21 or
                  2026-11-21T09:14.
  --until TIME    Only before a time of UTC.
  --limit N       At most so many entries [default: 50].
  --json          Print the objects of GET /audit.
  -h --help       This text.

Exit status:
  0  it worked
  1  the database or the states cannot be read
  2  the command line is wrong

Examples:
  # What happened to a machine, and by whom.
  answerd audit --machine web-01
  # What somebody did yesterday.
  answerd audit --who maria --since 2026-11-20 --until 2026-11-21
  # Everything of this month, for a program.
  answerd audit --since 2026-11 --limit 100000 --json
"""

from __future__ import annotations

from typing import Any

from answerd.audit import AuditFilter, audit_log
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import announce_store, catalogue_of, configured_store, settings
from answerd.commands.terminal import coloured, print_json, printable_line
from answerd.commands.values import whole_number
from answerd.installs.records import InstallMemory
from answerd.store import StoreError
from answerd.store.files import FileStore
from answerd.store.history import beginning
from answerd.store.opening import install_rules, open_existing_states
from answerd.store.states import Position

_NAMED = 5
"""Machines and documents that a line names."""


def run(arguments: Arguments) -> int:
    """Print the audit."""
    since, until = _time(arguments, "--since"), _time(arguments, "--until")
    limit = whole_number("--limit", arguments["--limit"])
    wanted = AuditFilter(arguments["--machine"], arguments["--who"], since, until, limit)
    config, store = settings(), configured_store()
    states = open_existing_states(config, store)
    if isinstance(store, FileStore) and states is None:
        raise StoreError(
            f"{store.described} has no history, and SERVICE_STATE_PATH is not set: there is no place where it would be "
            "kept who did what"
        )
    catalogue = catalogue_of(store)
    announce_store(store, catalogue.size)
    memory = InstallMemory(install_rules(config))
    if states is not None:
        memory, _ = states.catch_up(memory, Position())
    history = None if isinstance(store, FileStore) else store
    found = audit_log(wanted, history, states, catalogue, memory)
    if arguments["--json"]:
        print_json({"audit": found})
        return 0
    for one in found:
        print(_line(one))
    return 0


def _time(arguments: Arguments, option: str) -> str | None:
    try:
        return beginning(arguments[option]) if arguments[option] else None
    except ValueError:
        reason = f"{option} is a time of UTC, such as 2026-11-21 or 2026-11-21T09:14"
        raise CommandError(reason, WRONG_USAGE) from None


def _line(one: dict[str, Any]) -> str:
    who = one["who"]
    by = f" by {who['by']}" if who["by"] else ""
    name = " from ".join(part for part in (who["name"], who["peer"]) if part) or "another program"
    what = one["what"] if one["revision"] is None else f"{one['what']} {one['revision']}"
    named = (one["documents"] or one["machines"])[:_NAMED]
    more = one["count"] - len(named)
    rest = f" and {more} more" if named and more > 0 else ""
    note = f"  ({one['note']})" if one["note"] else ""
    line = f"{one['when']}  {name}{by}  {what}  {', '.join(named)}{rest}{note}"
    return coloured(printable_line(line.rstrip()), "bold") if one["what"] != "change" else printable_line(line.rstrip())
