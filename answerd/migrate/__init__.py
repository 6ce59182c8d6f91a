"""The data of other provisioning services as documents, an inventory and secrets of this one: ``answerd migrate``.

Each source is a module with a function ``read``: a directory or file in, a `MigratedData` out.
`answerd.migrate.result.write` alone writes files. What cannot be carried over as it was meant is never guessed: it is
listed with the reason, and where it is text it is put aside. Rules: docs/migrating.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from answerd.migrate.result import MigratedData, MigrationError

__all__ = ["SOURCES", "MigratedData", "MigrationError", "read"]

SOURCES: Mapping[str, str] = {
    "matchbox": "matchbox",
    "cobbler": "cobbler",
    "autopve": "autopve",
    "mac-files": "mac_files",
    "rescriptum": "rescriptum",
}
"""Every source, and its module below `answerd.migrate`."""


def read(source: str, path: Path) -> MigratedData:
    """Return the data at ``path``, converted for this service; ``source`` is a key of `SOURCES`. Raises
    `MigrationError` for data that is missing or is not of that source.
    """
    if not path.exists():
        raise MigrationError(f"{path} does not exist")
    module = import_module(f"answerd.migrate.{SOURCES[source]}")
    try:
        return cast(Callable[[Path], MigratedData], module.read)(path)
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:  # a value of another type than this source writes
        kind = type(error).__name__
        raise MigrationError(
            f"{path} holds {source} data of a form that is not known ({kind}); nothing is written"
        ) from error
