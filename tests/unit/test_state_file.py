"""The log of events in a file: what is written counts for every process, and a file that is another one is refused."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import gevent
import pytest

from answerd.answers.catalogue import Catalogue
from answerd.config import Config
from answerd.errors import StatesUnknown
from answerd.facts import Facts, Request
from answerd.formats.family import Once
from answerd.identity import identity_of
from answerd.installs.events import Event, Kind
from answerd.installs.hardware import MAC, NAME, SERIAL, Asked, Names
from answerd.installs.records import InstallMemory, no_row
from answerd.installs.reports import Report
from answerd.installs.sentences import moment
from answerd.installs.states import Gate, Order, ReportKind, Requested, Rules, State
from answerd.installs.tokens import TokenSubject
from answerd.server.live_states import MOST_SIGHTINGS, LiveStates, StatesAtFork
from answerd.server.request_log import RequestLog
from answerd.store import StoreAway, StoreError, StoreFull
from answerd.store.backup import backup_directory, merge_states, restore_directory
from answerd.store.sqlite import SqliteFile, SqliteStore
from answerd.store.state_tables import (
    COLUMNS,
    MOST_BODY_BYTES,
    MOST_NEWS,
    MOST_UNKNOWN,
    Sighting,
    insert,
    run,
    tidy,
)
from answerd.store.states import EventReader, EventWriter, GivenOrder, Position, StateFile, open_state_file, take_states
from tests.support.installs import Ordered, Reported
from tests.support.states import StateWriter, one
from tests.support.waiting import wait_until

pytestmark = pytest.mark.long

RULES = Rules(grace=0)
_MANY = 400
"""Events that are more than what is kept of a record."""

KS = Requested("ks", Gate.ANSWERS, Once.ON, 1.0)


@pytest.fixture
def states(tmp_path: Path) -> StateFile:
    return open_state_file(str(tmp_path / "state.db"), RULES)[0]


@pytest.fixture
def writer(states: StateFile) -> StateWriter:
    return StateWriter(states)


def given(name: str, at: float = 1.0) -> Event:
    identity = identity_of(name)
    return Event(identity, name, Kind.GIVEN, at, {identity: NAME + name}, start=1, giving=f"g{name}", detail="ks")


# --- a file ----------------------------------------------------------------------------------------------------------


def test_what_is_written_is_there_after_a_restart(writer: StateWriter) -> None:
    writer.write("node1", KS, {"98fa9b50d810": "98:fa:9b:50:d8:10"}, "rack")
    writer.write("node1", Reported(ReportKind.INSTALLED, 1, 5.0, "done"), body=b"the log")
    again = StateWriter(StateFile(SqliteFile(writer.states.path), RULES))
    found = again.all()["node1"]
    assert found == writer.all()["node1"]
    assert (found.record.state, found.record.message, found.group) == (State.INSTALLED, "done", "rack")
    assert found.identities == {"node1": "node1", "98fa9b50d810": "98:fa:9b:50:d8:10"}
    assert again.states.key() == writer.states.key()
    assert again.memory.newest == 5.0


def test_a_file_of_states_has_no_name_which_only_nodes_need(states: StateFile) -> None:
    with states.reading() as database:
        assert {name for (name,) in run(database, "SELECT name FROM install_settings").fetchall()} == {"key", "epoch"}
        assert {column.name for column in database.get_columns("events")} == {
            "revision",
            "shared",
            *COLUMNS.split(", "),
        }


def test_a_late_report_of_a_machine_that_was_forgotten_changes_nothing(writer: StateWriter) -> None:
    writer.write("node1", KS)
    writer.write("node1", Ordered(Order.FORGET, 2.0))
    writer.write("node1", Reported(ReportKind.INSTALLED, 1, 3.0))
    assert writer.all() == {}
    assert writer.history("node1") == []
    writer.write("node1", KS._replace(at=9.0))
    writer.write("node1", Reported(ReportKind.INSTALLED, 1, 10.0))
    assert writer.state("node1") is State.INSTALLING
    writer.write("node1", Reported(ReportKind.INSTALLED, 2, 11.0))
    assert writer.state("node1") is State.INSTALLED


def test_the_history_of_a_record(writer: StateWriter) -> None:
    writer.write("node1", Ordered(Order.ARM, 0.5))
    writer.write("node1", KS)
    writer.write("node1", Reported(ReportKind.FAILED, 2, 3.0, "no disk"), detail="no disk", body=b"the log")
    assert [(event.kind, event.detail, event.origin, event.body) for event in writer.history("NODE1")] == [
        ("armed", "", "admin API", b""),
        ("given", "ks", "192.0.2.1", b""),
        ("failed", "no disk", "192.0.2.1", b"the log"),
    ]


def test_a_record_with_many_events_keeps_its_state_and_the_last_of_them(writer: StateWriter) -> None:
    writer.write("node1", KS, {"98fa9b50d810": "98:fa:9b:50:d8:10"}, "rack")
    for number in range(_MANY):
        writer.write("node1", Reported(ReportKind.PROGRESS, 1, 2.0 + number, str(number)), detail=str(number))
    before = writer.all()["node1"]
    writer.write("node1", Reported(ReportKind.FAILED, 1, 1_000.0))
    again = StateWriter(writer.states)
    assert again.all()["node1"].identities == before.identities
    assert (again.state("node1"), again.all()["node1"].record.starts, again.all()["node1"].group) == (
        State.FAILED,
        1,
        "rack",
    )
    with writer.states.reading() as database:
        (kept,) = run(database, "SELECT count(*) FROM events").fetchone()
    assert kept < _MANY // 2
    history = writer.history("node1")
    assert [event.kind for event in history] == ["given", *["progress"] * MOST_NEWS, "failed"]


@pytest.mark.parametrize("brings", [0, 1, 12], ids=["says the same", "says one more each time", "says others"])
def test_the_events_of_a_machine_take_at_most_64_kb_whatever_it_says(states: StateFile, brings: int) -> None:
    process = Process(states)
    identities = [f"98fa9b{number:06x}" for number in range(64 + 60 * brings)]
    said = {one: MAC + one for one in identities[:60]}
    for number in range(60):
        process.give_to({"k1": f"{SERIAL}K1"} | said, f"document-{number % 7}")
        said = {one: MAC + one for one in identities[number * brings : number * brings + 60]}
        for word in (ReportKind.PROGRESS, ReportKind.FAILED):
            process.live.report(process.subject, Report(word, "\U0001f600" * 500), "\U0001f600" * 999, "192.0.2.1")
        if number % 9 == 0:
            process.live.flush()
    process.report_of(ReportKind.INSTALLED)
    process.live.flush()
    with states.reading() as database:
        query = (
            "SELECT record, sum(length(CAST(content AS BLOB)) + 2 * length(record) + 60) FROM events GROUP BY record"
        )
        sizes = dict(run(database, query).fetchall())
    assert sum(sizes.values()) < 65_536, sizes
    again = Process(states)
    assert again.live.current().state_of("k1") is State.INSTALLED
    assert again.live.current().by_identity.keys() == process.live.current().by_identity.keys()


def test_the_bodies_of_a_records_reports_are_bounded(writer: StateWriter) -> None:
    writer.write("node1", KS)
    for number in range(8):
        writer.write("node1", Reported(ReportKind.FAILED, 1, 3.0 + number), body=b"x" * (MOST_BODY_BYTES // 2 - number))
    writer.write("node2", Reported(ReportKind.FAILED, 1, 3.0), body=b"x" * MOST_BODY_BYTES)
    kept = [len(event.body) for event in writer.history("node1") if event.kind == "failed"]
    assert kept == [0] * 6 + [MOST_BODY_BYTES // 2 - 6, MOST_BODY_BYTES // 2 - 7]  # the last ones
    assert [len(event.body) for event in writer.history("node2")] == [MOST_BODY_BYTES]


def test_unknown_machines_are_counted_and_the_last_ones_kept(states: StateFile) -> None:
    states.note_sightings([Sighting("98:fa:9b:50:d8:10", 2, 2, '{"mac": "x"}')])
    states.note_sightings([Sighting("98-FA-9B-50-D8-10", 1, 3, "", 2)])  # another process saw it before
    (found,) = states.unknown()
    assert tuple(found) == ("98:fa:9b:50:d8:10", 1, 3, 3, '{"mac": "x"}', False)
    states.note_sightings([Sighting(f"serial{at}", 10 + at, 10 + at, "") for at in range(MOST_UNKNOWN)])
    found_now = states.unknown()
    assert len(found_now) == MOST_UNKNOWN
    assert found_now[0].machine == f"serial{MOST_UNKNOWN - 1}"
    assert found not in found_now


@pytest.mark.parametrize("what", ["vanished", "replaced"])
def test_a_file_that_vanishes_or_is_replaced_cannot_be_read_or_written(writer: StateWriter, what: str) -> None:
    writer.write("node1", KS)
    states = writer.states
    content = states.path.read_bytes()
    aside = states.path.with_suffix(".aside")
    os.rename(states.path, aside)
    if what == "replaced":
        states.path.write_bytes(content)
    with pytest.raises(StoreError, match=what):
        states.history(["node1"])
    with pytest.raises(StoreError, match=what):
        states.order(GivenOrder(Order.ARM, [one("node1")], 2.0, ""), (writer.memory, writer.position))
    with pytest.raises(StoreError, match=what):
        EventWriter(states).write([given("node2")._replace(id="a")])
    with pytest.raises(StoreError, match=what):
        EventReader(states)
    os.rename(aside, states.path)
    assert writer.state("node1") is State.INSTALLING


def test_a_file_of_states_needs_its_directory_and_says_whether_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    assert open_state_file(str(path), RULES)[1]
    assert not open_state_file(str(path), RULES)[1]
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match="is no directory"):
        open_state_file(str(tmp_path / "missing" / "state.db"), RULES)
    SqliteStore(tmp_path / "answers.db")
    with pytest.raises(StoreError, match="a database of documents"):
        open_state_file(str(tmp_path / "answers.db"), RULES)
    (tmp_path / "text").write_text("no database at all, but long enough to be looked at " * 20)
    with pytest.raises(StoreError, match="not a database"):
        open_state_file(str(tmp_path / "text"), RULES)


def test_a_full_disk_is_said_as_such() -> None:
    full = SqliteFile("/srv/s.db").fault("written", OSError(errno.ENOSPC, "No space left on device"))
    assert isinstance(full, StoreFull)
    assert str(full) == "the database /srv/s.db cannot be written: the disk is full"


# --- the states of a process -----------------------------------------------------------------------------------------


class Process:
    """A process of the service, without its listener."""

    def __init__(self, states: StateFile) -> None:
        self.at_fork = StatesAtFork(states, Config())
        self.live = LiveStates(self.at_fork, RequestLog("stderr", "off"))
        self.subject = TokenSubject("", "")

    def give(self, name: str) -> None:
        self.live.current()
        self.live.given([given(name, self.live.now())])
        awaited = self.live.awaited()
        assert awaited is not None
        fault = awaited()
        if fault:
            raise StatesUnknown(fault)

    def give_to(self, names: Names, document: str) -> None:
        requested = Requested(document, Gate.ANSWERS, Once.ON, self.live.now())
        decision = self.live.current().ask(Asked(names), requested)
        if decision.giving:
            self.subject = TokenSubject(decision.giving, decision.identity, decision.attempt)
        if decision.events:
            self.live.given(decision.events)
            awaited = self.live.awaited()
            assert awaited is None or not awaited()

    def report_of(self, word: ReportKind) -> bool:
        return self.live.report(self.subject, Report(word), "", "192.0.2.1")

    def report(self, name: str, word: ReportKind = ReportKind.INSTALLED) -> bool:
        return self.live.report(TokenSubject(f"g{name}", identity_of(name)), Report(word), "", "192.0.2.1")

    def state(self, name: str) -> State:
        memory = self.live.current()
        return memory.state(Asked({identity_of(name): NAME + name}), no_row)


@pytest.fixture
def two(states: StateFile) -> tuple[Process, Process]:
    return Process(states), Process(states)


def test_what_one_process_writes_counts_for_the_next_request_of_every_other(two: tuple[Process, Process]) -> None:
    first, second = two
    for number in range(20):
        name = f"node{number}"
        (first if number % 2 else second).give(name)
        (second if number % 2 else first).report(name)
        assert (first.state(name), second.state(name)) == (State.INSTALLED, State.INSTALLED)
    first.live.order([one("node1")], Order.ARM, "here")
    assert second.state("node1") is State.ARMED


def test_requests_that_are_there_together_have_others_writes_read_once(two: tuple[Process, Process]) -> None:
    first, second = two
    first.live.note_request()
    assert first.state("node1") is State.NEW
    second.give("node1")
    assert first.state("node1") is State.NEW
    first.live.note_request()
    assert first.state("node1") is State.INSTALLING


def test_a_process_that_has_much_to_read_knows_all_of_it_before_it_judges(two: tuple[Process, Process]) -> None:
    first, second = two
    for number in range(1_700):
        first.give(f"node{number}")
    last = gevent.spawn(second.state, "node1699")
    other = gevent.spawn(second.state, "node1699")
    gevent.joinall([last, other], raise_error=True)
    assert (last.value, other.value) == (State.INSTALLING, State.INSTALLING)


def counted_syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of events of each transaction that a process has written from now on."""
    written: list[int] = []
    write = EventWriter.write

    def counted(self: EventWriter, events: Sequence[Event]) -> None:
        written.append(len(events))
        write(self, events)

    monkeypatch.setattr(EventWriter, "write", counted)
    return written


def test_what_comes_together_shares_a_sync(states: StateFile, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(states)
    written = counted_syncs(monkeypatch)
    reports = [gevent.spawn(process.report, f"node{number}") for number in range(200)]
    givings = [gevent.spawn(process.give, f"other{number}") for number in range(200)]
    gevent.joinall(reports, raise_error=True)
    gevent.joinall(givings, raise_error=True)
    assert written == [400]
    assert process.state("node199") is State.INSTALLED
    assert process.state("other199") is State.INSTALLING


def test_what_comes_while_the_disk_is_busy_shares_the_next_sync(
    states: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(states)
    process.give("first")
    written = counted_syncs(monkeypatch)
    with blocked(states):
        early = gevent.spawn(process.give, "node0")
        loop_until(lambda: bool(written))
        late = [gevent.spawn(process.give, f"node{number}") for number in range(1, 50)]
        gevent.sleep(0.01)
        assert not any(one.dead for one in (early, *late))  # the loop goes on meanwhile
    gevent.joinall([early, *late], raise_error=True)
    assert written == [1, 49]


def test_a_commit_of_events_waits_for_the_disk(states: StateFile) -> None:
    writer = EventWriter(states)
    writer.write([given("node1")])
    assert writer._database is not None
    assert run(writer._database, "PRAGMA synchronous").fetchone() == (2,), "FULL"


@contextmanager
def blocked(states: StateFile) -> Iterator[None]:
    """Another program writes for the time of the block."""
    with closing(sqlite3.connect(states.path, isolation_level=None)) as program:
        program.execute("BEGIN IMMEDIATE")
        yield
        program.execute("ROLLBACK")


def test_what_cannot_be_written_is_not_given_not_reported_and_changes_nothing(
    states: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, other = Process(states), Process(states)
    monkeypatch.setattr("answerd.store.states.BUSY_SECONDS", 0.05)
    other.give("node1")
    assert process.state("node1") is State.INSTALLING
    with blocked(states):
        report, giving = gevent.spawn(process.report, "node1"), gevent.spawn(process.give, "node2")
        report.join()
        giving.join()
        assert isinstance(report.exception, StoreAway)
        assert isinstance(giving.exception, StatesUnknown)
        assert "another program is writing" in giving.exception.reason
        assert (process.state("node1"), process.state("node2")) == (State.INSTALLING, State.NEW)
    assert process.report("node1") is True
    process.give("node2")
    assert (other.state("node1"), other.state("node2")) == (State.INSTALLED, State.INSTALLING)


def test_a_fault_that_nobody_expects_is_told_to_all_that_wait_and_ends_nothing(
    states: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(states)

    def fail(self: EventWriter, events: Sequence[Event]) -> None:
        raise MemoryError

    monkeypatch.setattr(EventWriter, "write", fail)
    waiting = [gevent.spawn(process.give, f"node{number}") for number in range(2)]
    gevent.joinall(waiting)
    assert [type(one.exception) for one in waiting] == [MemoryError, MemoryError]
    monkeypatch.undo()
    process.give("node1")
    assert process.state("node1") is State.INSTALLING


def test_an_answer_waits_for_what_its_own_request_has_written_and_for_nothing_else(states: StateFile) -> None:
    process = Process(states)

    def repeated() -> None:
        assert process.live.awaited() is None

    with blocked(states):
        giving = gevent.spawn(process.give, "node1")
        gevent.sleep(0.01)
        gevent.spawn(repeated).get()
        assert not giving.dead
    giving.get()


def test_what_was_judged_before_a_restore_counts_among_restored_states(tmp_path: Path, states: StateFile) -> None:
    process = Process(states)
    copy = open_state_file(str(tmp_path / "copy.db"), RULES)[0]
    process.live.current()
    process.live.given([given("node1", process.live.now())])
    merge_states(copy.path, states.path)
    awaited = process.live.awaited()
    assert awaited is not None
    assert awaited() == ""
    assert (process.state("node1"), Process(states).state("node1")) == (State.INSTALLING, State.INSTALLING)


def loop_until(condition: Callable[[], object]) -> None:
    """Have the loop go on until a condition holds."""

    def holds() -> object:
        gevent.sleep(0.001)
        return condition()

    wait_until(holds)


def test_a_file_that_vanished_can_be_read_again_only_once_it_is_back(
    states: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    looks: list[None] = []
    process = Process(states)
    monkeypatch.setattr(process.live._read_log, "_log", lines.append)
    monkeypatch.setattr("answerd.server.live_states.POLL_SECONDS", 0.001)
    require = StateFile.require_same_file

    def looked(self: StateFile) -> None:
        looks.append(None)
        require(self)

    monkeypatch.setattr(StateFile, "require_same_file", looked)
    process.give("node1")
    process.state("node1")
    elsewhere = states.path.with_name("elsewhere")
    states.path.rename(elsewhere)
    watching = gevent.spawn(process.live.watch)
    try:
        loop_until(lambda: lines)
        with pytest.raises(StatesUnknown, match="has vanished"):
            process.give("node2")
        assert process.state("node1") is State.INSTALLING
        seen = len(looks)
        loop_until(lambda: len(looks) > seen + 3)
        assert [("cannot be read" in line) for line in lines] == [True]
        elsewhere.rename(states.path)
        loop_until(lambda: len(lines) > 1)
        assert "can be read again" in lines[1]
    finally:
        watching.kill()
    process.give("node2")


@pytest.mark.parametrize(("ahead", "warns"), [(-10.0, False), (50.0, False), (2 * 365 * 86_400.0, True)])
def test_a_clock_that_is_behind_the_states_is_said_at_the_start(states: StateFile, ahead: float, warns: bool) -> None:
    newest = time.time() + ahead
    states.order(GivenOrder(Order.ARM, [one("node1")], newest, "here"), (InstallMemory(RULES), Position()))
    warning = StatesAtFork(states, Config()).warning
    assert (moment(newest) in warning) is warns
    assert bool(warning) is warns


@pytest.mark.parametrize("order", Order)
def test_a_process_that_never_wrote_refuses_with_a_sentence_where_the_file_has_vanished(
    states: StateFile, order: Order
) -> None:
    states.order(GivenOrder(order, [one("node1")], 1.0, "here"), (InstallMemory(RULES), Position()))
    process = Process(states)
    states.path.rename(states.path.with_name("elsewhere"))
    process.live.current()
    assert process.live.key
    with pytest.raises(StatesUnknown, match="has vanished: do not restart the service"):
        process.give("node1")
    with pytest.raises(StoreError, match="has vanished"):
        process.report("node1")


def test_a_report_to_another_process_stays_where_a_record_is_dropped(
    states: StateFile, two: tuple[Process, Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two
    memory = first.live._memory
    monkeypatch.setattr(memory.strangers, "most", 1)
    monkeypatch.setattr(memory, "rules", Rules(grace=0, silence=-1.0))
    first.give("node1")
    first.live.current()
    later = Requested("ks", Gate.ANSWERS, Once.ON, first.live.now() + 1)
    assert memory.ask(Asked({"node2": NAME + "node2"}), later).refused is None
    assert [*memory.evicted] == ["node1"]
    second.report("node1")
    first.live.flush()
    assert StateWriter(states).state("node1") is State.INSTALLED
    assert first.state("node1") is State.INSTALLED


def test_an_event_is_read_that_follows_one_that_is_not_kept(two: tuple[Process, Process]) -> None:
    first, second = two
    first.give("node1")
    first.live.order([one("node1")], Order.FORGET, "")
    first.report("node1")  # with a URL of before, which is not kept
    assert second.state("node1") is State.NEW
    first.live.flush()
    first.report("node2")
    assert second.state("node2") is State.INSTALLED


def test_a_write_that_fails_drops_no_sighting(states: StateFile, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(states)
    facts = Facts(Request("/ks", "mac=98fa9b50d810"))
    process.live.unclaimed(Catalogue(), facts)

    def fail(self: StateFile, sightings: object) -> None:
        raise StoreFull("the disk is full")

    monkeypatch.setattr(StateFile, "note_sightings", fail)
    process.live.flush()
    process.live.unclaimed(Catalogue(), facts)
    monkeypatch.undo()
    process.live.flush()
    (found,) = states.unknown()
    assert (found.machine, found.asked) == ("98fa9b50d810", 2)
    assert "98fa9b50d810" in found.facts


def test_machines_that_ask_often_are_noted_together_with_their_facts(
    states: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Process(states).live
    written: list[list[Sighting]] = []
    monkeypatch.setattr(StateFile, "note_sightings", lambda _, sightings: written.append([*sightings]))
    for _ in range(2):
        for _ in range(500):
            live.unclaimed(Catalogue(), Facts(Request("/ks", "mac=98fa9b50d810")))
        live.flush()
    assert [[(one.asked, bool(one.facts)) for one in batch] for batch in written] == 2 * [[(500, True)]]


def test_the_machines_that_wait_to_be_noted_are_bounded(states: StateFile, monkeypatch: pytest.MonkeyPatch) -> None:
    live = Process(states).live
    written: list[int] = []
    monkeypatch.setattr(StateFile, "note_sightings", lambda _, sightings: written.append(len(sightings)))
    for number in range(MOST_SIGHTINGS + 500):
        live.unclaimed(Catalogue(), Facts(Request("/ks", f"serial=serial{number}")))
    live.flush()
    assert written == [MOST_SIGHTINGS]


@pytest.mark.parametrize("grown", [False, True], ids=["backup of now", "grown past the backup"])
def test_a_restore_counts_for_the_next_request_of_every_process(tmp_path: Path, states: StateFile, grown: bool) -> None:
    """Also where the backup has as many events as the running service, or fewer."""
    processes = [Process(states), Process(states)]
    key = processes[0].live.key
    for name in ("node1", "node2"):
        processes[0].give(name)
        processes[0].report(name)
    (tmp_path / "answers").mkdir()
    backup_directory(tmp_path / "answers", tmp_path / "backup", states=states.path)
    processes[0].live.order([one("node1")], Order.FORGET, "")
    if grown:
        for number in range(5):
            processes[1].give(f"later{number}")
    restore_directory(tmp_path / "backup", tmp_path / "restored", states=states.path, force=True)
    for process in processes:
        assert process.state("node1") is State.NEW  # the order knew the report
        assert process.state("node2") is State.INSTALLED
        assert process.state("later1") is (State.INSTALLING if grown else State.NEW)
        assert process.live.key == key


def test_events_of_a_newer_version_stay_and_stop_nothing(states: StateFile) -> None:
    """Nodes of two versions share a database while they are upgraded, and each tidies it."""
    process = Process(states)
    process.give("node1")
    statement = f"INSERT INTO events ({COLUMNS}, shared) VALUES (?, 0.5, 'node1', 'node1', ?, ?, NULL, 0)"
    newer = {"a": "forgotten", "b": "quarantined"}
    with states.writing() as database:
        for one_id, kind in newer.items():
            run(database, statement, (one_id, kind, '{"attempt": [["c", "an order of later", 1.0]]}'))
        rows = [given("node1", at=1.0 + number)._replace(detail="d" * 1_000) for number in range(60)]
        insert(database, rows, 0)
        tidy(database, ["node1"])
        kept = dict(run(database, "SELECT id, kind FROM events").fetchall())
    assert "summary" in kept.values()
    assert {one_id: kept.get(one_id) for one_id in newer} == newer


def test_the_key_of_imported_states_counts_at_once(tmp_path: Path, states: StateFile) -> None:
    process = Process(states)
    other = open_state_file(str(tmp_path / "other.db"), RULES)[0]
    Process(other).give("node1")
    assert process.live.key != other.key()
    take_states(other, states)
    assert process.state("node1") is State.INSTALLING
    assert process.live.key == other.key()


def test_the_key_of_a_restored_backup_counts_at_once(tmp_path: Path, states: StateFile) -> None:
    process = Process(states)
    other = open_state_file(str(tmp_path / "other.db"), RULES)[0]
    assert process.live.key != other.key()
    merge_states(other.path, states.path)
    process.live.current()
    assert process.live.key == other.key()
