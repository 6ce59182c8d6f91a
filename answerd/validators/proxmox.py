"""TOML answers: well-formed, and the Proxmox automated installer's schema where the document has a section of it, by
the rules of one installer release from 9.0 on. ``[network]`` without ``[global]`` is an unfinished Proxmox answer, and
no document of another kind.

Two tables decide: `TABLES` says what each key is by itself (the checks of values are in
`answerd.validators.proxmox_values`), `RULES` what holds between keys. The facts were read from pve-installer 9.2.7, its
state before 9.2, and the crate proxmox-installer-types. Proxmox VE 8 has had no support since August 2026.

Without a release the newest installer's rules decide, so that an answer which it refuses is invalid even if an older
installer would take it (``network.source`` is missing). A key that only installers newer than 9.0 know is a warning.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from answerd.formats.control import CONTROL_KEYS
from answerd.formats.toml import fixed_sentence
from answerd.short_texts import brief
from answerd.validators import proxmox_values as values
from answerd.validators.time_zones import known_zones
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import JudgedAnswer, Remarks

# --- releases of the installer: which one reads an answer, and what came with which ---

Since = tuple[int, int, int]
"""The first installer package with something: major, minor, patch."""

FIRST_RELEASE: Since = (9, 0, 0)
NEWEST_RELEASE: Since = (9, 2, 7)
SOURCE_REQUIRED_SINCE: Since = (9, 2, 0)
SWAP_LIMIT_SINCE: Since = (9, 0, 5)
EMPTY_DOMAIN_SINCE: Since = (9, 0, 5)
EVEN_RAID10_SINCE: Since = (9, 2, 6)

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
        remarks.note(f"release {text!r} is not one such as 9.2: judged by the rules of {UNSTATED}")
        return UNSTATED
    major, minor, patch = (None if part is None else int(part) for part in shape.groups())
    assert major is not None  # noqa: S101 - the expression has both
    assert minor is not None  # noqa: S101
    release = Release(major, minor, patch)
    if (major, minor) > NEWEST_RELEASE[:2]:
        remarks.note(f"release {text} is newer than the rules known here: judged by those of {UNSTATED}")
    if (major, minor) < FIRST_RELEASE[:2]:
        remarks.note(f"release {text} is older than the rules known here: judged by those of 9.0")
        return Release(*FIRST_RELEASE[:2])
    return release


# --- the keys ---


@dataclass(frozen=True)
class KeyRule:
    """A key of a table. ``snake`` marks the keys that 8.2 and 8.3 wrote with ``_``, which is still taken."""

    name: str
    check: values.Check
    required: bool = False
    since: Since = FIRST_RELEASE
    snake: bool = False
    alias: bool = False
    """Whether the ``_`` spelling is as good."""

    @property
    def snake_name(self) -> str:
        return self.name.replace("-", "_")


ZFS_LEVELS: Mapping[str, int] = {"raid0": 1, "raid1": 2, "raid10": 4, "raidz-1": 3, "raidz-2": 4, "raidz-3": 5}
BTRFS_LEVELS: Mapping[str, int] = {"raid0": 1, "raid1": 2, "raid10": 4}
"""RAID level to the fewest disks it takes."""

FILESYSTEM_TABLES: Mapping[str, str] = {"ext4": "lvm", "xfs": "lvm", "zfs": "zfs", "btrfs": "btrfs"}
"""Filesystem to the only options table that may be set with it."""

TABLES: Mapping[str, tuple[KeyRule, ...]] = {
    "": (
        KeyRule("global", values.table, required=True),
        KeyRule("network", values.table, required=True),
        KeyRule("disk-setup", values.table, required=True),
        KeyRule("post-installation-webhook", values.table),
        KeyRule("first-boot", values.table),
    ),
    "global": (
        KeyRule("country", values.country, required=True),
        KeyRule("fqdn", values.fqdn, required=True),
        KeyRule("keyboard", values.one_of(*values.KEYBOARDS), required=True),
        KeyRule("mailto", values.mailto, required=True),
        KeyRule("timezone", values.timezone, required=True),
        KeyRule("root-password", values.string, snake=True),
        KeyRule("root-password-hashed", values.string, snake=True),
        KeyRule("reboot-on-error", values.boolean, snake=True),
        KeyRule("reboot-mode", values.one_of("reboot", "power-off")),
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
        KeyRule("interface-name-pinning", values.table, since=(9, 1, 0)),
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
        KeyRule("zfs", values.table),
        KeyRule("lvm", values.table),
        KeyRule("btrfs", values.table),
    ),
    "disk-setup.zfs": (
        KeyRule("raid", values.raid(*ZFS_LEVELS), required=True),
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
        KeyRule("raid", values.raid(*BTRFS_LEVELS), required=True),
        KeyRule("compress", values.one_of("on", "off", "zlib", "lzo", "zstd")),
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

    present: frozenset[str] = frozenset()
    good: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ProxmoxAnswer:
    """The tables of a document by their paths, and which installer reads it. A table that the document lacks is
    empty."""

    tables: Mapping[str, AnswerTable]
    release: Release
    product: str | None
    remarks: Remarks

    def has(self, path: str) -> bool:
        """Return whether a key is there, right or wrong."""
        table, _, name = path.rpartition(".")
        return name in self.tables[table].present

    def get(self, path: str) -> Any:
        """Return the value of a key, None when it is absent or wrong by itself."""
        table, _, name = path.rpartition(".")
        return self.tables[table].good.get(name)

    def refuse_since(self, since: Since, message: str, path: str) -> None:
        """Refuse what the installer refuses since a release; warn where the release is older."""
        add = self.remarks.warn if self.release.knows(since) is False else self.remarks.refuse
        add(message, path)


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    """Judge a TOML text; Proxmox's own tool is to judge a Proxmox answer too."""
    document: dict[str, Any] = {}
    try:
        document = tomllib.loads(answer.text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        column = f" (column {place[2]})" if place else ""
        reason = fixed_sentence(_PLACE.sub("", str(error)))
        remarks.refuse(f"not TOML: {reason}{column}", line=int(place[1]) if place else None)
    except ValueError:
        remarks.refuse("not TOML: it holds a number or a date that is out of range")
    except RecursionError:
        remarks.refuse("not TOML: nested too deeply to be read")
    remarks.judged_by("TOML syntax")
    if "global" not in document and not any(isinstance(document.get(name), dict) for name in SECTIONS):
        return None
    product = answer.product
    if product is not None and product not in PRODUCTS:
        remarks.note(f"product {product!r} is not known ({', '.join(PRODUCTS)}): rules of a product were not judged")
        product = None
    release = read_release(answer.release, product, remarks)
    tables = {path: _read_table(document, path, release, remarks) for path in TABLES}
    for rule in RULES:
        rule(ProxmoxAnswer(tables, release, product, remarks))
    remarks.judged_by(f"Proxmox answer schema (rules of {release})")
    return ToolRequest("proxmox-auto-install-assistant", answer.text, answer.format)


def _read_table(document: Any, path: str, release: Release, remarks: Remarks) -> AnswerTable:
    raw = document
    for name in path.split(".") if path else ():
        raw = raw.get(name) if isinstance(raw, dict) else None
    if not isinstance(raw, dict):
        return AnswerTable()
    keys = {key.name: key for key in TABLES[path]}
    spellings = keys | {key.snake_name: key for key in keys.values() if key.snake or key.alias}
    present: set[str] = set()
    good: dict[str, Any] = {}
    for name, value in raw.items():
        where = f"{path}.{name}" if path else name
        key = spellings.get(name)
        if key is None and not path and name in CONTROL_KEYS:  # only in a document that was not rendered first
            remarks.refuse("a control key of answerd, not of the installer: validate the rendered answer", where)
        elif key is None:
            known = remarks.did_you_mean(name, keys)
            remarks.refuse(f"the installer knows no such key and refuses the whole answer{known}", where)
        elif key.name in present:
            remarks.refuse(f"the key is set twice, as {key.name} and {key.snake_name}", where)
        else:
            present.add(key.name)
            _judge_release(key, name, where, release, remarks)
            if wrong := key.check(value):
                remarks.refuse(wrong, where)
            else:
                good[key.name] = value
    for key in keys.values():
        if key.required and key.name not in present:
            holder = f"[{path}]" if path else "every answer"
            remarks.refuse(f"is missing: {holder} must have it", f"{path}.{key.name}" if path else key.name)
    return AnswerTable(frozenset(present), good)


def _judge_release(key: KeyRule, name: str, where: str, release: Release, remarks: Remarks) -> None:
    """Judge whether the release knows the key, and its spelling."""
    since, known = ".".join(map(str, key.since)), release.knows(key.since)
    if known is False:
        remarks.refuse(f"the installer of {release} does not know this key (since {since})", where)
    elif known is None:
        remarks.warn(f"only the packages {since} and later of {release} know this key", where)
    elif not release.stated and key.since > FIRST_RELEASE:
        remarks.warn(f"installers before {since} do not know this key and refuse the answer", where)
    if key.snake and name != key.name:
        remarks.warn(f"the spelling with '_' is what 8.2 and 8.3 wrote, and will be dropped; write {key.name}", where)


# --- the rules between keys: a key that is wrong by itself takes no part, so that one mistake is reported once ---


def _passwords(answer: ProxmoxAnswer) -> None:
    where, hashed, remarks = "global.root-password", "global.root-password-hashed", answer.remarks
    if answer.get("global") is not None and not answer.has(where) and not answer.has(hashed):
        remarks.refuse(f"is missing: one of it and {hashed} must be set", where)
    if answer.has(where) and answer.has(hashed):
        remarks.refuse(f"cannot be set beside {hashed}", where)
    if (password := answer.get(where)) is not None:
        remarks.warn(f"a password in plain text; {hashed} takes its crypt(3) hash", where)
        size = len(password.encode("utf-8"))
        if size >= PASSWORD_BYTES.stop:
            remarks.warn(f"is long; Proxmox tools take at most {PASSWORD_BYTES.stop - 1} bytes", where)
        elif not size:
            remarks.refuse("is empty", where)
        elif size < PASSWORD_BYTES.start:
            remarks.refuse(f"must have at least {PASSWORD_BYTES.start} bytes", where)
    if (crypt := answer.get(hashed)) is not None and not values.looks_hashed(crypt):
        remarks.warn("does not look like a crypt(3) hash ($6$…): no one could log in", hashed)


_SSH_KEY = re.compile(r"(?:^|\s)(?:ssh|ecdsa|sk)-[a-z0-9@.-]+\s+[A-Za-z0-9+/]{8}")


def _ssh_keys(answer: ProxmoxAnswer) -> None:
    where = "global.root-ssh-keys"
    for place, key in enumerate(answer.get(where) or (), 1):
        if not _SSH_KEY.search(key):
            answer.remarks.warn(f"entry {place} does not look like a public key (ssh-ed25519 AAAA…)", where)


def _timezone(answer: ProxmoxAnswer) -> None:
    where = "global.timezone"
    zone = answer.get(where)
    doubt = None if zone is None else values.zone_doubt(zone)
    if doubt and zone in known_zones():
        answer.remarks.refuse("is an alias, which the installer refuses: use the zone's own name (or 'UTC')", where)
    elif doubt:
        answer.remarks.warn(doubt, where)


def _fqdn_domain(answer: ProxmoxAnswer) -> None:
    if answer.get("global.fqdn.domain") == "" and not answer.release.knows(EMPTY_DOMAIN_SINCE):
        answer.remarks.refuse("empty means none only since 9.0.5; leave the key out", "global.fqdn.domain")


def _subscription(answer: ProxmoxAnswer) -> None:
    where = "global.subscription-key"
    key, product = answer.get(where), answer.product
    if key is not None and product is not None and not key.startswith(product):
        answer.remarks.refuse(f"is a key of another product than {PRODUCTS[product]}", where)


STATIC_KEYS = ("cidr", "dns", "gateway", "filter")
"""Keys that from-answer needs and from-dhcp refuses."""


def _network_source(answer: ProxmoxAnswer) -> None:
    where, remarks = "network.source", answer.remarks
    if answer.get("network") is None:
        return
    source = answer.get(where)
    if not answer.has(where):
        if answer.release.knows(SOURCE_REQUIRED_SINCE):
            remarks.refuse("is missing: the installer requires it since 9.2 (from-dhcp or from-answer)", where)
            return
        source = "from-dhcp"
        remarks.warn("is missing: from-dhcp before 9.2, refused since", where)
    for path in (f"network.{name}" for name in STATIC_KEYS):
        if source == "from-dhcp" and answer.has(path):
            remarks.refuse('the installer refuses it beside source = "from-dhcp"', path)
        if source == "from-answer" and not answer.has(path):
            remarks.refuse('is missing: source = "from-answer" needs it', path)


def _addresses(answer: ProxmoxAnswer) -> None:
    """Judge name server and gateway, which must be in the network of cidr, and of its family. The installer does not
    check this."""
    remarks = answer.remarks
    if (written := answer.get("network.cidr")) is None:
        return
    interface = ipaddress.ip_interface(written)
    network = interface.network
    if (dns := answer.get("network.dns")) and ipaddress.ip_address(dns).version != interface.version:
        remarks.warn("is of another address family than network.cidr", "network.dns")
    if interface.version == 4 and network.prefixlen <= 30:  # noqa: PLR2004 - /31 and /32 have neither
        names = {network.network_address: "network", network.broadcast_address: "broadcast"}
        if name := names.get(interface.ip):
            remarks.warn(f"is the {name} address of its network, not a host's", "network.cidr")
    where = "network.gateway"
    if not (written := answer.get(where)):
        return
    gateway = ipaddress.ip_address(written)
    if gateway.version != interface.version:
        remarks.refuse("is of another address family than network.cidr", where)
    elif gateway == interface.ip:
        remarks.warn("is the machine's own address", where)
    elif gateway in network or (gateway.version == 6 and gateway.is_link_local):  # noqa: PLR2004
        return
    elif network.num_addresses == 1:
        remarks.warn("cannot be in the single-host network of network.cidr", where)
    else:
        remarks.refuse("is outside the network of network.cidr", where)


def _filter_names(answer: ProxmoxAnswer) -> None:
    for where in ("network.filter", "disk-setup.filter"):
        for name in answer.get(where) or ():
            if name != name.upper():
                answer.remarks.warn(f"the key {brief(name)!r} is in lower case, udev properties are not", where)


def _disk_choice(answer: ProxmoxAnswer) -> None:
    disks, filter_, match, remarks = (
        "disk-setup.disk-list",
        "disk-setup.filter",
        "disk-setup.filter-match",
        answer.remarks,
    )
    if answer.get("disk-setup") is None:
        return
    listed, filtered = answer.has(disks) and answer.get(disks) != [], answer.has(filter_)
    if listed and filtered:
        remarks.refuse(f"cannot be set beside {disks}", filter_)
    if not listed and not filtered:
        remarks.refuse(f"is missing: one of it and {filter_} must be set", disks)
    if answer.has(match) and not filtered:
        remarks.warn(f"means nothing without {filter_}", match)
    elif answer.has(match) and answer.get("disk-setup.filesystem") in ("ext4", "xfs"):
        remarks.warn("is ignored for ext4 and xfs, the first disk that any filter matches is taken", match)


def _disk_count(answer: ProxmoxAnswer) -> None:
    """Judge how many disks are listed; what a filter finds is known on the machine only."""
    where, remarks = "disk-setup.disk-list", answer.remarks
    listed, filesystem = answer.get(where), answer.get("disk-setup.filesystem")
    if not listed or filesystem is None:
        return
    if filesystem in ("ext4", "xfs"):
        if len(listed) != 1:
            remarks.refuse(f"{filesystem} takes exactly one disk, got {len(listed)}", where)
        return
    level = str(answer.get(f"disk-setup.{filesystem}.raid")).lower()
    least = (ZFS_LEVELS if filesystem == "zfs" else BTRFS_LEVELS).get(level)
    if least is None:
        return
    if len(listed) < least:
        remarks.refuse(f"{filesystem} {level} needs at least {least} disks, got {len(listed)}", where)
    elif level == "raid10" and len(listed) % 2:
        message = f"{filesystem} raid10 needs an even number of disks, got {len(listed)}"
        answer.refuse_since(EVEN_RAID10_SINCE, message, where)


def _filesystem_table(answer: ProxmoxAnswer) -> None:
    where, remarks = "disk-setup.filesystem", answer.remarks
    filesystem = answer.get(where)
    if filesystem is None:
        return
    own = FILESYSTEM_TABLES[filesystem]
    for other in ("lvm", "zfs", "btrfs"):
        if other != own and answer.has(f"disk-setup.{other}"):
            remarks.refuse(f"filesystem is {filesystem}; make sure only '{own}' options are set", f"disk-setup.{other}")
    if own != "lvm" and not answer.has(f"disk-setup.{own}"):
        remarks.refuse(f"is missing: {filesystem} needs it", f"disk-setup.{own}.raid")
    if filesystem == "btrfs" and answer.product not in (None, "pve"):
        remarks.refuse(f"{PRODUCTS[str(answer.product)]} has no btrfs, only Proxmox VE has", where)


def _swap(answer: ProxmoxAnswer) -> None:
    where = "disk-setup.lvm.swapsize"
    swapsize, hdsize = answer.get(where), answer.get("disk-setup.lvm.hdsize")
    if swapsize is not None and hdsize is not None and swapsize > hdsize / 2:
        answer.refuse_since(SWAP_LIMIT_SINCE, "is more than half of hdsize", where)


def _pinning(answer: ProxmoxAnswer) -> None:
    where = "network.interface-name-pinning"
    if answer.get(f"{where}.mapping") and answer.get(f"{where}.enabled") is False:
        answer.remarks.warn("means nothing while enabled = false", f"{where}.mapping")


def _first_boot(answer: ProxmoxAnswer) -> None:
    where, source = "first-boot.url", answer.get("first-boot.source")
    if source == "from-url" and not answer.has(where):
        answer.remarks.refuse('is missing: source = "from-url" needs it', where)
    if source == "from-iso" and answer.has(where):
        answer.remarks.warn('means nothing beside source = "from-iso"', where)


RULES: tuple[Callable[[ProxmoxAnswer], None], ...] = (
    _passwords,
    _ssh_keys,
    _timezone,
    _fqdn_domain,
    _subscription,
    _network_source,
    _addresses,
    _pinning,
    _filesystem_table,
    _disk_choice,
    _filter_names,
    _disk_count,
    _swap,
    _first_boot,
)
