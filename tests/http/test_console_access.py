"""The page of access: names of tokens and secrets; a secret is written and never shown.

Rules: docs/secrets.md#from-the-console.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerd.server.roles import Role, new_token
from tests.support.console import Browser, started
from tests.support.replies import Reply
from tests.support.service import run
from tests.support.waiting import wait_until

VALUE = "correct horse\nbattery <staple>"


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Browser]:
    directory = tmp_path / "secrets"
    (directory / "98-FA-9B-50-D8-10").mkdir(parents=True)
    (directory / "root-hash").write_text("swordfish1")
    (directory / "root-hash").chmod(0o640)
    with started(tmp_path, "sqlite", SERVICE_SECRETS_DIR=directory) as browser:
        browser.log_in()
        yield browser


def write(browser: Browser, name: str, value: str = VALUE, machine: str = "") -> Reply:
    fields = {"csrf": browser.csrf, "do": "secret", "secret": name, "machine": machine, "value": value}
    return browser.post("/console/access", fields)


def listed(browser: Browser) -> list[str]:
    return re.findall(r"<li><code>([^<]+)</code>", browser.get("/console/access").text)


def test_a_secret_is_written_for_its_owner_alone_is_in_force_and_never_shown(keeper: Browser, tmp_path: Path) -> None:
    assert listed(keeper) == ["root-hash"]
    reply = write(keeper, "api-token", VALUE.replace("\n", "\r\n"))
    assert (reply.status, "The secret api-token is written" in reply.text) == (200, True)
    file = tmp_path / "secrets" / "api-token"
    assert (file.read_text(), file.stat().st_mode & 0o777) == (VALUE, 0o600)
    wait_until(lambda: listed(keeper) == ["api-token", "root-hash"])
    text = "# answer: template on\n{{ secret.api-token }}\n"
    keeper.change(do="save", kind="machine", name="m1", format="ks", text=text)
    wait_until(lambda: VALUE in keeper.service.get("/ks?id=m1").text)
    keeper.service.wait_for_log("console: admin, 127.0.0.1, wrote the secret api-token")
    settings = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}

    def written() -> list[str]:
        found = json.loads(run("audit", "--json", **settings).stdout)["audit"]  # type: ignore[arg-type]
        return [one["note"] for one in found if (one["what"], one["who"]["name"]) == ("access", "admin")]

    wait_until(lambda: written() == ["wrote the secret api-token"])
    shown = [reply.text, keeper.get("/console/access").text, *keeper.service.log]
    assert not [text for text in shown if "battery" in text or "swordfish1" in text]


def test_a_secret_of_a_machine_is_in_the_folder_that_is_there(keeper: Browser, tmp_path: Path) -> None:
    assert write(keeper, "root-hash", machine="98fa9b50d810").status == 200
    assert (tmp_path / "secrets" / "98-FA-9B-50-D8-10" / "root-hash").read_text() == VALUE
    assert write(keeper, "root-hash", machine="web-01").status == 200
    assert (tmp_path / "secrets" / "web-01").stat().st_mode & 0o777 == 0o700
    assert write(keeper, "root-hash").status == 200
    file = tmp_path / "secrets" / "root-hash"
    assert (file.read_text(), file.stat().st_mode & 0o777) == (VALUE, 0o640)


def test_what_is_no_secret_is_refused_and_nothing_is_written(keeper: Browser, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.rglob("*") if "db" not in path.name)
    names = [(name, "v", "") for name in ("../x", "a/b", ".x", "")]
    machines = [("x", "v", machine) for machine in ("../..", ".hidden", "a/b")]
    values = [("x", value, "") for value in (" \n", "a\0b", "v" * 65_537)]
    for name, value, machine in (*names, *machines, *values):
        reply = write(keeper, name, value, machine)
        assert (reply.status, "Not written: " in reply.text) == (400, True), (name, value[:9], machine)
        assert sorted(path.name for path in tmp_path.rglob("*") if "db" not in path.name) == before


def test_a_directory_that_cannot_be_written_is_said(keeper: Browser, tmp_path: Path) -> None:
    os.rename(tmp_path / "secrets", tmp_path / "away")
    page = keeper.get("/console/access")
    assert "No secret can be written here: the service may not write" in page.text
    assert write(keeper, "x").status == 400
    assert not (tmp_path / "secrets").exists()


def test_without_a_directory_no_secret_can_be_written(tmp_path: Path) -> None:
    with started(tmp_path, "sqlite") as browser:
        browser.log_in()
        page = browser.get("/console/access")
        assert "No secret can be written here: SERVICE_SECRETS_DIR is not set" in page.text
        assert 'name="value"' not in page.text


def test_only_the_role_admin_sees_and_writes(tmp_path: Path) -> None:
    token, entry = new_token("desk", Role.INVENTORY)
    (tmp_path / "tokens").write_text(f"{entry}\n")
    (tmp_path / "secrets").mkdir()
    settings = {"SERVICE_TOKENS_FILE": tmp_path / "tokens", "SERVICE_SECRETS_DIR": tmp_path / "secrets"}
    with started(tmp_path, "sqlite", **settings) as browser:
        browser.log_in(token)
        assert browser.get("/console/access").status == 403
        assert write(browser, "x").status == 403
        assert [*(tmp_path / "secrets").iterdir()] == []


@pytest.fixture
def warden(tmp_path: Path) -> Iterator[Browser]:
    _, entry = new_token("old", Role.READ)
    (tmp_path / "tokens").write_text(f"# people\n{entry}\n")
    (tmp_path / "tokens").chmod(0o600)
    with started(tmp_path, "sqlite", SERVICE_TOKENS_FILE=tmp_path / "tokens") as browser:
        browser.log_in()
        yield browser


def token_in(page: Reply) -> str:
    found = re.search(r'aria-label="Token">([^<]+)</pre>', page.text)
    assert found, page.text
    return found[1]


def access(browser: Browser, **fields: str) -> Reply:
    return browser.post("/console/access", {"csrf": browser.csrf, **fields})


def test_a_token_is_made_with_role_and_end_used_and_revoked(warden: Browser, tmp_path: Path) -> None:
    made = access(warden, do="token", name="dana", role="read", until="2999-12-31")
    token = token_in(made)
    lines = (tmp_path / "tokens").read_text().splitlines()
    assert [line.split()[:2] for line in lines] == [["#", "people"], ["old", "read"], ["dana", "read"]]
    assert lines[-1].endswith(" until=2999-12-31")
    assert (tmp_path / "tokens").stat().st_mode & 0o777 == 0o600
    assert token not in "".join([*lines, *warden.service.log])
    dana = Browser(warden.service, warden.console)
    assert dana.log_in(token).status == 303
    assert dana.get("/console/").status == 200
    assert "dana" in warden.get("/console/access").text
    assert token not in warden.get("/console/access").text
    asked = access(warden, do="ask-revoke", name="dana")
    assert "Revoke the token dana?" in asked.text
    assert dana.get("/console/").status == 200, "it is asked first"
    assert "is revoked" in access(warden, do="revoke", name="dana").text
    assert dana.get("/console/").status == 303, "its sessions have ended"
    assert [line.split()[:2] for line in (tmp_path / "tokens").read_text().splitlines()] == [
        lines[0].split(),
        ["old", "read"],
    ]
    warden.service.wait_for_log("console: admin, 127.0.0.1, made the token dana with the role read")
    warden.service.wait_for_log("console: admin, 127.0.0.1, revoked the token dana")

    def audited() -> list[str]:
        found = warden.get("/audit").json["audit"]
        return [one["note"] for one in found if (one["what"], one["who"]["name"]) == ("access", "admin")]

    wait_until(lambda: audited() == ["revoked the token dana", "made the token dana with the role read"])


def test_a_token_is_shown_to_the_session_that_made_it_alone(warden: Browser) -> None:
    fields = {"csrf": warden.csrf, "do": "token", "name": "dana", "role": "admin", "once": "x"}
    where = warden.origin
    head = {"Origin": where, "Content-Type": "application/x-www-form-urlencoded"}
    first = warden.send("POST", "/console/access", "&".join(f"{k}={v}" for k, v in fields.items()).encode(), head)
    again = warden.send("POST", "/console/access", "&".join(f"{k}={v}" for k, v in fields.items()).encode(), head)
    assert token_in(first) == token_in(again), "two presses make one token"
    dana = Browser(warden.service, warden.console)
    dana.log_in(token_in(first))
    assert 'aria-label="Token"' not in dana.get("/console/access").text


def test_what_is_no_token_is_refused_and_the_form_keeps_it(warden: Browser, tmp_path: Path) -> None:
    before = (tmp_path / "tokens").read_text()
    for fields in (
        {"name": "a b", "role": "read"},
        {"name": "x", "role": "king"},
        {"name": "x", "role": "read", "until": "soon"},
    ):
        refused = access(warden, do="token", **fields)
        assert (refused.status, f'value="{fields["name"]}"' in refused.text) == (400, True), fields
    assert access(warden, do="revoke", name="nobody").status == 400
    assert (tmp_path / "tokens").read_text() == before


def test_where_the_file_cannot_be_written_the_line_and_the_place_are_said(tmp_path: Path) -> None:
    with started(tmp_path, "sqlite") as browser:
        browser.log_in()
        assert "Tokens cannot be changed here: SERVICE_TOKENS_FILE is not set" in browser.get("/console/access").text
        made = access(browser, do="token", name="dana", role="plan")
        line = re.search(r'aria-label="Line of the token">([^<]+)</pre>', made.text)
        assert line
        assert re.fullmatch(r"dana plan [0-9a-f]{64}", line[1])
        assert "a file that SERVICE_TOKENS_FILE names" in made.text
