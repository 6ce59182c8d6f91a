"""``answerd migrate``: what real data of the other services holds beside the plain case, carried over or listed.

The objects have the fields that cobbler 3.3 writes. Rules: docs/migrating.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tomli

from answerd.errors import NotClaimed
from answerd.migrate.result import write
from tests.support.migrated import AUTOPVE, DASHES, MAC, MATCHBOX, fleet_of, left, made_of

INHERIT = "<<inherit>>"
SYSTEM: dict[str, Any] = {
    "name": "node1",
    "profile": "base",
    "autoinstall": INHERIT,
    "kernel_options": {},
    "template_files": {},
    "repos_enabled": False,
    "power_pass": "of the power switch",
    "interfaces": {"default": {"mac_address": MAC, "interface_type": "na", "dns_name": "", "static_routes": []}},
}
TEMPLATES = {
    "templates/base.ks": "lang en_US\nurl --url=$tree\n",
    "templates/own.ks": "lang de_AT\nurl --url=@@tree@@ --proxy=http://$http_server:3128\n",
    "templates/logic.ks": "lang en_US\n$SNIPPET('x')\n",
}


def cobbler(tmp_path: Path, system: dict[str, Any], **collections: Any) -> Any:
    """What becomes of a system over the profile "base"."""
    stored = {
        "distros/a.json": {
            "name": "alma",
            "breed": "redhat",
            "kernel": "/k",
            "initrd": "/i",
            "autoinstall_meta": {"tree": "http://@@http_server@@/cblr/links/alma"},
        },
        "profiles/a.json": {"name": "base", "distro": "alma", "autoinstall": "base.ks", "repos": ["epel"]},
        "systems/a.json": SYSTEM | system,
        **collections,
    }
    return made_of("cobbler", tmp_path, {f"collections/{n}": json.dumps(v) for n, v in stored.items()} | TEMPLATES)


def test_the_template_of_a_system_is_served_in_place_of_its_profiles(tmp_path: Path) -> None:
    fleet = fleet_of(cobbler(tmp_path, {"autoinstall": "own.ks"}), tmp_path)
    assert fleet.text(f"/ks?mac={MAC}").splitlines() == [
        "lang de_AT",
        "url --url=http://FILES.EXAMPLE.ORG/cblr/links/alma --proxy=http://FILES.EXAMPLE.ORG:3128",
    ]
    assert "kernel ${files}/k" in fleet.text(f"/ipxe?mac={MAC}")


def test_a_system_whose_own_template_is_put_aside_gets_no_other(tmp_path: Path) -> None:
    made = cobbler(tmp_path, {"autoinstall": "logic.ks"})
    assert "system node1: template: line 2 has logic of Cheetah" in left(made)
    assert TEMPLATES["templates/logic.ks"] in made.aside.values()
    with pytest.raises(NotClaimed):
        fleet_of(made, tmp_path).ask(f"/ks?mac={MAC}")


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ({"template_files": {"a": "/b"}, "proxy": "http://192.0.2.1"}, "system node1: proxy, template_files: no"),
        ({"kernel_options_post": "quiet"}, "system node1: kernel_options_post"),
        (
            {"interfaces": {"eth0": {"mac_address": MAC, "dns_name": "a.example.org", "mtu": "9000", "static": True}}},
            "system node1, interface eth0: dns_name, mtu, static",
        ),
        ({}, "profile base: repos"),
        ({}, "repos epel: objects of this kind"),
    ],
    ids=["fields", "options", "interface", "profile", "collection"],
)
def test_what_cobbler_has_and_this_service_has_not_is_listed(system: dict[str, Any], said: str, tmp_path: Path) -> None:
    made = cobbler(tmp_path, system, **{"repos/epel.json": {"name": "epel"}})
    assert said in left(made)
    assert "of the power switch" not in str(made)


def test_a_system_of_cobbler_without_peculiarities_leaves_nothing_behind(tmp_path: Path) -> None:
    assert [what for what, _ in cobbler(tmp_path, {}).not_carried if "node1" in what] == []


@pytest.mark.parametrize("written", ["${distro.breed}", "${getVar('a')}", "$(1 + 1)", "$[1]"])
def test_an_expression_of_cheetah_in_braces_is_logic(written: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(TEMPLATES, "templates/base.ks", f"lang en_US\n{written}\n")
    made = cobbler(tmp_path, {})
    assert f"line 2 has logic of Cheetah: {written}" in left(made)
    assert "groups/base.ks" not in made.documents


def test_another_variable_of_cobbler_within_a_value_is_a_task(tmp_path: Path) -> None:
    made = cobbler(tmp_path, {"autoinstall_meta": {"tree": "http://@@server@@/a"}})
    assert [step for step in made.to_do if "@@name@@" in step]


@pytest.mark.parametrize(
    ("below", "own", "unset"),
    [
        ({"disk-list": ["sda"]}, {"filter.ID_SERIAL": "x*"}, ["disk-setup.disk-list"]),
        ({"filter.ID_SERIAL": "x*", "filter-match": "any"}, {"disk_list": ["sda"]},
         ["disk-setup.filter", "disk-setup.filter-match"]),
        ({"disk-list": ["sda"]}, {"disk-list": ["sdb"]}, None),
        ({"filesystem": "ext4"}, {"filter.ID_SERIAL": "x*"}, None),
    ],
    ids=["a filter over a list", "a list over filters", "a list over a list", "nothing to replace"],
)  # fmt: skip
def test_disks_of_autopve_are_chosen_in_one_way(
    below: dict[str, Any], own: dict[str, Any], unset: list[str] | None, tmp_path: Path
) -> None:
    answers = AUTOPVE | {
        "Default": AUTOPVE["Default"] | {"disk-setup": below},
        "first": AUTOPVE["first"] | {"disk-setup": own},
    }
    made = made_of("autopve", tmp_path, {"storage-general.json": json.dumps({"config_100": answers})})
    document = tomli.loads(made.documents[f"{DASHES}.toml"])
    assert document.get("unset") == unset
    for name in ("groups/autopve-default.toml", f"{DASHES}.toml"):
        made.documents[name] = made.documents[name].replace("{{ secret.root-password }}", "x")
    disks = tomli.loads(fleet_of(made, tmp_path).text(f"/proxmox?mac={MAC}"))["disk-setup"]
    assert ("disk-list" in disks, "filter" in disks) in [(True, False), (False, True)]


def test_playbooks_and_files_of_autopve_are_listed(tmp_path: Path) -> None:
    files = {
        "storage-general.json": json.dumps({"config_100": AUTOPVE}),
        "playbooks/join/playbook.yaml": "",
        "files/logo.png": "",
    }
    made = made_of("autopve", tmp_path, files)
    assert "playbooks join: this service runs none" in left(made)
    assert "files logo.png: " in left(made)


def test_a_document_that_is_there_already_says_whose_it_is(tmp_path: Path) -> None:
    second = json.dumps({"id": "stage-1", "profile": "worker", "selector": {"os": "other"}})
    made = made_of("matchbox", tmp_path, MATCHBOX | {"groups/second.json": second})
    assert "group second: groups/stage-1.ign was made of group installed already" in left(made)


def test_the_directory_of_secrets_is_there_without_any(tmp_path: Path) -> None:
    write(made_of("matchbox", tmp_path, MATCHBOX), "matchbox", tmp_path / "made")
    assert (tmp_path / "made/secrets").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("source", ["mac-files", "rescriptum"])
@pytest.mark.parametrize(
    ("name", "text", "taken"),
    [
        ("default.toml", "[global]\nkeyboard = 'de'\n", False),
        ("default.ipxe", "#!ipxe\nkernel http://files.example.org/linux\nboot\n", False),
        ("default.ipxe", "#!ipxe\nexit 1\n", True),
    ],
    ids=["an answer", "a script that starts an installer", "a script that starts nothing"],
)
def test_a_default_that_may_install_is_put_aside(
    source: str, name: str, text: str, taken: bool, tmp_path: Path
) -> None:
    made = made_of(source, tmp_path, {name: text, f"{DASHES}.ks": "lang en_US\n"})
    assert (name in made.documents) is taken
    assert (name in made.aside) is not taken
    assert (f"{name}: it may install every machine that asks" in left(made)) is not taken


def test_a_string_of_autopve_that_may_be_a_serial_number_is_a_task(tmp_path: Path) -> None:
    answers = AUTOPVE | {"model": {"must_contain": ["R640"], "global": {"fqdn": "a.example.org"}}}
    made = made_of("autopve", tmp_path, {"storage-general.json": json.dumps({"config_100": answers})})
    assert "R640.toml" in made.documents
    assert [step for step in made.to_do if '"R640", compared whole' in step]
