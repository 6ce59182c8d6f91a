"""The running service: what can refuse to start is tried first, then one process or several answer.

Rules: docs/configuration.md, docs/running.md#the-log, docs/running.md#start-stop-reload.

Puts the other rooms together. Knows the order in which things start and end; decides nothing about a request.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import gevent
from gevent.event import Event

from answerd import __version__
from answerd.addresses import Address
from answerd.config import Config
from answerd.server import admin_app, allocator, answer_app, gc_tuning
from answerd.server.admin.routes import DOCUMENT_LIMIT
from answerd.server.admin_app import make_admin_app
from answerd.server.admission import Admission, Descriptors, divide, raise_file_limit
from answerd.server.answer_app import make_answer_app
from answerd.server.answer_set import AnswerSet, CooperativeYield, Preparation
from answerd.server.bearer import FailureBlock
from answerd.server.capture import Recorder
from answerd.server.certificate import Certificate, CertificateError, load_certificate
from answerd.server.listener import Listener
from answerd.server.live_set import WriteCounter, in_thread
from answerd.server.long_work import LongWork
from answerd.server.peer import with_port
from answerd.server.processes import (
    InterimWorker,
    block_signals,
    log_reopened,
    stop_requested,
    supervise,
    when_parent_exits,
)
from answerd.server.request_log import RequestLog
from answerd.server.serving import Limits
from answerd.server.sockets import bind, refuse_new
from answerd.server.write_guard import WriteGuard
from answerd.store import StoreError, WritableStore
from answerd.store.loader import Loader
from answerd.store.opening import open_store

ADMIN_ACCEPTS_AT_ONCE = 32
"""No more than are read from at once: a connection that has sent its request is not idle when the next ones come."""

LAST_WRITES_SECONDS = 1.0
"""How long a disk may hold up the end of the service."""

SWITCH_SECONDS = 0.0005
"""How long a thread that looks at the store goes on while the hub waits for the interpreter; a request waits several
times."""

WARM_SECONDS = 10.0
"""How long the preparation of answers may hold back the line that says the service listens. Requests are answered
meanwhile; a fleet that waits for the line finds its answers ready."""

INTERIM_WORKER_AFTER_SECONDS = 0.3
"""How long several workers may load before somebody answers in their place."""


class StartupError(Exception):
    """The service cannot start. One line for the operator."""


def serve(config: Config) -> int:
    """Run until a signal ends it. Returns the exit status.

    Raises `StartupError`, `answerd.store.StoreError`: the service cannot start.
    """
    block_signals()  # until there is somebody to heed them: a stop before that is still an orderly one
    try:
        log = RequestLog(config.log_file, config.log)
    except OSError as error:
        raise StartupError(f"SERVICE_LOG_FILE: {config.log_file} cannot be opened: {error.strerror}") from None
    try:
        allocator.configure()
        gc.set_threshold(*gc_tuning.THRESHOLDS)
        sys.setswitchinterval(SWITCH_SECONDS)
        service = _prepare(config, log)
        return _run_alone(service) if config.workers == 1 else _run_several(service)
    finally:
        log.close()


@dataclass
class _Service:
    """What all processes of the service have in common; made before any is forked."""

    config: Config
    log: RequestLog
    loader: Loader
    descriptors: Descriptors
    admission: Admission
    sockets: list[socket.socket]
    certificate: Certificate | None
    admin_socket: socket.socket | None
    long_work: LongWork
    generation: WriteCounter = field(default_factory=WriteCounter)
    digest: Preparation = field(default_factory=Preparation)

    @property
    def announcement(self) -> str:
        """The log line that says where requests are answered."""
        config = self.config
        return (
            f"answerd {__version__} listening on {_bound(self.sockets[0])}, store={self.loader.store.described} "
            f"workers={config.workers} max_conn={self.descriptors.answers} timeout={config.timeout_seconds}s "
            f"log={config.log}"
        )

    def announce(self) -> None:
        """Say where requests are accepted from now on."""
        if self.admin_socket is not None:
            self.log.service(f"admin API listening on {_bound(self.admin_socket)}")
        self.log.service(self.announcement)

    def reload(self) -> None:
        """SIGHUP: the log file and the certificate, anew; what cannot be opened leaves the old one in use."""
        log_reopened(self.log)
        try:
            self.certificate = _certificate(self.config)
        except CertificateError as error:
            self.log.service(f"warning: {error}; the old certificate stays in use")

    def say_fingerprint(self) -> None:
        """What an installer is told to trust."""
        if self.certificate is not None:
            self.log.service(f"TLS certificate fingerprint (SHA-256): {self.certificate.fingerprint}")


def _prepare(config: Config, log: RequestLog) -> _Service:
    """Everything that can refuse to start. Raises `StartupError` and `answerd.store.StoreError`."""
    long_work = LongWork()
    loader = Loader(open_store(config), long_work)
    has_admin = config.admin is not None
    descriptors = divide(raise_file_limit(), config.max_connections, config.workers, with_admin=has_admin)
    try:
        certificate = _certificate(config)
    except CertificateError as error:
        raise StartupError(str(error)) from None
    sockets = _bind("SERVICE_LISTEN_ADDR", config.listen, config.workers)
    admin_socket = _bind("SERVICE_ADMIN_ADDR", config.admin, 1)[0] if config.admin else None
    if descriptors.warning:
        log.service(f"warning: {descriptors.warning}")
    for warning in (*config.warnings, *loader.store.warnings()):
        log.service(f"warning: {warning}")
    admission = Admission(descriptors.answers, config.workers + 1)  # the last is the stand-in's
    service = _Service(config, log, loader, descriptors, admission, sockets, certificate, admin_socket, long_work)
    service.say_fingerprint()
    return service


def _run_alone(service: _Service) -> int:
    """One worker is one plain process."""
    process = _Process(service, reports=True)
    process.answer(0)
    process.administer()
    return process.run(announce=service.announce)


def _run_several(service: _Service) -> int:
    """Load once, so that the children share what they only read; then fork them. A stand-in answers until then."""
    parent_pipe, held_open = os.pipe()

    def run_interim_worker() -> int:
        os.close(held_open)
        process = _Process(service, reports=False, parent_pipe=parent_pipe, is_interim=True)
        for index in range(service.config.workers):
            process.answer(index)
        return process.run()

    def forget_interim_worker() -> None:
        service.admission.reset(service.config.workers)

    interim_worker = InterimWorker(run_interim_worker, INTERIM_WORKER_AFTER_SECONDS, forget_interim_worker, service.log)
    announce = _once(service.announce)
    try:
        _load_for_all(service, announce)
    except _Stopped:
        for one in service.sockets:  # no worker will take over what the stand-in leaves
            refuse_new(one)
            one.close()
        interim_worker.end(service.config.timeout_seconds)
        service.log.service("stopped while loading")
        return 0
    gc.freeze()
    names = [f"worker {index + 1}" for index in range(service.config.workers)]
    listening = list(service.sockets)
    if service.admin_socket is not None:
        names.append("admin API")
        listening.append(service.admin_socket)

    def run_child(index: int) -> int:
        os.close(held_open)
        for other, inherited in enumerate(listening):
            if other != index:
                inherited.close()
        process = _Process(service, reports=index == 0, parent_pipe=parent_pipe)
        if index < service.config.workers:
            process.answer(index)
        else:
            process.administer()
        return process.run()

    def forget_child(index: int) -> None:
        if index < service.config.workers:
            service.admission.reset(index)

    def stop_accepting() -> None:
        for inherited in listening:
            inherited.close()

    def reload() -> None:
        service.reload()
        service.say_fingerprint()

    return supervise(
        names,
        run_child,
        forget_child,
        log=service.log,
        announce=announce,
        interim_worker=interim_worker,
        reload=reload,
        stop_accepting=stop_accepting,
        stop_seconds=service.config.timeout_seconds,
    )


def _load_for_all(service: _Service, announce: Callable[[], None]) -> None:
    """What the children share: the answer set, its answers, its problems. What cannot be done here each does by itself.

    ``announce`` is called if it takes long. Raises `_Stopped`.
    """
    loader = service.loader
    until = time.monotonic() + WARM_SECONDS

    def pause() -> None:
        if stop_requested():
            raise _Stopped
        gc_tuning.freeze_new()
        if time.monotonic() > until:
            announce()

    try:
        with gc_tuning.gc_paused():
            changes = loader.look()
        if changes is not None:
            loader.take(changes, pause)
        service.digest.take(loader.catalogue, pause, service.log)
    except StoreError:
        pass


class _Stopped(Exception):
    """A signal to stop came before the service was up."""


def _once(act: Callable[[], None]) -> Callable[[], None]:
    """What does something when it is first called."""
    due = [act]
    return lambda: due.pop()() if due else None


class _Process:
    """One process with a loop: its listeners, its answer set, its signals."""

    def __init__(
        self, service: _Service, *, reports: bool, parent_pipe: int | None = None, is_interim: bool = False
    ) -> None:
        """``parent_pipe``: a pipe that ends with the parent; None where there is none. ``is_interim``: until the parent
        has prepared the answers, so this one need not."""
        self.service = service
        self.is_interim = is_interim
        self.parent_pipe = parent_pipe
        self.stopping = Event()
        self.listeners: list[Listener] = []
        self.guard: WriteGuard | None = None
        self.answers = AnswerSet(
            service.loader,
            service.generation,
            service.log,
            service.digest,
            reports=reports,
            inherited=parent_pipe is not None and not is_interim,
            prepares=not is_interim,
        )

    def answer(self, worker: int) -> None:
        """Have the answer endpoint here, as this worker."""
        service, config = self.service, self.service.config
        service.admission.attach(config.workers if self.is_interim else worker)
        self.listeners.append(
            Listener(
                service.sockets[worker],
                make_answer_app(self.answers.current, config.answer_token, _recorder(service)),
                limits=Limits(timeout=config.timeout_seconds, max_lingering=service.descriptors.lingering),
                log=service.log,
                admission=service.admission,
                wants_body=answer_app.make_gate(config.answer_token),
                trusted_proxies=config.trusted_proxies,
                tls=service.certificate.context if service.certificate is not None else None,
            )
        )

    def administer(self) -> None:
        """Have the admin API here, if there is to be one: in one process of the service, and no other."""
        service, config = self.service, self.service.config
        if service.admin_socket is None or config.admin_token is None:
            return
        self.guard = WriteGuard(cast(WritableStore, service.loader.store), self.answers.follower, CooperativeYield())
        block = FailureBlock(time.monotonic)
        app = make_admin_app(self.guard, config.admin_token, block, service.log.service)
        limits = Limits(
            timeout=config.timeout_seconds,
            max_body=DOCUMENT_LIMIT,
            max_lingering=service.descriptors.admin,
            accept_at_once=ADMIN_ACCEPTS_AT_ONCE,
            idle_give_way=True,
        )
        self.listeners.append(
            Listener(
                service.admin_socket,
                app,
                limits=limits,
                log=service.log,
                admission=Admission(service.descriptors.admin),
                trusted_proxies=config.trusted_proxies,
                wants_body=admin_app.make_gate(app, config.admin_token, block),
                error=admin_app.json_error,
            )
        )
        for listener in self.listeners:
            listener.relatives = [other for other in self.listeners if other is not listener]

    def run(self, announce: Callable[[], None] | None = None) -> int:
        """Serve until told to stop. Returns the exit status. ``announce``: what to do once connections are accepted."""
        self._install_signal_handlers()
        self.service.long_work.begin()
        watch = gevent.spawn(self.answers.watch)
        gevent.spawn(self._trim_for_ever)
        for listener in self.listeners:
            listener.start()
        if self.guard is not None:
            gevent.spawn(self._warm_guard, self.guard)
        gevent.wait([self.answers.warm, self.stopping], timeout=WARM_SECONDS, count=1)
        if announce:
            announce()
        self.stopping.wait()
        if announce:
            self.service.log.service("stopping: what is in flight is finished")
        until = time.monotonic() + self.service.config.timeout_seconds
        drains = [gevent.spawn(one.drain, until, hands_over=self.is_interim) for one in self.listeners]
        gevent.joinall(drains)
        watch.kill(block=False)
        # What threads still write: captures of the last requests.
        gevent.spawn(gevent.get_hub().threadpool.join).join(LAST_WRITES_SECONDS)
        if announce:
            self.service.log.service("stopped")
        return 0

    def _trim_for_ever(self) -> None:
        trimmer = allocator.Trimmer()
        while True:
            gevent.sleep(allocator.LOOK_SECONDS)
            in_thread(trimmer.look)

    def _warm_guard(self, guard: WriteGuard) -> None:
        self.answers.warm.wait()
        guard.warm_up(self.answers.digest.problems)

    def _install_signal_handlers(self) -> None:
        gevent.signal_handler(signal.SIGTERM, self.stopping.set)
        gevent.signal_handler(signal.SIGINT, self.stopping.set)
        gevent.signal_handler(signal.SIGHUP, self._reload)
        # They have been held since the start; what came meanwhile is delivered now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD))
        if self.parent_pipe is not None:
            when_parent_exits(self.parent_pipe, self.stopping.set)

    def _reload(self) -> None:
        """SIGHUP: the log file, the certificate and the store, anew."""
        service = self.service
        service.reload()
        for listener in self.listeners:
            if listener.tls is not None and service.certificate is not None:
                listener.tls = service.certificate.context
        service.log.service("reloading")
        if self.parent_pipe is None:
            service.say_fingerprint()
        self.answers.look_at_everything()


def _recorder(service: _Service) -> Recorder | None:
    directory = service.config.capture_dir
    return Recorder(directory, service.log) if directory is not None else None


def _bind(setting: str, address: Address, count: int) -> list[socket.socket]:
    """``count`` listening sockets on one address. Raises `StartupError`.

    The first is bound by itself, so that an address that another program holds is an error even where several sockets
    are to share it.
    """
    try:
        first = bind(address.host, address.port)
        if count == 1:
            return [first]
        port = first.getsockname()[1]
        first.close()
        return [bind(address.host, port, reuse_port=True) for _ in range(count)]
    except OSError as error:
        raise StartupError(f"{setting}: {address} cannot be bound: {error.strerror or error}") from None


def _bound(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return with_port(host, port)


def _certificate(config: Config) -> Certificate | None:
    """The configured certificate with its key, None without. Raises `CertificateError`."""
    if config.tls_cert is None or config.tls_key is None:
        return None
    return load_certificate(config.tls_cert, config.tls_key)
