"""The data of other provisioning services as documents, an inventory and secrets of this one: ``answerd migrate``.

Each source has a function in a module of its own or of its kind: a directory or file in, a `MigratedData` out.
`answerd.migrate.result.write` alone writes files. What cannot be carried over as it was meant is never guessed: it is
listed with the reason, and where it is text it is put aside. Rules: docs/migrating.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from answerd.migrate import autopve, cobbler, directories, matchbox
from answerd.migrate.result import MigratedData, MigrationError

__all__ = ["SOURCES", "MigratedData", "MigrationError", "read"]

SOURCES: Mapping[str, Callable[[Path], MigratedData]] = {
    "matchbox": matchbox.read,
    "cobbler": cobbler.read,
    "autopve": autopve.read,
    "mac-files": directories.read_mac_files,
    "rescriptum": directories.read_rescriptum,
}
"""Every source, and what reads it."""


def read(source: str, path: Path) -> MigratedData:
    """Return the data at ``path``, converted for this service; ``source`` is a key of `SOURCES`. Raises
    `MigrationError` for data that is missing or is not of that source.
    """
    if not path.exists():
        raise MigrationError(f"{path} does not exist")
    try:
        return SOURCES[source](path)
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # a value of another type than it writes
        kind = type(error).__name__
        raise MigrationError(
            f"{path} holds {source} data of a form that is not known ({kind}); nothing is written"
        ) from error
