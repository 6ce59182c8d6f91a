"""The records of all machines in memory, by name and by every identity that they have collected.

Rules: docs/install-once.md#one-record-for-each-machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from answerd.identity import record_identity
from answerd.installs.events import Event, Evidence, Kind, evidence_of, merge, record_of
from answerd.installs.states import Record, Refusal, Requested, Rules, State, is_repeated, is_silent, judge

CLOSEST_FIRST: Final = (
    State.INSTALLED,
    State.EXHAUSTED,
    State.COPIED,
    State.FAILED,
    State.INSTALLING,
    State.ARMED,
    State.NEW,
)
"""Of several records that a request belongs to, the one whose state is shown: what is refused to one is refused."""


class Remembered(NamedTuple):
    """A record and the evidence that it follows from."""

    record: Record
    evidence: Evidence

    @property
    def identities(self) -> dict[str, str]:
        return {identity: text for identity, (_, text) in self.evidence.identities.items()}

    @property
    def group(self) -> str | None:
        """The group document that was part of the machine's last answer."""
        return self.evidence.group.name if self.evidence.group is not None else None

    @property
    def is_named(self) -> bool:
        """Whether a row, a document, a member or an operator names the record."""
        return bool(self.evidence.named)


class Visitor(NamedTuple):
    """The machine that asks. ``name`` is the name for a new record, None where nothing names the machine;
    ``identities`` are those that a record would collect, with their texts. ``is_named``: an operator gave the name."""

    name: str | None
    identities: Mapping[str, str] = {}
    group: str | None = None
    is_named: bool = False


class Decision(NamedTuple):
    """The decision of the states about a request for a document. ``events`` are to be written before the response;
    ``refuser`` is the record that refuses, None where the document is given."""

    events: tuple[Event, ...] = ()
    refuser: Record | None = None
    refusal: Refusal | None = None


MOST_ALIKE: Final = 8
"""Records that one identity finds. What more records have (a UUID of a whole batch of boards, the MAC address of an
adapter that is passed around) tells nobody which machine asks, and would cost each request a look at all of them."""

MOST_COLLECTED: Final = 64
"""Identities of one request that a record collects."""

MOST_OF_A_RECORD: Final = 256
"""Identities of one record; further ones are not collected."""

MOST_UNNAMED: Final = 10_000
"""Records that no row, document, member or operator names: strangers can make them."""

_EVICTED_AT_ONCE: Final = 200
"""Records that are dropped together: finding the oldest means a look at all of them."""

_MAY_GO: Final = (State.NEW, State.INSTALLING, State.FAILED, State.EXHAUSTED)
"""The states of unnamed records that may be dropped, the first ones first. One that is copied, installed or armed is
kept: its machine would install again, or be refused."""


class InstallMemory:
    """All records. Of one process, and edited by its loop only; look-ups from other threads are safe, and
    so are walks over a copy (``[*memory.by_name]``)."""

    def __init__(self, rules: Rules, assumed: Record | None = None) -> None:
        """``assumed`` is the record with which a machine without one begins, apart from its name; by default a new
        record."""
        self.rules = rules
        self._assumed = assumed
        self.by_name: dict[str, Remembered] = {}
        self.unnamed: dict[str, None] = {}  # names' identities of those that nothing but a request names
        self.changes = 0  # rises with every change
        self.newest = 0.0  # the latest time of an event
        # Names by identity; in a dict where there are more than `MOST_ALIKE`.
        self._by_identity: dict[str, tuple[str, ...] | dict[str, None]] = {}
        self.newly_shared: list[str] = []  # to be emptied by those who want to tell
        self.forgotten: dict[str, Evidence] = {}  # of machines without a record, by the identity of their names

    def __len__(self) -> int:
        return len(self.by_name)

    def apply(self, event: Event) -> Remembered | None:
        """Add an event. Return the record then, None where the machine has none (any more)."""
        before = self.evidence(event.record)
        evidence = evidence_of(event)
        self.newest = max(self.newest, event.at)
        return self.put(record_identity(event.record), evidence if before is None else merge(before, evidence))

    def evidence(self, name: str) -> Evidence | None:
        own = record_identity(name)
        remembered = self.by_name.get(own)
        return remembered.evidence if remembered is not None else self.forgotten.get(own)

    def put(self, name: str, evidence: Evidence | None) -> Remembered | None:
        """Have the evidence of the record of a name's identity be this; None removes the record without a trace. Return
        the record then."""
        self.changes += 1
        self.forgotten.pop(name, None)
        if evidence is None or not evidence.is_record:
            self.drop(name)
            if evidence is not None:
                self.forgotten[name] = evidence
            return None
        before = self.by_name.get(name)
        record = record_of(evidence, self.rules)
        remembered = self.by_name[name] = Remembered(record, evidence)
        if evidence.named:
            self.unnamed.pop(name, None)
        else:
            self.unnamed[name] = None
        known: Mapping[str, object] = before.evidence.identities if before is not None else {}
        if known is not evidence.identities:
            for identity in known:
                if identity not in evidence.identities:
                    self._drop(identity, name)
            for identity in evidence.identities:
                if identity not in known:
                    self._add(identity, name)
        return remembered

    def drop(self, name: str) -> None:
        """Remove the record of a name's identity without a trace."""
        self.changes += 1
        before = self.by_name.pop(name, None)
        self.unnamed.pop(name, None)
        if before is not None:
            for identity in before.evidence.identities:
                self._drop(identity, name)

    def evict(self) -> list[str] | None:
        """Make room for a record that nothing but a request names, where there are `MOST_UNNAMED`: drop the oldest ones
        that are not installed. Return the identities of their names; None where there is no room."""
        if len(self.unnamed) < MOST_UNNAMED:
            return []
        unnamed = [(name, self.by_name[name].record) for name in self.unnamed]
        found = [(_MAY_GO.index(one.state), one.heard, name) for name, one in unnamed if one.state in _MAY_GO]
        if not found:
            return None
        dropped = [name for _, _, name in sorted(found)[:_EVICTED_AT_ONCE]]
        for name in dropped:
            self.drop(name)
        return dropped

    def by_state(self) -> Counter[State]:
        """Return how many machines are in each state."""
        return Counter(remembered.record.state for remembered in [*self.by_name.values()])

    def silent(self, now: float) -> int:
        """Return how many machines are expected to report and do not."""
        return sum(is_silent(remembered.record, now, self.rules) for remembered in [*self.by_name.values()])

    def _add(self, identity: str, name: str) -> None:
        names = self._by_identity.get(identity, ())
        if isinstance(names, dict):
            names[name] = None
        elif name not in names:
            self._by_identity[identity] = (*names, name)
            if len(names) == MOST_ALIKE:
                self._by_identity[identity] = dict.fromkeys((*names, name))
                self.newly_shared.append(identity)

    def _drop(self, identity: str, name: str) -> None:
        names = self._by_identity.get(identity, ())
        if isinstance(names, dict):
            names.pop(name, None)
        rest = tuple(other for other in names if other != name) if len(names) <= MOST_ALIKE else names
        if rest:
            self._by_identity[identity] = rest
        else:
            self._by_identity.pop(identity, None)

    def intersection(self, identities: Collection[str]) -> set[str]:
        return self._by_identity.keys() & identities

    def is_one_record(self, identities: Collection[str]) -> bool:
        """Return whether all of these identities, which records have, lead to the same single record."""
        found = {tuple(self._by_identity.get(identity, ())) for identity in identities}
        return len(found) == 1 and len(found.pop()) == 1

    def is_shared(self, identity: str) -> bool:
        """Return whether more than `MOST_ALIKE` records have an identity, and none of them has it as its name."""
        return isinstance(self._by_identity.get(identity), dict) and identity not in self.by_name

    def found_by(self, identities: Iterable[str], name: str | None = None) -> list[Remembered]:
        """Return the records that have one of these identities, or this name, each once; that of the name first. An
        identity that is shared by many finds only the record that has it as its name."""
        names = [record_identity(name)] if name is not None else []
        for identity in identities:
            alike = self._by_identity.get(identity, ())
            names += [identity] if isinstance(alike, dict) else alike
        return [self.by_name[found] for found in dict.fromkeys(names) if found in self.by_name]

    def state(self, records: Iterable[Remembered]) -> State:
        states = [remembered.record.state for remembered in records]
        return min(states or [self._assumed.state if self._assumed else State.NEW], key=CLOSEST_FIRST.index)

    def new(self, name: str, identities: Mapping[str, str] = MappingProxyType({})) -> Remembered:
        """Return the record that a machine without one begins with. ``identities`` are those that are shown with it."""
        known = self.evidence(name)
        evidence = known or Evidence(name)
        if identities:
            evidence = evidence._replace(identities={one: (evidence.attempt, text) for one, text in identities.items()})
        record = record_of(evidence, self.rules) if known is not None else Record(name)
        if self._assumed is not None:
            record = self._assumed._replace(name=name)
        return Remembered(record, evidence)

    def judge(self, visitor: Visitor, found: Iterable[Remembered], asked: Requested, peer: str) -> Decision:
        """Return whether a machine is given a document, and what is to be written before it is. ``found`` are its
        records; without any, it begins with a new one, for which the visitor must have a name."""
        given: list[Event] = []
        refused: list[tuple[Record, Refusal]] = []
        exhausted: list[Event] = []
        for remembered in list(found) or [self.new(visitor.name or "")]:
            record = remembered.record
            judgement = judge(record, asked, self.rules)
            if judgement.refusal is not None:
                refused.append((record, judgement.refusal))
                if judgement.exhausts:
                    exhausted.append(
                        Event(record.name, Kind.REFUSED, asked.at, record.attempt, 0, asked.document, peer)
                    )
                continue
            event = _collected(remembered, visitor, asked.at, judgement.start, asked.document, peer)
            if asked.without_start:
                continue
            if not (_brings_nothing(event, remembered) and is_repeated(record, asked, self.rules)):
                given.append(event)
        if not refused:
            return Decision(tuple(given))
        # What one record refuses is given to none, but a start that was one too many is noted where it was.
        refuser, refusal = min(refused, key=lambda one: CLOSEST_FIRST.index(one[0].state))
        return Decision(tuple(exhausted), refuser, refusal)

    def told(self, visitor: Visitor, found: Iterable[Remembered], at: float, document: str, peer: str) -> list[Event]:
        """Return what is to be written before a machine is told its report URL by an answer without ``once``."""
        remembered = next(iter(found), None) or self.new(visitor.name or "")
        event = _collected(remembered, visitor, at, 0, document, peer)
        return [] if _brings_nothing(event, remembered) else [event]


def _collected(remembered: Remembered, visitor: Visitor, at: float, start: int, document: str, peer: str) -> Event:
    """Return the event that a document was given, with the identities that the record does not have."""
    record, known = remembered.record, remembered.evidence.identities
    room = MOST_OF_A_RECORD - len(known)
    new = {one: text for one, text in visitor.identities.items() if one not in known}
    if len(new) > room:
        new = dict([*new.items()][: max(0, room)])
    name, attempt, group = record.name, record.attempt, visitor.group if visitor.group != remembered.group else None
    own = record_identity(name)
    is_named = visitor.is_named and not remembered.is_named and record_identity(visitor.name or "") == own
    return Event(name, Kind.GIVEN, at, attempt, start, document, peer, identities=new, group=group, is_named=is_named)


def _brings_nothing(event: Event, remembered: Remembered) -> bool:
    """Return whether an event adds nothing to a record but the time at which the machine was heard of."""
    return not event.identities and event.group is None and not event.is_named and remembered.evidence.is_record
