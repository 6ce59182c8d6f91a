"""What decides the answers of nodes is compared, and what they publish for that tells no secret."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from answerd.config import DECIDES_ANSWERS, SETTINGS_BY_NAME, read_config
from answerd.store.agreement import NAMES, SECRETS, Digests, differences, digests_of

pytestmark = pytest.mark.long

KEY = b"k" * 32
NOTHING: Mapping[str, str] = {}
SET = {
    "SERVICE_ALLOW": ("192.0.2.0/24,198.51.100.0/24", "192.0.2.0/24"),
    "SERVICE_ANSWER_TOKEN": ("0123456789abcdef0123", "0123456789abcdef0124"),
    "SERVICE_INSTALL_GRACE_SECS": ("901", "902"),
    "SERVICE_INSTALL_SECS": ("3601", "3602"),
    "SERVICE_INSTALL_START_SECS": ("121", "122"),
    "SERVICE_INSTALL_STARTS": ("6", "7"),
    "SERVICE_TRUSTED_PROXIES": ("192.0.2.1,192.0.2.2", "192.0.2.1"),
}
"""Two values of each setting that decides answers."""

OF_EACH_NODE = frozenset(
    {
        "SERVICE_ADMIN_ADDR",
        "SERVICE_ADMIN_TIMEOUT_SECS",
        "SERVICE_ADMIN_TOKEN",
        "SERVICE_ADMIN_TOKEN_FILE",
        "SERVICE_ANSWERS_DIR",
        "SERVICE_ANSWER_TOKEN_FILE",
        "SERVICE_CAPTURE",
        "SERVICE_CAPTURE_DIR",
        "SERVICE_CONSOLE_ADDR",
        "SERVICE_CONSOLE_HOSTS",
        "SERVICE_DB_PATH",
        "SERVICE_DB_URL",
        "SERVICE_DB_URL_FILE",
        "SERVICE_DRAIN_SECS",
        "SERVICE_ENV_FILE",
        "SERVICE_HISTORY_DAYS",
        "SERVICE_LISTEN_ADDR",
        "SERVICE_LOG",
        "SERVICE_LOG_FILE",
        "SERVICE_LOG_FORMAT",
        "SERVICE_MAX_CONNECTIONS",
        "SERVICE_METRICS_ADDR",
        "SERVICE_REPLICA_PATH",
        "SERVICE_SECRETS_DIR",
        "SERVICE_STATE_PATH",
        "SERVICE_STORE",
        "SERVICE_TIMEOUT_SECS",
        "SERVICE_TLS_CERT",
        "SERVICE_TLS_KEY",
        "SERVICE_TOKENS_FILE",
        "SERVICE_URL",
        "SERVICE_WORKERS",
    }
)
"""All other settings. Of a file only its content could matter; the URL is that by which machines reach this node."""


def digests(settings: Mapping[str, str] = NOTHING, secrets: Mapping[str, str] = NOTHING, key: bytes = KEY) -> Digests:
    return digests_of(read_config(settings), secrets, key)


def test_each_setting_decides_answers_or_does_not() -> None:
    """A new setting belongs into one of the two lists."""
    assert SETTINGS_BY_NAME.keys() == DECIDES_ANSWERS | OF_EACH_NODE
    assert not DECIDES_ANSWERS & OF_EACH_NODE


@pytest.mark.parametrize("name", sorted(DECIDES_ANSWERS))
def test_a_setting_that_decides_answers_is_compared(name: str) -> None:
    first, second = SET[name]
    assert differences([("a", digests({name: first})), ("b", digests({name: first}))]) == []
    nodes = [("a", digests({name: first})), ("b", digests({name: second})), ("c", digests({name: first}))]
    assert differences(nodes) == [f"nodes differ in {name}: a, c; b"]
    assert differences([("a", digests()), ("b", digests({name: first}))]) != []


@pytest.mark.parametrize("name", ["SERVICE_ALLOW", "SERVICE_TRUSTED_PROXIES"])
def test_the_order_of_a_list_is_no_difference(name: str) -> None:
    listed = SET[name][0]
    turned = ",".join(reversed(listed.split(",")))
    assert differences([("a", digests({name: listed})), ("b", digests({name: turned}))]) == []


def test_secrets_are_compared_by_their_names_and_their_values() -> None:
    own = digests(secrets={"root": "x", "web/root": "y"})
    assert differences([("a", own), ("b", digests(secrets={"web/root": "y", "root": "x"}))]) == []
    assert differences([("a", own), ("b", digests(secrets={"root": "x", "web/root": "z"}))]) == [
        "nodes differ in the values of secrets: a; b"
    ]
    assert "nodes differ in the names of secrets: a; b" in differences(
        [("a", own), ("b", digests(secrets={"root": "x"}))]
    )
    assert digests(secrets={"a": "bc"})[SECRETS] != digests(secrets={"ab": "c"})[SECRETS]


def test_what_only_some_nodes_publish_is_not_compared() -> None:
    assert differences([("a", digests()), ("b", {}), ("c", {"SERVICE_OLD": "1"})]) == []


def test_a_digest_of_secrets_is_too_short_to_find_out_a_password_by_trying() -> None:
    """What a list of passwords is tried against tells one in 65,536 of them, not the one."""
    published = digests({"SERVICE_ANSWER_TOKEN": "0123456789abcdef"}, {"root": "hunter2"})
    for name in (SECRETS, "SERVICE_ANSWER_TOKEN"):
        assert len(bytes.fromhex(published[name])) == 2
    assert published.keys() == DECIDES_ANSWERS | {SECRETS, NAMES}  # none of a single secret
    assert digests(secrets={"root": "hunter2"}, key=b"o" * 32)[SECRETS] != published[SECRETS]


def test_no_digest_depends_on_what_may_differ() -> None:
    one = digests({"SERVICE_URL": "http://a.example", "SERVICE_LISTEN_ADDR": "127.0.0.1:1"})
    assert one == digests({"SERVICE_URL": "http://b.example", "SERVICE_WORKERS": "2"})
