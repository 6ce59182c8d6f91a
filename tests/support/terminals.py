"""A terminal for a program to run on."""

from __future__ import annotations

import os
import pty
import select

import pytest


def new_terminal() -> tuple[int, int]:
    """The two ends of a new terminal: this test's, and the program's. Skips the test where none can be had."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal can be had: mount -t devpts devpts /dev/pts ({error})")


def read_until(terminal: int, wanted: bytes | None) -> bytes:
    """Read what a program writes to a terminal, up to a text or to its end."""
    said = b""
    while wanted is None or wanted not in said:
        readable, _, _ = select.select([terminal], [], [], 60)
        assert readable, said
        try:
            said += os.read(terminal, 1_000)
        except OSError:  # the program has ended
            assert wanted is None, said
            break
    return said
