"""The parent of the processes: it loads once for all of them, forks them, replaces what dies, passes signals on, and
ends them (docs/running.md#start-stop-reload).

It answers nothing, and must not touch gevent's loop: a child would inherit the watchers of a loop in use, which would
then run in both.
"""

from __future__ import annotations

import gc
import math
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from types import FrameType

import gevent.os
from gevent.monkey import get_original

from answerd.answers.operator_names import NO_STATES, asks_for_states
from answerd.server import os_support
from answerd.server.admission import ADMISSION
from answerd.server.live_states import NOT_WRITTEN
from answerd.server.service_parts import BEAT, ServiceParts
from answerd.server.worker import Worker
from answerd.store import ReplicatingStore, StoreError
from answerd.store.agreement import Digests, digests_of
from answerd.store.secrets import SecretFiles

_PARENTS_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})

_RESPAWN_DELAY_SECONDS = 0.5
"""Minimum seconds between two starts of a child, so that a child that crashes at its start does not fork in a loop. A
child that ran longer is replaced at once."""

_PREPARED_BEFORE_THE_START = 20_000
"""Documents of the largest set whose answers are prepared before the workers start, which takes 5 s. Of a larger set
each worker prepares them while it answers."""

_KILL_AFTER_SECONDS = 2.0
"""How long after the deadline of its connections a child is killed."""


_waitpid = get_original("os", "waitpid")  # gevent's needs its loop


def block_signals() -> None:
    """Block signals until a handler is installed: by a `Supervisor`, or by a process that it has forked.

    Call this before any thread is started: a thread that does not block them would receive signals while the parent is
    busy, and the default action there would end the service, or lose the news that a child has died.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _PARENTS_SIGNALS)


@dataclass(slots=True)
class _Child:
    """A process that is to run: its name in the log, its place, and its listening sockets. ``pid`` is None while it
    does not run; ``due`` is then when to start it. Times are of the monotonic clock."""

    name: str
    place: int
    sockets: list[socket.socket]
    pid: int | None = None
    started: float = 0.0
    due: float = 0.0
    is_replacement: bool = False


class Supervisor:
    """Keeps the processes running: a worker for each socket of the answer endpoint, one for admin API, console and
    metrics where any is configured, and the replicator of a shared database. `block_signals` comes first."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts
        self._log = parts.log.line
        self._parent_pipe, self._held_open = os.pipe()
        places = parts.places
        self._children = [_Child(f"worker {at + 1}", at, [listening]) for at, listening in enumerate(parts.sockets)]
        listeners = {
            "admin API": parts.admin_socket,
            "console": parts.console_socket,
            "metrics": parts.metrics_socket,
        }
        administered = {name: listening for name, listening in listeners.items() if listening is not None}
        self._reporter = places.administration if administered else 0
        """The process that logs problems of the set and faults of the store: not a worker, if there is another."""
        if administered:
            # Before the fork: what replaces a child after an upgrade of the package is the version of its parent.
            import answerd.server.administration  # noqa: PLC0415, F401 - a fifth of the time of a start

            self._children.append(_Child(next(iter(administered)), places.administration, [*administered.values()]))
        if isinstance(parts.loader.store, ReplicatingStore):
            self._children.append(_Child("replicator", places.replicator, []))
        parts.attach(places.parent)

    def run(self) -> int:
        """Load, and keep the children running until SIGTERM or SIGINT. Return the exit status."""
        if not self._load():
            self._log("stopped while loading")
            return 0
        gc.freeze()
        self._expect_beats(range(self._parts.config.workers))
        self._start_due()
        names = [child.name for child in self._children]
        self._log(f"{len(names)} process{'es' if len(names) > 1 else ''} started: {', '.join(names)}")
        self._parts.announce()
        while (received := self._next_signal()) not in _STOP_SIGNALS:
            if received == signal.SIGHUP:
                self._reload()
            for child, how in self._reap():
                self._log(f"{child.name} died ({how}), replacing it")
                self._release(child)
            self._start_due()
        self._stop()
        return 0

    def _load(self) -> bool:
        """Load the data that the children share: the answer set, its answers, its problems. Each child does the rest by
        itself. Return False where a signal to stop came meanwhile. Clients connect from the start, and wait.
        """
        parts = self._parts
        came: list[int] = []

        def stop(number: int, _frame: FrameType | None) -> None:
            came.append(number)
            raise KeyboardInterrupt

        try:
            for number in _STOP_SIGNALS:
                signal.signal(number, stop)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            with os_support.gc_paused():
                parts.loader.refresh()
                catalogue = parts.loader.catalogue
                installs = parts.installs
                if installs is not None and not installs.memory.changes and asks_for_states(catalogue):
                    parts.log.line(f"warning: {NO_STATES}")
                if len(catalogue.documents) <= _PREPARED_BEFORE_THE_START:
                    for line in parts.preparation.update(catalogue, checks=True):
                        self._log(line)
        except StoreError:
            pass  # each child says so
        except KeyboardInterrupt:
            return False
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        return not came

    # --- the children ---

    def _start_due(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if child.pid is None and child.due <= now:
                try:
                    child.pid, child.started = self._fork(child.name, partial(self._live, child)), now
                except OSError as error:
                    self._log(f"warning: {child.name} cannot be started: {error.strerror}; trying again")
                    child.due = now + _RESPAWN_DELAY_SECONDS

    def _fork(self, name: str, live: Callable[[], int]) -> int:
        """Fork a child that runs ``live`` and ends with the status that it returns. Return its process id. Raises
        OSError."""
        pid: int = gevent.os.fork()
        if pid:
            return pid
        status = 1
        try:
            status = live()
        except Exception as error:
            self._log(f"{name} failed: {type(error).__name__}: {error}")
        finally:
            self._parts.log.close()
            os._exit(status)

    def _live(self, child: _Child) -> int:
        """Be a worker, or the process that administers, or the replicator."""
        os.close(self._held_open)
        parts, pipe, places = self._parts, self._parent_pipe, self._parts.places
        for other in self._children:
            for inherited in other.sockets if other is not child else ():
                inherited.close()
        parts.attach(child.place)
        if child.place == places.replicator:
            return _replicate(parts, pipe)
        reports = child.place == self._reporter
        if child.place == places.administration:
            from answerd.server.administration import Administration  # noqa: PLC0415 - where it is configured

            return Administration(parts, pipe, reports=reports, is_replacement=child.is_replacement).run()
        return Worker(parts, pipe, child.sockets, reports=reports, is_replacement=child.is_replacement).run()

    def _reap(self) -> list[tuple[_Child, str]]:
        """Reap dead children: each with how it ended. They are due to be started again."""
        dead = []
        for child in self._children:
            ended, status = _waitpid(child.pid, os.WNOHANG) if child.pid is not None else (0, 0)
            if ended:
                child.pid, child.due = None, child.started + _RESPAWN_DELAY_SECONDS
                code = os.waitstatus_to_exitcode(status)
                dead.append((child, f"signal {-code}" if code < 0 else f"exit status {code}"))
        return dead

    def _release(self, child: _Child) -> None:
        """Release what a dead child held of the shared limits."""
        child.is_replacement = True
        self._parts.cells.add("answerd_workers_replaced_total")
        self._parts.cells.clear(child.place, [*ADMISSION, NOT_WRITTEN])
        if child.place < self._parts.config.workers:
            self._expect_beats([child.place])

    def _expect_beats(self, workers: Iterable[int]) -> None:
        """Count workers as alive that are about to be forked: one that hangs before its first beat is noticed too."""
        for worker in workers:
            self._parts.cells.everywhere(*BEAT)[worker] = time.monotonic_ns()

    # --- signals ---

    def _next_signal(self) -> int | None:
        """Wait for a signal; None when something is due before one comes. Meanwhile the service manager is notified
        that the workers run, as long as all of them do."""
        watchdog = self._parts.watchdog
        watched = watchdog.seconds
        if watched is not None:
            beats = self._parts.cells.everywhere(*BEAT)[: self._parts.config.workers]
            oldest = time.monotonic_ns() - int(2 * watched * 1_000_000_000)
            watchdog.ping(lambda: all(beat > oldest for beat in beats))
        due = min((child.due for child in self._children if child.pid is None), default=math.inf)
        patience = max(0.0, min(due - time.monotonic(), math.inf if watched is None else watched))
        if patience == math.inf:
            return signal.sigwaitinfo(_PARENTS_SIGNALS).si_signo
        received = signal.sigtimedwait(_PARENTS_SIGNALS, patience)
        return None if received is None else received.si_signo

    def _reload(self) -> None:
        """Handle SIGHUP: reload for the children that will be forked later, and pass the signal to those that run."""
        os_support.notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1_000}")
        self._parts.reload(logs=True)
        self._parts.log_fingerprint()
        os_support.notify(os_support.READY)
        self._signal_all(signal.SIGHUP)

    def _signal_all(self, signal_number: int) -> None:
        for child in self._children:
            if child.pid is not None:
                os.kill(child.pid, signal_number)

    def _stop(self) -> None:
        """End the children. They may finish the requests in flight; what is left after their deadline is killed."""
        self._log("stopping: what is in flight is finished")
        os_support.notify(os_support.STOPPING)
        for child in self._children:
            for inherited in child.sockets:
                inherited.close()
        self._signal_all(signal.SIGTERM)
        config = self._parts.config
        until = time.monotonic() + config.drain_seconds + config.timeout_seconds + _KILL_AFTER_SECONDS
        while any(child.pid is not None for child in self._children) and time.monotonic() < until:
            signal.sigtimedwait([signal.SIGCHLD], max(0.0, until - time.monotonic()))
            self._reap()
        self._signal_all(signal.SIGKILL)
        for child in self._children:
            if child.pid is not None:
                _waitpid(child.pid, 0)
        self._log("stopped")


def _replicate(parts: ServiceParts, parent_pipe: int) -> int:
    """Be the replicator: keep this node's replica up to date until a signal, or the end of the parent, ends it. Return
    the exit status."""
    store = parts.loader.store
    if not isinstance(store, ReplicatingStore):
        raise TypeError("the store has no replica")
    reading, writing = os.pipe()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        os.write(writing, b"x")

    def reload(_signal: int, _frame: FrameType | None) -> None:
        parts.reload(logs=False)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGHUP, reload)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD))

    def follow_parent() -> None:
        select.select([parent_pipe], [], [])
        os.write(writing, b"x")

    threading.Thread(target=follow_parent, daemon=True).start()

    def changed() -> None:
        parts.writes.bump()

    store.replicate(parts.log.line, changed, reading, _deciding(parts))
    return 0


def _deciding(parts: ServiceParts) -> Callable[[bytes], Digests]:
    """Return what makes the digests of what decides this node's answers. They are made again where something of that
    has changed: those of secrets take a tenth of a second."""
    secrets = SecretFiles(parts.config.secrets_dir)
    made: list[tuple[object, Digests]] = []

    def digests(key: bytes) -> Digests:
        secrets.poll()
        present = (parts.config, secrets.version, key)
        if not made or made[0][0] != present:
            made[:] = [(present, digests_of(parts.config, secrets.in_force.texts, key))]
        return made[0][1]

    return digests
