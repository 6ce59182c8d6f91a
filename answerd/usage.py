"""Help texts of at most 80 columns, made from `answerd.commands.Help`, and parsing by them.

Rules: docs/cli.md. Knows text only: it prints nothing and runs nothing.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from docopt import DocoptExit, docopt

from answerd.commands import NAMES, WRONG_USAGE, Arguments, CommandError, Help, command
from answerd.suggestion import did_you_mean

COLUMNS = 80
"""Columns of a help text."""

ABOUT = "answerd hands out unattended-install answers to machines that ask over HTTP."

EXITS = (
    (0, "it worked"),
    (1, "it did not; the reason is on standard error"),
    (2, "the command line is wrong, or a file on it is not there"),
)
"""The exit statuses of every command that states no others."""

SETTINGS_NOTE = (
    "All settings are environment variables. `answerd config` shows them, docs/configuration.md explains them."
)

HELP_OPTIONS = ("-h", "--help")
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def overview() -> str:
    """Return the text of ``answerd --help``."""
    lines = [ABOUT, "", "Usage:"]
    lines += ["  answerd [serve]", "  answerd COMMAND [ARGUMENT]...", "  answerd COMMAND --help"]
    lines += ["  answerd (-h | --help | --version)", "", "Commands:"]
    lines += _table((name, command(name).HELP.summary) for name in NAMES)
    lines += ["", "Options:", *_table([("-h, --help", "This text."), ("--version", "The version.")])]
    lines += ["", "Examples:", *_examples(OVERVIEW_EXAMPLES)]
    return "\n".join([*lines, "", *_wrapped(SETTINGS_NOTE)]) + "\n"


OVERVIEW_EXAMPLES = (
    ("answerd check examples/answers", "Find what is wrong before a machine asks."),
    ("answerd render 98:fa:9b:50:d8:10 --format ks", "Show the answer that a machine gets."),
)


def help_of(name: str) -> str:
    """Return the text of ``answerd NAME --help``."""
    text = command(name).HELP
    lines = [f"answerd {name}: {text.summary}", "", *_usage(text), ""]
    for paragraph in text.details.strip().split("\n\n"):
        lines += [*_wrapped(" ".join(paragraph.split())), ""]
    lines += ["Options:", *_table([*text.options, ("-h --help", "This text.")]), ""]
    lines += ["Exit status:", *_table((str(status), meaning) for status, meaning in text.exits or EXITS), ""]
    return "\n".join([*lines, "Examples:", *_examples(text.examples)]) + "\n"


def _usage(text: Help) -> list[str]:
    lines = ["Usage:"]
    for form in text.usage:
        indent = " " * (len("  answerd ") + len(form.split()[0]) + 1)
        # An argument in brackets stays on one line.
        words = re.sub(r"(?<=[\w\]\)>.=]) (?=[A-Z<])", "\N{NO-BREAK SPACE}", form)
        wrapped = textwrap.wrap(
            f"  answerd {words}",
            COLUMNS,
            subsequent_indent=indent,
            drop_whitespace=True,
            break_on_hyphens=False,
            break_long_words=False,
        )
        lines += [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrapped]
    return lines


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Two columns; a left cell that is too long has a line of its own."""
    pairs = list(rows)
    width = min(20, max(len(left) for left, _ in pairs))
    for left, right in pairs:
        indent = " " * (2 + width + 2)
        lines = textwrap.wrap(right, COLUMNS, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        if len(left) > width:
            yield f"  {left}"
            yield from lines
        else:
            yield f"  {left:{width}}  {lines[0].strip()}"
            yield from lines[1:]


def _examples(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for line, meaning in pairs:
        yield from _wrapped(meaning, "  # ", "  # ")
        yield f"  {line}"


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def parse(name: str, arguments: Sequence[str]) -> Arguments:
    """Return a command's arguments; ``arguments`` are those after its name. Raises `CommandError` for wrong ones."""
    text = command(name).HELP
    usage = "\n".join(["Usage:", *(f"  answerd {form}" for form in text.usage)])
    options = "\n".join(["Options:", *(f"  {option}  {meaning}" for option, meaning in text.options)])
    try:
        return docopt(f"{usage}\n\n{options}\n", [name, *arguments], False)
    except DocoptExit:
        given = shlex.join([name, *arguments])
        unknown = _unknown_option(text, arguments)
        reason = f"{unknown} is no option of answerd {name}" if unknown else f"answerd {given} is no way to call it"
        near = did_you_mean(unknown, options_of(text), shown=str) if unknown else ""
        raise CommandError(f"{reason}{near}; answerd {name} --help shows how it is called", WRONG_USAGE) from None


def options_of(text: Help) -> list[str]:
    """Return the options of a command, without their arguments."""
    return [*dict.fromkeys(found for option, _ in text.options for found in _OPTION.findall(option)), *HELP_OPTIONS]


def _unknown_option(text: Help, arguments: Sequence[str]) -> str | None:
    known = options_of(text)
    for argument in arguments:
        option = argument.partition("=")[0]
        if option == "--":
            return None
        if option.startswith("-") and len(option) > 1 and not any(candidate.startswith(option) for candidate in known):
            return option
    return None
