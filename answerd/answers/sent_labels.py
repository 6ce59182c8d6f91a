"""The labels that installers and boot loaders send (docs/templates.md#labels-that-installers-send).

One that is not in the table, and that no document's match and no inventory's column names, is probably misspelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _labels(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PROXMOX = (
    "$schema.version product.fullname product.product product.enable_btrfs iso.release iso.isorelease "
    "dmi.baseboard.serial dmi.baseboard.name dmi.baseboard.asset_tag dmi.chassis.sku dmi.chassis.asset_tag "
    "dmi.chassis.serial dmi.system.sku dmi.system.serial dmi.system.uuid dmi.system.name "
    "network_interfaces.N.link network_interfaces.N.mac"
)

PROXMOX: Final = "Proxmox"
BY_CUSTOM: Final = "boot scripts, by custom"
"""What boot scripts may send. No client does so by itself."""

LABELS_SENT_BY: Mapping[str, frozenset[str]] = {
    "every request": _labels("path file segment peer user_agent"),
    "the service": _labels("machine group state report service.fingerprint"),
    "Anaconda, with `inst.ks.sendmac` and `inst.ks.sendsn`": _labels("mac serial"),
    PROXMOX: _labels(_PROXMOX) | {path.rpartition(".")[2] for path in _labels(_PROXMOX)},
    "Talos": _labels("code hostname mac uuid"),
    "iPXE, in a URL with its settings": _labels(
        "arch asset buildarch busid chip dhcp-server dns domain filename gateway hostname ip mac manufacturer memsize "
        "netmask next-server platform product root-path serial undef user-class username uuid version"
    ),
    BY_CUSTOM: _labels(
        "asset_tag disk env environment fqdn host id location name node os profile rack role room site user vendor"
    ),
}
"""The labels, case-folded, by the client that sends them. ``N`` is a position in a list."""

SENT_LABELS: frozenset[str] = frozenset().union(*LABELS_SENT_BY.values())


def is_sent_by_itself(label: str, extension: str) -> bool:
    """Return whether a client that asks for a format is known to send a case-folded label, without a boot script that
    was written to send it."""
    others = {BY_CUSTOM} if extension == "toml" else {BY_CUSTOM, PROXMOX}
    return any(label in labels for client, labels in LABELS_SENT_BY.items() if client not in others)
