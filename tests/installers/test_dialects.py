"""Each DHCP server judges its dialect of `boot-config` itself. Unpacked: installed, they would start.

Rules: docs/boot-config.md.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from answerd.boot import boot_config
from tests.installers.conftest import SYSTEM_PATH, Unpack, program
from tests.installers.networks import CHECKERS, CHECKERS_6

pytestmark = pytest.mark.quick

URLS = ["http://192.0.2.10:8000", "https://answers.example.org", "http://[2001:db8::1]:8000/lab"]


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
    package, path, arguments = (CHECKERS_6 if ipv6 else CHECKERS)[dialect]
    if dialect == "kea":
        program("kea-lfc", "kea-common")  # its libraries
    # AppArmor lets a program that is installed read its configuration at the usual place only.
    server = shutil.copy(unpacked(package) / path, tmp_path)
    environ = {
        "PATH": SYSTEM_PATH,
        "KEA_PIDFILE_DIR": str(tmp_path),
        "KEA_LOCKFILE_DIR": str(tmp_path),
        "KEA_LOGGER_DESTINATION": "stdout",
    }

    def judged(text: str) -> subprocess.CompletedProcess[str]:
        config = tmp_path / "config"
        config.write_text(text)
        command = [server, *arguments, str(config)]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)

    # ISC DHCP looks names up for IPv4, and its next-server is IPv4.
    for url in URLS[1:] if ipv6 else URLS[:1] if dialect == "isc-dhcp" else URLS:
        text = boot_config(dialect, url, proxy, ipv6, without_ipxe=without_ipxe)
        accepted = judged(text)
        assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    broken = re.sub(r"^ *(dhcp-range=|subnet6? |\"subnet[46]\")", "nonsense ", text, count=1, flags=re.MULTILINE)
    assert broken != text
    assert judged(broken).returncode != 0
