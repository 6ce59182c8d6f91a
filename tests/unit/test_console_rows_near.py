"""Rows that are one letter or digit off. Rules: docs/console.md#many-rows."""

from __future__ import annotations

import tracemalloc

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.console.near import MOST_NEAR, near_rows
from answerd.documents import RawDocument
from answerd.identity import identity_of
from answerd.suggestion import one_edit_from
from tests.support.fleet import key_of

TABLE = (
    "id,mac,serial,secret-serial\n"
    "pc-01,98:fa:9b:50:d8:10,7ABC123,\n"
    "pc-02,98-FA-9B-50-00-20,SN-4711,\n"
    "pc-03,,X1,hidden77\n"
)


def near(table: str, *values: str) -> dict[str, list[str]]:
    catalogue = Catalogue().changed([RawDocument(key_of("inventory.csv"), table)])
    found = near_rows(catalogue, map(identity_of, values))
    return {own: [str(row) for row in rows] for own, rows in found.items()}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("98:fa:9b:50:d8:11", "inventory.csv:2 (pc-01) has 98:fa:9b:50:d8:10"),
        ("98fa9b500021", "inventory.csv:3 (pc-02) has 98-FA-9B-50-00-20"),
        ("SN4712", "inventory.csv:3 (pc-02) has SN-4711"),
        ("7ABC1123", "inventory.csv:2 (pc-01) has 7ABC123"),
        ("7ABC12", "inventory.csv:2 (pc-01) has 7ABC123"),
        ("7ACB123", "inventory.csv:2 (pc-01) has 7ABC123"),
        ("98:fa:9b:50:d8:10", ""),
        ("98:fa:9b:50:d8:33", ""),
        ("X2", ""),
        ("pc-04", ""),
        ("hidden78", ""),
    ],
    ids=[
        "a digit of an address",
        "another spelling",
        "a digit of a serial number",
        "a digit too many",
        "a digit that is left out",
        "two that are exchanged",
        "the same",
        "two digits",
        "a short serial number",
        "a name",
        "a column that is named like a secret",
    ],
)
def test_a_value_that_is_one_digit_off_names_the_row(value: str, found: str) -> None:
    expected = {identity_of(value): [found]} if found else {}
    assert near(TABLE, value) == expected


def test_the_digit_that_differs_is_told() -> None:
    catalogue = Catalogue().changed([RawDocument(key_of("inventory.csv"), TABLE)])
    for value, parts in {
        "98fa9b50d811": ("98:fa:9b:50:d8:1", "0", ""),
        "88fa9b50d810": ("", "9", "8:fa:9b:50:d8:10"),
        "98fa9b500120": ("98-FA-9B-50-0", "0", "-20"),
        "ns4711": ("", "SN", "-4711"),
    }.items():
        (row,) = near_rows(catalogue, [value])[value]
        assert (row.before, row.digit, row.after) == parts


def test_numbers_in_a_row_are_no_typing_errors() -> None:
    rows = [f"n{number},98:fa:9b:50:d8:1{number}\n" for number in range(MOST_NEAR + 1)]
    assert near("id,mac\n" + "".join(rows), "98:fa:9b:50:d8:19") == {}
    assert len(near("id,mac\n" + "".join(rows[1:]), "98:fa:9b:50:d8:19")["98fa9b50d819"]) == MOST_NEAR


def test_it_finds_what_the_list_of_all_edits_has() -> None:
    own = "98fa9b50d810"
    for other in sorted(one_edit_from(own))[::7]:
        if len(other) == len(own) and set(other) <= set("0123456789abcdef"):
            assert near(f"id,mac\nx,{other}\n", own), other


def test_a_cell_of_any_length_is_looked_at_in_little_memory() -> None:
    table = f"id,serial\na,{'x1' * 10_000}\nb,7ABC123\n"
    tracemalloc.start()
    try:
        assert near(table, "7ABC124") == {"7abc124": ["inventory.csv:3 (b) has 7ABC123"]}
        assert tracemalloc.get_traced_memory()[1] < 20_000_000, "each letter of the cell costs its length"
    finally:
        tracemalloc.stop()
