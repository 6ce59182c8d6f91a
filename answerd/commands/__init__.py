"""The commands, a short module each: they read the settings, ask the rooms below and print. Nothing is decided here.

This module is imported before the service patches the standard library, so it imports nothing that the service uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Arguments = Mapping[str, Any]
"""What docopt made of the command line."""


class CommandError(Exception):
    """A command cannot do what it was asked. One line for the person who asked; ``status`` is the exit status."""

    def __init__(self, reason: str, status: int = 1) -> None:
        super().__init__(reason)
        self.status = status
