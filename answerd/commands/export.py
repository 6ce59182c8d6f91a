"""``answerd export``: the documents of the database as files."""

from __future__ import annotations

import os
import sys

from answerd.commands import Arguments, CommandError, Help
from answerd.commands.common import announce_store, unread_env_file
from answerd.commands.terminal import counted, printable_line, progress
from answerd.config import read_config
from answerd.identity import printable
from answerd.store import StoreError, no_progress
from answerd.store.opening import open_existing_database
from answerd.store.transfer import export_directory

HELP = Help(
    summary="Write the database's documents into a directory.",
    usage=("export [--force] DIR",),
    details="""
        Writes every document of the database as a file of the flat layout. DIR is created where it is
        missing; one that is not empty is refused, unless --force is given.
        """,
    options=(("--force", "Export into a directory that is not empty; files of the same names are replaced."),),
    examples=(
        ("answerd export /tmp/answers", "Write the documents into a new directory."),
        ("answerd export --force ~/answers", "Write them over those of a directory under version control."),
    ),
)


def run(arguments: Arguments) -> int:
    """Write the database's documents as files of the flat layout."""
    try:
        store = open_existing_database(read_config(os.environ, to_serve=False))
    except StoreError as error:
        raise CommandError(f"{error}{unread_env_file()}") from None
    announce_store(store, len(store.keys()))
    summary = export_directory(
        store, arguments["DIR"], force=arguments["--force"], progress=progress("documents") or no_progress
    )
    for name, why in summary.skipped:
        print(printable_line(f"skipped: {name}: {why}"), file=sys.stderr)
    print(
        f"{counted(summary.written, 'document')} exported to {printable(arguments['DIR'])}, "
        f"{len(summary.skipped)} skipped"
    )
    return 0
