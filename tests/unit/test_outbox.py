"""The outbox: nothing that was put is lost, nothing takes effect twice, and the order stays (docs/many-nodes.md)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerd.installs.merge import Evidence, News, Start, Strength
from answerd.store import StoreError
from answerd.store.evidence_batch import MachineEvidence
from answerd.store.install_batch import HistoryLine, Sighting
from answerd.store.outbox import Message, Outbox, deliver, new_messages
from answerd.store.sqlite_file import SqliteFile
from answerd.store.state_messages import message_of, message_of_sighting, read_message
from answerd.store.tables import execute
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of

RECEIVED_TABLE = "CREATE TABLE received_messages (source TEXT PRIMARY KEY, number BIGINT NOT NULL)"
EFFECTS = "CREATE TABLE effects (number INTEGER, body TEXT)"


class Crash(Exception):
    """In place of a process that dies."""


class Receiver:
    """A database in which messages take effect. ``crashes`` says at which step the next receiving dies."""

    def __init__(self, connect: Any, mark: str, begin: str) -> None:
        self.connect, self.mark, self.begin = connect, mark, begin
        self.crash: str | None = None
        with connect() as database:
            for statement in (RECEIVED_TABLE, EFFECTS):
                execute(database, statement)

    def receive(self, source: str, messages: Sequence[Message]) -> None:
        with self.connect() as database:
            with database.atomic(*[self.begin] * bool(self.begin)):
                for message in new_messages(database, source, messages):
                    insert = f"INSERT INTO effects (number, body) VALUES ({self.mark}, {self.mark})"
                    execute(database, insert, (message.number, message.body.decode()))
                if self.crash == "before the commit":
                    raise Crash
            if self.crash == "after the commit":
                raise Crash

    def effects(self) -> list[str]:
        with self.connect() as database:
            return [body for (body,) in execute(database, "SELECT body FROM effects ORDER BY number").fetchall()]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with clusters() as parent:
        running = Cluster(home_of(parent, "primary")).start()
        yield running
        running.stop()


def receiver_in_file(path: Path) -> Receiver:
    file = SqliteFile(path)
    file.create()
    return Receiver(lambda: file.connected(5), "?", "IMMEDIATE")


@pytest.fixture(params=["sqlite", "postgres"])
def receiver(request: pytest.FixtureRequest, tmp_path: Path) -> Receiver:
    if request.param == "sqlite":
        return receiver_in_file(tmp_path / "received.db")
    if binaries() is None:
        pytest.skip(MISSING)
    from answerd.store.postgres_connection import PostgresServer  # noqa: PLC0415 - needs psycopg

    server = PostgresServer(request.getfixturevalue("cluster").database())
    return Receiver(server.connected, "%s", "")


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "outbox.db")


def bodies(*numbers: int) -> list[bytes]:
    return [str(number).encode() for number in numbers]


def test_what_was_put_takes_effect_in_order(outbox: Outbox, receiver: Receiver) -> None:
    outbox.put(bodies(1, 2))
    outbox.put(bodies(3))
    assert deliver(outbox, receiver.receive) == 3
    assert receiver.effects() == ["1", "2", "3"]
    assert (outbox.first(), deliver(outbox, receiver.receive)) == ([], 0)


@pytest.mark.parametrize("where", ["before the commit", "after the commit"])
def test_a_delivery_that_breaks_off_is_made_again_with_one_effect(
    outbox: Outbox, receiver: Receiver, where: str
) -> None:
    outbox.put(bodies(1, 2))
    receiver.crash = where
    with pytest.raises(Crash):
        deliver(outbox, receiver.receive)
    assert len(outbox.first()) == 2
    outbox.put(bodies(3))
    receiver.crash = None
    deliver(Outbox(outbox.file.path), receiver.receive)
    assert receiver.effects() == ["1", "2", "3"]


def test_two_outboxes_do_not_hide_one_another(tmp_path: Path, receiver: Receiver) -> None:
    first, second = (Outbox(tmp_path / f"{name}.db") for name in "ab")
    first.put(bodies(1, 2, 3))
    second.put(bodies(4))
    for outbox in (first, second):
        deliver(outbox, receiver.receive)
    assert sorted(receiver.effects()) == ["1", "2", "3", "4"]


def test_two_processes_that_hand_over_the_same_have_one_effect(outbox: Outbox, receiver: Receiver) -> None:
    outbox.put(bodies(*range(20)))
    messages = outbox.first()
    faults: list[BaseException] = []

    def hand_over() -> None:
        try:
            receiver.receive(outbox.source, messages)
        except BaseException as error:
            faults.append(error)

    both = [threading.Thread(target=hand_over) for _ in range(2)]
    for sender in both:
        sender.start()
    for sender in both:
        sender.join()
    assert faults == []
    assert receiver.effects() == [str(number) for number in range(20)]


def test_numbers_are_not_used_again_once_all_is_delivered(outbox: Outbox, receiver: Receiver) -> None:
    for number in range(4):
        outbox.put(bodies(number))
        deliver(Outbox(outbox.file.path), receiver.receive)
    assert receiver.effects() == ["0", "1", "2", "3"]


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.integers(1, 3).map(lambda count: ("put", count)),
            st.sampled_from([("deliver", None), ("deliver", "before the commit"), ("deliver", "after the commit")]),
        ),
        max_size=12,
    )
)
def test_whatever_breaks_off_all_takes_effect_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    place = tmp_path_factory.mktemp("outbox")
    outbox, receiver = Outbox(place / "outbox.db"), receiver_in_file(place / "received.db")
    put = 0
    for step, what in steps:
        if step == "put":
            outbox.put(bodies(*range(put, put + what)))
            put += what
            continue
        receiver.crash = what
        try:
            deliver(outbox, receiver.receive)
        except Crash:
            outbox = Outbox(outbox.file.path)
    receiver.crash = None
    deliver(outbox, receiver.receive)
    assert receiver.effects() == [str(number) for number in range(put)]


def test_what_was_put_outlives_a_process_that_is_killed(outbox: Outbox) -> None:
    child = os.fork()
    if not child:
        try:
            Outbox(outbox.file.path).put(bodies(7))
        finally:
            os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert [message.body for message in Outbox(outbox.file.path).first()] == bodies(7)


def test_the_file_is_its_owners_only_and_its_name_stays(outbox: Outbox) -> None:
    assert outbox.file.path.stat().st_mode & 0o777 == 0o600
    assert Outbox(outbox.file.path).source == outbox.source


def test_what_cannot_be_written_is_an_error_and_leaves_nothing(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("answerd.store.outbox.WRITER_WAIT_SECONDS", 0.05)
    with outbox.file.connected() as other, other.atomic("IMMEDIATE"), pytest.raises(StoreError, match="be written"):
        outbox.put(bodies(1))
    assert outbox.first() == []


def test_what_is_known_comes_out_as_it_went_in() -> None:
    said = News(Strength.FAILED, 12.5, "no disk \N{SNOWMAN}", 40.0)
    starts = {1: Start(1.0), 2: Start(2.0, Strength.FAILED, 12.5, {"ks": 2.0}, said)}
    known = Evidence("web-01", 3, True, 0.5, 13.0, 14.0, starts, 12.5)
    slot = MachineEvidence("web-01", known, 2, {"web01": "web-01"}, "rack")
    line = HistoryLine(12.5, "failed", "no disk", "192.0.2.1", 1, b"\x00\xff{}")
    assert read_message(message_of(slot, line)) == (slot, line)
    assert read_message(message_of(MachineEvidence("web-01", None, 2))) == (MachineEvidence("web-01", None, 2), None)
    sighting = Sighting("52:54:00:00:00:09", 4.0, "{}", 2)
    assert read_message(message_of_sighting(sighting)) == sighting


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"unknown": []}', b'{"name": "a", "known": "{}"}'])
def test_what_is_no_message_is_named_so(body: bytes) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        read_message(body)


def test_what_the_receiver_has_lost_is_delivered_again(outbox: Outbox, tmp_path: Path) -> None:
    outbox.put(bodies(1, 2, 3))
    deliver(outbox, receiver_in_file(tmp_path / "lost.db").receive)
    assert (outbox.rewind(3), outbox.waiting().messages) == (False, 0)
    assert (outbox.rewind(1), outbox.waiting().messages) == (True, 2)
    again = receiver_in_file(tmp_path / "standby.db")
    deliver(outbox, again.receive)
    assert again.effects() == ["2", "3"]


def test_only_the_last_messages_are_kept(outbox: Outbox, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("answerd.store.outbox.KEPT", 1)
    outbox.put(bodies(1, 2, 3))
    deliver(outbox, receiver.receive)
    outbox.rewind(0)
    assert [message.body for message in outbox.first()] == bodies(3)
