"""The replicator as a process of the service: its signals, its log lines, and its announcements to the workers. The
replication itself is in the store (`answerd.store.replicator`).
"""

from __future__ import annotations

import os
import select
import signal
import threading
from types import FrameType

from answerd.server.shared import Shared
from answerd.store import ReplicatingStore


def run_replicator(shared: Shared, parent_pipe: int) -> int:
    """Keep this node's replica up to date until a signal, or the end of the parent, ends it. Return the exit status."""
    store = shared.loader.store
    if not isinstance(store, ReplicatingStore):
        raise TypeError("the store has no replica")
    reading, writing = os.pipe()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        os.write(writing, b"x")

    def reload(_signal: int, _frame: FrameType | None) -> None:
        shared.reopen_log()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGHUP, reload)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD))

    def follow_parent() -> None:
        select.select([parent_pipe], [], [])
        os.write(writing, b"x")

    threading.Thread(target=follow_parent, daemon=True).start()

    def changed() -> None:
        shared.writes.bump()

    store.replicate(shared.log.line, changed, reading)
    return 0
