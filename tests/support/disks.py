"""A small disk, and how it is filled."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.waiting import PROGRAM_SECONDS


@contextmanager
def mounted(place: Path) -> Iterator[Path]:
    """Mount a file system of 4 MB. Skips the test where the system lets nobody mount."""
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m,mode=777", "none", place], check=False, timeout=PROGRAM_SECONDS
    ).returncode:
        pytest.skip("this system lets nobody mount")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True, timeout=PROGRAM_SECONDS)


def fill(disk: Path) -> Path:
    """Leave no space on a disk. Return the file to remove."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return ballast
