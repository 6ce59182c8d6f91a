"""Admission: how many connections are in flight, over all workers, and how many the system allows.

Knows one shared counter per worker and the limit on their sum. Must not know what a connection is or who forks.
"""

import mmap
import resource

_SLOT_BYTES = 8
_UNLIMITED_FILES = 1_048_576  # what is asked for where the hard limit is "unlimited": the kernel's usual fs.nr_open


class Admission:
    """Connections in flight against a limit, counted in memory that forked workers share.

    Made once, before forking. Each worker counts in a slot of its own (no lock, no torn write) and reads all of them,
    which takes 0.3 µs; two workers that look at the same instant can both take the last place, so the sum can exceed
    the limit by at most the number of workers less one.
    """

    def __init__(self, limit: int, workers: int = 1) -> None:
        """``limit``: connections over all workers. The calling process counts as worker 0 until `attach`."""
        self.limit = limit
        self._slots = memoryview(mmap.mmap(-1, workers * _SLOT_BYTES)).cast("q")
        self._worker = 0

    def attach(self, worker: int) -> None:
        """Counts in this worker's slot from now on; called in the worker, which has no connection yet."""
        self._worker = worker
        self._slots[worker] = 0

    def admit(self) -> bool:
        """Takes a place if there is one."""
        slots = self._slots
        if sum(slots) >= self.limit:
            return False
        slots[self._worker] += 1
        return True

    def readmit(self) -> None:
        """Takes a place whether there is one or not: for a connection that gave its own back too early."""
        self._slots[self._worker] += 1

    def release(self) -> None:
        """Gives a place back."""
        self._slots[self._worker] -= 1

    def in_flight(self) -> int:
        """Connections in flight over all workers."""
        return sum(self._slots)

    def reset(self, worker: int) -> None:
        """Frees what a worker that is dead still held; called by who saw it die, before it is replaced."""
        self._slots[worker] = 0


def raise_file_limit() -> int:
    """Raises the soft limit of open files to the hard one, and returns the soft limit that is now in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _UNLIMITED_FILES if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):  # a container may forbid it: what is there must do
            return soft
        return wanted
    return wanted if soft == resource.RLIM_INFINITY else soft
