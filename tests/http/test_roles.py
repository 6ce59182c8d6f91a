"""What each role may do and see, by the real program with a file of tokens and no other token."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Callable
from getpass import getuser
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from answerd.server.roles import NEEDED, Role, new_token
from tests.support.replies import Reply, exchange, request_bytes
from tests.support.service import Service, run
from tests.support.waiting import PATIENCE, wait_until

TOKENS = {role: new_token(f"{role}-token", role) for role in Role}
TYPED, FILED, CELL, RENAMED = "swordfish-typed", "swordfish-filed", "swordfish-cell", "swordfish-renamed"
GROUP = f"""#cloud-config
match: {{os: "u*"}}
users:
- {{name: root, passwd: {TYPED}, hint: it is {TYPED}}}
chpasswd: "{{{{ secret.root }}}}"
"""
TABLE = f"id,mac,os,root_password,Codewort\nweb-01,98:fa:9b:50:d8:10,ubuntu,{CELL},{RENAMED}\n"
SECRETS = (TYPED, FILED, CELL, RENAMED)


class Lab:
    """The running service, asked with the token of a role."""

    def __init__(self, service: Service, tokens: Path, settings: dict[str, Any]) -> None:
        self.service, self.tokens, self.settings = service, tokens, settings
        assert service.admin is not None
        self.admin = service.admin
        host, _, port = service.wait_for_log("console listening on ").rpartition(" ")[2].rpartition(":")
        self.console = host, int(port)
        self.host = f"{host}:{port}"

    def ask(self, role: Role | None, method: str, target: str, body: str = "", **headers: str) -> Reply:
        if role is not None:
            headers["Authorization"] = f"Bearer {TOKENS[role][0]}"
        return exchange(self.admin, request_bytes(method, target, headers, body.encode()))

    def form(self, path: str, fields: dict[str, str], cookie: str = "") -> Reply:
        headers = {
            "Origin": f"http://{self.host}",
            "Cookie": cookie,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.browse("POST", path, headers, urlencode(fields))

    def browse(self, method: str, path: str, headers: dict[str, str], body: str = "") -> Reply:
        sent = request_bytes(method, path, headers, body.encode())
        return exchange(self.console, sent.replace(b"answers.example", self.host.encode()))

    def cookie(self, role: Role) -> str:
        reply = self.form("/console/login", {"token": TOKENS[role][0]})
        return reply.headers["set-cookie"].partition(";")[0]

    def page(self, cookie: str, path: str) -> Reply:
        return self.browse("GET", path, {"Cookie": cookie})


@pytest.fixture
def lab(serving: Callable[..., Service], tmp_path: Path) -> Lab:
    (tmp_path / "secrets").mkdir(mode=0o700)
    (tmp_path / "secrets" / "root").write_text(FILED)
    (tmp_path / "secrets" / "root").chmod(0o600)
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{line}\n" for _, line in TOKENS.values()))
    tokens.chmod(0o600)
    settings: dict[str, Any] = {
        "SERVICE_STORE": "sqlite",
        "SERVICE_DB_PATH": tmp_path / "answers.db",
        "SERVICE_SECRETS_DIR": tmp_path / "secrets",
        "SERVICE_ADMIN_ADDR": "127.0.0.1:0",
        "SERVICE_CONSOLE_ADDR": "127.0.0.1:0",
        "SERVICE_TOKENS_FILE": tokens,
    }
    running = Lab(serving(**settings), tokens, settings)
    wait_until(lambda: running.ask(None, "GET", "/ready").status == 200)
    return running


@pytest.fixture
def filled(lab: Lab) -> Lab:
    assert lab.ask(Role.ADMIN, "PUT", "/groups/g?format=yaml", GROUP).status == 200
    columns = 'columns = { codewort = "admin_password" }'
    assert lab.ask(Role.ADMIN, "PUT", "/inventory/default?format=columns", columns).status == 200
    assert lab.ask(Role.ADMIN, "PUT", "/inventory/default", TABLE).status == 200
    return lab


def request_of(needed: str) -> tuple[str, str, str]:
    """Return method, target and body of a request that changes nothing, whoever sends it."""
    request, _, without = needed.partition(" without ")
    method, path = request.split(" ")
    path = re.sub(r"\{machines\|groups\}", "machines", path)
    path = path.replace("{name}", "m1").replace("{row}", "web-01").replace("{install}", "m1").replace("{revision}", "9")
    body = json.dumps({"put": [], "dry_run": not without}) if path == "/apply" else ""
    return "HEAD" if path == "/events" else method, path, body  # the stream would go on


def test_each_request_needs_the_role_of_the_table(lab: Lab) -> None:
    for needed, role_needed in NEEDED.items():
        if "/console/" in needed:
            continue
        method, target, body = request_of(needed)
        for role in Role:
            reply = lab.ask(
                role, method, target, body, **{"If-Match": '"never"'} if method not in ("GET", "HEAD") else {}
            )
            is_allowed = role_needed is None or role.may(role_needed)
            assert (reply.status == 403) is not is_allowed, (needed, role, reply.status, reply.text)
            assert reply.status < 500, (needed, role, reply.text)
        if role_needed is not None:
            assert lab.ask(None, method, target, body).status == 401, needed


def test_each_page_needs_the_role_of_the_table(lab: Lab) -> None:
    pages = [needed.removeprefix("GET ") for needed in NEEDED if needed.startswith("GET /console/")]
    for role in Role:
        cookie = lab.cookie(role)
        for page in pages:
            needed = NEEDED[f"GET {page}"]
            assert needed is not None
            assert (lab.page(cookie, page).status == 403) is not role.may(needed), (page, role)


def seen(reply: Reply) -> set[str]:
    return {secret for secret in SECRETS if secret in unescape(reply.text)}


@pytest.mark.parametrize("role", Role)
def test_only_the_role_admin_reads_secrets(filled: Lab, role: Role) -> None:
    expected = {
        "/groups/g?format=yaml": {TYPED},
        "/inventory/default": {CELL, RENAMED},
        "/inventory/default/web-01": {CELL, RENAMED},
        "/resolve/web-01": {TYPED, FILED},
        "/resolve?path=/ubuntu/user-data&mac=98fa9b50d810": {TYPED, FILED},
    }
    for target, secrets in expected.items():
        reply = filled.ask(role, "GET", target)
        assert reply.status == 200, reply.text
        assert seen(reply) == (secrets if role is Role.ADMIN else set()), target
        assert reply.headers.get("x-masked") == (None if role is Role.ADMIN else "1"), target
    for target in ("/history", "/resolve/web-01?explain=1", "/check"):
        assert seen(filled.ask(role, "GET", target)) == set(), target
    cookie = filled.cookie(role)
    for page in ("machine?id=web-01&secrets=1", "try?path=/ubuntu/user-data&query=mac%3D98fa9b50d810&secrets=1"):
        reply = filled.page(cookie, f"/console/{page}")
        assert bool(seen(reply)) is (role is Role.ADMIN), page
        shown = re.sub(r'<p class="printed">.*?</p>', "", reply.text.partition("</header>")[2])  # it has the address
        assert ("secrets" in shown.lower()) is (role is Role.ADMIN)
    assert seen(filled.page(cookie, "/console/machine?id=web-01")) == set()
    document = urlencode({"kind": "group", "name": "g", "format": "yaml"})
    for target in (f"/console/document?{document}", "/console/inventory?name=default&secrets=1"):
        assert bool(seen(filled.page(cookie, target))) is (role is Role.ADMIN), target
    assert seen(filled.page(cookie, "/console/inventory?name=default")) == set()


def test_an_order_is_kept_with_the_name_of_who_gave_it(filled: Lab) -> None:
    assert filled.ask(Role.OPERATE, "POST", "/installs/web-01/arm").status == 200
    assert run("disarm", "web-01", **filled.settings).returncode == 0
    events = json.loads(filled.ask(Role.READ, "GET", "/installs/web-01").body)["events"]
    assert [event["from"] for event in events] == ["admin API, operate-token, 127.0.0.1", f"command line, {getuser()}"]


def test_only_the_role_admin_reads_secrets_that_a_machine_reports(filled: Lab) -> None:
    group = GROUP.replace("chpasswd", "remark") + 'once: true\nruncmd: ["curl {{ report }}/failed"]\n'
    assert filled.ask(Role.ADMIN, "PUT", "/groups/g?format=yaml", group).status == 200
    answer = filled.service.send(request_bytes("GET", "/user-data?os=ubuntu&mac=98fa9b50d810", {}))
    found = re.search(r"/report/[^/\s]+", answer.text)
    assert found, answer.text
    log = f"line one\nroot is {FILED} and {TYPED}\nuser --password=swordfish-logged\n"
    report = request_bytes("POST", f"{found[0]}/failed?message=no+{FILED}", {}, log.encode())
    assert filled.service.send(report).status == 200

    def said(text: str) -> set[str]:
        return {secret for secret in (FILED, TYPED, "swordfish-logged") if secret in unescape(text)}

    for role in Role:
        reply = filled.ask(role, "GET", "/installs/web-01")
        (body,) = (event["body"] for event in json.loads(reply.body)["events"] if event["body"])
        assert said(reply.text) == (said(log) if role is Role.ADMIN else set())
        assert reply.headers.get("x-masked") == (None if role is Role.ADMIN else "1")
        assert body.startswith("line one\nroot is ")
        listed = filled.ask(role, "GET", "/installs?state=failed")
        assert said(listed.text) == ({FILED} if role is Role.ADMIN else set())
        assert json.loads(listed.body)["installs"][0]["message"].startswith("no ")
        assert listed.headers.get("x-masked") == (None if role is Role.ADMIN else "1")
        cookie = filled.cookie(role)
        assert said(filled.page(cookie, "/console/machine?id=web-01").text) == set()
        shown = filled.page(cookie, "/console/machine?id=web-01&secrets=1").text.partition('id="history"')[2]
        assert said(shown) == (said(log) if role is Role.ADMIN else set())
    assert filled.service.send(request_bytes("GET", f"/ks/x?password={FILED}", {})).status == 404
    filled.service.wait_for_log("/ks/x.password")
    assert said("\n".join(filled.service.log)) == set()
    assert said(filled.page(filled.cookie(Role.READ), "/console/requests").text) == set()
    shown, clear = (
        run("install", "web-01", *options, **filled.settings).stdout.decode() for options in ([], ["--show-secrets"])
    )
    assert (said(shown), said(clear)) == (set(), said(log))
    assert "line one" in shown


def test_a_masked_text_is_not_stored_in_place_of_the_text(filled: Lab) -> None:
    for target in ("/groups/g?format=yaml", "/inventory/default", "/inventory/default/web-01"):
        masked = filled.ask(Role.READ, "GET", target)
        clear = filled.ask(Role.ADMIN, "GET", target)
        tag = masked.headers["etag"]
        assert tag != clear.headers["etag"]
        assert filled.ask(Role.READ, "GET", target, **{"If-None-Match": tag}).status == 304
        assert filled.ask(Role.ADMIN, "PUT", target, clear.text, **{"If-Match": tag}).status == 412
        refused = filled.ask(Role.ADMIN, "PUT", target, masked.text)
        assert refused.status == 400
        assert "(secret)" in refused.text
        assert filled.ask(Role.ADMIN, "GET", target).text == clear.text
    masked = filled.ask(Role.READ, "GET", "/groups/g?format=yaml")
    clear_tag = filled.ask(Role.ADMIN, "GET", "/groups/g?format=yaml").headers["etag"]
    put = [{"kind": "group", "identifier": "g", "format": "yaml", "text": masked.text}]
    assert filled.ask(Role.ADMIN, "POST", "/apply", json.dumps({"put": put})).status == 400
    cookie = filled.cookie(Role.ADMIN)
    address = f"/console/document?{urlencode({'kind': 'group', 'name': 'g', 'format': 'yaml'})}"
    found = re.search(r'name="csrf" value="([^"]+)"', filled.page(cookie, address).text)
    assert found
    fields = {"csrf": found[1], "kind": "group", "name": "g", "format": "yaml", "text": masked.text}
    for verb, status in (("preview", 200), ("save", 409)):
        sent = filled.form("/console/document", {**fields, "do": verb, "etag": clear_tag}, cookie)
        reply = filled.page(cookie, sent.headers["location"])
        assert reply.status == status
        assert "line 4 holds (secret), which stands for a value that was hidden" in unescape(reply.text)
    assert TYPED in filled.ask(Role.ADMIN, "GET", "/groups/g?format=yaml").text


def test_a_planned_document_does_not_bring_a_secret_of_its_group_to_light(lab: Lab) -> None:
    """Who plans chooses a part of the text that a secret of another document stands in."""
    assert lab.ask(Role.ADMIN, "PUT", "/groups/base?format=ks", f"rootpw --plaintext {TYPED}\n").status == 200
    text = "# answer: extends base\necho x"
    put = [{"kind": "machine", "identifier": "m1", "format": "ks", "text": text}]
    dry = lab.ask(Role.PLAN, "POST", "/apply", json.dumps({"put": put, "dry_run": True}))
    assert dry.status == 200
    assert "echo x" in dry.text
    assert seen(dry) == set()
    named = f'{{"e": {{"name": "db_password", "value": "{TYPED}"}}}}'
    assert lab.ask(Role.ADMIN, "PUT", "/groups/env?format=json", named).status == 200
    text = '{"extends": "env", "e": {"name": "color"}}'
    put = [{"kind": "machine", "identifier": "m2", "format": "json", "text": text}]
    dry = lab.ask(Role.PLAN, "POST", "/apply", json.dumps({"put": put, "dry_run": True}))
    assert "color" in dry.text
    assert seen(dry) == set()


def test_a_planned_document_does_not_bring_a_cell_to_light(filled: Lab) -> None:
    text = '#cloud-config\nhint: "{{ root_password }}"\nthen: it is {{ admin_password | replace("sword", "S") }}\n'
    put = [{"kind": "machine", "identifier": "web-01", "format": "yaml", "text": text}]
    dry = filled.ask(Role.PLAN, "POST", "/apply", json.dumps({"put": put, "dry_run": True}))
    assert json.loads(dry.text)["answers"]["differences"]
    assert seen(dry) == set()
    assert "fishS" not in dry.text
    assert filled.ask(Role.ADMIN, "PUT", "/machines/web-01?format=yaml", text).status == 200
    clear, masked = (filled.ask(role, "GET", "/resolve/web-01") for role in (Role.ADMIN, Role.READ))
    assert f"hint: {CELL}" in clear.text.replace('"', "")
    assert "fishS-renamed" not in masked.text
    assert "it is (secret)" in masked.text


def opened(lab: Lab, address: tuple[str, int], headers: dict[str, str]) -> socket.socket:
    stream = socket.create_connection(address, timeout=PATIENCE)
    stream.settimeout(PATIENCE)
    stream.sendall(request_bytes("GET", "/events", headers).replace(b"answers.example", lab.host.encode()))
    assert stream.recv(100).startswith(b"HTTP/1.1 200")
    return stream


def has_ended(stream: socket.socket) -> bool:
    """Whether a stream ends within the time of its socket."""
    try:
        while stream.recv(65_536):
            pass
    except TimeoutError:
        return False
    return True


def test_a_stream_of_events_ends_with_its_token(lab: Lab) -> None:
    others = opened(lab, lab.admin, {"Authorization": f"Bearer {TOKENS[Role.OPERATE][0]}"})
    stream = opened(lab, lab.admin, {"Authorization": f"Bearer {TOKENS[Role.READ][0]}"})
    lab.tokens.write_text("".join(f"{line}\n" for role, (_, line) in TOKENS.items() if role is not Role.READ))
    os.kill(lab.service.process.pid, signal.SIGHUP)
    wait_until(lambda: lab.ask(Role.READ, "GET", "/machines").status == 401)
    assert has_ended(stream)
    others.settimeout(0.2)
    assert not has_ended(others)


def test_a_stream_of_events_ends_with_its_session(lab: Lab) -> None:
    cookie = lab.cookie(Role.READ)
    csrf = re.search(r'name="csrf" value="([^"]+)"', lab.page(cookie, "/console/try").text)
    assert csrf
    stream = opened(lab, lab.console, {"Cookie": cookie})
    assert lab.form("/console/logout", {"csrf": csrf[1]}, cookie).status == 303
    assert has_ended(stream)


def test_the_console_shows_who_has_access_and_who_changed_what(filled: Lab) -> None:
    cookie = filled.cookie(Role.ADMIN)
    page = unescape(filled.page(cookie, "/console/access").text)
    assert re.findall(r'class="mono">(\S+)</td><td>(\w+)<', page) == [(f"{role}-token", role) for role in sorted(Role)]
    assert not any(token in page for token, _ in TOKENS.values())
    history = unescape(filled.page(filled.cookie(Role.READ), "/console/history").text)
    changes = re.findall(
        r"<td><a [^>]*>(\S+)</a></td><td><a [^>]*>(added|changed)</a></td><td><span[^>]*><a [^>]*>([^<]+)</a>", history
    )
    assert changes == [
        ("admin-token", "added", 'inventory "default" (csv)'),
        ("admin-token", "added", 'inventory "default" (columns)'),
        ("admin-token", "added", 'group "g" (yaml)'),
    ]
    assert "Older" not in history
    assert "No change is kept" in filled.page(cookie, "/console/history?before=1").text
    assert "admin-token · admin" in page


# --- what is not read -------------------------------------------------------------------------------------------------

FORMS = [
    path for name in NEEDED for method, _, path in [name.partition(" ")] if method == "POST" and "/console" in path
]


def announced(lab: Lab, role: Role, path: str, size: int = 15_000_000) -> Reply:
    """The response to the header of a form of so many bytes, of which none is sent."""
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {lab.host}",
        f"Origin: http://{lab.host}",
        f"Cookie: {lab.cookie(role)}",
        f"Content-Length: {size}",
    ]
    return exchange(lab.console, "\r\n".join([*lines, "", ""]).encode())


@pytest.mark.parametrize("path", FORMS)
def test_a_form_that_a_role_may_not_send_is_not_read(lab: Lab, path: str) -> None:
    needed = NEEDED[f"POST {path}"]
    assert needed is not None
    refused = [role for role in Role if not role.may(needed)]
    assert {role: announced(lab, role, path).status for role in refused} == dict.fromkeys(refused, 403)


def test_no_role_but_admin_sends_a_form_as_large_as_an_inventory(lab: Lab) -> None:
    assert announced(lab, Role.INVENTORY, "/console/inventory").status == 413
