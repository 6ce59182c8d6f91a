"""The answer set of one process, kept up to date with its store while requests are answered.

A load or a preparation runs in one thread beside the loop, which the interpreter interrupts every half millisecond
(`answerd.server.threads`): this is all that keeps it from holding up answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import gevent
from gevent.event import Event

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import warm_up
from answerd.answers.problems import ProblemIndex
from answerd.errors import NothingLoaded
from answerd.fault_log import FaultLog
from answerd.server.cells import Cells
from answerd.server.http.responses import reason_line
from answerd.server.os_support import gc_paused
from answerd.server.request_log import RequestLog
from answerd.server.threads import Lock, in_thread, native_lock, release_gradually
from answerd.store import NoSetYet, StoreError
from answerd.store.files import FileStore
from answerd.store.loader import Loader
from answerd.write_guard import NotFree

WRITES: Final = ("writes",)
"""The cell in which a process counts the writes that it has announced."""


class WriteCounter:
    """The number of writes that the processes of the service have announced, which makes a write of one visible to the
    next request of every other (docs/admin-api.md#what-a-write-guarantees).

    With polling alone, a worker could answer for a quarter of a second from the state before an acknowledged write. So
    the process that commits a write raises its number, and every request compares the sum (0.3 µs) with that which its
    process has loaded: only where they differ does it wait for the store.
    """

    def __init__(self, cells: Cells | None = None) -> None:
        """``cells`` have `WRITES`; None for a program of one process."""
        self._cells = Cells([WRITES]) if cells is None else cells
        self._all = self._cells.everywhere(*WRITES)

    @property
    def value(self) -> int:
        return sum(self._all)

    def bump(self) -> int:
        """Announce a write that is committed; return the new value."""
        self._cells.add(*WRITES)
        return sum(self._all)


def _no_line(_line: str) -> None:
    """Log nothing: another process does."""


class SetFollower:
    """The answer set of one process, kept up to date: the only place where its loader looks and takes.

    Made in the worker, after forking. Requests wait for one another, so that one of them loads a write; what changes
    the set does so in a thread, with a lock of threads.
    """

    def __init__(
        self,
        loader: Loader,
        writes: WriteCounter,
        run: Callable[..., Any] = in_thread,
    ) -> None:
        """``run`` runs what waits for the store, and what builds the next set, beside the loop."""
        self.loader = loader
        self._run = run
        self._one_look = Lock()
        self._changing = native_lock()
        self._writes = writes
        self._seen = -1  # nothing: the set that was loaded before forking may be older than a write since

    def current(self) -> Catalogue:
        """Return the answer set for a request: it includes every write that was acknowledged before.

        When the store cannot be read at that moment, the loaded set stays in force; `refresh`, which the service calls
        regularly, reports the reason.
        """
        if self._seen != self._writes.value:
            with self._one_look:
                if self._seen != self._writes.value:  # else another request has loaded it meanwhile
                    try:
                        self.refresh()
                    except StoreError:
                        self._seen = self._writes.value
        return self.loader.catalogue

    @property
    def catalogue(self) -> Catalogue:
        return self.loader.catalogue

    def refresh(self) -> bool:
        """Bring the set up to date with the store, beside the loop; return whether anything changed. Raises
        `answerd.store.StoreError`."""
        with self._one_look:
            has_changed: bool = self._run(self.load)
            return has_changed

    def load(self) -> bool:
        """`refresh`, in a thread beside the loop."""
        with self._changing:
            return self._loaded()

    def _loaded(self) -> bool:
        seen = self._writes.value
        with gc_paused():
            has_changed = self.loader.refresh()
        self._seen = seen
        return has_changed

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Keep others from changing the set in a block, at whose beginning it is brought up to date. In a thread beside
        the loop. Raises `NotFree` where they take more than so many seconds, and `answerd.store.StoreError`."""
        if not self._changing.acquire(timeout=-1 if seconds == math.inf else max(0.0, seconds)):
            raise NotFree
        try:
            self._loaded()
            yield
        finally:
            self._changing.release()

    def replace(self, catalogue: Catalogue) -> None:
        """Put a set in force that this process has written to the store itself, and announce it to the others. Called
        after the commit by who has the set `held`."""
        self.loader.catalogue = catalogue
        self._seen = self._writes.bump()


class AnswerSet:
    """The answers of this process. `watch` keeps the set up to date; `current` is for requests."""

    def __init__(
        self,
        loader: Loader,
        writes: WriteCounter,
        log: RequestLog,
        preparation: Preparation,
        *,
        reports: bool,
        is_replacement: bool = False,
        prepares: bool = True,
        counters: Cells | None = None,
    ) -> None:
        """``preparation`` is the background work that was done for the loader's set already. ``reports``: of several
        workers, one logs problems, and that the store cannot be read. ``is_replacement``: the loader's set is
        the parent's, as old as the service. ``prepares``: answers are prepared before they are asked for.
        ``counters``: where loads and faults are counted.

        ``loaded`` is set once there is a set to answer from, ``warm`` once its answers are prepared.
        """
        self.follower = SetFollower(loader, writes)
        self.log = log
        self.reports = reports
        self.is_replacement = is_replacement
        self.prepares = prepares
        self.loaded = Event()
        self.warm = Event()
        self._poll_now = Event()
        self._to_prepare_event = Event()
        self.preparation = preparation
        self._counters = counters if reports else None
        self._counted = self.follower.catalogue
        self._store_log = FaultLog(log.line if reports else _no_line, "the store can be read again")
        # None: the parent could not read the store.
        self._not_ready = "the documents are being loaded" if preparation.catalogue is None else self._absence()
        self._nothing_yet = ""

    def readiness(self) -> str:
        """Return why there is no set to answer from yet, or why this node takes no writes; empty where there is a set,
        however old it is."""
        return self._not_ready or self.follower.loader.store.refusal()

    @property
    def fault(self) -> str:
        """The log's warning that the store cannot be read, empty while it can."""
        return self._store_log.fault

    def current(self) -> Catalogue:
        """Return the answer set in force. Wait for the first load; the request's own deadline bounds the wait.

        Raises `NothingLoaded` where the store was never read.
        """
        if not self.loaded.is_set():
            self.loaded.wait()
        catalogue = self.follower.current()
        if self._nothing_yet:
            raise NothingLoaded(self._nothing_yet)
        return catalogue

    def watch(self) -> None:
        """Poll the store for ever; a change is in force within a second."""
        gevent.spawn(self._prepare_forever)
        while True:
            try:
                self.refresh()
            except Exception as error:  # any fault: the set in force goes on answering and the next poll comes
                self._note_fault(f"{type(error).__name__}: {error}")
                self.loaded.set()
            self._poll_now.wait(self.follower.loader.store.poll_seconds)
            self._poll_now.clear()

    def force_full_poll(self) -> None:
        """Look at everything in the store at once, whatever the kernel or the database reports as unchanged."""
        self.follower.loader.store.force_full_poll()
        self._poll_now.set()

    def refresh(self) -> None:
        """Look at the store and build the next set, in a thread. Where the store cannot be read, nothing changes."""
        try:
            self.follower.refresh()
            if self.is_replacement and not self.loaded.is_set():
                # One look at files only notices a change: a worker that replaces another would answer from the state
                # before it. Two looks at once would take a file that is half written.
                gevent.sleep(self.follower.loader.store.poll_seconds)
                self.follower.refresh()
            self._count_change()
            self._note_fault("")
            self._nothing_yet = ""
            if self._not_ready:
                self._not_ready = in_thread(self._absence)
        except StoreError as error:
            if isinstance(error, NoSetYet):
                self._nothing_yet = reason_line(str(error))
            self._note_fault(str(error))
            self._not_ready = self._not_ready and reason_line(str(error))
        self.loaded.set()
        # A request or a write may have brought the set up to date before this look did.
        if self.follower.catalogue is self.preparation.catalogue:
            self._prepared()
        else:
            self._to_prepare_event.set()

    def _count_change(self) -> None:
        """Count a set that is new since the last poll: a request or a write may have put it in force."""
        catalogue = self.follower.catalogue
        if self._counters and catalogue is not self._counted:
            self._counters.add("answerd_loads_total", "changed")
        self._counted = catalogue

    def _absence(self) -> str:
        """Return why the documents of a directory are not in force, which a poll may take for an empty one; empty where
        they are."""
        store = self.follower.loader.store
        return store.absence() if isinstance(store, FileStore) else ""

    def _note_fault(self, fault: str) -> None:
        line = f"warning: the store cannot be read, answers stay as they are: {fault}" if fault else ""
        if self._store_log.note(line) and line and self._counters:
            self._counters.add("answerd_loads_total", "failed")

    def _prepare_forever(self) -> None:
        """Prepare answers beside the watch: preparing 100,000 documents takes longer than a change may wait."""
        while True:
            self._to_prepare_event.wait()
            self._to_prepare_event.clear()
            try:
                with gc_paused():
                    update = partial(self.preparation.update, checks=self.reports, prepares=self.prepares)
                    lines = in_thread(partial(update, self.follower.catalogue))
                for line in lines:
                    self.log.line(line)
            except Exception as error:
                self.log.line(f"looking for problems failed: {type(error).__name__}: {error}")
            self._prepared()

    def _prepared(self) -> None:
        if self._counters:
            self._counters.set("answerd_problems", value=len(self.preparation.problems.sentences()))
        self.warm.set()


@dataclass
class Preparation:
    """Background work after a load, for a thread: prepare answers and find new problems.

    ``catalogue`` is the one that was prepared last, None when none was. ``problems`` are those of the last catalogue
    that was checked.
    """

    catalogue: Catalogue | None = None
    problems: ProblemIndex = field(default_factory=lambda: ProblemIndex.of(Catalogue()))

    def update(self, catalogue: Catalogue, *, checks: bool, prepares: bool = True) -> list[str]:
        """Bring this up to date with a catalogue; the cost grows with what is new. ``prepares``: its answers too.

        Where this process ``checks`` the set, return lines for the log about new problems and those that are gone. A
        defect of this program at a document is a line too. The catalogue counts as prepared then: the same work would
        fail again.
        """
        lines: list[str] = []
        if prepares:
            try:
                warm_up(catalogue, self.catalogue)
            except Exception as error:  # answers are made on request
                lines.append(f"preparing answers failed: {type(error).__name__}: {error}")
        before, self.catalogue = self.catalogue, catalogue
        if checks:
            problems = self.problems.after(catalogue)
            known, found = self.problems.sentences(), problems.sentences()
            lines += [f"problem: {problem}" for problem in sorted(found - known)]
            lines += [f"no longer a problem: {problem}" for problem in sorted(known - found)]
            self.problems = problems
        if before is not None and before is not catalogue:
            gone = [before.documents[raw] for raw in before.documents.keys_not_in(catalogue.documents)]
            del before
            release_gradually(gone)
        return lines
