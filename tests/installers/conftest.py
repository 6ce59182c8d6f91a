"""Real installers' clients, unmodified, against the real service. Run by scripts/test-installers.

A client that is not installed is a skip that names the Debian package it is in.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def program(name: str, package: str) -> str:
    """The path of a program; skips the test where it is not installed."""
    found = shutil.which(name, path=SYSTEM_PATH)
    if found is None:
        pytest.skip(f"{name} is not installed: apt install {package}")
    return found


def file_of(path: str, package: str) -> Path:
    """A file of a Debian package; skips the test where it is not installed."""
    if not Path(path).exists():
        pytest.skip(f"{path} is not there: apt install {package}")
    return Path(path)


def need_root() -> None:
    """Skip the test where this is not root."""
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the content of a Debian package without installing it: cloud-init would put itself into the boot."""
    made: dict[str, Path] = {}

    def unpack(package: str) -> Path:
        if package not in made:
            where = tmp_path_factory.mktemp(package)
            got = subprocess.run(
                ["apt-get", "download", "--quiet", package], cwd=where, capture_output=True, text=True, check=False
            )
            files = list(where.glob("*.deb"))
            if got.returncode or not files:
                pytest.skip(f"apt-get download {package} does not work here")
            subprocess.run(["dpkg-deb", "--extract", files[0], where / "tree"], check=True)
            made[package] = where / "tree"
        return made[package]

    return unpack
