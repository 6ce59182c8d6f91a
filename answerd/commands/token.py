"""Make a named token for the admin API.

Usage:
  answerd token --role ROLE [--until DAY] NAME

Prints a new random token on standard error, once, and its line for
SERVICE_TOKENS_FILE on standard output: the line holds the SHA-256 of the token,
which cannot be used in its place. Send SIGHUP to the service after the line was
added. See docs/admin-api.md#tokens-with-names.

Options:
  --role ROLE  What it may do: read; plan (that, and dry runs); operate (plan,
               and arm and disarm); inventory (plan, and rows); or admin
               (everything, and secrets): docs/admin-api.md#roles.
  --until DAY  The last day on which it is valid, by UTC: 2026-12-31.
  -h --help    This text.

Exit status:
  0  it worked
  1  it did not; the reason is on standard error
  2  the command line is wrong, or a file on it is not there

Examples:
  # A token for a pipeline.
  answerd token ci --role admin >> /etc/answerd/tokens
  # One that can only read.
  answerd token grafana --role read >> /etc/answerd/tokens
"""

from __future__ import annotations

import sys
from datetime import date

from answerd.commands import WRONG_USAGE, Arguments, CommandError


def run(arguments: Arguments) -> int:
    from answerd.server.roles import Role, TokensError, new_token  # noqa: PLC0415

    role = arguments["--role"]
    if role not in [*Role]:
        raise CommandError(f"--role is one of {', '.join(Role)}", WRONG_USAGE)
    try:
        until = date.fromisoformat(arguments["--until"]) if arguments["--until"] else None
    except ValueError:
        raise CommandError("--until is a day: 2026-12-31", WRONG_USAGE) from None
    try:
        token, line = new_token(arguments["NAME"], Role(role), until)
    except TokensError as error:
        raise CommandError(str(error), WRONG_USAGE) from None
    print(f"token, shown only now: {token}", file=sys.stderr)
    print(line)
    return 0
