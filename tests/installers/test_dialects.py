"""Each DHCP server judges its dialect of `boot-config` itself. Unpacked: installed, they would start.

Rules: docs/boot-config.md.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from answerd.boot import SNIPPETS, boot_config, boot_snippet
from tests.installers.conftest import SYSTEM_PATH, Unpack, program
from tests.installers.networks import CHECKERS, CHECKERS_6

pytestmark = pytest.mark.quick

URLS = ["http://192.0.2.10:8000", "https://answers.example.org", "http://[2001:db8::1]:8000/lab"]


def judge_of(
    checker: tuple[str, str, list[str]], unpacked: Unpack, scratch: Path
) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """What a DHCP server says to a configuration."""
    package, path, arguments = checker
    if "kea" in package:
        program("kea-lfc", "kea-common")  # its libraries
    # AppArmor lets a program that is installed read its configuration at the usual place only.
    server = shutil.copy(unpacked(package) / path, scratch)
    environ = {
        "PATH": SYSTEM_PATH,
        "KEA_PIDFILE_DIR": str(scratch),
        "KEA_LOCKFILE_DIR": str(scratch),
        "KEA_LOGGER_DESTINATION": "stdout",
    }

    def judged(text: str) -> subprocess.CompletedProcess[str]:
        config = scratch / "config"
        config.write_text(text)
        command = [server, *arguments, str(config)]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)

    return judged


@pytest.mark.parametrize(
    ("dialect", "proxy", "ipv6", "without_ipxe"),
    [
        *((dialect, False, False, without) for dialect in sorted(CHECKERS) for without in (False, True)),
        ("dnsmasq", True, False, False),
        *((dialect, False, True, without) for dialect in sorted(CHECKERS_6) for without in (False, True)),
    ],
)
def test_the_server_accepts_its_configuration_and_no_other(
    dialect: str, proxy: bool, ipv6: bool, without_ipxe: bool, unpacked: Unpack, tmp_path: Path
) -> None:
    judged = judge_of((CHECKERS_6 if ipv6 else CHECKERS)[dialect], unpacked, tmp_path)

    # ISC DHCP looks names up, which fails here.
    for url in URLS[1:] if ipv6 else URLS[:1] if dialect == "isc-dhcp" else URLS[:2]:
        text = boot_config(dialect, url, proxy, ipv6, without_ipxe=without_ipxe)
        accepted = judged(text)
        assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    broken = re.sub(r"^ *(dhcp-range=|subnet6? |\"subnet[46]\")", "nonsense ", text, count=1, flags=re.MULTILINE)
    assert broken != text
    assert judged(broken).returncode != 0


OWN = {
    "isc-dhcp": """option arch code 150 = unsigned integer 16;
default-lease-time 600;
subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.50 192.0.2.60; option routers 192.0.2.1; }
include "PLACE";
""",
    "kea": """{"Dhcp4": {"interfaces-config": {"interfaces": []},
"lease-database": {"type": "memfile", "persist": false}, "next-server": "192.0.2.3",
"client-classes": [{"name": "ipxe", "test": "option[60].text == 'own'"}, <?include "PLACE"?>],
"subnet4": [{"id": 7, "subnet": "192.0.2.0/24", "pools": [{"pool": "192.0.2.50 - 192.0.2.60"}]}]}}
""",
}
"""Configurations of servers that were there before."""


@pytest.mark.parametrize("without_ipxe", [False, True])
@pytest.mark.parametrize("dialect", SNIPPETS)
def test_a_server_takes_the_snippet_into_its_own_configuration(
    dialect: str, without_ipxe: bool, unpacked: Unpack, tmp_path: Path
) -> None:
    judged = judge_of(CHECKERS[dialect], unpacked, tmp_path)
    place = tmp_path / "answerd"
    place.write_text(boot_snippet(dialect, URLS[0], without_ipxe=without_ipxe))
    accepted = judged(OWN[dialect].replace("PLACE", str(place)))
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    place.write_text("nonsense")
    assert judged(OWN[dialect].replace("PLACE", str(place))).returncode != 0
