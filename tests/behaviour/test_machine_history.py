"""What happened to one machine, against each database. Rules: docs/admin-api.md#history."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answerd.installs.events import Event, Kind
from answerd.installs.records import InstallMemory
from answerd.installs.states import Rules
from answerd.machine_history import machine_history, names_of_machine
from answerd.store import HistoryFilter
from answerd.store.database import DatabaseStore
from answerd.store.history import beginning
from tests.support.admin import AdminOf
from tests.support.fleet import Fleet

pytestmark = pytest.mark.each_store

TABLE = "id,mac,rack,root_password\nweb-1,52:54:00:00:00:01,R1,hunter22\nweb-2,52:54:00:00:00:02,R1,swordfish\n"


@pytest.fixture
def admin(fleet: Fleet) -> AdminOf[Any]:
    if not isinstance(fleet.store, DatabaseStore):
        pytest.skip("the admin API needs a database")
    return AdminOf(fleet.store)


def history(admin: AdminOf[Any], query: str) -> list[dict[str, Any]]:
    reply = admin.get(f"/history?{query}")
    assert reply.status == 200, reply.body
    return list(reply.json["history"])


def test_a_machine_has_the_changes_of_its_documents_and_of_its_row(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default", TABLE)
    admin.put("/machines/web-1", "x = 1\n")
    admin.put("/machines/52-54-00-00-00-01?format=ks", "lang C\n")
    admin.put("/machines/web-2", "x = 1\n")
    admin.ask("PATCH", "/inventory/default/web-2", b'{"rack": "R2"}')
    admin.ask("PATCH", "/inventory/default/web-1", b'{"rack": "R7"}')
    admin.put("/inventory/default", admin.get("/inventory/default").body.decode().replace("web-1", "db-1"))
    admin.put("/inventory/lab", "id\nlab-1\n")
    found = history(admin, "machine=52:54:00:00:00:01")
    assert [(one["kind"], one["identifier"], one["diff"][1:]) for one in found if one["kind"] == "inventory"] == [
        (
            "inventory",
            "default",
            ["-id: web-1", "+id: db-1", " mac: 52:54:00:00:00:01", " rack: R7", found[0]["diff"][-1]],
        ),
        (
            "inventory",
            "default",
            [" id: web-1", " mac: 52:54:00:00:00:01", "-rack: R1", "+rack: R7", found[1]["diff"][-1]],
        ),
        ("inventory", "default", ["+id: web-1", "+mac: 52:54:00:00:00:01", "+rack: R1", found[3]["diff"][-1]]),
    ]
    assert [one["kind"] for one in found] == ["inventory", "inventory", "machine", "inventory"]
    assert "hunter22" not in str(found)
    assert found[-1]["before"] is None
    assert [one["revision"] for one in found] == sorted((one["revision"] for one in found), reverse=True)
    named = history(admin, "machine=web-1")  # a document has the name still, and a row had it
    assert [one["identifier"] for one in named] == ["default", "default", "web-1", "default"]
    assert named[0]["after"] is None
    assert len(history(admin, "machine=web-2")) == 3
    assert [one["format"] for one in history(admin, "machine=db-1&format=ks")] == ["ks"]


def test_a_page_of_a_machine_follows_the_one_before(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default", TABLE)
    for number in range(30):
        admin.ask("PATCH", "/inventory/default/web-2", f'{{"rack": {number}}}'.encode())
        if number % 5 == 0:
            admin.ask("PATCH", "/inventory/default/web-1", f'{{"rack": {number}}}'.encode())
    everything = history(admin, "machine=web-1")
    assert len(everything) == 7
    pages: list[dict[str, Any]] = []
    while page := history(admin, f"machine=web-1&limit=3&before={pages[-1]['revision'] if pages else 10**9}"):
        pages += page
    assert pages == everything
    since = everything[2]["when"]
    assert history(admin, f"machine=web-1&since={since[:19]}Z")[:3] == everything[:3]


def test_a_row_that_is_removed_and_a_table_that_cannot_be_read(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default", TABLE)
    admin.delete("/inventory/default/web-1")
    admin.put("/machines/52-54-00-00-00-01", "x = 1\n")
    kinds = [(one["kind"], one["after"]) for one in history(admin, "machine=52:54:00:00:00:01")]
    assert kinds[0] == ("machine", "x = 1\n")
    assert (kinds[1][0], kinds[1][1]) == ("inventory", None)
    assert len(kinds) == 3


def test_orders_stand_between_the_changes_by_their_time(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default", TABLE)
    catalogue = admin.follower.current()
    names = names_of_machine(catalogue, InstallMemory(Rules()), "web-1")
    assert {"web1", "525400000001"} <= {*names}
    at = 4_000_000_000.0
    events = [
        Event("525400000001", "web-1", Kind.ARMED, at, names, origin="command line, maria"),
        Event("525400000001", "web-1", Kind.GIVEN, at + 1, names),
        Event("525400000001", "web-1", Kind.DISARMED, 1.0, names),
    ]
    found = machine_history(admin.store, HistoryFilter(), names, events, catalogue)
    assert [one.order.kind if one.order is not None else None for one in found] == [Kind.ARMED, None, Kind.DISARMED]
    assert found[0].when == "2096-10-02T07:06:40.000Z"
    newest = machine_history(admin.store, HistoryFilter(since=beginning("2096-01"), limit=5), names, events, catalogue)
    assert [one.when for one in newest] == [found[0].when]
    assert len(machine_history(admin.store, HistoryFilter(limit=2), names, events, catalogue)) == 2
    revision = found[1].entry.revision if found[1].entry is not None else 0
    before = machine_history(admin.store, HistoryFilter(before=revision), names, events, catalogue)
    assert [one.order.kind for one in before if one.order is not None] == [Kind.DISARMED]


def apply(admin: AdminOf[Any], **body: Any) -> dict[str, Any]:
    reply = admin.ask("POST", "/apply", json.dumps(body))
    assert reply.status == 200, reply.body
    return dict(reply.json)


def texts(admin: AdminOf[Any]) -> dict[str, str]:
    return {str(stored.key): stored.body.decode() for stored in admin.store.all()}


def group(name: str, text: str) -> dict[str, str]:
    return {"kind": "group", "identifier": name, "format": "toml", "text": text}


def test_all_documents_of_a_change_are_taken_back_together(admin: AdminOf[Any]) -> None:
    admin.put("/groups/before", "x = 0\n")
    apply(admin, put=[group("a", "x = 1\n"), group("b", "x = 1\n"), group("c", "x = 1\n")])
    known = texts(admin)
    gone = {"kind": "group", "identifier": "b", "format": "toml"}
    apply(admin, put=[group("a", "x = 2\n"), group("d", "x = 2\n")], delete=[gone])
    changed = texts(admin)
    found = history(admin, "")
    assert [len({one["change"] for one in part}) for part in (found[:3], found[3:6], found)] == [1, 1, 3]
    revision = found[1]["revision"]

    tried = admin.ask("POST", f"/history/{revision}/take-back?dry_run=1")
    assert (tried.status, tried.json["status"], texts(admin)) == (200, "dry run", changed)
    done = admin.ask("POST", f"/history/{revision}/take-back", X_Change_Note="by mistake")
    assert [done.json[name] for name in ("status", "new", "changed", "removed")] == ["applied", 1, 1, 1]
    assert texts(admin) == known
    newest = history(admin, "")[:3]
    assert {one["note"] for one in newest} == {f"revision {found[0]['revision']} taken back: by mistake"}

    again = admin.ask("POST", f"/history/{newest[0]['revision']}/take-back")
    assert (again.status, texts(admin)) == (200, changed), "taking back can be taken back"


def test_a_change_is_not_taken_back_where_a_document_changed_again(admin: AdminOf[Any]) -> None:
    apply(admin, put=[group("a", "x = 1\n"), group("b", "x = 1\n")])
    revision = history(admin, "")[0]["revision"]
    admin.put("/groups/a", "x = 2\n")
    later = history(admin, "")[0]["revision"]
    for query in ("", "?dry_run=1"):
        refused = admin.ask("POST", f"/history/{revision}/take-back{query}")
        assert (refused.status, refused.json["error"].partition(" after ")[0].split(" was ")[0]) == (
            409,
            'group "a" (toml)',
        )
    assert str(later) in admin.ask("POST", f"/history/{revision}/take-back").json["error"]
    assert len(texts(admin)) == 2
    assert admin.ask("POST", f"/history/{later}/take-back").status == 200
    assert admin.ask("POST", f"/history/{revision}/take-back").status == 200
    assert texts(admin) == {}


def test_a_change_that_others_need_is_not_taken_back(admin: AdminOf[Any]) -> None:
    apply(admin, put=[group("a", "x = 1\n")])
    admin.put("/machines/n1", 'extends = "a"\n')
    refused = admin.ask("POST", "/history/1/take-back")
    assert (refused.status, bool(refused.json["problems"])) == (409, True)
    assert admin.ask("POST", "/history/99/take-back").status == 404
    assert admin.ask("POST", "/history/x/take-back").status == 400
    assert admin.ask("POST", "/history/1/take-back?dry_run=2").status == 400


def test_a_change_of_which_a_part_may_be_forgotten_is_not_taken_back(admin: AdminOf[Any]) -> None:
    apply(admin, put=[group("a", "x = 1\n"), group("b", "x = 1\n")])
    admin.put("/groups/a", "x = 2\n")
    assert admin.store.prune_history("2999-01-01T00:00:00.000Z") == 1
    revision = history(admin, "group=b")[0]["revision"]
    refused = admin.ask("POST", f"/history/{revision}/take-back")
    assert (refused.status, "2999-01-01" in refused.json["error"]) == (409, True)
    assert admin.ask("POST", f"/history/{revision}/restore").json["status"] == "unchanged"


def test_the_history_tells_an_inventory_by_rows(admin: AdminOf[Any]) -> None:
    admin.put("/inventory/default", TABLE)
    admin.ask("PATCH", "/inventory/default/web-2", b'{"rack": "R2"}')
    assert history(admin, "kind=inventory")[0]["diff"] == ["-web-2  rack=R1", "+web-2  rack=R2"]
