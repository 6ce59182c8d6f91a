"""Recorded requests by the identities that they carry: each file is read once, however often it is asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gevent.monkey import get_original

from answerd import captures
from answerd.captures import CaptureError
from answerd.facts import Facts


class Recorded(NamedTuple):
    """A recorded request. ``time`` is UTC in ISO 8601, ``name`` that of its file."""

    name: str
    time: str
    request_line: str
    outcome: str


class Recordings:
    """The recorded requests of a directory, of which `answerd.captures.MOST_CAPTURES` are there at most. To read so
    many takes seconds the first time, and some milliseconds after it. From any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = get_original("_thread", "allocate_lock")()  # gevent's is for its own greenlets
        self._known: dict[str, tuple[Recorded, frozenset[str]] | None] = {}
        """By name; None for a file that is no recording."""

    def of(self, identity: str, most: int) -> Sequence[Recorded]:
        """Return the requests that carry the identity of a machine, the latest first."""
        with self._lock:
            try:
                names = [name for name in os.listdir(self._directory) if name.endswith(".meta")]
            except OSError:
                return []
            known = self._known
            self._known = {name: known[name] if name in known else _read(self._directory / name) for name in names}
            found = [read[0] for read in self._known.values() if read is not None and identity in read[1]]
        return sorted(found, key=lambda recorded: (recorded.time, recorded.name), reverse=True)[:most]


def _read(path: Path) -> tuple[Recorded, frozenset[str]] | None:
    try:
        capture = captures.read(path)
        identities = frozenset(Facts(capture.request).identities)
    except CaptureError:
        return None
    return Recorded(path.name, capture.time, capture.request_line, capture.outcome), identities
