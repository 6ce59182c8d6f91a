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


def _grub(shown: Sequence[str]) -> list[str]:
    """``exit`` gives the boot back to the firmware."""
    return [*(f"# {line}" for line in shown), *(f"echo '{line}'" for line in shown), "exit"]


LOADERS: Mapping[str, Callable[[Sequence[str]], list[str]]] = MappingProxyType(
    {"ipxe": _ipxe, "pxelinux": _pxelinux, "grub": _grub}
)
"""The formats whose documents are a boot loader's, with the lines of a script that shows some lines."""
