"""What lshw, virsh, installers and captures say of a machine, as cells of a row. Rules: docs/inventory.md."""

from __future__ import annotations

import json

import pytest

from answerd.facts import Request
from answerd.hardware import NotHardwareError, hardware_of_request, hardware_of_text
from tests.support.hardware import LSHW, PROXMOX, VIRSH


def test_lshw_tells_of_the_machine_and_of_no_part_of_it() -> None:
    cells = hardware_of_text(LSHW).cells
    assert cells == {
        "mac": "98:fa:9b:50:d8:10 98:fa:9b:50:d8:11",
        "serial": "7ABC123",
        "uuid": "4c4c4544-0042-4210-8056-b4c04f4e4b33",
        "name": "srv-7",
        "hostname": "srv-7",
        "product": "PowerEdge R650 (SKU=090E)",
        "vendor": "Dell Inc.",
        "manufacturer": "Dell Inc.",
        "disks": "nvme0n1",
    }


def test_lshw_as_root_of_one_node_is_the_same() -> None:
    bare = LSHW.replace(b"<list>", b"").replace(b"</list>", b"")
    assert hardware_of_text(bare) == hardware_of_text(LSHW)


def test_virsh_tells_of_the_domain_and_its_locally_administered_addresses_where_it_has_no_other() -> None:
    assert hardware_of_text(VIRSH).cells == {
        "id": "web-01",
        "mac": "52:54:00:11:22:33",
        "serial": "VM-0001",
        "uuid": "1c2ea1b5-7a0a-4d9e-8a0e-3e0d6d2b7a11",
        "name": "web-01",
        "hostname": "web-01",
        "disks": "vda vdb",
        "cpus": "4",
        "manufacturer": "QEMU",
    }


def test_a_domains_name_that_is_no_identifier_is_no_id() -> None:
    assert "id" not in hardware_of_text(VIRSH.replace(b"<name>web-01</name>", b"<name>web 01</name>")).cells


def test_of_an_installers_body_only_the_systems_own_serial_and_uuid_count() -> None:
    machine = hardware_of_text(PROXMOX)
    assert machine.macs == ("98:fa:9b:50:d8:20",)
    assert (machine.serial, machine.uuid) == ("7ABC124", "4c4c4544-0042-4210-8056-b4c04f4e4b34")
    assert machine.cells["dmi.system.name"] == "PowerEdge R650"


@pytest.mark.parametrize(
    ("request_", "cells"),
    [
        (
            Request("/ks", "mac=98-fa-9b-50-d8-10&serial=A1&uuid=4c4c4544-0042-4210-8056-b4c04f4e4b33"),
            {"mac": "98-fa-9b-50-d8-10", "serial": "A1", "uuid": "4c4c4544-0042-4210-8056-b4c04f4e4b33"},
        ),
        (
            Request("/ks", headers=[("x-rhn-provisioning-mac-0", "eno1 98:fa:9b:50:d8:10")]),
            {"mac": "98:fa:9b:50:d8:10"},
        ),
        (Request("/boot/98-fa-9b-50-d8-10"), {"mac": "98-fa-9b-50-d8-10"}),
        (Request("/pve", "serial=A1", body=b'{"disks": [{"serial": "D1"}]}'), {"serial": "A1"}),
        (Request("/pve", peer="192.0.2.1"), {}),
    ],
)
def test_a_recorded_request_tells_what_it_said(request_: Request, cells: dict[str, str]) -> None:
    found = hardware_of_request(request_).cells
    assert {column: found[column] for column in ("mac", "serial", "uuid") if column in found} == cells


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "@SUM(1)", "+cmd", "-1+cmd", "\t=1"])
def test_what_a_spreadsheet_would_compute_is_left_out(text: str) -> None:
    body = json.dumps({"mac": "98:fa:9b:50:d8:10", "product": text, "asset": "-7", "dmi": {"system": {"serial": text}}})
    cells = hardware_of_text(body.encode()).cells
    assert {label: cells.get(label) for label in ("mac", "product", "serial", "asset")} == {
        "mac": "98:fa:9b:50:d8:10",
        "product": None,
        "serial": None,
        "asset": "-7",
    }


def test_values_that_many_machines_share_are_left_out() -> None:
    text = PROXMOX.replace(b"7ABC124", b"To be filled by O.E.M.").replace(b"98:fa:9b:50:d8:20", b"00:00:00:00:00:00")
    cells = hardware_of_text(text).cells
    assert {column: cells.get(column) for column in ("id", "mac", "serial", "uuid")} == {
        "id": None,
        "mac": "02:42:ac:11:00:02",
        "serial": None,
        "uuid": "4c4c4544-0042-4210-8056-b4c04f4e4b34",
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "neither the XML"),
        (b"node-1", "neither the XML"),
        (b"<a>", "no XML at line 1"),
        (b"<a/>", "root element"),
        (b"<list/>", "root element"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "no XML"),
    ],
)
def test_what_tells_of_no_machine_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(NotHardwareError, match=reason):
        hardware_of_text(text)
