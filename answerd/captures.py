"""Captured requests: their files on disk, written and read again (docs/captures.md).

A capture is two files: ``<UTC>-<peer>-<n>.body``, the body byte for byte, and the same name with ``.meta``, everything
else as JSON.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from answerd.facts import Request

MOST_CAPTURES = 1_000
"""Captures that a directory may hold; another capture replaces the oldest."""

LARGEST_META = 1_048_576
"""Bytes of a ``.meta`` that is read: several times the longest request line and header block."""

LARGEST_BODY = 1_048_576
"""Bytes of a ``.body`` that is read: the service accepts no larger body."""

REDACTED = "(redacted)"
_SECRET_HEADER = re.compile(r"authorization|cookie|token|secret|password|api[-_]?key", re.IGNORECASE)
_USER_IN_URL = re.compile(r"(?<=://)[^/?#@\s]*(?=@)")
_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z-.+-\d+\Z")
_REQUEST_LINE = re.compile(r"(?P<method>\S+) (?P<target>\S+) (?P<version>\S+)\Z")


class CaptureError(Exception):
    """A capture cannot be read. One line that names the file."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A request as it was received, and its outcome.

    ``time`` is UTC, ``2026-11-20T21:00:00Z``. ``request_line`` and header values are bytes as Latin-1 characters.
    ``outcome`` is the status and the composition or reason, as in the log.
    """

    time: str
    peer: str
    request_line: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    outcome: str

    @property
    def request(self) -> Request:
        """Return the request, to be resolved again. Raises `CaptureError` when its request line is not valid."""
        line = _REQUEST_LINE.match(self.request_line)
        if not line:
            raise CaptureError(f"{self.request_line!r} is no request line")
        path, _, query = line["target"].partition("?")
        return Request(path, query, self.headers, self.body, self.peer)


def make_directory(directory: Path) -> None:
    """Make the directory of captures, for its owner alone. Raises OSError, also where it is a symbolic link: who may
    place one would choose the directory whose mode is set."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _opened(directory) as handle:
        os.fchmod(handle, 0o700)


@contextmanager
def _opened(directory: Path) -> Iterator[int]:
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        if directory.is_symlink():
            reason = "it is a symbolic link; name the directory itself"
            raise OSError(errno.ELOOP, reason, str(directory)) from None
        raise
    try:
        yield handle
    finally:
        # In a thread of gevent's pool, gevent's os.close never closes what is no regular file.
        os.closerange(handle, handle + 1)


def write(directory: Path, capture: Capture) -> Path:
    """Write a capture, and remove the oldest where there is no room; return the path of its ``.meta``. Raises OSError;
    then nothing is left of it.

    Several processes may write to a directory: each waits while another does. The directory is listed for each capture,
    so that it never holds more than `MOST_CAPTURES`.
    """
    with _opened(directory) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        stems = _stems(os.listdir(handle))
        while len(stems) >= MOST_CAPTURES:
            oldest = min(stems, key=_age)
            stems.discard(oldest)
            (directory / f"{oldest}.meta").unlink(missing_ok=True)
            (directory / f"{oldest}.body").unlink(missing_ok=True)
        return _write(directory, capture, stems)


def _write(directory: Path, capture: Capture, stems: Iterable[str]) -> Path:
    name = f"{capture.time.replace(':', '')}-{capture.peer.replace(':', '.').replace('/', '.') or 'unknown'}-"
    numbers = [int(rest) for stem in stems if stem.startswith(name) and (rest := stem[len(name) :]).isdecimal()]
    stem = f"{name}{max(numbers, default=0) + 1}"
    body, meta = directory / f"{stem}.body", directory / f"{stem}.meta"
    _create(body, capture.body)
    try:
        _create(meta, _meta(capture).encode())
    except OSError:
        body.unlink(missing_ok=True)
        raise
    return meta


def _age(stem: str) -> tuple[str, int, str]:
    """Return the age of a capture by its name: the second, and the number among those of the same address."""
    number = stem.rpartition("-")[2]
    return stem[: len("2026-11-20T210000Z")], int(number) if number.isdecimal() else 0, stem


def _stems(names: Iterable[str]) -> set[str]:
    """Return the captures of a directory from the names of its files, including bodies without a ``.meta``."""
    parts = [name.rpartition(".") for name in names]
    return {
        stem for stem, _, suffix in parts if stem and (suffix == "meta" or (suffix == "body" and _NAME.match(stem)))
    }


def _create(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _meta(capture: Capture) -> str:
    headers = [[name, REDACTED if _SECRET_HEADER.search(name) else value] for name, value in capture.headers]
    fields = {
        "time": capture.time,
        "peer": capture.peer,
        "request": _USER_IN_URL.sub(REDACTED, capture.request_line),
        "headers": headers,
        "body_bytes": len(capture.body),
        "outcome": capture.outcome,
    }
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def read(meta: Path) -> Capture:
    """Return the capture of a ``.meta`` file. Raises `CaptureError` with what is wrong and where."""
    if meta.suffix == ".body":
        raise CaptureError(f"{meta} is the body of a capture: name its .meta file")
    try:
        content: Any = json.loads(_content(meta, LARGEST_META).decode())
        capture, size = _capture(content)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CaptureError(f"{meta} is no capture: name a .meta file from SERVICE_CAPTURE_DIR") from None
    body = _content(meta.with_suffix(".body"), LARGEST_BODY)
    if len(body) != size:
        raise CaptureError(f"{meta.with_suffix('.body')} holds {len(body)} bytes, {meta.name} says {size}")
    return replace(capture, body=body)


def _content(path: Path, most: int) -> bytes:
    """Return a file's bytes. Raises `CaptureError` where it is no regular file, cannot be read or is too large."""
    try:
        if not path.is_file():  # reading a pipe or a device would block
            raise CaptureError(f"{path} cannot be read: {'it is no file' if path.exists() else 'there is none'}")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL in the name
        raise CaptureError(f"{path} cannot be read: there is none") from None
    if len(content) > most:
        raise CaptureError(f"{path} is no file of a capture: it is larger than {most} bytes")
    return content


def _capture(content: Any) -> tuple[Capture, int]:
    """Return the content of a ``.meta`` without the body, and the body's size. Raises ValueError, KeyError or
    TypeError."""
    texts = [content[key] for key in ("time", "peer", "request", "outcome")]
    headers = [(name, value) for name, value in content["headers"]]
    size = content["body_bytes"]
    if not all(isinstance(text, str) for text in (*texts, *sum(headers, ()))) or type(size) is not int:
        raise TypeError
    for text in (texts[2], *sum(headers, ())):
        text.encode("latin-1")  # bytes as characters
    for text in texts:
        text.encode()  # no lone surrogate
    time, peer, request, outcome = texts
    return Capture(time, peer, request, [header for header in headers if header[1] != REDACTED], b"", outcome), size


def newest_first(directory: Path) -> Iterator[tuple[str, Capture | CaptureError]]:
    """Yield the captures of a directory by name, or why a capture cannot be read. Raises OSError for the directory."""
    stems = [name.removesuffix(".meta") for name in os.listdir(directory) if name.endswith(".meta")]
    for meta in (directory / f"{stem}.meta" for stem in sorted(stems, key=_age, reverse=True)):
        try:
            yield meta.name, read(meta)
        except CaptureError as error:
            yield meta.name, error
