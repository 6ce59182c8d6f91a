"""Several processes as one service: the parent forks them, replaces what dies, passes signals on, and ends them.

Knows processes and signals. The parent answers nothing, and must not touch gevent's loop: what a child inherits of a
loop in use would run in both.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial

import gevent
import gevent.os
from gevent.monkey import get_original

from answerd.server.request_log import RequestLog

_PARENTS_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})

_RESPAWN_DELAY_SECONDS = 0.5
"""Between two births in one place: a child that cannot live is no storm of forks, one that lived longer is replaced at
once."""

_KILL_AFTER_SECONDS = 2.0
"""What a child gets beyond the deadline of its connections before it is killed."""

_POLL_SECONDS = 0.001

_waitpid = get_original("os", "waitpid")
_sleep = get_original("time", "sleep")


def block_signals() -> None:
    """Let signals wait until there is somebody to heed them: `supervise`, or the one process that answers by itself.

    To be called before any thread is started: one that does not hold them back would be given what comes while the
    parent is busy, and the default action there would end the service, or lose the news that a child has died.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _PARENTS_SIGNALS)


def stop_requested() -> bool:
    """Whether a signal to stop is waiting, once signals are held."""
    return not _STOP_SIGNALS.isdisjoint(signal.sigpending())


def supervise(
    names: Sequence[str],
    run_child: Callable[[int], int],
    forget_child: Callable[[int], None],
    *,
    log: RequestLog,
    announce: Callable[[], None],
    interim_worker: InterimWorker,
    reload: Callable[[], None],
    stop_accepting: Callable[[], None],
    stop_seconds: float,
) -> int:
    """Keep one child running for each of ``names`` until SIGTERM or SIGINT; returns the exit status.

    ``run_child(index)`` is called in the child and returns its exit status. ``forget_child(index)`` is called in the
    parent when a child has died unasked, before it is replaced. ``announce`` is called once they run and nobody is
    ``interim_worker`` for them any longer, or is about to be. ``reload`` is what the parent does itself at SIGHUP,
    for the children that it will fork later. ``stop_accepting`` closes what the parent holds open for its children;
    they then have ``stop_seconds`` to finish. A child that outlives its parent ends by itself. `block_signals`
    must have been called.
    """
    family = _Workers(names, run_child, log)
    family.start_due()
    interim_worker.end(_RESPAWN_DELAY_SECONDS)
    announce()
    log.service(f"{len(names)} processes started: {', '.join(names)}")
    while (received := family.next_signal()) not in _STOP_SIGNALS:
        interim_worker.has_ended()
        if received == signal.SIGHUP:
            reload()
            family.tell(signal.SIGHUP)
        for index, how in family.reap():
            log.service(f"{names[index]} died ({how}), replacing it")
            forget_child(index)
        family.start_due()
    log.service("stopping: what is in flight is finished")
    stop_accepting()
    family.tell(signal.SIGTERM)
    until = time.monotonic() + stop_seconds + _KILL_AFTER_SECONDS
    family.wait_or_kill(until)
    interim_worker.end(until - time.monotonic())
    log.service("stopped")
    return 0


def log_reopened(log: RequestLog) -> None:
    """Open the log file anew (logrotate has moved it); where that fails the old one stays in use."""
    try:
        log.reopen()
    except OSError as error:
        log.service(f"warning: the log file cannot be reopened: {error.strerror}; the old one stays in use")


def when_parent_exits(parent_pipe: int, act: Callable[[], None]) -> None:
    """Call ``act`` in this child once its parent has ended, however it did.

    ``parent_pipe`` is the end to read from of a pipe that nobody but the parent can write to.
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
            self.pid = _fork_child("the stand-in", live, log)
        except OSError:
            pass  # the others will not be started either, and that is said

    def end(self, patience_seconds: float) -> None:
        """Have it finish what it has in flight; it does so by itself once the patience is over."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGTERM)
        until = time.monotonic() + patience_seconds
        while not self.has_ended() and time.monotonic() < until:
            _sleep(_POLL_SECONDS)

    def has_ended(self) -> bool:
        """Whether it is gone, or never was."""
        if self.pid is not None:
            pid, status = _waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = None
                self.forget()
                if status:
                    self.log.service(f"the stand-in ended with {os.waitstatus_to_exitcode(status)}")
        return self.pid is None


def _fork_child(name: str, live: Callable[[], int], log: RequestLog) -> int:
    """Fork a child that lives as told, and ends with the status that returns; its process id. Raises OSError."""
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


class _Workers:
    """The children, by their index; each is running or due to be started."""

    def __init__(self, names: Sequence[str], run_child: Callable[[int], int], log: RequestLog) -> None:
        self.names = names
        self.run_child = run_child
        self.log = log
        self.pids: dict[int, int] = {}
        self.born: dict[int, float] = {}  # when, on the monotonic clock
        self.due = dict.fromkeys(range(len(names)), 0.0)

    def next_signal(self) -> int | None:
        """Wait for a signal; None when a child is due before one comes."""
        if not self.due:
            return signal.sigwaitinfo(_PARENTS_SIGNALS).si_signo
        patience = max(0.0, min(self.due.values()) - time.monotonic())
        received = signal.sigtimedwait(_PARENTS_SIGNALS, patience)
        return None if received is None else received.si_signo

    def start_due(self) -> None:
        """Fork the children whose time has come. Where the system allows no more processes, later."""
        now = time.monotonic()
        for index in [index for index, when in self.due.items() if when <= now]:
            try:
                pid = _fork_child(self.names[index], partial(self.run_child, index), self.log)
            except OSError as error:
                self.log.service(f"warning: {self.names[index]} cannot be started: {error.strerror}; trying again")
                self.due[index] = now + _RESPAWN_DELAY_SECONDS
                continue
            self.pids[index] = pid
            self.born[index] = now
            del self.due[index]

    def reap(self) -> list[tuple[int, str]]:
        """The children that have died, each with how. They are due again."""
        dead = []
        for index, pid in list(self.pids.items()):
            ended, status = _waitpid(pid, os.WNOHANG)
            if ended:
                del self.pids[index]
                self.due[index] = self.born[index] + _RESPAWN_DELAY_SECONDS
                code = os.waitstatus_to_exitcode(status)
                dead.append((index, f"signal {-code}" if code < 0 else f"exit status {code}"))
        return dead

    def tell(self, signal_number: int) -> None:
        """Send a signal to every child."""
        for pid in self.pids.values():
            os.kill(pid, signal_number)

    def wait_or_kill(self, until: float) -> None:
        """Wait for all to end; kill what is left at ``until``, on the monotonic clock."""
        while self.pids and time.monotonic() < until:
            signal.sigtimedwait([signal.SIGCHLD], max(0.0, until - time.monotonic()))
            self.reap()
        if self.pids:
            self.tell(signal.SIGKILL)
            for pid in self.pids.values():
                _waitpid(pid, 0)
