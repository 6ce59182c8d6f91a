"""The tables of installs: what is written is there, after a restart too, and a file that is another one is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from answerd.formats.family import Once
from answerd.installs.memory import InstallMemory, Remembered, Visitor, state_of
from answerd.installs.states import Asked, Gate, Order, Ordered, Record, Refusal, Reported, ReportKind, Rules, State
from answerd.store import StoreError
from answerd.store.install_batch import MOST_NEWS, MOST_UNKNOWN, PendingEvent, Sighting
from answerd.store.install_tables import MOST_EVENTS
from answerd.store.installs import InstallStore, open_state_file
from answerd.store.sqlite import SqliteStore
from answerd.store.sqlite_file import SqliteFile

RULES = Rules()


@pytest.fixture(params=["own file", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> InstallStore:
    """Empty states, in a file of their own and in a database of documents."""
    path = tmp_path / "state.db"
    if request.param == "own file":
        return open_state_file(str(path))[0]
    SqliteStore(path)
    return InstallStore(SqliteFile(path))


def given(name: str = "node1", at: float = 1, document: str = "ks", **identities: str) -> PendingEvent:
    """A document that was given."""
    asked = Asked(document, Gate.ANSWERS, Once.ON, at)
    return PendingEvent(name, asked, {name: name, **identities}, "rack", detail=document, origin="192.0.2.1")


def reported(
    word: ReportKind, name: str = "node1", at: float = 2, attempt: int = 1, message: str | None = None
) -> PendingEvent:
    """A report."""
    return PendingEvent(name, Reported(word, attempt, at, message), detail=message or "", body=b"the log")


def ordered(order: Order, name: str = "node1", at: float = 3) -> PendingEvent:
    """An operator's order."""
    return PendingEvent(name, Ordered(order, at), {name: name}, origin="admin API")


def the(store: InstallStore) -> Remembered:
    """The only record."""
    (remembered,) = store.all()
    return remembered


def test_a_record_comes_back_as_it_was_written(store: InstallStore) -> None:
    store.write([given(at=1, abc="ABC"), reported(ReportKind.PROGRESS, message="packages")], RULES)
    remembered = the(store)
    assert remembered.identities == {"node1": "node1", "abc": "ABC"}
    assert remembered.group == "rack"
    assert remembered.record == Record(
        "node1", 1, State.INSTALLING, since=1, starts=1, given={"ks": 1}, heard=2, message="packages"
    )
    assert InstallStore(SqliteFile(store.path)).all() == [remembered]


def test_what_changed_since_a_look_is_read_and_no_more(store: InstallStore) -> None:
    first = store.changes_since(-1)
    assert first is not None
    assert first.whole
    assert store.changes_since(first.revision) is None
    written = store.write([given("node1"), given("node2")], RULES)
    assert written.changes.revision == first.revision + 1
    seen = store.changes_since(first.revision)
    assert seen is not None
    assert sorted(remembered.record.name for remembered in seen.remembered) == ["node1", "node2"]
    store.write([reported(ReportKind.INSTALLED, "node2")], RULES)
    last = store.changes_since(seen.revision)
    assert last is not None
    assert [remembered.record.state for remembered in last.remembered] == [State.INSTALLED]
    store.write([ordered(Order.FORGET, "node2")], RULES)
    gone = store.changes_since(last.revision)
    assert gone is not None
    assert (list(gone.remembered), gone.forgotten) == ([], {"node2": 1})


def test_an_event_of_another_process_is_worked_in_on_top_of_what_is_there(store: InstallStore) -> None:
    other = InstallStore(SqliteFile(store.path))
    store.write(
        [reported(ReportKind.INSTALLED, at=5)], RULES
    )  # before the giving is written: the token tells the machine
    written = other.write([given(at=1, mac="98fa")], RULES)
    assert written.applied[0].outcome.record.given == {"ks": 1}
    assert the(store).record.state is State.INSTALLED
    assert the(store).identities == {"node1": "node1", "mac": "98fa"}


def test_a_late_report_of_a_machine_that_was_forgotten_changes_nothing(store: InstallStore) -> None:
    store.write([given(), ordered(Order.FORGET), reported(ReportKind.INSTALLED)], RULES)
    assert store.all() == []
    store.write([given(at=9)], RULES)
    assert the(store).record.attempt == 2
    store.write([reported(ReportKind.INSTALLED, at=10)], RULES)
    assert the(store).record.state is State.INSTALLING
    store.write([reported(ReportKind.INSTALLED, at=11, attempt=2)], RULES)
    assert the(store).record.state is State.INSTALLED


def test_the_history_of_a_record_and_its_bounds(store: InstallStore) -> None:
    store.write(
        [ordered(Order.ARM, at=0), given(at=1), reported(ReportKind.FAILED, attempt=2, message="no disk")], RULES
    )
    assert [(event.what, event.detail, event.origin, event.body) for event in store.history("NODE1")] == [
        ("armed", "", "admin API", b""),
        ("given", "ks", "192.0.2.1", b""),
        ("failed", "no disk", "", b"the log"),
    ]
    news = [reported(ReportKind.PROGRESS, at=at, attempt=2, message=str(at)) for at in range(3, 3 + 2 * MOST_NEWS)]
    store.write(news, RULES)
    history = store.history("node1")
    assert [event.what for event in history[:3]] == ["armed", "given", "failed"]
    assert [event.detail for event in history[3:]] == [str(at) for at in range(3 + MOST_NEWS, 3 + 2 * MOST_NEWS)]
    store.write([given(at=at) for at in range(200, 200 + MOST_EVENTS)], RULES)
    history = store.history("node1")
    assert len(history) == MOST_EVENTS
    assert [event.at for event in history] == sorted(event.at for event in history)
    store.write([ordered(Order.FORGET)], RULES)
    assert store.history("node1") == []


def test_a_start_that_was_refused_is_noted_and_adds_no_identity(store: InstallStore) -> None:
    rules = Rules(starts=1, start=2)
    store.write([given(at=1)], rules)
    refused = PendingEvent("node1", Asked("ks", Gate.ANSWERS, Once.ON, 9), detail="ks", was_refused=True)
    store.write([refused, refused], rules)
    assert the(store).record.state is State.EXHAUSTED
    assert [event.what for event in store.history("node1")] == ["given", "refused"]
    store.write([ordered(Order.ARM, at=10), refused], rules)
    assert the(store).record.state is State.ARMED


def test_unknown_machines_are_counted_and_the_last_ones_kept(store: InstallStore) -> None:
    store.write([], RULES, [Sighting("98:fa:9b:50:d8:10", 1, '{"mac": "x"}'), Sighting("98-FA-9B-50-D8-10", 2, "")])
    (found,) = store.unknown()
    assert tuple(found) == ("98:fa:9b:50:d8:10", 1, 2, 2, '{"mac": "x"}', False)
    store.write([], RULES, [Sighting(f"serial{at}", 10 + at, "") for at in range(MOST_UNKNOWN)])
    found_now = store.unknown()
    assert len(found_now) == MOST_UNKNOWN
    assert found_now[0].machine == f"serial{MOST_UNKNOWN - 1}"
    assert found not in found_now


def test_the_key_stays_and_time_does_not_go_back(store: InstallStore) -> None:
    store.write([given(at=1e9)], RULES)
    again = InstallStore(SqliteFile(store.path))
    assert again.key == store.key
    assert len(again.key) == 32
    assert again.newest == 1e9


@pytest.mark.parametrize("what", ["vanished", "replaced"])
def test_a_file_that_vanishes_or_is_replaced_cannot_be_read_or_written(store: InstallStore, what: str) -> None:
    store.write([given()], RULES)
    content = store.path.read_bytes()
    aside = store.path.with_suffix(".aside")
    os.rename(store.path, aside)
    if what == "replaced":
        store.path.write_bytes(content)
    with pytest.raises(StoreError, match=what):
        store.changes_since(-1)
    with pytest.raises(StoreError, match=what):
        store.write([reported(ReportKind.INSTALLED)], RULES)
    with pytest.raises(StoreError, match=what):
        store.all()
    os.rename(aside, store.path)
    assert the(store).record.state is State.INSTALLING


def test_a_write_that_fails_leaves_no_trace(store: InstallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write([given()], RULES)
    store.close()  # the next connection has the shorter wait
    blocker = SqliteFile(store.path).connect(0)
    blocker.begin("EXCLUSIVE")
    monkeypatch.setattr("answerd.store.installs.WRITER_WAIT_SECONDS", 0)
    with pytest.raises(StoreError, match="locked"):
        InstallStore.write(store, [reported(ReportKind.INSTALLED)], RULES)
    blocker.rollback()
    blocker.close()
    assert the(store).record.state is State.INSTALLING


def test_a_file_of_states_needs_its_directory_and_says_whether_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    assert open_state_file(str(path))[1]
    assert not open_state_file(str(path))[1]
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match="is no directory"):
        open_state_file(str(tmp_path / "missing" / "state.db"))
    SqliteStore(tmp_path / "answers.db")
    with pytest.raises(StoreError, match="a database of documents"):
        open_state_file(str(tmp_path / "answers.db"))
    (tmp_path / "text").write_text("no database at all, but long enough to be looked at " * 20)
    with pytest.raises(StoreError, match="not a database"):
        open_state_file(str(tmp_path / "text"))


# --- memory ----------------------------------------------------------------------------------------------------------


def test_records_are_found_by_any_identity_and_never_joined() -> None:
    memory = InstallMemory(
        [Remembered(Record("a"), {"a": "a", "mac1": "mac1"}), Remembered(Record("b"), {"b": "b", "x": "x"})]
    )
    assert memory.intersection(["mac1", "zz"]) == {"mac1"}
    assert [remembered.record.name for remembered in memory.found_by(["x", "mac1"])] == ["b", "a"]
    assert [remembered.record.name for remembered in memory.found_by(["x", "mac1"], "a")] == ["a", "b"]
    memory.put(Remembered(Record("a"), {"a": "a"}))
    assert memory.found_by(["mac1"]) == []
    memory.forget("a", 3)
    assert memory.found_by(["a"], "a") == []
    assert memory.new("A").attempt == 4


def test_what_is_refused_to_one_record_is_refused_to_the_request() -> None:
    installed = Remembered(Record("a", state=State.INSTALLED), {"a": "a"})
    memory = InstallMemory([installed, Remembered(Record("b", state=State.ARMED, was_armed=True), {"b": "b"})])
    found = memory.found_by(["b", "a"])
    judged = memory.judge(Visitor("b"), found, Asked("ipxe", Gate.LOADER, Once.ON, 1), RULES)
    assert (judged.refusal, judged.refuser) == (Refusal.INSTALLED, installed.record)
    assert judged.outcomes == ()
    assert state_of(found) is State.INSTALLED
    assert state_of([]) is State.NEW


def test_machines_are_counted_by_state() -> None:
    def record_of(name: str, state: State) -> Remembered:
        return Remembered(Record(name, state=state), {name: name})

    memory = InstallMemory([record_of("a", State.INSTALLED), record_of("b", State.ARMED)])
    memory.put(record_of("B", State.INSTALLING))
    memory.put(record_of("c", State.INSTALLED))
    memory.forget("a", 1)
    memory.forget("a", 1)

    assert {state: number for state, number in memory.by_state.items() if number} == {
        State.INSTALLED: 1,
        State.INSTALLING: 1,
    }


def test_silent_machines_are_counted_among_those_that_install() -> None:
    def record_of(name: str, state: State, heard: float) -> Remembered:
        return Remembered(Record(name, state=state, heard=heard), {name: name})

    memory = InstallMemory(
        [record_of("a", State.INSTALLING, 1), record_of("b", State.COPIED, 1), record_of("c", State.INSTALLED, 1)]
    )
    memory.put(record_of("d", State.INSTALLING, 2))
    pauses: list[None] = []

    def silent(now: float) -> int:
        return memory.silent(now, Rules(silence=10), lambda: pauses.append(None))

    assert [silent(11), silent(12), silent(13)] == [0, 2, 3]
    assert pauses
    memory.put(record_of("A", State.INSTALLED, 12))
    memory.forget("b", 1)
    assert silent(13) == 1
