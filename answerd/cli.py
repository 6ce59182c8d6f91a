"""answerd hands out unattended-install answer documents to machines that ask over HTTP.

Usage:
  answerd [serve]
  answerd render [<id>] [--body FILE] [--query QUERY] [--header HEADER]... [--why] [--explain] [--json]
  answerd render --replay META [--why] [--explain] [--json]
  answerd check [--json]
  answerd diff [--json] [--show-secrets] OTHER
  answerd validate-answer [--format EXT] [--release VERSION] [--product NAME] [FILE]
  answerd captures [--json]
  answerd import DIR
  answerd export [--force] DIR
  answerd config
  answerd (-h | --help)
  answerd --version

Commands:
  serve            Run the service (also without any command).
  render           Resolve as the server would; the answer on stdout, how it came about on stderr.
  check            Every problem of the answer set; every machine and member rendered and validated.
  diff             Whose answers would change if OTHER were in force, and how. Exit 0 none, 1 some, 2 it failed.
  validate-answer  Judge an answer, from FILE or standard input. Exit 0 valid, 1 invalid, 2 nothing could judge it.
  captures         The captured requests (SERVICE_CAPTURE_DIR), newest first.
  import           Copy a directory of documents into the database (SERVICE_DB_PATH), in one transaction.
  export           Write the database's documents into a directory.
  config           Every setting, its value and where it came from.

Options:
  --body FILE      The request's body; "-" is standard input.
  --query QUERY    The request's query; path= in it is the URL's path ("path=/rhel/ks&mac=52:54:00:ab:cd:ef").
  --header HEADER  A header of the request ("X-System-Serial-Number: 7ABC123"); may be given several times.
  --replay META    A captured request, by its .meta file: path, query, headers, body and peer.
  --why            Tell on stderr each claim that was considered and why it won or lost.
  --explain        Tell for each key or line the document it came from; --explain=json for programs.
  --json           For programs.
  --show-secrets   Show passwords, hashes and keys that differ; they are masked otherwise.
  --format EXT     The format of the answer (toml, ks, yaml, ...); FILE's extension when not given.
  --release VERSION  The Proxmox installer's release whose rules decide ("8.2"); the newest when not given.
  --product NAME   Its product: pve, pmg or pbs.
  --force          Export into a directory that is not empty; files of the same names are replaced.
  -h --help        This text.
  --version        The version.

All settings are environment variables: see docs/configuration.md, or `answerd config`.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from docopt import DocoptExit, docopt

from answerd import __version__
from answerd.captures import CaptureError
from answerd.commands import Arguments, CommandError
from answerd.config import Config, ConfigError, describe, read_config
from answerd.errors import AnswerError
from answerd.identity import printable
from answerd.store import StoreError

INTERRUPTED = 130
"""The exit status after an interrupt at the terminal, as shells have it: 128 and SIGINT's number."""

EXPLAINED_AS = ("json",)
"""What ``--explain=`` may be followed by."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit status; every failure is one line on standard error."""
    _take_any_text()
    try:
        try:
            return _run(arguments)
        finally:
            # What cannot be written is found out here, not at the interpreter's end, where it would be a stack trace.
            sys.stdout.flush()
            sys.stderr.flush()
    except BrokenPipeError:  # `answerd check | head`
        _write_nowhere()
        return 1
    except KeyboardInterrupt:
        _write_nowhere()
        return INTERRUPTED
    except OSError as error:
        _say(f"{error.filename or 'standard output'}: {error.strerror or type(error).__name__}")
        _write_nowhere()
        return 1


def _run(arguments: list[str] | None) -> int:
    try:
        parsed = docopt(__doc__, _normalised(arguments), version=f"answerd {__version__}")
        return _command(parsed)(parsed)
    except CommandError as error:
        _say(str(error))
        return error.status
    except (ConfigError, StoreError, AnswerError, CaptureError) as error:
        _say(str(error))
        return 1
    except DocoptExit:
        given = shlex.join(sys.argv[1:] if arguments is None else arguments)
        _say(f"no command is written like this: {given}; answerd --help shows them all")
        return 1


def _say(sentence: str) -> None:
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
    """Nobody reads any more: what is still in buffers goes nowhere, without a word."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):
            continue


def _normalised(arguments: list[str] | None) -> list[str]:
    """The arguments as docopt can read them: it knows no option that may have a value or none (``--explain=json``)."""
    spelled: list[str] = []
    for argument in sys.argv[1:] if arguments is None else arguments:
        option, equals, value = argument.partition("=")
        if option == "--explain" and equals:
            if value not in EXPLAINED_AS:
                raise CommandError(f"{argument}: --explain is for people, --explain=json for programs")
            spelled += ["--explain", f"--{value}"]
        else:
            spelled.append(argument)
    return spelled


def serve(_arguments: Arguments) -> int:
    """Run the service until a signal ends it."""
    config = read_config(os.environ)
    # The standard library is patched before anything that the service uses is imported, and for no other command.
    from gevent import monkey  # noqa: PLC0415

    monkey.patch_all()
    from answerd.server.service import StartupError  # noqa: PLC0415
    from answerd.server.service import serve as run_service  # noqa: PLC0415

    try:
        return run_service(config)
    except StartupError as error:
        raise CommandError(str(error)) from None


def show_config(_arguments: Arguments) -> int:
    """Print every setting, and fail where the service would not start with them."""
    config = read_config(os.environ)
    rows = describe(config)
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, value, source in rows:
        print(f"{name:{widths[0]}}  {value:{widths[1]}}  {source}")
    for warning in config.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    _try_to_open(config)
    return 0


def _try_to_open(config: Config) -> None:
    """Raises `StoreError` or `CommandError` for a store or a log file that the service could not open.

    What is not there yet is not made. No address is bound: the service that has these settings may be running.
    """
    from answerd.store.opening import open_store  # noqa: PLC0415

    if config.store == "sqlite" and Path(config.db_path).exists():
        open_store(config)
    if config.log_file in ("stderr", "stdout"):
        return
    log_file = Path(config.log_file)
    try:
        if log_file.exists():
            log_file.open("ab").close()
        else:
            os.listdir(log_file.parent)
    except OSError as error:
        raise CommandError(f"SERVICE_LOG_FILE: {log_file} cannot be opened: {error.strerror}") from None


COMMANDS = {
    "render": "render.render",
    "check": "check.check_set",
    "diff": "diff.compare",
    "validate-answer": "check.validate_answer",
    "captures": "captures.list_captures",
    "import": "transfer.import_documents",
    "export": "transfer.export_documents",
}
"""Every command that has a module of its own below `answerd.commands`. It is imported only to be run, because the
service must patch the standard library before anything that it uses is imported."""


def _command(parsed: Arguments) -> Callable[[Arguments], int]:
    named = next((function for name, function in COMMANDS.items() if parsed[name]), None)
    if named is None:
        return show_config if parsed["config"] else serve
    module, _, function = named.partition(".")
    run: Callable[[Arguments], int] = getattr(import_module(f"answerd.commands.{module}"), function)
    return run
