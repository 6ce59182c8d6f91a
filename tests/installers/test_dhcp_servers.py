"""Each DHCP server with its dialect of `boot-config`, asked by every architecture, in a network of its own.

It leads firmware to its loader, and iPXE, nothing else, to the service. Rules: docs/boot-config.md.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from answerd.boot import FIRMWARE, PXELINUX, WITH_IPV6, boot_config, service_at
from tests.installers import dhcp6_client, dhcp_client
from tests.installers.conftest import SYSTEM_PATH, Unpack, need_root, program
from tests.installers.networks import (
    ADDRESS,
    ADDRESS_6,
    CHECKERS,
    CHECKERS_6,
    URL,
    URL_6,
    inside,
    joined_network,
    start,
)

SERVICE = service_at(URL)
UNKNOWN = 6
"""The number of an architecture that no build is for: 32-bit UEFI."""


def servers_command(dialect: str, server: str, config: Path, version: str = "-4") -> list[str]:
    """What starts a server in the foreground."""
    scratch = config.parent
    leases = scratch / "leases"
    leases.touch()
    if dialect == "dnsmasq":
        own = [f"--conf-file={config}", f"--dhcp-leasefile={leases}", f"--pid-file={scratch}/pid", "--user=root"]
        return [server, "--keep-in-foreground", *own, "--group=root", "--no-ping", "--port=0"]
    if dialect == "isc-dhcp":
        return [server, "-f", version, "-cf", str(config), "-lf", str(leases), "-pf", f"{scratch}/pid", "bridge"]
    return [server, "-c", str(config)]


@pytest.mark.parametrize("without_ipxe", [False, True])
@pytest.mark.parametrize("dialect", sorted(CHECKERS))
def test_the_server_leads_every_architecture(
    dialect: str, without_ipxe: bool, unpacked: Unpack, tmp_path: Path
) -> None:
    need_root()
    program("ip", "iproute2")
    package, path, _ = CHECKERS[dialect]
    if dialect == "kea":
        program("kea-lfc", "kea-common")  # its libraries
    server = shutil.copy(unpacked(package) / path, tmp_path)  # AppArmor knows another path
    config = tmp_path / "config"
    text = boot_config(dialect, URL, without_ipxe=without_ipxe).replace("eth0", "bridge")
    text = text.replace("tftp-root=/srv/tftp", f"tftp-root={tmp_path}")
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
            file = firmware.other if without_ipxe else firmware.file
            prefix = f"http://{ADDRESS}/" if file == PXELINUX else ""
            wanted = (loader + file, "HTTPClient") if firmware.http else (file, said[code, False][1])
            assert said[code, False] == (*wanted, prefix)
            assert said[code, True][0] == (wanted[0] if without_ipxe else SERVICE.script)
    assert said[UNKNOWN, False][0] == ""


@pytest.mark.parametrize("without_ipxe", [False, True])
@pytest.mark.parametrize("dialect", sorted(CHECKERS_6))
def test_the_server_leads_every_architecture_of_a_network_without_ipv4(
    dialect: str, without_ipxe: bool, unpacked: Unpack, tmp_path: Path
) -> None:
    need_root()
    program("ip", "iproute2")
    package, path, _ = CHECKERS_6[dialect]
    if dialect == "kea":
        program("kea-lfc", "kea-common")  # its libraries
    server = shutil.copy(unpacked(package) / path, tmp_path)  # AppArmor knows another path
    config = tmp_path / "config"
    text = boot_config(dialect, URL_6, ipv6=True, without_ipxe=without_ipxe).replace("eth0", "bridge")
    text = text.replace("tftp-root=/srv/tftp", f"tftp-root={tmp_path}")
    # Kea keeps the name that it gave itself in a directory of its own.
    text = text.replace('"Dhcp6": {', '"Dhcp6": {"server-id": {"type": "LL", "persist": false},')
    config.write_text(text.replace('"persist": true', '"persist": false'))
    asked = [(code, False) for firmware in WITH_IPV6 for code in firmware.codes]
    asked += [(code, True) for code, _ in asked] + [(UNKNOWN, False)]
    with ExitStack() as ending:
        name, other = joined_network(ending, ipv6=True)
        own = ["env", f"KEA_PIDFILE_DIR={tmp_path}", f"KEA_LOCKFILE_DIR={tmp_path}", f"PATH={SYSTEM_PATH}"]
        start(ending, [*inside(name), *own, *servers_command(dialect, str(server), config, "-6")])
        client = [*inside(other), sys.executable, dhcp6_client.__file__, "bridge", json.dumps(asked)]
        done = subprocess.run(client, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    said = dict(zip(asked, map(tuple, json.loads(done.stdout)), strict=True))
    for firmware in WITH_IPV6:
        file = firmware.other if without_ipxe else firmware.file
        for code in firmware.codes:
            if firmware.http:
                assert said[code, False] == (f"http://[{ADDRESS_6}]/boot/{file}", "HTTPClient")
            else:
                assert said[code, False][0] == f"tftp://[{ADDRESS_6}]/{file}"
            assert said[code, True][0] == (said[code, False][0] if without_ipxe else service_at(URL_6).whole_script)
    assert said[UNKNOWN, False][0] == ""
