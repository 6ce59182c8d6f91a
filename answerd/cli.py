"""answerd hands out unattended-install answers to machines that ask over HTTP.

Usage:
  answerd [serve]
  answerd COMMAND [ARGUMENT]...
  answerd COMMAND --help
  answerd (-h | --help | --version)

Commands:
  serve             Run the service (also without any command).
  render            The answer to a request; how it came about on stderr.
  check             Every problem of the answer set; every machine tried.
  diff              Whose answers would change if OTHER were in force, and how.
  validate-answer   Judge an answer, from FILE or standard input.
  captures          The recorded requests (SERVICE_CAPTURE_DIR), newest first.
  inventory         The rows of all inventories; rows from machines' output.
  adopt             Rows for machines that asked and that nothing claims.
  installs          Which machines are installed, missing or failed.
  install           One machine's install, with its history.
  arm               Let machines install again.
  disarm            Let machines install no more.
  forget            Forget machines, as if they had never asked.
  wait              Wait until machines are installed.
  nodes             The nodes that share a PostgreSQL database.
  import            Copy a directory of documents into the database.
  export            Write the database's documents into a directory.
  apply             Make the documents those of a directory, as one change.
  history           Who changed which document, when and how.
  restore-document  Restore a document, or take back a change of many.
  audit             Who did what, and when: changes, orders, log-ins.
  backup            Write everything the service keeps to one file.
  restore           Put back what a backup holds.
  token             Make a named token for the admin API.
  config            Every setting, its value and where it came from.
  boot-config       Write a DHCP server's configuration for network boot.
  migrate           Take over another service's data.

Options:
  -h, --help  This text.
  --version   The version.

Examples:
  # Find what is wrong before a machine asks.
  answerd check examples/answers
  # Show the answer that a machine gets.
  answerd render 98:fa:9b:50:d8:10 --format ks

Exit status, unless the command's help says more:
  0  it worked
  1  it did not; the reason is on standard error
  2  the command line is wrong, or a file on it is not there

All settings are environment variables: `answerd config` shows them,
docs/configuration.md explains them. No command but serve needs a running
service. A command that reads the store names it first on standard error. A
store that is not there or cannot be read is an error, never an empty set. Only
serve, import, apply and restore create a database.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from docopt import DocoptExit, docopt

from answerd import __version__
from answerd.captures import CaptureError
from answerd.commands import FAILED, NAMES, WRONG_USAGE, Arguments, CommandError, command, options_of
from answerd.config import ConfigError
from answerd.errors import AnswerError
from answerd.short_texts import printable
from answerd.store import StoreError
from answerd.suggestion import did_you_mean

HELP_OPTIONS = ("-h", "--help")

INTERRUPTED = 130
"""The exit status after an interrupt at the terminal, as shells have it: 128 and SIGINT's number."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit status; every failure is one line on standard error."""
    _take_any_text()
    try:
        try:
            return _run(sys.argv[1:] if arguments is None else arguments)
        finally:
            # What cannot be written is found out here, not at the interpreter's end, where it would be a stack trace.
            sys.stdout.flush()
            sys.stderr.flush()
    except BrokenPipeError:  # `answerd check | head`
        _write_nowhere()
        return FAILED
    except KeyboardInterrupt:
        _write_nowhere()
        return INTERRUPTED
    except OSError as error:
        _print_error(f"{error.filename or 'standard output'}: {error.strerror or type(error).__name__}")
        _write_nowhere()
        return FAILED


def _run(arguments: Sequence[str]) -> int:
    try:
        if arguments and arguments[0] in HELP_OPTIONS:
            print(__doc__, end="")
            return 0
        if list(arguments) == ["--version"]:
            print(f"answerd {__version__}")
            return 0
        name, rest = _named(arguments)
        if any(argument in HELP_OPTIONS for argument in _before_dashes(rest)):
            print(command(name).__doc__, end="")
            return 0
        # docopt knows no option with an optional value.
        spelled = [part for word in rest for part in (("--explain", "--json") if word == "--explain=json" else (word,))]
        return command(name).run(parse(name, spelled))
    except CommandError as error:
        _print_error(str(error))
        return error.status
    except (ConfigError, StoreError, AnswerError, CaptureError) as error:
        _print_error(str(error))
        return FAILED


def _named(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the command that is asked for, and its arguments. Raises `CommandError` where there is none of that
    name."""
    if not arguments:
        return "serve", ()
    name, *rest = arguments
    if name in NAMES:
        return name, rest
    what = "option" if name.startswith("-") else "command"
    near = did_you_mean(name, NAMES if what == "command" else (*HELP_OPTIONS, "--version"), shown=str)
    raise CommandError(f"no {what} is called {shlex.join(arguments)}{near}; answerd --help shows them all", WRONG_USAGE)


def parse(name: str, arguments: Sequence[str]) -> Arguments:
    """Return a command's arguments; ``arguments`` are those after its name. Raises `CommandError` for wrong ones."""
    options = _before_dashes(arguments)
    # docopt takes "--" itself for an argument.
    literal = [_LITERAL + word for word in arguments[len(options) + 1 :]]
    try:
        parsed = docopt(command(name).__doc__, [name, *options, *literal], False)
        found = {part: _without_mark(value) for part, value in parsed.items()}
        # docopt adds the later values of an option that may be repeated once more for each usage that it has tried.
        once = {option: [*dict.fromkeys(value)] for option, value in found.items() if isinstance(value, list)}
        return {**found, **{option: values for option, values in once.items() if option.startswith("--")}}
    except DocoptExit:
        given = shlex.join([name, *arguments])
        known = [*options_of(name), *HELP_OPTIONS]
        words = (argument.partition("=")[0] for argument in options if argument.startswith("-"))
        # docopt takes an option for the beginning of a known one.
        strange = [word for word in words if word != "-" and not any(option.startswith(word) for option in known)]
        unknown = strange[0] if strange else None
        wrong = f"answerd {given}: arguments are missing or wrong"
        reason = f"{unknown} is no option of answerd {name}" if unknown else wrong
        near = did_you_mean(unknown, known, shown=str) if unknown else ""
        raise CommandError(f"{reason}{near}; answerd {name} --help shows how it is called", WRONG_USAGE) from None


_LITERAL = "\0"
"""The mark of an argument after ``--``: no argument has this character, and docopt takes none with it for an option."""


def _without_mark(value: Any) -> Any:
    if isinstance(value, list):
        return [word.removeprefix(_LITERAL) for word in value]
    return value.removeprefix(_LITERAL) if isinstance(value, str) else value


def _before_dashes(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments before ``--``, which ends the options."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _print_error(sentence: str) -> None:
    print(f"answerd: {printable(sentence)}", file=sys.stderr)


def _take_any_text() -> None:
    """Write what the terminal's encoding does not have as escapes, and nothing where there is no output at all."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _write_nowhere() -> None:
    """Discard what is still in buffers: there is no reader any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):
            continue
