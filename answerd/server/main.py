"""The running service: try everything that can prevent a start, load once, then fork the processes
(docs/running.md#start-stop-reload)."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gevent.monkey import get_original

from answerd.config import Config
from answerd.server import allocator, gc_tuning, systemd
from answerd.server.admission import ADMISSION
from answerd.server.console_parts import ConsoleFactory
from answerd.server.replicator import run_replicator
from answerd.server.request_log import RequestLog
from answerd.server.shared import Shared, StartupError, prepare
from answerd.server.sockets import refuse_new
from answerd.server.supervisor import InterimWorker, Supervisor, block_signals, wait_for_stop
from answerd.server.threads import SWITCH_SECONDS
from answerd.server.worker import WARM_SECONDS, Worker
from answerd.store import ReplicatingStore, StoreError

__all__ = ["StartupError", "serve"]

_LONGEST_WAIT_SECONDS = 10.0

# Of the system: gevent's would be greenlets.
get_ident: Callable[[], int] = get_original("_thread", "get_ident")
start_thread = get_original("_thread", "start_new_thread")

INTERIM_WORKER_AFTER_SECONDS = 0.3
"""How long the parent may load before an interim worker answers in place of the others."""


def serve(config: Config, make_console: ConsoleFactory | None = None) -> int:
    """Run until a signal ends it. Return the exit status. ``make_console`` makes the console, where one is configured.

    Raises `StartupError`, `answerd.store.StoreError`: the service cannot start.
    """
    block_signals()  # until a handler is installed, so that an early SIGTERM still shuts down cleanly
    try:
        log = RequestLog(config.log_file, config.log, config.log_format)
    except OSError as error:
        raise StartupError(f"SERVICE_LOG_FILE: {config.log_file} cannot be opened: {error.strerror}") from None
    try:
        allocator.configure()
        gc.set_threshold(*gc_tuning.THRESHOLDS)
        sys.setswitchinterval(SWITCH_SECONDS)
        return _Processes(prepare(config, log, make_console)).run()
    finally:
        log.close()


@dataclass(frozen=True, slots=True)
class _Child:
    """A child of the service: its name in the log, its place, and its listening sockets."""

    name: str
    place: int
    sockets: list[socket.socket]


class _Processes:
    """The processes: a worker for each socket of the answer endpoint, one for admin API, console and metrics where any
    is configured, and the replicator of a shared database. The `Children` of their supervisor. The parent loads once,
    so that the children share read-only memory, and then forks them. An interim worker answers until then.
    """

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self._parent_pipe, self._held_open = os.pipe()
        places = shared.places
        self._children = [_Child(f"worker {at + 1}", at, [listening]) for at, listening in enumerate(shared.sockets)]
        listeners = {
            "admin API": shared.admin_socket,
            "console": shared.console_socket,
            "metrics": shared.metrics_socket,
        }
        administered = {name: listening for name, listening in listeners.items() if listening is not None}
        self._reporter = places.administration if administered else 0
        """The process that logs problems of the set and faults of the store: not a worker, if there is another."""
        if administered:
            # Before the fork: what replaces a child after an upgrade of the package is the version of its parent.
            import answerd.server.administration  # noqa: PLC0415, F401 - a fifth of the time of a start

            self._children.append(_Child(next(iter(administered)), places.administration, [*administered.values()]))
        if isinstance(shared.loader.store, ReplicatingStore):
            self._children.append(_Child("replicator", places.replicator, []))
        self.names = [child.name for child in self._children]
        self._replaced: set[int] = set()
        self._is_announced = False
        self._watchdog = systemd.Watchdog()
        shared.attach(places.parent)

    def run(self) -> int:
        """Run until a signal ends it. Return the exit status."""
        shared = self.shared
        interim_worker = InterimWorker(
            self._run_interim_worker,
            INTERIM_WORKER_AFTER_SECONDS,
            partial(shared.cells.clear, shared.places.interim, ADMISSION),
            shared.log,
        )
        try:
            _load_for_all(shared, self.announce, self._watchdog)
        except _Stopped:
            for listening in shared.sockets:  # no worker will take over what the interim worker leaves
                if not shared.is_activated:
                    refuse_new(listening)
                listening.close()
            interim_worker.end(shared.config.timeout_seconds)
            shared.log.service("stopped while loading")
            return 0
        gc.freeze()
        shared.heartbeats.begin(range(shared.config.workers))
        stop_seconds = shared.config.drain_seconds + shared.config.timeout_seconds
        return Supervisor(self, shared.log).run(interim_worker, stop_seconds)

    def run_child(self, index: int) -> int:
        """Be a worker, or the process that administers, or the replicator."""
        os.close(self._held_open)
        child, shared = self._children[index], self.shared
        for other in self._children:
            for inherited in other.sockets if other is not child else ():
                inherited.close()
        shared.attach(child.place)
        if child.place == shared.places.replicator:
            return run_replicator(shared, self._parent_pipe)
        reports, is_replacement = child.place == self._reporter, index in self._replaced
        if child.place == shared.places.administration:
            from answerd.server.administration import Administration  # noqa: PLC0415 - where it is configured

            return Administration(shared, self._parent_pipe, reports=reports, is_replacement=is_replacement).run()
        return Worker(shared, self._parent_pipe, child.sockets, reports=reports, is_replacement=is_replacement).run()

    def _run_interim_worker(self) -> int:
        os.close(self._held_open)
        self.shared.attach(self.shared.places.interim)
        return Worker(self.shared, self._parent_pipe, self.shared.sockets, is_interim=True).run()

    def forget_child(self, index: int) -> None:
        """Release a dead worker's part of the shared limits."""
        self._replaced.add(index)
        self.shared.cells.add("answerd_workers_replaced_total")
        self.shared.cells.clear(self._children[index].place, ADMISSION)
        if index < self.shared.config.workers:
            self.shared.heartbeats.begin([index])

    def announce(self) -> None:
        """Log where requests are accepted; only once."""
        if not self._is_announced:
            self._is_announced = True
            self.shared.announce()

    def reload(self) -> None:
        """Reload for the children that will be forked later."""
        systemd.notify_reloading()
        self.shared.reload(logs=True)
        self.shared.log_fingerprint()
        systemd.notify(systemd.READY)

    def do_periodic_work(self) -> float | None:
        """Notify the service manager that the workers run, as long as all of them do."""
        seconds = self._watchdog.seconds
        if seconds is not None:
            self._watchdog.ping(lambda: self.shared.heartbeats.are_younger_than(2 * seconds))
        return seconds

    def stop_accepting(self) -> None:
        """Close the listening sockets that the parent holds open for its children."""
        systemd.notify(systemd.STOPPING)
        for child in self._children:
            for inherited in child.sockets:
                inherited.close()


def _load_for_all(shared: Shared, announce: Callable[[], None], watchdog: systemd.Watchdog) -> None:
    """Load the data that the children share: the answer set, its answers, its problems. Each child does the rest by
    itself.

    ``announce`` is called if it takes long. Raises `_Stopped`. The work is in a thread, so that a signal to stop is
    obeyed at once.
    """
    until = time.monotonic() + WARM_SECONDS
    ended = _in_raw_thread(partial(_load, shared))
    while not ended():
        seconds = max(0.0, until - time.monotonic()) or _LONGEST_WAIT_SECONDS
        if wait_for_stop(min(seconds, watchdog.seconds or _LONGEST_WAIT_SECONDS)):
            raise _Stopped
        watchdog.ping()
        if time.monotonic() >= until:
            announce()


def _load(shared: Shared) -> None:
    try:
        with gc_tuning.gc_paused():
            shared.loader.refresh()
            lines = shared.preparation.update(shared.loader.catalogue, checks=True)
    except StoreError:
        return
    for line in lines:
        shared.log.service(line)


def _in_raw_thread(work: Callable[[], None]) -> Callable[[], bool]:
    """Begin work in a thread of the system, without gevent, whose loop the parent must not touch. Return a function
    that says whether the work has ended, and raises what it has raised. The end wakes `wait_for_stop`."""
    results: list[Exception | None] = []
    parent = get_ident()

    def run() -> None:
        error: Exception | None = None
        try:
            work()
        except Exception as raised:
            error = raised
        results.append(error)
        signal.pthread_kill(parent, signal.SIGCHLD)

    def has_ended() -> bool:
        if results and results[0] is not None:
            raise results[0]
        return bool(results)

    start_thread(run, ())
    return has_ended


class _Stopped(Exception):
    """A signal to stop came before the service was up."""
