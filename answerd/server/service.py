"""The running service: try everything that can prevent a start, then answer in several processes.

Rules: docs/configuration.md, docs/running.md#the-log, docs/running.md#start-stop-reload.

Knows the order in which things start and end; decides nothing about a request.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial

from gevent.monkey import get_original

from answerd.config import Config
from answerd.server import allocator, gc_tuning, systemd
from answerd.server.console_parts import ConsoleFactory
from answerd.server.processes import InterimWorker, Supervisor, block_signals, wait_for_stop
from answerd.server.replication import REPLICATOR, run_replicator
from answerd.server.request_log import RequestLog
from answerd.server.sockets import refuse_new
from answerd.server.startup import Service, StartupError, prepare
from answerd.server.threads import SWITCH_SECONDS
from answerd.server.worker import WARM_SECONDS, Worker
from answerd.store import ReplicatingStore, StoreError

__all__ = ["StartupError", "serve"]

_LONGEST_WAIT_SECONDS = 10.0

# Of the system: gevent's would be greenlets.
get_ident: Callable[[], int] = get_original("_thread", "get_ident")
start_thread = get_original("_thread", "start_new_thread")

INTERIM_WORKER_AFTER_SECONDS = 0.3
"""How long several workers may load before an interim worker answers in their place."""


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
        service = prepare(config, log, make_console)
        return _Several(service).run()
    finally:
        log.close()


class _Several:
    """The processes: one for each worker, one for admin API, console and metrics where any is configured, and the
    replicator of a shared database. The `Children` of their supervisor. The parent loads once, so that the children
    share read-only memory, and then forks them. An interim worker answers until then.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._parent_pipe, self._held_open = os.pipe()
        workers = [(f"worker {index + 1}", [listening]) for index, listening in enumerate(service.sockets)]
        self._sockets: dict[str, list[socket.socket]] = dict(workers)
        self._reporter = 0  # the child that logs problems and faults of the store: not a worker, if there is another
        others = [service.admin_socket, service.console_socket, service.metrics_socket]
        administered = [listening for listening in others if listening is not None]
        if administered:
            names = ("admin API", "console", "metrics")
            name = next(name for name, listening in zip(names, others, strict=True) if listening is not None)
            self._reporter = len(self._sockets)
            self._sockets[name] = administered
        if isinstance(service.loader.store, ReplicatingStore):
            self._sockets[REPLICATOR] = []
        self.names = list(self._sockets)
        self._replaced: set[int] = set()
        self._is_announced = False
        self._watchdog = systemd.Watchdog()
        service.counters.attach(service.config.workers + 2)

    def run(self) -> int:
        """Run until a signal ends it. Return the exit status."""
        service = self.service
        interim_worker = InterimWorker(
            self._run_interim_worker,
            INTERIM_WORKER_AFTER_SECONDS,
            partial(service.admission.reset, service.config.workers),
            service.log,
        )
        try:
            _load_for_all(service, self.announce, self._watchdog)
        except _Stopped:
            for listening in service.sockets:  # no worker will take over what the interim worker leaves
                if not service.is_activated:
                    refuse_new(listening)
                listening.close()
            interim_worker.end(service.config.timeout_seconds)
            service.log.service("stopped while loading")
            return 0
        gc.freeze()
        stop_seconds = service.config.drain_seconds + service.config.timeout_seconds
        return Supervisor(self, service.log).run(interim_worker, stop_seconds)

    def run_child(self, index: int) -> int:
        """Be a worker, or the process of the admin API, or the replicator."""
        os.close(self._held_open)
        for name, sockets in self._sockets.items():
            for inherited in sockets if name != self.names[index] else ():
                inherited.close()
        if self.names[index] == REPLICATOR:
            return run_replicator(self.service, self._parent_pipe)
        worker = Worker(
            self.service,
            reports=index == self._reporter,
            parent_pipe=self._parent_pipe,
            is_replacement=index in self._replaced,
        )
        if index < self.service.config.workers:
            worker.answer(index)
        else:
            worker.administer()
        return worker.run()

    def forget_child(self, index: int) -> None:
        """Release a dead worker's part of the shared limits."""
        self._replaced.add(index)
        self.service.counters.add("answerd_workers_replaced_total")
        if index < self.service.config.workers:
            self.service.admission.reset(index)
            self.service.heartbeats.forget(index)

    def announce(self) -> None:
        """Log where requests are accepted; only once."""
        if not self._is_announced:
            self._is_announced = True
            self.service.announce()

    def reload(self) -> None:
        """Reload for the children that will be forked later."""
        systemd.notify_reloading()
        self.service.reload(logs=True)
        self.service.log_fingerprint()
        systemd.notify(systemd.READY)

    def do_periodic_work(self) -> float | None:
        """Notify the service manager that the workers run, as long as all of them do."""
        seconds = self._watchdog.seconds
        if seconds is not None:
            self._watchdog.ping(lambda: self.service.heartbeats.are_younger_than(2 * seconds))
        return seconds

    def stop_accepting(self) -> None:
        """Close the listening sockets that the parent holds open for its children."""
        systemd.notify(systemd.STOPPING)
        for sockets in self._sockets.values():
            for inherited in sockets:
                inherited.close()

    def _run_interim_worker(self) -> int:
        os.close(self._held_open)
        worker = Worker(self.service, reports=False, parent_pipe=self._parent_pipe, is_interim=True)
        for index in range(self.service.config.workers):
            worker.answer(index)
        return worker.run()


def _load_for_all(service: Service, announce: Callable[[], None], watchdog: systemd.Watchdog) -> None:
    """Load the data that the children share: the answer set, its answers, its problems. Each child does the rest by
    itself.

    ``announce`` is called if it takes long. Raises `_Stopped`. The work is in a thread, so that a signal to stop is
    obeyed at once.
    """
    until = time.monotonic() + WARM_SECONDS
    ended = _in_raw_thread(partial(_load, service))
    while not ended():
        seconds = max(0.0, until - time.monotonic()) or _LONGEST_WAIT_SECONDS
        if wait_for_stop(min(seconds, watchdog.seconds or _LONGEST_WAIT_SECONDS)):
            raise _Stopped
        watchdog.ping()
        if time.monotonic() >= until:
            announce()


def _load(service: Service) -> None:
    try:
        with gc_tuning.gc_paused():
            service.loader.refresh()
            lines = service.digest.update(service.loader.catalogue, checks=True)
    except StoreError:
        return
    for line in lines:
        service.log.service(line)


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
