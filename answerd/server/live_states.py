"""The states of installs in one process: kept in memory, brought up to date before each use, and written before they
count.

Rules: docs/install-once.md#where-states-are-kept.

A giving is inserted into the log of events before its response; a report and an order are synced as well, and those
that come together share a sync. Before a gate is judged, what other processes wrote is read: one look at a number, a
few microseconds where nothing has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Final

import gevent
from gevent.event import AsyncResult
from gevent.monkey import get_original
from gevent.threadpool import ThreadPool

from answerd.answers.gates import collected_identities, url_of_host
from answerd.answers.unclaimed import facts_as_json
from answerd.config import Config
from answerd.errors import StatesUnknown
from answerd.facts import Facts
from answerd.fault_log import FaultLog
from answerd.identity import record_identity
from answerd.installs.events import Event, Evidence, Kind, ordered, reported
from answerd.installs.records import MOST_UNNAMED, InstallMemory, Remembered
from answerd.installs.reports import Report
from answerd.installs.sentences import shown_name
from answerd.installs.states import Order
from answerd.installs.tokens import TokenSubject
from answerd.server.http.responses import Client
from answerd.server.request_log import RequestLog
from answerd.server.threads import Lock, in_pool, in_thread
from answerd.store import StoreAway, StoreError
from answerd.store.state_tables import ROWS_AT_ONCE, Sighting
from answerd.store.states import EventLog, OrderedMachine, Position, StateFile, wait_while_busy

_thread_now: Callable[[], int] = get_original("_thread", "get_ident")  # gevent's version identifies greenlets

POLL_SECONDS: Final = 0.1
"""How often the states are polled, for event streams."""

WORK_SECONDS: Final = 0.25
"""How often what can wait is written: unknown machines, what is not kept any more, and the log into the database."""

AGAIN_SECONDS: Final = 1.25
"""The same after it could not be written."""

BUSY_SECONDS: Final = 6.0
"""How long an event waits while another program writes to the file: an import of a large set."""

MOST_SIGHTINGS: Final = 1_000
"""Unknown machines that wait to be written."""

TIDIED_AT: Final = 100
"""Events of one record after which it is looked at whether it has too many."""

_TIDIED_AT_ONCE: Final = 50

_NOT_GIVEN: Final = "this machine cannot be given what installs it: {}"

_NOT_READ = "warning: the states of installs cannot be read, they stay as they were known: {}"
_NOT_WRITTEN = "warning: the states of installs cannot be written: {}"
_UNKNOWN = (
    "the states of installs were not written in time: the order may have been stored; the machine's state shows "
    "whether it was"
)


@dataclass(slots=True)
class _Batch:
    """All events that are in force here and not written yet, which one transaction inserts. ``before`` is the evidence
    of their records without them, and ``position`` was read then. ``written`` is set once they are inserted, or raises
    `StoreError` where they cannot be; ``synced`` likewise once they are on the disk, where somebody waits for that."""

    position: Position
    events: list[Event] = field(default_factory=list)
    before: dict[str, Evidence | None] = field(default_factory=dict)
    written: AsyncResult[None] = field(default_factory=AsyncResult)
    synced: AsyncResult[None] = field(default_factory=AsyncResult)
    is_being_written: bool = False


class SharedStates:
    """The states as all processes of the service share them; made once, before forking. ``memory`` holds the records of
    that moment, so a process reads only what is newer."""

    def __init__(self, states: StateFile, config: Config) -> None:
        self.states = states
        self.memory, self.position = states.catch_up(InstallMemory(states.rules), Position())
        self.url = config.url
        self.own_url = config.own_url
        self.scheme = "http" if config.tls_cert is None else "https"
        # A clock that no other program sets: time never goes back, and never jumps while the service runs.
        self._clock_offset = max(time.time(), self.memory.newest) - _running()

    def now(self) -> float:
        return self._clock_offset + _running()


class LiveStates:
    """The states of installs in one process: an `answerd.answers.gates.InstallSource`."""

    def __init__(self, shared: SharedStates, log: RequestLog) -> None:
        self.store = shared.states
        self.rules = shared.states.rules
        self.shared = shared
        self.on_change: list[Callable[[Remembered], None]] = []
        self._log = log
        self._memory = shared.memory
        self._position = shared.position
        self._events: EventLog | None = None
        self._key: bytes | None = None
        self._is_reading = False
        self._is_told_of_requests = self._is_current = False
        self._lock = Lock()
        self._loop_thread = _thread_now()
        self._pool = ThreadPool(1)
        self._batch: _Batch | None = None
        self._is_syncing = False
        self._to_sync: list[_Batch] = []
        self._sightings: dict[str, Sighting] = {}
        self._to_tidy: dict[str, None] = {}
        self._to_drop: dict[str, int] = {}  # names of records, and the revision up to which they are known
        self._counts: dict[str, int] = {}
        self._read_log = FaultLog(log.line, "the states of installs can be read again")
        self._write_log = FaultLog(log.line, "the states of installs can be written again")

    @property
    def key(self) -> bytes:
        """The key of tokens. Raises `StoreError` where it is not known."""
        if self._key is None:
            self._key = self.store.key()
        return self._key

    # --- for requests ----------------------------------------------------------------------------------------------

    def note_request(self) -> None:
        """Have the next `current` read what was written before the request that is there now."""
        self._is_told_of_requests, self._is_current = True, False

    def current(self) -> InstallMemory:
        """Return all records, including every event that any process has written before the call; where `note_request`
        is called for each request, before the last one of them. Requests that are there together are answered together,
        and the question whether anything was written takes longer than all else that is asked of the states. Raises
        `StatesUnknown`."""
        if not self._is_current and _thread_now() == self._loop_thread:  # another thread works for such a request
            self.refresh()
            self._is_current = self._is_told_of_requests
        unfilled = self.store.unfilled
        if unfilled:
            raise StatesUnknown(f"whether this machine may install cannot be said: {unfilled}")
        return self._memory

    def now(self) -> float:
        return self.shared.now()

    def base_url(self, facts: Facts) -> str:
        return self.shared.url or url_of_host(self.shared.scheme, facts)

    def given(self, events: Sequence[Event]) -> None:
        """Put in force that a document was given, or that a start was refused; `settle` has it written. Raises
        `StatesUnknown`: the document must not be given then."""
        for event in events:
            if not event.is_named and record_identity(event.record) not in self._memory.by_name:
                self._make_room()
        try:
            self._add(events)
        except StoreError as error:
            raise StatesUnknown(_NOT_GIVEN.format(error)) from None

    def settle(self) -> Callable[[], str] | None:
        """Return what writes all that is in force here and not written, None where there is nothing: the answer to the
        present request may follow from any of it. It is to be called before the response is sent, may wait, and returns
        why the response must not be sent, empty where it may."""
        return None if self._batch is None else partial(self._settled, self._batch)

    def _settled(self, batch: _Batch) -> str:
        try:
            self._write(batch)
        except StoreError as error:
            return _NOT_GIVEN.format(error)
        return ""

    def report(self, subject: TokenSubject, report: Report, detail: str, origin: str) -> bool:
        """Write a machine's report and wait until it is on the disk; return whether it changed anything. Raises
        `StoreError`."""
        self.refresh()
        evidence = self._memory.evidence(subject.name) or Evidence(subject.name)
        message, percent = report.message, report.percent
        event = reported(evidence, report.word, subject.attempt, self.now(), message, percent, self.rules)
        self._synced(self._add([event._replace(detail=detail, origin=origin, body=report.kept)]))
        return event.counts

    def order(
        self, machines: Sequence[OrderedMachine], order: Order, origin: str, client: Client | None = None
    ) -> None:
        """Write an operator's order to machines and wait until it is on the disk. Raises `StoreError`; then nothing is
        written, except where that is not known when ``client`` must have its response."""
        for line in in_thread(self.store.before_order):
            self._log.line(line)
        self.refresh()
        events = []
        for name, identities in machines:
            evidence = self._memory.evidence(name) or Evidence(name)
            events.append(ordered(evidence, order, self.now(), identities, origin))
        if events:
            self._synced(self._add(events), None if client is None else max(0.0, client.respond_by - monotonic()))

    def unclaimed(self, facts: Facts) -> None:
        """Note a machine that nothing claims, where the request identifies it. Returns at once."""
        found = collected_identities(facts)
        if not found:
            return
        identity, machine = next(iter(found.items()))
        before = self._sightings.get(identity)
        if before is None and len(self._sightings) >= MOST_SIGHTINGS:
            return
        if before is None:
            self._sightings[identity] = Sighting(machine, self.now(), facts_as_json(facts))
        else:
            self._sightings[identity] = _together(before, Sighting(machine, self.now(), ""))

    # --- reading ---------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read what other processes have written. Where it cannot be read, what is known stays."""
        if self._is_reading:
            with self._lock:
                return
        try:
            events = self._log_of_events()
            if not events.has_changed():
                return
            try:
                self._read(events)
            except StoreError:
                events.read_again()
                raise
            self._read_log.note("")
        except StoreError as error:
            self._read_log.note(_NOT_READ.format(error))

    def _read(self, log: EventLog) -> None:
        """Read the events after the last one that is known, or all where the contents are others now. Other requests
        wait for all of it."""
        revision, epoch = self._position.revision, log.epoch()
        is_other = epoch != self._position.epoch
        memory = self._memory
        if is_other:
            memory, revision = InstallMemory(self.rules), 0
        with self._lock:
            self._is_reading = True
            try:
                for part in log.since(revision):
                    if len(part) == ROWS_AT_ONCE:
                        gevent.sleep()  # the loop goes on
                    for _, event in part:
                        if event is not None and is_other:
                            memory.apply(event)
                        elif event is not None:
                            self._apply(event)
                    revision = part[-1][0]
            finally:
                self._is_reading = False
            self._position = Position(revision, epoch)
            if is_other:
                self._memory, self._key = memory, None
                self._begin_batch_again()
        if is_other:
            self._log.line("the states of installs were replaced, and were read again")
            for remembered in [*memory.by_name.values()]:
                self._tell(remembered)

    def _apply(self, event: Event) -> None:
        memory = self._memory
        before = memory.by_name.get(record_identity(event.record)) if self.on_change else None
        after = memory.apply(event)
        while memory.newly_shared:
            text = shown_name(memory.newly_shared.pop(0))
            self._log.line(f"states of installs: {text} tells no machine from others any more: too many have it")
        if self.on_change:
            now = after or memory.new(event.record)
            if before is None or before.record.state is not now.record.state:
                self._tell(now)

    def _tell(self, remembered: Remembered) -> None:
        for listen in self.on_change:
            listen(remembered)

    def watch(self) -> None:
        """Poll the states for ever, for event streams and metrics."""
        while True:
            try:
                self.store.require_same_file()
                if self._read_log.fault:
                    self._log_of_events().read_again()
                self.refresh()
            except StoreError as error:
                self._read_log.note(_NOT_READ.format(error))
            gevent.sleep(POLL_SECONDS)

    # --- writing ---------------------------------------------------------------------------------------------------

    def _log_of_events(self) -> EventLog:
        if self._events is None:
            self._events = EventLog(self.store)
        return self._events

    def _add(self, events: Sequence[Event]) -> _Batch:
        """Put events in force here, and have them inserted together with those of other requests. Raises
        `StoreError`."""
        refusal = self.store.refusal()
        if refusal:
            raise StoreAway(refusal)
        self._log_of_events()
        batch = self._batch
        if batch is None:
            batch = self._batch = _Batch(self._position)
            gevent.get_hub().loop.run_callback(self._write_later, batch)
        for event in events:
            self._put_in_force(batch, event)
        return batch

    def _put_in_force(self, batch: _Batch, event: Event) -> None:
        batch.events.append(event)
        name = record_identity(event.record)
        if name not in batch.before:
            batch.before[name] = self._memory.evidence(event.record)
        self._apply(event)
        count = self._counts[name] = self._counts.get(name, 0) + 1
        if event.kind is Kind.FORGOTTEN or event.body or count >= TIDIED_AT:  # some may have to be removed
            del self._counts[name]
            self._to_tidy[name] = None

    def _begin_batch_again(self) -> None:
        """Put what is not written yet in force among the records that have taken the place of others."""
        if self._batch is not None:
            events, self._batch.events = self._batch.events, []
            self._batch.position, self._batch.before = self._position, {}
            for event in events:
                self._put_in_force(self._batch, event)

    def _write_later(self, batch: _Batch) -> None:
        if batch is self._batch:
            gevent.spawn(self._settled, batch)

    def _write(self, batch: _Batch) -> None:
        """Insert the events of a batch, or wait until another greenlet has. Raises `StoreError`."""
        if batch.is_being_written:
            batch.written.get()
            return
        batch.is_being_written = True
        log = self._log_of_events()
        try:
            # While another program writes, more events may come into the batch.
            revision = wait_while_busy(lambda: log.append(batch.events), BUSY_SECONDS, gevent.sleep)
        except StoreError as error:
            self._write_log.note(_NOT_WRITTEN.format(error))
            with self._lock:  # no thread reads events meanwhile
                self._take_back(batch, log)
            batch.written.set_exception(error)
            raise
        self._batch = None
        self._write_log.note("")
        if revision == self._position.revision + len(batch.events):  # else another process has written in between
            self._position = Position(revision, self._position.epoch)
        batch.written.set()
        self.store.wake_up()

    def _take_back(self, batch: _Batch, log: EventLog) -> None:
        """Have the records of a batch that cannot be written be what they were, and read what others wrote since."""
        self._batch, self._position = None, batch.position
        for name, evidence in batch.before.items():
            self._memory.put(name, evidence)
        self._is_current = False
        log.read_again()

    def _synced(self, batch: _Batch, timeout: float | None = None) -> None:
        """Wait until a batch is on the disk, in one sync for all that wait. Raises `StoreError`."""
        if not self._to_sync and not self._is_syncing:
            gevent.spawn(self._sync)
        if not self._to_sync or self._to_sync[-1] is not batch:
            self._to_sync.append(batch)
        try:
            batch.synced.get(timeout=timeout)
        except gevent.Timeout:
            raise StoreAway(_UNKNOWN) from None
        batch.written.get()

    def _sync(self) -> None:
        self._is_syncing = True
        while self._to_sync:
            batches, self._to_sync = self._to_sync, []
            for batch in batches:
                self._settled(batch)
            try:
                in_pool(self._pool, self.store.sync_log)
            except StoreError as error:
                for batch in batches:
                    batch.synced.set_exception(error)
            else:
                for batch in batches:
                    batch.synced.set()
        self._is_syncing = False

    def _make_room(self) -> None:
        """Drop the oldest records that nothing names, where there are too many. Raises `StatesUnknown`."""
        dropped = self._memory.evict()
        if dropped is None:
            raise StatesUnknown(
                f"there are {MOST_UNNAMED:,} records of machines that no row, member or document names, and all of "
                "them are installed: name this machine, or forget others"
            )
        if dropped:
            self._to_drop |= dict.fromkeys(dropped, self._position.revision)
            self._log.line(
                f"states of installs: {len(dropped)} records that no row, member or document names were dropped, the "
                f"oldest first: there were {MOST_UNNAMED:,}"
            )

    def keep_up(self) -> None:
        while True:
            gevent.sleep(WORK_SECONDS if self.flush() else AGAIN_SECONDS)

    def flush(self) -> bool:
        """Write what can wait; return whether that worked. Else it waits on."""
        sightings, self._sightings = self._sightings, {}
        dropped, self._to_drop = self._to_drop, {}
        tidied, self._to_tidy = self._to_tidy, {}
        try:
            in_thread(self._write_in_thread, [*sightings.values()], dropped, [*tidied])
        except StoreError as error:
            for identity, sighting in sightings.items():
                newer = self._sightings.get(identity)
                self._sightings[identity] = sighting if newer is None else _together(sighting, newer)
            self._to_drop = dropped | self._to_drop
            self._to_tidy |= tidied
            self._write_log.note(_NOT_WRITTEN.format(error))
            return False
        return True

    def _write_in_thread(
        self, sightings: Sequence[Sighting], dropped: Mapping[str, int], tidied: Sequence[str]
    ) -> None:
        if sightings:
            self.store.note_sightings(sightings)
        if dropped:
            self.store.drop(dropped)
        for at in range(0, len(tidied), _TIDIED_AT_ONCE):
            self.store.tidy(tidied[at : at + _TIDIED_AT_ONCE])
        self.store.checkpoint()


def _together(before: Sighting, after: Sighting) -> Sighting:
    return Sighting(after.machine, after.at, after.facts or before.facts, before.asked + after.asked)


def _running() -> float:
    """Return a monotonic time that is the same in all processes of this machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
