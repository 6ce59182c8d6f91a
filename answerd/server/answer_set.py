"""The answer set of one process, kept up to date with its store while requests are answered.

Knows when to look at the store and what to say about it. Must not know requests, sockets or other processes.
"""

from __future__ import annotations

import gc
from time import perf_counter

import gevent
from gevent.event import Event

from answerd.answers.catalogue import Catalogue
from answerd.answers.problems import load_problems
from answerd.answers.warming import warm_up
from answerd.server.generation import Follower, Generation
from answerd.server.request_log import RequestLog
from answerd.store import StoreError
from answerd.store.loader import Loader

SLICE_SECONDS = 0.002
"""How long work in the background may hold up a request."""


class AnswerSet:
    """What this process answers from. `watch` keeps it up to date; `current` is for the request path."""

    def __init__(
        self,
        loader: Loader,
        generation: Generation,
        log: RequestLog,
        known_problems: set[str],
        *,
        reports: bool,
        inherited: bool = False,
    ) -> None:
        """``known_problems`` have been logged already. ``reports``: of several workers, one logs problems.
        ``inherited``: the loader's set is the parent's, as old as the service.

        ``loaded`` is set once there is a set to answer from, ``warm`` once its answers are prepared.
        """
        self.follower = Follower(loader, generation, Slices())
        self.log = log
        self.reports = reports
        self.inherited = inherited
        self.loaded = Event()
        self.warm = Event()
        self._look_now = Event()
        self._to_digest = Event()
        self._frozen = 0  # documents that the collector had been told to leave alone
        self._known_problems = known_problems
        self._digested: Catalogue | None = None
        self._store_fault: str | None = None

    def current(self) -> Catalogue:
        """The answer set in force. Waits for the first load; the request's own deadline bounds the wait."""
        if not self.loaded.is_set():
            self.loaded.wait()
        return self.follower.current()

    def watch(self) -> None:
        """Look at the store for ever; what changed is in force within a second."""
        gevent.spawn(self._digest_for_ever)
        while True:
            try:
                self.refresh()
            except Exception as error:  # whatever it is, the set in force goes on answering and the next look comes
                self._note_fault(f"{type(error).__name__}: {error}")
                self.loaded.set()
            self._look_now.wait(self.follower.loader.store.look_seconds)
            self._look_now.clear()

    def look_soon(self) -> None:
        """Do not wait for the next look."""
        self._look_now.set()

    def refresh(self) -> None:
        """One look, in a thread, and the building between two requests. What cannot be read leaves all as it was."""
        try:
            self.follower.refresh()
            if self.inherited and not self.loaded.is_set():
                # One look only suspects a change: a worker that replaces another would answer from before it.
                self.follower.refresh()
            self._note_fault(None)
        except StoreError as error:
            self._note_fault(str(error))
        self.loaded.set()
        # A request or a write may have brought the set up to date before this look did.
        if self.follower.loader.catalogue is not self._digested:
            self._to_digest.set()

    def _note_fault(self, fault: str | None) -> None:
        if fault == self._store_fault:
            return
        self._store_fault = fault
        if fault is None:
            self.log.service("the store can be read again")
        else:
            self.log.service(f"warning: the store cannot be read, answers stay as they are: {fault}")

    def _digest_for_ever(self) -> None:
        """Beside the watch: to digest 100,000 documents takes longer than a change may wait."""
        while True:
            self._to_digest.wait()
            self._to_digest.clear()
            self._digest(self.follower.loader.catalogue)
            self.warm.set()

    def _digest(self, catalogue: Catalogue) -> None:
        """What is done with a new set once it is in force: prepare its answers, log the problems that are new."""
        self._digested = catalogue
        pause = Slices()
        warm_up(catalogue, pause)
        if self.reports:
            problems = load_problems(catalogue, pause)
            for problem in problems:
                if problem not in self._known_problems:
                    self.log.service(f"problem: {problem}")
            self._known_problems = set(problems)
        if len(catalogue.documents) > 2 * self._frozen:
            # A collection need not look at documents: they are no garbage, and there are many.
            self._frozen = len(catalogue.documents)
            gc.freeze()


class Slices:
    """Called between the steps of long work: gives every other greenlet a turn when a slice is over."""

    def __init__(self) -> None:
        self._ends = perf_counter() + SLICE_SECONDS

    def __call__(self) -> None:
        """Go on at once, or after the others."""
        if perf_counter() >= self._ends:
            gevent.sleep(0)
            self._ends = perf_counter() + SLICE_SECONDS
