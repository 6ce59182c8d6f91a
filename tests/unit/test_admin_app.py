"""The admin API without a socket: every row of docs/admin-api.md, on a clock that the tests set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerd.check import CheckReport
from answerd.documents import Key
from answerd.identity import Kind
from answerd.server.admin import observe
from answerd.store import NoSetYet, StoreError, StoreFull
from tests.support.admin import TOKEN, Admin
from tests.support.writes import put

pytestmark = pytest.mark.long

LIMIT = 262_144


@pytest.fixture
def admin(in_memory: Path) -> Admin:
    return Admin(in_memory / "answers.db")


# --- documents ---


@pytest.mark.parametrize("path", ["/machines/98:fa", "/groups/rack-a", "/default"])
@pytest.mark.parametrize(
    ("extension", "content_type", "text"),
    [
        ("toml", "text/plain; charset=utf-8", "# comment\r\nx   = 1\r\n"),
        ("KS", "text/plain; charset=utf-8", "\ufefflang fr"),
        ("Yaml", "text/yaml; charset=utf-8", "#cloud-config\na:   1\n"),
        ("json", "application/json", '{"a":   1}'),
        ("xml", "application/xml; charset=utf-8", "<a>  </a>\n"),
    ],
)
def test_a_document_is_stored_and_returned_as_written(
    admin: Admin, path: str, extension: str, content_type: str, text: str
) -> None:
    stored = admin.put(f"{path}?format={extension}", text)
    read = admin.get(f"{path}?format={extension}")
    head = admin.ask("HEAD", f"{path}?format={extension}")
    deleted = admin.delete(f"{path}?format={extension}")

    assert (stored.status, stored.json) == (200, {"status": "stored", "problems": []})
    assert (read.status, read.headers["content-type"], read.body) == (200, content_type, text.encode())
    assert read.headers["etag"] == stored.headers["etag"] == head.headers["etag"]
    assert (head.status, head.headers["content-length"]) == (200, str(len(text.encode())))
    assert (deleted.status, deleted.json["status"], deleted.json["problems"]) == (200, "deleted", [])
    assert admin.get(f"{path}?format={extension}").status == 404


@pytest.mark.parametrize("before", [None, "lang fr\n"], ids=["new", "changed"])
def test_a_document_with_nul_is_the_clients_fault(admin: Admin, before: str | None) -> None:
    if before is not None:
        admin.put("/machines/m1?format=ks", before)
    text = "lang\0fr\n"
    put = admin.put("/machines/m1?format=ks", text)
    change = {"kind": "machine", "identifier": "m1", "format": "ks", "text": text}
    applied = admin.ask("POST", "/apply", json.dumps({"put": [change]}).encode())

    assert (put.status, applied.status) == (400, 400)
    assert "NUL" in put.error
    assert "NUL" in applied.error
    found = admin.get("/machines/m1?format=ks")
    assert (found.status, found.body) == ((404, found.body) if before is None else (200, before.encode()))


def test_a_format_that_is_not_there_names_those_that_are(admin: Admin) -> None:
    for extension in ("ks", "ipxe"):
        admin.put(f"/machines/a?format={extension}", "x\n")
    admin.put("/groups/b?format=ks", "x\n")

    assert admin.get("/machines/A").error == 'there is no machine "A" (toml); it exists as ks, ipxe: ask with ?format='
    assert admin.get("/machines/b").error == 'there is no machine "b" (toml)'


@pytest.mark.parametrize(
    "query", ["format=txt", "format=", "format", "format=toml&format=ks", "format=%ff", "a=1&format=x"]
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_unknown_format_is_400(admin: Admin, method: str, query: str) -> None:
    reply = admin.ask(method, f"/machines/a?{query}")

    assert reply.status == 400
    assert "format" in reply.error


def test_lists_are_sorted_and_name_an_identifier_once_per_format(admin: Admin) -> None:
    assert admin.get("/machines").json == {"machine": []}
    for path in (
        "/machines/b",
        "/machines/B?format=ks",
        "/machines/a",
        "/machines/b?format=yaml",
        "/groups/z",
        "/groups/y",
    ):
        assert admin.put(path, "").status == 200

    assert admin.get("/machines").json == {"machine": ["B", "a", "b", "b"]}
    assert admin.get("/groups").json == {"group": ["y", "z"]}


def test_a_document_is_found_by_any_spelling_and_keeps_the_stored_one(admin: Admin) -> None:
    admin.put("/machines/98:fa:9b:50:d8:10", "x = 1\n")

    assert admin.put("/machines/98-FA-9B-50-D8-10", "x = 2\n").status == 200
    assert admin.get("/machines/98fa9b50d810").body == b"x = 2\n"
    assert admin.get("/machines/98%3Afa:9b:50:d8:10?format=toml").body == b"x = 2\n"
    assert admin.get("/machines/98fa9b50d810?format=ks").status == 404
    assert admin.get("/machines").json == {"machine": ["98:fa:9b:50:d8:10"]}
    assert admin.delete("/machines/98fa9b50d810").status == 200
    assert admin.get("/machines").json == {"machine": []}


@pytest.mark.parametrize(
    "name",
    ["a%20b", "..%2f..%2fetc", "%2e%2e", ".a", "a%2Fb", "a%00", "a%ff", "a\xff", "a\xc3\xa9", "-._:", "a" * 201, "a%"],
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("collection", ["machines", "groups"])
def test_an_invalid_identifier_is_400(admin: Admin, collection: str, method: str, name: str) -> None:
    assert admin.ask(method, f"/{collection}/{name}").status == 400


@pytest.mark.parametrize("name", ["groups", "Groups", "default", "DEFAULT", "d%65fault", "inventory", "InvenTory"])
def test_a_reserved_machine_is_400_and_says_so(admin: Admin, name: str) -> None:
    reply = admin.put(f"/machines/{name}", "x = 1\n")

    assert reply.status == 400
    assert "reserved" in reply.error
    assert admin.put(f"/groups/{name}", "x = 1\n").status == 200


@pytest.mark.parametrize(
    ("target", "body", "words"),
    [
        pytest.param("/machines/a", "x = = 1\n", ["line 1, column 5", 'machine "a" (toml)'], id="malformed TOML"),
        pytest.param("/machines/a?format=json", '{"a": 1, "a": 2}', ["line 1"], id="malformed JSON"),
        pytest.param("/machines/a?format=yaml", "a: [\n", ["line"], id="malformed YAML"),
        pytest.param("/machines/a?format=xml", "<a>", ["line 1"], id="malformed XML"),
        pytest.param("/machines/a", b"x = '\xff'", ["not UTF-8", "0xff", "offset 5"], id="not UTF-8"),
        pytest.param("/machines/a", 'members = ["a"]\n', ["members"], id="a control key that means nothing here"),
        pytest.param("/default", "match.mac = 'a'\n", ["match"], id="match in a default"),
        pytest.param("/groups/g", "match = {}\n", ["match"], id="an empty match"),
        pytest.param("/machines/a", 'x = "{{ a b }}"\n', ["{{"], id="a bad placeholder"),
    ],
)
def test_what_a_document_shows_to_be_wrong_is_400_with_the_place(
    admin: Admin, target: str, body: str | bytes, words: list[str]
) -> None:
    reply = admin.put(target, body)

    assert reply.status == 400
    assert reply.json.keys() == {"error"}
    assert "\n" not in reply.error
    for word in words:
        assert word in reply.error
    assert admin.get("/machines").json == {"machine": []}


def test_a_document_may_have_256_kilobytes_and_no_more(admin: Admin) -> None:
    assert admin.put("/machines/a?format=ks", "x" * LIMIT).status == 200
    assert admin.put("/machines/a?format=ks", "x" * (LIMIT + 1)).status == 413
    assert admin.put("/machines/a?format=ks", "", too_large=True).status == 413
    assert len(admin.get("/machines/a?format=ks").body) == LIMIT


@pytest.mark.parametrize(
    ("method", "target", "token", "status"),
    [
        pytest.param("PUT", "/machines/a", None, 401, id="the token first"),
        pytest.param("PUT", "/nowhere", TOKEN, 404, id="then the path"),
        pytest.param("POST", "/machines/a", TOKEN, 405, id="then the method"),
        pytest.param("PUT", "/machines/a?format=txt", TOKEN, 413, id="then the size"),
    ],
)
def test_the_size_is_judged_after_token_path_and_method(
    admin: Admin, method: str, target: str, token: str | None, status: int
) -> None:
    assert admin.ask(method, target, token=token, too_large=True).status == status


# --- conditions ---


def test_a_write_on_condition_of_the_document_that_was_read(admin: Admin) -> None:
    first = admin.put("/default", "x = 1\n", If_None_Match="*").headers["etag"]
    assert admin.put("/default", "x = 2\n", If_None_Match="*").status == 412
    assert admin.put("/default", "x = 2\n", If_Match='"stale"').status == 412
    second = admin.put("/default", "x = 2\n", If_Match=first).headers["etag"]
    assert second != first
    assert admin.delete("/default", If_Match=first).status == 412
    assert admin.put("/default", "x = 3\n", If_Match=f'"a", {second}').status == 200
    assert admin.delete("/default", If_Match="*").status == 200
    assert admin.put("/default", "x = 1\n", If_Match="*").status == 412
    assert admin.delete("/default", If_Match="*").status == 404


def test_a_write_of_what_is_there_changes_nothing(admin: Admin) -> None:
    tag = admin.put("/machines/N-1", "x = 1\n").headers["etag"]
    again = admin.put("/machines/n1", "x = 1\n")
    assert (again.status, again.json["status"], again.headers["etag"]) == (200, "unchanged", tag)
    assert admin.put("/machines/n1", "x = 1\n", If_Match='"stale"').status == 412
    assert admin.put("/machines/n1", "x = 1\n", If_None_Match="*").status == 412
    changes = admin.get("/history").json["history"]
    assert [(one["identifier"], one["before"]) for one in changes] == [("N-1", None)]
    admin.put("/machines/n1", "x = 2\n")
    revision = admin.get("/history").json["history"][0]["revision"]
    restored = admin.ask("POST", f"/history/{revision}/restore")
    assert (restored.status, restored.json["status"]) == (200, "unchanged")
    assert len(admin.get("/history").json["history"]) == 2


def test_a_reader_that_has_the_document_is_told_so(admin: Admin) -> None:
    tag = admin.put("/default", "x = 1\n").headers["etag"]

    unchanged = admin.get("/default", If_None_Match=f'"x", W/{tag}')

    assert (unchanged.status, unchanged.body, unchanged.headers["etag"]) == (304, b"", tag)
    assert admin.get("/default", If_None_Match='"x"').status == 200
    assert admin.get("/default", If_Match='"x"').status == 412


# --- the guard ---


def test_a_write_that_would_break_the_set_is_409_with_exactly_what_it_would_break(admin: Admin) -> None:
    put(admin.store, Key(Kind.MACHINE, "old", "toml"), "= =")
    admin.put("/groups/base", "x = 1\n")
    stored = admin.put("/machines/node1", 'extends = "base"\n')
    refused = admin.delete("/groups/base")

    assert [problem.partition(":")[0] for problem in stored.problems] == ['machine "old" (toml)']
    assert refused.status == 409
    assert refused.problems == ['machine "node1" (toml): extends unknown group "base"']
    assert "node1" in refused.error
    assert "\n" not in refused.error
    assert admin.get("/groups/base").status == 200


@pytest.mark.parametrize(
    ("method", "target", "refused"),
    [
        ("PUT", "/default", "begin"),
        ("DELETE", "/default", "begin"),
        ("GET", "/default", "find"),
        ("GET", "/machines", "version"),
    ],
)
def test_a_store_that_fails_is_500_with_the_reason(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, method: str, target: str, refused: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(admin.store, refused, fail)
    reply = admin.ask(method, target)

    assert (reply.status, reply.error) == (500, "the disk is gone")


@pytest.mark.parametrize(("error", "status"), [(NoSetYet, 503), (StoreFull, 503)])
def test_a_kind_of_failure_has_the_status_of_the_nearest_kind_in_the_table(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, error: type[StoreError], status: int
) -> None:
    def fail(*_: object) -> None:
        raise error("why")

    monkeypatch.setattr(admin.store, "entries", fail)
    assert admin.get("/machines").status == status


def test_what_fails_unexpectedly_is_500_without_a_secret_and_logged(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("internals")

    monkeypatch.setattr(admin.store, "entries", fail)

    reply = admin.get("/machines")

    assert (reply.status, reply.json.keys()) == (500, {"error"})
    assert "internals" not in reply.error
    assert any("internals" in line for line in admin.log)


# --- resolve and check ---


@pytest.fixture
def fleet(admin: Admin) -> Admin:
    for target, body in {
        "/groups/rack-a": "a = 1\nb = 1\n",
        "/machines/98:fa:9b:50:d8:10": 'extends = "rack-a"\nb = 2\n',
        "/machines/98:fa:9b:50:d8:10?format=ks": "lang fr\n",
        "/machines/needs-mac?format=ks": "mac {{ mac }}\n",
        "/groups/dell": 'match.manufacturer = "Dell*"\nc = 3\n',
    }.items():
        assert admin.put(target, body).status == 200
    return admin


@pytest.mark.parametrize(
    ("target", "body", "source"),
    [
        ("/resolve/98-FA-9B-50-D8-10", b"a = 1\nb = 2\n", "format=toml machine=98:fa:9b:50:d8:10 group=rack-a"),
        ("/resolve/ignored?path=/rhel/ks&mac=98fa9b50d810", b"lang fr\n", "format=text machine=98:fa:9b:50:d8:10"),
        ("/resolve?path=%2Frhel%2F98fa9b50d810", b"lang fr\n", "format=text machine=98:fa:9b:50:d8:10"),
        ("/resolve?manufacturer=Dell+Inc.", b"c = 3\n", "format=toml group=dell"),
        ("/resolve?PATH=/x/ks&x=needs-mac&mac=1", b"mac 1\n", "format=text machine=needs-mac"),
    ],
)
def test_resolve_gives_the_answer_and_how_it_came_about(fleet: Admin, target: str, body: bytes, source: str) -> None:
    reply = fleet.get(target)

    assert (reply.status, reply.body, reply.headers["x-answer-source"]) == (200, body, source)
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.outcome == source, "the same text as the log line"


def test_a_query_string_overrides_the_identifier_and_the_404_says_so(fleet: Admin) -> None:
    reply = fleet.get("/resolve/98fa9b50d810?format=toml")

    assert reply.status == 404
    assert 'overrides the identifier "98fa9b50d810"' in reply.error
    assert "overrides" not in fleet.get("/resolve/unknown").error


@pytest.mark.parametrize(
    ("target", "status", "word"),
    [("/resolve", 404, ""), ("/resolve/needs-mac", 409, "mac"), ("/resolve/a%20b", 400, "")],
)
def test_a_resolve_without_an_answer_says_why(fleet: Admin, target: str, status: int, word: str) -> None:
    reply = fleet.get(target)

    assert (reply.status, word in reply.error) == (status, True)
    fleet.put("/default", "x = 1\n")
    assert fleet.get("/resolve").headers["x-answer-source"] == "format=toml default"


def test_check_tells_what_the_command_tells_and_looks_once_for_each_state(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []

    def check(catalogue: Any, *_: Any, **__: Any) -> CheckReport:
        looked.append(catalogue)
        return CheckReport(("a", "b"), ("a note",), told=("web-1",))

    monkeypatch.setattr(observe, "check", check)
    for _ in range(2):
        assert admin.get("/check").json == {"problems": ["a", "b"], "last_words": ["web-1"]}
    admin.put("/default", "x = 1\n")
    admin.get("/check")

    assert len(looked) == 2
    assert looked[0] is not looked[1]


# --- who may ask ---


def test_health_needs_no_token(admin: Admin) -> None:
    reply = admin.get("/health", token=None)

    assert (reply.status, reply.body, reply.headers["content-type"]) == (200, b"OK\n", "text/plain; charset=utf-8")
    assert admin.ask("HEAD", "/health", token=None).status == 200


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/machines"),
        ("GET", "/nowhere"),
        ("POST", "/machines"),
        ("PUT", "/health"),
        ("GET", "/health/"),
        ("GET", "/%68ealth"),
        ("GET", "/openapi.json"),
        ("GET", "/check"),
        ("OPTIONS", "*"),
    ],
)
def test_the_token_is_judged_before_path_and_method(admin: Admin, method: str, target: str) -> None:
    reply = admin.ask(method, target, token="wrong-token-wrong-token")

    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert reply.json.keys() == {"error"}


def test_each_failure_is_logged_and_the_fifth_blocks_the_address_for_everything_but_health(admin: Admin) -> None:
    for _ in range(5):
        assert admin.get("/machines", token="wrong-token-in-plain-sight").status == 401

    assert admin.log.count("admin: 192.0.2.1 failed authentication") == 5
    assert admin.log[-1] == "admin: 192.0.2.1 failed authentication 5 times, blocked for 60s"
    assert "plain-sight" not in "".join(admin.log)
    blocked = admin.get("/machines")
    assert (blocked.status, blocked.headers["retry-after"]) == (429, "60")
    assert blocked.json.keys() == {"error"}
    assert admin.get("/nowhere", token=None).status == 429
    assert admin.get("/health", token=None).status == 200
    assert admin.get("/machines", peer="192.0.2.2").status == 200
    admin.clock.now += 30.5
    assert admin.get("/machines").headers["retry-after"] == "30"
    admin.clock.now += 29.5
    assert admin.get("/machines").status == 200


@pytest.mark.parametrize("header", [{}, {"authorization": "Basic eDp5"}, {"authorization": "Bearer "}])
def test_a_request_without_a_token_is_401_and_no_failure(admin: Admin, header: dict[str, str]) -> None:
    for _ in range(20):
        reply = admin.get("/machines", token=None, **header)
        assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")

    assert admin.get("/machines").status == 200
    assert (len(admin.block), admin.log) == (0, [])


# --- what is not there ---


@pytest.mark.parametrize(
    "target",
    ["/", "/nowhere", "/machines/", "/machines/a/b", "/machines//a", "/default/x", "/check/", "/resolve/a/b", "//"],
)
def test_an_unknown_path_is_404(admin: Admin, target: str) -> None:
    reply = admin.get(target)

    assert (reply.status, reply.headers["content-type"]) == (404, "application/json")
    assert reply.json.keys() == {"error"}


@pytest.mark.parametrize(
    ("method", "target", "allowed"),
    [
        ("POST", "/machines/a", "DELETE, GET, HEAD, PUT"),
        ("DELETE", "/machines", "GET, HEAD"),
        ("PATCH", "/default", "DELETE, GET, HEAD, PUT"),
        ("PUT", "/health", "GET, HEAD"),
        ("PUT", "/openapi.json", "GET, HEAD"),
        ("POST", "/resolve/a", "GET, HEAD"),
    ],
)
def test_a_known_path_without_the_method_is_405(admin: Admin, method: str, target: str, allowed: str) -> None:
    reply = admin.ask(method, target)

    assert (reply.status, reply.headers["allow"]) == (405, allowed)
    assert reply.headers["content-type"] == "application/json"
    assert reply.json.keys() == {"error"}


def test_an_error_is_one_line_whatever_the_path_holds(admin: Admin) -> None:
    assert admin.get("/a%0ab").error == "there is nothing at /a%0ab"
    assert "\n" not in admin.put("/machines/a%0ab", "").error
