"""The packages that scripts build of the last commit, in clean systems. Run by scripts/test-packages."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tests.support.waiting import BUILD_SECONDS

CHECKOUT = Path(__file__).parents[2]


def built(script: str, target: Path, *arguments: str) -> Path:
    """Run a script of the checkout that builds into a directory, and return the directory."""
    subprocess.run(
        [CHECKOUT / "scripts" / script, *arguments, target],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=BUILD_SECONDS,
    )
    return target


def copy_commit(target: Path) -> None:
    """Copy the files of the last commit into a directory, which is made."""
    target.mkdir(parents=True)
    packed = subprocess.run(
        ["git", "-C", CHECKOUT, "archive", "HEAD"], capture_output=True, check=True, timeout=BUILD_SECONDS
    ).stdout
    subprocess.run(["tar", "-xf", "-", "-C", target], input=packed, check=True, timeout=BUILD_SECONDS)


def clean_environment(where: Path, *requirements: str) -> Path:
    """Make a virtual environment, install into it, and return its directory of programs."""
    venv.create(where, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(where / "bin" / "python"), "install", "--quiet"]
    subprocess.run(
        [*pip, "--constraint", str(CHECKOUT / "requirements.txt"), *requirements], check=True, timeout=BUILD_SECONDS
    )
    return where / "bin"
