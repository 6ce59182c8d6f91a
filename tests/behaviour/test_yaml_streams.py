"""YAML texts of several documents (Talos), in every store."""

from __future__ import annotations

import pytest
import yaml

from answerd.errors import BrokenDocument
from tests.support.fleet import Fleet

TALOS = """# of one machine
machine:
  network: {hostname: '{{ machine }}'}
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: '{{ serial | slug }}'
"""


@pytest.mark.parametrize("key", ["extends: g", "members: [n1]", "match: {a: b}", "unset: [a]", "template: false"])
@pytest.mark.parametrize("name", ["n1.yaml", "default.yaml", "groups/n1.yaml"])
def test_a_control_key_in_another_document_than_the_first_is_a_parse_error(fleet: Fleet, key: str, name: str) -> None:
    [problem] = fleet.write({name: f"a: 1\n---\n{key}\n"}).problems()
    assert "does not parse: line 3" in problem
    assert "at the top of the first" in problem
    with pytest.raises(BrokenDocument, match="several YAML documents"):
        fleet.ask("/yaml?h=n1")


MAIN = "version: v1alpha1\nmachine: {type: worker, install: {disk: /dev/sda, wipe: false}}\n"
HOSTNAME = "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: {}\n"
LINK = "apiVersion: v1alpha1\nkind: LinkConfig\nname: {}\nmtu: {}\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, namespace: {}}}\ndata: {{ {}: x }}\n"


def documents(*texts: str) -> str:
    return "---\n".join(texts)


STREAMS = {
    "a document over several": (
        documents(MAIN, HOSTNAME.format("auto")),
        "machine: {install: {wipe: true}}\n",
        documents(MAIN.replace("false", "true"), HOSTNAME.format("auto")),
    ),
    "several over one": (
        MAIN,
        documents("machine: {install: {wipe: true}}\n", HOSTNAME.format("n1")),
        documents(MAIN.replace("false", "true"), HOSTNAME.format("n1")),
    ),
    "documents of one kind in another order": (
        documents(MAIN, HOSTNAME.format("auto"), LINK.format("eth0", 1500)),
        documents(LINK.format("eth0", 9000), HOSTNAME.format("n1")),
        documents(MAIN, HOSTNAME.format("n1"), LINK.format("eth0", 9000)),
    ),
    "a document of another name follows": (
        documents(MAIN, LINK.format("eth0", 1500)),
        LINK.format("eth1", 9000),
        documents(MAIN, LINK.format("eth0", 1500), LINK.format("eth1", 9000)),
    ),
    "a document of another kind over one": (MAIN, HOSTNAME.format("n1"), documents(MAIN, HOSTNAME.format("n1"))),
    "names in metadata": (
        documents(CONFIG_MAP.format("a", "x", "one"), CONFIG_MAP.format("a", "y", "two")),
        CONFIG_MAP.format("a", "y", "three"),
        documents(
            CONFIG_MAP.format("a", "x", "one"), CONFIG_MAP.format("a", "y", "two").replace("two: x", "two: x, three: x")
        ),
    ),
    "an empty document": (f"{MAIN}---\n---\n{HOSTNAME.format('a')}", "machine: {x: 1}\n", None),
    "one of a kind over one of that kind": (LINK.format("a", 1), LINK.format("a", 2), LINK.format("a", 2)),
}


@pytest.mark.parametrize(("lower", "upper", "wanted"), STREAMS.values(), ids=STREAMS)
def test_documents_merge_by_kind_and_name(fleet: Fleet, lower: str, upper: str, wanted: str | None) -> None:
    fleet.write({"groups/g.yaml": lower, "n1.yaml": f"extends: g\n{upper}"})
    assert fleet.problems() == []
    answer = list(yaml.safe_load_all(fleet.text("/yaml?h=n1")))
    if wanted is None:
        assert [sorted(one) for one in answer] == [["machine", "version"], ["apiVersion", "hostname", "kind"]]
    else:
        assert answer == list(yaml.safe_load_all(wanted))


def test_control_keys_stand_at_the_top_of_the_first_document(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/g.yaml": documents("members: [n1]\n", MAIN, LINK.format("eth0", 1500) + "addresses: [a]\n"),
            "n1.yaml": documents(
                "unset: [machine.install]\nappend: [addresses]\n"
                + LINK.format("eth0", 1500)
                + "addresses: ['{{ ip }}']\n",
                HOSTNAME.format("'{{ machine }}'"),
            ),
        }
    )
    assert fleet.problems() == []
    assert list(yaml.safe_load_all(fleet.text("/yaml?h=n1&ip=b"))) == [
        {"version": "v1alpha1", "machine": {"type": "worker"}},
        {"apiVersion": "v1alpha1", "kind": "LinkConfig", "name": "eth0", "mtu": 1500, "addresses": ["a", "b"]},
        {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": "n1"},
    ]
    fleet.write({"n2.yaml": documents("template: false\na: '{{ x }}'\n", "b: 0644\n")})
    assert fleet.text("/yaml?h=n2") == "a: '{{ x }}'\n---\nb: 0644\n"


def test_placeholders_of_both_layers_are_filled_in_a_merge(fleet: Fleet) -> None:
    fleet.write(
        {"groups/g.yaml": f"{TALOS}other: '{{{{ ip }}}}'\n", "n1.yaml": "extends: g\nmachine: {a: '{{ mac }}'}\n"}
    )
    assert list(yaml.safe_load_all(fleet.text("/yaml?h=n1&serial=S1&ip=i&mac=m"))) == [
        {"machine": {"network": {"hostname": "n1"}, "a": "m"}},
        {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": "s1", "other": "i"},
    ]


def test_documents_that_could_pair_in_two_ways_are_an_error(fleet: Fleet) -> None:
    fleet.write({"groups/g.yaml": "a: 1\n---\nb: 1\n", "n1.yaml": "extends: g\nc: 1\n"})
    fleet.write({"groups/h.yaml": "members: [n2]\na: 1\n", "n2.yaml": "b: 1\n---\nc: 1\n"})
    for name, which in (("n1", "lower"), ("n2", "upper")):
        with pytest.raises(BrokenDocument, match=f"{name}.*cannot be laid over.*the {which} text has two documents"):
            fleet.ask(f"/yaml?h={name}")
    assert len(fleet.check().problems) == 2
