"""Installs that are remembered in process: a clock that a test moves, and what was written is in force at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from answerd.answers.gates import Gates, url_of_host
from answerd.facts import Facts
from answerd.identity import identity_of
from answerd.installs import events
from answerd.installs.events import (
    Event,
    Evidence,
    Kind,
    LastGroup,
    Start,
    Strength,
    evidence_of,
    merge,
    record_of,
)
from answerd.installs.records import InstallMemory
from answerd.installs.states import Order, Record, Refusal, ReportKind, Requested, Rules, State, judge
from answerd.installs.tokens import subject_of


class Reported(NamedTuple):
    """A machine reports, with the URL of one attempt."""

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


@dataclass(frozen=True)
class Outcome:
    """What a happening leads to: the evidence, the rule by which a document is refused, and the event, None where none
    is written."""

    evidence: Evidence
    refusal: Refusal | None
    event: Event | None
    rules: Rules

    @cached_property
    def record(self) -> Record:
        """What follows from the evidence."""
        return record_of(self.evidence, self.rules)


def event_of(evidence: Evidence, happened: Happening, rules: Rules) -> tuple[Event | None, Refusal | None]:
    """The event that is written when something happens, and the rule by which a document is refused."""
    if isinstance(happened, Reported):
        word, attempt, at, message, percent = happened
        return events.reported(evidence, word, attempt, at, message, percent, rules), None
    if isinstance(happened, Ordered):
        return events.ordered(evidence, happened.order, happened.at, {}, ""), None
    record = record_of(evidence, rules)
    judged = judge(record, happened, rules)
    event = Event(evidence.name, Kind.GIVEN, happened.at, record.attempt, judged.start, happened.document)
    if judged.refusal is not None:
        return (event._replace(kind=Kind.REFUSED) if judged.exhausts else None), judged.refusal
    return (None if happened.without_start else event), None


def step(evidence: Evidence, happened: Happening, rules: Rules) -> Outcome:
    """What a happening leads to, where everything that happened before is known."""
    event, refusal = event_of(evidence, happened, rules)
    after = evidence if event is None else merge(evidence, evidence_of(event))
    return Outcome(after, refusal, event, rules)


@dataclass
class RememberedInstalls:
    """An `answerd.answers.gates.InstallSource` without a database."""

    key: bytes = b"k" * 32
    clock: float = 1_795_252_440.0
    url: str | None = None
    memory: InstallMemory = field(default_factory=lambda: InstallMemory(Rules()))
    written: list[Event] = field(default_factory=list)

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

    def report(self, url: str, word: ReportKind = ReportKind.INSTALLED) -> None:
        """Report by a URL as an answer had it."""
        subject = subject_of(url.rpartition("/")[2], self.key)
        assert subject is not None, url
        evidence = self.memory.evidence(subject.name) or Evidence(subject.name)
        self._write(events.reported(evidence, word, subject.attempt, self.clock, None, None, self.rules))

    def order(self, name: str, order: Order) -> None:
        """Arm, disarm or forget a machine."""
        evidence = self.memory.evidence(name) or Evidence(name)
        self._write(events.ordered(evidence, order, self.clock, {identity_of(name): name}, ""))

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
    starts = {1: Start(at, _STRENGTHS[state], at)} if state in _STRENGTHS else {}
    found = {identity: (1, identity) for identity in identities}
    last = LastGroup(1, at, group) if group is not None else None
    is_armed = state is State.ARMED
    evidence = Evidence(name, 1, is_armed, at if is_armed else None, None, None, starts, at, 0, found, last)
    return Event(name, Kind.SUMMARY, at, 1, evidence=evidence)


def memory_of(*events: Event, rules: Rules | None = None) -> InstallMemory:
    """The records after some events."""
    memory = InstallMemory(rules or Rules())
    for event in events:
        memory.apply(event)
    return memory


def forget(memory: InstallMemory, name: str) -> None:
    """Have a machine forgotten."""
    evidence = memory.evidence(name) or Evidence(name)
    memory.apply(events.ordered(evidence, Order.FORGET, 0.0, {}, ""))
