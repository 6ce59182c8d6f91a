"""The file of named tokens, changed by the service: a line is added, or those of a name are removed.

Rules: docs/admin-api.md#tokens-with-names. Every other line stays as it is. The file is replaced as a whole.
"""

from __future__ import annotations

import os
from pathlib import Path

from answerd.server.roles import NamedToken, TokensError, parse_token_file
from answerd.short_texts import printable
from answerd.store.file_io import write_atomically

SETTING = "SERVICE_TOKENS_FILE"


def why_not_writable(path: str) -> str:
    """Return why the service cannot change the file; empty where it can."""
    if not path:
        return f"{SETTING} is not set"
    if not os.access(path, os.W_OK) or not os.access(os.path.dirname(path) or ".", os.W_OK | os.X_OK):
        return f"the service may not write {printable(path)}"
    if os.path.islink(path):
        return f"{printable(path)} is a link"
    return ""


def with_token(path: str, token: NamedToken) -> tuple[NamedToken, ...]:
    """Add the line of a token; return all that the file has then. Waits for the disk. Raises `TokensError`."""
    text = _text(path)
    return _written(path, f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{token}\n")


def without_name(path: str, name: str) -> tuple[NamedToken, ...]:
    """Remove the lines of a name; return all that the file has then. Waits for the disk. Raises `TokensError`."""
    lines = _text(path).splitlines(keepends=True)
    left = [line for line in lines if line.split()[:1] != [name]]
    if len(left) == len(lines):
        raise TokensError(f"{printable(path)} has no token of that name")
    return _written(path, "".join(left))


def _text(path: str) -> str:
    if reason := why_not_writable(path):
        raise TokensError(reason)
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise TokensError(f"{printable(path)} cannot be read") from None


def _written(path: str, text: str) -> tuple[NamedToken, ...]:
    found = parse_token_file(text)
    try:
        write_atomically(Path(path), text.encode())
    except OSError as error:
        raise TokensError(f"{printable(path)} cannot be written: {error.strerror}") from None
    return found
