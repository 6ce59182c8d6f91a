"""A machine whose boot order begins with the network, in QEMU: it installs exactly once, as docs/install-once.md says.

Its "installer" is the boot loader's script, which reports by itself, and its disk says that it was booted. The whole
chain, with debian-installer in between, is the last test of test_power_on.py.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.installers.conftest import file_of, program
from tests.support.service import Service, run

MAC = "52:54:00:1e:00:01"
GATEWAY = "10.0.2.2"
"""QEMU's user network has the loopback interface of this machine there."""

BOOT_SECONDS = 900.0
"""10 s on an idle machine; much more on a busy one."""

SCRIPT = f"""#!ipxe
# answer: member {MAC}
# answer: once
echo MARK installing
imgfetch --name r {{{{ report }}}}/installed && imgfree r ||
sleep 1
reboot
"""


def boot_sector() -> bytes:
    """A disk that says that it was booted, and resets the machine."""
    text = b"MARK from disk" + 60 * b" " + b"\r\n\0"  # the last that is written before a reset is lost
    code = bytes.fromhex("31c0 8ed8 be 1c7c ac 84c0 74 09 b40e bb0700 cd10 ebf2 b0fe e664 f4 ebfd")
    assert len(code) == 0x1C, hex(len(code))
    return (code + text).ljust(510, b"\0") + b"\x55\xaa"


@dataclass(frozen=True)
class Machine:
    """A machine with a disk, and the service that it asks."""

    service: Service
    scratch: Path

    @property
    def url(self) -> str:
        """Where the machine finds the service."""
        assert self.service.address
        return f"http://{GATEWAY}:{self.service.address[1]}"

    def boot(self) -> str:
        """Switch it on until it resets; what its serial port said, in one line."""
        # A boot file with "://" in its name would be a preseed for debian-installer.
        tftp = self.scratch / "tftp"
        tftp.mkdir(exist_ok=True)
        (tftp / "boot.ipxe").write_text(
            f"#!ipxe\nchain {self.url}/ipxe?mac=${{netX/mac}}&serial=${{serial:uristring}} || exit 1\n"
        )
        screen = self.scratch / "serial"
        qemu = ["qemu-system-x86_64", "-accel", "tcg", "-no-reboot", "-m", "128", "-machine", "graphics=off"]
        qemu += ["-display", "none", "-vga", "none", "-monitor", "none", "-serial", f"file:{screen}"]
        qemu += ["-smbios", "type=1,serial=LAB-SN-42", "-netdev", f"user,id=n0,tftp={tftp},bootfile=boot.ipxe"]
        qemu += ["-device", f"virtio-net-pci,netdev=n0,mac={MAC},bootindex=1"]
        qemu += ["-drive", f"file={self.scratch / 'disk'},format=raw,if=none,id=d0"]
        qemu += ["-device", "virtio-blk-pci,drive=d0,bootindex=2"]
        subprocess.run(qemu, stdin=subprocess.DEVNULL, timeout=BOOT_SECONDS, check=False)
        text = screen.read_text("utf-8", errors="replace")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]", "", text)


@pytest.fixture
def machine(serving: Callable[..., Service], tmp_path: Path) -> Machine:
    """A machine and the documents of the page."""
    program("qemu-system-x86_64", "qemu-system-x86")
    file_of("/usr/lib/ipxe/qemu/pxe-virtio.rom", "ipxe-qemu")
    (tmp_path / "disk").write_bytes(boot_sector().ljust(1_048_576, b"\0"))
    settings = {"SERVICE_STATE_PATH": tmp_path / "state.db"}
    return Machine(serving({"groups/rack.ipxe": SCRIPT}, **settings), tmp_path)


def answerd(machine: Machine, *words: str) -> str:
    """What a command of the operator says."""
    states, answers = machine.scratch / "state.db", machine.scratch / "answers"
    done = run(*words, SERVICE_STATE_PATH=states, SERVICE_ANSWERS_DIR=answers)
    return (done.stdout + done.stderr).decode()


def test_a_machine_that_boots_from_the_network_first_installs_exactly_once(machine: Machine) -> None:
    assert "MARK installing" in machine.boot()
    assert re.search(rf"{MAC}\s+installed", answerd(machine, "installs"))
    for _ in range(2):
        screen = machine.boot()
        assert "MARK installing" not in screen
        assert f"{MAC} is installed since" in screen
        assert "MARK from disk" in screen
    assert len([line for line in machine.service.log if "reported installed" in line]) == 1
    assert f"{MAC} armed, also serial LAB-SN-42, seen with it on " in answerd(machine, "arm", MAC)
    assert "MARK installing" in machine.boot()
    assert "MARK from disk" in machine.boot()
