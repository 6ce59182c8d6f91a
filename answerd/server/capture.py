"""Recording requests while they are answered: never at the cost of an answer, neither its time nor its success.

Knows when to record. What a capture is on disk is `answerd.captures`.
"""

from __future__ import annotations

import time
from pathlib import Path

from gevent import get_hub

from answerd import captures
from answerd.captures import Capture
from answerd.server.http_parser import Headers
from answerd.server.request_log import RequestLog

MOST_WAITING = 100
"""Captures that may wait to be written; a disk that stalls costs captures, not memory."""


class Recorder:
    """Writes captures in native threads. One object a process; the directory is shared."""

    def __init__(self, directory: str, log: RequestLog) -> None:
        self.directory = Path(directory)
        self.log = log
        self._waiting = 0
        self._full = False
        self._fault: str | None = None
        try:
            captures.make_directory(self.directory)
        except OSError as error:
            self._note(f"{directory}: {error.strerror}")

    def record(self, peer: str, request_line: str, headers: Headers, body: bytes, outcome: str) -> None:
        """Take a request; returns at once."""
        if self._full or self._waiting >= MOST_WAITING:
            return
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._waiting += 1
        get_hub().threadpool.spawn(self._write, Capture(moment, peer, request_line, headers, body, outcome))

    def _write(self, capture: Capture) -> None:
        try:
            if captures.count(self.directory) >= captures.MOST_CAPTURES:
                self._full = True
                self._note(f"{self.directory} holds {captures.MOST_CAPTURES} captures, no more are written")
            else:
                captures.write(self.directory, capture)
                self._fault = None
        except OSError as error:
            self._note(f"{error.filename or self.directory}: {error.strerror}")
        finally:
            self._waiting -= 1

    def _note(self, fault: str) -> None:
        """Log what keeps captures from being written, once until it changes."""
        if fault != self._fault:
            self._fault = fault
            self.log.service(f"capture: {fault}")
