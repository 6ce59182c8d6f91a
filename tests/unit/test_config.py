"""The settings: what each value becomes, where it came from, and what the operator is told.

Uses mappings and texts, and real files only where the reading of a file is the point.
"""

import ipaddress
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from answerd.addresses import Address
from answerd.config import SETTINGS, Config, ConfigError, EnvFile, describe, open_env_file, read_config

LONG_TOKEN = "correct-horse-battery"
SHORT_TOKEN = "hunter2-hunter2"
ENV_PATH = "/etc/answerd.env"
ADMIN = {"SERVICE_STORE": "sqlite", "SERVICE_ADMIN_ADDR": "127.0.0.1:8001", "SERVICE_ADMIN_TOKEN": LONG_TOKEN}


def one_file(text: str | bytes, mode: int = 0o100600) -> Callable[[str], EnvFile]:
    """A reader that knows one file, at `ENV_PATH`."""

    def read(path: str) -> EnvFile:
        assert path == ENV_PATH
        return EnvFile(text.encode() if isinstance(text, str) else text, mode)

    return read


def config_from_file(text: str | bytes, environ: Mapping[str, str] | None = None, mode: int = 0o100600) -> Config:
    return read_config({"SERVICE_ENV_FILE": ENV_PATH, **(environ or {})}, one_file(text, mode))


def refusal(environ: Mapping[str, str], text: str | bytes | None = None) -> str:
    """Why these settings cannot start; asserts that the reason is one line."""
    named = {} if text is None else {"SERVICE_ENV_FILE": ENV_PATH}
    reader = open_env_file if text is None else one_file(text)
    with pytest.raises(ConfigError) as caught:
        read_config({**named, **environ}, reader)
    reason = str(caught.value)
    assert reason
    assert reason.isprintable()
    return reason


def shown(config: Config) -> dict[str, tuple[str, str]]:
    return {name: (value, source) for name, value, source in describe(config)}


# Values


def test_nothing_set_gives_the_defaults_without_a_warning() -> None:
    """Which they are, tests/unit/test_docs_settings.py compares with the page."""
    config = read_config({})
    assert config == Config(sources={setting.name: "default" for setting in SETTINGS}, warnings=())


OWN_FILES = {"SERVICE_ANSWER_TOKEN_FILE", "SERVICE_ADMIN_TOKEN_FILE", "SERVICE_DB_URL_FILE"}
"""Each excludes its other form: `test_token_settings.py`."""

VALUES: dict[str, tuple[str, object]] = {
    "SERVICE_STORE": ("sqlite", "sqlite"),
    "SERVICE_LISTEN_ADDR": ("[::1]:0", Address("::1", 0)),
    "SERVICE_TIMEOUT_SECS": ("007", 7),
    "SERVICE_DRAIN_SECS": ("0", 0),
    "SERVICE_ANSWER_TOKEN": (LONG_TOKEN, (LONG_TOKEN,)),
    "SERVICE_ALLOW": ("10.1.0.0/16", (ipaddress.ip_network("10.1.0.0/16"),)),
    "SERVICE_ADMIN_ADDR": ("localhost:8001", Address("localhost", 8001)),
    "SERVICE_ADMIN_TOKEN": (LONG_TOKEN + "2", (LONG_TOKEN + "2",)),
    "SERVICE_CONSOLE_ADDR": ("localhost:8002", Address("localhost", 8002)),
    "SERVICE_CONSOLE_HOSTS": ("A.example.com, b.example.com", ("a.example.com", "b.example.com")),
    "SERVICE_TRUSTED_PROXIES": (
        "10.1.2.3/8, fd00::/8,,192.0.2.7",
        tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "fd00::/8", "192.0.2.7/32"))),
    ),
    "SERVICE_CAPTURE": ("problems", "problems"),
    "SERVICE_URL": ("https://answers.example.com:8443/", "https://answers.example.com:8443"),
    "SERVICE_LOG": ("problems", "problems"),
    "SERVICE_LOG_FORMAT": ("json", "json"),
    "SERVICE_METRICS_ADDR": ("127.0.0.1:8002", Address("127.0.0.1", 8002)),
    "SERVICE_ENV_FILE": (ENV_PATH, ENV_PATH),
}
"""A value of each setting that is neither a number nor a text as it is, and what it becomes."""


def test_every_setting_reaches_its_field_trimmed() -> None:
    given = dict(VALUES)
    for number, setting in enumerate(setting for setting in SETTINGS if setting.name not in OWN_FILES):
        value = 60 + number if setting.falls_back else f"/my {number}"
        given.setdefault(setting.name, (str(value), value))
    config = read_config({name: f" \t{text}\n" for name, (text, _) in given.items()}, one_file(""))
    assert {s.name: getattr(config, s.field) for s in SETTINGS if s.name not in OWN_FILES} == {
        name: value for name, (_, value) in given.items()
    }
    assert {name for name, source in config.sources.items() if source == "default"} == OWN_FILES
    assert config.warnings == ()


def test_the_credentials_of_a_unit_are_the_secrets_where_no_directory_is_set() -> None:
    config = read_config({"CREDENTIALS_DIRECTORY": " /run/credentials/answerd.service\n", "SERVICE_SECRETS_DIR": ""})
    assert config.secrets_dir == "/run/credentials/answerd.service"
    assert config.sources["SERVICE_SECRETS_DIR"] == "default"
    assert read_config({"CREDENTIALS_DIRECTORY": "/a", "SERVICE_SECRETS_DIR": "/b"}).secrets_dir == "/b"
    assert read_config({"CREDENTIALS_DIRECTORY": " "}).secrets_dir is None
    in_file = one_file("SERVICE_SECRETS_DIR=/c\n")
    assert read_config({"CREDENTIALS_DIRECTORY": "/a", "SERVICE_ENV_FILE": ENV_PATH}, in_file).secrets_dir == "/c"


@pytest.mark.parametrize("empty", ["", " ", "\t \n"], ids=["empty", "a blank", "white space"])
def test_an_empty_value_is_unset(empty: str) -> None:
    assert read_config({setting.name: empty for setting in SETTINGS}) == read_config({})


@pytest.mark.parametrize("text", ["0", "000", "-5", "+5", "1.5", "1e3", "ten", "٣", "1_000", "0x10", "2 2", "9" * 5000])
def test_a_number_that_is_none_falls_back_with_a_warning(text: str) -> None:
    config = read_config({"SERVICE_MAX_CONNECTIONS": text})
    assert config.max_connections == 2048
    assert config.sources["SERVICE_MAX_CONNECTIONS"] == "default"
    [warning] = config.warnings
    assert f'SERVICE_MAX_CONNECTIONS is "{text[:100]}' in warning
    assert "2048" in warning
    assert len(warning) < 250


@pytest.mark.parametrize("text", ["mysql", "FILES", "files sqlite"])
def test_a_choice_that_is_none_is_refused_naming_the_choices(text: str) -> None:
    reason = refusal({"SERVICE_STORE": text})
    assert reason.startswith(f'SERVICE_STORE is "{text}"')
    assert all(choice in reason for choice in ("files", "sqlite", "postgres"))


def test_a_wrong_value_with_a_line_break_is_repeated_on_one_line() -> None:
    assert r'"a\nb\x1b"' in refusal({"SERVICE_STORE": "a\nb\x1b"})
    [warning] = read_config({"SERVICE_WORKERS": "a\nb"}).warnings
    assert warning.isprintable()


# Addresses


@pytest.mark.parametrize(
    ("text", "address", "rendered"),
    [
        ("0.0.0.0:8000", Address("0.0.0.0", 8000), "0.0.0.0:8000"),
        ("127.0.0.1:0", Address("127.0.0.1", 0), "127.0.0.1:0"),
        ("192.0.2.1:65535", Address("192.0.2.1", 65535), "192.0.2.1:65535"),
        ("[::]:80", Address("::", 80), "[::]:80"),
        ("[2001:DB8:0:0::1]:80", Address("2001:db8::1", 80), "[2001:db8::1]:80"),
        ("[fe80::1%eth0]:80", Address("fe80::1%eth0", 80), "[fe80::1%eth0]:80"),
        ("Install.Example.org:80", Address("install.example.org", 80), "install.example.org:80"),
        ("localhost:80", Address("localhost", 80), "localhost:80"),
    ],
)
def test_an_address_is_read_and_rendered(text: str, address: Address, rendered: str) -> None:
    assert Address.parse(text) == address
    assert str(address) == rendered
    assert Address.parse(rendered) == address


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "127.0.0.1",
        "8000",
        ":8000",
        "127.0.0.1:",
        "127.0.0.1:http",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:٨٠",
        "127.0.0.1: 80",
        "127.0.0.1 :80",
        "::1:8000",
        "::1",
        "[::1]",
        "[::1:8000",
        "[]:80",
        "[127.0.0.1]:80",
        "[localhost]:80",
        "[::1]x:80",
        "256.0.0.1:80",
        "10.1:80",
        "http://127.0.0.1:80",
        "*:80",
        "a..b:80",
        "a." * 127 + "com:80",
        "bücher:80",
    ],
)
def test_what_is_no_address_is_refused_naming_the_variable_and_the_value(text: str) -> None:
    assert refusal({"SERVICE_LISTEN_ADDR": text}).startswith(f'SERVICE_LISTEN_ADDR is "{text[:100]}')


@pytest.mark.parametrize(
    ("text", "is_loopback"),
    [
        ("127.0.0.1:80", True),
        ("127.9.9.9:80", True),
        ("[::1]:80", True),
        ("[::ffff:127.0.0.1]:80", True),
        ("localhost:80", True),
        ("LOCALHOST.:80", True),
        ("0.0.0.0:80", False),
        ("[::]:80", False),
        ("192.0.2.1:80", False),
        ("[::ffff:192.0.2.1]:80", False),
        ("install.example.org:80", False),
    ],
)
def test_loopback_is_told_from_the_rest_and_the_rest_is_warned_about(text: str, is_loopback: bool) -> None:
    assert Address.parse(text).is_loopback is is_loopback
    warnings = read_config({**ADMIN, "SERVICE_ADMIN_ADDR": text}).warnings
    assert len(warnings) == (0 if is_loopback else 1)
    assert all("SERVICE_ADMIN_ADDR" in warning and "loopback" in warning for warning in warnings)


# Trusted proxies


@pytest.mark.parametrize("entry", ["nonsense", "10.0.0.0/33", "10.0.0", "fd00::/129", "10.0.0.0/8/8", "10.0.0.1:80"])
def test_a_bad_network_is_refused_naming_the_entry(entry: str) -> None:
    reason = refusal({"SERVICE_TRUSTED_PROXIES": f"192.0.2.0/24,{entry}"})
    assert reason.startswith("SERVICE_TRUSTED_PROXIES is ")
    assert f'"{entry}" is not' in reason


# Combinations


UNFIT = {
    "admin API with the file store": (
        {**ADMIN, "SERVICE_STORE": "files"},
        ["SERVICE_ADMIN_ADDR", "SERVICE_STORE=sqlite"],
    ),
    "admin API without token": ({**ADMIN, "SERVICE_ADMIN_TOKEN": ""}, ["SERVICE_ADMIN_ADDR", "SERVICE_ADMIN_TOKEN"]),
    "short admin token": ({"SERVICE_ADMIN_TOKEN": SHORT_TOKEN}, ["SERVICE_ADMIN_TOKEN", "16"]),
    "admin on the listen address": (
        {**ADMIN, "SERVICE_ADMIN_ADDR": "[::0]:80", "SERVICE_LISTEN_ADDR": "[::]:80"},
        ["SERVICE_ADMIN_ADDR", "SERVICE_LISTEN_ADDR"],
    ),
    "metrics on the listen address": (
        {"SERVICE_METRICS_ADDR": "127.0.0.1:8000", "SERVICE_LISTEN_ADDR": "127.0.0.1:8000"},
        ["SERVICE_METRICS_ADDR", "SERVICE_LISTEN_ADDR"],
    ),
    "metrics on the admin address": (
        {**ADMIN, "SERVICE_METRICS_ADDR": ADMIN["SERVICE_ADMIN_ADDR"]},
        ["SERVICE_METRICS_ADDR", "SERVICE_ADMIN_ADDR"],
    ),
    "metrics on the console's address": (
        {**ADMIN, "SERVICE_CONSOLE_ADDR": "[::1]:8002", "SERVICE_METRICS_ADDR": "[::1]:8002"},
        ["SERVICE_METRICS_ADDR", "SERVICE_CONSOLE_ADDR"],
    ),
    "certificate without key": ({"SERVICE_TLS_CERT": "/c.pem"}, ["SERVICE_TLS_CERT", "SERVICE_TLS_KEY"]),
    "key without certificate": ({"SERVICE_TLS_KEY": "/k.pem"}, ["SERVICE_TLS_CERT", "SERVICE_TLS_KEY"]),
}


@pytest.mark.parametrize(("environ", "words"), UNFIT.values(), ids=UNFIT)
def test_a_combination_that_cannot_start_is_refused(environ: dict[str, str], words: list[str]) -> None:
    reason = refusal(environ)
    assert all(word in reason for word in words)
    assert SHORT_TOKEN not in reason


FIT = {
    "admin API": ADMIN,
    "port 0 twice": {**ADMIN, "SERVICE_LISTEN_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_ADDR": "127.0.0.1:0"},
    "tokens of 16": {**ADMIN, "SERVICE_ADMIN_TOKEN": "x" * 16, "SERVICE_ANSWER_TOKEN": "x" * 16},
    "token without admin API": {"SERVICE_ADMIN_TOKEN": LONG_TOKEN},
    "both of TLS": {"SERVICE_TLS_CERT": "/c.pem", "SERVICE_TLS_KEY": "/k.pem"},
}


@pytest.mark.parametrize("environ", FIT.values(), ids=FIT)
def test_a_combination_that_is_right_starts_without_a_warning(environ: dict[str, str]) -> None:
    assert read_config(environ).warnings == ()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SERVICE_ANSWER_DIR", "SERVICE_ANSWERS_DIR"),
        ("SERVICE_TIMEOUT", "SERVICE_TIMEOUT_SECS"),
        ("SERVICE_LISTEN", "SERVICE_LISTEN_ADDR"),
        ("service_store", "SERVICE_STORE"),
        ("SERVICE_QQQ", None),
    ],
)
def test_an_unknown_variable_is_a_warning_with_the_nearest_name(name: str, meant: str | None) -> None:
    for config in (read_config({name: "hunter2"}), config_from_file(f"{name}=hunter2")):
        [warning] = config.warnings
        assert f"unknown setting {name} " in warning
        assert "hunter2" not in warning
        if meant:
            assert f"did you mean {meant}?" in warning
        else:
            assert "did you mean" not in warning
        assert config.listen.port == 8000


def test_other_programs_variables_are_none_of_our_business() -> None:
    environ = {"PATH": "/bin", "MY_SERVICE_STORE": "x", "SERVICES": "x"}
    assert read_config(environ).warnings == ()
    assert config_from_file("PATH=/bin\nTZ=UTC\nHOME=\n").warnings == ()


# The environment file


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("SERVICE_CAPTURE_DIR=/a", "/a"),
        ("  SERVICE_CAPTURE_DIR \t= \t/a  ", "/a"),
        ("export SERVICE_CAPTURE_DIR=/a", "/a"),
        ("  export \t SERVICE_CAPTURE_DIR = /a", "/a"),
        ('SERVICE_CAPTURE_DIR="/a b"', "/a b"),
        ("SERVICE_CAPTURE_DIR = '/a b' ", "/a b"),
        ("SERVICE_CAPTURE_DIR='\"/a\"'", '"/a"'),
        ('SERVICE_CAPTURE_DIR=" /a "', "/a"),
        ("SERVICE_CAPTURE_DIR=/a'b'", "/a'b'"),
        ("SERVICE_CAPTURE_DIR=/a # b", "/a # b"),
        ("SERVICE_CAPTURE_DIR=#a", "#a"),
        ("SERVICE_CAPTURE_DIR=/a=b", "/a=b"),
        ("SERVICE_CAPTURE_DIR=/a\tb", "/a\tb"),
        ("SERVICE_CAPTURE_DIR=$HOME/${X}/`a`/~", "$HOME/${X}/`a`/~"),
        (r"SERVICE_CAPTURE_DIR=/a\n\\b", r"/a\n\\b"),
        (r'SERVICE_CAPTURE_DIR="/a\"b"', r"/a\"b"),
        ("SERVICE_CAPTURE_DIR=/tür\u2028x", "/tür\u2028x"),
        ("SERVICE_CAPTURE_DIR=", None),
        ("SERVICE_CAPTURE_DIR=''", None),
        ('SERVICE_CAPTURE_DIR="  "', None),
        ("#SERVICE_CAPTURE_DIR=/a", None),
        (" # SERVICE_CAPTURE_DIR=/a", None),
        ("exportSERVICE_CAPTURE_DIR=/a", None),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_line_of_the_file_gives_a_value(line: str, value: str | None, line_end: str) -> None:
    text = f"\ufeff# a comment{line_end}{line_end}{line}{line_end}SERVICE_WORKERS=3"
    config = config_from_file(text)
    assert config.capture_dir == value
    assert config.sources["SERVICE_CAPTURE_DIR"] == ("default" if value is None else "file")
    assert config.workers == 3
    assert config.warnings == ()


def test_the_environment_wins_over_the_file_and_an_empty_variable_does_not() -> None:
    text = "SERVICE_STORE=sqlite\nSERVICE_LOG=off\nSERVICE_WORKERS=3\n"
    config = config_from_file(text, {"SERVICE_STORE": "files", "SERVICE_LOG": "  "})
    assert (config.store, config.log, config.workers) == ("files", "off", 3)
    table = shown(config)
    assert table["SERVICE_STORE"] == ("files", "environment")
    assert table["SERVICE_LOG"] == ("off", "file")
    assert table["SERVICE_WORKERS"] == ("3", "file")
    assert table["SERVICE_DB_PATH"] == ("/srv/answers.db", "default")
    assert table["SERVICE_ENV_FILE"] == (ENV_PATH, "environment")


def test_a_wrong_value_of_the_file_says_that_it_is_there() -> None:
    assert ENV_PATH in refusal({}, "SERVICE_STORE=mysql")
    assert config_from_file("SERVICE_STORE=mysql", {"SERVICE_STORE": "files"}).store == "files"  # it is not judged
    config = config_from_file("SERVICE_WORKERS=many")
    assert config.workers == 1
    [warning] = config.warnings
    assert "SERVICE_WORKERS" in warning
    assert ENV_PATH in warning


@pytest.mark.parametrize(
    "line",
    [
        "hunter2",
        "SERVICE_ADMIN_TOKEN hunter2",
        "=hunter2",
        "2SERVICE=hunter2",
        "export =hunter2",
        'SERVICE_ADMIN_TOKEN="hunter2',
        "SERVICE_ADMIN_TOKEN='hunter2\"",
        "SERVICE_ADMIN_TOKEN='hunter2' # mine",
        "SERVICE_ADMIN_TOKEN='",
        "SERVICE_ADMIN_TOKEN=hunter2\0hunter2",
        "SERVICE_ADMIN_TOKEN=hunter2\rSERVICE_STORE=files",
    ],
)
def test_a_malformed_line_is_refused_by_number_and_never_shown(line: str) -> None:
    reason = refusal({}, f"# one\n\n{line}\nSERVICE_STORE=files\n")
    assert f"{ENV_PATH} line 3 " in reason
    assert "hunter2" not in reason
    assert "SERVICE_ENV_FILE" in reason


def test_a_key_twice_is_refused_naming_both_lines_and_no_value() -> None:
    reason = refusal({}, "SERVICE_ADMIN_TOKEN=\n#\nexport SERVICE_ADMIN_TOKEN='hunter2'\n")
    assert f"{ENV_PATH} line 3 " in reason
    assert "SERVICE_ADMIN_TOKEN" in reason
    assert "line 1" in reason
    assert "hunter2" not in reason


def test_a_file_that_is_not_utf8_is_refused_with_its_line() -> None:
    assert f"{ENV_PATH} line 2 is not UTF-8" in refusal({}, b"SERVICE_LOG=off\nSERVICE_ANSWER_TOKEN=\xff\n")


@pytest.mark.parametrize(
    ("mode", "warned"),
    [(0o600, False), (0o640, False), (0o400, False), (0o644, True), (0o604, True), (0o666, True)],
    ids=lambda value: oct(value) if isinstance(value, int) and not isinstance(value, bool) else None,
)
def test_a_file_that_others_can_read_is_a_warning_naming_the_path(mode: int, warned: bool) -> None:
    warnings = config_from_file("SERVICE_LOG=off\n", mode=stat.S_IFREG | mode).warnings
    assert len(warnings) == warned
    assert all(ENV_PATH in warning for warning in warnings)


def test_the_file_cannot_name_another_file() -> None:
    config = config_from_file("SERVICE_ENV_FILE=/elsewhere\n")
    assert config.env_file == ENV_PATH
    [warning] = config.warnings
    assert "SERVICE_ENV_FILE" in warning
    assert ENV_PATH in warning


def test_no_file_is_read_unless_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("SERVICE_WORKERS=3\n")
    assert read_config({}).workers == 1


def test_a_real_file_is_read_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "answerd.env"
    path.write_text("SERVICE_WORKERS=3\n")
    os.chmod(path, 0o644)
    config = read_config({"SERVICE_ENV_FILE": str(path)})
    assert config.workers == 3
    assert len(config.warnings) == 1
    os.chmod(path, 0o600)
    assert stat.S_IMODE(open_env_file(str(path)).mode) == 0o600
    assert read_config({"SERVICE_ENV_FILE": str(path)}).warnings == ()


@pytest.mark.parametrize("name", ["missing.env", "."], ids=["missing", "a directory"])
def test_a_file_that_cannot_be_read_is_refused_naming_it(tmp_path: Path, name: str) -> None:
    path = f"{tmp_path}/{name}"
    reason = refusal({"SERVICE_ENV_FILE": path})
    assert reason.startswith("SERVICE_ENV_FILE: cannot read ")
    assert tmp_path.name in reason


# What is shown


def test_secrets_are_never_shown() -> None:
    environ = {**ADMIN, "SERVICE_ANSWER_TOKEN": SHORT_TOKEN}
    config = read_config(environ)
    table = shown(config)
    assert table["SERVICE_ANSWER_TOKEN"] == ("(set)", "environment")
    assert table["SERVICE_ADMIN_TOKEN"] == ("(set)", "environment")
    everything = repr(config) + repr(describe(config))
    assert SHORT_TOKEN not in everything
    assert LONG_TOKEN not in everything


def test_every_setting_is_shown_in_order_on_one_line() -> None:
    rows = describe(read_config({"SERVICE_ANSWERS_DIR": "/a\nSERVICE_LOG off", "SERVICE_LISTEN_ADDR": "[::1]:80"}))
    assert [name for name, _, _ in rows] == [setting.name for setting in SETTINGS]
    assert all(value.isprintable() and value for _, value, _ in rows)
    assert ("SERVICE_LISTEN_ADDR", "[::1]:80", "environment") in rows
    assert ("SERVICE_ADMIN_ADDR", "(unset)", "default") in rows
    assert ("SERVICE_TRUSTED_PROXIES", "(unset)", "default") in rows


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({}, "http://HOST:8000"),
        ({"SERVICE_LISTEN_ADDR": "[::]:80"}, "http://HOST:80"),
        ({"SERVICE_LISTEN_ADDR": "192.0.2.10:80"}, "http://192.0.2.10:80"),
        ({"SERVICE_URL": "https://answers.example"}, "https://answers.example"),
    ],
)
def test_the_own_url_names_a_host_only_where_the_settings_do(settings: dict[str, str], url: str) -> None:
    assert read_config(settings).own_url == url
