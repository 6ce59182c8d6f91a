"""Captured requests: what one is on disk, writing it, reading it again (SPEC 13).

A capture is two files: ``<UTC>-<peer>-<n>.body``, the body byte for byte, and the same name with ``.meta``, everything
else as JSON. Knows those files. Must not know sockets or who asked for a capture.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerd.facts import Request

MOST_CAPTURES = 1_000
"""Captures that a directory may hold; nothing is ever deleted."""

REDACTED = "(redacted)"
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
_REQUEST_LINE = re.compile(r"(?P<method>\S+) (?P<target>\S+) (?P<version>\S+)\Z")


class CaptureError(Exception):
    """A capture cannot be read. One line that names the file."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One request as it came and what became of it.

    ``time`` is UTC, ``2026-11-20T21:00:00Z``. ``request_line`` and header values are bytes as Latin-1 characters.
    ``outcome`` is the status and the composition or reason, as the log has them.
    """

    time: str
    peer: str
    request_line: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    outcome: str

    @property
    def request(self) -> Request:
        """The request, to be resolved again. Raises `CaptureError` when its request line is none."""
        line = _REQUEST_LINE.match(self.request_line)
        if not line:
            raise CaptureError(f"{self.request_line!r} is no request line")
        path, _, query = line["target"].partition("?")
        return Request(path, query, self.headers, self.body, self.peer)


def make_directory(directory: Path) -> None:
    """Make the directory of captures, for its owner alone. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)


def count(directory: Path) -> int:
    """How many captures a directory holds. Raises OSError."""
    return sum(name.endswith(".meta") for name in os.listdir(directory))


def write(directory: Path, capture: Capture) -> Path:
    """Write one capture; the name of its ``.meta``. Raises OSError; then nothing is left of it."""
    stem = f"{capture.time.replace(':', '')}-{capture.peer.replace(':', '.') or 'unknown'}"
    number = 1
    while True:
        body = directory / f"{stem}-{number}.body"
        try:
            _create(body, capture.body)
            break
        except FileExistsError:
            number += 1
    meta = body.with_suffix(".meta")
    try:
        _create(meta, _meta(capture).encode())
    except OSError:
        body.unlink(missing_ok=True)
        raise
    return meta


def _create(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _meta(capture: Capture) -> str:
    headers = [[name, REDACTED if name.lower() in _SECRET_HEADERS else value] for name, value in capture.headers]
    told = {
        "time": capture.time,
        "peer": capture.peer,
        "request": capture.request_line,
        "headers": headers,
        "body_bytes": len(capture.body),
        "outcome": capture.outcome,
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def read(meta: Path) -> Capture:
    """The capture whose ``.meta`` file this is. Raises `CaptureError` naming what is wrong and where."""
    try:
        told: Any = json.loads(meta.read_text(encoding="utf-8"))
        body = meta.with_suffix(".body").read_bytes()
        headers = [(str(name), str(value)) for name, value in told["headers"]]
        capture = Capture(
            told["time"],
            told["peer"],
            told["request"],
            [one for one in headers if one[1] != REDACTED],
            body,
            told["outcome"],
        )
    except OSError as error:
        raise CaptureError(f"{error.filename} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise CaptureError(f"{meta} is no capture: name a .meta file from SERVICE_CAPTURE_DIR") from None
    if len(body) != told["body_bytes"]:
        raise CaptureError(
            f"{meta.with_suffix('.body')} holds {len(body)} bytes, {meta.name} says {told['body_bytes']}"
        )
    return capture


def newest_first(directory: Path) -> Iterator[tuple[str, Capture | CaptureError]]:
    """The captures of a directory by name, or why one cannot be read. Raises OSError for the directory."""
    metas = [directory / name for name in os.listdir(directory) if name.endswith(".meta")]
    for meta in sorted(metas, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True):
        try:
            yield meta.name, read(meta)
        except CaptureError as error:
            yield meta.name, error
