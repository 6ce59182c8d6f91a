"""``answerd import``: the documents of a directory into the database."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from answerd.commands import WRONG_USAGE, Arguments, CommandError, Help
from answerd.commands.apply import own_author
from answerd.commands.terminal import counted, printable_line, progress
from answerd.config import read_config
from answerd.identity import printable
from answerd.store import no_progress
from answerd.store.backup import import_file
from answerd.store.opening import open_database
from answerd.store.transfer import ImportSummary, import_directory

HELP = Help(
    summary="Copy a directory of documents into the database.",
    usage=("import [--prune] DIR", "import [--prune] --from-db FILE"),
    details="""
        Copies the documents of a directory into the database in one transaction, and creates it where
        there is none. A document takes the place of the one of its identity and format; all others stay, unless --prune
        is given. Documents that are broken are taken and reported.

        FILE is the database of another service (SERVICE_DB_PATH there) or a backup. Its documents and inventories are
        taken; its history and its states of installs are not.
        """,
    options=(
        ("--prune", "Remove the documents of the database that DIR or FILE does not have."),
        ("--from-db FILE", "Take the documents of a database file in place of a directory."),
    ),
    examples=(
        ("answerd import ~/answers", "Move from files to a database."),
        ("answerd import --prune ~/answers", "Make the database equal to the directory."),
    ),
    exits=(
        (0, "it worked"),
        (1, "a document could not be taken, or nothing was imported; the reason is on stderr"),
        (2, "the command line is wrong, or DIR or FILE is not there"),
    ),
)


def run(arguments: Arguments) -> int:
    """Copy a directory or a database into the database. Exit status 1 where a document could not be taken."""
    source = arguments["--from-db"] or arguments["DIR"]
    is_file = arguments["--from-db"] is not None
    if not (Path(source).is_file() if is_file else Path(source).is_dir()):
        wanted = "file" if is_file else "directory"
        state = f"is no {wanted}" if Path(source).exists() else "does not exist"
        what = "database file or a backup" if is_file else "directory of documents"
        raise CommandError(f"{source} {state}: name a {what}", WRONG_USAGE)
    config = read_config(os.environ, to_serve=False)
    if is_file and config.store != "postgres" and _is_same(source, config.db_path):
        raise CommandError(f"{source} is the database of the settings itself", WRONG_USAGE)
    store = open_database(config)
    shown = store.described if config.store == "postgres" else config.db_path
    report_progress, prune = progress("documents") or no_progress, bool(arguments["--prune"])
    copied = import_file if is_file else import_directory
    summary = copied(source, store, report_progress, prune=prune, author=own_author(f"import of {source}"))
    if summary.installs:
        print(
            f"warning: {printable(source)} has {counted(summary.installs, 'state')} of installs, which import does not "
            "carry: a machine that is installed may install again. answerd restore carries them "
            "(docs/many-nodes.md#moving-a-service)",
            file=sys.stderr,
        )
    _print_summary(summary, shown, removed=prune)
    return 1 if summary.unreadable else 0


def _is_same(source: str, path: str) -> bool:
    return Path(path).exists() and Path(source).samefile(path)


def _print_summary(summary: ImportSummary, shown: str, *, removed: bool) -> None:
    for name, why in summary.skipped:
        print(printable_line(f"skipped: {name}: {why}"), file=sys.stderr)
    for name, why in summary.unreadable:
        print(printable_line(f"not imported: {name}: {why}"), file=sys.stderr)
    for problem in summary.problems:
        print(printable_line(f"problem: {problem}"), file=sys.stderr)
    pruned = f", {summary.removed} removed" if removed else ""
    print(
        f"{counted(summary.taken, 'document')} imported into {printable(shown)}: {summary.new} new, "
        f"{summary.changed} changed, {summary.unchanged} unchanged{pruned}; "
        f"{len(summary.skipped) + len(summary.unreadable)} skipped, {counted(len(summary.problems), 'problem')}"
    )
