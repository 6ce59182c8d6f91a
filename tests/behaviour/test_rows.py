"""A table of machines: whose row a request is, what it says, and what is wrong with tables.

Rules: docs/inventory.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerd.answers.why import reasoning
from answerd.documents import Key
from answerd.errors import BrokenDocument
from answerd.facts import Facts, Request, facts_of
from answerd.identity import Kind
from answerd.store.files import FileStore
from tests.support.fleet import Fleet
from tests.support.writes import delete

ROWS = """id,mac,serial,role,addr
web-01,98:fa:9b:50:d8:10 98:fa:9b:50:d8:20,7ABC123,web,10.0.0.5
db-01,98:fa:9b:50:d8:11,7ABC124,db,
"""
SAYS_ID = '{{ id | default("none") }} {{ role | default("none") }}\n'


INFINIBAND = "80:00:02:08:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1"


@pytest.mark.parametrize(
    "cell", [INFINIBAND, INFINIBAND.replace(":", ""), "80" + INFINIBAND[2:].upper(), "f4:52:14:03:00:7b:cb:a1"]
)
@pytest.mark.parametrize(
    "asked",
    [
        {"target": f"/ks?mac={INFINIBAND}"},
        {"target": f"/ks?mac={INFINIBAND.replace('80:00:02', '80:00:48')}"},  # another queue pair
        {"target": "/ks?mac=F452.1403.007B.CBA1"},
        {"target": f"/ks/20-{INFINIBAND.replace(':', '-')}"},
        {"target": "/ks", "json": {"nics": [{"mac": INFINIBAND}]}},
    ],
)
def test_a_row_is_found_by_the_port_of_its_infiniband_address(fleet: Fleet, cell: str, asked: dict[str, Any]) -> None:
    fleet.write({"inventory.csv": f"id,mac\nib-01,{cell}\nib-02,f4:52:14:03:00:7b:cb:a2\n", "default.ks": "{{ id }}\n"})
    assert fleet.text(**asked) == "ib-01\n"


@pytest.mark.parametrize(
    ("body", "row"),
    [
        ({"dmi": {"system": {"serial": "7ABC123"}, "chassis": {"serial": "7ABC124"}}}, "web-01"),
        ({"dmi": {"system": {"serial": "blade-3"}, "chassis": {"serial": "7ABC124"}}}, "none"),
        ({"dmi": {"baseboard": {"serial": "7ABC124"}}, "serial": "7ABC124"}, "db-01"),
        ({"disks": [{"serial": "7ABC123"}], "mac": "98:fa:9b:50:d8:11"}, "db-01"),
        ({"storage": {"disk": [{"info": {"uuid": "7ABC124"}}]}}, "none"),
        ({"chassis": {"serial": "db-01"}}, "db-01"),
        ({"facts": {"serial": "7ABC124"}}, "db-01"),
    ],
    ids=[
        "the system's own counts",
        "a chassis is no machine",
        "what is said of the machine too counts",
        "a disk beside an address",
        "a part of a part",
        "a name is no serial number",
        "what is not said to be a part's",
    ],
)
def test_the_serial_number_of_a_part_finds_no_row(fleet: Fleet, body: dict[str, Any], row: str) -> None:
    fleet.write({"inventory.csv": ROWS, "default.ks": '{{ id | default("none") }}\n'})
    assert fleet.text("/ks", json=body) == f"{row}\n"


def refused(fleet: Fleet, target: str, **request: object) -> str:
    """Why a request gets no answer, which is a 500."""
    with pytest.raises(BrokenDocument) as raised:
        fleet.ask(target, **request)  # type: ignore[arg-type]
    return raised.value.reason


@pytest.mark.parametrize(
    ("target", "json_body", "expected"),
    [
        ("/ks?mac=98fa9b50d810", None, "web-01 web\n"),
        ("/ks?x=98FA.9B50.D820", None, "web-01 web\n"),
        ("/ks/98-fa-9b-50-d8-20", None, "web-01 web\n"),
        ("/ks/Web_01", None, "web-01 web\n"),
        ("/ks/web-01.ks", None, "web-01 web\n"),
        ("/ks?serial=7abc124", None, "db-01 db\n"),
        ("/ks", {"nics": [{"mac": "98:fa:9b:50:d8:11"}]}, "db-01 db\n"),
        ("/ks", {"text": "a word, 98:fa:9b:50:d8:11 and more"}, "db-01 db\n"),
        ("/ks?serial=7abc125", None, "none none\n"),
        ("/ks?role=db", None, "none db\n"),
        ("/ks?ip=10.0.0.5", None, "none none\n"),
        ("/ks?x=web", None, "none none\n"),
    ],
)
def test_a_request_finds_its_row_by_any_identity_of_it(
    fleet: Fleet, target: str, json_body: object, expected: str
) -> None:
    fleet.write({"inventory.csv": ROWS, "default.ks": SAYS_ID})
    assert fleet.text(target, json=json_body) == expected


def test_what_the_operator_wrote_is_used_instead_of_what_the_machine_said(fleet: Fleet) -> None:
    fleet.write(
        {
            "inventory.csv": "mac,Hostname,note\n98:fa:9b:50:d8:10 98:fa:9b:50:d8:11,right,\n",
            "default.ks": "{{ hostname }} {{ note }} {{ mac }}\n",
            "groups/right.cfg": "# answer: match hostname=right mac=98fa9b50d811\n{{ mac }}\n",
        }
    )
    assert fleet.text("/ks?mac=98fa9b50d811&hostname=wrong&note=own") == "right own 98:fa:9b:50:d8:10\n"
    assert fleet.text("/cfg?mac=98fa9b50d810") == "98:fa:9b:50:d8:10\n"
    assert fleet.text("/cfg?mac=98fa9b50d810&hostname=wrong") == "98:fa:9b:50:d8:10\n"


def test_identities_of_the_row_claim_as_if_the_machine_had_said_them(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROWS, "web-01.ks": "own\n", "groups/db.toml": 'members = ["7ABC124"]\nx = 1\n'})
    assert fleet.text("/ks?mac=98fa9b50d820") == "own\n"
    assert fleet.text("/pve/db-01") == "x = 1\n"


def test_the_address_of_the_request_finds_no_row_unless_the_request_says_it(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "id,role\n192.0.2.7,web\n", "default.ks": SAYS_ID})
    assert fleet.text("/ks", peer="192.0.2.7") == "none none\n"
    assert fleet.text("/ks?x=192.0.2.7", peer="192.0.2.7") == "192.0.2.7 web\n"
    assert fleet.text("/ks", json={"ip": "192.0.2.7"}, peer="192.0.2.7") == "192.0.2.7 web\n"


@pytest.mark.parametrize("value", ["None", "to be filled by O.E.M.", "0000", "FF:FF:FF:FF:FF:FF", "Default string"])
def test_values_that_many_machines_share_identify_nobody_and_are_no_problem(fleet: Fleet, value: str) -> None:
    fleet.write({"inventory.csv": f"id,serial\nweb-01,{value}\nweb-02,{value}\n", "default.ks": SAYS_ID})
    assert fleet.text(f"/ks?serial={value.replace(' ', '+')}") == "none none\n"
    assert fleet.problems() == []


def test_two_rows_with_one_identity_stop_both_machines_and_nobody_else(fleet: Fleet) -> None:
    fleet.write(
        {
            "inventory.csv": "id,mac,serial\nweb-01,98:fa:9b:50:d8:10,AAAA1\nweb-03,98:fa:9b:50:d8:12,AAAA3\n",
            "inventory/lab.csv": "id,mac,serial\nweb-02,98-fa-9b-50-d8-10,AAAA2\n",
            "default.cfg": SAYS_ID,
        }
    )
    both = "inventory.csv:2 and inventory/lab.csv:2"
    for target in ("/cfg?mac=98fa9b50d810", "/cfg?serial=AAAA1", "/cfg/web-02"):
        assert both in refused(fleet, target)
    assert fleet.text("/cfg/web-03") == "web-03 none\n"
    assert [problem for problem in fleet.problems() if both in problem] == fleet.problems() != []
    fleet.write({"inventory/lab.csv": "id,mac,serial\nweb-02,98-fa-9b-50-d8-13,AAAA2\n"})
    assert fleet.problems() == []
    assert fleet.text("/cfg?serial=AAAA1") == "web-01 none\n"


def test_one_row_may_name_an_identity_twice(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "id,serial,mac\n7ABC,7-abc,98fa9b50d810 98:fa:9b:50:d8:10\n", "default.cfg": SAYS_ID})
    assert fleet.text("/cfg/7abc") == "7ABC none\n"
    assert fleet.problems() == []


def test_a_request_that_two_rows_claim_belongs_to_none(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROWS, "default.ks": SAYS_ID})
    body = {"nics": [{"mac": "98:fa:9b:50:d8:10"}, {"mac": "98:fa:9b:50:d8:11"}]}
    assert "inventory.csv:2 and inventory.csv:3" in refused(fleet, "/ks", json=body)
    assert fleet.problems() == []


@pytest.mark.parametrize(
    ("row", "target", "named"),
    [
        ("web-01,98:fa:9b:50:d8:10,extra", "/ks?mac=98fa9b50d810", "3 cells"),
        ("web-02,98:fa:9b:50:d8:zz", "/ks/web-02", "column mac"),
        ("web 02,98:fa:9b:50:d8:10", "/ks?mac=98fa9b50d810", "column id"),
    ],
)
def test_a_row_with_a_fault_stops_its_own_machine(fleet: Fleet, row: str, target: str, named: str) -> None:
    fleet.write({"inventory.csv": f"id,mac\n{row}\nweb-03,98:fa:9b:50:d8:12\n", "default.ks": SAYS_ID})
    reason = refused(fleet, target)
    assert "inventory.csv:2" in reason
    assert named in reason
    assert fleet.text("/ks?mac=98fa9b50d812") == "web-03 none\n"
    assert fleet.text("/ks?mac=98fa9b50d814") == "none none\n"
    (problem,) = fleet.problems()
    assert problem.startswith("inventory.csv:2: ")


def test_a_table_that_was_never_readable_may_have_claimed_anybody(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": 'id,mac\nweb-01,"98\n', "inventory/lab.csv": "id\nweb-02\n", "web-09.ks": "own\n"})
    for target in ("/ks/whoever", "/ks/web-09", "/ks/web-02", "/nothing"):
        assert "inventory.csv:2" in refused(fleet, target)
    assert any("inventory.csv:2" in problem for problem in fleet.problems())
    fleet.remove("inventory.csv")
    assert fleet.text("/ks/web-09") == "own\n"


@pytest.mark.parametrize("broken", ['id,mac\nweb-01,"98\n', "ip,role\n192.0.2.7,web\n", ""])
def test_a_table_that_was_readable_keeps_its_last_readable_rows(fleet: Fleet, broken: str) -> None:
    fleet.write({"inventory.csv": ROWS, "default.ks": SAYS_ID}).write({"inventory.csv": broken})
    assert fleet.text("/ks?serial=7ABC123") == "web-01 web\n"
    assert fleet.text("/ks") == "none none\n"
    (problem,) = fleet.problems()
    assert problem.startswith("inventory.csv:")
    fleet.write({"inventory.csv": ROWS.replace("web-01", "web-11")})
    assert fleet.text("/ks?serial=7ABC123") == "web-11 web\n"
    assert fleet.problems() == []
    fleet.remove("inventory.csv")
    assert fleet.text("/ks?serial=7ABC123") == "none none\n"


def test_a_table_that_went_and_came_back_broken_keeps_its_last_readable_rows(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROWS, "default.ks": SAYS_ID})
    fleet.remove("inventory.csv")
    fleet.write({"inventory.csv": "broken"})
    assert fleet.text("/ks?serial=7ABC123") == "web-01 web\n"
    fleet.remove("inventory.csv")
    assert fleet.text("/ks?serial=7ABC123") == "none none\n"


def test_rows_come_change_and_go(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROWS, "default.ks": SAYS_ID})
    changed = "# moved\n\n" + ROWS.replace("web,10", "mail,10") + "new-01,,NEW1,new,\n"
    fleet.write({"inventory.csv": changed.replace("db-01,98:fa:9b:50:d8:11,7ABC124,db,\n", "")})
    assert fleet.text("/ks?serial=7ABC123") == "web-01 mail\n"
    assert fleet.text("/ks?serial=7ABC124") == "none none\n"
    assert fleet.text("/ks/new-01") == "new-01 new\n"
    inventory = fleet.loader.catalogue.inventory
    assert inventory is not None
    assert [inventory.place(row) for row in inventory.rows()] == ["inventory.csv:4", "inventory.csv:5"]


def test_a_changed_row_of_many_is_the_only_one_that_is_indexed_again(fleet: Fleet) -> None:
    rows = [f"web-{number:04},web" for number in range(2_000)]
    fleet.write({"inventory.csv": "\n".join(["id,role", *rows]), "default.ks": SAYS_ID})
    before = fleet.loader.catalogue.inventory
    rows[1_234] = "web-1234,db"
    fleet.write({"inventory.csv": "\n".join(["id,role", *rows])})
    after = fleet.loader.catalogue.inventory
    assert before is not None
    assert after is not None
    assert [identity for identity in before.index if after.index[identity] is not before.index[identity]] == ["web1234"]
    assert fleet.text("/ks/web-1234") == "web-1234 db\n"


def test_made_up_meta_data_names_the_machine_document_then_the_row(fleet: Fleet) -> None:
    fleet.write(
        {
            "inventory.csv": "id,mac\nweb-01,98:fa:9b:50:d8:10\nweb-02,98:fa:9b:50:d8:11\n,98:fa:9b:50:d8:12\n",
            "98fa9b50d811.yaml": "#cloud-config\nhostname: two\n",
            "default.yaml": "#cloud-config\nhostname: any\n",
        }
    )
    assert fleet.text("/nocloud/98-fa-9b-50-d8-10/meta-data") == 'instance-id: "web-01"\n'
    assert fleet.text("/nocloud/98-fa-9b-50-d8-11/meta-data") == 'instance-id: "98fa9b50d811"\n'
    assert fleet.text("/nocloud/98-fa-9b-50-d8-12/meta-data") == 'instance-id: "98fa9b50d812"\n'
    assert fleet.text("/nocloud/98-fa-9b-50-d8-13/meta-data") == 'instance-id: "98:fa:9b:50:d8:13"\n'
    assert fleet.text("/nocloud/98-fa-9b-50-d8-10/vendor-data") == ""


def test_one_row_and_one_document_answer_as_a_document_of_the_machine_does(fleet: Fleet) -> None:
    machines = {f"web-{number:03}": f"98:fa:9b:50:d8:{number:02x}" for number in range(140)}
    body = 'hostname = "%s"\nmac = "%s"\n\n[disk]\nkeep = [1, 2]\n'
    fleet.write({f"{name}.toml": body % (name, mac) for name, mac in machines.items()})
    single = {name: fleet.ask(f"/pve/{name}").body for name in machines}
    for name in machines:
        delete(fleet.store, Key(Kind.MACHINE, name, "toml"))
    fleet.poll()
    rows = "".join(f"{name},{mac},lab\n" for name, mac in machines.items())
    group = body % ("{{ id }}", "{{ mac }}") + '[match]\nrole = "lab"\n'
    fleet.write({"inventory.csv": f"id,mac,role\n{rows}", "groups/lab.toml": group})
    by_row = {name: fleet.ask(f"/pve?mac={mac}") for name, mac in machines.items()}
    assert {name: answer.body for name, answer in by_row.items()} == single
    assert {answer.composition for answer in by_row.values()} == {"format=toml group=lab"}


def test_a_large_body_finds_its_row_too(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROWS, "default.ks": SAYS_ID})
    body = {"mac": "98:fa:9b:50:d8:11", "texts": [f"text {number:010}" for number in range(2_000)]}
    facts = Facts(Request("/ks", body=json.dumps(body).encode()))
    inventory = fleet.loader.catalogue.inventory
    assert inventory is not None
    known = inventory.facts(facts)
    assert facts.found is not None
    assert inventory.facts(facts) is known
    assert known.first("id") == "db-01"


def test_the_reasoning_names_the_row(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": ROWS, "default.ks": SAYS_ID})
    lines = "\n".join(reasoning(fleet.loader.catalogue, facts_of(["7abc123"])).lines())
    assert "inventory.csv:2 is the row of this machine" in lines
    assert "role = web" in lines
    assert "98fa9b50d820" in lines
    lines = "\n".join(reasoning(fleet.loader.catalogue, facts_of(["7abc999"])).lines())
    assert "no row of the inventory" in lines
    both = "\n".join(reasoning(fleet.loader.catalogue, facts_of(["web-01", "db-01"])).lines())
    assert "inventory.csv:2 and inventory.csv:3" in both


def test_problems_of_rows_are_listed_up_to_a_number(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "id,mac\n" + "".join(f"web-{number},zz\n" for number in range(105))})
    problems = fleet.problems()
    assert len(problems) == 101
    assert any("5 more problems" in problem for problem in problems)


# --- tables as spreadsheets export them ------------------------------------------------------------------------------


def test_a_row_with_too_many_cells_is_a_fault_of_that_row_alone(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "id,role,\nweb-01,web,\nweb-02,web,more\nweb-03,web,,\n", "default.ks": SAYS_ID})
    assert fleet.text("/ks/web-01") == "web-01 web\n"
    assert "inventory.csv:3: has text in a column without a name" in refused(fleet, "/ks/web-02")
    assert "inventory.csv:4: has 4 cells, and the header has 3 columns" in refused(fleet, "/ks/web-03")
    assert len(fleet.problems()) == 2


def test_a_mac_cell_of_quoted_blanks_is_empty(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": 'mac,role\n" ",web\n98:fa:9b:50:d8:10," "\n', "default.ks": SAYS_ID})
    assert fleet.problems() == ["inventory.csv:2: has no value in mac, so it names no machine"]
    assert fleet.text("/ks?mac=98fa9b50d810&role=said") == "none said\n"


def test_a_column_whose_name_is_no_label_is_left_out_with_a_note(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "id,Asset Tag,role,,x\nweb-01,7,web,free,y\n", "default.ks": SAYS_ID})
    assert fleet.text("/ks/web-01") == "web-01 web\n"
    notes = [str(note) for note in fleet.check().notes]
    named = "column 2 of the header is left out: its name 'Asset Tag' is no label; give it one in"
    assert f"inventory.csv:1: {named} inventory.columns" in notes
    assert "inventory.csv:1: column 4 of the header has no name: it is left out" in notes


def test_a_note_names_the_line_to_which_the_header_has_moved(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "id,,x\nweb-01,free,y\n", "default.ks": SAYS_ID})
    fleet.check()
    fleet.write({"inventory.csv": "# of the lab\n\nid,,x\nweb-01,free,y\n"})
    assert "inventory.csv:3: column 2 of the header has no name: it is left out" in map(str, fleet.check().notes)


def test_a_header_with_another_separator_than_its_rows_says_so(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": "id,mac\nweb-01;98:fa:9b:50:d8:10\n", "default.ks": SAYS_ID})
    assert fleet.problems() == [
        "inventory.csv:1: the inventory cannot be read: the header separates its columns with commas, and every row "
        "with semicolons: write one of them everywhere"
    ]


COMPOSED, DECOMPOSED = "G\u00e4ste", "Ga\u0308ste"


@pytest.mark.parametrize("of_document", [COMPOSED, DECOMPOSED], ids=["composed", "decomposed"])
@pytest.mark.parametrize("of_table", [COMPOSED, DECOMPOSED], ids=["composed", "decomposed"])
def test_text_is_compared_in_one_form_of_unicode(fleet: Fleet, of_table: str, of_document: str) -> None:
    fleet.write(
        {
            "inventory.csv": f"id,{of_table},room\nweb-01,right,{of_table}\n",
            "groups/guests.ks": f"# answer: match {of_document}=right room={of_document}\n{{{{ {of_document} }}}}\n",
        }
    )
    assert fleet.text("/ks/web-01") == "right\n"


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_a_table_in_utf_16_is_read(tmp_path: Path, order: str) -> None:
    (tmp_path / "inventory.csv").write_bytes("\ufeffid\trole\r\nweb-01\tGäste\r\n".encode(order))
    (tmp_path / "default.ks").write_text(SAYS_ID)
    fleet = Fleet(FileStore(tmp_path))
    assert fleet.problems() == []
    assert fleet.text("/ks/web-01") == "web-01 Gäste\n"


def test_a_table_in_windows_1252_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "inventory.csv").write_bytes("id;room\r\nweb-01;Gäste\r\n".encode("cp1252"))
    fleet = Fleet(FileStore(tmp_path))
    [problem] = fleet.problems()
    assert problem.startswith("inventory.csv:2: the inventory cannot be read")
    assert "byte 0xe4 at offset 17" in problem
    assert "save it as CSV UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8" in problem
