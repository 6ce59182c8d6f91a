"""A Debian system in a directory, made by debootstrap, and programs run in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.waiting import BUILD_SECONDS

CACHE = "ANSWERD_CHROOT_CACHE"
"""The variable that names a directory in which the fresh system is kept for the next run."""

IN_CHROOT = Path(__file__).with_name("in-chroot")

needs_chroot = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("debootstrap") is None, reason="needs root and debootstrap"
)


@dataclass(frozen=True)
class System:
    """A Debian system in a directory."""

    root: Path

    def command(self, *words: str, user: str = "root") -> list[str]:
        """Return the command line that runs a program in there."""
        return [str(IN_CHROOT), str(self.root), user, *words]

    def run(self, *words: str, user: str = "root") -> str:
        """Run a command in there and return what it prints. Fails with that output where it fails."""
        clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(
            self.command(*words, user=user),
            env=clean,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=BUILD_SECONDS,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}"
        return done.stdout

    def install(self, package: Path) -> str:
        """Install or upgrade a package from a file."""
        copy = self.root / package.name  # a run has a /tmp of its own
        shutil.copy(package, copy)
        try:
            return self.run("dpkg", "--install", f"/{package.name}")
        finally:
            copy.unlink()

    def owner(self, path: str) -> str:
        """Return owner, group and mode of a file, by the names of that system."""
        return self.run("stat", "-c", "%U:%G %a", path).strip()


def this_release() -> str:
    """Return the code name of the release that this machine has, such as ``bookworm``."""
    codename: str = re.findall(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text("utf-8"), re.MULTILINE)[0]
    return codename


def fresh_system(kept: Path, codename: str = "", packages: str = "python3,adduser,procps") -> Path:
    """Return a minimal system of a release, by default of the one that this machine has, below `kept`; make it where it
    is missing. ``packages`` are separated by commas. Skips the test where apt of this machine has no source for it."""
    here = this_release()
    codename = codename or here
    # Debian's archive has all its releases under one URL; other distributions are not asked for Debian's.
    root = kept / codename
    if not (root / "var/lib/dpkg/status").exists():
        wanted = ["debootstrap", "--variant=minbase", f"--include={packages}", codename, str(root)]
        subprocess.run([*wanted, _mirror(here)], check=True, stdout=subprocess.DEVNULL, timeout=BUILD_SECONDS)
    return root


def _mirror(codename: str) -> str:
    """Return the URL that apt of this machine takes the main packages of a release from. Skip the test without one."""
    wanted = ["apt-get", "indextargets", "--format", "$(CODENAME) $(COMPONENT) $(REPO_URI)"]
    listed = subprocess.run(wanted, check=True, stdout=subprocess.PIPE, text=True, timeout=BUILD_SECONDS).stdout
    urls = [line.split()[2] for line in listed.splitlines() if line.split()[:2] == [codename, "main"]]
    if not urls:
        pytest.skip(f"apt has no source for {codename} main: add one and run apt-get update")
    return urls[0]
