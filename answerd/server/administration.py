"""The listeners beside the answer endpoint: admin API, console and metrics, in one process of the service.

Puts their applications together with the write guard. Must not know signals, nor other processes.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import cast
from wsgiref.types import WSGIApplication

from answerd.errors import StatesUnknown
from answerd.installs.states import State
from answerd.server import admin_app
from answerd.server.admin_app import make_admin_app
from answerd.server.admission import Admission
from answerd.server.answer_set import AnswerSet
from answerd.server.bearer import FailureBlock
from answerd.server.console_parts import ConsoleParts
from answerd.server.event_streams import EventStreams
from answerd.server.exposition import Exposition
from answerd.server.http.server import Gate, HttpServer, Limits
from answerd.server.live_states import LiveStates
from answerd.server.metrics import AdminCounts
from answerd.server.metrics_app import make_metrics_app
from answerd.server.startup import Service
from answerd.server.threads import in_thread
from answerd.server.write_guard import WriteGuard
from answerd.store import ReplicatingStore, StoreError, WritableStore
from answerd.store.states import Waiting

ADMIN_ACCEPTS_AT_ONCE = 32
"""Connections accepted at a time: a connection that has sent its request is not idle when the next connections
arrive."""

METRICS_CONNECTIONS = 32
"""Connections for metrics at a time: each scraper has one."""


class Administration:
    """The parts of the administration of a service. ``guard`` is None where documents are files, which are changed by
    other means."""

    def __init__(self, service: Service, answers: AnswerSet, installs: LiveStates | None = None) -> None:
        self._service = service
        self._installs = installs
        self._answers = answers
        self.guard: WriteGuard | None = None
        if service.config.store != "files" and (service.admin_socket or service.console_socket):
            store = cast(WritableStore, service.loader.store)
            self.guard = WriteGuard(store, answers.follower)

    def listeners(self) -> Iterator[HttpServer]:
        """Yield the listeners that the settings ask for."""
        service = self._service
        if service.metrics_socket is not None:
            yield self._metrics(service.metrics_socket)
        if service.admin_socket is None and service.console_socket is None:
            return
        counters = service.counters
        block = FailureBlock(
            time.monotonic, count=partial(counters.add, "answerd_authentication_failures_total", "admin")
        )
        api = make_admin_app(
            self.guard or self._reading_guard(),
            service.admin_tokens,
            block,
            service.log.service,
            readiness=self._answers.readiness,
            exposition=self._exposition(),
            sources=service.sources,
            installs=self._installs,
            events=EventStreams(service.feed, self._installs),
        )
        app: WSGIApplication = api
        gate = admin_app.make_gate(api, service.admin_tokens, block)
        if service.make_console is not None and service.config.console is not None:
            console, console_gate = service.make_console(self._parts(block, app, gate))
            if service.console_socket is not None:
                yield self._listener(service.console_socket, console, console_gate)
            else:
                app, gate = console, console_gate
        if service.admin_socket is not None:
            yield self._listener(service.admin_socket, app, gate)

    def _reading_guard(self) -> WriteGuard:
        """Return a guard of documents that are read only."""
        follower = self._answers.follower
        return WriteGuard(cast(WritableStore, self._service.loader.store), follower)

    def _parts(self, block: FailureBlock, api: WSGIApplication, api_gate: Gate) -> ConsoleParts:
        service = self._service
        return ConsoleParts(
            config=lambda: service.config,
            store=service.loader.store,
            follower=self._answers.follower,
            guard=self.guard,
            tokens=service.admin_tokens,
            sources=service.sources,
            block=block,
            log=service.log.service,
            problems=self._problems,
            api=api,
            api_gate=api_gate,
            installs=self._installs,
            feed=service.feed,
        )

    def _problems(self) -> Sequence[str]:
        return self._answers.digest.problems.listed()

    def _exposition(self) -> Exposition:
        service = self._service

        def expiry() -> float | None:
            return service.certificate.expiry if service.certificate is not None else None

        return Exposition(
            service.counters,
            service.admission,
            self._answers,
            service.config.workers,
            expiry,
            installs=self._states,
            outbox=self._waiting,
            silent=self._silent,
        )

    def _waiting(self) -> Waiting | None:
        """Return the number and age of messages that wait for a shared database; None without one, or where it cannot
        be read."""
        try:
            return in_thread(self._installs.store.waiting) if self._installs is not None else None
        except StoreError:
            return None

    def _states(self) -> Mapping[State, int] | None:
        try:
            return self._installs.current().by_state if self._installs is not None else None
        except StatesUnknown:
            return None

    def _silent(self) -> int | None:
        if self._installs is None or self._states() is None:
            return None
        installs = self._installs
        return in_thread(installs.current().silent, installs.now(), lambda: None)

    def _metrics(self, listening: socket.socket) -> HttpServer:
        return HttpServer(
            listening,
            make_metrics_app(self._exposition(), self._answers.readiness),
            limits=Limits(timeout=self._service.config.timeout_seconds, accept_at_once=ADMIN_ACCEPTS_AT_ONCE),
            body_limit=lambda _request, _peer: 0,
            log=self._service.log,
            admission=Admission(METRICS_CONNECTIONS),
        )

    def _listener(self, listening: socket.socket, app: WSGIApplication, gate: Gate) -> HttpServer:
        service, config = self._service, self._service.config
        limits = Limits(
            timeout=config.admin_timeout_seconds,
            max_lingering=service.descriptors.admin,
            accept_at_once=ADMIN_ACCEPTS_AT_ONCE,
            idle_give_way=True,
        )
        return HttpServer(
            listening,
            app,
            limits=limits,
            log=service.log,
            admission=Admission(service.descriptors.admin),
            trusted_proxies=config.trusted_proxies,
            body_limit=gate,
            error=admin_app.json_error,
            counts=AdminCounts(service.counters),
            is_shared=isinstance(service.loader.store, ReplicatingStore),
        )
