"""Which rows an adoption makes: of whom, in which order, with which names.

Rules: docs/inventory.md#adopting-machines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from answerd.adoption import Adoption, NamePattern, Plan, WrongAdoption, planned
from answerd.answers.catalogue import Catalogue
from answerd.answers.unclaimed import facts_as_json, still_unclaimed
from answerd.documents import RawDocument
from answerd.facts import Facts, Request
from answerd.installs.shown import UnknownMachine
from tests.support.fleet import key_of

HEADER = "id,mac,serial,uuid,role,product\n"


def mac(number: int) -> str:
    return f"98:fa:9b:50:d8:{number:02x}"


def machine(number: int, first: float, **said: str) -> UnknownMachine:
    """A machine that asked a loader's question, at a time."""
    values = {"mac": mac(number), "serial": f"7ABC1{number:02}", "product": "R750xa", **said}
    query = "&".join(f"{label}={value}" for label, value in values.items() if value)
    return UnknownMachine(values["serial"] or mac(number), first, first, 1, facts_as_json(Facts(Request("/ks", query))))


def sent(body: Mapping[str, Any], first: float = 1.0) -> UnknownMachine:
    """A machine that sent a JSON body."""
    facts = Facts(Request("/proxmox", body=json.dumps(body).encode()))
    return UnknownMachine("a", first, first, 1, facts_as_json(facts))


def plan(files: Mapping[str, str], *machines: UnknownMachine, asked: Adoption, records: tuple[str, ...] = ()) -> Plan:
    """The plan for the inventory ``default`` of a set."""
    catalogue = Catalogue().changed([RawDocument(key_of(name), text) for name, text in files.items()])
    unknown = still_unclaimed(catalogue, machines)
    return planned(catalogue, key_of("inventory.csv"), files.get("inventory.csv"), unknown, asked, records)


def added(found: Plan) -> list[str]:
    """The lines that an adoption adds."""
    return found.text.splitlines()[len(found.table.text.splitlines()) :]


def reasons(found: Plan) -> list[tuple[str, str]]:
    return [(one.machine, why) for one, why in found.left_out]


def test_machines_become_rows_in_the_order_in_which_they_first_asked() -> None:
    machines = [machine(3, 30.0), machine(1, 20.0), machine(2, 10.0)]
    found = plan({"inventory.csv": HEADER}, *machines, asked=Adoption("cn{n:04}", {"Role": "gpu"}))
    assert added(found) == [
        f"cn0001,{mac(2)},7ABC102,,gpu,R750xa",
        f"cn0002,{mac(1)},7ABC101,,gpu,R750xa",
        f"cn0003,{mac(3)},7ABC103,,gpu,R750xa",
    ]
    assert (found.left_out, found.text.startswith(HEADER)) == ([], True)


def test_fifty_machines_of_a_rack_are_adopted_by_the_order_of_their_power_on() -> None:
    rows = HEADER + "".join(f"cn{number:04},,,,,\n" for number in range(1, 51))
    machines = [machine(number, 1_000.0 - number) for number in range(1, 51)]
    found = plan({"inventory.csv": rows}, *machines, asked=Adoption(free=True))
    lines = found.text.splitlines()[1:]
    assert [line.split(",")[:3] for line in lines] == [
        [f"cn{at:04}", mac(51 - at), f"7ABC1{51 - at:02}"] for at in range(1, 51)
    ]


def test_a_number_that_was_used_is_not_used_again() -> None:
    files = {
        "inventory.csv": HEADER + "CN0007,,X1,,,\nother,,X2,,,\n",
        "cn0011.ks": "x\n",
        "groups/g.toml": 'members = ["cn0012"]\n',
        "inventory/lab.csv": "id\ncn0009\n",
    }
    asked = Adoption("cn{n:04}")
    assert added(plan(files, machine(1, 1.0), asked=asked))[0].startswith("cn0013,")
    assert added(plan(files, machine(1, 1.0), asked=asked, records=("cn0041", "cn7-old")))[0].startswith("cn0042,")


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("cn", "write {n} once"),
        ("{n}-{n}", "write {n} once"),
        ("{m}", "write {n} once"),
        ("a/{n}", "cannot be"),
        ("inventory", "write {n} once"),
    ],
)
def test_what_is_no_pattern_of_names_is_said(pattern: str, sentence: str) -> None:
    with pytest.raises(WrongAdoption) as error:
        NamePattern(pattern)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "names"), [("x{n}y", ["x1y", "x2y"]), ("{n:02}", ["01", "02"]), ("p{n:3}", ["p001", "p002"])]
)
def test_a_pattern_gives_names(pattern: str, names: list[str]) -> None:
    numbered = NamePattern(pattern).free([])
    assert [next(numbered), next(numbered)] == names


def test_free_rows_keep_what_they_have() -> None:
    rows = HEADER + "a,,,,db,\nb,,X1,,,\n# a comment\n\nc,-,n/a,,,R650\nd,zz,,,,\ne,,,,,\n"
    machines = [machine(1, 1.0), machine(2, 2.0), machine(3, 3.0), machine(4, 4.0)]
    found = plan({"inventory.csv": rows}, *machines, asked=Adoption(free=True, values={"product": ""}))
    assert found.text == HEADER + (
        f"a,{mac(1)},7ABC101,,db,\nb,,X1,,,\n# a comment\n\nc,{mac(2)},7ABC102,,,\nd,zz,,,,\ne,{mac(3)},7ABC103,,,\n"
    )
    assert [one.line for one in found.adopted] == [2, 6, 8]
    assert reasons(found) == [("7ABC104", "no free row is left")]


def test_a_cell_of_several_lines_moves_no_other_row() -> None:
    rows = HEADER + 'a,,,,"x\ny",\nb,,,,,\n'
    found = plan({"inventory.csv": rows}, machine(1, 1.0), machine(2, 2.0), asked=Adoption(free=True))
    assert found.text == HEADER + f'a,{mac(1)},7ABC101,,"x\ny",R750xa\nb,{mac(2)},7ABC102,,,R750xa\n'


def test_who_is_chosen_by_what_it_said_and_how_many() -> None:
    machines = [machine(1, 1.0, product="R650"), machine(2, 2.0), machine(3, 3.0), machine(4, 4.0)]
    asked = Adoption("n{n}", said=("product=r750*", "serial=7abc1*"), count=2)
    found = plan({"inventory.csv": HEADER}, *machines, asked=asked)
    assert [one.machine.machine for one in found.adopted] == ["7ABC102", "7ABC103"]
    assert found.left_out == []
    with pytest.raises(WrongAdoption, match="is no filter"):
        plan({"inventory.csv": HEADER}, asked=Adoption(said=("product",)))


def test_one_machine_that_is_known_twice_gets_one_row() -> None:
    """By two network ports, or by an address that a row of it has already under a serial number it did not say."""
    machines = [machine(1, 1.0), machine(2, 2.0, serial="7ABC101")]
    found = plan({"inventory.csv": HEADER}, *machines, asked=Adoption("cn{n}"))
    assert [line.split(",")[0] for line in added(found)] == ["cn1"]
    assert reasons(found) == [("7ABC101", "7ABC101 is of the same machine")]


def test_columns_with_other_names_are_filled_by_their_meaning() -> None:
    files = {
        "inventory.csv": "Name;Eth1 MAC;Eth2 MAC;S/N;Key\nold;;;X1;\n",
        "inventory.columns": '[columns]\nName = "id"\n"Eth1 MAC" = "mac"\n"Eth2 MAC" = "mac"\n"S/N" = "serial"\n',
    }
    found = plan(files, machine(1, 1.0), asked=Adoption("cn{n}", {"key": "k"}))
    assert added(found) == [f"cn1;{mac(1)};;7ABC101;k"]


def test_a_shared_value_is_in_no_row() -> None:
    files = {"inventory.csv": HEADER, "inventory.columns": 'shared = ["7ABC1*"]'}
    found = plan(files, machine(1, 1.0), machine(2, 2.0), asked=Adoption("cn{n}"))
    rows = found.text.splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [["cn1", mac(1)], ["cn2", mac(2)]]


def test_of_a_json_body_the_systems_own_serial_number_counts() -> None:
    body = {
        "dmi": {
            "baseboard": {"serial": "BOARD1"},
            "chassis": {"serial": "CHASSIS"},
            "system": {"serial": "7ABC123", "uuid": "4c4c4544-0042-4a10-8051-c4c04f504631"},
        },
        "network_interfaces": [{"mac": mac(1)}, {"mac": mac(2)}, {"mac": "02:00:00:00:00:01"}],
        "root_password": "swordfish",
    }
    [row] = added(plan({"inventory.csv": HEADER}, sent(body), asked=Adoption("cn{n}")))
    assert row == f"cn1,{mac(1)} {mac(2)},7ABC123,4c4c4544-0042-4a10-8051-c4c04f504631,,"
    board = {"dmi": {"baseboard": {"serial": "BOARD1"}}, "nics": [{"mac": mac(1)}]}
    [row] = added(plan({"inventory.csv": HEADER}, sent(board), asked=Adoption("cn{n}")))
    assert row == f"cn1,{mac(1)},,,,"
    secret = plan({"inventory.csv": HEADER.replace("role", "root_password")}, sent(body), asked=Adoption("cn{n}"))
    assert "secret" not in added(secret)[0]


def test_an_inventory_that_is_not_there_is_made() -> None:
    found = plan({}, machine(1, 1.0), asked=Adoption("cn{n}", {"Role": "gpu"}))
    assert found.text == f"id,mac,serial,uuid,role\ncn1,{mac(1)},7ABC101,,gpu\n"


@pytest.mark.parametrize(
    ("files", "asked", "sentence"),
    [
        (
            {"inventory.csv": HEADER},
            Adoption(values={"rack": "R12"}),
            "there is no column 'rack': the columns are id",
        ),
        ({"inventory.csv": "mac,serial\n"}, Adoption("cn{n}"), "there is no column 'id'"),
        ({"inventory.csv": HEADER}, Adoption("cn{n}", free=True), "free rows have names already"),
        ({"inventory.csv": HEADER}, Adoption("cn{n}", {"id": "x"}), "the name is given twice"),
        ({"inventory.csv": "x,y\n"}, Adoption(), "inventory.csv:1: the inventory cannot be read"),
    ],
)
def test_what_cannot_be_asked_is_said(files: Mapping[str, str], asked: Adoption, sentence: str) -> None:
    with pytest.raises(WrongAdoption) as error:
        plan(files, machine(1, 1.0), asked=asked)
    assert sentence in str(error.value)
