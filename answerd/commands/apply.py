"""Make the documents those of a directory, as one change.

Usage:
  answerd apply [--to URL] [--ca FILE] [--dry-run]
                [--prune [--prune-inventories]] [--strict] [--yes]
                [--note TEXT] [--follow-links] [--json] DIR

Stores the documents of a directory in the database of the settings, or through
the admin API of a service, in one change that is judged as a whole: what would
break the set is refused, and nothing is changed (docs/admin-api.md#apply). On a
terminal it shows first whose answers would change and how many machines would
lose their answer, and asks; the change is made only if the set is still the one
that was shown. Elsewhere it warns of machines that lost their answer. With
SERVICE_STORE=files it needs --to: the service reads the directory itself.

It warns that every machine may install where documents have `once` and the
service knows no state of any install: `answerd import`, and `answerd restore`
of a backup, take states along. docs/gitops.md has a pipeline, and what it takes
for an answer of a service.

Options:
  --to URL     The admin API of a service; its token is in SERVICE_ADMIN_TOKEN
               or SERVICE_ADMIN_TOKEN_FILE; certificates are verified.
  --ca FILE    Certificates (PEM) that are trusted for --to, in place of the
               system's.
  --dry-run    Change nothing; say what would change. The database must exist.
  --prune      Remove the documents that DIR does not have; inventories only
               where DIR has one. A DIR without any document is refused.
  --prune-inventories
               Remove inventories also where DIR has none.
  --strict     Refuse it too where an installer would refuse an answer that the
               change makes; the problems are those of answerd check.
  --yes        Do not ask.
  --note TEXT  A line about the change for the history.
  --follow-links
               Read what links lead to out of DIR; else such a document is one
               that cannot be read, and nothing is applied: whoever proposes a
               change could have any file of this machine shown.
  --json       Print the result as JSON.
  -h --help    This text.

Exit status:
  0  it is done, or there is nothing to do
  1  the change is refused, and the problems are on stderr; or the token is
     refused; or what answers is no admin API
  2  the command line is wrong, or the service or the database cannot be reached

Examples:
  # Show what would change.
  answerd apply --dry-run --prune answers
  # Do it from a pipeline.
  answerd apply --prune --yes --to https://answers.example:8001 answers
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerd.answers.diff import compare
from answerd.answers.operator_names import NO_STATES, asks_for_states
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import announce_store, configured_sources, settings, unread_env_file
from answerd.commands.own_changes import local_guard, losing, own_author, refusal
from answerd.commands.remote import AdminApi, Shape, fits
from answerd.commands.terminal import (
    can_ask,
    coloured,
    counted,
    diff_line,
    print_json,
    printable_line,
    progress,
    said_yes,
    say,
    say_each,
)
from answerd.short_texts import printable
from answerd.store import Store, StoreError
from answerd.store.opening import open_database, open_existing_database, open_existing_states
from answerd.store.transfer import Directory, read_directory

if TYPE_CHECKING:
    from answerd.write_guard import ChangeSet

Target = Callable[[bool, str | None], tuple[dict[str, Any], str]]
"""Makes the change, or tries it in a dry run, on the condition that the set has this ETag. Returns the JSON of the
admin API and the set's ETag. Raises `CommandError`."""


CHANGE_SECONDS = 600.0
"""For a request to a service: a large change takes a while."""

_COUNTS = ("new", "changed", "unchanged", "removed")
_KEY: Shape = {"kind": str, "identifier": str, "format": str}
_APPLIED: dict[str, Shape] = {
    "status": "applied",
    **dict.fromkeys(_COUNTS, int),
    "problems": [str],
    "documents": {"new": [_KEY], "changed": [_KEY], "removed": [_KEY]},
}
_TRIED: dict[str, Shape] = {
    **_APPLIED,
    "status": "dry run",
    "answers": {
        "compared": int,
        "differences": [dict],
        "changes": [{"change": str, "names": [str], "added": int, "removed": int, "diff": [str]}],
        "notes": [str],
        "last_words": [str],
    },
}
"""The results of a change and of a dry run (docs/admin-api.md#apply)."""


def run(arguments: Arguments) -> int:
    """Apply a directory. Exit status 0 done, 1 refused, 2 not reachable."""
    name = arguments["DIR"]
    if not Path(name).is_dir():
        raise CommandError(f"{name} is no directory of documents", WRONG_USAGE)
    try:
        found = read_directory(name, follow_links=bool(arguments["--follow-links"]))
    except StoreError as error:
        raise CommandError(str(error)) from None
    if found.unreadable:
        say_each("skipped", found.skipped)
        say_each("cannot be applied", found.unreadable)
        raise CommandError(f"nothing was applied: {counted(len(found.unreadable), 'document')} cannot be read")
    if arguments["--prune"] and not found.documents:
        raise CommandError(
            f"nothing was applied: {printable(name)} has no document, so --prune would remove all documents; is its "
            "file system mounted?"
        )
    try:
        target = _target(arguments, found)
        say_each("skipped", found.skipped)
        return _apply(arguments, target)
    except StoreError as error:
        raise CommandError(str(error), WRONG_USAGE) from None


def _apply(arguments: Arguments, target: Target) -> int:
    asks = can_ask() and not arguments["--yes"] and not arguments["--json"]
    etag: str | None = None
    if arguments["--dry-run"] or asks:
        report, etag = target(True, None)
        if arguments["--json"]:
            print_json(report)
        else:
            print(*_summary(report), sep="\n")
        if arguments["--dry-run"] or not any(report[name] for name in ("new", "changed", "removed")):
            return 0
        if not said_yes("Apply this?"):
            raise CommandError("nothing was applied")
    report, _ = target(False, etag)
    if fits(report.get("warnings"), [str]):
        for warning in report["warnings"]:
            say(f"warning: {warning}")
    if arguments["--json"]:
        print_json(report)
        return 0
    for problem in report["problems"]:
        say(f"problem: {problem}")
    print(_counts(report))
    if "machines" in report and not asks:
        say(f"warning: {losing(report['machines'], 'lost')}")
    return 0


def _target(arguments: Arguments, found: Directory) -> Target:
    prune, strict, note = bool(arguments["--prune"]), bool(arguments["--strict"]), arguments["--note"]
    prune_inventories = bool(arguments["--prune-inventories"])
    if arguments["--to"]:
        api = AdminApi.of(arguments["--to"], arguments["--ca"], "--to", CHANGE_SECONDS)
        puts = [
            {"kind": raw.key.kind.value, "identifier": raw.key.identifier, "format": raw.key.format, "text": raw.text}
            for raw in found.documents
        ]

        def through_the_api(dry_run: bool, etag: str | None) -> tuple[dict[str, Any], str]:
            change = {"put": puts, "prune": prune, "dry_run": dry_run, **({"strict": True} if strict else {})}
            if prune_inventories:
                change["prune_inventories"] = True
            reply = api.change("/apply", change, _TRIED if dry_run else _APPLIED, etag, note)
            if reply.is_error:
                raise refusal(
                    reply.error, reply.content["problems"] if fits(reply.content, {"problems": [str]}) else []
                )
            return reply.content, reply.etag

        return through_the_api
    if arguments["--ca"]:
        raise CommandError("--ca is for --to", WRONG_USAGE)
    config = settings()
    if config.store == "files":
        raise CommandError(
            f"the service reads {printable(config.answers_dir)}, whose files are changed in place: set "
            f"SERVICE_STORE=sqlite and SERVICE_DB_PATH, or name a service with --to{unread_env_file()}",
            WRONG_USAGE,
        )
    opened = open_existing_database if arguments["--dry-run"] else open_database  # a dry run makes no file
    from answerd.write_guard import ChangeSet  # noqa: PLC0415

    changes = ChangeSet(found.documents, prune=prune, prune_inventories=prune_inventories)
    return _in_the_database(opened(config), changes, note, strict=strict)


def _in_the_database(store: Store, changes: ChangeSet, note: str | None, *, strict: bool) -> Target:
    from answerd.check.refusals import refusals  # noqa: PLC0415
    from answerd.etags import UNCONDITIONAL, Conditions  # noqa: PLC0415
    from answerd.server.admin.changes import applied_as_json  # noqa: PLC0415
    from answerd.write_guard import RefusedByInstallers, WriteRefused  # noqa: PLC0415

    announce_store(store)
    guard = local_guard(store)
    author = own_author(note)

    def to_the_database(dry_run: bool, etag: str | None) -> tuple[dict[str, Any], str]:
        conditions = Conditions(if_match=etag) if etag else UNCONDITIONAL
        try:
            tried = guard.tried(changes, conditions) if dry_run or strict else None
            if strict and tried is not None:
                why = refusals(tried.before, tried.after, configured_sources(), words=tried.words())
                if why:
                    raise RefusedByInstallers([*map(str, why)])
            applied = tried if dry_run and tried is not None else guard.apply(changes, author, conditions)
        except WriteRefused as refused:
            raise refusal(refused.reason, refused.problems) from None
        report = applied_as_json(applied, dry_run=dry_run)
        if dry_run:
            shown, words = progress("answers"), applied.words()
            report["answers"] = compare(applied.before, applied.after, shown, words=words).as_json()
        elif asks_for_states(applied.after):
            states = open_existing_states(settings(), store)
            if states is not None and states.is_empty():  # a new database: another place may have them
                report["warnings"] = [NO_STATES]
        return report, applied.etag

    return to_the_database


def _counts(report: dict[str, Any]) -> str:
    counts = ", ".join(f"{report[name]} {name}" for name in _COUNTS)
    return f"{report['status']}: {counts}; {counted(len(report['problems']), 'problem')}"


MOST_GONE = 100
"""Answers of one text that are named where they are gone."""


def _summary(report: dict[str, Any]) -> Iterator[str]:
    """Yield the result of a dry run: documents, then answers, with the diff of each change once."""
    yield coloured(_counts(report), "bold")
    for sort in ("new", "changed", "removed"):
        for key in report["documents"][sort]:
            name = f'{key["kind"]} "{key["identifier"]}"' if key["identifier"] else key["kind"]
            yield printable_line(f"{sort:7}  {name} ({key['format']})")
    if "machines" in report:
        yield coloured(losing(report["machines"]), "red")
    answers = report["answers"]
    yield coloured(f"{len(answers['differences'])} of {answers['compared']} answers would change", "bold")
    for change in answers["changes"]:
        names, is_gone = change["names"], change["change"] == "gone"
        named = names[:MOST_GONE] if is_gone else names[:1]
        left = len(names) - len(named)
        more = f" and {left} more{'' if is_gone else ' with the same change'}" if left else ""
        line = f"{change['change']}: {', '.join(named)}{more}  +{change['added']} -{change['removed']}"
        yield coloured(printable_line(line), "bold")
        if not is_gone:  # of an answer that is gone it counts who had it
            yield from map(diff_line, change["diff"])
    for note in answers["notes"]:
        yield printable_line(f"note: {note}")
