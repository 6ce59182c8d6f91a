"""The service manager: the sockets it passes at the start, and the messages to it (docs/running.md#systemd).

Knows the environment variables and messages of sd_notify(3), sd_listen_fds(3) and sd_watchdog_enabled(3). Without a
manager every function does nothing. Must not touch gevent's loop: the parent of several processes calls it too.
"""

from __future__ import annotations

import os
import socket
import time
from _socket import AF_UNIX, MSG_DONTWAIT, MSG_NOSIGNAL, SOCK_CLOEXEC, SOCK_DGRAM
from _socket import socket as Socket
from collections.abc import Callable, MutableMapping

from answerd.server.sockets import SEND_BUFFER

FIRST_DESCRIPTOR = 3
ANSWERS, ADMIN, CONSOLE, METRICS = "answers", "admin", "console", "metrics"
"""The purpose of a socket by its ``FileDescriptorName``; a socket with any other name is the answer endpoint's."""

READY, STOPPING, WATCHDOG = "READY=1", "STOPPING=1", "WATCHDOG=1"


def notify(*messages: str) -> None:
    """Send messages to the manager; a manager that does not listen costs nothing."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    sender = Socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC)
    try:
        text = "\n".join(messages).encode("utf-8", "replace")
        sender.sendto(text, MSG_DONTWAIT | MSG_NOSIGNAL, "\0" + address[1:] if address[0] == "@" else address)
    except OSError:
        pass
    finally:
        sender.close()


def notify_reloading() -> None:
    """Notify the manager that a reload has begun; `READY` ends it."""
    notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1_000}")


class Watchdog:
    """The manager's watchdog, which restarts the service when no message arrives for an interval."""

    def __init__(self) -> None:
        self.seconds = _watchdog_seconds()
        self._next = 0.0

    def ping(self, is_well: Callable[[], bool] = lambda: True) -> None:
        """Notify the manager that the service lives, if that is due and ``is_well``. Call it every ``seconds``."""
        now = time.monotonic()
        if self.seconds is not None and now >= self._next and is_well():
            notify(WATCHDOG)
            self._next = now + self.seconds / 2


def _watchdog_seconds() -> float | None:
    """Return half of the interval in which the manager expects a message of this process; None without a watchdog."""
    interval, process = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    if not interval.isdecimal() or not int(interval) or (process and process != str(os.getpid())):
        return None
    return int(interval) / 2_000_000


def take_sockets(environ: MutableMapping[str, str]) -> dict[str, list[socket.socket]]:
    """Return the listening sockets that the manager handed over, by purpose, and take them out of the environment.

    The variables are taken out of ``environ``, so that no child takes the descriptors for its own. Raises OSError for a
    descriptor that is no listening socket.
    """
    process, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    names = environ.pop("LISTEN_FDNAMES", "").split(":")
    found: dict[str, list[socket.socket]] = {}
    if process != str(os.getpid()) or not count.isdecimal():
        return found
    for number in range(int(count)):
        given = socket.socket(fileno=FIRST_DESCRIPTOR + number)
        given.set_inheritable(False)
        given.setblocking(False)
        if not given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise OSError(f"descriptor {given.fileno()} of the service manager is no listening socket")
        given.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # accepted sockets inherit it
        name = names[number] if number < len(names) else ""
        found.setdefault(name if name in (ADMIN, CONSOLE, METRICS) else ANSWERS, []).append(given)
    return found
