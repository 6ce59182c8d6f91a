"""``answerd restore``: everything that a backup holds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from answerd.commands import WRONG_USAGE, Arguments, CommandError, Help
from answerd.commands.apply import own_author
from answerd.commands.terminal import counted, printable_line
from answerd.config import read_config
from answerd.identity import printable
from answerd.store.backup import restore_database, restore_directory, restore_shared
from answerd.store.opening import install_rules, open_postgres

HELP = Help(
    summary="Put back what a backup holds.",
    usage=("restore [--force] FILE",),
    details="""
        Replaces the content of the database by that of a backup, in one transaction. A service that runs goes on with
        it. The database is created where there is none; one that is not empty is only replaced with --force. With
        SERVICE_STORE=files the documents are written into the directory, and the states into SERVICE_STATE_PATH. With
        SERVICE_STORE=postgres the documents are stored as an import would, without their history, and the states are
        merged with those that are there: a machine that is known to be installed stays so.
        """,
    options=(("--force", "Replace what is there; in a directory, files of the same names."),),
    examples=(
        ("answerd restore /backup/answers.db", "Into a new database."),
        ("answerd restore --force /backup/answers.db", "In place of what is there."),
    ),
)


def run(arguments: Arguments) -> int:
    """Restore a backup."""
    config, file, force = read_config(os.environ, to_serve=False), arguments["FILE"], bool(arguments["--force"])
    if not Path(file).is_file():
        raise CommandError(f"{file} does not exist", WRONG_USAGE)
    if config.store == "files":
        summary = restore_directory(file, config.answers_dir, states=config.state_path, force=force)
        for name, why in summary.skipped:
            print(printable_line(f"skipped: {name}: {why}"), file=sys.stderr)
        print(f"{counted(summary.written, 'document')} restored to {printable(config.answers_dir)}")
        return 0
    if config.store == "postgres":
        store = open_postgres(config)
        documents, machines = restore_shared(
            file, store, install_rules(config), force=force, author=own_author(f"restore of {file}")
        )
        taken = f"{counted(documents, 'document')} and {counted(machines, 'state')} of installs"
        print(f"{taken} restored to {store.described}")
        return 0
    count = restore_database(file, config.db_path, force=force)
    print(f"{counted(count, 'document')} restored to {printable(config.db_path)}")
    return 0
