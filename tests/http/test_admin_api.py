"""The admin API of the real program: what needs a socket, a second process or a restart to be seen."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import struct
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from answerd.documents import Key
from answerd.identity import Kind
from answerd.store.sqlite import SqliteStore
from tests.support.replies import Reply, pieces, request_bytes
from tests.support.service import Service, run
from tests.support.waiting import PATIENCE, wait_until
from tests.support.writes import put

TOKEN = "admin-token-for-tests-0123456789"


class Fleet:
    """The running service on a database, asked with the token."""

    def __init__(self, serving: Callable[..., Service], database: Path, **settings: object) -> None:
        self.database = database
        self.service = serving(
            SERVICE_STORE="sqlite",
            SERVICE_DB_PATH=database,
            SERVICE_ADMIN_ADDR="127.0.0.1:0",
            SERVICE_ADMIN_TOKEN=TOKEN,
            **settings,
        )

    def ask(self, method: str, target: str, body: str | bytes = b"", **headers: str) -> Reply:
        headers = {"Authorization": f"Bearer {TOKEN}", **headers}
        return self.service.ask_admin(method, target, body if isinstance(body, bytes) else body.encode(), **headers)

    def put(self, target: str, body: str | bytes) -> Reply:
        return self.ask("PUT", target, body)


@pytest.fixture
def fleet(serving: Callable[..., Service], tmp_path: Path) -> Fleet:
    return Fleet(serving, tmp_path / "answers.db")


def test_every_worker_answers_from_a_write_with_the_next_request(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    fleet = Fleet(serving, tmp_path / "answers.db", SERVICE_WORKERS=3)
    for number in range(5):
        assert fleet.put("/default", f"x = {number}\n").status == 200
        answers = {fleet.service.get(f"/pve?turn={turn}").text for turn in range(30)}
        assert answers == {f"x = {number}\n"}


def test_a_write_by_another_program_is_in_force_within_a_second(fleet: Fleet) -> None:
    put(SqliteStore(fleet.database), Key(Kind.DEFAULT, "", "toml"), "x = 1\n")
    wait_until(lambda: fleet.service.get("/pve").status == 200)
    assert fleet.service.get("/pve").text == "x = 1\n"
    wait_until(lambda: fleet.ask("GET", "/resolve").text == "x = 1\n")  # another process than the one that answers


def test_a_writer_that_holds_the_database_delays_no_answer(fleet: Fleet) -> None:
    fleet.put("/default", "x = 1\n")
    with SqliteStore(fleet.database).writing():
        for _ in range(10):
            assert fleet.service.get("/pve").status == 200
            assert fleet.ask("GET", "/default").status == 200


def test_the_log_tells_who_wrote_what_and_never_the_token_or_the_document(fleet: Fleet) -> None:
    fleet.put("/machines/a", "root_password = 'very-secret'\n")
    line = fleet.service.wait_for_log(r" PUT /machines/a ")
    assert re.search(r'^\S+ 127\.0\.0\.1:\d+ PUT /machines/a body=\d+ 200 stored machine "a" \(toml\) bytes=\d+$', line)
    fleet.ask("GET", "/resolve/a")
    resolved = fleet.service.wait_for_log(r" GET /resolve/a ")

    assert " 200 format=toml machine=a bytes=" in resolved
    assert not [line for line in fleet.service.log if "very-secret" in line or TOKEN in line]


def test_behind_a_trusted_proxy_the_forwarded_address_is_blocked(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    fleet = Fleet(serving, tmp_path / "answers.db", SERVICE_TRUSTED_PROXIES="127.0.0.0/8")
    for _ in range(5):
        fleet.ask("GET", "/machines", Authorization="Bearer wrong", X_Forwarded_For="192.0.2.1")

    assert fleet.ask("GET", "/machines", X_Forwarded_For="192.0.2.1").status == 429
    assert fleet.ask("GET", "/machines", X_Forwarded_For="192.0.2.2").status == 200


def test_check_says_what_the_command_says(fleet: Fleet) -> None:
    store = SqliteStore(fleet.database)
    put(store, Key(Kind.MACHINE, "broken", "toml"), "= =")
    put(store, Key(Kind.MACHINE, "orphan", "toml"), 'extends = "ghost"')
    put(store, Key(Kind.MACHINE, "proxmox-node", "toml"), "[global]\nkeyboard = 'nowhere'\n")
    command = run("check", "--json", SERVICE_STORE="sqlite", SERVICE_DB_PATH=fleet.database)
    wait_until(lambda: len(json.loads(fleet.ask("GET", "/check").body)["problems"]) >= 3)
    served = json.loads(fleet.ask("GET", "/check").body)

    assert served == {"problems": json.loads(command.stdout)["problems"]}
    assert any("orphan" in problem for problem in served["problems"])


# --- writes that wait -----------------------------------------------------------------------------------------------


class Locked:
    """Another program that holds the database's write lock."""

    def __init__(self, database: Path) -> None:
        self.connection = sqlite3.connect(database, isolation_level=None)

    def __enter__(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self.connection.execute("ROLLBACK")
        self.connection.close()


def put_bytes(name: str) -> bytes:
    return request_bytes("PUT", f"/machines/{name}?format=ks", {"Authorization": f"Bearer {TOKEN}"}, b"lang en\n")


def test_writes_that_wait_for_another_program_are_500_before_the_deadline_and_are_never_made(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    fleet = Fleet(serving, tmp_path / "a.db", SERVICE_ADMIN_TIMEOUT_SECS=2)
    assert fleet.service.admin
    with ExitStack() as clients:
        with Locked(fleet.database):
            waiting = []
            for number in range(4):
                waiting.append(clients.enter_context(socket.create_connection(fleet.service.admin, PATIENCE)))
                waiting[-1].sendall(put_bytes(f"zombie{number}"))
            answers = [b"".join(pieces(client)) for client in waiting]
        for answer in answers:
            assert answer.startswith((b"HTTP/1.1 500 ", b"HTTP/1.1 503 "))  # 503: the loop was late
            reason = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
            assert "another program is writing" in reason or "waited" in reason or "before the deadline" in reason
    assert fleet.put("/machines/after?format=ks", "lang en\n").status == 200
    assert json.loads(fleet.ask("GET", "/machines").body) == {"machine": ["after"]}
    assert not [line for line in fleet.service.log if "- deadline" in line]


@pytest.mark.parametrize("how", ["closed", "reset"])
def test_a_write_whose_client_is_gone_while_it_waits_is_made(
    serving: Callable[..., Service], tmp_path: Path, how: str
) -> None:
    fleet = Fleet(serving, tmp_path / "a.db", SERVICE_ADMIN_TIMEOUT_SECS=10)
    assert fleet.service.admin
    with Locked(fleet.database):
        for number in range(2):
            client = socket.create_connection(fleet.service.admin, PATIENCE)
            client.sendall(put_bytes(f"gone{number}"))
            if how == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            fleet.ask("GET", "/machines")  # of a later connection: the write was read before
            client.close()
    fleet.service.wait_for_log("PUT /machines/gone1")
    assert json.loads(fleet.ask("GET", "/machines").body) == {"machine": ["gone0", "gone1"]}


def test_a_client_that_has_only_finished_sending_gets_its_write(fleet: Fleet) -> None:
    assert fleet.service.admin
    with socket.create_connection(fleet.service.admin, PATIENCE) as client:
        client.sendall(put_bytes("half"))
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")
