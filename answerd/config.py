"""The settings of the service, read once from environment variables into one frozen `Config`.

Knows every setting by name, default and meaning (`SETTINGS`, the one table that reading, ``answerd config`` and the
test of the documentation share), the rules of ``SERVICE_ENV_FILE``, and which combinations of settings cannot start.
Must not know what the settings are used for: it opens no store, binds no address, loads no certificate and looks at no
directory. The only file that is read is the named environment file, in one function that a caller can replace. No
message ever holds a token.
"""

import difflib
import ipaddress
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from answerd.identity import printable

Source = Literal["default", "file", "environment"]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PREFIX = "SERVICE_"
ENV_FILE = "SERVICE_ENV_FILE"
TOKEN_LENGTH = 16
"""Characters below which a token can be guessed: a warning for the answer token, an error for the admin token."""

HIGHEST_PORT = 65_535
MOST_WORKERS = 1_024
MOST_CONNECTIONS = 10_000_000
LONGEST_TIMEOUT = 86_400
"""Ceilings far above any use, in seconds for the timeout: what exceeds them is a slip of the hand, not a wish."""

READABLE_BY_OTHERS = 0o004
MESSAGE_VALUE_LENGTH = 100
"""Characters of a wrong value that a message repeats."""

_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?\Z")
_DIGITS = re.compile(r"[0-9]+\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_EXPORT = re.compile(r"\Aexport[ \t]+")


class ConfigError(Exception):
    """The service cannot start with these settings. Its text is one line for the operator."""


@dataclass(frozen=True)
class Address:
    """Where to listen.

    ``host`` is an IPv4 address, an IPv6 address in canonical form without brackets, or a host name in lower case.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``host:port`` or ``[v6]:port``. Raises `ValueError` with the reason."""
        host, colon, port = text.rpartition(":")
        if not colon or (text.startswith("[") and not host.endswith("]")):
            raise ValueError("write host:port, or [address]:port for IPv6")
        if not host:
            raise ValueError("the host is missing: write 0.0.0.0:port for every IPv4 address of this machine")
        if not _PORT.match(port) or int(port) > HIGHEST_PORT:
            raise ValueError(f"the port must be a number from 0 to {HIGHEST_PORT}")
        return cls(_parse_host(host), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it; of a host name that is not ``localhost`` one cannot be sure."""
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return self.host.rstrip(".") == "localhost"
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            return address.ipv4_mapped.is_loopback
        return address.is_loopback


def _parse_host(host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        try:
            return str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            raise ValueError("what stands between the brackets is not an IPv6 address") from None
    if ":" in host:
        raise ValueError("an IPv6 address is written in brackets, [address]:port")
    if not host.strip("0123456789."):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise ValueError("the host is not an IPv4 address") from None
    if not _HOST_NAME.match(host):
        raise ValueError("the host is neither an address nor a host name")
    return host.lower()


@dataclass(frozen=True)
class Config:
    """Every setting, parsed and checked as far as it can be without touching the machine.

    ``sources`` tells for each name in `SETTINGS` where its value came from. ``warnings`` are one-line sentences for the
    log at start. The defaults are those of `SETTINGS`: ``read_config({})`` is the configuration with nothing set.
    """

    store: Literal["files", "sqlite"]
    answers_dir: str
    db_path: str
    listen: Address
    workers: int
    max_connections: int
    timeout_seconds: int
    answer_token: str | None = field(repr=False)
    admin: Address | None
    admin_token: str | None = field(repr=False)
    trusted_proxies: tuple[Network, ...]
    tls_cert: str | None
    tls_key: str | None
    capture_dir: str | None
    log: Literal["all", "problems", "off"]
    log_file: str
    env_file: str | None
    sources: Mapping[str, Source] = field(hash=False)
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    """One environment variable.

    ``field`` is its attribute in `Config`; ``default`` its value as an operator would write it, None for unset;
    ``unset`` what the attribute then is. ``parse`` turns trimmed text into the attribute and raises `ValueError` with
    the reason. A wrong value stops the start, unless ``falls_back``: then the default is taken, with a warning.
    """

    name: str
    field: str
    default: str | None
    meaning: str
    parse: Callable[[str], object] = str
    unset: object = None
    choices: tuple[str, ...] = ()
    falls_back: bool = False
    secret: bool = False


def _choice(name: str, field: str, choices: tuple[str, ...], meaning: str) -> Setting:
    """A setting of one of these words, the first being the default."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"choose {', '.join(choices[:-1])} or {choices[-1]}")
        return text

    return Setting(name, field, choices[0], meaning, parse=parse, choices=choices)


def _number(name: str, field: str, default: int, meaning: str, ceiling: int) -> Setting:
    """A setting that is a whole number from 1 to ``ceiling``; anything else falls back to its default."""

    def parse(text: str) -> int:
        if not _DIGITS.match(text):
            raise ValueError("not a whole number above zero")
        digits = text.lstrip("0")
        if not digits:
            raise ValueError("zero is no use here")
        if len(digits) > len(str(ceiling)) or int(digits) > ceiling:
            raise ValueError(f"more than {ceiling}")
        return int(digits)

    return Setting(name, field, str(default), meaning, parse=parse, falls_back=True)


def _parse_networks(text: str) -> tuple[Network, ...]:
    """Comma-separated CIDRs. A single address is its own network; bits beyond the prefix are dropped."""
    return tuple(_parse_network(entry.strip()) for entry in text.split(",") if entry.strip())


def _parse_network(entry: str) -> Network:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        raise ValueError(f'"{_one_line(entry)}" is not a network such as 10.0.0.0/8 or fd00::/8') from None


SETTINGS: tuple[Setting, ...] = (
    _choice("SERVICE_STORE", "store", ("files", "sqlite"), "where the documents are kept"),
    Setting("SERVICE_ANSWERS_DIR", "answers_dir", "/srv/answers", "the file store's directory"),
    Setting("SERVICE_DB_PATH", "db_path", "/srv/answers.db", "the database file; its parent directory is created"),
    Setting("SERVICE_LISTEN_ADDR", "listen", "0.0.0.0:8000", "address of the answer endpoint", parse=Address.parse),
    _number("SERVICE_WORKERS", "workers", 1, "processes that answer", MOST_WORKERS),
    _number("SERVICE_MAX_CONNECTIONS", "max_connections", 2048, "connections in flight, all workers", MOST_CONNECTIONS),
    _number("SERVICE_TIMEOUT_SECS", "timeout_seconds", 10, "deadline of a connection, in seconds", LONGEST_TIMEOUT),
    Setting("SERVICE_ANSWER_TOKEN", "answer_token", None, "bearer token of the answer endpoint", secret=True),
    Setting("SERVICE_ADMIN_ADDR", "admin", None, "address of the admin API; unset means off", parse=Address.parse),
    Setting("SERVICE_ADMIN_TOKEN", "admin_token", None, "bearer token of the admin API", secret=True),
    Setting(
        "SERVICE_TRUSTED_PROXIES",
        "trusted_proxies",
        None,
        "networks whose X-Forwarded-For is believed",
        parse=_parse_networks,
        unset=(),
    ),
    Setting("SERVICE_TLS_CERT", "tls_cert", None, "certificate chain (PEM) of the answer endpoint"),
    Setting("SERVICE_TLS_KEY", "tls_key", None, "private key (PEM) of that certificate"),
    Setting("SERVICE_CAPTURE_DIR", "capture_dir", None, "directory in which requests are recorded"),
    _choice("SERVICE_LOG", "log", ("all", "problems", "off"), "which requests are logged"),
    Setting("SERVICE_LOG_FILE", "log_file", "stderr", "stderr, stdout or a file to append to"),
    Setting(ENV_FILE, "env_file", None, "a file of KEY=value lines that gives defaults"),
)

SETTINGS_BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True)
class EnvFile:
    """The environment file as found: its bytes and its permission bits (``st_mode``)."""

    content: bytes
    mode: int


def open_env_file(path: str) -> EnvFile:
    """Read the file that ``SERVICE_ENV_FILE`` names. Raises `OSError`."""
    with open(path, "rb") as stream:
        return EnvFile(stream.read(), os.fstat(stream.fileno()).st_mode)


def read_config(
    environ: Mapping[str, str], read_file: Callable[[str], EnvFile] = open_env_file, *, to_serve: bool = True
) -> Config:
    """Build the configuration from environment variables and the file that ``SERVICE_ENV_FILE`` names, if any.

    An empty variable counts as unset, so the file's value, else the default, applies. ``to_serve``: whether the service
    is to start with it; a command that only reads the store is not kept from it by what the admin API lacks. Raises
    `ConfigError`.
    """
    warnings = list(_unknown_names(environ, "the environment"))
    given: dict[str, tuple[str, Source]] = {}
    path = environ.get(ENV_FILE, "").strip()
    if path:
        defaults, file_warnings = _read_env_file(path, read_file)
        warnings += file_warnings
        given.update((name, (text.strip(), "file")) for name, text in defaults.items() if text.strip())
    given.update((name, (text.strip(), "environment")) for name, text in environ.items() if text.strip())

    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for setting in SETTINGS:
        values[setting.field], sources[setting.name] = _value(setting, given.get(setting.name), path, warnings)
    config = Config(**values, sources=sources, warnings=())
    for reason in _contradictions(config) if to_serve else ():
        raise ConfigError(reason)
    return Config(**values, sources=sources, warnings=(*warnings, *_risks(config)))


def describe(config: Config) -> list[tuple[str, str, Source]]:
    """Every setting, in the order of `SETTINGS`, as (name, value to show, where it came from).

    A secret shows as ``(set)``, what is not set as ``(unset)``.
    """
    return [
        (setting.name, _shown(setting, getattr(config, setting.field)), config.sources[setting.name])
        for setting in SETTINGS
    ]


def _shown(setting: Setting, value: object) -> str:
    if value == setting.unset:
        return "(unset)"
    if setting.secret:
        return "(set)"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return printable(str(value))


def _value(setting: Setting, given: tuple[str, Source] | None, path: str, warnings: list[str]) -> tuple[object, Source]:
    """The parsed value of one setting and its source; a fallback adds to ``warnings``. Raises `ConfigError`."""
    if given is None:
        return _default(setting), "default"
    text, source = given
    try:
        return setting.parse(text), source
    except ValueError as wrong:
        place = f" (in {_one_line(path)})" if source == "file" else ""
        complaint = f'{setting.name} is "{_one_line(text)}"{place}: {wrong}'
    if not setting.falls_back:
        raise ConfigError(complaint)
    warnings.append(f"{complaint}; using the default, {setting.default}")
    return _default(setting), "default"


def _default(setting: Setting) -> object:
    return setting.unset if setting.default is None else setting.parse(setting.default)


def _contradictions(config: Config) -> Iterator[str]:
    """Reasons why the service cannot start although every setting is right by itself."""
    if config.admin and config.store == "files":
        yield "SERVICE_ADMIN_ADDR is set, but only SERVICE_STORE=sqlite has an admin API: change one of the two"
    if config.admin and not config.admin_token:
        yield f"SERVICE_ADMIN_ADDR is set without SERVICE_ADMIN_TOKEN: set one of {TOKEN_LENGTH} characters or more"
    if config.admin_token and len(config.admin_token) < TOKEN_LENGTH:
        yield f"SERVICE_ADMIN_TOKEN is too short: it needs at least {TOKEN_LENGTH} characters"
    if config.admin and config.admin.port and config.admin == config.listen:
        yield f"SERVICE_ADMIN_ADDR and SERVICE_LISTEN_ADDR are both {config.admin}: the admin API needs its own"
    if config.tls_cert and not config.tls_key:
        yield "SERVICE_TLS_CERT is set without SERVICE_TLS_KEY: set both, or neither"
    if config.tls_key and not config.tls_cert:
        yield "SERVICE_TLS_KEY is set without SERVICE_TLS_CERT: set both, or neither"


def _risks(config: Config) -> Iterator[str]:
    """What the operator should know although the service runs."""
    if config.admin and not config.admin.is_loopback:
        yield f"SERVICE_ADMIN_ADDR is {config.admin}, not a loopback address: others can reach the admin API"
    if config.answer_token and len(config.answer_token) < TOKEN_LENGTH:
        yield f"SERVICE_ANSWER_TOKEN is short: at least {TOKEN_LENGTH} characters are harder to guess"


def _unknown_names(names: Mapping[str, object], place: str) -> Iterator[str]:
    """A warning for each name that looks like a setting and is none, with the setting that was probably meant."""
    known = [name.removeprefix(PREFIX) for name in SETTINGS_BY_NAME]  # the prefix would make every two names alike
    for name in sorted(names):
        if name.upper().startswith(PREFIX) and name not in SETTINGS_BY_NAME:
            near = difflib.get_close_matches(name.upper().removeprefix(PREFIX), known, n=1)
            hint = f" (did you mean {PREFIX}{near[0]}?)" if near else ""
            yield f"unknown setting {_one_line(name)} in {place}{hint}: it has no effect"


def _read_env_file(path: str, read_file: Callable[[str], EnvFile]) -> tuple[Mapping[str, str], list[str]]:
    """The defaults that the file at ``path`` gives, and warnings about it. Raises `ConfigError`."""
    shown_path = _one_line(path)
    try:
        file = read_file(path)
    except OSError as error:
        raise ConfigError(f"{ENV_FILE}: cannot read {shown_path}: {error.strerror or type(error).__name__}") from None
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = file.content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{ENV_FILE}: {shown_path} line {line} is not UTF-8") from None
    defaults = _parse_env_file(text, shown_path)
    warnings = list(_unknown_names(defaults, shown_path))
    if file.mode & READABLE_BY_OTHERS:
        warnings.append(f"{shown_path} can be read by every user of this machine: chmod o-r it if it holds tokens")
    if ENV_FILE in defaults:
        warnings.append(f"{ENV_FILE} in {shown_path} has no effect: only the environment can name the file")
    return defaults, warnings


def _parse_env_file(text: str, path: str) -> dict[str, str]:
    """Keys and values of an environment file's text.

    Raises `ConfigError` with ``path`` and the line's number, and never a piece of the line: it may hold a token.
    """
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            key, value = _parse_assignment(line)
        except ValueError as wrong:
            raise ConfigError(f"{ENV_FILE}: {path} line {number} {wrong}") from None
        if key in lines:
            raise ConfigError(f"{ENV_FILE}: {path} line {number} sets {key} again, after line {lines[key]}")
        values[key], lines[key] = value, number
    return values


def _parse_assignment(line: str) -> tuple[str, str]:
    """Key and value of one line. Raises `ValueError` with what is wrong, never with a piece of the line."""
    key, equals, value = _EXPORT.sub("", line).partition("=")
    key, value = key.strip(), value.strip()
    if not equals or not _KEY.match(key):
        raise ValueError("is not KEY=value")
    if any(ord(character) < ord(" ") and character != "\t" for character in value):
        raise ValueError("holds a control character")
    if value[:1] in ("'", '"'):
        if len(value) == 1 or value[-1] != value[0]:
            raise ValueError("has a value that begins with a quote and does not end with it")
        value = value[1:-1]
    return key, value


def _one_line(text: str) -> str:
    """``text`` as a message can repeat it: on one line and not too long."""
    line = printable(text)
    return line if len(line) <= MESSAGE_VALUE_LENGTH else line[:MESSAGE_VALUE_LENGTH] + "…"
