"""A TCP proxy on 127.0.0.1 that falls silent when a test says so: connections stay open, and nothing is answered."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.waiting import PATIENCE


class Proxy:
    """Passes bytes on between clients and one server.

    After `silence` it goes on accepting and reading, and passes nothing on; what it read meanwhile is lost, as in a
    network that drops packets. `resume` serves new connections again; those of before stay silent.
    """

    def __init__(self, port: int) -> None:
        """``port``: the server's."""
        self.accepted = 0
        self._server = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._ends: dict[socket.socket, socket.socket | None] = {}
        self._clients: set[socket.socket] = set()
        self._is_silent = False
        self._waker, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def silence(self) -> None:
        """Answer nothing more, in open connections and in new ones."""
        self._is_silent = True
        self._waker.send(b"s")

    def resume(self) -> None:
        """Serve new connections again."""
        self._is_silent = False

    def cut(self) -> None:
        """End all connections."""
        self._waker.send(b"c")

    def close(self) -> None:
        """End it."""
        self._waker.send(b"x")
        self._thread.join(30)

    @property
    def clients(self) -> int:
        """The connections that clients have open."""
        return len(self._clients)

    def _run(self) -> None:
        while True:
            readable, _, _ = select.select([self._woken, self._listening, *self._ends], [], [])
            for ready in readable:
                if ready is self._woken:
                    for order in self._woken.recv(64).decode():
                        if order == "s":
                            self._ends = dict.fromkeys(self._ends)
                        else:
                            self._end(*list(self._ends))
                        if order == "x":
                            self._end(self._listening, self._woken, self._waker)
                            return
                elif ready is self._listening:
                    self._accept()
                elif ready in self._ends:
                    self._pass_on(ready)

    def _accept(self) -> None:
        client, _ = self._listening.accept()
        self.accepted += 1
        self._ends[client] = None
        self._clients.add(client)
        if not self._is_silent:
            server = socket.create_connection(("127.0.0.1", self._server), timeout=PATIENCE)
            self._ends |= {client: server, server: client}

    def _pass_on(self, ready: socket.socket) -> None:
        other = self._ends[ready]
        try:
            data = ready.recv(65_536)
            if data and other is not None:
                other.sendall(data)
        except OSError:
            data = b""
        if not data:
            self._end(ready, *([other] if other is not None else []))

    def _end(self, *sockets: socket.socket) -> None:
        for one in sockets:
            self._ends.pop(one, None)
            self._clients.discard(one)
            one.close()


@contextmanager
def proxy_to(port: int) -> Iterator[Proxy]:
    """Yield a proxy to a port of 127.0.0.1."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
