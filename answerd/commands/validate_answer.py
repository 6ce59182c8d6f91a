"""Judge an answer, from FILE or standard input.

Usage:
  answerd validate-answer [--format EXT] [--release VERSION] [--product NAME]
                          [FILE]

Judges an answer by the built-in rules of its format and by the installer's own
program where that is on PATH (docs/validators.md).

Options:
  --format EXT       The format of the answer (toml, ks, yaml, ...); the
                     extension of FILE when not given.
  --release VERSION  The Proxmox installer's release whose rules decide, "9.1";
                     the newest when not given.
  --product NAME     Its product: pve, pmg or pbs.
  -h --help          This text.

Exit status:
  0  valid
  1  invalid, with the reasons
  2  nothing could judge it: its format is unknown or is cfg, or a parser is not
     installed; or the command line is wrong

Examples:
  # Judge what a machine would get.
  answerd render 98fa9b50d810 | answerd validate-answer --format toml
  # Judge a file by the rules of an older release.
  answerd validate-answer --release 9.1 answer.toml
"""

from __future__ import annotations

import sys

from answerd.commands import Arguments
from answerd.commands.terminal import coloured
from answerd.commands.values import read_bytes
from answerd.formats import FORMATS, split_extension
from answerd.short_texts import brief
from answerd.suggestion import did_you_mean
from answerd.validators import validate

VALID, INVALID, NOT_JUDGED = 0, 1, 2
"""The exit statuses."""


def run(arguments: Arguments) -> int:
    name = arguments["FILE"] or "-"
    extension = (arguments["--format"] or split_extension(name)[1] or "").lower().lstrip(".")
    if extension not in FORMATS:
        known = ", ".join(FORMATS)
        asked = f"{brief(extension)!r} is no format" if extension else "the format is not known from a file's extension"
        near = did_you_mean(extension, FORMATS, shown=str) if extension else ""
        print(f"answerd: {asked}{near}: give --format with one of {known}", file=sys.stderr)
        return NOT_JUDGED
    try:
        text = read_bytes(name).decode("utf-8")
    except UnicodeDecodeError as error:
        print(f"invalid: not UTF-8 (byte offset {error.start})")
        return INVALID
    verdict = validate(text, extension, release=arguments["--release"], product=arguments["--product"])
    for kind, colour, lines in (
        ("invalid", "red", verdict.findings),
        ("warning", "yellow", verdict.warnings),
        ("note", "cyan", verdict.notes),
    ):
        for line in lines:
            print(f"{coloured(kind, colour)}: {line}")
    if not verdict.judged:
        return NOT_JUDGED
    if verdict.valid:
        print(f"{coloured('valid', 'green')}, as far as {', '.join(verdict.judged_by)} can tell")
    return VALID if verdict.valid else INVALID
