"""The rules between the keys of a Proxmox answer.

Each rule reads a `ProxmoxAnswer` and adds remarks. A key that is wrong by itself takes no part, so that one mistake is
reported once.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from answerd.identity import brief
from answerd.validators import proxmox_values as values
from answerd.validators.proxmox_keys import BTRFS_LEVELS, FILESYSTEM_TABLES, ZFS_LEVELS
from answerd.validators.proxmox_release import (
    EMPTY_DOMAIN_SINCE,
    EVEN_RAID10_SINCE,
    PASSWORD_LIMIT_SINCE,
    PRODUCTS,
    SOURCE_REQUIRED_SINCE,
    SWAP_LIMIT_SINCE,
    UPPER_RAID_SINCE,
    Release,
    Since,
)
from answerd.validators.verdict import Remarks

PASSWORD_BYTES = range(8, 65)


@dataclass(frozen=True)
class AnswerTable:
    """A table as the rules see it: the names of its keys, and the values of those that are right by themselves."""

    path: str
    present: frozenset[str] = frozenset()
    good: Mapping[str, Any] = field(default_factory=dict)

    def at(self, name: str) -> str:
        """Return the dotted path of a key."""
        return f"{self.path}.{name}" if self.path else name

    def get(self, name: str) -> Any:
        """Return the key's value, None when it is absent or wrong by itself."""
        return self.good.get(name)


@dataclass(frozen=True)
class ProxmoxAnswer:
    """The tables of a document, and which installer reads it. A table that the document lacks is empty."""

    tables: Mapping[str, AnswerTable]
    release: Release
    product: str | None

    def __getitem__(self, path: str) -> AnswerTable:
        return self.tables[path]


Rule = Callable[[ProxmoxAnswer, Remarks], None]


def _passwords(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    table = answer["global"]
    plain, hashed = "root-password" in table.present, "root-password-hashed" in table.present
    if "global" in answer[""].good and not plain and not hashed:
        remarks.refuse(
            "one of global.root-password and global.root-password-hashed must be set", "global.root-password"
        )
    if plain and hashed:
        message = "global.root-password and global.root-password-hashed cannot be set at the same time"
        remarks.refuse(message, "global.root-password")
    if (password := table.get("root-password")) is not None:
        _plain_password(password, answer.release, remarks)
    if (crypt := table.get("root-password-hashed")) is not None and not values.looks_hashed(crypt):
        where = "global.root-password-hashed"
        remarks.warn(f"{where}: does not look like a crypt(3) hash ($6$…): no one could log in", where)


def _plain_password(password: str, release: Release, remarks: Remarks) -> None:
    """Judge the length of a password in bytes. No message repeats the password."""
    where = "global.root-password"
    remarks.warn(f"{where}: a password in plain text; global.root-password-hashed takes its crypt(3) hash", where)
    size = len(password.encode("utf-8"))
    rule = f"must have at least {PASSWORD_BYTES.start} bytes"
    if size >= PASSWORD_BYTES.stop:
        remarks.warn(f"{where}: is long; Proxmox tools take at most {PASSWORD_BYTES.stop - 1} bytes", where)
    elif not size:
        remarks.refuse(f"{where}: is empty", where)
    elif size < PASSWORD_BYTES.start and release.knows(PASSWORD_LIMIT_SINCE):
        remarks.refuse(f"{where}: {rule}", where)
    elif size < PASSWORD_BYTES.start:
        remarks.warn(f"{where}: {rule}, from 8.4 on", where)


def _ssh_keys(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    for place, key in enumerate(answer["global"].get("root-ssh-keys") or (), 1):
        if not re.search(r"(?:^|\s)(?:ssh|ecdsa|sk)-[a-z0-9@.-]+\s+[A-Za-z0-9+/]{8}", key):
            where = "global.root-ssh-keys"
            remarks.warn(f"{where}: entry {place} does not look like a public key (ssh-ed25519 AAAA…)", where)


def _timezone(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    zone, where = answer["global"].get("timezone"), "global.timezone"
    if zone is None:
        return
    if values.is_zone_alias(zone):
        remarks.refuse(f"{where}: is an alias, which the installer refuses: use the zone's own name (or 'UTC')", where)
    elif doubt := values.zone_doubt(zone):
        remarks.warn(f"{where}: {doubt}", where)


def _fqdn_table(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    if not isinstance(answer["global"].get("fqdn"), dict):
        return
    since: Since = (8, 4, 3)
    known = answer.release.knows(since)
    if known is False:
        remarks.refuse(
            f"global.fqdn: the installer of {answer.release} takes only a string (a table since 8.4.3)", "global.fqdn"
        )
    elif known is None:
        remarks.warn(f"global.fqdn: a table needs the package 8.4.3 or later of {answer.release}", "global.fqdn")
    if answer["global.fqdn"].get("domain") == "" and not answer.release.knows(EMPTY_DOMAIN_SINCE):
        where = "global.fqdn.domain"
        remarks.refuse(f"{where}: empty means none only since 9.0.5; leave the key out", where)


def _subscription(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    key, product = answer["global"].get("subscription-key"), answer.product
    if key is not None and product is not None and not key.startswith(product):
        where = "global.subscription-key"
        remarks.refuse(f"{where}: is a key of another product than {PRODUCTS[product]}", where)


STATIC_KEYS = ("cidr", "dns", "gateway", "filter")
"""Keys that from-answer needs and from-dhcp refuses."""


def _network_source(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    table = answer["network"]
    if "network" not in answer[""].good:
        return
    source = table.get("source")
    if "source" not in table.present:
        if answer.release.knows(SOURCE_REQUIRED_SINCE):
            remarks.refuse(
                "network.source is missing: the installer requires it since 9.2 (from-dhcp or from-answer)",
                "network.source",
            )
            return
        source = "from-dhcp"
        remarks.warn("network.source is missing: from-dhcp before 9.2, refused since", "network.source")
    for name in STATIC_KEYS:
        where = table.at(name)
        if source == "from-dhcp" and name in table.present:
            remarks.refuse(f'{where}: the installer refuses it beside source = "from-dhcp"', where)
        if source == "from-answer" and name not in table.present:
            remarks.refuse(f'{where} is missing: source = "from-answer" needs it', where)


def _addresses(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    """Judge the gateway: it must be in the network of cidr, and of its family. The installer does not check this."""
    table = answer["network"]
    if (written := table.get("cidr")) is None:
        return
    interface = ipaddress.ip_interface(written)
    if (dns := table.get("dns")) and ipaddress.ip_address(dns).version != interface.version:
        remarks.warn("network.dns: is of another address family than network.cidr", "network.dns")
    _host_part(interface, remarks)
    if gateway := table.get("gateway"):
        _gateway(ipaddress.ip_address(gateway), interface, remarks)


def _host_part(interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface, remarks: Remarks) -> None:
    network = interface.network
    if interface.version != 4 or network.prefixlen > 30:  # noqa: PLR2004 - /31 and /32 have neither
        return
    names = {network.network_address: "network", network.broadcast_address: "broadcast"}
    if name := names.get(interface.ip):
        remarks.warn(f"network.cidr: is the {name} address of its network, not a host's", "network.cidr")


def _gateway(
    gateway: ipaddress.IPv4Address | ipaddress.IPv6Address,
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface,
    remarks: Remarks,
) -> None:
    where, network = "network.gateway", interface.network
    if gateway.version != interface.version:
        remarks.refuse(f"{where}: is of another address family than network.cidr", where)
    elif gateway == interface.ip:
        remarks.warn(f"{where}: is the machine's own address", where)
    elif gateway in network or (gateway.version == 6 and gateway.is_link_local):  # noqa: PLR2004
        return
    elif network.num_addresses == 1:
        remarks.warn(f"{where}: cannot be in the single-host network of network.cidr", where)
    else:
        remarks.refuse(f"{where}: is outside the network of network.cidr", where)


def _filter_names(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    for table in (answer["network"], answer["disk-setup"]):
        for name in table.get("filter") or ():
            if name != name.upper():
                where = table.at("filter")
                remarks.warn(f"{where}: the key {brief(name)!r} is in lower case, udev properties are not", where)


def _disk_choice(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    table = answer["disk-setup"]
    if "disk-setup" not in answer[""].good:
        return
    empty_list = table.get("disk-list") == []
    listed, filtered = "disk-list" in table.present and not empty_list, "filter" in table.present
    if listed and filtered:
        remarks.refuse("disk-setup.disk-list and disk-setup.filter cannot both be set", "disk-setup.filter")
    if not listed and not filtered:
        remarks.refuse("one of disk-setup.disk-list and disk-setup.filter must be set", "disk-setup.disk-list")
    if "filter-match" not in table.present:
        return
    where = "disk-setup.filter-match"
    if not filtered:
        remarks.warn(f"{where}: means nothing without disk-setup.filter", where)
    elif table.get("filesystem") in ("ext4", "xfs"):
        remarks.warn(f"{where}: is ignored for ext4 and xfs, the first disk that any filter matches is taken", where)


def _disk_count(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    """Judge how many disks are listed; what a filter finds is known on the machine only."""
    table, where = answer["disk-setup"], "disk-setup.disk-list"
    listed, filesystem = table.get("disk-list"), table.get("filesystem")
    if not listed or filesystem is None:
        return
    if filesystem in ("ext4", "xfs"):
        if len(listed) != 1:
            remarks.refuse(f"{where}: {filesystem} takes exactly one disk, got {len(listed)}", where)
        return
    level = str(answer[f"disk-setup.{filesystem}"].get("raid")).lower()
    least = (ZFS_LEVELS if filesystem == "zfs" else BTRFS_LEVELS).get(level)
    if least is None:
        return
    if len(listed) < least:
        remarks.refuse(f"{where}: {filesystem} {level} needs at least {least} disks, got {len(listed)}", where)
    elif level == "raid10" and len(listed) % 2:
        message = f"{where}: {filesystem} raid10 needs an even number of disks, got {len(listed)}"
        _refuse_since(EVEN_RAID10_SINCE, message, where, answer, remarks)


def _refuse_since(since: Since, message: str, where: str, answer: ProxmoxAnswer, remarks: Remarks) -> None:
    """Refuse what the installer refuses since a release; warn where the release is older."""
    add = remarks.warn if answer.release.knows(since) is False else remarks.refuse
    add(message, where)


def _filesystem_table(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    table = answer["disk-setup"]
    filesystem = table.get("filesystem")
    if filesystem is None:
        return
    own = FILESYSTEM_TABLES[filesystem]
    for other in ("lvm", "zfs", "btrfs"):
        if other != own and other in table.present:
            where = table.at(other)
            remarks.refuse(f"{where}: filesystem is {filesystem}; make sure only '{own}' options are set", where)
    if own != "lvm" and own not in table.present:
        where = f"disk-setup.{own}.raid"
        remarks.refuse(f"{where} is missing: {filesystem} needs it", where)
    if filesystem == "btrfs" and answer.product not in (None, "pve"):
        remarks.refuse(
            f"disk-setup.filesystem: {PRODUCTS[str(answer.product)]} has no btrfs, only Proxmox VE has",
            "disk-setup.filesystem",
        )


def _raid_case(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    known = answer.release.knows(UPPER_RAID_SINCE)
    for path in ("disk-setup.zfs", "disk-setup.btrfs"):
        level, where = answer[path].get("raid"), f"{path}.raid"
        if level is None or level.islower() or known:
            continue
        if known is False:
            remarks.refuse(
                f"{where}: the installer of {answer.release} takes only lower case: {level.lower()!r}", where
            )
        else:
            remarks.warn(f"{where}: upper case needs the package 8.3.3 or later; write {level.lower()!r}", where)


def _swap(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    table, where = answer["disk-setup.lvm"], "disk-setup.lvm.swapsize"
    swapsize, hdsize = table.get("swapsize"), table.get("hdsize")
    if swapsize is None or hdsize is None or swapsize <= hdsize / 2:
        return
    message = f"{where}: is more than half of hdsize"
    _refuse_since(SWAP_LIMIT_SINCE, message, where, answer, remarks)


def _pinning(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    table = answer["network.interface-name-pinning"]
    if table.get("mapping") and table.get("enabled") is False:
        where = table.at("mapping")
        remarks.warn(f"{where}: means nothing while enabled = false", where)


def _first_boot(answer: ProxmoxAnswer, remarks: Remarks) -> None:
    table, where = answer["first-boot"], "first-boot.url"
    source = table.get("source")
    if source == "from-url" and "url" not in table.present:
        remarks.refuse(f'{where} is missing: source = "from-url" needs it', where)
    if source == "from-iso" and "url" in table.present:
        remarks.warn(f'{where}: means nothing beside source = "from-iso"', where)


RULES: tuple[Rule, ...] = (
    _passwords,
    _ssh_keys,
    _timezone,
    _fqdn_table,
    _subscription,
    _network_source,
    _addresses,
    _pinning,
    _filesystem_table,
    _disk_choice,
    _filter_names,
    _disk_count,
    _raid_case,
    _swap,
    _first_boot,
)
