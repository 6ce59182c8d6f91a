"""Events of installs, and their fold: the state of a machine follows from the set of its events.

Rules: docs/many-nodes.md#how-states-are-merged.

Processes and nodes write events independently, so events arrive late, twice and in any order. Each event is decided
once, where it happens, and says what it is evidence of: a document was given in start 2 of attempt 3, a report came in
start 2 of attempt 3. `merge` joins evidence and is commutative, associative and idempotent, so every process that has
the same events has the same `Evidence`, and `record_of` reads the state off it.

Within a start ``installed`` beats ``failed``, which beats ``copied``. A higher attempt replaces all of a lower one. An
order begins the attempt after the one that was known where it was given; two nodes that arm a machine at the same time
begin the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from operator import attrgetter
from typing import Any, Final, NamedTuple

import orjson

from answerd.identity import identity_of, is_shared_by_many
from answerd.installs.states import BETWEEN_STARTS, WEAKEST_FIRST, Order, Record, ReportKind, Rules, State

LONGEST_DETAIL = 1_000
"""Characters of an event's detail."""


class Kind(StrEnum):
    GIVEN = "given"
    REFUSED = "refused"
    """A document was refused because it would have begun a start too many."""
    COPIED = "copied"
    FAILED = "failed"
    INSTALLED = "installed"
    PROGRESS = "progress"
    ARMED = "armed"
    DISARMED = "disarmed"
    FORGOTTEN = "forgotten"
    SUMMARY = "summary"
    """The fold of events that are no longer kept. Not shown."""


ORDERED: Mapping[Order, Kind] = {Order.ARM: Kind.ARMED, Order.DISARM: Kind.DISARMED, Order.FORGET: Kind.FORGOTTEN}


class Event(NamedTuple):
    """One event of the record named ``record``.

    ``attempt`` and ``start`` say what it belongs to; ``start`` is 0 where it belongs to no start. ``detail`` names a
    given document, or is the text of a report; ``origin`` is who caused it. ``message`` and ``percent`` are the
    machine's last news with this event. ``counts``: it changed the state or the news when it was written.
    ``identities`` are those that the record collects, with their texts; ``group`` was part of the answer. ``is_named``:
    a row, a document, a member or an operator names the record. ``after_copied``: the machine had reported ``copied``
    in this start, so these news replace those of that report. ``evidence`` is that of a `Kind.SUMMARY`. ``id`` is
    unique in all databases; one that is not stored yet has none."""

    record: str
    kind: Kind
    at: float
    attempt: int
    start: int = 0
    detail: str = ""
    origin: str = ""
    message: str | None = None
    percent: float | None = None
    counts: bool = True
    identities: Mapping[str, str] = {}
    group: str | None = None
    is_named: bool = False
    after_copied: bool = False
    evidence: Evidence | None = None
    body: bytes = b""
    id: str = ""


# --- evidence --------------------------------------------------------------------------------------------------------


class Strength(IntEnum):
    """The strength of a report about a start: the higher one counts."""

    INSTALLING = 0
    COPIED = 1
    FAILED = 2
    INSTALLED = 3


_STRENGTHS = {Kind.COPIED: Strength.COPIED, Kind.FAILED: Strength.FAILED, Kind.INSTALLED: Strength.INSTALLED}

REACHED: Final = {Strength.COPIED: State.COPIED, Strength.FAILED: State.FAILED, Strength.INSTALLED: State.INSTALLED}


class News(NamedTuple):
    """The last message of a machine in a start. ``strength`` is that of the start at that time; news compare in the
    order in which they replace each other. ``percent`` is -1 where none was reported."""

    strength: Strength
    at: float
    message: str = ""
    percent: float = -1.0


class Start(NamedTuple):
    """The evidence of one start. ``began`` is its time, ``at`` the time of the report that gave it its ``strength``;
    ``given`` maps the documents to the time when each was first given."""

    began: float
    strength: Strength = Strength.INSTALLING
    at: float = 0.0
    given: Mapping[str, float] = {}
    news: News | None = None


class LastGroup(NamedTuple):
    """The group of a machine's last answer; the highest one counts."""

    attempt: int
    at: float
    name: str


class Evidence(NamedTuple):
    """All that is known of one machine.

    ``attempt`` counts from 1; the fields from ``was_armed`` to ``heard`` are about it. ``began`` is when an operator
    armed or forgot the machine, None for the first attempt. ``disarmed`` is when an operator disarmed it, ``refused``
    when a start was refused as one too many; None where that did not happen. ``starts`` are by their number. ``heard``
    is the time of the machine's last request or report. ``forgotten`` is the attempt that the last ``forget`` began, 0
    where there was none. ``identities`` maps each identity to the last attempt in which it was seen, and its text.
    ``named`` is the last attempt in which anything but the request named the record, 0 where nothing did.
    """

    name: str
    attempt: int = 1
    was_armed: bool = False
    began: float | None = None
    disarmed: float | None = None
    refused: float | None = None
    starts: Mapping[int, Start] = {}
    heard: float = 0.0
    forgotten: int = 0
    identities: Mapping[str, tuple[int, str]] = {}
    group: LastGroup | None = None
    named: int = 0

    @property
    def is_record(self) -> bool:
        """Whether anything is known but that the machine was forgotten."""
        has_happened = self.disarmed is not None or self.refused is not None
        return bool(self.starts or self.was_armed or self.identities or self.heard or has_happened)


def evidence_of(event: Event) -> Evidence:
    if event.evidence is not None:
        return event.evidence
    kind, attempt, at = event.kind, event.attempt, event.at
    identities = {one: (attempt, text) for one, text in event.identities.items()}
    group = LastGroup(attempt, at, event.group) if event.group is not None else None
    named = attempt if event.is_named else 0
    starts: dict[int, Start] = {}
    if kind is Kind.GIVEN:
        if event.start:
            starts[event.start] = Start(at, given={event.detail: at})
        return Evidence(event.record, attempt, starts=starts, heard=at, identities=identities, group=group, named=named)
    strength = _STRENGTHS.get(kind, Strength.INSTALLING)
    if event.start:
        percent = -1.0 if event.percent is None else event.percent
        reached = Strength.COPIED if event.after_copied else strength
        news = News(reached, at, event.message or "", percent) if event.counts else None
        starts[event.start] = Start(at, strength, at if strength else 0.0, news=news)
    is_order = kind in (Kind.ARMED, Kind.FORGOTTEN)
    is_forgotten = kind is Kind.FORGOTTEN
    return Evidence(
        event.record,
        attempt,
        was_armed=kind is Kind.ARMED,
        began=at if is_order else None,
        disarmed=at if kind is Kind.DISARMED else None,
        refused=at if kind is Kind.REFUSED else None,
        starts=starts,
        heard=0.0 if is_order or kind in (Kind.DISARMED, Kind.REFUSED) else at,
        forgotten=attempt if is_forgotten else 0,
        identities={} if is_forgotten else identities,
        group=group,
        named=0 if is_forgotten else named,
    )


def merge(first: Evidence, second: Evidence) -> Evidence:
    """Return the union of the evidence of both, which are about the machine of one name."""
    forgotten = max(first.forgotten, second.forgotten)
    groups = [group for group in (first.group, second.group) if group is not None and group.attempt >= forgotten]
    named = max(first.named, second.named)
    name = first.name if first.name == second.name else min(first.name, second.name, key=_as_spelled)
    identities = _joined(first, second, forgotten)
    group = max(groups, default=None)
    named = named if named >= forgotten else 0
    if first.attempt != second.attempt:
        newer = first if first.attempt > second.attempt else second
        return newer._replace(name=name, forgotten=forgotten, identities=identities, group=group, named=named)
    starts = dict(first.starts)
    for number, start in second.starts.items():
        starts[number] = _merged(starts[number], start) if number in starts else start
    return Evidence(
        name,
        first.attempt,
        first.was_armed or second.was_armed,
        _earlier(first.began, second.began),
        _earlier(first.disarmed, second.disarmed),
        _earlier(first.refused, second.refused),
        starts,
        max(first.heard, second.heard),
        forgotten,
        identities,
        group,
        named,
    )


def fold(events: Iterable[Event], before: Evidence | None = None) -> Evidence | None:
    """Return the evidence of some events of one record, with that of those before; None where there is none. Every
    order gives the same result."""
    for event in events:
        evidence = evidence_of(event)
        before = evidence if before is None else merge(before, evidence)
    return before


def record_of(evidence: Evidence, rules: Rules) -> Record:
    state, since = (State.ARMED, evidence.began or 0.0) if evidence.was_armed else (State.NEW, 0.0)
    number, present = 0, None
    for number, present in sorted(evidence.starts.items()):
        if state in BETWEEN_STARTS:
            state, since = State.INSTALLING, max(since, present.began)
        if present.strength:
            reached = REACHED[present.strength]
            if reached is State.FAILED and number >= rules.starts:
                reached = State.EXHAUSTED
            if WEAKEST_FIRST.index(reached) > WEAKEST_FIRST.index(state):
                state, since = reached, max(since, present.at)
    if evidence.refused is not None and state is not State.INSTALLED:
        since = min(since, evidence.refused) if state is State.EXHAUSTED else evidence.refused
        state = State.EXHAUSTED
    if evidence.disarmed is not None:
        state, since = State.INSTALLED, evidence.disarmed
    news = _last_news(evidence, state, present)
    return Record(
        evidence.name,
        evidence.attempt,
        state,
        since,
        evidence.was_armed,
        evidence.disarmed is not None,
        number,
        present.given if present else {},
        evidence.heard,
        (news.message or None) if news else None,
        news.percent if news and news.percent >= 0 else None,
        _recent(evidence, present.began, rules) if present and len(evidence.starts) > 1 else {},
    )


def _recent(evidence: Evidence, began: float, rules: Rules) -> dict[str, float]:
    """Return the documents that earlier starts were given so shortly before the present one that their repetition after
    it began did not begin a start where that was not known. See `Record.recent`."""
    recent: dict[str, float] = {}
    for number in sorted(evidence.starts)[:-1]:
        for document, at in evidence.starts[number].given.items():
            if began - at <= rules.start:
                recent[document] = max(at, recent.get(document, at))
    return recent


def reported(
    evidence: Evidence,
    word: ReportKind,
    attempt: int,
    at: float,
    message: str | None,
    percent: float | None,
    rules: Rules,
) -> Event:
    """Return the event of a report that comes now, with a URL of an attempt. It counts for the present start."""
    kind, name = Kind(word.value), evidence.name
    own = {} if evidence.identities else own_identity(name)
    if attempt < evidence.attempt:
        return Event(name, kind, at, attempt, counts=False)
    starts = evidence.starts if attempt == evidence.attempt else {}  # a higher one was begun at another node
    present = starts.get(max(starts, default=0))
    if word is not ReportKind.PROGRESS:
        event = Event(name, kind, at, attempt, max(starts, default=1), message=message, percent=percent, identities=own)
        before, after = record_of(evidence, rules), record_of(merge(evidence, evidence_of(event)), rules)
        return event._replace(counts=(before.attempt, before.state) != (after.attempt, after.state))
    if present is None or present.strength > Strength.COPIED:
        return Event(name, kind, at, attempt, counts=False, identities=own)
    last = present.news
    return Event(
        name,
        kind,
        at,
        attempt,
        max(starts),
        message=message if message is not None else (last.message or None) if last else None,
        percent=percent if percent is not None else last.percent if last and last.percent >= 0 else None,
        after_copied=present.strength is Strength.COPIED,
    )


def ordered(evidence: Evidence, order: Order, at: float, identities: Mapping[str, str], origin: str) -> Event:
    attempt = evidence.attempt + (order is not Order.DISARM)
    return Event(evidence.name, ORDERED[order], at, attempt, origin=origin, identities=identities, is_named=True)


def own_identity(name: str) -> dict[str, str]:
    """Return the identity of a record's name, by which it is found; none where many machines share it."""
    own = identity_of(name)
    return {} if is_shared_by_many(own) else {own: name}


def _last_news(evidence: Evidence, state: State, present: Start | None) -> News | None:
    """Return the news that go with the state: of the start that was installed, else of the present one."""
    if evidence.disarmed is not None:
        return None
    if state is State.INSTALLED:
        return max((start.news for start in evidence.starts.values() if start.news), default=None)
    return present.news if present else None


def _merged(first: Start, second: Start) -> Start:
    stronger = max(first.strength, second.strength)
    times = [start.at for start in (first, second) if start.strength is stronger]
    given = dict(first.given)
    for document, at in second.given.items():
        given[document] = min(at, given.get(document, at))
    news = max((start.news for start in (first, second) if start.news is not None), default=None)
    return Start(min(first.began, second.began), stronger, min(times), given, news)


def _as_spelled(name: str) -> tuple[bool, str]:
    """Order names: one as somebody spelled it comes before its bare identity."""
    return name == identity_of(name), name


def _joined(first: Evidence, second: Evidence, forgotten: int) -> Mapping[str, tuple[int, str]]:
    if not second.identities and first.forgotten == forgotten:
        return first.identities
    joined = dict(first.identities)
    for identity, seen in second.identities.items():
        joined[identity] = max(seen, joined.get(identity, seen))
    if first.forgotten != second.forgotten:
        return {identity: seen for identity, seen in joined.items() if seen[0] >= forgotten}
    return joined


def _earlier(first: float | None, second: float | None) -> float | None:
    return min((at for at in (first, second) if at is not None), default=None)


# --- as JSON ---------------------------------------------------------------------------------------------------------


_NAMES: Final = (
    "start", "detail", "origin", "message", "percent", "counts", "identities", "group", "is_named", "after_copied",
)  # fmt: skip
"""The fields of an event that have no column of their own, but for the evidence."""

_DEFAULTS: Final = tuple(Event._field_defaults[name] for name in _NAMES)
_values = attrgetter(*_NAMES)


def content_of(event: Event) -> bytes:
    """Return what an event says as JSON, without what has a column of its own."""
    fields: dict[str, Any] = {}
    for name, value, default in zip(_NAMES, _values(event), _DEFAULTS, strict=True):
        if value != default:
            fields[name] = _storable(value) if isinstance(value, str) else value
    if event.evidence is not None:
        fields["evidence"] = event.evidence._asdict()
    return orjson.dumps(fields, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def event_from(
    record: str, kind: str, at: float, attempt: int, content: str, body: bytes | None = None, event_id: str = ""
) -> Event:
    """Return the event of a stored row. Raises `ValueError` where it cannot be read."""
    try:
        fields = orjson.loads(content)
        evidence = fields.get("evidence")
        return Event(
            record,
            Kind(kind),
            at,
            attempt,
            body=bytes(body or b""),  # PostgreSQL gives a view
            id=event_id,
            evidence=_evidence_from(evidence) if evidence is not None else None,
            **{name: fields[name] for name in _NAMES if name in fields},
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"an event of {record} cannot be read") from None


def _evidence_from(fields: Mapping[str, Any]) -> Evidence:
    known = {name: fields[name] for name in Evidence._fields if name in fields}
    known["starts"] = {int(number): _start_from(*start) for number, start in fields["starts"].items()}
    known["identities"] = {one: (attempt, text) for one, (attempt, text) in fields["identities"].items()}
    known["group"] = LastGroup(*fields["group"]) if fields["group"] is not None else None
    return Evidence(**known)


def _start_from(began: float, strength: int, at: float, given: Mapping[str, float], news: list[Any] | None) -> Start:
    last = None if news is None else News(Strength(news[0]), *news[1:])
    return Start(began, Strength(strength), at, given, last)


def _plain(value: object) -> Any:
    return list(value) if isinstance(value, tuple) else dict(value)  # type: ignore[call-overload]


def _storable(text: str) -> str:
    """Return a text as every database takes it: PostgreSQL has no place for NUL."""
    return text.replace("\0", "")[:LONGEST_DETAIL]
