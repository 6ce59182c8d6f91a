"""The keys of ``answer.toml``: what each is by itself, and since which release of the installer it exists.

The facts were read from pve-installer 9.2.7 and the crate proxmox-installer-types. What must hold between keys is in
`answerd.validators.proxmox_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from answerd.validators import proxmox_values as values
from answerd.validators.proxmox_release import FIRST_RELEASE, Since


@dataclass(frozen=True)
class KeyRule:
    """A key of a table. ``snake`` marks the keys that 8.2 and 8.3 know only with ``_`` (later releases take both)."""

    name: str
    check: values.Check
    required: bool = False
    since: Since = FIRST_RELEASE
    snake: bool = False
    alias: bool = False
    """Whether every release also takes the ``_`` spelling."""

    @property
    def snake_name(self) -> str:
        """The name with ``_``."""
        return self.name.replace("-", "_")


def _table(value: Any) -> str | None:
    return None if isinstance(value, dict) else f"must be a table, not {values.kind(value)}"


def _fqdn(value: Any) -> str | None:
    if isinstance(value, dict):
        return None
    return values.fqdn(value) if isinstance(value, str) else f"must be a string or a table, not {values.kind(value)}"


def _raid(*levels: str) -> values.Check:
    """Accept these levels in lower or upper case; mixed case fails on the machine."""
    return values.one_of(*levels, *(level.upper() for level in levels))


ZFS_LEVELS: Mapping[str, int] = {"raid0": 1, "raid1": 2, "raid10": 4, "raidz-1": 3, "raidz-2": 4, "raidz-3": 5}
BTRFS_LEVELS: Mapping[str, int] = {"raid0": 1, "raid1": 2, "raid10": 4}
"""RAID level to the fewest disks it takes."""

FILESYSTEM_TABLES: Mapping[str, str] = {"ext4": "lvm", "xfs": "lvm", "zfs": "zfs", "btrfs": "btrfs"}
"""Filesystem to the only options table that may be set with it."""

TABLES: Mapping[str, tuple[KeyRule, ...]] = {
    "": (
        KeyRule("global", _table, required=True),
        KeyRule("network", _table, required=True),
        KeyRule("disk-setup", _table, required=True),
        KeyRule("post-installation-webhook", _table, since=(8, 2, 7)),
        KeyRule("first-boot", _table, since=(8, 3, 0)),
    ),
    "global": (
        KeyRule("country", values.country, required=True),
        KeyRule("fqdn", _fqdn, required=True),
        KeyRule("keyboard", values.one_of(*values.KEYBOARDS), required=True),
        KeyRule("mailto", values.mailto, required=True),
        KeyRule("timezone", values.timezone, required=True),
        KeyRule("root-password", values.string, snake=True),
        KeyRule("root-password-hashed", values.string, since=(8, 2, 7), snake=True),
        KeyRule("reboot-on-error", values.boolean, snake=True),
        KeyRule("reboot-mode", values.one_of("reboot", "power-off"), since=(8, 4, 3)),
        KeyRule("root-ssh-keys", values.strings, snake=True),
        KeyRule("subscription-key", values.subscription_key, since=(9, 2, 0)),
    ),
    "global.fqdn": (
        KeyRule("source", values.one_of("from-dhcp")),
        KeyRule("domain", values.domain),
    ),
    "network": (
        KeyRule("source", values.one_of("from-dhcp", "from-answer")),
        KeyRule("cidr", values.cidr),
        KeyRule("dns", values.address),
        KeyRule("gateway", values.address),
        KeyRule("filter", values.globs),
        KeyRule("interface-name-pinning", _table, since=(9, 1, 0)),
    ),
    "network.interface-name-pinning": (
        KeyRule("enabled", values.boolean, required=True),
        KeyRule("mapping", values.pinned_names),
    ),
    "disk-setup": (
        KeyRule("filesystem", values.one_of(*FILESYSTEM_TABLES), required=True),
        KeyRule("disk-list", values.disks, snake=True),
        KeyRule("filter", values.globs),
        KeyRule("filter-match", values.one_of("any", "all"), snake=True),
        KeyRule("zfs", _table),
        KeyRule("lvm", _table),
        KeyRule("btrfs", _table),
    ),
    "disk-setup.zfs": (
        KeyRule("raid", _raid(*ZFS_LEVELS), required=True),
        KeyRule("ashift", values.integer(9, 16)),
        KeyRule("arc-max", values.integer(64), snake=True),
        KeyRule("checksum", values.one_of("on", "fletcher4", "sha256")),
        KeyRule("compress", values.one_of("on", "off", "lzjb", "lz4", "zle", "gzip", "zstd")),
        KeyRule("copies", values.integer(1, 3)),
        KeyRule("hdsize", values.number(2)),
    ),
    "disk-setup.lvm": (
        KeyRule("hdsize", values.number(2)),
        KeyRule("swapsize", values.number(0)),
        KeyRule("maxroot", values.number(2)),
        KeyRule("maxvz", values.number(0)),
        KeyRule("minfree", values.number(0)),
    ),
    "disk-setup.btrfs": (
        KeyRule("raid", _raid(*BTRFS_LEVELS), required=True),
        KeyRule("compress", values.one_of("on", "off", "zlib", "lzo", "zstd"), since=(8, 2, 7)),
        KeyRule("hdsize", values.number(2)),
    ),
    "post-installation-webhook": (
        KeyRule("url", values.url, required=True),
        KeyRule("cert-fingerprint", values.fingerprint, alias=True),
        KeyRule("auth-token", values.string, since=(9, 2, 0), alias=True),
    ),
    "first-boot": (
        KeyRule("source", values.one_of("from-url", "from-iso"), required=True),
        KeyRule("ordering", values.one_of("before-network", "network-online", "fully-up")),
        KeyRule("url", values.url),
        KeyRule("cert-fingerprint", values.fingerprint, alias=True),
    ),
}
"""Path of a table to its keys, parents before their children. Every table refuses keys that are not here."""
