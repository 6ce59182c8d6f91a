"""Writes over the admin API, against each database. Rules: docs/admin-api.md#requests, docs/inventory.md#over-http."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answerd.store.database import DatabaseStore
from tests.support.admin import AdminOf
from tests.support.fleet import Fleet

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
    assert admin.get("/inventory/default").body == b"id,mac,rack\nweb-1, 98:fa:9b:50:d8:10 ,2\nweb-2,,R1\n"
    assert admin.get("/inventory/default/98fa9b50d810").json == {"id": "web-1", "mac": "98:fa:9b:50:d8:10", "rack": "2"}


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
