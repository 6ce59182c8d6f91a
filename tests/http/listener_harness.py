"""A listener with a tiny application in a process of its own, and the raw client that the tests of the listener share.

Run as a program it serves until SIGTERM, then drains, and prints ``drained <connections cut>``. SIGHUP reopens the log.
"""

# ruff: noqa: PLC0415 (the program must patch before it imports what it tests, the tests must not patch at all)

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tests.support.replies import Reply, receive
from tests.support.waiting import PATIENCE

HOST = "127.0.0.1"


class _Large:
    """In place of a request with a large body."""


REMEMBERED: ContextVar[_Large] = ContextVar("REMEMBERED")
_LARGE: weakref.WeakSet[_Large] = weakref.WeakSet()


def _cycles() -> bytes:
    """How many objects the collector finds."""
    import gc

    return str(gc.collect()).encode()


def _remember() -> bytes:
    """Put something into the context of this greenlet, and wait a moment."""
    from gevent import sleep

    REMEMBERED.set(large := _Large())
    _LARGE.add(large)
    sleep(0.1)
    return b"hello\n"


def _hang() -> bytes:
    """Wait until the greenlet is ended."""
    from gevent import sleep

    try:
        sleep(3_600)
    finally:
        sys.stderr.write("the app was ended\n")
        sys.stderr.flush()
    return b""


def _stream(pieces: int, size: int) -> Callable[[Any], object]:
    """Go on sending so many pieces of so many bytes."""
    from gevent import sleep, spawn

    def send(sink: Any) -> None:
        for _ in range(pieces):
            if not sink.push(b"x" * size):
                return
            sleep(0.002)
        sink.close()

    return lambda sink: spawn(send, sink)


class _Counted:
    """The statuses that were counted for the metrics."""

    def __init__(self) -> None:
        self.statuses: list[int] = []

    def answered(self, status: int, _extension: str, _outcome: str, _seconds: float) -> None:
        self.statuses.append(status)

    def aborted(self) -> None:
        self.statuses.append(0)

    def shed(self, _what: str) -> None:
        """Not counted here."""


_COUNTED = _Counted()

_LOOKS: dict[str, Callable[[], bytes]] = {
    "/cycles": _cycles,
    "/hang": _hang,
    "/counted": lambda: json.dumps(_COUNTED.statuses).encode(),
    "/remember": _remember,
    "/remembered": lambda: str(len(_LARGE)).encode(),
}


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answers by path; like the apps of the service it judges method, then size, and reads the whole body."""
    from gevent import sleep

    from answerd.server.http.responses import exchange_of

    exchange = exchange_of(environ)
    request = exchange.request
    path, query = request.path, request.query
    plain = [("Content-Type", "text/plain; charset=utf-8")]
    if request.method not in ("GET", "POST", "HEAD"):
        start_response("405 Method Not Allowed", [*plain, ("Allow", "GET, POST")])
        return [b"only GET and POST\n"]
    if request.body_too_large:
        start_response("413 Content Too Large", plain)
        return [b"the body is too large\n"]
    if path == "/raise":
        raise RuntimeError("secret of the stack trace\nsecond line")
    if path == "/split":
        start_response("200 OK", [("X-Bad", "a\r\nX-Injected: b")])
        return [b""]
    if path == "/environ":
        shown = {k: v for k, v in environ.items() if isinstance(v, str | list | tuple | bool | int)}
        shown |= {"target": request.target, "headers": list(request.headers), "peer": exchange.peer}
        body = json.dumps(shown | {"input": environ["wsgi.input"].read().decode("latin-1")}).encode()
    elif path == "/big":
        body = b"x" * int(query)
    elif path == "/slow":
        sleep(float(query))
        body = b"slow\n"
    elif path == "/block":  # the whole loop
        from gevent.monkey import get_original

        sys.stderr.write("blocked\n")
        sys.stderr.flush()
        get_original("time", "sleep")(float(query))
        body = b"blocked\n"
    elif path in _LOOKS:
        body = _LOOKS[path]()
    elif path == "/stream":
        exchange.takeover, body = _stream(*map(int, query.split("x"))), b""
    elif path == "/echo":
        body = request.body
    else:
        exchange.outcome = "format=toml default"
        body = b"hello\n"
    start_response("200 OK", plain)
    return [body]


def resident_bytes(pid: int) -> int:
    """Memory of a process that is not shared with others."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Private_"))


def main(options: dict[str, Any]) -> None:
    from gevent import monkey

    monkey.patch_all()
    import gc
    import ipaddress
    import resource

    import gevent
    from gevent.event import Event

    from answerd.server.admission import Admission
    from answerd.server.http.server import HttpServer, Limits
    from answerd.server.request_log import RequestLog
    from answerd.server.sockets import bind

    log = RequestLog("stderr", "all")
    tls = None
    if options.get("certificate"):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options["certificate"])
    limits = Limits(**{"timeout": 60.0} | options.get("limits", {}))  # a busy machine may stall for long
    listener = HttpServer(
        bind(options.get("host", HOST), 0),
        application,
        limits=limits,
        log=log,
        admission=Admission(options.get("max_connections", 2048)),
        body_limit=lambda _request, _peer: 1_048_576,
        shown_target=lambda target: target,
        trusted_proxies=[ipaddress.ip_network(network) for network in options.get("trusted", [])],
        tls=tls,
        counts=_COUNTED,
        is_reserved=lambda path: path.startswith("/report/"),
    )
    if "files" in options:
        resource.setrlimit(resource.RLIMIT_NOFILE, (options["files"], options["files"]))
    ended = Event()
    gevent.signal_handler(signal.SIGTERM, ended.set)
    gc.freeze()
    if options.get("never_collect"):
        gc.disable()
    listener.start()
    print(f"port {listener.address[1]}", flush=True)
    ended.wait()
    print(f"drained {listener.drain(time.monotonic() + limits.timeout)}", flush=True)
    log.close()


class Server:
    """The running process, its log lines as they come."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self.process.stdout
        first = self.process.stdout.readline()
        if not first.startswith(b"port "):
            raise RuntimeError(f"the listener did not start: {self.process.communicate(timeout=PATIENCE)[1].decode()}")
        self.port = int(first.split()[1])
        self.lines: list[str] = []
        self._arrived = threading.Condition()
        self._reading = threading.Thread(target=self._read_log, daemon=True)
        self._reading.start()

    def _read_log(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            with self._arrived:
                self.lines.append(line.decode("utf-8", "surrogateescape").removesuffix("\n"))
                self._arrived.notify_all()

    def wait_for_line(self, part: str, timeout: float = PATIENCE) -> str:
        """The first log line that holds ``part``."""
        with self._arrived:
            found = self._arrived.wait_for(lambda: [line for line in self.lines if part in line], timeout)
        assert found, f"no log line with {part!r} in {self.lines}"
        return found[0]

    def connect(self, timeout: float = PATIENCE, source: str = HOST) -> socket.socket:
        return socket.create_connection((HOST, self.port), timeout, (source, 0))

    def send(self, *pieces: bytes) -> Reply:
        """One request in these pieces, and what comes back until the connection ends."""
        with self.connect() as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for piece in pieces:
                    client.sendall(piece)
            except OSError:
                pass
            return receive(client)

    def stop(self, timeout: float = PATIENCE) -> str:
        """Ends it by SIGTERM; what it printed then."""
        if self.process.poll() is None:
            self.process.terminate()
        assert self.process.stdout
        try:
            rest = self.process.stdout.read().decode()
            self.process.wait(timeout)
        finally:
            self.process.kill()
        self.process.wait(PATIENCE)
        return rest.strip()


@contextmanager
def serving(**options: Any) -> Iterator[Server]:
    server = Server(**options)
    try:
        yield server
    finally:
        server.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
