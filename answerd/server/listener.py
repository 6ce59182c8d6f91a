"""The listener: accepts connections, admits or sheds them, and keeps their deadlines.

Knows sockets and the event loop, how many connections are in flight and when each must be gone. Must not know what a
request asks for: the apps behind it are plain WSGI callables. What happens on one connection is `connection.py`, what
is refused as malformed `http_parser.py`, what an app sees `wsgi.py`.

gevent's ``WSGIServer``, with everything between accept and app replaced: connections are accepted until none is left;
each waits as a watcher and a buffer; above the limit a ready-made 503 is written at once; and all deadlines are
equally long, so the connections in order of arrival are the deadlines in order.
"""

import ctypes
import errno
import os
import socket
import struct
from _socket import MSG_DONTWAIT, MSG_NOSIGNAL, SHUT_WR
from _socket import socket as Socket
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ssl import SSLContext
from time import monotonic
from typing import Any, Protocol
from wsgiref.types import WSGIApplication

from gevent import get_hub, getcurrent
from gevent.event import Event
from gevent.monkey import get_original
from gevent.pywsgi import WSGIServer
from greenlet import greenlet

from answerd.addresses import Network
from answerd.server.admission import LINGERING, Admission
from answerd.server.connection import Connection, one_line
from answerd.server.http_parser import Request
from answerd.server.memory import Memory
from answerd.server.request_log import RequestLog
from answerd.server.wsgi import ErrorLines, Response, plain_text

BACKLOG = 4_096  # with the usual 128, a stampede's 503s took seconds (SYN retransmits)
SEND_BUFFER = 131_072  # bytes the kernel holds for a client that does not read; left to itself it would take 4 MB
ACCEPT_AT_ONCE = 2_000  # connections accepted before others get a turn; with 500 the queue overflowed in a stampede
SERVE_AT_ONCE = 32  # fresh connections read before others get a turn
ANSWERING_SECONDS = 0.003  # that answers are made before those that are there are sent
IDLE_RUNNERS = 64  # greenlets kept for the next request
SWEEP_SECONDS = 0.1
CUT_AT_ONCE = 500  # connections closed in one sweep, about 5 ms
REPORT_SECONDS = 1.0  # a storm of 503s or failed accepts is one line in that time
HANDSHAKE_SECONDS = 0.05  # that handshakes which have begun get before the listening socket is closed
PAUSE_SECONDS = 0.05  # without accepting, when the system has no memory for a connection
SILENT_SECONDS = 1.0  # that a connection without a byte is still waited for while draining
SHED_UNDER_TLS = 256  # handshakes at a time whose only purpose is to say 503
_close = get_original("os", "close")  # gevent's waits for the loop's next turn
_NO_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_NO_MEMORY = frozenset({errno.ENOBUFS, errno.ENOMEM})
_CLOSED = frozenset({errno.EBADF, errno.EINVAL, errno.ENOTSOCK})


@dataclass(frozen=True)
class Limits:
    """What one connection may take. Sizes in bytes, times in seconds.

    ``timeout``: from accept to close. ``linger``, ``linger_bytes``: how long, and for how much, a client that still
    sends after its response is listened to; within ``timeout``. ``max_lingering``: connections that do so at a time.
    ``accept_at_once``: connections accepted before those that are there are read from. ``idle_give_way``: at the limit
    of connections, the oldest one without a whole header makes room for a new one.
    """

    max_body: int = 1_048_576
    timeout: float = 10.0
    linger: float = 2.0
    linger_bytes: int = 8_388_608
    max_lingering: int = LINGERING
    accept_at_once: int = ACCEPT_AT_ONCE
    idle_give_way: bool = False


Gate = Callable[[Request, str], bool]
"""Whether the body of a request from this address is worth reading; false where it is refused whatever the body is."""


class ErrorForm(Protocol):
    """How a listener writes its own errors."""

    def __call__(self, status: int, reason: str, headers: Iterable[tuple[str, str]] = ()) -> Response:
        """The response with this reason."""


def bind(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """A listening socket. ``host``: an IPv4 or IPv6 address or a name; ``::`` takes IPv4 too. Raises OSError."""
    getaddrinfo = get_original("socket", "getaddrinfo")  # gevent's would start threads before the workers are forked
    family, kind, protocol, _, address = getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, socket.AI_PASSIVE)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # accepted sockets inherit it
        if reuse_port:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind(address)
        bound.listen(BACKLOG)
        bound.setblocking(False)
    except BaseException:
        bound.close()
        raise
    return bound


# Classic BPF over a segment's TCP header: no SYN without ACK passes, everything else does.
_NO_NEW_CONNECTION = (
    (0x30, 0, 0, 13),  # load the byte of flags
    (0x54, 0, 0, 0x12),  # keep SYN and ACK
    (0x15, 0, 1, 0x02),  # SYN alone?
    (0x06, 0, 0, 0),  # then drop it
    (0x06, 0, 0, 0xFFFF_FFFF),  # else let it pass
)
_SO_ATTACH_FILTER = 26  # of Linux's asm-generic/socket.h


def refuse_new(listening: socket.socket) -> None:
    """Have the kernel drop what would begin another connection; handshakes that have begun go on.

    Closing a listening socket resets whatever has completed its handshake since the last accept. A client whose SYN is
    dropped tries again a second later, and is then refused, or served by who has taken over. Where the system has no
    such filter that instant of a reset remains.
    """
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in _NO_NEW_CONNECTION))
    described = struct.pack("HP", len(_NO_NEW_CONNECTION), ctypes.addressof(program))
    try:
        listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, described)
    except OSError:
        pass


class Listener(WSGIServer):
    """Serves one listening socket with one application."""

    def __init__(
        self,
        sock: socket.socket,
        application: WSGIApplication,
        *,
        limits: Limits,
        log: RequestLog,
        admission: Admission,
        trusted_proxies: Sequence[Network] = (),
        tls: SSLContext | None = None,
        wants_body: Gate = lambda _request, _peer: True,
        error: ErrorForm = plain_text,
    ) -> None:
        """``sock`` is what `bind` returned. ``tls`` makes the listener speak TLS; assigning to the attribute later
        (another context, never None) holds for connections that begin after it. ``wants_body`` is asked before a body
        is waited for; where it says no, ``application`` is called without one and must refuse the request."""
        host, port = sock.getsockname()[:2]
        super().__init__(
            sock,
            application,
            log=None,
            error_log=ErrorLines(log),
            environ={
                "SERVER_NAME": host,  # or it would ask the name service
                "SERVER_PORT": str(port),
                "wsgi.url_scheme": "https" if tls is not None else "http",
                "wsgi.input_terminated": True,
            },
        )
        self.limits = limits
        self.request_log = log
        self.admission = admission
        self.memory = Memory(admission)
        self.trusted_proxies = tuple(trusted_proxies)
        self.tls = tls
        self.hub = get_hub()
        self.wants_body = wants_body
        self.error = error
        retry = (("Retry-After", "2"),)
        self.busy = error(503, "the service is at its limit of connections, try again in 2 seconds", retry)
        self.out_of_memory = error(503, "the service is at its limit of memory, try again in 2 seconds", retry)
        self.relatives: Sequence[Listener] = ()  # the other listeners of the process
        self._connections: dict[Connection, None] = {}  # in order of their deadlines
        self._lingering: dict[Connection, None] = {}
        self._fresh: deque[Connection] = deque()  # accepted, not yet looked at
        self._ready: deque[Connection] = deque()  # their requests are complete
        self._answer_until = 0.0
        self._outbox: list[Connection] | None = None  # answered, while others are still to be
        self._idle_runners: list[greenlet] = []
        self._sweeper: Any = None
        self._draining = False
        self._drained = Event()
        self._resume: Any = None
        self._spare_file: int | None = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._shed: dict[str, int] = {}  # since the last report, by what was at its limit
        self._failed_accepts: dict[str, int] = {}
        self._report_at = 0.0

    def drain(self, until: float, *, hands_over: bool = False) -> int:
        """Stops accepting and finishes what is in flight; at ``until`` (monotonic clock) the rest is closed.

        Connections that the kernel has accepted are still served, new ones are refused. A connection that has not
        sent a byte is waited for `SILENT_SECONDS`. Returns how many had to be closed. Called once, from a greenlet.
        ``hands_over``: other processes go on accepting from the socket, so nobody is refused.
        """
        self._draining = True
        if not hands_over:
            refuse_new(self.socket)
        last = self.loop.timer(HANDSHAKE_SECONDS)
        last.start(self._accept_last)
        self._drained.wait(max(0.0, until - monotonic()))
        left = [*self._connections, *self._lingering]
        for connection in left:
            connection.cut("the service ends")
        self.close()
        self._stop_sweeper()
        return len(left)

    def close(self) -> None:
        """Stops accepting at once and closes the listening socket; what is in flight goes on."""
        if not self.closed:
            super().close()
        self._forget_resume()

    @property
    def in_flight(self) -> int:
        """Connections of this process that have not been answered."""
        return len(self._connections)

    # --- accepting -------------------------------------------------------------------------------------------------

    def _do_read(self) -> None:
        """Connections can be accepted (the loop calls this, from what gevent's ``start_accepting`` set up)."""
        try:
            self._accept(self.limits.accept_at_once)
        except Exception as error:
            self.request_log.service(f"accepting failed: {one_line(error)}")
        self._serve_fresh()

    def _accept(self, at_most: int) -> None:
        listening = self.socket
        now = monotonic()
        for _ in range(at_most):
            try:
                descriptor, address = listening._accept()  # type: ignore[attr-defined]
            except BlockingIOError:
                return
            except OSError as error:
                if not self._accept_failed(error):
                    return
                continue
            self._admit(Socket(self.family, socket.SOCK_STREAM, 0, descriptor), address, now)

    def _accept_last(self) -> None:
        """Takes over what the kernel has accepted, then lets the address go."""
        self.stop_accepting()
        if not self.closed:
            self._accept(BACKLOG + 1)
            self.close()
        self._serve_fresh()
        self._start_sweeper()
        self._check_drained()

    def _admit(self, accepted: Socket, address: tuple[Any, ...], now: float) -> None:
        connection = Connection(self, accepted, address, now + self.limits.timeout)
        if self._sweeper is None:
            self._start_sweeper()
        if self.admission.admit() or (self._shed_oldest_idle() and self.admission.admit()):
            self._connections[connection] = None
            self._fresh.append(connection)
            return
        connection.has_permit = False
        self.count_shed("connections", self.admission.limit)
        if self.tls is not None:
            if len(self._lingering) >= SHED_UNDER_TLS:
                connection.close()
                return
            self._lingering[connection] = None
        connection.shed()

    def _shed_oldest_idle(self) -> bool:
        """Makes room for a connection; False when nobody is idle, or the limits say that nobody gives way."""
        if not self.limits.idle_give_way:
            return False
        idle = next((one for one in self._connections if one.is_idle), None)
        if idle is None:
            return False
        self.release_permit(idle)
        self.count_shed("connections", self.admission.limit)
        idle.shed()
        return True

    def count_shed(self, what: str, limit: int) -> None:
        """A client was told to come back later because ``what`` is at its limit; the log sums that up."""
        self._shed[f"{what}, limit {limit}"] = self._shed.get(f"{what}, limit {limit}", 0) + 1

    def _serve_fresh(self) -> None:
        """Reads from new connections; most have sent their request by now, so that they never need a watcher."""
        fresh = self._fresh
        for _ in range(min(SERVE_AT_ONCE, len(fresh))):
            connection = fresh.popleft()
            if not connection.closed:
                connection.read()
        if fresh:
            self.loop.run_callback(self._serve_fresh)
        self._answer_ready()

    def _accept_failed(self, error: OSError) -> bool:
        """Notes it, and finds a way on; False when there is nothing to accept for now."""
        if error.errno in _CLOSED:
            return False
        reason = os.strerror(error.errno) if error.errno else str(error)
        self._failed_accepts[reason] = self._failed_accepts.get(reason, 0) + 1
        self._start_sweeper()
        if error.errno in _NO_FILES:
            for listener in (self, *self.relatives):
                if listener._lingering:
                    next(iter(listener._lingering)).close()
                    return True
            if self._shed_with_spare_file():
                return True
        if error.errno in _NO_FILES or error.errno in _NO_MEMORY:
            self._pause()
            return False
        return True  # that one connection was already gone

    def _shed_with_spare_file(self) -> bool:
        """With no file left, the one kept in reserve makes room to tell a client so."""
        if self._spare_file is None:
            return False
        _close(self._spare_file)
        self._spare_file = None
        try:
            descriptor, _ = self.socket._accept()  # type: ignore[attr-defined]
            self._say_busy(Socket(self.family, socket.SOCK_STREAM, 0, descriptor))
        except OSError:
            return False
        finally:
            self._take_spare_file()
        return True

    def _say_busy(self, accepted: Socket) -> None:
        """503 without the means to linger: nearly always in time, when the client's request is there already."""
        try:
            if self.tls is None:
                accepted.send(self.busy.head + self.busy.body, MSG_DONTWAIT | MSG_NOSIGNAL)
            accepted.shutdown(SHUT_WR)
            accepted.recv(65_536, MSG_DONTWAIT)
        except OSError:
            pass
        accepted.close()

    def _take_spare_file(self) -> None:
        if self._spare_file is None:
            try:
                self._spare_file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                pass

    def _pause(self) -> None:
        """Stops accepting for a moment: the socket stays ready, and the loop would spin."""
        self.stop_accepting()
        self._forget_resume()
        self._resume = self.loop.timer(PAUSE_SECONDS)
        self._resume.start(self._go_on_accepting)

    def _forget_resume(self) -> None:
        if self._resume is not None:
            self._resume.stop()
            self._resume.close()
            self._resume = None

    def _go_on_accepting(self) -> None:
        self._forget_resume()
        self._take_spare_file()
        if not self.closed and not self._draining:
            self.start_accepting()

    # --- what connections tell -------------------------------------------------------------------------------------

    def release_permit(self, connection: Connection) -> bool:
        """Its place may be taken by another. False if it held none."""
        if not connection.has_permit:
            return False
        connection.has_permit = False
        self.admission.release()
        return True

    def reacquire_permit(self, connection: Connection) -> None:
        """It is not done yet after all."""
        connection.has_permit = True
        self.admission.readmit()

    def linger(self, connection: Connection) -> None:
        """It has been answered; from now on it is only listened to."""
        self._connections.pop(connection, None)
        self._lingering.pop(connection, None)
        connection.deadline = min(connection.deadline, monotonic() + self.limits.linger)
        if len(self._lingering) >= self.limits.max_lingering:
            next(iter(self._lingering)).close()
        self._lingering[connection] = None

    def forget(self, connection: Connection) -> None:
        """It is being closed."""
        self.release_permit(connection)
        self._connections.pop(connection, None)
        self._lingering.pop(connection, None)
        if self._draining:
            self._check_drained()

    def _check_drained(self) -> None:
        if self._draining and self.closed and not self._connections and not self._lingering:
            self._drained.set()

    # --- running apps ----------------------------------------------------------------------------------------------

    def ready(self, connection: Connection) -> None:
        """Its request is complete: it is answered at the end of this turn of the loop, together with others."""
        self._ready.append(connection)
        if len(self._ready) == 1:
            self.loop.run_callback(self._answer_ready)

    def _answer_ready(self) -> None:
        """Answers what is ready, and only then sends: a way through the kernel makes the processor forget the way
        through the apps, and 30 answers in a row cost half of what they cost one by one."""
        while self._ready:
            self._answer_until = monotonic() + ANSWERING_SECONDS
            answered: list[Connection] = []
            self._outbox = answered
            try:
                while self._ready and monotonic() < self._answer_until:
                    self._run()
            finally:
                self._outbox = None
                for connection in answered:
                    connection.send()
                if self._ready:  # after a fault, the others still get their turn
                    self.loop.run_callback(self._answer_ready)

    def answered(self, connection: Connection) -> None:
        """It has its response, which is sent at once or after those that are being made."""
        if self._outbox is None:
            connection.send()
        else:
            self._outbox.append(connection)

    def _run(self) -> None:
        """Lets a greenlet answer what is ready; returns (to the loop) when that is done or one waits for something.

        Greenlets are used again: a new one maps and unmaps 16 KB for its Python frames, and a request that needs that
        costs half as much again (64 against 42 µs).
        """
        runner = self._idle_runners.pop() if self._idle_runners else greenlet(self._run_forever, self.hub)
        runner.switch(self)

    def _run_forever(self, _: object) -> None:
        runner = getcurrent()
        ready = self._ready
        while True:
            while ready:
                ready.popleft().answer()
                if monotonic() >= self._answer_until:
                    break
            if len(self._idle_runners) >= IDLE_RUNNERS:
                return
            runner.gr_context = None  # Bottle's request is in it, with a body that may be large
            self._idle_runners.append(runner)
            # A late wake-up that an app left behind is not for us.
            while self.hub.switch() is not self:
                pass

    # --- deadlines -------------------------------------------------------------------------------------------------

    def _start_sweeper(self) -> None:
        if self._sweeper is None:
            self._sweeper = self.loop.timer(SWEEP_SECONDS, SWEEP_SECONDS)
            self._sweeper.start(self._sweep)

    def _sweep(self) -> None:
        """Closes what is over its time and writes the lines that sum up, as long as there is anything to watch."""
        now = monotonic()
        overdue = self._overdue(now)
        for connection in overdue[:CUT_AT_ONCE]:
            connection.overdue()
        if len(overdue) > CUT_AT_ONCE:
            self.loop.run_callback(self._sweep)
        self.memory.refuse_large_bodies()  # another worker may have taken what is left
        if now >= self._report_at:
            self._report(now)
        self._check_drained()
        if not (self._connections or self._lingering or self._shed or self._failed_accepts or self._draining):
            self._stop_sweeper()

    def _stop_sweeper(self) -> None:
        if self._sweeper is not None:
            self._sweeper.stop()
            self._sweeper.close()
            self._sweeper = None

    def _overdue(self, now: float) -> list[Connection]:
        overdue = [connection for connection in self._lingering if connection.deadline <= now]
        silent_since = now - SILENT_SECONDS + self.limits.timeout  # the deadline of one accepted so long ago
        for connection in self._connections:
            if connection.deadline > now:
                break
            overdue.append(connection)
        if self._draining:
            overdue += [
                connection
                for connection in self._connections
                if now < connection.deadline <= silent_since and connection.waits_for_first_byte
            ]
        return overdue

    def _report(self, now: float) -> None:
        for what, count in self._shed.items():
            self.request_log.service(f"503 shed {count} {what}")
            self._report_at = now + REPORT_SECONDS
        self._shed.clear()
        for reason, count in self._failed_accepts.items():
            self.request_log.service(f"accept failed: {reason} ({count} times)")
            self._report_at = now + REPORT_SECONDS
        self._failed_accepts.clear()
