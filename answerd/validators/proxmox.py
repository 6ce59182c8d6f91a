"""TOML answers: well-formed, and the Proxmox automated installer's schema where the document has a section of it, by
the rules of one installer release. ``[network]`` without ``[global]`` is an unfinished Proxmox answer, and no document
of another kind.

Two tables decide: `TABLES` says what each key is by itself (the checks of values are in
`answerd.validators.proxmox_values`), `RULES` what holds between keys. The facts were read from pve-installer 9.2.7, its
state before 9.2, and the crate proxmox-installer-types.

Without a release the newest installer's rules decide, so that an answer which it refuses is invalid even if an older
installer would take it (``network.source`` is missing). A key that only installers newer than 9.0 know is a warning.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from answerd.formats.control import CONTROL_KEYS
from answerd.formats.toml import fixed_sentence
from answerd.identity import brief
from answerd.validators import proxmox_values as values
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import JudgedAnswer, Remarks

# --- releases of the installer: which one reads an answer, and what came with which ---

Since = tuple[int, int, int]
"""The first installer package with something: major, minor, patch."""

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
"""When no release is stated, a key that every installer from this one on knows is no warning."""

PRODUCTS: Mapping[str, str] = {
    "pve": "Proxmox VE",
    "pbs": "Proxmox Backup Server",
    "pmg": "Proxmox Mail Gateway",
    "pdm": "Proxmox Datacenter Manager",
}


@dataclass(frozen=True)
class Release:
    """The installer that will read the answer. ``patch`` None: any package of that minor, as an ISO states no patch."""

    major: int
    minor: int
    patch: int | None = None
    stated: bool = True

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + ("" if self.patch is None or not self.stated else f".{self.patch}")

    def knows(self, since: Since) -> bool | None:
        """Return whether this release has what came with ``since``; None when only some of its packages do."""
        if (self.major, self.minor) != since[:2]:
            return (self.major, self.minor) > since[:2]
        if self.patch is None:
            return True if since[2] == 0 else None
        return self.patch >= since[2]


UNSTATED = Release(*NEWEST_RELEASE, stated=False)

_RELEASE = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,5}))?(?:[-~+].*)?")


def read_release(text: str | None, product: str | None, remarks: Remarks) -> Release:
    """Return the release that ``iso.release`` or an operator states; the newest, with a note, where it cannot be read.

    Only Proxmox VE's releases are numbered like the installer's.
    """
    if text is None or not text.strip():
        return UNSTATED
    if product not in (None, "pve"):
        remarks.note(f"{product} releases are not numbered like the installer's: judged by {UNSTATED}, not by {text!r}")
        return UNSTATED
    shape = _RELEASE.fullmatch(text.strip())
    if shape is None:
        remarks.note(f"release {text!r} is not one such as 8.4: judged by the rules of {UNSTATED}")
        return UNSTATED
    major, minor, patch = (None if part is None else int(part) for part in shape.groups())
    assert major is not None  # noqa: S101 - the expression has both
    assert minor is not None  # noqa: S101
    release = Release(major, minor, patch)
    if (major, minor) > NEWEST_RELEASE[:2]:
        remarks.note(f"release {text} is newer than the rules known here: judged by those of {UNSTATED}")
    if (major, minor) < FIRST_RELEASE[:2]:
        remarks.note(f"release {text} has no automated installer (it came with 8.2): judged by the rules of 8.2")
        return Release(*FIRST_RELEASE[:2])
    return release


# --- the keys ---


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

SECTIONS = tuple(key.name for key in TABLES[""])
"""The top-level tables of a Proxmox answer."""

PASSWORD_BYTES = range(8, 65)

_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


# --- judging ---


@dataclass(frozen=True)
class AnswerTable:
    """A table as the rules see it: the names of its keys, and the values of those that are right by themselves."""

    path: str
    present: frozenset[str] = frozenset()
    good: Mapping[str, Any] = field(default_factory=dict)

    def at(self, name: str) -> str:
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


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    """Judge a TOML text; Proxmox's own tool is to judge a Proxmox answer too."""
    try:
        document = tomllib.loads(answer.text)
    except tomllib.TOMLDecodeError as error:
        _refuse_syntax(str(error), remarks)
        document = {}
    except ValueError:
        remarks.refuse("not TOML: it holds a number or a date that is out of range")
        document = {}
    except RecursionError:
        remarks.refuse("not TOML: nested too deeply to be read")
        document = {}
    remarks.judged_by("TOML syntax")
    if "global" not in document and not any(isinstance(document.get(name), dict) for name in SECTIONS):
        return None
    _judge_schema(document, answer.release, answer.product, remarks)
    return ToolRequest("proxmox-auto-install-assistant", answer.text, answer.format)


def _refuse_syntax(message: str, remarks: Remarks) -> None:
    """Add tomllib's message as a finding, with its place as the finding's."""
    place = _PLACE.search(message)
    column = f" (column {place[2]})" if place else ""
    line = int(place[1]) if place else None
    remarks.refuse(f"not TOML: {fixed_sentence(_PLACE.sub('', message))}{column}", line=line)


def _judge_schema(document: Mapping[str, Any], release: str | None, product: str | None, remarks: Remarks) -> None:
    """Judge a parsed TOML document that has a section of a Proxmox answer.

    ``release`` is the installer's (``8.2``), ``product`` one of `PRODUCTS`; None for either: not known.
    """
    if product is not None and product not in PRODUCTS:
        remarks.note(f"product {product!r} is not known ({', '.join(PRODUCTS)}): rules of a product were not judged")
        product = None
    reader = read_release(release, product, remarks)
    tables: dict[str, AnswerTable] = {}
    for path in TABLES:
        tables[path] = _read_table(_raw(document, path), path, reader, remarks)
    answer = ProxmoxAnswer(tables, reader, product)
    for rule in RULES:
        rule(answer, remarks)
    remarks.judged_by(f"Proxmox answer schema (rules of {reader})")


def _raw(document: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """Return the document's table at a path, None when there is none or it is not a table."""
    table: Any = document
    for name in path.split(".") if path else ():
        table = table.get(name)
        if not isinstance(table, dict):
            return None
    found: Mapping[str, Any] = table
    return found


def _read_table(raw: Mapping[str, Any] | None, path: str, release: Release, remarks: Remarks) -> AnswerTable:
    if raw is None:
        return AnswerTable(path)
    keys = {key.name: key for key in TABLES[path]}
    spellings = keys | {key.snake_name: key for key in keys.values() if key.snake or key.alias}
    present: set[str] = set()
    good: dict[str, Any] = {}
    for name, value in raw.items():
        where = f"{path}.{name}" if path else name
        key = spellings.get(name)
        if key is None:
            _refuse_unknown(name, where, keys, remarks)
            continue
        if key.name in present:
            remarks.refuse(f"{where}: the key is set twice, as {key.name} and {key.snake_name}", where)
            continue
        present.add(key.name)
        _judge_release(key, name, where, release, remarks)
        if wrong := key.check(value):
            remarks.refuse(f"{where}: {wrong}", where)
        else:
            good[key.name] = value
    for key in keys.values():
        if key.required and key.name not in present:
            where = f"{path}.{key.name}" if path else key.name
            remarks.refuse(f"{where} is missing: {'every answer' if not path else f'[{path}]'} must have it", where)
    return AnswerTable(path, frozenset(present), good)


def _refuse_unknown(name: str, where: str, keys: Iterable[str], remarks: Remarks) -> None:
    if "." not in where and name in CONTROL_KEYS:  # only in a document that was not rendered first
        remarks.refuse(f"{where}: a control key of answerd, not of the installer: validate the rendered answer", where)
        return
    known = remarks.did_you_mean(name, keys)
    remarks.refuse(f"{where}: the installer knows no such key and refuses the whole answer{known}", where)


def _judge_release(key: KeyRule, name: str, where: str, release: Release, remarks: Remarks) -> None:
    """Judge whether the release knows the key and its spelling."""
    known = release.knows(key.since)
    since = ".".join(map(str, key.since))
    if known is False:
        remarks.refuse(f"{where}: the installer of {release} does not know this key (since {since})", where)
    elif known is None:
        remarks.warn(f"{where}: only the packages {since} and later of {release} know this key", where)
    elif not release.stated and key.since > OLD_ENOUGH:
        remarks.warn(f"{where}: installers before {since} do not know this key and refuse the answer", where)
    if not key.snake or name == key.snake_name == key.name:
        return
    if name == key.name and "-" in name and not release.knows(KEBAB_SINCE):
        remarks.refuse(f"{where}: the installer of {release} knows this key only as {key.snake_name}", where)
    if name == key.snake_name and release.knows(KEBAB_SINCE):
        remarks.warn(f"{where}: the spelling with '_' will be dropped; write {key.name} (known since 8.4)", where)


# --- the rules between keys: a key that is wrong by itself takes no part, so that one mistake is reported once ---


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
