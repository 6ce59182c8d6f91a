"""TLS of one connection: ciphertext in, plaintext out, and the other way round.

Knows the handshake and the records. Must not know sockets: it works on bytes, so that a connection under TLS is handled
in the same way, and waits as cheaply, as any other.
"""

from __future__ import annotations

import ssl

_PIECE = 65_536  # bytes read from the decrypted stream at a time


class TlsLayer:
    """The layer between a connection and its socket. Bytes to be sent are collected until `outgoing` takes them."""

    __slots__ = ("_handshaken", "_incoming", "_outgoing", "_tls", "ended")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._handshaken = False
        self.ended = False  # the client has announced that it sends nothing more

    def receive(self, ciphertext: bytes) -> bytes:
        """Return the plaintext that is complete now, often none. Raises ssl.SSLError, and then an alert is outgoing."""
        self._incoming.write(ciphertext)
        pieces = []
        try:
            if not self._handshaken:
                self._tls.do_handshake()
                self._handshaken = True
            while piece := self._tls.read(_PIECE):
                pieces.append(piece)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        return b"".join(pieces)

    @property
    def handshaken(self) -> bool:
        """Whether plaintext can be sent."""
        return self._handshaken

    def send(self, plaintext: bytes | memoryview) -> None:
        """Encrypt for `outgoing`."""
        self._tls.write(plaintext)

    def close(self) -> None:
        """Queue the close notification: nothing more will be sent."""
        try:
            self._tls.unwrap()
        except ssl.SSLError:  # it would wait for the client's close notification
            pass

    def outgoing(self) -> bytes:
        """Take the ciphertext that is to be sent."""
        return self._outgoing.read()
