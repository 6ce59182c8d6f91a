"""The Proxmox answer schema: a good answer, one edit, and the key that must be complained of (or none).

Facts under test: the installer's own rules as docs/validators.md lists them. Findings are compared by path only, and as
the whole set, so a mistake that is reported under two keys fails as well as a mistake that is not reported.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import pytest
import tomlkit

from answerd.validators import Tools, Verdict, proxmox, validate

ABSENT = ...
"""The value of an edit that takes the key away; a copy of it is itself."""

NEW: dict[str, Any] = {
    "global": {
        "country": "at",
        "fqdn": "node1.example.com",
        "keyboard": "de",
        "mailto": "ops@example.com",
        "timezone": "Europe/Vienna",
        "root-password-hashed": "$6$salt$hash",
    },
    "network": {"source": "from-dhcp"},
    "disk-setup": {"filesystem": "ext4", "disk-list": ["sda"]},
}
"""Taken by every installer."""

OLD: dict[str, Any] = {
    **NEW,
    "global": {**NEW["global"], "root-password-hashed": ABSENT, "root_password": "correct horse"},
    "disk-setup": {"filesystem": "ext4", "disk_list": ["sda"]},
}
"""Taken by every installer too: the spelling of 8.2 and 8.3."""

STATIC = {
    "network.source": "from-answer",
    "network.cidr": "192.168.1.10/24",
    "network.dns": "192.168.1.2",
    "network.gateway": "192.168.1.1",
    "network.filter": {"ID_NET_NAME_MAC": "*525400abcdef"},
}
ZFS = {"disk-setup.filesystem": "zfs", "disk-setup.zfs": {"raid": "raid1"}, "disk-setup.disk-list": ["sda", "sdb"]}
BTRFS = {**ZFS, "disk-setup.filesystem": "btrfs", "disk-setup.zfs": ABSENT, "disk-setup.btrfs": {"raid": "raid1"}}
HOOK = {"post-installation-webhook": {"url": "https://127.0.0.1/done"}}
FIRST_BOOT = {"first-boot": {"source": "from-url", "url": "https://127.0.0.1/run"}}
PINNING = {"network.interface-name-pinning": {"enabled": True, "mapping": {"52:54:00:ab:cd:ef": "lan0"}}}
FINGERPRINT = ":".join(["AB"] * 32)


def edited(base: Mapping[str, Any], *edits: Mapping[str, Any]) -> str:
    """The base as TOML text, with each dotted path of the edits set, or taken away."""
    document = copy.deepcopy(dict(base))
    for path, value in [item for edit in edits for item in edit.items()]:
        *tables, name = path.split(".")
        table = document
        for step in tables:
            table = table.setdefault(step, {})
        table[name] = copy.deepcopy(value) if value is not ABSENT else ABSENT
    return tomlkit.dumps(without_absent(document))


def without_absent(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: without_absent(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not ABSENT
    }


def judged(text: str, release: str | None = None, product: str | None = None) -> Verdict:
    return validate(text, "toml", release=release, product=product, tools=Tools.none())


def finding_paths(verdict: Verdict) -> list[str]:
    return sorted({finding.path for finding in verdict.findings})


def warning_paths(verdict: Verdict) -> list[str]:
    return sorted({warning.path for warning in verdict.warnings})


def put(path: str, value: Any) -> dict[str, Any]:
    return {path: value}


# fmt: off
GOOD: list[tuple[str, dict[str, Any]]] = [
    ("the base", {}),
    *[(f"keyboard {layout}", put("global.keyboard", layout)) for layout in ("en-us", "pt-br", "tr")],
    ("country us", put("global.country", "us")),
    ("a name with digits and hyphens", put("global.fqdn", "n-1.4rack.example")),
    ("labels of 63 characters", put("global.fqdn", f"{'a' * 63}.{'b' * 63}.example")),
    ("a name from DHCP", put("global.fqdn", {"source": "from-dhcp"})),
    ("a name from DHCP with a domain", put("global.fqdn", {"source": "from-dhcp", "domain": "example.com"})),
    ("a name table without source", put("global.fqdn", {"domain": "example.com"})),
    ("an empty domain", put("global.fqdn", {"domain": ""})),
    ("mail with a plus and a dot", put("global.mailto", "ops+pve.rack@mail.example.com")),
    ("mail to one label", put("global.mailto", "root@localhost")),
    ("zone UTC", put("global.timezone", "UTC")),
    ("a plain password", {"global.root-password-hashed": ABSENT, "global.root-password": "12345678"}),
    ("a password of 8 bytes in 4 letters", {"global.root-password-hashed": ABSENT, "global.root-password": "ääää"}),
    ("keys for ssh", put("global.root-ssh-keys", ["ssh-ed25519 AAAAC3NzaC1lZDI1 me@desk"])),
    ("no keys for ssh", put("global.root-ssh-keys", [])),
    ("reboot on error", put("global.reboot-on-error", True)),
    ("power off", put("global.reboot-mode", "power-off")),
    ("a subscription", put("global.subscription-key", "pve2c-0123456789")),
    ("a backup subscription", put("global.subscription-key", "pbsb-0123456789")),
    ("static", STATIC),
    ("static over IPv6",
     {**STATIC, "network.cidr": "fd00::10/64", "network.dns": "fd00::1", "network.gateway": "fd00::1"}),
    ("an IPv6 gateway on the link", {**STATIC, "network.cidr": "fd00::10/64", "network.gateway": "fe80::1"}),
    ("a gateway beside a single host", {**STATIC, "network.cidr": "192.0.2.7/32"}),
    ("a point-to-point network", {**STATIC, "network.cidr": "192.168.1.0/31", "network.gateway": "192.168.1.1"}),
    ("a pattern with a set", {**STATIC, "network.filter": {"ID_NET_NAME": "en[ps][!0]*"}}),
    ("a set that begins with its closing bracket", {**STATIC, "network.filter": {"ID_NET_NAME": "[]a]*"}}),
    ("pinning", PINNING),
    ("pinning beside a static network", {**STATIC, **PINNING}),
    ("pinning without a mapping", put("network.interface-name-pinning", {"enabled": True})),
    ("a pinned name with a vlan", put("network.interface-name-pinning",
                                     {"enabled": True, "mapping": {"52-54-00-AB-CD-EF": "lan0.12"}})),
    ("xfs", put("disk-setup.filesystem", "xfs")),
    ("disks by filter", {"disk-setup.disk-list": ABSENT, "disk-setup.filter": {"ID_SERIAL": "S3*"}}),
    ("an empty list beside a filter", {"disk-setup.disk-list": [], "disk-setup.filter": {"ID_SERIAL": "S3*"}}),
    ("lvm in integers", put("disk-setup.lvm", {"hdsize": 100, "swapsize": 8, "maxroot": 20, "maxvz": 0, "minfree": 0})),
    ("lvm in fractions", put("disk-setup.lvm", {"hdsize": 100.5, "swapsize": 50.25})),
    ("zfs raid1", ZFS),
    *[
        (f"zfs {level} of {count}", {**ZFS, "disk-setup.zfs.raid": level,
                                     "disk-setup.disk-list": [f"sd{i}" for i in range(count)]})
        for level, count in [("raid0", 1), ("raid10", 4), ("raid10", 6), ("raidz-1", 3), ("raidz-2", 4), ("raidz-3", 5),
                             ("RAIDZ-1", 3), ("RAID0", 2)]
    ],
    ("zfs with every option", {**ZFS, "disk-setup.zfs": {"raid": "raid1", "ashift": 12, "arc-max": 2048, "copies": 2,
                               "checksum": "sha256", "compress": "zstd", "hdsize": 80.5}}),
    ("zfs by filter of all", {**ZFS, "disk-setup.disk-list": ABSENT, "disk-setup.filter": {"ID_MODEL": "*"},
                              "disk-setup.filter-match": "all"}),
    ("btrfs raid1", BTRFS),
    ("btrfs with every option", {**BTRFS, "disk-setup.btrfs": {"raid": "RAID1", "compress": "lzo", "hdsize": 40}}),
    ("a webhook", HOOK),
    ("a webhook with a fingerprint", {**HOOK, "post-installation-webhook.cert-fingerprint": FINGERPRINT}),
    ("a webhook with the other spelling", {**HOOK, "post-installation-webhook.cert_fingerprint": FINGERPRINT.lower()}),
    ("a webhook with a token", {**HOOK, "post-installation-webhook.auth-token": "name:secret"}),
    ("a first boot from a URL", FIRST_BOOT),
    ("a first boot from the ISO", put("first-boot", {"source": "from-iso", "ordering": "before-network"})),
    ("a first boot with a fingerprint", {**FIRST_BOOT, "first-boot.cert-fingerprint": FINGERPRINT.replace(":", "")}),
    ("the spelling with underscores", {"disk-setup.disk-list": ABSENT, "disk-setup.disk_list": ["sda"]}),
]

BAD: list[tuple[str, dict[str, Any], str]] = [
    # every table
    ("no network table", put("network", ABSENT), "network"),
    ("no disk-setup table", put("disk-setup", ABSENT), "disk-setup"),
    ("network is a string", put("network", "from-dhcp"), "network"),
    ("disk-setup is an array", put("disk-setup", ["sda"]), "disk-setup"),
    ("an unknown table", put("globals", {"a": 1}), "globals"),
    ("a control key that was not removed", put("extends", "base"), "extends"),
    ("snake_case where it never was", put("first_boot", {"source": "from-iso"}), "first_boot"),
    *[(f"an unknown key in {table}", put(f"{table}.nonsense", 1), f"{table}.nonsense")
      for table in ("global", "network", "disk-setup")],
    ("an unknown key in lvm", put("disk-setup.lvm.nonsense", 1), "disk-setup.lvm.nonsense"),
    ("an unknown key in zfs", {**ZFS, "disk-setup.zfs.nonsense": 1}, "disk-setup.zfs.nonsense"),
    ("an unknown key in btrfs", {**BTRFS, "disk-setup.btrfs.ashift": 12}, "disk-setup.btrfs.ashift"),
    ("an unknown key in the webhook", {**HOOK, "post-installation-webhook.method": "PUT"},
     "post-installation-webhook.method"),
    ("an unknown key in first-boot", {**FIRST_BOOT, "first-boot.args": []}, "first-boot.args"),
    ("an unknown key in the name table", put("global.fqdn", {"host": "a"}), "global.fqdn.host"),
    ("an unknown key in pinning", {**PINNING, "network.interface-name-pinning.names": {}},
     "network.interface-name-pinning.names"),
    ("a key in both spellings", put("disk-setup.disk_list", ["sda"]), "disk-setup.disk_list"),
    # the table global
    *[(f"no {key}", put(f"global.{key}", ABSENT), f"global.{key}")
      for key in ("country", "fqdn", "keyboard", "mailto", "timezone")],
    *[(f"{key} is a number", put(f"global.{key}", 1), f"global.{key}")
      for key in ("country", "fqdn", "keyboard", "mailto", "timezone", "root-password-hashed", "reboot-mode",
                  "subscription-key")],
    ("a country in upper case", put("global.country", "AT"), "global.country"),
    ("a country by name", put("global.country", "austria"), "global.country"),
    ("a country that is none", put("global.country", "xx"), "global.country"),
    ("uk is not in ISO 3166", put("global.country", "uk"), "global.country"),
    ("an unknown keyboard", put("global.keyboard", "us"), "global.keyboard"),
    ("a keyboard in upper case", put("global.keyboard", "DE"), "global.keyboard"),
    ("a name of one label", put("global.fqdn", "node1"), "global.fqdn"),
    ("a name with a dot at its end", put("global.fqdn", "node1.example.com."), "global.fqdn"),
    ("a name with two dots", put("global.fqdn", "node1..example.com"), "global.fqdn"),
    ("a name with an underscore", put("global.fqdn", "node_1.example.com"), "global.fqdn"),
    ("a label that begins with a hyphen", put("global.fqdn", "-node.example.com"), "global.fqdn"),
    ("a label that ends with a hyphen", put("global.fqdn", "node-.example.com"), "global.fqdn"),
    ("a host name of digits", put("global.fqdn", "123.example.com"), "global.fqdn"),
    ("a label of 64 characters", put("global.fqdn", f"{'a' * 64}.example.com"), "global.fqdn"),
    ("a name of 254 characters", put("global.fqdn", f"{'a' * 50}{'.b' * 102}"), "global.fqdn"),
    ("a name with an umlaut", put("global.fqdn", "knöten.example.com"), "global.fqdn"),
    ("an empty name", put("global.fqdn", ""), "global.fqdn"),
    ("a name table from elsewhere", put("global.fqdn", {"source": "from-answer"}), "global.fqdn.source"),
    ("a domain with a blank", put("global.fqdn", {"domain": "exa mple"}), "global.fqdn.domain"),
    ("a domain that is a number", put("global.fqdn", {"domain": 1}), "global.fqdn.domain"),
    ("the placeholder address", put("global.mailto", "mail@example.invalid"), "global.mailto"),
    ("mail without a host", put("global.mailto", "ops@"), "global.mailto"),
    ("mail without a sign", put("global.mailto", "ops.example.com"), "global.mailto"),
    ("mail with a blank", put("global.mailto", "o ps@example.com"), "global.mailto"),
    ("mail to a host with an underscore", put("global.mailto", "ops@ex_ample.com"), "global.mailto"),
    ("mail with a name before it", put("global.mailto", "Ops <ops@example.com>"), "global.mailto"),
    ("an empty zone", put("global.timezone", ""), "global.timezone"),
    ("an alias of a zone", put("global.timezone", "US/Eastern"), "global.timezone"),
    ("Etc/UTC is an alias", put("global.timezone", "Etc/UTC"), "global.timezone"),
    ("a zone with a blank", put("global.timezone", "Europe/New York"), "global.timezone"),
    ("no password", put("global.root-password-hashed", ABSENT), "global.root-password"),
    ("both passwords", put("global.root-password", "correct horse"), "global.root-password"),
    ("a password of 7 bytes", {"global.root-password-hashed": ABSENT, "global.root-password": "1234567"},
     "global.root-password"),
    ("an empty password", {"global.root-password-hashed": ABSENT, "global.root-password": ""}, "global.root-password"),
    ("a password that is a number", {"global.root-password-hashed": ABSENT, "global.root-password": 12345678},
     "global.root-password"),
    ("reboot-on-error as a string", put("global.reboot-on-error", "true"), "global.reboot-on-error"),
    ("reboot-on-error as a number", put("global.reboot-on-error", 1), "global.reboot-on-error"),
    ("an unknown reboot-mode", put("global.reboot-mode", "poweroff"), "global.reboot-mode"),
    ("reboot_mode was never known", put("global.reboot_mode", "reboot"), "global.reboot_mode"),
    ("ssh keys as a string", put("global.root-ssh-keys", "ssh-ed25519 AAAA"), "global.root-ssh-keys"),
    ("ssh keys with a number", put("global.root-ssh-keys", [1]), "global.root-ssh-keys"),
    ("a subscription of no shape", put("global.subscription-key", "nonsense"), "global.subscription-key"),
    ("a subscription in upper case", put("global.subscription-key", "PVE2C-0123456789"), "global.subscription-key"),
    # the table network
    ("no source", put("network.source", ABSENT), "network.source"),
    ("an unknown source", put("network.source", "dhcp"), "network.source"),
    ("a source that is a boolean", put("network.source", True), "network.source"),
    *[(f"{key} beside from-dhcp", put(f"network.{key}", STATIC[f"network.{key}"]), f"network.{key}")
      for key in ("cidr", "dns", "gateway", "filter")],
    *[(f"from-answer without {key}", {**STATIC, f"network.{key}": ABSENT}, f"network.{key}")
      for key in ("cidr", "dns", "gateway", "filter")],
    ("a cidr without prefix", {**STATIC, "network.cidr": "192.168.1.10"}, "network.cidr"),
    ("a cidr with a netmask", {**STATIC, "network.cidr": "192.168.1.10/255.255.255.0"}, "network.cidr"),
    ("a cidr with too long a prefix", {**STATIC, "network.cidr": "192.168.1.10/33"}, "network.cidr"),
    ("a cidr that is no address", {**STATIC, "network.cidr": "192.168.1/24"}, "network.cidr"),
    ("a cidr that is a number", {**STATIC, "network.cidr": 24}, "network.cidr"),
    ("a gateway outside the network", {**STATIC, "network.gateway": "192.168.2.1"}, "network.gateway"),
    ("a gateway of another family", {**STATIC, "network.gateway": "fd00::1"}, "network.gateway"),
    ("an IPv6 gateway outside the network", {**STATIC, "network.cidr": "fd00::10/64", "network.gateway": "fd01::1"},
     "network.gateway"),
    ("a gateway with a prefix", {**STATIC, "network.gateway": "192.168.1.1/24"}, "network.gateway"),
    ("two name servers in a string", {**STATIC, "network.dns": "192.168.1.2, 192.168.1.3"}, "network.dns"),
    ("name servers as an array", {**STATIC, "network.dns": ["192.168.1.2"]}, "network.dns"),
    ("a name server by name", {**STATIC, "network.dns": "dns.example.com"}, "network.dns"),
    ("an empty filter", {**STATIC, "network.filter": {}}, "network.filter"),
    ("a filter that is a string", {**STATIC, "network.filter": "*"}, "network.filter"),
    ("a filter with a number", {**STATIC, "network.filter": {"ID_NET_NAME": 1}}, "network.filter"),
    ("a bracket that is never closed", {**STATIC, "network.filter": {"ID_NET_NAME": "en[ps*"}}, "network.filter"),
    ("two asterisks in a word", {**STATIC, "network.filter": {"ID_NET_NAME": "en**"}}, "network.filter"),
    ("pinning without enabled", put("network.interface-name-pinning", {"mapping": {}}),
     "network.interface-name-pinning.enabled"),
    ("pinning that is a boolean", put("network.interface-name-pinning", True), "network.interface-name-pinning"),
    ("pinning enabled by a string", put("network.interface-name-pinning", {"enabled": "yes"}),
     "network.interface-name-pinning.enabled"),
    *[
        (f"a mapping {what}", put("network.interface-name-pinning", {"enabled": True, "mapping": mapping}),
         "network.interface-name-pinning.mapping")
        for what, mapping in [
            ("with no MAC address", {"lan0": "52:54:00:ab:cd:ef"}),
            ("to one letter", {"52:54:00:ab:cd:ef": "a"}),
            ("to 16 characters", {"52:54:00:ab:cd:ef": "a" * 16}),
            ("to a name that begins with a digit", {"52:54:00:ab:cd:ef": "0lan"}),
            ("to a name with a hyphen", {"52:54:00:ab:cd:ef": "lan-0"}),
            ("to a number", {"52:54:00:ab:cd:ef": 1}),
            ("to one name twice", {"52:54:00:ab:cd:ef": "lan0", "52:54:00:ab:cd:f0": "lan0"}),
            ("that is an array", ["lan0"]),
        ]
    ],
    # the table disk-setup
    ("no filesystem", put("disk-setup.filesystem", ABSENT), "disk-setup.filesystem"),
    ("an unknown filesystem", put("disk-setup.filesystem", "ntfs"), "disk-setup.filesystem"),
    ("a filesystem in upper case", put("disk-setup.filesystem", "EXT4"), "disk-setup.filesystem"),
    ("no disks", put("disk-setup.disk-list", ABSENT), "disk-setup.disk-list"),
    ("an empty list of disks", put("disk-setup.disk-list", []), "disk-setup.disk-list"),
    ("a list and a filter", put("disk-setup.filter", {"ID_SERIAL": "*"}), "disk-setup.filter"),
    ("disks as a string", put("disk-setup.disk-list", "sda"), "disk-setup.disk-list"),
    ("a disk twice", {**ZFS, "disk-setup.disk-list": ["sda", "sda"]}, "disk-setup.disk-list"),
    ("a disk without a name", put("disk-setup.disk-list", [""]), "disk-setup.disk-list"),
    ("ext4 on two disks", put("disk-setup.disk-list", ["sda", "sdb"]), "disk-setup.disk-list"),
    ("xfs on two disks", {"disk-setup.filesystem": "xfs", "disk-setup.disk-list": ["sda", "sdb"]},
     "disk-setup.disk-list"),
    ("an unknown filter-match", put("disk-setup.filter-match", "ALL"), "disk-setup.filter-match"),
    ("an empty disk filter", {"disk-setup.disk-list": ABSENT, "disk-setup.filter": {}}, "disk-setup.filter"),
    ("zfs without its table", put("disk-setup.filesystem", "zfs"), "disk-setup.zfs.raid"),
    ("zfs without a level", {**ZFS, "disk-setup.zfs": {"ashift": 12}}, "disk-setup.zfs.raid"),
    ("btrfs without its table", put("disk-setup.filesystem", "btrfs"), "disk-setup.btrfs.raid"),
    ("zfs options beside ext4", put("disk-setup.zfs", {"raid": "raid0"}), "disk-setup.zfs"),
    ("lvm options beside zfs", {**ZFS, "disk-setup.lvm": {"hdsize": 10}}, "disk-setup.lvm"),
    ("btrfs options beside zfs", {**ZFS, "disk-setup.btrfs": {"raid": "raid1"}}, "disk-setup.btrfs"),
    ("zfs options beside btrfs", {**BTRFS, "disk-setup.zfs": {"raid": "raid1"}}, "disk-setup.zfs"),
    *[
        (f"zfs {level} of {count}", {**ZFS, "disk-setup.zfs.raid": level,
                                     "disk-setup.disk-list": [f"sd{i}" for i in range(count)]}, "disk-setup.disk-list")
        for level, count in [("raid1", 1), ("raid10", 3), ("raid10", 5), ("raidz-1", 2), ("raidz-2", 3), ("raidz-3", 4),
                             ("RAIDZ-3", 4)]
    ],
    ("btrfs raid1 of one", {**BTRFS, "disk-setup.disk-list": ["sda"]}, "disk-setup.disk-list"),
    ("btrfs raid10 of five", {**BTRFS, "disk-setup.btrfs.raid": "raid10", "disk-setup.disk-list": list("abcde")},
     "disk-setup.disk-list"),
    ("a level of btrfs in mixed case", {**BTRFS, "disk-setup.btrfs.raid": "Raid1"}, "disk-setup.btrfs.raid"),
    ("a level that btrfs has not", {**BTRFS, "disk-setup.btrfs.raid": "raidz-1"}, "disk-setup.btrfs.raid"),
    ("a level of zfs without its hyphen", {**ZFS, "disk-setup.zfs.raid": "raidz1"}, "disk-setup.zfs.raid"),
    *[
        (f"zfs {key} {value!r}", {**ZFS, f"disk-setup.zfs.{key}": value}, f"disk-setup.zfs.{key}")
        for key, value in [
            ("ashift", 8), ("ashift", 17), ("ashift", 12.0), ("ashift", "12"), ("ashift", True), ("arc-max", 63),
            ("arc-max", -1), ("arc-max", 2**32), ("arc-max", 1024.5), ("copies", 0), ("copies", 4), ("checksum", "md5"),
            ("checksum", True), ("compress", "lzo"), ("compress", "zstd-3"), ("hdsize", 1), ("hdsize", "80"),
        ]
    ],
    *[
        (f"btrfs {key} {value!r}", {**BTRFS, f"disk-setup.btrfs.{key}": value}, f"disk-setup.btrfs.{key}")
        for key, value in [("compress", "lz4"), ("compress", False), ("hdsize", 0), ("hdsize", [40])]
    ],
    *[
        (f"lvm {key} {value!r}", put(f"disk-setup.lvm.{key}", value), f"disk-setup.lvm.{key}")
        for key, value in [("hdsize", 1.5), ("hdsize", "100G"), ("swapsize", -1), ("swapsize", True), ("maxroot", 1),
                           ("maxvz", -0.5), ("minfree", "0"), ("hdsize", math.inf), ("maxvz", math.nan)]
    ],
    ("swap over half the disk", put("disk-setup.lvm", {"hdsize": 10, "swapsize": 5.5}), "disk-setup.lvm.swapsize"),
    # the rest
    ("a webhook without a URL", put("post-installation-webhook", {}), "post-installation-webhook.url"),
    ("a webhook to a file", put("post-installation-webhook", {"url": "file:///etc/passwd"}),
     "post-installation-webhook.url"),
    ("a webhook without a host", put("post-installation-webhook", {"url": "https:///done"}),
     "post-installation-webhook.url"),
    ("a fingerprint that is too short", {**HOOK, "post-installation-webhook.cert-fingerprint": "AB:CD"},
     "post-installation-webhook.cert-fingerprint"),
    ("a token that is a number", {**HOOK, "post-installation-webhook.auth-token": 1},
     "post-installation-webhook.auth-token"),
    ("a first boot without a source", put("first-boot", {"url": "https://127.0.0.1/run"}), "first-boot.source"),
    ("a first boot from nowhere", put("first-boot", {"source": "url"}), "first-boot.source"),
    ("a first boot from a URL that is not there", put("first-boot", {"source": "from-url"}), "first-boot.url"),
    ("an unknown ordering", {**FIRST_BOOT, "first-boot.ordering": "late"}, "first-boot.ordering"),
    ("a first boot with a bad fingerprint", {**FIRST_BOOT, "first-boot.cert-fingerprint": "zz" * 32},
     "first-boot.cert-fingerprint"),
]
# fmt: on

Released = tuple[str, str, dict[str, Any], dict[str, Any], str]

# fmt: off
ACCEPTED_BY: list[Released] = [
    ("the old spelling", "9.0", OLD, {}, ""),
    ("the old spelling", "9.2", OLD, {}, ""),
    ("the base", "9.0", NEW, {}, ""),
    ("the base", "9.2", NEW, {}, ""),
    ("no source", "9.1", NEW, put("network.source", ABSENT), ""),
    ("a hashed password by its old spelling", "9.2", OLD,
     {"global.root_password": ABSENT, "global.root_password_hashed": "$6$x$y"}, ""),
    ("a first boot", "9.0", OLD, FIRST_BOOT, ""),
    ("power off", "9.0", NEW, put("global.reboot-mode", "power-off"), ""),
    ("a name table", "9.0", NEW, put("global.fqdn", {"domain": "example.com"}), ""),
    ("an empty domain", "9.0.5", NEW, put("global.fqdn", {"domain": ""}), ""),
    ("pinning", "9.1", NEW, PINNING, ""),
    ("a token", "9.2", NEW, {**HOOK, "post-installation-webhook.auth-token": "t"}, ""),
    ("a subscription", "9.2.0", NEW, put("global.subscription-key", "pve1c-0123456789"), ""),
    ("levels in upper case", "9.0", NEW, {**ZFS, "disk-setup.zfs.raid": "RAID1"}, ""),
    ("much swap", "9.0.4", NEW, put("disk-setup.lvm", {"hdsize": 10, "swapsize": 6}), ""),
    ("five disks in raid10", "9.1", NEW,
     {**ZFS, "disk-setup.zfs.raid": "raid10", "disk-setup.disk-list": list("abcde")}, ""),
    ("a release to come", "10.1", NEW, {}, ""),
    ("a release that was", "8.4", NEW, {}, ""),
    ("a revision of an ISO", "9.1-1", NEW, {}, ""),
]

REFUSED_BY: list[Released] = [
    ("an empty domain", "9.0.4", NEW, put("global.fqdn", {"domain": ""}), "global.fqdn.domain"),
    ("pinning", "9.0", NEW, PINNING, "network.interface-name-pinning"),
    ("pinning by a release that was", "8.4", NEW, PINNING, "network.interface-name-pinning"),
    ("a token", "9.1", NEW, {**HOOK, "post-installation-webhook.auth-token": "t"},
     "post-installation-webhook.auth-token"),
    ("a subscription", "9.1", NEW, put("global.subscription-key", "pve1c-0123456789"), "global.subscription-key"),
    ("no source", "9.2", NEW, put("network.source", ABSENT), "network.source"),
    ("a cidr without a source", "9.1", NEW, {"network.source": ABSENT, "network.cidr": "192.168.1.10/24"},
     "network.cidr"),
    ("a short password", "9.0", NEW, {"global.root-password-hashed": ABSENT, "global.root-password": "short"},
     "global.root-password"),
    ("much swap", "9.0.5", NEW, put("disk-setup.lvm", {"hdsize": 10, "swapsize": 6}), "disk-setup.lvm.swapsize"),
    ("five disks in raid10", "9.2.6", NEW,
     {**ZFS, "disk-setup.zfs.raid": "raid10", "disk-setup.disk-list": list("abcde")}, "disk-setup.disk-list"),
]

DOUBTFUL: list[tuple[str, dict[str, Any], str]] = [
    ("an unknown zone", put("global.timezone", "Europe/Atlantis"), "global.timezone"),
    ("a password in plain text", {"global.root-password-hashed": ABSENT, "global.root-password": "correct horse"},
     "global.root-password"),
    ("a hash that is none", put("global.root-password-hashed", "correct horse"), "global.root-password-hashed"),
    ("an ssh key that is none", put("global.root-ssh-keys", ["hello"]), "global.root-ssh-keys"),
    ("a key to be dropped", {"disk-setup.disk-list": ABSENT, "disk-setup.disk_list": ["sda"]}, "disk-setup.disk_list"),
    ("a key that 9.1 does not know", put("global.subscription-key", "pve1c-0123456789"), "global.subscription-key"),
    ("a name server of another family", {**STATIC, "network.dns": "fd00::1"}, "network.dns"),
    ("the address of the network", {**STATIC, "network.cidr": "192.168.1.0/24"}, "network.cidr"),
    ("the broadcast address", {**STATIC, "network.cidr": "192.168.1.255/24"}, "network.cidr"),
    ("the machine as its own gateway", {**STATIC, "network.gateway": "192.168.1.10"}, "network.gateway"),
    ("a single host's gateway", {**STATIC, "network.cidr": "192.0.2.7/32"}, "network.gateway"),
    ("a filter in lower case", {**STATIC, "network.filter": {"id_net_name": "*"}}, "network.filter"),
    ("filter-match without a filter", put("disk-setup.filter-match", "any"), "disk-setup.filter-match"),
    ("filter-match for ext4", {"disk-setup.disk-list": ABSENT, "disk-setup.filter": {"ID_MODEL": "*"},
                               "disk-setup.filter-match": "all"}, "disk-setup.filter-match"),
    ("a URL beside from-iso", put("first-boot", {"source": "from-iso", "url": "https://127.0.0.1/"}), "first-boot.url"),
]
# fmt: on


@pytest.mark.parametrize("edit", [case[1] for case in GOOD], ids=[case[0] for case in GOOD])
def test_a_good_answer_is_valid(edit: dict[str, Any]) -> None:
    verdict = judged(edited(NEW, edit))
    assert finding_paths(verdict) == []
    assert verdict.valid


@pytest.mark.parametrize(("edit", "path"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_bad_answer_is_refused_for_its_key(edit: dict[str, Any], path: str) -> None:
    verdict = judged(edited(NEW, edit))
    assert finding_paths(verdict) == [path]
    assert not verdict.valid
    assert all(path.rpartition(".")[2] in finding.message for finding in verdict.findings), "the message names the key"


@pytest.mark.parametrize(
    ("release", "base", "edit", "path"),
    [case[1:] for case in [*ACCEPTED_BY, *REFUSED_BY]],
    ids=[f"{case[0]} in {case[1]}" for case in [*ACCEPTED_BY, *REFUSED_BY]],
)
def test_a_release_judges_by_what_it_knows(release: str, base: dict[str, Any], edit: dict[str, Any], path: str) -> None:
    assert finding_paths(judged(edited(base, edit), release)) == ([path] if path else [])


@pytest.mark.parametrize(("edit", "path"), [case[1:] for case in DOUBTFUL], ids=[case[0] for case in DOUBTFUL])
def test_what_is_doubtful_is_a_warning_and_refuses_nothing(edit: dict[str, Any], path: str) -> None:
    verdict = judged(edited(NEW, edit))
    assert (finding_paths(verdict), warning_paths(verdict)) == ([], [path])


@pytest.mark.parametrize("product", ["pve", "pbs", "pmg", "pdm"])
def test_only_proxmox_ve_has_btrfs(product: str) -> None:
    refused = [] if product == "pve" else ["disk-setup.filesystem"]
    assert finding_paths(judged(edited(NEW, BTRFS), product=product)) == refused


@pytest.mark.parametrize(
    ("product", "key", "belongs"),
    [
        ("pve", "pve4b-0123456789", True),
        ("pve", "pbsb-0123456789", False),
        ("pbs", "pbsb-0123456789", True),
        ("pmg", "pmgs-0123456789", True),
        ("pmg", "pve4b-0123456789", False),
        ("pdm", "pbsb-0123456789", False),
    ],
)
def test_a_subscription_belongs_to_the_product(product: str, key: str, belongs: bool) -> None:
    verdict = judged(edited(NEW, put("global.subscription-key", key)), product=product)
    assert finding_paths(verdict) == ([] if belongs else ["global.subscription-key"])


@pytest.mark.parametrize("text", ['global = "x"\n', "[global]\n"], ids=["global is a string", "global is empty"])
def test_a_global_of_any_kind_makes_it_a_proxmox_answer(text: str) -> None:
    verdict = judged(text)
    assert "network" in finding_paths(verdict)
    assert any("Proxmox" in judge for judge in verdict.judged_by)


@pytest.mark.parametrize("section", ["network", "disk-setup", "post-installation-webhook", "first-boot"])
def test_a_section_of_an_answer_without_global_is_refused(section: str) -> None:
    verdict = judged(f"[{section}]\n")
    assert "global" in finding_paths(verdict)
    assert not verdict.valid


@pytest.mark.parametrize("text", ["[anything]\nelse = 1\n", 'network = "lab"\n'], ids=["other keys", "no table"])
def test_toml_without_a_section_of_an_answer_is_judged_by_its_syntax_only(text: str) -> None:
    verdict = judged(text)
    assert verdict.valid
    assert not any("Proxmox" in judge for judge in verdict.judged_by)


def test_a_syntax_error_names_its_line() -> None:
    verdict = judged("[global]\nkeyboard = fr\n")
    assert [finding.line for finding in verdict.findings] == [2]


def test_an_unknown_key_brings_the_nearest_one() -> None:
    (finding,) = judged(edited(NEW, put("global.root-ssh-key", []))).findings
    assert "root-ssh-keys" in finding.message


@pytest.mark.parametrize(
    "edit",
    [
        {"global.root-password": "hunter2-hunter2"},
        {"global.root-password": ["hunter2-hunter2"]},
        {"global.root-password-hashed": "hunter2-hunter2"},
        {"global.subscription-key": "hunter2-hunter2"},
        {**HOOK, "post-installation-webhook.auth-token": ["hunter2-hunter2"]},
    ],
    ids=["a password", "a password in an array", "a password as hash", "a subscription", "a token in an array"],
)
def test_a_secret_is_never_repeated(edit: dict[str, Any]) -> None:
    verdict = judged(edited(NEW, edit))
    assert verdict.findings or verdict.warnings
    assert "hunter2" not in repr(verdict)


@pytest.mark.parametrize(
    ("release", "product"),
    [("nonsense", None), ("10.1", "pve"), ("8.0", "pve"), ("4.1", "pbs"), (None, "pxx")],
)
def test_what_is_not_known_about_the_installer_is_a_note(release: str | None, product: str | None) -> None:
    verdict = judged(edited(OLD), release, product)
    assert verdict.valid
    assert len(verdict.notes) == 1


@pytest.mark.parametrize("release", [None, "", "  "])
def test_without_a_release_the_newest_rules_decide(release: str | None) -> None:
    assert finding_paths(judged(edited(NEW, put("network.source", ABSENT)), release)) == ["network.source"]


def test_a_patch_level_that_is_not_stated_is_a_doubt() -> None:
    levels = {**ZFS, "disk-setup.zfs.raid": "raid10", "disk-setup.disk-list": list("abcde")}
    verdict = judged(edited(NEW, levels), "9.2")
    assert finding_paths(verdict) == ["disk-setup.disk-list"]
    assert warning_paths(judged(edited(NEW, levels), "9.2.5")) == ["disk-setup.disk-list"]


def test_every_key_of_the_schema_has_a_case_that_refuses_it() -> None:
    tried = {case[2] for case in BAD} | {case[4] for case in REFUSED_BY}
    keys = {f"{path}.{key.name}".lstrip(".") for path, table in proxmox.TABLES.items() for key in table}
    assert {key for key in keys if not any(f"{path}.".startswith(f"{key}.") for path in tried)} <= {"global"}
