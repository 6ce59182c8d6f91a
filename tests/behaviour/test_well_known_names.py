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
    "default.pxelinux": "pxelinux\n",
    "default.grub": "grub\n",
    "default.erb": "erb\n",
    "default.jsonnet": "jsonnet\n",
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
    "AutoYaST": ("/autoinst.xml", ["autoyast", "xml", "erb"]),
    "debian-installer": ("/d-i/bookworm/./preseed.cfg", ["preseed", "seed", "cfg"]),
    "debian-installer below a word": ("/debian/preseed.cfg", ["preseed", "seed", "cfg"]),
    "iPXE": ("/autoexec.ipxe", ["ipxe"]),
    "iPXE below a word": ("/debian/boot.ipxe", ["ipxe"]),
    "netboot.xyz by address": ("/MAC-525400aa0004.ipxe", ["ipxe"]),
    "netboot.xyz by name": ("/x/HOSTNAME-web-01.ipxe", ["ipxe"]),
    "PXELINUX": ("/pxelinux.cfg/default", ["pxelinux"]),
    "PXELINUX below a word": ("/fedora/boot/pxelinux.cfg/default", ["pxelinux"]),
    "PXELINUX below cfg": ("/cfg/pxelinux.cfg/default", ["cfg"]),
    "GRUB": ("/grub.cfg", ["grub"]),
    "GRUB in its directory": ("/debian-installer/amd64/grub/grub.cfg", ["grub"]),
    "GRUB below a word": ("/ubuntu/grub.cfg", ["grub"]),
    "a profile of ERB": ("/autoyast/dynamic.erb", ["erb", "autoyast", "xml"]),
    "a profile of Jsonnet": ("/agama/profile.jsonnet", ["jsonnet", "json"]),
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


# --- files of AutoYaST's rules and classes ---

PARTS = {
    **AUTOYAST,
    "groups/any.xml": '<p><answer-meta><match mac="*"/></answer-meta>any</p>',
    "groups/room.autoyast": '<p><answer-meta><match path="*classes/room/sw.xml"/></answer-meta><c>room</c></p>',
    "groups/web.autoyast": '<p><answer-meta><match file="web.xml"/></answer-meta><c>web</c></p>',
    "groups/over.autoyast": '<p><answer-meta overlay="5"><match mac="*"/></answer-meta><c>over</c></p>',
    "groups/over2.autoyast": '<p><answer-meta overlay="6"><match path="*"/></answer-meta><c>over</c></p>',
}


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/classes/room/sw.xml", "room"),
        ("/autoyast/classes/room/sw.xml", "room"),
        ("/suse/classes/web.xml", "web"),
        ("/autoyast/rules/web.xml", "web"),
        ("/classes/hall/sw.xml", ""),
        ("/autoyast/CLASSES/hall/sw.xml", ""),
        ("/autoyast/rules/x.xml", ""),
        (f"/autoyast/classes/{MAC}", ""),
        ("/windows/classes/x", ""),
    ],
)
def test_a_part_of_a_profile_is_answered_by_who_names_it_alone_and_without_overlays(
    fleet: Fleet, path: str, says: str
) -> None:
    fleet.write(PARTS)
    if says:
        answer = fleet.ask(f"{path}?mac={MAC}")
        assert f"<c>{says}</c>" in answer.body.decode()
        assert answer.selection.overlays == ()
        return
    with pytest.raises(NotClaimed, match="names file or path"):
        fleet.ask(f"{path}?mac={MAC}")


def test_such_a_path_restricts_no_other_format(fleet: Fleet) -> None:
    fleet.write({**PARTS, f"{NAME}.yaml": "a: 1\n", "groups/o.yaml": "overlay: 3\nmatch: {mac: '*'}\nb: 2\n"})
    assert yaml.safe_load(fleet.text(f"/classes/x?mac={MAC}")) == {"a": 1, "b": 2}


# --- what loaders ask for ---

UUID = "4c4c4544-0042-4d10-8052-b4c04f4d3332"


@pytest.mark.parametrize("extension", ["pxelinux", "grub"])
@pytest.mark.parametrize("name", ["01-52-54-00-aa-00-04", "01-52-54-00-AA-00-04", UUID, "52-54-00-aa-00-04"])
def test_a_loader_finds_the_document_of_its_machine(fleet: Fleet, extension: str, name: str) -> None:
    document = f"{UUID if name == UUID else NAME}.{extension}"
    fleet.write({document: "machine\n", f"default.{extension}": "default\n", "default.toml": "a = 1\n"})
    path = {"pxelinux": f"/boot/pxelinux.cfg/{name}", "grub": f"/boot/grub/grub.cfg-{name}"}[extension]
    assert fleet.text(path) == "machine\n"


@pytest.mark.parametrize(
    "path",
    [
        "/pxelinux.cfg/01-52-54-00-aa-00-99",
        f"/pxelinux.cfg/{UUID}",
        "/pxelinux.cfg/C0A8010B",
        "/pxelinux.cfg/C",
        "/pxelinux.cfg/defaults",
        "/grub.cfg-01-52-54-00-aa-00-99",
        "/grub/grub.cfg-C0A8010B",
        "/grub.cfg-",
        "/grub.cfg.bak",
    ],
)
def test_no_default_ends_the_search_of_a_loader(fleet: Fleet, path: str) -> None:
    fleet.write(EVERY_FORMAT)
    with pytest.raises(NotClaimed, match="a default never answers"):
        fleet.ask(path)


def test_a_default_of_a_loader_answers_no_other_request(fleet: Fleet) -> None:
    fleet.write({f"default.{extension}": "x\n" for extension in ("pxelinux", "grub")})
    for path in ("/", "/boot/grub/x86_64-efi/normal.mod", "/pxelinux", "/grub"):
        with pytest.raises(NotClaimed):
            fleet.ask(path)


@pytest.mark.parametrize("path", ["/pxelinux.cfg/CAFE0001", "/grub.cfg-CAFE0001", "/grub/grub.cfg-CAFE0001"])
def test_an_address_in_hexadecimal_digits_names_nobody(fleet: Fleet, path: str) -> None:
    fleet.write({f"CAFE0001.{extension}": "x\n" for extension in ("pxelinux", "grub")})
    with pytest.raises(NotClaimed):
        fleet.ask(path)


def test_a_group_may_answer_what_a_loader_tries_first(fleet: Fleet) -> None:
    fleet.write({"groups/g.pxelinux": "# answer: match file=C0A801*\nsubnet\n", "groups/g.grub": GROUP})
    assert fleet.text("/pxelinux.cfg/C0A80105") == "subnet\n"
    assert fleet.text("/grub.cfg-01-52-54-00-aa-00-04") == "52:54:00:aa:00:04\n"


GROUP = "# answer: match mac=52:54:00:*\n{{ mac | colons }}\n"


def test_netboot_xyz_finds_a_machine_by_its_name(fleet: Fleet) -> None:
    fleet.write({"web-01.ipxe": "#!ipxe\nweb\n", f"{NAME}.ipxe": "#!ipxe\nmac\n", "default.ipxe": "#!ipxe\n"})
    assert fleet.text("/HOSTNAME-Web-01.ipxe") == "#!ipxe\nweb\n"
    assert fleet.text("/MAC-525400AA0004.ipxe") == "#!ipxe\nmac\n"
    assert fleet.text("/HOSTNAME-web-02.ipxe") == "#!ipxe\n"


# --- unreadable groups of other formats ---
