"""Documents are read part by part in the order of their revisions, none is left out or read twice, and reading what
changed does not read the rest."""

from __future__ import annotations

import peewee
from hypothesis import example, given
from hypothesis import strategies as st

from answerd.store.tables import BEFORE_ALL, DocumentRow, rows_in_parts

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
