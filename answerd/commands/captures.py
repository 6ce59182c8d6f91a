"""The recorded requests (SERVICE_CAPTURE_DIR), newest first.

Usage:
  answerd captures [--machine NAME] [--json]

Lists what the service recorded: time, address, who asked, outcome, request and
file. The file's name is what `answerd render --replay` takes. A cell is cut at
60 characters. See docs/captures.md.

Options:
  --machine NAME  Only requests that carry this identity: a MAC address, a
                  serial number, a host name.
  --json          For programs; no cell is cut.
  -h --help       This text.

Exit status:
  0  it worked
  1  it did not; the reason is on standard error
  2  the command line is wrong, or a file on it is not there

Examples:
  # List the last ten requests.
  answerd captures | head
  # List what one machine asked for.
  answerd captures --machine 98:fa:9b:50:d8:10
"""

from __future__ import annotations

from pathlib import Path

from answerd import captures
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import settings, unread_env_file
from answerd.commands.terminal import counted, print_json, print_table, say
from answerd.facts import Facts
from answerd.identity import identity_of
from answerd.short_texts import cut, printable

WIDEST = 60
"""Characters of a cell, so that columns stay aligned; ``--json`` has all of it."""


def run(arguments: Arguments) -> int:
    wanted = None if arguments["--machine"] is None else identity_of(arguments["--machine"])
    directory = settings().capture_dir
    if directory is None:
        raise CommandError(f"SERVICE_CAPTURE_DIR is not set: there is nothing to list{unread_env_file()}")
    try:
        found = list(captures.newest_first(Path(directory)))
    except OSError as error:
        raise CommandError(f"{directory} cannot be read: {error.strerror}") from None
    say(f"# captures: {directory}, {counted(len(found), 'request')}")
    rows = []
    for name, capture in found:
        try:
            if isinstance(capture, captures.CaptureError):
                raise capture
            facts = Facts(capture.request)
        except captures.CaptureError as error:
            say(f"answerd: {error}")
            continue
        if wanted is None or wanted in facts.identities:
            row = {
                "time": capture.time,
                "peer": capture.peer,
                "identity": facts.described,
                "outcome": capture.outcome,
                "request": capture.request_line,
                "file": name,
            }
            rows.append({key: printable(value) for key, value in row.items()})
    if arguments["--json"]:
        print_json({"captures": rows})
        return 0
    print_table([[*(cut(cell, WIDEST) for cell in list(row.values())[:-1]), row["file"]] for row in rows], headed=False)
    return 0


def capture_named(name: str) -> Path:
    """Return the ``.meta`` file of a capture, by its path or its name as ``captures`` prints it.

    Raises `CommandError`, with status 2, where there is no such file.
    """
    path = Path(name)
    if not path.exists() and "/" not in name and (directory := settings().capture_dir) is not None:
        path = Path(directory, name)
    if not path.exists():
        raise CommandError(
            f"{name} cannot be read: there is none; answerd captures lists the requests that were recorded", WRONG_USAGE
        )
    return path
