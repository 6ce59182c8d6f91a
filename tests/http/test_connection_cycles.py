"""No connection leaves a reference cycle, whatever its client does: `answerd.server.os_support` rests on that."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

from tests.http.listener_harness import Server, serving
from tests.support.replies import receive

GET = b"GET / HTTP/1.1\r\nHost: s\r\n\r\n"
POST = b"POST /echo HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\n"
CHUNKED = b"POST /echo HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n"


def reset(server: Server, sent: bytes) -> None:
    """Send something and abort the connection."""
    with server.connect() as client:
        client.sendall(sent)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def leave(server: Server, sent: bytes) -> None:
    """Send something, say that it is all, and read what comes."""
    with server.connect() as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        receive(client)


CLIENTS: dict[str, Callable[[Server], object]] = {
    "a request": lambda server: server.send(GET),
    "a body": lambda server: server.send(POST, b"hello"),
    "a body in chunks": lambda server: server.send(CHUNKED, b"5\r\nhello\r\n", b"0\r\n\r\n"),
    "bad chunks": lambda server: server.send(CHUNKED, b"rubbish\r\n"),
    "a body that waits for 100": lambda server: server.send(POST[:-2] + b"Expect: 100-continue\r\n\r\n", b"hello"),
    "a wrong method": lambda server: server.send(GET.replace(b"GET", b"PUT")),
    "a malformed request": lambda server: server.send(b"rubbish\r\n\r\n"),
    "a body too large": lambda server: server.send(POST.replace(b" 5", b" 5000000"), b"x" * 100_000),
    "a large answer": lambda server: server.send(GET.replace(b"/ ", b"/big?3000000 ")),
    "an app that fails": lambda server: server.send(GET.replace(b"/ ", b"/raise ")),
    "an app that waits": lambda server: server.send(GET.replace(b"/ ", b"/slow?0.01 ")),
    "an answer that cannot be sent": lambda server: server.send(GET.replace(b"/ ", b"/split ")),
    "nothing, and gone": lambda server: leave(server, b""),
    "half a header, and gone": lambda server: leave(server, GET[:-2]),
    "half a body, and gone": lambda server: leave(server, POST + b"he"),
    "half a body, and a reset": lambda server: reset(server, POST + b"he"),
    "a large answer, and a reset": lambda server: reset(server, GET.replace(b"/ ", b"/big?3000000 ")),
}  # fmt: skip


def cycles(server: Server) -> int:
    """The objects that the collector finds in the server, which never runs by itself."""
    return int(server.send(GET.replace(b"/ ", b"/cycles ")).body)


def test_no_connection_leaves_a_cycle() -> None:
    with serving(never_collect=True) as server:
        left = {}
        for name, act in CLIENTS.items():
            act(server)
            cycles(server)
            for _ in range(10):
                act(server)
            left[name] = cycles(server)
    assert left == dict.fromkeys(CLIENTS, 0)


def test_no_greenlet_that_has_answered_keeps_the_request() -> None:
    """Bottle's request is a context variable: a body of 1 MB would stay until the greenlet answers again."""
    with serving() as server:
        clients = [server.connect() for _ in range(5)]  # of which each has a greenlet of its own
        for client in clients:
            client.sendall(GET.replace(b"/ ", b"/remember "))
        assert [receive(client).body for client in clients] == [b"hello\n"] * 5
        assert server.send(GET.replace(b"/ ", b"/remembered ")).body == b"0"
