"""What was given and is not written yet: no process that is killed loses it, and it counts before the report that
follows it. The real program is killed in `tests.load.install_kills`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.monkey import get_original

from answerd.answers.gates import Asking
from answerd.config import Config
from answerd.formats.family import Once
from answerd.identity import identity_of
from answerd.installs.memory import MOST_ALIKE, Decision, Visitor
from answerd.installs.states import (
    Asked,
    Event,
    Gate,
    Order,
    Ordered,
    Refusal,
    Reported,
    ReportKind,
    Rules,
    State,
    refusal_of,
)
from answerd.server.installs import LiveInstalls
from answerd.server.request_log import RequestLog
from answerd.server.shared_installs import SharedInstalls
from answerd.store import given_notes
from answerd.store.given_notes import HALF, GivenNotes
from answerd.store.install_batch import PendingEvent
from answerd.store.installs import InstallStore, open_state_file

KEY = b"k" * 32


def given(name: str = "node1", at: float = 1.5, detail: str = "node1 (ks)") -> PendingEvent:
    """A document that was given."""
    asked = Asked("ks", Gate.ANSWERS, Once.ON, at)
    return PendingEvent(name, asked, {"abc1": "ABC-1"}, "rack", detail, "192.0.2.1")


@pytest.fixture(autouse=True)
def _any_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the tests run, blocks are taken as reserved."""
    monkeypatch.setattr(given_notes, "RESERVING_FILE_SYSTEMS", _Everything())


class _Everything(frozenset[str]):
    def __contains__(self, key: object) -> bool:
        return True


def by_a_service_that_is_killed(act: Callable[[], object]) -> None:
    """Do something in a process that ends without any farewell."""
    pid = os.fork()
    if not pid:
        try:
            act()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def test_a_note_comes_back_as_it_was(tmp_path: Path) -> None:
    notes = GivenNotes(tmp_path / "state.db", 3, KEY)
    notes.attach(1)
    notes.note(given())
    notes.note(given("web 2", 2.5)._replace(was_refused=True, group=None))
    assert notes.left() == [given(), given("web 2", 2.5)._replace(was_refused=True, group=None)]
    assert (tmp_path / "state.db-given").stat().st_mode & 0o777 == 0o600


def test_the_next_service_finds_what_one_that_was_killed_has_left(tmp_path: Path) -> None:
    def serve() -> None:
        notes = GivenNotes(tmp_path / "state.db", 4, KEY)
        notes.attach(3)
        notes.note(given())

    by_a_service_that_is_killed(serve)
    notes = GivenNotes(tmp_path / "state.db", 2, KEY)  # fewer workers than before
    assert notes.left() == [given()]
    notes.clear()
    assert notes.left() == []


def test_notes_of_other_states_do_not_count(tmp_path: Path) -> None:
    def serve() -> None:
        GivenNotes(tmp_path / "state.db", 2, KEY).note(given())

    by_a_service_that_is_killed(serve)
    assert GivenNotes(tmp_path / "state.db", 2, b"other").left() == []


def test_two_services_on_one_file_of_states_have_notes_of_their_own(tmp_path: Path) -> None:
    first, second = (GivenNotes(tmp_path / "state.db", 2, KEY) for _ in range(2))
    first.note(given())
    assert second.left() == []
    assert first.survives_the_service
    assert second.survives_the_service


def test_where_no_block_can_be_reserved_notes_outlive_a_process_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given_notes, "RESERVING_FILE_SYSTEMS", frozenset())
    notes = GivenNotes(tmp_path / "state.db", 2, KEY)

    def serve() -> None:
        notes.attach(1)
        notes.note(given())

    by_a_service_that_is_killed(serve)
    assert not notes.survives_the_service
    assert list(tmp_path.iterdir()) == []
    assert notes.attach(1) == [given()]


def test_notes_stay_until_they_are_written_and_new_ones_come_meanwhile(tmp_path: Path) -> None:
    notes = GivenNotes(tmp_path / "state.db", 2, KEY)
    notes.attach(1)
    notes.note(given(at=1))
    notes.taken()
    notes.note(given(at=2))
    assert [entry.event.at for entry in notes.left()] == [1, 2]
    notes.written()
    assert [entry.event.at for entry in notes.left()] == [2]
    notes.taken()  # this write fails, and the next one is of everything
    notes.note(given(at=3))
    notes.taken()
    notes.note(given(at=4))
    notes.written()
    assert 4 in [entry.event.at for entry in notes.left()]
    notes.taken()
    notes.written()
    assert notes.left() == []


def test_what_a_process_has_left_stays_until_its_successor_has_written_it(tmp_path: Path) -> None:
    notes = GivenNotes(tmp_path / "state.db", 2, KEY)
    notes.attach(1)
    notes.note(given(at=1))
    notes.taken()
    notes.note(given(at=2))
    assert [entry.event.at for entry in notes.attach(1)] == [1, 2]
    notes.note(given(at=3))
    for _ in range(2):
        notes.taken()
        notes.written()
    assert notes.left() == []


def test_a_note_that_has_no_room_and_one_that_is_spoiled_are_left_out(tmp_path: Path) -> None:
    notes = GivenNotes(tmp_path / "state.db", 2, KEY)
    notes.note(given())
    notes.note(given(detail="x" * HALF))
    notes.note(given("\ud800"))
    notes.note(given("node2"))
    assert [entry.name for entry in notes.left()] == ["node1", "node2"]
    file = tmp_path / "state.db-given"
    file.write_bytes(file.read_bytes().replace(b"node2\0", b"node3\0"))  # as one that is being written over
    assert [entry.name for entry in notes.left()] == ["node1"]


def test_only_the_notes_of_others_about_these_machines_are_read(tmp_path: Path) -> None:
    notes = GivenNotes(tmp_path / "state.db", 3, KEY)
    for process, name in ((1, "node-1"), (1, "node2"), (2, "NODE1")):
        notes.attach(process)
        notes.note(given(name))
    notes.attach(2)
    assert [entry.name for entry in notes.of_others({identity_of("Node-1")})] == ["node-1"]


class Processes:
    """Two processes of a service in one, of which only the second writes."""

    def __init__(self, store: InstallStore) -> None:
        self.shared = SharedInstalls(store, Config())
        log = RequestLog("stderr", "off")
        self.first, self.second = (LiveInstalls(self.shared, log) for _ in range(2))
        self.first.refresh()
        self.shared.notes.attach(0)

    def give(self, at: float, document: str = "ks") -> None:
        """The first process gives a document."""
        asked = Asked(document, Gate.ANSWERS, Once.ON, at)
        memory = self.first.current()
        made = memory.judge(Visitor("node1"), memory.found_by([], "node1"), asked, self.first.rules)
        judgement = Decision(tuple(made.outcomes))
        self.first.given(Asking(Visitor("node1", {"node1": "node1"}), asked, judgement, document, "192.0.2.1"))

    def report(self, word: ReportKind, at: float) -> None:
        """The second process takes a report."""
        self.write(Reported(word, 1, at))

    def write(self, event: Event) -> None:
        """The second process writes an event."""
        self.second.attach(1)
        writing = gevent.spawn(self.second.write_forever)
        self.second.write([PendingEvent("node1", event)])
        writing.kill()
        self.shared.notes.attach(0)


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(open_state_file(str(tmp_path / "state.db"))[0])


def test_a_report_counts_after_what_another_process_gave_before_it(processes: Processes) -> None:
    now = processes.shared.now()
    processes.give(now)
    processes.report(ReportKind.INSTALLED, now + 1)
    (remembered,) = processes.second.store.all()
    assert (remembered.record.state, remembered.record.given) == (State.INSTALLED, {"ks": now})
    again = Asked("ks", Gate.ANSWERS, Once.ON, now + 2)
    assert refusal_of(remembered.record, again, processes.second.rules) is Refusal.INSTALLED
    assert [event.what for event in processes.second.store.history("node1")] == ["installed"]
    processes.first.flush()  # the other process writes it too, and notes it
    assert [event.what for event in processes.second.store.history("node1")] == ["installed", "given"]
    assert processes.second.store.all()[0].record == remembered.record


def test_what_is_given_after_a_report_is_not_taken_for_given_before_it(processes: Processes) -> None:
    now = processes.shared.now()
    processes.give(now + 2)
    processes.report(ReportKind.FAILED, now + 1)
    (remembered,) = processes.second.store.all()
    assert (remembered.record.state, remembered.record.given) == (State.FAILED, {})


def test_what_was_given_before_a_machine_was_forgotten_makes_no_new_record(processes: Processes) -> None:
    now, store = processes.shared.now(), processes.first.store
    processes.give(now)
    processes.write(Ordered(Order.FORGET, now + 1))
    processes.first.flush()
    assert store.all() == []
    assert processes.shared.notes.left() == []
    processes.give(now + 2)
    processes.first.flush()
    (remembered,) = store.all()
    assert (remembered.record.state, remembered.record.attempt) == (State.INSTALLING, 2)


def test_notes_of_a_batch_stay_while_a_machine_is_forgotten(processes: Processes) -> None:
    first, now = processes.first, processes.shared.now()
    processes.give(now)
    first._in_flight = [first._queue.popleft()]
    first._notes.taken()
    processes.give(now + 1, "ipxe")
    first._drop_given({"node1"})
    assert not first._queue
    assert now in [note.event.at for note in processes.shared.notes.left()]


def test_a_new_service_writes_what_one_that_was_killed_gave(tmp_path: Path) -> None:
    store = open_state_file(str(tmp_path / "state.db"))[0]
    later = store.newest + 4e9

    def serve() -> None:
        notes = GivenNotes(store.path, 3, store.key)
        notes.attach(2)
        notes.note(given(at=later))

    by_a_service_that_is_killed(serve)
    shared = SharedInstalls(store, Config())
    assert store.all()[0].record.given == {"ks": later}
    assert shared.now() >= later
    assert shared.notes.left() == []


def test_a_worker_takes_up_what_the_one_before_it_gave(processes: Processes) -> None:
    now = processes.shared.now()
    processes.give(now)
    successor = LiveInstalls(processes.shared, RequestLog("stderr", "off"))
    successor.attach(0)
    successor.refresh()
    assert successor.current().by_name["node1"].record.state is State.INSTALLING
    successor.flush()
    assert successor.store.all()[0].record.given == {"ks": now}
    assert processes.shared.notes.left() == []


def test_that_a_machine_was_heard_again_waits_longer_than_what_is_new(processes: Processes) -> None:
    first, now = processes.first, processes.shared.now()
    processes.give(now)
    assert first._wake.is_set()
    first.flush()
    first._wake.clear()
    processes.give(now + 40)  # the same document in the same start
    assert not first._wake.is_set()
    assert first._alarm is not None
    assert first.current().by_name["node1"].record.heard == now + 40
    processes.give(now + 41, "ipxe")
    assert first._wake.is_set()
    first._wake.clear()
    processes.give(now + 200)  # a new start
    assert first._wake.is_set()
    first.flush()
    assert first.store.all()[0].record.heard == now + 200
    gevent.kill(first._alarm)


def test_a_start_that_was_refused_is_written_at_once(processes: Processes) -> None:
    first, now = processes.first, processes.shared.now()
    processes.give(now)
    assert not first._urgent.is_set()
    visitor, asked = Visitor("node2"), Asked("ks", Gate.ANSWERS, Once.ON, now)
    refused = first.current().judge(visitor, [], asked, Rules(starts=0))
    first.given(Asking(visitor, asked, refused, "ks", "192.0.2.1"))
    assert first._urgent.is_set()


def test_the_log_says_which_value_too_many_machines_have(
    processes: Processes, capfd: pytest.CaptureFixture[str]
) -> None:
    first, now = processes.first, processes.shared.now()
    for number in range(MOST_ALIKE + 2):
        name = f"node{number}"
        asked = Asked("ks", Gate.ANSWERS, Once.ON, now)
        first._remember(PendingEvent(name, asked, {name: name, "boarduuid": "board-uuid"}))
    first._log.flush()
    lines = [line.partition(" - ")[2] for line in capfd.readouterr().err.splitlines()]
    assert lines == ["states of installs: board-uuid tells no machine from others any more: too many have it"]


def test_no_request_waits_for_a_disk_that_hangs(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    first, now, write = processes.first, processes.shared.now(), processes.first.store.write
    begun, disk = processes.shared.store.path.with_name("begun"), get_original("threading", "Event")()

    def hanging(*arguments: Any) -> Any:
        begun.touch()
        disk.wait(30)
        return write(*arguments)

    monkeypatch.setattr(first.store, "write", hanging)
    writing = gevent.spawn(first.write_forever)
    processes.give(now)
    while not begun.exists():
        gevent.sleep(0.001)
    processes.give(now + 1, "ipxe")
    assert dict(first.current().by_name["node1"].record.given) == {"ks": now, "ipxe": now + 1}
    first.refresh()
    assert dict(first.current().by_name["node1"].record.given) == {"ks": now, "ipxe": now + 1}
    disk.set()
    writing.kill()
    first.flush()


def test_of_many_requests_that_wait_for_a_change_the_first_reads_it(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, read = processes.first, processes.first.store.changes_since
    reads: list[int] = []

    def counted(since: int) -> Any:
        reads.append(since)
        return read(since)

    first.current()
    monkeypatch.setattr(first.store, "changes_since", counted)
    processes.report(ReportKind.INSTALLED, processes.shared.now())
    reads.clear()
    asking = [gevent.spawn(first.current) for _ in range(20)]
    gevent.joinall(asking)
    assert {one.get().by_name["node1"].record.state for one in asking} == {State.INSTALLED}
    assert len(reads) == 1
