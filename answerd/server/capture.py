"""Record requests while they are answered, without delaying or failing an answer.

`answerd.captures` knows the files.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from gevent import get_hub

from answerd import captures
from answerd.captures import Capture
from answerd.fault_log import FaultLog
from answerd.server.http.parser import Headers
from answerd.server.request_log import RequestLog

MOST_WAITING = 100
MOST_BYTES_WAITING = 16_777_216
"""Captures, and bytes of their bodies, that may wait to be written: when a disk stalls, further captures are
dropped."""


class Recorder:
    """Writes captures in one native thread at a time, so that a disk that stalls, or another process that holds the
    directory's lock, blocks no thread that reads large bodies. One object in each process; the directory is shared."""

    def __init__(
        self, directory: str, log: RequestLog, *, problems_only: bool = False, count: Callable[[str], object] = bool
    ) -> None:
        """``problems_only``: record only requests that were not answered 200. ``count`` takes the outcome of a capture:
        ``written``, ``lost`` or ``failed``."""
        self._count = count
        self.problems_only = problems_only
        self.log = log
        self.directory = Path(directory)
        self._waiting: deque[Capture] = deque()
        self._is_writing = False
        self._bytes_taken = 0  # changed by the loop only; the counts of written captures by the writer only
        self._bytes_written = 0
        self._lost = 0
        self._fault_log = FaultLog(log.line)
        try:
            captures.make_directory(self.directory)
        except OSError as error:
            self._fault_log.note(f"capture: {directory}: {error.strerror}")

    def wants(self, status: int) -> bool:
        return status != HTTPStatus.OK or not self.problems_only

    def record(self, peer: str, request_line: str, headers: Headers, body: bytes, outcome: str) -> None:
        """Take a request; returns at once."""
        waits = self._bytes_taken - self._bytes_written
        if len(self._waiting) >= MOST_WAITING or (waits and waits + len(body) > MOST_BYTES_WAITING):
            self._lost += 1
            self._count("lost")
            return
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._bytes_taken += len(body)
        self._waiting.append(Capture(moment, peer, request_line, headers, body, outcome))
        self._start()

    def _start(self) -> None:
        if self._waiting and not self._is_writing:
            self._is_writing = True
            get_hub().threadpool.spawn(self._write_waiting).rawlink(self._ended)

    def _ended(self, _result: Any) -> None:
        """Start the writer again for what arrived after its last look. Called in the loop."""
        self._is_writing = False
        if self._lost:
            self.log.line(f"capture: {self._lost} requests came faster than they are written, and are not recorded")
            self._lost = 0
        self._start()

    def _write_waiting(self) -> None:
        while self._waiting:
            capture = self._waiting.popleft()
            try:
                captures.write(self.directory, capture)
                self._count("written")
                self._fault_log.note("")
            except OSError as error:
                self._count("failed")
                self._fault_log.note(f"capture: {error.filename or self.directory}: {error.strerror}")
            self._bytes_written += len(capture.body)
