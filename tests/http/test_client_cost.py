"""The cost of a client: memory that it holds, connections that it keeps idle, bodies that are not wanted."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from answerd.server.admission import LEAST_FOR_ANSWERS, divide
from tests.http.listener_harness import Server
from tests.http.listener_harness import serving as listening
from tests.support.replies import Reply, chunked, exchange, post, receive, request_bytes
from tests.support.service import PROGRAM, Service
from tests.support.waiting import PATIENCE, wait_until

TOKEN = "answer-token-0123456789"
ADMIN_TOKEN = "admin-token-0123456789"
ALWAYS = {"cache-control": "no-store", "x-content-type-options": "nosniff", "connection": "close"}
MEGABYTE = 1_048_576
SQLITE = {"SERVICE_STORE": "sqlite", "SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": ADMIN_TOKEN}


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The program with a database, both tokens set. No test changes what the others see."""
    settings: dict[str, Any] = {"SERVICE_DB_PATH": tmp_path_factory.mktemp("admin") / "a.db", **SQLITE}
    with Service(SERVICE_ANSWER_TOKEN=TOKEN, **settings) as service:
        yield service


@pytest.fixture(scope="module")
def patient() -> Iterator[Server]:
    """A listener whose deadline is farther away than the patience of any client."""
    with listening(limits={"timeout": 60.0}) as server:
        yield server


# --- memory ---------------------------------------------------------------------------------------------------------


def test_answers_that_nobody_reads_are_bounded_over_all_connections() -> None:
    size = LEAST_FOR_ANSWERS * 2 // 5
    request = f"GET /big?{size} HTTP/1.1\r\nHost: s\r\n\r\n".encode()
    with listening(max_connections=8) as server, ExitStack() as clients:
        readers = []
        for _ in range(2):
            reader = clients.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.settimeout(PATIENCE)
            reader.connect(("127.0.0.1", server.port))
            reader.sendall(request)
            assert reader.recv(1)
            readers.append(reader)
        refused = server.send(request)
        assert (refused.status, refused.headers["retry-after"]) == (503, "2")
        assert server.send(b"GET / HTTP/1.1\r\nHost: s\r\n\r\n").status == 200
        assert "answers waiting to be read" in server.wait_for_line("503 shed")
        readers.pop().close()
        wait_until(lambda: server.send(request).status == 200)
        assert len(receive(readers[0]).body) > size - 10


@pytest.fixture
def half_full() -> Iterator[tuple[Callable[[bytes], Reply], socket.socket]]:
    """A listener whose memory for bodies (20 shares: 1,310,720 bytes) one client fills with a megabyte."""
    with listening(max_connections=20) as server, server.connect() as holder:
        holder.sendall(post("/echo", b"x" * 1_000_000, length=MEGABYTE))
        # One byte more than is left once all of it has been read, and no more, or the holder could be the one refused.
        wait_until(lambda: server.send(post("/echo", b"y" * 310_721)).status == 503)
        yield server.send, holder


def test_above_the_memory_for_bodies_a_large_one_is_503_and_a_small_one_is_served(
    half_full: tuple[Callable[[bytes], Reply], socket.socket],
) -> None:
    send, holder = half_full
    refused = send(chunked("/echo", *[b"y" * 90_000] * 10))
    assert (refused.status, refused.headers["retry-after"]) == (503, "2")
    for size in (10, 60_000):
        assert send(post("/echo", b"z" * size)).body == b"z" * size
    holder.sendall(b"x" * (MEGABYTE - 1_000_000))
    assert receive(holder).body == b"x" * MEGABYTE
    assert send(post("/echo", b"y" * 900_000)).status == 200


def test_what_an_answer_held_is_given_back_when_its_client_is_cut_off() -> None:
    request = b"GET /big?8000000 HTTP/1.1\r\nHost: s\r\n\r\n"
    with listening(max_connections=8, limits={"timeout": 1.0}) as server, server.connect() as reader:
        reader.sendall(request)
        assert reader.recv(1)
        assert server.send(request).status == 503
        server.wait_for_line("deadline")
        wait_until(lambda: server.send(request).status == 200)


# --- judged from the header -----------------------------------------------------------------------------------------


def waiting(address: tuple[str, int] | None, method: str, target: str, *headers: str, body: bytes = b"") -> bytes:
    """What comes back for a header alone that promises a body and asks whether to send it."""
    assert address
    lines = [f"{method} {target} HTTP/1.1", "Host: s", "Expect: 100-continue", *headers]
    with socket.create_connection(address, PATIENCE) as client:
        client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return client.recv(65_536)


LENGTH = "Content-Length: 1000"
CHUNKED = "Transfer-Encoding: chunked"
BEARER = f"Authorization: Bearer {TOKEN}"
ADMIN = f"Authorization: Bearer {ADMIN_TOKEN}"


@pytest.mark.parametrize(
    ("asked", "headers", "status"),
    [
        ("POST /ks", [LENGTH, BEARER], 100),
        ("POST /ks", [CHUNKED, BEARER], 100),
        ("POST /ks", [LENGTH], 401),
        ("POST /ks", [CHUNKED], 401),
        ("PUT /ks", [LENGTH], 405),
        ("PUT /ks", ["Content-Length: 9999999"], 405),
        ("PUT /ks", ["Content-Length: x"], 400),
        ("POST /ks", ["Content-Length: 9999999"], 401),
        ("POST /ks", ["Content-Length: 9999999", BEARER], 413),
        ("POST /ks", [LENGTH, "Content-Length: 2"], 400),
        ("GET /health", [LENGTH], 200),
        ("HEAD /health", [CHUNKED], 200),
    ],
)
def test_the_answer_endpoint_judges_the_header_before_the_body(
    admin: Service, asked: str, headers: list[str], status: int
) -> None:
    method, target = asked.split()
    bad_beginning = [b"zz\r\n"] if status != 100 else []  # where the body is wanted, it is read
    for body in (b"", *bad_beginning):
        assert waiting(admin.address, method, target, *headers, body=body).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize(
    ("method", "target", "headers", "status"),
    [
        ("PUT", "/machines/a?format=ks", [LENGTH, ADMIN], 100),
        ("PUT", "/default?format=ks", [CHUNKED, ADMIN], 100),
        ("PUT", "/machines/a?format=ks", [LENGTH], 401),
        ("PUT", "/nowhere", [LENGTH], 401),
        ("PUT", "/nowhere", [LENGTH, ADMIN], 404),
        ("PUT", "/machines", [LENGTH, ADMIN], 405),
        ("DELETE", "/machines/a?format=ks", [LENGTH, ADMIN], 404),
        ("PUT", "/machines/a", ["Content-Length: 262145", ADMIN], 413),
        ("PUT", "/machines/a", ["Content-Length: 262145"], 401),
        ("PUT", "/nowhere", ["Content-Length: 262145", ADMIN], 404),
        ("GET", "/health", [LENGTH], 200),
    ],
)
def test_the_admin_api_judges_the_header_before_the_body(
    admin: Service, method: str, target: str, headers: list[str], status: int
) -> None:
    received = waiting(admin.admin, method, target, *headers)
    assert received.startswith(b"HTTP/1.1 %d " % status)
    if status >= 400:
        assert "error" in json.loads(received.partition(b"\r\n\r\n")[2])


def test_a_client_that_sends_a_body_nobody_wants_still_gets_its_refusal(admin: Service) -> None:
    assert admin.address
    for _ in range(3):
        connection = http.client.HTTPConnection(*admin.address, timeout=PATIENCE)
        connection.request("POST", "/ks", body=b"x" * 6_000_000)
        assert connection.getresponse().status == 401
        connection.close()


# --- every response -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET /health HTTP/1.1\r\nHost: s\r\n\r\n", 200),
        (b"HEAD /health HTTP/1.1\r\nHost: s\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /machines HTTP/1.1\r\nHost: s\r\n\r\n", 401),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: s\r\nA: " + b"a" * 70_000, 431),
    ],
)
@pytest.mark.parametrize("endpoint", ["address", "admin"])
def test_every_response_forbids_keeping_and_guessing(
    admin: Service, endpoint: str, request_head: bytes, status: int
) -> None:
    reply = exchange(getattr(admin, endpoint), request_head)
    assert reply.status == status
    assert ALWAYS.items() <= reply.headers.items()
    assert {"content-type", "content-length"} <= reply.headers.keys()
    if status >= 400:
        kind = "application/json" if endpoint == "admin" else "text/plain; charset=utf-8"
        assert reply.headers["content-type"] == kind


def test_the_503_of_a_listener_has_the_headers_of_every_response() -> None:
    with listening(max_connections=1) as server, server.connect():
        wait_until(lambda: server.send(b"GET / HTTP/1.1\r\nHost: s\r\n\r\n").status == 503)
        assert ALWAYS.items() <= server.send(b"").headers.items()


# --- idle connections -----------------------------------------------------------------------------------------------


def ask_admin(service: Service) -> Reply:
    assert service.admin
    return exchange(service.admin, request_bytes("GET", "/machines", {"Authorization": f"Bearer {ADMIN_TOKEN}"}))


@pytest.mark.parametrize("said", [b"", b"GET /mach"], ids=["silent", "within the request line"])
def test_idle_connections_to_the_admin_api_lock_nobody_out(
    serving: Callable[..., Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    with_few_files = ["sh", "-c", 'ulimit -n 200 && exec "$@"', "sh", *PROGRAM]
    monkeypatch.setattr("tests.support.service.PROGRAM", with_few_files)
    service = serving(SERVICE_DB_PATH=tmp_path / "a.db", SERVICE_TIMEOUT_SECS=30, **SQLITE)
    service.wait_for_log("limit of open files")
    assert service.admin
    with ExitStack() as clients:
        for _ in range(260):
            client = clients.enter_context(socket.create_connection(service.admin, PATIENCE))
            client.sendall(said)
        for _ in range(3):
            assert ask_admin(service).status == 200
        assert service.address
        idle = [clients.enter_context(socket.create_connection(service.address, PATIENCE)) for _ in range(60)]
        for client in idle:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: s\r\n")
        assert service.get("/health").status == 200
        for client in idle:
            client.sendall(b"\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        service.wait_for_log("503 shed .* connections")
        assert not [line for line in service.log if "accept failed" in line]


@pytest.mark.parametrize("files", [100, 200, 256, 1_024, 4_096, 65_536, 1_048_576])
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("configured", [1, 100, 2_048, 500_000])
def test_descriptors_are_divided_and_never_promised_twice(files: int, workers: int, configured: int) -> None:
    divided = divide(files, configured, workers)
    of_answers = -(-divided.answers // workers) + divided.lingering
    assert of_answers + 64 <= max(files, 64 + 2)
    assert 1 <= divided.answers <= configured
    assert bool(divided.warning) == (divided.answers < configured)
    if files >= 65_536 and configured == 2_048:
        assert (divided.answers, divided.admin) == (2_048, 256)
