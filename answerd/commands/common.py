"""What several commands need: the store that the settings name, and files that are read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from answerd.commands import CommandError
from answerd.config import read_config
from answerd.store import Store
from answerd.store.opening import open_store


def configured_store() -> Store:
    """The store that the settings name. Raises `ConfigError`, `StoreError`."""
    return open_store(read_config(os.environ, to_serve=False))


def read_bytes(name: str) -> bytes:
    """A file's content; ``-`` is standard input. Raises `CommandError`."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}") from None
