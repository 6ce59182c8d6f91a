"""Long work of pages: done in a thread of its own while pages show how far it is; its result is kept.

A page waits for it a moment at most. Used for what one page begins and a later one comes back to (previews), and for
what is made of the set in force, and of each set anew (tables, checks).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import token_urlsafe
from typing import Generic, TypeVar

import gevent
from gevent.event import Event
from gevent.threadpool import ThreadPool

from answerd.answers.catalogue import Catalogue
from answerd.answers.causes import Cause, causes
from answerd.answers.sources import Sources
from answerd.check import check
from answerd.server.threads import in_pool
from answerd.server.words_for_checks import WordsForChecks
from answerd.store import StoreError
from answerd.validators import Tools

MOST_KEPT = 4
"""Pieces of work of one kind that are kept, finished or not."""

PATIENCE = 0.25
"""Seconds that a page waits for work that may be short."""

SMALL_SET = 1_000
"""Documents and rows of a set whose work may end while a page waits for it: an answer takes some 0.15 ms."""

_T = TypeVar("_T")


class Kept(Generic[_T]):
    """The newest things that a page after this one may come back to, by names that nobody can guess."""

    def __init__(self, most: int, most_bytes: int = 0) -> None:
        """At most so many things, and the last but one only while all of them have at most ``most_bytes``; 0: their
        sizes do not count."""
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, tuple[_T, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, thing: _T, size: int = 0) -> str:
        """Keep a thing of ``size`` bytes; return its name."""
        name = token_urlsafe(12)
        self._kept[name] = thing, size
        self._bytes += size
        while len(self._kept) > self._most or (self._bytes > self._most_bytes > 0 and len(self._kept) > 1):
            self.drop(next(iter(self._kept)))
        return name

    def get(self, name: str) -> _T | None:
        """Return the thing of a name; None where it is not kept any more."""
        found = self._kept.get(name)
        return found[0] if found is not None else None

    def drop(self, name: str) -> None:
        """Keep the thing no more."""
        found = self._kept.pop(name, None)
        self._bytes -= found[1] if found is not None else 0


class Ended(Exception):
    """The work is not wanted any more."""


@dataclass(slots=True)
class Job(Generic[_T]):
    """One piece of work, called ``name`` in addresses. ``about`` is what it is made of. ``done`` of ``total`` steps;
    ``total`` is 0 until it is known. ``result`` is None until the work is finished, and stays None where it has failed;
    ``at`` is when it was finished, in seconds since 1970."""

    about: Hashable
    name: str = field(default_factory=lambda: token_urlsafe(12))
    done: int = 0
    total: int = 0
    result: _T | None = None
    at: float = 0.0
    fault: str = ""
    is_wanted: bool = True
    finished: Event = field(default_factory=Event)

    @property
    def is_finished(self) -> bool:
        """Whether there is a result, or a fault."""
        return self.finished.is_set()

    def progress(self, done: int, total: int) -> None:
        """Note how far the work is. From any thread. Raises `Ended` where the work is not wanted any more."""
        self.done, self.total = done, total
        if not self.is_wanted:
            raise Ended


Work = Callable[[Callable[[int, int], None]], _T]
"""Does the work in a thread: calls its argument with how many steps are done and with their total."""

Turn = Callable[[], AbstractContextManager[object]]
"""Waits, in a greenlet of the loop, until the work may begin."""


def patience_for(catalogue: Catalogue) -> float:
    """Return the seconds that a page waits for work on a whole set: none for a large set, whose page fills itself."""
    tables = catalogue.inventory.tables.values() if catalogue.inventory is not None else ()
    return PATIENCE if catalogue.size + sum(len(table.rows) for table in tables) <= SMALL_SET else 0.0


class Jobs(Generic[_T]):
    """Pieces of one kind of work, by what they are about; the newest are kept. Used by the loop only."""

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self._most_kept = most_kept
        self._kept: OrderedDict[Hashable, Job[_T]] = OrderedDict()
        self._pool: ThreadPool | None = None

    def job(self, about: Hashable, work: Work[_T], patience: float = 0.0, turn: Turn = nullcontext) -> Job[_T]:
        """Return the job that is about this; begin it, when it is its ``turn``, where there is none, or it has failed.
        Wait up to ``patience`` seconds for its end, so that small work needs no second look. A piece that is dropped
        before its end is ended."""
        job = self._kept.get(about)
        if job is None or job.fault:
            job = self._kept[about] = Job(about)
            while len(self._kept) > self._most_kept:
                _, dropped = self._kept.popitem(last=False)
                dropped.is_wanted = False
            gevent.spawn(self._carry_out, job, work, turn)
        self._kept.move_to_end(about)
        if patience > 0:
            job.finished.wait(patience)
        return job

    def named(self, name: str) -> Job[_T] | None:
        """Return the job of a name; None where it is not kept any more."""
        return next((job for job in self._kept.values() if job.name == name), None)

    def _carry_out(self, job: Job[_T], work: Work[_T], turn: Turn) -> None:
        if self._pool is None:
            self._pool = ThreadPool(1)
        try:
            with turn():
                job.result = in_pool(self._pool, work, job.progress)
        except Ended:
            job.fault = "it was given up for newer work"
        except StoreError as error:
            job.fault = str(error)
        except Exception as error:
            job.fault = f"{type(error).__name__}: {error}"
        job.at = time.time()
        job.finished.set()


class OfTheSet(Generic[_T]):
    """What is made of the set in force: one job at a time, however often the set changes; the last result is kept until
    there is another. Used by the loop only."""

    def __init__(self) -> None:
        self._jobs: Jobs[_T] = Jobs(most_kept=1)
        self.newest: Job[_T] | None = None
        self.ended: Job[_T] | None = None

    def look(self, about: Hashable, work: Work[_T], patience: float, again_after: float = 0.0) -> Job[_T]:
        """Return the newest job. Begin one that is about this where none goes on, and the newest is about something
        else, or has failed, and ended ``again_after`` seconds ago. Wait up to ``patience`` seconds for its end."""
        until = time.monotonic() + patience
        job = self._begun(about, work, again_after)
        if job.about != about and _ends_before(until, job):
            job = self._begun(about, work, again_after)
        _ends_before(until, job)
        if job.result is not None:
            self.ended = job
        return job

    def _begun(self, about: Hashable, work: Work[_T], again_after: float) -> Job[_T]:
        job = self.newest
        if job is not None and job.result is not None:
            self.ended = job
        if job is None or (
            job.is_finished and (job.about != about or job.fault) and time.time() - job.at >= again_after
        ):
            job = self.newest = self._jobs.job(about, work)
        return job

    def let_go(self) -> None:
        """Keep no result."""
        self.newest = self.ended = None
        self._jobs = Jobs(most_kept=1)


def _ends_before(until: float, job: Job[_T]) -> bool:
    left = until - time.monotonic()
    return job.finished.wait(left) if left > 0 else job.is_finished


@dataclass(frozen=True, slots=True)
class Checked:
    """The last check that came to its end, and the one that goes on. ``problems`` and ``notes`` are gathered by cause;
    ``problems`` is None where no check has ended yet; ``at`` is when it ended, in seconds since 1970. ``is_current``:
    nothing has changed since. ``done`` of ``total`` answers are tried of the check that goes on; ``fault`` is why the
    last one failed."""

    problems: Sequence[Cause] | None
    notes: Sequence[Cause] = ()
    at: float = 0.0
    is_current: bool = True
    is_running: bool = False
    done: int = 0
    total: int = 0
    fault: str = ""


class Checks:
    """Checks of the whole set. While it changes all the time, its problems are those of a moment ago."""

    def __init__(self, catalogue: Callable[[], Catalogue], sources: Sources, words: WordsForChecks) -> None:
        self._catalogue = catalogue
        self._sources = sources
        self._words = words
        self._made: OfTheSet[tuple[Sequence[Cause], Sequence[Cause]]] = OfTheSet()

    def __call__(self, again_after: float = 0.0) -> Checked:
        """Return what is known, and begin a check where the set, a secret, or what machines said has changed since the
        last, or that has failed, and it ended ``again_after`` seconds ago."""
        catalogue = self._catalogue()
        about = catalogue, self._sources.version(), self._words.version()
        job = self._made.look(about, partial(self._check, catalogue), patience_for(catalogue), again_after)
        ended = self._made.ended
        known = Checked(None) if ended is None else Checked(*(ended.result or ((), ())), ended.at, ended.about == about)
        return replace(known, is_running=not job.is_finished, done=job.done, total=job.total, fault=job.fault)

    def _check(
        self, catalogue: Catalogue, progress: Callable[[int, int], None]
    ) -> tuple[Sequence[Cause], Sequence[Cause]]:
        with self._words.taken() as words:
            report = check(catalogue, Tools.none(), progress, sources=self._sources, words=words)
        return [*causes(report.problems, report.machines)], [*causes(report.notes, report.machines)]
