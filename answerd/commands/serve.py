"""``answerd serve``: run the service."""

from __future__ import annotations

import os

from answerd.commands import Arguments, CommandError, Help
from answerd.config import read_config

HELP = Help(
    summary="Run the service (also without any command).",
    usage=("serve",),
    details="""
        Answers machines until a signal ends it: SIGTERM and SIGINT end it in order, SIGHUP makes it read again what it
        reads at start. docs/running.md has the details.
        """,
    examples=(
        ("SERVICE_ANSWERS_DIR=/srv/answers answerd", "Serve a directory of documents on port 8000."),
        ("SERVICE_ENV_FILE=/etc/answerd.env answerd serve", "Take the settings from a file."),
    ),
    exits=((0, "a signal ended it"), (1, "it could not start"), (2, "the command line is wrong")),
)


def run(_arguments: Arguments) -> int:
    """Run the service until a signal ends it."""
    config = read_config(os.environ)
    # The standard library is patched before anything that the service uses is imported, and for no other command.
    from gevent import monkey  # noqa: PLC0415

    monkey.patch_all()
    from answerd.console.wiring import make_console  # noqa: PLC0415
    from answerd.server.service import StartupError  # noqa: PLC0415
    from answerd.server.service import serve as run_service  # noqa: PLC0415

    try:
        return run_service(config, make_console)
    except StartupError as error:
        raise CommandError(str(error)) from None
