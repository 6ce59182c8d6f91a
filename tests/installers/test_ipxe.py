"""iPXE in QEMU, on BIOS and UEFI, from power-on: DHCP by dnsmasq with the configuration that the service writes.

Firmware, iPXE, dnsmasq and the service share a network of their own. Rules: docs/boot-config.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from answerd.boot import boot_config
from tests.installers.conftest import file_of, need_root, program
from tests.support import service as running
from tests.support.service import Service, write_tree

MAC = "52:54:00:1e:00:01"
URL = "http://192.0.2.10:8000"
POWER_ON_SECONDS = 120.0
"""Without hardware support a machine takes 10 to 30 s to its answer."""

SCRIPT = """#!ipxe
echo MARK {{ mac | colons }}
echo SERIAL {{ serial }}
sleep 1
reboot
"""


def network(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@dataclass(frozen=True)
class Lab:
    """A network namespace with a card for one machine, the service and dnsmasq."""

    name: str
    service: Service
    scratch: Path

    def power_on(self, *machine: str) -> str:
        """Run a machine until it reboots or has asked long enough. Return what its serial port said, in one line."""
        screen = self.scratch / "serial"
        qemu = ["qemu-system-x86_64", "-accel", "tcg", "-no-reboot", "-display", "none", "-vga", "none"]
        qemu += [
            "-monitor",
            "none",
            "-serial",
            f"file:{screen}",
            "-smbios",
            "type=1,serial=LAB-SN-42,product=Blade 9000",
        ]
        qemu += ["-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no", *machine]
        with subprocess.Popen(["ip", "netns", "exec", self.name, *qemu], stdin=subprocess.DEVNULL) as process:
            try:
                process.wait(POWER_ON_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        text = screen.read_text("utf-8", errors="replace")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]", "", text)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """The network, with the service and dnsmasq running in it."""
    need_root()
    program("ip", "iproute2")
    dnsmasq = program("dnsmasq", "dnsmasq-base")
    program("qemu-system-x86_64", "qemu-system-x86")
    if not Path("/dev/net/tun").exists():
        pytest.skip("/dev/net/tun is not there")
    name = f"answerd-{os.getpid()}"
    network("netns", "add", name)
    try:
        for words in (
            ["link", "set", "lo", "up"],
            ["tuntap", "add", "tap0", "mode", "tap"],
            ["addr", "add", "192.0.2.10/24", "dev", "tap0"],
            ["link", "set", "tap0", "up"],
        ):
            network("-n", name, *words)
        monkeypatch.setattr(running, "PROGRAM", ["ip", "netns", "exec", name, sys.executable, "-m", "answerd"])
        answers = tmp_path / "answers"
        answers.mkdir()
        write_tree(answers, {"52-54-00-1e-00-01.ipxe": SCRIPT})
        with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_LISTEN_ADDR="192.0.2.10:8000") as service:
            config = tmp_path / "dnsmasq.conf"
            config.write_text(adapted(boot_config("dnsmasq", URL), tmp_path))
            command = ["ip", "netns", "exec", name, dnsmasq, "--keep-in-foreground", f"--conf-file={config}"]
            with subprocess.Popen(command) as server:
                yield Lab(name, service, tmp_path)
                server.terminate()
    finally:
        network("netns", "delete", name)


def adapted(text: str, scratch: Path) -> str:
    """The configuration as the service writes it, for this network and for files of the test."""
    tftp = scratch / "tftp"
    tftp.mkdir()
    tftp.chmod(0o755)
    for name in ("ipxe.efi", "undionly.kpxe"):
        if Path(f"/usr/lib/ipxe/{name}").exists():
            shutil.copyfile(f"/usr/lib/ipxe/{name}", tftp / name)
    text = text.replace("interface=eth0", "interface=tap0").replace("tftp-root=/srv/tftp", f"tftp-root={tftp}")
    own = [f"dhcp-leasefile={scratch}/leases", f"pid-file={scratch}/pid", "user=root", "group=root"]
    return "\n".join([text, *own, "no-ping", "no-resolv", "no-hosts", ""])


def test_a_bios_machine_gets_its_answer_from_power_on(lab: Lab) -> None:
    file_of("/usr/lib/ipxe/qemu/pxe-virtio.rom", "ipxe-qemu")
    card = ["-device", f"virtio-net-pci,netdev=n0,mac={MAC},bootindex=1"]
    screen = lab.power_on("-m", "128", "-machine", "graphics=off", "-boot", "reboot-timeout=200", *card)
    assert f"MARK {MAC}" in screen
    assert "SERIAL LAB-SN-42" in screen
    assert lab.service.wait_for_log(r"GET /ipxe\?mac=52%3A54%3A00%3A1e%3A00%3A01&serial=LAB-SN-42&uuid=\S+ .* 200 ")


def test_a_uefi_machine_gets_its_answer_from_power_on(lab: Lab) -> None:
    """The firmware's own PXE loads iPXE by TFTP, which asks again."""
    code = file_of("/usr/share/OVMF/OVMF_CODE.fd", "ovmf")
    file_of("/usr/lib/ipxe/ipxe.efi", "ipxe")
    variables = lab.scratch / "vars.fd"
    shutil.copyfile("/usr/share/OVMF/OVMF_VARS.fd", variables)
    flash = [
        "-drive",
        f"if=pflash,format=raw,readonly=on,file={code}",
        "-drive",
        f"if=pflash,format=raw,file={variables}",
    ]
    card = ["-device", f"virtio-net-pci,netdev=n0,mac={MAC},romfile=,bootindex=1"]
    screen = lab.power_on("-m", "512", "-machine", "q35", *flash, *card)
    assert f"MARK {MAC}" in screen
    assert lab.service.wait_for_log(r"GET /ipxe\?mac=52\S+ .* 200 ")


def test_a_machine_that_nobody_knows_is_refused(lab: Lab) -> None:
    file_of("/usr/lib/ipxe/qemu/pxe-virtio.rom", "ipxe-qemu")
    card = ["-device", "virtio-net-pci,netdev=n0,mac=52:54:00:1e:00:02,bootindex=1"]
    screen = lab.power_on("-m", "128", "-machine", "graphics=off", "-boot", "reboot-timeout=200", *card)
    assert "MARK" not in screen
    assert lab.service.wait_for_log(r" 404 no document claims mac=52:54:00:1e:00:02")
