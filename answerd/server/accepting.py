"""Accept connections from the kernel until none is left, also when the system is out of file descriptors.

Knows one listening socket and the reasons for which accepting fails. Must not know how a connection is handled.
"""

from __future__ import annotations

import errno
import os
import socket
from _socket import MSG_DONTWAIT, MSG_NOSIGNAL, SHUT_WR
from _socket import socket as Socket
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from gevent.monkey import get_original

from answerd.server.request_log import describe_error
from answerd.server.sockets import BACKLOG

PAUSE_SECONDS: Final = 0.05  # without accepting, when the system has no memory for a connection
_READ: Final = 1  # event of the loop
_close = get_original("os", "close")  # gevent's waits for the loop's next turn
_NO_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})
_NO_MEMORY: Final = frozenset({errno.ENOBUFS, errno.ENOMEM})
_CLOSED: Final = frozenset({errno.EBADF, errno.EINVAL, errno.ENOTSOCK})

Admit = Callable[[Socket, tuple[Any, ...], float], None]
"""Takes an accepted socket, the client's address and the time on the monotonic clock."""


class Acceptor:
    """Accepts from one listening socket."""

    def __init__(
        self,
        listening: socket.socket,
        loop: Any,
        *,
        at_once: int,
        admit: Admit,
        accepted: Callable[[], None],
        make_room: Callable[[], bool],
        failed: Callable[[str], None],
        busy: bytes,
    ) -> None:
        """``at_once``: connections accepted before ``accepted`` is called. ``make_room`` closes a connection that is no
        longer needed, where there is one. ``failed`` takes the reason of an accept that failed. ``busy`` is sent to a
        client for which no file descriptor is left; empty where nothing can be sent without a handshake."""
        self._socket = listening
        self._family = listening.family
        self._loop = loop
        self._at_once = at_once
        self._admit = admit
        self._accepted = accepted
        self._make_room = make_room
        self._report = failed
        self._busy = busy
        self._watcher: Any = None
        self._resume: Any = None
        self._spare_file: int | None = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._is_ending = False
        self.closed = False

    def start(self) -> None:
        """Accept whenever a connection is there."""
        if self._watcher is None and not self.closed:
            self._watcher = self._loop.io(self._socket.fileno(), _READ)
            self._watcher.start(self._ready)

    def end(self) -> None:
        """Continue to accept, but not after a pause."""
        self._is_ending = True

    def take_last(self) -> None:
        """Take over the connections that the kernel has accepted, then close the listening socket."""
        self._stop()
        if not self.closed:
            self._accept(BACKLOG + 1)
            self.close()
        self._accepted()

    def close(self) -> None:
        """Stop accepting at once and close the listening socket. Safe to call twice."""
        self._stop()
        self._forget_resume()
        if not self.closed:
            self.closed = True
            self._socket.close()

    def drop_spare_file(self) -> None:
        """Close the reserved descriptor, so that tests can see what accepting does without it."""
        if self._spare_file is not None:
            _close(self._spare_file)
            self._spare_file = None

    def _stop(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher.close()
            self._watcher = None

    def _ready(self) -> None:
        """Accept; called by the loop."""
        try:
            self._accept(self._at_once)
        except Exception as error:
            self._report(describe_error(error))
        self._accepted()

    def _accept(self, at_most: int) -> None:
        accept = self._socket._accept  # type: ignore[attr-defined]
        admit, family = self._admit, self._family
        now = monotonic()
        for _ in range(at_most):
            try:
                descriptor, address = accept()
            except BlockingIOError:
                return
            except OSError as error:
                if not self._failed(error):
                    return
                continue
            admit(Socket(family, socket.SOCK_STREAM, 0, descriptor), address, now)

    def _failed(self, error: OSError) -> bool:
        """Count a failed accept and react to it; return False when there is nothing to accept for now."""
        if error.errno in _CLOSED:
            return False
        self._report(os.strerror(error.errno) if error.errno else str(error))
        if error.errno in _NO_FILES and (self._make_room() or self._shed_with_spare_file()):
            return True
        if error.errno in _NO_FILES or error.errno in _NO_MEMORY:
            self._pause()
            return False
        return True  # that one connection was already gone

    def _shed_with_spare_file(self) -> bool:
        """Use the reserved descriptor to send a client the 503 when no other is left."""
        if self._spare_file is None:
            return False
        self.drop_spare_file()
        try:
            descriptor, _ = self._socket._accept()  # type: ignore[attr-defined]
            self._send_busy(Socket(self._family, socket.SOCK_STREAM, 0, descriptor))
        except OSError:
            return False
        finally:
            self._take_spare_file()
        return True

    def _send_busy(self, accepted: Socket) -> None:
        """Send the 503 without lingering: nearly always in time, when the client's request is there already."""
        try:
            if self._busy:
                accepted.send(self._busy, MSG_DONTWAIT | MSG_NOSIGNAL)
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
        """Stop accepting for a moment: the socket stays ready, and the loop would spin."""
        self._stop()
        self._forget_resume()
        self._resume = self._loop.timer(PAUSE_SECONDS)
        self._resume.start(self._go_on)

    def _forget_resume(self) -> None:
        if self._resume is not None:
            self._resume.stop()
            self._resume.close()
            self._resume = None

    def _go_on(self) -> None:
        self._forget_resume()
        self._take_spare_file()
        if not self._is_ending:
            self.start()
