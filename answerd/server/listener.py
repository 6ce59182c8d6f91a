"""The listener: serves one listening socket with one application.

Admits or sheds the connections that its acceptor takes from the kernel, and puts the parts together: accepting
(`accepting.py`), answering (`answering.py`), deadlines (`deadlines.py`) and draining (`draining.py`). One connection is
`connection.py`. Must not know the meaning of a request: an application is a plain WSGI callable.

Connections are accepted until none is left; each waits as a watcher and a buffer; above the limit a ready-made 503 is
written at once.

`Listener.__init__` has more than 50 lines: it names every argument and puts the parts together, without a branch.
"""

from __future__ import annotations

import socket
from _socket import socket as Socket
from collections import deque
from collections.abc import Callable, Sequence
from ssl import SSLContext
from typing import Any, Final
from wsgiref.types import WSGIApplication

from gevent import get_hub

from answerd.addresses import Network
from answerd.server.accepting import Acceptor
from answerd.server.admission import Admission
from answerd.server.answering import Answerable, Answering
from answerd.server.connection import Connection
from answerd.server.deadlines import Deadlines
from answerd.server.draining import Draining
from answerd.server.http_parser import HttpRequest
from answerd.server.memory import ConnectionMemory
from answerd.server.overload import Overload
from answerd.server.request_feed import RequestFeed
from answerd.server.request_log import RequestLog
from answerd.server.serving import Counts, ErrorForm, Gate, Limits, NoCounts, Serving
from answerd.server.sockets import refuse_new
from answerd.server.wsgi import base_environ, plain_text

SERVE_AT_ONCE: Final = 32  # fresh connections read before others get a turn
SHED_UNDER_TLS: Final = 256  # handshakes at a time whose only purpose is to say 503


def _always(_request: HttpRequest, _peer: str) -> bool:
    """Return True: without a gate, every body is read."""
    return True


class Listener:
    """Serves one listening socket with one application. It is the `answerd.server.connection.Host` of its connections.

    ``siblings``: the other listeners of the process. ``tls``: assigning another context, never None, affects
    connections that begin after it.
    """

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
        wants_body: Gate = _always,
        error: ErrorForm = plain_text,
        counts: Counts = NoCounts(),  # noqa: B008 (it has no state)
        feed: RequestFeed | None = None,
        is_shared: bool = False,
    ) -> None:
        """``sock`` is what `answerd.server.sockets.bind` returned. ``tls`` makes the listener speak TLS. ``wants_body``
        is asked before a body is waited for; where it says no, ``application`` is called without one and must refuse
        the request. ``is_shared``: requests wait for a database that may be away for a moment."""
        self._socket = sock
        self.address: tuple[Any, ...] = sock.getsockname()
        self.serving = Serving(
            application,
            base_environ(self.address, "http" if tls is None else "https", log),
            limits,
            log,
            tuple(trusted_proxies),
            wants_body,
            error,
            counts,
            feed,
            is_shared,
        )
        self.admission = admission
        self.memory = ConnectionMemory(admission)
        self.tls = tls
        self.siblings: Sequence[Listener] = ()
        hub = get_hub()
        self.loop = hub.loop
        self._fresh: deque[Connection] = deque()  # accepted, not yet looked at
        self._overload = Overload(log)
        self._answering = Answering(hub)
        # Without a method in between: a request calls both.
        self.ready: Callable[[Answerable], None] = self._answering.ready
        self.answered: Callable[[Answerable], None] = self._answering.answered
        self.deadlines = Deadlines(self.loop, limits, self._housekeep)
        self.acceptor = Acceptor(
            sock,
            self.loop,
            at_once=limits.accept_at_once,
            admit=self._admit,
            accepted=self._serve_fresh,
            make_room=self._make_room,
            failed=self._accept_failed,
            busy=b"" if tls is not None else self.serving.busy.head + self.serving.busy.body,
        )
        self._draining = Draining(self.loop, self.acceptor, self.deadlines)

    def start(self) -> None:
        """Accept connections from now on."""
        self.acceptor.start()

    def drain(self, until: float, *, hands_over: bool = False) -> int:
        """Stop accepting and finish what is in flight; at ``until`` (monotonic clock) the rest is closed.

        Connections that the kernel has accepted are still served, new ones are refused. Return how many had to be
        closed. Called once, from a greenlet. ``hands_over``: other processes go on accepting from the socket, so no
        client is refused.
        """
        if not hands_over:
            refuse_new(self._socket)
        return self._draining.run(until)

    def close(self) -> None:
        """Stop accepting at once and close the listening socket; what is in flight goes on."""
        self.acceptor.close()

    # --- admitting -------------------------------------------------------------------------------------------------

    def _admit(self, accepted: Socket, address: tuple[Any, ...], now: float) -> None:
        connection = Connection(self, self.serving, accepted, address, now + self.serving.limits.timeout)
        self.deadlines.watch()
        if self.admission.admit() or (self._shed_oldest_idle() and self.admission.admit()):
            self.deadlines.in_flight[connection] = None
            self._fresh.append(connection)
            return
        connection.has_permit = False
        self.count_shed("connections", self.admission.limit)
        if self.tls is not None:
            if len(self.deadlines.lingering) >= SHED_UNDER_TLS:
                connection.close()
                return
            self.deadlines.lingering[connection] = None
        connection.shed()

    def _shed_oldest_idle(self) -> bool:
        """Make room for a connection; return False when none is idle, or the limits do not allow it."""
        if not self.serving.limits.idle_give_way:
            return False
        idle = next((connection for connection in self.deadlines.in_flight if connection.is_idle), None)
        if idle is None:
            return False
        self.release_permit(idle)
        self.count_shed("connections", self.admission.limit)
        idle.shed()
        return True

    def _serve_fresh(self) -> None:
        """Read from new connections; most have sent their request by now, so that they never need a watcher."""
        fresh = self._fresh
        for _ in range(min(SERVE_AT_ONCE, len(fresh))):
            connection = fresh.popleft()
            if not connection.closed:
                connection.read()
        if fresh:
            self.loop.run_callback(self._serve_fresh)
        self._answering.answer_ready()

    def _make_room(self) -> bool:
        """Close a connection that is answered, of any listener; return False where there is none."""
        return any(listener.deadlines.close_oldest_lingering() for listener in (self, *self.siblings))

    def _accept_failed(self, reason: str) -> None:
        self._overload.accept_failed(reason)
        self.deadlines.watch()  # a sweep logs it

    def _housekeep(self, now: float) -> bool:
        """Do what is due beside deadlines; return whether there will be more."""
        self.memory.refuse_large_bodies()  # another worker may have taken what is left
        self._overload.report(now)
        self._draining.check()
        return self._overload.is_pending

    # --- what connections call -------------------------------------------------------------------------------------

    def release_permit(self, connection: Connection) -> bool:
        """Let another connection have the place of this one; False if it held none."""
        if not connection.has_permit:
            return False
        connection.has_permit = False
        self.admission.release()
        return True

    def reacquire_permit(self, connection: Connection) -> None:
        """Take the place again, whether there is one or not: the connection is not done yet after all."""
        connection.has_permit = True
        self.admission.readmit()

    def linger(self, connection: Connection) -> None:
        """Keep a connection that has been answered, to listen to its client."""
        self.deadlines.linger(connection)

    def stream(self, connection: Connection) -> None:
        """Keep a connection that an app goes on sending on: it has no deadline, and ends when the listener drains."""
        self.deadlines.stream(connection)

    def forget(self, connection: Connection) -> None:
        """Forget a connection that is being closed."""
        if connection.has_permit:
            self.release_permit(connection)
        self.deadlines.remove(connection)
        if self._draining.has_begun:
            self._draining.check()

    def count_shed(self, what: str, limit: int) -> None:
        """Count a client that got a 503 because ``what`` is at its limit; the log sums that up."""
        self._overload.shed(what, limit)
        self.serving.counts.shed(what.partition(" ")[0])
