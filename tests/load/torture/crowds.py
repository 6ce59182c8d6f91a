"""Clients by the thousand in one process: those that ask and read, and those that send and never read."""

from __future__ import annotations

import select
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from answerd.server.admission import raise_file_limit

SOURCES = 8
"""Source addresses of the clients. One address does not have enough ports."""

READ_SIZE = 65_536
SMALL_BUFFER = 4_096
"""Bytes that the kernel may keep for a client that does not read."""

FINISHED = select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP


def _client(address: tuple[str, int], number: int, receive_buffer: int = 0) -> socket.socket:
    """A socket that connects to ``address`` without waiting; bound to one of the source addresses."""
    client = socket.socket()
    client.setblocking(False)
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    # The port is chosen when the client connects: clients of different destinations may then share one.
    client.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT of Linux
    client.bind((f"127.0.0.{2 + number % SOURCES}", 0))
    client.connect_ex(address)
    return client


class Unread:
    """Connections that each send one request and never read the response.

    The service ends them. ``request`` may be a part of a request: the rest never comes.
    """

    def __init__(self, address: tuple[str, int], request: bytes, count: int) -> None:
        raise_file_limit()
        self.unsent: dict[int, memoryview] = {}
        self._clients: dict[int, socket.socket] = {}
        self._poll = select.epoll()
        for number in range(count):
            client = _client(address, number, SMALL_BUFFER)
            self._clients[client.fileno()] = client
            self.unsent[client.fileno()] = memoryview(request)
            self._poll.register(client, select.EPOLLOUT | FINISHED)

    def run(self, seconds: float, stop: Callable[[], bool]) -> None:
        """Send what the service takes until it has ended every connection, ``stop`` says so, or the time is over."""
        until = time.monotonic() + seconds
        while self._clients and time.monotonic() < until and not stop():
            for descriptor, events in self._poll.poll(0.1, 256):
                if events & FINISHED:
                    self._drop(descriptor)
                else:
                    self._send(descriptor)

    def _send(self, descriptor: int) -> None:
        unsent = self.unsent[descriptor]
        try:
            unsent = self.unsent[descriptor] = unsent[self._clients[descriptor].send(unsent[:262_144]) :]
        except BlockingIOError:
            return
        except OSError:
            self._drop(descriptor)
            return
        if not unsent:
            self._poll.modify(descriptor, FINISHED)

    def _drop(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        self._clients.pop(descriptor).close()

    @property
    def open(self) -> int:
        """Connections that the service has not ended."""
        return len(self._clients)

    def close(self) -> None:
        """End the rest."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        self._poll.close()


def ask_all(
    address: tuple[str, int], requests: Iterable[bytes], at_a_time: int = 64, stop: Callable[[], bool] = lambda: False
) -> Counter[str]:
    """Send each request on a connection of its own, so many at a time; how often each status came in a whole response.

    What is none is the name of an error, ``closed``, ``cut off`` or ``silence``. Ends early when ``stop`` says so.
    """
    return _Asking(address, iter(requests)).run(at_a_time, stop)


class _Asking:
    """The clients of one call of `ask_all`."""

    def __init__(self, address: tuple[str, int], requests: Iterator[bytes]) -> None:
        self.address = address
        self.requests = requests
        self.outcomes: Counter[str] = Counter()
        self._poll = select.epoll()
        self._clients: dict[int, socket.socket] = {}
        self._unsent: dict[int, bytes] = {}
        self._received: dict[int, bytes] = {}
        self._number = 0

    def run(self, at_a_time: int, stop: Callable[[], bool]) -> Counter[str]:
        """Ask until no request is left."""
        patience = time.monotonic() + 30
        more = True
        while (more or self._clients) and time.monotonic() < patience:
            while more and len(self._clients) < at_a_time:
                more = not stop() and self._begin()
            for descriptor, events in self._poll.poll(1.0, at_a_time):
                patience = time.monotonic() + 30
                self._go_on(descriptor, events)
        self.outcomes["silence"] += len(self._clients)
        for descriptor in list(self._clients):
            self._end(descriptor)
        self._poll.close()
        return +self.outcomes

    def _begin(self) -> bool:
        request = next(self.requests, None)
        if request is None:
            return False
        self._number += 1
        client = _client(self.address, self._number)
        self._clients[client.fileno()] = client
        self._unsent[client.fileno()] = request
        self._poll.register(client, select.EPOLLOUT)
        return True

    def _go_on(self, descriptor: int, events: int) -> None:
        client = self._clients[descriptor]
        try:
            if self._unsent.get(descriptor) and events & select.EPOLLOUT:
                rest = self._unsent[descriptor] = self._unsent[descriptor][client.send(self._unsent[descriptor]) :]
                if not rest:
                    self._poll.modify(descriptor, select.EPOLLIN)
                return
            received = client.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            self.outcomes[type(error).__name__] += 1
            self._end(descriptor)
            return
        if received:
            self._received[descriptor] = self._received.get(descriptor, b"") + received
            return
        self.outcomes[_told(self._received.get(descriptor, b""))] += 1
        self._end(descriptor)

    def _end(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        self._clients.pop(descriptor).close()
        self._unsent.pop(descriptor, None)
        self._received.pop(descriptor, None)


def _told(response: bytes) -> str:
    head, _, body = response.partition(b"\r\n\r\n")
    whole = f"Content-Length: {len(body)}\r\n".encode() in head + b"\r\n"
    return response[9:12].decode("latin-1") if whole else "cut off" if response else "closed"
