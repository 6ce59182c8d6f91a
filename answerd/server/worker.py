"""One process that answers: its listeners, its answer set, its signals.

Puts the parts of a process together and runs them until a signal ends it. Must not know the other processes; shared
data is in `answerd.server.startup.Service`.
"""

from __future__ import annotations

import signal
import time
from functools import partial

import gevent
from gevent.event import Event

from answerd.long_work import run_long_work_by
from answerd.server import allocator, answer_app, systemd
from answerd.server.administration import Administration
from answerd.server.answer_app import make_answer_app
from answerd.server.answer_set import AnswerSet
from answerd.server.capture import Recorder
from answerd.server.history_pruning import prune_for_ever
from answerd.server.http.server import HttpServer, Limits
from answerd.server.live_states import LiveStates
from answerd.server.metrics import RequestCounts
from answerd.server.processes import when_parent_exits
from answerd.server.report_app import is_report
from answerd.server.startup import Service
from answerd.server.threads import LongWork, in_thread
from answerd.server.write_guard import WriteGuard
from answerd.store.secret_files import POLL_SECONDS

ADMIN_ACCEPTS_AT_ONCE = 32
"""Connections accepted at a time: a connection that has sent its request is not idle when the next connections
arrive."""

METRICS_CONNECTIONS = 32
"""Connections in flight that the listener of the metrics admits: a few scrapers."""

BEAT_SECONDS = 1.0
"""How often a worker reports that its loop runs."""

LAST_WRITES_SECONDS = 1.0
"""How long a disk may delay the end of the service."""

WARM_SECONDS = 10.0
"""How long the preparation of answers may delay the line that says the service listens. Requests are answered
meanwhile; a fleet that waits for the line finds its answers ready."""


class Worker:
    """A process with a loop."""

    def __init__(
        self,
        service: Service,
        *,
        reports: bool,
        parent_pipe: int,
        is_interim: bool = False,
        is_replacement: bool = False,
    ) -> None:
        """``parent_pipe``: a pipe that ends with the parent. ``is_interim``: it runs until the parent has prepared the
        answers, so it does not prepare them. ``is_replacement``: it takes the place of one that died."""
        self.service = service
        self.is_interim = is_interim
        self.reports = reports
        self.parent_pipe = parent_pipe
        self.stopping = Event()
        self.listeners: list[HttpServer] = []
        self.guard: WriteGuard | None = None
        self._beating: int | None = None
        self.answers = AnswerSet(
            service.loader,
            service.generation,
            service.log,
            service.digest,
            reports=reports,
            is_replacement=is_replacement,
            prepares=not is_interim,
            counters=service.counters,
        )
        self.installs = LiveStates(service.installs, service.log) if service.installs is not None else None

    def answer(self, worker: int) -> None:
        """Serve the answer endpoint in this process, as this worker."""
        service, config = self.service, self.service.config
        region = config.workers if self.is_interim else worker
        service.admission.attach(region)
        if not self.is_interim:
            self._beating = worker
        service.counters.attach(region)
        if service.feed is not None:
            service.feed.attach(region)
        self.listeners.append(
            HttpServer(
                service.sockets[worker],
                make_answer_app(
                    self.answers.current,
                    service.access,
                    self._readiness,
                    _recorder(service),
                    sources=service.sources,
                    installs=self.installs,
                ),
                limits=Limits(timeout=config.timeout_seconds, max_lingering=service.descriptors.lingering),
                log=service.log,
                admission=service.admission,
                body_limit=answer_app.make_gate(service.access, has_states=self.installs is not None),
                is_reserved=is_report if self.installs is not None else None,
                trusted_proxies=config.trusted_proxies,
                tls=service.certificate.context if service.certificate is not None else None,
                counts=RequestCounts(service.counters),
                feed=service.feed,
            )
        )

    def administer(self) -> None:
        """Serve the other listeners (`answerd.server.administration`): in one process, which answers no machine."""
        self.service.counters.attach(self.service.config.workers + 1)
        administration = Administration(self.service, self.answers, self.installs)
        self.guard = administration.guard
        self.listeners += administration.listeners()
        for listener in self.listeners:
            listener.siblings = [other for other in self.listeners if other is not listener]

    def run(self) -> int:
        """Serve until a signal or the end of the parent ends it. Return the exit status."""
        self._install_signal_handlers()
        run_long_work_by(LongWork())
        watch = gevent.spawn(self.answers.watch)
        if self._beating is not None:
            gevent.spawn(self._beat_for_ever, self._beating)
        gevent.spawn(self._trim_for_ever)
        if self.installs is not None:
            gevent.spawn(self.installs.watch)
            gevent.spawn(self.installs.keep_up)
        gevent.spawn(self._watch_secrets)
        for listener in self.listeners:
            listener.start()
        if self.guard is not None:
            gevent.spawn(self._warm_guard, self.guard)
            if self.service.config.history_days is not None:
                days, log = self.service.config.history_days, self.service.log.service
                gevent.spawn(prune_for_ever, self.guard.store, days, log)
        self.stopping.wait()
        # A load balancer that asks /ready sends no more clients, before any is refused.
        gevent.sleep(self.service.config.drain_seconds)
        until = time.monotonic() + self.service.config.timeout_seconds
        hands_over = self.is_interim or self.service.is_activated
        drains = [gevent.spawn(listener.drain, until, hands_over=hands_over) for listener in self.listeners]
        gevent.joinall(drains)
        watch.kill(block=False)
        if self.installs is not None:
            gevent.spawn(self.installs.flush).join(LAST_WRITES_SECONDS)
        # Wait for threads that still write: captures of the last requests.
        gevent.spawn(gevent.get_hub().threadpool.join).join(LAST_WRITES_SECONDS)
        return 0

    def _readiness(self) -> str:
        return "the service is stopping" if self.stopping.is_set() else self.answers.readiness()

    def _beat_for_ever(self, worker: int) -> None:
        """Report to the parent that the loop runs."""
        watchdog = systemd.Watchdog()
        while True:
            self.service.heartbeats.beat(worker)
            gevent.sleep(BEAT_SECONDS if watchdog.seconds is None else min(BEAT_SECONDS, watchdog.seconds / 2))

    def _trim_for_ever(self) -> None:
        trimmer = allocator.Trimmer()
        while True:
            gevent.sleep(allocator.POLL_SECONDS)
            in_thread(trimmer.poll)

    def _watch_secrets(self) -> None:
        """Look at the secrets for ever, in a thread; a change is in force within a second."""
        secrets = self.service.secrets
        if secrets.directory is None:
            return
        said = {*secrets.warnings(), *secrets.problems()}
        while True:
            gevent.sleep(POLL_SECONDS)
            try:
                if not in_thread(secrets.poll) or not self.reports:
                    continue
            except Exception as error:  # any fault: the secrets in force stay and the next poll comes
                self.service.log.service(f"warning: the secrets cannot be looked at: {type(error).__name__}")
                continue
            now = {f"warning: {warning}": warning for warning in secrets.warnings()}
            now |= {f"problem: {problem}": problem for problem in secrets.problems()}
            for line, sentence in now.items():
                if sentence not in said:
                    self.service.log.service(line)
            said = set(now.values())

    def _warm_guard(self, guard: WriteGuard) -> None:
        self.answers.warm.wait()
        guard.warm_up(self.answers.digest.problems)

    def _install_signal_handlers(self) -> None:
        gevent.signal_handler(signal.SIGTERM, self.stopping.set)
        gevent.signal_handler(signal.SIGINT, self.stopping.set)
        gevent.signal_handler(signal.SIGHUP, self._reload)
        # They have been blocked since the start; pending signals are delivered now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD))
        when_parent_exits(self.parent_pipe, self.stopping.set)

    def _reload(self) -> None:
        """Handle SIGHUP: read the log file, the settings, the certificate and the store again."""
        service = self.service
        service.reload(logs=False)
        for listener in self.listeners:
            if listener.tls is not None and service.certificate is not None:
                listener.tls = service.certificate.context
        service.log.service("reloading")
        self.answers.force_full_poll()


def _recorder(service: Service) -> Recorder | None:
    directory = service.config.capture_dir
    problems_only = service.config.capture == "problems"
    if directory is None:
        return None
    count = partial(service.counters.add, "answerd_captures_total")
    return Recorder(directory, service.log, problems_only=problems_only, count=count)
