"""Names: valid identifiers, identities, and MAC addresses in texts.

Rules: docs/formats.md, docs/selection.md#what-a-request-says-facts.
"""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from answerd.identity import (
    IDENTIFIER_LENGTH,
    Kind,
    folded,
    identified,
    identifier_fault,
    identities_of,
    identity_of,
    mac_digits,
    normalize,
    without_pxelinux_prefix,
)
from answerd.mac_search import find_macs
from answerd.short_texts import printable

UUID = "12345678-1234-5678-9abc-def012345678"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("98:FA:9B:50:D8:10", "98-fa-9b-50-d8-10"),
        ("98fa.9b50.d810", "98fa9b50d810"),
        ("STRASSE-1", "straße 1"),
        ("Ärzte_7", "ÄRZTE.7"),
        ("ﬀ", "FF"),
        ("VMware-56 4d x", "vmware-564dx"),
        ("192.168.1.11", " 192.168.1.11 "),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("00:11:22:33:44:55:66:77", "00-11-22-33-44-55-66-77"),  # an EUI-64, not an IPv6 address
    ],
)
def test_two_spellings_of_one_name_are_one_identity(first: str, second: str) -> None:
    assert identity_of(first) == identity_of(second) != ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("192.168.1.11", "192.168.11.1"),
        ("192.168.1.11", "192168111"),
        ("2001:db8::1", "2001db81"),
        ("2001:db8::1", "2001:db8:1::"),
        ("node1", "node12"),
        ("node1", "nodé1"),
        ("1.2.3.4", "1.2.3.4.5"),
    ],
)
def test_two_names_are_two_identities(first: str, second: str) -> None:
    assert identity_of(first) != identity_of(second)


@pytest.mark.parametrize("text", ["", "---", "::-", " ", "\u0301"])
def test_a_text_without_letter_or_digit_has_no_identity(text: str) -> None:
    assert identity_of(text) == ""


@given(st.text())
def test_an_identity_is_its_own_identity_and_never_raises(text: str) -> None:
    assert identity_of(identity_of(text)) == identity_of(text)
    assert identity_of(text) == identity_of(text.swapcase().swapcase()) or not text.isascii()


@pytest.mark.parametrize(
    "identifier",
    [
        "a",
        "0",
        "-a",
        "_a",
        ":a",
        "A" * IDENTIFIER_LENGTH,
        "98:fa:9b:50:d8:10",
        "2001:db8::1",
        "node.1",
        "groupsx",
        "proxmox",
        "a.",
    ],
)
def test_an_identifier_may_be(identifier: str) -> None:
    assert identifier_fault(Kind.MACHINE, identifier) is None


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("", "empty"),
        ("A" * (IDENTIFIER_LENGTH + 1), "200"),
        (".a", "dot"),
        ("a b", "ASCII"),
        ("é", "ASCII"),
        ("a/b", "ASCII"),
        ("a\n", "ASCII"),
        ("a\\b", "ASCII"),
        ("...", "dot"),
        ("-.-", "letter or digit"),
        ("::", "letter or digit"),
        ("_", "letter or digit"),
        ("groups", "reserved"),
        ("GROUPS", "reserved"),
        ("Default", "reserved"),
        ("InvenTory", "reserved"),
    ],
)
def test_an_identifier_may_not_be(identifier: str, words: str) -> None:
    assert words in (identifier_fault(Kind.MACHINE, identifier) or "")


@pytest.mark.parametrize(
    ("text", "macs"),
    [
        ("98:fa:9b:50:d8:10", ["98:fa:9b:50:d8:10"]),
        ("98-FA-9B-50-D8-10", ["98-FA-9B-50-D8-10"]),
        ("98fa9b50d810", ["98fa9b50d810"]),
        ("98fa.9b50.d810", ["98fa.9b50.d810"]),
        ("x=98:fa:9b:50:d8:10,98:fa:9b:50:d8:11;", ["98:fa:9b:50:d8:10", "98:fa:9b:50:d8:11"]),
        ("52:54:00:ab:cd:ef-install.conf", ["52:54:00:ab:cd:ef"]),
        ("node-525400abcdef.ks", ["525400abcdef"]),
        ("52:54:00:ab:cd:ef:eno1", ["52:54:00:ab:cd:ef"]),
        ("eno1-52-54-00-ab-cd-ef", ["52-54-00-ab-cd-ef"]),
        ("00000000-52:54:00:ab:cd:ef", []),
        ("98:fa-9b:50-d8:10", []),
        ("98:fa:9b:50:d8:1", []),
        ("098:fa:9b:50:d8:10", []),
        ("98:fa:9b:50:d8:100", []),
        ("98fa9b50d8100", []),
        ("a98fa9b50d810", []),
        ("98:fa:9b:50:d8:10:11", []),
        ("01-98-fa-9b-50-d8-10", []),
        ("80:00:00:48:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1", ["f4:52:14:03:00:7b:cb:a1"]),
        ("00:80:00:00:48:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1", []),
        ("00:11:22:33:44:55:66:77", []),
        ("98fa.9b50.d810.1234", []),
        ("1234.98fa.9b50.d810", []),
        ("98fa.9b50.d810.11", []),
        ("98f.a9b50.d810", []),
        (UUID, []),
        (UUID.upper(), []),
        (UUID.replace("-", ""), []),
        ("uuid=" + UUID + "&", []),
        ("98:fa:9b:50:d8:10-1234", []),
        ("mac:98:fa:9b:50:d8:10", ["98:fa:9b:50:d8:10"]),
        ("rack12-98-fa-9b-50-d8-10-efi", ["98-fa-9b-50-d8-10"]),
        ("éab:98:fa:9b:50:d8:10:abé", ["98:fa:9b:50:d8:10"]),
        ("—ab:98:fa:9b:50:d8:10", []),
        ("ab:98:fa:9b:50:d8:10", []),
        ("98-fa-9b-50-d8-10-cf", []),
        ("x" + "a" * 70 + "-98:fa:9b:50:d8:10", ["98:fa:9b:50:d8:10"]),
        ("a" * 70 + "-98:fa:9b:50:d8:10", []),
        ("xface.98fa.9b50.d810", ["98fa.9b50.d810"]),
        ("face.98fa.9b50.d810", []),
        ("aa-98:fa:9b:50:d8:10", ["98:fa:9b:50:d8:10"]),  # a pair beside it, but by another separator
        ("98:fa:9b:50:d8:zz", []),
        ("\uff19\uff18fa9b50d810", []),  # full-width digits are no octet
    ],
)
def test_mac_addresses_are_found_where_they_stand_alone(text: str, macs: list[str]) -> None:
    assert find_macs(text.encode()) == macs


@given(st.binary(max_size=80), st.sampled_from([":", "-", "", "."]), st.binary(max_size=80))
def test_a_mac_address_between_blanks_is_found_in_any_bytes(before: bytes, separator: str, after: bytes) -> None:
    width = 4 if separator == "." else 2
    mac = separator.join("0a1b2c3d4e5f"[at : at + width] for at in range(0, 12, width))
    assert mac in find_macs(before + b" " + mac.encode() + b" " + after)


@given(
    st.lists(
        st.sampled_from(
            ["192.168.1.11", " 10.0.0.1 ", "1.2.3.4.5", "O.E.M.", "...", "fe80::1", "1:2:3:4:5:6:7:8", ":::::::"]
        )
        | st.text("a1.:- \n\u00e9", max_size=8),
        max_size=8,
    )
)
def test_the_identities_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    assert identities_of(texts) == [identity_of(text) for text in texts]


WITH_ADDRESSES = [
    "98:fa:9b:50:d8:10", "mac 98fa9b50d810", "98fa.9b50.d810 x", "00:00:00:04:05:60::", "1:2:3:4:5:6:77:8888",
    "98fa:9b50::d810", " 255.255.255.255 ", "255.255.255.255", UUID, "x98:fa:9b:50:d8:1", "fe80::1", "node1",
]  # fmt: skip


@given(st.lists(st.sampled_from(WITH_ADDRESSES) | st.text("0a:.- ", max_size=20), max_size=6))
@example([*WITH_ADDRESSES])
@example(["\n", *WITH_ADDRESSES])
@example(["é", *WITH_ADDRESSES, "-" * 1_024 + "98fa9b50d810"])
@example(["x\n98:fa:9b:50:d8:10\ny", "98:fa:9b:50:d8:11", "98-fa-9b-50-d8-12"])
def test_a_mac_address_in_many_texts_is_found_or_an_identity(texts: list[str]) -> None:
    identities, macs = identified(texts)
    found = find_macs("\n".join(texts).encode())
    assert {*macs} <= {*found}
    assert {*map(normalize, found)} <= {*identities, *map(normalize, macs)}
    assert identities == [identity_of(text) if len(text) <= 1_024 else "" for text in texts]


def test_a_text_of_more_than_1024_characters_has_no_identity_among_many() -> None:
    longest, longer = "a" * 1_024, "-" * 1_024 + "a"
    for texts in ([longest, "b"], ["b", longest, ""], [longer, "b"], ["b", longer], [longer], ["é", longer]):
        assert identities_of(texts) == [identity_of(text) if len(text) <= 1_024 else "" for text in texts]


@pytest.mark.parametrize(
    "unit", [b"a", b"aa:", b"aa-", b"aaaa.", b"aaa:", b"525400abcdef ", b"aa:bb:cc:dd:ee:ff "], ids=repr
)
def test_a_megabyte_is_searched_in_bounded_time(unit: bytes) -> None:
    started = time.process_time()
    for _ in find_macs(unit * (1_048_576 // len(unit))):
        pass
    assert time.process_time() - started < 3


@pytest.mark.parametrize("text", ["98:FA:9b:50:d8:10", "98-fa-9b-50-d8-10", "98fa.9b50.d810", "98FA9B50D810"])
def test_the_digits_of_a_mac_address(text: str) -> None:
    assert mac_digits(text) == "98fa9b50d810"


@pytest.mark.parametrize("text", ["", "98fa9b50d81", "98:fa-9b:50:d8:10", "98fa9b50d810 ", "98.fa.9b.50.d8.10"])
def test_what_is_no_mac_address_has_no_digits(text: str) -> None:
    assert mac_digits(text) is None


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("01-52-54-00-ab-cd-ef", "52-54-00-ab-cd-ef"),
        ("01-525400abcdef", "525400abcdef"),
        ("01-node", None),
        ("02-52-54-00-ab-cd-ef", None),
        ("52-54-00-ab-cd-ef", None),
    ],
)
def test_pxelinux_puts_a_prefix_before_a_mac_address_only(text: str, bare: str | None) -> None:
    assert without_pxelinux_prefix(text) == bare


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("PowerEdge R620", "poweredger620"),
        ("Ä-1", "ä1"),
        ("192.168.1.1", "19216811"),
        ("Straße", "strasse"),
        ("İ", "i"),
    ],
)
def test_the_form_that_patterns_compare(text: str, form: str) -> None:
    assert normalize(text) == form


def test_a_name_shown_to_a_person_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[2J\nb\udcffé") == "a\\x1b[2J\\nb\\udcffé"


@pytest.mark.parametrize("text", ["\u0301\u0316" * 500_000, "a" + "\u0316\u0301" * 16_000, "\u1e9e" * 100_000])
def test_a_long_text_of_marks_costs_little(text: str) -> None:
    began = time.thread_time()
    normalize(text)
    folded(text)
    assert time.thread_time() - began < 1


@given(st.text("aA\u0308\u00e4\u0301\u1e9e\u0130-", max_size=8))
def test_text_is_compared_in_one_form(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert normalize(unicodedata.normalize(form, text)) == normalize(text)
        assert folded(unicodedata.normalize(form, text)) == folded(text)
