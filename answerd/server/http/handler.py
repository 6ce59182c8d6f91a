"""One connection, from its accept over one request and one response to its close: what `WSGIHandler` is in pywsgi.

A connection goes through these stages, in this order, some of which it may skip:

- ``WAITING``: it was accepted, and its first bytes have not been read. A watcher waits for them, and no greenlet.
- ``READING``: a part of its request is there. A greenlet waits for the rest (`Handler.read_on`).
- ``READY``: its request is there. It waits in a row for the greenlet that asks the app (`Handler.ask`).
- ``ASKING``: the app runs, in that greenlet, where it may wait.
- ``ANSWERED``: the response is there. The loop sends it (`Handler.deliver`); a greenlet waits for a client that does
  not take all of it at once (`Handler.send_rest`).
- ``STREAMING``: an app goes on sending (`Exchange.takeover`), without a deadline.
- ``LINGERING``: it was answered, and what the client still sends is thrown away: closing a socket with unread bytes
  resets the connection, and the response would be lost.
- ``CLOSED``.

`Handler.cut`, `Handler.shed` and `Handler.overdue` end it from outside. A greenlet that waits for the client then gets
`Stopped`. An app that runs is never interrupted: its client gets an error, and its result is dropped.
"""

from __future__ import annotations

import ssl
import struct
from _socket import MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL, SHUT_WR, SO_LINGER, SOL_SOCKET
from _socket import socket as Socket
from collections.abc import Callable
from fcntl import ioctl
from functools import partial
from termios import FIONREAD
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

from gevent import getcurrent
from greenlet import greenlet

from answerd.server.admission import SharedCount
from answerd.server.http.bodies import Ends
from answerd.server.http.parser import BadRequest, HttpRequest, RequestReader
from answerd.server.http.responses import Exchange, Response, Sink, environ_of, respond, without_length
from answerd.server.peer import forwarded_for, peer_address, with_port
from answerd.server.request_log import describe_error
from answerd.server.statuses import INTERNAL_ERROR, SERVICE_UNAVAILABLE

if TYPE_CHECKING:
    from answerd.server.http.server import HttpServer

WAITING: Final = 0
READING: Final = 1
READY: Final = 2
ASKING: Final = 3
ANSWERED: Final = 4
STREAMING: Final = 5
LINGERING: Final = 6
CLOSED: Final = 7

READ: Final = 1  # events of the loop
WRITE: Final = 2

READ_SIZE: Final = 65_536
UNCOUNTED_BODY: Final = 8_192  # bytes of a body that came with its header; real ones have up to 4 KB
SMALL_ANSWER: Final = 65_536  # bytes that the socket's send buffer takes at once
TLS_PIECE: Final = 65_536  # bytes of an answer that are encrypted at a time
LINGER_BYTES: Final = 8_388_608  # that a client may still send after its response
STREAM_BACKLOG: Final = 262_144  # bytes of a stream that wait for its client; one that lags further is cut
LATE: Final = "the service had no answer before the deadline"
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_DISCARD_SIZE: Final = 262_144
_TO_RESPOND_SECONDS: Final = 1.0  # before the deadline, an app stops waiting
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
_FLAGS: Final = MSG_DONTWAIT | MSG_NOSIGNAL
_AND_END: Final = _FLAGS | MSG_MORE  # the kernel sends the bytes with the FIN that follows at once: one packet less
_unread: Final = bytearray(4)  # an int: how many bytes the kernel holds
_discarded: Final = bytearray(_DISCARD_SIZE)  # where the bytes go that are thrown away


Shed = Literal["connections", "bodies", "answers"]
"""What is at its limit where a client gets a 503: connections in flight, bodies that arrive, answers that wait to be
read."""


class ClientGone(Exception):
    """The client has closed or reset the connection."""


class Stopped(Exception):
    """The connection goes on, or has ended, without the greenlet that waits for its client."""


class Handler:
    """One client. It has `WSGIHandler`'s constructor, and nothing else of it.

    It is the `answerd.server.http.responses.Client` and `Sink` of its exchange. ``place`` is the count in which it
    holds a place: that of the connections in flight, or the reserved ones; None where it has given its place back, or
    never had one. ``listed``: the list of connections that has it, which `answerd.server.http.server.enlist` changes.
    ``body_held``, ``answer_held``: bytes of its body, and the answer, that `answerd.server.http.bodies` has counted.
    """

    __slots__ = (
        "_body_size", "_discarded_bytes", "_events", "_is_shed", "_outcome", "_reader", "_rest", "_takeover", "_tls",
        "_unsent", "_waiting", "_watcher", "address", "answer_held", "body_held", "deadline", "listed", "place",
        "response", "server", "shed_at", "socket", "stage",
    )  # fmt: skip

    def __init__(self, socket: Socket, address: tuple[Any, ...], server: HttpServer) -> None:
        self.socket = socket
        self.address = address
        self.server = server
        self.deadline = monotonic() + server.limits.timeout
        self.shed_at = 0.0  # when it gets a 503, where it has no place
        self.stage = WAITING
        self.place: SharedCount | None = None
        self.listed: dict[Handler, None] | None = None
        self.response: Response | None = None
        self.body_held = 0
        self.answer_held: bytes | None = None
        self._reader: RequestReader | None = None
        self._tls: TlsLayer | None = None
        self._watcher: Any = None
        self._events = 0
        self._waiting: greenlet | None = None
        self._unsent: bytes | memoryview | None = None  # bytes for the socket
        self._rest: memoryview | None = None  # what follows them; under TLS still to be encrypted
        self._takeover: Callable[[Sink], object] | None = None
        self._is_shed = False  # its response is a 503 of the server, which the log sums up
        self._outcome: str | Callable[[], str] = ""
        self._body_size = self._discarded_bytes = 0

    @property
    def closed(self) -> bool:
        return self.stage == CLOSED

    @property
    def is_idle(self) -> bool:
        """Whether the client has not sent a whole header yet, so that nothing is known of it but its address."""
        if self.stage == READING:
            return self._reader is None or self._reader.request is None
        return self.stage == WAITING

    @property
    def respond_by(self) -> float:
        return self.deadline - min(_TO_RESPOND_SECONDS, self.server.limits.timeout / 4)

    # --- reading ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Read what is there; in the loop, at the accept and, where that was not enough, when there is more.

        Nearly every request is wholly there, and needs no greenlet. One that is not gets one, if its connection has a
        place.
        """
        if self.stage > READING:
            return
        try:
            if self._read():
                return
            if self.stage == READING and self.place is not None:
                self.server.pool.spawn(self.read_on)
            else:
                self._watch(READ, self.begin)
        except Exception as error:
            self.fail(error)

    def read_on(self) -> None:
        """Read the rest of the request; in a greenlet, which waits for the client."""
        try:
            self._wait(READ)
            while not self._read():
                self._wait(READ)
        except Stopped:
            pass
        except Exception as error:
            self.fail(error)

    def _read(self) -> bool:
        """Read once. Return whether that is all that is wanted. Raises `ClientGone`, SSLError."""
        try:
            data = self.socket.recv(READ_SIZE, MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            raise ClientGone from None
        if self.stage == WAITING:
            if not data:
                self.close()
                return True
            self.stage = READING
            if self._watcher is not None:
                self._watcher.stop()
            if self.server.tls is not None:
                self._tls = TlsLayer(self.server.tls)
        if self._tls is None or not data:
            return self._take(data)
        try:
            plaintext = self._tls.receive(data)
        finally:
            self._send_at_once(b"")  # of the handshake, or the alert
        if plaintext and self._take(plaintext):
            return True
        return self._tls.ended and self._take(b"")

    def _take(self, data: bytes) -> bool:
        """Take bytes of the request, none where the client sends nothing more. Return whether no more are wanted: the
        request is ready or refused, or the connection has ended."""
        reader = self._reader
        if reader is None:
            reader = self._reader = RequestReader(self._body_limit)
        try:
            if not data:
                reader.end()
                self.close()
                return True
            is_complete = reader.receive(data)
        except BadRequest as refusal:
            if self.place is None:
                self._shed_because_of("connections")
            else:
                self._refuse(refusal)
            self.server.answered(self)
            return True
        if self.place is None and not self._finds_place(reader):
            return self.stage == ANSWERED
        if is_complete and reader.request is not None:
            request = reader.request
            is_counted = request.body_size > UNCOUNTED_BODY or self.body_held
            if is_counted and not self._has_memory_for(request.body_size - request.left_out):
                return True
            self.stage = READY
            self.server.ready(self, request.path)
            return True
        if reader.held > self.body_held and not self._has_memory_for(reader.held):
            return True
        if reader.awaits_continue:
            reader.awaits_continue = False
            self._send_at_once(CONTINUE)
        return False

    def _finds_place(self, reader: RequestReader) -> bool:
        """Return whether a connection above the limit has one of the reserved places now. It gets a 503 where its
        request line says that it may not."""
        path = reader.path
        if path is None:
            return False
        if self.server.reserve(self, path):
            return True
        self._shed_because_of("connections")
        self.server.answered(self)
        return False

    def _body_limit(self, request: HttpRequest) -> int | Ends:
        return self.server.body_limit(request, self._peer(request))

    def _has_memory_for(self, size: int) -> bool:
        """Count this much of a body; return False if the memory is full, and then a 503 is the response."""
        if self.server.memory.hold_body(self, size):
            return True
        self._drop_body()
        self._shed_because_of("bodies")
        self.server.answered(self)
        return False

    def _drop_body(self) -> None:
        if self._reader is not None:
            self._reader.drop_body()
        if self.body_held:
            self.server.memory.hold_body(self, 0)

    def _refuse(self, refusal: BadRequest) -> None:
        self._drop_body()
        self._outcome = refusal.reason
        self._count(refusal.status)
        self.response = self.server.error(refusal.status, refusal.reason, ())
        self.stage = ANSWERED

    def _wait(self, events: int) -> None:
        """Wait in this greenlet until the socket is ready. Raises `Stopped`."""
        stage = self.stage
        self._prepare_watcher(events)
        self._waiting = getcurrent()
        try:
            self.server.hub.wait(self._watcher)
        finally:
            self._waiting = None
        if self.stage != stage:
            raise Stopped

    # --- answering ----------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask the app for the response; in a greenlet, where the app may wait."""
        server, reader = self.server, self._reader
        if self.stage != READY or reader is None or reader.request is None:  # cut off while it waited for its turn
            return
        request = reader.request
        self.stage = ASKING
        self._body_size = request.body_size
        exchange = Exchange(request, self._peer(request), self)
        try:
            response = respond(server.application, environ_of(exchange, server.environ, self.address[1]))
            outcome = exchange.describe or exchange.outcome
        except Exception as error:
            failed = f"{request.method} {server.shown_target(request.target)}"
            server.request_log.line(f"an app failed on {failed}: {describe_error(error)}")
            outcome = "the service failed unexpectedly"
            response = server.error(INTERNAL_ERROR, "the service failed unexpectedly, its log says why", ())
        request.body = request.body_end = b""
        if self.body_held:
            server.memory.hold_body(self, 0)
        if exchange.awaited is None:
            self._take_answer(exchange, response, outcome)
        else:
            server.await_later(partial(self._await_writing, exchange, exchange.awaited, response, outcome))

    def _await_writing(
        self, exchange: Exchange, awaited: Callable[[], str], response: Response, outcome: str | Callable[[], str]
    ) -> None:
        """Write what has to be written before the response; where that fails, a 503 takes the response's place. In a
        greenlet."""
        try:
            fault = awaited()
        except Exception as error:
            self.fail(error)
            return
        if fault:
            response = self.server.error(SERVICE_UNAVAILABLE, fault, (("Retry-After", "5"),))
            outcome, exchange.extension, exchange.kind = fault, "", ""
        self._take_answer(exchange, response, outcome)

    def _take_answer(self, exchange: Exchange, response: Response, outcome: str | Callable[[], str]) -> None:
        if self.stage != ASKING:  # the deadline has come, and its error was sent
            return
        self._count(response.status, exchange.extension, exchange.kind)
        self._outcome = outcome
        if exchange.takeover is not None:
            self._takeover, response = exchange.takeover, without_length(response)
        self.response = response
        self.stage = ANSWERED
        self.server.answered(self)

    def _count(self, status: int, extension: str = "", kind: str = "") -> None:
        if self.server.counts is not None:
            self.server.counts.answered(status, extension, kind, self._seconds())

    def _seconds(self) -> float:
        """Return the seconds since the accept."""
        return monotonic() - self.deadline + self.server.limits.timeout

    def _shed_because_of(self, what: Shed) -> None:
        """Make a 503 the response, which has no line of its own in the log."""
        self._is_shed = True
        self.server.count_shed(what)
        self.response = self.server.busy if what == "connections" else self.server.out_of_memory
        self.stage = ANSWERED

    # --- sending ------------------------------------------------------------------------------------------------------

    def deliver(self) -> None:
        """Send the response; in the loop."""
        if self.stage != ANSWERED:  # cut off meanwhile
            return
        try:
            if self._waiting is not None:
                self._waiting.throw(Stopped)
            if not self._send():
                self.server.pool.spawn(self.send_rest)
        except Exception as error:
            self.fail(error)

    def _send(self) -> bool:
        """Send as much of the response as the socket takes; return whether that was all. Raises `ClientGone`."""
        response = self.response
        if response is None:  # pragma: no cover: called once it is there
            return True
        head, body, memory = response.head, response.body, self.server.memory
        is_large = len(body) > SMALL_ANSWER
        if is_large and not memory.has_room_for(body):
            self._shed_because_of("answers")
            return self._send()
        # Give the place back before the client can know that it was answered: its next connection could get a 503.
        place = self.place
        self._give_place_back()
        if self._tls is not None:
            self._rest = memoryview(body)[TLS_PIECE:] or None
            is_last = self._rest is None and self._takeover is None
            self._unsent = self._tls.encrypted(head + body[:TLS_PIECE], is_last=is_last)
        elif is_large:  # without another copy of it
            self._unsent, self._rest = head, memoryview(body)
        else:
            self._unsent = head + body
        if self._push():
            self._sent()
            return True
        if place is not None:
            place.add(1)
            self.place = place
        if is_large:
            memory.hold_answer(self, body)
        return False

    def send_rest(self) -> None:
        """Send what the socket did not take at once; in a greenlet, which waits for the client to read."""
        try:
            self._wait(WRITE)
            while not self._push():
                self._wait(WRITE)
            self._sent()
        except Stopped:
            pass
        except Exception as error:
            self.fail(error)

    def _push(self) -> bool:
        """Send as much as the socket takes of what is unsent; return whether that was all. Raises `ClientGone`."""
        goes_on = self._takeover is not None or self.stage == STREAMING
        while True:
            if self._unsent:
                try:
                    sent = self.socket.send(self._unsent, _FLAGS if goes_on or self._rest else _AND_END)
                except BlockingIOError:
                    return False
                except OSError:
                    raise ClientGone from None
                if sent < len(self._unsent):
                    self._unsent = memoryview(self._unsent)[sent:]
                    return False
            if not self._rest:
                self._unsent = self._rest = None
                return True
            if self._tls is None:
                self._unsent, self._rest = self._rest, None
            else:
                piece, self._rest = self._rest[:TLS_PIECE], self._rest[TLS_PIECE:]
                self._unsent = self._tls.encrypted(piece, is_last=not self._rest)

    def _send_at_once(self, data: bytes) -> None:
        """Send something small that the socket always has room for; else the deadline ends the connection."""
        if self._tls is not None:
            data = self._tls.encrypted(data) if data else self._tls.outgoing()
        if data:
            try:
                self.socket.send(data, _FLAGS)
            except OSError:  # the next read says what is wrong
                pass

    def _sent(self) -> None:
        """Log the response, then leave."""
        response, reader = self.response, self._reader
        if self.answer_held is not None:
            self.server.memory.release_answer(self)
        if response is not None and not self._is_shed:
            self._log(response.status, self._outcome, len(response.body))
            self._outcome = ""
        if self._takeover is not None:
            self._begin_stream(self._takeover)
            return
        # Under TLS the client still sends its close notification.
        if reader is not None and not reader.sent_more and self._tls is None and not self._has_unread():
            self.close()
        else:
            self._linger()

    def _give_place_back(self) -> None:
        if self.place is not None:
            self.place.add(-1)
            self.place = None

    def _has_unread(self) -> bool:
        """Return whether the client has sent more since its request was read."""
        ioctl(self.socket.fileno(), FIONREAD, _unread)
        return any(_unread)

    def _log(self, status: int | None, outcome: str | Callable[[], str], sent: int) -> None:
        log, feed = self.server.request_log, self.server.feed
        if feed is None and not log.keeps(status):
            return
        reader = self._reader
        request = reader.request if reader is not None else None
        method, target = reader.line if reader is not None else ("-", "-")
        body = 0 if request is None else self._body_size or request.body_size
        if not isinstance(outcome, str):
            outcome = outcome()
        if not outcome and self.response is not None:
            outcome = self.response.reason
        target = self.server.shown_target(target)
        peer = with_port(self._peer(request), self.address[1])
        log.request(peer, method, target, body=body, status=status, outcome=outcome, sent=sent, seconds=self._seconds())
        if feed is not None:
            feed.add(peer, method, target, status, outcome, body=body, sent=sent)

    def _peer(self, request: HttpRequest | None) -> str:
        """Return the address that counts; without a header to read, the connection's own."""
        trusted = self.server.trusted_proxies
        address: str = self.address[0]
        if not trusted and ":" not in address:
            return address
        forwarded = forwarded_for(request.headers) if trusted and request is not None else ()
        return peer_address(address, forwarded, trusted)

    # --- going on after the response ----------------------------------------------------------------------------------

    def _begin_stream(self, takeover: Callable[[Sink], object]) -> None:
        self._give_place_back()
        self._takeover = None
        self.stage = STREAMING
        self.server.stream(self)
        if self.stage == STREAMING:
            self._watch(READ, self._move)
            takeover(self)

    def push(self, data: bytes) -> bool:
        """Send more of a stream, and return at once. A client that does not read is cut off; return False where the
        connection has ended."""
        if self.stage == CLOSED:
            return False
        if self._tls is not None:
            data = self._tls.encrypted(data)
        self._unsent = data if self._unsent is None else bytes(self._unsent) + data
        try:
            is_sent = self._push()
        except ClientGone:
            self.close()
            return False
        if self._lags():
            self.cut("the client does not read what it asked for")
            return False
        self._watch(READ if is_sent else READ | WRITE, self._move)
        return True

    def _lags(self) -> bool:
        return self._unsent is not None and len(self._unsent) > STREAM_BACKLOG

    def _move(self) -> None:
        """Handle an event of a stream's socket: the client reads on, sends unexpected bytes, or has gone."""
        try:
            if self._discard() == 0:
                self.close()
            elif self._unsent is not None and self._push():
                self._watch(READ, self._move)
        except ClientGone:
            self.close()

    # --- the end ------------------------------------------------------------------------------------------------------

    def overdue(self) -> None:
        """Handle the deadline: cut a slow client off; send an error where the service is slow. In the loop."""
        if self.stage in (READY, ASKING) or (self.stage == WAITING and self.server.tls is None and self._has_unread()):
            self._outcome = LATE
            self._count(self.server.late.status)
            self.response = self.server.late
            self.stage = ANSWERED
            self.deliver()
        else:
            self.cut("deadline")

    def shed(self) -> None:
        """Send a 503 in place of reading on; in the loop. Under TLS only once the handshake is done."""
        if self.stage > READING:
            return
        if self.server.tls is None or (self._tls is not None and self._tls.handshaken):
            self._shed_because_of("connections")
            self.deliver()
        elif self._tls is None:
            self.close()

    def _linger(self) -> None:
        """Read on without a greenlet, for a bounded time and amount, until the client has closed its side."""
        try:
            self.socket.shutdown(SHUT_WR)
        except OSError:
            self.close()
            return
        self._give_place_back()
        self._reader = self._tls = self.response = None
        self.stage = LINGERING
        self.server.linger(self)
        if self.stage == LINGERING:
            self._drain()

    def _drain(self) -> None:
        size = self._discard()
        self._discarded_bytes += max(0, size)
        if not size or self._discarded_bytes > LINGER_BYTES:
            self.close()
        else:
            self._watch(READ, self._drain)

    def _discard(self) -> int:
        """Throw away what the client has sent; return how many bytes, 0 at the end, -1 where nothing is there."""
        try:
            return self.socket.recv_into(_discarded, _DISCARD_SIZE, MSG_DONTWAIT)
        except BlockingIOError:
            return -1
        except OSError:
            return 0

    def cut(self, reason: str) -> None:
        """Close the connection without a response, or in the middle of one, and log that; in the loop, or in the
        greenlet of the connection."""
        if self.stage == CLOSED:
            return
        sent = 0
        if self.response is not None and self._unsent is not None:
            sent = max(0, len(self.response.body) - len(self._unsent) - len(self._rest or b""))
            # Have the kernel drop the bytes that it still holds for a client that does not read.
            self.socket.setsockopt(SOL_SOCKET, SO_LINGER, _RESET_ON_CLOSE)
        self._note_cut(reason, sent)
        self.close()

    def _note_cut(self, reason: str, sent: int) -> None:
        if self._reader is not None or self._tls is not None:  # it has sent something
            self._log(None, reason, sent)
            if self.server.counts is not None:
                self.server.counts.aborted()

    def fail(self, error: Exception) -> None:
        """End the connection because of an exception."""
        if isinstance(error, ClientGone):
            self.cut("the client went away")
        elif isinstance(error, ssl.SSLError):
            self._note_cut(f"TLS failed: {error.reason or error}", 0)
            self._linger()  # else the alert would be lost where the client has sent more
        else:
            self.server.request_log.line(f"a connection failed: {describe_error(error)}")
            self.close()

    def close(self) -> None:
        """Close the connection and release its resources. Safe to call twice. Where a greenlet waits for the client,
        only from the loop: a throw from another greenlet would never come back to it."""
        if self.stage == CLOSED:
            return
        was_asking = self.stage == ASKING
        self.stage = CLOSED
        if self.answer_held is not None:
            self.server.memory.release_answer(self)
        if self.body_held and not was_asking:  # else the app still uses it
            self.server.memory.hold_body(self, 0)
        self._give_place_back()
        if self._waiting is not None:
            self._waiting.throw(Stopped)
        if self._watcher is not None:
            self._unwatch()
        self.socket.close()
        self._reader = self._tls = self._unsent = self._rest = self.response = None
        self.server.forget(self)

    # --- watching without a greenlet ----------------------------------------------------------------------------------

    def _watch(self, events: int, callback: Callable[[], None]) -> None:
        """Have the loop call ``callback`` whenever the socket is ready."""
        watcher = self._watcher
        if watcher is not None and self._events == events and watcher.callback == callback:
            return
        self._prepare_watcher(events)
        self._watcher.stop()
        self._watcher.start(callback)

    def _prepare_watcher(self, events: int) -> None:
        if self._watcher is not None and self._events != events:
            self._unwatch()
        if self._watcher is None:
            self._watcher = self.server.loop.io(self.socket.fileno(), events)
            self._events = events

    def _unwatch(self) -> None:
        self._watcher.stop()
        self._watcher.close()
        self._watcher = None


class TlsLayer:
    """TLS on bytes: ciphertext in, plaintext out, and the other way round. It knows no socket, so that a connection
    waits in one place under TLS too. What is to be sent is collected until `outgoing` takes it."""

    __slots__ = ("_incoming", "_outgoing", "_tls", "ended", "handshaken")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.handshaken = False  # plaintext can be sent
        self.ended = False  # the client has announced that it sends nothing more

    def receive(self, ciphertext: bytes) -> bytes:
        """Return the plaintext that is complete now, often none. Raises SSLError, and then an alert is outgoing."""
        self._incoming.write(ciphertext)
        pieces = []
        try:
            if not self.handshaken:
                self._tls.do_handshake()
                self.handshaken = True
            while piece := self._tls.read(READ_SIZE):
                pieces.append(piece)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        return b"".join(pieces)

    def encrypted(self, plaintext: bytes | memoryview, *, is_last: bool = False) -> bytes:
        """Return what is to be sent now, this included. ``is_last``: the close notification follows."""
        self._tls.write(plaintext)
        if is_last:
            try:
                self._tls.unwrap()
            except ssl.SSLError:  # it would wait for the client's close notification
                pass
        return self.outgoing()

    def outgoing(self) -> bytes:
        """Take the ciphertext that is to be sent."""
        return self._outgoing.read()
