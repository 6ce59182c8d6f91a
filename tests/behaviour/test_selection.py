"""Which documents answer a request, sentence by sentence, in every store.

Rules: docs/formats.md#which-format-a-request-asks-for, docs/selection.md#which-documents-answer.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from answerd.errors import BrokenDocument, NotClaimed
from tests.support.fleet import Fleet

MAC = "98:fa:9b:50:d8:10"
NAME = "98fa9b50d810"


def marked(marker: str, *control: str, match: dict[str, str] | None = None) -> str:
    """A TOML document that tells which one it is."""
    table = [f'{label} = "{pattern}"' for label, pattern in (match or {}).items()]
    return "\n".join([*control, f'marker = "{marker}"', *(["[match]", *table] if table else []), ""])


def chosen(fleet: Fleet, target: str = "/", **request: Any) -> str:
    """The marker of the answer: the document that had the last word."""
    text = fleet.text(target, **request)
    found = re.search(r'marker"?:? (?:= )?"?([\w-]+)', text)
    assert found, text
    return found[1]


# --- aliases ----------------------------------------------------------------------------------------------------------

ONE_OF_EACH = {
    "default.toml": 'marker = "toml"\n',
    "default.yaml": "marker: yaml\n",
    "default.yml": "marker: yml\n",
    "default.json": '{"marker": "json"}',
    "default.ign": '{"marker": "ign"}',
    "default.xml": "<a>marker xml</a>",
    "default.autoyast": "<a>marker autoyast</a>",
    "default.unattend": "<a>marker unattend</a>",
    "default.ks": "marker ks\n",
    "default.preseed": "marker preseed\n",
    "default.seed": "marker seed\n",
    "default.cfg": "marker cfg\n",
    "default.ipxe": "marker ipxe\n",
    "default.erb": "marker erb\n",
    "default.jsonnet": "marker jsonnet\n",
}
ORDER = list(ONE_OF_EACH)

ALIASES = {
    "proxmox pve toml": ["toml"],
    "debian preseed": ["preseed", "seed"],
    "rhel centos fedora alma rocky kickstart ks": ["ks"],
    "ubuntu autoinstall cloudinit nocloud yaml yml": ["yaml", "yml"],
    "flatcar coreos ignition ign": ["ign", "json"],
    "suse opensuse autoyast": ["autoyast", "xml", "erb"],
    "windows unattend": ["unattend", "xml"],
    "json": ["json", "ign", "jsonnet"],
    "xml": ["xml"],
    "cfg": ["cfg"],
    "ipxe": ["ipxe"],
    "erb": ["erb"],
    "jsonnet": ["jsonnet"],
}


def served_format(fleet: Fleet, target: str) -> str:
    return fleet.ask(target).format.extension


@pytest.mark.parametrize(
    ("alias", "formats"), [(alias, formats) for names, formats in ALIASES.items() for alias in names.split()]
)
def test_an_alias_restricts_a_request_to_its_formats_in_their_order(
    fleet: Fleet, alias: str, formats: list[str]
) -> None:
    fleet.write(ONE_OF_EACH)
    for extension in formats:
        for target in (f"/{alias}", f"/{alias.upper()}/x", f"/boot/{alias.title()}/x.ks?a=1"):
            assert served_format(fleet, target) == extension
        fleet.remove(f"default.{extension}")
    with pytest.raises(NotClaimed):
        fleet.ask(f"/{alias}")


@pytest.mark.parametrize(
    "target", ["/", "/x", "/seed/x", "/boot/node.ks", "/x?pve=pve", "/txt", "/proxmox.ve", "/pve2"]
)
def test_a_path_without_an_alias_restricts_nothing(fleet: Fleet, target: str) -> None:
    fleet.write(ONE_OF_EACH)
    for name in ORDER:
        assert served_format(fleet, target) == name.partition(".")[2]
        fleet.remove(name)


def test_the_first_alias_of_a_path_decides(fleet: Fleet) -> None:
    fleet.write(ONE_OF_EACH)
    assert served_format(fleet, "/x/rhel/proxmox") == "ks"
    assert served_format(fleet, "/proxmox/rhel") == "toml"


# --- machine documents ------------------------------------------------------------------------------------------------


def test_identifiers_are_ordered_by_code_point(fleet: Fleet) -> None:
    fleet.write({name: marked(name[:-5]) for name in ("a1.toml", "B1.toml", "_c.toml", "10.toml")})
    asked = "/?h=a1&h=b1&h=c&h=10"
    for expected in ("10", "B1", "_c", "a1"):
        assert chosen(fleet, asked) == expected
        fleet.remove(f"{expected}.toml")


def test_under_an_alias_ties_go_by_the_order_of_its_list(fleet: Fleet) -> None:
    fleet.write({"n1.xml": "<a>marker xml</a>", "n1.unattend": "<a>marker unattend</a>"})
    assert chosen(fleet, "/?h=n1") == "xml"
    assert chosen(fleet, "/windows?h=n1") == "unattend"
    fleet.write({"n1.json": '{"marker": "json"}', "n1.ign": '{"marker": "ign"}'})
    assert chosen(fleet, "/flatcar?h=n1") == "ign"
    assert chosen(fleet, "/json?h=n1") == "json"


def test_equality_never_a_substring(fleet: Fleet) -> None:
    fleet.write({"node1.toml": marked("one"), "node12.toml": marked("twelve"), "default.toml": marked("default")})
    assert [chosen(fleet, f"/?h={name}") for name in ("node1", "node12", "node123", "node", "xnode1")] == [
        "one",
        "twelve",
        "default",
        "default",
        "default",
    ]


# --- the machine's group ----------------------------------------------------------------------------------------------


def test_extends_beats_members_beats_match(fleet: Fleet) -> None:
    fleet.write(
        {
            f"{NAME}.toml": 'extends = "Named"\nown = 1\n',
            "groups/named.toml": marked("named"),
            "groups/member.toml": marked("member", f'members = ["{MAC}"]'),
            "groups/match.toml": marked("match", match={"serial": "*", "rack": "*"}),
        }
    )
    asked = f"/?mac={MAC}&serial=1&rack=1"
    assert chosen(fleet, asked) == "named"
    fleet.write({f"{NAME}.toml": "own = 1\n"})
    assert chosen(fleet, asked) == "member"
    fleet.remove("groups/member.toml")
    assert chosen(fleet, asked) == "match"
    answer = fleet.ask(asked)
    assert answer.composition == f"format=toml machine={NAME} group=match"
    fleet.remove("groups/match.toml")
    assert fleet.text(asked) == "own = 1\n"


def test_yaml_and_yml_are_two_formats(fleet: Fleet) -> None:
    fleet.write({"n1.yaml": "extends: g\na: 1\n", "groups/g.yml": "b: 2\n"})
    with pytest.raises(BrokenDocument, match="unknown group"):
        fleet.ask("/?h=n1")


# --- groups -----------------------------------------------------------------------------------------------------------


def test_groups_that_tie_go_by_name_then_by_format(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/b.toml": marked("b", match={"x": "1"}),
            "groups/a.ks": "# answer: match x=1\nmarker a-ks\n",
            "groups/a.xml": '<r><answer-meta><match x="1"/></answer-meta><b>marker a-xml</b></r>',
        }
    )
    assert chosen(fleet, "/?x=1") == "a-xml"
    assert chosen(fleet, "/rhel?x=1") == "a-ks"
    assert chosen(fleet, "/pve?x=1") == "b"


# --- defaults and 404 -------------------------------------------------------------------------------------------------


def test_the_default_may_extend_a_group(fleet: Fleet) -> None:
    fleet.write({"groups/base.toml": "a = 1\nb = 1\n", "default.toml": 'extends = "base"\nb = 2\n'})
    answer = fleet.ask("/")
    assert answer.body == b"a = 1\nb = 2\n"
    assert answer.composition == "format=toml group=base default"


@pytest.mark.parametrize(
    ("request_parts", "words"),
    [
        ({"target": f"/pve?mac={MAC}"}, f"mac={MAC}"),
        ({"target": "/pve?serial=S-1"}, "serial=S-1"),
        ({"target": "/pve", "json": {"dmi": {"serial": "S-2"}}}, "serial=S-2"),
        ({"target": f"/pve/{MAC}"}, f"mac={MAC}"),
        ({"target": "/pve"}, "no default in toml"),
        ({"target": "/"}, "no default"),
    ],
)
def test_what_nobody_claims_is_told_with_the_name_that_asked(
    fleet: Fleet, request_parts: dict[str, Any], words: str
) -> None:
    fleet.write({"other.toml": "x = 1\n"})
    with pytest.raises(NotClaimed, match=re.escape(words)):
        fleet.ask(**request_parts)


# --- names that are aliases -------------------------------------------------------------------------------------------


def test_a_machine_named_like_an_alias_claims_nothing(fleet: Fleet) -> None:
    fleet.write({"proxmox.toml": marked("machine"), "default.toml": marked("default")})
    for target in ("/proxmox", "/?h=proxmox", "/x/proxmox.toml", "/?h=PROX-MOX"):
        assert chosen(fleet, target) == "default"
    assert any('machine "proxmox" (toml)' in problem and "group meant" in problem for problem in fleet.problems())


def test_a_group_may_be_named_like_an_alias_and_a_member_too(fleet: Fleet) -> None:
    fleet.write({"groups/proxmox.toml": marked("group", 'members = ["debian"]')})
    assert chosen(fleet, "/pve?h=debian") == "group"
    with pytest.raises(NotClaimed):
        fleet.ask("/debian/x")
    assert fleet.problems() == []


def test_an_alias_in_the_path_does_not_claim_a_member_of_that_name(fleet: Fleet) -> None:
    fleet.write({"groups/g.toml": marked("group", 'members = ["pve"]')})
    with pytest.raises(NotClaimed):
        fleet.ask("/pve")


# --- many claims at once --------------------------------------------------------------------------------------------


def test_group_names_in_extends_are_compared_by_identity(fleet: Fleet) -> None:
    fleet.write({"groups/Rack-A.toml": "a = 1\n", "n1.toml": 'extends = "rack_a"\n'})
    assert fleet.text("/?h=n1") == "a = 1\n"
    assert fleet.problems() == []
