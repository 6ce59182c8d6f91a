"""Each DHCP server with its dialect of `boot-config`, asked by every architecture, in a network of its own.

It leads firmware to the build of iPXE for it, and iPXE, nothing else, to the service. Rules: docs/boot-config.md.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from answerd.boot import FIRMWARE, boot_config, service_at
from tests.installers import dhcp_client
from tests.installers.conftest import SYSTEM_PATH, Unpack, need_root, program
from tests.installers.networks import ADDRESS, CHECKERS, URL, inside, joined_network, start

SERVICE = service_at(URL)
UNKNOWN = 6
"""The number of an architecture that no build is for: 32-bit UEFI."""


def servers_command(dialect: str, server: str, config: Path) -> list[str]:
    """What starts a server in the foreground."""
    scratch = config.parent
    leases = scratch / "leases"
    leases.touch()
    if dialect == "dnsmasq":
        own = [f"--conf-file={config}", f"--dhcp-leasefile={leases}", f"--pid-file={scratch}/pid", "--user=root"]
        return [server, "--keep-in-foreground", *own, "--group=root", "--no-ping", "--port=0"]
    if dialect == "isc-dhcp":
        return [server, "-f", "-4", "-cf", str(config), "-lf", str(leases), "-pf", f"{scratch}/pid", "bridge"]
    return [server, "-c", str(config)]


@pytest.mark.parametrize("dialect", sorted(CHECKERS))
def test_the_server_leads_every_architecture(dialect: str, unpacked: Unpack, tmp_path: Path) -> None:
    need_root()
    program("ip", "iproute2")
    package, path, _ = CHECKERS[dialect]
    if dialect == "kea":
        program("kea-lfc", "kea-common")  # its libraries
    server = shutil.copy(unpacked(package) / path, tmp_path)  # AppArmor knows another path
    config = tmp_path / "config"
    text = boot_config(dialect, URL).replace("eth0", "bridge").replace("tftp-root=/srv/tftp", f"tftp-root={tmp_path}")
    config.write_text(text.replace('"persist": true', '"persist": false'))
    asked = [(code, False) for firmware in FIRMWARE for code in firmware.codes]
    asked += [(code, True) for code, _ in asked] + [(UNKNOWN, False)]
    with ExitStack() as ending:
        name, other = joined_network(ending)
        own = ["env", f"KEA_PIDFILE_DIR={tmp_path}", f"KEA_LOCKFILE_DIR={tmp_path}", f"PATH={SYSTEM_PATH}"]
        start(ending, [*inside(name), *own, *servers_command(dialect, str(server), config)])
        client = [*inside(other), sys.executable, dhcp_client.__file__, "bridge", json.dumps(asked)]
        done = subprocess.run(client, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said = dict(zip(asked, map(tuple, json.loads(done.stdout)), strict=True))
    loader = f"http://{ADDRESS}/boot/"
    for firmware in FIRMWARE:
        for code in firmware.codes:
            wanted = (loader + firmware.file, "HTTPClient") if firmware.http else (firmware.file, said[code, False][1])
            assert said[code, False] == wanted
            assert said[code, True][0] == SERVICE.script
    assert said[UNKNOWN, False][0] == ""
