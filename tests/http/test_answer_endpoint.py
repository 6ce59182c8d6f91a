"""The answer endpoint of the real program: statuses, their order, their bodies, and what the log says.

Rules: docs/http.md, docs/running.md#the-log.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.replies import Reply, pieces, request_bytes
from tests.support.service import Service, write_tree
from tests.support.waiting import PATIENCE

TOKEN = "installer-töken-0123456789"
FLEET = {
    "node1.toml": "x = 1\n",
    "node2.toml": "x = = 1\n",
    "node3.toml": 'x = "{{ serial }}"\n',
    "node4.toml": 'extends = "ghost"\n',
    "empty.toml": "",
    "default.ks": "lang\n",
    "groups/peer.toml": 'x = "{{ peer }}"\n[match]\nwhat = "peer"\n',
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("answers")
    write_tree(directory, FLEET)
    return directory


@pytest.fixture(scope="module")
def service(answers: Path) -> Iterator[Service]:
    """The program without a token, behind a proxy that it trusts."""
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_TRUSTED_PROXIES="127.0.0.1/32") as running:
        yield running


@pytest.fixture(scope="module")
def guarded(answers: Path) -> Iterator[Service]:
    """The program with a token."""
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_ANSWER_TOKEN=TOKEN) as running:
        yield running


def is_an_error(reply: Reply) -> bool:
    """Whether a response is an error as docs/http.md has it: one plain line, and closed."""
    return (
        reply.headers["content-type"].startswith("text/plain")
        and reply.headers["connection"] == "close"
        and reply.text.endswith("\n")
        and reply.text.count("\n") == 1
        and len(reply.text) > 10
        and "Traceback" not in reply.text
    )


@pytest.mark.parametrize(
    ("target", "status", "words"),
    [
        ("/pve?h=node2", 500, "line 1"),
        ("/pve?h=node3", 500, "serial"),
        ("/pve?h=node3&serial=a%0ab", 500, "control character"),
        ("/pve?h=node4", 500, "ghost"),
        ("/pve?h=empty", 500, "empty"),
        ("/pve?mac=98:fa:9b:50:d8:10", 404, "mac=98:fa:9b:50:d8:10"),
        ("/pve?serial=%0d%0aX-Forged:%201", 404, "serial="),
        ("/pve?serial=%C3%A9", 404, "serial=é"),
    ],
)
def test_an_error_is_one_line_that_says_why(service: Service, target: str, status: int, words: str) -> None:
    reply = service.get(target)
    assert reply.status == status
    assert is_an_error(reply)
    assert words in reply.text


def test_an_error_is_a_comment_for_grub(service: Service) -> None:
    """Which runs the text of a 404 as commands."""
    for target in ("/grub.cfg-01-52:54:00:00:00:01", "/proxmox/node2", "/proxmox/node4"):
        said, plain = service.get(target, User_Agent="GRUB 2.12-9+deb13u4"), service.get(target)
        assert said.status == plain.status
        assert said.text == f"# {plain.text}"
        assert said.text.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "status"), [("/pve?h=node1", 200), ("/proxmox/node2", 500), ("/grub.cfg-01-52:54:00:00:00:01", 404)]
)
def test_a_head_request_gets_the_header_of_a_get_and_no_body(service: Service, target: str, status: int) -> None:
    assert service.address
    with socket.create_connection(service.address, timeout=PATIENCE) as connection:
        connection.sendall(request_bytes("HEAD", target, {}))
        received = b"".join(pieces(connection))
    with socket.create_connection(service.address, timeout=PATIENCE) as connection:
        connection.sendall(request_bytes("GET", target, {}))
        whole = b"".join(pieces(connection))
    assert received.startswith(f"HTTP/1.1 {status} ".encode())
    assert received == whole.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


def test_another_method_is_405_and_names_those_that_are_answered(service: Service) -> None:
    refused = service.send(request_bytes("DELETE", "/pve?h=node1", {}))
    assert (refused.status, refused.headers["allow"]) == (405, "GET, POST")


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"BEARER  {TOKEN} ", 200),
        (None, 401),
        (f"Bearer {TOKEN}x", 401),
        ("Bearer \xff\xfe", 401),
    ],
)
def test_the_bearer_token(guarded: Service, authorization: str | None, status: int) -> None:
    header = b"" if authorization is None else b"Authorization: " + authorization.encode() + b"\r\n"
    reply = guarded.send(b"GET /pve?h=node1 HTTP/1.1\r\nHost: a\r\n" + header + b"\r\n")
    assert reply.status == status
    if status == 401:
        assert reply.headers["www-authenticate"] == "Bearer"
        assert is_an_error(reply)


def test_the_right_token_is_never_blocked_and_never_logged(guarded: Service) -> None:
    for _ in range(20):
        assert guarded.get("/pve?h=node1", Authorization="Bearer wrong-wrong-wrong").status == 401
    right = b"GET /pve?h=node1&last=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
    assert guarded.send(right).status == 200
    guarded.wait_for_log("last=1")
    assert not [line for line in guarded.log if "wrong-wrong" in line or TOKEN in line]
    assert guarded.wait_for_log(r" 401 .*token")


@pytest.mark.parametrize("target", ["/health", "/health?x=1"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health_needs_no_token(guarded: Service, method: str, target: str) -> None:
    reply = guarded.send(request_bytes(method, target, {}))
    assert (reply.status, reply.headers["content-length"], reply.headers["connection"]) == (200, "3", "close")
    assert reply.body == (b"OK\n" if method == "GET" else b"")


@pytest.mark.parametrize("target", ["/health/", "/Health", "/x/health", "/health%20"])
def test_only_health_is_health(guarded: Service, target: str) -> None:
    assert guarded.get(target).status == 401


def test_a_post_to_health_is_a_request_like_any_other(guarded: Service, service: Service) -> None:
    assert guarded.post("/health", b"").status == 401
    assert service.post("/health", b"").text == "lang\n"
    assert service.send(request_bytes("PUT", "/health", {})).status == 405


def test_the_peer_is_what_a_trusted_proxy_says_and_nobody_else(service: Service, guarded: Service) -> None:
    request = (
        "GET /pve?what=peer&peer=10.9.9.9 HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.1, 192.0.2.7:4711\r\n"
        f"Authorization: Bearer {TOKEN}\r\n\r\n"
    ).encode()
    assert service.send(request).text == 'x = "192.0.2.7"\n'
    assert guarded.send(request).text == 'x = "127.0.0.1"\n'


LINE = r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ 127\.0\.0\.1:\d+ "


@pytest.mark.parametrize(
    ("method", "target", "body", "line"),
    [
        ("GET", "/pve?h=node1&log=1", b"", r"GET /pve\?h=node1&log=1 body=0 200 format=toml machine=node1 bytes=6\Z"),
        (
            "POST",
            "/pve?h=node1&log=2",
            b"12345",
            r"POST /pve\?h=node1&log=2 body=5 200 format=toml machine=node1 bytes=6\Z",
        ),
        ("GET", "/ks?log=3", b"", r"GET /ks\?log=3 body=0 200 format=text default bytes=5\Z"),
        ("GET", "/pve?log=4&what=peer", b"", r"body=0 200 format=toml group=peer bytes=16\Z"),
        ("GET", "/pve?log=5&mac=98:fa:9b:50:d8:10", b"", r" body=0 404 .*mac=98:fa:9b:50:d8:10.* bytes=\d+\Z"),
        (
            "GET",
            "/pve?log=6&serial=S%0aX",
            b"",
            r"GET /pve\?log=6&serial=S%0aX body=0 404 .*serial=S(\?|\\n)X.* bytes=\d+\Z",
        ),
        ("GET", "/pve?log=7&h=node2", b"", r"body=0 500 machine \"node2\" \(toml\): does not parse.* bytes=\d+\Z"),
        ("PUT", "/pve?log=8", b"", r"PUT /pve\?log=8 body=0 405 .* bytes=\d+\Z"),
        ("POST", "/pve?log=9&h=node1", b"secret-password", r"body=15 200 format=toml machine=node1 bytes=6\Z"),
        (
            "GET",
            "/a%0a2026-01-01T00:00:00Z%20-%20forged?log=10",
            b"",
            r"GET /a%0a2026-01-01T00:00:00Z%20-%20forged\?log=10 ",
        ),
        ("GET", "/a\x1b[2J\x85?log=11", b"", r"GET /a\\x1b\[2J\\x85\?log=11 |GET - |400"),
    ],
)
def test_one_line_per_request(service: Service, method: str, target: str, body: bytes, line: str) -> None:
    service.send(request_bytes(method, target, {}, body))
    number = re.search(r"log=\d+", target)
    assert number
    found = service.wait_for_log(rf"{number[0]}(?!\d)| body=0 400 ")
    assert re.search(LINE, found)
    assert re.search(line, found)
    assert not [line for line in service.log if "secret-password" in line or re.match(r"2026-01-01", line)]


LARGE_REQUESTS: dict[str, tuple[str, bytes, str]] = {
    "a machine in the body": ("/pve", b'{"pad": ["' + b'","'.join([b"x"] * 9_000) + b'"], "h": "node1"}', "x = 1\n"),
    "a selector among a thousand values": (
        "/ks",
        json.dumps({"serial": ["7abxyz"] * 9_000 + ["7ab042"], "note": "N"}).encode(),
        "lang 42 7abxyz N\n",
    ),
    "a side file": (
        "/ubuntu/meta-data",
        json.dumps(["x"] * 9_000 + ["member-1"]).encode(),
        'instance-id: "member-1"\n',
    ),
    "a form": ("/ks", b"x=1&" * 9_000 + b"serial=7ab007", "lang 7 7ab007 -\n"),
}


@pytest.mark.parametrize(("target", "body", "answer"), LARGE_REQUESTS.values(), ids=LARGE_REQUESTS.keys())
def test_a_large_body_is_answered_as_a_small_one_and_others_beside_it(
    serving: Callable[..., Service], target: str, body: bytes, answer: str
) -> None:
    groups = {
        f"groups/g{number}.ks": f"# answer: match serial=*7ab{number:03d}*\n"
        f"lang {number} {{{{ serial }}}} {{{{ note | default('-') }}}}\n"
        for number in range(50)
    }
    service = serving({"node1.toml": "x = 1\n", "groups/m.yaml": "members: [member-1]\na: 1\n", **groups})
    form = {"Content-Type": "application/x-www-form-urlencoded"}  # what is JSON is JSON all the same
    with ThreadPoolExecutor(4) as clients:
        replies = list(clients.map(lambda _: service.post(target, body, **form), range(4)))
        assert service.get("/health").status == 200
    assert [(reply.status, reply.text) for reply in replies] == [(200, answer)] * 4
