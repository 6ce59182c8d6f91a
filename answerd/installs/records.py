"""The states of all hardware identities in memory, and what a request, a report and an order lead to.

Rules: docs/install-once.md#what-a-machine-is. Which identities they name is in `answerd.installs.hardware`; what
follows from a state is in `answerd.installs.states`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from typing import Final, NamedTuple

from answerd.errors import StatesUnknown
from answerd.formats.family import Once
from answerd.identity import identity_of, record_identity
from answerd.installs.events import (
    ORDERED,
    Event,
    Kind,
    fold_anew,
    fold_of,
    giving_id,
)
from answerd.installs.fold import FIRST_ATTEMPT, NOTHING, Begun, Closing, Fold, Start, Strength, merge, record_of
from answerd.installs.hardware import (
    MAC,
    MOST_NAMED,
    NAME,
    NOBODY,
    Asked,
    Held,
    Judged,
    Machines,
    Names,
    RowOf,
    board_in,
    former,
    in_conflict,
    is_of_one_machine,
    join_label,
    judged,
    named_by_order,
    named_by_report,
    note_label,
)
from answerd.installs.ids import begun_at, milliseconds, new_id
from answerd.installs.states import (
    Judgement,
    Order,
    Record,
    Refusal,
    ReportKind,
    Requested,
    Rules,
    State,
    is_repeated,
    judge,
    refusal_in,
    refusal_of,
)

CLOSEST_FIRST: Final = (
    State.CONFLICT,
    State.INSTALLED,
    State.EXHAUSTED,
    State.COPIED,
    State.FAILED,
    State.INSTALLING,
    State.ARMED,
    State.NEW,
)
"""Of the identities of a machine, the one whose state is shown: what is closed for one is refused."""


_REPORTS: Final = frozenset(Kind(word.value) for word in ReportKind)


class Remembered(NamedTuple):
    """A machine as it is shown: its record, all that is known of its identities together, and these, with kind and
    text. ``parts`` are two of its identities with their records where they contradict each other."""

    record: Record
    fold: Fold = NOTHING
    names: Names = NOBODY
    parts: tuple[tuple[str, Record], ...] = ()

    @property
    def identities(self) -> dict[str, str]:
        return {identity: text[1:] for identity, text in self.names.items()}

    @property
    def group(self) -> str | None:
        """The group document that was part of the machine's last answer."""
        return self.fold.group.name if self.fold.group is not None else None


class Refused(NamedTuple):
    """Why a document is refused. ``record`` is the state that refuses, ``identity`` the identity that it is of, with
    kind and ``text``. ``label`` is how the machine is called that asks. ``other`` is the state, and ``other_text`` the
    identity, that contradict them in a conflict. ``order`` is the command's arguments that open the gate. ``is_own``:
    the identity is of the row that asks, or there is no row. ``plain`` is an identity of the machine that everybody can
    type, a MAC address where it has one. ``listed`` is how lists call the machine, where nothing names it and the
    request says something else of it."""

    refusal: Refusal
    record: Record
    label: str = ""
    identity: str = ""
    text: str = ""
    other: Record | None = None
    other_text: str = ""
    order: tuple[str, ...] = ()
    is_own: bool = True
    plain: str = ""
    listed: str = ""


class Decision(NamedTuple):
    """The decision of the states about a request for a document. ``events`` are to be written before the response;
    ``refused`` is None where the document is given. ``giving`` is the id of what is given, ``identity`` the one of the
    report's URL, ``attempt`` the order that began the attempt."""

    events: tuple[Event, ...] = ()
    refused: Refused | None = None
    giving: str = ""
    identity: str = ""
    attempt: str = FIRST_ATTEMPT


class ReportedOn(NamedTuple):
    """What the URL of a report says: the giving, an identity that it names, and the order that began its attempt."""

    giving: str
    identity: str
    attempt: str = FIRST_ATTEMPT


MOST_CARRIED: Final = 64
"""Hardware identities of one request that count, the first ones."""

MOST_STRANGERS: Final = 10_000
"""Identities of machines that nothing names which were only given or refused: strangers can make them."""

MOST_COMPANIONS: Final = 100_000
"""Identities that nothing names, only given or refused, which came with one that a row, a document or a member names.
Five of 20,000 machines, 50 MB: whoever says a known identity can make them, and must not fill the memory."""

_EVICTED_AT_ONCE: Final = 200
"""Identities that are dropped together."""


_MOST_PAST_GIVINGS: Final = 10_000
"""Givings that an order took the place of whose names, and whose reports, are kept."""

_NO_ROOM: Final = (
    f"there are {MOST_STRANGERS:,} identities of machines that no row, member or document names, and all of them asked "
    "not long ago: name this machine, or try again later"
)


def no_row(_identity: str) -> None:
    """Return that no row has an identity: there is no inventory."""


class Guests:
    """Identities that nothing names and that were only given or refused: when each was heard of last, the one that was
    silent for longest first. At most so many are taken."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.heard: dict[str, float] = {}

    def note(self, identity: str, at: float) -> None:
        self.heard[identity] = max(at, self.heard.pop(identity, at))

    @property
    def room(self) -> int:
        return max(0, self.most - len(self.heard))

    def silent(self, since: float) -> list[str]:
        """Return those that were not heard of since a time, some at once."""
        return [one for one, at in islice(self.heard.items(), _EVICTED_AT_ONCE) if at < since]


class InstallMemory(Machines):
    """The states of all identities. Of one process, and edited by its loop only; look-ups from other threads are safe,
    and so are walks over a copy (``[*memory.by_identity]``)."""

    def __init__(self, rules: Rules, assumed: Record | None = None) -> None:
        """``assumed`` is the record with which a machine without one begins, apart from its name; by default a new
        record."""
        super().__init__()
        self.rules = rules
        self.assumed = assumed
        self.strangers = Guests(MOST_STRANGERS)
        self.companions = Guests(MOST_COMPANIONS)
        self.named: set[str] = set()  # identities that a row, a document or a member names, or did
        self._past_givings: dict[str, Names] = {}  # what those named that an order took the place of, the newest last
        self._past_reports: dict[str, frozenset[Closing]] = {}  # the same of reports of success, by the giving
        self._along: Counter[str] = Counter()  # identities without an event that each giving, report and order brought
        self.evicted: dict[str, None] = {}  # identities that were dropped, until somebody takes note of it
        self.changes = 0  # rises with every change
        self.newest = 0.0  # the latest time of an event

    # --- events ----------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> bool:
        """Add an event. Return whether it changed the state of any identity."""
        if event.kind is Kind.AUDITED:
            return False
        self.changes += 1
        self.newest = max(self.newest, event.at)
        if event.kind is Kind.SUMMARY:
            return self._apply_summary(event)
        together = event.together
        if together:
            self.ties.observe(together, event.at)
        self.ties.learn(event.names)
        if event.label:
            note_label(self.labels, event.label, event.names, event.at)
        self._learn_named(event)
        if event.kind is Kind.ASKED:
            return self._apply_refused_request(event)
        if not event.names:
            return False
        fold = fold_of(event)
        if event.kind is Kind.GIVEN and event.giving:
            fold = self._with_reports(event, fold)
        if event.kind is Kind.INSTALLED and event.counts:
            self._close_the_giving(event, fold)
        if event.kind in ORDERED.values():
            self._note_past(event)
        if event.kind in _REPORTS:
            self._along[event.giving] += sum(one not in self.by_identity for one in event.names)
        return self._add(event, fold)

    def _apply_summary(self, event: Event) -> bool:
        for at, clique in event.ties:
            self.ties.observe({one: event.names.get(one, NAME + one) for one in clique}, at)
        self._learn_named(event)
        for identity, fold in event.folds.items():
            self.ties.learn({identity: event.names.get(identity, NAME + identity)})
            self._put(identity, merge(self.fold(identity), fold), event)
        for name, label in event.labels.items():
            join_label(self.labels, name, label)
        return True

    def _apply_refused_request(self, event: Event) -> bool:
        for identity in event.together:
            if identity not in self.by_identity:
                self._note_guest(identity, NOTHING, event)
        for identity in event.closed:
            self._put(identity, merge(self.fold(identity), fold_of(event)), event)
        for closer in [one.id for one in event.closings] + [one.id for one in event.attempt]:
            self._along[closer] += len(event.closed)
        return bool(event.closed)

    def _add(self, event: Event, fold: Fold) -> bool:
        """Add what an event says of each identity that it names. Identities of which the same is known share what is
        held of them. Return whether it changed the state of any."""
        has_changed = False
        made: list[tuple[Held | None, Held]] = []
        for identity in event.names:
            before = self.by_identity.get(identity)
            if identity in event.anew:
                self._put(identity, merge(self.fold(identity), fold_anew(event, fold)), event)
                has_changed = True
                continue
            after = next((held for known, held in made if known is before), None)
            if after is None:
                joined = fold if before is None else merge(before.fold, fold)
                after = next((held for _, held in made if held.fold == joined), None)
                if after is None:
                    after = Held(joined, record_of(event.label or self.title_of(identity), joined, self.rules))
                made.append((before, after))
                state = before.record.state if before is not None else State.NEW
                has_changed = has_changed or state is not after.record.state
            self.by_identity[identity] = after
            self._note_guest(identity, after.fold, event)
        return has_changed

    def _with_reports(self, event: Event, fold: Fold) -> Fold:
        """Return what a giving says, with the reports about it that came first: they are about all that it names."""
        found: set[Closing] = set(fold.closings)
        for held in self.held_of(event.names).values():
            found.update(closing for closing in held.fold.closings if closing.giving == event.giving)
        found |= self._past_reports.get(event.giving, frozenset())
        if any(self.fold(one).orders for one in event.names):
            self._keep_past(event.giving, event.names)  # it comes after an order that may have known it
        return fold._replace(closings=tuple(sorted(found))) if len(found) > len(fold.closings) else fold

    def _close_the_giving(self, event: Event, fold: Fold) -> None:
        """Close what the giving of a report names and the report neither names nor leaves alone: its node did not know
        of it."""
        named = dict(self._past_givings.get(event.giving, NOBODY))
        for held in self.held_of(event.names).values():
            for start in held.fold.starts:
                named.update(start.names if event.giving in start.givings else ())
        for identity in named.keys() - event.names.keys() - {*event.left}:
            self._put(identity, merge(self.fold(identity), Fold(closings=fold.closings)), event)
        if any(closing.id in self.fold(one).past for closing in fold.closings for one in event.names):
            self._keep_past_reports(fold.closings)

    def _note_past(self, order: Event) -> None:
        """Keep what those givings named that an order takes the place of: a report may still close them, to a node that
        knew of neither. Keep such reports too: their giving may come later, and name more."""
        for held in self.held_of(order.names).values():
            self._keep_past_reports(held.fold.closings)
            for start in held.fold.starts:
                for giving in start.givings:
                    self._keep_past(giving, start.names)

    def _keep_past(self, giving: str, names: Names) -> None:
        self._past_givings[giving] = {**self._past_givings.pop(giving, NOBODY), **names}
        if len(self._past_givings) > _MOST_PAST_GIVINGS:
            del self._past_givings[next(iter(self._past_givings))]

    def _keep_past_reports(self, closings: Iterable[Closing]) -> None:
        for closing in [one for one in closings if one.giving]:  # that of a refused request is of no giving
            self._past_reports[closing.giving] = self._past_reports.pop(closing.giving, frozenset()) | {closing}
        while len(self._past_reports) > _MOST_PAST_GIVINGS:
            del self._past_reports[next(iter(self._past_reports))]

    def _put(self, identity: str, fold: Fold, event: Event) -> None:
        record = record_of(event.label or self.title_of(identity), fold, self.rules)
        self.by_identity[identity] = Held(fold, record)
        self._note_guest(identity, fold, event)

    # --- identities that nothing names -----------------------------------------------------------------------------

    def is_kept(self, identity: str) -> bool:
        """Return whether an identity is named, or was reported or ordered: that never expires."""
        return identity in self.named or self.fold(identity).is_lasting

    def _learn_named(self, event: Event) -> None:
        self.named.update(event.named)
        for identity in event.named:
            self._forget_guest(identity)

    def _note_guest(self, identity: str, fold: Fold, event: Event) -> None:
        if identity in self.named or fold.is_lasting:
            self._forget_guest(identity)
        elif event.named or identity in self.companions.heard:
            self.strangers.heard.pop(identity, None)
            self.companions.note(identity, event.at)
        else:
            self.strangers.note(identity, event.at)

    def _forget_guest(self, identity: str) -> None:
        self.strangers.heard.pop(identity, None)
        self.companions.heard.pop(identity, None)

    def _fitting(self, names: Names, asked: Asked, at: float) -> Names:
        """Return what of some identities there is room for. Known ones need none; where there is none for new ones that
        nothing names, those that have been silent for long are dropped."""
        new = [one for one in names if self._is_new(one, asked.named)]
        if not new:
            return names
        guests = self.companions if asked.named else self.strangers
        while guests.room < len(new):
            since = at - self.rules.silence
            silent = dict.fromkeys(guests.silent(since))
            if not silent:
                break
            for identity in [*silent]:
                silent |= dict.fromkeys(one for one in self.ties.tied(identity) if guests.heard.get(one, at) < since)
            for identity in silent:
                self.drop(identity)
            self.evicted |= silent
        left_out = new[guests.room :]
        return {one: text for one, text in names.items() if one not in left_out} if left_out else names

    def _is_new(self, identity: str, named: Collection[str]) -> bool:
        if identity in self.by_identity or identity in self.named or identity in named:
            return False
        return identity not in self.strangers.heard and identity not in self.companions.heard

    def drop(self, identity: str) -> None:
        """Remove an identity without a trace."""
        self.changes += 1
        self.by_identity.pop(identity, None)
        self._forget_guest(identity)
        self.ties.drop(identity)

    # --- reading ---------------------------------------------------------------------------------------------------

    def title_of(self, identity: str) -> str:
        """Return the text of an identity, as it was spelled first."""
        return self.ties.texts.get(identity, NAME + identity)[1:]

    def state_of(self, identity: str) -> State:
        """Return the state of one identity."""
        held = self.by_identity.get(identity)
        return held.record.state if held is not None else State.NEW

    def held_of(self, identities: Iterable[str]) -> dict[str, Held]:
        """Return the states of identities that have one; of several that share one, the first."""
        found: dict[str, Held] = {}
        seen: set[int] = set()
        for identity in identities:
            held = self.by_identity.get(identity)
            if held is not None and id(held) not in seen:
                seen.add(id(held))
                found[identity] = held
        return found

    def state(self, asked: Asked, row_of: RowOf) -> State:
        """Return the state of a machine that asks."""
        if asked.row_names and in_conflict(self, asked.row_names, asked.row, row_of):
            return State.CONFLICT
        found = judged(self, asked, row_of)
        states = [held.record.state for held in self.held_of((*found.own, *found.more)).values()]
        return min(states or [self.assumed.state if self.assumed else State.NEW], key=CLOSEST_FIRST.index)

    def view(self, name: str, names: Names, row: object | None = None, row_of: RowOf = no_row) -> Remembered:
        """Return what is known of some identities together, as the machine of a name. Those of a ``row`` may contradict
        each other."""
        held = self.held_of(names)
        if not held:
            heard = max((self.ties.of[one].at for one in names if one in self.ties.of), default=0.0)
            record = self.assumed._replace(name=name) if self.assumed else Record(name, heard=heard)
            return Remembered(record, NOTHING, names)
        _, closest = min(held.items(), key=lambda one: CLOSEST_FIRST.index(one[1].record.state))
        record, fold = closest.record, closest.fold
        parts: tuple[tuple[str, Record], ...] = ()
        conflict = in_conflict(self, names, row, row_of) if row is not None else None
        if conflict is not None:
            known = [(names[one][1:], self.by_identity.get(one)) for one in conflict]
            parts = tuple((text, one.record if one is not None else Record(text)) for text, one in known)
            record = record._replace(state=State.CONFLICT)
        if len(held) > 1:
            heard = max(one.record.heard for one in held.values())
            group = max((one.fold.group for one in held.values() if one.fold.group is not None), default=None)
            record, fold = record._replace(heard=heard), fold._replace(group=group)
        return Remembered(record._replace(name=name), fold, names, parts)

    def beside(self, identities: Iterable[str]) -> list[str]:
        """Return what came with some identities, and what was given to them named: events that name them may be stored
        under these."""
        found: dict[str, None] = {}
        for identity in identities:
            found.update(dict.fromkeys(self.ties.tied(identity)))
            found.update((one, None) for start in self.fold(identity).starts for one in start.names)
        return [*found]

    def intersection(self, identities: Collection[str]) -> set[str]:
        return self.by_identity.keys() & identities

    # --- requests --------------------------------------------------------------------------------------------------

    def ask(self, asked: Asked, requested: Requested, row_of: RowOf = no_row) -> Decision:
        """Return whether a machine is given a document, and what is to be written before it is. The request, its row or
        its label must name something. Raises `answerd.errors.StatesUnknown` where there is no room for a stranger."""
        if self.assumed is not None:
            return _with_plain(asked, self._assumed(asked, requested))
        return _with_plain(asked, self._asked(asked, requested, row_of))

    def _asked(self, asked: Asked, requested: Requested, row_of: RowOf) -> Decision:
        known = self._repeated(asked, requested)
        if known is not None:
            return known
        found = judged(self, asked, row_of)
        refused = self._refused(asked, found, requested, row_of)
        names = asked.names
        if refused is not None:
            also = self._closed_with(asked, refused, row_of, requested.at)
            return Decision(self._of_refusal(asked, requested, also), refused)
        own = [*self.held_of(found.own).values()]
        fold, record = self._joint(asked, own)
        judgement = judge(record, requested, self.rules)
        if judgement.refusal is not None:
            primary = next(iter(names))
            closed = Refused(judgement.refusal, record, asked.title, primary, names[primary], order=(asked.title,))
            if not judgement.exhausts:
                return Decision(self._of_refusal(asked, requested), closed)
            event = Event(
                primary, asked.title, Kind.REFUSED, requested.at, names, attempt=_attempt(record, own),
                detail=requested.document, origin=requested.peer, id=new_id(requested.at),
            )  # fmt: skip
            return Decision((event,), closed)
        return self._given(asked, found, own, fold, record, judgement, requested)

    def told(self, asked: Asked, requested: Requested, row_of: RowOf = no_row) -> Decision:
        """Return what is to be written before a machine is told its report URL by an answer without ``once``. Raises
        `answerd.errors.StatesUnknown` where there is no room for a stranger."""
        if self.assumed is not None:
            return Decision(identity=next(iter(asked.names)))
        found = judged(self, asked, row_of)
        own = [*self.held_of(found.own).values()]
        fold, record = self._joint(asked, own)
        return self._given(asked, found, own, fold, record, Judgement(), requested, is_told=True)

    def _assumed(self, asked: Asked, requested: Requested) -> Decision:
        primary, text = next(iter(asked.names.items()))
        record = (self.assumed or Record(""))._replace(name=asked.title)
        judgement = judge(record, requested, self.rules)
        if judgement.refusal is None:
            return Decision(identity=primary)
        return Decision((), Refused(judgement.refusal, record, asked.title, primary, text, order=(asked.title,)))

    def _repeated(self, asked: Asked, requested: Requested) -> Decision | None:
        """Return the decision about a document that is given once more where nothing is to be written; None for any
        other. Most requests of an install are of this kind, so it must be found fast."""
        first: Held | None = None
        known = self.by_identity
        for identity in asked.names:
            held = known.get(identity)
            if held is None or (first is not None and held is not first):
                return None
            first = held
        if first is None or not is_repeated(first.record, requested, self.rules):
            return None
        if (first.fold.group.name if first.fold.group is not None else None) != requested.group:
            return None
        if _is_before_an_order(first.record.giving, first.fold):
            return None
        of = self.ties.of
        for tie in {id(tie): tie for identity in asked.names if (tie := of.get(identity)) is not None}.values():
            if any(known.get(other, first) is not first for other in tie.others):
                return None
        if asked.label and known.get(record_identity(asked.label), first) is not first:
            return None
        if self.ties.is_news(asked.names, 0.0):
            return None
        starts = first.fold.starts
        start = starts[-1]
        if len(starts) > 1 and any(one.givings != start.givings for one in starts):
            return None
        if not is_of_one_machine(self.ties, start.names, asked.names):
            return None
        return Decision(giving=first.record.giving, identity=next(iter(start.names), ""), attempt=start.attempt)

    def _refused(self, asked: Asked, found: Judged, requested: Requested, row_of: RowOf) -> Refused | None:
        """Return why a request is refused; None where all identities by which it is judged are open."""
        label, order = asked.title, (asked.title,)
        conflict = in_conflict(self, asked.row_names, asked.row, row_of) if asked.row_names else None
        if conflict is not None:
            one, other = conflict
            return Refused(
                Refusal.CONFLICT,
                self.by_identity[one].record,
                label,
                one,
                self.ties.texts.get(one, ""),
                held.record if (held := self.by_identity.get(other)) is not None else Record(label),
                asked.row_names[other],
                order,
            )
        own = self.held_of(found.own)
        closed = self._closed(found, own, requested)
        if closed:
            return self._refused_by(closed, asked, found, row_of)
        if asked.row is not None and (was := former(self, asked.label, asked.row_names, row_of)):
            return Refused(
                Refusal.FORMER, self.by_identity[was].record, label, was, self.ties.texts.get(was, ""), order=order
            )
        if requested.once is Once.ARMED and not any(held.record.was_armed for held in own.values()):
            record = self._joint(asked, list(own.values()))[1]
            primary = next(iter(asked.names))
            return Refused(Refusal.NOT_ARMED, record, label, primary, asked.names[primary], order=order)
        return None

    def _closed(self, found: Judged, own: Mapping[str, Held], requested: Requested) -> dict[str, Refusal]:
        """Return the identities that are closed, each with the rule; of several that share their state, the first."""
        more = self.held_of(found.more)
        every_gate = requested._replace(once=Once.ON)
        closed: dict[str, Refusal] = {}
        states = {held.record.state for held in own.values()}
        for identity, held in (*own.items(), *more.items()):
            record = held.record
            refusal = refusal_of(record, every_gate, self.rules)
            if refusal is None and record.state is State.INSTALLED and (identity in more or states != {record.state}):
                refusal = refusal_in(record)  # the grace is for the machine that reported
            if refusal is not None:
                closed[identity] = refusal
        return closed

    def _refused_by(self, closed: Mapping[str, Refusal], asked: Asked, found: Judged, row_of: RowOf) -> Refused:
        """Return the refusal by the closest of some identities. An order must name all that share a state with one."""
        identity = min(closed, key=lambda one: CLOSEST_FIRST.index(self.by_identity[one].record.state))
        record = self.by_identity[identity].record
        shut = {id(self.by_identity[one]) for one in closed}
        every = [one for one in (*found.own, *found.more) if id(self.by_identity.get(one)) in shut]
        return Refused(
            closed[identity],
            record,
            asked.title,
            identity,
            self.ties.texts.get(identity, ""),
            order=self._opening(asked, every, row_of),
            listed="" if asked.label or record_identity(record.name) in asked.names else record.name,
        )

    def _opening(self, asked: Asked, closed: Iterable[str], row_of: RowOf) -> tuple[str, ...]:
        """Return what an order must name that opens what is closed: the machine, and what an order to it leaves out."""
        kind = NAME if asked.label else asked.names.get(identity_of(asked.title), NAME)[:1]
        named = named_by_order(self, asked.title, kind, asked.row_names or None, asked.row, Order.ARM, row_of)
        return (asked.title, *[self.title_of(one) for one in closed if one not in named])

    def _joint(self, asked: Asked, own: Sequence[Held]) -> tuple[Fold, Record]:
        """Return what is known of all identities of a machine that none of them refuses."""
        if len(own) == 1:
            return own[0]
        if not own:
            return NOTHING, Record(asked.title)
        fold = reduce(merge, [held.fold for held in own])
        return fold, record_of(asked.title, fold, self.rules)

    def _closed_with(self, asked: Asked, refused: Refused, row_of: RowOf, at: float) -> tuple[tuple[str, ...], Fold]:
        """Return the open identities that a request carries beside the installed one that refuses it, and by what they
        are closed: the machine was installed, and this is how it says so, also where an order came in between that did
        not name what is closed. An order that is not known here may be later, and counts then. What is of another row
        is left out. At most `MOST_NAMED` are closed along with one install."""
        ties, closer, closed = self.ties, refused.identity, refused.record
        fold = self.fold(closer)
        if refused.refusal not in (Refusal.INSTALLED, Refusal.DISARMED) or closed.since < ties.moved(closer):
            return (), NOTHING
        if closer in asked.carried and ties.is_mac(closer) and ties.moves(closer, *board_in(asked.carried)):
            return (), NOTHING
        found = []
        for identity in asked.carried:
            held = self.by_identity.get(identity)
            if (held is None or held.record.state is not State.INSTALLED) and row_of(identity) in (None, asked.row):
                found.append(identity)
        disarms = tuple(order for order in fold.orders if order.order is Order.DISARM)
        closers = [one.id for one in disarms] + [one.id for one in fold.closings]
        room = MOST_NAMED - max([self._along[one] for one in closers], default=0)
        found = found[: max(0, room)]
        if not found:
            return (), NOTHING
        ends: list[Begun | Closing] = [*disarms, *fold.closings]
        between = [
            order.at
            for card in map(self.fold, found)
            for order in card.orders
            if not any(order.at <= end.at and end.id not in card.past for end in ends)
        ]
        also = (Closing(new_id(at), max(between)),) if between else ()
        return tuple(found), Fold(disarms, (), (*fold.closings, *also))

    def _of_refusal(
        self,
        asked: Asked,
        requested: Requested,
        closed: tuple[tuple[str, ...], Fold] = ((), NOTHING),
    ) -> tuple[Event, ...]:
        """Return what is to be written of a refused request: what it said, where that is new and there is room."""
        carried = asked.carried
        if not carried or not (closed[0] or self.ties.is_news(carried, requested.at)):
            return ()
        carried = self._fitting(carried, asked, requested.at)
        identities, fold = tuple([one for one in closed[0] if one in carried]), closed[1]
        if not carried or not (identities or self.ties.is_news(carried, requested.at)):
            return ()
        known = [one for one in carried if one in self.by_identity]
        starts = self.fold(known[0]).starts if known else ()
        first = next(iter(starts[-1].names), "") if starts else ""
        primary = first if first in carried else next(iter(known or carried))  # where its other events are
        event = Event(
            primary,
            asked.title,
            Kind.ASKED,
            requested.at,
            carried,
            attempt=fold.orders if identities else (),
            closings=fold.closings if identities else (),
            closed=identities,
            detail=requested.document,
            origin=requested.peer,
            named=asked.named,
            id=new_id(requested.at),
        )
        return (event,)

    def _given(
        self,
        asked: Asked,
        found: Judged,
        own: Sequence[Held],
        fold: Fold,
        record: Record,
        judgement: Judgement,
        requested: Requested,
        *,
        is_told: bool = False,
    ) -> Decision:
        attempt = _attempt(record, own)
        giving, present = self._giving(asked.names, fold, record)
        fitting = self._fitting(asked.names, asked, requested.at)
        if not fitting:
            raise StatesUnknown(_NO_ROOM)
        names = _named_together(fitting, present)
        primary = next(iter(names))
        decision = Decision((), None, giving, primary, attempt[-1].id if attempt else FIRST_ATTEMPT)
        if requested.without_start:
            return decision
        is_known = (
            present is not None
            and names.keys() <= present.names.keys()
            and (requested.group is None or (fold.group is not None and fold.group.name == requested.group))
            and all((held := self.by_identity.get(one)) is not None and held.record.giving == giving for one in names)
            and not self.ties.is_news({one: names[one] for one in fitting if one in names}, 0.0)
        )
        if is_known and (is_told or judgement.start == 0 or is_repeated(record, requested, self.rules)):
            return decision
        is_over = record.state is State.INSTALLED and not is_told
        # What is given once more after the end begins nothing: a card of another board is closed with the others.
        anew = () if is_over else found.let_through
        event = Event(
            primary,
            asked.title,
            Kind.GIVEN,
            requested.at,
            names,
            None if len(fitting) == len(names) else tuple(fitting),
            attempt,
            judgement.start,
            giving,
            tuple(sorted({one for mac in anew for one in self.fold(mac).knows})),
            anew,
            fold.closings if is_over else (),
            detail=requested.document,
            origin=requested.peer,
            group=requested.group,
            overlays=requested.overlays,
            named=asked.named,
            id=new_id(requested.at),
        )
        return decision._replace(events=(event,))

    def _giving(self, names: Names, fold: Fold, record: Record) -> tuple[str, Start | None]:
        """Return the id of what a machine is given, and the newest start that it is part of: that of the last giving,
        unless it was given to the machine that a MAC address has left, or an order came since."""
        present = _start_of(record.giving, fold)
        if (
            present is None
            or not is_of_one_machine(self.ties, present.names, names)
            or _is_before_an_order(record.giving, fold)
        ):
            giving = giving_id(next(iter(names)), fold.orders)
            return giving, _start_of(giving, fold)
        return record.giving, present

    # --- reports and orders ----------------------------------------------------------------------------------------

    def reported(
        self,
        subject: ReportedOn,
        word: ReportKind,
        at: float,
        message: str | None,
        percent: float | None,
        row_of: RowOf = no_row,
    ) -> Event:
        """Return the event of a report that comes now. It counts for the present start."""
        known = (start.began for start in self.fold(subject.identity).starts if subject.giving in start.givings)
        given_at = min(known, default=begun_at(subject.giving) / 1_000)
        attempt = [subject.attempt] if subject.attempt else []
        past = self._past_givings.get(subject.giving, NOBODY)
        names, left = named_by_report(self, subject.giving, subject.identity, given_at, attempt, row_of, past)
        if word is not ReportKind.INSTALLED:  # it opens nothing that is installed, for whatever reason
            names = {one: text for one, text in names.items() if self.state_of(one) is not State.INSTALLED}
        if self._along[subject.giving] >= MOST_NAMED:  # it says others each time
            names = {one: text for one, text in names.items() if one == subject.identity or one in self.by_identity}
        held = self.by_identity.get(subject.identity)
        label = held.record.name if held is not None else self.title_of(subject.identity)
        event = Event(subject.identity, label, Kind(word.value), at, giving=subject.giving, id=new_id(at))
        if not names:
            return event._replace(counts=False)
        primary = subject.identity if subject.identity in names else next(iter(names))
        fold = self.fold(primary)
        before = record_of(label, fold, self.rules)
        starts = [start for start in fold.starts if subject.giving in start.givings]
        own = starts[-1].attempt if starts else subject.attempt
        begun = tuple(order for order in fold.orders if order.id == own)
        if own and not begun:
            begun = (Begun(own, Order.ARM, given_at),)
        number = max((start.number for start in fold.starts if start.attempt == own), default=0) or 1
        event = event._replace(names=names, left=left, attempt=begun, start=number)
        if word is not ReportKind.PROGRESS:
            event = event._replace(message=message, percent=percent)
            return event._replace(counts=self._changes(event, names))
        present = next((start for start in fold.starts if start.attempt == own and start.number == number), None)
        if present is None or present.strength > Strength.COPIED or before.state is State.INSTALLED:
            return event._replace(counts=False)
        last = present.news
        return event._replace(
            message=message if message is not None else (last.message or None) if last else None,
            percent=percent if percent is not None else last.percent if last and last.percent >= 0 else None,
            after_copied=present.strength is Strength.COPIED,
        )

    def _changes(self, event: Event, names: Names) -> bool:
        """Return whether a report changes the state of anything that it names, here or where more is known: it is about
        something that is not known here, or says for the first time that it succeeded."""
        after = fold_of(event)
        for held in self.held_of(names).values():
            fold = held.fold
            givings = {giving for start in fold.starts for giving in start.givings}
            is_first = event.kind is Kind.INSTALLED or event.giving not in givings
            if is_first and not any(one.giving == event.giving for one in fold.closings):
                return True
            if record_of("", merge(fold, after), self.rules)[2:4] != held.record[2:4]:
                return True
        return any(one not in self.by_identity for one in names)

    def ordered(self, order: Order, label: str, names: Names, at: float, origin: str) -> Event:
        """Return the event of an operator's order to the machine that has some identities. Its time is after what it
        takes the place of: the clock of another node may be ahead."""
        folds = [held.fold for held in self.held_of(names).values()]
        knew = sorted({one for fold in folds for one in fold.knows})
        at = max([at, *[one.at + _AFTER for fold in folds for one in fold.orders if one.at > at]])
        return Event(
            next(iter(names)), label, ORDERED[order], at, names, knew=tuple(knew), origin=origin, id=new_id(at),
        )  # fmt: skip


def _with_plain(asked: Asked, decision: Decision) -> Decision:
    """Return a decision with what is needed to tell a person why, where it is a refusal."""
    refused = decision.refused
    if refused is None:
        return decision
    names = asked.names
    plain = next((text[1:] for text in names.values() if text[0] == MAC), "")
    plain = plain or next((text[1:] for text in names.values()), "")
    is_own = asked.row is None or refused.identity in asked.row_names
    return decision._replace(refused=refused._replace(is_own=is_own, plain=plain))


def _is_before_an_order(giving: str, fold: Fold) -> bool:
    """Return whether an order counts that a giving did not: another node gave it, which did not know the order."""
    return any(milliseconds(order.at) > begun_at(giving) for order in fold.orders)


_AFTER: Final = 0.002
"""Seconds by which an order is later than one of a clock that is ahead: ids have milliseconds, and what was given for
the one before must not count as given for it."""


def _start_of(giving: str, fold: Fold) -> Start | None:
    """Return the newest start that something was given in."""
    return next((start for start in reversed(fold.starts) if giving in start.givings), None)


def _named_together(names: Names, present: Start | None) -> Names:
    """Return what a giving names, with what was named before in its start, at most `MOST_NAMED`."""
    if present is not None:
        names = present.names if present.names.keys() == names.keys() else {**present.names, **names}
    return names if len(names) <= MOST_NAMED else dict([*names.items()][:MOST_NAMED])


def _attempt(record: Record, own: Iterable[Held]) -> tuple[Begun, ...]:
    """Return the orders that began an attempt."""
    if not record.attempts:
        return ()
    found = {order.id: order for held in own for order in held.fold.orders}
    return tuple(found[one] for one in sorted(record.attempts) if one in found)


def held_records(memory: InstallMemory) -> Iterator[Record]:
    """Yield each record once. A machine of which nothing is known but that it was forgotten, or refused, has none."""
    seen: set[int] = set()
    for held in [*memory.by_identity.values()]:
        if id(held) not in seen and held.fold.is_record:
            seen.add(id(held))
            yield held.record
