"""Every setting, its value and where it came from.

Usage:
  answerd config

Says of each setting whether it is the default or came from the file or the
environment. Secrets are shown as (set). An existing database, the file of named
tokens and the log file are opened, so that this fails where the service would
not start. No address is bound, and no certificate is loaded: the service may be
running.

Options:
  -h --help  This text.

Exit status:
  0  the service would start
  1  it would not, and why
  2  the command line is wrong

Examples:
  # Show the settings that the service would have now.
  answerd config
  # Show those of the installed service.
  SERVICE_ENV_FILE=/etc/answerd.env answerd config
"""

from __future__ import annotations

import os
from pathlib import Path

from answerd.commands import Arguments, CommandError
from answerd.commands.terminal import print_table, say
from answerd.config import describe, read_config
from answerd.server.roles import TokensError, read_tokens
from answerd.store.opening import open_store


def run(_arguments: Arguments) -> int:
    """Print the settings; then open what the service would, and create nothing. Raises `StoreError`, `CommandError`."""
    config = read_config(os.environ)
    print_table(describe(config), headed=False)
    for warning in config.warnings:
        say(f"warning: {warning}")
    if config.store == "sqlite" and Path(config.db_path).exists():
        open_store(config)
    if config.tokens_file:
        try:
            read_tokens(config.tokens_file)
        except TokensError as error:
            raise CommandError(f"SERVICE_TOKENS_FILE: {error}") from None
    if config.log_file in ("stderr", "stdout"):
        return 0
    log_file = Path(config.log_file)
    try:
        if log_file.exists():
            log_file.open("ab").close()
        else:
            os.listdir(log_file.parent)
    except OSError as error:
        raise CommandError(f"SERVICE_LOG_FILE: {log_file} cannot be opened: {error.strerror}") from None
    return 0
