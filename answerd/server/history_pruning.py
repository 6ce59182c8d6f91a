"""Prune the history while the service runs (docs/admin-api.md#history)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import gevent

from answerd.server.threads import in_thread
from answerd.store import StoreError, WritableStore

EVERY_SECONDS = 3_600.0
"""Seconds between two prunings: a history that is kept for days need not be exact to the minute."""


def prune_for_ever(store: WritableStore, days: int, log: Callable[[str], None]) -> None:
    """Forget changes that are older than so many days, now and every hour. ``log`` takes a line about the service."""
    while True:
        try:
            forgotten = in_thread(store.prune_history, cutoff(datetime.now(UTC), days))
            if forgotten:
                log(f"history: {forgotten} changes older than {days} days forgotten")
        except StoreError as error:
            log(f"warning: the history cannot be pruned: {error}")
        gevent.sleep(EVERY_SECONDS)


def cutoff(now: datetime, days: int) -> str:
    """Return the time before which changes are forgotten, as the database writes times."""
    return (now - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
