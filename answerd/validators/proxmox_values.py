"""The single values of a Proxmox answer: a check for each kind, which returns what is wrong with a value.

The rules were read from pve-installer 9.2.7 and the crate proxmox-installer-types. Which key has which rule is in
`answerd.validators.proxmox`. No function repeats a value: a password may be under the wrong key.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from answerd.short_texts import brief
from answerd.suggestion import did_you_mean
from answerd.validators.time_zones import canonical_zones

Check = Callable[[Any], str | None]
"""Takes a parsed TOML value; returns what is wrong with it as a clause (``must be …``), None when it is right."""

_KEYBOARDS = "de de-ch dk en-gb en-us es fi fr fr-be fr-ca fr-ch hu is it jp lt mk nl no pl pt pt-br se si tr"
_COUNTRIES = """
ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz ca
cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo fr ga
gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp
ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms
mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs
ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw
tz ua ug um us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw
"""

KEYBOARDS = tuple(_KEYBOARDS.split())
COUNTRIES = frozenset(_COUNTRIES.split())
"""ISO 3166-1 alpha-2, all 249, in the lower case that the installer wants."""

MAILTO_PLACEHOLDER = "mail@example.invalid"
FQDN_LIMIT = 253
LABEL_LIMIT = 63
U32_LIMIT = 2**32 - 1
SUBSCRIPTION_KEY_LENGTHS = range(11, 33)

_MAIL_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_MAIL = re.compile(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_MAIL_LABEL}(?:\.{_MAIL_LABEL})*")
"""The expression of HTML's ``<input type=email>``."""
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")
_MAC = re.compile(r"[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}")
_PINNED_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,20}(?:[:.][0-9]+)?")
_PINNED_NAME_LENGTHS = range(2, 16)
_FINGERPRINT = re.compile(r"[0-9A-Fa-f]{64}")
_SUBSCRIPTION_KEY = re.compile(r"(?:pve[0-9]+|pbs|pmg)[cbsp]-[0-9a-f]{10}")
_URL = re.compile(r"https?://[^/\s]+\S*", re.IGNORECASE)
_CRYPT = re.compile(r"\$[A-Za-z0-9,=-]+\$.+|[A-Za-z0-9./]{13}", re.DOTALL)

_TYPE_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),  # before int, which it is a kind of
    (str, "a string"),
    (int, "an integer"),
    (float, "a number with a fraction"),
    (dict, "a table"),
    (list, "an array"),
)


def kind(value: Any) -> str:
    """Return the type of a TOML value in TOML's words: ``a string``."""
    return next((name for type_, name in _TYPE_NAMES if isinstance(value, type_)), "a date or time")


def of_strings(rule: Callable[[str], str | None]) -> Check:
    """Return the check of a string: by this rule, where it is one."""
    return lambda value: rule(value) if isinstance(value, str) else f"must be a string, not {kind(value)}"


def matching(test: Callable[[str], object], wrong: str) -> Check:
    """Accept a string that passes a test."""
    return of_strings(lambda value: None if test(value) else wrong)


string = matching(lambda _: True, "")


def table(value: Any) -> str | None:
    return None if isinstance(value, dict) else f"must be a table, not {kind(value)}"


def boolean(value: Any) -> str | None:
    """Accept ``true`` and ``false``, unquoted."""
    return None if isinstance(value, bool) else f"must be true or false, not {kind(value)}"


def strings(value: Any) -> str | None:
    if not isinstance(value, list):
        return f"must be an array of strings, not {kind(value)}"
    return next((f"entry {place}: {wrong}" for place, item in enumerate(value, 1) if (wrong := string(item))), None)


def one_of(*choices: str) -> Check:
    """Accept one of these words, in exactly this spelling."""
    return of_strings(
        lambda value: None if value in choices else f"is not one of {', '.join(choices)}{did_you_mean(value, choices)}"
    )


def raid(*levels: str) -> Check:
    """Accept these levels in lower or upper case; mixed case fails on the machine."""
    return one_of(*levels, *(level.upper() for level in levels))


def integer(minimum: int, maximum: int = U32_LIMIT) -> Check:
    """Accept a whole number in a range. The installer reads 32 bits without a sign; a float or a string fails."""

    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return f"must be a whole number without quotes, not {kind(value)}"
        return None if minimum <= value <= maximum else f"must be {minimum} to {maximum}"

    return check


def number(minimum: float) -> Check:
    """Accept an integer or a float of at least ``minimum`` GiB."""

    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"must be a number (GiB), not {kind(value)}"
        return None if math.isfinite(value) and value >= minimum else f"must be at least {minimum:g} GiB"

    return check


@of_strings
def country(value: str) -> str | None:
    """Accept an ISO 3166-1 alpha-2 code in lower case."""
    if value in COUNTRIES:
        return None
    if value.lower() in COUNTRIES:
        return f"the country code must be in lower case: {value.lower()!r}"
    return "is not a valid country code (two lower-case letters of ISO 3166, such as 'at')"


@of_strings
def mailto(value: str) -> str | None:
    """Accept an e-mail address as HTML defines it, except the installer's placeholder."""
    if value == MAILTO_PLACEHOLDER:
        return f"is {MAILTO_PLACEHOLDER!r}, the installer's placeholder, which it refuses"
    return None if _MAIL.fullmatch(value) else "is not an e-mail address"


def labels(name: str) -> str | None:
    """Accept DNS labels: each of 1 to 63 letters, digits or ``-``, without ``-`` at either end."""
    if len(name) > FQDN_LIMIT:
        return f"is longer than {FQDN_LIMIT} characters"
    for label in name.split("."):
        if not label:
            return "has an empty label (a dot at the start, at the end or twice)"
        if len(label) > LABEL_LIMIT:
            return f"has a label that is longer than {LABEL_LIMIT} characters"
        if not _LABEL.fullmatch(label):
            return "has a label with other characters than letters, digits and '-', or with '-' at an end"
    return None


def fqdn(value: Any) -> str | None:
    """Accept a fully-qualified domain name: at least two labels, the first not all digits, no trailing dot. Or a
    table."""
    if isinstance(value, dict):
        return None
    if not isinstance(value, str):
        return f"must be a string or a table, not {kind(value)}"
    if wrong := labels(value):
        return wrong
    host, _, domain = value.partition(".")
    if not domain:
        return "is not fully qualified: it needs a domain, such as 'node1.example.com'"
    return "has a host name that is all digits" if host.isdigit() else None


domain = of_strings(lambda value: labels(value) if value else None)
"""The domain that follows a host name from DHCP; empty means none."""

timezone = matching(_ZONE.fullmatch, "is not the name of a time zone, such as 'Europe/Vienna'")
"""What has the shape of a zone's name. `zone_doubt` looks for it: zone lists differ between versions."""


def zone_doubt(value: str) -> str | None:
    """Return what is doubtful about a zone that is not in the list here, though it may be in a newer list."""
    zones = canonical_zones()
    if not zones or value in zones or value == "UTC":
        return None
    return f"is not a time zone known here{did_you_mean(value, zones)}"


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def parses(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return parses


_is_interface = _parses(ipaddress.ip_interface)

address = matching(_parses(ipaddress.ip_address), "is not an IP address")


@of_strings
def cidr(value: str) -> str | None:
    """Accept an IP address with its prefix length: ``192.168.1.10/24``."""
    if "/" not in value:
        return "has no prefix length, such as /24 (the 9.2 installer takes it for a single host)"
    prefix = value.partition("/")[2]
    if prefix.isascii() and prefix.isdigit() and _is_interface(value):
        return None
    return "is not an IP address with a prefix length, such as '192.168.1.10/24'"


url = matching(_URL.fullmatch, "must be an http:// or https:// URL")

fingerprint = matching(
    lambda value: _FINGERPRINT.fullmatch(value.replace(":", "")),
    "must be a SHA-256 fingerprint: 64 hex digits, with or without colons",
)

subscription_key = matching(
    lambda value: _SUBSCRIPTION_KEY.fullmatch(value) and len(value) in SUBSCRIPTION_KEY_LENGTHS,
    "is not shaped like a subscription key (pve2c-0123456789, pbsb-…, pmgs-…)",
)


def globs(value: Any) -> str | None:
    """Accept a table of udev property to glob pattern that is not empty."""
    if not isinstance(value, dict):
        return f"must be a table of udev properties and patterns, not {kind(value)}"
    if not value:
        return "is empty: it selects nothing"
    for key, pattern in value.items():
        if wrong := string(pattern) or glob(pattern):
            return f"{brief(key)}: {wrong}"
    return None


def glob(pattern: str) -> str | None:
    """Accept what the installer's globs accept: each ``[`` has its ``]``, ``**`` is a whole path component."""
    rest = pattern
    while "[" in rest:
        rest = rest.partition("[")[2]
        inside = rest.removeprefix("!")
        closing = inside.find("]", 1)  # a ] that comes first belongs to the set
        if closing < 0:
            return "has a pattern with a '[' that is never closed"
        rest = inside[closing + 1 :]
    if "***" in pattern or any("**" in part and part != "**" for part in pattern.split("/")):
        return "has a pattern in which '**' is not alone between slashes: use one '*'"
    return None


def pinned_names(value: Any) -> str | None:
    """Accept a table of MAC address to the name that its interface gets; names are unique."""
    if not isinstance(value, dict):
        return f"must be a table of MAC addresses and names, not {kind(value)}"
    for mac, name in value.items():
        if not _MAC.fullmatch(mac):
            return f"the key {brief(mac)!r} is not a MAC address"
        if wrong := string(name):
            return f"{mac}: {wrong}"
        if not (len(name) in _PINNED_NAME_LENGTHS and _PINNED_NAME.fullmatch(name)):
            return f"{mac}: is not an interface name: 2 to 15 letters, digits or '_', a letter first"
    return _twice(value.values())


def disks(value: Any) -> str | None:
    """Accept an array of disk names, each once."""
    return strings(value) or ("an empty disk name" if "" in value else _twice(value))


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for place, name in enumerate(names, 1):
        if name in seen:
            return f"entry {place} is a repetition"
        seen.add(name)
    return None


def looks_hashed(value: str) -> bool:
    """Return whether a string has the shape of crypt(3)'s output."""
    return _CRYPT.fullmatch(value) is not None
