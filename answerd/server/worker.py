"""A process with a loop: its answer set, its listeners, its signals; and the worker, which answers machines."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Sequence
from functools import partial

import gevent
from gevent.event import Event
from gevent.socket import wait_read

from answerd.long_work import give_way_by, run_long_work_by
from answerd.server import answer_app, os_support
from answerd.server.answer_app import make_answer_app
from answerd.server.answer_set import AnswerSet
from answerd.server.capture import Recorder
from answerd.server.http.server import HttpServer, Limits
from answerd.server.live_states import LiveStates
from answerd.server.metrics import RequestCounts
from answerd.server.report_app import is_report
from answerd.server.service_parts import BEAT, ServiceParts
from answerd.server.shown_targets import shown_target
from answerd.server.threads import LongWork, in_thread
from answerd.store.secrets import POLL_SECONDS

BEAT_SECONDS = 1.0
"""How often a worker reports that its loop runs; more often where the manager's watchdog has less patience."""

LAST_WRITES_SECONDS = 1.0
"""How long a disk may delay the end of the service."""


class Process:
    """A child of the service with a loop. It runs until a signal or the end of its parent ends it."""

    prepares = True
    """Whether it prepares answers before they are asked for."""

    def __init__(self, parts: ServiceParts, parent_pipe: int, *, reports: bool, is_replacement: bool) -> None:
        """``parent_pipe``: a pipe that ends with the parent. ``reports``: whether this process logs problems of the set
        and faults of the store. ``is_replacement``: it takes the place of one that died."""
        self.parts = parts
        self.reports = reports
        self.parent_pipe = parent_pipe
        self.stopping = Event()
        self.listeners: list[HttpServer] = []
        self.answers = AnswerSet(
            parts.loader,
            parts.writes,
            parts.log,
            parts.preparation,
            reports=reports,
            is_replacement=is_replacement,
            prepares=self.prepares,
            counters=parts.cells,
        )
        self.installs = LiveStates(parts.installs, parts.log, parts.cells) if parts.installs is not None else None
        self._said_of_secrets = {*parts.secrets.warnings(), *parts.secrets.problems()}

    def run(self) -> int:
        """Serve until a signal or the end of the parent ends it. Return the exit status."""
        self._install_signal_handlers()
        long_work = LongWork()
        run_long_work_by(long_work)
        give_way_by(long_work.give_way)
        watch = gevent.spawn(self.answers.watch)
        gevent.spawn(self._beat_for_ever)
        gevent.spawn(self._trim_for_ever)
        if self.installs is not None:
            gevent.spawn(self.installs.watch)
            gevent.spawn(self.installs.keep_up)
        self._look_at_secrets()  # first: the kernel reports to this process only what comes after it
        gevent.spawn(self._watch_secrets)
        for listener in self.listeners:
            listener.start()
        self.begin()
        self.stopping.wait()
        # A load balancer that asks /ready sends no more clients, before any is refused.
        gevent.sleep(self.parts.config.drain_seconds)
        until = time.monotonic() + self.parts.config.timeout_seconds
        drains = [gevent.spawn(listener.drain, until) for listener in self.listeners]
        gevent.joinall(drains)
        watch.kill(block=False)
        if self.installs is not None:
            gevent.spawn(self.installs.flush).join(LAST_WRITES_SECONDS)
        # Wait for threads that still write: captures of the last requests.
        gevent.spawn(gevent.get_hub().threadpool.join).join(LAST_WRITES_SECONDS)
        return 0

    def readiness(self) -> str:
        return "the service is stopping" if self.stopping.is_set() else self.answers.readiness()

    def begin(self) -> None:
        """Begin what else this process does, once it accepts connections."""

    def _beat_for_ever(self) -> None:
        watched = self.parts.watchdog.seconds
        seconds = BEAT_SECONDS if watched is None else min(BEAT_SECONDS, watched / 2)
        while True:
            self.parts.cells.set(*BEAT, value=time.monotonic_ns())
            gevent.sleep(seconds)

    def _trim_for_ever(self) -> None:
        trimmer = os_support.Trimmer()
        while True:
            gevent.sleep(os_support.TRIM_SECONDS)
            in_thread(trimmer.look)

    def _watch_secrets(self) -> None:
        """Look at the secrets for ever, in a thread; a change is in force within a second."""
        while self.parts.secrets.directory is not None:
            gevent.sleep(POLL_SECONDS)
            self._look_at_secrets()

    def _look_at_secrets(self) -> None:
        secrets = self.parts.secrets
        try:
            if not in_thread(secrets.poll) or not self.reports:
                return
        except Exception as error:  # any fault: the secrets in force stay and the next poll comes
            self.parts.log.line(f"warning: the secrets cannot be looked at: {type(error).__name__}")
            return
        now = {f"warning: {warning}": warning for warning in secrets.warnings()}
        now |= {f"problem: {problem}": problem for problem in secrets.problems()}
        for line, sentence in now.items():
            if sentence not in self._said_of_secrets:
                self.parts.log.line(line)
        self._said_of_secrets = set(now.values())

    def _install_signal_handlers(self) -> None:
        gevent.signal_handler(signal.SIGTERM, self.stopping.set)
        gevent.signal_handler(signal.SIGINT, self.stopping.set)
        gevent.signal_handler(signal.SIGHUP, self._reload)
        # They have been blocked since the start; pending signals are delivered now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD))
        gevent.spawn(self._stop_with_parent)

    def _stop_with_parent(self) -> None:
        """Stop once the parent has ended, for whatever reason."""
        wait_read(self.parent_pipe)
        self.stopping.set()

    def _reload(self) -> None:
        """Handle SIGHUP: read the log file, the settings, the certificate and the store again."""
        parts = self.parts
        parts.reload(logs=False)
        for listener in self.listeners:
            if listener.tls is not None and parts.certificate is not None:
                listener.tls = parts.certificate.context
        parts.log.line("reloading")
        self.answers.force_full_poll()


class Worker(Process):
    """A process that serves the answer endpoint, and nothing else."""

    def __init__(
        self,
        parts: ServiceParts,
        parent_pipe: int,
        sockets: Sequence[socket.socket],
        *,
        reports: bool,
        is_replacement: bool,
    ) -> None:
        super().__init__(parts, parent_pipe, reports=reports, is_replacement=is_replacement)
        self.listeners = [self._listener(listening) for listening in sockets]

    def _listener(self, listening: socket.socket) -> HttpServer:
        parts, config = self.parts, self.parts.config
        recorder = None
        if config.capture_dir is not None:
            count = partial(parts.cells.add, "answerd_captures_total")
            recorder = Recorder(config.capture_dir, parts.log, problems_only=config.capture == "problems", count=count)
        app = make_answer_app(
            self.answers.current,
            parts.access,
            self.readiness,
            recorder,
            sources=parts.sources,
            installs=self.installs,
        )
        return HttpServer(
            listening,
            app,
            limits=Limits(timeout=config.timeout_seconds, max_lingering=parts.descriptors.lingering),
            log=parts.log,
            admission=parts.admission,
            body_limit=answer_app.make_body_limit(parts.access, has_states=self.installs is not None),
            shown_target=shown_target,
            is_reserved=is_report if self.installs is not None else None,
            trusted_proxies=config.trusted_proxies,
            tls=parts.certificate.context if parts.certificate is not None else None,
            counts=RequestCounts(parts.cells),
            feed=parts.feed,
            on_request=self.installs.note_request if self.installs is not None else None,
        )
