"""The settings of the service, read once from environment variables into one frozen `Config`.

Each setting is one declaration in `Config`: its variable, default, meaning and reader. `SETTINGS` is made of these
declarations; reading, ``answerd config`` and the tests of the documentation use it. This module also knows the rules of
``SERVICE_ENV_FILE`` and which combinations of settings cannot start.

The only files that it reads are the environment file and those that a setting with ``_FILE`` names, through a function
that a caller can replace. No message ever holds a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal

from answerd.addresses import Address, Network, is_public, parse_networks
from answerd.short_texts import brief, printable
from answerd.suggestion import nearest

Source = Literal["default", "file", "environment", "own file"]

PREFIX = "SERVICE_"
ENV_FILE = "SERVICE_ENV_FILE"
SECRETS_DIR = "SERVICE_SECRETS_DIR"
CREDENTIALS_DIRECTORY = "CREDENTIALS_DIRECTORY"
"""The directory of systemd's credentials for a unit (``LoadCredential=``): the secrets, where no other directory is
set."""

TOKEN_LENGTH = 16
"""Characters below which a token can be guessed: a warning for the answer token, an error for the admin token."""

MOST_WORKERS = 1_024
MOST_CONNECTIONS = 10_000_000
LONGEST_TIMEOUT = 86_400
MOST_DAYS = 36_500
"""Ceilings far above any use, in seconds for the timeout, in days for the history: a larger number is a typing
error."""

LONGEST_INSTALL = 31_536_000
MOST_STARTS = 1_000_000
"""The same for installs: a year, and more starts than any machine makes."""

MESSAGE_VALUE_LENGTH = 100
"""Characters of a wrong value that a message repeats."""

MOST_TOKENS = 2
"""Tokens that one setting may hold: the one in use and its successor."""

_URL = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?\Z")
_DIGITS = re.compile(r"[0-9]+\Z")
_HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?\Z")
_READABLE_BY_OTHERS = 0o004
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_EXPORT = re.compile(r"\Aexport[ \t]+")


class ConfigError(Exception):
    """The service cannot start with these settings. The text is one line for the operator."""


@dataclass(frozen=True)
class Setting:
    """One environment variable.

    ``default`` is its value as an operator would write it, None for unset; ``unset`` is the attribute's value then.
    ``parse`` turns trimmed text into the attribute's value and raises `ValueError` with the reason. A wrong value stops
    the start, unless ``falls_back``: then the default is used, with a warning. ``field`` is the attribute of `Config`.
    """

    name: str
    default: str | None
    meaning: str
    parse: Callable[[str], object] = str
    unset: object = None
    choices: tuple[str, ...] = ()
    falls_back: bool = False
    secret: bool = False
    field: str = ""

    @property
    def default_value(self) -> object:
        """The attribute's value where nothing is set."""
        return self.unset if self.default is None else self.parse(self.default)


# The three below declare an attribute of `Config`. They return what `dataclasses.field` returns, which is Any to mypy.


def _setting(name: str, default: str | None, meaning: str, parse: Callable[[str], object] = str, **more: Any) -> Any:
    """Declare a setting; ``more`` are other attributes of `Setting`."""
    setting = Setting(name, default, meaning, parse, **more)
    return field(default=setting.default_value, repr=not setting.secret, metadata={Setting: setting})


def _choice(name: str, choices: tuple[str, ...], meaning: str) -> Any:
    """Declare a setting whose value is one of these words; the first is the default."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"choose {', '.join(choices[:-1])} or {choices[-1]}")
        return text

    return _setting(name, choices[0], meaning, parse, choices=choices)


def _number(name: str, default: int | None, meaning: str, most: int, *, least: int = 1) -> Any:
    """Declare a setting that is a whole number from ``least`` to ``most``; anything else falls back to the default,
    where None is unset."""

    def parse(text: str) -> int:
        if not _DIGITS.match(text):
            raise ValueError("not a whole number above zero" if least else "not a whole number")
        digits = text.lstrip("0") or "0"
        if int(digits[:1]) < least:
            raise ValueError("it must be above zero")
        if len(digits) > len(str(most)) or int(digits) > most:
            raise ValueError(f"more than {most}")
        return int(digits)

    return _setting(name, None if default is None else str(default), meaning, parse, falls_back=True)


def _parse_url(text: str) -> str:
    """Return the URL of the service without a slash at its end. Raise `ValueError` with the reason."""
    if not _URL.match(text):
        raise ValueError("not http:// or https:// with a host, and perhaps a port and a path")
    return text.rstrip("/")


def parse_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a setting or a token file, separated by white space. Raise `ValueError` with the reason."""
    tokens = tuple(token for token in re.split(r"[ \t\r\n]+", text) if token)
    if len(tokens) > MOST_TOKENS:
        raise ValueError(f"it holds {len(tokens)} tokens, and at most {MOST_TOKENS} are possible")
    return tokens


def _parse_one_line(text: str) -> str:
    """Return a text. Raise `ValueError` where it has several lines."""
    if len(text.splitlines()) > 1:
        raise ValueError("it has more than one line")
    return text


def parse_names(text: str) -> tuple[str, ...]:
    """Return host names separated by commas, in lower case. Raise `ValueError` with the reason."""
    names = tuple(name.strip().lower() for name in text.split(",") if name.strip())
    wrong = next((name for name in names if not _HOST_NAME.match(name)), None)
    if wrong is not None:
        raise ValueError(f"{brief(wrong)} is no host name: write it without scheme and port")
    return names


@dataclass(frozen=True)
class Config:
    """Every setting, parsed and checked as far as it can be without touching the machine.

    An attribute's declaration is everything that the code knows about its setting; add a setting by adding a line.
    ``sources`` maps each name in `SETTINGS` to where its value came from. ``warnings`` are one-line sentences for the
    log at start.
    """

    store: Literal["files", "sqlite", "postgres"] = _choice(
        "SERVICE_STORE", ("files", "sqlite", "postgres"), "where the documents are kept"
    )
    answers_dir: str = _setting("SERVICE_ANSWERS_DIR", "/srv/answers", "the file store's directory")
    db_path: str = _setting("SERVICE_DB_PATH", "/srv/answers.db", "the database file; its parent directory is created")
    db_url: str | None = _setting(
        "SERVICE_DB_URL",
        None,
        "the PostgreSQL database: postgresql://user:password@host/name",
        _parse_one_line,
        secret=True,
    )
    db_url_file: str | None = _setting("SERVICE_DB_URL_FILE", None, "file that holds that URL")
    replica_path: str | None = _setting(
        "SERVICE_REPLICA_PATH", None, "the local copy of that database, from which this node answers"
    )
    listen: Address = _setting("SERVICE_LISTEN_ADDR", "0.0.0.0:8000", "address of the answer endpoint", Address.parse)
    workers: int = _number("SERVICE_WORKERS", 1, "processes that answer", MOST_WORKERS)
    max_connections: int = _number(
        "SERVICE_MAX_CONNECTIONS", 2048, "connections in flight, all workers", MOST_CONNECTIONS
    )
    timeout_seconds: int = _number("SERVICE_TIMEOUT_SECS", 10, "deadline of a connection, in seconds", LONGEST_TIMEOUT)
    admin_timeout_seconds: int = _number(
        "SERVICE_ADMIN_TIMEOUT_SECS", 60, "the same for the admin API and the console", LONGEST_TIMEOUT
    )
    drain_seconds: int = _number(
        "SERVICE_DRAIN_SECS",
        0,
        "after SIGTERM, how long /ready says 503 while connections are still accepted",
        LONGEST_TIMEOUT,
        least=0,
    )
    answer_tokens: tuple[str, ...] = _setting(
        "SERVICE_ANSWER_TOKEN", None, "bearer token of the answer endpoint", parse_tokens, unset=(), secret=True
    )
    answer_token_file: str | None = _setting(
        "SERVICE_ANSWER_TOKEN_FILE", None, "file that holds the bearer token of the answer endpoint"
    )
    allow: tuple[Network, ...] = _setting(
        "SERVICE_ALLOW", None, "networks that may ask for answers; unset means all", parse_networks, unset=()
    )
    admin: Address | None = _setting(
        "SERVICE_ADMIN_ADDR", None, "address of the admin API; unset means off", Address.parse
    )
    admin_tokens: tuple[str, ...] = _setting(
        "SERVICE_ADMIN_TOKEN", None, "bearer token of the admin API", parse_tokens, unset=(), secret=True
    )
    admin_token_file: str | None = _setting(
        "SERVICE_ADMIN_TOKEN_FILE", None, "file that holds the bearer token of the admin API"
    )
    tokens_file: str | None = _setting(
        "SERVICE_TOKENS_FILE", None, "file of named tokens of the admin API, each with a role"
    )
    history_days: int | None = _number(
        "SERVICE_HISTORY_DAYS", None, "days for which the history is kept; unset means for ever", MOST_DAYS
    )
    console: Address | None = _setting(
        "SERVICE_CONSOLE_ADDR", None, "address of the console; unset means off", Address.parse
    )
    console_hosts: tuple[str, ...] = _setting(
        "SERVICE_CONSOLE_HOSTS",
        None,
        "host names, besides addresses and localhost, by which browsers reach the console",
        parse_names,
        unset=(),
    )
    trusted_proxies: tuple[Network, ...] = _setting(
        "SERVICE_TRUSTED_PROXIES", None, "networks whose X-Forwarded-For is believed", parse_networks, unset=()
    )
    metrics: Address | None = _setting(
        "SERVICE_METRICS_ADDR", None, "address that serves /metrics without a token; unset means off", Address.parse
    )
    secrets_dir: str | None = _setting(
        SECRETS_DIR, None, "directory of the secrets; unset: systemd's $CREDENTIALS_DIRECTORY, where that is set"
    )
    tls_cert: str | None = _setting("SERVICE_TLS_CERT", None, "certificate chain (PEM) of the answer endpoint")
    tls_key: str | None = _setting("SERVICE_TLS_KEY", None, "private key (PEM) of that certificate")
    capture_dir: str | None = _setting("SERVICE_CAPTURE_DIR", None, "directory in which requests are recorded")
    capture: Literal["all", "problems"] = _choice("SERVICE_CAPTURE", ("all", "problems"), "which requests are recorded")
    url: str | None = _setting("SERVICE_URL", None, "how machines reach this service, for reports", _parse_url)
    state_path: str | None = _setting(
        "SERVICE_STATE_PATH", None, "file for the states of installs, with the file store"
    )
    install_seconds: int = _number(
        "SERVICE_INSTALL_SECS", 3600, "silence after which an install is shown as silent", LONGEST_INSTALL
    )
    install_grace_seconds: int = _number(
        "SERVICE_INSTALL_GRACE_SECS", 900, "how long answers stay open after a report", LONGEST_INSTALL
    )
    install_start_seconds: int = _number(
        "SERVICE_INSTALL_START_SECS", 120, "when a repeated question counts as another start", LONGEST_INSTALL
    )
    install_starts: int = _number("SERVICE_INSTALL_STARTS", 5, "starts before a machine is exhausted", MOST_STARTS)
    log: Literal["all", "problems", "off"] = _choice(
        "SERVICE_LOG", ("all", "problems", "off"), "which requests are logged"
    )
    log_format: Literal["text", "json"] = _choice("SERVICE_LOG_FORMAT", ("text", "json"), "what a line of the log is")
    log_file: str = _setting("SERVICE_LOG_FILE", "stderr", "stderr, stdout or a file to append to")
    env_file: str | None = _setting(ENV_FILE, None, "a file of KEY=value lines that gives defaults")
    sources: Mapping[str, Source] = field(default_factory=dict, hash=False)
    warnings: tuple[str, ...] = ()

    @property
    def own_url(self) -> str:
        """The URL by which machines reach this service, according to the settings. Where they do not say the host, it
        is the word HOST."""
        listen = f"HOST:{self.listen.port}" if self.listen.is_wildcard else self.listen
        return self.url or f"{'https' if self.tls_cert else 'http'}://{listen}"

    @property
    def has_states(self) -> bool:
        """Whether there is a place for the states of installs."""
        return self.store != "files" or self.state_path is not None

    @property
    def shares_console(self) -> bool:
        """Whether the console is at the address of the admin API: one listener then."""
        return self.console is not None and self.console == self.admin and self.console.port != 0

    @property
    def is_open(self) -> bool:
        """Whether neither a token nor an allow-list restricts who may ask for answers."""
        return not (self.answer_tokens or self.allow)


SETTINGS: tuple[Setting, ...] = tuple(
    replace(declared.metadata[Setting], field=declared.name) for declared in fields(Config) if declared.metadata
)
"""Every setting, in the order in which they are declared and shown."""

SETTINGS_BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}

TOKENS = ("SERVICE_ANSWER_TOKEN", "SERVICE_ADMIN_TOKEN")
DB_URL = "SERVICE_DB_URL"
"""These and the tokens may be read from a file of their own, which a setting with ``_FILE`` at its end names."""

RELOADED = (*TOKENS, *(f"{name}_FILE" for name in TOKENS), "SERVICE_ALLOW", "SERVICE_TOKENS_FILE")
"""The settings that SIGHUP puts in force; the others wait for the next start."""

DECIDES_ANSWERS: Final = frozenset(
    {
        "SERVICE_ALLOW",
        "SERVICE_ANSWER_TOKEN",
        "SERVICE_INSTALL_GRACE_SECS",
        "SERVICE_INSTALL_SECS",
        "SERVICE_INSTALL_START_SECS",
        "SERVICE_INSTALL_STARTS",
        "SERVICE_TRUSTED_PROXIES",
    }
)
"""The settings with which a node answers otherwise than another one with the same documents: nodes compare them
(`answerd.store.agreement`)."""


@dataclass(frozen=True)
class EnvFile:
    """An environment file as found: its bytes and its permission bits (``st_mode``)."""

    content: bytes
    mode: int


def open_env_file(path: str) -> EnvFile:
    """Read the file. Raise `OSError`."""
    with open(path, "rb") as stream:
        return EnvFile(stream.read(), os.fstat(stream.fileno()).st_mode)


def parse_env_file(content: bytes) -> dict[str, str]:
    """Return the keys and values of an environment file (docs/configuration.md#the-environment-file); a byte order mark
    is ignored. No message holds a piece of a line, because it may be a token.

    Raise `ValueError` with the number and the fault of the wrong line: ``line 3 is not KEY=value``.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_number = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line_number} is not UTF-8") from None
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
        if not line or line.startswith("#"):
            continue
        key, equals, value = _EXPORT.sub("", line).partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not _KEY.match(key):
            raise ValueError(f"line {number} is not KEY=value")
        if any(ord(character) < ord(" ") and character != "\t" for character in value):
            raise ValueError(f"line {number} holds a control character")
        if value[:1] in ("'", '"'):
            if len(value) == 1 or value[-1] != value[0]:
                raise ValueError(f"line {number} has a value that begins with a quote and does not end with it")
            value = value[1:-1]
        if key in lines:
            raise ValueError(f"line {number} sets {key} again, after line {lines[key]}")
        values[key], lines[key] = value, number
    return values


def read_config(
    environ: Mapping[str, str], read_file: Callable[[str], EnvFile] = open_env_file, *, to_serve: bool = True
) -> Config:
    """Return the configuration from environment variables and the file that ``SERVICE_ENV_FILE`` names, if any.

    An empty variable counts as unset, so the file's value, else the default, applies. ``to_serve``: whether the service
    is to start with it; a command that only reads the store runs without what the admin API needs and reads no token
    file. The URL of the database is read from its file wherever the store is that database. Raise `ConfigError`.
    """
    warnings = list(_unknown_names(environ, "the environment"))
    given: dict[str, tuple[str, Source]] = {}
    if credentials := environ.get(CREDENTIALS_DIRECTORY, "").strip():
        given[SECRETS_DIR] = credentials, "default"
    path = environ.get(ENV_FILE, "").strip()
    if path:
        content = _read(ENV_FILE, path, read_file, warnings)
        try:
            defaults = parse_env_file(content)
        except ValueError as wrong:
            raise ConfigError(f"{ENV_FILE}: {_quoted(path)} {wrong}") from None
        warnings += _unknown_names(defaults, _quoted(path))
        if ENV_FILE in defaults:
            warnings.append(f"{ENV_FILE} in {_quoted(path)} has no effect: only the environment can name the file")
        given.update((name, (text.strip(), "file")) for name, text in defaults.items() if text.strip())
    given.update((name, (text.strip(), "environment")) for name, text in environ.items() if text.strip())

    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for setting in SETTINGS:
        values[setting.field], sources[setting.name] = _value(setting, given.get(setting.name), path, warnings)
    wanted = (*(TOKENS if to_serve else ()), *((DB_URL,) if values["store"] == "postgres" else ()))
    for setting in map(SETTINGS_BY_NAME.__getitem__, wanted):
        file = values[SETTINGS_BY_NAME[f"{setting.name}_FILE"].field]
        if file is None:
            continue
        if values[setting.field]:
            raise ConfigError(f"{setting.name} and {setting.name}_FILE are both set: set one of them")
        values[setting.field], sources[setting.name] = _read_own_file(setting, file, read_file, warnings), "own file"
    config = Config(**values, sources=sources)
    if to_serve and (reason := next(_contradictions(config), None)):
        raise ConfigError(reason)
    return replace(config, warnings=(*warnings, *_risks(config)))


def describe(config: Config) -> list[tuple[str, str, Source]]:
    """Return every setting, in the order of `SETTINGS`, as (name, value to show, where it came from).

    A secret shows as ``(set)``, what is not set as ``(unset)``.
    """

    def shown(setting: Setting) -> str:
        value = getattr(config, setting.field)
        if value == setting.unset:
            return "(unset)"
        if setting.secret:
            return "(set)"
        return ",".join(map(str, value)) if isinstance(value, tuple) else printable(str(value))

    return [(setting.name, shown(setting), config.sources[setting.name]) for setting in SETTINGS]


def _value(setting: Setting, given: tuple[str, Source] | None, path: str, warnings: list[str]) -> tuple[object, Source]:
    """Return one setting's value and its source; add to ``warnings`` where it falls back. Raise `ConfigError`."""
    if given is None:
        return setting.default_value, "default"
    text, source = given
    try:
        return setting.parse(text), source
    except ValueError as wrong:
        place = f" (in {_quoted(path)})" if source == "file" else ""
        shown = "wrong" if setting.secret else f'"{_quoted(_without_credentials(text))}"'
        complaint = f"{setting.name} is {shown}{place}: {wrong}"
    if not setting.falls_back:
        raise ConfigError(complaint)
    used = "it counts as unset" if setting.default is None else f"using the default, {setting.default}"
    warnings.append(f"{complaint}; {used}")
    return setting.default_value, "default"


def _contradictions(config: Config) -> Iterator[str]:
    """Yield reasons why the service cannot start although every setting is right by itself."""
    if config.admin and config.store == "files":
        yield (
            "SERVICE_ADMIN_ADDR is set, but only SERVICE_STORE=sqlite and postgres have an admin API: "
            "change one of the two"
        )
    if config.store == "postgres" and not config.db_url:
        yield "SERVICE_STORE is postgres, so SERVICE_DB_URL or SERVICE_DB_URL_FILE must name the database"
    if config.store == "postgres" and not config.replica_path:
        yield "SERVICE_STORE is postgres, so SERVICE_REPLICA_PATH must name a file for this node's copy of the database"
    for name, address in (("ADMIN", config.admin), ("CONSOLE", config.console)):
        if address and not (config.admin_tokens or config.tokens_file):
            yield (
                f"SERVICE_{name}_ADDR is set without SERVICE_ADMIN_TOKEN: set one of {TOKEN_LENGTH} characters or "
                "more, or SERVICE_TOKENS_FILE"
            )
    if any(len(token) < TOKEN_LENGTH for token in config.admin_tokens):
        yield f"SERVICE_ADMIN_TOKEN is too short: it needs at least {TOKEN_LENGTH} characters"
    listeners = {"LISTEN": config.listen, "ADMIN": config.admin, "CONSOLE": config.console}
    for name, address, what in (
        ("ADMIN", config.admin, "the admin API needs its own"),
        ("CONSOLE", config.console, "the console needs its own"),
        ("METRICS", config.metrics, "metrics need their own"),
    ):
        # The console may be at the address of the admin API.
        others = listeners if name == "METRICS" else {"LISTEN": config.listen}
        for other in [other for other in others if address and address.port and others[other] == address]:
            yield f"SERVICE_{name}_ADDR and SERVICE_{other}_ADDR are both {address}: {what}"
    if config.tls_cert and not config.tls_key:
        yield "SERVICE_TLS_CERT is set without SERVICE_TLS_KEY: set both, or neither"
    if config.tls_key and not config.tls_cert:
        yield "SERVICE_TLS_KEY is set without SERVICE_TLS_CERT: set both, or neither"


def _risks(config: Config) -> Iterator[str]:
    """Yield warnings about settings with which the service runs."""
    for name, address, what in (
        ("ADMIN", config.admin, "reach the admin API"),
        ("CONSOLE", config.console, "reach the console"),
        ("METRICS", config.metrics, "read the metrics"),
    ):
        if address and not address.is_loopback:
            yield f"SERVICE_{name}_ADDR is {address}, not a loopback address: others can {what}"
    if any(len(token) < TOKEN_LENGTH for token in config.answer_tokens):
        yield f"SERVICE_ANSWER_TOKEN is short: at least {TOKEN_LENGTH} characters are harder to guess"
    if config.is_open and is_public(config.listen.host):
        yield open_to_all(str(config.listen))


def open_to_all(address: str) -> str:
    """Return the warning about an answer endpoint that everyone may ask at a public address."""
    return (
        f"everyone who reaches {address} may ask for answers, which hold password hashes: "
        "set SERVICE_ALLOW or SERVICE_ANSWER_TOKEN, or listen on a private address"
    )


def _unknown_names(names: Mapping[str, object], place: str) -> Iterator[str]:
    """Yield a warning for each name that looks like a setting and is none, with the setting that was probably meant."""
    known = [name.removeprefix(PREFIX) for name in SETTINGS_BY_NAME]  # the prefix would make every two names alike
    for name in sorted(names):
        if name.upper().startswith(PREFIX) and name not in SETTINGS_BY_NAME:
            near = nearest(name.upper().removeprefix(PREFIX), known)
            hint = f" (did you mean {PREFIX}{near}?)" if near else ""
            yield f"unknown setting {_quoted(name)} in {place}{hint}: it has no effect"


def _read(name: str, path: str, read_file: Callable[[str], EnvFile], warnings: list[str]) -> bytes:
    """Return the content of the file that a setting names; add to ``warnings`` where others can read it. Raise
    `ConfigError`."""
    try:
        file = read_file(path)
    except OSError as error:
        raise ConfigError(f"{name}: cannot read {_quoted(path)}: {error.strerror or type(error).__name__}") from None
    if file.mode & _READABLE_BY_OTHERS:
        warnings.append(f"{_quoted(path)} can be read by every user of this machine: chmod o-r it if it holds secrets")
    return file.content


def _read_own_file(setting: Setting, path: str, read_file: Callable[[str], EnvFile], warnings: list[str]) -> object:
    """Return the value of a setting from its own file. Raise `ConfigError`, which never holds a piece of the file."""
    name, content = f"{setting.name}_FILE", _read(f"{setting.name}_FILE", path, read_file, warnings)
    try:
        value = setting.parse(content.decode("utf-8-sig").strip())
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: {_quoted(path)} is not UTF-8") from None
    except ValueError as wrong:
        raise ConfigError(f"{name}: {_quoted(path)}: {wrong}") from None
    if not value:
        raise ConfigError(f"{name}: {_quoted(path)} holds no {'URL' if setting.name == DB_URL else 'token'}")
    return value


def _without_credentials(text: str) -> str:
    """Return a value without what may be user and password, or a token in a query, of a URL."""
    before, at, rest = text.rpartition("@")
    rest, mark, _ = rest.partition("?")
    return f"{before.partition('://')[0] + '://' if '://' in before else ''}{'…@' if at else ''}{rest}{mark and '?…'}"


def _quoted(text: str) -> str:
    return brief(text, MESSAGE_VALUE_LENGTH)
