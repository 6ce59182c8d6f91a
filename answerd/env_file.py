"""The environment file: ``KEY=value`` lines that give defaults for settings.

The rules are in docs/configuration.md#the-environment-file. This module knows the syntax only, not which settings there
are. No message holds a piece of a line, because it may be a token.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_READABLE_BY_OTHERS = 0o004
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_EXPORT = re.compile(r"\Aexport[ \t]+")


@dataclass(frozen=True)
class EnvFile:
    """An environment file as found: its bytes and its permission bits (``st_mode``)."""

    content: bytes
    mode: int

    @property
    def is_readable_by_others(self) -> bool:
        """Whether every user of this machine can read the file."""
        return bool(self.mode & _READABLE_BY_OTHERS)


def open_env_file(path: str) -> EnvFile:
    """Read the file. Raise `OSError`."""
    with open(path, "rb") as stream:
        return EnvFile(stream.read(), os.fstat(stream.fileno()).st_mode)


def parse_env_file(content: bytes) -> dict[str, str]:
    """Return the keys and values of an environment file; a byte order mark is ignored.

    Raise `ValueError` with the number and the fault of the wrong line: ``line 3 is not KEY=value``.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8") from None
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, raw in enumerate(text.split("\n"), start=1):
        line_text = raw.strip()
        if not line_text or line_text.startswith("#"):
            continue
        try:
            key, value = _parse_assignment(line_text)
        except ValueError as wrong:
            raise ValueError(f"line {number} {wrong}") from None
        if key in lines:
            raise ValueError(f"line {number} sets {key} again, after line {lines[key]}")
        values[key], lines[key] = value, number
    return values


def _parse_assignment(line: str) -> tuple[str, str]:
    """Return key and value of one line. Raise `ValueError` with the fault, never with a piece of the line."""
    key, equals, value = _EXPORT.sub("", line).partition("=")
    key, value = key.strip(), value.strip()
    if not equals or not _KEY.match(key):
        raise ValueError("is not KEY=value")
    if any(ord(character) < ord(" ") and character != "\t" for character in value):
        raise ValueError("holds a control character")
    if value[:1] in ("'", '"'):
        if len(value) == 1 or value[-1] != value[0]:
            raise ValueError("has a value that begins with a quote and does not end with it")
        value = value[1:-1]
    return key, value
