"""Machines from power-on: DHCP and TFTP by dnsmasq with the configuration that the service writes, iPXE, the answer.

The last one is the machine of docs/tutorial.md, with its documents, to "installed" and to its disk.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.installers.conftest import Unpack, file_of
from tests.installers.disks import WORD, bios_disk
from tests.installers.machines import INSTALLER_SECONDS, bios, identity, uefi
from tests.installers.networks import network
from tests.installers.test_debian_installer import MEMORY, console_of, to_the_end
from tests.support.service import run
from tests.unit.test_tutorial import FILES, MACHINES

MAC = "52:54:00:1e:00:01"

SCRIPT = """#!ipxe
echo MARK {{ mac | colons }}
echo SERIAL {{ serial }}
sleep 1
reboot
"""
DOCUMENTS = {"52-54-00-1e-00-01.ipxe": SCRIPT}


def card(mac: str, rom: str | None = None) -> list[str]:
    """The network card, first in the boot order."""
    return ["-device", f"virtio-net-pci,netdev=n0,mac={mac},bootindex=1" + ("" if rom is None else f",romfile={rom}")]


def test_a_bios_machine_gets_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = [*bios(), *identity(), "-no-reboot"]
    with network(tmp_path, monkeypatch, DOCUMENTS) as lab, lab.machine(*own, *card(MAC)) as machine:
        said = machine.wait_for_end()
        lab.service.wait_for_log(r"GET /ipxe\?mac=52%3A54%3A00%3A1e%3A00%3A01&serial=LAB-SN-42&uuid=\S+ .* 200 ")
    assert f"MARK {MAC}" in said
    assert "SERIAL LAB-SN-42" in said


def test_a_uefi_machine_gets_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The firmware's own PXE loads iPXE by TFTP, which asks again."""
    file_of("/usr/lib/ipxe/ipxe.efi", "ipxe")
    own = [*uefi(tmp_path), *identity(), "-no-reboot"]
    with network(tmp_path, monkeypatch, DOCUMENTS) as lab, lab.machine(*own, *card(MAC, rom="")) as machine:
        said = machine.wait_for_end()
        lab.service.wait_for_log(r"GET /ipxe\?mac=52\S+ .* 200 ")
    assert f"MARK {MAC}" in said


def test_a_machine_that_nobody_knows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = [*bios(), "-no-reboot"]
    stranger = card("52:54:00:1e:00:02")
    with network(tmp_path, monkeypatch, DOCUMENTS) as lab, lab.machine(*own, *stranger) as machine:
        said = machine.wait_for_end()
        lab.service.wait_for_log(r" 404 no document claims mac=52:54:00:1e:00:02")
    assert "MARK" not in said


def test_the_machine_of_the_tutorial_is_installed_once(
    unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From power-on: dnsmasq, iPXE, the kernel, the preseed, both reports, a reboot, and its disk."""
    images = unpacked("debian-installer-12-netboot-amd64") / "usr/lib/debian-installer/images/12/amd64/text"
    web, secrets, state = tmp_path / "web", tmp_path / "secrets", tmp_path / "state.db"
    web.mkdir()
    (web / "debian-12").symlink_to(images / "debian-installer/amd64")
    secrets.mkdir(mode=0o700)
    (secrets / "root-password-hash").write_text("$6$x$y")
    (secrets / "root-password-hash").chmod(0o600)
    documents = dict(FILES)
    documents["groups/debian.preseed"] = to_the_end(documents["groups/debian.preseed"], then="reboot -f")
    documents["groups/debian.ipxe"] = console_of(documents["groups/debian.ipxe"])
    settings: dict[str, Any] = {"SERVICE_STATE_PATH": state, "SERVICE_SECRETS_DIR": secrets}
    settings["SERVICE_INSTALL_START_SECS"] = 3600  # an emulated machine may be slow to its answer
    own = [*bios(), "-m", MEMORY, *identity(), *bios_disk(tmp_path), *card(MACHINES[0])]
    with network(tmp_path, monkeypatch, documents, web, **settings) as lab, lab.machine(*own) as machine:
        machine.wait_for("the disk, after the installation", lambda: WORD in machine.said, INSTALLER_SECONDS)
        said = machine.said
    assert "MARK host=node-01" in said
    printed = run("installs", "--json", SERVICE_ANSWERS_DIR=tmp_path / "answers", **settings)
    (record,) = json.loads(printed.stdout)["installs"]
    assert (record["machine"], record["state"], record["starts"]) == ("node-01", "installed", 1)
    loaders = [line for line in lab.service.log if " GET /ipxe?" in line]
    assert len(loaders) == 2
