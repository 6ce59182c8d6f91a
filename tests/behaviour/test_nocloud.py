"""NoCloud's side files: docs/selection.md#noclouds-side-files, in every store."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import yaml

from answerd.errors import AnswerError, BrokenDocument, CannotFill, NotClaimed
from tests.support.fleet import Fleet

MADE_UP = {"vendor-data": b"", "network-config": b""}
MAC = "52:54:00:aa:00:04"


@pytest.mark.parametrize("alias", ["ubuntu", "Autoinstall", "cloudinit", "NOCLOUD", "yaml", "yml"])
def test_one_document_is_enough(fleet: Fleet, alias: str) -> None:
    fleet.write({"525400aa0004.yaml": "#cloud-config\nhostname: n4\n"})
    assert fleet.text(f"/{alias}/{MAC}/user-data") == "#cloud-config\nhostname: n4\n"
    assert fleet.text(f"/{alias}/{MAC}/meta-data") == 'instance-id: "525400aa0004"\n'
    for name, body in MADE_UP.items():
        answer = fleet.ask(f"/{alias}/{MAC}/{name}")
        assert answer.body == body
        assert answer.format.content_type == "text/yaml; charset=utf-8"
        assert answer.composition == f"format=yaml machine=525400aa0004 nocloud={name}"


@pytest.mark.parametrize(
    "target", ["/pve/meta-data", "/x?file=meta-data", "/meta-data/x", "/ubuntu/Meta-Data", "/ubuntu/meta-data/x"]
)
def test_elsewhere_they_are_names_like_any_other(fleet: Fleet, target: str) -> None:
    fleet.write({"default.yaml": "marker: 1\n", "default.toml": "marker = 1\n"})
    assert "marker" in fleet.text(target)


@pytest.mark.parametrize(
    ("documents", "query", "instance"),
    [
        ({"Node-1.yaml": "a: 1\n"}, "h=node_1", "Node-1"),
        ({"groups/g.yaml": "members: [node1]\na: 1\n"}, "h=Node-1", "Node-1"),
        ({"groups/g.yaml": f"members: ['{MAC}']\na: 1\n"}, "mac=52-54-00-AA-00-04", "52-54-00-AA-00-04"),
        ({"groups/g.yaml": "match: {serial: '*'}\na: 1\n"}, "serial=S1", "nocloud"),
        ({"default.yaml": "a: 1\n"}, "h=node1", "nocloud"),
        ({"groups/g.yaml": "members: [node1]\na: 1\n"}, "h=node%22%5C1", 'node"\\1'),
        ({"groups/g.yaml": "members: [node1]\na: 1\n"}, "h=node%201%F0%9F%98%80%C2%85%0A", "node 1😀\x85\n"),
    ],
)
def test_the_instance_is_named_by_who_claimed(
    fleet: Fleet, documents: Mapping[str, str], query: str, instance: str
) -> None:
    text = fleet.write(documents).text(f"/ubuntu/?{query}&file=meta-data")
    assert yaml.safe_load(text) == {"instance-id": instance}
    assert text.count("\n") == 1


def test_only_documents_whose_match_names_file_may_claim_a_side_file(fleet: Fleet) -> None:
    fleet.write(
        {
            "node1.yaml": "own: 1\n",
            "groups/net.yaml": "match: {file: network-config}\nversion: 2\n",
            "groups/more.yaml": "match: {file: '*', rack: '1'}\nmore: 1\n",
            "groups/any.yaml": "match: {h: node*}\nany: 1\n",
            "groups/members.yaml": "members: [node2]\nmatch: {file: vendor-data}\nvendor: 1\n",
        }
    )
    assert yaml.safe_load(fleet.text("/ubuntu/user-data?h=node1")) == {"any": 1, "own": 1}
    assert yaml.safe_load(fleet.text("/ubuntu/network-config?h=node1")) == {"version": 2}
    assert yaml.safe_load(fleet.text("/ubuntu/network-config?h=node1&rack=1")) == {"more": 1}
    assert fleet.text("/ubuntu/vendor-data?h=node1") == ""
    assert yaml.safe_load(fleet.text("/ubuntu/vendor-data?h=node2")) == {"vendor": 1}
    assert fleet.ask("/ubuntu/network-config?h=node1").composition == "format=yaml group=net"


def test_a_machines_document_may_be_a_side_file(fleet: Fleet) -> None:
    fleet.write({"node1.yaml": "user: 1\n", "node1.yml": "match: {file: meta-data}\nlocal-hostname: n1\n"})
    assert yaml.safe_load(fleet.text("/ubuntu/meta-data?h=node1")) == {"local-hostname": "n1"}
    assert yaml.safe_load(fleet.text("/ubuntu/user-data?h=node1")) == {"user": 1}
    assert fleet.text("/ubuntu/vendor-data?h=node1") == ""


@pytest.mark.parametrize("name", ["meta-data", "vendor-data", "network-config"])
@pytest.mark.parametrize(
    ("documents", "query", "error"),
    [
        ({"node1.toml": "a = 1\n"}, "h=node1", NotClaimed),
        ({}, "h=node1", NotClaimed),
        ({"node1.yaml": "a: [\n"}, "h=node1", BrokenDocument),
        ({"node1.yaml": "extends: ghost\n"}, "h=node1", BrokenDocument),
        ({"node1.yaml": "a: '{{ serial }}'\n"}, "h=node1", CannotFill),
        ({"groups/dark.yaml": "members: 1\n", "node1.yaml": "a: 1\n"}, "h=node1", BrokenDocument),
    ],
)
def test_where_user_data_is_refused_so_are_they_for_the_same_reason(
    fleet: Fleet, name: str, documents: Mapping[str, str], query: str, error: type[AnswerError]
) -> None:
    fleet.write(documents)
    with pytest.raises(error) as caught:
        fleet.ask(f"/ubuntu/{name}?{query}")
    with pytest.raises(error) as user_data:
        fleet.ask(f"/ubuntu/user-data?{query}")
    assert caught.value.reason == user_data.value.reason


def test_a_broken_side_file_is_a_500(fleet: Fleet) -> None:
    fleet.write({"default.yaml": "a: 1\n", "groups/net.yaml": "match: {file: network-config}\nextends: ghost\n"})
    with pytest.raises(BrokenDocument, match="ghost"):
        fleet.ask("/ubuntu/network-config")
    assert fleet.text("/ubuntu/vendor-data") == ""


@pytest.mark.parametrize("text", ["match: {file: vendor-data}\n", "match: {file: vendor-data}\nextends: base\n"])
def test_a_side_file_may_say_nothing(fleet: Fleet, text: str) -> None:
    fleet.write({"default.yaml": "a: 1\n", "groups/vendor.yaml": text, "groups/base.yaml": "# nothing\n"})
    assert not yaml.safe_load(fleet.text("/ubuntu/vendor-data"))


def test_an_instance_is_never_named_by_what_is_no_unicode(fleet: Fleet) -> None:
    fleet.write({"groups/g.yaml": 'members: ["web-01"]\na: 1\n'})
    assert fleet.text("/ubuntu/meta-data?h=Web-01") == 'instance-id: "Web-01"\n'
    assert fleet.text("/ubuntu/meta-data?h=Web-01%ff") == 'instance-id: "web01"\n'


@pytest.mark.parametrize("name", ["meta-data", "vendor-data", "network-config"])
def test_a_group_that_cannot_be_read_keeps_no_side_file_back_where_user_data_is_answered(
    fleet: Fleet, name: str
) -> None:
    fleet.write(
        {
            "groups/zz.yaml": "a: [\n",
            "groups/g.yaml": "members: [aa-1]\nx: 1\n",
            "groups/net.yaml": "match: {file: network-config}\nversion: 2\n",
        }
    )
    assert fleet.text("/ubuntu/user-data?id=aa-1") == "x: 1\n"
    own = {"meta-data": {"instance-id": "aa-1"}, "vendor-data": None, "network-config": {"version": 2}}
    assert yaml.safe_load(fleet.text(f"/ubuntu/{name}?id=aa-1")) == own[name]
    with pytest.raises(BrokenDocument, match="zz"):  # user-data is a 500 too
        fleet.ask(f"/ubuntu/{name}?id=aa-2")
