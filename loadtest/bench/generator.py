"""The bundled generator: sends requests over fresh connections and judges every answer. Run as a program of its own.

Usage:
  generator

Reads one `Order` as JSON on standard input and writes one `Outcome` as JSON on standard output. It is used where every
machine is to ask exactly once, where each answer must be the machine's own, where single delays count, and for
throughput where wrk is not installed. One process, one thread and epoll: its limit is its own core, and its share of
that core is in its outcome.
"""

from __future__ import annotations

import errno
import gc
import itertools
import json
import resource
import select
import sys
import time
from _socket import AF_INET, MSG_DONTWAIT, MSG_NOSIGNAL, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM
from _socket import socket as Socket
from dataclasses import asdict, dataclass, field

from loadtest.bench.shapes import Shape
from loadtest.fleet import Machine

GIVE_UP_SECONDS = 30.0
"""Without any progress."""

_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL


@dataclass(frozen=True)
class Order:
    """What to send.

    Machines ``0, step, 2 * step ...`` below ``machines`` once each; with ``seconds``, in turn until that time is over.
    ``pace``: requests a second at most, 0 for as many as ``connections`` at a time allow.
    """

    port: int
    parts: tuple[str, ...]
    proof: str
    machines: int
    step: int = 1
    seconds: float = 0.0
    connections: int = 64
    pace: float = 0.0
    delays: bool = False


@dataclass
class Outcome:
    """The result of an order. ``wrong`` counts statuses other than 200, answers that are not the machine's own, and
    failed connections; ``sample`` shows one. ``delays``, where ordered, are pairs of when a request was sent on the
    monotonic clock and how long its answer took, in seconds."""

    requests: int = 0
    seconds: float = 0.0
    wrong: int = 0
    sample: str = ""
    cpu_seconds: float = 0.0
    delays: list[tuple[float, float]] = field(default_factory=list)


class Generator:
    """One order, carried out."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.shape = Shape(tuple(order.parts), order.proof)
        self.outcome = Outcome()
        self._poll = select.epoll()
        self._open: dict[int, _Exchange] = {}
        self._sent = 0

    def run(self) -> Outcome:
        """Send and receive until the order is done."""
        gc.disable()
        order = self.order
        numbers = range(0, order.machines, order.step)
        pending = map(Machine, itertools.cycle(numbers) if order.seconds else numbers)
        cpu, began = time.process_time(), time.monotonic()
        until = began + order.seconds if order.seconds else float("inf")
        progress = began
        exhausted = False
        while True:
            now = time.monotonic()
            while not exhausted and now < until and self._may_send(now - began):
                following = next(pending, None)
                if following is None:
                    exhausted = True
                else:
                    self._send(self.shape.request(following), self.shape.proof_of(following))
                now = time.monotonic() if order.pace else now
            if not self._open and (exhausted or now >= until):
                break
            ready = self._poll.poll(0.001 if order.pace else 1.0)
            for descriptor, _ in ready:
                self._open[descriptor].proceed(self)
            if ready:
                progress = now
            elif now - progress > GIVE_UP_SECONDS:
                self._give_up()
                break
        self.outcome.seconds = time.monotonic() - began
        self.outcome.cpu_seconds = time.process_time() - cpu
        return self.outcome

    def _may_send(self, elapsed: float) -> bool:
        order = self.order
        return len(self._open) < order.connections and (not order.pace or self._sent < elapsed * order.pace)

    def _send(self, request: bytes, proof: bytes) -> None:
        self._sent += 1
        connection = Socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)
        error = connection.connect_ex(("127.0.0.1", self.order.port))
        if error not in (0, errno.EINPROGRESS):
            connection.close()
            self.finished(_Exchange(connection, request, proof), errno.errorcode.get(error, str(error)))
            return
        exchange = _Exchange(connection, request, proof)
        descriptor = connection.fileno()
        self._open[descriptor] = exchange
        exchange.descriptor = descriptor
        self._poll.register(descriptor, exchange.send())

    def wait_for(self, exchange: _Exchange, events: int) -> None:
        """Continue with an exchange when its socket is ready for these events."""
        self._poll.modify(exchange.descriptor, events)

    def finished(self, exchange: _Exchange, fault: str = "") -> None:
        """Record the end of an exchange. ``fault``: why there was no whole answer."""
        outcome = self.outcome
        outcome.requests += 1
        answer = b"".join(exchange.received)
        own = answer.startswith(b"HTTP/1.1 200 ") and exchange.proof in answer and _is_whole(answer)
        if fault or not own:
            outcome.wrong += 1
            outcome.sample = fault or answer[:200].decode("latin-1")
        if self.order.delays:
            outcome.delays.append((exchange.began, time.monotonic() - exchange.began))
        if exchange.descriptor >= 0:
            del self._open[exchange.descriptor]
            exchange.connection.close()

    def _give_up(self) -> None:
        for exchange in list(self._open.values()):
            self.finished(exchange, "no answer")


class _Exchange:
    """One connection: its request is sent, then its answer read until the server closes.

    It waits for the server to close, even where the length is known: the side that closes first keeps the port in
    TIME_WAIT, and a client that closes first runs out of ports, which looks like a slow server.
    """

    __slots__ = ("began", "connection", "descriptor", "proof", "received", "unsent")

    def __init__(self, connection: Socket, request: bytes, proof: bytes) -> None:
        self.connection = connection
        self.descriptor = -1
        self.unsent = request
        self.proof = proof
        self.received: list[bytes] = []
        self.began = time.monotonic()

    def send(self) -> int:
        """Send the rest of the request; return the event to wait for next."""
        try:
            sent = self.connection.send(self.unsent, _FLAGS)
        except OSError:  # not connected yet; a fault shows again when it is waited for
            return select.EPOLLOUT
        self.unsent = self.unsent[sent:]
        return select.EPOLLOUT if self.unsent else select.EPOLLIN

    def proceed(self, generator: Generator) -> None:
        """Continue now that the socket is ready."""
        try:
            if self.unsent:
                sent = self.connection.send(self.unsent, _FLAGS)
                self.unsent = self.unsent[sent:]
                if not self.unsent:
                    generator.wait_for(self, select.EPOLLIN)
                return
            data = self.connection.recv(65_536, MSG_DONTWAIT)
            if data:
                self.received.append(data)
                data = self.connection.recv(65_536, MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError as error:
            generator.finished(self, errno.errorcode.get(error.errno or 0, str(error)))
            return
        if data:
            self.received.append(data)
        else:
            generator.finished(self)


def _is_whole(answer: bytes) -> bool:
    """Return whether a response is as long as its Content-Length says."""
    end = answer.find(b"\r\n\r\n")
    at = answer[: end + 2].lower().find(b"\r\ncontent-length:")
    return end >= 0 and at >= 0 and len(answer) - end - 4 == int(answer[at + 17 : answer.find(b"\r\n", at + 17)])


def main() -> int:
    """Carry out the order on standard input, with as many open connections as the system allows."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    order = Order(**json.load(sys.stdin))
    json.dump(asdict(Generator(order).run()), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
