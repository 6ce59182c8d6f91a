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
from answerd.migrate.source import Source

__all__ = ["SOURCES", "MigratedData", "MigrationError", "read"]

SOURCES: Mapping[str, Callable[[Source], MigratedData]] = {
    "matchbox": matchbox.read,
    "cobbler": cobbler.read,
    "autopve": autopve.read,
    "mac-files": directories.read_mac_files,
    "rescriptum": directories.read_rescriptum,
}
"""Every source, and what reads it."""


def read(source: str, path: Path, *, follow_links: bool = False) -> MigratedData:
    """Return the data at ``path``, converted for this service; ``source`` is a key of `SOURCES`. ``follow_links``:
    links that lead out of it are followed. Raises `MigrationError` for data that is missing, cannot be read or is not
    of that source.
    """
    if not path.exists():
        raise MigrationError(f"{path} does not exist")
    try:
        return SOURCES[source](Source(path, follow_links))
    except OSError as error:
        raise MigrationError(f"{error.filename or path} cannot be read: {error.strerror}; nothing is written") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # a value of another type than it writes
        kind = type(error).__name__
        raise MigrationError(
            f"{path} holds {source} data of a form that is not known ({kind}); nothing is written"
        ) from error
