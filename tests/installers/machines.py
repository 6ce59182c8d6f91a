"""Machines in QEMU, emulated without hardware support: iPXE or a kernel, a disk, a network card and a serial port.

A machine is ended by its process id. All waiting is for a condition. How long depends on what the machine did, not on
what else runs here: the limit is in seconds of a processor. A machine that waits for ever uses few of them, so there is
a limit of time too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pytest

from tests.installers.conftest import OUT_OF_TIME, file_of, program
from tests.support.waiting import PATIENCE

LOADER_SECONDS = 150.0
"""Of a processor, from power-on to the end of iPXE's script: BIOS needs 5 to 10, UEFI 15 to 25."""

INSTALLER_SECONDS = 300.0
"""Of a processor, from power-on to debian-installer's last report: 60 to 130."""

TIME_PER_SECOND = 3.0
"""So much longer a machine may take than it may use a processor."""


Processor = Literal["x86_64", "aarch64"]

_PACKAGES: dict[Processor, str] = {"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}
_COMMON = ("-accel", "tcg", "-display", "none", "-vga", "none", "-monitor", "none")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]")
_SHOWN = 1500
_LOOK_SECONDS = 0.2


class Machine:
    """A running machine; leaving it ends the process. ``inside`` is what QEMU is started by: a network namespace."""

    def __init__(
        self, scratch: Path, *arguments: str | Path, inside: Sequence[str] = (), processor: Processor = "x86_64"
    ) -> None:
        self._screen = scratch / "serial"
        self._screen.write_bytes(b"")
        qemu = program(f"qemu-system-{processor}", _PACKAGES[processor])
        own = [str(argument) for argument in arguments]
        command = [*inside, "nice", "-n", "5", qemu, *_COMMON, "-serial", f"file:{self._screen}", *own]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE)

    @property
    def said(self) -> str:
        """What its serial port said so far, in one line: the firmware breaks lines at the edge of its screen."""
        return _ESCAPES.sub("", self._screen.read_text("utf-8", errors="replace"))

    def wait_for(self, what: str, happened: Callable[[], object], seconds: float = LOADER_SECONDS) -> None:
        """Wait until ``happened``. The failure names ``what`` and shows the end of the screen."""
        began, used = time.monotonic(), self._processor_seconds()
        while not happened():
            ended = self.process.poll()
            if ended is not None and not happened():
                raise AssertionError(f"{what} never came, QEMU ended with {ended}; {self._last_words()}")
            waited, worked = time.monotonic() - began, self._processor_seconds() - used
            if worked > seconds or waited > seconds * TIME_PER_SECOND:
                state = f"{waited:.0f} s, {worked:.0f} s of a processor"
                raise AssertionError(f"{what} {OUT_OF_TIME} {state}; {self._last_words()}")
            time.sleep(_LOOK_SECONDS)

    def _processor_seconds(self) -> float:
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it is gone
            return 0.0
        user, system = fields[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _last_words(self) -> str:
        return f"the machine said: …{self.said[-_SHOWN:]}"

    def wait_for_end(self, seconds: float = LOADER_SECONDS) -> str:
        """Wait until it has switched itself off or, with -no-reboot, begins again. Return what it said."""
        self.wait_for("the end of the machine", lambda: self.process.poll() is not None, seconds)
        return self.said


def user_network(mac: str, boot_file: str = "", *, rom: str | None = None, first: bool = True) -> list[str]:
    """A card in QEMU's own network, where 10.0.2.2 is this host's 127.0.0.1. ``rom``: "" for a card without iPXE."""
    card = f"virtio-net-pci,netdev=n0,mac={mac}" + (",bootindex=1" if first else "")
    if rom is not None:
        card += f",romfile={rom}"
    return ["-netdev", "user,id=n0" + (f",bootfile={boot_file}" if boot_file else ""), "-device", card]


def bios() -> list[str]:
    """A machine with BIOS whose screen is the serial port. What fails to boot begins again."""
    file_of("/usr/lib/ipxe/qemu/pxe-virtio.rom", "ipxe-qemu")
    return ["-m", "128", "-machine", "graphics=off", "-boot", "reboot-timeout=200"]


def uefi(scratch: Path) -> list[str]:
    """A machine with UEFI and variables of its own."""
    code = file_of("/usr/share/OVMF/OVMF_CODE.fd", "ovmf")
    variables = scratch / "variables.fd"
    if not variables.exists():
        shutil.copyfile("/usr/share/OVMF/OVMF_VARS.fd", variables)
    flash = [f"if=pflash,format=raw,readonly=on,file={code}", f"if=pflash,format=raw,file={variables}"]
    return ["-m", "512", "-machine", "q35", *(word for drive in flash for word in ("-drive", drive))]


def secure_boot(scratch: Path) -> list[str]:
    """A machine with UEFI that starts only what Microsoft has signed, as those that are bought."""
    code = file_of("/usr/share/OVMF/OVMF_CODE_4M.secboot.fd", "ovmf")
    variables = scratch / "variables.fd"
    shutil.copyfile(file_of("/usr/share/OVMF/OVMF_VARS_4M.ms.fd", "ovmf"), variables)
    flash = [f"if=pflash,unit=0,format=raw,readonly=on,file={code}", f"if=pflash,unit=1,format=raw,file={variables}"]
    drives = [word for drive in flash for word in ("-drive", drive)]
    guarded = ["-global", "driver=cfi.pflash01,property=secure,value=on"]  # only the firmware writes its variables
    return ["-m", "1024", "-machine", "q35,smm=on", *guarded, *drives]


def arm64() -> list[str]:
    """A machine with UEFI and a processor of another kind."""
    code = file_of("/usr/share/qemu-efi-aarch64/QEMU_EFI.fd", "qemu-efi-aarch64")
    return ["-m", "512", "-machine", "virt", "-cpu", "cortex-a57", "-bios", str(code)]


def http_only() -> list[str]:
    """A setting of the firmware, that it boots from the network by HTTP only."""
    return [word for number in "46" for word in ("-fw_cfg", f"name=opt/org.tianocore/IPv{number}PXESupport,string=no")]


def uefi_with_stick(scratch: Path) -> list[str]:
    """The same with iPXE on a USB stick, first in the boot order: firmware of its own has no part in the network."""
    loader = file_of("/usr/lib/ipxe/ipxe.efi", "ipxe")
    folder = scratch / "stick" / "EFI" / "BOOT"
    folder.mkdir(parents=True)
    shutil.copyfile(loader, folder / "BOOTX64.EFI")
    stick = f"file=fat:rw:{scratch / 'stick'},format=raw,if=none,id=s0"
    return [*uefi(scratch), "-drive", stick, "-device", "virtio-blk-pci,drive=s0,bootindex=1"]


def identity(serial: str = "LAB-SN-42", uuid: str = "12345678-1234-5678-9abc-def012345678") -> list[str]:
    """What its firmware says of itself."""
    return ["-smbios", f"type=1,serial={serial},uuid={uuid},product=Blade 9000"]


def need_tun() -> None:
    """Skip the test where no network card can be made."""
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("/dev/net/tun is not there")


MEMORY = "1024"
"""Megabytes. With less the installer shows a dialog that waits."""


def console_of(text: str) -> str:
    """A document for iPXE whose kernel talks to the serial port."""
    assert text.count(" auto=true ") == 1
    return text.replace(" auto=true ", " console=ttyS0 auto=true ")
