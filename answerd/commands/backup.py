"""``answerd backup``: everything that the service keeps, in one file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import cast

from answerd.commands import Arguments, CommandError, Help
from answerd.commands.apply import own_author
from answerd.commands.common import announce_store, configured_store
from answerd.commands.terminal import counted, printable_line
from answerd.config import read_config
from answerd.identity import printable
from answerd.store import WritableStore
from answerd.store.backup import backup_database, backup_directory
from answerd.store.files import FileStore

HELP = Help(
    summary="Write everything the service keeps to one file.",
    usage=("backup [--force] FILE",),
    details="""
        Writes a consistent copy of the database (documents, inventories, their history, states of installs) to a new
        file, while the service runs. Of a directory of documents it
        holds the documents, and the states of SERVICE_STATE_PATH. The file holds password
        hashes: it has mode 0600.
        """,
    options=(("--force", "Replace FILE if it exists."),),
    examples=(
        ("answerd backup /backup/answers-$(date +%F).db", "What cron runs every night."),
        ("answerd restore /backup/answers-2026-11-21.db", "Put it back."),
    ),
)


def run(arguments: Arguments) -> int:
    """Write a backup. Exit status 1 where a document could not be taken."""
    config = read_config(os.environ, to_serve=False)
    store, file, force = configured_store(), arguments["FILE"], bool(arguments["--force"])
    if isinstance(store, FileStore):
        author = own_author(f"backup of {config.answers_dir}")
        summary = backup_directory(config.answers_dir, file, states=config.state_path, force=force, author=author)
        announce_store(store, summary.taken)
        for name, why in (*summary.skipped, *summary.unreadable):
            print(printable_line(f"not in the backup: {name}: {why}"), file=sys.stderr)
        print(f"{counted(summary.taken, 'document')} of {printable_line(store.described)} are in {printable(file)}")
        return 1 if summary.unreadable else 0
    if not hasattr(store, "backup"):
        raise CommandError(f"{store.described} cannot be backed up by this command")
    if Path(file).exists() and Path(config.db_path).exists() and Path(file).samefile(config.db_path):
        raise CommandError(f"{file} is the database itself: name another file")
    database = cast(WritableStore, store)  # every store with a backup is writable
    announce_store(store, len(database.keys()))
    backup_database(database, file, force=force)
    print(f"{printable_line(store.described)} is in {printable(file)}")
    return 0
