"""The records of all machines in memory, by name and by every identity that they have collected.

Rules: docs/install-once.md#one-record-for-each-machine. Knows no database: a store fills it, and an event that was
decided here changes it at once, before it is written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from answerd.identity import identity_of, is_shared_by_many
from answerd.installs.sharded import ShardedDict
from answerd.installs.states import (
    UNDER_WAY,
    Asked,
    Event,
    Order,
    Ordered,
    Outcome,
    Record,
    Refusal,
    Reported,
    Rules,
    State,
    is_silent,
    step,
)

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


@dataclass(slots=True)
class Remembered:
    """A record with its identities and its group. ``identities`` maps each identity to its text, ``group`` is the group
    document that was part of its last answer. Nothing of it changes but ``is_current``, which ends when the memory that
    holds it gets another one of that name, or none."""

    record: Record
    identities: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    is_current: bool = field(default=True, init=False, compare=False, repr=False)


class Visitor(NamedTuple):
    """The machine that asks. ``name`` is the name for a new record, None where nothing names the machine;
    ``identities`` are those that a record would collect, with their texts."""

    name: str | None
    identities: Mapping[str, str] = {}
    group: str | None = None


class Decision(NamedTuple):
    """The decision of the states about a request for a document. ``outcomes`` has an entry for each record that the
    request changes; ``refuser`` is the record that refuses, None where the document is given."""

    outcomes: tuple[tuple[Remembered, Outcome], ...]
    refuser: Record | None = None
    refusal: Refusal | None = None


MOST_ALIKE: Final = 8
"""Records that one identity finds. What more records have (a UUID of a whole batch of boards, the MAC address of an
adapter that is passed around) tells nobody which machine asks, and would cost each request a look at all of them."""

_RECORDS_AT_ONCE: Final = 1_000
"""Records that a walk looks at between two pauses."""


class InstallMemory:
    """All records. Of one process, and edited by its loop only; walks and look-ups from other threads are safe."""

    def __init__(
        self,
        remembered: Iterable[Remembered] = (),
        forgotten: Mapping[str, int] | None = None,
        assumed: Record | None = None,
    ) -> None:
        """``forgotten`` maps the identity of a name to the last attempt before it was forgotten. ``assumed`` is the
        record with which a machine without one begins, apart from its name; by default a new record."""
        self._assumed = assumed
        self.by_name: ShardedDict[Remembered] = ShardedDict()
        self.by_state: Counter[State] = Counter()
        self.under_way: ShardedDict[None] = ShardedDict()  # names' identities of those that are expected to report
        self.index = 0  # rises whenever a name or an identity finds other records
        self._by_identity: ShardedDict[tuple[str, ...]] = ShardedDict()
        self._shared: dict[str, dict[str, None]] = {}  # those that more than `MOST_ALIKE` records have
        self.newly_shared: list[str] = []  # to be emptied by those who want to tell
        self.forgotten: dict[str, int] = dict(forgotten or {})
        for known in remembered:
            self.put(known)

    def __len__(self) -> int:
        return len(self.by_name)

    def put(self, remembered: Remembered) -> None:
        """Add a record, or replace the one of its name."""
        name = identity_of(remembered.record.name)
        before = self.by_name.get(name)
        self.by_name[name] = remembered
        self.by_state[remembered.record.state] += 1
        if remembered.record.state in UNDER_WAY:
            self.under_way[name] = None
        else:
            self.under_way.pop(name)
        if before:
            before.is_current = before is remembered
            self.by_state[before.record.state] -= 1
            if before.identities.keys() == remembered.identities.keys():
                return
        self.index += 1
        gone = before.identities.keys() - remembered.identities.keys() if before else ()
        for identity in gone:
            self._drop(identity, name)
        for identity in remembered.identities:
            self._add(identity, name)

    def forget(self, name: str, attempt: int) -> None:
        """Remove the record of a name's identity, whose last attempt was ``attempt``."""
        self.forgotten[name] = attempt
        before = self.by_name.pop(name)
        self.under_way.pop(name)
        self.index += 1
        if before:
            before.is_current = False
            self.by_state[before.record.state] -= 1
        for identity in before.identities if before else ():
            self._drop(identity, name)

    def pieces(self) -> list[dict[str, Any]]:
        """Return what the memory is made of: to be held while it is given up, and let go one after the other, because
        freeing a million records in one step takes half a second."""
        return [*self.by_name.tables(), *self._by_identity.tables(), *self.under_way.tables()]

    def silent(self, now: float, rules: Rules, pause: Callable[[], None]) -> int:
        """Return how many machines are expected to report and do not. ``pause`` is called between slices of the walk,
        and may let others edit."""
        silent = 0
        for number, name in enumerate(self.under_way):
            remembered = self.by_name.get(name)
            silent += remembered is not None and is_silent(remembered.record, now, rules)
            if number % _RECORDS_AT_ONCE == 0:
                pause()
        return silent

    def _add(self, identity: str, name: str) -> None:
        shared = self._shared.get(identity)
        if shared is not None:
            shared[name] = None
            return
        names = self._by_identity.get(identity, ())
        if name in names:
            return
        names = (*names, name)
        if len(names) > MOST_ALIKE:
            self._shared[identity] = dict.fromkeys(names)
            self.newly_shared.append(identity)
            names = ()  # found by nobody, but still there for `intersection`
        self._by_identity[identity] = names

    def _drop(self, identity: str, name: str) -> None:
        shared = self._shared.get(identity)
        if shared is not None:
            shared.pop(name, None)
            if len(shared) > MOST_ALIKE:
                return
            del self._shared[identity]
            self._by_identity[identity] = tuple(shared)
        rest = tuple(other for other in self._by_identity.get(identity, ()) if other != name)
        if rest:
            self._by_identity[identity] = rest
        else:
            self._by_identity.pop(identity)

    def intersection(self, identities: Collection[str]) -> set[str]:
        """Return those of some identities that any record has."""
        return self._by_identity.intersection(identities)

    def is_one_record(self, identities: Collection[str]) -> bool:
        """Return whether all of these identities, which records have, lead to the same single record."""
        found = {self._by_identity.get(identity, ()) for identity in identities}
        return len(found) == 1 and len(found.pop()) == 1

    def is_shared(self, identity: str) -> bool:
        """Return whether more than `MOST_ALIKE` records have an identity, and none of them has it as its name."""
        return identity in self._shared and identity not in self.by_name

    def found_by(self, identities: Iterable[str], name: str | None = None) -> list[Remembered]:
        """Return the records that have one of these identities, or this name, each once; that of the name first. An
        identity that is shared by many finds only the record that has it as its name."""
        names = [identity_of(name)] if name is not None else []
        for identity in identities:
            names += self._by_identity.get(identity, ())
            if identity in self._shared:
                names.append(identity)
        return [self.by_name[found] for found in dict.fromkeys(names) if found in self.by_name]

    def state(self, records: Iterable[Remembered]) -> State:
        """Return the state of a machine that these records belong to."""
        found = list(records)
        return state_of(found) if found or self._assumed is None else self._assumed.state

    def new(self, name: str) -> Record:
        """Return the record that a machine without one begins with."""
        if self._assumed is not None:
            return replace(self._assumed, name=name)
        return Record(name, self.forgotten.get(identity_of(name), 0) + 1)

    def judge(self, visitor: Visitor, found: Iterable[Remembered], asked: Asked, rules: Rules) -> Decision:
        """Return whether a machine is given a document. ``found`` are its records; without any, it begins with a new
        one, for which the visitor must have a name."""
        judged: list[tuple[Remembered, Outcome]] = []
        for remembered in list(found) or [Remembered(self.new(visitor.name or ""))]:
            judged.append((remembered, step(remembered.record, asked, rules)))
        refusals = [outcome for _, outcome in judged if outcome.refusal is not None]
        if not refusals:
            return Decision(tuple(judged))
        first = min(refusals, key=lambda outcome: CLOSEST_FIRST.index(outcome.record.state))
        # What one record refuses is given to none, but a start that was one too many is noted where it was.
        noted = tuple(
            (remembered, outcome) for remembered, outcome in judged if outcome.refusal is not None and outcome.counts
        )
        return Decision(noted, first.record, first.refusal)


def state_of(records: Iterable[Remembered]) -> State:
    """Return the state of a machine that these records belong to."""
    states = [remembered.record.state for remembered in records]
    return min(states, key=CLOSEST_FIRST.index) if states else State.NEW


class AppliedEvent(NamedTuple):
    """The result of an event. ``after`` is the record then, None where the machine has no record (any more)."""

    after: Remembered | None
    outcome: Outcome


def _made(name: str, attempt: int) -> Remembered:
    """Return a new record. Its name finds it from the start: a report may come before its first answer is written."""
    own = identity_of(name)
    return Remembered(Record(name, attempt), {} if is_shared_by_many(own) else {own: name})


class RecordEvent(NamedTuple):
    """An event of the record named ``name``, with the identities that it adds and the group that was part of an
    answer."""

    name: str
    event: Event
    identities: Mapping[str, str] = {}
    group: str | None = None


def apply(before: Remembered | None, forgotten: int, happened: RecordEvent, rules: Rules) -> AppliedEvent:
    """Return the result of an event on a record; ``forgotten`` is the last attempt before the machine was forgotten, 0
    where it never was. An event may be applied long after it was decided: one that would be refused by now adds its
    identities and nothing else.
    """
    remembered = before or _made(happened.name, forgotten + 1)
    event, known = happened.event, remembered.identities
    outcome = step(remembered.record, event, rules)
    if isinstance(event, Reported) and event.attempt != remembered.record.attempt:
        return AppliedEvent(before, outcome)
    if isinstance(event, Ordered) and event.order is Order.FORGET:
        return AppliedEvent(None, outcome)
    if before is not None and outcome.record is before.record and known.keys() >= happened.identities.keys():
        return AppliedEvent(before, outcome)
    collected = {**known, **{identity: text for identity, text in happened.identities.items() if identity not in known}}
    group = happened.group or remembered.group
    return AppliedEvent(replace(remembered, record=outcome.record, identities=collected, group=group), outcome)
