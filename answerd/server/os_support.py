"""What the service asks of its surroundings: the service manager, the allocator and the garbage collector.

The service manager hands over sockets and takes messages: sd_notify(3), sd_listen_fds(3) and sd_watchdog_enabled(3)
(docs/running.md#systemd). Without a manager every function does nothing. They do not touch gevent's loop, because the
parent of several processes calls them too.

glibc keeps memory that is freed between two blocks in use, and an arena for each thread. After thousands of bodies at a
time, or documents of megabytes, that is most of the memory they took, and it is kept until the process ends. So large
blocks are mapped separately, all threads share one arena (the interpreter's lock lets only one of them run anyway), and
``malloc_trim`` returns the rest from time to time. Without glibc nothing is done.

Documents are not garbage, and there are many: a pass of the collector over the objects of 100,000 documents takes a
second in which no request is answered. So nothing is collected during a load, and its objects are frozen afterwards.
Reference counting frees them all the same. Only cycles would stay, so neither requests nor documents nor looks at a
store may leave any: `tests/unit/test_no_cycles.py` tests that.
"""

from __future__ import annotations

import ctypes
import gc
import os
import socket
import sys
import time
from _socket import AF_UNIX, MSG_DONTWAIT, MSG_NOSIGNAL, SOCK_CLOEXEC, SOCK_DGRAM
from _socket import socket as Socket
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from gevent.monkey import get_original

from answerd.server.sockets import SEND_BUFFER

# --- the service manager ---

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


class Watchdog:
    """The manager's watchdog, which restarts the service when no message arrives for an interval.

    The manager names the process that it watches, which is the parent: made there, before any child is forked.
    """

    def __init__(self) -> None:
        interval, process = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
        is_watched = interval.isdecimal() and int(interval) and process in ("", str(os.getpid()))
        self.seconds = int(interval) / 2_000_000 if is_watched else None
        """Half of the interval in which the manager expects a message of this process; None without a watchdog."""
        self._next = 0.0

    def ping(self, is_well: Callable[[], bool] = lambda: True) -> None:
        """Notify the manager that the service lives, if that is due and ``is_well``. Call it every ``seconds``."""
        now = time.monotonic()
        if self.seconds is not None and now >= self._next and is_well():
            notify(WATCHDOG)
            self._next = now + self.seconds / 2


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


# --- the allocator ---

MOVED_BYTES = 16_777_216
"""A trim is worth its time once the process has grown by this much."""

TRIM_SECONDS = 12.0
"""Between two looks. By the second, the connections of the first have ended (SERVICE_TIMEOUT_SECS is 10 by default)."""

_SETTINGS = {
    -8: 1,  # M_ARENA_MAX
    -3: 262_144,  # M_MMAP_THRESHOLD: bytes from which a block is mapped separately. By default it grows up to 32 MB
    -1: 16_777_216,  # M_TRIM_THRESHOLD: free bytes at the heap's end that are kept for the next requests
}
"""Options for ``mallopt``: the numbers are those of glibc's ``malloc.h``."""

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Return the resident memory of this process, including shared pages."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE_BYTES


def configure_interpreter() -> None:
    """Set up the allocator, the collector and the switching of threads. Called before the first thread is started."""
    _call_all("mallopt", _SETTINGS.items())
    gc.set_threshold(*THRESHOLDS)
    sys.setswitchinterval(SWITCH_SECONDS)


def trim() -> None:
    """Return free memory to the system. Takes some 10 ms for 100 MB, in which other threads may have to wait."""
    _call_all("malloc_trim", [(0,)])


def _call_all(name: str, calls: Iterable[tuple[int, ...]]) -> None:
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        for arguments in calls:
            function(*arguments)


class Trimmer:
    """Trims once the process has grown, and once more at the next look: what is freed inside of the heap after a trim
    at the height of a load does not show. What is left by then is in use."""

    def __init__(self, trim: Callable[[], None] = trim, resident: Callable[[], int] = resident_bytes) -> None:
        self._trim = trim
        self._resident = resident
        self._level = resident()
        self._has_grown = False

    def look(self) -> None:
        """Trim where that may return much. Called every `TRIM_SECONDS`."""
        now, had_grown = self._resident(), self._has_grown
        self._has_grown = now - self._level >= MOVED_BYTES
        if self._has_grown or had_grown:
            self._trim()
            now = self._level = self._resident()
        self._level = min(self._level, now)


# --- the garbage collector ---

THRESHOLDS = (20_000, 20, 50)
"""A request makes some hundred objects that die with it; a collection every 700 of them costs a tenth of it."""

SWITCH_SECONDS = 0.0005
"""How long a thread runs while the loop waits for the interpreter; a request waits several times."""

_PORTION = 5_000
"""Objects: a pass over them takes half a millisecond."""

_LOOKED_AT = 50_000
"""Objects: a pass over them takes 5 milliseconds, in which no other thread runs."""


@contextmanager
def gc_paused(*, makes_many: bool = False) -> Iterator[None]:
    """Disable garbage collection inside the block, then freeze what was allocated if it was a lot, or ``makes_many``
    says so: the collector counts too few where old objects die meanwhile.

    What is frozen is never collected. So where it is no more than can be looked at in a moment, cycles are collected
    before: libraries leave some (pykickstart thousands of objects for each text).

    For work that makes many objects at a time, and calls no other code meanwhile. Several threads may do such work: the
    collector is enabled when the last of them is done.
    """
    with _holding.lock:
        _holding.count += 1
        _holding.makes_many |= makes_many
        if _holding.count == 1:
            _holding.before = gc.get_count()[0]
            gc.disable()
    try:
        yield
    finally:
        with _holding.lock:
            _holding.count -= 1
            if not _holding.count:
                made = gc.get_count()[0] - _holding.before
                if not _holding.makes_many and _PORTION < made <= _LOOKED_AT:
                    gc.collect(0)
                if _holding.makes_many or made > _PORTION:
                    gc.freeze()
                _holding.makes_many = False
                gc.enable()


class _Holding:
    """The number of blocks that disable the collector at the moment, and the number of new objects when the first
    began."""

    def __init__(self) -> None:
        self.lock: AbstractContextManager[Any] = get_original("_thread", "allocate_lock")()
        self.count = self.before = 0
        self.makes_many = False


_holding = _Holding()
