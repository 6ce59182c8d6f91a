"""Who may ask for answers, and whether there is a set to answer from: rules that need no socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerd.addresses import is_public, parse_networks
from answerd.server.access import Access
from answerd.server.answer_app import make_answer_app, make_body_limit
from answerd.server.answer_set import AnswerSet, Preparation, WriteCounter
from answerd.server.http.parser import HeaderBlock, HttpRequest
from answerd.server.http.responses import Exchange, environ_of, respond
from answerd.server.peer import is_within
from answerd.server.request_log import RequestLog
from answerd.store.files import FileStore
from answerd.store.loader import Loader
from tests.support.clients import PatientClient

TOKEN = "an-answer-token-0123456789"
NETWORKS = parse_networks("10.0.0.0/8, fd00::/8")
INSIDE, OUTSIDE = "10.1.2.3", "192.0.2.1"


def ask(method: str, path: str, *, token: str | None = None, length: int = 0, too_large: bool = False) -> HttpRequest:
    lines = (("authorization", f"Bearer {token}"),) if token else ()
    return HttpRequest(method, path, path, "", 1, HeaderBlock(lines, length), b"", too_large)


@pytest.mark.parametrize(
    ("request_", "peer", "status"),
    [
        pytest.param(ask("GET", "/", token=TOKEN), INSIDE, None, id="let in"),
        pytest.param(ask("PUT", "/"), OUTSIDE, 405, id="405 before 403 and 401"),
        pytest.param(ask("GET", "/"), OUTSIDE, 403, id="403 before 401"),
        pytest.param(ask("GET", "/", token=TOKEN), OUTSIDE, 403, id="403 with the right token"),
        pytest.param(ask("GET", "/"), INSIDE, 401, id="401 without the token"),
        pytest.param(ask("GET", "/"), "fd00::1", 401, id="an IPv6 address of the list"),
        pytest.param(ask("GET", "/"), "2001:db8::1", 403, id="an IPv6 address outside"),
    ],
)
def test_the_header_alone_decides_in_order(request_: HttpRequest, peer: str, status: int | None) -> None:
    access = Access([TOKEN], NETWORKS)
    assert access.fault(request_, peer) == status
    limit = make_body_limit(access)(request_, peer)
    assert isinstance(limit, int)
    assert (limit > 0) is (status is None)


def has_token(token: str, header: str | None) -> bool:
    lines = () if header is None else (("authorization", header),)
    request = HttpRequest("GET", "/", "/", "", 1, HeaderBlock(lines, 0), b"", False)
    return Access([token]).fault(request, INSIDE) is None


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(f"Bearer {TOKEN}", id="as documented"),
        pytest.param(f"bEARER {TOKEN}", id="scheme in another letter case"),
        pytest.param(f"Bearer   {TOKEN} ", id="blanks around the token"),
    ],
)
def test_the_right_token_is_accepted(header: str) -> None:
    assert has_token(TOKEN, header)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(None, id="no header"),
        pytest.param("", id="empty header"),
        pytest.param("Bearer", id="no token"),
        pytest.param("Bearer ", id="empty token"),
        pytest.param(TOKEN, id="no scheme"),
        pytest.param(f"Basic {TOKEN}", id="another scheme"),
        pytest.param(f"Bearer {TOKEN}x", id="one character more"),
        pytest.param(f"Bearer {TOKEN[:-1]}", id="one character less"),
        pytest.param(f"Bearer {TOKEN.upper()}", id="another letter case"),
        pytest.param(f"Bearer {TOKEN}, Bearer {TOKEN}", id="two headers joined"),
        pytest.param("Bearer t\xf6ken-\xff\xfe", id="bytes that are no UTF-8"),
        pytest.param("Bearer \u20ac", id="characters that no header can hold"),
    ],
)
def test_anything_else_is_refused(header: str | None) -> None:
    assert not has_token(TOKEN, header)


def test_a_token_that_is_not_ascii_is_compared_as_utf8() -> None:
    token = "schlüssel-€-0123456789"

    assert has_token(token, "Bearer " + token.encode().decode("latin-1"))
    assert not has_token(token, "Bearer schl\xfcssel-0123456789")


def answer(access: Access, request: HttpRequest, peer: str, not_ready: str = "") -> tuple[int, str, bytes]:
    """Return status, words for the log, and body."""
    app = make_answer_app(pytest.fail, access, lambda: not_ready)
    exchange = Exchange(request, peer, PatientClient())
    response = respond(app, environ_of(exchange, {}, 1))
    return response.status, exchange.outcome, response.body


def test_an_address_that_may_not_ask_gets_403_with_a_reason_and_no_body_is_judged() -> None:
    status, outcome, body = answer(Access([], NETWORKS), ask("POST", "/", too_large=True), OUTSIDE)
    assert status == 403
    assert outcome in body.decode()
    assert OUTSIDE in outcome


def test_without_a_set_ready_is_503_with_the_reason() -> None:
    status, outcome, body = answer(Access(), ask("GET", "/ready"), INSIDE, "the documents are being loaded")
    assert (status, body) == (503, b"the documents are being loaded\n")
    assert outcome == "the documents are being loaded"


def test_a_change_is_in_force_for_the_next_request() -> None:
    access = Access(["old-token-0123456789"], NETWORKS)
    access.change([TOKEN, "old-token-0123456789"], parse_networks("192.0.2.0/24"))
    assert access.fault(ask("GET", "/", token=TOKEN), OUTSIDE) is None
    assert access.fault(ask("GET", "/", token="old-token-0123456789"), OUTSIDE) is None
    assert access.fault(ask("GET", "/", token=TOKEN), INSIDE) == 403
    access.change([TOKEN], ())
    assert access.fault(ask("GET", "/", token="old-token-0123456789"), INSIDE) == 401


@pytest.mark.parametrize(
    ("networks", "peer", "inside"),
    [
        ("10.0.0.0/8", "10.255.255.255", True),
        ("10.0.0.0/8", "11.0.0.0", False),
        ("192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("::ffff:10.0.0.0/104", "10.1.2.3", True),
        ("::ffff:10.0.0.0/104", "11.1.2.3", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("::/0", "192.0.2.7", False),
        ("0.0.0.0/0, ::/0", "192.0.2.7", True),
        ("fe80::/10", "fe80::1%eth0", True),
        ("fd00::/8", "fd12::1", True),
        ("fd00::/8", "fe12::1", False),
    ],
)
def test_an_address_is_in_a_network(networks: str, peer: str, inside: bool) -> None:
    assert is_within(peer, parse_networks(networks)) is inside


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2001:4860:4860::8888", True),
        ("::ffff:8.8.8.8", True),
        ("100.64.0.1", False),
        ("127.0.0.1", False),
        ("::1", False),
        ("10.0.0.1", False),
        ("172.31.0.1", False),
        ("::ffff:192.168.1.1", False),
        ("169.254.1.1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("0.0.0.0", False),
        ("::", False),
        ("answers.example.com", False),
    ],
)
def test_an_address_is_public_where_strangers_may_reach_it(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_set_is_there_once_its_store_could_be_read(tmp_path: Path) -> None:
    directory = tmp_path / "answers"
    log = RequestLog(str(tmp_path / "log"))
    answers = AnswerSet(Loader(FileStore(directory)), WriteCounter(), log, Preparation(), reports=True)
    assert answers.readiness() == "the documents are being loaded"
    answers.refresh()
    assert "does not exist" in answers.readiness()
    directory.mkdir()
    (directory / "default.ks").write_text("lang fr\n")
    (directory / "broken.ks").symlink_to("/proc/self/environ")  # which never can be read
    answers.refresh()  # a file counts when two looks agree
    assert answers.readiness() == "the documents are being read"
    assert not answers.current().documents
    answers.refresh()
    assert len(answers.current().documents) == 2
    assert answers.readiness() == ""
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()
    answers.refresh()
    assert answers.readiness() == ""
    log.close()
