"""examples/answers: nothing is wrong with it, and every machine in it gets its own answer.

The answers are read by parsers that the program does not use for its own merging, and judged by the built-in
rules and by the installers' own programs that are installed.
"""

from __future__ import annotations

import json
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from ruamel.yaml import YAML

from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import Answer, resolve
from answerd.check import check
from answerd.errors import NotClaimed
from answerd.facts import Facts, Request
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.validators import validate
from tests.support.judges import installed

EXAMPLES = Path(__file__).parents[2] / "examples" / "answers"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return loaded(FileStore(EXAMPLES))


@dataclass(frozen=True)
class Case:
    """A request of the examples' README, and the documents that must answer it."""

    name: str
    target: str
    composition: str
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()

    def ask(self, catalogue: Catalogue) -> Answer:
        path, _, query = self.target.partition("?")
        body = json.dumps(self.body).encode() if self.body is not None else b""
        return resolve(catalogue, Facts(Request(path, query, self.headers, body)))


def proxmox(mac: str, asset_tag: str = "") -> dict[str, Any]:
    """What a Proxmox installer sends, as far as it matters here. From 9.2 on its MAC addresses are in upper case."""
    return {
        "$schema": {"version": "1.0"},
        "product": {"fullname": "Proxmox VE", "product": "pve", "enable_btrfs": True},
        "iso": {"release": "9.2", "isorelease": "1"},
        "dmi": {"chassis": {"asset_tag": asset_tag}},
        "network_interfaces": [{"link": "eno1", "mac": mac.upper()}],
    }


SERIAL = (("x-system-serial-number", "7ABC123"),)

COMPUTE = "/ks?role=compute-gpu&disks=sda%20sdb%20sdc&mac=52:54:00:c0:00:01&mac=52:54:00:c0:00:02"

CASES = [
    Case(
        "rack a, differs",
        "/proxmox",
        "format=toml machine=98-fa-9b-50-d8-10 group=rack-a",
        proxmox("98:fa:9b:50:d8:10"),
    ),
    Case("rack a, second", "/proxmox", "format=toml group=rack-a", proxmox("52:54:00:a0:00:02")),
    Case("rack a, third", "/proxmox", "format=toml group=rack-a", proxmox("52:54:00:a0:00:03")),
    Case("rack b", "/proxmox", "format=toml group=rack-b", proxmox("52:54:00:b0:00:01", "RACK-B-07")),
    Case(
        "spare as Proxmox",
        "/pve",
        "format=toml machine=52-54-00-0d-eb-01 group=proxmox-base",
        proxmox("52:54:00:0d:eb:01"),
    ),
    Case(
        "spare as Debian",
        "/debian/preseed?mac=52:54:00:0d:eb:01",
        "format=text machine=52-54-00-0d-eb-01 group=debian-base",
    ),
    Case("bench", "/debian/preseed?mac=52:54:00:5e:ed:01", "format=text machine=52-54-00-5e-ed-01"),
    Case("database, iPXE", "/ipxe?serial=7ABC123&product=PowerEdge%20R640", "format=text group=db-servers"),
    Case("database, Anaconda", "/ks", "format=text group=db-servers", headers=SERIAL),
    Case("compute node", COMPUTE, "format=text group=compute"),
    Case("Ubuntu, user-data", "/ubuntu/web-01/user-data", "format=yaml machine=web-01 group=ubuntu-base"),
    Case("Ubuntu, network-config", "/ubuntu/web-01/network-config", "format=yaml machine=web-01"),
    Case("Flatcar", "/ignition?mac=52:54:00:f1:a7:07", "format=json machine=52-54-00-f1-a7-07 group=flatcar-base"),
    Case("SUSE", "/autoyast/suse-01", "format=xml machine=suse-01 group=sles-base"),
    Case("Agama", "/json/52-54-00-a6-a3-01", "format=json machine=52-54-00-a6-a3-01 group=agama-base"),
    Case("Windows", "/windows/unattend.xml?asset=PC-0042", "format=xml machine=pc-0042 group=windows-base"),
    Case("XCP-ng", "/xml/52-54-00-9e-00-01", "format=xml machine=52-54-00-9e-00-01"),
    Case("ESXi", "/cfg/52-54-00-e5-00-01", "format=text machine=52-54-00-e5-00-01"),
    Case("anyone's kickstart", "/ks", "format=text default"),
    Case("anyone's iPXE", "/ipxe?mac=52:54:00:77:77:77", "format=text default"),
]
BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_request_is_answered_by_its_documents(catalogue: Catalogue, case: Case) -> None:
    assert case.ask(catalogue).composition == case.composition


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_answer_is_one_that_its_installer_takes(catalogue: Catalogue, case: Case) -> None:
    answer = case.ask(catalogue)
    verdict = validate(answer.body.decode(), answer.format.extension, release="9.2", product="pve", tools=installed())
    assert verdict.findings == ()
    assert verdict.warnings == ()
    assert verdict.judged == (answer.format.extension != "cfg")  # nothing anywhere judges ESXi's


def test_check_finds_no_problem(catalogue: Catalogue) -> None:
    report = check(catalogue, installed())
    assert report.problems == ()
    without_document = set(catalogue.members) - set(catalogue.machines)
    assert report.rendered == len(catalogue.documents) - len(catalogue.groups) + len(without_document)


@pytest.mark.parametrize(
    "target", ["/proxmox", "/debian/preseed", "/ubuntu/user-data", "/ignition", "/autoyast", "/windows", "/xml", "/cfg"]
)
def test_a_machine_that_nobody_described_is_told_so_where_an_answer_would_erase_a_disk(
    catalogue: Catalogue, target: str
) -> None:
    with pytest.raises(NotClaimed):
        Case("", f"{target}?mac=52:54:00:77:77:77", "").ask(catalogue)


@pytest.mark.parametrize("word", ["clearpart", "autopart", "zerombr", "part ", "reqpart"])
def test_the_kickstart_default_touches_no_disk(catalogue: Catalogue, word: str) -> None:
    lines = BY_NAME["anyone's kickstart"].ask(catalogue).body.decode().splitlines()
    assert not [line for line in lines if line.startswith(word)]


def test_a_compute_node_has_a_line_for_each_card_and_each_disk(catalogue: Catalogue) -> None:
    lines = BY_NAME["compute node"].ask(catalogue).body.decode().splitlines()
    assert [line.split()[2] for line in lines if line.startswith("network ")] == [
        "--device=52:54:00:c0:00:01",
        "--device=52:54:00:c0:00:02",
    ]
    assert [line.rpartition("=")[2] for line in lines if line.startswith("part pv.")] == ["sda", "sdb", "sdc"]
    assert "volgroup system pv.1 pv.2 pv.3 " in lines
    assert "kernel-devel" in lines
    plain = replace(BY_NAME["compute node"], target=COMPUTE.replace("gpu", "cpu")).ask(catalogue).body.decode()
    assert "kernel-devel" not in plain
    assert "%post" not in plain


def read_toml(answer: Answer) -> Any:
    return tomllib.loads(answer.body.decode())


def read_yaml(answer: Answer) -> Any:
    """What YAML 1.2 and YAML 1.1 both read."""
    modern = YAML(typ="safe", pure=True).load(answer.body)
    assert modern == yaml.safe_load(answer.body)
    return modern


def read_json(answer: Answer) -> Any:
    return json.loads(answer.body)


def read_xml(answer: Answer) -> Any:
    return ET.fromstring(answer.body)


@pytest.mark.parametrize("case", ["database, iPXE", "database, Anaconda", "rack b"])
@pytest.mark.parametrize("behind", [" 1d 0a 56", "$(reboot)", "\"'`;&&|>${net0}{{ x }}\\"])
def test_no_value_of_a_request_breaks_a_line_of_an_example(catalogue: Catalogue, case: str, behind: str) -> None:
    usual = BY_NAME[case]
    sent = json.loads(json.dumps(usual.body).replace("RACK-B-07", "RACK-B-07" + json.dumps(behind)[1:-1]))
    headers = tuple((name, value + behind) for name, value in usual.headers)
    target = usual.target.replace("7ABC123", "7ABC123" + quote(behind))
    answer = replace(usual, target=target, body=sent, headers=headers).ask(catalogue)
    assert answer.composition == usual.composition
    words = [
        (before.split(), after.split())
        for before, after in zip(
            usual.ask(catalogue).body.decode().splitlines(), answer.body.decode().splitlines(), strict=True
        )
    ]
    assert all(len(before) == len(after) for before, after in words)
    new = "".join(word for before, after in words for word in after if word not in before)
    assert not set("$`'&|;>") & set(new)


def test_autoinstall_reads_alike_for_every_yaml(catalogue: Catalogue) -> None:
    answer = BY_NAME["Ubuntu, user-data"].ask(catalogue)
    assert answer.body.startswith(b"#cloud-config\n")
    install = read_yaml(answer)["autoinstall"]
    assert install["identity"]["hostname"] == "web-01"
    assert install["packages"] == ["chrony", "nginx"]
    assert install["storage"]["layout"] == {"name": "lvm", "match": {"serial": "EXAMPLE-DISK-0001"}}
    assert install["late-commands"][1].endswith("END\nchmod 0440 /target/etc/sudoers.d/90-deploy\n")
    assert install["user-data"]["write_files"][0]["permissions"] == "0644"


def contents_of(reader: Callable[[Answer], Any], answer: Answer) -> str:
    return str(ET.tostring(reader(answer))) if reader is read_xml else str(reader(answer))


READERS: dict[str, Callable[[Answer], Any]] = {"toml": read_toml, "yaml": read_yaml, "json": read_json, "xml": read_xml}


@pytest.mark.parametrize("key", ["extends", "members", "answer-meta", "{{"])
def test_no_control_key_and_no_placeholder_is_left_in_what_an_installer_reads(catalogue: Catalogue, key: str) -> None:
    for case in CASES:
        answer = case.ask(catalogue)
        reader = READERS.get(answer.format.family.name)
        if reader:
            assert key not in contents_of(reader, answer)
