"""``answerd diff``: whose answers would change if another directory or database were in force."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from answerd.answers.differences import Comparison, Difference, Side
from answerd.answers.differences import compare as compare_sets
from answerd.commands import Arguments, CommandError
from answerd.commands.common import configured_store
from answerd.commands.terminal import coloured, plain, print_json, progress
from answerd.config import ConfigError
from answerd.store import Store, StoreError
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.store.sqlite import SqliteStore

SAME, DIFFERENT, FAILED = 0, 1, 2
"""The exit statuses: those of diff(1)."""

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def compare(arguments: Arguments) -> int:
    """Print whose answers differ between the configured store and OTHER, and how. Exit status as diff(1) has it."""
    try:
        store, other = configured_store(), _opened(arguments["OTHER"])
        for warning in store.warnings():
            print(f"warning: {plain(warning)}", file=sys.stderr)
        found = compare_sets(loaded(store), loaded(other), progress("answers"))
    except (ConfigError, StoreError) as error:
        raise CommandError(str(error), FAILED) from None
    show_secrets = bool(arguments["--show-secrets"])
    if arguments["--json"]:
        print_json(_as_json(found, show_secrets))
    else:
        _print(found, store.described, other.described, show_secrets)
    return DIFFERENT if found.differences else SAME


def _opened(name: str) -> Store:
    """A directory or a database file that exists. Raises `CommandError`, `StoreError`."""
    path = Path(name)
    if path.is_dir():
        store = FileStore(path)
        unreadable = store.warnings()
        if unreadable:
            raise CommandError(unreadable[0], FAILED)
        return store
    if path.is_file():
        return SqliteStore(path)
    raise CommandError(f"{name} is neither a directory nor a file", FAILED)


def _print(found: Comparison, described: str, other: str, show_secrets: bool) -> None:
    width = max((len(difference.name) for difference in found.differences), default=0)
    described, other = plain(described), plain(other)
    print(coloured(f"{len(found.differences)} of {found.compared} answers differ, {described} and {other}", "bold"))
    diffs = [(difference, difference.unified(show_secrets=show_secrets)) for difference in found.differences]
    for difference, lines in diffs:
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        print(f"{difference.change:7}  {plain(difference.name):{width}}  +{added} -{removed}")
    for note in found.notes:
        print(f"note: {plain(note)}")
    for difference, lines in diffs:
        print()
        print(coloured(plain(f"--- {difference.name} in {described}{_made_of(difference.before)}"), "bold"))
        print(coloured(plain(f"+++ {difference.name} in {other}{_made_of(difference.after)}"), "bold"))
        for line in lines:
            print(coloured(plain(line), _COLOURS[line[0]]) if line[:1] in _COLOURS else plain(line))


def _made_of(side: Side | None) -> str:
    if side is None:
        return ": nothing of this name"
    return f": {' over '.join(reversed(side.layers))}" if side.layers else ""


def _as_json(found: Comparison, show_secrets: bool) -> dict[str, Any]:
    return {
        "compared": found.compared,
        "differences": [_difference_as_json(difference, show_secrets) for difference in found.differences],
        "notes": list(found.notes),
    }


def _difference_as_json(difference: Difference, show_secrets: bool) -> dict[str, Any]:
    return {
        "name": difference.name,
        "identifier": difference.identifier,
        "format": difference.format,
        "change": difference.change,
        "before": _side_as_json(difference.before),
        "after": _side_as_json(difference.after),
        "diff": difference.unified(show_secrets=show_secrets),
    }


def _side_as_json(side: Side | None) -> dict[str, Any] | None:
    return None if side is None else {"layers": list(side.layers), "reason": side.reason or None}
