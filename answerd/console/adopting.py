"""A machine that asked and was claimed by nothing, as the operator's next row or document. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerd.inventory.editing import in_columns, with_rows_added
from answerd.inventory.records import UnreadableError
from answerd.inventory.table import read_table

NEW_INVENTORY = "id,mac,serial,uuid\n"
"""The header of an inventory that is made for its first machine."""


def cells_of(facts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the values that a machine sent about itself as cells by label: all MAC addresses, and the first value of
    every other label."""
    return {
        label: " ".join(values) if label == "mac" else values[0]
        for label, values in facts.items()
        if values and all(values) and label != "id"
    }


def with_machine(source: str, text: str, cells: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """Return the text of an inventory with a row for a machine, in the columns that are there; unchanged where the
    inventory cannot be read. ``labels``: see `answerd.inventory.rows.Layout`."""
    try:
        table = read_table(source, text or NEW_INVENTORY, labels=labels)
    except UnreadableError:
        return text
    return with_rows_added(text or NEW_INVENTORY, table, [in_columns(table, cells)])
