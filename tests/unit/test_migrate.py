"""``answerd migrate``: the data of other services becomes documents that answer, rows, secrets, and a list of the rest.

The fixtures have the form of what those services keep, not their text. Rules: docs/migrating.md.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli

from answerd import migrate
from answerd.errors import NotClaimed
from answerd.migrate.result import MigratedData, MigrationError, report, write
from answerd.store.files import FileStore
from tests.support.fleet import Fleet
from tests.support.pages import rows, words
from tests.support.service import run, write_tree

CHECKOUT = Path(__file__).parents[2]
MAC = "52:54:00:89:d8:10"
DASHES = "52-54-00-89-d8-10"


def made_of(source: str, tmp_path: Path, files: Mapping[str, str]) -> MigratedData:
    """What becomes of these files."""
    root = tmp_path / "source"
    root.mkdir()
    write_tree(root, files)
    return migrate.read(source, root)


def fleet_of(made: MigratedData, tmp_path: Path) -> Fleet:
    """The answer set that a migration writes."""
    write(made, "a test", tmp_path / "made")
    fleet = Fleet(FileStore(tmp_path / "made" / "answers"))
    fleet.poll()
    return fleet


def left(made: MigratedData) -> str:
    """All that is not carried over, as one text."""
    return "\n".join(f"{what}: {why}" for what, why in made.not_carried)


MATCHBOX = {
    "profiles/worker.json": json.dumps(
        {
            "id": "worker",
            "name": "Workers",
            "boot": {
                "kernel": "/assets/flatcar/vmlinuz",
                "initrd": ["--name main /assets/flatcar/initrd.gz"],
                "args": [
                    "initrd=main",
                    "ignition.config.url=http://matchbox.example.com:8080/ignition?mac=${mac:hexhyp}",
                ],
            },
            "ignition_id": "worker.ign",
        }
    ),
    "profiles/logic.json": json.dumps({"id": "logic", "ignition_id": "logic.yaml", "generic_id": "logic.tmpl"}),
    "groups/node1.json": json.dumps(
        {
            "id": "node1",
            "profile": "worker",
            "selector": {"mac": MAC},
            "metadata": {"etcd_name": "node1", "net": {"ip": "192.0.2.7"}},
        }
    ),
    "groups/installed.json": json.dumps(
        {"id": "stage-1", "profile": "worker", "selector": {"os": "installed"}, "metadata": {"etcd_name": 'say "a"'}}
    ),
    "groups/default.json": json.dumps({"id": "default", "profile": "worker"}),
    "groups/lost.json": json.dumps({"id": "lost", "profile": "gone"}),
    "ignition/worker.ign": json.dumps(
        {"ignition": {"version": "3.4.0"}, "x": "{{.etcd_name}} {{ .request.query.mac }}"}
    ),
    "ignition/logic.yaml": "variant: fcos\n",
    "generic/logic.tmpl": "{{ with .a }}b{{ end }}",
}


AUTOPVE: dict[str, Any] = {
    "Default": {
        "global": {
            "keyboard": "de",
            "fqdn": "auto.example.org",
            "root-password": "hunter22",
            "timezone": "Europe/Vienna",
        },
        "network": {"source": "from-dhcp"},
        "disk-setup": {"filesystem": "zfs", "zfs.raid": "raid1", "disk_list": ["sda", "sdb"]},
    },
    "first": {"must_contain": ["52:54:00:89:D8:10"], "global": {"fqdn": "first.example.org"}},
    "rack a": {
        "must_contain": ['"name": "PowerEdge R640"'],
        "must_not_contain": [""],
        "global": {"root-password": "of the rack"},
        "disk-setup": {},
    },
    "nobody": {"must_contain": ["a b { c"], "global": {"fqdn": "x.example.org"}},
    "model": {"must_contain": ["ProLiant"], "global": {"fqdn": "y.example.org"}},
    "not old": {
        "must_contain": ['"name": "DL360"'],
        "must_not_contain": ["nope"],
        "global": {"root-password": "kept out1"},
    },
}


def test_a_matchbox_group_with_a_mac_address_becomes_a_machine_with_a_row(tmp_path: Path) -> None:
    made = made_of("matchbox", tmp_path, MATCHBOX)
    assert made.rows == [{"id": "node1", "mac": MAC, "etcd_name": "node1", "net.ip": "192.0.2.7"}]
    assert json.loads(made.documents[f"{DASHES}.ign"]) == {"extends": "worker"}
    fleet = fleet_of(made, tmp_path)
    assert fleet.problems() == []
    answer = fleet.ask(f"/ignition?mac={MAC}&etcd_name=wrong")
    assert json.loads(answer.body) == {"ignition": {"version": "3.4.0"}, "x": f"node1 {MAC}"}
    script = fleet.text(f"/ipxe?mac={DASHES}").splitlines()
    assert script[0] == "#!ipxe"
    assert script[-4:] == [
        "set assets http://ASSETS.EXAMPLE.ORG",
        "kernel ${assets}/assets/flatcar/vmlinuz initrd=main"
        " ignition.config.url=http://matchbox.example.com:8080/ignition?mac=${mac:hexhyp}",
        "initrd --name main ${assets}/assets/flatcar/initrd.gz",
        "boot",
    ]


def test_a_matchbox_group_with_another_selector_keeps_it_and_its_metadata(tmp_path: Path) -> None:
    fleet = fleet_of(made_of("matchbox", tmp_path, MATCHBOX), tmp_path)
    answer = fleet.ask("/ignition?os=installed&mac=00:00:5e:00:53:01")
    assert json.loads(answer.body)["x"] == 'say "a" 00:00:5e:00:53:01'


@pytest.mark.parametrize("name", ["../../secret", "{outside}/secret", "link"])
def test_a_matchbox_template_outside_of_its_directory_is_left_out(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("swordfish1")
    (tmp_path / "source" / "ignition").mkdir(parents=True)
    (tmp_path / "source" / "ignition" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "source" / "groups").mkdir()
    profile = json.dumps({"id": "a", "ignition_id": name.format(outside=tmp_path)})
    write_tree(tmp_path / "source", {"profiles/a.json": profile})
    made = migrate.read("matchbox", tmp_path / "source")
    assert "outside of the directory" in left(made)
    assert "swordfish1" not in str(made)


@pytest.mark.parametrize("name", ["default.ipxe", "default.ign"])
def test_a_matchbox_default_is_put_aside(name: str, tmp_path: Path) -> None:
    made = made_of("matchbox", tmp_path, MATCHBOX)
    assert name not in made.documents
    assert "worker" in made.aside[f"group-default-as-{name}"]  # what it extends
    assert f"group default as {name}: it may install every machine that asks" in left(made)


GENERIC_GROUPS: dict[str, dict[str, object]] = {
    "all": {"id": "all"},
    "one": {"id": "one", "selector": {"mac": "52:54:00:12:34:56"}},
}


def test_a_generic_kickstart_of_matchbox_is_one_and_no_default(tmp_path: Path) -> None:
    profile = json.dumps({"id": "rocky", "generic_id": "rocky"})
    groups = {f"groups/{name}.json": json.dumps({"profile": "rocky", **more}) for name, more in GENERIC_GROUPS.items()}
    made = made_of("matchbox", tmp_path, {"profiles/rocky.json": profile, "generic/rocky": "rootpw x\n", **groups})
    assert sorted(made.documents) == ["52-54-00-12-34-56.ks", "groups/rocky.ks"]
    assert "group all as default.ks: it may install every machine" in left(made)


def test_a_matchbox_group_whose_text_takes_no_control_keys_is_put_aside(tmp_path: Path) -> None:
    files = {
        "profiles/odd.json": '{"id": "odd", "ignition_id": "odd.ign"}',
        "ignition/odd.ign": '["{{.zone}}"]',
        "groups/odd.json": '{"id": "odd", "profile": "odd", "selector": {"os": "x"}, "metadata": {"zone": "z"}}',
    }
    made = made_of("matchbox", tmp_path, files)
    assert "group odd: its ign document could not be made" in left(made)
    assert '["{{ zone }}"]' in made.aside.values()


@pytest.mark.parametrize(
    "said",
    ["Butane", "line 1 has logic without a counterpart, {{with .a}}", "its profile gone is not there"],
    ids=lambda said: said[:20],
)
def test_what_matchbox_has_and_this_service_has_not_is_listed(said: str, tmp_path: Path) -> None:
    made = made_of("matchbox", tmp_path, MATCHBOX)
    assert said in left(made)
    assert "variant: fcos\n" in made.aside.values()


def test_a_group_in_a_directory_below_is_none_where_matchbox_has_others(tmp_path: Path) -> None:
    old = json.dumps({"id": "old", "profile": "worker", "selector": {"mac": "52:54:00:89:d8:99"}})
    made = made_of("matchbox", tmp_path, MATCHBOX | {"groups/old/node.json": old})
    assert [row["id"] for row in made.rows] == ["node1"]
    assert "group old/node: matchbox reads no directory below groups" in left(made)
    assert old in made.aside.values()


def test_the_groups_of_matchboxs_examples_are_read_which_are_all_in_directories(tmp_path: Path) -> None:
    sets = {name.replace("groups/", "groups/a-set/"): text for name, text in MATCHBOX.items()}
    assert [row["id"] for row in made_of("matchbox", tmp_path, sets).rows] == ["node1"]


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("matchbox", {"groups/b.json": '{"id": "b", "profile": "worker", "selector": ["x"]}'}),
        ("matchbox", {"groups/b.json": '{"id": "b", "profile": "worker", "metadata": ["x"]}'}),
        ("matchbox", {"profiles/b.json": '{"id": "b", "boot": "x"}'}),
        ("autopve", {"storage-general.json": '{"config_100": {"a": {"must_contain": 1}}}'}),
        ("autopve", {"storage-general.json": '{"config_100": {"Default": {"d": {"zfs.raid": "a", "zfs": {"b": 1}}}}}'}),
        ("autopve", {"storage-general.json": '{"config_100": {"Default": {"n": {"x": 1}, "n.x": {"y": 2}}}}'}),
        ("cobbler", {"collections/distros/a.json": "[]", "collections/profiles/a.json": "[]"}),
    ],
)
def test_data_of_an_unknown_form_is_an_error_and_no_traceback(
    source: str, files: Mapping[str, str], tmp_path: Path
) -> None:
    with pytest.raises(MigrationError):
        made_of(source, tmp_path, (MATCHBOX if source == "matchbox" else {}) | dict(files))


@pytest.mark.parametrize("source", ["matchbox", "cobbler"])
def test_a_template_that_is_not_utf_8_is_listed(source: str, tmp_path: Path) -> None:
    profile = {"id": "p", "name": "p", "distro": "d", "autoinstall": "a.ks", "generic_id": "a.ks"}
    trees: dict[str, dict[str, Any]] = {
        "matchbox": {"profiles/p.json": json.dumps(profile), "generic/a.ks": b"caf\xe9\n", "groups/.keep": ""},
        "cobbler": {
            "collections/profiles/p.json": json.dumps(profile),
            "collections/distros/d.json": json.dumps({"name": "d", "breed": "redhat"}),
            "templates/a.ks": b"caf\xe9\n",
        },
    }
    assert "the file is not UTF-8" in left(made_of(source, tmp_path, trees[source]))


def test_a_password_that_is_a_number_and_a_null_are_no_text_of_an_autopve_document(tmp_path: Path) -> None:
    answers = {"Default": {"global": {"root-password": 123456789, "fqdn": None, "keyboard": "de"}}}
    made = made_of("autopve", tmp_path, {"storage-general.json": json.dumps({"config_100": answers})})
    assert tomli.loads(made.documents["groups/autopve-default.toml"]) == {
        "global": {"root-password": "{{ secret.root-password }}", "keyboard": "de"}
    }
    assert made.secrets == {"root-password": "123456789"}


def test_an_autopve_answer_with_a_mac_address_is_a_machine_over_the_default(tmp_path: Path) -> None:
    files = {".nicegui/storage-general.json": json.dumps({"config_100": AUTOPVE})}
    made = made_of("autopve", tmp_path, files)
    fleet = fleet_of(made, tmp_path)
    assert fleet.problems() == []
    document = tomli.loads(made.documents[f"{DASHES}.toml"])
    assert document == {"extends": "autopve-default", "global": {"fqdn": "first.example.org"}}
    base = tomli.loads(made.documents["groups/autopve-default.toml"])
    assert base["disk-setup"] == {"filesystem": "zfs", "zfs": {"raid": "raid1"}, "disk-list": ["sda", "sdb"]}
    assert base["global"]["root-password"] == "{{ secret.root-password }}"
    assert "default.toml" not in made.documents


def test_a_section_of_autopve_whose_name_has_dots_is_a_table_within_another(tmp_path: Path) -> None:
    pinning = {"network.interface-name-pinning": {"enabled": True}}
    mapping = {"network.interface-name-pinning.mapping": {MAC: "lan0"}}
    of_base = AUTOPVE["Default"] | pinning | {"first-boot": {"source": "from-iso"}}
    answers = AUTOPVE | {"Default": of_base, "first": AUTOPVE["first"] | mapping}
    made = made_of("autopve", tmp_path, {"storage-general.json": json.dumps({"config_100": answers})})
    network = tomli.loads(made.documents["groups/autopve-default.toml"])["network"]
    assert network == {"source": "from-dhcp", "interface-name-pinning": {"enabled": True}}
    document = tomli.loads(made.documents[f"{DASHES}.toml"])
    assert document["network"] == {"interface-name-pinning": {"mapping": {MAC: "lan0"}}}


def test_an_autopve_answer_with_a_key_and_a_value_selects_by_them(tmp_path: Path) -> None:
    made = made_of("autopve", tmp_path, {"storage-general.json": json.dumps({"config_100": AUTOPVE})})
    group = tomli.loads(made.documents["groups/rack-a.toml"])
    assert group["match"] == {"name": ["PowerEdge R640"]}
    assert group["global"] == {"root-password": "{{ secret.root-password-rack-a }}"}
    assert "disk-setup" not in group
    assert made.secrets == {"root-password": "hunter22", "root-password-rack-a": "of the rack"}
    assert '"must not contain "' not in left(made), "an empty line keeps no machine out"


def test_no_secret_of_autopve_is_left_in_a_document_or_the_report(tmp_path: Path) -> None:
    made = made_of("autopve", tmp_path, {"storage-general.json": json.dumps({"config_100": AUTOPVE})})
    texts = "".join(made.documents.values()) + report(made, "autopve")
    assert "hunter22" not in texts
    assert "of the rack" not in texts
    assert "now in secrets/root-password" in made.documents["groups/autopve-default.toml"]
    assert any("new media" in step for step in made.to_do), "the old media ask another service"


@pytest.mark.parametrize(
    "said", ["must not contain nope", "must contain a b { c", "must contain ProLiant", "no selector is left"]
)
def test_conditions_of_autopve_without_a_counterpart_are_listed(said: str, tmp_path: Path) -> None:
    made = made_of("autopve", tmp_path, {"storage-general.json": json.dumps({"config_100": AUTOPVE})})
    assert said in left(made)
    assert {"groups/not-old.toml", "groups/model.toml"}.isdisjoint(made.documents)
    assert "kept out1" not in str(made)


FILES = {
    "01-52-54-00-89-d8-10.toml": '[global]\nfqdn = "a.example.org" # the first\nroot-password-hashed = "$6$x"\n',
    "debian/5254.0089.d811.cfg": "d-i debian-installer/locale string en_US\n",
    "525400 89d812.ks": "lang en_US\n",
    "52:54:00:89:d8:13.ks": "lang en_US\n# {{ not ours }}\n",
    "7ABC123.yaml": "#cloud-config\nautoinstall:\n  version: 1\n  note: '{{ x }}'\n",
    "7ABC124.yaml": "# in one line\n{note: '{{ x }}'}\n",
    "52540089d814": "DEFAULT linux\nLABEL linux\n  KERNEL vmlinuz\n",
    "52540089d815": "nothing that is known\n",
    "default.ipxe": "#!ipxe\nexit 1\n",
    "notes.txt": "buy disks\n",
    ".hidden.toml": "",
    "backup.toml~": "",
}


def test_files_named_by_mac_address_become_machines_in_their_formats(tmp_path: Path) -> None:
    made = made_of("mac-files", tmp_path, FILES)
    assert set(made.documents) == {
        f"{DASHES}.toml",
        "52-54-00-89-d8-11.preseed",
        "52-54-00-89-d8-13.ks",
        "7ABC123.yaml",
        "default.ipxe",
    }
    assert made.documents[f"{DASHES}.toml"].splitlines()[1] == 'fqdn = "a.example.org" # the first'
    assert made.secrets == {f"{DASHES}/root-password-hash": "$6$x"}
    assert {what for what, _ in made.not_carried} == {
        "525400 89d812.ks",
        "52540089d814",
        "52540089d815",
        "7ABC124.yaml",
        "notes.txt",
    }


def test_braces_of_a_file_that_knew_no_templates_are_served_as_they_are(tmp_path: Path) -> None:
    fleet = fleet_of(made_of("mac-files", tmp_path, FILES), tmp_path)
    assert fleet.problems() == []
    assert fleet.text("/ks?mac=52:54:00:89:d8:13") == "lang en_US\n# {{ not ours }}\n"
    assert "note: '{{ x }}'" in fleet.text("/ubuntu/user-data?serial=7ABC123")


def test_a_proxmox_answer_with_braces_keeps_its_passwords_which_is_a_task(tmp_path: Path) -> None:
    answer = '[global]\nroot-password = "of {{ nobody }}"\n'
    made = made_of("mac-files", tmp_path, {f"{DASHES}.toml": answer})
    assert made.secrets == {}
    assert any("passwords could not be made secrets" in step for step in made.to_do)
    fleet = fleet_of(made, tmp_path)
    assert tomli.loads(fleet.text(f"/proxmox?mac={MAC}"))["global"]["root-password"] == "of {{ nobody }}"


def test_a_directory_of_rescriptum_is_taken_as_it_is(tmp_path: Path) -> None:
    files = {
        "groups/base/proxmox.toml": '[global]\nkeyboard = "fr"\n',
        "groups/rack-a/proxmox.toml": f'extends = "base"\nmembers = ["{MAC}"]\n'
        '[global]\nfqdn = "n-{{ serial }}.example.org"\n',
        f"installed-{DASHES}/boot.ipxe": "#!ipxe\n",
        "default/debian.seed": "d-i a/b string c\n",
        "README.md": "",
    }
    made = made_of("rescriptum", tmp_path, files)
    fleet = fleet_of(made, tmp_path)
    assert fleet.problems() == []
    assert tomli.loads(fleet.text(f"/proxmox?mac={MAC}&serial=S1"))["global"] == {
        "keyboard": "fr",
        "fqdn": "n-S1.example.org",
    }
    assert f"answerd disarm {DASHES}" in left(made)
    assert made.aside == {f"installed-{DASHES}-boot.ipxe": "#!ipxe\n", "default-debian.seed": "d-i a/b string c\n"}
    assert "README.md" in left(made)


COBBLER = {
    "collections/distros/a.json": {
        "name": "alma9",
        "breed": "redhat",
        "kernel": "/srv/alma9/vmlinuz",
        "initrd": "/srv/alma9/initrd.img",
        "kernel_options": {"inst.text": "~"},
        "autoinstall_meta": {"tree": "http://files.example.org/alma9"},
    },
    "collections/distros/s.json": {"name": "sles", "breed": "suse", "kernel": "/k", "initrd": "/i"},
    "collections/profiles/a.json": {
        "name": "alma9:base",
        "distro": "alma9",
        "autoinstall": "base.ks",
        "autoinstall_meta": {"disk": "sda"},
        "kernel_options": "<<inherit>>",
    },
    "collections/profiles/b.json": {"name": "web", "parent": "alma9:base", "autoinstall_meta": {"disk": "vda"}},
    "collections/profiles/c.json": {"name": "suse", "distro": "sles", "autoinstall": "logic.xml"},
    "collections/systems/a.json": {
        "name": "node1.example.org",
        "profile": "web",
        "hostname": "node1",
        "netboot_enabled": False,
        "gateway": "192.0.2.1",
        "autoinstall_meta": {"disk": "nvme0n1", "path": "no"},
        "interfaces": {
            "eno1": {"mac_address": MAC, "ip_address": "192.0.2.7", "netmask": "255.255.255.0", "interface_type": "na"},
            "eno2": {"mac_address": "52:54:00:89:d8:11", "interface_type": "na"},
            "bmc": {"mac_address": "52:54:00:89:d8:ff", "interface_type": "bmc"},
        },
    },
    "collections/systems/b.json": {"name": "two", "profile": "suse", "interfaces": {}},
}
TEMPLATES = {
    "templates/base.ks": "lang en_US\nurl --url=$tree\nclearpart --drives=${disk}\nrootpw --iscrypted "
    "$default_password_crypted\nnetwork --hostname=$hostname\n%post\necho \\$HOME\n%end\n",
    "templates/logic.xml": "<profile>\n$SNIPPET('hosts')\n</profile>\n",
}


def cobbler(tmp_path: Path) -> MigratedData:
    return made_of("cobbler", tmp_path, {name: json.dumps(stored) for name, stored in COBBLER.items()} | TEMPLATES)


def test_a_system_of_cobbler_becomes_a_row_with_the_addresses_of_its_cards(tmp_path: Path) -> None:
    made = cobbler(tmp_path)
    assert made.rows[0] == {
        "id": "node1.example.org",
        "mac": f"{MAC} 52:54:00:89:d8:11",
        "hostname": "node1",
        "ip": "192.0.2.7",
        "netmask": "255.255.255.0",
        "gateway": "192.0.2.1",
        "disk": "nvme0n1",
    }
    assert "answerd disarm node1.example.org" in report(made, "cobbler")
    assert "metadata" not in left(made)
    assert "node1.example.org: path" in left(made)


def test_a_template_of_cobbler_with_variables_answers_with_the_nearest_value(tmp_path: Path) -> None:
    made = cobbler(tmp_path)
    text = made.documents["groups/web.ks"]
    assert 'clearpart --drives={{ disk | default("vda") }}' in text
    assert "rootpw --iscrypted {{ secret.root-password-hash }}" in text
    assert "echo $HOME" in text
    made.documents["groups/web.ks"] = text.replace("{{ secret.root-password-hash }}", "x")
    fleet = fleet_of(made, tmp_path)
    served = fleet.text(f"/ks?mac={MAC}").splitlines()
    assert served[1:3] == ["url --url=http://files.example.org/alma9", "clearpart --drives=nvme0n1"]
    assert "network --hostname=node1" in served


def test_a_profile_of_cobbler_starts_its_distro(tmp_path: Path) -> None:
    script = cobbler(tmp_path).documents["groups/alma9-base.ipxe"].splitlines()
    assert script[-4:-1] == [
        "set files http://FILES.EXAMPLE.ORG",
        "kernel ${files}/srv/alma9/vmlinuz initrd=initrd.img"
        " inst.ks=${url}/ks inst.ks.sendmac inst.ks.sendsn inst.text",
        "initrd ${files}/srv/alma9/initrd.img",
    ]


def test_a_template_of_cobbler_with_logic_is_put_aside_and_never_served(tmp_path: Path) -> None:
    made = cobbler(tmp_path)
    assert "line 2 has logic of Cheetah: $SNIPPET('hosts')" in left(made)
    assert not any(name.endswith(".autoyast") for name in made.documents)
    assert TEMPLATES["templates/logic.xml"] in made.aside.values()


@pytest.mark.parametrize("is_whole", [True, False], ids=["nothing is left", "something is left"])
def test_the_report_has_the_numbers_the_tasks_and_what_is_left(is_whole: bool) -> None:
    made = MigratedData()
    made.documents["a.ks"] = "lang C\n"
    if not is_whole:
        made.add_task("Prepare new media")
        made.leave_out("group default", "a test", "a")
    sections = {
        part.partition("\n")[0]: part.partition("\n")[2].split("\n") for part in report(made, "x").split("\n## ")
    }
    assert "- Documents in `answers/`: 1" in sections["# Migrated from x"]
    assert sections.get("To do", [])[1:2] == ([] if is_whole else ["- Prepare new media"])
    left_over = [line for line in sections["Not carried over"] if line]
    assert left_over[0] == ("Nothing." if is_whole else "- **group default**: a test")
    assert any("`aside/`" in line for line in left_over) is not is_whole


def test_two_texts_that_are_put_aside_do_not_overwrite_each_other() -> None:
    made = MigratedData()
    for text in ("a", "b", "a"):
        made.leave_out("group default", "a test", text)
    assert made.aside == {"group-default": "a", "group-default-2": "b"}


@pytest.mark.parametrize("source", sorted(migrate.SOURCES))
def test_a_directory_that_is_not_of_the_source_is_refused(source: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(MigrationError):
        migrate.read(source, tmp_path)


def test_secrets_are_written_for_the_owner_alone(tmp_path: Path) -> None:
    made = MigratedData()
    made.secret("token", "abc")
    made.secret("token", "def", "node1")
    write(made, "a test", tmp_path / "made")
    files = {
        path.relative_to(tmp_path / "made" / "secrets").as_posix(): path for path in (tmp_path / "made").rglob("token")
    }
    assert {name: path.read_text() for name, path in files.items()} == {"token": "abc\n", "node1/token": "def\n"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o600}
    assert {stat.S_IMODE(path.parent.stat().st_mode) for path in files.values()} == {0o700}


def test_the_command_writes_everything_and_names_what_is_left(tmp_path: Path) -> None:
    root = tmp_path / "source"
    root.mkdir()
    write_tree(root, MATCHBOX)
    done = run("migrate", "matchbox", str(root), str(tmp_path / "made"))
    assert done.returncode == 0, done.stderr
    assert b"not carried over: profile logic: ignition/logic.yaml: Butane" in done.stderr
    made = {path.relative_to(tmp_path / "made").as_posix() for path in (tmp_path / "made").rglob("*") if path.is_file()}
    assert {"MIGRATION.md", "answers/inventory.csv", f"answers/{DASHES}.ign"} <= made
    again = run("migrate", "matchbox", str(root), str(tmp_path / "made"))
    assert (again.returncode, again.stdout) == (1, b"")
    assert b"is not an empty directory" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["matchbx", "/", "x"], b"did you mean matchbox?"), (["matchbox", "/not/there", "x"], b"does not exist")],
)
def test_a_wrong_command_line_says_what_is_wrong(arguments: list[str], said: bytes) -> None:
    done = run("migrate", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_page_names_every_source() -> None:
    page = (CHECKOUT / "docs/migrating.md").read_text("utf-8")
    assert [words(name)[0] for name, _, _ in rows(page, 3) if words(name)] == list(migrate.SOURCES)


# --- what real data holds beside the plain case ---------------------------------------------------------------------

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
PLAIN_TEMPLATES = {
    "templates/base.ks": "lang en_US\nurl --url=$tree\n",
    "templates/own.ks": "lang de_AT\nurl --url=@@tree@@ --proxy=http://$http_server:3128\n",
    "templates/logic.ks": "lang en_US\n$SNIPPET('x')\n",
}


def cobbler_with(tmp_path: Path, system: dict[str, Any], **collections: Any) -> Any:
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
    return made_of(
        "cobbler", tmp_path, {f"collections/{n}": json.dumps(v) for n, v in stored.items()} | PLAIN_TEMPLATES
    )


def test_the_template_of_a_system_is_served_in_place_of_its_profiles(tmp_path: Path) -> None:
    fleet = fleet_of(cobbler_with(tmp_path, {"autoinstall": "own.ks"}), tmp_path)
    assert fleet.text(f"/ks?mac={MAC}").splitlines() == [
        "lang de_AT",
        "url --url=http://FILES.EXAMPLE.ORG/cblr/links/alma --proxy=http://FILES.EXAMPLE.ORG:3128",
    ]
    assert "kernel ${files}/k" in fleet.text(f"/ipxe?mac={MAC}")


def test_a_system_whose_own_template_is_put_aside_gets_no_other(tmp_path: Path) -> None:
    made = cobbler_with(tmp_path, {"autoinstall": "logic.ks"})
    assert "system node1: template: line 2 has logic of Cheetah" in left(made)
    assert PLAIN_TEMPLATES["templates/logic.ks"] in made.aside.values()
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
    made = cobbler_with(tmp_path, system, **{"repos/epel.json": {"name": "epel"}})
    assert said in left(made)
    assert "of the power switch" not in str(made)


@pytest.mark.parametrize("written", ["${distro.breed}", "${getVar('a')}", "$(1 + 1)", "$[1]"])
def test_an_expression_of_cheetah_in_braces_is_logic(written: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(PLAIN_TEMPLATES, "templates/base.ks", f"lang en_US\n{written}\n")
    made = cobbler_with(tmp_path, {})
    assert f"line 2 has logic of Cheetah: {written}" in left(made)
    assert "groups/base.ks" not in made.documents


CHEETAH = """lang en_US
#set $boot = $disk
#if $varExists('efi') and $arch == "x86_64"
part /boot/efi --ondisk=$boot
#elif $getVar('bios', '') != 'no'
part biosboot --ondisk=$boot
#else
# nothing to boot
#end if
#for $name in $extra.split(',')
repo --name=$name
#end for
rootpw --iscrypted $default_password_crypted
"""
VARIABLES = {"disk": "sda", "extra": "epel,crb", "arch": "x86_64"}
WITH_VARIABLES = {"name": "base", "distro": "alma", "autoinstall": "base.ks", "autoinstall_meta": VARIABLES}


def test_loops_and_conditions_of_cheetah_become_jinja(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(PLAIN_TEMPLATES, "templates/base.ks", CHEETAH)
    made = cobbler_with(tmp_path, {"autoinstall_meta": {"efi": "1"}}, **{"profiles/a.json": WITH_VARIABLES})
    assert "has logic" not in left(made)
    text = made.documents["groups/base.ks"]
    assert text.startswith("# answer: template jinja\n")
    made.documents["groups/base.ks"] = text.replace('{{ secret["root-password-hash"] }}', "x")
    fleet = fleet_of(made, tmp_path)
    assert fleet.problems() == []
    assert fleet.text(f"/ks?mac={MAC}").splitlines() == [
        "lang en_US",
        "part /boot/efi --ondisk=sda",
        "repo --name=epel",
        "repo --name=crb",
        "rootpw --iscrypted x",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "#for $i in $interfaces.keys()",
        "#if $system.name",
        "#if $x[0]",
        "#if $f($x)",
        "#if $x # then",
        "#set x",
        "#include 'x'",
        "#while $x",
        "#end while",
        "#for $loop in $x",
    ],
)
def test_logic_of_cheetah_without_a_counterpart_is_named(line: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(PLAIN_TEMPLATES, "templates/base.ks", f"lang en_US\n#if $a\n#end if\n{line}\n")
    made = cobbler_with(tmp_path, {})
    assert f"line 4 has logic of Cheetah: {line}" in left(made)
    assert "groups/base.ks" not in made.documents


@pytest.mark.parametrize(
    "text",
    [
        "lang en_US\nuser --name=admin --password=$getVar('pw','Plain-4711').strip()\n",
        f'#if $a\n#end if\n#set $root_password = "Plain-4711-{"x" * 80}" % $a\n',
    ],
    ids=["option", "long value"],
)
def test_what_is_said_of_a_template_does_not_quote_its_secrets(text: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(PLAIN_TEMPLATES, "templates/base.ks", text)
    made = cobbler_with(tmp_path, {})
    assert "has logic of Cheetah: " in left(made)
    assert "Plain-4711" not in left(made)
    assert text in made.aside.values()


def test_a_variable_that_a_loop_of_cheetah_sets_is_logic(tmp_path: Path, monkeypatch: Any) -> None:
    text = "#for $a in $b\n#set $c = 1\n#end for\n"
    monkeypatch.setitem(PLAIN_TEMPLATES, "templates/base.ks", text)
    assert "line 2 has logic of Cheetah: #set $c = 1" in left(cobbler_with(tmp_path, {}))


GO = """lang en_US
{{if eq .role "gpu"}}
repo --name=cuda
{{- else if .role}}
repo --name={{.role}}
{{else}}none{{end}}
{{range $i, $disk := .disks -}}
part {{$i}} {{$disk}}
{{end}}{{range .words}}{{.}};{{end}}{{if and .dhcp (not .static)}}dhcp{{end}}
"""


@pytest.mark.parametrize(
    ("metadata", "served"),
    [
        (
            {"role": "gpu", "disks": ["sda", "sdb"], "words": ["a"], "dhcp": True, "static": False},
            "lang en_US\n\nrepo --name=cuda\npart 0 sda\npart 1 sdb\na;dhcp\n",
        ),
        ({"role": "web", "dhcp": False}, "lang en_US\n\nrepo --name=web\n\n\n"),
        ({"role": "db", "disks": ["nvme0"], "dhcp": "yes"}, "lang en_US\n\nrepo --name=db\n\npart 0 nvme0\ndhcp\n"),
    ],
)
@pytest.mark.parametrize("selector", [{"mac": MAC}, {"os": "x"}], ids=["a machine", "a selector"])
def test_loops_and_conditions_of_go_become_jinja_with_the_same_blanks(
    selector: dict[str, str], metadata: dict[str, Any], served: str, tmp_path: Path
) -> None:
    files = {
        "profiles/rocky.json": json.dumps({"id": "rocky", "generic_id": "rocky.ks"}),
        "generic/rocky.ks": GO,
        "groups/node.json": json.dumps({"profile": "rocky", "selector": selector, "metadata": metadata}),
    }
    made = made_of("matchbox", tmp_path, files)
    assert "logic" not in left(made)
    fleet = fleet_of(made, tmp_path)
    assert fleet.problems() == []
    assert fleet.text(f"/ks?{'&'.join(f'{label}={value}' for label, value in selector.items())}") == served


@pytest.mark.parametrize(
    "action",
    [
        "{{with .a}}",
        "{{range .a}}{{.b}}{{end}}",
        "{{if .a}}",
        '{{template "x"}}',
        "{{.a | printf}}",
        "{{end}}",
        "{{if gt .a 1}}",
        "{% x %}",
    ],
)
def test_logic_of_go_without_a_counterpart_is_named(action: str, tmp_path: Path) -> None:
    files = {
        "profiles/rocky.json": json.dumps({"id": "rocky", "generic_id": "rocky.ks"}),
        "generic/rocky.ks": f"lang en_US\n{{{{if .x}}}}{{{{end}}}}\n{action}",
        "groups/node.json": json.dumps({"profile": "rocky", "selector": {"mac": MAC}}),
    }
    made = made_of("matchbox", tmp_path, files)
    assert "line 3 has logic without a counterpart" in left(made)
    assert "groups/rocky.ks" not in made.documents


def test_another_variable_of_cobbler_within_a_value_is_a_task(tmp_path: Path) -> None:
    made = cobbler_with(tmp_path, {"autoinstall_meta": {"tree": "http://@@server@@/a"}})
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
