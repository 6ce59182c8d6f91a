"""The scripts that boot loaders get in place of a refused document: they show why, and go on with the next boot device.

Rules: docs/install-once.md#what-a-refused-machine-gets. The lines that are shown are plain words: they hold only
letters, digits, blanks and ``._:@+?-``, because quotation marks and ``;`` mean something to each of these loaders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType


def _ipxe(shown: Sequence[str]) -> list[str]:
    """``exit 1`` goes on with the next boot device on BIOS and UEFI."""
    return ["#!ipxe", *(f"echo {line}" for line in shown), "exit 1"]


def _pxelinux(shown: Sequence[str]) -> list[str]:
    """-1 gives the boot back to the firmware, which tries its next device. ``SAY`` is shown as the file is read."""
    comments = [f"# {line}" for line in shown]
    return [*comments, *(f"SAY {line}" for line in shown), "DEFAULT disk", "LABEL disk", "  LOCALBOOT -1"]


GRUB_FROM_DISK = """\
if [ "$grub_platform" = efi ]; then
  if [ "$grub_cpu" = arm64 ]; then set arch=aa64; else set arch=x64; fi
  for file in debian/shim$arch ubuntu/shim$arch redhat/shim$arch rocky/shim$arch almalinux/shim$arch centos/shim$arch \\
      fedora/shim$arch opensuse/shim sles/shim Microsoft/Boot/bootmgfw BOOT/BOOT$arch; do
    if search --no-floppy --set=root --file /EFI/$file.efi; then
      chainloader /EFI/$file.efi
      boot
    fi
  done
fi
exit
"""
"""What starts the system on the disk. ``exit`` is enough for a BIOS; UEFI firmware may open its menu and wait there, so
the system's own loader is looked for before. That of ``BOOT`` comes last: shim begins the machine again from there."""


def _grub(shown: Sequence[str]) -> list[str]:
    return [*(f"# {line}" for line in shown), *(f"echo '{line}'" for line in shown), *GRUB_FROM_DISK.splitlines()]


LOADERS: Mapping[str, Callable[[Sequence[str]], list[str]]] = MappingProxyType(
    {"ipxe": _ipxe, "pxelinux": _pxelinux, "grub": _grub}
)
"""The formats whose documents are a boot loader's, with the lines of a script that shows some lines."""
