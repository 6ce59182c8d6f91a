"""Answering: the greenlets that run the app, and the outbox of responses.

Requests that are complete in the same turn of the loop are answered in a row, and only then are their responses sent: a
system call evicts the interpreter from the processor's caches, and 30 answers in a row cost half of what they cost one
by one. Greenlets are used again: a new one maps and unmaps 16 KB for its Python frames, and a request that needs that
costs half as much again (64 against 42 µs).

Must not know apps, nor how a response is sent.
"""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import Final, Protocol

from gevent import getcurrent
from gevent.hub import Hub
from greenlet import greenlet

ANSWERING_SECONDS: Final = 0.003  # that answers are made before those that are there are sent
IDLE_RUNNERS: Final = 64  # greenlets kept for the next request


class Answerable(Protocol):
    """A connection whose request is complete."""

    def answer(self) -> None:
        """Run the app, and call `Answering.answered`; in a greenlet that may wait."""

    def send(self) -> None:
        """Send the response."""


class Answering:
    """Runs the apps of one listener."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._loop = hub.loop
        self._ready: deque[Answerable] = deque()
        self._until = 0.0
        self._outbox: list[Answerable] | None = None  # answered, while others are still to be
        self._idle_runners: list[greenlet] = []

    def ready(self, connection: Answerable) -> None:
        """Have a connection answered at the end of this turn of the loop, together with others."""
        self._ready.append(connection)
        if len(self._ready) == 1:
            self._loop.run_callback(self.answer_ready)

    def answered(self, connection: Answerable) -> None:
        """Send a response, at once or after those that are being made."""
        if self._outbox is None:
            connection.send()
        else:
            self._outbox.append(connection)

    def answer_ready(self) -> None:
        """Answer the connections that are ready, and then send the responses."""
        while self._ready:
            self._until = monotonic() + ANSWERING_SECONDS
            answered: list[Answerable] = []
            self._outbox = answered
            try:
                while self._ready and monotonic() < self._until:
                    self._run()
            finally:
                self._outbox = None
                for connection in answered:
                    connection.send()
                if self._ready:  # after a fault, the others still get their turn
                    self._loop.run_callback(self.answer_ready)

    def _run(self) -> None:
        """Let a greenlet answer the connections that are ready; return (to the loop) when that is done or the greenlet
        waits."""
        runner = self._idle_runners.pop() if self._idle_runners else greenlet(self._run_forever, self._hub)
        runner.switch(self)

    def _run_forever(self, _: object) -> None:
        runner = getcurrent()
        ready = self._ready
        while True:
            while ready:
                ready.popleft().answer()
                if monotonic() >= self._until:
                    break
            if len(self._idle_runners) >= IDLE_RUNNERS:
                return
            runner.gr_context = None  # Bottle's request is in it, with a body that may be large
            self._idle_runners.append(runner)
            # Ignore a late wake-up that an app left behind.
            while self._hub.switch() is not self:
                pass
