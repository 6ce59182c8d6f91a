"""Wheel and source archive: the same bytes twice, and a service that runs from a clean environment.

Run by scripts/test-packages. Rules: docs/releasing.md#the-same-bytes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

import answerd
from release import hashes, sbom, wheel
from release.requirements import everything_needed, pins, service_extras
from release.source import CHECKOUT, tracked_files

EXAMPLES = CHECKOUT / "examples" / "answers"


def clean_environment(where: Path, *requirements: str) -> Path:
    """Make a virtual environment, install into it, and return its directory of programs."""
    venv.create(where, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(where / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--constraint", str(CHECKOUT / "requirements.txt"), *requirements], check=True)
    return where / "bin"


def answers(programs: Path, home: Path) -> str:
    """The output of ``answerd`` in an environment, away from the checkout."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SERVICE_", "PYTHON"))}
    home.mkdir()
    done = subprocess.run(
        [programs / "answerd", "render", "98-fa-9b-50-d8-10"],
        cwd=home,
        env=environ | {"SERVICE_ANSWERS_DIR": str(EXAMPLES)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def installed(programs: Path) -> dict[str, str]:
    """The distributions of an environment with their releases."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "--python", programs / "python", "list", "--format", "json"],
        capture_output=True,
        check=True,
    )
    return {canonicalize_name(package["name"]): package["version"] for package in json.loads(listed.stdout)}


def test_two_builds_have_the_same_bytes(dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    stray = CHECKOUT / "answerd" / "stray-of-a-test.json"
    before = os.umask(0o077)
    try:
        stray.write_text("{}")
        wheel.build(tmp_path)
    finally:
        stray.unlink()
        os.umask(before)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in dist.iterdir()
    }


def test_the_wheel_runs_from_a_clean_environment(dist: Path, tmp_path: Path) -> None:
    (built,) = dist.glob("*.whl")
    programs = clean_environment(tmp_path / "environment", str(built))
    assert "root-password-hashed" in answers(programs, tmp_path / "home")
    assert installed(programs)["answerd"] == answerd.__version__


def test_pipx_installs_the_wheel(dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (built,) = dist.glob("*.whl")
    pipx = clean_environment(tmp_path / "environment", "pipx") / "pipx"
    for name in ("PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("PIP_CONSTRAINT", str(CHECKOUT / "requirements.txt"))
    subprocess.run([pipx, "install", "--python", sys.executable, built], check=True)
    assert "root-password-hashed" in answers(tmp_path / "pipx_bin_dir", tmp_path / "home")


def test_the_source_archive_installs_with_every_feature_of_the_service(dist: Path, tmp_path: Path) -> None:
    (built,) = dist.glob("*.tar.gz")
    programs = clean_environment(tmp_path / "environment", f"{built}[{','.join(service_extras())}]")
    assert "root-password-hashed" in answers(programs, tmp_path / "home")
    listed = {part["name"]: part["version"] for part in sbom.bill_of_materials()["components"]}
    assert installed(programs) == listed | {"answerd": answerd.__version__}


def test_the_hashes_are_of_what_the_service_needs() -> None:
    names = [canonicalize_name(distribution.metadata["Name"]) for distribution in everything_needed()]
    pinned = pins()
    lines = hashes.HASHES.read_text("utf-8").splitlines()
    listed = [line.removesuffix(" \\") for line in lines if "==" in line]
    assert listed == [f"{name}=={pinned[name]}" for name in names], "run scripts/hash-requirements"


def test_the_wheel_holds_every_file_of_the_package(dist: Path) -> None:
    (built,) = dist.glob("*.whl")
    with zipfile.ZipFile(built) as opened:
        held = {name for name in opened.namelist() if name.startswith("answerd/")}
    of_maintainers = "answerd/console/vendor/"  # scripts/vendor makes files of static/ from them
    assert held == {name for name in tracked_files() if name.startswith("answerd/") and of_maintainers not in name}
