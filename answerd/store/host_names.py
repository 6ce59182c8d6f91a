"""Look up the addresses of host names, for a bounded time.

Rules: docs/many-nodes.md#when-the-database-is-away.

The C library's look-up has no bound that a caller could set: where a name server says nothing it takes 10 seconds and
more. So it runs in a thread of its own, for which nobody waits longer than he wants to. There is one such thread for a
name at a time, so that a name server that says nothing for an hour holds one thread and not thousands.
"""

from __future__ import annotations

import _thread
import os
import socket
import sys
from collections.abc import Callable
from typing import Any


class _LookUp:
    """A look-up that runs in its thread."""

    def __init__(self) -> None:
        self.result: list[str] | OSError | None = None
        self.process = os.getpid()
        self._is_running = _native("_thread", "allocate_lock")()
        self._is_running.acquire()

    def run(self, host: str) -> None:
        """Look the name up, and end the waiting of all."""
        try:
            find: Callable[..., list[Any]] = _native("socket", "getaddrinfo")
            found = find(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            self.result = list(dict.fromkeys(str(address[0]) for *_, address in found))
        except OSError as error:
            self.result = error
        except Exception as error:  # a name that cannot be encoded
            self.result = OSError(str(error))
        finally:
            self._is_running.release()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; return whether it has come."""
        has_ended: bool = self._is_running.acquire(True, seconds)
        if has_ended:
            self._is_running.release()  # the others wait too
        return has_ended


_under_way: dict[str, _LookUp] = {}
"""The look-ups that run, by name. Each step below is one step for all threads, and a second look-up does no harm."""


def addresses_of(host: str, seconds: float) -> list[str]:
    """Return the addresses of a name, the best first. Raises OSError where there are none, TimeoutError where they are
    not known in time.

    Blocks the calling native thread. Many may wait for one look-up, each for its own time.
    """
    look_up = _under_way.get(host)
    if look_up is None or look_up.result is not None or look_up.process != os.getpid():  # a fork leaves threads behind
        look_up = _under_way[host] = _LookUp()
        _native("_thread", "start_new_thread")(look_up.run, (host,))
    if not look_up.wait(max(0.0, seconds)):
        raise TimeoutError(f"the name {host} could not be looked up within {seconds:g} s")
    if _under_way.get(host) is look_up:
        _under_way.pop(host, None)
    if isinstance(look_up.result, OSError):
        raise OSError(f"the name {host} could not be looked up: {look_up.result.strerror or look_up.result}")
    return look_up.result or []


def _native(module: str, name: str) -> Any:
    """Return a function as it was before gevent replaced it: its version would make a hub for each thread that waits.

    Does not import gevent, which commands do without.
    """
    patching = sys.modules.get("gevent.monkey")
    if patching is not None:
        return patching.get_original(module, name)
    return getattr({"_thread": _thread, "socket": socket}[module], name)
