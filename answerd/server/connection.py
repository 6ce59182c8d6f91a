"""One connection: from its accept over one request and one response to its close.

Knows non-blocking reading and writing in callbacks of the event loop, when a greenlet is needed (only while an app
runs) and how a response is made to arrive. Must not know how connections are accepted or counted; deadlines are kept
by its listener.

A connection waits as a watcher on its socket and a buffer. Its stations: reading the request, the app, sending the
response, and lingering where the client may still be sending: closing a socket with unread bytes resets the
connection, and the client would lose the response. So the sending side is closed first and what arrives is thrown
away, for a bounded time and amount.
"""

import ssl
import struct
import traceback
from _socket import MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, SHUT_WR, SO_LINGER, SOL_SOCKET
from _socket import socket as Socket
from collections.abc import Callable
from fcntl import ioctl
from termios import FIONREAD
from typing import TYPE_CHECKING, Any

from answerd.server.http_parser import BadRequest, Progress, Request, RequestReader
from answerd.server.peer import peer_address, with_port
from answerd.server.tls import TlsLayer
from answerd.server.wsgi import Response, environ_of, respond

if TYPE_CHECKING:
    from answerd.server.listener import Listener

READ, WRITE = 1, 2  # events of the loop
READ_SIZE = 65_536
DRAIN_SIZE = 262_144
UNCOUNTED_BODY = 8_192  # bytes of a body that came with its header; real ones have up to 4 KB
SMALL_ANSWER = 65_536  # bytes that the socket's send buffer takes at once
TLS_PIECE = 65_536  # bytes of an answer that are encrypted at a time
_TO_RESPOND_SECONDS = 1.0  # before the deadline, an app stops waiting
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL
_unread = bytearray(4)  # an int: how many bytes the kernel holds
_drained = bytearray(DRAIN_SIZE)  # where the bytes go that nobody wants


class Connection:
    """Everything known of one client. Its methods run in callbacks of the loop, and `answer` in a greenlet."""

    __slots__ = (
        "_address",
        "_answering",
        "_body_size",
        "_drained",
        "_is_late",
        "_listener",
        "_outcome",
        "_plaintext",
        "_reader",
        "_response",
        "_shedding",
        "_socket",
        "_tls",
        "_unsent",
        "_watched",
        "_watcher",
        "answer_held",
        "body_held",
        "closed",
        "deadline",
        "has_permit",
    )

    def __init__(self, listener: "Listener", socket: Socket, address: tuple[Any, ...], deadline: float) -> None:
        """``deadline``: on the monotonic clock."""
        self.deadline = deadline
        self.closed = False
        self.has_permit = True
        self.body_held = 0  # bytes, as counted by the listener
        self.answer_held: bytes | None = None  # as counted by the listener
        self._listener = listener
        self._socket = socket
        self._address = address
        self._reader: RequestReader | None = None
        self._tls: TlsLayer | None = None
        self._watcher: Any = None
        self._watched = 0
        self._response: Response | None = None
        self._unsent: memoryview | None = None
        self._plaintext: memoryview | None = None  # of the response, still to be encrypted
        self._answering = False  # the app runs
        self._is_late = False  # the deadline came while it ran
        self._body_size = 0
        self._shedding = False
        self._outcome = ""
        self._drained = 0

    @property
    def waits_for_first_byte(self) -> bool:
        """Whether the client has connected and said nothing."""
        return self._reader is None and self._tls is None

    @property
    def is_idle(self) -> bool:
        """Whether the client has not sent a whole header yet, so that nothing is known of it but its address."""
        reader = self._reader
        return not self.closed and self._response is None and (reader is None or reader.request is None)

    @property
    def respond_by(self) -> float:
        """When an app that waits for something must give up (monotonic clock), so that its response still arrives."""
        return self.deadline - min(_TO_RESPOND_SECONDS, self._listener.limits.timeout / 4)

    def is_gone(self) -> bool:
        """Whether the client has closed its connection, as far as can be known without writing to it.

        A client that has only finished sending looks the same: ask this of one that has been waiting.
        """
        if self.closed or self._is_late:
            return True
        try:
            return not self._socket.recv(1, MSG_DONTWAIT | MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """There may be something to read."""
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
            elif self._listener.tls is None and self._tls is None:
                self._received(data)
            else:
                self._received_ciphertext(data)
        except Exception as error:
            self._failed(error)

    def _received(self, data: bytes) -> None:
        reader = self._reader
        if reader is None:
            reader = self._reader = RequestReader(self._listener.limits.max_body, self._wants_body)
        try:
            progress = reader.receive(data)
        except BadRequest as refusal:
            self._refuse(refusal)
            return
        if progress is Progress.COMPLETE:
            size = len(reader.request.body) if reader.request is not None else 0
            if (size > UNCOUNTED_BODY or self.body_held) and not self._hold_complete_body(size):
                return
            self._unwatch()
            self._listener.ready(self)
        elif reader.held > self.body_held and not self._listener.memory.hold_body(self, reader.held):
            self.refuse_body()
        else:
            if progress is Progress.CONTINUE:
                self._send_at_once(CONTINUE)
            self._watch(READ, self.read)

    def _hold_complete_body(self, size: int) -> bool:
        """Counts a body; False if the memory is full, and its client has been told so."""
        if not self._listener.memory.hold_body(self, size):
            self.refuse_body()
            return False
        self._listener.memory.keep_body(self, size)
        return True

    def _wants_body(self, request: Request) -> bool:
        return self._listener.wants_body(request, self._peer(request))

    def refuse_body(self) -> None:
        """Told to come back later: the memory for bodies is full."""
        if self._reader is not None:
            self._reader.drop_body()
        self._listener.memory.release_body(self)
        self._listener.count_shed("bodies in flight", self._listener.admission.bodies.limit)
        self._shedding = True
        self._send(self._listener.out_of_memory)

    def _received_ciphertext(self, data: bytes) -> None:
        tls = self._tls
        if tls is None:
            context = self._listener.tls
            if context is None:  # pragma: no cover: the listener never goes back to plain text
                return
            tls = self._tls = TlsLayer(context)
        try:
            plaintext = tls.receive(data)
        except ssl.SSLError as error:
            self._send_at_once(b"")  # the alert
            self.cut(f"TLS failed: {error.reason or error}")
            return
        self._send_at_once(b"")  # the handshake
        if self._shedding and tls.handshaken:
            self._send(self._listener.busy)
        elif plaintext:
            self._received(plaintext)
            if tls.ended and self._watched == READ and self._response is None:
                self._ended()
        elif tls.ended:
            self._ended()
        else:
            self._watch(READ, self.read)

    def _ended(self) -> None:
        """The client sends nothing more."""
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
            self._listener.memory.release_body(self)
        self._outcome = refusal.reason
        self._send(self._listener.error(refusal.status, refusal.reason))

    def answer(self) -> None:
        """Asks the app; in a greenlet, where it may wait for whatever it needs."""
        listener = self._listener
        reader = self._reader
        if reader is None or reader.request is None:  # cut off while it waited for its turn
            return
        request = reader.request
        self._answering = True
        try:
            environ = environ_of(request, listener.environ, self._peer(request), self._address[1])
            environ["answerd.client"] = self
            response = respond(listener.application, environ)
            outcome = environ.get("answerd.outcome") or ""
        except Exception as error:
            listener.request_log.service(f"an app failed on {request.method} {request.target}: {one_line(error)}")
            outcome = "the service failed unexpectedly"
            response = listener.error(500, "the service failed unexpectedly, its log says why")
        self._answering = False
        self._body_size = len(request.body)
        request.body = b""
        if self.body_held:
            listener.memory.release_body(self)
        if not self.closed and not self._is_late:  # cut off while the app ran
            self._outcome = outcome
            self._response = response
            listener.answered(self)

    # --- sending ---------------------------------------------------------------------------------------------------

    def send(self) -> None:
        """Sends the response that it has."""
        try:
            if self._response is not None:
                self._send(self._response)
        except Exception as error:
            self._failed(error)

    def _send(self, response: Response) -> None:
        if self.closed:
            return
        body = response.body
        is_large = len(body) > SMALL_ANSWER
        if is_large and not self._listener.memory.has_room_for(body):
            self._listener.count_shed("answers waiting to be read", self._listener.admission.answers.limit)
            self._shedding = True
            self._send(self._listener.out_of_memory)
            return
        self._response = response
        # The place is free before the client can know that it was answered, or it would come back to a 503.
        held = self._listener.release_permit(self)
        try:
            if self._tls is not None:
                first, rest = response.head + body[:TLS_PIECE], memoryview(body)[TLS_PIECE:]
                self._unsent = memoryview(self._encrypted(first, is_last=not rest))
                self._plaintext = rest or None
                is_sent = self._push()
            elif is_large:  # without another copy of it
                is_sent = self._sent_of(self._socket.sendmsg((response.head, body), (), _FLAGS), response)
            else:
                data = response.head + body
                sent = self._socket.send(data, _FLAGS)
                is_sent = sent == len(data)
                if not is_sent:
                    self._unsent = memoryview(data)[sent:]
        except BlockingIOError:
            self._unsent = memoryview(response.head + body)
            is_sent = False
        except OSError:
            self.cut("the client went away")
            return
        if is_sent:
            self._sent()
        else:
            if held:
                self._listener.reacquire_permit(self)
            if is_large:
                self._listener.memory.hold_answer(self, body)
            self._watch(WRITE, self._go_on_sending)

    def _sent_of(self, sent: int, response: Response) -> bool:
        """Whether that was all of it; keeps what was not."""
        head, body = response.head, response.body
        if sent < len(head):
            self._unsent = memoryview(head + body)[sent:]
        elif sent < len(head) + len(body):
            self._unsent = memoryview(body)[sent - len(head) :]
        return self._unsent is None

    def _push(self) -> bool:
        """Sends what the socket takes; whether that was all. Raises OSError."""
        while True:
            if self._unsent is not None:
                try:
                    sent = self._socket.send(self._unsent, _FLAGS)
                except BlockingIOError:
                    return False
                if sent < len(self._unsent):
                    self._unsent = self._unsent[sent:]
                    return False
                self._unsent = None
            if self._plaintext is None:
                return True
            piece, rest = self._plaintext[:TLS_PIECE], self._plaintext[TLS_PIECE:]
            self._unsent = memoryview(self._encrypted(piece, is_last=not rest))
            self._plaintext = rest or None

    def _encrypted(self, plaintext: bytes | memoryview, *, is_last: bool) -> bytes:
        tls = self._tls
        if tls is None:  # pragma: no cover: asked for under TLS only
            return bytes(plaintext)
        tls.send(plaintext)
        if is_last:
            tls.close()
        return tls.outgoing()

    def _go_on_sending(self) -> None:
        try:
            is_sent = self._push()
        except OSError:
            self.cut("the client went away")
            return
        if is_sent:
            if self.answer_held is not None:
                self._listener.memory.release_answer(self)
            self._listener.release_permit(self)
            self._sent()

    def _send_at_once(self, data: bytes) -> None:
        """Something small that the socket always has room for; where it has not, the deadline cuts the client off."""
        if self._tls is not None:
            if data:
                self._tls.send(data)
            data = self._tls.outgoing()
        if data:
            try:
                self._socket.send(data, _FLAGS)
            except OSError:  # the next read says what is wrong
                pass

    def _sent(self) -> None:
        response = self._response
        if response is not None and not self._shedding:
            self._log(response.status, self._outcome, len(response.body))
        # Under TLS the client still sends its own goodbye.
        reader = self._reader
        if reader is not None and not reader.sent_more and self._tls is None and not self._has_unread():
            self.close()
        else:
            self._linger()

    def _has_unread(self) -> bool:
        """Whether the client has sent more since its request was read."""
        ioctl(self._socket.fileno(), FIONREAD, _unread)
        return any(_unread)

    def _log(self, status: int | None, outcome: str, sent: int) -> None:
        if not self._listener.request_log.keeps(status):
            return
        reader = self._reader
        request = reader.request if reader is not None else None
        method, target, body = "-", "-", 0
        if request is not None:
            method, target, body = request.method, request.target, self._body_size or len(request.body)
        elif reader is not None:
            method, target = reader.line
        if not outcome and self._response is not None:
            outcome = _reason_in(self._response)
        peer = with_port(self._peer(request), self._address[1])
        self._listener.request_log.request(peer, method, target, body=body, status=status, outcome=outcome, sent=sent)

    def _peer(self, request: Request | None) -> str:
        """The address that counts; without a header to read, the connection's own."""
        trusted = self._listener.trusted_proxies
        if request is None or not trusted:
            return peer_address(self._address[0], (), ())
        forwarded = [value for name, value in request.headers if name == "x-forwarded-for"]
        return peer_address(self._address[0], forwarded, trusted)

    # --- the end ---------------------------------------------------------------------------------------------------

    def shed(self) -> None:
        """Told to come back later, at once and without a place; under TLS after the handshake."""
        self._shedding = True
        if self._listener.tls is None:
            self._send(self._listener.busy)
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
        self._listener.linger(self)
        self._drain()

    def _drain(self) -> None:
        try:
            size = self._socket.recv_into(_drained, DRAIN_SIZE, MSG_DONTWAIT)
        except BlockingIOError:
            self._watch(READ, self._drain)
            return
        except OSError:
            size = 0
        self._drained += size
        if not size or self._drained > self._listener.limits.linger_bytes:
            self.close()
        else:
            self._watch(READ, self._drain)

    def overdue(self) -> None:
        """The deadline has come: a client that is slow is cut off; one whose app is slow gets a 500."""
        if not self._answering or self._is_late:
            self.cut("deadline")
            return
        self._is_late = True
        self._outcome = "the service had no answer before the deadline"
        self._send(self._listener.error(500, self._outcome))

    def cut(self, reason: str) -> None:
        """Closed without a response, or in the middle of one, and said in the log."""
        if self.closed:
            return
        sent = 0
        if self._response is not None and self._unsent is not None:
            unsent = len(self._unsent) + (len(self._plaintext) if self._plaintext is not None else 0)
            sent = max(0, len(self._response.body) - unsent)
            # What the kernel still holds for a client that does not read would stay there.
            self._socket.setsockopt(SOL_SOCKET, SO_LINGER, _RESET_ON_CLOSE)
        if self._reader is not None or self._tls is not None:
            self._log(None, reason, sent)
        self.close()

    def _failed(self, error: Exception) -> None:
        """A fault in this service: said in the log, and only this connection ends."""
        self._listener.request_log.service(f"a connection failed: {one_line(error)}")
        self.close()

    def close(self) -> None:
        """Gives back everything it holds. Lost when called twice."""
        if self.closed:
            return
        self.closed = True
        self._unwatch()
        self._listener.forget(self)
        if self.answer_held is not None:
            self._listener.memory.release_answer(self)
        if self.body_held and not self._answering:  # else the app still has it
            self._listener.memory.release_body(self)
        self._socket.close()
        self._reader = self._tls = self._response = self._unsent = self._plaintext = None

    # --- the loop --------------------------------------------------------------------------------------------------

    def _watch(self, events: int, callback: Callable[[], None]) -> None:
        if self._watched == events and callback == self._watcher.callback:
            return
        self._unwatch()
        self._watcher = self._listener.loop.io(self._socket.fileno(), events)
        self._watcher.start(callback)
        self._watched = events

    def _unwatch(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher.close()
            self._watcher = None
            self._watched = 0


def one_line(error: BaseException) -> str:
    """An exception and where it came from, innermost call first, on one line for the log."""
    calls = [f"{call.name} ({call.filename}:{call.lineno})" for call in traceback.extract_tb(error.__traceback__)]
    return f"{type(error).__name__}: {error} in {' < '.join(reversed(calls))}"


def _reason_in(response: Response) -> str:
    """Words for the log where the app gave none: an error's body is its reason."""
    if response.status < 400:  # noqa: PLR2004
        return "-"
    return response.body.decode("utf-8", "replace").strip().partition("\n")[0] or "-"
