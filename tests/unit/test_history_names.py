"""The history of a name is found in every spelling of it, by an index: docs/admin-api.md#history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from answerd.console import changes
from answerd.console.changes import with_texts
from answerd.documents import Key, RawDocument
from answerd.identity import Kind, identity_of
from answerd.store import HistoryFilter
from answerd.store import history as store_history
from answerd.store.postgres import PostgresStore
from answerd.store.schema import BARE_NAME, POSTGRES, SQLITE
from answerd.store.sqlite import SqliteStore
from answerd.store.tables import execute
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.writes import put

pytestmark = pytest.mark.long

needs_postgres = pytest.mark.skipif(binaries() is None, reason=MISSING)

Store = SqliteStore | PostgresStore

# Each line: spellings of one name; the lines are different names.
NAMES = (
    ("98-FA-9B.50:d8_10", "98fa9b50d810", "98fa.9b50.d810"),
    ("98fa9b50d811",),
    ("98fa9b5d81",),  # without its zeros it is the same text as the first
    ("192.168.1.11", "::ffff:192.168.1.11", "::ffff:c0a8:010b", "0:0:0:0:0:ffff:192.168.1.11"),
    ("192.168.11.1",),
    ("192168111",),
    ("::1", "0:0:0:0:0:0:0:1", "0000::0001"),
    ("::11", "::0.0.0.17"),
    ("2001:db8::a0b", "2001:0DB8:0:0:0:0:0:0a0b", "2001:db8::0.0.10.11"),
    ("2001:db8::ab",),
    ("::a",),
    ("node-1", "NODE1", "no.de.1"),
    ("node-10",),
    ("node-01",),
    ("000",),
    ("0",),
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with clusters() as parent:
        running = Cluster(home_of(parent, "primary")).start()
        yield running
        running.stop()


@pytest.fixture(params=[SQLITE, pytest.param(POSTGRES, marks=needs_postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == SQLITE:
        return SqliteStore(tmp_path / "answers.db")
    opened = PostgresStore(request.getfixturevalue("cluster").database())
    opened.prepare()
    return opened


def machine(name: str) -> Key:
    return Key(Kind.MACHINE, name, "ks")


def one_after_the_other(store: Store) -> None:
    """Store each name in each spelling: the document before has been removed."""
    for number in range(max(map(len, NAMES))):
        before = [machine(spellings[number - 1]) for spellings in NAMES if 0 < number <= len(spellings)]
        new = [RawDocument(machine(spellings[number]), "x\n") for spellings in NAMES if number < len(spellings)]
        for puts, deletes in (((), before), (new, ())):
            with store.writing() as transaction:
                transaction.write(puts, deletes)
                transaction.commit()


def test_a_name_is_found_in_every_spelling_and_no_other_name_with_it(store: Store) -> None:
    one_after_the_other(store)
    put(store, Key(Kind.GROUP, "98fa9b50d810", "ks"), "x\n")
    for spellings in NAMES:
        assert len({identity_of(spelled) for spelled in spellings}) == 1
        for asked in spellings:
            found = store.history(HistoryFilter(kind=Kind.MACHINE, identifier=asked))
            assert {entry.key.identifier for entry in found} == set(spellings)
            assert [entry.after is None for entry in found].count(True) == len(spellings) - (len(spellings) == LONGEST)
            assert all(entry.key.kind is Kind.MACHINE for entry in found)
    assert len(store.history(HistoryFilter(identifier="98:fa:9b:50:d8:10"))) == 7


LONGEST = max(map(len, NAMES))
"""Of a name with so many spellings the last document is still there in the end."""


def test_the_index_finds_names(store: Store) -> None:
    engine = SQLITE if isinstance(store, SqliteStore) else POSTGRES
    explain = "EXPLAIN QUERY PLAN" if engine == SQLITE else "EXPLAIN"
    with store.connected() as database:
        if engine == POSTGRES:
            execute(database, "SET enable_seqscan = off")  # an empty table is read
        found = execute(
            database, f"{explain} SELECT DISTINCT identifier FROM changes WHERE {BARE_NAME[engine]} IN ('a')"
        )
        plan = " ".join(str(column) for row in found.fetchall() for column in row)
    assert "changes_by_name" in plan


@pytest.mark.parametrize("wanted", [HistoryFilter(limit=8), HistoryFilter(before=1_900, limit=1_000)])
def test_a_page_of_the_history_is_read_by_its_numbers_and_not_sorted(
    store: Store, monkeypatch: pytest.MonkeyPatch, wanted: HistoryFilter
) -> None:
    with store.writing() as transaction:
        transaction.write([RawDocument(machine(f"n{number}"), "x\n") for number in range(2_000)], ())
        transaction.commit()
    asked: list[Any] = []

    def noted(query: Any, _: object) -> list[tuple[Any, ...]]:
        asked.append(query)
        return []

    monkeypatch.setattr(store_history, "fetched", noted)
    with store.connected() as database:
        if isinstance(store, PostgresStore):
            execute(database, "ANALYZE")  # it does so by itself in time, and SQLite does not
        store_history.find_changes(database, wanted)
        statement, parameters = asked[0].bind(database).sql()
        explain = "EXPLAIN QUERY PLAN" if isinstance(store, SqliteStore) else "EXPLAIN"
        found = execute(database, f"{explain} {statement}", parameters).fetchall()
    plan = " ".join(str(column) for row in found for column in row)
    assert not re.search("Sort|ORDER BY", plan), plan
    assert re.search("INTEGER PRIMARY KEY|SCAN t1|changes_pkey", plan), plan


# Documents of each change, the first one first, and those of the changes whose machines are counted, the newest first.
COUNTED: Sequence[tuple[Sequence[int], int, Sequence[int]]] = (
    ((2, 1, 3, 1), 10_000, (1, 3, 1, 2)),
    ((2, 4, 1, 3), 10_000, (3, 1)),
    ((4,), 10_000, ()),
    ((1, 3, 2, 1), 25, (1, 2)),
    ((1, 1), 1, (1, 1)),
    ((), 10_000, ()),
)


@pytest.mark.parametrize(("made", "most_bytes", "counted"), COUNTED)
@pytest.mark.parametrize("at_once", [4, 5, 1_000])
def test_the_texts_of_changes_are_read_up_to_one_of_too_many_documents_or_bytes(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    made: Sequence[int],
    most_bytes: int,
    counted: Sequence[int],
    at_once: int,
) -> None:
    monkeypatch.setattr(changes, "DOCUMENTS_COUNTED", 3)
    monkeypatch.setattr(changes, "BYTES_COUNTED", most_bytes)
    monkeypatch.setattr(changes, "_LISTED_AT_ONCE", at_once)
    for number, documents in enumerate(made):
        with store.writing() as transaction:
            new = [RawDocument(machine(f"n{number}-{at}"), "ten bytes\n") for at in range(documents)]
            transaction.write(new, ())
            transaction.commit()
    asked: list[HistoryFilter] = []
    found = [*with_texts(lambda wanted: asked.append(wanted) or store.history(wanted))]  # type: ignore[func-returns-value]
    assert [len(entries) for entries in found] == [*counted]
    assert {entry.after for entries in found for entry in entries} <= {"ten bytes\n"}
    assert [entry.revision for entries in found for entry in entries] == [
        *range(sum(made), sum(made) - sum(counted), -1)
    ]
    assert all(not wanted.texts or (wanted.limit or 99) <= 3 for wanted in asked)


@pytest.mark.parametrize(
    ("most_bytes", "shown"),
    [(None, 5), (0, 1), (1_000, 1), (1_502, 1), (1_503, 2), (1_510, 3), (1_511, 4), (1_512, 5)],
)
def test_as_many_changes_are_read_as_have_so_many_bytes_and_at_least_one(
    store: Store, most_bytes: int | None, shown: int
) -> None:
    texts = ("a", "bb", "ccc", "d" * 500, "e" * 500)  # each change has its text and the one before
    for text in texts:
        put(store, machine("n1"), text)
    found = store.history(HistoryFilter(kind=Kind.MACHINE, identifier="n1", most_bytes=most_bytes))
    assert [entry.after for entry in found] == [*reversed(texts)][:shown]


def test_changes_are_read_without_their_texts(store: Store) -> None:
    put(store, machine("n1"), "a")
    put(store, machine("n1"), "b")
    found = store.history(HistoryFilter(texts=False))
    assert [(entry.before, entry.after) for entry in found] == [("", ""), (None, "")]
