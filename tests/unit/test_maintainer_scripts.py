"""What the scripts of the Debian package have systemd do, with a stand-in for systemctl and below another root.

tests/packages/test_debian_package.py runs them by dpkg, in a system without systemd.
Rules: docs/packages.md#debian-and-ubuntu.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.waiting import PROGRAM_SECONDS

SCRIPTS = Path(__file__).parents[2] / "etc" / "debian"
VERSION = "1.0.0"

SYSTEMCTL = """\
#!/bin/sh
words=
for word do case $word in -*) ;; *) words="$words $word" ;; esac; done
set -- $words
verb=$1; shift
case "$verb" in
    is-enabled) test -e "$STATE/enabled-$1" ;;
    enable) touch "$STATE/enabled-$1" ;;
    start) touch "$STATE/running-$1" ;;
    disable) for unit do rm -f "$STATE/enabled-$unit" "$STATE/running-$unit"; done ;;
esac
"""
"""A stand-in that keeps a file for each unit that is enabled, and for each that runs."""

NOTHING = "#!/bin/sh\n"
IN_ITS_PLACE = {"systemctl": SYSTEMCTL} | dict.fromkeys(("getent", "adduser", "install", "chown", "python3"), NOTHING)


class Package:
    """The package on a machine whose root is a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("bin", "state", "run/systemd/system", "var/lib/answerd", "etc", "usr/lib/answerd"):
            (root / folder).mkdir(parents=True)
        (root / "etc/answerd.env").write_text("")
        for name, text in IN_ITS_PLACE.items():
            (root / "bin" / name).write_text(text)
            (root / "bin" / name).chmod(0o755)

    def run(self, script: str, *arguments: str) -> None:
        """Run a script of the package as dpkg does, below the root."""
        text = re.sub(
            r"(?<![\w.])/(?=(?:srv|etc|var|run|usr)/)", f"{self.root}/", (SCRIPTS / script).read_text("utf-8")
        )
        environ = {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "STATE": str(self.root / "state")}
        subprocess.run(
            ["sh", "-s", "--", *arguments], input=text, text=True, env=environ, check=True, timeout=PROGRAM_SECONDS
        )

    def units(self) -> list[str]:
        """What is enabled and what runs."""
        return sorted(path.name for path in (self.root / "state").iterdir())


@pytest.fixture
def package(tmp_path: Path) -> Package:
    """The package, installed for the first time."""
    installed = Package(tmp_path)
    installed.run("postinst", "configure", "")
    return installed


def test_the_first_installation_enables_and_starts_the_service(package: Package) -> None:
    assert package.units() == ["enabled-answerd.service", "running-answerd.service"]


@pytest.mark.parametrize(
    "enabled",
    [["answerd.service"], ["answerd.service", "answerd.socket"], []],
    ids=["service", "and socket", "nothing"],
)
def test_what_was_enabled_is_enabled_again_after_a_removal(package: Package, enabled: list[str]) -> None:
    for file in (package.root / "state").iterdir():
        file.unlink()
    for unit in enabled:
        (package.root / "state" / f"enabled-{unit}").touch()
        (package.root / "state" / f"running-{unit}").touch()
    before = package.units()
    package.run("prerm", "remove")
    package.run("postrm", "remove")
    assert package.units() == []
    package.run("postinst", "configure", VERSION)
    assert package.units() == before
    assert list((package.root / "var/lib/answerd").iterdir()) == []


def test_an_upgrade_enables_nothing_that_was_disabled(package: Package) -> None:
    (package.root / "state/enabled-answerd.service").unlink()
    package.run("prerm", "upgrade", VERSION)
    package.run("postinst", "configure", VERSION)
    assert package.units() == ["running-answerd.service"]


def test_a_purge_leaves_nothing_of_its_own_in_the_directory_of_the_data(package: Package) -> None:
    package.run("prerm", "remove")
    package.run("postrm", "remove")
    package.run("postrm", "purge")
    assert not (package.root / "var/lib/answerd").exists()
