"""Writes over the admin API, against each database. Rules: docs/admin-api.md#requests, docs/inventory.md#over-http."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answerd.store.database import DatabaseStore
from tests.support.admin import AdminOf
from tests.support.fleet import Fleet
from tests.support.replies import Reply

pytestmark = pytest.mark.each_store


@pytest.fixture
def admin(fleet: Fleet) -> AdminOf[Any]:
    if not isinstance(fleet.store, DatabaseStore):
        pytest.skip("the admin API needs a database")
    return AdminOf(fleet.store)


def changes(admin: AdminOf[Any]) -> list[tuple[str, str | None]]:
    return [(one["identifier"], one["after"]) for one in admin.get("/history").json["history"]]


def test_what_is_there_already_is_no_change(admin: AdminOf[Any]) -> None:
    tag = admin.put("/machines/N-1", "x = 1\n").headers["etag"]
    again = admin.put("/machines/n1", "x = 1\n")
    assert (again.json["status"], again.headers["etag"]) == ("unchanged", tag)
    admin.put("/inventory/default", "id,rack\nweb-1,R1\n")
    patched = admin.ask("PATCH", "/inventory/default/web-1", b'{"rack": "R1"}')
    assert patched.json["status"] == "unchanged"
    assert changes(admin) == [("default", "id,rack\nweb-1,R1\n"), ("N-1", "x = 1\n")]


def test_a_patch_changes_the_columns_that_it_names(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default", "id,mac,rack\nweb-1, 98:fa:9b:50:d8:10 ,R1\nweb-2,,R1\n")
    assert admin.ask("PATCH", "/inventory/default/web-1", b'{"Rack": 2}').json["status"] == "stored"
    assert admin.get("/inventory/default").body == b"id,mac,rack\nweb-1,98:fa:9b:50:d8:10,2\nweb-2,,R1\n"
    assert admin.get("/inventory/default/98fa9b50d810").json == {"id": "web-1", "mac": "98:fa:9b:50:d8:10", "rack": "2"}


def test_a_row_that_was_read_can_be_written_whatever_its_columns_are_called(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default?format=columns", '[columns]\nName = "id"\nID = "netbox"\n"Boot Disk" = "disk"\n')
    admin.put("/inventory/default", "ID,Name,Boot Disk,Asset Tag\n17,web-1,sda,A1\n")
    path = "/inventory/default/web-1"
    read = admin.get(path).json
    assert read == {"ID": "17", "Name": "web-1", "Boot Disk": "sda", "Asset Tag": "A1"}
    assert admin.put(path, json.dumps(read)).json["status"] == "unchanged"
    for changed in ({"Boot Disk": "sdb"}, {"disk": "sdc"}, {"boot disk": "sdd"}):
        assert admin.ask("PATCH", path, json.dumps(changed)).json["status"] == "stored"
        assert [admin.get(path).json["Boot Disk"]] == [*changed.values()]
    unknown = admin.ask("PATCH", path, b'{"Disk 2": "sda"}')
    assert unknown.status == 400
    assert unknown.json["error"] == (
        "there is no column 'Disk 2': the columns are ID (netbox), Name (id), Boot Disk (disk), Asset Tag"
    )
    twice = admin.ask("PATCH", path, b'{"Boot Disk": "sda", "disk": "sdb"}')
    assert (twice.status, twice.json["error"]) == (400, "column 'Boot Disk' is given twice, by its name and its label")


def test_a_dry_run_of_a_write_says_whose_answers_would_change_and_changes_nothing(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default", "id,mac,rack\nweb-1,52:54:00:00:00:01,R1\n")
    admin.put("/groups/rack?format=ks", "# answer: match rack=R1\nrack\n")
    admin.put("/machines/n1?format=ks", "old\n")
    before, row, group = changes(admin), "/inventory/default/web-1", "/groups/rack?format=ks"
    for method, path, body, whose in (
        ("PATCH", row, '{"rack": "R2"}', "web-1"),
        ("PUT", row, '{"id": "web-1"}', "web-1"),
        ("DELETE", row, "", "web-1"),
        ("PUT", "/inventory/default", "id,mac,rack\nweb-2,52:54:00:00:00:02,R2\n", "web-1"),
        ("PUT", group, "# answer: match rack=R1\nother\n", "web-1"),
        ("DELETE", group, "", "web-1"),
        ("PUT", "/machines/n1?format=ks", "new\n", "n1"),
        ("DELETE", "/machines/n1?format=ks", "", "n1"),
    ):
        tried = admin.ask(method, f"{path}{'&' if '?' in path else '?'}dry_run=1", body.encode())
        assert (tried.status, tried.json["status"]) == (200, "dry run"), (method, path)
        assert whose in json.dumps(tried.json["answers"]), (method, path)
    assert changes(admin) == before
    tag = admin.get("/inventory/default").headers["etag"]
    assert admin.ask("PATCH", f"{row}?dry_run=1", b'{"rack": "R2"}').headers["etag"] == tag
    assert admin.ask("PATCH", f"{row}?dry_run=1", b'{"rack": "R2"}', if_match='"0"').status == 412
    assert admin.ask("PATCH", f"{row}?dry_run=1", b'{"x": "R2"}').status == 400
    assert admin.delete("/machines/n2?format=ks&dry_run=1").status == 404


def test_a_write_with_a_parameter_that_it_has_not_is_refused(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default", "id\nweb-1\n")
    before = changes(admin)
    for method, path in (
        ("PUT", "/machines/n1"),
        ("DELETE", "/machines/n1"),
        ("PUT", "/inventory/default"),
        ("PATCH", "/inventory/default/web-1"),
        ("DELETE", "/inventory/default/web-1"),
    ):
        refused = admin.ask(method, f"{path}?dryrun=1", b"{}")
        assert refused.status == 400, (method, path)
        assert refused.json["error"].startswith('unknown parameter "dryrun": it is one of')
    assert changes(admin) == before


def test_a_pruned_set_keeps_its_inventories(admin: AdminOf[Any]) -> None:
    admin.put("/machines/n1", "x = 1\n")
    admin.put("/machines/n2", "x = 1\n")
    admin.put("/inventory/default", "id\nweb-1\n")
    n1 = {"kind": "machine", "identifier": "n1", "text": "x = 1\n"}

    def pruned(**body: bool) -> list[str]:
        reply = admin.ask("POST", "/apply", json.dumps({"put": [n1], "prune": True, **body}))
        return [one["identifier"] for one in reply.json["documents"]["removed"]]

    assert sorted(pruned(prune_inventories=True, dry_run=True)) == ["default", "n2"]
    assert pruned(dry_run=True) == pruned() == ["n2"]
    assert admin.get("/inventory/default").status == 200
    assert pruned(prune_inventories=True) == ["default"]


RACK = "".join(f"cn{n:02},R{n // 10}\n" for n in range(1, 31))


def machines(reply: Reply) -> int:
    """How many machines lose their answer."""
    assert reply.status == 200, reply.body
    return int(reply.json.get("machines", 0))


def test_a_write_says_how_many_machines_lose_their_answer(admin: AdminOf[Any]) -> None:
    members = " ".join(f"pc-{n:02}" for n in range(1, 52))
    admin.put("/default?format=ks", "default\n")
    admin.put("/inventory/default", f"id,rack\n{RACK}")
    assert machines(admin.put("/groups/base?format=ks", f"# answer: member {members}\nbase\n")) == 0
    assert machines(admin.put("/groups/rack?format=ks", "# answer: match rack=R1\nrack\n")) == 0
    admin.put("/groups/rack?format=toml", "match = { rack = 'R1' }\nx = 1\n")
    admin.put("/machines/pc-01?format=ks", "own\n")
    assert machines(admin.put("/groups/base?format=ks", f"# answer: member {members}\nother text\n")) == 0
    few = members.removesuffix(" pc-50 pc-51")
    assert machines(admin.put("/groups/base?format=ks", f"# answer: member {few}\nbase\n")) == 2
    assert machines(admin.put("/groups/rack?format=ks", "# answer: match rack=R2\nrack\n")) == 10
    assert machines(admin.put("/groups/more?format=ks", "# answer: member cn25 cn26\nmore\n")) == 0
    assert machines(admin.delete("/groups/base?format=ks")) == 48  # the first has a document of its own
    assert machines(admin.delete("/groups/rack?format=ks")) == 8  # two are members of another group
    assert machines(admin.delete("/groups/rack?format=toml")) == 10
    assert machines(admin.delete("/machines/pc-01?format=ks")) == 0  # it is that machine, which says nothing more
    assert machines(admin.delete("/default?format=ks")) == 0


def test_rows_and_whole_changes_say_so_too(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default", f"id,mac,rack\n{RACK.replace(',R', ',,R')}x,52:54:00:00:00:01,R1\n")
    admin.put("/groups/rack?format=ks", "# answer: match rack=R1\nrack\n")
    moved = admin.ask("PATCH", "/inventory/default/cn11", b'{"rack": "R2"}')
    assert machines(moved) == 1
    renamed = admin.ask("PATCH", "/inventory/default/525400000001", b'{"id": "y"}')
    assert machines(renamed) == 0  # the same machine
    assert machines(admin.delete("/inventory/default/y")) == 1
    assert machines(admin.delete("/inventory/default/cn01")) == 0  # nothing claimed it
    body: dict[str, Any] = {"put": [], "delete": [{"kind": "group", "identifier": "rack", "format": "ks"}]}
    tried = admin.ask("POST", "/apply", json.dumps({**body, "dry_run": True}))
    assert machines(tried) == machines(admin.ask("POST", "/apply", json.dumps(body))) == 9
    body["put"] = [{"kind": "group", "identifier": "rack", "format": "ks", "text": "# answer: match rack=R1\nrack\n"}]
    admin.ask("POST", "/apply", json.dumps({"put": body["put"]}))
    gone = admin.get("/history?group=rack").json["history"][1]
    assert gone["after"] is None
    assert machines(admin.ask("POST", f"/history/{gone['revision']}/restore")) == 9
