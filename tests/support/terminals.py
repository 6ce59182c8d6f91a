"""A terminal for a program to run on."""

from __future__ import annotations

import pty

import pytest


def new_terminal() -> tuple[int, int]:
    """The two ends of a new terminal: this test's, and the program's. Skips the test where none can be had."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal can be had: mount -t devpts devpts /dev/pts ({error})")
