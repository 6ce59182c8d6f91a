"""The process that administers: admin API, console and metrics, put together with the write guard. It answers no
machine, so what takes long there delays none."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from wsgiref.types import WSGIApplication

import gevent

from answerd.server.admin import app as admin_app
from answerd.server.admin.app import make_admin_app
from answerd.server.admin.changes import BODY_LIMIT
from answerd.server.admission import Admission
from answerd.server.bearer import FailureBlock
from answerd.server.console_parts import ConsoleParts
from answerd.server.document_writes import DocumentWrites
from answerd.server.exposition import Exposition, make_metrics_app
from answerd.server.http.server import HttpServer, Limits, PeerBodyLimit
from answerd.server.metrics import AdminCounts
from answerd.server.service_parts import ServiceParts
from answerd.server.shown_targets import shown_target
from answerd.server.threads import in_thread
from answerd.server.worker import Process
from answerd.store import ReplicatingStore, Store, StoreError
from answerd.store.states import words_known

ADMIN_ACCEPTS_AT_ONCE = 32
"""Connections accepted at a time: a connection that has sent its request is not idle when the next connections
arrive."""

PRUNE_EVERY_SECONDS = 3_600.0
"""Seconds between two prunings of the history: one that is kept for days need not be exact to the minute."""

MEMORY_OF_BODIES = 2 * BODY_LIMIT
"""Bytes that the bodies of a listener may hold together: one of the largest size, with what its chunks add, and
others."""

METRICS_CONNECTIONS = 32
"""Connections for metrics at a time: each scraper has one."""


class Administration(Process):
    """The process that serves the admin API, the console and the metrics. Documents that are files are changed by other
    means than the guard."""

    # The pages that follow a change would wait for it; a comparison prepares what it needs.
    prepares = False

    def __init__(self, parts: ServiceParts, parent_pipe: int, *, reports: bool, is_replacement: bool) -> None:
        super().__init__(parts, parent_pipe, reports=reports, is_replacement=is_replacement)
        states = self.installs.store if self.installs is not None else None
        self.writes = DocumentWrites(self.answers.follower, words=partial(words_known, states), log=parts.log.line)
        self.can_write = parts.config.store != "files" and bool(parts.admin_socket or parts.console_socket)
        self.listeners = [*self._listeners()]

    def begin(self) -> None:
        """Check the set before the first write needs that, and prune the history."""
        if not self.can_write:
            return
        gevent.spawn(self._warm_guard)
        if self.parts.config.history_days is not None:
            gevent.spawn(_prune_for_ever, self.writes.store, self.parts.config.history_days, self.parts.log.line)

    def _warm_guard(self) -> None:
        self.answers.warm.wait()
        self.writes.warm_up(self.answers.preparation.problems)

    def _listeners(self) -> Iterator[HttpServer]:
        parts = self.parts
        if parts.metrics_socket is not None:
            yield self._metrics(parts.metrics_socket)
        if parts.admin_socket is None and parts.console_socket is None:
            return
        counters = parts.cells
        block = FailureBlock(
            time.monotonic, count=partial(counters.add, "answerd_authentication_failures_total", "admin")
        )
        api = make_admin_app(
            self.writes,
            parts.admin_tokens,
            block,
            parts.log.line,
            readiness=self.answers.readiness,
            exposition=self._exposition(),
            sources=parts.sources,
            installs=self.installs,
            feed=parts.feed,
        )
        app: WSGIApplication = api
        body_limit = admin_app.make_body_limit(api, parts.admin_tokens, block)
        if parts.make_console is not None and parts.config.console is not None:
            console, console_body_limit = parts.make_console(self._console_parts(block, app, body_limit))
            if parts.console_socket is not None:
                yield self._listener(parts.console_socket, console, console_body_limit)
            else:
                app, body_limit = console, console_body_limit
        if parts.admin_socket is not None:
            yield self._listener(parts.admin_socket, app, body_limit)

    def _console_parts(self, block: FailureBlock, api: WSGIApplication, api_body_limit: PeerBodyLimit) -> ConsoleParts:
        parts = self.parts
        return ConsoleParts(
            config=lambda: parts.config,
            store=parts.loader.store,
            follower=self.answers.follower,
            writes=self.writes if self.can_write else None,
            tokens=parts.admin_tokens,
            sources=parts.sources,
            secrets=parts.secrets,
            block=block,
            log=parts.log.line,
            problems=self._problems,
            faults=self._faults,
            api=api,
            api_body_limit=api_body_limit,
            installs=self.installs,
            feed=parts.feed,
        )

    def _problems(self) -> Sequence[str]:
        return self.answers.preparation.problems.listed()

    def _faults(self) -> Sequence[str]:
        return [*filter(None, [self.answers.fault]), *(self.installs.faults() if self.installs is not None else ())]

    def _exposition(self) -> Exposition:
        parts = self.parts

        def expiry() -> float | None:
            return parts.certificate.expiry if parts.certificate is not None else None

        return Exposition(
            parts.cells,
            parts.admission,
            self.answers,
            expiry,
            self.installs,
        )

    def _metrics(self, listening: socket.socket) -> HttpServer:
        return HttpServer(
            listening,
            make_metrics_app(self._exposition(), self.answers.readiness),
            limits=Limits(timeout=self.parts.config.timeout_seconds, accept_at_once=ADMIN_ACCEPTS_AT_ONCE),
            body_limit=lambda _request, _peer: 0,
            shown_target=shown_target,
            log=self.parts.log,
            admission=Admission(METRICS_CONNECTIONS),
        )

    def _listener(self, listening: socket.socket, app: WSGIApplication, body_limit: PeerBodyLimit) -> HttpServer:
        parts, config = self.parts, self.parts.config
        limits = Limits(
            timeout=config.admin_timeout_seconds,
            max_lingering=parts.descriptors.admin,
            accept_at_once=ADMIN_ACCEPTS_AT_ONCE,
            idle_give_way=True,
        )
        listener = HttpServer(
            listening,
            app,
            limits=limits,
            log=parts.log,
            admission=Admission(parts.descriptors.admin, bodies=MEMORY_OF_BODIES),
            trusted_proxies=config.trusted_proxies,
            body_limit=body_limit,
            shown_target=shown_target,
            error=admin_app.json_error,
            counts=AdminCounts(parts.cells),
        )
        if isinstance(parts.loader.store, ReplicatingStore):
            listener.late = admin_app.late_for_shared_database()
        return listener


def _prune_for_ever(store: Store, days: int, log: Callable[[str], None]) -> None:
    """Forget changes that are older than so many days, now and every hour. ``log`` takes a line about the service."""
    while True:
        try:
            before = datetime.now(UTC) - timedelta(days=days)
            forgotten = in_thread(
                store.prune_history, before.strftime("%Y-%m-%dT%H:%M:%S.000Z")
            )  # as databases have it
            if forgotten:
                log(f"history: {forgotten} changes older than {days} days forgotten")
        except StoreError as error:
            log(f"warning: the history cannot be pruned: {error}")
        gevent.sleep(PRUNE_EVERY_SECONDS)
