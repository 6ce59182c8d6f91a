"""Who did what: every way by which an operator acts leaves an entry. Rules: docs/admin-api.md#audit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from answerd.installs.states import Rules
from answerd.server.roles import Role, new_token
from answerd.store.states import open_state_file
from tests.support.console import TOKEN, Browser, started
from tests.support.service import run, write_tree
from tests.support.waiting import wait_until

TABLE = b"id,mac\nweb-1,52:54:00:00:00:01\nweb-2,52:54:00:00:00:02\n"


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    made = {name: new_token(name, role) for name, role in (("maria", Role.ADMIN), ("ci", Role.OPERATE))}
    (tmp_path / "tokens").write_text("".join(f"{line}\n" for _, line in made.values()))
    return {name: token for name, (token, _) in made.items()}


@pytest.fixture
def browser(tmp_path: Path, tokens: dict[str, str]) -> Iterator[Browser]:
    settings = {"SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": TOKEN}
    with started(tmp_path, "sqlite", SERVICE_TOKENS_FILE=tmp_path / "tokens", **settings) as found:
        yield found


def ask(browser: Browser, method: str, target: str, token: str = TOKEN, body: bytes = b"") -> Any:
    reply = browser.service.ask_admin(method, target, body, Authorization=f"Bearer {token}")
    assert reply.status == 200, reply.body
    return reply.json


def audit(browser: Browser, query: str = "") -> list[tuple[str, str | None, str | None, list[str], int]]:
    return [
        (one["what"], one["who"]["name"], one["who"]["by"], one["machines"] or one["documents"], one["count"])
        for one in ask(browser, "GET", f"/audit{query}")["audit"]
    ]


def test_changes_orders_and_log_ins_are_in_one_list(browser: Browser, tokens: dict[str, str], tmp_path: Path) -> None:
    ask(browser, "PUT", "/inventory/default", tokens["maria"], TABLE)
    ask(browser, "POST", "/installs?machine=web-[1-2]&order=arm", tokens["ci"])
    put = [{"kind": "group", "identifier": name, "text": "x = 1\n"} for name in ("a", "b")]
    ask(browser, "POST", "/apply", tokens["maria"], json.dumps({"put": put}).encode())
    browser.log_in(tokens["maria"])
    wait_until(lambda: audit(browser)[0][0] == "log in")
    browser.post("/console/logout", {"csrf": browser.csrf})
    wait_until(lambda: audit(browser)[0][0] == "log out")
    database: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
    assert run("forget", "web-2", **database).returncode == 0

    user = audit(browser)[0][1]
    everything = [
        ("forget", user, "command line", ["web-2"], 1),
        ("log out", "maria", "console", [], 0),
        ("log in", "maria", "console", [], 0),
        ("change", "maria", None, ["groups/b.toml", "groups/a.toml"], 2),
        ("arm", "ci", "admin API", ["web-1", "web-2"], 2),
        ("change", "maria", None, ["inventory.csv"], 1),
    ]
    assert audit(browser) == everything
    printed = run("audit", "--json", **database)
    assert [one["what"] for one in json.loads(printed.stdout)["audit"]] == [one[0] for one in everything]
    assert len(run("audit", **database).stdout.splitlines()) == len(everything)

    assert [one[0] for one in audit(browser, "?machine=52:54:00:00:00:01")] == ["arm", "change"]
    assert [one[0] for one in audit(browser, "?machine=web-2")] == ["forget", "arm", "change"]
    assert {one[1] for one in audit(browser, "?who=Maria")} == {"maria"}
    assert len(audit(browser, "?who=maria")) == 4
    assert {one[0] for one in audit(browser, "?who=127.0.0.1")} == {"log out", "log in", "change", "arm"}
    assert audit(browser, "?limit=2") == everything[:2]
    whens = [one["when"] for one in ask(browser, "GET", "/audit")["audit"]]
    assert audit(browser, f"?since={whens[3]}") == everything[:4]
    assert audit(browser, f"?until={whens[3]}") == everything[4:]
    assert audit(browser, "?since=2999-01") == audit(browser, "?until=2001-01") == []


def test_the_audit_is_for_the_role_admin_and_refuses_what_it_does_not_know(
    browser: Browser, tokens: dict[str, str]
) -> None:
    def status(query: str, token: str = TOKEN) -> int:
        return browser.service.ask_admin("GET", f"/audit{query}", Authorization=f"Bearer {token}").status

    assert status("", tokens["ci"]) == 403
    assert [status(query) for query in ("?since=x", "?limit=0", "?person=maria", "?who=a&who=b")] == [400] * 4


def test_a_restore_of_a_backup_and_what_the_backup_knew_are_in_the_audit(tmp_path: Path) -> None:
    database: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "web-1.toml").write_text("x = 1\n")
    assert run("import", str(tmp_path / "answers"), **database).returncode == 0
    assert run("arm", "web-1", **database).returncode == 0
    assert run("backup", str(tmp_path / "backup.db"), **database).returncode == 0
    other: dict[str, Any] = {**database, "SERVICE_DB_PATH": tmp_path / "other.db"}
    assert run("restore", str(tmp_path / "backup.db"), **other).returncode == 0
    found = json.loads(run("audit", "--json", **other).stdout)["audit"]
    assert [(one["what"], one["count"], one["note"]) for one in found] == [
        ("restore", 1, f"of {tmp_path / 'backup.db'}"),
        ("arm", 1, None),
        ("change", 1, f"import of {tmp_path / 'answers'}"),
    ]


def test_without_a_place_for_it_the_audit_says_so(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    done = run("audit", SERVICE_ANSWERS_DIR=tmp_path / "answers")
    assert (done.returncode, b"SERVICE_STATE_PATH" in done.stderr) == (1, True)
    assert run("audit", "--since", "yesterday", SERVICE_ANSWERS_DIR=tmp_path / "answers").returncode == 2


def test_the_audit_of_files_names_the_documents_that_it_reads(tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", {"x.ks": "lang en\n", "inventory.csv": "id,mac\nweb-01,98:fa:9b:50:d8:10\n"})
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "states.db",
    }
    open_state_file(str(settings["SERVICE_STATE_PATH"]), Rules())  # as the service has made it
    assert run("arm", "web-01", **settings).returncode == 0
    done = run("audit", **settings)
    assert done.stderr.splitlines()[0].endswith(b", 2 documents")
    assert b"arm" in done.stdout
