"""Take over another service's data.

Usage:
  answerd migrate [--follow-links] SOURCE PATH DIR

Reads the data of matchbox, cobbler, autopve or rescriptum, or a directory of
files named by MAC address (mac-files), at PATH. Writes documents, an inventory
and secrets into DIR, which must be empty or new, and what could not be carried
over on standard error and into DIR/MIGRATION.md. PATH is not changed. See
docs/migrating.md.

Options:
  --follow-links  Read what links lead to out of PATH; else such a link is an
                  error, and nothing is written.
  -h --help       This text.

Exit status:
  0  it worked
  1  it did not; the reason is on standard error
  2  the command line is wrong, or a file on it is not there

Examples:
  # Take over the groups and profiles of matchbox.
  answerd migrate matchbox /var/lib/matchbox ~/migrated
  # See whether every machine gets its answer.
  answerd check ~/migrated/answers
"""

from __future__ import annotations

from pathlib import Path

from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.terminal import counted, say_each
from answerd.commands.values import one_of
from answerd.migrate import SOURCES, MigrationError, read
from answerd.migrate.result import write
from answerd.short_texts import printable


def run(arguments: Arguments) -> int:
    source, path, target = arguments["SOURCE"], Path(arguments["PATH"]), Path(arguments["DIR"])
    one_of("source", source, SOURCES)
    if not path.exists():
        raise CommandError(f"{printable(str(path))} does not exist", WRONG_USAGE)
    try:
        data = read(source, path, follow_links=bool(arguments["--follow-links"]))
        write(data, source, target)
    except MigrationError as error:
        raise CommandError(str(error)) from None
    say_each("not carried over", data.not_carried)
    print(
        f"{counted(len(data.documents), 'document')}, {counted(len(data.rows), 'row')} and "
        f"{counted(len(data.secrets), 'secret')} written into {printable(str(target))}; read MIGRATION.md there"
    )
    return 0
