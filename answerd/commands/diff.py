"""Whose answers would change if OTHER were in force, and how.

Usage:
  answerd diff [--json] [--summary] [--show-secrets] OTHER

OTHER is a directory of documents or a database file. Every answer that can be
tried without a request is made from the store of the settings and from OTHER,
that of a machine which has asked the service with what it last said of itself.
Machines with the same change are shown together. Secrets that differ are
masked. See docs/explain.md#what-a-change-would-change.

Options:
  --summary       Show who changes, and by how many lines; not the lines.
  --show-secrets  Show passwords, hashes and keys that differ.
  --json          For programs.
  -h --help       This text.

Exit status:
  0  no answer would change
  1  some would
  2  it could not be found out, or wrong command line

Examples:
  # Show what a directory would change before it is put in force.
  answerd diff ~/answers
  # Name the machines whose answers differ from a backup's.
  answerd diff --summary answers-of-yesterday.db
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from answerd.answers.diff import Change, Comparison, Side
from answerd.answers.diff import compare as compare_sets
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import catalogue_of, last_words, named_directory, read_documents
from answerd.commands.terminal import coloured, diff_line, print_json, printable_line, progress
from answerd.config import ConfigError
from answerd.store import Store, StoreError
from answerd.store.opening import require_database
from answerd.store.sqlite import SqliteStore

SAME, DIFFERENT, FAILED = 0, 1, 2
"""The exit statuses: those of diff(1)."""


def run(arguments: Arguments) -> int:
    """Print whose answers differ between the configured store and OTHER, and how. Exit status as diff(1) has it."""
    try:
        other = _opened(arguments["OTHER"])
        store, catalogue = read_documents()
        found = compare_sets(catalogue, catalogue_of(other), progress("answers"), words=last_words(store))
    except (ConfigError, StoreError) as error:
        raise CommandError(str(error), FAILED) from None
    show_secrets, summary = bool(arguments["--show-secrets"]), bool(arguments["--summary"])
    if arguments["--json"]:
        print_json(found.as_json(show_secrets=show_secrets, summary=summary))
    else:
        changes = found.changes(show_secrets=show_secrets)
        names = printable_line(store.described), printable_line(other.described)
        for line in (*_summary(found, changes, names), *(() if summary else _hunks(changes, names))):
            print(line)
    return DIFFERENT if found.differences else SAME


def _opened(name: str) -> Store:
    """Open a directory or a database file that exists. Raises `CommandError`, `StoreError`."""
    path = Path(name)
    if path.is_dir():
        return named_directory(name)
    if path.is_file():
        require_database(name)
        return SqliteStore(path)
    raise CommandError(f"{name} is neither a directory nor a file", WRONG_USAGE)


def _summary(found: Comparison, changes: list[Change], names: tuple[str, str]) -> Iterator[str]:
    """Yield how many answers differ, a line for each change, and what could not be tried."""
    yield coloured(f"{len(found.differences)} of {found.compared} answers differ, {' and '.join(names)}", "bold")
    width = max((len(change.name) for change in changes), default=0)
    for change in changes:
        added, removed = change.counts
        yield f"{change.first.change:7}  {printable_line(change.name):{width}}  +{added} -{removed}"
    for note in found.notes:
        yield f"note: {printable_line(note)}"


def _hunks(changes: list[Change], names: tuple[str, str]) -> Iterator[str]:
    for change in changes:
        first = change.first
        several = f", shown for {first.name}" if len(change.differences) > 1 else ""
        yield ""
        yield coloured(printable_line(f"--- {change.name}{several} in {names[0]}{_made_of(first.before)}"), "bold")
        yield coloured(printable_line(f"+++ {change.name}{several} in {names[1]}{_made_of(first.after)}"), "bold")
        for line in change.lines:
            yield diff_line(line)


def _made_of(side: Side | None) -> str:
    if side is None:
        return ": nothing of this name"
    return f": {' over '.join(reversed(side.names))}" if side.names else ""
