"""Inventories over the admin API: documents, and single rows. Rules: docs/inventory.md#over-http."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import gevent
import pytest

from answerd.documents import Key
from answerd.errors import BrokenDocument
from answerd.facts import facts_of
from answerd.identity import Kind
from tests.support.admin import Admin
from tests.support.replies import Reply
from tests.support.writes import put

pytestmark = pytest.mark.long

TEXT = "# mine\r\nid,mac,Serial\r\nweb-01, 98:fa:9b:50:d8:10 ,A 1\r\n\r\nweb-02,98:fa:9b:50:d8:11,"
_SHARED = "rows with one identity (column id), so none of them counts"
_KEY = Key(Kind.INVENTORY, "default", "csv")


@pytest.fixture
def admin(in_memory: Path) -> Admin:
    return Admin(in_memory / "answers.db")


def first(admin: Admin, label: str, *identities: str) -> str | None:
    """A fact of a machine with these identities."""
    return admin.follower.current().facts(facts_of(identities)).first(label)


def put_row(admin: Admin, row: str, **values: object) -> Reply:
    return admin.put(f"/inventory/default/{row}", json.dumps(values))


def stored(admin: Admin) -> str:
    return admin.get("/inventory/default").body.decode()


def test_an_inventory_is_stored_and_returned_as_written(admin: Admin) -> None:
    assert admin.get("/inventory").json == {"inventory": []}
    written = admin.put("/inventory/default", "\ufeff" + TEXT)
    assert (written.status, written.json) == (200, {"status": "stored", "problems": []})
    read = admin.get("/inventory/Default")
    assert (read.status, read.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert read.body == ("\ufeff" + TEXT).encode()
    assert read.headers["etag"] == written.headers["etag"]
    admin.put("/inventory/lab", "id\nweb-03\n")
    assert admin.get("/inventory").json == {"inventory": ["default", "lab"]}
    assert first(admin, "serial", "web-01") == "A 1"
    assert admin.delete("/inventory/default").json == {"status": "deleted", "problems": []}
    assert admin.get("/inventory/default").status == admin.delete("/inventory/default").status == 404
    assert first(admin, "serial", "web-01") is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('id,mac\n"web-01', "inventory.csv:2"),
        ("ip\n", "inventory.csv:1"),
        ("id,mac\nweb-01,x,y\n", "inventory.csv:2: has 3 cells"),
        ("id,mac\nweb-01,x\n", "inventory.csv:2: column mac"),
        (b"id\n\xff\n", "not UTF-8"),
    ],
)
def test_an_inventory_that_is_wrong_by_itself_is_refused(admin: Admin, text: str | bytes, named: str) -> None:
    refused = admin.put("/inventory/default", text)
    assert refused.status == 400
    assert named in refused.json["error"]
    assert admin.get("/inventory").json == {"inventory": []}


def test_an_inventory_with_a_row_that_is_there_already_is_refused(admin: Admin) -> None:
    admin.put("/inventory/lab", "id\nweb-01\n")
    refused = admin.put("/inventory/default", TEXT)
    assert refused.status == 409
    assert refused.json["problems"] == ["inventory.csv:3 and inventory/lab.csv:2: " + _SHARED]
    assert first(admin, "id", "web-01") == "web-01"


def test_a_problem_that_is_there_already_refuses_no_write_when_its_row_moves(admin: Admin) -> None:
    with admin.store.writing() as writing:
        put(writing, _KEY, "id,mac\nweb-01,x\nweb-02,98fa9b50d810\nweb-03,98fa9b50d810\n")
        writing.commit()
    moved = admin.put("/inventory/default", "id,mac\nnew-01,\nweb-01,x\nweb-02,98fa9b50d810\nweb-03,98fa9b50d810\n")
    assert moved.status == 200
    assert [problem.partition(":")[2][:2].strip() for problem in moved.json["problems"]] == ["3:", "4"]
    assert put_row(admin, "new-01", id="new-01", mac="98fa9b50d811").status == 200
    with pytest.raises(BrokenDocument):
        first(admin, "id", "web-01")


@pytest.mark.parametrize("row", ["web-01", "WEB_01", "98fa.9b50.d810", "a1", quote("A 1")])
def test_a_row_is_found_by_any_identity_of_it(admin: Admin, row: str) -> None:
    tag = admin.put("/inventory/default", TEXT).headers["etag"]
    read = admin.get(f"/inventory/default/{row}")
    assert (read.status, read.headers["etag"]) == (200, tag)
    assert read.json == {"id": "web-01", "mac": "98:fa:9b:50:d8:10", "Serial": "A 1"}
    assert admin.get("/inventory/default/web-02").json["Serial"] == ""
    assert admin.get("/inventory/default/web-09").status == admin.get("/inventory/lab/web-02").status == 404


def test_a_changed_row_is_written_anew_and_every_other_keeps_its_bytes(admin: Admin) -> None:
    admin.put("/inventory/default", "\ufeff" + TEXT)
    changed = put_row(admin, "98-fa-9b-50-d8-10", ID="web-01", mac="98:fa:9b:50:d8:10", serial='B "2"')
    assert (changed.status, changed.json) == (200, {"status": "stored", "problems": []})
    assert stored(admin) == "\ufeff" + TEXT.replace(" 98:fa:9b:50:d8:10 ,A 1", '98:fa:9b:50:d8:10,"B ""2"""')
    assert changed.headers["etag"] == admin.get("/inventory/default").headers["etag"]
    assert first(admin, "serial", "web-01") == 'B "2"'
    put_row(admin, "web-01", id="web-01")  # columns that are left out become empty
    assert stored(admin) == "\ufeff" + TEXT.replace(" 98:fa:9b:50:d8:10 ,A 1", ",")


def test_a_new_row_is_appended_and_a_row_is_removed(admin: Admin) -> None:
    admin.put("/inventory/default", TEXT)
    assert put_row(admin, "web-03", id="web-03").status == 200
    assert stored(admin) == TEXT + "\r\nweb-03,,\r\n"
    deleted = admin.delete("/inventory/default/web-01")
    assert (deleted.status, deleted.json) == (200, {"status": "deleted", "problems": []})
    assert stored(admin) == "# mine\r\nid,mac,Serial\r\n\r\nweb-02,98:fa:9b:50:d8:11,\r\nweb-03,,\r\n"
    assert admin.delete("/inventory/default/web-01").status == 404


@pytest.mark.parametrize(
    ("row", "body", "named"),
    [
        ("web-03", '{"id": "web-04"}', "identity that the path names"),
        ("web-03", '{"id": "web-03", "colour": "red"}', "no column 'colour': the columns are id, mac, Serial"),
        ("web-03", '{"id": "web-03", "mac": "x"}', "column mac"),
        ("web-03", '{"id": "web-03", "ID": "web-03"}', "each column once"),
        ("web-03", '{"id": {"a": 3}}', "column id: a cell is a text"),
        ("web-03", '{"id": "web-03", "serial": "\\u0000"}', "column serial"),
        ("web-03", '{"id": "web-03", "serial": "\\ud800"}', "column serial"),
        ("web-03", "[]", "no JSON object"),
        ("web-03", "{", "no JSON object"),
        ("none", '{"serial": "None"}', "no value in id"),
        ("---", '{"id": "web-03"}', "names no identity"),
    ],
)
def test_a_row_that_is_wrong_is_refused(admin: Admin, row: str, body: str, named: str) -> None:
    admin.put("/inventory/default", TEXT)
    refused = admin.put(f"/inventory/default/{row}", body)
    assert refused.status == 400
    assert named in refused.json["error"]
    assert stored(admin) == TEXT


def patch_row(admin: Admin, row: str, body: str) -> Reply:
    return admin.ask("PATCH", f"/inventory/default/{row}", body.encode())


def test_a_patch_changes_the_columns_that_it_names(admin: Admin) -> None:
    admin.put("/inventory/default", TEXT)
    assert patch_row(admin, "web-02", '{"SERIAL": "B 2"}').json["status"] == "stored"
    assert stored(admin) == TEXT + "B 2"
    assert patch_row(admin, "98fa9b50d810", '{"serial": null}').status == 200
    assert stored(admin) == TEXT.replace(" 98:fa:9b:50:d8:10 ,A 1", "98:fa:9b:50:d8:10,") + "B 2"
    renamed = patch_row(admin, quote("B 2"), '{"id": "db-01"}')
    assert (renamed.status, first(admin, "mac", "db-01")) == (200, "98:fa:9b:50:d8:11")
    assert len(admin.get("/history?kind=inventory").json["history"]) == 4


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("7", "7"),
        ("1.50", "1.50"),
        ("true", "true"),
        ("false", "false"),
        ("null", ""),
        ('["a", 2, null, true]', "a 2 true"),
    ],
)
def test_a_value_of_json_is_the_text_that_it_is_written_as(admin: Admin, value: str, cell: str) -> None:
    admin.put("/inventory/default", "id,note\nweb-01,old\n")
    for written in (
        patch_row(admin, "web-01", f'{{"note": {value}}}'),
        admin.put("/inventory/default/web-02", f'{{"id": "web-02", "note": {value}}}'),
    ):
        assert written.status == 200, written.json
    assert [admin.get(f"/inventory/default/{row}").json["note"] for row in ("web-01", "web-02")] == [cell, cell]


def test_several_addresses_are_a_list(admin: Admin) -> None:
    admin.put("/inventory/default", TEXT)
    macs = ["98:fa:9b:50:d8:21", "98:fa:9b:50:d8:22"]
    assert patch_row(admin, "web-01", json.dumps({"mac": macs})).status == 200
    assert first(admin, "id", macs[1]) == "web-01"


def test_a_row_that_is_as_it_should_be_is_no_change(admin: Admin) -> None:
    tag = admin.put("/inventory/default", TEXT).headers["etag"]
    row = {"id": "web-01", "mac": "98:fa:9b:50:d8:10", "serial": "A 1"}
    for again in (patch_row(admin, "web-01", '{"serial": "A 1"}'), put_row(admin, "web-01", **row)):
        assert (again.json["status"], again.headers["etag"]) == ("unchanged", tag)
    assert len(admin.get("/history").json["history"]) == 1


@pytest.mark.parametrize(
    ("row", "body", "status", "named"),
    [
        ("web-03", '{"serial": "x"}', 404, "no row"),
        ("web-01", '{"id": "web-09"}', 400, "does not hold the identity"),
        ("web-01", '{"rack": "R1"}', 400, "no column 'rack'"),
        ("web-01", '{"serial": {"a": 1}}', 400, "a cell is"),
        ("web-01", '{"serial": [["a"]]}', 400, "a cell is"),
        ("web-01", '{"serial": NaN}', 400, "JSON object"),
        ("web-01", '{"serial": "a", "Serial": "b"}', 400, "each column once"),
        ("web-01", '{"mac": "x"}', 400, "column mac"),
        ("web-01", '{"serial": "(secret)"}', 400, "(secret)"),
        ("web-01", "[]", 400, "JSON object"),
    ],
)
def test_a_patch_that_is_wrong_is_refused(admin: Admin, row: str, body: str, status: int, named: str) -> None:
    admin.put("/inventory/default", TEXT)
    refused = patch_row(admin, row, body)
    assert (refused.status, named in refused.json["error"]) == (status, True), refused.json
    assert stored(admin) == TEXT


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("id,note\nweb-01,Smith, John\n", "inventory.csv:2: has 3 cells, and the header has 2 columns"),
        ("id,note,\nweb-01,Smith, John\n", "inventory.csv:2: has text in a column without a name"),
    ],
)
def test_a_row_with_more_than_its_columns_is_not_cut_by_a_patch(admin: Admin, text: str, fault: str) -> None:
    with admin.store.writing() as writing:
        put(writing, _KEY, text)
        writing.commit()
    for body in ('{"note": "x"}', '{"note": "Smith"}'):
        refused = patch_row(admin, "web-01", body)
        assert refused.status == 400
        assert fault in refused.json["error"]
        assert stored(admin) == text
    assert put_row(admin, "web-01", id="web-01", note="Smith").json["status"] == "stored"
    assert stored(admin) == text.replace(", John", "")


def test_a_row_that_takes_the_identity_of_another_is_refused(admin: Admin) -> None:
    admin.put("/inventory/default", TEXT)
    refused = put_row(admin, "web-03", id="web-03", mac="98fa9b50d810")
    assert refused.status == 409
    assert refused.json["problems"] == [
        "inventory.csv:3 and inventory.csv:6: " + _SHARED.replace("column id", "column mac")
    ]
    assert stored(admin) == TEXT
    assert put_row(admin, "98fa9b50d811", id="web-02", mac="98fa9b50d812").status == 400


def test_the_condition_of_a_row_is_about_the_inventory(admin: Admin) -> None:
    tag = admin.put("/inventory/default", TEXT).headers["etag"]
    body = json.dumps({"id": "web-03"})
    assert admin.put("/inventory/default/web-03", body, if_match='"1-0"').status == 412
    assert admin.put("/inventory/default/web-03", body, if_none_match="*").status == 412
    assert admin.get("/inventory/default/web-01", if_none_match=tag).status == 304
    assert admin.get("/inventory/default", if_none_match=tag).status == 304
    assert admin.get("/inventory/default/web-01", if_match='"1-0"').status == 412
    assert admin.put("/inventory/default/web-03", body, if_match=tag).status == 200
    assert admin.delete("/inventory/default/web-03", if_match=tag).status == 412
    assert admin.put("/inventory/lab/web-03", body).status == 404


def test_rows_of_one_identity_are_not_changed_one_by_one(admin: Admin) -> None:
    with admin.store.writing() as writing:
        put(writing, _KEY, "id,n\nweb-01,a\nweb-01,b\n")
        writing.commit()
    for refused in (admin.get("/inventory/default/web-01"), put_row(admin, "web-01", id="web-01")):
        assert refused.status == 409
        assert "inventory.csv:2 and inventory.csv:3" in refused.json["error"]


def test_resolve_and_check_take_the_inventory_along(admin: Admin) -> None:
    admin.put("/inventory/default", TEXT)
    admin.put("/groups/all", 'members = ["web-01"]\n[a]\nserial = "{{ serial }}"\n')
    resolved = admin.get("/resolve?path=/pve&mac=98fa9b50d810")
    assert resolved.body == b'[a]\nserial = "A 1"\n'
    explained = admin.get("/resolve?path=/pve&mac=98fa9b50d810&explain=1").json
    assert [value["row"] for value in explained["values"]] == ["inventory.csv:3"]
    assert admin.get("/check").json == {"problems": []}


def test_clients_that_edit_rows_at_once_wait_for_each_other(tmp_path: Path) -> None:
    admin = Admin(tmp_path / "answers.db", in_threads=True)
    admin.put("/inventory/default", "id,role\n")
    names = [f"web-{number}" for number in range(12)]
    writes = [gevent.spawn(put_row, admin, name, id=name) for name in names]
    gevent.joinall(writes, raise_error=True)
    assert [write.value.status for write in writes if write.value] == [200] * 12
    assert sorted(stored(admin).split()[1:]) == sorted(f"{name}," for name in names)


def test_what_columns_mean_is_a_document_of_its_own(admin: Admin) -> None:
    columns = 'columns = { "Asset Tag" = "asset", Name = "id" }\n'
    assert admin.put("/inventory/default?format=columns", columns).json == {"status": "stored", "problems": []}
    assert admin.put("/inventory/default", "Name,Asset Tag\nweb-01,42\n").status == 200
    assert first(admin, "asset", "web-01") == "42"
    assert admin.get("/inventory").json == {"inventory": ["default"]}
    read = admin.get("/inventory/Default?format=Columns")
    assert (read.status, read.body.decode(), read.headers["content-type"]) == (
        200,
        columns,
        "text/plain; charset=utf-8",
    )
    assert admin.get("/inventory/default/web-01").json == {"Name": "web-01", "Asset Tag": "42"}
    assert admin.ask("PATCH", "/inventory/default/web-01", '{"asset": "43"}').status == 200
    assert first(admin, "asset", "web-01") == "43"
    broken = admin.put("/inventory/default?format=columns", "columns = {")
    assert (broken.status, "inventory.columns:1: " in broken.json["error"]) == (400, True)
    would_break = admin.delete("/inventory/default?format=columns")
    assert (would_break.status, "no column is one of id" in would_break.json["error"]) == (409, True)
    assert admin.get("/inventory/default?format=toml").status == 400
    whole = {"put": [{"kind": "inventory", "identifier": "lab", "format": "columns", "text": 'shared = ["7ABC"]'}]}
    assert admin.ask("POST", "/apply", json.dumps(whole)).json["new"] == 1
    assert admin.follower.current().shared.named == ("7abc",)


def test_all_faults_of_a_refused_table_are_told(admin: Admin) -> None:
    refused = admin.put("/inventory/default", "id,mac\n" + "".join(f"web-{n},zz\n" for n in range(40)))
    assert (refused.status, len(refused.json["problems"])) == (400, 40)
    assert refused.json["problems"][39] == "inventory.csv:41: column mac: a value is no MAC address"
