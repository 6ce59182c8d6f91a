"""Wheel and source archive: the same bytes twice, and a service that runs from a clean environment.

Run by scripts/test-packages. Rules: docs/releasing.md#the-same-bytes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

import answerd
from tests.packages import CHECKOUT, built, clean_environment
from tests.support.waiting import BUILD_SECONDS

EXAMPLES = CHECKOUT / "examples" / "answers"


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
        timeout=BUILD_SECONDS,
    )
    return done.stdout


def installed(programs: Path) -> dict[str, str]:
    """The distributions of an environment with their releases."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "--python", programs / "python", "list", "--format", "json"],
        capture_output=True,
        check=True,
        timeout=BUILD_SECONDS,
    )
    return {canonicalize_name(package["name"]): package["version"] for package in json.loads(listed.stdout)}


def test_two_builds_have_the_same_bytes(dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    before = os.umask(0o077)
    try:
        again = built("build-wheel", tmp_path)
    finally:
        os.umask(before)
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in dist.iterdir()
    }


def test_the_wheel_runs_from_a_clean_environment(dist: Path, tmp_path: Path) -> None:
    (file,) = dist.glob("*.whl")
    programs = clean_environment(tmp_path / "environment", str(file))
    assert "root-password-hashed" in answers(programs, tmp_path / "home")
    assert installed(programs)["answerd"] == answerd.__version__


def test_pipx_installs_the_wheel(dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = dist.glob("*.whl")
    pipx = clean_environment(tmp_path / "environment", "pipx") / "pipx"
    for name in ("PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("PIP_CONSTRAINT", str(CHECKOUT / "requirements.txt"))
    subprocess.run([pipx, "install", "--python", sys.executable, file], check=True, timeout=BUILD_SECONDS)
    assert "root-password-hashed" in answers(tmp_path / "pipx_bin_dir", tmp_path / "home")


def test_the_source_archive_installs_with_every_feature_of_the_service(dist: Path, tmp_path: Path) -> None:
    (file,) = dist.glob("*.tar.gz")
    programs = clean_environment(tmp_path / "environment", f"{file}[postgres,validators]")
    assert "root-password-hashed" in answers(programs, tmp_path / "home")
    hashed = re.findall(r"^([\w.-]+)==(\S+)", (CHECKOUT / "requirements-hashes.txt").read_text("utf-8"), re.MULTILINE)
    assert installed(programs) == dict(hashed) | {"answerd": answerd.__version__}, "run scripts/requirements"


def test_the_wheel_holds_every_file_of_the_package(dist: Path) -> None:
    (file,) = dist.glob("*.whl")
    with zipfile.ZipFile(file) as opened:
        held = {name for name in opened.namelist() if name.startswith("answerd/")}
    listed = subprocess.run(
        ["git", "-C", CHECKOUT, "ls-files", "answerd"],
        capture_output=True,
        text=True,
        check=True,
        timeout=BUILD_SECONDS,
    )
    of_maintainers = "answerd/console/vendor/"  # scripts/vendor makes files of static/ from them
    assert held == {name for name in listed.stdout.splitlines() if not name.startswith(of_maintainers)}


def test_the_bill_of_materials_lists_what_is_installed_with_licences(tmp_path: Path) -> None:
    (bill,) = built("sbom", tmp_path).glob("*.cdx.json")
    parts = json.loads(bill.read_text("utf-8"))["components"]
    hashed = (CHECKOUT / "requirements-hashes.txt").read_text("utf-8")
    assert {(canonicalize_name(part["name"]), part["version"]) for part in parts} == set(
        re.findall(r"^([\w.-]+)==(\S+)", hashed, re.MULTILINE)
    )
    assert [part["name"] for part in parts if not part.get("licenses")] in ([], ["peewee"]), "peewee states none"
