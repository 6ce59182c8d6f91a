"""Machines from power-on: DHCP and TFTP by dnsmasq with the configuration that the service writes, iPXE, the answer.

The last ones are machines of the tutorials with their documents: of docs/tutorial.md to "installed" and to its disk, of
docs/thirty-ubuntu.md and docs/sixty-windows.md as far as Debian has what they start.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.installers.conftest import Unpack, file_of
from tests.installers.disks import WORD, bios_disk
from tests.installers.machines import (
    INSTALLER_SECONDS,
    LOADER_SECONDS,
    MEMORY,
    arm64,
    bios,
    console_of,
    http_only,
    identity,
    uefi,
)
from tests.installers.networks import ADDRESS, OTHER_ADDRESS, network
from tests.installers.tiny_mirrors import ACCEPTED, SAYS, tiny_mirror
from tests.support.installer_pages import tutorial_files
from tests.support.service import run

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


def test_a_bios_machine_without_ipxe_of_its_own_gets_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The PXE of other firmware loads iPXE's build for BIOS. It is played by another iPXE that does not say so."""
    own = [*bios(), *identity(), "-no-reboot", "-kernel", str(file_of("/usr/lib/ipxe/ipxe.lkrn", "ipxe"))]
    script = tmp_path / "firmware.ipxe"
    script.write_text("#!ipxe\nifopen net0\nset net0/ip 192.0.2.9\nchain tftp://192.0.2.10/undionly.kpxe\n")
    own += ["-initrd", str(script)]
    with network(tmp_path, monkeypatch, DOCUMENTS) as lab, lab.machine(*own, *card(MAC, rom="")) as machine:
        said = machine.wait_for_end()
        lab.service.wait_for_log(r"GET /ipxe\?mac=52\S+ .* 200 ")
    assert f"MARK {MAC}" in said


def test_a_uefi_machine_gets_its_answer_by_http_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The firmware loads iPXE from a web server; nothing is there by TFTP."""
    boot = tmp_path / "web" / "boot"
    boot.mkdir(parents=True)
    shutil.copyfile(file_of("/usr/lib/ipxe/ipxe.efi", "ipxe"), boot / "ipxe.efi")
    own = [*uefi(tmp_path), *http_only(), *identity(), "-no-reboot", *card(MAC, rom="")]
    with (
        network(tmp_path, monkeypatch, DOCUMENTS, boot.parent, loaders=Path("/none")) as lab,
        lab.machine(*own) as machine,
    ):
        said = machine.wait_for_end()
        lab.service.wait_for_log(r"GET /ipxe\?mac=52\S+ .* 200 ")
    assert f"MARK {MAC}" in said


def test_a_uefi_machine_without_ipv4_gets_its_answer_by_http_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Firmware and iPXE have addresses by DHCPv6 alone. Firmware waits a minute for IPv4 first."""
    boot = tmp_path / "web" / "boot"
    boot.mkdir(parents=True)
    shutil.copyfile(file_of("/usr/lib/ipxe/ipxe.efi", "ipxe"), boot / "ipxe.efi")
    own = [*uefi(tmp_path), *http_only(), *identity(), "-no-reboot", *card(MAC, rom="")]
    with (
        network(tmp_path, monkeypatch, DOCUMENTS, boot.parent, loaders=Path("/none"), ipv6=True) as lab,
        lab.machine(*own) as machine,
    ):
        said = machine.wait_for_end(2 * LOADER_SECONDS)
        lab.service.wait_for_log(r"2001:db8:0:1:\S+ GET /ipxe\?mac=52\S+ .* 200 ")
    assert f"MARK {MAC}" in said


@pytest.mark.parametrize("by_http", [False, True], ids=["by TFTP", "by HTTP"])
def test_an_arm64_machine_gets_its_answer(
    by_http: bool, unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian 13's package has the build."""
    loaders = unpacked("ipxe", release=13) / "usr/lib/ipxe"
    boot = tmp_path / "web" / "boot"
    boot.mkdir(parents=True)
    own = [*arm64(), *identity(), "-no-reboot", *card(MAC, rom="")]
    if by_http:
        shutil.copyfile(loaders / "ipxe-arm64.efi", boot / "ipxe-arm64.efi")
        own += http_only()
        loaders = Path("/none")
    with (
        network(tmp_path, monkeypatch, DOCUMENTS, boot.parent, loaders=loaders) as lab,
        lab.machine(*own, processor="aarch64") as machine,
    ):
        said = machine.wait_for_end()
        lab.service.wait_for_log(r"GET /ipxe\?mac=52\S+ .* 200 ")
    assert f"MARK {MAC}" in said


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_a_machine_beside_another_dhcp_server_gets_its_answer(
    firmware: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--proxy-dhcp`. The address is the other server's."""
    file_of("/usr/lib/ipxe/ipxe.efi", "ipxe")
    own = [*bios(), *card(MAC)] if firmware == "bios" else [*uefi(tmp_path), *card(MAC, rom="")]
    documents = {"52-54-00-1e-00-01.ipxe": SCRIPT.replace("sleep", "echo FROM ${dhcp-server}\nsleep")}
    with (
        network(tmp_path, monkeypatch, documents, proxy=True) as lab,
        lab.machine(*own, *identity(), "-no-reboot") as machine,
    ):
        said = machine.wait_for_end()
        lab.service.wait_for_log(r"GET /ipxe\?mac=52\S+ .* 200 ")
    assert f"MARK {MAC}" in said
    assert f"FROM {OTHER_ADDRESS}" in said


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
    """From power-on: dnsmasq, iPXE, the kernel, the preseed, both reports by the installer, a reboot, and its disk."""
    images = unpacked("debian-installer-12-netboot-amd64") / "usr/lib/debian-installer/images/12/amd64/text"
    web, secrets, state = tmp_path / "web", tmp_path / "secrets", tmp_path / "state.db"
    web.mkdir()
    (web / "debian-12").symlink_to(images / "debian-installer/amd64")
    secrets.mkdir(mode=0o700)
    (secrets / "root-password-hash").write_text("$6$x$y")
    (secrets / "root-password-hash").chmod(0o600)
    documents = tutorial_files("tutorial")
    tiny_mirror(web, 12, tmp_path)
    preseed = documents["groups/debian.preseed"].replace("mirror.example.org", ADDRESS)
    documents["groups/debian.preseed"] = preseed + ACCEPTED
    documents["groups/debian.ipxe"] = console_of(documents["groups/debian.ipxe"])
    settings: dict[str, Any] = {"SERVICE_STATE_PATH": state, "SERVICE_SECRETS_DIR": secrets}
    settings["SERVICE_INSTALL_START_SECS"] = 3600  # an emulated machine may be slow to its answer
    own = [*bios(), "-m", MEMORY, *identity(), *bios_disk(tmp_path), *card("52:54:00:10:00:01")]
    with network(tmp_path, monkeypatch, documents, web, **settings) as lab, lab.machine(*own) as machine:
        machine.wait_for("the disk, after the installation", lambda: WORD in machine.said, INSTALLER_SECONDS)
        said = machine.said
    assert f"{SAYS}node-01" in said
    printed = run("installs", "--json", SERVICE_ANSWERS_DIR=tmp_path / "answers", **settings)
    (record,) = json.loads(printed.stdout)["installs"]
    assert (record["machine"], record["state"], record["starts"]) == ("node-01", "installed", 1)
    loaders = [line for line in lab.service.log if " GET /ipxe?" in line]
    assert len(loaders) == 2


KERNEL = "usr/lib/debian-installer/images/12/amd64/text/debian-installer/amd64"

AS_CASPER = """#!/bin/sh
mount -t proc proc /proc
mount -t devtmpfs devices /dev
exec >/dev/ttyS0 2>&1
for word in $(cat /proc/cmdline); do
    case $word in
    url=*) iso=${word#url=} ;;
    "ds=nocloud;s="*) seed=${word#*;s=} ;;
    cloud-config-url=/dev/null) echo "MARK no other configuration" ;;
    esac
done
modprobe -a virtio_pci virtio_net
ip link set eth0 up
ip addr add 192.0.2.50/24 dev eth0
ask() { for again in 1 2 3 4 5 6 7 8 9; do wget -q -O - "$@" && break; sleep 1; done; }
echo "MARK iso $(ask "$iso")"
for file in meta-data vendor-data user-data; do ask "$seed$file" >/$file; done
sed -n "s/.*hostname: */MARK hostname /p" /user-data
endpoint=$(sed -n "s/.*endpoint: *//p" /user-data | tr -d "'\\"}" | cut -d, -f1)
echo "MARK report $(ask --post-data= "$endpoint/installed")"
sleep 1
reboot -f
"""
"""In the place of Ubuntu's initrd, and of subiquity in the ISO that it loads: what they ask, from what the kernel was
given."""


def archive(files: dict[str, str]) -> bytes:
    """Executable files as an initial file system (cpio's newc), which the kernel unpacks over the one before it."""
    made = b""
    for number, (name, text) in enumerate([*files.items(), ("TRAILER!!!", "")], 1):
        path, content = name.encode() + b"\0", text.encode()
        fields = [number, 0o100755, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0]
        header = b"070701" + b"".join(b"%08x" % field for field in fields) + path
        made += header + bytes(-len(header) % 4) + content + bytes(-len(content) % 4)
    return made


def secrets_of(tmp_path: Path, name: str) -> Path:
    """A directory with one secret."""
    secrets = tmp_path / "secrets"
    secrets.mkdir(mode=0o700)
    (secrets / name).write_text("$6$x$y")
    (secrets / name).chmod(0o600)
    return secrets


def test_a_machine_of_the_ubuntu_tutorial_installs_once(
    unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From power-on, with Debian's kernel in Ubuntu's place: the loader's line reaches the kernel whole, the seed
    and the ISO are where it says, the report counts, and the next start goes to the disk."""
    images = unpacked("debian-installer-12-netboot-amd64") / KERNEL
    web, state = tmp_path / "web" / "ubuntu-24.04", tmp_path / "state.db"
    web.mkdir(parents=True)
    (web / "vmlinuz").symlink_to(images / "linux")
    (web / "initrd").write_bytes((images / "initrd.gz").read_bytes() + archive({"init": AS_CASPER}))
    (web / "live-server.iso").write_text("is there")
    documents = tutorial_files("thirty-ubuntu")
    loader = documents["groups/ubuntu.ipxe"]
    assert loader.count(" ip=dhcp ") == 1
    documents["groups/ubuntu.ipxe"] = loader.replace(" ip=dhcp ", " ip=dhcp console=ttyS0 ")
    settings: dict[str, Any] = {
        "SERVICE_STATE_PATH": state,
        "SERVICE_SECRETS_DIR": secrets_of(tmp_path, "teacher-hash"),
        "SERVICE_INSTALL_START_SECS": 3600,  # an emulated machine may be slow to its answer
    }
    own = [*bios(), "-m", MEMORY, *identity(), "-no-reboot", *card("52:54:00:20:00:01")]
    with network(tmp_path, monkeypatch, documents, web.parent, **settings) as lab:
        with lab.machine(*own) as machine:
            said = machine.wait_for_end(INSTALLER_SECONDS)
        for mark in ("MARK no other configuration", "MARK iso is there", "MARK hostname pc-01", "MARK report OK"):
            assert mark in said.replace('"', ""), said[-1000:]
        printed = run("installs", "--json", SERVICE_ANSWERS_DIR=tmp_path / "answers", **settings)
        (record,) = json.loads(printed.stdout)["installs"]
        assert (record["machine"], record["state"], record["starts"]) == ("pc-01", "installed", 1)
        with lab.machine(*own) as machine:
            assert "pc-01 is installed since" in machine.wait_for_end()


def test_a_machine_of_the_windows_tutorial_loads_all_that_winpe_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From power-on to the end of the loader: WinPE is not in Debian, so an iPXE is in the place of wimboot."""
    web = tmp_path / "web" / "winpe"
    web.mkdir(parents=True)
    shutil.copyfile(file_of("/usr/lib/ipxe/ipxe.lkrn", "ipxe"), web / "wimboot")
    for name in ("winpeshl.ini", "install.cmd", "bcd", "boot.sdi", "boot.wim"):
        (web / name).write_text(f"{name}\n")
    documents = tutorial_files("sixty-windows")
    loader = documents["groups/windows.ipxe"]
    assert loader.count("\nboot\n") == 1
    documents["groups/windows.ipxe"] = loader.replace("\nboot\n", "\nimgstat\nsleep 1\nreboot\n")
    settings: dict[str, Any] = {
        "SERVICE_STATE_PATH": tmp_path / "state.db",
        "SERVICE_SECRETS_DIR": secrets_of(tmp_path, "windows-admin"),
    }
    own = [*bios(), *identity(), "-no-reboot", *card("52:54:00:30:00:01")]
    with (
        network(tmp_path, monkeypatch, documents, web.parent, **settings) as lab,
        lab.machine(*own) as machine,
    ):
        said = machine.wait_for_end()
        lab.service.wait_for_log(r"GET /windows/unattend\.xml\?mac=52\S+ .* 200 ")
    assert "wimboot : " in said
    for name in ("winpeshl.ini", "install.cmd", "BCD", "boot.sdi", "boot.wim", "unattend.xml"):
        assert f'"{name}"' in said  # by this name wimboot puts it into WinPE
