"""Who changed which document, when and how; restore one, or take back a change.

Usage:
  answerd history [--since TIME] [--limit N] [--summary | --show-secrets]
                  [--json] [KEY]
  answerd restore-document --revision N [--note TEXT] [--yes] KEY
  answerd restore-document --change N [--note TEXT] [--yes]

`history` prints accepted changes of the database, the newest first, each with a
diff in which secrets are masked. KEY is a document as its file would be called
(98-fa-9b-50-d8-10.toml, groups/rack-a.ks, default.toml), or a machine without
an extension: then it prints the changes of its documents and of its row, and
the orders to it (arm, disarm, forget), in one list.

`restore-document --revision` puts back the text that a document had after the
change of this revision, or removes it where that change removed it. With
`--change` all that changed together with this revision, such as by one `apply`,
is taken back: each document is what it was before. That is refused where one of
them changed again. What would break the set is refused; on a terminal it asks,
for a single document only where machines would lose their answer. For a whole
backup, see `answerd restore`. docs/admin-api.md#history has the details.

Options:
  --since TIME    Only changes since a time of UTC, such as 2026-11-21 or
                  2026-11-21T09:14.
  --limit N       At most so many changes [default: 50].
  --summary       A line for each time that something was changed, with the
                  number of documents, in place of the diffs.
  --show-secrets  Do not mask secrets in the diffs.
  --json          Print JSON.
  --revision N    The revision to go back to.
  --change N      The revision of one of the documents that changed together.
  --note TEXT     A line about the change for the history.
  --yes           Do not ask.
  -h --help       This text.

Exit status:
  0  it worked, or it is restored
  1  it is refused, there is no such revision, or the database cannot be read;
     nothing was changed
  2  the command line is wrong

Examples:
  # What happened to a machine.
  answerd history web-01
  # What happened to a group.
  answerd history groups/rack-a.toml
  # All changes of a day, for a program.
  answerd history --since 2026-11-21 --json
  # What was changed lately, each apply as one line.
  answerd history --summary
  # Go back to a revision.
  answerd restore-document groups/rack-a.toml --revision 17
  # Take back all of an apply.
  answerd restore-document --change 17
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import announce_store, catalogue_of, configured_store, settings
from answerd.commands.own_changes import local_guard, losing, own_author, refusal
from answerd.commands.terminal import can_ask, coloured, counted, diff_line, print_json, printable_line, said_yes, say
from answerd.commands.values import whole_number
from answerd.formats import ALL_EXTENSIONS
from answerd.identity import Kind
from answerd.installs.records import InstallMemory
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.machine_history import Happened, happened_as_json, machine_history, names_of_machine, together
from answerd.store import HistoryFilter, Store, StoreError
from answerd.store.files import FileStore
from answerd.store.history import beginning
from answerd.store.layout import flat_name, is_groups, is_inventories, key_of
from answerd.store.opening import install_rules, open_existing_states
from answerd.store.states import Position


def run(arguments: Arguments) -> int:
    if arguments["history"]:
        return print_history(arguments)
    return take_back(arguments) if arguments["--change"] else put_back(arguments)


def print_history(arguments: Arguments) -> int:
    limit, since = whole_number("--limit", arguments["--limit"]), arguments["--since"]
    try:
        since = beginning(since) if since else None
    except ValueError:
        raise CommandError("--since is a time of UTC, such as 2026-11-21 or 2026-11-21T09:14", WRONG_USAGE) from None
    kind, identifier, extension = parse_document_name(arguments["KEY"]) if arguments["KEY"] else (None, None, None)
    store = database()
    wanted = HistoryFilter(kind, identifier, extension, since, limit=limit)
    show_secrets = bool(arguments["--show-secrets"])
    happened, labels = _happened(store, wanted)
    if arguments["--summary"]:
        return _print_summary(happened, as_json=bool(arguments["--json"]))
    found = [_as_json(one, happened_as_json(one, labels, show_secrets=show_secrets)) for one in happened]
    if arguments["--json"]:
        print_json({"history": found})
    else:
        for one, shown in zip(happened, found, strict=True):
            print(*_lines(one, shown), sep="\n")
    return 0


def _print_summary(happened: Sequence[Happened], *, as_json: bool) -> int:
    """Print a line for each change, of one document or of many together, and for each order."""
    rows: list[dict[str, Any]] = []
    for made in together(happened):
        first = made[0]
        if first.entry is None:
            order = first.order.kind.value if first.order is not None else ""
            who = first.order.origin if first.order is not None else None
            rows.append({"revision": None, "when": first.when, "who": {"name": who, "peer": None}, "note": order})
            continue
        author = first.entry.author
        counts = Counter(_sort(one.entry.before, one.entry.after) for one in made if one.entry is not None)
        rows.append(
            {
                "revision": first.entry.revision,
                "when": first.when,
                "who": {"name": author.name, "peer": author.peer},
                "change": first.token or None,
                **{sort: counts[sort] for sort in _SORTS},
                "note": author.note,
            }
        )
    if as_json:
        print_json({"changes": rows})
        return 0
    for row in rows:
        counted_as = ", ".join(f"{row[sort]} {sort}" for sort in _SORTS if row.get(sort))
        what = f"revision {row['revision']}" if row["revision"] is not None else "order"
        note = f"  {row['note']}" if row["note"] else ""
        said = f"  {counted_as}" if counted_as else ""
        print(printable_line(f"{what}  {row['when']}{said}  by {_who(row['who'])}{note}"))
    return 0


_SORTS = ("new", "changed", "removed")


def _sort(before: str | None, after: str | None) -> str:
    return "new" if before is None else "removed" if after is None else "changed"


def _who(who: Mapping[str, str | None]) -> str:
    return " from ".join(part for part in who.values() if part) or "another program"


def _happened(store: Store, wanted: HistoryFilter) -> tuple[list[Happened], Mapping[str, str]]:
    """Return what a filter lets through, of a machine also the changes of its row and its orders; and the labels of
    inventories' columns."""
    catalogue = catalogue_of(store)
    if wanted.kind is not Kind.MACHINE or wanted.identifier is None:
        return [Happened(entry.at, entry) for entry in store.history(wanted)], catalogue.columns
    config = settings()
    states = open_existing_states(config, store)
    memory = InstallMemory(install_rules(config))
    if states is not None:
        memory, _ = states.catch_up(memory, Position())
    names = names_of_machine(catalogue, memory, wanted.identifier)
    events = states.history(names, memory.beside(names)) if states is not None else []
    return machine_history(store, wanted, names, events, catalogue), catalogue.columns


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


def _lines(one: Happened, shown: Mapping[str, Any]) -> Iterator[str]:
    who = _who(shown["who"])
    if one.order is not None:
        yield coloured(printable_line(f"order  {one.when}  {one.order.kind.value}  {shown['name']}  by {who}"), "bold")
        yield ""
        return
    before, after = (one.entry.before, one.entry.after) if one.entry is not None else (None, None)
    what = _sort(before, after)
    if one.row is not None:
        what = "row new" if one.row.before is None else "row removed" if one.row.after is None else "row changed"
    line = f"revision {shown['revision']}  {one.when}  {what}  {shown['name']}  by {who}"
    yield coloured(printable_line(line), "bold")
    if shown["note"]:
        yield printable_line(f"    {shown['note']}")
    yield from map(diff_line, shown["diff"])
    yield ""


def _as_json(one: Happened, shown: Mapping[str, Any]) -> dict[str, Any]:
    name = flat_name(one.entry.key) if one.entry is not None else shown["identifier"]
    kept = {field: shown[field] for field in ("revision", "change", "when", "who", "note")}
    return {**kept, "name": name, "kind": shown["kind"], "diff": shown["diff"]}


def take_back(arguments: Arguments) -> int:
    """Take back all that changed together. Exit status 1 where that is refused."""
    from answerd.etags import Conditions  # noqa: PLC0415
    from answerd.write_guard import WriteRefused  # noqa: PLC0415

    number = whole_number("--change", arguments["--change"])
    store = database()
    made = store.history(HistoryFilter(together=number))
    if not made:
        raise CommandError(f"there is no revision {number}: answerd history --summary lists them")
    guard = local_guard(store)
    try:
        tried = guard.take_back_tried(made)
        for entry in made:
            back = _sort(entry.after, entry.before)
            print(printable_line(f"{_BACK[back]:8}  {flat_name(entry.key)}"))
        if machines := tried.machines():
            say(f"warning: {losing(machines)}")
        if can_ask() and not arguments["--yes"] and not said_yes("Take it back?"):
            raise CommandError("nothing was changed")
        guard.take_back(made, own_author(arguments["--note"]), Conditions(if_match=tried.etag))
    except WriteRefused as refused:
        raise refusal(refused.reason, refused.problems) from None
    print(f"taken back: revision {made[0].revision}, {counted(len(made), 'document')}")
    return 0


_BACK = {"new": "restored", "changed": "changed", "removed": "removed"}


def put_back(arguments: Arguments) -> int:
    """Restore a document. Exit status 1 where that is refused."""
    from answerd.write_guard import WriteRefused, restore_document, restored_change  # noqa: PLC0415

    number = whole_number("--revision", arguments["--revision"])
    kind, identifier, extension = parse_document_name(arguments["KEY"])
    store = database()
    found = store.history(HistoryFilter(kind, identifier, extension, revision=number))
    if not found:
        raise CommandError(f"revision {number} is no change of {arguments['KEY']}: answerd history lists them")
    guard = local_guard(store)
    try:
        if can_ask() and not arguments["--yes"]:
            machines = guard.tried(restored_change(found[0])).machines()
            if machines and not said_yes(f"{losing(machines)}. Restore it?"):
                raise CommandError("nothing was restored")
        stored = restore_document(guard, found[0], own_author(arguments["--note"]))
    except WriteRefused as refused:
        raise refusal(refused.reason, refused.problems) from None
    print(printable_line(f"{flat_name(stored.key)} is what it was in revision {number}"))
    return 0
