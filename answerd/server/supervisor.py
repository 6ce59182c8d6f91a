"""The parent of the processes: it forks them, replaces what dies, passes signals on, and ends them.

It answers nothing, and must not touch gevent's loop: a child would inherit the
watchers of a loop in use, which would then run in both.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Protocol

import gevent
import gevent.os
from gevent.monkey import get_original

from answerd.server.cells import Cells
from answerd.server.request_log import RequestLog

_PARENTS_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})

_RESPAWN_DELAY_SECONDS = 0.5
"""Minimum seconds between two starts of a child, so that a child that crashes at its start does not fork in a loop. A
child that ran longer is replaced at once."""

_KILL_AFTER_SECONDS = 2.0
"""How long after the deadline of its connections a child is killed."""

_POLL_SECONDS = 0.001

_waitpid = get_original("os", "waitpid")
_sleep = get_original("time", "sleep")


def block_signals() -> None:
    """Block signals until a handler is installed: by a `Supervisor`, or by a process that it has forked.

    Call this before any thread is started: a thread that does not block them would receive signals while the parent is
    busy, and the default action there would end the service, or lose the news that a child has died.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _PARENTS_SIGNALS)


def wait_for_stop(seconds: float) -> bool:
    """Wait for a signal to stop, so many seconds at most, or until SIGCHLD; return whether one came. Signals are
    blocked."""
    received = signal.sigtimedwait({*_STOP_SIGNALS, signal.SIGCHLD}, seconds)
    return received is not None and received.si_signo in _STOP_SIGNALS


def log_reopened(log: RequestLog) -> None:
    """Open the log file anew (logrotate has moved it); where that fails the old one stays in use."""
    try:
        log.reopen()
    except OSError as error:
        log.service(f"warning: the log file cannot be reopened: {error.strerror}; the old one stays in use")


def when_parent_exits(parent_pipe: int, act: Callable[[], None]) -> None:
    """Call ``act`` in this child once its parent has ended, for whatever reason.

    ``parent_pipe`` is the read end of a pipe of which only the parent has the write end.
    """
    watcher = gevent.get_hub().loop.io(parent_pipe, 1)

    def gone() -> None:
        watcher.stop()
        act()

    watcher.start(gone)


class InterimWorker:
    """A child that answers while the parent is too busy to start the others."""

    def __init__(
        self, run: Callable[[], int], after_seconds: float, forget: Callable[[], None], log: RequestLog
    ) -> None:
        """``run`` is called in the child once ``after_seconds`` are over, and returns its exit status; ``forget`` in
        the parent once the child is gone."""
        self.log = log
        self.forget = forget

        def live() -> int:
            is_needed = signal.sigtimedwait([signal.SIGTERM], after_seconds) is None
            return run() if is_needed else 0

        self.pid: int | None = None
        try:
            self.pid = _fork_child("the interim worker", live, log)
        except OSError:
            pass  # the others cannot be started either, which is logged

    def end(self, patience_seconds: float) -> None:
        """Let it finish its requests in flight; it ends by itself after ``patience_seconds``."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGTERM)
        until = time.monotonic() + patience_seconds
        while not self.has_ended() and time.monotonic() < until:
            _sleep(_POLL_SECONDS)

    def has_ended(self) -> bool:
        """Return whether it is gone, or never was."""
        if self.pid is not None:
            pid, status = _waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = None
                self.forget()
                if status:
                    self.log.service(f"the interim worker ended with {os.waitstatus_to_exitcode(status)}")
        return self.pid is None


def _fork_child(name: str, live: Callable[[], int], log: RequestLog) -> int:
    """Fork a child that runs ``live`` and ends with the status that it returns. Return its process id. Raises
    OSError."""
    pid: int = gevent.os.fork()
    if pid:
        return pid
    status = 1
    try:
        status = live()
    except Exception as error:
        log.service(f"{name} failed: {type(error).__name__}: {error}")
    finally:
        log.close()
        os._exit(status)


BEAT: Final = ("beat",)
"""The cell with the time at which the loop of a worker last had a turn, in nanoseconds of the monotonic clock."""


class Heartbeats:
    """The times at which each worker's loop last had a turn."""

    def __init__(self, cells: Cells, workers: int) -> None:
        """``cells`` have `BEAT`; the workers have the first places."""
        self._cells = cells
        self._workers = workers

    def beat(self) -> None:
        """Record that the loop of this process runs."""
        self._cells.set(*BEAT, value=time.monotonic_ns())

    def begin(self, workers: Iterable[int]) -> None:
        """Count workers as alive that are about to be forked: one that hangs before its first beat is noticed too."""
        for worker in workers:
            self._cells.everywhere(*BEAT)[worker] = time.monotonic_ns()

    def are_younger_than(self, seconds: float) -> bool:
        """Return whether every worker had a turn within these seconds."""
        oldest = time.monotonic_ns() - int(seconds * 1_000_000_000)
        return all(beat > oldest for beat in self._cells.everywhere(*BEAT)[: self._workers])


class Children(Protocol):
    """The children that a supervisor keeps running, by index."""

    @property
    def names(self) -> Sequence[str]:
        """A name for each child, for the log."""

    def run_child(self, index: int) -> int:
        """Run in the child; return its exit status."""

    def forget_child(self, index: int) -> None:
        """Clean up in the parent when a child has died unasked, before it is replaced."""

    def announce(self) -> None:
        """Announce that requests are accepted: the children run, and no interim worker answers in their place."""

    def reload(self) -> None:
        """Reload in the parent at SIGHUP, for the children that it will fork later."""

    def stop_accepting(self) -> None:
        """Close the sockets that the parent holds open for its children."""

    def do_periodic_work(self) -> float | None:
        """Do the periodic work; return after how many seconds at most to call it again, None for never."""


class Supervisor:
    """Keeps one child running for each name; each is running or due to be started. `block_signals` comes first."""

    def __init__(self, children: Children, log: RequestLog) -> None:
        self._children = children
        self._names = children.names
        self._log = log
        self._pids: dict[int, int] = {}
        self._started: dict[int, float] = {}  # when, on the monotonic clock
        self._due = dict.fromkeys(range(len(self._names)), 0.0)

    def run(self, interim_worker: InterimWorker, stop_seconds: float) -> int:
        """Keep the children running until SIGTERM or SIGINT; return the exit status.

        At the end they have ``stop_seconds`` to finish the requests in flight.
        """
        children, log = self._children, self._log
        self._start_due()
        interim_worker.end(_RESPAWN_DELAY_SECONDS)
        processes = "process" if len(self._names) == 1 else "processes"
        log.service(f"{len(self._names)} {processes} started: {', '.join(self._names)}")
        children.announce()
        while (received := self._next_signal()) not in _STOP_SIGNALS:
            interim_worker.has_ended()
            if received == signal.SIGHUP:
                children.reload()
                self._signal_all(signal.SIGHUP)
            for index, how in self._reap():
                log.service(f"{self._names[index]} died ({how}), replacing it")
                children.forget_child(index)
            self._start_due()
        log.service("stopping: what is in flight is finished")
        children.stop_accepting()
        self._signal_all(signal.SIGTERM)
        until = time.monotonic() + stop_seconds + _KILL_AFTER_SECONDS
        self._wait_or_kill(until)
        interim_worker.end(until - time.monotonic())
        log.service("stopped")
        return 0

    def _next_signal(self) -> int | None:
        """Wait for a signal; None when something is due before one comes."""
        seconds = self._children.do_periodic_work()
        if not self._due and seconds is None:
            return signal.sigwaitinfo(_PARENTS_SIGNALS).si_signo
        patience = min(self._due.values(), default=math.inf) - time.monotonic()
        patience = max(0.0, min(patience, math.inf if seconds is None else seconds))
        received = signal.sigtimedwait(_PARENTS_SIGNALS, patience)
        return None if received is None else received.si_signo

    def _start_due(self) -> None:
        """Fork the children that are due. Try again later where the system allows no more processes."""
        now = time.monotonic()
        for index in [index for index, when in self._due.items() if when <= now]:
            name = self._names[index]
            try:
                pid = _fork_child(name, partial(self._children.run_child, index), self._log)
            except OSError as error:
                self._log.service(f"warning: {name} cannot be started: {error.strerror}; trying again")
                self._due[index] = now + _RESPAWN_DELAY_SECONDS
                continue
            self._pids[index] = pid
            self._started[index] = now
            del self._due[index]

    def _reap(self) -> list[tuple[int, str]]:
        """Reap dead children: (index, how it ended) for each; they are scheduled to restart."""
        dead = []
        for index, pid in list(self._pids.items()):
            ended, status = _waitpid(pid, os.WNOHANG)
            if ended:
                del self._pids[index]
                self._due[index] = self._started[index] + _RESPAWN_DELAY_SECONDS
                code = os.waitstatus_to_exitcode(status)
                dead.append((index, f"signal {-code}" if code < 0 else f"exit status {code}"))
        return dead

    def _signal_all(self, signal_number: int) -> None:
        for pid in self._pids.values():
            os.kill(pid, signal_number)

    def _wait_or_kill(self, until: float) -> None:
        """Wait for all children to end; kill those that are left at ``until``, on the monotonic clock."""
        while self._pids and time.monotonic() < until:
            signal.sigtimedwait([signal.SIGCHLD], max(0.0, until - time.monotonic()))
            self._reap()
        if self._pids:
            self._signal_all(signal.SIGKILL)
            for pid in self._pids.values():
                _waitpid(pid, 0)
