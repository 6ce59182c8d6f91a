"""``answerd captures``: the recorded requests, newest first."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from answerd import captures
from answerd.commands import Arguments, CommandError
from answerd.commands.terminal import plain, print_json
from answerd.config import read_config
from answerd.facts import Facts
from answerd.identity import printable


def list_captures(arguments: Arguments) -> int:
    """Print the captured requests: when, from where, who asked for what, and what became of it."""
    directory = read_config(os.environ, to_serve=False).capture_dir
    if directory is None:
        raise CommandError("SERVICE_CAPTURE_DIR is not set: there is nothing to list")
    try:
        rows = _rows(Path(directory))
    except OSError as error:
        raise CommandError(f"{directory} cannot be read: {error.strerror}") from None
    if arguments["--json"]:
        print_json({"captures": rows})
        return 0
    columns = ("time", "peer", "identity", "outcome", "request", "file")
    widths = {column: max((len(row[column]) for row in rows), default=0) for column in ("time", "peer", "identity")}
    for row in rows:
        print("  ".join(f"{row[column]:{widths.get(column, 0)}}" for column in columns))
    return 0


def _rows(directory: Path) -> list[dict[str, str]]:
    rows = []
    for name, capture in captures.newest_first(directory):
        try:
            if isinstance(capture, captures.CaptureError):
                raise capture
            who = Facts(capture.request).described
        except captures.CaptureError as error:
            print(f"answerd: {plain(str(error))}", file=sys.stderr)
            continue
        row = {
            "file": name,
            "time": capture.time,
            "peer": capture.peer,
            "identity": who,
            "request": capture.request_line,
            "outcome": capture.outcome,
        }
        rows.append({key: printable(value) for key, value in row.items()})
    return rows
