"""What a process without root's rights sees, also where the tests run as root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


def reachable(path: Path) -> Path:
    """Let everybody pass through the directories of this user above ``path``, and own ``path`` itself."""
    if os.geteuid() == 0:
        for above in (path, *path.parents):
            if above.stat().st_uid == 0 and above.stat().st_mode & 0o011 == 0:
                above.chmod(above.stat().st_mode | 0o011)
        for below in (path, *path.rglob("*")):
            os.chown(below, NOBODY, NOBODY, follow_symlinks=False)
    return path


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run the block with no rights but those of the owner of a `reachable` directory."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
