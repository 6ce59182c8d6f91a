"""The tables of pages, made after each change and not by the first page that needs them.

A table follows a small change in less than a millisecond. After a change of thousands of documents it is made again, in
a thread; pages show the table from before until then, or that there is none yet. Tables are kept while the console is
in use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import gevent
from gevent.greenlet import Greenlet

from answerd.answers.catalogue import Catalogue
from answerd.long_work import run_long
from answerd.server.os_support import gc_paused
from answerd.server.threads import in_thread

USED_SECONDS = 900.0
"""How long tables are kept after the last page."""

POLL_SECONDS = 0.2
"""How often the tables are compared with the set in force."""


class PreparedTable(Protocol):
    """A table that is made of an answer set for pages. ``catalogue`` is that set."""

    is_prepared_elsewhere: bool
    """Whether `prepare` is called where `update` costs too much: then `update` leaves the table as it is."""

    @property
    def catalogue(self) -> Catalogue | None:
        """The set that the table is of; None where it is of none."""

    def update(self, catalogue: Catalogue) -> None:
        """Follow the set, where that costs little. Called where long work is done, one call at a time."""

    def prepare(self, catalogue: Catalogue) -> None:
        """Make the table anew. Called in any thread, beside `update`."""

    def forget(self) -> None:
        """Drop the table."""


class TablePreparation:
    """Keeps tables up to date while pages are asked for."""

    def __init__(
        self, catalogue: Callable[[], Catalogue], tables: Sequence[PreparedTable], run: Callable[..., Any] = in_thread
    ) -> None:
        self._catalogue = catalogue
        self._tables = tables
        self._run = run
        self._used_until = 0.0
        self._keeping: Greenlet[..., None] | None = None

    def note_use(self) -> None:
        """Keep the tables for some more time. Called for each page."""
        self._used_until = time.monotonic() + USED_SECONDS
        if self._keeping is None or self._keeping.dead:
            for table in self._tables:  # at once: the page that this is called for does not wait for them either
                table.is_prepared_elsewhere = True
            self._keeping = gevent.spawn(self._keep)

    def poll(self) -> None:
        """Bring all tables up to date with the set in force."""
        for table in self._tables:
            catalogue = self._catalogue()
            if table.catalogue is catalogue or run_long(partial(_follows, table, catalogue)):
                continue
            with gc_paused(makes_many=True):
                self._run(table.prepare, catalogue)
            latest = self._catalogue()  # what was written meanwhile is there at once
            run_long(partial(table.update, latest))

    def _keep(self) -> None:
        try:
            while time.monotonic() < self._used_until:
                self.poll()
                gevent.sleep(POLL_SECONDS)
        finally:  # also after a fault: then pages make their tables themselves
            for table in self._tables:
                table.is_prepared_elsewhere = False
                table.forget()


def _follows(table: PreparedTable, catalogue: Catalogue) -> bool:
    """Bring a table to a set where that costs little; return whether it is of that set. Done in one go where long work
    is done: later it may be of a set that is newer, to which a page has brought it."""
    table.update(catalogue)
    return table.catalogue is catalogue
