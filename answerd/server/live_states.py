"""The states of installs in one process: the fold of the events that are in the file.

Rules: docs/install-once.md#where-states-are-kept.

Everything is written before it counts: one thread of each process writes events, those that came together in one
transaction, and its commit waits for the disk. This process reads them from the file, as the others do. Before a gate
is judged, what was written is read: one look at a number, a few microseconds where nothing has changed. So what an
answer is judged by is on the disk, and a write that fails has changed nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from time import monotonic
from typing import Final

import gevent
from gevent.event import AsyncResult
from gevent.monkey import get_original
from gevent.threadpool import ThreadPool

from answerd.answers.catalogue import Catalogue
from answerd.answers.contacts import Asked, contact_of, key_of, without_large_body
from answerd.answers.gates import url_of_host
from answerd.answers.hardware_names import carried_names, row_finder
from answerd.answers.operator_names import OrderedMachine
from answerd.answers.unclaimed import facts_as_json
from answerd.config import Config
from answerd.errors import AnswerError, StatesUnknown
from answerd.facts import Facts
from answerd.fault_log import FaultLog
from answerd.installs.contacts import Held, Pending
from answerd.installs.events import Event, Kind, audited
from answerd.installs.hardware import NAME, NOBODY, Names, RowOf, board_in
from answerd.installs.records import MOST_COMPANIONS, MOST_STRANGERS, InstallMemory, Remembered, ReportedOn, no_row
from answerd.installs.reports import Report
from answerd.installs.sentences import moment
from answerd.installs.states import Order
from answerd.installs.tokens import TokenSubject
from answerd.inventory.row import Row
from answerd.server.cells import Cells
from answerd.server.http.responses import Client
from answerd.server.request_log import RequestLog
from answerd.server.threads import Lock, in_pool, in_thread
from answerd.store import StoreAway, StoreError
from answerd.store.state_tables import ROWS_AT_ONCE, TIDIED_AT, Sighting, about_size
from answerd.store.states import EventReader, EventWriter, GivenOrder, Position, StateFile

_thread_now: Callable[[], int] = get_original("_thread", "get_ident")  # gevent's version identifies greenlets

POLL_SECONDS: Final = 0.1
"""How often the states are polled, for event streams."""

WORK_SECONDS: Final = 0.25
"""How often what can wait is written: unknown machines, and that something is not kept any more."""

AGAIN_SECONDS: Final = 1.25
"""The same after it could not be written."""

MOST_CONTACTS_AT_ONCE: Final = 10
"""Last contacts that are written at a time, every `WORK_SECONDS`: to make and write one takes up to 1 ms, where a body
has 3 KB, so those of thousands of machines that come together take 4 % of the time for a while. Those of 400 machines
are written within 10 seconds."""

MOST_SIGHTINGS: Final = 1_000
"""Unknown machines that wait to be written."""

_TIDIED_AT_ONCE: Final = 50

_BEHIND_SECONDS: Final = 60.0
"""How far the clock may be behind the newest state without a warning: that of another node may be ahead a little."""

_NOT_GIVEN: Final = "this machine cannot be given what installs it: {}"

_NOT_READ = "warning: the states of installs cannot be read, they stay as they were known: {}"
_NOT_WRITTEN = "warning: the states of installs cannot be written: {}"
_SEE_LOG = _NOT_WRITTEN.format("the log has the reason")
_UNKNOWN = (
    "the states of installs were not written in time: the order may have been stored; the machine's state shows "
    "whether it was"
)


NOT_WRITTEN: Final = ("states of installs cannot be written",)
"""The cell that is 1 while a process cannot write the states: the console is served by another one."""


class _Batch:
    """Events that one transaction writes. ``written`` is set once they are on the disk, or raises `StoreError` where
    they cannot be."""

    __slots__ = ("events", "written")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.written: AsyncResult[None] = AsyncResult()

    def fault(self) -> str:
        """Wait until the events are written; return why they could not be, empty where they are."""
        try:
            self.written.get()
        except StoreError as error:
            return _NOT_GIVEN.format(error)
        return ""


_given: ContextVar[_Batch | None] = ContextVar("_given", default=None)
"""What the present request has to have written before its response."""


class StatesAtFork:
    """The states as all processes of the service share them; made once, before forking. ``memory`` holds the records of
    that moment, so a process reads only what is newer."""

    def __init__(self, states: StateFile, config: Config) -> None:
        self.states = states
        self.memory, self.position = states.catch_up(InstallMemory(states.rules), Position())
        self.key = None if states.unfilled else states.key()
        self.url = config.url
        self.own_url = config.own_url
        self.scheme = "http" if config.tls_cert is None else "https"
        # A clock that no other program sets: time never goes back, and never jumps while the service runs.
        now, newest = time.time(), self.memory.newest
        self._clock_offset = max(now, newest) - _running()
        self.warning = ""
        """That the system's clock is behind the states; empty where it is not."""
        if newest - now > _BEHIND_SECONDS:
            self.warning = (
                f"the clock says {moment(now)}, and the newest state of an install is of {moment(newest)}: one of them "
                "is wrong; states go on from the later time, set the clock and restart the service"
            )

    def now(self) -> float:
        return self._clock_offset + _running()


class LiveStates:
    """The states of installs in one process: an `answerd.answers.gates.InstallSource`."""

    def __init__(self, at_fork: StatesAtFork, log: RequestLog, cells: Cells | None = None) -> None:
        """``cells`` have `NOT_WRITTEN`; None for a program of one process."""
        self._cells = Cells([NOT_WRITTEN]) if cells is None else cells
        self.store = at_fork.states
        self.rules = at_fork.states.rules
        self.at_fork = at_fork
        self.catalogue: Callable[[], Catalogue] = Catalogue  # the worker names that of the set in force
        self.on_change: list[Callable[[Remembered], None]] = []
        self._log = log
        self._memory = at_fork.memory
        self._position = at_fork.position
        self._reader: EventReader | None = None
        self._writer = EventWriter(at_fork.states)
        self._writer_thread = ThreadPool(1)
        self._key = at_fork.key
        self._is_reading = False
        self._is_told_of_requests = self._is_current = False
        self._lock = Lock()
        self._loop_thread = _thread_now()
        self._waiting = _Batch()  # for its turn
        self._is_writing = False
        self._sightings: dict[str, Sighting] = {}
        self._to_tidy: dict[str, None] = {}
        self._contacts: Pending[Asked] = Pending()
        self._to_drop: dict[str, int] = {}  # names of records, and the revision up to which they are known
        self._sizes: dict[str, int] = {}  # bytes of events of records since these were tidied
        self._read_log = FaultLog(log.line, "the states of installs can be read again")
        self._write_log = FaultLog(log.line, "the states of installs can be written again")

    @property
    def key(self) -> bytes:
        """The key of tokens. Raises `StatesUnknown` where it is not known."""
        if self._key is None:
            try:
                self._key = self.store.key()
            except StoreError as error:
                raise StatesUnknown(f"the key of report URLs cannot be read: {error}") from None
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
        return self.at_fork.now()

    def base_url(self, facts: Facts) -> str:
        return self.at_fork.url or url_of_host(self.at_fork.scheme, facts)

    def given(self, events: Sequence[Event]) -> None:
        """Have it written that a document was given, or that a start was refused. Raises `StatesUnknown`: the document
        must not be given then."""
        try:
            _given.set(self._add(events))
        except StoreError as error:
            raise StatesUnknown(_NOT_GIVEN.format(error)) from None

    def noted(self, events: Sequence[Event]) -> None:
        """Have it written what a refused machine said of itself. No response waits for it, and it may be lost."""
        with suppress(StoreError):
            self._add(events)

    def awaited(self) -> Callable[[], str] | None:
        """Return what waits until what `given` got for the present request is written, None where that is nothing. It
        is to be called before the response is sent, and returns why that must not be sent, empty where it may."""
        batch = _given.get()
        if batch is None:
            return None
        _given.set(None)
        return batch.fault

    def report(self, subject: TokenSubject, report: Report, detail: str, origin: str) -> bool:
        """Write a machine's report and wait until it is on the disk; return whether it changed anything. Raises
        `StoreError`."""
        self.refresh()
        message, percent = report.message, report.percent
        event = self._memory.reported(ReportedOn(*subject), report.word, self.now(), message, percent, self._row_of())
        self._add([event._replace(detail=detail, origin=origin, body=report.kept)]).written.get()
        return event.counts

    def order(
        self, machines: Sequence[OrderedMachine], order: Order, origin: str, client: Client | None = None
    ) -> None:
        """Write an operator's order to machines and wait until it is on the disk. Raises `StoreError`; then nothing is
        written, except where that is not known when ``client`` must have its response."""
        for line in in_thread(self.store.before_order):
            self._log.line(line)
        self.refresh()
        memory, now = self._memory, self.now()
        events = GivenOrder(order, machines, now, origin).events(memory)
        if not events:
            return
        try:
            self._add(events).written.get(timeout=None if client is None else max(0.0, client.respond_by - monotonic()))
        except gevent.Timeout:
            raise StoreAway(_UNKNOWN) from None
        self.refresh()

    def note_audited(self, what: str, origin: str, detail: str = "") -> None:
        """Have it written what an operator did; the arguments are those of `audited`. Returns at once."""
        try:
            self._add([audited(what, self.now(), origin, detail=detail)])
        except StoreError as error:
            self._note_written(_NOT_WRITTEN.format(error))

    def _row_of(self) -> RowOf:
        try:
            return row_finder(self.catalogue())
        except AnswerError:  # nothing is loaded yet
            return no_row

    def title(self, identity: str) -> str:
        """Return how the machine of an identity is called."""
        held = self._memory.by_identity.get(identity)
        return held.record.name if held is not None else self._memory.title_of(identity)

    def unclaimed(self, catalogue: Catalogue, facts: Facts) -> None:
        """Note a machine that nothing claims, where the request identifies it. Returns at once."""
        found = carried_names(catalogue, facts.said, self._memory)
        if not found:
            return
        identity, text = next(iter(found.items()))
        machine = text[1:]
        before = self._sightings.get(identity)
        if before is None and len(self._sightings) >= MOST_SIGHTINGS:
            return
        now = self.now()
        if before is None:
            self._sightings[identity] = Sighting(machine, now, now, facts_as_json(facts))
        else:
            self._sightings[identity] = _together(before, Sighting(machine, now, now, ""))

    def tied_to(self, catalogue: Catalogue, facts: Facts) -> tuple[str, Names] | None:
        """Return the name of the row to whose machine the hardware of a request is tied that nothing claims, with the
        identities of that row that came with it; both empty where the machine is known and has no row. None where
        nothing came before with what it says, or with that of several rows."""
        self.refresh()  # what the machine was given before may have been written since anybody looked
        ties, find, held = self._memory.ties, row_finder(catalogue), self._memory.by_identity
        said = carried_names(catalogue, facts.said, self._memory)
        board = board_in(said)
        seen = [one for one in said if one in ties.of or one in held]
        known = [one for one in seen if not (ties.is_mac(one) and ties.moves(one, *board))]
        rows = {other: row for one in known for other in ties.tied(one) if isinstance(row := find(other), Row)}
        if not known or len({id(row) for row in rows.values()}) > 1:
            return None
        return next((row.name for row in rows.values()), ""), ties.named(rows)

    def note_contact(
        self, facts: Facts, name: str, status: int, got: str, held: Held = Held.NOT, tied: Names = NOBODY
    ) -> None:
        """Note the last contact of a machine; ``name`` is that of its row, document or member, and ``tied`` are
        identities of its row that it did not say. Returns at once."""
        key = key_of(facts, name)
        if key is not None:
            request = without_large_body(facts.request)
            asked = Asked(request, name, self.now(), status, got, held, facts.shared, tied)
            self._contacts.note(key, asked, (status, held))

    # --- reading ---------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read what other processes have written. Where it cannot be read, what is known stays."""
        if self._is_reading:
            with self._lock:
                return
        try:
            self._read_news()
        except StoreError as error:
            self._read_log.note(_NOT_READ.format(error))

    def _read_news(self) -> None:
        if self._reader is None:
            self._reader = EventReader(self.store)
        if self._reader.has_changed():
            try:
                self._read(self._reader)
            except StoreError:
                self._reader.read_again()
                raise

    def _read(self, log: EventReader) -> None:
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
        if is_other:
            self._log.line("the states of installs were replaced, and were read again")
            for identity in memory.held_of([*memory.by_identity]):
                self._tell(memory.title_of(identity), memory.ties.named([identity]))

    def _apply(self, event: Event) -> None:
        if self._memory.apply(event) and self.on_change:
            self._tell(event.label or self._memory.title_of(event.record), event.names)

    def _tell(self, label: str, names: Names) -> None:
        remembered = self._memory.view(label, names or {label: NAME + label})
        for listen in self.on_change:
            listen(remembered)

    def watch(self) -> None:
        """Poll the states for ever, for event streams and metrics. Only this tells that they can be read again: a
        connection goes on reading a file that has vanished."""
        while True:
            try:
                self.store.require_same_file()
                self._read_news()
                self._read_log.note("")
            except StoreError as error:
                self._read_log.note(_NOT_READ.format(error))
            gevent.sleep(POLL_SECONDS)

    # --- writing ---------------------------------------------------------------------------------------------------

    def _add(self, events: Sequence[Event]) -> _Batch:
        """Have events written in the transaction that is next. Raises `StoreError`."""
        refusal = self.store.refusal()
        if refusal:
            raise StoreAway(refusal)
        batch = self._waiting
        batch.events += events
        for event in events:
            name = event.record
            size = self._sizes[name] = self._sizes.get(name, 0) + about_size(event)
            if event.kind is Kind.FORGOTTEN or event.body or size >= TIDIED_AT:  # some may have to be removed
                del self._sizes[name]
                self._to_tidy[name] = None
        if not self._is_writing:
            self._is_writing = True
            # At the end of this turn of the loop: requests that came together share a transaction.
            gevent.get_hub().loop.run_callback(gevent.spawn, self._write)
        return batch

    def _write(self) -> None:
        """Write what waits, until nothing does."""
        while self._waiting.events:
            batch, self._waiting = self._waiting, _Batch()
            try:
                in_pool(self._writer_thread, self._writer.write, batch.events)
            except StoreError as error:
                self._note_written(_NOT_WRITTEN.format(error))
                batch.written.set_exception(error)
            except Exception as error:
                batch.written.set_exception(error)
            else:
                self._note_written("")
                batch.written.set()
        self._is_writing = False

    def keep_up(self) -> None:
        while True:
            gevent.sleep(WORK_SECONDS if self.flush() else AGAIN_SECONDS)

    def flush(self) -> bool:
        """Write what can wait; return whether that worked. Else it waits on."""
        self._note_evicted()
        sightings, self._sightings = self._sightings, {}
        dropped, self._to_drop = self._to_drop, {}
        tidied, self._to_tidy = self._to_tidy, {}
        asked = self._contacts.take(self.now(), MOST_CONTACTS_AT_ONCE)
        try:
            if asked:
                in_pool(self._writer_thread, self._write_contacts, asked)
            in_pool(self._writer_thread, self._write_in_thread, [*sightings.values()], dropped, [*tidied])
        except StoreError as error:
            for identity, sighting in sightings.items():
                newer = self._sightings.get(identity)
                self._sightings[identity] = sighting if newer is None else _together(sighting, newer)
            self._to_drop = dropped | self._to_drop
            self._to_tidy |= tidied
            self._note_written(_NOT_WRITTEN.format(error))
            return False
        if asked or sightings:
            self._note_written("")
        return True

    def _note_written(self, fault: str) -> None:
        """Note the result of a try to write; the line about its fault, empty where it worked."""
        self._write_log.note(fault)
        self._cells.set(*NOT_WRITTEN, value=int(bool(fault)))

    def faults(self) -> list[str]:
        """Return what the log has warned of and what is not over: of this process, and that others cannot write."""
        not_written = self._write_log.fault or (_SEE_LOG if self._cells.total(*NOT_WRITTEN) else "")
        return [fault for fault in (self._read_log.fault, not_written) if fault]

    def _note_evicted(self) -> None:
        """Have the disk rid of the identities that made room for others."""
        memory = self._memory
        evicted, memory.evicted = memory.evicted, {}
        if not evicted:
            return
        self._to_drop |= dict.fromkeys(evicted, self._position.revision)
        for identity in evicted:
            self._sizes.pop(identity, None)
        self._log.line(
            f"states of installs: {len(evicted)} identities that no row, member or document names were dropped, those "
            f"that were silent for longest: there were {MOST_STRANGERS:,}, or {MOST_COMPANIONS:,} that came with others"
        )

    def _write_contacts(self, asked: Sequence[Asked]) -> None:
        found = [contact for one in asked if (contact := contact_of(one)) is not None]
        if found:
            self.store.note_contacts(found)

    def _write_in_thread(
        self, sightings: Sequence[Sighting], dropped: Mapping[str, int], tidied: Sequence[str]
    ) -> None:
        if sightings:
            self.store.note_sightings(sightings)
        if dropped:
            self.store.drop(dropped, self._memory.is_kept)
        for at in range(0, len(tidied), _TIDIED_AT_ONCE):
            self.store.tidy(tidied[at : at + _TIDIED_AT_ONCE])


def _together(before: Sighting, after: Sighting) -> Sighting:
    return Sighting(after.machine, before.first, after.last, after.facts or before.facts, before.asked + after.asked)


def _running() -> float:
    """Return a monotonic time that is the same in all processes of this machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
