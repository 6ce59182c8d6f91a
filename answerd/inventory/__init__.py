"""Inventories: CSV text, its rows, and the values of a machine in each row (docs/inventory.md).

Text in, rows out.
"""

from __future__ import annotations

FORMAT = "csv"
"""The format of an inventory: the extension of its file."""

COLUMNS = "columns"
"""The format of the document beside an inventory that says what its table means."""

INVENTORY_FORMATS = (FORMAT, COLUMNS)

DEFAULT_NAME = "default"
"""The name of the inventory in ``inventory.csv``."""


def file_of(name: str, extension: str = FORMAT) -> str:
    """Return the file of an inventory below the answers directory, which names its places in a database too; with
    `COLUMNS` that of the document beside it."""
    return f"inventory.{extension}" if name.lower() == DEFAULT_NAME else f"inventory/{name}.{extension}"


def columns_file_beside(source: str) -> str:
    """Return the file that says what the table of a file means."""
    return f"{source[: -len(FORMAT)] if source.lower().endswith(f'.{FORMAT}') else 'inventory.'}{COLUMNS}"
