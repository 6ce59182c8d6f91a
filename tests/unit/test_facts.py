"""Facts: labels and identities that a request carries (docs/selection.md#what-a-request-says-facts)."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers.catalogue import Catalogue
from answerd.answers.hardware_names import carried_names
from answerd.facts import Facts, Request, facts_of
from answerd.installs.records import InstallMemory
from answerd.installs.states import Rules
from answerd.json_body import read_json
from tests.support.thorough import examples

pytestmark = pytest.mark.long

FORM = [("content-type", "application/x-www-form-urlencoded")]


def facts(target: str = "/", body: bytes | str = b"", **more: Any) -> Facts:
    path, _, query = target.partition("?")
    return Facts(Request(path, query, body=body.encode() if isinstance(body, str) else body, **more))


LABELS: dict[str, tuple[dict[str, Any], dict[str, list[str]]]] = {
    "the path, its last segment and each segment": (
        {"target": "/boot/52%3A54/node%201.ks/"},
        {"path": ["boot/52:54/node 1.ks"], "file": ["node 1.ks"], "segment": ["boot", "52:54", "node 1.ks"]},
    ),
    "empty segments are none": ({"target": "//a///b//"}, {"file": ["b"], "segment": ["a", "b"]}),
    "the root has no path": ({"target": "/"}, {"path": [], "file": [], "segment": []}),
    "a slash that is escaped does not part segments": ({"target": "/a%2Fb"}, {"segment": ["a/b"]}),
    "query, percent-decoded, plus is a blank": (
        {"target": "/?Product=Blade%209000+X%20%26%2B&serial=%C3%A9"},
        {"product": ["Blade 9000 X &+"], "serial": ["é"]},
    ),
    "a plus in a path is a plus": ({"target": "/a+b"}, {"file": ["a+b"]}),
    "unset settings of iPXE say nothing": ({"target": "/?undef=&x&a=1"}, {"undef": [], "x": [], "a": ["1"]}),
    "an equals sign in a value": ({"target": "/?a=b=c"}, {"a": ["b=c"]}),
    "labels are case-insensitive and values keep their order, each once": (
        {"target": "/?MAC=b&mac=a&Mac=b&mac=B"},
        {"mac": ["b", "a", "B"]},
    ),
    "anaconda's headers": (
        {
            "headers": [
                ("x-rhn-provisioning-mac-0", "eno0 52:54:00:ab:cd:ef"),
                ("x-rhn-provisioning-mac-1", " eno1  52:54:00:ab:cd:f0 "),
                ("x-system-serial-number", "VMware-56 4d x"),
                ("x-other", "y"),
            ]
        },
        {"mac": ["52:54:00:ab:cd:ef", "52:54:00:ab:cd:f0"], "serial": ["VMware-56 4d x"], "x-other": []},
    ),
    "query before headers before body": (
        {
            "target": "/?mac=q",
            "headers": [("x-rhn-provisioning-mac-0", "e h")],
            "body": '{"mac": "b"}',
        },
        {"mac": ["q", "h", "b"]},
    ),
    "JSON by full path and by leaf": (
        {"body": '{"a": {"B": {"Serial": "S"}}, "serial": "T"}'},
        {"a.b.serial": ["S"], "serial": ["S", "T"], "b": [], "a": []},
    ),
    "array indexes are in the path and never the leaf": (
        {"body": '{"nics": [{"mac": "m0"}, {"mac": "m1"}], "tags": ["x", ["y"]]}'},
        {
            "nics.0.mac": ["m0"],
            "nics.1.mac": ["m1"],
            "mac": ["m0", "m1"],
            "tags.0": ["x"],
            "tags": ["x", "y"],
            "tags.1.0": ["y"],
            "0": [],
        },
    ),
    "an array at the top": ({"body": '["x", {"y": "z"}]'}, {"0": ["x"], "1.y": ["z"], "y": ["z"]}),
    "numbers as they were sent, booleans by name": (
        {"body": '{"a": 1.10, "b": 1e3, "c": 123456789012345678901234567890, "d": true, "e": false, "f": 0}'},
        {
            "a": ["1.10"],
            "b": ["1e3"],
            "c": ["123456789012345678901234567890"],
            "d": ["true"],
            "e": ["false"],
            "f": ["0"],
        },
    ),
    "null and empty texts give nothing": (
        {"body": '{"a": null, "b": "", "c": {}, "d": []}'},
        {"a": [], "b": [], "c": [], "d": []},
    ),
    "content decides: JSON that curl calls a form": ({"body": '{"a": "b=c&d"}', "headers": FORM}, {"a": ["b=c&d"]}),
    "a form": (
        {"body": "mac=52%3A54&product=Blade+9000%20%26%20Co&x=\r\n", "headers": FORM},
        {"mac": ["52:54"], "product": ["Blade 9000 & Co"], "x": []},
    ),
    "a form with a charset and a newline at its end": (
        {"body": "a=1\n", "headers": [("content-type", "Application/X-WWW-Form-Urlencoded; charset=UTF-8")]},
        {"a": ["1"]},
    ),
    "what looks like a form and is not sent as one says nothing": (
        {"body": "a=1", "headers": [("content-type", "text/plain")]},
        {"a": []},
    ),
    "JSON with a byte order mark": ({"body": "\ufeff" + '{"a": "1"}'}, {"a": ["1"]}),
    "JSON with a lone surrogate keeps the rest": ({"body": '{"junk": "\\ud800", "a": "1"}'}, {"a": ["1"]}),
    "NaN is not JSON": ({"body": '{"a": "1", "b": NaN}'}, {"a": []}),
    "a byte that is not UTF-8 is a lone surrogate": (
        {"target": "/x%fe?a=%ff", "headers": [("x-system-serial-number", "S\xe9")]},
        {"a": ["\udcff"], "file": ["x\udcfe"], "serial": ["S\udce9"]},
    ),
    "a lone surrogate in JSON stays one": ({"body": '{"a": "x\\ud800"}'}, {"a": ["x\ud800"]}),
    "a number that no machine type holds": (
        {"body": '{"a": 1e400, "b": -0, "c": "S-1", "d": -1E+999}'},
        {"a": ["1e400"], "b": ["-0"], "c": ["S-1"], "d": ["-1E+999"]},
    ),
    "both values of a key that occurs twice": (
        {"body": '{"a": "1", "b": {"c": "2", "c": {"d": "3"}}, "a": "4"}'},
        {"a": ["1", "4"], "b.c": ["2"], "c": ["2"], "b.c.d": ["3"]},
    ),
    "a value of 1,024 characters and one more": (
        {"target": f"/?a={'x' * 1024}&b={'x' * 1025}", "body": f'{{"c": "{"y" * 1024}", "d": "{"y" * 1025}"}}'},
        {"a": ["x" * 1024], "b": [], "c": ["y" * 1024], "d": []},
    ),
    "peer and user agent are as long as they are": (
        {"headers": [("user-agent", "x" * 2000)]},
        {"user_agent": ["x" * 2000]},
    ),
    "a label keeps 1,000 values, each once": (
        {"body": json.dumps({"a": [f"v{n // 2}" for n in range(4000)]})},
        {"a": [f"v{n}" for n in range(1000)]},
    ),
    "a request keeps 20,000 values, those of its URL first": (
        {"target": "/x?q=1", "body": json.dumps({"a": ["1"] * 19_995, "b": "last", "c": "lost"})},
        {"q": ["1"], "b": ["last"], "c": []},
    ),
    "what the service sets, in any letter case, at any depth, as a name or as a path": (
        {
            "target": "/?State=s&REPORT=r&secret.root=x&secret=y&\u017ftate=s".encode().decode("latin-1"),
            "body": '{"secret": {"root": "x", "b": ["z"]}, "x": {"state": "s", "secret.a": "b"}, "report": ["r"]}',
        },
        {
            "state": [],
            "report": [],
            "secret.root": [],
            "secret.b.0": [],
            "secret.a": [],
            "secret": ["y"],
            "root": ["x"],
            "x.state": ["s"],
            "x.secret.a": ["b"],
            "report.0": ["r"],
            "b": ["z"],
        },
    ),
    "the peer is the connection's": (
        {"target": "/?peer=10.0.0.1&user_agent=x", "peer": "192.0.2.7", "headers": [("user-agent", "Wget")]},
        {"peer": ["192.0.2.7"], "user_agent": ["Wget"]},
    ),
    "a body's own peer is nobody's, at any depth": (
        {"body": '{"peer": "10.0.0.1", "x": {"PEER": "10.0.0.2", "user_agent": "u"}}', "peer": "192.0.2.7"},
        {"peer": ["192.0.2.7"], "user_agent": [], "x.peer": ["10.0.0.2"]},
    ),
    "machine and group are nobody's to say": (
        {"target": "/?machine=m&group=g", "body": '{"group": "g", "machine": {"serial": "s"}}'},
        {"machine": [], "group": [], "machine.serial": ["s"], "serial": ["s"]},
    ),
    "a form's own peer": ({"body": "peer=10.0.0.1&a=1", "headers": FORM}, {"peer": [], "a": ["1"]}),
}


@pytest.mark.parametrize(("request_parts", "expected"), LABELS.values(), ids=LABELS.keys())
def test_labels(request_parts: dict[str, Any], expected: dict[str, list[str]]) -> None:
    found = facts(**request_parts)
    assert {label: list(found.values(label)) for label in expected} == expected


@pytest.mark.parametrize(
    ("parts", "carried"),
    [
        ({"target": "/node1.txt"}, {"node1txt"}),
        ({"target": "/?x=macs%3D52:54:00:ab:cd:ef,98fa.9b50.d810"}, {"525400abcdef", "98fa9b50d810"}),
        ({"body": '{"m": "x\\n98:fa:9b:50:d8:10"}'}, {"98fa9b50d810"}),
        ({"body": '{"m": "mac 98\\u003afa:9b:50:d8:10"}'}, {"98fa9b50d810"}),
        ({"body": "m=01-52-54-00-ab-cd-ef", "headers": FORM}, {"525400abcdef"}),
        ({"identities": ["My-Node", "x"]}, {"mynode", "x"}),
        ({"body": '{"nics": {"98fa9b50d810": "up"}}'}, {"98fa9b50d810"}),
        ({"body": '{"nics": {"98fa9b50d810"\n: "up"}}'}, {"98fa9b50d810"}),
        ({"body": '{"nics": {"98\\u003afa:9b:50:d8:10": "up"}}'}, {"98fa9b50d810"}),
        ({"body": '{"a": "98:fa:9b:50:d8:10", "a": "x"}'}, {"98fa9b50d810"}),
        ({"body": '{"a": "node-seven", "a": "x"}'}, {"nodeseven"}),
        ({"body": '{"a": "\\"", "b": "node-seven", "b": "x\\\\"}'}, {"nodeseven"}),
        ({"body": '{"user_agent": [["x"], {"id": "node-seven"}]}'}, {"nodeseven"}),
        ({"body": '{"peer": "98:fa:9b:50:d8:10"}'}, {"98fa9b50d810"}),
        ({"body": json.dumps({"a": "x" * 2000 + " 98:fa:9b:50:d8:10"})}, {"98fa9b50d810"}),
        ({"target": "/?state=node1&secret.a=node2"}, {"node1", "node2"}),
        # Its own words for what the service sets are no facts; a MAC address anywhere in the query is one.
        ({"target": "/?peer=98:fa:9b:50:d8:10"}, {"98fa9b50d810"}),
        ({"target": "/?p%65er=98:fa:9b:50:d8:10"}, {"98fa9b50d810"}),
        ({"target": "/?98:fa:9b:50:d8:10"}, {"98fa9b50d810"}),
    ],
)
def test_a_request_carries_identities(parts: dict[str, Any], carried: set[str]) -> None:
    assert carried <= facts(**parts).identities.keys()


@pytest.mark.parametrize(
    ("parts", "absent"),
    [
        ({"target": "/proxmox/Debian/x"}, {"proxmox", "debian"}),
        ({"target": "/?node1"}, {"node1"}),
        ({"body": "serial=%2C98fa9b50d8", "headers": FORM}, {"2c98fa9b50d8"}),
        ({"body": "node-seven"}, {"nodeseven"}),
        ({"target": "/?h=node1" + "-" * 1020}, {"node1"}),
        ({"target": "/node1" + "-" * 1020}, {"node1"}),
        ({"body": json.dumps({"h": "node1" + "-" * 1020})}, {"node1"}),
        ({"body": "h=node1" + "-" * 1020, "headers": FORM}, {"node1"}),
        ({"headers": [("x-system-serial-number", "node1" + "-" * 1020)]}, {"node1"}),
        ({"body": '{"user_agent": ["node-seven"]}'}, {"nodeseven"}),
        ({"target": "/01-52-54-00-ab-cd-ef-99"}, {"525400abcdef"}),
    ],
)
def test_a_request_does_not_carry(parts: dict[str, Any], absent: set[str]) -> None:
    assert not absent & facts(**parts).identities.keys()


@pytest.mark.parametrize(
    ("parts", "described"),
    [
        ({"target": "/?serial=S&mac=M"}, "mac=M"),
        ({"target": "/?serial=S"}, "serial=S"),
        ({"target": "/98fa9b50d810"}, "mac=98fa9b50d810"),
        ({"identities": ["node-01"], "peer": "192.0.2.7"}, "node-01"),
        ({"peer": "192.0.2.7"}, "peer=192.0.2.7"),
        ({}, "a request that names no machine"),
    ],
)
def test_who_asks_is_told_by_the_best_name(parts: dict[str, Any], described: str) -> None:
    assert facts(**parts).described == described


def test_who_asks_is_told_briefly() -> None:
    assert len(facts("/", json.dumps({"mac": "x" * 500_000})).described) < 200


HOSTILE = {
    "half a million numbers": b"[" + b",".join([b"1"] * 500_000) + b"]",
    "a long name over many values": b'{"' + b"k" * 500_000 + b'":[' + b",".join([b"1"] * 250_000) + b"]}",
    "a thousand levels of long names": (b'{"' + b"k" * 900 + b'":') * 1000 + b"1" + b"}" * 1000,
    "a million brackets": b"[" * 1_000_000,
    "a million brackets after an escape": b'["\\u0041",' + b"[" * 1_000_000,
    "an integer of a million digits": b"1" * 1_000_000,
    "a fraction of a million digits": b'{"a":1.' + b"1" * 1_000_000 + b"}",
    "many names": json.dumps({f"k{n}": n for n in range(60_000)}).encode(),
    "many backslashes": b'["' + b"\\\\" * 500_000 + b'"]',
    "lone surrogates": b"[" + b",".join([b'"\\ud800"'] * 100_000) + b"]",
    "a form of ampersands": b"a=1&" * 250_000,
    "a million blanks": b" " * 1_000_000,
    "bytes": bytes(range(256)) * 4096,
    "one key over and over": b"{" + b",".join([b'"a":1'] * 170_000) + b"}",
    "numbers that no double holds": b"[" + b",".join([b"1e400"] * 170_000) + b"]",
    "nulls": b"[" + b",".join([b"null"] * 200_000) + b"]",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_body_is_no_error(body: bytes) -> None:
    found = facts(body=body, headers=FORM)
    assert found.identities is not None
    assert sum(len(label) for label in found.labels) < 3_000_000
    assert found.described


def test_a_late_value_of_a_huge_body_has_no_label_but_an_identity() -> None:
    found = facts(body=b'{"pad": [' + b",".join([b"1"] * 400_000) + b'], "serial": "S-12345"}')
    assert found.first("serial") is None
    assert "s12345" in found.identities


def test_a_machine_that_says_nothing_but_its_name() -> None:
    assert list(facts_of(["98:fa:9b:50:d8:10"]).identities) == ["98fa9b50d810"]
    assert not facts_of(["98:fa:9b:50:d8:10"]).labels


NAMES = st.sampled_from(["a", "b", "A", "a.b", "b.0", "0", "", "é", "B.a"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 99), st.sampled_from(["", "x", "y"]))
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=4), max_leaves=12
)


@settings(max_examples=examples(200))
@given(VALUES)
def test_a_label_that_is_asked_for_has_the_values_that_all_labels_show(value: object) -> None:
    body = read_json(json.dumps(value).encode())
    assert body
    labels = body.labels()
    for label in {*labels, "a.b", "a", "0.a", "nope", "b.0.a"} - {""}:
        assert body.first(label) == next(iter(labels.get(label, [])), None)
        assert body.values(label) == labels.get(label, [])


ADDRESSES = st.sampled_from(
    ["52:54:00:00:00:05", "enx525400000006", "525400000007", "192.168.1.11", "fe80::1", "1:2:3:4:5:6:7:8", "O.E.M."]
)
SAID = st.one_of(ADDRESSES, st.text("ab1. :\u00e9\n\\", max_size=6), st.integers(0, 99_999), st.booleans(), st.none())
BODIES = st.recursive(
    SAID,
    lambda below: (
        st.lists(below, max_size=3)
        | st.lists(st.fixed_dictionaries({"link": SAID, "mac": SAID}), min_size=3, max_size=5)
        | st.dictionaries(st.sampled_from(["mac", "serial", "peer", "52-54-00-00-00-08"]), below, max_size=4)
    ),
    max_leaves=12,
)
QUERIES = st.lists(st.tuples(st.sampled_from(["mac", "peer", "x", ""]), ADDRESSES), max_size=3)


@settings(max_examples=examples(300))
@given(BODIES, QUERIES, st.booleans())
def test_identities_that_an_index_holds_are_those_that_the_request_carries(
    value: object, query: list[tuple[str, str]], ascii_only: bool
) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    target = "/boot/52-54-00-00-00-09?" + "&".join(f"{label}={text}" for label, text in query)
    carried = list(facts(target, body, peer="192.0.2.7").identities)
    some = ["abab", "ab", "192.168.1.11", "192168111", "5254000000", "fe801", "1:2:3:4:5:6:7:8", "oem"]
    for index in ([*carried, *some], carried[::2] + some, carried[:1], some, []):
        asked = facts(target, body, peer="192.0.2.7").identities_in(set(index).intersection)
        assert asked == [identity for identity in carried if identity in index]


# --- large bodies ----------------------------------------------------------------------------------------------------


def numbered(pattern: str, size: int) -> bytes:
    """A JSON map of this size, with an entry for each number."""
    return (
        "{" + ", ".join([pattern.replace("%", str(number)) for number in range(size // len(pattern))]) + "}"
    ).encode()


@pytest.mark.parametrize("pattern", ['"%":1', '"%": {"system": {"serial": "S-%"}}', '"%": {"x": 1}'])
def test_what_the_states_ask_of_a_large_body_is_known_beforehand(pattern: str) -> None:
    """It is asked on the event loop, which answers nobody else meanwhile; 400 ms at 1 MB once."""
    asked = facts("/ubuntu/user-data", numbered(pattern, 1_000_000))
    asked.prepare()
    began = time.thread_time()
    carried_names(Catalogue(), asked, InstallMemory(Rules()))
    assert time.thread_time() - began < 0.1


def test_of_a_body_with_many_serials_the_first_64_may_be_the_machines() -> None:
    asked = facts("/", numbered('"%": {"system": {"serial": "S-%"}}', 20_000))
    assert asked.system_values("serial") == [f"S-{number}" for number in range(64)]


@pytest.mark.parametrize(
    ("body", "serials"),
    [
        ('{"serial": "A"}', ["A"]),
        ('{"Serial": 7.10, "SYSTEM": {"SERIAL": "B"}}', ["7.10", "B"]),
        ('{"dmi": {"system": {"serial": "C"}, "chassis": {"serial": "D"}}}', ["C"]),
        ('{"serial": "A", "serial": "B"}', ["A", "B"]),
        ('{"serial": true, "system": {"serial": null}, "dmi": {"system": {"serial": ""}}}', []),
        ('{"system": [{"serial": "A"}], "a": {"b": {"system": {"serial": "B"}}}}', []),
        ('[{"serial": "A"}]', []),
        ('"serial"', []),
    ],
)
def test_what_a_body_says_of_the_machine_itself(body: str, serials: list[str]) -> None:
    assert [*facts("/", body.encode()).system_values("serial")] == serials


def test_what_asks_for_a_side_file_asks_for_user_data_in_its_place() -> None:
    asked = facts("/cloud-init/meta-data?File=meta%2Ddata&x=meta-data&file=other&y=1").asking_for_user_data()
    assert asked.request.path == "/cloud-init/user-data"
    assert asked.request.query == "File=user-data&x=meta-data&file=other&y=1"
    asked = facts("/ubuntu?a=meta-data&f=seed%2Fmeta%2Ddata&y=1").asking_for_user_data()
    assert asked.request.query == "a=meta-data&f=seed/user-data&y=1"
    assert (asked.side_file, asked.values("file")) == (None, ["ubuntu", "user-data"])


PATHS = {
    "a segment": ("/ubuntu/98-fa-9b-50-d8-10/user-data", ["98-fa-9b-50-d8-10"]),
    "a segment without separators": ("/autoyast/98FA9B50D810", ["98FA9B50D810"]),
    "with an extension": ("/ks/98:fa:9b:50:d8:10.ks", ["98:fa:9b:50:d8:10"]),
    "after PXELINUX's prefix": ("/pxelinux.cfg/01-98-fa-9b-50-d8-10", ["98-fa-9b-50-d8-10"]),
    "after a word": ("/ks/mac=98-fa-9b-50-d8-10", ["98-fa-9b-50-d8-10"]),
    "percent-encoded": ("/ks/98%3Afa%3A9b%3A50%3Ad8%3A10", ["98:fa:9b:50:d8:10"]),
    "before OpenBSD's ending": ("/98:fa:9b:50:d8:10-install.conf", ["98:fa:9b:50:d8:10"]),
    "twice": ("/52-54-00-00-00-01/98-fa-9b-50-d8-10", ["52-54-00-00-00-01", "98-fa-9b-50-d8-10"]),
    "a UUID": ("/ks/0f3e0f2c-5a0b-4c55-9d2a-98fa9b50d810", []),
}


@pytest.mark.parametrize(("path", "macs"), PATHS.values(), ids=PATHS.keys())
def test_a_mac_address_in_the_path_is_a_fact(path: str, macs: list[str]) -> None:
    facts = Facts(Request(path))
    assert list(facts.values("mac")) == macs
    assert Facts(Request(path)).first("mac") == next(iter(macs), None)
    assert list(facts.labels.get("mac", [])) == macs
    assert facts.described == (f"mac={macs[0]}" if macs else "a request that names no machine")


def test_a_mac_address_in_the_path_comes_after_those_that_are_named() -> None:
    path = "/ks/98-fa-9b-50-d8-10"
    for request in (
        Request(path, "mac=52:54:00:00:00:01"),
        Request(path, headers=[("x-rhn-provisioning-mac-0", "eno1 52:54:00:00:00:01")]),
        Request(path, body=b'{"nics": [{"mac": "52:54:00:00:00:01"}]}'),
    ):
        facts = Facts(request)
        assert Facts(request).first("mac") == "52:54:00:00:00:01"
        assert list(facts.values("mac")) == ["52:54:00:00:00:01", "98-fa-9b-50-d8-10"]
        assert facts.labels["mac"] == ["52:54:00:00:00:01", "98-fa-9b-50-d8-10"]


def test_a_mac_address_that_is_named_is_no_other_in_the_path() -> None:
    facts = Facts(Request("/ks/98-fa-9b-50-d8-10", "mac=98:FA:9B:50:D8:10"))
    assert list(facts.values("mac")) == ["98:FA:9B:50:D8:10"]
    assert facts.labels["mac"] == ["98:FA:9B:50:D8:10"]


@pytest.mark.parametrize("blank", ["", " ", "\t \n"])
def test_a_blank_value_names_nobody(blank: str) -> None:
    facts = Facts(Request(body=json.dumps({"mac": blank, "serial": "S-1"}).encode()))
    assert facts.described == "serial=S-1"
