"""Merge the evidence that several nodes have of one machine's install: every order of arrival gives the same result.

Rules: docs/many-nodes.md#how-states-are-merged. Knows no database, no request, no clock.

Nodes work on while the database is away, so their evidence arrives late, twice and in any order. A `Record` cannot be
merged: a second start leaves ``copied`` as it is, a failure after it ends it, and a third start ends the failure, so of
three records each would beat another. Therefore the evidence is merged: for each start of an attempt its strongest
report. `merge` is a join (commutative, associative, idempotent: ``tests/unit/test_install_merge.py`` tries every
order), and `record_of` derives the state from the evidence with the table of `answerd.installs.states`.

Attempts are numbered by the database: ``arm`` and ``forget`` begin one under its lock, so two nodes never begin the
same one. ``disarm`` belongs to the attempt in which the database placed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from answerd.installs.states import (
    TRANSITIONS,
    Asked,
    Event,
    Order,
    Ordered,
    Record,
    Refusal,
    Reported,
    ReportKind,
    Rules,
    State,
    StateChange,
    step,
)


class Strength(IntEnum):
    """The strength of a report about a start: the higher one counts."""

    INSTALLING = 0
    COPIED = 1
    FAILED = 2
    INSTALLED = 3


_STRENGTHS = {
    ReportKind.COPIED: Strength.COPIED,
    ReportKind.FAILED: Strength.FAILED,
    ReportKind.INSTALLED: Strength.INSTALLED,
}

_CHANGES = {
    Strength.COPIED: StateChange.COPIED,
    Strength.FAILED: StateChange.FAILED,
    Strength.INSTALLED: StateChange.INSTALLED,
}


@dataclass(frozen=True, slots=True, order=True)
class News:
    """The last message of a machine in a start. ``strength`` is that of the start at that time; news compare in the
    order in which they replace each other. ``percent`` is -1 where none was reported."""

    strength: Strength
    at: float
    message: str = ""
    percent: float = -1.0


@dataclass(frozen=True, slots=True)
class Start:
    """The evidence of one start. ``began`` is its time, ``at`` the time of the report that gave it its ``strength``;
    ``given`` maps the documents to the time when each was first given."""

    began: float
    strength: Strength = Strength.INSTALLING
    at: float = 0.0
    given: Mapping[str, float] = field(default_factory=dict)
    news: News | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of the newest attempt of one machine.

    ``attempt`` counts from 1. ``began`` is when an operator armed or forgot the machine, None for the first attempt.
    ``disarmed`` is when an operator disarmed it, ``refused`` when a start was refused as one too many; None where that
    did not happen. ``starts`` are by their number. ``heard`` is the time of the machine's last request or report.
    """

    name: str
    attempt: int = 1
    was_armed: bool = False
    began: float | None = None
    disarmed: float | None = None
    refused: float | None = None
    starts: Mapping[int, Start] = field(default_factory=dict)
    heard: float = 0.0


def merge(first: Evidence, second: Evidence) -> Evidence:
    """Return the union of the evidence of both, which are about the machine of one name. A higher attempt replaces a
    lower one."""
    heard = max(first.heard, second.heard)
    if first.attempt != second.attempt:
        newer = first if first.attempt > second.attempt else second
        return replace(newer, heard=heard)
    starts = dict(first.starts)
    for number, start in second.starts.items():
        starts[number] = _merged(starts[number], start) if number in starts else start
    return Evidence(
        min(first.name, second.name),
        first.attempt,
        first.was_armed or second.was_armed,
        _earlier(first.began, second.began),
        _earlier(first.disarmed, second.disarmed),
        _earlier(first.refused, second.refused),
        dict(sorted(starts.items())),
        heard,
    )


def evidence_after(evidence: Evidence, event: Event, rules: Rules) -> Evidence:
    """Return the evidence after an event: the result of `answerd.installs.states.step`, as evidence.

    A report of a higher attempt than is known here counts: the machine was armed at another node. An `Ordered` must be
    applied under the database's lock, to the evidence of the database.
    """
    if isinstance(event, Ordered):
        return _ordered(evidence, event)
    if isinstance(event, Reported):
        if event.attempt < evidence.attempt:
            return evidence
        if event.attempt > evidence.attempt:
            evidence = Evidence(evidence.name, event.attempt, heard=evidence.heard)
        return merge(evidence, _reported(evidence, event))
    return merge(evidence, _asked(evidence, event, rules))


def record_of(evidence: Evidence, rules: Rules) -> Record:
    """Return the record that follows from the evidence."""
    state = State.ARMED if evidence.was_armed else State.NEW
    since = evidence.began or 0.0
    present: Start | None = None
    for number, start in sorted(evidence.starts.items()):
        present = start
        state, since = _changed(state, since, StateChange.START, start.began)
        change = _CHANGES.get(start.strength)
        if change is StateChange.FAILED and number >= rules.starts:
            change = StateChange.FAILED_LAST
        if change is not None:
            state, since = _changed(state, since, change, start.at)
    if evidence.refused is not None and state is not State.INSTALLED:
        since = min(since, evidence.refused) if state is State.EXHAUSTED else evidence.refused
        state = TRANSITIONS[state][StateChange.TOO_MANY]
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
        max(evidence.starts, default=0),
        dict(present.given) if present else {},
        evidence.heard,
        (news.message or None) if news else None,
        news.percent if news and news.percent >= 0 else None,
    )


def _changed(state: State, since: float, change: StateChange, at: float) -> tuple[State, float]:
    after = TRANSITIONS[state][change]
    return (state, since) if after is state else (after, max(since, at))


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
    return Start(min(first.began, second.began), stronger, min(times), dict(sorted(given.items())), news)


def _earlier(first: float | None, second: float | None) -> float | None:
    return min((at for at in (first, second) if at is not None), default=None)


def _ordered(evidence: Evidence, ordered: Ordered) -> Evidence:
    if ordered.order is Order.DISARM:
        return merge(evidence, replace(_nothing_of(evidence), disarmed=ordered.at))
    is_armed = ordered.order is Order.ARM
    return Evidence(
        evidence.name, evidence.attempt + 1, is_armed, ordered.at, heard=evidence.heard if is_armed else 0.0
    )


def _reported(evidence: Evidence, reported: Reported) -> Evidence:
    number = max(evidence.starts, default=1)
    before = evidence.starts.get(number)
    strength = _STRENGTHS.get(reported.word, Strength.INSTALLING)
    # News belong to the present strength of the start; a start that is over takes no further news.
    reached = before.strength if before and reported.word is ReportKind.PROGRESS else strength
    is_over = before is not None and before.strength > Strength.COPIED
    is_news = reported.word is not ReportKind.PROGRESS or not is_over
    last = before.news if before and reported.word is ReportKind.PROGRESS else None
    message = reported.message if reported.message is not None else last.message if last else ""
    percent = reported.percent if reported.percent is not None else last.percent if last else -1.0
    news = News(reached, reported.at, message, percent) if is_news else None
    if reported.word is ReportKind.PROGRESS and before is None:
        return replace(_nothing_of(evidence), heard=reported.at)
    began = before.began if before else reported.at
    start = Start(began, strength, reported.at if strength else 0.0, news=news)
    return replace(_nothing_of(evidence), starts={number: start}, heard=reported.at)


def _asked(evidence: Evidence, asked: Asked, rules: Rules) -> Evidence:
    before = record_of(evidence, rules)
    outcome = step(before, asked, rules)
    if outcome.refusal is Refusal.EXHAUSTED and outcome.counts:
        return replace(_nothing_of(evidence), refused=asked.at)
    after = outcome.record
    if outcome.refusal is not None or (after.heard == before.heard and after.given == before.given):
        return _nothing_of(evidence)
    number = max(1, after.starts)
    is_new = after.starts > before.starts
    began = asked.at if is_new else evidence.starts[number].began if number in evidence.starts else asked.at
    given = after.given if number in evidence.starts or is_new else {}
    starts = {number: Start(began, given=given)} if is_new or number in evidence.starts else {}
    return replace(_nothing_of(evidence), starts=starts, heard=after.heard)


def _nothing_of(evidence: Evidence) -> Evidence:
    """Return evidence that the attempt exists, and nothing else."""
    return Evidence(evidence.name, evidence.attempt)
