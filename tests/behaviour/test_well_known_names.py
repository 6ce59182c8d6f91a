"""File names that installers ask for by themselves: which formats they ask for, and which documents may answer them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from answerd.errors import NotClaimed
from tests.support.fleet import Fleet
from tests.support.service import run, write_tree

MAC = "52:54:00:aa:00:04"
NAME = "525400aa0004"

EVERY_FORMAT = {
    "default.toml": 'marker = "toml"\n',
    "default.yaml": "marker: yaml\n",
    "default.yml": "marker: yml\n",
    "default.json": '{"marker": "json"}',
    "default.ign": '{"marker": "ign"}',
    "default.xml": "<a>xml</a>",
    "default.autoyast": "<a>autoyast</a>",
    "default.unattend": "<a>unattend</a>",
    "default.ks": "ks\n",
    "default.preseed": "preseed\n",
    "default.seed": "seed\n",
    "default.cfg": "cfg\n",
    "default.ipxe": "ipxe\n",
}

RESTRICTED = {
    "cloud-init's user-data": ("/seed/x/user-data", ["yaml", "yml"]),
    "at the top": ("/user-data", ["yaml", "yml"]),
    "with a query": ("/seed/user-data?mac=1", ["yaml", "yml"]),
    "with a slash behind": ("/seed/user-data/", ["yaml", "yml"]),
    "percent-encoded": ("/seed/user%2Ddata", ["yaml", "yml"]),
    "OpenBSD install": ("/install.conf", ["cfg"]),
    "OpenBSD upgrade": ("/upgrade.conf", ["cfg"]),
    "OpenBSD install of a MAC address": ("/52:54:00:aa:00:99-install.conf", ["cfg"]),
    "OpenBSD upgrade of a host": ("/openbsd/web-01-upgrade.conf", ["cfg"]),
    "Windows": ("/autounattend.xml", ["unattend", "xml"]),
    "Windows, as it is written on a medium": ("/x/Autounattend.xml", ["unattend", "xml"]),
    "AutoYaST": ("/autoinst.xml", ["autoyast", "xml"]),
}


@pytest.mark.parametrize(("target", "formats"), RESTRICTED.values(), ids=RESTRICTED.keys())
def test_a_well_known_name_restricts_like_an_alias(fleet: Fleet, target: str, formats: list[str]) -> None:
    fleet.write(EVERY_FORMAT)
    for extension in formats:
        assert fleet.ask(target).format.extension == extension
        fleet.remove(f"default.{extension}")
    with pytest.raises(NotClaimed):
        fleet.ask(target)


@pytest.mark.parametrize(
    "target",
    [
        "/user-data/x",
        "/install.conf/x",
        "/x?file=install.conf",
        "/install.config",
        "/x-install.conf.txt",
        "/xinstall.conf",
        "/seed",
        "/seed/x",
        "/boot/node.ks",
        "/boot/node.xml",
        "/boot/autounattend.toml",
        "/rules/rules.xml",
        "/C0A8010B",
    ],
)
def test_any_other_name_restricts_nothing(fleet: Fleet, target: str) -> None:
    fleet.write(EVERY_FORMAT)
    assert fleet.ask(target).format.extension == "toml"


@pytest.mark.parametrize(
    ("target", "extension"),
    [("/pve/user-data", "toml"), ("/ks/install.conf", "ks"), ("/suse/autounattend.xml", "autoyast")],
)
def test_an_alias_decides_before_a_well_known_name(fleet: Fleet, target: str, extension: str) -> None:
    fleet.write(EVERY_FORMAT)
    assert fleet.ask(target).format.extension == extension


def test_openbsd_finds_its_machine_and_no_other_formats_default(fleet: Fleet) -> None:
    fleet.write({"default.ks": "clearpart --all\n", f"{NAME}.cfg": "System hostname = n4\n"})
    assert fleet.text("/52-54-00-aa-00-04-install.conf") == "System hostname = n4\n"
    with pytest.raises(NotClaimed, match="no default in cfg"):
        fleet.ask("/52-54-00-aa-00-99-install.conf")


# --- NoCloud's side files under a well-known name ---------------------------------------------------------------------


def test_nocloud_works_without_a_word_for_yaml_in_the_path(fleet: Fleet) -> None:
    fleet.write({f"{NAME}.yaml": "#cloud-config\nhostname: n4\n", "default.toml": "a = 1\n"})
    seed = f"/seed/{MAC}"
    assert fleet.text(f"{seed}/user-data") == "#cloud-config\nhostname: n4\n"
    assert yaml.safe_load(fleet.text(f"{seed}/meta-data")) == {"instance-id": NAME}
    for name in ("meta-data", "vendor-data", "network-config"):
        assert fleet.ask(f"{seed}/{name}").composition == f"format=yaml machine={NAME} nocloud={name}"
    assert fleet.text(f"{seed}/vendor-data") == fleet.text(f"{seed}/network-config") == ""


def test_a_side_file_that_only_the_query_names_counts_where_the_path_asks_for_yaml(fleet: Fleet) -> None:
    fleet.write({f"{NAME}.yaml": "a: 1\n"})
    assert fleet.text(f"/seed/user-data?mac={MAC}&file=vendor-data") == ""
    assert fleet.text(f"/seed/?mac={MAC}&file=vendor-data") == "a: 1\n"


# --- AutoYaST's probes ---

AUTOYAST = {"default.autoyast": "<p>default</p>", f"{NAME}.autoyast": "<p>machine</p>"}


@pytest.mark.parametrize("word", ["suse", "openSUSE", "autoyast"])
def test_autoyast_comes_to_its_machines_document_past_what_it_tries_before(fleet: Fleet, word: str) -> None:
    fleet.write(AUTOYAST)
    tried = ["rules/rules.xml", *("C0A8010B"[:length] for length in range(8, 0, -1))]
    for name in tried:
        with pytest.raises(NotClaimed, match=name.rpartition("/")[2]):
            fleet.ask(f"/{word}/{name}")
    assert fleet.text(f"/{word}/{MAC}") == "<p>machine</p>"
    assert fleet.text(f"/{word}/default") == "<p>default</p>"


def test_rules_are_answered_by_who_names_the_file_alone(fleet: Fleet) -> None:
    fleet.write(
        {
            **AUTOYAST,
            "groups/any.autoyast": '<p><answer-meta><match mac="*"/></answer-meta>any</p>',
            "groups/rules.autoyast": '<p><answer-meta><match file="rules.xml"/></answer-meta>rules</p>',
        }
    )
    assert "rules" in fleet.text(f"/autoyast/rules/rules.xml?mac={MAC}")
    fleet.remove("groups/rules.autoyast")
    with pytest.raises(NotClaimed):
        fleet.ask(f"/autoyast/rules/rules.xml?mac={MAC}")
    assert "machine" in fleet.text(f"/autoyast/x?mac={MAC}")


def test_a_hex_address_is_answered_by_documents_but_never_by_a_default(fleet: Fleet) -> None:
    fleet.write({**AUTOYAST, "C0A8010B.autoyast": "<p>by address</p>"})
    fleet.write({"groups/subnet.autoyast": '<p><answer-meta><match file="C0A801"/></answer-meta>subnet</p>'})
    assert fleet.text("/autoyast/C0A8010B") == "<p>by address</p>"
    assert "subnet" in fleet.text("/autoyast/C0A801")
    with pytest.raises(NotClaimed):
        fleet.ask("/autoyast/C0A8010")


@pytest.mark.parametrize("name", ["c0a8010b", "C0A8010B0", "C0A8010G", "C0A8.xml", "rules.XML", "x/rules"])
def test_other_names_under_a_word_for_autoyast_are_no_probes(fleet: Fleet, name: str) -> None:
    fleet.write(AUTOYAST)
    assert fleet.text(f"/autoyast/{name}") == "<p>default</p>"


@pytest.mark.parametrize("target", ["/xml/C0A8010B", "/pve/rules.xml", "/pve/CAFE", "/C0A8010B", "/rules.xml"])
def test_elsewhere_a_default_answers_such_a_name(fleet: Fleet, target: str) -> None:
    fleet.write({"default.xml": "<a>default</a>", "default.toml": 'a = "default"\n'})
    assert "default" in fleet.text(target)


def test_why_tells_what_was_asked_for(tmp_path: Path) -> None:
    write_tree(tmp_path, AUTOYAST)
    done = run("render", "--query", "path=/autoyast/C0A8", "--why", SERVICE_ANSWERS_DIR=tmp_path)
    assert done.returncode == 1
    assert "is no answer to C0A8" in done.stderr.decode()


# --- unreadable groups of other formats ---
