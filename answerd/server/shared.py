"""What all processes of the service share, and the preparation of it: everything that can prevent a start is tried here
(docs/configuration.md)."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from answerd import __version__
from answerd.addresses import Address, is_public
from answerd.answers.sources import Sources
from answerd.config import RELOADED, SETTINGS, Config, ConfigError, open_to_all, read_config
from answerd.server import systemd
from answerd.server.access import Access
from answerd.server.admission import ADMISSION, Admission, Descriptors, divide, raise_file_limit
from answerd.server.answer_set import WRITES, Preparation, WriteCounter
from answerd.server.cells import Cells, Places
from answerd.server.certificate import Certificate, CertificateError, load_certificate
from answerd.server.console_parts import ConsoleFactory
from answerd.server.live_states import SharedStates
from answerd.server.metrics import metric_cells
from answerd.server.peer import with_port
from answerd.server.request_feed import RequestFeed
from answerd.server.request_log import RequestLog
from answerd.server.roles import AdminTokens, NamedToken, TokensError, read_tokens
from answerd.server.sockets import bind, local_addresses
from answerd.server.supervisor import BEAT, Heartbeats, log_reopened
from answerd.store import NewerSchema, ReplicatingStore, Store, StoreError
from answerd.store.loader import Loader
from answerd.store.opening import open_states, open_store
from answerd.store.secret_files import SecretFiles, sources_of


class StartupError(Exception):
    """The service cannot start. One line for the operator."""


@dataclass
class Shared:
    """The data that all processes of the service share; made before any is forked."""

    config: Config
    log: RequestLog
    loader: Loader
    descriptors: Descriptors
    admission: Admission
    sockets: list[socket.socket]
    certificate: Certificate | None
    admin_socket: socket.socket | None
    console_socket: socket.socket | None
    access: Access
    admin_tokens: AdminTokens
    secrets: SecretFiles
    sources: Sources
    metrics_socket: socket.socket | None
    is_activated: bool  # the service manager holds the listening sockets, and goes on holding them
    cells: Cells
    make_console: ConsoleFactory | None = None
    installs: SharedStates | None = None
    feed: RequestFeed | None = None
    preparation: Preparation = field(default_factory=Preparation)

    @property
    def places(self) -> Places:
        """The places of the processes."""
        return Places(self.config.workers)

    @cached_property
    def writes(self) -> WriteCounter:
        """The number of writes that the processes have announced."""
        return WriteCounter(self.cells)

    @cached_property
    def heartbeats(self) -> Heartbeats:
        """When each worker's loop last had a turn."""
        return Heartbeats(self.cells, self.config.workers)

    def attach(self, place: int) -> None:
        """Have this place among the processes from now on. Called in the process."""
        self.cells.attach(place)
        if self.feed is not None:
            self.feed.attach(place)

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
        """Log where requests are accepted from now on."""
        if self.admin_socket is not None:
            self.log.service(f"admin API listening on {_bound(self.admin_socket)}")
        if self.console_socket is not None:
            self.log.service(f"console listening on {_bound(self.console_socket)}")
        if self.metrics_socket is not None:
            self.log.service(f"metrics at {_bound(self.metrics_socket)}")
        self.log.service(self.announcement)
        systemd.notify(systemd.READY, f"STATUS={self.announcement}")

    def reload(self, *, logs: bool) -> None:
        """Handle SIGHUP: open the log file, the tokens and the certificate again; a file that cannot be read leaves the
        old content in use. ``logs``: whether this process logs changes and faults; one of several does.
        """
        log_reopened(self.log)
        warnings = list(self._read_settings_again())
        try:
            self.certificate = _certificate(self.config)
        except CertificateError as error:
            warnings.append(f"{error}; the old certificate stays in use")
        for warning in warnings if logs else ():
            self.log.service(f"warning: {warning}")

    def _read_settings_again(self) -> Iterator[str]:
        """Apply the settings that can change while the service runs; yield warnings for the operator."""
        try:
            config = read_config(os.environ)
        except ConfigError as error:
            yield f"{error}; the settings in force stay"
            return
        yield from (warning for warning in config.warnings if warning not in self.config.warnings)
        waiting = [
            setting.name
            for setting in SETTINGS
            if setting.name not in RELOADED and getattr(config, setting.field) != getattr(self.config, setting.field)
        ]
        if waiting:
            yield f"restart answerd to put {', '.join(waiting)} in force"
        kept = {
            setting.field: getattr(self.config, setting.field) for setting in SETTINGS if setting.name not in RELOADED
        }
        self.config = replace(config, **kept)
        self.access.change(config.answer_tokens, config.allow)
        try:
            named = read_tokens(config.tokens_file) if config.tokens_file else ()
        except TokensError as error:
            yield f"SERVICE_TOKENS_FILE: {error}; the admin API's tokens in force stay"
            return
        self.admin_tokens.replace(config.admin_tokens, named)

    def log_fingerprint(self) -> None:
        """Log the fingerprint that an installer has to trust."""
        if self.certificate is not None:
            self.log.service(f"TLS certificate fingerprint (SHA-256): {self.certificate.fingerprint}")


def prepare(config: Config, log: RequestLog, make_console: ConsoleFactory | None = None) -> Shared:
    """Do everything that can prevent a start. Raises `StartupError` and `answerd.store.StoreError`."""
    loader = Loader(open_store(config, to_serve=True), has_states=config.has_states, columns=config.labels_of_columns)
    _catch_up(loader.store, log)
    states, state_warnings = open_states(config, loader.store)
    has_admin = config.admin is not None or config.console is not None
    descriptors = divide(raise_file_limit(), config.max_connections, config.workers)
    certificate, named = _credentials(config)
    given = _given_sockets()
    sockets = _shared(given.get(systemd.ANSWERS), config.workers)
    sockets = sockets or _bind("SERVICE_LISTEN_ADDR", config.listen, config.workers)
    admin_socket = _one(given.get(systemd.ADMIN), "SERVICE_ADMIN_ADDR", config.admin)
    console_address = None if config.shares_console else config.console
    console_socket = _one(given.get(systemd.CONSOLE), "SERVICE_CONSOLE_ADDR", console_address)
    metrics_socket = _one(given.get(systemd.METRICS), "SERVICE_METRICS_ADDR", config.metrics)
    secrets = SecretFiles(config.secrets_dir)
    warnings = (descriptors.warning, *config.warnings, *_exposure(config, sockets[0]), *loader.store.warnings())
    for warning in filter(None, (*warnings, *state_warnings, *secrets.warnings())):
        log.service(f"warning: {warning}")
    for problem in secrets.problems():
        log.service(f"problem: {problem}")
    places = Places(config.workers)
    cells = Cells([*metric_cells(), *ADMISSION, WRITES, BEAT], places.count)
    shared = Shared(
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
        systemd.ANSWERS in given,
        cells,
        make_console,
    )
    if states is not None:
        shared.installs = SharedStates(states, config)
    if has_admin:
        shared.feed = RequestFeed(places.count)
    shared.log_fingerprint()
    return shared


def _credentials(config: Config) -> tuple[Certificate | None, tuple[NamedToken, ...]]:
    """Return the certificate, None without, and the named tokens. Raises `StartupError`."""
    try:
        certificate = _certificate(config)
    except CertificateError as error:
        raise StartupError(str(error)) from None
    try:
        return certificate, read_tokens(config.tokens_file) if config.tokens_file else ()
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
            store.catch_up(log.service)
        except NewerSchema:  # it would judge installs by a replica that nobody keeps up to date
            raise
        except StoreError as error:
            log.service(f"warning: {error}; starting with what this node's replica has")


def _given_sockets() -> dict[str, list[socket.socket]]:
    try:
        return systemd.take_sockets(os.environ)
    except OSError as error:
        raise StartupError(f"socket activation: {error.strerror or error}") from None


def _shared(given: list[socket.socket] | None, workers: int) -> list[socket.socket]:
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


def _bound(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return with_port(host, port)


def _certificate(config: Config) -> Certificate | None:
    """Return the configured certificate with its key, None without. Raises `CertificateError`."""
    if config.tls_cert is None or config.tls_key is None:
        return None
    return load_certificate(config.tls_cert, config.tls_key)
