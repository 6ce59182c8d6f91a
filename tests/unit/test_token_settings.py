"""Tokens and the database's URL, from variables and from files; the warning about an endpoint open to the world."""

from __future__ import annotations

import pytest

from answerd.config import ConfigError, EnvFile, read_config

OLD, NEW = "old-token-0123456789", "new-token-0123456789"
PATH = "/etc/answerd/token"
URL = "postgresql://answerd:a-secret@db/answerd"
SHARED = {"SERVICE_STORE": "postgres", "SERVICE_REPLICA_PATH": "/replica.db"}
ADMIN = {"SERVICE_STORE": "sqlite", "SERVICE_ADMIN_ADDR": "127.0.0.1:8001"}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (NEW, (NEW,)),
        (f"{NEW} {OLD}", (NEW, OLD)),
        (f"  {NEW}\t {OLD} ", (NEW, OLD)),
        ("name:secret-of-an-iso-1", ("name:secret-of-an-iso-1",)),
        (f"caf\xe9\xa0{NEW}", (f"caf\xe9\xa0{NEW}",)),
    ],
    ids=["one", "two", "two with other blanks", "as an ISO has it", "only ASCII blanks separate"],
)
@pytest.mark.parametrize("name", ["SERVICE_ANSWER_TOKEN", "SERVICE_ADMIN_TOKEN"])
def test_a_token_setting_holds_one_or_two_tokens(name: str, text: str, tokens: tuple[str, ...]) -> None:
    field = "answer_tokens" if name == "SERVICE_ANSWER_TOKEN" else "admin_tokens"
    assert getattr(read_config({name: text}), field) == tokens
    from_file = read_config({f"{name}_FILE": PATH}, lambda _: EnvFile(f"{text}\n".encode(), 0o100600))
    assert getattr(from_file, field) == tokens
    assert from_file.sources[name] == "own file"
    assert from_file.warnings == ()


def test_tokens_on_two_lines_of_a_file_are_two_and_let_the_admin_api_start() -> None:
    content = f"\ufeff{NEW}\r\n{OLD}\r\n".encode()
    config = read_config({**ADMIN, "SERVICE_ADMIN_TOKEN_FILE": PATH}, lambda _: EnvFile(content, 0))
    assert config.admin_tokens == (NEW, OLD)


@pytest.mark.parametrize(
    ("environ", "content", "words"),
    [
        ({"SERVICE_ANSWER_TOKEN": f"{OLD} {NEW} {OLD}3"}, b"", ("SERVICE_ANSWER_TOKEN", "3 tokens")),
        ({"SERVICE_ADMIN_TOKEN": OLD, "SERVICE_ADMIN_TOKEN_FILE": PATH}, b"x", ("both set",)),
        ({"SERVICE_ANSWER_TOKEN_FILE": PATH}, b" \n", (PATH, "holds no token")),
        ({"SERVICE_ANSWER_TOKEN_FILE": PATH}, b"secret-\xff", (PATH, "UTF-8")),
        ({"SERVICE_ANSWER_TOKEN_FILE": PATH}, f"{OLD} {NEW} x".encode(), (PATH, "3 tokens")),
        ({**SHARED, "SERVICE_DB_URL": URL, "SERVICE_DB_URL_FILE": PATH}, b"x", ("SERVICE_DB_URL", "both set")),
        ({**SHARED, "SERVICE_DB_URL_FILE": PATH}, b"\n", ("SERVICE_DB_URL_FILE", PATH, "holds no URL")),
        ({**SHARED, "SERVICE_DB_URL_FILE": PATH}, f"{URL}\n{URL}".encode(), (PATH, "more than one line")),
        (SHARED, b"", ("SERVICE_DB_URL or SERVICE_DB_URL_FILE",)),
        ({"SERVICE_ADMIN_TOKEN": f"{NEW} short-secret"}, b"", ("SERVICE_ADMIN_TOKEN", "16")),
        ({"SERVICE_ADMIN_TOKEN_FILE": PATH}, b"short-secret", ("SERVICE_ADMIN_TOKEN", "16")),
    ],
)
def test_what_is_wrong_with_tokens_stops_the_start_and_no_token_is_named(
    environ: dict[str, str], content: bytes, words: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(environ, lambda _: EnvFile(content, 0o100600))
    reason = str(caught.value)
    assert [word for word in words if word not in reason] == []
    assert [token for token in (OLD, NEW, "secret") if token in reason] == []


def test_a_file_that_cannot_be_read_stops_the_start_but_no_command_that_reads_the_store() -> None:
    def missing(path: str) -> EnvFile:
        raise FileNotFoundError(2, "No such file or directory", path)

    environ = {"SERVICE_ANSWER_TOKEN_FILE": PATH}
    with pytest.raises(ConfigError, match=f"SERVICE_ANSWER_TOKEN_FILE: cannot read {PATH}"):
        read_config(environ, missing)
    assert read_config(environ, missing, to_serve=False).answer_tokens == ()


@pytest.mark.parametrize("to_serve", [True, False])
def test_the_url_of_the_database_may_be_in_a_file(to_serve: bool) -> None:
    environ = {**SHARED, "SERVICE_DB_URL_FILE": PATH}
    config = read_config(environ, lambda _: EnvFile(f"\ufeff{URL}\r\n".encode(), 0o100600), to_serve=to_serve)
    assert (config.db_url, config.sources["SERVICE_DB_URL"], config.warnings) == (URL, "own file", ())
    [warning] = read_config(environ, lambda _: EnvFile(URL.encode(), 0o100604), to_serve=to_serve).warnings
    assert PATH in warning
    assert URL not in warning


def test_with_another_store_the_file_of_the_url_is_not_read() -> None:
    def missing(path: str) -> EnvFile:
        raise FileNotFoundError(2, "No such file or directory", path)

    assert read_config({"SERVICE_DB_URL_FILE": PATH}, missing).db_url is None
    with pytest.raises(ConfigError, match=f"SERVICE_DB_URL_FILE: cannot read {PATH}"):
        read_config({**SHARED, "SERVICE_DB_URL_FILE": PATH}, missing, to_serve=False)


def test_the_second_token_is_judged_for_its_length_too() -> None:
    [warning] = read_config({"SERVICE_ANSWER_TOKEN": f"{NEW} short"}).warnings
    assert "SERVICE_ANSWER_TOKEN is short" in warning


@pytest.mark.parametrize(
    ("environ", "warned"),
    [
        ({"SERVICE_LISTEN_ADDR": "8.8.8.8:80"}, True),
        ({"SERVICE_LISTEN_ADDR": "[2001:4860:4860::8888]:80"}, True),
        ({"SERVICE_LISTEN_ADDR": "8.8.8.8:80", "SERVICE_ANSWER_TOKEN": NEW}, False),
        ({"SERVICE_LISTEN_ADDR": "8.8.8.8:80", "SERVICE_ALLOW": "10.0.0.0/8"}, False),
        ({"SERVICE_LISTEN_ADDR": "192.168.1.1:80"}, False),
        ({"SERVICE_LISTEN_ADDR": "[::1]:80"}, False),
        ({}, False),
    ],
)
def test_an_endpoint_that_is_open_to_the_world_is_a_warning(environ: dict[str, str], warned: bool) -> None:
    warnings = read_config(environ).warnings
    assert len(warnings) == warned
    assert all("SERVICE_ALLOW" in warning for warning in warnings)
