"""What is known of one hardware identity: the join of the events that name it.

Rules: docs/many-nodes.md#how-states-are-merged.

Processes and nodes write events independently, so events arrive late, twice and in any order. Each event says what it
is evidence of, and which identities it names; the `Fold` of an identity is the union of the evidence that names it.
`merge` is commutative, associative and idempotent, so every process that has the same events has the same folds, and
`record_of` reads the state off them.

An *attempt* is begun by an operator's ``arm`` and is known by the id of that order; the attempt before the first order,
and after ``forget``, has the empty id. An order lists what was known of its identities where it was given (``knew``),
and takes the place of all of it. What it did not know stays, and `record_of` says what counts:

- a report of success closes the attempts that it is of, and those whose order was made before it;
- ``disarm`` closes the attempts whose order was made before it;
- arms that did not know each other are one attempt;
- ``forget`` forgets what it knew.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple, TypeVar

from answerd.installs.ids import begun_at, milliseconds
from answerd.installs.states import BETWEEN_STARTS, WEAKEST_FIRST, Order, Record, Rules, State

MOST_PAST: Final = 64
"""Orders and reports of an identity that are known to be outdated, the newest ones: their ids begin with the time."""

MOST_STARTS: Final = 256
"""Starts of an identity that are kept: a client can say that a card is in ever new boards, each of which is given its
own. Those with a report are kept first, then the newest."""

MOST_GIVINGS: Final = 8
"""Ids of givings of one start that are kept, the oldest ones."""

FIRST_ATTEMPT: Final = ""
"""The id of the attempt that no order began."""


class Strength(IntEnum):
    """The strength of a report about a start: the higher one counts."""

    INSTALLING = 0
    COPIED = 1
    FAILED = 2
    INSTALLED = 3


REACHED: Final = {Strength.COPIED: State.COPIED, Strength.FAILED: State.FAILED}


class News(NamedTuple):
    """The last message of a machine in a start. ``strength`` is that of the start at that time; news compare in the
    order in which they replace each other. ``percent`` is -1 where none was reported."""

    strength: Strength
    at: float
    message: str = ""
    percent: float = -1.0


class Begun(NamedTuple):
    """An operator's order. ``at`` is in seconds."""

    id: str
    order: Order
    at: float


class Closing(NamedTuple):
    """A report of success: its event, its time, the giving whose URL it used, and the attempts that the giving was
    part of."""

    id: str
    at: float
    giving: str = ""
    attempts: tuple[str, ...] = ()


class Start(NamedTuple):
    """The evidence of one start of an attempt. ``givings`` are the ids of what was given in it (two processes that did
    not know of each other's giving make two), ``names`` the identities that these name, with their texts; number 0 is
    of a giving that belongs to no start. ``began`` is its time, ``at`` the time of the report that gave it its
    ``strength``; ``given`` maps the documents to the time when each was first given."""

    attempt: str
    number: int
    givings: tuple[str, ...]
    began: float
    strength: Strength = Strength.INSTALLING
    at: float = 0.0
    given: Mapping[str, float] = {}
    names: Mapping[str, str] = {}
    news: News | None = None


class LastGroup(NamedTuple):
    """The group of a machine's last answer; the latest one counts."""

    at: float
    name: str


class Fold(NamedTuple):
    """All that is known of one identity.

    ``orders`` and ``closings`` are those that no order took the place of; ``past`` are the ids of the others.
    ``starts`` are those of attempts that are not past. ``refused`` maps attempts to the time when a start was refused
    as one too many. ``cut`` is the time of the last order that named the identity itself, negative without one; a
    giving may have brought others. ``heard`` is the time of the machine's last request or report.
    """

    orders: tuple[Begun, ...] = ()
    past: tuple[str, ...] = ()
    closings: tuple[Closing, ...] = ()
    starts: tuple[Start, ...] = ()
    refused: tuple[tuple[str, float], ...] = ()
    cut: float = -1.0
    heard: float = 0.0
    group: LastGroup | None = None

    @property
    def knows(self) -> tuple[str, ...]:
        """What an order that is given now takes the place of: the ids of orders and reports, and of what was given in
        the first attempt."""
        found = {*self.past, *[order.id for order in self.orders], *[closing.id for closing in self.closings]}
        found.update(giving for start in self.starts if start.attempt == FIRST_ATTEMPT for giving in start.givings)
        return tuple(sorted(found)[-MOST_PAST:])

    @property
    def is_record(self) -> bool:
        """Whether anything is known but that the machine was forgotten, or that it asked and was refused."""
        return bool(
            self.starts
            or self.closings
            or self.refused
            or any(order.order is not Order.FORGET for order in self.orders)
        )

    @property
    def is_lasting(self) -> bool:
        """Whether anything was reported or ordered: that never expires."""
        return bool(self.orders or self.closings or any(start.strength for start in self.starts))


NOTHING: Final = Fold()

_Dated = TypeVar("_Dated", bound=Begun | Closing)


def merge(first: Fold, second: Fold) -> Fold:
    """Return the union of the evidence of both, which are about one identity."""
    if first is second or second == NOTHING:
        return first
    if first == NOTHING:
        return second
    past = first.past
    if second.past and second.past != past:
        past = tuple(sorted({*past, *second.past})[-MOST_PAST:])
    cut = max(first.cut, second.cut)
    return Fold(
        _living(first.orders, second.orders, past),
        past,
        _living(first.closings, second.closings, past),
        _starts(first, second, past),
        _refused(first, second, past, cut),
        cut,
        max(first.heard, second.heard),
        max((group for group in (first.group, second.group) if group is not None), default=None),
    )


def _living(first: tuple[_Dated, ...], second: tuple[_Dated, ...], past: tuple[str, ...]) -> tuple[_Dated, ...]:
    if not past and (first == second or not second):
        return first
    found: dict[str, _Dated] = {}
    every: list[_Dated] = [*first, *second]
    for one in every:
        if one.id not in past:
            found[one.id] = min(one, found.get(one.id, one))
    return tuple([found[one] for one in sorted(found)])


def _starts(first: Fold, second: Fold, past: tuple[str, ...]) -> tuple[Start, ...]:
    if not second.starts and first.past == past:
        return first.starts
    found: dict[tuple[str, int, tuple[str, ...]], Start] = {}
    for start in (*first.starts, *second.starts):
        if past and (start.attempt in past or (start.attempt == FIRST_ATTEMPT and _is_any_of(start.givings, past))):
            continue
        # They stay apart by what was given: ``forget`` may have known of one and not of another, and a card that moved
        # may have taken the attempt to another machine.
        key = start.attempt, start.number, start.givings
        found[key] = _merged(found[key], start) if key in found else start
    if len(found) > MOST_STARTS:
        found = dict(sorted(found.items(), key=lambda one: (one[1].strength, one[1].began))[-MOST_STARTS:])
    return tuple([found[key] for key in sorted(found)]) if len(found) > 1 else tuple(found.values())


def _is_any_of(ids: tuple[str, ...], past: tuple[str, ...]) -> bool:
    return any(one in past for one in ids)


def _refused(first: Fold, second: Fold, past: tuple[str, ...], cut: float) -> tuple[tuple[str, float], ...]:
    if not (first.refused or second.refused):
        return ()
    found: dict[str, float] = {}
    for attempt, at in (*first.refused, *second.refused):
        if attempt not in past and (attempt != FIRST_ATTEMPT or at > cut):
            found[attempt] = min(at, found.get(attempt, at))
    return tuple(sorted(found.items()))


def _merged(first: Start, second: Start) -> Start:
    stronger = max(first.strength, second.strength)
    times = [start.at for start in (first, second) if start.strength is stronger]
    given = first.given
    if second.given != given:
        given = {**second.given, **first.given}
        for document, at in second.given.items():
            given[document] = min(at, given[document])
    names = first.names
    if second.names and not second.names.keys() <= names.keys():
        names = {**names, **second.names} if first.began <= second.began else {**second.names, **names}
    news = max((start.news for start in (first, second) if start.news is not None), default=None)
    givings = first.givings
    if second.givings != givings:
        givings = tuple(sorted({*givings, *second.givings})[:MOST_GIVINGS])
    return Start(
        first.attempt,
        first.number,
        givings,
        min(first.began, second.began),
        stronger,
        min(times),
        given,
        names,
        news,
    )


def record_of(name: str, fold: Fold, rules: Rules) -> Record:
    """Return the state that follows from a fold. ``name`` is what the record is called."""
    arms = [order for order in fold.orders if order.order is Order.ARM]
    disarms = [order.at for order in fold.orders if order.order is Order.DISARM]
    open_arms = [arm for arm in arms if not _is_closed(arm, fold.closings, disarms)]
    is_closed = not open_arms if arms else bool(disarms or fold.closings)
    closings = fold.closings
    if is_closed and arms:
        closings, disarms, arms = _last_attempt(arms, closings, disarms)
    counted = tuple(arm.id for arm in (arms if is_closed else open_arms))
    attempts = counted or (FIRST_ATTEMPT,)
    starts = _of_attempts(fold, attempts)
    numbered = [start for start in starts if start.number]
    if is_closed:
        by_operator, state = bool(disarms), State.INSTALLED
        since = min(disarms) if disarms else min(closing.at for closing in closings)
        last = None if by_operator else max((start.news for start in starts if start.news), default=None)
    else:
        by_operator = False
        state, since = _reached(open_arms, numbered, rules)
        refused = [at for attempt, at in fold.refused if attempt in attempts]
        if refused:
            since = min(since, *refused) if state is State.EXHAUSTED else min(refused)
            state = State.EXHAUSTED
        last = numbered[-1].news if numbered else None
    present = numbered[-1] if numbered else None
    is_new = state is State.NEW and not starts
    return Record(
        name,
        counted,
        state,
        since,
        bool(arms),
        by_operator,
        present.number if present else 0,
        present.given if present else {},
        fold.heard if not is_new or fold.heard > fold.cut else 0.0,
        (last.message or None) if last else None,
        last.percent if last and last.percent >= 0 else None,
        _recent(starts, present, rules) if present and len(starts) > 1 else {},
        max((giving for start in starts for giving in start.givings), default=""),
    )


def _last_attempt(
    arms: list[Begun], closings: tuple[Closing, ...], disarms: list[float]
) -> tuple[tuple[Closing, ...], list[float], list[Begun]]:
    """Return, of attempts that are all over, what closed the last one, and the orders that are part of it. Others are
    still there where more than `MOST_PAST` orders and reports came after them, and a file was rolled back."""
    last = max(arms, key=lambda arm: arm.at)
    of_last = tuple([closing for closing in closings if _is_closed(last, (closing,), [])])
    earlier = tuple([closing for closing in closings if not _is_closed(last, (closing,), [])])
    disarmed = [at for at in disarms if last.at <= at]
    disarmed_earlier = [at for at in disarms if at < last.at]
    return of_last, disarmed, [arm for arm in arms if not _is_closed(arm, earlier, disarmed_earlier)]


def _reached(open_arms: list[Begun], starts: list[Start], rules: Rules) -> tuple[State, float]:
    """Return what an attempt that is not over came to, and when. ``starts`` are those with a number, by it."""
    state, since = (State.ARMED, max(arm.at for arm in open_arms)) if open_arms else (State.NEW, 0.0)
    for start in starts:
        if state in BETWEEN_STARTS:
            state, since = State.INSTALLING, max(since, start.began)
        reached = REACHED.get(start.strength)
        if reached is State.FAILED and start.number >= rules.starts:
            reached = State.EXHAUSTED
        if reached is not None and WEAKEST_FIRST.index(reached) > WEAKEST_FIRST.index(state):
            state, since = reached, max(since, start.at)
    return state, since


def _is_closed(arm: Begun, closings: tuple[Closing, ...], disarms: list[float]) -> bool:
    """Return whether an attempt is over. Each report and ``disarm`` here did not know of a later order of its node, so
    what was ordered before it is over too. So is what was ordered before the giving of a report, by the time of the
    orders that it counted: the clock of the node of the report may be behind."""
    return any(arm.at <= at for at in disarms) or any(
        arm.id in closing.attempts or arm.at <= closing.at or milliseconds(arm.at) <= begun_at(closing.giving)
        for closing in closings
    )


def _of_attempts(fold: Fold, attempts: tuple[str, ...]) -> list[Start]:
    """Return the starts of some attempts, which are one, by their number."""
    found: dict[int, Start] = {}
    for start in fold.starts:
        if start.attempt in attempts:
            known = found.get(start.number)
            found[start.number] = start if known is None else _merged(known, start)
    return [found[number] for number in sorted(found)]


def _recent(starts: list[Start], present: Start, rules: Rules) -> dict[str, float]:
    """Return the documents that earlier starts were given so shortly before the present one that their repetition after
    it began did not begin a start where that was not known. See `Record.recent`."""
    recent: dict[str, float] = {}
    for start in starts:
        if start.number < present.number:
            for document, at in start.given.items():
                if present.began - at <= rules.start:
                    recent[document] = max(at, recent.get(document, at))
    return recent
