"""The start of the service: everything that can prevent it is tried before the first process is forked
(docs/configuration.md)."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import replace

from answerd.addresses import Address, is_public
from answerd.config import Config, open_to_all
from answerd.server import os_support
from answerd.server.access import Access
from answerd.server.admission import ADMISSION, Admission, divide, raise_file_limit
from answerd.server.answer_set import WRITES
from answerd.server.cells import Cells, Places
from answerd.server.certificate import Certificate, CertificateError, configured_certificate
from answerd.server.console_parts import ConsoleFactory
from answerd.server.live_states import NOT_WRITTEN, StatesAtFork
from answerd.server.metrics import CELLS
from answerd.server.peer import with_port
from answerd.server.request_feed import RequestFeed
from answerd.server.request_log import RequestLog
from answerd.server.roles import AdminTokens, NamedToken, TokensError, read_tokens
from answerd.server.service_parts import BEAT, ServiceParts
from answerd.server.sockets import bind, local_addresses
from answerd.server.supervisor import Supervisor, block_signals
from answerd.store import NewerSchema, ReplicatingStore, Store, StoreError
from answerd.store.loader import Loader
from answerd.store.opening import open_states, open_store
from answerd.store.secrets import SecretFiles, sources_of


class StartupError(Exception):
    """The service cannot start. One line for the operator."""


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
        os_support.configure_interpreter()
        return Supervisor(prepare(config, log, make_console)).run()
    finally:
        log.close()


def prepare(config: Config, log: RequestLog, make_console: ConsoleFactory | None = None) -> ServiceParts:
    """Do everything that can prevent a start. Raises `StartupError` and `answerd.store.StoreError`."""
    loader = Loader(open_store(config, to_serve=True), has_states=config.has_states)
    _catch_up(loader.store, log)
    states, state_warnings = open_states(config, loader.store)
    has_admin = config.admin is not None or config.console is not None
    descriptors = divide(raise_file_limit(), config.max_connections, config.workers)
    certificate, named = _credentials(config)
    given = _given_sockets()
    sockets = _sockets_of_workers(given.get(os_support.ANSWERS), config.workers)
    sockets = sockets or _bind("SERVICE_LISTEN_ADDR", config.listen, config.workers)
    admin_socket = _one(given.get(os_support.ADMIN), "SERVICE_ADMIN_ADDR", config.admin)
    console_address = None if config.shares_console else config.console
    console_socket = _one(given.get(os_support.CONSOLE), "SERVICE_CONSOLE_ADDR", console_address)
    metrics_socket = _one(given.get(os_support.METRICS), "SERVICE_METRICS_ADDR", config.metrics)
    secrets = SecretFiles(config.secrets_dir)
    warnings = (descriptors.warning, *config.warnings, *_exposure(config, sockets[0]), *loader.store.warnings())
    for warning in filter(None, (*warnings, *state_warnings, *secrets.warnings())):
        log.line(f"warning: {warning}")
    for problem in secrets.problems():
        log.line(f"problem: {problem}")
    places = Places(config.workers)
    cells = Cells([*CELLS, *ADMISSION, WRITES, BEAT, NOT_WRITTEN], places.count)
    parts = ServiceParts(
        config,
        log,
        loader,
        descriptors,
        Admission(descriptors.answers, cells),
        sockets,
        certificate,
        admin_socket,
        console_socket,
        Access(config.answer_tokens, config.allow),
        AdminTokens(config.admin_tokens, named),
        secrets,
        sources_of(secrets),
        metrics_socket,
        cells,
        make_console,
    )
    parts.sources = replace(parts.sources, certificate=lambda: parts.certificate)
    if states is not None:
        parts.installs = StatesAtFork(states, config)
        if parts.installs.warning:
            log.line(f"warning: {parts.installs.warning}")
    if has_admin:
        parts.feed = RequestFeed(places.count)
    parts.log_fingerprint()
    return parts


def _credentials(config: Config) -> tuple[Certificate | None, tuple[NamedToken, ...]]:
    """Return the certificate, None without, and the named tokens. Raises `StartupError`."""
    try:
        return configured_certificate(config), read_tokens(config.tokens_file) if config.tokens_file else ()
    except CertificateError as error:
        raise StartupError(str(error)) from None
    except TokensError as error:
        raise StartupError(f"SERVICE_TOKENS_FILE: {error}") from None


def _exposure(config: Config, listening: socket.socket) -> Iterator[str]:
    """Yield a warning where a name or a wildcard means a public address and everyone may ask for answers."""
    if config.is_open and not config.listen.is_literal:
        host, port = listening.getsockname()[:2]
        reached = local_addresses() if host in ("0.0.0.0", "::") else (host,)  # noqa: S104 (compared, not bound)
        public = next((address for address in reached if is_public(address)), None)
        if public:
            yield open_to_all(with_port(public, port))


def _catch_up(store: Store, log: RequestLog) -> None:
    """Bring a replica up to date where the database can be reached, so that the first answers are those of the
    database. Raises `NewerSchema`."""
    if isinstance(store, ReplicatingStore):
        try:
            store.catch_up(log.line)
        except NewerSchema:  # it would judge installs by a replica that nobody keeps up to date
            raise
        except StoreError as error:
            log.line(f"warning: {error}; starting with what this node's replica has")


def _given_sockets() -> dict[str, list[socket.socket]]:
    try:
        return os_support.take_sockets(os.environ)
    except OSError as error:
        raise StartupError(f"socket activation: {error.strerror or error}") from None


def _sockets_of_workers(given: list[socket.socket] | None, workers: int) -> list[socket.socket]:
    """Return the socket that the service manager holds, once for each worker: they accept from one queue."""
    if not given:
        return []
    if len(given) > 1:
        raise StartupError("socket activation: one socket is possible for answers, the unit has several")
    return [given[0].dup() for _ in range(workers - 1)] + given


def _one(given: list[socket.socket] | None, setting: str, address: Address | None) -> socket.socket | None:
    """Return the socket of a listener beside the answer endpoint's; None where there is none. Raises `StartupError`."""
    if address is None:
        return None
    return given[0] if given else _bind(setting, address, 1)[0]


def _bind(setting: str, address: Address, count: int) -> list[socket.socket]:
    """Return ``count`` listening sockets on one address. Raises `StartupError`.

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
