"""The Proxmox automated installer's answer schema, judged per installer release.

It knows the keys of ``answer.toml``, since which release each exists, and what must hold between them. The facts were
read from pve-installer (9.2.7 and its state before 9.2) and from the crate proxmox-installer-types. It must not know
files, tools or requests: it is handed a parsed document, a release and a product.

Two tables rule it. ``TABLES`` says what each key is by itself; ``RULES`` says what holds between keys. A key that is
wrong by itself takes no part in the rules, so one mistake is told once.

Without a release the newest installer's rules decide, so an answer that it refuses is invalid even if an older
one would take it (``network.source`` missing); keys that only installers newer than 9.0 know are warned of.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from answerd.formats.control import CONTROL_KEYS
from answerd.identity import brief
from answerd.validators import proxmox_values as values
from answerd.validators.verdict import Report

Since = tuple[int, int, int]
"""The installer package that first knew a key: major, minor, patch."""

FIRST_RELEASE: Since = (8, 2, 0)
NEWEST_RELEASE: Since = (9, 2, 7)
KEBAB_SINCE: Since = (8, 4, 0)
PASSWORD_LIMIT_SINCE: Since = (8, 4, 0)
SOURCE_REQUIRED_SINCE: Since = (9, 2, 0)
UPPER_RAID_SINCE: Since = (8, 3, 3)
SWAP_LIMIT_SINCE: Since = (9, 0, 5)
EMPTY_DOMAIN_SINCE: Since = (9, 0, 5)
EVEN_RAID10_SINCE: Since = (9, 2, 6)
OLD_ENOUGH: Since = (9, 0, 0)
"""What every installer from here on knows is not worth a warning when no release is stated."""

PASSWORD_BYTES = range(8, 65)

PRODUCTS: Mapping[str, str] = {
    "pve": "Proxmox VE",
    "pbs": "Proxmox Backup Server",
    "pmg": "Proxmox Mail Gateway",
    "pdm": "Proxmox Datacenter Manager",
}


@dataclass(frozen=True)
class Release:
    """The installer that will read the answer. ``patch`` None: any package of that minor (an ISO states no patch)."""

    major: int
    minor: int
    patch: int | None = None
    stated: bool = True

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + ("" if self.patch is None or not self.stated else f".{self.patch}")

    def knows(self, since: Since) -> bool | None:
        """Whether it has what came with ``since``; None when only some packages of this release do."""
        if (self.major, self.minor) != since[:2]:
            return (self.major, self.minor) > since[:2]
        if self.patch is None:
            return True if since[2] == 0 else None
        return self.patch >= since[2]


UNSTATED = Release(*NEWEST_RELEASE, stated=False)

_RELEASE = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,5}))?(?:[-~+].*)?")


def read_release(text: str | None, product: str | None, report: Report) -> Release:
    """The release that ``iso.release`` or an operator states; the newest rules, with a note, where it tells nothing.

    Only Proxmox VE's releases are numbered like the installer; the other products count for themselves.
    """
    if text is None or not text.strip():
        return UNSTATED
    if product not in (None, "pve"):
        report.note(f"{product} releases are not numbered like the installer's: judged by {UNSTATED}, not by {text!r}")
        return UNSTATED
    shape = _RELEASE.fullmatch(text.strip())
    if shape is None:
        report.note(f"release {text!r} is not one such as 8.4: judged by the rules of {UNSTATED}")
        return UNSTATED
    major, minor, patch = (None if part is None else int(part) for part in shape.groups())
    assert major is not None  # noqa: S101 - the expression has both
    assert minor is not None  # noqa: S101
    release = Release(major, minor, patch)
    if (major, minor) > NEWEST_RELEASE[:2]:
        report.note(f"release {text} is newer than the rules known here: judged by those of {UNSTATED}")
    if (major, minor) < FIRST_RELEASE[:2]:
        report.note(f"release {text} has no automated installer (it came with 8.2): judged by the rules of 8.2")
        return Release(*FIRST_RELEASE[:2])
    return release


@dataclass(frozen=True)
class Key:
    """One key of one table. ``snake`` marks the keys that 8.2 and 8.3 know only with ``_`` (later ones take both)."""

    name: str
    check: values.Check
    required: bool = False
    since: Since = FIRST_RELEASE
    snake: bool = False
    alias: bool = False
    """Whether every release also takes the ``_`` spelling."""

    @property
    def snake_name(self) -> str:
        return self.name.replace("-", "_")


def _table(value: Any) -> str | None:
    return None if isinstance(value, dict) else f"must be a table, not {values.kind(value)}"


def _fqdn(value: Any) -> str | None:
    if isinstance(value, dict):
        return None
    return values.fqdn(value) if isinstance(value, str) else f"must be a string or a table, not {values.kind(value)}"


def _raid(*levels: str) -> values.Check:
    """Lower or upper case; mixed case fails on the machine."""
    return values.one_of(*levels, *(level.upper() for level in levels))


ZFS_LEVELS: Mapping[str, int] = {"raid0": 1, "raid1": 2, "raid10": 4, "raidz-1": 3, "raidz-2": 4, "raidz-3": 5}
BTRFS_LEVELS: Mapping[str, int] = {"raid0": 1, "raid1": 2, "raid10": 4}
"""RAID level to the fewest disks it takes."""

FILESYSTEM_TABLES: Mapping[str, str] = {"ext4": "lvm", "xfs": "lvm", "zfs": "zfs", "btrfs": "btrfs"}
"""Filesystem to the only options table that may stand beside it."""

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
"""Path of a table to its keys. Every table refuses keys that are not here."""


@dataclass(frozen=True)
class Table:
    """A table as the rules see it: which keys stand in it, and the values of those that are right by themselves."""

    path: str
    present: frozenset[str] = frozenset()
    good: Mapping[str, Any] = field(default_factory=dict)

    def at(self, name: str) -> str:
        """The dotted path of a key."""
        return f"{self.path}.{name}" if self.path else name

    def get(self, name: str) -> Any:
        """The key's value, None when it is absent or wrong by itself."""
        return self.good.get(name)


@dataclass(frozen=True)
class Answer:
    """The tables of a document, each of ``TABLES`` there (empty where the document has none), and who will read it."""

    tables: Mapping[str, Table]
    release: Release
    product: str | None

    def __getitem__(self, path: str) -> Table:
        return self.tables[path]


def judge(document: Mapping[str, Any], release: str | None, product: str | None, report: Report) -> None:
    """Judge a parsed TOML document that has a section of a Proxmox answer.

    ``release`` is the installer's (``8.2``), ``product`` one of ``PRODUCTS``; None for either: not known.
    """
    if product is not None and product not in PRODUCTS:
        report.note(f"product {product!r} is not known ({', '.join(PRODUCTS)}): rules of a product were not judged")
        product = None
    reader = read_release(release, product, report)
    tables: dict[str, Table] = {}
    for path in TABLES:  # parents stand before their children
        tables[path] = _read_table(_raw(document, path), path, reader, report)
    answer = Answer(tables, reader, product)
    for rule in RULES:
        rule(answer, report)
    report.judged_by(f"Proxmox answer schema (rules of {reader})")


def _raw(document: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """The document's table at a path, None when there is none or it is no table."""
    table: Any = document
    for name in path.split(".") if path else ():
        table = table.get(name)
        if not isinstance(table, dict):
            return None
    found: Mapping[str, Any] = table
    return found


def _read_table(raw: Mapping[str, Any] | None, path: str, release: Release, report: Report) -> Table:
    if raw is None:
        return Table(path)
    keys = {key.name: key for key in TABLES[path]}
    spellings = keys | {key.snake_name: key for key in keys.values() if key.snake or key.alias}
    present: set[str] = set()
    good: dict[str, Any] = {}
    for name, value in raw.items():
        where = f"{path}.{name}" if path else name
        key = spellings.get(name)
        if key is None:
            _refuse_unknown(name, where, keys, report)
            continue
        if key.name in present:
            report.refuse(f"{where}: the key is there twice, as {key.name} and {key.snake_name}", where)
            continue
        present.add(key.name)
        _judge_release(key, name, where, release, report)
        if wrong := key.check(value):
            report.refuse(f"{where}: {wrong}", where)
        else:
            good[key.name] = value
    for key in keys.values():
        if key.required and key.name not in present:
            where = f"{path}.{key.name}" if path else key.name
            report.refuse(f"{where} is missing: {'every answer' if not path else f'[{path}]'} must have it", where)
    return Table(path, frozenset(present), good)


def _refuse_unknown(name: str, where: str, keys: Iterable[str], report: Report) -> None:
    if "." not in where and name in CONTROL_KEYS:  # only in a document that was not rendered first
        report.refuse(f"{where}: a control key of answerd, not of the installer: validate the rendered answer", where)
        return
    known = report.hint(name, keys)
    report.refuse(f"{where}: the installer knows no such key and refuses the whole answer{known}", where)


def _judge_release(key: Key, name: str, where: str, release: Release, report: Report) -> None:
    """The key against what the release knows: the key itself, and the spelling."""
    known = release.knows(key.since)
    since = ".".join(map(str, key.since))
    if known is False:
        report.refuse(f"{where}: the installer of {release} does not know this key (since {since})", where)
    elif known is None:
        report.warn(f"{where}: only the packages {since} and later of {release} know this key", where)
    elif not release.stated and key.since > OLD_ENOUGH:
        report.warn(f"{where}: installers before {since} do not know this key and refuse the answer", where)
    if not key.snake or name == key.snake_name == key.name:
        return
    if name == key.name and "-" in name and not release.knows(KEBAB_SINCE):
        report.refuse(f"{where}: the installer of {release} knows this key only as {key.snake_name}", where)
    if name == key.snake_name and release.knows(KEBAB_SINCE):
        report.warn(f"{where}: the spelling with '_' is to be dropped; write {key.name} (known since 8.4)", where)


# What must hold between keys. Each rule reads an Answer and reports; the order is that of the document.

Rule = Callable[[Answer, Report], None]


def _passwords(answer: Answer, report: Report) -> None:
    table = answer["global"]
    plain, hashed = "root-password" in table.present, "root-password-hashed" in table.present
    if "global" in answer[""].good and not plain and not hashed:
        report.refuse("one of global.root-password and global.root-password-hashed must be set", "global.root-password")
    if plain and hashed:
        message = "global.root-password and global.root-password-hashed cannot be set at the same time"
        report.refuse(message, "global.root-password")
    if (password := table.get("root-password")) is not None:
        _plain_password(password, answer.release, report)
    if (crypt := table.get("root-password-hashed")) is not None and not values.looks_hashed(crypt):
        where = "global.root-password-hashed"
        report.warn(f"{where}: does not look like a crypt(3) hash ($6$…): nobody could log in", where)


def _plain_password(password: str, release: Release, report: Report) -> None:
    """Lengths are in bytes; the text itself is never repeated."""
    where = "global.root-password"
    report.warn(f"{where}: a password in plain text; global.root-password-hashed takes its crypt(3) hash", where)
    size = len(password.encode("utf-8"))
    rule = f"must have at least {PASSWORD_BYTES.start} bytes"
    if size >= PASSWORD_BYTES.stop:
        report.warn(f"{where}: is long; Proxmox tools take at most {PASSWORD_BYTES.stop - 1} bytes", where)
    elif not size:
        report.refuse(f"{where}: is empty", where)
    elif size < PASSWORD_BYTES.start and release.knows(PASSWORD_LIMIT_SINCE):
        report.refuse(f"{where}: {rule}", where)
    elif size < PASSWORD_BYTES.start:
        report.warn(f"{where}: {rule}, from 8.4 on", where)


def _ssh_keys(answer: Answer, report: Report) -> None:
    for place, key in enumerate(answer["global"].get("root-ssh-keys") or (), 1):
        if not re.search(r"(?:^|\s)(?:ssh|ecdsa|sk)-[a-z0-9@.-]+\s+[A-Za-z0-9+/]{8}", key):
            where = "global.root-ssh-keys"
            report.warn(f"{where}: entry {place} does not look like a public key (ssh-ed25519 AAAA…)", where)


def _timezone(answer: Answer, report: Report) -> None:
    zone, where = answer["global"].get("timezone"), "global.timezone"
    if zone is None:
        return
    if values.is_zone_alias(zone):
        report.refuse(f"{where}: is an alias, which the installer refuses: use the zone's own name (or 'UTC')", where)
    elif doubt := values.zone_doubt(zone):
        report.warn(f"{where}: {doubt}", where)


def _fqdn_table(answer: Answer, report: Report) -> None:
    if not isinstance(answer["global"].get("fqdn"), dict):
        return
    since: Since = (8, 4, 3)
    known = answer.release.knows(since)
    if known is False:
        report.refuse(
            f"global.fqdn: the installer of {answer.release} takes only a string (a table since 8.4.3)", "global.fqdn"
        )
    elif known is None:
        report.warn(f"global.fqdn: a table needs the package 8.4.3 or later of {answer.release}", "global.fqdn")
    if answer["global.fqdn"].get("domain") == "" and not answer.release.knows(EMPTY_DOMAIN_SINCE):
        where = "global.fqdn.domain"
        report.refuse(f"{where}: empty stands for none only since 9.0.5; leave the key out", where)


def _subscription(answer: Answer, report: Report) -> None:
    key, product = answer["global"].get("subscription-key"), answer.product
    if key is not None and product is not None and not key.startswith(product):
        where = "global.subscription-key"
        report.refuse(f"{where}: is a key of another product than {PRODUCTS[product]}", where)


STATIC_KEYS = ("cidr", "dns", "gateway", "filter")
"""What from-answer needs and from-dhcp refuses."""


def _network_source(answer: Answer, report: Report) -> None:
    table = answer["network"]
    if "network" not in answer[""].good:
        return
    source = table.get("source")
    if "source" not in table.present:
        if answer.release.knows(SOURCE_REQUIRED_SINCE):
            report.refuse(
                "network.source is missing: the installer requires it since 9.2 (from-dhcp or from-answer)",
                "network.source",
            )
            return
        source = "from-dhcp"
        report.warn("network.source is missing: from-dhcp before 9.2, refused since", "network.source")
    for name in STATIC_KEYS:
        where = table.at(name)
        if source == "from-dhcp" and name in table.present:
            report.refuse(f'{where}: the installer refuses it beside source = "from-dhcp"', where)
        if source == "from-answer" and name not in table.present:
            report.refuse(f'{where} is missing: source = "from-answer" needs it', where)


def _addresses(answer: Answer, report: Report) -> None:
    """The gateway must be in the network of cidr, and of its family; the installer itself does not look."""
    table = answer["network"]
    if (written := table.get("cidr")) is None:
        return
    interface = ipaddress.ip_interface(written)
    if (dns := table.get("dns")) and ipaddress.ip_address(dns).version != interface.version:
        report.warn("network.dns: is of another address family than network.cidr", "network.dns")
    _host_part(interface, report)
    if gateway := table.get("gateway"):
        _gateway(ipaddress.ip_address(gateway), interface, report)


def _host_part(interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface, report: Report) -> None:
    network = interface.network
    if interface.version != 4 or network.prefixlen > 30:  # noqa: PLR2004 - /31 and /32 have neither
        return
    names = {network.network_address: "network", network.broadcast_address: "broadcast"}
    if name := names.get(interface.ip):
        report.warn(f"network.cidr: is the {name} address of its network, not a host's", "network.cidr")


def _gateway(
    gateway: ipaddress.IPv4Address | ipaddress.IPv6Address,
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface,
    report: Report,
) -> None:
    where, network = "network.gateway", interface.network
    if gateway.version != interface.version:
        report.refuse(f"{where}: is of another address family than network.cidr", where)
    elif gateway == interface.ip:
        report.warn(f"{where}: is the machine's own address", where)
    elif gateway in network or (gateway.version == 6 and gateway.is_link_local):  # noqa: PLR2004
        return
    elif network.num_addresses == 1:
        report.warn(f"{where}: cannot be in the single-host network of network.cidr", where)
    else:
        report.refuse(f"{where}: is outside the network of network.cidr", where)


def _filter_names(answer: Answer, report: Report) -> None:
    for table in (answer["network"], answer["disk-setup"]):
        for name in table.get("filter") or ():
            if name != name.upper():
                where = table.at("filter")
                report.warn(f"{where}: the key {brief(name)!r} is in lower case, udev properties are not", where)


def _disk_choice(answer: Answer, report: Report) -> None:
    table = answer["disk-setup"]
    if "disk-setup" not in answer[""].good:
        return
    empty_list = table.get("disk-list") == []
    listed, filtered = "disk-list" in table.present and not empty_list, "filter" in table.present
    if listed and filtered:
        report.refuse("disk-setup.disk-list and disk-setup.filter cannot both be set", "disk-setup.filter")
    if not listed and not filtered:
        report.refuse("one of disk-setup.disk-list and disk-setup.filter must be set", "disk-setup.disk-list")
    if "filter-match" not in table.present:
        return
    where = "disk-setup.filter-match"
    if not filtered:
        report.warn(f"{where}: means nothing without disk-setup.filter", where)
    elif table.get("filesystem") in ("ext4", "xfs"):
        report.warn(f"{where}: is ignored for ext4 and xfs, the first disk that any filter matches is taken", where)


def _disk_count(answer: Answer, report: Report) -> None:
    """Disks that are listed can be counted; what a filter finds is known on the machine only."""
    table, where = answer["disk-setup"], "disk-setup.disk-list"
    listed, filesystem = table.get("disk-list"), table.get("filesystem")
    if not listed or filesystem is None:
        return
    if filesystem in ("ext4", "xfs"):
        if len(listed) != 1:
            report.refuse(f"{where}: {filesystem} takes exactly one disk, got {len(listed)}", where)
        return
    level = str(answer[f"disk-setup.{filesystem}"].get("raid")).lower()
    least = (ZFS_LEVELS if filesystem == "zfs" else BTRFS_LEVELS).get(level)
    if least is None:
        return
    if len(listed) < least:
        report.refuse(f"{where}: {filesystem} {level} needs at least {least} disks, got {len(listed)}", where)
    elif level == "raid10" and len(listed) % 2:
        message = f"{where}: {filesystem} raid10 needs an even number of disks, got {len(listed)}"
        _refuse_since(EVEN_RAID10_SINCE, message, where, answer, report)


def _refuse_since(since: Since, message: str, where: str, answer: Answer, report: Report) -> None:
    """What the installer refuses since a release is only worth a look for one that is older."""
    tell = report.warn if answer.release.knows(since) is False else report.refuse
    tell(message, where)


def _filesystem_table(answer: Answer, report: Report) -> None:
    table = answer["disk-setup"]
    filesystem = table.get("filesystem")
    if filesystem is None:
        return
    own = FILESYSTEM_TABLES[filesystem]
    for other in ("lvm", "zfs", "btrfs"):
        if other != own and other in table.present:
            where = table.at(other)
            report.refuse(f"{where}: filesystem is {filesystem}; make sure only '{own}' options are set", where)
    if own != "lvm" and own not in table.present:
        where = f"disk-setup.{own}.raid"
        report.refuse(f"{where} is missing: {filesystem} needs it", where)
    if filesystem == "btrfs" and answer.product not in (None, "pve"):
        report.refuse(
            f"disk-setup.filesystem: {PRODUCTS[str(answer.product)]} has no btrfs, only Proxmox VE has",
            "disk-setup.filesystem",
        )


def _raid_case(answer: Answer, report: Report) -> None:
    known = answer.release.knows(UPPER_RAID_SINCE)
    for path in ("disk-setup.zfs", "disk-setup.btrfs"):
        level, where = answer[path].get("raid"), f"{path}.raid"
        if level is None or level.islower() or known:
            continue
        if known is False:
            report.refuse(f"{where}: the installer of {answer.release} takes only lower case: {level.lower()!r}", where)
        else:
            report.warn(f"{where}: upper case needs the package 8.3.3 or later; write {level.lower()!r}", where)


def _swap(answer: Answer, report: Report) -> None:
    table, where = answer["disk-setup.lvm"], "disk-setup.lvm.swapsize"
    swapsize, hdsize = table.get("swapsize"), table.get("hdsize")
    if swapsize is None or hdsize is None or swapsize <= hdsize / 2:
        return
    message = f"{where}: is more than half of hdsize"
    _refuse_since(SWAP_LIMIT_SINCE, message, where, answer, report)


def _pinning(answer: Answer, report: Report) -> None:
    table = answer["network.interface-name-pinning"]
    if table.get("mapping") and table.get("enabled") is False:
        where = table.at("mapping")
        report.warn(f"{where}: means nothing while enabled = false", where)


def _first_boot(answer: Answer, report: Report) -> None:
    table, where = answer["first-boot"], "first-boot.url"
    source = table.get("source")
    if source == "from-url" and "url" not in table.present:
        report.refuse(f'{where} is missing: source = "from-url" needs it', where)
    if source == "from-iso" and "url" in table.present:
        report.warn(f'{where}: means nothing beside source = "from-iso"', where)


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
