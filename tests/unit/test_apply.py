"""POST /apply: many documents as one change, judged as a whole."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from answerd.answers.diff import compare
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.server.admin.changes import refuse_late
from answerd.server.roles import AdminTokens, Role, TokensError, new_token, parse_token_file
from answerd.store import HistoryFilter, StoreError
from answerd.write_guard import ChangeSet, Times
from tests.support import writes
from tests.support.admin import Admin
from tests.support.replies import Reply

pytestmark = pytest.mark.long


@pytest.fixture
def admin(in_memory: Path) -> Admin:
    return Admin(in_memory / "answers.db")


def put(name: str, text: str, kind: str = "machine", extension: str = "toml") -> dict[str, str]:
    return {"kind": kind, "identifier": name, "format": extension, "text": text}


def apply(admin: Admin, *puts: dict[str, str], **body: Any) -> Reply:
    headers = {name: body.pop(name) for name in ("If_Match", "X_Change_Note") if name in body}
    return admin.ask("POST", "/apply", json.dumps({"put": list(puts), **body}), **headers)


def counts(reply: Reply) -> tuple[int, int, int, int]:
    assert reply.status == 200, reply.body
    result = reply.json
    return result["new"], result["changed"], result["unchanged"], result["removed"]


def texts(admin: Admin) -> dict[str, str]:
    return {f"{stored.key.identifier}.{stored.key.format}": stored.body.decode() for stored in admin.store.all()}


def in_force(admin: Admin) -> dict[str, str]:
    found = admin.follower.current().documents
    return {f"{raw.key.identifier}.{raw.key.format}": raw.text for raw in found}


def test_order_does_not_matter_and_the_whole_is_in_force_at_once(admin: Admin) -> None:
    reply = apply(admin, put("n1", 'extends = "base"\n'), put("base", "x = 1\n", "group"))

    assert reply.json["status"] == "applied"
    assert counts(reply) == (2, 0, 0, 0)
    assert texts(admin) == in_force(admin) == {"n1.toml": 'extends = "base"\n', "base.toml": "x = 1\n"}
    assert admin.get("/resolve/n1").body == b"x = 1\n"


def test_a_change_whose_steps_alone_would_break_something_is_accepted(admin: Admin) -> None:
    apply(admin, put("old", "x = 1\n", "group"), put("n1", 'extends = "old"\n'))

    reply = apply(
        admin,
        put("n1", 'extends = "new"\n'),
        put("new", "x = 2\n", "group"),
        delete=[{"kind": "group", "identifier": "OLD", "format": "toml"}],
    )

    assert counts(reply) == (1, 1, 0, 1)
    assert reply.json["documents"] == {
        "new": [{"kind": "group", "identifier": "new", "format": "toml"}],
        "changed": [{"kind": "machine", "identifier": "n1", "format": "toml"}],
        "removed": [{"kind": "group", "identifier": "old", "format": "toml"}],
    }


def test_the_stored_spelling_stays_and_the_same_text_is_left_alone(admin: Admin) -> None:
    apply(admin, put("98:FA", "x = 1\n"), put("n2", "x = 1\n"))
    tag = admin.get("/machines/n2").headers["etag"]

    assert counts(apply(admin, put("98-fa", "x = 2\n"), put("n2", "x = 1\n"))) == (0, 1, 1, 0)
    assert texts(admin) == {"98:FA.toml": "x = 2\n", "n2.toml": "x = 1\n"}
    assert admin.get("/machines/n2").headers["etag"] == tag


def test_prune_removes_what_is_not_named(admin: Admin) -> None:
    apply(admin, put("n1", "x = 1\n"), put("n2", "x = 1\n"), put("n1", "a", extension="ks"))

    assert counts(apply(admin, put("N-1", "x = 1\n"), prune=True)) == (0, 0, 1, 2)
    assert texts(admin) == in_force(admin) == {"n1.toml": "x = 1\n"}
    absent = {"kind": "machine", "identifier": "n1", "format": "ks"}
    assert counts(apply(admin, delete=[absent])) == (0, 0, 0, 0), "nothing to remove is no error"


@pytest.mark.parametrize("dry_run", [False, True])
def test_prune_leaves_inventories_alone_unless_one_is_named_or_it_is_asked_for(admin: Admin, dry_run: bool) -> None:
    lab = put("lab", "id\nlab-1\n", "inventory", "csv")
    apply(admin, put("n1", "x = 1\n"), put("n2", "x = 1\n"), put("default", "id\nweb-1\n", "inventory", "csv"), lab)

    def removed(*puts: dict[str, str], **body: Any) -> list[str]:
        reply = apply(admin, *puts, prune=True, dry_run=True, **body)
        return [one["identifier"] for one in reply.json["documents"]["removed"]]

    assert sorted(removed(put("n1", "x = 1\n"))) == ["n2"]
    assert sorted(removed(put("n1", "x = 1\n"), lab)) == ["default", "n2"]
    assert sorted(removed(put("n1", "x = 1\n"), prune_inventories=True)) == ["default", "lab", "n2"]
    done = apply(admin, put("n1", "x = 1\n"), prune=True, dry_run=dry_run)
    assert counts(done) == (0, 0, 1, 1)
    assert apply(admin, put("n1", "x = 1\n"), prune_inventories=True).status == 400
    assert len(texts(admin)) == (4 if dry_run else 3)


@pytest.mark.parametrize("rows", ["n1,7ABC\n", "n1,7ABC\nn2,7ABD\n"], ids=["the same table", "another row"])
def test_a_table_whose_columns_document_would_be_pruned_is_refused_with_that_reason(admin: Admin, rows: str) -> None:
    table = partial(put, kind="inventory", extension="csv")
    columns = put("lab", 'columns = { Name = "id" }\n', "inventory", "columns")
    apply(admin, table("lab", "Name,Serial number\nn1,7ABC\n"), columns)
    reply = apply(admin, table("lab", f"Name,Serial number\n{rows}"), prune=True)
    assert reply.status in (400, 409)
    advice = "this change removes inventory/lab.columns: keep that document, or remove the table too"
    assert reply.json["error"].endswith(f"; {advice}")
    assert counts(apply(admin, table("lab", f"Name,Serial number\n{rows}"), columns, prune=True))[3] == 0


def test_a_refused_change_leaves_no_trace_and_names_what_it_would_break(admin: Admin) -> None:
    apply(admin, put("base", "x = 1\n", "group"), put("n1", 'extends = "base"\n'))
    before = texts(admin)

    refused = apply(admin, put("n3", "y = 1\n"), delete=[{"kind": "group", "identifier": "base", "format": "toml"}])
    assert (refused.status, refused.problems) == (409, ['machine "n1" (toml): extends unknown group "base"'])
    assert texts(admin) == in_force(admin) == before


def test_documents_that_are_wrong_by_themselves_are_400_and_all_named(admin: Admin) -> None:
    reply = apply(admin, put("n1", "= ="), put("n2", "x = 1\n"), put("n3", 'members = ["a"]\n'))

    assert reply.status == 400
    assert [problem.partition(":")[0] for problem in reply.problems] == ['machine "n1" (toml)', 'machine "n3" (toml)']
    assert texts(admin) == in_force(admin) == {}


def test_a_dry_run_says_what_would_change_and_changes_nothing(admin: Admin) -> None:
    first = apply(admin, put("base", "x = 1\n", "group"), *(put(f"n{at}", 'extends = "base"\n') for at in range(3)))
    before = texts(admin)

    reply = apply(admin, put("base", "x = 2\n", "group"), put("new", "z = 1\n"), dry_run=True)

    assert reply.json["status"] == "dry run"
    assert counts(reply) == (1, 1, 0, 0)
    changes = {(difference["change"], difference["name"]) for difference in reply.json["answers"]["differences"]}
    assert {("changed", "n0 (toml)"), ("changed", "n2 (toml)"), ("new", "new (toml)")} <= changes
    assert texts(admin) == in_force(admin) == before
    assert reply.headers["etag"] == first.headers["etag"] == admin.get("/groups").headers["etag"]
    assert apply(admin, put("n1", 'extends = "ghost"\n'), dry_run=True).status == 409


def test_a_dry_run_that_is_asked_for_in_the_query_is_refused_and_applies_nothing(admin: Admin) -> None:
    reply = admin.ask("POST", "/apply?dry_run=1", json.dumps({"put": [put("n1", "x = 1\n")]}))
    assert reply.status == 400
    assert "fields of the body" in reply.json["error"]
    assert texts(admin) == {}


def test_if_match_holds_for_the_whole_set(admin: Admin) -> None:
    tag = apply(admin, put("n1", "x = 1\n")).headers["etag"]
    assert {admin.get(path).headers["etag"] for path in ("/machines", "/groups", "/machines?detail=1", "/check")} == {
        tag
    }

    assert apply(admin, put("n1", "x = 2\n"), If_Match=tag).status == 200
    late = apply(admin, put("n1", "x = 3\n"), If_Match=tag)

    assert late.status == 412
    assert texts(admin) == {"n1.toml": "x = 2\n"}
    assert admin.get("/machines", If_None_Match=admin.get("/machines").headers["etag"]).status == 304


GROUP: dict[str, Any] = {"kind": "group", "identifier": "a", "text": ""}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no JSON"),
        (b'{"put": [', "no JSON"),
        (b'{"put": [{"kind": "group", "identifier": "a", "text": "\xff"}]}', "no JSON"),
        (b'{"prune": NaN}', "no value of JSON"),
        (b'{"prune": 1' + b"0" * 5_000 + b"}", "too long"),
        (b'{"put": [], "put": []}', "twice"),
        (b'{"put": [{"kind": "group", "identifier": "a", "identifier": "b", "text": ""}]}', "twice"),
        ([], "no JSON object"),
        ({"puts": []}, "unknown key"),
        ({"put": {}}, "no list"),
        ({"put": [1]}, "no list of objects"),
        ({"put": [{}]}, "put[0] has no text"),
        ({"prune": 1}, "neither true nor false"),
        ({"dry_run": "false"}, "neither true nor false"),
        ({"put": [{**GROUP, "kind": "rack"}]}, "the kind of put[0] is none of"),
        ({"put": [{**GROUP, "format": "txt"}]}, "none of"),
        ({"put": [{**GROUP, "identifier": "a b"}]}, "put[0]"),
        ({"put": [{**GROUP, "identifier": "a" * 201}]}, "more than 200 characters"),
        ({"put": [{**GROUP, "x": 1}]}, "unknown key"),
        ({"put": [{**GROUP, "text": "x" * 262_145}]}, "more than 262144 bytes"),
        ({"put": [{**GROUP, "text": "\ud800"}]}, '"text" of put[0] holds half of a surrogate pair'),
        ({"delete": [{"kind": "group", "identifier": 7}]}, "no text"),
        ({"put": [GROUP, {**GROUP, "identifier": "A"}]}, "named twice"),
        ({"put": [GROUP], "delete": [{"kind": "group", "identifier": "a"}]}, "named twice"),
    ],
    ids=lambda given: str(given)[:50],
)
def test_a_body_that_is_no_change_is_400(admin: Admin, body: Any, reason: str) -> None:
    reply = admin.ask("POST", "/apply", body if isinstance(body, bytes) else json.dumps(body))

    assert reply.status == 400
    assert reason in reply.error
    assert texts(admin) == {}


# --- history ---


def test_the_history_tells_who_when_what_and_why(admin: Admin) -> None:
    admin.ask(
        "PUT", "/machines/n1", "x = 1\n", peer="192.0.2.7", X_Change_Note="für Gerät 7".encode().decode("latin-1")
    )
    admin.put("/groups/g", "y = 1\n")
    admin.put("/machines/N-1", "x = 2\n")
    admin.delete("/machines/n1")

    [removed, changed, group, new] = admin.get("/history").json["history"]

    assert (new["who"], new["note"]) == ({"name": None, "peer": "192.0.2.7"}, "für Gerät 7")
    assert (new["before"], new["after"]) == (None, "x = 1\n")
    assert (changed["identifier"], changed["before"], changed["after"]) == ("n1", "x = 1\n", "x = 2\n")
    assert {"-x = 1", "+x = 2"} <= set(changed["diff"])
    assert (removed["after"], group["kind"]) == (None, "group")
    assert [entry["revision"] for entry in (removed, changed, group, new)] == [4, 3, 2, 1]
    for query, expected in (
        ("machine=N1", [4, 3, 1]),
        ("group=g", [2]),
        ("kind=group", [2]),
        ("limit=2", [4, 3]),
        ("before=3", [2, 1]),
        ("since=2020-01-01", [4, 3, 2, 1]),
        ("since=2020-02-29T09:14Z&format=TOML", [4, 3, 2, 1]),
        ("format=csv", []),
        ("since=2999-01-01T00:00:00Z", []),
    ):
        found = admin.get(f"/history?{query}").json["history"]
        assert [entry["revision"] for entry in found] == expected, query


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=x",
        "since=yesterday",
        "since=2020",
        "since=2026-02-30",
        "since=2026-11-21T24:00",
        "format=docx",
        "kind=rack",
        "machine=a&group=b",
        "machine=a&kind=group",
        "x=1",
    ],
)
def test_a_question_about_the_history_that_cannot_be_meant_is_400(admin: Admin, query: str) -> None:
    assert admin.get(f"/history?{query}").status == 400


def test_the_history_of_a_response_is_bounded(admin: Admin) -> None:
    for number in range(20):
        writes.put(admin.store, Key(Kind.DEFAULT, "", "ks"), f"{number}" + "x" * 250_000)

    first = admin.get("/history").json["history"]
    rest = admin.get(f"/history?before={first[-1]['revision']}").json["history"]

    assert 1 <= len(first) < 20
    assert [entry["revision"] for entry in (*first, *rest)][:3] == [20, 19, 18]
    assert {entry["revision"] for entry in (*first, *rest)} <= set(range(1, 21))


def test_a_change_is_taken_back_through_the_guard(admin: Admin) -> None:
    admin.put("/groups/base", "x = 1\n")
    admin.put("/groups/base", "x = 2\n")
    admin.put("/machines/n1", 'extends = "base"\n')

    restored = admin.ask("POST", "/history/1/restore")
    assert (restored.status, restored.json["status"]) == (200, "restored")
    assert admin.get("/resolve/n1").body == b"x = 1\n"
    assert admin.get("/history?limit=1").json["history"][0]["note"] == "restore of revision 1"

    admin.delete("/machines/n1")
    admin.delete("/groups/base")
    assert admin.ask("POST", "/history/3/restore").status == 409, "its group is gone"
    assert admin.ask("POST", "/history/2/restore").status == 200
    assert admin.ask("POST", "/history/3/restore").status == 200
    assert admin.get("/resolve/n1").body == b"x = 2\n"
    assert admin.ask("POST", "/history/99/restore").status == 404
    assert admin.ask("POST", "/history/x/restore").status == 400


def test_old_changes_are_forgotten_but_never_the_newest_of_a_document(admin: Admin, tmp_path: Path) -> None:
    for text in ("1", "2", "3"):
        writes.put(admin.store, Key(Kind.DEFAULT, "", "ks"), text)
    writes.put(admin.store, Key(Kind.GROUP, "g", "ks"), "a")
    writes.delete(admin.store, Key(Kind.GROUP, "g", "ks"))
    tag = admin.get("/default?format=ks").headers["etag"]

    assert admin.store.prune_history("2020-01-01") == 0
    assert admin.store.prune_history("2999-01-01") == 3

    assert [entry.revision for entry in admin.store.history(HistoryFilter())] == [5, 3]
    assert admin.get("/default?format=ks").headers["etag"] == tag
    assert admin.store.changes() is not None


# --- lists with details ---


def test_a_list_with_details_tells_format_size_etag_and_last_change(admin: Admin) -> None:
    admin.put("/machines/b", "x = 1\n")
    admin.put("/machines/a?format=ks", "é")
    admin.put("/machines/a", "")

    [first, second, third] = admin.get("/machines?detail=1").json["machine"]

    assert [(entry["identifier"], entry["format"], entry["bytes"]) for entry in (first, second, third)] == [
        ("a", "ks", 2),
        ("a", "toml", 0),
        ("b", "toml", 6),
    ]
    assert first["etag"] == admin.get("/machines/a?format=ks").headers["etag"]
    assert first["changed"] <= second["changed"] <= admin.store.history(HistoryFilter())[0].at
    assert admin.get("/machines").json == {"machine": ["a", "a", "b"]}


def test_a_list_is_read_in_pages_that_never_split_an_identifier(admin: Admin) -> None:
    for name in ("a", "b", "c"):
        for extension in ("toml", "ks"):
            admin.put(f"/groups/{name}?format={extension}", "")

    def page(query: str) -> list[str]:
        return [
            f"{entry['identifier']}.{entry['format']}" for entry in admin.get(f"/groups?detail=1&{query}").json["group"]
        ]

    assert page("limit=1") == ["a.ks", "a.toml"]
    assert page("limit=3") == ["a.ks", "a.toml", "b.ks", "b.toml"]
    assert page("limit=2&after=b") == ["c.ks", "c.toml"]
    assert page("after=c") == []
    assert admin.get("/groups?limit=0").status == admin.get("/groups?detail=2").status == 400


# --- named tokens ---


def test_a_file_of_tokens_is_read_line_by_line() -> None:
    _, first = new_token("ci", Role.ADMIN)
    _, second = new_token("grafana@lab", Role.READ)

    assert parse_token_file(f"# people\n\n{first}\n  {second}  \n") == (first, second)
    ending = new_token("c", Role.READ, date(2026, 12, 31))[1]
    assert str(ending).endswith(" until=2026-12-31")
    assert parse_token_file(str(ending)) == (ending,)
    moment = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()
    tokens = AdminTokens((), [ending], lambda: moment)
    assert [caller.name for caller in tokens.by_hash.values()] == ["c"], "the last day counts"
    moment += 1
    assert tokens.by_hash == {}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ci admin", "needs a name"),
        ("ci admin abc", "no SHA-256"),
        (f"ci root {'0' * 64}", "none of read, plan, operate, inventory, admin"),
        (f"/ci read {'0' * 64}", "name is invalid"),
        (f"ci read {'0' * 64} until=2026-02-30", "no last day"),
        (f"ci read {'0' * 64} 2026-12-31", "no last day"),
    ],
)
def test_a_line_that_is_no_token_is_named_and_not_quoted(line: str, reason: str) -> None:
    with pytest.raises(TokensError, match=f"line 2: .*{reason}"):
        parse_token_file(f"\n{line}\n")


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_note_that_is_too_long_is_refused_in_a_dry_run_too(admin: Admin, dry_run: bool) -> None:
    body = json.dumps({"put": [put("n1", "x = 1\n")], "dry_run": dry_run})
    reply = admin.ask("POST", "/apply", body, X_Change_Note="n" * 1_001)
    assert (reply.status, "X-Change-Note" in reply.text) == (400, True)


def test_a_comparison_that_takes_too_long_says_so(admin: Admin) -> None:
    applied = admin.guard.tried(ChangeSet((RawDocument(Key(Kind.DEFAULT, "", "ks"), "x"),)))
    late = partial(refuse_late, times=Times(monotonic()))
    with pytest.raises(StoreError, match=r"\d+ of \d+ answers were compared .* SERVICE_ADMIN_TIMEOUT_SECS"):
        compare(applied.before, applied.after, late)
