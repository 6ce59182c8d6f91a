"""The packages of this checkout, built once for all tests of a run, and a system with the Debian package in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages import built
from tests.packages.chroot import CACHE, System, fresh_system
from tests.support.waiting import BUILD_SECONDS


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the source archive and the wheel."""
    return built("build-wheel", tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Debian package."""
    (package,) = built("build-deb", tmp_path_factory.mktemp("deb")).glob("*.deb")
    return package


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A fresh minimal Debian."""
    kept = fresh_system(Path(os.environ[CACHE]) if CACHE in os.environ else tmp_path_factory.mktemp("fresh"))
    root = tmp_path_factory.mktemp("system") / "root"
    subprocess.run(["cp", "--archive", "--reflink=auto", kept, root], check=True, timeout=BUILD_SECONDS)
    yield System(root)
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def installed(system: System, package: Path) -> System:
    """The system with the package in it."""
    system.install(package)
    return system
