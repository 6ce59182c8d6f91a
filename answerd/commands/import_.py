"""``answerd import``: the documents of a directory into the database."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from answerd.commands import WRONG_USAGE, Arguments, CommandError, Help
from answerd.commands.terminal import counted, plain, progress
from answerd.config import read_config
from answerd.identity import printable
from answerd.store import no_progress
from answerd.store.sqlite import SqliteStore
from answerd.store.transfer import import_directory

HELP = Help(
    summary="Copy a directory of documents into the database.",
    usage=("import [--prune] DIR",),
    details="""
        Copies the documents of a directory into the database (SERVICE_DB_PATH) in one transaction, and creates it where
        there is none. A document takes the place of the one of its identity and format; all others stay, unless --prune
        is given. Documents that are broken are taken and reported.
        """,
    options=(("--prune", "Remove the documents of the database that DIR does not have."),),
    examples=(
        ("answerd import ~/answers", "Move from files to a database."),
        ("answerd import --prune ~/answers", "Make the database equal to the directory."),
    ),
    exits=(
        (0, "it worked"),
        (1, "a document could not be taken, or nothing was imported; the reason is on stderr"),
        (2, "the command line is wrong, or DIR is not there"),
    ),
)


def run(arguments: Arguments) -> int:
    """Copy a directory into the database. Exit status 1 where a document could not be taken."""
    directory = arguments["DIR"]
    if not Path(directory).is_dir():
        state = "is no directory" if Path(directory).exists() else "does not exist"
        raise CommandError(f"{directory} {state}: name a directory of documents", WRONG_USAGE)
    path = read_config(os.environ, to_serve=False).db_path
    summary = import_directory(
        directory, SqliteStore(path), progress("documents") or no_progress, prune=arguments["--prune"]
    )
    for name, why in summary.skipped:
        print(plain(f"skipped: {name}: {why}"), file=sys.stderr)
    for name, why in summary.unreadable:
        print(plain(f"not imported: {name}: {why}"), file=sys.stderr)
    for problem in summary.problems:
        print(plain(f"problem: {problem}"), file=sys.stderr)
    removed = f", {summary.removed} removed" if arguments["--prune"] else ""
    print(
        f"{counted(summary.taken, 'document')} imported into {printable(path)}: {summary.new} new, "
        f"{summary.changed} changed, {summary.unchanged} unchanged{removed}; "
        f"{len(summary.skipped) + len(summary.unreadable)} skipped, {counted(len(summary.problems), 'problem')}"
    )
    return 1 if summary.unreadable else 0
