"""The README's two commands in a fresh clone, on each system that the README names, with that system's own Python.

Run by scripts/test-packages, as root, where debootstrap is. Each system is tried as root and as a user, without a
terminal, in a path that has a blank, and with /tmp on a disk in memory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages import copy_commit
from tests.packages.chroot import CACHE, System, fresh_system, needs_chroot
from tests.support.waiting import BUILD_SECONDS

pytestmark = needs_chroot

SYSTEMS = {"bookworm": "3.11", "trixie": "3.13", "sid": "3.14"}
"""Debian's releases and the Python of each: 12, 13, and the one to come."""

PACKAGES = "python3,python3-venv,adduser,procps,curl,ca-certificates"
"""What the README asks for, and what a person has: curl and a user."""

USER = "somebody"
CLONE = f"/home/{USER}/a clone/answerd"

MOST_SERVE_SECONDS = 900
MOST_TEST_SECONDS = 5400
"""Ten times what they take on two cores."""

_IN_MEMORY = "mount -t tmpfs tmpfs /tmp && chmod 1777 /tmp"
_WITHOUT_TERMINAL = "mount -t tmpfs tmpfs /dev/pts"
_SERVE = """
scripts/serve 2>log & service=$!
trap 'kill "$service"' EXIT
until address=$(sed -n 's/.* listening on \\(127[^, ]*\\).*/\\1/p' log); [ "$address" ]; do
    kill -0 "$service" || { cat log; exit 1; }
    sleep 0.2
done
curl --silent --show-error --fail --max-time 30 -H 'X-System-Serial-Number: 7ABC123' "http://$address/ks"
"""
"""Starts the service on a free port, waits until it listens, and asks what the README asks."""


@pytest.fixture(scope="module", params=SYSTEMS)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A system with a fresh clone, which belongs to a user."""
    kept = Path(os.environ[CACHE]) / "python" if CACHE in os.environ else tmp_path_factory.mktemp("fresh")
    kept.mkdir(exist_ok=True)
    root = tmp_path_factory.mktemp("system") / "root"
    subprocess.run(
        ["cp", "--archive", fresh_system(kept, request.param, PACKAGES), root], check=True, timeout=BUILD_SECONDS
    )
    trusted = Path(
        "/etc/ssl/certs/ca-certificates.crt"
    )  # this machine may reach the package index by a proxy of its own
    if trusted.exists():
        shutil.copy(trusted, root / "etc/ssl/certs/ca-certificates.crt")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    system = System(root)
    system.run("adduser", "--disabled-password", "--gecos", "", USER)
    version = system.run("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    assert version == SYSTEMS[request.param]
    yield system
    shutil.rmtree(root)


@pytest.fixture(params=["root", USER])
def user(request: pytest.FixtureRequest, release: System) -> str:
    """Who runs the command, in a clone that is new and his own."""
    clone = release.root / CLONE[1:]
    shutil.rmtree(clone.parent, ignore_errors=True)
    copy_commit(clone)
    release.run("chown", "--recursive", request.param, f"/home/{USER}")
    return str(request.param)


def _without_skips(printed: str) -> str:
    """Return the end of what a command printed; the skipped tests alone are 200 lines."""
    return "\n".join([line for line in printed.splitlines() if not line.startswith("SKIPPED ")])[-50_000:]


def run(system: System, user: str, script: str, seconds: float, *variables: str) -> str:
    """Run a shell script in the clone without a terminal and return what it prints. Fails where it fails."""
    index = [f"{name}={value}" for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_CERT"))]
    ready = f"{_IN_MEMORY} && {_WITHOUT_TERMINAL} && cd '{CLONE}'"
    home = "/root" if user == "root" else f"/home/{user}"
    environ = ["env", "-i", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C.UTF-8", f"HOME={home}", *index, *variables]
    become = f'{ready} && exec setpriv --reuid="$1" --regid="$1" --init-groups -- sh -c "$2"'
    done = subprocess.run(
        system.command(*environ, "sh", "-c", become, "sh", user, script),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds,
        check=False,
    )
    printed = done.stdout.decode(errors="replace")
    assert done.returncode == 0, _without_skips(printed)
    return printed


def test_serve_answers(release: System, user: str) -> None:
    printed = run(release, user, _SERVE, MOST_SERVE_SECONDS, "SERVICE_LISTEN_ADDR=127.0.0.1:0")
    assert "rootpw" in printed


def test_all_tests_pass(release: System, user: str) -> None:
    printed = run(release, user, "scripts/test", MOST_TEST_SECONDS)
    summary = re.findall(r"(\d+) passed", printed)
    assert int(summary[-1]) > 1000, printed[-5000:]
