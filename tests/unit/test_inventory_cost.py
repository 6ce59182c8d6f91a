"""What an inventory of the largest size may cost: work in proportion to its size."""

from __future__ import annotations

import pytest

from answerd.answers import inventory_index
from answerd.answers.inventory_index import Inventory, inventory_after
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.inventory.records import LONGEST_ROW, MOST_COLUMNS, UnreadableError
from answerd.inventory.row import MOST_ADDRESSES, Row, judged
from answerd.inventory.table import read_table


def inventory_of(text: str, before: tuple[Inventory, RawDocument] | None = None) -> tuple[Inventory, RawDocument]:
    document = RawDocument(Key(Kind.INVENTORY, "default", "csv"), text)
    found = inventory_after(before[0] if before else None, [document], [before[1]] if before else [])
    assert found is not None
    return found, document


def test_the_rows_of_one_identity_are_filed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    handled = 0
    original = inventory_index._rows

    def counted(entry: inventory_index.Entry) -> tuple[Row, ...]:
        nonlocal handled
        found = original(entry)
        handled += len(found)
        return found

    monkeypatch.setattr(inventory_index, "_rows", counted)
    inventory, document = inventory_of("id,serial\n" + "".join(f"same,own-{number}\n" for number in range(2_000)))
    assert handled < 10
    assert list(inventory.problems()) == [
        "inventory.csv:2 and inventory.csv:3 and inventory.csv:4 and inventory.csv:5 and 1,996 more: "
        "rows with one identity (column id), so none of them counts"
    ]
    after, document = inventory_of("id,serial\nsame,own-1\nother,own-2\n", (inventory, document))
    assert list(after.problems()) == []
    assert [row.name for row in after.rows_of("same")] == ["same"]
    assert after.rows_of("own7") == ()
    doubled, document = inventory_of("id,serial\nsame,own-1\nother,own-1\n", (after, document))
    assert list(doubled.problems()) == [
        "inventory.csv:2 and inventory.csv:3: rows with one identity (column serial), so none of them counts"
    ]
    assert inventory_of("id,serial\nnew,x-1\n", (doubled, document))[0].rows_of("own1") == ()


def test_of_many_problems_the_first_of_each_file_are_listed_and_the_others_counted() -> None:
    inventory, _ = inventory_of("id\n" + "a b\n" * 110 + "twice\n" * 2)
    said = list(inventory.problems())
    assert [sentence.split(":")[1] for sentence in said[:100]] == [str(line) for line in range(2, 102)]
    assert said[100:] == ["inventory.csv: and 11 more problems like these"]


def test_a_header_of_too_many_columns_cannot_be_read() -> None:
    names = ",".join(f"c{number}" for number in range(MOST_COLUMNS - 1))
    assert len(read_table("inventory.csv", f"id,{names}\nx\n").layout.columns) == MOST_COLUMNS
    for more in (",more", ",", ',"more"'):
        with pytest.raises(UnreadableError, match="more than 16,384 columns"):
            read_table("inventory.csv", f"id,{names}{more}\nx\n")


@pytest.mark.parametrize("cell", ["y", '"y"'])
def test_of_a_row_with_far_too_many_cells_no_more_are_read(cell: str) -> None:
    (row,) = read_table("inventory.csv", "id,role\nx" + f",{cell}" * (MOST_COLUMNS * 3) + "\n").rows
    cells = row.layout.syntax.cells(row.text)
    assert len(cells) == MOST_COLUMNS + 1
    assert judged(row.layout, cells) == ({"x": "x"}, "has more than 16,384 cells, and the header has 2 columns")


def test_a_cell_of_too_many_addresses_is_a_fault() -> None:
    addresses = [f"98:fa:9b:50:{number >> 8:02x}:{number & 255:02x}" for number in range(MOST_ADDRESSES + 5)]

    def fault(number: int) -> str | None:
        (row,) = read_table("inventory.csv", "mac\n" + " ".join(addresses[:number]) + "\n").rows
        return judged(row.layout, row.cells()).fault

    assert fault(MOST_ADDRESSES) is None
    assert fault(MOST_ADDRESSES + 1) == "column mac: a cell has more than 1,000 addresses"


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_row_that_is_too_long_is_not_read_by_requests(quote: str) -> None:
    def read(size: int) -> int:
        return len(read_table("inventory.csv", f"id,note\n# c\nx,{quote}{'a' * size}{quote}\n").rows)

    assert read(LONGEST_ROW - len(f"x,{quote}{quote}")) == 1
    with pytest.raises(UnreadableError, match="line 3: a row has more than 1,048,576 characters"):
        read(LONGEST_ROW)


def test_of_many_new_faults_the_first_are_told_and_the_others_counted() -> None:
    inventory, document = inventory_of("id\n" + "a b\n" * 2_000)
    said = inventory.new_faults(None, [document])
    assert [sentence.split(":")[1] for sentence in said[:100]] == [str(line) for line in range(2, 102)]
    assert said[100:] == ["and 1,900 more problems like these"]
    assert inventory.new_faults(inventory, [document]) == []
