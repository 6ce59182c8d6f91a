"""The HTTP server: gevent's `WSGIServer` with a `Pool` whose size is the number of connections in flight.

What differs from pywsgi, and why (docs/http.md, docs/traps.md):

- A full Pool does not stop accepting: a client above the limit gets a 503 at once, and never waits in a queue. The size
  of the Pool counts for all workers, so it is counted in memory that they share.
- A connection holds its place from its accept until its response is sent, and has a greenlet only while that waits for
  the client or runs the app.
- Requests are answered in rows: up to 32 connections are read one after the other, one greenlet asks the app for all
  that are wholly there, and then their responses are sent. System calls between two answers made composed answers a
  quarter to a half dearer, and a greenlet costs 11 µs, most of it for mapping and unmapping 16 KB for its Python
  frames. A response never waits for an app that waits: the loop runs then, and sends the row.
- One sweep every 0.1 s looks at the deadlines, which are all equally far away: the oldest connection is the next.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from _socket import SOCK_STREAM
from _socket import socket as Socket
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ssl import SSLContext
from time import monotonic
from typing import Any, Final, Protocol
from wsgiref.types import WSGIApplication

from gevent import GreenletExit, get_hub, kill
from gevent.event import Event
from gevent.pool import Pool
from gevent.pywsgi import WSGIServer
from greenlet import greenlet

from answerd.addresses import Network
from answerd.server.admission import LINGERING, Admission, SharedCount
from answerd.server.http.bodies import ConnectionMemory, Ends
from answerd.server.http.handler import LATE, WAITING, Handler, Shed
from answerd.server.http.parser import Headers, HttpRequest
from answerd.server.http.responses import Response, plain_text
from answerd.server.request_feed import RequestFeed
from answerd.server.request_log import RequestLog
from answerd.server.sockets import BACKLOG
from answerd.server.statuses import SERVICE_UNAVAILABLE

ACCEPT_AT_ONCE: Final = 2_000  # connections accepted before others get a turn; with 500 a stampede overflowed the queue
READ_AT_ONCE: Final = 32  # fresh connections that are read before those among them that are ready are answered
ROW_SECONDS: Final = 0.003  # for which answers are made before those that are there are sent
PAUSE_SECONDS: Final = 0.05  # without accepting, when the system has no memory or no descriptor for a connection
SWEEP_SECONDS: Final = 0.1
CUT_AT_ONCE: Final = 200  # connections closed in one sweep: 2 ms, 9 ms where greenlets wait for their clients
SILENT_SECONDS: Final = 1.0  # that a connection without a byte is still waited for at the end
LINGER_SECONDS: Final = 2.0  # that a client which still sends after its response is listened to
SHED_SECONDS: Final = 1.0  # that a client above the limit may take to say whether it may use a reserved place
END_SECONDS: Final = 0.1  # for greenlets to end whose connection was closed, before the Pool kills them
REPORT_SECONDS: Final = 1.0  # a storm of 503s or failed accepts is one line of the log in that time

_NO_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})
_NO_MEMORY: Final = frozenset({errno.ENOBUFS, errno.ENOMEM})
_CLOSED: Final = frozenset({errno.EBADF, errno.EINVAL, errno.ENOTSOCK})
_RETRY: Final = (("Retry-After", "2"),)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one server. Times in seconds.

    ``timeout``: from accept to close. ``max_lingering``: connections at a time whose client still sends after its
    response. ``accept_at_once``: connections accepted before those that are there are read from. ``idle_give_way``: at
    the limit of connections, the oldest one without a whole header makes room for a new one.
    """

    timeout: float = 10.0
    max_lingering: int = LINGERING
    accept_at_once: int = ACCEPT_AT_ONCE
    idle_give_way: bool = False


PeerBodyLimit = Callable[[HttpRequest, str], int | Ends]
"""Bytes that the body of a request from this address may have, judged from its header; 0 where it is not worth reading
(`answerd.server.http.parser.BodyLimit`)."""


class Counts(Protocol):
    """Counts the connections of a server for the metrics."""

    def answered(self, status: int, extension: str, outcome: str, seconds: float, /) -> None:
        """Count a response, and the time from the accept of its connection."""

    def aborted(self) -> None:
        """Count a connection that ended without a whole response."""

    def shed(self, what: Shed, /) -> None:
        """Count a client that got 503 because ``what`` is at its limit."""


class ConnectionPool(Pool):
    """The connections in flight, and the greenlets that serve them at the moment.

    ``connections`` are in order of their accept, which is that of their deadlines. Each holds a place of ``size``, with
    or without a greenlet: so greenlets are not counted, as those of a `Pool` are. An app that is late goes on without
    its connection.
    """

    def __init__(self, places: SharedCount) -> None:
        """``places``: how many connections may be in flight, in all workers together."""
        Pool.__init__(self, places.limit)
        self.places = places
        self.connections: dict[Handler, None] = {}

    def full(self) -> bool:
        """Return False: at the limit of connections, `WSGIServer` would stop accepting."""
        return False

    def admit(self, handler: Handler, places: SharedCount) -> bool:
        """Add a connection if there is one of these places for it; return whether there was."""
        if not places.take():
            return False
        handler.place = places
        enlist(handler, self.connections)
        return True

    def spawn(self, task: Callable[[], object]) -> None:  # type: ignore[override]
        """Run a task in a greenlet, at once: return when it has ended or waits. Called in the loop."""
        running = greenlet(self._run, get_hub())  # one of gevent's costs 2 % of a small answer
        self.greenlets.add(running)  # type: ignore[arg-type]
        self._empty_event.clear()  # type: ignore[attr-defined]
        running.switch(running, task)

    def _run(self, running: greenlet, task: Callable[[], object]) -> None:
        try:
            task()
        except Exception:
            get_hub().handle_error(running, *sys.exc_info())
        finally:
            self.greenlets.discard(running)
            if not self.greenlets:
                self._empty_event.set()  # type: ignore[attr-defined]

    def kill(
        self,
        exception: type[BaseException] | BaseException = GreenletExit,
        block: bool = True,
        timeout: float | None = None,
    ) -> None:
        """End all greenlets, and wait for it if ``block``. `Group.kill` and ``killall`` end gevent's own only."""
        for running in [*self.greenlets]:
            kill(running, exception)
        if block:
            self.join(timeout)


def enlist(handler: Handler, listed: dict[Handler, None] | None) -> None:
    """Move a connection from the list that has it to the end of this one; None takes it out."""
    if handler.listed is not None:
        del handler.listed[handler]
    handler.listed = listed
    if listed is not None:
        listed[handler] = None


class HttpServer(WSGIServer):
    """Serves one listening socket with one application.

    ``tls``: assigning another context, never None, affects connections that begin after it. ``late``: the response
    where the app has none before the deadline.
    """

    def __init__(
        self,
        listening: socket.socket,
        application: WSGIApplication,
        *,
        limits: Limits,
        log: RequestLog,
        admission: Admission,
        body_limit: PeerBodyLimit,
        shown_target: Callable[[str], str],
        trusted_proxies: Sequence[Network] = (),
        tls: SSLContext | None = None,
        error: Callable[[int, str, Headers], Response] = plain_text,
        counts: Counts | None = None,
        feed: RequestFeed | None = None,
        is_reserved: Callable[[str], bool] | None = None,
        on_request: Callable[[], None] | None = None,
    ) -> None:
        """``listening`` is what `answerd.server.sockets.bind` returned. ``body_limit`` is asked before a body is waited
        for; where it says 0, ``application`` is called without one and must refuse the request. ``shown_target``
        returns a target as the log and the feed have it. ``error`` makes the server's own errors, of a status, a reason
        and headers. ``feed``: where requests are noted for the console and the events. ``is_reserved``: whether the
        requests of an undecoded path may use the places of ``admission.reserved`` above the limit; they are answered
        before others. ``on_request`` is called when a request is wholly there, before the app.
        """
        host, port = listening.getsockname()[:2]
        environ = {
            "SERVER_NAME": str(host),  # or pywsgi would look for the name of the machine in the DNS
            "SERVER_PORT": str(port),
            "wsgi.url_scheme": "http" if tls is None else "https",
            "wsgi.input_terminated": True,
        }
        self.pool: ConnectionPool
        super().__init__(
            listening,
            application,
            spawn=ConnectionPool(admission.connections),
            log=None,
            environ=environ,
        )
        self.max_accept = limits.accept_at_once
        self.limits = limits
        self.request_log = log
        self.admission = admission
        self.trusted_proxies = tuple(trusted_proxies)
        self.tls = tls
        self.body_limit = body_limit
        self.shown_target = shown_target
        self.error = error
        self.counts = counts
        self.feed = feed
        self.is_reserved = is_reserved
        self.on_request = on_request
        self.memory = ConnectionMemory(admission)
        self.hub = get_hub()
        self.busy, self.out_of_memory = (
            error(SERVICE_UNAVAILABLE, f"the service is at its limit of {what}, try again in 2 seconds", _RETRY)
            for what in ("connections", "memory")
        )
        self.late = error(SERVICE_UNAVAILABLE, LATE, _RETRY)
        self._fresh: deque[Handler] = deque()  # accepted, not yet looked at
        self._row: deque[Handler] = deque()  # their requests are there
        self._answered: list[Handler] = []  # their responses are to be sent
        self._to_await: list[Callable[[], None]] = []  # what has to be written before responses are sent
        self._shedding: dict[Handler, None] = {}  # above the limit, and their request line is not there
        self._lingering: dict[Handler, None] = {}
        self._streams: dict[Handler, None] = {}
        self._sweeper: Any = None
        self._is_draining = False
        self._drained = Event()
        self._shed_counts: dict[Shed, int] = {}  # since the last line about them
        self._shed_lines: Mapping[Shed, str] = {
            "connections": f"connections, limit {admission.connections.limit}",
            "bodies": f"bodies in flight, limit {admission.bodies.limit}",
            "answers": f"answers waiting to be read, limit {admission.answers.limit}",
        }
        self._accept_failures: dict[str, int] = {}  # by reason
        self._report_at = 0.0

    # --- accepting ----------------------------------------------------------------------------------------------------

    def _do_read(self) -> None:
        """Accept what is there, then look at it; called by the loop."""
        super()._do_read()  # type: ignore[misc]
        self._begin_fresh()

    def do_read(self) -> tuple[Socket, tuple[Any, ...]] | None:  # type: ignore[override]
        """Accept one connection; None when there is nothing to accept for now."""
        while True:
            try:
                descriptor, address = self.socket._accept()  # type: ignore[attr-defined]
                return Socket(self.family, SOCK_STREAM, 0, descriptor), address
            except BlockingIOError:
                return None
            except OSError as error:
                if not self._recover(error):
                    return None

    def do_handle(self, accepted: Socket, address: tuple[Any, ...]) -> None:
        """Take a connection in, or have it shed."""
        handler = Handler(accepted, address, self)
        if self._sweeper is None:
            self._start_sweeping()
        places = self.pool.places
        if self.pool.admit(handler, places) or (self._shed_oldest_idle() and self.pool.admit(handler, places)):
            self._fresh.append(handler)
        else:
            self._shed(handler)

    def _begin_fresh(self) -> None:
        """Read from new connections, and answer those that are ready."""
        fresh = self._fresh
        for _ in range(min(READ_AT_ONCE, len(fresh))):
            fresh.popleft().begin()
        if fresh:
            self.loop.run_callback(self._begin_fresh)
        if self._row:
            self._answer_row()

    def _recover(self, error: OSError) -> bool:
        """Count a failed accept and react to it; return False when there is nothing to accept for now."""
        if error.errno in _CLOSED:
            return False
        reason = os.strerror(error.errno) if error.errno else str(error)
        self._accept_failures[reason] = self._accept_failures.get(reason, 0) + 1
        self._start_sweeping()  # a sweep logs it
        if error.errno in _NO_FILES and self._close_oldest_lingering():
            return True
        if error.errno in _NO_FILES or error.errno in _NO_MEMORY:
            self._pause_accepting()
            return False
        return True  # that one connection was already gone

    def _close_oldest_lingering(self) -> bool:
        """Close the oldest connection that lingers; return False where there is none."""
        oldest = next(iter(self._lingering), None)
        if oldest is not None:
            oldest.close()
        return oldest is not None

    def _pause_accepting(self) -> None:
        """Stop accepting for a moment: the socket stays ready, and the loop would spin."""
        self.stop_accepting()
        self._timer = self.loop.timer(PAUSE_SECONDS)
        self._timer.start(self._start_accepting_if_started)  # type: ignore[attr-defined,call-arg]

    # --- above the limit ----------------------------------------------------------------------------------------------

    def _shed(self, handler: Handler) -> None:
        """Have a client above the limit told so, unless it turns out to have a right to a reserved place."""
        waiting = len(self._shedding) + len(self._lingering)
        if (self.is_reserved is None and self.tls is None) or waiting >= self.limits.max_lingering:
            handler.shed()
            return
        handler.shed_at = min(handler.deadline, monotonic() + SHED_SECONDS)
        enlist(handler, self._shedding)
        handler.begin()

    def reserve(self, handler: Handler, path: str) -> bool:
        """Give a connection above the limit a place that is reserved for requests of this path; return whether it has
        one."""
        enlist(handler, None)
        reserved = self.admission.reserved
        return self.is_reserved is not None and self.is_reserved(path) and self.pool.admit(handler, reserved)

    def _shed_oldest_idle(self) -> bool:
        """Make room for a connection; return False when none is idle, or the limits do not allow it."""
        if not self.limits.idle_give_way:
            return False
        idle = next((handler for handler in self.pool.connections if handler.is_idle), None)
        if idle is not None:
            idle.shed()
        return idle is not None

    def count_shed(self, what: Shed) -> None:
        """Count a client that gets a 503 because ``what`` is at its limit; the log sums that up."""
        self._shed_counts[what] = self._shed_counts.get(what, 0) + 1
        if self.counts is not None:
            self.counts.shed(what)

    # --- answering ----------------------------------------------------------------------------------------------------

    def ready(self, handler: Handler, path: str) -> None:
        """Have the request for ``path``, undecoded, answered at the end of this turn of the loop, together with
        others."""
        if self.on_request is not None:
            self.on_request()
        if self.is_reserved is not None and self.is_reserved(path):
            self._row.appendleft(handler)
        else:
            self._row.append(handler)
        if len(self._row) == 1:
            self.loop.run_callback(self._answer_row)

    def _answer_row(self) -> None:
        """Ask the app for those that are ready, and send the responses; in the loop."""
        while self._row:
            self.pool.spawn(self._ask_row)  # back at the end of the row or of its time, or when an app waits
            self._send_answered()

    def _ask_row(self) -> None:
        row, until = self._row, monotonic() + ROW_SECONDS
        while row:
            handler = row.popleft()
            try:
                handler.ask()
            except Exception as error:  # of the server, not of the app
                handler.fail(error)
            if monotonic() >= until:
                return

    def answered(self, handler: Handler) -> None:
        """Have a response sent at the end of the row, or of this turn of the loop."""
        self._answered.append(handler)
        if len(self._answered) == 1:
            self.loop.run_callback(self._send_answered)

    def await_later(self, awaited: Callable[[], None]) -> None:
        """Have something written that a response waits for, together with what others of the row wait for."""
        self._to_await.append(awaited)
        if len(self._to_await) == 1:
            self.loop.run_callback(self.pool.spawn, self._await_row)

    def _await_row(self) -> None:
        row, self._to_await = self._to_await, []
        for awaited in row:
            awaited()

    def _send_answered(self) -> None:
        answered, self._answered = self._answered, []
        for handler in answered:
            handler.deliver()

    # --- after the response -------------------------------------------------------------------------------------------

    def linger(self, handler: Handler) -> None:
        """Keep a connection that has been answered, to listen to its client."""
        enlist(handler, None)
        handler.deadline = min(handler.deadline, monotonic() + LINGER_SECONDS)
        if len(self._lingering) >= self.limits.max_lingering:
            self._close_oldest_lingering()
        enlist(handler, self._lingering)

    def stream(self, handler: Handler) -> None:
        """Keep a connection that an app goes on sending on: it has no deadline, and ends when the server drains."""
        if self._is_draining:
            handler.close()
        else:
            handler.place = self.pool.places
            handler.place.add(1)
            enlist(handler, self._streams)

    def forget(self, handler: Handler) -> None:
        """Forget a connection that has ended."""
        enlist(handler, None)
        if self._is_draining and self.closed and self._is_empty():
            self._drained.set()

    # --- deadlines ----------------------------------------------------------------------------------------------------

    def _start_sweeping(self, after: float = SWEEP_SECONDS) -> None:
        """Sweep while any connection is open."""
        if self._sweeper is None:
            self._sweeper = self.loop.timer(after, SWEEP_SECONDS)
            self._sweeper.start(self._sweep)

    def _stop_sweeping(self) -> None:
        if self._sweeper is not None:
            self._sweeper.stop()
            self._sweeper.close()
            self._sweeper = None

    def _sweep(self) -> None:
        now = monotonic()
        overdue = self._overdue(now)
        for handler in overdue[:CUT_AT_ONCE]:
            handler.overdue()
        for handler in [handler for handler in self._shedding if handler.shed_at <= now]:
            handler.shed()
        if len(overdue) > CUT_AT_ONCE:  # a timer, because the loop would look at no socket between 50 callbacks
            self._stop_sweeping()
            self._start_sweeping(0.0)
        self._log_overload(now)
        if self._is_empty() and not (self._is_draining or self._shed_counts or self._accept_failures):
            self._stop_sweeping()

    def _overdue(self, now: float) -> list[Handler]:
        overdue = [handler for handlers in (self._lingering, self._shedding) for handler in handlers]
        overdue = [handler for handler in overdue if handler.deadline <= now]
        for handler in self.pool.connections:  # in order of their deadlines
            if handler.deadline > now:
                break
            overdue.append(handler)
        if self._is_draining:
            silent_since = now - SILENT_SECONDS + self.limits.timeout  # the deadline of one accepted so long ago
            overdue += [
                handler
                for handler in self.pool.connections
                if handler.stage == WAITING and now < handler.deadline <= silent_since
            ]
        return overdue

    def _log_overload(self, now: float) -> None:
        """Log what was shed and what failed, at most once a second."""
        if now < self._report_at or not (self._shed_counts or self._accept_failures):
            return
        self._report_at = now + REPORT_SECONDS
        for what, count in self._shed_counts.items():
            self.request_log.line(f"503 shed {count} {self._shed_lines[what]}")
        for reason, count in self._accept_failures.items():
            self.request_log.line(f"accept failed: {reason} ({count} times)")
        self._shed_counts.clear()
        self._accept_failures.clear()

    # --- the end ------------------------------------------------------------------------------------------------------

    def drain(self, until: float) -> int:
        """Stop accepting and finish what is in flight; at ``until`` (monotonic clock) the rest is closed. Return how
        many that were.

        Connections that the kernel has accepted are still served, new ones are refused, unless other processes go on
        accepting from the socket. A connection that has not sent a byte is waited for `SILENT_SECONDS`. Called once,
        from a greenlet.
        """
        self._is_draining = True
        for handler in list(self._streams):  # their clients connect again, to the process that answers then
            handler.close()
        self.loop.run_callback(self._accept_last)
        self._drained.wait(max(0.0, until - monotonic()))
        left = [*self.pool.connections, *self._lingering, *self._shedding]
        self.loop.run_callback(self._end_all, left)
        self.stop(END_SECONDS)
        self._stop_sweeping()
        return len(left)

    def _accept_last(self) -> None:
        """Take over the connections that the kernel has accepted, then close the listening socket; in the loop."""
        self.stop_accepting()
        for _ in range(BACKLOG + 1):
            accepted = self.do_read()
            if accepted is None:
                break
            self.do_handle(*accepted)
        self.close()
        self._begin_fresh()
        self._start_sweeping()
        if self._is_empty():
            self._drained.set()

    def _is_empty(self) -> bool:
        return not (self.pool.connections or self._lingering or self._shedding)

    def _end_all(self, handlers: Iterable[Handler]) -> None:
        for handler in handlers:
            handler.cut("the service ends")
