"""Disks that print a word on the serial port and begin the machine again: what an installed system is to firmware.

The program is a few instructions that are the same for BIOS and UEFI, but for the width of an operand.
"""

from __future__ import annotations

import struct
from pathlib import Path

WORD = "FROM-DISK"

SERIAL_PORT = 0x3F8
LINE_STATUS = 0x3FD
RESET_PORT = 0xCF9
FULL_RESET = 6

_SECTOR = 512
_PAGE = 0x1000
_DISK_BYTES = 1 << 20


def bios_disk(scratch: Path) -> list[str]:
    """A disk with a boot sector, second in the boot order."""
    code = _program(in_long_mode=False)
    sector = code.ljust(_SECTOR - 2, b"\0") + b"\x55\xaa"
    image = scratch / "disk.img"
    image.write_bytes(sector.ljust(_DISK_BYTES, b"\0"))
    return _second(f"file={image},format=raw")


def uefi_disk(scratch: Path) -> list[str]:
    """A disk with a FAT file system and the program that UEFI starts from one, second in the boot order."""
    folder = scratch / "disk" / "EFI" / "BOOT"
    folder.mkdir(parents=True)
    (folder / "BOOTX64.EFI").write_bytes(_portable_executable(_program(in_long_mode=True)))
    return _second(f"file=fat:rw:{scratch / 'disk'},format=raw")


def debian_disk(scratch: Path, shim: bytes, grub: bytes, suffix: str) -> list[str]:
    """A disk with shim and GRUB where Debian puts them, second in the boot order. GRUB says the word."""
    folder = scratch / "disk" / "EFI" / "debian"
    folder.mkdir(parents=True)
    (folder / f"shim{suffix}.efi").write_bytes(shim)
    (folder / f"grub{suffix}.efi").write_bytes(grub)
    (folder / "grub.cfg").write_text(f"echo {WORD}\nsleep 1\nreboot\n")
    drive = f"file=fat:rw:{scratch / 'disk'},format=raw,if=none,id=d0"
    return ["-drive", drive, "-device", "virtio-blk-pci,drive=d0,bootindex=2"]


def _second(drive: str) -> list[str]:
    return ["-drive", f"{drive},if=none,id=d0", "-device", "ide-hd,drive=d0,bootindex=2"]


def _program(*, in_long_mode: bool) -> bytes:
    narrow = b"\x66" if in_long_mode else b""  # the operand of these moves has 16 bits

    def port(number: int) -> bytes:
        return narrow + b"\xba" + struct.pack("<H", number)  # mov dx, number

    code = b""
    for letter in f"\r\n{WORD}\r\n".encode():
        code += port(LINE_STATUS) + b"\xec\xa8\x20\x74\xfb"  # in al, dx; test al, 0x20; jz back
        code += port(SERIAL_PORT) + bytes((0xB0, letter, 0xEE))  # mov al, letter; out dx, al
    code += port(RESET_PORT) + bytes((0xB0, FULL_RESET, 0xEE))
    return code + b"\xf4\xeb\xfd"  # hlt; jmp back


def _portable_executable(code: bytes) -> bytes:
    """An application for UEFI on x86-64: one section, which works wherever it is loaded."""
    raw = -(-len(code) // _SECTOR) * _SECTOR
    head = 0x40
    dos = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", head)
    machine, sections, optional_bytes, executable = 0x8664, 1, 112, 0x0022
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", machine, sections, 0, 0, 0, optional_bytes, executable)
    # magic, linker, sizes of code and data, entry, base of code
    optional = struct.pack("<HBBIIIII", 0x20B, 0, 0, raw, 0, 0, _PAGE, _PAGE)
    # base of the image, alignments, versions, size of image and headers, checksum, subsystem: application of UEFI
    optional += struct.pack("<QIIHHHHHHIIIIHH", 0, _PAGE, _SECTOR, 0, 0, 0, 0, 0, 0, 0, 2 * _PAGE, _SECTOR, 0, 10, 0)
    optional += struct.pack("<QQQQII", 0, 0, 0, 0, 0, 0)
    readable_code = 0x60000020
    section = b".text\0\0\0" + struct.pack("<IIIIIIHHI", len(code), _PAGE, raw, _SECTOR, 0, 0, 0, 0, readable_code)
    return (dos + coff + optional + section).ljust(_SECTOR, b"\0") + code.ljust(raw, b"\0")
