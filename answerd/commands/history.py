"""Who changed which document, when and how; and restore one.

Usage:
  answerd history [--since TIME] [--limit N] [--show-secrets] [--json] [KEY]
  answerd restore-document --revision N [--note TEXT] [--yes] KEY

`history` prints accepted changes of the database, the newest first, each with a
diff in which secrets are masked. KEY is a document as its file would be called
(98-fa-9b-50-d8-10.toml, groups/rack-a.ks, default.toml), or a machine without
an extension.

`restore-document` puts back the text that a document had after the change of
this revision, or removes it where that change removed it. What would break the
set is refused; where machines would lose their answer, it asks on a terminal.
For a whole backup, see `answerd restore`.

Options:
  --since TIME    Only changes since a time of UTC, such as 2026-11-21 or
                  2026-11-21T09:14.
  --limit N       At most so many changes [default: 50].
  --show-secrets  Do not mask secrets in the diffs.
  --json          Print JSON.
  --revision N    The revision to go back to.
  --note TEXT     A line about the change for the history.
  --yes           Do not ask.
  -h --help       This text.

Exit status:
  0  it worked, or it is restored
  1  it is refused, there is no such revision, or the database cannot be read
  2  the command line is wrong

Examples:
  # What happened to a group.
  answerd history groups/rack-a.toml
  # All changes of a day, for a program.
  answerd history --since 2026-11-21 --json
  # Go back to a revision.
  answerd restore-document groups/rack-a.toml --revision 17
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from answerd.answers.diff import diff_lines
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.apply import local_guard, losing, own_author, refusal
from answerd.commands.common import (
    announce_store,
    coloured,
    configured_store,
    diff_line,
    print_json,
    printable_line,
    said_yes,
    settings,
    whole_number,
)
from answerd.formats import ALL_EXTENSIONS
from answerd.identity import Kind
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.store import HistoryEntry, HistoryFilter, StoreError
from answerd.store.files import FileStore
from answerd.store.history import beginning
from answerd.store.layout import flat_name, is_groups, is_inventories, key_of


def run(arguments: Arguments) -> int:
    return print_history(arguments) if arguments["history"] else put_back(arguments)


def print_history(arguments: Arguments) -> int:
    limit, since = whole_number("--limit", arguments["--limit"]), arguments["--since"]
    try:
        since = beginning(since) if since else None
    except ValueError:
        raise CommandError("--since is a time of UTC, such as 2026-11-21 or 2026-11-21T09:14", WRONG_USAGE) from None
    kind, identifier, extension = parse_document_name(arguments["KEY"]) if arguments["KEY"] else (None, None, None)
    entries = database().history(HistoryFilter(kind, identifier, extension, since, limit=limit))
    labels, show_secrets = settings().labels_of_columns, bool(arguments["--show-secrets"])
    found = [_as_json(entry, labels, show_secrets) for entry in entries]
    if arguments["--json"]:
        print_json({"history": found})
    else:
        for entry, shown in zip(entries, found, strict=True):
            print(*_lines(entry, shown), sep="\n")
    return 0


def database() -> Any:
    """Open the database of the settings, which must exist, and print its name. Raises `StoreError`."""
    store: Any = configured_store()
    if isinstance(store, FileStore):
        raise StoreError(f"{store.described} has no history: set SERVICE_STORE=sqlite and SERVICE_DB_PATH")
    announce_store(store)
    return store


def parse_document_name(name: str) -> tuple[Kind, str, str | None]:
    """Return kind, identifier and format, None for any, of a document by its file's name, or by that without an
    extension. Raises `CommandError`."""
    folder = name.rpartition("/")[0]
    if not folder or is_groups(folder) or is_inventories(folder):
        if key := key_of(name) or key_of(f"{name}.{INVENTORY_FORMAT}"):
            return key.kind, key.identifier, key.format
        if key := key_of(f"{name}.{ALL_EXTENSIONS[0]}"):
            return key.kind, key.identifier, None
    raise CommandError(f"{name} is no document's name, such as groups/rack-a.toml", WRONG_USAGE)


def _lines(entry: HistoryEntry, shown: Mapping[str, Any]) -> Iterator[str]:
    who = " from ".join(part for part in (entry.author.name, entry.author.peer) if part) or "another program"
    what = "new" if entry.before is None else "removed" if entry.after is None else "changed"
    yield coloured(printable_line(f"revision {entry.revision}  {entry.at}  {what}  {shown['name']}  by {who}"), "bold")
    if entry.author.note:
        yield printable_line(f"    {entry.author.note}")
    yield from map(diff_line, shown["diff"])
    yield ""


def _as_json(entry: HistoryEntry, labels: Mapping[str, str], show_secrets: bool) -> dict[str, Any]:
    return {
        "revision": entry.revision,
        "when": entry.at,
        "who": {"name": entry.author.name, "peer": entry.author.peer},
        "note": entry.author.note,
        "name": flat_name(entry.key),
        "diff": diff_lines(entry.key, entry.before, entry.after, labels=labels, show_secrets=show_secrets),
    }


def put_back(arguments: Arguments) -> int:
    """Restore a document. Exit status 1 where that is refused."""
    from answerd.write_guard import UNCONDITIONAL, WriteRefused, restore_document, restored_change  # noqa: PLC0415

    number = whole_number("--revision", arguments["--revision"])
    kind, identifier, extension = parse_document_name(arguments["KEY"])
    store = database()
    found = store.history(HistoryFilter(kind, identifier, extension, revision=number))
    if not found:
        raise CommandError(f"revision {number} is no change of {arguments['KEY']}: answerd history lists them")
    guard = local_guard(store)
    try:
        if sys.stdin.isatty() and sys.stdout.isatty() and not arguments["--yes"]:
            machines = guard.tried(restored_change(found[0])).machines()
            if machines and not said_yes(f"{losing(machines)}. Restore it?"):
                raise CommandError("nothing was restored")
        stored = restore_document(guard, found[0], own_author(arguments["--note"]), UNCONDITIONAL)
    except WriteRefused as refused:
        raise refusal(refused.reason, refused.problems) from None
    print(printable_line(f"{flat_name(stored.key)} is what it was in revision {number}"))
    return 0
