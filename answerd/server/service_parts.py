"""What all processes of the service share: made before any is forked (`answerd.server.main`), and reloaded by each."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from answerd import __version__
from answerd.answers.sources import Sources
from answerd.config import RELOADED, SETTINGS, Config, ConfigError, read_config
from answerd.server import os_support
from answerd.server.access import Access
from answerd.server.admission import Admission, Descriptors
from answerd.server.answer_set import Preparation, WriteCounter
from answerd.server.cells import Cells, Places
from answerd.server.certificate import Certificate, CertificateError, configured_certificate
from answerd.server.console_parts import ConsoleFactory
from answerd.server.live_states import StatesAtFork
from answerd.server.peer import with_port
from answerd.server.request_feed import RequestFeed
from answerd.server.request_log import RequestLog
from answerd.server.roles import AdminTokens, TokensError, read_tokens
from answerd.store.loader import Loader
from answerd.store.secrets import SecretFiles

BEAT: Final = ("beat",)
"""The cell with the time at which the loop of a worker last had a turn, in nanoseconds of the monotonic clock."""


@dataclass
class ServiceParts:
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
    cells: Cells
    make_console: ConsoleFactory | None = None
    installs: StatesAtFork | None = None
    feed: RequestFeed | None = None
    preparation: Preparation = field(default_factory=Preparation)
    watchdog: os_support.Watchdog = field(default_factory=os_support.Watchdog)

    @property
    def places(self) -> Places:
        return Places(self.config.workers)

    @cached_property
    def writes(self) -> WriteCounter:
        return WriteCounter(self.cells)

    def attach(self, place: int) -> None:
        """Have this place among the processes from now on. Called in the process."""
        self.cells.attach(place)
        if self.feed is not None:
            self.feed.attach(place)

    def announce(self) -> None:
        """Log where requests are accepted from now on."""

        def bound(listening: socket.socket) -> str:
            host, port = listening.getsockname()[:2]
            return with_port(host, port)

        if self.admin_socket is not None:
            self.log.line(f"admin API listening on {bound(self.admin_socket)}")
        if self.console_socket is not None:
            self.log.line(f"console listening on {bound(self.console_socket)}")
        if self.metrics_socket is not None:
            self.log.line(f"metrics at {bound(self.metrics_socket)}")
        config = self.config
        announcement = (
            f"answerd {__version__} listening on {bound(self.sockets[0])}, store={self.loader.store.described} "
            f"workers={config.workers} max_conn={self.descriptors.answers} timeout={config.timeout_seconds}s "
            f"log={config.log}"
        )
        self.log.line(announcement)
        os_support.notify(os_support.READY, f"STATUS={announcement}")

    def reload(self, *, logs: bool) -> None:
        """Handle SIGHUP: open the log file, the tokens and the certificate again; a file that cannot be read leaves the
        old content in use. ``logs``: whether this process logs changes and faults; one of several does.
        """
        self.reopen_log()
        warnings = list(self._read_settings_again())
        try:
            self.certificate = configured_certificate(self.config)
        except CertificateError as error:
            warnings.append(f"{error}; the old certificate stays in use")
        for warning in warnings if logs else ():
            self.log.line(f"warning: {warning}")

    def reopen_log(self) -> None:
        """Open the log file anew (logrotate has moved it); where that fails the old one stays in use."""
        try:
            self.log.reopen()
        except OSError as error:
            self.log.line(f"warning: the log file cannot be reopened: {error.strerror}; the old one stays in use")

    def _read_settings_again(self) -> Iterator[str]:
        """Apply the settings that can change while the service runs; yield warnings for the operator."""
        try:
            config = read_config(os.environ)
        except ConfigError as error:
            yield f"{error}; the settings in force stay"
            return
        yield from (warning for warning in config.warnings if warning not in self.config.warnings)
        kept = {setting: getattr(self.config, setting.field) for setting in SETTINGS if setting.name not in RELOADED}
        if waiting := [setting.name for setting, value in kept.items() if getattr(config, setting.field) != value]:
            yield f"restart answerd to put {', '.join(waiting)} in force"
        self.config = replace(config, **{setting.field: value for setting, value in kept.items()})
        self.access.change(config.answer_tokens, config.allow)
        try:
            named = read_tokens(config.tokens_file) if config.tokens_file else ()
        except TokensError as error:
            yield f"SERVICE_TOKENS_FILE: {error}; the admin API's tokens in force stay"
            return
        self.admin_tokens.replace(config.admin_tokens, named)

    def log_fingerprint(self) -> None:
        if self.certificate is not None:
            self.log.line(f"TLS certificate fingerprint (SHA-256): {self.certificate.fingerprint}")
