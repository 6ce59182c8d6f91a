"""The write guard: what it lets through is durable and in force, what it refuses leaves no trace."""

from __future__ import annotations

import random
from collections.abc import Callable, Set
from pathlib import Path
from time import monotonic

import gevent
import pytest
from gevent.event import Event
from gevent.lock import RLock

from answerd import write_guard
from answerd.answers.catalogue import Catalogue
from answerd.answers.last_words import LastWords
from answerd.answers.problems import ProblemIndex
from answerd.answers.resolve import resolve
from answerd.documents import Key, RawDocument
from answerd.etags import UNCONDITIONAL, Conditions
from answerd.facts import facts_of
from answerd.identity import Kind
from answerd.server.answer_set import SetFollower, WriteCounter
from answerd.server.document_writes import DocumentWrites
from answerd.server.threads import native_lock
from answerd.store import Author, Changes, HistoryFilter, StoreError
from answerd.store.loader import Loader
from answerd.store.sqlite import SqliteStore, SqliteTransaction
from answerd.write_guard import (
    WHENEVER,
    BreaksTheSet,
    ConditionFailed,
    NoSuchDocument,
    Times,
    WriteRefused,
    WrittenDocument,
)
from tests.support.admin import Admin
from tests.support.waiting import PATIENCE, wait_until
from tests.support.writes import put

pytestmark = pytest.mark.long

PEER = Author("192.0.2.1")
BASE = Key(Kind.GROUP, "base", "toml")
NODE = Key(Kind.MACHINE, "node1", "toml")


@pytest.fixture
def admin(in_memory: Path) -> Admin:
    return Admin(in_memory / "answers.db")


def answer(admin: Admin, name: str = "node1") -> str:
    return resolve(admin.follower.current(), facts_of([name])).body.decode()


def in_store(admin: Admin) -> dict[str, str]:
    return {stored.key.identifier: stored.body.decode() for stored in SqliteStore(admin.store.path).all()}


def in_catalogue(admin: Admin) -> dict[str, str]:
    return {raw.key.identifier: raw.text for raw in admin.follower.current().documents}


def test_a_request_looks_at_the_store_only_after_a_write(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    admin.guard.put(NODE, "x = 1\n", PEER)
    admin.follower.current()
    monkeypatch.setattr(admin.store, "changes", lambda: pytest.fail("a look at the store on the way of an answer"))

    admin.follower.current()


def test_a_store_that_cannot_be_read_costs_no_answer(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    admin.guard.put(NODE, "x = 1\n", PEER)

    def fail() -> None:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(admin.store, "changes", fail)
    admin.generation.bump()

    assert answer(admin) == "x = 1\n"


def test_a_request_that_is_woken_before_the_lock_is_free_waits_again(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken = [AssertionError((0, True, None, True))]
    plain = RLock.acquire

    def early(lock: RLock, blocking: bool = True, timeout: float | None = None) -> object:
        if woken:
            raise woken.pop()
        return plain(lock, blocking, timeout)

    put(admin.store, NODE, "x = 1\n")
    monkeypatch.setattr(RLock, "acquire", early)
    admin.generation.bump()
    assert answer(admin) == "x = 1\n"
    assert woken == []


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        pytest.param(BASE, 'extends = "base"\n', "cycle", id="a group that extends itself"),
        pytest.param(BASE, 'extends = "ghost"\n', "ghost", id="a group that extends nothing"),
        pytest.param(NODE, 'extends = "ghost"\n', "ghost", id="a machine that extends nothing"),
        pytest.param(
            Key(Kind.MACHINE, "proxmox", "toml"), "x = 1\n", "URL segment", id="a machine named like an alias"
        ),
    ],
)
def test_a_put_that_would_break_the_set_leaves_no_trace(admin: Admin, key: Key, text: str, problem: str) -> None:
    admin.guard.put(BASE, "x = 1\n", PEER)
    admin.guard.put(NODE, 'extends = "base"\n', PEER)
    before = in_store(admin), in_catalogue(admin), admin.generation.value

    with pytest.raises(BreaksTheSet) as refused:
        admin.guard.put(key, text, PEER)

    assert len(refused.value.problems) == 1
    assert problem in refused.value.problems[0]
    assert (in_store(admin), in_catalogue(admin), admin.generation.value) == before


def test_problems_that_exist_already_hinder_no_write_and_are_listed(admin: Admin) -> None:
    put(admin.store, Key(Kind.MACHINE, "broken", "toml"), "= =")
    put(admin.store, Key(Kind.MACHINE, "orphan", "toml"), 'extends = "base"')

    written = admin.guard.put(NODE, "x = 1\n", PEER)
    assert [problem.partition(":")[0] for problem in written.problems] == [
        'machine "broken" (toml)',
        'machine "orphan" (toml)',
    ]

    written = admin.guard.put(BASE, "x = 1\n", PEER)
    assert [problem.partition(":")[0] for problem in written.problems] == ['machine "broken" (toml)']
    assert admin.guard.delete(Key(Kind.MACHINE, "broken", "toml"), PEER).problems == ()


def test_what_another_program_wrote_counts_before_the_look(admin: Admin) -> None:
    admin.guard.put(BASE, "x = 1\n", PEER)
    put(SqliteStore(admin.store.path), NODE, 'extends = "base"\n')

    with pytest.raises(BreaksTheSet, match="node1"):
        admin.guard.delete(BASE, PEER)


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        pytest.param(Conditions(if_match="{tag}"), True, id="the current tag"),
        pytest.param(Conditions(if_match='"x", {tag}'), True, id="the current tag in a list"),
        pytest.param(Conditions(if_match="*"), True, id="any"),
        pytest.param(Conditions(if_match='"x"'), False, id="a stale tag"),
        pytest.param(Conditions(if_match="W/{tag}"), False, id="a weak tag"),
        pytest.param(Conditions(if_match=""), False, id="an empty header"),
        pytest.param(Conditions(if_none_match="*"), False, id="none at all"),
        pytest.param(Conditions(if_none_match="W/{tag}"), False, id="not this, weakly"),
        pytest.param(Conditions(if_none_match='"x"'), True, id="not another"),
    ],
)
def test_a_write_on_condition(admin: Admin, conditions: Conditions, holds: bool) -> None:
    tag = admin.guard.put(NODE, "x = 1\n", PEER).etag
    asked = Conditions(
        conditions.if_match and conditions.if_match.replace("{tag}", tag),
        conditions.if_none_match and conditions.if_none_match.replace("{tag}", tag),
    )

    if holds:
        assert admin.guard.put(NODE, "x = 2\n", PEER, asked).etag != tag
    else:
        with pytest.raises(ConditionFailed):
            admin.guard.put(NODE, "x = 2\n", PEER, asked)
        assert in_store(admin) == {"node1": "x = 1\n"}


def test_a_commit_that_fails_changes_nothing_and_the_next_succeeds(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.guard.put(NODE, "x = 1\n", PEER)

    def full(writing: SqliteTransaction) -> None:
        raise StoreError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(SqliteTransaction, "commit", full)
        with pytest.raises(StoreError, match="full"):
            admin.guard.put(NODE, "x = 2\n", PEER)
    assert in_store(admin) == in_catalogue(admin) == {"node1": "x = 1\n"}

    admin.guard.put(NODE, "x = 3\n", PEER)
    assert in_store(admin) == in_catalogue(admin) == {"node1": "x = 3\n"}


def test_twenty_writers_at_once_are_answered_truthfully(tmp_path: Path) -> None:
    """Two guards, as two processes would be, over one file: the final set is the acknowledged writes in order."""
    services = [_threaded(tmp_path / "answers.db") for _ in range(2)]
    acknowledged: list[tuple[int, str, str | None]] = []
    seen: set[str] = set()
    choose = random.Random(4)

    def write(number: int) -> None:
        writes = services[number % 2]
        for turn in range(8):
            name = choose.choice("abc")
            text = choose.choice([f"x = {number}\ny = {turn}\n", 'extends = "ghost"\n', None])
            key = Key(Kind.MACHINE, name, "toml")
            try:
                if text:
                    written = _put(writes, key, text)
                else:
                    written = writes.make(WHENEVER, writes.guard.delete, key, PEER, UNCONDITIONAL)
            except (BreaksTheSet, NoSuchDocument):
                continue
            acknowledged.append((int(written.etag.strip('"').partition("-")[0]), name, text))

    def read(writes: DocumentWrites) -> None:
        while not written.ready():
            writes.follower.refresh()
            seen.update(raw.text for raw in writes.follower.catalogue.documents)
            gevent.sleep(0.001)

    written = Event()
    readers = [gevent.spawn(read, writes) for writes in services]
    gevent.joinall([gevent.spawn(write, number) for number in range(20)], timeout=PATIENCE, raise_error=True)
    written.set()
    gevent.joinall(readers, timeout=PATIENCE, raise_error=True)

    expected: dict[str, str] = {}
    for _, name, text in sorted(acknowledged):
        expected.pop(name, None)
        if text is not None:
            expected[name] = text
    stored = {
        document.key.identifier: document.body.decode() for document in SqliteStore(tmp_path / "answers.db").all()
    }
    assert len(acknowledged) > 40
    assert len({revision for revision, _, _ in acknowledged}) == len(acknowledged)
    assert stored == expected
    assert 'extends = "ghost"\n' not in seen
    for writes in services:
        writes.follower.refresh()
        assert {raw.key.identifier: raw.text for raw in writes.follower.catalogue.documents} == expected


def _threaded(path: Path) -> DocumentWrites:
    """As in a service: writes have a thread of their own."""
    return DocumentWrites(SetFollower(Loader(SqliteStore(path)), WriteCounter()))


def _put(writes: DocumentWrites, key: Key, text: str, times: Times = WHENEVER) -> WrittenDocument:
    return writes.make(times, writes.guard.put, key, text, PEER, UNCONDITIONAL)


def test_a_writer_that_waits_for_another_program_lets_other_greenlets_run(tmp_path: Path) -> None:
    writes = _threaded(tmp_path / "answers.db")
    with SqliteStore(tmp_path / "answers.db").writing():
        waiting = gevent.spawn(_put, writes, NODE, "x = 1\n")
        with gevent.Timeout(PATIENCE):
            for _ in range(20):
                gevent.sleep(0.001)
        assert not waiting.ready()
    waiting.get(timeout=PATIENCE)


def test_requests_that_wait_for_a_write_load_it_once(tmp_path: Path) -> None:
    looks = []

    def look(refresh: Callable[[], bool]) -> bool:
        looks.append(refresh)
        gevent.sleep(0)  # the thread: other requests come meanwhile
        return refresh()

    writes = WriteCounter()
    follower = SetFollower(Loader(SqliteStore(tmp_path / "answers.db")), writes, look)
    writes.bump()
    gevent.joinall([gevent.spawn(follower.current) for _ in range(20)], timeout=PATIENCE, raise_error=True)
    assert len(looks) == 1


# --- writes that wait ----------------------------------------------------------------------------------------------


def in_time(seconds: float) -> Times:
    return Times(begin_by=monotonic() + seconds)


def test_a_write_that_waits_for_another_one_gives_up_when_its_response_is_due(tmp_path: Path) -> None:
    writes, free = _threaded(tmp_path / "answers.db"), native_lock()
    with free:
        first = gevent.spawn(writes.make, WHENEVER, lambda _: free.acquire(timeout=PATIENCE))
        gevent.sleep(0)
        with pytest.raises(StoreError, match="was not begun"):
            _put(writes, NODE, "x = 1\n", in_time(0.05))
    assert first.get(timeout=PATIENCE)
    assert writes.store.keys() == []
    _put(writes, NODE, "x = 2\n")
    assert writes.store.keys() == [NODE]


def test_writes_are_made_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    writes = _threaded(tmp_path / "answers.db")
    names = [f"n{number}" for number in range(20)]
    waiting = [gevent.spawn(_put, writes, Key(Kind.MACHINE, name, "toml"), "x = 1\n") for name in names]
    gevent.joinall(waiting, timeout=PATIENCE, raise_error=True)
    assert [entry.key.identifier for entry in writes.store.history(HistoryFilter())][::-1] == names


def test_a_write_that_waits_for_the_answer_set_gives_up_when_its_response_is_due(admin: Admin) -> None:
    with admin.follower.held(0.0), pytest.raises(StoreError, match="was not begun"):
        admin.guard.put(NODE, "x = 1\n", PEER, times=in_time(0.05))
    assert in_store(admin) == {}
    admin.guard.put(NODE, "x = 2\n", PEER)  # the database's lock has been given back
    assert in_store(admin) == {"node1": "x = 2\n"}


def test_a_write_whose_response_is_due_is_not_begun(admin: Admin) -> None:
    with pytest.raises(StoreError, match="was not begun"):
        admin.guard.put(NODE, "x = 1\n", PEER, times=in_time(0.0))
    assert in_store(admin) == in_catalogue(admin) == {}


def test_a_write_that_is_ready_after_its_deadline_is_undone(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    times, judge = Times(commit_by=monotonic() + 0.01), write_guard._judged

    def late(before: ProblemIndex, catalogue: Catalogue, changes: Changes) -> ProblemIndex:
        after: ProblemIndex = judge(before, catalogue, changes)
        wait_until(lambda: monotonic() >= times.commit_by)
        return after

    monkeypatch.setattr(write_guard, "_judged", late)
    with pytest.raises(StoreError, match="was undone"):
        admin.guard.put(NODE, "x = 1\n", PEER, times=times)
    assert in_store(admin) == in_catalogue(admin) == {}


# --- what is new ------------------------------------------------------------------------------------------------------

TABLE = Key(Kind.INVENTORY, "default", "csv")
LAB = Key(Kind.INVENTORY, "lab", "csv")


def unguarded(admin: Admin, texts: dict[Key, str]) -> None:
    """Have a program that knows no guard write documents."""
    with admin.store.writing() as transaction:
        transaction.write([RawDocument(key, text) for key, text in texts.items()])
        transaction.commit()


def is_taken(admin: Admin, key: Key, text: str) -> bool:
    try:
        admin.guard.put(key, text, PEER)
    except WriteRefused:
        return False
    return True


def test_to_take_away_one_of_three_rows_with_one_identity_is_no_new_problem(admin: Admin) -> None:
    unguarded(admin, {TABLE: "id,note\nX-1,a\nY-2,b\nX-1,c\n", LAB: "serial,note\nX-1,a\n"})
    assert is_taken(admin, TABLE, "id,note\nX-1,a\nY-2,b\n")
    assert is_taken(admin, TABLE, "id,note\nX-1,changed\nY-2,b\n")
    assert not is_taken(admin, TABLE, "id,note\nX-1,a\nY-2,b\nX-1,c\n")
    assert is_taken(admin, TABLE, "id,note\nY-2,b\n")
    assert not is_taken(admin, TABLE, "id,note\nX-1,a\nY-2,b\n")


def test_the_sentence_about_rows_with_one_identity_is_the_same_whichever_was_read_first(admin: Admin) -> None:
    unguarded(admin, {TABLE: "id,note\nX-1,a\n", LAB: "serial,note\nX-1,a\n"})
    said = []
    for number in range(3):
        said.append(admin.guard.put(TABLE, f"id,note\nX-1,{number}\n", PEER).problems)
        said.append(admin.guard.put(LAB, f"serial,note\nX-1,{number}\n", PEER).problems)
    assert len(set(said)) == 1
    assert "columns id and serial" in said[0][0]


@pytest.mark.parametrize("seed", range(4))
def test_a_table_is_refused_where_more_rows_have_one_identity_than_before(admin: Admin, seed: int) -> None:
    rng = random.Random(seed)

    def drawn() -> list[tuple[str, str]]:
        return [(rng.choice(["", "n1", "n2"]), rng.choice(["", "S-1", "S-2"])) for _ in range(rng.randrange(5))]

    def counts(rows: list[tuple[str, str]]) -> dict[str, int]:
        """How many rows have each identity that several have."""
        found = {name: sum(name in row for row in rows) for name in ("n1", "n2", "S-1", "S-2")}
        return {name: count for name, count in found.items() if count > 1}

    def text(rows: list[tuple[str, str]]) -> str:
        return "id,serial,note\n" + "".join(f"{name},{serial},{rng.random()}\n" for name, serial in rows)

    for _ in range(30):
        before, after = ([row for row in drawn() if any(row)] for _ in range(2))
        if rng.random() < 0.5:  # most tables are edited, not replaced
            after = [row for row in before if rng.random() < 0.8]
        unguarded(admin, {TABLE: text(before)})
        known = counts(before)
        expected = all(count <= known.get(name, 0) for name, count in counts(after).items())
        assert is_taken(admin, TABLE, text(after)) == expected, (before, after)


def test_a_problem_of_documents_is_the_same_while_what_is_wrong_with_which_is(admin: Admin) -> None:
    cycle = {Key(Kind.GROUP, f"g{at}", "toml"): f'extends = "g{(at + 1) % 3}"\n' for at in range(3)}
    lost = Key(Kind.MACHINE, "lost", "toml")
    unguarded(admin, cycle | {lost: 'extends = "none"\n'})
    first = next(iter(cycle))
    assert is_taken(admin, first, 'extends = "g1"\nx = 1\n')
    assert is_taken(admin, lost, 'extends = "none"\nx = 1\n')
    assert not is_taken(admin, lost, 'extends = "another"\n')
    assert is_taken(admin, first, "x = 1\n")
    assert not is_taken(admin, first, 'extends = "g1"\n')


def test_what_follows_the_commit_does_not_make_a_write_look_failed(in_memory: Path) -> None:
    def words(of: Set[str] | None = None) -> LastWords:
        raise RuntimeError("the contacts are no rows")

    admin = Admin(in_memory / "answers.db", words=words)
    assert admin.put("/groups/web?format=ks", "# answer: match product=R750\nlang C\n").status == 200
    for text in ("id,role\nweb-1,web\n", "id,role\nweb-1,db\n"):
        stored = admin.put("/inventory/default", text)
        assert (stored.status, "machines" in stored.json) == (200, False)
    assert admin.get("/inventory/default").text == "id,role\nweb-1,db\n"
    sentence = "which machines lose their answer is not known: RuntimeError: the contacts are no rows"
    assert sentence in admin.log
