"""Problems at the lines that their sentences name (docs/console.md#pages)."""

from __future__ import annotations

import pytest

from answerd.console.documents import marks_of
from answerd.documents import Key
from answerd.identity import Kind

GROUP = Key(Kind.GROUP, "g", "toml")
ROWS = Key(Kind.INVENTORY, "lab", "csv")


@pytest.mark.parametrize(
    ("key", "sentence", "line"),
    [
        (GROUP, 'group "g" (toml): does not parse: line 2, column 5: Invalid value', 2),
        (GROUP, "does not parse: line 12, column 5: Invalid value", 12),
        (GROUP, "unknown directive after 'answer:' (line 1); there are extends", 1),
        (GROUP, 'group "h" (toml): does not parse: line 2, column 5: Invalid value', None),
        (GROUP, 'group "g" (toml): extends unknown group "line 4"', 4),  # no harm: the sentence is shown as it is
        (GROUP, "", None),
        (ROWS, "inventory/lab.csv:17: has 4 cells, and the header has 2 columns", 17),
        (ROWS, "inventory.csv:17: has 4 cells, and the header has 2 columns", None),
        (Key(Kind.INVENTORY, "default", "csv"), "inventory.csv:3: column mac: a value is no MAC address", 3),
    ],
)
def test_a_sentence_marks_its_line(key: Key, sentence: str, line: int | None) -> None:
    assert [mark["line"] for mark in marks_of(key, [sentence, sentence])] == ([] if line is None else [line])
