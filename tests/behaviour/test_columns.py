"""What a table means is a document beside it: tables as other programs export them, shared values that a set names.

Rules: docs/inventory.md#columns-with-other-names, docs/selection.md#values-that-many-machines-share.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from answerd.answers.near_misses import with_hints
from answerd.answers.why import reasoning
from answerd.errors import AnswerError, NotClaimed
from answerd.facts import Facts, Request
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls

SAYS = '{{ id | default("none") }} {{ serial | default("none") }} {{ asset | default("none") }}\n'
MAC1, MAC2, MAC3 = "98:fa:9b:50:d8:10", "98:fa:9b:50:d8:11", "98:fa:9b:50:d8:12"


def refused(fleet: Fleet, target: str, **request: Any) -> str:
    with pytest.raises(AnswerError) as error:
        fleet.ask(target, **request)
    return error.value.reason


# --- exports ---------------------------------------------------------------------------------------------------------

NETBOX = """Name,Status,Tenant,Site,Location,Rack,Role,Manufacturer,Type,IP Address,Serial number,Asset tag,ID
cn0001,Planned,,dc1,,R12,gpu,Dell,PowerEdge R750xa,10.0.0.5/24 (cn0001),7ABC123,A-0042,17
cn0002,Planned,,dc1,,R12,gpu,Dell,PowerEdge R750xa,,7ABC124,—,18
"""
NETBOX_COLUMNS = 'columns = { Name = "id", "Serial number" = "serial", "Asset tag" = "asset", ID = "netbox" }\n'

RACKTABLES = (
    '"Common name";"Visible label";"Asset tag";"HW type";"OEM S/N 1";"L2 address";"L2 address 2"\r\n'
    '"cn0001";"";"A-0042";"Dell PowerEdge R750xa";"7ABC123";"98FA9B50D810";"98FA9B50D811"\r\n'
    '"cn0002";"";"";"Dell PowerEdge R750xa";"-";"98FA9B50D812";"N/A"\r\n'
)
RACKTABLES_COLUMNS = """
[columns]
"common name" = "id"
"Asset tag" = "asset"
"OEM S/N 1" = "serial"
"L2 address" = "mac"
"L2 address 2" = "mac"
"""

EXCEL = (
    "\ufeffsep=;\r\nGerätename;Seriennummer;MAC LAN;Inventarnr.\r\n"
    f"cn0001;7ABC123;{MAC1}, {MAC2};A-0042\r\n"
    f'cn0002;"=""7ABC124""";{MAC3} / -;\r\n'
    ";;;\r\n"
)
EXCEL_COLUMNS = (
    '\ufeff[columns]\r\n"Gera\u0308tename" = "id"\r\nSERIENNUMMER = "serial"\r\n'
    '"mac lan" = "mac"\r\n"Inventarnr." = "asset"\r\n'
)


@pytest.mark.parametrize(
    ("table", "columns", "asked", "answers"),
    [
        (NETBOX, NETBOX_COLUMNS, "serial=7abc123", "cn0001 7ABC123 A-0042\n"),
        (NETBOX, NETBOX_COLUMNS, "serial=7ABC124", "cn0002 7ABC124 —\n"),
        (RACKTABLES, RACKTABLES_COLUMNS, f"mac={MAC1}", "cn0001 7ABC123 A-0042\n"),
        (RACKTABLES, RACKTABLES_COLUMNS, f"mac={MAC2}", "cn0001 7ABC123 A-0042\n"),
        (RACKTABLES, RACKTABLES_COLUMNS, f"mac={MAC3}", "cn0002 none none\n"),
        (EXCEL, EXCEL_COLUMNS, f"mac={MAC2}", "cn0001 7ABC123 A-0042\n"),
        (EXCEL, EXCEL_COLUMNS, f"mac={MAC3}", 'cn0002 ="7ABC124" none\n'),
        (EXCEL, EXCEL_COLUMNS, "serial=7ABC124", 'cn0002 ="7ABC124" none\n'),
    ],
    ids=lambda value: value[:20].strip() if isinstance(value, str) else None,
)
@pytest.mark.parametrize("name", ["inventory", "inventory/lab"])
def test_an_export_is_read_as_it_is(
    fleet: Fleet, name: str, table: str, columns: str, asked: str, answers: str
) -> None:
    fleet.write({f"{name}.csv": table, f"{name}.columns": columns, "default.ks": SAYS})
    assert fleet.problems() == []
    assert fleet.text(f"/ks?{asked}") == answers


def test_another_export_of_the_table_means_the_same(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": NETBOX, "inventory.columns": NETBOX_COLUMNS, "default.ks": SAYS})
    fleet.write({"inventory.csv": NETBOX.replace("7ABC123", "7ABC199")})
    assert fleet.text("/ks?serial=7ABC199") == "cn0001 7ABC199 A-0042\n"


def test_a_change_of_the_document_reads_the_table_anew_whichever_came_first(fleet: Fleet) -> None:
    fleet.write({"inventory.columns": NETBOX_COLUMNS, "default.ks": SAYS})
    fleet.write({"inventory.csv": NETBOX})
    assert fleet.text("/ks?serial=7ABC123") == "cn0001 7ABC123 A-0042\n"
    fleet.write({"inventory.columns": NETBOX_COLUMNS.replace('"asset"', '"tag"')})
    assert fleet.text("/ks?serial=7ABC123") == "cn0001 7ABC123 none\n"
    fleet.write({"inventory/lab.csv": "id,Name\nx,y\n"})  # of another table
    assert fleet.text("/ks/x") == "x none none\n"
    fleet.write({"inventory.csv": NETBOX.replace(",ID", ",No")})
    fleet.remove("inventory.columns")
    assert any("no column is one of id, mac, serial, uuid" in problem for problem in fleet.problems())


def test_several_columns_of_one_label_are_several_values(fleet: Fleet) -> None:
    fleet.write(
        {
            "inventory.csv": f"id,Disk 1,Disk 2,Port A,Port B\nweb-01,sda,sdb,{MAC1},{MAC2}\nweb-02,,sdc,,{MAC3}\n",
            "inventory.columns": '[columns]\n"Disk 1" = "disk"\n"Disk 2" = "disk"\n'
            '"Port A" = "mac"\n"Port B" = "mac"\n',
            "default.ks": '{{ disk }} {{ disk | join("+") }} {{ mac | join("+") }}\n',
            "groups/sdb.toml": 'match = { disk = "sdb" }\nx = "{{ id }}"\n',
        }
    )
    assert fleet.problems() == []
    assert fleet.text(f"/ks?mac={MAC2}") == f"sda sda+sdb {MAC1}+{MAC2}\n"
    assert fleet.text(f"/ks?mac={MAC3}") == f"sdc sdc {MAC3}\n"
    assert fleet.text(f"/toml?mac={MAC1}") == 'x = "web-01"\n'


@pytest.mark.parametrize("cell", [f"{MAC1}, {MAC2}", f"{MAC1};{MAC2}", f"{MAC1}/{MAC2}", f"{MAC1} | {MAC2}"])
def test_addresses_are_separated_by_more_than_blanks(fleet: Fleet, cell: str) -> None:
    fleet.write({"inventory.csv": f'id,mac\nweb-01,"{cell}"\n', "default.ks": "{{ id }}\n"})
    assert fleet.problems() == []
    assert fleet.text(f"/ks?mac={MAC2}") == "web-01\n"


@pytest.mark.parametrize("word", ["-", "n/a", "N/A", "none", "Unknown", "NONE"])
def test_words_for_nothing_are_empty_cells(fleet: Fleet, word: str) -> None:
    fleet.write(
        {
            "inventory.csv": f"id,mac,serial,uuid\n{word},{MAC1},{word},{word}\nweb-02,{word},7ABC124,{word}\n"
            f"{word},{MAC2},{word},{word}\n",
            "default.ks": SAYS,
        }
    )
    assert fleet.problems() == []
    assert fleet.text(f"/ks?mac={MAC1}") == "none none none\n"
    assert fleet.text("/ks?serial=7ABC124") == "web-02 7ABC124 none\n"


# --- faults ----------------------------------------------------------------------------------------------------------


def test_a_table_without_a_known_column_says_how_to_name_one(fleet: Fleet) -> None:
    fleet.write({"inventory/dc1.csv": "Device,Owner,Service Tag,Eth1 MAC,Eth2 MAC\nweb-01,1,7ABC123,,\n"})
    [problem] = fleet.problems()
    assert problem == (
        "inventory/dc1.csv:1: the inventory cannot be read: no column is one of id, mac, serial, uuid, so no row names "
        'a machine: the columns are "Device", "Owner", "Service Tag", "Eth1 MAC", "Eth2 MAC"; say in '
        'inventory/dc1.columns which column is which: columns = { "Eth1 MAC" = "mac", "Eth2 MAC" = "mac", '
        '"Service Tag" = "serial", "Device" = "id" }'
    )
    fleet.write({"inventory/dc1.columns": problem.partition("which: ")[2], "default.ks": SAYS})
    assert fleet.text("/ks?serial=7ABC123") == "web-01 7ABC123 none\n"


def test_a_table_of_sites_is_told_to_be_none_of_machines(fleet: Fleet) -> None:
    fleet.write({"inventory/sites.csv": "site,ntp\ncologne,ntp.example.com\n"})
    [problem] = fleet.problems()
    assert problem.endswith("a table of sites or racks is no inventory: put its columns into that of the machines")


def test_all_faults_of_a_header_are_told_at_once(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "Path,state,role,Role,name\nx,y,z,w,v\n"})
    [problem] = fleet.problems()
    for part in ("'Path' is reserved", "'state' is reserved", "'Role' is there twice", "no column is one of id"):
        assert part in problem


def test_all_faults_of_rows_are_told_with_the_names_of_the_columns(fleet: Fleet) -> None:
    fleet.write(
        {
            "inventory.csv": "Host,Port A,Key\nweb 01,zz,12\nweb-02,1.23E+11,\n,,\nweb-03,98fa9b50d810,1,2\n",
            "inventory.columns": 'columns = { Host = "id", "Port A" = "mac", Key = "uuid" }',
        }
    )
    problems = fleet.problems()
    assert [problem.partition(": ")[0] for problem in problems] == [
        "inventory.csv:2",
        "inventory.csv:3",
        "inventory.csv:5",
    ]
    for part in ("column Host: ", "column Port A: a value is no MAC address", "column Key: a UUID has 32 hex digits"):
        assert part in problems[0]
    assert "column Port A: a value is a number that a spreadsheet has rounded" in problems[1]
    assert problems[2].startswith("inventory.csv:5: has 4 cells, and the header has 3 columns; column Key: a UUID")


def test_a_serial_number_that_a_spreadsheet_rounded_is_a_fault(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": f'serial,mac\n4.02E+12,{MAC1}\n"4,02E+12",{MAC2}\n'})
    assert len([problem for problem in fleet.problems() if "a spreadsheet has rounded" in problem]) >= 1


def test_two_columns_of_one_label_need_the_document_to_say_so(fleet: Fleet) -> None:
    fleet.write(
        {
            "inventory.csv": f"id,mac,Eth2 MAC\nweb-01,{MAC1},{MAC2}\n",
            "inventory.columns": 'columns = { "Eth2 MAC" = "mac" }',
            "default.ks": "{{ id }}\n",
        }
    )
    [problem] = fleet.problems()
    assert (
        "columns 'mac' and 'Eth2 MAC' are both mac: if they are meant to be, name both in inventory.columns" in problem
    )
    fleet.write({"inventory.columns": 'columns = { "Eth2 MAC" = "mac", mac = "mac" }'})
    assert fleet.problems() == []
    assert fleet.text(f"/ks?mac={MAC2}") == "web-01\n"


def test_two_columns_are_never_both_the_name(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "a,b\nx,y\n", "inventory.columns": 'columns = { a = "id", b = "id" }'})
    assert "columns 'a' and 'b' are both the name of a machine" in fleet.problems()[0]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            'columns = { a = "id"',
            ["inventory.columns:1: what its inventory's columns mean cannot be read: the text is"],
        ),
        (
            'x = 1\n\ncolumns = { a = "i d" }\nshared = 7\n',
            ["key 'x' is unknown", "column 'a': what", "shared is no list"],
        ),
        ('colums = { a = "id" }\n', ["key 'colums' is unknown: there are columns and shared; did you mean 'columns'?"]),
        ('columns = { A = "id", a = "mac" }', ["column 'a' is given two labels"]),
        ('columns = { a = "path", b = "secret.x" }', ["column 'a': its label is reserved", "column 'b': its label"]),
        ('columns = "a"\n', ["columns is no table of names and labels"]),
        ('shared = ["a*b*c*"]\n', ["value 1 of shared has more than 2 stars"]),
        (f"shared = {['a?'] * 33}\n", ["shared has 33 values with * or ?: at most 32 are allowed"]),
        ('shared = ["*", 7, "a"]\n', ["value 1 of shared has no letter or digit", "value 2 of shared is no text"]),
    ],
)
def test_what_is_wrong_with_the_document_is_told_at_once(fleet: Fleet, text: str, sentences: list[str]) -> None:
    fleet.write({"inventory.csv": "id,a\nweb-01,b\n", "inventory.columns": text, "default.ks": SAYS})
    [problem] = fleet.problems()
    assert problem.startswith("inventory.columns:")
    assert all(sentence in problem for sentence in sentences), problem
    assert "any row might claim this request" in refused(fleet, "/ks/web-01")


def test_a_document_that_breaks_means_what_it_meant(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": NETBOX, "inventory.columns": NETBOX_COLUMNS, "default.ks": SAYS})
    fleet.write({"inventory.columns": "columns = {"})
    assert fleet.text("/ks?serial=7ABC123") == "cn0001 7ABC123 A-0042\n"
    assert len(fleet.problems()) == 1
    fleet.write({"inventory.columns": NETBOX_COLUMNS})
    assert fleet.problems() == []


def test_a_name_that_no_column_has_is_noted(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "id,Eth1 MAC\nweb-01,\n", "inventory.columns": 'columns = { "Eth1 MAK" = "mac" }'})
    notes = [*map(str, fleet.check().notes)]
    assert (
        "inventory.csv:1: the header has no column 'Eth1 MAK', to which a label is given; did you mean 'Eth1 MAC'?"
        in notes
    )


def test_rows_without_hardware_are_noted(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": f"id,mac\nweb-01,{MAC1}\nweb-02,\nweb-03,-\n", "default.ks": SAYS})
    [note] = [note for note in map(str, fleet.check().notes) if "no MAC address, serial number or UUID" in note]
    assert note == (
        "inventory.csv:3 and inventory.csv:4 have no MAC address, serial number or UUID: only a request that says the "
        "name finds them; answerd adopt --free gives them the hardware of machines that ask"
    )


# --- shared values ---------------------------------------------------------------------------------------------------

DOCK, SERIAL = "00:e0:4c:68:01:23", "SN0000123"


@pytest.fixture
def shared(fleet: Fleet) -> Fleet:
    return fleet.write(
        {
            "inventory.csv": f"id,mac,serial\nweb-01,{MAC1} {DOCK},{SERIAL}\n"
            f"web-02,{DOCK},7ABC124\nweb-03,{MAC3},{SERIAL}\n",
            "inventory/lab.columns": f'shared = ["{DOCK.upper()}", "sn-0000*"]\n',
            "default.ks": SAYS,
        }
    )


@pytest.mark.parametrize(
    ("request_", "answers"),
    [
        ({"target": f"/ks?mac={MAC1}&serial={SERIAL}"}, "web-01 none none\n"),
        ({"target": f"/ks?mac={DOCK}&serial=7ABC124"}, "web-02 7ABC124 none\n"),
        ({"target": f"/ks?mac={DOCK}"}, "none none none\n"),
        ({"target": f"/ks/{DOCK}"}, "none none none\n"),
        ({"target": f"/ks?serial={SERIAL}"}, "none none none\n"),
        ({"target": "/ks?serial=SN0001234"}, "none SN0001234 none\n"),  # the pattern does not hold
        (
            {"target": "/ks", "json": {"dmi": {"system": {"serial": SERIAL}}, "nics": [{"mac": DOCK}]}},
            "none none none\n",
        ),
        (
            {"target": "/ks", "json": {"dmi": {"system": {"serial": SERIAL}}, "nics": [{"mac": MAC3}]}},
            "web-03 none none\n",
        ),
        (
            {"target": "/ks", "x_rhn_provisioning_mac_0": f"eth0 {DOCK}", "x_system_serial_number": SERIAL},
            "none none none\n",
        ),
    ],
)
def test_values_that_a_set_names_denote_nobody_and_are_no_facts(
    shared: Fleet, request_: dict[str, Any], answers: str
) -> None:
    assert shared.problems() == []
    assert shared.text(**request_) == answers


def test_a_placeholder_without_another_value_says_so(fleet: Fleet) -> None:
    fleet.write({"inventory.columns": 'shared = ["SN1"]', "default.ks": "{{ serial }}\n"})
    assert "no fact 'serial'" in refused(fleet, f"/ks?mac={MAC1}&serial=sn1")
    said = Facts(Request("/ks", f"mac={MAC1}&serial=sn1")).knowing(fleet.loader.catalogue.shared)
    with pytest.raises(AnswerError) as error:
        fleet.ask(f"/ks?mac={MAC1}&serial=sn1")
    assert "many machines have the value of serial that it sends" in with_hints(error.value, said)


def test_documents_and_match_do_not_see_them(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/dock.ks": f"# answer: match mac={DOCK}\ndock\n",
            f"{DOCK.replace(':', '')}.toml": 'x = "dock"\n',
            "groups/member.yaml": f'members: ["{DOCK}"]\nx: dock\n',
        }
    )
    for extension in ("ks", "toml", "yaml"):
        assert "dock" in fleet.text(f"/{extension}?mac={DOCK}&serial=7ABC199")
    fleet.write({"inventory.columns": f'shared = ["{DOCK}"]'})
    for extension in ("ks", "toml", "yaml"):
        with pytest.raises(NotClaimed):
            fleet.ask(f"/{extension}?mac={DOCK}&serial=7ABC199")
    fleet.remove("inventory.columns")
    assert "dock" in fleet.text(f"/ks?mac={DOCK}")


def test_check_names_the_rows_that_have_them(shared: Fleet) -> None:
    notes = [str(note) for note in shared.check().notes if "names as shared" in str(note)]
    assert notes == [
        "inventory.csv:2 and inventory.csv:3 share a value in column mac that the set names as shared: it counts as an "
        "empty cell",
        "inventory.csv:2 and inventory.csv:4 share a value in column serial that the set names as shared: it counts as "
        "an empty cell",
    ]


def test_the_explanation_of_a_request_names_what_is_shared(shared: Fleet) -> None:
    asked = Facts(Request("/ks", f"mac={DOCK}&serial={SERIAL}"))
    lines = "\n".join(reasoning(shared.loader.catalogue, asked).lines())
    assert "many machines have" in lines
    assert json.dumps(SERIAL) not in lines


def test_all_rows_that_cannot_be_read_are_told(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": 'id,note\nweb-01,"a" b\nweb-02,c\nweb-03,"d\ne" f\nweb-04,"g\n'})
    [problem] = fleet.problems()
    assert problem.startswith("inventory.csv:2: the inventory cannot be read: there is text after a closing")
    assert "; line 5: there is text after a closing quote in column note" in problem
    assert problem.endswith("; line 6: a quote is opened and never closed in column note")


@pytest.mark.parametrize("is_named", [True, False])
def test_a_value_that_a_set_names_ties_no_machines_to_each_other(fleet: Fleet, is_named: bool) -> None:
    """Two laptops install through one docking station, and the installer of the second says no serial number."""
    installs = RememberedInstalls()
    fleet = fleet.remembering(installs).write(
        {
            "groups/pc.ks": "# answer: match os=x\n# answer: once\nlang C {{ report }}\n",
            **({"inventory.columns": f'shared = ["{DOCK}"]\n'} if is_named else {}),
        }
    )
    given = fleet.text(f"/ks?os=x&mac={DOCK}&serial=7ABC101", host="server")
    installs.report(given.split()[-1])
    assert "is installed" in refused(fleet, f"/ks?os=x&mac={DOCK}&serial=7ABC101", host="server")
    if is_named:
        assert fleet.text(f"/ks?os=x&mac={DOCK}&serial=7ABC102", host="server").startswith("lang C")
        assert "values that many machines share do not count" in refused(fleet, f"/ks?os=x&mac={DOCK}", host="server")
    else:
        assert "is installed" in refused(fleet, f"/ks?os=x&mac={DOCK}&serial=7ABC102", host="server")


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("id,Karte\npc1,52:54:00:00:00:01\npc2,525400ab0002\npc3,\n", 'columns = { "Karte" = "mac" }'),
        (
            "serial,Karte,Raum,Rechner\nS1,52:54:00:00:00:01,R1,pc1\nS2,52:54:00:00:00:02,R1,pc2\n",
            'columns = { "Karte" = "mac", "Rechner" = "id" }',
        ),
        ("id,Karte\npc1,52:54:00:00:00:01\npc2,7\n", ""),
        ("id,Inventar\npc1,123456789012\npc2,123456789013\n", ""),
        ("id,BMC\npc1,52:54:00:00:00:01\n", ""),
        ("id,mac,Karte\npc1,,52:54:00:00:00:01\n", ""),
        ("id,Karte\n52:54:00:00:00:01,\n", ""),
    ],
    ids=["most", "without an id", "half", "numbers", "of a management board", "beside mac", "as names"],
)
def test_addresses_under_another_heading_are_a_note_with_the_line_that_helps(
    fleet: Fleet, table: str, line: str
) -> None:
    report = fleet.write({"inventory.csv": table, "default.ks": "lang C\n"}).check()
    said = [note for note in report.notes if "are MAC addresses" in note]
    assert [note.startswith("inventory.csv:1: ") and note.endswith(line) for note in said] == [True] * bool(line)
    if line:
        fleet.write({"inventory.columns": line + "\n"})
        assert not [note for note in fleet.check().notes if "are MAC addresses" in note]
        assert fleet.check().problems == ()


def test_a_table_without_an_identity_has_the_line_that_its_cells_suggest(fleet: Fleet) -> None:
    table = "Raum,Rechner,Karte\nR1,pc1,52:54:00:00:00:01\nR1,pc2,52:54:00:00:00:02\n"
    [problem] = fleet.write({"inventory.csv": table}).check().problems
    line = 'columns = { "Karte" = "mac", "Rechner" = "id" }'
    assert problem.endswith(line)
    fleet.write({"inventory.columns": line + "\n"})
    assert fleet.check().problems == ()
