"""The console over HTTP, as the real program: who gets in, what pages hold, what a browser is told.

Rules: docs/console.md.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape, unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from answerd.formats import FORMATS
from answerd.server.bearer import FAILURES
from answerd.server.roles import Role, hash_of, new_token
from tests.support.console import TOKEN, Browser, changes_in, compared, etag_of, revisions_in, started, text_in
from tests.support.ports import free_port
from tests.support.service import Service
from tests.support.waiting import wait_until

HOST = "127.0.0.1"
PAGES = ("", "machines", "documents", "try", "check", "settings", "machine?id=aabbccddee01", "document/new")

GROUP = 'members = ["aabbccddee01"]\n[global]\nkeyboard = "de"\nroot-password = "swordfish1"\n'


@pytest.fixture(scope="module", params=["files", "sqlite"])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    home = tmp_path_factory.mktemp("console")
    (home / "answers" / "groups").mkdir(parents=True)
    (home / "answers" / "groups" / "rack.toml").write_text(GROUP)
    with started(home, request.param) as browser:
        if request.param == "sqlite":
            browser.log_in()
            browser.change(do="save", kind="group", name="rack", format="toml", text=GROUP)
        yield browser


@pytest.fixture
def visitor(browser: Browser) -> Browser:
    """Somebody who has not logged in."""
    return Browser(browser.service, browser.console)


@pytest.fixture
def operator(visitor: Browser) -> Browser:
    """Somebody who has."""
    assert visitor.log_in().status == 303
    return visitor


# --- who gets in ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_a_page_sends_a_visitor_to_the_log_in(visitor: Browser, page: str) -> None:
    reply = visitor.get(f"/console/{page}")
    assert reply.status == 303
    assert reply.headers["location"].startswith("/console/login")


def test_the_cookie_cannot_be_read_by_scripts_nor_sent_by_other_sites(visitor: Browser) -> None:
    cookie = visitor.log_in().headers["set-cookie"]
    attributes = {part.strip() for part in cookie.split(";")[1:]}
    assert {"HttpOnly", "SameSite=Strict", "Max-Age=43200", "Path=/"} <= attributes
    assert TOKEN not in cookie


def test_a_wrong_token_is_refused_and_logged_without_the_token(visitor: Browser) -> None:
    reply = visitor.log_in("not the right token")
    assert reply.status == 401
    assert "set-cookie" not in reply.headers
    visitor.service.wait_for_log("console: 127.0.0.1 failed authentication")
    assert not [line for line in visitor.service.log if "not the right" in line]


def test_after_log_out_the_cookie_is_worth_nothing(operator: Browser) -> None:
    kept = operator.cookie
    assert operator.post("/console/logout", {"csrf": operator.csrf}).status == 303
    operator.cookie = kept
    assert operator.get("/console/machines").status == 303


def test_sessions_outlive_a_restart_in_a_file_that_is_of_no_use_without_a_cookie(tmp_path: Path) -> None:
    def after_restart(cookie: str, **settings: object) -> int:
        with started(tmp_path, "sqlite", **settings) as browser:
            browser.cookie = cookie
            return browser.get("/console/settings").status

    with started(tmp_path, "sqlite") as browser:
        browser.log_in()
        ended = browser.cookie
        browser.post("/console/logout", {"csrf": browser.csrf})
        browser.log_in()
        kept = browser.cookie
    file = tmp_path / "answers.db.sessions"
    assert (file.stat().st_mode & 0o777, len(json.loads(file.read_text()))) == (0o600, 1)
    assert not [secret for secret in (TOKEN, hash_of(TOKEN.encode()), kept[-20:]) if secret in file.read_text()]
    assert (after_restart(kept), after_restart(ended)) == (200, 303)
    assert after_restart(kept, SERVICE_ADMIN_TOKEN="another-0123456789") == 303


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "cannot be read: it is no list of sessions"),
        (b'[["a", "x", "y"]]', "cannot be read: it is no list of sessions"),
        (b"[" * 100_000, "cannot be read: it is no list of sessions"),
        (None, "cannot be written"),
    ],
    ids=["cut off", "other values", "deep", "a directory"],
)
def test_a_session_begins_where_the_file_of_sessions_is_of_no_use(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "answers.db.sessions"
    file.mkdir() if content is None else file.write_bytes(content)
    with started(tmp_path, "sqlite") as browser:
        assert browser.log_in().status == 303
        assert browser.get("/console/settings").status == 200
        browser.service.wait_for_log(f"answers.db.sessions {said}")


def test_the_log_in_leads_back_to_the_whole_address_that_was_sent(visitor: Browser) -> None:
    page = "/console/machines?state=failed&q=a+b"
    where = visitor.get(page).headers["location"]
    found = re.search(r'name="next" value="([^"]*)"', visitor.get(where).text)
    assert found
    assert visitor.post("/console/login", {"token": TOKEN, "next": unescape(found[1])}).headers["location"] == page


def test_a_page_that_follows_is_led_to_the_log_in_and_back(visitor: Browser) -> None:
    asked = {"HX-Request": "true", "HX-Current-URL": f"{visitor.origin}/console/machines?state=failed"}
    reply = visitor.get("/console/overview", **asked)
    assert reply.status == 401
    assert reply.headers["hx-redirect"] == "/console/login?next=%2Fconsole%2Fmachines%3Fstate%3Dfailed"
    asked["HX-Current-URL"] = "https://evil.example/x"
    assert visitor.get("/console/overview", **asked).headers["hx-redirect"] == "/console/login"


def test_a_form_leads_back_only_to_a_page_of_the_console(visitor: Browser) -> None:
    for where, expected in (("/console/check", "/console/check"), ("//evil.example/", "/console/"), ("", "/console/")):
        reply = visitor.post("/console/login", {"token": TOKEN, "next": where})
        assert reply.headers["location"] == expected


def test_wrong_tokens_block_an_address_at_the_console_and_at_the_api(tmp_path: Path) -> None:
    with started(tmp_path, "sqlite") as browser:
        for _ in range(FAILURES):
            assert browser.log_in("wrong wrong wrong").status == 401
        blocked = browser.log_in()
        assert blocked.status == 429
        assert int(blocked.headers["retry-after"]) > 0
        assert browser.get("/machines", Authorization=f"Bearer {TOKEN}").status == 429


# --- what protects a session ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": f"https://{HOST}"}],
    ids=["another site", "no origin that is known", "another scheme"],
)
def test_a_form_of_another_origin_is_refused(operator: Browser, headers: dict[str, str]) -> None:
    assert operator.post("/console/logout", {"csrf": operator.csrf}, **headers).status == 403
    assert operator.get("/console/").status == 200


HTTPS = {"Origin": "https://console.lab", "Host": "console.lab"}
MARKED = HTTPS | {"Sec-Fetch-Site": "same-origin"}


def test_behind_a_proxy_with_tls_the_log_in_is_that_of_https(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    settings = {"SERVICE_TRUSTED_PROXIES": HOST, "SERVICE_CONSOLE_HOSTS": "console.lab"}
    with started(tmp_path, "files", **settings) as visitor:
        for headers, status in (
            (HTTPS | {"X-Forwarded-Proto": "https"}, 303),
            (MARKED, 303),
            (HTTPS, 403),
            (HTTPS | {"X-Forwarded-Proto": "http"}, 403),
            (HTTPS | {"X-Forwarded-Proto": "https", "Origin": "http://console.lab"}, 403),
            (MARKED | {"Origin": "https://elsewhere.lab"}, 403),
            (MARKED | {"Sec-Fetch-Site": "same-site"}, 403),
        ):
            reply = visitor.post("/console/login", {"token": TOKEN}, **headers)
            assert reply.status == status, headers
            assert reply.headers.get("set-cookie", "").endswith("; Secure") == (status == 303), headers


def test_a_browser_that_reaches_the_console_by_tls_needs_no_word_of_the_proxy(operator: Browser) -> None:
    host = operator.origin.removeprefix("http://")
    by_tls = {"Origin": f"https://{host}", "Sec-Fetch-Site": "same-origin"}
    assert "; Secure" in operator.post("/console/login", {"token": TOKEN}, **by_tls).headers["set-cookie"]
    assert "; Secure" not in operator.post("/console/login", {"token": TOKEN}).headers["set-cookie"]
    untrusted = {"Origin": f"https://{host}", "X-Forwarded-Proto": "https"}
    assert operator.post("/console/login", {"token": TOKEN}, **untrusted).status == 403


@pytest.mark.parametrize("csrf", ["", "wrong"])
def test_a_form_without_its_token_is_refused(operator: Browser, csrf: str) -> None:
    assert operator.post("/console/logout", {"csrf": csrf}).status == 403
    assert operator.get("/console/").status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", ""])
def test_a_host_that_is_not_this_console_is_misdirected(operator: Browser, host: str) -> None:
    for path in ("/console/", "/console/static/console.css", "/installs", "/events"):
        assert operator.get(path, Host=host).status == 421
    bearer = {"Authorization": f"Bearer {TOKEN}"}  # which no browser adds by itself
    assert operator.get("/check", Host=host, **bearer).status == 200


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "[::1]:8000", "192.0.2.7"])
def test_addresses_and_localhost_are_this_console(operator: Browser, host: str) -> None:
    assert operator.get("/console/", Host=host).status == 200


def test_a_named_host_is_this_console_where_it_is_configured(tmp_path: Path) -> None:
    with started(tmp_path, "files", SERVICE_CONSOLE_HOSTS="lab.example.com, other.example.com") as browser:
        assert browser.get("/console/login", Host="LAB.example.com:8443").status == 200
        assert browser.get("/console/login", Host="evil.example.com").status == 421


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["login", *PAGES])
def test_every_page_is_there_confined_and_without_a_token(operator: Browser, page: str) -> None:
    reply = operator.get(f"/console/{page}")
    is_there = page != "document/new" or "sqlite" in operator.get("/console/").text
    assert (reply.status, "<h1" in reply.text, TOKEN in reply.text) == (200 if is_there else 404, True, False)
    policy = reply.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "same-origin"
    assert reply.headers["cache-control"] == "no-store"
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|<style|\sstyle=|javascript:", reply.text)
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', reply.text)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{7*7}}"])
def test_what_an_address_says_is_never_markup(operator: Browser, text: str) -> None:
    query = urlencode({"q": text, "id": text, "group": text, "query": f"mac={text}", "path": text, "name": text})
    for page in ("machines", "machine", "try", "documents", "document/new"):
        body = operator.get(f"/console/{page}?{query}").text
        assert text not in body or text == escape(text)
        assert "49" not in re.findall(r"value=\"([^\"]*)\"", body)


def test_a_machine_shows_its_answer_with_the_origin_of_each_line_and_without_secrets(operator: Browser) -> None:
    text = unescape(operator.get("/console/machine?id=aabbccddee01").text)
    assert 'keyboard = "de"' in text
    assert re.search(r"(?:groups/rack\.toml|group rack \(toml\)):3", text)
    assert "swordfish1" not in text
    assert "swordfish1" in operator.get("/console/machine?id=aabbccddee01&secrets=1").text


def test_a_request_can_be_tried(operator: Browser) -> None:
    fields = {"csrf": operator.csrf, "path": "/proxmox", "body": json.dumps({"mac": "aa:bb:cc:dd:ee:01"})}
    text = unescape(operator.post("/console/try", fields).text)
    assert "format=toml group=rack" in text
    fields["body"] = "{}"
    assert "No answer" in operator.post("/console/try", fields).text


def test_a_machine_that_nothing_claims_leads_to_a_next_step(operator: Browser) -> None:
    page = operator.get("/console/machine?id=nobody").text
    by_file = "Write a file <code>nobody.toml</code>" in page
    link = re.search(r'href="(/console/document/new[^"]+)"', page)
    assert by_file == (link is None)
    assert by_file == (operator.get("/console/document/new").status == 404)
    if link:
        assert operator.get(unescape(link[1])).status == 200
    assert operator.get("/console/machine?id=nobody").status == 404
    assert 'value="arm"' not in page
    assert "/console/try?query=id%3Dnobody" in page
    assert "/console/try?query=mac%3D00%3A11" in operator.get("/console/machine?id=00:11:22:33:44:55").text


def test_a_static_file_is_sent_compressed_to_a_browser_that_reads_that(operator: Browser) -> None:
    path = "/console/static/vendor/editor.min.js"
    plain, packed = operator.get(path), operator.send("GET", path, headers={"Accept-Encoding": "br, gzip;q=0.8"})
    assert (plain.headers.get("content-encoding"), packed.headers["content-encoding"]) == (None, "gzip")
    assert gzip.decompress(packed.body) == plain.body
    assert {plain.headers["vary"], packed.headers["vary"]} == {"Accept-Encoding"}
    assert plain.headers["etag"] != packed.headers["etag"]
    assert "content-encoding" not in operator.get(path, **{"Accept-Encoding": "gzip;q=0, br"}).headers


def test_the_files_of_the_editor_come_in_five_seconds_over_400_kilobits(operator: Browser) -> None:
    page = operator.get("/console/document?kind=group&name=rack&format=toml").text
    files = re.findall(r'(?:href|src)="(/console/static/[^"]+)"', page)
    assert [file for file in files if "editor.min.js" in file]
    sizes = [len(operator.send("GET", file, headers={"Accept-Encoding": "gzip"}).body) for file in files]
    assert sum(sizes) * 8 / 400_000 < 5


def test_a_static_file_may_be_kept_by_the_address_of_its_content(operator: Browser) -> None:
    address = re.search(r'href="(/console/static/console\.css\?v=\w+)"', operator.get("/console/").text)
    assert address
    kept = operator.get(address[1])
    assert kept.status == 200
    assert "immutable" in kept.headers["cache-control"]
    assert operator.get("/console/static/../app.py").status == 404
    assert operator.get("/console/static/console.css?v=wrong").headers["cache-control"] == "no-cache"


def test_paths_and_methods_that_are_not_there(operator: Browser) -> None:
    assert operator.get("/console/nothing").status == 404
    assert operator.post("/console/check", {"csrf": operator.csrf}).status == 405


# --- documents --------------------------------------------------------------------------------------------------------


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Browser]:
    with started(tmp_path, "sqlite") as browser:
        browser.log_in()
        yield browser


def test_a_document_is_written_read_changed_and_removed(writer: Browser) -> None:
    named = {"kind": "group", "name": "rack", "format": "toml"}
    page = f"/console/document?{urlencode(named)}"
    assert writer.change(do="save", text=GROUP, note="the first", **named).status == 303
    reply = writer.get(page)
    assert "the first" in reply.text
    changed = writer.change(do="save", text="# new\r\nx = 1\r\n", etag=etag_of(reply), **named)
    assert changed.status == 303
    stored = writer.get("/groups/rack?format=toml")
    assert stored.text == "# new\nx = 1\n"
    deleted = writer.change(do="delete", etag=etag_of(writer.get(page)), **named)
    assert (deleted.status, deleted.headers["location"]) == (303, page)
    removed = writer.get(page)
    assert (removed.status, "removed</h1>" in removed.text) == (404, True)
    revision, *_ = revisions_in(removed)
    back = writer.get(f"/console/document/earlier?revision={revision}")
    assert "Nothing is stored yet" in back.text
    assert writer.get(page).status == 404
    assert (
        writer.change(do="save", text=text_in(back), etag=etag_of(back), **named).headers["location"]
        == f"{page}&saved=4"
    )
    assert writer.get("/groups/rack?format=toml").text == stored.text
    assert writer.get(page).status == 200
    assert "No such document" in writer.get(page.replace("rack", "never")).text


def test_a_write_that_would_break_the_set_is_refused_with_its_problems(writer: Browser) -> None:
    reply = writer.change(do="save", kind="machine", name="m1", format="toml", text='extends = "nowhere"\n')
    assert reply.status == 409
    assert "nowhere" in unescape(reply.text)
    assert writer.get("/console/document?kind=machine&name=m1&format=toml").status == 404


def test_a_page_offers_what_the_role_of_the_session_may_do(tmp_path: Path) -> None:
    tokens = {role: new_token(role, role) for role in Role}
    (tmp_path / "tokens").write_text("".join(f"{token}\n" for _, token in tokens.values()))
    named = {"kind": "machine", "name": "aabbccddee01", "format": "toml"}
    with started(tmp_path, "sqlite", SERVICE_TOKENS_FILE=tmp_path / "tokens") as browser:
        for role in reversed(Role):
            browser.log_in(tokens[role][0])
            if role is Role.ADMIN:
                browser.change(do="save", text="once = true\n[global]\n", **named)
            for page, offered, needed in (
                ("machines", 'value="arm"', Role.OPERATE),
                ("machine?id=aabbccddee01", 'value="arm"', Role.OPERATE),
                ("machine?id=aabbccddee02", "New document", Role.ADMIN),
                ("documents", "New document", Role.ADMIN),
                (f"document?{urlencode(named)}", 'value="save"', Role.ADMIN),
            ):
                reply = browser.get(f"/console/{page}")
                status = 404 if page.endswith("02") else 200  # no such machine: it may be written
                assert (reply.status, offered in reply.text) == (status, role.may(needed)), (role, page)
            assert browser.get("/console/document/new").status == (200 if role is Role.ADMIN else 403)
    (tmp_path / "answers").mkdir()
    with started(tmp_path, "files", SERVICE_TOKENS_FILE=tmp_path / "tokens") as browser:
        browser.log_in(tokens[Role.READ][0])
        reply = browser.get("/console/documents")
        assert ("a directory of files" in reply.text, "the role admin" in reply.text) == (True, False)


def test_a_save_that_meets_a_removal_says_so_and_can_be_made_again(writer: Browser) -> None:
    named = {"kind": "group", "name": "gone", "format": "ks"}
    page = f"/console/document?{urlencode(named)}"
    writer.change(do="save", text="lang C\n", **named)
    etag = etag_of(writer.get(page))
    writer.change(do="delete", etag=etag, **named)
    refused = writer.change(do="save", text="lang de\n", etag=etag, **named)
    assert (refused.status, "admin removed this document" in refused.text) == (409, True)
    assert writer.get(page).status == 404
    assert writer.change(do="save", text="lang de\n", etag=etag_of(refused), **named).status == 303
    assert writer.get("/groups/gone?format=ks").text == "lang de\n"
    writer.change(do="delete", etag=etag_of(writer.get(page)), **named)


def test_a_text_outlives_the_session_in_which_it_was_written(writer: Browser) -> None:
    named = {"kind": "machine", "name": "m1", "format": "ks"}
    writer.change(do="save", text="# one\n", **named)
    etag = etag_of(writer.get(f"/console/document?{urlencode(named)}"))
    writer.cookie = "answerd_session=of-a-service-that-was-restarted"
    reply = writer.change(do="save", text="# two </textarea>\n", etag=etag, note="why", **named)
    assert "Your session has ended" in reply.text
    kept = dict(re.findall(r'<input type="hidden" name="([\w.]+)" value="([^"]*)"', reply.text))
    text = re.search(r'<textarea name="kept.text" hidden>\n(.*?)</textarea>', reply.text, re.DOTALL)
    assert text
    assert "kept.csrf" not in kept
    fields = {**{name: unescape(value) for name, value in kept.items()}, "kept.text": unescape(text[1])}
    assert "Your session has ended" in writer.post("/console/login", {**fields, "token": "not the token"}).text
    logged_in = writer.post("/console/login", {**fields, "token": TOKEN})
    assert logged_in.headers["set-cookie"].startswith("answerd_session=")
    writer.cookie = logged_in.headers["set-cookie"].partition(";")[0]
    for _ in range(2):  # it can be reloaded
        resumed = writer.get(logged_in.headers["location"])
        assert "# two &lt;/textarea&gt;\n</textarea>" in resumed.text
        assert etag_of(resumed) == etag
        assert 'value="why"' in resumed.text
    assert writer.get("/machines/m1?format=ks").text == "# one\n"
    other = Browser(writer.service, writer.console)
    other.log_in()
    stale = other.post(
        "/console/document", {**named, "csrf": "of-an-earlier-session", "do": "save", "text": "# three\n"}
    )
    assert ("not stored yet" in stale.text, "# three\n</textarea>" in stale.text) == (True, True)


def test_a_form_of_another_site_is_not_carried_through_the_log_in(visitor: Browser) -> None:
    fields = {"do": "save", "kind": "machine", "name": "m1", "format": "ks", "text": "# nobody's\n"}
    for headers in ({"Origin": "http://elsewhere.example"}, {"Origin": "null"}):
        reply = visitor.post("/console/document", fields, **headers)
        assert (reply.status, "nobody" in reply.text) == (303, False)
    assert "nobody" in visitor.post("/console/document", fields).text
    assert visitor.post("/console/document", {**fields, "text": "x" * 300_000}).status == 413


def test_a_form_is_carried_out_once_however_often_it_is_sent(writer: Browser) -> None:
    fields = {
        "kind": "machine",
        "name": "m1",
        "format": "ks",
        "once": "of-this-page",
        "csrf": writer.csrf,
        "do": "save",
    }
    first = writer.post("/console/document", {**fields, "text": "# one\n"})
    assert first.status == 303
    second = writer.post("/console/document", {**fields, "text": "# one\n"})
    assert second.headers["location"] == first.headers["location"]
    assert writer.post("/console/document", {**fields, "text": "# two\n"}).status == 409, "another text is another form"


def test_an_earlier_version_is_shown_with_its_effect_and_stored_by_a_save(writer: Browser) -> None:
    named = {"kind": "machine", "name": "m1", "format": "ks"}
    page = f"/console/document?{urlencode(named)}"
    writer.change(do="save", text="# one\n", **named)
    writer.change(do="save", text="# two\n", etag=etag_of(writer.get(page)), **named)
    newest, oldest = revisions_in(writer.get(page))
    assert 'class="diff"' not in writer.get(page).text, "a difference is made where it is asked for"
    assert "+# two" in changes_in(writer.get(f"{page}&change={newest}"))
    assert re.findall(r"revision=\d+&amp;side=after", writer.get(page).text) == [f"revision={oldest}&amp;side=after"]
    undone = compared(lambda: writer.get(f"/console/document/earlier?revision={newest}"))
    assert (text_in(undone), "1 machine gets another answer" in undone.text) == ("# one\n", True)
    assert f'value="undo of revision {newest}"' in undone.text
    assert writer.get("/machines/m1?format=ks").text == "# two\n"
    assert writer.change(do="save", text=text_in(undone), etag=etag_of(undone), **named).status == 303
    assert writer.get("/machines/m1?format=ks").text == "# one\n"
    again = writer.get(f"/console/document/earlier?revision={oldest}&side=after")
    assert ("Nothing to do" in again.text, "What saving would change" in again.text) == (True, False)


def test_to_undo_the_first_change_is_to_remove_the_document(writer: Browser) -> None:
    named = {"kind": "machine", "name": "m1", "format": "ks"}
    writer.change(do="save", text="# one\n", **named)
    (revision,) = revisions_in(writer.get("/console/history"))
    undone = compared(lambda: writer.get(f"/console/document/earlier?revision={revision}"))
    assert "1 machine loses its answer" in undone.text
    assert '<button form="editor" class="danger" name="do" value="delete">' in undone.text
    assert writer.get("/machines/m1?format=ks").status == 200
    assert writer.change(do="delete", etag=etag_of(undone), **named).status == 303
    assert writer.get("/machines/m1?format=ks").status == 404
    removal, first = revisions_in(writer.get("/console/history"))
    assert first == revision
    undone = writer.get(f"/console/document/earlier?revision={removal}")
    assert (text_in(undone), etag_of(undone)) == ("# one\n", "")


def test_history_keeps_the_placeholders_of_secrets(writer: Browser) -> None:
    line = "rootpw --iscrypted {{ secret.root-hash }}"
    named = {"kind": "machine", "name": "m1", "format": "ks"}
    page = f"/console/document?{urlencode(named)}"
    for text in (
        "rootpw --plaintext swordfish1",
        line,
        f"# answer: template on\n{line}\nuser --name=a --password={line}",
    ):
        reply = writer.get(page)
        writer.change(do="save", text=f"{text}\n", etag=etag_of(reply) if reply.status == 200 else "", **named)
    shown = "".join(unescape(changes_in(writer.get(f"{page}&change={change}"))) for change in (1, 2, 3))
    assert f"+{line}" in shown
    assert f"-{line}" not in shown
    assert "swordfish1" not in shown
    assert not re.search(r"\(secret[^)]*\) *secret\.|\{\{ *\(secret", shown)


RACK_OF_120 = "id,rack\n" + "".join(f"m{number:03},r3\n" for number in range(120))
MATCHING = '[match]\nrack = "r3"\n[global]\nkeyboard = "de"\n'


def test_a_change_that_takes_answers_away_says_from_how_many_and_names_each(writer: Browser) -> None:
    writer.change(do="save", kind="inventory", name="default", format="csv", text=RACK_OF_120)
    named = {"kind": "group", "name": "r3", "format": "toml"}
    writer.change(do="save", text=MATCHING, **named)
    etag = etag_of(writer.get(f"/console/document?{urlencode(named)}"))
    another = unescape(writer.change(do="preview", text=MATCHING.replace('"de"', '"fr"'), etag=etag, **named).text)
    for shown in ("120 machines get another answer", '-keyboard = "de"', '+keyboard = "fr"'):
        assert shown in another
    preview = writer.change(do="preview", text=MATCHING.replace('"r3"', '"r33"'), etag=etag, **named)
    while pending := re.search(r'hx-get="(/console/document/preview[^"]+)"', preview.text):
        preview = writer.get(unescape(pending[1]))
    assert re.search(r'<p class="note bad"><strong>120 machines lose their answer</strong>', preview.text)
    which = re.search(r'href="(/console/document/preview\?[^"]+effect=0)"', preview.text)
    assert which
    names = re.findall(r'href="/console/machine\?id=(\w+)"', writer.get(unescape(which[1])).text)
    assert names == [f"m{number:03}" for number in range(120)]
    assert writer.get(unescape(which[1]).replace("effect=0", "effect=7")).status == 404
    assert writer.get("/groups/r3").text == MATCHING
    french = MATCHING.replace('"de"', '"fr"')
    writer.change(do="save", text=french, etag=etag, **named)
    again = writer.change(do="preview", text=french, etag=etag, **named)
    assert "No machine's answer changes" in unescape(again.text), "what was found is of the set before"


def test_a_conflict_says_who_changed_the_document_and_when(tmp_path: Path) -> None:
    token, entry = new_token("dana", Role.ADMIN)
    (tmp_path / "tokens").write_text(f"{entry}\n")
    with started(tmp_path, "sqlite", SERVICE_TOKENS_FILE=tmp_path / "tokens", SERVICE_WORKERS=2) as first:
        first.log_in()  # all workers share one console
        named = {"kind": "machine", "name": "m1", "format": "ks"}
        page = f"/console/document?{urlencode(named)}"
        first.change(do="save", text="# one\n", **named)
        opened = etag_of(first.get(page))
        dana = Browser(first.service, first.console)
        dana.log_in(token)
        assert dana.change(do="save", text="# two\n", etag=opened, **named).status == 303
        changed = first.change(do="save", text="# three\n", etag=opened, **named)
        assert ("-# two" in changed.text, "+# three" in changed.text) == (True, True), "both are shown"
        assert first.get("/machines/m1?format=ks").text == first.service.get("/ks?id=m1").text == "# two\n"
        assert re.search(r"Not saved: dana changed this document (just now|\d+ s ago) \(\d{4}-", changed.text)
        is_there = first.change(do="save", text="# three\n", **named)
        assert "Not saved: dana changed this document" in is_there.text
        dana.change(do="delete", etag=etag_of(dana.get(page)), **named)
        removed = first.change(do="save", text="# three\n", etag=opened, **named)
        assert "Not saved: dana removed this document" in removed.text
        for reply in (changed, is_there, removed):
            assert (reply.status, "If-" in reply.text, text_in(reply)) == (409, False, "# three\n")


def test_a_new_document_of_each_format_starts_from_a_text_that_can_be_saved(writer: Browser) -> None:
    for extension in (*FORMATS, "csv"):
        kind = "inventory" if extension == "csv" else "machine"
        named = {"kind": kind, "name": "m1", "format": extension}
        started = writer.change(do="start", text="", etag="", **named)
        assert f"<option selected>{extension}</option>" in started.text
        assert 'value="m1"' in started.text
        family = FORMATS[extension].family.name if extension in FORMATS else ""
        assert f'data-family="{family}"' in started.text
        assert writer.change(do="save", text=text_in(started), **named).status == 303, extension
    problems = writer.get("/check").json["problems"]
    assert [one for one in problems if not re.search("the secret '[a-z-]+' is missing", one)] == []


# --- the API at the console's address ---------------------------------------------------------------------------------


def test_a_session_reads_the_api_and_writes_nothing(operator: Browser) -> None:
    assert operator.get("/groups").json == {"group": ["rack"]}
    assert operator.get("/check").status == 200
    assert operator.send("PUT", "/groups/other", b"x = 1\n").status == 405
    assert Browser(operator.service, operator.console).get("/groups").status == 401


def test_the_metrics_of_the_console_need_the_token(visitor: Browser) -> None:
    assert visitor.get("/metrics").status == 401
    told = visitor.get("/metrics", Authorization=f"Bearer {TOKEN}")
    assert (told.status, "\nanswerd_ready 1.0\n" in told.text) == (200, True)


def test_one_listener_serves_both_where_both_have_one_address(tmp_path: Path) -> None:
    # The port must be named, or the two addresses could not be equal.
    address = f"127.0.0.1:{free_port()}"
    service = Service(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "answers.db",
        SERVICE_ADMIN_ADDR=address,
        SERVICE_CONSOLE_ADDR=address,
        SERVICE_ADMIN_TOKEN=TOKEN,
    )
    with service:
        assert service.admin
        browser = Browser(service, service.admin)
        browser.log_in()
        assert browser.get("/console/").status == 200
        assert (
            browser.send("PUT", "/machines/m1?format=ks", b"# x\n", {"Authorization": f"Bearer {TOKEN}"}).status == 200
        )
        assert browser.send("PUT", "/machines/m1?format=ks", b"# y\n").status == 401


def test_a_large_form_is_read_and_one_that_is_too_large_is_called_so(visitor: Browser) -> None:
    """The log-in form may hold the text that a session ended over."""
    assert visitor.post("/console/login", {"token": "", "text": "x" * 200_000}).status == 401
    assert visitor.post("/console/login", {"token": "", "text": "x" * 300_000}).status == 413
    visitor.log_in()
    reply = visitor.change(do="save", kind="group", name="large", format="toml", text="#" * 1_100_000)
    assert (reply.status, "too large" in reply.text) == (413, True)


def test_a_revision_that_is_none_is_called_so(operator: Browser) -> None:
    for revision in ("9" * 30, "9" * 5_000, "-1", "x", ""):
        assert operator.get(f"/console/document/earlier?revision={revision}").status == 404


def test_the_history_is_searched_by_day_person_and_document_and_unfolds_a_difference(writer: Browser) -> None:
    for name, text in (("98-fa-9b-50-d8-10", "# one\n"), ("m2", "# two\n"), ("m2", "# three\n")):
        page = writer.get(f"/console/document?kind=machine&name={name}&format=ks")
        etag = etag_of(page) if page.status == 200 else ""
        writer.change(do="save", kind="machine", name=name, format="ks", text=text, etag=etag)

    def listed(**query: str) -> list[str]:
        text = writer.get(f"/console/history?{urlencode(query)}").text
        return re.findall(r'<tr id="c\d+">.*?/console/document\?kind=machine&amp;name=([\w-]+)', text)

    everything = listed()
    assert everything == ["m2", "m2", "98-fa-9b-50-d8-10"]
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert listed(day=today) in (everything, []), "the day may have just begun"
    assert listed(day="2001-01-01") == []
    assert listed(who="ADMIN") == everything
    assert listed(who="nobody") == []
    assert listed(document="m2") == ["m2", "m2"]
    assert listed(document="98:fa:9b:50:d8:10") == ["98-fa-9b-50-d8-10"]
    assert "a day is written" in writer.get("/console/history?day=2026-13-01").text
    (newest, *_) = revisions_in(writer.get("/console/history"))
    unfolded = writer.get(f"/console/history?open={newest}").text
    assert re.findall(r'<span class="(?:add|del)">([^<]*)</span>', unfolded) == ["-# two", "+# three"]


def applied(writer: Browser, *names: str, text: str, delete: str = "") -> None:
    """Change documents together, as an apply does."""
    put = [{"kind": "machine", "identifier": name, "format": "ks", "text": text} for name in names]
    deletes = [{"kind": "machine", "identifier": delete, "format": "ks"}] if delete else []
    body = json.dumps({"put": put, "delete": deletes}).encode()
    reply = writer.send("POST", "/apply", body, {"Authorization": f"Bearer {TOKEN}"})
    assert reply.status == 200, reply


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Browser]:
    """A console at the admin API's address."""
    address = f"127.0.0.1:{free_port()}"
    listeners = {"SERVICE_ADMIN_ADDR": address, "SERVICE_CONSOLE_ADDR": address}
    with Service(
        SERVICE_STORE="sqlite", SERVICE_DB_PATH=tmp_path / "answers.db", SERVICE_ADMIN_TOKEN=TOKEN, **listeners
    ) as service:
        assert service.admin
        browser = Browser(service, service.admin)
        browser.log_in()
        yield browser


def counted_in(browser: Browser) -> list[tuple[str, str]]:
    """Return what each change of the history was, with the machines that it touched, once they are counted."""
    pages: list[str] = []

    def is_counted() -> bool:
        pages.append(browser.get("/console/history").text)
        return "load delay" not in pages[-1].partition('id="changes"')[2].partition(">")[0]

    wait_until(is_counted)
    label = r'aria-label="([^,"]+(?:, \d+ \w+)*), difference'
    row = rf'<tr id="c\d+">.*?{label}.*?<td class="fit">(.*?)</td>'
    return [(what, re.sub(r"<[^>]+>", "", machines)) for what, machines in re.findall(row, pages[-1], re.DOTALL)]


def test_a_change_of_several_documents_is_one_line_unfolds_them_and_is_taken_back(shared: Browser) -> None:
    applied(shared, "m1", "m2", text="# one\n")
    applied(shared, "m1", "m3", text="# two\n", delete="m2")
    assert counted_in(shared) == [
        ("1 added, 1 changed, 1 removed", "3 machines 1 lost its answer"),
        ("2 added", "2 machines"),
    ]
    history = shared.get("/console/history").text
    newest = re.findall(r'href="/console/history/back\?revision=(\d+)"', history)[0]
    unfolded = shared.get(f"/console/history?open={newest}").text
    assert sorted(re.findall(r'<span class="(?:add|del)">(.# \w+)</span>', unfolded)) == [
        "+# two", "+# two", "-# one", "-# one",
    ]  # fmt: skip
    assert len(revisions_in(shared.get(f"/console/history?open={newest}"))) == 3, "each can be undone by itself"
    asked = compared(lambda: shared.get(f"/console/history/back?revision={newest}"))
    assert "1 machine gets an answer, and has none now" in asked.text
    assert "1 machine loses its answer" in asked.text
    assert shared.get("/machines/m1?format=ks").text == "# two\n"
    fields = {"csrf": shared.csrf, "do": "take-back", "revision": newest, "note": "too early"}
    done = shared.post("/console/history", fields)
    assert done.status == 303
    texts = [shared.get(f"/machines/{name}?format=ks") for name in ("m1", "m2", "m3")]
    assert [(one.status, one.text if one.status == 200 else "") for one in texts] == [
        (200, "# one\n"), (200, "# one\n"), (404, ""),
    ]  # fmt: skip
    page = shared.get(done.headers["location"])
    back = re.search(rf"Revision {newest} is taken back by revision (\d+)", page.text)
    assert back
    entries = shared.get("/history?limit=3").json["history"]
    assert {entry["note"] for entry in entries} == {f"revision {newest} taken back: too early"}
    assert {entry["revision"] for entry in entries} >= {int(back[1])}
    fields |= {"revision": back[1]}
    assert shared.post("/console/history", fields).status == 303
    assert shared.get("/machines/m1?format=ks").text == "# two\n"


def test_a_change_of_which_a_document_has_changed_since_is_not_taken_back(shared: Browser) -> None:
    applied(shared, "m1", "m2", text="# one\n")
    first = re.findall(r"history/back\?revision=(\d+)", shared.get("/console/history").text)[0]
    applied(shared, "m1", text="# two\n")
    asked = compared(lambda: shared.get(f"/console/history/back?revision={first}"))
    assert "was changed after revision" in asked.text
    assert 'value="take-back"' not in asked.text
    fields = {"csrf": shared.csrf, "do": "take-back", "revision": first, "note": "because"}
    refused = shared.post("/console/history", fields)
    assert (refused.status, "Not taken back: " in refused.text, 'value="because"' in refused.text) == (409, True, True)
    assert shared.get("/machines/m1?format=ks").text == "# two\n"
    assert shared.get("/console/history/back?revision=999").status == 404


def test_the_history_of_a_machine_has_the_changes_of_many_documents_that_name_it(shared: Browser) -> None:
    applied(shared, *(f"m{number}" for number in range(40)), text="# one\n")
    listed = shared.get("/console/history?document=m39").text
    assert "40 documents" in listed
    assert "Take back all" in listed
    assert "Take back all" not in shared.get("/console/history?document=other").text


@pytest.mark.parametrize("address", ["kind=inventory", "kind=inventory&name=room&format=toml"])
def test_a_new_inventory_is_a_table(writer: Browser, address: str) -> None:
    page = writer.get(f"/console/document/new?{address}").text
    assert "<option selected>inventory" in page
    assert "<option selected>csv" in page
    unnamed = writer.change(do="save", kind="inventory", name="", format="toml", text="id,mac\n").text
    assert "<option selected>csv" in unnamed


def test_the_first_page_names_the_row_of_a_request_that_got_an_error(writer: Browser) -> None:
    table = {"kind": "inventory", "name": "default", "format": "csv", "text": "id,mac\npc-01,00:00:5e:00:53:c1\n"}
    assert writer.change(do="save", **table).status == 303
    assert writer.service.get("/ks?mac=00:00:5e:00:53:c1").status == 404
    assert writer.service.get("/pxelinux.cfg/01-00-00-5e-00-53-c1").status == 404
    row = r'<td class="name"><a href="/console/machine\?id=([^"]+)">'
    wait_until(lambda: re.findall(row, writer.get("/console/requests").text)[:2] == ["pc-01", "pc-01"])


def test_a_change_that_leaves_problems_says_so_apart_from_what_was_saved(writer: Browser) -> None:
    page = writer.get("/console/documents?saved=3&problems=2").text
    good = re.search(r'<p class="note good"[^>]*>(.*?)</p>', page, re.DOTALL)
    assert good
    assert "problem" not in good[1]
    assert "The set has 2 problems that are older" in page
