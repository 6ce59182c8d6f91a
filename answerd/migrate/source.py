"""The directory or file that is migrated, and reading its files: never what is elsewhere, unless that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from answerd.migrate.result import MigrationError
from answerd.store.file_io import is_elsewhere


@dataclass(frozen=True, slots=True)
class Source:
    """``path`` is what the command line names. ``follow_links``: links that lead out of it are followed."""

    path: Path
    follow_links: bool = False

    def content(self, file: Path) -> bytes:
        """Return the content of a file below the directory, or of the only file. Raises `MigrationError` where it is
        elsewhere, and OSError."""
        with file.open("rb") as opened:
            is_named = self.follow_links or file == self.path
            if not is_named and is_elsewhere(opened.fileno(), str(file), str(self.path)):
                raise MigrationError(
                    f"{file} is reached by a link that leads out of {self.path}: --follow-links follows it; nothing is "
                    "written"
                )
            return opened.read()
