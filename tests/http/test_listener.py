"""A listener as a process of its own over real sockets: what every client gets, and what none can do to the others."""

import http.client
import json
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import ip_network
from pathlib import Path

import pytest

from answerd.server.admission import ADMISSION, Admission, raise_file_limit
from answerd.server.cells import Cells
from answerd.server.peer import peer_address
from tests.http.listener_harness import HOST, Server, resident_bytes, serving
from tests.support.replies import Reply, chunked, post, receive
from tests.support.waiting import PATIENCE, PROGRAM_SECONDS, again_for, wait_until

GET = b"GET / HTTP/1.1\r\nHost: s\r\n\r\n"
TIMEOUT = 1.0  # seconds, of the listener whose deadlines are watched


def environ(server: Server, request: bytes) -> dict[str, object]:
    shown = json.loads(server.send(request).body)
    assert isinstance(shown, dict)
    return shown


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def impatient() -> Iterator[Server]:
    with serving(limits={"timeout": TIMEOUT}) as running:
        yield running


# --- requests and responses -----------------------------------------------------------------------------------------


def test_a_response_has_type_length_and_closes(server: Server) -> None:
    response = server.send(GET)
    assert (response.status, response.body) == (200, b"hello\n")
    assert response.headers == {
        "content-type": "text/plain; charset=utf-8",
        "content-length": "6",
        "connection": "close",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
    }


@pytest.mark.parametrize("size", [0, 1, 5_000, 300_000, 1_048_576])
def test_a_body_arrives_whole_with_a_length_and_in_chunks(server: Server, size: int) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    assert server.send(post("/echo", body)).body == body
    pieces = [body[i : i + 50_000] for i in range(0, len(body), 50_000)]
    assert server.send(chunked("/echo", *pieces)).body == body


def test_a_body_of_chunks_of_one_byte_is_not_over_the_limit(server: Server) -> None:
    body = b"x" * 200_000
    assert server.send(chunked("/echo", *(b"x" for _ in body))).body == body


@pytest.mark.parametrize(
    "data",
    [post("/echo", b"x" * 1_048_577), chunked("/echo", b"x" * 1_048_576, b"x"), post("/", b"", length=10**10)],
    ids=["with a length", "in chunks", "claimed only"],
)
def test_a_body_over_the_limit_is_413(server: Server, data: bytes) -> None:
    response = server.send(data)
    assert response.status == 413
    assert not response.reset


def test_head_gets_the_length_and_no_body(server: Server) -> None:
    response = server.send(b"HEAD / HTTP/1.1\r\nHost: s\r\n\r\n")
    assert (response.status, response.headers["content-length"], response.body) == (200, "6", b"")


@pytest.mark.parametrize("path", ["/raise", "/split"])
def test_an_app_that_fails_is_a_500_without_its_stack_trace(server: Server, path: str) -> None:
    response = server.send(f"GET {path} HTTP/1.1\r\nHost: s\r\n\r\n".encode())
    assert response.status == 500
    assert response.body == b"the service failed unexpectedly, its log says why\n"
    assert "x-injected" not in response.headers
    line = server.wait_for_line(f"an app failed on GET {path}")  # one line, with the trace
    assert path != "/raise" or "RuntimeError: secret of the stack trace\\x0asecond line in application" in line


def test_bytes_that_come_while_the_app_runs_cost_nobody_the_answer(server: Server) -> None:
    with server.connect() as client:
        client.sendall(b"GET /slow?0.3 HTTP/1.1\r\nHost: s\r\n\r\n")
        assert server.send(GET).status == 200  # the request before this one has been read
        client.sendall(b"\r\n")
        answer = receive(client)
    assert (answer.body, answer.reset) == (b"slow\n", False)


def test_requests_that_wait_together_are_answered_each_with_its_own_and_none_waits_for_a_slow_one(
    server: Server,
) -> None:
    server.process.send_signal(signal.SIGSTOP)
    clients = [server.connect() for _ in range(120)]
    for number, client in enumerate(clients[1:-2]):
        client.sendall(post("/echo", b"body %d" % number))
    clients[0].sendall(b"GET /slow?30 HTTP/1.1\r\nHost: s\r\n\r\n")
    clients[-2].sendall(b"GET /raise HTTP/1.1\r\nHost: s\r\n\r\n")
    clients[-1].sendall(b"GET / HTTP/1.1\r\n\r\n")
    server.process.send_signal(signal.SIGCONT)
    answers = [receive(client) for client in clients[1:]]
    assert [answer.body for answer in answers[:-2]] == [b"body %d" % number for number in range(117)]
    assert [answer.status for answer in answers[-2:]] == [500, 400]
    clients[0].setblocking(False)
    with pytest.raises(BlockingIOError):
        clients[0].recv(1)
    for client in clients:
        client.close()


def test_a_header_that_was_seen_before_is_judged_as_it_was_then(server: Server) -> None:
    for _ in range(2):
        for body in (b"one", b"two"):
            assert server.send(b"POST /echo HTTP/1.1\r\nHost: s\r\nContent-Length: 3\r\n\r\n" + body).body == body
        assert server.send(b"GET / HTTP/1.0\r\nA: b\r\n\r\n").status == 200
        assert server.send(b"GET / HTTP/1.1\r\nA: b\r\n\r\n").status == 400
        assert server.send(b"GET / HTTP/1.1\r\nHost: s\r\nA: b\nC: d\r\n\r\n").status == 400


def test_pipelined_bytes_are_ignored(server: Server) -> None:
    response = server.send(GET + b"GET /second HTTP/1.1\r\nHost: s\r\n\r\n")
    assert response.raw.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("request_head", "target", "path_info", "query"),
    [
        (b"GET /environ?a=b&c HTTP/1.1", "/environ?a=b&c", "/environ", "a=b&c"),
        (b"GET http://other:1/environ?a HTTP/1.1", "/environ?a", "/environ", "a"),
        (b"GET /environ?%0a HTTP/1.1", "/environ?%0a", "/environ", "%0a"),
        (b"GET /environ?\xc3\xa9 HTTP/1.1", "/environ?\u00c3\u00a9", "/environ", "\u00c3\u00a9"),
        (b"GET /environ?a#fragment HTTP/1.1", "/environ?a", "/environ", "a"),
        (b"GET /environ? HTTP/1.1", "/environ?", "/environ", ""),
    ],
)
def test_the_app_sees_the_target_in_origin_form(
    server: Server, request_head: bytes, target: str, path_info: str, query: str
) -> None:
    seen = environ(server, request_head + b"\r\nHost: s\r\n\r\n")
    assert (seen["target"], seen["PATH_INFO"], seen["QUERY_STRING"]) == (target, path_info, query)


def test_a_header_with_underscores_never_shadows_one_with_dashes(server: Server) -> None:
    seen = environ(server, b"GET /environ HTTP/1.1\r\nHost: s\r\nX-A: right\r\nX_A: wrong\r\nx-b: 1\r\nX-B: 2\r\n\r\n")
    assert seen["HTTP_X_A"] == "right"
    assert seen["HTTP_X_B"] == "1, 2"
    assert seen["headers"] == [["host", "s"], ["x-a", "right"], ["x_a", "wrong"], ["x-b", "1"], ["x-b", "2"]]


def test_the_app_sees_a_chunked_body_as_a_plain_one(server: Server) -> None:
    seen = environ(server, chunked("/environ", b"hel", b"lo"))
    assert (seen["input"], seen["CONTENT_LENGTH"], "HTTP_TRANSFER_ENCODING" in seen) == ("hello", "5", False)


@pytest.mark.parametrize("spelling", ["100-continue", "100-Continue"])
def test_expect_is_answered_before_the_body_is_sent(server: Server, spelling: str) -> None:
    with server.connect() as client:
        client.sendall(post("/echo", b"", f"Expect: {spelling}", length=5))
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"hello")
        assert receive(client).body == b"hello"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (post("/echo", b"", "Expect: 100-continue", length=2_000_000), 413),
        (post("/echo", b"", "Expect: 100-continue"), 200),
        (post("/echo", b"hello", "Expect: 100-continue").replace(b"HTTP/1.1", b"HTTP/1.0"), 200),
    ],
    ids=["a body too large", "no body", "HTTP/1.0"],
)
def test_expect_is_not_answered_where_no_body_is_read(server: Server, data: bytes, status: int) -> None:
    assert server.send(data).status == status


# --- a response that meets a client which is still sending ----------------------------------------------------------


def http_client_status(server: Server, size: int, headers: dict[str, str] | None = None) -> int:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=PATIENCE)
    try:
        connection.request("POST", "/echo", body=b"x" * size, headers=headers or {})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("size", [1_048_577, 8_000_000])
def test_a_client_that_sends_on_still_gets_its_413(server: Server, size: int) -> None:
    assert [http_client_status(server, size) for _ in range(5)] == [413] * 5


def test_a_client_that_sends_a_megabyte_after_a_malformed_header_still_gets_its_400(server: Server) -> None:
    assert http_client_status(server, 1_000_000, {"Transfer-Encoding": "gzip", "Content-Length": "1000000"}) == 400


def test_a_client_that_sends_without_end_is_not_listened_to_for_ever(server: Server) -> None:
    with server.connect() as client:
        client.sendall(post("/echo", b"", length=10**12))
        sent, reset = 0, False
        while sent < 100_000_000 and not reset:
            try:
                sent += client.send(b"x" * 65_536)
            except OSError:
                reset = True
        assert reset
        assert 8_000_000 < sent < 40_000_000


# --- deadlines ------------------------------------------------------------------------------------------------------


def trickle(server: Server, first: bytes, drop: bytes) -> tuple[float, bytes]:
    """Sends slowly until it is cut off; the seconds that took, and what came back."""
    began = time.monotonic()
    with server.connect() as client:
        client.sendall(first)
        client.settimeout(0.05)
        for _ in again_for(PATIENCE):  # a deadline that starts anew with each byte never comes
            try:
                received = client.recv(1000)
                return time.monotonic() - began, received
            except TimeoutError:
                client.sendall(drop)
            except ConnectionResetError:
                return time.monotonic() - began, b""
    raise AssertionError("never cut off")


@pytest.mark.parametrize(
    ("first", "drop"),
    [(b"", b""), (b"G", b""), (b"GET / HTTP/1.1\r\n", b"X: y\r\n"), (post("/echo", b"", length=1_000), b"x")],
    ids=["silent", "one byte", "a slow header", "a slow body"],
)
def test_a_slow_sender_is_cut_off_without_a_response(impatient: Server, first: bytes, drop: bytes) -> None:
    seconds, received = trickle(impatient, first, drop)
    assert received == b""
    assert seconds > TIMEOUT - 0.1
    if first.startswith(b"POST"):
        assert impatient.wait_for_line("POST /echo").endswith("POST /echo body=0 - deadline bytes=0")


def test_a_slow_reader_is_cut_off_and_its_memory_released(impatient: Server) -> None:
    before = resident_bytes(impatient.process.pid)
    clients = []
    for _ in range(10):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE)
        client.connect((HOST, impatient.port))
        client.sendall(b"GET /big?4000000 HTTP/1.1\r\nHost: s\r\n\r\n")
        assert client.recv(1)
        clients.append(client)
    assert resident_bytes(impatient.process.pid) - before > 30_000_000
    # Each of them: one that is read from before its deadline gets its answer.
    cut_off = "GET /big?4000000 body=0 - deadline"
    wait_until(lambda: sum(cut_off in line for line in impatient.lines) == len(clients))
    assert all(receive(client).reset for client in clients)  # or the kernel would go on holding its part
    for client in clients:
        client.close()
    wait_until(lambda: resident_bytes(impatient.process.pid) - before < 10_000_000)


def test_an_app_goes_on_sending_beyond_the_deadline(impatient: Server) -> None:
    reply = impatient.send(b"GET /stream?700x1000 HTTP/1.1\r\nHost: s\r\n\r\n")
    assert reply.status == 200
    assert "content-length" not in reply.headers
    assert len(reply.body) == 700 * 1_000


def test_a_stream_whose_client_does_not_read_is_cut(impatient: Server) -> None:
    with impatient.connect() as client:
        client.sendall(b"GET /stream?100000x65536 HTTP/1.1\r\nHost: s\r\n\r\n")
        impatient.wait_for_line("the client does not read what it asked for")


def test_an_app_that_takes_too_long_is_counted_once_as_what_its_client_got() -> None:
    with serving(limits={"timeout": TIMEOUT}) as server:
        response = server.send(b"GET /slow?1.5 HTTP/1.1\r\nHost: s\r\n\r\n")
        assert (response.status, response.reset) == (503, False)
        assert response.headers["retry-after"] == "2"
        assert " 503 the service had no answer before the deadline" in server.wait_for_line("/slow")
        assert server.send(b"GET /slow?2 HTTP/1.1\r\nHost: s\r\n\r\n").status == 503  # the first app has ended now
        counted = json.loads(server.send(b"GET /counted HTTP/1.1\r\nHost: s\r\n\r\n").body)
    assert counted == [503, 503]


def test_a_request_that_the_loop_did_not_come_to_is_not_cut_off() -> None:
    """Its bytes are there, unread or in a row, when its deadline comes: the service was slow, and not its client."""
    with serving(limits={"timeout": TIMEOUT}) as server:
        blocking, *waiting = [server.connect() for _ in range(6)]
        server.send(GET)  # by now the others are accepted
        blocking.sendall(b"GET /block?%d HTTP/1.1\r\nHost: s\r\n\r\n" % (2 * TIMEOUT))
        server.wait_for_line("blocked")
        for client in waiting:
            client.sendall(GET)
        replies = [receive(client) for client in (blocking, *waiting)]
    statuses = {(reply.status, reply.headers.get("retry-after")) for reply in replies}
    assert statuses <= {(200, None), (503, "2")}


def test_idle_connections_cost_little_and_keep_no_other_client_from_its_answer() -> None:
    count = 2_000
    raise_file_limit()  # before the start: the service inherits the limit
    with serving(limits={"timeout": 3}, max_connections=5_000) as server:
        server.send(GET)
        before = resident_bytes(server.process.pid)
        idle = [server.connect(source=f"127.0.0.{2 + i % 4}") for i in range(count // 2)]
        assert server.send(GET).status == 200
        silent = resident_bytes(server.process.pid) - before
        for _ in range(count // 2):
            client = server.connect(source=f"127.0.0.{2 + len(idle) % 4}")
            client.sendall(b"GET / HT")
            idle.append(client)
        assert server.send(GET).status == 200
        begun = resident_bytes(server.process.pid) - before - silent
        assert silent / (count / 2) < 2_000
        assert begun / (count / 2) < 10_240
        for _ in range(50):
            assert server.send(GET).status == 200
        for client in idle:
            assert client.recv(1) == b""
            client.close()


# --- admission ------------------------------------------------------------------------------------------------------


def test_above_the_limit_clients_get_a_503_at_once_and_service_again_when_there_is_room() -> None:
    with serving(max_connections=3) as server:
        held = [server.connect() for _ in range(3)]
        wait_until(lambda: server.send(GET).status == 503)
        response = server.send(GET)
        assert (response.status, response.headers["retry-after"], response.headers["connection"]) == (503, "2", "close")
        assert response.headers["content-type"].startswith("text/plain")
        assert response.headers["content-length"] == str(len(response.body))
        assert response.body.count(b"\n") == 1
        assert http_client_status(server, 1_000_000) == 503
        assert http_client_status(server, 3) == 503
        with server.connect() as silent:  # it need not even ask
            assert receive(silent).status == 503
        held.pop().close()
        wait_until(lambda: server.send(GET).status == 200)
        for client in held:
            client.sendall(GET)
            assert receive(client).status == 200
            client.close()
        assert "limit 3" in server.wait_for_line("503 shed")


REPORT = b"POST /report/token/done HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\nhello"


def test_above_the_limit_there_are_64_places_for_what_is_reserved() -> None:
    with serving(max_connections=2) as server, ExitStack() as clients:
        held = [clients.enter_context(server.connect()) for _ in range(2)]
        wait_until(lambda: server.send(GET).status == 503)
        for step in (len(REPORT), 7):
            assert server.send(*[REPORT[at : at + step] for at in range(0, len(REPORT), step)]).status == 200
        for refused in (b"GET no-path HTTP/1.1\r\nHost: s\r\n", b"rubbish\r\n", b""):
            assert server.send(refused).status == 503
        slow = [clients.enter_context(server.connect()) for _ in range(64)]
        for client in slow:
            client.sendall(REPORT[:-1])
        wait_until(lambda: server.send(REPORT).status == 503)
        for client in slow:
            client.sendall(REPORT[-1:])
            assert receive(client).status == 200
        assert server.send(REPORT).status == 200
        assert server.send(GET).status == 503
        for client in held:
            client.sendall(GET)
            assert receive(client).status == 200
        assert server.send(GET).status == 200
        assert not [line for line in server.lines if "failed" in line]


def test_what_is_reserved_is_answered_before_the_others_that_wait(server: Server) -> None:
    server.send(b"GET /before-it-stops HTTP/1.1\r\nHost: s\r\n\r\n")
    server.wait_for_line("/before-it-stops")  # and with it come the lines of the tests before
    server.process.send_signal(signal.SIGSTOP)
    clients = [server.connect() for _ in range(20)]
    for client in clients[:-1]:
        client.sendall(GET)
    clients[-1].sendall(REPORT)
    said = len(server.lines)
    server.process.send_signal(signal.SIGCONT)
    assert {receive(client).status for client in clients} == {200}
    server.wait_for_line("/report/")
    wait_until(lambda: len(server.lines) >= said + 20)
    assert "/report/" in server.lines[said]
    for client in clients:
        client.close()


def test_exactly_as_many_clients_as_places_see_no_503() -> None:
    clients, requests = 8, 150
    statuses: list[int] = []

    def ask(server: Server) -> None:
        for _ in range(requests):
            connection = http.client.HTTPConnection(HOST, server.port, timeout=PATIENCE)
            connection.request("GET", "/")
            response = connection.getresponse()
            response.read()  # comes back as soon as it has everything, before the connection has ended
            statuses.append(response.status)
            connection.close()

    with serving(max_connections=clients) as server:
        threads = [threading.Thread(target=ask, args=(server,)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses == [200] * (clients * requests)


def test_a_stampede_gets_200_or_503_and_no_reset() -> None:
    raise_file_limit()
    with serving(max_connections=50) as server:
        clients = []
        for i in range(1_500):
            client = server.connect(source=f"127.0.0.{2 + i % 8}")
            client.sendall(GET)
            clients.append(client)
        responses = [receive(client) for client in clients]
        for client in clients:
            client.close()
    assert {response.status for response in responses} <= {200, 503}
    assert not [response for response in responses if response.reset]


def test_without_files_left_accepting_pauses_and_clients_are_served_again_later() -> None:
    with serving(files=60, max_connections=2_000) as server:
        held = [server.connect() for _ in range(80)]
        assert "Too many open files" in server.wait_for_line("accept failed")
        time.sleep(1.2)
        line = [line for line in server.lines if "accept failed" in line][-1]
        assert int(line.split("(")[1].split()[0]) < 60, "it spins"
        for client in held:
            client.close()
        wait_until(lambda: server.send(GET).status == 200)
        assert len([line for line in server.lines if "accept failed" in line]) < 5


def test_workers_share_one_count() -> None:
    cells = Cells(ADMISSION, 2)
    admission = Admission(3, cells)
    places = admission.connections
    cells.attach(1)
    assert places.take()
    assert places.take()
    cells.attach(0)
    assert places.take()
    assert not places.take()
    assert admission.in_flight() == 3
    cells.clear(1, ADMISSION)
    assert admission.in_flight() == 1
    places.add(-1)
    assert admission.in_flight() == 0


# --- the peer's address ---------------------------------------------------------------------------------------------

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("2001:db8::/32")]


@pytest.mark.parametrize(
    ("connected", "forwarded", "peer"),
    [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["198.51.100.7, 10.1.1.1"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7, 10.1.1.1"], "198.51.100.7"),
        ("10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"),
        ("10.0.0.1", ["[2001:db9::7]:4711"], "2001:db9::7"),
        ("10.0.0.1", ["[2001:db9::7]"], "2001:db9::7"),
        ("10.0.0.1", ["2001:DB9:0::7"], "2001:db9::7"),
        ("10.0.0.1", ["::ffff:198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["198.51.100.7, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7, unknown, 10.2.2.2"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7,,"], "198.51.100.7"),
        ("10.0.0.1", ["10.3.3.3, 10.2.2.2"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7:x"], "10.0.0.1"),
        ("10.0.0.1", ["[2001:db9::7"], "10.0.0.1"),
        ("10.0.0.1", ["2001:db9::7%x y"], "10.0.0.1"),
        ("::ffff:10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("::ffff:192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("2001:db8::1", ["198.51.100.7"], "198.51.100.7"),
    ],
)
def test_the_peer_is_the_last_address_that_is_no_trusted_proxy(connected: str, forwarded: list[str], peer: str) -> None:
    assert peer_address(connected, forwarded, TRUSTED) == peer


def test_a_trusted_proxy_is_believed_in_environ_and_log() -> None:
    with serving(trusted=["127.0.0.0/8"]) as server:
        request = b"GET /environ HTTP/1.1\r\nHost: s\r\nX-Forwarded-For: 203.0.113.9, 198.51.100.7, 127.0.0.9\r\n\r\n"
        assert environ(server, request)["peer"] == "198.51.100.7"
        server.wait_for_line(" 198.51.100.7:")


@pytest.mark.skipif(not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")
def test_an_ipv6_listener_takes_ipv4_clients_too() -> None:
    with serving(host="::") as server:
        assert environ(server, GET.replace(b"/ ", b"/environ "))["peer"] == HOST
        with socket.create_connection(("::1", server.port), 5) as client:
            client.sendall(GET.replace(b"/ ", b"/environ "))
            assert json.loads(receive(client).body)["peer"] == "::1"
        server.wait_for_line(" [::1]:")


# --- TLS ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{path}.key", "-out", f"{path}.crt",
         "-days", "2", "-subj", "/CN=test"],
        check=True,
        capture_output=True,
    timeout=PROGRAM_SECONDS)  # fmt: skip
    path.write_text(Path(f"{path}.key").read_text() + Path(f"{path}.crt").read_text())
    return str(path)


def tls_send(server: Server, data: bytes, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Reply:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    with server.connect() as plain, context.wrap_socket(plain) as client:
        client.sendall(data)
        return receive(client)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_is_served_with_the_same_limits(certificate: str, version: ssl.TLSVersion) -> None:
    with serving(certificate=certificate, limits={"timeout": TIMEOUT}) as server:
        with server.connect() as stalled:  # a handshake that never goes on holds up nobody
            stalled.sendall(b"\x16\x03\x01")
            assert tls_send(server, GET, version).body == b"hello\n"
            assert tls_send(server, post("/echo", b"x" * 1_000_000), version).body == b"x" * 1_000_000
            assert tls_send(server, post("/echo", b"x" * 2_000_000), version).status == 413
            assert len(tls_send(server, b"GET /big?3000000 HTTP/1.1\r\nHost: s\r\n\r\n", version).body) == 3_000_000
            assert stalled.recv(1) == b""
        assert server.send(GET).status == 0
        server.wait_for_line("TLS failed")
        assert not [line for line in server.lines if "connection failed" in line]


def test_an_app_goes_on_sending_under_tls(certificate: str) -> None:
    with serving(certificate=certificate) as server:
        assert len(tls_send(server, b"GET /stream?3x65536 HTTP/1.1\r\nHost: s\r\n\r\n").body) == 3 * 65_536


def test_a_tls_handshake_on_a_plain_port_is_named_in_the_log(server: Server) -> None:
    with pytest.raises(ssl.SSLError):
        tls_send(server, GET)
    assert " 400 a TLS handshake on a port that speaks plain HTTP" in server.wait_for_line("TLS handshake")


def test_tls_clients_above_the_limit_get_their_503(certificate: str) -> None:
    with serving(certificate=certificate, max_connections=1) as server, server.connect():
        wait_until(lambda: tls_send(server, GET).status == 503)
        assert tls_send(server, REPORT).status == 200
        assert tls_send(server, GET).headers["retry-after"] == "2"


# --- the end --------------------------------------------------------------------------------------------------------


def test_an_app_that_never_returns_is_ended_with_the_service() -> None:
    server = Server(limits={"timeout": 1.0})
    with server.connect() as client:
        client.sendall(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
        assert receive(client).status == 503
    assert server.stop() == "drained 0"
    assert server.wait_for_line("the app was ended")


def test_connections_in_the_kernels_queue_are_answered_while_draining() -> None:
    server = Server(limits={"accept_at_once": 20})
    clients = []
    server.process.send_signal(signal.SIGSTOP)
    try:
        for _ in range(300):
            client = server.connect()
            client.sendall(GET)
            clients.append(client)
        server.process.terminate()
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert [receive(client).status for client in clients] == [200] * 300
    for client in clients:
        client.close()
    assert server.stop() == "drained 0"
