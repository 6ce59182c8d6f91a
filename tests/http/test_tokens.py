"""Tokens and the allow-list change while the service runs, in every worker and in the admin API; `/ready` says more
than `/health`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.replies import Reply, request_bytes
from tests.support.service import Service
from tests.support.waiting import wait_until

OLD, NEW, ADMIN = "old-answer-token-0123456789", "new-answer-token-0123456789", "admin-token-0123456789"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def service(serving: Callable[..., Service], tmp_path: Path) -> Service:
    """Two workers and the admin API, with an environment file and a token file."""
    (tmp_path / "answers.env").write_text(f"SERVICE_ADMIN_TOKEN={ADMIN}\n")
    (tmp_path / "answers.env").chmod(0o600)
    (tmp_path / "token").write_text(f"{OLD}\n")
    (tmp_path / "token").chmod(0o600)
    running = serving(
        SERVICE_ENV_FILE=tmp_path / "answers.env",
        SERVICE_ANSWER_TOKEN_FILE=tmp_path / "token",
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "answers.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_WORKERS=2,
    )
    running.wait_for_log("processes started")
    return running


def ask(service: Service, method: str, target: str, **headers: str) -> Reply:
    return service.send(request_bytes(method, target, headers))


def statuses(service: Service, token: str) -> set[int]:
    """What several connections get, so that each worker answers some."""
    return {ask(service, "GET", "/pve", **bearer(token)).status for _ in range(12)}


def test_sighup_puts_other_tokens_in_force_everywhere(service: Service, tmp_path: Path) -> None:
    def reload() -> None:
        os.kill(service.process.pid, signal.SIGHUP)

    assert (statuses(service, OLD), statuses(service, NEW)) == ({404}, {401})
    (tmp_path / "token").write_text(f"{NEW} {OLD}\n")
    reload()
    wait_until(lambda: statuses(service, NEW) == {404})
    assert statuses(service, OLD) == {404}
    (tmp_path / "token").write_text(f"{NEW}\n")
    (tmp_path / "answers.env").write_text(f"SERVICE_ADMIN_TOKEN={ADMIN}2\nSERVICE_ALLOW=10.0.0.0/8\nSERVICE_LOG=off\n")
    reload()
    wait_until(lambda: statuses(service, NEW) == {403})
    service.wait_for_log("warning: restart answerd to put SERVICE_LOG in force")
    wait_until(lambda: service.ask_admin("GET", "/check", Authorization=f"Bearer {ADMIN}2").status == 200)
    assert service.ask_admin("GET", "/check", Authorization=f"Bearer {ADMIN}").status == 401
    assert {ask(service, method, path).status for method in ("GET", "HEAD") for path in ("/ready", "/health")} == {200}
    assert service.ask_admin("HEAD", "/ready").status == 200

    (tmp_path / "token").write_text("")
    reload()
    service.wait_for_log("warning: SERVICE_ANSWER_TOKEN_FILE: .* holds no token; the settings in force stay")
    assert statuses(service, OLD) == {403}


def test_a_set_that_is_not_there_is_not_ready(serving: Callable[..., Service], tmp_path: Path) -> None:
    directory = tmp_path / "later"
    service = serving(SERVICE_ANSWERS_DIR=directory)
    service.wait_for_log(f"warning.*{directory}.*does not exist")
    assert (ask(service, "GET", "/health").status, ask(service, "GET", "/ks").status) == (200, 404)
    reply = ask(service, "GET", "/ready")
    assert (reply.status, reply.body) == (503, f"the answers directory {directory} does not exist\n".encode())
    made = tmp_path / "made"
    made.mkdir()
    for number in range(300):
        (made / f"node{number}.ks").write_text(f"# {number}\n")
    made.rename(directory)
    while ask(service, "GET", "/ready").status != 200:  # without a pause: what counts is the first one
        pass
    assert ask(service, "GET", "/ks?id=node299").body == b"# 299\n"  # what is ready has its documents in force
