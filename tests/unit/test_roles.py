"""Roles as documented; a file of tokens is enough; nothing quotes a token or a password on its way out."""

from __future__ import annotations

from urllib.parse import quote, unquote

import pytest

from answerd.config import ConfigError, read_config
from answerd.console.page_request import redirect
from answerd.installs.tokens import TokenSubject, report_token, token_fingerprint
from answerd.server.roles import MAY, NEEDED, Role
from answerd.server.shown_targets import shown_target, without_token
from tests.support.pages import page, rows, words


def test_the_documentation_has_the_table() -> None:
    table = {words(role)[0]: (may, words(needing)) for role, may, needing in rows(page("admin-api"), 3) if words(role)}
    requests = {request: role for request, role in NEEDED.items() if "/console/" not in request}
    for role in Role:
        may, named = table[role]
        assert may == MAY[role]
        if role in (Role.OPERATE, Role.INVENTORY):
            assert list(named) == [request for request, needed in requests.items() if needed is role]
    assert {request.split()[0] for request, role in requests.items() if role is Role.READ} == {"GET"}
    of_admin = {request for request, role in requests.items() if role is Role.ADMIN} - {"GET /audit"}
    assert {request.split()[0] for request in of_admin} == {"PUT", "DELETE", "POST"}
    assert [request for request, role in requests.items() if role is Role.PLAN] == ["POST /apply"]


def test_roles_include_others_as_documented() -> None:
    included = {role: {other for other in Role if role.may(other)} for role in Role}
    assert included == {
        Role.READ: {Role.READ},
        Role.PLAN: {Role.READ, Role.PLAN},
        Role.OPERATE: {Role.READ, Role.PLAN, Role.OPERATE},
        Role.INVENTORY: {Role.READ, Role.PLAN, Role.INVENTORY},
        Role.ADMIN: {*Role},
    }
    assert [role for role in Role if role.sees_secrets] == [Role.ADMIN]


@pytest.mark.parametrize("address", ["SERVICE_ADMIN_ADDR", "SERVICE_CONSOLE_ADDR"])
def test_a_file_of_tokens_suffices(address: str) -> None:
    settings = {"SERVICE_STORE": "sqlite", address: "127.0.0.1:0"}
    assert read_config({**settings, "SERVICE_TOKENS_FILE": "/etc/answerd/tokens"}).tokens_file
    with pytest.raises(ConfigError, match=f"{address} is set without SERVICE_ADMIN_TOKEN"):
        read_config(settings)


@pytest.mark.parametrize(
    "url",
    [
        "http://joe:swordfish@host:80/",
        "http://joe:sword/fish@swordfish@host/",
        "joe:swordfish@host",
        "ftp://swordfish@host/x",
        "http://host/?token=swordfish",
    ],
)
def test_a_setting_that_is_refused_quotes_no_credentials(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_config({"SERVICE_URL": url})
    assert "SERVICE_URL" in str(refused.value)
    assert "host" in str(refused.value)
    assert "sword" not in str(refused.value)


TOKEN = "1.pc-31.abcdefghijkl"


@pytest.mark.parametrize(
    "target",
    [
        f"/report/{TOKEN}?url=/report/{TOKEN}",
        f"/report/{TOKEN}?note={TOKEN.replace('.', '%2E')}",
        f"/Report/{quote(TOKEN.replace('1', '%31'))}?x=%2Freport%2F{TOKEN}",
        f"/pve?from={quote(f'http://h/report/{TOKEN}', safe='')}",
        f"/pve?from={quote(quote(f'http://h/report/{TOKEN}', safe=''), safe='')}&mac=1",
        f"/pve?from=http://h/REPORT//{TOKEN}",
        "/pve?x=" + "".join(f"%{ord(sign):02x}" for sign in f"report/{TOKEN}"),
    ],
)
def test_no_line_of_the_log_has_the_token_of_a_report(target: str) -> None:
    shown = without_token(target)
    assert "abcdefghijkl" not in shown
    assert "abcdefghijkl"[1:] not in quote(shown)
    assert token_fingerprint(TOKEN) in shown or "%31" in target


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (f"/report/{TOKEN}/failed?message=swordfish", f"/report/{token_fingerprint(TOKEN)}/failed?..."),
        (f"//%52eport/{TOKEN}?a=swordfish", f"//%52eport/{token_fingerprint(TOKEN)}?..."),
        ("/ks?mac=1&root_password=swordfish&x=2", "/ks?mac=1&root_password=(secret)&x=2"),
        ("/ks?%70assword=sword%66ish", "/ks?%70assword=(secret)"),
        ("/ks?url=http://u:sword/fish@host/x&mac=1", "/ks?url=http://(secret)@host/x&mac=1"),
        ("/ks?url=http%3A%2F%2Fu%3Aswordfish%40host", "/ks?url=http://(secret)@host"),
        ("/ks?token=yes&key=a", "/ks?token=yes&key=a"),
        ("/ks?pa%C5%BF%C5%BFword=swordfish", "/ks?pa%C5%BF%C5%BFword=(secret)"),
    ],
)
def test_no_line_of_the_log_has_the_query_of_a_report_or_a_secret_of_another(target: str, shown: str) -> None:
    assert shown_target(target) == shown


@pytest.mark.parametrize("target", ["/pve?mac=98:fa:9b:50:d8:10", "/pve?x=%41&y=report", "/reports/x?a=b", "/"])
def test_other_targets_are_logged_as_they_are(target: str) -> None:
    assert without_token(target) == shown_target(target) == target


@pytest.mark.parametrize("where", ["/console/machine\r\nX: 1", "/console/machines\x00", "/console/machinesé\u2028"])
def test_a_redirect_can_be_sent_wherever_it_leads(where: str) -> None:
    (_, location) = redirect(where).headers[0]
    assert location.isascii()
    assert location.isprintable()
    assert redirect("/console/machines?q=a%20b&page=2").headers[0][1] == "/console/machines?q=a%20b&page=2"


REAL = report_token(TokenSubject("0" * 32, "web01"), bytes(32))
MARK = token_fingerprint(REAL)


@pytest.mark.parametrize("twice", [False, True], ids=["", "encoded"])
@pytest.mark.parametrize(
    "target",
    [
        "/x/report/{}",
        "/x/report/{}/installed",
        "/{}",
        "/ks/{}",
        "/reports/{}/done",
        "/report/x/{}",
        "/a.b.c/{}.ks",
        "/ks?mac=1&x={}",
        "/ks?x=https://a.example/x/{}",
        "/report/x?y={}",
        "/ks/{}-1",
        "/ks/{}_",
        "/ks?x={}x",
    ],
)
def test_a_token_in_any_path_or_query_is_shown_as_its_fingerprint(target: str, twice: bool) -> None:
    token = "".join(f"%{ord(sign):02X}" for sign in REAL) if twice else REAL
    for shown in (without_token(target.format(token)), shown_target(target.format(token))):
        assert REAL not in unquote(shown)
        assert MARK in shown or shown.endswith("?...")


def test_two_tokens_with_nothing_between_them_are_both_hidden() -> None:
    shown = shown_target(f"/ks/{REAL}{REAL}")
    assert shown == f"/ks/{token_fingerprint(REAL + REAL)}"


def test_what_only_resembles_a_token_stays() -> None:
    for target in ("/ks/node-1.rack-2.example.org", "/1.2.3/x?release=9.1.2", "/fedora-41.1.2-server-of-the-lab/ks"):
        assert without_token(target) == shown_target(target) == target
