"""Copy documents between a directory and the database.

Usage:
  answerd import [--prune] [--follow-links] [--states FILE] DIR
  answerd import [--prune] --from-db FILE
  answerd export [--force] DIR

`import` copies the documents of a directory into the database in one
transaction, and creates it where there is none. A document takes the place of
the one of its identity and format and keeps its stored spelling; all others
stay, unless --prune is given. Documents that are broken are taken and reported:
it judges nothing, `answerd apply` does. Where DIR has two files for one
identity and format, or a part of it cannot be listed, nothing is imported. The
states of installs are taken from the file that --states names, else from that
of SERVICE_STATE_PATH; where there is neither, a warning says so, because
machines may install again.

FILE is the database of another service (SERVICE_DB_PATH there) or a backup. Its
documents and inventories are taken; its history and its states of installs are
not. See docs/many-nodes.md#moving-a-service.

`export` writes every document of the database as a file of the flat layout. DIR
is created where it is missing; one that is not empty is refused, unless --force
is given. What is new can be read by its owner alone, because documents hold
password hashes. States of installs are not exported: `answerd backup`, and
`answerd restore` with the settings of the other service, carry them.

Options:
  --prune         Remove the documents of the database that DIR or FILE does not
                  have. A DIR without any document is refused: it may be a disk
                  that is not mounted.
  --follow-links  Read what links lead to out of DIR, but nothing of /proc, /sys
                  and /dev; else such a document could not be taken.
  --from-db FILE  Take the documents of a database file in place of a directory.
  --states FILE   Take the states of installs of this file, which the service
                  of DIR has as SERVICE_STATE_PATH.
  --force         Export into a directory that is not empty; files of the same
                  names are replaced, and all others stay. None may then be a
                  second file for the same document.
  -h --help       This text.

Exit status:
  0  it worked
  1  a document could not be taken (it is too large, is not UTF-8, cannot be
     opened or is a link out of DIR), or nothing was done; the reason is on
     standard error
  2  the command line is wrong, or DIR or FILE is not there

Examples:
  # Move from files to a database.
  answerd import ~/answers
  # Make the database equal to the directory.
  answerd import --prune ~/answers
  # Write the documents into a new directory.
  answerd export /tmp/answers
  # Write them over those of a directory under version control.
  answerd export --force ~/answers
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from answerd.answers.operator_names import NO_STATES
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import announce_store, settings, unread_env_file
from answerd.commands.own_changes import own_author
from answerd.commands.terminal import counted, progress, say, say_each
from answerd.config import Config
from answerd.short_texts import printable
from answerd.store import StoreError
from answerd.store.backup import import_file
from answerd.store.opening import install_rules, open_database, open_existing_database, open_existing_states
from answerd.store.states import open_state_file, take_states
from answerd.store.transfer import export_directory, import_directory


def run(arguments: Arguments) -> int:
    return import_documents(arguments) if arguments["import"] else export_documents(arguments)


def import_documents(arguments: Arguments) -> int:
    """Copy a directory or a database into the database. Exit status 1 where a document could not be taken."""
    source = arguments["--from-db"] or arguments["DIR"]
    is_file, prune = arguments["--from-db"] is not None, bool(arguments["--prune"])
    if not (Path(source).is_file() if is_file else Path(source).is_dir()):
        wanted = "file" if is_file else "directory"
        state = f"is no {wanted}" if Path(source).exists() else "does not exist"
        what = "database file or a backup" if is_file else "directory of documents"
        raise CommandError(f"{source} {state}: name a {what}", WRONG_USAGE)
    config = settings()
    own = Path(config.db_path)
    if is_file and config.store != "postgres" and own.exists() and own.samefile(source):
        raise CommandError(f"{source} is the database of the settings itself", WRONG_USAGE)
    store = open_database(config)
    shown = store.described if config.store == "postgres" else config.db_path
    follow_links = bool(arguments["--follow-links"])
    copied = import_file if is_file else partial(import_directory, follow_links=follow_links)
    author = own_author(f"import of {source}")
    summary = copied(source, store, progress("documents"), prune=prune, author=author)
    if summary.installs:
        say(
            f"warning: {source} has {counted(summary.installs, 'state')} of installs, which import does not "
            "carry: a machine that is installed may install again. answerd restore carries them "
            "(docs/many-nodes.md#moving-a-service)"
        )
    if not is_file:
        _import_states(config, arguments["--states"])
    say_each("skipped", summary.skipped)
    say_each("not imported", summary.unreadable)
    for problem in summary.problems:
        say(f"problem: {problem}")
    pruned = f", {summary.removed} removed" if prune else ""
    print(
        f"{counted(summary.taken, 'document')} imported into {printable(shown)}: {summary.new} new, "
        f"{summary.changed} changed, {summary.unchanged} unchanged{pruned}; "
        f"{len(summary.skipped) + len(summary.unreadable)} skipped, {counted(len(summary.problems), 'problem')}"
    )
    return 1 if summary.unreadable else 0


def _import_states(config: Config, named: str | None) -> None:
    """Take the states of installs along, and say how many, or that none were taken. Raises `StoreError`."""
    source = named or config.state_path
    if source is None or not Path(source).is_file():
        if named is not None:
            raise CommandError(f"--states {source} is no file of states", WRONG_USAGE)
        say(f"warning: no states of installs were taken ({NO_STATES}): --states FILE takes those of a service")
        return
    target = open_existing_states(config)
    if target is None:
        return
    taken = take_states(open_state_file(source, install_rules(config))[0], target)
    say(f"{counted(taken, 'event')} of installs taken from {printable(str(source))}")


def export_documents(arguments: Arguments) -> int:
    """Write the database's documents as files of the flat layout."""
    try:
        store = open_existing_database(settings())
    except StoreError as error:
        raise CommandError(f"{error}{unread_env_file()}") from None
    announce_store(store)
    target = arguments["DIR"]
    summary = export_directory(store, target, force=arguments["--force"], progress=progress("documents"))
    say_each("skipped", summary.skipped)
    states = open_existing_states(settings(), store)
    if states is not None and not states.is_empty():
        say("warning: the states of installs are not in a directory: answerd backup and restore carry them along")
    print(f"{counted(summary.written, 'document')} exported to {printable(target)}, {len(summary.skipped)} skipped")
    return 0
