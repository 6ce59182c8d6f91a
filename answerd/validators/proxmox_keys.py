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
class Key:
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

TABLES: Mapping[str, tuple[Key, ...]] = {
    "": (
        Key("global", _table, required=True),
        Key("network", _table, required=True),
        Key("disk-setup", _table, required=True),
        Key("post-installation-webhook", _table, since=(8, 2, 7)),
        Key("first-boot", _table, since=(8, 3, 0)),
    ),
    "global": (
        Key("country", values.country, required=True),
        Key("fqdn", _fqdn, required=True),
        Key("keyboard", values.one_of(*values.KEYBOARDS), required=True),
        Key("mailto", values.mailto, required=True),
        Key("timezone", values.timezone, required=True),
        Key("root-password", values.string, snake=True),
        Key("root-password-hashed", values.string, since=(8, 2, 7), snake=True),
        Key("reboot-on-error", values.boolean, snake=True),
        Key("reboot-mode", values.one_of("reboot", "power-off"), since=(8, 4, 3)),
        Key("root-ssh-keys", values.strings, snake=True),
        Key("subscription-key", values.subscription_key, since=(9, 2, 0)),
    ),
    "global.fqdn": (
        Key("source", values.one_of("from-dhcp")),
        Key("domain", values.domain),
    ),
    "network": (
        Key("source", values.one_of("from-dhcp", "from-answer")),
        Key("cidr", values.cidr),
        Key("dns", values.address),
        Key("gateway", values.address),
        Key("filter", values.globs),
        Key("interface-name-pinning", _table, since=(9, 1, 0)),
    ),
    "network.interface-name-pinning": (
        Key("enabled", values.boolean, required=True),
        Key("mapping", values.pinned_names),
    ),
    "disk-setup": (
        Key("filesystem", values.one_of(*FILESYSTEM_TABLES), required=True),
        Key("disk-list", values.disks, snake=True),
        Key("filter", values.globs),
        Key("filter-match", values.one_of("any", "all"), snake=True),
        Key("zfs", _table),
        Key("lvm", _table),
        Key("btrfs", _table),
    ),
    "disk-setup.zfs": (
        Key("raid", _raid(*ZFS_LEVELS), required=True),
        Key("ashift", values.integer(9, 16)),
        Key("arc-max", values.integer(64), snake=True),
        Key("checksum", values.one_of("on", "fletcher4", "sha256")),
        Key("compress", values.one_of("on", "off", "lzjb", "lz4", "zle", "gzip", "zstd")),
        Key("copies", values.integer(1, 3)),
        Key("hdsize", values.number(2)),
    ),
    "disk-setup.lvm": (
        Key("hdsize", values.number(2)),
        Key("swapsize", values.number(0)),
        Key("maxroot", values.number(2)),
        Key("maxvz", values.number(0)),
        Key("minfree", values.number(0)),
    ),
    "disk-setup.btrfs": (
        Key("raid", _raid(*BTRFS_LEVELS), required=True),
        Key("compress", values.one_of("on", "off", "zlib", "lzo", "zstd"), since=(8, 2, 7)),
        Key("hdsize", values.number(2)),
    ),
    "post-installation-webhook": (
        Key("url", values.url, required=True),
        Key("cert-fingerprint", values.fingerprint, alias=True),
        Key("auth-token", values.string, since=(9, 2, 0), alias=True),
    ),
    "first-boot": (
        Key("source", values.one_of("from-url", "from-iso"), required=True),
        Key("ordering", values.one_of("before-network", "network-online", "fully-up")),
        Key("url", values.url),
        Key("cert-fingerprint", values.fingerprint, alias=True),
    ),
}
"""Path of a table to its keys, parents before their children. Every table refuses keys that are not here."""
