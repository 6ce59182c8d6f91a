"""What a request says, against a slow and literal reading of the rules (docs/selection.md)."""

from __future__ import annotations

import json
from operator import mul
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from answerd.facts import SHORTEST_BODY_IDENTITY, Facts, Request
from answerd.identity import LONGEST_VALUE, identity_of
from answerd.mac_search import find_macs
from answerd.shared_values import BUILT_IN, is_shared
from tests.support.thorough import examples
from tests.unit import request_oracle as oracle
from tests.unit.request_oracle import Map, Number, Value

FORM = [("content-type", "application/x-www-form-urlencoded")]
HEX_WORDS = ["ab", "CD", "01", "cafe", "98fa", "a", "123", "00000000", "a" * 70]
OTHER_WORDS = ["mac", "efi", "centos", "rack12", "node", "bond0", "é", "xab", "abx", "éab", "ab\u0661", "x" + "a" * 70]
DIGITS = st.integers(0, 2**48 - 1).map("{:012x}".format)


def spelled(digits: str, separator: str) -> str:
    width = 4 if separator == "." else 2
    return separator.join(digits[at : at + width] for at in range(0, 12, width))


ADDRESSES = st.builds(spelled, DIGITS, st.sampled_from(":-.")) | DIGITS | DIGITS.map(str.upper)
GUIDS = st.sampled_from(
    [
        "12345678-1234-5678-9abc-def012345678",
        "00:11:22:33:44:55:66:77",
        "fe80::9afa:9bff:fe50:d810",
        "80:00:00:48:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1",
        "80-00-00-48-FE-80-00-00-00-00-00-00-f4-52-14-03-00-7b-cb-a1",
        "20-80-00-00-48-FE-80-00-00-00-00-00-00-f4-52-14-03-00-7b-cb-a1",
        "0011.2233.4455.6677",
    ]
)
WORDS = st.sampled_from(HEX_WORDS + OTHER_WORDS) | st.text("0af", min_size=1, max_size=5)
BETWEEN = st.sampled_from([":", "-", ".", "", " ", "_", "/", "\u2014", "::"])
TEXTS = st.lists(ADDRESSES | WORDS | GUIDS | BETWEEN, max_size=9).map("".join)


@settings(max_examples=examples(300))
@given(TEXTS)
def test_an_address_is_found_exactly_where_the_rules_say(text: str) -> None:
    assert sorted(find_macs(text.encode())) == sorted(oracle.macs_in(text))


@pytest.mark.parametrize("separator", [":", "-", ".", ""])
@pytest.mark.parametrize("beside", [":", "-", ".", "_"])
def test_an_address_beside_any_word_is_found_where_the_rules_say(separator: str, beside: str) -> None:
    address = spelled("98fa9b50d810", separator)
    for word in (*HEX_WORDS, *OTHER_WORDS, ""):
        for text in (f"{word}{beside}{address}", f"{address}{beside}{word}", f"{word}{beside}{address}{beside}{word}"):
            assert find_macs(text.encode()) == oracle.macs_in(text)


def test_words_that_are_no_hex_groups_hide_no_address() -> None:
    for word in ("mac", "rack12", "bond0", "node", "centos", "efi", "cfg"):
        for text in (f"{word}:98:fa:9b:50:d8:10", f"98:fa:9b:50:d8:10:{word}"):
            assert find_macs(text.encode()) == ["98:fa:9b:50:d8:10"]


@settings(max_examples=examples(300))
@given(TEXTS, TEXTS)
def test_addresses_of_path_and_query_are_identities(path: str, value: str) -> None:
    found = Facts(Request(f"/{quote(path, safe='')}", f"x={quote(value)}")).identities
    expected = {oracle.mac_identity(mac) for text in (path, value) for mac in oracle.macs_in(text)}
    expected = {identity for identity in expected if not is_shared("mac", identity)}
    assert expected <= found.keys()
    # What is left are the names themselves: the segment with and without an extension, and the value.
    assert len(found.keys() - expected) <= 4


KEYS = st.sampled_from(
    [
        *["a", "A", "b.c", "ß", "mac", "peer", "Peer", "user_agent", "machine", "state", "report", "secret.x"],
        *["secret", "0", "serial", "Serial", "board-serial", "uuid", "asset_tag", "port.mac"],
    ]
)
NUMBERS = st.sampled_from(
    [*["1e400", "-0", "-1E-999", "1.10", "12345", "525400123456", "0", "-0.0"], "9" * 30, "9" * 1025]
)
STRINGS = (
    TEXTS
    | st.text(max_size=5)
    | st.sampled_from(["192.168.1.11", "1.0", "\ud800x", "x" * 1024, "x" * 1025, 'a"b\\', '":', "-" * 1020 + "abcde"])
    | st.sampled_from(["Default string", "00000", "0.1.1.0.1", "AAAA-A", "AB" * 16, "12345", "0000", "1201", "a0a0a0"])
    | st.sampled_from(["-", "::", "0.0.0.0", "11.11.11.11"])
    | st.sampled_from(["No Asset Tag", "44:45:53:54:00:00", "03000200-0400-0500-0006-000700080009", "SN-12345"])
)
SCALARS = st.none() | st.booleans() | NUMBERS.map(Number) | STRINGS


def maps(below: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return st.lists(st.tuples(KEYS | ADDRESSES, below), max_size=4).map(lambda pairs: Map(tuple(pairs)))


VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=4) | maps(below), max_leaves=10
)


@settings(max_examples=examples(300))
@given(VALUES, st.booleans())
@example([Map((("a", None), ("a", False)))], False)
@example(Map((("peer", "x"), ("serial", "Default string"))), False)
def test_a_json_body_says_what_a_plain_reading_of_it_says(value: Value, as_form: bool) -> None:
    body = oracle.written(value).encode()
    headers = FORM if as_form else []
    facts = Facts(Request(headers=headers, body=body))
    known = Facts(Request(headers=headers, body=body))
    assert known.identities.keys() == oracle.identities_of(value)
    labels = oracle.labels_of(value)
    assert {label: list(values) for label, values in facts.labels.items() if label} == labels
    for label in {*labels, "a", "a.a", "peer", "secret.x", "machine", "0.a"}:
        asked = Facts(Request(headers=headers, body=body))
        assert asked.first(label) == known.first(label) == next(iter(labels.get(label, [])), None)
        assert list(asked.values(label)) == labels.get(label, [])


@settings(max_examples=examples(300))
@given(
    st.sampled_from(["serial", "uuid", "asset_tag"]),
    st.text("01af", max_size=6) | st.builds(mul, st.text("01af", min_size=1, max_size=2), st.integers(1, 20)),
)
@example("serial", "aaaaa")
@example("uuid", "ab" * 16)
@example("serial", "01101")
@example("asset_tag", "noassettag")
def test_of_many_values_those_are_emptied_that_are_shared_by_themselves(kind: str, identity: str) -> None:
    identities = ["other", identity]
    hidden = BUILT_IN.empty_in(identities, [*identities], [(kind, 1), (kind, 0)])
    assert (identities[1], hidden) == (("", {identity}) if is_shared(kind, identity) else (identity, set()))
    assert identities[0] == "other"


def test_a_text_that_is_too_long_for_an_identity_is_not_compared() -> None:
    """A megabyte under ``serial`` would be copied three times for each request."""
    assert BUILT_IN.empty_in([""], ["A" * (LONGEST_VALUE + 1)], [("serial", 0)]) == set()
    assert BUILT_IN.empty_in(["a" * LONGEST_VALUE], ["A" * LONGEST_VALUE], [("serial", 0)]) == {"A" * LONGEST_VALUE}


HARDWARE = ["serial", "uuid", "asset_tag", "mac", "board-serial", "port.mac", "host"]
OF_HARDWARE = [
    *["-", "::", "0.0.0.0", "11.11.11.11", "Default string", "12345", "No Asset Tag", "SN-12345", "SN-777", "AB" * 16],
    *["44:45:53:54:61:6F", "01-44-45-53-54-61-6F", "98:fa:9b:50:d8:10", "01-98-fa-9b-50-d8-10", "1.2.3.4"],
    *["0:0:0:0:0:0:0:1", "::ffff:0.0.0.0"],
]


@pytest.mark.parametrize("label", HARDWARE)
@pytest.mark.parametrize("text", OF_HARDWARE)
def test_a_value_of_many_machines_is_no_fact_wherever_it_is_sent(label: str, text: str) -> None:
    sent = {
        "query": Request(query=f"{label}={quote(text)}"),
        "form": Request(headers=FORM, body=f"{label}={quote(text)}".encode()),
        "body": Request(body=json.dumps({label: text}).encode()),
        "list": Request(body=json.dumps([{"a": {label: [text]}}]).encode()),
        "told": Request(told=[(label, text)]),
        "headers": Request(headers=[("x-rhn-provisioning-mac-0", text), ("x-system-serial-number", text)]),
        "path": Request(f"/pxelinux.cfg/{text}"),
    }
    for place, request in sent.items():
        asked, known = Facts(request), Facts(request)
        known.identities  # noqa: B018 - with them, less is looked at
        for one in ("mac", "serial", label):
            values = asked.values(one)
            assert not any(oracle.is_filled_in_by_nobody(one, value) for value in values), place
            assert asked.first(one) == known.first(one) == next(iter(values), None), place
    is_nobodys = not identity_of(text) or oracle.is_filled_in_by_nobody(label, text)
    is_short = len(identity_of(text)) < SHORTEST_BODY_IDENTITY
    assert (identity_of(text) in Facts(sent["body"]).identities) is not (is_nobodys or is_short)
    bare = text.removeprefix("01-")  # PXELINUX's prefix of a MAC address
    is_nobodys = is_nobodys or (bare != text and oracle.is_filled_in_by_nobody("mac", bare))
    assert (identity_of(bare) in Facts(sent["query"]).identities) is not is_nobodys


@settings(max_examples=examples(100))
@given(VALUES)
def test_a_body_without_escapes_says_the_same(value: Value) -> None:
    body = oracle.written(value)
    try:
        plain = json.dumps(json.loads(body), ensure_ascii=False, allow_nan=False).encode()
    except ValueError:  # a lone surrogate, or a number that no double holds: it would be written as no JSON
        return
    again = json.dumps(json.loads(body)).encode()
    assert Facts(Request(body=plain)).identities.keys() == Facts(Request(body=again)).identities.keys()


@settings(max_examples=examples(300))
@given(VALUES, st.lists(st.sampled_from([" ", "\n", "\t"]), min_size=1, max_size=2).map("".join))
def test_blanks_between_the_parts_of_a_body_change_nothing(value: Value, blank: str) -> None:
    plain = oracle.written(value)
    spread, in_text, escaped = "", False, False
    for character in plain:
        in_text = not in_text if character == '"' and not escaped else in_text
        escaped = character == "\\" and not escaped
        outside = not in_text and character in ',:{}[]"'
        spread += f"{character}{blank}" if outside else character
    facts, other = Facts(Request(body=plain.encode())), Facts(Request(body=spread.encode()))
    assert facts.identities.keys() == other.identities.keys()
    assert facts.labels == other.labels


LARGE_BODIES: dict[str, Value] = {
    "more values than a request keeps": [Number(str(n)) for n in range(25_000)],
    "more values of one label than it keeps": Map((("serial", [f"serial-{n}" for n in range(1_500)]), ("b", "last"))),
    "one value many times": Map((("pad", ["1"] * 19_999), ("serial", "S-1"), ("late", "S-2"))),
    "values too long to count": Map((("pad", ["x" * 1_025] * 50), ("serial", "yz" * 512))),
    "deep maps with names like paths": Map(tuple((f"k.{n}", Map((("a.b", f"v{n}"), ("a", "w")))) for n in range(800))),
}


@pytest.mark.parametrize("value", LARGE_BODIES.values(), ids=LARGE_BODIES.keys())
def test_a_large_body_says_what_a_plain_reading_of_it_says(value: Value) -> None:
    body = oracle.written(value).encode()
    facts, labels = Facts(Request(body=body)), oracle.labels_of(value)
    assert {label: list(values) for label, values in facts.labels.items() if label} == labels
    for label in [*list(labels)[:5], *list(labels)[-5:], "serial", "late"]:
        assert facts.first(label) == next(iter(labels.get(label, [])), None)
        assert list(facts.values(label)) == labels.get(label, [])
    assert facts.identities.keys() == oracle.identities_of(value)
