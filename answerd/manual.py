"""The manual page and the completions for bash, zsh and fish, made from the help texts of the commands.

``scripts/manpage`` runs this module; packages install what it writes (docs/running.md#manual-page-and-completions).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from answerd import __version__
from answerd.commands import NAMES, Help, command
from answerd.config import SETTINGS
from answerd.formats import ALL_EXTENSIONS
from answerd.usage import ABOUT, EXITS, HELP_OPTIONS, options_of

DIRECTORIES = ("DIR",)
"""Arguments that are completed with names of directories."""

FILES = ("FILE", "META")
"""Arguments that are completed with names of files."""

_ARGUMENT = re.compile(r"(?:--?[a-z][a-z-]*)[ =](?P<name>[A-Z]+)")


def files() -> Mapping[str, str]:
    """Return the text of each file by its path below the checkout."""
    return {
        "etc/man/answerd.1": manual_page(),
        "etc/completions/answerd.bash": bash_completion(),
        "etc/completions/_answerd": zsh_completion(),
        "etc/completions/answerd.fish": fish_completion(),
    }


def main(checkout: str) -> int:
    """Write the files below a checkout."""
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
    """Return the page in troff's man macros."""
    lines = [
        '.\\" Made by scripts/manpage from the help texts of the commands: do not edit.',
        f'.TH ANSWERD 1 "" "answerd {__version__}" "User Commands"',
        ".SH NAME",
        "answerd \\- hand out unattended-install answers over HTTP",
        ".SH SYNOPSIS",
        ".nf",
    ]
    lines += [f"answerd {_roff(form)}" for name in NAMES for form in command(name).HELP.usage]
    lines += [".fi", ".SH DESCRIPTION", _roff(ABOUT), "Without a command it runs the service.", ".SH COMMANDS"]
    for name in NAMES:
        lines += _manual_of(name, command(name).HELP)
    lines += [".SH EXIT STATUS", *_definitions((str(status), meaning) for status, meaning in EXITS)]
    lines += [".SH ENVIRONMENT", *_definitions((setting.name, setting.meaning) for setting in SETTINGS)]
    return "\n".join(lines) + "\n"


def _manual_of(name: str, text: Help) -> list[str]:
    lines = [f".SS {_roff(name)}", _roff(text.summary)]
    for paragraph in text.details.strip().split("\n\n"):
        lines += [".PP", _roff(" ".join(paragraph.split()))]
    lines += _definitions(text.options)
    if text.exits:
        lines += [".PP", "Exit status:", *_definitions((str(status), meaning) for status, meaning in text.exits)]
    for line, meaning in text.examples:
        lines += [".PP", _roff(meaning), ".PP", ".nf", f".RS\n{_roff(line)}\n.RE", ".fi"]
    return lines


def _definitions(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [line for left, right in rows for line in (".TP", f"\\fB{_roff(left)}\\fR", _roff(right))]


def _roff(text: str) -> str:
    """Return text with troff's requests and escapes quoted."""
    escaped = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    )
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


# --- the completions --------------------------------------------------------------------------------


def bash_completion() -> str:
    """Return a completion for bash."""
    cases = "\n".join(f"        {name}) options='{' '.join(options_of(command(name).HELP))}' ;;" for name in NAMES)
    return f"""\
# Completion of answerd for bash. Made by scripts/manpage from the help texts of the commands: do not edit.
_answerd() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} options=
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W '{" ".join(NAMES)} {" ".join(HELP_OPTIONS)} --version' -- "$word")
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
    """Return a completion for zsh."""
    commands = "\n".join(f"    '{name}:{_quoted(command(name).HELP.summary)}'" for name in NAMES)
    cases = "\n".join(
        f"    {name})\n      _arguments -s \\\n{_zsh_options(command(name).HELP)}        '*:file:_files'\n      ;;"
        for name in NAMES
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


def _zsh_options(text: Help) -> str:
    lines = []
    for option, meaning in text.options:
        name, argument = _parts(option)
        repeated = "*" if f"{option}]..." in " ".join(text.usage) else ""
        brackets = _quoted(meaning).replace("[", "(").replace("]", ")").replace(":", "\\:")
        completed = f":{argument}:{_zsh_action(argument)}" if argument else ""
        lines.append(f"        '{repeated}{name}[{brackets}]{completed}' \\\n")
    return "".join(lines)


def _zsh_action(argument: str) -> str:
    if argument == "EXT":
        return f"({' '.join(ALL_EXTENSIONS)})"
    return "_files -/" if argument in DIRECTORIES else "_files" if argument in FILES else ""


def fish_completion() -> str:
    """Return a completion for fish."""
    lines = [
        "# Completion of answerd for fish. Made by scripts/manpage from the help texts of the commands: do not edit.",
        "complete -c answerd -n __fish_use_subcommand -l help -s h -d 'The help text' -f",
        "complete -c answerd -n __fish_use_subcommand -l version -d 'The version' -f",
    ]
    for name in NAMES:
        summary = _quoted(command(name).HELP.summary)
        lines.append(f"complete -c answerd -n __fish_use_subcommand -a {name} -d '{summary}' -f")
    for name in NAMES:
        for option, meaning in command(name).HELP.options:
            long, argument = _parts(option)
            takes = f" -r{_fish_action(argument)}" if argument else ""
            seen = f"-n '__fish_seen_subcommand_from {name}'"
            lines.append(f"complete -c answerd {seen} -l {long.removeprefix('--')}{takes} -d '{_quoted(meaning)}'")
    return "\n".join(lines) + "\n"


def _fish_action(argument: str) -> str:
    if argument == "EXT":
        return f" -f -a '{' '.join(ALL_EXTENSIONS)}'"
    return " -F" if argument in (*FILES, *DIRECTORIES) else " -f"


def _parts(option: str) -> tuple[str, str]:
    """Return an option and the name of its argument, empty where it has none."""
    found = _ARGUMENT.match(option)
    return option.split(maxsplit=1)[0], found["name"] if found else ""


def _quoted(text: str) -> str:
    """Return text that can be put between single quotes of any shell."""
    return text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
