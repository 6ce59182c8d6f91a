"""Write everything that the service keeps to one file, and put it back.

Usage:
  answerd backup [--force] FILE
  answerd restore [--force] FILE

`backup` writes a consistent copy of the database (documents, inventories, their
history, states of installs) to a new file, while the service runs. Of a
directory of documents it holds the documents, and the states of
SERVICE_STATE_PATH. Where these are not there and a document has `once`, it is
written without them, and the exit status is 1. The file holds password hashes:
it has mode 0600.

`restore` replaces the documents of the database and their history by those of a
backup, in one transaction, and merges the states of installs with those that
are there: a machine that is known to be installed stays so. A service that runs
goes on with it. The database is created where there is none; one that is not
empty is only changed with --force. With SERVICE_STORE=files the documents are
written into the directory, and the states into SERVICE_STATE_PATH. With
SERVICE_STORE=postgres the documents are stored as an import would, without
their history. For one document, see `answerd restore-document`. A file that is
no backup of answerd changes nothing. A document that could not be taken is
named. See docs/admin-api.md#backup-and-restore.

Options:
  --force    Replace what is there: FILE; the documents of the database; in a
             directory, files of the same names.
  -h --help  This text.

Exit status:
  0  it worked
  1  it did not, or a document or the states could not be taken; the reason is
     on standard error
  2  the command line is wrong, or a file on it is not there

Examples:
  # What cron runs every night.
  answerd backup /backup/answers-$(date +%F).db
  # Put it back into a new database.
  answerd restore /backup/answers-2026-11-21.db
  # Put it back in place of what is there.
  answerd restore --force /backup/answers-2026-11-21.db
"""

from __future__ import annotations

from pathlib import Path
from time import time

from answerd.answers.operator_names import asks_for_states
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import announce_store, configured_store, settings
from answerd.commands.own_changes import own_author, user_name
from answerd.commands.terminal import counted, printable_line, say, say_each
from answerd.config import Config
from answerd.installs.events import audited
from answerd.short_texts import printable
from answerd.store.backup import (
    backup_database,
    backup_directory,
    machines_in,
    restore_database,
    restore_directory,
    restore_shared,
)
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.store.opening import install_rules, open_existing_states, open_postgres
from answerd.store.states import LOST


def run(arguments: Arguments) -> int:
    return back_up(arguments) if arguments["backup"] else restore(arguments)


def back_up(arguments: Arguments) -> int:
    """Write a backup. Exit status 1 where a document could not be taken, or states are missing."""
    config = settings()
    store, file, force = configured_store(), arguments["FILE"], bool(arguments["--force"])
    if isinstance(store, FileStore):
        author = own_author(f"backup of {config.answers_dir}")
        summary = backup_directory(config.answers_dir, file, states=config.state_path, force=force, author=author)
        announce_store(store, summary.taken)
        say_each("not in the backup", (*summary.skipped, *summary.unreadable))
        documents, states = counted(summary.taken, "document"), counted(machines_in(Path(file)), "state")
        print(f"{documents} of {printable_line(store.described)} and {states} of installs are in {printable(file)}")
        return 1 if _say_missing_states(config, store) or summary.unreadable else 0
    if Path(file).exists() and Path(config.db_path).exists() and Path(file).samefile(config.db_path):
        raise CommandError(f"{file} is the database itself: name another file")
    announce_store(store)
    backup_database(store, file, force=force)
    states = counted(machines_in(Path(file)), "state")
    print(f"{printable_line(store.described)} is in {printable(file)}, with {states} of installs")
    return 0


def _say_missing_states(config: Config, store: FileStore) -> bool:
    """Say that a backup of a directory lacks the states that its documents need; return whether it does. It fails for
    it, because somebody reads what fails in cron. The first start of a service makes the file."""
    if (config.state_path is not None and Path(config.state_path).exists()) or not asks_for_states(loaded(store)):
        return False
    why = "SERVICE_STATE_PATH is not set"
    if config.state_path is not None:
        why = f"{printable(config.state_path)} does not exist. If the service has run: {LOST}"
    say(f"answerd: documents have `once`, and the backup has no states of installs: {why}")
    return True


def restore(arguments: Arguments) -> int:
    config, file, force = settings(), arguments["FILE"], bool(arguments["--force"])
    if not Path(file).is_file():
        raise CommandError(f"{file} does not exist", WRONG_USAGE)
    if config.store == "files":
        place = config.answers_dir
        done = restore_directory(file, place, states=config.state_path, force=force)
    elif config.store == "postgres":
        store = open_postgres(config)
        place = store.described
        done = restore_shared(file, store, install_rules(config), force=force, author=own_author(f"restore of {file}"))
    else:
        place = config.db_path
        done = restore_database(file, place, force=force)
    say_each("skipped", done.skipped)
    states_now = open_existing_states(config)
    if states_now is not None:
        origin = ", ".join(part for part in ("command line", user_name()) if part)
        states_now.note_audited(audited("restore", time(), origin, detail=f"{done.documents} of {file}"))
    is_whole = done.documents == done.held
    documents = counted(done.held, "document") if is_whole else f"{done.documents} of {counted(done.held, 'document')}"
    states = counted(done.machines, "state")
    if config.store == "files" and config.state_path is None and done.machines:
        say(f"warning: SERVICE_STATE_PATH is not set: {states} of installs are not restored: every machine may install")
        print(f"{documents} restored to {printable_line(place)}")
    else:
        print(f"{documents} and {states} of installs restored to {printable_line(place)}")
    return 0 if is_whole else 1
