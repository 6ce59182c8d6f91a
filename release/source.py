"""The files of a checkout that belong to a release, and a clean copy of them.

A build from a working tree would take along what lies around in it, and the modes that the builder's umask gave. A copy
holds the tracked files only, with modes 0644 and 0755 and one time, so that the same commit gives the same bytes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]

FILE_MODE = 0o644
PROGRAM_MODE = 0o755

OLDEST_TIME = 315_532_800
"""1980-01-01: a zip archive holds no earlier time."""


def tracked_files(checkout: Path = CHECKOUT) -> list[str]:
    """Return the paths, relative to the checkout, of the files under version control that exist, sorted.

    Raises `SystemExit` where git does not know the directory: what belongs to a release is then not known.
    """
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={checkout}", "-C", checkout, "ls-files", "-z"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        raise SystemExit(f"{checkout} is no git checkout: {listed.stderr.strip()}")
    return sorted(name for name in listed.stdout.split("\0") if name and (checkout / name).is_file())


def source_time(checkout: Path = CHECKOUT) -> int:
    """Return the time of the build in seconds: `SOURCE_DATE_EPOCH`, else that of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        given = subprocess.run(
            ["git", "-c", f"safe.directory={checkout}", "-C", checkout, "log", "-1", "--format=%ct"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    if not given.strip().isascii() or not given.strip().isdigit():
        raise SystemExit("SOURCE_DATE_EPOCH: not a number of seconds since 1970")
    return max(int(given), OLDEST_TIME)


def copy_source(target: Path, checkout: Path = CHECKOUT) -> None:
    """Copy the tracked files into `target`, with normalised modes and times."""
    when = source_time(checkout)
    for name in tracked_files(checkout):
        source, copy = checkout / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        copy.chmod(PROGRAM_MODE if source.stat().st_mode & 0o100 else FILE_MODE)
        os.utime(copy, (when, when))
