"""A pattern of ``match`` read character by character, and an address bit by bit, beside the real comparison.

Rules: docs/selection.md#match. Nothing here uses a regular expression, fnmatch or ipaddress.
"""

from __future__ import annotations

import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from answerd.answers.selectors import SelectorIndex, holds
from answerd.facts import Facts, Request
from answerd.formats.patterns import Criterion, Pattern
from tests.support.thorough import examples

HARDWARE = ("mac", "serial", "uuid", "asset_tag", "asset-tag")


def letters(text: str) -> str:
    """A text without regard to letter case, and to how an umlaut is spelled."""
    return unicodedata.normalize("NFC", text).casefold()


def one_blank(text: str) -> str:
    """A text whose runs of blanks are one, without those at its ends."""
    made = ""
    for sign in text:
        blank = sign.isspace()
        if not blank:
            made += sign
        elif made and not made.endswith(" "):
            made += " "
    return made.removesuffix(" ")


def fits_text(pattern: str, value: str) -> bool:
    """``*`` is any run, ``?`` one character, everything else itself."""
    if not pattern:
        return not value
    if pattern[0] == "*":
        return any(fits_text(pattern[1:], value[at:]) for at in range(len(value) + 1))
    return bool(value) and pattern[0] in ("?", value[0]) and fits_text(pattern[1:], value[1:])


def number(text: str, digits: str, most: int) -> int | None:
    """A number of some digits without zeros before it."""
    if not text or any(sign not in digits for sign in text) or len(text) > 4:
        return None
    found = int(text, len(digits))
    return found if found <= most else None


def bits_of_4(text: str) -> str | None:
    """The 32 bits of an IPv4 address."""
    octets = text.split(".")
    found = [number(octet, "0123456789", 255) for octet in octets]
    if len(octets) != 4 or None in found or any(len(octet) > 1 and octet[0] == "0" for octet in octets):
        return None
    return "".join(f"{octet:08b}" for octet in found)


def bits_of_6(text: str) -> str | None:
    """The 128 bits of an IPv6 address, whose end may be written as an IPv4 address."""
    head, last_colon, tail = text.rpartition(":")
    if "." in tail:
        four = bits_of_4(tail)
        if four is None or not last_colon:
            return None
        text = f"{head}:{int(four[:16], 2):x}:{int(four[16:], 2):x}"
    if text.count("::") > 1 or ":::" in text:
        return None
    left, gap, right = text.partition("::")
    groups = [half.split(":") if half else [] for half in (left, right)]
    missing = 8 - len(groups[0]) - len(groups[1])
    if missing < 1 if gap else missing != 0:
        return None
    found = [number(group, "0123456789abcdef", 0xFFFF) for group in groups[0] + ["0"] * missing + groups[1]]
    if None in found:
        return None
    return "".join(f"{group:016b}" for group in found)


def bits(text: str) -> str | None:
    """The bits of an address in either way; IPv4 mapped into IPv6 is IPv4."""
    text = text.partition("%")[0]
    if ":" not in text:
        return bits_of_4(text)
    six = bits_of_6(text)
    return six[96:] if six is not None and six[:96] == "0" * 80 + "1" * 16 else six


def prefixed(text: str) -> tuple[str, int] | None:
    """The bits of an address, and how many of them its prefix has: all where it has none."""
    address, slash, prefix = text.partition("/")
    found = bits(address)
    if found is None:
        return None
    if not slash:
        return found, len(found)
    length = number(prefix, "0123456789", 128 if ":" in address else 32)
    if "%" in address or length is None or (len(prefix) > 1 and prefix[0] == "0"):
        return None
    return found, length - (96 if ":" in address and len(found) == 32 else 0)


def fits(label: str, pattern: str, value: str) -> bool:
    """Whether a value of a label satisfies a pattern."""
    wanted, said = one_blank(letters(pattern)), one_blank(letters(value))
    if label.endswith(HARDWARE):
        wanted = "".join(sign for sign in wanted if sign.isalnum() or sign in "*?")
        return fits_text(wanted, "".join(sign for sign in said if sign.isalnum()))
    network, address = prefixed(wanted), prefixed(said)
    if network is None or network[1] < 0 or "1" in network[0][network[1] :]:
        return fits_text(wanted, said)
    return (
        address is not None and len(address[0]) == len(network[0]) and address[0].startswith(network[0][: network[1]])
    )


LABELS = st.sampled_from(["h", "mac", "bmc_mac", "serial", "macro", "asset-tag", "peers", "uuid", "ip"])
SIGNS = st.text("aB1*?-. []!\\^$/:%\t\u00a0\u00c4\u00e4{}()|+,", max_size=7)
SPELLED = st.sampled_from(
    ["A\u0308", "\u00c4", "*\u00e4?", "[a]", "a  b", " a\tb ", "a\u00a0b", "a.b", "ab", "a-b", "A?B"]
)
FOUR = st.sampled_from(
    ["10.0.0.0", "10.0.0.5", "10.1.2.3", "10.01.2.3", "10.1.2", "10.1.2.3.4", "0.0.0.0", "256.1.1.1", "255.255.255.255"]
)
SIX = st.sampled_from(
    [
        *("2001:db8::", "2001:DB8::5", "2001:db8:0:0:0:0:0:5", "::ffff:10.1.2.3", "::ffff:a01:203", "::", "::1"),
        *("1::2::3", "fe80::1%eth0", "2001:db8:::1", "::10.1.2.3", "52:54:00:12:34:56", "1:2:3:4:5:6:7::"),
    ]
)
PREFIXES = st.sampled_from(
    ["", "", "", "/0", "/8", "/24", "/32", "/33", "/64", "/104", "/127", "/128", "/129", "/08", "/"]
)
ADDRESSES = st.builds("{}{}".format, st.one_of(FOUR, SIX), PREFIXES)
PATTERNS = st.one_of(SIGNS, SPELLED, ADDRESSES)


def is_pattern(label: str, text: str) -> bool:
    """Whether a document may have this pattern."""
    return any(sign.isalnum() or sign in "*?" for sign in text) if label.endswith(HARDWARE) else bool(text.strip())


@settings(max_examples=examples(600))
@given(LABELS, st.lists(PATTERNS, min_size=1, max_size=6), st.lists(PATTERNS, min_size=1, max_size=3))
@example("ip", ["::ffff:10.0.0.0/104"], ["10.1.2.3"])
@example("ip", ["::/0"], ["10.1.2.3"])
@example("h", ["[a]"], ["a"])
@example("h", ["\u00c4"], ["a\u0308"])
def test_a_pattern_holds_as_it_reads(label: str, texts: list[str], values: list[str]) -> None:
    written = [text for text in texts if is_pattern(label, text)]
    selectors = [(Criterion(label, (Pattern(text, label),)),) for text in written]
    facts = Facts(Request(query="&".join(f"{label}={quote(value)}" for value in values)))
    said = facts.values(label)
    expected = [at for at, text in enumerate(written) if any(fits(label, text, value) for value in said)]
    assert [at for at, selector in enumerate(selectors) if holds(selector, facts)] == expected
    assert sorted(SelectorIndex(enumerate(selectors)).holding(facts)) == expected


SEGMENTS = st.sampled_from(
    [
        *("ubuntu", "KS", "user-data", "x", "A", "pxelinux.cfg", "C0A80105", "n1.ks", "default", "grub.cfg", "%41"),
        *("98-fa-9b-50-d8-10", "98FA9B50D811", "mac=98fa.9b50.d812", "01-98-fa-9b-50-d8-13", "MAC-98fa9b50d815.ipxe"),
        "98%3afa%3a9b%3a50%3ad8%3a16",
    ]
)
LAST = st.sampled_from(["", "grub.cfg-01-98-fa-9b-50-d8-14", "grub.cfg-01-98:fa:9b:50:d8:14"])
OF_PATH = {f"98fa9b50d8{last}" for last in range(10, 17)}


@settings(max_examples=examples(300))
@given(st.lists(SEGMENTS, max_size=4), LAST, st.sampled_from(["", "98:fa:9b:50:d8:10", "98:fa:9b:50:d8:19"]))
def test_an_address_in_the_path_is_a_value_of_mac_after_those_that_are_named(
    path: list[str], last: str, named: str
) -> None:
    target = "/" + "/".join([*path, last])
    facts = Facts(Request(target, f"mac={named}" if named else ""))
    bare = ["".join(filter(str.isalnum, value)).lower() for value in facts.values("mac")]
    in_path = [
        digits for digits in OF_PATH if digits in "".join(filter(str.isalnum, target.replace("%3a", ""))).lower()
    ]
    own = ["".join(filter(str.isalnum, named))] if named else []
    assert bare[: len(own)] == own
    assert sorted(bare) == sorted({*own, *in_path})
    assert {*in_path, *own} <= set(facts.identities)


@pytest.mark.parametrize(
    ("path", "macs"),
    [
        ("/pxelinux.cfg/01-98-fa-9b-50-d8-10", ["98-fa-9b-50-d8-10"]),
        ("/pxelinux.cfg/01-98-fa-9b-50-d8-10.cfg", []),
        ("/pxelinux.cfg/01-98-fa-9b-50-d8-10-11", []),
        ("/grub.cfg-01-98-fa-9b-50-d8-10:", ["98-fa-9b-50-d8-10"]),
        ("/grub.cfg-01-98:fa:9b:50:d8:10", ["98:fa:9b:50:d8:10"]),
        ("/ks/01-98fa9b50d81011", []),
    ],
)
def test_what_follows_the_prefix_of_a_loader_is_an_address_or_nothing(path: str, macs: list[str]) -> None:
    facts = Facts(Request(path))
    assert list(facts.values("mac")) == macs
    assert ("98fa9b50d810" in facts.identities) == bool(macs)


NAMES = ["A", "a", "7", "n1", "DEADBEEF", "CAFE", "01-98-fa-9b-50-d8-10"]


@given(
    st.lists(st.sampled_from(NAMES), max_size=2),
    st.sampled_from(["pxelinux.cfg/", "grub.cfg-"]),
    st.sampled_from(NAMES),
)
def test_what_stands_before_a_loaders_file_are_names_and_its_address_is_none(
    before: list[str], directory: str, last: str
) -> None:
    """An address in hexadecimal digits, in capitals, names nobody at the end, and a machine may have that name."""
    facts = Facts(Request("/" + "/".join([*before, directory + last])))
    said = {"".join(filter(str.isalnum, name)).lower() for name in before}
    own = "".join(filter(str.isalnum, last)).lower()
    is_address = all(sign in "0123456789ABCDEF" for sign in last)
    assert said <= set(facts.identities)
    assert (own in facts.identities) == (not is_address or own in said)
