"""A mirror of Debian that has nothing but the end of an installation, so that it takes seconds.

debian-installer fetches its parts from a mirror and runs them in the order of their numbers. From this one it gets
`finish-install`, Debian's own, which runs `late_command` and begins the machine again. In place of the parts before it,
which partition, fetch and install, is a package that says that they are done: the machine's disk is made beforehand.
The preseed is the page's, and runs as it is; a whole installation would take an hour without hardware support.
"""

from __future__ import annotations

import hashlib
import lzma
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.installers.conftest import CODENAMES, mirror_of_apt
from tests.support.waiting import PROGRAM_SECONDS

ACCEPTED = """\
d-i debian-installer/allow_unauthenticated boolean true
d-i anna/no_kernel_modules boolean true
"""
"""What a preseed says besides: nobody signed this mirror, and it has no drivers."""

SAYS = "MARK host="
"""What is on the console then, before the host name that the installer took from its preseed."""

_NEWEST = max(CODENAMES)
_INDEX = "main/debian-installer/binary-amd64/Packages"

_DONE = """\
Package: written-disk
Version: 1
Architecture: all
Maintainer: none <none@example.org>
Section: debian-installer
Priority: required
Installer-Menu-Item: 6500
Depends: configured-network
Provides: installed-base, created-fstab, bootable-system
Description: Write the disk
"""

_POSTINST = f"""\
#!/bin/sh -e
. /usr/share/debconf/confmodule
db_get netcfg/get_hostname
echo "{SAYS}$RET" >/dev/console
mkdir -p /target/etc /target/var/log
"""


def tiny_mirror(files: Path, release: int, scratch: Path) -> None:
    """Make the mirror below ``files``/debian; skips the test where apt's mirror has no finish-install."""
    root = files / "debian"
    pool = root / "pool"
    pool.mkdir(parents=True)
    packages = [_build(pool, scratch), _finish_install(pool, scratch)]
    entries = []
    for package in packages:
        control = subprocess.run(
            ["dpkg-deb", "--field", package], capture_output=True, text=True, check=True, timeout=PROGRAM_SECONDS
        ).stdout
        size, digest = package.stat().st_size, hashlib.sha256(package.read_bytes()).hexdigest()
        entries.append(f"{control.rstrip()}\nFilename: pool/{package.name}\nSize: {size}\nSHA256: {digest}\n")
    suite = root / "dists" / CODENAMES[release]
    index = suite / f"{_INDEX}.xz"
    index.parent.mkdir(parents=True)
    index.write_bytes(lzma.compress("\n".join(entries).encode()))
    digest = hashlib.sha256(index.read_bytes()).hexdigest()
    (suite / "main" / "binary-amd64").mkdir()
    (suite / "main" / "binary-amd64" / "Release").write_text("Architecture: amd64\n")
    (suite / "Release").write_text(
        f"Origin: Debian\nSuite: {CODENAMES[release]}\nCodename: {CODENAMES[release]}\nArchitectures: amd64\n"
        f"Components: main\nSHA256:\n {digest} {index.stat().st_size} {_INDEX}.xz\n"
    )


def _build(pool: Path, scratch: Path) -> Path:
    """Make the package that says that all is done."""
    control = scratch / "written-disk" / "DEBIAN"
    control.mkdir(parents=True)
    (control / "control").write_text(_DONE)
    (control / "postinst").write_text(_POSTINST)
    (control / "postinst").chmod(0o755)
    made = pool / "written-disk_1_all.udeb"
    command = ["dpkg-deb", "--build", "--root-owner-group", "-Zxz", str(control.parent), str(made)]
    subprocess.run(command, check=True, capture_output=True, timeout=PROGRAM_SECONDS)
    shutil.rmtree(control.parent)
    return made


def _finish_install(pool: Path, scratch: Path) -> Path:
    """Download Debian's, of the newest release: it is a shell script that fits each of them."""
    index = scratch / "udebs.xz"
    place = f"{mirror_of_apt()}dists/{CODENAMES[_NEWEST]}/{_INDEX}.xz"
    _download(place, index)
    names = [
        line.partition(": ")[2]
        for line in lzma.decompress(index.read_bytes()).decode().split("\n")
        if line.startswith("Filename: ") and "/finish-install_" in line
    ]
    made = pool / Path(names[0]).name
    _download(mirror_of_apt() + names[0], made)
    return made


def _download(url: str, file: Path) -> None:
    """Download a file as apt does, whatever leads apt to its mirror; skips the test where it cannot."""
    options = ["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3"]
    command = ["/usr/lib/apt/apt-helper", *options, "download-file", url, str(file)]
    subprocess.run(command, capture_output=True, timeout=300, check=False)
    if not file.exists():
        pytest.skip(f"apt's mirror has no {url}")
