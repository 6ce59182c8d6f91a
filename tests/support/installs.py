"""Installs that are remembered in process: a clock that a test moves, and what was written is in force at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.gates import Gates, url_of_host
from answerd.answers.hardware_names import row_finder
from answerd.answers.operator_names import machine_named, ordered_machine
from answerd.facts import Facts
from answerd.identity import identity_of
from answerd.installs.events import Event, Kind, fold_of, giving_id
from answerd.installs.fold import (
    FIRST_ATTEMPT,
    NOTHING,
    Begun,
    Closing,
    Fold,
    LastGroup,
    Start,
    Strength,
    merge,
    record_of,
)
from answerd.installs.hardware import NAME, SERIAL, Asked, Held
from answerd.installs.records import InstallMemory, ReportedOn
from answerd.installs.states import Order, Record, Refusal, ReportKind, Requested, Rules, State
from answerd.installs.tokens import subject_of


class Reported(NamedTuple):
    """A machine reports, with the URL of one attempt, counted from 1."""

    word: ReportKind
    attempt: int
    at: float
    message: str | None = None
    percent: float | None = None


class Ordered(NamedTuple):
    """An operator orders."""

    order: Order
    at: float


Happening = Requested | Reported | Ordered


class Known(NamedTuple):
    """All that is known of one machine, and how many attempts it had."""

    fold: Fold = NOTHING
    attempt: int = 1


@dataclass(frozen=True)
class Outcome:
    """What a happening leads to: what is known then, the rule by which a document is refused, and the event, None where
    none is written."""

    known: Known
    refusal: Refusal | None
    event: Event | None
    rules: Rules

    @cached_property
    def record(self) -> Record:
        """What follows from it."""
        return record_of(ONE, self.known.fold, self.rules)


ONE = "s1"
"""The identity of the machine of `step`."""


def step(known: Known, happened: Happening, rules: Rules) -> Outcome:
    """What a happening leads to, where everything that happened before is known."""
    memory, names, (fold, attempt) = InstallMemory(rules), {ONE: SERIAL + ONE}, known
    if fold != NOTHING:
        memory.by_identity[ONE] = Held(fold, record_of(ONE, fold, rules))
    refusal = None
    events: Sequence[Event] = ()
    if isinstance(happened, Reported):
        if happened.attempt > 0:
            subject = subject_in(known, rules, is_old=happened.attempt < attempt)
            events = [memory.reported(subject, happened.word, happened.at, happened.message, happened.percent)]
    elif isinstance(happened, Ordered):
        attempt += happened.order is not Order.DISARM
        events = [memory.ordered(happened.order, ONE, names, happened.at, "")]
    else:
        decision = memory.ask(Asked(names), happened)
        refusal = decision.refused.refusal if decision.refused is not None else None
        events = [event for event in decision.events if event.kind is not Kind.ASKED]
    for event in events:
        if event.names:
            fold = merge(fold, fold_of(event))
    return Outcome(Known(fold, attempt), refusal, events[0] if events else None, rules)


def subject_in(known: Known, rules: Rules, *, is_old: bool) -> ReportedOn:
    """What the URL says that was given in the present attempt, or in one before."""
    record = record_of(ONE, known.fold, rules)
    if is_old:
        return ReportedOn(f"{0:012x}old", ONE)
    arms = tuple(order for order in known.fold.orders if order.id in record.attempts)
    giving = record.giving or giving_id(ONE, known.fold.orders)
    return ReportedOn(giving, ONE, arms[0].id if arms else FIRST_ATTEMPT)


@dataclass
class RememberedInstalls:
    """An `answerd.answers.gates.InstallSource` without a database."""

    key: bytes = b"k" * 32
    clock: float = 1_795_252_440.0
    url: str | None = None
    memory: InstallMemory = field(default_factory=lambda: InstallMemory(Rules()))
    written: list[Event] = field(default_factory=list)
    catalogue: Callable[[], Catalogue] = Catalogue

    @property
    def rules(self) -> Rules:
        """The limits."""
        return self.memory.rules

    @rules.setter
    def rules(self, rules: Rules) -> None:
        self.memory.rules = rules

    @property
    def gates(self) -> Gates:
        """The gates of these installs."""
        return Gates(self)

    def current(self) -> InstallMemory:
        """What is remembered."""
        return self.memory

    def now(self) -> float:
        """The time of the test."""
        return self.clock

    def base_url(self, facts: Facts) -> str:
        """The setting, else the request's host."""
        return self.url or url_of_host("http", facts)

    def given(self, events: Sequence[Event]) -> None:
        """Note it at once."""
        for event in events:
            self._write(event)

    def noted(self, events: Sequence[Event]) -> None:
        """Note it at once."""
        self.given(events)

    def report(self, url: str, word: ReportKind = ReportKind.INSTALLED) -> None:
        """Report by a URL as an answer had it."""
        subject = subject_of(url.rpartition("/")[2], self.key)
        assert subject is not None, url
        row_of = row_finder(self.catalogue())
        self._write(self.memory.reported(ReportedOn(*subject), word, self.clock, None, None, row_of))

    def order(self, name: str, order: Order, catalogue: Catalogue | None = None) -> None:
        """Arm, disarm or forget a machine."""
        if catalogue is None:
            names = {identity_of(name): self.memory.ties.texts.get(identity_of(name), NAME + name)}
            self._write(self.memory.ordered(order, name, names, self.clock, ""))
            return
        machine = machine_named(catalogue, self.memory, name)
        assert machine is not None, name
        ordered = ordered_machine(catalogue, self.memory, machine, order)
        self._write(self.memory.ordered(order, ordered.label, ordered.names, self.clock, ""))

    def _write(self, event: Event) -> None:
        self.written.append(event)
        self.memory.apply(event)


_STRENGTHS = {
    State.INSTALLING: Strength.INSTALLING,
    State.COPIED: Strength.COPIED,
    State.FAILED: Strength.FAILED,
    State.INSTALLED: Strength.INSTALLED,
}


def known(
    name: str, state: State = State.NEW, at: float = 0.0, identities: Iterable[str] = (), group: str | None = None
) -> Event:
    """An event after which a machine is in a state since a time, and was heard of then."""
    names = {identity_of(one): f"n{one}" for one in (*identities, name)}
    starts: tuple[Start, ...] = ()
    if state in _STRENGTHS:
        starts = (Start(FIRST_ATTEMPT, 1, (f"g{name}",), at, _STRENGTHS[state], at, names=names),)
    closings = (Closing(f"c{name}", at, f"g{name}"),) if state is State.INSTALLED else ()
    orders = (Begun(f"o{name}", Order.ARM, at),) if state is State.ARMED else ()
    fold = Fold(orders, (), closings, starts, heard=at, group=LastGroup(at, group) if group is not None else None)
    return Event(next(iter(names)), name, Kind.SUMMARY, at, names, folds=dict.fromkeys(names, fold))


def memory_of(*events: Event, rules: Rules | None = None) -> InstallMemory:
    """The states after some events."""
    memory = InstallMemory(rules or Rules())
    for event in events:
        memory.apply(event)
    return memory


def forget(memory: InstallMemory, name: str) -> None:
    """Have a machine forgotten."""
    memory.apply(memory.ordered(Order.FORGET, name, {identity_of(name): NAME + name}, memory.newest + 1, ""))
