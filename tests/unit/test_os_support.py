"""When freed memory is returned, and that it is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from answerd.server.os_support import MOVED_BYTES, Trimmer
from tests.support.waiting import PROGRAM_SECONDS

MB = 1_048_576
FAR = MOVED_BYTES // MB + 4


@pytest.mark.parametrize(
    ("megabytes", "trims"),
    [
        ([50, 50], 0),
        ([60, 60, 55, 55], 0),
        ([50 + FAR, 50 + FAR, 50 + FAR, 50 + FAR], 2),
        ([50 + FAR, 50 + 2 * FAR, 50 + 2 * FAR, 50 + 2 * FAR], 3),
        ([30, 30 + FAR, 30 + FAR, 30 + FAR], 2),
    ],
    ids=["nothing happens", "little happens", "it has grown", "it grows again", "it has shrunk and grown"],
)
def test_memory_is_trimmed_when_it_has_grown_and_once_more(megabytes: Sequence[int], trims: int) -> None:
    """Once more, because what is freed inside of the heap after the first time does not show."""
    now = [50 * MB]
    done = []
    trimmer = Trimmer(lambda: done.append(now[0]), lambda: now[0])
    for level in megabytes:
        now[0] = level * MB
        trimmer.look()
    assert len(done) == trims


PROGRAM = """
from threading import Thread
from answerd.server import os_support
os_support.configure_interpreter()
kept = []
def fill():
    made = [bytearray(20_000) for _ in range(3_000)]
    kept.extend(made[::30])
before = os_support.resident_bytes()
for _ in range(5):
    thread = Thread(target=fill)
    thread.start()
    thread.join()
os_support.trim()
print(os_support.resident_bytes() - before)
"""


def test_what_threads_have_freed_between_what_is_still_in_use_is_returned() -> None:
    """60 MB are taken and freed, five times, and a thirtieth of it is kept: 10 MB."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=PROGRAM_SECONDS
    )
    assert int(done.stdout) < 20 * MB
