"""One connection: from its accept over one request and one response to its close.

Knows when a greenlet is needed (only while an app runs), how a response is made to arrive, and how an app goes on
sending after it (`answerd.server.exchange.Exchange.takeover`). Must not know how
connections are accepted or counted; its listener keeps the deadlines. The bytes are `channel.py`.

A connection waits as a watcher on its socket and a buffer. It reads the request, runs the app, sends the response, and
lingers where the client may still be sending: closing a socket with unread bytes resets the connection and loses the
response. So the sending side is closed first and what arrives is thrown away, for a bounded time and amount.

More than 400 lines, because the stages of a connection share its state, and a second object costs memory for each.
"""

from __future__ import annotations

import ssl
from _socket import MSG_DONTWAIT, SHUT_WR
from _socket import socket as Socket
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, Protocol

from answerd.server.channel import READ, SMALL_ANSWER, WRITE, Channel
from answerd.server.client import Sink
from answerd.server.exchange import Exchange
from answerd.server.header_block import BadRequest
from answerd.server.http_parser import COMPLETE, HttpRequest, Progress, RequestReader
from answerd.server.memory import ConnectionMemory
from answerd.server.peer import forwarded_for, peer_address, with_port
from answerd.server.request_log import describe_error, without_token
from answerd.server.serving import LATE, Serving
from answerd.server.statuses import INTERNAL_ERROR
from answerd.server.wsgi import Response, environ_of, respond, without_length

READ_SIZE: Final = 65_536
UNCOUNTED_BODY: Final = 8_192  # bytes of a body that came with its header; real ones have up to 4 KB
STREAM_BACKLOG: Final = 262_144  # bytes of a stream that wait for its client; one that lags further is cut
_TO_RESPOND_SECONDS: Final = 1.0  # before the deadline, an app stops waiting
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Host(Protocol):
    """What a connection needs of its listener."""

    loop: Any
    memory: ConnectionMemory
    tls: ssl.SSLContext | None

    def ready(self, connection: Connection, /) -> None:
        """Call `Connection.answer` soon, in a greenlet: the request is complete."""

    def answered(self, connection: Connection, /) -> None:
        """Call `Connection.send` soon: the response is there."""

    def release_permit(self, connection: Connection) -> bool:
        """Release the permit of a connection for another; return False if it had none."""

    def reacquire_permit(self, connection: Connection) -> None:
        """Take the permit again: the connection is not finished yet."""

    def linger(self, connection: Connection) -> None:
        """Keep a connection that has been answered, to listen to its client."""

    def stream(self, connection: Connection) -> None:
        """Keep a connection that an app goes on sending on: it has no deadline."""

    def forget(self, connection: Connection) -> None:
        """Forget a connection that is being closed."""

    def count_shed(self, what: str, limit: int) -> None:
        """Count a client that got a 503 because ``what`` is at its limit."""


class Connection(Channel):
    """One client. Its methods run in callbacks of the loop, and `answer` in a greenlet.

    It is the `answerd.server.client.Client` of its exchange and the `answerd.server.memory.Holder` of its bytes.
    """

    __slots__ = (
        "_address", "_answering", "_body_size", "_discarded", "_host", "_is_late", "_outcome", "_reader", "_response",
        "_serving", "_shedding", "_takeover", "answer_held", "body_held", "closed", "deadline", "has_permit",
    )  # fmt: skip

    def __init__(self, host: Host, serving: Serving, socket: Socket, address: tuple[Any, ...], deadline: float) -> None:
        """``address``: the client's; ``deadline``: on the monotonic clock."""
        Channel.__init__(self, socket, host.loop)
        self.deadline = deadline
        self.closed = False
        self.has_permit = True
        self.body_held = 0  # bytes, as counted by the listener
        self.answer_held: bytes | None = None  # as counted by the listener
        self._host = host
        self._serving = serving
        self._address = address
        self._reader: RequestReader | None = None
        self._response: Response | None = None
        self._answering = self._is_late = False  # the app runs; the deadline came while it ran
        self._shedding = False  # it only gets a 503
        self._takeover: Callable[[Sink], object] | None = None
        self._outcome: str | Callable[[], str] = ""
        self._body_size = self._discarded = 0

    @property
    def waits_for_first_byte(self) -> bool:
        """Whether the client has connected and not sent a byte."""
        return self._reader is None and self._tls is None

    @property
    def is_idle(self) -> bool:
        """Whether the client has not sent a whole header yet, so that nothing is known of it but its address."""
        reader = self._reader
        return not self.closed and self._response is None and (reader is None or reader.request is None)

    @property
    def respond_by(self) -> float:
        """When an app that waits for something must give up (monotonic clock), so that its response still arrives."""
        return self.deadline - min(_TO_RESPOND_SECONDS, self._serving.limits.timeout / 4)

    def is_gone(self) -> bool:
        """Return whether the client has closed its connection, as far as can be known without writing to it.

        A client that has only finished sending looks the same: use this for a client that has been waiting.
        """
        return self.closed or self._is_late or self._is_closed_by_client()

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read what is there."""
        try:
            data = self._socket.recv(READ_SIZE, MSG_DONTWAIT)
        except BlockingIOError:
            self._watch(READ, self.read)
            return
        except OSError:
            self.cut("the client went away")
            return
        try:
            if not data:
                self._ended()
            elif self._host.tls is None and self._tls is None:
                self._received(data)
            else:
                self._received_ciphertext(data)
        except Exception as error:
            self._failed(error)

    def _received(self, data: bytes) -> None:
        reader = self._reader
        if reader is None:
            reader = self._reader = RequestReader(
                self._serving.limits.max_body, self._wants_body, self._serving.limits.larger_body
            )
        try:
            progress = reader.receive(data)
        except BadRequest as refusal:
            self._refuse(refusal)
            return
        if progress is COMPLETE:
            size = len(reader.request.body) if reader.request is not None else 0
            if (size > UNCOUNTED_BODY or self.body_held) and not self._hold_complete_body(size):
                return
            if self._watcher is not None:
                self._unwatch()
            self._host.ready(self)
        elif reader.held > self.body_held and not self._host.memory.hold_body(self, reader.held):
            self.refuse_body()
        else:
            if progress is Progress.CONTINUE:
                self._send_at_once(CONTINUE)
            self._watch(READ, self.read)

    def _hold_complete_body(self, size: int) -> bool:
        """Count a body; return False if the memory is full, in which case a 503 has been sent."""
        if self._host.memory.hold_body(self, size):
            self._host.memory.keep_body(self, size)
            return True
        self.refuse_body()
        return False

    def _wants_body(self, request: HttpRequest) -> bool:
        return self._serving.wants_body(request, self._peer(request))

    def refuse_body(self) -> None:
        """Send a 503: the memory for bodies is full."""
        if self._reader is not None:
            self._reader.drop_body()
        self._host.memory.release_body(self)
        self._host.count_shed("bodies in flight", self._host.memory.body_limit)
        self._shedding = True
        self._send(self._serving.out_of_memory)

    def _received_ciphertext(self, data: bytes) -> None:
        try:
            plaintext = self._decrypted(data, self._host.tls)
        except ssl.SSLError as error:
            self.cut(f"TLS failed: {error.reason or error}")
            return
        tls = self._tls
        if tls is None:  # pragma: no cover: it has decrypted something
            return
        if self._shedding and tls.handshaken:
            self._send(self._serving.busy)
        elif plaintext:
            self._received(plaintext)
            if tls.ended and self._watched == READ and self._response is None:
                self._ended()
        elif tls.ended:
            self._ended()
        else:
            self._watch(READ, self.read)

    def _ended(self) -> None:
        """Handle the end of what the client sends."""
        if self._reader is not None:
            try:
                self._reader.end()
            except BadRequest as refusal:
                self._refuse(refusal)
                return
        self.close()

    # --- answering -------------------------------------------------------------------------------------------------

    def _refuse(self, refusal: BadRequest) -> None:
        if self._reader is not None:
            self._reader.drop_body()
        if self.body_held:
            self._host.memory.release_body(self)
        self._outcome = refusal.reason
        seconds = monotonic() - self.deadline + self._serving.limits.timeout
        self._serving.counts.answered(refusal.status, "", "", seconds)
        self._send(self._serving.error(refusal.status, refusal.reason))

    def answer(self) -> None:
        """Run the app; in a greenlet, where it may wait."""
        serving, reader = self._serving, self._reader
        if reader is None or reader.request is None:  # aborted while it waited for its turn
            return
        request = reader.request
        self._answering = True
        # Before the app runs, which may close a spooled body.
        self._body_size = len(request.body if request.spooled is None else request.spooled)
        exchange = Exchange(request, self._peer(request), self)
        try:
            response = respond(serving.application, environ_of(exchange, serving.environ, self._address[1]))
            outcome = exchange.describe or exchange.outcome
        except Exception as error:
            failed = f"{request.method} {without_token(request.target)}"
            serving.log.service(f"an app failed on {failed}: {describe_error(error)}")
            outcome = "the service failed unexpectedly"
            response = serving.error(INTERNAL_ERROR, "the service failed unexpectedly, its log says why")
        seconds = monotonic() - self.deadline + serving.limits.timeout  # since the accept
        serving.counts.answered(response.status, exchange.extension, exchange.kind, seconds)
        self._answering = False
        request.body, request.spooled = b"", None
        if self.body_held:
            self._host.memory.release_body(self)
        if not self.closed and not self._is_late:  # aborted while the app ran
            self._outcome = outcome
            if exchange.takeover is not None:
                self._takeover, response = exchange.takeover, without_length(response)
            self._response = response
            self._host.answered(self)

    def send(self) -> None:
        """Send the response."""
        try:
            if self._response is not None:
                self._send(self._response)
        except Exception as error:
            self._failed(error)

    def _send(self, response: Response) -> None:
        if self.closed:
            return
        host, body = self._host, response.body
        is_large = len(body) > SMALL_ANSWER
        if is_large and not host.memory.has_room_for(body):
            host.count_shed("answers waiting to be read", host.memory.answer_limit)
            self._shedding = True
            self._send(self._serving.out_of_memory)
            return
        self._response = response
        # Release the permit before the client can know that it was answered: its next connection could get a 503.
        held = self.has_permit and host.release_permit(self)
        try:
            if self._takeover is not None and self._tls is not None:  # the TLS connection goes on, too
                is_sent = self._send_more(response.head)
            else:
                is_sent = self._start_sending(response.head, body)
        except OSError:
            self.cut("the client went away")
            return
        if is_sent:
            self._sent()
        else:
            if held:
                host.reacquire_permit(self)
            if is_large:
                host.memory.hold_answer(self, body)
            self._watch(WRITE, self._go_on_sending)

    def _go_on_sending(self) -> None:
        try:
            is_sent = self._push()
        except OSError:
            self.cut("the client went away")
            return
        if is_sent:
            if self.answer_held is not None:
                self._host.memory.release_answer(self)
            self._host.release_permit(self)
            self._sent()

    def _sent(self) -> None:
        response = self._response
        if response is not None and not self._shedding:
            self._log(response.status, self._outcome, len(response.body))
            self._outcome = ""
        if self._takeover is not None and not self._shedding:
            self._begin_stream(self._takeover)
            return
        # Under TLS the client still sends its close notification.
        reader = self._reader
        is_read = reader is not None and not reader.sent_more and self._tls is None and not self._has_unread()
        (self.close if is_read else self._linger)()

    def _log(self, status: int | None, outcome: str | Callable[[], str], sent: int) -> None:
        log, feed = self._serving.log, self._serving.feed
        if feed is None and not log.keeps(status):
            return
        reader = self._reader
        request = reader.request if reader is not None else None
        method, target = reader.line if reader is not None else ("-", "-")
        body = 0 if request is None else self._body_size or len(request.body)
        if not isinstance(outcome, str):
            outcome = outcome()
        if not outcome and self._response is not None:
            outcome = self._response.reason
        peer = with_port(self._peer(request), self._address[1])
        log.request(peer, method, target, body=body, status=status, outcome=outcome, sent=sent)
        if feed is not None:
            feed.add(peer, method, target, status, outcome, body=body, sent=sent)

    def _peer(self, request: HttpRequest | None) -> str:
        """Return the address that counts; without a header to read, the connection's own."""
        trusted = self._serving.trusted_proxies
        address: str = self._address[0]
        if not trusted and ":" not in address:
            return address
        forwarded = forwarded_for(request.headers) if trusted and request is not None else ()
        return peer_address(address, forwarded, trusted)

    # --- going on after the response -------------------------------------------------------------------------------

    def _begin_stream(self, takeover: Callable[[Sink], object]) -> None:
        self._host.reacquire_permit(self)
        self._host.stream(self)
        if not self.closed:
            self._watch(READ, self._moved)
            takeover(self)

    def push(self, data: bytes) -> bool:
        """Send more of a stream. A client that does not read is cut off; return False where the connection has
        ended."""
        if self.closed:
            return False
        try:
            is_sent = self._send_more(data)
        except OSError:
            self.close()
            return False
        if self._bytes_unsent() > STREAM_BACKLOG:
            self.cut("the client does not read what it asked for")
            return False
        self._watch(READ if is_sent else READ | WRITE, self._moved)
        return True

    def _moved(self) -> None:
        """Handle an event of a stream's socket: the client reads on, sends unexpected bytes, or has gone."""
        try:
            if self._discard() == 0:
                self.close()
                return
        except BlockingIOError:
            pass
        try:
            if self._unsent is not None and self._push():
                self._watch(READ, self._moved)
        except OSError:
            self.close()

    # --- the end ---------------------------------------------------------------------------------------------------

    def shed(self) -> None:
        """Send a 503 at once and without a permit; under TLS after the handshake."""
        self._shedding = True
        if self._host.tls is None:
            self._send(self._serving.busy)
        else:
            self.read()

    def _linger(self) -> None:
        try:
            self._socket.shutdown(SHUT_WR)
        except OSError:
            self.close()
            return
        self._unwatch()
        self._reader = self._tls = self._response = None
        self._host.linger(self)
        self._drain()

    def _drain(self) -> None:
        try:
            size = self._discard()
        except BlockingIOError:
            self._watch(READ, self._drain)
            return
        self._discarded += size
        if not size or self._discarded > self._serving.limits.linger_bytes:
            self.close()
        else:
            self._watch(READ, self._drain)

    def overdue(self) -> None:
        """Handle the deadline: abort a slow client; send an error where the app is slow."""
        if not self._answering or self._is_late:
            self.cut("deadline")
            return
        self._is_late = True
        self._outcome = LATE
        self._send(self._serving.late)

    def cut(self, reason: str) -> None:
        """Close the connection without a response, or in the middle of one, and log that."""
        if self.closed:
            return
        sent = 0
        if self._response is not None and self._unsent is not None:
            sent = max(0, len(self._response.body) - self._bytes_unsent())
            self._reset_on_close()
        if self._reader is not None or self._tls is not None:
            self._log(None, reason, sent)
            self._serving.counts.aborted()
        self.close()

    def _failed(self, error: Exception) -> None:
        """Log a fault in this service; only this connection ends."""
        self._serving.log.service(f"a connection failed: {describe_error(error)}")
        self.close()

    def close(self) -> None:
        """Close the connection and release its resources. Safe to call twice."""
        if self.closed:
            return
        self.closed = True
        self._host.forget(self)
        if self.answer_held is not None:
            self._host.memory.release_answer(self)
        if self.body_held and not self._answering:  # else the app still uses it
            self._host.memory.release_body(self)
        self._close_channel()
        self._reader = self._response = None
