"""The states of installs in one process: kept in memory, kept up to date, and written to the disk.

Rules: docs/install-once.md#where-states-are-kept.

Requests read memory. A change counts in memory at once and is written later, in batches by one thread of its own; a
report waits until its batch is on the disk. The process that commits a batch raises its own number in `Commits`, and
every other process reads what was written before it answers the next request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

import gevent
from gevent.event import AsyncResult, Event
from gevent.lock import RLock
from gevent.monkey import get_original
from gevent.threadpool import ThreadPool

from answerd.answers.gates import Asking, collected_identities, url_of_host
from answerd.answers.unclaimed import facts_as_json
from answerd.errors import StatesUnknown
from answerd.facts import Facts
from answerd.identity import identity_of
from answerd.installs.memory import AppliedEvent, InstallMemory, Remembered, apply
from answerd.installs.sentences import shown_name
from answerd.installs.sharded import free_in_steps
from answerd.installs.states import UNDER_WAY
from answerd.server import gc_tuning
from answerd.server.http.responses import Client
from answerd.server.install_faults import FaultLog, wait_in_time
from answerd.server.request_log import RequestLog
from answerd.server.shared_installs import MOST_AT_ONCE, SharedInstalls
from answerd.server.threads import in_pool, in_thread
from answerd.store import StoreAway, StoreError
from answerd.store.install_batch import PendingEvent, Sighting
from answerd.store.installs import InstallChanges

_thread_now: Callable[[], int] = get_original("_thread", "get_ident")  # gevent's version identifies greenlets

POLL_SECONDS: Final = 0.1
"""How often the states are polled for writes of another program."""

LINGER_SECONDS: Final = 0.05
"""How long a given answer waits for others before it is written; a report does not wait."""

LINGER_SECONDS_OF_MANY: Final = 0.25
"""The same after a batch of several: a commit takes as long as writing a hundred events, and notes
(`answerd.store.given_notes`) keep what waits."""

LINGER_SECONDS_OF_HEARD: Final = 1.0
"""The same for a document that the machine has in this start: only the time of its last request changes."""

_SEVERAL: Final = 8
_COPY: Final = -1

RETRY_SECONDS: Final = 1.0
"""How long events wait after a write has failed."""

MOST_WAITING: Final = 20_000
"""Events that may wait for a disk; above that the oldest that no report waits for are dropped."""

MOST_SIGHTINGS: Final = 1_000
"""Unknown machines of one batch."""

FACTS_AGAIN_SECONDS: Final = 60.0
"""How long an unknown machine's facts count as written."""


class _Waiting(NamedTuple):
    """An event on its way to the disk, and what waits for it."""

    entry: PendingEvent
    done: AsyncResult[AppliedEvent] | None = None


class LiveInstalls:
    """The states of installs in one process: an `answerd.answers.gates.InstallSource`."""

    def __init__(self, shared: SharedInstalls, log: RequestLog) -> None:
        """Make it after forking."""
        store = shared.store
        self.store = store
        self.rules = shared.rules
        self.shared = shared
        self.on_change: list[Callable[[Remembered], None]] = []
        self._commits = shared.commits
        self._notes = shared.notes
        self._log = log
        self._memory = InstallMemory()
        self._given_up: list[dict[str, Any] | list[Any]] = []  # a memory that was replaced, a list that was read
        self._revision = -1
        self._is_known = False  # read in this process: what was loaded before forking may be old
        self._seen = bytearray()
        self._lock = RLock()
        self._loop_thread = _thread_now()
        self._queue: deque[_Waiting] = deque()
        self._in_flight: list[_Waiting] = []
        self._last_batch = 0
        self._alarm: gevent.Greenlet[..., None] | None = None
        self._sightings: dict[str, Sighting] = {}
        self._sighted: dict[str, float] = {}
        self._wake = Event()
        self._urgent = Event()
        self._idle = Event()
        self._pool = ThreadPool(1)
        self._read = FaultLog(log, "read", ", they stay as they were known")
        self._written = FaultLog(log, "written")
        self._dropped = 0

    def attach(self, process: int) -> None:
        """Take this process's region, and the notes that the process before it has left there."""
        self._commits.attach(process)
        for entry in self._notes.attach(process):
            self._queue.append(_Waiting(entry))
            self._wake.set()

    @property
    def key(self) -> bytes:
        """The key of tokens. Raises `StoreError` where it is not known."""
        return self.store.key

    # --- for requests ----------------------------------------------------------------------------------------------

    def current(self) -> InstallMemory:
        """Return all records, including every change that was acknowledged before. Raises `StatesUnknown`."""
        if self._seen != self._commits.cells and _thread_now() == self._loop_thread:
            self._catch_up()  # in another thread, the loop has done it for this request
        if not self._is_known:
            raise StatesUnknown("whether this machine may install cannot be said: the states cannot be read")
        return self._memory

    def now(self) -> float:
        """Return the time, in seconds since 1970, which never goes back."""
        return self.shared.now()

    def base_url(self, facts: Facts) -> str:
        """Return how machines reach the service. Raises `CannotFill`."""
        return self.shared.url or url_of_host(self.shared.scheme, facts)

    def given(self, asking: Asking) -> None:
        """Note that a document was given, or that a start was refused. Returns at once."""
        was_refused = asking.judgement.refusal is not None
        visitor = asking.visitor
        for name in asking.names:
            identities = {} if was_refused else visitor.identities
            entry = PendingEvent(
                name, asking.asked, identities, visitor.group, asking.document, asking.peer, b"", was_refused
            )
            self._notes.note(entry)
            self._remember(entry)
            self._enqueue(_Waiting(entry))
        document, outcomes = asking.asked.document, asking.judgement.outcomes
        if was_refused:
            self._urgent.set()  # both gates are closed now, in the other processes once it is written
        if all(
            not new.counts and old.record.state in UNDER_WAY and document in old.record.given for old, new in outcomes
        ):
            self._wake_soon()
        else:
            self._wake.set()

    def _wake_soon(self) -> None:
        """Have the queued events written a while later, unless an event that is waited for comes before."""
        if self._alarm is None:
            self._alarm = gevent.spawn_later(LINGER_SECONDS_OF_HEARD, self._wake.set)

    def unclaimed(self, facts: Facts) -> None:
        """Note a machine that nothing claims, where the request identifies it. Returns at once."""
        if len(self._sightings) >= MOST_SIGHTINGS:
            return
        found = collected_identities(facts)
        if not found:
            return
        identity, machine = next(iter(found.items()))
        now = self.now()
        before = self._sightings.get(identity)
        facts_text = ""
        if now - self._sighted.get(identity, 0) > FACTS_AGAIN_SECONDS:
            if len(self._sighted) >= MOST_SIGHTINGS:
                self._sighted.clear()
            self._sighted[identity] = now
            facts_text = facts_as_json(facts)
        asked = before.asked + 1 if before else 1
        self._sightings[identity] = Sighting(machine, now, facts_text or (before.facts if before else ""), asked)
        self._wake.set()

    def write(self, entries: Sequence[PendingEvent], client: Client | None = None) -> list[AppliedEvent]:
        """Write events and wait until they are on the disk. Raises `answerd.store.StoreError`; then none of them is,
        except where that is not known when ``client`` must have its response."""
        results: list[AsyncResult[AppliedEvent]] = [AsyncResult() for _ in entries]
        for entry, done in zip(entries, results, strict=True):
            self._queue.append(_Waiting(entry, done))
        self._wake.set()
        self._urgent.set()
        if client is not None:
            wait_in_time(results, client, self._withdraw, self.store.late)
        return [done.get() for done in results]  # type: ignore[misc]

    def _withdraw(self, results: Sequence[AsyncResult[Any]]) -> bool:
        kept = deque(waiting for waiting in self._queue if waiting.done not in results)
        withdrawn, self._queue = len(self._queue) - len(kept), kept
        return withdrawn == len(results)

    def _remember(self, entry: PendingEvent) -> None:
        """Apply an event in memory before it is written."""
        name = identity_of(entry.name)
        before = self._memory.by_name.get(name)
        applied = apply(before, self._memory.forgotten.get(name, 0), entry.happened, self.rules)
        if applied.after is not None and applied.after is not before:
            self._memory.newly_shared.clear()
            self._put(applied.after)
            for one in self._memory.newly_shared:
                text = shown_name(applied.after.identities[one])
                self._log.service(f"states of installs: {text} tells no machine from others any more: too many have it")

    def _put(self, remembered: Remembered) -> None:
        """Put a record in force, and notify the listeners of a change of its state."""
        before = self._memory.by_name.get(identity_of(remembered.record.name)) if self.on_change else None
        self._memory.put(remembered)
        if self.on_change and (before is None or before.record.state is not remembered.record.state):
            for listen in self.on_change:
                listen(remembered)

    def _forget(self, name: str, attempt: int) -> None:
        """Remove a record; its machine is new."""
        before = self._memory.by_name.get(name)
        self._memory.forget(name, attempt)
        if before is not None:
            for listen in self.on_change:
                listen(Remembered(self._memory.new(before.record.name), before.identities))

    def _enqueue(self, waiting: _Waiting) -> None:
        if len(self._queue) >= MOST_WAITING:
            dropped = next((queued for queued in self._queue if queued.done is None), None)
            if dropped is not None:
                self._queue.remove(dropped)
                self._dropped += 1
        self._queue.append(waiting)

    # --- reading ---------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read the changes since the last call. Where they cannot be read, nothing changes."""
        with self._lock:
            seen = self._commits.all()
            try:
                with gc_tuning.gc_paused():
                    changes = in_thread(self.store.changes_since, self._revision)
                    if changes is not None and changes.whole:
                        memory = in_thread(InstallMemory, changes.remembered, changes.forgotten)
                        self._given_up += [*self._memory.pieces(), changes.remembered]
                        self._memory = memory
                        self._replay(None)
                self._read.note(None)
                self._is_known = True
            except StoreError as error:
                self._read.note(str(error))
                changes = None
            if changes is not None:
                self._take(changes)
            self._seen = seen

    def _catch_up(self) -> None:
        """Read what was committed. Of many requests that wait for one change, the first reads it."""
        with self._lock:
            if self._seen != self._commits.cells:
                self.refresh()

    def _take(self, changes: InstallChanges) -> None:
        if not changes.whole:
            for name, attempt in changes.forgotten.items():
                self._forget(name, attempt)
            self._drop_given(changes.forgotten)
            for remembered in changes.remembered:
                self._put(remembered)
            self._replay(
                {identity_of(remembered.record.name) for remembered in changes.remembered} | changes.forgotten.keys()
            )
        self._revision = changes.revision

    def _drop_given(self, forgotten: Collection[str]) -> None:
        """Drop events from before a machine was forgotten that are not written yet: they would begin a new record."""
        kept = [
            waiting
            for waiting in self._queue
            if waiting.done is not None or identity_of(waiting.entry.name) not in forgotten
        ]
        if len(kept) == len(self._queue):
            return
        self._queue = deque(kept)
        if not kept and not self._in_flight:  # the notes of a batch stay until it is on the disk
            self._notes.taken()
            self._notes.written()

    def _replay(self, names: set[str] | None) -> None:
        """Apply the events that are not written yet again, for records that were read."""
        for waiting in (*self._in_flight, *self._queue):
            if waiting.done is None and (names is None or identity_of(waiting.entry.name) in names):
                self._remember(waiting.entry)

    def watch(self) -> None:
        """Poll the states for ever; a change by another program is in force within a second."""
        while True:
            self.refresh()
            free_in_steps(self._given_up, gevent.sleep)
            gevent.sleep(POLL_SECONDS)

    # --- writing ---------------------------------------------------------------------------------------------------

    def write_forever(self) -> None:
        """Write events, in batches, for ever."""
        while True:
            self._wake.wait()
            if not self._urgent.is_set():
                self._urgent.wait(LINGER_SECONDS_OF_MANY if self._last_batch >= _SEVERAL else LINGER_SECONDS)
            self._wake.clear()
            self._urgent.clear()
            if self._alarm is not None:
                self._alarm.kill(block=False)
                self._alarm = None
            if not self._write_batch():
                self._urgent.wait(RETRY_SECONDS)
            if self._queue or self._sightings:
                self._wake.set()
                if any(waiting.done is not None for waiting in self._queue):
                    self._urgent.set()

    def flush(self) -> None:
        """Write the queued events, once. For the end of the process."""
        while (self._queue or self._sightings) and self._write_batch():
            pass

    def _write_batch(self) -> bool:
        """Write one batch; return whether that worked. Else its reports fail and the other events stay queued."""
        if self._queue and self._seen != self._commits.cells:
            self.refresh()  # a machine that was forgotten meanwhile
        batch = [self._queue.popleft() for _ in range(min(MOST_AT_ONCE, len(self._queue)))]
        sightings, self._sightings = self._sightings, {}
        if not batch and not sightings:
            return True
        self._in_flight = batch
        self._last_batch = len(batch)
        is_whole = not self._queue
        if is_whole:
            self._notes.taken()
        # Sorted by time: a document that was given before a report counts before it. At equal times, reports come last.
        numbered = sorted(
            [*enumerate(waiting.entry for waiting in batch), *self._copies(batch)],
            key=lambda numbered: numbered[1].event.at,
        )
        entries = [entry for _, entry in numbered]
        try:
            written = in_pool(self._pool, self.store.write, entries, self.rules, list(sightings.values()))
        except Exception as fault:  # an unforeseen one too: without this loop no report would ever be answered
            error = fault if isinstance(fault, StoreError) else StoreError(f"{type(fault).__name__}: {fault}")
            self._in_flight = []
            if isinstance(error, StoreAway):  # orders that came meanwhile would wait as long again
                batch += self._queue
                self._queue.clear()
            for waiting in batch:
                if waiting.done is not None:
                    waiting.done.set_exception(error)
            self._queue.extendleft(reversed([waiting for waiting in batch if waiting.done is None]))
            self._note_write_fault(str(error))
            return False
        self._in_flight = []
        if is_whole:
            self._notes.written()
        self._note_write_fault(None)
        self._commits.announce(max(written.changes.revision, self._commits.own + 1))  # an order may have none yet
        if written.changes.revision == self._revision + 1:  # else another process has written too: the next poll reads
            self._take(written.changes)
            self._commits.copy_own(self._seen)
        for (number, _), applied in zip(numbered, written.applied, strict=True):
            done = batch[number].done if number != _COPY else None
            if done is not None:
                done.set(applied)
        return True

    def _copies(self, batch: Sequence[_Waiting]) -> Iterator[tuple[int, PendingEvent]]:
        """Yield earlier events of other processes, on which the effect of this batch's reports depends."""
        latest = {
            identity_of(waiting.entry.name): waiting.entry.event.at for waiting in batch if waiting.done is not None
        }
        for entry in self._notes.of_others(latest.keys()) if latest else ():
            if entry.event.at <= latest[identity_of(entry.name)]:
                yield _COPY, entry._replace(is_copy=True)

    def _note_write_fault(self, fault: str | None) -> None:
        if self._dropped:
            self._log.service(f"states of installs: {self._dropped} events were dropped: they could not be written")
            self._dropped = 0
        self._written.note(fault)
