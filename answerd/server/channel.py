"""The bytes of one connection: non-blocking reading and writing in callbacks of the event loop, plain or under TLS.

Knows the socket, its watcher, and the bytes that are still to be sent. Must not know HTTP, the listener, or when a
connection ends.
"""

from __future__ import annotations

import ssl
import struct
from _socket import MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, SO_LINGER, SOL_SOCKET
from _socket import socket as Socket
from collections.abc import Callable
from fcntl import ioctl
from termios import FIONREAD
from typing import Any, Final

from answerd.server.tls import TlsLayer

READ: Final = 1  # events of the loop
WRITE: Final = 2
DISCARD_SIZE: Final = 262_144
SMALL_ANSWER: Final = 65_536  # bytes that the socket's send buffer takes at once
TLS_PIECE: Final = 65_536  # bytes of an answer that are encrypted at a time
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
_FLAGS: Final = MSG_DONTWAIT | MSG_NOSIGNAL
_unread: Final = bytearray(4)  # an int: how many bytes the kernel holds
_discarded: Final = bytearray(DISCARD_SIZE)  # where the bytes go that are thrown away


class Channel:
    """A socket and the bytes that are to be sent on it. The base of `answerd.server.connection.Connection`.

    A base class and not an attribute: an object for each connection costs 0.4 µs and 100 bytes.
    """

    __slots__ = ("_loop", "_plaintext", "_socket", "_tls", "_unsent", "_watched", "_watcher")

    def __init__(self, socket: Socket, loop: Any) -> None:
        self._socket = socket
        self._loop = loop
        self._tls: TlsLayer | None = None
        self._watcher: Any = None
        self._watched = 0
        self._unsent: memoryview | None = None
        self._plaintext: memoryview | None = None  # of the response, still to be encrypted

    def _decrypted(self, data: bytes, context: ssl.SSLContext | None) -> bytes:
        """Return the plaintext that is complete now, often none; ``context`` begins a handshake. Raises SSLError."""
        if self._tls is None and context is not None:
            self._tls = TlsLayer(context)
        try:
            return self._tls.receive(data) if self._tls is not None else b""
        finally:
            self._send_at_once(b"")  # of the handshake, or the alert

    def _start_sending(self, head: bytes, body: bytes) -> bool:
        """Send as much of a response as the socket takes; return whether that was all. `_push` sends the rest. Raises
        OSError."""
        if self._tls is not None:
            first, rest = head + body[:TLS_PIECE], memoryview(body)[TLS_PIECE:]
            self._unsent = memoryview(self._encrypted(first, is_last=not rest))
            self._plaintext = rest or None
            return self._push()
        try:
            if len(body) > SMALL_ANSWER:  # without another copy of it
                sent = self._socket.sendmsg((head, body), (), _FLAGS)
                if sent >= len(head):
                    self._unsent = memoryview(body)[sent - len(head) :] or None
                else:
                    self._unsent = memoryview(head + body)[sent:]
                return self._unsent is None
            data = head + body
            sent = self._socket.send(data, _FLAGS)
        except BlockingIOError:
            self._unsent = memoryview(head + body)
            return False
        if sent == len(data):
            return True
        self._unsent = memoryview(data)[sent:]
        return False

    def _push(self) -> bool:
        """Send as much as the socket takes; return whether that was all. Raises OSError."""
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

    def _send_more(self, data: bytes) -> bool:
        """Send as much as the socket takes of the unsent bytes and of ``data``; return whether that was all. Raises
        OSError."""
        if self._tls is not None:
            data = self._encrypted(data, is_last=False)
        self._unsent = memoryview(data if self._unsent is None else bytes(self._unsent) + data)
        return self._push()

    def _encrypted(self, plaintext: bytes | memoryview, *, is_last: bool) -> bytes:
        tls = self._tls
        if tls is None:  # pragma: no cover: called under TLS only
            return bytes(plaintext)
        tls.send(plaintext)
        if is_last:
            tls.close()
        return tls.outgoing()

    def _send_at_once(self, data: bytes) -> None:
        """Send something small that the socket always has room for; else the deadline ends the connection."""
        if self._tls is not None:
            if data:
                self._tls.send(data)
            data = self._tls.outgoing()
        if data:
            try:
                self._socket.send(data, _FLAGS)
            except OSError:  # the next read says what is wrong
                pass

    def _bytes_unsent(self) -> int:
        """Return how many bytes of the response the kernel has not taken."""
        unsent = len(self._unsent) if self._unsent is not None else 0
        return unsent + (len(self._plaintext) if self._plaintext is not None else 0)

    def _has_unread(self) -> bool:
        """Return whether the client has sent more since its request was read."""
        ioctl(self._socket.fileno(), FIONREAD, _unread)
        return any(_unread)

    def _is_closed_by_client(self) -> bool:
        """Return whether the client sends nothing more, as far as can be known without writing."""
        try:
            return not self._socket.recv(1, MSG_DONTWAIT | MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _discard(self) -> int:
        """Discard the bytes that the client sends; return how many, 0 at the end. Raises BlockingIOError."""
        try:
            return self._socket.recv_into(_discarded, DISCARD_SIZE, MSG_DONTWAIT)
        except BlockingIOError:
            raise
        except OSError:
            return 0

    def _reset_on_close(self) -> None:
        """Have the kernel drop the bytes that it still holds for a client that does not read."""
        self._socket.setsockopt(SOL_SOCKET, SO_LINGER, _RESET_ON_CLOSE)

    def _close_channel(self) -> None:
        if self._watcher is not None:
            self._unwatch()
        self._socket.close()
        self._tls = self._unsent = self._plaintext = None

    def _watch(self, events: int, callback: Callable[[], None]) -> None:
        if self._watched == events and callback == self._watcher.callback:
            return
        self._unwatch()
        self._watcher = self._loop.io(self._socket.fileno(), events)
        self._watcher.start(callback)
        self._watched = events

    def _unwatch(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher.close()
            self._watcher = None
            self._watched = 0
