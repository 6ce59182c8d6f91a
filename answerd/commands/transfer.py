"""``answerd import`` and ``answerd export``: documents between a directory and the database."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from answerd.commands import Arguments, CommandError
from answerd.commands.terminal import plain, progress
from answerd.config import read_config
from answerd.identity import printable
from answerd.store import no_progress
from answerd.store.sqlite import SqliteStore
from answerd.store.transfer import export_directory, import_directory


def import_documents(arguments: Arguments) -> int:
    """Copy a directory into the database. Exit status 1 where a document could not be taken."""
    path = read_config(os.environ, to_serve=False).db_path
    summary = import_directory(arguments["DIR"], SqliteStore(path), progress("documents") or no_progress)
    for name, why in summary.skipped:
        print(plain(f"skipped: {name}: {why}"), file=sys.stderr)
    for name, why in summary.unreadable:
        print(plain(f"not imported: {name}: {why}"), file=sys.stderr)
    for problem in summary.problems:
        print(plain(f"problem: {problem}"), file=sys.stderr)
    print(
        f"{summary.taken} documents imported into {printable(path)}: "
        f"{summary.new} new, {summary.changed} changed, {summary.unchanged} unchanged; "
        f"{len(summary.skipped) + len(summary.unreadable)} skipped, {len(summary.problems)} problems"
    )
    return 1 if summary.unreadable else 0


def export_documents(arguments: Arguments) -> int:
    """Write the database's documents as files of the flat layout."""
    path = read_config(os.environ, to_serve=False).db_path
    if not Path(path).exists():  # opening it would make it
        raise CommandError(f"{path} does not exist: SERVICE_DB_PATH names the database")
    summary = export_directory(
        SqliteStore(path), arguments["DIR"], force=arguments["--force"], progress=progress("documents") or no_progress
    )
    for name, why in summary.skipped:
        print(plain(f"skipped: {name}: {why}"), file=sys.stderr)
    print(f"{summary.written} documents exported to {printable(arguments['DIR'])}, {len(summary.skipped)} skipped")
    return 0
