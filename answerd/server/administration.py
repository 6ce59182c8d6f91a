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
from answerd.server.shared import Shared
from answerd.server.shown_targets import shown_target
from answerd.server.threads import in_thread
from answerd.server.worker import Process
from answerd.store import ReplicatingStore, Store, StoreError

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

    def __init__(self, shared: Shared, parent_pipe: int, *, reports: bool, is_replacement: bool) -> None:
        super().__init__(shared, parent_pipe, reports=reports, is_replacement=is_replacement)
        self.writes = DocumentWrites(self.answers.follower)
        self.can_write = shared.config.store != "files" and bool(shared.admin_socket or shared.console_socket)
        self.listeners = [*self._listeners()]

    def begin(self) -> None:
        """Check the set before the first write needs that, and prune the history."""
        if not self.can_write:
            return
        gevent.spawn(self._warm_guard)
        if self.shared.config.history_days is not None:
            gevent.spawn(_prune_for_ever, self.writes.store, self.shared.config.history_days, self.shared.log.line)

    def _warm_guard(self) -> None:
        self.answers.warm.wait()
        self.writes.warm_up(self.answers.preparation.problems)

    def _listeners(self) -> Iterator[HttpServer]:
        shared = self.shared
        if shared.metrics_socket is not None:
            yield self._metrics(shared.metrics_socket)
        if shared.admin_socket is None and shared.console_socket is None:
            return
        counters = shared.cells
        block = FailureBlock(
            time.monotonic, count=partial(counters.add, "answerd_authentication_failures_total", "admin")
        )
        api = make_admin_app(
            self.writes,
            shared.admin_tokens,
            block,
            shared.log.line,
            readiness=self.answers.readiness,
            exposition=self._exposition(),
            sources=shared.sources,
            installs=self.installs,
            feed=shared.feed,
        )
        app: WSGIApplication = api
        body_limit = admin_app.make_body_limit(api, shared.admin_tokens, block)
        if shared.make_console is not None and shared.config.console is not None:
            console, console_body_limit = shared.make_console(self._parts(block, app, body_limit))
            if shared.console_socket is not None:
                yield self._listener(shared.console_socket, console, console_body_limit)
            else:
                app, body_limit = console, console_body_limit
        if shared.admin_socket is not None:
            yield self._listener(shared.admin_socket, app, body_limit)

    def _parts(self, block: FailureBlock, api: WSGIApplication, api_body_limit: PeerBodyLimit) -> ConsoleParts:
        shared = self.shared
        return ConsoleParts(
            config=lambda: shared.config,
            store=shared.loader.store,
            follower=self.answers.follower,
            writes=self.writes if self.can_write else None,
            tokens=shared.admin_tokens,
            sources=shared.sources,
            secrets=shared.secrets,
            block=block,
            log=shared.log.line,
            problems=self._problems,
            api=api,
            api_body_limit=api_body_limit,
            installs=self.installs,
            feed=shared.feed,
        )

    def _problems(self) -> Sequence[str]:
        return self.answers.preparation.problems.listed()

    def _exposition(self) -> Exposition:
        shared = self.shared

        def expiry() -> float | None:
            return shared.certificate.expiry if shared.certificate is not None else None

        return Exposition(
            shared.cells,
            shared.admission,
            self.answers,
            expiry,
            self.installs,
        )

    def _metrics(self, listening: socket.socket) -> HttpServer:
        return HttpServer(
            listening,
            make_metrics_app(self._exposition(), self.answers.readiness),
            limits=Limits(timeout=self.shared.config.timeout_seconds, accept_at_once=ADMIN_ACCEPTS_AT_ONCE),
            body_limit=lambda _request, _peer: 0,
            shown_target=shown_target,
            log=self.shared.log,
            admission=Admission(METRICS_CONNECTIONS),
        )

    def _listener(self, listening: socket.socket, app: WSGIApplication, body_limit: PeerBodyLimit) -> HttpServer:
        shared, config = self.shared, self.shared.config
        limits = Limits(
            timeout=config.admin_timeout_seconds,
            max_lingering=shared.descriptors.admin,
            accept_at_once=ADMIN_ACCEPTS_AT_ONCE,
            idle_give_way=True,
        )
        listener = HttpServer(
            listening,
            app,
            limits=limits,
            log=shared.log,
            admission=Admission(shared.descriptors.admin, bodies=MEMORY_OF_BODIES),
            trusted_proxies=config.trusted_proxies,
            body_limit=body_limit,
            shown_target=shown_target,
            error=admin_app.json_error,
            counts=AdminCounts(shared.cells),
        )
        if isinstance(shared.loader.store, ReplicatingStore):
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
