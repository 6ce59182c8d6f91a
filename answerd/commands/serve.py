"""Run the service (also without any command).

Usage:
  answerd serve

Answers machines until a signal ends it: SIGTERM and SIGINT end it in order,
SIGHUP makes it read again what it reads at start. docs/running.md has the
details.

Options:
  -h --help  This text.

Exit status:
  0  a signal ended it
  1  it could not start
  2  the command line is wrong

Examples:
  # Serve a directory of documents on port 8000.
  SERVICE_ANSWERS_DIR=/srv/answers answerd
  # Take the settings from a file.
  SERVICE_ENV_FILE=/etc/answerd.env answerd serve
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from answerd.commands import Arguments, CommandError
from answerd.config import read_config

if TYPE_CHECKING:
    from answerd.server.console_parts import ConsoleFactory


def run(_arguments: Arguments) -> int:
    config = read_config(os.environ)
    # The standard library is patched before anything that the service uses is imported, and for no other command.
    from gevent import monkey  # noqa: PLC0415

    monkey.patch_all()
    if config.store != "postgres":
        # peewee imports psycopg wherever it is installed, a tenth of the time of a start.
        sys.modules.setdefault("psycopg", None)  # type: ignore[arg-type]
    from answerd.server.main import StartupError, serve  # noqa: PLC0415

    try:
        return serve(config, _console_factory() if config.console is not None else None)
    except StartupError as error:
        raise CommandError(str(error)) from None


def _console_factory() -> ConsoleFactory:
    from answerd.console.app import make_console  # noqa: PLC0415

    return make_console
