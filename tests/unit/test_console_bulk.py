"""Rows that are pasted at the console, as an inventory's text with them. Rules: docs/console.md#many-rows."""

from __future__ import annotations

import pytest

from answerd.console.bulk import Merged, Mode, merged, pasted
from answerd.inventory.meaning import AS_WRITTEN
from answerd.inventory.records import UnreadableError
from answerd.inventory.table import read_table


def update(text: str, rows: str) -> Merged:
    given = pasted(rows)
    table = read_table("inventory.csv", text)
    return merged(None, text, table, given, given.columns, Mode.UPDATE, AS_WRITTEN)


def test_a_new_column_takes_no_text_that_is_there() -> None:
    with pytest.raises(UnreadableError, match=r"no column rack can be added: inventory\.csv:3 has"):
        update("id,note,\na,x\nb,x,y\n", "id,rack\na,r1\n")
    assert update("id,note,\na,x\nb,x,\n", "id,rack\na,r1\n").text == "id,note,,rack\na,x,,r1\nb,x,\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "id,note\na,Smith, John\nb,x\n",
            "has 3 cells, and the header has 2 columns",
        ),
        ("id,note,\na,Smith, John\nb,x\n", "has text in a column without a name"),
    ],
)
@pytest.mark.parametrize("note", ["y", "Smith"])
def test_a_row_with_more_than_its_columns_is_not_cut_by_an_update(text: str, fault: str, note: str) -> None:
    found = update(text, f"id,note\na,{note}\nb,y\n")
    assert found.faults == {(0, -1): f"inventory.csv:2 {fault}: correct it first"}
    assert found.text == text.replace("b,x", "b,y")
