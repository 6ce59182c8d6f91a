"""What docs/rocky.md says, as far as Debian can tell.

Not tried, because it takes such a system: the commands of dnf, useradd, systemctl, SELinux and firewalld, and whether
its packages have the files that the page names. They were compared with the documentation of these systems.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from answerd.boot import FIRMWARE
from tests.support.pages import page
from tests.support.service import run

ROOT = Path(__file__).parents[2]
PAGE = page("rocky")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
COMMANDS = {
    "cd",
    "dnf",
    "firewall-cmd",
    "git",
    "install",
    "ln",
    "/opt/answerd/bin/pip",
    "python3.11",
    "systemctl",
    "useradd",
}


def test_it_installs_as_the_unit_says() -> None:
    unit = (ROOT / "etc/answerd.service").read_text("utf-8")
    said = [line.removeprefix("#   ") for line in unit.splitlines() if line.startswith("#   ") and "CAP_" not in line]
    shown = re.sub("python3.11 -m venv", "python3 -m venv", PAGE)
    assert [line for line in said if line.replace("/usr/sbin/nologin", "/sbin/nologin") not in shown] == []


def test_its_lines_are_commands_of_a_shell() -> None:
    subprocess.run(["bash", "-n"], input="\n".join(LINES), text=True, check=True, timeout=30)
    assert {words[0] for line in LINES for part in line.split(" && ") if (words := shlex.split(part))} == COMMANDS


def test_the_files_of_a_checkout_that_it_names_are_there() -> None:
    named = {word for line in LINES for word in shlex.split(line) if word.startswith("etc/")} | {"requirements.txt"}
    assert named == {"etc/answerd.env", "etc/answerd.service", "requirements.txt"}
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_boot_files_get_the_names_that_machines_are_led_to() -> None:
    copied = {Path(shlex.split(line)[-1]).name for line in LINES if "/srv/tftp/" in line}
    led_to = {name for firmware in FIRMWARE for name in (firmware.file, firmware.other)}
    assert copied - {"grubx64.efi"} <= led_to  # GRUB is what shim asks for
    assert {"undionly.kpxe", "ipxe.efi", "ipxe-arm64.efi", "shimx64.efi"} <= copied


@pytest.mark.parametrize("dialect", ["dnsmasq", "isc-dhcp", "kea"])
def test_each_dhcp_server_that_it_names_has_a_dialect(dialect: str) -> None:
    assert f"answerd boot-config {dialect}" in PAGE
    done = run("boot-config", dialect, "--url", "http://192.0.2.10:8000")
    assert (done.returncode, b"192.0.2.10" in done.stdout) == (0, True)
