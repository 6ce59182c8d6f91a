"""Inventories: CSV text, its rows, and the values of a machine in each row (docs/inventory.md).

Text in, rows out.
"""

from __future__ import annotations

FORMAT = "csv"
"""The format of an inventory: the extension of its file."""

DEFAULT_NAME = "default"
"""The name of the inventory in ``inventory.csv``."""


def file_of(name: str) -> str:
    """Return the file of an inventory below the answers directory, which names its places in a database too."""
    return f"inventory.{FORMAT}" if name.lower() == DEFAULT_NAME else f"inventory/{name}.{FORMAT}"
