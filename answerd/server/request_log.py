"""The log: one line a request, service lines beside them (docs/running.md#the-log).

Logging a line only appends to a queue. A native thread, which gevent does not know, writes the queue out in batches: a
pipe without a reader or a disk that stalls stops that thread and nothing else. Switching the descriptor to non-blocking
instead would do so for every other program that shares it, and would not help with a disk. The queue is bounded; lines
that do not fit are dropped and counted, and the number is logged when lines can be written again.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import socket
import stat
import time
import traceback
from collections import deque
from typing import Final, Literal, Protocol

from gevent.monkey import get_original

from answerd.server.statuses import FIRST_PROBLEM, INTERNAL_ERROR
from answerd.short_texts import cut

Level = Literal["all", "problems", "off"]
Form = Literal["text", "json"]

MAX_QUEUED: Final = 1_048_576  # characters that wait to be written
ATOMIC_WRITE: Final = 4_096  # bytes: PIPE_BUF; what several workers write to one pipe in such pieces never mixes
FILE_WRITE: Final = 65_536  # bytes: one append to a regular file never mixes either
# Characters at which the parts of a line are cut, so that a line with anything a client can send is one atomic write
# (a target is latin-1: two bytes a character at most).
MAX_TARGET: Final = 1_500
MAX_OUTCOME: Final = 800
MAX_METHOD: Final = 40
MAX_SERVICE_TEXT: Final = 3_900
_MARK: Final = "..."  # after what is cut off: a line is ASCII as far as it can be
# The same for a JSON line, in which quotes and backslashes take two bytes.
MAX_JSON_TARGET: Final = 1_000
MAX_JSON_OUTCOME: Final = 600
MAX_JSON_MESSAGE: Final = 1_900
# Between two batches: a wake-up costs both threads a turn of the interpreter's lock.
BATCH_SECONDS: Final = 0.01
CLOSE_SECONDS: Final = 1.0  # that the end of the process waits for a log nobody reads

_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_STREAMS: Final = {"stdout": 1, "stderr": 2}
_WARNINGS: Final = ("warning: ", "problem: ")  # how lines about the service begin that ask for attention

# The real ones: gevent's would run in the loop that must not wait.
_start_thread = get_original("_thread", "start_new_thread")
_lock = get_original("_thread", "allocate_lock")
_sleep = get_original("time", "sleep")
_select = get_original("select", "select")


class _Lock(Protocol):
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...


def escape(text: str) -> str:
    """Return text that stays on its line and is safe for a terminal: control characters, line separators and lone
    surrogates as ``\\xNN`` or ``\\uNNNN``."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004


def describe_error(error: BaseException) -> str:
    """Return an exception and where it came from, innermost call first, on one line for the log."""
    calls = [f"{call.name} ({call.filename}:{call.lineno})" for call in traceback.extract_tb(error.__traceback__)]
    return f"{type(error).__name__}: {error} in {' < '.join(reversed(calls))}"


class _Reopened:
    """In the queue: from here on, write to this descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor


class RequestLog:
    """Writes lines to ``stderr``, ``stdout`` or a file that is appended to.

    One object serves all listeners of a process. After a fork the child's has an empty queue and a writer of its own,
    the parent's is untouched.
    """

    def __init__(self, destination: str = "stderr", level: Level = "all", form: Form = "text") -> None:
        """``level``: ``problems`` drops requests with a status under 400, ``off`` all requests; service lines stay.
        ``form``: ``json`` makes each line an object with the same fields.

        Raises OSError when the file cannot be opened.
        """
        self.level = level
        self._is_json = form == "json"
        self._node = socket.gethostname()
        self._is_torn = False  # the last line of the file was not written whole by this process
        self._path = None if destination in _STREAMS else destination
        self._descriptor = _STREAMS[destination] if self._path is None else _open(self._path)
        self._second = 0
        self._timestamp = ""
        self._begin()
        os.register_at_fork(after_in_child=self._begin)
        atexit.register(self.close)

    def keeps(self, status: int | None) -> bool:
        """Return whether a request with this status is logged. Lets callers skip making the message."""
        if self.level == "problems":
            return status is None or status >= FIRST_PROBLEM
        return self.level == "all"

    def request(
        self,
        peer: str,
        method: str,
        target: str,
        *,
        body: int,
        status: int | None,
        outcome: str,
        sent: int,
        seconds: float | None = None,
    ) -> None:
        """Log a request at its end.

        ``peer`` is ``ip:port``; ``target`` is as it is to be shown (`answerd.server.shown_targets`); ``body`` and
        ``sent`` count bytes of the request's and the response's body; ``status`` is None where no response was begun or
        it was not delivered, and then ``outcome`` says why. ``seconds`` have passed since the accept of the connection;
        None where that is not known.
        """
        if not self.keeps(status):
            return
        target = cut(escape(target), MAX_TARGET, _MARK)
        outcome = cut(escape(outcome), MAX_OUTCOME, _MARK)
        method = cut(escape(method), MAX_METHOD, _MARK)
        if self._is_json:
            fields: dict[str, str | float | None] = {
                "method": method,
                "target": target[:MAX_JSON_TARGET],
                "body": body,
                "status": status,
            }
            fields |= {"outcome": outcome[:MAX_JSON_OUTCOME], "bytes": sent}
            fields["duration_ms"] = None if seconds is None else round(seconds * 1_000, 3)
            self._append(self._json_line(self._now(), _level_of(status), peer, fields))
            return
        shown = "-" if status is None else status
        self._append(f"{self._now()} {peer} {method} {target} body={body} {shown} {outcome} bytes={sent}\n")

    def line(self, text: str) -> None:
        """Log a line about the service itself."""
        self._append(self._service_line(self._now(), text))

    def _service_line(self, now: str, text: str) -> str:
        text = cut(escape(text), MAX_SERVICE_TEXT, _MARK)
        if self._is_json:
            level = "warning" if text.startswith(_WARNINGS) else "info"
            return self._json_line(now, level, None, {"message": text[:MAX_JSON_MESSAGE]})
        return f"{now} - {text}\n"

    def _json_line(self, now: str, level: str, peer: str | None, fields: dict[str, str | float | None]) -> str:
        begin = {"time": now, "level": level, "node": self._node, "peer": peer}
        return json.dumps({**begin, **fields}, ensure_ascii=False) + "\n"

    def reopen(self) -> None:
        """Open the file of that name again (logrotate has moved the old one). Raises OSError, and then the old file
        stays in use. Does nothing for stderr and stdout."""
        if self._path is not None:
            self._queue.append(_Reopened(_open(self._path)))
            self._wake_writer()

    def flush(self, timeout: float = CLOSE_SECONDS) -> bool:
        """Wait (the whole process) until everything logged so far is written or lost; return False if it took
        longer."""
        until = time.monotonic() + timeout
        while self._queue or (self._writer_started and not self._writer_sleeps):
            if time.monotonic() >= until:
                return False
            self._wake_writer()
            _sleep(0.001)
        return True

    def close(self, timeout: float = CLOSE_SECONDS) -> bool:
        """Flush the log before the process ends. A writer that is stuck ends with the process."""
        return self.flush(timeout)

    # --- the side of the service -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Start with an empty queue and no writer: at the start, and in a forked child (threads do not survive a
        fork)."""
        self._queue: deque[str | _Reopened] = deque()
        self._queued = 0  # characters ever queued, and written: each counted by one thread only
        self._written = 0
        self._overflowed = 0  # lines that found the queue full, and that could not be written
        self._failed = 0
        self._reported = 0
        self._writer_started = False
        self._writer_sleeps = False
        self._wake = _lock()
        self._wake.acquire()

    def _now(self) -> str:
        second = int(time.time())
        if second != self._second:
            self._timestamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
            self._second = second
        return self._timestamp

    def _append(self, line: str) -> None:
        if self._queued - self._written + len(line) > MAX_QUEUED:
            self._overflowed += 1
            return
        self._queued += len(line)
        self._queue.append(line)
        if self._writer_sleeps or not self._writer_started:
            self._wake_writer()

    def _wake_writer(self) -> None:
        if not self._writer_started:
            self._writer_started = True
            _start_thread(self._write_forever, (self._wake,))
        self._writer_sleeps = False
        try:
            self._wake.release()
        except RuntimeError:  # it is awake already
            pass

    # --- the side of the writer, in its own thread -----------------------------------------------------------------

    def _write_forever(self, wake: _Lock) -> None:
        while True:
            wake.acquire()
            wake.acquire(timeout=BATCH_SECONDS)  # the next lines of a busy service gather; `flush` waits for none
            self._write_queued(len(self._queue))
            self._writer_sleeps = True
            if self._queue:  # appended since
                self._wake_writer()

    def _write_queued(self, entries: int) -> None:
        """Write that many entries of the queue, and how many were lost before as soon as that can be written."""
        while entries > 0:
            batch, reopened = self._take(entries)
            entries -= len(batch) + (reopened is not None)
            if batch:
                text = "".join(batch)
                lost = self._write(text.encode("utf-8", "backslashreplace"))
                self._written += len(text)
                if lost:
                    self._failed += lost
                    continue
            if reopened is not None:
                self._descriptor, old = reopened.descriptor, self._descriptor
                os.close(old)
            self._report_lost()

    def _take(self, entries: int) -> tuple[list[str], _Reopened | None]:
        """Return the next lines, at least one and no more than fit into one atomic write; or a change of file by
        itself."""
        limit = FILE_WRITE if _is_regular(self._descriptor) else ATOMIC_WRITE
        batch: list[str] = []
        size = 0
        for _ in range(entries):
            entry = self._queue[0]
            if isinstance(entry, _Reopened):
                if not batch:
                    self._queue.popleft()
                    return [], entry
                break
            size += len(entry) if entry.isascii() else len(entry.encode("utf-8", "backslashreplace"))
            if batch and size > limit:
                break
            batch.append(entry)
            self._queue.popleft()
        return batch, None

    def _report_lost(self) -> None:
        lost = self._overflowed + self._failed - self._reported
        if lost:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            if not self._write(self._service_line(now, f"{lost} log lines were dropped").encode("ascii")):
                self._reported += lost

    def _write(self, data: bytes) -> int:
        """Write lines, however long that takes; return how many of them could not be written.

        To a file all are written by one call of the system, which a full disk ends in the middle of a line: what is
        written next begins on a line of its own.
        """
        if _is_regular(self._descriptor):
            begin = b"\n" if self._ends_within_a_line() else b""
            try:
                written = os.write(self._descriptor, begin + data) - len(begin)
            except OSError:
                return data.count(b"\n")
            self._is_torn = 0 < written < len(data) and data[written - 1 : written] != b"\n"
            return data.count(b"\n", written)
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # someone who shares the descriptor made it non-blocking
                _select([], [self._descriptor], [], 1.0)
            except OSError:
                return data.count(b"\n")
        return 0

    def _ends_within_a_line(self) -> bool:
        """Return whether the file's last line has no end: another process may have written it."""
        try:
            size = os.fstat(self._descriptor).st_size
            return size > 0 and os.pread(self._descriptor, 1, size - 1) != b"\n"
        except OSError:  # a file that this process may not read
            return self._is_torn


def _open(path: str) -> int:
    flags = os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY
    is_readable = os.access(path, os.R_OK) and os.path.isfile(path)  # a pipe is opened for writing only
    return os.open(path, flags | (os.O_RDWR if is_readable or not os.path.exists(path) else os.O_WRONLY), 0o640)


def _level_of(status: int | None) -> str:
    if status is None or FIRST_PROBLEM <= status < INTERNAL_ERROR:
        return "warning"
    return "error" if status >= INTERNAL_ERROR else "info"


def _is_regular(descriptor: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:
        return False
