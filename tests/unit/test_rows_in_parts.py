"""Documents are read part by part in the order of their revisions, none is left out or read twice, and reading what
changed does not read the rest."""

from __future__ import annotations

from pathlib import Path

import peewee
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from answerd.store.schema import migrate
from answerd.store.tables import BEFORE_ALL, DocumentRow, rows, rows_in_parts

KINDS = st.sampled_from([("machine", "toml"), ("group", "ks"), ("inventory", "csv"), ("machine", "csv"),
                         ("inventory", "toml"), ("of-a-newer-version", "toml"), ("machine", "newer")])  # fmt: skip
KNOWN = {("machine", "toml"), ("group", "ks"), ("inventory", "csv")}


@example([(3, ("machine", "toml"))] * 3, BEFORE_ALL, 2)
@example([(3, ("machine", "newer"))] * 2 + [(3, ("machine", "toml"))], BEFORE_ALL, 2)
@given(st.lists(st.tuples(st.integers(0, 4), KINDS), max_size=12), st.integers(BEFORE_ALL, 4), st.integers(1, 4))
def test_parts_hold_every_known_document_after_a_revision_once(
    written: list[tuple[int, tuple[str, str]]], after: int, size: int
) -> None:
    database = peewee.SqliteDatabase(":memory:")
    with database.bind_ctx([DocumentRow]):
        database.create_tables([DocumentRow])
        for number, (revision, (kind, extension)) in enumerate(written):
            name = f"n{number}"
            DocumentRow.create(kind=kind, identifier=name, identity=name, format=extension, text="a", revision=revision)
        parts = list(rows_in_parts(database, after, size))
    database.close()
    found = [row.key.identifier for part in parts for row in part]
    kept = [(revision, number) for number, (revision, kind) in enumerate(written) if revision > after and kind in KNOWN]
    assert found == [f"n{number}" for _, number in sorted(kept)]
    assert all(0 < len(part) <= size for part in parts)


def steps_to_read_the_last_change(documents: int, way: str) -> int:
    """Steps of SQLite's machine to read one changed document among many."""
    database = peewee.SqliteDatabase(":memory:")
    migrate(database, Path("documents.db"))
    names = [f"n{number}" for number in range(documents)]
    with database.bind_ctx([DocumentRow]):
        DocumentRow.insert_many(
            {"kind": "machine", "identifier": name, "identity": name, "format": "toml", "text": "a"} for name in names
        ).execute()
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    database.connection().set_progress_handler(count, 1)  # type: ignore[no-untyped-call]
    if way == "at once":
        found = list(rows(database, DocumentRow.revision > documents - 1))
    else:
        [found] = rows_in_parts(database, documents - 1, 10)
    assert [row.key.identifier for row in found] == [names[-1]]
    database.close()
    return steps


@pytest.mark.parametrize("way", ["at once", "in parts"])
def test_reading_one_change_does_not_read_the_other_documents(way: str) -> None:
    assert steps_to_read_the_last_change(2_000, way) < 2 * steps_to_read_the_last_change(20, way)
