"""The manual page, the page docs/cli.md and the completions for bash, zsh and fish, made from the help texts of the
commands.

``scripts/manpage`` runs this module; packages install what it writes (docs/running.md#manual-page-and-completions).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from answerd import __version__, cli
from answerd.commands import NAMES, command, options_of, usage_of
from answerd.config import SETTINGS
from answerd.formats import ALL_EXTENSIONS

DIRECTORIES = ("DIR",)
"""Arguments that are completed with names of directories."""

FILES = ("FILE", "META")
"""Arguments that are completed with names of files."""

_COMMANDS = cli.__doc__.partition("\nCommands:\n")[2].partition("\n\n")[0]
SUMMARIES: Mapping[str, str] = dict(re.findall(r"^  (\S+) +(.*)$", _COMMANDS, re.MULTILINE))
"""What each command does, in a sentence."""


def files() -> Mapping[str, str]:
    """Return the text of each file by its path below the checkout."""
    return {
        "docs/cli.md": command_line_page(),
        "etc/man/answerd.1": manual_page(),
        "etc/completions/answerd.bash": bash_completion(),
        "etc/completions/_answerd": zsh_completion(),
        "etc/completions/answerd.fish": fish_completion(),
    }


def main(checkout: str) -> int:
    if not (Path(checkout) / "setup.py").is_file():
        print(f"{checkout} is no checkout of answerd", file=sys.stderr)
        return 2
    for name, text in files().items():
        path = Path(checkout) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        print(name)
    return 0


# --- the manual page --------------------------------------------------------------------------------


def manual_page() -> str:
    """Return the page in troff's man macros. The help texts are in it as they are printed."""
    about, usage = cli.__doc__.splitlines()[0], [line[2:] for name in NAMES for line in usage_of(name)]
    lines = [
        '.\\" Made by scripts/manpage from the help texts of the commands: do not edit.',
        f'.TH ANSWERD 1 "" "answerd {__version__}" "User Commands"',
        ".SH NAME",
        "answerd \\- hand out unattended-install answers over HTTP",
        ".SH SYNOPSIS",
        ".nf",
        *map(_roff, usage),
        ".fi",
        ".SH DESCRIPTION",
        _roff(about),
        "Without a command it runs the service.",
        ".SH COMMANDS",
    ]
    for module, names in groupby(NAMES, command):
        text = module.__doc__.replace("\nUsage:\n", "\n").strip().splitlines()
        lines += [f".SS {_roff(', '.join(names))}", ".nf", ".in 0", *map(_roff, text), ".in", ".fi"]
    lines += [".SH ENVIRONMENT"]
    for setting in SETTINGS:
        lines += [".TP", f"\\fB{_roff(setting.name)}\\fR", _roff(setting.meaning)]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Return text with troff's requests and escapes quoted."""
    escaped = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    )
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


# --- the page of the documentation ------------------------------------------------------------------


def command_line_page() -> str:
    """Return docs/cli.md. Its sections are those of the help texts, a section for each module of commands."""
    overview = cli.__doc__.splitlines()
    page = [
        "<!-- Made by scripts/manpage from the help texts of the commands: do not edit. -->",
        "# The command line",
        "",
        _markdown(overview[0]),
        *_paragraphs(overview[1:]),
    ]
    for module, names in groupby(NAMES, command):
        about, *rest = module.__doc__.splitlines()
        page += ["", f"## {', '.join(names)}", "", _markdown(about), *_paragraphs(rest)]
    return "\n".join(page) + "\n"


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a help text in Markdown: paragraphs as they are, commands as code, lists as tables.

    A paragraph whose first line is like ``Options:`` is a list: its indented lines are rows of two columns.
    """
    for text in "\n".join(lines).strip("\n").split("\n\n"):
        heading, _, indented = text.partition("\n")
        if not indented.startswith("  "):
            yield from ("", _markdown(text))
        elif heading in ("Usage:", "Examples:"):
            language = "sh" if heading == "Examples:" else ""  # a usage is no command to type
            yield from ("", f"```{language}", *(line[2:] for line in indented.splitlines()), "```")
        elif rows := [row for row in _ROW.findall(indented) if not row[0].startswith(cli.HELP_OPTIONS)]:
            yield from ("", f"| {heading.removesuffix(':').lower()} | means |", "|---|---|")
            yield from (f"| `{word}` | {_markdown(' '.join(meaning.split()))} |" for word, meaning in rows)


_ROW = re.compile(r"^  (\S.*?)(?:  +|\n {4,})(.*(?:\n {3,}.*)*)", re.MULTILINE)
"""A row of a list. Its meaning begins after two blanks, or in the line below a word that is too long for its column."""


_LITERAL = re.compile(
    r"`[^`]+`"
    r"|docs/(?P<page>[a-z0-9-]+\.md)(?P<heading>(?:#[a-z0-9-]+)?)"
    r"|(?P<word><\w+>|--[a-z][a-z-]*(?:=[a-z]+)?|SERVICE_[A-Z_]+(?:=[a-z]+)?|(?<!\w)'[^'\n]+'(?!\w)"
    rf"|\banswerd (?:{'|'.join(NAMES)})\b(?: --[a-z-]+)?)"
)
"""What a help text has as code already; a page of the documentation; what is typed."""


def _markdown(text: str) -> str:
    """Return the text of a paragraph with its literal words as code and its pages as links."""

    def mark(found: re.Match[str]) -> str:
        if page := found["page"]:
            return f"[{page}]({page}{found['heading']})"
        return f"`{word}`" if (word := found["word"]) else found[0]

    return _LITERAL.sub(mark, text).replace("|", "\\|")


# --- the completions --------------------------------------------------------------------------------


def bash_completion() -> str:
    cases = "\n".join(f"        {name}) options='{' '.join((*options_of(name), '-h'))}' ;;" for name in NAMES)
    return f"""\
# Completion of answerd for bash. Made by scripts/manpage from the help texts of the commands: do not edit.
_answerd() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} options=
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W '{" ".join(NAMES)} {" ".join(cli.HELP_OPTIONS)} --version' -- "$word")
        return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    elif [[ ${{COMP_WORDS[COMP_CWORD - 1]}} == --format ]]; then
        mapfile -t COMPREPLY < <(compgen -W '{" ".join(ALL_EXTENSIONS)}' -- "$word")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}}
complete -F _answerd answerd
"""


def zsh_completion() -> str:
    commands = "\n".join(f"    '{name}:{_quoted(SUMMARIES[name])}'" for name in NAMES)
    cases = "\n".join(
        f"    {name})\n      _arguments -s \\\n{_zsh_options(name)}        '*:file:_files'\n      ;;" for name in NAMES
    )
    return f"""\
#compdef answerd
# Completion of answerd for zsh. Made by scripts/manpage from the help texts of the commands: do not edit.
_answerd() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    _values option --help --version
    return
  fi
  local name=$words[2]
  shift words
  (( CURRENT-- ))
  case $name in
{cases}
  esac
}}
_answerd "$@"
"""


def _zsh_options(name: str) -> str:
    lines, usage = [], " ".join(usage_of(name))
    for option, (argument, meaning) in options_of(name).items():
        repeated = "*" if f"{option} {argument}]..." in usage else ""
        brackets = _quoted(meaning).replace("[", "(").replace("]", ")").replace(":", "\\:")
        completed = f":{argument}:{_zsh_action(argument)}" if argument else ""
        lines.append(f"        '{repeated}{option}[{brackets}]{completed}' \\\n")
    return "".join(lines)


def _zsh_action(argument: str) -> str:
    if argument == "EXT":
        return f"({' '.join(ALL_EXTENSIONS)})"
    return "_files -/" if argument in DIRECTORIES else "_files" if argument in FILES else ""


def fish_completion() -> str:
    lines = [
        "# Completion of answerd for fish. Made by scripts/manpage from the help texts of the commands: do not edit.",
        "complete -c answerd -n __fish_use_subcommand -l help -s h -d 'The help text' -f",
        "complete -c answerd -n __fish_use_subcommand -l version -d 'The version' -f",
    ]
    for name in NAMES:
        summary = _quoted(SUMMARIES[name])
        lines.append(f"complete -c answerd -n __fish_use_subcommand -a {name} -d '{summary}' -f")
    for name in NAMES:
        for option, (argument, meaning) in options_of(name).items():
            takes = f" -r{_fish_action(argument)}" if argument else ""
            seen = f"-n '__fish_seen_subcommand_from {name}'"
            lines.append(f"complete -c answerd {seen} -l {option.removeprefix('--')}{takes} -d '{_quoted(meaning)}'")
    return "\n".join(lines) + "\n"


def _fish_action(argument: str) -> str:
    if argument == "EXT":
        return f" -f -a '{' '.join(ALL_EXTENSIONS)}'"
    return " -F" if argument in (*FILES, *DIRECTORIES) else " -f"


def _quoted(text: str) -> str:
    """Return text that can be put between single quotes of any shell."""
    return text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
