"""Events of installs: what happened to which hardware identities, as it is written and read again.

Rules: docs/many-nodes.md#how-states-are-merged. What follows from events is in `answerd.installs.fold`.

Each event is decided once, where it happens: it says what it is evidence of (a document was given in start 2 of an
attempt, a report came in that start), and which identities it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final, NamedTuple

import orjson

from answerd.installs.fold import (
    FIRST_ATTEMPT,
    NOTHING,
    Begun,
    Closing,
    Fold,
    LastGroup,
    News,
    Start,
    Strength,
    merge,
)
from answerd.installs.hardware import NAME, Label, join_label, note_label
from answerd.installs.ids import milliseconds, new_id
from answerd.installs.states import Order

LONGEST_DETAIL = 1_000
"""Characters of an event's detail."""


class Kind(StrEnum):
    GIVEN = "given"
    ASKED = "asked"
    """A machine was refused, and what it said of itself was new: the identities that came with a closed one are closed
    by what closed that. Not shown."""
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
    """The folds of events that are no longer kept. Not shown."""
    AUDITED = "audited"
    """What an operator did, for the audit alone (`audited`). Not shown, and part of no state."""


ORDERED: Mapping[Order, Kind] = {Order.ARM: Kind.ARMED, Order.DISARM: Kind.DISARMED, Order.FORGET: Kind.FORGOTTEN}
_ORDER_OF: Final = {kind: order for order, kind in ORDERED.items()}
_STRENGTHS: Final = {Kind.COPIED: Strength.COPIED, Kind.FAILED: Strength.FAILED, Kind.INSTALLED: Strength.INSTALLED}
NOT_SHOWN: Final = frozenset({Kind.ASKED, Kind.SUMMARY, Kind.AUDITED})

AUDIT: Final = "#audit"
"""What events of the audit are stored under. No identity has such a character."""


class Event(NamedTuple):
    """One event.

    ``record`` is the identity under which it is stored, ``label`` the name of the machine then. ``names`` are the
    identities that it names, with kind and text; ``asked`` those of them that came in one request, and so are tied; all
    where it is None. ``attempt`` are the orders that began what it belongs to, none for the first attempt; ``start`` is
    0 where it belongs to no start. ``left`` are the identities of which a report says nothing, because they were
    ordered since. ``giving`` is the id of what was given, or of that which a report is about.
    ``knew`` are the ids of what an order takes the place of. ``anew``: identities whose state begins anew with this
    giving. ``closings``: the reports that a giving after the end goes with, or that closed what refused the request;
    then ``closed`` are the identities that they close. ``detail`` names a given document, or is
    the text of a report; ``origin`` is who caused it. ``message`` and ``percent`` are the machine's last news with this
    event. ``counts``: it changed the state or the news when it was written. ``group`` and ``overlays`` were part of the
    answer. ``named`` are the identities that a row, a document or a member names, none where the machine is a stranger.
    ``after_copied``: the machine had reported ``copied`` in this start, so these news replace those of that report.
    ``folds`` are those of a `Kind.SUMMARY`, ``ties`` what came together, and when, ``labels`` what was given, ordered
    or refused under which name. ``id`` is unique in all databases; one that is not stored yet may have none."""

    record: str
    label: str
    kind: Kind
    at: float
    names: Mapping[str, str] = {}
    asked: tuple[str, ...] | None = None
    attempt: tuple[Begun, ...] = ()
    start: int = 0
    giving: str = ""
    knew: tuple[str, ...] = ()
    anew: tuple[str, ...] = ()
    closings: tuple[Closing, ...] = ()
    closed: tuple[str, ...] = ()
    detail: str = ""
    origin: str = ""
    message: str | None = None
    percent: float | None = None
    counts: bool = True
    group: str | None = None
    overlays: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    after_copied: bool = False
    left: tuple[str, ...] = ()
    folds: Mapping[str, Fold] = {}
    ties: tuple[tuple[float, tuple[str, ...]], ...] = ()
    labels: Mapping[str, Label] = {}
    body: bytes = b""
    id: str = ""

    @property
    def together(self) -> Mapping[str, str]:
        """The identities that came in one request."""
        if self.kind not in (Kind.GIVEN, Kind.ASKED):
            return {}
        return self.names if self.asked is None else {one: self.names[one] for one in self.asked if one in self.names}


def audited(what: str, at: float, origin: str, names: Mapping[str, str] | None = None, detail: str = "") -> Event:
    """Return an event of the audit. ``names`` are the identities of the machines that were ordered, each with what its
    machine is called; ``detail`` is how many there were, or a note after a blank."""
    return Event(AUDIT, what, Kind.AUDITED, at, names or {}, detail=detail, origin=origin, id=new_id(at))


def giving_id(identity: str, orders: tuple[Begun, ...]) -> str:
    """Return the id of what is given first in an attempt to the machine of an identity: the same in every process, also
    where two give at once. ``orders`` are all that count for the machine."""
    begun = max([order.at for order in orders], default=0.0)
    content = "\0".join([identity, *[order.id for order in orders]])
    return f"{milliseconds(begun):012x}{blake2b(content.encode('utf-8', 'replace'), digest_size=10).hexdigest()}"


# --- evidence --------------------------------------------------------------------------------------------------------


def fold_of(event: Event) -> Fold:
    """Return what an event says of each identity that it names, apart from those of ``anew`` and of a summary."""
    kind, at = event.kind, event.at
    order = _ORDER_OF.get(kind)
    if order is not None:
        return Fold((Begun(event.id, order, at),), event.knew, cut=at)
    if kind is Kind.ASKED:
        return Fold(event.attempt, (), event.closings)
    # Of several the newest: an order elsewhere may have replaced an older one.
    attempt = event.attempt[-1].id if event.attempt else FIRST_ATTEMPT
    if kind is Kind.GIVEN:
        group = LastGroup(at, event.group) if event.group is not None else None
        given = {event.detail: at} if event.start else {}
        start = Start(attempt, event.start, _givings(event), at, given=given, names=event.names)
        return Fold(event.attempt, (), event.closings, (start,), heard=at, group=group)
    if kind is Kind.REFUSED:
        return Fold(event.attempt, refused=((attempt, at),))
    if not event.counts:
        return Fold(heard=at)
    strength = _STRENGTHS.get(kind, Strength.INSTALLING)
    percent = -1.0 if event.percent is None else event.percent
    news = News(Strength.COPIED if event.after_copied else strength, at, event.message or "", percent)
    start = Start(attempt, event.start, _givings(event), at, strength, at if strength else 0.0, news=news)
    if kind is not Kind.INSTALLED:
        return Fold(event.attempt, starts=(start,), heard=at)
    closing = Closing(event.id, at, event.giving, tuple(begun.id for begun in event.attempt))
    return Fold(event.attempt, (), (closing,), (start,), heard=at)


def _givings(event: Event) -> tuple[str, ...]:
    return (event.giving,) if event.giving else ()


def fold_anew(event: Event, fold: Fold) -> Fold:
    """Return what an event says of an identity whose state begins anew with it."""
    begun = Begun(event.id, Order.FORGET, event.at - _BEFORE)
    return fold._replace(orders=tuple(sorted({*fold.orders, begun})), past=event.knew, cut=event.at - _BEFORE)


_BEFORE: Final = 1e-6
"""Seconds: what is given anew comes after the order that forgets what was before."""


def folds(events: list[Event]) -> dict[str, Fold]:
    """Return the fold of each identity that some events name. Every order gives the same."""
    found: dict[str, Fold] = {}
    for event in events:
        fold = fold_of(event)
        begun = fold_anew(event, fold) if event.anew else fold
        merged: dict[tuple[int, int], tuple[Fold, Fold]] = {}  # most identities have one in common
        for identity in event.closed if event.kind is Kind.ASKED else event.folds or event.names:
            own = begun if identity in event.anew else event.folds.get(identity, fold)
            before = found.get(identity, NOTHING)
            key = id(before), id(own)
            if key not in merged:
                merged[key] = before, merge(before, own)
            found[identity] = merged[key][1]
    return found


def summary_of(events: list[Event], record: str) -> Event:
    """Return one event that says what some events say, which are stored under an identity, the oldest first. What it
    says has a bound."""
    last = events[-1]
    texts: dict[str, str] = {}
    for event in events:
        for identity, text in event.names.items():
            if texts.setdefault(identity, text)[0] == NAME:  # what was not known to be hardware yet
                texts[identity] = text
    found = _alike(folds(events))
    ties = _newest_ties(events)
    labels = _newest_labels(events)
    kept = dict.fromkeys([*found, *[one for _, together in ties for one in together]])
    named = dict.fromkeys([one for event in events for one in event.named])
    return Event(
        record, last.label, Kind.SUMMARY, last.at, {one: texts[one] for one in kept if one in texts},
        named=tuple(named), folds=found, ties=ties, labels=labels,
    )  # fmt: skip


def _alike(of: dict[str, Fold]) -> dict[str, Fold]:
    """Return the folds of the identities of one machine. Where there are many, because each request said a little more
    than the one before, those that lead to the same are joined."""
    if len({id(fold) for fold in of.values()}) <= _MOST_FOLDS:
        return of
    joined: dict[object, Fold] = {}
    alike: dict[str, object] = {}
    for identity, fold in of.items():
        starts = tuple((start.attempt, start.number, start.givings, start.strength) for start in fold.starts)
        key = (*fold[:3], starts, fold.refused, fold.cut)
        alike[identity] = key
        joined[key] = merge(joined[key], fold) if key in joined else fold
    return {identity: joined[key] for identity, key in alike.items()}


def _newest_ties(events: list[Event]) -> tuple[tuple[float, tuple[str, ...]], ...]:
    """Return what came together, in requests of different contents, the newest last."""
    found: dict[tuple[str, ...], float] = {}
    for event in events:
        for at, together in (*event.ties, *([(event.at, tuple(event.together))] if event.together else ())):
            found[together] = max(at, found.pop(together, at))  # and makes it the newest
    kept: list[tuple[float, tuple[str, ...]]] = []
    room = _MOST_TIED
    for together, at in reversed(found.items()):
        room -= len(together)
        if room < 0 and kept:
            break
        kept.append((at, together))
    return tuple(reversed(kept))


def _newest_labels(events: list[Event]) -> dict[str, Label]:
    """Return what was given, ordered or refused under which name, the name that was used last first."""
    found: dict[str, Label] = {}
    for event in events:
        for name, label in event.labels.items():
            join_label(found, name, label)
        if event.label and event.kind is not Kind.SUMMARY:
            note_label(found, event.label, event.names, event.at)
    kept: dict[str, Label] = {}
    room = _MOST_LABELLED
    for name, label in sorted(found.items(), key=lambda one: (one[1].at, one[0]), reverse=True):
        room -= len(label.last) + len(label.earlier)
        if room < 0 and kept:
            break
        kept[name] = label
    return kept


_MOST_FOLDS: Final = 8
"""Different folds of a summary that stay as they are."""

_MOST_TIED: Final = 256
"""Identities in the requests that a summary keeps."""

_MOST_LABELLED: Final = 256
"""Identities under the names that a summary keeps."""


# --- as JSON ---------------------------------------------------------------------------------------------------------


_NAMES: Final = (
    "names", "asked", "attempt", "start", "left", "giving", "knew", "anew", "closings", "closed", "detail", "origin",
    "message", "percent", "counts", "group", "overlays", "named", "after_copied",
)  # fmt: skip
"""The fields of an event that have no column of their own, but for the folds."""

_DEFAULTS: Final = tuple(Event._field_defaults[name] for name in _NAMES)
_values = attrgetter(*_NAMES)


def content_of(event: Event) -> bytes:
    """Return what an event says as JSON, without what has a column of its own."""
    fields: dict[str, Any] = {}
    for name, value, default in zip(_NAMES, _values(event), _DEFAULTS, strict=True):
        if value != default and (name != "names" or event.kind is not Kind.SUMMARY):
            fields[name] = _storable(value) if isinstance(value, str) else value
    if event.kind is Kind.SUMMARY:
        fields |= _folds_as_json(event)
    return orjson.dumps(fields, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def event_from(
    record: str, label: str, kind: str, at: float, content: str, body: bytes | None = None, event_id: str = ""
) -> Event:
    """Return the event of a stored row. Raises `ValueError` where it cannot be read."""
    try:
        fields = orjson.loads(content)
        known = {name: fields[name] for name in _NAMES if name in fields}
        for name in ("asked", "left", "knew", "anew", "closed", "overlays", "named"):
            if name in known:
                known[name] = tuple(known[name])
        if "attempt" in known:
            known["attempt"] = tuple(_begun(one) for one in known["attempt"])
        if "closings" in known:
            known["closings"] = tuple(_closing(one) for one in known["closings"])
        if "folds" in fields:
            known |= _folds_from(fields)
        # PostgreSQL gives a view of a body.
        return Event(record, label, Kind(kind), at, body=bytes(body or b""), id=event_id, **known)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise ValueError(f"an event of {label or record} cannot be read") from None


def _folds_as_json(event: Event) -> dict[str, Any]:
    """Return the folds, ties and labels of a summary. An identity stands there as its place in ``identities``, a
    message as its place in ``messages``, and a fold that several have stands there once: a machine may have a hundred,
    and each start names all of them."""
    places: dict[str, int] = {}
    messages: dict[str, int] = {}

    def placed(identities: Iterable[str]) -> list[int]:
        return [places.setdefault(one, len(places)) for one in identities]

    def with_places(start: Start) -> tuple[object, ...]:
        news = start.news
        if news is not None:
            news = news._replace(message=messages.setdefault(news.message, len(messages)))  # type: ignore[arg-type]
        return *start[:7], placed(start.names), news

    owners: dict[int, tuple[Fold, list[str]]] = {}
    for identity, fold in event.folds.items():
        owners.setdefault(id(fold), (fold, []))[1].append(identity)
    found = []
    for fold, identities in owners.values():
        starts = [with_places(start) for start in fold.starts]
        found.append([placed(identities), fold._replace(starts=())._asdict() | {"starts": starts}])
    ties = [[at, placed(together)] for at, together in event.ties]
    labels = {
        name: [placed(label.last), label.at, [*zip(placed(label.earlier), label.earlier.values(), strict=True)]]
        for name, label in event.labels.items()
    }
    texts = {one: text for fold in event.folds.values() for start in fold.starts for one, text in start.names.items()}
    texts |= event.names
    spelled = [(one, texts.get(one, NAME + one)) for one in places]
    return {"folds": found, "ties": ties, "labels": labels, "identities": spelled, "messages": [*messages]}


def _folds_from(fields: Mapping[str, Any]) -> dict[str, Any]:
    texts = [(one, text) for one, text in fields["identities"]]
    found: dict[str, Fold] = {}
    for places, fold in fields["folds"]:
        read = _fold_from(fold, texts, fields["messages"])
        found |= {texts[place][0]: read for place in places}
    ties = tuple((at, tuple([texts[place][0] for place in together])) for at, together in fields["ties"])
    labels = {
        name: Label(
            tuple([texts[place][0] for place in last]), at, {texts[place][0]: before for place, before in earlier}
        )
        for name, (last, at, earlier) in fields.get("labels", {}).items()
    }
    return {"names": dict(texts), "folds": found, "ties": ties, "labels": labels}


def _fold_from(fields: Mapping[str, Any], texts: list[tuple[str, str]], messages: list[str]) -> Fold:
    group = fields["group"]
    return Fold(
        tuple(_begun(one) for one in fields["orders"]),
        tuple(fields["past"]),
        tuple(_closing(one) for one in fields["closings"]),
        tuple([_start_from(texts, messages, *one) for one in fields["starts"]]),
        tuple((attempt, at) for attempt, at in fields["refused"]),
        fields["cut"],
        fields["heard"],
        LastGroup(*group) if group is not None else None,
    )


def _begun(fields: list[Any]) -> Begun:
    return Begun(fields[0], Order(fields[1]), fields[2])


def _closing(fields: list[Any]) -> Closing:
    return Closing(fields[0], fields[1], fields[2], tuple(fields[3]))


def _start_from(
    texts: list[tuple[str, str]],
    messages: list[str],
    attempt: str,
    number: int,
    givings: list[str],
    began: float,
    strength: int,
    at: float,
    given: Mapping[str, float],
    places: list[int],
    news: list[Any] | None,
) -> Start:
    last = None if news is None else News(Strength(news[0]), news[1], messages[news[2]], news[3])
    return Start(
        attempt,
        number,
        tuple(givings),
        began,
        Strength(strength),
        at,
        given,
        dict([texts[one] for one in places]),
        last,
    )


def _plain(value: object) -> Any:
    return list(value) if isinstance(value, tuple) else dict(value)  # type: ignore[call-overload]


def _storable(text: str) -> str:
    """Return a text as every database takes it: PostgreSQL has no place for NUL."""
    return text.replace("\0", "")[:LONGEST_DETAIL]
