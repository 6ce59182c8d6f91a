"""Names that the requests of many machines carry: a machine that is called so is taken for all of them
(docs/selection.md#names-that-many-machines-send).

Not a shared value (`answerd.shared_values`), which denotes nobody: a request may carry these under any label, so
they stay identities, and `answerd check` reports what is named like one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from answerd.formats import ALIASES
from answerd.identity import identity_of


class CommonName(NamedTuple):
    """Who sends a name. ``is_sure``: with no boot script that was written to send it."""

    sent_by: str
    is_sure: bool


def _identities(*names: str) -> frozenset[str]:
    return frozenset(map(identity_of, names))


_SENT_BY: Final[Mapping[str, frozenset[str]]] = {
    "the product that Proxmox's installers send": _identities(
        "Proxmox VE", "Proxmox Backup Server", "Proxmox Mail Gateway", "Proxmox Datacenter Manager"
    ),
    "an architecture, which boot loaders send": _identities(
        *("i386", "i486", "i586", "i686", "x86", "x86-64", "x64", "amd64", "ia32", "ia64", "riscv32", "riscv64"),
        *("arm", "arm32", "armhf", "armv7l", "arm64", "aa64", "aarch64", "loong64", "loongarch64", "ppc64", "ppc64el"),
        *("ppc64le", "s390x"),
    ),
    "a platform, which boot loaders send": _identities("pcbios", "bios", "efi", "uefi"),
    "the file that installers and boot loaders ask for": _identities(
        *("user-data", "meta-data", "vendor-data", "network-config", "autoinst", "autounattend", "autoexec", "boot"),
    ),
}
"""Names in identity form, by what they are."""

_BY_SCRIPTS: Final = _identities("linux", "anaconda") | {identity_of(alias) for alias in ALIASES}
_OF_SCRIPTS: Final = CommonName("what boot scripts may send for many machines (os=ubuntu)", is_sure=False)

_INTERFACE: Final = re.compile(
    r"(?:eth|em)[0-9]+|(?:en|ib|sl|wl|ww)(?:[do][0-9]+|s[0-9]+|(?:p[0-9]+)+s[0-9]+)(?:np[0-9]+|[cdfinpuv][0-9]+)*"
)
"""Linux' names of network interfaces in identity form, but for those that are made of a MAC address (``enx…``)."""
_OF_INTERFACES: Final = CommonName("a network interface's name, which Proxmox's installers send", is_sure=True)

_NAMES: Final[Mapping[str, CommonName]] = {
    **dict.fromkeys(_BY_SCRIPTS, _OF_SCRIPTS),
    **{name: CommonName(what, is_sure=True) for what, names in _SENT_BY.items() for name in names},
}


def common_name(identity: str) -> CommonName | None:
    """Return who sends a name, given as an identity, for many machines; None for any other name."""
    found = _NAMES.get(identity)
    if found is None and _INTERFACE.fullmatch(identity):
        return _OF_INTERFACES
    return found
